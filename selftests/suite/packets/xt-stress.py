#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Packets run rules of iptables, while the sets to which these refer are swapped, loaded, restored
and filled, other rules are added and deleted, and namespaces end. An address that is in both sets
always matches, one that is in none never. KTAP. SEED repeats a run."""
import os
import random
import signal
import sys
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from differ.net import has_ipv6
from differ.types import is_loaded, unload
from xtables.firewall import Firewall, backends, insert, need_match, transmit

SECONDS = 5
SENDERS = 2
# At least, on machines that are slow
CHANGES = 30 if os.environ.get("IPCUCKOO_KERNEL", "uml").startswith("uml") else 15
# What both sets have at all times, and what none ever has
ALWAYS = {4: "10.1.0.0/16", 6: "fd01::/16"}
NEVER = {4: "10.2.0.0/16", 6: "fd02::/16"}


def packets(rng):
    """A burst to addresses of ALWAYS and NEVER"""
    for _ in range(100):
        net, low = rng.choice((1, 2)), rng.randrange(1, 1 << 16)
        yield "192.0.2.1", f"10.{net}.{low >> 8}.{low & 255}"
        if has_ipv6():
            yield "2001:db8:1::1", f"fd0{net}::{low:x}"


def start_senders(fw, seed):
    def endless(n):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        rng = random.Random(f"{seed}-{n}")
        while True:
            transmit(packets(rng))
            time.sleep(0.001)
    return [fw.child(lambda n=n: endless(n)) for n in range(SENDERS)]


def stop(pids):
    """Returns whether all of them were still sending."""
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    return all([os.waitpid(pid, 0)[1] == signal.SIGTERM for pid in pids])


def filled(rng, name):
    """Commands that fill a set; some entries have nothing to do with the packets."""
    for version in (4, 6):
        yield f"add {name} {ALWAYS[version]}"
    for low in rng.sample(range(1 << 16), rng.randrange(200)):
        yield f"add {name} 10.3.{low >> 8}.{low & 255} nomatch"


def create(fw, rng):
    fw.restore("create a hash:net family any counters", *filled(rng, "a"),
               "create b hash:net family any counters", *filled(rng, "b"))


def families():
    return (4, 6) if has_ipv6() else (4,)


def add_rules(fw):
    """For each family: a rule that no packet may match, another, and how many packets there were"""
    for version in families():
        for words in ((ALWAYS[version], "!"), (NEVER[version],)):
            fw.must(version, "-A", "OUTPUT", "-d", words[0], "-m", "ipcuckoo", *words[1:],
                    "--match-set", "a", "dst")
        fw.count_all(version)


def change(fw, rng, n):
    """One change. Returns a text if it went wrong."""
    extra = fw.spec(["--match-set", rng.choice("ab"), "src", "--return-nomatch"])
    version = rng.choice(families())
    lines = [*filled(rng, f"t{n}"), f"swap a t{n}", f"destroy t{n}", ""]
    action = rng.randrange(6)
    if action == 0:
        fw.tool("swap", "a", "b")
    elif action == 1:
        fw.tool("load", rng.choice("ab"), "-", text="\n".join(ALWAYS.values()) + "\n")
    elif action == 2:
        fw.tool("restore", text="\n".join([f"create t{n} hash:net family any counters", *lines]))
    elif action == 3:
        fw.must(version, "-A", *extra)
        fw.must(version, "-D", *extra)
    elif action == 4:
        fw.tool("-exist", "add", "a", f"10.4.{n % 256}.0/24", text="")
    elif not fw.try_tool(*rng.choice((("destroy", "a"), ("rename", "a", "c"),
                                      ("destroy",)))).returncode:
        return "a set to which rules refer was destroyed or renamed"
    return None


def stress(out, backend, rng):
    fw = Firewall("stress", backend)
    create(fw, rng)
    add_rules(fw)
    pids = start_senders(fw, rng.random())
    end = time.monotonic() + SECONDS
    n, wrong = 0, None
    while time.monotonic() < end or n < CHANGES:
        wrong = change(fw, rng, n) or wrong
        n += 1
    sending = stop(pids)
    found = {version: fw.counts(version) for version in families()}
    out.note(f"{backend}: {n} changes; packets of each rule: {found}")
    out.case(f"{backend}: all changes are as they should be", sending and not wrong)
    out.case(f"{backend}: what is always in the set always matches, what is never in it never",
             all(counts[:2] == [0, 0] and counts[2] for counts in found.values()))
    for version in families():
        fw.flush(version)
    out.case(f"{backend}: without rules the sets are destroyed",
             not fw.try_tool("destroy").returncode)
    fw.end()


def ending(out, rng, rounds):
    """Namespaces end while packets run their rules."""
    sending = []
    for n in range(rounds):
        for backend in backends():
            fw = Firewall(f"end{n}{backend}", backend)
            create(fw, rng)
            add_rules(fw)
            pids = start_senders(fw, rng.random())
            fw.tool("swap", "a", "b")
            time.sleep(0.1)
            fw.end()
            sending.append(stop(pids))
    out.case("namespaces end while packets run their rules", sending and all(sending))


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={seed} repeats this run")
    rng = random.Random(seed)
    insert("IPCUCKOO_KO")
    insert("IPCUCKOO_XT_KO")
    for backend in backends():
        stress(out, backend, rng)
    ending(out, rng, 3)
    unload("xt_ipcuckoo")
    unload("ipcuckoo")
    out.case("the modules are unloaded", not is_loaded("ipcuckoo"))


need_match()
ktap.run(body)
