// SPDX-License-Identifier: GPL-2.0
/*
 * Tests dumps: of any size, into any buffer, each object once. A dump must say so if something
 * changed while it was read.
 */
#define _GNU_SOURCE
#include "fixture.h"

struct dump {
	uint32_t messages;
	uint32_t entries;
	bool interrupted;
	int error;
	uint64_t sum;
	uint8_t *seen;		/* a bit for each host, from @base on */
	uint32_t base;
	uint32_t twice;
};

static void dump_attr(struct dump *dump, const struct nlattr *attr)
{
	static const uint8_t sizes[] = { 4, 16, 5, 17 };
	const uint8_t *data = mnl_attr_get_payload(attr);
	uint32_t kind = mnl_attr_get_type(attr) - IPCUCKOO_A_HOSTS4, size, i, host;

	if (kind > 3)
		return;
	size = mnl_attr_get_payload_len(attr);
	expect(!(size % sizes[kind]), "whole entries in an attribute");
	for (i = 0; i + sizes[kind] <= size; i += sizes[kind]) {
		dump->entries++;
		host = data[i] << 24 | data[i + 1] << 16 | data[i + 2] << 8 | data[i + 3];
		if (!dump->seen || kind)
			continue;
		host -= dump->base;
		dump->twice += dump->seen[host / 8] >> (host % 8) & 1;
		dump->seen[host / 8] |= 1 << (host % 8);
	}
}

/* Read one datagram of a dump. Returns false at the end of the dump. */
static bool dump_read(struct client *c, struct dump *dump,
		      void (*each)(struct dump *dump, const struct nlmsghdr *nlh))
{
	const struct nlmsghdr *nlh = (void *)c->in;
	const struct nlattr *attr;
	ssize_t size;
	int left;

	if (!client_wait(c, 20000)) {
		dump->error = NO_ANSWER;
		return false;
	}
	size = recv(mnl_socket_get_fd(c->nl), c->in, c->room, 0);
	if (size < 0) {
		dump->error = -errno;
		return false;
	}
	for (left = size; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
		if (nlh->nlmsg_seq != c->seq)
			continue;
		dump->interrupted |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
		if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
			dump->error = *(int *)mnl_nlmsg_get_payload(nlh);
			return false;
		}
		dump->messages++;
		if (each)
			each(dump, nlh);
		mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
			dump_attr(dump, attr);
	}
	return true;
}

static void dump_begin(struct client *c, uint8_t cmd, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (name)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	client_send(c, nlh, nlh->nlmsg_len);
}

static void dump_shadow(struct client *c, uint32_t shadow)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ENTRY_GET);

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	client_send(c, nlh, nlh->nlmsg_len);
}

/* Dump consecutive hosts, and expect each of them once. */
static void try_dump(struct client *c, const char *name, uint32_t base, uint32_t count)
{
	struct dump dump = { .base = base };

	dump.seen = calloc(1, count / 8 + 1);
	dump_begin(c, IPCUCKOO_CMD_ENTRY_GET, name);
	while (dump_read(c, &dump, NULL))
		;
	expect_equal(dump.error, 0, "%u entries, %zu bytes at a time: error", count, c->room);
	expect_equal(dump.entries, count, "%u entries, %zu bytes at a time: entries", count,
		     c->room);
	expect_equal(dump.twice, 0, "%u entries, %zu bytes at a time: twice", count, c->room);
	expect(!dump.interrupted, "the dump was not interrupted");
	free(dump.seen);
}

static void add_many(const char *name, uint32_t first, uint32_t count)
{
	uint32_t n;

	for (; count; count -= n, first += n) {
		n = count < 10000 ? count : 10000;
		expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, first, n), 0,
			     "add %u hosts", n);
	}
}

