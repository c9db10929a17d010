// SPDX-License-Identifier: GPL-2.0
/*
 * Lets every allocation fail once. Each command, each use of the files, and each way in which
 * devices, namespaces and the module appear and disappear is tried again and again: first its
 * first allocation fails, then its second, until no allocation is left. Each time, the command
 * must either succeed, or fail and change nothing; at the end nothing may be left. Needs a kernel
 * with fault injection; kmemleak looks for memory that was leaked.
 */
#define _GNU_SOURCE
#include <linux/if_link.h>
#include <sched.h>
#include <sys/wait.h>

#include "device.h"
#include "faults.h"
#include "fixture.h"

/* Limit of allocations of one command: more means that it loops forever. */
#define MANY		20000

/* If a command has more allocations, only some of the later ones are tried (see ROUNDS). */
#define EACH		40

#define HOSTS		3000

/* The kernel itself makes a thousand allocations to create or destroy a namespace. The module's
 * come last, so only that many of the last ones are tried; ROUNDS overrides it.
 */
#define LAST		80

static unsigned int next_after(unsigned int n)
{
	return n < ktap_option("ROUNDS", EACH) ? n + 1 : n + n / 4;
}

/* Requests */

/* Create sets to find, replace and swap entries in: those of the fixture, and one of each other
 * kind.
 */
static void more_sets(void)
{
	const struct piece options = U32(OPTIONS, IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COUNTERS |
						  IPCUCKOO_O_COMMENT | IPCUCKOO_O_SKBINFO);
	struct nlmsghdr *nlh;
	struct answer answer;

	make_sets();
	set_new(cl, "any2", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY);
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "ext");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_ANY);
	mnl_attr_put(nlh, options.type, options.size, options.data);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, 6000);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_FORCEADD);
	expect_equal(client_ask(cl, &answer), 0, "a set with all extensions");
}

static void many_hosts(void)
{
	more_sets();
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 0x01000000, HOSTS), 0,
		     "hosts");
	/* Kernels that check themselves allocate memory even when one of these is freed. */
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "ext", 0x01000000, 20), 0,
		     "hosts with all extensions");
}

static uint32_t shadow;

static void with_shadow(void)
{
	more_sets();
	shadow = shadow_new(cl, "hosts", 0);
	expect(shadow, "a shadow");
	expect_equal(shadow_hosts(cl, shadow, 0x02000000, 3000), 0, "3000 hosts in it");
}

static struct mnl_socket *rtnl;

static void with_device(void)
{
	more_sets();
	device_del(rtnl, "fault0");
	expect_equal(device_new(rtnl, "fault0", NULL), 0, "a device");
}

static void no_shadow(void)
{
	shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, shadow, 0);
}

static void no_device(void)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	device_del(rtnl, "fault0");
}

static void put_many(struct nlmsghdr *nlh)
{
	put_hosts4(nlh, 0x03000000, 4000);
}

/* Append as many hosts with extensions as fit into a message. */
static void put_extensions(struct nlmsghdr *nlh)
{
	uint32_t i, timeouts[20];
	char comments[20 * 8];

	put_hosts4(nlh, 0x03000000, 20);
	for (i = 0; i < 20; i++)
		put_be32((uint8_t *)&timeouts[i], i % 2 ? 100 : 0);
	for (i = 0; i < 20; i++)
		memcpy(comments + 8 * i, "comment", 8);
	mnl_attr_put(nlh, IPCUCKOO_A_TIMEOUTS, sizeof(timeouts), timeouts);
	mnl_attr_put(nlh, IPCUCKOO_A_COMMENTS, sizeof(comments), comments);
}

/* Append prefixes of many lengths, so that tables and hints of both families change. */
static void put_nets(struct nlmsghdr *nlh)
{
	uint8_t data[100 * IPCUCKOO_NET6_SIZE] = {};
	uint8_t *at = data;
	int i;

	for (i = 0; i < 100; i++, at += IPCUCKOO_NET6_SIZE) {
		at[0] = 0x20;
		at[1] = 1;
		at[2] = i;
		at[16] = 24 + i % 8 * 8;
	}
	mnl_attr_put(nlh, IPCUCKOO_A_NETS6, sizeof(data), data);
	put_net4(nlh, 0x0b000000, 8);
}

static void put_exception(struct nlmsghdr *nlh)
{
	put_net4(nlh, 0x0a010000, 16);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_NOMATCHES, 1);
}

static void put_shadow(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
}

static void put_shadow_hosts(struct nlmsghdr *nlh)
{
	put_shadow(nlh);
	put_hosts4(nlh, 0x02000400, 4000);
}

