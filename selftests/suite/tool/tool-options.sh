#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests extensions where ipset offers no comparison: many entries in one command, transactions, and
# the command top.

. "${0%/*}/tool-functions"

# entries NAME WANT SET: a case: the set has that many entries
entries()
{
	json "$1" 0 "$2" 'd[0]["header"]["numentries"]' list -t "$3"
}

# lines_with NAME WANT TEXT SET: a case: that many members match the text
lines_with()
{
	check "$1" "$2" "$("$IPCUCKOO" save "$4" | grep -c -- "$3")"
}

test_many()
{
	# Test that adding or deleting more entries than fit into a message keeps extensions, is one
	# change, and changes nothing if it fails.
	"$IPCUCKOO" create o hash:ip timeout 0 counters comment
	fine "add an entry with all extensions" \
		add o 192.0.2.1 timeout 5000 packets 3 bytes 4 comment first
	fine "many" add o 10.0.0.0-10.0.78.31 packets 5 comment many
	entries "all entries were added" 20001 o
	lines_with "each has the extensions of the command" \
		20000 'timeout 0 packets 5 bytes 0 comment "many"' o
	note_generation o
	expect "add the same again" \
		1 "" "it's already added (20000 of 20000, set o; nothing was changed" \
		add o 10.0.0.0-10.0.78.31 packets 6
	expect "del with one non-member" 1 "" \
		"Element cannot be deleted from the set: it's not added (10.0.78.32, set o" \
		del o 10.0.0.0-10.0.78.32
	unchanged "nothing was changed" o
	fine "add the same again, -exist" -exist add o 10.0.0.0-10.0.78.31 bytes 7
	lines_with "bytes are set, and packets are kept" 20000 'timeout 0 packets 5 bytes 7$' o
	fine "del of most entries" del o 10.0.0.0-10.0.70.255
	entries "the others stay" 1825 o
	json "del of entries that are deleted already, -exist" \
		0 '[1824, 18176]' '[d["deleted"], d["unchanged"]]' \
		-exist del o 10.0.0.0-10.0.78.31
	expect "save the last entry" 0 "*" "" save o
	check_match "it has all its extensions" \
		'add o 192\.0\.2\.1 timeout (5000|4[0-9]{3}) packets 3 bytes 4 comment "first"$' "$out"
	"$IPCUCKOO" destroy o
}

test_restore()
{
	# Test that many lines about a set with extensions are one change.
	{
		echo 'create o hash:net timeout 0 counters comment'
		printf 'add o 10.1.%d.0/24 packets 1\n' {0..255}
		printf 'add o 10.2.%d.0/24 comment "of two"\n' {0..255}
		for i in {0..19}; do
			printf "add o 10.3.$i.%d bytes 9\\n" {0..255}
		done
	} > file
	fine "a new set" restore -file file
	entries "it has all entries" 5632 o
	lines_with "counters of some" 256 'packets 1 bytes 0$' o
	lines_with "counters of others" 5120 'packets 0 bytes 9$' o
	lines_with "comments" 256 'comment "of two"$' o
	note_generation o
	{
		printf 'del o 10.1.%d.0/24\n' {0..255}
		printf 'add o 10.2.%d.0/24 packets 2 -exist\n' {0..255}
		for i in {0..19}; do
			printf "add o 10.3.$i.%d timeout 9000 -exist\\n" {0..255}
		done
		echo 'add o 10.3.0.0'
	} > file
	expect "one line fails" 1 "" \
		"Error in line 5633: Element cannot be added to the set: it's already added (10.3.0.0, set o" \
		restore -file file
	unchanged "no line is applied" o
	sed -i '$d' file
	fine "without that line" restore -file file
	entries "deleted entries are not in the set" 5376 o
	lines_with "the extensions that the lines name are set" 256 'timeout 0 packets 2 bytes 0$' o
	lines_with "other counters are kept" 5120 'packets 0 bytes 9$' o
	lines_with "timeouts" 5120 'timeout [89][0-9]* ' o
	# Test that changes of extensions are part of a transaction. If entries can expire, only the
	# kernel can tell that a set is full.
	"$IPCUCKOO" create full hash:ip maxelem 1 timeout 0
	note_generation o
	printf '%s\n' 'add o 10.3.0.0 comment lost -exist' 'add full 192.0.2.1' 'add full 192.0.2.2' > file
	expect "another set is full" 1 "" "Hash is full" restore -file file
	unchanged "nothing was changed" o
	entries "the full set was not changed" 0 full
	sed -i '$d' file
	fine "the other set is not full" restore -file file
	lines_with "the comment was changed" 1 'packets 0 bytes 9 comment "lost"$' o
	start_over
}

