#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tool: a firewall that is saved and comes back, sets and what they are attached as; and the
# unit that does it before the network is up.

. "${0%/*}/tool-functions"

unit=$here/../tools/ipcuckoo.service.in

# Sets and attachments of every kind.
make_firewall()
{
	make_sets
	"$IPCUCKOO" add hosts 192.0.2.1 192.0.2.2
	"$IPCUCKOO" add nets 198.51.100.0/24 2001:db8::/32
	"$IPCUCKOO" create kept hash:net timeout 0 counters comment
	"$IPCUCKOO" add kept 203.0.113.0/24 comment "two words"
	"$IPCUCKOO" add kept 203.0.113.7 nomatch
	"$IPCUCKOO" create many filter:ip capacity 100
	"$IPCUCKOO" attach nets src drop
	"$IPCUCKOO" attach hosts src accept order 50 loopback
	"$IPCUCKOO" attach hosts dst mark 0x1/0xff dev eth7
	"$IPCUCKOO" attach kept both count priority 5
	"$IPCUCKOO" attach kept src drop ingress dev eth7
	"$IPCUCKOO" -q attach many dst drop --approximate
	modprobe -q nfnetlink_log &&
		"$IPCUCKOO" attach nets dst count log nflog 7 rate 0 every 9 2> /dev/null ||
		note "no nflog in this kernel"
}

test_save()
{
	make_firewall
	expect "save --all" 0 "" "the entries of many are not saved" save --all -file saved
	"$IPCUCKOO" save > sets
	check "is what save prints, and what attaches" "$(< sets)" "$(grep -v ^attach saved)"
	check "one line each" "$("$IPCUCKOO" -j stats | python3 -c '
import json, sys
print(len(json.load(sys.stdin)["attachments"]))')" "$(grep -c ^attach saved)"
	start_over
	fine "restore" restore -file saved
	check "brings all of it back" "$(< saved)" "$("$IPCUCKOO" save --all)"
	fine "once more, -exist" -exist restore -file saved
	check "changes nothing" "$(< saved)" "$("$IPCUCKOO" save --all)"
	expect "without it" 1 "" "Error in line 1: Set cannot be created" restore -file saved
	fine "--check" -exist restore --check -file saved
	wrong "of one set" "give the name of one set, or --all" save nets --all
	wrong "for ipset" "neither JSON, XML nor ipset have attachments" save --all --ipset
	wrong "as JSON" "neither JSON, XML nor ipset have attachments" -j save --all
	start_over
}

test_lines()
{
	# Test that lines that attach are part of the transaction.
	make_sets
	note_generation hosts
	printf '%s\n' 'create new hash:ip' 'add new 192.0.2.1' 'attach new src drop' \
		'attach hosts src count' 'attach new src drop' > file
	expect "one twice" 1 "" "Error in line 5: Set new is attached in that way already" restore -file file
	unchanged "nothing was changed" hosts
	expect "there is no new set" 0 $'hosts\nnets' "" list -n
	json "and nothing attached" 0 '[]' 'd["attachments"]' stats
	sed -i '5s/$/ -exist/' file
	fine "-exist" restore -file file
	json "attached, once" 0 '[["new", "drop"], ["hosts", "count"]]' \
		'sorted([[a["set"], a["verdict"]] for a in d["attachments"]], reverse=True)' stats
	printf '%s\n' 'attach nets src drop' 'destroy nets' > file
	expect "it cannot be destroyed then" 1 "" "Error in line 2: Set cannot be destroyed" restore -file file
	printf '%s\n' 'attach nets src drop' 'rename nets moved' 'attach moved dst count' > file
	fine "but get another name" restore -file file
	json "with what is attached" 0 '["count", "drop"]' \
		'sorted(a["verdict"] for a in d["attachments"] if a["set"] == "moved")' stats
	printf 'attach nothing src drop\n' > file
	expect "no such set" 1 "" 'Error in line 1: The set with the given name does not exist: "nothing"' \
		restore -file file
	printf 'attach hosts src count --replace\n' > file
	expect "--replace" 2 "" "Error in line 1: --replace cannot be part of what is restored" \
		restore -file file
	printf '%s\n' 'create many filter:ip' 'attach many src drop' > file
	expect "strangers would be dropped" 1 "" "Error in line 2: Set many cannot be attached: it is approximate" \
		restore -file file
	start_over
}

test_unit()
{
	local start stop

	# Test the unit's own commands, and that systemd understands the rest.
	start=$(sed -n 's|^ExecStart=@SBINDIR@/ipcuckoo ||p' "$unit")
	stop=$(sed -n 's|^ExecStop=@SBINDIR@/ipcuckoo ||p' "$unit")
	start=${start/\/etc\/ipcuckoo.save/saved}
	# shellcheck disable=SC2086
	fine "start" $start
	check "all is back" "$(< saved)" "$("$IPCUCKOO" save --all)"
	# shellcheck disable=SC2086
	fine "start once more" $start
	# shellcheck disable=SC2086
	fine "stop" $stop
	json "nothing is attached" 0 '[]' 'd["attachments"]' stats
	start_over
	echo 'nonsense' >> saved
	# shellcheck disable=SC2086
	expect "start with a file that is damaged" 2 "" "Error in line" $start
	expect "leaves nothing behind" 0 "" "" list -n
	if ! type systemd-analyze > /dev/null 2>&1; then
		skip "the unit" "no systemd-analyze"
		return
	fi
	sed "s|@SBINDIR@|$PWD|" "$unit" > ipcuckoo.service
	cp "$IPCUCKOO" .
	check "the unit" "" "$(systemd-analyze verify ./ipcuckoo.service 2>&1)"
}

load_module
test_save
test_lines
test_unit
ktap_done
