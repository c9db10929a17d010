#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The tool: a firewall that is saved and comes back, sets and what they are attached as; and the
# unit that does it before the network is up.

. "${0%/*}/tool-functions"

unit=$top/tools/ipcuckoo.service.in

# Sets and attachments of every kind.
make_firewall()
{
	make_sets
	"$IPCUCKOO" add hosts 192.0.2.1 192.0.2.2
	"$IPCUCKOO" add nets 198.51.100.0/24 2001:db8::/32
	"$IPCUCKOO" create kept hash:net timeout 0 counters comment
	"$IPCUCKOO" add kept 203.0.113.0/24 comment "two words"
	"$IPCUCKOO" add kept 203.0.113.7 nomatch
	"$IPCUCKOO" create many filter:ip capacity 100
	"$IPCUCKOO" attach nets src drop
	"$IPCUCKOO" attach hosts src accept order 50 loopback
	"$IPCUCKOO" attach hosts dst mark 0x1/0xff dev eth7
	"$IPCUCKOO" attach kept both count priority 5
	"$IPCUCKOO" attach kept src drop ingress dev eth7
	"$IPCUCKOO" attach nets both prefetch ingress dev eth7
	"$IPCUCKOO" -q attach many dst drop --approximate
	modprobe -q nfnetlink_log &&
		"$IPCUCKOO" attach nets dst count log nflog 7 rate 0 every 9 2> /dev/null ||
		note "no nflog in this kernel"
}

test_save()
{
	make_firewall
	expect "save --all" 0 "" "the entries of many are not saved" save --all -file saved
	"$IPCUCKOO" save > sets
	check "is what save prints, and what attaches" "$(< sets)" "$(grep -v '^attach\|^#' saved)"
	check "one line each" "$("$IPCUCKOO" -j stats | python3 -c '
import json, sys
print(len(json.load(sys.stdin)["attachments"]))')" "$(grep -c ^attach saved)"
	start_over
	fine "restore" restore -file saved
	check "brings all of it back" "$(< saved)" "$("$IPCUCKOO" save --all)"
	fine "once more, -exist" -exist restore -file saved
	check "changes nothing" "$(< saved)" "$("$IPCUCKOO" save --all)"
	expect "without it" 1 "" "Error in line 2: Set cannot be created" restore -file saved
	fine "--check" -exist restore --check -file saved
	grep '^attach' saved > attached
	expect "--check of what is attached already" 1 "" "Error in line 1: Set " \
		restore --check -file attached
	wrong "of one set" "give the name of one set, or --all" save nets --all
	wrong "for ipset" "neither JSON, XML nor ipset have attachments" save --all --ipset
	wrong "as JSON" "neither JSON, XML nor ipset have attachments" -j save --all
	start_over
}

test_lines()
{
	# Test that lines that attach are part of the transaction.
	make_sets
	note_generation hosts
	printf '%s\n' 'create new hash:ip' 'add new 192.0.2.1' 'attach new src drop' \
		'attach hosts src count' 'attach new src drop' > file
	expect "one twice" 1 "" "Error in line 5: Set new is attached in that way already" restore -file file
	unchanged "nothing was changed" hosts
	expect "there is no new set" 0 $'hosts\nnets' "" list -n
	json "and nothing attached" 0 '[]' 'd["attachments"]' stats
	sed -i '5s/$/ -exist/' file
	fine "-exist" restore -file file
	json "attached, once" 0 '[["new", "drop"], ["hosts", "count"]]' \
		'sorted([[a["set"], a["verdict"]] for a in d["attachments"]], reverse=True)' stats
	printf '%s\n' 'attach nets src drop' 'destroy nets' > file
	expect "it cannot be destroyed then" 1 "" "Error in line 2: Set cannot be destroyed" restore -file file
	printf '%s\n' 'attach nets src drop' 'rename nets moved' 'attach moved dst count' > file
	fine "but get another name" restore -file file
	json "with what is attached" 0 '["count", "drop"]' \
		'sorted(a["verdict"] for a in d["attachments"] if a["set"] == "moved")' stats
	printf 'attach nothing src drop\n' > file
	expect "no such set" 1 "" 'Error in line 1: The set with the given name does not exist: "nothing"' \
		restore -file file
	printf 'attach hosts src count --replace\n' > file
	expect "--replace" 2 "" "Error in line 1: --replace cannot be part of what is restored" \
		restore -file file
	printf '%s\n' 'create many filter:ip' 'attach many src drop' > file
	expect "non-members would be dropped" 1 "" "Error in line 2: Set many cannot be attached: it is approximate" \
		restore -file file
	start_over
}

