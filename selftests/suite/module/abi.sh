#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests which versions of xt_ipcuckoo and ipcuckoo_ipset may be loaded beside the module ipcuckoo, as
# after packages were upgraded. bpf-match.sh tests the same of ipcuckoo_bpf.

. "${0%/*}/../../lib/lib.sh"

load_module

# with FILE MODULE: a module of ours, and one of the kernel that it needs
with()
{
	if [ ! -f "$1" ] || ! modprobe -a "$2"; then
		skip "versions of what uses $2" "this kernel has none"
	else
		check_versions "$1"
	fi
}

with "${IPCUCKOO_XT_KO:-}" x_tables
with "${IPCUCKOO_IPSET_KO:-}" ip_set
ktap_done
