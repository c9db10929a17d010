// SPDX-License-Identifier: GPL-2.0
/*
 * Every execution of packets that count themselves for a change while it is being stored
 *
 * In a set with counters, a packet that matches a pending change counts itself there (match.c in
 * kmod/ipset). Whoever stores the change copies the counter, and takes what was counted since, once
 * the contents have the entry (take_late_hits() in pending.c). A packet that counts itself later yet
 * finds that the change is "stored", and passes its count on to the entry (pass_on()). This
 * enumerates all executions of one that stores the change beside two packets, and shows that
 *
 * - in the end the entry has each packet once (test_protocol());
 * - it has not, if a barrier is removed or a rule is broken, and how: the execution is printed
 *   (test_change()). A barrier that another one stands in for is shown not to be needed, unless both
 *   are removed.
 *
 * The machine is that of weakmem.h: an execution is one order of all accesses. It is enumerated here,
 * because all three processors read and write, which weakmem.h does not have. An access comes after
 * those that its processor has made before from the same location, from which its value is computed,
 * or which decide whether it is made, if it stores: a store is not speculated. All else is ordered
 * by barriers only. An atomic operation that returns a value has a full barrier on each side, one
 * that does not has none.
 *
 * The counter of bytes is like that of packets.
 */
#undef NDEBUG
#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../lib/ktap.h"

#define BIT(n)		(UINT32_C(1) << (n))
#define ARRAY_SIZE(a)	((int)(sizeof(a) / sizeof((a)[0])))

/* Whoever stores the change, and each packet */
enum access {
	W_COPY,			/* copy_change() */
	W_ENTRY,		/* apply_add(): the entry is added, with what was copied */
	W_SUB,			/* atomic64_sub() in take_late_hits() */
	W_STORED,		/* WRITE_ONCE(stored) there */
	W_TAKE,			/* ipcuckoo_pending_take_hits() there */
	W_ADD,			/* add_hits() */
	P_COUNT,		/* count(): atomic64_add() */
	P_STORED,		/* READ_ONCE(stored) in pass_on() */
	P_TAKE,			/* ipcuckoo_pending_take_hits() there */
	P_ADD,			/* ipcuckoo_record_count() there */
	P_END,
	PACKETS = 2,
	EACH = P_END - P_COUNT,
	ALL = P_COUNT + PACKETS * EACH,
};

/* The packet that has made the change counts for it. */
enum { COUNTED = 1 };

enum barrier {
	B_DONE,			/* smp_wmb() in ipcuckoo_pending_done() */
	B_LATE,			/* smp_mb() in take_late_hits() */
	B_TAKE,			/* that of atomic64_xchg() in ipcuckoo_pending_take_hits() */
	B_PASS_ON,		/* smp_mb() in pass_on() */
};

enum mutant {
	NO_MUTANT,
	NOT_PASSED_ON,		/* packets do not look whether the change is stored */
	NEVER_STORED,		/* "stored" is never set */
	STORED_LAST,		/* it is set after the late packets were taken */
	NOT_LATE,		/* late packets are not taken */
	COPY_STAYS,		/* what was copied is not subtracted */
	READ_ONLY,		/* what is taken stays there */
};

struct plan {
	uint32_t removed;	/* barriers that are removed */
	enum mutant mutant;
	uint32_t after[ALL];	/* accesses that come earlier */
	uint64_t runs, wrong;
	uint8_t order[ALL], witness[ALL];
};

struct state {
	uint32_t done;
	int64_t hits, copy, late;
	bool stored;
	bool there;		/* the contents have the entry */
	int64_t entry;		/* its counter */
	bool saw[PACKETS];
	int64_t taken[PACKETS];
};

static bool has(const struct plan *p, enum barrier b)
{
	return !(p->removed & BIT(b));
}

static void order(struct plan *p, int first, int second)
{
	p->after[second] |= BIT(first);
}

static void order_writer(struct plan *p)
{
	bool last = p->mutant == STORED_LAST;

	order(p, W_COPY, W_ENTRY);
	order(p, W_COPY, W_SUB);
	order(p, W_SUB, W_TAKE);
	order(p, W_TAKE, W_ADD);
	order(p, W_ENTRY, W_ADD);
	if (has(p, B_DONE)) {
		order(p, W_ENTRY, W_SUB);
		order(p, W_ENTRY, W_STORED);
		order(p, W_ENTRY, W_TAKE);
	}
	if (has(p, B_LATE) || has(p, B_TAKE))
		order(p, last ? W_TAKE : W_STORED, last ? W_STORED : W_TAKE);
	/* It also comes after what was stored before. */
	if (has(p, B_TAKE) || (has(p, B_LATE) && !last))
		order(p, W_ENTRY, W_TAKE);
}

static void order_packet(struct plan *p, int first)
{
	int n = first - P_COUNT;

	if (has(p, B_PASS_ON))
		order(p, P_COUNT + n, P_STORED + n);
	order(p, P_COUNT + n, P_TAKE + n);
	order(p, P_STORED + n, P_TAKE + n);
	order(p, P_TAKE + n, P_ADD + n);
}

