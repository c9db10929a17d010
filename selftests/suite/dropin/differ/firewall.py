# SPDX-License-Identifier: GPL-2.0
"""A namespace whose own packets make rules change and ask a set"""
import contextlib
import os
import socket
import time

from .ktap import Bail
from .net import new_namespace
from .types import must
from .zygote import Zygote


class Firewall:
    """A namespace with a set s. A packet to 10.0.0.0/8 does what the rule of its port says, and
    leaves through a device that drops it.

    rules: by destination port. ask: the port whose rule drops packets that match. usual: the ports
    whose rules sets get."""

    def __init__(self, rules, ask, usual):
        self.by_port, self.ask, self.usual = rules, ask, usual
        new_namespace()
        for line in ("link add d0 type dummy", "addr add 10.0.0.1/8 dev d0", "link set d0 up"):
            must("no network", "ip", *line.split())
        self.zygote = Zygote("/")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def close(self):
        self.zygote.close()
        self.socket.close()

    def ipset(self, line, text=""):
        """(exit status, output) of ipset"""
        status, out, _ = self.zygote.run(line.split(), text)
        return status, out

    def rules(self, ports):
        must("no rules", "iptables", "-w", "-F")
        for port in ports:
            must("no rule", "iptables", "-w", "-A", "OUTPUT", "-p", "udp", "--dport", str(port),
                 *self.by_port[port].split())

    def create(self, options, ports=None):
        must("no rules", "iptables", "-w", "-F")
        self.ipset("destroy")
        if self.ipset(f"create s {options}")[0]:
            raise Bail(f"cannot create a set: {options}")
        self.rules(self.usual if ports is None else ports)

    def send(self, port, to):
        """Was the packet dropped?"""
        try:
            self.socket.sendto(b"", (to, port))
        except PermissionError:
            return True
        return False

    def has(self, to):
        return self.send(self.ask, to)

    def members(self, name="s"):
        """Lines by their elements"""
        out = self.ipset(f"list {name}")[1]
        lines = out[out.index("Members:\n"):].splitlines()[1:] if "Members:\n" in out else []
        return {line.split()[0]: line for line in lines}

    def policy(self, policy, priority):
        for pid in 0, self.zygote.process.pid:
            os.sched_setscheduler(pid, policy, os.sched_param(priority))

    @contextlib.contextmanager
    def held(self):
        """Meanwhile no change is stored, unless this process sleeps."""
        self.policy(os.SCHED_FIFO, 1)
        try:
            yield
        finally:
            self.policy(os.SCHED_OTHER, 0)
            time.sleep(0.02)
