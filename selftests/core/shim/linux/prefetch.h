/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_PREFETCH_H
#define _SHIM_LINUX_PREFETCH_H

#define prefetch(x)	__builtin_prefetch(x)

#endif /* _SHIM_LINUX_PREFETCH_H */
