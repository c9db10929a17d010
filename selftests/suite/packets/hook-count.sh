#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Netfilter hooks: none is registered before something is attached, each is registered once, and
# those with nothing to do are kept for later, up to a number. Counted by kprobes.

. "${0%/*}/../../lib/lib.sh"

tracing=/sys/kernel/tracing

probe_hooks()
{
	echo "p:ipcuckoo_test/registered nf_register_net_hook" > $tracing/kprobe_events &&
	echo "p:ipcuckoo_test/unregistered nf_unregister_net_hook" >> $tracing/kprobe_events &&
	echo 1 > $tracing/events/ipcuckoo_test/enable
}

unprobe_hooks()
{
	echo 0 > $tracing/events/ipcuckoo_test/enable
	echo > $tracing/kprobe_events
	echo > $tracing/trace
}

# Hooks that came and went since the last call. Nobody else is at it here.
hook_events()
{
	local registered unregistered

	registered=$(grep -c ' registered: ' $tracing/trace)
	unregistered=$(grep -c ' unregistered: ' $tracing/trace)
	echo > $tracing/trace
	echo "+$registered -$unregistered"
}

test_hooks()
{
	local i

	ipcuckoo create four hash:net
	ipcuckoo create any hash:net family any
	ipcuckoo add any 192.0.2.0/24 2001:db8::/32
	check "loading and sets alone register no hook" "+0 -0" "$(hook_events)"
	ipcuckoo attach four src drop
	check "src, IPv4: one hook" "+1 -0" "$(hook_events)"
	ipcuckoo attach four dst drop
	check "dst, IPv4: one for what goes out" "+1 -0" "$(hook_events)"
	ipcuckoo attach any both count
	check "both, IPv6: two more" "+2 -0" "$(hook_events)"
	ipcuckoo attach any src drop
	check "what is there already is not registered again" "+0 -0" "$(hook_events)"
	ipcuckoo detach four
	check "and stays while needed" "+0 -0" "$(hook_events)"
	ipcuckoo detach any both
	check "what is not needed stays, with nothing to do" "+0 -0" "$(hook_events)"
	ipcuckoo detach --all
	check "so does the rest" "+0 -0" "$(hook_events)"
	ipcuckoo attach any src drop
	ipcuckoo detach --all
	check "and is used again" "+0 -0" "$(hook_events)"
	for ((i = 1; i <= 16; i++)); do
		ipcuckoo attach any both drop priority $i
		ipcuckoo detach --all
	done
	check "more than 64 that nothing runs at go" "+64 -68" "$(hook_events)"
	ipcuckoo attach any src drop
	ipcuckoo detach --all
	ipcuckoo destroy --all
	unload_module
	check "and the rest with the module" "+2 -2" "$(hook_events)"
}

probe_hooks 2> /dev/null || skip_all "no kprobe events here"
on_exit unprobe_hooks
load_module
test_hooks
ktap_done
