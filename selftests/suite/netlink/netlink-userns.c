// SPDX-License-Identifier: GPL-2.0
/*
 * Tests user namespaces other than the first: every user can be root in one, and create a network
 * namespace in it. The module's parameter userns says whether such a root may use the module.
 */
#define _GNU_SOURCE
#include "listen.h"
#include "own-root.h"

/* Pipes between a test and a child that keeps a namespace alive. */
struct child {
	pid_t pid;
	int ready;
	int go;
};

static void reload(const char *parameters)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	client_close(cl);
	if (!wait_until(!module_unload(), 20))
		errx(2, "the module cannot be unloaded");
	module_load(parameters);
	cl = client_open_or_die();
}

static int own_net_ns_refused(void)
{
	struct client *c;

	become_own_root();
	c = client_open();
	return c ? all_refused(c, 0) : 101;
}

static int own_files_refused(void)
{
	char byte;
	int fd;

	become_own_root();
	fd = open("/proc/self/net/ipcuckoo/sets", O_RDONLY);
	if (fd < 0)
		return errno == EPERM ? 0 : 104;
	return read(fd, &byte, 1) >= 0 ? 103 : 0;
}

/* With userns=1, root of a user namespace may do everything in a network namespace of it. */
static int own_net_ns(void)
{
	struct client *c;

	become_own_root();
	c = client_open();
	if (!c)
		return 101;
	if (figure(c, NULL, IPCUCKOO_A_SETS) != 0)
		return 103;
	if (set_new(c, "mine", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY))
		return 104;
	if (hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "mine", 1, 1000))
		return 105;
	if (attach(c, "mine", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_DROP))
		return 106;
	return set_request(c, IPCUCKOO_CMD_SET_GET, "hosts") == -ENOENT ? 0 : 107;
}

static int other_user_ns(void)
{
	struct client *c;

	become_nobody();
	if (unshare(CLONE_NEWUSER))
		return 102;
	c = client_open();
	return c ? all_refused(c, 0) : 101;
}

/* In a new namespace, join the group. Later, report whether an event has arrived. */
static int listen_there(int ready, int go)
{
	struct client *c;
	char byte = 0;

	become_own_root();
	c = client_open();
	if (!c)
		return 101;
	if (listen_join(c))
		return 103;
	if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
		return 104;
	/* An event would be in the queue by now, because the request was answered. */
	return client_wait(c, 0) ? 10 : 20;
}

static struct child begin_listening(void)
{
	struct child child;
	int ready[2], go[2];
	char byte;

	if (pipe(ready) || pipe(go))
		err(2, "pipe");
	fflush(stdout);
	child.pid = fork();
	if (!child.pid)
		_exit(listen_there(ready[1], go[0]));
	child.ready = ready[0];
	child.go = go[1];
	close(ready[1]);
	close(go[0]);
	if (read(child.ready, &byte, 1) != 1)
		errx(2, "the child did not join the group");
	return child;
}

static int end_listening(struct child *child)
{
	char byte = 0;
	int status;

	if (write(child->go, &byte, 1) != 1)
		errx(2, "the child has ended");
	waitpid(child->pid, &status, 0);
	close(child->ready);
	close(child->go);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* As root of the machine, make a change in the network namespace of another process. */
static int use_net_of(pid_t pid)
{
	int here = open("/proc/self/ns/net", O_RDONLY), there, error;
	struct client *c;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	there = open(path, O_RDONLY);
	if (here < 0 || there < 0 || setns(there, CLONE_NEWNET))
		err(2, "the network namespace of the child");
	c = client_open_or_die();
	error = set_new(c, "root", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET);
	if (!error)
		error = hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "root", 1, 10);
	client_close(c);
	if (setns(here, CLONE_NEWNET))
		err(2, "our own network namespace");
	close(there);
	close(here);
	return error;
}

static void test_refused(void)
{
	struct child child;

	make_sets();
	in_child("root of another user namespace", other_user_ns);
	in_child("root of a user namespace, in its own network namespace", own_net_ns_refused);
	ktap_case("userns=N: root of another user namespace may do nothing");
	in_child("files in such a network namespace", own_files_refused);
	ktap_case("userns=N: root of another user namespace cannot use the files, either");
	child = begin_listening();
	expect_equal(use_net_of(child.pid), 0,
		     "root of the machine makes a change in such a namespace");
	expect_equal(end_listening(&child), 20, "no event is sent there");
	ktap_case("userns=N: root of the machine may make changes there, and no event is sent");
}

