// SPDX-License-Identifier: GPL-2.0
/*
 * Every execution of the changes that packets make, on a weakly ordered machine
 *
 * kmod/ipset/pending.h describes the protocol: a change counts from the moment it is put; whoever
 * applies it changes the contents first, and removes the change afterwards. This enumerates all
 * executions of a look-up beside short sequences of these operations, and of those of user space
 * (weakmem.h has the machine), during which the right answer stays the same, and shows that
 *
 * - the answer is never wrong (test_scenario());
 * - it is if a barrier or a check is removed or a rule is broken, and how: the execution is printed
 *   (test_change()). Barriers that another one stands in for are in the same list, and are shown
 *   not to be needed, unless both are removed.
 *
 * What is modelled: the look-ups in kmod/ipset/match.c and packet.c, for two prefixes, of which one
 * is longer.
 *
 *   plain	no change is pending, the contents decide alone: match_plain(), and the first part of
 *		ipcuckoo_ipset_match()
 *   nets	the same in hash:net, where the contents are asked for both prefixes
 *   once	find_once(): one entry, among the changes or else in the contents
 *   walk	walk(): both prefixes, in hash:net
 *
 * One that has no answer, because it was disturbed, is tried again, or another one follows: that is
 * a look-up which begins later, and is enumerated as such. The last attempt holds the locks.
 *
 * There are two writers, and nothing orders what one does after what the other has done. One puts
 * changes and applies them. That it takes no lock here only orders less. The other one changes the
 * contents as user space does; and as time does, when the timeout of an entry passes, which no
 * sequence tells. Operations count one after the other, or else the right answer would be another
 * one: so the stores with which an operation begins to count come after those of the one before.
 *
 * An entry of the contents is one word, because weakmem.c is about these, and the contents have one
 * version. No timeout passes beside a look-up for two prefixes, because walk() reads the clock once,
 * when it begins.
 */
#undef NDEBUG
#include <assert.h>
#include <inttypes.h>

#include "../lib/ktap.h"
#include "weakmem.h"

#define BIT(n)		(UINT32_C(1) << (n))
#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))
#define NO_GUARDS	{ { .load = -1 }, { .load = -1 }, { .load = -1 } }

enum barrier {
	R_NONE,			/* smp_load_acquire(seq) in ipcuckoo_pending_none() */
	R_ANY,			/* smp_load_acquire(count) in ipcuckoo_pending_any() */
	R_FIND,			/* smp_rmb() in ipcuckoo_pending_find() */
	R_LEN,			/* smp_load_acquire(lens) in ipcuckoo_pending_has_len() */
	R_CHAINS,		/* smp_load_acquire(chains) in ipcuckoo_pending_find() */
	R_ONCE,			/* smp_load_acquire(seq) in find_once() */
	R_BEGIN,		/* smp_load_acquire(seq) in begin() */
	R_GUARD,		/* smp_load_acquire(guard.seq) in begin() */
	R_SAME,			/* smp_rmb() in ipcuckoo_pending_same() */
	W_CHAINS,		/* smp_store_release(chains) in grow() */
	W_NODE,			/* the release in hlist_add_head_rcu() */
	W_DONE,			/* smp_wmb() in ipcuckoo_pending_done() */
	W_BEFORE,		/* the first smp_wmb() in bump() */
	W_AFTER,		/* the second one */
};

enum mutant {
	NO_MUTANT,
	UNLINK_FIRST,		/* a change is removed before it is in the contents */
	CONTENTS_FIRST,		/* a look-up asks the contents, then the changes */
	LENS_FIRST,		/* has_len() asks the contents, then the changes */
	UNCHECKED,		/* ipcuckoo_pending_same() is not asked */
	ODD,			/* an odd sequence of the changes counts, too */
	GUARD_UNCHECKED,	/* a walk does not look at the sequence of the contents */
	COUNT_UNCHECKED,	/* ipcuckoo_pending_any() is not asked */
	NO_BUMP_BEFORE,		/* the sequence is not bumped before a change, but after it */
	NO_BUMP_AFTER,		/* the reverse */
	NO_BUMP,		/* neither */
};

/* Locations. The last ones are those of each prefix. */
enum { SEQ, COUNT, CHAINS, GUARD, FIRST };
enum { LEN, HEAD, ACTION, HAS_LEN, CONTENT, NFIELDS };
enum prefix { LONG, SHORT, NPREFIXES };

