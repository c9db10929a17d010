// SPDX-License-Identifier: GPL-2.0
/*
 * Every execution of packets that count themselves for a change while it is being stored
 *
 * In a set with counters, a packet that matches a pending change counts itself there (match.c in
 * kmod/ipset). Whoever stores the change copies the counter, adds the entry with it, notes that so
 * many were "taken", and that the change is "stored"; then it takes what was counted since
 * (take_late_hits() in pending.c). A packet that counts itself finds that the change is stored, and
 * takes what nobody has taken yet, for the entry (pass_on()). This enumerates all executions of one
 * that stores the change beside two packets, and shows that
 *
 * - in the end the entry has each packet once, and a packet that compares the counter finds all
 *   packets there that were counted before it (test_protocol());
 * - that is not so if a barrier is removed or a rule is broken, and how: the execution is printed
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
 * take() in pending.c is a loop. Its last round is what counts: it reads the counter, and changes
 * what was taken, unless that was changed since. So the second access here does both at once, with
 * the counter as it was read before.
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
	W_TAKEN,		/* atomic64_set() in take_late_hits() */
	W_STORED,		/* smp_store_release(stored) there */
	W_READ,			/* take(): atomic64_read() */
	W_TAKE,			/* take(): cmpxchg. add_hits() adds that to the entry, some time later. */
	P_COUNT,		/* count(): atomic64_add(), and what it compares */
	P_STORED,		/* READ_ONCE(stored) in pass_on() */
	P_READ,			/* take(): atomic64_read() */
	P_TAKE,			/* take(): cmpxchg */
	P_FIND,			/* ipcuckoo_entries_fetch() in pass_on(), which adds that to the entry */
	P_END,
	PACKETS = 2,
	EACH = P_END - P_COUNT,
	ALL = P_COUNT + PACKETS * EACH,
};

/* The packet that has made the change counts for it. */
enum { COUNTED = 1 };

enum barrier {
	B_DONE,			/* smp_wmb() in ipcuckoo_pending_done() */
	B_STORED,		/* that of smp_store_release() in take_late_hits() */
	B_LATE,			/* smp_mb() in take_late_hits() */
	B_TAKE,			/* those of cmpxchg in take() */
	B_PASS_ON,		/* smp_mb() in pass_on() */
};

enum mutant {
	NO_MUTANT,
	NOT_PASSED_ON,		/* packets do not look whether the change is stored */
	NEVER_STORED,		/* "stored" is never set */
	STORED_LAST,		/* it is set after the late packets were taken */
	NOT_LATE,		/* late packets are not taken */
	COPY_NOT_TAKEN,		/* what was copied does not count as taken */
	COPY_SUBTRACTED,	/* it is subtracted from the counter instead */
	NOT_TAKEN,		/* what is taken is taken again */
	TAKEN_LESS,		/* take() does not look whether another one has taken more */
};

struct plan {
	uint32_t removed;	/* barriers that are removed */
	enum mutant mutant;
	uint32_t after[ALL];	/* accesses that come earlier */
	uint64_t runs;
	bool wrong;		/* the last run was, and has ended the search */
	uint8_t order[ALL], witness[ALL];
};

/* taken: of the counter, by anybody. got: by the writer, and by each packet. read: likewise */
struct state {
	uint32_t done;
	int8_t hits, copy, taken, counted;
	bool stored;
	bool there;		/* the contents have the entry */
	bool less;		/* a packet has compared a counter without earlier packets */
	bool saw[PACKETS], found[PACKETS];
	int8_t read[1 + PACKETS], got[1 + PACKETS];
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
	order(p, W_COPY, W_TAKEN);
	order(p, W_COPY, W_READ);
	order(p, W_TAKEN, W_TAKE);
	order(p, W_READ, W_TAKE);
	if (has(p, B_DONE)) {
		order(p, W_ENTRY, W_TAKEN);
		order(p, W_ENTRY, W_STORED);
	}
	if (has(p, B_STORED)) {
		order(p, W_ENTRY, W_STORED);
		order(p, W_TAKEN, W_STORED);
	}
	if (last) {
		order(p, W_TAKE, W_STORED);
		return;
	}
	if (has(p, B_LATE)) {
		order(p, W_ENTRY, W_READ);
		order(p, W_TAKEN, W_READ);
		order(p, W_STORED, W_READ);
	}
	if (has(p, B_TAKE)) {
		order(p, W_ENTRY, W_TAKE);
		order(p, W_STORED, W_TAKE);
	}
}

