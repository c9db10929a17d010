// SPDX-License-Identifier: GPL-2.0
/*
 * Tests COMMIT: several changes in one request, all or none. Random commits are compared with a
 * model that applies the changes one by one to a copy of the sets.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "fixture.h"

enum { NAMES = 6, MOST = 10, ROUNDS = 600, MANY = 300 };

/* A set in the model; each name has at most one. */
struct model_set {
	bool exists;
	uint8_t type;
	uint32_t entries;
	uint32_t attached;
};

struct model {
	struct model_set set[NAMES];
};

static const char *name_of(int i)
{
	static const char * const names[NAMES] = { "a", "b", "c", "d", "e", "f" };

	return names[i];
}

/* Create a shadow of a set that does not exist yet, with so many hosts. */
static uint32_t shadow_filled(uint8_t type, uint32_t hosts)
{
	uint32_t shadow = shadow_create(cl, type);

	expect(shadow, "SHADOW_NEW with CREATE");
	if (hosts)
		expect_equal(shadow_hosts(cl, shadow, 0x0a000000, hosts), 0, "SHADOW_ADD");
	return shadow;
}

static void test_together(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint32_t next, live;

	expect_equal(set_new(cl, "live", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "live");
	expect_equal(hosts_request(cl, IPCUCKOO_CMD_ENTRY_ADD, "live", 0x01020304, 3), 0, "add");
	expect_equal(attach(cl, "live", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_COUNT), 0, "attach");
	expect_equal(set_new(cl, "other", IPCUCKOO_TYPE_HASH_NET, IPCUCKOO_FAMILY_INET), 0,
		     "other");
	next = shadow_filled(IPCUCKOO_TYPE_HASH_IP, 5);
	live = shadow_new(cl, "other", 0);
	expect_equal(shadow_hosts(cl, live, 0x0b000000, 7), 0, "SHADOW_ADD to other");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 2,
		     "the set of a shadow does not exist yet");
	expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_COMMIT, next, 0), -ENOENT,
		     "SHADOW_COMMIT of a set that does not exist yet");

	nlh = commit_begin(cl);
	put_new_filled(nlh, "tmp", next);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "tmp", "live", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "tmp", NULL, 0);
	commit_go_on(nlh);
	put_replace(nlh, live, 0);
	put_named(nlh, IPCUCKOO_CMD_SET_RENAME, "other", "renamed", 0);
	put_attach(nlh, "renamed", IPCUCKOO_VERDICT_DROP, 0);
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 2, "sets");
	expect_equal(figure(cl, "live", IPCUCKOO_A_ENTRIES), 5, "the new contents of live");
	expect_equal(figure(cl, "live", IPCUCKOO_A_ATTACHMENTS), 1, "live is attached");
	expect_equal(figure(cl, "renamed", IPCUCKOO_A_ENTRIES), 7, "the new contents of other");
	expect_equal(figure(cl, "renamed", IPCUCKOO_A_ATTACHMENTS), 1, "it is attached");
	expect_equal(figure(cl, "tmp", IPCUCKOO_A_ENTRIES), UINT64_MAX, "tmp does not exist");
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("one request fills, attaches and swaps in a new set");
}

static void test_many(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	char name[16];
	int i;

	nlh = commit_begin(cl);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		put_new(nlh, name, IPCUCKOO_TYPE_HASH_NET, 0);
	}
	expect_equal(commit_ask(cl, &answer), 0, "COMMIT: %s", answer.message);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), MANY, "sets");
	nlh = commit_begin(cl);
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "many%d", i);
		put_named(nlh, IPCUCKOO_CMD_SET_DEL, name, NULL, 0);
	}
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "none", NULL, 0);
	expect_equal(commit_ask(cl, &answer), -ENOENT, "the last set does not exist");
	expect(answer.has_cookie && answer.cookie == MANY, "the change at fault: %u",
	       answer.cookie);
	expect(!strcmp(answer.message, "there is no set of that name"), "there is a message: %s",
	       answer.message);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), MANY, "all sets exist again");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("hundreds of changes are applied, and as many are undone");
}

