#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Decisions of CrowdSec that ipcuckood enforces, from a fake Local API that tells the truth or
lies: restarts, lost answers, several decisions about one address, durations, TLS, usage metrics.
The set in the kernel is compared with a naive reference: entries and the seconds they have left.
KTAP.

SEED repeats a run; ROUNDS is the number of random changes and lies at the end (default 10). With
words, only these tests run: "crowdsec.py lies random"."""
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet import lapi as fake
from fleet import server as lie
from fleet.authority import Authority, server_context
from fleet.daemon import Daemon, members, tool, wait_for
from fleet.runner import run_tests

# Resident memory of the daemon, whatever is sent to it
MEMORY_KB = 50 << 10
ROUNDS = int(os.environ.get("ROUNDS", "10"))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
# An entry may end so many seconds before or after its decision
EARLY, LATE = 3, 5
# Decisions that end within so many seconds are not compared
SOON = 5
# Seconds for a change to be in force
PATIENCE = 30
# Decisions of a large list: in "make check-fleet", and in a short run. User Mode Linux maps each page
# of a process by itself, and the host allows 65,530 maps: 256 MB, which the list has to fit into as
# JSON, several times.
MANY = 200000 if ROUNDS >= 100 else 20000


def seconds_of(words):
    match = re.search(r"timeout (\d+)", words)
    return int(match[1]) if match else None


class Bench:
    """A daemon, and a fake Local API"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.daemon = Daemon(self.dir)
        self.lapi = fake.Lapi()
        self.key_file = os.path.join(self.dir, "key")
        self.write_key(fake.KEY)

    def write_key(self, key, mode=0o600):
        with open(self.key_file, "w", encoding="utf-8") as f:
            f.write(key + "\n")
        os.chmod(self.key_file, mode)

    def config(self, keys=None, sets=None):
        keys = {"set": "s", "url": self.lapi.url(), "key-file": self.key_file, "interval": "1s",
                **(keys or {})}
        text = "[set s]\n" + "".join(f"{k} = {v}\n" for k, v in (sets or {}).items())
        text += "[crowdsec lapi]\n" + "".join(f"{k} = {v}\n" for k, v in keys.items() if v)
        self.daemon.configure(text)

    def begin(self, keys=None, sets=None):
        self.config(keys, sets)
        self.daemon.start()
        self.daemon.answered("lapi", 1)

    def reload(self, keys=None, sets=None):
        self.config(keys, sets)
        before = self.lapi.asked(startup=True)
        os.kill(self.daemon.process.pid, signal.SIGHUP)
        wait_for(lambda: self.lapi.asked(startup=True) > before)
        before = self.source()["answers"]
        wait_for(lambda: self.source()["answers"] > before and self.source()["state"] == "good")

    def source(self):
        return self.daemon.source("lapi")

    def problem(self):
        return self.source().get("problem", "")

    def restart_lapi(self):
        port = self.lapi.server_address[1]
        self.lapi.stop()
        self.lapi = fake.Lapi(port, old=self.lapi)

    def explain(self):
        if not self.daemon.process:
            return "the daemon was not started"
        self.daemon.process.kill()
        return self.daemon.messages()

    def close(self):
        self.lapi.stop()

    def end(self):
        self.daemon.stop()
        for name in tool("list", "-n").split():
            tool("destroy", name)
        for name in os.listdir(self.daemon.state):
            os.unlink(os.path.join(self.daemon.state, name))

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed and detail is not None:
            self.tap.note(str(detail))

    def differences(self, decisions=None, **how):
        """What the set has and the decisions do not, or the other way round; entries that end
        within seconds may be there or not."""
        sure = fake.reference(self.lapi.active(SOON) if decisions is None else decisions, **how)
        maybe = fake.reference(self.lapi.active(-SOON), **how)
        have = members("s")
        now = time.time()
        wrong = [f"missing: {entry}" for entry in sure if entry not in have]
        wrong += [f"too many: {entry} {words}" for entry, words in have.items()
                  if entry not in (sure if decisions is not None else maybe)]
        for entry, decision in sure.items():
            left = decision.until - now
            seconds = seconds_of(have.get(entry, ""))
            if entry in have and (seconds is None or not left - EARLY <= seconds <= left + LATE):
                wrong.append(f"{entry} has {seconds} s left, its decision {left:.1f} s")
        return wrong

    def in_force(self, text, **how):
        """A case: the set soon has what the Local API has."""
        self.case(text, wait_for(lambda: not self.differences(**how), PATIENCE),
                  self.differences(**how)[:5])

    def settle(self):
        """Waits until the daemon has all that was changed before: until a request that began
        afterwards was answered well."""
        before = self.lapi.asked()
        wait_for(lambda: self.lapi.asked() > before)
        answers = self.source()["answers"]
        wait_for(lambda: (s := self.source())["answers"] > answers and s["state"] == "good",
                 PATIENCE)


