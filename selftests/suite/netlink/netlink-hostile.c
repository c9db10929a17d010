// SPDX-License-Identifier: GPL-2.0
/*
 * Attacks the netlink protocol: with invalid messages, by users without the capability, and with
 * random and mutated messages.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/wait.h>

#include "fixture.h"

/* Invalid messages */

static void try_raw(const char *what, const void *data, size_t size, int want)
{
	struct state before = get_state();
	struct answer answer;

	cl->seq++;
	((struct nlmsghdr *)data)->nlmsg_seq = cl->seq;
	expect_equal(client_send(cl, data, size), 0, "%s: sent", what);
	if (want == NO_ANSWER) {
		expect(!client_wait(cl, 50), "%s: there is no answer", what);
	} else {
		client_read(cl, &answer);
		expect(error_is(answer.error, want), "%s: expected %d, got %d", what, want,
		       answer.error);
	}
	expect(unchanged(&before), "%s: nothing has changed", what);
}

static struct nlmsghdr *entry_message(char *data)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
	put_hosts4(nlh, 0x01020304, 4);
	memcpy(data, nlh, nlh->nlmsg_len);
	return (struct nlmsghdr *)data;
}

static void test_truncated(void)
{
	char data[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh = entry_message(data);
	uint32_t size = nlh->nlmsg_len, i;

	make_sets();
	for (i = sizeof(*nlh); i < size; i += 4) {
		entry_message(data);
		nlh->nlmsg_len = i;
		try_raw("cut short", data, i, MALFORMED);
	}
	ktap_case("a message cut after each of its words");

	entry_message(data);
	nlh->nlmsg_len = size + 64;
	try_raw("a length beyond the message", data, size, NO_ANSWER);
	nlh->nlmsg_len = sizeof(*nlh) - 1;
	try_raw("shorter than a header", data, size, NO_ANSWER);
	nlh->nlmsg_len = 0;
	try_raw("no length", data, size, NO_ANSWER);
	ktap_case("wrong lengths of messages");
}

static void test_lying_lengths(void)
{
	static const uint16_t lengths[] = { 0, 1, 3, 5, 21, 24, 255, 4096, 0x7fff, 0xffff };
	char data[256] __attribute__((aligned(8)));
	struct nlmsghdr *nlh;
	struct nlattr *attr;
	size_t i;

	make_sets();
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		nlh = entry_message(data);
		attr = mnl_nlmsg_get_payload_offset(nlh, GENL_HDRLEN);
		attr->nla_len = lengths[i];
		try_raw("name", data, nlh->nlmsg_len, MALFORMED);
		nlh = entry_message(data);
		attr = mnl_attr_next(mnl_nlmsg_get_payload_offset(nlh, GENL_HDRLEN));
		attr->nla_len = lengths[i];
		try_raw("entries", data, nlh->nlmsg_len, MALFORMED);
	}
	ktap_case("wrong lengths of attributes");

	for (i = 0; i < 256; i++) {
		if (i >= IPCUCKOO_CMD_INFO && i <= IPCUCKOO_CMD_MAX && i != IPCUCKOO_CMD_EVENT)
			continue;
		nlh = entry_message(data);
		((struct genlmsghdr *)mnl_nlmsg_get_payload(nlh))->cmd = i;
		try_raw("command", data, nlh->nlmsg_len, EOPNOTSUPP);
	}
	ktap_case("unknown commands");

	nlh = entry_message(data);
	((struct genlmsghdr *)mnl_nlmsg_get_payload(nlh))->reserved = 1;
	try_raw("reserved bits", data, nlh->nlmsg_len, EINVAL);
	nlh = entry_message(data);
	nlh->nlmsg_flags |= 0x8000;
	try_raw("unknown flags", data, nlh->nlmsg_len, EINVAL);
	ktap_case("unknown bits in headers");
}

/* Permissions. netlink-userns.c tests other user namespaces. */

static int nobody_runs(void)
{
	struct client *c;

	become_nobody();
	c = client_open();
	return c ? all_refused(c, 0) : 101;
}

/* A socket that root has opened, used by a user without the capability. */
static int nobody_with_socket(void)
{
	struct client *c = client_open_or_die();

	become_nobody();
	return all_refused(c, 0);
}

