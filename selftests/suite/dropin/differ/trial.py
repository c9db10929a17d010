# SPDX-License-Identifier: GPL-2.0
"""Runs episodes on both sides, one case for each, and shortens those that differ."""
import re
import shlex
import time
from collections import Counter

from .compare import difference, explain
from .episode import Command, Episode, show
from .ktap import Bail
from .minimise import minimise
from .runner import Runner
from .types import sides, things

# Episodes that are shortened, and for how long, at most
MOST_MINIMISED = 3
MINIMISE_SECONDS = 90
# How often the kernel's own types may try to do what ours have done
EXCUSE_RUNS = 4
# One episode in so many may have a difference that is excused; in a short run a few may.
EXCUSED_ONE_IN = 20
FEW_EXCUSED = 2
# Random commands that are so many have packets that arrive and packets that do not.
ENOUGH_FOR_PACKETS = 2000


def full_set(command, record):
    """The name of the set that was too full for what a command adds; None if it did not fail so, or
    if that cannot be seen, because the command reads a file"""
    if "Hash is full" not in record.err:
        return None
    line = re.search(r"Error in line (\d+):", record.err)
    if line:
        lines = command.input.splitlines()
        words = shlex.split(lines[int(line[1]) - 1]) if int(line[1]) <= len(lines) else []
    else:
        words = command.words
    words = [word for word in words if word not in ("-exist", "-!")]
    return words[1] if words[:1] == ["add"] else None


def has_forceadd(commands, name):
    """Does any of the commands create a set of this name with forceadd?"""
    lines = (line for c in commands for line in (shlex.join(c.words), *c.input.splitlines()))
    return any("forceadd" in words and name in words for words in map(str.split, lines))


def new_hash(name):
    """Commands by which a set gets a hash without places of deleted entries"""
    return [Command(("save", name, "-f", "full")), Command(("flush", name)),
            Command(("-exist", "restore", "-f", "full"))]


