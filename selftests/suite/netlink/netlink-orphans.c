// SPDX-License-Identifier: GPL-2.0
/*
 * Shadows of sets that do not exist (SHADOW_NEW with CREATE). All their memory must be freed when
 * they are deleted, when the socket that made them is closed, when that socket was the last
 * reference to its network namespace, and when the module is unloaded while the socket is open. If
 * memory is still charged to a namespace that ends, the module warns, and the test fails.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "fixture.h"
#include "netns.h"

enum { SHADOWS = 12, ROUNDS = 5 };

/* So many hosts that the table of a shadow takes more than a page, and is an area of vmalloc. */
static uint32_t hosts;

static void open_two(void *data)
{
	struct client **c = data;

	c[0] = client_open_or_die();
	c[1] = client_open_or_die();
}

/* Open two sockets in a new namespace. No process is in it, so only the sockets refer to it. */
static void open_elsewhere(struct client *c[2])
{
	netns_run(open_two, c);
}

static uint32_t make_shadow(struct client *c, bool filter)
{
	return filter ? shadow_create_sized(c, IPCUCKOO_TYPE_FILTER_IP, 2 * hosts) :
			shadow_create(c, IPCUCKOO_TYPE_HASH_IP);
}

static void make_shadows(struct client *c, uint32_t *shadows)
{
	uint64_t sets = figure(c, NULL, IPCUCKOO_A_SETS);
	int i;

	for (i = 0; i < SHADOWS; i++) {
		shadows[i] = make_shadow(c, i % 4 == 0);
		expect(shadows[i], "a shadow");
		expect_equal(shadow_hosts(c, shadows[i], rng(), hosts), 0, "hosts in it");
	}
	expect_equal(figure(c, NULL, IPCUCKOO_A_SETS), sets, "sets");
}

/* Commit two of the shadows, try to commit two others in a commit that fails, and delete one. */
static void use_some(struct client *c, const uint32_t *shadows)
{
	struct nlmsghdr *nlh = commit_begin(c);
	struct answer answer;

	put_new_filled(nlh, "a", shadows[0]);
	put_new_filled(nlh, "b", shadows[1]);
	expect_equal(commit_ask(c, &answer), 0, "COMMIT: %s", answer.message);
	nlh = commit_begin(c);
	put_new_filled(nlh, "c", shadows[2]);
	put_new_filled(nlh, "d", shadows[4]);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "c", "none", 0);
	expect_equal(commit_ask(c, &answer), -ENOENT, "one of two sets to swap does not exist");
	expect_equal(shadow_request(c, IPCUCKOO_CMD_SHADOW_DEL, shadows[3], 0), 0, "deleted");
	expect_equal(figure(c, NULL, IPCUCKOO_A_SETS), 2, "sets");
}

static void test_deleted(void)
{
	uint32_t shadows[SHADOWS];
	struct client *c[2];
	int i;

	open_elsewhere(c);
	make_shadows(c[0], shadows);
	expect(figure(c[0], NULL, IPCUCKOO_A_MEMORY) > SHADOWS * hosts * 2, "memory is counted");
	for (i = 0; i < SHADOWS; i++)
		expect_equal(shadow_request(c[0], IPCUCKOO_CMD_SHADOW_DEL, shadows[i], 0), 0,
			     "deleted");
	expect(wait_until(figure(c[0], NULL, IPCUCKOO_A_MEMORY) == 0, 10),
	       "memory is freed when they are deleted");
	make_shadows(c[0], shadows);
	client_close(c[0]);
	expect(wait_until(figure(c[1], NULL, IPCUCKOO_A_MEMORY) == 0, 10),
	       "memory is freed when their socket is closed");
	client_close(c[1]);
	ktap_case("SHADOW_DEL frees shadows of sets that do not exist, and so does close()");
}

/* A case: the module has no tables in any namespace, after these seconds at the latest. */
static void test_areas(const char *name, unsigned int seconds)
{
	if (!module_areas_known()) {
		ktap_skip(name, "this kernel has no " MODULE_AREAS);
		return;
	}
	expect(wait_until(!module_areas(), seconds), "%u tables are left", module_areas());
	ktap_case("%s", name);
}

static void test_namespace(void)
{
	uint32_t shadows[2][SHADOWS];
	struct client *c[2];
	int round;

	for (round = 0; round < ROUNDS; round++) {
		open_elsewhere(c);
		make_shadows(c[0], shadows[0]);
		make_shadows(c[1], shadows[1]);
		use_some(c[0], shadows[0]);
		if (module_areas_known())
			expect(module_areas(), "the shadows have tables");
		/* Closing the second socket ends the namespace. */
		client_close(c[round % 2]);
		client_close(c[!(round % 2)]);
	}
	ktap_case("a process outside of the namespace of shadows ends it by close()");
	test_areas("the shadows of that namespace are freed", 20);
}

static void test_unload(void)
{
	uint32_t shadows[SHADOWS];
	struct client *c[2], *here = client_open_or_die();
	int i;

	open_elsewhere(c);
	make_shadows(here, shadows);
	use_some(here, shadows);
	make_shadows(c[0], shadows);
	use_some(c[0], shadows);
	make_shadows(c[1], shadows);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	test_areas("shadows are freed when the module is unloaded while their sockets are open", 0);
	client_close(here);
	module_load("memory_limit=64");
	for (i = 0; i < 2; i++)
		client_close(c[i]);
	client_close(cl);
	cl = client_open_or_die();
	expect_equal(figure(cl, NULL, IPCUCKOO_A_MEMORY), 0, "memory after it was loaded again");
	ktap_case("the module can be loaded again, and the sockets closed then");
}

int main(void)
{
	fixture_begin("netlink-orphans");
	hosts = sysconf(_SC_PAGESIZE) * 3 / 4;
	test_deleted();
	test_namespace();
	test_unload();
	return fixture_end();
}
