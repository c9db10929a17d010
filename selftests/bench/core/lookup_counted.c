// SPDX-License-Identifier: GPL-2.0
/*
 * The unmodified look-ups of the module, with a counter of retries: cpu_relax(), which a look-up
 * calls only right before it starts again, increments it.
 */
#include <linux/compiler.h>

#include "retries.h"

__thread u64 bench_retries;

#define cpu_relax()	((void)bench_retries++)

#include "lookup.c"
