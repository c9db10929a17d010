#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that the mistakes of people who come from other tools are answered by a sentence that says
# what to type, and that no answer proposes what loses entries or sets to somebody who did not want
# that.

. "${0%/*}/tool-functions"

mistakes=0

# mistake STATUS TYPE WORD...: a case: the command fails, and its message has what to type
mistake()
{
	expect "${*:3}" "$1" "" "$2" "${@:3}"
	named "${*:3}"
	mistakes=$((mistakes + 1))
	[[ $err != *'did you mean "'@(destroy|flush|restore|load|swap)'"'* ]] ||
		not_ok "${*:3}: proposes nothing that loses data" "" "$err"
}

test_commands()
{
	local word

	# Test commands that other tools have.
	mistake 2 "  ipcuckoo block 192.0.2.7 "
	for word in delete remove rm erase; do
		mistake 2 "ipcuckoo del NAME ENTRY deletes an entry of a set, ipcuckoo destroy NAME a whole set" \
			$word feed X
	done
	for word in ls show view print; do
		mistake 2 "ipcuckoo list NAME shows a set, ipcuckoo list all sets" $word feed
	done
	mistake 2 "ipcuckoo list -n shows the names" list-sets
	for word in ban deny reject blacklist DROP; do
		mistake 2 "ipcuckoo block ENTRY drops" $word 192.0.2.1
	done
	mistake 2 "ipcuckoo unblock ENTRY" unban 192.0.2.1
	mistake 2 "ipcuckoo unblock ENTRY" whitelist 192.0.2.1
	mistake 2 "ipcuckoo add NAME ENTRY" insert feed 192.0.2.1
	mistake 2 "ipcuckoo create NAME hash:net family any" make feed
	mistake 2 "ipcuckoo flush NAME deletes all entries" clear feed
	mistake 2 "ipcuckoo load NAME FILE" import feed list.txt
	mistake 2 "ipcuckoo save --all -file FILE" export feed
	mistake 2 "ipcuckoo attach NAME src drop" enable feed
	mistake 2 "ipcuckoo detach NAME" disable feed
	mistake 2 "ipcuckoo test NAME ADDRESS" check feed 192.0.2.1
	mistake 2 "ipcuckoo rename FROM TO" mv feed feed2
	mistake 2 "ipcuckoo monitor" watch
	mistake 2 "ipcuckoo stats" status
	mistake 2 "ipcuckoo block 192.0.2.1 drops all its packets" 192.0.2.1
	mistake 2 "the command comes first: ipcuckoo add feed ..." feed add 192.0.2.1
	mistake 2 'did you mean "unblock"?' unblok 192.0.2.1
	mistake 2 "ipcuckoo block ENTRY drops" help ban
	mistake 2 "leave out ipcuckoo: ipcuckoo block ..." ipcuckoo block 192.0.2.1
	mistake 2 "leave out sudo: ipcuckoo add ..." sudo add feed 192.0.2.1
	mistake 2 "as in: ipcuckoo add feed 192.0.2.1, or ipcuckoo test feed 192.0.2.1" feed 192.0.2.1
	mistake 2 'did you mean "block"?' blok 192.0.2.1
	mistake 2 'did you mean "-A"?' -a feed 192.0.2.1
	mistake 2 'did you mean "-L"?' -l
	wrong "an option that would lose data is not proposed" $'unknown argument -x\n' -x feed
}

