// SPDX-License-Identifier: GPL-2.0
/*
 * Every execution of the reader/writer protocol on a weakly ordered machine
 *
 * kmod/table.c describes the protocol and its barriers. For short sequences of
 * writer operations, this program enumerates all executions of a look-up beside
 * them (weakmem.h has the machine) and shows that
 *
 * - the protocol never answers wrongly (test_scenario(), test_random());
 * - it does if a barrier is removed or a rule is broken, and how: the execution
 *   is printed (test_change()). So each barrier and each rule is needed. Those
 *   that are not are in the same list, and are shown not to be needed.
 *
 * Which answers are wrong
 * -----------------------
 *
 * An operation of the writer changes the content of the set once. Take the
 * longest runs of operations during which a key stays covered (by itself or by
 * a prefix), or stays uncovered. A look-up that overlaps only with such a run
 * has only one right answer. All these runs are enumerated, for all keys: the
 * stores before a run are visible to everybody, those after it have not begun.
 * A look-up during which the true answer changes may give either answer.
 *
 * What is modelled
 * ----------------
 *
 * Reader: the barriers R_*. Branches order nothing: what a hint or a remainder
 * leads to may be read before them. For the keys behind a remainder that is
 * more than the code as written allows, which derives their address from the
 * bucket word; but a compiler may turn that into branches. A look-up that finds
 * the sequence changed gives no answer here. Its next attempt is a look-up that
 * begins later, and is enumerated as such; the last attempt holds the lock that
 * every bump needs, so nothing is deleted or moved beside it.
 *
 * Writer: one processor that never drops its lock, as in a batch. Dropping the
 * lock, and taking it on this or another processor, would only order more.
 *
 * A bucket has two slots here. It is read as one word, and once more ("in two
 * words") as one word a slot, as the halves of a word on a 32-bit machine are.
 *
 * Rests have two bits here. A unit is read and stored as one word and has the
 * rests of two buckets: an entry has neighbours in it, and may move within it.
 *
 * Sets with exceptions have had them from the beginning here:
 * ipcuckoo_entries_prepare_exceptions() takes care that no version takes the mark
 * of an exception for that of a prefix. Not modelled are: exceptions so short
 * that the first level of the hint marks them as it does prefixes; ordinary
 * entries that become exceptions in place, or the reverse (one store between two
 * bumps, as in an addition); and the bump after each deletion from a table with
 * extensions, which can only help. An extension is stored beside a slot, as a
 * rest is. stress.c has modes for all of these.
 *
 * Environment variables: SCENARIOS is the number of random scenarios, SEED their
 * seed; ALL=1 prints all scenarios that a change breaks, not only the first.
 *
 * Limits
 * ------
 *
 * There is one look-up, and a handful of operations. A look-up begins when its
 * first load is satisfied: a caller that wants it to begin after something else
 * has to order that. Machines that are not multi-copy atomic (POWER) are not
 * modelled: there, what one writer stored must reach a reader before what the
 * next writer stores, which the lock's release and acquire guarantee. READ_ONCE()
 * and WRITE_ONCE() prevent reordering by compilers. The sequence never wraps.
 * Life times are not modelled; RCU takes care of them.
 */
#undef NDEBUG	/* the asserts check the scenarios */
#include <assert.h>
#include <inttypes.h>

#include "../lib/ktap.h"
#include "weakmem.h"

#define BIT(n)		(UINT32_C(1) << (n))
#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

/* --- changes: barriers to remove, rules to break --------------------------- */

/* Each bump of the sequence has a barrier before and one after. Bumps in different places are told
 * apart, to find out which of the barriers are needed.
 */
enum use {
	USE_HOP,		/* between copying an entry and clearing it */
	USE_DELETE,		/* before clearing a deleted entry */
	USE_EMPTY,		/* with keys or rests: after clearing either */
	USE_EXCEPT_BEGIN,	/* before adding an exception (nomatch) */
	USE_EXCEPT_END,		/* after it */
	NUSES,
};

/* In brackets: the name in kmod/table.c. */
enum barrier {
	R_ACQUIRE,		/* sequence, then everything (look-up:A, D) */
	R_DEPENDENCY,		/* version pointer, then what it leads to */
	R_MISS,			/* everything, then the sequence (look-up:B) */
	R_TAG_KEY,		/* buckets, then keys or rests (probe:A) */
	R_KEY_SEQ,		/* these, then the sequence (match:A) */
	W_KEY_TAG,		/* key or rest, then its slot (key:A) */
	W_SLOT_HINT,		/* slot, then the bit of the hint; not needed */
	W_PUBLISH,		/* new table, then the version pointer */
	W_BEFORE,		/* stores so far, then the sequence (bump:A) */
	W_AFTER	= W_BEFORE + NUSES, /* the sequence, then all others (bump:C) */
	NBARRIERS = W_AFTER + NUSES,
	W_MUTANT = NBARRIERS,	/* only in mutants; never removed */
};

#define BEFORE_ALL	((BIT(NUSES) - 1) << W_BEFORE)
#define AFTER_ALL	((BIT(NUSES) - 1) << W_AFTER)

enum mutant {
	NO_MUTANT,
	/* readers */
	MISS_UNCHECKED, MISS_REREADS, SEQ_PER_TABLE, VERSION_PER_TABLE,
	VERSION_FIRST, HINT_FIRST, KEY_UNCHECKED,
	HIT_UNCHECKED, ZERO_HINT_UNCHECKED,
	/* writers */
	CLEAR_FIRST, HOP_BUMP_FIRST, HOP_BUMP_LAST, HOP_BUMP_ONCE,
	DELETE_NO_BUMP, DELETE_BUMP_LAST, HINT_CLEARED_FIRST,
	EMPTY_NO_BUMP, VACATE_NO_BUMP, KEY_UNDER_TAG, REST_ALONE,
	EXCEPT_NO_BEGIN, EXCEPT_NO_END,
};

/* --- the set ------------------------------------------------------------- */

/* Entries. Hosts first, then prefixes from the longest to the shortest. All
 * prefixes contain all hosts.
 */
enum item {
	NONE, A, B, C, D, N, Y, Z, HOSTS,
	P28 = HOSTS, X26, P24, X24, P20, P12, NITEMS,
};

enum table { HOST, NET, NTABLES, HINTS = NTABLES };

enum {
	HINT_HOST = 1, HINT_28 = 2, HINT_26 = 4, HINT_24 = 8, HINT_20 = 16,
	HINT_COVER = 32,	/* a prefix so short that the hint has the whole answer */
};

static const struct item_info {
	const char *name;
	enum table table;
	uint8_t hint;
	uint8_t bucket[2];
	uint8_t tag;		/* remainder, with keys or rests; without, all differ */
	char key[2];
	uint8_t rest;
	bool except;
} items[NITEMS] = {
	[NONE]	= { "-",   HOST, 0,	     { 0, 0 }, 0, { '-', '-' }, 0, false },
	[A]	= { "A",   HOST, HINT_HOST,  { 0, 1 }, 1, { 'a', 'a' }, 1, false },
	[B]	= { "B",   HOST, HINT_HOST,  { 0, 1 }, 1, { 'b', 'b' }, 2, false },
	[C]	= { "C",   HOST, HINT_HOST,  { 1, 2 }, 2, { 'c', 'c' }, 1, false },
	[D]	= { "D",   HOST, HINT_HOST,  { 2, 3 }, 3, { 'd', 'd' }, 2, false },
	[N]	= { "N",   HOST, HINT_HOST,  { 0, 3 }, 4, { 'n', 'n' }, 3, false },
	/* Never added: with keys, half of A and half of B; with rests, that of
	 * N, and that of an empty slot.
	 */
	[Y]	= { "Y",   HOST, HINT_HOST,  { 0, 1 }, 1, { 'a', 'b' }, 3, false },
	[Z]	= { "Z",   HOST, HINT_HOST,  { 0, 1 }, 1, { 'b', 'a' }, 0, false },
	[P28]	= { "P28", NET,  HINT_28,    { 0, 1 }, 1, { 'p', 'p' }, 1, false },
	[X26]	= { "X26", NET,  HINT_26,    { 0, 1 }, 2, { 'x', 'x' }, 2, true },
	[P24]	= { "P24", NET,  HINT_24,    { 2, 3 }, 3, { 'q', 'q' }, 2, false },
	[X24]	= { "X24", NET,  HINT_24,    { 2, 3 }, 4, { 'y', 'y' }, 1, true },
	[P20]	= { "P20", NET,  HINT_20,    { 4, 5 }, 5, { 'r', 'r' }, 3, false },
	[P12]	= { "P12", NET,  HINT_COVER, { 0, 0 }, 6, { 's', 's' }, 0, false },
};

