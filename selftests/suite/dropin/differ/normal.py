# SPDX-License-Identifier: GPL-2.0
"""The output of ipset without what may differ between the kernel's own types and ours.

normalise() returns the text with placeholders, and the numbers that stood there. Some numbers may
differ a little: RULES says by how much. Everything else has to be the same.
"""
import re
from collections import namedtuple

# kind: a key of RULES
Value = namedtuple("Value", "kind number")

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
    return in_members or line.startswith(("add ", "<member>"))


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
        in_members = in_members or line == "Members:"
    return result + sorted(run, key=sort_key)


def take(pattern, kind, line, values):
    """Replaces the numbers that match by a placeholder, and appends them to the values."""
    def replace(match):
        values.append(Value(kind, int(first(match))))
        return f"<{kind}>"
    return pattern.sub(replace, line)


def take_numbers(line, values):
    """A timeout in a header is what was given, and has to be the same; one of a member counts
    down. Only headers have a hashsize."""
    if line.startswith(HEADERS):
        return take(HASHSIZE, "hashsize", line, values)
    line = take(REVISION, "revision", line, values)
    return take(TIMEOUT, "timeout", line, values)


def normalise(text, given):
    """(text, values). given: what given_initvals() returns for the episode"""
    values = []
    lines = [without_random_initval(without_memory(line), given) for line in text.split("\n")]
    lines = [take_numbers(line, values) for line in with_sorted_members(lines)]
    return "\n".join(lines), values


def same_timeout(stock, ours, lag):
    """The kernel rounds down, and the two commands did not run at the same moment after the
    additions: @lag says by how many seconds they may be apart. 0 means forever."""
    return abs(stock - ours) <= 2 + lag and (stock == 0) == (ours == 0)


def same_hashsize(stock, ours, _lag):
    """The kernel's table has grown with its members. Ours shows the size that was asked for."""
    return stock >= ours


def same_revision(stock, ours, _lag):
    """This kernel's own types may be one revision older than ours."""
    return ours - stock in (0, 1)


RULES = {"timeout": same_timeout, "hashsize": same_hashsize, "revision": same_revision}


def same(stock, ours, given, lag=0):
    """Are these texts the same, except for what may differ?"""
    if stock == ours:
        return True
    (text, values), (our_text, our_values) = normalise(stock, given), normalise(ours, given)
    return text == our_text and len(values) == len(our_values) and all(
        RULES[a.kind](a.number, b.number, lag) for a, b in zip(values, our_values))
