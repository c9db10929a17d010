#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets flow on one processor while sets change on the other, in every way there is. Those
# who are always in the sets never pass, strangers are never dropped; each packet has a number
# and its own verdict (churn-flow.c). What changes, and who stays: churn-writer.c.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

# Seconds of a phase, hosts that come and go, packets without which it would say little, rounds
# of namespaces that end and of unloading.
turn=${SLOW:+3}
turn=${turn:-2}
crowd=${SLOW:+6000}
crowd=${crowd:-30000}
enough=${SLOW:+5000}
enough=${enough:-20000}
rounds=${SLOW:+1}
rounds=${rounds:-2}
# The debug kernel takes half a minute a phase. Without ROUNDS it leaves out those of which "all of it
# at once" has the changes too; the other kernels have them all.
brief=
[ "${IPCUCKOO_KERNEL:-}" != debug ] || [ -n "${ROUNDS:-}" ] || brief=1

# Whose packets flow: lists of addresses, the first of which is in no set.
hosts="strangers hosts"
everybody="strangers hosts nets nested"

all_packets=0
flow=
dir=/tmp/churn

writer()
{
	in_f "$helpers/churn-writer" -s "$seed" "$@"
}

# work ARGUMENT...: of a writer, for as long as the phase is
work()
{
	writer -t "$seconds" "$@"
}

# The same on the processor of the packets.
work_there()
{
	writer -c 1 -t "$seconds" "$@"
}

# again COMMAND...: the same over and over, for as long as the phase is
again()
{
	local end=$((SECONDS + seconds)) n=0

	while [ $SECONDS -lt $end ]; do
		"$@" || return
		n=$((n + 1))
	done
	echo "$1: $n times"
}

# entries SET
entries()
{
	in_f awk '$1 == "entries" { print $2 }' "/proc/net/ipcuckoo/set/$1"
}

# Bytes, all sets together.
memory()
{
	ipcuckoo -j stats | python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"])'
}

# files NAME...: as churn-flow wants them
files()
{
	printf "$dir/%s" "$1"
	shift
	[ $# -eq 0 ] || printf "+$dir/%s" "$@"
}

# --- packets ---

# begin_flow STRANGERS MEMBERS...
begin_flow()
{
	local strangers=$1

	shift
	"$helpers/churn-flow" -c 1 -s "$seed" "$(files "$@")" "$(files "$strangers")" \
		> "$dir/flow" 2>&1 &
	flow=$!
	busywait 60 grep -q flowing "$dir/flow" || bail "no packets: $(< "$dir/flow")"
}

# end_flow: fails if one packet had the wrong fate
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

# Nobody can take the module away as long as something is attached.
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

# phase NAME SECONDS FLOW WORK...: packets flow while all of the work is done
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
		not_ok "$name" "all of it done, no wrong verdict" "seed $seed: see above"
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
		bail "cannot make a set"
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
		ipcuckoo create groups hash:ip || bail "cannot make the sets"
	in_ip=$(entries ip)
	in_net=$(entries net)
	cat $dir/hosts $dir/nets $dir/nested > $dir/everybody
	# A larger list with everybody in it.
	awk '{ print } END { for (i = 0; i < 20000; i++)
		print "145." int(i / 65536) "." int(i / 256) % 256 "." i % 256 }' \
		$dir/everybody > $dir/more
}

# How often the tables of the two sets grew or shrank.
growths()
{
	in_f awk '$1 == "growths" { n += $2 } END { print n }' /proc/net/ipcuckoo/set/{ip,net}
}

# drop_by SET: it and nothing else
drop_by()
{
	ipcuckoo detach --all && ipcuckoo attach "$1" src drop > /dev/null || bail "cannot attach $1"
}

# Everybody is in one of the two sets at all times. The tool loads them from files.
take_turns()
{
	load_set right $dir/more && ipcuckoo flush left &&
		load_set left $dir/hosts && load_set left $dir/nobody --append &&
		ipcuckoo flush right
}

# What changes all the time cannot be listed as of one moment; then the tool says so.
list_quietly()
{
	local out

	out=$(ipcuckoo list net 2>&1 > /dev/null) || [[ $out == *"changed while it was read"* ]] ||
		{ echo "$out"; return 1; }
}

churn_net()
{
	phase "hash:net: hosts and prefixes come and go" $turn "$everybody" \
		"work hosts net 0 $crowd" "work_there nets net 1 $((crowd / 3))"
	check "hash:net: the others are left" "$in_net" "$(entries net)"
	phase "a prefix takes over from one inside it, and back" $((turn * 2)) "beside nested" \
		"work nested net"
	check "hash:net: the others are left" "$in_net" "$(entries net)"
	phase "hash:net: contents are replaced" $turn "$everybody" \
		"work replace net $dir/everybody"
	check "hash:net: the others are left" "$in_net" "$(entries net)"
}

