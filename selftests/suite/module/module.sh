#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the module itself: parameters, loading and unloading, hooks, namespaces, and that it frees
# all its memory.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

cgroups=/sys/fs/cgroup
cgroup=$cgroups/ipcuckoo-test
rounds=${SLOW:+3}
rounds=${rounds:-10}

# Prints the memory of all tables, as the module counts it.
accounted()
{
	ipcuckoo stats -j | grep -o '"memory":[0-9]*' | sed 's/.*://;q'
}

# Prints how many vmalloc areas the module has allocated.
areas()
{
	grep -c '\[ipcuckoo\]' /proc/vmallocinfo
}

no_areas()
{
	[ "$(areas)" = 0 ]
}

users()
{
	cat /sys/module/ipcuckoo/refcnt
}

# fill NAME TYPE: creates a set with so many entries that its tables need more than a page
fill()
{
	ipcuckoo create "$1" "$2" family any &&
	ipcuckoo load "$1" $lists/mixed > /dev/null
}

test_modinfo()
{
	local name

	check "modinfo: licence" GPL "$(modinfo -F license "$IPCUCKOO_KO")"
	check_match "modinfo: version" '^[0-9]+\.[0-9]+' "$(modinfo -F version "$IPCUCKOO_KO")"
	for name in memory_limit userns_memory_limit maxelem priority; do
		check_match "modinfo: $name has a description and a default" \
			"$name:.*\(default -?[0-9]+: .*\)" "$(modinfo -p "$IPCUCKOO_KO")"
	done
	check "modinfo: users of the protocol load the module" net-pf-16-proto-16-family-ipcuckoo \
		"$(modinfo -F alias "$IPCUCKOO_KO")"
	check_match "modinfo: userns has a description and a default" \
		"userns:.*\(default N: .*\)" "$(modinfo -p "$IPCUCKOO_KO")"
	check "modinfo: no other parameter" 5 "$(modinfo -p "$IPCUCKOO_KO" | wc -l)"
}

# refused PARAMETER: a case: the module does not load, and gives the reason in the kernel log
refused()
{
	run_error "refused: $1" 1 "Invalid parameters|out of range" insmod "$IPCUCKOO_KO" "$1"
	if module_loaded; then
		not_ok "$1: the module is not loaded" "no module" "a module"
		rmmod ipcuckoo
	fi
}

test_bad_parameters()
{
	local p

	for p in memory_limit=x memory_limit= memory_limit=-1 memory_limit=99999999999999999999 \
		memory_limit=17592186044416 maxelem=-1 maxelem=x maxelem=4294967296 \
		priority=x priority= priority=100001 priority=-100001 priority=99999999999 \
		userns=2 userns=x userns_memory_limit=-1 userns_memory_limit=x; do
		refused "$p"
	done
	for p in "memory_limit=x is not valid: give a number of MiB" \
		"userns_memory_limit=x is not valid: give a number of MiB" \
		"maxelem=-1 is not valid: give a number of entries" \
		"priority=100001 is not valid: give a number"; do
		check_match "the log says what is valid: $p" "$p" \
			"$(dmesg | grep "ipcuckoo: ${p%%:*}:")"
	done
}

# in_parameters COMMAND...: runs a command in the directory of the parameters, prints one line
in_parameters()
{
	(cd /sys/module/ipcuckoo/parameters && "$@" memory_limit maxelem priority userns \
		userns_memory_limit) | paste -sd ' '
}

test_parameters()
{
	insmod "$IPCUCKOO_KO" memory_limit=1 maxelem=1000 priority=-300 ||
		bail "cannot load the module with parameters"
	check "parameters can be read" "1 1000 -300 N 64" \
		"$(in_parameters cat)"
	check "parameters cannot be changed" "444 444 444 444 444" \
		"$(in_parameters stat -c %a)"
	ipcuckoo create a hash:ip
	ipcuckoo create b hash:ip maxelem 0
	ipcuckoo attach a src drop
	check "maxelem is the default of new sets" 1000 "$(field a maxelem)"
	check "maxelem 0 means no limit" 0 "$(field b maxelem)"
	run_error "more entries than the limit are refused" \
		1 "full" ipcuckoo add a 10.0.0.0-10.0.3.232
	run_ok "as many entries as the limit are added" ipcuckoo add a 10.0.0.0-10.0.3.231
	run_error "one more is refused" 1 "full" ipcuckoo add a 10.0.3.232
	check_match "stats shows the priority" '"priority":-300,' "$(ipcuckoo stats -j)"
	packets -s "$seed" generate hosts 600000 > $lists/large
	run_error "a load beyond the memory limit is refused" \
		3 "memory limit" ipcuckoo load b $lists/large
	check "the refused entries were not added" 0 "$(field b entries)"
	check_match "their memory was freed" '^[0-9]{1,6}$' "$(accounted)"
	run_ok "a load within the memory limit succeeds" \
		ipcuckoo load b <(head -n 200000 $lists/large)
	ipcuckoo detach --all
	run_ok "unloads" unload_module
}

