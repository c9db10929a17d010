// SPDX-License-Identifier: GPL-2.0
/*
 * The memory limit includes everything that a network namespace can make the kernel allocate. With
 * memory_limit=16, a program tries to make the kernel use as much memory as possible. According to
 * the kernel's own counters, it must never grow by more than 20 MiB.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>

#include "fixture.h"

#define BAR_KIB		(20 << 10)

/* Number of entries with comments of full length that fit into a message. */
#define COMMENTED	200

/* The longest write to the file of a set, in bytes. */
#define FILE_WRITE	(1 << 20)

static long idle_kib, most_kib;

static long meminfo(const char *name)
{
	char line[128], key[64];
	long kib = -1, n;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && kib < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]: %ld", key, &n) == 2 && !strcmp(key, name))
			kib = n;
	if (!f || kib < 0)
		errx(2, "/proc/meminfo has no %s", name);
	fclose(f);
	return kib;
}

/* Memory of the kernel, without the page cache. */
static long kernel_kib(void)
{
	return meminfo("SUnreclaim") + meminfo("VmallocUsed") + meminfo("Percpu");
}

static void sample(void)
{
	long grown = kernel_kib() - idle_kib;

	if (grown > most_kib)
		most_kib = grown;
}

static void give_back(void)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	client_close(cl);
	cl = client_open_or_die();
	expect(wait_until(!figure(cl, NULL, IPCUCKOO_A_MEMORY), 30), "all memory is freed: %llu",
	       (unsigned long long)figure(cl, NULL, IPCUCKOO_A_MEMORY));
	usleep(300000);
}

/* Try one way to make the kernel use memory. It begins without sets. */
static void attempt(const char *what, void (*run)(void))
{
	idle_kib = kernel_kib();
	most_kib = 0;
	run();
	sample();
	expect(most_kib <= BAR_KIB, "%s: grown by %ld KiB", what, most_kib);
	printf("# %s: %ld KiB, charged to the namespace: %llu KiB\n", what, most_kib,
	       (unsigned long long)figure(cl, NULL, IPCUCKOO_A_MEMORY) >> 10);
	give_back();
	ktap_case("%s: the kernel uses 20 MiB at most", what);
}

static int option_set(const char *name, uint8_t type, uint32_t options)
{
	return set_new_options(cl, name, type, IPCUCKOO_FAMILY_ANY, options);
}

static int numbered(uint8_t cmd, int n)
{
	char name[32];

	snprintf(name, sizeof(name), "n%d", n);
	return cmd == IPCUCKOO_CMD_SET_NEW ? option_set(name, IPCUCKOO_TYPE_HASH_NET, 0) :
					     set_request(cl, cmd, name);
}

static void empty_sets(void)
{
	int i = 0, error = 0;

	for (; !error; i++) {
		error = numbered(IPCUCKOO_CMD_SET_NEW, i);
		if (!(i % 1000))
			sample();
	}
	printf("# %d sets\n", i - 1);
	expect(error == -EDQUOT || error == -E2BIG, "the last error: %d", error);
}

static void small_sets(void)
{
	char name[32];
	int i, error = 0;

	for (i = 0; !error; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		error = option_set(name, IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_O_ALL);
		if (!error)
			error = hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, 1, 1);
		if (!(i % 1000))
			sample();
	}
	expect_equal(error, -EDQUOT, "the last error");
}

static int commented(uint32_t first)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	static char comments[COMMENTED][IPCUCKOO_COMMENT_MAX + 1];
	struct answer answer;

	memset(comments, 'c', sizeof(comments));
	for (int i = 0; i < COMMENTED; i++)
		comments[i][IPCUCKOO_COMMENT_MAX] = 0;
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "c");
	put_hosts4(nlh, first, COMMENTED);
	mnl_attr_put(nlh, IPCUCKOO_A_COMMENTS, sizeof(comments), comments);
	return client_ask(cl, &answer);
}

static void fill_and_flush(void)
{
	uint32_t first;
	int i, error;

	option_set("c", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_ALL);
	for (i = 0; i < 30; i++) {
		for (first = 0, error = 0; !error; first += COMMENTED)
			error = commented(first);
		sample();
		expect_equal(error, -EDQUOT, "full");
		set_request(cl, IPCUCKOO_CMD_SET_FLUSH, "c");
		sample();
	}
}