/* Append hosts that are in the shadow, to delete them. */
static void put_shadow_fewer(struct nlmsghdr *nlh)
{
	put_shadow(nlh);
	put_hosts4(nlh, 0x02000100, 2600);
}

static void put_attach(struct nlmsghdr *nlh)
{
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_BOTH);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_COUNT);
}

static void put_attach_log(struct nlmsghdr *nlh)
{
	put_attach(nlh);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_LOG, IPCUCKOO_LOG_KERNEL);
}

static void put_ingress(struct nlmsghdr *nlh)
{
	put_attach(nlh);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, IPCUCKOO_PLACE_INGRESS);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, "fault0");
}

static void put_replace(struct nlmsghdr *nlh)
{
	mnl_attr_put_u8(nlh, IPCUCKOO_A_DIRECTION, IPCUCKOO_DIR_DST);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, IPCUCKOO_VERDICT_DROP);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_REPLACE);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_PRIORITY, 10);
}

static void put_new(struct nlmsghdr *nlh)
{
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_HASH_NET);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_ANY);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_OPTIONS, IPCUCKOO_O_TIMEOUT | IPCUCKOO_O_COMMENT);
}

static void put_filter(struct nlmsghdr *nlh)
{
	mnl_attr_put_u8(nlh, IPCUCKOO_A_TYPE, IPCUCKOO_TYPE_FILTER_IP);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_FAMILY, IPCUCKOO_FAMILY_INET);
	mnl_attr_put_u8(nlh, IPCUCKOO_A_BITS, 16);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_CAPACITY, 5000);
}

static void put_to_new(struct nlmsghdr *nlh)
{
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, "renamed");
}

static void put_to_other(struct nlmsghdr *nlh)
{
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET_TO, "any2");
}

static void put_all(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_ALL);
}

static void put_maxelem(struct nlmsghdr *nlh)
{
	mnl_attr_put_u32(nlh, IPCUCKOO_A_MAXELEM, 100000);
}

/**
 * struct request - a request that is sent while allocations fail
 * @what:	its description
 * @cmd:	its command
 * @set:	name of a set, or NULL
 * @put:	appends the other attributes, or NULL
 * @before:	prepares the state that the request needs
 * @after:	removes what @before has created, or NULL
 * @partly:	it changes one set after another, so if it fails, some sets may have changed
 */
static const struct request {
	const char *what;
	uint8_t cmd;
	const char *set;
	void (*put)(struct nlmsghdr *nlh);
	void (*before)(void);
	void (*after)(void);
	bool partly;
} requests[] = {
	{ "INFO", CMD(INFO), NULL, NULL, more_sets },
	{ "SET_NEW", CMD(SET_NEW), "new", put_new, more_sets },
	{ "SET_NEW of a filter", CMD(SET_NEW), "new", put_filter, more_sets },
	{ "SET_DEL", CMD(SET_DEL), "hosts", NULL, many_hosts },
	{ "SET_GET", CMD(SET_GET), "ext", NULL, more_sets },
	{ "SET_FLUSH", CMD(SET_FLUSH), "ext", NULL, many_hosts },
	{ "SET_FLUSH of all", CMD(SET_FLUSH), NULL, put_all, many_hosts, NULL, true },
	{ "SET_RENAME", CMD(SET_RENAME), "hosts", put_to_new, more_sets },
	{ "SET_SWAP", CMD(SET_SWAP), "any", put_to_other, more_sets },
	{ "SET_CHANGE", CMD(SET_CHANGE), "hosts", put_maxelem, more_sets },
	{ "ENTRY_ADD of thousands", CMD(ENTRY_ADD), "hosts", put_many, more_sets },
	{ "ENTRY_ADD with timeouts and comments", CMD(ENTRY_ADD), "ext", put_extensions,
	  many_hosts },
	{ "ENTRY_ADD of prefixes", CMD(ENTRY_ADD), "any", put_nets, more_sets },
	{ "ENTRY_ADD of an exception", CMD(ENTRY_ADD), "any", put_exception, more_sets },
	{ "SHADOW_NEW", CMD(SHADOW_NEW), "hosts", NULL, more_sets },
	{ "SHADOW_ADD", CMD(SHADOW_ADD), NULL, put_shadow_hosts, with_shadow, no_shadow },
	{ "SHADOW_REMOVE", CMD(SHADOW_REMOVE), NULL, put_shadow_fewer, with_shadow, no_shadow },
	{ "SHADOW_COMMIT", CMD(SHADOW_COMMIT), NULL, put_shadow, with_shadow, no_shadow },
	{ "SHADOW_DEL", CMD(SHADOW_DEL), NULL, put_shadow, with_shadow, no_shadow },
	{ "ATTACH", CMD(ATTACH), "hosts", put_attach, more_sets },
	{ "ATTACH with a log", CMD(ATTACH), "hosts", put_attach_log, more_sets },
	{ "ATTACH at ingress", CMD(ATTACH), "any2", put_ingress, with_device, no_device },
	{ "ATTACH with REPLACE", CMD(ATTACH), "any", put_replace, more_sets },
	{ "DETACH", CMD(DETACH), "any", NULL, more_sets },
	{ "DETACH of all", CMD(DETACH), NULL, put_all, more_sets },
};

