#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the events: which changes are sent, to whom and in which order, and that lost events are
# reported. A mirror that is built from nothing but events is compared with the set.

. "${0%/*}/../../lib/lib.sh"

work=/tmp/monitor
seed=${SEED:-$RANDOM}
listening="listening: changes are printed from now on"
# How many changes each writer makes to the mirrored set.
changes=${SLOW:+60}
changes=${changes:-300}

# listen FILE [OPTION...]: starts a monitor that writes to the file, and waits until it receives
# events. Sets $monitor to its process, and $first to the line that says so, which the file lacks.
listen()
{
	local file=$1

	shift
	"$IPCUCKOO" "$@" monitor >> "$file" 2> "$file.err" &
	monitor=$!
	busywait 20 grep -q listening "$file" ||
		bail "the monitor does not listen: $(cat "$file.err")"
	first=$(< "$file")
	: > "$file"
}

# interrupt_ends NAME PID: a case: an interrupt ends the monitor with success
interrupt_ends()
{
	kill -INT "$2"
	wait "$2"
	check "$1" 0 $?
}

# python FILE EXPRESSION: evaluates an expression; d is the list of the events in a file of JSON
# lines
python()
{
	python3 -c '
import json, sys
d = [*map(json.loads, open(sys.argv[1]))]
print(json.dumps(eval(sys.argv[2]), sort_keys=True))' "$@"
}

do_everything()
{
	local word

	"$IPCUCKOO" create nets hash:net family any
	"$IPCUCKOO" create many filter:ip bits 32 capacity 1000 multi
	"$IPCUCKOO" add nets 192.0.2.1 198.51.100.0/24 2001:db8::1 2001:db8:1::/48 ::ffff:10.1.2.3
	"$IPCUCKOO" -exist add nets 192.0.2.1 192.0.2.2
	"$IPCUCKOO" -exist del nets 192.0.2.1 192.0.2.9
	"$IPCUCKOO" add many 192.0.2.1
	"$IPCUCKOO" attach nets src drop
	"$IPCUCKOO" attach nets both mark 0x1/0xff dev eth7 loopback order -5
	# None of these commands changes anything, so none sends an event.
	for word in "add nets 192.0.2.2" "del nets 192.0.2.9" "attach nets src drop" \
		"create nets hash:net" "destroy nets" "flush nothing" "detach nets dst"; do
		# shellcheck disable=SC2086
		"$IPCUCKOO" $word 2> /dev/null && bail "this should fail: $word"
	done
	"$IPCUCKOO" -exist add nets 192.0.2.2
	"$IPCUCKOO" -exist attach nets src drop
	"$IPCUCKOO" -q block 192.0.2.77
	printf '%s\n' 192.0.2.3 192.0.2.4 | "$IPCUCKOO" load nets - > /dev/null
	echo +192.0.2.5 > /proc/net/ipcuckoo/set/nets
	echo +192.0.2.5 > /proc/net/ipcuckoo/set/nets
	echo -192.0.2.4 > /proc/net/ipcuckoo/set/nets
	# cat reads the file at once, and so writes once. From a pipe it may take two writes.
	printf '+192.0.2.6\n-192.0.2.3\n' > writes
	cat writes > /proc/net/ipcuckoo/set/nets
	echo / > /proc/net/ipcuckoo/set/nets
	"$IPCUCKOO" flush many
	"$IPCUCKOO" detach nets src drop
	"$IPCUCKOO" detach --all
	"$IPCUCKOO" rename many few
	"$IPCUCKOO" destroy few
	"$IPCUCKOO" create spare hash:net family any
	"$IPCUCKOO" swap spare blocked
	"$IPCUCKOO" change spare maxelem 1000
	"$IPCUCKOO" destroy spare
	"$IPCUCKOO" destroy --all
}