/* Locations: the sequence, the version, the hint in both versions; then the
 * slots of both tables in both versions; then two halves of a key for each slot;
 * then the units of rests.
 */
enum {
	NBUCKETS = 6, LANES = 2, NSLOTS = NBUCKETS * LANES,
	REST_BITS = 2, REST_MASK = 3, UNIT = 8 / REST_BITS,
	ALL_SLOTS = NTABLES * 2 * NSLOTS,
	SEQ = 0, VER, HINT, SLOT0 = HINT + 2, KEY0 = SLOT0 + ALL_SLOTS,
	REST0 = KEY0 + ALL_SLOTS * 2, NLOCS = REST0 + ALL_SLOTS / UNIT,
};

_Static_assert((int)NLOCS <= (int)MAX_LOCS, "locations");
_Static_assert(SLOT0 % LANES == 0 && KEY0 % LANES == 0, "a bucket is one word");
_Static_assert(NSLOTS % UNIT == 0, "no unit is of two tables");
_Static_assert(NBARRIERS < 32, "a mask of barriers");

#define AT(bucket, lane)	((bucket) * LANES + (lane))

static int slot_loc(enum table table, int ver, int slot)
{
	return SLOT0 + (table * 2 + ver) * NSLOTS + slot;
}

static int key_loc(int slot_loc, int half)
{
	return KEY0 + (slot_loc - SLOT0) * 2 + half;
}

static int unit_loc(int slot_loc)
{
	return REST0 + (slot_loc - SLOT0) / UNIT;
}

/* The position of the rest of a slot in its unit. */
static int rest_shift(int slot_loc)
{
	return (slot_loc - SLOT0) % UNIT * REST_BITS;
}

/* --- the writer ---------------------------------------------------------- */

enum { KEYED = 1, HINTED = 2, EXCEPTS = 4, RESTS = 8 };	/* of a set */

enum { MAX_OPS = 12 };

/* The writer's stores, and the barriers between them. */
struct plan {
	int flags;
	uint32_t removed;	/* barriers that are removed */
	enum mutant mutant;
	bool wide;		/* a bucket has more than one word */

	uint8_t initial[NLOCS];
	uint8_t memory[NLOCS];	/* as the writer sees it */
	bool begun;
	uint32_t renewed;	/* tables, and the hint, that version 1 does not
				 * share with version 0
				 */
	bool draft;		/* version 1 is being built, and is not visible yet */
	uint32_t drafted;	/* entries of version 1 */
	int hops;		/* displacements so far on the current path */

	int nstores;
	struct {
		uint8_t loc, val, op;
		bool release;
	} stores[MAX_STORES];
	uint32_t fences;	/* bit i: everything before store i is ordered
				 * before it and all that follow
				 */
	int nops;
	uint32_t present[MAX_OPS + 1];	/* entries, by operations done */
	uint32_t touched;	/* entries that were present at any time */
};

static void put(struct plan *p, int loc, int val)
{
	p->memory[loc] = val;
	if (!p->begun)
		return;
	assert(p->nstores < MAX_STORES);
	p->stores[p->nstores].loc = loc;
	p->stores[p->nstores].val = val;
	p->stores[p->nstores++].op = p->nops;
}

static void barrier(struct plan *p, enum barrier b)
{
	if (!(p->removed & BIT(b)) && p->nstores < MAX_STORES)
		p->fences |= BIT(p->nstores);
}

static void put_release(struct plan *p, int loc, int val, enum barrier b)
{
	put(p, loc, val);
	if (p->begun)
		p->stores[p->nstores - 1].release = !(p->removed & BIT(b));
}

static void bump(struct plan *p, enum use use)
{
	barrier(p, W_BEFORE + use);
	put(p, SEQ, p->memory[SEQ] + 1);
	barrier(p, W_AFTER + use);
}

/* How many loads read what is beside a slot. */
static int parts(const struct plan *p)
{
	return p->flags & KEYED ? 2 : p->flags & RESTS ? 1 : 0;
}

/* Scenarios have at most one new version, and the writer then continues in it. */
static bool renewed(const struct plan *p, enum table table)
{
	return p->renewed & BIT(table);
}

static int current(const struct plan *p, enum table table, int slot)
{
	return slot_loc(table, renewed(p, table), slot);
}

static int find(const struct plan *p, enum item it)
{
	int slot;

	for (slot = 0; slot < NSLOTS; slot++)
		if (p->memory[current(p, items[it].table, slot)] == it)
			return slot;
	assert(!"no such entry");
	return 0;
}

/* Write what is beside the slot of an entry: its key, or its rest. The rests of others stay. */
static void put_beside(struct plan *p, enum item it, int loc)
{
	int half, unit = unit_loc(loc), shift = rest_shift(loc);
	int others = p->memory[unit] & ~(REST_MASK << shift);
	int rest = items[it].rest << shift;

	for (half = 0; p->flags & KEYED && half < 2; half++)
		put(p, key_loc(loc, half), items[it].key[half]);
	if (!(p->flags & RESTS))
		return;
	if (p->mutant == REST_ALONE)
		put(p, unit, rest);
	put(p, unit, others | rest);
}

/* Fill a slot that is free, or whose entry has been copied away. */
static void fill(struct plan *p, enum item it, int slot)
{
	int loc = current(p, items[it].table, slot);

	assert(slot / LANES == items[it].bucket[0] ||
	       slot / LANES == items[it].bucket[1]);
	put_beside(p, it, loc);
	if (parts(p))
		barrier(p, W_KEY_TAG);
	put(p, loc, it);
}

/* Is the sequence bumped before an entry is cleared? Always, except in some mutants. */
static bool bumps_first(const struct plan *p, enum use use)
{
	switch (p->mutant) {
	case HOP_BUMP_FIRST:
	case HOP_BUMP_LAST:
		return use != USE_HOP;
	case HOP_BUMP_ONCE:
		return use != USE_HOP || p->hops == 1;
	case DELETE_NO_BUMP:
	case DELETE_BUMP_LAST:
		return use != USE_DELETE;
	case VACATE_NO_BUMP:
		return !parts(p);
	default:
		return true;
	}
}

static void vacate(struct plan *p, enum item it, int slot, enum use use)
{
	if (bumps_first(p, use))
		bump(p, use);
	else
		barrier(p, W_MUTANT);
	if (p->mutant == KEY_UNDER_TAG && parts(p) && use == USE_HOP)
		return;
	put(p, current(p, items[it].table, slot), NONE);
	if (p->mutant == (use == USE_HOP ? HOP_BUMP_LAST : DELETE_BUMP_LAST))
		bump(p, use);
	if (parts(p) && p->mutant != EMPTY_NO_BUMP)
		bump(p, USE_EMPTY);
}

static void hint_set(struct plan *p, enum item it)
{
	int loc = HINT + renewed(p, HINTS);
	int bits = p->memory[loc] | items[it].hint;

	if (!(p->flags & HINTED) || bits == p->memory[loc])
		return;
	if (p->draft)
		put(p, loc, bits);
	else
		put_release(p, loc, bits, W_SLOT_HINT);
}

static void hint_clear(struct plan *p, enum item it)
{
	int loc = HINT + renewed(p, HINTS);

	if (p->flags & HINTED)
		put(p, loc, p->memory[loc] & ~items[it].hint);
}

/* The end of an operation */
static void done(struct plan *p, uint32_t present)
{
	p->touched |= present;
	if (p->begun) {
		assert(p->nops < MAX_OPS);
		p->nops++;
	}
	p->present[p->nops] = present;
}

/* The operations of the scenarios. */

static void begin(struct plan *p, enum item it, int where)
{
	(void)it, (void)where;
	memcpy(p->initial, p->memory, sizeof(p->initial));
	p->begun = true;
}

static void add(struct plan *p, enum item it, int slot)
{
	bool except = items[it].except && !p->draft;

	if (except && p->mutant != EXCEPT_NO_BEGIN)
		bump(p, USE_EXCEPT_BEGIN);
	if (!(items[it].hint & HINT_COVER))
		fill(p, it, slot);
	p->hops = 0;
	hint_set(p, it);
	if (except && p->mutant != EXCEPT_NO_END)
		bump(p, USE_EXCEPT_END);
	if (p->draft)
		p->drafted |= BIT(it);
	else
		done(p, p->present[p->nops] | BIT(it));
}

/* Displace an entry on a path; its old slot is cleared. */
static void hop(struct plan *p, enum item it, int to)
{
	int from = find(p, it);

	p->hops++;
	if (p->mutant == CLEAR_FIRST) {
		vacate(p, it, from, USE_HOP);
		barrier(p, W_MUTANT);
		fill(p, it, to);
	} else {
		if (p->mutant == HOP_BUMP_FIRST)
			bump(p, USE_HOP);
		fill(p, it, to);
		vacate(p, it, from, USE_HOP);
	}
	done(p, p->present[p->nops]);
}

