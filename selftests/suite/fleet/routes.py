#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Blackhole routes that ipcuckood follows. The set in the kernel is compared with the routing
table, as ip(8) prints it, at each quiet moment. KTAP.

SEED repeats a run; ROUNDS is the number of random rounds at the end (default 10). With words, only
these tests run: "routes.py hold random"."""
import os
import random
import re
import signal
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet import rtnetlink
from fleet.daemon import Daemon, members, tool, wait_for
from fleet.reference import canonical
from fleet.rtnetlink import APPEND, CREATE, DELROUTE, EXCL, NEWROUTE, REPLACE, ip
from fleet.runner import run_tests

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
# More than the receive buffer of the daemon can hold messages about
STORM = 30000
# Routes that stay while the table is read again and again
STABLE = 20000
# Resident memory of a daemon that follows so many routes
MEMORY_KB = 50 << 10
# Seconds for a change to be in force; several readings of the table, if one was not exact
SOON = 20
TABLE = 100


def reference(table=TABLE, types=("blackhole",), proto=None, least=(8, 16), hosts=False):
    """What a set shall have, computed naively"""
    found = set()
    numbers = [str(rtnetlink.TYPES[type_]) for type_ in types]
    for net, route in rtnetlink.routes(table):
        if (route["type"] in numbers and (not proto or route["protocol"] == str(proto)) and
                net.prefixlen >= least[net.version == 6]):
            found.update(map(str, net) if hosts else [canonical(net)])
    return found


class Bench:
    """A daemon, and routes"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.daemon = Daemon(self.dir)
        self.kernel = rtnetlink.Kernel()

    def config(self, sets="", **keys):
        keys = {"set": "s", "table": TABLE, **keys}
        self.daemon.configure(f"[set s]\n{sets}[routes r]\n" + "".join(
            f"{k.replace('_', '-')} = {v}\n" for k, v in keys.items()))

    def begin(self, sets="", **keys):
        self.config(sets, **keys)
        self.start()

    def start(self):
        self.daemon.start()
        self.daemon.answered("r", 1)

    def reload(self):
        count = self.daemon.messages().count("was read again")
        self.daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: self.daemon.messages().count("was read again") > count)

    def source(self):
        return self.daemon.source("r")

    def add(self, net, table=TABLE, **keys):
        if error := self.kernel.add(net, table, **keys):
            raise RuntimeError(f"{net}: {os.strerror(error)}")

    def delete(self, net, table=TABLE, **keys):
        if error := self.kernel.delete(net, table, **keys):
            raise RuntimeError(f"{net}: {os.strerror(error)}")

    def same(self, text, want=None, seconds=SOON, name="s", **keys):
        """A case: the set becomes these entries, by default those of the table."""
        wanted = reference(**keys) if want is None else set(want)
        passed = wait_for(lambda: set(members(name)) == wanted, seconds)
        self.case(text, passed)
        if not passed:
            have = set(members(name))
            self.tap.note(f"missing: {sorted(wanted - have)[:5]} too many: "
                          f"{sorted(have - wanted)[:5]}: {self.daemon.status()}")
        return passed

    def settle(self, net="203.0.113.250"):
        """Waits until what happened before has arrived: a route that is added now has."""
        self.add(net)
        wait_for(lambda: net in members("s"), SOON)
        self.delete(net)
        wait_for(lambda: net not in members("s"), SOON)

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed and detail is not None:
            self.tap.note(str(detail)[:3000])

    def explain(self):
        return self.daemon.messages()[-3000:] if self.daemon.process else "no daemon"

    def close(self):
        if self.daemon.process:
            self.daemon.stop(signal.SIGKILL)
        for name in tool("list", "-n").split():
            tool("destroy", name)
        ip("nexthop", "flush")
        for table in (TABLE, 200, 1000, 1001):
            rtnetlink.flush(table)


