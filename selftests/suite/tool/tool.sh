#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool: sets and entries. Checks the effect, the output and the exit status of each
# command.

. "${0%/*}/tool-functions"

test_create()
{
	local longest=abcdefghijklmnopqrstuvwxyz01234 name

	# Test that sets are created as requested.
	fine "create" create feed hash:net family any
	json "create -j" 0 '{"created": true, "set": "six"}' d \
		create six hash:ip family inet6 maxelem 1000
	fine "ipset's old names of types" create old iphash
	fine "words in another order" create other nethash maxelem 0x10 family inet
	json "stats shows all sets as created" 0 \
		'[["feed", "hash:net", "any", 0], ["old", "hash:ip", "inet", 0], ["other", "hash:net", "inet", 16], ["six", "hash:ip", "inet6", 1000]]' \
		'[[s[k] for k in ("name", "type", "family", "maxelem")] for s in d["sets"]]' stats
	# Test that creating a set that exists is an error, except with -exist.
	expect "create the same set again" 1 "" \
		"Set cannot be created: set with the same name already exists (feed; -exist accepts that)" \
		create feed hash:net family any
	fine "create the same set again, -exist" create feed hash:net family any -exist
	fine "create the same set again, -!" -! create feed hash:net family any
	fine "create the same set again, --exist" create --exist feed hash:net family any
	json "create the same set again, -exist -j" 0 '{"created": true, "set": "feed"}' d \
		create feed hash:net family any -exist
	expect "create a set that exists with another type" 1 "" "of another type or family" \
		create feed hash:ip family any -exist
	expect "create a set that exists with another family" \
		1 "" "of another type or family" create feed hash:net -exist
	expect "quiet" 1 "" "" -q create feed hash:net
	# Test that every valid name works; after "--", also names that look like options.
	for name in ... -x --all -5 id $longest; do
		fine "create $name" create -- "$name" hash:ip
	done
	expect "list shows them" 0 "--all
-5
-x
...
$longest
feed
id
old
other
six" "" list -n
	for name in ... -x --all -5 id $longest; do
		fine "destroy $name" destroy -- "$name"
	done
	expect "no other set is left" 0 $'feed\nold\nother\nsix' "" list -n
}

test_destroy()
{
	# Test that destroy removes one set or all sets, but no attached sets.
	fine "attach" attach old src drop
	expect "destroy an attached set" 1 "" \
		"Set cannot be destroyed: it is in use by a kernel component (attached: src drop order 300 priority -450; ipcuckoo detach old first)" destroy old
	expect "destroy all with one attached" 1 "" \
		"Set cannot be destroyed: it is in use by a kernel component (attached: old src drop order 300 priority -450; ipcuckoo detach --all first)" destroy --all
	expect "all sets still exist" 0 $'feed\nold\nother\nsix' "" list -n
	fine "detach" detach old
	fine "destroy" destroy old
	json "destroy -j" 0 '{"destroyed": true, "set": "six"}' d destroy six
	# Test that destroying a set that does not exist is an error with a hint, except with
	# -exist.
	expect "no such set" 1 "" 'The set with the given name does not exist: "fed"; did you mean "feed"?' destroy fed
	expect "no such set, nothing near" 1 "" \
		$'The set with the given name does not exist: "xyzzy"\nSee ipcuckoo list -n, or make it with: ipcuckoo create xyzzy hash:net family any (hosts and prefixes, IPv4 and IPv6;' \
		destroy xyzzy
	fine "no such set, -exist" destroy xyzzy -exist
	json "destroy --all -j" 0 '{"destroyed": true}' d destroy --all
	expect "no set at all" 1 "" 'The set with the given name does not exist: "feed"; make it with: ipcuckoo create feed hash:net family any' \
		list feed
	fine "destroy of all sets, without sets, is no error" destroy
	expect "nothing to list" 0 "" "" list
	json "nothing to list, -j" 0 '[]' d list
}

