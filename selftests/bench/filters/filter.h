/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The common interface by which the published set filters, our own filter and our own
 * tables are compared: one kind of key, one set of operations, and one hash for all
 * except the kernel's own.
 *
 * A filter answers the question "is this key in the set?" with false, which is always
 * right here, or with true, which may be a false positive. Letters in struct
 * filter_params are those of the literature.
 *
 * To read the code, begin with bloom.c and cuckoo.c, then mbmbf.c. bench.c begins the
 * measurements; test_filters.c has the tests.
 */
#ifndef _FILTER_H
#define _FILTER_H

#include <errno.h>
#include <linux/types.h>

/* More hash functions than any filter needs */
#define FILTER_K_MAX	32

enum filter_tie {
	FILTER_TIE_EMPTIER,
	FILTER_TIE_RANDOM,
	FILTER_TIE_FIRST,
};

/**
 * struct filter_params - parameters of a filter
 * @seed:	seed of the hash and of every random choice
 * @n:		number of entries that it must hold
 * @fpp:	false-positive rate with @n entries
 * @m:		bits of a Bloom filter, or of a row of a matrix; 0: computed from @n, @fpp
 * @k:		hash functions of a Bloom filter; 0: computed from @n, @fpp
 * @r:		maximum number of rows of a matrix of Bloom filters
 * @s:		number of groups of rows (M-BMBF), or of rows by which a matrix grows (2BDBF)
 * @b:		slots of a bucket
 * @f:		bits of a fingerprint
 * @tie:	how to choose between candidates that match equally (M-BMBF)
 * @kicks:	maximum number of evictions of an insertion
 * @undo:	if an insertion fails, undo its evictions; false: lose the fingerprint that was
 *		evicted last, as published
 * @unhashed:	the other bucket is i xor f, not i xor hash(f), to show why the hash is needed
 * @grow:	a full filter becomes larger, beyond @n or @r
 * @overfill:	rows accept entries even if more than half of their bits are set, and the
 *		kernel's filter even beyond @n
 *
 * A filter ignores parameters that it does not need.
 */
struct filter_params {
	u64 seed;
	u64 n;
	double fpp;

	u64 m;
	unsigned int k;
	unsigned int r;
	unsigned int s;
	enum filter_tie tie;

	unsigned int b;
	unsigned int f;
	unsigned int kicks;
	bool undo;
	bool unhashed;

	bool grow;
	bool overfill;
};

/**
 * struct filter - the beginning of all filters
 * @ops:	its operations
 * @seed:	seed of its hash
 * @count:	number of entries: those added and not refused, minus those deleted
 */
struct filter {
	const struct filter_ops *ops;
	u64 seed;
	u64 count;
};

/**
 * struct filter_ops - a kind of filter
 * @name:	a short name
 * @source:	where it was published
 * @exact:	it has no false positives
 * @multi:	it stores an entry again that it has already
 * @create:	create an empty filter
 * @destroy:	free it
 * @add:	returns 0; -ENOSPC: it is full; -EEXIST: the entry matches already
 * @del:	returns 0 or -ENOENT; only for an entry that was added; NULL: impossible
 * @test:	returns false only for non-members
 * @bits:	memory of the data structure, in bits
 * @fpp:	false-positive rate by the formula, for its present contents
 */
struct filter_ops {
	const char *name;
	const char *source;
	bool exact;
	bool multi;
	struct filter *(*create)(const struct filter_params *params);
	void (*destroy)(struct filter *filter);
	int (*add)(struct filter *filter, u32 key);
	int (*del)(struct filter *filter, u32 key);
	bool (*test)(const struct filter *filter, u32 key);
	u64 (*bits)(const struct filter *filter);
	double (*fpp)(const struct filter *filter);
};

extern const struct filter_ops filter_bloom, filter_counting, filter_blocked;
extern const struct filter_ops filter_split, filter_dynamic, filter_2bdbf;
extern const struct filter_ops filter_mbmbf;
extern const struct filter_ops filter_hashtable1, filter_hashtable;
extern const struct filter_ops filter_cuckoo, filter_semisort;
extern const struct filter_ops filter_ours[3];	/* with 8 << i bits */
extern const struct filter_ops filter_table, filter_entries;

extern const struct filter_ops *const filter_all[];
extern const unsigned int filter_count;

struct filter_params filter_defaults(u64 seed, u64 n);
struct filter *filter_create(const struct filter_ops *ops,
			     const struct filter_params *params);
void *filter_alloc(size_t size);

static inline void filter_destroy(struct filter *filter)
{
	filter->ops->destroy(filter);
}

static inline int filter_add(struct filter *filter, u32 key)
{
	return filter->ops->add(filter, key);
}

static inline int filter_del(struct filter *filter, u32 key)
{
	return filter->ops->del(filter, key);
}

static inline bool filter_test(const struct filter *filter, u32 key)
{
	return filter->ops->test(filter, key);
}

static inline u64 filter_bits(const struct filter *filter)
{
	return filter->ops->bits(filter);
}

static inline double filter_fpp(const struct filter *filter)
{
	return filter->ops->fpp(filter);
}

#endif /* _FILTER_H */