test_text()
{
	local text json other

	listen text
	text=$monitor
	check "the monitor says that it listens" "$listening" "$first"
	listen json -j
	json=$monitor
	check "the monitor says so as JSON" '{"event":"listening"}' "$first"
	ip netns add other
	nsenter --net=/run/netns/other "$IPCUCKOO" monitor > other &
	other=$!
	do_everything
	busywait 10 grep -q "destroyed nets" text
	check "each change sends an event, and nothing else does" \
"new nets hash:net family any
new many filter:ip family inet
added nets 10.1.2.3 192.0.2.1 2001:db8::1 198.51.100.0/24 2001:db8:1::/48
added nets 192.0.2.2
deleted nets 192.0.2.1
added many 192.0.2.1
attached nets src drop order 300 priority -450
attached nets both mark 0x1/0xff order -5 priority -450 dev eth7 loopback
new blocked hash:net family any
added blocked 192.0.2.77 timeout 0
attached blocked src drop order 300 priority -450
replaced nets 2 entries
added nets 192.0.2.5
deleted nets 192.0.2.4
replaced nets 2 entries
flushed nets
flushed many
detached nets src drop order 300 priority -450
detached nets both mark 0x1/0xff order -5 priority -450 dev eth7 loopback
detached blocked src drop order 300 priority -450
renamed many few
destroyed few
new spare hash:net family any
swapped spare blocked
changed spare maxelem 1000
destroyed spare
destroyed blocked
destroyed nets" "$(sort_members < text)"
	check "the same events as JSON" "$(cut -d ' ' -f 1,2 text)" \
		"$(sed 's/^{"event":"\([a-z]*\)","set":"\([a-z]*\)".*/\1 \2/' json)"
	check "JSON: what was added" '[["10.1.2.3", "192.0.2.1", "198.51.100.0/24", "2001:db8:1::/48", "2001:db8::1"], 5]' \
		"$(python json '[(sorted(e["entries"]), e["count"]) for e in d if e["event"] == "added"][0]')"
	check "JSON: an attachment" '["both", 1, 255, "eth7", true, -5]' \
		"$(python json '[[e["attachment"].get(k) for k in ("direction", "mark", "mask", "dev", "loopback", "order")] for e in d if e["event"] == "attached"][1]')"
	check "JSON: generations go up" true \
		"$(python json '(lambda g: g == sorted(g) and len(set(g)) == len(g))([e["generation"] for e in d if e["set"] == "nets" and "generation" in e and e["event"] not in ("new", "destroyed")])')"
	interrupt_ends "an interrupt ends the monitor with success" "$text"
	interrupt_ends "an interrupt ends the monitor with JSON, too" "$json"
	interrupt_ends "an interrupt also ends a monitor that received nothing" "$other"
	check "changes in another namespace send no event" "$listening" "$(cat other)"
	ip netns del other
}

# Sort the entries within each line, because their order has no meaning.
sort_members()
{
	python3 -c '
import sys, ipaddress
for line in sys.stdin:
    w = line.split()
    if w[0] in ("added", "deleted", "expired") and "timeout" not in w:
        w[2:] = sorted(w[2:], key=lambda e: ("/" in e, ":" in e, ipaddress.ip_network(e).network_address.packed))
    print(*w)'
}

test_gone()
{
	# Test that events report entries that expired, or were evicted for others (forceadd).
	"$IPCUCKOO" create short hash:net timeout 1
	"$IPCUCKOO" create full hash:ip maxelem 1 forceadd
	listen gone
	"$IPCUCKOO" add short 192.0.2.2 timeout 0
	"$IPCUCKOO" add full 192.0.2.1
	"$IPCUCKOO" add full 192.0.2.2
	# Expired entries are removed last: their timeout is one second.
	"$IPCUCKOO" add short 192.0.2.1 198.51.100.0/24
	busywait 60 grep -q expired gone
	check "entries that expire or are evicted send events" \
"added short 192.0.2.2 timeout 0
added full 192.0.2.1
added full 192.0.2.2
deleted full 192.0.2.1
added short 192.0.2.1 timeout 1
added short 198.51.100.0/24 timeout 1
expired short 192.0.2.1 198.51.100.0/24" "$(sort_members < gone)"
	check "expired entries are counted" 2 "$("$IPCUCKOO" -j stats | python3 -c '
import json, sys
print(sum(s["expired"] for s in json.load(sys.stdin)["sets"]))')"
	interrupt_ends "an interrupt ends the monitor with success" "$monitor"
	"$IPCUCKOO" destroy --all
}

# Timeouts may be a second less when the event is sent.
nearly()
{
	sed -E 's/timeout 99\b/timeout 100/; s/timeout 4999\b/timeout 5000/'
}

