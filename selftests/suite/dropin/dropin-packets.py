#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Sends packets through rules of iptables that refer to sets, first with the kernel's own hash:ip
and hash:net and then with ours: the same packets must arrive, and the counters of rules and members
must be the same. The episodes are in packets.txt; each runs with the rules of iptables-legacy and
with those of iptables-nft, or, in emulated machines, with one of them in turn. KTAP.

With DROPIN_SELF=1 both sides are the kernel's own types."""
import os
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.episode import parse, substitute
from differ.trial import Trial
from differ.types import flavours, need_ipset


def variants(episodes, there):
    """The episodes with each of the flavours. Emulated machines start few programs in a second, so
    there each episode has only one, in turn."""
    is_fast = os.environ.get("IPCUCKOO_KERNEL", "").startswith("uml")
    for at, flavour in enumerate(there):
        for number, episode in enumerate(episodes):
            if is_fast or number % len(there) == at:
                yield substitute(episode, f"{episode.name}, {flavour}", {
                    f"{word}{end}": f"{word.lower()}-{flavour}{end}"
                    for word in ("IPTABLES", "IP6TABLES") for end in ("", "-restore")})


def body(out):
    with open(os.path.join(here, "packets.txt"), encoding="utf-8") as f:
        episodes = list(parse(f.read()))
    there = flavours()
    if not there:
        raise ktap.Bail("neither iptables-legacy nor iptables-nft works here")
    trial = Trial(out)
    trial.run(trial.possible(list(variants(episodes, there))))
    out.case("packets arrived, and others did not", trial.packets_differ)
    trial.finish()
    trial.close()


need_ipset()
ktap.run(body)
