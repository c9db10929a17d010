#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests which netfilter hooks are registered: none before a set is attached, and each only once.
# Hooks that are idle stay registered, up to a limit. Kprobes count the registrations.

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

# Prints how many hooks were registered and unregistered since the last call. Nothing else in the
# machine registers any.
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
	check "the module and sets register no hook" "+0 -0" "$(hook_events)"
	ipcuckoo attach four src drop
	check "src, IPv4: one hook" "+1 -0" "$(hook_events)"
	ipcuckoo attach four dst drop
	check "dst, IPv4: one more, for packets that are sent" "+1 -0" "$(hook_events)"
	ipcuckoo attach any both count
	check "both, IPv6: two more" "+2 -0" "$(hook_events)"
	ipcuckoo attach any src drop
	check "a hook that is registered is not registered again" "+0 -0" "$(hook_events)"
	ipcuckoo detach four
	check "a hook stays while another attachment needs it" "+0 -0" "$(hook_events)"
	ipcuckoo detach any both
	check "a hook that no attachment needs stays registered" "+0 -0" "$(hook_events)"
	ipcuckoo detach --all
	check "the other hooks stay registered, too" "+0 -0" "$(hook_events)"
	ipcuckoo attach any src drop
	ipcuckoo detach --all
	check "idle hooks are used again" "+0 -0" "$(hook_events)"
	for ((i = 1; i <= 16; i++)); do
		ipcuckoo attach any both drop priority $i
		ipcuckoo detach --all
	done
	check "more than 64 idle hooks are unregistered" "+64 -68" "$(hook_events)"
	ipcuckoo attach any src drop
	ipcuckoo detach --all
	ipcuckoo destroy --all
	unload_module
	check "unloading the module unregisters the rest" "+2 -2" "$(hook_events)"
}

probe_hooks 2> /dev/null || skip_all "no kprobe events here"
on_exit unprobe_hooks
load_module
test_hooks
ktap_done