test_add()
{
	# Test that add adds all its entries or none.
	fine "add a host" add hosts 192.0.2.1
	json "add -j" 0 '{"added": 2, "set": "hosts", "unchanged": 0}' d add hosts 192.0.2.2 192.0.2.3
	note_generation hosts
	expect "a member already" 1 "" \
		"Element cannot be added to the set: it's already added (192.0.2.1, set hosts; -exist accepts that)" \
		add hosts 192.0.2.1
	expect "among other entries" \
		1 "" "Element cannot be added to the set: it's already added (192.0.2.2, set hosts" \
		add hosts 192.0.2.8 192.0.2.2 192.0.2.9
	expect "quiet" 1 "" "" add hosts 192.0.2.1 -quiet
	unchanged "nothing was changed" hosts
	fine "a member already, -exist" add hosts 192.0.2.1 -exist
	json "among other entries, -exist -j" 0 '{"added": 1, "set": "hosts", "unchanged": 2}' d \
		-exist add hosts 192.0.2.1 192.0.2.4 192.0.2.2
	json "the same entry twice counts once" 0 '{"added": 1, "set": "hosts", "unchanged": 0}' d \
		add hosts 192.0.2.5 192.0.2.5
	has "all entries were added" "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5" \
		hosts
	# Test that prefixes of both families, down to /0, and mapped addresses can be added.
	fine "add prefixes" add nets 192.0.2.0/24 2001:db8::/32 0.0.0.0 :: 0.0.0.0/0 ::/0 \
		::ffff:198.51.100.1 ::ffff:203.0.113.0/120
	has "list shows canonical forms, sorted" "0.0.0.0/0 0.0.0.0 192.0.2.0/24 198.51.100.1 \
203.0.113.0/24 ::/0 :: 2001:db8::/32" nets
	fine "host bits are cleared" add nets 10.1.2.3/8 2001:DB8:1::1/48
	fine "del clears host bits, too" del nets 10.9.9.9/8 2001:db8:1:2::/48
	expect "no such set" 1 "" 'The set with the given name does not exist: "host"; did you mean "hosts"?' add host 192.0.2.1
}

test_ranges()
{
	# Test that a range becomes the fewest prefixes in hash:net, and hosts in hash:ip.
	"$IPCUCKOO" flush
	fine "a range in hash:net" add nets 192.0.2.3-192.0.2.16
	has "a range becomes prefixes" "192.0.2.3 192.0.2.4/30 192.0.2.8/29 192.0.2.16" nets
	fine "del of the same range" del nets 192.0.2.3-192.0.2.16
	fine "all of IPv4" add nets 0.0.0.0-255.255.255.255
	fine "IPv6" add nets 2001:db8::fffe-2001:db8::1:1
	has "ranges of all addresses and of IPv6 become prefixes" \
		"0.0.0.0/0 2001:db8::fffe/127 2001:db8::1:0/127" nets
	fine "a range in hash:ip" add hosts 192.0.2.254-192.0.3.1
	fine "a prefix in hash:ip" add hosts 198.51.100.9/30
	has "a range and a prefix become hosts" \
		"192.0.2.254 192.0.2.255 192.0.3.0 192.0.3.1 198.51.100.8 198.51.100.9 \
198.51.100.10 198.51.100.11" hosts
	"$IPCUCKOO" flush hosts
	# Test that more than 65536 hosts need --expand, and are one change nevertheless.
	json "65536 of them" 0 '{"added": 65536, "set": "hosts", "unchanged": 0}' d add hosts 10.1.2.3/16
	bad "65537 of them" 'cannot parse 10.1.0.0-10.2.0.0: resolving to IPv4 address failed (stands for more than 65536 addresses; a hash:net set takes it as it is, --expand adds every one)' \
		add hosts 10.1.0.0-10.2.0.0
	json "65538 of them, --expand" 0 '{"added": 2, "set": "hosts", "unchanged": 65536}' d \
		add hosts 10.0.255.255-10.2.0.0 --expand -exist
	bad "too many even with --expand" \
		"stands for more than 268435456 addresses" add hosts 0.0.0.0/0 --expand
	expect "add, some are members already" 1 "" \
		"Element cannot be added to the set: it's already added (65537 of 65538, set hosts; nothing was changed" \
		add hosts 10.0.255.254-10.1.255.255 --expand
	expect "del, some are non-members" \
		1 "" "Element cannot be deleted from the set: it's not added (10.0.255.254, set hosts" \
		del hosts 10.0.255.254-10.2.0.0 --expand
	json "deleting them is one change" 0 '{"deleted": 65538, "set": "hosts", "unchanged": 1}' d \
		del hosts 10.0.255.254-10.2.0.0 --expand -exist
	json "the set is empty" 0 0 'd[0]["header"]["numentries"]' list -t hosts
}

