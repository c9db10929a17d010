/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The weakly ordered machine of weakmem.c: enumerates all executions of one processor that stores
 * and one that loads.
 *
 * Memory is multi-copy atomic: there is one order in which stores become
 * visible, to everybody at once, and a load returns the latest store to its
 * location in that order (ARMv8 as revised: Pulte, Flur, Deacon, French,
 * Sarkar, Sewell: Simplifying ARM Concurrency, POPL 2018; what Linux demands of
 * its barriers is in Alglave, Maranget, McKenney, Parri, Stern: Frightening
 * Small Children and Disconcerting Grown-ups, ASPLOS 2018). So an execution is
 * one interleaving of the accesses of both sides. Program order has no effect on
 * it, except for
 *
 * - what the program orders: struct store.after and struct load.after are built
 *   by the caller from barriers, acquire, release, address dependencies;
 * - stores to one location, which the caller orders as well;
 * - two loads from one location: they may be satisfied in either order, but the
 *   second must not return an older store than the first (struct load.elder).
 *
 * A branch orders nothing: by speculation, a load behind it may be done before the load that the
 * branch depends on. Once that load is done and its value says that the program does not get there,
 * the other load is not done any more (struct guard). A speculative load whose result is not used
 * creates no order between other loads, so it hides no execution.
 *
 * Loads between the same two stores commute, so they are counted in one order only. An execution is
 * therefore an order of the stores and the place of each load in it, until the answer is known.
 */
#ifndef _WEAKMEM_H
#define _WEAKMEM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Bits of a mask of stores or of loads */
	MAX_STORES	= 32,
	/* With this, struct state has 32 bytes; no look-up here needs more loads. */
	MAX_LOADS	= 23,
	MAX_LOCS	= 192,
};

/* What a load extracts from the content of memory: no more than the program uses, so that the
 * enumerator treats executions as the same if they agree in that.
 */
enum look {
	LOOK_VALUE,	/* the value */
	LOOK_EQUAL,	/* value == want */
	LOOK_BITS,	/* (value >> shift & mask) == want */
	LOOK_SLOTS,	/* bit i: class[location i] == want, for i < width */
};

struct store {
	uint8_t loc;
	uint8_t val;
	uint32_t after;		/* stores that become visible earlier */
};

/* A load is done only if another load sees (value & mask) == want. */
struct guard {
	int8_t load;		/* of lower index, or -1 */
	uint8_t mask;
	uint8_t want;
};

enum { MAX_GUARDS = 3 };

struct load {
	struct guard guards[MAX_GUARDS];
	uint8_t loc[2];		/* the second if the load by_ver saw 1 */
	int8_t by_ver;		/* load the address depends on, or -1 */
	int8_t elder;		/* earlier load from this location, or -1;
				 * needs values that only grow
				 */
	uint8_t look;
	uint8_t want;
	uint8_t width;
	uint8_t shift, mask;
	uint32_t after;		/* loads that are satisfied earlier; only of
				 * lower index
				 */
};

enum verdict { UNDECIDED, RETRY, RIGHT, WRONG };

struct machine {
	uint8_t initial[MAX_LOCS];
	const uint8_t *class;
	int nstores;
	int nloads;
	struct store stores[MAX_STORES];
	struct load loads[MAX_LOADS];

	/* The program's answer when the loads in @done saw @seen. It is known when all loads are
	 * done, or as soon as no other load can change it.
	 */
	enum verdict (*judge)(const void *ctx, uint32_t done, const uint8_t *seen);
	const void *ctx;
};

/* Numbers of executions; they saturate at UINT64_MAX. */
struct tally {
	uint64_t runs;
	uint64_t answered;	/* look-ups that gave an answer; the others retry */
	uint64_t wrong;
};

/* One access of an execution */
struct event {
	bool store;
	int index;
	uint32_t visible;	/* the stores visible to a load */
	uint8_t loc;		/* location of the load */
};

/* The state of an execution. Executions that reach the same state continue in the same ways, so the
 * work is done once. States are hashed and compared as bytes.
 */
struct state {
	uint32_t stores;	/* visible stores */
	uint32_t loads;		/* loads that are done, or not needed */
	uint8_t from;		/* first load that may come before the next store */
	uint8_t seen[MAX_LOADS];
};

_Static_assert(sizeof(struct state) == 32, "no padding: hashed as bytes");

struct memo {
	struct state state;
	struct tally tally;
	uint64_t run;		/* machine_run() it belongs to: others are free */
};

static struct memo *memos;
static uint64_t memo_size, memo_used, memo_run;

static struct memo *memo_slot(const struct state *s)
{
	uint64_t word[4], h = 0;
	struct memo *e;
	int i;

