# SPDX-License-Identifier: GPL-2.0
"""Runs the tests of a program"""
import os
import subprocess
import sys
import time

from fleet.daemon import wait_for


def run_tests(tap, tests, make_bench):
    """Runs the tests that the command line names, or all. Each is a function, test_NAME, and gets a
    bench of its own, make_bench(tap). What the bench's explain() returns is printed if the test
    fails; its close() ends what the test has left."""
    subprocess.run(["insmod", os.environ["IPCUCKOO_KO"]], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    try:
        for test in tests:
            if sys.argv[1:] and test.__name__.removeprefix("test_") not in sys.argv[1:]:
                continue
            bench = make_bench(tap)
            begin = time.monotonic()
            try:
                test(bench)
            except Exception:
                tap.note(bench.explain())
                raise
            finally:
                bench.close()
            tap.note(f"{test.__name__}: {time.monotonic() - begin:.1f} s")
    finally:
        wait_for(lambda: not subprocess.run(["rmmod", "ipcuckoo"], capture_output=True).returncode)