def test_decisions(b):
    """What is said in the first answer, and in changes"""
    long = b.lapi.add("192.0.2.7", 7200, origin="crowdsec", scenario="crowdsecurity/ssh-bf")
    b.lapi.add("198.51.100.0/24", 3600)
    b.lapi.add("2001:db8::7", 90000.5)
    b.lapi.add("2001:DB8:0:1::/64", 3600)
    b.lapi.add("10.1.2.3/16", 3600)
    b.begin()
    b.case("the set has what the first answer says", not b.differences(), b.differences())
    request = b.lapi.requests[0]
    b.case("the first request is for all decisions, with key and user agent",
           request[1]["startup"] == "true" and request[2]["X-Api-Key"] == fake.KEY and
           re.fullmatch(r"ipcuckood/[^/ ]+", request[2]["User-Agent"]), request)
    more = [b.lapi.add("203.0.113.9", 3600), b.lapi.add("2001:db8:2::/48", 3600)]
    b.in_force("what is new gets in")
    b.lapi.delete(more[0])
    b.in_force("what is deleted gets out")
    short = b.lapi.add("192.0.2.7", 3600, origin="cscli")
    b.settle()
    b.case("a shorter decision changes nothing",
           7000 < seconds_of(members("s")["192.0.2.7"]) <= 7201, members("s"))
    b.lapi.delete(long)
    b.in_force("the longer one is deleted: the shorter one counts")
    b.case("its time does", seconds_of(members("s")["192.0.2.7"]) <= 3601)
    longer = b.lapi.add("192.0.2.7/32", 10000)
    b.in_force("a longer one counts")
    b.lapi.delete(short)
    b.settle()
    b.case("one of two is deleted: the address stays", "192.0.2.7" in members("s") and
           not b.differences(), b.differences())
    b.lapi.delete(longer)
    b.in_force("the last one is deleted: it goes")
    b.lapi.add("192.0.2.8", 4)
    b.settle()
    b.case("a short decision gets in", "192.0.2.8" in members("s"))
    b.case("and ends", wait_for(lambda: "192.0.2.8" not in members("s"), 20))
    b.lapi.chunked = True
    b.lapi.add("192.0.2.10", 1000)
    b.in_force("an answer in pieces, with the new ones first")
    b.case("all decisions were asked for at first, and after each time that one of two was deleted",
           b.lapi.asked(startup=True) == 3, b.lapi.asked(startup=True))
    state = b.source()
    b.case("nothing was left out", not any(state[k] for k in ("other_types", "wrong", "left_out")),
           state)
    b.case("the state has the number of decisions",
           state["decisions"] >= len(b.lapi.active()) and state["entries"] == len(members("s")),
           state)
    first = b.lapi.add("192.0.2.77", 3600, origin="crowdsec", scenario="crowdsecurity/ssh-bf")
    other = b.lapi.add("192.0.2.77", 900, origin="lists", scenario="firehol \x1b[1m")
    wait_for(lambda: "192.0.2.77" in members("s"))
    b.settle()
    answer = b.daemon.why("192.0.2.77")[1]
    entry = answer["sets"][0]["sources"][0]["covered_by"][0]
    b.case("why: each decision, with origin and scenario", entry["entry"] == "192.0.2.77" and
           {d["id"]: (d["origin"], d["scenario"]) for d in entry["decisions"]} ==
           {first: ("crowdsec", "crowdsecurity/ssh-bf"), other: ("lists", "firehol \x1b[1m")} and
           all(0 <= d["expires"] - time.time() <= 3602 for d in entry["decisions"]), answer)
    text = b.daemon.why("192.0.2.77", "-q")[1]
    b.case("in words, which cannot act on a terminal", re.search(
        r"^    decision \d+ of CrowdSec: scenario firehol \\x1b\[1m, origin lists, until ", text, re.M),
        text)
    b.case("why: the prefix of another decision",
           b.daemon.why("198.51.100.9")[1]["sets"][0]["sources"][0]["covered_by"][0]["entry"] ==
           "198.51.100.0/24")
    b.lapi.delete_all()
    b.in_force("all decisions are deleted: the set is empty")
    b.end()


def test_left_out(b):
    """What a set cannot take, or shall not"""
    b.lapi.add("192.0.2.1", 3600)
    b.lapi.add("192.0.2.2", 3600, type="captcha")
    b.lapi.add("FR", 3600, scope="country")
    b.lapi.add("2001:db8::1", 3600)
    for wrong in ("192.0.2.300", "fe80::1%eth0", "192.0.2.3;4", "", "example.org", "192.0.2.4\n"):
        b.lapi.add(wrong, 3600, scope="Ip")
    # The real one never sends what was not asked for.
    b.lapi.add("192.0.2.6", 3600, scope="strange")
    bad = b.lapi.add("192.0.2.5", 3600)
    b.lapi.decisions[bad].show = lambda: {**fake.Decision.show(b.lapi.decisions[bad]),
                                          "duration": "4 hours"}
    b.begin(sets={"family": "inet"})
    b.case("the set has what it can take", list(members("s")) == ["192.0.2.1"], members("s"))
    state = b.source()
    b.case("what is left out is counted",
           (state["other_types"], state["wrong"], state["left_out"]) == (1, 8, 1) and
           state["state"] == "good", state)
    messages = b.daemon.messages()
    b.case("decisions about countries are not asked for", all(
        query["scopes"] == "ip,range" for _, query, _ in b.lapi.requests) and
        "country" not in messages, messages)
    for pattern in (r'type "captcha" are left out.*types = ban',
                    r'a decision is left out: "192\.0\.2\.300": ',
                    r'do not fit into the set.*"2001:db8::1"'):
        b.case(f"said once: {pattern[:32]}", len(re.findall(pattern, messages)) == 1, messages)
    b.end()
    b.begin({"types": "ban captcha", "origins": "cscli", "comment-from": "scenario"})
    b.case("other types if they are named", "192.0.2.2" in members("s"), members("s"))
    b.case("a comment is the scenario",
           '"manual \'ban\' from \'localhost\'"' in members("s")["192.0.2.1"], members("s"))
    b.lapi.add("192.0.2.20", 3600, origin="lists", scenario="firehol & co, =100%")
    b.lapi.add("192.0.2.21", 3600, origin="crowdsec", scenario="crowdsecurity/http-bf")
    b.settle()
    b.case("other origins if not", not {"192.0.2.20", "192.0.2.21"} & set(members("s")))
    b.reload({"comment-from": "origin", "scenarios-not-containing": "http-bf & =100%"})
    b.settle()
    b.case("the words of scenarios are sent as they are, and a comment is the origin",
           '"cscli"' in members("s")["192.0.2.1"] and "192.0.2.20" not in members("s") and
           "192.0.2.21" not in members("s"), members("s"))
    b.end()
    b.begin({"scenarios-containing": "firehol"}, {"type": "hash:ip"})
    b.case("only some scenarios", list(members("s")) == ["192.0.2.20"], members("s"))
    ranges = [b.lapi.add("10.0.0.0/24", 3600, scenario="firehol"),
              b.lapi.add("10.0.0.128/25", 7200, scenario="firehol")]
    b.lapi.add("10.0.0.0/8", 3600, scenario="firehol")
    b.settle()
    want = {f"10.0.0.{i}" for i in range(256)} | {"192.0.2.20"}
    b.case("a set of hosts has each host of a range, if it is not too large",
           set(members("s")) == want and b.source()["left_out"] == 1, b.source())
    b.lapi.delete(ranges[0])
    b.settle()
    b.case("of a range that is deleted, hosts of another range stay",
           set(members("s")) == {f"10.0.0.{i}" for i in range(128, 256)} | {"192.0.2.20"})
    b.end()