test_all_or_none()
{
	# Test that a line that cannot attach leaves sets as they were, whatever is the reason.
	make_sets
	"$IPCUCKOO" add hosts 192.0.2.1
	"$IPCUCKOO" add nets 203.0.113.0/24
	"$IPCUCKOO" attach hosts src drop order 50
	note_generation hosts
	printf '%s\n' 'create new hash:ip' 'add new 192.0.2.1' 'attach new src drop' 'add hosts 192.0.2.2' \
		'del hosts 192.0.2.1' 'add nets 192.0.2.0/24' 'attach nets src drop' 'attach hosts src drop order 60' > file
	expect "another order" 1 "" "Error in line 8: Set hosts is attached in that way already, with another order" \
		restore -file file
	unchanged "no entry was changed" hosts
	has "in the other set neither" "203.0.113.0/24" nets
	expect "there is no new set" 0 $'hosts\nnets' "" list -n
	json "what was attached is, and no more" 0 '[["hosts", 50]]' \
		'[[a["set"], a["order"]] for a in d["attachments"]]' stats
	"$IPCUCKOO" detach --all
	# Test that the session is not locked out by what a set will have, nor saved by what goes.
	export SSH_CONNECTION="192.0.2.77 5000 198.51.100.9 22"
	printf '%s\n' 'add nets 192.0.2.0/24' 'attach nets src drop' > file
	expect "the session's prefix is added" 1 "" "Error in line 2: Set nets cannot be attached: 192.0.2.77 is in it" \
		restore -file file
	has "nothing was changed" "203.0.113.0/24" nets
	printf '%s\n' 'create new hash:net' 'add new 192.0.2.64/27' 'rename new other' 'attach other src drop' > file
	expect "so it is to a new set" 1 "" "Error in line 4: Set other cannot be attached: 192.0.2.77 is in it" \
		restore -file file
	expect "which there is not then" 0 $'hosts\nnets' "" list -n
	printf '%s\n' 'add nets 192.0.2.0/24' 'add nets 192.0.2.77 nomatch' 'attach nets src drop' > file
	fine "an exception" restore -file file
	printf '%s\n' 'del nets 192.0.2.77' 'attach nets src drop dev eth7' > file
	expect "that goes" 1 "" "Error in line 2: Set nets cannot be attached: 192.0.2.77 is in it" restore -file file
	printf '%s\n' 'del nets 192.0.2.77' 'del nets 192.0.2.0/24' 'attach nets src drop dev eth7' > file
	fine "the prefix goes as well" restore -file file
	"$IPCUCKOO" create masked hash:ip netmask 24
	printf '%s\n' 'add masked 192.0.2.1' 'attach masked src drop' > file
	expect "a mask" 1 "" "192.0.2.77 is in it" restore -file file
	"$IPCUCKOO" --force add hosts 192.0.2.77
	printf '%s\n' 'attach hosts src drop' > file
	expect "it is there already" 1 "" "192.0.2.77 is in it" restore -file file
	printf '%s\n' 'flush hosts' 'attach hosts src drop' > file
	fine "and goes with all others" restore -file file
	unset SSH_CONNECTION
	start_over
	# Test that what is attached is so under the names that sets have in the end.
	make_sets
	"$IPCUCKOO" create live hash:ip
	printf '%s\n' 'create next hash:ip' 'add next 192.0.2.3' 'swap next live' 'destroy next' \
		'attach live src drop' 'rename hosts next' 'attach next src count' 'create hosts hash:net' \
		'attach hosts dst drop' > file
	fine "names that change" restore -file file
	json "are followed" 0 '[["hosts", "dst"], ["live", "src"], ["next", "src"]]' \
		'sorted([a["set"], a["direction"]] for a in d["attachments"])' stats
	has "with what the sets have" 192.0.2.3 live
	start_over
}

