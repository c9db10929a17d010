# SPDX-License-Identifier: GPL-2.0
"""Network namespaces, and packets between a firewall and a client:

      client                                  firewall: this process, the sets and the rules
    +------------------------------+        +-----------------------------+
    |                        eth0  |--veth--|  eth0                       |
    |  172.31.0.2        fd00::2   |        |  172.31.0.1       fd00::1   |
    |  10.0.0.0/8  2001:db8::/33   |        |  203.0.113.0/24             |
    |  192.0.2.0/24                |        |  2001:db8:ffff::/48         |
    +------------------------------+        +-----------------------------+

Each of them has all addresses below its own, so that packets can have any of these as source and
destination. Neighbours are permanent, and nobody answers.
"""
import ctypes
import os
import socket
import subprocess

from .ktap import Bail

CLONE_NEWNET = 0x40000000
PORT = 9
# A number for experiments: IEEE 802 leaves it to us.
ETHERTYPE = 0x88b5
SECONDS = 60
# From linux/in6.h. IPv6 does not take the address of a local route for one of the host's own.
IPV6_FREEBIND = 78

libc = ctypes.CDLL(None, use_errno=True)

FIREWALL = ["203.0.113.0/24", "2001:db8:ffff::/48"]
CLIENT = ["10.0.0.0/8", "192.0.2.0/24", "2001:db8::/33"]
MACS = {"firewall": "02:00:00:00:00:01", "client": "02:00:00:00:00:02"}

SYSCTLS = {
    "ipv4/conf/all/rp_filter": 0,
    "ipv4/conf/default/rp_filter": 0,
    "ipv6/conf/all/accept_ra": 0,
    "ipv6/conf/default/accept_ra": 0,
    "ipv6/conf/default/accept_dad": 0,
    "ipv6/conf/default/router_solicitations": 0,
}


def check(result):
    if result:
        raise Bail(f"network namespaces: {os.strerror(ctypes.get_errno())}")


def new_namespace():
    """Moves this process into a new one. The old one ends if nothing else uses it."""
    check(libc.unshare(CLONE_NEWNET))


def namespace():
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(fd):
    check(libc.setns(fd, CLONE_NEWNET))


def ip(*batch):
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(batch), capture_output=True,
                          text=True)
    if done.returncode:
        raise Bail(f"cannot set up the network: {done.stderr.strip()}")


def is_ipv6(address):
    return ":" in address


def has_ipv6():
    return os.path.isdir("/proc/sys/net/ipv6")


def quieten():
    for name, value in SYSCTLS.items():
        if has_ipv6() or name.startswith("ipv4"):
            with open(f"/proc/sys/net/{name}", "w") as f:
                f.write(str(value))


def end(own, own_mac, peer, peer_mac, local):
    """Configures one end of the link: its addresses, its neighbour, and a route to it."""
    lines = [f"link set eth0 address {own_mac} up", "link set lo up"]
    for bits, at in ((24, 0), (64, 1)) if has_ipv6() else ((24, 0),):
        lines += [f"addr add {own[at]}/{bits} dev eth0{' nodad' * at}",
                  f"neigh replace {peer[at]} lladdr {peer_mac} dev eth0 nud permanent",
                  f"route add default via {peer[at]}"]
    lines += [f"route add local {prefix} dev lo" for prefix in local
              if has_ipv6() or not is_ipv6(prefix)]
    ip(*lines)


class Net:
    """The network above; this process is in the firewall."""

    def __init__(self):
        self.sockets = {}
        new_namespace()
        self.client = namespace()
        quieten()
        new_namespace()
        self.firewall = namespace()
        quieten()
        self.connect()
        self.receivers = [self.receiver(where, family) for where in (self.client, self.firewall)
                          for family in ([socket.AF_INET, socket.AF_INET6] if has_ipv6()
                                         else [socket.AF_INET])]
        # One that sends marks and one that receives them, in each direction
        self.marks = {where: self.within(where, self.mark_socket)
                      for where in (self.client, self.firewall)}

    def connect(self):
        own, peer = ("172.31.0.1", "fd00::1"), ("172.31.0.2", "fd00::2")
        ip("link add eth0 type veth peer name other")
        ip(f"link set other netns /proc/{os.getpid()}/fd/{self.client} name eth0")
        end(own, MACS["firewall"], peer, MACS["client"], FIREWALL)
        self.within(self.client, lambda: end(peer, MACS["client"], own, MACS["firewall"], CLIENT))

    def close(self):
        for each in [*self.sockets.values(), *self.receivers, *self.marks.values()]:
            each.close()
        os.close(self.client)
        os.close(self.firewall)

    def within(self, where, action):
        """Does something in a namespace. A socket stays in that in which it was made."""
        enter(where)
        try:
            return action()
        finally:
            enter(self.firewall)

    def receiver(self, where, family):
        def make():
            each = socket.socket(family, socket.SOCK_DGRAM)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind(("", PORT))
            each.setblocking(False)
            return each
        return self.within(where, make)

    def mark_socket(self):
        each = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        each.bind(("eth0", ETHERTYPE))
        each.settimeout(SECONDS)
        return each

    def of_firewall(self, address):
        return address.startswith(("203.0.113.", "2001:db8:ffff:", "172.31.0.1", "fd00::1"))

    def sender(self, source):
        if source not in self.sockets:
            def make():
                each = socket.socket(socket.AF_INET6 if is_ipv6(source) else socket.AF_INET,
                                     socket.SOCK_DGRAM)
                if is_ipv6(source):
                    each.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
                each.bind((source, 4000))
                return each
            where = self.firewall if self.of_firewall(source) else self.client
            self.sockets[source] = self.within(where, make)
        return self.sockets[source]

    def arrived(self):
        count = 0
        for each in self.receivers:
            try:
                while each.recv(64):
                    count += 1
            except BlockingIOError:
                pass
        return count

    def settle(self, source):
        """Waits until the packets sent before are through: sends a frame that no rule sees."""
        here, there = self.client, self.firewall
        if self.of_firewall(source):
            here, there = there, here
        frame = b"\xff" * 6 + b"\2" + b"\0" * 5 + ETHERTYPE.to_bytes(2, "big") + bytes(50)
        self.marks[here].send(frame)
        try:
            self.marks[there].recv(128)
        except TimeoutError:
            raise Bail(f"a frame has not arrived after {SECONDS} s") from None

    def send(self, source, destination, count):
        """How many of these packets arrive? A rule in OUTPUT that drops one is an error of send."""
        sender = self.sender(source)
        for _ in range(count):
            try:
                sender.sendto(b"packet", (destination, PORT))
            except PermissionError:
                pass
        self.settle(source)
        return self.arrived()