def lies():
    """(name, answer, pattern of the message)"""
    good = json.dumps({"new": [fake.Decision(7, "203.0.113.7", 3600).show()] * 9, "deleted": None})
    many = b"".join(b'{"id":%d,"value":"198.18.%d.%d","scope":"Ip","type":"ban","duration":"1h"},'
                    % (i + 1, i >> 8, i & 255) for i in range(5000))
    return (
        ("empty", lie.whole(""), "empty answer"),
        ("only blanks", lie.whole(" \n" * 1000), "cut off"),
        ("a web page", lie.whole(lie.html()), r"does not answer as the Local API.*<!DOCTYPE"),
        ("a web page with status 500", lie.whole(lie.html(), status=500), "status 500"),
        ("forbidden", lie.whole("{}", status=403), "refuses the API key.*cscli bouncers add"),
        ("not found", lie.whole("{}", status=404), "url of CrowdSec's Local API"),
        ("nothing has changed", lie.whole("", status=304), "not changed since when"),
        ("other JSON", lie.whole('{"message": "hello"}'), 'there is no list "new"'),
        ("a list", lie.whole("[]"), "does not answer as the Local API"),
        ("only what is deleted", lie.whole('{"deleted": []}'), 'there is no list "new"'),
        ("no list", lie.whole('{"new": 7}'), "no correct JSON"),
        ("no decisions", lie.whole('{"new": [7, 8]}'), "something else than decisions"),
        ("truncated JSON", lie.whole(good[:300]), "cut off"),
        ("cut off", lie.cut_off(good), "ended early"),
        ("two answers", lie.whole(good + good), "no correct JSON"),
        ("a comma too many", lie.whole(good.replace("],", ",],")), "no correct JSON"),
        ("a name without quotes", lie.whole("{new: []}"), "no correct JSON"),
        ("depth", lie.whole('{"new": [' + "[" * 100000), "no correct JSON|something else"),
        ("an endless text", lie.endless(b"x" * 60000, first=b'{"new": [{"id": "'),
         "more than 64 KB"),
        ("endless blanks", lie.endless(b" " * 60000), "max-size"),
        ("endless decisions", lie.endless(many, first=b'{"new": ['), "max-size"),
        ("10 GB", lie.endless(many, 10 << 30, b'{"new": ['), "max-size"),
        ("slow", lie.slow(good), "cannot be fetched"),
        ("silent", lie.silent(), "cannot be fetched"),
        ("a redirection", lie.redirect("http://127.0.0.1:1/"), "status 302"),
        ("a bomb", lie.bomb("gzip"), "max-size|does not answer"),
    )


def test_aggregate(b, many=False):
    """A network is listed while enough of its hosts are: until the third last of them ends, here."""
    has = {last: b.lapi.add(f"198.51.100.{last}", 100 * last) for last in range(2, 7)}
    # With so many, the daemon looks for the 256 addresses of a network, not at all decisions.
    others = [b.lapi.add(f"198.18.{i}.1", 3600) for i in range(200)] if many else []
    others += [b.lapi.add(f"2001:db8:{i:x}::1", 3600) for i in range(200)] if many else []
    b.begin(sets={"aggregate": "3/24"})

    def lasts(seconds):
        left = seconds_of(members("s").get("198.51.100.0/24", ""))
        return left is None if seconds is None else left is not None and seconds - 60 < left <= seconds + LATE
    b.case("as long as three of five", wait_for(lambda: lasts(400)), members("s"))
    has[9] = b.lapi.add("198.51.100.9", 900)
    b.case("longer, when one more lasts longer", wait_for(lambda: lasts(500)), members("s"))
    b.lapi.delete(has[6])
    b.case("less long, when one ends", wait_for(lambda: lasts(400)), members("s"))
    b.lapi.delete(has[5])
    b.lapi.delete(has[3])
    b.case("three are left", wait_for(lambda: lasts(200)), members("s"))
    b.lapi.delete(has[2])
    b.case("not any more with two", wait_for(lambda: lasts(None)), members("s"))
    b.lapi.add("198.51.100.77", 8)
    b.case("and again with one that ends soon", wait_for(lambda: "198.51.100.0/24" in members("s")), members("s"))
    b.case("with which the network ends", wait_for(
        lambda: len(members("s")) == len(others) + 2 and "198.51.100.0/24" not in members("s")), members("s"))
    b.lapi.delete_all()
    b.end()


