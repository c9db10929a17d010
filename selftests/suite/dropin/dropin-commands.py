#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Runs the commands of sets.txt and members.txt on the kernel's own hash:ip and hash:net and on
ours: both must give the same exit status, output and errors. An episode is a case. KTAP.

With DROPIN_SELF=1 both sides are the kernel's own types."""
import os
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, here)

from differ import ktap
from differ.episode import parse
from differ.trial import Trial
from differ.types import need_ipset


def read(name):
    with open(os.path.join(here, name), encoding="utf-8") as f:
        return list(parse(f.read()))


def body(out):
    episodes = read("sets.txt") + read("members.txt")
    trial = Trial(out)
    trial.run(trial.possible(episodes))
    trial.finish()
    trial.close()


need_ipset()
ktap.run(body)
