// SPDX-License-Identifier: GPL-2.0
/*
 * One network namespace never waits for another. In a namespace of its own, a tenant holds each lock
 * of the module for as long as it can. Meanwhile the host asks the module and generic netlink, and
 * loads and unloads a module that registers a family of generic netlink: ipcuckoo_spare, which is
 * this module under its second name. Each answer must come within LIMIT seconds, plus what the same
 * takes while the tenant's processes only compute. In the end all processes of the tenant are killed,
 * and must be gone as soon.
 *
 * LIMIT is 4 by default, because other virtual machines may be running beside this one. The faults that
 * this test looks for make the host wait until the tenant ends. "make soak" sets 1, which is promised.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>

#include "commit.h"
#include "hostile.h"
#include "own-root.h"

/* How long each tenant is busy. */
#define SECONDS	4

enum { SETS = 14, CROWD = 40, REQUESTS = 40 };

/* How long an answer may take, in seconds. */
static double limit;

/* How many entries are copied in about a tenth of a second. */
static uint32_t entries;

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The sets of ip_set are ours, and host and tenant have one each. */
static bool with_ipset;

/* What the host asks */

/**
 * struct watch - how long something takes, in memory that all processes share
 * @begin:	when it began; 0 while it is not being done
 * @longest:	how long it took at most, in seconds
 * @count:	how often it was done
 */
struct watch {
	volatile double begin;
	volatile double longest;
	volatile unsigned long count;
};

static void watch_begin(struct watch *watch)
{
	watch->begin = seconds_now();
}

static void watch_end(struct watch *watch)
{
	double took = seconds_now() - watch->begin;

	watch->begin = 0;
	if (took > watch->longest)
		watch->longest = took;
	watch->count++;
}

/* What was measured so far, including what is not done yet. */
static double watch_longest(const struct watch *watch)
{
	double begin = watch->begin, took = begin ? seconds_now() - begin : 0;

	return took > watch->longest ? took : watch->longest;
}

enum { RESOLVE, FAMILIES, INFO, CHANGE, COMMIT, LOAD, UNLOAD, RENAME, FIND, WATCHES };

static const char * const asked[WATCHES] = {
	[RESOLVE] = "finding the family by its name",
	[FAMILIES] = "listing all families",
	[INFO] = "INFO",
	[CHANGE] = "adding an entry, and deleting it",
	[COMMIT] = "swapping two sets in a commit",
	[LOAD] = "loading a module that registers a family",
	[UNLOAD] = "unloading it",
	[RENAME] = "renaming a set of ip_set with ipset",
	[FIND] = "finding it by its new name",
};

/* Shared by all processes: what the host asks, and what the tenant does. */
static struct shared {
	struct watch watch[WATCHES];
	struct watch tenant[CROWD + SETS + 1];
	volatile bool stop;
} *shared;

static void ask_resolve(void)
{
	struct client *c;

	watch_begin(&shared->watch[RESOLVE]);
	c = client_open_or_die();
	watch_end(&shared->watch[RESOLVE]);
	client_close(c);
}

static void ask_families(void)
{
	struct nlmsghdr *nlh = client_begin_as(cl, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_DUMP);

	watch_begin(&shared->watch[FAMILIES]);
	client_send(cl, nlh, nlh->nlmsg_len);
	if (!client_skip_dump(cl))
		errx(1, "families cannot be listed");
	watch_end(&shared->watch[FAMILIES]);
}

static void ask_info(void)
{
	watch_begin(&shared->watch[INFO]);
	if (figure(cl, NULL, IPCUCKOO_A_SETS) != 2U + with_ipset)
		errx(1, "INFO: the host has other sets");
	watch_end(&shared->watch[INFO]);
}

static void ask_change(void)
{
	watch_begin(&shared->watch[CHANGE]);
	if (hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "mine", 1, 1) ||
	    hosts_request(cl, IPCUCKOO_CMD_ENTRY_DEL, "mine", 1, 1))
		errx(1, "the host's set cannot be changed");
	watch_end(&shared->watch[CHANGE]);
}

