/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of the tables: allocated by the page, accounted, limited. */
#ifndef _IPCUCKOO_MEM_H
#define _IPCUCKOO_MEM_H

#include <linux/atomic.h>
#include <linux/types.h>

/**
 * struct ipcuckoo_mem - an account that allocations are charged to
 * @used:	bytes charged now
 * @limit:	bytes that may be charged; 0: no limit
 *
 * One per network namespace.
 */
struct ipcuckoo_mem {
	atomic_long_t used;
	unsigned long limit;
};

/**
 * struct ipcuckoo_area - one allocation
 * @data:	zeroed memory, or NULL
 * @size:	bytes that it really takes, rounding included
 */
struct ipcuckoo_area {
	void *data;
	size_t size;
};

bool ipcuckoo_mem_charge(struct ipcuckoo_mem *mem, size_t size);
void ipcuckoo_mem_uncharge(struct ipcuckoo_mem *mem, size_t size);
int ipcuckoo_area_alloc(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem,
			size_t size);
void ipcuckoo_area_free(struct ipcuckoo_area *area, struct ipcuckoo_mem *mem);
size_t ipcuckoo_area_round(size_t size);

#endif /* _IPCUCKOO_MEM_H */
