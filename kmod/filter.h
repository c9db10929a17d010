/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cuckoo filter. filter.c explains how it works.
 *
 * For readers (any context, under rcu_read_lock(), without a lock):
 * ipcuckoo_filter_probe() and ipcuckoo_filter_prefetch().
 * For the one writer (process context, serialised by the caller): the other functions.
 */
#ifndef _IPCUCKOO_FILTER_H
#define _IPCUCKOO_FILTER_H

#include "table.h"

enum {
	/* Copies of an entry that fill both of its buckets: one more has no free slot. */
	IPCUCKOO_COPIES_MAX	= 2 * IPCUCKOO_SLOTS,
};

/**
 * struct ipcuckoo_filter_shape - parameters of a filter
 * @capacity:	maximum number of entries. There is room for them if they are all different
 * @bits:	bits of a fingerprint: 8, 16 or 32; 0 if there is no filter
 * @multi:	each addition is stored, so that entries can be deleted
 */
struct ipcuckoo_filter_shape {
	u32 capacity;
	u8 bits;
	bool multi;
};

/**
 * struct ipcuckoo_filter - buckets of four fingerprints
 * @words:	the fingerprints: a u32, a u64 or two u64 for each bucket
 * @nbuckets:	number of buckets; even, but not necessarily a power of two
 * @shape:	its parameters
 * @seed:	seed of the hash
 * @count:	number of fingerprints stored; writer only
 * @displaced:	number of displacements so far; writer only
 * @area:	the memory of @words
 * @mem:	the account to which it is charged
 */
struct ipcuckoo_filter {
	void *words;
	u32 nbuckets;
	struct ipcuckoo_filter_shape shape;
	u32 seed[2];

	u32 count;
	u64 displaced;
	struct ipcuckoo_area area;
	struct ipcuckoo_mem *mem;
};

bool ipcuckoo_filter_probe(const struct ipcuckoo_filter *f,
			   const struct ipcuckoo_key *addr);
void ipcuckoo_filter_prefetch(const struct ipcuckoo_filter *f,
			      const struct ipcuckoo_key *addr);

u32 ipcuckoo_filter_buckets(const struct ipcuckoo_filter_shape *shape);
struct ipcuckoo_filter *
ipcuckoo_filter_create(struct ipcuckoo_mem *mem,
		       const struct ipcuckoo_filter_shape *shape);
int ipcuckoo_filter_copy(struct ipcuckoo_filter *to,
			 const struct ipcuckoo_filter *from);
void ipcuckoo_filter_destroy(struct ipcuckoo_filter *f);
size_t ipcuckoo_filter_memory(const struct ipcuckoo_filter *f);

unsigned int ipcuckoo_filter_copies(const struct ipcuckoo_filter *f,
				    const struct ipcuckoo_key *addr);
int ipcuckoo_filter_insert(struct ipcuckoo_filter *f,
			   struct ipcuckoo_guard *guard,
			   const struct ipcuckoo_key *addr,
			   struct ipcuckoo_search_node *queue);
int ipcuckoo_filter_delete(struct ipcuckoo_filter *f,
			   struct ipcuckoo_guard *guard,
			   const struct ipcuckoo_key *addr);

/* The key of an IPv4 address in a filter: the address ::ffff:a.b.c.d. */
static inline struct ipcuckoo_key ipcuckoo_filter_key4(u32 addr)
{
	return (struct ipcuckoo_key){ .lo = 0xffffULL << 32 | addr };
}

#endif /* _IPCUCKOO_FILTER_H */