static int64_t take(const struct plan *p, struct state *s)
{
	int64_t hits = s->hits;

	if (p->mutant != READ_ONLY)
		s->hits = 0;
	return hits;
}

static void do_writer(const struct plan *p, struct state *s, enum access access)
{
	switch (access) {
	case W_COPY:
		s->copy = s->hits;
		break;
	case W_ENTRY:
		s->there = true;
		s->entry = s->copy;
		break;
	case W_SUB:
		if (p->mutant != COPY_STAYS)
			s->hits -= s->copy;
		break;
	case W_STORED:
		s->stored = p->mutant != NEVER_STORED;
		break;
	case W_TAKE:
		s->late = p->mutant == NOT_LATE ? 0 : take(p, s);
		break;
	default:
		s->entry += s->late;
	}
}

static void do_packet(const struct plan *p, struct state *s, enum access access, int n)
{
	switch (access) {
	case P_COUNT:
		s->hits++;
		break;
	case P_STORED:
		s->saw[n] = s->stored && p->mutant != NOT_PASSED_ON;
		break;
	case P_TAKE:
		s->taken[n] = s->saw[n] ? take(p, s) : 0;
		break;
	default:
		/* An entry that is not there yet is not found. */
		if (s->there)
			s->entry += s->taken[n];
	}
}

static enum access kind(int i)
{
	return i < P_COUNT ? i : P_COUNT + (i - P_COUNT) % EACH;
}

static void explore(struct plan *p, const struct state *s, int depth)
{
	struct state next;
	int i;

	if (depth == ALL) {
		p->runs++;
		if (s->entry != COUNTED + PACKETS && !p->wrong++)
			memcpy(p->witness, p->order, sizeof(p->witness));
		return;
	}
	for (i = 0; i < ALL; i++) {
		if (s->done & BIT(i) || p->after[i] & ~s->done)
			continue;
		next = *s;
		next.done |= BIT(i);
		if (i < P_COUNT)
			do_writer(p, &next, i);
		else
			do_packet(p, &next, kind(i), (i - P_COUNT) / EACH);
		p->order[depth] = i;
		explore(p, &next, depth + 1);
	}
}

static struct plan run(uint32_t removed, enum mutant mutant)
{
	struct plan p = { .removed = removed, .mutant = mutant };
	const struct state start = { .hits = COUNTED };
	int n;

	order_writer(&p);
	for (n = 0; n < PACKETS; n++)
		order_packet(&p, P_COUNT + n * EACH);
	explore(&p, &start, 0);
	assert(p.runs);
	return p;
}

static void print_witness(const struct plan *p)
{
	static const char *const words[] = {
		"the counter of the change is copied", "the entry is added, with the copy",
		"the copy is subtracted from the counter", "the change is stored",
		"the counter is taken", "what was taken is added to the entry",
		"counts itself", "looks whether the change is stored", "takes the counter, if so",
		"adds that to the entry",
	};
	int i, at;

	for (i = 0; i < ALL; i++) {
		at = p->witness[i];
		if (at < P_COUNT)
			printf("#   writer: %s\n", words[at]);
		else
			printf("#   packet %d: %s\n", (at - P_COUNT) / EACH + 1, words[kind(at)]);
	}
}

static void test_protocol(void)
{
	struct plan p = run(0, NO_MUTANT);

	expect(!p.wrong, "each packet counts once");
	ktap_case("%d packets beside one that stores - %" PRIu64 " executions, %" PRIu64 " wrong",
		  PACKETS, p.runs, p.wrong);
	if (p.wrong)
		print_witness(&p);
}

static const struct change {
	const char *name;
	uint32_t removed;
	enum mutant mutant;
	bool needed;
} changes[] = {
	{ "removing done", BIT(B_DONE), 0, true },
	{ "removing pass_on", BIT(B_PASS_ON), 0, true },
	/* The exchange of a counter is a full barrier. */
	{ "removing late", BIT(B_LATE), 0, false },
	{ "removing take", BIT(B_TAKE), 0, false },
	{ "removing late and take", BIT(B_LATE) | BIT(B_TAKE), 0, true },
	{ "packets pass nothing on", 0, NOT_PASSED_ON, true },
	{ "the change is never marked as stored", 0, NEVER_STORED, true },
	{ "it is marked after late packets were taken", 0, STORED_LAST, true },
	{ "late packets are not taken", 0, NOT_LATE, true },
	{ "what was copied stays in the counter", 0, COPY_STAYS, true },
	{ "what is taken stays in the counter", 0, READ_ONLY, true },
};

/* Remove a barrier or break a rule, and check whether a packet is lost, or counts twice. */
static void test_change(const struct change *c)
{
	struct plan p = run(c->removed, c->mutant);

	expect(!!p.wrong == c->needed, "a wrong counter is expected, or none");
	ktap_case("%s: %s - %" PRIu64 " executions", c->name,
		  p.wrong ? "found a wrong counter" : "not needed", p.runs);
	if (p.wrong)
		print_witness(&p);
}

int main(void)
{
	int i;

	ktap_begin("weakmem_hits");
	test_protocol();
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		test_change(&changes[i]);
	return ktap_end();
}
