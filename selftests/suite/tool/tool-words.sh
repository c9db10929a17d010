#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the tool: help, invalid words and values, a missing module, missing permissions, the README.

. "${0%/*}/tool-functions"

readme=$top/README.md
verbs="create add del test destroy list save restore flush rename swap help version - quit change count load attach detach block unblock stats top monitor publish fleet why"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
# The example commands in the help texts, collected by test_help().
examples=()

test_absent()
{
	local words

	# Test that commands that need the module say that it is not loaded, and how to load it.
	# Only some commands: each makes the kernel search for the module, which takes long.
	printf '192.0.2.1\n' > list
	for words in "create a hash:ip" "add a 192.0.2.1" "test a 192.0.2.1" list; do
		# shellcheck disable=SC2086
		expect "not loaded: $words" 1 "" "not loaded; run modprobe ipcuckoo" $words
	done
	for words in "load a list" "attach a src drop" "block 192.0.2.1" stats; do
		# shellcheck disable=SC2086
		expect "not loaded: $words" 4 "" "not loaded; run modprobe ipcuckoo" $words
	done
	expect "not loaded, quiet" 1 "" "" -q list
	expect "not loaded, JSON" 1 "" "not loaded" -j list
	check_match "not loaded: version" '^0 ipcuckoo v[0-9][^ ]* \(module not loaded\), protocol version: 7$' \
		"$(run_tool version; echo "$status $out")"
}