# field SET NAME: prints a value of the set's file
field()
{
	sed -n "s/^$2 //p" "/proc/net/ipcuckoo/set/$1"
}

test_reload()
{
	local i failed=0

	for ((i = 0; i < rounds; i++)); do
		insmod "$IPCUCKOO_KO" && rmmod ipcuckoo || failed=$((failed + 1))
	done
	check "loaded and unloaded $rounds times" 0 "$failed"
	failed=0
	for ((i = 0; i < rounds / 2; i++)); do
		insmod "$IPCUCKOO_KO" && fill a hash:net && fill b hash:net && rmmod ipcuckoo ||
			failed=$((failed + 1))
	done
	check "unloaded with sets full $((rounds / 2)) times" 0 "$failed"
	run_ok "the module has no memory left" busywait 5 no_areas
	check "/proc/net/ipcuckoo does not exist" "" "$(ls -d /proc/net/ipcuckoo 2> /dev/null)"
}

test_memory()
{
	local empty

	load_module
	check "without sets no memory is used" 0 "$(accounted)"
	ipcuckoo create a hash:net family any
	ipcuckoo create b hash:net family any
	empty=$(accounted)
	ipcuckoo load a $lists/mixed > /dev/null
	ipcuckoo load b $lists/mixed > /dev/null
	check_match "sets have memory" '^[1-9][0-9]{5,}$' "$(accounted)"
	check_match "the kernel's list of areas shows it" '^[1-9]' "$(areas)"
	ipcuckoo flush --all
	run_ok "flush frees all tables" busywait 5 all_given_back "$empty"
	ipcuckoo load a $lists/mixed > /dev/null
	ipcuckoo destroy --all
	run_ok "destroying the sets frees all memory" busywait 5 all_given_back 0
	unload_module
}

# Prints how much memory of vmalloc areas is charged to the cgroup.
charged()
{
	sed -n 's/^vmalloc //p' $cgroup/memory.stat
}

# in_cgroup COMMAND...: runs a command in the cgroup
in_cgroup()
{
	(echo $BASHPID > $cgroup/cgroup.procs && "$@")
}

# Test that tables are charged to the cgroup of the process that loads them.
test_cgroup()
{
	local size

	if [ ! -e $cgroups/memory.stat ] && ! grep -qs memory $cgroups/cgroup.controllers; then
		skip "tables are charged to the cgroup" "no memory controller here"
		return
	fi
	mkdir $cgroup || bail "cannot make a cgroup"
	on_exit 'rmdir $cgroup'
	load_module
	ipcuckoo create a hash:ip
	check "a cgroup is charged for no area" 0 "$(charged)"
	in_cgroup ipcuckoo load a $lists/large > /dev/null
	size=$(field a bytes)
	check_match "$(wc -l < $lists/large) hosts take a megabyte and more" '^[1-9][0-9]{6,}$' "$size"
	note "$size bytes in the set, $(charged) charged"
	# Allocations of less than a page are not charged.
	check "their tables are charged to the cgroup" 1 $(($(charged) >= size - 65536))
	ipcuckoo destroy a
	run_ok "destroying the set uncharges the cgroup" busywait 10 nothing_charged
	test_cgroup_of_worker
	unload_module
}

