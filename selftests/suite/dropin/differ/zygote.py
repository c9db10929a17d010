# SPDX-License-Identifier: GPL-2.0
"""Runs ipset many times without loading it each time: see zygote.c."""
import os
import select
import struct
import subprocess
import tempfile

from .ktap import Bail

SECONDS = 300


class Zygote:
    """ipset in the network namespace in which this object was made"""

    def __init__(self, cwd):
        library = os.environ.get("IPCUCKOO_TESTS", "") + "/zygote.so"
        if not os.path.exists(library):
            raise Bail(f"there is no {library}")
        self.files = [tempfile.TemporaryFile() for _ in range(3)]
        their_in, self.requests = os.pipe()
        self.answers, their_out = os.pipe()
        self.process = subprocess.Popen(
            ["ipset"], stdin=self.files[0], stdout=self.files[1], stderr=self.files[2], cwd=cwd,
            pass_fds=(their_in, their_out), env={
                **os.environ, "ZYGOTE": f"{their_in} {their_out}", "LD_PRELOAD": library,
                "LD_BIND_NOW": "1"})
        os.close(their_in)
        os.close(their_out)

    def close(self):
        os.close(self.requests)
        self.process.wait()
        os.close(self.answers)
        for file in self.files:
            file.close()

    def rewind(self, text):
        """The child's offsets in these files are ours, too."""
        for file in self.files:
            os.ftruncate(file.fileno(), 0)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
        os.write(self.files[0].fileno(), text.encode())
        os.lseek(self.files[0].fileno(), 0, os.SEEK_SET)

    def output(self, file):
        size = os.fstat(file.fileno()).st_size
        return os.pread(file.fileno(), size, 0).decode("utf-8", "backslashreplace")

    def run(self, words, text=""):
        """(exit status, standard output, standard error) of ipset"""
        self.rewind(text)
        request = b"".join(word.encode() + b"\0" for word in ("ipset", *words))
        os.write(self.requests, struct.pack("I", len(request)) + request)
        if not select.select([self.answers], [], [], SECONDS)[0]:
            self.process.kill()
            raise Bail(f"ipset has not ended after {SECONDS} s: {' '.join(words)}")
        answer = os.read(self.answers, 4)
        if len(answer) < 4:
            raise Bail(f"the zygote has ended: {self.output(self.files[2])}")
        status = os.waitstatus_to_exitcode(struct.unpack("i", answer)[0])
        return status, self.output(self.files[1]), self.output(self.files[2])
