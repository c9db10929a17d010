#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool's guard: without --force, it refuses changes that would lock out the SSH session
# that it runs in, drop addresses that the machine needs, or much of the internet; and nothing else.

. "${0%/*}/tool-functions"

attach_error="Set nets cannot be attached: 192.0.2.7 is in it, the client of your SSH session; you would be locked out (--force does it all the same)"
dropped="192.0.2.7, the client of your SSH session, would be dropped by the set nets; nothing was changed (--force does it all the same)"

test_attach()
{
	local words

	"$IPCUCKOO" add nets 192.0.2.0/24 198.51.100.1
	for words in "src drop" "both drop" "dst drop" "src drop dev eth0" \
		"src drop ingress dev eth0" "src drop priority 5" "src drop --replace"; do
		# shellcheck disable=SC2086
		expect "attach $words" 3 "" "$attach_error" attach nets $words
	done
	expect "-q refuses, too" 3 "" "" -q attach nets src drop
	for words in "src count" "src accept" "src mark 1" "dst drop ingress dev lo"; do
		# shellcheck disable=SC2086
		fine "attach $words" attach nets $words
	done
	fine "--force" --force attach nets src drop
	"$IPCUCKOO" detach --all
	SSH_CONNECTION="192.0.3.7 5000 192.0.2.9 22"
	fine "src drop of the server's address" attach nets src drop
	expect "dst drop of the server's address" \
		3 "" "192.0.2.9 is in it, the server of your SSH session" \
		attach nets dst drop ingress dev eth0
	"$IPCUCKOO" detach --all
	SSH_CONNECTION="2001:db8::7%eth0 5000 2001:db8::1%eth0 22"
	fine "IPv6, not in it" attach nets src drop
	"$IPCUCKOO" --force detach --all
	"$IPCUCKOO" add nets 2001:db8::/64
	expect "IPv6, in it" 3 "" "2001:db8::7 is in it" attach nets src drop
	for SSH_CONNECTION in "" "x" "nothing 1 of 2" "1.2.3.4"; do
		fine "no session: '$SSH_CONNECTION'" attach nets src drop
		"$IPCUCKOO" detach --all
	done
	SSH_CONNECTION=$session
	"$IPCUCKOO" flush nets
}

test_entries()
{
	fine "attach" attach nets src drop
	printf '%s\n' 10.0.0.1 192.0.2.0/28 > list
	for words in "add nets 192.0.2.7" "add nets 0.0.0.0/0" "add nets 10.0.0.0/8 192.0.2.6-192.0.2.9" \
		"add nets 192.0.2.7 -exist" "load nets list" "load nets list --append"; do
		# Commands that ipset has, too, fail with ipset's status.
		# shellcheck disable=SC2086
		expect "$words" "$(case $words in add*) echo 1 ;; *) echo 3 ;; esac)" "" "$dropped" $words
	done
	fine "add of others" add nets 192.0.2.8/29 10.0.0.0/8 2001:db8::/32 192.0.2.6
	has "the set has only these" "10.0.0.0/8 192.0.2.6 192.0.2.8/29 2001:db8::/32" nets
	fine "to a set that drops nothing" add hosts 192.0.2.7
	fine "del" del nets 10.0.0.0/8
	fine "--force" add nets 192.0.2.7 --force
	expect "load --force" 0 "nets: *" "" --force load nets list
	fine "dropped already, so nothing gets worse" add nets 192.0.2.0/24
	fine "nothing is dropped" flush nets
	expect "block, the first time" 3 "" "192.0.2.7, the client of your SSH session, would be dropped by the set blocked" \
		block 192.0.2.0/24
	expect "block that is refused creates no set" \
		1 "" 'The set with the given name does not exist: "blocked"' list blocked
	expect "block of others" 0 "192.0.2.8 is blocked." "" block 192.0.2.8
	expect "block, then" 3 "" "would be dropped by the set blocked" block 192.0.2.7
	expect "block --force" 0 "192.0.2.7 is blocked." "" block 192.0.2.7 --force
	fine "nothing is dropped again" flush
	"$IPCUCKOO" create masked hash:ip netmask 24
	fine "attach a set with a netmask" attach masked src drop
	expect "add of an address that the netmask makes the same" \
		1 "" "192.0.2.7, the client of your SSH session, would be dropped by the set masked" \
		add masked 192.0.2.99
	fine "add of an address outside the netmask" add masked 192.0.3.7
	start_over
}

