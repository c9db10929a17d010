/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _RETRIES_H
#define _RETRIES_H

#include <linux/types.h>

/* How often look-ups of this thread have started again. */
extern __thread u64 bench_retries;

#endif /* _RETRIES_H */
