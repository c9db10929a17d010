// SPDX-License-Identifier: GPL-2.0
/*
 * Sets give back memory some seconds after they have grown: kmod/trim.c. No entry must be lost, and
 * a set may be changed, swapped or destroyed at any time.
 */
#define _GNU_SOURCE
#include "fixture.h"

enum { HOSTS = 30000, SETS = 40, SET_HOSTS = 1500, SECONDS = 8 };

/* Tables of this size have 3 bytes a slot, and one in 20 slots is empty; and there is the set. */
static uint64_t memory_of(uint32_t hosts)
{
	return hosts * 3 * 106 / 100 + 2 * sysconf(_SC_PAGESIZE);
}

/* Add hosts in requests of few, so that the table grows several times. */
static void add_slowly(const char *name, uint32_t first, uint32_t count)
{
	uint32_t n;

	for (; count; count -= n, first += n) {
		n = count < 10 ? count : 1 + rng() % 10;
		expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, first, n), 0, "add");
	}
}

static void test_given_back(void)
{
	uint64_t memory, growths;
	int half;

	make_sets();
	add_slowly("hosts", 0x0b000000, HOSTS);
	growths = figure(cl, "hosts", IPCUCKOO_A_GROWTHS);
	expect(growths > 5, "the table has grown: %llu times", (unsigned long long)growths);
	expect(wait_until(figure(cl, "hosts", IPCUCKOO_A_MEMORY) <= memory_of(HOSTS), SECONDS),
	       "the set takes %llu bytes, not %llu",
	       (unsigned long long)figure(cl, "hosts", IPCUCKOO_A_MEMORY),
	       (unsigned long long)memory_of(HOSTS));
	memory = figure(cl, "hosts", IPCUCKOO_A_MEMORY);
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), HOSTS + 1, "entries");
	ktap_case("a set that has grown gives back what it does not need");

	for (half = 0; half < 2; half++)
		expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "hosts",
					   0x0b000000 + half * HOSTS / 2, HOSTS / 2), 0,
			     "all hosts are there");
	expect_equal(figure(cl, "hosts", IPCUCKOO_A_ENTRIES), 1, "entries");
	add_slowly("hosts", 0x0b000000, HOSTS);
	expect(wait_until(figure(cl, "hosts", IPCUCKOO_A_MEMORY) <= memory + memory / 50, SECONDS),
	       "the set takes %llu bytes, and took %llu",
	       (unsigned long long)figure(cl, "hosts", IPCUCKOO_A_MEMORY),
	       (unsigned long long)memory);
	ktap_case("no entry is lost, and the set can grow and be trimmed again");
}

static int destroy(const char *name)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_SET_DEL);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	return client_ask(cl, &answer);
}

/* Each set is destroyed, emptied or left alone at about the time when it would be trimmed. */
static void test_disturbed(void)
{
	char names[SETS][16];
	int i;

	make_sets();
	for (i = 0; i < SETS; i++) {
		snprintf(names[i], sizeof(names[i]), "set%d", i);
		expect_equal(set_new(cl, names[i], IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0,
			     "a set");
		add_slowly(names[i], 0x0c000000, SET_HOSTS);
	}
	usleep(1500000);
	for (i = 0; i < SETS; i++) {
		usleep(rng() % 200000);
		switch (i % 3) {
		case 0:
			expect_equal(destroy(names[i]), 0, "destroyed");
			break;
		case 1:
			expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, names[i], 0x0c000000,
						   SET_HOSTS - 1), 0, "deleted");
			expect_equal(figure(cl, names[i], IPCUCKOO_A_ENTRIES), 1, "entries");
			break;
		default:
			expect_equal(figure(cl, names[i], IPCUCKOO_A_ENTRIES), SET_HOSTS,
				     "entries");
		}
	}
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("sets that wait to be trimmed are destroyed and changed");
}

int main(void)
{
	fixture_begin("netlink-trim");
	test_given_back();
	test_disturbed();
	return fixture_end();
}
