/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_VMALLOC_H
#define _SHIM_LINUX_VMALLOC_H

#include <linux/types.h>

void *__vmalloc(unsigned long size, gfp_t gfp);
void *vmalloc_huge(unsigned long size, gfp_t gfp);

#endif /* _SHIM_LINUX_VMALLOC_H */
