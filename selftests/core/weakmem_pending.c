// SPDX-License-Identifier: GPL-2.0
/*
 * Every execution of the changes that packets make, on a weakly ordered machine
 *
 * kmod/ipset/pending.h describes the protocol: a change counts from the moment it is put; whoever
 * applies it changes the contents first, and removes the change afterwards. This enumerates all
 * executions of a look-up beside short sequences of these operations (weakmem.h has the machine),
 * during which the right answer stays the same, and shows that
 *
 * - the answer is never wrong (test_scenario());
 * - it is if a barrier is removed or a rule is broken, and how: the execution is printed
 *   (test_change()). Barriers that another one stands in for are in the same list, and are shown
 *   not to be needed, unless both are removed.
 *
 * What is modelled: the two kinds of look-up in kmod/ipset/match.c, for two prefixes, of which one
 * is longer. "exact" is a host in hash:ip: ipcuckoo_pending_any(), then ipcuckoo_pending_find() or
 * the contents alone. "walk" is hash:net: walk(), whose answer counts only if ipcuckoo_pending.seq
 * is the same at the end; the next attempt is a look-up that begins later.
 *
 * Writers are one processor. That they take a lock would only order more.
 * An entry of the contents is one word, because weakmem.c is about these; so the sequence of the
 * contents is not modelled.
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
	R_ANY,			/* smp_load_acquire(count) in ipcuckoo_pending_any() */
	R_FIND,			/* smp_rmb() in ipcuckoo_pending_find() */
	R_LEN,			/* smp_load_acquire(lens) in ipcuckoo_pending_has_len() */
	R_CHAINS,		/* smp_load_acquire(chains) in ipcuckoo_pending_find() */
	R_BEGIN,		/* smp_load_acquire(seq) in begin() */
	R_END,			/* smp_rmb() in undisturbed() */
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
	SEQ_UNCHECKED,		/* a walk counts whatever happens meanwhile */
	NO_BUMP_BEFORE,		/* the sequence is not bumped before a change, but after it */
	NO_BUMP_AFTER,		/* the reverse */
	NO_BUMP,		/* neither */
};

/* Locations. The last ones are those of each prefix. */
enum { SEQ, COUNT, CHAINS, FIRST };
enum { LEN, HEAD, ACTION, HAS_LEN, CONTENT, NFIELDS };
enum prefix { LONG, SHORT, NPREFIXES };

/* What is behind a pointer before it is initialised */
enum { GARBAGE = 9, ADD = 1, DELETE = 2 };

static int at(enum prefix p, int field)
{
	return FIRST + p * NFIELDS + field;
}

/* --- writers --------------------------------------------------------------- */

struct plan {
	uint32_t removed;	/* barriers that are removed */
	enum mutant mutant;
	bool begun;
	uint8_t memory[MAX_LOCS];	/* as writers see it */
	uint32_t fence;		/* stores that become visible before all later ones */
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
	m->stores[i] = (struct store){ loc, val, release ? BIT(i) - 1 : p->fence };
	while (i--)
		if (m->stores[i].loc == loc)
			m->stores[m->nstores].after |= BIT(i);
	m->nstores++;
}

static void wmb(struct plan *p, enum barrier b)
{
	if (has(p, b))
		p->fence = BIT(p->m.nstores) - 1;
}

