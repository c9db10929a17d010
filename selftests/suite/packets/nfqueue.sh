#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that wait in an NFQUEUE, as for an inline IPS, while sets are attached, detached and
# moved: none may be lost. The kernel drops all packets in queues when any hook is unregistered, so
# the module must not unregister one.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# Holds the packets of queue 5 until a file "go" exists; then accepts them and all later ones.
queue='
import os, socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
s.bind((0, 0))
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)           # SO_RCVBUFFORCE
def say(kind, attr, data, flags):
    body = struct.pack(">BBHHH", 0, 0, 5, 0, 0)[:4]
    body += struct.pack("HH", 4 + len(data), attr) + data + b"\0" * (-len(data) % 4)
    s.send(struct.pack("IHHII", 16 + len(body), 3 << 8 | kind, 1 | flags, 1, 0) + body)
def config(attr, data):
    say(2, attr, data, 4)
    error = struct.unpack_from("i", s.recv(65536), 16)[0]
    assert not error, os.strerror(-error)
config(1, struct.pack(">BBH", 1, 0, 0))                 # bind
config(2, struct.pack(">IB", 0, 1))                     # metadata only
config(3, struct.pack(">I", 4096))                      # room
open("ready", "w")
s.settimeout(0.05)
held = []
while True:
    try:
        data = s.recv(65536)
    except TimeoutError:
        data = b""
    except OSError:                                     # no room for a message
        continue
    at = 20                                             # behind both headers
    while at < len(data) and data[4:6] == b"\0\3":
        size, attr = struct.unpack_from("HH", data, at)
        if attr == 1:
            held += struct.unpack_from(">I", data, at + 4)
        at += size + 3 & ~3
    if os.path.exists("go"):
        for number in held:
            say(1, 2, struct.pack(">II", 1, number), 0)
        held = []
'

# Prints the number of each datagram that arrives. Its socket has room for all of them: they arrive
# in one burst, which may be over before this process runs.
receiver='
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)           # SO_RCVBUFFORCE
s.bind(("::", 4789))
open("listening", "w")
while True:
    print(s.recv(64).decode(), flush=True)
'

# How many packets are sent of each family, through the firewall, and by the firewall itself.
EACH=5
sent=0

sender='
import socket, sys
first, each, *addresses = sys.argv[1:]
for i, address in enumerate(addresses):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    for n in range(int(each)):
        s.sendto(str(int(first) + i * int(each) + n).encode(), (address, 4789))
'

send_more()
{
	in_c python3 -c "$sender" "$sent" $EACH $S4 $S6
	in_f python3 -c "$sender" $((sent + 2 * EACH)) $EACH $S4 $S6
	sent=$((sent + 4 * EACH))
}

# Prints how many packets wait in the queue.
held()
{
	in_f awk '$1 == 5 { print $3 }' /proc/net/netfilter/nfnetlink_queue
}

holds_all()
{
	[ "$(held)" = "$sent" ]
}

# keeps NAME COMMAND...: a case: the command loses no packet that waits
keeps()
{
	local name=$1 out

	shift
	send_more
	busywait 5 holds_all || note "$(held) of $sent wait"
	out=$("$@" 2>&1) || bail "$*: $out"
	check "$name" "$sent wait" "$(held) wait"
}

several()
{
	local line

	for line; do
		# shellcheck disable=SC2086
		ipcuckoo $line || return
	done
}

rename_device()
{
	in_f ip link set "$1" down && in_f ip link set "$1" name "$2" &&
		in_f ip link set "$2" up
}

setup_queue()
{
	in_f nft -f - <<-'END' || skip_all "this kernel has no queue for nft"
	table inet t {
		chain in {
			type filter hook prerouting priority 0;
			udp dport 4789 queue num 5
		}
		chain out {
			type filter hook output priority 0;
			udp dport 4789 queue num 5
		}
	}
	END
	nsenter --net=/run/netns/f python3 -c "$queue" 2> queue.err &
	busywait 20 test -e ready || bail "no queue: $(< queue.err)"
	nsenter --net=/run/netns/s python3 -c "$receiver" > received 2> receiver.err &
	busywait 20 test -e listening || bail "no receiver: $(< receiver.err)"
	in_f ip link add d0 type dummy && in_f ip link add d2 type dummy || bail "no dummies"
}

test_attachments()
{
	keeps "attached" ipcuckoo attach a both count
	keeps "attached with another priority" ipcuckoo attach b both count priority -100
	keeps "one of two sets detached" ipcuckoo detach b
	keeps "replaced, with another verdict" ipcuckoo attach a both drop --replace
	keeps "replaced, with another priority" ipcuckoo attach a both count priority -50 --replace
	keeps "replaced, with the first priority" ipcuckoo attach a both count --replace
	keeps "swapped" ipcuckoo swap a b
	keeps "renamed" several "rename a x" "rename x a"
	keeps "loaded again" ipcuckoo load a list
	keeps "the last set detached" ipcuckoo detach --all
	keeps "attached and detached again" several "attach a both count" "detach a"
	keeps "destroyed" several "create c hash:ip" "attach c src drop" "detach c" "destroy c"
	keeps "refused" several "attach a both count" "-exist attach a both count" "detach a"
}

test_devices()
{
	if ! ipcuckoo attach a src drop ingress dev d0 2> err; then
		skip "devices" "$(< err)"
		return
	fi
	keeps "a device with an attachment is renamed" rename_device d0 d1
	keeps "that device gets its old name again" rename_device d1 d0
	keeps "a device without an attachment is renamed" rename_device d2 d3
	keeps "a device without an attachment is deleted" in_f ip link del d3
	keeps "detached from a device" ipcuckoo detach a
	keeps "attached to a device that does not exist" ipcuckoo attach a src drop ingress dev new0
	keeps "that device appears" in_f ip link add new0 type dummy
	keeps "detached from that device" ipcuckoo detach a
}

# Test that idle hooks are unregistered only above their limit.
test_idle()
{
	local i

	keeps "a priority, IPv4, in and out" several "attach four both count priority 1" \
		"detach four" "attach four both count priority 2" "detach four"
	for ((i = 3; i <= 20; i++)); do
		several "attach four both count priority $i" "detach four"
	done
	keeps "up to 64 idle hooks" several "attach four both count priority 3" "detach four"
}

load_module
setup_quiet_net
mkdir -p /tmp/nfqueue && cd /tmp/nfqueue || bail "no place for files"
ipcuckoo create four hash:net
ipcuckoo create a hash:net family any
ipcuckoo create b hash:net family any
list_of list 198.51.100.0/24 2001:db8:100::/48
setup_queue
test_attachments
test_devices
test_idle
touch go
all_arrived()
{
	[ "$(sort -un received | wc -l)" = "$sent" ]
}
busywait 20 all_arrived
check "all packets are accepted and arrive" "$sent" "$(sort -un received | wc -l)"
ktap_done
