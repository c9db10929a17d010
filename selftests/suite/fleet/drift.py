#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""A set that ipcuckood keeps is changed by somebody else, in each way there is: it says so, and the set
is again what its sources say within five seconds, and attached. KTAP. With words, only these tests run:
"drift.py ways module"."""
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet.daemon import Daemon, members, tool, wait_for
from fleet.runner import run_tests

SECONDS = 5
BLOCKED = "127.0.0.9"
WANT = {BLOCKED, "192.0.2.7", "198.51.100.0/24", "2001:db8::/32"}
RUN = "/run/ipcuckood"


class Bench:
    """A daemon that keeps the set "s", and a packet from an address in it"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.daemon = Daemon(self.dir)
        os.makedirs(RUN, exist_ok=True)
        # Where "ipcuckoo" looks for the names of the sets that are kept
        self.daemon.control = f"{RUN}/control"
        self.list = os.path.join(self.dir, "list")
        with open(self.list, "w", encoding="ascii") as f:
            f.write("".join(f"{entry}\n" for entry in sorted(WANT)))

    def begin(self, set_keys="attach = src drop loopback\n", feed_keys="", name="s"):
        self.daemon.configure(f"[set {name}]\n{set_keys}"
                              f"[feed a]\nset = {name}\nurl = file://{self.list}\n{feed_keys}")
        self.daemon.start()
        self.daemon.answered("a", 1)

    def end(self):
        self.daemon.stop()
        tool("detach", "--all", check=False)
        for name in tool("list", "-n").split():
            tool("destroy", name)
        for name in os.listdir(self.daemon.state):
            os.unlink(os.path.join(self.daemon.state, name))

    def explain(self):
        if self.daemon.process:
            self.daemon.process.kill()
        return self.daemon.messages()

    def close(self):
        if self.daemon.process:
            self.daemon.process.kill()
            self.daemon.process.wait()

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed:
            self.tap.note(f"{detail} {self.daemon.messages()[-2000:]}")

    def state(self):
        return self.daemon.set("s")

    def passes(self):
        """Whether a packet from the blocked host arrives"""
        with socket.socket(type=socket.SOCK_DGRAM) as to, \
             socket.socket(type=socket.SOCK_DGRAM) as sender:
            to.bind(("127.0.0.1", 0))
            to.settimeout(0.05)
            sender.bind((BLOCKED, 0))
            sender.sendto(b"x", to.getsockname())
            try:
                return bool(to.recv(1))
            except TimeoutError:
                return False

    def repaired(self, text, want=WANT):
        """A case: within five seconds, the set has what it shall have, and drops what it shall drop."""
        begin = time.monotonic()
        good = wait_for(lambda: set(members("s")) == want and not self.passes() and
                        self.state()["state"] == "good", 3 * SECONDS)
        seconds = time.monotonic() - begin
        self.tap.note(f"{text}: {seconds:.1f} s")
        self.case(f"{text}: repaired in {SECONDS} s", good and seconds < SECONDS,
                  (seconds, members("s"), self.state()))
        time.sleep(0.1)