def test_config(b):
    b.config(table="nonsense", protocol="256", types="blackhole unicast", min_length="33",
             family="4", hold="x", timeout="1h")
    done = b.daemon.run("--check", b.daemon.config)
    for pattern in (r"table: \"nonsense\" is neither a number .*rt_tables",
                    r"protocol: \"256\" is neither", r"types: \"unicast\" is none",
                    r"min-length: \"33\" has to be from 0 to 32", r"family: \"4\" has to be any",
                    r"hold: \"x\" is not a time",
                    r"timeout: routes have no time limit"):
        b.case(f"--check: {pattern[:24]}", done.returncode and re.search(pattern, done.stderr),
               done.stderr)
    b.daemon.configure("[set s]\n[routes r]\nset = s\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("--check: without a table", "table = 100" in done.stderr, done.stderr)
    for keys in ({"table": "main", "protocol": "bird"}, {"table": "0x100", "protocol": "186"}):
        b.config(**keys)
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"--check: {keys} is right", not done.returncode, done.stderr)
    b.begin("family = inet\n", family="inet6")
    b.case("a family that the set does not take is said", wait_for(
        lambda: "change family" in (b.source().get("problem") or "")), b.source())


def test_follow(b):
    b.add("192.0.2.1/32")
    b.add("2001:db8::/32")
    b.begin()
    b.same("what is there when the daemon starts", {"192.0.2.1", "2001:db8::/32"})
    b.add("198.51.100.0/24")
    b.add("2001:db8:1::1/128")
    b.same("routes that are added",
           {"192.0.2.1", "198.51.100.0/24", "2001:db8::/32", "2001:db8:1::1"})
    b.delete("192.0.2.1/32")
    b.delete("2001:db8::/32")
    want = {"198.51.100.0/24", "2001:db8:1::1"}
    b.same("routes that are deleted", want)
    for keys in ({"type_": "unicast"}, {"type_": "unreachable"}, {"type_": "prohibit"},
                 {"table": 200}, {"table": 1000}):
        for net in ("203.0.113.7/32", "2001:db8::7/128"):
            b.add(net, **keys)
            b.settle()
            b.same(f"{net} {keys} is none of them", want)
            b.delete(net, table=keys.get("table", TABLE))
    for metric in (10, 20):
        b.add("203.0.113.7/32", metric=metric)
        b.add("2001:db8::7/128", metric=metric)
    b.add("203.0.113.7/32", metric=10, tos=4)
    for keys in ({"metric": 10, "tos": 4}, {"metric": 20}):
        b.delete("203.0.113.7/32", **keys)
    b.delete("2001:db8::7/128", metric=10)
    b.settle()
    b.same("an entry stays as long as one of its routes is there",
           want | {"203.0.113.7", "2001:db8::7"})
    b.delete("203.0.113.7/32", metric=10)
    b.delete("2001:db8::7/128", metric=20)
    b.same("and goes with the last one", want)
    ip("route", "flush", "table", str(TABLE))
    b.same("a table that is flushed", {"2001:db8:1::1"})
    ip("-6", "route", "flush", "table", str(TABLE))
    b.same("of both families", set())
    text = b.daemon.run("status").stdout
    b.case("status says how it is", "routes r: good, 0 entries" in text, text)


