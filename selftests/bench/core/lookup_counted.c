// SPDX-License-Identifier: GPL-2.0
/*
 * The module's look-ups as they are, but that each which has to be repeated is
 * counted: right before it begins again, and nowhere else, it relaxes.
 */
#include <linux/compiler.h>

#include "retries.h"

__thread u64 bench_retries;

#define cpu_relax()	((void)bench_retries++)

#include "lookup.c"
