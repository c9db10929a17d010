// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that nothing waits for a process that reads or writes a file of /proc/net/ipcuckoo.
 *
 * An ordinary user creates namespaces, a FUSE file system that never delivers pages, and a set. He
 * writes to the set's file from such a page, reads the file into another one, and also reads both
 * lists, so these calls hang in page faults. Meanwhile every request must be answered, in his
 * namespace and in the first one, and the module must be in use. When the file system ends, the
 * calls must fail, and nothing may be left.
 *
 * A request must not wait for a second. The time that it runs does not count, nor does time in
 * which the whole machine stands still: a busy machine, or a slow one, must not make the test fail.
 * The same requests are made first while nothing hangs, and what they wait then is allowed ten
 * times in addition.
 */
#define _GNU_SOURCE
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "client.h"
#include "ktap.h"

/* Requests leave out fields that are zero, and some use no field. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define USER		1000
#define MOUNT		"/tmp/stall"
#define PROC		"/proc/net/ipcuckoo/"
#define PAGE		4096

/* A request may wait for so many seconds, and in addition for so many times as long as it waits
 * while nothing hangs. They usually wait for milliseconds.
 */
#define PATIENCE	1
#define FACTOR		10

/* A request that waits for so many seconds is left alone. */
#define HANGS		10

/* How often the requests are looked at, in seconds. */
#define TICK		0.002

/* Children that hang in the kernel on purpose, or did not end. */
static pid_t pending[32];
static unsigned int n_pending;

static pid_t host;
static int reads;

/* Requests are made while nothing hangs. */
static bool rehearsing;

/* What each request has waited then, in seconds, in the order in which they are first made. */
static struct {
	const char *what;
	double waited;
} usual[32];

/* The longest wait and the longest time of a request while calls hang. */
static double longest, slowest;

/* The file system has files "a" to "z" of one page each. The number of a file is its letter. */

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FUSE_ROOT_ID ? 0 : PAGE,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.nlink = 1,
		.blksize = PAGE,
	};
}

static void answer_fuse(int fuse, uint64_t unique, int error, const void *data,
			size_t size)
{
	char out[sizeof(struct fuse_out_header) + 256];
	const struct fuse_out_header header = {
		.len = sizeof(header) + size,
		.error = error,
		.unique = unique,
	};

	memcpy(out, &header, sizeof(header));
	if (size)
		memcpy(out + sizeof(header), data, size);
	if (write(fuse, out, header.len) < 0)
		warn("fuse");
}

static void serve_one(int fuse, int answers, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE,
	};
	const struct fuse_attr_out attr = {
		.attr_valid = 1000, .attr = attr_of(in->nodeid),
	};
	const char *name = (const char *)(in + 1);
	const struct fuse_entry_out entry = {
		.nodeid = *name, .entry_valid = 1000, .attr_valid = 1000,
		.attr = attr_of(*name),
	};
	const struct fuse_open_out opened = {};

	switch (in->opcode) {
	case FUSE_INIT:
		return answer_fuse(fuse, in->unique, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return answer_fuse(fuse, in->unique, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return answer_fuse(fuse, in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		return answer_fuse(fuse, in->unique, 0, &opened, sizeof(opened));
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return answer_fuse(fuse, in->unique, 0, NULL, 0);
	case FUSE_READ:
		/* Never answer, so that the page never arrives. */
		if (write(answers, "", 1) != 1)
			warn("pipe");
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return answer_fuse(fuse, in->unique, -ENOSYS, NULL, 0);
	}
}

static void put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(2, "%s", path);
	close(fd);
}

/* The process that owns the namespaces and serves the file system. */
static void serve(int answers)
{
	char buffer[1 << 17] __attribute__((aligned(8))), options[100];
	int fuse;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		err(2, "uid %d", USER);
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER))
		err(2, "a user namespace");
	put_text("/proc/self/setgroups", "deny");
	put_text("/proc/self/uid_map", "0 1000 1");
	put_text("/proc/self/gid_map", "0 1000 1");
	/* Only now is there a root user who can own the files of the new network namespace. */
	if (unshare(CLONE_NEWNET | CLONE_NEWNS))
		err(2, "namespaces");
	fuse = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("stall", MOUNT, "fuse", MS_NOSUID | MS_NODEV, options))
		err(2, "fuse");
	if (write(answers, "", 1) != 1)
		err(2, "pipe");
	while (read(fuse, buffer, sizeof(buffer)) > 0)
		serve_one(fuse, answers, (const void *)buffer);
	err(2, "fuse");
}

/* Wait for a byte from the server: it is ready, or another read hangs. False if none comes. */
static bool server_answers(void)
{
	struct pollfd pfd = { reads, POLLIN, 0 };
	char byte;

	return poll(&pfd, 1, 20000) == 1 && read(reads, &byte, 1) == 1;
}

