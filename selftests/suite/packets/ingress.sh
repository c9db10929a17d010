#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests attachments at the ingress of a device, at chosen priorities, and replaced during traffic:
# verdicts, which packets they see, and devices that appear, disappear and are renamed.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

some=${SLOW:+200}
some=${some:-500}
flood=${SLOW:+500}
flood=${flood:-3000}

make_sets()
{
	packets -s "$seed" generate nets 1000 | grep -v '/[89]$' > $lists/nets4
	packets -6 -s "$seed" generate nets 500 > $lists/nets6
	cat $lists/nets4 $lists/nets6 > $lists/any
	ipcuckoo create any hash:net family any
	ipcuckoo load any $lists/any > /dev/null
	packets -s "$seed" generate nets 1000 | sed 's/\.[0-9]*\/[0-9]*$/.0\/24/' | sort -u > $lists/masked
	ipcuckoo create masked hash:ip netmask 24
	sed 's/\/24$//' $lists/masked | ipcuckoo load masked - > /dev/null
	ipcuckoo create all hash:net family any
	ipcuckoo add all 0.0.0.0/0 ::/0
	ipcuckoo create client hash:net family any
	ipcuckoo add client $C4 $C6 10.9.0.0/16
}

# pings COUNT FROM-NAMESPACE TO: prints how many pings were answered
pings()
{
	nsenter --net="/run/netns/$2" ping -c "$1" -i 0.05 -W 2 "$3" |
		sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# seen: prints how many packets the first attachment has counted
seen()
{
	counters | sed -n '1s/ .*//p'
}

test_verdicts()
{
	attach_fresh "any src drop ingress dev c0"
	fates "ingress, IPv4, src drop" -n "$some" -k tuifl -r src,drop,$lists/any check cs
	attach_fresh "any src drop ingress dev c0"
	fates "ingress, IPv6, src drop" -6 -n "$some" -k tuifl -r src,drop,$lists/any check cs
	attach_fresh "any dst drop ingress dev s0"
	fates "ingress, IPv4, dst drop" -n "$some" -r dst,drop,$lists/any check sc
	# Each is a rule for the reference, too; that of prefetch matches nothing.
	attach_fresh "any both prefetch ingress dev c0" "any src drop"
	fates "ingress, IPv4, prefetch, before src drop" -n "$some" -k tuifl \
		-r src,count,/dev/null -r src,drop,$lists/any check cs
	attach_fresh "any both prefetch ingress dev c0" "any src drop ingress dev c0"
	fates "ingress, IPv6, prefetch, and src drop at the same place" -6 -n "$some" -k tuifl \
		-r src,count,/dev/null -r src,drop,$lists/any check cs
	attach_fresh "masked src prefetch ingress dev c0" "masked src drop"
	fates "ingress, prefetch of a set with a netmask" -n "$some" \
		-r src,count,/dev/null -r src,drop,$lists/masked check cs
	# The set has only the client's address, so packets that come back through s0 do not match.
	attach_fresh "client src drop ingress dev s0"
	check "another device's packets are not seen" "3 0" "$(pings 3 c $S4) $(seen)"
}

test_seen()
{
	attach_fresh "all src count ingress dev c0"
	check "an attachment at ingress sees packets that come in" "3 3" "$(pings 3 c $FC4) $(seen)"
	attach_fresh "all src count ingress dev c0"
	check "it sees the answers to packets that the machine sends" \
		"3 3" "$(pings 3 f $C4) $(seen)"
	test_vlan
}

test_vlan()
{
	local name="packets of a VLAN are seen at the device below it"

	if ! in_c ip link add link eth0 name v type vlan id 5 2> /dev/null; then
		skip "$name" "no VLANs in this kernel"
		return
	fi
	in_f ip link add link c0 name v type vlan id 5
	in_c ip addr add 10.9.0.2/24 dev v
	in_f ip addr add 10.9.0.1/24 dev v
	in_c ip link set v up
	in_f ip link set v up
	check "the VLAN works" "1" "$(busywait 10 in_c ping -c 1 -W 1 10.9.0.1 && echo 1)"
	attach_fresh "client src drop ingress dev c0"
	check "$name" "0 1" "$(pings 3 c 10.9.0.1) $(($(seen) >= 3))"
	in_c ip link del v
	in_f ip link del v
}

test_devices()
{
	attach_fresh "client src drop ingress dev c0"
	in_f ip link set c0 down
	in_f ip link set c0 name c7
	in_f ip link set c7 up
	net_end f c7 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	check "a device that was renamed is not seen" "3 0" "$(pings 3 c $FC4) $(seen)"
	in_f ip link set c7 down
	in_f ip link set c7 name c0
	in_f ip link set c0 up
	net_end f c0 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	check "a device that gets its old name again is seen again" \
		"0 3" "$(pings 3 c $FC4) $(seen)"
	attach_fresh "client src drop ingress dev new0"
	in_f ip link add new0 type veth peer name new1
	in_f ip link set new1 netns c
	in_c ip addr add 10.9.1.2/24 dev new1
	in_f ip addr add 10.9.1.1/24 dev new0
	in_c ip link set new1 up
	in_f ip link set new0 up
	check "a device that appears later is seen" "0 1" "$(pings 3 c 10.9.1.1) $(($(seen) >= 3))"
	run_ok "a device with a hook can be deleted" in_f ip link del new0
	run_ok "the set can be detached after the device was deleted" \
		ipcuckoo detach client src drop ingress dev new0
	attach_fresh "client src drop ingress dev new0"
	in_f ip link add new0 type dummy
	in_f ip link set new0 up
	in_f ip link set new0 netns s
	run_ok "a device with a hook can move to another namespace" \
		nsenter --net=/run/netns/s ip link del new0
	ipcuckoo detach --all
}

test_priorities()
{
	in_f nft -f - <<-END || bail "nft cannot be set up"
	table $nft_family t {
		chain before {
			type filter hook prerouting priority -10;
			icmp type echo-request counter
			icmp type echo-request ip saddr $C4 drop
		}
	}
	END
	attach_fresh "client src count priority -20"
	check "an attachment before a rule that drops sees packets" \
		"0 3" "$(pings 3 c $FC4) $(seen)"
	attach_fresh "client src count priority 0"
	check "an attachment after that rule does not" "0 0" "$(pings 3 c $FC4) $(seen)"
	in_f nft delete table $nft_family t
	attach_fresh "client src accept priority -20" "client src drop priority 0"
	check "accept ends the walk of its priority only" "0" "$(pings 3 c $FC4)"
	attach_fresh "client src accept" "client src drop"
	check "accept ends the walk of its own priority" "3" "$(pings 3 c $FC4)"
}

# Test that no packet passes while one attachment replaces another.
test_replace()
{
	local i out

	attach_fresh "client src drop"
	in_c ping -i 0.002 -c "$flood" -W 1 -q $FC4 > ping.out &
	for i in {1..20}; do
		ipcuckoo attach client src drop priority -300 --replace
		ipcuckoo attach client src drop order 7 --replace
	done
	wait $!
	check "replaced forty times during traffic: no packet passes" \
		0 "$(sed -n 's/.* \([0-9]*\) received.*/\1/p' ping.out)"
	check "one attachment is left" 1 "$(counters | wc -l)"
	ipcuckoo detach --all
}

load_module
setup_quiet_net
cd $lists || bail "no $lists"
make_sets
if ! ipcuckoo attach all src count ingress dev c0 2> /dev/null; then
	skip_all "this kernel has no netfilter hooks at ingress"
fi
test_verdicts
test_seen
test_devices
test_priorities
test_replace
# End with an attachment to a device of a namespace that is destroyed.
attach_fresh "all src count ingress dev c0"
cleanup_net
run_ok "the module can be unloaded after its namespace was destroyed" unload_module
ktap_done
