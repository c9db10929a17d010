# SPDX-License-Identifier: GPL-2.0
"""The bars: what has to be reached. This is the only table of them."""
from measurements import LEAST_NS, Figure

SHORT, OK, MISSING = "short", "ok", "missing"

MEMORY_STEP = 840_000	# entries, where the one memory bar ends and the other begins
ENDS_TOLERANCE = 0.02

# What is looked up where nothing else is said.
USUAL = {"traffic": "uniform", "answer": "miss"}
HOSTS4 = {"family": "inet", "type": "hash:ip"}
HOSTS6 = {"family": "inet6", "type": "hash:ip"}
NETS4 = {"family": "inet", "type": "hash:net"}


def times(part, rivals, **params):
    """How many times a rival takes of ours; of several rivals, the better one counts."""
    def value(m):
        case = m.one(part, **params)
        if not case or not set(rivals + ["ipcuckoo"]) <= set(case.subjects()):
            return None
        rival = min(rivals, key=lambda s: Figure(case.values(s)).median)
        return Figure(case.ratios(rival, "ipcuckoo"))
    return value


def look_up(rivals, **params):
    """Packets as they come, one right after the other."""
    return times("hook", rivals, serial=False, **params)


def beside_lines(**params):
    """A bare look-up against two reads of lines of the same footprint."""
    def value(m):
        case = m.one("bare", serial=True, **params)
        if not case or not case.has("ipcuckoo", "lines"):
            return None
        return Figure(case.ratios("ipcuckoo", "lines"))
    return value


def growth(small, large, **params):
    """The growth of a bare look-up, by that of two reads of lines of the same footprints."""
    def value(m):
        cases = [m.one("bare", serial=True, entries=n, **params) for n in (large, small)]
        if not all(c and c.has("ipcuckoo", "lines") for c in cases):
            return None
        return Figure([a / b for a, b in zip(*(c.ratios("ipcuckoo", "lines") for c in cases))])
    return value


def most_memory(low, high):
    """The worst of all sizes in [low, high), by account or growth; both ends are measured."""
    def value(m):
        worst, sizes = None, []
        for case in m.select("memory", **HOSTS4):
            n = case.params["entries"]
            if case.has("ipcuckoo") and low <= n < high:
                sizes.append(n)
                figure = case.figure("ipcuckoo")
                if not worst or figure.median > worst.median:
                    worst = figure
        if not sizes or min(sizes) > low * (1 + ENDS_TOLERANCE) or \
                max(sizes) < high * (1 - ENDS_TOLERANCE):
            return None
        return worst
    return value


class Bar:
    def __init__(self, name, what, relation, limit, unit, value):
        self.name, self.what, self.unit = name, what, unit
        self.relation, self.limit, self.value = relation, limit, value

    def judge(self, measurements):
        return Verdict(self, self.value(measurements))

    def bar_text(self):
        words = {">=": "at least", "<=": "at most"}
        return f"{words[self.relation]} {self.limit:g}{self.suffix()}"

    def suffix(self):
        return "x" if self.unit == "x" else " " + self.unit


class Verdict:
    """A word, and the figure that it is about; where that is missing, the reason."""

    def __init__(self, bar, figure):
        self.bar, self.figure, self.reason = bar, figure, None
        if figure is None:
            self.word, self.reason = MISSING, "not measured"
        elif not figure.sound:
            self.word, self.figure = MISSING, None
            self.reason = (f"{figure.clamped} of {figure.rounds} rounds cost less than"
                           f" {LEAST_NS:g} ns beyond nothing, and the median depends on them")
        elif (figure.median >= bar.limit) if bar.relation == ">=" else (figure.median <= bar.limit):
            self.word = OK
        else:
            self.word = SHORT

    def as_json(self):
        bar = self.bar
        figure = self.figure.as_json() if self.figure else \
            {"median": None, "reason": self.reason}
        return {"name": bar.name, "what": bar.what, **figure, "unit": bar.unit,
                "bar": f"{bar.relation} {bar.limit:g}", "verdict": self.word}


BARS = [
    Bar("look-up, 1M IPv4, misses, ipset", "hash:ip takes so many times ours",
        ">=", 4, "x", look_up(["ipset"], entries=1_000_000, **HOSTS4, **USUAL)),
    Bar("look-up, 1M IPv4, misses, nftables", "the better of with and without size, by ours",
        ">=", 2, "x", look_up(["nft", "nft-size"], entries=1_000_000, **HOSTS4, **USUAL)),
    Bar("look-up, 10M IPv4, misses, ipset", "hash:ip takes so many times ours",
        ">=", 1.5, "x", look_up(["ipset"], entries=10_000_000, **HOSTS4, **USUAL)),
    Bar("bare look-up, 1M IPv4, misses, one at a time",
        "ours takes so many times two random reads of lines of its footprint",
        "<=", 1.5, "x", beside_lines(entries=1_000_000, **HOSTS4, **USUAL)),
    Bar("look-up, country prefixes, misses, ipset", "hash:net takes so many times ours",
        ">=", 10, "x", look_up(["ipset"], lists="countries", **NETS4, **USUAL)),
    Bar("look-up, 1M IPv6, misses, ipset", "hash:ip family inet6 takes so many times ours",
        ">=", 3, "x", look_up(["ipset"], entries=1_000_000, **HOSTS6, **USUAL)),
    Bar("hook with an empty set attached",
        "iptables raw and an empty ipset cost so many times ours",
        ">=", 3, "x", look_up(["ipset"], entries=0, **HOSTS4, **USUAL)),
    Bar("memory per IPv4 entry, worst from 840k to 16M", "all allocations",
        "<=", 20, "bits", most_memory(MEMORY_STEP, 16_000_001)),
    Bar("memory per IPv4 entry, worst from 10k to 840k", "all allocations",
        "<=", 36, "bits", most_memory(10_000, MEMORY_STEP)),
    Bar("load 1M from a text file", "ipset restore takes so many times ours",
        ">=", 10, "x", times("load", ["ipset"], entries=1_000_000, **HOSTS4)),
    Bar("replace 1M", "ipset restore to a temporary set, swap, destroy take so many times ours",
        ">=", 10, "x", times("replace", ["ipset"], entries=1_000_000, **HOSTS4)),
    Bar("list 1M", "ipset list takes so many times ours",
        ">=", 3, "x", times("list", ["ipset"], entries=1_000_000, **HOSTS4)),
    Bar("growth of look-up cost from 1k to 1M, one at a time",
        "so many times that of two reads of lines of those footprints",
        "<=", 1.2, "x", growth(1_000, 1_000_000, **HOSTS4, **USUAL)),
]
