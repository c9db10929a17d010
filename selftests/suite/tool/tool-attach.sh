#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool: attachments, statistics, and the commands block and unblock.

. "${0%/*}/tool-functions"

test_attach()
{
	local first

	# Test that attachments are created as requested, and listed in the order in which they run.
	json "attach -j" 0 '["attachment", "set"]' 'sorted(d)' attach nets src drop
	ask json out 'd["attachment"]'
	first=$answer
	fine "attach" attach hosts dst accept
	expect "everything" 0 "" "there is no device eth0: the attachment sees packets as soon as" \
		attach hosts both mark 0x1/0xff order -7 dev eth0 loopback
	fine "a mark alone" attach nets dst mark 16
	fine "words in another order" -q attach nets both count loopback dev a-device.0 order 0x10
	json "stats -j" 0 '[["hosts", "both", "mark", -7, "eth0", true, 1, 255], ["nets", "both", "count", 16, "a-device.0", true, null, null], ["hosts", "dst", "accept", 100, null, false, null, null], ["nets", "dst", "mark", 200, null, false, 16, 4294967295], ["nets", "src", "drop", 300, null, false, null, null]]' \
		'[[a.get(k) for k in ("set", "direction", "verdict", "order", "dev", "loopback", "mark", "mask")] for a in d["attachments"]]' \
		stats
	json "nothing was counted" 0 '[0, 0]' \
		'[sum(a[k] for a in d["attachments"]) for k in ("packets", "bytes")]' stats
	wrong "a mark with many zeros" "a leading zero: octal or decimal?" \
		attach nets src mark "$(printf '%047d' 1)"
	fine "a mark with many zeros, in hexadecimal" attach nets src mark "0x$(printf '%047d' 1)"
	json "the mark is the same number" \
		0 1 '[a["mark"] for a in d["attachments"] if a["set"] == "nets" and a["direction"] == "src" and a["verdict"] == "mark"][0]' stats
	fine "done with it" detach nets src mark
	# Test that creating the same attachment again is an error, except with -exist.
	expect "attach in the same way again" \
		3 "" "Set nets is attached in that way already (-exist accepts that)" \
		attach nets src drop
	fine "attach in the same way again, -exist" attach nets src drop -exist
	json "attach in the same way again, -exist -j" \
		0 "$first" 'd["attachment"]' attach nets src drop -exist
	fine "attach with the same order, -exist" attach nets src drop order 300 -exist
	expect "attach with another order, -exist" 3 "" \
		"Set nets is attached in that way already, with another order; detach it first" \
		attach nets src drop order 5 -exist
	expect "no such set" 3 "" 'The set with the given name does not exist: "net"; did you mean "nets"?' attach net src drop
	run_tool stats
	check "stats: attachments" "-7 hosts both mark 0x1/0xff ip -450 eth0 seen - no device 0 0
16 nets both count ip -450 a-device.0 seen - no device 0 0
100 hosts dst accept ip -450 - exempt - active 0 0
200 nets dst mark 0x10 ip -450 - exempt - active 0 0
300 nets src drop ip -450 - exempt - active 0 0" "$(sed -n '/^ID\|^ *ID/,/^$/p' out | tr -s ' ' |
		sed '1d; $d; s/^ //; s/^[0-9]* //')"
}

# Test that --replace leaves one attachment of a direction, and keeps it if it is the same.
test_replace()
{
	local first

	fine "attach" attach hosts src drop
	fine "attach with another verdict" attach hosts src count
	fine "attach with another direction" attach hosts dst count
	fine "--replace replaces both" attach hosts src mark 1 --replace
	json "one attachment of that direction is left" 0 '[["count", "dst"], ["mark", "src"]]' \
		'[[a["verdict"], a["direction"]] for a in d["attachments"] if a["set"] == "hosts"]' stats
	json "the number" 0 '["attachment", "set"]' 'sorted(d)' attach hosts src mark 1 --replace
	ask json out 'd["attachment"]'
	first=$answer
	json "the same again changes nothing" 0 "$first" 'd["attachment"]' attach hosts src mark 1 --replace
	fine "--replace without an attachment attaches" attach hosts both count --replace
	fine "--replace with another device" -q attach hosts src drop dev eth0 --replace
	json "does not replace the attachment without a device" \
		0 4 'len([a for a in d["attachments"] if a["set"] == "hosts"])' stats
	fine "prefetch beside a drop at ingress" -q attach hosts src drop ingress dev eth0
	fine "--replace with prefetch" -q attach hosts src prefetch ingress dev eth0 --replace
	fine "--replace prefetch by itself, with another order" \
		-q attach hosts src prefetch ingress dev eth0 order 5 --replace
	fine "--replace the drop by a count" -q attach hosts src count ingress dev eth0 --replace
	json "prefetch and other verdicts do not replace each other" \
		0 '[["count", 200], ["prefetch", 5]]' \
		'sorted([a["verdict"], a["order"]] for a in d["attachments"] if a["place"] == "ingress")' \
		stats
	json "prefetch has no counters in JSON" 0 '[["count", true, true], ["prefetch", false, false]]' \
		'sorted([a["verdict"], "packets" in a, "bytes" in a] for a in d["attachments"] if a["place"] == "ingress")' \
		stats
	run_tool stats
	check_match "prefetch counts nothing" \
		' prefetch +ingress +-450 +eth0 +exempt +- +(active|no device) +- +-'$'\n' "$out"
	fine "done with it" detach hosts
}