static void add_and_delete(void)
{
	int i;

	option_set("c", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_ALL);
	for (i = 0; i < 1000; i++) {
		commented(COMMENTED * (i & 1));
		hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "c", COMMENTED * (i & 1), COMMENTED);
		if (!(i % 20))
			sample();
	}
}

static void shadows(void)
{
	int i = 0;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	for (; shadow_new(cl, "n0", 0); i++)
		if (!(i % 1000))
			sample();
	printf("# %d shadows\n", i);
}

static void made_and_destroyed(void)
{
	int i;

	for (i = 0; i < 20000; i++) {
		numbered(IPCUCKOO_CMD_SET_NEW, i % 3);
		numbered(IPCUCKOO_CMD_SET_DEL, i % 3);
		if (!(i % 500))
			sample();
	}
}

static int rename_set(int from, int to)
{
	char name[32], other[32];

	snprintf(name, sizeof(name), "n%d", from);
	snprintf(other, sizeof(other), "n%d", to);
	return two_names(cl, IPCUCKOO_CMD_SET_RENAME, name, other);
}

/* Rename the set again and again, and keep the file of each name open. */
static void renamed_with_open_files(void)
{
	enum { FILES = 4000 };
	static int fds[FILES];
	char path[64];
	int i, n;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "/proc/net/ipcuckoo/set/n%d", i);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (fds[i] < 0 || rename_set(i, i + 1))
			break;
		if (!(i % 500))
			sample();
	}
	sample();
	printf("# %d files\n", i);
	for (n = 0; n <= i && n < FILES; n++)
		if (fds[n] >= 0)
			close(fds[n]);
}

static int attach_at(int32_t priority)
{
	struct nlmsghdr *nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
	struct answer answer;
	char dev[16];

	snprintf(dev, sizeof(dev), "none%d", priority);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "n0");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_BOTH);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_COUNT);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, priority);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, dev);
	return client_ask(cl, &answer);
}

static void attachments(void)
{
	int i;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	for (i = 0; i < IPCUCKOO_ATTACHMENTS_MAX && !attach_at(i % 200); i++)
		;
	sample();
	everything(cl, IPCUCKOO_CMD_DETACH);
	for (i = 0; i < 200 && !attach_at(0); i++)
		;
	for (i = 0; i < 2000; i++) {
		attach_at(1 + i % 3);
		hosts_request(cl, IPCUCKOO_CMD_DETACH, "n0", 0, 0);
		if (!(i % 100))
			sample();
	}
}

/* Begin many dumps. Each holds a reference to its set, which is then destroyed. */
static void half_read_dumps(void)
{
	enum { DUMPS = 32 };
	struct client *other[DUMPS];
	struct nlmsghdr *nlh;
	char byte[8192];
	int i;

	for (i = 0; i < DUMPS; i++) {
		other[i] = client_open_room(8192);
		if (!other[i])
			err(2, "a socket");
		numbered(IPCUCKOO_CMD_SET_NEW, 0);
		hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "n0", 1, 15000);
		nlh = client_begin(other[i], IPCUCKOO_CMD_ENTRY_GET);
		nlh->nlmsg_flags |= NLM_F_DUMP;
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "n0");
		client_send(other[i], nlh, nlh->nlmsg_len);
		expect(recv(mnl_socket_get_fd(other[i]->nl), byte, sizeof(byte), 0) > 0,
		       "a part of the dump is read");
		numbered(IPCUCKOO_CMD_SET_DEL, 0);
		sample();
	}
	for (i = 0; i < DUMPS; i++)
		client_close(other[i]);
}

/* Write @size bytes to the file of a set. Return: 0 or an errno. */
static int write_file(const char *set, const char *text, size_t size)
{
	int fd, error;
	char path[64];

	snprintf(path, sizeof(path), "/proc/net/ipcuckoo/set/%s", set);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(2, "%s", path);
	error = write(fd, text, size) == (ssize_t)size ? 0 : errno;
	close(fd);
	return error;
}