test_values()
{
	local line='192.0.2.1 timeout 100 packets 0 bytes 0 comment "two  blanks"' text json i

	"$IPCUCKOO" create valued hash:net timeout 0 counters comment skbinfo
	"$IPCUCKOO" create exact hash:net
	listen values
	text=$monitor
	listen values.json -j
	json=$monitor
	"$IPCUCKOO" add valued 192.0.2.1 timeout 100 comment "two  blanks"
	"$IPCUCKOO" -exist add valued 192.0.2.1 timeout 5000 packets 7 bytes 9 skbmark 0x1/0xff
	"$IPCUCKOO" -exist add valued 192.0.2.1 192.0.2.2 2001:db8::/32 2> /dev/null
	"$IPCUCKOO" -exist add valued 192.0.2.1 192.0.2.2
	echo +192.0.2.3 > /proc/net/ipcuckoo/set/valued
	"$IPCUCKOO" add valued 10.0.0.0/8 nomatch
	"$IPCUCKOO" del valued 192.0.2.2
	"$IPCUCKOO" -exist add exact 192.0.2.1 10.0.0.0/8
	"$IPCUCKOO" -exist add exact 192.0.2.1
	"$IPCUCKOO" add exact 10.1.0.0/16 nomatch
	"$IPCUCKOO" -exist add exact 10.1.0.0/16
	"$IPCUCKOO" flush exact
	busywait 20 grep -q "flushed exact" values
	check "events have what entries have besides their addresses" \
"added valued $line
updated valued 192.0.2.1 timeout 5000 packets 7 bytes 9 skbmark 0x1/0xff
added valued 192.0.2.2 timeout 0 packets 0 bytes 0
updated valued 192.0.2.1 timeout 0 packets 7 bytes 9
added valued 192.0.2.3 timeout 0 packets 0 bytes 0
added valued 10.0.0.0/8 timeout 0 nomatch packets 0 bytes 0
deleted valued 192.0.2.2
added exact 10.0.0.0/8 192.0.2.1
added exact 10.1.0.0/16 nomatch
updated exact 10.1.0.0/16
flushed exact" "$(nearly < values)"
	check "JSON: an entry, and one that was updated" \
		'[{"bytes": 0, "comment": "two  blanks", "elem": "192.0.2.1", "packets": 0}, {"bytes": 9, "elem": "192.0.2.1", "packets": 7, "skbmark": "0x1/0xff"}]' \
		"$(python values.json '[{k: v for k, v in e["members"][0].items() if k != "timeout"} for e in d[:2]]')"
	check "entries of events can be added to another set" "$("$IPCUCKOO" save valued | sed -n 's/^add valued/add other/p')" \
		"$("$IPCUCKOO" create other hash:net timeout 0 counters comment skbinfo
		sed -nE 's/^(added|updated) valued/add other/p; s/^deleted valued/del other/p' values |
			"$IPCUCKOO" -exist restore && "$IPCUCKOO" save other | grep ^add)"
	interrupt_ends "an interrupt ends the monitor with success" "$text"
	kill "$json"
	"$IPCUCKOO" destroy --all
	# More entries than one message has, with comments of all lengths
	"$IPCUCKOO" create valued hash:ip timeout 0 comment
	listen many.values
	for i in {0..250..10}; do
		printf -v text "%${i}s" ""
		"$IPCUCKOO" add valued "10.0.$i.0/25" timeout 10000 comment "$i${text// /x}"
		"$IPCUCKOO" -exist add valued "10.0.$i.0/25" timeout 10000 comment "$i${text// /y}"
	done
	"$IPCUCKOO" flush valued
	busywait 20 grep -q "flushed valued" many.values
	check "many entries with long comments: each is reported once" "$(python3 -c '
for word, letter in ("added", "x"), ("updated", "y"):
    for i in range(0, 251, 10):
        for n in range(128): print(f"{word} valued 10.0.{i}.{n} comment \"{i}{i * letter}\"")' | sort | md5sum)" \
		"$(grep -v flushed many.values | sed -E 's/ timeout [0-9]+//' | sort | md5sum)"
	kill "$monitor"
	"$IPCUCKOO" destroy --all
}

test_many()
{
	# Test that all entries of a large request are reported once each, in several messages.
	"$IPCUCKOO" create big hash:net family any
	listen many -j
	python3 -c '
for i in range(6000): print(f"10.{i >> 8}.{i & 255}.1")
for i in range(1, 2001): print(f"2001:db8:{i:x}::/48")' > entries
	xargs "$IPCUCKOO" add big < entries
	xargs "$IPCUCKOO" del big < entries
	"$IPCUCKOO" flush big
	busywait 20 grep -q '"flushed","set":"big"' many
	check "each entry that was added or deleted is reported once" \
		'[8000, 8000, 8000, 8000, true]' \
		"$(python many '(lambda a: [len(a["added"]), len(set(a["added"])), len(a["deleted"]), len(set(a["deleted"])), set(a["added"]) == set(a["deleted"]) == set(open("entries").read().split())])({k: sum((e["entries"] for e in d if e["event"] == k), []) for k in ("added", "deleted")})')"
	check "one message reports many entries" true "$(python many '4 <= len(d) <= 20')"
	interrupt_ends "an interrupt ends the monitor with success" "$monitor"
	"$IPCUCKOO" destroy --all
}

# writer NUMBER: adds and deletes entries, some of which the other writers add and delete, too
writer()
{
	python3 - "$1" "$seed" "$changes" <<-'END'
	import random, subprocess, sys, os
	random.seed(f"{sys.argv[1]} {sys.argv[2]}")
	path = "/proc/net/ipcuckoo/set/mirrored"
	for _ in range(int(sys.argv[3])):
	    entry = f"10.0.0.{random.randrange(40)}" if random.random() < .7 else \
	        f"2001:db8:{random.randrange(20):x}::/48"
	    if random.random() < .05:
	        text = "/\n"
	    else:
	        text = random.choice("++-") + entry + "\n"
	    if random.random() < .8:
	        with open(path, "w") as f:
	            f.write(text)
	    else:
	        subprocess.run([os.environ["IPCUCKOO"], "-exist", "add", "mirrored", entry, "192.0.2.1"])
	END
}

