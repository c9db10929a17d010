# SPDX-License-Identifier: GPL-2.0
"""ipcuckood under test: its configuration, its messages, its control socket"""
import json
import os
import re
import signal
import socket
import subprocess
import time

SECONDS = 60


def wait_for(what, seconds=SECONDS):
    """Waits until what() is true; returns its last result."""
    end = time.monotonic() + seconds
    while True:
        result = what()
        if result or time.monotonic() > end:
            return result
        time.sleep(0.02)


def inside(netns):
    """How a command line begins that runs in a network namespace; None: in this one"""
    return ["ip", "netns", "exec", netns] if netns else []


def tool(*words, check=True, netns=None):
    done = subprocess.run([*inside(netns), os.environ["IPCUCKOO"], *words], capture_output=True,
                          text=True)
    if check and done.returncode:
        raise RuntimeError(f"ipcuckoo {' '.join(words)}: {done.stderr}")
    return done.stdout


def members(name, netns=None):
    """The entries of a set in the kernel: entry, or "entry nomatch", and its other words"""
    found = {}
    for line in tool("save", name, check=False, netns=netns).splitlines():
        if match := re.match(r"add \S+ (\S+)(.*)", line):
            rest = match[2]
            nomatch = " nomatch" in rest
            found[match[1] + " nomatch" * nomatch] = rest.replace(" nomatch", "").strip()
    return found


def read_answer(s):
    """What the daemon sends until it closes the connection: status and text; None if it has ended"""
    data = b""
    while part := s.recv(65536):
        data += part
    if not data:
        return None
    head, _, text = data.partition(b"\n")
    status, length = head.split()
    if int(length) != len(text):
        raise RuntimeError(f"an answer was cut off: {len(text)} of {int(length)} bytes")
    return int(status), text.decode()


class Daemon:
    def __init__(self, directory, netns=None):
        self.dir = directory
        self.netns = netns
        self.state = os.path.join(directory, "state")
        self.config = os.path.join(directory, "config")
        self.control = os.path.join(directory, "control")
        self.log = os.path.join(directory, "log")
        os.makedirs(self.state, exist_ok=True)
        self.process = None
        self.program = os.environ["IPCUCKOOD"]
        self.env = {}

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)

    def command(self, *words):
        return [*inside(self.netns), self.program, "--config", self.config,
                "--state", self.state, "--control", self.control, *words]

    def run(self, *words):
        """Runs the program to its end."""
        return subprocess.run(self.command(*words), capture_output=True, text=True,
                              timeout=SECONDS)

    def start(self, wait=True):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command(), stderr=log, stdout=log,
                                            env={**os.environ, **self.env})
        return wait_for(self.status) if wait else None

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        status = self.process.wait(SECONDS)
        self.process = None
        return status

    def ask(self, line):
        """An answer of the control socket: status and text; None if there is none"""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(SECONDS)
                s.connect(self.control)
                s.sendall(line.encode() + b"\n")
                return read_answer(s)
        except OSError:
            return None

    def hand_over(self, name, lines, how="add"):
        """Publishes lines of text, without the tool; returns the socket that gets the answer."""
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(SECONDS)
        s.connect(self.control)
        data = lines.encode()
        s.sendall(f"publish {name} {how} {len(data)}\n".encode() + data)
        return s

    def publish(self, name, lines, how="add", wait=True):
        """The same, and waits for the answer only with @wait: status and text"""
        with self.hand_over(name, lines, how) as s:
            return read_answer(s) if wait else None

    def status(self):
        answer = self.ask("json")
        return json.loads(answer[1]) if answer else None

    def why(self, address, *words, netns=None):
        """What "ipcuckoo why" does: exit status, the output, parsed if it is JSON, and messages"""
        done = subprocess.run([*inside(netns or self.netns), os.environ["IPCUCKOO"], "why", address,
                               "--control", self.control, *(words or ["-j"])],
                              capture_output=True, text=True)
        return (done.returncode, done.stdout if words else json.loads(done.stdout or "null"),
                done.stderr)

    def health(self):
        """Exit status, and lines"""
        done = self.run("health")
        return done.returncode, done.stdout

    def source(self, name):
        return next(s for s in self.status()["sources"] if s["name"] == name)

    def set(self, name):
        return next(s for s in self.status()["sets"] if s["name"] == name)

    def answered(self, name, count):
        """Waits until the source has answered for the count-th time; returns its state."""
        return wait_for(lambda: (s := self.source(name))["answers"] >= count and s)

    def refresh(self, name):
        """Fetches a feed; returns its state afterwards."""
        count = self.source(name)["answers"] + 1
        self.ask(f"refresh {name}")
        return self.answered(name, count)

    def messages(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def proc(self, key):
        """A number of /proc/PID/status"""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(rf"^{key}:\s+(\d+)", f.read(), re.M)[1])

    def libraries(self):
        """The files that are mapped into its memory, without directories"""
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as f:
            return {os.path.basename(line.split()[-1]) for line in f if "/" in line}
