#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Types what the manual pages show for what operators want most often, as it is printed there, and checks what
# comes of it. Comments "tested: NAME" in the pages mark these displays; manual() finds them. The daemon runs the
# sections of its configuration, with a small table of countries instead of the one that they fetch. What needs
# other programs, or address translation, is typed by tests that have these; the last cases look for that.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

selftests=$(realpath "${0%/*}/../..")
tools=$selftests/../tools
work=/tmp/manual
marks=()

# typed MARK [STATUS]: a case: what the manual shows ends with this status on the firewall. The file "said" has
# what it prints.
typed()
{
	local status

	marks+=("$1")
	manual "$1" | sed "s|/etc/|$work/etc/|g; s|/var/|$work/var/|g
		s|/usr/share/doc/ipcuckoo/examples|$tools/packaging|g" > commands
	PATH=$work/bin:$PATH in_f bash -e -o pipefail commands > said 2>&1
	status=$?
	[ $status -eq "${2:-0}" ] || note "$(< said)"
	check "$1: exit status" "${2:-0}" $status
}

# fates ADDRESS...: does the firewall answer packets of these addresses?
fates()
{
	local address

	for address; do
		in_c ping -q -c 1 -W 1 -I "$address" $FC4 > /dev/null 2>&1 && echo passes || echo blocked
	done | paste -sd ' '
}

# knock ADDRESS PORT...: does it, if they want a connection to these ports? Nobody listens there, so it refuses.
knock()
{
	in_c python3 -c '
import socket, sys
for port in sys.argv[3:]:
    try:
        socket.create_connection((sys.argv[2], int(port)), 1, (sys.argv[1], 0))
    except ConnectionRefusedError:
        print("passes")
    except TimeoutError:
        print("blocked")' "$1" $FC4 "${@:2}" | paste -sd ' '
}

is_blocked()
{
	[ "$(fates "$1")" = blocked ]
}

test_tool()
{
	local pid

	ipcuckoo create feed hash:net timeout 0
	ipcuckoo add feed 192.0.2.7
	typed new
	check "new: what the address sends first is dropped" "blocked passes" "$(fates 192.0.2.7 192.0.2.9)"
	run_ok "new: its answers pass" in_f ping -q -c 1 -W 5 192.0.2.7
	ipcuckoo detach --all
	typed ports
	check "ports: these are blocked, and no others" "blocked blocked blocked blocked passes passes passes" \
		"$(knock 192.0.2.7 22 25 80 90 21 79 91)"
	check "ports: other packets and other addresses pass" "passes passes" \
		"$(fates 192.0.2.7) $(knock 192.0.2.9 22)"
	ipcuckoo detach --all
	ipcuckoo attach feed src drop
	typed why
	check_match "why: it names the set and the attachment" \
		'^192.0.2.7 is blocked: .*from it: dropped by set feed \(src drop ' "$(< said)"

	marks+=(pipe)
	manual pipe > commands
	: > banned.log
	PATH=$work/bin:$PATH nsenter --net=/run/netns/f bash commands > said 2>&1 &
	pid=$!
	check "pipe: nothing was logged" "passes" "$(fates 192.0.2.9)"
	echo 192.0.2.9 >> banned.log
	busywait 5 is_blocked 192.0.2.9
	check_match "pipe: what is logged is blocked for an hour" '^add feed 192.0.2.9 timeout 3[56][0-9]{2}$' \
		"$(ipcuckoo save feed | grep -F 192.0.2.9)"
	pkill -P $pid tail
	wait $pid
	ipcuckoo detach --all
	ipcuckoo destroy feed
}

all_good()
{
	in_f bin/ipcuckood status -j |
		python3 -c 'import json, sys; sys.exit(any(s["state"] != "good" for s in json.load(sys.stdin)["sources"]))'
}

# serve NAME CONFIGURATION: a case: the daemon runs it, and all its sources are good
serve()
{
	echo "$2" > etc/ipcuckood.conf
	nsenter --net=/run/netns/f bin/ipcuckood > log 2>&1 &
	daemon=$!
	busywait 10 all_good || note "$(< log)"
	run_ok "$1: all sources are good" all_good
}