test_together()
{
	local long disturb='"$IPCUCKOO" -q add b 192.0.2.9 || "$IPCUCKOO" del b 192.0.2.9'

	# Test that nothing is changed when one of several sets cannot be. All are to change in one
	# request, and somebody changes the second one just before each attempt.
	"$IPCUCKOO" create a hash:ip maxelem 1
	"$IPCUCKOO" create b hash:ip comment
	"$IPCUCKOO" create c hash:ip
	"$IPCUCKOO" add a 192.0.2.1
	printf -v long '%250s' x
	{
		printf '%s\n' 'del a 192.0.2.1' 'add a 192.0.2.2' 'add c 192.0.2.5' 'create d hash:ip' \
			'add d 192.0.2.6' 'attach d src drop'
		for i in {0..2499}; do
			echo "add b 10.0.$((i / 250)).$((i % 250)) comment ${long// /x}"
		done
	} > file
	while_disturbed 9 "$disturb" expect "the second set changes all the time" 1 "" \
		"others kept changing the set b, 5 times in a row (nothing was changed); try again" restore -file file
	has "the first is not changed" 192.0.2.1 a
	expect "the second is not" 1 "" "10.0.0.0 is NOT in set b." test b 10.0.0.0
	has "nothing was added elsewhere" "" c
	expect "there is no new set" 0 $'a\nb\nc' "" list -n
	json "nothing is attached" 0 '[]' 'd["attachments"]' stats
	while_disturbed 2 "$disturb" fine "if the set changes twice" restore -file file
	has "the first is changed" 192.0.2.2 a
	expect "and the second" 0 "" "10.0.0.0 is in set b." test b 10.0.0.0
	json "and the new set is attached" 0 '["d"]' '[a["set"] for a in d["attachments"]]' stats
	start_over
}

test_single_lines()
{
	# Test that the line at fault is named if create -exist asks for other options: the lines
	# after it would be parsed by those of the set that exists.
	"$IPCUCKOO" create a hash:ip
	printf '%s\n' 'create -exist a hash:ip timeout 0' 'add a 192.0.2.1 timeout 5' > file
	expect "create -exist with another option" \
		1 "" "Error in line 1: Set cannot be created: set with the same name already exists (a, of another type" \
		restore -file file
	printf '%s\n' 'rename a b' 'create -exist b hash:net' 'add b 10.0.0.0/8' > file
	expect "the same after a rename" \
		1 "" "Error in line 2: Set cannot be created: set with the same name already exists (b, of another type" \
		restore -file file
	printf '%s\n' 'rename a b' 'create -exist b hash:ip' 'add b 192.0.2.1' > file
	fine "with the same options" restore -file file
	has "the entry is added" 192.0.2.1 b
	# Test that an entry may be repeated in a line, as on the command line.
	"$IPCUCKOO" create m hash:ip netmask 24
	printf '%s\n' 'add m 10.0.0.0/24' 'add b 192.0.2.2 192.0.2.2' 'del b 192.0.2.1 192.0.2.1' > file
	fine "entries that are the same" restore -file file
	has "one is added" 10.0.0.0 m
	has "another one, too, and one is deleted" 192.0.2.2 b
	# Test that --check asks the kernel about a single line, too: the limit of a set with timeouts.
	"$IPCUCKOO" create t hash:ip maxelem 1 timeout 0
	"$IPCUCKOO" add t 192.0.2.1
	echo 'add t 192.0.2.2' > file
	expect "a full set with timeouts" 1 "" "Hash is full, cannot add more elements" restore -file file
	expect "--check" 1 "" "Hash is full, cannot add more elements" restore --check -file file
	start_over
}

