# SPDX-License-Identifier: GPL-2.0
"""The measurements: JSON lines, one for each part, case and subject.

    {"part": "hook", "case": "1M hosts, IPv4, uniform, miss", "subject": "ipset",
     "unit": "ns", "samples": [...], "entries": 1000000, "family": "inet", ...}

The samples of all subjects of a case come from interleaved rounds of one boot, and the n-th sample
of each from the same round: other load on the machine affects all of them. So figures are compared
round by round, and the median of the ratios counts. A measurement that was repeated in another boot
says so: "boot": 2. By default it is the first.

A line of part "environment" has no samples; it says where, with which seed and of which commit its
file was made.
A line that begins with # is a remark.
"""
import json
import math
import os
import statistics
from typing import NamedTuple

# After subtracting the cost of nothing, a cost may be zero or less. Costs below this are clamped to
# it; otherwise a ratio would depend on the clock.
LEAST_NS = 0.1

# A list may have lost a few entries as duplicates, so that its size differs by this share.
ENTRIES_TOLERANCE = 0.02

OWN_KEYS = ("part", "case", "subject", "unit", "samples", "file")


class BadLine(Exception):
    """A line that is not a measurement, or that contradicts another."""


class Value(NamedTuple):
    """The sample of a round. Of a clamped one only bounds are known."""
    value: float
    least: float
    most: float

    @classmethod
    def exactly(cls, value):
        return cls(value, value, value)

    @classmethod
    def cost(cls, value):
        return cls.exactly(value) if value >= LEAST_NS else cls(LEAST_NS, 0, LEAST_NS)

    @property
    def clamped(self):
        return self.least < self.most

    def __truediv__(self, other):
        return Value(self.value / other.value, self.least / other.most,
                     self.most / other.least if other.least else math.inf)


class Figure:
    """A median and its quartiles. It is sound, and may be quoted, only if the median does not
    depend on the values of clamped rounds.
    """

    def __init__(self, values):
        values = list(values)
        plain = [v.value for v in values]
        self.rounds = len(values)
        self.clamped = sum(v.clamped for v in values)
        self.median = statistics.median(plain)
        self.sound = statistics.median(v.least for v in values) == \
            statistics.median(v.most for v in values)
        if len(values) > 1:
            self.low, _, self.high = statistics.quantiles(plain, n=4, method="inclusive")
        else:
            self.low = self.high = self.median

    def spread_text(self, number):
        """The quartiles. A single round has none."""
        return f"{number(self.low)} to {number(self.high)}" if self.rounds > 1 else "-"

    def as_json(self):
        rounds = {"rounds": self.rounds, "clamped": self.clamped}
        if not self.sound:
            return {"median": None, **rounds}
        quartiles = {"quartiles": [self.low, self.high]} if self.rounds > 1 else {}
        return {"median": self.median, **quartiles, **rounds}


class Case:
    """One case of one part: the samples of its subjects, and its parameters."""

    def __init__(self, part, name, params):
        self.part, self.name, self.params = part, name, params
        self.samples = {}
        self.units = {}

    def add(self, line):
        subject = line["subject"]
        if subject in self.samples:
            raise BadLine(f"measured twice: {self.part}, {self.name}, {subject}")
        self.samples[subject] = line["samples"]
        self.units[subject] = line["unit"]

    @property
    def boot(self):
        return self.params.get("boot", 1)

    def title(self):
        """The name, with what distinguishes cases of the same name"""
        boot = f", boot {self.boot}" if self.boot != 1 else ""
        return self.name + (", one at a time" if self.params.get("serial") else "") + boot

    def has(self, *subjects):
        return all(s in self.samples for s in subjects)

    def plain(self, subject):
        return [Value.exactly(s) for s in self.samples[subject]]

    def figure(self, subject):
        return Figure(self.plain(subject))

    def costs(self, subject):
        """The cost of the subject without that of nothing, round by round"""
        return [Value.cost(a - b)
                for a, b in zip(self.samples[subject], self.samples["nothing"])]

    def values(self, subject):
        """The samples to compare: of look-ups, the cost without that of nothing"""
        return self.costs(subject) if self.has("nothing") else self.plain(subject)

    def ratios(self, subject, to):
        """How many times the figure of one is that of the other, round by round"""
        return [a / b for a, b in zip(self.values(subject), self.values(to))]

    def subjects(self):
        """The subjects that can be compared"""
        if self.part == "hook" and not self.has("nothing"):
            return []
        return [s for s in self.samples if s != "nothing"]

    def as_json(self):
        subjects = {}
        for subject, samples in self.samples.items():
            entry = {"unit": self.units[subject], **self.figure(subject).as_json()}
            if self.has("nothing") and subject in self.subjects():
                entry["look-up"] = Figure(self.costs(subject)).as_json()
            if subject != "ipcuckoo" and {subject, "ipcuckoo"} <= set(self.subjects()):
                entry["times ipcuckoo's"] = Figure(self.ratios(subject, "ipcuckoo")).as_json()
            entry["samples"] = samples
            subjects[subject] = entry
        return {"part": self.part, "case": self.name, **self.params, "subjects": subjects}