test_bad_entries()
{
	local text why

	# Test that messages name invalid addresses and the reason. core/test_parse has many more.
	while IFS='|' read -r text why; do
		bad "add '$text'" "cannot parse $text: resolving to any address failed ($why)" add nets 192.0.2.99 "$text"
	done <<-'END'
	192.0.2.256|octet 4 is greater than 255
	192.0.2.010|octet 4 has a leading zero: octal or decimal?
	192.0.2.1:80|a port does not belong behind an address here
	1:2:3:4:5:6:7|7 groups where an IPv6 address has 8
	g::|group 1 has 'g' where a hex digit belongs
	fe80::1%eth0|a zone (%...) has no meaning in a set
	192.0.2.9-192.0.2.1|the range runs backwards
	192.0.2.1-2001:db8::1|the range mixes IPv4 and IPv6
	192.0.2.0/24-192.0.2.9|the ends of a range are addresses, not prefixes
	|no address
	END
	bad "a prefix length" "'33' is out of range 0-32 (prefix length is greater than 32)" add nets 192.0.2.0/33
	bad "a prefix length of IPv6" "'129' is out of range 0-128" add nets 2001:db8::/129
	bad "a prefix length that is not a number" "'x' is invalid as number" add nets 192.0.2.0/x
	bad "a port" "range separator expected after '[2001:db8::1]'" add nets [2001:db8::1]:80
	bad "a host name that does not exist" \
		"cannot parse host.invalid: resolving to any address failed" \
		add nets host.invalid
	bad "an address with a letter, after another address" \
		"cannot parse 8.8.8.x: resolving to any address failed" \
		add nets 192.0.2.99 8.8.8.x
	wrong "an unknown word after an entry" \
		"Unknown argument: \`nonsense'" add nets 192.0.2.99 nonsense
	bad "control bytes are escaped in messages" \
		'cannot parse \x1b[31m: resolving to any address failed (not an IP' \
		add nets $'\e[31m'
	"$IPCUCKOO" create six hash:net family inet6
	bad "IPv6 in family inet" "an IPv6 address, but the set's family is inet" add hosts 2001:db8::1
	bad "IPv4 in family inet6" "an IPv4 address, but the set's family is inet6" add six 192.0.2.1
	bad "mapped in family inet6" "IPv4 mapped into IPv6, but the set's family is inet6" \
		add six ::ffff:192.0.2.1
	expect "nothing was added" 1 "" "" -q test nets 2001:db8::99
	printf '192.0.2.1\n' > plain
	wrong "IPv4 from a file" \
		"plain:1: \"192.0.2.1\": an IPv4 address, but the set's family is inet6" load six plain
	"$IPCUCKOO" destroy six
}

test_full()
{
	# Test that a full set refuses more entries, and that the message says so.
	"$IPCUCKOO" create small hash:ip maxelem 2
	"$IPCUCKOO" add small 192.0.2.1
	expect "more than maxelem" 1 "" "Hash is full, cannot add more elements" \
		add small 192.0.2.2 192.0.2.3
	expect "loading more than maxelem" 3 "" "Hash is full, cannot add more elements" load small - \
		< <(printf '192.0.2.%d\n' 1 2 3)
	has "nothing was changed" "192.0.2.1" small
	"$IPCUCKOO" destroy small
}

test_del()
{
	# Test that del deletes all its entries or none, and that a non-member is status 1.
	"$IPCUCKOO" flush
	"$IPCUCKOO" add hosts 192.0.2.0/29
	fine "del" del hosts 192.0.2.0
	json "del -j" 0 '{"deleted": 2, "set": "hosts", "unchanged": 0}' d del hosts 192.0.2.1-192.0.2.2
	expect "a non-member" 1 "" \
		"Element cannot be deleted from the set: it's not added (192.0.2.9, set hosts; -exist accepts that)" \
		del hosts 192.0.2.9
	expect "among other entries" \
		1 "" "Element cannot be deleted from the set: it's not added (192.0.2.9, set hosts" \
		del hosts 192.0.2.3 192.0.2.9 192.0.2.4
	expect "quiet" 1 "" "" -q del hosts 192.0.2.9
	has "nothing was changed" "192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.7" \
		hosts
	fine "a non-member, -exist" del hosts 192.0.2.9 -exist
	json "among other entries, -exist" 0 '{"deleted": 1, "set": "hosts", "unchanged": 1}' d \
		del hosts 192.0.2.9 192.0.2.3 -!
	expect "no such set" 1 "" 'The set with the given name does not exist: "host"; did you mean "hosts"?' del host 192.0.2.1
}

