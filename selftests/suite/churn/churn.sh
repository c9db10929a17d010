#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets flow on one processor while sets change on the other, in every possible way. Packets of
# addresses that are always members must never pass; packets of non-members must never be dropped.
# churn-flow.c sends and checks the packets, churn-writer.c changes the sets.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# How long a phase takes, in seconds; how many hosts are added and deleted; how many packets must be
# checked at least; how many rounds of destroying namespaces and of unloading there are.
turn=${SLOW:+3}
turn=${turn:-2}
crowd=${SLOW:+6000}
crowd=${crowd:-30000}
enough=${SLOW:+5000}
enough=${enough:-20000}
rounds=${SLOW:+1}
rounds=${rounds:-2}
# A phase takes half a minute on emulated processors. Unless ROUNDS is set, as "make soak" does, this leaves
# out the phases whose changes are also part of "all changes at once".
brief=
[ -n "${ROUNDS:-}" ] || brief=1

# The lists of addresses that packets come from. The addresses of the first list are in no set.
hosts="non-members hosts"
everybody="non-members hosts nets nested"

all_packets=0
flow=
dir=/tmp/churn

writer()
{
	in_f "$helpers/churn-writer" -s "$seed" "$@"
}

# work ARGUMENT...: runs a writer until the end of the phase
work()
{
	writer -t "$seconds" "$@"
}

# work_there ARGUMENT...: the same, on the processor that sends the packets
work_there()
{
	writer -c 1 -t "$seconds" "$@"
}

# again COMMAND...: repeats a command until the end of the phase
again()
{
	local end=$((SECONDS + seconds)) n=0

	while [ $SECONDS -lt $end ]; do
		"$@" || return
		n=$((n + 1))
	done
	echo "$1: $n times"
}

# entries SET: prints the number of entries
entries()
{
	in_f awk '$1 == "entries" { print $2 }' "/proc/net/ipcuckoo/set/$1"
}

# memory: prints the memory of all sets, in bytes
memory()
{
	ipcuckoo -j stats | python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"])'
}

# files NAME...: prints the paths of lists, joined with "+" for churn-flow
files()
{
	printf "$dir/%s" "$1"
	shift
	[ $# -eq 0 ] || printf "+$dir/%s" "$@"
}

# --- packets ---

# begin_flow NON-MEMBERS MEMBERS...: starts sending packets; the arguments are names of lists
begin_flow()
{
	local non_members=$1

	shift
	"$helpers/churn-flow" -c 1 -s "$seed" "$(files "$@")" "$(files "$non_members")" \
		> "$dir/flow" 2>&1 &
	flow=$!
	busywait 60 grep -q flowing "$dir/flow" || bail "no packets: $(< "$dir/flow")"
}

# end_flow: stops sending packets; fails if one packet was wrongly dropped or passed
end_flow()
{
	local count status

	kill -TERM "$flow"
	wait "$flow"
	status=$?
	sed 1d "$dir/flow"
	count=$(sed -n 's/^\([0-9]*\) packets: .*/\1/p' "$dir/flow")
	all_packets=$((all_packets + ${count:-0}))
	return $status
}

# Tries to unload the module, which must fail as long as a set is attached.
try_unload()
{
	while [ -e "$dir/phase" ]; do
		if rmmod ipcuckoo 2> /dev/null; then
			echo "the module was unloaded"
		fi
		echo tried >> "$dir/tried"
		sleep 1
	done
}

# phase NAME SECONDS FLOW WORK...: a case: all WORK commands run in parallel while packets flow;
# FLOW has the arguments of begin_flow
phase()
{
	local name=$1 seconds=$2 out pids=() i=0 status=0 w begin=$SECONDS

	# shellcheck disable=SC2086
	begin_flow $3
	shift 3
	touch "$dir/phase"
	try_unload > "$dir/unloaded" &
	pids+=($!)
	rm -f "$dir"/work*
	for w; do
		i=$((i + 1))
		eval "$w" > "$dir/work$i" 2>&1 &
		pids+=($!)
	done
	for i in "${!pids[@]}"; do
		[ "$i" -ne 0 ] || continue
		wait "${pids[i]}" || status=1
	done
	rm "$dir/phase"
	wait "${pids[0]}"
	end_flow > "$dir/flows" || status=1
	[ ! -s "$dir/unloaded" ] || status=1
	out=$(cat "$dir"/work* "$dir/flows" "$dir/unloaded")
	note "$out"
	note "$((SECONDS - begin)) s"
	if [ $status -eq 0 ]; then
		ok "$name"
	else
		not_ok "$name" "all work done, no wrong verdict" "seed $seed: see above"
	fi
}

# --- sets ---

load_set()
{
	ipcuckoo load "$@" > /dev/null
}

make_ip()
{
	ipcuckoo create ip hash:ip family any && load_set ip $dir/hosts ||
		bail "cannot create a set"
}

make_sets()
{
	make_ip
	ipcuckoo create net hash:net family any &&
		load_set net $dir/hosts $dir/nets $dir/nested &&
		ipcuckoo create left hash:ip family any &&
		load_set left $dir/hosts &&
		ipcuckoo create right hash:net family any &&
		ipcuckoo create other hash:net family any &&
		ipcuckoo add other 198.18.0.0/15 2001:db8:ffff::/48 &&
		ipcuckoo create groups hash:ip || bail "cannot create the sets"
	in_ip=$(entries ip)
	in_net=$(entries net)
	cat $dir/hosts $dir/nets $dir/nested > $dir/everybody
	# A larger list that contains all members.
	awk '{ print } END { for (i = 0; i < 20000; i++)
		print "145." int(i / 65536) "." int(i / 256) % 256 "." i % 256 }' \
		$dir/everybody > $dir/more
}

