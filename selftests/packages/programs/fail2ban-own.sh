#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Our own actions for Debian's fail2ban: ipcuckoo drops all packets of a banned host, and
# ipcuckoo-multiport rejects those to some ports, and ipcuckoo-ports drops them.

. "${0%/*}/machine"

banned()
{
	"$IPCUCKOO" -q test "$1" "$2"
}

# check_ban NAME SET ADDRESS...: fail2ban has banned the addresses
check_ban()
{
	local address

	for address in "${@:3}"; do
		busywait 20 banned "$2" "$address"
		run_ok "$1: $address is in $2" banned "$2" "$address"
	done
}

versions fail2ban iptables
setup_neighbours
on_exit 'systemctl stop fail2ban; modprobe -r ipcuckoo_ipset; ipcuckoo destroy'
cp "$programs"/../../../tools/packaging/fail2ban/* /etc/fail2ban/action.d
# It looks for the machine's own addresses in the DNS, to find out whether there is IPv6.
printf '[DEFAULT]\nallowipv6 = yes\n' > /etc/fail2ban/fail2ban.local
# The action of all jails that have none of their own, as drop has none
manual fail2ban > /etc/fail2ban/jail.local
cat > /etc/fail2ban/jail.d/test.local <<-END
[DEFAULT]
backend = polling
filter = sshd
bantime = 3600
# Debian enables it, and it needs a log that this machine does not have.
[sshd]
enabled = false
[drop]
enabled = true
logpath = /var/log/drop.log
[ports]
enabled = true
logpath = /var/log/ports.log
protocol = tcp
port = 22,80
banaction = ipcuckoo-multiport
[few]
enabled = true
logpath = /var/log/few.log
protocol = tcp
port = 22,80
banaction = ipcuckoo-ports
[many]
enabled = true
logpath = /var/log/many.log
bantime = 86400
banaction = ipcuckoo.py
[other]
enabled = true
logpath = /var/log/other.log
protocol = udp
port = 9
banaction = ipcuckoo-multiport[mark=0x20000000, blocktype=DROP]
END
touch /var/log/{drop,ports,few,many,other}.log
start fail2ban
busywait 20 fail2ban-client ping

run_ok "drop: ban" fail2ban-client set drop banip $BAD4 $BAD6
check_ban "drop" f2b-drop $BAD4 $BAD6
watch 2
check_answers "drop" $BAD4 none none
check_answers "drop" $BAD6 none none
check_neighbours "drop"
run_ok "drop: unban" fail2ban-client set drop unbanip $BAD4
watch 2
check_answers "drop, unbanned" $BAD4 all all
check_answers "drop, unbanned" $BAD6 none none
run_ok "drop: a network" fail2ban-client set drop banip 192.0.2.64/28
check_ban "drop, a network" f2b-drop $BAD4
watch 2
check_answers "drop, a network" $BAD4 none none
check_neighbours "drop, a network"
restart fail2ban
busywait 20 fail2ban-client ping
check_ban "drop, after a restart" f2b-drop $BAD4 $BAD6
watch 2
check_answers "drop, after a restart" $BAD4 none none
check_answers "drop, after a restart" $BAD6 none none
check_neighbours "drop, after a restart"
# Somebody has destroyed the set: fail2ban makes another.
"$IPCUCKOO" detach f2b-drop
"$IPCUCKOO" destroy f2b-drop
run_ok "drop, without its set: ban" fail2ban-client set drop banip 198.51.100.9
check_ban "drop, without its set" f2b-drop 198.51.100.9
run_ok "drop: unban all" fail2ban-client unban --all

run_ok "few ports: ban" fail2ban-client set few banip $BAD4 $BAD6
check_ban "few ports" f2b-few $BAD4 $BAD6
watch 2
check_answers "few ports" $BAD4 all none
check_answers "few ports" $BAD6 all none
check_neighbours "few ports"
check "few ports: no rules are needed" "" "$({ iptables -S; ip6tables -S; } | grep f2b-few)"
run_ok "few ports: unban" fail2ban-client set few unbanip $BAD4 $BAD6
watch 2
check_answers "few ports, unbanned" $BAD4 all all
check_answers "few ports, unbanned" $BAD6 all all

# has_many: does the set have all bans?
has_many()
{
	[ "$("$IPCUCKOO" -t list f2b-many 2> /dev/null | sed -n 's/^Number of entries: //p')" = 10000 ]
}

# restored NUMBER: has it restored so many bans since it was first started?
restored()
{
	[ "$(grep -c '\[many\] Restore Ban' /var/log/fail2ban.log)" = "$1" ]
}

run_ok "many: ban" fail2ban-client set many banip $BAD4 $BAD6
check_ban "many" f2b-many $BAD4 $BAD6
watch 2
check_answers "many" $BAD4 none none
check_answers "many" $BAD6 none none
check_neighbours "many"
run_ok "many: unban" fail2ban-client set many unbanip $BAD4 $BAD6
watch 2
check_answers "many, unbanned" $BAD4 all all
# shellcheck disable=SC2046 # they are words
run_ok "many: 10,000 bans" fail2ban-client set many banip \
	$(awk 'BEGIN { for (i = 0; i < 10000; i++) printf "198.18.%d.%d\n", i / 250, i % 250 }')
busywait 120 has_many
run_ok "many: all are in the set" has_many
# It writes bans into its database by and by.
sleep 10
stop fail2ban
run_status "many: the set is gone" 1 "$IPCUCKOO" -q list f2b-many
# How long fail2ban itself takes: with an action that does nothing
cat > /etc/fail2ban/action.d/nothing.py <<-END
from fail2ban.server.action import ActionBase


class Action(ActionBase):
    def __init__(self, jail, name, **_):
        super().__init__(jail, name)

    def start(self):
        pass

    def stop(self):
        pass

    def flush(self):
        return True

    def ban(self, aInfo):
        pass

    def unban(self, aInfo):
        pass
END
declare -A took
number=0
for action in nothing ipcuckoo; do
	sed -i "s/^banaction = .*\.py$/banaction = $action.py/" /etc/fail2ban/jail.d/test.local
	begin=$(now)
	start fail2ban
	busywait 120 restored $((number += 10000))
	[ $action = nothing ] || busywait 120 has_many
	took[$action]=$(awk "BEGIN { print $(now) - $begin }")
	[ $action != nothing ] || stop fail2ban
done
note "10,000 bans are restored ${took[ipcuckoo]} s after the start; with an action that does nothing" \
	"${took[nothing]} s"
run_ok "many: all are restored" has_many
# fail2ban itself takes longer or shorter, as the machine is busy.
run_ok "many: our part is no more than that of fail2ban, and 5 s" \
	awk "BEGIN { exit ${took[ipcuckoo]} > 2 * ${took[nothing]} + 5 }"
run_ok "many: unban all" fail2ban-client unban --all

run_ok "ports: ban" fail2ban-client set ports banip $BAD4 $BAD6
check_ban "ports" f2b-ports $BAD4
check_ban "ports" f2b-ports6 $BAD6
watch 2
check_answers "ports" $BAD4 all none
check_answers "ports" $BAD6 all none
check_neighbours "ports"
refused=$(nsenter --net=/run/netns/peer nc -v -z -w 2 -s $BAD4 $HOST4 22 2>&1)
check_match "ports: connections are refused, not dropped" 'refused' "$refused"
run_ok "ports: another jail bans" fail2ban-client set other banip $BAD4
check_ban "another jail" f2b-other $BAD4
watch 2
check_answers "banned by both jails" $BAD4 none none
check_answers "banned by one jail" $BAD6 all none
run_ok "ports: unban" fail2ban-client set ports unbanip $BAD4
watch 2
check_answers "banned by the other jail" $BAD4 none all
restart fail2ban
busywait 20 fail2ban-client ping
check_ban "ports, after a restart" f2b-ports6 $BAD6
check_ban "ports, after a restart" f2b-other $BAD4
watch 2
check_answers "ports, after a restart" $BAD6 all none
check_answers "ports, after a restart" $BAD4 none all
check_neighbours "ports, after a restart"
stop fail2ban
check "fail2ban has destroyed its sets" "" "$("$IPCUCKOO" list -n)"
check "and its rules" "" "$({ iptables -S; ip6tables -S; } | grep ^-A)"
check "it could ban and unban all, also without the set" "" \
	"$(grep -E 'CRITICAL|Failed to' /var/log/fail2ban.log)"
watch 1
check_answers "stopped" $BAD4 all all
end_with /var/log/fail2ban.log