test_sets()
{
	# Test mistakes about sets and entries.
	mistake 2 "as in: ipcuckoo create feed hash:net family any" create new
	mistake 1 "the name of the set comes before its type, as in: ipcuckoo create feed hash:ip" \
		create hash:net new
	mistake 1 "sets here have addresses and prefixes only" create new hash:ip,port
	mistake 1 'did you mean "hash:net"?' create new cidr
	mistake 1 'did you mean "any"?' create new hash:net family both
	mistake 2 'did you mean "family inet6"?' create new hash:net inet6
	mistake 1 'did you mean "inet6"?' create new hash:net family v6
	mistake 1 "my_set would be one" create my/set hash:ip
	mistake 1 "my_set would be one" create "my set" hash:ip
	mistake 2 "the name of the set comes before 192.0.2.1, as in: ipcuckoo add feed " add 192.0.2.1
	mistake 1 "as in: ipcuckoo add feed 192.0.2.1" add 192.0.2.1 feed
	mistake 1 "as in: ipcuckoo test feed 192.0.2.1" list 192.0.2.1
	mistake 2 "ipcuckoo test NAME 192.0.2.1 says" list feed 192.0.2.1
	mistake 1 "make it with: ipcuckoo create new hash:net family any" add new 192.0.2.1
	mistake 2 'Missing second mandatory argument to command test: ENTRY, as in: ipcuckoo test feed 192.0.2.1' \
		test feed
	mistake 1 "as it would have after: ipcuckoo create NAME hash:net timeout 0" \
		add feed 192.0.2.1 timeout 1h
	mistake 2 'did you mean "timeout"?' add guests 192.0.2.1 tiemout 1h
	mistake 1 'did you mean "timeout 1h"?' add guests 192.0.2.1 1h
	mistake 2 'did you mean "timeout 3600"?' block 192.0.2.1 3600
	mistake 1 "a netmask: write the prefix length, /8" add feed 10.0.0.0/255.0.0.0
	mistake 1 "a netmask: write the prefix length, /0" add feed 0.0.0.0/0.0.0.0
	mistake 1 "a netmask: write the prefix length, /32" add feed 2001:db8::/ffff:ffff::
	mistake 1 "if that is meant, write ::/0" add feed 2001:db8::/0
	mistake 2 "if that is meant, write 0.0.0.0/0" block 192.0.2.1/0
	mistake 1 "a port does not belong behind an address" add feed 192.0.2.1:80
	mistake 2 "ipcuckoo attach NAME src drop proto tcp dport 22" add feed 192.0.2.1 port 22
	mistake 2 "as in: ipcuckoo change feed maxelem 200000" change feed
	mistake 2 'did you mean "maxelem 100"?' change feed 100
	mistake 2 'did you mean "maxelem 100"?' create new hash:net 100
	mistake 1 "0 is no limit" create new hash:net maxelem unlimited
	mistake 2 "0 is no limit" change feed maxelem none
	mistake 2 "a time is one word, as in: timeout 1h30m" block 192.0.2.1 timeout 1 h
	mistake 2 "to drop those of a set: ipcuckoo attach NAME src drop" block feed
	mistake 2 "to drop those of a set: ipcuckoo attach NAME src drop" block src 192.0.2.1
	mistake 1 "nothing is blocked" unblock all
	"$IPCUCKOO" -q block 203.0.113.9
	mistake 2 "which ipcuckoo list blocked shows" unblock all
	"$IPCUCKOO" detach blocked && "$IPCUCKOO" destroy blocked || bail "cannot destroy blocked"
	mistake 1 "Write blanks between entries." add feed 192.0.2.1,192.0.2.2
	: > entries
	mistake 1 "to add the entries of a file: ipcuckoo load NAME entries --append" add feed entries
	mistake 1 "without a name, the command is about all sets" list all
	fine "a set whose name is like the word" create any hash:net
	expect "flush all: another set is not proposed" 1 "" "does not exist: \"all\""$'\n' flush all
	fine "done with it" destroy any
	fine "0.0.0.0/0 and ::/0 themselves are entries" add feed 0.0.0.0/0 ::/0
	fine "to be deleted again" del feed 0.0.0.0/0 ::/0
}

test_attach()
{
	# Test that what is missing or misplaced is named, with the command as it would be right.
	mistake 2 "direction: src, dst or both, and verdict: drop, accept, count, mark or prefetch, are missing, as in: ipcuckoo attach feed src drop" \
		attach feed
	mistake 2 "direction: src, dst or both is missing before drop, as in: ipcuckoo attach feed src drop" \
		attach feed drop
	mistake 2 "verdict: drop, accept, count, mark or prefetch is missing, as in: ipcuckoo attach feed dst drop" \
		attach feed dst
	mistake 2 "verdict: drop, accept, count, mark or prefetch is missing, as in: ipcuckoo attach feed src drop" \
		attach feed src dev lo
	mistake 2 "the direction comes before the verdict: ipcuckoo attach feed dst accept" \
		attach feed accept dst
	mistake 2 "the name of the set comes first, as in: ipcuckoo attach feed src drop" \
		attach src drop feed
	mistake 2 'did you mean "src"?' attach feed in drop
	mistake 2 'did you mean "src"?' attach feed SRC drop
	mistake 2 'did you mean "drop"?' attach feed src reject
	mistake 2 'did you mean "dev lo"?' attach feed src drop lo
	mistake 2 'did you mean "dev eth0"?' attach feed src drop eth0
	mistake 2 'did you mean "dev eth0"?' attach feed eth0 src drop
	mistake 2 'did you mean "dev"?' attach feed src drop -i eth0
	mistake 2 "ipcuckoo attach NAME src drop proto tcp dport 22" attach feed src drop port 22
	mistake 2 "as in: proto tcp dport 22" attach feed src drop --dport 22
	mistake 2 'did you mean "dev eth0"?' detach feed eth0
	mistake 2 'did you mean "dev"?' attach feed src drop on eth0
	mistake 2 'did you mean "both"?' attach feed src,dst drop
	mistake 2 "the name of the set comes first, as in: ipcuckoo attach feed src drop" \
		attach src feed drop
	mistake 2 "sees all packets that come in, also those to forward" attach feed src drop forward
	# Test that a device that does not exist is named, and is no error.
	expect "a device that does not exist" 0 "" \
		"Warning: there is no device eth9: the attachment sees packets as soon as there is one" \
		attach feed src count dev eth9
	expect "with -q" 0 "" "" attach -q feed src count dev eth9 -exist
	json "with -j" 0 '[false, "no device"]' '[d["active"], d["state"]]' \
		attach feed dst count dev eth9
	json "a device that exists" 0 '["attachment", "set"]' 'sorted(d)' \
		attach feed dst count dev lo
	expect "list shows it" 0 "*" "" list feed
	check "as what sees no packets" 2 "$(grep -c 'Sees no packets: .* dev eth9: no device' out)"
	fine "done with it" detach feed
}