def test_aggregate_many(b):
    """The same among many decisions"""
    test_aggregate(b, many=True)


def test_guard(b):
    """Decisions that would block an address that the machine needs, or much of the internet, are not
    put into the set."""
    b.lapi.add("192.0.2.1", 3600)
    wide = b.lapi.add("0.0.0.0/0", 3600)
    b.lapi.add("169.254.169.254", 3600)
    b.begin()
    b.case("at the start", wait_for(lambda: set(members("s")) == {"192.0.2.1"}), members("s"))
    state = b.source()
    b.case("the source is good, and says so", state["state"] == "good" and state["kept_out"] == 2 and
           "2 entries are not put into the set: " in state["kept_out_why"], state)
    b.case("so does the journal", "2 entries are not put into the set: 169.254.169.254 is a "
           "link-local address" in b.daemon.messages(), b.daemon.messages())
    b.lapi.add("192.0.2.2", 3600)
    many = [b.lapi.add(f"{net}.0.0.0/7", 3600) for net in range(20, 40, 2)]
    b.case("many prefixes later", wait_for(lambda: b.source()["kept_out"] == 12), b.source())
    b.case("what else came with them is in force",
           wait_for(lambda: set(members("s")) == {"192.0.2.1", "192.0.2.2"}), members("s"))
    b.daemon.stop()
    b.daemon.start()
    b.case("after a restart, too", wait_for(
        lambda: b.source()["kept_out"] == 12 and
        set(members("s")) == {"192.0.2.1", "192.0.2.2"}), b.source())
    b.lapi.add("203.0.113.64/26", 3600)
    b.case("a prefix is put into the set", wait_for(lambda: "203.0.113.64/26" in members("s")))
    subprocess.run(["ip", "address", "add", "203.0.113.77/32", "dev", "lo"], check=True)
    b.case("not any more when it has an address of the machine", wait_for(
        lambda: "203.0.113.64/26" not in members("s"), 30), b.source())
    b.case("that is said", "203.0.113.64/26 has 203.0.113.77, an address of this machine" in
           b.source()["kept_out_why"], b.source())
    subprocess.run(["ip", "address", "del", "203.0.113.77/32", "dev", "lo"], check=True)
    b.case("and again when it has not", wait_for(
        lambda: "203.0.113.64/26" in members("s"), 30), b.source())
    for decision in many + [wide]:
        b.lapi.delete(decision)
    b.case("decisions that end are not counted any more",
           wait_for(lambda: b.source()["kept_out"] == 1), b.source())
    b.reload(sets={"except": "169.254.169.254"})
    b.case("an exception is enough", wait_for(lambda: b.source()["kept_out"] == 0), b.source())
    b.reload(sets={"protect": "no"})
    b.case("protect = no puts it into the set",
           wait_for(lambda: "169.254.169.254" in members("s")), members("s"))
    b.end()


def test_growth(b):
    """What one change may not add stays out, whatever comes with it later."""
    b.lapi.add("4.0.0.0/8", 3600)
    b.lapi.add("9.9.9.9", 3600)

    def out(text):
        b.case(text, wait_for(lambda: b.source()["kept_out"] == 1 and set(members("s")) == {"9.9.9.9"}),
               (b.source(), members("s")))
    b.begin()
    out("a prefix and an address are too much together")
    subprocess.run(["ip", "address", "add", "203.0.113.77/32", "dev", "lo"], check=True)
    time.sleep(12)
    out("the machine gets another address")
    subprocess.run(["ip", "address", "del", "203.0.113.77/32", "dev", "lo"], check=True)
    b.daemon.stop()
    b.daemon.start()
    out("a restart")
    answers = b.source()["answers"]
    b.daemon.ask("refresh lapi")
    wait_for(lambda: b.source()["answers"] > answers)
    out("all decisions are asked for again")
    b.reload()
    out("a reload")
    b.reload(sets={"max-growth": "7"})
    b.case("the configuration allows more", wait_for(lambda: "4.0.0.0/8" in members("s")), b.source())
    b.end()


def test_total(b):
    """Decisions and a feed that would drop too much of the internet together"""
    path = os.path.join(b.dir, "list")
    with open(path, "w", encoding="ascii") as f:
        f.write("9.0.0.0/13\n198.51.100.7\n")
    feed = {"9.0.0.0/13", "198.51.100.7"}
    b.config(sets={"max-total": "12"})
    with open(b.daemon.config, "a", encoding="ascii") as f:
        f.write(f"[feed list]\nset = s\nurl = file://{path}\njitter = 0%\n")
    b.daemon.start()
    b.case("the feed is in force", wait_for(lambda: set(members("s")) == feed), members("s"))
    decision = b.lapi.add("8.0.0.0/13", 3600)
    b.case("not a decision with one address more than there is room for", wait_for(
        lambda: "max-total leaves only 524287 for it" in b.source().get("kept_out_why", "") and
        set(members("s")) == feed), (members("s"), b.source()))
    b.lapi.add("11.0.0.0/16", 3600)
    b.case("but one that there is room for", wait_for(
        lambda: set(members("s")) == feed | {"11.0.0.0/16"} and b.source()["kept_out"] == 1),
        (members("s"), b.source()))
    b.daemon.stop()
    b.daemon.start()
    b.case("a restart, in which CrowdSec is the first source, changes nothing", wait_for(
        lambda: set(members("s")) == feed | {"11.0.0.0/16"} and b.source()["kept_out"] == 1 and
        "kept_out_why" not in b.daemon.source("list")), (members("s"), b.daemon.status()))
    b.lapi.delete(decision)
    b.case("nothing is kept out in the end", wait_for(
        lambda: set(members("s")) == feed | {"11.0.0.0/16"} and "kept_out_why" not in b.source()),
        (members("s"), b.source()))
    b.end()