/* The model */

static int model_apply(struct model *m, uint8_t cmd, int i, int j, uint8_t type,
		       uint32_t entries, uint32_t flags, int verdict)
{
	struct model_set *s = &m->set[i], *t = &m->set[j], swap;

	switch (cmd) {
	case IPCUCKOO_CMD_SET_NEW:
		if (s->exists)
			return flags & IPCUCKOO_F_EXIST && s->type == type ? 0 : -EEXIST;
		*s = (struct model_set){ true, type, entries };
		return 0;
	case IPCUCKOO_CMD_SET_DEL:
		if (!s->exists)
			return flags & IPCUCKOO_F_EXIST ? 0 : -ENOENT;
		if (s->attached)
			return -EBUSY;
		s->exists = false;
		return 0;
	case IPCUCKOO_CMD_SET_RENAME:
		if (!s->exists)
			return -ENOENT;
		if (t->exists)
			return -EEXIST;
		*t = *s;
		s->exists = false;
		return 0;
	case IPCUCKOO_CMD_SET_SWAP:
		if (!s->exists || !t->exists)
			return -ENOENT;
		if (s->type != t->type)
			return -EOPNOTSUPP;
		swap = *s;
		s->entries = t->entries;
		t->entries = swap.entries;
		return 0;
	case IPCUCKOO_CMD_SET_FLUSH:
		if (!s->exists)
			return flags & IPCUCKOO_F_EXIST ? 0 : -ENOENT;
		s->entries = 0;
		return 0;
	case IPCUCKOO_CMD_ATTACH:
		if (!s->exists)
			return -ENOENT;
		if (s->attached & 1U << verdict)
			return flags & IPCUCKOO_F_EXIST ? 0 : -EEXIST;
		s->attached |= 1U << verdict;
		return 0;
	}
	return -EINVAL;
}

static void expect_model(const struct model *m, const char *what)
{
	uint64_t sets = 0, attachments = 0;
	int i;

	for (i = 0; i < NAMES; i++) {
		const struct model_set *s = &m->set[i];

		expect_equal(figure(cl, name_of(i), IPCUCKOO_A_ENTRIES),
			     s->exists ? s->entries : UINT64_MAX, "%s: entries of %s", what,
			     name_of(i));
		if (!s->exists)
			continue;
		expect_equal(figure(cl, name_of(i), IPCUCKOO_A_TYPE), s->type, "%s: type of %s",
			     what, name_of(i));
		expect_equal(figure(cl, name_of(i), IPCUCKOO_A_ATTACHMENTS),
			     __builtin_popcount(s->attached), "%s: attachments of %s", what,
			     name_of(i));
		sets++;
		attachments += __builtin_popcount(s->attached);
	}
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), sets, "%s: sets", what);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_ATTACHMENTS), attachments, "%s: attachments",
		     what);
}

/* A change of a random commit */
struct change {
	uint8_t cmd;
	uint8_t type;
	uint32_t flags;
	uint32_t entries;
	uint32_t shadow;
	int i;
	int j;
	int verdict;
};

static struct change random_change(void)
{
	static const uint8_t commands[] = {
		IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_NEW,
		IPCUCKOO_CMD_SET_DEL, IPCUCKOO_CMD_SET_RENAME, IPCUCKOO_CMD_SET_SWAP,
		IPCUCKOO_CMD_SET_FLUSH, IPCUCKOO_CMD_ATTACH,
	};
	struct change c = {
		.cmd = commands[rng() % sizeof(commands)],
		.type = rng() % 2 ? IPCUCKOO_TYPE_HASH_IP : IPCUCKOO_TYPE_HASH_NET,
		.flags = rng() % 3 ? IPCUCKOO_F_EXIST : 0,
		.i = rng() % NAMES,
		.j = rng() % NAMES,
		.verdict = rng() % 2 ? IPCUCKOO_VERDICT_DROP : IPCUCKOO_VERDICT_COUNT,
	};

