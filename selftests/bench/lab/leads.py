# SPDX-License-Identifier: GPL-2.0
"""Where the others are nearly as good as ours, or better."""
from typing import NamedTuple

from measurements import Case, Figure

RIVALS = ("ipset", "nft", "nft-size")
# From here on there is no doubt.
LEAD = 1.5


class Lead(NamedTuple):
    """How many times a rival takes of ours."""
    case: Case
    rival: str
    figure: Figure

    def as_json(self):
        return {"part": self.case.part, "case": self.case.title(), "rival": self.rival,
                **self.figure.as_json()}


def leads(measurements):
    """Every ratio there is."""
    for case in measurements.cases.values():
        subjects = case.subjects()
        if "ipcuckoo" in subjects:
            for rival in RIVALS:
                if rival in subjects:
                    yield Lead(case, rival, Figure(case.ratios(rival, "ipcuckoo")))


def least_leads(measurements):
    """Those below LEAD, the least first; and how many cannot be told, as they hang on clamped
    rounds."""
    every = list(leads(measurements))
    sound = [lead for lead in every if lead.figure.sound]
    return (sorted((lead for lead in sound if lead.figure.median < LEAD),
                   key=lambda lead: lead.figure.median), len(every) - len(sound))


def least_leads_words(found, untold):
    """What stands above the list."""
    words = (f"Every median ratio below {LEAD:g}, the least first; below 1 the other one is faster."
             if found else f"No median ratio is below {LEAD:g}.")
    return words + (f" {untold} cannot be told: rounds are clamped." if untold else "")