/* The same, without clearing the old slot: the next store overwrites it. Not for slots with keys or
 * rests.
 */
static void copy(struct plan *p, enum item it, int to)
{
	assert(!parts(p));
	fill(p, it, to);
	bump(p, USE_HOP);
	done(p, p->present[p->nops]);
}

static void __del(struct plan *p, enum item it, bool last)
{
	bool cover = items[it].hint & HINT_COVER;

	if (last && p->mutant == HINT_CLEARED_FIRST)
		hint_clear(p, it);
	if (!cover)
		vacate(p, it, find(p, it), USE_DELETE);
	else if (bumps_first(p, USE_DELETE))
		bump(p, USE_DELETE);
	if (last && p->mutant != HINT_CLEARED_FIRST)
		hint_clear(p, it);
	if (cover && p->mutant == DELETE_BUMP_LAST)
		bump(p, USE_DELETE);
	done(p, p->present[p->nops] & ~BIT(it));
}

/* Delete an entry. The hint keeps its bit, for other entries or until the next rebuild, unless the
 * bit is the whole answer: then it is cleared.
 */
static void del(struct plan *p, enum item it, int where)
{
	(void)where;
	assert(!(items[it].hint & HINT_COVER));
	__del(p, it, false);
}

/* Delete the last entry that a bit of the hint stands for. */
static void del_last(struct plan *p, enum item it, int where)
{
	(void)where;
	__del(p, it, true);
}

static void publish(struct plan *p, enum item it, int where)
{
	(void)it, (void)where;
	put_release(p, VER, 1, W_PUBLISH);
	p->draft = false;
	done(p, p->drafted);
}

/* Begin a new version with empty tables and an empty hint. */
static void fresh(struct plan *p, enum item it, int where)
{
	(void)it, (void)where;
	p->renewed = BIT(HOST) | BIT(NET) | BIT(HINTS);
	p->draft = true;
}

/* Copy a table to a new one. */
static void copy_table(struct plan *p, enum table table)
{
	int slot, old, new;

	for (slot = 0; slot < NSLOTS; slot++) {
		old = slot_loc(table, 0, slot);
		new = slot_loc(table, 1, slot);
		if (!p->memory[old])
			continue;
		put_beside(p, p->memory[old], new);
		put(p, new, p->memory[old]);
	}
}

/* Rebuild one table, or the hint, from the entries. The new version shares all others with the old
 * one. Nothing is stored to the old table any more.
 */
static void grow(struct plan *p, enum item it, int table)
{
	p->renewed = BIT(table);
	p->drafted = p->present[p->nops];
	p->draft = true;
	if (table == HINTS)
		for (it = A; it < NITEMS; it++)
			if (p->drafted & BIT(it))
				hint_set(p, it);
	if (table != HINTS)
		copy_table(p, table);
	publish(p, NONE, 0);
}

static bool covered(enum item key, uint32_t present)
{
	enum item it;

	if (present & BIT(key))
		return true;
	for (it = HOSTS; it < NITEMS; it++)
		if (present & BIT(it))
			return !items[it].except;
	return false;
}

/* --- the reader ---------------------------------------------------------- */

/* A value that the program uses, for each version: a load, or a constant if nothing stores to the
 * location.
 */
struct operand {
	int8_t load[2];		/* -1: known */
	uint8_t known[2];
};

static const struct operand nothing = { .load = { -1, -1 } };

/* A load is done only if another one saw (value & mask) == want. */
struct cond {
	const struct operand *op;
	uint8_t mask, want;
};

enum { MAX_CONDS = MAX_GUARDS - 1 };	/* one is for the version */

struct probe {
	enum item it;
	struct operand ver;
	struct operand slot[2][LANES];		/* lane 0 has both unless wide */
	struct operand beside[2][LANES][2];	/* parts of key, or rest */
	struct operand seq, check;		/* SEQ_PER_TABLE */
	struct operand again;			/* MISS_REREADS */
};

/* One look-up beside operations [first, last) of a plan. */
struct lookup {
	struct machine m;
	const struct plan *p;
	enum item key;
	bool covered;
	uint32_t dirty[(NLOCS + 31) / 32];	/* locations that are stored to */
	uint32_t begin;		/* loads that come before all later ones */
	bool check_misses;
	bool check_hits;
	struct operand seq, ver, hint;
	struct operand miss_check, hit_check;	/* the sequence, loaded again */
	struct operand early_ver, early_hint;	/* loaded before the sequence: mutants */
	int nprobes;
	struct probe probes[NITEMS];
};

static bool missing(const struct lookup *l, enum barrier b)
{
	return l->p->removed & BIT(b);
}

static bool dirty(const struct lookup *l, int loc, int width)
{
	for (; width; width--, loc++)
		if (l->dirty[loc / 32] & BIT(loc % 32))
			return true;
	return false;
}

static int add_load(struct lookup *l, struct load ld)
{
	ld.after |= l->begin;
	assert(l->m.nloads < MAX_LOADS);
	assert(ld.after < BIT(l->m.nloads));
	l->m.loads[l->m.nloads] = ld;
	return l->m.nloads++;
}

/* Add a guard to @ld, which serves the versions @vers. Returns false if the condition is known to
 * be false.
 */
static bool add_guard(struct load *ld, int n, uint32_t vers, const struct cond *c)
{
	int v = vers & BIT(0) ? 0 : 1;

	if (vers == 3 && (c->op->load[0] != c->op->load[1] ||
			  c->op->known[0] != c->op->known[1]))
		return true;	/* no guard: the load is done more often than needed */
	if (c->op->load[v] < 0)
		return (c->op->known[v] & c->mask) == c->want;
	ld->guards[n] = (struct guard){ c->op->load[v], c->mask, c->want };
	return true;
}

/* Add a load for the versions @vers, as @ld and @loc describe. */
static void fetch_for(struct lookup *l, uint32_t vers, const struct operand *ver,
		      const int *loc, struct load ld, const struct cond *conds,
		      struct operand *op)
{
	struct cond version = { ver, 1, vers >> 1 };
	int i, v;

	for (i = 0; i < MAX_GUARDS; i++)
		ld.guards[i].load = -1;
	if (vers != 3 && !add_guard(&ld, 0, vers, &version))
		return;
	for (i = 0; i < MAX_CONDS; i++)
		if (conds[i].op && !add_guard(&ld, 1 + i, vers, &conds[i]))
			return;
	ld.loc[0] = loc[vers & BIT(0) ? 0 : 1];
	ld.loc[1] = loc[vers & BIT(1) ? 1 : 0];
	ld.elder = -1;
	ld.by_ver = -1;
	if (loc[0] != loc[1] && ver->load[0] >= 0 && !missing(l, R_DEPENDENCY)) {
		ld.by_ver = ver->load[0];
		ld.after |= BIT(ld.by_ver);
	}
	i = add_load(l, ld);
	for (v = 0; v < 2; v++)
		if (vers & BIT(v))
			op->load[v] = i;
}

/* Add a load from @loc[0] or, if @ver is 1, from @loc[1]. Without the address dependency, the loads
 * for both versions may be done before it is known which version is right.
 */
static struct operand fetch(struct lookup *l, const struct operand *ver,
			    const int *loc, struct load ld, const struct cond *conds)
{
	struct operand op = nothing;
	uint32_t vers = 0;
	int v;

	for (v = 0; v < 2; v++) {
		if (dirty(l, loc[v], ld.width))
			vers |= BIT(v);
		else
			op.known[v] = machine_look(&l->m, &ld, 0, loc[v]);
	}
	if (vers == 3 && (loc[0] == loc[1] ||
			  (ver->load[0] >= 0 && !missing(l, R_DEPENDENCY)))) {
		fetch_for(l, 3, ver, loc, ld, conds, &op);
		return op;
	}
	for (v = 0; v < 2; v++)
		if (vers & BIT(v))
			fetch_for(l, BIT(v), ver, loc, ld, conds, &op);
	return op;
}

static const struct cond always[MAX_CONDS];

static struct operand fetch_ver(struct lookup *l)
{
	struct load ld = { .look = LOOK_VALUE, .width = 1 };

	return fetch(l, &nothing, (int[]){ VER, VER }, ld, always);
}

static struct operand fetch_hint(struct lookup *l, const struct operand *ver)
{
	struct load ld = { .look = LOOK_VALUE, .width = 1 };

	return fetch(l, ver, (int[]){ HINT, HINT + renewed(l->p, HINTS) }, ld, always);
}

/* Load the sequence, after the loads in @after. */
static struct operand fetch_seq(struct lookup *l, uint32_t after, struct operand elder)
{
	struct load ld = { .look = LOOK_VALUE, .width = 1, .after = after };
	struct operand op = fetch(l, &nothing, (int[]){ SEQ, SEQ }, ld, always);

