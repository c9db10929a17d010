#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests /proc/net/ipcuckoo: what its files show, which lines the file of a set accepts or refuses.

. "${0%/*}/../../lib/lib.sh"

proc=/proc/net/ipcuckoo
io_program=${0%/*}/procfs-io
seed=${SEED:-$RANDOM}
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
unable=(setpriv --bounding-set=-net_admin --inh-caps=-net_admin)

# ask REQUEST...: sets $answer to the answer of the helper, procfs-io
ask()
{
	printf '%s\n' "$*" >&"${io[1]}" && read -r -t 120 answer <&"${io[0]}" ||
		bail "no answer from the helper to: $*"
}

# applied NAME ENTRIES GENERATIONS SET TEXT: a case: a write succeeds, and changes the number of
# entries and the generation by that much
applied()
{
	ask write "$4" "$5"
	check "$1" "ok $2 $3" "$answer"
}

# refused NAME ERRNO SET TEXT: a case: a write fails with that error and changes nothing
refused()
{
	ask write "$3" "$4"
	check "$1" "$2 0 0" "$answer"
}

# has NAME MEMBERS SET: a case: the tool lists these members and no others
has()
{
	local line words=

	while read -r line; do
		words+=" $line"
	done < <("$IPCUCKOO" list "$3")
	words=${words#*Members:}
	check "$1" "$2" "${words# }"
}

# summary SET NAME...: prints these values of the set's file, in one line
summary()
{
	local key value words=

	while read -r key value; do
		[[ " ${*:2} " != *" $key "* ]] || words+="${words:+ }$value"
	done < "$proc/set/$1"
	echo "$words"
}

# names_of FILE...: prints the last parts of paths, in one line
names_of()
{
	local names=("${@##*/}")

	echo "${names[*]}"
}

make_sets()
{
	ipcuckoo create host4 hash:ip &&
	ipcuckoo create host6 hash:ip family inet6 &&
	ipcuckoo create net4 hash:net &&
	ipcuckoo create net6 hash:net family inet6 &&
	ipcuckoo create any hash:net family any &&
	ipcuckoo create small hash:ip maxelem 3 ||
		bail "cannot make sets"
}

test_files()
{
	# Test that there are only the documented files.
	check "the directory" "attachments set sets" "$(names_of $proc/*)"
	check "a file for each set" "any host4 host6 net4 net6 small" "$(names_of $proc/set/*)"
	check "modes and owners" $'400 0:0\n400 0:0\n500 0:0\n600 0:0' \
		"$(stat -c '%a %u:%g' $proc/{sets,attachments,set,set/any})"
}

test_format()
{
	local keys lines

	keys="name type family maxelem entries slots bytes attachments rules"
	keys+=" generation growths rekeys displaced"
	ask write host4 '+192.0.2.1\n+192.0.2.2\n'
	ipcuckoo attach host4 src drop
	# Test that the list of sets has a header and a line for each set, sorted by name.
	mapfile -t lines < $proc/sets
	check "sets: one line for each set" 7 ${#lines[@]}
	check "sets: first line" \
		"# name type family entries maxelem slots bytes attachments rules" "${lines[0]}"
	check_match "sets: an empty one" '^any hash:net any 0 0 0 [0-9]+ 0 0$' "${lines[1]}"
	check_match "sets: one with entries, attached" \
		'^host4 hash:ip inet 2 0 [1-9][0-9]* [1-9][0-9]* 1 0$' "${lines[2]}"
	check_match "sets: one with a limit" '^small hash:ip inet 0 3 0 [0-9]+ 0 0$' "${lines[6]}"
	check "sets and set/NAME agree" \
		"${lines[2]}" "$(summary host4 name type family) $(summary host4 entries) $(
		)$(summary host4 maxelem) $(summary host4 slots bytes attachments rules)"
	# Test that the file of a set is a summary, with a name and a value in each line.
	mapfile -t lines < $proc/set/host4
	check "set/NAME: names" "$keys" "${lines[*]%% *}"
	check "set/NAME: text" "host4 hash:ip inet" "$(summary host4 name type family)"
	check_match "set/NAME: numbers" '^0 2 [1-9][0-9]* [1-9][0-9]* 1 0 [1-9][0-9]* [0-9]+ 0 0$' \
		"$(echo "${lines[*]:3}" | tr -d 'a-z' | tr -s ' ' | sed 's/^ //')"
	ipcuckoo detach --all
	ask write host4 '/\n'
}

