/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SHIM_LINUX_SIZES_H
#define _SHIM_LINUX_SIZES_H

#define SZ_1M	0x00100000

#endif /* _SHIM_LINUX_SIZES_H */
