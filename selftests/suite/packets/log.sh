#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests how single packets are reported: samples in the kernel log and through nflog, with their
# limits; the tracepoint; and the drop reason of the kernel.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

tracing=/sys/kernel/tracing

# A listener of nflog: prints the prefix of each message.
listener='
import os, socket, struct, sys, time
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
s.bind((0, 0))
def config(family, group, kind, data):
    attr = struct.pack("HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)
    body = struct.pack(">BBH", family, 0, group) + attr
    s.send(struct.pack("IHHII", 16 + len(body), 4 << 8 | 1, 5, 1, 0) + body)
    error = struct.unpack_from("i", s.recv(65536), 16)[0]
    assert not error, os.strerror(-error)
for family in 2, 10:
    config(family, 0, 1, b"\4")                 # unbind, bind: of the family
    config(family, 0, 1, b"\3")
config(0, int(sys.argv[1]), 1, b"\1")           # bind the group
config(0, int(sys.argv[1]), 2, struct.pack(">IBx", 0, 1))
print("ready", flush=True)
while True:
    data = s.recv(65536)
    at = 0
    while at < len(data):
        length, kind = struct.unpack_from("IH", data, at)
        pos = at + 20
        while kind == 4 << 8 and pos < at + length:
            size, attr = struct.unpack_from("HH", data, pos)
            if attr == 10:
                print(data[pos + 4:pos + size - 1].decode(), flush=True)
            pos += size + 3 & ~3
        at += length + 3 & ~3
'

# ping_from COUNT ADDRESS: pings the firewall from that address
ping_from()
{
	in_c ping -c "$1" -i 0.01 -W 1 -q "$2" > /dev/null
}

# logged VERDICT: prints how many of our lines are in the kernel log since it was cleared
logged()
{
	dmesg | grep -c "ipcuckoo client $1:"
}

# The kernel loads the module of a logger on demand. No other request may wait for that: if the
# request held the lock of generic netlink during modprobe, all users of generic netlink would wait.
test_loading()
{
	local helper=/proc/sys/kernel/modprobe modprobe pid

	modprobe=$(< $helper)
	if [ -d /sys/module/nf_log_syslog ] || ! modinfo nf_log_syslog psample > /dev/null 2>&1; then
		skip "the module of a logger is loaded" "it is built in, or loaded already"
		return
	fi
	# A modprobe that waits until it is told to continue.
	cat > slow <<-END
	#!/bin/sh
	touch $PWD/asked
	until [ -e $PWD/go ]; do sleep 0.1; done
	exec $modprobe "\$@"
	END
	chmod +x slow
	echo "$PWD/slow" > $helper
	ipcuckoo attach client src drop log > attach.out 2>&1 &
	pid=$!
	busywait 60 test -e asked
	run_ok "a generic netlink family can be registered meanwhile" timeout 60 "$modprobe" psample
	check "other requests are answered meanwhile" \
		client "$(in_f timeout 60 "$IPCUCKOO" list -n)"
	touch go
	wait $pid
	check "the set is attached once the logger is loaded" "0 " "$? $(< attach.out)"
	check "the logger's module is loaded" 1 "$([ -d /sys/module/nf_log_syslog ] && echo 1)"
	echo /nowhere > $helper
	run_error "if the logger cannot be loaded, there is a message" 3 "no such logger" \
		ipcuckoo attach client dst drop log nflog 3
	echo "$modprobe" > $helper
	attach_fresh
}

# has_logged VERDICT COUNT: does the log have that many lines or more?
has_logged()
{
	[ "$(logged "$1")" -ge "$2" ]
}

test_kernel_log()
{
	local lines began

	if ! ipcuckoo attach client src drop log rate 0 2> err; then
		check_match "the message says that there is no logger" "no such logger" "$(< err)"
		skip "the kernel log" "no nf_log_syslog in this kernel"
		return
	fi
	# Other namespaces than the first one log nothing unless this is set.
	echo 1 > /proc/sys/net/netfilter/nf_log_all_netns
	dmesg -C
	ping_from 5 $FC4
	lines=5
	if [ -n "$ipv6" ]; then
		ping_from 5 $FC6
		lines=10
	fi
	busywait 5 has_logged drop $lines
	check "each drop is logged" $lines "$(logged drop)"
	check_match "lines have addresses and device" \
		"ipcuckoo client drop: IN=c0 .*SRC=$C4 DST=$FC4 .*PROTO=ICMP" \
		"$(dmesg)"
	attach_fresh "client src drop log rate 0 every 10"
	dmesg -C
	ping_from 40 $FC4
	busywait 5 has_logged drop 2
	lines=$(logged drop)
	check "every 10: each processor logs every tenth packet" 1 $((lines >= 2 && lines <= 4))
	attach_fresh "client src count log rate 3/s"
	dmesg -C
	began=$SECONDS
	ping_from 30 $FC4
	lines=$(logged count)
	check "rate 3/s: no more are logged" 1 $((lines >= 3 && lines <= 3 * (SECONDS - began + 2)))
	if attach_fresh "client src drop log ingress dev c0" 2> err; then
		dmesg -C
		ping_from 3 $FC4
		busywait 5 has_logged drop 3
		check "drops at ingress are logged" 3 "$(logged drop)"
	else
		check_match "the message says that there are no hooks" \
			"no netfilter hooks at ingress" "$(< err)"
		skip "at ingress" "no netfilter hooks at ingress in this kernel"
	fi
	echo 0 > /proc/sys/net/netfilter/nf_log_all_netns
}

# listened COUNT: have that many messages arrived, or more?
listened()
{
	[ "$(grep -c drop nflog)" -ge "$1" ]
}

test_nflog()
{
	local pid

	if ! ipcuckoo attach client src drop log nflog 7 --replace 2> /dev/null; then
		skip "nflog" "no nfnetlink_log in this kernel"
		return
	fi
	nsenter --net=/run/netns/f python3 -c "$listener" 7 > nflog 2> nflog.err &
	pid=$!
	busywait 20 grep -q ready nflog || bail "the listener of nflog: $(< nflog.err)"
	attach_fresh "client src drop log nflog 7 rate 0"
	ping_from 4 $FC4
	busywait 5 listened 4
	check "through nflog" "4 ipcuckoo client drop:" \
		"$(grep -c drop nflog) $(grep drop nflog | sort -u | sed 's/ *$//')"
	# Messages of a group keep their order: when the later ones have arrived, none of the other
	# group can still arrive.
	attach_fresh "client src drop log nflog 8 rate 0"
	ping_from 4 $FC4
	attach_fresh "client src drop log nflog 7 rate 0"
	ping_from 1 $FC4
	busywait 5 listened 5
	check "messages for another group do not arrive" 5 "$(grep -c drop nflog)"
	kill $pid
}

test_words()
{
	attach_fresh
	run_error "rate without log" 2 "go with log" ipcuckoo attach client src drop rate 5/s
	run_error "an invalid rate" \
		2 "is invalid as number" ipcuckoo attach client src drop log rate 5/m
	run_error "every 0th" 2 "(number of packets)" ipcuckoo attach client src drop log every 0
	if ! ipcuckoo attach client src drop log nflog 7 rate 20/s every 3 2> /dev/null; then
		skip "how a log is shown" "no nfnetlink_log in this kernel"
		return
	fi
	check "stats shows the log" '{"every": 3, "nflog": 7, "rate": 20}' "$(ipcuckoo -j stats |
		python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["attachments"][0]["log"], sort_keys=True))')"
	run_error "the same attachment without a log" \
		3 "in that way already" ipcuckoo attach client src drop
	run_ok "the same without a log, with --replace" ipcuckoo attach client src drop --replace
	check "stats shows no log then" "0" "$(ipcuckoo -j stats | grep -c '"log"')"
	run_ok "detach with the words of the log" \
		ipcuckoo detach client src drop log nflog 7 rate 20/s every 3
}

