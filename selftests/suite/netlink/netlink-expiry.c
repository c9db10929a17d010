// SPDX-License-Identifier: GPL-2.0
/*
 * Expired entries are not counted: at any time around an expiry, the number of entries that the
 * kernel reports is the number of entries that a dump has. And garbage collection runs when the
 * nearest timeout expires. Until then, refreshing an entry costs what it always costs, though the
 * set has a limit: it reads no table to find how many entries have expired.
 */
#define _GNU_SOURCE
#include "fixture.h"

/* A set that has a limit, and its hosts: fewer where reading each of them takes long anyway */
#define BIG	"big"
enum { HOSTS = 1000000, FEWER_HOSTS = 200000, BATCH = 1000 };

/* The best of so many rounds of requests is compared, as this machine may not run meanwhile. */
enum { ROUNDS = 30, REQUESTS = 20 };

static int add_to(const char *set, uint32_t host, uint32_t count, uint32_t timeout, uint32_t flags)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	uint8_t *timeouts = malloc(4 * count);
	struct answer answer;
	uint32_t i;

	for (i = 0; i < count; i++)
		put_be32(timeouts + 4 * i, timeout);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, flags);
	put_hosts4(nlh, host, count);
	mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, 4 * count, timeouts);
	free(timeouts);
	return client_ask(cl, &answer);
}

static int add(uint32_t host, uint32_t count, uint32_t timeout)
{
	return add_to("ends", host, count, timeout, 0);
}

static bool there(uint32_t host)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_TEST);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "ends");
	put_hosts4(nlh, host, 1);
	return !client_ask(cl, &answer) && answer_number(&answer, IPCUCKOO_A_FOUND) == 1;
}

/* Count the members: all hosts of a group expire together, so test one of each. */
static uint64_t members(void)
{
	return 100 * there(0x0a000000) + 10 * there(0x0b000000) + there(0x0c000000);
}

/* @maxelem: the limit of the set, or 0 */
static void make(const char *set, uint32_t maxelem)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, IPCUCKOO_O_TIMEOUT);
	if (maxelem)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, maxelem);
	expect_equal(client_ask(cl, &answer), 0, "a set with timeouts");
}

/* Refresh hosts of the set one by one. Return: seconds that a request takes. */
static double refresh(void)
{
	double begin, best = 1e9;
	int i, n, host = 0;

	for (i = 0; i < ROUNDS; i++) {
		begin = ktap_seconds();
		for (n = 0; n < REQUESTS; n++)
			expect_equal(add_to(BIG, 0x0a000000 + host++, 1, 100000,
					    IPCUCKOO_F_EXIST), 0, "a refresh");
		begin = ktap_seconds() - begin;
		best = begin < best ? begin : best;
	}
	return best / REQUESTS;
}

/* Let a host expire that gc does not remove yet: it has just run, and does so every five seconds. */
static void leave_expired(uint32_t hosts)
{
	uint64_t expired = figure(cl, BIG, IPCUCKOO_A_EXPIRED);

	expect_equal(add_to(BIG, 0x0b000000, 1, 1, 0), 0, "a host for a second");
	expect(wait_until(figure(cl, BIG, IPCUCKOO_A_EXPIRED) == expired + 1, 10), "gc removes it");
	expect_equal(add_to(BIG, 0x0b000000, 1, 1, 0), 0, "another one");
	expect(wait_until(figure(cl, BIG, IPCUCKOO_A_ENTRIES) == hosts, 10), "it expires");
	expect_equal(figure(cl, BIG, IPCUCKOO_A_EXPIRED), expired + 1, "removed until now");
}

/* @maxelem: the limit of the set. If it is 1, this is for one host more than the set has. */
static void test_refresh(uint32_t maxelem, const char *name)
{
	const char *kernel = getenv("IPCUCKOO_KERNEL");
	uint32_t hosts = kernel && strcmp(kernel, "uml") ? FEWER_HOSTS : HOSTS, host;
	double without, with;
	uint64_t expired;

	make(BIG, maxelem == 1 ? hosts + 1 : maxelem);
	for (host = 0; host < hosts; host += BATCH)
		expect_equal(add_to(BIG, 0x0a000000 + host, BATCH, 100000, 0), 0, "filling it");
	without = refresh();
	leave_expired(hosts);
	expired = figure(cl, BIG, IPCUCKOO_A_EXPIRED);
	with = refresh();
	expect_equal(figure(cl, BIG, IPCUCKOO_A_EXPIRED), expired, "removed meanwhile");
	printf("# %u hosts: a refresh takes %.1f us, %.1f us while an expired host waits\n", hosts,
	       without * 1e6, with * 1e6);
	expect(with < 1.2 * without, "%.1f us, and %.1f without an expired host", with * 1e6,
	       without * 1e6);
	if (maxelem == 1) {
		expect_equal(add_to(BIG, 0x0c000000, 1, 100, 0), 0, "a new host takes its room");
		expect_equal(figure(cl, BIG, IPCUCKOO_A_EXPIRED), expired + 1, "removed now");
		expect_equal(add_to(BIG, 0x0c000001, 1, 100, 0), -ENOSPC, "there is no more room");
	}
	expect_equal(everything(cl, IPCUCKOO_CMD_SET_DEL), 0, "deletion");
	ktap_case(name);
}

int main(void)
{
	unsigned int looks = 0, wrong = 0, compared = 0;
	uint64_t before, told, after, counts = 0;

	ktap_begin("netlink-expiry");
	module_load("");
	cl = client_open_or_die();
	make("ends", 0);
	expect_equal(add(0x0a000000, 100, 1), 0, "a hundred for a second");
	expect_equal(add(0x0b000000, 10, 3), 0, "ten for three seconds");
	expect_equal(add(0x0c000000, 1, 100), 0, "one for longer than the test");
	/* The first second is over when all of the first hundred have expired. */
	for (; looks < 30000 && counts != 1; looks++) {
		before = members();
		told = figure(cl, "ends", IPCUCKOO_A_ENTRIES);
		after = members();
		counts = after;
		usleep(1000);
		if (before != after)
			continue;
		compared++;
		wrong += told != after;
	}
	expect_equal(counts, 1, "entries in the end");
	expect(compared > 100, "%u comparisons", compared);
	expect_equal(wrong, 0, "counts that differ, of %u", compared);
	ktap_case("at any time, the number of entries is the number of members");
	/* The second run of gc is at least five seconds after the first one. */
	expect(wait_until(figure(cl, "ends", IPCUCKOO_A_EXPIRED) == 110, 15),
	       "all expired entries are removed");
	ktap_case("gc removes expired entries without a request");
	expect_equal(everything(cl, IPCUCKOO_CMD_SET_DEL), 0, "deletion");
	test_refresh(4 * HOSTS, "far below the limit of a set, a refresh counts no expired entries");
	test_refresh(1, "at the limit, a refresh needs no room, and makes none; a new entry does");
	client_close(cl);
	expect_equal(module_unload(), 0, "unloading");
	ktap_case("all memory was freed, and the module can be unloaded");
	return ktap_end();
}