test_version()
{
	local version

	run_tool --version
	version=${out#ipcuckoo v}
	version=${version%, *}
	check_match "--version" "^ipcuckoo v${tool_release//./\\.}(\\+[0-9]+\\.g[0-9a-f]{8}(\\.dirty)?)?, protocol version: 7\$" "$out"
	expect "-V" 0 "$out" "" -V
	expect "-V behind a command" 0 "$out" "" list -V
	json "-V -j" 0 "{\"tool\": \"$version\"}" d -V
	json "version -j without a module" 0 "{\"module\": null, \"tool\": \"$version\"}" d version
}

test_help()
{
	local verb line

	# Test that every command has help, and that each way to ask for help works.
	expect "no arguments" \
		2 "" $'No command specified.\nTry `ipcuckoo help\' for more information.'
	run_tool help
	check "help lists the commands" "$(printf '%s\n' $verbs | sort)" \
		"$(sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' out | sort)"
	check "help lists the options" "-j -q -! -o -s -n -t -r -f --force --spare -h -V --" \
		"$(sed -n '/^Options/,/^$/s/^  \(-[^ ,]*\).*/\1/p' out | paste -sd ' ')"
	check "help lists the exit statuses" "0 1 2 3 4 5 7" \
		"$(sed -n '/^Exit status/,/^$/s/^  \([0-9]\) .*/\1/p' out | paste -sd ' ')"
	expect "--help is help" 0 "$out" "" --help
	expect "-h is help" 0 "$out" "" -h
	for verb in $verbs; do
		run_tool help "$verb"
		judge "help $verb" 0 "Usage: ipcuckoo $verb*" ""
		while read -r line; do
			[[ $line != "ipcuckoo "* ]] || examples+=("${line#ipcuckoo }")
		done < out
	done
	run_tool help add
	expect "add --help" 0 "$out" "" add --help
	expect "-h with a complete command" 0 "$out" "" -h add a 192.0.2.1
	wrong "help of an unknown command" 'Unknown settype: `lod'"'"', and neither a command nor a section of the manual; did you mean "load"?' help lod
	wrong "help of two commands" 'Unknown argument del' help add del
}

test_readme()
{
	local verb unknown=

	# Test that the tool knows every command of the README. contract/test_manual compares the
	# manual page and the exit statuses.
	for verb in $(grep -oE '^    (# )?ipcuckoo [a-z]+|`ipcuckoo [a-z]+' "$readme" |
		sed 's/.* //'); do
		[[ " $verbs " == *" $verb "* ]] || unknown+=" $verb"
	done
	check "the commands of the README" "" "$unknown"
}

test_usage()
{
	local name

	# Test that unknown words are refused and named, with a suggestion.
	wrong "unknown command" 'No command specified: unknown argument crate; did you mean "create"?' crate a hash:ip
	wrong "unknown command, nothing near" $'No command specified: unknown argument xyzzy\nTry `ipcuckoo help\' for' xyzzy
	expect "-q prints no message about it" 2 "" "" -q crate
	expect "-j prints no JSON about it" 2 "" "No command specified" -j crate
	wrong "unknown option" 'Unknown argument --apend; did you mean "--append"?' load a list --apend
	wrong "unknown short option" 'Unknown argument -x' list a -x
	wrong "unknown word" $'Unknown argument: `famly\'; did you mean "family"?' \
		create a hash:ip famly inet
	wrong "usage is shown with it" 'usage: ipcuckoo create NAME hash:ip|hash:net|filter:ip' \
		create a hash:ip famly inet
	wrong "options that no command has" "Unknown argument -a" destroy x -a
	wrong "options of other commands" $'Unknown argument: `--append\'' add a 192.0.2.1 --append
	wrong "too many arguments" 'Unknown argument b' list a b
	wrong "stats takes no arguments" 'Unknown argument a' stats a
	wrong "version takes no arguments" 'Unknown argument a' version a
	# Test that messages name what is missing.
	for name in create "create a" "rename a" "swap a" "change a" "add a" "del a" "test a" "count a" "load a" "attach a src" detach \
		block unblock; do
		# shellcheck disable=SC2086
		wrong "too few arguments: $name" "ipcuckoo ${name%% *} " $name
	done
	wrong "family without a value" $'Missing mandatory argument of option `family\'' create a hash:ip family
	bad "family twice" 'family already specified' create a hash:ip family inet family inet6
	wrong "maxelem without a value" $'Missing mandatory argument of option `maxelem\'' create a hash:ip maxelem
	wrong "a name and all of them" 'give the name of one set, or --all' destroy a --all
	wrong "flush of a name and all of them" 'give the name of one set, or --all' flush --all a
	wrong "detach of a name and all of them" 'usage: ipcuckoo detach' detach a --all
	wrong "detach --all dev" 'usage: ipcuckoo detach' detach --all dev eth0
}

test_bad_values()
{
	local value

	# Test that values are checked even if the module is not loaded.
	bad "type" $'typename \'hash:ipp\' is unknown; did you mean "hash:ip"?\nKnown are: hash:ip, hash:net, filter:ip' \
		create a hash:ipp
	bad "family" $'unknown inet family nonsense\nKnown are: inet, inet6, any, ipv4, ipv6' \
		create a hash:ip family nonsense
	for value in -1 4294967296 99999999999999999999; do
		bad "maxelem '$value'" "'$value' is out of range 0-4294967295 (maxelem)" \
			create a hash:ip maxelem "$value"
	done
	for value in 1x ""; do
		bad "maxelem '$value'" "'$value' is invalid as number (maxelem)" \
			create a hash:ip maxelem "$value"
	done
	for value in 1x x "" 1h30 30m1h 010 1.5h; do
		bad "timeout '$value'" "'$value' is invalid as number (timeout" create a hash:ip timeout "$value"
	done
	for value in 2147483648 3551w -1; do
		bad "timeout '$value'" "'$value' is out of range 0-2147483647 (timeout" \
			create a hash:ip timeout "$value"
	done
	wrong "direction" 'unknown direction "scr"; did you mean "src"?' attach a scr drop
	wrong "verdict" 'unknown verdict "dorp"; did you mean "drop"?' attach a src dorp
	wrong "a mark needs a value" 'mark needs a value' attach a src mark
	wrong "a mark is a number" "'x' is invalid as number (mark)" attach a src mark x
	wrong "a mark of 32 bits" "'0x100000000' is out of range 0-4294967295 (mark)" attach a src mark 0x100000000
	wrong "a mask is a number" "'' is invalid as number (mask of the mark)" attach a src mark 1/
	wrong "a mark with bits outside its mask" 'the mark 0x10 has bits outside its mask 0xf' \
		attach a src mark 0x10/0xf
	wrong "only mark has a value" 'Unknown argument 0x1' attach a src drop 0x1
	wrong "order" "'2147483648' is out of range" attach a src drop order 2147483648
	for value in "" .. a/b "a b" abcdefghijklmnop; do
		wrong "device '$value'" "\"$value\" is no name of a network device" \
			attach a src drop dev "$value"
	done
	wrong "number of an attachment" "'0' is out of range" detach id 0
	wrong "detach from a direction" 'Unknown argument scr; did you mean "src"?' detach a scr
}

test_bad_names()
{
	local name

	# Test that invalid names are refused, and that control bytes in them are escaped.
	for name in . .. a/b "a b" 'a"b' ä; do
		bad "name '$name'" "is no name of a set: " \
			create "$name" hash:ip
	done
	bad "the empty name" 'the name of the set is empty' create "" hash:ip
	bad "32 bytes" "setname 'abcdefghijklmnopqrstuvwxyz012345' is longer than 31 characters" \
		create abcdefghijklmnopqrstuvwxyz012345 hash:ip
	bad "control bytes" '"\x1b[31m" is no name of a set' list $'\e[31m'
}

test_denied()
{
	local words want

	# Test the messages for users without permission.
	install -m 755 "$IPCUCKOO" .
	for words in list "create a hash:ip" "block 192.0.2.1"; do
		# shellcheck disable=SC2086
		"${nobody[@]}" ./ipcuckoo $words > out 2> err
		status=$?
		want=1
		[[ $words != block* ]] || want=5
		check "nobody: $words" "$want ipcuckoo v$tool_release: Kernel error received: Operation not permitted (this needs root or CAP_NET_ADMIN)" \
			"$status $(cat out err)"
	done
	check_match "nobody: version" '^ipcuckoo v[0-9][^ ]* \(module loaded, its version needs root to read\), protocol version: 7$' \
		"$("${nobody[@]}" ./ipcuckoo version)"
	expect "no set was created" 0 "" "" list
}

# Prints the commands of the README, except monitor, which runs until it is interrupted. This directory
# takes the place of /etc, as in tool-readme.sh.
tour()
{
	sed -nE '/ipcuckoo monitor/d; s|/etc/||g; s/^    (# )?(ipcuckoo .*)/\2/p' "$readme"
}

test_documented()
{
	local line lines

	# Test that the commands of the README work as shown, and that the examples of help are
	# valid.
	start_over
	mkdir -p bin
	ln -sf "$IPCUCKOO" bin/ipcuckoo
	printf '192.0.2.0/24 ; SBL1\n' > drop.txt
	printf '2001:db8::/32 ; SBL2\n' > dropv6.txt
	mapfile -t lines < <(tour)
	check_match "the README's commands" '^([89]|[1-9][0-9]+)$' ${#lines[@]}
	for line in "${lines[@]}"; do
		PATH=$work/bin:$PATH run_ok "README: ${line%% *#*}" eval "$line"
	done
	check_match "help's examples" '^[1-9][0-9]+$' ${#examples[@]}
	for line in "${examples[@]}"; do
		# "monitor" does not end; the others ask ipcuckood, which the room fleet has.
		[[ ! $line =~ ^(monitor|publish|fleet)( |$) ]] || continue
		# shellcheck disable=SC2086
		run_tool ${line%%[&|>]*}
		[ $status -le 1 ] || [ $status -eq 3 ]
		check "help: $line" 0 $?
	done
}

test_absent
test_version
test_help
test_readme
test_usage
test_bad_values
test_bad_names
load_module
test_denied
test_documented
start_over
ktap_done
