// SPDX-License-Identifier: GPL-2.0
/*
 * Each set has writers, over netlink and in its file, while threads commit swaps, replacements and
 * flushes of the same sets without a pause. Nobody may keep another one away: all threads must make
 * progress, and no request may fail. Members that no thread deletes must always be found.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "hostile.h"
#include "ktap.h"
#include "listen.h"
#include "workers.h"

/* The members of all sets, and what writers add and delete. */
#define MEMBER	0x0a000000
#define EXTRA	0x0b000000

enum { SETS = 4, MEMBERS = 64, EXTRAS = 2000 };

static uint32_t draw(struct worker *worker, uint32_t below)
{
	worker->random = worker->random * 1664525 + 1013904223;
	return (worker->random >> 8) % below;
}

static const char *any_set(struct worker *worker)
{
	static const char * const names[SETS] = { "s0", "s1", "s2", "s3" };

	return names[draw(worker, SETS)];
}

/* Writers */

static int change_hosts(struct client *c, uint8_t cmd, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, cmd);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	put_hosts4(nlh, EXTRA, EXTRAS);
	return client_ask(c, &answer);
}

static void write_requests(struct worker *worker)
{
	struct client *c = client_open_or_die();
	const char *name;
	int error;

	for (; !workers_stop; worker->done++) {
		name = any_set(worker);
		error = change_hosts(c, IPCUCKOO_CMD_ENTRY_ADD, name);
		error = error ?: change_hosts(c, IPCUCKOO_CMD_ENTRY_DEL, name);
		if (error)
			worker_report(worker, "%s: error %d", name, error);
	}
	client_close(c);
}

/* Several lines of a file are applied to a copy of the contents, so this holds them for long. */
static void write_files(struct worker *worker)
{
	char path[64], text[8000];
	size_t size;
	int fd, i;

	if (access("/proc/net/ipcuckoo", F_OK)) {
		worker->done = WORKERS_LEAST;
		return;
	}
	for (; !workers_stop; worker->done++) {
		snprintf(path, sizeof(path), "/proc/net/ipcuckoo/set/%s", any_set(worker));
		for (i = 0, size = 0; i < 200; i++)
			size += sprintf(text + size, "+11.1.0.%d\n-11.1.0.%d\n", i, i);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, text, size) != (ssize_t)size)
			worker_report(worker, "%s: error %d", path, errno);
		close(fd);
	}
}

/* A shadow is refused if a commit has changed or swapped its set meanwhile. */
static void write_shadows(struct worker *worker)
{
	struct client *c = client_open_or_die();
	uint32_t shadow;
	int error;

	for (; !workers_stop; worker->done++) {
		shadow = shadow_new(c, any_set(worker), IPCUCKOO_F_APPEND);
		error = shadow ? shadow_hosts(c, shadow, EXTRA, 100) : -1;
		error = error ?: shadow_request(c, IPCUCKOO_CMD_SHADOW_COMMIT, shadow,
						IPCUCKOO_F_OVERRIDE);
		if (error == -ESTALE)
			error = shadow_request(c, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

/* Commits */

static void commit_swaps(struct worker *worker)
{
	struct client *c = client_open_or_die();
	struct answer answer;
	struct nlmsghdr *nlh;

	for (; !workers_stop; worker->done++) {
		nlh = commit_begin(c);
		put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "s0", "s1", 0);
		put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "s2", "s3", 0);
		put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "s1", "s2", 0);
		if (commit_ask(c, &answer))
			worker_report(worker, "error %d: %s", answer.error, answer.message);
	}
	client_close(c);
}

/* Flush a set, and fill it with its members again in the same commit; create and destroy another. */
static void commit_contents(struct worker *worker)
{
	struct client *c = client_open_or_die();
	struct answer answer;
	struct nlmsghdr *nlh;
	const char *name;
	uint32_t shadow;

	for (; !workers_stop; worker->done++) {
		name = any_set(worker);
		shadow = shadow_new(c, name, 0);
		if (!shadow || shadow_hosts(c, shadow, MEMBER, MEMBERS))
			worker_report(worker, "no shadow of %s", name);
		nlh = commit_begin(c);
		put_new(nlh, "more", IPCUCKOO_TYPE_HASH_IP, 0);
		put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, name, NULL, 0);
		put_replace(nlh, shadow, IPCUCKOO_F_OVERRIDE);
		put_named(nlh, IPCUCKOO_CMD_SET_DEL, "more", NULL, 0);
		/* ESTALE: the set was swapped. */
		if (commit_ask(c, &answer) && answer.error != -ESTALE)
			worker_report(worker, "error %d: %s", answer.error, answer.message);
		if (answer.error)
			shadow_request(c, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
	}
	client_close(c);
}

