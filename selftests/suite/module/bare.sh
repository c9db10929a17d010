#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests a kernel with as few options as possible. Without procfs there are no files of the module,
# no named network namespaces and no /dev/fd, so the other scripts of the suite cannot run there.
# Sets, attachments and packets must work nevertheless.

. "${0%/*}/../../lib/lib.sh"

procfs=
[ ! -e /proc/self ] || procfs=1

# answers ADDRESS: pings this machine three times from the address, prints the number of answers
answers()
{
	ping -n -c 3 -i 0.05 -W 1 -I "$1" 127.0.0.1 | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

test_tool()
{
	run_ok "create" ipcuckoo create a hash:net
	run_ok "create, both families and all extensions" \
		ipcuckoo create b hash:ip family any timeout 100 counters comment skbinfo
	run_ok "add" ipcuckoo add a 127.0.0.2 10.0.0.0/8
	run_ok "add, IPv6" ipcuckoo add b 2001:db8::1 comment one
	run_ok "test" ipcuckoo test a 10.1.2.3
	run_status "test of a non-member" 1 ipcuckoo test a 11.1.2.3
	check_match "list" "^add a 10.0.0.0/8" "$(ipcuckoo list a -o save | grep '^add a 10')"
	printf '127.0.0.%d\n' 2 3 4 > /tmp/three
	run_ok "load" ipcuckoo load a /tmp/three
	check "list -n" "a b" "$(ipcuckoo list -n | paste -sd ' ')"
	run_ok "rename" ipcuckoo rename b c
	run_ok "save and restore" bash -c '"$IPCUCKOO" save c > /tmp/saved &&
		"$IPCUCKOO" destroy c && "$IPCUCKOO" restore < /tmp/saved'
	check_match "stats" '"name":"c"' "$(ipcuckoo stats -j | tr -d ' ')"
}

test_packets()
{
	check "loopback works" 3 "$(answers 127.0.0.2)"
	run_ok "attach" ipcuckoo attach a src drop loopback
	check "packets of members are dropped" 0 "$(answers 127.0.0.2)"
	check "packets of non-members pass" 3 "$(answers 127.0.0.5)"
	run_ok "detach" ipcuckoo detach a
	check "all packets pass after detach" 3 "$(answers 127.0.0.2)"
}

test_files()
{
	if [ -n "$procfs" ]; then
		check "files of the sets" "a c" "$(ls /proc/net/ipcuckoo/set | paste -sd ' ')"
	else
		check "without procfs there are no files" "" "$(ls /proc)"
	fi
}

load_module
test_tool
test_packets
test_files
run_ok "destroy --all" ipcuckoo destroy --all
run_ok "the module can be unloaded" unload_module
ktap_done