static void test_permissions(void)
{
	struct state before;

	make_sets();
	before = get_state();
	in_child("nobody", nobody_runs);
	in_child("user nobody with a socket of root", nobody_with_socket);
	expect(unchanged(&before), "nothing has changed");
	ktap_case("users without CAP_NET_ADMIN may neither read nor change anything");
}

/* Random messages */

static const uint16_t attr_sizes[] = { 0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 20, 31, 32, 33, 64,
				       255, 1000 };

static void put_random_attr(struct nlmsghdr *nlh)
{
	static const char * const some_names[] = { "hosts", "nets6", "any", "x", "y", ".", "" };
	uint16_t type = 1 + rng() % (IPCUCKOO_A_MAX + (rng() % 8 ? 0 : 20)), size, i;
	uint8_t data[1024];

	switch (rng() % 4) {
	case 0:
		for (size = attr_sizes[rng() % 17], i = 0; i < size; i++)
			data[i] = rng();
		break;
	case 1:
		put_be32(data, htobe32(rng() % 5));
		size = 4;
		break;
	case 2:
		data[0] = rng() % 5;
		size = 1;
		break;
	default:
		for (size = 20 * (1 + rng() % 40), i = 0; i < size; i++)
			data[i] = rng() % 3 ? rng() % 16 : 0;
		break;
	}
	mnl_attr_put(nlh, type, size, data);
	if (rng() % 2)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, some_names[rng() % 7]);
}

/* The last shadow that was created. */
static uint32_t last_shadow;

static uint32_t likely_shadow(void)
{
	return last_shadow - rng() % 3;
}

/* True once in so many times. */
static bool rarely(unsigned int times)
{
	return !(rng() % times);
}

static const char *likely_name(void)
{
	static const char * const some_names[] = { "hosts", "nets6", "any", "x", "y", "z" };

	return some_names[rng() % 6];
}

static void put_likely_set(struct nlmsghdr *nlh)
{
	bool filter = rarely(4);

	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, filter ? 3 : 1 + rng() % 2);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, 1 + rng() % 3);
	if (rng() % 2)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS,
				 (rng() % 2 ? IPCUCKOO_F_EXIST : 0) |
				 (filter && rng() % 2 ? IPCUCKOO_F_MULTI : 0));
	if (filter) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, 8 << rng() % 3);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, 1 + rng() % 5000);
		return;
	}
	if (rng() % 2)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, rng() % (IPCUCKOO_O_ALL + 1));
	if (rarely(4))
		mnl_attr_put_u32(nlh, IPCUCKOO_A_TIMEOUT, rng() % 3);
	if (rarely(4))
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, rng() % 200);
	if (rarely(8))
		mnl_attr_put_u8(nlh, IPCUCKOO_A_NETMASK, rng() % 34);
}

/* Append extensions for @count entries, some of which the set does not have. */
static void put_likely_values(struct nlmsghdr *nlh, uint32_t count)
{
	uint8_t data[64 * IPCUCKOO_COUNTERS_SIZE];
	uint32_t i;

	if (rng() % 2) {
		/* Timeouts of few seconds, so that some expire during the test. */
		for (i = 0; i < count; i++)
			put_be32(data + IPCUCKOO_TIMEOUT_SIZE * i, rng() % 4);
		mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, IPCUCKOO_TIMEOUT_SIZE * count, data);
	}
	if (rarely(3)) {
		for (i = 0; i < IPCUCKOO_COUNTERS_SIZE * count; i++)
			data[i] = rng();
		mnl_attr_put(nlh, IPCUCKOO_A_COUNTERS, IPCUCKOO_COUNTERS_SIZE * count, data);
	}
	if (rarely(3)) {
		/* The last two bytes of each skbinfo must be zero. */
		for (i = 0; i < IPCUCKOO_SKBINFO_SIZE * count; i++)
			data[i] = i % IPCUCKOO_SKBINFO_SIZE < IPCUCKOO_SKBINFO_SIZE - 2 ?
				  rng() : 0;
		mnl_attr_put(nlh, IPCUCKOO_A_SKBINFOS, IPCUCKOO_SKBINFO_SIZE * count, data);
	}
	if (rarely(3)) {
		for (i = 0; i < count; i++)
			data[i] = rng() % 2;
		mnl_attr_put(nlh, IPCUCKOO_A_NOMATCHES, count, data);
	}
	if (rarely(3)) {
		for (i = 0; i < 2 * count; i += 2) {
			data[i] = 'a' + rng() % 26;
			data[i + 1] = 0;
		}
		mnl_attr_put(nlh, IPCUCKOO_A_COMMENTS, 2 * count, data);
	}
}