static void test_dump_entries(void)
{
	/* The smallest is what the kernel expects of receivers: a page, or 8 KiB of larger pages. */
	const size_t rooms[] = { MNL_SOCKET_BUFFER_SIZE, 16384, 65536 };
	static const uint32_t counts[] = { 0, 1, 2, 1000, 100000 };
	struct client *c[sizeof(rooms) / sizeof(*rooms)];
	struct dump dump = {};
	uint32_t have = 0;
	int small = 4096;
	size_t i, j;

	for (j = 0; j < sizeof(rooms) / sizeof(*rooms); j++)
		c[j] = client_open_room(rooms[j]);
	make_sets();
	hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "hosts", 0xc0000201, 1);
	for (i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		add_many("hosts", 0x30000000 + have, counts[i] - have);
		have = counts[i];
		for (j = 0; j < sizeof(rooms) / sizeof(*rooms); j++)
			try_dump(c[j], "hosts", 0x30000000, have);
	}
	ktap_case("a dump of 0 to 100000 entries gives each of them once");

	for (j = 0; j < sizeof(rooms) / sizeof(*rooms); j++) {
		setsockopt(mnl_socket_get_fd(c[j]->nl), SOL_SOCKET, SO_RCVBUF, &small,
			   sizeof(small));
		try_dump(c[j], "hosts", 0x30000000, have);
		client_close(c[j]);
	}
	ktap_case("a dump into the smallest of receive buffers");

	dump_begin(cl, IPCUCKOO_CMD_ENTRY_GET, "nothere");
	dump_read(cl, &dump, NULL);
	expect_equal(dump.error, -ENOENT, "a set that does not exist");
	dump_begin(cl, IPCUCKOO_CMD_ENTRY_GET, NULL);
	dump_read(cl, &dump, NULL);
	expect_equal(dump.error, -EINVAL, "a request without a name");
	ktap_case("a dump of a set that does not exist, and of no set");
}

/* Test a set with all four kinds of entries. */
static void test_dump_kinds(void)
{
	enum { EACH = 2000 };
	uint8_t hosts6[EACH * 16] = {}, nets4[EACH * 5], nets6[EACH * 17] = {};
	struct dump dump = {};
	struct answer answer;
	uint32_t i;

	make_sets();
	for (i = 0; i < EACH; i++) {
		hosts6[16 * i] = nets6[17 * i] = 0x20;
		put_be32(hosts6 + 16 * i + 8, i);
		put_be32(nets6 + 17 * i + 1, i << 4);
		nets6[17 * i + 16] = 48;
		put_be32(nets4 + 5 * i, 0x40000000 + (i << 8));
		nets4[5 * i + 4] = 24;
	}
	add_many("any", 0x50000000, EACH);
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", PIECE({ AT(HOSTS6), sizeof(hosts6), hosts6 }),
	    PIECE({ AT(NETS4), sizeof(nets4), nets4 }));
	expect_changed(&answer, "IPv6 hosts, IPv4 prefixes", 2 * EACH, 0);
	ask(&answer, IPCUCKOO_CMD_ENTRY_ADD, "any", PIECE({ AT(NETS6), sizeof(nets6), nets6 }),
	    NONE);
	expect_changed(&answer, "IPv6 prefixes", EACH, 0);
	dump_begin(cl, IPCUCKOO_CMD_ENTRY_GET, "any");
	while (dump_read(cl, &dump, NULL))
		;
	expect_equal(dump.entries, 4 * EACH + 1, "entries");
	expect_equal(figure(cl, "any", IPCUCKOO_A_ENTRIES), 4 * EACH + 1, "ENTRIES");
	expect_equal(figure(cl, "any", IPCUCKOO_A_HOSTS), 2 * EACH, "HOSTS");
	ktap_case("a dump of four kinds of entries");
}

