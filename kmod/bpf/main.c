// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module ipcuckoo_bpf: functions for BPF programs (kfuncs.c). It needs type information (BTF)
 * that belongs to one build of the kernel, and many kernels refuse a module whose BTF does not fit.
 * This must not happen to the module that has the sets, so this is a separate module.
 *
 * A program that calls one of the functions has a reference to this module as long as it is loaded,
 * and this module uses symbols of ipcuckoo. So neither is unloaded while a firewall relies on it.
 */
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/module.h>

#include "compat.h"
#include "../ids.h"
#include "../net.h"
#include "../release.h"
#include "kfuncs.h"
#include "type_ids.h"	/* made by types.sh */

#ifdef IPCUCKOO_XDP_KFUNC_IDS

/* The kernel's macros BTF_ID() and so on have resolve_btfids fill in the BTF type ids. Packages of
 * kernel headers do not always contain that program, so type_ids.c prints the ids instead.
 */
static struct btf_id_set8 xdp_functions = {
	.cnt = IPCUCKOO_XDP_KFUNCS,
	.flags = BTF_SET8_KFUNCS,
	.pairs = { IPCUCKOO_XDP_KFUNC_IDS },
};

static struct btf_id_set8 skb_functions = {
	.cnt = IPCUCKOO_SKB_KFUNCS,
	.flags = BTF_SET8_KFUNCS,
	.pairs = { IPCUCKOO_SKB_KFUNC_IDS },
};

/* Each program type gets only the functions that take its context. The verifier requires the
 * context only for an argument of the program's own context type. A tc program could pass its own
 * memory as a struct xdp_md, which has only numbers, and xdp_net() would follow pointers that the
 * program wrote.
 */
static const struct btf_kfunc_id_set xdp_set = {
	.owner = THIS_MODULE,
	.set = &xdp_functions,
};

static const struct btf_kfunc_id_set skb_set = {
	.owner = THIS_MODULE,
	.set = &skb_functions,
};

/* Whether the kernel has accepted the BTF of this module: if so, /sys/kernel/btf has a file of its
 * name. Without CONFIG_SYSFS we cannot tell.
 */
static bool __init kernel_has_types(void)
{
	struct kernfs_node *dir, *file;
	bool found;

	if (!IS_ENABLED(CONFIG_SYSFS))
		return true;
	dir = kernfs_find_and_get(kernel_kobj->sd, "btf");
	file = dir ? kernfs_find_and_get(dir, THIS_MODULE->name) : NULL;
	found = file;
	kernfs_put(file);
	kernfs_put(dir);
	return found;
}

/* A kernel with CONFIG_MODULE_ALLOW_BTF_MISMATCH (as Debian's 6.1 and 6.12) loads a module whose
 * BTF does not fit, but without the BTF. The BTF may also have been stripped. In both cases
 * register_btf_kfunc_id_set() registers nothing and returns 0, and programs do not find the
 * functions. So check first.
 */
static int __init register_functions(void)
{
	int err;

	if (!kernel_has_types()) {
		pr_err("ipcuckoo_bpf: the kernel has no BTF of this module, so BPF programs cannot use sets. Maybe the module was built for another build of this kernel, or stripped: build it again\n");
		return -EOPNOTSUPP;
	}
	err = register_btf_kfunc_id_set(BPF_PROG_TYPE_XDP, &xdp_set);
	err = err ?: register_btf_kfunc_id_set(BPF_PROG_TYPE_SCHED_CLS, &skb_set);
	if (err)
		pr_err("ipcuckoo_bpf: the kernel does not accept the functions for BPF programs (error %d). Maybe the module was built for another build of this kernel: build it again\n",
		       err);
	return err;
}

#else

static int __init register_functions(void)
{
	pr_err("ipcuckoo_bpf: built without BTF, so BPF programs cannot use sets: %s; then build the module again\n",
	       IPCUCKOO_NO_TYPES);
	return -EOPNOTSUPP;
}

#endif

static int __init ipcuckoo_bpf_init(void)
{
	int err = ipcuckoo_check_abi(THIS_MODULE->name, IPCUCKOO_VERSION, IPCUCKOO_ABI);

	if (err)
		return err;
	ipcuckoo_ids_use();
	return register_functions();
}

/* Nothing to undo: when the kernel frees the BTF of the module, it forgets the functions, too. */
static void __exit ipcuckoo_bpf_exit(void)
{
}

module_init(ipcuckoo_bpf_init);
module_exit(ipcuckoo_bpf_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Functions for BPF programs that look addresses up in sets of ipcuckoo");
MODULE_VERSION(IPCUCKOO_VERSION);
MODULE_INFO(abi, IPCUCKOO_ABI);
