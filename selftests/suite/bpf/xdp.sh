#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests attachments in XDP: which packets they see, with drivers that run programs and with others;
# that programs of others stay; states, save and restore, and what is refused.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"
. "${0%/*}/../../lib/lib-bpf.sh"

some=${SLOW:+200}
some=${some:-500}
rounds=${SLOW:+10}
rounds=${rounds:-30}

# pings COUNT FROM-NAMESPACE TO: prints how many pings were answered
pings()
{
	local out

	out=$("in_$2" ping -c "$1" -i 0.01 -W 1 "$3")
	[[ $out =~ \ ([0-9]+)\ received ]] && echo "${BASH_REMATCH[1]}"
}

# seen: prints how many packets the first attachment has counted
seen()
{
	in_f awk '!/^#/ { print $(NF - 1); exit }' /proc/net/ipcuckoo/attachments
}

# has_program DEV: prints the mode of the XDP program at a device of the firewall, or nothing. Here and
# below bash reads the JSON: starting jq takes longer than what is asked.
has_program()
{
	local out mode='"xdp":\{"mode":([0-9]+)'

	out=$(in_f ip -json link show "$1") || return
	[[ $out =~ $mode ]] || return
	case ${BASH_REMATCH[1]} in
	1)	echo driver ;;
	2)	echo generic ;;
	*)	echo "mode ${BASH_REMATCH[1]}" ;;
	esac
}

# What libxdp has pinned does not go with the devices, and keeps the modules.
forget_programs()
{
	rm -rf /sys/fs/bpf/xdp
}

