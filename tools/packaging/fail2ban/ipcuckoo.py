# SPDX-License-Identifier: GPL-2.0-only
"""fail2ban action: what ipcuckoo.conf does, for jails with thousands of bans. Use it in a jail with

	banaction = ipcuckoo.py

fail2ban starts a shell and a program for each ban of other actions, also for all that it restores when it
starts, which takes minutes for ten thousand. This action keeps one "ipcuckoo -" running, and writes a line
for each ban.

Options: ipcset, the name of the set, by default f2b- and the name of the jail; ipcfamily, inet, inet6 or
any; verdict, a verdict of "ipcuckoo attach" and its options, by default drop.
"""
import subprocess

from fail2ban.server.action import ActionBase

PROMPT = b"ipcuckoo> "


class IpcuckooAction(ActionBase):
    """Drops all packets of banned addresses."""

    def __init__(self, jail, name, ipcset=None, ipcfamily="any", verdict="drop", **_):
        super().__init__(jail, name)
        # Names of sets have at most 31 characters.
        self.set = ipcset or ("f2b-" + jail.name)[:31]
        self.family = ipcfamily
        self.verdict = verdict
        self.tool = None

    def _run(self, line):
        """Has the tool run a line. What it prints is why that failed."""
        if self.tool is None or self.tool.poll() is not None:
            self.tool = subprocess.Popen(["ipcuckoo", "-"], bufsize=0, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self._read()
        self.tool.stdin.write(line.encode() + b"\n")
        said = self._read()
        if said:
            raise RuntimeError(f"ipcuckoo {line}: {said}")

    def _read(self):
        """What the tool prints before it asks for the next line"""
        said = b""
        while not said.endswith(PROMPT):
            part = self.tool.stdout.read(4096)
            if not part:
                self.tool.wait()
                raise RuntimeError("ipcuckoo has ended: " + said.decode(errors="replace"))
            said += part
        return said[:-len(PROMPT)].decode(errors="replace").strip()

    def start(self):
        subprocess.run(["modprobe", "ipcuckoo"], check=True)
        self._run(f"create {self.set} hash:net family {self.family} -exist")
        self._run(f"attach {self.set} src {self.verdict} -replace")

    def stop(self):
        self._run(f"detach {self.set}")
        self._run(f"destroy {self.set}")
        self.tool.stdin.close()
        self.tool.wait()

    def flush(self):
        """Unbans all. Return: True; fail2ban need not unban each address."""
        self._run(f"flush {self.set}")
        return True

    def ban(self, aInfo):
        try:
            self._run(f"add {self.set} {aInfo['ip']} -exist")
        except (RuntimeError, OSError):
            # Somebody may have destroyed the set.
            self.start()
            self._run(f"add {self.set} {aInfo['ip']} -exist")

    def unban(self, aInfo):
        self._run(f"del {self.set} {aInfo['ip']} -exist")


Action = IpcuckooAction
