#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's crowdsec and crowdsec-firewall-bouncer: decisions become members of sets, in the mode
# iptables, which makes sets and rules, and in the mode ipset, for sets and rules that there are.
# DECISIONS is how many are imported at once; the bouncer starts ipset for each.

. "${0%/*}/machine"

decisions=${DECISIONS:-100}
# How long to wait for all of them: the bouncer takes a tenth of a second for each, or more on a busy
# host.
patience=$((60 + decisions / 4))
bouncer=/etc/crowdsec/bouncers/crowdsec-firewall-bouncer.yaml.local
dropin=/etc/systemd/system/crowdsec-firewall-bouncer.service.d
mine=crowdsec-blacklists
mine6=crowdsec6-blacklists

# mode MODE: configures the bouncer, as its README.Debian says
mode()
{
	{
		grep '^api_key:' $bouncer
		printf '%s\n' "mode: $1" "update_frequency: 1s" "ipset_size: 131072" "ipset_type: nethash"
	} > $bouncer.new
	mv $bouncer.new $bouncer
	chmod 600 $bouncer
}

# members SET
members()
{
	ipset save "$1" | grep -c '^add'
}

all_there()
{
	[ "$(members $mine)" -ge "$1" ]
}

none_there()
{
	[ "$(members $mine)" -eq 0 ]
}

no_more_banned()
{
	! "$IPCUCKOO" -q test $mine $BAD4
}

versions crowdsec crowdsec-firewall-bouncer ipset iptables
setup_neighbours
on_exit 'systemctl stop crowdsec-firewall-bouncer crowdsec; iptables -F; ip6tables -F; ipset destroy'
# There is no internet, and no list of everybody's.
sed -i '/online_client:/,/credentials_path:/d' /etc/crowdsec/config.yaml
start crowdsec
busywait 20 cscli decisions list || bail "crowdsec does not answer"

mode iptables
# By default, systemd ends all processes of a service at once. That may end the iptables or ipset which
# the bouncer has started to clean up, and then its sets stay, whatever module they are from.
mkdir -p $dropin
printf '[Service]\nKillMode=mixed\n' > $dropin/test.conf
systemctl daemon-reload
start crowdsec-firewall-bouncer
run_ok "a decision" cscli decisions add --ip $BAD4 --duration 30s
run_ok "a decision, IPv6" cscli decisions add --ip $BAD6 --duration 30s
await_ban "a decision" $mine $BAD4
await_ban "a decision" $mine6 $BAD6
check_match "a decision: the member expires" "add $mine $BAD4 timeout ([12]?[0-9]|30)\$" \
	"$(ipset save $mine | grep ^add)"
await_unban "a decision" none none $mine $BAD4 $mine6 $BAD6
check_ours "a decision" $mine $mine6
watch 2
check_answers "a decision that has ended" $BAD4 all all
check_answers "a decision that has ended" $BAD6 all all

run_ok "a network" cscli decisions add --range 192.0.2.64/28 --duration 1h
run_ok "an address in IPv6" cscli decisions add --ip $BAD6 --duration 1h
await_ban "a network" $mine 192.0.2.64/28
await_ban "a network" $mine6 $BAD6
watch 2
check_answers "a network" $BAD4 none none
check_answers "a network" $BAD6 none none
check_neighbours "a network"
restart crowdsec-firewall-bouncer
await_ban "after a restart" $mine 192.0.2.64/28
await_ban "after a restart" $mine6 $BAD6
check_ours "after a restart" $mine $mine6
watch 2
check_answers "after a restart" $BAD4 none none
check_answers "after a restart" $BAD6 none none
check_neighbours "after a restart"
restart crowdsec
busywait 20 cscli decisions list
watch 2
check_answers "after a restart of crowdsec" $BAD4 none none
run_ok "the decision is deleted" cscli decisions delete --range 192.0.2.64/28
busywait 10 is_no_member $mine 192.0.2.64/28
watch 2
check_answers "deleted" $BAD4 all all
check_answers "deleted" $BAD6 none none