def test_replace(b):
    b.begin()
    reads = b.source()["reads"]
    for net in ("192.0.2.1/32", "2001:db8::1/128"):
        b.add(net)
        b.same(f"{net}: there")
        b.add(net, flags=CREATE | REPLACE, type_="unicast")
        b.same(f"{net}: replaced by a route that leads somewhere")
        b.add(net, flags=CREATE | REPLACE)
        b.same(f"{net}: and back")
        b.add(net, flags=CREATE | REPLACE, proto=186)
        b.same(f"{net}: replaced by a blackhole of another protocol")
        b.delete(net)
        b.same(f"{net}: gone")
    # Several of the same metric: the first one is replaced.
    b.add("192.0.2.2/32", type_="unicast")
    b.add("192.0.2.2/32", flags=CREATE | APPEND)
    b.same("a blackhole behind a route of the same metric")
    b.add("192.0.2.2/32", flags=CREATE | REPLACE, type_="unreachable")
    b.settle()
    b.same("the other one is replaced", {"192.0.2.2"})
    b.delete("192.0.2.2/32", type_="unreachable")
    b.add("192.0.2.2/32", flags=CREATE, proto=186)
    b.add("192.0.2.2/32", flags=CREATE | REPLACE, type_="unicast")
    b.settle()
    b.same("one of two blackholes is replaced", {"192.0.2.2"})
    b.delete("192.0.2.2/32", type_="blackhole")
    b.same("then the other one is deleted", set())
    b.case("the table was read again for that", b.source()["reads"] > reads, b.source())


def test_protocol(b):
    b.begin(protocol="bird", types="unreachable prohibit", table=1000)
    keys = {"types": ("unreachable", "prohibit"), "proto": 12, "table": 1000}
    for proto in (12, 186):
        for i, type_ in enumerate(("blackhole", "unreachable", "prohibit")):
            b.add(f"192.0.2.{i}/32", 1000, type_=type_, proto=proto, metric=proto)
            b.add(f"2001:db8::{i}/128", 1000, type_=type_, proto=proto, metric=proto)
    b.same("types and protocol, in a table with a large number",
           {"192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2"})
    b.delete("192.0.2.1/32", 1000, metric=12)
    b.add("192.0.2.1/32", 1001, type_="prohibit")
    b.add("192.0.2.3/32", 1000, type_="prohibit")
    b.same("those of another protocol or table do not count",
           {"192.0.2.2", "192.0.2.3", "2001:db8::1", "2001:db8::2"})
    b.daemon.stop()
    b.start()
    b.same("nor when the table is read", **keys)


def test_wide(b):
    b.add("192.0.2.1/32")
    b.begin()
    for net in ("0.0.0.0/0", "::/0", "96.0.0.0/7", "2000::/15"):
        b.add(net)
        b.case(f"{net} is left out, and said", wait_for(
            lambda n=net: b.source()["left_out"] == 1 and n in b.source()["warning"] and
            f"such as {n}, which would block too much" in b.daemon.messages()), b.source())
        b.same(f"{net} is not in the set", {"192.0.2.1"})
        text = b.daemon.run("status").stdout
        b.case(f"{net} is in the status", f"warning: routes left out: 1, such as {net}," in text,
               text)
        b.delete(net)
        b.case(f"{net}: the warning goes with it", wait_for(
            lambda: "warning" not in b.source() and b.source()["left_out"] == 0), b.source())
    b.add("10.0.0.0/8")
    b.add("2001::/16")
    b.same("the shortest that are allowed", {"192.0.2.1", "10.0.0.0/8", "2001::/16"})
    b.config(min_length=24, min_length6=48)
    b.reload()
    b.same("fewer are allowed", {"192.0.2.1"})
    b.case("and that is said", wait_for(lambda: b.source().get("left_out") == 2), b.source())
    b.config(min_length=0, min_length6=0)
    b.reload()
    routes = {"192.0.2.1", "10.0.0.0/8", "2001::/16"}
    b.add("0.0.0.0/0")
    b.same("all are allowed, but not what the machine needs", routes)
    b.case("and that is said", "0.0.0.0/0 has " in b.source()["kept_out_why"], b.source())
    # No address that each machine needs
    wide = {"8.0.0.0/5", "32.0.0.0/3", "64.0.0.0/3", "96.0.0.0/3", "128.0.0.0/3"}
    for net in sorted(wide):
        b.add(net)
    b.same("nor so much by max-total", set())
    b.case("and that is said", "max-total allows 2147483648" in b.source()["kept_out_why"], b.source())
    b.config("max-total = 0\n", min_length=0, min_length6=0)
    b.reload()
    b.same("by that, too", routes | wide)
    b.config("protect = no\n", min_length=0, min_length6=0)
    b.reload()
    b.same("and without protection", routes | wide | {"0.0.0.0/0"})
    b.config("max-total = 0\n", min_length=0, min_length6=0)
    b.reload()
    b.same("which is turned on again", routes | wide)


