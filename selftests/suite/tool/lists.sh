#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests lists of the size that people use: the set has the same entries as the list, and kernel and
# tool use no more memory than documented.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"
. "${0%/*}/../../lib/measure.sh"

# The documented limits: kernel bytes per host, and MB of the tool while it lists a million hosts.
bytes_bar=2.3
list_bar=20

# Kernels that check themselves are slow, and use more memory.
million=${SLOW:+100000}
million=${million:-1000000}

members()
{
	ipcuckoo list "$1" | sed '1,/^Members:$/d'
}

# same_as NAME SET FILE...: a case: the entries of the set are those of the files
same_as()
{
	local name=$1 set=$2 out

	shift 2
	members "$set" > $lists/have
	cat "$@" > $lists/want || bail "cannot read $*"
	out=$(packets same $lists/want $lists/have 2>&1)
	check "$name" "$(grep -c '^[0-9a-f]' $lists/have)" "$out"
}

field()
{
	sed -n "s/^$2 //p" "/proc/net/ipcuckoo/set/$1"
}

# within NAME FIGURE BAR UNIT: a case: the figure is at most BAR; kernels that check themselves skip
# it
within()
{
	if [ -n "$SLOW" ]; then
		skip "$1" "figures are taken on kernels that do not check themselves"
		return
	fi
	note "$1: $2 $4, the bar is $3"
	if awk "BEGIN { exit !($2 <= $3) }"; then
		ok "$1"
	else
		not_ok "$1" "$3 $4 or less" "$2"
	fi
}

test_million()
{
	local before after pages i

	packets -s "$seed" generate hosts $million > $lists/million
	before=$(kernel_kib)
	pages=$(vmalloc_bytes)
	run_ok "a set" ipcuckoo create big hash:ip
	note "$(ipcuckoo load big $lists/million)"
	after=$(kernel_kib)
	pages=$(($(vmalloc_bytes) - pages))
	same_as "$million hosts are listed as they were loaded" big $lists/million
	within "bytes per host, by the module's account" \
		"$(calc "$(field big bytes) / $million")" $bytes_bar bytes
	within "bytes per host, by the pages of its areas" \
		"$(calc "$pages / $million")" $bytes_bar bytes
	within "bytes per host, by what all of the kernel has grown" \
		"$(calc "($after - $before) * 1024 / $million")" $bytes_bar bytes
	within "MB of the tool while it lists them, at most" \
		"$(calc "$(peak_of "$IPCUCKOO" list big) / 1000" %.1f)" $list_bar MB
	for i in 1 2; do
		packets -s "$seed$i" generate hosts $million | ipcuckoo load big - > /dev/null
	done
	check "after replacing the contents twice, the set has as many entries" \
		"$million" "$(field big entries)"
	run_ok "after replacing the contents twice, it uses as much memory" \
		busywait 10 areas_are_of "$pages"
	ipcuckoo destroy big
	test_sizes
	run_ok "destroying the set frees all its memory" busywait 10 areas_are_of 0
	rm $lists/million
}

# Test that smaller sets use as much memory as the README says, to a tenth of a byte. Of a thousand
# hosts, a byte is in the structure of the set, whose locks differ from kernel to kernel.
test_sizes()
{
	local n bar

	while read -r n bar; do
		ipcuckoo create some hash:ip
		head -n "$n" $lists/million | ipcuckoo load some - > /dev/null
		within "bytes per host, $n of them" \
			"$(printf %.1f "$(calc "$(field some bytes) / $n")")" "$bar" bytes
		ipcuckoo destroy some
	done <<-END
	600000 2.1
	300000 2.2
	65000 2.7
	5000 3.5
	1000 9.3
	END
}

# Is the module's vmalloc memory about PAGES bytes? Tables for two lists of the same length may
# differ by a few pages.
areas_are_of()
{
	local have

	have=$(vmalloc_bytes)
	[ $((have > $1 ? have - $1 : $1 - have)) -le $((10 * $1 / 100)) ]
}

# peak_of COMMAND...: prints the peak memory of a command, in units of 1000 bytes
peak_of()
{
	python3 - "$@" <<-'END'
	import os, subprocess, sys
	p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
	_, status, usage = os.wait4(p.pid, 0)
	print(usage.ru_maxrss * 1024 // 1000 if not status else 10 ** 9)
	END
}

# Prints prefixes that do not overlap.
disjoint4()
{
	awk -v n="$1" -v seed="$seed" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++) {
			net = (i * 2654435761) % 1048576
			len = 20 + int(rand() * 13)
			printf "%d.%d.%d.0/%d\n", net / 4096, net / 16 % 256, net % 16 * 16, len
		}
	}'
}

