#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Runs random commands on the kernel's own hash:ip and hash:net and on ours: both must give the
same exit status, output and errors. In one episode in four, packets meet rules of iptables that
refer to the sets: the same packets must arrive. An episode of some 50 commands is a case; if its
results differ, commands are left out while they still do. KTAP.

SEED chooses the commands, ROUNDS their number. With DROPIN_SELF=1 both sides are the kernel's own
types."""
import os
import random
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.grammar import episodes
from differ.trial import Trial
from differ.types import need_ipset

# For some half a minute: User Mode Linux runs a command on both sides in some 30 ms; emulated
# machines and kernels that check themselves take several times as long.
ROUNDS = {"uml": 600}
FEWER_ROUNDS = 300
# So many are run on one side before the other one's modules are loaded. If ours fail, it is known
# early, and outputs need not all be kept.
BATCH = 40


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    rounds = int(os.environ.get("ROUNDS") or
                 ROUNDS.get(os.environ.get("IPCUCKOO_KERNEL"), FEWER_ROUNDS))
    out.note(f"SEED={seed} ROUNDS={rounds}")
    trial = Trial(out)
    todo = episodes(seed, rounds, trial.things())
    todo = [episodes(str(s), 1800, trial.things())[29] for s in range(1, 9)]
    for at in range(0, len(todo), BATCH):
        trial.run(todo[at:at + BATCH])
    trial.finish(needs_packets=True)
    trial.close()


need_ipset()
ktap.run(body)