/* What is behind a pointer before it is initialised */
enum { GARBAGE = 9, ADD = 1, DELETE = 2 };

static int at(enum prefix p, int field)
{
	return FIRST + p * NFIELDS + field;
}

/* --- writers --------------------------------------------------------------- */

enum writer { CHANGER, USER, NWRITERS };

struct plan {
	uint32_t removed;	/* barriers that are removed */
	enum mutant mutant;
	bool begun;
	enum writer writer;		/* the one that stores now */
	uint8_t memory[MAX_LOCS];	/* as writers see it */
	uint32_t stores[NWRITERS];	/* those of each */
	uint32_t fence[NWRITERS];	/* stores that become visible before all later ones */
	uint32_t moment;	/* the store from which on the last operation counts */
	struct machine m;
};

static bool has(const struct plan *p, enum barrier b)
{
	return !(p->removed & BIT(b));
}

static void store(struct plan *p, int loc, int val, bool release)
{
	struct machine *m = &p->m;
	int i = m->nstores;

	p->memory[loc] = val;
	if (!p->begun) {
		m->initial[loc] = val;
		return;
	}
	assert(i < MAX_STORES);
	m->stores[i] = (struct store){
		loc, val, release ? p->stores[p->writer] : p->fence[p->writer],
	};
	p->stores[p->writer] |= BIT(i);
	while (i--)
		if (m->stores[i].loc == loc)
			m->stores[m->nstores].after |= BIT(i);
	m->nstores++;
}

/* The last @n stores are what makes an operation count: so they come after the earlier ones. */
static void counts_now(struct plan *p, int n)
{
	uint32_t moment = 0;
	int i = p->m.nstores;

	while (p->begun && n--) {
		p->m.stores[--i].after |= p->moment;
		moment |= BIT(i);
	}
	if (moment)
		p->moment = moment;
}

static void fence(struct plan *p)
{
	p->fence[p->writer] |= p->stores[p->writer];
}

static void wmb(struct plan *p, enum barrier b)
{
	if (has(p, b))
		fence(p);
}

static void bump(struct plan *p, enum mutant without)
{
	if (p->mutant == without || p->mutant == NO_BUMP)
		return;
	wmb(p, W_BEFORE);
	store(p, SEQ, p->memory[SEQ] + 1, false);
	wmb(p, W_AFTER);
}

/* ipcuckoo_guard_bump(): weakmem.c is about its barriers. */
static void bump_guard(struct plan *p)
{
	fence(p);
	store(p, GUARD, p->memory[GUARD] + 1, false);
	fence(p);
}

static void count(struct plan *p, enum prefix prefix, int by)
{
	store(p, at(prefix, LEN), p->memory[at(prefix, LEN)] + by, false);
	store(p, COUNT, p->memory[COUNT] + by, false);
}

/* A packet changes a prefix of which no change is pending. */
static void put(struct plan *p, enum prefix prefix, int action)
{
	if (!p->memory[CHAINS]) {
		store(p, at(LONG, HEAD), 0, false);
		store(p, at(SHORT, HEAD), 0, false);
		store(p, CHAINS, 1, has(p, W_CHAINS));
	}
	store(p, at(prefix, ACTION), action, false);
	bump(p, NO_BUMP_BEFORE);
	store(p, at(prefix, HEAD), 1, has(p, W_NODE));
	counts_now(p, 1);
	count(p, prefix, 1);
	bump(p, NO_BUMP_AFTER);
}

static void add(struct plan *p, enum prefix prefix)
{
	put(p, prefix, ADD);
}

static void delete(struct plan *p, enum prefix prefix)
{
	put(p, prefix, DELETE);
}

/* A length is counted before an entry has it, and a barrier is between, which weakmem.c is about. It
 * is not counted any more when none has it, but nothing orders that.
 */
static void change_contents(struct plan *p, enum prefix prefix, bool there)
{
	if (!there)
		bump_guard(p);
	store(p, at(prefix, HAS_LEN), there, false);
	if (there)
		fence(p);
	store(p, at(prefix, CONTENT), there, false);
}