def test_hosts(b):
    b.begin("type = hash:ip\n")
    b.add("198.51.100.0/24")
    b.add("198.51.100.7/32")
    b.add("198.51.100.0/28")
    b.add("2001:db8::/120")
    b.same("a set of hosts has each host of a prefix", hosts=True)
    b.delete("198.51.100.0/24")
    b.same("each stays as long as one of its routes is there", hosts=True)
    b.delete("198.51.100.7/32")
    b.settle()
    b.same("or covers it", hosts=True)
    b.delete("2001:db8::/120")
    b.delete("198.51.100.0/28")
    b.same("and goes with the last one", set())
    b.add("10.0.0.0/16")
    b.case("65536 hosts fit", wait_for(lambda: len(members("s")) == 65536), b.source())
    b.add("10.64.0.0/15")
    b.case("more do not, which is said", wait_for(
        lambda: "has too many hosts" in b.source().get("warning", "")), b.source())
    b.delete("10.0.0.0/16")
    b.same("and are not in the set", set())


def test_hold(b):
    nets = ["192.0.2.1/32", "2001:db8::1/128", "198.51.100.0/24"]
    for net in nets:
        b.add(net)
    b.begin(hold="6s")
    want = {"192.0.2.1", "2001:db8::1", "198.51.100.0/24"}
    b.same("before", want)
    begin = time.monotonic()
    for net in nets:
        b.delete(net)
    b.case("a withdrawn route is held", wait_for(lambda: b.source()["held"] == 3), b.source())
    b.add(nets[0])
    b.case("one that is announced again is not", wait_for(lambda: b.source()["held"] == 2),
           b.source())
    b.case("the entries stay meanwhile", set(members("s")) == want)
    b.same("they go when their time is over", {"192.0.2.1"})
    age = time.monotonic() - begin
    b.case("not before", age > 5, age)
    b.case("the one that came again stays", wait_for(lambda: not b.source()["held"]) and
           set(members("s")) == {"192.0.2.1"})
    b.config(hold="8s")
    b.reload()
    b.delete(nets[0])
    wait_for(lambda: b.source()["held"])
    begin = time.monotonic()
    time.sleep(3)
    b.reload()
    b.case("a reload does not forget it", wait_for(lambda: b.source()["held"] == 1) and
           set(members("s")) == {"192.0.2.1"}, b.source())
    b.same("nor begin again", set())
    age = time.monotonic() - begin
    b.case("the time was that of the withdrawal", 6 < age < 10.5, age)
    b.add(nets[2])
    b.same("another", {"198.51.100.0/24"})
    b.daemon.stop()
    b.delete(nets[2])
    b.start()
    b.case("withdrawn while the daemon was away: held from now on", wait_for(
        lambda: b.source()["held"] == 1) and set(members("s")) == {"198.51.100.0/24"}, b.source())
    b.same("and then gone", set())
    b.config("type = hash:ip\n", hold="4s")
    b.daemon.stop()
    tool("destroy", "s")
    b.start()
    b.add("198.51.100.0/29")
    b.same("hosts", hosts=True)
    b.delete("198.51.100.0/29")
    b.add("198.51.100.2/32")
    b.case("are held, too", wait_for(lambda: b.source()["held"]) and len(members("s")) == 8,
           members("s"))
    b.same("and go, but those of another route", {"198.51.100.2"})


