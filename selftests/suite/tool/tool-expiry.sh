#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool with entries that expire. Programs read the number of entries in the header of a
# list; in every layout it must be the number of members that the list shows, at any time.

. "${0%/*}/tool-functions"

# numbers_LAYOUT: prints the number of entries in the header, and the number of members
numbers_plain()
{
	awk '/^Number of entries: / { says = $NF } listed { has++ } /^Members:/ { listed = 1 }
		END { print says + 0, has + 0 }'
}

numbers_xml()
{
	awk -F '[<>]' '/<numentries>/ { says = $3 } /<member>/ { has++ } END { print says + 0, has + 0 }'
}

numbers_json()
{
	python3 -c 'import json, sys
d = json.load(sys.stdin)[0]
print(d["header"]["numentries"], len(d["members"]))'
}

members()
{
	"$IPCUCKOO" list e | numbers_plain | cut -d ' ' -f 2
}

# disagrees LAYOUT: is there a difference between header and members of one list?
disagrees()
{
	local says has

	read -r says has < <("$IPCUCKOO" -o "$1" list e | "numbers_$1")
	[ "$says" != "$has" ] && fault[$1]="header $says, members $has"
}

# agree NAME: lists the set until all entries with a timeout have expired; cases about the lists
agree()
{
	local what left rounds=0 end=$((SECONDS + 300))
	local -A fault=()

	while :; do
		left=$(members)
		for what in plain xml json; do
			disagrees $what
		done
		rounds=$((rounds + 1))
		[ "$left" -gt "$stay" ] && [ $SECONDS -lt $end ] || break
	done
	note "$1: looked at $rounds times"
	for what in plain xml json; do
		check "$1: $what" "" "${fault[$what]-}"
	done
	check "$1: only the entries without a timeout are left" "$stay" "$(members)"
}

# fill WORD...: adds entries that expire after one to nine seconds, and some that do not expire
fill()
{
	local i

	stay=3
	"$IPCUCKOO" create e "$@"
	"$IPCUCKOO" add e 192.0.2.1 192.0.2.2 192.0.2.3 timeout 0
	for i in {1..9}; do
		echo "add e 198.51.100.$i timeout $i"
		echo "add e 203.0.113.$i timeout $i"
	done | "$IPCUCKOO" restore
}

test_agree()
{
	local stay

	fill hash:ip timeout 0
	agree "hosts"
	"$IPCUCKOO" destroy e
	fill hash:net timeout 0 counters comment
	agree "prefixes with counters and comments"
	check "save has as many entries as the set" 3 "$("$IPCUCKOO" save e | grep -c '^add')"
	"$IPCUCKOO" destroy e
}

# left ENTRY: prints the seconds that an entry has left
left()
{
	"$IPCUCKOO" list t | sed -n "s/^$1 timeout //p"
}

test_units()
{
	local entry seconds has

	# Test that times may have units, on the command line and in a file; a list shows seconds.
	fine "a set with a time of two units" create t hash:ip timeout 1h30m
	check_match "the header has seconds" ' timeout 5400$' "$("$IPCUCKOO" save t | grep '^create')"
	fine "the timeout of the set" add t 192.0.2.1
	fine "minutes" add t 192.0.2.2 timeout 30m
	fine "seconds as a unit" add t 192.0.2.3 timeout 900s
	fine "seconds" add t 192.0.2.4 timeout 900
	fine "hexadecimal seconds" add t 192.0.2.5 timeout 0x384
	fine "never" add t 192.0.2.6 timeout 0
	fine "in a file" restore < <(echo 'add t 192.0.2.7 timeout 2d')
	while read -r entry seconds; do
		has=$(left 192.0.2."$entry")
		[ "$has" -le "$seconds" ] && [ "$has" -gt $((seconds * 9 / 10 - 1)) ]
		check "192.0.2.$entry expires after $seconds seconds ($has left)" 0 $?
	done <<-'END'
	1 5400
	2 1800
	3 900
	4 900
	5 900
	6 0
	7 172800
	END
	bad "a unit that there is not" "'5y' is invalid as number (timeout in seconds, or as in 90s" \
		add t 192.0.2.8 timeout 5y
	bad "more than the longest time" "'3551w' is out of range 0-2147483647 (timeout" \
		add t 192.0.2.8 timeout 3551w
}

load_module
test_agree
test_units
ktap_done
