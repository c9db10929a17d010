// SPDX-License-Identifier: GPL-2.0
/*
 * Events of commits. A listener keeps a copy of the lists of sets and attachments, and changes the
 * copy only as the events say that it receives. After each of several hundred random commits, the
 * copy must be the same as the kernel's lists. The events must be those of the changes, in the
 * order of the changes, with the names that the sets had when each change was made. A commit that
 * fails must cause no events.
 */
#define _GNU_SOURCE
#include "commit.h"
#include "fixture.h"
#include "listen.h"

/* CHANGES, EVENTS: maximum numbers of one commit. TRIES: see draw_commit(). */
enum { NAMES = 7, CHANGES = 8, ROUNDS = 400, EVENTS = 64, ATTACHED = 32, TRIES = 6 };

/* A set in the listener's copy. */
struct copy_set {
	bool exists;
	bool reported;		/* an event of this commit had the generation */
	uint8_t type;
	uint32_t entries;
	uint64_t generation;
};

static struct {
	struct copy_set set[NAMES];
	uint32_t id[ATTACHED];	/* ids of attachments; 0: unused */
	int of[ATTACHED];	/* the name of the set that is attached */
} copy;

/* What is compared of an event. A name is a number; -1: the event has no such name. */
struct event {
	int kind;
	int name;
	int to;
};

static struct client *listener;
static unsigned int seen[IPCUCKOO_EVENT_STATE_CHANGED + 1];

static int number_of(const char *name)
{
	return name[0] >= 'a' && name[0] < 'a' + NAMES && !name[1] ? name[0] - 'a' : -1;
}

static const char *name_of(int number)
{
	static const char names[NAMES][2] = { "a", "b", "c", "d", "e", "f", "g" };

	return names[number];
}

/* The listener */

static void apply_contents(struct copy_set *set, const struct answer *answer)
{
	set->reported = true;
	set->entries = answer_number(answer, IPCUCKOO_A_ENTRIES);
	set->generation = answer_number(answer, IPCUCKOO_A_GENERATION);
}

static void apply_names(int from, int to, bool swap)
{
	struct copy_set old = copy.set[to];
	int i;

	copy.set[to] = copy.set[from];
	copy.set[from] = swap ? old : (struct copy_set){};
	for (i = 0; i < ATTACHED && !swap; i++)
		if (copy.id[i] && copy.of[i] == from)
			copy.of[i] = to;
}

/* Returns the index of an attachment in the copy, or of an unused element if @id is 0. Returns -1
 * if there is none.
 */
static int find_attachment(uint32_t id)
{
	int i;

	for (i = 0; i < ATTACHED && copy.id[i] != id; i++)
		;
	return i < ATTACHED ? i : -1;
}

/* Change the copy as an event says. Returns false if that is impossible: for example, if the copy
 * has no set of the event's name.
 */
static bool apply_event(const struct answer *answer, const struct event *event)
{
	uint32_t id = answer_number(answer, IPCUCKOO_A_ATTACHMENT);
	struct copy_set *set = &copy.set[event->name];
	int at;

	switch (event->kind) {
	case IPCUCKOO_EVENT_SET_NEW:
		if (set->exists)
			return false;
		*set = (struct copy_set){
			.exists = true,
			.type = answer_number(answer, IPCUCKOO_A_TYPE),
		};
		apply_contents(set, answer);
		return true;
	case IPCUCKOO_EVENT_SET_DESTROYED:
		if (!set->exists)
			return false;
		*set = (struct copy_set){};
		return true;
	case IPCUCKOO_EVENT_SET_FLUSHED:
	case IPCUCKOO_EVENT_SET_REPLACED:
		apply_contents(set, answer);
		return set->exists && set->type == answer_number(answer, IPCUCKOO_A_TYPE);
	case IPCUCKOO_EVENT_SET_RENAMED:
	case IPCUCKOO_EVENT_SET_SWAPPED:
		if (event->to < 0 || !set->exists ||
		    copy.set[event->to].exists != (event->kind == IPCUCKOO_EVENT_SET_SWAPPED))
			return false;
		apply_names(event->name, event->to, event->kind == IPCUCKOO_EVENT_SET_SWAPPED);
		return true;
	case IPCUCKOO_EVENT_ATTACHED:
		at = find_attachment(0);
		if (!set->exists || at < 0 || !id || find_attachment(id) >= 0)
			return false;
		copy.id[at] = id;
		copy.of[at] = event->name;
		return true;
	case IPCUCKOO_EVENT_DETACHED:
		at = find_attachment(id);
		if (at < 0 || copy.of[at] != event->name)
			return false;
		copy.id[at] = 0;
		return true;
	}
	return false;
}

