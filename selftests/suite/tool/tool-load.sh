#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests load: files as people publish them, errors in them, and that list shows the entries that
# were loaded.

. "${0%/*}/tool-functions"

seed=${SEED:-$RANDOM}

# loads NAME SUMMARY WORD...: a case: load prints this summary (the time is ignored) and no message
loads()
{
	run_tool load "${@:3}"
	out=${out%, in *}
	judge "$1" 0 "$2" ""
}

test_load()
{
	# Test that a file becomes the contents of the set, and that comments and columns are
	# accepted.
	printf '%s\n' 192.0.2.1 192.0.2.2 198.51.100.0/24 > plain
	loads "load" "nets: 3 entries" nets plain
	has "the set has the entries of the file" "192.0.2.1 192.0.2.2 198.51.100.0/24" nets
	printf '%s\r\n' 192.0.2.1 '' '# a comment' 192.0.2.0/30 > crlf
	loads "CR LF" "nets: 2 entries, 1 inside a wider prefix" nets crlf
	has "load replaces the contents" "192.0.2.0/30 192.0.2.1" nets
	printf '%s\n' '# comment' '; comment' '' '   ' ' 192.0.2.1' $'192.0.2.2\t7' \
		'192.0.2.3,DE,1' '192.0.2.4 # why' '192.0.2.5;SBL1' '2001:db8::/32 ; SBL2' > columns
	loads "comments and columns" "nets: 6 entries" nets columns
	has "comments and columns are ignored" \
		"192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 2001:db8::/32" \
		nets
	printf '\xef\xbb\xbf192.0.2.1\n2001:db8::1' > bom
	loads "BOM, and no newline at the end" "nets: 2 entries" nets bom
	printf '%s\n' 192.0.2.1-192.0.2.4 '198.51.100.0 - 198.51.100.255' \
		'2001:db8::-2001:db8::3' > ranges
	loads "ranges" "nets: 5 entries" nets ranges
	has "ranges become prefixes" \
		"192.0.2.1 192.0.2.2/31 192.0.2.4 198.51.100.0/24 2001:db8::/126" \
		nets
	loads "several files" "nets: 4 entries, 1 duplicate" nets plain bom
	loads "standard input" "nets: 3 entries" nets - < plain
	loads "standard input and a file" "nets: 4 entries, 1 duplicate" nets bom - < plain
}

test_load_nothing()
{
	local nothing="there is no entry to load; nothing was changed (ipcuckoo flush nets empties a set)"

	# Test that a file without entries, as after a failed download, does not empty the set.
	loads "load valid entries first" "nets: 3 entries" nets plain
	note_generation nets
	: > empty
	wrong "an empty file" "$nothing" load nets empty
	wrong "nothing on standard input" "$nothing" load nets - < /dev/null
	printf '%s\n' '# moved' '' > moved
	wrong "comments only" "$nothing" load nets empty moved
	printf '%s\n' 'Not' 'found' > words
	wrong "no valid line with --skip-invalid" "$nothing" load nets words --skip-invalid
	printf '%s\n' '<html>' 'Not found' > page
	wrong "a web page" "page is a web page (HTML) or XML" load nets page --skip-invalid
	expect "-q prints no message" 2 "" "" -q load nets empty
	expect "an error prints no JSON" 2 "" "$nothing" -j load nets empty
	unchanged "none of these loads changed the set" nets
	loads "--append of no entries" "nets: 3 entries, 0 added" nets empty --append
}

test_load_counts()
{
	# Test that repetitions are counted, in JSON and in text.
	printf '%s\n' 192.0.2.1 192.0.2.1 192.0.2.1/24 192.0.2.0/24 10.0.0.0/8 10.1.0.0/16 \
		::/0 2001:db8::1 ::ffff:192.0.2.1 > repeats
	loads "counts" \
		"nets: 6 entries, 3 duplicates, 3 inside wider prefixes, 1 prefix with host bits cleared" \
		nets repeats
	json "counts, -j" 0 '{"added": 6, "covered": 3, "duplicates": 3, "entries": 6, "masked": 1, "restarts": 0, "set": "nets", "skipped": 0, "unchanged": 0}' \
		'{k: v for k, v in d.items() if k != "seconds"}' load nets repeats
	json "the time" 0 true '0 <= d["seconds"] < 60' load nets repeats
	expect "quiet" 0 "" "" -q load nets repeats
	# Test that --append keeps the entries of the set.
	printf '%s\n' 192.0.2.1 203.0.113.1 > others
	loads "--append" "nets: 7 entries, 1 added, 1 there before" nets others --append
	json "--append -j" 0 '[7, 0, 2]' '[d["entries"], d["added"], d["unchanged"]]' \
		load --append nets others
	# Test that prefixes and ranges become hosts in hash:ip.
	printf '%s\n' 10.0.0.0/16 10.1.0.0/30 > wide
	loads "expanded" "hosts: 65540 entries" hosts wide
	echo 10.0.0.0-10.1.0.0 > wider
	wrong "too many at once" 'wider:1: "10.0.0.0-10.1.0.0": stands for more than 65536 addresses' \
		load hosts wider
	loads "--expand" "hosts: 65537 entries" hosts wider --expand
	"$IPCUCKOO" flush hosts
}