/* Change something after the first part of a dump was read. */
static void try_interrupted(const char *what, void (*happen)(struct client *c),
			    bool interrupted)
{
	struct client *other = client_open_or_die();
	struct dump dump = {};

	make_sets();
	add_many("hosts", 0x30000000, 40000);
	dump_begin(cl, IPCUCKOO_CMD_ENTRY_GET, "hosts");
	dump_read(cl, &dump, NULL);
	happen(other);
	while (dump_read(cl, &dump, NULL))
		;
	expect(dump.error != NO_ANSWER, "%s: the dump ends", what);
	expect(dump.interrupted == interrupted || dump.error == -ENOENT,
	       "%s: NLM_F_DUMP_INTR: expected %d, got %d", what, interrupted,
	       dump.interrupted);
	client_close(other);
}

static void happen_nothing(struct client *c)
{
	expect_equal(figure(c, "hosts", IPCUCKOO_A_ENTRIES), 40001, "entries");
}

static void happen_add(struct client *c)
{
	hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 0x31000000, 1);
}

static void happen_del(struct client *c)
{
	hosts_request(c, IPCUCKOO_CMD_ENTRY_DEL, "hosts", 0x30000007, 1);
}

static void happen_growth(struct client *c)
{
	int i;

	for (i = 0; i < 10; i++)
		hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 0x32000000 + i * 10000,
			      10000);
}

static void happen_flush(struct client *c)
{
	set_request(c, IPCUCKOO_CMD_SET_FLUSH, "hosts");
}

static void happen_load(struct client *c)
{
	uint32_t shadow = shadow_new(c, "hosts", 0);

	shadow_hosts(c, shadow, 1, 10000);
	shadow_request(c, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0);
}

static void happen_destroy(struct client *c)
{
	expect_equal(set_request(c, IPCUCKOO_CMD_SET_DEL, "hosts"), 0, "destroy");
}

static void test_dump_interrupted(void)
{
	try_interrupted("nothing", happen_nothing, false);
	try_interrupted("an addition during the dump", happen_add, true);
	try_interrupted("a deletion", happen_del, true);
	try_interrupted("growth", happen_growth, true);
	try_interrupted("a flush", happen_flush, true);
	try_interrupted("a load", happen_load, true);
	try_interrupted("the set is destroyed during the dump", happen_destroy, true);
	ktap_case("a dump says that the set changed while it was read");
}

static void happen_all(struct client *c)
{
	happen_add(c);
	happen_del(c);
	happen_growth(c);
	happen_flush(c);
	happen_destroy(c);
}

static int dump_error(struct client *c, uint32_t shadow)
{
	struct dump dump = {};

	dump_shadow(c, shadow);
	while (dump_read(c, &dump, NULL))
		;
	return dump.error;
}

/* A shadow with the entries of a set is dumped while the set changes. */
static void test_dump_shadow(void)
{
	enum { HOSTS = 40000 };
	struct client *other = client_open_or_die();
	struct dump dump = { .base = 0x30000000, .seen = calloc(1, HOSTS / 8 + 1) };
	struct nlmsghdr *nlh;
	uint32_t shadow;

	make_sets();
	hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "hosts", 0xc0000201, 1);
	add_many("hosts", 0x30000000, HOSTS);
	shadow = shadow_new(cl, "hosts", IPCUCKOO_F_APPEND);
	hosts_request(other, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 0x31000000, 1);
	dump_shadow(cl, shadow);
	dump_read(cl, &dump, NULL);
	happen_all(other);
	while (dump_read(cl, &dump, NULL))
		;
	free(dump.seen);
	expect_equal(dump.error, 0, "error");
	expect_equal(dump.entries, HOSTS, "entries");
	expect_equal(dump.twice, 0, "twice");
	expect(!dump.interrupted, "changes of the set do not interrupt it");
	expect_equal(dump_error(other, shadow), -ENOENT, "a shadow of another socket");
	expect_equal(dump_error(cl, shadow + 1), -ENOENT, "no such shadow");
	nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_GET);
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "any");
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	client_send(cl, nlh, nlh->nlmsg_len);
	dump_read(cl, &dump, NULL);
	expect_equal(dump.error, -EINVAL, "a set and a shadow");
	make_sets();
	shadow = shadow_new(cl, "hosts", IPCUCKOO_F_APPEND);
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0);
	expect_equal(dump_error(cl, shadow), -ENOENT, "a shadow that was committed");
	client_close(other);
	ktap_case("a dump of a shadow has the entries of one moment");
}

