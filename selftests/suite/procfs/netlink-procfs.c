// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that netlink and procfs have the same effect. Of two sets with the same options, one is
 * changed by netlink, and the other by writing lines to its file, with the same random changes.
 * After each step both must have the same entries with the same extensions, and must have
 * returned the same error. What lines cannot express, both get by netlink: exceptions, timeouts,
 * counters, comments. Also checks that reading the list of many sets takes no longer for each line
 * than reading the list of a few.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>

#include "fixture.h"

#define NETLINK		"netlink"	/* the set that is changed by netlink */
#define PROCFS		"procfs"	/* the set that is changed by procfs */
#define ITEMS		40
#define LINES		8
#define DUMPED		256

/* An address or a prefix. */
struct item {
	bool v6;
	uint8_t addr[16];
	uint8_t len;
};

/* The options of both sets. */
static struct {
	uint8_t type;
	uint8_t family;
	uint32_t options;
	uint32_t timeout;
	uint32_t maxelem;
	uint32_t flags;
	uint8_t netmask;
	char text[160];
} made;

static struct item items[ITEMS];

static unsigned int any(unsigned int n)
{
	return rng() % n;
}

static const char *text_of(const struct item *item)
{
	static char text[2][80];
	static int turn;
	char addr[64];

	turn = !turn;
	inet_ntop(item->v6 ? AF_INET6 : AF_INET, item->addr, addr, sizeof(addr));
	snprintf(text[turn], sizeof(text[turn]), "%s/%u", addr, item->len);
	return text[turn];
}

static void put_item(struct nlmsghdr *nlh, const struct item *item)
{
	uint8_t data[IPCUCKOO_NET6_SIZE];
	unsigned int size = item->v6 ? 16 : 4;
	bool host = item->len == 8 * size;

	memcpy(data, item->addr, size);
	data[size] = item->len;
	mnl_attr_put(nlh, item->v6 ? (host ? IPCUCKOO_A_HOSTS6 : IPCUCKOO_A_NETS6) :
				     (host ? IPCUCKOO_A_HOSTS4 : IPCUCKOO_A_NETS4),
		     size + !host, data);
}

/* Create the entries to choose from. They are few, so that the same entry is chosen often; some are
 * nested, and some are not valid in some sets, or in any.
 */
static void make_items(void)
{
	int i;

	for (i = 0; i < ITEMS; i++) {
		struct item *item = &items[i];

		*item = (struct item){ .v6 = any(2) };
		if (item->v6) {
			memcpy(item->addr, "\x20\x01\x0d\xb8", 4);
			item->addr[15] = any(4) ? any(6) : 0;
			item->len = item->addr[15] ? 128 : 32 + any(97);
			if (!any(12))	/* an IPv4-mapped address */
				memcpy(item->addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a", 13);
		} else {
			item->addr[0] = 10;
			item->addr[2] = any(3);
			item->addr[3] = any(4) ? any(6) : 0;
			item->len = item->addr[3] ? 32 : 24 + any(9);
		}
		if (!any(20))
			item->len = any(200);
	}
}

/* Changes by netlink */

static int make_set(const char *name)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, made.type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, made.family);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, made.maxelem);
	if (made.flags)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, made.flags);
	if (made.options)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, made.options);
	if (made.timeout)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_TIMEOUT, made.timeout);
	if (made.netmask)
		mnl_attr_put_u8(nlh, IPCUCKOO_A_NETMASK, made.netmask);
	if (made.type == IPCUCKOO_TYPE_FILTER_IP)	/* few false positives */
		mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, 32);
	return client_ask(cl, &answer);
}