# growths: prints how often the tables of the two sets grew or shrank
growths()
{
	in_f awk '$1 == "growths" { n += $2 } END { print n }' /proc/net/ipcuckoo/set/{ip,net}
}

# drop_by SET: attaches this set with drop, and nothing else
drop_by()
{
	ipcuckoo detach --all && ipcuckoo attach "$1" src drop > /dev/null || bail "cannot attach $1"
}

# At any time, all members are in one of two sets. The tool loads the sets from files.
take_turns()
{
	load_set right $dir/more && ipcuckoo flush left &&
		load_set left $dir/hosts && load_set left $dir/nobody --append &&
		ipcuckoo flush right
}

# A set that changes all the time may change while it is listed; then the tool must say so.
list_quietly()
{
	local out

	out=$(ipcuckoo list net 2>&1 > /dev/null) || [[ $out == *"changed during every attempt to read it"* ]] ||
		{ echo "$out"; return 1; }
}

churn_net()
{
	phase "hash:net: hosts and prefixes are added and deleted" $turn "$everybody" \
		"work hosts net 0 $crowd" "work_there nets net 1 $((crowd / 3))"
	check "hash:net: the members are left" "$in_net" "$(entries net)"
	phase "hash:net: a prefix and one inside it replace each other" \
		$((turn * 2)) "beside nested" \
		"work nested net"
	check "hash:net: the members are left" "$in_net" "$(entries net)"
	phase "hash:net: contents are replaced" $turn "$everybody" \
		"work replace net $dir/everybody"
	check "hash:net: the members are left" "$in_net" "$(entries net)"
}

churn()
{
	drop_by ip
	phase "hash:ip: two writers at once and /proc, tables grow and shrink" $turn "$hosts" \
		"work hosts ip 0 $crowd" "work_there hosts ip 1 $((crowd / 3))" "work procfs ip 0"
	check "hash:ip: the members are left" "$in_ip" "$(entries ip)"

	drop_by net
	[ -n "$brief" ] || churn_net

	ipcuckoo attach net src count > /dev/null || bail "cannot attach net twice"
	phase "hash:net: swapped with other sets, which are then flushed or destroyed" \
		$turn "$everybody" \
		"work swap net $dir/everybody"
	check "hash:net: the members are left" "$in_net" "$(entries net)"
	drop_by net

	phase "sets are attached and detached; processes that fill shadows are killed" \
		$turn "$everybody" \
		"work attach net other" "work kill net"

	# A packet's address may move from the second set to the first after the first was looked
	# up, and back before the second is, so that neither matches. The third attachment, to the
	# first set again, catches that.
	ipcuckoo attach left src drop > /dev/null && ipcuckoo attach right src drop > /dev/null &&
		ipcuckoo attach left both drop order 400 > /dev/null &&
		ipcuckoo detach net || bail "cannot attach"
	phase "one set is flushed while another has all members, loaded by the tool" \
		$turn "$hosts" \
		"again take_turns"

	drop_by net
	[ -n "$brief" ] || phase \
		"dumps show one state or say that they were interrupted; sets are destroyed" \
		$turn "$everybody" \
		"work states groups" "work destroy" "again list_quietly" "work hosts net 0 1000"
	phase "all changes at once" $((turn * 2)) "beside nested" \
		"work hosts net 0 $((crowd / 3))" "work_there nets net 1 $((crowd / 3))" \
		"work nested net" \
		"work procfs net 1" "work attach net other" "work replace ip $dir/hosts" \
		"again list_quietly"
	check "hash:net: the members are left" "$in_net" "$(entries net)"
}

