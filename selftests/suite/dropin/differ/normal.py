# SPDX-License-Identifier: GPL-2.0
"""The output of ipset without what may differ between the kernel's own types and ours.

normalise() returns the text with placeholders, and the numbers that stood there. Some numbers may
differ a little: RULES says by how much. Everything else has to be the same.
"""
import math
import re
from collections import namedtuple

# kind: a key of RULES
Value = namedtuple("Value", "kind number")

# By how many seconds timeouts of ours may be less and more than those of the kernel's own types,
# because the commands did not take the same time on both sides, or rounded numbers were restored
Slack = namedtuple("Slack", "less more", defaults=(0, 0))

TIMEOUT = re.compile(r"\btimeout (\d+)|<timeout>(\d+)</timeout>")
HASHSIZE = re.compile(r"\bhashsize (\d+)|<hashsize>(\d+)</hashsize>")
REVISION = re.compile(r"^Revision: (\d+)$|<revision>(\d+)</revision>")
INITVAL = re.compile(r"\binitval (0x[0-9a-f]+)|<initval>(0x[0-9a-f]+)</initval>")
MEMORY = re.compile(r"^Size in memory: \d+$|<memsize>\d+</memsize>")
TYPE = re.compile(r"^Type: (\S+)$|^create \S+ (\S+) |<type>(\S+)</type>")

HEADERS = ("Header: ", "create ", "<header>")


def first(match):
    return next(group for group in match.groups() if group is not None)


def given_initvals(commands):
    """The values that commands give with initval, as numbers"""
    text = "\n".join(" ".join(c.words) + "\n" + c.input for c in commands)
    return {int(value, 16 if value[:2] in ("0x", "0X") else 10)
            for value in re.findall(r"\binitval (0[xX][0-9a-fA-F]+|\d+)\b", text)}


def without_memory(line):
    """Size in memory: our tables are smaller, which is the point of them."""
    return MEMORY.sub("<memory>", line)


def without_random_initval(line, given):
    """The kernel draws an initval if none is given. One that is given has to be shown."""
    return INITVAL.sub(
        lambda m: m[0] if int(first(m), 16) in given else "<a random initval>", line)


def sort_key(line):
    """Members are sorted without their timeouts, which may differ by a second."""
    return TIMEOUT.sub("", line)


def is_member(line, in_members):
    return line.startswith(("add ", "<member>")) or in_members and line != "Members:"


def with_sorted_members(lines):
    """The order of members is that of the table. Not in a list:set: there, the order is that of
    the additions, and decides which set is asked first."""
    result, run = [], []
    kind, in_members = "", False
    for line in lines:
        if found := TYPE.search(line):
            kind = first(found)
        in_members = in_members and line != ""
        if is_member(line, in_members) and kind != "list:set":
            run.append(line)
            continue
        result += sorted(run, key=sort_key)
        run = []
        result.append(line)
        # "save -t" with plain output has members, but not the line "Members:" before them.
        in_members = in_members or line.startswith("Number of entries: ")
    return result + sorted(run, key=sort_key)


def take(pattern, kind, line, values):
    """Replaces the numbers that match by a placeholder, and appends them to the values."""
    def replace(match):
        values.append(Value(kind, int(first(match))))
        return f"<{kind}>"
    return pattern.sub(replace, line)


def take_numbers(line, kind, values):
    """KIND: the type of the set. A timeout in a header is what was given, and has to be the same;
    one of a member counts down. Only headers have a hashsize. Only hash:ip has a revision that may
    differ: see same_revision()."""
    if line.startswith(HEADERS):
        return take(HASHSIZE, "hashsize", line, values)
    if kind == "hash:ip":
        line = take(REVISION, "revision", line, values)
    return take(TIMEOUT, "timeout", line, values)


def normalise(text, given):
    """(text, values). given: what given_initvals() returns for the episode"""
    values = []
    lines = [without_random_initval(without_memory(line), given) for line in text.split("\n")]
    result, kind = [], None
    for line in with_sorted_members(lines):
        if found := TYPE.search(line):
            kind = first(found)
        result.append(take_numbers(line, kind, values))
    return "\n".join(result), values


def same_timeout(stock, ours, slack):
    """At the same moment ours are the same or a second more: the kernel rounds down what is left,
    ours end at a full second after that. Whoever is late by a part of a second may show a second
    less. 0 means forever."""
    return -math.ceil(slack.less) <= ours - stock <= 1 + math.ceil(slack.more) and \
        (stock == 0) == (ours == 0)


def same_hashsize(stock, ours, _slack):
    """The kernel's table has grown with its members. Ours shows the size that was asked for."""
    return stock >= ours


def same_revision(stock, ours, _slack):
    """Older kernels have hash:ip without bitmask, which is revision 6."""
    return ours - stock in (0, 1)


RULES = {"timeout": same_timeout, "hashsize": same_hashsize, "revision": same_revision}


def same(stock, ours, given, slack=Slack()):
    """Are these texts the same, except for what may differ?"""
    if stock == ours:
        return True
    (text, values), (our_text, our_values) = normalise(stock, given), normalise(ours, given)
    return text == our_text and len(values) == len(our_values) and all(
        RULES[a.kind](a.number, b.number, slack) for a, b in zip(values, our_values))
