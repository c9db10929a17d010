#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares the tool with the real ipset: each command runs through both. Exit statuses and output
# must be the same, except for names, versions and sizes in memory, and for hashsize, bucketsize and
# initval, which only ipset prints (tool-check removes them from its output). Messages begin with
# ipset's sentence and may say more after it.

. "${0%/*}/tool-functions"

# messages FILE ARRAY: reads the messages in a file, without the name of the program, into an array.
# Of several errors only the first one, which lines of advice follow; of warnings, all.
messages()
{
	local -n lines=$2
	local i

	mapfile -t lines < "$1"
	[ -n "${lines[0]-}" ] || lines=()
	[[ ${lines[0]-} == *Warning:* ]] || lines=("${lines[@]:0:1}")
	for i in "${!lines[@]}"; do
		lines[i]=${lines[i]/#ipset v*([0-9.]): /}
		lines[i]=${lines[i]/#ipcuckoo v*([0-9.]): /}
		lines[i]=${lines[i]#Warning: }
		lines[i]=${lines[i]//ipcuckoo/ipset}
		lines[i]=${lines[i]%.}
	done
}

# as_messages_of_ipset: are there as many messages, and does each begin with ipset's?
as_messages_of_ipset()
{
	local i

	[ "${#theirs[@]}" -eq "${#ours[@]}" ] || return
	for i in "${!theirs[@]}"; do
		[[ ${ours[i]} == "${theirs[i]}"* ]] || return
	done
}

shopt -s extglob

# both WORD...: a case: the command has the same result in both
both()
{
	local want have words="$*"
	local -a theirs ours

	ipset "$@" > out.ipset 2> err.ipset < in
	want=$?
	"$IPCUCKOO" "$@" > out 2> err < in
	have=$?
	messages err.ipset theirs
	messages err ours
	ask alike out.ipset out
	if [ $want -ne $have ]; then
		not_ok "$words" "status $want, '${theirs[*]}'" "status $have, '${ours[*]}'"
	elif ! as_messages_of_ipset; then
		not_ok "$words: the message" "${theirs[*]}" "${ours[*]}"
	elif [ "$answer" != ok ]; then
		note "$answer"
		not_ok "$words: the output" "$(< out.ipset)" "$(< out)"
	else
		ok "$words"
	fi
}

# statuses WORD...: a case: both end with the same status; the output may differ
statuses()
{
	ipset "$@" > out.ipset 2> err.ipset < in
	check "$*: the status" $? "$("$IPCUCKOO" "$@" > out 2> err < in; echo $?)"
}

# lines TEXT: writes the standard input of the next commands
lines()
{
	printf '%b' "$1" > in
}

# script: runs commands through both, one for each line of standard input
script()
{
	local words

	while read -ra words; do
		[ ${#words[@]} -eq 0 ] || [ "${words[0]}" = '#' ] || both "${words[@]}"
	done
}

test_commands()
{
	# Test that every command does what ipset's does, under each of its names.
	script <<-'END'
	create a hash:ip
	create a hash:ip
	create a hash:ip -exist
	create a hash:ip maxelem 70000 -exist
	create a hash:net -exist
	n b iphash
	-N c nethash
	--create d hash:net family inet6
	cr e hash:ip -6
	ne f hash:ip -4
	--new x hash:ip maxelem 4
	create x hash:ip maxelem 4 -exist
	--x x
	add a 192.0.2.1
	add a 192.0.2.1
	add a 192.0.2.1 -exist
	-! add a 192.0.2.1
	--exist add a 192.0.2.1
	-q add a 192.0.2.1
	-quiet add a 192.0.2.1
	-A a 192.0.2.2
	a a 192.0.2.3
	add a 192.0.2.16/30
	add a 192.0.2.32-192.0.2.35
	add a 192.0.2.16/30
	add c 198.51.100.0/24
	add c 198.51.100.7/16
	add c 192.0.2.3-192.0.2.16
	add d 2001:db8::/32
	add e 2001:db8::1
	test a 192.0.2.1
	test a 192.0.2.99
	-T a 192.0.2.1
	t a 192.0.2.99
	-q test a 192.0.2.1
	-q test a 192.0.2.99
	test c 198.51.100.99
	test c 198.51.100.0/24
	test c 198.51.100.0/25
	list a
	list c
	-L d
	l e
	list
	list -n
	list -name
	-n list
	list -t
	list -terse a
	list -n a
	list -s a
	list a -sorted -terse
	-o xml list a
	-output xml list c
	-o xml list -n
	-o xml list -t
	-o save list a
	-o plain save a
	-o xml save a
	save
	save a
	-S c
	s d
	del a 192.0.2.1
	del a 192.0.2.1
	del a 192.0.2.1 -exist
	-D a 192.0.2.2
	d a 192.0.2.3
	rename b bb
	e bb b
	-E b bb
	ren bb b
	rename b a
	rename nope x
	rename b b
	swap a b
	w a b
	-W a b
	sw a b
	swap a c
	swap a nope
	swap nope a
	flush a
	-F a
	f b
	list a
	flush nope
	-! flush nope
	destroy nope
	-! destroy nope
	destroy f
	x e
	-X d
	list -n
	flush
	destroy
	list
	-o xml list
	save
	END
}

test_errors()
{
	local longest=abcdefghijklmnopqrstuvwxyz012345

	# Test that both refuse invalid words, with the same sentence.
	both create a hash:ip maxelem 4
	script <<-'END'
	nonsense
	-z list
	add
	add a
	add nope 192.0.2.1
	del nope 192.0.2.1
	test nope 192.0.2.1
	list nope
	save nope
	add a 192.0.2.1 nonsense
	create b hash:ip nonsense
	create b hash:net netmask 24
	create b hash:nonsense
	create b
	create
	create b hash:ip family
	create b hash:ip family nonsense
	create b hash:ip family inet family inet
	create b hash:ip maxelem nonsense
	create b hash:ip maxelem -1
	create b hash:ip maxelem 4294967296
	create b hash:ip hashsize 99999999999
	create b hash:ip initval 0x123456789
	rename a
	swap a
	rename
	list a b
	flush a b
	destroy a b
	add a 192.0.2.256
	add a host.invalid
	add a 2001:db8::1
	add a 192.0.2.1/
	add a 192.0.2.1-
	add a 192.0.2.1,80
	add a 192.0.2.0/33
	add a 192.0.2.0/1x
	add a 0x0a000001
	add a [host.invalid
	add a [192.0.2.1]x
	add a 192.0.2.1 timeout 5
	add a 192.0.2.1 packets 5
	add a 192.0.2.1 bytes 5
	add a 192.0.2.1 comment x
	add a 192.0.2.1 skbqueue 5
	add a 192.0.2.1 nomatch
	add a 192.0.2.1 timeout
	add a 192.0.2.1-192.0.2.9
	-o nonsense list
	-o
	-f
	list -f /nonexistent/file
	END
	both create $longest hash:ip
	both
	both -q
	both -exist
	both create m hash:ip netmask 32
	both create v hash:net family ipv4
	both list m
	both create large hash:ip maxelem 140000
	both add large 10.0.0.0/15
	both destroy large
	both create b hash:ip hashsize 100 maxelem 3 bucketsize 4 initval 0x1234
	both list b
	both -o xml list b
	both save b
	both create c hash:ip --hashsize 1 --bucketsize 11
	both list -t c
	both -file out.file save b
	both destroy
	statuses version
	statuses -v
	statuses --version
	statuses help
	statuses -H
	statuses help hash:ip
	statuses help nonsense
}

test_types()
{
	# Test that a type that neither program has is an unknown type whatever follows it, and that
	# the words after a type that both have are checked.
	script <<-'END'
	create x foo:bar
	create x foo:bar range 0-1023
	create x foo:bar timeout
	create x foo:bar timeout x
	create x foo:bar family inet family inet
	create x foo:bar -exist nonsense
	-! create x foo:bar
	create x --timeout 5 hash:ip
	create x -4 hash:ip
	create -4 x hash:ip
	create x hash:ip range 0-1023
	create x hash:ip foo:bar
	END
	lines 'create x foo:bar range 0-1023\n'
	both restore
	lines ''
	# ipset has more types than the tool.
	expect "a type of ipset" 1 "" "Syntax error: typename 'bitmap:port' is unknown" \
		create x bitmap:port range 0-1023
}

test_names()
{
	local name

	# Test that sets may have all names that ipset allows.
	for name in -foo -4 - kube-router-local:pods 'cali40s:^~;' "#%s'\\" 'a&<b>'; do
		both create "$name" hash:ip
		both add "$name" 192.0.2.1
		both test "$name" 192.0.2.1
		both list "$name"
		both save "$name"
		"$IPCUCKOO" save > saved
		both rename "$name" other
		both create "$name" hash:ip
		both swap "$name" other
		both flush other
		both destroy other
		both list -n
		both del "$name" 192.0.2.1
		both destroy "$name"
		cp saved in
		both restore
		lines ''
		both save
		both destroy "$name"
	done
	"$IPCUCKOO" create 'a&<b>:;' hash:ip
	check "XML of such names is XML" "['a&<b>:;']" "$("$IPCUCKOO" list -o xml | python3 -c '
import sys, xml.etree.ElementTree as et
print([s.get("name") for s in et.parse(sys.stdin).getroot()])')"
	json "JSON is JSON" 0 '"a&<b>:;"' 'd[0]["name"]' list
	"$IPCUCKOO" destroy
	# Test that the name of a set that does not exist is taken for a name, with a dash or
	# without.
	script <<-'END'
	list -z
	list --verbos
	save -z
	flush -z
	destroy -a
	add -z 192.0.2.1
	rename -z x
	swap -z x
	create x hash:ip
	add x -z
	add x 192.0.2.1 -z
	test x -z
	destroy
	END
	# Test that --n means -n, and that beginnings of "new" mean new.
	script <<-'END'
	-N y hash:ip
	--n list
	--n x iphash
	--n x hash:ip
	--ne z hash:ip
	--t list
	--s list
	--q add y 192.0.2.300
	--! create y hash:ip
	--o xml list
	--x y
	--na
	list -n
	destroy
	END
	# Test that a set whose name is an option of the tool is saved so that it can be restored.
	fine "a name that is an option" create -- -j hash:ip
	fine "another" create -- -- filter:ip
	fine "rename a set whose name is an option" rename -- -- --force
	fine "an entry" add -- -j 192.0.2.1
	fine "attached" attach -- -j src count
	expect "attach the filter" 0 "Set --force is approximate*" "" \
		attach --approximate -- --force src count
	"$IPCUCKOO" -q save --all > saved
	"$IPCUCKOO" detach --all && "$IPCUCKOO" destroy
	fine "restore such a set" restore -file saved
	check "the sets are as they were" "$(< saved)" "$("$IPCUCKOO" -q save --all)"
	"$IPCUCKOO" detach --all && "$IPCUCKOO" destroy
}

test_quit()
{
	local words

	# Test that a line "quit" ends restore, as it ends interactive mode.
	for words in quit q 'quit now' '  quit' '-exist quit'; do
		lines "create a hash:ip\n$words\nnonsense\n"
		both restore
		both list a
		both destroy
	done
	# ipset discards additions before "quit" that it has not sent yet, so test only ours.
	lines 'create a hash:ip\nadd a 192.0.2.1\nquit\nadd a 192.0.2.2\n'
	expect "the lines before quit are executed" 0 "" "" restore -file in
	has "the lines after quit are not" 192.0.2.1 a
	"$IPCUCKOO" destroy
	lines 'create a hash:ip\nquitx\n'
	"$IPCUCKOO" restore < in 2> err
	check "a word that begins with quit is an error" 2 $?
	lines ''
	script <<-'END'
	quit
	q
	quit now
	END
	lines 'quit now\nlist\n'
	both -
	lines ''
	# Test that an error of reading is no end. ipset does not notice it.
	for words in restore -; do
		run_error "$words: a directory as standard input" 1 \
			"standard input cannot be read: Is a directory" "$IPCUCKOO" $words < .
	done
}

# What messages call the value of an option.
name_of()
{
	case $1 in
	timeout)	echo "timeout in seconds, or as in 90s, 15m, 2h, 1h30m or 7d" ;;
	*)		echo "$1" ;;
	esac
}

test_numbers()
{
	local option words

	# Test that hexadecimal numbers are accepted as ipset accepts them, and that numbers with a
	# leading zero, which ipset reads as octal, are always refused. Times may have units, which
	# ipset does not know, see tool-words.sh.
	script <<-'END'
	create x hash:ip timeout 0x10 maxelem 0X20 hashsize 0x40
	list -t x
	destroy
	create x hash:ip timeout 08
	create x hash:ip timeout 5x
	create x hash:ip timeout 0x
	END
	for option in timeout maxelem hashsize bucketsize initval; do
		for words in 010 00 0600; do
			bad "create $option $words" "'$words' is invalid as number ($(name_of $option); a leading zero: octal or decimal?)" \
				create x hash:ip $option $words
		done
	done
	bad "create netmask" "'010' is invalid as number" create x hash:ip netmask 010
	"$IPCUCKOO" create x hash:net timeout 5 counters skbinfo
	for option in timeout packets bytes skbqueue; do
		bad "add $option" "'010' is invalid as number ($(name_of $option); a leading zero" \
			add x 192.0.2.1 $option 010
		echo "add x 192.0.2.1 $option 010" > file
		expect "add $option in a file" 1 "" "Error in line 1: Syntax error: '010' is invalid as number" \
			restore -file file
	done
	bad "a prefix length" "leading zero" add x 10.0.0.0/010
	bad "an address" "leading zero" add x 010.0.0.1
	wrong "an attachment's order" "'010' is invalid as number" attach x src count order 010
	wrong "an attachment's mark" "'010' is invalid as number" attach x src mark 010
	wrong "a limit" "'010' is invalid as number" change x maxelem 010
	wrong "the number of entries to show" "'010' is invalid as number" top --first 010
	has "nothing was added" "" x
	fine "zero itself" add x 192.0.2.1 timeout 0 packets 0x0
	check_match "zero is stored" \
		'192\.0\.2\.1 timeout 0 packets 0 bytes 0' "$("$IPCUCKOO" list x)"
	"$IPCUCKOO" destroy
}

test_firewalld()
{
	# Test that firewalld finds our types and that its commands work: run its code, with the
	# tool under the name ipset.
	mkdir -p bin
	ln -sf "$IPCUCKOO" bin/ipset
	if ! /usr/bin/python3 -c 'import firewall.core.ipset' 2> err; then
		not_ok "firewalld's code is there" "python3-firewall" "$(tail -n 1 err)"
		return
	fi
	check "firewalld" "types hash:ip hash:net
sets f4 hash:ip timeout 600, f6 hash:net family inet6
f4 192.0.2.1 192.0.2.2, f6 2001:db8::/32
version ipset v7.17, protocol version: 7" "$(/usr/bin/python3 - "$work/bin/ipset" 2>&1 <<-'END'
	import sys
	from firewall.core import ipset as module
	module.COMMANDS["ipset"] = sys.argv[1]
	ipset = module.ipset()
	# firewalld 2 does not ask.
	types = getattr(ipset, "set_supported_types", lambda: ["hash:ip", "hash:net"])
	print("types", *sorted(types()))
	ipset.set_create("f4", "hash:ip", {"family": "inet", "timeout": "600", "maxelem": "65536"})
	ipset.set_restore("f6", "hash:net", ["2001:db8::/32"], {"family": "inet6"}, None)
	ipset.set_add("f4", "192.0.2.1")
	ipset.set_restore("f4", "hash:ip", ["192.0.2.1", "192.0.2.2"],
	                  {"family": "inet", "timeout": "600", "maxelem": "65536"}, None)
	def shown(name, value):
	    kind, options = value
	    options.pop("maxelem", None) # 4294967295 where ipset has 65536 and hides it
	    return " ".join([name, kind, *(f"{k} {v}" for k, v in sorted(options.items()))])
	print("sets", ", ".join(shown(*item) for item in sorted(ipset.set_get_active_terse().items())))
	def members(name):
	    lines = ipset.set_list(name)
	    return " ".join([name, *(l.split()[0] for l in lines[lines.index("Members:") + 1:] if l)])
	print(", ".join(members(name) for name in ("f4", "f6")))
	ipset.set_delete("f4", "192.0.2.1")
	ipset.swap("f4", "f4")
	ipset.rename("f4", "f5")
	ipset.set_flush("f5")
	ipset.set_destroy("f5")
	ipset.set_destroy("f6")
	print("version", ipset.version().strip())
	END
	)"
	expect "firewalld has destroyed all sets" 0 "" "" list -n
}

# Test how programs parse the version. Each line is the code of one program, for our version and
# ipset's, which is 7.17 on Debian 12 and newer on others.
test_probes()
{
	local how name theirs

	theirs=$("$(command -v ipset)" version | sed -nE '1s/^ipset v([0-9.]+),.*/\1/p')
	ln -sf "$IPCUCKOO" bin/ipset
	for name in "$(command -v ipset)" bin/ipset; do
		{
			"$name" version
			"$name" -v
			"$name" --version
			"$name" --version | grep -oE 'v[0-9]+\.[0-9]+' | head -n 1
			"$name" -v | grep -o 'v[467]'
			"$name" -v | grep -o 'version.*[0-9]' | head -n 1 | cut -d ' ' -f 2
			"$name" -v | awk '{ print $2 }' | cut -c 2
			"$name" -v | sed 's/.*protocol version: //'
			"$name" -v | cut -d : -f 2
		} > "probes.${name%%/*}" 2>&1
	done
	check "called ipset, the result is the same" "$(sed "s/${theirs//./\\.}/7.17/" probes.)" \
		"$(< probes.bin)"
	run_tool version
	check "called ipcuckoo, the version is one line" 1 "$(grep -c '' out)"
	check "the line ends with ipset's protocol version" 7 "${out##*protocol version: }"
}

test_old_words()
{
	# Test that options that ipset has dropped are accepted, with a warning for each.
	script <<-'END'
	create a iphash --hashsize 1024 --probes 8 --resize 50
	create n hash:net --probes 4
	create x hash:net gc 100
	list -t
	-q create x hash:ip probes x
	create y hash:ip probes
	add a 192.0.2.1 probes 8
	destroy
	END
	# ipset's restore stops after a warning as if the file ended there.
	lines 'create a hash:ip probes 8 gc 5\n'
	both restore
	both list a
	both destroy
	wrong "filters do not accept them" \
		$'Unknown argument: `probes\'' create f filter:ip probes 8
}

test_hosts()
{
	# Test that host names are accepted wherever ipset accepts them.
	printf '%s\n' '127.0.0.1 localhost' '192.0.2.30 plain' '192.0.2.31 with-dash' '192.0.2.40 many' \
		'192.0.2.41 many' '2001:db8::77 six' '2001:db8::78 six-dash' \
		'198.51.100.0 net' '203.0.113.0 net-dash' '2001:db8:1:: six-net' > hosts
	mount --bind hosts /etc/hosts || bail "no /etc/hosts of our own"
	script <<-'END'
	create a hash:ip
	create n hash:net
	create s hash:ip family ipv6
	add a plain
	add a [with-dash]
	add a [192.0.2.1]
	add a [192.0.2.4]-192.0.2.5
	add a many
	add s six
	add s [2001:db8::78]
	add n plain/24
	add n plain-192.0.2.33
	add n 198.51.100.1-198.51.100.9
	-exist add n 192.0.2.28-[with-dash]
	test a plain
	test a [with-dash]
	test a localhost
	test s six
	del a plain
	del n plain/24
	list
	list -r
	create t hash:net family inet6
	add n net/24
	add n 203.0.113.0/24
	add t 2001:db8:1::/48
	add t six
	list -r n
	list t -resolve
	-o xml list -r
	-r save
	test -r n 203.0.113.0/24
	END
	ipset save -r > saved
	"$IPCUCKOO" list n | sed '1,/^Members/d' > members
	"$IPCUCKOO" destroy
	expect "restore accepts host names in brackets" 0 "" \
		"Warning: many resolves to multiple addresses" restore -file saved
	check "the names were resolved to these entries" "$(< members)" \
		"$("$IPCUCKOO" list n | sed '1,/^Members/d')"
	fine "a name with a dash outside brackets" -exist add a with-dash
	umount /etc/hosts
	both destroy
}

test_interactive()
{
	# Test interactive mode ("-"): its options apply to each line, up to a beginning of "quit".
	both create a hash:ip
	lines 'add a 192.0.2.1\nadd a 192.0.2.1\nadd a 192.0.2.1 -exist\nlist a\nq\nlist\n'
	both -
	lines 'add a 192.0.2.1\nadd a 192.0.2.2\n quit now\nlist\n'
	both -exist -
	lines 'list a\nlist -t a\n'
	both - -output xml
	lines ''
	both -
	both destroy
}

test_forceadd()
{
	local i commands=

	# Test that a full set stays full. Whether ipset finds room for one more entry depends on
	# its hash.
	both create f hash:ip maxelem 64 forceadd
	for i in {1..99}; do
		commands+="add f 192.0.2.$i\n"
	done
	lines "$commands"
	ipset - > out.ipset 2> err.ipset < in
	"$IPCUCKOO" - > out 2> err < in
	lines ''
	check "it has as many entries as ipset's set" "$(ipset list -t f | grep '^Number')" \
		"$("$IPCUCKOO" list -t f | grep '^Number')"
	both destroy
}

test_files()
{
	# Test that lists can be written to files, and replace their contents.
	script <<-'END'
	create a hash:ip
	add a 192.0.2.1
	add a 192.0.2.2
	END
	head -c 9999 /dev/zero > listed
	cp listed listed.ipset
	run_ok "ipset's list in a file" ipset list a -file listed.ipset
	fine "our list in a file" list a -file listed
	ask alike listed.ipset listed
	check "both lists are the same" ok "$answer"
	both destroy
}

test_masks()
{
	# Test that only the bits of the bitmask distinguish entries.
	script <<-'END'
	create m hash:ip netmask 24
	add m 192.0.2.1
	add m 192.0.2.2
	test m 192.0.2.99
	test m 198.51.100.1
	list m
	save m
	-o xml list m
	del m 192.0.2.77
	create m6 hash:ip family inet6 netmask 64
	add m6 2001:db8:1:2:3::1
	test m6 2001:db8:1:2::99
	list m6
	create x hash:ip netmask 33
	create x hash:ip netmask 0
	create m hash:ip netmask 24 -exist
	END
	# Kernels before 6.3 have no bitmask in ipset's types.
	if ipset create probe hash:ip bitmask 255.0.255.0 2> /dev/null; then
		ipset destroy probe
		script <<-'END'
		create b hash:ip bitmask 255.0.255.0
		add b 10.1.2.3
		test b 10.99.2.99
		test b 10.1.3.3
		list b
		save b
		create b6 hash:ip family inet6 bitmask ffff::ffff
		add b6 2001:db8::1
		test b6 2001:1:2:3::1
		list b6
		create x hash:ip bitmask 0.0.0.0
		create x hash:ip netmask 24 bitmask 255.0.0.0
		END
	else
		fine "a bitmask" create b hash:ip bitmask 255.0.255.0
		fine "an entry" add b 10.1.2.3
		has "only the bits of the mask are stored" 10.0.2.0 b
		expect "test of another address with the same bits" \
			0 "" "Warning: 10.99.2.99 is in set b." test b 10.99.2.99
		expect "test of an address with other bits" \
			1 "" "10.1.3.3 is NOT in set b." test b 10.1.3.3
		expect "an empty bitmask" 1 "" "The value of the netmask parameter is invalid" \
			create x hash:ip bitmask 0.0.0.0
		bad "netmask as well" "bitmask and netmask are mutually exclusive, provide only one" \
			create x hash:ip netmask 24 bitmask 255.0.0.0
		run_tool save b
		check_match "the bitmask is saved" 'maxelem 4294967295 bitmask 255\.0\.255\.0$' "$(head -n 1 out)"
		fine "destroy" destroy b
	fi
	lines 'create r hash:ip netmask 24\nadd r 192.0.2.1\ndel r 192.0.2.3\nadd r 192.0.2.4\n'
	both restore
	both list r
	both destroy
}

test_options()
{
	local wide

	# Test that extensions are accepted, refused and shown as ipset does it.
	script <<-'END'
	create o hash:ip timeout 0 counters comment skbinfo
	create p hash:net counters
	create q hash:ip comment
	create r hash:net skbinfo family inet6
	create s hash:ip timeout
	create s hash:ip timeout x
	create s hash:ip counters 5
	add o 192.0.2.1
	add o 192.0.2.2 packets 3 bytes 7
	add o 192.0.2.3 comment first
	add o 192.0.2.4 skbmark 0x1/0xff skbprio 1:10 skbqueue 7
	add o 192.0.2.5 skbmark 0x5 comment both packets 1
	add o 192.0.2.6 skbmark 5
	add o 192.0.2.6 skbprio 1
	add o 192.0.2.6 skbqueue 65536
	add o 192.0.2.6 timeout -1
	add o 192.0.2.2 packets 9
	add o 192.0.2.2 packets 9 -exist
	add o 192.0.2.2 bytes 8 -exist
	add o 192.0.2.3 -exist
	add o 192.0.2.16 skbmark 0x1/ff
	add o 192.0.2.17 skbmark 0x2/
	add o 192.0.2.18 skbmark 0x3/0x
	add o 192.0.2.19 skbmark 0x4/0XFF
	add o 192.0.2.20 skbmark 0x5/0xfg
	add o 192.0.2.21 skbmark 0x1ffffffff/0x1000000ff
	add o 192.0.2.22 skbmark 0x-1
	add o 192.0.2.23 skbmark 0x6,7
	add o 192.0.2.24 skbmark 0X1
	add o 192.0.2.24 skbmark 0x
	add o 192.0.2.24 skbmark /0xff
	list o
	save o
	list o -output xml
	test o 192.0.2.2
	del o 192.0.2.2
	del o 192.0.2.2
	add p 10.0.0.0/8
	add p 10.1.0.0/16 nomatch
	add p 10.1.2.3 packets 5
	test p 10.1.2.3
	test p 10.1.2.4
	test p 10.2.2.4
	test p 10.1.2.4 nomatch
	test p 10.1.0.0/16 nomatch
	test p 10.1.0.0/16
	test p 10.2.2.4 nomatch
	test q 192.0.2.1 nomatch
	test p 10.1.2.4 packets 5
	del p 10.1.0.0/16 nomatch
	del p 10.1.0.0/16 packets 5
	add p 10.1.0.0/16
	add p 10.1.0.0/16 -exist
	test p 10.1.2.4
	add p 10.1.0.0/16 nomatch -exist
	test p 10.1.2.4
	list p
	save p
	list p -output xml
	add p 10.3.0.0/16 timeout 5
	add p 10.3.0.0/16 comment x
	add p 10.3.0.0/16 skbmark 0x1
	add q 192.0.2.1 packets 5
	add q 192.0.2.1 nomatch
	add r 2001:db8::/32 skbmark 0x7/0x7
	list r
	swap p r
	END
	set -- add q 192.0.2.9 comment "two words & <more>"
	both "$@"
	both add q 192.0.2.10 comment 'a "quote"'
	both add q 192.0.2.12 comment --
	both add q 192.0.2.13 comment -j
	both add q 192.0.2.14 comment --force -exist
	wide=$(printf '%127s' '')
	wide=${wide// /$'\xc3\xa9'}
	both add q 192.0.2.15 comment "${wide}x"
	both add q 192.0.2.16 comment "$wide"$'\xc3\xa9'
	both add q 192.0.2.11 comment "$(printf '%256s' x | tr ' ' x)"
	both add q 192.0.2.11 comment "$(printf '%255s' x | tr ' ' x)"
	script <<< $'list q\nsave q'
	# With initval, each address has a bucket of its own. In one that it shares, ipset gives an
	# element that is added again the counters which it had before, as far as the line has none.
	lines 'create t hash:ip counters comment initval 0x1\nadd t 192.0.2.1 packets 5 bytes 6 comment "of a file"\nadd t 192.0.2.2\n'
	script <<< $'restore\nlist t'
	lines 'add t 192.0.2.1 comment again -exist\nadd t 192.0.2.3 comment new\ndel t 192.0.2.2\n'
	script <<< $'restore\nlist t'
	lines 'add t 192.0.2.3 packets 3\nadd t 192.0.2.1 bytes 9 -exist\nadd t 192.0.2.3 bytes 4 -exist\nadd t 192.0.2.4 packets 1 comment gone\ndel t 192.0.2.4\nadd t 192.0.2.4 bytes 2\n'
	script <<< $'-exist restore\nlist t'
	lines 'del t 192.0.2.4\nadd t 192.0.2.4\nadd p 10.1.0.0/16 -exist\n'
	script <<< $'restore\nlist t\nlist p'
	# Test that each program restores what the other one saved.
	ipset save o > saved
	"$IPCUCKOO" destroy o
	"$IPCUCKOO" restore < saved
	script <<< $'save o\nlist p'
	"$IPCUCKOO" save t --ipset > saved
	ipset destroy t
	ipset restore < saved
	script <<< $'list t\ndestroy'
}

# without_sizes FILE...: what ipset saved, without the words that only ipset prints
without_sizes()
{
	sed -E '/^create /s/ (hashsize|bucketsize) [0-9]+| initval 0x[0-9a-f]{8}//g' "$@"
}

test_sizes()
{
	local words i

	# Test that options of ipset's hash table are taken, and neither listed nor saved.
	for words in 'hashsize 0' 'hashsize 1' 'hashsize 64' 'hashsize 100' 'hashsize 4097' \
			'bucketsize 4' 'bucketsize 11' 'initval 0x1234' 'initval 0' \
			'initval 0xffffffff hashsize 128 maxelem 7 bucketsize 8'; do
		# shellcheck disable=SC2086 # several words
		both create x hash:ip $words
		both list -t x
		both save x
		both -o xml list x
		json "JSON has none of $words" 0 \
			'["family", "id", "loadfactor", "maxelem", "memsize", "numentries", "references"]' \
			'sorted(d[0]["header"])' list -t x
		both destroy x
	done
	# Test that they do not tell sets apart, and that filters have none.
	script <<-'END'
	create x hash:net hashsize 128
	create x hash:net hashsize 1024 bucketsize 8 initval 7 -exist
	create x hash:net -exist
	destroy
	END
	lines 'create x hash:ip hashsize 128\ncreate x hash:ip bucketsize 4 initval 0x5 -exist\n'
	both restore
	both list x
	lines ''
	wrong "not for filters" $'Unknown argument: `hashsize\'' create f filter:ip hashsize 64
	# Test that 129 entries fit: ipset's table of 128 buckets grows, and so does ours.
	script <<-'END'
	add x 192.0.2.0/25
	add x 198.51.100.1
	list x
	save x
	-o xml list x
	END
	for i in {0..79}; do
		echo "add x 10.0.$i.0/24"
	done > grow
	ipset restore -file grow
	check_match "ipset's table has grown" 'hashsize [0-9]{4,} ' "$(ipset list -t x)"
	fine "restore the same entries" restore -file grow
	check "ours saves no size" 'create x hash:ip family inet maxelem 4294967295' \
		"$("$IPCUCKOO" save x | head -n 1)"
	"$IPCUCKOO" save x > ours
	ipset destroy
	run_ok "ipset restores it" ipset restore -file ours
	"$IPCUCKOO" destroy
	ipset save > theirs
	fine "ours restores what ipset saved" restore -file theirs
	check "all but the sizes" "$(without_sizes theirs | LC_ALL=C sort)" \
		"$("$IPCUCKOO" save | LC_ALL=C sort)"
	both destroy
}

test_timeouts()
{
	# Test that entries expire, show the rest of their timeout, and can get a new timeout.
	"$IPCUCKOO" create short hash:ip timeout 1000
	"$IPCUCKOO" add short 192.0.2.1
	"$IPCUCKOO" add short 192.0.2.2 timeout 2000
	"$IPCUCKOO" add short 192.0.2.3 timeout 0
	check_match "lists show the rest of the timeout" \
		$'192.0.2.1 timeout (1000|9[0-9]{2})\n192.0.2.2 timeout (2000|19[0-9]{2})\n192.0.2.3 timeout 0$' \
		"$("$IPCUCKOO" list short)"
	fine "set a timeout of 3 seconds" -exist add short 192.0.2.2 timeout 3
	check "the entry expires" gone \
		"$(sleep 5; "$IPCUCKOO" -q test short 192.0.2.2 && echo there || echo gone)"
	fine "another entry does not expire" -q test short 192.0.2.1
	fine "a timeout of more than a year" -exist add short 192.0.2.1 timeout 40000000
	check_match "lists show that timeout" $'192.0.2.1 timeout (40000000|39999[0-9]*)\n' \
		"$("$IPCUCKOO" list short)"
	check "JSON" '[40000, 0]' "$("$IPCUCKOO" list short -o json | python3 -c '
import json, sys
print([round(m["timeout"] / 1000) for m in json.load(sys.stdin)[0]["members"]])')"
	"$IPCUCKOO" destroy short
}

test_restore()
{
	# Test that files of commands are read, and that errors in them are reported with the line.
	lines 'create r hash:ip maxelem 100\nadd r 192.0.2.1\n\n# comment\nadd r 192.0.2.2\n'
	both restore
	both list r
	both restore
	both -exist restore
	both -! -R
	both list r
	lines 'add r 192.0.2.3 -exist\n-D r 192.0.2.1\nadd r nonsense x\n'
	ipset flush r
	ipset add r 192.0.2.1
	both restore
	lines 'add nope 192.0.2.1\n'
	both restore
	lines ''
	both restore
	expect "no such file" 1 "" "Cannot open /nonexistent for reading" restore -f /nonexistent
	both destroy
	# Test how scripts replace a set: create, fill, swap, destroy.
	both create live hash:net
	both add live 192.0.2.0/24
	lines 'create next hash:net\nadd next 198.51.100.0/24\nadd next 203.0.113.7\nswap next live\ndestroy next\n'
	both restore
	both list
	lines 'rename live old\ncreate live hash:net\nadd live 192.0.2.1\nflush old\n'
	both restore
	both save
	both destroy
}

# batch TEXT: restores a file as CrowdSec's bouncer does, twice with the same result
batch()
{
	printf '%b' "$1" > batch
	both restore -file batch
	both restore -file batch
}

test_crowdsec()
{
	# Test what CrowdSec's firewall bouncer does: a set for each origin of decisions, files with
	# new and withdrawn decisions, lists of the sets to count them. Then the same without
	# timeouts.
	both create crowdsec-blacklists-0 nethash timeout 300 maxelem 131072 family inet
	both create crowdsec6-blacklists-0 nethash timeout 300 maxelem 131072 family inet6
	both list crowdsec-blacklists-0
	batch 'add crowdsec-blacklists-0 192.0.2.1 timeout 14399 -exist\nadd crowdsec-blacklists-0 198.51.100.0/24 timeout 86399 -exist\nadd crowdsec6-blacklists-0 2001:db8::/32 timeout 2147483 -exist\n'
	batch 'add crowdsec-blacklists-0 192.0.2.1 timeout 28799 -exist\nadd crowdsec-blacklists-0 203.0.113.9 timeout 3599 -exist\ndel crowdsec-blacklists-0 198.51.100.0/24 -exist\ndel crowdsec-blacklists-0 192.0.2.77 -exist\n'
	both list crowdsec-blacklists-0
	batch 'del crowdsec-blacklists-0 203.0.113.9 -exist\ndel crowdsec6-blacklists-0 2001:db8::/32 -exist\n'
	both list crowdsec-blacklists-0
	both save crowdsec6-blacklists-0
	both -exist create crowdsec-blacklists-0 nethash timeout 300 maxelem 131072 family inet
	both flush crowdsec-blacklists-0
	both destroy crowdsec-blacklists-0
	both create crowdsec-blacklists-0 nethash maxelem 131072 family inet
	batch 'add crowdsec-blacklists-0 192.0.2.1 -exist\nadd crowdsec-blacklists-0 198.51.100.0/24 -exist\n'
	batch 'del crowdsec-blacklists-0 192.0.2.1 -exist\nadd crowdsec-blacklists-0 203.0.113.9 -exist\ndel crowdsec-blacklists-0 192.0.2.77 -exist\n'
	both list crowdsec-blacklists-0
	both destroy
}

test_fail2ban()
{
	local family

	# Test fail2ban's action iptables-ipset: start, ban, ban again, unban, flush, stop; with a
	# permanent ban, and with an address of the other family.
	for family in "" "family inet6"; do
		script <<-END
		-exist create f2b-sshd hash:ip timeout 0 $family
		-exist create f2b-sshd hash:ip timeout 0 $family
		-exist add f2b-sshd 192.0.2.7 timeout 599
		-exist add f2b-sshd 192.0.2.7 timeout 1199
		-exist add f2b-sshd 2001:db8::7 timeout 599
		-exist add f2b-sshd 2001:db8::8 timeout 0
		-exist add f2b-sshd 192.0.2.8 timeout 0
		list f2b-sshd
		-exist del f2b-sshd 192.0.2.7
		-exist del f2b-sshd 192.0.2.7
		test f2b-sshd 192.0.2.7
		list f2b-sshd
		flush f2b-sshd
		destroy f2b-sshd
		destroy f2b-sshd
		END
	done
	# Test its later version, with a limit, and iptables-ipset-proto4.
	script <<-'END'
	-exist create f2b-nginx hash:ip timeout 0 maxelem 65536
	-exist add f2b-nginx 192.0.2.7 timeout 599
	list f2b-nginx
	flush f2b-nginx
	destroy f2b-nginx
	--create f2b-old iphash
	--test f2b-old 192.0.2.7
	--add f2b-old 192.0.2.7
	--test f2b-old 192.0.2.7
	--del f2b-old 192.0.2.7
	--flush f2b-old
	--destroy f2b-old
	END
}

# Test that each program restores what the other one saved.
test_exchange()
{
	ipset create a hash:ip maxelem 500 && ipset create b hash:net family inet6 &&
		ipset add a 192.0.2.0/28 && ipset add b 2001:db8::/32 || bail "ipset fails"
	ipset save > saved
	run_ok "ours restores what ipset saved" "$IPCUCKOO" restore -file saved
	"$IPCUCKOO" save > ours
	check "ours saves the same" "$(without_sizes saved | LC_ALL=C sort)" "$(LC_ALL=C sort ours)"
	ipset destroy
	"$IPCUCKOO" save --ipset > ours
	run_ok "ipset restores what ours saved" ipset restore -file ours
	check "ipset saves the same" "$(LC_ALL=C sort ours)" \
		"$(ipset save | without_sizes | LC_ALL=C sort)"
	ipset destroy
	"$IPCUCKOO" add b ::/0
	expect "an entry that ipset cannot have is an error" 1 "" \
		"ipset cannot hold the set b: it has a prefix of length 0 as an entry" save --ipset
	"$IPCUCKOO" create c hash:ip family any
	expect "a set that ipset cannot have is an error" \
		1 "" "ipset cannot hold the set c: ipset has no family any" \
		save c --ipset
	"$IPCUCKOO" create d hash:ip timeout 60
	"$IPCUCKOO" add d 192.0.2.1 timeout 2147483
	run_ok "ipset's longest timeout is saved for it" "$IPCUCKOO" save d --ipset
	"$IPCUCKOO" add d 192.0.2.2 timeout 3000000
	expect "a longer one is an error" 1 "" \
		" seconds, and ipset allows 2147483 at most" \
		save d --ipset
	"$IPCUCKOO" destroy
}

# Test that a restore applies all lines or none. ipset's does not.
test_transaction()
{
	make_sets
	"$IPCUCKOO" add hosts 192.0.2.1
	note_generation hosts
	printf 'create new hash:ip\nadd new 192.0.2.1\nadd hosts 192.0.2.2\ndel hosts 192.0.2.9\n' > file
	expect "deleting a non-member" 1 "" \
		"Error in line 4: Element cannot be deleted from the set: it's not added (192.0.2.9, set hosts; nothing was changed" \
		restore -file file
	unchanged "the set is as it was" hosts
	expect "no set was created" 0 $'hosts\nnets' "" list -n
	printf 'add hosts 192.0.2.2\nnonsense hosts 192.0.2.3\n' > file
	expect "an unknown command" 2 "" \
		"Error in line 2: No command specified: unknown argument nonsense" restore -file file
	printf 'add hosts 192.0.2.2\nchange hosts maxelem 5\n' > file
	expect "a command that restore does not accept" 2 "" \
		"Error in line 2: change cannot be part of what is restored: lines create, add, del, destroy, flush, rename, swap or attach" \
		restore -file file
	printf 'add hosts 192.0.2.2\nadd hosts 192.0.2.300\n' > file
	expect "an invalid address" 1 "" "Error in line 2: Syntax error: cannot parse 192.0.2.300" \
		restore -file file
	printf -- '-q add hosts 192.0.2.2\nadd hosts 192.0.2.300\n' > file
	expect "-q applies only to its own line" \
		1 "" "Error in line 2: Syntax error: cannot parse 192.0.2.300" \
		restore -file file
	printf 'add hosts 192.0.2.2\nadd hosts 192.0.2.300 -q\n' > file
	expect "an error in a line with -q prints nothing" 1 "" "" restore -file file
	printf -- '-exist add hosts 192.0.2.1\nadd hosts 192.0.2.1\n' > file
	expect "-exist applies only to its own line" \
		1 "" "Error in line 2: Element cannot be added to the set: it's already added (192.0.2.1" \
		restore -file file
	printf 'add hosts 192.0.2.2\nadd hosts 192.0.2.3\0 and more\n' > file
	expect "a NUL byte" 2 "" "Error in line 2: a NUL byte in the line" restore -file file
	unchanged "the set is as it was" hosts
	"$IPCUCKOO" change hosts maxelem 2
	printf 'create new hash:ip\nadd nets 192.0.2.0/24\nadd hosts 192.0.2.2\nadd hosts 192.0.2.3\n' > file
	expect "one entry more than the limit" \
		1 "" "Error in line 4: Hash is full, cannot add more elements (set hosts, maxelem 2; nothing was changed) (file file)" \
		restore -file file
	has "the other set is as it was" "" nets
	expect "no set was created" 0 $'hosts\nnets' "" list -n
	printf 'del hosts 192.0.2.1\nadd hosts 192.0.2.2\nadd hosts 192.0.2.3\n' > file
	fine "as many entries as the limit allows" restore -file file
	has "all lines are applied" "192.0.2.2 192.0.2.3" hosts
	printf 'add hosts 192.0.2.9\n' > file
	"$IPCUCKOO" change hosts maxelem 0
	fine "--check" restore --check -file file
	has "--check changes nothing" "192.0.2.2 192.0.2.3" hosts
	# Test that an attached set is not destroyed, and that no other line of the file applies
	# then.
	"$IPCUCKOO" attach nets src count
	printf 'add hosts 192.0.2.9\ndestroy nets\n' > file
	expect "an attached set" 1 "" "Error in line 2: Set cannot be destroyed: it is in use" \
		restore -file file
	has "nothing was changed" "192.0.2.2 192.0.2.3" hosts
	# Test that many changes, which are made in a shadow, have the same result as few.
	{
		for i in {0..249}; do
			printf "add nets 10.$i.%d.0/24\\n" {0..19}
		done
		printf 'del nets 10.7.%d.0/24\n' {0..19}
		printf 'add nets 10.7.3.0/24\n'
	} > file
	fine "5000 changes" restore -file file
	json "all changes are applied" 0 4981 'd[0]["header"]["numentries"]' list -t nets
	expect "the same file again" \
		1 "" "Error in line 1: Element cannot be added to the set: it's already added (10.0.0.0/24, set nets" \
		restore -file file
	sed -i '1,100s/^add/del/; 101,$d' file
	fine "a few" restore -file file
	json "100 entries were deleted" 0 4881 'd[0]["header"]["numentries"]' list -t nets
	start_over
}

modprobe -q ip_set_hash_ip
modprobe -q ip_set_hash_net
ipset list -n > /dev/null || skip_all "there is no ipset in this kernel"
load_module
: > in
test_commands
test_errors
test_types
test_names
test_quit
test_numbers
test_firewalld
test_probes
test_old_words
test_hosts
test_interactive
test_forceadd
test_files
test_masks
test_options
test_sizes
test_timeouts
test_restore
test_crowdsec
test_fail2ban
test_exchange
test_transaction
ktap_done