def test_restart(b):
    for i in range(50):
        b.add(f"192.0.2.{i}/32")
    b.begin()
    b.same("before")
    b.daemon.stop(signal.SIGKILL)
    b.delete("192.0.2.1/32")
    b.add("2001:db8::/32")
    b.case("without the daemon the set stays", len(members("s")) == 50)
    b.start()
    b.same("what changed while it was away is made up for")
    deliveries = b.source()["deliveries"]
    b.daemon.ask("refresh r")
    b.daemon.answered("r", b.source()["answers"])
    b.same("refresh changes nothing")
    b.case("nor counts as a change", b.source()["deliveries"] == deliveries, b.source())
    tool("destroy", "s")
    b.add("192.0.2.200/32")
    b.same("a set that was destroyed is made again", seconds=300)
    status, text = b.daemon.ask("accept r")
    b.case("there is nothing to accept", status and "nothing waits" in text, text)
    b.daemon.stop()
    done = b.daemon.run("--dry-run")
    b.case("--dry-run finds no difference", not done.returncode and
           "0 entries would be added, 0 deleted" in done.stdout, done)
    b.delete("192.0.2.2/32")
    b.add("192.0.2.201/32")
    done = b.daemon.run("--dry-run")
    b.case("--dry-run prints the difference", "+ 192.0.2.201\n" in done.stdout and
           "- 192.0.2.2\n" in done.stdout and "1 entries would be added, 1 deleted" in done.stdout,
           done)


def test_nexthop(b):
    """Nexthop objects: the kernel does not always say what happens to their routes."""
    ip("nexthop", "add", "id", "7", "blackhole")
    ip("-6", "nexthop", "add", "id", "8", "blackhole")
    b.begin()
    b.add("192.0.2.1/32", nexthop=7, type_="unicast")
    b.add("192.0.2.2/32")
    b.add("2001:db8::1/128", nexthop=8, type_="unicast")
    b.same("routes to an object that is a blackhole", {"192.0.2.1", "192.0.2.2", "2001:db8::1"})
    b.daemon.stop()
    b.start()
    b.same("also when the table is read", {"192.0.2.1", "192.0.2.2", "2001:db8::1"})
    ip("nexthop", "del", "id", "7")
    b.same("an object that is deleted takes its routes with it", {"192.0.2.2", "2001:db8::1"})
    ip("nexthop", "del", "id", "8")
    b.same("also those of IPv6", {"192.0.2.2"})
    ip("nexthop", "add", "id", "7", "dev", "lo")
    b.add("192.0.2.1/32", nexthop=7, type_="unicast")
    b.settle()
    ip("nexthop", "replace", "id", "7", "blackhole")
    b.same("an object that becomes a blackhole")
    ip("nexthop", "replace", "id", "7", "dev", "lo")
    b.same("and stops being one")


def many(first, count):
    return [f"10.{first + (i >> 16)}.{i >> 8 & 255}.{i & 255}/32" for i in range(count)]


def test_lost(b):
    """More changes than the kernel can keep for the daemon"""
    b.add("192.0.2.1/32")
    b.begin()
    b.daemon.process.send_signal(signal.SIGSTOP)
    b.kernel.storm(NEWROUTE, many(1, STORM), TABLE)
    b.delete("192.0.2.1/32")
    b.daemon.process.send_signal(signal.SIGCONT)
    b.same(f"{STORM} routes were added while the daemon slept", seconds=300)
    b.case("messages were lost", b.source()["losses"] > 0, b.source())
    b.daemon.process.send_signal(signal.SIGSTOP)
    b.kernel.storm(DELROUTE, many(1, STORM), TABLE, type_=None, proto=0)
    b.add("192.0.2.1/32")
    b.daemon.process.send_signal(signal.SIGCONT)
    b.same("and deleted", {"192.0.2.1"}, seconds=300)
    losses = b.source()["losses"]
    b.case("the state is good", losses > 1 and b.source()["state"] == "good" and
           b.source()["failures"] == 0, b.source())
    b.kernel.storm(NEWROUTE, many(1, 5000), TABLE)
    b.kernel.storm(DELROUTE, many(1, 4000), TABLE, type_=None, proto=0)
    b.same("a storm that it follows", seconds=300)