static void begin_host(void)
{
	int fds[2];

	mkdir(MOUNT, 0755);
	/* Most kernels have FUSE as a module; every user may open the device. */
	if (access("/dev/fuse", F_OK) && system("modprobe fuse"))
		errx(2, "no FUSE");
	chmod("/dev/fuse", 0666);
	if (pipe2(fds, O_CLOEXEC))
		err(2, "pipe");
	reads = fds[0];
	host = fork();
	if (!host)
		serve(fds[1]);
	close(fds[1]);
	if (host < 0 || !server_answers())
		errx(2, "no file system");
}

/* Become a process of the user, in the user's namespaces. */
static void enter(void)
{
	static const char * const names[] = { "user", "net", "mnt" };
	char path[64];
	int fds[3], i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", host, names[i]);
		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		err(2, "uid %d", USER);
	for (i = 0; i < 3; i++)
		if (setns(fds[i], 0))
			err(2, "%s", names[i]);
}

/* Calls that hang */

static void touch(const char *file, char page, bool writing)
{
	char path[64];
	ssize_t size;
	char *data;
	int fd;

	enter();
	snprintf(path, sizeof(path), MOUNT "/%c", page);
	fd = open(path, O_RDONLY);
	data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (fd < 0 || data == MAP_FAILED)
		err(2, "%s", path);
	snprintf(path, sizeof(path), PROC "%s", file);
	fd = open(path, writing ? O_WRONLY : O_RDONLY);
	if (fd < 0)
		err(2, "%s", path);
	size = writing ? write(fd, data, PAGE) : read(fd, data, PAGE);
	_exit(size < 0 ? errno : 0);
}

/* Start a child that reads a file into a page that never arrives, or writes from such a page. */
static void stall(const char *file, bool writing)
{
	static char page = 'a';
	pid_t pid;

	if (rehearsing)
		return;
	pid = fork();
	if (!pid)
		touch(file, page, writing);
	page++;
	pending[n_pending++] = pid;
	expect(server_answers(), "%s %s hangs", writing ? "writing" : "reading", file);
}

/* Requests that must not hang */

struct request {
	const char *what;
	int (*run)(const struct request *request);
	int cmd;
	const char *name;
	const char *to;
};

static int run_request(const struct request *request)
{
	struct client *c = client_open_or_die();
	struct nlmsghdr *nlh = client_begin(c, request->cmd);
	struct answer answer;

	if (request->cmd == IPCUCKOO_CMD_SET_DEL && !request->name)
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_ALL);
	if (request->name)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, request->name);
	if (request->to)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, request->to);
	if (request->cmd == IPCUCKOO_CMD_SET_NEW) {
		mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
		mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	}
	return -client_ask(c, &answer);
}

static int run_inside(const struct request *request)
{
	enter();
	return run_request(request);
}

/* Write a line, and check that it changes the set of that name and no other. */
static int run_write(const struct request *request)
{
	const char line[] = "+192.0.2.1\n";
	char path[64];
	uint64_t before;
	struct client *c;
	int fd;

	enter();
	c = client_open_or_die();
	before = figure(c, request->name, IPCUCKOO_A_ENTRIES);
	snprintf(path, sizeof(path), PROC "set/%s", request->name);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		return errno;
	return figure(c, request->name, IPCUCKOO_A_ENTRIES) == before + 1 ? 0 : ESTALE;
}

static int run_rmmod(const struct request *request)
{
	return -module_unload();
}

static int run_unshare(const struct request *request)
{
	return unshare(CLONE_NEWNET) ? errno : 0;
}

/* What the request waits while nothing hangs. */
static double *usual_wait(const char *what)
{
	unsigned int i;

	for (i = 0; usual[i].what && strcmp(usual[i].what, what); i++)
		if (i + 2 == sizeof(usual) / sizeof(usual[0]))
			errx(2, "too many requests");
	usual[i].what = what;
	return &usual[i].waited;
}

/* Remember or check how long a request has waited. */
static void judge_wait(const char *what, double waited)
{
	double *allowed = usual_wait(what);

	if (rehearsing && waited > *allowed)
		*allowed = waited;
	if (!rehearsing)
		expect(waited <= PATIENCE + FACTOR * *allowed,
		       "%s waits for %.2f s, usually %.2f s", what, waited, *allowed);
	if (!rehearsing && waited > longest)
		longest = waited;
}

/* Run a request in a child. Returns its errno, or ETIME if it hangs. The child waits while this
 * process looks at it, except for the time that the child runs. If the machine stands still, this
 * process cannot look either.
 */
