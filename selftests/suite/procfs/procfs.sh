#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# /proc/net/ipcuckoo: what its files say, what the file of a set takes, and what it refuses.

. "${0%/*}/../../lib/lib.sh"

proc=/proc/net/ipcuckoo
io_program=${0%/*}/procfs-io
seed=${SEED:-$RANDOM}
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
unable=(setpriv --bounding-set=-net_admin --inh-caps=-net_admin)

# ask REQUEST...: the helper's answer, in $answer
ask()
{
	printf '%s\n' "$*" >&"${io[1]}" && read -r -t 120 answer <&"${io[0]}" ||
		bail "no answer from the helper to: $*"
}

# applied NAME ENTRIES GENERATIONS SET TEXT: a write is taken and changes both by that much
applied()
{
	ask write "$4" "$5"
	check "$1" "ok $2 $3" "$answer"
}

# refused NAME ERRNO SET TEXT: a write is not, and changes nothing
refused()
{
	ask write "$3" "$4"
	check "$1" "$2 0 0" "$answer"
}

# has NAME MEMBERS SET: the tool lists these and no others
has()
{
	local line words=

	while read -r line; do
		words+=" $line"
	done < <("$IPCUCKOO" list "$3")
	words=${words#*Members:}
	check "$1" "$2" "${words# }"
}

# summary SET NAME...: what its file says of these, in one line
summary()
{
	local key value words=

	while read -r key value; do
		[[ " ${*:2} " != *" $key "* ]] || words+="${words:+ }$value"
	done < "$proc/set/$1"
	echo "$words"
}

# names_of FILE...: the last parts of paths in one line
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
	# Test that there is nothing but what is documented.
	check "the directory" "attachments set sets" "$(names_of $proc/*)"
	check "a file for each set" "any host4 host6 net4 net6 small" "$(names_of $proc/set/*)"
	check "modes and owners" $'400 0:0\n400 0:0\n500 0:0\n600 0:0' \
		"$(stat -c '%a %u:%g' $proc/{sets,attachments,set,set/any})"
}

test_format()
{
	local keys lines

	keys="name type family maxelem entries slots bytes attachments"
	keys+=" generation growths rekeys displaced"
	ask write host4 '+192.0.2.1\n+192.0.2.2\n'
	ipcuckoo attach host4 src drop
	# Test that the list of sets has a line for each, by name, and a first one that explains.
	mapfile -t lines < $proc/sets
	check "sets: one line a set" 7 ${#lines[@]}
	check "sets: first line" \
		"# name type family entries maxelem slots bytes attachments" "${lines[0]}"
	check_match "sets: an empty one" '^any hash:net any 0 0 0 [0-9]+ 0$' "${lines[1]}"
	check_match "sets: one with entries, attached" \
		'^host4 hash:ip inet 2 0 [1-9][0-9]* [1-9][0-9]* 1$' "${lines[2]}"
	check_match "sets: one with a limit" '^small hash:ip inet 0 3 0 [0-9]+ 0$' "${lines[6]}"
	check "sets and set/NAME agree" \
		"${lines[2]}" "$(summary host4 name type family) $(summary host4 entries) $(
		)$(summary host4 maxelem) $(summary host4 slots bytes attachments)"
	# Test that the file of a set is its summary, a name and a value in each line.
	mapfile -t lines < $proc/set/host4
	check "set/NAME: names" "$keys" "${lines[*]%% *}"
	check "set/NAME: text" "host4 hash:ip inet" "$(summary host4 name type family)"
	check_match "set/NAME: numbers" '^0 2 [1-9][0-9]* [1-9][0-9]* 1 1 [0-9]+ 0 0$' \
		"$(echo "${lines[*]:3}" | tr -d 'a-z' | tr -s ' ' | sed 's/^ //')"
	ipcuckoo detach --all
	ask write host4 '/\n'
}

test_attachments()
{
	local lines header="# id set direction verdict mark/mask order device loopback place priority state packets bytes"

	# Test that attachments come in the order they run, with all that was asked of them.
	check "attachments: none" "$header" "$(< $proc/attachments)"
	ipcuckoo attach net4 src drop
	ipcuckoo attach any both mark 0x1/0xff dev eth7 loopback
	ipcuckoo attach net6 dst accept
	ipcuckoo attach any dst count order -5
	mapfile -t lines < $proc/attachments
	check "attachments: first line" "$header" "${lines[0]}"
	check "attachments: the others" "any dst count 0x0/0x0 -5 * no ip -450 active 0 0
net6 dst accept 0x0/0x0 100 * no ip -450 active 0 0
any both mark 0x1/0xff 200 eth7 yes ip -450 no-device 0 0
net4 src drop 0x0/0x0 300 * no ip -450 active 0 0" "$(printf '%s\n' "${lines[@]:1}" | cut -d ' ' -f 2-)"
	lines=("${lines[@]:1}")
	check_match "attachments: numbers" '^[1-9][0-9]*( [1-9][0-9]*){3}$' "${lines[*]%% *}"
	ipcuckoo detach --all
	check "attachments: none again" "$header" "$(< $proc/attachments)"
}

# put SET TEXT: as anyone would
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
	# Test that a shell is enough: one command a line, > and >> alike.
	run_ok "echo +ADDR" put net4 +192.0.2.7
	run_ok "printf, several lines" put_lines net4 198.51.100.0/24 203.0.113.9
	has "they are in the set" "192.0.2.7 198.51.100.0/24 203.0.113.9" net4
	run_ok "echo -ADDR" put net4 -192.0.2.7
	run_ok "echo -PREFIX" put net4 -198.51.100.0/24
	has "they are no longer" "203.0.113.9" net4
	run_ok "echo /" put net4 /
	has "nothing is" "" net4
	run_error "what is wrong ends with an error" 1 "Invalid argument" put net4 192.0.2.7
}

test_commands()
{
	# Test that adding what is there and deleting what is not is no error, and no change.
	applied "add" 1 1 host4 '+192.0.2.1\n'
	applied "add what is there" 0 0 host4 '+192.0.2.1\n'
	applied "delete what is not" 0 0 host4 '-192.0.2.2\n'
	applied "delete" -1 1 host4 '-192.0.2.1\n'
	# Test that many lines are one step, done in their order.
	applied "many lines" 3 1 host4 '+192.0.2.1\n+192.0.2.2\n+192.0.2.3\n'
	applied "later lines undo earlier ones" 0 1 host4 \
		'+192.0.2.4\n-192.0.2.4\n-192.0.2.1\n+192.0.2.1\n'
	has "what remains" "192.0.2.1 192.0.2.2 192.0.2.3" host4
	applied "flush first" -2 1 host4 '/\n+192.0.2.9\n'
	has "only what follows is there" "192.0.2.9" host4
	applied "flush in the middle" 1 1 host4 '+192.0.2.8\n/\n+192.0.2.6\n+192.0.2.5\n'
	has "only what follows is there, too" "192.0.2.5 192.0.2.6" host4
	applied "flush last" -2 1 host4 '+192.0.2.8\n/\n'
	applied "the same twice in one write" 1 1 host4 '+192.0.2.8\n+192.0.2.8\n'
	applied "0.0.0.0" 1 1 host4 '+0.0.0.0\n'
	applied "255.255.255.255" 1 1 host4 '+255.255.255.255\n'
	applied "/32 is the host" 0 0 host4 '+0.0.0.0/32\n'
	has "all of them" "0.0.0.0 192.0.2.8 255.255.255.255" host4
	applied "flush alone" -3 1 host4 '/\n'
	ask write host4 ''
	check "an empty write is nothing" "ok 0 0" "$answer"
}

test_prefixes()
{
	# Test that prefixes of all kinds are entries of their own, not one inside another.
	applied "IPv4 prefixes" 4 1 net4 '+0.0.0.0/0\n+192.0.2.0/24\n+192.0.2.0/25\n+192.0.2.0\n'
	has "are stored as they are" "0.0.0.0/0 192.0.2.0/24 192.0.2.0/25 192.0.2.0" \
		net4
	applied "deleting one leaves the others" -1 1 net4 '-192.0.2.0/24\n'
	has "which stay" "0.0.0.0/0 192.0.2.0/25 192.0.2.0" net4
	applied "IPv6 prefixes" 3 1 net6 '+::/0\n+2001:db8::/32\n+2001:DB8:0:0:0::1/128\n'
	has "are stored as they are, too" "::/0 2001:db8::/32 2001:db8::1" net6
	applied "IPv6 hosts" 3 1 host6 '+::\n+fe80::1\n+1:2:3:4:5:6:7:8\n'
	has "in canonical form" ":: 1:2:3:4:5:6:7:8 fe80::1" host6
	applied "both in one set" 4 1 any '+::/0\n+0.0.0.0/0\n+192.0.2.1\n+2001:db8::1\n'
	has "side by side" "0.0.0.0/0 192.0.2.1 ::/0 2001:db8::1" any
}

test_mapped()
{
	# Test that a mapped address means the IPv4 one where a set holds both.
	ask write any '/\n'
	applied "::ffff:192.0.2.1 in family any" 1 1 any '+::ffff:192.0.2.1\n'
	applied "is 192.0.2.1" 0 0 any '+192.0.2.1\n'
	applied "so is ::ffff:c000:201/128" -1 1 any '-::ffff:c000:201/128\n'
	applied "a mapped prefix" 1 1 any '+::ffff:198.51.100.0/120\n'
	has "is an IPv4 one" "198.51.100.0/24" any
	refused "::ffff:0:0/96 would be all of IPv4" EINVAL any '+::ffff:0:0/96\n'
	applied "half of it is" 1 1 any '+::ffff:0:0/97\n'
	applied "and is deleted as such" -1 1 any '-0.0.0.0/1\n'
	applied "a wider one is IPv6" 1 1 any '+::fffe:0:0/95\n'
	has "and stays so" "198.51.100.0/24 ::fffe:0:0/95" any
	refused "refused in family inet6" EINVAL net6 '+::ffff:192.0.2.1\n'
	refused "deleted neither" EINVAL net6 '-::ffff:192.0.2.1\n'
	refused "refused in family inet" EAFNOSUPPORT net4 '+::ffff:192.0.2.1\n'
}

test_refused_entries()
{
	local text

	# Test that what is no entry of this set is refused with the reason for an errno.
	refused "IPv6 in family inet" EAFNOSUPPORT net4 '+2001:db8::1\n'
	refused "IPv4 in family inet6" EAFNOSUPPORT net6 '+192.0.2.1\n'
	refused "deleting it as well" EAFNOSUPPORT net6 '-192.0.2.1\n'
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

	# Test that nothing but a command is taken for one.
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
	# Test that random lines are taken if and only if they are entries.
	note "seed $seed"
	ask write any '/\n'
	ask fuzz any "$seed" 400
	check "random lines" ok "$answer"
}

test_lines()
{
	local x50

	# Test that a write is whole lines without NUL bytes: half an address may be another one.
	refused "no newline" EINVAL net4 '+192.0.2.1'
	refused "no newline at the end" EINVAL net4 '+192.0.2.1\n+192.0.2.2'
	refused "no newline after a flush" EINVAL net4 '/'
	refused "a NUL byte at the end" EINVAL net4 '+192.0.2.1\n\x00'
	refused "a NUL byte in a line" EINVAL net4 '+192.0.2.1\x00\n'
	refused "a NUL byte between lines" EINVAL net4 '+192.0.2.1\n\x00\n+192.0.2.2\n'
	refused "a NUL byte first" EINVAL net4 '\x00+192.0.2.1\n'
	refused "nothing but NUL" EINVAL net4 '\x00'
	refused "an empty line" EINVAL net4 '+192.0.2.1\n\n+192.0.2.2\n'
	refused "an empty line at the end" EINVAL net4 '+192.0.2.1\n\n'
	# Test that the longest address there is fits, and nothing longer does.
	printf -v x50 '0%.0s' {1..50}
	applied "the longest line" 1 1 net6 '+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128\n'
	refused "a longer one" EINVAL net6 '+ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/0128\n'
	refused "a much longer one" EINVAL net4 "+$x50$x50$x50$x50$x50$x50\\n"
	refused "a valid address in an overlong line" EINVAL net4 "+192.0.2.1/$x50"'32\n'
}

test_all_or_nothing()
{
	local name line lines

	# Test that one bad line, wherever it is, leaves everything as it was.
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
	has "the set is what it was" "192.0.2.1 198.51.100.0/24" net4
}

test_size()
{
	# Test that a MiB can be written at once, and no more than that.
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

	# Test that what passes the namespace's memory limit is refused whole.
	load_module memory_limit=1
	ask create a
	ask fill a 1048576
	check "within the limit" "ok 61681 1" "$answer"
	while [ "$answer" = "ok 61681 1" ] && [ $lot -lt 10 ]; do
		lot=$((lot + 1))
		ask fill a 1048576 $lot
	done
	check "beyond it" "EDQUOT 0 0" "$answer"
	applied "flush of $lot writes" $((-61681 * lot)) 1 a '/\n'
	# Tables that were replaced count until their last reader has left; they must not be in
	# the way of what comes next.
	for lot in 1 2 3 4 5 6; do
		ask fill a 1048576 $lot
		check "other contents, $lot" "ok 61681 1" "$answer"
		applied "flush" -61681 1 a '/\n'
	done
	unload_module
}

test_full()
{
	# Test that a set never has more than maxelem, by one line or by many.
	applied "up to the limit" 3 1 small '+192.0.2.1\n+192.0.2.2\n+192.0.2.3\n'
	refused "one more" ENOSPC small '+192.0.2.4\n'
	applied "what is there already" 0 0 small '+192.0.2.3\n'
	applied "what is there already, many lines" 0 1 small '+192.0.2.3\n+192.0.2.1\n'
	refused "one more after others" ENOSPC small '-192.0.2.3\n+192.0.2.4\n+192.0.2.5\n'
	applied "one for another" 0 1 small '-192.0.2.3\n+192.0.2.4\n'
	refused "one for another, the wrong way round" ENOSPC small '+192.0.2.5\n-192.0.2.4\n'
	refused "too many after a flush" ENOSPC small '/\n+10.0.0.1\n+10.0.0.2\n+10.0.0.3\n+10.0.0.4\n'
	has "the set is full of the right ones" "192.0.2.1 192.0.2.2 192.0.2.4" small
}

test_permissions()
{
	# Test that others can neither read nor write.
	ask nobody host4
	check "nobody reads sets, attachments, a set, and writes one" \
		"EACCES EACCES EACCES EACCES" "$answer"
	# Test that root without CAP_NET_ADMIN cannot, either.
	check "root without the capability" "cat: sets: Operation not permitted
cat: attachments: Operation not permitted
cat: set/host4: Operation not permitted
bash: line 1: set/host4: Operation not permitted" "$("${unable[@]}" bash -c "cd $proc
		LC_ALL=C cat sets attachments set/host4; echo +192.0.2.1 > set/host4" 2>&1 |
		sed 's/bash: line [0-9]*/bash: line 1/')"
	check "nothing was written" 0 "$(summary host4 entries)"
}

