#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a list of a million costs, beside ipset in the same machine:
#
#   bench-load.sh [--quick | ENTRIES RUNS]
#
# Each figure stands beside its bar, with "ok" or "short"; the exit status says whether all of
# them are ok. --quick is a look at whether this works, not a measurement: the bars are for a
# million entries. SEED=... repeats a list.

. "${0%/*}/../lib.sh"
. "${0%/*}/measure.sh"

ktap_begun=1	# figures, no verdicts
helpers=$(realpath "${0%/*}/../../build/selftests")
seed=${SEED:-$(($(date +%s) % 100000))}
tracing=/sys/kernel/tracing
entries=1000000
runs=3
short=0

case ${1:-} in
--quick)	entries=100000; runs=1 ;;
?*)		entries=$1; runs=${2:-3} ;;
esac

# figure TEXT VALUE RELATION BAR UNIT: RELATION is <= or >=
figure()
{
	local verdict=short

	if [ -n "$2" ] && awk -v a="$2" -v b="$4" "BEGIN { exit !(a $3 b) }"; then
		verdict=ok
	else
		short=1
	fi
	printf '%-52s %8s %-7s bar %s %-5s %s\n' "$1" "$2" "$5" "$3" "$4" $verdict
}

# beside TEXT VALUE UNIT: what there is no bar for
beside()
{
	printf '%-52s %8s %s\n' "$1" "$2" "$3"
}

# --- figures of several runs ---