/* Compare the contents. A generation may increase without a change. */
static bool same_state(const struct state *a, const struct state *b)
{
	return !memcmp(a->entries, b->entries, sizeof(a->entries)) &&
	       a->attachments == b->attachments && a->sets == b->sets;
}

static int send_armed(const struct request *r, unsigned int n, bool *failed)
{
	struct nlmsghdr *nlh = client_begin(cl, r->cmd);
	struct answer answer;
	int error;

	if (r->set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, r->set);
	if (r->put)
		r->put(nlh);
	arm(n);
	error = client_send(cl, nlh, nlh->nlmsg_len);
	*failed = disarm();
	return error ? error : client_read(cl, &answer);
}

/* Send a request whose @n-th allocation fails. Returns false if it makes fewer allocations. */
static bool try_request(const struct request *r, unsigned int n, const struct state *done)
{
	struct state before, after;
	bool failed;
	int error;

	r->before();
	before = get_state();
	error = send_armed(r, n, &failed);
	after = get_state();
	if (!error)
		expect(same_state(&after, done), "%s, allocation %u failed: the request succeeded",
		       r->what, n);
	else if (expect(failed && is_shortage(error), "%s, allocation %u %s: error %d", r->what, n,
			failed ? "failed" : "did not fail", error))
		expect(same_state(&after, &before) || r->partly ||
		       (error != -ENOMEM && same_state(&after, done)),
		       "%s, allocation %u failed: the request failed and has changed nothing",
		       r->what, n);
	if (r->after)
		r->after();
	return failed;
}

static void test_requests(void)
{
	const struct request *r, *end = requests + sizeof(requests) / sizeof(*requests);
	struct state done;
	bool failed;
	unsigned int n;

	for (r = requests; r < end; r++) {
		r->before();
		expect_equal(send_armed(r, 0, &failed), 0, "%s with enough memory", r->what);
		done = get_state();
		if (r->after)
			r->after();
		for (n = 1; n < MANY && !ktap_failing(); n = next_after(n))
			if (!try_request(r, n, &done))
				break;
		ktap_case("%s: each of its allocations fails, up to number %u", r->what, n - 1);
	}
}

/* Dumps */

static int dump_armed(uint8_t cmd, const char *set, unsigned int n, bool *failed)
{
	struct client *c = client_open_or_die();
	struct nlmsghdr *nlh = client_begin(c, cmd);
	int error, size, left = 0;

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	arm(n);
	error = client_send(c, nlh, nlh->nlmsg_len);
	while (!error) {
		size = recv(mnl_socket_get_fd(c->nl), c->in, c->room, MSG_DONTWAIT);
		if (size < 0) {
			error = -errno;
			break;
		}
		nlh = (void *)c->in;
		for (left = size; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR)
				goto done;
	}
done:
	*failed = disarm();
	if (!error)
		error = *(int *)mnl_nlmsg_get_payload(nlh);
	client_close(c);
	return error;
}

static void test_dumps(void)
{
	static const struct {
		const char *what;
		uint8_t cmd;
		const char *set;
	} dumps[] = {
		{ "entries", CMD(ENTRY_GET), "hosts" },
		{ "entries with all extensions", CMD(ENTRY_GET), "ext" },
		{ "sets", CMD(SET_GET), NULL },
		{ "attachments", CMD(ATTACH_GET), NULL },
	};
	bool failed = true;
	unsigned int i, n;
	int error;

	for (i = 0; i < sizeof(dumps) / sizeof(*dumps); i++) {
		many_hosts();
		for (n = 1, failed = true; failed && n < MANY && !ktap_failing();
		     n = next_after(n)) {
			error = dump_armed(dumps[i].cmd, dumps[i].set, n, &failed);
			/* If there is no memory for a buffer, the dump goes on with the next read. */
			expect(!error || (failed && (is_shortage(error) || error == -EAGAIN)),
			       "dump of %s, allocation %u: error %d", dumps[i].what, n, error);
		}
		ktap_case("dump of %s: each of its allocations fails", dumps[i].what);
	}
}