def test_lies(b):
    for i in range(300):
        b.lapi.add(f"198.18.{i // 250}.{i % 250}")
    b.begin({"slow-time": "2s", "time": "10s", "max-size": "3M"})
    b.case("before the lies", not b.differences(), b.differences()[:5])
    for name, answer, pattern in lies():
        failures = b.source()["failures"]
        b.lapi.lie(answer)
        said = wait_for(lambda: (s := b.source())["failures"] > failures and s)
        b.case(f"{name}: the source fails, and says why",
               said and said["state"] == "failing" and re.search(pattern, said["problem"], re.S),
               said)
        b.case(f"{name}: what is in force stays", not b.differences(), b.differences()[:5])
        # The daemon must not rely on changes after that.
        b.lapi.lie(None)
        extra = b.lapi.add("203.0.113.1")
        b.lapi.pulled()
        b.in_force(f"{name}: afterwards all decisions are asked for")
        b.lapi.drop(extra)
        b.daemon.refresh("lapi")
    messages = b.daemon.messages()
    b.case("messages say that the last contents stay", "its last good contents stay in force (300 "
           in messages and "is good again, with 30" in messages)
    b.case("a redirection does not get the key: nobody was asked elsewhere",
           "127.0.0.1:1/" not in messages)
    peak = b.daemon.proc("VmHWM")
    b.tap.note(f"most memory: {peak} kB")
    b.case("memory is bounded", peak < MEMORY_KB, peak)
    b.end()


def test_lost(b):
    """Answers that are lost, decisions that vanish, and an answer that is half empty"""
    numbers = [b.lapi.add(f"198.18.0.{i}") for i in range(200)]
    b.begin({"resync": "1h"})
    b.lapi.lie(lie.cut_off("{"), times=1)
    lost = b.lapi.add("203.0.113.1")
    b.lapi.delete(numbers[0])
    b.in_force("changes in an answer that was lost")
    # Somebody else asks with the same key.
    b.lapi.add("203.0.113.2")
    b.lapi.pulled()
    b.lapi.drop(lost)
    b.settle()
    before = members("s")
    b.case("a change that somebody else got is not here", "203.0.113.2" not in before)
    count = b.source()["deliveries"]
    b.daemon.refresh("lapi")
    b.case("refresh asks for all: the difference is in force", not b.differences(), b.differences())
    b.case("it is a change of some entries", b.source()["deliveries"] == count + 1)
    deliveries = b.source()["deliveries"]
    b.daemon.refresh("lapi")
    b.case("no difference, no change", b.source()["deliveries"] == deliveries)
    b.lapi.delay = 5
    b.daemon.refresh("lapi")
    b.case("nor if the answer takes long", b.source()["deliveries"] == deliveries, b.source())
    b.lapi.delay = 0
    b.reload({"resync": "3s"})
    b.lapi.add("203.0.113.3")
    b.lapi.pulled()
    b.in_force("resync finds what was missed")
    b.reload()
    # As a Local API whose database fails ends its answer
    b.lapi.lie(lie.whole('{"new": [], "deleted": []}'), times=1)
    startups = b.lapi.asked(startup=True)
    b.daemon.ask("refresh lapi")
    wait_for(lambda: b.lapi.asked(startup=True) > startups + 1)
    b.settle()
    b.case("an empty answer is asked again before it is believed",
           not b.differences() and "once more before that is believed" in b.daemon.messages(),
           b.differences()[:3])
    for number in list(b.lapi.decisions):
        b.lapi.drop(number)
    b.daemon.ask("refresh lapi")
    b.case("and is believed then", wait_for(lambda: not members("s"), PATIENCE))
    for i in range(150):
        b.lapi.add(f"198.18.1.{i}")
    startups = b.lapi.asked(startup=True)
    b.in_force("an import")
    b.case("after an import, all are asked for", wait_for(
        lambda: b.lapi.asked(startup=True) > startups, PATIENCE))
    b.end()


def test_renewed(b):
    """CrowdSec gets a list anew, and deletes older decisions about its addresses silently."""
    for origin in ("CAPI", "lists"):
        b.lapi.add("192.0.2.1", origin=origin)
    old = [b.lapi.add(f"198.18.0.{i}", origin="CAPI") for i in range(20)]
    b.lapi.add("192.0.2.9", 15)
    b.begin()
    b.lapi.add("192.0.2.9")
    for number in old:
        b.lapi.drop(number)
    new = [b.lapi.add(f"198.18.0.{i}", 7200, origin="CAPI") for i in range(20)]
    b.in_force("the list is there anew")
    b.case("which is a change", b.lapi.asked(startup=True) == 1)
    b.lapi.delete(new[0])
    b.case("an unban of the decision that CrowdSec shows is in force soon", wait_for(
        lambda: "198.18.0.0" not in members("s"), PATIENCE), members("s").get("198.18.0.0"))
    b.settle()
    b.settle()
    b.case("all decisions were asked for once", b.lapi.asked(startup=True) == 2,
           b.lapi.asked(startup=True))
    b.case("the others stay", not b.differences(), b.differences())
    b.lapi.drop(new[1])
    again = [b.lapi.add(f"198.18.0.{i}", 7200) for i in range(20)]
    with b.lapi.lock:
        b.lapi.delete(again[2])
        b.lapi.delete(new[2])
    b.in_force("an address both of whose decisions are deleted goes")
    # One of its two decisions ends by itself.
    time.sleep(16)
    b.settle()
    b.case("no decision that ends in time is a reason to ask", b.lapi.asked(startup=True) == 2,
           b.lapi.asked(startup=True))
    b.in_force("in the end all is right")
    b.end()