# What another network namespace sees: no sets, then one of its own.
script_of_net_ns='
	cd /proc/net/ipcuckoo || exit
	echo set/* $(tail -n +2 -q sets attachments)
	$IPCUCKOO create host4 hash:net family any
	echo +2001:db8::/32 > set/host4
	echo set/* $(grep entries set/host4)'

# What works in a user namespace: nothing on the sets of its parent, all in a network
# namespace of its own.
script_of_user_ns='
	cat /proc/net/ipcuckoo/sets /proc/net/ipcuckoo/set/host4
	unshare -n bash -c "
		cd /proc/net/ipcuckoo && /tmp/ipcuckoo create mine hash:net family any &&
		echo +192.0.2.1 > set/mine && printf +%s\\\\n 10.0.0.0/8 2001:db8::/32 > set/mine &&
		echo set/* && tail -n +2 sets | cut -d \" \" -f 1-4"'

test_namespaces()
{
	# Test that a network namespace shows its own sets.
	check "another network namespace" $'set/*\nset/host4 entries 1' \
		"$(unshare -n bash -c "$script_of_net_ns" 2>&1)"
	check "its set of the same name is another one" 0 "$(summary host4 entries)"
	# Test that whoever has a network namespace of his own needs nothing else.
	if [ "$(< /proc/sys/user/max_user_namespaces)" = 0 ]; then
		skip "a user namespace" "the kernel makes none"
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
	# Test that the file is there as long as the set or longer, if it is open; and that it is
	# of no use then.
	ask write gone '+192.0.2.1\n'
	check "no set, no file" ENOENT "$answer"
	ask create gone
	check "with the set comes the file" yes "$([ -e $proc/set/gone ] && echo yes)"
	ask open gone
	ask use write
	check "an open file can be written" ok "$answer"
	ask destroy gone
	ask use write
	check "an open file cannot be written any more" ENOENT "$answer"
	ask use read
	check "nor read" ENOENT "$answer"
	ask write gone '+192.0.2.1\n'
	check "nor opened once more" ENOENT "$answer"
	ask create gone
	check "a new set of that name is empty" 0 "$(summary gone entries)"
	applied "and can be written" 1 1 gone '+192.0.2.1\n'
	ask use write
	check "the old file is not that of the new set" ENOENT "$answer"
	ask close
	applied "which has its file when that is closed" 1 1 gone '+192.0.2.2\n'
	ask open gone
	ask destroy gone
	ask close
	run_ok "the file goes when it is closed" busywait 5 [ ! -e $proc/set/gone ]
	ask create gone
	ask destroy gone
	check "with the set goes the file that is not open" no "$([ -e $proc/set/gone ] || echo no)"
}

test_pins()
{
	local file

	# Test that an open file holds the module, so that unloading it never waits for a reader.
	for file in sets attachments set/host4; do
		exec 9< "$proc/$file"
		run_error "rmmod while $file is open" 1 "in use" rmmod ipcuckoo
		exec 9<&-
	done
	check "all that were closed hold it no more" 0 "$(< /sys/module/ipcuckoo/refcnt)"
}

test_names()
{
	local name longest=abcdefghijklmnopqrstuvwxyz01234

	# Test that every legal name is a file name: that is all of ASCII but what ends names.
	for name in ... -x ..a a.. _ 0 set sets A-Z_a.z $longest 'KUBE-DST:a;b^c~d' \
		"!#\$%&'()*+,-." ':;<=>?@[\]^_`{|}~' '#x' '~'; do
		ask create "$name"
		applied "a set named $name" 1 1 "$name" '+192.0.2.1\n'
		check "its file says so: $name" "$name" "$(summary "$name" name)"
		ask destroy "$name"
	done
	check "no file is left" "any host4 host6 net4 net6 small" "$(names_of $proc/set/*)"
}

test_many_sets()
{
	local files lines whole

	# Test that a list of many pages is complete, in whatever pieces it is read.
	ask sets 250
	check "250 more sets" ok "$answer"
	mapfile -t -s 1 lines < $proc/sets
	files=("$proc"/set/*)
	check "each has its line" 256 ${#lines[@]}
	check "in the order of names" "$(printf '%s\n' "${lines[@]%% *}" | LC_ALL=C sort)" \
		"$(printf '%s\n' "${lines[@]%% *}")"
	check "and its file" 256 ${#files[@]}
	ask chunks sets 65536
	whole=$answer
	ask chunks sets 1
	check "read by the byte" "$whole" "$answer"
	ask chunks sets 1000
	check "read by 1000 bytes" "$whole" "$answer"
	run_ok "all can be destroyed" ipcuckoo destroy --all
	check "with their files" "*" "$(names_of $proc/set/*)"
}

test_together()
{
	local seconds=${SLOW:+4}

	seconds=${seconds:-2}
	ask create a
	# Test that the lines of a write are one step for those who read.
	ask steps a "$seconds"
	check "whole contents are replaced, none is half" ok "$answer"
	ask write a '/\n'
	# Test that writers do not lose what others write.
	ask writers a 100
	check "four writers at once" "ok 400" "$answer"
	check "each with its own" 400 "$(ipcuckoo list a | grep -c '^10\.[0-3]\.[0-9]*\.3$')"
	ask destroy a
	# Test that a set can go while it is written and read.
	ask recreate a "$seconds"
	check "destroyed and made again under writers" ok "$answer"
	check "no file is left then" "*" "$(names_of $proc/set/*)"
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
check "and takes its files along" no "$([ -e $proc ] || echo no)"
ktap_done
