#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests stats --prometheus: its output is parsed by the rules of the format, and compared with
# stats -j. Also tests that additions that fail are counted by the reason, and that text which is not
# in UTF-8 gives valid output.

. "${0%/*}/tool-functions"

# A strict parser of the text format: it accepts only what the format allows.
reader='
import json, re, sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r"([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\n]|\\[\\\"n])*)\""
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")

def read(text):
    assert text.endswith("\n"), "the last line has an end"
    kinds, helps, samples, last = {}, {}, {}, None
    for line in text[:-1].split("\n"):
        if line.startswith("#"):
            word, name, rest = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line).groups()
            if word == "TYPE":
                assert rest in ("counter", "gauge") and name not in kinds and name in helps, line
                kinds[name], last = rest, name
            else:
                assert name not in helps, line
                helps[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        name, labels, value = match[1], match[2] or "", match[match.lastindex]
        assert name == last, f"{line}: not behind its TYPE"
        assert (kinds[name] == "counter") == name.endswith("_total"), line
        pairs = re.findall(LABEL, labels)
        assert len(dict(pairs)) == len(pairs), line
        unescape = {"\\\\": "\\", "\\\"": "\"", "\\n": "\n"}
        key = name, tuple((k, re.sub(r"\\.", lambda m: unescape[m[0]], v)) for k, v in pairs)
        assert key not in samples, f"{line}: twice"
        samples[key] = float(value)
    assert set(kinds) == set(helps), "HELP and TYPE for each"
    return samples

s = read(open("prom", encoding="utf-8", errors="strict").read())
d = json.load(open("out", encoding="utf-8", errors="strict"))

def of(name, **labels):
    found = [v for (n, have), v in s.items() if n == "ipcuckoo_" + name and
             labels.items() <= dict(have).items()]
    assert len(found) == 1, (name, labels, found)
    return found[0]

NAMES = {"entries": "entries", "hosts": "hosts", "maxelem": "maxelem", "memory_bytes": "memory",
         "slots": "slots", "attachments": "attachments", "rules": "rules", "growths_total": "growths",
         "rekeys_total": "rekeys", "displacements_total": "displaced",
         "reader_retries_total": "retries", "reader_fallbacks_total": "fallbacks",
         "expired_total": "expired"}
for t in d["sets"]:
    labels = {"set": t["name"], "type": t["type"], "family": t["family"]}
    for name, key in NAMES.items():
        assert of("set_" + name, **labels) == t[key], (name, t)
    assert abs(of("set_load_ratio", **labels) - t["loadfactor"]) <= .006, t
    for reason, count in t["failed"].items():
        assert of("set_failed_adds_total", reason=reason, **labels) == count, (reason, t)
for a in d["attachments"]:
    labels = {"attachment": str(a["id"]), "set": a["set"], "direction": a["direction"],
              "verdict": a["verdict"], "device": a.get("dev", "")}
    assert of("matched_packets_total", **labels) == a["packets"], a
    assert of("matched_bytes_total", **labels) == a["bytes"], a
assert of("info", version=d["version"]) == 1
assert of("memory_bytes") == d["memory"] and of("memory_limit_bytes") == d["memory_limit"]
print(len(d["sets"]), "sets", len(d["attachments"]), "attachments")
'

# agrees NAME WHAT: a case: both formats have the same values, of that many sets and attachments
agrees()
{
	"$IPCUCKOO" stats --prometheus > prom
	run_tool -j stats
	check "$1" "$2" "$(python3 -c "$reader" 2>&1)"
}

test_format()
{
	agrees "no set and no attachment" "0 sets 0 attachments"
	"$IPCUCKOO" create a hash:net family any
	"$IPCUCKOO" create b.c-d_e hash:ip family inet6 maxelem 5
	"$IPCUCKOO" create many filter:ip
	"$IPCUCKOO" add a 0.0.0.0/0 192.0.2.1 2001:db8::/32
	seq -f '10.1.%g.1' 1 250 | "$IPCUCKOO" load a - --append > /dev/null
	"$IPCUCKOO" attach a src count loopback
	"$IPCUCKOO" attach a dst mark 1/1
	"$IPCUCKOO" attach a src count dev 'a"b\c'
	"$IPCUCKOO" attach a src count dev '{x}=,#'
	ip link set lo up
	ping -c 2 -i 0.2 -W 2 127.0.0.1 > /dev/null
	agrees "sets, attachments, names of devices that need care" "3 sets 4 attachments"
	check "matches were counted" 1 "$(grep -c '^ipcuckoo_matched_packets_total.* [1-9]' prom)"
	wrong "--prometheus and -j exclude each other" \
		"--prometheus and -j are two formats" -j stats --prometheus
}

test_failed()
{
	local what='{s["name"]: s["failed"] for s in d["sets"]}["small"]'

	"$IPCUCKOO" create small hash:ip maxelem 2
	"$IPCUCKOO" create copies filter:ip capacity 100 multi
	"$IPCUCKOO" -q add small 192.0.2.1
	"$IPCUCKOO" -q add small 192.0.2.1
	"$IPCUCKOO" -q -exist add small 192.0.2.1
	"$IPCUCKOO" -q add small 192.0.2.2 192.0.2.3
	json "additions in requests" \
		0 '{"copies": 0, "exist": 1, "full": 1, "memory": 0, "pending": 0, "quota": 0}' \
		"$what" stats
	seq -f '10.1.%g.1' 1 20 | "$IPCUCKOO" -q load small -
	# cat reads the file at once, and so writes once. From a pipe it may take two writes.
	printf '+192.0.2.2\n+192.0.2.3\n' > lines
	cat lines > /proc/net/ipcuckoo/set/small
	echo +192.0.2.2 > /proc/net/ipcuckoo/set/small
	echo +192.0.2.3 > /proc/net/ipcuckoo/set/small
	json "additions by load and through procfs" \
		0 '{"copies": 0, "exist": 1, "full": 4, "memory": 0, "pending": 0, "quota": 0}' \
		"$what" stats
	for _ in {1..10}; do
		"$IPCUCKOO" -q add copies 192.0.2.1
	done
	json "copies" 0 '{"copies": 2, "exist": 0, "full": 0, "memory": 0, "pending": 0, "quota": 0}' \
		"${what/small/copies}" stats
	agrees "Prometheus shows them, too" "5 sets 4 attachments"
}

test_bytes()
{
	"$IPCUCKOO" create odd hash:ip comment
	"$IPCUCKOO" add odd 192.0.2.1 comment $'caf\xe9'
	"$IPCUCKOO" attach odd src count dev $'caf\xe9'
	agrees "a name of a device that is not in UTF-8" "6 sets 5 attachments"
	check "Prometheus shows it with U+FFFD" yes \
		"$(LC_ALL=C grep -q $'device="caf\xef\xbf\xbd"' prom && echo yes)"
	run_tool -j list odd
	check "a comment that is not in UTF-8" "'caf\\ufffd'" "$(python3 -c 'import json
d = json.load(open("out", encoding="utf-8", errors="strict"))
print(ascii(d[0]["members"][0]["comment"]))' 2>&1)"
}

load_module memory_limit=64
test_format
test_failed
test_bytes
"$IPCUCKOO" detach --all
"$IPCUCKOO" destroy --all
ktap_done
