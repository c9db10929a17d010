# SPDX-License-Identifier: GPL-2.0
"""What the programs share that measure look-ups with the module ipcuckoo_lab"""
import ctypes
import os
import subprocess
import sys

PROC = "/proc/net/ipcuckoo_lab"
CLONE_NEWNET = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
here = os.path.dirname(os.path.realpath(__file__))
modules = os.path.join(os.path.dirname(os.environ.get("IPCUCKOO_KO", "")), "lab")
programs = os.path.realpath(f"{here}/../../../build/bench/lab")


def say(text):
    print("#", text, flush=True)


def die(text):
    say(f"{os.path.basename(sys.argv[0])}: {text}")
    sys.exit(1)


def run(*argv, ns=None, text=None):
    """Runs a command that must succeed; returns its output."""
    if ns:
        argv = ("ip", "netns", "exec", ns) + argv
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    except OSError as e:
        die(f"{argv[0]}: {e.strerror}")
    if done.returncode:
        die(f"{' '.join(argv)[:200]}: status {done.returncode}: {done.stderr.strip()[:500]}")
    return done.stdout


class Namespace:
    """A network namespace, and the file that measures in it."""

    def __init__(self, name):
        self.name = name
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "add", "lab0", "type", "dummy")
        run("ip", "-n", name, "link", "set", "lab0", "up")
        self.enter(f"/run/netns/{name}")
        self.fd = os.open(PROC, os.O_RDWR)
        self.enter("/proc/1/ns/net")

    @staticmethod
    def enter(path):
        fd = os.open(path, os.O_RDONLY)
        if libc.setns(fd, CLONE_NEWNET):
            die(f"setns {path}: {os.strerror(ctypes.get_errno())}")
        os.close(fd)

    def command(self, text):
        try:
            os.write(self.fd, text.encode())
        except OSError as e:
            die(f"{self.name}: {text}: {e.strerror}")

    def measure(self, part, subject, traffic, serial, start, ms):
        order = "serial" if serial else "overlapped"
        return self._run(f"{part} {subject} {traffic} {order} {start} {ms * 1000}")

    def once(self, part, subject, traffic):
        """The same, of each address once"""
        return self._run(f"{part} {subject} {traffic} once 0 0")

    def _run(self, words):
        self.command(f"run {words}")
        lookups, matches, picoseconds = map(int, os.pread(self.fd, 100, 0).split())
        return lookups, matches, picoseconds / 1000


def generate(*argv, out):
    done = subprocess.run([programs + "/generate", *map(str, argv)], stdout=out, check=False)
    if done.returncode:
        die(f"generate {argv}: status {done.returncode}")


def read_traffic(ns, name, family, seed, count, answer, kind, *source):
    """Has the module read addresses, which all namespaces can look up"""
    path = "/tmp/traffic"
    with open(path, "wb") as f:
        generate("traffic", family, seed, count, answer, kind, *source, out=f)
    ns.command(f"traffic {name} {family} {path}")
    os.unlink(path)


def turns(subjects, rnd):
    """The order of a round. Within as many rounds as there are subjects, twice as many if that is
    odd, each subject comes equally often right after each other one [Williams 1949]. If the
    subjects were only rotated, nearly all would always follow the same one.
    """
    n = len(subjects)
    # 0, n - 1, 1, n - 2, ...: if n is even, no distance between neighbours occurs twice. If it is
    # odd, half of them do, and the other half when mirrored.
    zigzag = [i // 2 if i % 2 == 0 else n - 1 - i // 2 for i in range(n)]
    if rnd // n % 2:
        zigzag.reverse()
    return [subjects[(i + rnd) % n] for i in zigzag]