# Test exceptions, and changes of a set that is attached already.
test_changes()
{
	make_sets
	fine "attach" attach nets src drop
	fine "an exception" add nets 192.0.2.7 nomatch
	fine "the prefix around it" add nets 192.0.2.0/24
	expect "del of the exception" 1 "" "$dropped" del nets 192.0.2.7
	expect "the address is added without nomatch" 1 "" "$dropped" -exist add nets 192.0.2.7
	expect "a load without it" 3 "" "$dropped" load nets list
	expect "a load of other addresses" 0 "nets: *" "" load nets - <<< 10.0.0.1
	fine "create a set that is not attached" create other hash:net family any
	fine "a set that is not attached may contain the address" add other 192.0.2.0/28
	expect "swap" 1 "" "$dropped" swap nets other
	expect "swap in the other direction" 1 "" "$dropped" swap other nets
	printf '%s\n' 'add other 10.0.0.9' 'swap other nets' > file
	expect "swap in restore" 1 "" "$dropped" restore -file file
	has "nothing was changed" "192.0.2.0/28" other
	printf '%s\n' 'add other 192.0.2.7 nomatch' 'swap other nets' 'rename nets last' > file
	fine "swap in restore, with an exception for the address" restore -file file
	printf 'add last 192.0.2.7 -exist\n' > file
	expect "an addition in restore" 1 "" "${dropped/nets/last}" restore -file file
	expect "restore --check reports the same" \
		1 "" "${dropped/nets/last}" restore --check -file file
	fine "--force" --force restore -file file
	start_over
	# Test that an attachment stays with the name when sets are swapped by a later line.
	make_sets
	"$IPCUCKOO" create other hash:net family any
	"$IPCUCKOO" add other 192.0.2.0/28
	printf '%s\n' 'attach nets src drop' 'swap nets other' > file
	expect "attach and swap" 1 "" "Error in line 1: Set nets cannot be attached: 192.0.2.7 is in it" restore -file file
	printf '%s\n' 'attach other src drop' 'swap nets other' > file
	fine "the other way" restore -file file
	"$IPCUCKOO" detach --all
	printf '%s\n' 'attach nets src drop --force' > file
	fine "--force in the line" restore -file file
	start_over
}

# The sets friends and nets of the manual, and a session from 10.0.1.2 that friends lets in
make_friends()
{
	SSH_CONNECTION="10.0.1.2 5000 203.0.113.1 22"
	"$IPCUCKOO" restore <<- END || bail "cannot make friends"
		create friends hash:net
		create nets hash:net
		create empty hash:net
		add friends 10.0.1.2
		add nets 10.0.1.0/24
		attach friends src accept order 10
		attach nets src drop order 20
	END
	echo 10.9.9.9 > other
}