	if (op.load[0] >= 0)
		l->m.loads[op.load[0]].elder = elder.load[0];
	return op;
}

static int class_of(const struct plan *p, enum item it)
{
	return parts(p) ? items[it].tag : it;
}

static void slot_locs(const struct lookup *l, const struct probe *pr, int choice,
		      int lane, int *loc)
{
	enum table table = items[pr->it].table;
	int slot = AT(items[pr->it].bucket[choice], lane);

	loc[0] = slot_loc(table, 0, slot);
	loc[1] = slot_loc(table, renewed(l->p, table), slot);
}

static uint32_t all_loads(const struct lookup *l)
{
	return BIT(l->m.nloads) - 1;
}

/* Can a slot ever have the remainder of the entry that is looked up? */
static bool may_match(const struct lookup *l, const struct probe *pr, const int *loc)
{
	int want = class_of(l->p, pr->it);
	int i;

	for (i = 0; i < 2; i++)
		if (l->m.class[l->m.initial[loc[i]]] == want)
			return true;
	for (i = 0; i < l->m.nstores; i++)
		if ((l->m.stores[i].loc == loc[0] || l->m.stores[i].loc == loc[1]) &&
		    l->m.class[l->m.stores[i].val] == want)
			return true;
	return false;
}

/* Load one part of what is beside a slot. No machine lets the second of two loads from a unit see
 * an older value than the first, but this model does: the protocol does not rely on that.
 */
static struct operand fetch_part(struct lookup *l, const struct probe *pr,
				 const int *slot, int part, uint32_t after,
				 const struct cond *conds)
{
	struct load ld = { .look = LOOK_EQUAL, .width = 1, .after = after };
	int ver, loc[2];

	for (ver = 0; ver < 2; ver++)
		loc[ver] = l->p->flags & KEYED ? key_loc(slot[ver], part) :
						 unit_loc(slot[ver]);
	ld.want = items[pr->it].key[part];
	if (l->p->flags & RESTS) {
		ld.look = LOOK_BITS;
		ld.shift = rest_shift(slot[0]);
		ld.mask = REST_MASK;
		ld.want = items[pr->it].rest;
	}
	return fetch(l, &pr->ver, loc, ld, conds);
}

static void fetch_beside(struct lookup *l, struct probe *pr, uint32_t after,
			 const struct cond *hint)
{
	struct cond conds[MAX_CONDS] = { *hint };
	int choice, lane, part, slot[2];

	for (choice = 0; choice < 2; choice++) {
		for (lane = 0; lane < LANES; lane++) {
			slot_locs(l, pr, choice, lane, slot);
			conds[1].op = &pr->slot[choice][l->p->wide ? lane : 0];
			conds[1].mask = conds[1].want = BIT(l->p->wide ? 0 : lane);
			for (part = 0; part < parts(l->p); part++)
				pr->beside[choice][lane][part] =
					may_match(l, pr, slot) ?
					fetch_part(l, pr, slot, part, after, conds) :
					nothing;
		}
	}
}

/* The loads of a look-up of one entry in its table */
static void fetch_probe(struct lookup *l, enum item it)
{
	struct cond hint[MAX_CONDS] = { { &l->hint, items[it].hint, items[it].hint } };
	int choice, lane, loc[2], first, lanes = l->p->wide ? LANES : 1;
	struct load ld = { .look = LOOK_SLOTS, .width = LANES / lanes };
	struct probe *pr = &l->probes[l->nprobes++];
	enum mutant mutant = l->p->mutant;

	if (!(l->p->flags & HINTED))
		hint[0].op = NULL;
	ld.want = class_of(l->p, it);
	pr->it = it;
	pr->ver = mutant == VERSION_PER_TABLE ? fetch_ver(l) : l->ver;
	if (mutant == SEQ_PER_TABLE) {
		pr->seq = fetch_seq(l, all_loads(l), l->seq);
		l->begin |= all_loads(l);
	}
	first = l->m.nloads;
	for (choice = 0; choice < 2; choice++) {
		if (mutant == MISS_REREADS)
			ld.after = all_loads(l);
		for (lane = 0; lane < lanes; lane++) {
			slot_locs(l, pr, choice, lane, loc);
			pr->slot[choice][lane] = fetch(l, &pr->ver, loc, ld, hint);
		}
	}
	if (parts(l->p))
		fetch_beside(l, pr, missing(l, R_TAG_KEY) ? 0 : all_loads(l) & -BIT(first),
			     hint);
	if (mutant == SEQ_PER_TABLE)
		pr->check = fetch_seq(l, all_loads(l), pr->seq);
	if (mutant == MISS_REREADS) {
		slot_locs(l, pr, 0, 0, loc);
		ld.after = all_loads(l);
		pr->again = fetch(l, &pr->ver, loc, ld, hint);
	}
}

/* The reader's program for a key */
static void fetch_all(struct lookup *l)
{
	enum mutant mutant = l->p->mutant;
	uint32_t before;
	enum item it;

	l->check_misses = mutant != MISS_UNCHECKED && mutant != MISS_REREADS;
	l->check_hits = (parts(l->p) && mutant != KEY_UNCHECKED) ||
			(l->p->flags & EXCEPTS && mutant != HIT_UNCHECKED);
	if (mutant == VERSION_FIRST || mutant == HINT_FIRST || mutant == ZERO_HINT_UNCHECKED)
		l->early_ver = fetch_ver(l);
	if (mutant == HINT_FIRST || mutant == ZERO_HINT_UNCHECKED)
		l->early_hint = fetch_hint(l, &l->early_ver);
	l->seq = mutant == SEQ_PER_TABLE ? nothing : fetch_seq(l, 0, nothing);
	if (l->seq.load[0] >= 0 && !missing(l, R_ACQUIRE))
		l->begin = BIT(l->seq.load[0]);
	l->ver = mutant == VERSION_FIRST || mutant == HINT_FIRST ? l->early_ver : fetch_ver(l);
	l->hint = mutant == HINT_FIRST ? l->early_hint : fetch_hint(l, &l->ver);
	if (mutant == SEQ_PER_TABLE)
		l->begin = all_loads(l);
	fetch_probe(l, l->key);
	for (it = HOSTS; it < P12; it++)
		if (l->p->touched & BIT(it))
			fetch_probe(l, it);
	if (mutant == SEQ_PER_TABLE)
		return;
	before = all_loads(l);
	l->miss_check = fetch_seq(l, missing(l, R_MISS) ? 0 : before, l->seq);
	l->hit_check = l->miss_check;
	if (parts(l->p))
		l->hit_check = fetch_seq(l, missing(l, R_KEY_SEQ) ? 0 : before, l->seq);
}

/* The values of the loads that are done */
struct view {
	uint32_t done;
	const uint8_t *seen;
};

/* Answers, which may have to wait for more loads */
enum { UNKNOWN = -1, NO = 0, YES = 1 };

static int value(const struct view *v, const struct operand *op, int ver)
{
	if (ver == UNKNOWN)
		return UNKNOWN;
	if (op->load[ver] < 0)
		return op->known[ver];
	return v->done & BIT(op->load[ver]) ? v->seen[op->load[ver]] : UNKNOWN;
}

static int slot_hit(const struct lookup *l, const struct view *v,
		    const struct probe *pr, int choice, int lane, int ver)
{
	bool wide = l->p->wide;
	int match = value(v, &pr->slot[choice][wide ? lane : 0], ver);
	int part, same, hit = YES;

	if (match == UNKNOWN || !(match & BIT(wide ? 0 : lane)))
		return match == UNKNOWN ? UNKNOWN : NO;
	for (part = 0; part < parts(l->p); part++) {
		same = value(v, &pr->beside[choice][lane][part], ver);
		if (same == NO)
			return NO;
		if (same == UNKNOWN)
			hit = UNKNOWN;
	}
	return hit;
}

static int probe_hit(const struct lookup *l, const struct view *v, const struct probe *pr)
{
	int choice, lane, hit, any = NO, ver = value(v, &pr->ver, 0);

	for (choice = 0; choice < 2; choice++) {
		for (lane = 0; lane < LANES; lane++) {
			hit = slot_hit(l, v, pr, choice, lane, ver);
			if (hit == YES)
				return YES;
			if (hit == UNKNOWN)
				any = UNKNOWN;
		}
	}
	return any;
}

/* An answer that is valid only if the sequence has not changed. */
static enum verdict checked(const struct view *v, const struct operand *seq,
			    const struct operand *check, enum verdict verdict)
{
	int before = value(v, seq, 0), after = value(v, check, 0);

	if (before == UNKNOWN || after == UNKNOWN)
		return UNDECIDED;
	return before == after ? verdict : RETRY;
}

