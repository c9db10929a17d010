# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Functions for test programs in bash: KTAP, waiting, the module, and a small network.
# A program sources this file, prints its cases with the functions below and ends with ktap_done:
#
#	. "${0%/*}/../../lib/lib.sh"
#	ktap_plan 2
#	load_module
#	run_ok "a set can be created" ipcuckoo create a hash:ip
#	check "it is empty" "" "$(ipcuckoo list a | grep '^add')"
#	ktap_done
#
# A program that ends without ktap_done counts as failed, whatever it has printed.

set -u -o pipefail

KSFT_PASS=0
KSFT_FAIL=1
KSFT_SKIP=4

# SLOW is set on kernels with KASAN, KCSAN or lockdep: tests do less there. These kernels are five
# to ten times slower, use more memory, and delay the freeing of memory.
SLOW=
case ${IPCUCKOO_KERNEL:-stock} in
*debug | kcsan)	SLOW=1 ;;
esac

# --- KTAP ---

ktap_planned=
ktap_cases=0
ktap_failed=0
ktap_passed=0
ktap_skipped=0

ktap_head()
{
	[ -n "${ktap_begun:-}" ] || echo "TAP version 13"
	ktap_begun=1
}

# ktap_plan N: announces N cases. Without it, ktap_done prints the number of cases.
ktap_plan()
{
	ktap_head
	ktap_planned=$1
	echo "1..$1"
}

# note TEXT...: prints text as comment lines of KTAP, which the judge ignores
note()
{
	ktap_head
	printf '%s\n' "$*" | sed 's/^/# /'
}

# ok NAME. "#" begins a directive in KTAP, so it is removed from the name. The functions for cases
# start no process, because on User Mode Linux fork() takes longer than most commands.
ok()
{
	ktap_head
	ktap_cases=$((ktap_cases + 1))
	ktap_passed=$((ktap_passed + 1))
	echo "ok $ktap_cases ${1//#/}"
}

