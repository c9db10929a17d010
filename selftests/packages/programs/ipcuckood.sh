#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ipcuckood as systemd runs it, in its sandbox: what it may do, reload, refusals in the journal, a
# daemon that is killed, and packets that get through or do not. This kernel has no seccomp.

. "${0%/*}/machine"

set=block
source="feed own"
list=/etc/blocklist.txt
[ -x "${IPCUCKOOD:-}" ] || skip_all "ipcuckood was not built: its libraries are not installed"

# configure LINE...: writes the configuration: a set and a feed with these lines
configure()
{
	printf '%s\n' '[set block]' '[feed own]' 'set = block' "url = file://$list" 'every = 1s' \
		'jitter = 0%' "$@" > /etc/ipcuckood.conf
}

# process KEY: a line of the daemon's /proc/PID/status
process()
{
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$(systemctl show -P MainPID ipcuckood)/status"
}

versions systemd libinih1
setup_neighbours
on_exit 'systemctl stop ipcuckood; "$IPCUCKOO" detach --all; "$IPCUCKOO" destroy; modprobe -r ipcuckoo'
install_daemon
printf '%s\n' $BAD4 $BAD6 198.51.100.0/24 > $list
configure

start ipcuckood
check "the feed is in force when the unit is started" "good" \
	"$(busywait 20 source_is good && echo good)"
run_ok "the set is attached" "$IPCUCKOO" attach block src drop
watch 2
check_answers "started" $BAD4 none none
check_answers "started" $BAD6 none none
check_neighbours "started"

check "its only capability is CAP_NET_ADMIN" 0000000000001000 "$(process CapEff)"
check "it can get no other one" 0000000000001000 "$(process CapBnd)"
check_match "it is not root" '^[1-9][0-9]{3,}' "$(process Uid)"
check_match "it stores the list in its directory" '198\.51\.100\.0/24' \
	"$(cat /var/lib/ipcuckood/own.list)"

printf '%s\n' $BAD4 $BAD6 > $list
busywait 10 is_free 198.51.100.1
run_ok "what leaves the list leaves the set" is_free 198.51.100.1
: > $list
busywait 10 source_is refused
watch 2
check_answers "the list is empty" $BAD4 none none
check_match "the journal says so, as an error" 'it is empty; .*ipcuckood accept own' \
	"$(journalctl -b -p err --no-pager -u ipcuckood)"
run_ok "somebody agrees" /usr/sbin/ipcuckood accept own
run_ok "then the set is empty" is_free $BAD4
echo $BAD4 > $list
busywait 10 is_blocked $BAD4

configure 'evry = 1h'
run_status "reload, with a mistake, fails" 1 systemctl reload ipcuckood
check_match "the journal names line and key" 'ipcuckood\.conf:7: .*"evry"; did you mean "every"' \
	"$(journalctl -b -p err --no-pager -u ipcuckood)"
run_ok "the old configuration is in force" is_blocked $BAD4
configure 'comment = ours'
run_ok "reload, without a mistake" systemctl reload ipcuckood
busywait 20 source_is good
run_ok "the new configuration is in force" source_is good
check_match "the set has comments now" "add block $BAD4.* comment \"ours\"" \
	"$("$IPCUCKOO" save block)"

since=$(now)
systemctl kill -s KILL ipcuckood
busywait 30 source_is good
run_ok "a daemon that was killed is started again" source_is good
until=$(now)
sleep 0.2
check_answers "killed, and started again" $BAD4 none none
stop ipcuckood
watch 1
check_answers "stopped" $BAD4 none none
check_neighbours "stopped"
end_with <(journalctl -b --no-pager -u ipcuckood)