def test_restart(b):
    """Restarts of the daemon and of the Local API"""
    numbers = [b.lapi.add(f"198.18.0.{i}", 3600) for i in range(100)]
    b.begin()
    b.daemon.stop(signal.SIGKILL)
    tool("destroy", "s")
    port = b.lapi.server_address[1]
    b.lapi.stop()
    b.daemon.start()
    b.daemon.answered("lapi", 1)
    b.case("after a crash, the set comes from the disk, with its timeouts",
           not b.differences(), b.differences()[:5])
    b.case("a Local API that is away is told apart",
           "cannot be fetched" in b.problem(), b.source())
    b.lapi.delete(numbers[0])
    b.lapi.add("203.0.113.1", 3600)
    b.lapi.add("203.0.113.2", 8)
    b.lapi = fake.Lapi(port, old=b.lapi)
    b.lapi.pulled()
    b.in_force("the Local API is followed again")
    b.case("of 100 entries, only the difference was changed", b.source()["deliveries"] > 0 and
           b.daemon.messages().count("entries now, and had") == 1, b.daemon.messages())
    b.lapi.stop()
    b.case("while it is away, entries expire", wait_for(lambda: "203.0.113.2" not in members("s"),
                                                       20))
    b.case("and the others stay", len(members("s")) == 100, len(members("s")))
    b.lapi = fake.Lapi(port, old=b.lapi)
    b.in_force("back")
    b.lapi.key = "another key"
    b.case("a key that is not valid any more",
           wait_for(lambda: "refuses the API key" in b.problem()), b.source())
    b.write_key("another key".replace(" ", "-"))
    b.lapi.key = "another-key"
    b.lapi.add("203.0.113.4", 3600)
    b.in_force("a new key in the file is used without a restart")
    b.write_key("another-key", 0o644)
    b.case("a key that everybody can read is not used",
           wait_for(lambda: "chmod o=" in b.problem()), b.source())
    b.write_key("two words")
    b.case("nor one that is none", wait_for(lambda: "is no key" in b.problem()))
    os.unlink(b.key_file)
    b.case("nor one that is not there",
           wait_for(lambda: "cannot be read: No such file" in b.problem()))
    os.mkdir(b.key_file, 0o700)
    b.case("nor a directory",
           wait_for(lambda: "which is no regular file" in b.problem()), b.problem())
    b.case("what is in force stays", not b.differences(), b.differences())
    b.case("the key is in no message", "another-key" not in b.daemon.messages())
    b.end()


def test_clock(b):
    """Somebody sets the clock of the firewall; the Local API is on another machine."""
    for i in range(20):
        b.lapi.add(f"198.18.0.{i}", 3600)
    b.begin()
    for hours in (2, -2):
        startups = b.lapi.asked(startup=True)
        with b.lapi.lock:
            time.clock_settime(time.CLOCK_REALTIME, time.time() + hours * 3600)
            b.lapi.shift(hours * 3600)
        b.case(f"the clock is set by {hours} hours: all are asked for", wait_for(
            lambda: b.lapi.asked(startup=True) > startups, PATIENCE))
        b.settle()
        b.in_force(f"the clock is set by {hours} hours: the set has what it had")
        state = b.source()
        b.case("and so has the daemon", state["entries"] == state["decisions"] == 20, state)
    b.end()


def test_many(b):
    """A large list: time and memory, of all of it and of one more"""
    start = time.time()

    def make(at):
        """The answer at a time: 90 durations, which become shorter"""
        left = [fake.go_duration(start + (i + 2) * 3600 - at) for i in range(90)]
        return '{"new": [' + ",".join(
            f'{{"duration":"{left[i % 90]}","id":{i + 1},"origin":"CAPI","scenario":"crowdsecurity/'
            'ssh-bf","scope":"Ip","type":"ban","uuid":"5a1b5f0e-4c3d-4e0f-9a69-0c2d5fd8a7d3",'
            f'"value":"11.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"}}' for i in range(MANY)) + "]}"
    text = make(start)
    took = time.time() - start
    b.lapi.number = MANY
    b.lapi.lie(lie.whole(text), times=1, startup=True)
    began = time.monotonic()
    b.config({"max-entries": 2 * MANY})
    b.daemon.start(wait=False)
    there = wait_for(lambda: (d := b.daemon.status()) and d["sources"][0]["answers"], 600)
    b.tap.note(f"{MANY} decisions, {len(text) >> 20} MB: in force after "
               f"{time.monotonic() - began:.1f} s")
    have = members("s")
    b.case(f"{MANY} decisions are in force", there and len(have) == MANY, len(have))
    b.case("each has its time", all(
        abs(seconds_of(have[f"11.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"]) -
            (i % 90 + 2) * 3600) < 300 for i in range(0, MANY, 997)))
    peak = b.daemon.proc("VmHWM")
    b.tap.note(f"most memory: {peak} kB, {(peak << 10) / MANY:.0f} bytes for each")
    b.case("memory is bounded", peak << 10 < (20 << 20) + 200 * MANY, peak)
    began = time.monotonic()
    b.lapi.add("192.0.2.1")
    b.case("one more gets in", wait_for(lambda: b.source()["entries"] == MANY + 1, 60))
    b.tap.note(f"one more: in force after {time.monotonic() - began:.2f} s, "
               "of which the interval is up to 1 s")
    # Ends of bans that differ by more than two seconds are changes. If one of two answers took longer
    # than that, everything is replaced, and rightly so; another answer may come in between: try again.
    slow, alone = True, False
    for _ in range(20):
        b.lapi.add("192.0.2.1")
        wait_for(lambda: b.source()["entries"] == MANY + 1, 60)
        deliveries = b.source()["deliveries"]
        replaced = b.daemon.messages().count("entries now, and had")
        at = time.time() + 2 * took
        b.lapi.lie(lie.whole(make(at)), times=1, startup=True)
        time.sleep(max(at - time.time(), 0))
        b.daemon.refresh("lapi")
        before, slow = slow, time.time() - at >= 2
        alone = b.source()["deliveries"] == deliveries + 1
        if not before and not slow and alone:
            break
    b.case("all of it again changes only what differs", alone and len(members("s")) == MANY and
           b.daemon.messages().count("entries now, and had") == replaced, b.daemon.messages())
    b.end()


