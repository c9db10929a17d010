/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bob Jenkins' lookup3 (2006, public domain) for arrays of words, which is the kernel's
 * jhash2(). Written from the description of its two mixing steps.
 */
#ifndef _SHIM_LINUX_JHASH_H
#define _SHIM_LINUX_JHASH_H

#include <linux/bitops.h>
#include <linux/types.h>

/* In each step of "mix" and "final", the same is done to the next word in turn. */
static inline void shim_jhash_mix(u32 s[3])
{
	static const u8 turn[6] = { 4, 6, 8, 16, 19, 4 };
	int i;

#pragma GCC unroll 6
	for (i = 0; i < 6; i++) {
		u32 *a = &s[i % 3], *b = &s[(i + 1) % 3], *c = &s[(i + 2) % 3];

		*a -= *c;
		*a ^= rol32(*c, turn[i]);
		*c += *b;
	}
}

static inline void shim_jhash_final(u32 s[3])
{
	static const u8 turn[7] = { 14, 11, 25, 16, 4, 14, 24 };
	int i;

#pragma GCC unroll 7
	for (i = 0; i < 7; i++) {
		u32 *to = &s[(i + 2) % 3], *from = &s[(i + 1) % 3];

		*to ^= *from;
		*to -= rol32(*from, turn[i]);
	}
}

#define JHASH_INITVAL	0xdeadbeef

#define SHIM_JHASH_STEP(step, a, b, c) do {				\
	u32 step_s[3] = { a, b, c };					\
	step(step_s);							\
	a = step_s[0];							\
	b = step_s[1];							\
	c = step_s[2];							\
} while (0)

#define __jhash_mix(a, b, c)	SHIM_JHASH_STEP(shim_jhash_mix, a, b, c)
#define __jhash_final(a, b, c)	SHIM_JHASH_STEP(shim_jhash_final, a, b, c)

static inline u32 jhash2(const u32 *k, u32 length, u32 initval)
{
	u32 start = JHASH_INITVAL + (length << 2) + initval;
	u32 s[3] = { start, start, start };
	u32 i;

	for (; length > 3; length -= 3, k += 3) {
		for (i = 0; i < 3; i++)
			s[i] += k[i];
		shim_jhash_mix(s);
	}
	if (!length)
		return s[2];
	for (i = 0; i < length; i++)
		s[i] += k[i];
	shim_jhash_final(s);
	return s[2];
}

#endif /* _SHIM_LINUX_JHASH_H */