test_detach()
{
	local id words

	# Test that more words select fewer attachments.
	json "detach by direction and verdict" \
		0 '{"detached": 1, "set": "nets"}' d detach nets dst mark
	json "detach by verdict" 0 '{"detached": 1, "set": "hosts"}' d detach hosts accept
	json "detach by device" 0 '{"detached": 1, "set": "hosts"}' d detach hosts dev eth0
	expect "no such attachment" \
		3 "" "Set nets cannot be detached: there is no such attachment" \
		detach nets accept
	fine "no such attachment, -exist" detach nets accept -exist
	json "no such attachment, -exist -j" \
		0 '{"detached": 0, "set": "nets"}' d -exist detach nets accept
	expect "no such set" 3 "" 'The set with the given name does not exist: "net"; did you mean "nets"?' detach net
	run_tool -j stats
	ask json out 'd["attachments"][0]["id"]'
	id=$answer
	json "detach by number" 0 '{"detached": 1}' d detach id "$id"
	expect "detach the same number again" \
		3 "" "there is no attachment $id; see ipcuckoo stats" detach id "$id"
	# Test that the words that attached a set also detach it, and only that attachment.
	for words in "nets src mark 0x1/0xff" "nets src mark 0x2/0xff" "nets src count order 7" \
		"nets src count dev eth0" "nets src count ingress dev eth0" \
		"nets src prefetch ingress dev eth0" "nets src count priority 10" "nets src count loopback"; do
		# shellcheck disable=SC2086
		fine "attach $words" -q attach $words
	done
	for words in "nets src mark 0x1/0xff" "nets src mark 0x2/0xff" "nets src count order 7" \
		"nets src count ingress dev eth0" "nets src prefetch ingress dev eth0" \
		"nets src count dev eth0" "nets src count priority 10" "nets src count loopback"; do
		# shellcheck disable=SC2086
		json "detach $words" 0 '{"detached": 1, "set": "nets"}' d detach $words
		# shellcheck disable=SC2086
		run_tool detach $words
		check "detach $words again: there is none" 3 "$status"
	done
	wrong "ingress without a device" "ingress is that of a device" attach nets src drop ingress
	wrong "prefetch where packets are looked up" \
		"prefetch is for a place before the one that looks packets up: use ingress dev eth0 or xdp dev eth0" \
		attach nets src prefetch
	wrong "likewise, with a device" "use ingress dev eth7 or xdp dev eth7" \
		attach nets src prefetch dev eth7
	wrong "a log of prefetch" "prefetch looks nothing up, so there is nothing to log" \
		attach nets src prefetch ingress dev eth0 log
	wrong "a priority out of range" \
		"'100001' is out of range -100000-100000 (priority)" attach nets src drop priority 100001
	json "detach all attachments of a set" 0 '{"detached": 1, "set": "nets"}' d detach nets
	fine "attach once more" attach hosts src drop
	json "detach --all" 0 '{"detached": 1}' d detach --all
	json "detach --all without attachments" 0 '{"detached": 0}' d detach --all
}

# ports: prints what stats shows of the ports of attachments, in JSON
ports()
{
	run_tool -j stats
	ask json out '[[a["set"], a.get("proto"), a.get("dport")] for a in d["attachments"]]'
	echo "$answer"
}

