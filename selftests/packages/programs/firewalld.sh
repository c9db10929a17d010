#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's firewalld with sets of ipset, which it uses if its backend is iptables: sets in a zone and
# in a rich rule, entries that firewalld keeps, and entries with a timeout, which it leaves to others.

. "${0%/*}/machine"

# firewall NAME ARGUMENT...: runs firewall-cmd, which says success
firewall()
{
	check "firewall-cmd: $1" success "$(firewall-cmd "${@:2}" 2>&1)"
}

versions firewalld ipset iptables
setup_neighbours
on_exit 'systemctl stop firewalld; ipset destroy'
start firewalld
firewall "the neighbours may send" --permanent --add-port=9/udp
run_ok "what the manual shows" bash -e -c "$(manual firewalld)"
await_ban "the manual" bad $BAD4
check_ours "the manual" bad
watch 2
check_answers "the manual" $BAD4 none none
firewall "without its entry" --permanent --ipset=bad --remove-entry=$BAD4
firewall "a set of networks" --permanent --new-ipset=nets --type=hash:net
firewall "a set, IPv6" --permanent --new-ipset=bad6 --type=hash:ip --option=family=inet6
firewall "a set with a timeout" --permanent --new-ipset=soon --type=hash:ip --option=timeout=300
firewall "the zone drop, networks" --permanent --zone=drop --add-source=ipset:nets
firewall "the zone drop, IPv6" --permanent --zone=drop --add-source=ipset:bad6
firewall "a rich rule" --permanent --zone=public --add-rich-rule='rule source ipset="soon" drop'
firewall "reload" --reload
check_ours "reload" bad nets bad6 soon
watch 2
check_answers "empty sets" $BAD4 all all
check_answers "empty sets" $BAD6 all all
check_neighbours "empty sets"

firewall "an entry" --ipset=bad --add-entry=$BAD4
firewall "an entry, IPv6" --ipset=bad6 --add-entry=$BAD6
await_ban "an entry" bad $BAD4
watch 2
check_answers "an entry" $BAD4 none none
check_answers "an entry" $BAD6 none none
check_neighbours "an entry"
firewall "delete" --ipset=bad --remove-entry=$BAD4
watch 2
check_answers "deleted" $BAD4 all all
check_answers "deleted" $BAD6 none none

# Only what is permanent survives.
firewall "a permanent entry" --permanent --ipset=bad --add-entry=$BAD4
firewall "reload" --reload
await_ban "reload" bad $BAD4
check "an entry that was not permanent has gone" "" "$(ipset save bad6 | grep ^add)"
watch 2
check_answers "permanent" $BAD4 none none
check_answers "permanent" $BAD6 all all
restart firewalld
await_ban "after a restart" bad $BAD4
# It fills the sets before it makes the rules.
busywait 20 firewall-cmd --state
check_ours "after a restart" bad nets bad6 soon
watch 2
check_answers "after a restart" $BAD4 none none
check_neighbours "after a restart"
firewall "the entry is removed" --permanent --ipset=bad --remove-entry=$BAD4
firewall "reload" --reload

awk 'BEGIN {
	for (i = 0; i < 20000; i++)
		printf "100.%d.%d.0/24\n", 64 + int(i / 256), i % 256
	print "192.0.2.64/28"
}' > /run/nets
firewall "20,001 networks from a file" --permanent --ipset=nets --add-entries-from-file=/run/nets
firewall "reload" --reload
check "they are in the set" "$(sort /run/nets | sha256sum)" \
	"$(ipset save nets | awk '$1 == "add" { print $3 }' | sort | sha256sum)"
watch 2
check_answers "networks" $BAD4 none none
check_neighbours "networks"
firewall "they are removed" --permanent --ipset=nets --remove-entries-from-file=/run/nets
firewall "reload" --reload
watch 2
check_answers "networks, removed" $BAD4 all all

run_ok "ipset adds an entry that expires" ipset add soon $BAD4 timeout 8
await_ban "a timeout" soon $BAD4
await_unban "a timeout" none none soon $BAD4
watch 2
check_answers "a timeout, afterwards" $BAD4 all all
stop firewalld
check "firewalld has destroyed its sets" "" "$(ipset list -n)"
end_with /var/log/firewalld