static enum verdict answer_hit(const struct lookup *l, const struct view *v,
			       const struct probe *pr)
{
	enum verdict hit = l->covered ? RIGHT : WRONG;

	if (!l->check_hits)
		return hit;
	if (l->p->mutant == SEQ_PER_TABLE)
		return checked(v, &pr->seq, &pr->check, hit);
	return checked(v, &l->seq, &l->hit_check, hit);
}

static enum verdict answer_miss(const struct lookup *l, const struct view *v)
{
	enum verdict miss = l->covered ? WRONG : RIGHT;

	if (!l->check_misses || l->p->mutant == SEQ_PER_TABLE)
		return miss;
	return checked(v, &l->seq, &l->miss_check, miss);
}

/* The program's answer. */
static enum verdict answer(const void *ctx, uint32_t done, const uint8_t *seen)
{
	const struct lookup *l = ctx;
	struct view v = { done, seen };
	int hit, hint = HINT_HOST;
	const struct probe *pr;
	enum verdict verdict;

	if (l->p->flags & HINTED) {
		if (l->p->mutant == ZERO_HINT_UNCHECKED &&
		    value(&v, &l->early_hint, value(&v, &l->early_ver, 0)) == 0)
			return l->covered ? WRONG : RIGHT;
		hint = value(&v, &l->hint, value(&v, &l->ver, 0));
		if (hint == UNKNOWN)
			return UNDECIDED;
	}
	for (pr = l->probes; pr < l->probes + l->nprobes; pr++) {
		if (!(hint & items[pr->it].hint))
			continue;
		hit = probe_hit(l, &v, pr);
		if (hit == NO && l->p->mutant == MISS_REREADS)
			hit = value(&v, &pr->again, value(&v, &pr->ver, 0));
		if (hit == UNKNOWN)
			return UNDECIDED;
		if (hit)
			return items[pr->it].except ? answer_miss(l, &v) : answer_hit(l, &v, pr);
		if (l->p->mutant == SEQ_PER_TABLE) {
			verdict = checked(&v, &pr->seq, &pr->check, RIGHT);
			if (verdict != RIGHT)
				return verdict;
		}
	}
	/* The cover bit is in one word and was true when it was read; but an exception may be
	 * longer than the prefix it stands for.
	 */
	if (hint & HINT_COVER && l->p->flags & EXCEPTS)
		return answer_hit(l, &v, pr - 1);
	if (hint & HINT_COVER)
		return l->covered ? RIGHT : WRONG;
	return answer_miss(l, &v);
}

/* Collect the writer's stores of operations [first, last), and their order. */
static void take_stores(struct lookup *l, int first, int last)
{
	const struct plan *p = l->p;
	int base = -1, fence = 0, i, j;
	struct machine *m = &l->m;

	memcpy(m->initial, p->initial, sizeof(p->initial));
	for (i = 0; i < p->nstores && p->stores[i].op < last; i++) {
		uint8_t loc = p->stores[i].loc;
		struct store *st;

		if (p->stores[i].op < first) {
			m->initial[loc] = p->stores[i].val;
			continue;
		}
		if (base < 0)
			base = i;
		if (p->fences & BIT(i))
			fence = i - base;
		st = &m->stores[m->nstores++];
		st->loc = loc;
		st->val = p->stores[i].val;
		st->after = BIT(p->stores[i].release ? i - base : fence) - 1;
		for (j = 0; j < i - base; j++) {
			bool slots = loc >= SLOT0 && loc < KEY0 && !p->wide;
			int other = m->stores[j].loc;

			if (other == loc || (slots && other / LANES == loc / LANES))
				st->after |= BIT(j);
		}
		l->dirty[loc / 32] |= BIT(loc % 32);
	}
}

static void lookup_init(struct lookup *l, const struct plan *p, enum item key,
			int first, int last)
{
	static uint8_t class[256];
	int i;

	for (i = 0; i < NITEMS; i++)
		class[i] = class_of(p, i);
	memset(l, 0, sizeof(*l));
	l->p = p;
	l->key = key;
	l->covered = covered(key, p->present[first]);
	l->m.class = class;
	l->m.judge = answer;
	l->m.ctx = l;
	take_stores(l, first, last);
	fetch_all(l);
}

/* --- scenarios ----------------------------------------------------------- */

/* Operations before BEGIN are not part of the run. FRESH to PUBLISH build a new version of the
 * whole set, which is not visible before PUBLISH.
 */
#define ADD(it, bucket, lane)	{ add, it, AT(bucket, lane) }
#define COVER(it)		{ add, it, 0 }
#define HOP(it, bucket, lane)	{ hop, it, AT(bucket, lane) }
#define COPY(it, bucket, lane)	{ copy, it, AT(bucket, lane) }
#define DEL(it)			{ del, it, 0 }
#define DEL_LAST(it)		{ del_last, it, 0 }
#define GROW(table)		{ grow, NONE, table }
#define BEGIN			{ begin, NONE, 0 }
#define FRESH			{ fresh, NONE, 0 }
#define PUBLISH			{ publish, NONE, 0 }

/* For tables whose slots have whole keys, and for those with keys or rests beside the slots. */
#define HOSTS_SCENARIOS(prefix, flags) \
	{ prefix "insertions into free slots", flags, { \
		ADD(A, 0, 0), BEGIN, ADD(N, 0, 1), ADD(B, 1, 0) } }, \
	{ prefix "one hop", flags, { \
		ADD(A, 0, 0), BEGIN, HOP(A, 1, 0), ADD(N, 0, 0) } }, \
	{ prefix "chain of two hops, new entry at the root", flags, { \
		ADD(C, 1, 0), ADD(A, 0, 0), BEGIN, \
		HOP(C, 2, 0), HOP(A, 1, 0), ADD(N, 0, 0) } }, \
	{ prefix "first bucket to second and back", flags, { \
		ADD(A, 0, 0), BEGIN, \
		HOP(A, 1, 0), ADD(N, 0, 0), DEL(N), HOP(A, 0, 0), ADD(B, 1, 0) } }, \
	{ prefix "second bucket to first and back", flags, { \
		ADD(A, 1, 0), BEGIN, \
		HOP(A, 0, 0), ADD(B, 1, 0), HOP(A, 1, 1), ADD(N, 0, 0) } }, \
	{ prefix "an entry replaced, and replaced again", flags, { \
		ADD(A, 0, 0), ADD(C, 1, 0), BEGIN, \
		DEL(A), ADD(B, 0, 0), DEL(B), ADD(A, 0, 0) } }, \
	{ prefix "growth, then a hop in the new table", flags, { \
		ADD(A, 0, 0), BEGIN, GROW(HOST), HOP(A, 1, 0), ADD(N, 0, 0) } }

/* Scenarios with entries whose remainders are the same. */
#define BESIDE_SCENARIOS(prefix, flags) \
	{ prefix "deleted, one of the same remainder inserted", flags, { \
		ADD(A, 0, 0), BEGIN, DEL(A), ADD(B, 0, 0) } }, \
	{ prefix "displaced by one of the same remainder", flags, { \
		ADD(A, 0, 0), BEGIN, HOP(A, 1, 0), ADD(B, 0, 0) } }, \
	{ prefix "deleted, one of the same remainder hops into the slot", flags, { \
		ADD(A, 0, 0), ADD(B, 1, 0), BEGIN, DEL(A), HOP(B, 0, 0) } }, \
	{ prefix "one of the same remainder beside it is added and deleted", flags, { \
		ADD(A, 0, 1), ADD(B, 0, 0), BEGIN, DEL(B), HOP(A, 1, 0), ADD(B, 0, 0) } }

