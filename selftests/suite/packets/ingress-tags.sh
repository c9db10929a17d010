#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests ingress attachments with VLAN tags: none, one and many, of VLAN 0 and of others, 802.1Q and
# 802.1ad, in the frame and offloaded, IPv4 and IPv6. First without an attachment, to see what the
# kernel delivers; then no blocked packet may pass, and all others must. Frames with more than 16 tags
# must not pass where anything is dropped, and must not cost more than others.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# sender PLAN: sends each frame of a plan twice: from a blocked address, and from another one.
# Prints for each frame its number, whether it is blocked, and its size from the IP header on.
#
# A line of a plan: DEVICE FAMILY TAG..., where a tag is PROTOCOL:VID, outermost first. Tags that
# the device adds are not in the line.
sender='
import socket, struct, sys

def sum16(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff

def packet(family, blocked, payload):
    size = 8 + len(payload)
    udp = struct.pack(">HHHH", 4789, 4789, size, 0) + payload
    if family == "4":
        src, dst = ("198.51.100.1" if blocked else "198.51.101.1"), "10.0.1.1"
        ends = socket.inet_aton(src) + socket.inet_aton(dst)
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, 0, 0, 8, 17, 0)
        check = sum16(head + ends)
        return head[:10] + struct.pack(">H", check) + ends + udp
    src, dst = ("2001:db8:100::1" if blocked else "2001:db8:101::1"), "fd00:1::1"
    ends = socket.inet_pton(socket.AF_INET6, src) + socket.inet_pton(socket.AF_INET6, dst)
    check = sum16(ends + struct.pack(">II", size, 17) + udp)
    udp = udp[:6] + struct.pack(">H", check or 0xffff) + udp[8:]
    return struct.pack(">IHBB", 6 << 28, size, 17, 8) + ends + udp

sockets, number = {}, 0
for line in open(sys.argv[1]):
    device, family, *tags = line.split()
    if device not in sockets:
        sockets[device] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sockets[device].bind((device, 0))
    protocol = 0x0800 if family == "4" else 0x86dd
    kinds = [int(tag.split(":")[0], 16) for tag in tags] + [protocol]
    vids = [int(tag.split(":")[1]) for tag in tags]
    front = bytes.fromhex("020000000011" "020000000012") + struct.pack(">H", kinds[0])
    for vid, kind in zip(vids, kinds[1:]):
        front += struct.pack(">HH", vid, kind)
    for blocked in 0, 1:
        data = packet(family, blocked, str(number).encode().ljust(64))
        sockets[device].send(front + data)
        print(number, blocked, len(data))
        number += 1
'

# receiver [1]: prints the packets that arrive: those of IPv4; with an argument, those of IPv6, too
receiver='
import socket, sys
s = socket.socket(socket.AF_INET6 if sys.argv[1:] else socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)           # SO_RCVBUFFORCE
s.bind(("", 4789))
open("listening", "w")
while True:
    print(s.recv(256).decode().strip(), flush=True)
'

# tags DEPTH PROTOCOL... : prints DEPTH tags of VLAN 0, with these protocols in turn
tags()
{
	local depth=$1 i

	shift
	for ((i = 0; i < depth; i++)); do
		printf ' %s:0' "${@:i % $# + 1:1}"
	done
}

# priority_plan DEVICE DEPTH...: frames with so many tags of VLAN 0
priority_plan()
{
	local family depth device=$1

	shift
	for family in 4 ${ipv6:+6}; do
		for depth; do
			echo "$device $family$(tags "$depth" 8100)"
			echo "$device $family$(tags "$depth" 88a8)"
			echo "$device $family$(tags "$depth" 8100 88a8)"
			echo "$device $family$(tags "$depth" 88a8 88a8 8100)"
		done
	done
}

# nested_plan: frames for VLAN devices on VLAN devices. Some of them end at one of these devices.
nested_plan()
{
	local family

	for family in 4 ${ipv6:+6}; do
		cat <<-END
		$1 $family 8100:5
		$1 $family 8100:5 8100:0
		$1 $family 8100:0 8100:5
		$1 $family 8100:5 88a8:6
		$1 $family 8100:5 8100:0 8100:0 88a8:6
		$1 $family 8100:5 88a8:6 8100:7
		$1 $family 8100:5 88a8:6 8100:7 8100:0 88a8:0
		$1 $family 88a8:8
		$1 $family 88a8:8 8100:0
		END
	done
}

