#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool and /proc with approximate sets: options, answers ("maybe" instead of "yes"), lists
# without members, full sets, and that nobody attaches an approximate set without --approximate.

. "${0%/*}/tool-functions"

test_words()
{
	local value

	bad "an invalid number of bits" 'unknown number of bits "12"' \
		create f filter:ip bits 12
	for value in 0 1 1.0 -0.1 +0.1 ' 0.1' '0.1 ' x . e-1 1e 0.1x 0.1.2 0,1 0x1p-4 0x0.1 inf nan \
		0% 100% -1% 1%% % 'nan%' 0x1% 1e-400 ""; do
		bad "fpp '$value'" "\"$value\" is no fpp: a number between 0 and 1, such as 0.001 or 0.1%" \
			create f filter:ip fpp "$value"
	done
	bad "an fpp that no number of bits reaches" \
		'fingerprints of 32 bits make it 1.8e-09; hash:ip is exact' \
		create f filter:ip fpp 1e-9
	bad "bits that are too few for an fpp" \
		'bits 8 make an fpp of 0.03, more than 0.001: leave bits out, or say bits 16' \
		create f filter:ip bits 8 fpp 0.001
	for value in 0 128000001 x; do
		bad "capacity $value" "(capacity)" \
			create f filter:ip capacity "$value"
	done
	wrong "a word misspelt" "Unknown argument: \`capcity'"'; did you mean "capacity"?' \
		create f filter:ip capcity 5
	bad "a type misspelt" "typename 'filterip' is unknown"'; did you mean "filter:ip"?' create f filterip
	for value in "bits 8" "fpp 0.1" "capacity 5" multi; do
		# shellcheck disable=SC2086
		bad "hash:ip $value" 'bits, fpp, capacity and multi go with the type filter:ip only' \
			create f hash:ip $value
	done
	wrong "count of nothing" 'usage: ipcuckoo count NAME ADDRESS' count f
}

# width NAME BITS WORD...: a case: how many bits a set has that is created with these words
width()
{
	fine "$1" create w filter:ip "${@:3}"
	json "$1: $2 bits" 0 "$2" 'd[0]["header"]["bits"]' list -t w
	"$IPCUCKOO" destroy w
}

test_create()
{
	width "the default number of bits" 16
	width "bits 8" 8 bits 8
	width "fpp 0.03, the default of other filters" 8 fpp 0.03
	width "fpp 0.0299" 16 fpp 0.0299
	width "fpp 0.00012" 16 fpp 0.00012
	width "fpp 0.0001" 32 fpp 0.0001
	width "fpp .01" 16 fpp .01
	width "fpp 1e-1" 8 fpp 1e-1
	width "fpp 3%" 8 fpp 3%
	width "fpp 2.99%" 16 fpp 2.99%
	width "fpp .012%" 16 fpp .012%
	width "fpp and more bits than it takes" 32 bits 32 fpp 0.01
	fine "create" create f filter:ip capacity 100 bits 8
	expect "create the same set again" \
		1 "" \
			"Set cannot be created: set with the same name already exists (f; -exist accepts that)" \
		create f filter:ip capacity 100 bits 8
	fine "create the same set again, -exist" create f filter:ip capacity 100 bits 8 -exist
	expect "create it again with other bits" \
		1 "" "or with other options" create f filter:ip capacity 100 -exist
	expect "create it again with another capacity" 1 "" "or with other options" \
		create f filter:ip bits 8 capacity 101 -exist
	expect "create it again as multi" 1 "" "or with other options" \
		create f filter:ip bits 8 capacity 100 multi -exist
	fine "capacity is maxelem" create limited filter:ip maxelem 20
	json "list shows both maxelem and capacity" \
		0 '[20, 20]' '[d[0]["header"][k] for k in ("maxelem", "capacity")]' \
		list -t limited
	fine "destroy it" destroy limited
	fine "create without a capacity" create plain filter:ip
	json "the default capacity is 65536" 0 65536 'd[0]["header"]["capacity"]' list -t plain
	fine "destroy that set, too" destroy plain
}