# Test that the verdict of all attachments decides, in the order in which they run.
test_chain()
{
	local dropped="10.0.1.2, the client of your SSH session, would be dropped by the set nets; nothing was changed (--force does it all the same)"
	local words status

	make_friends
	for words in "flush friends" "del friends 10.0.1.2" "swap friends empty" \
		"swap empty friends" "detach friends" "detach friends src accept order 10" \
		"load friends other" "-exist add friends 10.0.1.2 nomatch" \
		"attach friends src count --replace"; do
		case $words in
		detach*|load*|attach*) status=3 ;;
		*) status=1 ;;
		esac
		# shellcheck disable=SC2086
		expect "$words" $status "" "$dropped" $words
	done
	for words in "flush friends" "swap friends empty" "del friends 10.0.1.2" \
		"-exist add friends 10.0.1.2 nomatch"; do
		echo "$words" > file
		expect "restore of $words" 1 "" "$dropped" restore -file file
		expect "restore --check of $words" 1 "" "$dropped" restore --check -file file
	done
	printf '%s\n' 'flush friends' 'add friends 10.0.1.0/24' 'add friends 10.0.1.2 nomatch' > file
	expect "restore of an exception" 1 "" "$dropped" restore -file file
	has "nothing was changed" "10.0.1.2" friends
	# Test that what the session's packets do not come to is not refused.
	printf '%s\n' 'flush friends' 'add friends 10.0.1.0/30' 'add nets 10.0.1.2' > file
	fine "restore, friends still has it" restore -file file
	fine "del of another" del nets 10.0.1.2
	fine "add to the set behind" add nets 10.0.1.2
	fine "swap with a set that has it" add empty 10.0.1.0/28
	fine "both have it" swap friends empty
	fine "detach of the set behind" detach nets
	fine "then friends is of no use" detach friends
	fine "attached in front again" attach friends src accept order 10
	fine "attach behind" attach nets src drop order 20
	expect "attach in front" 3 "" "Set nets cannot be attached: 10.0.1.2 is in it" \
		attach nets src drop order 5 priority -450
	expect "attach to a chain of its own" 3 "" "Set nets cannot be attached: 10.0.1.2 is in it" \
		attach nets src drop priority 7
	expect "attach at a place before" 3 "" "Set nets cannot be attached: 10.0.1.2 is in it" \
		attach nets src drop ingress dev lo
	expect "attach in the other direction" 3 "" "Set nets cannot be attached: 10.0.1.2 is in it" \
		attach nets both drop order 20
	fine "accept, both" attach friends both accept order 10
	fine "attach in the other direction, behind" attach nets both drop order 20
	fine "one accept is enough for what comes in" del nets 10.0.1.2
	expect "the other is needed for what goes out" 3 "" "$dropped" detach friends both
	fine "one of two in front" detach friends src
	expect "block of an address that is let in before" 0 "10.0.1.2 is blocked." "" block 10.0.1.2
	expect "del of what lets it in" 1 "" "$dropped" del friends 10.0.1.0/28
	expect "unblock" 0 "10.0.1.2 is unblocked." "" unblock 10.0.1.2
	# Test that a change which makes nothing worse is not refused.
	fine "--force" --force detach friends
	fine "dropped already, add" add nets 10.0.1.2
	fine "dropped already, flush" flush friends
	fine "dropped already, attach" attach nets src drop priority 9
	fine "no packet is dropped any more" flush nets
	expect "an end to that" 1 "" "$dropped" add nets 10.0.1.2
	fine "flush of all sets leaves nothing to drop" flush
	start_over
	# Test accept at one device only.
	make_friends
	fine "for all devices" detach nets
	fine "accept at one device" attach friends src accept dev lo order 11
	fine "and no more at all of them" detach friends order 10
	expect "drop at all devices" 3 "" "10.0.1.2 is in it" attach nets src drop
	ip link property add dev lo altname other0 || bail "cannot name a device"
	fine "drop at that device, by an alternative name" attach nets src drop dev other0
	ip link property del dev lo altname other0
	start_over
}

# Attachments that act on new connections, or on packets to some ports, only
test_limited()
{
	local locked="192.0.2.7 is in it, the client of your SSH session; you would be locked out"

	SSH_CONNECTION=$session
	make_sets
	"$IPCUCKOO" add nets 192.0.2.0/24
	expect "new connections" 3 "" "$locked" attach nets src drop new
	expect "some ports" 3 "" "$locked" attach nets src drop proto udp dport 53
	fine "in spite of that" --force attach nets src drop proto tcp dport 25
	fine "something else" attach nets dst count
	expect "other ports, too" 3 "" "$locked" attach nets src drop proto tcp dport 22,25
	fine "some of the ports are dropped already" attach nets src drop proto tcp dport 25 priority 5
	expect "all packets" 3 "" "$locked" attach nets src drop
	"$IPCUCKOO" detach nets
	"$IPCUCKOO" create some hash:net family any
	"$IPCUCKOO" add some 192.0.2.7
	fine "accepted at one port" attach some src accept proto tcp dport 22
	expect "dropped at all of them" 3 "" "$locked" attach nets src drop
	expect "dropped at more of them" 3 "" "$locked" attach nets src drop proto tcp dport 20-30
	fine "dropped at this one" attach nets src drop proto tcp dport 22
	expect "not accepted any more" 3 "" "the client of your SSH session, would be dropped" \
		detach some
	fine "what is dropped at new connections only" attach some src accept new priority -199
	fine "may be dropped at these" attach nets src drop new
	start_over
}

