#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tool: entries that expire. Programs count the entries of a set by what is written above its
# members; that number and the members agree at every moment, in every layout.

. "${0%/*}/tool-functions"

# What a listing says in its header, and how many members it has, by its layout.
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

# disagrees LAYOUT: one listing, whose header counts others than its members
disagrees()
{
	local says has

	read -r says has < <("$IPCUCKOO" -o "$1" list e | "numbers_$1")
	[ "$says" != "$has" ] && fault[$1]="header $says, members $has"
}

# agree NAME: look at it all the time, until all entries that can expire have
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
	check "$1: those without a timeout are left" "$stay" "$(members)"
}

# fill WORD...: entries that expire in one to nine seconds, and some that do not
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
	check "save has as many" 3 "$("$IPCUCKOO" save e | grep -c '^add')"
	"$IPCUCKOO" destroy e
}

load_module
test_agree
ktap_done