static void put_likely_entries(struct nlmsghdr *nlh, uint8_t cmd)
{
	uint8_t net[5] = { rng(), rng(), 0, 0, rng() % 40 };
	uint32_t count = 1 + rng() % 64;

	if (rng() % 2) {
		put_hosts4(nlh, rng() % 4096, count);
	} else {
		count = 1;
		mnl_attr_put(nlh, IPCUCKOO_A_NETS4, 5, net);
	}
	if (cmd != IPCUCKOO_CMD_SHADOW_ADD)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, rng() % 2);
	if ((cmd == IPCUCKOO_CMD_ENTRY_ADD || cmd == IPCUCKOO_CMD_SHADOW_ADD) && rng() % 2)
		put_likely_values(nlh, count);
}

/* Append the attributes of an attachment: a hook of IP or of a device, perhaps with a log. */
static void put_likely_attachment(struct nlmsghdr *nlh)
{
	static const uint32_t some_flags[] = {
		0, IPCUCKOO_F_EXIST, IPCUCKOO_F_LOOPBACK, IPCUCKOO_F_APPROXIMATE,
		IPCUCKOO_F_REPLACE, IPCUCKOO_F_APPROXIMATE | IPCUCKOO_F_LOOPBACK,
		IPCUCKOO_F_NEW, IPCUCKOO_F_NEW | IPCUCKOO_F_EXIST | IPCUCKOO_F_LOOPBACK,
	};
	static const uint16_t ports[40] = { 0, 0, 0x100, 0xffff };

	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, 1 + rng() % 3);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, 1 + rng() % 4);
	if (rng() % 2)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, some_flags[rng() % 8]);
	if (rarely(3))
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MARK, rng());
	if (rarely(3))
		mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, rng() % 7 - 3);
	if (rarely(4)) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, rng() % 3);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, "lo");
	}
	if (rarely(3)) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PROTOCOL, rng() % 2 ? 17 : rng());
		mnl_attr_put(nlh, IPCUCKOO_A_PORTS, rng() % 8 ? 8 : rng() % 80, ports);
	}
	if (rarely(3)) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, 1 + rng() % 2);
		mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_RATE, 1 + rng() % 2);
	}
}

/* Append the attributes that make a message of a command valid, perhaps without some of them. */
static void put_likely_attrs(struct nlmsghdr *nlh, uint8_t cmd)
{
	if (rng() % 16 && cmd != IPCUCKOO_CMD_INFO)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, likely_name());
	switch (cmd) {
	case IPCUCKOO_CMD_SET_NEW:
		put_likely_set(nlh);
		break;
	case IPCUCKOO_CMD_SET_RENAME:
	case IPCUCKOO_CMD_SET_SWAP:
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, likely_name());
		break;
	case IPCUCKOO_CMD_SET_CHANGE:
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, rng() % 2 ? rng() % 200 : 0);
		break;
	case IPCUCKOO_CMD_SHADOW_ADD:
	case IPCUCKOO_CMD_SHADOW_REMOVE:
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, likely_shadow());
		put_likely_entries(nlh, cmd);
		break;
	case IPCUCKOO_CMD_ENTRY_ADD:
	case IPCUCKOO_CMD_ENTRY_DEL:
		put_likely_entries(nlh, cmd);
		break;
	case IPCUCKOO_CMD_ENTRY_TEST:
		put_hosts4(nlh, rng() % 4096, 1);
		break;
	case IPCUCKOO_CMD_ATTACH:
	case IPCUCKOO_CMD_DETACH:
		put_likely_attachment(nlh);
		break;
	case IPCUCKOO_CMD_SHADOW_COMMIT:
	case IPCUCKOO_CMD_SHADOW_DEL:
		mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, likely_shadow());
		break;
	}
}

static void mutate(struct nlmsghdr *nlh)
{
	uint8_t *data = mnl_nlmsg_get_payload(nlh);
	uint32_t size = nlh->nlmsg_len - sizeof(*nlh);
	int n = rng() % 4;

	while (n--)
		data[rng() % size] = rng() % 2 ? rng() : rng() % 4;
	if (!(rng() % 16))
		nlh->nlmsg_len -= rng() % 32 % (size - 1);
	/* Use few addresses, or sets would grow until the memory limit refuses all requests. */
	data[1] = 1;
}