test_exist()
{
	# Test that -exist accepts sets that the kernel would accept, and no others.
	"$IPCUCKOO" create m hash:ip netmask 24
	"$IPCUCKOO" create f filter:ip capacity 1000 multi
	for words in "m hash:ip" "m hash:ip netmask 25" "m hash:ip bitmask 255.0.255.0" "f filter:ip" \
		"f filter:ip capacity 1000" "f filter:ip capacity 1001 multi" \
		"f filter:ip capacity 1000 multi bits 8" "f filter:ip capacity 1000 multi maxelem 1000"; do
		echo "create $words -exist" > file
		expect "another: $words" 1 "" "of another type or family, or with other options" restore -file file
		# shellcheck disable=SC2086
		expect "as create says" 1 "" "of another type or family, or with other options" -exist create $words
	done
	for words in "m hash:ip netmask 24" "m hash:ip bitmask 255.255.255.0" "f filter:ip capacity 1000 multi" \
		"f filter:ip multi bits 16 capacity 1000"; do
		echo "create $words -exist" > file
		fine "the same: $words" restore -file file
		# shellcheck disable=SC2086
		fine "as create says" -exist create $words
	done
	start_over
}

test_file()
{
	local text

	# Test that what is saved takes the place of an older file when it is whole, and not before.
	make_sets
	"$IPCUCKOO" create kept hash:ip comment
	echo old > copy
	chmod 640 copy
	ln -s copy link
	fine "save" save -file copy
	check "replaces what is there" "$("$IPCUCKOO" save)" "$(< copy)"
	check "with the mode that it had" 640 "$(stat -c %a copy)"
	"$IPCUCKOO" add hosts 192.0.2.1
	fine "through a link" save -file link
	check "which stays one" copy "$(readlink link)"
	check "to what is new" "$("$IPCUCKOO" save)" "$(< copy)"
	fine "no regular file" save -file /dev/null
	check "is left where it is" "character special file" "$(stat -c %F /dev/null)"
	expect "a full disk" 1 "" "/dev/full cannot be written: No space left on device" save -file /dev/full
	expect "no such directory" 1 "" "Cannot open no/copy for writing: No such file or directory" save -file no/copy
	check "one after another" $'ipcuckoo> ipcuckoo> hosts\nkept\nnets\nipcuckoo> ' \
		"$(printf 'save -file copy\nlist -n\n' | "$IPCUCKOO" -; echo)"
	cp copy before
	for text in 612262 610a62 611b62 617f62; do
		ask comment kept $text
		check "comment $text" ok "$answer"
		expect "a comment that cannot be restored ($text)" 1 "" \
			"the set kept cannot be saved: the comment of 192.0.2.1 has a quote or a control character" save -file copy
		check "what there was stays" "$(< before)" "$(< copy)"
		"$IPCUCKOO" flush kept
	done
	ask comment kept 6109c3a462
	check "comment 6109c3a462" ok "$answer"
	fine "any other" save -file copy
	"$IPCUCKOO" destroy --all
	fine "is restored" restore -file copy
	check "as it was" "$(< copy)" "$("$IPCUCKOO" save)"
	bad "control characters are not taken" "control characters, such as the end of a line, are not permitted in comments" \
		add kept 192.0.2.2 comment $'a\nb'
	check "nothing else is left" "" "$(find . -name 'copy.*')"
	start_over
}

