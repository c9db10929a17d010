// SPDX-License-Identifier: GPL-2.0
/*
 * Sets are renamed, swapped, created and destroyed while packets are logged and traced with their
 * names, and while their files are opened, written, read and closed. Every name that is seen must
 * be a complete one. KCSAN watches readers that take no lock.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>

#include "client.h"
#include "ktap.h"
#include "workers.h"

#define TRACING		"/sys/kernel/tracing/"
#define EVENT		TRACING "events/ipcuckoo/ipcuckoo_match/enable"
#define PROC		"/proc/net/ipcuckoo/"

/* Names of the maximum length, each of a single letter, so that a torn name can be recognised. */
#define A		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B		"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C		"ccccccccccccccccccccccccccccccc"
#define D		"ddddddddddddddddddddddddddddddd"

/* The name of a set that is created and destroyed. */
#define X		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

/* Attach a set to packets from this machine, with a log to an nflog group that nobody reads. */
static int attach_logged(struct client *c, const char *name)
{
	struct nlmsghdr *nlh = client_begin(c, IPCUCKOO_CMD_ATTACH);
	struct answer answer;

	put_rule(nlh, name, IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_LOOPBACK);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, IPCUCKOO_LOG_NFLOG);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_LOG_RATE, 0);
	return client_ask(c, &answer);
}

static void make_sets(struct client *c)
{
	static const char * const names[] = { A, C, D };
	int i, error = 0;

	for (i = 0; i < 3; i++)
		if (set_new(c, names[i], IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) ||
		    hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, names[i], INADDR_LOOPBACK, 1) ||
		    (error = attach_logged(c, names[i])))
			errx(1, "cannot create sets: %d", error);
}

/* Threads */

static void rename_one(struct worker *worker)
{
	struct client *c = client_open_or_die();
	int error;

	for (; !workers_stop; worker->done++) {
		error = two_names(c, IPCUCKOO_CMD_SET_RENAME, worker->done % 2 ? B : A,
				  worker->done % 2 ? A : B);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

static void swap_two(struct worker *worker)
{
	struct client *c = client_open_or_die();
	int error;

	for (; !workers_stop; worker->done++) {
		error = two_names(c, IPCUCKOO_CMD_SET_SWAP, C, D);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

static void come_and_go(struct worker *worker)
{
	struct client *c = client_open_or_die();
	int error;

	for (; !workers_stop; worker->done++) {
		error = set_new(c, X, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
		if (!error && worker->done % 4 == 3)
			error = two_names(c, IPCUCKOO_CMD_SET_RENAME, X, "y") ?:
				two_names(c, IPCUCKOO_CMD_SET_RENAME, "y", X);
		if (!error)
			error = set_request(c, IPCUCKOO_CMD_SET_DEL, X);
		if (error)
			worker_report(worker, "error %d", error);
	}
	client_close(c);
}

static void send_packets(struct worker *worker)
{
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (; !workers_stop; worker->done++)
		worker_send(s);
	close(s);
}

/* Use the file of a set that may be destroyed or renamed meanwhile. */
static void use_file(struct worker *worker, const char *name)
{
	const char line[] = "+192.0.2.1\n";
	char path[100], text[400];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), PROC "set/%s", name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		if (errno != ENOENT)
			worker_report(worker, "open %c: %d", *name, errno);
		return;
	}
	if (write(fd, line, strlen(line)) < 0 && errno != ENOENT)
		worker_report(worker, "write %c: %d", *name, errno);
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0 && errno != ENOENT)
		worker_report(worker, "read %c: %d", *name, errno);
	close(fd);
}

static void use_files(struct worker *worker)
{
	for (; !workers_stop; worker->done++)
		use_file(worker, worker->done % 4 ? X : A);
}

/* Check that a list has only the known names, complete. */
static void check_names(struct worker *worker, char *text, const char *before)
{
	static const char * const names[] = { A, B, C, D, X, "y" };
	char *name = text;
	unsigned int i;
	size_t len;

	while ((name = strstr(name, before))) {
		name += strlen(before);
		len = strcspn(name, " \n");
		if (!name[len])
			return;
		for (i = 0; i < 6; i++)
			if (strlen(names[i]) == len && !memcmp(name, names[i], len))
				break;
		if (i == 6)
			worker_report(worker, "name %.*s", (int)(len < 40 ? len : 40), name);
		worker->done++;
	}
}

static void read_lists(struct worker *worker)
{
	char text[8192];
	ssize_t size;
	int fd;

	while (!workers_stop) {
		fd = open(PROC "sets", O_RDONLY | O_CLOEXEC);
		size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (size < 0)
			worker_report(worker, "sets: %d", errno);
		text[size < 0 ? 0 : size] = '\0';
		/* Start after the header line. */
		check_names(worker, text, "\n");
		close(fd);
	}
}

static void read_trace(struct worker *worker)
{
	int fd = open(TRACING "trace_pipe", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	static char text[1 << 16];
	ssize_t size;

	while (!workers_stop) {
		size = read(fd, text, sizeof(text) - 1);
		if (size < 0)
			usleep(1000);
		text[size < 0 ? 0 : size] = '\0';
		check_names(worker, text, " set=");
	}
	close(fd);
}

static bool trace(const char *on)
{
	int fd = open(EVENT, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, on, 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool has_files(void)
{
	return !access(PROC, F_OK);
}

static void test_race(unsigned int seconds)
{
	struct worker workers[7] = {
		{ .name = "renames", .run = rename_one },
		{ .name = "swaps", .run = swap_two },
		{ .name = "sets created and destroyed", .run = come_and_go },
		{ .name = "packets", .run = send_packets },
	};
	unsigned int count = 4;

	/* What this kernel can do: some have no procfs, some cannot trace. */
	if (has_files()) {
		workers[count++] = (struct worker){ .name = "files opened", .run = use_files };
		workers[count++] = (struct worker){ .name = "names listed", .run = read_lists };
	}
	if (trace("1"))
		workers[count++] = (struct worker){ .name = "names traced", .run = read_trace };
	workers_run(workers, count, seconds);
	trace("0");
	ktap_case("names are complete, while other threads change them");
}

static void test_files(void)
{
	const char *name = "after all changes, the files are those of the sets";

	if (!has_files()) {
		ktap_skip(name, "no procfs");
		return;
	}
	expect(wait_until(access(PROC "set/" X, F_OK), 5),
	       "the file of the destroyed set does not exist");
	expect(!access(PROC "set/" C, F_OK), "the file of an existing set exists");
	ktap_case("%s", name);
}

int main(void)
{
	const char *kernel = getenv("IPCUCKOO_KERNEL");
	struct client *c;

	ktap_begin("race-names");
	module_load("");
	c = client_open_or_die();
	make_sets(c);
	test_race(kernel && (!strcmp(kernel, "kcsan") || !strcmp(kernel, "debug")) ? 15 : 3);
	expect(figure(c, NULL, IPCUCKOO_A_SETS) == 3, "three sets are left");
	ktap_case("after all changes, the same sets are left");
	test_files();
	everything(c, IPCUCKOO_CMD_DETACH);
	everything(c, IPCUCKOO_CMD_SET_DEL);
	client_close(c);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("the module can be unloaded afterwards");
	return ktap_end();
}
