#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests "why": what it says of addresses of which the test knows what happens to them. packets/why.py
# compares it with the fates of packets.

. "${0%/*}/tool-functions"

feed="src drop order 300 priority -450"

# why NAME STATUS ADDRESS LINE...: a case: the output has exactly these lines
why()
{
	expect "$1" "$2" "$(printf '%s\n' "${@:4}")" "" why "$3"
}

test_listed()
{
	"$IPCUCKOO" create feed hash:net family any timeout 0 counters comment
	"$IPCUCKOO" create hosts hash:ip family inet
	"$IPCUCKOO" create friends hash:net family any
	"$IPCUCKOO" add feed 198.51.100.0/24 packets 3 bytes 180 comment "a scanner"
	"$IPCUCKOO" add feed 198.51.0.0/16
	"$IPCUCKOO" add feed 198.51.100.64/26 nomatch
	"$IPCUCKOO" add feed 2001:db8::/32 timeout 5000
	"$IPCUCKOO" add hosts 198.51.100.7
	"$IPCUCKOO" add friends 198.51.100.99 2001:db8:7::/48
	why "in no set" 1 192.0.2.1 "192.0.2.1 is not blocked: no set has it" \
		"Packets:" "  from it: not dropped" "  to it: not dropped"
	why "in two sets, nothing is attached" 1 198.51.100.7 \
		"198.51.100.7 is not blocked: a set has it, but no attachment drops its packets" \
		"Packets:" "  from it: not dropped" "  to it: not dropped" \
		"Set feed has it:" \
		'  198.51.100.0/24 timeout 0 packets 3 bytes 180 comment "a scanner"' \
		"  198.51.0.0/16 timeout 0 packets 0 bytes 0" \
		"Set hosts has it:" "  198.51.100.7"
	json "an exception, but nothing is attached" 1 '["no set has it", "exception"]' \
		'[d["why"], d["sets"][0]["answer"]]' why 198.51.100.65
	"$IPCUCKOO" attach feed src drop
	"$IPCUCKOO" attach friends src accept
	"$IPCUCKOO" add feed 203.0.114.0/28 nomatch
	json "an exception to nothing" 1 '"no set has it"' 'd["why"]' why 203.0.114.1
	why "in two sets, one drops" 0 198.51.100.7 \
		"198.51.100.7 is blocked: packets from it are dropped" \
		"Packets:" "  from it: dropped by set feed ($feed)" "  to it: not dropped" \
		"Set feed has it:" \
		'  198.51.100.0/24 timeout 0 packets 3 bytes 180 comment "a scanner"' \
		"  198.51.0.0/16 timeout 0 packets 0 bytes 0" \
		"Set hosts has it:" "  198.51.100.7" \
		"Attachments of these sets, in the order in which packets meet them:" "  feed $feed"
	why "excepted" 1 198.51.100.65 "198.51.100.65 is not blocked: an exception spares it" \
		"Packets:" "  from it: not dropped" "  to it: not dropped" \
		"Set feed has an exception for it:" \
		"  198.51.100.64/26 timeout 0 nomatch packets 0 bytes 0" \
		'  198.51.100.0/24 timeout 0 packets 3 bytes 180 comment "a scanner"' \
		"  198.51.0.0/16 timeout 0 packets 0 bytes 0" \
		"Attachments of these sets, in the order in which packets meet them:" "  feed $feed"
	"$IPCUCKOO" del feed 198.51.100.64/26
	json "the same with -j" 0 '["feed", "drop", "198.51.100.0/24", 3, "a scanner"]' \
		'[d["packets"][0][k] for k in ("set", "verdict")] + [d["sets"][0]["entries"][0][k] for k in ("elem", "packets", "comment")]' \
		why 198.51.100.7
	json "-j without a daemon" 0 '"absent"' 'd["daemon"]' why 198.51.100.7
	why "accepted before it is dropped" 1 198.51.100.99 \
		"198.51.100.99 is not blocked: an attachment accepts its packets before another one would drop them" \
		"Packets:" "  from it: accepted by set friends (src accept order 100 priority -450), before another one drops them" \
		"  to it: not dropped" \
		"Set feed has it:" \
		'  198.51.100.0/24 timeout 0 packets 3 bytes 180 comment "a scanner"' \
		"  198.51.0.0/16 timeout 0 packets 0 bytes 0" \
		"Set friends has it:" "  198.51.100.99" \
		"Attachments of these sets, in the order in which packets meet them:" \
		"  friends src accept order 100 priority -450" "  feed $feed"
	run_tool why 2001:db8:8::1
	check_match "IPv6, with a timeout" "2001:db8::/32 timeout (4[0-9]{3}|5000) packets 0" "$out"
	json "IPv6 that is accepted" 1 '["accept", "friends"]' \
		'[d["packets"][0][k] for k in ("verdict", "set")]' why 2001:db8:7::1
	json "IPv4 that is mapped into IPv6 is IPv4" 0 '"198.51.100.7"' 'd["address"]' why ::ffff:198.51.100.7
	"$IPCUCKOO" add feed 203.0.113.0/24 timeout 1 && sleep 2.2
	json "an entry that has expired" 1 '[]' 'd["sets"]' why 203.0.113.1
}

