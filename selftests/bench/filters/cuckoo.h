/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cuckoo filter. Where fingerprints are stored (cuckoo.c) is separate from how those
 * of a bucket are packed (cuckoo.c, semisort.c).
 */
#ifndef _CUCKOO_H
#define _CUCKOO_H

#include "filter.h"
#include "hash.h"

#define CUCKOO_SLOTS_MAX	8
#define CUCKOO_SMALL		256

struct cuckoo;

/**
 * struct cuckoo_store - how the fingerprints of a bucket are packed
 * @bits:	bits of a bucket
 * @get:	unpack them; 0 is an empty slot
 * @put:	pack them; their order may change
 */
struct cuckoo_store {
	unsigned int (*bits)(const struct cuckoo *cuckoo);
	void (*get)(const struct cuckoo *cuckoo, u64 bucket, u32 *fp);
	void (*put)(struct cuckoo *cuckoo, u64 bucket, const u32 *fp);
};

/* An eviction: which fingerprint replaced which, in which bucket */
struct cuckoo_kick {
	u64 bucket;
	u32 in;
	u32 out;
};

/**
 * struct cuckoo - a cuckoo filter
 * @filter:	common to all filters
 * @store:	how to pack fingerprints
 * @words:	the buckets
 * @mask:	number of buckets, a power of two, less 1
 * @b:		slots of a bucket
 * @f:		bits of a fingerprint
 * @bucket_bits: bits of a bucket, as in @store
 * @kicks:	maximum number of evictions of an insertion
 * @kicked:	number of evictions so far
 * @dropped:	fingerprints lost by failed insertions
 * @unhashed:	use a fingerprint instead of its hash
 * @log:	to undo evictions; NULL: they are not undone
 * @random:	random numbers, to choose a fingerprint to evict
 * @alt:	table of the hashes of small fingerprints
 */
struct cuckoo {
	struct filter filter;
	const struct cuckoo_store *store;
	u64 *words;
	u64 mask;
	unsigned int b;
	unsigned int f;
	unsigned int bucket_bits;
	unsigned int kicks;
	u64 kicked;
	u64 dropped;
	bool unhashed;
	struct cuckoo_kick *log;
	struct random random;
	u64 alt[CUCKOO_SMALL];
};

/* The two buckets of a fingerprint */
struct cuckoo_place {
	u64 bucket[2];
	u32 fp;
};

struct filter *cuckoo_create(const struct filter_params *params,
			     const struct cuckoo_store *store);
void cuckoo_destroy(struct filter *filter);
int cuckoo_add(struct filter *filter, u32 key);
int cuckoo_del(struct filter *filter, u32 key);
bool cuckoo_test(const struct filter *filter, u32 key);
unsigned int cuckoo_reads(const struct filter *filter, u32 key);
u64 cuckoo_bits(const struct filter *filter);
double cuckoo_fpp(const struct filter *filter);
double cuckoo_rate(u64 count, u64 buckets, unsigned int f);

struct cuckoo_place cuckoo_place(const struct cuckoo *cuckoo, u32 key);
u64 cuckoo_slots(const struct filter *filter);

/* The packing of four nibbles in ascending order (semisort.c), for the tests. */
#define SEMISORT_CODES	3876
u32 semisort_encode(const u32 nibble[4]);
void semisort_decode(u32 code, u32 nibble[4]);

#endif /* _CUCKOO_H */