/* Names of sets must arrive in order, each once. */
static char last_name[IPCUCKOO_NAME_SIZE];

static void each_set(struct dump *dump, const struct nlmsghdr *nlh)
{
	struct answer answer = {};
	const char *name;

	client_read_attrs(nlh, &answer);
	name = mnl_attr_get_str(answer.attr[IPCUCKOO_A_SET]);
	if (strcmp(last_name, name) >= 0)
		dump->twice++;
	snprintf(last_name, sizeof(last_name), "%s", name);
}

static void test_dump_sets(void)
{
	enum { SETS = 300 };
	struct dump dump = {};
	char name[32];
	int i;

	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	for (i = 0; i < SETS; i++) {
		snprintf(name, sizeof(name), "set-%d", i);
		set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	}
	*last_name = '\0';
	dump_begin(cl, IPCUCKOO_CMD_SET_GET, NULL);
	while (dump_read(cl, &dump, each_set))
		;
	expect_equal(dump.messages, SETS, "sets");
	expect_equal(dump.twice, 0, "out of order");
	expect(!dump.interrupted, "the dump was not interrupted");
	ktap_case("a dump of %d sets", SETS);

	memset(&dump, 0, sizeof(dump));
	*last_name = '\0';
	dump_begin(cl, IPCUCKOO_CMD_SET_GET, NULL);
	dump_read(cl, &dump, each_set);
	{
		struct client *other = client_open_or_die();

		set_new(other, "a-new-one", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
		set_request(other, IPCUCKOO_CMD_SET_DEL, "set-99");
		set_request(other, IPCUCKOO_CMD_SET_DEL, last_name);
		client_close(other);
	}
	while (dump_read(cl, &dump, each_set))
		;
	expect(dump.interrupted, "NLM_F_DUMP_INTR");
	expect_equal(dump.twice, 0, "out of order");
	expect_equal(dump.messages, SETS - 1, "sets");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("a dump of sets that are created and destroyed meanwhile");
}

static int32_t last_order;

static void each_attachment(struct dump *dump, const struct nlmsghdr *nlh)
{
	struct answer answer = {};
	int32_t order;

	client_read_attrs(nlh, &answer);
	order = (int32_t)answer_number(&answer, IPCUCKOO_A_ORDER);
	if (order < last_order)
		dump->twice++;
	last_order = order;
}

static void test_dump_attachments(void)
{
	enum { COUNT = 200 };
	struct dump dump = {};
	struct nlmsghdr *nlh;
	struct answer answer;
	int i;

	make_sets();
	for (i = 0; i < COUNT; i++) {
		nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
		mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_SRC);
		mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_MARK);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK, i);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_ORDER, (int32_t)(rng() % 20) - 10);
		expect_equal(client_ask(cl, &answer), 0, "attach");
	}
	last_order = INT32_MIN;
	dump_begin(cl, IPCUCKOO_CMD_ATTACH_GET, NULL);
	while (dump_read(cl, &dump, each_attachment))
		;
	expect_equal(dump.messages, COUNT + 1, "attachments");
	expect_equal(dump.twice, 0, "out of order");
	ask(&answer, IPCUCKOO_CMD_DETACH, "hosts", PIECE(U8(DIRECTION, 1)), NONE);
	expect_equal(answer_number(&answer, IPCUCKOO_A_CHANGED), COUNT, "detached");
	ktap_case("a dump of %d attachments, by order", COUNT + 1);
}

int main(void)
{
	fixture_begin("netlink-dumps");
	test_dump_entries();
	test_dump_kinds();
	test_dump_interrupted();
	test_dump_shadow();
	test_dump_sets();
	test_dump_attachments();
	return fixture_end();
}