static void test_allowed(void)
{
	struct child child;

	reload("userns=1");
	make_sets();
	in_child("root of another user namespace", other_user_ns);
	in_child("root of a user namespace, in its own network namespace", own_net_ns);
	ktap_case("userns=1: root of a network namespace of one's own is as good as root");
	child = begin_listening();
	expect_equal(use_net_of(child.pid), 0,
		     "root of the machine makes a change in such a namespace");
	expect_equal(end_listening(&child), 10, "the owner of the namespace gets the event");
	ktap_case("userns=1: the owner of the namespace gets events of it");
}

/* Add entries to a set of this namespace until the memory limit, in MiB, is reached. */
static int fill_own(unsigned int limit)
{
	struct client *c;
	uint32_t i;

	become_own_root();
	c = client_open();
	if (!c)
		return 101;
	if (figure(c, NULL, IPCUCKOO_A_MEMORY_LIMIT) != (uint64_t)limit << 20)
		return 103;
	if (set_new(c, "mine", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET))
		return 104;
	for (i = 0; i < 1000; i++)
		if (hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "mine", 10000 * i, 10000))
			break;
	if (figure(c, NULL, IPCUCKOO_A_MEMORY) > (uint64_t)limit << 20)
		return 105;
	return hosts_request(c, IPCUCKOO_CMD_ENTRY_ADD, "mine", 10000 * i, 10000) == -EDQUOT ?
	       0 : 106;
}

static int fill_default(void)
{
	struct client *c;

	become_own_root();
	c = client_open();
	return c && figure(c, NULL, IPCUCKOO_A_MEMORY_LIMIT) == 64 << 20 ? 0 : 101;
}

static int fill_two(void)
{
	return fill_own(2);
}

static int fill_one(void)
{
	return fill_own(1);
}

static void test_limit(void)
{
	reload("userns=1");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_MEMORY_LIMIT), 0,
		     "the first namespace has no limit");
	in_child("other user namespaces have 64 MiB", fill_default);
	reload("userns=1 userns_memory_limit=2");
	in_child("userns_memory_limit sets another limit", fill_two);
	reload("userns=1 memory_limit=1");
	in_child("memory_limit applies if it is less", fill_one);
	ktap_case("other user namespaces have a memory limit");
}

/* The first line of the tool's output, run by nobody, with or without being root of a namespace. */
static void tool_says(char *line, size_t size, const char *before)
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command),
		 "setpriv --reuid=65534 --regid=65534 --clear-groups %s /tmp/ipcuckoo list 2>&1",
		 before);
	f = popen(command, "r");
	if (!f || !fgets(line, size, f))
		*line = 0;
	if (f)
		pclose(f);
}

static void test_tool(void)
{
	const char *yes[] = { "root or CAP_NET_ADMIN", "unshare --net" };
	const char *no[] = { "root or CAP_NET_ADMIN", "userns=1" };
	const char *before[] = { "", "unshare -U -r" };
	const char *without_sys =
		"unshare -U -r -m sh -c 'mount -t tmpfs none /sys && exec \"$@\"' sh";
	char line[512], command[256];
	int i;

	snprintf(command, sizeof(command), "install -m 755 '%s' /tmp/ipcuckoo", getenv("IPCUCKOO"));
	if (system(command))
		errx(2, "cannot copy the tool");
	for (i = 0; i < 2; i++) {
		tool_says(line, sizeof(line), before[i]);
		expect(strstr(line, yes[i]), "userns=1, \"%s\": %s", before[i], line);
	}
	reload("memory_limit=64");
	for (i = 0; i < 2; i++) {
		tool_says(line, sizeof(line), before[i]);
		expect(strstr(line, no[i]), "userns=N, \"%s\": %s", before[i], line);
	}
	tool_says(line, sizeof(line), without_sys);
	expect(strstr(line, "is probably N"), "the parameter cannot be read: %s", line);
	ktap_case("the tool explains the refusal and suggests a solution");
}

int main(void)
{
	if (!has_procfs())
		return ktap_skip_all("no procfs");
	fixture_begin("netlink-userns");
	test_refused();
	test_allowed();
	test_tool();
	test_limit();
	return fixture_end();
}