/* Read all events, and apply them to the copy. Returns how many there were. */
static int listen_all(struct event *events)
{
	struct answer answer;
	struct event *event;
	int count = 0, got, i;

	for (i = 0; i < NAMES; i++)
		copy.set[i].reported = false;
	while ((got = listen_next(listener, &answer)) > 0 && count < EVENTS) {
		event = &events[count];
		*event = (struct event){
			.kind = answer_number(&answer, IPCUCKOO_A_EVENT),
			.name = number_of(answer_string(&answer, IPCUCKOO_A_SET)),
			.to = number_of(answer_string(&answer, IPCUCKOO_A_SET_TO)),
		};
		if (!expect(event->name >= 0 && apply_event(&answer, event),
			    "event %d of set %s contradicts earlier events", event->kind,
			    answer_string(&answer, IPCUCKOO_A_SET)))
			break;
		seen[event->kind]++;
		count++;
	}
	expect_equal(got, 0, "all events are read");
	return count;
}

/* The copy and the kernel's lists */

struct listed {
	int sets;
	int attachments;
};

static void compare_set(const struct answer *answer, void *data)
{
	const char *name = answer_string(answer, IPCUCKOO_A_SET);
	uint64_t generation = answer_number(answer, IPCUCKOO_A_GENERATION);
	const struct copy_set *set = &copy.set[number_of(name)];
	struct listed *listed = data;

	listed->sets++;
	if (!expect(number_of(name) >= 0 && set->exists, "set %s is in no event", name))
		return;
	expect_equal(answer_number(answer, IPCUCKOO_A_TYPE), set->type, "type of %s", name);
	expect_equal(answer_number(answer, IPCUCKOO_A_ENTRIES), set->entries, "entries of %s",
		     name);
	/* A swap also changes the generation, and no event reports that. */
	expect(set->reported ? generation == set->generation : generation >= set->generation,
	       "generation of %s: %llu, reported %llu", name, (unsigned long long)generation,
	       (unsigned long long)set->generation);
}

static void compare_attachment(const struct answer *answer, void *data)
{
	int at = find_attachment(answer_number(answer, IPCUCKOO_A_ATTACHMENT));
	const char *name = answer_string(answer, IPCUCKOO_A_SET);
	struct listed *listed = data;

	listed->attachments++;
	expect(at >= 0 && copy.of[at] == number_of(name),
	       "an attachment of %s contradicts the events", name);
}

static void compare_lists(int round)
{
	struct listed listed = {}, want = {};
	int i;

	for (i = 0; i < NAMES; i++)
		want.sets += copy.set[i].exists;
	for (i = 0; i < ATTACHED; i++)
		want.attachments += !!copy.id[i];
	expect_equal(dump_each(cl, IPCUCKOO_CMD_SET_GET, NULL, compare_set, &listed), 0,
		     "round %d: list of sets", round);
	expect_equal(dump_each(cl, IPCUCKOO_CMD_ATTACH_GET, NULL, compare_attachment, &listed),
		     0, "round %d: list of attachments", round);
	expect_equal(listed.sets, want.sets, "round %d: sets", round);
	expect_equal(listed.attachments, want.attachments, "round %d: attachments", round);
}

/* What a commit is expected to do: which set has each name after it, and which events it causes. */
struct plan {
	struct {
		int object;	/* number of the set that has the name; 0: none */
		uint8_t type;
		uint8_t attached;	/* a bit for each verdict */
	} set[NAMES];
	int objects;		/* how many sets have had a number */
	struct event want[EVENTS];
	int wanted;		/* how many events are expected */
};

struct change {
	uint8_t cmd;
	uint8_t type;
	uint8_t verdict;
	uint32_t flags;
	uint32_t shadow;
	int object;		/* SHADOW_COMMIT: the set for which the shadow was made */
	int i;
	int j;
};

static struct plan plan_begin(void)
{
	struct plan p = {};
	int i;

	for (i = 0; i < NAMES; i++) {
		p.set[i].object = copy.set[i].exists ? ++p.objects : 0;
		p.set[i].type = copy.set[i].type;
	}
	return p;
}

static bool plan_event(struct plan *p, int kind, int name, int to)
{
	p->want[p->wanted++] = (struct event){ kind, name, to };
	return true;
}