# state: the state of the first attachment
state()
{
	local out begin='"attachments":[[:space:]]*\[[[:space:]]*\{[[:space:]]*"id":'

	out=$(ipcuckoo -json stats)
	[[ $out =~ $begin ]] || return
	out=${out#*"${BASH_REMATCH[0]}"}
	out=${out%%'"id":'*}
	out=${out%%'"sets":'*}
	[[ $out =~ '"state":'[[:space:]]*'"'([^\"]*) ]] && echo "${BASH_REMATCH[1]}" || echo active
}

make_sets()
{
	packets -s "$seed" generate nets 1000 | grep -v '/[89]$' > $lists/nets4
	packets -6 -s "$seed" generate nets 500 > $lists/nets6
	packets -s "$seed" generate nets 300 > $lists/friends
	cat $lists/nets4 $lists/nets6 > $lists/any
	ipcuckoo create any hash:net family any
	ipcuckoo load any $lists/any > /dev/null
	ipcuckoo create friends hash:net
	ipcuckoo load friends $lists/friends > /dev/null
	ipcuckoo create all hash:net family any
	ipcuckoo add all 0.0.0.0/0 ::/0
	ipcuckoo create client hash:net family any counters
	ipcuckoo add client $C4 $C6 10.9.0.0/16
}

test_first()
{
	check "without attachments there is no program" "" "$(has_program c0)"
	run_ok "a set is attached" ipcuckoo attach any src drop xdp dev c0
	check "the driver runs the program" "driver active" "$(has_program c0) $(state)"
	check_match "stats shows the place" " xdp +0 +c0 " "$(ipcuckoo stats)"
	run_ok "it is detached" ipcuckoo detach any src drop xdp dev c0
	check "so is the program" "" "$(has_program c0)"
}

test_verdicts()
{
	attach_fresh "any src drop xdp dev c0"
	fates "IPv4, src drop" -n "$some" -k tuifl -r src,drop,$lists/any check cs
	attach_fresh "any src drop xdp dev c0"
	fates "IPv6, src drop" -6 -n "$some" -k tuifl -r src,drop,$lists/any check cs
	attach_fresh "any dst drop xdp dev s0"
	fates "IPv4, dst drop" -n "$some" -r dst,drop,$lists/any check sc
	attach_fresh "friends src accept xdp dev c0" "all src count xdp dev c0" \
		"any src drop xdp dev c0"
	fates "accept, count and drop, in their order" -n "$some" -k tui \
		-r src,accept,$lists/friends -r src,count,$lists/everything \
		-r src,drop,$lists/any check cs
	# Each is a rule for the reference, too; that of prefetch matches nothing.
	attach_fresh "any src prefetch xdp dev c0" "any src drop"
	fates "prefetch, and src drop without xdp" -n "$some" -k tui \
		-r src,count,/dev/null -r src,drop,$lists/any check cs
	attach_fresh "any src prefetch xdp dev c0" "any src drop ingress dev c0"
	fates "prefetch, and src drop at ingress, IPv6" -6 -n "$some" -k tui \
		-r src,count,/dev/null -r src,drop,$lists/any check cs
	attach_fresh "client src drop xdp dev s0"
	check "another device's packets are not seen" "3 0" "$(pings 3 c $S4) $(seen)"
}

# add_vlan ID NAME CLIENT-DEV FIREWALL-DEV NET: a VLAN between the client, NET.2, and the firewall,
# NET.1
add_vlan()
{
	in_c ip link add link "$3" name "$2" type vlan id "$1"
	in_f ip link add link "$4" name "$2" type vlan id "$1"
	in_c ip addr add "$5.2/24" dev "$2"
	in_f ip addr add "$5.1/24" dev "$2"
	in_c ip link set "$2" up
	in_f ip link set "$2" up
}

test_details()
{
	attach_fresh "client src drop log xdp dev c0"
	ipcuckoo flush client
	ipcuckoo add client $C4
	# Without this, only packets of the first namespace are logged.
	echo 1 > /proc/sys/net/netfilter/nf_log_all_netns
	dmesg -C
	check "drops are counted" "0 3" "$(pings 3 c $FC4) $(seen)"
	check "also for the entry" "packets 3" "$(ipcuckoo list client | grep -o 'packets [0-9]*')"
	check_match "and logged" "ipcuckoo client drop: IN=c0 OUT= .*SRC=$C4 DST=$FC4 .*PROTO=ICMP" \
		"$(dmesg)"
	ipcuckoo add client 10.9.0.0/16
	add_vlan 5 v eth0 c0 10.9.0
	add_vlan 6 w v v 10.9.2
	attach_fresh "all src count xdp dev c0"
	check "the VLAN works" 1 "$(busywait 10 in_c ping -c 1 -W 1 10.9.0.1 && echo 1)"
	check "so does the one in it" 1 "$(busywait 10 in_c ping -c 1 -W 1 10.9.2.1 && echo 1)"
	attach_fresh "client src drop xdp dev c0"
	check "packets of a VLAN are seen at the device below it" "0 1" \
		"$(pings 3 c 10.9.0.1) $(($(seen) >= 3))"
	check "so are those of a VLAN in it" 0 "$(pings 3 c 10.9.2.1)"
	ipcuckoo detach --all
	check_match "a driver without XDP: generic mode, of which the tool warns" ": v: .*generic mode" \
		"$(ipcuckoo -json attach client src drop xdp dev v 2>&1 > /dev/null)"
	check "it drops" "generic 0" "$(has_program v) $(pings 3 c 10.9.0.1)"
	ipcuckoo detach --all
	check "detached, it does not" " 3" "$(has_program v) $(pings 3 c 10.9.0.1)"
}

test_states()
{
	attach_fresh "client src drop xdp dev c0"
	in_f ip link set dev c0 xdp off
	check "somebody removes the program" "no program" "$(state)"
	check_match "list says so" "Sees no packets: src drop order 300 xdp dev c0: no program" \
		"$(ipcuckoo list client)"
	run_ok "attach -exist puts it back" ipcuckoo -exist attach client src drop xdp dev c0
	check "it drops again" "active 0" "$(state) $(pings 3 c $FC4)"
	run_status "the module cannot be unloaded" 1 rmmod ipcuckoo_bpf
	ipcuckoo detach --all
	check_match "a device that does not exist: a warning" "new0 does not exist: until it does" \
		"$(ipcuckoo attach client src drop xdp dev new0 2>&1)"
	check "and the state" "no device" "$(state)"
	in_f ip link add new0 type veth peer name new1
	check "when it exists, there is no program" "no program" "$(state)"
	ipcuckoo -exist attach client src drop xdp dev new0
	check "attach -exist attaches it" "driver active" "$(has_program new0) $(state)"
	run_ok "the device can be deleted" in_f ip link del new0
	ipcuckoo detach --all
	forget_programs
	test_renamed
	test_names
	test_lost
}

# At the attachment to its new name first, while the other one still has the device.
test_renamed()
{
	in_f ip link add old0 type veth peer name old1
	ipcuckoo attach client src drop xdp dev new0 2> /dev/null
	ipcuckoo attach client src drop xdp dev old0
	in_f ip link set old0 name new0
	check "a device that is renamed to what another attachment waits for" "active" "$(state)"
	ipcuckoo detach --all
	check "its program goes" "" "$(has_program new0)"
	in_f ip link del new0
}

# Attachments that name a device differently have chains of their own, which all run, until one drops
# the packet. In which order is not defined; now the chain that was made last is the first.
test_chains()
{
	in_f ip link property add dev c0 altname other0
	attach_fresh "client src drop xdp dev c0" "all src count xdp dev other0"
	check "a name and an alternative name: both attachments run" "0 3" "$(pings 3 c $FC4) $(seen)"
	ipcuckoo detach all
	ipcuckoo -exist attach client src drop xdp dev c0
	check "one is detached: the other one runs" "0 6" "$(pings 3 c $FC4) $(seen)"
	ipcuckoo detach --all
	in_f ip link property del dev c0 altname other0
}

# The kernel does not tell that the program of a device is removed which is down. It is found out
# when something happens to another device.
test_events()
{
	in_f ip link add down0 type veth peer name down1
	in_f ip link add old0 type veth peer name old1
	attach_fresh "client src drop xdp dev down0" "all src count xdp dev old0"
	nsenter --net=/run/netns/f "$IPCUCKOO" monitor > events 2>&1 &
	busywait 10 grep -q listening events
	in_f ip link set down0 xdp off
	in_f ip link set old0 name new0
	run_ok "an event says that the program of a device is gone" \
		busywait 10 grep -q "dev down0.*no program" events
	check "and one that the other device is" 1 "$(grep -c "dev old0" events)"
	kill $!
	wait $! 2> /dev/null
	ipcuckoo detach --all
	in_f ip link del down0
	in_f ip link del new0
}

# Two attachments that call the device by different names.
test_names()
{
	in_f ip link add old0 type veth peer name old1
	in_f ip link property add dev old0 altname other0
	attach_fresh "client src drop xdp dev old0" "all src count xdp dev other0"
	ipcuckoo detach client
	check "detached by the name: the program stays for the alternative name" driver \
		"$(has_program old0)"
	ipcuckoo attach client src drop xdp dev old0
	ipcuckoo detach all
	check "detached by the alternative name: it stays for the name" "driver active" \
		"$(has_program old0) $(state)"
	ipcuckoo attach all src count xdp dev other0
	ipcuckoo detach --all
	check "both detached at once: it goes" "" "$(has_program old0)"
	ipcuckoo attach all src count xdp dev other0
	ipcuckoo detach all
	check "the last one used the alternative name: it goes" "" "$(has_program old0)"
	in_f ip link del old0
}

# The device is renamed after the set was attached, so no device has the name any more.
test_lost()
{
	local out

	in_f ip link add old0 type veth peer name old1
	attach_fresh "client src drop xdp dev old0" "all src count xdp dev c0"
	in_f ip link set old0 name lost0
	out=$(ipcuckoo detach client 2>&1)
	check "a device that was renamed: detach finds its program" " driver " \
		"$(has_program lost0) $(has_program c0) $out"
	in_f ip link set lost0 name old0
	ipcuckoo attach client src drop xdp dev old0
	in_f ip link set old0 name lost0
	in_f ip link set old1 name old0
	ipcuckoo detach client
	check "also if another device has the name now" " driver" \
		"$(has_program lost0) $(has_program c0)"
	in_f ip link set old0 name old1
	in_f ip link set lost0 name old0
	attach_fresh "client src drop xdp dev old0" "all src count xdp dev old0"
	in_f ip link set old0 name lost0
	ipcuckoo detach client
	in_f ip link set lost0 name old0
	check "it stays for another attachment to the old name" "driver active" \
		"$(has_program old0) $(state)"
	ipcuckoo attach client src count xdp dev none0 2> /dev/null
	in_f ip link set old0 name lost0
	check_match "and as it may be for another device that is missing, which detach says" \
		"stays at lost0, .* called none0" "$(ipcuckoo detach all 2>&1)"
	out=$(ipcuckoo detach client 2>&1)
	check "it goes with the last one" " " "$(has_program lost0) $out"
	in_f ip link del lost0
	forget_programs
}

# Whoever attaches a set and finds the program there must not lose it to one who detaches the last
# set before.
test_race()
{
	local lost=0 round

	for ((round = 0; round < rounds; round++)); do
		attach_fresh "client src drop xdp dev c0"
		ipcuckoo detach client &
		sleep "0.0$((round % 10))"
		ipcuckoo attach all src count xdp dev c0
		wait $!
		[ "$(has_program c0) $(state)" = "driver active" ] || lost=$((lost + 1))
	done
	check "sets that are attached while others are detached have the program" 0 $lost
	ipcuckoo detach --all
	check "it goes with the last one" "" "$(has_program c0)"
	run_ok "attach and detach have taken a lock" test -e /run/ipcuckoo.lock
}

# A bond gives its program to its ports, whose frames it then sees as theirs.
test_bond()
{
	if ! in_f ip link add b0 type bond mode active-backup miimon 100 2> /dev/null; then
		skip "a bond" "this kernel has no bonds"
		return
	fi
	in_f ip link add p0 type veth peer name p1
	in_f ip link set p1 netns c
	ipcuckoo attach all src count xdp dev p0
	in_f ip link set p0 xdp off
	in_f ip link set p0 master b0
	in_f ip addr add 10.9.1.1/24 dev b0
	in_c ip addr add 10.9.1.2/24 dev p1
	in_f ip link set b0 up
	in_c ip link set p1 up
	check "the bond works" 1 "$(busywait 10 in_c ping -c 1 -W 1 10.9.1.1 && echo 1)"
	ipcuckoo attach client src drop log xdp dev b0
	dmesg -C
	check "a bond: the drivers of its ports run the program" "driver" "$(has_program b0)"
	check "its packets are seen, and not by what is attached to a port without a program" \
		"0 0 3 " "$(pings 3 c 10.9.1.1) $(counters | sed 's/ .*//' | tr '\n' ' ')"
	check_match "and logged as the bond's" "ipcuckoo client drop: IN=b0 OUT= .*SRC=10.9.1.2 " \
		"$(dmesg)"
	attach_fresh "client src drop xdp dev c0"
	check "nothing is attached to it any more" 3 "$(pings 3 c 10.9.1.1)"
	ipcuckoo detach --all
	in_f ip link del b0
	in_f ip link del p0
}

test_save()
{
	attach_fresh "client src drop xdp dev c0 order 7" "all src count xdp dev s0"
	ipcuckoo save --all > saved
	check_match "save --all" "attach client src drop order 7 xdp dev c0" "$(grep ^attach saved)"
	ipcuckoo detach --all
	check "detach --all removes the programs" "" "$(has_program c0)$(has_program s0)"
	ipcuckoo destroy
	run_ok "restore" ipcuckoo restore -file saved
	check "restores the programs" "driver driver" "$(has_program c0) $(has_program s0)"
	check "they run" "0 3" "$(pings 3 c $FC4) $(pings 3 s $FS4)"
	ipcuckoo detach client
	check "a program stays while another device's attachments go" " driver" \
		"$(has_program c0) $(has_program s0)"
	ipcuckoo detach --all
	run_status "a restore that fails" 1 ipcuckoo restore <<-END
	attach client src drop xdp dev c0
	create client hash:ip
	END
	check "leaves no program" "" "$(has_program c0)"
	nsenter --net=/run/netns/f "$IPCUCKOO" monitor > events 2>&1 &
	busywait 10 grep -q listening events
	ipcuckoo attach client src drop xdp dev c0
	busywait 10 grep -q xdp events
	check_match "monitor" "client src drop order 300 xdp dev c0" "$(< events)"
	in_f ip link set dev c0 xdp off
	check "monitor says that somebody has removed the program" 0 \
		"$(busywait 10 grep "^state client .* xdp dev c0: no program$" events; echo $?)"
	ipcuckoo -exist attach client src drop xdp dev c0
	check "and that it is there again" 0 \
		"$(busywait 10 grep "^state client .* xdp dev c0: active$" events; echo $?)"
	kill $! 2> /dev/null
	wait $! 2> /dev/null
	ipcuckoo detach --all
	forget_programs
}

# programs: the programs that the dispatcher runs
programs()
{
	bpftool -j prog show 2> /dev/null |
		jq -r '[.[] | select(.type == "ext") | .name] | unique | join(" ")'
}

test_others()
{
	hold f "$object" drop_xdp 1 libxdp c0
	run_ok "beside a program that libxdp has attached" ipcuckoo attach client src drop xdp dev c0
	check "both are there" "drop_xdp ipcuckoo_xdp" "$(programs)"
	check "ours runs" 0 "$(pings 3 c $FC4)"
	ipcuckoo detach --all
	check "ours goes, the other one stays" "drop_xdp 3" "$(programs) $(pings 3 c $FC4)"
	ipcuckoo attach client src drop xdp dev c0
	let_go
	check "the other one goes, ours stays" "ipcuckoo_xdp 0" "$(programs) $(pings 3 c $FC4)"
	ipcuckoo detach --all
	hold f "$object" drop_xdp 1 xdp c0
	run_error "a program that leaves no room" 3 "at c0 is an XDP program that was not attached with libxdp" \
		ipcuckoo attach client src drop xdp dev c0
	check "nothing is attached" 0 "$(counters | wc -l)"
	let_go
}

# ip netns exec mounts a /sys of its own, in which libxdp's files are not.
test_hidden()
{
	ipcuckoo attach client src drop xdp dev c0
	check_match "detach where libxdp's files are not says that the program may be left" \
		"cannot find out whether the XDP program is still at c0" \
		"$(ip netns exec f "$IPCUCKOO" detach --all 2>&1)"
	check "it is" driver "$(has_program c0)"
	run_error "attach refuses there" 3 "cannot find out which XDP programs run at c0" \
		ip netns exec f "$IPCUCKOO" attach client src drop xdp dev c0 --force
	run_ok "elsewhere it does not" ipcuckoo attach client src drop xdp dev c0
	check_match "detach leaves it again" "cannot find out" \
		"$(ip netns exec f "$IPCUCKOO" detach client 2>&1)"
	check "detach --all removes it elsewhere, although nothing is attached" " " \
		"$(ipcuckoo detach --all 2>&1) $(has_program c0)"
}

test_queues()
{
	in_f ip link add few0 numrxqueues 1 numtxqueues 1 type veth \
		peer name many0 numrxqueues 4 numtxqueues 4
	in_f ip link set few0 up
	in_f ip link set many0 up
	check_match "a driver that has too few queues: generic mode" ": few0: .*generic mode" \
		"$(ipcuckoo -json attach client src drop xdp dev few0 2>&1 > /dev/null)"
	check "the program is there" "generic active" "$(has_program few0) $(state)"
	ipcuckoo detach --all
	in_f ip link del few0
}

# ipcuckoo-upgrade copies attachments to ipcuckoo_spare. The program runs those of ipcuckoo.
test_spare()
{
	local spare=${IPCUCKOO_KO%/*}/spare/ipcuckoo_spare.ko

	if [ ! -f "$spare" ]; then
		skip "the spare module" "make spare has not built it"
		return
	fi
	insmod "$spare"
	ipcuckoo --spare create client hash:ip
	run_ok "a set of the spare module is attached" \
		ipcuckoo --spare attach client src drop xdp dev c0
	check "without a program" "" "$(has_program c0)"
	ipcuckoo attach client src drop xdp dev c0
	ipcuckoo --spare detach --all
	check "when it is detached, the program of ipcuckoo stays" driver "$(has_program c0)"
	ipcuckoo detach --all
	ipcuckoo --spare destroy
	rmmod ipcuckoo_spare
}

test_refused()
{
	run_error "no device" 2 "xdp is that of a device" ipcuckoo attach client src drop xdp
	run_error "a priority" 2 "no priority" ipcuckoo attach client src drop xdp dev c0 priority 1
	run_error "a mark" 2 "no mark in xdp" ipcuckoo attach client src mark 1 xdp dev c0
	if in_f ip link add t0 type ipip local $FC4 remote $C4 2> /dev/null; then
		run_error "a tunnel" 3 "t0 has no Ethernet frames" \
			ipcuckoo attach client src drop xdp dev t0
	else
		skip "a tunnel" "this kernel has no tunnels of IPv4 in IPv4"
	fi
	run_error "two places" 2 "two places" ipcuckoo attach client src drop xdp ingress dev c0
	run_error "no such set" 3 "does not exist" ipcuckoo attach none src drop xdp dev c0
	mkdir $lists/broken
	: > $lists/broken/libxdp.so.1
	LD_LIBRARY_PATH=$lists/broken run_error "no libxdp" 3 "libxdp cannot be loaded" \
		ipcuckoo attach client src drop xdp dev c0
	check "no program is left" "" "$(has_program c0)"
	check "no attachment is left" 0 "$(counters | wc -l)"
	printf 'attach client src drop xdp dev c0\nattach all src count\n' > boot
	LD_LIBRARY_PATH=$lists/broken run_error "restore without libxdp" 1 "libxdp cannot be loaded" \
		ipcuckoo restore -file boot
	check "changes nothing" 0 "$(counters | wc -l)"
	LD_LIBRARY_PATH=$lists/broken run_error "with -exist, too" 1 "all else was restored" \
		ipcuckoo -exist restore -file boot
	check "but restores all else" "active no program" \
		"$(ipcuckoo -json stats | jq -r '[.attachments[] | .state // "active"] | sort | join(" ")')"
	run_ok "when it can be loaded, the same restores the program" ipcuckoo -exist restore -file boot
	check "which is there" "active" "$(state)"
	ipcuckoo detach --all
	ipcuckoo attach client src drop xdp dev c0
	check_match "no libxdp to detach with" "cannot be removed from c0: libxdp cannot be loaded" \
		"$(LD_LIBRARY_PATH=$lists/broken ipcuckoo detach client 2>&1)"
	ipcuckoo attach client src drop xdp dev c0
	ipcuckoo detach client
	check "the next one removes the program" "" "$(has_program c0)"
	SSH_CONNECTION="$C4 4000 $FC4 22" run_error "your own SSH session" 3 "$C4" \
		in_f "$IPCUCKOO" attach client src drop xdp dev c0
	attach_fresh "friends src drop xdp dev c0"
	SSH_CONNECTION="$C4 4000 $FC4 22" run_error "its address, in a set that is attached" 1 "$C4" \
		in_f "$IPCUCKOO" add friends "$C4"
	echo "$C4" > $lists/mine
	SSH_CONNECTION="$C4 4000 $FC4 22" run_error "in a file for such a set" 3 "$C4" \
		in_f "$IPCUCKOO" load friends $lists/mine
	ipcuckoo detach --all
}

load_modules()
{
	[ -f "${IPCUCKOO_BPF_KO:-}" ] || skip_all "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"
	! grep -q "built without BTF" "$IPCUCKOO_BPF_KO" ||
		skip_all "the module was built without BTF, as make has said"
	[ -x "$load" ] || skip_all "the test was built without clang or libbpf"
	mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf || bail "no bpffs"
	load_module
	on_exit "rmmod ipcuckoo_bpf 2> /dev/null"
	insmod "$IPCUCKOO_BPF_KO" || bail "no $IPCUCKOO_BPF_KO"
}

load_modules
setup_quiet_net
cd $lists || bail "no $lists"
list_of $lists/everything 0.0.0.0/1 128.0.0.0/1
make_sets
test_first
test_verdicts
test_details
test_states
test_chains
test_events
test_bond
test_save
test_others
test_hidden
test_queues
test_spare
test_refused
test_race
# End with an attachment to a device of a namespace that is destroyed.
attach_fresh "all src count xdp dev c0"
cleanup_net
forget_programs
run_ok "ipcuckoo_bpf can be unloaded after its namespace was destroyed" \
	busywait 10 rmmod ipcuckoo_bpf
"$IPCUCKOO" create absent hash:ip
run_error "modprobe says why it cannot be loaded" 3 "cannot be loaded: modprobe: .*ipcuckoo_bpf" \
	"$IPCUCKOO" attach absent src drop xdp dev lo
"$IPCUCKOO" destroy absent
run_ok "so can ipcuckoo" unload_module
ktap_done