static void bump(struct plan *p, enum mutant without)
{
	if (p->mutant == without || p->mutant == NO_BUMP)
		return;
	wmb(p, W_BEFORE);
	store(p, SEQ, p->memory[SEQ] + 1, false);
	wmb(p, W_AFTER);
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

static void change_contents(struct plan *p, enum prefix prefix)
{
	bool there = p->memory[at(prefix, ACTION)] == ADD;

	store(p, at(prefix, CONTENT), there, false);
	store(p, at(prefix, HAS_LEN), there, false);
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
	if (p->mutant != UNLINK_FIRST)
		change_contents(p, prefix);
	finish(p, prefix);
	if (p->mutant == UNLINK_FIRST)
		change_contents(p, prefix);
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

struct lookup {
	struct plan plan;
	bool walk;
	bool covered;		/* throughout */
	uint32_t begin;		/* loads that come before all later ones */
	int any, contents, seq, check;
	struct probe probes[NPREFIXES];
};

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

	if (l->walk)
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

static void load_all(struct lookup *l)
{
	struct machine *m = &l->plan.m;
	enum prefix prefix;

	if (!l->walk) {
		l->any = acquire(l, COUNT, 0, R_ANY);
		l->contents = load(l, at(LONG, CONTENT), 0);
		load_probe(l, LONG);
		return;
	}
	l->seq = acquire(l, SEQ, 0, R_BEGIN);
	for (prefix = LONG; prefix < NPREFIXES; prefix++)
		load_probe(l, prefix);
	l->check = load(l, SEQ, has(&l->plan, R_END) ? BIT(m->nloads) - 1 : 0);
	m->loads[l->check].elder = l->seq;
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

static enum verdict judge(const void *ctx, uint32_t done, const uint8_t *seen)
{
	const struct lookup *l = ctx;
	int answer;

	if (done != BIT(l->plan.m.nloads) - 1)
		return UNDECIDED;
	if (l->walk)
		answer = walk_answer(l, seen);
	else
		answer = seen[l->any] ? probe_answer(&l->probes[LONG], seen) : seen[l->contents];
	if (answer == BROKEN)
		return WRONG;
	if (l->walk && l->plan.mutant != SEQ_UNCHECKED && seen[l->seq] != seen[l->check])
		return RETRY;
	return answer == (l->covered ? YES : NO) ? RIGHT : WRONG;
}

/* --- scenarios ------------------------------------------------------------- */

static const struct scenario {
	const char *name;
	bool walk;
	struct {
		void (*do_op)(struct plan *p, enum prefix prefix);
		enum prefix prefix;
	} ops[8];
} scenarios[] = {
	{ "exact: an addition is applied", false, {
		{ add, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "exact: a deletion is applied", false, {
		{ stored, LONG }, { delete, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "exact: the first change of a set, applied", false, {
		{ stored, LONG }, { begin, LONG }, { add, LONG }, { apply, LONG } } },
	{ "exact: added twice", false, {
		{ add, LONG }, { begin, LONG }, { apply, LONG }, { add, LONG }, { apply, LONG } } },
	{ "exact: another one is added and applied", false, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { apply, SHORT } } },
	{ "walk: an addition is applied", true, {
		{ add, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "walk: a deletion is applied", true, {
		{ stored, LONG }, { delete, LONG }, { begin, LONG }, { apply, LONG } } },
	{ "walk: the first change of a set", true, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG } } },
	{ "walk: a long prefix replaces a short one", true, {
		{ stored, SHORT }, { begin, LONG }, { add, LONG }, { delete, SHORT } } },
	{ "walk: a short prefix replaces a long one", true, {
		{ stored, LONG }, { begin, LONG }, { add, SHORT }, { delete, LONG } } },
	{ "walk: both are applied", true, {
		{ add, LONG }, { stored, SHORT }, { delete, SHORT }, { begin, LONG },
		{ apply, LONG }, { apply, SHORT } } },
};

static bool covered(const struct plan *p, bool walk)
{
	return is_there(p, LONG) || (walk && is_there(p, SHORT));
}

static struct tally run(const struct scenario *sc, uint32_t removed, enum mutant mutant,
			struct lookup *l)
{
	struct plan *p = &l->plan;
	enum prefix prefix;
	int i;

	*l = (struct lookup){ .walk = sc->walk, .plan = { .removed = removed, .mutant = mutant } };
	for (prefix = LONG; prefix < NPREFIXES; prefix++) {
		store(p, at(prefix, HEAD), GARBAGE, false);
		store(p, at(prefix, ACTION), GARBAGE, false);
	}
	for (i = 0; i < ARRAY_SIZE(sc->ops) && sc->ops[i].do_op; i++) {
		sc->ops[i].do_op(p, sc->ops[i].prefix);
		if (sc->ops[i].do_op == begin)
			l->covered = covered(p, sc->walk);
		assert(!p->begun || covered(p, sc->walk) == l->covered);
	}
	assert(p->m.nstores);
	load_all(l);
	p->m.judge = judge;
	p->m.ctx = l;
	return machine_run(&p->m);
}

static void print_loc(int loc)
{
	static const char *const words[] = { "seq", "count", "chains" };
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

static const struct change {
	const char *name;
	uint32_t removed;
	enum mutant mutant;
	bool needed;
} changes[] = {
	{ "removing R:any", BIT(R_ANY), 0, true },
	{ "removing R:find", BIT(R_FIND), 0, true },
	{ "removing R:begin", BIT(R_BEGIN), 0, true },
	{ "removing R:end", BIT(R_END), 0, true },
	{ "removing W:chains", BIT(W_CHAINS), 0, true },
	/* A change is initialised before the bump, which has barriers. */
	{ "removing W:node", BIT(W_NODE), 0, false },
	{ "removing W:node, W:before and W:after",
	  BIT(W_NODE) | BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	/* The same barriers are between the contents and the removal of a change. */
	{ "removing W:done", BIT(W_DONE), 0, false },
	{ "removing W:done, W:before and W:after",
	  BIT(W_DONE) | BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	/* A wrong answer of a walk takes two changes, with two bumps between them. */
	{ "removing W:before", BIT(W_BEFORE), 0, false },
	{ "removing W:after", BIT(W_AFTER), 0, false },
	{ "removing W:before and W:after", BIT(W_BEFORE) | BIT(W_AFTER), 0, true },
	{ "the sequence is bumped only after a change", 0, NO_BUMP_BEFORE, false },
	{ "the sequence is bumped only before a change", 0, NO_BUMP_AFTER, false },
	{ "the sequence is not bumped", 0, NO_BUMP, true },
	/* The loads behind the pointer depend on it. */
	{ "removing R:chains", BIT(R_CHAINS), 0, false },
	/* A walk that misses a prefix between the changes and the contents has been disturbed. */
	{ "removing R:len", BIT(R_LEN), 0, false },
	{ "lengths: the contents are asked first", 0, LENS_FIRST, false },
	{ "a change is removed before it is applied", 0, UNLINK_FIRST, true },
	{ "the contents are asked first", 0, CONTENTS_FIRST, true },
	{ "a walk is not checked", 0, SEQ_UNCHECKED, true },
};

/* Remove a barrier or break a rule, and check whether that can give a wrong answer. */
static void test_change(const struct change *c)
{
	static struct lookup l;
	uint64_t runs = 0;
	struct tally t;
	int i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
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