test_test()
{
	# Test that test tells members, non-members and errors apart.
	"$IPCUCKOO" add nets 192.0.2.0/24 192.0.2.7 2001:db8::/32
	expect "in the set" 0 "" "Warning: 192.0.2.1 is in set nets." test nets 192.0.2.1
	expect "not in the set" 1 "" "198.51.100.1 is NOT in set nets." test nets 198.51.100.1
	expect "no such set" 1 "" 'The set with the given name does not exist: "net"; did you mean "nets"?' test net 192.0.2.1
	bad "an invalid address" 'cannot parse x: resolving to any address failed' test nets x
	bad "an address of the other family" "the set's family is inet" test hosts 2001:db8::1
	expect "quiet, in the set" 0 "" "" -q test nets 192.0.2.1
	expect "quiet, not in the set" 1 "" "" test nets 198.51.100.1 -q
	expect "mapped" 0 "" "Warning: ::ffff:192.0.2.1 is in set nets." test nets ::ffff:192.0.2.1
	json "in the set, -j" 0 \
		'{"elem": "192.0.2.1", "found": true, "match": "192.0.2.0/24", "set": "nets"}' d \
		-q test nets 192.0.2.1
	json "the longest match" 0 '"192.0.2.7"' 'd["match"]' -q test nets 192.0.2.7
	json "IPv6" 0 '"2001:db8::/32"' 'd["match"]' -q test nets 2001:db8:ffff::1
	"$IPCUCKOO" create said hash:net timeout 0 comment
	"$IPCUCKOO" add said 192.0.2.0/24 comment why
	json "with its options" 0 \
		'{"comment": "why", "elem": "192.0.2.1", "found": true, "match": "192.0.2.0/24", "set": "said", "timeout": 0}' d \
		-q test said 192.0.2.1
	"$IPCUCKOO" destroy said
	json "not in the set, -j" 1 '{"elem": "198.51.100.1", "found": false, "set": "nets"}' d \
		-q test nets 198.51.100.1
	# Test that a prefix is in the set only if it is an entry.
	expect "the very prefix" 0 "" "192.0.2.0/24 is in set nets." test nets 192.0.2.0/24
	expect "a prefix inside" 1 "" "192.0.2.0/25 is NOT in set nets." test nets 192.0.2.0/25
	expect "a wider prefix" 1 "" "192.0.2.0/23 is NOT in set nets." test nets 192.0.2.0/23
	bad "test of a range" \
		"test takes one address or prefix at a time" test nets 192.0.2.1-192.0.2.3
	bad "a prefix in hash:ip" "test takes one address at a time" test hosts 192.0.2.0/24
	bad "a wide prefix in hash:ip" "stands for more than 65536 addresses" test hosts 10.0.0.0/8
	check "the message does not suggest --expand, which test lacks" "" "$(grep -e --expand err)"
}

test_list()
{
	local header

	# Test ipset's layout of lists, as text and as JSON.
	"$IPCUCKOO" attach hosts src count
	header='Name: hosts
Type: hash:ip
Revision: 6
Header: family inet maxelem 4294967295'
	run_tool list hosts
	check "list" "$header
Size in memory: N
References: 1
Number of entries: 4
Members:
192.0.2.4
192.0.2.5
192.0.2.6
192.0.2.7" "$(sed -E 's/^(Size in memory: )[1-9][0-9]+$/\1N/' out)"
	run_tool list -t hosts
	check "list -t ends before the members" "Number of entries: 4" "${out##*$'\n'}"
	run_tool list -t --verbose hosts
	check_match "list --verbose knows more" '^Load factor: 0\.[0-9]{2}$' "${out##*$'\n'}"
	json "list -j" 0 '{"elems": ["192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"], "family": "inet", "keys": ["header", "members", "name", "revision", "type"], "nets": [1, 4]}' \
		'{"elems": [m["elem"] for m in d[0]["members"]], "family": d[0]["header"]["family"], "keys": sorted(d[0]), "nets": [d[0]["header"]["references"], d[0]["header"]["numentries"]]}' \
		list hosts
	json "list -j: the header" 0 '["family", "id", "loadfactor", "maxelem", "memsize", "numentries", "references"]' \
		'sorted(d[0]["header"])' list hosts
	json "list -t -j has no members" 0 '["header", "name", "revision", "type"]' 'sorted(d[0])' list hosts --terse
	# Test that sets are listed in the order of their names.
	expect "list -n" 0 $'hosts\nnets' "" list -n
	expect "list NAME --name" 0 nets "" list nets --name
	json "list -n -j" 0 '[{"name": "hosts"}, {"name": "nets"}]' d list --name
	json "list -j of all" 0 '[["hosts", 4], ["nets", 3]]' '[[s["name"], len(s["members"])] for s in d]' list
	run_tool list
	check "list of all" "Name: hosts|Name: nets" "$(grep ^Name out | paste -sd '|')"
	run_tool list -terse
	check "list -terse of all" 0 "$(grep -c Members out)"
	expect "no such set" 1 "" 'The set with the given name does not exist: "m"' list m
	expect "no such set, -j" 1 "" 'The set with the given name does not exist: "m"' list m -j
	# Test that a failure to write the output is an error.
	"$IPCUCKOO" list > /dev/full 2> err
	check "a full disk" "1 ipcuckoo v$tool_release: the output cannot be written: No space left on device" \
		"$? $(< err)"
	"$IPCUCKOO" detach hosts
}