def check(line):
    """Raises BadLine for a line that could be misread."""
    if not isinstance(line, dict) or not isinstance(line.get("part"), str):
        raise BadLine("no measurement")
    if line["part"] == "environment":
        return
    for key in ("case", "subject", "unit"):
        if not isinstance(line.get(key), str):
            raise BadLine(f"no {key}")
    boot = line.get("boot", 1)
    if not isinstance(boot, int) or boot < 1:
        raise BadLine(f"{boot} is no boot")
    samples = line.get("samples")
    if not isinstance(samples, list) or not samples:
        raise BadLine("no samples")
    for s in samples:
        if isinstance(s, bool) or not isinstance(s, (int, float)) or not math.isfinite(s) or s < 0:
            raise BadLine(f"{s} is no sample")


class Measurements:
    def __init__(self):
        self.cases = {}
        self.environments = []
        # By file; None if the file does not say.
        self.commits = {}

    def read(self, path):
        before = len(self.environments)
        self.read_lines(path)
        said = [e["commit"] for e in self.environments[before:] if e.get("commit", "?") != "?"]
        self.commits[os.path.basename(path).removesuffix(".jsonl")] = said[0] if said else None

    def warning(self):
        """A warning if the parts are not of the same commit, or None"""
        if len(set(self.commits.values()) - {None}) == 1 and None not in self.commits.values():
            return None
        if not any(self.commits.values()):
            return "The measurements do not say of which commit they are." if self.commits else None
        said = ", ".join(f"{part} of {commit or 'an unknown one'}"
                         for part, commit in self.commits.items())
        return f"The parts are not all of one commit: {said}."

    def read_lines(self, path):
        with open(path) as f:
            for number, text in enumerate(f, 1):
                if not text.strip() or text.startswith("#"):
                    continue
                try:
                    line = json.loads(text)
                    check(line)
                    self.add(line)
                except (ValueError, BadLine) as e:
                    raise BadLine(f"{path}:{number}: {e}") from None

    def add(self, line):
        if line["part"] == "environment":
            self.environments.append({k: v for k, v in line.items() if k != "part"})
            return
        params = {k: v for k, v in line.items() if k not in OWN_KEYS}
        key = line["part"], line["case"], json.dumps(params, sort_keys=True)
        case = self.cases.setdefault(key, Case(line["part"], line["case"], params))
        case.add(line)
        lengths = {s: len(v) for s, v in case.samples.items()}
        if len(set(lengths.values())) > 1:
            raise BadLine(f"{case.part}, {case.name}: not as many rounds of each: {lengths}")

    def boots(self):
        return sorted({c.boot for c in self.cases.values()})

    def of_boot(self, boot):
        """What was measured in one boot."""
        m = Measurements()
        m.cases = {k: c for k, c in self.cases.items() if c.boot == boot}
        return m

    def select(self, part, **params):
        """The cases of a part that have these parameters, by number of entries."""
        found = [c for c in self.cases.values()
                 if c.part == part and all(fits(c.params.get(k), v, k) for k, v in params.items())]
        return sorted(found, key=lambda c: c.params.get("entries", 0))

    def one(self, part, **params):
        """The case of a part that has these parameters, or None."""
        found = self.select(part, **params)
        if len(found) > 1:
            raise BadLine(f"{part} with {params} is several cases: "
                          + "; ".join(c.name for c in found))
        return found[0] if found else None


def fits(have, want, key):
    if have is None:
        return False
    if key == "entries" and want:
        return abs(have - want) <= want * ENTRIES_TOLERANCE
    return have == want