test_ports()
{
	local wide

	fine "some ports" attach nets src drop proto tcp dport 80,22,81,443-450,82:90
	check "they are sorted and joined" '[["nets", "tcp", "22,80-90,443-450"]]' "$(ports)"
	run_tool stats
	check_match "stats" ' exempt +proto tcp dport 22,80-90,443-450 +active ' "$out"
	expect "the same ports, written differently" 3 "" "attached in that way already" \
		attach nets src drop dport 443-447,448-450,80-90,22-22 proto tcp
	fine "the same ports of another protocol" attach nets src drop proto udp dport 22,80-90,443-450
	fine "other ports of the same one" attach nets src drop proto tcp dport ssh
	fine "all ports, beside them" attach nets src drop
	check "all of them are there" \
		'[["nets", "tcp", "22,80-90,443-450"], ["nets", "udp", "22,80-90,443-450"], ["nets", "tcp", "22"], ["nets", null, null]]' \
		"$(ports)"
	run_tool save --all
	check_match "save" $'attach nets src drop order 300 priority -450 proto tcp dport 22,80-90,443-450\n' "$out"
	cp out saved
	fine "detach some ports" detach nets proto tcp dport 22
	fine "detach all" detach nets
	fine "restore" -exist restore -file saved
	check "restored" \
		'[["nets", "tcp", "22,80-90,443-450"], ["nets", "udp", "22,80-90,443-450"], ["nets", "tcp", "22"], ["nets", null, null]]' \
		"$(ports)"
	fine "one for all" attach nets src drop proto sctp dport 0-65535 --replace
	check "it has replaced the others" '[["nets", "sctp", "0-65535"]]' "$(ports)"
	expect "ports that are not attached" 3 "" "there is no such attachment" \
		detach nets proto sctp dport 0-65534
	fine "done with it" detach nets
	wide=$(seq -s , 1 2 29)
	fine "fifteen" attach nets src count proto tcp dport "$wide"
	fine "done with it" detach nets src count proto tcp dport "$wide"
	wrong "sixteen" "dport takes 15 ports and ranges: attach the set once more with the others" \
		attach nets src count proto tcp dport "$wide,31"
	wrong "thousands" "dport takes 15 ports and ranges" \
		attach nets src count proto tcp dport "$(seq -s , 1 2 2000)"
	wrong "no protocol" "proto and dport go together, as in: proto tcp dport 22,80-90" \
		attach nets src drop dport 22
	wrong "no port" "proto and dport go together" attach nets src drop proto tcp
	wrong "a protocol without ports" '"icmp" is no protocol that has ports: use tcp, udp or sctp' \
		attach nets src drop proto icmp dport 22
	for wide in 65536 22-21 -1 22- 22,,80 x 22,no-such-service 0x16; do
		wrong "$wide" "is no port of tcp: use a number up to 65535" \
			attach nets src drop proto tcp dport "$wide"
	done
	wrong "prefetch" "prefetch is for all packets, so it takes neither new nor proto and dport" \
		attach nets src prefetch ingress dev eth0 proto tcp dport 22
	"$IPCUCKOO" create blocked hash:net family any
	fine "some ports of those that are blocked" attach blocked src drop proto tcp dport 22
	expect "block" 3 "" "are not blocked: the set blocked is attached, but not so" block 192.0.2.1
	"$IPCUCKOO" detach --all
	"$IPCUCKOO" destroy blocked
}

test_stats()
{
	# Test that the statistics show everything about the sets.
	"$IPCUCKOO" add nets 192.0.2.1 192.0.2.2 198.51.100.0/24
	run_tool stats
	check "stats: nothing attached" "none: no packet is looked at" \
		"$(sed -n '/^Attachments/{n;p}' out)"
	check_match "stats: first line" \
		'^ipcuckoo [0-9][^ ]*: 2 sets, 0 attachments, [0-9.]+ (B|KiB|MiB) in tables$' \
		"${out%%$'\n'*}"
	check "stats: sets" "NAME TYPE FAMILY ENTRIES MEMORY BYTES/ENTRY LOAD GROWTHS REKEYS \
DISPLACED RETRIES FALLBACKS EXPIRED FAILED OWNER|hosts hash:ip inet 0|nets hash:net any 3" "$(sed -n '/^Sets:/,$p' out | tr -s ' ' |
		sed '1d; 3,$s/^\(\([^ ]* \)\{3\}[^ ]*\).*/\1/' | paste -sd '|')"
	json "stats -j" 0 '["attachments", "memory", "memory_limit", "sets", "version"]' 'sorted(d)' \
		stats
	json "stats -j: a set" 0 '["attachments", "displaced", "entries", "expired", "failed", "fallbacks", "family", "generation", "growths", "hosts", "loadfactor", "maxelem", "memory", "name", "rekeys", "retries", "rules", "slots", "type"]' \
		'sorted(d["sets"][0])' stats
	json "stats -j: numbers" 0 '[3, 2, true]' \
		'[d["sets"][1]["entries"], d["sets"][1]["hosts"], d["sets"][1]["memory"] > 0]' stats
	check_match "version" '^ipcuckoo v([0-9][^ ]*) \(module v[0-9][^ ]*\), protocol version: 7$' \
		"$(run_tool version; echo "$out")"
	json "version -j" 0 true 'd["tool"] == d["module"]' version
}

