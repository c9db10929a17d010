/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all tests of the netlink protocol share: they load the module, create three sets with
 * known contents, check that a refused request has not changed them, and unload the module.
 */
#ifndef _FIXTURE_H
#define _FIXTURE_H

#include <grp.h>
#include <sys/wait.h>

#include "client.h"
#include "ktap.h"

/* The tables of requests in the tests omit fields that are zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct client *cl;

static uint64_t rng_state;

/* splitmix64 */
static inline uint64_t rng(void)
{
	uint64_t z = rng_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* What a refused request must not change. */
struct state {
	uint64_t generation[3];
	uint64_t entries[3];
	uint64_t attachments;
	uint64_t sets;
	uint64_t memory;
};

static const char * const set_names[] = { "hosts", "nets6", "any" };

static inline struct state get_state(void)
{
	struct state s = {};
	int i;

	for (i = 0; i < 3; i++) {
		s.generation[i] = figure(cl, set_names[i], IPCUCKOO_A_GENERATION);
		s.entries[i] = figure(cl, set_names[i], IPCUCKOO_A_ENTRIES);
	}
	s.attachments = figure(cl, NULL, IPCUCKOO_A_ATTACHMENTS);
	s.sets = figure(cl, NULL, IPCUCKOO_A_SETS);
	s.memory = figure(cl, NULL, IPCUCKOO_A_MEMORY);
	return s;
}

/* Is the state the same as @before? The memory of an earlier change may be freed late, so wait. */
static inline bool unchanged(const struct state *before)
{
	struct state after = get_state();
	int i;

	for (i = 0; i < 3; i++)
		if (after.generation[i] != before->generation[i] ||
		    after.entries[i] != before->entries[i])
			return false;
	return after.attachments == before->attachments && after.sets == before->sets &&
	       wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) <= before->memory, 5);
}

/* hosts: 192.0.2.1 (hash:ip, inet); nets6: 2001:db8::/32 (hash:net, inet6);
 * any: 10.0.0.0/8 (hash:net, any), attached.
 */
static inline void make_sets(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t net6[IPCUCKOO_NET6_SIZE] = { 0x20, 0x01, 0x0d, 0xb8, [16] = 32 };

	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	if (set_new(cl, "hosts", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET) ||
	    set_new(cl, "nets6", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_INET6) ||
	    set_new(cl, "any", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_ANY) ||
	    hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "hosts", 0xc0000201, 1))
		errx(1, "the sets cannot be made");
	nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "nets6");
	mnl_attr_put(nlh, IPCUCKOO_A_NETS6, sizeof(net6), net6);
	if (client_ask(cl, &answer))
		errx(1, "an IPv6 prefix cannot be added: %s", answer.message);
	nlh = client_begin(cl, IPCUCKOO_CMD_ENTRY_ADD);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "any");
	put_net4(nlh, 0x0a000000, 8);
	if (client_ask(cl, &answer) ||
	    attach(cl, "any", IPCUCKOO_DIR_DST, IPCUCKOO_VERDICT_COUNT))
		errx(1, "the set any cannot be filled and attached");
}

/* Attributes of a request: a test lists its requests in tables of these. */

struct piece {
	uint16_t type;
	uint16_t size;
	const void *data;
};

#define STR(attr, text)	{ IPCUCKOO_A_##attr, sizeof(text), text }
#define RAW(attr, text)	{ IPCUCKOO_A_##attr, sizeof(text) - 1, text }
#define U8(attr, ...)	{ IPCUCKOO_A_##attr, 1, (const uint8_t[]){ __VA_ARGS__ } }
#define U32(attr, ...)	{ IPCUCKOO_A_##attr, 4, (const uint32_t[]){ __VA_ARGS__ } }
#define AT(attr)	IPCUCKOO_A_##attr
#define CMD(name)	IPCUCKOO_CMD_##name

#define HOST6	"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
#define MAPPED	"\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x01\x02\x03"
#define MAPPED_ALL	"\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\0"

/* Expected error: EINVAL or ERANGE, which netlink returns if an attribute violates the policy. */
#define MALFORMED	1

static inline bool error_is(int error, int want)
{
	return want == MALFORMED ? error == -EINVAL || error == -ERANGE :
				   error == -want;
}

/* Send a request about one set with up to two more attributes. */
static inline int ask(struct answer *answer, uint8_t cmd, const char *set,
	       struct piece a, struct piece b)
{
	struct nlmsghdr *nlh = client_begin(cl, cmd);

	if (set)
		mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, set);
	if (a.data)
		mnl_attr_put(nlh, a.type, a.size, a.data);
	if (b.data)
		mnl_attr_put(nlh, b.type, b.size, b.data);
	return client_ask(cl, answer);
}

#define PIECE(...)	((struct piece)__VA_ARGS__)
#define NONE		((struct piece){})

static inline void expect_changed(const struct answer *answer, const char *what,
			   uint32_t changed, uint32_t unchanged)
{
	expect_equal(answer->error, 0, "%s", what);
	expect_equal(answer_number(answer, IPCUCKOO_A_CHANGED), changed, "%s: changed",
		     what);
	expect_equal(answer_number(answer, IPCUCKOO_A_UNCHANGED), unchanged,
		     "%s: unchanged", what);
}

/* Permissions. netlink-userns.c tests other user namespaces. */

static inline void in_child(const char *what, int (*run)(void))
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run());
	waitpid(pid, &status, 0);
	expect(WIFEXITED(status) && !WEXITSTATUS(status), "%s: step %d failed", what,
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static inline void become_nobody(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		_exit(100);
}

/* Send every command, and expect that the kernel refuses each one with EPERM. Returns 0, or the
 * number of the first command that was not refused.
 */
static inline int all_refused(struct client *c, uint16_t flags)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint8_t cmd;

	for (cmd = IPCUCKOO_CMD_INFO; cmd <= IPCUCKOO_CMD_MAX; cmd++) {
		/* The kernel sends events; no request has that command. */
		if (cmd == IPCUCKOO_CMD_EVENT)
			continue;
		nlh = client_begin(c, cmd);
		nlh->nlmsg_flags |= flags;
		if (cmd == IPCUCKOO_CMD_ENTRY_GET || cmd == IPCUCKOO_CMD_ATTACH_GET)
			nlh->nlmsg_flags |= NLM_F_DUMP;
		if (cmd != IPCUCKOO_CMD_INFO && cmd != IPCUCKOO_CMD_ATTACH_GET)
			mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "hosts");
		if (client_ask(c, &answer) != -EPERM)
			return cmd;
	}
	return 0;
}

/* Begin a test program: start KTAP, load the module, open a socket. */
static inline void fixture_begin(const char *name)
{
	rng_state = ktap_begin(name);
	module_load("memory_limit=64");
	cl = client_open_room(8192);
	if (!cl)
		err(2, "the family %s", IPCUCKOO_FAMILY_NAME);
}

/* End a test program: delete everything, and check that all memory was freed. */
static inline int fixture_end(void)
{
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	client_close(cl);
	cl = client_open_or_die();
	expect(wait_until(figure(cl, NULL, IPCUCKOO_A_MEMORY) == 0, 10),
	       "all memory of tables is freed: %llu bytes",
	       (unsigned long long)figure(cl, NULL, IPCUCKOO_A_MEMORY));
	client_close(cl);
	expect(wait_until(!module_unload(), 20), "the module can be unloaded");
	ktap_case("all memory was freed, and the module can be unloaded");
	return ktap_end();
}

#endif /* _FIXTURE_H */
