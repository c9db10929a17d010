# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# For tests that attach BPF programs with bpf-load.

load=$IPCUCKOO_TESTS/bpf-load
object=$IPCUCKOO_TESTS/match.bpf.o

# hold NAMESPACE OBJECT PROGRAM ID HOW DEVICE...: attaches a program until let_go
hold()
{
	local line

	coproc holder { exec nsenter --net="/run/netns/$1" "$load" run "${@:2}" 2>&1; }
	exec 5>&"${holder[1]}"
	IFS= read -r -t 120 -u "${holder[0]}" line
	[ "$line" = attached ] || not_ok "a program is attached ($*)" attached "$line"
}

let_go()
{
	local pid=$holder_PID

	exec 5>&-
	eval "exec ${holder[1]}>&-"
	wait "$pid"
}