test_load_faults()
{
	local i

	# Test that an invalid line prevents any change, and that the message has file, line and
	# text.
	loads "load valid entries first" "nets: 3 entries" nets plain
	note_generation nets
	printf '%s\n' 192.0.2.9 '# comment' '192.0.2.300 x' 192.0.2.10 > bad
	wrong "a bad line" \
		'bad:3: "192.0.2.300": octet 4 is greater than 255; fix the line or use --skip-invalid' \
		load nets bad
	wrong "an invalid line in the second file" 'bad:3: "192.0.2.300"' load nets plain bad
	wrong "an invalid line in standard input" \
		'(standard input):3: "192.0.2.300"' load nets - < bad
	expect "quiet" 2 "" "" load -q nets bad
	expect "an invalid line prints no JSON" 2 "" 'bad:3:' load -j nets bad
	printf '\x1b[2J\n' > escape
	wrong "control bytes are escaped in messages" 'escape:1: "\x1b[2J": not an IP' \
		load nets escape
	printf '192.0.2.1\0\n' > nul
	wrong "a NUL byte" 'nul:1: "192.0.2.1\x00": octet 4 has' load nets nul
	printf '192.0.2.1\r192.0.2.2\r' > mac
	wrong "carriage returns as line ends" \
		'mac:1: "192.0.2.1\x0d192.0.2.2": a carriage return inside the line: old Mac line ends?' \
		load nets mac
	# Test that files that are not lists are recognised.
	wrong "no such file" 'nowhere cannot be opened: No such file or directory' load nets nowhere
	wrong "a directory" '. cannot be read: Is a directory' load nets .
	gzip -c plain > compressed
	wrong "compressed" 'compressed is compressed; type: zcat compressed | ipcuckoo load nets -' load nets compressed
	printf '\xff\xfe1\0' > utf16
	wrong "UTF-16" 'utf16 is UTF-16, not UTF-8; type: iconv ' load nets utf16
	printf '%0300000d\n192.0.2.1\n' 7 > long
	wrong "a very long line" 'long:1: ' load nets long
	unchanged "none of these loads changed the set" nets
	expect "no such set" 3 "" 'The set with the given name does not exist: "net"; did you mean "nets"?' load net plain
	# Test that --skip-invalid reports invalid lines and continues.
	run_tool load nets bad --skip-invalid
	out=${out%, in *}
	judge "--skip-invalid" 0 "nets: 2 entries, 1 line skipped" \
		'bad:3: "192.0.2.300": octet 4 is greater than 255; skipped'
	has "the valid lines were loaded" "192.0.2.9 192.0.2.10" nets
	for i in {1..15}; do
		echo "bad$i"
	done > worse
	echo 192.0.2.1 >> worse
	run_tool load nets worse --skip-invalid
	out=${out%, in *}
	judge "more than ten invalid lines" \
		0 "nets: 1 entry, 15 lines skipped" "ipcuckoo v$tool_release: 5 more lines skipped"
	check "messages name ten of them" \
		10 "$(grep -c '^ipcuckoo v[0-9.]*: worse:.*; skipped$' err)"
	expect "-q prints no message about them" 0 "" "" -q load nets worse --skip-invalid
	json "counted" 0 '[15, 1]' '[d["skipped"], d["entries"]]' -q load nets worse --skip-invalid
	run_tool load nets long --skip-invalid
	out=${out%, in *}
	judge "a very long line counts as one" 0 "nets: 1 entry, 1 line skipped" "long:1: "
}

test_check()
{
	# Test that --check finds errors, and changes nothing if there are none.
	note_generation nets
	printf '%s\n' 203.0.113.0/24 203.0.113.7 > good
	printf '%s\n' 203.0.113.0/24 203.0.113.700 > bad
	run_tool load nets good --check
	out=${out/ in * s;/ in no time;}
	judge "--check" 0 "nets: 2 entries, 1 inside a wider prefix, in no time; nothing was changed" ""
	wrong "a bad line" 'bad:2: "203.0.113.700"' load nets bad --check
	fine "entries" add nets 203.0.113.7 203.0.114.0/24 --check
	fine "del of a member, --check" del nets 203.0.115.0/24 --check
	expect "an invalid address, --check" \
		1 "" "cannot parse 203.0.113.700" add nets 203.0.113.7 203.0.113.700 --check
	expect "test has no --check" 2 "" "nknown argument" test nets 203.0.113.7 --check
	"$IPCUCKOO" create tiny hash:ip maxelem 1
	expect "more entries than maxelem" 3 "" "Hash is full" load tiny plain --check
	"$IPCUCKOO" destroy tiny
	unchanged "nothing was changed" nets
}

