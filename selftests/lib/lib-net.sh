# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for tests that send packets, in addition to lib.sh. packets() sends packets and
# compares their fates with a reference. The hosts neither answer nor forward, so that every
# packet at a hook is one of the test's.

helpers=$IPCUCKOO_TESTS
data=$IPCUCKOO_TESTS/data
lists=/tmp/lists

# The seed of all random numbers in a test. Set SEED to repeat a run.
seed=${SEED:-$RANDOM}

# packets [OPTION...] COMMAND...: see packets.c
packets()
{
	"$helpers/packets" "$@"
}

# Client and server do not forward, so packets to addresses of other hosts end there. The firewall
# routes 203.0.113.0/24 and 2001:db8:5::/64 to the server, and all other addresses outside the
# network to the client.
quiet_hosts()
{
	local ns

	for ns in c s; do
		nsenter --net=/run/netns/$ns bash -c '
			echo 0 > /proc/sys/net/ipv4/ip_forward
			[ ! -d /proc/sys/net/ipv6 ] ||
				echo 0 > /proc/sys/net/ipv6/conf/all/forwarding' || return
		# A host that does not forward accepts router advertisements: set the route again.
		ip -n $ns route replace default via "$([ $ns = c ] && echo $FC4 || echo $FS4)"
		[ -z "$ipv6" ] ||
			ip -n $ns route replace default via "$([ $ns = c ] && echo $FC6 || echo $FS6)"
	done
	other_routes
}

other_routes()
{
	ip -n f route replace 203.0.113.0/24 via $S4 || return
	[ -z "$ipv6" ] || ip -n f route replace 2001:db8:5::/64 via $S6
}

setup_quiet_net()
{
	local out

	setup_net
	out=$(quiet_hosts 2>&1) || bail "cannot make the hosts quiet: $out"
	mkdir -p $lists
}

# The counters of each attachment, in order: packets and bytes.
counters()
{
	in_f awk '!/^#/ { print $(NF - 1), $NF }' /proc/net/ipcuckoo/attachments
}

# list_of FILE ENTRY...: writes the entries to a file, one a line
list_of()
{
	local file=$1

	shift
	printf '%s\n' "$@" > "$file"
}

# attach_fresh [NAME WORDS | NAME WORDS...]...: replaces all attachments with the given ones, so
# that their counters begin at zero. Each argument is one attachment.
attach_fresh()
{
	local words

	ipcuckoo detach --all || return
	for words; do
		# shellcheck disable=SC2086
		ipcuckoo attach $words || return
	done
}

# fates NAME OPTION... check PATH: a case. Each packet must have the fate that the reference
# expects, and the attachments must have counted the same as the rules given with -r.
fates()
{
	local name=$1 out

	shift
	if [ "$1" = -6 ] && [ -z "$ipv6" ]; then
		skip "$name" "no IPv6 in this kernel"
		return
	fi
	if out=$(packets -s "$seed" "$@" 2>&1); then
		echo "$out"
		ok "$name"
	else
		note "$out"
		not_ok "$name" "no wrong verdict, no wrong counter" "see above, seed $seed"
	fi
}
