# SPDX-License-Identifier: GPL-2.0
"""A network namespace with sets, and with rules of iptables that refer to them. Packets leave it
through a device that drops them, after they have passed the chain OUTPUT."""
import glob
import ipaddress
import os
import shutil
import socket
import subprocess
import traceback

from differ.ktap import Bail, skip_all
from differ.net import IPV6_FREEBIND, enter, has_ipv6
from differ.types import call, must

PORT = 9
# The namespace has these addresses, and routes all others to the device.
LOCAL = ("192.0.2.0/24", "2001:db8:1::/120")


def backends():
    return [backend for backend in ("legacy", "nft")
            if call(f"iptables-{backend}", "-nL", "OUTPUT").returncode == 0]


def need_match():
    """Skips the program if the match was not built, or there is no iptables to use it."""
    if not os.path.isfile(os.environ.get("IPCUCKOO_XT_KO", "")):
        skip_all("there is no xt_ipcuckoo.ko: this kernel has no x_tables")
    if not os.path.isfile(os.path.join(os.environ.get("IPCUCKOO_XTABLES", ""), "libxt_ipcuckoo.so")):
        skip_all("libxt_ipcuckoo.so was not built: libxtables-dev is not installed")
    if not shutil.which("iptables"):
        skip_all("iptables is not installed")
    call("modprobe", "-a", "x_tables")
    if not backends():
        skip_all("neither iptables-legacy nor iptables-nft works here")


def insert(variable):
    must("cannot load a module", "insmod", os.environ[variable])


def libraries():
    """Where iptables finds its extensions: ours first"""
    own = os.environ["IPCUCKOO_XTABLES"]
    return ":".join([own, *glob.glob("/usr/lib/*/xtables"), *glob.glob("/usr/lib*/xtables")])


def transmit(packets):
    """Sends a packet from each source to each destination. Returns how many were not dropped."""
    passed = 0
    sockets = {}
    for src, dst in packets:
        version = ipaddress.ip_address(src).version
        if src not in sockets:
            sock = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET,
                                 socket.SOCK_DGRAM)
            if version == 6:
                sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
            sock.bind((str(src), 0))
            sockets[src] = sock
        try:
            sockets[src].sendto(b"", (str(dst), PORT))
            passed += 1
        except PermissionError:
            pass
    for sock in sockets.values():
        sock.close()
    return passed


class Firewall:
    """name: of the namespace; backend: "legacy" or "nft" """

    def __init__(self, name, backend):
        self.name, self.backend = name, backend
        must("no namespace", "ip", "netns", "add", name)
        self.fd = os.open(f"/run/netns/{name}", os.O_RDONLY)
        lines = ["link set lo up", "link add d0 type dummy", "link set d0 up",
                 "addr add 172.31.0.1/24 dev d0", "route add default dev d0",
                 f"route add local {LOCAL[0]} dev lo"]
        if has_ipv6():
            lines += ["-6 addr add fd31::1/64 dev d0 nodad", "-6 route add default dev d0",
                      f"-6 route add local {LOCAL[1]} dev lo"]
        for line in lines:
            must("no network", "ip", "-n", name, *line.split())
        self.env = {**os.environ, "XTABLES_LIBDIR": libraries()}
        self.kmsg = None

    def end(self):
        os.close(self.fd)
        must("cannot delete the namespace", "ip", "netns", "del", self.name)

    def call(self, *argv, text=None):
        given = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        return subprocess.run(argv, **given, capture_output=True, text=True, env=self.env,
                              preexec_fn=lambda: enter(self.fd))

    def child(self, action):
        """Runs an action in the namespace, in a process of its own. Returns the process id. The
        exit status is 0 if the action has returned."""
        pid = os.fork()
        if not pid:
            try:
                enter(self.fd)
                action()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        return pid

    def send(self, packets):
        """Returns how many were not dropped."""
        here, there = os.pipe()
        pid = self.child(lambda: os.write(there, str(transmit(packets)).encode()))
        os.close(there)
        with os.fdopen(here) as f:
            passed = f.read()
        if os.waitpid(pid, 0)[1]:
            raise Bail("cannot send packets")
        return int(passed)

    # --- sets ---

    def try_tool(self, *argv, text=None):
        return self.call(os.environ["IPCUCKOO"], *argv, text=text)

    def tool(self, *argv, text=None):
        done = self.try_tool(*argv, text=text)
        if done.returncode:
            raise Bail(f"ipcuckoo {' '.join(argv)}: {done.stderr.strip()}")
        return done.stdout

    def restore(self, *lines):
        self.tool("restore", text="\n".join(lines) + "\n")

    # --- rules ---

    def program(self, version, end=""):
        return f"ip{'6' if version == 6 else ''}tables-{self.backend}{end}"

    def iptables(self, version, *argv):
        return self.call(self.program(version), "-w", *argv)

    def must(self, version, *argv):
        done = self.iptables(version, *argv)
        if done.returncode:
            raise Bail(f"{self.program(version)} {' '.join(argv)}: {done.stderr.strip()}")
        return done.stdout

    def spec(self, words):
        """A rule for the packets of the test: others are those of the kernel."""
        return ["OUTPUT", "-p", "udp", "-m", "ipcuckoo", *words]

    def rule(self, version, *words, target=None):
        self.must(version, "-A", *self.spec(words), *(["-j", target] if target else []))

    def rules(self, version, *rules):
        """Adds many rules at once."""
        def quote(word):
            return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
        lines = ["*filter", *("-A " + " ".join(map(quote, self.spec(words))) for words in rules),
                 "COMMIT", ""]
        self.load(version, "\n".join(lines), "-n")

    def count_all(self, version):
        self.must(version, "-A", "OUTPUT", "-p", "udp")

    def flush(self, version):
        self.must(version, "-F")

    def counts(self, version):
        """Packets of each rule"""
        lines = self.must(version, "-nvxL", "OUTPUT").splitlines()[2:]
        return [int(line.split()[0]) for line in lines]

    def saved(self, version):
        done = self.call(self.program(version, "-save"))
        if done.returncode:
            raise Bail(f"{self.program(version, '-save')}: {done.stderr.strip()}")
        return done.stdout

    def load(self, version, text, *options):
        done = self.call(self.program(version, "-restore"), *options, text=text)
        if done.returncode:
            raise Bail(f"{self.program(version, '-restore')}: {done.stderr.strip()}")

    # --- the kernel's log ---

    def clear_log(self):
        """Skips what the kernel has logged so far."""
        if self.kmsg is not None:
            os.close(self.kmsg)
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.kmsg, 0, os.SEEK_END)

    def log(self):
        lines = []
        while True:
            try:
                lines.append(os.read(self.kmsg, 8192).decode(errors="replace"))
            except BlockingIOError:
                return "".join(lines)
