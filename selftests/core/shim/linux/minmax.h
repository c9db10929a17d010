/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_MINMAX_H
#define _SHIM_LINUX_MINMAX_H

/* Like the kernel's min() and max(), refuse mixed types: the addresses of two temporaries are
 * compared. max_t() and min_t() name the type.
 */
#define SHIM_PICK(a, b, op) ({					\
	__typeof__(a) pick_a = (a);				\
	__typeof__(b) pick_b = (b);				\
	(void)(&pick_a == &pick_b);				\
	pick_a op pick_b ? pick_a : pick_b;			\
})

#define min(a, b)		SHIM_PICK(a, b, <)
#define max(a, b)		SHIM_PICK(a, b, >)
#define min_t(type, a, b)	SHIM_PICK((type)(a), (type)(b), <)
#define max_t(type, a, b)	SHIM_PICK((type)(a), (type)(b), >)
#define clamp_t(type, v, lo, hi)	min_t(type, max_t(type, v, lo), hi)

#define min_not_zero(a, b) ({					\
	__typeof__(a) nonzero_a = (a);				\
	__typeof__(b) nonzero_b = (b);				\
	!nonzero_a ? nonzero_b :				\
	!nonzero_b ? nonzero_a : min(nonzero_a, nonzero_b);	\
})

#define swap(a, b) do {						\
	__typeof__(a) swap_a = (a);				\
	(a) = (b);						\
	(b) = swap_a;						\
} while (0)

#endif /* _SHIM_LINUX_MINMAX_H */
