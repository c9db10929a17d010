/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between kernels, for this directory. */
#ifndef _IPCUCKOO_BPF_COMPAT_H
#define _IPCUCKOO_BPF_COMPAT_H

#include <linux/btf.h>
#include <linux/btf_ids.h>

/* In front of functions that BPF programs call, since 6.3. */
#ifndef __bpf_kfunc
#define __bpf_kfunc	noinline
#endif

/* A flag of sets of such functions, which they must have since 6.9. */
#ifndef BTF_SET8_KFUNCS
#define BTF_SET8_KFUNCS	0
#endif

/* The flags of each such function. The verifier refuses pointers that may be wrong, such as those
 * of bpf_rdonly_cast(), only with KF_TRUSTED_ARGS. Kernels without the flag always do that.
 */
#ifdef KF_TRUSTED_ARGS
#define IPCUCKOO_KFUNC_FLAGS	KF_TRUSTED_ARGS
#else
#define IPCUCKOO_KFUNC_FLAGS	0
#endif

#endif /* _IPCUCKOO_BPF_COMPAT_H */
