# SPDX-License-Identifier: GPL-2.0
"""The bars: limits that the measurements have to reach. Bars of figures that are not part of the
report are in their programs (../bench-load.sh).

Of several boots, the worst counts: all rounds of a boot share the location of the tables in memory,
and much of the host's load.
"""
from measurements import LEAST_NS, Figure

SHORT, OK, MISSING = "short", "ok", "missing"

MEMORY_STEP = 840_000	# number of entries at which one memory bar ends and the other begins
ENDS_TOLERANCE = 0.02

# The addresses that are looked up by default
USUAL = {"traffic": "uniform", "answer": "miss"}
# Packets as a driver hands them over, each with another address
FRAMES = {"traffic": "frames", "answer": "hit"}
HOSTS4 = {"family": "inet", "type": "hash:ip"}
HOSTS6 = {"family": "inet6", "type": "hash:ip"}
NETS4 = {"family": "inet", "type": "hash:net"}
NETS6 = {"family": "inet6", "type": "hash:net"}
HITS = {"traffic": "uniform", "answer": "hit"}


class Incomplete(Exception):
    """A case was measured, but not all the subjects that are compared in it."""


def require(case, *subjects):
    if not set(subjects) <= set(case.subjects()):
        raise Incomplete


def times(part, rivals, **params):
    """How many times ours a rival takes; of several rivals, the better one counts."""
    def value(m):
        case = m.one(part, **params)
        if not case:
            return None
        require(case, "ipcuckoo", *rivals)
        rival = min(rivals, key=lambda s: Figure(case.values(s)).median)
        return Figure(case.ratios(rival, "ipcuckoo"))
    return value


def least_times(rivals, **params):
    """The same of a packet in the hook, of the case in which it is the least. Sets of prefixes have
    no nft-size."""
    def value(m):
        figures = []
        for case in m.select("hook", **params):
            there = [s for s in rivals if s != "nft-size" or case.params["type"] == "hash:ip"]
            require(case, "ipcuckoo", *there)
            rival = min(there, key=lambda s: Figure(case.values(s)).median)
            figures.append(Figure(case.ratios(rival, "ipcuckoo")))
        return min(figures, key=lambda f: f.median, default=None)
    return value


def packets(ours, rivals, **params):
    """How many times as many packets a second ours handles; of several rivals, the best counts."""
    def value(m):
        case = m.one("pps", **params)
        if not case:
            return None
        require(case, ours, *rivals)
        rival = max(rivals, key=lambda s: case.figure(s).median)
        return Figure(case.ratios(ours, rival))
    return value


def beside_lines(serial, **params):
    """The time of a bare look-up, divided by that of two reads of lines of the same footprint."""
    def value(m):
        case = m.one("bare", serial=serial, **params)
        if not case:
            return None
        require(case, "ipcuckoo", "lines")
        return Figure(case.ratios("ipcuckoo", "lines"))
    return value


def growth(small, large, **params):
    """The growth of a bare look-up, divided by that of two reads of lines of its footprints."""
    def value(m):
        cases = [m.one("bare", serial=True, entries=n, **params) for n in (large, small)]
        if not all(cases):
            return None
        for case in cases:
            require(case, "ipcuckoo", "lines")
        return Figure([a / b for a, b in zip(*(c.ratios("ipcuckoo", "lines") for c in cases))])
    return value


def most_memory(low, high):
    """The worst of all sizes in [low, high), by account or growth; both ends must be measured."""
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


def memory(**params):
    """Bits an entry, by what the kernel has grown"""
    def value(m):
        case = m.one("memory", by="growth", **params)
        return case.figure("ipcuckoo") if case and case.has("ipcuckoo") else None
    return value


def longest_hold(entries):
    """The longest hold of the lock, of all kinds of sets"""
    def value(m):
        figures = [c.figure("ipcuckoo") for c in m.select("gc", holds="99.9 %", entries=entries)]
        return max(figures, key=lambda f: f.median, default=None)
    return value


