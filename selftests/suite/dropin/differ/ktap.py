# SPDX-License-Identifier: GPL-2.0
"""KTAP: the cases of a program, their totals and its exit status, as lib.sh prints them"""
import sys

PASS, FAIL, SKIP = 0, 1, 4


class Bail(Exception):
    """The rest of the program could not work."""


class Ktap:
    def __init__(self, out=sys.stdout):
        self.out = out
        self.cases = self.failed = self.skipped = 0
        self.line("TAP version 13")

    def line(self, text):
        print(text, file=self.out, flush=True)

    def note(self, text):
        """Comment lines, which the judge ignores"""
        for line in text.splitlines():
            self.line(f"# {line}")

    def case(self, name, passed):
        self.cases += 1
        self.failed += not passed
        # "#" begins a directive.
        self.line(f"{'ok' if passed else 'not ok'} {self.cases} {name.replace('#', '')}")

    def case_of(self, side, text, passed, repaired_late=False):
        """A case of one side. A fault that some releases of the kernel have still (repaired_late)
        is no failure of the kernel's own types."""
        name = side.case(text)
        if repaired_late and side.is_kernels and not passed:
            self.skip(name, "this release of the kernel has the fault still")
        else:
            self.case(name, passed)

    def skip(self, name, reason):
        self.cases += 1
        self.skipped += 1
        self.line(f"ok {self.cases} {name.replace('#', '')} # SKIP {reason}")

    def done(self):
        """Prints plan and totals. Returns the exit status; a program without cases has failed."""
        self.line(f"1..{self.cases}")
        passed = self.cases - self.failed - self.skipped
        self.line(f"# Totals: pass:{passed} fail:{self.failed} xfail:0 xpass:0"
                  f" skip:{self.skipped} error:0")
        return PASS if passed and not self.failed else FAIL


def run(body):
    """Runs a program: body(ktap) prints its cases. Ends the process."""
    ktap = Ktap()
    try:
        body(ktap)
    except Bail as e:
        ktap.line(f"Bail out! {e}")
        sys.exit(FAIL)
    sys.exit(ktap.done())


def skip_all(reason):
    """Ends the program: this machine can run none of its cases."""
    print(f"1..0 # SKIP {reason}", flush=True)
    sys.exit(SKIP)
