#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Our own bouncer, ipcuckood, at Debian's crowdsec, as systemd runs both: bans, unbans, ends of
# decisions, two about one address, many at once, restarts, and packets that get through or do not.
# After each step, what the set has is compared with what the Local API says (crowdsec-compare).
# DECISIONS is how many are imported at once.

. "${0%/*}/machine"

source="crowdsec local"
decisions=${DECISIONS:-120000}
patience=$((60 + decisions / 200))
key=/etc/ipcuckood.crowdsec
dropin=/etc/systemd/system/ipcuckood.service.d
[ -x "${IPCUCKOOD:-}" ] || skip_all "ipcuckood was not built: its libraries are not installed"

# The sets are ours, not those of ipset.
is_member()
{
	"$IPCUCKOO" -q test "$1" "$2"
}

is_no_member()
{
	! is_member "$1" "$2"
}

# configure LINE...: writes the configuration: a set and its source, with these lines
configure()
{
	printf '%s\n' '[set crowdsec]' '[crowdsec local]' 'set = crowdsec' \
		'key-file = /run/credentials/ipcuckood.service/crowdsec' 'comment-from = origin' \
		'metrics-every = 10s' "$@" > /etc/ipcuckood.conf
}

entries()
{
	"$IPCUCKOO" list -t crowdsec | sed -n 's/^Number of entries: //p'
}

# has AT-LEAST AT-MOST: the number of entries of the set
has()
{
	local number

	number=$(entries)
	[ "${number:-0}" -ge "$1" ] && [ "${number:-0}" -le "$2" ]
}

# compare: whoever compares has a key of his own
compare()
{
	"$programs/crowdsec-compare" /run/reader.key crowdsec
}

# check_same NAME: soon the set has what the Local API has
check_same()
{
	local said

	busywait 60 eval 'compare > /run/compared 2>&1'
	said=$(cat /run/compared)
	note "$1: $said"
	check_match "$1: the set has what the Local API has" '^the same: [0-9]+ entries' "$said"
}

# computed: prints the seconds of processor time that our bouncer has used
computed()
{
	awk -v ticks="$(getconf CLK_TCK)" '{ printf "%.2f", ($14 + $15) / ticks }' \
		"/proc/$(systemctl show -P MainPID ipcuckood)/stat"
}

# took NAME SINCE: prints the seconds that passed
took()
{
	note "$1: $(awk "BEGIN { printf \"%.2f\", $(now) - $2 }") s"
}

# crowdsec keeps decisions that were deleted, and tells each new bouncer of them. The bouncer of Debian,
# which the next test starts, would run ipset for each.
forget()
{
	rm -rf $data && mv $data.before $data
}

versions crowdsec systemd
setup_neighbours
data=/var/lib/crowdsec/data
cp -a $data $data.before
on_exit 'systemctl stop ipcuckood crowdsec; "$IPCUCKOO" detach --all; "$IPCUCKOO" destroy; modprobe -r ipcuckoo
	forget'
# There is no internet, and no list of everybody's.
sed -i '/online_client:/,/credentials_path:/d' /etc/crowdsec/config.yaml
# As crowdsec advises when it starts
sed -i 's/^db_config:/&\n  use_wal: true/' /etc/crowdsec/config.yaml
start crowdsec
busywait 20 cscli decisions list || bail "crowdsec does not answer"

# As the manual says
(umask 077; cscli bouncers add ipcuckood -o raw > $key)
(umask 077; cscli bouncers add reader -o raw > /run/reader.key)
mkdir -p $dropin
printf '[Service]\nLoadCredential=crowdsec:%s\n' $key > $dropin/override.conf
install_daemon
configure 'interval = 1s'
start ipcuckood
busywait 30 source_is good
run_ok "the key that systemd hands over is used" source_is good
run_ok "the set is attached" "$IPCUCKOO" attach crowdsec src drop

run_ok "a decision" cscli decisions add --ip $BAD4 --duration 20s
run_ok "a decision, IPv6" cscli decisions add --ip $BAD6 --duration 20s
await_ban "a decision" crowdsec $BAD4
await_ban "a decision" crowdsec $BAD6
check_match "a decision: the entry expires, and has its origin" \
	"add crowdsec $BAD4 timeout (1?[0-9]|2[01]) comment \"cscli\"" "$("$IPCUCKOO" save crowdsec)"
await_unban "a decision" none none crowdsec $BAD4 crowdsec $BAD6
watch 2
check_answers "a decision that has ended" $BAD4 all all
check_answers "a decision that has ended" $BAD6 all all

run_ok "a network" cscli decisions add --range 192.0.2.64/28 --duration 1h
await_ban "a network" crowdsec 192.0.2.64/28
watch 2
check_answers "a network" $BAD4 none none
check_neighbours "a network"
run_ok "two decisions about an address" cscli decisions add --ip $BAD6 --duration 2h
run_ok "the second one" cscli decisions add --ip $BAD6 --duration 1h --reason other
await_ban "two decisions" crowdsec $BAD6
check_same "two decisions"
longer=$("$programs/crowdsec-compare" /run/reader.key --longest $BAD6)
run_ok "the longer one is deleted" cscli decisions delete --id "$longer"
sleep 3
check_same "one of two"
run_ok "one of two: the address stays" is_member crowdsec $BAD6
check_match "one of two: its time is that of the other one" \
	"add crowdsec $BAD6 timeout (3[0-9]{3}|[12][0-9]{3}) " "$("$IPCUCKOO" save crowdsec)"