test_entries()
{
	fine "add" add f 192.0.2.1 198.51.100.0/30 203.0.113.1-203.0.113.3
	json "a prefix and a range are expanded" 0 8 'd[0]["header"]["numentries"]' list f
	bad "a large one with --expand only" '--expand' add f 10.0.0.0/8
	expect "add a member" 1 "" \
		"Element cannot be added to the set: it's already added, or has the fingerprint of one that is (192.0.2.1, set f; -exist accepts that)" \
		add f 192.0.2.1
	json "add a member, -exist" 0 '[0, 1]' '[d["added"], d["unchanged"]]' \
		add f 192.0.2.1 -exist
	expect "test of a member" 0 "" "192.0.2.1 may be in set f." test f 192.0.2.1
	json "test of a member, -j" 0 '{"answer": "maybe", "elem": "192.0.2.1", "found": true, "set": "f"}' \
		d test f 192.0.2.1
	fine "a set of 32 bits, of both families" create wide filter:ip bits 32 family any
	expect "test of a non-member" 1 "" "192.0.2.2 is NOT in set wide." test wide 192.0.2.2
	json "test of a non-member, -j" \
		1 '{"answer": "no", "elem": "192.0.2.2", "found": false, "set": "wide"}' \
		d test wide 192.0.2.2
	fine "a mapped address" add wide ::ffff:192.0.2.7 2001:db8::7
	expect "a mapped address counts as the IPv4 address" 0 "" "may be in" test wide 192.0.2.7
	expect "IPv6" 0 "" "may be in" test wide 2001:db8::7
	expect "test of a prefix" 1 "" "Syntax error: test takes one address at a time" test wide 192.0.2.0/30
	expect "del" 1 "" \
		"192.0.2.1 cannot be deleted from the set f: nothing can be deleted from a filter that is not multi: the fingerprint may be another entry's" \
		del f 192.0.2.1
	expect "del, -exist" 1 "" "nothing can be deleted" del f 192.0.2.1 -exist
	expect "count" 0 1 "" count f 192.0.2.1
	expect "count of a non-member" 1 0 "" count wide 192.0.2.2
	fine "an exact set" create exact hash:ip
	expect "an exact set has no count" \
		3 "" "the set exact is exact: an entry is there once, or not" \
		count exact 192.0.2.1
	fine "destroy the exact set" destroy exact
	fine "flush" flush f
	expect "the set is empty" 1 "" "is NOT in" test f 192.0.2.1
}

test_multi()
{
	local i

	fine "a set that stores every addition" create m filter:ip multi capacity 100
	for i in 1 2 3 4 5 6 7 8; do
		"$IPCUCKOO" add m 192.0.2.1 || break
	done
	expect "eight copies" 0 8 "" count m 192.0.2.1
	expect "the ninth" 1 "" \
		"192.0.2.1 cannot be added to the set m: no room for another copy of the entry: 8 at most, fewer if others use its slots" \
		add m 192.0.2.1
	expect "the ninth and others" 1 "" "192.0.2.1 cannot be added" add m 192.0.2.1 192.0.2.2
	expect "a request that fails adds nothing" 1 0 "" count m 192.0.2.2
	json "all eight copies are still there" 0 8 'd[0]["header"]["numentries"]' list m
	fine "twice in one command" add m 192.0.2.3 192.0.2.3
	expect "makes two copies" 0 2 "" count m 192.0.2.3
	fine "del" del m 192.0.2.3
	json "del removes one copy" \
		0 '{"copies": 1, "elem": "192.0.2.3", "set": "m"}' d count m 192.0.2.3
	fine "del of the other copy" del m 192.0.2.3
	expect "del of a non-member" \
		1 "" "Element cannot be deleted from the set: it's not added (192.0.2.3, set m; -exist accepts that)" \
		del m 192.0.2.3
	fine "del of none, -exist" del m 192.0.2.3 -exist
	printf '192.0.2.%d\n' 1 2 2 3 3 3 > list
	run_tool load m list
	check_match "load keeps copies" '^m: 6 entries, in ' "$out"
	expect "load stored all three copies" 0 3 "" count m 192.0.2.3
}

