#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# "ipcuckoo add NAME -f -" and "del NAME -f -": entries that come line by line, from a log or another
# program, for as long as it runs.

. "${0%/*}/tool-functions"

# members SET: its entries, in one line
members()
{
	"$IPCUCKOO" list "$1" | sed '1,/^Members/d' | paste -sd ' '
}

# arrives SET ENTRY: prints whether the set gets an entry within a second
arrives()
{
	local _

	for _ in {1..20}; do
		"$IPCUCKOO" -q test "$1" "$2" && echo yes && return
		sleep 0.05
	done
	echo no
}

load_module
cd "$(mktemp -d)" || bail "no place for files"
ipcuckoo create s hash:net timeout 0 comment

ipcuckoo add s -f - <<-END 2> err
	# a comment
	192.0.2.1
	192.0.2.1
	nonsense

	198.51.100.0/24	; listed
	192.0.2.999
	2001:db8::1
	192.0.2.2
END
check "lines that are no entries do not stop the others: the exit status says so" 1 $?
check "the others are in the set" "192.0.2.1 timeout 0 192.0.2.2 timeout 0 198.51.100.0/24 timeout 0" \
	"$(members s)"
check "each has a message with its number" "4 7 8" \
	"$(sed -n 's/.*line \([0-9]*\):.*/\1/p' err | paste -sd ' ')"
check_match "which says what is wrong with it" "line 4: .*nonsense" "$(< err)"

printf '192.0.2.2\n203.0.113.9\n' | ipcuckoo add s -f - timeout 1h comment "from a pipe" 2> err
check "options apply to all entries" "0 2" \
	"$? $(members s | grep -o 'timeout 3[56][0-9]* comment "from a pipe"' | wc -l)"
printf '192.0.2.2\n203.0.113.9\n203.0.113.10' | ipcuckoo del s -f - 2> err
check "del: the last line needs no newline, and what is not there is no error" \
	"0 192.0.2.1 timeout 0 198.51.100.0/24 timeout 0" "$? $(members s)"
check "messages: none" "" "$(< err)"
printf '203.0.113.1\n' > file
ipcuckoo add s -f file
check "a file" "0 yes" "$? $(arrives s 203.0.113.1)"
ipcuckoo add s -f absent 2> err
check_match "a file that is not there" "absent cannot be opened: No such file" "$(< err)"
ipcuckoo add s -f file 203.0.113.2
check "entries on the command line: the file is not read, as before" "0 yes" \
	"$? $(arrives s 203.0.113.2)"

mkfifo pipe
"$IPCUCKOO" add s -f - < pipe 2> err &
pid=$!
exec 7> pipe
for i in 1 2 3; do
	echo "10.0.0.$i" >&7
	check "line $i of a pipe that stays open is in the set within a second" yes "$(arrives s 10.0.0.$i)"
done
printf '10.0.0.4\n10.0.0' >&7
check "so is one before half a line" yes "$(arrives s 10.0.0.4)"
echo ".5" >&7
check "and this one, when it is complete" yes "$(arrives s 10.0.0.5)"
exec 7>&-
wait $pid
check "the program ends with the pipe" "0 " "$? $(< err)"

for signal in TERM INT; do
	"$IPCUCKOO" add s -f - < pipe 2> err &
	pid=$!
	exec 7> pipe
	echo 10.0.1.1 >&7
	arrives s 10.0.1.1 > unused
	printf '10.0.1.2\n10.0.1.3' >&7
	kill -$signal $pid
	wait $pid
	check "SIG$signal ends the program; what has come is in the set, but for half a line" "0 yes no" \
		"$? $(arrives s 10.0.1.2) $(arrives s 10.0.1.3)"
	exec 7>&-
	ipcuckoo del s 10.0.1.1 10.0.1.2
done
# A terminal gives what was written to it, and then an error.
python3 - "$IPCUCKOO" 2> err <<-END
	import os, pty, subprocess, sys
	ours, theirs = pty.openpty()
	os.write(theirs, b"10.0.1.4\n")
	os.close(theirs)
	sys.exit(subprocess.run([sys.argv[1], "add", "s", "-f", "-"], stdin=ours).returncode)
END
check "what came in front of a read error is in the set" "1 yes 1" \
	"$? $(arrives s 10.0.1.4) $(grep -c 'cannot be read: Input/output error' err)"

ipcuckoo create small hash:ip maxelem 3
printf '10.0.0.%d\n' 1 2 3 4 5 | ipcuckoo add small -f - 2> err
check "a set that is full: what fits is in it" "3 2" \
	"$(members small | wc -w) $(grep -c full err)"
printf '10.0.0.%d\n' {1..25} | ipcuckoo add small -f - 2> err
check "of more that do not fit, ten have a message, and one has the number of the others" \
	"10 12 more entries were not added" "$(grep -c full err) $(sed -n '$s/.*: //p' err)"