/* Send a packet over loopback from an address that may be a member of an attached set. */
static void send_packet(int fd)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(0x7f000001) } };
	struct iphdr ip = {
		.version = 4, .ihl = 5, .ttl = 1, .protocol = 255, .tot_len = htons(sizeof(ip)),
		.saddr = htonl(rng() % 4096), .daddr = to.sin_addr.s_addr,
	};

	/* It does not matter whether the packet is dropped. */
	sendto(fd, &ip, sizeof(ip), MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
}

static void drain(struct client *c)
{
	while (recv(mnl_socket_get_fd(c->nl), c->in, sizeof(c->in), MSG_DONTWAIT) > 0 ||
	       errno == ENOBUFS || errno == EINTR)
		;
}

static bool is_dump(uint8_t cmd)
{
	return cmd == IPCUCKOO_CMD_ENTRY_GET || cmd == IPCUCKOO_CMD_ATTACH_GET;
}

/* Open another socket: the shadows of the old one exist until it is closed. */
static void change_socket(void)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	client_close(cl);
	cl = client_open_room(8192);
	if (!cl)
		err(2, "another socket");
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) == 0, 10),
	       "all memory of tables is freed");
	make_sets();
}

/* Was at least one message of each command valid? */
static bool each_done(const unsigned long *done)
{
	uint8_t cmd;

	for (cmd = IPCUCKOO_CMD_INFO; cmd <= IPCUCKOO_CMD_MAX; cmd++)
		if (!done[cmd] && cmd != IPCUCKOO_CMD_EVENT)
			return false;
	return true;
}

/* Send so many messages, and more until at least one message of each command was valid. Few of
 * SHADOW_REMOVE are: it needs a shadow of this socket, and entries that are in it.
 */
static void test_random(unsigned long count)
{
	unsigned long good = 0, bad = 0, mute = 0, i, done[IPCUCKOO_CMD_MAX + 1] = {};
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t cmd;
	int error, n, raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);

	if (raw < 0)
		err(2, "a raw socket");
	make_sets();
	for (i = 0; i < count || (i < 20 * count && !each_done(done)); i++) {
		if (rarely(4))
			send_packet(raw);
		cmd = 1 + rng() % IPCUCKOO_CMD_MAX;
		nlh = client_begin(cl, cmd);
		if (rng() % 4)
			put_likely_attrs(nlh, cmd);
		else
			for (n = rng() % 6; n; n--)
				put_random_attr(nlh);
		if (rng() % 2)
			mutate(nlh);
		if (rarely(is_dump(cmd) ? 2 : 32))
			nlh->nlmsg_flags |= NLM_F_DUMP;
		error = client_send(cl, nlh, nlh->nlmsg_len);
		if (!error && nlh->nlmsg_flags & NLM_F_DUMP) {
			drain(cl);
			mute++;
			done[cmd] += is_dump(cmd);
			continue;
		}
		if (!error)
			error = client_read(cl, &answer);
		expect(error != NO_ANSWER, "message %lu has an answer", i);
		if (error) {
			bad++;
		} else {
			good++;
			done[cmd]++;
			if (answer.attr[IPCUCKOO_A_SHADOW])
				last_shadow = answer_number(&answer, IPCUCKOO_A_SHADOW);
		}
		if (!(i % 5000))
			change_socket();
	}
	close(raw);
	for (cmd = IPCUCKOO_CMD_INFO; cmd <= IPCUCKOO_CMD_MAX; cmd++)
		expect(done[cmd] || cmd == IPCUCKOO_CMD_EVENT,
		       "some messages of command %u are valid", cmd);
	printf("# %lu messages: %lu done, %lu refused, %lu dumps\n", i, good, bad, mute);
	make_sets();
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 1, 100), 0,
		     "valid messages succeed afterwards");
	ktap_case("%lu random and mutated messages do no harm", count);
}

int main(void)
{
	bool slow = getenv("IPCUCKOO_KERNEL") && strcmp(getenv("IPCUCKOO_KERNEL"), "stock");

	fixture_begin("netlink-hostile");
	test_truncated();
	test_lying_lengths();
	test_permissions();
	test_random(ktap_option("MESSAGES", slow ? 15000 : 50000));
	return fixture_end();
}