test_list()
{
	fine "a filter" create shown filter:ip capacity 1000 bits 8 multi
	fine "add 500 entries" add shown 10.0.0.0-10.0.1.243
	run_tool list shown
	check_match "list explains why there are no members" \
		$'^Name: shown\nType: filter:ip\nRevision: 0\nHeader: family inet bits 8 capacity 1000 multi\nSize in memory: [0-9]+\nReferences: 0\nNumber of entries: 500\nLoad factor: 0\.[0-9]+\nBits per entry: [0-9.]+\nFalse-positive rate: [0-9.]+ % now, [0-9.]+ % when full\nMembers: not listed: a filter keeps fingerprints of its entries, not the addresses; ask for one with: ipcuckoo test shown ADDRESS$' \
		"$out"
	json "list -j" 0 '[null, "a filter keeps fingerprints of its entries, not the addresses"]' \
		'[d[0]["members"], d[0]["why"]]' list shown
	json "its header" 0 '["any"]' '[h["family"] for h in [e["header"] for e in d]]' list -t wide
	json "the false-positive rate follows from the load" 0 '[0.0, 0.0]' \
		'[[abs(round(s["fppnow"] - 500 * 8 / 255 / s["slots"], 4)), abs(round(s["fppfull"] - 1000 * 8 / 255 / s["slots"], 4))] for s in d["sets"] if s["name"] == "shown"][0]' \
		stats
	run_tool list
	judge "list of all sets" 0 "Name: *" ""
	check "list names" "$("$IPCUCKOO" list -n)" "$(sed -n 's/^Name: //p' out)"
	fine "destroy the filter" destroy shown
}

test_full()
{
	local where

	fine "a small filter" create small filter:ip capacity 300 bits 32
	where="it is full, with 300 entries, at a load factor of 0."
	fine "add as many entries as its capacity" add small 10.0.0.0-10.0.1.43
	expect "add one more" 1 "" "10.0.9.9 cannot be added to the set small: $where" \
		add small 10.0.9.9
	expect "add several more" \
		1 "" "All of the elements cannot be added to the set small: $where" \
		add small 10.0.9.9-10.0.9.12
	expect "test of a member of the full set" 0 "" "may be in" test small 10.0.1.43
	json "all 300 entries are still there" 0 300 'd[0]["header"]["numentries"]' list small
	json "add members of the full set, -exist" 0 '[0, 2]' '[d["added"], d["unchanged"]]' \
		add small 10.0.0.1 10.0.0.2 -exist
	printf '10.1.%d.1\n' {0..49} > list
	fine "load" -q load small list
	expect "load replaces the contents" 1 "" "is NOT in" test small 10.0.1.43
	printf '10.%d.0.1\n' {0..255} > list
	printf '10.%d.0.2\n' {0..255} >> list
	expect "load of more than the capacity" 3 "" \
		"it has 50 entries and room for 300, a load factor of 0." load small list
	expect "changes nothing" 0 "" "may be in" test small 10.1.49.1
	run_tool load --append small list
	judge "append of more than the capacity" 3 "" "it has 50 entries and room for 300"
	json "50 are left" 0 50 'd[0]["header"]["numentries"]' list small
	fine "a set with more entries than fit into a message" \
		create large filter:ip bits 32 capacity 40000
	fine "add by a shadow" add large 10.0.0.0-10.0.117.47
	expect "add of them again" 1 "" "Element cannot be added to the set: it's already added (30000 of 30000, set large; nothing was changed; -exist accepts that)" \
		add large 10.0.0.0-10.0.117.47
	expect "add of too many" 1 "" "it has 30000 entries and room for 40000" \
		add large 10.1.0.0-10.1.117.47
	fine "a large multi" create m2 filter:ip multi bits 32
	fine "add as many entries to it" add m2 10.0.0.0-10.0.117.47
	json "delete by a shadow" 0 '[29999, 0]' '[d["deleted"], d["unchanged"]]' \
		del m2 10.0.0.0-10.0.117.46
	json "one entry is left" 0 1 'd[0]["header"]["numentries"]' list m2
	for where in small large m2; do
		"$IPCUCKOO" destroy $where
	done
}