printf '10.0.0.%d\n' 1 2 9 | ipcuckoo -j del small -f - > out
check "-j: the sum" '{"set":"small","deleted":2,"unchanged":1}' "$(tr -d ' \n' < out)"
printf '10.0.0.%d\n' 1 2 3 4 5 | ipcuckoo -j add small -f - > out 2> err
check "-j: only what succeeded counts, and an error does not keep it from being printed" \
	'{"set":"small","added":2,"unchanged":1}' "$(tr -d ' \n' < out)"
ipcuckoo destroy small

ipcuckoo create many hash:ip
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "11.%d.%d.%d\n", i / 65536, i / 256 % 256, i % 256 }' |
	ipcuckoo add many -f -
check "100,000 entries" "0 100000" "$? $(ipcuckoo list many -t | sed -n 's/^Number of entries: //p')"
ipcuckoo destroy many

# Without --force, which ipcuckoo() has
ipcuckoo attach s src drop
printf '192.0.2.50\n0.0.0.0/0\n192.0.2.51\n' | "$IPCUCKOO" add s -f - 2> err
check "the guard refuses a single entry" "1 1 yes yes 0" "$? $(grep -c 0.0.0.0/0 err) $(
	arrives s 192.0.2.50) $(arrives s 192.0.2.51) $(members s | grep -c 0.0.0.0/0)"
seq -f %.0f.0.0.0/8 223 | grep -vE '^(10|127)\.' > wide
"$IPCUCKOO" -j add s -f wide > out 2> err
check "221 prefixes /8: one change may add one" "1 1 1" \
	"$? $(members s | grep -o '\.0\.0\.0/8' | wc -l) $(grep -c '"added": *1\b' out)"
check "ten have a message, and one has the number of the others" "10 210 more entries were not added" \
	"$(grep -c '/8 was not added: the set s would drop .* one change may add 16777216, a /8 (--force' err) $(
		sed -n '$s/.*: //p' err)"
check "none is in the message that is in the set" "0" \
	"$(grep -c ": $(members s | grep -o '[0-9]*\.0\.0\.0/8') was" err)"
printf '%s\n' "$(members s | grep -o '[0-9]*\.0\.0\.0/8')" 0.0.0.0/0 192.0.2.60 | "$IPCUCKOO" add s -f - 2> err
check "what is in the set already does not count" "1 1 yes" "$? $(wc -l < err) $(arrives s 192.0.2.60)"
printf '192.0.2.%d\n' 61 62 63 |
	SSH_CONNECTION="192.0.2.63 5000 192.0.2.9 22" "$IPCUCKOO" add s -f - 2> err
check "the client of the session" "1 1 yes yes" \
	"$(wc -l < err) $(grep -c '192.0.2.63, the client of your SSH session' err) $(
		arrives s 192.0.2.61) $(arrives s 192.0.2.62)"
ipcuckoo detach s
ipcuckoo create masked hash:ip netmask 8
ipcuckoo attach masked src drop
printf '%s.1.1.1\n' 20 21 22 | "$IPCUCKOO" add masked -f - 2> err
check "hosts that a mask makes prefixes" "1 2 1" \
	"$? $(grep -c '\.0\.0\.0/8 was not added' err) $(members masked | wc -w)"
ipcuckoo detach masked
ipcuckoo destroy masked

"$IPCUCKOO" add s -f - < pipe 2> err &
pid=$!
exec 7> pipe
echo 192.0.2.70 >&7
check "a set that is not attached" yes "$(arrives s 192.0.2.70)"
ipcuckoo attach s src drop
printf '64.0.0.0/4\n192.0.2.71\n' >&7
check "that is attached while the program runs: the guard is asked" "yes 0 1" \
	"$(arrives s 192.0.2.71) $(members s | grep -c 64.0.0.0/4) $(grep -c 64.0.0.0/4 err)"
ipcuckoo detach s
ipcuckoo destroy s
printf '192.0.2.%d\n' 72 73 >&7
busywait 5 grep -q "2 entries were not added: .*does not exist" err
check "that is destroyed: one message" "0 2" "$? $(wc -l < err)"
ipcuckoo create s hash:ip
echo 192.0.2.74 >&7
check "and made anew, of another type" yes "$(arrives s 192.0.2.74)"
ipcuckoo destroy s
rmmod ipcuckoo
echo 192.0.2.75 >&7
busywait 5 grep -q "1 entry was not added: .*not loaded" err
check "without the module: one message" "0 3" "$? $(wc -l < err)"
insmod "$IPCUCKOO_KO"
ipcuckoo create s hash:ip
echo 192.0.2.76 >&7
check "with the module, whose number is another one" yes "$(arrives s 192.0.2.76)"
exec 7>&-
wait $pid
check "the exit status is that of the first message" 1 $?

for text in '<html>' '{"ip": "192.0.2.77"}' 'add s 192.0.2.77'; do
	printf '%s\n192.0.2.77\n' "$text" | "$IPCUCKOO" add s -f - 2> err
	check "what begins with $text is refused as a whole" "1 1 no" "$? $(wc -l < err) $(arrives s 192.0.2.77)"
done
ipcuckoo destroy s
ktap_done