#define NETS_SCENARIOS(prefix, flags) \
	{ prefix "add P20, delete P24, hint keeps it", flags, { \
		ADD(P24, 2, 0), BEGIN, ADD(P20, 4, 0), DEL(P24) } }, \
	{ prefix "add P20, delete P24", flags, { \
		ADD(P24, 2, 0), BEGIN, ADD(P20, 4, 0), DEL_LAST(P24) } }, \
	{ prefix "add P20, delete P24, hint had P20 before", flags, { \
		ADD(P20, 4, 0), ADD(P24, 2, 0), DEL(P20), BEGIN, \
		ADD(P20, 4, 0), DEL_LAST(P24) } }, \
	{ prefix "add host, delete prefix", flags, { \
		ADD(P24, 2, 0), BEGIN, ADD(A, 0, 0), DEL_LAST(P24) } }, \
	{ prefix "add prefix, delete host", flags, { \
		ADD(A, 0, 0), BEGIN, ADD(P24, 2, 0), DEL_LAST(A), ADD(N, 0, 0) } }, \
	{ prefix "cover bit set, P24 deleted", flags, { \
		ADD(P24, 2, 0), BEGIN, COVER(P12), DEL_LAST(P24) } }, \
	{ prefix "P24 added, cover bit cleared", flags, { \
		COVER(P12), BEGIN, \
		ADD(P24, 2, 0), DEL_LAST(P12), ADD(A, 0, 0), DEL_LAST(P24) } }, \
	{ prefix "host table grows, add host, delete prefix", flags, { \
		ADD(P24, 2, 0), ADD(B, 0, 0), BEGIN, \
		GROW(HOST), ADD(A, 1, 0), DEL_LAST(P24) } }, \
	{ prefix "host table grows, add prefix, delete host", flags, { \
		ADD(A, 0, 0), BEGIN, \
		GROW(HOST), ADD(P24, 2, 0), DEL(A), ADD(N, 0, 0) } }, \
	{ prefix "hint rebuilt, add P20, delete P24", flags, { \
		ADD(P20, 4, 0), ADD(P24, 2, 0), DEL(P20), BEGIN, \
		GROW(HINTS), ADD(P20, 4, 0), DEL(P24) } }, \
	{ prefix "hint rebuilt, cover bit cleared, set again", flags, { \
		COVER(P12), BEGIN, \
		GROW(HINTS), DEL_LAST(P12), ADD(A, 0, 0), COVER(P12), DEL(A) } }, \
	{ prefix "everything replaced", flags, { \
		ADD(P24, 2, 0), BEGIN, \
		FRESH, ADD(P20, 4, 0), PUBLISH, ADD(A, 0, 0), DEL_LAST(P20) } }

static const struct scenario {
	const char *name;
	int flags;
	struct {
		void (*do_op)(struct plan *p, enum item it, int where);
		enum item it;
		int where;
	} ops[10];
} scenarios[] = {
	HOSTS_SCENARIOS("32-bit: ", 0),
	{ "32-bit: one hop, source overwritten at once", 0, {
		ADD(A, 0, 0), BEGIN, COPY(A, 1, 0), ADD(N, 0, 0) } },
	{ "32-bit: chain of three hops, sources overwritten at once", 0, {
		ADD(D, 2, 0), ADD(C, 1, 0), ADD(A, 0, 0), BEGIN,
		COPY(D, 3, 0), COPY(C, 2, 0), COPY(A, 1, 0), ADD(N, 0, 0) } },

	NETS_SCENARIOS("nets: ", HINTED),
	{ "nets: P20 by P24 and back", HINTED, {
		ADD(P20, 4, 0), BEGIN, ADD(P24, 2, 0), DEL_LAST(P20),
		ADD(P20, 4, 0), DEL_LAST(P24) } },
	{ "nets: P28 by P24 by P20, add host", HINTED, {
		ADD(P28, 0, 0), BEGIN, ADD(P24, 2, 0), DEL_LAST(P28),
		ADD(P20, 4, 0), DEL_LAST(P24), ADD(A, 0, 0) } },
	{ "nets: a host hops while prefixes change", HINTED, {
		ADD(P24, 2, 0), ADD(A, 0, 0), BEGIN, ADD(P20, 4, 0), DEL_LAST(P24),
		HOP(A, 1, 0), ADD(N, 0, 0), DEL_LAST(P20) } },
	{ "nets: a prefix hops while hosts change", HINTED, {
		ADD(P24, 2, 0), BEGIN, ADD(A, 0, 0), HOP(P24, 3, 0), DEL(A) } },
	{ "nets: prefix table grows, delete host, change prefix", HINTED, {
		ADD(A, 0, 0), ADD(P24, 2, 0), BEGIN,
		GROW(NET), DEL(A), ADD(P20, 4, 0), DEL_LAST(P24) } },

	BESIDE_SCENARIOS("keys: ", KEYED),
	HOSTS_SCENARIOS("keys: ", KEYED),
	NETS_SCENARIOS("keys, nets: ", KEYED | HINTED),

	BESIDE_SCENARIOS("rests: ", RESTS),
	HOSTS_SCENARIOS("rests: ", RESTS),
	{ "rests: those of two entries alternate in a slot, others stay", RESTS, {
		ADD(B, 0, 1), ADD(C, 1, 0), ADD(A, 0, 0), BEGIN,
		DEL(A), ADD(N, 0, 0), DEL(N), ADD(A, 0, 0) } },
	{ "rests: a unit fills up", RESTS, {
		ADD(A, 0, 0), BEGIN, ADD(N, 0, 1), ADD(B, 1, 1), ADD(C, 1, 0) } },
	NETS_SCENARIOS("rests, nets: ", RESTS | HINTED),

	{ "nomatch: add exception, add prefix", HINTED | EXCEPTS, {
		BEGIN, ADD(X24, 2, 0), ADD(P20, 4, 0) } },
	{ "nomatch: add exception, add prefix, hint had both", HINTED | EXCEPTS, {
		ADD(X24, 2, 0), ADD(P20, 4, 0), DEL(X24), DEL(P20), BEGIN,
		ADD(X24, 2, 0), ADD(P20, 4, 0) } },
	{ "nomatch: add prefix, add exception", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), BEGIN, ADD(P28, 0, 0), ADD(X24, 2, 0) } },
	{ "nomatch: add prefix, add exception, hint had both", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), ADD(P28, 0, 0), ADD(X24, 2, 0), DEL(X24), DEL(P28), BEGIN,
		ADD(P28, 0, 0), ADD(X24, 2, 0) } },
	{ "nomatch: exception by exception", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), ADD(X24, 2, 0), BEGIN, ADD(X26, 0, 0), DEL_LAST(X24) } },
	{ "nomatch: delete prefix, delete exception, add prefix", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), ADD(X24, 2, 0), BEGIN,
		DEL_LAST(P20), DEL_LAST(X24), ADD(P28, 0, 0) } },
	{ "nomatch: delete exception, add prefix, delete prefix", HINTED | EXCEPTS, {
		ADD(P28, 0, 0), ADD(X24, 2, 0), BEGIN,
		DEL(X24), ADD(P20, 4, 0), DEL(P28) } },
	{ "nomatch: an exception hops", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), ADD(X24, 2, 0), BEGIN,
		HOP(X24, 3, 0), COVER(P12), DEL_LAST(P20) } },
	{ "nomatch: everything replaced", HINTED | EXCEPTS, {
		ADD(P20, 4, 0), ADD(X24, 2, 0), BEGIN,
		FRESH, ADD(P24, 2, 0), ADD(X26, 0, 0), PUBLISH, ADD(P20, 4, 0) } },
};

/* --- running them -------------------------------------------------------- */

static void print_content(int loc, int val)
{
	static const char *const bits[] = { "host", "28", "26", "24", "20", "cover" };
	bool first = true;
	int i;

	if (loc >= REST0) {
		for (i = 0; i < UNIT; i++)
			printf("%d", val >> i * REST_BITS & REST_MASK);
	} else if (loc >= KEY0) {
		printf("%c", val ? val : '-');
	} else if (loc >= SLOT0) {
		printf("%s", items[val].name);
	} else if (loc >= HINT && val) {
		for (i = 0; i < ARRAY_SIZE(bits); i++) {
			if (!(val & BIT(i)))
				continue;
			printf("%s%s", first ? "" : "+", bits[i]);
			first = false;
		}
	} else {
		printf("%d", val);
	}
}

static void print_loc(int loc, bool bucket)
{
	static const char *const words[SLOT0] = { "seq", "version", "hint", "hint'" };
	int slot, table;

	if (loc < SLOT0) {
		printf("%s", words[loc]);
		return;
	}
	slot = loc < KEY0 ? loc - SLOT0 : loc < REST0 ? (loc - KEY0) / 2 :
							(loc - REST0) * UNIT;
	table = slot / NSLOTS;
	slot %= NSLOTS;
	printf("%s%s[%d", table / 2 == HOST ? "host" : "net", table & 1 ? "'" : "",
	       slot / LANES);
	if (loc >= REST0)
		printf("-%d", (slot + UNIT - 1) / LANES);
	else if (!bucket)
		printf(".%d", slot % LANES);
	printf("]%s", loc < KEY0 ? "" : loc >= REST0 ? ".rests" :
		      (loc - KEY0) & 1 ? ".key1" : ".key0");
}

static void print_witness(const struct lookup *l)
{
	struct event trace[MAX_STORES + MAX_LOADS];
	int i, n = machine_witness(&l->m, trace);
	bool store = false;

	printf("# %s is %s throughout, the answer is the contrary:\n", items[l->key].name,
	       l->covered ? "covered" : "not covered");
	for (i = 0; i < n; i++) {
		const struct event *e = &trace[i];

		if (!i || store != e->store)
			printf("%s#   %s: ", i ? "\n" : "", e->store ? "writer" : "reader");
		else
			printf("; ");
		store = e->store;
		if (store) {
			print_loc(l->m.stores[e->index].loc, false);
			printf(" = ");
			print_content(l->m.stores[e->index].loc, l->m.stores[e->index].val);
		} else {
			const struct load *ld = &l->m.loads[e->index];
			int lane, width = ld->width;

			print_loc(e->loc, width > 1);
			printf(e->loc == SEQ && ld->elder >= 0 ? " again is" : " is");
			for (lane = 0; lane < width; lane++) {
				printf(" ");
				print_content(e->loc + lane,
					      machine_memory(&l->m, e->visible, e->loc + lane));
			}
		}
	}
	printf("\n");
}

