#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the functions of the module ipcuckoo_bpf in XDP and tc programs: what they answer, which set
# an id names while sets are renamed, swapped and destroyed, packets that programs drop, and that
# loaded programs keep the modules.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"
. "${0%/*}/../../lib/lib-bpf.sh"

example=$IPCUCKOO_TESTS/drop.bpf.o
server=

# id NAME: the id of a set
id()
{
	ipcuckoo -json list -t "$1" | jq -r '.[0].header.id'
}

# begin_serve PREFIX: starts bpf-load with programs of the object, in the firewall's namespace
begin_serve()
{
	in_f "$load" serve "$object" "$1" < questions > answers 2>&1 &
	server=$!
	exec 6> questions 7< answers
}

# Until then the programs keep the modules.
end_serve()
{
	exec 6>&- 7<&-
	wait "$server"
}

# serve WORD...: prints the answer of bpf-load to a line
serve()
{
	local line

	echo "$*" >&6
	IFS= read -r -t 120 -u 7 line
	echo "$line"
}

# ask ID ADDRESS [FLAGS]: what both programs are told
ask()
{
	serve ask "$1" "$2" "${3:-0}"
}

# both RESULT: what ask prints if both programs are told the same
both()
{
	echo "xdp $1 tc $1"
}

pings()
{
	nsenter --net="/run/netns/$1" ping -c 3 -i 0.05 -W 1 "$2" |
		sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

load_modules()
{
	[ -f "${IPCUCKOO_BPF_KO:-}" ] || skip_all "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
	! grep -q "built without BTF" "$IPCUCKOO_BPF_KO" ||
		skip_all "the module was built without BTF, as make has said"
	[ -x "$load" ] || skip_all "the test was built without clang or libbpf"
	load_module
	on_exit "rmmod ipcuckoo_bpf 2> /dev/null"
	check "without the module, the program is not loaded" "no such function" \
		"$(no_function)"
	refuses_without_types
	check_versions "$IPCUCKOO_BPF_KO"
	run_ok "the module is loaded" insmod "$IPCUCKOO_BPF_KO"
}

# refuses NAME: insmod fails, and the kernel's log has a line about BTF of the module
refuses()
{
	dmesg -C
	run_status "$1 is refused" 1 insmod ./ipcuckoo_bpf.ko
	check_match "$1: the log says why" \
		"the kernel has no BTF of this module|failed to validate module .ipcuckoo_bpf. BTF" \
		"$(dmesg)"
}

# A kernel that allows a mismatch of BTF (Debian's 6.1 and 6.12) drops the BTF and loads the module.
refuses_without_types()
{
	objcopy --remove-section .BTF "$IPCUCKOO_BPF_KO" ipcuckoo_bpf.ko
	refuses "a module whose BTF was stripped"
	echo "this is no BTF, though it is long enough for a header" > garbage
	objcopy --update-section .BTF=garbage "$IPCUCKOO_BPF_KO" ipcuckoo_bpf.ko
	refuses "a module whose BTF does not fit"
}

no_function()
{
	in_f "$load" call "$object" ask_xdp 1 > out 2>&1 && echo "it was"
	grep -q "bpf_.*_ipcuckoo_match4'.*not found" out && echo "no such function" || cat out
}

test_answers()
{
	local set

	ipcuckoo create a hash:net family any
	ipcuckoo add a 192.0.2.0/24 2001:db8::/32
	ipcuckoo add a 192.0.2.128/25 nomatch
	set=$(id a)
	check_match "a set has an id" "^[1-9][0-9]*$" "$set"
	check "an IPv4 address that matches" "$(both 1)" "$(ask "$set" 192.0.2.1)"
	check "one that does not" "$(both 0)" "$(ask "$set" 192.0.3.1)"
	check "one under an exception" "$(both 0)" "$(ask "$set" 192.0.2.200)"
	check "an IPv6 address that matches" "$(both 1)" "$(ask "$set" 2001:db8::1)"
	check "one that does not" "$(both 0)" "$(ask "$set" 2001:db9::1)"
	check "an IPv4-mapped one" "$(both 1)" "$(ask "$set" ::ffff:192.0.2.1)"
	check "flags that there are not" "$(both -22)" "$(ask "$set" 192.0.2.1 2)"
	check "an id that no set has" "$(both -2)" "$(ask $((set + 100)) 192.0.2.1)"
	check "the id 0" "$(both -2)" "$(ask 0 192.0.2.1)"
	check "an id that no set can have" "$(both -2)" "$(ask 4294967295 192.0.2.1)"
	check "the id in a namespace without sets" "-2 -2" \
		"$(in_c "$load" call "$object" ask_xdp "$set") $(in_c "$load" call "$object" ask_tc "$set")"
	ipcuckoo create m hash:ip netmask 24
	ipcuckoo add m 198.51.100.7
	check "a set with a netmask" "$(both 1)" "$(ask "$(id m)" 198.51.100.99)"
	ipcuckoo create f filter:ip maxelem 100
	ipcuckoo add f 192.0.2.1
	check "an approximate set" "$(both -95)" "$(ask "$(id f)" 192.0.2.1)"
	check "an approximate set that is accepted" "$(both 1)" "$(ask "$(id f)" 192.0.2.1 1)"
	check "an approximate set of IPv4 has no IPv6 addresses" "$(both 0)" \
		"$(ask "$(id f)" ::ffff:192.0.2.1 1)"
	ipcuckoo destroy
}

# call PROGRAM: the program's result, or "refused"
call()
{
	in_f "$load" call "$object" "$1" 1 2> refused && return
	grep -q "the program cannot be loaded" refused && echo refused || cat refused
}

# Arguments that are no context and no address
test_wrong_arguments()
{
	check "a tc program that passes its own memory as XDP's context" refused "$(call forged_tc)"
	check_match "the verifier says why" \
		"calling kernel function bpf_xdp_ipcuckoo_run is not allowed" "$(< refused)"
	check_match "an XDP program that passes no address" "^(refused|-22)$" "$(call null_xdp)"
	check_match "a tc program that passes no address" "^(refused|-22)$" "$(call null_tc)"
}

test_ids()
{
	local a b

	ipcuckoo create a hash:ip
	ipcuckoo create b hash:ip
	ipcuckoo add a 192.0.2.1
	ipcuckoo add b 192.0.2.2
	a=$(id a) b=$(id b)
	ipcuckoo rename a c
	check "rename: the set keeps its id" "$a $(both 1)" "$(id c) $(ask "$a" 192.0.2.1)"
	ipcuckoo swap b c
	check "swap: the names keep their ids" "$b $a" "$(id b) $(id c)"
	check "swap: the ids have the other contents" "$(both 1) $(both 0)" \
		"$(ask "$a" 192.0.2.2) $(ask "$a" 192.0.2.1)"
	printf '192.0.2.3\n' > list
	ipcuckoo load c list > /dev/null
	check "load: the new contents" "$(both 1) $(both 0)" \
		"$(ask "$a" 192.0.2.3) $(ask "$a" 192.0.2.2)"
	ipcuckoo destroy c
	check "destroy: no set has the id" "$(both -2)" "$(ask "$a" 192.0.2.3)"
	ipcuckoo create c hash:ip
	check "create again: another id" "$(both -2) 1" "$(ask "$a" 192.0.2.3) $(($(id c) > b))"
	ipcuckoo destroy
	check "destroy all: no set has the id" "$(both -2)" "$(ask "$b" 192.0.2.2)"
	test_restore
}

# A restore that swaps sets is one commit: the ids must be those of the names.
test_restore()
{
	local a b

	ipcuckoo create a hash:ip
	ipcuckoo add a 192.0.2.1
	a=$(id a)
	ipcuckoo restore <<-END
	create b hash:ip
	add b 192.0.2.2
	swap a b
	destroy b
	END
	check "one commit creates, swaps and destroys" "$a $(both 1) $(both 0)" \
		"$(id a) $(ask "$a" 192.0.2.2) $(ask "$a" 192.0.2.1)"
	ipcuckoo create b hash:ip
	b=$(id b)
	ipcuckoo restore 2> /dev/null <<-END
	swap a b
	rename a x
	create a hash:ip
	create b hash:net
	END
	check "a commit that fails leaves ids as they were" "$a $b $(both 1)" \
		"$(id a) $(id b) $(ask "$a" 192.0.2.2)"
	ipcuckoo destroy
}

# watch_end WORD...: a program asks about a member of a set again and again, while "ipcuckoo WORD..."
# ends the set. Prints the answers of ask_again.
watch_end()
{
	local line

	ipcuckoo create ends hash:ip
	ipcuckoo add ends 192.0.2.1
	line=$(serve watch "$(id ends)" 192.0.2.1 0)
	ipcuckoo "$@"
	[ "$line" = watching ] && serve || echo "$line"
}

# The address matches, or the id names no set: at no moment there is a set without the address. A commit
# that changes many sets takes so long that a program would see that.
test_destroyed()
{
	local i

	printf 'create other%d hash:ip\n' {1..300} | ipcuckoo restore
	{ echo "destroy ends"; printf 'flush other%d\n' {1..300}; } > end
	for ((i = 0; i < 20; i++)); do
		watch_end restore -file end
	done > seen
	watch_end destroy ends >> seen
	watch_end destroy >> seen
	check "no program sees a set empty that is destroyed" "" "$(grep -vx '[145]' seen)"
}

# drops HOW OBJECT PROGRAM ID: pings are dropped as soon as the client is in the set, and not any
# more as soon as it is not
drops()
{
	local how=$1 name="$1, $3"

	hold f "$2" "$3" "$4" "$how" c0 s0
	check "$name: packets pass" "3 3" "$(pings c $FC4) $(pings s $FS4)"
	ipcuckoo add live $C4
	check "$name: an entry counts at once, for its address only" "0 3" \
		"$(pings c $FC4) $(pings s $FS4)"
	ipcuckoo del live $C4
	check "$name: a deleted one does not" 3 "$(pings c $FC4)"
	if [ -n "$ipv6" ] && [ "$2" = "$object" ]; then
		ipcuckoo add live $C6
		check "$name: IPv6" "0 3" "$(pings c $FC6) $(pings c $FC4)"
		ipcuckoo del live $C6
	fi
	run_status "$name: the module is kept" 1 rmmod ipcuckoo_bpf
	run_status "$name: ipcuckoo is kept" 1 rmmod ipcuckoo
	let_go
	ipcuckoo add live $C4
	check "$name: detached, it drops nothing" 3 "$(pings c $FC4)"
	ipcuckoo flush live
}

test_packets()
{
	ipcuckoo create live hash:net family any
	drops generic "$object" drop_xdp "$(id live)"
	drops xdp "$object" drop_xdp "$(id live)"
	drops tc "$object" drop_tc "$(id live)"
	drops generic "$example" drop "$(id live)"
}

# The program in C that ipcuckoo-bpf(7) shows loads the example.
test_manual()
{
	local loader=$IPCUCKOO_TESTS/drop-load

	if [ ! -x "$loader" ]; then
		skip "the manual's program" "the test was built without bpftool"
		return
	fi
	run_ok "the manual's program loads the example" in_f "$loader" c0 "$(id live)"
	ipcuckoo add live $C4
	check "it drops packets from the set" "0 3" "$(pings c $FC4) $(pings s $FS4)"
	run_ok "ip link takes it off" in_f ip link set dev c0 xdp off
	check "then packets pass" 3 "$(pings c $FC4)"
	ipcuckoo flush live
}

# drops_fragments BYTES TAGS: frames of which only the first BYTES are not in fragments are dropped as
# others are. Adds the lengths of those that are to $dropped.
drops_fragments()
{
	local name="$1 bytes are not in fragments, $2 tags" address verdict length

	for address in 192.0.2.1 192.0.3.1 2001:db8::1 2001:db9::1; do
		read -r verdict length < <(serve fragments "$1" "$address" "$2")
		case $address in
		*.2.* | *db8*)
			check "$name, $address: dropped" 1 "$verdict"
			dropped=$((dropped + length))
			;;
		*)
			check "$name, $address: passed" 2 "$verdict"
			;;
		esac
	done
}