test_places()
{
	"$IPCUCKOO" detach --all
	ip link add eth7 type veth peer name eth8 || bail "cannot make devices"
	"$IPCUCKOO" attach feed both drop dev eth7
	"$IPCUCKOO" attach feed src drop priority -400 dev eth8
	"$IPCUCKOO" attach friends src accept
	why "by device; accept ends only its own chain" 0 198.51.100.99 \
		"198.51.100.99 is blocked: some packets from and to it are dropped" \
		"Packets:" \
		"  from it, by eth7: accepted by set friends (src accept order 100 priority -450), before another one drops them" \
		"  from it, by eth8: dropped by set feed (src drop order 300 priority -400 dev eth8)" \
		"  from it, by any other device: not dropped" \
		"  to it, by eth7: dropped by set feed (both drop order 300 priority -450 dev eth7)" \
		"  to it, by eth8: not dropped" \
		"  to it, by any other device: not dropped" \
		"  from it, sent by this machine, by eth7: dropped by set feed (both drop order 300 priority -450 dev eth7)" \
		"  from it, sent by this machine, by eth8: not dropped" \
		"  from it, sent by this machine, by any other device: not dropped" \
		"Set feed has it:" \
		'  198.51.100.0/24 timeout 0 packets 3 bytes 180 comment "a scanner"' \
		"  198.51.0.0/16 timeout 0 packets 0 bytes 0" \
		"Set friends has it:" "  198.51.100.99" \
		"Attachments of these sets, in the order in which packets meet them:" \
		"  friends src accept order 100 priority -450" \
		"  feed both drop order 300 priority -450 dev eth7" \
		"  feed src drop order 300 priority -400 dev eth8"
	"$IPCUCKOO" detach --all
	ip link property add dev eth7 altname other7 || bail "cannot name a device"
	"$IPCUCKOO" attach feed src drop dev other7
	"$IPCUCKOO" attach friends src accept dev eth7
	json "an alternative name of the device" 1 '[["accept", "friends", "eth7"], ["pass"]]' \
		'[[p[k] for k in ("verdict", "set", "dev") if k in p] for p in d["packets"] if p["packets"] == "from"]' \
		why 198.51.100.99
	"$IPCUCKOO" detach --all
	ip link del eth7
	"$IPCUCKOO" attach feed dst drop ingress dev lo0
	json "an attachment that sees no packets drops none" 1 '["no device", "pass"]' \
		'[d["attachments"][0]["state"], d["packets"][0]["verdict"]]' why 198.51.100.7
	"$IPCUCKOO" detach --all
	"$IPCUCKOO" attach feed src drop loopback
	json "loopback" 0 '["drop", "drop", "lo"]' \
		'[p["verdict"] for p in d["packets"] if p["packets"] == "from"] + [d["packets"][1]["dev"]]' \
		why 198.51.100.7
	"$IPCUCKOO" detach --all
	"$IPCUCKOO" attach feed src drop proto tcp dport 22
	json "some ports" 0 '[["pass", null], ["drop", "proto tcp dport 22"], "some packets from it are dropped"]' \
		'[[p["verdict"], p.get("only")] for p in d["packets"] if p["packets"] == "from"] + [d["why"]]' \
		why 198.51.100.7
	"$IPCUCKOO" attach feed src accept proto tcp dport 22 order 1
	run_tool why 198.51.100.7
	check "some ports, as text" "  from it, other packets: not dropped
  from it, proto tcp dport 22: accepted by set feed (src accept order 1 priority -450 proto tcp dport 22), before another one drops them" \
		"$(grep '^  from it' out)"
	"$IPCUCKOO" detach feed accept
	"$IPCUCKOO" attach feed src drop
	run_tool why 198.51.100.7
	check_match "all packets are dropped, those to some ports by another attachment" \
		"is blocked: packets from it are dropped" "$out"
	"$IPCUCKOO" detach --all
}

test_others()
{
	"$IPCUCKOO" create many filter:ip family any bits 16
	"$IPCUCKOO" add many 192.0.2.5 2001:db8:9::5
	"$IPCUCKOO" attach many src drop --approximate
	run_tool why 192.0.2.5
	check_match "an approximate set" "Set many may have it: it is approximate, and [0-9.e-]+ % of" "$out"
	json "an approximate set, -j" 0 '["maybe", true]' \
		'[d["sets"][0]["answer"], d["sets"][0]["fppnow"] < 0.01]' why 192.0.2.5
	"$IPCUCKOO" create masked hash:ip netmask 24
	"$IPCUCKOO" add masked 192.0.3.77
	json "a set with a netmask" 1 '"192.0.3.0"' 'd["sets"][0]["entries"][0]["elem"]' why 192.0.3.1
	"$IPCUCKOO" create marked hash:ip skbinfo
	"$IPCUCKOO" add marked 192.0.4.1 skbmark 0x5/0xff
	json "a mark" 1 '"0x5/0xff"' 'd["sets"][0]["entries"][0]["skbmark"]' why 192.0.4.1
	wrong "a prefix" "192.0.2.0/24 is not one address" why 192.0.2.0/24
	wrong "a range" "192.0.2.1-192.0.2.3 is not one address" why 192.0.2.1-192.0.2.3
	wrong "no address" "Missing mandatory argument to command why" why
	wrong "two addresses" "Unknown argument 192.0.2.2" why 192.0.2.1 192.0.2.2
	run_tool why 192.0.2.1 --control /nowhere
	judge "a socket that is not there" 1 "192.0.2.1 is not blocked*" \
		"/nowhere: no ipcuckood answers there, so it is not known where entries come from: No such file"
	start_over
	"$IPCUCKOO" create said hash:ip comment
	ask comment said 1b5b316d
	run_tool why 192.0.2.1
	check "a comment cannot act on the terminal" '  192.0.2.1 comment "\x1b[1m"' "${out##*it:?}"
}

load_module
need_ingress
test_listed
test_places
test_others
start_over
ktap_done
