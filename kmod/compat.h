/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels this builds for: 6.1 and later. */
#ifndef _IPCUCKOO_COMPAT_H
#define _IPCUCKOO_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* _IPCUCKOO_COMPAT_H */