# Test that a command whose standard input or output is closed does not take its own connection to the
# kernel for it.
test_closed()
{
	make_sets
	"$IPCUCKOO" save > sets
	run_error "save -file without standard output" 0 '^$' \
		bash -c '"$IPCUCKOO" save -file kept >&-'
	check "saves" "$(< sets)" "$(< kept)"
	run_error "save without standard output" 1 "the output cannot be written: Bad file descriptor" \
		bash -c '"$IPCUCKOO" save >&-'
	run_error "restore without standard input" 1 "Bad file descriptor" \
		timeout 60 bash -c '"$IPCUCKOO" restore <&-'
	run_error "load without standard input" 2 "Bad file descriptor" \
		timeout 60 bash -c '"$IPCUCKOO" load hosts - <&-'
	run_error "list without standard error" 0 "^hosts" bash -c '"$IPCUCKOO" list -n 2>&-'
	start_over
}

# stop JOB: runs the unit's ExecStop while systemd runs a job: stop or restart
stop()
{
	local command

	command=$(sed -n "s|^ExecStop=/bin/sh -c '\(.*\)'\$|\1|p" "$unit")
	command=${command//@SBINDIR@\/ipcuckoo/\"$IPCUCKOO\"}
	printf '#!/bin/sh\necho "7 ipcuckoo.service %s running"\n' "$1" > bin/systemctl
	PATH=$PWD/bin:$PATH sh -c "${command//\/etc\/ipcuckoo.save/saved}"
}

# A restart detaches only what the file does not attach.
test_restart()
{
	mkdir bin && : > bin/systemctl && chmod +x bin/systemctl
	"$IPCUCKOO" attach hosts both count order 77
	"$IPCUCKOO" monitor > events &
	busywait 10 grep -q listening events || bail "no events"
	stop restart > /dev/null
	check "restart: what the file attaches stays" "$(sort saved)" "$("$IPCUCKOO" save --all | sort)"
	busywait 10 grep -q ^detached events
	check "restart: nothing else was detached" "detached hosts both count" \
		"$(grep ^detached events | cut -d ' ' -f 1-4)"
	kill %%
	wait %% 2> /dev/null
}

test_unit()
{
	local start reload

	# Test the unit's own commands, and that systemd understands the rest.
	start=$(sed -n 's|^ExecStart=@SBINDIR@/ipcuckoo ||p' "$unit")
	reload=$(sed -n 's|^ExecReload=@SBINDIR@/ipcuckoo ||p' "$unit")
	start=${start/\/etc\/ipcuckoo.save/saved}
	reload=${reload/\/etc\/ipcuckoo.save/saved}
	# shellcheck disable=SC2086
	fine "start" $start
	check "all is back" "$(< saved)" "$("$IPCUCKOO" save --all)"
	# shellcheck disable=SC2086
	fine "start once more" $start
	"$IPCUCKOO" detach nets src drop
	"$IPCUCKOO" del nets 198.51.100.0/24
	# shellcheck disable=SC2086
	fine "reload" $reload
	check "brings back what is missing" "$(sort saved)" "$("$IPCUCKOO" save --all | sort)"
	test_restart
	check "stop: status" 0 "$(stop stop > /dev/null 2>&1; echo $?)"
	json "nothing is attached" 0 '[]' 'd["attachments"]' stats
	start_over
	echo 'nonsense' >> saved
	# shellcheck disable=SC2086
	expect "start with a file that is damaged" 2 "" "Error in line" $start
	expect "leaves nothing behind" 0 "" "" list -n
	if ! type systemd-analyze > /dev/null 2>&1; then
		skip "the unit" "no systemd-analyze"
		return
	fi
	sed "s|@SBINDIR@|$PWD|" "$unit" > ipcuckoo.service
	cp "$IPCUCKOO" .
	check "the unit" "" "$(systemd-analyze verify --man=no ./ipcuckoo.service 2>&1)"
}

load_module
need_ingress
test_save
test_lines
test_all_or_none
test_together
test_single_lines
test_exist
test_closed
test_unit
test_file
ktap_done