/* The longest text that a write can have, of the shortest lines: a flush. */
static const char *longest_text(void)
{
	static char text[FILE_WRITE];
	size_t i;

	for (i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "/\n", 2);
	return text;
}

/* Write to the file of a set from many processes, which take turns while the kernel parses the
 * longest of texts.
 */
static void writes(void)
{
	enum { WRITERS = 48, TIMES = 4 };
	const char *text = longest_text();
	int i, n, status, error, left = WRITERS;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	for (i = 0; i < WRITERS; i++) {
		if (fork())
			continue;
		for (n = 0, error = 0; n < TIMES && (!error || error == EDQUOT); n++)
			error = write_file("n0", text, FILE_WRITE);
		_exit(error);
	}
	while (left) {
		usleep(1000);
		sample();
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			expect(WIFEXITED(status) && (!WEXITSTATUS(status) ||
						     WEXITSTATUS(status) == EDQUOT),
			       "a write succeeds or exceeds the limit: status %x", status);
		}
	}
}

/* At the limit the kernel must not copy a long text, but must still delete an entry. */
static void writes_at_limit(void)
{
	uint32_t first;
	uint64_t full;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	option_set("c", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_ALL);
	for (first = 0; !commented(first); first += COMMENTED)
		;
	while (shadow_new(cl, "n0", 0))
		;
	full = figure(cl, NULL, IPCUCKOO_A_MEMORY);
	expect(full > (16 << 20) - FILE_WRITE, "the memory is full: %llu bytes",
	       (unsigned long long)full);
	sample();
	expect_equal(write_file("n0", longest_text(), FILE_WRITE), EDQUOT, "a long text");
	expect_equal(write_file("c", "-0.0.0.9\n", 9), 0, "one entry is deleted");
	expect_equal(figure(cl, "c", IPCUCKOO_A_ENTRIES), first - 1, "entries");
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= full, 30),
	       "the texts are not charged any more");
}

/* Do all of that together: each way uses the memory that the others have left. */
static void everything_at_once(void)
{
	uint32_t first;
	int i, error;

	numbered(IPCUCKOO_CMD_SET_NEW, 0);
	for (i = 0; i < IPCUCKOO_ATTACHMENTS_MAX && !attach_at(i % 200); i++)
		;
	for (i = 1; i < 3000 && !numbered(IPCUCKOO_CMD_SET_NEW, i); i++)
		;
	for (i = 0; i < 3000 && shadow_new(cl, "n0", 0); i++)
		;
	sample();
	option_set("c", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_O_ALL);
	for (first = 0, error = 0; !error; first += COMMENTED)
		error = commented(first);
	expect_equal(error, -EDQUOT, "full");
	sample();
	/* Freeing memory must still be possible. */
	expect_equal(set_request(cl, IPCUCKOO_CMD_SET_FLUSH, "c"), 0, "a flush");
	expect_equal(everything(cl, IPCUCKOO_CMD_DETACH), 0, "detached");
}

int main(void)
{
	struct rlimit files = { 8192, 8192 };
	const char *kernel = getenv("IPCUCKOO_KERNEL");

	ktap_begin("netlink-memory");
	if (kernel && strstr(kernel, "debug"))
		return ktap_skip_all("figures are taken on kernels that do not check themselves");
	if (!has_procfs())
		return ktap_skip_all("no procfs");
	setrlimit(RLIMIT_NOFILE, &files);
	if (unshare(CLONE_NEWNET))
		err(2, "a network namespace");
	module_load("memory_limit=16");
	cl = client_open_or_die();
	attempt("empty sets", empty_sets);
	attempt("sets of one entry", small_sets);
	attempt("filled and flushed in a loop", fill_and_flush);
	attempt("added and deleted in a loop", add_and_delete);
	attempt("shadows", shadows);
	attempt("created and destroyed in a loop", made_and_destroyed);
	attempt("renamed while files are open", renamed_with_open_files);
	attempt("attachments", attachments);
	attempt("writes to the file of a set", writes);
	attempt("writes at the limit", writes_at_limit);
	attempt("dumps that are not read to the end", half_read_dumps);
	attempt("everything at once", everything_at_once);
	return fixture_end();
}