test_forceadd()
{
	# Test forceadd: an entry that is added to a full set replaces another one.
	fine "a set" create f hash:ip maxelem 3 forceadd timeout 0 comment skbinfo
	run_tool list f
	check_match "list shows forceadd in the same place as ipset" \
		'maxelem 3 timeout 0 comment forceadd skbinfo$' "$(grep ^Header out)"
	fine "fill it" add f 192.0.2.1 192.0.2.2 192.0.2.3
	fine "add one entry more" add f 192.0.2.4 comment fourth
	entries "the set has as many entries as before" 3 f
	lines_with "the last entry is in the set" 1 'add f 192.0.2.4 timeout 0 comment "fourth"$' f
	expect "adding the last entry again is an error" 1 "" "it's already added" add f 192.0.2.4
	echo +192.0.2.5 > /proc/net/ipcuckoo/set/f
	expect "an entry added through /proc" 0 "" "192.0.2.5 is in set f." test f 192.0.2.5
	printf '+192.0.2.6\n+192.0.2.7\n' > lines
	cat lines > /proc/net/ipcuckoo/set/f
	entries "several lines to /proc" 3 f
	printf 'add f 198.51.100.%d\n' {0..9} > file
	fine "a restore of more entries than the limit" restore -file file
	entries "the set has as many entries as before" 3 f
	"$IPCUCKOO" save f > saved
	"$IPCUCKOO" destroy f
	fine "restore what save printed" restore -file saved
	check "the restored set is the same" "$(< saved)" "$("$IPCUCKOO" save f)"
	sed -i 's/maxelem 3/maxelem 2/; s/create f/create g/; s/add f/add g/' saved
	fine "restore with a lower limit" restore -file saved
	entries "as many entries as the lower limit" 2 g
	# Test that entries that were evicted are back if the transaction fails because of another
	# set.
	"$IPCUCKOO" create full hash:ip maxelem 1 timeout 0
	"$IPCUCKOO" add full 192.0.2.1
	"$IPCUCKOO" save f > before
	printf '%s\n' 'add f 203.0.113.1' 'add f 203.0.113.2 comment new' 'add full 192.0.2.2' > file
	expect "another set of the same file is full" \
		1 "" "Hash is full, cannot add more elements (set full; nothing was changed)" \
		restore -file file
	check "nothing was changed" "$(< before)" "$("$IPCUCKOO" save f)"
	sed -i '$d' file
	fine "without that line" restore -file file
	entries "the set has as many entries as before" 3 f
	start_over
}

test_description()
{
	local type longest

	# Test that a set of any type can have a description, which is shown and saved.
	for type in hash:ip hash:net filter:ip; do
		"$IPCUCKOO" create plain $type
		fine "a $type with a description" create d $type description 'DROP & <more>'
		run_tool list -t d
		check "on a line of its own" 'Description: DROP & <more>' "$(grep ^Desc out)"
		check "behind those of ipset" 'Number of entries: 0' "$(grep -B 1 ^Desc out | head -n 1)"
		check "and not among the options" 0 "$(grep -c '^Header.*DROP' out)"
		json "JSON" 0 '["DROP & <more>", false]' \
			'[d[0]["header"]["description"], "description" in d[1]["header"]]' list -t
		run_tool list -t -o xml d
		check_match "XML" '<description>"DROP &amp; &lt;more>"</description>' "$out"
		"$IPCUCKOO" -q save > saved
		check_match "save puts it in quotes" ' description "DROP & <more>"$' "$(head -n 1 saved)"
		"$IPCUCKOO" destroy
		fine "it is restored" restore -file saved
		check "as it was" "$(< saved)" "$("$IPCUCKOO" -q save)"
		"$IPCUCKOO" destroy
	done
	# Test the longest one, which takes memory.
	"$IPCUCKOO" create a hash:ip
	longest=$(printf '%255s' x | tr ' ' y)
	fine "the longest description" create d hash:ip description "$longest"
	check_match "is shown whole" "^Description: $longest\$" "$("$IPCUCKOO" list -t d | grep ^Desc)"
	json "and takes more memory than none" 0 true 'd[0]["header"]["memsize"] < d[1]["header"]["memsize"]' list -t
	"$IPCUCKOO" destroy d
	bad "a longer one" "description is longer than the maximum allowed 255 bytes" \
		create d hash:ip description "x$longest"
	bad "a quote" "are not permitted in descriptions" create d hash:ip description 'a "b"'
	bad "a new line" "are not permitted in descriptions" create d hash:ip description $'a\nb'
	bad "two" "description already specified" create d hash:ip description a description b
	fine "an empty one" create d hash:ip description ''
	check "is none" 0 "$("$IPCUCKOO" list -t d | grep -c ^Desc)"
	# Test that -exist does not compare it, alone and in a file, and that a set keeps its own.
	"$IPCUCKOO" destroy
	fine "a set" create d hash:net description first
	fine "is accepted with another" -exist create d hash:net description second
	fine "and with none" -exist create d hash:net
	echo 'create d hash:net description "a third" -exist' > file
	fine "and in a file" restore -file file
	check "and keeps its own" 'Description: first' "$("$IPCUCKOO" list -t d | grep ^Desc)"
	expect "ipset cannot have it" 1 "" "ipset cannot hold the set d: ipset has no option description" \
		save --ipset
	# Test that it goes with the entries.
	printf '%s\n' 'create e hash:net description "of e"' 'add e 192.0.2.1' 'swap d e' > file
	fine "sets are swapped" restore -file file
	check "with their descriptions" 'Description: of e' "$("$IPCUCKOO" list -t d | grep ^Desc)"
	fine "renamed" rename d f
	check "it stays" 'Description: of e' "$("$IPCUCKOO" list -t f | grep ^Desc)"
	echo 192.0.2.2 > list
	expect "loaded" 0 "f: *" "" load f list
	check "it stays then" 'Description: of e' "$("$IPCUCKOO" list -t f | grep ^Desc)"
	start_over
}

