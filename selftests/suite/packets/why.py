#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""What "ipcuckoo why" says about packets of an address is what happens to them: random sets,
exceptions and attachments, some of which act on new connections or packets to one port only, and a packet from and to
each of some addresses, which arrives or does not. KTAP. SEED repeats a run."""
import ipaddress
import json
import os
import random
import subprocess
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(here, "../dropin")]

from differ import ktap
from differ.net import PORT, Net, has_ipv6
from differ.types import call, must, unload

ROUNDS = 16
TOOL = os.environ["IPCUCKOO"]
# Addresses that sets may have, of the client and of the firewall, and one of each that no set has
AREAS = [(ipaddress.ip_network("192.0.2.0/29"), ipaddress.ip_network("203.0.113.0/29"),
          "10.0.0.1", "203.0.113.200")]
if has_ipv6():
    AREAS += [(ipaddress.ip_network("2001:db8:1::/125"), ipaddress.ip_network("2001:db8:ffff::/125"),
               "2001:db8:7::1", "2001:db8:ffff::ff00")]
FORCE = [TOOL, "--force"]
# What attach may say to act on the packets that are sent, all of which are new. In a round it says one of
# these, so that why has lines about these packets.
LIMITS = f"proto udp dport {PORT}", "new", f"new proto udp dport {PORT}"


def restore(*lines):
    done = subprocess.run([*FORCE, "restore"], input="\n".join(lines) + "\n", text=True,
                          capture_output=True)
    if done.returncode:
        raise ktap.Bail(f"restore: {done.stderr}")


def random_sets(rng):
    yield "create nets hash:net family any"
    yield "create hosts hash:ip family inet"
    yield "create filter filter:ip family any bits 32"
    entries = set()
    while len(entries) < 14:
        area = rng.choice(rng.choice(AREAS)[:2])
        length = rng.randint(area.prefixlen, area.max_prefixlen)
        entries.add(ipaddress.ip_network((rng.choice(list(area)), length), strict=False))
    for entry in sorted(entries, key=str):
        yield f"add nets {entry}{' nomatch' if rng.random() < 0.4 else ''}"
    for area in AREAS:
        for address in [*area[0], *area[1]]:
            if address.version == 4 and rng.random() < 0.3:
                yield f"add hosts {address}"
            if rng.random() < 0.2:
                yield f"add filter {address}"


def random_attachment(rng, ingress, limit):
    words = [rng.choice(("nets", "nets", "hosts", "filter")), rng.choice(("src", "dst", "both")),
             rng.choice(("drop", "drop", "accept", "accept", "count"))]
    place = rng.choice(("", "", "", "dev eth0", "dev eth9") + ("ingress dev eth0",) * ingress)
    words += place.split() + ["order", str(rng.randint(1, 9))]
    limit = rng.choice((limit, limit, "proto tcp dport 9", "proto udp dport 10"))
    is_limited = rng.random() < 0.3
    words += limit.split() * is_limited
    is_new = is_limited and limit.startswith("new")
    if is_new and "ingress" in words:
        words.remove("ingress")
    words += ["priority", rng.choice(("-199", "-150") if is_new else ("-450", "-400", "-150"))]
    words += ["--approximate"] * (words[0] == "filter")
    return words


def attach_some(rng, ingress, limit):
    count = 0
    while count < 7:
        # The same may be attached already.
        count += not call(*FORCE, "attach", *random_attachment(rng, ingress, limit)).returncode


def says(answer, way, limit):
    """Whether the packets of this way that come or go by eth0 arrive, as why says"""
    packets = [p for p in answer["packets"] if p["packets"] == way]
    packets = [p for p in packets if p.get("dev") == "eth0"] or [p for p in packets if "dev" not in p]
    packets = [p for p in packets if p.get("only") == limit] or [p for p in packets if "only" not in p]
    return packets[0]["verdict"] != "drop"


def compare(net, address, own, peer, limit):
    """Yields what why says wrongly about an address. own: it is one of the firewall"""
    done = call(TOOL, "-j", "why", address)
    if done.returncode not in (0, 1):
        raise ktap.Bail(f"why {address}: {done.stderr}")
    answer = json.loads(done.stdout)
    if answer["blocked"] != (done.returncode == 0):
        yield f"{address}: the exit status is {done.returncode}, blocked {answer['blocked']}"
    ways = (("through", peer, address), ("own", address, peer)) if own else (
        ("from", address, peer), ("to", peer, address))
    for way, source, destination in ways:
        arrived = net.send(source, destination, 1)
        compare.fates.add((way, arrived))
        if says(answer, way, limit) != bool(arrived):
            yield f"{address}: {way}: {arrived} arrived, and why says {done.stdout}"


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={seed} repeats this run")
    rng = random.Random(seed)
    compare.fates = set()
    must("cannot load the module", "insmod", os.environ["IPCUCKOO_KO"])
    net = Net()
    restore("create probe hash:ip")
    ingress = not call(*FORCE, "attach", "probe", "src", "count", "ingress", "dev", "eth0").returncode
    for number in range(ROUNDS):
        must("cannot detach", TOOL, "--force", "detach", "--all")
        must("cannot destroy", TOOL, "--force", "destroy", "--all")
        restore(*random_sets(rng))
        limit = rng.choice(LIMITS)
        attach_some(rng, ingress, limit)
        wrong = []
        for area in AREAS:
            for own in False, True:
                for address in area[own]:
                    wrong += compare(net, str(address), own, area[2 if own else 3], limit)
        if wrong:
            out.note("\n".join(wrong[:3]) + "\n" + call(TOOL, "save", "--all").stdout)
        out.case(f"round {number + 1}", not wrong)
    out.case("packets of each way arrived, and did not",
             compare.fates == {(way, n) for way in ("from", "through", "to", "own") for n in (0, 1)})
    must("cannot detach", TOOL, "--force", "detach", "--all")
    net.close()
    unload("ipcuckoo")


ktap.run(body)
