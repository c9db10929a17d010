#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Feeds of ipcuckood: formats, conditional requests, a server that lies, restarts, reloads. The set
in the kernel is compared with a naive reference. KTAP.

SEED repeats a run; ROUNDS is the number of random changes and lies at the end (default 10). With
words, only these tests run: "feeds.py lies random"."""
import base64
import contextlib
import gzip
import ipaddress
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from email.utils import formatdate

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet import server as lie
from fleet.daemon import Daemon, members, tool, wait_for
from fleet.reference import aggregated, union
from fleet.runner import run_tests

# Resident memory of the daemon, whatever is sent to it
MEMORY_KB = 50 << 10
# Resident memory of a daemon that has no sources
IDLE_KB = 5 << 10
ROUNDS = int(os.environ.get("ROUNDS", "10"))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))

MANY = [f"198.18.{i // 250}.{i % 250}" for i in range(1000)]


def lines(texts):
    return "".join(text + "\n" for text in texts)


class Bench:
    """A daemon, a server, and what its feeds have"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.daemon = Daemon(self.dir)
        self.server = lie.Server()

    def config(self, sets, feeds):
        text = ""
        for name, keys in sets.items():
            keys = {"attach": "no", **keys}
            text += f"[set {name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())
        for name, keys in feeds.items():
            keys = {"url": self.server.url("/" + name), "jitter": "0%", **keys}
            text += f"[feed {name}]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())
        self.daemon.configure(text)

    def begin(self, sets, feeds):
        self.config(sets, feeds)
        self.daemon.start()
        for name in feeds:
            self.daemon.answered(name, 1)

    def end(self):
        # It would attach again what is detached before.
        self.daemon.stop()
        tool("detach", "--all")
        for name in tool("list", "-n").split():
            tool("destroy", name)
        for name in os.listdir(self.daemon.state):
            os.unlink(os.path.join(self.daemon.state, name))

    def explain(self):
        if not self.daemon.process:
            return "the daemon was not started"
        self.daemon.process.kill()
        return self.daemon.messages()

    def close(self):
        self.server.stop()

    def same(self, name, text, want):
        """A case: the set has exactly these entries."""
        have = set(members(name))
        self.tap.case(text, have == want)
        if have != want:
            self.tap.note(f"missing: {sorted(want - have)[:5]} too many: {sorted(have - want)[:5]}")

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed and detail is not None:
            self.tap.note(str(detail))


def test_formats(b):
    v4, v6 = ["192.0.2.7", "10.1.0.0/16", "10.1.2.0/24", "10.2.0.1"], ["2001:db8::/32", "::1"]
    csv = ["# comment", "first;last;asn;\"country\"", "10.9.0.0;10.9.1.255;1;\"XX\"",
           "\"10.10.0.0\"; 10.10.0.255 ;2;YY", "172.16.0.1;172.16.0.1;3;XX"]
    ndjson = [json.dumps({"net": {"cidr": "203.0.113.0/24"}}),
              json.dumps({"net": {"cidr": ["198.51.100.1", "2001:db8:1::1"]}}),
              json.dumps({"type": "metadata", "records": 2})]
    b.server.say("/plain", lie.whole("\ufeff" + lines(["; x"] + v4) + "2001:db8::/32 # y\r\n::1"))
    b.server.say("/csv", lie.whole(lines(csv), encoding="gzip"))
    b.server.say("/ndjson", lie.whole(gzip.compress(lines(ndjson[:1]).encode()) +
                                      gzip.compress(lines(ndjson[1:]).encode())))
    exceptions = ["10.1.2.0/23", "192.0.2.7", "203.0.113.128/25"]
    b.begin({"nets": {"except": " ".join(exceptions)}, "hosts": {"type": "hash:ip"}},
            {"plain": {"set": "nets"},
             "csv": {"set": "nets", "format": "csv", "separator": "semicolon", "field": "first",
                     "field-to": "last", "match-field": "country", "match": "XX"},
             "ndjson": {"set": "nets", "format": "ndjson", "field": "net.cidr"},
             "hosts": {"set": "hosts", "url": b.server.url("/ndjson"), "format": "ndjson",
                       "field": "net.cidr"}})
    nets = [v4 + v6, ["10.9.0.0-10.9.1.255", "172.16.0.1"],
            ["203.0.113.0/24", "198.51.100.1", "2001:db8:1::1"]]
    b.same("nets", "plain, CSV and NDJSON, compressed or not, without exceptions",
           union(nets, exceptions))
    b.same("hosts", "a set of hosts has each host of a prefix", union(nets[2:], hosts=True))
    b.case("no line was wrong", all(s["bad_lines"] == 0 for s in b.daemon.status()["sources"]),
           b.daemon.status())
    b.end()


def test_tables(b):
    """Countries and autonomous systems by their names, from tables as their publishers have them"""
    rows = [("10.0.0.0", "10.255.255.255", 0, "None", "Not routed"), ("198.18.0.0", "198.18.0.255", 64496, "AQ", "A"),
            ("198.18.1.0", "198.18.1.63", 64497, "BV", "B, C"), ("198.18.1.64", "198.18.1.127", 64496, "DE", "A"),
            ("198.19.0.0", "198.19.3.255", 4200000000, "DE", "D"), ("198.19.4.0", "198.19.4.255", 0, "ZZ", ""),
            ("198.19.5.0", "198.19.5.255", 64498, "AS", "S"), ("198.19.6.0", "198.19.6.255", 64499, "", "N"),
            ("2001:db8::", "2001:db8:0:ffff:ffff:ffff:ffff:ffff", 64496, "AQ", "A")]

    def nets(wanted):
        return union([[f"{first}-{last}" for first, last, asn, country, _ in rows if wanted(asn, country)]])

    def table(form, separator):
        return lines(separator.join(form(*row)) for row in rows)
    texts = {
        "iptoasn": table(lambda f, l, a, c, n: (f, l, str(a), c, n), "\t"),
        "dbip": table(lambda f, l, a, c, n: (f, l, c if len(c) == 2 else "ZZ"), ","),
        "dbip-asn": table(lambda f, l, a, c, n: (f, l, str(a), f'"{n}"'), ","),
        "geolite": "network,autonomous_system_number,autonomous_system_organization\n" + lines(
            f'{n},{asn},"{name}"' for f, l, asn, _, name in rows if asn for n in union([[f"{f}-{l}"]])),
        "rir": "2|ripencc|20261129|3|19830705|20261128|+0100\nripencc|*|ipv4|*|2|summary\n" + lines(
            f"ripencc|{c}|ipv4|{f}|{int(ipaddress.ip_address(l)) - int(ipaddress.ip_address(f)) + 1}|20200101|allocated"
            for f, l, _, c, _ in rows if ":" not in f)}
    for name, text in texts.items():
        b.server.say("/" + name, lie.whole(text))
    cases = [("iptoasn", "iptoasn", "country", "AQ", lambda a, c: c == "AQ"),
             ("iptoasn", "iptoasn", "country", "aq bv", lambda a, c: c in ("AQ", "BV")),
             ("iptoasn", "iptoasn", "country", "as", lambda a, c: c == "AS"),
             ("iptoasn", "iptoasn", "not-country", "de", lambda a, c: c in ("AQ", "BV", "AS")),
             ("iptoasn", "iptoasn", "asn", "AS64496 4200000000", lambda a, c: a in (64496, 4200000000)),
             ("dbip", "dbip", "country", "DE", lambda a, c: c == "DE"),
             ("dbip", "dbip", "not-country", "DE BV", lambda a, c: c in ("AQ", "AS")),
             ("dbip-asn", "dbip", "asn", "64497", lambda a, c: a == 64497),
             ("geolite", "geolite", "asn", "as64496", lambda a, c: a == 64496)]
    feeds = {f"f{i}": {"set": f"s{i}", "url": b.server.url("/" + file), "format": form, key: value}
             for i, (file, form, key, value, _) in enumerate(cases)}
    feeds["rir"] = {"set": "rir", "format": "rir", "country": "de aq"}
    feeds["some"] = {"set": "some", "url": b.server.url("/iptoasn"), "format": "iptoasn", "country": "AQ UK"}
    b.begin({keys["set"]: {} for keys in feeds.values()}, feeds)
    for i, (file, _, key, value, wanted) in enumerate(cases):
        b.same(f"s{i}", f"{file}: {key} = {value}", nets(wanted))
    b.same("rir", "rir: country = de aq", {n for n in nets(lambda a, c: c in ("DE", "AQ")) if ":" not in n})
    b.case("a country that the table does not have is said", "no line of it has UK" in
           b.daemon.source("some").get("warning", ""), b.daemon.source("some"))
    b.case("the others are not warned about", all("warning" not in b.daemon.source(name) for name in feeds
                                                  if name != "some"), b.daemon.status())
    for keys, why in (({"format": "iptoasn"}, "what is wanted of the table"),
                      ({"country": "AQ"}, "say which table it is"),
                      ({"format": "geolite", "country": "AQ"}, "geoname_id"),
                      ({"format": "rir", "asn": "64496"}, "use another table"),
                      ({"format": "dbip", "country": "Germany"}, '"Germany" is none'),
                      ({"format": "dbip", "country": "ZZ"}, '"ZZ" is none'),
                      ({"format": "dbip", "asn": "64496x"}, '"64496x" is none'),
                      ({"format": "dbip", "asn": "64496", "country": "AQ"}, "country is there already"),
                      ({"format": "dbip", "asn": "64496", "field": "2"}, "of no use here"),
                      ({"format": "rir", "country": "AQ", "match-field": "2", "match": "AQ"}, "it is instead of")):
        b.config({"s": {}}, {"a": {"set": "s", **keys}})
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"--check: {keys}", done.returncode and why in done.stderr, done.stderr)
    b.end()


def test_arrays(b):
    """JSON with more addresses than lines, of which most are not wanted"""
    good = [json.dumps({"country": c, "net": [f"10.{i}.{j}.0/24" for j in range(50)]})
            for i, c in enumerate(("XX", "YY", "ZZ"))]
    wrong = [json.dumps({"country": "XX", "net": f"nonsense {i}"}) for i in range(50)]
    b.server.say("/a", lie.whole(lines(good)))
    b.begin({"s": {}}, {"a": {"set": "s", "format": "ndjson", "field": "net",
                              "match-field": "country", "match": "XX"}})
    want = union([[f"10.0.{j}.0/24" for j in range(50)]])
    b.same("s", "the addresses of one country", want)
    b.server.say("/a", lie.whole(lines(good + [json.dumps({"country": "XX", "net": ["10.0.0.1", "0.0.0.0/0"]})])))
    state = b.daemon.refresh("a")
    b.case("a wrong value is named with its number", "value 52: 0.0.0.0/0 would block too much" in
           state.get("problem", ""), state)
    b.server.say("/a", lie.whole(lines(good + wrong)))
    state = b.daemon.refresh("a")
    b.case("too many wrong values are refused", state["state"] == "refused" and
           "50 of its 100 values are wrong" in state["problem"], state)
    b.same("s", "and the last good contents stay", want)
    b.end()