/* ipcuckoo_pending_done() */
static void finish(struct plan *p, enum prefix prefix)
{
	wmb(p, W_DONE);
	bump(p, NO_BUMP_BEFORE);
	store(p, at(prefix, HEAD), 0, false);
	count(p, prefix, -1);
	bump(p, NO_BUMP_AFTER);
}

static void apply(struct plan *p, enum prefix prefix)
{
	bool there = p->memory[at(prefix, ACTION)] == ADD;

	if (p->mutant != UNLINK_FIRST)
		change_contents(p, prefix, there);
	finish(p, prefix);
	if (p->mutant == UNLINK_FIRST)
		change_contents(p, prefix, there);
}

/* User space changes the contents. If a packet has changed the prefix, that was after user space
 * has looked for a change to apply.
 */
static void by_user(struct plan *p, enum prefix prefix, bool there)
{
	p->writer = USER;
	change_contents(p, prefix, there);
	counts_now(p, there ? 1 : 2);
	p->writer = CHANGER;
}

static void user_adds(struct plan *p, enum prefix prefix)
{
	by_user(p, prefix, true);
}

static void user_deletes(struct plan *p, enum prefix prefix)
{
	by_user(p, prefix, false);
}

/* Its timeout passes. */
static void expires(struct plan *p, enum prefix prefix)
{
	p->writer = USER;
	store(p, at(prefix, CONTENT), 0, false);
	counts_now(p, 1);
	p->writer = CHANGER;
}

/* User space has put it into the contents long ago. */
static void stored(struct plan *p, enum prefix prefix)
{
	assert(!p->begun);
	store(p, at(prefix, CONTENT), 1, false);
	store(p, at(prefix, HAS_LEN), 1, false);
}

/* What follows runs beside the look-up. */
static void begin(struct plan *p, enum prefix prefix)
{
	(void)prefix;
	p->begun = true;
}

/* Is the prefix in the set? */
static bool is_there(const struct plan *p, enum prefix prefix)
{
	if (p->memory[CHAINS] && p->memory[at(prefix, HEAD)])
		return p->memory[at(prefix, ACTION)] == ADD;
	return p->memory[at(prefix, CONTENT)];
}

/* --- readers --------------------------------------------------------------- */

/* The loads of a prefix, by their numbers */
struct probe {
	int len, has_len, chains, head, action, content;
};

enum kind { PLAIN, NETS, ONCE, WALK };

struct lookup {
	struct plan plan;
	enum kind kind;
	bool covered;		/* throughout */
	uint32_t begin;		/* loads that come before all later ones */
	int seq, seq_end;	/* of the changes */
	int guard, guard_end;	/* that of the contents */
	int any;
	struct probe probes[NPREFIXES];
};

static bool is_both(enum kind kind)
{
	return kind == NETS || kind == WALK;
}

static int load(struct lookup *l, int loc, uint32_t after)
{
	struct machine *m = &l->plan.m;

	assert(m->nloads < MAX_LOADS);
	m->loads[m->nloads] = (struct load){
		.loc = { loc, loc }, .by_ver = -1, .elder = -1, .guards = NO_GUARDS,
		.after = after | l->begin,
	};
	return m->nloads++;
}

static int acquire(struct lookup *l, int loc, uint32_t after, enum barrier b)
{
	int i = load(l, loc, after);

	if (has(&l->plan, b))
		l->begin |= BIT(i);
	return i;
}

/* The program makes load @i only if load @on sees this. */
static void only_if(struct lookup *l, int i, int on, uint8_t mask, uint8_t want)
{
	struct guard *g = l->plan.m.loads[i].guards;

	while (g->load >= 0)
		g++;
	assert(g < l->plan.m.loads[i].guards + MAX_GUARDS);
	*g = (struct guard){ on, mask, want };
}

static void load_lens(struct lookup *l, enum prefix prefix)
{
	struct probe *pr = &l->probes[prefix];
	bool reversed = l->plan.mutant == LENS_FIRST;

	if (reversed)
		pr->has_len = load(l, at(prefix, HAS_LEN), 0);
	pr->len = acquire(l, at(prefix, LEN), 0, R_LEN);
	if (!reversed)
		pr->has_len = load(l, at(prefix, HAS_LEN), 0);
}

