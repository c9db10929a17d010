#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module is replaced by ipcuckoo-upgrade while packets flow. Packets of addresses in the sets
# must never pass, packets of others must never be dropped: neither during the upgrade, nor if it
# is refused, fails, or is killed, nor when it is then run again. churn-flow.c sends and checks the
# packets. With ROUNDS, it is killed three times as often. With ENTRIES, only the upgrade while sets change is
# tested, with a set of so many entries.

. "${0%/*}/../../lib/lib.sh"
. "${0%/*}/../../lib/lib-net.sh"

dir=/tmp/upgrade
program=$(realpath "${0%/*}/../../../tools/ipcuckoo-upgrade")
ko=$(realpath "$IPCUCKOO_KO")
spare=${ko%/*}/spare/ipcuckoo_spare.ko
flow=

# upgrade [DIRECTORY]: runs ipcuckoo-upgrade with the modules of a directory
upgrade()
{
	"$program" --modules "${1:-$dir/good}" > "$dir/out" 2>&1
}

# hooked TIME COMMANDS: runs ipcuckoo-upgrade as upgrade() does, in a process group of its own, and
# COMMANDS when it first calls a program (the tool: in f) with words that match the pattern TIME; in the
# place of this program if they end with exit. They use the sets with $f. With hook_silent=1, monitors
# get no events, as in a network namespace of another user namespace. COMMANDS may use $HOSTNAME, which bash
# sets and sh, which runs them, does not.
hooked()
{
	mkdir $dir/unhooked
	HOSTNAME=$HOSTNAME hook_tool=$IPCUCKOO hook_time=$1 hook_commands=$2 IPCUCKOO=$dir/bin/ipcuckoo \
		PATH=$dir/bin:$PATH setsid --wait "$program" --modules $dir/good > $dir/out 2>&1
}

# Writes the program that hooked() has in the place of others. Most of the time of an upgrade goes into
# starting programs, so it is for a small shell.
make_hook()
{
	cat > $dir/bin/hook <<- 'EOF'
		#!/bin/sh
		PATH=${PATH#*:}
		name=${0##*/}
		f="nsenter --net=/run/netns/f $hook_tool"
		if [ -n "${hook_silent:-}" ] && [ "$name $*" = "ipcuckoo monitor" ]; then
			echo "listening: there are no events"
			exec sleep 1000
		fi
		case "$name $*" in
		$hook_time)
			if { [ $name != ipcuckoo ] || [ /proc/self/ns/net -ef /run/netns/f ]; } &&
				rmdir /tmp/upgrade/unhooked 2> /dev/null; then
				eval "$hook_commands"
			fi
			;;
		esac
		[ $name != ipcuckoo ] || name=$hook_tool
		exec "$name" "$@"
	EOF
	chmod +x $dir/bin/hook
	ln -s hook $dir/bin/ipcuckoo
	ln -s hook $dir/bin/rmmod
	ln -s hook $dir/bin/insmod
}

begin_flow()
{
	# The other processes shall not wait for it, where there is one processor. Each step of an upgrade
	# takes longer than the pause.
	nice -n 5 "$helpers/churn-flow" -c 0 -s "$seed" -p 5000 "$dir/hosts+$dir/nets" "$dir/non-members" \
		> "$dir/flow" 2>&1 &
	flow=$!
	busywait 60 grep -q flowing "$dir/flow" || bail "no packets: $(< "$dir/flow")"
}

# end_flow NAME: a case: no packet was wrongly dropped or passed since begin_flow
end_flow()
{
	local status

	kill -TERM "$flow"
	wait "$flow"
	status=$?
	note "$(sed 1d "$dir/flow")"
	check "$1: no wrong verdict (seed $seed)" 0 $status
}

in_tenant()
{
	nsenter --net="/run/netns/tenant  1" "$@"
}