def test_starts(b):
    """The first bytes of CSV and NDJSON say what it is, compressed or not."""
    want = {"203.0.113.7", "198.51.100.0/24"}
    texts = {"csv": lines(sorted(want)), "ndjson": lines(f'{{"1": "{e}"}}' for e in want)}
    for kind, text in texts.items():
        b.server.say(f"/{kind}", lie.whole("\ufeff" + text))
    b.begin({kind: {} for kind in texts},
            {kind: {"set": kind, "format": kind, "field": "1", "max-bad": "50%", "every": "1d"}
             for kind in texts})
    for kind, text in texts.items():
        b.same(kind, f"{kind}: a byte order mark is no part of the first line", want)
        for name, answer, pattern in (("UTF-16", text.encode("utf-16"), "UTF-16"),
                                      ("a web page", lie.html(), "web page")):
            b.server.say(f"/{kind}", lie.whole(answer))
            now = b.daemon.refresh(kind)
            b.case(f"{kind}: {name} is refused, and named",
                   now["state"] == "failing" and pattern in now["problem"], now)
        b.server.say(f"/{kind}", lie.whole("\ufeff" + text, encoding="gzip"))
        now = b.daemon.refresh(kind)
        b.case(f"{kind}: compressed, it is read", now["state"] == "good", now)
        b.same(kind, f"{kind}: and has the same entries", want)
    b.end()


