# SPDX-License-Identifier: GPL-2.0
"""Finds the first command of an episode whose results differ."""
import difflib
from collections import namedtuple

from .episode import show
from .normal import Slack, given_initvals, normalise, same

# The result of a command; seconds: how long it took
Record = namedtuple("Record", "status out err seconds")

# at: the index of the command; what: "status", "out" or "err"
Difference = namedtuple("Difference", "at what stock ours")

# More lines of an output than that are not printed.
MOST_LINES = 40


def difference(commands, stock, ours):
    """The first difference between the records of both sides, or None"""
    if not len(commands) == len(stock) == len(ours):
        raise ValueError("a record is missing")
    given = given_initvals(commands)
    lag = saves = 0
    for at, (command, a, b) in enumerate(zip(commands, stock, ours)):
        lag += abs(a.seconds - b.seconds)
        # Saving rounds what is left of a timeout: ours may become a second more than theirs.
        saves += "restore" in command.words and "-f" in command.words
        if not command.is_compared:
            continue
        for what in ("status", "out", "err"):
            if not same(str(getattr(a, what)), str(getattr(b, what)), given, Slack(lag, lag + saves)):
                return Difference(at, what, a, b)
    return None


def shorten(text):
    lines = text.splitlines()
    if len(lines) <= MOST_LINES:
        return lines
    return lines[:MOST_LINES] + [f"... {len(lines) - MOST_LINES} more lines"]


def show_record(name, record):
    yield f"{name}: status {record.status}"
    for what in ("out", "err"):
        for line in shorten(getattr(record, what)):
            yield f"  {what}: {line}"


def show_lines(found, given):
    """The lines that differ, normalised; nothing if only numbers differ"""
    if found.what == "status":
        return []
    texts = [normalise(getattr(record, found.what), given)[0].split("\n")
             for record in (found.stock, found.ours)]
    return shorten("\n".join(list(difflib.unified_diff(*texts, "stock", "ours", n=0,
                                                       lineterm=""))[2:]))


def explain(commands, found):
    """The commands up to the difference, and both results of the last one"""
    lines = [line for c in commands[:found.at + 1] for line in show(c).splitlines()]
    lines += [f"The last command: {found.what} differs.",
              *show_record("stock", found.stock), *show_record("ours", found.ours),
              *show_lines(found, given_initvals(commands))]
    return "\n".join(lines)
