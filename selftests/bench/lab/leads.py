# SPDX-License-Identifier: GPL-2.0
"""Finds cases in which others are nearly as fast as ours, or faster."""
from typing import NamedTuple

from measurements import Case, Figure
from plots import split_place

RIVALS = ("ipset", "nft", "nft-size")
# Not rivals where packets are counted
FLOORS = ("ipcuckoo", "ipcuckoo-prefetched", "all", "none")
# Ratios above this are not listed.
LEAD = 1.5


class Lead(NamedTuple):
    """A ratio: how many times ours a rival takes."""
    case: Case
    rival: str
    figure: Figure

    def as_json(self):
        return {"part": self.case.part, "case": self.case.title(), "rival": self.rival,
                **self.figure.as_json()}


def leads(measurements):
    """Yields all ratios."""
    for case in measurements.select("pps"):
        yield from leads_of_packets(case)
    for case in measurements.cases.values():
        subjects = case.subjects()
        if "ipcuckoo" in subjects:
            for rival in RIVALS:
                if rival in subjects:
                    yield Lead(case, rival, Figure(case.ratios(rival, "ipcuckoo")))


def leads_of_packets(case):
    """Yields how many times as long as ours, at the same place, a subject takes for a packet: ours
    handles so many times as many packets a second."""
    for rival in case.samples:
        name, place = split_place(rival)
        ours = f"ipcuckoo-{place}"
        if name not in FLOORS and case.has(ours):
            yield Lead(case, rival, Figure(case.ratios(ours, rival)))


def least_leads(measurements):
    """The ratios below LEAD, the smallest first; and how many ratios depend on clamped rounds."""
    every = list(leads(measurements))
    sound = [lead for lead in every if lead.figure.sound]
    return (sorted((lead for lead in sound if lead.figure.median < LEAD),
                   key=lambda lead: lead.figure.median), len(every) - len(sound))


def least_leads_words(found, untold):
    """The sentence above the list"""
    words = (f"Every median ratio below {LEAD:g}, the least first; below 1 the other one is faster."
             if found else f"No median ratio is below {LEAD:g}.")
    return words + (f" {untold} cannot be told: rounds are clamped." if untold else "")