test_attachments()
{
	local lines header="# id set direction verdict mark/mask order device loopback place priority state only packets bytes"

	# Test that attachments are listed in the order in which they run, with all their options.
	check "attachments: none" "$header" "$(< $proc/attachments)"
	ipcuckoo attach net4 src drop
	ipcuckoo attach any both mark 0x1/0xff dev eth7 loopback
	ipcuckoo attach net6 dst accept
	ipcuckoo attach any dst count order -5 proto udp dport 53,1000-2000
	mapfile -t lines < $proc/attachments
	check "attachments: first line" "$header" "${lines[0]}"
	check "attachments: the others" "any dst count 0x0/0x0 -5 * no ip -450 active udp:53,1000-2000 0 0
net6 dst accept 0x0/0x0 100 * no ip -450 active * 0 0
any both mark 0x1/0xff 200 eth7 yes ip -450 no-device * 0 0
net4 src drop 0x0/0x0 300 * no ip -450 active * 0 0" "$(printf '%s\n' "${lines[@]:1}" | cut -d ' ' -f 2-)"
	lines=("${lines[@]:1}")
	check_match "attachments: numbers" '^[1-9][0-9]*( [1-9][0-9]*){3}$' "${lines[*]%% *}"
	ipcuckoo detach --all
	check "attachments: none again" "$header" "$(< $proc/attachments)"
}

# put SET TEXT: writes a line with echo
put()
{
	echo "$2" > "$proc/set/$1"
}

put_lines()
{
	printf '+%s\n' "${@:2}" >> "$proc/set/$1"
}

test_shell()
{
	# Test that a shell can write to the files: one command a line, with > and with >>.
	run_ok "echo +ADDR" put net4 +192.0.2.7
	run_ok "printf, several lines" put_lines net4 198.51.100.0/24 203.0.113.9
	has "the lines were added" "192.0.2.7 198.51.100.0/24 203.0.113.9" net4
	run_ok "echo -ADDR" put net4 -192.0.2.7
	run_ok "echo -PREFIX" put net4 -198.51.100.0/24
	has "two were deleted" "203.0.113.9" net4
	run_ok "echo /" put net4 /
	has "the set was flushed" "" net4
	run_error "writing an invalid line is an error" 1 "Invalid argument" put net4 192.0.2.7
}

test_commands()
{
	# Test that adding a member and deleting a non-member is no error, and no change.
	applied "add" 1 1 host4 '+192.0.2.1\n'
	applied "add a member" 0 0 host4 '+192.0.2.1\n'
	applied "delete a non-member" 0 0 host4 '-192.0.2.2\n'
	applied "delete" -1 1 host4 '-192.0.2.1\n'
	# Test that the lines of a write are one change, and are applied in their order.
	applied "many lines" 3 1 host4 '+192.0.2.1\n+192.0.2.2\n+192.0.2.3\n'
	applied "later lines undo earlier ones" 0 1 host4 \
		'+192.0.2.4\n-192.0.2.4\n-192.0.2.1\n+192.0.2.1\n'
	has "the entries that remain" "192.0.2.1 192.0.2.2 192.0.2.3" host4
	applied "flush first" -2 1 host4 '/\n+192.0.2.9\n'
	has "only the lines after the flush are applied" "192.0.2.9" host4
	applied "flush in the middle" 1 1 host4 '+192.0.2.8\n/\n+192.0.2.6\n+192.0.2.5\n'
	has "again only the lines after the flush are applied" "192.0.2.5 192.0.2.6" host4
	applied "flush last" -2 1 host4 '+192.0.2.8\n/\n'
	applied "the same line twice in one write" 1 1 host4 '+192.0.2.8\n+192.0.2.8\n'
	applied "0.0.0.0" 1 1 host4 '+0.0.0.0\n'
	applied "255.255.255.255" 1 1 host4 '+255.255.255.255\n'
	applied "/32 is the host" 0 0 host4 '+0.0.0.0/32\n'
	has "all addresses were added" "0.0.0.0 192.0.2.8 255.255.255.255" host4
	applied "flush alone" -3 1 host4 '/\n'
	ask write host4 ''
	check "an empty write changes nothing" "ok 0 0" "$answer"
}