def test_changing(b):
    """The table changes while it is read: the kernel skips routes then. None of them may leave."""
    stay = [f"2001:db8:1:{i >> 8:x}::{i & 255:x}/128" for i in range(STABLE)]
    move = [f"2001:db8:0:{i:x}::/64" for i in range(400)]
    b.kernel.storm(NEWROUTE, stay, TABLE)
    b.begin()
    b.same(f"{STABLE} routes")

    def churn(table):
        """A child that changes a table without end"""
        child = os.fork()
        while not child:
            b.kernel.storm(NEWROUTE, move, table)
            b.kernel.storm(DELROUTE, move, table, type_=None, proto=0)
        return child

    child = churn(200)
    for _ in range(8):
        reads = b.source()["reads"]
        b.daemon.ask("refresh r")
        wait_for(lambda: b.source()["reads"] > reads)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    b.case("changes of another table do not matter", b.source()["reads"] > 8 and
           "warning" not in b.source(), b.source())
    child = churn(TABLE)
    least, reads = STABLE, 0
    try:
        # It reads again by itself, each time later.
        warned = wait_for(lambda: "table of their own" in b.source().get("warning", ""), 90)
        b.case("a table that changes whenever it is read: a warning says what to do", warned,
               b.source())
        b.case("the journal does so, once", b.daemon.messages().count("table of their own") == 1,
               b.daemon.messages())
        end = time.monotonic() + 10
        while time.monotonic() < end:
            b.daemon.ask("refresh r")
            time.sleep(0.05)
            state = b.source()
            least = min(least, state["entries"])
            reads += 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    b.tap.note(f"read {reads} times")
    b.case("none of them leaves while the table is read and changes", least == STABLE, state)
    b.same("in the end the set equals the table", seconds=300)
    b.daemon.ask("refresh r")
    b.case("and the warning has gone", wait_for(lambda: "warning" not in b.source()), b.source())


def test_limit(b):
    b.begin(max_entries=100)
    b.kernel.storm(NEWROUTE, many(1, 100), TABLE)
    b.same("100 entries are allowed")
    b.kernel.storm(NEWROUTE, many(1, 100), TABLE, metric=5)
    b.kernel.storm(NEWROUTE, [f"{i}.0.0.0/7" for i in range(12, 28, 2)], TABLE)
    reads = b.source()["reads"]
    b.daemon.ask("refresh r")
    b.case("a second route to each, and routes that are left out, are no entries", wait_for(
        lambda: b.source()["reads"] > reads and b.source()["routes"] == 200) and
        b.source()["state"] == "good" and b.source()["left_out"] == 8, b.source())
    b.same("and they are the same entries")
    b.kernel.storm(DELROUTE, many(1, 100), TABLE, type_=None, proto=0, metric=5)
    b.add("192.0.2.1/32")
    b.case("more are refused, which is said", wait_for(
        lambda: b.source()["state"] == "refused" and "max-entries" in b.source()["problem"]),
        b.source())
    b.case("the last ones stay", len(members("s")) == 100)
    b.kernel.storm(DELROUTE, many(1, 10), TABLE, type_=None, proto=0)
    b.daemon.ask("refresh r")
    b.same("when there are fewer again, they are taken")
    b.case("and the state is good", wait_for(lambda: b.source()["state"] == "good"), b.source())
    b.config(max_entries=80)
    b.reload()
    b.case("a table that is too large when it is read", wait_for(
        lambda: b.source()["state"] == "refused"), b.source())
    b.case("is refused, too", len(members("s")) == 91)
    b.config(max_entries=1, min_length=32)
    b.kernel.storm(NEWROUTE, [f"10.{64 + (i >> 15)}.{i >> 7 & 255}.{i << 1 & 255}/31"
                              for i in range(66000)], TABLE)
    b.reload()
    b.case("more routes than are kept are refused, whatever they mean", wait_for(
        lambda: "more than 65540 routes, more than are kept in memory; if that is right, raise "
        "max-entries" in (b.source().get("problem") or "")), b.source())


