#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets from a client through a firewall to a server: each verdict is compared with a simple
# reference, and the counters of every attachment with the packets that were sent.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# Number of packets in a case.
some=${SLOW:+300}
some=${some:-600}
many=${SLOW:+1000}
many=${many:-3000}

# set_of NAME TYPE FAMILY FILE...: creates and loads a set; options may follow the family
set_of()
{
	local name=$1 type=$2 family=$3 out

	shift 3
	# shellcheck disable=SC2086
	out=$(ipcuckoo create "$name" "$type" family $family 2>&1 &&
		ipcuckoo load "$name" "$@" 2>&1) || bail "cannot load $name: $out"
}

# every_length 4|6: prints prefixes of each length, three of each
every_length()
{
	python3 - "$1" "$seed" <<-'END'
	import ipaddress, random, sys
	v6 = sys.argv[1] == "6"
	random.seed(int(sys.argv[2]))
	for length in range(4, 129) if v6 else range(3, 33):
	    for _ in range(3):
	        addr = random.getrandbits(125) | 1 << 125 if v6 else random.getrandbits(32)
	        net = ipaddress.IPv6Network if v6 else ipaddress.IPv4Network
	        print(net((addr, length), strict=False))
	END
}

# networks_of LENGTH FILE: prints the prefixes of this length that contain the addresses of a file
networks_of()
{
	python3 - "$1" "$2" <<-'END'
	import ipaddress, sys
	for line in open(sys.argv[2]):
	    print(ipaddress.ip_network((line.strip(), int(sys.argv[1])), strict=False))
	END
}

make_lists()
{
	packets -s "$seed" generate hosts 8000 > $lists/hosts4
	packets -s "$seed" generate nets 3000 | grep -v '/[89]$' > $lists/nets4
	packets -6 -s "$seed" generate hosts 4000 > $lists/hosts6
	packets -6 -s "$seed" generate nets 2000 > $lists/nets6
	cat $lists/nets4 $lists/nets6 $lists/hosts4 $lists/hosts6 > $lists/any
	# Some entries contain addresses that draw_other() of packets.c chooses.
	list_of $lists/both4 198.18.0.0/15 203.0.113.0/25 203.0.113.200 44.0.0.0/8
	list_of $lists/both6 2600::/12 2001:db8:5::/121 2001:db8:5::c8
	list_of $lists/friends 44.1.0.0/16 198.18.7.7 203.0.113.64/27 203.0.113.200 2600:9::/32
	list_of $lists/all4 0.0.0.0/0
	list_of $lists/all6 ::/0
	list_of $lists/lo4 127.1.0.0/16 127.128.0.0/9
	list_of $lists/lo6 ::1
	# Prefixes of every length, so that each length is the longest match of some packets.
	every_length 4 > $lists/lengths4
	every_length 6 > $lists/lengths6
	# The prefixes that sets with a netmask or bitmask match.
	head -n 500 $lists/hosts4 > $lists/few4
	head -n 500 $lists/hosts6 > $lists/few6
	networks_of 24 $lists/few4 > $lists/masked4
	networks_of 64 $lists/few6 > $lists/masked6
}

make_sets()
{
	set_of hosts4 hash:ip inet $lists/hosts4
	set_of nets4 hash:net inet $lists/nets4
	set_of hosts6 hash:ip inet6 $lists/hosts6
	set_of nets6 hash:net inet6 $lists/nets6
	set_of any hash:net any $lists/any
	set_of both hash:net any $lists/both4 $lists/both6
	set_of friends hash:net any $lists/friends
	set_of all hash:net any $lists/all4 $lists/all6
	set_of lo hash:net any $lists/lo4 $lists/lo6
	set_of lengths hash:net any $lists/lengths4 $lists/lengths6
	set_of masked4 hash:ip "inet netmask 24" $lists/few4
	set_of masked6 hash:ip "inet6 bitmask ffff:ffff:ffff:ffff::" $lists/few6
}