# Prints all sets and attachments of three namespaces, without what changes by itself.
everything()
{
	{
		ipcuckoo save --all
		in_tenant "$IPCUCKOO" save --all
		"$IPCUCKOO" save --all
	} | sed -E 's/ (timeout|packets|bytes|hashsize) [0-9]+//g'
}

# in_force NAME [MODULES]: cases: the module has everything that it had, and the other module is
# gone. MODULES are those that are to be loaded.
in_force()
{
	local modules=${2:-ipcuckoo}

	check "$1: all sets and attachments are there" "$(< "$dir/everything")" "$(everything)"
	check "$1: what is loaded: $modules" "$modules" "$(cd /sys/module && echo ipcuckoo*)"
}

# Attaches a set at XDP, by a restore that fails, because modprobe does not find ipcuckoo_bpf. During the
# upgrade modprobe does not find it either.
attach_xdp()
{
	printf 'attach +few %s xdp dev c0\n' "src accept" "dst drop" |
		ipcuckoo -exist restore 2> "$dir/out"
	check_match "upgrade: at XDP, sets are attached without a program" \
		"no program.*no program" "$(ipcuckoo stats | paste -sd ' ')"
}

# The set -q has the name of an option, and +few is saved before it. The set blanks is not attached,
# because a set that is attached keeps the module in use.
make_sets()
{
	ipcuckoo create hosts hash:ip family any counters &&
		ipcuckoo load hosts $dir/hosts > /dev/null &&
		ipcuckoo create nets hash:net family any description "prefixes of $HOSTNAME" &&
		ipcuckoo load nets $dir/nets > /dev/null &&
		ipcuckoo create extra hash:net timeout 0 counters comment skbinfo &&
		ipcuckoo add extra 198.18.7.0/24 timeout 5000 comment "a b" skbmark 0x7/0xff &&
		ipcuckoo add extra 198.18.7.9 nomatch &&
		ipcuckoo create live hash:ip maxelem 1000000 &&
		ipcuckoo create +few hash:ip &&
		ipcuckoo add +few 198.18.9.8 &&
		ipcuckoo create full hash:ip maxelem 64 forceadd &&
		printf '198.18.11.%s\n' {1..64} | ipcuckoo load full - > /dev/null &&
		ipcuckoo create -- -q hash:ip &&
		ipcuckoo add -- -q 198.18.9.9 &&
		ipcuckoo attach hosts src drop > /dev/null &&
		ipcuckoo attach nets src drop priority 7 log > /dev/null &&
		ipcuckoo attach extra both mark 3/7 dev c0 loopback > /dev/null &&
		ipcuckoo attach +few src drop proto tcp dport 22,80-90 > /dev/null &&
		in_tenant "$IPCUCKOO" create blanks hash:ip &&
		in_tenant "$IPCUCKOO" add blanks 198.18.9.7 &&
		"$IPCUCKOO" create here hash:ip family inet6 &&
		"$IPCUCKOO" add here 2001:db8::7 || bail "cannot create the sets"
	attach_xdp
	everything > "$dir/everything"
}

parameters()
{
	(cd /sys/module/ipcuckoo/parameters && echo "$(< memory_limit) $(< userns)")
}

test_upgrade()
{
	local i before

	before=$(ipcuckoo save extra | sed -n 's/.* timeout \([0-9]*\) .*/\1/p;T;q')
	begin_flow
	for i in 1 2; do
		run_ok "upgrade $i" upgrade
		note "$(< "$dir/out")"
		in_force "upgrade $i"
	done
	end_flow "while the module is replaced twice"
	check "timeouts go on" 1 $(($(ipcuckoo save extra |
		sed -n 's/.* timeout \([0-9]*\) .*/\1/p;T;q') <= before))
	check "the parameters are kept" "64 Y" "$(parameters)"
}

# refused NAME MESSAGE [DIRECTORY [MODULES]]: cases: ipcuckoo-upgrade says why it changes nothing
refused()
{
	upgrade "${3:-}"
	check "$1: status" 1 $?
	check_match "$1: the message" "$2" "$(< "$dir/out")"
	in_force "$1" "${4:-}"
}