	memcpy(word, s, sizeof(word));
	for (i = 0; i < 4; i++) {
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	for (;; h++) {
		e = &memos[h & (memo_size - 1)];
		if (e->run != memo_run || !memcmp(&e->state, s, sizeof(*s)))
			return e;
	}
}

static void memo_grow(void)
{
	struct memo *old = memos, *e;
	uint64_t n = memo_size;

	memo_size = n ? 2 * n : 1 << 12;
	memos = calloc(memo_size, sizeof(*memos));
	if (!memos) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	for (e = old; e < old + n; e++)
		if (e->run == memo_run)
			*memo_slot(&e->state) = *e;
	free(old);
}

static void memo_add(const struct state *s, const struct tally *t)
{
	if (2 * memo_used >= memo_size)
		memo_grow();
	*memo_slot(s) = (struct memo){ *s, *t, memo_run };
	memo_used++;
}

/* The content of @loc when the stores in @visible are visible. Stores to one location become
 * visible in program order.
 */
static uint8_t machine_memory(const struct machine *m, uint32_t visible, int loc)
{
	int i;

	for (i = m->nstores - 1; i >= 0; i--)
		if (m->stores[i].loc == loc && visible >> i & 1)
			return m->stores[i].val;
	return m->initial[loc];
}

static uint8_t machine_look(const struct machine *m, const struct load *ld,
			    uint32_t visible, int loc)
{
	uint8_t bits = 0;
	int i;

	switch (ld->look) {
	case LOOK_VALUE:
		return machine_memory(m, visible, loc);
	case LOOK_EQUAL:
		return machine_memory(m, visible, loc) == ld->want;
	case LOOK_BITS:
		return (machine_memory(m, visible, loc) >> ld->shift & ld->mask) == ld->want;
	}
	for (i = 0; i < ld->width; i++)
		if (m->class[machine_memory(m, visible, loc + i)] == ld->want)
			bits |= 1 << i;
	return bits;
}

static int load_loc(const struct load *ld, const struct state *s)
{
	return ld->loc[ld->by_ver >= 0 && s->seen[ld->by_ver]];
}

/* Does load @i return a store that is not older than that of an earlier load of the location? */
static bool coherent(const struct machine *m, const struct state *s, int i)
{
	int j;

	for (j = 0; j < m->nloads; j++) {
		if (m->loads[j].elder == i && s->loads >> j & 1 &&
		    s->seen[j] < s->seen[i])
			return false;
		if (m->loads[i].elder == j && s->loads >> j & 1 &&
		    s->seen[i] < s->seen[j])
			return false;
	}
	return true;
}

static bool useless(const struct load *ld, const struct state *s)
{
	const struct guard *g;

	for (g = ld->guards; g < ld->guards + MAX_GUARDS; g++)
		if (g->load >= 0 && s->loads >> g->load & 1 &&
		    (s->seen[g->load] & g->mask) != g->want)
			return true;
	return false;
}

static void drop_useless(const struct machine *m, struct state *s)
{
	int i;

	for (i = 0; i < m->nloads; i++)
		if (!(s->loads >> i & 1) && useless(&m->loads[i], s))
			s->loads |= UINT32_C(1) << i;
}

/* Do access @i (stores are numbered first) in state @s, if it is possible next. */
static bool step(const struct machine *m, const struct state *s, int i,
		 struct state *next)
{
	const struct load *ld;

	*next = *s;
	if (i < m->nstores) {
		next->stores |= UINT32_C(1) << i;
		next->from = 0;
		return next->stores != s->stores &&
		       !(m->stores[i].after & ~s->stores);
	}
	i -= m->nstores;
	ld = &m->loads[i];
	next->loads |= UINT32_C(1) << i;
	next->from = i;
	if (i < s->from || next->loads == s->loads || ld->after & ~s->loads)
		return false;
	next->seen[i] = machine_look(m, ld, s->stores, load_loc(ld, s));
	drop_useless(m, next);
	return coherent(m, next, i);
}

static enum verdict machine_judge(const struct machine *m, const struct state *s)
{
	return m->judge(m->ctx, s->loads, s->seen);
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void tally_add(struct tally *sum, const struct tally *t)
{
	sum->runs = add_saturated(sum->runs, t->runs);
	sum->answered = add_saturated(sum->answered, t->answered);
	sum->wrong = add_saturated(sum->wrong, t->wrong);
}

static struct tally explore(const struct machine *m, const struct state *s)
{
	struct tally sum = { 0 }, t;
	struct state next;
	enum verdict v;
	struct memo *e;
	int i;

	e = memo_slot(s);
	if (e->run == memo_run)
		return e->tally;
	v = machine_judge(m, s);
	if (v != UNDECIDED)
		return (struct tally){ 1, v != RETRY, v == WRONG };
	for (i = 0; i < m->nstores + m->nloads; i++) {
		if (!step(m, s, i, &next))
			continue;
		t = explore(m, &next);
		tally_add(&sum, &t);
	}
	memo_add(s, &sum);
	return sum;
}

/* Count all executions. */
static struct tally machine_run(const struct machine *m)
{
	struct state start = { 0 };

	if (!memos)
		memo_grow();
	memo_run++;
	memo_used = 0;
	return explore(m, &start);
}

/* After machine_run(): write an execution with a wrong answer to @trace, if there is one. Of
 * several, choose one that stays with the same processor as long as possible, which is easiest to
 * read. Returns its length.
 */
static int machine_witness(const struct machine *m, struct event *trace)
{
	int i = 0, k, n = 0, all = m->nstores + m->nloads, turn = m->nstores;
	struct state s = { 0 }, next;

	while (machine_judge(m, &s) == UNDECIDED) {
		for (k = 0; k < all; k++) {
			i = (turn + k) % all;
			if (step(m, &s, i, &next) && explore(m, &next).wrong)
				break;
		}
		if (k == all)
			return 0;
		trace[n].store = i < m->nstores;
		trace[n].index = i < m->nstores ? i : i - m->nstores;
		trace[n].visible = s.stores;
		if (i >= m->nstores)
			trace[n].loc = load_loc(&m->loads[i - m->nstores], &s);
		turn = i < m->nstores ? 0 : m->nstores;
		s = next;
		n++;
	}
	return n;
}

#endif /* _WEAKMEM_H */