/* What a pointer leads to is loaded behind it: the address depends on it. */
static void load_probe(struct lookup *l, enum prefix prefix)
{
	struct probe *pr = &l->probes[prefix];
	enum mutant mutant = l->plan.mutant;

	if (l->kind == WALK)
		load_lens(l, prefix);
	if (mutant == CONTENTS_FIRST)
		pr->content = load(l, at(prefix, CONTENT), 0);
	pr->chains = acquire(l, CHAINS, 0, R_CHAINS);
	pr->head = load(l, at(prefix, HEAD), BIT(pr->chains));
	only_if(l, pr->head, pr->chains, 1, 1);
	pr->action = load(l, at(prefix, ACTION), BIT(pr->head));
	only_if(l, pr->action, pr->head, 1, 1);
	if (mutant == CONTENTS_FIRST)
		return;
	pr->content = load(l, at(prefix, CONTENT),
			   has(&l->plan, R_FIND) ? BIT(pr->chains) | BIT(pr->head) : 0);
	only_if(l, pr->content, pr->head, 1, 0);
}

static int load_end(struct lookup *l, int loc, int elder, uint32_t after)
{
	int i = load(l, loc, after);

	l->plan.m.loads[i].elder = elder;
	return i;
}

/* ipcuckoo_entries_decide(), with a sequence and barriers of its own */
static void load_contents(struct lookup *l)
{
	enum prefix prefix;

	if (l->kind == NETS) {
		l->guard = load(l, GUARD, 0);
		l->begin |= BIT(l->guard);
	}
	for (prefix = LONG; prefix <= (l->kind == NETS ? SHORT : LONG); prefix++)
		l->probes[prefix].content = load(l, at(prefix, CONTENT), 0);
	if (l->kind == NETS)
		l->guard_end = load_end(l, GUARD, l->guard, BIT(l->plan.m.nloads) - 1);
}

static void load_all(struct lookup *l)
{
	uint32_t before;

	switch (l->kind) {
	case PLAIN:
	case NETS:
		l->seq = acquire(l, SEQ, 0, R_NONE);
		l->any = acquire(l, COUNT, 0, R_ANY);
		load_contents(l);
		break;
	case ONCE:
		l->seq = acquire(l, SEQ, 0, R_ONCE);
		load_probe(l, LONG);
		break;
	case WALK:
		l->seq = acquire(l, SEQ, 0, R_BEGIN);
		l->guard = acquire(l, GUARD, 0, R_GUARD);
		load_probe(l, LONG);
		load_probe(l, SHORT);
	}
	/* No barrier is between the two. */
	before = has(&l->plan, R_SAME) ? BIT(l->plan.m.nloads) - 1 : 0;
	if (l->kind == WALK)
		l->guard_end = load_end(l, GUARD, l->guard, before);
	l->seq_end = load_end(l, SEQ, l->seq, before);
}

enum { NO, YES, BROKEN };

static int probe_answer(const struct probe *pr, const uint8_t *seen)
{
	if (!seen[pr->chains] || !seen[pr->head])
		return seen[pr->content];
	if (seen[pr->head] == GARBAGE || seen[pr->action] == GARBAGE)
		return BROKEN;
	return seen[pr->action] == ADD ? YES : NO;
}

static int walk_answer(const struct lookup *l, const uint8_t *seen)
{
	const struct probe *pr;
	int hit = NO;

	for (pr = l->probes; pr < l->probes + NPREFIXES && hit == NO; pr++)
		if (seen[pr->len] || seen[pr->has_len])
			hit = probe_answer(pr, seen);
	return hit;
}

static int answer_of(const struct lookup *l, const uint8_t *seen)
{
	switch (l->kind) {
	case PLAIN:
		return seen[l->probes[LONG].content];
	case NETS:
		return seen[l->probes[LONG].content] || seen[l->probes[SHORT].content];
	case ONCE:
		return probe_answer(&l->probes[LONG], seen);
	case WALK:
		break;
	}
	return walk_answer(l, seen);
}