static bool plan_names(struct plan *p, const struct change *c)
{
	bool swap = c->cmd == IPCUCKOO_CMD_SET_SWAP;
	struct plan old = *p;

	if (!p->set[c->i].object || !!p->set[c->j].object != swap)
		return false;
	if (swap && c->i == c->j)
		return true;
	if (swap && p->set[c->i].type != p->set[c->j].type)
		return false;
	p->set[c->j] = old.set[c->i];
	p->set[c->i] = old.set[c->j];
	if (swap) {
		p->set[c->i].attached = old.set[c->i].attached;
		p->set[c->j].attached = old.set[c->j].attached;
	}
	return plan_event(p, swap ? IPCUCKOO_EVENT_SET_SWAPPED : IPCUCKOO_EVENT_SET_RENAMED,
			  c->i, c->j);
}

/* Apply a change to the plan. Returns false if the change must fail. */
static bool plan_change(struct plan *p, const struct change *c)
{
	bool exist = c->flags & IPCUCKOO_F_EXIST, exists = p->set[c->i].object;
	int i;

	switch (c->cmd) {
	case IPCUCKOO_CMD_SET_NEW:
		if (exists)
			return exist && p->set[c->i].type == c->type;
		p->set[c->i].object = ++p->objects;
		p->set[c->i].type = c->type;
		p->set[c->i].attached = 0;
		return plan_event(p, IPCUCKOO_EVENT_SET_NEW, c->i, -1);
	case IPCUCKOO_CMD_SET_DEL:
		if (!exists || p->set[c->i].attached)
			return !exists && exist;
		p->set[c->i].object = 0;
		return plan_event(p, IPCUCKOO_EVENT_SET_DESTROYED, c->i, -1);
	case IPCUCKOO_CMD_SET_FLUSH:
		return exists ? plan_event(p, IPCUCKOO_EVENT_SET_FLUSHED, c->i, -1) : exist;
	case IPCUCKOO_CMD_ATTACH:
		if (!exists || p->set[c->i].attached & 1 << c->verdict)
			return exists && exist;
		p->set[c->i].attached |= 1 << c->verdict;
		return plan_event(p, IPCUCKOO_EVENT_ATTACHED, c->i, -1);
	case IPCUCKOO_CMD_SHADOW_COMMIT:
		for (i = 0; i < NAMES && p->set[i].object != c->object; i++)
			;
		return i < NAMES && plan_event(p, IPCUCKOO_EVENT_SET_REPLACED, i, -1);
	default:
		return plan_names(p, c);
	}
}

/* Random changes */

static struct change draw_change(const struct plan *begin)
{
	static const uint8_t commands[] = {
		IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_NEW, IPCUCKOO_CMD_SET_DEL,
		IPCUCKOO_CMD_SET_RENAME, IPCUCKOO_CMD_SET_RENAME, IPCUCKOO_CMD_SET_SWAP,
		IPCUCKOO_CMD_SET_SWAP, IPCUCKOO_CMD_SET_FLUSH, IPCUCKOO_CMD_SHADOW_COMMIT,
		IPCUCKOO_CMD_SHADOW_COMMIT, IPCUCKOO_CMD_ATTACH,
	};
	struct change c = {
		.cmd = commands[rng() % sizeof(commands)],
		.type = rng() % 4 ? IPCUCKOO_TYPE_HASH_IP : IPCUCKOO_TYPE_HASH_NET,
		.verdict = rng() % 2 ? IPCUCKOO_VERDICT_DROP : IPCUCKOO_VERDICT_COUNT,
		.i = rng() % NAMES,
		.j = rng() % NAMES,
	};

	if (c.cmd == IPCUCKOO_CMD_SHADOW_COMMIT) {
		c.object = begin->set[c.i].object ?: -1;
		c.flags = rng() % 2 ? IPCUCKOO_F_OVERRIDE : 0;
	} else if (c.cmd != IPCUCKOO_CMD_SET_RENAME && c.cmd != IPCUCKOO_CMD_SET_SWAP) {
		c.flags = rng() % 2 ? IPCUCKOO_F_EXIST : 0;
	}
	return c;
}

/* Make the shadow of a change that needs one. At this time, no change has been made yet. */
static void make_shadow(struct change *c)
{
	bool new = c->cmd == IPCUCKOO_CMD_SET_NEW && !c->flags;

	if (!new && (c->cmd != IPCUCKOO_CMD_SHADOW_COMMIT || c->object < 0))
		return;
	c->shadow = new ? shadow_create(cl, c->type) : shadow_new(cl, name_of(c->i), 0);
	expect(c->shadow, "a shadow");
	expect_equal(shadow_hosts(cl, c->shadow, rng(), 1 + rng() % 300), 0, "hosts in it");
}