run_ok "the network is deleted" cscli decisions delete --range 192.0.2.64/28
busywait 10 is_no_member crowdsec 192.0.2.64/28
watch 2
check_answers "deleted" $BAD4 all all
check_answers "deleted" $BAD6 none none

many_decisions "$decisions" > /run/many.csv
# From here on every ten seconds, as it is by default
configure
run_ok "the usual interval" systemctl reload ipcuckood
begin=$(now)
# crowdsec 1.4.6 may fail when all of them are in its database ("error while updating decisions:
# database is locked"): what counts is what it has then.
cscli decisions import -i /run/many.csv > /run/said 2>&1 || note "cscli: $(tail -n 1 /run/said)"
took "cscli imports $decisions decisions in" "$begin"
begin=$(now)
busywait $patience has $((decisions + 1)) $((decisions + 1))
took "the last of them is in force later, after" "$begin"
check "all are in the set" $((decisions + 1)) "$(entries)"
check_same "many"
watch 2
check_answers "many" $BAD4 none none
check_neighbours "many"
since=$(now)
begin=$(now)
restart ipcuckood
busywait $patience source_is good
took "our bouncer starts again and has all of them after" "$begin"
note "of which it computed $(computed) s"
until=$(now)
sleep 0.2
check_answers "while our bouncer starts again" $BAD4 none none
check_neighbours "while our bouncer starts again"
check_same "our bouncer started again"
run_ok "a ban among many" cscli decisions add --ip 198.51.100.7 --duration 1h
begin=$(now)
busywait 20 is_member crowdsec 198.51.100.7
run_ok "a ban among many is in force" is_member crowdsec 198.51.100.7
took "a ban among many is in force after" "$begin"
run_ok "an unban among many" cscli decisions delete --ip 198.51.100.7
busywait 20 is_no_member crowdsec 198.51.100.7
run_ok "an unban among many is in force" is_no_member crowdsec 198.51.100.7

# crowdsec is away: what is in force stays, and ends at its time
run_ok "a decision that ends soon" cscli decisions add --range 203.0.113.0/24 --duration 30s
busywait 20 is_member crowdsec 203.0.113.0/24
run_ok "a decision that ends soon is in force" is_member crowdsec 203.0.113.0/24
stop crowdsec
busywait 30 source_is failing
run_ok "crowdsec is away: status says so" source_is failing
busywait 40 is_no_member crowdsec 203.0.113.0/24
run_ok "crowdsec is away: a decision ends" is_no_member crowdsec 203.0.113.0/24
watch 2
check_answers "crowdsec is away" $BAD4 none none
check_answers "crowdsec is away" $BAD6 none none
check_neighbours "crowdsec is away"
start crowdsec
busywait 60 cscli decisions list
run_ok "after its restart, a ban" cscli decisions add --ip 203.0.113.9 --duration 1h
busywait 90 is_member crowdsec 203.0.113.9
run_ok "after its restart, a ban is in force" is_member crowdsec 203.0.113.9
check_same "crowdsec started again"

systemctl kill -s KILL ipcuckood
run_ok "while our bouncer is dead, an unban" cscli decisions delete --ip $BAD6
busywait 60 source_is good
busywait 30 is_no_member crowdsec $BAD6
check_same "our bouncer was killed"
watch 2
check_answers "our bouncer was killed" $BAD4 none none
check_answers "our bouncer was killed" $BAD6 all all

begin=$(now)
run_ok "all decisions are deleted" cscli decisions delete --all
busywait $patience has 0 0
took "all are deleted after" "$begin"
check "no entry is left" 0 "$(entries)"
watch 2
check_answers "all deleted" $BAD4 all all
check_answers "all deleted" $BAD6 all all

if dpkg --compare-versions "$(dpkg-query -W -f '${Version}' crowdsec)" lt 1.6.3; then
	check_match "usage metrics: this crowdsec takes none" 'takes no usage metrics' \
		"$(journalctl -b --no-pager -u ipcuckood)"
else
	check_match "usage metrics are sent" '"usage_metrics": ?"sent"' "$(ipcuckood status -j)"
fi
# Another test may have run in this machine.
check "no error but that crowdsec was away" "" \
	"$(journalctl -b -p err --no-pager -o cat -u ipcuckood | grep -F '[crowdsec' |
		grep -v 'cannot be fetched: Failed to connect')"
pid=$(systemctl show -P MainPID ipcuckood)
note "memory: $(sed -n 's/^VmHWM:[[:space:]]*//p' "/proc/$pid/status")"
stop ipcuckood
end_with <(journalctl -b --no-pager -u ipcuckood)