# in_proc SET KEY: prints a value of the set's file in /proc
in_proc()
{
	awk -v key="$2" '$1 == key { print $2 }' "/proc/net/ipcuckoo/set/$1"
}

test_rename()
{
	local opened

	# Test that attachments and the file in /proc follow a set that is renamed.
	"$IPCUCKOO" attach hosts src count
	fine "rename" rename hosts moved
	json "the attachment goes with it" 0 '["moved", "count"]' \
		'[d["attachments"][0][k] for k in ("set", "verdict")]' stats
	check "the file in /proc has the new name" "4 no" "$(in_proc moved entries) $(
		[ -e /proc/net/ipcuckoo/set/hosts ] && echo yes || echo no)"
	check "the file shows the new name" moved "$(in_proc moved name)"
	expect "no such set" 1 "" 'The set with the given name does not exist: "hosts"' rename hosts x
	expect "a set with the new name exists" 1 "" \
		"Set cannot be renamed: a set with the new name already exists (nets)" \
		rename moved nets
	json "rename -j" 0 '{"renamed": true, "set": "hosts"}' d rename moved hosts
	# Test swap: attachments stay with the name; contents and open files follow the set.
	"$IPCUCKOO" create spare hash:ip maxelem 3 && "$IPCUCKOO" add spare 203.0.113.1
	exec {opened}<> /proc/net/ipcuckoo/set/hosts
	fine "swap" swap hosts spare
	has "the first set has the members of the second" "203.0.113.1" hosts
	check "/proc shows the first set's new contents" \
		"hosts 1 3 1" "$(for key in name entries maxelem attachments; do
		in_proc hosts $key; done | paste -sd ' ')"
	check "/proc shows the second set's new contents" \
		"spare 4 0 0" "$(for key in name entries maxelem attachments; do
		in_proc spare $key; done | paste -sd ' ')"
	check "an open file still shows the same contents" "spare" \
		"$(awk '$1 == "name" { print $2 }' <&$opened)"
	exec {opened}>&-
	echo +203.0.113.2 > /proc/net/ipcuckoo/set/hosts
	has "a line written to /proc changes the set of that name" "203.0.113.1 203.0.113.2" hosts
	expect "other types" 1 "" \
		"The sets cannot be swapped: their type does not match (hosts and nets differ in type or family)" swap hosts nets
	expect "no second set" 1 "" "Sets cannot be swapped: the second set does not exist (x)" swap hosts x
	expect "no first set" 1 "" 'The set with the given name does not exist: "x"' swap x hosts
	# Test that a limit can be raised, and lowered down to the number of entries.
	fine "change" change hosts maxelem 2
	expect "a limit below the number of entries" \
		3 "" "the set has more entries than that" change hosts maxelem 1
	expect "full" 1 "" "Hash is full, cannot add more elements" add hosts 203.0.113.3
	json "change -j" 0 '{"changed": true, "set": "hosts"}' d change hosts maxelem 0
	fine "add after raising the limit" add hosts 203.0.113.3
	fine "swap back" swap spare hosts
	"$IPCUCKOO" detach hosts && "$IPCUCKOO" destroy spare
}

test_flush()
{
	# Test that flush empties one set or all sets.
	fine "flush" flush hosts
	json "flush -j" 0 '{"flushed": true, "set": "hosts"}' d flush hosts
	json "the other set is not changed" 0 '[["hosts", 0], ["nets", 3]]' \
		'[[s["name"], s["entries"]] for s in d["sets"]]' stats
	expect "no such set" 1 "" 'The set with the given name does not exist: "m"' flush m
	expect "no such set, -exist" 1 "" "The set with the given name does not exist" flush m -exist
	json "flush --all -j" 0 '{"flushed": true}' d flush --all
	json "all sets are empty" 0 '[0, 0]' '[s["entries"] for s in d["sets"]]' stats
	fine "flush of all sets, without arguments" flush
}

load_module
test_create
test_destroy
make_sets
test_add
test_ranges
test_bad_entries
test_full
test_del
test_test
test_list
test_rename
test_flush
ktap_done