static void put_change(struct nlmsghdr *nlh, const struct change *c)
{
	bool two = c->cmd == IPCUCKOO_CMD_SET_RENAME || c->cmd == IPCUCKOO_CMD_SET_SWAP;

	if (c->cmd == IPCUCKOO_CMD_SHADOW_COMMIT)
		put_replace(nlh, c->shadow, c->flags);
	else if (c->shadow)
		put_new_filled(nlh, name_of(c->i), c->shadow);
	else if (c->cmd == IPCUCKOO_CMD_SET_NEW)
		put_new(nlh, name_of(c->i), c->type, c->flags);
	else if (c->cmd == IPCUCKOO_CMD_ATTACH)
		put_attach(nlh, name_of(c->i), c->verdict, c->flags);
	else
		put_named(nlh, c->cmd, name_of(c->i), two ? name_of(c->j) : NULL, c->flags);
}

/* Draw the changes of a commit. An impossible change is drawn again, TRIES times at most. Returns
 * whether all changes are possible.
 */
static bool draw_commit(struct plan *p, struct change *change, int count)
{
	const struct plan begin = *p;
	struct plan next;
	bool possible = true;
	int at, tries;

	for (at = 0; at < count; at++) {
		for (tries = 0; tries < TRIES; tries++) {
			change[at] = draw_change(&begin);
			next = *p;
			if (plan_change(&next, &change[at]))
				break;
		}
		possible &= tries < TRIES;
		make_shadow(&change[at]);
		*p = next;
	}
	return possible;
}

/* Errors that the plan does not predict. ESTALE: the contents of the set have changed since the
 * shadow was made. EXDEV: the commit swaps a set that is attached, and also changes its contents.
 */
static bool is_unplanned(int error)
{
	return error == -ESTALE || error == -EXDEV;
}

/* Make a random commit, and compare its events with the plan. Returns whether it succeeded. */
static bool random_commit(int round, struct plan *p)
{
	struct change change[CHANGES];
	struct event events[EVENTS];
	int count = 1 + rng() % CHANGES, at, received;
	struct nlmsghdr *nlh;
	struct answer answer;
	bool possible;

	possible = draw_commit(p, change, count);
	nlh = commit_begin(cl);
	for (at = 0; at < count; at++)
		put_change(nlh, &change[at]);
	commit_ask(cl, &answer);
	expect(possible ? !answer.error || is_unplanned(answer.error) : answer.error,
	       "round %d: error %d, the changes are %spossible: %s", round, answer.error,
	       possible ? "" : "im", answer.message);
	received = listen_all(events);
	expect_equal(received, answer.error ? 0 : p->wanted, "round %d, error %d: events", round,
		     answer.error);
	for (at = 0; at < received && at < p->wanted && !ktap_failing(); at++)
		expect(!memcmp(&events[at], &p->want[at], sizeof(*events)),
		       "round %d, event %d: expected %d of set %d, %d, got %d of set %d, %d",
		       round, at, p->want[at].kind, p->want[at].name, p->want[at].to,
		       events[at].kind, events[at].name, events[at].to);
	for (at = 0; at < count; at++)
		if (change[at].shadow && answer.error)
			shadow_request(cl, IPCUCKOO_CMD_SHADOW_DEL, change[at].shadow, 0);
	return !answer.error;
}

static void test_random(void)
{
	struct plan p = plan_begin(), next;
	struct event events[EVENTS];
	int round, i, done = 0;

	for (round = 0; round < ROUNDS && !ktap_failing(); round++) {
		next = p;
		next.wanted = 0;
		if (random_commit(round, &next)) {
			p = next;
			done++;
		}
		compare_lists(round);
		if (rng() % 4)
			continue;
		everything(cl, IPCUCKOO_CMD_DETACH);
		listen_all(events);
		for (i = 0; i < NAMES; i++)
			p.set[i].attached = 0;
		compare_lists(round);
	}
	printf("# %d of %d commits succeeded\n", done, round);
	expect(done > round / 4 && done < round, "some commits succeed, and some fail");
	for (i = IPCUCKOO_EVENT_SET_NEW; i <= IPCUCKOO_EVENT_SET_SWAPPED; i++)
		if (i != IPCUCKOO_EVENT_ENTRIES_ADDED && i != IPCUCKOO_EVENT_ENTRIES_DELETED)
			expect(seen[i] > 10, "event %d: %u times", i, seen[i]);
	ktap_case("a copy that only events change is always the same as the kernel's lists");
}

int main(void)
{
	fixture_begin("commit-events");
	listener = listen_open();
	test_random();
	client_close(listener);
	return fixture_end();
}