test_order()
{
	local i pids=()

	note "seed $seed"
	"$IPCUCKOO" create mirrored hash:net family any
	listen mirror -j
	for i in 1 2 3; do
		writer $i &
		pids+=($!)
	done
	wait "${pids[@]}"
	"$IPCUCKOO" create last hash:ip
	busywait 20 grep -q '"new","set":"last"' mirror
	check "nothing was lost" 0 "$(grep -c overrun mirror)"
	python3 - mirror > mirrored <<-'END'
	import json, sys
	have, generation = set(), 0
	for event in map(json.loads, open(sys.argv[1])):
	    if event["set"] != "mirrored":
	        continue
	    assert event["generation"] > generation, event
	    generation = event["generation"]
	    if event["event"] == "flushed":
	        have = set()
	    for entry in event.get("entries", []):
	        assert (entry in have) == (event["event"] == "deleted"), event
	        (have.remove if event["event"] == "deleted" else have.add)(entry)
	    assert event["count"] == len(have), event
	print("\n".join(sorted(have)))
	END
	check "the mirror built from events has the entries of the set" \
		"$("$IPCUCKOO" list mirrored | sed '1,/^Members/d' | sort)" "$(sort mirrored)"
	interrupt_ends "an interrupt ends the monitor with success" "$monitor"
	"$IPCUCKOO" destroy --all
}

# burst SET: causes more events than fit into the monitor's buffer of two mebibytes
burst()
{
	python3 - "/proc/net/ipcuckoo/set/$1" <<-'END'
	import os, sys
	fd = os.open(sys.argv[1], os.O_WRONLY)
	for i in range(10000):
	    os.write(fd, b"+192.0.2.1\n" if i % 2 == 0 else b"-192.0.2.1\n")
	END
}

# relay FILE COMMAND...: copies standard input to a file. When it reads that events were lost, it
# runs the command before it reads on.
relay()
{
	local line

	while read -r line; do
		echo "$line" >> "$1"
		[[ $line != overrun:* ]] || "${@:2}"
	done
}

test_overrun()
{
	"$IPCUCKOO" create burst hash:ip
	mkfifo lines
	relay overrun "$IPCUCKOO" destroy burst < lines &
	"$IPCUCKOO" monitor > lines 2> overrun.err &
	monitor=$!
	busywait 20 grep -q listening overrun ||
		bail "the monitor does not listen: $(cat overrun.err)"
	kill -STOP "$monitor"
	burst burst
	kill -CONT "$monitor"
	busywait 20 grep -q overrun overrun
	check "the monitor reports lost events" \
		"overrun: events were lost; list the sets again to see their state" \
		"$(grep overrun overrun)"
	busywait 20 grep -q destroyed overrun
	check "the event right after an overrun is received" \
		"destroyed burst" "$(tail -n 1 overrun)"
	interrupt_ends "an interrupt ends the monitor after an overrun" "$monitor"
	# Test the same with JSON.
	rm overrun
	listen overrun -j
	kill -STOP "$monitor"
	"$IPCUCKOO" create burst hash:ip
	burst burst
	kill -CONT "$monitor"
	busywait 20 grep -q overrun overrun
	check "the monitor reports lost events as JSON" \
		'{"event":"overrun"}' "$(grep overrun overrun)"
	interrupt_ends "an interrupt ends the monitor with success" "$monitor"
	"$IPCUCKOO" destroy --all
}

test_ends()
{
	listen gone
	# Test that a monitor ends when the reader of its output exits, with and without an event.
	run_ok "the monitor ends when the reader of its output exits" timeout 200 bash -c \
		'"$IPCUCKOO" monitor > >(read -r -t 1; exit) 2> closed.err'
	check "the end of its reader is no error" "" "$(cat closed.err)"
	run_error "a full disk ends the monitor with an error" \
		3 "cannot be written" timeout 200 bash -c '"$IPCUCKOO" monitor > /dev/full'
	run_status "users who may not change sets may not receive events" 5 \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$IPCUCKOO" monitor
	"$IPCUCKOO" destroy --all
	run_ok "a monitor does not prevent unloading the module" unload_module
	wait "$monitor"
	check "the monitor says that the module was unloaded" \
		"4 ipcuckoo v$tool_release: the kernel module was unloaded" \
		"$? $(cat gone.err)"
}

load_module
export IPCUCKOO
mkdir -p $work
cd $work || bail "no $work"
test_text
test_gone
test_values
test_many
test_order
test_overrun
test_ends
ktap_done