static void make_sets_alike(void)
{
	const uint32_t options = IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COUNTERS |
				 IPCUCKOO_O_COMMENT;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, NETLINK);
	set_request(cl, IPCUCKOO_CMD_SET_DEL, PROCFS);
	memset(&made, 0, sizeof(made));
	made.type = any(5) ? 1 + any(2) : IPCUCKOO_TYPE_FILTER_IP;
	made.family = 1 + any(3);
	made.maxelem = any(2) ? 3 + any(12) : 0;
	if (made.type == IPCUCKOO_TYPE_FILTER_IP) {
		made.flags = any(2) ? IPCUCKOO_F_MULTI : 0;
	} else {
		made.options = any(3) ? rng() & options : 0;
		made.timeout = made.options & IPCUCKOO_O_TIMEOUT && any(2) ? 1000 : 0;
		made.flags = any(2) ? IPCUCKOO_F_FORCEADD : 0;
	}
	if (made.type == IPCUCKOO_TYPE_HASH_IP && made.family != IPCUCKOO_FAMILY_ANY)
		made.netmask = any(2) ? 29 : 0;
	snprintf(made.text, sizeof(made.text),
		 "type %u family %u options %x timeout %u maxelem %u flags %x netmask %u",
		 made.type, made.family, made.options, made.timeout, made.maxelem,
		 made.flags, made.netmask);
	if (make_set(NETLINK) || make_set(PROCFS))
		errx(1, "cannot create sets: %s", made.text);
}

static int by_netlink(char command, const struct item *item)
{
	struct nlmsghdr *nlh = client_begin(cl, command == '+' ? IPCUCKOO_CMD_ENTRY_ADD :
					    command == '-' ? IPCUCKOO_CMD_ENTRY_DEL :
							     IPCUCKOO_CMD_SET_FLUSH);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, NETLINK);
	if (command != '/') {
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
		put_item(nlh, item);
	}
	return client_ask(cl, &answer);
}

static int in_shadow(uint32_t shadow, char command, const struct item *item)
{
	struct nlmsghdr *nlh = client_begin(cl, command == '+' ? IPCUCKOO_CMD_SHADOW_ADD :
								 IPCUCKOO_CMD_SHADOW_REMOVE);
	struct answer answer;

	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	if (command == '-')
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	put_item(nlh, item);
	return client_ask(cl, &answer);
}

/* Apply several commands in one step: those after the last flush go into a shadow. */
static int shadow_by_netlink(const char *commands, const int *which, int count)
{
	const char *flush = memrchr(commands, '/', count);
	uint32_t shadow = shadow_new(cl, NETLINK, flush ? 0 : IPCUCKOO_F_APPEND);
	int i, error = 0;

	for (i = flush ? flush + 1 - commands : 0; i < count && !error; i++)
		error = in_shadow(shadow, commands[i], &items[which[i]]);
	if (!error)
		return shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0);
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	return error;
}

/* Changes by procfs */

static int by_procfs(const char *commands, const int *which, int count)
{
	char lines[LINES * 100] = "";
	int i, fd, error;
	size_t len;

	for (i = 0; i < count; i++) {
		len = strlen(lines);
		snprintf(lines + len, sizeof(lines) - len, "%c%s\n", commands[i],
			 commands[i] == '/' ? "" : text_of(&items[which[i]]));
	}
	fd = open("/proc/net/ipcuckoo/set/" PROCFS, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "the file of the set");
	error = write(fd, lines, strlen(lines)) < 0 ? -errno : 0;
	close(fd);
	return error;
}

/* Add an entry with extensions by netlink, to either set. */
static int give(const char *name, const struct item *item, uint8_t nomatch,
		uint32_t timeout, uint64_t packets, const char *comment)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	uint8_t counters[IPCUCKOO_COUNTERS_SIZE] = { [7] = packets, [15] = packets };
	struct answer answer;
	uint8_t seconds[4];

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	put_item(nlh, item);
	if (made.type == IPCUCKOO_TYPE_HASH_NET)
		mnl_attr_put(nlh, IPCUCKOO_A_NOMATCHES, 1, &nomatch);
	put_be32(seconds, timeout);
	if (made.options & IPCUCKOO_O_TIMEOUT)
		mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, sizeof(seconds), seconds);
	if (made.options & IPCUCKOO_O_COUNTERS)
		mnl_attr_put(nlh, IPCUCKOO_A_COUNTERS, sizeof(counters), counters);
	if (made.options & IPCUCKOO_O_COMMENT)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_COMMENTS, comment);
	return client_ask(cl, &answer);
}

