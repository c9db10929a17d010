# SPDX-License-Identifier: GPL-2.0
"""Routes of the kernel: changed by messages of rtnetlink, and read by ip(8)"""
import errno
import ipaddress
import json
import os
import socket
import struct
import subprocess

NEWROUTE, DELROUTE = 24, 25
REQUEST, ACK, REPLACE, EXCL, CREATE, APPEND = 1, 4, 0x100, 0x200, 0x400, 0x800
TYPES = {"unicast": 1, "blackhole": 6, "unreachable": 7, "prohibit": 8}
DST, OIF, PRIORITY, TABLE, NH_ID = 1, 4, 6, 15, 30
# What may go wrong if routes are changed at random
HARMLESS = {0, errno.EEXIST, errno.ESRCH, errno.ENOENT}
# Messages that are sent at once
BATCH = 200


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def message(kind, flags, net, table, type_="blackhole", proto=12, metric=0, tos=0, nexthop=0):
    """A request about one route"""
    net = ipaddress.ip_network(net)
    family = socket.AF_INET6 if net.version == 6 else socket.AF_INET
    scope = 254 if type_ == "unicast" and net.version == 4 else 0
    if kind == DELROUTE:
        scope = 255
    body = struct.pack("=BBBBBBBBI", family, net.prefixlen, 0, tos,
                       table if table < 256 else 0, proto, scope, TYPES.get(type_, 0), 0)
    body += attribute(DST, net.network_address.packed) + attribute(TABLE, struct.pack("=I", table))
    if metric:
        body += attribute(PRIORITY, struct.pack("=I", metric))
    if nexthop:
        body += attribute(NH_ID, struct.pack("=I", nexthop))
    elif type_ == "unicast":
        body += attribute(OIF, struct.pack("=I", socket.if_nametoindex("lo")))
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, 1, 0) + body


class Kernel:
    def __init__(self):
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.socket.bind((0, 0))

    def change(self, kind, flags, net, table, **keys):
        """Sends a request; returns the errno of the answer."""
        self.socket.send(message(kind, flags | ACK, net, table, **keys))
        return -struct.unpack_from("=i", self.socket.recv(65536), 16)[0]

    def add(self, net, table, flags=CREATE | EXCL, **keys):
        return self.change(NEWROUTE, flags, net, table, **keys)

    def delete(self, net, table, type_=None, proto=0, **keys):
        """Without more, any route to the destination"""
        return self.change(DELROUTE, 0, net, table, type_=type_, proto=proto, **keys)

    def storm(self, kind, nets, table, **keys):
        """Many at once. The errors of the kernel are not read."""
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
            s.bind((0, 0))
            flags = CREATE | REPLACE if kind == NEWROUTE else 0
            for at in range(0, len(nets), BATCH):
                s.send(b"".join(message(kind, flags, net, table, **keys)
                                for net in nets[at:at + BATCH]))


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(words)}: {done.stderr}")
    return done.stdout


def flush(table):
    """Deletes all routes of a table but those of IPv4 that refer to nexthop objects, for which ip
    sends a request that the kernel refuses."""
    for family in ("-4", "-6"):
        subprocess.run(["ip", family, "route", "flush", "table", str(table)], capture_output=True)


def routes(table):
    """All routes of a table, as ip prints them, with numbers: a list of (network, route)"""
    found = []
    for family in ("-4", "-6"):
        done = subprocess.run(["ip", family, "-N", "-j", "-d", "route", "show", "table",
                               str(table)], capture_output=True, text=True,
                              env={**os.environ, "LC_ALL": "C"})
        if done.returncode:
            if "does not exist" not in done.stderr:
                raise RuntimeError(done.stderr)
            continue
        for route in json.loads(done.stdout or "[]"):
            dst = route["dst"]
            if dst == "default":
                dst = "0.0.0.0/0" if family == "-4" else "::/0"
            found.append((ipaddress.ip_network(dst), route))
    return found