# works NAME COMMAND: a case: the command that a message has proposed is right
works()
{
	ln -sf "$IPCUCKOO" bin/ipcuckoo
	PATH=$work/bin:$PATH run_ok "$1" bash -o pipefail -c "$2"
}

# typed: prints what the last message says to type
typed()
{
	sed -n 's/.*; type: //p' err
}

test_files()
{
	# Test that files that are no lists are recognised, and that what to type works.
	mkdir -p bin
	printf '%s\n' 192.0.2.1 2001:db8::/32 > list.txt
	mistake 2 'Missing second mandatory argument to command load: FILE, as in: ipcuckoo load ' load feed
	mistake 3 "the name of a set comes before files, as in: ipcuckoo load feed list.txt" \
		load list.txt feed
	mistake 2 "the name of the set comes before list.txt" load list.txt
	mistake 2 "the entries get that of the set, as after: ipcuckoo create NAME hash:net timeout 1h" \
		load feed list.txt timeout 1h
	mistake 2 "curl -fsS https://example.net/list | ipcuckoo load feed -" \
		load feed https://example.net/list
	cat > list.json <<-'END'
	{"prefixes": [{"ip_prefix": "192.0.2.0/24", "region": "us-east-1"},
	 {"ipv6_prefix": "2001:db8::/48"}], "created": "2026-01-01-00-00", "ips": ["198.51.100.7"]}
	END
	mistake 2 "list.json is JSON, and a list has an address in each line; type: jq " load feed list.json
	works "what to do with JSON" "$(typed)"
	has "the addresses in it were loaded" "192.0.2.0/24 198.51.100.7 2001:db8::/48" feed
	printf '["192.0.2.9"]' > array.json
	mistake 2 "array.json is JSON" load feed array.json
	"$IPCUCKOO" save feed > saved
	mistake 2 "saved has commands, as save prints them, which ipcuckoo restore -file FILE runs; type: sed " \
		load feed saved
	"$IPCUCKOO" flush feed
	works "what to do with a saved set" "$(typed)"
	has "the addresses in it were loaded" "192.0.2.0/24 198.51.100.7 2001:db8::/48" feed
	"$IPCUCKOO" save --all > saved.all
	mistake 2 "saved.all has commands" load feed saved.all
	gzip -c list.txt > list.gz
	mistake 2 "list.gz is compressed; type: zcat list.gz | ipcuckoo load feed -" load feed list.gz
	works "what to do with a compressed list" "$(typed)"
	has "its addresses were loaded" "192.0.2.1 2001:db8::/32" feed
	iconv -f UTF-8 -t UTF-16 list.txt > list.utf16
	mistake 2 "list.utf16 is UTF-16, not UTF-8; type: iconv -f UTF-16 -t UTF-8 list.utf16 | ipcuckoo load feed -" \
		load feed list.utf16
	works "what to do with UTF-16" "$(typed)"
	printf '%s\n' '# hosts' '127.0.0.1 localhost' '0.0.0.0 ads.example.net' > hosts
	mistake 2 'hosts:2: "127.0.0.1 localhost": a hosts file names hosts, which a resolver blocks, as dnsmasq --addn-hosts=FILE does' \
		load feed hosts
	mistake 2 'did you mean "-file saved"?' restore saved
	mistake 2 "to save all sets into a file: ipcuckoo save --all -file /tmp/saved" save /tmp/saved
	mistake 2 "Error in line 1: No command specified: unknown argument 192.0.2.1; for a list of addresses: ipcuckoo load NAME FILE" \
		restore -file list.txt
	mistake 2 "restore reads what ipcuckoo save prints, and neither JSON nor XML" restore -file list.json
	gzip -c saved > saved.gz
	mistake 2 "saved.gz is compressed; type: zcat saved.gz | ipcuckoo restore" restore -file saved.gz
	"$IPCUCKOO" destroy feed
	works "what to do with a compressed save" "$(typed)"
	has "its set is back" "192.0.2.0/24 198.51.100.7 2001:db8::/48" feed
}

load_module
"$IPCUCKOO" create feed hash:net family any && "$IPCUCKOO" create guests hash:ip timeout 0 ||
	bail "cannot make sets"
test_commands
test_sets
test_attach
test_files
check_match "there are at least twenty mistakes" '^([2-9][0-9]|1[0-9][0-9])$' "$mistakes"
start_over
ktap_done
