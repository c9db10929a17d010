/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bob Jenkins' lookup3 (2006, public domain) for three words, which is the kernel's
 * jhash_3words(). Written from the description of its last mixing step.
 */
#ifndef _SHIM_LINUX_JHASH_H
#define _SHIM_LINUX_JHASH_H

#include <linux/bitops.h>
#include <linux/types.h>

/* In each step, the same is done to the next word in turn. */
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

#define __jhash_final(a, b, c) do {					\
	u32 final_s[3] = { a, b, c };					\
	shim_jhash_final(final_s);					\
	a = final_s[0];							\
	b = final_s[1];							\
	c = final_s[2];							\
} while (0)

static inline u32 jhash_3words(u32 a, u32 b, u32 c, u32 initval)
{
	u32 start = JHASH_INITVAL + (3 << 2) + initval;
	u32 s[3] = { start + a, start + b, start + c };

	shim_jhash_final(s);
	return s[2];
}

#endif /* _SHIM_LINUX_JHASH_H */