def test_idle(b):
    """Changes in other tables do not wake it up, and many routes take bounded memory."""
    b.begin()
    time.sleep(1)
    before = b.daemon.proc("voluntary_ctxt_switches")
    b.kernel.storm(NEWROUTE, many(1, 2000), 200)
    time.sleep(1)
    wakes = b.daemon.proc("voluntary_ctxt_switches") - before
    b.case("2000 routes in another table do not wake it up", wakes == 0, wakes)
    b.kernel.storm(NEWROUTE, many(1, 2000), 1000)
    b.same("nor do those of a table from 256 on count", set())
    b.kernel.storm(NEWROUTE, many(1, 100000), TABLE)
    begin = time.monotonic()
    b.case("100,000 routes are in force", wait_for(
        lambda: re.search(r"Number of entries: 100000\b", tool("list", "-t", "s"))), b.source())
    b.tap.note(f"{time.monotonic() - begin:.2f} s after the last one")
    b.case("and known", b.source()["routes"] == 100000, b.source())
    peak = b.daemon.proc("VmHWM")
    b.tap.note(f"most memory: {peak} kB")
    b.case("memory is bounded", peak < MEMORY_KB, peak)
    begin = time.monotonic()
    # "ip route flush" gives up after 30 seconds.
    b.kernel.storm(DELROUTE, many(1, 100000), TABLE, type_=None, proto=0)
    b.same("all are withdrawn", set(), seconds=300)
    b.tap.note(f"withdrawn in {time.monotonic() - begin:.2f} s")


class Round:
    """Changes routes at random: in tables that are followed, and in others."""

    def __init__(self, b, rng):
        self.b, self.rng = b, rng
        self.nets = [f"10.{a}.{c}.0/24" for a in range(3) for c in range(4)]
        self.nets += [f"10.{a}.{c}.{d}/32" for a in range(3) for c in range(4) for d in (0, 1, 7)]
        self.nets += [f"10.{a}.0.0/18" for a in range(3)] + ["0.0.0.0/0", "10.0.0.0/7"]
        self.nets += [f"2001:db8:{a}::/{length}" for a in range(4) for length in (48, 64, 120, 128)]
        self.nets += ["::/0", "2000::/15"]
        self.tables = [TABLE, TABLE, TABLE, 1000, 1000, 200, 1001]

    def keys(self):
        rng = self.rng
        net = rng.choice(self.nets)
        keys = {"table": rng.choice(self.tables),
                "type_": rng.choice(("blackhole",) * 5 + ("unicast", "unreachable", "prohibit")),
                "proto": rng.choice((12, 12, 186)), "metric": rng.choice((0, 0, 0, 10, 20))}
        if ":" not in net and rng.random() < 0.2:
            keys["tos"] = 4
        return net, keys

    def add(self):
        net, keys = self.keys()
        flags = self.rng.choice((CREATE | EXCL, CREATE | EXCL, CREATE | REPLACE, CREATE | REPLACE,
                                 CREATE | APPEND, CREATE))
        self.expect(self.b.kernel.add(net, flags=flags, **keys), net, keys)

    def delete(self):
        net, keys = self.keys()
        if self.rng.random() < 0.7:
            keys = {"table": keys["table"]}
        self.expect(self.b.kernel.delete(net, **keys), net, keys)

    def delete_one(self):
        """One that is there"""
        table = self.rng.choice(self.tables)
        found = rtnetlink.routes(table)
        if found:
            net, route = self.rng.choice(found)
            self.expect(self.b.kernel.delete(net, table, metric=route.get("metric", 0)), net, route)

    @staticmethod
    def expect(error, net, keys):
        if error not in rtnetlink.HARMLESS:
            raise RuntimeError(f"{net} {keys}: {os.strerror(error)}")

    def flush(self):
        rtnetlink.flush(self.rng.choice(self.tables))

    def storm(self):
        """With changes before, in and behind what is lost"""
        daemon = self.b.daemon.process
        nets = many(100, STORM)
        daemon.send_signal(signal.SIGSTOP)
        self.some()
        self.b.kernel.storm(NEWROUTE, nets, TABLE)
        self.some()
        self.b.kernel.storm(DELROUTE, nets, TABLE, type_=None, proto=0)
        self.some()
        daemon.send_signal(signal.SIGCONT)

    def while_read(self):
        """Changes while the table is read again and again"""
        for _ in range(5):
            self.b.daemon.ask("refresh r")
            self.some(self.rng.randint(0, 4))

    def nexthop(self):
        number = str(self.rng.randint(1, 3))
        ip("nexthop", "replace", "id", number, *self.rng.choice((["blackhole"], ["dev", "lo"])))
        net = self.rng.choice([net for net in self.nets if ":" not in net])
        self.b.kernel.add(net, TABLE, flags=CREATE | REPLACE, nexthop=int(number), type_="unicast")
        if self.rng.random() < 0.5:
            ip("nexthop", "del", "id", number)

    def restart(self):
        self.b.daemon.stop(self.rng.choice((signal.SIGKILL, signal.SIGTERM)))
        self.some()
        self.b.daemon.start()

    def reload(self):
        self.b.daemon.process.send_signal(signal.SIGHUP)

    def some(self, count=5):
        for _ in range(count):
            self.rng.choice((self.add, self.add, self.add, self.delete, self.delete_one))()

    def act(self):
        rng = self.rng
        acts = [self.some] * 20 + [self.flush, self.nexthop, self.nexthop, self.while_read,
                                   self.restart, self.reload] + [self.storm] * (rng.random() < 0.3)
        rng.choice(acts)()