test_block()
{
	local not_blocked="the entries were added, but are not blocked: the set blocked is attached, but not so that all packets from its addresses are dropped (ipcuckoo attach blocked src drop does that)"

	start_over
	# Test that block works without any preparation.
	expect "nothing is blocked yet" 1 "" "nothing is blocked: there is no set blocked yet" \
		unblock 192.0.2.1
	expect "block" 0 "192.0.2.1 is blocked." "" block 192.0.2.1
	json "block creates the set and attaches it" 0 \
		'[["blocked", "hash:net", "any", "blocked", "src", "drop"]]' \
		'[[s["name"], s["type"], s["family"], a["set"], a["direction"], a["verdict"]] for s in d["sets"] for a in d["attachments"]]' \
		stats
	expect "block the same address again" 0 "192.0.2.1 was blocked already." "" block 192.0.2.1
	expect "several" 0 "2 blocked, 1 blocked already." "" block 192.0.2.1 192.0.2.0/24 2001:db8::/32
	json "block -j" 0 '{"blocked": 1, "set": "blocked", "unchanged": 1}' d \
		block 203.0.113.1 192.0.2.1
	expect "quiet" 0 "" "" -q block 203.0.113.2
	wrong "block with an invalid address" \
		'cannot parse x: resolving to any address failed (not an IP' block x
	# Test that unblocking an address that is not blocked ends with status 1, and that unblock
	# names the entry that still blocks an address.
	expect "unblock" 0 "203.0.113.1 is unblocked." "" unblock 203.0.113.1
	expect "unblock an address that is not blocked" \
		1 "" "203.0.113.1 is not blocked" unblock 203.0.113.1
	expect "unblock several, one of which is not blocked" \
		1 "" "203.0.113.1 is not blocked; nothing was changed" \
		unblock 192.0.2.1 203.0.113.1
	expect "unblock an address that is not blocked, -exist" \
		0 "203.0.113.1 was not blocked." "" unblock 203.0.113.1 -exist
	expect "blocked by a prefix" 1 "" \
		"192.0.2.9 is not an entry, but is blocked by the entry 192.0.2.0/24 (ipcuckoo unblock 192.0.2.0/24)" \
		unblock 192.0.2.9
	expect "blocked twice" 0 "192.0.2.1 is unblocked." "192.0.2.1 is still blocked, by 192.0.2.0/24" \
		unblock 192.0.2.1
	"$IPCUCKOO" -q block 10.0.0.0/8 2001:db8::/32
	expect "a prefix blocked by a wider one" 1 "" \
		"10.1.0.0/16 is not an entry, but is blocked by the entry 10.0.0.0/8 (ipcuckoo unblock 10.0.0.0/8)" \
		unblock 10.1.0.0/16
	"$IPCUCKOO" -q block 10.1.0.0/16 10.1.0.0/24 2001:db8:1::/48
	expect "a prefix blocked twice" 0 "10.1.0.0/16 is unblocked." \
		"10.1.0.0/16 is still blocked, by 10.0.0.0/8" unblock 10.1.0.0/16
	expect "an IPv6 prefix blocked twice" 0 "2001:db8:1::/48 is unblocked." \
		"2001:db8:1::/48 is still blocked, by 2001:db8::/32" unblock 2001:db8:1::/48
	expect "a prefix with one inside it" 0 "10.0.0.0/8 is unblocked." \
		"10.0.0.0/8 is not blocked any more, but 1 entry inside it is blocked (ipcuckoo unblock 10.1.0.0/24)" \
		unblock 10.0.0.0/8
	expect "the prefix inside does not block it" \
		1 "" "10.0.0.0/8 is not blocked" unblock 10.0.0.0/8
	json "unblock -j" 0 '{"set": "blocked", "unblocked": 2, "unchanged": 0}' d \
		unblock 192.0.2.0/24 2001:db8::/32
	# Test that block attaches a set for which the processor only prefetches.
	"$IPCUCKOO" detach blocked
	"$IPCUCKOO" -q attach blocked src prefetch ingress dev nowhere0
	expect "attached to prefetch only" 0 "192.0.2.1 is blocked." "" block 192.0.2.1
	json "then it is attached to drop, too" 0 '["drop", "prefetch"]' \
		'sorted(a["verdict"] for a in d["attachments"] if a["set"] == "blocked")' stats
	"$IPCUCKOO" -q unblock 192.0.2.1
	# Test that block does not change other attachments of the set, and says so.
	"$IPCUCKOO" detach blocked
	"$IPCUCKOO" attach blocked src count
	expect "attached to count only" 3 "" "$not_blocked" block 192.0.2.1
	"$IPCUCKOO" attach blocked dst drop
	expect "attached to drop only packets to its addresses" 3 "" "$not_blocked" block 192.0.2.1
	"$IPCUCKOO" -q attach blocked src drop dev nowhere0
	expect "attached to drop only packets of one device" 3 "" "$not_blocked" block 192.0.2.1
	"$IPCUCKOO" attach blocked both drop
	expect "attached to drop, too" 0 "192.0.2.3 is blocked." "" block 192.0.2.3
}