/* Does the look-up take its answer? */
static bool is_valid(const struct lookup *l, const uint8_t *seen, int answer)
{
	bool is_plain = l->kind == PLAIN || l->kind == NETS;
	enum mutant mutant = l->plan.mutant;

	if (is_both(l->kind) && seen[l->guard] != seen[l->guard_end] &&
	    (l->kind == NETS || mutant != GUARD_UNCHECKED))
		return false;
	/* What find_once() finds was there. */
	if (l->kind == ONCE && answer == YES)
		return true;
	if (is_plain && seen[l->any] && mutant != COUNT_UNCHECKED)
		return false;
	if (seen[l->seq] & 1 && mutant != ODD)
		return false;
	return seen[l->seq] == seen[l->seq_end] || mutant == UNCHECKED;
}

static enum verdict judge(const void *ctx, uint32_t done, const uint8_t *seen)
{
	const struct lookup *l = ctx;
	int answer;

	if (done != BIT(l->plan.m.nloads) - 1)
		return UNDECIDED;
	answer = answer_of(l, seen);
	if (answer == BROKEN)
		return WRONG;
	if (!is_valid(l, seen, answer))
		return RETRY;
	return answer == (l->covered ? YES : NO) ? RIGHT : WRONG;
}

/* --- scenarios ------------------------------------------------------------- */

static const struct scenario {
	const char *name;
	enum kind kind;
	struct {
		void (*do_op)(struct plan *p, enum prefix prefix);
		enum prefix prefix;
	} ops[8];
} scenarios[] = {
	{ "plain: an addition is applied", PLAIN, {
		{ add, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "plain: a deletion is applied", PLAIN, {
		{ stored, LONG }, { delete, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "plain: the first change of a set, applied", PLAIN, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { apply, LONG } } },
	{ "plain: added twice", PLAIN, {
		{ add, LONG }, { begin, LONG }, { apply, LONG }, { add, LONG }, { apply, LONG } } },
	{ "plain: another one is added and applied", PLAIN, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { apply, SHORT } } },
	{ "plain: added, and user space deletes it from the contents", PLAIN, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { user_deletes, LONG } } },
	{ "plain: added before the old timeout passes, applied", PLAIN, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { expires, LONG },
		{ apply, LONG } } },
	{ "nets: a long prefix is added, user space deletes a short one", NETS, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG }, { user_deletes, SHORT } } },
	{ "nets: both are applied", NETS, {
		{ add, LONG }, { stored, SHORT }, { delete, SHORT }, { begin, LONG },
		{ apply, LONG }, { apply, SHORT } } },
	{ "nets: user space replaces a short prefix by a long one", NETS, {
		{ stored, SHORT }, { begin, LONG }, { user_adds, LONG }, { user_deletes, SHORT } } },
	{ "once: an addition is applied", ONCE, {
		{ add, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "once: a deletion is applied", ONCE, {
		{ stored, LONG }, { delete, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "once: the first change of a set, applied", ONCE, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { apply, LONG } } },
	{ "once: added twice", ONCE, {
		{ add, LONG }, { begin, LONG }, { apply, LONG }, { add, LONG }, { apply, LONG } } },
	{ "once: another one is added and applied", ONCE, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { apply, SHORT } } },
	{ "once: added, and user space deletes it from the contents", ONCE, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { user_deletes, LONG } } },
	{ "once: added before the old timeout passes, applied", ONCE, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { expires, LONG },
		{ apply, LONG } } },
	{ "walk: an addition is applied", WALK, {
		{ add, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "walk: a deletion is applied", WALK, {
		{ stored, LONG }, { delete, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "walk: the first change of a set", WALK, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG } } },
	{ "walk: a long prefix replaces a short one", WALK, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG }, { delete, SHORT } } },
	{ "walk: a short prefix replaces a long one", WALK, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { delete, LONG } } },
	{ "walk: both are applied", WALK, {
		{ add, LONG }, { stored, SHORT }, { delete, SHORT }, { begin, LONG },
		{ apply, LONG }, { apply, SHORT } } },
	{ "walk: a long prefix is added, user space deletes a short one", WALK, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG }, { user_deletes, SHORT } } },
	{ "walk: a short prefix is added, user space deletes a long one", WALK, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { user_deletes, LONG } } },
	{ "walk: user space adds a long prefix, a packet deletes a short one", WALK, {
		{ stored, SHORT }, { begin, LONG }, { user_adds, LONG }, { delete, SHORT } } },
	{ "walk: user space replaces a short prefix by a long one", WALK, {
		{ stored, SHORT }, { begin, LONG }, { user_adds, LONG }, { user_deletes, SHORT } } },
	{ "walk: user space replaces a long prefix by a short one", WALK, {
		{ stored, LONG }, { begin, LONG }, { user_adds, SHORT }, { user_deletes, LONG } } },
};