# is_open PID NAME: whether the standard input of a process is the file of a set
is_open()
{
	[[ $(readlink "/proc/$1/fd/0") = */set/$2 ]]
}

# rule WORD: adds (-A) or deletes (-D) a rule of iptables that refers to a set
rule()
{
	XTABLES_LIBDIR=$IPCUCKOO_XTABLES in_f iptables "$1" OUTPUT -m ipcuckoo --match-set live dst
}

# Test that all modules stay while rules refer to sets, and that xt_ipcuckoo is loaded again without.
test_rule()
{
	local identity

	if ! modprobe -a x_tables || ! insmod "$IPCUCKOO_XT_KO" || ! rule -A; then
		skip "a rule of iptables" "no iptables, x_tables or libxtables-dev here"
		return
	fi
	identity=$(stat -c %i /sys/module/xt_ipcuckoo)
	refused "a rule of iptables" "first attach these sets with drop, which drops more"
	check "a rule of iptables: xt_ipcuckoo was not loaded anew" "$identity" \
		"$(stat -c %i /sys/module/xt_ipcuckoo)"
	# As if an earlier run had been interrupted
	insmod "$spare"
	refused "a rule of iptables, and both modules" "rules of iptables refer to sets"
	rule -D
	upgrade
	check "without the rule: status" 0 $?
	check "without the rule: xt_ipcuckoo is another one" 1 \
		$(($(stat -c %i /sys/module/xt_ipcuckoo) != identity))
	in_force "without the rule"
	rmmod xt_ipcuckoo
}

# Inserts ipcuckoo_ipset, and creates a set of ipset. False if this kernel has no such sets.
with_ipset()
{
	modprobe ip_set && insmod "$IPCUCKOO_IPSET_KO" && in_f ipset create other hash:ip
}

# Test that the old module stays while it has sets of ipset, and that ipcuckoo_ipset is loaded again without.
test_ipset()
{
	if ! with_ipset; then
		skip "a set of ipset" "no ipset or ip_set here"
		return
	fi
	refused "a set of ipset" \
		"namespace /run/netns/f.*: other; nsenter --net=/run/netns/f ipset list.*the sets of ipset .* cannot be copied" \
		"" "ipcuckoo ipcuckoo_ipset"
	insmod "$spare"
	refused "a set of ipset, and both modules" "the sets of ipset .* cannot be copied" "" \
		"ipcuckoo ipcuckoo_ipset"
	in_f ipset destroy other
	run_ok "without the set of ipset" upgrade
	in_force "without the set of ipset" "ipcuckoo ipcuckoo_ipset"
	# A program of a namespace that has no file
	unshare --net sh -c "ipset create hidden hash:ip && echo > $dir/created && exec sleep 1000" &
	busywait 10 test -e $dir/created
	refused "a set of ipset in a namespace of a process" "process $! .sleep.: hidden; nsenter --net=/proc/$!/ns/net ipset" \
		"" "ipcuckoo ipcuckoo_ipset"
	kill $!
	wait $! 2> /dev/null
	run_ok "the module for ipset can be unloaded after that" busywait 10 rmmod ipcuckoo_ipset
}

test_refused()
{
	begin_flow
	refused "no module of the second name" "cannot load the module ipcuckoo_spare" $dir/none
	nsenter --net=/run/netns/f sh -c 'exec sleep 1000 < /proc/net/ipcuckoo/set/hosts' &
	busywait 10 is_open $! hosts
	refused "a file of the module is open" "is in use: is a file of /proc/net/ipcuckoo open"
	kill $!
	wait $! 2> /dev/null
	ipcuckoo create approximate filter:ip capacity 100 fpp 0.01
	ipcuckoo add approximate 198.18.0.1
	upgrade
	check "a filter with entries: status" 1 $?
	check_match "a filter with entries: the message" "entries of approximate, .* cannot be copied" \
		"$(< "$dir/out")"
	ipcuckoo destroy approximate
	in_force "a filter with entries"
	hooked 'ipcuckoo --force -name list' 'exit 1'
	check "a namespace whose sets cannot be listed: status" 1 $?
	check_match "a namespace whose sets cannot be listed: the message" \
		"cannot list the sets of the network namespace /run/netns/f" "$(< "$dir/out")"
	in_force "a namespace whose sets cannot be listed"
	test_rule
	test_ipset
	end_flow "while upgrades are refused"
}