def warns(*words):
    """Runs the tool; returns whether it warns that ipcuckood keeps the set."""
    done = subprocess.run([os.environ["IPCUCKOO"], *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.stderr}")
    return "ipcuckood keeps the set s " in done.stderr


def restore(text):
    done = subprocess.run([os.environ["IPCUCKOO"], "restore"], input=text, capture_output=True,
                          text=True, check=True)
    return "ipcuckood keeps the set s " in done.stderr


def create(name):
    tool("create", name, "hash:net", "family", "any")


def exchange(count):
    """Replaces the set by one that has seen as many changes, with other entries."""
    tool("detach", "s")
    tool("destroy", "s")
    create("s")
    subprocess.run([os.environ["IPCUCKOO"], "load", "s", "-"], check=True, capture_output=True,
                   text=True, input="".join(f"203.0.113.{i}\n" for i in range(count)))


# What others do, and whether the tool warns them. A set whose name others have taken is kept under its
# own name.
WAYS = (
    ("an entry deleted", lambda: warns("del", "s", BLOCKED), True),
    ("an entry added", lambda: warns("add", "s", "203.0.113.1"), True),
    ("an exception added", lambda: warns("-exist", "add", "s", BLOCKED, "nomatch"), True),
    ("flushed", lambda: warns("flush", "s"), True),
    ("all sets flushed", lambda: warns("flush"), True),
    ("another list loaded", lambda: restore("flush s\nadd s 203.0.113.0/24\n"), True),
    ("an old file restored", lambda: restore("-exist create s hash:net family any\nflush s\nadd s 203.0.113.77\n"), True),
    ("detached", lambda: warns("detach", "s"), False),
    ("detached and destroyed", lambda: (tool("detach", "s"), warns("destroy", "s"))[1], True),
    ("renamed", lambda: warns("rename", "s", "gone"), True),
    ("swapped", lambda: (create("x"), warns("swap", "s", "x"))[1], True),
    ("swapped the other way", lambda: warns("swap", "gone", "s"), True),
    ("made anew with as many changes", lambda: exchange(len(WANT)), None),
)


def test_ways(b):
    b.begin()
    b.repaired("the start")
    for text, way, warned in WAYS:
        # Another run: the changes before this one do not count as a quarrel.
        b.daemon.stop()
        b.daemon.start()
        b.case(f"{text}: before it, all is good",
               wait_for(lambda: b.state()["state"] == "good", SECONDS), b.state())
        said = way()
        b.repaired(text)
        if warned is not None:
            b.case(f"{text}: the tool {'warns' if warned else 'does not warn'}", said == warned, said)
        # What takes several commands may be repaired after each.
        if text != "detached":
            b.case(f"{text}: counted", wait_for(
                lambda: 1 <= b.state()["repairs"] <= (1 if warned is not None else 4), SECONDS),
                   b.state())
    b.case("each is said", b.daemon.messages().count("somebody else") >= len(WAYS),
           b.daemon.messages())
    owner = tool("list", "s", "-t")
    b.case("list names the owner", "Owner: ipcuckood\n" in owner, owner)
    b.end()
    create("s")
    b.case("not any more when the daemon has ended", not warns("add", "s", "192.0.2.1") and
           "Owner" not in tool("list", "s", "-t"))
    tool("destroy", "s")


def test_values(b):
    """A set with timeouts: entries get the time that they shall have."""
    b.begin("attach = src drop loopback\n", "timeout = 1h\ncomment = listed\n")
    b.repaired("the start")
    time.sleep(3)
    b.case("nothing is repaired that nobody has changed", b.state()["repairs"] == 0, b.state())
    tool("-exist", "add", "s", BLOCKED, "timeout", "600", "comment", "mine")
    b.case("an entry with another time and comment: repaired",
           wait_for(lambda: 'comment "listed"' in members("s")[BLOCKED] and
                    "timeout 600" not in members("s")[BLOCKED], SECONDS), members("s"))
    b.end()


def test_module(b):
    b.begin()
    b.repaired("the start")

    def unload():
        """Before the daemon makes the set again"""
        tool("detach", "--all")
        tool("destroy", "s", check=False)
        return not subprocess.run(["rmmod", "ipcuckoo"], capture_output=True).returncode
    b.case("the module is unloaded", wait_for(unload))
    b.case("that is said", wait_for(lambda: b.state()["state"] == "behind" and
                                    "modprobe" in b.state()["problem"], SECONDS), b.state())
    time.sleep(2)
    subprocess.run(["insmod", os.environ["IPCUCKOO_KO"]], check=True)
    b.repaired("the module loaded again")
    b.end()


def test_upgrade(b):
    """While ipcuckoo-upgrade runs, it makes the sets, and the daemon does not."""
    # So many that one more is sent as a change
    want = WANT | {f"203.0.113.{i}" for i in range(20)}
    with open(b.list, "w", encoding="ascii") as f:
        f.write("".join(f"{entry}\n" for entry in want))
    b.begin()
    b.repaired("the start", want)
    with open("/run/ipcuckoo-upgrade", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        time.sleep(1.5)
        tool("detach", "s")
        tool("destroy", "s")
        # What sources say meanwhile is in the set afterwards.
        with open(b.list, "a", encoding="ascii") as f:
            f.write("192.0.2.99\n")
        b.daemon.refresh("a")
        time.sleep(2.5)
        b.case("the set is not made while the module is replaced", "s" not in tool("list", "-n").split())
    b.repaired("when that is over", want | {"192.0.2.99"})
    b.case("nobody else is blamed", b.state()["repairs"] == 0, b.state())
    b.end()
    os.unlink("/run/ipcuckoo-upgrade")


def test_type(b):
    """What the daemon cannot repair, it says, until somebody else does."""
    b.begin()
    b.repaired("the start")

    def replaced():
        """Whether the daemon has not attached or created the set again in between"""
        try:
            tool("detach", "s")
            tool("destroy", "s")
            tool("create", "s", "hash:ip")
        except RuntimeError:
            return False
        return True
    wait_for(replaced)
    b.case("a set of another type: said", wait_for(
        lambda: b.state()["state"] == "behind" and "hash:ip" in b.state()["problem"], SECONDS),
           b.state())
    tool("rename", "s", "mine")
    b.repaired("its name given back")
    b.end()


def test_attach(b):
    b.begin(set_keys="")
    b.case("a set that is attached nowhere is not good", wait_for(
        lambda: b.state()["state"] == "not attached" and "attach = " in b.state()["idle"], SECONDS),
           b.state())
    b.case("in metrics, too", 'ipcuckood_set_good{set="s"} 0' in b.daemon.ask("prometheus")[1] and
           'ipcuckood_set_behind{set="s"} 0' in b.daemon.ask("prometheus")[1])
    tool("attach", "s", "src", "drop", "dev", "absent0")
    b.case("nor is one that is attached to a device which does not exist", wait_for(
        lambda: b.state()["state"] == "not attached" and "absent0" in b.state()["idle"], SECONDS),
           b.state())
    tool("attach", "s", "src", "drop", "loopback")
    b.case("attached by hand, it is", wait_for(lambda: b.state()["state"] == "good", SECONDS),
           b.state())
    tool("detach", "s")
    b.case("and not any more when it is detached", wait_for(
        lambda: b.state()["state"] == "not attached", SECONDS), b.state())

    def configure(keys):
        b.daemon.configure(f"[set s]\n{keys}[feed a]\nset = s\nurl = file://{b.list}\n")
        b.daemon.process.send_signal(signal.SIGHUP)

    configure("attach = no\n")
    b.case("\"attach = no\": something else looks it up", wait_for(
        lambda: b.state()["state"] == "good", SECONDS), b.state())
    configure("attach = src drop loopback order 20\n  dst count\n")
    lines = ["dst count", "src drop"]
    b.case("two attachments", wait_for(lambda: b.state()["state"] == "good" and sorted(
        " ".join(line.split()[2:4]) for line in tool("save", "--all").splitlines()
        if line.startswith("attach")) == lines, SECONDS), tool("save", "--all"))
    configure("attach = src drop loopback order 20\n")
    b.case("a line that was removed takes its attachment with it", wait_for(
        lambda: "dst count" not in tool("save", "--all"), SECONDS), tool("save", "--all"))
    b.case("the other one stays", "src drop" in tool("save", "--all"))

    def attached():
        """The numbers of the attachments, by what they are limited to, order and priority"""
        return {(at["new"], at.get("dport"), at["order"], at["priority"]): at["id"]
                for at in json.loads(tool("-j", "stats"))["attachments"]}

    limited = "src drop loopback new\n  src drop loopback proto udp dport 22\n"
    configure(f"attach = src drop loopback\n  {limited}")
    b.case("one set is attached in three ways", wait_for(lambda: len(attached()) == 3, SECONDS),
           attached())
    before = attached()
    configure(f"attach = {limited}")
    before.pop((False, None, 20, -450), None)
    b.case("one of them is removed, and the others stay", wait_for(
        lambda: attached() == before, SECONDS), (before, attached()))
    configure(f"attach = src drop loopback priority -100\n  {limited}")
    b.case("another one comes", wait_for(lambda: len(attached()) == 3, SECONDS), attached())
    before = attached()
    read = b.daemon.messages().count("was read again")
    configure(f"attach = src drop loopback\n  {limited}")
    b.case("a line that asks for less keeps its attachment", wait_for(
        lambda: b.daemon.messages().count("was read again") > read and
        b.state()["state"] == "good", SECONDS) and attached() == before,
           (before, attached()))
    configure("attach = src drop loopback order 20\n")
    b.case("a line that asks for another order replaces it", wait_for(
        lambda: set(attached()) == {(False, None, 20, -450)}, SECONDS), attached())
    for wrong, says in (("src", "verdict"), ("drop src", "before the verdict"), ("eth0", "direction"),
                        ("src drop xdp dev lo", "no right to load"), ("src drop prioty 5", "prioty"),
                        ("src drop order x", "order"), ("src drop priority 1e9", "priority"),
                        ("src mark 0x1x", "mark"), ("src drop log rate fast", "rate"),
                        ("src drop dev a/b", "no name of a network device")):
        b.daemon.configure(f"[set s]\nattach = {wrong}\n")
        done = b.daemon.run("--check", b.daemon.config)
        b.case(f"attach = {wrong}: refused, in one line", done.returncode == 2 and
               re.fullmatch(rf"ipcuckood: \S*config:2: \[set s\] attach: .*{says}.*\n", done.stderr),
               done)
    b.daemon.configure("[set blocked]\n")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("the set of \"ipcuckoo block\" cannot be kept", done.returncode == 2 and
           "by hand" in done.stderr, done)
    b.end()


def test_quarrel(b):
    """Two programs that both keep the set: both say so, and neither uses up the processor."""
    b.begin()
    b.repaired("the start")
    end = time.monotonic() + 15
    while time.monotonic() < end:
        tool("add", "-exist", "s", "203.0.113.5")
        time.sleep(0.2)
    b.case("a quarrel is a state of its own", b.state()["state"] == "contested", b.state())
    b.case("it is repaired some times only", 4 <= b.state()["repairs"] <= 9, b.state())
    b.case("and said once", b.daemon.messages().count("again and again") == 1, b.daemon.messages())
    b.case("when it is over, the set is right within five seconds",
           wait_for(lambda: set(members("s")) == WANT, SECONDS), members("s"))
    b.case("the state is good again", wait_for(lambda: b.state()["state"] == "good", 20), b.state())
    b.end()


TESTS = (test_ways, test_values, test_module, test_upgrade, test_type, test_attach, test_quarrel)

if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
ktap.run(lambda tap: run_tests(tap, TESTS, Bench))