	if (c.cmd == IPCUCKOO_CMD_SET_NEW && !c.flags) {
		c.entries = 1 + rng() % 50;
		c.shadow = shadow_filled(c.type, c.entries);
	}
	return c;
}

static void put_change(struct nlmsghdr *nlh, const struct change *c)
{
	bool two = c->cmd == IPCUCKOO_CMD_SET_RENAME || c->cmd == IPCUCKOO_CMD_SET_SWAP;

	if (c->shadow)
		put_new_filled(nlh, name_of(c->i), c->shadow);
	else if (c->cmd == IPCUCKOO_CMD_SET_NEW)
		put_new(nlh, name_of(c->i), c->type, c->flags);
	else if (c->cmd == IPCUCKOO_CMD_ATTACH)
		put_attach(nlh, name_of(c->i), c->verdict, c->flags);
	else
		put_named(nlh, c->cmd, name_of(c->i), two ? name_of(c->j) : NULL,
			  two ? 0 : c->flags);
}

/* Does the commit both swap and flush sets? Then packets could see mixed contents. */
static bool may_mix(const struct change *change, int count)
{
	bool swap = false, flush = false;

	while (count--) {
		swap |= change[count].cmd == IPCUCKOO_CMD_SET_SWAP;
		flush |= change[count].cmd == IPCUCKOO_CMD_SET_FLUSH;
	}
	return swap && flush;
}

static void put_changes(const struct change *change, int count)
{
	struct nlmsghdr *nlh = commit_begin(cl);
	int at;

	for (at = 0; at < count; at++)
		put_change(nlh, &change[at]);
}

/* A commit is checked, which must change nothing, and then made. Return: whether it was
 * made.
 */
static bool random_commit(struct model *now, int round)
{
	int count = 1 + rng() % MOST, at, error = 0, applied = 0;
	struct change change[MOST];
	struct answer checked, answer;
	struct model next = *now;

	for (at = 0; at < count; at++)
		change[at] = random_change();
	for (at = 0; at < count && !error; at++) {
		error = model_apply(&next, change[at].cmd, change[at].i, change[at].j,
				    change[at].type, change[at].entries, change[at].flags,
				    change[at].verdict);
		applied += !error;
	}
	put_changes(change, count);
	commit_check(cl, &checked);
	expect_model(now, "after a check");
	put_changes(change, count);
	commit_ask(cl, &answer);
	expect_equal(answer.error, checked.error, "round %d: as it was checked", round);
	expect_equal(answer.cookie, checked.cookie, "round %d: the change at fault", round);
	/* The model does not know which sets are attached before and after a commit. */
	if (!error && answer.error == -EXDEV && may_mix(change, count))
		error = -EXDEV;
	expect_equal(answer.error, error, "round %d, change %d: %s", round, applied,
		     answer.message);
	if (error && error != -EXDEV) {
		expect(answer.has_cookie && answer.cookie == (uint32_t)applied,
		       "round %d: the change at fault is %d, not %u", round, applied,
		       answer.cookie);
		expect(*answer.message, "round %d: there is a message", round);
	} else if (!error) {
		*now = next;
	}
	for (at = 0; at < count; at++)
		if (change[at].shadow)
			expect_equal(shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, change[at].shadow, 0),
				     error ? 0 : -ENOENT, "round %d: the shadow", round);
	return !error;
}

static void test_random(void)
{
	struct model now = {};
	int round, i, done = 0;

	for (round = 0; round < ROUNDS; round++) {
		done += random_commit(&now, round);
		expect_model(&now, "after the commit");
		if (rng() % 8)
			continue;
		everything(cl, IPCUCKOO_CMD_DETACH);
		for (i = 0; i < NAMES; i++)
			now.set[i].attached = 0;
	}
	expect(done > ROUNDS / 20 && done < ROUNDS, "%d of %d commits succeeded", done, ROUNDS);
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("random commits do what a model does, or nothing; and CHECK says which");
}