test_forwarded()
{
	fates "hosts, IPv4, src drop" -n "$many" -k tuifl -r src,drop,$lists/hosts4,set=hosts4 check cs
	fates "prefixes, IPv4, src drop" -n "$many" -k tuifl -r src,drop,$lists/nets4,set=nets4 check cs
	fates "hosts, IPv6, src drop" -6 -n "$some" -k tuifl -r src,drop,$lists/hosts6,set=hosts6 check cs
	fates "prefixes, IPv6, src drop" -6 -n "$some" -k tuifl -r src,drop,$lists/nets6,set=nets6 check cs
	fates "both families in one set, IPv4" -n "$some" -r src,drop,$lists/any,set=any check cs
	fates "both families in one set, IPv6" -6 -n "$some" -r src,drop,$lists/any,set=any check cs
	fates "every prefix length, IPv4" -n "$some" -r src,drop,$lists/lengths4,set=lengths check cs
	fates "every prefix length, IPv6" -6 -n "$some" -r src,drop,$lists/lengths6,set=lengths check cs
	fates "a netmask, IPv4" -n "$some" -r src,drop,$lists/masked4,set=masked4 check cs
	fates "a bitmask, IPv6" -6 -n "$some" -r both,drop,$lists/masked6,set=masked6 check cs
}

test_directions()
{
	fates "dst drop, IPv4, towards the client" -n "$some" -k tuifl -r dst,drop,$lists/any,set=any check sc
	fates "dst drop, IPv6, towards the client" -6 -n "$some" -k tuifl -r dst,drop,$lists/any,set=any check sc
	fates "dst looks at the destination only" -n "$some" -r dst,drop,$lists/both4,set=both check cs
	fates "src looks at the source only" -n "$some" -r src,drop,$lists/both4,set=both check sc
	fates "both looks at either, IPv4" -n "$some" -r both,drop,$lists/both4,set=both check cs
	fates "both looks at either, IPv6" -6 -n "$some" -r both,drop,$lists/both6,set=both check sc
	fates "0.0.0.0/0 matches every packet" -n 200 -r src,drop,$lists/all4,set=all check cs
	fates "::/0 matches every packet" -6 -n 200 -r dst,drop,$lists/all6,set=all check sc
	fates "sources that routing would refuse are dropped and counted, too" -m -n "$some" \
		-r src,drop,$lists/nets4,set=nets4 check cs
}

# Packets to the firewall itself, from it, and over its loopback device.
test_local()
{
	fates "to the firewall itself, IPv4" -n "$some" -r src,drop,$lists/any,set=any check cf
	fates "to the firewall itself, IPv6" -6 -n "$some" -r src,drop,$lists/any,set=any check cf
	fates "from the firewall itself, dst, IPv4" -n "$some" -r dst,drop,$lists/any,set=any check fc
	fates "from the firewall itself, dst, IPv6" -6 -n "$some" -r dst,drop,$lists/any,set=any check fc
	fates "from the firewall itself, both" -n "$some" -r both,drop,$lists/both4,set=both check fc
	fates "src does not apply to packets that the firewall sends" \
		-n 200 -r src,drop,$lists/all4,set=all check fc
	fates "loopback is exempt, IPv4" -n 200 -k uf -r both,drop,$lists/all4,set=all check ff
	fates "loopback is exempt, IPv6" -6 -n 200 -k uf -r both,drop,$lists/all6,set=all check ff
	fates "loopback on request, src" -n 400 -k uf -r src,drop,$lists/lo4,loopback,set=lo check ff
	fates "loopback on request, dst" -n 400 -k uf -r dst,drop,$lists/lo4,loopback,set=lo check ff
	fates "loopback on request, IPv6: counted going out and coming in" -6 -n 100 -k uf \
		-r both,count,$lists/lo6,loopback,set=lo check ff
}

test_verdicts()
{
	fates "count lets packets pass" -n "$some" -r src,count,$lists/nets4,set=nets4 check cs
	attach_fresh "both src drop" "friends src accept"
	fates "accept comes before drop" -n "$some" -r src,accept,$lists/friends \
		-r src,drop,$lists/both4 check cs
	attach_fresh "friends src accept" "both both drop"
	fates "accept by source wins over drop by destination" -6 -n "$some" \
		-r src,accept,$lists/friends -r both,drop,$lists/both6 check cs
	attach_fresh "both src drop order 10" "friends src accept order 20"
	fates "drop comes before accept if its order is lower" -n "$some" -r src,drop,$lists/both4 \
		-r src,accept,$lists/friends check cs
	attach_fresh "any src drop" "nets4 src count" "both both drop order 250" \
		"friends src accept order -5" "hosts4 src mark 0x1 order 200" "lengths src count order 1"
	fates "six attachments in order" -n "$many" -r src,accept,$lists/friends \
		-r src,count,$lists/lengths4 -r src,count,$lists/nets4 -r src,count,$lists/hosts4 \
		-r both,drop,$lists/both4 -r src,drop,$lists/any check cs
	attach_fresh "nets4 src count" "nets4 dst count" "nets4 both count" "hosts4 src count" \
		"all src count" "all src drop"
	fates "attachments of equal order run in the order of creation" \
		-n "$some" -r src,count,$lists/nets4 \
		-r dst,count,$lists/nets4 -r both,count,$lists/nets4 -r src,count,$lists/hosts4 \
		-r src,count,$lists/all4 -r src,drop,$lists/all4 check cs
}

