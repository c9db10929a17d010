/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_CACHE_H
#define _SHIM_LINUX_CACHE_H

#define ____cacheline_aligned_in_smp	__attribute__((aligned(64)))

#endif /* _SHIM_LINUX_CACHE_H */