test_override()
{
	local i disturb='"$IPCUCKOO" -q add hosts 203.0.113.1 || "$IPCUCKOO" del hosts 203.0.113.1'

	# Test that changes that other programs make during a load are kept, except with --override.
	# They happen just before each commit, for as many commits as given.
	for ((i = 0; i < 256; i++)); do
		echo "10.0.$i.0/24"
	done > large
	echo 10.1.0.0/17 >> large
	while_disturbed 9 "$disturb" expect "another program changes the set before each commit" \
		3 "" "others kept changing the set hosts, 5 times in a row; nothing was changed (try again, or use --override to discard what they change)" \
		load hosts large
	has "only the other program changed the set" 203.0.113.1 hosts
	while_disturbed 4 "$disturb" json "another program changes the set before four commits" \
		0 '[98304, 4]' \
		'[d["entries"], d["restarts"]]' load hosts large
	expect "the load replaces what the other program added" \
		1 "" "203.0.113.1 is NOT in set hosts." \
		test hosts 203.0.113.1
	while_disturbed 3 "$disturb" json "--append" 0 '[98305, 0, 98304, 3]' \
		'[d[k] for k in ("entries", "added", "unchanged", "restarts")]' load hosts large --append
	expect "--append keeps what the other program added" \
		0 "" "203.0.113.1 is in set hosts." test hosts 203.0.113.1
	while_disturbed 9 '"$IPCUCKOO" del hosts 10.0.7.7' json "--override" 0 '[98304, 0]' \
		'[d["entries"], d["restarts"]]' load hosts large --override
	expect "--override undoes what the other program did" \
		0 "" "10.0.7.7 is in set hosts." test hosts 10.0.7.7
	note_generation hosts
	json "no other program changes the set" \
		0 '[98304, 0]' '[d["entries"], d["restarts"]]' load hosts large
	generation=$((generation + 1))
	unchanged "the load is one change" hosts
	"$IPCUCKOO" flush hosts
}

test_progress()
{
	local slow

	if ! command -v script > /dev/null; then
		skip "progress on a terminal" "no script(1) here"
		return
	fi
	# Test that a slow load shows a progress bar, but only on a terminal. The comments do not
	# fit into the pipe, so the load has begun before the sleep of half a second.
	slow="(yes '# comment' | head -n 20000; sleep 0.5; cat plain)"
	check_match "progress on a terminal" $'\rnets \\[#{40}\\] 3 of 3\r\e\\[Knets: 3 entries' \
		"$(script -qec "$slow | $IPCUCKOO load nets -" /dev/null)"
	check "no progress with -q" "" "$(script -qec "$slow | $IPCUCKOO -q load nets -" /dev/null)"
}

test_left_behind()
{
	local before after

	# Test that failed commands in interactive mode leak no kernel memory.
	"$IPCUCKOO" create small hash:ip maxelem 20000
	"$IPCUCKOO" add small 10.0.0.0/20
	printf '10.1.%d.0/24\n' {0..79} > large
	before=$("$IPCUCKOO" -j stats | python3 -c 'import json, sys; print(json.load(sys.stdin)["memory"])')
	printf '%s\n' 'load small large --append' 'add small 10.2.0.0/16' 'del small 10.3.0.0/16' '-j stats' |
		"$IPCUCKOO" - > out 2> err
	check "three commands fail" 3 "$(grep -c ^ err)"
	after=$(sed -n 's/^ipcuckoo> .*"memory":\([0-9]*\),"memory_limit".*/\1/p' out)
	check "the sets use as much memory as before" "$before" "$after"
	"$IPCUCKOO" destroy small
}

test_generated()
{
	local type before

	# Test that random lists of all kinds of lines are loaded and counted correctly.
	note "seed $seed"
	ask generate generated "$seed" 600
	check "a list" ok "$answer"
	for type in hash:net hash:ip; do
		"$IPCUCKOO" create generated $type family any
		run_tool -j load generated generated
		ask json out \
			'" ".join(str(d[k]) for k in ("entries", "duplicates", "covered", "masked"))'
		before=$answer
		run_tool list generated
		ask expected out $type
		check "list shows it from a set of type $type" "$before" "\"${answer#ok }\""
		"$IPCUCKOO" destroy generated
	done
}

# real NAME TYPE FILE...: cases: load and list real lists
real()
{
	local name=$1 type=$2 entries

	shift 2
	"$IPCUCKOO" create real "$type" family any
	run_tool -j load real "$@"
	ask json out 'd["entries"]'
	run_tool list real
	check_match "$name: loaded" '^[1-9][0-9]{3,}$' "$answer"
	entries=$answer
	ask same out "$@"
	check "$name: list shows the same entries" "ok $entries" "$answer"
	"$IPCUCKOO" destroy real
}

test_real()
{
	# Test that real lists are loaded correctly.
	real "ipsum, as hosts" hash:ip "$IPCUCKOO_TESTS"/data/ipsum.txt
	real "countries, in one set" hash:net "$IPCUCKOO_TESTS"/data/country-*.txt
}

load_module
make_sets
test_load
test_load_nothing
test_load_counts
test_load_faults
test_check
test_override
test_progress
test_left_behind
test_generated
test_real
ktap_done
