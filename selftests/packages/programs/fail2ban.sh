#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's fail2ban with its actions iptables-ipset-proto6 and -allports: hosts that fail to log in
# are banned, unbanned when their time is over or when the operator says so, and banned again after
# a restart.

. "${0%/*}/machine"

# fails LOG ADDRESS...: what sshd logs when somebody guesses passwords, a process for each connection
connection=1000
fails()
{
	local address i

	for address in "${@:2}"; do
		for i in 1 2 3; do
			connection=$((connection + 1))
			echo "$(date '+%b %e %H:%M:%S') machine sshd[$connection]: Failed password for" \
				"root from $address port 4242$i ssh2" >> "/var/log/$1"
		done
	done
}

versions fail2ban ipset iptables
setup_neighbours
on_exit 'systemctl stop fail2ban; ipset destroy'
# It looks for the machine's own addresses in the DNS, to find out whether there is IPv6.
printf '[DEFAULT]\nallowipv6 = yes\n' > /etc/fail2ban/fail2ban.local
cat > /etc/fail2ban/jail.d/test.local <<-END
[DEFAULT]
backend = polling
maxretry = 3
bantime = 20
filter = sshd
protocol = tcp
[sshd]
enabled = true
logpath = /var/log/sshd.log
port = 22
banaction = iptables-ipset-proto6
[everything]
enabled = true
logpath = /var/log/everything.log
protocol = all
banaction = iptables-ipset-proto6-allports
[expiring]
enabled = true
logpath = /var/log/expiring.log
port = 22
banaction = iptables-ipset-proto6[ipsettime="<timeout-bantime>"]
[long]
enabled = true
logpath = /var/log/long.log
protocol = all
bantime = 3600
banaction = iptables-ipset-proto6-allports
END
touch /var/log/{sshd,everything,expiring,long}.log
# Another test may have run in this machine.
: > /var/log/fail2ban.log
start fail2ban
busywait 20 fail2ban-client ping

fails sshd.log $BAD4 $BAD6
await_ban "a port" f2b-sshd $BAD4
await_ban "a port" f2b-sshd6 $BAD6
await_unban "a port" all none f2b-sshd $BAD4 f2b-sshd6 $BAD6
check_ours "a port" f2b-sshd f2b-sshd6
watch 2
check_answers "a port, afterwards" $BAD4 all all
check_answers "a port, afterwards" $BAD6 all all

fails everything.log $BAD4 $BAD6
await_ban "all ports" f2b-everything6 $BAD6
await_ban "all ports" f2b-everything $BAD4
await_unban "all ports" none none f2b-everything $BAD4 f2b-everything6 $BAD6
check_ours "all ports" f2b-everything f2b-everything6
watch 2
check_answers "all ports, afterwards" $BAD4 all all
check_answers "all ports, afterwards" $BAD6 all all

# ipset forgets the address by itself.
fails expiring.log $BAD4
await_ban "ipset's timeout" f2b-expiring $BAD4
check_match "ipset's timeout: the member has one" "add f2b-expiring $BAD4 timeout (1?[0-9]|20)\$" \
	"$(ipset save f2b-expiring | grep ^add)"
await_unban "ipset's timeout" all none f2b-expiring $BAD4

run_ok "the operator bans" fail2ban-client set long banip $BAD4 $BAD6
await_ban "by the operator" f2b-long $BAD4
watch 2
check_answers "by the operator" $BAD4 none none
check_answers "by the operator" $BAD6 none none
check_neighbours "by the operator"
restart fail2ban
busywait 20 fail2ban-client ping
await_ban "after a restart" f2b-long $BAD4
await_ban "after a restart" f2b-long6 $BAD6
check_ours "after a restart" f2b-long f2b-long6
watch 2
check_answers "after a restart" $BAD4 none none
check_answers "after a restart" $BAD6 none none
check_neighbours "after a restart"
run_ok "reload" fail2ban-client reload
await_ban "after reload" f2b-long $BAD4
watch 1
check_answers "after reload" $BAD4 none none
run_ok "the operator unbans" fail2ban-client set long unbanip $BAD4
watch 2
check_answers "unbanned" $BAD4 all all
check_answers "unbanned" $BAD6 none none

stop fail2ban
check "fail2ban has destroyed its sets" "" "$(ipset list -n)"
check "it has logged no error" "" "$(grep -E 'ERROR|CRITICAL' /var/log/fail2ban.log)"
watch 2
check_answers "stopped" $BAD6 all all
end_with /var/log/fail2ban.log
