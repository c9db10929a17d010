// SPDX-License-Identifier: GPL-2.0
/*
 * Unloads and loads the module while it is in use in every possible way: packets match, entries
 * expire, dumps are half read, files are opened and read, sets and shadows are filled. Attachments
 * and open files hold references. As soon as there are none, the module must be unloadable within
 * a few seconds, whatever the other threads do, and must leave no memory behind.
 *
 * ROUNDS=n unloads it n times.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "hostile.h"
#include "ktap.h"

#define FILES		"/proc/net/ipcuckoo/"
#define HOSTS		4000
#define OPEN_FILES	16

/* Time limit, in seconds, for an emulated machine with a kernel that checks itself. */
#define PATIENCE	60

static atomic_bool over;

/* The module is about to be unloaded: files may be opened only for a moment. */
static atomic_bool leaving;

/* A random number. Each thread has its own state. */
static uint32_t draw(uint32_t *state, uint32_t below)
{
	*state = *state * 1664525 + 1013904223;
	return (*state >> 8) % below;
}

/* Open a client. Returns NULL while the module is not loaded. */
static struct client *try_open(void)
{
	struct client *c = client_open();

	if (!c)
		usleep(1000);
	return c;
}

static void send_packets(uint32_t *state)
{
	static int fd;

	if (!fd)
		fd = hostile_packets();
	hostile_send(fd, 1 + draw(state, 50));
	usleep(100);
}

static void dump_halves(uint32_t *state)
{
	struct client *c = try_open();

	if (!c)
		return;
	c->room = 4096;
	if (draw(state, 4))
		hostile_half_dump(c, IPCUCKOO_CMD_ENTRY_GET, "race");
	else
		hostile_half_dump(c, IPCUCKOO_CMD_SET_GET, NULL);
	usleep(draw(state, 20000));
	client_close(c);
}

static int open_file(uint32_t *state)
{
	static const char * const names[] = { "sets", "attachments", "set/race", "set/other" };
	char path[64];

	snprintf(path, sizeof(path), FILES "%s", names[draw(state, 4)]);
	return open(path, (strstr(path, "set/") ? O_RDWR : O_RDONLY) | O_CLOEXEC);
}

static void use_file(int fd, uint32_t *state)
{
	char buf[512];

	(void)!read(fd, buf, 1 + draw(state, sizeof(buf)));
	if (draw(state, 2))
		(void)!write(fd, "+192.0.2.1\n-192.0.2.1\n", 22);
}

/* Open files; keep some of them open for long. */
static void use_files(uint32_t *state)
{
	static int files[OPEN_FILES];
	int i, *fd = &files[draw(state, OPEN_FILES)];

	for (i = 0; leaving && i < OPEN_FILES; i++) {
		if (files[i] > 0)
			close(files[i]);
		files[i] = 0;
	}
	if (*fd <= 0)
		*fd = open_file(state);
	if (*fd > 0)
		use_file(*fd, state);
	if (*fd > 0 && (leaving || !draw(state, 3))) {
		close(*fd);
		*fd = 0;
	}
	usleep(draw(state, 500));
}

static void change_sets(uint32_t *state)
{
	struct client *c = try_open();
	uint32_t shadow;

	if (!c)
		return;
	hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "other", draw(state, 1 << 24), 1000);
	set_request(c, IPCUCKOO_CMD_SET_FLUSH, "other");
	shadow = shadow_new(c, "other", 0);
	if (shadow)
		shadow_hosts(c, shadow, draw(state, 1 << 24), 1000);
	if (draw(state, 2))
		shadow_request(c, IPCUCKOO_CMD_SHADOW_COMMIT, shadow, 0);
	/* If it was not committed, closing the socket destroys the shadow. */
	client_close(c);
}

