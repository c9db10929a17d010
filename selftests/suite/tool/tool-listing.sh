#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that list and save show every set that is there, whatever its name, while others destroy sets,
# and that files of save come whole to where they belong, or are refused.

. "${0%/*}/tool-functions"

# Destroy sets and make them again, until the file "busy" is gone.
change_others()
{
	while [ -e busy ]; do
		printf 'create m%d hash:ip\n' {1..20} | "$IPCUCKOO" -q restore
		printf 'destroy m%d\n' {1..20} | "$IPCUCKOO" -q restore
	done
}

# Prints what the tool prints on a terminal.
on_terminal()
{
	python3 -c '
import os, pty, sys
pty.spawn([os.environ["IPCUCKOO"], *sys.argv[1:]])' "$@" < /dev/null | tr -d '\r'
}

test_limits()
{
	# Test that no limit is called so on a terminal, and is the number of ipset elsewhere.
	"$IPCUCKOO" create free hash:net timeout 60
	"$IPCUCKOO" create bound hash:net maxelem 7
	check "a terminal says that there is no limit" "Header: family inet maxelem (no limit) timeout 60" \
		"$(on_terminal list free | grep ^Header)"
	check "it shows a limit" "Header: family inet maxelem 7" "$(on_terminal list bound | grep ^Header)"
	check "a pipe gets the number" "Header: family inet maxelem 4294967295 timeout 60" \
		"$("$IPCUCKOO" list free | grep ^Header)"
	check "restore gets it from a terminal" "create free hash:net family inet maxelem 4294967295 timeout 60" \
		"$(on_terminal save free)"
	check_match "so does JSON" '"maxelem": ?4294967295' "$(on_terminal list free -j)"
	start_over
}

test_gone()
{
	local i command writer failed=

	"$IPCUCKOO" create a hash:ip && "$IPCUCKOO" create z hash:ip || bail "cannot make sets"
	touch busy
	change_others &
	writer=$!
	for ((i = 0; i < 30; i++)); do
		for command in "list" "save" "-j list" "-o xml list"; do
			# shellcheck disable=SC2086
			run_tool $command
			[ "$status" -eq 0 ] && [[ $out == *z* ]] || failed+="$command: $status $err;"
		done
	done
	rm busy
	wait "$writer"
	check "sets are listed while others are destroyed" "" "$failed"
	expect "a set that is named must be there" 1 "" "does not exist" list nowhere
	start_over
}

test_files()
{
	"$IPCUCKOO" create a hash:ip && "$IPCUCKOO" -q attach a src drop dev 'a"b' ||
		bail "cannot make a set"
	# Test the name of a device that has a quote.
	fine "save --all" save --all -file all
	check "a quote in the name of a device is escaped" 1 "$(grep -c 'dev a/x22b' all)"
	start_over
	expect "restore" 0 "" "" -q restore -file all
	json "brings the device back" 0 '["a\"b"]' '[a["dev"] for a in d["attachments"]]' stats
	start_over
	# Test files that end too early.
	sed '$d' all > cut
	expect "a file that is cut off" 2 "" "cut is cut off" restore -file cut
	fine "nothing was changed" list -n
	printf 'create n hash:net\nadd n 192.0.0.0/2' > open
	expect "a last line without its newline, which ipset takes" 0 "" \
		"line 2 ends without a newline: was it cut off? 192.0.0.0/2 is taken" restore -file open
	fine "is taken" -q del n 192.0.0.0/2
	# Test links and files on which others are mounted.
	ln -sfn target link
	rm -f target
	fine "save to a link whose file does not exist yet" save -file link
	check "keeps the link" "target create" "$(readlink link) $(grep -o create target)"
	touch mounted below
	mount --bind below mounted || bail "cannot mount a file"
	fine "save to a file that is a mount" save -file mounted
	umount mounted
	check "writes into it" "create 0" "$(grep -o create below) $(stat -c %s mounted)"
	start_over
}

test_names()
{
	local name names=("my list" a/b $'e\e[31m' $'n\nl')

	if [ ! -f "$IPCUCKOO_IPSET_KO" ] || ! command -v ipset > /dev/null; then
		skip "names of sets of ip_set" "no ipset, or no module ipcuckoo_ipset"
		return
	fi
	[ -d /sys/module/ip_set ] || modprobe ip_set
	insmod "$IPCUCKOO_IPSET_KO" || bail "cannot load the types of ipset"
	for name in "${names[@]}"; do
		ipset create "$name" hash:ip comment || bail "cannot make the set $name"
	done
	ipset add "my list" 192.0.2.1 comment $'\e[31mred'
	"$IPCUCKOO" create zz hash:ip
	expect "list -n shows all" 0 'a/b
e\x1b[31m
my list
n\x0al
zz' "" list -n
	check_match "list, too" 'Name: zz' "$("$IPCUCKOO" list -t | tail -n 9)"
	json "with -j" 0 '["a/b", "e\u001b[31m", "my list", "n\nl", "zz"]' \
		'sorted(s["name"] for s in d)' list
	run_ok "XML is well-formed" bash -o pipefail -c \
		'"$IPCUCKOO" -o xml list | python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.stdin)"'
	expect "save leaves them to ipset" 0 "create zz *" "" save
	expect "one of them by its name" 1 "" "cannot be saved: restore cannot read such a name" \
		save "my list"
	expect "test of one" 0 "" "192.0.2.1 is in set my list." test "my list" 192.0.2.1
	check "stats has a line for each" 1 "$("$IPCUCKOO" stats | grep -c '^ *my\\x20list ')"
	check "procfs has a line for each" 1 "$(grep -c '^my\\040list ' /proc/net/ipcuckoo/sets)"
	check "a terminal gets no escapes of others" 0 "$(python3 -c '
import os, pty, sys
pty.spawn([os.environ["IPCUCKOO"], "list", "my list"])' < /dev/null | grep -c $'\e')"
	"$IPCUCKOO" destroy zz
	ipset destroy
	rmmod ipcuckoo_ipset
}

load_module
test_gone
test_limits
test_files
test_names
start_over
ktap_done