/* The kernel says which attribute is missing, and in which change. */
static void test_missing(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	struct nlattr *nest;

	nlh = commit_begin(cl);
	put_new(nlh, "a", IPCUCKOO_TYPE_HASH_IP, 0);
	nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_RENAME);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "a");
	mnl_attr_nest_end(nlh, nest);
	put_named(nlh, IPCUCKOO_CMD_SET_DEL, "a", NULL, 0);
	expect_equal(commit_ask(cl, &answer), -EINVAL, "SET_RENAME without SET_TO");
	expect_equal(answer.cookie, 1, "the change at fault");
	expect_equal(answer.missing, IPCUCKOO_A_SET_TO, "the attribute that it lacks");
	expect(answer.missing_in == nest, "the nest that lacks it");
	expect(*answer.message, "there is a message");
	nlh = client_begin(cl, IPCUCKOO_CMD_SET_RENAME);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "a");
	expect_equal(client_ask(cl, &answer), -EINVAL, "the same without a commit");
	expect(answer.missing == IPCUCKOO_A_SET_TO && !answer.missing_in, "it is in no nest");
	ktap_case("an attribute that a change lacks is reported with the change");
}

/* Changes that cannot be part of a commit, and malformed requests. */
static void test_refused(void)
{
	struct nlattr *nest;
	struct nlmsghdr *nlh;
	struct answer answer;
	uint32_t shadow;

	expect_equal(set_new(cl, "a", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "a");
	nlh = client_begin(cl, IPCUCKOO_CMD_COMMIT);
	expect_equal(client_ask(cl, &answer), -EINVAL, "no changes");
	expect_equal(answer.missing, IPCUCKOO_A_CHANGES, "the missing attribute");
	nlh = commit_begin(cl);
	expect_equal(commit_ask(cl, &answer), 0, "an empty list");
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_GET, "a", NULL, 0);
	expect_equal(commit_ask(cl, &answer), -EOPNOTSUPP, "SET_GET: %s", answer.message);
	nlh = commit_begin(cl);
	nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_DEL);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_ALL);
	mnl_attr_nest_end(nlh, nest);
	expect_equal(commit_ask(cl, &answer), -EOPNOTSUPP, "ALL: %s", answer.message);
	nlh = commit_begin(cl);
	put_attach(nlh, "a", IPCUCKOO_VERDICT_DROP, IPCUCKOO_F_REPLACE);
	expect_equal(commit_ask(cl, &answer), -EOPNOTSUPP, "REPLACE: %s", answer.message);
	nlh = commit_begin(cl);
	nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_DEL);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "a");
	mnl_attr_put_u8(nlh, IPCUCKOO_A_VERDICT, 1);
	mnl_attr_nest_end(nlh, nest);
	expect_equal(commit_ask(cl, &answer), -EINVAL, "an attribute that SET_DEL does not have");
	shadow = shadow_new(cl, "a", 0);
	nlh = commit_begin(cl);
	put_new_filled(nlh, "b", shadow);
	expect_equal(commit_ask(cl, &answer), -EINVAL, "SET_NEW with the shadow of a: %s",
		     answer.message);
	nlh = commit_begin(cl);
	put_replace(nlh, shadow, 0);
	put_replace(nlh, shadow, 0);
	expect_equal(commit_ask(cl, &answer), -EBUSY, "a shadow twice: %s", answer.message);
	expect_equal(answer.cookie, 1, "the second change is at fault");
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 1, "sets");
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("changes that cannot be part of a commit are refused with a message");
}

