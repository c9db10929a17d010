/* SPDX-License-Identifier: GPL-2.0 */
/* Common functions of the tests of the core: random numbers, entries, text for messages. */
#ifndef _CORE_H
#define _CORE_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <string.h>

#include "entries.h"
#include "gc.h"
#include "lookup.h"
#include "plain.h"
#include "rebuild.h"
#include "usage.h"
#include "../lib/ktap.h"

/* Random numbers of the test itself. The code under test uses get_random_bytes(), so that the
 * numbers of the one do not depend on how many the other has drawn.
 */
struct random {
	u64 state;
};

static inline u64 random_u64(struct random *r)
{
	r->state ^= r->state << 13;
	r->state ^= r->state >> 7;
	r->state ^= r->state << 17;
	return r->state * 0x2545f4914f6cdd1dULL;
}

static inline u32 random_u32(struct random *r)
{
	return random_u64(r) >> 32;
}

/* A number less than @n. */
static inline u32 random_below(struct random *r, u32 n)
{
	return (u64)random_u32(r) * n >> 32;
}

static inline struct random random_seed(u64 seed)
{
	struct random r = { (seed ^ 0x5851f42d4c957f2dULL) * 0x9e3779b97f4a7c15ULL | 1 };
	int i;

	for (i = 0; i < 8; i++)
		random_u64(&r);
	return r;
}

static inline unsigned int family_bits(bool v6)
{
	return v6 ? 128 : 32;
}

static inline struct ipcuckoo_key key4(u32 addr)
{
	return (struct ipcuckoo_key){ .lo = addr };
}

/* @addr cut to @len. Computed bit by bit, unlike in the code under test. */
static inline struct ipcuckoo_key cut(struct ipcuckoo_key addr, bool v6,
				      unsigned int len)
{
	unsigned int bit;

	for (bit = 0; bit < family_bits(v6) - len; bit++) {
		if (bit < 64)
			addr.lo &= ~(1ULL << bit);
		else
			addr.hi &= ~(1ULL << (bit - 64));
	}
	return addr;
}

/* The first permuted key whose product has @bucket and @low, or more, as its words: the inverse of
 * the first step of ipcuckoo_table_locate32().
 */
static inline u32 permuted_first(u32 nbuckets, u32 bucket, u32 low)
{
	return (((u64)bucket << 32 | low) + nbuckets - 1) / nbuckets;
}

static inline unsigned int slots_of_bucket(const struct ipcuckoo_table *t)
{
	return ipcuckoo_table_format(t)->slots;
}

static inline struct ipcuckoo_key key_of_permuted(const struct ipcuckoo_table *t, u32 y)
{
	return key4(ipcuckoo_unpermute(&t->bijection, t->inverse, y));
}

static inline struct ipcuckoo_entry entry4(u32 addr, unsigned int len)
{
	return (struct ipcuckoo_entry){ cut(key4(addr), false, len), len, false };
}

static inline struct ipcuckoo_entry entry6(u64 hi, u64 lo, unsigned int len)
{
	struct ipcuckoo_key addr = { hi, lo };

	return (struct ipcuckoo_entry){ cut(addr, true, len), len, true };
}

static inline struct ipcuckoo_entry host4(u32 addr)
{
	return (struct ipcuckoo_entry){ key4(addr), 32, false };
}

static inline const char *entry_text(const struct ipcuckoo_entry *entry)
{
	static char text[4][64];
	static unsigned int turn;
	char *p = text[turn++ % 4];

	if (entry->v6)
		snprintf(p, 64, "%016llx:%016llx/%u", entry->addr.hi,
			 entry->addr.lo, entry->len);
	else
		snprintf(p, 64, "%llu.%llu.%llu.%llu/%u", entry->addr.lo >> 24,
			 entry->addr.lo >> 16 & 255, entry->addr.lo >> 8 & 255,
			 entry->addr.lo & 255, entry->len);
	return p;
}

/* Destroy a set that its writer has locked, and wait for memory that readers may use. */
static inline void set_exit(struct ipcuckoo_entries *e)
{
	struct ipcuckoo_mem *mem = e->mem;

	mutex_unlock(&e->mutex);
	ipcuckoo_entries_exit(e);
	ipcuckoo_mem_close(mem);
}

/* Check that everything was freed. */
static inline void expect_nothing_left(struct ipcuckoo_mem *mem)
{
	ipcuckoo_search_exit();
	expect_equal(atomic_long_read(&mem->used), 0, "bytes charged at the end");
	expect_equal(shim_objects, 0, "objects at the end");
}

/* Look an address up as a reader does, in a set of family any. */
static inline bool match(struct ipcuckoo_entries *e,
			 const struct ipcuckoo_key *addr, bool v6)
{
	bool matched;

	rcu_read_lock();
	if (!v6)
		matched = ipcuckoo_entries_match4(e, addr->lo);
	else if (ipcuckoo_key_mapped(addr))
		matched = ipcuckoo_entries_match_mapped(e, addr);
	else
		matched = ipcuckoo_entries_match6(e, addr);
	rcu_read_unlock();
	return matched;
}

#endif /* _CORE_H */