test_top()
{
	# Test that top sorts entries by the number of packets that matched.
	expect "top without a set that has counters" 3 "" "only sets made with counters do that" top
	"$IPCUCKOO" create a hash:ip counters
	"$IPCUCKOO" create b hash:net counters comment family any
	"$IPCUCKOO" create c hash:ip
	"$IPCUCKOO" add c 192.0.2.1
	expect "nothing matched" 0 "PACKETS  BYTES  SET  ENTRY" "" top
	for i in {1..20}; do
		"$IPCUCKOO" add a "192.0.2.$i" packets $((i * 7 % 20)) bytes "$i"
	done
	"$IPCUCKOO" add b 2001:db8::/32 packets 100 bytes 5 comment x
	"$IPCUCKOO" add b 198.51.100.0/24 packets 100 bytes 6
	json "the first entries of all sets" \
		0 '[["b", "198.51.100.0/24", 100, 6], ["b", "2001:db8::/32", 100, 5], ["a", "192.0.2.17", 19, 17]]' \
		'[[e[k] for k in ("set", "elem", "packets", "bytes")] for e in d]' top --first 3
	json "ten entries by default" 0 '[10, 100, 12]' \
		'[len(d), d[0]["packets"], d[-1]["packets"]]' top
	json "of one set, only entries that matched packets" 0 '[19, 19, 1]' \
		'[len(d), d[0]["packets"], d[-1]["packets"]]' top a --first 100
	expect "top as text" \
		0 $'PACKETS  BYTES  SET  ENTRY\n    100      6  b    198.51.100.0/24' "" top b --first 1
	expect "a set without counters" 3 "" "only sets made with counters do that" top c
	wrong "--first 0" "is out of range 1-1000 (first)" top --first 0
	# Test that sets that are destroyed while top reads others are no error, unless it names
	# them.
	"$IPCUCKOO" add a 10.0.0.0/16
	: > go-on
	while [ -e go-on ] && "$IPCUCKOO" create z hash:ip counters && "$IPCUCKOO" destroy z; do
		:
	done &
	for i in {1..10}; do
		run_tool top --first 1
		[ $status -eq 0 ] || break
	done
	check "a set is destroyed during top" "0 " "$status $err"
	rm go-on
	wait $!
	expect "top names a set that does not exist" 3 "" "does not exist" top z
	# Test that real packets are counted.
	"$IPCUCKOO" create local hash:ip counters
	"$IPCUCKOO" add local 127.0.0.1
	"$IPCUCKOO" attach local src count loopback
	ip link set lo up
	ping -c 2 -i 0.2 -W 2 127.0.0.1 > /dev/null
	json "the entry that matched has counted" \
		0 '["127.0.0.1", true]' '[d[0]["elem"], d[0]["packets"] >= 2]' top local
	start_over
}

test_replace()
{
	# Test that "replace", another name of load, replaces the contents of an attached set.
	make_sets
	"$IPCUCKOO" add nets 192.0.2.1
	"$IPCUCKOO" attach nets src count
	printf '%s\n' 198.51.100.0/24 203.0.113.7 > list
	expect "replace" 0 "nets: 2 entries*" "" replace nets list
	has "the set has the entries of the file" "198.51.100.0/24 203.0.113.7" nets
	json "the set is still attached" 0 1 'd["sets"][1]["attachments"]' stats
	start_over
}

load_module
test_many
test_restore
test_forceadd
test_description
test_top
test_replace
ktap_done