/* The contents of a set */

struct dumped {
	uint8_t key[18];	/* kind, packed entry */
	uint8_t nomatch;
	uint32_t timeout;
	uint8_t counters[IPCUCKOO_COUNTERS_SIZE];
	char comment[16];
};

struct contents {
	int count;
	struct dumped entry[DUMPED];
};

/* Read the extensions of the entries that a message added: those from @begin on. */
static void read_values(struct contents *to, int begin, const struct nlmsghdr *nlh)
{
	const struct nlattr *attr;
	const uint8_t *data;
	int i;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		data = mnl_attr_get_payload(attr);
		if (mnl_attr_get_type(attr) == IPCUCKOO_A_NOMATCHES)
			expect_equal(mnl_attr_get_payload_len(attr), to->count - begin,
				     "a message has as many NOMATCHES as entries");
		for (i = begin; i < to->count; i++) {
			struct dumped *entry = &to->entry[i];

			switch (mnl_attr_get_type(attr)) {
			case IPCUCKOO_A_NOMATCHES:
				entry->nomatch = data[i - begin];
				break;
			case IPCUCKOO_A_TIMEOUTS:
				memcpy(&entry->timeout, data + 4 * (i - begin), 4);
				entry->timeout = ntohl(entry->timeout);
				break;
			case IPCUCKOO_A_COUNTERS:
				memcpy(entry->counters, data + 16 * (i - begin), 16);
				break;
			case IPCUCKOO_A_COMMENTS:
				strcpy(entry->comment, (const char *)data);
				data += strlen((const char *)data) + 1;
				break;
			}
		}
	}
}

static void read_message(struct contents *to, const struct nlmsghdr *nlh)
{
	static const uint8_t sizes[] = { 4, 16, 5, 17 };
	int begin = to->count, kind, at;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		kind = mnl_attr_get_type(attr) - IPCUCKOO_A_HOSTS4;
		if (kind < 0 || kind > 3)
			continue;
		for (at = 0; at < mnl_attr_get_payload_len(attr) && to->count < DUMPED;
		     at += sizes[kind]) {
			struct dumped *entry = &to->entry[to->count++];

			memset(entry, 0, sizeof(*entry));
			entry->key[0] = kind;
			memcpy(entry->key + 1, mnl_attr_get_payload(attr) + at,
			       sizes[kind]);
		}
	}
	read_values(to, begin, nlh);
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(((struct dumped *)a)->key));
}

static void read_contents(const char *name, struct contents *to)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_GET);
	bool end = false;
	int left;

	to->count = 0;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	client_send(cl, nlh, nlh->nlmsg_len);
	while (!end) {
		left = client_wait(cl, 20000) ?
		       recv(mnl_socket_get_fd(cl->nl), cl->in, cl->room, 0) : -1;
		if (left < 0)
			err(1, "no entries");
		for (nlh = (void *)cl->in; mnl_nlmsg_ok(nlh, left);
		     nlh = mnl_nlmsg_next(nlh, &left)) {
			end |= nlh->nlmsg_type == NLMSG_DONE ||
			       nlh->nlmsg_type == NLMSG_ERROR;
			if (!end)
				read_message(to, nlh);
		}
	}
	qsort(to->entry, to->count, sizeof(*to->entry), compare);
}

/* The timeouts may differ by the time between two requests: several seconds on a busy machine. */
static bool same_timeout(uint32_t a, uint32_t b)
{
	return !a == !b && a < b + 60 && b < a + 60;
}

static bool same_contents(const struct contents *a, const struct contents *b)
{
	const struct dumped *p, *q;
	int i;

	for (i = 0; i < a->count && i < b->count; i++) {
		p = &a->entry[i];
		q = &b->entry[i];
		if (compare(p, q) || p->nomatch != q->nomatch ||
		    !same_timeout(p->timeout, q->timeout) ||
		    memcmp(p->counters, q->counters, sizeof(p->counters)) ||
		    strcmp(p->comment, q->comment))
			return false;
	}
	return a->count == b->count;
}