# The new module cannot be loaded: the other one stays in force until the next try.
test_broken()
{
	echo broken > $dir/broken/ipcuckoo.ko
	begin_flow
	upgrade $dir/broken
	check "the new module is broken: status" 2 $?
	check_match "the new module is broken: the message" \
		"ipcuckoo_spare stays loaded, so that all lists stay in force" "$(< "$dir/out")"
	check "the other one is loaded" ipcuckoo_spare "$(cd /sys/module && echo ipcuckoo*)"
	run_ok "run again with a good one" upgrade
	in_force "run again"
	end_flow "while the new module is broken"
}

# loaded_by_others: cases: only the other module is in force, and somebody else loads the module
loaded_by_others()
{
	upgrade $dir/broken
	check "the new module is broken again: status" 2 $?
	insmod "$ko" || bail "cannot load the module"
}

# While only the other module is in force, the kernel loads the module for somebody's set of ipset,
# without the parameters that it had. All lists go back to it, and it gets its parameters if it can
# be replaced.
test_loaded_by_others()
{
	begin_flow
	loaded_by_others
	run_ok "loaded by somebody else, and run again" upgrade
	check_match "loaded by somebody else: the message" \
		"loaded with memory_limit=0, and not with memory_limit=64 as before" "$(< $dir/out)"
	check "loaded by somebody else: the parameters are kept" "64 Y" "$(parameters)"
	in_force "loaded by somebody else"
	loaded_by_others
	if with_ipset; then
		refused "loaded for a set of ipset" "with userns=N, and not with userns=Y .*cannot be copied" \
			"" "ipcuckoo ipcuckoo_ipset"
		check "loaded for a set of ipset: the parameters are others" "0 N" "$(parameters)"
		run_error "no user can prevent upgrades by sets of ipset, without userns=1" 1 "not permitted" \
			unshare --user --map-root-user --net ipset create mine hash:ip
		in_f ipset destroy other
		run_ok "the module for ipset can be unloaded" busywait 10 rmmod ipcuckoo_ipset
	else
		skip "loaded for a set of ipset" "no ipset or ip_set here"
		upgrade
	fi
	end_flow "while somebody else loads the module"
}

# created_by_others COMMANDS: runs ipcuckoo-upgrade. Once the old module is removed, the kernel loads
# the new one for the COMMANDS of somebody else.
created_by_others()
{
	hooked 'rmmod ipcuckoo' \
		"rmmod ipcuckoo || exit; insmod $ko memory_limit=64 userns=1 && $1; exit 0"
}

# What somebody has created while there was no module is kept, and all lists come back to it.
test_created_by_others()
{
	begin_flow
	created_by_others '$f create hosts hash:ip family any counters && $f attach hosts src drop &&
		$f create extra hash:net timeout 0 counters comment skbinfo &&
		$f add extra 198.18.7.0/24 timeout 9000 comment "a b" skbmark 0x7/0xff'
	check "somebody attaches a set meanwhile: status" 0 $?
	in_force "somebody attaches a set meanwhile"
	check_match "somebody adds an entry meanwhile: it has the new timeout" \
		"198.18.7.0/24 timeout (9000|8[0-9]{3}) " "$(ipcuckoo save extra)"
	created_by_others '$f create nets hash:net family any description "prefixes of $HOSTNAME"'
	check "somebody only creates a set meanwhile: status" 0 $?
	in_force "somebody only creates a set meanwhile"
	created_by_others '$f create hosts hash:net'
	check "somebody creates a set with other options: status" 2 $?
	check_match "somebody creates a set with other options: the message" \
		"hosts.*cannot restore the sets; .* detach and destroy it" "$(< $dir/out)"
	ipcuckoo destroy hosts
	run_ok "that set is destroyed, and it is run again" upgrade
	in_force "that set is destroyed, and it is run again"
	end_flow "while somebody creates sets"
}