static void look_around(uint32_t *state)
{
	struct client *c = try_open();

	if (!c)
		return;
	figure(c, NULL, IPCUCKOO_A_MEMORY);
	set_new(c, "brief", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	set_request(c, IPCUCKOO_CMD_SET_DEL, "brief");
	client_close(c);
	usleep(draw(state, 1000));
}

static struct user {
	void (*act)(uint32_t *state);
	const char *what;
	atomic_ulong done;
	pthread_t thread;
	uint32_t state;
} users[] = {
	{ .act = send_packets, .what = "bursts of packets" },
	{ .act = dump_halves, .what = "dumps not read to the end" },
	{ .act = use_files, .what = "uses of files" },
	{ .act = change_sets, .what = "changes" },
	{ .act = look_around, .what = "sets created and destroyed" },
};

#define USERS	(sizeof(users) / sizeof(*users))

static void *user_main(void *data)
{
	struct user *user = data;

	while (!over) {
		user->act(&user->state);
		user->done++;
	}
	return NULL;
}

/* Has every thread done something since @before? */
static bool all_busy(const unsigned long *before)
{
	unsigned int i;

	for (i = 0; i < USERS; i++)
		if (users[i].done <= before[i])
			return false;
	return true;
}

/* Try to unload the module for some time: dumps hold references while they run. Returns 0 or an
 * error.
 */
static int unload(void)
{
	int error = 0;

	wait_until(!(error = module_unload()), PATIENCE);
	return error;
}

static void setup(void)
{
	struct client *c = client_open_or_die();

	expect_equal(hostile_set(c, "race", HOSTS, 4), 0, "a set whose entries expire");
	expect_equal(set_new(c, "other", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0,
		     "another set");
	expect_equal(hostile_attach(c, "race", NULL, IPCUCKOO_PLACE_IP), 0, "attached");
	client_close(c);
}

static void one_round(unsigned int i)
{
	unsigned long before[USERS];
	struct client *c;
	unsigned int u;
	int error;

	module_load("");
	setup();
	for (u = 0; u < USERS; u++)
		before[u] = users[u].done;
	expect(wait_until(all_busy(before), PATIENCE), "round %u: all threads use the module", i);
	/* In some rounds, entries have expired by now; in others, none has. */
	usleep(i % 4 * 400000);
	error = module_unload();
	expect(error == -EWOULDBLOCK || error == -EBUSY,
	       "round %u: unloading fails while a set is attached: error %d", i, error);
	c = client_open_or_die();
	expect_equal(everything(c, IPCUCKOO_CMD_DETACH), 0, "round %u: detached", i);
	client_close(c);
	leaving = true;
	error = unload();
	leaving = false;
	expect_equal(error, 0, "round %u: unloaded", i);
	expect(hostile_references() < 0, "round %u: the module is not loaded", i);
}

int main(void)
{
	uint32_t seed = ktap_begin("race-unload");
	unsigned int rounds = ktap_option("ROUNDS", hostile_slow() ? 3 : 6), i;
	char text[64];

	hostile_loopback_up();
	for (i = 0; i < USERS; i++) {
		users[i].state = seed + i;
		if (pthread_create(&users[i].thread, NULL, user_main, &users[i]))
			err(2, "a thread");
	}
	for (i = 0; i < rounds && !ktap_failing(); i++)
		one_round(i);
	snprintf(text, sizeof(text), "%u times", i);
	ktap_case("the module is unloaded while it is in use, %s", text);
	over = true;
	for (i = 0; i < USERS; i++) {
		pthread_join(users[i].thread, NULL);
		printf("# %lu %s\n", users[i].done, users[i].what);
		expect(users[i].done >= rounds, "%s in each round", users[i].what);
	}
	ktap_case("all threads have used the module");
	if (!module_areas_known()) {
		ktap_skip("all memory of the module was freed", "this kernel has no " MODULE_AREAS);
		return ktap_end();
	}
	expect(wait_until(!module_areas(), PATIENCE), "the module has no vmalloc memory left");
	ktap_case("all memory of the module was freed");
	return ktap_end();
}