disjoint6()
{
	awk -v n="$1" -v seed="$seed" 'BEGIN {
		srand(seed)
		for (i = 0; i < n; i++)
			printf "2%03x:%x:%x::/%d\n", i % 4096, i / 4096 + 1, rand() * 65536,
				48 + int(rand() * 81)
	}'
}

test_other_kinds()
{
	local n=$((million / 20)) m i

	packets -6 -s "$seed" generate hosts $((n * 2)) > $lists/hosts6
	ipcuckoo create hosts6 hash:ip family inet6
	ipcuckoo load hosts6 $lists/hosts6 > /dev/null
	same_as "$((n * 2)) IPv6 hosts" hosts6 $lists/hosts6
	note "$(calc "$(field hosts6 bytes) / (2 * $n)") bytes per IPv6 host"
	disjoint4 $n > $lists/nets4
	disjoint6 $n > $lists/nets6
	ipcuckoo create nets hash:net family any
	ipcuckoo load nets $lists/nets4 $lists/nets6 $lists/hosts6 > /dev/null
	same_as "$((2 * n)) prefixes and $((2 * n)) hosts, both families in one set" nets \
		$lists/nets4 $lists/nets6 $lists/hosts6
	note "$(calc "$(field nets bytes) / (4 * $n)") bytes per entry of them"
	ipcuckoo destroy --all
	# Add the hosts in several commands, so that the table has to grow.
	ipcuckoo create grows hash:ip
	packets -s "$seed" generate hosts $n > $lists/grows
	m=$((n / 10))
	for ((i = 0; i < n; i += m)); do
		sed -n "$((i + 1)),$((i + m))p" $lists/grows |
			ipcuckoo load grows - --append > /dev/null
	done
	same_as "$n hosts that were added in ten parts" grows $lists/grows
	ipcuckoo destroy grows
}

# compare NAME RESULT WORDS WORDS: a case: what "packets same" says of two lists of words
compare()
{
	tr ' ' '\n' <<< "$3" > $lists/one
	tr ' ' '\n' <<< "$4" > $lists/other
	check "$1" "$2" "$(packets same $lists/one $lists/other 2>&1)"
}

# Test that lists are compared as sets, because public lists repeat entries.
test_same()
{
	compare "an entry that one list repeats counts once" 2 \
		"192.0.2.1 192.0.2.1 198.51.100.0/24" "198.51.100.0/24 192.0.2.1"
	compare "an entry that the other list repeats counts once" \
		3 "192.0.2.1 2001:db8::1 192.0.2.0/24" \
		"2001:db8::1 192.0.2.1 192.0.2.0/24 2001:db8::1 192.0.2.0/24 192.0.2.1/32"
	compare "lists of two and one entries" \
		"packets: 2 entries of IPv4 in one list, 1 in the other" \
		"192.0.2.1 192.0.2.2" "192.0.2.1 192.0.2.1"
	compare "the same number of entries, but different ones" \
		"packets: same number of IPv4 entries, but different ones" \
		"192.0.2.1 192.0.2.1 192.0.2.2" "192.0.2.1 192.0.2.3"
	compare "a prefix is not its first address" \
		"packets: same number of IPv6 entries, but different ones" \
		"2001:db8::/127" "2001:db8::"
}

test_real_lists()
{
	ipcuckoo create ipsum hash:ip
	note "$(ipcuckoo load ipsum "$data/ipsum.txt")"
	same_as "ipsum" ipsum "$data/ipsum.txt"
	note "$(calc "$(field ipsum bytes) / $(field ipsum entries)") bytes per entry"
	ipcuckoo create countries hash:net family any
	note "$(ipcuckoo load countries "$data"/country-*.txt)"
	same_as "countries, both families" countries "$data"/country-*.txt
	note "$(calc "$(field countries bytes) / $(field countries entries)") bytes per entry"
	ipcuckoo destroy --all
}

note "SEED=$seed repeats this run"
mkdir -p $lists
load_module
test_same
test_million
test_other_kinds
test_real_lists
run_ok "the module can be unloaded" unload_module
ktap_done
