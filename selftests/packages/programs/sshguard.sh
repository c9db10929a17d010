#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Debian's sshguard with our backend: hosts that fail to log in are blocked, and released when their time is
# over; what it has blocked is gone when it ends.

. "${0%/*}/machine"

# fails ADDRESS: what sshd logs when somebody guesses passwords
fails()
{
	local i

	for i in 1 2 3 4; do
		echo "$(date '+%b %e %H:%M:%S') machine sshd[100$i]: Failed password for root from $1 port 4242$i ssh2" \
			>> /var/log/sshguard-test.log
	done
}

blocked()
{
	"$IPCUCKOO" -q test sshguard "$1"
}

not_blocked()
{
	! blocked "$1"
}

versions sshguard
setup_neighbours
on_exit 'systemctl stop sshguard; "$IPCUCKOO" detach --all; "$IPCUCKOO" destroy'
touch /var/log/sshguard-test.log
# Of Debian's file the line that the manual changes stays.
sed -i '/^BACKEND=/!d' /etc/sshguard/sshguard.conf
cat >> /etc/sshguard/sshguard.conf <<-END
FILES="/var/log/sshguard-test.log"
THRESHOLD=30
BLOCK_TIME=10
DETECTION_TIME=60
WHITELIST_FILE=/etc/sshguard/whitelist
END
mkdir -p /usr/share/doc/ipcuckoo/examples
cp "$tools/packaging/sshguard/sshg-fw-ipcuckoo" /usr/share/doc/ipcuckoo/examples
run_ok "what the manual shows" bash -e -c "$(manual sshguard)"
start sshguard
busywait 20 "$IPCUCKOO" -q list sshguard
# It begins to read at the end of the log.
sleep 2
for address in $BAD4 $BAD6; do
	fails $address
	busywait 20 blocked $address
	run_ok "$address is blocked" blocked $address
done
watch 2
check_answers "blocked" $BAD4 none none
check_answers "blocked" $BAD6 none none
check_neighbours "blocked"
for address in $BAD4 $BAD6; do
	busywait 60 not_blocked $address
	run_ok "$address is released after its time" not_blocked $address
done
watch 2
check_answers "released" $BAD4 all all
check_answers "released" $BAD6 all all
fails $BAD4
busywait 20 blocked $BAD4
run_ok "blocked again" blocked $BAD4
stop sshguard
watch 2
check_answers "sshguard was stopped" $BAD4 all all
end_with /var/log/sshguard-test.log