struct outcome {
	struct tally tally;
	int lookups;
	int silent;		/* look-ups that never answer: they prove nothing */
};

/* Run all look-ups of a scenario. If asked to, stops at the first that can be wrong, and returns it
 * in @found.
 */
static struct outcome run(const struct scenario *sc, uint32_t removed,
			  enum mutant mutant, bool wide, struct lookup *found)
{
	static struct plan plan;
	static struct lookup l;
	struct outcome o = { 0 };
	struct tally t;
	int key, first, last, i;

	plan = (struct plan){
		.flags = sc->flags, .removed = removed, .mutant = mutant, .wide = wide,
	};
	for (i = 0; i < ARRAY_SIZE(sc->ops) && sc->ops[i].do_op; i++)
		sc->ops[i].do_op(&plan, sc->ops[i].it, sc->ops[i].where);
	assert(plan.begun && plan.nops);
	for (key = A; key < HOSTS; key++) {
		if (!(plan.touched & BIT(key)) && key != A && key != Y && key != Z)
			continue;
		for (first = 0; first < plan.nops; first = last + 1) {
			last = first;
			while (last < plan.nops && covered(key, plan.present[last + 1]) ==
						   covered(key, plan.present[first]))
				last++;
			if (last == first)
				continue;
			lookup_init(&l, &plan, key, first, last);
			t = machine_run(&l.m);
			o.lookups++;
			tally_add(&o.tally, &t);
			o.silent += !t.answered;
			if (t.wrong && found) {
				*found = l;
				found->m.ctx = found;
				return o;
			}
		}
	}
	return o;
}

static struct outcome total;

/* Test the unchanged protocol, with buckets of one word and of two. */
static void test_scenario(const struct scenario *sc)
{
	static struct lookup bad;
	struct outcome o[2];
	int wide;

	for (wide = 0; wide < 2; wide++) {
		o[wide] = run(sc, 0, NO_MUTANT, wide, NULL);
		tally_add(&total.tally, &o[wide].tally);
		total.lookups += o[wide].lookups;
	}
	expect(!o[0].tally.wrong && !o[1].tally.wrong, "all answers are right");
	expect(!o[0].silent && !o[1].silent, "all look-ups can answer");
	ktap_case("%s - %d look-ups, %" PRIu64 " executions, %" PRIu64 " answered, %" PRIu64
		  " wrong; in two words %" PRIu64 ", %" PRIu64 ", %" PRIu64,
		  sc->name, o[0].lookups,
		  o[0].tally.runs, o[0].tally.answered, o[0].tally.wrong,
		  o[1].tally.runs, o[1].tally.answered, o[1].tally.wrong);
	for (wide = 0; wide < 2; wide++) {
		if (!o[wide].tally.wrong)
			continue;
		run(sc, 0, NO_MUTANT, wide, &bad);
		print_witness(&bad);
		break;
	}
}

/* xorshift: gives the same scenarios on every machine, for the same seed. */
static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}

/* Append a random operation. Returns false if the writer could not do it in the current state. */
static bool random_op(struct scenario *sc, int n, struct plan *p)
{
	static const enum item hosts[] = { A, B, C, N }, nets[] = { P28, X26, P24, P20, P12 };
	bool net = p->flags & HINTED && random_below(2);
	enum item it = net ? nets[random_below(ARRAY_SIZE(nets))] :
			     hosts[random_below(ARRAY_SIZE(hosts))];
	int slot = AT(items[it].bucket[random_below(2)], random_below(LANES));
	bool cover = items[it].hint & HINT_COVER;
	bool present = p->present[p->nops] & BIT(it);
	bool free = cover || !p->memory[current(p, items[it].table, slot)];
	int dice = random_below(8);
	bool others = false;
	enum item i;

	for (i = A; i < NITEMS; i++)
		if (i != it && p->present[p->nops] & BIT(i) && items[i].hint == items[it].hint)
			others = true;
	if (items[it].except && !(p->flags & EXCEPTS))
		return false;
	sc->ops[n].it = it;
	sc->ops[n].where = slot;
	if (!dice && p->begun && !p->renewed && p->flags & HINTED && random_below(2)) {
		sc->ops[n].do_op = grow;
		sc->ops[n].where = HINTS;
	} else if (!dice && p->begun && !p->renewed && !parts(p)) {
		sc->ops[n].do_op = grow;
		sc->ops[n].where = items[it].table;
	} else if (!present && free) {
		sc->ops[n].do_op = add;
	} else if (present && p->begun && dice < 3) {
		sc->ops[n].do_op = others || (dice & 1 && !cover) ? del : del_last;
	} else if (present && p->begun && free && !cover &&
		   slot / LANES != find(p, it) / LANES) {
		sc->ops[n].do_op = hop;
	} else {
		return false;
	}
	sc->ops[n].do_op(p, it, sc->ops[n].where);
	return true;
}

static void random_scenario(struct scenario *sc)
{
	static const int flags[] = {
		0, HINTED, KEYED, KEYED | HINTED, RESTS, RESTS | HINTED, HINTED | EXCEPTS,
	};
	static struct plan plan;
	int n, history;

	*sc = (struct scenario){
		.name = "random", .flags = flags[random_below(ARRAY_SIZE(flags))],
	};
	plan = (struct plan){ .flags = sc->flags };
	/* With keys and rests there are many loads and stores: more entries, or copying a table
	 * with them, could take minutes.
	 */
	history = 1 + random_below(parts(&plan) ? 2 : 3);
	for (n = 0; n < history + 4; n++) {
		if (n == history) {
			sc->ops[n].do_op = begin;
			begin(&plan, NONE, 0);
			continue;
		}
		while (!random_op(sc, n, &plan))
			;
	}
}

/* Print a scenario in the notation of the scenarios above. */
static void print_scenario(const struct scenario *sc)
{
	static const struct {
		void (*do_op)(struct plan *p, enum item it, int where);
		const char *name;
	} names[] = {
		{ add, "ADD" }, { hop, "HOP" }, { del, "DEL" }, { del_last, "DEL_LAST" },
		{ grow, "GROW" }, { begin, "BEGIN" },
	};
	static const char *const tables[] = { "HOST", "NET", "HINTS" };
	int i, k;

	printf("# flags %d:", sc->flags);
	for (i = 0; i < ARRAY_SIZE(sc->ops) && sc->ops[i].do_op; i++) {
		for (k = 0; names[k].do_op != sc->ops[i].do_op; k++)
			;
		printf(" %s", names[k].name);
		if (sc->ops[i].do_op == grow)
			printf("(%s)", tables[sc->ops[i].where]);
		else if (sc->ops[i].do_op != begin)
			printf("(%s, %d, %d)", items[sc->ops[i].it].name,
			       sc->ops[i].where / LANES, sc->ops[i].where % LANES);
	}
	printf("\n");
}

/* Run random scenarios. Stops at the first that can be wrong, and returns it in @sc and @bad. */
static struct outcome run_random(uint32_t seed, int n, uint32_t removed,
				 enum mutant mutant, struct scenario *sc,
				 struct lookup *bad)
{
	struct outcome o, sum = { 0 };

	random_state = seed;
	while (n-- && !sum.tally.wrong) {
		random_scenario(sc);
		o = run(sc, removed, mutant, n & 1, bad);
		tally_add(&sum.tally, &o.tally);
		sum.lookups += o.lookups;
		sum.silent += o.silent;
	}
	return sum;
}

static void test_random(uint32_t seed, int n)
{
	static struct lookup bad;
	struct scenario sc;
	struct outcome o;

	o = run_random(seed, n, 0, NO_MUTANT, &sc, &bad);
	expect(!o.tally.wrong, "all answers are right");
	expect(!o.silent, "all look-ups can answer");
	ktap_case("random scenarios - %d of them, %d look-ups, %" PRIu64 " executions, %" PRIu64
		  " wrong", n, o.lookups, o.tally.runs, o.tally.wrong);
	if (o.tally.wrong) {
		print_scenario(&sc);
		print_witness(&bad);
	}
}

