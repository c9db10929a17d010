/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _BLOOM_H
#define _BLOOM_H

#include "filter.h"

struct bloom_shape {
	u64 m;
	unsigned int k;
};

struct bloom_shape bloom_shape(const struct filter_params *params);
double bloom_rate(double n, double m, double k);
unsigned int bloom_reads(const struct filter *filter, u32 key);

#endif /* _BLOOM_H */
