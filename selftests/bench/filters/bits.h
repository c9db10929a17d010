/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays of bits, and of fields of some bits that may straddle two words. */
#ifndef _BITS_H
#define _BITS_H

#include <linux/types.h>

/* A field may be read from one word beyond the one it is in, so allocate one more. */
static inline size_t bits_size(u64 bits)
{
	return (bits / 64 + 2) * sizeof(u64);
}

static inline bool bit_test(const u64 *words, u64 i)
{
	return words[i / 64] >> i % 64 & 1;
}

/* Set a bit. Returns whether it was clear. */
static inline bool bit_set(u64 *words, u64 i)
{
	u64 bit = 1ULL << i % 64, old = words[i / 64];

	words[i / 64] = old | bit;
	return !(old & bit);
}

static inline void bit_clear(u64 *words, u64 i)
{
	words[i / 64] &= ~(1ULL << i % 64);
}

/* The @width (1 to 32) bits from @i on. */
static inline u32 field_get(const u64 *words, u64 i, unsigned int width)
{
	unsigned int shift = i % 64;
	u64 value = words[i / 64] >> shift;

	if (shift + width > 64)
		value |= words[i / 64 + 1] << (64 - shift);
	return value & ((1ULL << width) - 1);
}

static inline void field_set(u64 *words, u64 i, unsigned int width, u32 value)
{
	u64 mask = (1ULL << width) - 1;
	unsigned int shift = i % 64;
	u64 *word = &words[i / 64];

	word[0] = (word[0] & ~(mask << shift)) | (u64)value << shift;
	if (shift + width > 64) {
		shift = 64 - shift;
		word[1] = (word[1] & ~(mask >> shift)) | (u64)value >> shift;
	}
}

#endif /* _BITS_H */