# A table to which entries are added bit by bit is trimmed afterwards, by a work item of its namespace.
test_cgroup_of_worker()
{
	local grown size

	ip netns add confined || bail "cannot make a namespace"
	in_cgroup in_confined "$IPCUCKOO" create a hash:ip
	# In a session, each line is a request.
	head -n 20000 $lists/large | sed 's/^/add a /' |
		in_cgroup in_confined "$IPCUCKOO" - > /dev/null
	grown=$(bytes_confined)
	run_ok "a table that has grown is trimmed" busywait 20 trimmed "$grown"
	size=$(bytes_confined)
	note "$grown bytes before, $size bytes in the set, $(charged) charged"
	# Its smaller areas are not charged as such.
	check "what the work item has allocated is charged to the cgroup" 1 \
		$(($(charged) >= size / 2))
	ip netns del confined
	run_ok "the end of the namespace uncharges the cgroup" busywait 10 nothing_charged
}

in_confined()
{
	nsenter --net=/run/netns/confined "$@"
}

# Prints how much memory the set in the namespace takes.
bytes_confined()
{
	in_confined sed -n 's/^bytes //p' /proc/net/ipcuckoo/set/a
}

# trimmed BYTES: does it take less memory than that?
trimmed()
{
	[ "$(bytes_confined)" -lt "$1" ]
}

nothing_charged()
{
	[ "$(charged)" = 0 ]
}

# all_given_back BYTES: is the memory of all tables at most that many bytes?
all_given_back()
{
	[ "$(accounted)" = "$1" ] && no_areas
}

test_attached()
{
	load_module
	fill a hash:net
	ipcuckoo attach a src drop
	ipcuckoo attach a dst count
	check "each attachment holds a reference to the module" 2 "$(users)"
	run_error "the module cannot be unloaded" 1 "in use" rmmod ipcuckoo
	check_match "an attached set cannot be destroyed" "attach" "$(ipcuckoo destroy a 2>&1)"
	check "the attached set still exists" a "$(ipcuckoo list -n)"
	run_status "destroy --all fails, too" 1 ipcuckoo destroy --all
	run_ok "detach --all" ipcuckoo detach --all
	check "without attachments there is no reference" 0 "$(users)"
	run_ok "the module can be unloaded with entries in a set" rmmod ipcuckoo
}

# --- hooks ---

# Test the kernel's list of hooks, if it has one.
test_hook_list()
{
	if grep -qs 'NETFILTER_NETLINK_HOOK is not set' "/boot/config-$(uname -r)"; then
		skip "the kernel's list of hooks" "this kernel has none"
		return
	fi
	nft add table $nft_family t '{ chain c { type filter hook prerouting priority 0; }; }'
	if ! nft list hooks 2> /dev/null | grep -q prerouting; then
		skip "the kernel's list of hooks" "this kernel has none"
		nft delete table $nft_family t
		return
	fi
	nft delete table $nft_family t
	load_module
	ipcuckoo create any hash:net family any
	check "nothing attached: the kernel lists no hook" 0 "$(nft list hooks | grep -c ipcuckoo)"
	ipcuckoo attach any both drop
	check "attached: the kernel lists four hooks" 4 "$(nft list hooks | grep -c ipcuckoo)"
	ipcuckoo detach --all
	check "detached: the hooks stay registered" 4 "$(nft list hooks | grep -c ipcuckoo)"
	unload_module
	check "unloaded: the kernel lists no hook" 0 "$(nft list hooks | grep -c ipcuckoo)"
}

# --- namespaces ---

in_ns()
{
	nsenter --net=/run/netns/"$1" "$IPCUCKOO" --force "${@:2}"
}

