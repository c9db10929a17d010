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

load_module
test_agree
ktap_done
