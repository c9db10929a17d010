/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A keyed bijection of 32-bit words.
 *
 * The IPv4 tables store the rest of a permuted key after its bucket was taken out
 * (quotienting). So they need a permutation that looks random, can be inverted, and is
 * cheap. Three odd multiplications with xor-shifts between them take 7 cycles in addition
 * to the two bucket reads. In the prototype no structured set of keys (runs, progressions,
 * single bits, bit reversal) brought the table below a load factor of 0.9698 with it.
 *
 * It is not a cipher. An attacker who can add entries and see insertions fail might find
 * entries that collide. Then the table gets a new key (see table.c, Parameters).
 */
#ifndef _IPCUCKOO_BIJECTION_H
#define _IPCUCKOO_BIJECTION_H

#include <linux/types.h>

/**
 * struct ipcuckoo_bijection - the key of one permutation
 * @whiten:	xored in first
 * @mul:	odd factors, one a round
 */
struct ipcuckoo_bijection {
	u32 whiten;
	u32 mul[3];
};

/* The inverse of an odd number modulo 2^32: each step of Newton's iteration
 * doubles the number of correct low bits, and x itself has three.
 */
static inline u32 ipcuckoo_inverse(u32 x)
{
	u32 inv = x;
	int i;

	for (i = 0; i < 4; i++)
		inv *= 2 - x * inv;
	return inv;
}

/**
 * ipcuckoo_permute() - apply the permutation
 * @b:	its key
 * @x:	any word
 *
 * The high bits of the result are the well-mixed ones.
 */
static inline u32 ipcuckoo_permute(const struct ipcuckoo_bijection *b, u32 x)
{
	x ^= b->whiten;
	x *= b->mul[0];
	x ^= x >> 16;
	x *= b->mul[1];
	x ^= x >> 15;
	x *= b->mul[2];
	return x;
}

/**
 * ipcuckoo_unpermute() - undo the permutation
 * @b:		its key
 * @inverse:	ipcuckoo_inverse() of each of @b's factors
 * @y:		a result of ipcuckoo_permute()
 */
static inline u32 ipcuckoo_unpermute(const struct ipcuckoo_bijection *b,
				     const u32 inverse[3], u32 y)
{
	y *= inverse[2];
	y ^= (y >> 15) ^ (y >> 30);
	y *= inverse[1];
	y ^= y >> 16;
	y *= inverse[0];
	return y ^ b->whiten;
}

#endif /* _IPCUCKOO_BIJECTION_H */
