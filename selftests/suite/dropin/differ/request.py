# SPDX-License-Identifier: GPL-2.0
"""Requests that the tool ipset does not make: raw messages to ip_set, by its netlink protocol"""
import os
import socket
import struct

NETLINK_NETFILTER = 12
SUBSYSTEM = 6
REQUEST, ACK = 1, 4
NLMSG_ERROR = 2
NESTED, NET_ORDER = 0x8000, 0x4000

# Commands, and attributes of linux/netfilter/ipset/ip_set.h
CREATE, ADD = 2, 9
PROTOCOL, SETNAME, TYPENAME, REVISION, FAMILY, DATA = 1, 2, 3, 4, 5, 7
IP, CIDR, IP_TO, BITMASK, NETMASK, LINENO = 1, 3, 2, 12, 20, 9
IPV4, IPV6 = 1, 2


def attribute(kind, data):
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + bytes(-size % 4)


def byte(kind, value):
    return attribute(kind, bytes([value]))


def text(kind, value):
    return attribute(kind, value.encode() + b"\0")


def nested(kind, *attributes):
    return attribute(kind | NESTED, b"".join(attributes))


def host(kind, address):
    """An address in an attribute of this kind"""
    is_v6 = ":" in address
    return nested(kind, attribute((IPV6 if is_v6 else IPV4) | NET_ORDER, socket.inet_pton(
        socket.AF_INET6 if is_v6 else socket.AF_INET, address)))


def request(command, *attributes):
    """Sends a request. Returns the error of the kernel, 0 for none."""
    body = struct.pack("=BBH", 0, 0, 0) + byte(PROTOCOL, 6) + b"".join(attributes)
    head = struct.pack("=IHHII", 16 + len(body), SUBSYSTEM << 8 | command, REQUEST | ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as sock:
        sock.bind((0, 0))
        sock.send(head + body)
        answer = sock.recv(1 << 16)
    kind, = struct.unpack_from("=H", answer, 4)
    if kind != NLMSG_ERROR:
        raise OSError(f"{os.getpid()}: an answer of type {kind}")
    return -struct.unpack_from("=i", answer, 16)[0]


def create(name, kind, revision, family, *data):
    return request(CREATE, text(SETNAME, name), text(TYPENAME, kind), byte(REVISION, revision),
                   byte(FAMILY, family), nested(DATA, *data))


def add(name, *data):
    return request(ADD, text(SETNAME, name), nested(DATA, attribute(LINENO, bytes(4)), *data))