# --- namespaces and the module ---

# pour DEVICE MAC: sends packets from the client; their fate is not checked
pour()
{
	nsenter --net=/run/netns/c "$helpers/churn-writer" -c 1 -s "$seed" pour "$@" > $dir/pour &
	pour=$!
}

end_pour()
{
	local status

	kill $pour
	wait $pour
	status=$?
	note "$(< $dir/pour)"
	check "packets were poured all the time" 0 $status
}

references()
{
	cat /sys/module/ipcuckoo/refcnt
}

no_more_references()
{
	[ "$(references)" -le "$1" ]
}

# make_namespace: creates another firewall, x, beside f
make_namespace()
{
	local mac=02:00:00:00:00

	ip netns add x && net_sysctls x &&
	ip link add x0 netns x address $mac:31 type veth peer name px netns c address $mac:32 &&
	ip -n x link set x0 up && ip -n x link set lo up && ip -n c link set px up &&
	nsenter --net=/run/netns/x "$IPCUCKOO" create ip hash:ip family any &&
	nsenter --net=/run/netns/x "$IPCUCKOO" load ip $dir/hosts > /dev/null &&
	nsenter --net=/run/netns/x "$IPCUCKOO" --force attach ip both drop > /dev/null &&
	nsenter --net=/run/netns/x "$IPCUCKOO" attach ip src count > /dev/null
}

dropped_in_x()
{
	nsenter --net=/run/netns/x awk '/drop/ { exit !($(NF - 1) > 100) }' \
		/proc/net/ipcuckoo/attachments
}

test_namespace_exit()
{
	local i before

	before=$(references)
	pour px 31
	for i in $(seq $rounds); do
		make_namespace || { not_ok "a namespace for round $i"; break; }
		run_ok "packets flow into a namespace ($i)" busywait 20 dropped_in_x
		ip netns del x
		run_ok "destroying it drops its references to the module ($i)" \
			busywait 30 no_more_references "$before"
	done
	end_pour
}

test_unload()
{
	local i

	pour eth0 11
	for i in $(seq $rounds); do
		run_status "rmmod is refused while a set is attached ($i)" 1 rmmod ipcuckoo
		run_ok "detach ($i)" ipcuckoo detach --all
		run_ok "rmmod with entries in sets and traffic ($i)" busywait 20 rmmod ipcuckoo
		insmod "$IPCUCKOO_KO" || bail "cannot load the module again"
		make_ip
		drop_by ip
	done
	end_pour
	phase "after unloading and loading, verdicts are right" 1 "non-members hosts" "sleep 1"
}

no_memory()
{
	[ "$(memory)" = 0 ] && ! grep -q '\[ipcuckoo\]' /proc/vmallocinfo
}

test_end()
{
	note "$(ipcuckoo stats)"
	ipcuckoo detach --all
	ipcuckoo destroy --all || bail "cannot destroy the sets"
	busywait 20 no_memory
	check "destroying all sets frees all memory" "0 0" \
		"$(memory) $(grep -c '\[ipcuckoo\]' /proc/vmallocinfo)"
}

[ -n "$ipv6" ] || skip_all "no IPv6 in this kernel, and packets are of both families"
note "SEED=$seed repeats this run"
mkdir -p $dir
# Processor 1 sends the packets.
taskset -pc 0 $$ > /dev/null
load_module
setup_quiet_net
writer lists $dir || bail "cannot write the lists"
echo 198.18.0.1 > $dir/nobody
make_sets
note "$SECONDS s"
churn
note "unloading was tried $(wc -l < $dir/tried) times"
# On a busy machine there are fewer changes in a phase.
for ((i = 0; i < 30 && $(growths) < 10; i++)); do
	phase "repeated for more changes" $turn "non-members hosts" "work hosts ip 0 $crowd"
done
check_match "tables grew or shrank meanwhile" '^[1-9][0-9]' "$(growths)"
note "$SECONDS s"
test_namespace_exit
note "$SECONDS s"
test_unload
# On a busy machine there are fewer packets in a phase.
for ((i = 0; i < 30 && all_packets < enough; i++)); do
	phase "repeated for more packets" 2 "non-members hosts" "work hosts ip 0 1000"
done
note "$all_packets packets checked, $SECONDS s"
check "enough packets were checked ($enough)" 1 $((all_packets >= enough))
test_end
ktap_done