static void ask_commit(void)
{
	struct nlmsghdr *nlh = commit_begin(cl);
	struct answer answer;

	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "one", "mine", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "one", "mine", 0);
	watch_begin(&shared->watch[COMMIT]);
	if (commit_ask(cl, &answer))
		errx(1, "the host's sets cannot be swapped: %s", answer.message);
	watch_end(&shared->watch[COMMIT]);
}

static void ask_load(void)
{
	static char path[512];
	const char *ko = getenv("IPCUCKOO_KO");
	int fd;

	snprintf(path, sizeof(path), "%.*s/spare/ipcuckoo_spare.ko",
		 (int)(strrchr(ko, '/') - ko), ko);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	watch_begin(&shared->watch[LOAD]);
	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		err(1, "%s", path);
	watch_end(&shared->watch[LOAD]);
	close(fd);
	watch_begin(&shared->watch[UNLOAD]);
	if (syscall(SYS_delete_module, "ipcuckoo_spare", O_NONBLOCK))
		err(1, "ipcuckoo_spare cannot be unloaded");
	watch_end(&shared->watch[UNLOAD]);
}

static void rename_and_find(const char *command, const char *name)
{
	watch_begin(&shared->watch[RENAME]);
	if (system(command))
		errx(1, "%s", command);
	watch_end(&shared->watch[RENAME]);
	watch_begin(&shared->watch[FIND]);
	if (figure(cl, name, IPCUCKOO_A_ENTRIES) != 0)
		errx(1, "%s: the set is not found", command);
	watch_end(&shared->watch[FIND]);
}

static void ask_rename(void)
{
	if (!with_ipset)
		return;
	rename_and_find("ipset rename here there", "there");
	rename_and_find("ipset rename there here", "here");
}

static void (*const asking[])(void) = {
	ask_resolve, ask_families, ask_info, ask_change, ask_commit, ask_load, ask_rename,
};

enum { ASKING = sizeof(asking) / sizeof(*asking) };

/* Fork a process. Its clients are its own: two processes must not share a socket. */
static pid_t begin_process(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	return pid;
}

static pid_t begin_asking(unsigned int n)
{
	pid_t pid = begin_process();

	if (pid)
		return pid;
	cl = client_open_or_die();
	while (!shared->stop) {
		asking[n]();
		usleep(10000);
	}
	_exit(0);
}

/* What the tenant does */

/**
 * struct tenant - how the tenant keeps its namespace busy
 * @what:	in words
 * @processes:	how many processes do it at the same time
 * @prepare:	done before, in the tenant's namespace
 * @work:	done by process @n again and again
 * @patient:	how long the work of the last process may take, in limits; 0: any time
 */
struct tenant {
	const char *what;
	unsigned int processes;
	void (*prepare)(void);
	void (*work)(unsigned int n);
	double patient;
};

static void no_work(void)
{
}

static void compute(unsigned int n)
{
	volatile unsigned long sum = n;
	unsigned long i;

	for (i = 0; i < 10000000; i++)
		sum += i;
}

static const char *set_name(unsigned int n)
{
	static char names[2][16];
	static unsigned int next;
	char *name = names[next++ % 2];

	snprintf(name, sizeof(names[0]), "s%u", n);
	return name;
}

static void add_hosts(const char *name, uint32_t count)
{
	uint32_t at, n;

	for (at = 0; at < count; at += n) {
		n = count - at < HOSTS4_MAX ? count - at : HOSTS4_MAX;
		if (hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, name, 0x14000000 + at, n))
			errx(1, "%s cannot be filled", name);
	}
}

static void fill(const char *name, uint32_t count)
{
	if (set_new(cl, name, IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET))
		errx(1, "%s cannot be created", name);
	add_hosts(name, count);
}

static void fill_sets(void)
{
	unsigned int i;

	for (i = 0; i < SETS; i++)
		fill(set_name(i), entries / 4);
}

/* Each set has a writer; half of them write over netlink, the others to the set's file. The last
 * process commits swaps of all sets.
 */