static void flush_all(struct worker *worker)
{
	struct client *c = client_open_or_die();
	int error;

	for (; !workers_stop; worker->done++) {
		error = everything(c, IPCUCKOO_CMD_SET_FLUSH);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

/* Readers */

static void count_hosts(const struct answer *answer, void *data)
{
	const struct nlattr *hosts = answer->attr[IPCUCKOO_A_HOSTS4];

	*(unsigned int *)data += hosts ? mnl_attr_get_payload_len(hosts) / 4 : 0;
}

static void count_sets(const struct answer *answer, void *data)
{
	*(unsigned int *)data += !!answer->attr[IPCUCKOO_A_SET];
}

static void look(struct worker *worker)
{
	struct client *c = client_open_or_die();
	unsigned int hosts, sets;
	struct answer answer;
	struct nlmsghdr *nlh;
	int error;

	for (; !workers_stop; worker->done++) {
		nlh = client_begin(c, IPCUCKOO_CMD_ENTRY_TEST);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, any_set(worker));
		put_hosts4(nlh, MEMBER + draw(worker, MEMBERS), 1);
		if (client_ask(c, &answer) || answer_number(&answer, IPCUCKOO_A_FOUND) != 1)
			worker_report(worker, "a member is not found: error %d", answer.error);
		/* EAGAIN: something has changed between two messages, or the set was busy. */
		hosts = 0;
		error = dump_each(c, IPCUCKOO_CMD_ENTRY_GET, any_set(worker), count_hosts, &hosts);
		if (error != -EAGAIN && (error || hosts < MEMBERS))
			worker_report(worker, "ENTRY_GET: %u entries, error %d", hosts, error);
		sets = 0;
		error = dump_each(c, IPCUCKOO_CMD_SET_GET, NULL, count_sets, &sets);
		if (error != -EAGAIN && (error || sets != SETS))
			worker_report(worker, "SET_GET: %u sets, error %d", sets, error);
	}
	client_close(c);
}

/* Cases */

static void run(struct worker *workers, unsigned int count, uint64_t seed, double seconds)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		workers[i].random = seed + 7919 * i;
	workers_run(workers, count, seconds);
}

int main(void)
{
	struct worker commits[] = {
		{ .name = "requests", .run = write_requests },
		{ .name = "more requests", .run = write_requests },
		{ .name = "files", .run = write_files },
		{ .name = "more files", .run = write_files },
		{ .name = "shadows", .run = write_shadows },
		{ .name = "swaps", .run = commit_swaps },
		{ .name = "contents", .run = commit_contents },
		{ .name = "readers", .run = look },
	};
	struct worker flushes[] = {
		{ .name = "requests", .run = write_requests },
		{ .name = "files", .run = write_files },
		{ .name = "swaps", .run = commit_swaps },
		{ .name = "flushes", .run = flush_all },
	};
	static const char * const names[SETS] = { "s0", "s1", "s2", "s3" };
	double seconds;
	struct client *c;
	uint64_t seed;
	int i;

	seed = ktap_begin("race-writers");
	seconds = ktap_option("SECONDS", hostile_slow() ? 16 : 6);
	module_load("");
	c = client_open_or_die();
	for (i = 0; i < SETS; i++)
		expect(!set_new(c, names[i], IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) &&
		       !hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, names[i], MEMBER, MEMBERS),
		       "%s", names[i]);
	run(commits, sizeof(commits) / sizeof(*commits), seed, seconds);
	ktap_case("commits and writers of the same sets");
	run(flushes, sizeof(flushes) / sizeof(*flushes), seed, seconds / 2);
	ktap_case("the same, and requests that flush all sets");
	expect_equal(figure(c, NULL, IPCUCKOO_A_SETS), SETS, "sets at the end");
	hostile_end(c);
	return ktap_end();
}