static bool covered(const struct plan *p, enum kind kind)
{
	return is_there(p, LONG) || (is_both(kind) && is_there(p, SHORT));
}

static struct tally run(const struct scenario *sc, uint32_t removed, enum mutant mutant,
			struct lookup *l)
{
	struct plan *p = &l->plan;
	enum prefix prefix;
	int i;

	*l = (struct lookup){ .kind = sc->kind, .plan = { .removed = removed, .mutant = mutant } };
	for (prefix = LONG; prefix < NPREFIXES; prefix++) {
		store(p, at(prefix, HEAD), GARBAGE, false);
		store(p, at(prefix, ACTION), GARBAGE, false);
	}
	for (i = 0; i < ARRAY_SIZE(sc->ops) && sc->ops[i].do_op; i++) {
		sc->ops[i].do_op(p, sc->ops[i].prefix);
		if (sc->ops[i].do_op == begin)
			l->covered = covered(p, sc->kind);
		assert(!p->begun || covered(p, sc->kind) == l->covered);
	}
	assert(p->m.nstores);
	load_all(l);
	p->m.judge = judge;
	p->m.ctx = l;
	return machine_run(&p->m);
}

static void print_loc(int loc)
{
	static const char *const words[] = {
		"seq", "count", "chains", "seq of the contents",
	};
	static const char *const fields[] = {
		"pending length", "pending change", "its action", "length in the contents",
		"entry in the contents",
	};

	if (loc < FIRST)
		printf("%s", words[loc]);
	else
		printf("%s: %s", (loc - FIRST) / NFIELDS == LONG ? "long" : "short",
		       fields[(loc - FIRST) % NFIELDS]);
}

static void print_witness(const struct lookup *l)
{
	struct event trace[MAX_STORES + MAX_LOADS];
	const struct machine *m = &l->plan.m;
	int i, n = machine_witness(m, trace);

	printf("# the address is %s throughout, the answer is the contrary:\n",
	       l->covered ? "covered" : "not covered");
	for (i = 0; i < n; i++) {
		const struct event *e = &trace[i];

		printf("#   %s: ", e->store ? "writer" : "reader");
		print_loc(e->store ? m->stores[e->index].loc : e->loc);
		printf(" %s %d\n", e->store ? "=" : "is",
		       e->store ? m->stores[e->index].val : machine_memory(m, e->visible, e->loc));
	}
}

static void test_scenario(const struct scenario *sc)
{
	static struct lookup l;
	struct tally t = run(sc, 0, NO_MUTANT, &l);

	expect(!t.wrong, "all answers are right");
	expect(t.answered, "the look-up can answer");
	ktap_case("%s - %" PRIu64 " executions, %" PRIu64 " answered, %" PRIu64 " wrong", sc->name,
		  t.runs, t.answered, t.wrong);
	if (t.wrong)
		print_witness(&l);
}

#define IN(kind)	BIT(kind)
#define ANY_KIND	(IN(PLAIN) | IN(NETS) | IN(ONCE) | IN(WALK))