# write_case NAME STATUS LINES: a case: writing the lines to the file of f, in one write, ends with
# STATUS
write_case()
{
	echo "$3" > lines
	cat lines 2> err > /proc/net/ipcuckoo/set/f
	check "$1" "$2" "$? $(sed 's/.*: //' err)"
}

test_proc()
{
	fine "start with nothing" flush f
	write_case "proc: add" "0 " +192.0.2.1
	write_case "proc: add again" "0 " +192.0.2.1
	write_case "proc: del" "1 Operation not supported" -192.0.2.1
	write_case "proc: several lines, one of which deletes" "1 Operation not supported" \
		$'+192.0.2.9\n-192.0.2.1'
	check "proc: the file" "filter:ip inet 1 8 100 no" \
		"$(sed -n 's/^\(type\|family\|entries\|bits\|capacity\|multi\) //p' \
			/proc/net/ipcuckoo/set/f | paste -sd ' ')"
	check "proc: the line" "f filter:ip inet 1" \
		"$(sed -n 's/^\(f filter:ip inet 1\) .*/\1/p' /proc/net/ipcuckoo/sets)"
	printf '+192.0.2.5\n+192.0.2.5\n-192.0.2.2\n' > lines
	cat lines > /proc/net/ipcuckoo/set/m
	expect "proc: a multi set stores another copy of a member" 0 2 "" count m 192.0.2.5
	expect "proc: and deletes one" 0 1 "" count m 192.0.2.2
	write_case "proc: flush" "0 " /
	expect "proc: the set is empty" 1 "" "is NOT in" test f 192.0.2.1
}

test_attach()
{
	local verdict rates="0 % of all non-members \(addresses that are not in the set\) now, 1.[0-9]* % when it is full"

	for verdict in drop accept; do
		run_tool attach f src $verdict
		check_match "attach $verdict" \
			"^3 ipcuckoo v[0-9.]+: Set f cannot be attached: it is approximate, so that $rates, would be [a-z ]* \(--approximate accepts that\)$" \
			"$status $err"
	done
	check "nothing is attached" 1 "$(wc -l < /proc/net/ipcuckoo/attachments)"
	run_tool attach f src drop --approximate
	check_match "attach drop --approximate" "^0 Set f is approximate: $rates, are dropped\.$" \
		"$status $out"
	run_tool -j attach f src accept --approximate
	ask json out 'sorted(d)'
	check "attach -j" '["attachment", "fppfull", "fppnow", "set"]' "$answer"
	run_tool attach f src count
	check_match "attach count" "^0 Set f is approximate: $rates, are counted\.$" "$status $out"
	expect "attach mark, quiet" 0 "" "" -q attach f src mark 1
	fine "create an exact set, which needs no --approximate" create exact hash:ip
	fine "attach it with --approximate" attach exact src drop --approximate
	fine "block's set may be a filter" create blocked filter:ip family any
	expect "block does not attach a filter without --approximate" \
		3 "" "the set is approximate" block 192.0.2.1
	expect "unblock from a filter says why it cannot" \
		3 "" "nothing can be deleted" unblock 192.0.2.1
}

test_words
load_module
test_create
test_entries
test_multi
test_list
test_full
test_proc
test_attach
start_over
ktap_done