# not_ok NAME [EXPECTED ACTUAL]
not_ok()
{
	ktap_head
	ktap_cases=$((ktap_cases + 1))
	ktap_failed=$((ktap_failed + 1))
	if [ $# -gt 1 ]; then
		note "expected: $2"
		note "actual:   ${3-}"
	fi
	echo "not ok $ktap_cases ${1//#/}"
}

# skip NAME REASON
skip()
{
	ktap_head
	ktap_cases=$((ktap_cases + 1))
	ktap_skipped=$((ktap_skipped + 1))
	echo "ok $ktap_cases ${1//#/} # SKIP $2"
}

# skip_all REASON: ends the program; this kernel can run none of its cases
skip_all()
{
	ktap_head
	echo "1..0 # SKIP $1"
	exit "$KSFT_SKIP"
}

# bail TEXT: ends the program with a failure; the rest of the program could not work
bail()
{
	ktap_head
	echo "Bail out! $*"
	exit "$KSFT_FAIL"
}

# check NAME EXPECTED ACTUAL: passes if both texts are the same
check()
{
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "$2" "$3"
	fi
}

# check_match NAME PATTERN ACTUAL: passes if the extended regular expression matches the text
check_match()
{
	if [[ $3 =~ $2 ]]; then
		ok "$1"
	else
		not_ok "$1" "something like $2" "$3"
	fi
}

# run_ok NAME COMMAND...: passes if the command succeeds. If it fails, its output is printed.
run_ok()
{
	run_status "$1" 0 "${@:2}"
}

# run_status NAME STATUS COMMAND...: passes if the command ends with that exit status
run_status()
{
	local name=$1 want=$2 out status

	shift 2
	out=$("$@" 2>&1)
	status=$?
	if [ "$status" -eq "$want" ]; then
		ok "$name"
	else
		not_ok "$name" "exit status $want from: $*" "exit status $status: $out"
	fi
}

# run_error NAME STATUS PATTERN COMMAND...: passes if the command ends with that exit status and
# its output matches the pattern
run_error()
{
	local name=$1 want=$2 pattern=$3 out status

	shift 3
	out=$("$@" 2>&1)
	status=$?
	if [ "$status" -ne "$want" ]; then
		not_ok "$name" "exit status $want from: $*" "exit status $status: $out"
	else
		check_match "$name" "$pattern" "$out"
	fi
}

# ktap_done: every program ends with this. Prints the plan and the totals, and exits.
ktap_done()
{
	ktap_head
	[ -n "$ktap_planned" ] || echo "1..$ktap_cases"
	echo "# Totals: pass:$ktap_passed fail:$ktap_failed xfail:0 xpass:0" \
		"skip:$ktap_skipped error:0"
	if [ "$ktap_failed" -gt 0 ]; then
		exit "$KSFT_FAIL"
	elif [ "$ktap_cases" -eq 0 ]; then
		exit "$KSFT_FAIL"
	elif [ "$ktap_skipped" -eq "$ktap_cases" ]; then
		exit "$KSFT_SKIP"
	fi
	exit "$KSFT_PASS"
}

# --- waiting ---

# busywait SECONDS PREDICATE...: runs the predicate until it succeeds; fails if it never does.
# SECONDS is the time that it needs on an idle machine; the limit is ten times that, because other
# programs may keep the machine busy.
busywait()
{
	local end=$((SECONDS + 10 * $1 + 1))

	shift
	until "$@" > /dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.05
	done
}

# --- the manual ---

# manual NAME: prints what a page of the manual shows to be typed, without prompts: the display behind the
# comment "tested: NAME". If there is none, running what is printed fails.
manual()
{
	awk -v mark=".\\\\\" tested: $1" '
		$0 == mark { found = 1; next }
		found && /^\.Dl / { print substr($0, 5); exit }
		found && /^\.Ed/ { exit }
		inside
		found && /^\.Bd/ { inside = 1 }' "${BASH_SOURCE[0]%/*}"/../../tools/*.[78] |
		sed 's/^# //; s/\\&//g; s/\\e/\\/g' | grep . || echo "false # no page has $1"
}

# --- cleaning up ---

on_exit_commands=()

# on_exit COMMAND: registers a command line to run at exit; the last one registered runs first
on_exit()
{
	on_exit_commands=("$1" "${on_exit_commands[@]}")
}

end_of_test()
{
	local status=$? line pids

	trap - EXIT
	# mapfile < <(jobs -p) would need /dev/fd, and thus procfs, which a kernel may lack.
	# shellcheck disable=SC2207
	pids=($(jobs -p))
	if [ ${#pids[@]} -gt 0 ]; then
		kill "${pids[@]}" 2> /dev/null
		wait "${pids[@]}" 2> /dev/null
	fi
	for line in "${on_exit_commands[@]}"; do
		eval "$line"
	done
	exit "$status"
}

trap end_of_test EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# --- module and tool ---

# The release, with which the messages of the tool begin
tool_release=$("${BASH_SOURCE[0]%/*}/../../tools/packaging/version" release)

# kernel_since VERSION: whether this kernel is of VERSION, such as 6.16, or newer
kernel_since()
{
	printf '%s\n' "$1" "$(uname -r)" | sort -V -C
}

module_loaded()
{
	[ -d /sys/module/ipcuckoo ]
}

# load_module [PARAMETER=VALUE...]: loads the module, and unloads it at exit; bails if it cannot
load_module()
{
	local out

	out=$(insmod "$IPCUCKOO_KO" "$@" 2>&1) || bail "cannot load the module: $out"
	on_exit "unload_quietly"
}

# check_versions FILE: cases: a module that uses ipcuckoo, which is loaded, is loaded if only its version
# is another one, and refused if it was compiled with other structures
check_versions()
{
	local name=${1##*/} version abi other_version other_abi

	name=${name%.ko}
	version=$(< /sys/module/ipcuckoo/version)
	abi=$(modinfo -F abi "$IPCUCKOO_KO")
	other_version=${version//[0-9]/9}
	other_abi=${abi//[0-9a-f]/f}
	check "$name was compiled with the declarations of ipcuckoo" "$abi" "$(modinfo -F abi "$1")"
	sed "s/${version//./\\.}/$other_version/g" "$1" > other.ko
	run_ok "$name of another version is loaded" insmod ./other.ko
	check "$name has the other version" "$other_version" "$(cat "/sys/module/$name/version")"
	run_ok "$name is unloaded" rmmod "$name"
	sed "s/$abi/$other_abi/g" other.ko > other-abi.ko
	dmesg -C
	run_status "$name of another ABI is refused" 1 insmod ./other-abi.ko
	check_match "the kernel's log says why" \
		"$name has version ${other_version//+/\\+} \\(ABI $other_abi\\), and cannot use this module, which has version ${version//+/\\+} \\(ABI $abi\\)" \
		"$(dmesg)"
	check "$name is not loaded" "" "$(ls -d "/sys/module/$name" 2> /dev/null)"
}

# need_ingress: skips the program if the kernel has no netfilter hooks at ingress. The module must
# be loaded.
need_ingress()
{
	local status

	"$IPCUCKOO" create ingress hash:ip &&
		"$IPCUCKOO" attach ingress src count ingress dev lo > /dev/null 2>&1
	status=$?
	"$IPCUCKOO" detach --all > /dev/null
	"$IPCUCKOO" destroy ingress
	[ $status -eq 0 ] || skip_all "this kernel has no netfilter hooks at ingress"
}

# unload_module [SECONDS]. Namespaces are destroyed in the background, and each one holds a
# reference to the module until then, so try for some seconds.
unload_module()
{
	busywait "${1:-10}" rmmod ipcuckoo
}

unload_quietly()
{
	module_loaded && unload_module > /dev/null 2>&1
	return 0
}

# Runs the tool in the namespace that has the sets: f, if setup_net was called. Without the guard, as
# tests block all of the internet, and the machine's own addresses; tool-guard.sh tests the guard.
ipcuckoo()
{
	if [ -n "${net_up:-}" ]; then
		in_f "$IPCUCKOO" --force "$@"
	else
		"$IPCUCKOO" --force "$@"
	fi
}

# --- network ---
#
#        c: client                    f: firewall                    s: server
#   +------------------+        +-----------------------+        +------------------+
#   |             eth0 |--veth--| c0                 s0 |--veth--| eth0             |
#   |      10.0.1.2/24 |        | 10.0.1.1     10.0.2.1 |        | 10.0.2.2/24      |
#   |     fd00:1::2/64 |        | fd00:1::1   fd00:2::1 |        | fd00:2::2/64     |
#   +------------------+        +-----------------------+        +------------------+
#
# The module's sets are in f, which forwards packets. Client and server send everything to f, and
# f routes all addresses outside the network to the client, so that the client can use any source
# address. Neighbours are permanent, and duplicate address detection, router solicitations and
# offloads are off. So, except for IPv6 multicast, the packets at a hook are those that the test
# has sent.

C4=10.0.1.2
C6=fd00:1::2
FC4=10.0.1.1
FC6=fd00:1::1
FS4=10.0.2.1
FS6=fd00:2::1
S4=10.0.2.2
S6=fd00:2::2

# Do not run in_c, in_f or in_s in the background with "&". The test would kill the shell that
# runs the function, but the command would continue to run and keep the namespace alive. Use
# nsenter directly there.
in_c()
{
	nsenter --net=/run/netns/c "$@"
}

in_f()
{
	nsenter --net=/run/netns/f "$@"
}

in_s()
{
	nsenter --net=/run/netns/s "$@"
}

# A kernel without IPv6 has no IPv6 packets, and nftables has no tables of family inet there.
ipv6=
nft_family=ip
if [ -d /proc/sys/net/ipv6 ]; then
	ipv6=1
	nft_family=inet
fi

# Set these before there are interfaces: new interfaces inherit them.
net_sysctls()
{
	local forward=0

	[ "$1" != f ] || forward=1
	nsenter --net="/run/netns/$1" bash -c '
		cd /proc/sys/net || exit
		for conf in ipv4/conf/{all,default}; do
			echo 0 > $conf/rp_filter
			echo 0 > $conf/send_redirects
			echo 1 > $conf/accept_local
		done
		for conf in ipv6/conf/{all,default}; do
			[ -d $conf ] || continue
			echo 0 > $conf/accept_dad
			echo 0 > $conf/accept_ra
			echo 0 > $conf/router_solicitations
			echo "$0" > $conf/forwarding
		done
		echo "$0" > ipv4/ip_forward
		echo 0 > ipv4/icmp_ratelimit
		[ ! -d ipv6 ] || echo 0 > ipv6/icmp/ratelimit' "$forward"
}

# net_end NS DEV OWN4 OWN6 PEER4 PEER6 PEER-MAC: configures one end of a link: its addresses, and
# the other end as its only neighbour
net_end()
{
	ip -n "$1" -batch - <<-END
	link set lo up
	link set $2 up
	addr add $3/24 dev $2
	neigh replace $5 lladdr $7 dev $2 nud permanent
	${ipv6:+addr add $4/64 dev $2 nodad}
	${ipv6:+neigh replace $6 lladdr $7 dev $2 nud permanent}
	END
}

# net_default NS GATEWAY4 GATEWAY6
net_default()
{
	ip -n "$1" -batch - <<-END
	route add default via $2
	${ipv6:+route add default via $3}
	END
}

# Turn offloads off, so that each packet that the test sends is one packet at the hook, and has
# its checksum.
no_offload()
{
	nsenter --net="/run/netns/$1" ethtool -K "$2" \
		tx off rx off sg off tso off gso off gro off > /dev/null
}

net_create()
{
	local ns mac=02:00:00:00:00

	for ns in c f s; do
		ip netns add "$ns" && net_sysctls "$ns" || return
	done
	ip link add c0 netns f address $mac:11 type veth \
		peer name eth0 netns c address $mac:12 &&
	ip link add s0 netns f address $mac:21 type veth \
		peer name eth0 netns s address $mac:22 &&
	no_offload c eth0 && no_offload f c0 && no_offload f s0 && no_offload s eth0 &&
	net_end c eth0 $C4 $C6 $FC4 $FC6 $mac:11 &&
	net_end f c0 $FC4 $FC6 $C4 $C6 $mac:12 &&
	net_end f s0 $FS4 $FS6 $S4 $S6 $mac:22 &&
	net_end s eth0 $S4 $S6 $FS4 $FS6 $mac:21 &&
	net_default c $FC4 $FC6 &&
	net_default f $C4 $C6 &&
	net_default s $FS4 $FS6
}

# setup_net: creates the network above; bails if it cannot
setup_net()
{
	local out

	on_exit "cleanup_net"
	out=$(net_create 2>&1) || bail "cannot set up the network: $out"
	net_up=1
}

cleanup_net()
{
	local ns

	net_up=
	for ns in c f s; do
		[ ! -e /run/netns/$ns ] || ip netns del $ns
	done
}