deliver()
{
	: > received
	in_c python3 -c "$sender" "$1" > sent || return
	# Frames keep their order: once this packet arrives, all frames before it have arrived.
	in_c python3 -c 'import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"end", ("10.0.1.1", 4789))'
	busywait 10 grep -q end received
}

# missing 0|1: how many of the allowed (0) or blocked (1) frames were not delivered, of how many
missing()
{
	awk -v blocked="$1" 'NR == FNR { got[$1] = 1; next }
		$2 == blocked { all++; if (!($1 in got)) missing++ }
		END { print missing + 0, "of", all }' received sent
}

# deep PLAN TAGS: how many lines of a plan have more than 8 tags with TAGS more
deep()
{
	awk -v more="$2" 'NF - 2 + more > 8 { deep++ } END { print deep + 0 }' "$1"
}

# passes NAME DEVICE PLAN [TAGS]: cases: the kernel delivers all frames; Linux 7 may deliver none with
# more than 8 tags of VLAN 0 in a row, as 7.3 does. With an attachment, the kernel delivers the same
# frames but for the blocked ones. The device that sends adds TAGS of VLAN 0 (default: 0) to those of
# the plan.
passes()
{
	local name=$1 device=$2 plan=$3 half deep lost

	half=$(wc -l < "$plan")
	deep=$(deep "$plan" "${4:-0}")
	ipcuckoo detach --all
	deliver "$plan"
	lost=$(missing 0)
	kernel_since 7 && [ "$lost" = "$deep of $half" ] || deep=0
	check "$name: delivered without an attachment" "$deep of $half, $deep of $half" \
		"$lost, $(missing 1)"
	attach_fresh "bad src drop ingress dev $device"
	deliver "$plan"
	check "$name: all blocked frames are dropped, and no others" \
		"$deep of $half, $half of $half" "$(missing 0), $(missing 1)"
	check "$name: they are counted, with their bytes but without tags" \
		"$half $(awk '$2 { bytes += $3 } END { print bytes }' sent)" "$(counters)"
}

# refused NAME DEVICE PLAN: cases: frames of a plan, all of which have too many tags, pass if nothing can
# be dropped, and none passes otherwise
refused()
{
	local name=$1 device=$2 plan=$3 half

	half=$(wc -l < "$plan")
	attach_fresh "bad src count ingress dev $device"
	deliver "$plan"
	if kernel_since 7; then
		skip "$name: where nothing is dropped, they pass" "Linux 7 may not deliver them"
	else
		check "$name: where nothing is dropped, they pass" \
			"0 of $half, 0 of $half" "$(missing 0), $(missing 1)"
	fi
	check "$name: they are not looked up" "0 0" "$(counters)"
	attach_fresh "bad src drop ingress dev $device"
	deliver "$plan"
	check "$name: where anything can be dropped, none passes" \
		"$half of $half, $half of $half" "$(missing 0), $(missing 1)"
	check "$name: and none is counted" "0 0" "$(counters)"
}

# offloaded: a plan of frames with tags behind the one that the client's VLAN device adds offloaded
offloaded()
{
	in_c ip link add link eth0 name out0 type vlan id "$1" protocol "$2" 2> err || return
	in_c ip link set out0 up
	in_c ethtool -k eth0 | grep -E -q "$3: on" || echo "$3 is off" > err
}

nested_devices()
{
	in_f ip link add link c0 name n5 type vlan id 5 &&
		in_f ip link add link n5 name n56 type vlan id 6 protocol 802.1ad &&
		in_f ip link add link n56 name n567 type vlan id 7 &&
		in_f ip link add link c0 name n8 type vlan id 8 protocol 802.1ad &&
		in_f ip link set n5 up && in_f ip link set n56 up && in_f ip link set n567 up &&
		in_f ip link set n8 up
}