static void write_set(const char *name)
{
	static char text[1 << 16];
	char path[64];
	size_t n = 0;
	int fd, i;

	snprintf(path, sizeof(path), "/proc/self/net/ipcuckoo/set/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (i = 0; i < 1000; i++)
		n += sprintf(text + n, "+10.0.%d.%d\n-10.0.%d.%d\n", i / 250, i % 250, i / 250,
			     i % 250);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		err(1, "%s", path);
	close(fd);
}

/* Between two requests, a commit may give the name to another set, which has other entries. */
static void change_set(uint8_t cmd, const char *name)
{
	struct nlmsghdr *nlh = client_begin(cl, cmd);
	struct answer answer;

	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, name);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	put_hosts4(nlh, 0x0a000000, HOSTS4_MAX);
	if (client_ask(cl, &answer))
		errx(1, "%s cannot be changed: %d, %s", name, answer.error, answer.message);
}

static void commit_and_write(unsigned int n)
{
	struct answer answer;
	struct nlmsghdr *nlh;
	unsigned int i;

	if (n < SETS && n % 2) {
		write_set(set_name(n));
	} else if (n < SETS) {
		change_set(IPCUCKOO_CMD_ENTRY_ADD, set_name(n));
		change_set(IPCUCKOO_CMD_ENTRY_DEL, set_name(n));
	} else {
		nlh = commit_begin(cl);
		for (i = 0; i < SETS; i++)
			put_named(nlh, IPCUCKOO_CMD_SET_SWAP, set_name(i), set_name((i + 2) % SETS), 0);
		if (commit_ask(cl, &answer))
			errx(1, "the commit failed: %d, %s", answer.error, answer.message);
	}
}

static void fill_one(void)
{
	fill("s0", entries);
}

static void copy(unsigned int n)
{
	uint32_t shadow = shadow_new(cl, "s0", IPCUCKOO_F_APPEND);

	if (!shadow || shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0))
		errx(1, "process %u: the set cannot be copied", n);
}

/* One sendmsg() with many requests that each copy the set. Closing the socket deletes the copies. */
static void copy_at_once(unsigned int n)
{
	static char data[REQUESTS * 64];
	size_t size = 0;
	unsigned int i;

	for (i = 0; i < REQUESTS; i++) {
		struct nlmsghdr *nlh = client_begin_as(cl, cl->family, IPCUCKOO_CMD_SHADOW_NEW, 0);

		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "s0");
		mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_APPEND);
		memcpy(data + size, nlh, nlh->nlmsg_len);
		size += NLMSG_ALIGN(nlh->nlmsg_len);
	}
	if (client_send(cl, data, size))
		errx(1, "process %u: requests cannot be sent", n);
	client_close(cl);
	cl = client_open_or_die();
}

/* A set of ip_set, which processes copy while ipset changes it. */
static void fill_ipset(void)
{
	if (system("ipset create s0 hash:ip maxelem 2000000"))
		errx(1, "ipset");
	add_hosts("s0", entries);
}

static void copy_and_ipset(unsigned int n)
{
	FILE *ipset;
	int i;

	if (n) {
		copy(n);
		return;
	}
	ipset = popen("ipset -exist restore", "w");
	if (!ipset)
		err(1, "ipset");
	for (i = 0; i < 100; i++)
		fprintf(ipset, "add s0 10.0.0.%d\ndel s0 10.0.0.%d\n", i, i);
	if (pclose(ipset))
		errx(1, "ipset");
}

static void fill_both(void)
{
	fill_sets();
	if (system("ipset create its hash:ip"))
		errx(1, "ipset");
}

static const struct tenant computing = {
	"compute", SETS + 1, no_work, compute, 0
};

static const struct tenant tenants[] = {
	{ "commit 14 sets, each with a writer", SETS + 1, fill_sets, commit_and_write, 2 },
	{ "copy a large set, many at the same time", CROWD, fill_one, copy, 0 },
	{ "copy a large set again and again in one sendmsg()", 1, fill_one, copy_at_once, 0 },
};