test_trace()
{
	[ -d $tracing/events ] || mount -t tracefs none $tracing 2> /dev/null
	if [ ! -d $tracing/events/ipcuckoo ]; then
		skip "the tracepoint" "no tracing in this kernel"
		return
	fi
	attach_fresh "client src drop"
	echo 1 > $tracing/events/ipcuckoo/ipcuckoo_match/enable
	echo 1 > $tracing/events/skb/kfree_skb/enable
	echo > $tracing/trace
	ping_from 2 $FC4
	ping_from 2 $FC6
	echo 0 > $tracing/events/ipcuckoo/ipcuckoo_match/enable
	echo 0 > $tracing/events/skb/kfree_skb/enable
	cp $tracing/trace trace
	check "the tracepoint reports each packet" 4 "$(grep -c ipcuckoo_match: trace)"
	check_match "an IPv4 packet" \
		"set=client direction=src verdict=drop dev=c0 src=::ffff:$C4 dst=::ffff:$FC4 len=84" "$(< trace)"
	check_match "an IPv6 packet" "verdict=drop dev=c0 src=$C6 dst=$FC6 len=104" "$(< trace)"
	check "the kernel's drop reason is netfilter" \
		4 "$(grep -c 'kfree_skb:.*NETFILTER_DROP' trace)"
}

load_module
setup_quiet_net
cd $lists || bail "no $lists"
ipcuckoo create client hash:ip family any
ipcuckoo add client $C4 $C6
test_loading
test_kernel_log
test_nflog
test_words
test_trace
ipcuckoo detach --all
ktap_done