class Trial:
    def __init__(self, ktap):
        self.prepare(ktap, *sides(), Runner())

    def prepare(self, ktap, stock, ours, runner):
        """Apart from __init__() for test_dropin, which has no kernel to run on"""
        self.ktap = ktap
        self.stock, self.ours = stock, ours
        self.runner = runner
        self.episodes = self.compared = self.succeeded = self.members = 0
        # Episodes that were excused, by what stock has done
        self.overfilled = self.unreliable = 0
        self.minimised = 0
        # How often packets have arrived (True), and how often not (False)
        self.sent = Counter()

    @property
    def packets_differ(self):
        """Have packets arrived, and have others been dropped?"""
        return self.sent[True] > 0 and self.sent[False] > 0

    @property
    def excused_few(self):
        """Were few episodes excused? If not, a fault of ours may be among them."""
        excused = self.overfilled + self.unreliable
        return excused <= max(FEW_EXCUSED, self.episodes // EXCUSED_ONE_IN)

    def close(self):
        self.runner.close()

    def things(self):
        """What this kernel has: see types.things()"""
        self.stock.load()
        found = things(self.stock)
        self.stock.unload()
        return found

    def possible(self, episodes):
        """The episodes that this kernel can run; the others are skipped."""
        there = self.things()
        for episode in episodes:
            missing = [f"{thing} {oldest}" for thing, oldest in episode.needs
                       if there.get(thing, -1) < oldest]
            if missing:
                self.ktap.skip(episode.name, f"this kernel has no {', '.join(missing)}")
        return [e for e in episodes
                if all(there.get(thing, -1) >= oldest for thing, oldest in e.needs)]

    def records(self, side, episodes):
        """The records of each episode"""
        side.load()
        results = [self.runner.run(episode) for episode in episodes]
        side.unload()
        return results

    def run(self, episodes):
        """Prints a case for each episode."""
        stock = self.records(self.stock, episodes)
        ours = self.records(self.ours, episodes)
        for episode, a, b in zip(episodes, stock, ours):
            found = difference(episode.commands, a, b)
            if found and self.has_overfilled(episode, found, b):
                a, found = a[:found.at], None
            self.count(episode, a)
            if found:
                found = self.confirm(episode, found, b)
            self.ktap.case(f"{episode.name}: {len(episode.commands)} commands", not found)
            if found:
                self.explain(episode, found)

    def count(self, episode, records):
        self.episodes += 1
        for command, record in zip(episode.commands, records):
            self.compared += command.is_compared
            self.succeeded += command.is_compared and record.status == 0
            self.members += command.is_compared and "\nMembers:\n" in record.out
            if command.words[:1] == ("SEND",):
                self.sent[not record.out.startswith("0 ")] += 1

    def has_overfilled(self, episode, found, ours):
        """The kernel's own types take an entry into a set that is full if another one has left its
        place in the hash, which may have been the same entry. So ours are fine to refuse some if the
        kernel's own do the same as ours with a new hash before each of these. It may show later: of
        a range, both refuse a part. A set with forceadd always finds an entry to replace, so it may
        refuse none. What follows cannot be compared."""
        commands = episode.commands[:found.at + 1]
        longer, places = [], []
        for command, record in zip(commands, ours):
            name = full_set(command, record)
            if name and not has_forceadd(commands, name):
                longer += new_hash(name)
            places.append(len(longer))
            longer.append(command)
        if len(longer) == len(commands):
            return False
        stock = self.records(self.stock, [Episode(episode.name, longer)])[0]
        if difference(commands, [stock[at] for at in places], ours[:found.at + 1]):
            return False
        self.overfilled += 1
        self.ktap.note(f"{episode.name}: more than maxelem in stock, so the rest is left out:")
        self.ktap.note(explain(episode.commands, found))
        return True

    def confirm(self, episode, found, ours):
        """The kernel's own types do not always do the same: a set that is full still takes an entry
        whose place in the hash another one has left, and the hash has a random seed. So what
        ours have done is fine if the kernel's own do it in one of some runs."""
        for records in self.records(self.stock, [episode] * EXCUSE_RUNS):
            again = difference(episode.commands, records, ours)
            if not again:
                self.unreliable += 1
                self.ktap.note(f"{episode.name}: stock does not always do the same:")
                self.ktap.note(explain(episode.commands, found))
                return None
        return found

    def differ(self, proposals):
        """For each list of commands: do the sides differ?"""
        episodes = [Episode("a proposal", commands) for commands in proposals]
        return [bool(difference(commands, a, b)) for commands, a, b in
                zip(proposals, self.records(self.stock, episodes),
                    self.records(self.ours, episodes))]

    def shorten(self, episode, found):
        """The fewest commands found that differ"""
        end = time.monotonic() + MINIMISE_SECONDS
        commands = list(episode.commands[:found.at + 1])
        try:
            return minimise(commands, self.differ, lambda: time.monotonic() < end)
        except Bail as e:
            self.ktap.note(f"cannot be shortened further: {e}")
            return commands

    def shortened(self, episode, found):
        """The shorter commands, and their difference"""
        commands = self.shorten(episode, found)
        shorter = [Episode(episode.name, commands)]
        again = difference(commands, self.records(self.stock, shorter)[0],
                           self.records(self.ours, shorter)[0])
        if again:
            return commands, again
        self.ktap.note("These commands do not always differ, so below are all of them:")
        self.ktap.note("".join(show(c) for c in commands))
        return episode.commands, found

    def explain(self, episode, found):
        commands = episode.commands
        if self.minimised < MOST_MINIMISED:
            self.minimised += 1
            commands, found = self.shortened(episode, found)
        self.ktap.note(explain(commands, found))

    def finish(self, needs_packets=False):
        """The last case: has the program compared enough? needs_packets: packets, too, if there
        were many commands"""
        self.ktap.note(f"{self.compared} commands were compared, {self.succeeded} succeeded,"
                       f" {self.members} listed sets, packets arrived {self.sent[True]} times and"
                       f" were dropped {self.sent[False]} times")
        self.ktap.note(f"Of {self.episodes} episodes, {self.overfilled} were excused because stock"
                       f" filled a set beyond maxelem, {self.unreliable} because it does not always"
                       " do the same")
        has_packets = self.packets_differ or not needs_packets or (
            self.compared < ENOUGH_FOR_PACKETS)
        self.ktap.case("enough was compared", self.succeeded * 5 > self.compared > 0 and
                       self.members > 0 and self.excused_few and has_packets)