def test_config(b):
    b.lapi.add("192.0.2.1")
    b.config()
    with open(b.daemon.config, "a", encoding="ascii") as f:
        f.write("timeout = 1h\ncomment = x\ncomment-from = origin\n"
                "[crowdsec c]\nset = s\nurl = ftp://me:hidden@x/\n"
                "[crowdsec d]\nset = s\nurl = http://x:8080?x=1\ntls-cert = /x\ninterval = 0s\n"
                "[crowdsec e]\nset = s\nurl = http://x\nkey-file = /x\ntls-ca = /y\n"
                "intervall = 7s\ncomment-from = value\n")
    done = b.daemon.run("--check", b.daemon.config)
    for pattern in (r"\[crowdsec lapi\] timeout: decisions of CrowdSec have durations",
                    r"\[crowdsec lapi\] comment: comment and comment-from do not go together",
                    r"\[crowdsec c\] url: .* does not begin with https:// or http://",
                    r"\[crowdsec c\] key-file: a line is missing .*cscli bouncers add",
                    r"\[crowdsec d\] url: .*address of the Local API only",
                    r"\[crowdsec d\] tls-cert: tls-cert and tls-key go together",
                    r"\[crowdsec d\] interval: ",
                    r"\[crowdsec e\] tls-ca: this has no effect unless",
                    r"\[crowdsec e\] has no key \"intervall\"; did you mean \"interval\"\?",
                    r"\[crowdsec e\] comment-from: "):
        b.case(f"--check: {pattern[2:40]}", done.returncode and re.search(pattern, done.stderr),
               done.stderr)
    b.case("--check shows no password", "hidden" not in done.stderr, done.stderr)
    b.begin({"url": b.lapi.url().replace("//", "//me:hidden@")})
    b.lapi.add("192.0.2.2")
    before = members("s")
    os.kill(b.daemon.process.pid, signal.SIGSTOP)
    pull = b.lapi.pull
    done = b.daemon.run("--dry-run")
    b.case("--dry-run prints the difference", done.returncode == 0 and
           ("+ 192.0.2.2\n" in done.stdout or "192.0.2.2" in before), done)
    b.case("and takes no changes away from the daemon that runs", b.lapi.pull == pull)
    os.kill(b.daemon.process.pid, signal.SIGCONT)
    b.in_force("which gets them")
    status, text = b.daemon.ask("accept lapi")
    b.case("there is nothing to accept", status and "nothing waits" in text, text)
    text = b.daemon.run("status").stdout
    b.case("status shows the source", re.search(r"crowdsec lapi: good", text), text)
    text = b.daemon.run("status", "--prometheus").stdout
    b.case("metrics do, too", re.search(
        r'^ipcuckood_source_entries\{source="lapi",kind="crowdsec",set="s"\} 2$', text, re.M), text)
    b.lapi.lie(lie.whole("[]"), times=1)
    wait_for(lambda: b.source()["failures"])
    told = b.daemon.messages() + str(b.daemon.status())
    b.case("a password in the url is not shown", "hidden" not in told and
           "127.0.0.1" in b.source()["url"], told)
    b.end()


def test_usage(b):
    """Usage metrics, where the Local API takes them"""
    b.lapi.add("192.0.2.1", origin="crowdsec")
    b.lapi.add("192.0.2.2", origin="lists", scenario="tor")
    b.lapi.add("192.0.2.0/24", origin="crowdsec", scenario="other")
    b.lapi.add("2001:db8::1", origin="crowdsec")
    b.begin({"metrics-every": "2s"})
    b.case("metrics are sent", wait_for(lambda: b.lapi.metrics))
    path, headers, body = b.lapi.metrics[0]
    report = json.loads(body)["remediation_components"][0]
    b.case("to the right place, as JSON, with the key",
           path == "/v1/usage-metrics" and headers["Content-Type"] == "application/json" and
           headers["X-Api-Key"] == fake.KEY, headers)
    items = {(i["labels"]["origin"], i["labels"]["ip_type"]): i["value"]
             for i in report["metrics"][0]["items"]}
    b.case("they have the number of decisions by origin and family",
           items == {("crowdsec", "ipv4"): 2, ("lists:tor", "ipv4"): 1, ("crowdsec", "ipv6"): 1},
           items)
    meta = report["metrics"][0]["meta"]
    b.case("and what is needed",
           report["type"] == "ipcuckood" and report["version"] and report["feature_flags"] == [] and
           abs(meta["utc_now_timestamp"] - time.time()) < 60 and
           meta["window_size_seconds"] == 2 and
           report["utc_startup_timestamp"] <= meta["utc_now_timestamp"], report)
    b.case("the state says so", wait_for(lambda: b.source()["usage_metrics"] == "sent"))
    b.lapi.metrics_status = 500
    b.case("a failure is told", wait_for(lambda: b.source()["usage_metrics"] == "failing") and
           "usage metrics are not sent" in b.daemon.messages())
    b.case("and is no failure of the source", b.source()["state"] == "good")
    b.lapi.metrics_status = 404
    b.case("one that takes none", wait_for(lambda: b.source()["usage_metrics"] == "not taken"))
    count = len(b.lapi.metrics)
    time.sleep(5)
    b.case("is not asked again", len(b.lapi.metrics) == count)
    b.reload({"metrics-every": "0s"})
    b.case("they can be switched off", b.source()["usage_metrics"] == "off")
    b.end()