static const struct tenant ipset_tenants[] = {
	{ "commit 14 sets, each with a writer, beside a set of ip_set", SETS + 1, fill_both,
	  commit_and_write, 2 },
	{ "copy a large set of ip_set, while ipset changes it", CROWD, fill_ipset, copy_and_ipset, 0 },
};

static void work_forever(const struct tenant *tenant, unsigned int n)
{
	struct watch *watch = &shared->tenant[n];

	cl = client_open_or_die();
	for (;;) {
		watch_begin(watch);
		tenant->work(n);
		watch_end(watch);
	}
}

/* The first process of the tenant, whose process group is that of all. Tells @ready when the others
 * are at work.
 */
static void be_tenant(const struct tenant *tenant, bool own_root, int ready)
{
	unsigned int n;

	setpgid(0, 0);
	if (own_root)
		become_own_root();
	else if (unshare(CLONE_NEWNET))
		err(1, "a network namespace");
	cl = client_open_or_die();
	tenant->prepare();
	client_close(cl);
	for (n = 0; n < tenant->processes; n++)
		if (!begin_process())
			work_forever(tenant, n);
	if (write(ready, "", 1) != 1)
		err(1, "a pipe");
	/* A process that ends has failed. */
	while (wait(NULL) < 0 && errno == EINTR)
		;
	errx(1, "a process of the tenant has ended");
}

static pid_t begin_tenant(const struct tenant *tenant, bool own_root)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		err(2, "a pipe");
	pid = begin_process();
	if (!pid)
		be_tenant(tenant, own_root, ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		errx(1, "the tenant has failed");
	close(ready[0]);
	return pid;
}

/* Kill all processes of the tenant. Returns the seconds until they are gone. */
static double end_tenant(pid_t pid)
{
	double begin = seconds_now();

	expect(!waitpid(pid, NULL, WNOHANG), "all processes of the tenant are at work");
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	wait_until(kill(-pid, 0), 60);
	return seconds_now() - begin;
}

/* Measurements */

static bool is_left_out(unsigned int watch)
{
	return (watch == RENAME || watch == FIND) && !with_ipset;
}

/* Let the host ask for some seconds, while a tenant is busy. */
static void measure(const struct tenant *tenant, bool own_root, double longest[WATCHES], double *end)
{
	pid_t pid, host[ASKING];
	unsigned int i;

	memset(shared, 0, sizeof(*shared));
	pid = begin_tenant(tenant, own_root);
	for (i = 0; i < ASKING; i++)
		host[i] = begin_asking(i);
	sleep(SECONDS);
	/* On a busy machine, a process may not have got a processor yet. */
	for (i = 0; i < WATCHES; i++)
		wait_until(shared->watch[i].count || is_left_out(i) ||
			   watch_longest(&shared->watch[i]) > 2 * limit, 6);
	shared->stop = true;
	for (i = 0; i < WATCHES; i++)
		longest[i] = watch_longest(&shared->watch[i]);
	*end = end_tenant(pid);
	for (i = 0; i < ASKING; i++) {
		int status = -1;

		waitpid(host[i], &status, 0);
		expect(!status, "process %u of the host: status %#x", i, status);
	}
}

/* While the tenant only computes. */
static double usual[WATCHES], usual_end;

static double worst_usual(void)
{
	double worst = 0;
	unsigned int i;

	for (i = 0; i < WATCHES; i++)
		if (usual[i] > worst)
			worst = usual[i];
	return worst;
}

static unsigned long done_at_least(const struct tenant *tenant, double *longest)
{
	unsigned long least = ULONG_MAX;
	unsigned int n;

	*longest = 0;
	for (n = 0; n < tenant->processes; n++) {
		if (shared->tenant[n].count < least)
			least = shared->tenant[n].count;
		if (watch_longest(&shared->tenant[n]) > *longest)
			*longest = watch_longest(&shared->tenant[n]);
	}
	return least;
}