test_prefixes()
{
	# Test that nested prefixes are separate entries.
	applied "IPv4 prefixes" 4 1 net4 '+0.0.0.0/0\n+192.0.2.0/24\n+192.0.2.0/25\n+192.0.2.0\n'
	has "prefixes are stored as written" "0.0.0.0/0 192.0.2.0/24 192.0.2.0/25 192.0.2.0" \
		net4
	applied "deleting one leaves the others" -1 1 net4 '-192.0.2.0/24\n'
	has "the other prefixes stay" "0.0.0.0/0 192.0.2.0/25 192.0.2.0" net4
	applied "IPv6 prefixes" 3 1 net6 '+::/0\n+2001:db8::/32\n+2001:DB8:0:0:0::1/128\n'
	has "IPv6 prefixes are stored as written" "::/0 2001:db8::/32 2001:db8::1" net6
	applied "IPv6 hosts" 3 1 host6 '+::\n+fe80::1\n+1:2:3:4:5:6:7:8\n'
	has "list shows the canonical form" ":: 1:2:3:4:5:6:7:8 fe80::1" host6
	applied "both families in one set" 4 1 any '+::/0\n+0.0.0.0/0\n+192.0.2.1\n+2001:db8::1\n'
	has "the set has entries of both families" "0.0.0.0/0 192.0.2.1 ::/0 2001:db8::1" any
}

test_mapped()
{
	# Test that a mapped address is an IPv4 entry in a set of both families.
	ask write any '/\n'
	applied "::ffff:192.0.2.1 in family any" 1 1 any '+::ffff:192.0.2.1\n'
	applied "192.0.2.1 is the same entry" 0 0 any '+192.0.2.1\n'
	applied "::ffff:c000:201/128 is the same entry" -1 1 any '-::ffff:c000:201/128\n'
	applied "a mapped prefix" 1 1 any '+::ffff:198.51.100.0/120\n'
	has "a mapped prefix is an IPv4 prefix" "198.51.100.0/24" any
	refused "::ffff:0:0/96 would be all of IPv4" EINVAL any '+::ffff:0:0/96\n'
	applied "half of ::ffff:0:0/96 is accepted" 1 1 any '+::ffff:0:0/97\n'
	applied "half of ::ffff:0:0/96 is deleted as an IPv4 prefix" -1 1 any '-0.0.0.0/1\n'
	applied "a wider prefix is an IPv6 prefix" 1 1 any '+::fffe:0:0/95\n'
	has "the wider prefix is listed as IPv6" "198.51.100.0/24 ::fffe:0:0/95" any
	refused "a mapped address is refused in family inet6" EINVAL net6 '+::ffff:192.0.2.1\n'
	refused "deleting a mapped address is refused, too" EINVAL net6 '-::ffff:192.0.2.1\n'
	refused "a mapped address is refused in family inet" EAFNOSUPPORT net4 '+::ffff:192.0.2.1\n'
}