# verdicts BYTES TAGS: prints the verdicts for such frames of both families, from addresses in no set
verdicts()
{
	local address verdict all=()

	for address in 192.0.3.1 2001:db9::1; do
		read -r verdict _ < <(serve fragments "$1" "$address" "$2")
		all+=("$verdict")
	done
	echo "${all[*]}"
}

# The kernel's attachment is enough: bpf-load runs a program of its own.
test_fragments()
{
	local bytes dropped=0

	ipcuckoo create parts hash:net family any
	ipcuckoo add parts 192.0.2.0/24 2001:db8::/32
	run_ok "a set is attached" ipcuckoo attach parts src drop xdp dev lo loopback
	begin_serve run_fragments
	for bytes in 14 15 33 60; do
		drops_fragments "$bytes" 0
	done
	drops_fragments 14 1
	drops_fragments 20 3
	drops_fragments 14 16
	drops_fragments 90 16
	check "packets and bytes are counted" "16 $dropped" "$(counters)"
	# The first 4 of these tags are not in fragments, or all 17.
	check "frames with more than 16 tags are dropped" "1 1 1 1 1 1" \
		"$(verdicts 14 17) $(verdicts 30 1000) $(verdicts 90 17)"
	check "they are not counted" "16 $dropped" "$(counters)"
	attach_fresh "parts src count xdp dev lo loopback"
	check "where nothing is dropped, they pass" "2 2 2 2" "$(verdicts 14 17) $(verdicts 90 17)"
	check "without being looked up" "0 0" "$(counters)"
	attach_fresh "parts src count xdp dev lo loopback" "parts src drop xdp dev lo"
	check "an attachment that is not for loopback devices does not drop them" "2 2" \
		"$(verdicts 90 17)"
	attach_fresh "parts src drop xdp dev lo loopback proto tcp dport 22"
	check "a port that is far behind the IP header" "1 2 2" \
		"$(serve port 14 2001:db8::1 22) $(serve port 14 2001:db8::1 80) $(serve port 14 2001:db9::1 22)"
	end_serve
	ipcuckoo detach --all
	ipcuckoo destroy parts
}