static void order_packet(struct plan *p, int first)
{
	int n = first - P_COUNT;

	if (has(p, B_PASS_ON))
		order(p, P_COUNT + n, P_STORED + n);
	order(p, P_COUNT + n, P_READ + n);
	order(p, P_READ + n, P_TAKE + n);
	order(p, P_STORED + n, P_TAKE + n);
	if (has(p, B_TAKE))
		order(p, P_TAKE + n, P_FIND + n);
}

/* What the cmpxchg takes, if the counter was read before */
static int take(const struct plan *p, struct state *s, int read)
{
	int got = read - s->taken;

	if (got <= 0 && p->mutant != TAKEN_LESS)
		return 0;
	if (p->mutant != NOT_TAKEN)
		s->taken = read;
	return got;
}

static void do_writer(const struct plan *p, struct state *s, enum access access)
{
	switch (access) {
	case W_COPY:
		s->copy = s->hits;
		break;
	case W_ENTRY:
		s->there = true;
		break;
	case W_TAKEN:
		if (p->mutant == COPY_SUBTRACTED)
			s->hits -= s->copy;
		else if (p->mutant != COPY_NOT_TAKEN)
			s->taken = s->copy;
		break;
	case W_STORED:
		s->stored = p->mutant != NEVER_STORED;
		break;
	case W_READ:
		s->read[PACKETS] = s->hits;
		break;
	default:
		if (p->mutant != NOT_LATE)
			s->got[PACKETS] = take(p, s, s->read[PACKETS]);
	}
}

static void do_packet(const struct plan *p, struct state *s, enum access access, int n)
{
	switch (access) {
	case P_COUNT:
		s->hits++;
		s->counted++;
		s->less |= s->hits < COUNTED + s->counted;
		break;
	case P_STORED:
		s->saw[n] = s->stored && p->mutant != NOT_PASSED_ON;
		break;
	case P_READ:
		s->read[n] = s->hits;
		break;
	case P_TAKE:
		s->got[n] = s->saw[n] ? take(p, s, s->read[n]) : 0;
		break;
	default:
		s->found[n] = s->there;
	}
}

/* The counter of the entry in the end. A packet that does not find the entry counts nothing for it. */
static int entry(const struct state *s)
{
	int i, sum = s->copy + s->got[PACKETS];

	for (i = 0; i < PACKETS; i++)
		sum += s->found[i] ? s->got[i] : 0;
	return sum;
}

static enum access kind(int i)
{
	return i < P_COUNT ? i : P_COUNT + (i - P_COUNT) % EACH;
}

static void explore(struct plan *p, const struct state *s, int depth)
{
	struct state next;
	int i;

	if (p->wrong)
		return;
	if (depth == ALL) {
		p->runs++;
		p->wrong = entry(s) != COUNTED + PACKETS || s->less;
		if (p->wrong)
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
		"the copy counts as taken", "the change is stored", "the counter is read",
		"what was read is taken, for the entry",
		"counts itself", "looks whether the change is stored", "reads the counter",
		"takes what it has read, if it is stored", "looks for the entry, to add that",
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

	expect(!p.wrong, "each packet counts once, and compares the whole counter");
	ktap_case("%d packets beside one that stores, %" PRIu64 " executions", PACKETS, p.runs);
	if (p.wrong)
		print_witness(&p);
}

static const struct change {
	const char *name;
	uint32_t removed;
	enum mutant mutant;
	bool needed;
} changes[] = {
	/* The release of "stored" orders the entry, too. */
	{ "removing done", BIT(B_DONE), 0, false },
	{ "removing stored", BIT(B_STORED), 0, true },
	{ "removing late", BIT(B_LATE), 0, true },
	{ "removing take", BIT(B_TAKE), 0, true },
	{ "removing pass_on", BIT(B_PASS_ON), 0, true },
	{ "packets pass nothing on", 0, NOT_PASSED_ON, true },
	{ "the change is never marked as stored", 0, NEVER_STORED, true },
	{ "it is marked after late packets were taken", 0, STORED_LAST, true },
	{ "late packets are not taken", 0, NOT_LATE, true },
	{ "what was copied does not count as taken", 0, COPY_NOT_TAKEN, true },
	{ "what was copied is subtracted from the counter", 0, COPY_SUBTRACTED, true },
	{ "what is taken is taken again", 0, NOT_TAKEN, true },
	{ "who has read less takes what was taken", 0, TAKEN_LESS, true },
};

/* Remove a barrier or break a rule, and check whether a packet is lost, or counts twice. */
static void test_change(const struct change *c)
{
	struct plan p = run(c->removed, c->mutant);

	expect(p.wrong == c->needed, "a wrong counter is expected, or none");
	ktap_case("%s: %s, %" PRIu64 " executions", c->name,
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
