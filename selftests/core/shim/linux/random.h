/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers that depend only on the seed of the test; only for the writer's thread. */
#ifndef _SHIM_LINUX_RANDOM_H
#define _SHIM_LINUX_RANDOM_H

#include <linux/types.h>

void shim_random_seed(u64 seed);
u64 get_random_u64(void);
void get_random_bytes(void *buf, size_t len);

#endif /* _SHIM_LINUX_RANDOM_H */