static void test(const struct tenant *tenant, bool own_root)
{
	const struct watch *last = &shared->tenant[tenant->processes - 1];
	double longest[WATCHES], end, worst = 0, slowest;
	unsigned long least;
	unsigned int i;

	measure(tenant, own_root, longest, &end);
	for (i = 0; i < WATCHES; i++) {
		if (longest[i] > worst)
			worst = longest[i];
		expect(longest[i] < limit + usual[i], "%s took %.2f s (%.2f s while they compute)",
		       asked[i], longest[i], usual[i]);
		expect(shared->watch[i].count || is_left_out(i), "%s: was done", asked[i]);
	}
	expect(end < limit + usual_end, "killed processes were gone after %.2f s (%.2f s)", end,
	       usual_end);
	least = done_at_least(tenant, &slowest);
	expect(!tenant->patient || (last->count && watch_longest(last) < tenant->patient * limit + worst_usual()),
	       "the last process did its work %lu times, in %.2f s at most", last->count,
	       watch_longest(last));
	printf("# the host waited %.2f s at most; the tenant's processes did their work %lu times or more, in %.2f s at most, the last one %lu times, in %.2f s at most; they were gone after %.2f s\n",
	       worst, least, slowest, last->count, watch_longest(last), end);
	ktap_case("%s%s", tenant->what, own_root ? ", as a user with namespaces of his own" : "");
}

/* How many entries are copied in a tenth of a second? */
static void calibrate(void)
{
	const uint32_t count = 4 * HOSTS4_MAX;
	double begin, took;
	int i;

	fill("s0", count);
	begin = seconds_now();
	for (i = 0; i < 5; i++)
		copy(0);
	took = (seconds_now() - begin) / 5;
	entries = count * 0.1 / took;
	if (entries < HOSTS4_MAX)
		entries = HOSTS4_MAX;
	if (entries > 1000000)
		entries = 1000000;
	printf("# %u entries are copied in about %.2f s\n", entries, took * entries / count);
	set_request(cl, IPCUCKOO_CMD_SET_DEL, "s0");
}

static void begin_host(const char *parameters)
{
	module_load(parameters);
	cl = client_open_or_die();
	if (set_new(cl, "one", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) ||
	    set_new(cl, "mine", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET))
		errx(1, "the host's sets cannot be created");
}

static void end_host(void)
{
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	client_close(cl);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
}

static void test_all(const struct tenant *list, unsigned int count, bool own_root)
{
	while (count--)
		test(list++, own_root);
}

#define TEST_ALL(list, own_root)	test_all(list, sizeof(list) / sizeof(*(list)), own_root)

/* The same with sets of ip_set: what takes its mutex, which is one for all namespaces, waits, too. */
static void test_ipset(void)
{
	const char *ko = getenv("IPCUCKOO_IPSET_KO");

	if (!ko || access(ko, F_OK) || system("ipset -v > /dev/null 2>&1 && modprobe ip_set")) {
		ktap_skip("sets of ip_set", "no ipset here");
		return;
	}
	if (system("insmod $IPCUCKOO_IPSET_KO && ipset create here hash:ip"))
		errx(2, "sets of ip_set cannot be created");
	with_ipset = true;
	measure(&computing, false, usual, &usual_end);
	TEST_ALL(ipset_tenants, false);
	with_ipset = false;
	expect(!system("ipset destroy here"), "the host's set can be destroyed");
	/* ip_set destroys sets of namespaces that have ended a little later. */
	expect(wait_until(!system("rmmod ipcuckoo_ipset 2> /dev/null"), 20), "ipcuckoo_ipset can be unloaded");
}

int main(void)
{
	unsigned int i;

	ktap_begin("tenants");
	limit = ktap_option("LIMIT", 4);
	/* Half of the writers write to files. */
	if (!has_procfs())
		return ktap_skip_all("no procfs");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(2, "shared memory");
	begin_host("");
	calibrate();
	measure(&computing, false, usual, &usual_end);
	for (i = 0; i < WATCHES; i++)
		printf("# %s: %.2f s while processes compute\n", asked[i], usual[i]);
	TEST_ALL(tenants, false);
	test_ipset();
	end_host();
	begin_host("userns=1 userns_memory_limit=0");
	TEST_ALL(tenants, true);
	end_host();
	ktap_case("the module can be unloaded");
	return ktap_end();
}
