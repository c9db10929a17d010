#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What tells of single packets: samples in the kernel log and through nflog, with their limits,
# the tracepoint, and the kernel's own reason for a drop.

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

# ping_from COUNT ADDRESS: to the firewall
ping_from()
{
	in_c ping -c "$1" -i 0.01 -W 1 -q "$2" > /dev/null
}

# logged: lines of ours in the kernel log since it was cleared
logged()
{
	dmesg | grep -c "ipcuckoo client $1:"
}

# The kernel loads the module of the logger, and meanwhile nobody else waits: whoever registers
# a family of generic netlink would, and then all who use it, if a request waited for modprobe.
test_loading()
{
	local helper=/proc/sys/kernel/modprobe modprobe pid

	modprobe=$(< $helper)
	if [ -d /sys/module/nf_log_syslog ] || ! modinfo nf_log_syslog psample > /dev/null 2>&1; then
		skip "the module of a logger is loaded" "it is no module of this kernel, or loaded"
		return
	fi
	# It goes on when it is told to.
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
	run_ok "while it is loaded a family can be registered" timeout 60 "$modprobe" psample
	check "and others are answered" client "$(in_f timeout 60 "$IPCUCKOO" list -n)"
	touch go
	wait $pid
	check "then the set is attached" "0 " "$? $(< attach.out)"
	check "with the module" 1 "$([ -d /sys/module/nf_log_syslog ] && echo 1)"
	echo /nowhere > $helper
	run_error "where it cannot be loaded: a message" 3 "no such logger" \
		ipcuckoo attach client dst drop log nflog 3
	echo "$modprobe" > $helper
	attach_fresh
}

# has_logged VERDICT COUNT: as many lines, or more
has_logged()
{
	[ "$(logged "$1")" -ge "$2" ]
}

test_kernel_log()
{
	local lines began

	if ! ipcuckoo attach client src drop log rate 0 2> err; then
		check_match "it is said why" "no such logger" "$(< err)"
		skip "the kernel log" "no nf_log_syslog in this kernel"
		return
	fi
	# Namespaces but the first log nothing unless this says so.
	echo 1 > /proc/sys/net/netfilter/nf_log_all_netns
	dmesg -C
	ping_from 5 $FC4
	lines=5
	if [ -n "$ipv6" ]; then
		ping_from 5 $FC6
		lines=10
	fi
	busywait 5 has_logged drop $lines
	check "each drop" $lines "$(logged drop)"
	check_match "with addresses and device" "ipcuckoo client drop: IN=c0 .*SRC=$C4 DST=$FC4 .*PROTO=ICMP" \
		"$(dmesg)"
	attach_fresh "client src drop log rate 0 every 10"
	dmesg -C
	ping_from 40 $FC4
	busywait 5 has_logged drop 2
	lines=$(logged drop)
	check "every tenth, on each processor" 1 $((lines >= 2 && lines <= 4))
	attach_fresh "client src count log rate 3/s"
	dmesg -C
	began=$SECONDS
	ping_from 30 $FC4
	lines=$(logged count)
	check "no more than the rate" 1 $((lines >= 3 && lines <= 3 * (SECONDS - began + 2)))
	if attach_fresh "client src drop log ingress dev c0" 2> err; then
		dmesg -C
		ping_from 3 $FC4
		busywait 5 has_logged drop 3
		check "at ingress" 3 "$(logged drop)"
	else
		check_match "it is said why" "no netfilter hooks at ingress" "$(< err)"
		skip "at ingress" "no netfilter hooks at ingress in this kernel"
	fi
	echo 0 > /proc/sys/net/netfilter/nf_log_all_netns
}

# listened COUNT: so many messages have come, or more
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
	# What comes behind shows that nothing came before: messages of a group keep their order.
	attach_fresh "client src drop log nflog 8 rate 0"
	ping_from 4 $FC4
	attach_fresh "client src drop log nflog 7 rate 0"
	ping_from 1 $FC4
	busywait 5 listened 5
	check "another group is another's" 5 "$(grep -c drop nflog)"
	kill $pid
}

test_words()
{
	attach_fresh
	run_error "rate of nothing" 2 "go with log" ipcuckoo attach client src drop rate 5/s
	run_error "a rate that is none" 2 "is invalid as number" ipcuckoo attach client src drop log rate 5/m
	run_error "every 0th" 2 "(number of packets)" ipcuckoo attach client src drop log every 0
	if ! ipcuckoo attach client src drop log nflog 7 rate 20/s every 3 2> /dev/null; then
		skip "what is said of it" "no nfnetlink_log in this kernel"
		return
	fi
	check "stats says it" '{"every": 3, "nflog": 7, "rate": 20}' "$(ipcuckoo -j stats |
		python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["attachments"][0]["log"], sort_keys=True))')"
	run_error "the same without" 3 "in that way already" ipcuckoo attach client src drop
	run_ok "but in its place" ipcuckoo attach client src drop --replace
	check "then it does not" "0" "$(ipcuckoo -j stats | grep -c '"log"')"
	run_ok "detached by its words" ipcuckoo detach client src drop log nflog 7 rate 20/s every 3
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
	check "the tracepoint sees each" 4 "$(grep -c ipcuckoo_match: trace)"
	check_match "an IPv4 packet" \
		"set=client direction=src verdict=drop dev=c0 src=::ffff:$C4 dst=::ffff:$FC4 len=84" "$(< trace)"
	check_match "an IPv6 packet" "verdict=drop dev=c0 src=$C6 dst=$FC6 len=104" "$(< trace)"
	check "the kernel's reason is that of netfilter" 4 "$(grep -c 'kfree_skb:.*NETFILTER_DROP' trace)"
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
