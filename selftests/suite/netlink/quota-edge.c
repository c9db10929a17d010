// SPDX-License-Identifier: GPL-2.0
/*
 * At the memory limit, additions and deletions must wait for a grace period a few times in tens of
 * thousands, and not each time.
 *
 * The test fills a set, and then uses up the quota with filters. Optional work, such as shrinking a
 * table, has no memory then, and records that are deleted stay charged until they are freed. The
 * process counts its waits by its voluntary context switches. If the kernel has kprobes, it also
 * counts its calls of rcu_barrier().
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sys/resource.h>

#include "fixture.h"
#include "probe.h"

enum {
	/* How many waits the additions and deletions of a scenario may cost. */
	BAR = 10,
	/* Maximum number of entries in a message: an attribute has 64 KiB. */
	BATCH = 3000,
	/* The same with comments, and for requests that are not measured. */
	BATCH_COMMENTS = 500,
	COMMENT = 100,
};

/**
 * struct scenario - what is done at the limit
 * @name:	name of the case
 * @type:	type of the set
 * @kind:	attribute of the entries
 * @size:	size of an entry, in bytes
 * @options:	options of the set
 * @spare:	capacity of a filter that is destroyed once the quota is used up
 * @first:	how many entries are added before the quota is used up
 * @keep:	how many of these are left then
 * @del, @add:	how many entries are deleted and added in each round
 * @rounds:	number of rounds
 * @batch:	entries in a message
 */
struct scenario {
	const char *name;
	uint8_t type;
	uint16_t kind;
	uint8_t size;
	uint32_t options;
	uint32_t spare, first, keep, del, add, rounds, batch;
};

static bool probed;

static void probe(void)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "common_pid == %d", getpid());
	probed = probe_begin() && probe_add("p", "barrier", "rcu_barrier", filter);
}

/* How often this process has called rcu_barrier() since the last call. */
static unsigned int barriers(void)
{
	unsigned int n = probed ? probe_count("barrier") : 0;

	probe_clear();
	return n;
}

static long waits(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw;
}

static void put_entry(const struct scenario *s, uint8_t *to, uint32_t i)
{
	memset(to, 0, s->size);
	switch (s->kind) {
	case IPCUCKOO_A_HOSTS4:
		put_be32(to, 0x0a000000 + 3 * i);
		break;
	case IPCUCKOO_A_NETS4:
		put_be32(to, 0x0a000000 + (i << 8));
		to[4] = 24;
		break;
	case IPCUCKOO_A_NETS6:
		put_be32(to, 0x20010000 + (i >> 16));
		put_be32(to + 4, i << 16);
		to[16] = 48;
		break;
	}
}

/* Send a message with @count entries, from number @i on. */
static int request(const struct scenario *s, uint8_t cmd, uint32_t i, uint32_t count)
{
	static uint8_t data[BATCH * IPCUCKOO_NET6_SIZE];
	static char comments[BATCH_COMMENTS * (COMMENT + 1)];
	struct nlmsghdr *nlh = client_begin(cl, cmd);
	struct answer answer;
	uint32_t n;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "edge");
	for (n = 0; n < count; n++)
		put_entry(s, data + s->size * n, i + n);
	mnl_attr_put(nlh, s->kind, s->size * count, data);
	if (cmd == IPCUCKOO_CMD_ENTRY_ADD && s->options & IPCUCKOO_O_COMMENT) {
		memset(comments, 'c', sizeof(comments));
		for (n = 0; n < count; n++)
			comments[(COMMENT + 1) * n + COMMENT] = '\0';
		mnl_attr_put(nlh, IPCUCKOO_A_COMMENTS, (COMMENT + 1) * count, comments);
	}
	return client_ask(cl, &answer);
}

/* Send all entries from @begin to @end, @batch in a message. Ends early after @limit waits, which
 * are too many.
 */
static int request_all(const struct scenario *s, uint8_t cmd, uint32_t begin, uint32_t end,
		       uint32_t batch, long limit)
{
	uint32_t i, n;
	int err = 0;

	for (i = begin; i < end && !err && waits() <= limit; i += n) {
		n = end - i < batch ? end - i : batch;
		err = request(s, cmd, i, n);
	}
	return err;
}

static int new_filter(const char *name, uint32_t capacity)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_FILTER_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, capacity);
	return client_ask(cl, &answer);
}