static void print_contents(const char *name, const struct contents *contents)
{
	const struct dumped *entry;
	int i, j;

	for (i = 0; i < contents->count; i++) {
		entry = &contents->entry[i];
		printf("# %s: ", name);
		for (j = 0; j < (int)sizeof(entry->key); j++)
			printf("%02x", entry->key[j]);
		printf(" nomatch %u timeout %u packets %u comment '%s'\n", entry->nomatch,
		       entry->timeout, entry->counters[7], entry->comment);
	}
}

/* A filter cannot be listed, so get the number of copies of each entry. */
static uint64_t copies(const char *name, const struct item *item)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_TEST);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	put_item(nlh, item);
	client_ask(cl, &answer);
	return answer.error ? (uint64_t)answer.error :
			      answer_number(&answer, IPCUCKOO_A_COPIES);
}

static bool same_filters(void)
{
	int i;

	for (i = 0; i < ITEMS; i++)
		if (copies(NETLINK, &items[i]) != copies(PROCFS, &items[i]))
			return false;
	return true;
}

/* With forceadd the sets may have evicted different entries: give both the same contents again. */
static void begin_again(void)
{
	set_request(cl, IPCUCKOO_CMD_SET_FLUSH, NETLINK);
	set_request(cl, IPCUCKOO_CMD_SET_FLUSH, PROCFS);
}

static void compare_sets(const char *step)
{
	static const int figures[] = {
		IPCUCKOO_A_ENTRIES, IPCUCKOO_A_HOSTS, IPCUCKOO_A_FAILED_FULL,
		IPCUCKOO_A_FAILED_COPIES, IPCUCKOO_A_FAILED_EXIST,
	};
	static struct contents a, b;
	unsigned int i;

	for (i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		/* The sets may have evicted different kinds of entries. */
		if (figures[i] == IPCUCKOO_A_HOSTS && made.flags & IPCUCKOO_F_FORCEADD)
			continue;
		expect_equal(figure(cl, PROCFS, figures[i]), figure(cl, NETLINK, figures[i]),
			     "%s: %s: attribute %d", made.text, step, figures[i]);
	}
	if (made.type == IPCUCKOO_TYPE_FILTER_IP) {
		expect(same_filters(), "%s: %s: the same contents", made.text, step);
		return;
	}
	read_contents(NETLINK, &a);
	read_contents(PROCFS, &b);
	if (made.flags & IPCUCKOO_F_FORCEADD && !same_contents(&a, &b)) {
		begin_again();
	} else if (!expect(same_contents(&a, &b), "%s: %s: the same contents", made.text,
			   step)) {
		print_contents(NETLINK, &a);
		print_contents(PROCFS, &b);
	}
}

/* Steps */

static void step_single(void)
{
	char command = "+++--/"[any(made.type == IPCUCKOO_TYPE_FILTER_IP ? 5 : 6)];
	int item = any(ITEMS), error = by_netlink(command, &items[item]);
	char step[100];

	snprintf(step, sizeof(step), "%c%s", command, text_of(&items[item]));
	expect_equal(by_procfs(&command, &item, 1), error, "%s: %s: error", made.text, step);
	compare_sets(step);
}

/* Is the entry valid in these sets? procfs checks all lines before it applies any, but a shadow
 * is checked entry by entry, so invalid entries are left out.
 */
static bool is_valid(int item)
{
	struct answer answer;
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_TEST);

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, NETLINK);
	put_item(nlh, &items[item]);
	return !client_ask(cl, &answer);
}