def test_tls(b):
    ours, theirs = Authority(b.dir, "ours"), Authority(b.dir, "theirs")
    bouncer, stranger = ours.sign("firewall"), theirs.sign("firewall")
    context = server_context(ours.sign("lapi", "IP:127.0.0.1"), ours.cert)
    # Who has no certificate has a key.
    context.verify_mode = ssl.CERT_OPTIONAL
    b.lapi.stop()
    b.lapi = fake.Lapi(tls=context)
    b.lapi.add("192.0.2.1")
    b.begin({"tls-ca": ours.cert})
    b.case("TLS with an authority of one's own", not b.differences(), b.source())
    b.reload({"key-file": None, "tls-ca": ours.cert, "tls-cert": bouncer[0],
              "tls-key": bouncer[1]})
    b.lapi.add("192.0.2.2")
    b.in_force("a certificate instead of a key")
    for name, keys in (("an unknown authority of the server", {}),
                       ("another authority of the server", {"tls-ca": theirs.cert}),
                       ("a certificate of another authority",
                        {"key-file": None, "tls-ca": ours.cert, "tls-cert": stranger[0],
                         "tls-key": stranger[1]})):
        b.config(keys)
        os.kill(b.daemon.process.pid, signal.SIGHUP)
        b.case(f"{name}: refused", wait_for(lambda: b.source()["state"] == "failing"), b.source())
        b.case(f"{name}: what is in force stays", not b.differences(), b.differences())
    b.end()


def draw_value(rng):
    """A text for one of some 60 entries, not always the canonical one"""
    kind = rng.randrange(4)
    number = rng.randrange(16)
    if kind == 0:
        return rng.choice(("198.18.0.%d", "198.18.0.%d/32")) % number
    if kind == 1:
        return rng.choice(("198.18.%d.0/24", "198.18.%d.77/24")) % number
    if kind == 2:
        texts = "2001:db8::%x", "2001:DB8:0:0::%x", "2001:db8:0:0:0:0:0:%x/128"
        return rng.choice(texts) % number
    return rng.choice(("2001:db8:%x::/48", "2001:db8:%x:0:0::9/48")) % (number + 1)


def test_random(b):
    """Decisions come and go, the Local API lies, dies and forgets; at each quiet moment the set has
    what the Local API has."""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    bad = [answer for name, answer, _ in lies() if name not in ("slow", "silent", "a bomb")]

    def add():
        b.lapi.add(draw_value(rng), rng.choice((3, 20, 600, 600.5, 3600, 86400)),
                   type="captcha" if rng.random() < 0.05 else "ban",
                   origin=rng.choice(("cscli", "CAPI", "crowdsec")))

    def change():
        for _ in range(rng.randint(1, 30)):
            active = b.lapi.active()
            if active and rng.random() < 0.45:
                b.lapi.delete(rng.choice(active).id)
            else:
                add()
        if rng.random() < 0.05:
            b.lapi.delete_all()

    for _ in range(40):
        add()
    b.begin({"max-size": "1M", "time": "5s"})
    wrong = 0
    for at in range(ROUNDS):
        what = []
        # Else what has ended makes the first answer larger than max-size after some 300 rounds.
        b.lapi.flush(120)
        change()
        fault = rng.random()
        if fault < 0.2:
            what.append("a lie")
            b.lapi.lie(rng.choice(bad), times=rng.randint(1, 2))
        elif fault < 0.25:
            what.append("restart of the Local API")
            b.restart_lapi()
        elif fault < 0.35:
            what.append("restart of the daemon")
            b.daemon.stop(rng.choice((signal.SIGTERM, signal.SIGKILL)))
            b.daemon.start()
        elif fault < 0.45:
            what.append("somebody else asks, decisions vanish")
            b.lapi.pulled()
            for decision in b.lapi.active()[:2]:
                b.lapi.drop(decision.id)
        b.lapi.chunked = rng.random() < 0.5
        time.sleep(rng.random())
        change()
        if fault >= 0.35 and fault < 0.45:
            b.daemon.ask("refresh lapi")
        b.settle()
        found = b.differences()
        if found:
            b.tap.note(f"round {at} {what}: {found[:5]} {b.source()}")
            wrong += 1
    b.case(f"{ROUNDS} random changes and lies: the set has what the Local API has", wrong == 0)
    b.end()


TESTS = (test_decisions, test_left_out, test_aggregate, test_aggregate_many, test_guard, test_growth, test_total, test_lies, test_lost, test_renewed, test_restart,
         test_clock, test_many, test_config, test_usage, test_tls, test_random)


def body(tap):
    run_tests(tap, TESTS, Bench)


if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
ktap.run(body)
