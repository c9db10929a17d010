#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What kube-router 2.11 and Docker 28.0 do with ipset and iptables, without these programs, which need
# a cluster and a registry; and the lists that newer bouncers of crowdsec load at once.
# Sources: pkg/utils/ipset.go and pkg/controllers/netpol of kube-router, libnetwork/drivers/bridge of
# Docker, pkg/iptables of cs-firewall-bouncer.

. "${0%/*}/machine"

# --- kube-router ---
#
# For each set it fills a temporary one, creates the set if there is none, swaps both, and empties the
# temporary one, which serves all sets with the same options. All of it is one ipset restore -exist.

# temporary OPTION...: the name of the temporary set for these options
temporary()
{
	echo "TMP-$(printf 'tmp:%s' "$*" | sha1sum | cut -c 1-20 | tr 0-9a-f A-P | cut -c 1-16)"
}

# sync: reads lines "NAME OPTIONS: ENTRY..." and restores them
sync()
{
	local line name options tmp entry
	local -A made=()

	while IFS= read -r line; do
		name=${line%% *}
		options=${line%%: *}
		options=${options#* }
		tmp=$(temporary "$options")
		if [ -z "${made[$tmp]:-}" ]; then
			printf '%s\n' "create $tmp $options" "flush $tmp"
			made[$tmp]=1
		fi
		for entry in ${line#*: }; do
			echo "add $tmp $entry timeout 0"
		done
		printf '%s\n' "create $name $options" "swap $tmp $name" "flush $tmp"
	done > /run/restore
	for tmp in "${!made[@]}"; do
		echo "destroy $tmp"
	done | sort >> /run/restore
	ipset restore -exist < /run/restore
}

# Sets as they are saved: with their options, but without initval, which kube-router leaves out
hosts='hash:ip family inet hashsize 1024 maxelem 65536 timeout 0 bucketsize 12'
hosts6='hash:ip family inet6 hashsize 1024 maxelem 65536 timeout 0 bucketsize 12'
nets='hash:net family inet hashsize 1024 maxelem 65536 timeout 0 bucketsize 12'
source=KUBE-SRC-3YNVZWWGX3UQQ4VQ
destination=KUBE-DST-Y5XG3UPXRAGMVBA6
block=KUBE-SRC-OPKE6HJNKHJ2OKVT

# policy ENTRY...: who may send to this machine
policy()
{
	sync <<-END
	$source $hosts: $*
	$destination $hosts: $HOST4
	$block $nets: $(printf '100.64.%s.0/24 ' {0..255})
	inet6:$source $hosts6: $GOOD6
	inet6:$destination $hosts6: $HOST6
	kube-router-svip-prt hash:ip,port family inet timeout 0: 10.96.0.1,tcp:443 10.96.0.10,udp:53
	END
}

# saved SET...: the members of the sets, sorted
saved()
{
	local set

	for set; do
		ipset save "$set"
	done | awk '$1 == "add"' | sort
}

# rules SOURCE DESTINATION: the rules of a network policy, for iptables-restore -T filter
rules()
{
	local pair="-m set --match-set $1 src -m set --match-set $2 dst"

	cat <<-END
	*filter
	:INPUT ACCEPT [0:0]
	:FORWARD ACCEPT [0:0]
	:OUTPUT ACCEPT [0:0]
	:KUBE-ROUTER-INPUT - [0:0]
	:KUBE-POD-FW-A - [0:0]
	:KUBE-NWPLCY-A - [0:0]
	-A INPUT -m comment --comment "kube-router netpol" -j KUBE-ROUTER-INPUT
	-A KUBE-ROUTER-INPUT -i wan0 -p tcp -j KUBE-POD-FW-A
	-A KUBE-ROUTER-INPUT -i wan0 -p udp -j KUBE-POD-FW-A
	-A KUBE-POD-FW-A -m comment --comment "run policy" -j KUBE-NWPLCY-A
	-A KUBE-POD-FW-A -m mark ! --mark 0x10000/0x10000 -j REJECT
	-A KUBE-POD-FW-A -j MARK --set-xmark 0/0x10000
	-A KUBE-NWPLCY-A $pair -j MARK --set-xmark 0x10000/0x10000
	-A KUBE-NWPLCY-A $pair -m mark --mark 0x10000/0x10000 -j RETURN
	COMMIT
	END
}

kube_router()
{
	local i

	for i in hash:ip hash:net; do
		run_ok "kube-router creates $i" ipset create -exist kube-${i#*:} $i timeout 0
		run_ok "kube-router creates $i again" ipset create -exist kube-${i#*:} $i timeout 0
		run_ok "kube-router creates $i of IPv6" \
			ipset create -exist "inet6:kube-${i#*:}" $i timeout 0 family inet6
		check_ours "kube-router" kube-${i#*:}
	done
	run_ok "kube-router restores its sets" policy $GOOD4 10.242.0.7
	check "they have their members" \
		"$(printf "add $source %s timeout 0\n" 10.242.0.7 $GOOD4 | sort)" "$(saved $source)"
	check "no temporary set is left" "" "$(ipset list -n | grep ^TMP-)"
	rules $source $destination | iptables-restore --wait -T filter &&
		rules inet6:$source inet6:$destination | ip6tables-restore --wait -T filter ||
		not_ok "iptables-restore"
	watch 2
	check_answers "policy" $BAD4 none none
	check_answers "policy" $BAD6 none none
	check_neighbours "policy"

	since=$(now)
	for ((i = 0; i < 30; i++)); do
		policy $GOOD4 10.242.0.$i || break
	done
	until=$(now)
	sleep 0.2
	check "30 more syncs succeed" 30 "$i"
	check_answers "while it syncs" $BAD4 none none
	check_neighbours "while it syncs"
	iptables-save -t filter | iptables-restore --wait -T filter
	run_ok "what ipset saved is restored" ipset restore -exist <<< "$(ipset save)"
	run_ok "the policy changes" policy $GOOD4 $BAD4
	watch 2
	check_answers "another policy" $BAD4 all all
	check_answers "another policy" $BAD6 none none
	run_ok "a set is emptied" sync <<< "$source $hosts: "
	watch 1
	check_answers "nobody may" $GOOD4 none none
	for i in iptables ip6tables; do
		$i -F
		$i -X
	done
	run_ok "all sets are destroyed" ipset destroy
}

# --- Docker ---

docker()
{
	local set=docker-ext-bridges-v4 set6=docker-ext-bridges-v6 rule

	ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 &&
		ip netns add box && ip link add box0 type veth peer name eth0 netns box &&
		ip link set box0 master docker0 up && ip link set docker0 up &&
		ip -n box link set eth0 up && ip -n box addr add 172.17.0.2/16 dev eth0 &&
		ip -n box route add default via 172.17.0.1 &&
		ip -n peer route add default via $HOST4 || bail "no network for Docker"
	sysctl -q net.ipv4.ip_forward=1
	nsenter --net=/run/netns/box "$programs/traffic" answer &
	nsenter --net=/run/netns/peer "$programs/traffic" answer &

	run_ok "Docker creates its set" "$programs/docker-ipset" create $set inet
	run_ok "Docker creates its set of IPv6" "$programs/docker-ipset" create $set6 inet6
	run_ok "the daemon starts again: create" "$programs/docker-ipset" create $set inet
	run_ok "the daemon starts again: flush" "$programs/docker-ipset" flush $set
	check_ours "Docker" $set $set6
	iptables -P FORWARD DROP
	for rule in DOCKER DOCKER-ISOLATION-STAGE-1 DOCKER-ISOLATION-STAGE-2; do
		iptables -N $rule
	done
	iptables -t nat -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE
	iptables -I FORWARD -i docker0 ! -o docker0 -j ACCEPT
	iptables -A DOCKER ! -i docker0 -o docker0 -j DROP
	iptables -I DOCKER -d 172.17.0.2/32 ! -i docker0 -o docker0 -p tcp --dport 22 -j ACCEPT
	iptables -I FORWARD -m set --match-set $set dst -j DOCKER
	iptables -I FORWARD -j DOCKER-ISOLATION-STAGE-1
	iptables -I FORWARD -m set --match-set $set dst -m conntrack \
		--ctstate RELATED,ESTABLISHED -j ACCEPT
	run_status "without a member, no answer reaches the container" 1 from box $GOOD4 22
	run_ok "Docker adds the network" "$programs/docker-ipset" add $set 172.17.0.0/16
	run_ok "Docker adds a network of IPv6" "$programs/docker-ipset" add $set6 fd00:17::/64
	run_error "it is there already" 1 'error 4103' "$programs/docker-ipset" add $set 172.17.0.0/16
	check "ipset shows it" "add $set 172.17.0.0/16" "$(ipset save $set | grep ^add)"
	run_ok "the container reaches a neighbour" from box $GOOD4 22
	run_ok "a neighbour reaches the port that is published" from peer 172.17.0.2 22
	run_ok "Docker deletes the network" "$programs/docker-ipset" del $set 172.17.0.0/16
	run_status "no neighbour reaches the container" 1 from peer 172.17.0.2 22
	iptables -P FORWARD ACCEPT
	iptables -F
	iptables -X
	iptables -t nat -F
	run_ok "Docker destroys the set" "$programs/docker-ipset" destroy $set
	run_ok "Docker destroys the set of IPv6" "$programs/docker-ipset" destroy $set6
	ip netns del box
	ip link del docker0
}

# from NAMESPACE ADDRESS PORT: whether a connection is made
from()
{
	nsenter --net="/run/netns/$1" nc -z -w 2 "$2" "$3"
}

# --- newer bouncers of crowdsec ---

# One set for each origin of decisions, filled by ipset restore with all that is new: 120,000 at first.
bouncer()
{
	local set=crowdsec-blacklists-0 count=120000 begin

	awk -v set=$set -v n=$count -v bad=$BAD4 'BEGIN {
		for (i = 0; i < n - 1; i++)
			printf "add %s 100.%d.%d.%d timeout 14400 -exist\n", set,
				64 + int(i / 65536), int(i / 256) % 256, i % 256
		printf "add %s %s timeout 14400 -exist\n", set, bad
	}' > /run/many
	run_ok "a set for $count decisions" \
		ipset create $set nethash timeout 300 maxelem 131072 family inet
	iptables -N CROWDSEC_CHAIN
	iptables -I INPUT -j CROWDSEC_CHAIN
	iptables -A CROWDSEC_CHAIN -m set --match-set $set src -j DROP
	begin=$(now)
	run_ok "$count decisions are restored" ipset restore -file /run/many
	note "in $(awk "BEGIN { print $(now) - $begin }") s"
	check "all are members" "$(cut -d ' ' -f 3 /run/many | sort | sha256sum)" \
		"$(ipset save $set | awk '$1 == "add" { print $3 }' | sort | sha256sum)"
	watch 2
	check_answers "$count decisions" $BAD4 none none
	check_neighbours "$count decisions"
	run_ok "all of them are deleted" ipset restore -exist \
		<<< "$(sed 's/^add/del/; s/ timeout .*//' /run/many)"
	check "no member is left" "" "$(saved $set)"
	watch 1
	check_answers "deleted" $BAD4 all all
	iptables -F
	iptables -X
	run_ok "the set is destroyed" ipset destroy $set
}

versions ipset iptables
setup_neighbours
on_exit 'iptables -F; ip6tables -F; ipset destroy'
kube_router
docker
bouncer
ktap_done