test_mapped()
{
	SSH_CONNECTION="::ffff:192.0.2.7 5000 ::ffff:203.0.113.1 22"
	make_sets
	"$IPCUCKOO" add nets 192.0.2.0/24
	expect "a session from IPv4 that is mapped into IPv6" 3 "" "192.0.2.7 is in it" \
		attach nets src drop
	start_over
	SSH_CONNECTION="127.0.0.1 5000 127.0.0.1 22"
	make_sets
	"$IPCUCKOO" add nets 127.0.0.0/8
	fine "a session with the machine itself: loopback devices are exempt" attach nets src drop
	expect "with loopback" 3 "" "127.0.0.1 is in it" attach nets src drop loopback
	start_over
	SSH_CONNECTION=$session
}

test_unknown()
{
	local unknown="cannot find out whether 192.0.2.7, the client of your SSH session, would be dropped by the set nets: Invalid argument; nothing was changed (--force does it all the same)"
	local -x LD_PRELOAD=

	# Test that a change is refused if its effect cannot be found out: the kernel refuses each
	# test of an entry.
	make_sets
	"$IPCUCKOO" create other hash:net family any
	"$IPCUCKOO" add nets 192.0.2.7 nomatch
	"$IPCUCKOO" add nets 192.0.2.0/24
	"$IPCUCKOO" attach nets src drop
	LD_PRELOAD=$(realpath "$IPCUCKOO_TESTS/test-fails.so") || bail "nothing to preload"
	expect "attach" 3 "" "$unknown" attach nets src drop order 7
	expect "del of an exception" 1 "" "$unknown" del nets 192.0.2.7
	expect "swap" 1 "" "$unknown" swap nets other
	printf '%s\n' 'swap nets other' > file
	expect "restore" 1 "" "$unknown" restore -file file
	printf '%s\n' 'flush other' 'swap nets other' > file
	fine "restore, if no set needs to be asked" restore -file file
	fine "--force" --force swap nets other
	LD_PRELOAD=
	# Test that unblock does not say "is not blocked" of what it does not know.
	"$IPCUCKOO" block 198.51.100.0/24
	"$IPCUCKOO" add blocked 198.51.100.0/25 nomatch
	expect "an entry blocks it" 1 "" "198.51.100.192/26 is not an entry, but is blocked by the entry 198.51.100.0/24" \
		unblock 198.51.100.192/26
	expect "an exception does not" 1 "" "198.51.100.64/26 is not blocked" unblock 198.51.100.64/26
	LD_PRELOAD=$(realpath "$IPCUCKOO_TESTS/test-fails.so")
	expect "unblock of what is no entry" 3 "" "198.51.100.192 is not an entry, and the kernel cannot say whether another entry blocks it: " \
		unblock 198.51.100.192
	LD_PRELOAD=
	start_over
}