test_refused_entries()
{
	local text

	# Test that entries that do not fit the type or family are refused, each with its own errno.
	refused "IPv6 in family inet" EAFNOSUPPORT net4 '+2001:db8::1\n'
	refused "IPv4 in family inet6" EAFNOSUPPORT net6 '+192.0.2.1\n'
	refused "deleting IPv4 in family inet6" EAFNOSUPPORT net6 '-192.0.2.1\n'
	refused "an IPv4 prefix in hash:ip" EOPNOTSUPP host4 '+192.0.2.0/24\n'
	refused "an IPv6 prefix in hash:ip" EOPNOTSUPP host6 '+2001:db8::/32\n'
	refused "/0 in hash:ip" EOPNOTSUPP host4 '-0.0.0.0/0\n'
	for text in 192.0.2.1/24 192.0.2.0/22 128.0.0.0/0 192.0.2.1/31; do
		refused "host bits: $text" EINVAL net4 "+$text\\n"
	done
	for text in 2001:db8::1/127 2001:db8::/28 ::1/64 8000::/0 ::1:0:0:0/64; do
		refused "host bits: $text" EINVAL net6 "+$text\\n"
	done
	for text in 192.0.2.0/33 192.0.2.0/255 192.0.2.0/256 192.0.2.0/4294967320 192.0.2.0/ \
		192.0.2.0/-1 192.0.2.0/+24 192.0.2.0/0x18 192.0.2.0/24/24 \
		192.0.2.0/255.255.255.0; do
		refused "length: $text" EINVAL net4 "+$text\\n"
	done
	for text in 2001:db8::/129 2001:db8::/256 2001:db8::/ 2001:db8::/x; do
		refused "length: $text" EINVAL net6 "+$text\\n"
	done
}

test_garbage()
{
	local text

	# Test that lines that are not commands are refused.
	for text in '' '\n' '+' '-' '*' ' ' '192.0.2.1' '=192.0.2.1' '+ 192.0.2.1' ' +192.0.2.1' \
		'+192.0.2.1 ' '+192.0.2.1\t' '+192.0.2.1\r' '+192.0.2.1,' '+192.0.2.1 7' \
		'+192.0.2.1#' '++192.0.2.1' '+-192.0.2.1' '+192.0.2' '+192.0.2.1.1' '+192.0.2.' \
		'+.192.0.2' '+192.0..1' '+192.0.2.256' '+192.0.2.1x' '+0xc0000201' '+3221225985' \
		'+192.0.2.1-192.0.2.3' '+example.net' '+any' '+/' '+/24' '//' '/ ' '/0' '/+192.0.2.1' \
		'\xef\xbb\xbf+192.0.2.1' '+\xff\xff\xff\xff' '+192.0.2.1\x0b' '#comment'; do
		refused "IPv4: '$text'" EINVAL net4 "$text\\n"
	done
	for text in '+:' '+:::' '+1::2::3' '+:1:2:3:4:5:6:7' '+1:2:3:4:5:6:7:' '+1:2:3:4:5:6:7' \
		'+1:2:3:4:5:6:7:8:9' '+12345::' '+g::' '+fe80::1%eth0' '+[2001:db8::1]' \
		'+::192.0.2.256' '+::192.0.2' '+1:2:3:4:5:6:7:192.0.2.1' '+2001:db8::1 '; do
		refused "IPv6: '$text'" EINVAL net6 "$text\\n"
	done
	# Test that random lines are accepted if and only if they are valid entries.
	note "seed $seed"
	ask write any '/\n'
	ask fuzz any "$seed" 400
	check "random lines" ok "$answer"
}