static void step_lines(void)
{
	/* With forceadd, deleting after eviction has different results. */
	bool deletes = made.type == IPCUCKOO_TYPE_FILTER_IP ?
		       made.flags & IPCUCKOO_F_MULTI : !(made.flags & IPCUCKOO_F_FORCEADD);
	int count = 2 + any(LINES - 1), which[LINES], i;
	char commands[LINES], step[LINES * 90] = "";

	for (i = 0; i < count; i++) {
		which[i] = any(ITEMS);
		commands[i] = any(3) || !deletes ? '+' : any(6) ? '-' : '/';
		if (!is_valid(which[i]))
			return;
		snprintf(step + strlen(step), sizeof(step) - strlen(step), "%c%s ",
			 commands[i], text_of(&items[which[i]]));
	}
	expect_equal(by_procfs(commands, which, count),
		     shadow_by_netlink(commands, which, count), "%s: %s: error",
		     made.text, step);
	compare_sets(step);
}

static void step_values(void)
{
	const struct item *item = &items[any(ITEMS)];
	uint32_t timeout = any(3) ? 100 * any(3) : 0;
	uint64_t packets = any(100);
	uint8_t nomatch = any(2);
	char comment[16], step[100];

	snprintf(comment, sizeof(comment), "c%u", any(10));
	snprintf(step, sizeof(step), "%s, nomatch %u timeout %u", text_of(item), nomatch,
		 timeout);
	expect_equal(give(PROCFS, item, nomatch, timeout, packets, comment),
		     give(NETLINK, item, nomatch, timeout, packets, comment), "%s: %s: error",
		     made.text, step);
	compare_sets(step);
}

static void test_random(int rounds, int steps)
{
	int i;

	while (rounds-- && !ktap_failing()) {
		make_items();
		make_sets_alike();
		for (i = 0; i < steps && !ktap_failing(); i++) {
			switch (any(4)) {
			case 0:
				step_lines();
				break;
			case 1:
				step_values();
				break;
			default:
				step_single();
			}
		}
	}
	ktap_case("random changes have the same result by netlink and by procfs");
}

/* Test that expired entries make room for others, and can be added again. */
static void test_expired(void)
{
	const struct item old = { .addr = { 10, 0, 0, 1 }, .len = 32 };
	int which[LINES], i;
	char commands[LINES];

	set_request(cl, IPCUCKOO_CMD_SET_DEL, NETLINK);
	set_request(cl, IPCUCKOO_CMD_SET_DEL, PROCFS);
	memset(&made, 0, sizeof(made));
	made.type = IPCUCKOO_TYPE_HASH_NET;
	made.family = IPCUCKOO_FAMILY_INET;
	made.options = IPCUCKOO_O_TIMEOUT;
	made.maxelem = 4;
	snprintf(made.text, sizeof(made.text), "expired entries");
	if (make_set(NETLINK) || make_set(PROCFS))
		errx(1, "cannot create sets");
	for (i = 0; i < ITEMS; i++) {
		items[i] = old;
		items[i].addr[3] = i;
	}
	for (i = 0; i < 4; i++) {
		expect_equal(give(NETLINK, &items[i], 0, 1, 0, ""), 0, "netlink: add");
		expect_equal(give(PROCFS, &items[i], 0, 1, 0, ""), 0, "procfs: add");
	}
	sleep(3);
	for (i = 0; i < 4; i++) {
		which[0] = 3 + i;
		expect_equal(by_netlink('+', &items[which[0]]), 0, "netlink: %d", i);
		expect_equal(by_procfs("+", which, 1), 0, "procfs: %d", i);
		compare_sets("expired");
	}
	for (i = 0; i < LINES; i++) {
		which[i] = 2 + i;
		commands[i] = '+';
	}
	expect_equal(shadow_by_netlink(commands, which, LINES), -ENOSPC, "netlink: full");
	expect_equal(by_procfs(commands, which, LINES), -ENOSPC, "procfs: full");
	compare_sets("full");
	ktap_case("expired entries make room, by netlink and by procfs");
}

/* Test that an exception becomes an ordinary entry when it is added again without nomatch. The sets
 * have no extensions.
 */
