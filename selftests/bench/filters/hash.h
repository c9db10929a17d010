/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hash of all filters, and the random numbers and keys of the programs. All of them
 * depend only on a seed.
 */
#ifndef _HASH_H
#define _HASH_H

#include <linux/types.h>

/* 2^64 divided by the golden ratio */
#define HASH_STEP	0x9e3779b97f4a7c15ULL

/* Xor-shifts and multiplications with the constants of D. Stafford's "Mix13" (Better Bit Mixing,
 * 2011). A bijection of the 64-bit words.
 */
static inline u64 hash64(u64 seed, u64 x)
{
	x ^= seed;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* Scales @x, as a fraction of 2^64, to @n. Unlike the remainder, this is uniform for any @n; it is
 * also faster.
 */
static inline u64 hash_scale(u64 x, u64 n)
{
	return (unsigned __int128)x * n >> 64;
}

/**
 * struct hash_pair - two hashes of a key, from which any number of hashes is computed
 *
 * A. Kirsch, M. Mitzenmacher: Less Hashing, Same Performance (ESA 2006): the
 * i-th hash is @first + i * @step. All hashes of two keys collide with a
 * probability of the order of 1/m^2, which is far below the rates measured here.
 */
struct hash_pair {
	u64 first;
	u64 step;
};

static inline struct hash_pair hash_pair(u64 seed, u32 key)
{
	return (struct hash_pair){
		hash64(seed, key), hash64(seed + HASH_STEP, key)
	};
}

static inline u64 hash_nth(const struct hash_pair *pair, unsigned int i, u64 m)
{
	return hash_scale(pair->first + i * pair->step, m);
}

struct random {
	u64 seed;
	u64 turn;
};

static inline struct random random_seed(u64 seed)
{
	return (struct random){ hash64(HASH_STEP, seed), 0 };
}

static inline u64 random_u64(struct random *random)
{
	return hash64(random->seed, random->turn += HASH_STEP);
}

static inline u32 random_below(struct random *random, u32 n)
{
	return hash_scale(random_u64(random), n);
}

/* The @i-th key. All keys are different, so keys with higher numbers than those of a set are
 * non-members of it. The constants are C. Wellons' "lowbias32" (Hash Prospector, 2018).
 */
static inline u32 key_nth(u64 seed, u32 i)
{
	u32 x = i ^ (u32)hash64(~HASH_STEP, seed);

	x = (x ^ x >> 16) * 0x7feb352dU;
	x = (x ^ x >> 15) * 0x846ca68bU;
	return x ^ x >> 16;
}

#endif /* _HASH_H */