churn()
{
	drop_by ip
	phase "hash:ip: two writers at once and /proc, tables grow and shrink" $turn "$hosts" \
		"work hosts ip 0 $crowd" "work_there hosts ip 1 $((crowd / 3))" "work procfs ip 0"
	check "hash:ip: the others are left" "$in_ip" "$(entries ip)"

	drop_by net
	[ -n "$brief" ] || churn_net

	ipcuckoo attach net src count > /dev/null || bail "cannot attach net twice"
	phase "hash:net: swapped with others, which are then flushed or destroyed" $turn "$everybody" \
		"work swap net $dir/everybody"
	check "hash:net: the others are left" "$in_net" "$(entries net)"
	drop_by net

	phase "attachments come and go; whoever fills a shadow is killed" $turn "$everybody" \
		"work attach net other" "work kill net"

	# Who is looked up in one, and moves from there to the other and back before the other is
	# looked at, is in neither. A third look finds them.
	ipcuckoo attach left src drop > /dev/null && ipcuckoo attach right src drop > /dev/null &&
		ipcuckoo attach left both drop order 400 > /dev/null &&
		ipcuckoo detach net || bail "cannot attach"
	phase "one set is flushed while another has everybody, loaded by the tool" $turn "$hosts" \
		"again take_turns"

	drop_by net
	[ -n "$brief" ] || phase \
		"dumps show one state or say that they do not; sets are destroyed under them" \
		$turn "$everybody" \
		"work states groups" "work destroy" "again list_quietly" "work hosts net 0 1000"
	phase "all of it at once" $((turn * 2)) "beside nested" \
		"work hosts net 0 $((crowd / 3))" "work_there nets net 1 $((crowd / 3))" \
		"work nested net" \
		"work procfs net 1" "work attach net other" "work replace ip $dir/hosts" \
		"again list_quietly"
	check "hash:net: the others are left" "$in_net" "$(entries net)"
}

# --- namespaces and the module ---

# pour DEVICE MAC: packets from the client, whatever becomes of them
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

# A firewall of its own, x, beside f.
make_namespace()
{
	local mac=02:00:00:00:00

	ip netns add x && net_sysctls x &&
	ip link add x0 netns x address $mac:31 type veth peer name px netns c address $mac:32 &&
	ip -n x link set x0 up && ip -n x link set lo up && ip -n c link set px up &&
	nsenter --net=/run/netns/x "$IPCUCKOO" create ip hash:ip family any &&
	nsenter --net=/run/netns/x "$IPCUCKOO" load ip $dir/hosts > /dev/null &&
	nsenter --net=/run/netns/x "$IPCUCKOO" attach ip both drop > /dev/null &&
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
		run_ok "it goes under them, and lets go of the module ($i)" \
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
		run_ok "rmmod with sets full and packets flowing ($i)" busywait 20 rmmod ipcuckoo
		insmod "$IPCUCKOO_KO" || bail "cannot load the module again"
		make_ip
		drop_by ip
	done
	end_pour
	phase "verdicts are right after all that" 1 "strangers hosts" "sleep 1"
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
	check "no memory is in use once all sets are gone" "0 0" \
		"$(memory) $(grep -c '\[ipcuckoo\]' /proc/vmallocinfo)"
}

[ -n "$ipv6" ] || skip_all "no IPv6 in this kernel, and packets are of both families"
note "SEED=$seed repeats this run"
mkdir -p $dir
# Processor 1 is for packets.
taskset -pc 0 $$ > /dev/null
load_module
setup_quiet_net
writer lists $dir || bail "no lists"
echo 198.18.0.1 > $dir/nobody
make_sets
note "$SECONDS s"
churn
note "unloading was tried $(wc -l < $dir/tried) times"
# On a busy machine phases of so many seconds have fewer changes.
for ((i = 0; i < 30 && $(growths) < 10; i++)); do
	phase "and for more changes" $turn "strangers hosts" "work hosts ip 0 $crowd"
done
check_match "tables grew or shrank meanwhile" '^[1-9][0-9]' "$(growths)"
note "$SECONDS s"
test_namespace_exit
note "$SECONDS s"
test_unload
# On a busy machine phases of so many seconds have fewer packets.
for ((i = 0; i < 30 && all_packets < enough; i++)); do
	phase "and for more packets" 2 "strangers hosts" "work hosts ip 0 1000"
done
note "$all_packets packets checked, $SECONDS s"
check "enough packets to say something ($enough)" 1 $((all_packets >= enough))
test_end
ktap_done