# Prints the modules that are loaded, and which of them have attachments in f.
loaded()
{
	local name

	for name in ipcuckoo ipcuckoo_spare; do
		[ ! -d /sys/module/$name ] || echo "$name$(in_f awk '!/^#/ { print ":attached"; exit }' \
			/proc/net/$name/attachments)"
	done | paste -sd ' '
}

# Exceptions, timeouts and comments that change while the old module is in force
test_values_between()
{
	hooked 'ipcuckoo --force --json detach --all' '$f add nets 198.18.200.9 nomatch
		$f -exist add nets 198.18.200.8; $f add extra 198.18.7.8 timeout 4000 comment "x y"; sleep 1
		$f del nets 198.18.200.8; sleep 1'
	check "values change: status" 0 $?
	note "$(< $dir/out)"
	check "values change: exceptions stay exceptions" "198.18.200.9 nomatch" \
		"$(ipcuckoo save nets | sed -n 's/^add nets \(198.18.200.[89]\b.*\)/\1/p')"
	check_match "values change: timeout and comment" '198.18.7.8 timeout 3[89][0-9]{2} .*"x y"' \
		"$(ipcuckoo save extra)"
	ipcuckoo del nets 198.18.200.9
	ipcuckoo del extra 198.18.7.8
	in_force "values change"
	# Each addition evicts an entry, any.
	hooked 'ipcuckoo --force --json detach --all' 'for i in 1 2 3 4 5; do $f add full 198.18.12.$i; done
		$f save full > /tmp/upgrade/evicted; sleep 1'
	check "entries are evicted: status" 0 $?
	check "entries are evicted: the same ones" "$(sort $dir/evicted)" "$(ipcuckoo save full | sort)"
	printf '198.18.11.%s\n' {1..64} | ipcuckoo load full - > /dev/null
	in_force "entries are evicted"
}

