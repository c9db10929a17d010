#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Runs, in the machine, the cases of dropin-pending.py that must find each mutant: they must fail
on it, and pass without a fault. ../test_mutants builds the mutants and starts this. KTAP."""
import glob
import os
import subprocess
import sys

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(here))

from differ import ktap

PROGRAM = os.path.join(os.path.dirname(here), "dropin-pending.py")


def run(folder, name, cases):
    """The exit status and the output of the program"""
    env = {**os.environ, "DROPIN_CASES": cases,
           "IPCUCKOO_KO": f"{folder}/{name}-ipcuckoo.ko", "IPCUCKOO_IPSET_KO": f"{folder}/{name}.ko"}
    done = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=env)
    return done.returncode, done.stdout + done.stderr


def failed(text):
    """The names of the cases that have failed"""
    return [line.split(" ", 3)[3] for line in text.splitlines() if line.startswith("not ok ")]


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def body(out):
    folder = os.path.join(os.path.dirname(os.environ["IPCUCKOO_TESTS"]), "mutants")
    cases = {os.path.basename(path)[:-6]: read(path)
             for path in sorted(glob.glob(f"{folder}/*.cases"))}
    status, text = run(folder, "stutter", " ".join(cases.values()))
    out.case("without a fault all of these cases pass", status == ktap.PASS)
    if status != ktap.PASS:
        out.note(text)
    for name, which in cases.items():
        status, text = run(folder, name, which)
        found = failed(text)
        is_found = status == ktap.FAIL and found and "Bail out!" not in text
        out.case(f"{name}: {'; '.join(found) if is_found else 'not found'}", is_found)
        if not is_found:
            out.note(text)
    out.case("there are mutants", bool(cases))


ktap.run(body)