def test_conditions(b):
    b.server.say("/etag", lie.whole(lines(MANY), etag='"v1"'))
    b.server.say("/since", lie.whole(lines(MANY[:9]), modified="Tue, 24 Nov 2026 20:00:00 GMT"))
    path = os.path.join(b.dir, "a file")
    with open(path, "w", encoding="ascii") as f:
        f.write(lines(MANY[:3]))
    os.utime(path, (1, time.time() - 1000))
    b.begin({"s": {}}, {"etag": {"set": "s"}, "since": {"set": "s"},
                        "file": {"set": "s", "url": f"file://{path.replace(' ', '%20')}"}})
    for name in ("etag", "since", "file"):
        state = b.daemon.refresh(name)
        b.case(f"{name}: what has not changed is not fetched again",
               state["deliveries"] == 1 and state["state"] == "good", state)
    b.case("the ETag was sent",
           b.server.headers("/etag").get("If-None-Match") == '"v1"')
    b.server.say("/etag", lie.whole(lines(MANY[:800]), etag='"v2"'))
    b.daemon.refresh("etag")
    b.same("s", "what has changed is", union([MANY[:800]]))
    # The time of a change that is not over yet says nothing.
    soon = time.time() + 1000
    for count in 4, 5:
        with open(path, "w", encoding="ascii") as f:
            f.write(lines(MANY[-count:]))
        os.utime(path, (soon, soon))
        b.daemon.refresh("file")
        b.same("s", f"file: {count} lines, changed at the same time as before",
               union([MANY[:800], MANY[-count:]]))
    for count in 20, 30:
        b.server.say("/since", lie.whole(lines(MANY[-count:]), modified=formatdate(usegmt=True)))
        b.daemon.refresh("since")
    b.same("s", "Last-Modified: changed twice within a second",
           union([MANY[:800], MANY[-30:]]))
    b.daemon.stop()
    b.daemon.start()
    b.daemon.refresh("etag")
    b.case("the ETag is known after a restart",
           b.server.headers("/etag").get("If-None-Match") == '"v2"')
    before = b.server.count("/etag")
    b.config({"s": {}}, {"etag": {"set": "s", "format": "csv", "field": "1"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: b.server.count("/etag") > before)
    b.case("and not sent if the feed is read in another way",
           "If-None-Match" not in b.server.headers("/etag", before))
    b.end()


def lies(server):
    """(name, answer, state, pattern of the message)"""
    big = b"203.0.113.1\n" * 5000
    return (
        ("empty", lie.whole(""), "refused", "it is empty"),
        ("only comments", lie.whole("# maintenance\n"), "refused", "it is empty"),
        ("a web page", lie.whole(lie.html()), "failing", "web page"),
        ("a web page with status 503", lie.whole(lie.html(), status=503), "failing", "status 503"),
        ("no such page", lie.whole("", status=404), "failing", "status 404"),
        ("a part of it", lie.whole(lines(MANY[:9]), status=206), "failing", "206: only a part"),
        ("nothing new, which was not asked", lie.whole("", status=304), "failing", "304: not changed"),
        ("cut off", lie.cut_off(lines(MANY[:700])), "failing", "ended early"),
        ("endless", lie.endless(big), "failing", "max-size"),
        ("endless lines", lie.endless(b"1" * 60000), "failing", "max-size"),
        ("endless IPv6", lie.endless(b"".join(b"2001:db8::%x\n" % i for i in range(40000))),
         "failing", "max-(size|entries)"),
        ("10 GB", lie.endless(big, 10 << 30), "failing", "max-size"),
        ("slow", lie.slow(lines(MANY)), "failing", "fetched"),
        ("silent", lie.silent(), "failing", "fetched"),
        ("a redirection to itself", lie.redirect("/feed"), "failing", "redirected"),
        ("a redirection to a file", lie.redirect("file:///etc/hosts"), "failing", "scheme"),
        ("a gzip bomb", lie.bomb(), "failing", "max-size"),
        ("a gzip bomb by its encoding", lie.bomb("gzip"), "failing", "max-size"),
        ("half a gzip file", lie.whole(gzip.compress(lines(MANY).encode())[:-20]), "failing",
         "cut off"),
        ("a damaged gzip file", lie.whole(gzip.compress(lines(MANY).encode())[:40] + b"x" * 999),
         "failing", "damaged"),
        ("UTF-16", lie.whole(lines(MANY).encode("utf-16")), "failing", "UTF-16"),
        ("half a zip file", lie.whole(b"PK\x03\x04" + b"x" * 99), "failing", "damaged or cut off"),
        ("too many wrong lines", lie.whole(lines(MANY[:800] + ["nonsense"] * 100)), "refused",
         "line 801, \"nonsense\""),
        ("everything", lie.whole(lines(["0.0.0.0/0"])), "refused", "shrank"),
        ("a longer prefix, cut off", lie.whole(lines(MANY) + "203.0.113.0/2"), "refused",
         "line 1001: 192.0.0.0/2 .* min-length allows"),
        ("half of IPv6", lie.whole(lines(MANY + ["::-7fff:" + ":".join(["ffff"] * 7)])), "refused",
         "line 1001: ::/1 .* min-length6 allows"),
        ("shrunk", lie.whole(lines(MANY[:300])), "refused", "had 1000: it shrank"),
    )


def test_lies(b):
    b.server.say("/feed", lie.whole(lines(MANY)))
    b.begin({"s": {}}, {"feed": {"set": "s", "slow-time": "3s", "time": "20s",
                                 "max-size": "3M", "every": "1d"}})
    want = union([MANY])
    b.same("s", "before the lies", want)
    for name, answer, state, pattern in lies(b.server):
        b.server.say("/feed", answer)
        now = b.daemon.refresh("feed")
        b.case(f"{name}: {state}, and says why",
               now and now["state"] == state and re.search(pattern, now["problem"]), now)
        have = set(members("s"))
        b.case(f"{name}: the last good contents stay", have == want, len(have ^ want))
        b.server.say("/feed", lie.whole(lines(MANY)))
        now = b.daemon.refresh("feed")
        b.case(f"{name}: the truth is believed again", now["state"] == "good", now)
    messages = b.daemon.messages()
    b.case("messages say what to do", "ipcuckood accept feed" in messages and
           "stay in force (1000 entries)" in messages)
    peak = b.daemon.proc("VmHWM")
    b.tap.note(f"most memory: {peak} kB")
    b.case("memory is bounded", peak < MEMORY_KB, peak)
    b.end()


def test_files(b):
    """Files that cannot be read, or not to their ends"""
    path = os.path.join(b.dir, "list")
    with open(path, "w", encoding="ascii") as f:
        f.write(lines(MANY[:5]))
    keys = {"set": "s", "allow-empty": "yes", "max-bad": "100%"}
    b.begin({"s": {}}, {"a": {**keys, "url": f"file://{path}"}})
    # The kernel says that it has a page, and that is not true.
    short = "/sys/class/net/lo/address"
    for name, pattern in ((short, "ended early: of its 4096 bytes, 18 can"),
                          (b.dir, "not a regular file"), (path + "x", "No such file")):
        b.config({"s": {}}, {"a": {**keys, "url": f"file://{name}"}})
        b.daemon.process.send_signal(signal.SIGHUP)
        b.case(f"{pattern}: that is said",
               wait_for(lambda: pattern in b.daemon.source("a").get("problem", ""), 10),
               b.daemon.source("a"))
        b.same("s", "and the last good contents stay", set(MANY[:5]))
    b.end()


def test_accept(b):
    b.server.say("/feed", lie.whole(lines(MANY), etag='"1"'))
    b.begin({"s": {}}, {"feed": {"set": "s"}})
    status, text = b.daemon.ask("accept feed")
    b.case("without a refusal nothing is accepted", status and "nothing waits" in text, text)
    b.server.say("/feed", lie.whole(lines(MANY[:9]), etag='"2"'))
    b.case("9 instead of 1000 are refused", b.daemon.refresh("feed")["state"] == "refused")
    b.case("refused twice is said once", b.daemon.refresh("feed")["refusals"] == 2 and
           b.daemon.messages().count("had 1000: it shrank by") == 1, b.daemon.messages())
    done = b.daemon.run("accept", "feed")
    b.case("accept takes them", not done.returncode and "9 entries" in done.stdout, done)
    b.same("s", "they are in force", union([MANY[:9]]))
    state = b.daemon.refresh("feed")
    b.case("they are the last good contents now",
           state["state"] == "good" and state["deliveries"] == 2, state)
    b.server.say("/feed", lie.whole(""))
    b.daemon.refresh("feed")
    b.daemon.ask("accept feed")
    b.same("s", "an empty feed can be accepted, too", set())
    b.server.say("/feed", lie.whole(lines(["224.0.0.0/3"])))
    b.case("a short prefix is refused", b.daemon.refresh("feed")["state"] == "refused")
    b.daemon.ask("accept feed")
    b.server.say("/feed", lie.whole(lines(["224.0.0.0/3", "10.0.0.0/8"])))
    b.case("and not any more when it was accepted", b.daemon.refresh("feed")["state"] == "good")
    b.same("s", "it is in force then", {"224.0.0.0/3", "10.0.0.0/8"})
    b.server.say("/feed", lie.whole(lines(MANY[:5])))
    b.daemon.refresh("feed")
    b.server.say("/feed", lie.whole(lines(MANY[:2])))
    b.case("a short list may lose most of its entries", b.daemon.refresh("feed")["state"] == "good")
    b.same("s", "2 of 5 are left", set(MANY[:2]))
    b.server.say("/feed", lie.whole(""))
    b.case("but not all", b.daemon.refresh("feed")["state"] == "refused")
    b.end()


def test_reload(b):
    """What is known of a source is still known after a reload, unless its section has changed."""
    for name in "abc":
        b.server.say(f"/{name}", lie.whole(lines(MANY)))
    feeds = {name: {"set": "s", "every": "1d"} for name in "abc"}
    b.begin({"s": {}}, feeds)
    b.server.say("/b", lie.whole(lines(MANY[:9])))
    b.daemon.refresh("b")
    b.server.say("/c", lie.whole("", status=500))
    b.daemon.refresh("c")

    def known():
        return [{key: source.get(key) for key in ("state", "problem", "good_at", "changed_at", "answers",
                                                  "bytes", "refused_entries")}
                for source in map(b.daemon.source, "ab")]

    before, failed = known(), b.server.count("/c")
    b.daemon.process.send_signal(signal.SIGHUP)
    b.case("state, problem and times are as before", known() == before and
           before[0]["state"] == "good", (before, known()))
    b.case("one that fails is tried at once", wait_for(lambda: b.server.count("/c") > failed, 10))
    b.case("and goes on failing", b.daemon.source("c")["state"] == "failing", b.daemon.source("c"))
    b.case("what was refused can be accepted", b.daemon.run("accept", "b").returncode == 0)
    feeds["a"]["max-entries"] = "2000"
    b.config({"s": {}}, feeds)
    b.daemon.process.send_signal(signal.SIGHUP)
    states = [b.daemon.source(name)["state"] for name in "ab"]
    b.case("with another section, it waits for an answer", states == ["waiting", "good"], states)
    b.end()


def test_guard(b):
    """What would block an address that the machine needs, or much of the internet, is refused."""
    b.server.say("/feed", lie.whole(lines(MANY[:9])))
    b.begin({"s": {}}, {"feed": {"set": "s"}})
    for entries, pattern in (
            (["169.254.0.0/16"], "169.254.0.0/16 has 169.254.169.254, a link-local address"),
            (["fe80::1"], "fe80::1 is a link-local address"),
            (["8.0.0.0/8", "9.0.0.0/8"], "would drop 33554432 more addresses of IPv4, most of them by 8.0.0.0/8"),
            (["8.0.0.0/9", "9.0.0.0/9", "12.0.0.0"], "would drop 16777217 more addresses of IPv4"),
            (["2a00::/16", "2a01::/48"], "would drop 4294967297 more /48s of IPv6")):
        b.server.say("/feed", lie.whole(lines(MANY[:9] + entries)))
        now = b.daemon.refresh("feed")
        b.case(f"{entries}: refused, and says in which line, and why",
               now["state"] == "refused" and f"refused: line 10: {pattern}" in now["problem"], now)
        b.same("s", "the last good contents stay", set(MANY[:9]))
    b.daemon.ask("accept feed")
    want = set(MANY[:9]) | {"2a00::/16", "2a01::/48"}
    b.same("s", "what was accepted is in force", want)
    b.server.say("/feed", lie.whole(lines(sorted(want) + ["8.0.0.0/8"])))
    b.case("it counts no more, and a 256th of IPv4 is no reason",
           b.daemon.refresh("feed")["state"] == "good")
    b.server.say("/feed", lie.whole(lines(MANY[:9] + ["169.254.0.0/16", "4.0.0.0/6"])))
    b.case("together with others it is refused", b.daemon.refresh("feed")["state"] == "refused")
    b.config({"s": {"protect": "no"}}, {"feed": {"set": "s"}})
    b.daemon.process.send_signal(signal.SIGHUP)
    b.case("protect = no: it is not", wait_for(
        lambda: b.daemon.refresh("feed")["state"] == "good", 10), b.daemon.source("feed"))
    b.same("s", "it is in force", set(MANY[:9]) | {"169.254.0.0/16", "4.0.0.0/6"})
    b.end()


def sources_of(answer, name):
    """Source: the entries that it has of the address, in the set"""
    found = next((s for s in answer["sets"] if s["name"] == name), {})
    return {s["name"]: [c["entry"] for c in s["covered_by"]] for s in found.get("sources", [])}


def test_why(b):
    """Which feeds have an address, and what the daemon says of it without being asked in vain"""
    b.server.say("/a", lie.whole(lines(["192.0.2.0/24", "198.51.100.1", "2001:db8::/32"])))
    b.server.say("/b", lie.whole(lines(["198.51.100.1", "198.51.0.0/16", "192.0.2.200"])))
    b.server.say("/c", lie.whole(lines(["192.0.2.200", "203.0.113.9"])))
    b.begin({"s": {"except": "192.0.2.128/25", "attach": "src drop"},
             "hosts": {"type": "hash:ip", "except": "192.0.2.200"}},
            {"a": {"set": "s"}, "b": {"set": "s", "timeout": "1h", "comment": "from b"},
             "c": {"set": "hosts"}})
    begin = time.time()
    wait_for(lambda: "192.0.2.0/24" in members("s"))
    status, answer, err = b.daemon.why("198.51.100.1")
    b.case("two feeds have it", status == 0 and not err and answer["daemon"] == "answers" and
           sources_of(answer, "s") == {"a": ["198.51.100.1"],
                                       "b": ["198.51.100.1", "198.51.0.0/16"]}, (answer, err))
    source = next(s for s in answer["sets"] if s["name"] == "s")["sources"][1]
    b.case("when it was fetched, until when it is there, and its comment",
           abs(source["good_at"] - begin) < 60 and
           source["covered_by"][0]["expires"] == source["good_at"] + 3600 and
           source["covered_by"][0]["comment"] == "from b", source)
    text = b.daemon.why("198.51.100.1", "-q")[1]
    b.case("in words", re.search(
        rf'^  from feed b \({re.escape(b.server.url("/b"))}\): 198.51.0.0/16, as of '
        r'[-0-9]+ [0-9:]+, until [-0-9]+ [0-9:]+, comment "from b"$', text, re.M), text)
    status, answer, _ = b.daemon.why("192.0.2.200")
    b.case("an exception spares it in one set, and keeps it out of the other one", status == 1 and
           {s["name"]: (s["answer"], s["except"]) for s in answer["sets"]} ==
           {"s": ("exception", "192.0.2.128/25"), "hosts": ("not listed", "192.0.2.200")}, answer)
    b.case("the feeds that have it are named",
           sources_of(answer, "hosts") == {"c": ["192.0.2.200"]} and
           sources_of(answer, "s") == {"a": ["192.0.2.0/24"], "b": ["192.0.2.200"]}, answer)
    b.case("IPv6", sources_of(b.daemon.why("2001:db8:5::1")[1], "s") == {"a": ["2001:db8::/32"]})
    status, answer, _ = b.daemon.why("203.0.113.1")
    b.case("an address that none has", status == 1 and answer["sets"] == [], answer)
    b.case("the daemon refuses what is no address",
           b.daemon.ask("why 192.0.2.0/24") == (3, '"192.0.2.0/24" is no address; ask: why ADDRESS\n'))
    subprocess.run(["ip", "netns", "add", "elsewhere"], check=True)
    answer = b.daemon.why("198.51.100.1", netns="elsewhere")[1]
    subprocess.run(["ip", "netns", "del", "elsewhere"], check=True)
    b.case("sources of another namespace are not shown",
           answer["daemon"] == "elsewhere" and answer["sets"] == [], answer)
    b.daemon.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    status, answer, err = b.daemon.why("198.51.100.1")
    b.daemon.process.send_signal(signal.SIGCONT)
    b.case("a daemon that does not answer: a message says so, after some ten seconds",
           status == 0 and answer["daemon"] == "silent" and "has not said where" in err and
           not any("sources" in s for s in answer["sets"]) and 5 < time.monotonic() - begin < 40, (answer, err))
    b.daemon.stop()
    status, answer, err = b.daemon.why("198.51.100.1")
    b.case("no daemon at the socket that was named: a message says so", status == 0 and
           answer["daemon"] == "silent" and "no ipcuckood answers there" in err, (answer, err))
    tool("detach", "--all")
    b.config({"s": {}}, {})
    b.daemon.start()
    b.end()


def test_health(b):
    """What monitoring gets: the exit statuses of Nagios, and a line for each fault"""
    b.case("no daemon: unknown", b.daemon.health()[0] == 3, b.daemon.health())
    wrong = [b.daemon.run(*words).returncode
             for words in (("health", "x"), ("health", "--bogus"), ("status", "x"), ("--bogus",))]
    b.case("wrong words are no fault of a set: unknown; of other commands, an error of usage",
           wrong == [3, 3, 2, 2], wrong)
    b.server.say("/a", lie.whole(lines(MANY[:9])))
    b.begin({"s": {"attach": "src drop"}}, {"a": {"set": "s"}})
    good = (0, "OK: all is in force: sets: 1, sources: 1\n")
    b.case("all is well", wait_for(lambda: b.daemon.health() == good, 20), b.daemon.health())

    def says(text, *faults):
        """A case: soon there are these faults, the worst of them first."""
        def there():
            status, out = b.daemon.health()
            lines = out.splitlines()
            return status == (2 if faults[0].startswith("CRITICAL") else 1) and \
                len(lines) == len(faults) and \
                all(re.match(f, line) for f, line in zip(faults, lines))
        b.case(text, wait_for(there, 20), b.daemon.health())

    b.server.say("/a", lie.whole(""))
    b.daemon.refresh("a")
    says("a feed that is refused", "WARNING: feed a is refused: ")
    b.server.say("/a", lie.whole("red|load=1\n" * 9))
    b.daemon.refresh("a")
    says("what a server says is no performance data", r'WARNING: feed a is [^|]*"red/load=1"[^|]*$')
    b.server.say("/a", lie.whole(lines(MANY[:9])))
    b.daemon.refresh("a")
    b.case("all is well again", b.daemon.health() == good, b.daemon.health())
    b.config({"s": {"attach": "src drop"}, "t": {"attach": "no"}}, {"a": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    says("a set without a source", "WARNING: set t has no source")
    b.config({"s": {"attach": "src drop"}}, {"a": {"set": "s"}, "new": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    says("a feed that fails, and had no entries", "CRITICAL: feed new has no entries yet: ")
    b.config({"s": {"attach": "src drop ingress dev none0"}}, {"a": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    says("a set that acts on nothing", "CRITICAL: set s: ")
    b.daemon.process.send_signal(signal.SIGSTOP)
    begin = time.monotonic()
    status, text = b.daemon.health()
    b.daemon.process.send_signal(signal.SIGCONT)
    b.case("a daemon that does not answer: unknown, in time for Nagios",
           status == 3 and "did not answer" in text and time.monotonic() - begin < 20, text)
    b.config({"s": {}}, {})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: not b.daemon.status()["sources"])
    b.end()


def test_addresses(b):
    """The machine gets an address that a feed lists, while the daemon does not look."""
    wide, host = "203.0.113.64/26", "198.51.100.9"
    b.server.say("/feed", lie.whole(lines(MANY[:9] + [wide, host])))
    b.begin({"s": {}}, {"feed": {"set": "s", "every": "1d"}})
    b.same("s", "nobody needs these addresses", {*MANY[:9], wide, host})
    for address, entry in (("203.0.113.77", wide), (host, host)):
        b.daemon.process.send_signal(signal.SIGSTOP)
        subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)
        b.daemon.process.send_signal(signal.SIGHUP)
        b.daemon.process.send_signal(signal.SIGCONT)
        b.case(f"{entry}: not blocked after a reload, when it is needed",
               wait_for(lambda: entry not in members("s"), 20), members("s"))
        b.case("and that is said", f"{address}, an address of this machine" in
               b.daemon.source("feed")["kept_out_why"] or
               f"{address} is an address of this machine" in b.daemon.source("feed")["kept_out_why"],
               b.daemon.source("feed"))
    b.same("s", "all others are", set(MANY[:9]))
    for address in ("203.0.113.77", host):
        subprocess.run(["ip", "address", "del", f"{address}/32", "dev", "lo"], check=True)
    b.case("all are, when the addresses are gone",
           wait_for(lambda: set(members("s")) == {*MANY[:9], wide, host}, 20), members("s"))
    # And while it does not run: its next address may be another one after each boot.
    b.daemon.stop()
    subprocess.run(["ip", "address", "add", f"{host}/32", "dev", "lo"], check=True)
    b.daemon.start()
    b.case("not blocked after a restart", wait_for(
        lambda: set(members("s")) == {*MANY[:9], wide}, 20), members("s"))
    # What somebody agreed to is in force whatever comes later, and whenever the daemon starts.
    b.server.say("/feed", lie.whole(lines(MANY[:10] + [wide, host])))
    b.daemon.refresh("feed")
    b.case("a feed with an address of this machine is refused",
           f"{host} is an address of this machine" in b.daemon.source("feed")["problem"] and
           set(members("s")) == {*MANY[:9], wide}, b.daemon.source("feed"))
    answer = b.daemon.ask("accept feed")
    b.case("the answer to accept says to what one agrees",
           answer == (0, "feed feed: 12 entries were accepted; 1 of them have addresses that this machine needs\n"),
           answer)
    b.same("s", "until somebody agrees", {*MANY[:10], wide, host})
    for address in (host, "203.0.113.77"):
        subprocess.run(["ip", "address", "replace", f"{address}/32", "dev", "lo"], check=True)
        os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("which is not so for what nobody agreed to", wait_for(
        lambda: set(members("s")) == {*MANY[:10], host}, 20), members("s"))
    b.daemon.stop()
    subprocess.run(["ip", "address", "del", f"{host}/32", "dev", "lo"], check=True)
    b.daemon.start()
    subprocess.run(["ip", "address", "add", f"{host}/32", "dev", "lo"], check=True)
    time.sleep(12)
    b.same("s", "the address comes after the daemon has started", {*MANY[:10], host})
    b.config({"s": {"protect": "no"}}, {"feed": {"set": "s", "every": "1d"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("protect = no: all is blocked", wait_for(
        lambda: set(members("s")) == {*MANY[:10], wide, host}), members("s"))
    b.config({"s": {}}, {"feed": {"set": "s", "every": "1d"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("protect is turned on by a reload", wait_for(
        lambda: set(members("s")) == {*MANY[:10], host}), members("s"))
    # The feed is out of the configuration when the machine gets an address.
    subprocess.run(["ip", "address", "del", "203.0.113.77/32", "dev", "lo"], check=True)
    b.case("the address is gone", wait_for(
        lambda: set(members("s")) == {*MANY[:10], wide, host}, 20), members("s"))
    b.config({"s": {}}, {})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: not b.daemon.status()["sources"])
    subprocess.run(["ip", "address", "add", "203.0.113.77/32", "dev", "lo"], check=True)
    b.daemon.stop()
    b.daemon.start()
    b.server.say("/feed", lie.whole("", status=500))
    b.config({"s": {}}, {"feed": {"set": "s", "every": "1d"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("a feed that comes back is judged by the addresses of now", wait_for(
        lambda: set(members("s")) == {*MANY[:10], host}), members("s"))
    for address in (host, "203.0.113.77"):
        subprocess.run(["ip", "address", "del", f"{address}/32", "dev", "lo"], check=True)
    b.end()
    # A source that has never answered: entries are only added.
    b.server.say("/feed", lie.whole(lines(MANY[:9] + [wide])))
    b.server.say("/never", lie.whole("", status=500))
    b.begin({"s": {}}, {"feed": {"set": "s", "every": "1d"}, "never": {"set": "s", "every": "1d"}})
    b.daemon.stop()
    b.daemon.start()
    b.same("s", "a restart, beside a feed that has never answered", {*MANY[:9], wide})
    subprocess.run(["ip", "address", "add", "203.0.113.77/32", "dev", "lo"], check=True)
    b.case("what has a new address goes all the same", wait_for(
        lambda: set(members("s")) == set(MANY[:9]), 20), members("s"))
    tool("add", "s", wide)
    b.daemon.stop(signal.SIGKILL)
    b.daemon.start()
    b.case("so it does at the start", wait_for(lambda: set(members("s")) == set(MANY[:9]), 20), members("s"))
    subprocess.run(["ip", "address", "del", "203.0.113.77/32", "dev", "lo"], check=True)
    b.end()


def test_unsaved(b):
    """The disk is full, or cannot be written to, when a feed has changed and at a reload."""
    def state(text, stored, count):
        source = b.daemon.source("feed")
        b.case(text, ("not_stored" not in source) == stored and
               (stored or "it stays in force" in source["not_stored"]) and
               set(members("s")) == set(MANY[:count]), (source, len(members("s"))))

    def reload():
        b.daemon.process.send_signal(signal.SIGHUP)
        b.daemon.refresh("feed")
    os.makedirs(b.daemon.state, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "state", b.daemon.state], check=True)
    b.server.say("/feed", lie.whole(lines(MANY[:500])))
    b.begin({"s": {}}, {"feed": {"set": "s", "every": "1d"}})
    state("there is room", True, 500)
    with contextlib.suppress(OSError), open(f"{b.daemon.state}/fill", "wb", 0) as f:
        while f.write(bytes(4096)):
            pass
    b.server.say("/feed", lie.whole(lines(MANY[:600])))
    b.daemon.refresh("feed")
    state("a full disk: said, and the feed is in force", False, 600)
    reload()
    state("so it is after a reload", False, 600)
    os.unlink(f"{b.daemon.state}/fill")
    subprocess.run(["mount", "-o", "remount,ro", b.daemon.state], check=True)
    b.server.say("/feed", lie.whole(lines(MANY[:700])))
    b.daemon.refresh("feed")
    state("a disk that is read-only: said", False, 700)
    subprocess.run(["mount", "-o", "remount,rw", b.daemon.state], check=True)
    if ROUNDS >= 100:
        b.case("it is tried again after a minute", wait_for(
            lambda: "not_stored" not in b.daemon.source("feed"), 80), b.daemon.source("feed"))
    reload()
    state("a reload tries it again", True, 700)
    b.daemon.stop(signal.SIGKILL)
    tool("destroy", "s")
    b.server.say("/feed", lie.whole("", status=500))
    b.daemon.start()
    state("after a crash, the feed comes from the disk", True, 700)
    b.daemon.stop()
    subprocess.run(["umount", b.daemon.state], check=True)
    b.daemon.start()
    b.end()


def compare_naively(feeds, packets):
    """What "ipcuckood compare" says of feeds, when packets have come from these addresses"""
    nets = {name: {ipaddress.ip_network(e) for e in entries} for name, entries in feeds.items()}

    def covers(name, net):
        return any(net.version == n.version and net.subnet_of(n) for n in nets[name])
    result = {}
    for name in feeds:
        shared = {other: sum(covers(other, net) for net in nets[name])
                  for other in feeds if other != name}
        who = [[n for n in feeds if covers(n, ipaddress.ip_network(p))] for p in packets]
        result[name] = {
            "entries": len(nets[name]), "shared": {n: count for n, count in shared.items() if count},
            "only": sum(not any(covers(n, net) for n in feeds if n != name) for net in nets[name]),
            "packets": sum(name in w for w in who), "only_packets": sum(w == [name] for w in who)}
    return result


def test_compare(b):
    """Which feeds are worth having: what only they have, and whose packets only they would have matched"""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    few = [f"127.1.{i // 8}.{i % 8}" for i in range(32)]
    wide = [f"127.1.{i}.{j}/{n}" for i in range(4) for j, n in ((0, 24), (0, 30), (4, 31), (4, 30))]
    wide += ["127.1.0.0/23", "2001:db8::/32", "2001:db8::/48", "2001:db8::1", "2001:db8:1::/48"]
    feeds = {name: rng.sample(few, 12) + rng.sample(wide, 8) for name in "abcd"}
    feeds["same"] = feeds["a"]
    for name, entries in feeds.items():
        b.server.say("/" + name, lie.whole(lines(entries)))
    b.begin({"s": {"attach": "src drop loopback", "counters": "yes"}}, {n: {"set": "s"} for n in feeds})
    b.case("all are in force", wait_for(lambda: "127.1." in str(members("s"))), members("s"))
    packets = [rng.choice(few) for _ in range(200)]
    for address in packets:
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            sender.bind((address, 0))
            sender.sendto(b"x", ("127.0.0.1", 9))

    def compared(*words):
        done = b.daemon.run("compare", *words)
        return done.stdout
    (found,) = json.loads(compared("-j"))
    want = compare_naively(feeds, packets)
    for source in found["sources"]:
        name = source.pop("name")
        source.pop("kind")
        b.case(f"{name} is compared as a naive count has it", source == want[name], (source, want[name]))
    b.case("the packets of attachments", found["packets"] == sum(
        any(ipaddress.ip_address(p) in ipaddress.ip_network(e) for e in sum(feeds.values(), [])
            if ":" not in e) for p in packets), found["packets"])
    text = compared()
    b.case("text", f"  feed b: {want['b']['entries']} entries, {want['b']['only']} of them only here, " in text
           and f"; {want['b']['packets']} packets, {want['b']['only_packets']} of them only by this source\n"
           in text, text)
    text = compared("--prometheus")
    b.case("metrics", 'ipcuckood_source_only_entries{source="b",kind="feed",set="s"} '
           f"{want['b']['only']}\n" in text, text)
    b.end()


def test_total(b):
    """Sources that would drop too much of the internet together: what is new is refused; if somebody
    agrees, the set gets nothing of the largest."""
    has = {"a": ["8.0.0.0/13"], "b": ["9.0.0.0/14", "198.51.100.7"], "many": MANY}

    def say(name, entries):
        has[name] = entries
        b.server.say("/" + name, lie.whole(lines(entries)))
        if b.daemon.process:
            b.daemon.refresh(name)

    def same(text, *without):
        b.same("s", text, union(entries for name, entries in has.items() if name not in without))
        out = {s["name"]: s["kept_out_why"] for s in b.daemon.status()["sources"] if "kept_out_why" in s}
        b.case("status says which are left out", set(out) == set(without) and all(
            re.search("all sources of .* would drop [0-9]+ addresses of IPv4, .* max-total allows 1048576",
                      text) for text in out.values()), out)
    for name, entries in has.items():
        say(name, entries)
    sets = {"s": {"max-total": "12"}}
    b.begin(sets, {name: {"set": "s"} for name in has})
    same("three quarters of what is allowed")
    # 524,288 addresses of each, and 1,001 more
    before = has["b"]
    say("b", ["9.0.0.0/13", "198.51.100.7"])
    after, has["b"] = has["b"], before
    same("one grows by less than max-growth, and all would have too much: it stays as it was")
    b.case("that is said", re.search("would drop 524288 more addresses of IPv4, .*; max-total leaves "
                                     "only [0-9]+ for it", b.daemon.source("b")["problem"]),
           b.daemon.source("b"))
    say("many", MANY[:-1])
    same("a change of another one is in force")
    has["b"] = after
    b.daemon.ask("accept b")
    same("somebody agrees: all have too much, and the largest is left out", "b")
    b.daemon.stop()
    tool("destroy", "s")
    b.daemon.start()
    same("after a restart without the set", "b")
    say("b", ["8.0.0.0/13", "9.0.0.0/14"])
    same("what several have counts once")
    say("a", ["8.0.0.0/12"])
    b.daemon.ask("accept a")
    same("another one is the largest now", "a")
    b.config({"s": {"max-total": "0"}}, {name: {"set": "s"} for name in has})
    b.daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "8.0.0.0/12" in members("s"), 10)
    same("max-total = 0: any")
    b.end()
    # 524,288 addresses of a, until they expire, and one more of b
    has = {"a": ["8.0.0.0/13"], "b": ["9.0.0.0/13", "198.51.100.7"]}
    for name, entries in has.items():
        say(name, entries)
    feeds = {"a": {"set": "s", "timeout": "3s", "every": "1d"}}
    b.begin(sets, feeds)
    b.config(sets, {**feeds, "b": {"set": "s", "every": "1d"}})
    b.daemon.process.send_signal(signal.SIGHUP)
    b.case("the second one has too much", wait_for(lambda: (source := next(
        (s for s in b.daemon.status()["sources"] if s["name"] == "b"), None)) and
        "max-total leaves only 524288 for it" in source.get("problem", "")), b.daemon.status())
    b.case("the first one expires", wait_for(lambda: not members("s")), members("s"))
    b.daemon.refresh("b")
    has["a"] = []
    same("what has expired does not count, even as long as a source has it")
    b.end()


def test_aggregate(b):
    """Networks of which so many hosts are listed, by any of the feeds, while these change at random"""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    rules = ["3/24", "2/64", "9/20"]
    exceptions = ["198.18.1.77", "198.18.2.0/25", "198.18.32.0/19", "2001:db8:0:1::/65"]
    has = {"a": [], "b": [], "c": []}

    def draw():
        return sorted({f"198.18.{rng.randrange(40)}.{rng.randrange(3, 256)}" for _ in range(rng.randint(0, 90))} |
                      {f"2001:db8:0:{rng.randrange(6)}::{rng.randrange(9):x}" for _ in range(rng.randint(0, 6))} |
                      {f"198.18.{rng.randrange(40)}.0/28", "198.19.1.0/24"})

    def say(name):
        b.server.say("/" + name, lie.whole(lines(has[name])))

    def want():
        return union(has.values(), exceptions) | aggregated(has.values(), rules, exceptions)

    for name in has:
        has[name] = draw()
        say(name)
    sets = {"s": {"aggregate": " ".join(rules), "except": " ".join(exceptions)}}
    feeds = {name: {"set": "s", "max-shrink": "100%"} for name in has}
    b.begin(sets, feeds)
    wrong = 0
    for at in range(2 * ROUNDS):
        name = rng.choice(list(has))
        before = list(has[name])
        # A few of many entries change, or all
        has[name] = draw() if rng.random() < 0.3 else sorted(
            set(rng.sample(before, max(len(before) - 2, 1))) | {f"198.18.{rng.randrange(40)}.9"})
        say(name)
        if rng.random() < 0.1:
            b.daemon.stop(rng.choice((signal.SIGTERM, signal.SIGKILL)))
            b.daemon.start()
        b.daemon.refresh(name)
        if set(members("s")) != want():
            b.tap.note(f"round {at}, {name}: {sorted(set(members('s')) ^ want())[:9]}")
            wrong += 1
    b.case(f"{2 * ROUNDS} random changes: the set equals the reference", wrong == 0 and aggregated(
        has.values(), rules, exceptions))
    # Three of 198.19.7.0/24, by two feeds; then two.
    for name, entries in (("a", ["198.19.7.1", "198.19.7.2"]), ("b", ["198.19.7.2", "198.19.7.99"]), ("c", ["192.0.2.1"])):
        has[name] = entries
        say(name)
        b.daemon.refresh(name)
    b.same("s", "hosts of several feeds count together", want())
    _, answer, _ = b.daemon.why("198.19.7.5")
    b.case("why: the network, how many of its hosts are listed, and how many are enough", answer["sets"][0]["answer"] ==
           "listed" and sources_of(answer, "s") == {"s.networks": ["198.19.7.0/24"]} and
           [(c["listed_hosts"], c["needed_hosts"]) for c in answer["sets"][0]["sources"][0]["covered_by"]] == [(3, 3)], answer)
    text = b.daemon.why("198.19.7.5", "-q")[1]
    b.case("in words", '3 hosts of this network are listed, and 3 are enough: "aggregate"' in text, text)
    source = b.daemon.source("s.networks")
    b.case("status has the networks as a source", source["kind"] == "aggregate" and source["entries"] == 1 and
           source["state"] == "good", source)
    done = b.daemon.run("compare", "-j")
    b.case("networks are no source to compare", [source["name"] for source in json.loads(done.stdout)[0]["sources"]] ==
           list(has), (done.stdout, done.stderr))
    # It is an address of this machine that makes the network one that must not be blocked.
    subprocess.run(["ip", "address", "add", "198.19.7.200/32", "dev", "lo"], check=True)
    b.case("a network with an address of this machine is not listed", wait_for(
        lambda: set(members("s")) == want() - {"198.19.7.0/24"}, 20), members("s"))
    b.case("that is said", "198.19.7.0/24 has 198.19.7.200, an address of this machine" in
           b.daemon.source("s.networks")["kept_out_why"], b.daemon.source("s.networks"))
    subprocess.run(["ip", "address", "del", "198.19.7.200/32", "dev", "lo"], check=True)
    b.case("it is when the address is gone", wait_for(lambda: set(members("s")) == want(), 20), members("s"))
    has["b"] = ["198.19.7.2"]
    say("b")
    b.daemon.refresh("b")
    b.same("s", "until too few are listed", want())
    b.config({"s": {"aggregate": "2/24"}}, feeds)
    b.daemon.process.send_signal(signal.SIGHUP)
    b.case("a reload with another number", wait_for(
        lambda: set(members("s")) == union(has.values()) | aggregated(has.values(), ["2/24"]), 20), members("s"))
    b.config({"s": {}}, feeds)
    b.daemon.process.send_signal(signal.SIGHUP)
    b.case("a reload without it", wait_for(lambda: set(members("s")) == union(has.values()), 20), members("s"))
    for sets, why in (({"aggregate": "8/24", "type": "hash:ip"}, "a set of hosts cannot have networks"),
                      ({"aggregate": "24"}, "write HOSTS/LENGTH"), ({"aggregate": "/24"}, "write HOSTS/LENGTH"),
                      ({"aggregate": "8/24x"}, "write HOSTS/LENGTH"), ({"aggregate": "1/24"}, "2 at least"),
                      ({"aggregate": "257/24"}, "not more than the network has"),
                      ({"aggregate": "8/24 8/32"}, '"8/32": networks of IPv4 have lengths'),
                      ({"aggregate": "8/128"}, "33 to 127"), ({"aggregate": "8/64", "family": "inet"}, "IPv6, which the family"),
                      ({"aggregate": "9999999999999999999999/24"}, "not more than the network has")):
        b.config({"s": sets}, {})
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"--check: {sets}", done.returncode and why in done.stderr, done.stderr)
    b.config({"s": {"aggregate": "8/24"}}, {"s.networks": {"set": "s"}})
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check: a feed whose name is that of the networks", done.returncode and
           "s.networks: that is the source with the networks" in done.stderr, done.stderr)
    b.end()


def test_copy(b):
    """A set that somebody else keeps, as a source"""
    b.config({"s": {"except": "198.51.100.8", "aggregate": "3/24"}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy bans]\nset = s\nof = f2b\n")
    b.daemon.start()
    b.case("the set is missing: said, with its name", wait_for(
        lambda: "the kernel has no set f2b" in b.daemon.source("bans").get("problem", "")), b.daemon.status())
    tool("create", "f2b", "hash:net", "family", "any", "timeout", "0", "comment")
    tool("add", "f2b", "198.51.100.7", "timeout", "600", "comment", "sshd")
    tool("add", "f2b", "198.51.100.8")
    tool("add", "f2b", "2001:db8::/48")
    want = {"198.51.100.7", "198.51.100.8 nomatch", "2001:db8::/48"}
    b.case("entries, without exceptions", wait_for(lambda: set(members("s")) == want, 10), members("s"))
    words = members("s").get("198.51.100.7", "")
    b.case("timeout and comment", re.search(r"timeout (59\d|600)", words) and 'comment "sshd"' in words, words)
    before = b.daemon.source("bans")["deliveries"]
    tool("add", "f2b", "198.51.101.1", "198.51.101.2", "198.51.101.3")
    b.case("changes, and the network that they make", wait_for(
        lambda: set(members("s")) == want | {"198.51.101.1", "198.51.101.2", "198.51.101.3", "198.51.101.0/24"}, 10),
           members("s"))
    b.case("one change is one delivery", b.daemon.source("bans")["deliveries"] == before + 1, b.daemon.source("bans"))
    tool("del", "f2b", "198.51.101.2")
    b.case("deletions", wait_for(
        lambda: set(members("s")) == want | {"198.51.101.1", "198.51.101.3"}, 10), members("s"))
    tool("flush", "f2b")
    tool("add", "f2b", "198.51.100.9", "timeout", "2")
    b.case("a flush", wait_for(lambda: "198.51.100.9" in members("s") and len(members("s")) == 2, 10), members("s"))
    b.case("a timeout", wait_for(lambda: set(members("s")) == {"198.51.100.8 nomatch"}, 10), members("s"))
    tool("add", "f2b", "198.51.100.7")
    wait_for(lambda: "198.51.100.7" in members("s"), 10)
    tool("destroy", "f2b")
    b.case("destroyed: it fails, and what it had stays", wait_for(
        lambda: b.daemon.source("bans")["state"] == "failing") and "198.51.100.7" in members("s"), members("s"))
    tool("create", "f2b", "hash:net")
    tool("add", "f2b", "198.51.0.0/16", "198.51.7.0/24")
    b.case("created again", wait_for(lambda: set(members("s")) == {"198.51.100.8 nomatch", "198.51.0.0/16", "198.51.7.0/24"}, 10),
           members("s"))
    tool("add", "f2b", "198.51.9.0/24", "nomatch")
    b.case("exceptions cannot be copied, which is said", wait_for(
        lambda: "it has exceptions" in b.daemon.source("bans").get("problem", "")), b.daemon.source("bans"))
    tool("destroy", "f2b")
    tool("create", "f2b", "filter:ip")
    b.case("nor can an approximate set", wait_for(
        lambda: "approximate" in b.daemon.source("bans").get("problem", "")), b.daemon.source("bans"))
    b.config({"s": {}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy bans]\nset = s\nof = s\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check: a copy of itself", done.returncode and "this daemon keeps [set s] itself" in done.stderr, done.stderr)
    b.end()


def seconds_of(words):
    """The timeout among the words of an entry, or None"""
    match = re.search(r"timeout (\d+)", words)
    return int(match[1]) if match else None


def test_copy_clock(b):
    """The clock is set: the entries of a copy, and the networks of these, keep the time that they have left."""
    bans = ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.101.1", "198.51.101.2"]
    nets = ["198.51.100.0/24", "198.51.101.0/24"]
    tool("create", "f2b", "hash:net", "timeout", "600")
    b.config({"s": {"aggregate": "2/24", "max-growth": "24"}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy bans]\nset = s\nof = f2b\n")
    tool("add", "f2b", *bans[:3])
    b.daemon.start()
    wait_for(lambda: nets[0] in members("s"), 10)
    tool("add", "f2b", *bans[3:])
    want = set(bans + nets)
    b.case("two networks, each as much as one change may add", wait_for(lambda: set(members("s")) == want, 10), members("s"))
    for hours in (2, -2):
        said = b.daemon.messages().count("the clock was set by")
        time.clock_settime(time.CLOCK_REALTIME, time.time() + hours * 3600)
        wait_for(lambda: b.daemon.messages().count("the clock was set by") > said, 10)
        b.daemon.status()
        have = members("s")
        b.case(f"the clock is set by {hours} hours: the set has what it had", set(have) == want and all(
            400 < (seconds_of(words) or 0) <= 601 for words in have.values()), have)
        b.case("and so has the daemon", [b.daemon.source(name)["entries"] for name in ("bans", "s.networks")] == [5, 2],
               b.daemon.status()["sources"])
    b.end()
    tool("destroy", "f2b", check=False)


def test_aggregate_ends(b):
    """Networks that are kept out are forgotten when their hosts expire; and networks are stored while the daemon runs."""
    subprocess.run(["ip", "address", "add", "198.51.100.200/32", "dev", "lo"], check=True)
    tool("create", "f2b", "hash:net", "timeout", "600")
    b.config({"s": {"aggregate": "2/24", "max-growth": "24"}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy bans]\nset = s\nof = f2b\n")
    tool("add", "f2b", "198.51.100.1", "198.51.100.2", "timeout", "5")
    b.daemon.start()
    b.case("a network with an address of this machine is kept out", wait_for(
        lambda: "198.51.100.0/24" in b.daemon.source("s.networks").get("kept_out_why", ""), 10), b.daemon.source("s.networks"))
    time.sleep(6)
    for net in ("198.51.101", "198.51.102"):
        tool("add", "f2b", net + ".1", net + ".2")
        b.case(f"{net}.0/24 is listed", wait_for(lambda: net + ".0/24" in members("s"), 10), members("s"))
    b.case("the network whose hosts have expired is not said to be kept out", b.daemon.source("s.networks").get(
        "kept_out", 0) == 0 and "198.51.100.0/24" not in b.daemon.health()[1], (b.daemon.source("s.networks"), b.daemon.health()))
    path = os.path.join(b.daemon.state, "s.networks.list")

    def stored():
        with open(path, encoding="utf-8") as f:
            return "198.51.102.0/24" in f.read()
    b.case("networks are stored after a minute", wait_for(lambda: os.path.exists(path) and stored(), 80))
    b.daemon.stop(signal.SIGKILL)
    tool("destroy", "s")
    b.daemon.start()
    b.case("and in force after a crash, though together they are more than one change may add", wait_for(
        lambda: {"198.51.101.0/24", "198.51.102.0/24"} <= set(members("s")), 10), (members("s"), b.daemon.status()))
    subprocess.run(["ip", "address", "del", "198.51.100.200/32", "dev", "lo"], check=True)
    b.end()
    tool("destroy", "f2b", check=False)


def test_aggregate_room(b):
    """A network that max-total kept out is listed when there is room for it. The feed with its hosts stays
    in force, whether the whole set is made, or a part of it changes."""
    base = ["192.0.2.0/24", "192.0.4.0/23"] + [f"198.18.{2 * i}.1" for i in range(40)]
    for name, steps in (("whole", (base + ["198.51.100.1", "198.51.100.2"],)),
                        ("part", (base + ["198.51.100.1"], base + ["198.51.100.1", "198.51.100.2"]))):
        b.server.say("/a", lie.whole(lines(steps[0])))
        b.begin({"s": {"aggregate": "2/23", "max-total": "22"}}, {"a": {"set": "s", "max-shrink": "100%"}})
        for step in steps[1:]:
            b.server.say("/a", lie.whole(lines(step)))
            b.daemon.refresh("a")
        b.case(f"{name}: a network for which max-total leaves no room is kept out", "max-total leaves only 214" in
               b.daemon.source("s.networks").get("kept_out_why", ""), b.daemon.source("s.networks"))
        b.same("s", f"{name}: its hosts are in force, and all others", union([steps[-1]]))
        b.server.say("/a", lie.whole(lines(["192.0.2.1", *steps[-1][-2:]])))
        b.daemon.refresh("a")
        b.case(f"{name}: it is listed when there is room", "198.51.100.0/23" in members("s"),
               (b.daemon.source("s.networks"), members("s")))
        b.end()


def test_copy_masked(b):
    """Sets whose entries stand for more than themselves, and copies in a circle"""
    tool("create", "f2b", "hash:ip", "netmask", "24")
    tool("add", "f2b", "198.51.100.7")
    b.config({"s": {}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy bans]\nset = s\nof = f2b\n")
    b.daemon.start()
    b.case("a set with a mask cannot be copied, which is said", wait_for(
        lambda: "mask" in b.daemon.source("bans").get("problem", ""), 10), (b.daemon.source("bans"), members("s")))
    b.config({"s": {}, "t": {}}, {})
    with open(b.daemon.config, "a", encoding="utf-8") as f:
        f.write("[copy one]\nset = s\nof = t\n[copy other]\nset = t\nof = s\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check: two sets, each a copy of the other", done.returncode and all(f"keeps [set {name}] itself" in done.stderr for name in "st"), done.stderr)
    for words, why in (("8/24 4/24", '"4/24": another rule has that length'), ("4/64 4/127", "not more than the network has")):
        b.config({"s": {"aggregate": words}}, {})
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"--check: aggregate = {words}", done.returncode and why in done.stderr, done.stderr)
    b.end()
    tool("destroy", "f2b", check=False)


def test_values(b):
    """Timeouts and comments"""
    b.server.say("/a", lie.whole(lines(MANY[:10])))
    b.server.say("/b", lie.whole(lines(MANY[5:20])))
    b.begin({"s": {}}, {"a": {"set": "s", "timeout": "1h", "comment": "from a"},
                        "b": {"set": "s", "timeout": "2h", "comment": "from b"}})
    have = members("s")

    def seconds(entry):
        return int(re.search(r"timeout (\d+)", have.get(entry, "timeout 0"))[1])
    b.case("an entry has timeout and comment of its source",
           3000 < seconds(MANY[0]) <= 3600 and '"from a"' in have.get(MANY[0], ""), have)
    b.case("an entry of two sources stays as long as the longer one, with the first one's comment",
           7000 < seconds(MANY[5]) <= 7200 and '"from a"' in have.get(MANY[5], ""), have)
    b.config({"s": {}}, {"a": {"set": "s", "timeout": "2s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: len(b.daemon.status()["sources"]) == 1)
    b.daemon.refresh("a")
    b.case("a shorter timeout is in force after a reload",
           wait_for(lambda: not members("s"), 20), members("s"))
    b.case("expired entries are not counted", b.daemon.source("a")["entries"] == 0)
    b.server.say("/a", lie.whole(lines(MANY[:10])))
    b.daemon.refresh("a")
    b.same("s", "the next good answer brings them back", union([MANY[:10]]))
    b.end()


def test_many(b):
    """Feeds of one set, with timeouts and comments: what each change costs does not grow with all of
    them. FEEDS=1000 measures it."""
    rng = random.Random(SEED)
    feeds, delays = int(os.environ.get("FEEDS", "30")), {"status": 0, "json": 0}
    pool = [f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" for i in range(feeds * 900)]
    entries = {f"f{i}": rng.sample(pool, min(len(pool), 1000)) for i in range(feeds)}
    for name, addresses in entries.items():
        b.server.say("/" + name, lie.whole(lines(addresses)))
    b.config({"s": {}}, {name: {"set": "s", "comment": name, "every": "1d", "timeout": f"{at + 1}h"}
                         for at, name in enumerate(entries)})
    begin = time.monotonic()
    b.daemon.start()
    while True:
        for how in delays:
            asked = time.monotonic()
            answer = b.daemon.ask(how)[1]
            delays[how] = max(delays[how], (time.monotonic() - asked) * 1000)
        if all(s["deliveries"] for s in json.loads(answer)["sources"]) or asked > begin + 600:
            break
        time.sleep(0.1)
    b.tap.note(f"{feeds} feeds of 1000 entries: in force in {time.monotonic() - begin:.1f} s; at most "
               f"{delays['status']:.0f} ms for status, {delays['json']:.0f} ms for status -j")
    want = {}
    for at, (name, addresses) in enumerate(entries.items()):
        for address in addresses:
            hours, comment = want.get(address, (0, name))
            want[address] = max(hours, at + 1), comment

    def differs(have):
        return [(e, have.get(e), want.get(e)) for e in have.keys() | want.keys()
                if not (e in have and e in want and (m := re.match(
                    r'timeout (\d+) comment "(.*)"', have[e])) and m[2] == want[e][1] and
                    want[e][0] * 3600 - 900 < int(m[1]) <= want[e][0] * 3600)]
    wrong = differs(members("s"))
    b.case("each entry has the longest time and the first comment of its sources", not wrong,
           wrong[:5])
    for name in rng.sample(sorted(entries), 5):
        entries[name] = entries[name][:-20] + rng.sample(pool, 20)
        b.server.say("/" + name, lie.whole(lines(entries[name])))
        b.daemon.refresh(name)
    b.same("s", "after some have changed, too", set().union(*entries.values()))
    b.case("and nothing was repaired", b.daemon.set("s")["repairs"] == 0, b.daemon.set("s"))
    b.end()


def test_access(b):
    """Keys, users and proxies: the server gets them, and nobody else reads them."""
    path, open_path = os.path.join(b.dir, "key"), os.path.join(b.dir, "open")
    for name, mode in ((path, 0o600), (open_path, 0o644)):
        with open(name, "w", encoding="ascii") as f:
            f.write("s3 cret\n".replace(" ", "/"))
        os.chmod(name, mode)
    words_path = os.path.join(b.dir, "words")
    with open(words_path, "w", encoding="ascii") as f:
        os.chmod(words_path, 0o600)
        f.write("s3 cret\n")
    secret, hidden = "s3/cret", "hidden"
    for at in ("/url?key=s3%2Fcret&other=hidden", "/header", "/user", "/words", "/inline?key=hidden"):
        b.server.say(at, lie.whole(lines(MANY[:5])))
    b.daemon.env = {"http_proxy": "http://192.0.2.1:3128", "https_proxy": "http://192.0.2.1:3128"}
    host = b.server.url("")
    b.begin({"s": {}}, {
        "url": {"set": "s", "url": f"{host}/url?key={{key}}&other={hidden}", "key-file": path},
        "header": {"set": "s", "url": f"{host}/header", "header": "X-Key: {key}", "key-file": path},
        "user": {"set": "s", "url": f"{host}/user", "user": "me", "key-file": path},
        "words": {"set": "s", "url": f"{host}/words", "user": "me", "key-file": words_path},
        "inline": {"set": "s", "url": f"{host.replace('//', '//me:hidden@')}/inline?key={hidden}"},
        "open": {"set": "s", "url": f"{host}/header", "header": "X-Key: {key}",
                 "key-file": open_path},
        "gone": {"set": "s", "url": f"{host}/nothing?key={hidden}"}})
    states = {name: b.daemon.source(name) for name in ("url", "header", "user", "words", "inline")}
    b.case("the servers know the keys, and no proxy is asked for this machine",
           all(s["state"] == "good" for s in states.values()), states)
    b.case("a header has the key", b.server.headers("/header").get("X-Key") == secret)
    b.case("a password", base64.b64decode(b.server.headers("/user")["Authorization"].split()[1]) ==
           f"me:{secret}".encode())
    b.case("a password with a blank", base64.b64decode(
        b.server.headers("/words")["Authorization"].split()[1]) == b"me:s3 cret")
    b.case("a key that everybody can read is not used", "every user" in
           b.daemon.source("open")["problem"], b.daemon.source("open"))
    b.case("the value of a parameter is not shown",
           b.daemon.source("url")["url"].endswith("/url?key={key}&other=..."), states["url"])
    b.daemon.stop()
    told = b.daemon.messages()
    for name in os.listdir(b.daemon.state):
        with open(os.path.join(b.daemon.state, name), encoding="utf-8") as f:
            told += f.read()
    told += str(states) + str(b.daemon.status())
    b.case("no secret in messages, state or status", secret not in told and hidden not in told and
           "s3%2Fcret" not in told and "s3 cret" not in told, told)
    b.daemon.env = {}
    b.daemon.start()
    b.daemon.configure(f"[set s]\n[feed a]\nset = s\nurl = ftp://me:{hidden}@x/?k={hidden}\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("nor in what is wrong with the url", done.returncode == 2 and "ftp://x/?k=..." in done.stderr
           and hidden not in done.stderr, done.stderr)
    for keys, says in (("key-file = /x\n", "nothing uses the key"),
                       ("header = Key {key}\nkey-file = /x\n", "is no name, colon and value"),
                       ("user = me\n", "key-file ="),
                       ("header = Key: {key}\nkey-file = /x\n", "https://")):
        b.daemon.configure(f"[set s]\n[feed a]\nset = s\nurl = http://192.0.2.1/\n{keys}")
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"{keys!r} is refused", done.returncode == 2 and says in done.stderr, done.stderr)
    # What only begins like this machine is another one, which would read the key.
    for host, here in (("localhost", True), ("LOCALHOST:80", True), ("127.0.0.1:80", True),
                       ("[::1]:80", True), ("me@127.9.9.9", True), ("localhost.example", False),
                       ("127.example.org", False), ("127.0.0.1.example:80", False),
                       ("localhost@192.0.2.1", False), ("[::1f]", False), ("192.0.2.127", False)):
        b.daemon.configure(f"[set s]\n[feed a]\nset = s\nurl = http://{host}/\n"
                           f"header = Key: {{key}}\nkey-file = {path}\n")
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"a key to {host} without TLS", done.returncode == (0 if here else 2) and
               here != ("https://" in done.stderr), done.stderr)
    b.daemon.configure("[set s]\n[feed a]\nset = s\nurl = https://192.0.2.1/{key}\n"
                       "key-file = /nonexistent\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check opens the files", done.returncode == 2 and
           "/nonexistent cannot be opened: No such file" in done.stderr, done)
    b.daemon.configure(f"[set s]\n[feed a]\nset = s\nurl = https://192.0.2.1/{{key}}\n"
                       f"key-file = {open_path}\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check says which keys everybody can read", done.returncode == 2 and
           f"[feed a] key-file: needs the key in {open_path}, which every user" in done.stderr,
           done)
    b.daemon.configure("# nothing\n")
    b.case("a configuration without a set is wrong",
           b.daemon.run("--check", b.daemon.config).returncode == 2)
    b.end()


def test_patience(b):
    b.server.say("/a", lie.later(86400))
    b.begin({"s": {}}, {"a": {"set": "s", "every": "1h"}})
    state = b.daemon.source("a")
    b.case("Retry-After is obeyed", 86300 < state["next_at"] - time.time() < 90100 and
           "as the server wants, in 1d" in state["problem"], state)
    b.daemon.stop()
    counted = lie.Counted()
    names = [f"f{i}" for i in range(40)]
    for name in names:
        b.server.say("/" + name, counted.whole(lines(MANY[:5]), 0.05))
    b.begin({"s": {}}, {name: {"set": "s", "every": "1d", "time": "2s"} for name in names})
    states = b.daemon.status()["sources"]
    b.case("a host is asked for two lists at a time", 1 <= counted.most <= 2, counted.most)
    b.case("and the others wait their turn", all(s["state"] == "good" for s in states),
           [s["problem"] for s in states if s["state"] != "good"])
    b.end()


def test_restart(b):
    b.server.say("/a", lie.whole(lines(MANY)))
    b.begin({"s": {"maxelem": "1100"}}, {"a": {"set": "s"}})
    b.daemon.stop(signal.SIGKILL)
    tool("destroy", "s")
    port = b.server.server_address[1]
    b.server.stop()
    b.daemon.start()
    b.same("s", "after a crash, the set comes from the disk", union([MANY]))
    b.daemon.refresh("a")
    b.case("and stays while the server is away", len(members("s")) == 1000)
    # libcurl says how many milliseconds it has tried, which is not always the same.
    for _ in range(30):
        b.daemon.refresh("a")
    found = re.findall(r"\[feed a\].* cannot be fetched: .*", b.daemon.messages())
    b.case("which is said once", len(found) == 1, found)
    b.server = lie.Server(port)
    b.server.say("/a", lie.whole(lines(MANY + ["10.0.0.1"])))
    b.daemon.refresh("a")
    b.case("the server is followed again", "10.0.0.1" in members("s"))
    b.server.say("/a", lie.whole(lines(MANY + [f"10.1.1.{i}" for i in range(200)])))
    b.daemon.refresh("a")
    b.case("a set that is full says so and stays",
           b.daemon.set("s")["state"] == "behind" and "maxelem" in b.daemon.set("s")["problem"] and
           len(members("s")) == 1001, b.daemon.set("s"))
    tool("change", "s", "maxelem", "5000")
    b.case("and is filled when there is room", wait_for(lambda: len(members("s")) == 1200))
    b.case("the state is good then", wait_for(lambda: b.daemon.set("s")["state"] == "good"))
    # Until the daemon has read the new limit, it would make the set with the old one.
    b.config({"s": {"maxelem": "5000"}, "later": {}}, {"a": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: len(b.daemon.status()["sets"]) == 2)
    tool("destroy", "s")
    b.case("a set that was destroyed is made again", wait_for(lambda: len(members("s")) == 1200))
    # A store that was cut off must not be used.
    b.daemon.stop()
    path = os.path.join(b.daemon.state, "a.list")
    with open(path, "r+", encoding="ascii") as f:
        f.truncate(os.path.getsize(path) // 2)
    b.server.say("/a", lie.whole("", status=500))
    b.daemon.start()
    b.daemon.answered("a", 1)
    b.case("a stored list that was cut off is not used", "cut off" in b.daemon.messages())
    b.case("and what is in the set stays", len(members("s")) == 1200, len(members("s")))
    b.daemon.stop()
    os.unlink(path)
    os.mkdir(path)
    b.daemon.start()
    b.case("one that cannot be read is not used, and named",
           f"{path} cannot be used: Is a directory" in b.daemon.messages(), b.daemon.messages())

    def stored():
        return ("not_stored" not in b.daemon.source("a"), "cannot be stored" not in b.daemon.ask("status")[1],
                'ipcuckood_source_stored{source="a",kind="feed",set="s"} 1\n' in b.daemon.ask("prometheus")[1])
    for count in (11, 12):
        b.server.say("/a", lie.whole(lines(MANY + [f"10.1.1.{i}" for i in range(count)])))
        b.daemon.refresh("a")
        b.case("contents that cannot be stored are in force", len(members("s")) == 1000 + count)
    b.case("status and a metric say so", stored() == (False, False, False), (stored(), b.daemon.source("a")))
    b.case("the journal says so once", b.daemon.messages().count("cannot be stored in") == 1)
    os.rmdir(path)
    b.server.say("/a", lie.whole(lines(MANY)))
    b.daemon.refresh("a")
    b.case("they are stored again", stored() == (True, True, True) and
           "[feed a] is stored again" in b.daemon.messages(), b.daemon.source("a"))
    b.server.say("/a", lie.whole("", status=500))
    # The values of match are stored, too, so that other ones mean another list.
    wanted = [str(64512 + i) for i in range(500)]
    b.server.say("/a", lie.whole(lines(f"198.51.100.{i},{64512 + i}" for i in range(100))))
    b.config({"s": {}}, {"a": {"set": "s", "format": "csv", "field": "1", "match-field": "2",
                               "max-shrink": "100%",
                               "match": "\n  ".join(" ".join(wanted[i:i + 20])
                                                    for i in range(0, 500, 20))}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("a list with 500 values of match", wait_for(
        lambda: b.daemon.source("a")["entries"] == 100), b.daemon.source("a"))
    b.daemon.stop()
    b.server.say("/a", lie.whole("", status=500))
    b.daemon.start()
    b.case("comes from the disk after a restart", b.daemon.source("a")["entries"] == 100,
           b.daemon.messages())
    b.end()


def test_incomplete(b):
    tool("create", "s", "hash:net", "family", "any")
    tool("add", "s", "10.9.9.9")
    b.server.say("/a", lie.whole(lines(MANY)))
    b.begin({"s": {}}, {"a": {"set": "s"}, "b": {"set": "s"}})
    b.case("until each source has answered, nothing is deleted",
           set(members("s")) == union([MANY, ["10.9.9.9"]]) and
           b.daemon.set("s")["state"] == "incomplete", b.daemon.set("s"))
    b.server.say("/b", lie.whole(lines(["10.8.8.8"])))
    b.daemon.refresh("b")
    b.same("s", "then the set has what the sources say", union([MANY, ["10.8.8.8"]]))
    b.end()


def test_replaced(b):
    """A set that lacks what its sources need becomes another one, where it is attached."""
    b.server.say("/a", lie.whole(lines(MANY[:300])))
    b.begin({"s": {}}, {"a": {"set": "s"}})
    tool("attach", "s", "src", "count")
    b.config({"s": {}}, {"a": {"set": "s", "comment": "from a", "timeout": "1h"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("comments and timeouts of a set that had none",
           wait_for(lambda: re.fullmatch(r'timeout \d+ comment "from a"',
                                         members("s").get(MANY[0], ""))), members("s").get(MANY[0]))
    b.same("s", "it has all its entries", union([MANY[:300]]))
    b.case("it is attached as before, and no other set is left",
           tool("list", "-n").split() == ["s"] and "attach s src count" in tool("save", "--all"),
           tool("save", "--all")[:500])
    tool("detach", "--all")
    tool("add", "s", "10.9.9.9")
    b.config({"s": {"comments": "yes"}}, {"a": {"set": "s"}, "b": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    wait_for(lambda: len(b.daemon.status()["sources"]) == 2)
    b.case("what others added stays until each source has answered", "10.9.9.9" in members("s"))
    b.end()


def test_names(b):
    """To replace a set, the daemon destroys no other one, whatever that is called."""
    b.server.say("/a", lie.whole(lines(MANY[:5])))
    b.begin({"s": {}}, {"a": {"set": "s"}})
    for name in ("s.new", "ipcuckood~new"):
        tool("create", name, "hash:ip")
        tool("add", name, "10.9.9.9")
    b.config({"s": {}}, {"a": {"set": "s", "comment": "from a"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("if another set has the name that it needs, the daemon says so",
           wait_for(lambda: "name ipcuckood~new" in b.daemon.set("s").get("problem", ""), 10),
           b.daemon.set("s"))
    tool("rename", "ipcuckood~new", "other")
    b.case("when the name is free, the set is replaced",
           wait_for(lambda: members("s").get(MANY[0]) == 'comment "from a"'), members("s"))
    b.case("no set is left over, and none is missing",
           sorted(tool("list", "-n").split()) == ["other", "s", "s.new"], tool("list", "-n"))
    for name in ("s.new", "other"):
        b.same(name, f"the set {name}, made by hand, is as it was", {"10.9.9.9"})
    b.end()


def test_kept(b):
    """A set made by hand is replaced before each source has answered: its entries stay as they
    were."""
    tool("create", "s", "hash:net", "family", "any", "timeout", "0", "counters", "skbinfo")
    tool("add", "s", "198.51.100.0/24", "nomatch")
    tool("add", "s", "198.51.0.0/16", "timeout", "1000")
    tool("add", "s", "10.9.9.9", "packets", "7", "bytes", "700", "skbmark", "0x1/0xff")
    tool("create", "t", "hash:net", "family", "any", "comment")
    tool("add", "t", "2001:db8::/32", "nomatch", "comment", "an exception")
    tool("add", "t", "10.9.9.9", "comment", "by hand")
    before = members("s")
    b.server.say("/a", lie.whole(lines(MANY[:5])))
    b.server.say("/b", lie.whole(lines(MANY[:5])))
    b.begin({"s": {}, "t": {}},
            {"a": {"set": "s", "comment": "from a"}, "missing": {"set": "s"},
             "b": {"set": "t", "timeout": "1h"}, "absent": {"set": "t"}})
    have = members("s")
    b.case("the set has comments now", have.get(MANY[0], "").endswith('comment "from a"'), have)
    b.case("an exception stays one", "198.51.100.0/24 nomatch" in have, have)
    left = re.search(r"timeout (\d+)", have.get("198.51.0.0/16", ""))
    b.case("an entry that expires still does", left and 800 < int(left[1]) <= 1000, have)
    b.case("counters and marks stay", have.get("10.9.9.9") == before["10.9.9.9"], have)
    b.case("there are no other entries", set(have) == set(before) | set(MANY[:5]), have)
    have = members("t")
    b.case("the other set has timeouts now", have.get(MANY[0], "").startswith("timeout"), have)
    b.case("comments stay, those of exceptions, too",
           have.get("10.9.9.9") == 'timeout 0 comment "by hand"' and
           have.get("2001:db8::/32 nomatch") == 'timeout 0 comment "an exception"', have)
    b.end()


def test_config(b):
    b.server.say("/a", lie.whole(lines(MANY)))
    b.begin({"s": {}}, {"a": {"set": "s"}})
    with open(b.daemon.config, "a", encoding="ascii") as f:
        f.write("evry = 2h\n[feed b]\nset = t\nurl = ftp://x/\nmax-bad = 7\ncomment = a \"b\"\n")
    done = b.daemon.run("--check", b.daemon.config)
    for pattern in (r"config:\d+: \[feed a\] has no key \"evry\"; did you mean \"every\"\?",
                    r"config:\d+: \[feed b\] set: there is no section \[set t\]",
                    r"config:\d+: \[feed b\] url: .* does not begin with https://",
                    r"config:\d+: \[feed b\] comment: has a double quote",
                    r"config:\d+: \[feed b\] max-bad: \"7\" is not a share"):
        b.case(f"--check: {pattern[12:40]}", done.returncode and re.search(pattern, done.stderr),
               done.stderr)
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("a wrong configuration is not used",
           wait_for(lambda: "the old one stays in force" in b.daemon.messages()) and
           len(b.daemon.status()["sources"]) == 1)
    os.unlink(b.daemon.config)
    os.mkdir(b.daemon.config)
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("nor is one that cannot be read",
           wait_for(lambda: f"{b.daemon.config}: cannot be read" in b.daemon.messages(), 10) and
           len(b.daemon.status()["sources"]) == 1, b.daemon.messages())
    os.rmdir(b.daemon.config)
    b.server.say("/c", lie.whole(lines(["10.7.7.7"])))
    b.config({"s": {"except": "198.18.1.0/24"}}, {"a": {"set": "s"}, "c": {"set": "s"}})
    os.kill(b.daemon.process.pid, signal.SIGHUP)
    b.case("a new configuration is", wait_for(lambda: len(b.daemon.status()["sources"]) == 2))
    b.daemon.answered("c", 1)
    b.same("s", "with its new source and exception", union([MANY, ["10.7.7.7"]], ["198.18.1.0/24"]))
    before = members("s")
    b.server.say("/a", lie.whole(lines(MANY[:990] + ["10.6.6.6"])))
    done = b.daemon.run("--dry-run")
    b.case("--dry-run prints the difference", "+ 10.6.6.6\n" in done.stdout and
           "- 198.18.3.249\n" in done.stdout and done.stdout.count("\n- ") == 10, done)
    b.case("and changes nothing", members("s") == before)
    b.end()


def test_service(b):
    """What systemd sees, and an idle daemon"""
    path = os.path.join(b.dir, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(path)
        notify.settimeout(20)
        b.daemon.env = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "2000000"}
        b.server.say("/a", lie.whole(lines(MANY[:5])))
        b.begin({"s": {}}, {"a": {"set": "s"}})
        told = [notify.recv(4096).decode() for _ in range(2)]
        b.case("systemd is told that the daemon is ready, and that it lives",
               any("READY=1" in t for t in told) and any("WATCHDOG=1" in t for t in told), told)
        b.daemon.stop()
        b.daemon.env = {}
    b.daemon.start()
    # Until it has gone to sleep after the last question
    time.sleep(1)
    b.tap.note(f"resident: {b.daemon.proc('VmRSS')} kB, private: {b.daemon.proc('RssAnon')} kB")
    wakes = b.daemon.proc("voluntary_ctxt_switches")
    time.sleep(2)
    wakes = b.daemon.proc("voluntary_ctxt_switches") - wakes
    b.case("an idle daemon wakes up once in three seconds, to look at its sets", wakes <= 1, wakes)
    text = b.daemon.run("status").stdout
    b.case("status is for people", "feed a: " in text and "set s: good" in text, text)
    text = b.daemon.run("status", "--prometheus").stdout
    b.case("and for Prometheus",
           re.search(r'^ipcuckood_source_entries\{source="a",kind="feed",set="s"\} 5$', text, re.M),
           text)
    bad = b.daemon.run("status", "--control", "/nowhere")
    b.case("without a daemon, status says so", bad.returncode == 4 and "running" in bad.stderr, bad)
    b.end()


def test_idle(b):
    """What a daemon without sources has in memory"""
    b.config({}, {})
    b.daemon.start()
    time.sleep(1)
    size = b.daemon.proc("VmRSS")
    b.case(f"without sources it takes at most {IDLE_KB} kB", size <= IDLE_KB, size)
    b.tap.note(f"resident: {size} kB, private: {b.daemon.proc('RssAnon')} kB")
    loaded = b.daemon.libraries()
    b.case("neither libarchive nor libcurl nor OpenSSL is loaded",
           not any(name.startswith(("libarchive", "libcurl", "libssl")) for name in loaded), loaded)
    wakes = b.daemon.proc("voluntary_ctxt_switches")
    time.sleep(2)
    wakes = b.daemon.proc("voluntary_ctxt_switches") - wakes
    b.case("it does not wake up", wakes == 0, wakes)
    b.server.say("/a", lie.whole(lines(MANY[:5])))
    b.config({"s": {}}, {"a": {"set": "s"}})
    b.daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: b.daemon.status()["sources"])
    b.daemon.answered("a", 1)
    b.same("s", "a feed that is new is fetched", set(MANY[:5]))
    b.tap.note(f"resident with a feed: {b.daemon.proc('VmRSS')} kB, "
               f"private: {b.daemon.proc('RssAnon')} kB")
    b.end()


def test_library(b):
    """libcurl is loaded when it is needed; until then, it may be missing"""
    directory = os.path.join(b.dir, "lib")
    os.mkdir(directory)
    fakes = [os.path.join(directory, name) for name in ("libcurl.so.4", "libcurl-gnutls.so.4")]
    for path in fakes:
        with open(path, "w", encoding="ascii"):
            pass
    b.daemon.env = {"LD_LIBRARY_PATH": directory}
    b.server.say("/a", lie.whole(lines(MANY[:5])))
    b.begin({"s": {}}, {"a": {"set": "s"}})
    source = b.daemon.source("a")
    b.case("without libcurl, a feed fails, and says why",
           source["state"] == "failing" and "libcurl cannot be loaded" in source["problem"], source)
    for path in fakes:
        os.unlink(path)
    b.case("when it is there, the next attempt succeeds",
           b.daemon.refresh("a")["state"] == "good", b.daemon.source("a"))
    b.same("s", "the set has what the feed has", set(MANY[:5]))
    b.daemon.env = {}
    b.end()


def test_random(b):
    """Feeds change and lie at random; at each quiet moment the set equals the reference."""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    areas = ["10.%d.%d.0/24", "10.%d.%d.7", "10.%d.%d.128/25", "2001:db8:%d:%d::/64",
             "10.%d.%d.3-10.%d.%d.9"]

    def draw():
        texts = set()
        for _ in range(rng.randint(20, 60)):
            pair = rng.randrange(8), rng.randrange(16)
            area = rng.choice(areas)
            texts.add(area % (pair * (area.count("%") // 2)))
        return sorted(texts)
    names = ["f0", "f1", "f2"]
    exceptions = [t for t in draw() if "-" not in t][:4]
    good = {name: draw() for name in names}
    for name in names:
        b.server.say("/" + name, lie.whole(lines(good[name])))
    b.begin({"s": {"except": " ".join(exceptions)}},
            {name: {"set": "s", "max-shrink": "90%", "max-size": "1M"}
             for name in names})
    wrong = 0
    # Its 300 addresses are more than these feeds have, so that is no lie here.
    bad = [answer for name, answer, _, _ in lies(b.server)
           if name not in ("slow", "silent", "shrunk")]
    for at in range(ROUNDS):
        name = rng.choice(names)
        if rng.random() < 0.4:
            b.server.say("/" + name, rng.choice(bad))
        else:
            good[name] = draw()
            b.server.say("/" + name, lie.whole(lines(good[name])))
        if rng.random() < 0.1:
            b.daemon.stop(rng.choice((signal.SIGTERM, signal.SIGKILL)))
            b.daemon.start()
        state = b.daemon.refresh(name)
        if not state:
            wrong += 1
        if set(members("s")) != union(good.values(), exceptions):
            b.tap.note(f"round {at}, {name}: {state}")
            wrong += 1
    b.case(f"{ROUNDS} random changes and lies: the set equals the reference", wrong == 0)
    b.end()


TESTS = (test_formats, test_tables, test_arrays, test_starts, test_conditions, test_lies, test_files,
         test_accept, test_reload, test_guard, test_addresses, test_compare, test_total, test_aggregate, test_aggregate_ends, test_aggregate_room, test_copy, test_copy_clock,
         test_copy_masked, test_why, test_health,
         test_unsaved, test_values, test_many, test_access,
         test_patience, test_restart, test_incomplete, test_replaced, test_names,
         test_kept, test_config, test_service, test_idle, test_library, test_random)


def body(tap):
    run_tests(tap, TESTS, Bench)


if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
ktap.run(body)