# Test what is changed in the old module between the copies. The hook comes before the old module is
# detached, or before it is removed; the monitors need some time.
test_changes_between()
{
	begin_flow
	ipcuckoo add live 10.9.9.1
	hooked 'ipcuckoo --force --json detach --all' '$f del +few 198.18.9.8; $f flush live; sleep 1
		$f -exist add extra 198.18.7.0/24 timeout 12000 comment "a b" skbmark 0x7/0xff; sleep 1'
	check "entries change: status" 0 $?
	note "$(< $dir/out)"
	run_error "an entry that was deleted stays so" 1 "is NOT in set" ipcuckoo test +few 198.18.9.8
	run_error "a set that was flushed stays so" 1 "is NOT in set" ipcuckoo test live 10.9.9.1
	check_match "a timeout that was renewed stays so" "198.18.7.0/24 timeout 1[12][0-9]{3} " \
		"$(ipcuckoo save extra)"
	ipcuckoo add +few 198.18.9.8
	in_force "entries change"
	hooked 'rmmod ipcuckoo' '$f del +few 198.18.9.8; $f add live 10.9.9.2'
	check "entries change at last: status" 0 $?
	note "$(< $dir/out)"
	run_error "an entry that was deleted at last stays so" 1 "is NOT in set" ipcuckoo test +few 198.18.9.8
	run_ok "an entry that was added at last stays so" ipcuckoo -q test live 10.9.9.2
	ipcuckoo add +few 198.18.9.8
	ipcuckoo del live 10.9.9.2
	in_force "entries change at last"
	hooked 'rmmod ipcuckoo' '$f add extra 198.18.7.8 timeout 77; $f del extra 198.18.7.9'
	check "entries with values change at last: status" 0 $?
	note "$(< $dir/out)"
	check_match "entries with values change at last: one has its timeout" "add extra 198.18.7.8 timeout [67].*[^9]$" \
		"$(ipcuckoo save extra | grep '198.18.7.[89]')"
	ipcuckoo del extra 198.18.7.8
	ipcuckoo add extra 198.18.7.9 nomatch
	in_force "entries with values change at last"
	# Each addition evicts an entry, and the evictions cannot be repeated.
	hooked 'rmmod ipcuckoo' '$f add full 198.18.12.1'
	check "an entry is evicted at last: status" 4 $?
	check_match "an entry is evicted at last: the changes are printed" \
		"/netns/f are lost; repeat them:.added full 198.18.12.1.deleted full 198.18.11" "$(< $dir/out)"
	printf '198.18.11.%s\n' {1..64} | ipcuckoo load full - > /dev/null
	in_force "an entry is evicted at last"
	test_values_between
	hooked 'rmmod ipcuckoo' '$f add live 10.9.9.4 && rmmod ipcuckoo; sleep 1; kill -KILL 0'
	check_match "killed before the last changes are repeated: the message" \
		"interrupted; the module was replaced" "$(< $dir/out)"
	run_ok "killed before the last changes are repeated: they are" ipcuckoo -q test live 10.9.9.4
	ipcuckoo flush live
	in_force "killed before the last changes are repeated"
	hook_silent=1 hooked 'ipcuckoo --force --json detach --all' \
		'$f del +few 198.18.9.8; $f add live 10.9.9.3'
	check "entries change, without events: status" 0 $?
	note "$(< $dir/out)"
	run_error "an entry that was deleted stays so" 1 "is NOT in set" ipcuckoo test +few 198.18.9.8
	run_ok "an entry that was added stays so" ipcuckoo -q test live 10.9.9.3
	ipcuckoo add +few 198.18.9.8
	ipcuckoo flush live
	in_force "entries change, without events"
	hooked 'ipcuckoo --force --json detach --all' 'nsenter --net=/run/netns/c $hook_tool create late hash:ip'
	check "a set is created in another namespace: status" 1 $?
	check_match "a set is created in another namespace: the message" \
		"in another network namespace meanwhile; run this again; nothing was changed" "$(< $dir/out)"
	in_c "$IPCUCKOO" destroy late
	in_force "a set is created in another namespace"
	hooked 'ipcuckoo --spare --force -exist restore' '$f create other hash:ip; sleep 1'
	check "a set is created: status" 1 $?
	check_match "a set is created: the message" \
		"more than entries meanwhile \(new other .*; nothing was changed" "$(< $dir/out)"
	ipcuckoo destroy other
	in_force "a set is created"
	hooked 'ipcuckoo --force --json detach --all' '$f attach live dst count; $f detach extra; sleep 1'
	check "sets are attached and detached: status" 1 $?
	# No other set is printed as detached: a message follows.
	check_match "sets are attached and detached: the message" \
		"repeat them:.attached live [-a-z0-9 ]*.detached extra [-/a-z0-9 ]*.ipcuckoo.*ipcuckoo-upgrade: others" \
		"$(< $dir/out)"
	in_force "sets are attached and detached"
	end_flow "while sets change between the copies"
}

# Has another run that nobody waits for ended?
is_done()
{
	flock -n /run/ipcuckoo-upgrade true && [ "$(loaded)" = ipcuckoo:attached ]
}