/* Files */

static int use_file(const char *path, const char *text, unsigned int n, bool *failed)
{
	char buf[4096];
	int fd, error = 0;
	ssize_t size = 0;

	arm(n);
	fd = open(path, (text ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	if (fd >= 0 && text)
		size = write(fd, text, strlen(text));
	while (fd >= 0 && !text && (size = read(fd, buf, sizeof(buf))) > 0)
		;
	if (fd < 0 || size < 0)
		error = -errno;
	*failed = disarm();
	if (fd >= 0)
		close(fd);
	return error;
}

static void test_files(void)
{
	static const struct {
		const char *path, *text;
		int more;
	} files[] = {
		{ "sets" }, { "attachments" }, { "set/hosts" }, { "set/ext" },
		{ "set/hosts", "+7.7.7.1\n+7.7.7.2\n-1.0.0.1\n", 1 },
		{ "set/ext", "+7.7.7.1\n+7::7\n", 0 },
		{ "set/hosts", "/\n", -HOSTS - 1 },
	};
	unsigned int i, n;
	uint64_t before, after;
	char path[64];
	bool failed;
	int error;

	if (access("/proc/net/ipcuckoo", F_OK)) {
		ktap_skip("files: each allocation fails", "no procfs");
		return;
	}
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "/proc/net/ipcuckoo/%s", files[i].path);
		for (n = 1, failed = true; failed && n < MANY && !ktap_failing();
		     n = next_after(n)) {
			if (n == 1 || files[i].text)
				many_hosts();
			before = figure(cl, "hosts", IPCUCKOO_A_ENTRIES);
			error = use_file(path, files[i].text, n, &failed);
			after = figure(cl, "hosts", IPCUCKOO_A_ENTRIES);
			expect(!error || (failed && error == -ENOMEM), "%s, allocation %u: error %d",
			       path, n, error);
			expect_equal(after, before + (error ? 0 : files[i].more),
				     "%s, allocation %u, error %d: entries", path, n, error);
		}
		ktap_case("%s, %s: each of its allocations fails", path,
			  files[i].text ? "written" : "read");
	}
}

/* Devices */

static pid_t elsewhere;

/* Start a process that keeps a namespace alive until it is killed. */
static pid_t keep_namespace(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		if (unshare(CLONE_NEWNET) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	expect_equal(read(ready[0], &c, 1), 1, "a namespace");
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_namespace(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Each try uses new names: when a rename fails halfway, the kernel leaves a link in sysfs, and the
 * name stays in use.
 */
static char attached_to[IFNAMSIZ], other_name[IFNAMSIZ];

static void new_names(void)
{
	static unsigned int serial;

	snprintf(attached_to, sizeof(attached_to), "fault%u", ++serial);
	snprintf(other_name, sizeof(other_name), "other%u", serial);
}

static int event_new(void)
{
	return device_new(rtnl, attached_to, NULL);
}

static int event_rename(void)
{
	return device_rename(rtnl, other_name, attached_to);
}

static int event_rename_away(void)
{
	return device_rename(rtnl, attached_to, other_name);
}

static int event_altname(void)
{
	return device_altname(rtnl, RTM_NEWLINKPROP, other_name, attached_to);
}

static int event_move(void)
{
	return device_move(rtnl, attached_to, elsewhere, attached_to);
}

static int event_del(void)
{
	return device_del(rtnl, attached_to);
}

static const struct {
	const char *what;
	const char *have;
	int (*act)(void);
} events[] = {
	{ "a device appears", NULL, event_new },
	{ "it gets the name that a set is attached to", other_name, event_rename },
	{ "it gets another name", attached_to, event_rename_away },
	{ "it gets that name as an alternative name", other_name, event_altname },
	{ "it moves to another namespace", attached_to, event_move },
	{ "it is deleted", attached_to, event_del },
};

/* Attach a set at the ingress of the device, and to packets that it receives. */
static void attach_device(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	int place;

	for (place = IPCUCKOO_PLACE_IP; place <= IPCUCKOO_PLACE_INGRESS; place++) {
		nlh = client_begin(cl, IPCUCKOO_CMD_ATTACH);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "any2");
		put_attach(nlh);
		mnl_attr_put_u8(nlh, IPCUCKOO_A_PLACE, place);
		mnl_attr_put_strz(nlh, IPCUCKOO_A_DEV, attached_to);
		expect_equal(client_ask(cl, &answer), 0, "attached to %s", attached_to);
	}
}

static bool try_event(unsigned int i, unsigned int n)
{
	bool failed;
	int error;

	new_names();
	if (events[i].have)
		expect_equal(device_new(rtnl, events[i].have, NULL), 0, "a device");
	attach_device();
	arm(n);
	error = events[i].act();
	failed = disarm();
	/* The kernel decides on the error, so accept any. */
	expect(!error || failed, "%s, allocation %u: error %d", events[i].what, n, error);
	everything(cl, IPCUCKOO_CMD_DETACH);
	device_del(rtnl, attached_to);
	device_del(rtnl, other_name);
	return failed;
}

static void test_devices(void)
{
	unsigned int i, n;

	more_sets();
	elsewhere = keep_namespace();
	for (i = 0; i < sizeof(events) / sizeof(*events); i++) {
		for (n = 1; n < MANY && !ktap_failing(); n = next_after(n))
			if (!try_event(i, n))
				break;
		ktap_case("%s: each of its allocations fails, up to number %u", events[i].what,
			  n - 1);
	}
	end_namespace(elsewhere);
}

/* Namespaces and the module */

/* Run @act in a child: a failed allocation may leave its namespace incomplete. */
static bool try_in_child(bool (*act)(unsigned int n), unsigned int n)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		close(fail_nth);
		open_fail_nth();
		_exit(act(n));
	}
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		expect(false, "allocation %u: the process ended with %#x", n, status);
		return false;
	}
	return WEXITSTATUS(status);
}