# Prints the counters of the two rules of the chain "after", in order.
nft_packets()
{
	in_f nft list chain $nft_family t after | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p' |
		paste -sd ' '
}

# test_mark: another table sets a mark before the attachment, and counts marks after it.
test_mark()
{
	local name=$1 mark=$2 before=$3 after=$4 out matched

	in_f nft -f - <<-END || bail "nft cannot be set up"
	table $nft_family t {
		chain before {
			type filter hook prerouting priority -600;
			meta mark set $before
		}
		chain after {
			type filter hook prerouting priority -350;
			meta mark $after counter
			meta mark $before counter
		}
	}
	END
	attach_fresh "both src mark $mark"
	out=$(packets -s "$seed" -n 500 -k tui -r "src,count,$lists/both4" check cs) ||
		not_ok "$name: packets pass and are counted" "status 0" "$out"
	matched=$(in_f awk 'NR == 2 { print $(NF - 1) }' /proc/net/ipcuckoo/attachments)
	check "$name" "$matched $((500 - matched))" "$(nft_packets)"
	in_f nft delete table $nft_family t
}

test_marks()
{
	test_mark "a mark is set" 0x2a 0x0 0x2a
	test_mark "a mark replaces the old one" 0x5 0xabcd00ff 0x5
	test_mark "a mask keeps the other bits" 0x12/0xff 0xabcd00ff 0xabcd0012
	test_mark "a mask can clear bits" 0x0/0xf0 0xabcd00ff 0xabcd000f
}

# Test that a rule of another table can drop packets by their mark.
test_mark_rule()
{
	local have

	in_f nft -f - <<-END || bail "nft cannot be set up"
	table $nft_family t {
		chain forward {
			type filter hook forward priority 0;
			meta mark 0x7 counter drop
		}
	}
	END
	attach_fresh "both src mark 0x7"
	fates "a rule of nft drops packets with the mark" -n 500 -r "src,drop,$lists/both4" check cs
	in_f nft delete table $nft_family t
}

frag_queues()
{
	in_f awk '$1 == "FRAG:" { print $3 }' /proc/net/sockstat
}

# Connection tracking reassembles fragments. The module's hook runs before it.
test_defragmentation()
{
	in_f nft -f - <<-END || bail "nft cannot be set up"
	table $nft_family t {
		chain pre {
			type filter hook prerouting priority 0;
			ct state invalid counter
		}
	}
	END
	fates "each fragment is seen before defragmentation, IPv4" -n "$some" -k f \
		-r src,drop,$lists/nets4,set=nets4 check cs
	fates "each fragment is seen before defragmentation, IPv6" -6 -n "$some" -k f \
		-r src,drop,$lists/nets6,set=nets6 check cs
	attach_fresh "all src drop"
	packets -s "$seed" -n 50 -k l -r "src,drop,$lists/all4" check cs > /dev/null
	check "blocked fragments are not queued for reassembly" 0 "$(frag_queues)"
	ipcuckoo detach --all
	packets -s "$seed" -n 50 -k l -r "src,drop,$lists/all4" check cs > /dev/null
	check_match "without the attachment they are queued" '^[1-9]' "$(frag_queues)"
	in_f nft delete table $nft_family t
}

