#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures what is not part of the report: whether hooks are registered without need, how much
# memory the tool needs to list a million hosts, and how full tables get before they grow. lab/
# measures times and memory beside ipset.
#
#   bench-load.sh [--quick | ENTRIES]
#
# Each figure is printed beside its bar, with "ok" or "short". Exits with 0 if all are ok. --quick
# only tests that this works, with fewer entries; the bars are for a million. SEED=... repeats a
# list.

. "${0%/*}/../lib/lib.sh"
. "${0%/*}/../lib/measure.sh"

ktap_begun=1	# this is not a test: print no KTAP
helpers=$(realpath "${0%/*}/../../build/selftests")
seed=${SEED:-$(($(date +%s) % 100000))}
tracing=/sys/kernel/tracing
entries=1000000
short=0

case ${1:-} in
--quick)	entries=100000 ;;
?*)		entries=$1 ;;
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

# beside TEXT VALUE UNIT: prints a figure without a bar
beside()
{
	printf '%-52s %8s %s\n' "$1" "$2" "$3"
}

# --- listing, and growth from a million on ---

# The peak memory of a command, in MB. The process that starts it has about 9 MB, so no figure is
# smaller than that.
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

measure_big()
{
	ipcuckoo create big hash:ip && ipcuckoo attach big src drop > /dev/null ||
		bail "cannot make a set"
	ipcuckoo load big /tmp/list > /dev/null || bail "cannot load"
	[ "$(awk '$1 == "entries" { print $2 }' /proc/net/ipcuckoo/set/big)" = "$entries" ] ||
		bail "not all entries were loaded"
	list_peak=$(peak_mb "$IPCUCKOO" list big) || bail "cannot list"
	list_json_peak=$(peak_mb "$IPCUCKOO" -j list big) || bail "cannot list"
	little_peak=$(peak_mb "$IPCUCKOO" list -n)
	ipcuckoo list big > /tmp/listed
	sed '1,/^Members:/d' /tmp/listed | sort > /tmp/listed.sorted
	sort /tmp/list | cmp -s - /tmp/listed.sorted || bail "list does not show what was loaded"
	rm /tmp/listed /tmp/listed.sorted
	load_of_big=$(fill big 4 first) || bail "cannot fill the set"
	ipcuckoo detach big && ipcuckoo destroy big || bail "cannot destroy the set"
}

list_figures()
{
	echo "Listing $(with_commas "$entries") IPv4 hosts"
	figure "  peak memory of the tool, list" "$list_peak" "<=" 20 MB
	figure "  peak memory of the tool, list --json" "$list_json_peak" "<=" 20 MB
	beside "    of a tool that lists nothing" "$little_peak" MB
}

# --- load factor ---

# fill SET 4|6|n COUNT|first: adds hosts (or prefixes) one by one, COUNT of them or until a table
# has grown. Prints the load factor at which each table was replaced by a larger one, with its size.
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
			# Far from full, check only sometimes whether the table has grown.
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
	# The hooks stay registered; kmod/point.c says why.
	beside "    with that set detached again" "$(registered)" ""
	ipcuckoo destroy idle
	echo 0 > $tracing/events/ipcuckoo_bench/enable
	echo > $tracing/kprobe_events
}

echo "Linux $(uname -r), $(nproc) emulated processors, seed $seed"
hook_figures
module_loaded || load_module
"$helpers/packets" -s "$seed" generate hosts "$entries" | grep -vxF 0.0.0.0 > /tmp/list
entries=$(wc -l < /tmp/list)
measure_big
list_figures
load_factor_figures
[ $short -eq 0 ] && echo "All bars are reached." || echo "Not all bars are reached."
exit $short