median()
{
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

spread()
{
	printf '%s\n' "$@" | sort -g | sed -n '1p;$p' | paste -s -d ' ' | sed 's/ / to /'
}

per_entry()
{
	calc "$1 / $entries"
}

# --- loading ---

# One run of each, one after the other: what else the machine does hits both.
run_once()
{
	local kib

	kib=$(kernel_kib)
	ipcuckoo create big hash:ip && ipcuckoo attach big src drop > /dev/null ||
		bail "cannot make a set"
	seconds_of ipcuckoo load big /tmp/list > /dev/null || bail "cannot load"
	our_seconds+=("$took")
	our_growth+=($((($(kernel_kib) - kib) * 1024)))
	our_vmalloc+=("$(vmalloc_bytes)")
	our_account+=("$(awk '$1 == "bytes" { print $2 }' /proc/net/ipcuckoo/set/big)")
	[ "$(awk '$1 == "entries" { print $2 }' /proc/net/ipcuckoo/set/big)" = "$entries" ] ||
		bail "not all entries were loaded"
	[ "${#our_seconds[@]}" -lt "$runs" ] || keep_measuring_big
	ipcuckoo detach big && ipcuckoo destroy big || bail "cannot destroy the set"

	kib=$(kernel_kib)
	seconds_of ipset restore < /tmp/list.ipset || bail "ipset cannot load"
	ipset_seconds+=("$took")
	ipset_growth+=($((($(kernel_kib) - kib) * 1024)))
	[ "$(ipset list -t big | awk -F ': ' '/Number of entries/ { print $2 }')" = "$entries" ] ||
		bail "ipset did not load all entries"
	ipset destroy big
	printf '%-52s %8s s, ipset %s s\n' "  load, run ${#our_seconds[@]}" \
		"${our_seconds[-1]}" "${ipset_seconds[-1]}"
}

load_figures()
{
	our_seconds=() our_growth=() our_vmalloc=() our_account=()
	ipset_seconds=() ipset_growth=()
	echo "Kernel memory and time for $(with_commas "$entries") IPv4 hosts in hash:ip, from a text file"
	while [ ${#our_seconds[@]} -lt "$runs" ]; do
		run_once
	done
	figure "  bytes per entry, the module's account" \
		"$(per_entry "$(median "${our_account[@]}")")" "<=" 2.3 bytes
	figure "  bytes per entry, the kernel's growth" \
		"$(per_entry "$(median "${our_growth[@]}")")" "<=" 2.3 bytes
	beside "    of these vmalloc areas of the module" \
		"$(per_entry "$(median "${our_vmalloc[@]}")")" bytes
	beside "    ipset, the kernel's growth" "$(per_entry "$(median "${ipset_growth[@]}")")" bytes
	beside "  from file to enforced, median" "$(median "${our_seconds[@]}")" \
		"s (of $runs: $(spread "${our_seconds[@]}"))"
	beside "    ipset restore, median" "$(median "${ipset_seconds[@]}")" \
		"s (of $runs: $(spread "${ipset_seconds[@]}"))"
	figure "  times faster than ipset" \
		"$(calc "$(median "${ipset_seconds[@]}") / $(median "${our_seconds[@]}")" %.1f)" \
		">=" 5 times
}

# --- listing, and growth from a million on, while the set is there ---

# The most memory that a command ever had, in MB. What starts it has some 9 MB of its own, and
# no figure is smaller than that.
peak_mb()
{
	python3 -IS -c '
import os, resource, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ,
                      file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
_, status = os.waitpid(pid, 0)
print("%.1f" % (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6))
sys.exit(os.waitstatus_to_exitcode(status))' "$@"
}

keep_measuring_big()
{
	list_peak=$(peak_mb "$IPCUCKOO" list big) || bail "cannot list"
	list_json_peak=$(peak_mb "$IPCUCKOO" -j list big) || bail "cannot list"
	little_peak=$(peak_mb "$IPCUCKOO" list -n)
	seconds_of ipcuckoo list big > /tmp/listed
	list_seconds=$took
	sed '1,/^Members:/d' /tmp/listed | sort > /tmp/listed.sorted
	sort /tmp/list | cmp -s - /tmp/listed.sorted || bail "list does not show what was loaded"
	rm /tmp/listed /tmp/listed.sorted
	load_of_big=$(fill big 4 first) || bail "cannot fill the set"
}

list_figures()
{
	echo "Listing them"
	figure "  peak memory of the tool, list" "$list_peak" "<=" 20 MB
	figure "  peak memory of the tool, list --json" "$list_json_peak" "<=" 20 MB
	beside "    of a tool that lists nothing" "$little_peak" MB
	beside "  time" "$list_seconds" s
}

# --- load factor ---

# fill SET 4|6|n COUNT|first: add hosts (or prefixes) one by one, so many or until a table has
# grown, and print each table size with the load at which it was given up for a larger one.
fill()
{
	python3 - "$seed" "$@" <<-'END'
	import os, random, socket, sys
	seed, name, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3]
	first = sys.argv[4] == "first"
	count = 1 << 32 if first else int(sys.argv[4])
	path = "/proc/net/ipcuckoo/set/" + name
	random.seed(seed)
	def state():
	    with open(path) as f:
	        s = dict(line.split() for line in f)
	    return int(s["entries"]), int(s["slots"])
	def draw():
	    if kind == "6":
	        addr = 1 << 125 | random.getrandbits(120)
	        return socket.inet_ntop(socket.AF_INET6, addr.to_bytes(16, "big"))
	    addr = random.getrandbits(32)
	    if kind == "4":
	        return socket.inet_ntoa(addr.to_bytes(4, "big"))
	    length = random.randrange(17, 32)
	    return socket.inet_ntoa((addr >> 32 - length << 32 - length).to_bytes(4, "big")) + f"/{length}"
	fd = os.open(path, os.O_WRONLY)
	entries, slots = state()
	i = 0
	while i < count:
	    # Far from full nobody has to look after each one.
	    step = 1 if entries > slots * 0.93 else max(1, int((slots * 0.94 - entries) / 2))
	    for _ in range(step):
	        os.write(fd, f"+{draw()}\n".encode())
	        i += 1
	    before = entries, slots
	    entries, slots = state()
	    if slots != before[1]:
	        if before[1] >= 4096:
	            print(before[1], "%.4f" % (before[0] / before[1]), flush=True)
	            if first:
	                break
	END
}

least()
{
	awk 'NR == 1 || $2 < least { least = $2 } END { print least }'
}

# load_factor NAME TYPE FAMILY KIND COUNT
load_factor()
{
	local out

	ipcuckoo create grow "$2" family "$3" || bail "cannot make a set"
	out=$(fill grow "$4" "$5") || bail "cannot fill a set"
	figure "  $1, $(wc -l <<< "$out") sizes from $(head -n 1 <<< "$out" | cut -d ' ' -f 1) slots on, least" \
		"$(least <<< "$out")" ">=" 0.96 ""
	ipcuckoo destroy grow
}

load_factor_figures()
{
	echo "Load factor reached by single insertions before a table grew"
	load_factor "IPv4 hosts" hash:ip inet 4 60000
	load_factor "IPv6 hosts" hash:ip inet6 6 40000
	load_factor "IPv4 prefixes" hash:net inet n 40000
	figure "  IPv4 hosts, ${load_of_big%% *} slots" "${load_of_big##* }" ">=" 0.96 ""
}

# --- hooks ---

registered()
{
	awk '/ registered: / { n++ } / unregistered: / { n-- } END { print n + 0 }' $tracing/trace
}

hook_figures()
{
	echo "Netfilter hooks registered"
	echo > $tracing/trace
	if ! {
		echo "p:ipcuckoo_bench/registered nf_register_net_hook" > $tracing/kprobe_events &&
		echo "p:ipcuckoo_bench/unregistered nf_unregister_net_hook" >> $tracing/kprobe_events &&
		echo 1 > $tracing/events/ipcuckoo_bench/enable
	} 2> /dev/null; then
		figure "  with nothing attached: no kprobe events here" "" "<=" 0 ""
		return
	fi
	load_module
	ipcuckoo create idle hash:net family any
	ipcuckoo add idle 192.0.2.0/24 2001:db8::/32
	figure "  with the module loaded and a set made" "$(registered)" "<=" 0 ""
	ipcuckoo attach idle both drop > /dev/null
	beside "    with that set attached" "$(registered)" ""
	ipcuckoo detach --all
	figure "  with that set detached again" "$(registered)" "<=" 0 ""
	ipcuckoo destroy idle
	echo 0 > $tracing/events/ipcuckoo_bench/enable
	echo > $tracing/kprobe_events
}

echo "Linux $(uname -r), $(nproc) emulated processors, seed $seed"
echo "In such a machine ratios and bytes say something, seconds do not."
hook_figures
module_loaded || load_module
"$helpers/packets" -s "$seed" generate hosts "$entries" | grep -vxF 0.0.0.0 > /tmp/list
entries=$(wc -l < /tmp/list)
restore_file big hash:ip inet /tmp/list > /tmp/list.ipset
load_figures
list_figures
load_factor_figures
[ $short -eq 0 ] && echo "All bars are reached." || echo "Not all bars are reached."
exit $short