/* Use up the quota, except for less than a page, and for what a filter of @spare entries takes. */
static void fill_quota(uint32_t spare)
{
	uint32_t capacity, n = 0;
	char name[32];
	int err = 0;

	if (spare)
		expect_equal(new_filter("spare", spare), 0, "a filter for %u", spare);
	for (capacity = 4 << 20; capacity >= 500; capacity /= 2) {
		do {
			snprintf(name, sizeof(name), "rest%u", n++);
			err = new_filter(name, capacity);
		} while (!err);
		if (err != -EDQUOT)
			break;
	}
	expect_equal(err, -EDQUOT, "the last filter");
	if (spare)
		expect_equal(set_request(cl, IPCUCKOO_CMD_SET_DEL, "spare"), 0, "deletion");
}

static int new_set(const struct scenario *s)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "edge");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, s->type);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_ANY);
	if (s->options)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, s->options);
	return client_ask(cl, &answer);
}

static void test(const struct scenario *s)
{
	uint32_t round, del = s->keep - s->del;
	unsigned int calls;
	long before;

	everything(cl, IPCUCKOO_CMD_SET_DEL);
	expect_equal(new_set(s), 0, "the set");
	expect_equal(request_all(s, IPCUCKOO_CMD_ENTRY_ADD, 0, s->first,
				 BATCH_COMMENTS, LONG_MAX), 0,
		     "the first %u entries", s->first);
	expect_equal(request_all(s, IPCUCKOO_CMD_ENTRY_DEL, s->keep, s->first,
				 BATCH_COMMENTS, LONG_MAX), 0,
		     "deletion of all but %u", s->keep);
	fill_quota(s->spare);
	barriers();
	before = waits();
	for (round = 0; round < s->rounds; round++) {
		expect_equal(request_all(s, IPCUCKOO_CMD_ENTRY_DEL, del, s->keep, s->batch,
					 before + BAR), 0, "deletion");
		if (waits() > before + BAR)
			break;
		expect_equal(request_all(s, IPCUCKOO_CMD_ENTRY_ADD, del, del + s->add, s->batch,
					 before + BAR), 0, "addition");
	}
	calls = barriers();
	expect(waits() <= before + BAR, "more than %u waits", BAR);
	expect(calls <= BAR, "%u calls of rcu_barrier()", calls);
	expect(waits() > before + BAR ||
	       figure(cl, "edge", IPCUCKOO_A_ENTRIES) == del + s->add, "entries in the end");
	printf("# %s: %ld waits, %u calls of rcu_barrier()%s\n", s->name, waits() - before,
	       calls, probed ? "" : " (not counted: no kprobes here)");
	ktap_case("%s, %u a message", s->name, s->batch);
}

#define HOSTS	IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_A_HOSTS4, IPCUCKOO_HOST4_SIZE
#define NETS4	IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_A_NETS4, IPCUCKOO_NET4_SIZE
#define NETS6	IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_A_NETS6, IPCUCKOO_NET6_SIZE

static const struct scenario scenarios[] = {
	{ "hosts whose table cannot shrink", HOSTS, 0, 0, 26000, 26000, 25000, 25000, 1, 1 },
	{ "hosts whose table cannot shrink", HOSTS, 0, 0, 101000, 101000, 100000, 100000, 1,
	  BATCH },
	{ "IPv4 prefixes with a hint too small", NETS4, 0, 50000, 900, 900, 0, 3000, 1, 1 },
	{ "IPv6 prefixes with a hint too small", NETS6, 0, 0, 200000, 45000, 0, 60000, 1, 1 },
	{ "IPv6 prefixes with a hint too small", NETS6, 0, 0, 200000, 45000, 0, 100000, 1,
	  1000 },
	{ "records added and deleted", HOSTS, IPCUCKOO_O_COUNTERS, 0, 20000, 20000, 1000, 1000,
	  25, 1 },
	{ "comments added and deleted", HOSTS, IPCUCKOO_O_COUNTERS | IPCUCKOO_O_COMMENT, 0,
	  20000, 20000, 1000, 1000, 100, BATCH_COMMENTS },
};

int main(void)
{
	unsigned int i;

	ktap_begin("quota-edge");
	module_load("memory_limit=16");
	cl = client_open_or_die();
	probe();
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		test(&scenarios[i]);
	if (probed)
		probe_end();
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) == 0, 10),
	       "all memory is freed");
	client_close(cl);
	expect_equal(module_unload(), 0, "unloading");
	ktap_case("all memory was freed");
	return ktap_end();
}
