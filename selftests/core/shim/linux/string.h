/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_STRING_H
#define _SHIM_LINUX_STRING_H

#include <linux/slab.h>
#include <string.h>

static inline char *kmemdup_nul(const char *s, size_t len, gfp_t gfp)
{
	char *p = kmalloc(len + 1, gfp);

	if (p) {
		memcpy(p, s, len);
		p[len] = 0;
	}
	return p;
}

#endif /* _SHIM_LINUX_STRING_H */