many_decisions "$decisions" > /run/many.csv
begin=$(now)
run_ok "$decisions decisions are imported" cscli decisions import -i /run/many.csv
imported=$(now)
busywait $patience all_there "$decisions"
note "imported in $(awk "BEGIN { print $imported - $begin }") s, in the set" \
	"$(awk "BEGIN { print $(now) - $imported }") s later"
check "all are members" "$decisions" "$(members $mine)"
check "they are the ones that were imported" \
	"$(sed 1d /run/many.csv | cut -d , -f 3 | sort | sha256sum)" \
	"$(ipset save $mine | awk '$1 == "add" { print $3 }' | sort | sha256sum)"
watch 2
check_answers "many" $BAD4 none none
check_neighbours "many"
restart crowdsec-firewall-bouncer
busywait $patience all_there "$decisions"
check "all are members after a restart" "$decisions" "$(members $mine)"
watch 2
check_answers "many, after a restart" $BAD4 none none
check_neighbours "many, after a restart"
run_ok "all decisions are deleted" cscli decisions delete --all
busywait $patience none_there
check "no member is left" 0 "$(members $mine)"
watch 2
check_answers "all deleted" $BAD4 all all
check_answers "all deleted" $BAD6 all all
stop crowdsec-firewall-bouncer
check "the bouncer has destroyed its sets" "" "$(ipset list -n)"

# The operator's own sets and rules
mode ipset
ipset create $mine hash:net timeout 300 maxelem 131072
ipset create $mine6 hash:net family inet6 timeout 300 maxelem 131072
iptables -I INPUT -m set --match-set $mine src -j DROP
ip6tables -I INPUT -m set --match-set $mine6 src -j DROP
start crowdsec-firewall-bouncer
run_ok "mode ipset: a decision" cscli decisions add --ip $BAD4 --duration 20s
run_ok "mode ipset: a decision, IPv6" cscli decisions add --ip $BAD6 --duration 1h
await_ban "mode ipset" $mine6 $BAD6
await_ban "mode ipset" $mine $BAD4
await_unban "mode ipset" none none $mine $BAD4
restart crowdsec-firewall-bouncer
await_ban "mode ipset, after a restart" $mine6 $BAD6
watch 2
check_answers "mode ipset, after a restart" $BAD6 none none
check_answers "mode ipset, after a restart" $BAD4 all all
stop crowdsec-firewall-bouncer
check "mode ipset: the sets stay, empty" "0 0" "$(members $mine) $(members $mine6)"
iptables -F
ip6tables -F
ipset destroy
run_ok "all decisions are deleted" cscli decisions delete --all

# Sets of our own, which are attached: no rules, and no sets of ipset
cp "$programs/../../../tools/packaging/crowdsec-firewall-bouncer.conf" $dropin
systemctl daemon-reload
start crowdsec-firewall-bouncer
run_ok "our own sets: a decision" cscli decisions add --ip $BAD4 --duration 20s
run_ok "our own sets: a decision, IPv6" cscli decisions add --ip $BAD6 --duration 1h
busywait 20 "$IPCUCKOO" -q test $mine6 $BAD6
run_ok "our own sets: IPv6" "$IPCUCKOO" -q test $mine6 $BAD6
run_ok "our own sets: IPv4" "$IPCUCKOO" -q test $mine $BAD4
watch 2
check_answers "our own sets" $BAD4 none none
check_answers "our own sets" $BAD6 none none
check_neighbours "our own sets"
check "there are no rules and no sets of ipset" "" \
	"$({ iptables -S; ip6tables -S; } | grep ^-A; ipset list -n)"
restart crowdsec-firewall-bouncer
busywait 20 "$IPCUCKOO" -q test $mine6 $BAD6
busywait 30 no_more_banned
watch 2
check_answers "our own sets, after a restart" $BAD6 none none
check_answers "our own sets, a decision that has ended" $BAD4 all all
stop crowdsec-firewall-bouncer
watch 1
check_answers "our own sets, stopped" $BAD6 all all
"$IPCUCKOO" detach --all
check "the bouncer has logged no error, but that crowdsec did not answer during its restart" "" \
	"$(grep -E 'level="?(error|fatal)' /var/log/crowdsec-firewall-bouncer.log |
		grep -v 'connect: connection refused')"
end_with /var/log/crowdsec-firewall-bouncer.log