# create_with_id ID: creates the set live in the namespace s, after others, so that it has this id
create_with_id()
{
	seq -f 'create other%g hash:ip' $(($1 - 1)) | in_s "$IPCUCKOO" restore
	in_s "$IPCUCKOO" create live hash:ip
	in_s "$IPCUCKOO" -json list -t live | jq -r '.[0].header.id'
}

test_namespaces()
{
	local set

	set=$(id live)
	ipcuckoo add live $FS4
	check "sets of two namespaces have the same id" "$set" "$(create_with_id "$set")"
	hold s "$object" drop_xdp "$set" generic eth0
	check "the namespace of the device decides: a set of another one is not asked" \
		3 "$(pings s $FS4)"
	in_s "$IPCUCKOO" add live $FS4
	check "its own set is" 0 "$(pings s $FS4)"
	let_go
	in_s "$IPCUCKOO" destroy
}

mkdir -p /tmp/bpf && cd /tmp/bpf || bail "no place for files"
setup_net
load_modules
mkfifo questions answers
begin_serve ask_
test_answers
test_wrong_arguments
test_ids
test_destroyed
end_serve
test_packets
test_manual
test_fragments
test_namespaces
run_ok "the module can be unloaded when no program is loaded" rmmod ipcuckoo_bpf
cleanup_net
run_ok "so can ipcuckoo" unload_module
ktap_done