stop_serving()
{
	kill $daemon
	wait $daemon
	ipcuckoo detach --all
	ipcuckoo destroy --all
	rm -rf state/*
}

# section MARK: what the manual shows, with a table that is here
section()
{
	manual "$1" | sed "s|^url = .*|url = file://$work/table|"
}

test_countries()
{
	awk -v OFS='\t' '{ print $1 ".0", $1 ".255", $2, $3, "-" }' > table <<-END
	192.0.2 64510 CN
	198.51.100 64511 RU
	198.18.0 64500 DE
	198.18.1 64501 DE
	198.18.2 64502 DE
	END
	marks+=(countries all-but-one)
	serve countries "$(section countries)"
	check "countries: two countries and two systems are blocked, and nothing else" \
		"blocked blocked blocked blocked passes" \
		"$(fates 192.0.2.7 198.51.100.7 198.18.0.7 198.18.1.7 198.18.2.7)"
	stop_serving
	# Most of the internet
	awk -v OFS='\t' 'BEGIN { for (i = 16; i < 224; i += 16) if (i != 112 && i != 160 && i != 192)
		print i ".0.0.0", i + 15 ".255.255.255", 64520, "US", "-" }' >> table
	serve all-but-one "$(section all-but-one)"
	check "all-but-one: others do not reach ssh" "blocked passes" "$(knock 192.0.2.7 22 80)"
	check "all-but-one: the country does" "passes" "$(knock 198.18.2.7 22)"
	check "all-but-one: the rest of the internet is in the set" "yes no" \
		"$(for address in 100.1.2.3 198.18.2.7; do ipcuckoo -q test foreign $address && echo yes || echo no; done | paste -sd ' ')"
	stop_serving
}

both_stored()
{
	[ -s state/drop.list ] && [ -s state/other.list ]
}

# good: what the metrics say of the set
good()
{
	sed -n 's/^ipcuckood_set_good{set="feed"} //p' var/lib/prometheus/node-exporter/ipcuckood.prom
}

test_daemon()
{
	local config missing

	printf '%s\n' 192.0.2.7 192.0.2.9 198.51.100.0/24 > drop
	printf '%s\n' 192.0.2.9 198.51.100.7 > other
	config="[set feed]
attach = src drop
[feed drop]
set = feed
url = file://$work/drop
[feed other]
set = feed
url = file://$work/other"
	serve "two feeds" "$config"
	busywait 10 both_stored
	typed why
	check_match "why: it names the feed" 'is blocked: .*from feed drop \(file:///tmp/manual/drop\): 192.0.2.7, as of' \
		"$(< said)"
	check "why: it names no other" "" "$(grep 'from feed other' said)"
	typed health
	check_match "health: all is well" '^OK' "$(< said)"
	typed compare
	check "compare: what each feed has that the other has not" \
		"feed drop: 3 entries, 2 of them only here, 1 also in other
feed other: 2 entries, 0 of them only here, 2 also in drop" "$(sed -n 's/^  \(feed \)/\1/p' said)"
	typed metrics
	typed alerts
	missing=$(grep -o 'ipcuckood_[a-z_]*' etc/prometheus/prometheus-ipcuckood.yml | sort -u | while read -r name; do
		grep -q "^# HELP $name " var/lib/prometheus/node-exporter/ipcuckood.prom || echo "$name"
	done)
	check "alerts: the metrics are there" "" "$missing"
	check "metrics: the set is in force" 1 "$(good)"
	stop_serving

	serve "a set that is not attached" "${config/attach = src drop/}"
	typed health 2
	check_match "health: it says so" 'CRITICAL: set feed: it is attached nowhere, so that it acts on no packet' \
		"$(< said)"
	typed metrics
	check "metrics: the set is not in force" 0 "$(good)"
	stop_serving
}

mkdir -p $work/{bin,etc/prometheus,state,var/lib/prometheus/node-exporter} /run/ipcuckood && cd $work ||
	bail "no place for files"
# The resolvers of the host are none of this machine, which the guard would protect.
: > resolv.conf && mount --bind resolv.conf /etc/resolv.conf || bail "no place for resolv.conf"
on_exit "umount /etc/resolv.conf"
ln -sf "$(realpath "$IPCUCKOO")" bin/ipcuckoo
printf '#!/bin/sh\nexec "%s" --config %s/etc/ipcuckood.conf --state %s/state "$@"\n' "${IPCUCKOOD:-}" $work $work \
	> bin/ipcuckood
chmod +x bin/ipcuckood
load_module
setup_quiet_net
for address in 192.0.2.7 192.0.2.9 198.51.100.7 198.18.0.7 198.18.1.7 198.18.2.7; do
	in_c ip addr add $address/32 dev lo
done

test_tool
if [ -x "${IPCUCKOOD:-}" ]; then
	test_countries
	test_daemon
	mapfile -t -O ${#marks[@]} marks < <(grep -ohE '\<manual [a-z0-9-]+( >|\))' \
		"$selftests"/packages/programs/*.sh "$selftests"/suite/packets/published.sh | sed 's/manual //; s/[^a-z0-9-]*$//')
	check "each display that is marked is typed by a test" \
		"$(sed -n 's/^\.\\" tested: //p' "$tools"/*.[78] | sort)" "$(printf '%s\n' "${marks[@]}" | sort -u)"
else
	skip "the daemon" "ipcuckood was not built: its libraries are not installed"
fi
ktap_done
