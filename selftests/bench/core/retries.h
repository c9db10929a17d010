/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _RETRIES_H
#define _RETRIES_H

#include <linux/types.h>

/* Look-ups that this thread began again. */
extern __thread u64 bench_retries;

#endif /* _RETRIES_H */
