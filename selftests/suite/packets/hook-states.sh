#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the states of attachments, as all lists show them: attachments to devices that do not exist,
# and attachments whose hook cannot be registered when the device appears, because the kernel
# allows no more hooks there. The module tries such a hook again until it succeeds.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# The kernel's limit of hooks for a device.
HOOKS_MAX=1024

# state SET: prints the state of the set's first attachment, by procfs, Prometheus and JSON
state()
{
	echo "$(in_f awk -v set="$1" '$2 == set { print $11; exit }' /proc/net/ipcuckoo/attachments)" \
		"$(ipcuckoo stats --prometheus | sed -n "s/^ipcuckoo_attachment_active{.*set=\"$1\".*} //p" | head -n 1)" \
		"$(ipcuckoo -j stats | python3 -c 'import json, sys
print(next(a.get("state", "active") for a in json.load(sys.stdin)["attachments"] if a["set"] == sys.argv[1]))' "$1")"
}

state_is()
{
	[ "$(state "$1")" = "$2" ]
}

# states_told: prints what the monitor has said about states since the last call
states_told()
{
	sleep 0.3
	grep -o '^state .*\|^attached .*: .*' monitor | sed 's/ src [^:]*: /: /'
	: > monitor
}

pings()
{
	in_c ping -c 3 -i 0.05 -W 1 "$1" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

rename_device()
{
	in_f ip link set "$1" down && in_f ip link set "$1" name "$2" &&
		in_f ip link set "$2" up
	# Errors about addresses and routes that survived the rename do not matter.
	net_end f "$2" $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	in_f ip link show "$2" > /dev/null
}

test_no_device()
{
	attach_fresh "client src drop dev new0"
	states_told > /dev/null
	check "no such device" "no-device 0 no device" "$(state client)"
	check_match "list says so" $'Sees no packets: src drop order 300 priority -450 dev new0: no device\n' \
		"$(ipcuckoo list client)"
	check_match "list -o xml says so" "<inactive>src drop .*dev new0: no device</inactive>" \
		"$(ipcuckoo list -o xml client)"
	check_match "list -o json says so" '"inactive"' "$(ipcuckoo list -o json client)"
	check "the output of save does not" 0 "$(ipcuckoo save | grep -c 'Sees no')"
	in_f ip link add new0 type dummy
	check "the device appears" "active 1 active" "$(state client)"
	check "the monitor reports it" "state client: active" "$(states_told)"
	check "list says nothing about an active attachment" \
		0 "$(ipcuckoo list client | grep -c 'Sees no')"
	in_f ip link set new0 name new1
	check "the device was renamed" "no-device 0 no device" "$(state client)"
	in_f ip link set new1 name new0
	in_f ip link set new0 netns s
	check "the device was moved to another namespace" "no-device 0 no device" "$(state client)"
	check "the monitor reports both" "state client: no device
state client: active
state client: no device" "$(states_told)"
	nsenter --net=/run/netns/s ip link del new0
	attach_fresh "client src drop"
	check "an attachment to no device is active" "active 1 active" "$(state client)"
}

# fill_hooks DEVICE: creates chains of nft until the device has no room for another hook
fill_hooks()
{
	local i

	{
		echo "table netdev full {"
		for ((i = 0; i < HOOKS_MAX; i++)); do
			echo "chain c$i { type filter hook ingress device $1 priority 10; }"
		done
		echo "}"
	} | in_f nft -f - 2> err
}

test_no_hook()
{
	attach_fresh
	if ! fill_hooks c0; then
		skip "a device that takes no more hooks" "nft has no ingress: $(head -n 1 err)"
		return
	fi
	run_error "attaching to a device with no room for a hook fails" \
		3 "the kernel accepts no more netfilter hooks" \
		ipcuckoo attach client src drop ingress dev c0
	check "the failed attempt creates no attachment" \
		0 "$(ipcuckoo stats --prometheus | grep -c attachment_active{)"
	attach_fresh "client src drop ingress dev new0" "other src drop ingress dev new1"
	check "attached to a device that does not exist" "no-device 0 no device" "$(state client)"
	states_told > /dev/null
	rename_device c0 new0
	# Since 6.16 the kernel unregisters chains from a device that gets another name.
	if kernel_since 6.16 &&
		in_f nft "add chain netdev full room { type filter hook ingress device new0 priority 10; }" \
			2> err; then
		skip "a device without room for a hook appears" "the chains of nft have left it"
		rename_device new0 c0
		in_f nft delete table netdev full
		attach_fresh
		return
	fi
	check "the device appears, with no room for a hook" \
		"no-hook 0 no hook: Argument list too long" "$(state client)"
	check "another attachment is not changed" "no-device 0 no device" "$(state other)"
	check "the monitor reports it" \
		"state client: no hook: Argument list too long" "$(states_told)"
	check_match "list says so" "Sees no packets: .* ingress dev new0: no hook: Argument list too long" \
		"$(ipcuckoo list client)"
	check_match "the table of stats" "no hook: Argument list too long" "$(ipcuckoo stats)"
	check "packets pass" "3" "$(pings $FC4)"
	run_error "another attachment that needs the hook fails" \
		3 "the kernel accepts no more netfilter hooks" \
		ipcuckoo attach other src drop ingress dev new0
	run_ok "an attachment that needs another hook succeeds" ipcuckoo attach other dst count
	ipcuckoo detach other dst
	in_f nft delete chain netdev full c7
	run_ok "once there is room, the hook is tried again" \
		busywait 70 state_is client "active 1 active"
	check "the monitor reports it" "state client: active" "$(states_told)"
	check "packets are dropped" "0" "$(pings $FC4)"
	rename_device new0 c0
	check "the device is renamed" "no-device 0 no device" "$(state client)"
	run_ok "the device gets its old name again" rename_device c0 new0
	check "the hook was kept, so the attachment is active" "active 1 active" "$(state client)"
	check "packets are dropped" "0" "$(pings $FC4)"
	rename_device new0 c0
	in_f nft delete table netdev full
	attach_fresh
}

load_module
setup_quiet_net
mkdir -p /tmp/states && cd /tmp/states || bail "no place for files"
ipcuckoo create client hash:ip
ipcuckoo add client $C4
ipcuckoo create other hash:ip
nsenter --net=/run/netns/f "$IPCUCKOO" monitor >> monitor 2>&1 &
monitor_pid=$!
attached_told()
{
	ipcuckoo attach other src count && ipcuckoo detach other
	grep -q attached monitor
}
busywait 10 attached_told || bail "the monitor prints nothing"
test_no_device
# A dummy device for this test, because the hook stays registered there.
in_f ip link add try0 type dummy
if ipcuckoo attach client src count ingress dev try0 2> err; then
	test_no_hook
else
	skip "at ingress" "$(< err)"
fi
# End the monitor: its socket would keep the namespace alive, and with it the retries.
kill $monitor_pid
wait $monitor_pid 2> /dev/null
attach_fresh "client src drop dev new0"
cleanup_net
run_ok "the module can be unloaded" unload_module
ktap_done
