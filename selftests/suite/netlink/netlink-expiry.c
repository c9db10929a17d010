// SPDX-License-Identifier: GPL-2.0
/*
 * Expired entries are not counted: at any time around an expiry, the number of entries that the
 * kernel reports is the number of entries that a dump has. And garbage collection runs when the
 * nearest timeout expires.
 */
#define _GNU_SOURCE
#include "fixture.h"

static int add(uint32_t host, uint32_t count, uint32_t timeout)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	uint8_t *timeouts = malloc(4 * count);
	struct answer answer;
	uint32_t i;

	for (i = 0; i < count; i++)
		put_be32(timeouts + 4 * i, timeout);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "ends");
	put_hosts4(nlh, host, count);
	mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, 4 * count, timeouts);
	free(timeouts);
	return client_ask(cl, &answer);
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

int main(void)
{
	unsigned int looks = 0, wrong = 0, compared = 0;
	uint64_t before, told, after, counts = 0;
	struct nlmsghdr *nlh;
	struct answer answer;

	ktap_begin("netlink-expiry");
	module_load("");
	cl = client_open_or_die();
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "ends");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, IPCUCKOO_O_TIMEOUT);
	expect_equal(client_ask(cl, &answer), 0, "a set with timeouts");
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
	client_close(cl);
	expect_equal(module_unload(), 0, "unloading");
	ktap_case("all memory was freed, and the module can be unloaded");
	return ktap_end();
}
