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
CREATE, ADD, TYPE = 2, 9, 13
PROTOCOL, SETNAME, TYPENAME, REVISION, FAMILY, DATA, REVISION_MIN = 1, 2, 3, 4, 5, 7, 10
IP, CIDR, IP_TO, TIMEOUT, CADT_FLAGS, LINENO, BITMASK = 1, 3, 2, 6, 8, 9, 12
INITVAL, HASHSIZE, MAXELEM, NETMASK, BUCKETSIZE = 17, 18, 19, 20, 21
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


def number(kind, value):
    return attribute(kind | NET_ORDER, struct.pack("!I", value))


def ask(command, *attributes, flags=REQUEST):
    """Sends a request. Returns the first answer: its type, and what follows its header."""
    body = struct.pack("=BBH", 0, 0, 0) + byte(PROTOCOL, 6) + b"".join(attributes)
    head = struct.pack("=IHHII", 16 + len(body), SUBSYSTEM << 8 | command, flags, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as sock:
        sock.bind((0, 0))
        sock.send(head + body)
        answer = sock.recv(1 << 16)
    kind, = struct.unpack_from("=H", answer, 4)
    return kind, answer[16:]


def request(command, *attributes):
    """Sends a request. Returns the error of the kernel, 0 for none."""
    kind, answer = ask(command, *attributes, flags=REQUEST | ACK)
    if kind != NLMSG_ERROR:
        raise OSError(f"{os.getpid()}: an answer of type {kind}")
    return -struct.unpack_from("=i", answer)[0]


def revisions(kind, family):
    """(the first, the last) revision of a type that the kernel has, or its error"""
    answer_kind, answer = ask(TYPE, text(TYPENAME, kind), byte(FAMILY, family))
    if answer_kind == NLMSG_ERROR:
        return -struct.unpack_from("=i", answer)[0]
    found, at = {}, 4
    while at < len(answer):
        size, attr = struct.unpack_from("=HH", answer, at)
        found[attr] = answer[at + 4]
        at += size + 3 & ~3
    return found[REVISION_MIN], found[REVISION]


def create(name, kind, revision, family, *data):
    return request(CREATE, text(SETNAME, name), text(TYPENAME, kind), byte(REVISION, revision),
                   byte(FAMILY, family), nested(DATA, *data))


def add(name, *data):
    return request(ADD, text(SETNAME, name), nested(DATA, attribute(LINENO, bytes(4)), *data))
