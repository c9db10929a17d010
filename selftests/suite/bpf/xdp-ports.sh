#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests attachments in XDP that act on packets to some ports only, with the frames and the reference of
# ../packets/ports.py.

. "${0%/*}/../../lib/lib.sh"

[ -f "${IPCUCKOO_BPF_KO:-}" ] || skip_all "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
! grep -q "built without BTF" "$IPCUCKOO_BPF_KO" ||
	skip_all "the module was built without BTF, as make has said"
mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf || bail "no bpffs"
exec "${0%/*}/../packets/ports.py" xdp