# Test that one change does not block much of the internet.
test_internet()
{
	local all="would drop 3702390784 more addresses of IPv4, most of them by 0.0.0.0/0; one change may add 16777216, a /8"
	local -x SSH_CONNECTION=""
	local words

	make_sets
	fine "a set that is not attached may have anything" add nets 0.0.0.0/0 ::/0
	for words in "src accept" "src count" "dst mark 1"; do
		# shellcheck disable=SC2086
		fine "attach $words" attach nets $words order 1
	done
	fine "detach" detach nets
	expect "attach drop" 3 "" "the set nets $all; nothing was changed (--force does it all the same)" \
		attach nets src drop
	fine "del" del nets 0.0.0.0/0
	expect "IPv6" 3 "" "the set nets would drop 35184372088832 more /48s of IPv6, most of them by ::/0; one change may add 4294967296, a /16; nothing" \
		attach nets src drop
	fine "nothing is left" flush nets
	fine "attach" attach nets src drop
	expect "add" 1 "" "the set nets $all; nothing was changed" add nets 0.0.0.0/0
	expect "many prefixes" 1 "" "the set nets would drop 33554432 more addresses of IPv4, most of them by 8.0.0.0/8; " \
		add nets 8.0.0.0/8 9.0.0.0/8
	fine "a 256th of the internet, and what is no part of it" add nets 8.0.0.0/8 240.0.0.0/4 \
		10.0.0.0/8 2a00::/16
	fine "exceptions" add nets 0.0.0.0/1 nomatch
	printf '%s\n' '# comment' 192.0.2.1 '8.0.0.0/8 # there' '4.0.0.0/6, why' > wide
	expect "load, with the line" 3 "" "wide:4: the set nets would drop 67108880 more addresses of IPv4, most of them by 4.0.0.0/6; " \
		load nets list wide
	expect "load --append --check" 3 "" "wide:4: the set nets" load nets wide --append --check
	expect "load of standard input" 3 "" ": the set nets would drop" load nets - < wide
	printf '%s\n' 'add nets 192.0.2.9' 'add nets 4.0.0.0/6' > file
	expect "restore, with the line" 1 "" "Error in line 2: the set nets would drop 67108865 more" \
		restore -file file
	printf '%s\n' 'create fresh hash:net' 'add fresh 4.0.0.0/6' 'attach fresh src drop' > file
	expect "restore of a new set" 1 "" "Error in line 3: the set fresh would drop 67108864 more" \
		restore -file file
	fine "--force" --force restore -file file
	fine "it is there already" -exist restore -file file
	expect "load of what is there" 0 "fresh: 1 entry*" "" load fresh - <<< 4.0.0.0/6
	expect "load of more" 3 "" "would drop 67108864 more addresses of IPv4, most of them by 16.0.0.0/6" \
		load fresh - <<< $'4.0.0.0/6\n16.0.0.0/6'
	fine "another set" create other hash:net
	fine "is full of it" add other 0.0.0.0/1
	expect "swap" 1 "" "the set fresh would drop " swap fresh other
	fine "create with a mask" create masked hash:ip netmask 4
	fine "an entry that stands for many" add masked 16.0.0.1
	expect "a mask" 3 "" "the set masked would drop 268435456 more addresses of IPv4, most of them by 16.0.0.0/4" \
		attach masked dst drop
	expect "block" 3 "" "the set blocked $all" block 0.0.0.0/0
	expect "which creates no set" \
		1 "" 'The set with the given name does not exist: "blocked"' list blocked
	start_over
}