# Two runs at once: the second one must not take the first one's spare module for that of a run that
# was interrupted.
test_twice()
{
	begin_flow
	hooked 'rmmod ipcuckoo' "$program --modules $dir/good > $dir/second 2>&1; echo \$? >> $dir/second"
	check "a second run at once: status of the first one" 0 $?
	check_match "a second run at once: message and status of the second one" \
		"another ipcuckoo-upgrade is running; wait until it has ended.1$" "$(< $dir/second)"
	in_force "a second run at once"
	hooked 'rmmod ipcuckoo' 'kill -KILL $PPID; exit 1'
	check "killed alone: status, and what is loaded" "137 ipcuckoo:attached" "$? $(loaded)"
	check_match "killed alone: the message" "the upgrade was interrupted; nothing was changed" "$(< $dir/out)"
	in_force "killed alone"
	hooked 'rmmod ipcuckoo' 'kill -KILL $(cut -d" " -f6 /proc/self/stat); exec rmmod ipcuckoo'
	check "the process that waits is killed: status" 137 $?
	run_ok "the process that waits is killed: the upgrade goes on to its end" busywait 60 is_done
	in_force "the process that waits is killed"
	hooked 'rmmod ipcuckoo' 'kill -KILL $(cut -d" " -f6 /proc/self/stat) 0; exit 1'
	check "both are killed: status, and what is loaded" "137 ipcuckoo ipcuckoo_spare:attached" "$? $(loaded)"
	# The old module has all sets, and is not attached.
	ipcuckoo del +few 198.18.9.8
	run_ok "both are killed, and run again" upgrade
	run_error "what was deleted before it was run again stays so" 1 "is NOT in set" \
		ipcuckoo test +few 198.18.9.8
	ipcuckoo add +few 198.18.9.8
	in_force "both are killed, and run again"
	end_flow "while it runs twice at once"
}

# killed_at NAME TIME SIGNAL MESSAGE: cases: the process that works, and all that it has started, get a signal
# when it is about to call a program as in hooked(). Nothing is left of the upgrade, or it is complete; the
# modules that use the other one are there.
killed_at()
{
	local status

	hooked "$2" "kill -$3 0; sleep 5"
	status=$?
	check "SIG$3 $1: status" $((128 + $(kill -l "$3"))) $status
	check_match "SIG$3 $1: the message" "interrupted; $4" "$(< $dir/out)"
	in_force "SIG$3 $1" "$helpers_loaded"
}

test_killed()
{
	local signal helpers_loaded=ipcuckoo

	! with_ipset || helpers_loaded="ipcuckoo ipcuckoo_ipset"
	in_f ipset destroy other 2> /dev/null
	begin_flow
	for signal in KILL ${ROUNDS:+TERM KILL}; do
		killed_at "before the spare module is loaded" 'insmod */ipcuckoo_spare.ko *' $signal nothing
		killed_at "before the spare module is filled" 'ipcuckoo --spare --force -exist restore' \
			$signal nothing
		killed_at "after the spare module is filled" 'ipcuckoo --force --json detach --all' $signal nothing
		killed_at "after the old module is detached" 'rmmod ipcuckoo' $signal nothing
		killed_at "after the old module is removed" "insmod */ipcuckoo.ko *" $signal "the module was replaced"
		killed_at "after the new module is filled" 'ipcuckoo --spare --force detach --all' $signal \
			"the module was replaced"
	done
	end_flow "while upgrades are killed"
	[ "$helpers_loaded" = ipcuckoo ] || run_ok "then ipcuckoo_ipset can be unloaded" busywait 10 rmmod ipcuckoo_ipset
}

# Adds hosts to the sets live and timed until the file "run" is gone, a thousand a second if the machine is
# fast enough, and notes which were accepted: "SET HOST".
change_sets()
{
	in_f python3 - $dir/run $dir/accepted <<- 'END'
		import os, sys, time
		with open(sys.argv[2], "w") as accepted:
		    for n in range(1 << 20):
		        host = f"10.{77 + (n >> 16)}.{n >> 8 & 255}.{n & 255}"
		        for name in "live", "timed":
		            try:
		                file = os.open(f"/proc/net/ipcuckoo/set/{name}", os.O_WRONLY)
		            except OSError:
		                continue
		            try:
		                os.write(file, f"+{host}\n".encode())
		                print(name, host, file=accepted, flush=True)
		            except OSError:
		                pass
		            os.close(file)
		        time.sleep(0.002)
		        if not n % 32 and not os.path.exists(sys.argv[1]):
		            break
	END
}

