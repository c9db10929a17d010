#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Blackholes that arrive by BGP: BIRD as Debian has it, with the configuration of the manual, a peer
# of it in the namespace of the neighbours, and ipcuckood in the sandbox of its unit. Packets of a
# host that the peer announces are dropped, those of a host that it withdraws pass; also if the peer
# or BIRD is killed, and starts again.

. "${0%/*}/machine"

set=rtbh
peer=/run/peer
table=100
hold=40
[ -x "${IPCUCKOOD:-}" ] || skip_all "ipcuckood was not built: its libraries are not installed"

# The configuration of BIRD in the manual, with the neighbours' addresses
manual_config()
{
	sed -n '/^With BIRD 2/,/^\.Ed/p' "$tools/ipcuckood.8" | sed '1,/^\.Bd/d; /^\.Ed/d' |
		sed "s|198.51.100.0/24|192.0.2.0/24|; s|2001:db8:2::/48|2001:db8::/64|"
}

# The peer announces each address with the community for blackholes; and one without, and a prefix,
# which our side has to refuse.
peer_config()
{
	cat <<-END
	router id $GOOD4;
	protocol device { }
	protocol static bad4 {
		ipv4;
		route $BAD4/32 blackhole { bgp_community.add((65535, 666)); };
	}
	protocol static bad6 {
		ipv6;
		route $BAD6/128 blackhole { bgp_community.add((65535, 666)); };
	}
	protocol static refused {
		ipv4;
		route $GOOD4/32 blackhole;
		route 192.0.2.0/29 blackhole { bgp_community.add((65535, 666)); };
		route 0.0.0.0/0 blackhole { bgp_community.add((65535, 666)); };
	}
	protocol bgp firewall {
		local $GOOD4 as 64501;
		neighbor $HOST4 as 64500;
		connect delay time 1;
		error wait time 1, 2;
		ipv4 { import none; export all; };
		ipv6 { import none; export all; next hop address $GOOD6; };
	}
	END
}

start_peer()
{
	nsenter --net=/run/netns/peer bird -f -c $peer.conf -s $peer.ctl -P $peer.pid \
		> $peer.log 2>&1 &
	peer_pid=$!
}

peer()
{
	birdc -s $peer.ctl "$@" > /run/said 2>&1
}

has_routes()
{
	[ "$({ ip -4 route show table $table; ip -6 route show table $table; } 2> /dev/null |
		grep -c '^blackhole')" -eq "$1" ]
}

# number KEY: what the source has for it in its status
number()
{
	/usr/sbin/ipcuckood status -j | sed -n "s/^ *\"$1\": *\([0-9]*\),*/\1/p" | tail -n 1
}

# await NAME COMMAND...: waits until the command succeeds; a case
await()
{
	local name=$1

	shift
	if busywait 12 "$@"; then
		ok "$name"
	else
		note "$(ip route show table $table; birdc show protocols; /usr/sbin/ipcuckood status)"
		not_ok "$name"
	fi
}

versions bird2 systemd
setup_neighbours
on_exit 'systemctl stop ipcuckood bird; "$IPCUCKOO" detach --all
	"$IPCUCKOO" destroy; modprobe -r ipcuckoo'
install_daemon
manual_config > /etc/bird/bird.conf
check_match "the manual has a configuration" 'kernel table 100;' "$(cat /etc/bird/bird.conf)"
run_ok "BIRD finds nothing wrong with it" bird -p -c /etc/bird/bird.conf
peer_config > $peer.conf
run_ok "nor with that of the peer" bird -p -c $peer.conf
printf '%s\n' '[set rtbh]' '[routes bgp]' 'set = rtbh' "table = $table" 'protocol = bird' \
	"hold = ${hold}s" > /etc/ipcuckood.conf

start ipcuckood
start bird
start_peer
await "announced: in table $table" has_routes 2
await "announced: in the set" is_blocked $BAD6
run_ok "the set is attached" "$IPCUCKOO" attach rtbh src drop
watch 2
check_answers "announced" $BAD4 none none
check_answers "announced" $BAD6 none none
check_neighbours "announced; what the filter refuses is not blocked"
check "announced: the set has nothing else" 2 "$("$IPCUCKOO" save rtbh | grep -c '^add')"

peer disable bad4
await "withdrawn: not in table $table" has_routes 1
check "withdrawn: it is held" 1 "$(busywait 10 eval '[ "$(number held)" = 1 ]'; number held)"
peer enable bad4
since=$(now)
await "announced again: in table $table" has_routes 2
check "announced again: nothing is held" 0 \
	"$(busywait 10 eval '[ "$(number held)" = 0 ]'; number held)"
sleep 3
until=$(now)
sleep 0.2
check_answers "announced again" $BAD4 none none

sed -i '/^hold/d' /etc/ipcuckood.conf
run_ok "reload, without hold" systemctl reload ipcuckood
peer disable bad4
await "withdrawn: not in the set" is_free $BAD4
watch 2
check_answers "withdrawn" $BAD4 all all
check_answers "withdrawn" $BAD6 none none
peer enable bad4
await "announced: in the set" is_blocked $BAD4
watch 2
check_answers "announced" $BAD4 none none

kill -9 $peer_pid
await "peer killed: withdrawn" is_free $BAD4
await "peer killed: withdrawn, IPv6" is_free $BAD6
watch 1
check_answers "peer killed" $BAD4 all all
start_peer
await "peer started again: in the set" is_blocked $BAD4
await "peer started again: in the set, IPv6" is_blocked $BAD6

echo "hold = ${hold}s" >> /etc/ipcuckood.conf
run_ok "reload, with hold" systemctl reload ipcuckood
busywait 10 eval '[ "$(number routes)" = 2 ]'
since=$(now)
kill -9 $peer_pid
await "hold, peer killed: no route" has_routes 0
start_peer
await "hold, peer started again: routes" has_routes 2
systemctl kill -s KILL bird
busywait 10 eval '! systemctl is-active -q bird'
systemctl start bird
await "hold, BIRD killed and started again: routes" has_routes 2
systemctl kill -s KILL ipcuckood
busywait 30 eval '[ "$(number routes)" = 2 ]'
check "hold, ipcuckood killed: it follows again" 2 "$(number routes)"
until=$(now)
sleep 0.2
check_answers "hold: all the time" $BAD4 none none
check_answers "hold: all the time" $BAD6 none none
check_neighbours "hold: all the time"

run_ok "a default route as a blackhole" ip route add blackhole default table $table proto bird
check_match "it is left out, and the journal says so" '0\.0\.0\.0/0, which would block too much' \
	"$(busywait 10 eval 'journalctl -b -p err --no-pager -u ipcuckood | grep -q 0.0.0.0/0'
	journalctl -b -p err --no-pager -u ipcuckood)"
watch 1
check_neighbours "a default route"
ip route del blackhole default table $table

stop bird
await "BIRD stopped: no route" has_routes 0
run_ok "BIRD stopped: they are held" is_blocked $BAD4
await "BIRD stopped: until their time is over" is_free $BAD4
watch 1
check_answers "BIRD stopped" $BAD4 all all
check "ipcuckood reports no failure" 0 "$(number failures)"
end_with <(journalctl -b --no-pager -u ipcuckood -u bird)