static void test_exception(void)
{
	const struct item net = { .addr = { 10, 0, 0, 0 }, .len = 8 };
	const int first = 0;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, NETLINK);
	set_request(cl, IPCUCKOO_CMD_SET_DEL, PROCFS);
	memset(&made, 0, sizeof(made));
	made.type = IPCUCKOO_TYPE_HASH_NET;
	made.family = IPCUCKOO_FAMILY_INET;
	snprintf(made.text, sizeof(made.text), "exceptions");
	if (make_set(NETLINK) || make_set(PROCFS))
		errx(1, "cannot create sets");
	items[0] = net;
	expect_equal(give(NETLINK, &net, 1, 0, 0, ""), 0, "netlink: an exception");
	expect_equal(give(PROCFS, &net, 1, 0, 0, ""), 0, "procfs: an exception");
	expect_equal(by_netlink('+', &net), 0, "netlink: an ordinary entry");
	expect_equal(by_procfs("+", &first, 1), 0, "procfs: an ordinary entry");
	compare_sets("+10.0.0.0/8");
	ktap_case("+X of an exception makes it an ordinary entry");
}

/* Returns the time to read so many lines of the list of sets, one or two with each call. */
static double read_lines(int lines)
{
	int fd = open("/proc/net/ipcuckoo/sets", O_RDONLY | O_CLOEXEC);
	double begin = ktap_seconds();
	char text[32], *end;
	ssize_t size;

	while (lines > 0 && (size = read(fd, text, sizeof(text))) > 0)
		for (end = text; (end = memchr(end, '\n', text + size - end)); end++)
			lines--;
	begin = ktap_seconds() - begin;
	close(fd);
	expect(lines <= 0, "the list has all lines");
	return begin;
}

/* Eight times as many lines must take about eight times as long, not 64 times. A busy machine may
 * make it look longer, but not each time.
 */
static void test_list(int sets)
{
	double few, all, ratio = 1000;
	char name[16];
	int i;

	for (i = 0; i < sets; i++) {
		snprintf(name, sizeof(name), "set%06d", i);
		if (set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET))
			errx(1, "cannot create %s", name);
	}
	for (i = 0; i < 7 && ratio > 14; i++) {
		few = read_lines(sets / 8);
		all = read_lines(sets);
		ratio = all / few < ratio ? all / few : ratio;
	}
	printf("# %d sets take %.1f times as long as %d\n", sets, ratio, sets / 8);
	expect(ratio < 14, "the time for a line does not depend on the number of sets");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("reading a list of many sets takes linear time");
}

/* Test that a listing marks only the exception as an exception, and not a host or a prefix. */
static void test_listing(void)
{
	static const struct item all[] = {
		{ .addr = { 192, 0, 2, 1 }, .len = 32 },
		{ .addr = { 10, 0, 0, 0 }, .len = 8 },
		{ .addr = { 10, 1, 0, 0 }, .len = 16 },
	};
	static struct contents listed;
	const struct dumped *entry;
	int i;

	set_request(cl, IPCUCKOO_CMD_SET_DEL, NETLINK);
	memset(&made, 0, sizeof(made));
	made.type = IPCUCKOO_TYPE_HASH_NET;
	made.family = IPCUCKOO_FAMILY_INET;
	if (make_set(NETLINK))
		errx(1, "cannot create a set");
	for (i = 0; i < 3; i++)
		expect_equal(give(NETLINK, &all[i], i == 2, 0, 0, ""), 0, "add");
	read_contents(NETLINK, &listed);
	expect_equal(listed.count, 3, "entries listed");
	for (i = 0; i < listed.count; i++) {
		entry = &listed.entry[i];
		expect_equal(entry->nomatch, entry->key[0] == 2 && entry->key[5] == 16,
			     "entry %d of kind %u is an exception", i, entry->key[0]);
	}
	ktap_case("a listing marks exceptions, and only these");
}

int main(void)
{
	const char *kernel = getenv("IPCUCKOO_KERNEL");
	bool slow = kernel && strcmp(kernel, "uml");

	if (!has_procfs())
		return ktap_skip_all("no procfs");
	fixture_begin("netlink-procfs");
	test_listing();
	test_exception();
	test_expired();
	test_random(slow ? 20 : 60, 60);
	test_list(slow ? 2048 : 16384);
	return fixture_end();
}