static bool new_namespace(unsigned int n)
{
	arm(n);
	/* The kernel decides on the error, so accept any. */
	(void)!unshare(CLONE_NEWNET);
	return disarm();
}

static bool load_module(unsigned int n)
{
	int fd = open(getenv("IPCUCKOO_KO"), O_RDONLY | O_CLOEXEC);
	bool failed;

	arm(n);
	syscall(SYS_finit_module, fd, "", 0);
	failed = disarm();
	close(fd);
	return failed;
}

static bool unload_module(unsigned int n)
{
	bool failed;

	arm(n);
	syscall(SYS_delete_module, IPCUCKOO_FAMILY_NAME, O_NONBLOCK);
	failed = disarm();
	return failed;
}

/* Count the allocations of @act: double @n until @act makes fewer allocations, then bisect. */
static unsigned int count_allocations(bool (*act)(unsigned int n), void (*between)(void))
{
	unsigned int low = 0, high = 1;

	for (; high < 1 << 20 && try_in_child(act, high); high *= 2) {
		low = high;
		between();
	}
	between();
	while (high - low > 1) {
		if (try_in_child(act, (low + high) / 2))
			low = (low + high) / 2;
		else
			high = (low + high) / 2;
		between();
	}
	return low;
}

static void nothing(void)
{
	expect(true, "nothing to do");
}

static bool module_there(void)
{
	return !access("/sys/module/" IPCUCKOO_FAMILY_NAME "/refcnt", F_OK);
}

static void module_gone(void)
{
	if (module_there())
		expect(wait_until(!module_unload() || errno == ENOENT, 20),
		       "the module can be unloaded");
	expect(!module_there(), "the module is not loaded");
}

static void module_back(void)
{
	if (!module_there())
		module_load("");
	expect(module_there(), "the module is loaded");
}

static void try_last(const char *what, bool (*act)(unsigned int n), void (*between)(void))
{
	unsigned int all, n, last = ktap_option("ROUNDS", LAST);

	all = count_allocations(act, between);
	for (n = all > last ? all - last + 1 : 1; n <= all + 10 && !ktap_failing(); n++) {
		try_in_child(act, n);
		between();
	}
	ktap_case("%s: each of the last %u allocations fails, of %u", what,
		  all > last ? last : all, all);
}

static void test_namespaces(void)
{
	try_last("a namespace is created", new_namespace, nothing);
}

static void test_module(void)
{
	pid_t others[2] = { keep_namespace(), keep_namespace() };
	unsigned int i;

	client_close(cl);
	module_gone();
	try_last("the module is loaded", load_module, module_gone);
	module_back();
	try_last("the module is unloaded", unload_module, module_back);
	cl = client_open_or_die();
	for (i = 0; i < 2; i++)
		end_namespace(others[i]);
}

int main(void)
{
	if (!faults_begin())
		return 4;
	fixture_begin("faults");
	rtnl = device_socket();
	test_requests();
	test_dumps();
	test_files();
	test_devices();
	test_namespaces();
	test_module();
	mnl_socket_close(rtnl);
	return fixture_end();
}