static const struct change {
	const char *name;
	uint32_t removed;
	enum mutant mutant;
	bool needed;
} changes[] = {
	{ "removing R:acquire", BIT(R_ACQUIRE), 0, true },
	{ "removing R:dependency", BIT(R_DEPENDENCY), 0, true },
	{ "removing R:miss", BIT(R_MISS), 0, true },
	{ "removing W:before", BEFORE_ALL, 0, true },
	{ "removing W:after", AFTER_ALL, 0, true },
	{ "removing W:publish", BIT(W_PUBLISH), 0, true },
	/* A bit without its entry only costs a probe, and the barrier before the next bump orders
	 * both stores before it.
	 */
	{ "removing W:slot-hint", BIT(W_SLOT_HINT), 0, false },
	{ "removing W:before, hop", BIT(W_BEFORE + USE_HOP), 0, true },
	{ "removing W:after, hop", BIT(W_AFTER + USE_HOP), 0, true },
	{ "removing W:before, delete", BIT(W_BEFORE + USE_DELETE), 0, true },
	{ "removing W:after, delete", BIT(W_AFTER + USE_DELETE), 0, true },
	{ "removing W:before, before exception", BIT(W_BEFORE + USE_EXCEPT_BEGIN), 0, true },
	{ "removing W:after, before exception", BIT(W_AFTER + USE_EXCEPT_BEGIN), 0, true },
	{ "removing W:before, after exception", BIT(W_BEFORE + USE_EXCEPT_END), 0, true },
	{ "removing W:after, after exception", BIT(W_AFTER + USE_EXCEPT_END), 0, true },
	{ "a miss is not checked", 0, MISS_UNCHECKED, true },
	{ "a miss reads the first bucket again, not the sequence", 0, MISS_REREADS, true },
	{ "the sequence is sampled per table", 0, SEQ_PER_TABLE, true },
	{ "the version is read per table", 0, VERSION_PER_TABLE, true },
	{ "the version is read before the sequence", 0, VERSION_FIRST, true },
	{ "the hint is read before the sequence", 0, HINT_FIRST, true },
	{ "with exceptions, a hit is not checked", 0, HIT_UNCHECKED, true },
	{ "hop: cleared before the copy", 0, CLEAR_FIRST, true },
	{ "hop: the sequence is bumped only before the copy", 0, HOP_BUMP_FIRST, true },
	{ "hop: the sequence is bumped only after clearing", 0, HOP_BUMP_LAST, true },
	{ "hop: the sequence is bumped once for a path", 0, HOP_BUMP_ONCE, true },
	{ "delete: the sequence is not bumped", 0, DELETE_NO_BUMP, true },
	{ "delete: the sequence is bumped only after clearing", 0, DELETE_BUMP_LAST, true },
	{ "delete: the hint's bit is cleared before the bump", 0, HINT_CLEARED_FIRST,
	  true },
	{ "rests: a second store restores the neighbours", 0, REST_ALONE, true },
	{ "exception added: the sequence is not bumped before", 0, EXCEPT_NO_BEGIN, true },
	{ "exception added: the sequence is not bumped after", 0, EXCEPT_NO_END, true },
	/* While a key stays covered, its first word of the hint is never 0. That is one word, read
	 * by one load, so the sequence need not be read.
	 */
	{ "if the hint is 0, reading the sequence", 0, ZERO_HINT_UNCHECKED, false },
};

/* Changes that concern what is beside a slot: tested with keys, and again with rests. */
static const struct change changes_beside[] = {
	{ "removing R:tag-key", BIT(R_TAG_KEY), 0, true },
	{ "removing R:key-seq", BIT(R_KEY_SEQ), 0, true },
	{ "removing W:key-tag", BIT(W_KEY_TAG), 0, true },
	{ "removing W:before, emptied", BIT(W_BEFORE + USE_EMPTY), 0, true },
	{ "removing W:after, emptied", BIT(W_AFTER + USE_EMPTY), 0, true },
	{ "a hit is not checked", 0, KEY_UNCHECKED, true },
	{ "the sequence is not bumped after clearing", 0, EMPTY_NO_BUMP, true },
	{ "the sequence is not bumped before clearing", 0, VACATE_NO_BUMP, true },
	{ "written under a visible remainder", 0, KEY_UNDER_TAG, true },
};

/* Remove a barrier or break a rule, in sets with @flags, and check whether that can give a wrong
 * answer. If it should not, random scenarios are tried, too.
 */
static void test_change(const struct change *c, int flags, bool all, uint32_t seed, int n)
{
	const char *kind = flags & KEYED ? "keys: " : flags & RESTS ? "rests: " : "";
	static struct lookup bad;
	struct outcome o = { 0 }, sum = { 0 };
	struct scenario sc;
	int i, broken = 0;

	for (i = 0; i < ARRAY_SIZE(scenarios) && (all || !broken); i++) {
		if (flags & ~scenarios[i].flags)
			continue;
		o = run(&scenarios[i], c->removed, c->mutant, false, &bad);
		tally_add(&sum.tally, &o.tally);
		if (!o.tally.wrong)
			continue;
		if (!broken++) {
			expect(c->needed, "the change is expected to give a wrong answer");
			ktap_case("%s%s: found a wrong answer in scenario \"%s\"",
				  kind, c->name, scenarios[i].name);
			print_witness(&bad);
		} else {
			printf("#   also in \"%s\"\n", scenarios[i].name);
		}
	}
	if (broken)
		return;
	if (expect(!c->needed, "the change is expected to give no wrong answer"))
		o = run_random(seed, n, c->removed, c->mutant, &sc, &bad);
	expect(!o.tally.wrong, "all answers are right");
	ktap_case("%s%s: not needed - %" PRIu64 " executions and %d random scenarios, %" PRIu64
		  " wrong", kind, c->name, sum.tally.runs, n, o.tally.wrong);
	if (o.tally.wrong) {
		print_scenario(&sc);
		print_witness(&bad);
	}
}

/* --- the machine itself -------------------------------------------------- */

/* Message passing: x = 1; y = 1 beside r0 = y (or x); r1 = x. Is r0 = 1, r1 = 0
 * possible? The answers are those of the literature.
 */
static const struct litmus {
	const char *name;
	bool store_fence, load_fence, same_location, possible;
} litmus[] = {
	{ "litmus MP: no barriers", false, false, false, true },
	{ "litmus MP+wmb: loads unordered, or behind a branch", true, false, false, true },
	{ "litmus MP+rmb: stores unordered", false, true, false, true },
	{ "litmus MP+wmb+rmb, or acquire, or dependency", true, true, false, false },
	{ "litmus CoRR: two loads from one location", false, false, true, false },
};

static enum verdict litmus_judge(const void *ctx, uint32_t done, const uint8_t *seen)
{
	(void)ctx;
	if (done != 3)
		return UNDECIDED;
	return seen[0] == 1 && seen[1] == 0 ? WRONG : RIGHT;
}

#define NO_GUARDS	{ { .load = -1 }, { .load = -1 }, { .load = -1 } }

static void test_litmus(const struct litmus *t)
{
	struct machine m = {
		.nstores = 2, .nloads = 2, .judge = litmus_judge,
		.stores = { { .loc = 0, .val = 1 }, { .loc = 1, .val = 1 } },
		.loads = {
			{ .loc = { 1, 1 }, .by_ver = -1, .elder = -1, .guards = NO_GUARDS },
			{ .loc = { 0, 0 }, .by_ver = -1, .elder = -1, .guards = NO_GUARDS },
		},
	};
	struct tally tally;

	if (t->store_fence)
		m.stores[1].after = BIT(0);
	if (t->load_fence)
		m.loads[1].after = BIT(0);
	if (t->same_location) {
		m.loads[0].loc[0] = 0;
		m.loads[1].elder = 0;
	}
	tally = machine_run(&m);
	expect_equal(!!tally.wrong, t->possible, "possible");
	ktap_case("%s - %s in %" PRIu64 " executions", t->name,
		  tally.wrong ? "possible" : "impossible", tally.runs);
}

int main(void)
{
	uint32_t seed = ktap_begin("weakmem");
	int i, n = ktap_option("SCENARIOS", 300);
	bool all = ktap_option("ALL", 0);

	seed += !seed;	/* xorshift would stay at 0 */
	for (i = 0; i < ARRAY_SIZE(litmus); i++)
		test_litmus(&litmus[i]);
	for (i = 0; i < ARRAY_SIZE(scenarios); i++)
		test_scenario(&scenarios[i]);
	test_random(seed, n);
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		test_change(&changes[i], 0, all, seed, n);
	for (i = 0; i < ARRAY_SIZE(changes_beside); i++) {
		test_change(&changes_beside[i], KEYED, all, seed, n);
		test_change(&changes_beside[i], RESTS, all, seed, n);
	}
	printf("# the protocol: %d look-ups, %" PRIu64 " executions\n", total.lookups,
	       total.tally.runs);
	return ktap_end();
}