# Test the addresses that the machine needs.
test_machine()
{
	local -x SSH_CONNECTION=""
	local needs words

	ip link set lo up && ip address add 203.0.113.9/32 dev lo &&
		ip route add 198.41.0.4/32 via 203.0.113.10 dev lo onlink &&
		echo "nameserver 203.0.113.11" > resolv.conf || bail "cannot set up the machine"
	make_sets
	"$IPCUCKOO" create friends hash:net family any
	fine "attach" attach nets src drop
	while IFS=, read -r words needs; do
		expect "add $words" 1 "" "$needs, would be dropped by the set nets; nothing was changed" \
			add nets "$words"
	done <<- END
		203.0.113.9,203.0.113.9, an address of this machine
		203.0.113.8/31,203.0.113.8/31: 203.0.113.9, an address of this machine
		203.0.113.10,203.0.113.10, a gateway of this machine
		203.0.113.11,203.0.113.11, a resolver of this machine
		169.254.0.0/16,169.254.0.0/16: 169.254.169.254, a link-local address
		fe80::/10,fe80::/10: fe80::1, a link-local address
		8000::/1,8000::/1: fe80::1, a link-local address
		0.0.0.0/8,0.0.0.0/8: 0.0.0.0, the address of who has none yet
		::/128,::, the address of who has none yet
	END
	fine "neighbours, what is no source, and what loopback devices have" add nets 203.0.113.12 \
		169.254.1.1 224.0.0.0/4 ff00::/8 127.0.0.0/8 ::1
	printf '%s\n' 192.0.2.1 203.0.113.0/24 > addresses
	expect "load" 3 "" "addresses:2: 203.0.113.0/24: 203.0.113.9, an address of this machine, would" \
		load nets addresses
	echo "add nets 203.0.113.0/24" > file
	expect "restore" 1 "" "Error in line 1: 203.0.113.0/24: 203.0.113.9, an address" restore -file file
	expect "block" 3 "" "203.0.113.10, a gateway of this machine, would be dropped by the set blocked" \
		block 203.0.113.10
	expect "loopback" 3 "" "Set nets cannot be attached: 127.0.0.1 is in it, a loopback address (--force" \
		attach nets src drop loopback
	expect "multicast" 3 "" "Set nets cannot be attached: 224.0.0.1 is in it, a multicast address (--force" \
		attach nets dst drop
	fine "what lets them pass before" add friends 203.0.113.8/29
	fine "as source and destination" attach friends both accept
	fine "then they are not dropped" add nets 203.0.113.0/24
	expect "flush of it" 1 "" "203.0.113.9, an address of this machine, would be dropped by the set nets" \
		flush friends
	expect "detach of it" 3 "" "203.0.113.9, an address of this machine, would be dropped by the set nets" \
		detach friends
	fine "--force" --force flush friends
	fine "nothing gets worse" -exist add nets 203.0.113.9
	ip address del 203.0.113.9/32 dev lo
	ip route del 198.41.0.4/32 2> /dev/null
	: > resolv.conf
	fine "flush" flush nets
	fine "addresses that it has no more" add nets 203.0.113.9 203.0.113.10 203.0.113.11
	start_over
}

# Test that the guard looks for the session in the environments of all ancestors: sudo removes it.
test_ancestors()
{
	make_sets
	"$IPCUCKOO" add nets 192.0.2.7
	expect_env "SSH_CONNECTION of the shell that runs the tool" "$attach_error" \
		env SSH_CONNECTION="$session" sh -c 'env -i "$0" attach nets src drop; exit $?' "$IPCUCKOO"
	expect_env "SSH_CONNECTION of that shell's parent" "$attach_error" \
		env SSH_CONNECTION="$session" sh -c 'env -i sh -c "\"\$0\" attach nets src drop; exit \$?" "$0"; exit $?' \
		"$IPCUCKOO"
	expect_env "SSH_CONNECTION of the nearest ancestor counts" "" \
		env SSH_CONNECTION="$session" sh -c 'SSH_CONNECTION="10.0.0.1 1 10.0.0.2 22" "$0" attach nets src drop; exit $?' \
		"$IPCUCKOO"
}

# Prints the beginning of the tool's messages.
ipcuckoo_says()
{
	"$IPCUCKOO" nothing 2>&1 | grep -o '^ipcuckoo v[0-9.]*: '
}

# expect_env NAME ERR COMMAND...: a case: the command prints this message, or none
expect_env()
{
	local name=$1 want=$2 have

	shift 2
	have=$("$@" 2>&1)
	check "$name" "${want:+$(ipcuckoo_says)}$want" "$have"
}

session="192.0.2.7 5000 203.0.113.1 22"
load_module
# The resolvers of the host are none of this machine.
: > resolv.conf && mount --bind resolv.conf /etc/resolv.conf || bail "cannot set up the machine"
on_exit "umount /etc/resolv.conf"
need_ingress
make_sets
export SSH_CONNECTION=$session
test_attach
test_entries
test_changes
test_chain
test_limited
test_mapped
test_unknown
test_internet
test_machine
unset SSH_CONNECTION
test_ancestors
start_over
ktap_done