# A change that the kernel has accepted must survive, or be named. ENTRIES is how many hosts the set live has
# before: with ten million, no list of it is read without a change meanwhile.
test_changes()
{
	local entries=${ENTRIES:-20000} begin

	ipcuckoo create timed hash:ip timeout 5000 maxelem 10000000 || bail "cannot create the set timed"
	ipcuckoo change live maxelem 0
	python3 -c 'import sys
for i in range(int(sys.argv[1])): print(f"{128 + (i >> 24)}.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}")' "$entries" |
		ipcuckoo load live - > /dev/null || bail "cannot load the set live"
	ipcuckoo add timed 192.0.2.1 timeout 90000
	touch $dir/run
	change_sets &
	sleep 1
	begin=$SECONDS
	upgrade
	check_match "upgrade while sets change" '^(0|4)$' $?
	note "it took $((SECONDS - begin)) s, and $(wc -l < $dir/accepted) changes were accepted meanwhile"
	rm $dir/run
	wait $!
	note "$(head -c 1000 "$dir/out")"
	{
		ipcuckoo save live
		ipcuckoo save timed
	} > $dir/saved
	awk '$1 == "add" && $3 ~ /^10\./ { print $2, $3 }' $dir/saved > $dir/present
	check_match "changes were accepted" '^[1-9]' "$(wc -l < $dir/accepted)"
	sed -nE 's/^added (live|timed) ([0-9.]+).*/\1 \2/p' $dir/out >> $dir/present
	check "none was lost without a word" "" \
		"$(sort -u $dir/present | comm -13 - <(sort -u $dir/accepted) | head)"
	check "none of the other entries was lost" "$entries" \
		"$(grep -c '^add live 1[2-9][0-9]\.' $dir/saved)"
	check "entries have the timeouts that they had" "" \
		"$(awk '$2 == "timed" && $1 == "add" && $3 != "192.0.2.1" && ($5 < 3000 || $5 > 5000)' $dir/saved | head)"
	check_match "an entry has a timeout of its own" '^add timed 192.0.2.1 timeout 8[0-9]{4}$' \
		"$(grep '192\.0\.2\.1' $dir/saved)"
	ipcuckoo flush live
	ipcuckoo change live maxelem 1000000
	ipcuckoo destroy timed
	in_force "upgrade while sets change"
}

[ -n "$ipv6" ] || skip_all "no IPv6 in this kernel, and packets are of both families"
[ -f "$spare" ] || bail "no $spare: make spare"
note "SEED=$seed repeats this run"
mkdir -p $dir/{good,none,broken,bin}
make_hook
ln -s "$ko" "$spare" $dir/good
for other in "$IPCUCKOO_XT_KO" "$IPCUCKOO_IPSET_KO"; do
	[ ! -f "$other" ] || ln -s "$(realpath "$other")" $dir/good
done
ln -s "$ko" $dir/none
ln -s "$spare" $dir/broken
load_module memory_limit=64 userns=1
setup_quiet_net
on_exit "ip netns del 'tenant  1'"
ip netns add "tenant  1"
in_f "$helpers/churn-writer" -s "$seed" lists $dir || bail "cannot write the lists"
make_sets
if [ -n "${ENTRIES:-}" ]; then
	test_changes
	ktap_done
fi
test_upgrade
test_refused
test_broken
test_loaded_by_others
test_created_by_others
test_killed
test_twice
test_changes_between
test_changes
ipcuckoo detach --all
run_ok "the module can be unloaded" unload_module
ktap_done