test_namespaces()
{
	local i

	load_module
	for ((i = 0; i < 4; i++)); do
		ip netns add "n$i"
	done
	on_exit 'for i in 0 1 2 3; do [ ! -e /run/netns/n$i ] || ip netns del n$i; done'
	in_ns n0 create a hash:net family any
	in_ns n0 load a $lists/mixed > /dev/null
	in_ns n0 attach a both drop
	in_ns n1 create a hash:ip
	in_ns n1 create b hash:ip
	in_ns n1 attach a src drop dev nowhere0
	in_ns n2 load a $lists/mixed 2> /dev/null
	check "each namespace has sets of its own" "a|a b|" \
		"$(for i in 0 1 2; do in_ns n$i list -n | paste -sd ' '; done | paste -sd '|')"
	check "each namespace has files of its own" "a|a b|" "$(for i in 0 1 2; do
		nsenter --net=/run/netns/n$i ls /proc/net/ipcuckoo/set | paste -sd ' '
		done | paste -sd '|')"
	check "attachments in all namespaces hold references" 2 "$(users)"
	ip netns del n0
	run_ok "destroying a namespace removes its attachments" busywait 10 users_are 1
	run_ok "destroying a namespace frees its tables" busywait 10 no_areas
	check "other namespaces are not affected" "a b" "$(in_ns n1 list -n | paste -sd ' ')"
	ip netns del n1
	run_ok "destroying the last one drops the last reference" busywait 10 users_are 0
	run_ok "the module can be unloaded while other namespaces exist" rmmod ipcuckoo
	run_ok "the module can be loaded while other namespaces exist" insmod "$IPCUCKOO_KO"
	check "these namespaces can use the module" 0 "$(in_ns n3 list -n | wc -l)"
	in_ns n3 create c hash:ip
	for ((i = 0; i < rounds; i++)); do
		ip netns add quick && in_ns quick create a hash:net &&
			in_ns quick add a 10.0.0.0/8 && in_ns quick attach a src drop
		ip netns del quick
	done
	run_ok "$rounds namespaces came and went" busywait 20 users_are 0
	run_ok "unloads" unload_module
}

users_are()
{
	[ "$(users)" = "$1" ]
}

# --- with traffic ---

test_traffic()
{
	local i failed=0 refused=0 flow out

	# The verdict count lets packets pass, so all packets must arrive.
	setup_quiet_net
	list_of $lists/blocked 198.18.0.0/15
	list_of $lists/others 20.0.0.0/8
	"$helpers/packets" -s "$seed" -t 300 -k tuif -r "src,count,$lists/blocked" -p $lists/others flow cs \
		> $lists/flow 2>&1 &
	flow=$!
	busywait 10 grep -q flowing $lists/flow || bail "no packets: $(cat $lists/flow)"
	for ((i = 0; i < rounds / 2; i++)); do
		insmod "$IPCUCKOO_KO" && fill a hash:net && ipcuckoo attach a both count
		! rmmod ipcuckoo 2> /dev/null && refused=$((refused + 1))
		ipcuckoo detach --all && rmmod ipcuckoo || failed=$((failed + 1))
	done
	check "attached: unloading is refused each time" $((rounds / 2)) "$refused"
	check "detached: unloading succeeds each time, with entries in sets and traffic" 0 "$failed"
	kill "$flow"
	wait "$flow"
	out=$(tail -n 1 $lists/flow)
	# The packets whose verdict was wrong, if there are any, and the counts
	note "$(sed 1d $lists/flow)"
	check_match "no packet was lost" " 0 wrong$" "$out"
	run_ok "the module has no memory left" busywait 5 no_areas
}

# met_by_nft PARAMETER...: of 100 packets that the module drops, prints how many reach a chain of
# nft with priority -100
met_by_nft()
{
	insmod "$IPCUCKOO_KO" "$@" && ipcuckoo create all hash:net &&
		ipcuckoo add all 0.0.0.0/0 && ipcuckoo attach all src drop &&
		in_f nft -f - <<-END || bail "cannot set up both"
		table $nft_family t {
			chain c {
				type filter hook prerouting priority -100;
				ip protocol udp counter
			}
		}
		END
	packets -s "$seed" -n 100 -k u -r "src,drop,$lists/all" check cs > $lists/out ||
		bail "they were not dropped: $(< $lists/out)"
	met=$(in_f nft list chain $nft_family t c | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p')
	in_f nft delete table $nft_family t
	ipcuckoo detach --all
	rmmod ipcuckoo
}

# Uses the network that test_traffic() has set up.
test_priority()
{
	local met

	list_of $lists/all 0.0.0.0/0
	met_by_nft
	check "by default, a chain at -100 sees no dropped packet" 0 "$met"
	met_by_nft priority=0
	check "with priority=0, a chain at -100 sees all of them" 100 "$met"
}

note "SEED=$seed repeats this run"
mkdir -p $lists
{
	packets -s "$seed" generate hosts 8000
	packets -s "$seed" generate nets 2000
	packets -6 -s "$seed" generate hosts 3000
	packets -6 -s "$seed" generate nets 1000
} > $lists/mixed
test_modinfo
test_bad_parameters
test_parameters
test_reload
test_memory
test_cgroup
test_attached
test_hook_list
test_namespaces
test_traffic
test_priority
ktap_done
