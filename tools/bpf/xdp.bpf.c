// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program that "ipcuckoo attach ... xdp dev IFNAME" attaches: it runs what is attached at XDP of
 * the device. set/program.c has it in it, and attaches it with libxdp, whose dispatcher runs other
 * programs after it: those whose priority is a higher number, with packets that it passes.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <xdp/xdp_helpers.h>

#include "ipcuckoo_bpf.h"

struct {
	__uint(priority, 20);
	__uint(XDP_PASS, 1);
} XDP_RUN_CONFIG(ipcuckoo_xdp);

SEC("xdp")
int ipcuckoo_xdp(struct xdp_md *ctx)
{
	return bpf_xdp_ipcuckoo_run(ctx);
}

char _license[] SEC("license") = "GPL";