test_lines()
{
	local x50

	# Test that a write must consist of whole lines without NUL bytes, because half an address
	# may be another valid address.
	refused "no newline" EINVAL net4 '+192.0.2.1'
	refused "no newline at the end" EINVAL net4 '+192.0.2.1\n+192.0.2.2'
	refused "no newline after a flush" EINVAL net4 '/'
	refused "a NUL byte at the end" EINVAL net4 '+192.0.2.1\n\x00'
	refused "a NUL byte in a line" EINVAL net4 '+192.0.2.1\x00\n'
	refused "a NUL byte between lines" EINVAL net4 '+192.0.2.1\n\x00\n+192.0.2.2\n'
	refused "a NUL byte first" EINVAL net4 '\x00+192.0.2.1\n'
	refused "a single NUL byte" EINVAL net4 '\x00'
	refused "an empty line" EINVAL net4 '+192.0.2.1\n\n+192.0.2.2\n'
	refused "an empty line at the end" EINVAL net4 '+192.0.2.1\n\n'
	# Test that the longest valid address is accepted, and longer lines are refused.
	printf -v x50 '0%.0s' {1..50}
	applied "the longest line" 1 1 net6 '+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128\n'
	refused "a longer one" EINVAL net6 '+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/0128\n'
	refused "a much longer one" EINVAL net4 "+$x50$x50$x50$x50$x50$x50\\n"
	refused "a valid address in an overlong line" EINVAL net4 "+192.0.2.1/$x50"'32\n'
}

test_all_or_nothing()
{
	local name line lines

	# Test that one invalid line, wherever it is, prevents all changes.
	ask write net4 '/\n+192.0.2.1\n+198.51.100.0/24\n'
	lines=('+192.0.2.2\n' '-192.0.2.1\n' '/\n' '+203.0.113.0/24\n')
	while read -r name line; do
		refused "bad line first: $name" "$name" net4 "$line\\n${lines[0]}${lines[1]}"
		refused "bad line last: $name" "$name" net4 "${lines[0]}${lines[2]}$line\\n"
		refused "bad line between: $name" "$name" net4 \
			"${lines[1]}${lines[0]}$line\\n${lines[3]}"
	done <<-END
	EINVAL +192.0.2.300
	EINVAL 192.0.2.3
	EINVAL +192.0.2.3/24
	EAFNOSUPPORT +2001:db8::1
	END
	refused "the first bad line gives the errno" EAFNOSUPPORT net4 \
		'+192.0.2.2\n+2001:db8::1\n+192.0.2.3/24\n'
	has "the set was not changed" "192.0.2.1 198.51.100.0/24" net4
}

test_size()
{
	# Test that a write may have one MiB, and not more.
	ask write net4 '/\n'
	ask fill net4 1048577
	check "a MiB and a byte" "EMSGSIZE 0 0" "$answer"
	ask fill net4 1048576
	check "a MiB" "ok 61681 1" "$answer"
	applied "flush" -61681 1 net4 '/\n'
}

test_memory_limit()
{
	local lot=0

	# Test that a write that would exceed the namespace's memory limit changes nothing. The
	# text of each is charged, too: 1 MiB.
	load_module memory_limit=2
	ask create a
	ask fill a 1048576
	check "a write within the limit" "ok 61681 1" "$answer"
	while [ "$answer" = "ok 61681 1" ] && [ $lot -lt 10 ]; do
		lot=$((lot + 1))
		ask fill a 1048576 $lot
	done
	check "a write beyond the limit" "EDQUOT 0 0" "$answer"
	applied "flush of $lot writes" $((-61681 * lot)) 1 a '/\n'
	# Replaced tables are charged until their last reader has finished. Writes must wait for
	# that instead of failing.
	for lot in 1 2 3 4 5 6; do
		ask fill a 1048576 $lot
		check "other contents, $lot" "ok 61681 1" "$answer"
		applied "flush" -61681 1 a '/\n'
	done
	unload_module
}

test_full()
{
	# Test that a set never has more entries than maxelem, with one line or with many.
	applied "up to the limit" 3 1 small '+192.0.2.1\n+192.0.2.2\n+192.0.2.3\n'
	refused "one more entry" ENOSPC small '+192.0.2.4\n'
	applied "a member of the full set" 0 0 small '+192.0.2.3\n'
	applied "members of the full set, many lines" 0 1 small '+192.0.2.3\n+192.0.2.1\n'
	refused "one entry too many, after other lines" \
		ENOSPC small '-192.0.2.3\n+192.0.2.4\n+192.0.2.5\n'
	applied "one entry replaced by another" 0 1 small '-192.0.2.3\n+192.0.2.4\n'
	refused "one entry replaced by another, but added first" \
		ENOSPC small '+192.0.2.5\n-192.0.2.4\n'
	refused "too many after a flush" ENOSPC small '/\n+10.0.0.1\n+10.0.0.2\n+10.0.0.3\n+10.0.0.4\n'
	has "the set has the entries of the writes that succeeded" \
		"192.0.2.1 192.0.2.2 192.0.2.4" small
}