# left ENTRY: prints the seconds that an entry of the set has left
left()
{
	"$IPCUCKOO" list blocked | sed -n "s/^$1 timeout //p"
}

test_block_for_a_time()
{
	local command

	start_over
	# Test that block takes a time, and without one blocks until unblock.
	expect "block for a time" 0 "192.0.2.1 is blocked, for 90m from now." "" \
		block 192.0.2.1 timeout 1h30m
	check_match "it ends by itself" '^(5400|53[0-9][0-9])$' "$(left 192.0.2.1)"
	expect "several" 0 "1 blocked, 1 blocked already, for 1m from now." "" \
		block 192.0.2.1 192.0.2.2 timeout 60
	check_match "those that were blocked already get the time, too" '^(60|[345][0-9])$' \
		"$(left 192.0.2.1)"
	expect "without a time" 0 "192.0.2.1 was blocked already." "" block 192.0.2.1
	check "it is blocked until unblock" 0 "$(left 192.0.2.1)"
	json "with -j" 0 '{"blocked": 1, "set": "blocked", "unchanged": 0}' d \
		block 192.0.2.3 timeout 1d
	wrong "no time" "'soon' is invalid as number (timeout" block 192.0.2.4 timeout soon
	# Test that a set that was made without timeouts can be made again, as the message says,
	# and that its entries, options and attachments stay.
	start_over
	"$IPCUCKOO" create blocked hash:net family any maxelem 1000 comment description "our list"
	"$IPCUCKOO" add blocked 192.0.2.0/24 comment "in blocked 7"
	"$IPCUCKOO" add blocked 2001:db8::1
	"$IPCUCKOO" block 192.0.2.9
	expect "a set without timeouts" 3 "" "the set blocked was made without timeouts" \
		block 198.51.100.1 timeout 1h
	command=$(sed -n 's/^  //p' err)
	mkdir -p bin
	ln -sf "$IPCUCKOO" bin/ipcuckoo
	PATH=$work/bin:$PATH run_ok "what the message says" bash -o pipefail -c "$command"
	expect "makes it again, with all that it has" 0 \
'create blocked hash:net family any maxelem 1000 timeout 0 comment description "our list"
add blocked 192.0.2.0/24 timeout 0 comment "in blocked 7"
add blocked 192.0.2.9 timeout 0
add blocked 2001:db8::1 timeout 0' "" save blocked
	expect "and no other set is left" 0 blocked "" list -n
	json "it is attached" 0 '[["blocked", "src", "drop"]]' \
		'[[a["set"], a["direction"], a["verdict"]] for a in d["attachments"]]' stats
	expect "now it takes a time" 0 "198.51.100.1 is blocked, for 1h from now." "" \
		block 198.51.100.1 timeout 1h
	start_over
	"$IPCUCKOO" create blocked filter:ip multi
	expect "a filter has no timeouts" 3 "" "the set blocked is approximate, and stores no timeouts" \
		block 198.51.100.1 timeout 1h
}

load_module
need_ingress
make_sets
test_attach
test_detach
test_ports
test_replace
test_stats
test_block
test_block_for_a_time
start_over
ktap_done