def test_random(b):
    """Two tables, a set of prefixes and a set of hosts, which equal them at each quiet moment"""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    b.daemon.configure(
        f"[set s]\n[routes r]\nset = s\ntable = {TABLE}\n"
        "[set hosts]\ntype = hash:ip\n[routes h]\nset = hosts\ntable = 1000\nprotocol = 12\n"
        "types = blackhole prohibit\nmin-length6 = 112\n")
    b.daemon.start()
    run = Round(b, rng)
    wrong = 0
    for at in range(ROUNDS):
        for _ in range(rng.randint(3, 15)):
            run.act()
        for name, keys in (("s", {}), ("hosts", {"table": 1000, "proto": 12, "hosts": True,
                                                  "types": ("blackhole", "prohibit"),
                                                  "least": (8, 112)})):
            want = reference(**keys)
            if wait_for(lambda n=name, w=want: set(members(n)) == w, 90):
                continue
            wrong += 1
            have = set(members(name))
            b.tap.note(f"round {at}, {name}: missing {sorted(want - have)[:5]}, too many "
                       f"{sorted(have - want)[:5]}: {b.daemon.status()}")
        if wrong > 3:
            break
    for name in "rh":
        b.tap.note(str({k: b.daemon.source(name)[k] for k in ("reads", "losses", "entries")}))
    b.case(f"{ROUNDS} rounds of changes and faults: the sets equal the tables", wrong == 0)


TESTS = (test_config, test_follow, test_replace, test_protocol, test_wide, test_hosts, test_hold,
         test_restart, test_nexthop, test_lost, test_changing, test_limit, test_idle, test_random)
# Without routes of IPv6
TESTS_V4 = (test_config, test_lost, test_limit, test_idle)


def body(tap):
    run_tests(tap, TESTS if os.path.exists("/proc/net/if_inet6") else TESTS_V4, Bench)


if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
ktap.run(body)
