/* SPDX-License-Identifier: GPL-2.0-only */
/* Keys: what tables store and filters hash. */
#ifndef _IPCUCKOO_KEY_H
#define _IPCUCKOO_KEY_H

#include <linux/types.h>

/**
 * struct ipcuckoo_key - a key: a number of up to 128 bits
 * @hi:	high half; 0 in tables of 32-bit keys
 * @lo:	low half
 */
struct ipcuckoo_key {
	u64 hi;
	u64 lo;
};

#endif /* _IPCUCKOO_KEY_H */