test_permissions()
{
	# Test that other users can neither read nor write.
	ask nobody host4
	check "user nobody cannot read sets, attachments or a set, nor write to a set" \
		"EACCES EACCES EACCES EACCES" "$answer"
	# Test that root without CAP_NET_ADMIN cannot do so, either.
	check "root without the capability" "cat: sets: Operation not permitted
cat: attachments: Operation not permitted
cat: set/host4: Operation not permitted
bash: line 1: set/host4: Operation not permitted" "$("${unable[@]}" bash -c "cd $proc
		LC_ALL=C cat sets attachments set/host4; echo +192.0.2.1 > set/host4" 2>&1 |
		sed 's/bash: line [0-9]*/bash: line 1/')"
	check "nothing was written" 0 "$(summary host4 entries)"
}

# Run in another network namespace: it sees no sets, and then only its own set.
script_of_net_ns='
	cd /proc/net/ipcuckoo || exit
	echo set/* $(tail -n +2 -q sets attachments)
	$IPCUCKOO create host4 hash:net family any
	echo +2001:db8::/32 > set/host4
	echo set/* $(grep entries set/host4)'

# Run in a user namespace: it has no access to the sets of its parent, but full access in a network
# namespace of its own.
script_of_user_ns='
	cat /proc/net/ipcuckoo/sets /proc/net/ipcuckoo/set/host4
	unshare -n bash -c "
		cd /proc/net/ipcuckoo && /tmp/ipcuckoo create mine hash:net family any &&
		echo +192.0.2.1 > set/mine && printf +%s\\\\n 10.0.0.0/8 2001:db8::/32 > set/mine &&
		echo set/* && tail -n +2 sets | cut -d \" \" -f 1-4"'

test_namespaces()
{
	# Test that a network namespace shows only its own sets.
	check "another network namespace" $'set/*\nset/host4 entries 1' \
		"$(unshare -n bash -c "$script_of_net_ns" 2>&1)"
	check "a set of the same name there is a different set" 0 "$(summary host4 entries)"
	# Test that the owner of a network namespace needs no further capability.
	if [ "$(< /proc/sys/user/max_user_namespaces)" = 0 ]; then
		skip "a user namespace" "this kernel allows none"
		return
	fi
	install -m 755 "$IPCUCKOO" /tmp/ipcuckoo
	check "a user namespace" "cat: /proc/net/ipcuckoo/sets: Permission denied
cat: /proc/net/ipcuckoo/set/host4: Permission denied
set/mine
mine hash:net any 3" "$("${nobody[@]}" unshare -U -r bash -c "$script_of_user_ns" 2>&1)"
}

test_lifetime()
{
	# Test that a file exists as long as its set, or longer if it is open; and that it is
	# useless once the set is destroyed.
	ask write gone '+192.0.2.1\n'
	check "without a set there is no file" ENOENT "$answer"
	ask create gone
	check "creating a set creates its file" yes "$([ -e $proc/set/gone ] && echo yes)"
	ask open gone
	ask use write
	check "an open file can be written" ok "$answer"
	ask destroy gone
	ask use write
	check "writing to an open file fails after the set was destroyed" ENOENT "$answer"
	ask use read
	check "reading it fails" ENOENT "$answer"
	ask write gone '+192.0.2.1\n'
	check "opening it fails" ENOENT "$answer"
	ask create gone
	check "a new set of that name is empty" 0 "$(summary gone entries)"
	applied "its file can be written" 1 1 gone '+192.0.2.1\n'
	ask use write
	check "the old file does not belong to the new set" ENOENT "$answer"
	ask close
	applied "the new set's file works after the old one is closed" 1 1 gone '+192.0.2.2\n'
	ask open gone
	ask destroy gone
	ask close
	run_ok "the file disappears when it is closed" busywait 5 [ ! -e $proc/set/gone ]
	ask create gone
	ask destroy gone
	check "destroying a set removes a file that is not open" \
		no "$([ -e $proc/set/gone ] || echo no)"
}

test_pins()
{
	local file

	# Test that an open file holds a reference to the module, so that unloading need not wait
	# for it.
	for file in sets attachments set/host4; do
		exec 9< "$proc/$file"
		run_error "rmmod while $file is open" 1 "in use" rmmod ipcuckoo
		exec 9<&-
	done
	check "closed files hold no reference" 0 "$(< /sys/module/ipcuckoo/refcnt)"
}

test_names()
{
	local name longest=abcdefghijklmnopqrstuvwxyz01234

	# Test that every valid name of a set is a valid file name: all of ASCII except quotes and
	# slash.
	for name in ... -x ..a a.. _ 0 set sets A-Z_a.z $longest 'KUBE-DST:a;b^c~d' \
		"!#\$%&'()*+,-." ':;<=>?@[\]^_`{|}~' '#x' '~'; do
		ask create "$name"
		applied "a set named $name" 1 1 "$name" '+192.0.2.1\n'
		check "its file shows the name: $name" "$name" "$(summary "$name" name)"
		ask destroy "$name"
	done
	check "no file is left" "any host4 host6 net4 net6 small" "$(names_of $proc/set/*)"
}

test_many_sets()
{
	local files lines whole

	# Test that a list of many pages is complete, for all sizes of reads.
	ask sets 250
	check "250 more sets" ok "$answer"
	mapfile -t -s 1 lines < $proc/sets
	files=("$proc"/set/*)
	check "each has its line" 256 ${#lines[@]}
	check "the list is sorted by name" "$(printf '%s\n' "${lines[@]%% *}" | LC_ALL=C sort)" \
		"$(printf '%s\n' "${lines[@]%% *}")"
	check "each has its file" 256 ${#files[@]}
	ask chunks sets 65536
	whole=$answer
	ask chunks sets 1
	check "read byte by byte" "$whole" "$answer"
	ask chunks sets 1000
	check "read in pieces of 1000 bytes" "$whole" "$answer"
	run_ok "all sets can be destroyed" ipcuckoo destroy --all
	check "their files are removed" "*" "$(names_of $proc/set/*)"
}

test_together()
{
	local seconds=${SLOW:+4}

	seconds=${seconds:-2}
	ask create a
	# Test that readers see either none or all of the lines of a write.
	ask steps a "$seconds"
	check "readers see whole contents" ok "$answer"
	ask write a '/\n'
	# Test that concurrent writers lose no changes.
	ask writers a 100
	check "four writers at once" "ok 400" "$answer"
	check "each writer's entries are in the set" \
		400 "$(ipcuckoo list a | grep -c '^10\.[0-3]\.[0-9]*\.3$')"
	ask destroy a
	# Test that a set can be destroyed while its file is written and read.
	ask recreate a "$seconds"
	check "a set is destroyed and created again while it is written" ok "$answer"
	check "no file is left" "*" "$(names_of $proc/set/*)"
}

coproc io { exec "$io_program"; }
test_memory_limit
load_module userns=1
make_sets
test_files
test_format
test_attachments
test_shell
test_commands
test_prefixes
test_mapped
test_refused_entries
test_garbage
test_lines
test_all_or_nothing
test_size
test_full
test_permissions
test_namespaces
test_lifetime
test_pins
test_names
test_many_sets
test_together
run_ok "unloads" unload_module
check "unloading the module removes its files" no "$([ -e $proc ] || echo no)"
ktap_done
