# SPDX-License-Identifier: GPL-2.0
"""Runs an episode on whichever side is loaded, in a network namespace of its own, and records the
result of each command."""
import os
import re
import shutil
import subprocess
import tempfile
import time

from .compare import Record
from .ktap import Bail
from .net import Net, enter, namespace, new_namespace
from .zygote import Zygote

SLEEP_SECONDS = 2
PROGRAM_SECONDS = 120
# An entry that ipset has added with a timeout of a second has to be there until the SLEEP after it
# begins, whatever lies between. A machine that was slower runs the episode again.
SHORT_TIMEOUT = re.compile(r"\btimeout 1\b")
HURRY_SECONDS = 0.9
MOST_ATTEMPTS = 5


def is_short_lived(command):
    """Does it add entries that have a timeout of a second?"""
    text = " ".join(command.words) + "\n" + command.input
    return command.words[:1] != ("$",) and bool(SHORT_TIMEOUT.search(text))


class TooSlow(Exception):
    """A SLEEP began so late that entries may have expired before it."""


class Runner:
    def __init__(self):
        self.home = namespace()
        self.cwd = tempfile.mkdtemp(prefix="dropin.")
        self.net = self.zygote = None
        self.hurry = None

    def close(self):
        os.close(self.home)
        shutil.rmtree(self.cwd)

    def run(self, episode):
        """The records of its commands"""
        for _ in range(MOST_ATTEMPTS):
            try:
                return self.attempt(episode)
            except TooSlow:
                continue
        raise Bail(f"the machine is too slow for timeouts of a second: {episode.name}")

    def attempt(self, episode):
        self.begin(any(c.words[:1] == ("SEND",) for c in episode.commands))
        try:
            return [self.timed(command) for command in episode.commands]
        finally:
            self.end()

    def begin(self, with_net):
        for name in os.listdir(self.cwd):
            os.unlink(os.path.join(self.cwd, name))
        if with_net:
            self.net = Net()
        else:
            new_namespace()
        self.zygote = Zygote(self.cwd)
        self.hurry = None

    def end(self):
        """Sets that are still there are destroyed with the namespace."""
        self.zygote.close()
        if self.net:
            self.net.close()
        self.net = self.zygote = None
        enter(self.home)

    def timed(self, command):
        start = time.monotonic()
        self.check_hurry(command, start)
        status, out, err = self.execute(command)
        return Record(status, out, err, time.monotonic() - start)

    def check_hurry(self, command, now):
        if command.words == ("SLEEP",):
            if self.hurry is not None and now - self.hurry > HURRY_SECONDS:
                raise TooSlow
            self.hurry = None
        elif is_short_lived(command):
            self.hurry = self.hurry or now

    def execute(self, command):
        """(status, output, errors)"""
        words = command.words
        if words[:1] == ("SLEEP",):
            time.sleep(SLEEP_SECONDS)
            return 0, "", ""
        if words[:1] == ("CAT",):
            return self.cat(words[1])
        if words[:1] == ("SEND",):
            return 0, self.send(*words[1:]), ""
        if words[:1] == ("$",):
            return self.program(words[1:], command.input)
        return self.zygote.run(words, command.input)

    def cat(self, name):
        try:
            with open(os.path.join(self.cwd, name), errors="backslashreplace") as f:
                return 0, f.read(), ""
        except FileNotFoundError:
            return 1, "", f"there is no file {name}"

    def send(self, source, destination, count="1"):
        return f"{self.net.send(source, destination, int(count))} of {count} have arrived\n"

    def program(self, words, text):
        try:
            done = subprocess.run(words, input=text, capture_output=True, text=True, cwd=self.cwd,
                                  timeout=PROGRAM_SECONDS)
        except FileNotFoundError:
            raise Bail(f"there is no program {words[0]}") from None
        return done.returncode, done.stdout, done.stderr
