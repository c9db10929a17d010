// SPDX-License-Identifier: GPL-2.0
/*
 * Commits that create, fill and destroy thousands of sets in one request. A commit that fills sets
 * from shadows locks the contents of each set and of each shadow. Lockdep cannot count so many
 * locks of one class: on a kernel with lockdep, the module must not let the counter overflow.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "fixture.h"

/* With their shadows, these are 4200 locks. Lockdep's counter has 11 bits, in some kernels 12. */
enum { SETS = 2100 };

static uint32_t shadows[SETS];
static char names[SETS][8];

/* How many hosts a set has: up to 3, but in every 500th set enough for tables of several pages. */
static uint32_t hosts_of(int i, int round)
{
	return i % 500 ? 1 + (i + round) % 3 : 3000 + round;
}

static void fill_shadow(int i, int round)
{
	expect(shadows[i], "a shadow");
	expect_equal(shadow_hosts(cl, shadows[i], 0x0a000000, hosts_of(i, round)), 0,
		     "hosts of %s", names[i]);
}

static void expect_entries(int round)
{
	int i;

	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), SETS, "sets");
	for (i = 0; i < SETS; i += 1 + rng() % 50)
		expect_equal(figure(cl, names[i], IPCUCKOO_A_ENTRIES), hosts_of(i, round),
			     "entries of %s", names[i]);
}

/* Begin a commit that changes each set: half of the changes are in each of two attributes. */
static struct nlmsghdr *begin_all(void (*put)(struct nlmsghdr *nlh, int i))
{
	struct nlmsghdr *nlh = commit_begin(cl);
	int i;

	for (i = 0; i < SETS; i++) {
		if (i == SETS / 2)
			commit_go_on(nlh);
		put(nlh, i);
	}
	return nlh;
}

static void put_create(struct nlmsghdr *nlh, int i)
{
	put_new_filled(nlh, names[i], shadows[i]);
}

static void put_fill(struct nlmsghdr *nlh, int i)
{
	put_replace(nlh, shadows[i], 0);
}

static void put_destroy(struct nlmsghdr *nlh, int i)
{
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, names[i], NULL, 0);
}

static void test_create(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	int i;

	for (i = 0; i < SETS; i++) {
		shadows[i] = shadow_create(cl, IPCUCKOO_TYPE_HASH_IP);
		fill_shadow(i, 0);
	}
	nlh = begin_all(put_create);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "none", NULL, 0);
	expect_equal(commit_ask(cl, &answer), -ENOENT, "the last change fails");
	expect_equal(answer.cookie, SETS, "index of the change that fails");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 0, "sets");
	begin_all(put_create);
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	expect_entries(0);
	ktap_case("%d sets are created, with contents", SETS);
}

static void test_fill(void)
{
	struct answer answer;
	int i;

	for (i = 0; i < SETS; i++) {
		shadows[i] = shadow_new(cl, names[i], 0);
		fill_shadow(i, 1);
	}
	begin_all(put_fill);
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	expect_entries(1);
	ktap_case("the contents of %d sets are replaced", SETS);
}

static void test_destroy(void)
{
	struct answer answer;

	begin_all(put_destroy);
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 0, "sets");
	ktap_case("%d sets are destroyed", SETS);
}

int main(void)
{
	int i;

	for (i = 0; i < SETS; i++)
		snprintf(names[i], sizeof(names[i]), "set%d", i);
	fixture_begin("commit-many");
	test_create();
	test_fill();
	test_destroy();
	return fixture_end();
}
