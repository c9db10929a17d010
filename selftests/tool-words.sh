#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tool: help, wrong words and values, the module missing, no permission, what is documented.

. "${0%/*}/tool-functions"

readme=$here/../README.md
verbs="create destroy rename swap change add del test count list flush load attach detach block unblock stats monitor version help"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
# What help shows, as test_help() finds it.
examples=()

test_absent()
{
	local words

	# Test that verbs that need the module say that it is not there, and how to get it. Each of
	# them makes the kernel look for it, which takes long.
	printf '192.0.2.1\n' > list
	for words in "create a hash:ip" "add a 192.0.2.1" "test a 192.0.2.1" list "load a list" \
		"attach a src drop" "block 192.0.2.1" stats; do
		# shellcheck disable=SC2086
		expect "not loaded: $words" 4 "" "not loaded; run modprobe ipcuckoo" $words
	done
	expect "not loaded, quiet" 4 "" "" -q list
	expect "not loaded, JSON" 4 "" "not loaded" -j list
	check_match "not loaded: version" $'^0 ipcuckoo [0-9.]+\nmodule   not loaded$' \
		"$(run_tool version; echo "$status $out")"
}

test_version()
{
	local version

	run_tool --version
	version=${out#ipcuckoo }
	check_match "--version" '^ipcuckoo [0-9]+\.[0-9]+' "$out"
	expect "-V" 0 "ipcuckoo $version" "" -V
	expect "-V behind a command" 0 "ipcuckoo $version" "" list -V
	json "-V -j" 0 "{\"tool\": \"$version\"}" d -V
	json "version -j without a module" 0 "{\"module\": null, \"tool\": \"$version\"}" d version
}

test_help()
{
	local verb line

	# Test that help is there for every verb, by every way to it, and tells all of them.
	expect "no words at all" 2 "" "Usage: ipcuckoo [OPTION...] COMMAND"
	run_tool help
	check "help lists the verbs" "$(printf '%s\n' $verbs | sort)" \
		"$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' out | sort)"
	check "help lists the options" "-j -q -! --force -h -V --" \
		"$(sed -n '/^Options/,/^$/s/^  \(-[^ ,]*\).*/\1/p' out | paste -sd ' ')"
	check "help lists the exit statuses" "0 1 2 3 4 5" \
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
	expect "-h add with words" 0 "$out" "" -h add a 192.0.2.1
	wrong "help of an unknown command" 'unknown command "lod"; did you mean "load"?' help lod
	wrong "help of two" 'unknown word "del"' help add del
}

test_readme()
{
	local text verb unknown=

	# Test that the README knows every verb, and the tool every verb of the README.
	text=$(< "$readme")
	for verb in $verbs; do
		[[ $text =~ (ipcuckoo |\`|, )${verb}[^a-z] ]] || unknown+=" $verb"
	done
	check "README knows every verb" "" "$unknown"
	unknown=
	for verb in $(grep -oE '^    (# )?ipcuckoo [a-z]+|`ipcuckoo [a-z]+' "$readme" |
		sed 's/.* //'); do
		[[ " $verbs " == *" $verb "* ]] || unknown+=" $verb"
	done
	check "and no other" "" "$unknown"
	[[ $text =~ Exit\ status:\ 0\ .*1\ .*2\ .*3\ .*4\ .*5\  ]]
	check "README has the exit statuses" 0 $?
}

test_usage()
{
	local name

	# Test that every word has to be known, and that one that is not is named, with a guess.
	wrong "unknown command" 'unknown command "crate"; did you mean "create"?' crate a hash:ip
	wrong "unknown command, nothing near" $'unknown command "xyzzy"\nSee ipcuckoo help.' xyzzy
	expect "quiet about it" 2 "" "" -q crate
	expect "no JSON about it" 2 "" "unknown command" -j crate
	wrong "unknown option" 'unknown option "--tarse"; did you mean "--terse"?' list --tarse
	wrong "unknown short option" 'unknown option "-x"' list -x
	wrong "unknown word" 'unknown word "famly"; did you mean "family"?' \
		create a hash:ip famly inet
	wrong "usage is shown with it" 'usage: ipcuckoo create NAME hash:ip|hash:net|filter:ip' \
		create a hash:ip famly inet
	wrong "options of other verbs" 'unknown option "--append"' add a 192.0.2.1 --append
	wrong "too many words" 'unknown word "b"' list a b
	wrong "stats takes none" 'unknown word "a"' stats a
	wrong "version takes none" 'unknown word "a"' version a
	# Test that what is missing is said.
	for name in create "create a" "rename a" "swap a" "change a" "add a" "del a" "test a" "count a" "load a" "attach a src" detach \
		block unblock; do
		# shellcheck disable=SC2086
		wrong "too few words: $name" "ipcuckoo ${name%% *} " $name
	done
	wrong "family without a value" 'family needs a value' create a hash:ip family
	wrong "family twice" 'family is given twice' create a hash:ip family inet family inet6
	wrong "maxelem without a value" 'maxelem needs a value' create a hash:ip maxelem
	wrong "a name and all of them" 'give the name of one set, or --all' destroy a --all
	wrong "flush as well" 'give the name of one set, or --all' flush --all a
	wrong "detach as well" 'usage: ipcuckoo detach' detach a --all
	wrong "detach --all dev" 'usage: ipcuckoo detach' detach --all dev eth0
}

test_bad_values()
{
	local value

	# Test that values are checked, also where there is no module.
	wrong "type" $'unknown type "hash:ipp"; did you mean "hash:ip"?\nKnown are: hash:ip, hash:net, filter:ip' \
		create a hash:ipp
	wrong "family" $'unknown family "ipv4"\nKnown are: inet, inet6, any' \
		create a hash:ip family ipv4
	for value in -1 4294967296 1x "" 99999999999999999999; do
		wrong "maxelem '$value'" "\"$value\" is no maxelem: a number from 0 to 4294967295" \
			create a hash:ip maxelem "$value"
	done
	wrong "direction" 'unknown direction "scr"; did you mean "src"?' attach a scr drop
	wrong "verdict" 'unknown verdict "dorp"; did you mean "drop"?' attach a src dorp
	wrong "a mark needs a value" 'mark needs a value' attach a src mark
	wrong "a mark is a number" '"x" is no mark' attach a src mark x
	wrong "a mark of 32 bits" '"0x100000000" is no mark' attach a src mark 0x100000000
	wrong "a mask is a number" '"" is no mask' attach a src mark 1/
	wrong "a mark inside its mask" 'the mark 0x10 has bits outside its mask 0xf' \
		attach a src mark 0x10/0xf
	wrong "only mark has a value" 'unknown word "0x1"' attach a src drop 0x1
	wrong "order" '"2147483648" is no order' attach a src drop order 2147483648
	for value in "" .. a/b "a b" abcdefghijklmnop; do
		wrong "device '$value'" "\"$value\" is no name of a network device" \
			attach a src drop dev "$value"
	done
	wrong "number of an attachment" '"0" is no attachment' detach id 0
	wrong "detach from a direction" 'unknown word "scr"; did you mean "src"?' detach a scr
}

test_bad_names()
{
	local name

	# Test that what is no name is said to be none, and cannot talk to the terminal.
	for name in . .. a/b "a b" 'a*' ä; do
		wrong "name '$name'" "is no name of a set: letters, digits and _ . - make names" \
			create "$name" hash:ip
	done
	wrong "the empty name" 'the name of the set is empty' create "" hash:ip
	wrong "32 bytes" '"abcdefghijklmnopqrstuvwxyz012345" is no name of a set: longer than 31 bytes' \
		create abcdefghijklmnopqrstuvwxyz012345 hash:ip
	wrong "control bytes" '"\x1b[31m" is no name of a set' list $'\e[31m'
}

test_denied()
{
	local words

	# Test that who may not is told so.
	install -m 755 "$IPCUCKOO" .
	for words in list "create a hash:ip" "block 192.0.2.1"; do
		# shellcheck disable=SC2086
		"${nobody[@]}" ./ipcuckoo $words > out 2> err
		check "nobody: $words" "5 ipcuckoo: this needs root or CAP_NET_ADMIN" \
			"$? $(cat out err)"
	done
	check_match "nobody: version" $'^ipcuckoo [0-9.]+\nmodule   loaded; its version needs root' \
		"$("${nobody[@]}" ./ipcuckoo version)"
	expect "nothing was made" 0 "" "" list
}

# Commands that the README shows, as they are.
tour()
{
	sed -nE 's/^    (# )?(ipcuckoo .*)/\2/p' "$readme"
}

test_documented()
{
	local line lines

	# Test that what the README shows works as it stands, and what help shows is understood.
	start_over
	mkdir -p bin
	ln -sf "$IPCUCKOO" bin/ipcuckoo
	printf '192.0.2.0/24 ; SBL1\n' > drop.txt
	printf '198.51.100.0/24 ; SBL2\n' > edrop.txt
	mapfile -t lines < <(tour)
	check_match "the README's commands" '^[1-9][0-9]+$' ${#lines[@]}
	for line in "${lines[@]}"; do
		PATH=$work/bin:$PATH run_ok "README: ${line%% *#*}" eval "$line"
	done
	check_match "help's examples" '^[1-9][0-9]+$' ${#examples[@]}
	for line in "${examples[@]}"; do
		# shellcheck disable=SC2086
		run_tool ${line%%[&|]*}
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