/* Test shadows whose set is changed in the same commit, and changes that would mix contents. */
static void test_contents(void)
{
	struct nlattr *nest;
	uint32_t shadow, second;
	struct nlmsghdr *nlh;
	struct answer answer;

	expect_equal(set_new(cl, "a", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "a");
	expect_equal(set_new(cl, "b", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "b");
	expect_equal(attach(cl, "a", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_COUNT), 0, "attach a");
	shadow = shadow_new(cl, "a", 0);
	shadow_hosts(cl, shadow, 0x0a000000, 4);
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "a", "b", 0);
	put_replace(nlh, shadow, 0);
	expect_equal(commit_ask(cl, &answer), -ESTALE, "a shadow of a set that was swapped");
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "a", NULL, 0);
	put_replace(nlh, shadow, 0);
	expect_equal(commit_ask(cl, &answer), -ESTALE, "a shadow of a set that was flushed");
	expect_equal(answer.cookie, 1, "the second change");
	second = shadow_new(cl, "a", 0);
	shadow_hosts(cl, second, 0x0b000000, 6);
	nlh = commit_begin(cl);
	put_replace(nlh, shadow, 0);
	put_replace(nlh, second, IPCUCKOO_F_OVERRIDE);
	expect_equal(commit_ask(cl, &answer), 0, "two shadows: %s", answer.message);
	expect_equal(figure(cl, "a", IPCUCKOO_A_ENTRIES), 6, "the entries of the second shadow");
	expect_equal(attach(cl, "b", IPCUCKOO_DIR_SRC, IPCUCKOO_VERDICT_COUNT), 0, "attach b");
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_SWAP, "a", "b", 0);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "a", NULL, 0);
	expect_equal(commit_ask(cl, &answer), -EXDEV, "both sets are attached, swapped and flushed");
	expect(*answer.message, "there is a message");
	expect_equal(figure(cl, "a", IPCUCKOO_A_ENTRIES), 6, "nothing has changed");
	shadow = shadow_filled(IPCUCKOO_TYPE_HASH_IP, 1);
	nlh = commit_begin(cl);
	nest = mnl_attr_nest_start(nlh, IPCUCKOO_CMD_SET_NEW);
	mnl_attr_put_strz(nlh, IPCUCKOO_A_SET, "a");
	mnl_attr_put_u32(nlh, IPCUCKOO_A_FLAGS, IPCUCKOO_F_EXIST);
	mnl_attr_put_u32(nlh, IPCUCKOO_A_SHADOW, shadow);
	mnl_attr_nest_end(nlh, nest);
	expect_equal(commit_ask(cl, &answer), -EINVAL, "EXIST and SHADOW: %s", answer.message);
	nlh = commit_begin(cl);
	put_named(nlh, IPCUCKOO_CMD_SET_FLUSH, "b", NULL, 0);
	mnl_attr_put_u32(nlh, IPCUCKOO_CMD_SET_FLUSH, 1);
	mnl_attr_nest_end(nlh, commit_changes);
	/* The length of the last attribute is larger than the rest of the message. */
	((struct nlattr *)((char *)nlh + nlh->nlmsg_len - 8))->nla_len = 100;
	expect_equal(client_ask(cl, &answer), -EINVAL, "a change that is longer than the message");
	everything(cl, IPCUCKOO_CMD_DETACH);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	ktap_case("stale shadows are refused, the last shadow counts, contents are not mixed");
}

/* The shadow of a set that was destroyed makes no new set. If the attempt left an id behind, the kernel
 * would warn when the module is unloaded.
 */
static void test_destroyed(void)
{
	struct nlmsghdr *nlh;
	struct answer answer;
	uint32_t shadow;

	expect_equal(set_new(cl, "a", IPCUCKOO_TYPE_HASH_IP, IPCUCKOO_FAMILY_INET), 0, "a");
	shadow = shadow_new(cl, "a", 0);
	everything(cl, IPCUCKOO_CMD_SET_DEL);
	nlh = commit_begin(cl);
	put_new_filled(nlh, "a", shadow);
	expect_equal(commit_ask(cl, &answer), -EINVAL, "create: %s", answer.message);
	expect_equal(figure(cl, NULL, IPCUCKOO_A_SETS), 0, "sets");
	ktap_case("the shadow of a set that was destroyed makes no new set");
}

int main(void)
{
	fixture_begin("netlink-commit");
	test_together();
	test_many();
	test_missing();
	test_refused();
	test_contents();
	test_destroyed();
	test_random();
	return fixture_end();
}
