#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that the machine sends and an attachment marks must be routed by "ip rule fwmark", as
# behind a MARK of iptables in the table mangle: TCP, UDP and ICMP of both families. Marked packets
# leave for the client, others for the server; both count the packets that arrive.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

TO4=203.0.113.5
TO6=2001:db8:5::5

# Sends at least one packet of each protocol to an address. Nothing answers.
sender='
import errno, socket, sys
to = sys.argv[1]
family = socket.AF_INET6 if ":" in to else socket.AF_INET
s = socket.socket(family, socket.SOCK_STREAM)
s.setblocking(False)
tcp = s.connect_ex((to, 443))
s = socket.socket(family, socket.SOCK_DGRAM)
try:
    s.sendto(b"x", (to, 443))
    udp = 0
except OSError as e:
    udp = e.errno
print(*(errno.errorcode.get(e, "sent").replace("EINPROGRESS", "sent") for e in (tcp, udp)))
'

# arrived NAMESPACE: for each protocol, prints 1 if packets have arrived there, else 0
arrived()
{
	nsenter --net="/run/netns/$1" nft list chain $table t in |
		sed -n 's/.*counter packets \([0-9]*\) .*/\1/p' |
		while read -r n; do echo $((n > 0)); done | paste -sd ' '
}

clear_counters()
{
	local ns

	for ns in c s; do
		nsenter --net=/run/netns/$ns nft -f - <<-END || bail "nft cannot be set up"
		add table $table t
		delete table $table t
		table $table t {
			chain in {
				type filter hook prerouting priority 0;
				meta l4proto tcp ip daddr $TO4 counter
				meta l4proto udp ip daddr $TO4 counter
				icmp type echo-request ip daddr $TO4 counter
				$rules6
			}
		}
		END
	done
}

# destinations: sends the packets, and prints which protocols arrive at the client and at the server
destinations()
{
	clear_counters
	in_f python3 -c "$sender" $TO4 > out4
	in_f ping -c 1 -W 1 $TO4 > /dev/null 2>&1
	if [ -n "$ipv6" ]; then
		in_f python3 -c "$sender" $TO6 > out6
		in_f ping -c 1 -W 1 $TO6 > /dev/null 2>&1
	fi
	echo "c $(arrived c), s $(arrived s)"
}

with_iptables()
{
	in_f iptables -t mangle "$1" OUTPUT -d $TO4 -j MARK --set-mark "$2" 2> err &&
		{ [ -z "$ipv6" ] ||
			in_f ip6tables -t mangle "$1" OUTPUT -d $TO6 -j MARK --set-mark "$2" 2> err; }
}

# For each protocol of each family that the kernel has
all="1 1 1"
none="0 0 0"
table=ip
rules6=
if [ -n "$ipv6" ]; then
	all+=" 1 1 1"
	none+=" 0 0 0"
	table=inet
	rules6="meta l4proto tcp ip6 daddr $TO6 counter
		meta l4proto udp ip6 daddr $TO6 counter
		icmpv6 type echo-request ip6 daddr $TO6 counter"
fi

load_module
setup_quiet_net
mkdir -p /tmp/reroute && cd /tmp/reroute || bail "no place for files"
in_f ip route add default via $C4 dev c0 table 200
in_f ip rule add fwmark 0x7 lookup 200
in_f ip rule add fwmark 0x8 unreachable
if [ -n "$ipv6" ]; then
	in_f ip -6 route add default via $C6 dev c0 table 200
	in_f ip -6 rule add fwmark 0x7 lookup 200
	in_f ip -6 rule add fwmark 0x8 unreachable
fi
ipcuckoo create to hash:ip family any
ipcuckoo add to $TO4 $TO6
ipcuckoo create other hash:ip family any
ipcuckoo add other 203.0.113.6 2001:db8:5::6

check "without a mark: to the server" "c $none, s $all" "$(destinations)"
if with_iptables -A 7; then
	check "marked by iptables: to the client" "c $all, s $none" "$(destinations)"
	with_iptables -D 7
else
	skip "marked by iptables" "no table mangle in this kernel: $(< err)"
fi
attach_fresh "to dst mark 0x7"
check "marked by an attachment: to the client" "c $all, s $none" "$(destinations)"
check "the attachment has counted each packet" 1 \
	"$(($(counters | cut -d ' ' -f 1) >= $(wc -w <<< "$all")))"
attach_fresh "to dst mark 0x7/0x7 priority -149" "to dst count priority 100"
check "marked at another priority: to the client" "c $all, s $none" "$(destinations)"
attach_fresh "other dst mark 0x7"
check "packets that do not match: to the server" "c $none, s $all" "$(destinations)"
attach_fresh "to dst mark 0x7" "to dst mark 0x0 order 201"
check "marked and unmarked again: to the server" "c $none, s $all" "$(destinations)"
attach_fresh "to dst mark 0x7" "to dst drop"
check "marked and dropped: to neither" "c $none, s $none" "$(destinations)"

ipcuckoo detach --all
if with_iptables -A 8; then
	destinations > /dev/null
	want=$(cat out?)
	with_iptables -D 8
else
	want="EHOSTUNREACH EHOSTUNREACH"
	[ -z "$ipv6" ] || want+=$'\n'$want
fi
attach_fresh "to dst mark 0x8"
check "marked, but no route for the mark: to neither" "c $none, s $none" "$(destinations)"
check "sending fails then, as with iptables" "$want" "$(cat out?)"

ipcuckoo create skb hash:ip family any skbinfo
ipcuckoo add skb $TO4 skbmark 0x7
ipcuckoo add skb $TO6 skbmark 0x7
attach_fresh "skb dst mark 0x0"
check "marked by the skbmark of an entry: to the client" "c $all, s $none" "$(destinations)"
ktap_done
