#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets that pass the hooks more than once, and what the counters show then, as the manual says:
# VRF, a bridge with br_netfilter, a tunnel, and packets that IPsec decrypts.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# answers: reads the output of ping, prints how many answers it got
answers()
{
	sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

# seen N: prints how many packets the n-th attachment has counted
seen()
{
	counters | sed -n "$1s/ .*//p"
}

all_seen()
{
	counters | cut -d ' ' -f 1 | paste -sd ' '
}

test_vrf()
{
	local family from to

	if ! in_f ip link add vrf0 type vrf table 100 2> err; then
		skip "a VRF" "not in this kernel: $(< err)"
		return
	fi
	in_f ip link set vrf0 up
	in_f ip link set c0 master vrf0
	in_f ip addr flush dev c0
	net_end f c0 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	for family in 4 ${ipv6:+6}; do
		from=$([ $family = 4 ] && echo $C4 || echo $C6)
		to=$([ $family = 4 ] && echo $FC4 || echo $FC6)
		attach_fresh "client src count" "client src count dev c0" "client src count dev vrf0"
		check "VRF, IPv$family: packets are answered" \
			3 "$(in_c ping -c 3 -i 0.05 -W 2 "$to" | answers)"
		check "VRF, IPv$family: received packets are counted twice, once at each device" \
			"6 3 3" "$(all_seen)"
		attach_fresh "client dst count" "client dst count dev c0" "client dst count dev vrf0"
		check "VRF, IPv$family: packets are sent" 3 \
			"$(in_f ping -I vrf0 -c 3 -i 0.05 -W 2 "$from" | answers)"
		check "VRF, IPv$family: sent packets are counted twice, once at each device" \
			"6 3 3" "$(all_seen)"
		attach_fresh "client src drop"
		check "VRF, IPv$family: a packet is dropped the first time" "0 3" \
			"$(in_c ping -c 3 -i 0.05 -W 1 "$to" | answers) $(seen 1)"
		attach_fresh "client src drop dev vrf0"
		check "VRF, IPv$family: an attachment to the VRF device drops, too" "0 3" \
			"$(in_c ping -c 3 -i 0.05 -W 1 "$to" | answers) $(seen 1)"
		if attach_fresh "client src count ingress dev c0" 2> err; then
			check "VRF, IPv$family: packets are counted once at ingress" "3 3" \
				"$(in_c ping -c 3 -i 0.05 -W 2 "$to" | answers) $(seen 1)"
		else
			skip "VRF, IPv$family, at ingress" "$(< err)"
		fi
	done
	ipcuckoo detach --all
	in_f ip link del vrf0
	in_f ip addr flush dev c0
	net_end f c0 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
}

test_tunnel()
{
	if ! in_c ip link add t0 type ipip local $C4 remote $FC4 2> err; then
		skip "a tunnel" "not in this kernel: $(< err)"
		return
	fi
	in_f ip link add t0 type ipip local $FC4 remote $C4
	in_c ip addr add 10.8.0.2/24 dev t0
	in_f ip addr add 10.8.0.1/24 dev t0
	in_c ip link set t0 up
	in_f ip link set t0 up
	attach_fresh "client src count" "inner src count" "inner src count dev t0" "inner src count dev c0"
	check "a tunnel: outer packets are counted, then inner ones, at the tunnel's device" \
		"3 3 3 3 0" \
		"$(in_c ping -c 3 -i 0.05 -W 2 10.8.0.1 | answers) $(all_seen)"
	in_f ip link del t0
	in_c ip link del t0
}

# esp NAMESPACE SRC DST SPI: sets up one direction of IPsec in transport mode
esp()
{
	nsenter --net="/run/netns/$1" ip xfrm state add src "$2" dst "$3" proto esp spi "$4" \
		mode transport enc cipher_null "" auth 'hmac(sha1)' 0x0102030405060708090a0b0c0d0e0f1011121314
}

test_ipsec()
{
	local ns

	for ns in c f; do
		if ! { esp $ns $C4 $FC4 1 && esp $ns $FC4 $C4 2; } 2> err; then
			skip "IPsec" "not in this kernel: $(head -n 1 err)"
			return
		fi
	done
	in_c ip xfrm policy add src $C4 dst $FC4 dir out tmpl proto esp mode transport
	in_f ip xfrm policy add src $FC4 dst $C4 dir out tmpl proto esp mode transport
	attach_fresh "client src count" "client src count dev c0"
	check "IPsec, transport mode: packets are counted encrypted and decrypted" "3 6 6" \
		"$(in_c ping -c 3 -i 0.05 -W 2 $FC4 | answers) $(all_seen)"
	for ns in c f; do
		nsenter --net=/run/netns/$ns ip xfrm policy flush
		nsenter --net=/run/netns/$ns ip xfrm state flush
	done
}

test_bridge()
{
	if ! in_f ip link add br0 type bridge 2> err; then
		skip "a bridge" "not in this kernel: $(< err)"
		return
	fi
	modprobe br_netfilter 2> /dev/null
	if [ ! -e /proc/sys/net/bridge ]; then
		in_f ip link del br0
		skip "a bridge with br_netfilter" "not in this kernel"
		return
	fi
	in_f ip link set br0 address 02:00:00:00:00:11
	in_f ip link set c0 master br0
	in_f ip link set br0 up
	in_f ip addr flush dev c0
	net_end f br0 $FC4 $FC6 $C4 $C6 02:00:00:00:00:12 2> /dev/null
	attach_fresh "client src count" "client src count dev br0" "client src count dev c0"
	check "a bridge: packets are counted once, at the bridge" "3 3 3 0" \
		"$(in_c ping -c 3 -i 0.05 -W 2 $FC4 | answers) $(all_seen)"
}

load_module
setup_quiet_net
mkdir -p /tmp/vrf && cd /tmp/vrf || bail "no place for files"
ipcuckoo create client hash:ip family any
ipcuckoo add client $C4 $C6
ipcuckoo create inner hash:ip
ipcuckoo add inner 10.8.0.2
test_vrf
test_tunnel
test_ipsec
test_bridge
ktap_done