class Bar:
    """A limit for a figure. A bar of look-ups also has the figure of look-ups one at a time, which
    may be the same.
    """

    def __init__(self, name, what, relation, limit, unit, value, alone=None):
        self.name, self.what, self.unit = name, what, unit
        self.relation, self.limit = relation, limit
        self.value, self.alone = value, alone

    def judge(self, measurements):
        return Verdict(self, self.boots(self.value, measurements),
                       self.boots(self.alone, measurements) if self.alone else [])

    @staticmethod
    def boots(value, measurements):
        """Figures of the boots that measured this; None for a boot that measured only a part."""
        figures = []
        for boot in measurements.boots():
            try:
                figure = value(measurements.of_boot(boot))
            except Incomplete:
                figures.append(None)
            else:
                figures += [figure] if figure else []
        return figures

    def worst(self, figures):
        """The figure of the boot with the lowest ratio or, if smaller is better, with the highest;
        None if a boot has no figure."""
        if not figures or any(f is None or not f.sound for f in figures):
            return None
        return (min if self.relation == ">=" else max)(figures, key=lambda f: f.median)

    def bar_text(self):
        words = {">=": "at least", "<=": "at most"}
        return f"{words[self.relation]} {self.limit:g}{self.suffix()}"

    def suffix(self):
        return "x" if self.unit == "x" else " " + self.unit


class Verdict:
    """Whether a bar holds, and its figure; if there is none, the reason."""

    def __init__(self, bar, figures, alone):
        self.bar, self.reason = bar, None
        self.figure, self.alone = bar.worst(figures), bar.worst(alone)
        # The medians of all boots.
        self.boots = sorted(f.median for f in figures) if self.figure else []
        if not figures:
            self.word, self.reason = MISSING, "not measured"
        elif None in figures:
            self.word, self.reason = MISSING, "not all of those compared were measured"
        elif not self.figure:
            unsound = next(f for f in figures if not f.sound)
            self.word = MISSING
            self.reason = (f"{unsound.clamped} of {unsound.rounds} rounds cost less than"
                           f" {LEAST_NS:g} ns beyond nothing, and the median depends on them")
        elif (self.figure.median >= bar.limit) if bar.relation == ">=" else \
                (self.figure.median <= bar.limit):
            self.word = OK
        else:
            self.word = SHORT

    def median_text(self, number, figure):
        return number(figure.median) + self.bar.suffix() if figure else "-"

    def spread_text(self, number):
        return self.figure.spread_text(number) if self.figure else "-"

    def boots_text(self, number):
        """Number of boots, and the range of their medians"""
        if not self.boots or not self.bar.alone:
            return "-"
        if len(self.boots) == 1:
            return "one"
        return f"{number(self.boots[0])} to {number(self.boots[-1])}, of {len(self.boots)}"

    def as_json(self):
        bar = self.bar
        figure = self.figure.as_json() if self.figure else \
            {"median": None, "reason": self.reason}
        alone = {"one at a time": self.alone.as_json()} if self.alone else {}
        return {"name": bar.name, "what": bar.what, **figure, "boots": self.boots, **alone,
                "unit": bar.unit, "bar": f"{bar.relation} {bar.limit:g}", "verdict": self.word}


def look_up(name, what, limit, rivals, **params):
    """A bar of overlapped look-ups, with the figure of look-ups one at a time beside it."""
    return Bar(name, what, ">=", limit, "x", times("hook", rivals, serial=False, **params),
               times("hook", rivals, serial=True, **params))


def hits(name, what, limit, rivals):
    """A bar of packets that match, in all cases"""
    return Bar(name, what, ">=", limit, "x",
               least_times(rivals, serial=False, answer="hit"),
               least_times(rivals, serial=True, answer="hit"))


def serial(name, what, limit, value):
    return Bar(name, what, "<=", limit, "x", value, value)