test_tags()
{
	local some="0 1 2 3 4 5 6 7 8 9 15"

	# shellcheck disable=SC2086 # they are words
	priority_plan eth0 $some 16 > plan
	passes "VLAN 0, in the frame" c0 plan
	priority_plan eth0 17 18 20 100 > plan
	refused "more than 16 tags, in the frame" c0 plan
	nested_plan eth0 > plan
	passes "devices of VLANs" c0 plan
	# shellcheck disable=SC2086 # they are words
	priority_plan out0 $some > plan
	offloaded 0 802.1Q tx-vlan-offload
	passes "VLAN 0 offloaded, 802.1Q" c0 plan 1
	priority_plan out0 16 30 > plan.deep
	refused "16 tags and one that is offloaded" c0 plan.deep
	in_c ip link del out0
	offloaded 0 802.1ad tx-vlan-stag-hw-insert
	passes "VLAN 0 offloaded, 802.1ad" c0 plan 1
	in_c ip link del out0
	offloaded 5 802.1Q tx-vlan-offload
	passes "VLAN 5 offloaded, VLAN 0 within" c0 plan
	in_c ip link del out0
}

# cost FRAMES: prints what a frame of 9,000 bytes costs at best, in microseconds: one that is full of
# tags, and one without
cost()
{
	in_c python3 - "$1" <<-'END'
	import socket, sys, time
	frames, size = int(sys.argv[1]), 9000
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
	s.bind(("eth0", 0))
	head = bytes.fromhex("020000000011" "020000000012")
	tags = head + bytes.fromhex("81000005") * ((size - 14) // 4)
	plain = head + bytes.fromhex("0800" "45000020") + bytes(size - 18)
	best = [1e9, 1e9]
	for _ in range(20):
	    for kind, frame in enumerate((tags, plain)):
	        begin = time.monotonic()
	        for _ in range(frames):
	            s.send(frame)
	        best[kind] = min(best[kind], (time.monotonic() - begin) / frames)
	print(*(f"{seconds * 1e6:.1f}" for seconds in best))
	END
}

test_cost()
{
	local costs

	in_f ip link set c0 mtu 9000 && in_c ip link set eth0 mtu 9000 || bail "no large frames"
	attach_fresh "bad src drop ingress dev c0"
	costs=$(cost 200)
	echo "# 9,000 bytes, with tags and without: $costs us"
	check "a frame that is full of tags costs no more than twice what one without tags costs" 1 \
		"$(awk '{ print $1 < 2 * $2 }' <<< "$costs")"
	in_f ip link set c0 mtu 1500 && in_c ip link set eth0 mtu 1500
}

# A bridge forwards whole frames, and only a VLAN device on the bridge removes the tag.
test_bridge()
{
	in_f ip link add br0 type bridge && in_f ip link add link br0 name b9 type vlan id 9 &&
		in_f ip link set br0 address 02:00:00:00:00:11 && in_f ip link set br0 up &&
		in_f ip link set b9 up && in_f ip link set c0 master br0 || bail "no bridge"
	net_end f br0 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	for family in 4 ${ipv6:+6}; do
		echo "eth0 $family 8100:9"
		echo "eth0 $family 8100:9 8100:0"
		echo "eth0 $family 8100:9 88a8:0 8100:0"
	done > plan
	passes "a device of a VLAN on a bridge" c0 plan
}

test_broken()
{
	attach_fresh "bad src drop ingress dev c0"
	in_c python3 - <<-'END'
	import socket
	s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
	s.bind(("eth0", 0))
	for size in range(14, 80):
	    s.send(bytes.fromhex("020000000011" "020000000012") + (bytes.fromhex("81000000") * 20)[:size - 12])
	END
	run_ok "a frame that consists of tags does no harm" ipcuckoo detach --all
}

load_module
setup_quiet_net
mkdir -p /tmp/tags && cd /tmp/tags || bail "no place for files"
ipcuckoo create bad hash:net family any
ipcuckoo add bad 198.51.100.0/24 2001:db8:100::/48
ipcuckoo attach bad src drop ingress dev c0 2> err || skip_all "$(< err)"
nested_devices 2> err || skip_all "no VLANs in this kernel: $(< err)"
nsenter --net=/run/netns/f python3 -c "$receiver" $ipv6 >> received 2> receiver.err &
busywait 20 test -e listening || bail "no receiver: $(< receiver.err)"
test_tags
test_broken
test_cost
test_bridge
ktap_done