test_devices()
{
	local list=src,drop,$lists/nets4

	attach_fresh "nets4 src drop dev c0"
	fates "dev: applies to packets of this device" -n 300 -r $list,dev=c0 check cs
	attach_fresh "nets4 src drop dev s0"
	fates "dev: does not apply to packets of another device" -n 300 -r $list,dev=s0 check cs
	attach_fresh "any dst drop dev c0"
	fates "dev: applies to packets that the firewall sends by it" -n 300 \
		-r "dst,drop,$lists/any,dev=c0" check fc
	attach_fresh "any dst drop dev s0"
	fates "dev: does not apply to packets sent by another device" \
		-n 300 -r "dst,drop,$lists/any,dev=s0" check fc
	attach_fresh "nets4 src drop dev c0" "nets4 src drop dev later0"
	fates "dev: a device that does not exist has no packets" -n 300 -r $list,dev=c0 \
		-r $list,dev=later0 check cs
	rename_device c0 later0
	attach_fresh "nets4 src count dev c0" "nets4 src drop dev later0"
	rename_device later0 c0
	fates "dev: an attachment follows the name, not the device" -n 300 \
		-r "src,count,$lists/nets4,dev=c0" -r $list,dev=later0 check cs
	attach_fresh "nets4 src count dev c0" "nets4 src drop dev later0"
	rename_device c0 later0
	fates "dev: a device that gets the name is found" -n 300 \
		-r "src,count,$lists/nets4,dev=gone" -r $list check cs
	rename_device later0 c0
	attach_fresh "nets4 src drop dev c0"
	ip -n f link del c0
	fates "dev: deleting a device does not affect other attachments" -n 300 -k u \
		-r $list,dev=c0 check sf
	plug_client
	fates "dev: a device that appears again is found" -n 300 -r $list,dev=c0 check cs
}

# A device can only be renamed while it is down, and loses its addresses and routes then.
rename_device()
{
	ip -n f link set "$1" down &&
	ip -n f link set "$1" name "$2" &&
	net_end f "$2" $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	net_default f $C4 $C6 2> /dev/null
	other_routes
}

plug_client()
{
	local mac=02:00:00:00:00

	ip link add c0 netns f address $mac:11 type veth peer name eth0 netns c address $mac:12
	no_offload c eth0
	no_offload f c0
	net_end c eth0 $C4 $C6 $FC4 $FC6 $mac:11
	net_end f c0 $FC4 $FC6 $C4 $C6 $mac:12
	net_default c $FC4 $FC6
	net_default f $C4 $C6
	quiet_hosts
}

# mapped ADDR...: sends an IPv6 packet from the client to each of these IPv4-mapped addresses
mapped()
{
	ip netns exec c python3 - "$@" <<-'END'
	import socket, sys
	frame = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
	frame.bind(("eth0", 0))
	macs = bytes.fromhex("020000000011 020000000012 86dd")
	for addr in sys.argv[1:]:
	    ip = bytes.fromhex("60000000 0008 11 40") + socket.inet_pton(socket.AF_INET6, "2600::1")
	    ip += socket.inet_pton(socket.AF_INET6, "::ffff:" + addr)
	    frame.send(macs + ip + bytes.fromhex("04d2 0009 0008 0000"))
	END
}

test_mapped()
{
	if [ -z "$ipv6" ]; then
		skip "mapped destinations" "no IPv6 in this kernel"
		return
	fi
	# Test that a mapped destination matches an IPv4 entry of a set of both families.
	ipcuckoo create both4and6 hash:net family any
	ipcuckoo add both4and6 192.0.2.1 198.51.100.0/24
	ipcuckoo create only6 hash:net family inet6
	ipcuckoo add only6 ::/64
	attach_fresh "both4and6 dst count" "only6 dst count"
	mapped 192.0.2.1 192.0.2.2 198.51.100.7 203.0.113.1
	check "mapped destinations: an IPv4 entry, an IPv6 prefix" "2 96,4 192" \
		"$(counters | paste -sd ,)"
}

# Public lists
test_real_lists()
{
	local files

	set_of ipsum hash:ip inet "$data/ipsum.txt"
	fates "ipsum, as hosts" -n "$many" -r "src,drop,$data/ipsum.txt,set=ipsum" check cs
	ipcuckoo detach --all
	ipcuckoo destroy ipsum
	set_of countries hash:net any "$data"/country-*.txt
	files=$(printf '+%s' "$data"/country-*-ipv4.txt)
	fates "countries, IPv4, 22 prefix lengths" -n "$many" -r "src,drop,${files:1},set=countries" check cs
	files=$(printf '+%s' "$data"/country-*-ipv6.txt)
	fates "countries, IPv6, 31 prefix lengths" -6 -n "$many" -r "dst,drop,${files:1},set=countries" check sc
}

note "SEED=$seed repeats this run"
RANDOM=$seed
load_module
setup_quiet_net
make_lists
make_sets
test_forwarded
test_directions
test_local
test_verdicts
test_marks
test_mark_rule
test_defragmentation
test_mapped
test_real_lists
test_devices
ktap_done