BARS = [
    look_up("look-up, 1M IPv4, misses, ipset", "hash:ip takes so many times ours",
            4, ["ipset"], entries=1_000_000, **HOSTS4, **USUAL),
    look_up("look-up, 1M IPv4, misses, nftables", "the better of with and without size, by ours",
            2, ["nft", "nft-size"], entries=1_000_000, **HOSTS4, **USUAL),
    look_up("look-up, 10M IPv4, misses, ipset", "hash:ip takes so many times ours",
            1.5, ["ipset"], entries=10_000_000, **HOSTS4, **USUAL),
    serial("bare look-up, 1M IPv4, misses, one at a time",
           "ours takes so many times two random reads of lines of its footprint",
           1.5, beside_lines(True, entries=1_000_000, **HOSTS4, **USUAL)),
    Bar("bare look-up, 10M IPv4, misses",
        "ours takes so many times two random reads of lines of its footprint",
        "<=", 2.5, "x", beside_lines(False, entries=10_000_000, **HOSTS4, **USUAL),
        beside_lines(True, entries=10_000_000, **HOSTS4, **USUAL)),
    look_up("look-up, country prefixes, misses, ipset", "hash:net takes so many times ours",
            10, ["ipset"], lists="countries", **NETS4, **USUAL),
    look_up("look-up, 1M IPv6, misses, ipset", "hash:ip family inet6 takes so many times ours",
            3, ["ipset"], entries=1_000_000, **HOSTS6, **USUAL),
    hits("look-up, hits, ipset", "takes so many times ours, in the case where that is the least",
         2, ["ipset"]),
    hits("look-up, hits, nftables",
         "the better set, by ours, in the case where that is the least", 1.5, ["nft", "nft-size"]),
    look_up("look-up, 1M IPv6, hits, ipset", "hash:ip family inet6 takes so many times ours",
            3, ["ipset"], entries=1_000_000, **HOSTS6, **HITS),
    look_up("look-up, country prefixes, hits, ipset", "hash:net takes so many times ours",
            8, ["ipset"], lists="countries", **NETS4, **HITS),
    look_up("look-up, country prefixes, IPv6, hits, ipset", "hash:net takes so many times ours",
            8, ["ipset"], lists="countries", **NETS6, **HITS),
    look_up("hook with an empty set attached",
            "iptables raw and an empty ipset cost so many times ours",
            3, ["ipset"], entries=0, **HOSTS4, **USUAL),
    Bar("memory per IPv4 entry, worst from 840k to 16M", "all allocations",
        "<=", 20, "bits", most_memory(MEMORY_STEP, 16_000_001)),
    Bar("memory per IPv4 entry, worst from 10k to 840k", "all allocations",
        "<=", 36, "bits", most_memory(10_000, MEMORY_STEP)),
    Bar("memory per IPv4 entry, 10M hosts", "by growth",
        "<=", 13.6, "bits", memory(entries=10_000_000, **HOSTS4)),
    Bar("memory per entry, country prefixes, IPv4", "by growth",
        "<=", 40, "bits", memory(**NETS4)),
    Bar("memory per entry, country prefixes, IPv6", "by growth",
        "<=", 160, "bits", memory(**NETS6)),
    Bar("load 1M from a text file", "ipset restore takes so many times ours",
        ">=", 10, "x", times("load", ["ipset"], entries=1_000_000, **HOSTS4)),
    Bar("replace 1M", "ipset restore to a temporary set, swap, destroy take so many times ours",
        ">=", 10, "x", times("replace", ["ipset"], entries=1_000_000, **HOSTS4)),
    Bar("list 1M", "ipset list takes so many times ours",
        ">=", 3, "x", times("list", ["ipset"], entries=1_000_000, **HOSTS4)),
    serial("growth of bare look-up cost from 1k to 1M, one at a time",
           "so many times that of two reads of lines of those footprints",
           1.2, growth(1_000, 1_000_000, **HOSTS4, **USUAL)),
    Bar("garbage collection of 1M entries, hold of the lock",
        "99.9 % of the holds take so long at most",
        "<=", 50, "us", longest_hold(1_000_000)),
    Bar("drops a second, 1M IPv4 hosts, ingress", "so many times those of the better nftables set",
        ">=", 1.3, "x", packets("ipcuckoo-ingress", ["nft-ingress", "nft-size-ingress"],
                                entries=1_000_000, **HOSTS4, **FRAMES)),
    Bar("drops a second, 1M IPv4 hosts, PRE_ROUTING",
        "so many times those of ipset in iptables raw",
        ">=", 2, "x", packets("ipcuckoo-prerouting", ["ipset-raw"],
                              entries=1_000_000, **HOSTS4, **FRAMES)),
    Bar("drops a second, country prefixes, XDP", "so many times those of a BPF LPM trie",
        ">=", 5, "x", packets("ipcuckoo-native", ["bpf-lpm-native"],
                              lists="countries", **NETS4, **FRAMES)),
    Bar("drops a second, 1M IPv4 hosts, XDP", "so many times those of a BPF hash",
        ">=", 1.2, "x", packets("ipcuckoo-native", ["bpf-hash-native"],
                                entries=1_000_000, **HOSTS4, **FRAMES)),
    Bar("drops a second, 1M IPv4 hosts, ours in XDP", "so many times those of ours at ingress",
        ">=", 1, "x", packets("ipcuckoo-native", ["ipcuckoo-ingress"],
                              entries=1_000_000, **HOSTS4, **FRAMES)),
    Bar("non-members a second, 1M IPv4 hosts, ingress", "so many times those without a filter",
        ">=", 0.85, "x", packets("ipcuckoo-ingress", ["none"], entries=1_000_000, **HOSTS4,
                                 **{**FRAMES, "answer": "miss"})),
]
