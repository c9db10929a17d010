/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface behind which the published set filters, our own filter and our
 * own tables are compared: one kind of key, one set of operations, and for all
 * but the kernel's own one hash.
 *
 * A filter answers "is this key in the set?" with false, which is always right
 * here, or with true, which may be a false positive. Letters in
 * struct filter_params are those of the literature.
 *
 * Where to start reading: bloom.c and cuckoo.c, then mbmbf.c; bench.c for what
 * is measured, test_filters.c for what has to hold.
 */
#ifndef _FILTER_H
#define _FILTER_H

#include <errno.h>
#include <linux/types.h>

/* More hash functions than any of the filters has use for. */
#define FILTER_K_MAX	32

enum filter_tie {
	FILTER_TIE_EMPTIER,
	FILTER_TIE_RANDOM,
	FILTER_TIE_FIRST,
};

/**
 * struct filter_params - what a filter is made for
 * @seed:	seed of the hash and of every random choice
 * @n:		entries that it shall hold
 * @fpp:	the rate of false positives at @n entries
 * @m:		bits of a Bloom filter, or of a row of a matrix; 0: from @n, @fpp
 * @k:		hash functions of a Bloom filter; 0: from @n, @fpp
 * @r:		rows of a matrix of Bloom filters, at most
 * @s:		groups that its rows are split into (M-BMBF), or rows that a
 *		matrix grows by at once (2BDBF)
 * @b:		slots of a bucket
 * @f:		bits of a fingerprint
 * @tie:	what decides between candidates that match equally (M-BMBF)
 * @kicks:	evictions before an insertion gives up
 * @undo:	take these evictions back then; false: lose the last victim, as
 *		published
 * @unhashed:	the other bucket is i xor f, not i xor hash(f), to see what the
 *		hash is good for
 * @grow:	a full filter becomes larger, past @n or @r
 * @overfill:	rows take entries even when more than half of their bits are set,
 *		the kernel's filter even past @n
 *
 * A filter ignores what it has no use for.
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
 * struct filter - what all filters begin with
 * @ops:	its operations
 * @seed:	of its hash
 * @count:	entries: added and not refused, less those deleted
 */
struct filter {
	const struct filter_ops *ops;
	u64 seed;
	u64 count;
};

/**
 * struct filter_ops - a kind of filter
 * @name:	a word
 * @source:	where it was published
 * @exact:	it has no false positives
 * @multi:	it stores an entry again that it has already
 * @create:	make an empty one
 * @destroy:	free it
 * @add:	0; -ENOSPC: it is full; -EEXIST: it was there, or seemed to be
 * @del:	0 or -ENOENT, for an entry that was added; NULL: impossible
 * @test:	false: certainly not there
 * @bits:	memory of the structure itself
 * @fpp:	the formula for false positives, for its present contents
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
extern const struct filter_ops filter_ours[3];	/* of 8 << i bits */
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
