#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A port that a container publishes, as Docker does it: DNAT at prerouting, a bridge, and a namespace behind
# it. Packets to the port never pass the hook "input", and are forwarded before rules of others see them.
# A set that is attached to packets from blocked sources has to stop them all: new connections and those
# that conntrack knows, of both families, whatever device they come from, also if it is reached through
# the bridge.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

K4=172.17.0.2
K6=fd00:17::2
OTHER4=10.0.1.77
OTHER6=fd00:1::77

in_k()
{
	nsenter --net=/run/netns/k "$@"
}

# As "docker run -p 8080:80" leaves the machine
publish()
{
	ip netns add k && on_exit "ip netns del k" &&
	in_f ip link add docker0 type bridge &&
	in_f ip link add k0 type veth peer name eth0 netns k &&
	in_f ip link set k0 master docker0 &&
	in_f ip addr add 172.17.0.1/16 dev docker0 &&
	in_f ip addr add fd00:17::1/64 dev docker0 nodad &&
	in_f ip link set docker0 up && in_f ip link set k0 up &&
	in_k ip link set lo up && in_k ip link set eth0 up &&
	in_k ip addr add $K4/16 dev eth0 && in_k ip addr add $K6/64 dev eth0 nodad &&
	in_k ip route add default via 172.17.0.1 && in_k ip route add default via fd00:17::1 &&
	in_c ip addr add $OTHER4/24 dev eth0 && in_c ip addr add $OTHER6/64 dev eth0 nodad &&
	in_k nft -f - <<-END &&
	table inet t {
		chain in {
			type filter hook prerouting priority -500;
			ip saddr $C4 counter comment "blocked"
			ip6 saddr $C6 counter comment "blocked"
		}
	}
	END
	in_f nft -f - <<-END
	table ip docker {
		chain prerouting {
			type nat hook prerouting priority dstnat;
			fib daddr type local tcp dport 8080 dnat to $K4:80
		}
		chain postrouting {
			type nat hook postrouting priority srcnat;
			ip saddr 172.17.0.0/16 oifname != "docker0" masquerade
		}
		chain forward {
			type filter hook forward priority filter;
			oifname "docker0" tcp dport 80 accept
		}
	}
	table ip6 docker {
		chain prerouting {
			type nat hook prerouting priority dstnat;
			fib daddr type local tcp dport 8080 dnat to [$K6]:80
		}
	}
	END
}

# Answers each line with the same line.
server='
import socketserver, socket
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
Server(("::", 80), Echo).serve_forever()
'

# Opens a connection from one address to the published port, and says for each line of the input whether
# it comes back in some seconds.
client='
import socket, sys
source, to = sys.argv[1:]
s = socket.socket(socket.AF_INET6 if ":" in to else socket.AF_INET)
s.settimeout(4)
s.bind((source, 0))
try:
    s.connect((to, 8080))
except OSError as e:
    print("no connection", flush=True)
    sys.exit()
print("connected", flush=True)
for line in sys.stdin:
    s.sendall(line.encode())
    try:
        print(s.recv(100).decode().strip() or "closed", flush=True)
    except OSError:
        print("no answer", flush=True)
'

# ask SOURCE TO: one connection with one line
ask()
{
	echo hello | in_c python3 -c "$client" "$1" "$2" | paste -sd ' '
}

# How many packets have come to the container from blocked addresses
arrived()
{
	in_k nft list chain inet t in | sed -n 's/.*counter packets \([0-9]*\) .*/\1/p' | awk '{ n += $1 } END { print n }'
}

# check_place NAME WORDS...: nothing of blocked addresses arrives if the set is attached in this way
check_place()
{
	local name=$1 family from to other before

	shift
	for family in 4 ${ipv6:+6}; do
		from=$([ $family = 4 ] && echo $C4 || echo $C6)
		to=$([ $family = 4 ] && echo $FC4 || echo $FC6)
		other=$([ $family = 4 ] && echo $OTHER4 || echo $OTHER6)
		ipcuckoo detach --all
		check "$name, IPv$family: without a blocklist the port answers" "connected hello" \
			"$(ask "$from" "$to")"
		coproc TALK { exec nsenter --net=/run/netns/c python3 -u -c "$client" "$from" "$to"; }
		read -r -t 15 line <&"${TALK[0]}"
		echo before >&"${TALK[1]}"
		read -r -t 15 line <&"${TALK[0]}"
		check "$name, IPv$family: a connection stays open" before "$line"
		if ! ipcuckoo attach blocked "$@" 2> err; then
			skip "$name, IPv$family" "$(< err)"
		else
			before=$(arrived)
			echo after >&"${TALK[1]}"
			read -r -t 15 line <&"${TALK[0]}"
			check "$name, IPv$family: it gets no answer any more" "no answer" "$line"
			check "$name, IPv$family: there is no new one" "no connection" "$(ask "$from" "$to")"
			check "$name, IPv$family: no packet has arrived at the container" 0 \
				$(($(arrived) - before))
			check "$name, IPv$family: others are served" "connected hello" \
				"$(ask "$other" "$to")"
		fi
		kill "$TALK_PID" 2> /dev/null
		wait "$TALK_PID" 2> /dev/null
	done
}

load_module
setup_net
cd "$(mktemp -d)" || bail "no place for files"
out=$(publish 2>&1) || skip_all "no container can be made here: $out"
nsenter --net=/run/netns/k python3 -c "$server" &
server_pid=$!
on_exit "kill $server_pid 2> /dev/null"
for _ in {1..100}; do
	in_k python3 -c 'import socket; socket.create_connection(("127.0.0.1", 80))' 2> /dev/null && break
	sleep 0.1
done
ipcuckoo create blocked hash:ip family any
ipcuckoo add blocked $C4 $C6
words=$(manual containers)
# shellcheck disable=SC2086 # they are words
check_place "as the manual shows" ${words#ipcuckoo attach feed}
check_place "at ingress" src drop ingress dev c0
check_place "for the device alone" src drop dev c0
ipcuckoo detach --all
ipcuckoo destroy blocked
ktap_done