static int run(const struct request *request)
{
	double begin = ktap_seconds(), waited = 0, took;
	struct rusage usage = {};
	int status = 0;
	pid_t pid = fork(), ended;

	if (!pid)
		_exit(request->run(request));
	do {
		usleep(TICK * 1e6);
		ended = wait4(pid, &status, WNOHANG, &usage);
		waited += TICK;
	} while (!ended && waited < HANGS);
	took = ktap_seconds() - begin;
	if (!rehearsing && took > slowest)
		slowest = took;
	waited -= usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		  (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	judge_wait(request->what, waited > 0 ? waited : 0);
	if (!ended)
		pending[n_pending++] = pid;
	return !ended ? ETIME : WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

#define RUN(want, ...) ({							\
	const struct request run_one = { __VA_ARGS__ };				\
	expect_equal(run(&run_one), want, "%s", run_one.what);			\
})

/* Requests of other users of generic netlink, and of processes that create namespaces. */
static void others(void)
{
	/* While nothing hangs, it would succeed. */
	if (!rehearsing)
		RUN(EWOULDBLOCK, "rmmod", run_rmmod);
	RUN(0, "INFO in the first namespace", run_request, IPCUCKOO_CMD_INFO);
	RUN(0, "another network namespace", run_unshare);
}

/* A rehearsal is a single case. */
static void end_case(const char *name)
{
	if (!rehearsing)
		ktap_case("%s", name);
}

static void test_destroy(void)
{
	RUN(0, "SET_NEW x", run_inside, IPCUCKOO_CMD_SET_NEW, "x");
	stall("set/x", true);
	stall("set/x", false);
	stall("sets", false);
	stall("attachments", false);
	RUN(0, "SET_DEL x", run_inside, IPCUCKOO_CMD_SET_DEL, "x");
	RUN(ENOENT, "writing x", run_write, 0, "x");
	others();
	end_case("a set whose file is read and written can be destroyed");

	RUN(0, "SET_NEW x", run_inside, IPCUCKOO_CMD_SET_NEW, "x");
	RUN(0, "writing x", run_write, 0, "x");
	others();
	end_case("a new set can have its name and file");
}

static void test_rename(void)
{
	stall("set/x", true);
	RUN(0, "SET_RENAME x y", run_inside, IPCUCKOO_CMD_SET_RENAME, "x", "y");
	RUN(ENOENT, "writing x", run_write, 0, "x");
	RUN(0, "SET_NEW x", run_inside, IPCUCKOO_CMD_SET_NEW, "x");
	RUN(0, "writing x", run_write, 0, "x");
	stall("set/y", false);
	RUN(0, "SET_SWAP x y", run_inside, IPCUCKOO_CMD_SET_SWAP, "x", "y");
	RUN(0, "SET_RENAME y z", run_inside, IPCUCKOO_CMD_SET_RENAME, "y", "z");
	RUN(0, "SET_RENAME z y", run_inside, IPCUCKOO_CMD_SET_RENAME, "z", "y");
	others();
	end_case("that set can be renamed and swapped");

	RUN(0, "SET_DEL ALL", run_inside, IPCUCKOO_CMD_SET_DEL);
	RUN(0, "SET_NEW y", run_inside, IPCUCKOO_CMD_SET_NEW, "y");
	RUN(0, "writing y", run_write, 0, "y");
	others();
	end_case("all sets can be destroyed");
}

/* Make all requests while nothing hangs. */
static void rehearse(void)
{
	rehearsing = true;
	test_destroy();
	test_rename();
	RUN(0, "SET_DEL ALL", run_inside, IPCUCKOO_CMD_SET_DEL);
	rehearsing = false;
	ktap_case("requests are answered while nothing hangs");
}

/* End the file system: the calls that hang must end, and the files of sets that do not exist must
 * disappear. Looks for the files from outside of the namespace.
 */
static void test_end(void)
{
	char path[64];
	int status;

	snprintf(path, sizeof(path), "/proc/%d/net/ipcuckoo/set/x", pending[0]);
	expect(!access(path, F_OK), "the file of x exists as long as it is open");
	kill(host, SIGKILL);
	waitpid(host, NULL, 0);
	while (n_pending) {
		if (waitpid(pending[--n_pending], &status, 0) < 0)
			err(2, "wait");
		expect(WIFEXITED(status) && WEXITSTATUS(status) == EFAULT,
		       "a call that hung ends with EFAULT: status %x", status);
	}
	ktap_case("the calls that hung end with an error");
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("the module can be unloaded afterwards");
	rmdir(MOUNT);
}

int main(void)
{
	ktap_begin("proc-stall");
	if (!has_procfs())
		return ktap_skip_all("no procfs");
	module_load("userns=1");
	begin_host();
	rehearse();
	test_destroy();
	test_rename();
	printf("# the longest wait: %.0f ms; the slowest request: %.0f ms\n", longest * 1000,
	       slowest * 1000);
	test_end();
	return ktap_end();
}
