#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Packets add elements to sets of our types and delete them, "-j SET", while user space lists,
saves, restores, swaps, flushes and destroys sets, and while namespaces end. KTAP.

While only packets change a set, each packet must be seen by the rule behind the one that has added
its address, and in the end the set has exactly the addresses of all packets."""
import os
import random
import signal
import socket
import subprocess
import sys
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.net import enter
from differ.types import Ours, call, must, need_ipset

PACKETS = 20000
SECONDS = 5
SENDERS = 3
# More changes may be pending at once, but a machine that is busy applies few.
PAUSE_EVERY = 200
PAUSE = 0.005
# A request takes milliseconds, on a busy machine some seconds. It must not wait for packets to end.
REQUEST_SECONDS = 120


def namespace(name):
    """Makes a namespace whose packets to 10.0.0.0/8 leave through a device that drops them."""
    must("no namespace", "ip", "netns", "add", name)
    for argv in (("link", "add", "d0", "type", "dummy"), ("addr", "add", "10.0.0.1/8", "dev", "d0"),
                 ("link", "set", "d0", "up")):
        must("no device", "ip", "-n", name, *argv)


def inside(ns, *argv):
    return ("ip", "netns", "exec", ns) + argv


def ipset(ns, *argv, text=None):
    return subprocess.run(inside(ns, "ipset", *argv), input=text, capture_output=True, text=True,
                          timeout=2 * REQUEST_SECONDS)


def rule(ns, *argv):
    must("no rule", *inside(ns, "iptables", "-w", "-A", "OUTPUT", "-d", "10.0.0.0/8", *argv))


def rules(ns, target):
    rule(ns, "-j", "SET", target, "s", "dst", *(["--exist"] if target == "--add-set" else []))
    rule(ns, "-m", "set", "--match-set", "s", "dst", "-m", "comment", "--comment", "hit")
    rule(ns, "-m", "set", "!", "--match-set", "s", "dst", "-m", "comment", "--comment", "miss")


def counted(ns, comment):
    listing = must("no rules", *inside(ns, "iptables", "-w", "-nvxL", "OUTPUT"))
    return next(int(line.split()[0]) for line in listing.splitlines() if f"/* {comment} */" in line)


def address(number):
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def send(ns, seed, count=None):
    """Sends packets to random addresses, COUNT or without end. Does not return."""
    enter(os.open(f"/run/netns/{ns}", os.O_RDONLY))
    rng = random.Random(seed)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent = 0
    while count is None or sent < count:
        sock.sendto(b"", (address(rng.randrange(2, 1 << 16)), 9))
        sent += 1
        if not sent % PAUSE_EVERY:
            time.sleep(PAUSE)
    os._exit(0)


def senders(ns, seed, count=None):
    pids = []
    for n in range(SENDERS):
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            try:
                send(ns, f"{seed}-{n}", count)
            finally:
                os._exit(1)
        pids.append(pid)
    return pids


def wait(pids):
    """Whether all of them have ended well"""
    return all([os.waitpid(pid, 0)[1] == 0 for pid in pids])


def stop(pids):
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    for pid in pids:
        os.waitpid(pid, 0)


def expected(seed, count):
    found = set()
    for n in range(SENDERS):
        rng = random.Random(f"{seed}-{n}")
        found.update(address(rng.randrange(2, 1 << 16)) for _ in range(count))
    return found


def members(ns, name):
    lines = ipset(ns, "save", name).stdout.splitlines()
    return {line.split()[2] for line in lines if line.startswith("add ")}


def alone(out, seed, packets):
    """Only packets change the set; user space lists it."""
    namespace("alone")
    ipset("alone", "create", "s", "hash:ip", "maxelem", "1000000", "counters", "timeout", "1000")
    rules("alone", "--add-set")
    pids = senders("alone", seed, packets)
    listed = 0
    for _ in range(5):
        listed += ipset("alone", "list", "s").returncode == 0
    out.case("all packets are sent", wait(pids))
    out.case("the set is listed meanwhile", listed == 5)
    total = SENDERS * packets
    hits, misses = counted("alone", "hit"), counted("alone", "miss")
    out.note(f"{hits} packets of {total} were seen by the next rule, {misses} were not")
    out.case("each packet is seen by the next rule", (hits, misses) == (total, 0))
    found, want = members("alone", "s"), expected(seed, packets)
    out.note(f"{len(want)} addresses, {len(found - want)} too many, {len(want - found)} missing")
    out.case("the set has exactly the addresses of all packets", found == want)
    must("cannot delete the rules", *inside("alone", "iptables", "-w", "-F"))
    rules("alone", "--del-set")
    out.case("packets that delete are sent", wait(senders("alone", seed, packets)))
    out.case("the set is empty", not members("alone", "s"))
    out.case("no packet has matched", counted("alone", "hit") == 0)


# What user space does while packets come; {n} is a number
REQUESTS = (
    ("list", "-t", "s"), ("save",), ("test", "s", "10.0.0.9"), ("-exist", "add", "s", "10.0.1.0/24"),
    ("-exist", "del", "s", "10.0.1.0/28"), ("flush", "s"), ("swap", "s", "other"),
    ("create", "t{n}", "hash:ip"), ("restore",), ("swap", "s", "t{n}"), ("destroy", "t{n}"),
)


def requests(ns, end):
    """Runs requests until END. Returns how many, and the longest time of one."""
    done, longest, n = 0, 0, 0
    lines = "".join(f"add t{{n}} 10.1.{i >> 8}.{i & 255}\n" for i in range(3000))
    while time.monotonic() < end:
        n += 1
        for argv in REQUESTS:
            begin = time.monotonic()
            ipset(ns, *(word.format(n=n) for word in argv), text=lines.format(n=n))
            longest = max(longest, time.monotonic() - begin)
            done += 1
    return done, longest


def mixed(out, seed, settype):
    """Packets add and delete, while user space makes all requests."""
    ns = "mixed"
    namespace(ns)
    for name in ("s", "other"):
        ipset(ns, "create", name, settype, "comment", "counters")
    if settype == "hash:net":
        ipset(ns, "add", "s", "10.9.9.0/28")
    rules(ns, "--add-set")
    rule(ns, "-j", "SET", "--del-set", "other", "dst")
    pids = senders(ns, seed)
    done, longest = requests(ns, time.monotonic() + SECONDS)
    stop(pids)
    out.note(f"{done} requests, {longest:.2f} s at most; {len(members(ns, 's'))} members")
    out.case(f"{settype}: no request of user space takes {REQUEST_SECONDS} s under flood",
             done and longest < REQUEST_SECONDS)
    must("cannot delete the rules", *inside(ns, "iptables", "-w", "-F"))
    out.case(f"{settype}: the sets are destroyed", ipset(ns, "destroy").returncode == 0)
    must("cannot delete the namespace", "ip", "netns", "del", ns)


def ending(out, seed, rounds):
    """Namespaces end while their packets still come."""
    for n in range(rounds):
        ns = f"end{n}"
        namespace(ns)
        ipset(ns, "create", "s", "hash:ip", "timeout", "5")
        rules(ns, "--add-set")
        pids = senders(ns, f"{seed}-{n}")
        time.sleep(0.3)
        must("cannot delete the namespace", "ip", "netns", "del", ns)
        stop(pids)
    out.case(f"{rounds} namespaces end while packets come", True)


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    slow = os.environ.get("IPCUCKOO_KERNEL") != "uml"
    out.note(f"SEED={seed} repeats this run")
    side = Ours()
    side.insert()
    alone(out, seed, PACKETS // 5 if slow else PACKETS)
    for settype in ("hash:ip", "hash:net"):
        mixed(out, seed, settype)
    ending(out, seed, 3 if slow else 10)
    call("ip", "netns", "del", "alone")
    side.unload()
    out.case("the modules are unloaded", not os.path.exists("/sys/module/ipcuckoo_ipset"))


need_ipset()
ktap.run(body)
