# SPDX-License-Identifier: GPL-2.0-only
"""fail2ban action: what ipcuckoo.conf does, for jails with thousands of bans. Use it in a jail with

	banaction = ipcuckoo.py

fail2ban starts a shell and a program for each ban of other actions, also for all that it restores when it
starts, which takes minutes for ten thousand. This action keeps one "ipcuckoo -" running, and writes a line
for each ban. For each line, the tool asks the kernel whether it would block what this machine needs. So many
bans that are restored are one line; they may wait for each other, half a second at most.

Options: ipcset, the name of the set, by default f2b- and the name of the jail; ipcfamily, inet, inet6 or
any; verdict, a verdict of "ipcuckoo attach" and its options, by default drop.
"""
import subprocess
import threading

from fail2ban.server.action import ActionBase

PROMPT = b"ipcuckoo> "
# The addresses of a line, which has at most 64 words, and the seconds that they wait for more
MANY = 60
WAIT = 0.5


class IpcuckooAction(ActionBase):
    """Drops all packets of banned addresses."""

    def __init__(self, jail, name, ipcset=None, ipcfamily="any", verdict="drop", **_):
        super().__init__(jail, name)
        # Names of sets have at most 31 characters.
        self.set = ipcset or ("f2b-" + jail.name)[:31]
        self.family = ipcfamily
        self.verdict = verdict
        self.tool = None
        # Restored bans that wait for more of them
        self.waiting = []
        self.timer = None
        # Bans also come from the thread that serves fail2ban-client.
        self.lock = threading.RLock()

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

    def _add(self, addresses):
        line = f"add {self.set} {' '.join(addresses)} -exist"
        try:
            self._run(line)
        except (RuntimeError, OSError):
            # Somebody may have destroyed the set.
            self.start()
            self._run(line)

    def _add_waiting(self):
        """If one of the addresses is refused, none of its line was added: then a line for each."""
        with self.lock:
            waiting, self.waiting = self.waiting, []
            try:
                if waiting:
                    self._add(waiting)
            except Exception:
                for address in waiting:
                    try:
                        self._add([address])
                    except Exception as e:
                        self._logSys.error("%s is not banned: %s", address, e)

    def _end_wait(self):
        with self.lock:
            self.timer = None
            self._add_waiting()

    def start(self):
        with self.lock:
            subprocess.run(["modprobe", "ipcuckoo"], check=True)
            self._run(f"create {self.set} hash:net family {self.family} -exist")
            self._run(f"attach {self.set} src {self.verdict} -replace")

    def stop(self):
        with self.lock:
            self.waiting = []
            self._run(f"detach {self.set}")
            self._run(f"destroy {self.set}")
            self.tool.stdin.close()
            self.tool.wait()

    def flush(self):
        """Unbans all. Return: True; fail2ban need not unban each address."""
        with self.lock:
            self.waiting = []
            self._run(f"flush {self.set}")
        return True

    def ban(self, aInfo):
        with self.lock:
            if not aInfo["restored"]:
                self._add([str(aInfo["ip"])])
                return
            self.waiting.append(str(aInfo["ip"]))
            if len(self.waiting) == MANY:
                self._add_waiting()
            elif not self.timer:
                self.timer = threading.Timer(WAIT, self._end_wait)
                self.timer.start()

    def unban(self, aInfo):
        with self.lock:
            self._add_waiting()
            self._run(f"del {self.set} {aInfo['ip']} -exist")


Action = IpcuckooAction