static const struct change {
	const char *name;
	uint32_t kinds;
	uint32_t removed;
	enum mutant mutant;
	bool needed;
} changes[] = {
	{ "removing R:none", ANY_KIND, BIT(R_NONE), 0, true },
	/* If the contents are read before the number of changes, the sequence has changed, too. */
	{ "removing R:any", ANY_KIND, BIT(R_ANY), 0, false },
	{ "removing R:find", ANY_KIND, BIT(R_FIND), 0, true },
	{ "removing R:once", ANY_KIND, BIT(R_ONCE), 0, true },
	{ "removing R:begin", ANY_KIND, BIT(R_BEGIN), 0, true },
	{ "removing R:guard", ANY_KIND, BIT(R_GUARD), 0, true },
	{ "removing R:same, plain", IN(PLAIN), BIT(R_SAME), 0, true },
	{ "removing R:same, nets", IN(NETS), BIT(R_SAME), 0, true },
	{ "removing R:same, once", IN(ONCE), BIT(R_SAME), 0, true },
	{ "removing R:same, walk", IN(WALK), BIT(R_SAME), 0, true },
	{ "removing W:chains", ANY_KIND, BIT(W_CHAINS), 0, true },
	/* A change is initialised before the bump, which has barriers. */
	{ "removing W:node", ANY_KIND, BIT(W_NODE), 0, false },
	{ "removing W:node, W:before and W:after", ANY_KIND,
	  BIT(W_NODE) | BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	/* The same barriers are between the contents and the removal of a change. */
	{ "removing W:done", ANY_KIND, BIT(W_DONE), 0, false },
	{ "removing W:done, W:before and W:after", ANY_KIND,
	  BIT(W_DONE) | BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	{ "removing W:before", ANY_KIND, BIT(W_BEFORE), 0, true },
	/* The release in W:node is behind the first bump. Behind the second one nothing follows. */
	{ "removing W:after", ANY_KIND, BIT(W_AFTER), 0, false },
	{ "removing W:after and W:node", ANY_KIND, BIT(W_AFTER) | BIT(W_NODE), 0, true },
	{ "removing W:before and W:after", ANY_KIND, BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	{ "the sequence is bumped only after a change", ANY_KIND, 0, NO_BUMP_BEFORE, true },
	/* It is odd until the next change: look-ups are right, but all of them take the locks. */
	{ "the sequence is bumped only before a change", ANY_KIND, 0, NO_BUMP_AFTER, false },
	{ "the sequence is not bumped", ANY_KIND, 0, NO_BUMP, true },
	{ "an odd sequence counts, plain", IN(PLAIN), 0, ODD, true },
	{ "an odd sequence counts, nets", IN(NETS), 0, ODD, true },
	{ "an odd sequence counts, once", IN(ONCE), 0, ODD, true },
	{ "an odd sequence counts, walk", IN(WALK), 0, ODD, true },
	{ "a look-up is not checked, plain", IN(PLAIN), 0, UNCHECKED, true },
	{ "a look-up is not checked, nets", IN(NETS), 0, UNCHECKED, true },
	{ "a look-up is not checked, once", IN(ONCE), 0, UNCHECKED, true },
	{ "a look-up is not checked, walk", IN(WALK), 0, UNCHECKED, true },
	{ "the sequence of the contents is not checked", ANY_KIND, 0, GUARD_UNCHECKED, true },
	{ "it is not asked whether there are changes, plain", IN(PLAIN), 0, COUNT_UNCHECKED, true },
	{ "it is not asked whether there are changes, nets", IN(NETS), 0, COUNT_UNCHECKED, true },
	/* The loads behind the pointer depend on it. */
	{ "removing R:chains", ANY_KIND, BIT(R_CHAINS), 0, false },
	/* A walk that misses a prefix between the changes and the contents has been disturbed. */
	{ "removing R:len", ANY_KIND, BIT(R_LEN), 0, false },
	{ "lengths: the contents are asked first", ANY_KIND, 0, LENS_FIRST, false },
	{ "a change is removed before it is applied", ANY_KIND, 0, UNLINK_FIRST, true },
	{ "the contents are asked first", ANY_KIND, 0, CONTENTS_FIRST, true },
};

/* Remove a barrier or break a rule, and check whether that can give a wrong answer. */
static void test_change(const struct change *c)
{
	static struct lookup l;
	uint64_t runs = 0;
	struct tally t;
	int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		if (!(c->kinds & IN(scenarios[i].kind)))
			continue;
		t = run(&scenarios[i], c->removed, c->mutant, &l);
		runs = add_saturated(runs, t.runs);
		if (t.wrong)
			break;
	}
	if (i == ARRAY_SIZE(scenarios)) {
		expect(!c->needed, "the change is expected to give a wrong answer");
		ktap_case("%s: not needed - %" PRIu64 " executions", c->name, runs);
		return;
	}
	expect(c->needed, "the change is expected to give no wrong answer");
	ktap_case("%s: found a wrong answer in scenario \"%s\"", c->name, scenarios[i].name);
	print_witness(&l);
}

int main(void)
{
	int i;

	ktap_begin("weakmem_pending");
	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		test_scenario(&scenarios[i]);
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		test_change(&changes[i]);
	return ktap_end();
}
