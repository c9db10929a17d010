#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Attachments with "proto" and "dport" act on packets to these ports, and on no others: random
attachments, and frames of TCP, UDP, SCTP and other protocols, whole and fragmented, behind options,
extension headers and VLAN tags, or cut off. Some first fragments end before the port. The client sends
them, the firewall sends them back, and what comes back and is counted must be what a naive reference
says. "xdp": the attachments are in XDP.
KTAP. SEED repeats a run."""
import json
import os
import random
import socket
import struct
import sys
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(here, "../dropin")]

from differ import ktap
from differ.net import MACS, SECONDS, Net, has_ipv6
from differ.types import call, must, unload

ROUNDS = 12
FRAMES = 150
TOOL = os.environ["IPCUCKOO"]
PROTOCOLS = {"tcp": 6, "udp": 17, "sctp": 132}
# Those without ports: ICMP, GRE, ESP, UDP-Lite, ICMPv6, no next header
OTHERS = (1, 47, 50, 136, 58, 59)
PORTS = (0, 1, 22, 25, 79, 80, 85, 90, 91, 443, 65534, 65535)
# Sources: one in the sets, one not. Destinations, which are the client's own, too
SOURCES = {4: ("192.0.2.7", "192.0.2.200"), 6: ("2001:db8:1::7", "2001:db8:2::7")}
DESTINATIONS = {4: ("10.1.1.1", "10.2.2.2"), 6: ("2001:db8:3::1", "2001:db8:4::1")}
SETS = ("plain", "counted", "masked")
# From asm-generic/socket.h
SO_RCVBUFFORCE = 33
HOP, ROUTING, FRAGMENT, AUTH, DEST = 0, 43, 44, 51, 60


def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


class Frame:
    """A frame. dport: the port that an attachment must find; None: it has none. later: the protocols of
    which a later fragment may have a port, as this one ends before it. number: by which it is found again:
    the identification of IPv4, the flow label of IPv6. early: the attachments are in front of IP, and
    count what is behind the packet, too."""

    def __init__(self, rng, number, early):
        self.number = number
        self.family = rng.choice((4, 6) if has_ipv6() else (4,))
        self.protocol = rng.choice((*PROTOCOLS.values(), *PROTOCOLS.values(), *OTHERS))
        self.listed = rng.random() < 0.8, rng.random() < 0.5
        self.source = SOURCES[self.family][not self.listed[0]]
        self.destination = DESTINATIONS[self.family][not self.listed[1]]
        port = rng.choice(PORTS)
        # Behind the ports of these protocols are at least four bytes more.
        payload = struct.pack(">HH", rng.choice(PORTS), port) + bytes(rng.choice((4, 16, 60)))
        if rng.random() < 0.1:
            payload = payload[:rng.randrange(4)]
        # "only": no fragment follows; IPv6 then has a header of fragments all the same.
        fragment = rng.choice((None, None, None, "first", "first", "only", "later"))
        # The first fragment has a multiple of 8 bytes.
        if fragment == "first":
            payload = payload[:len(payload) & ~7]
        has_ports = self.protocol in PROTOCOLS.values() and len(payload) >= 4 and fragment != "later"
        self.dport = port if has_ports else None
        self.later = ()
        # Bytes of the frame behind the packet
        self.surplus = 0
        self.tags = rng.choice((0, 0, 0, 1, 2))
        build = self.build4 if self.family == 4 else self.build6
        self.data = self.ethernet() + build(rng, payload, fragment)
        self.bytes = len(self.data) - 14 - 4 * self.tags - (0 if early else self.surplus)

    def ethernet(self):
        macs = b"".join(bytes.fromhex(MACS[end].replace(":", "")) for end in ("firewall", "client"))
        # Tags of VLAN 0: the kernel removes them.
        return macs + struct.pack(">HH", 0x8100, 0) * self.tags + (
            b"\x08\x00" if self.family == 4 else b"\x86\xdd")

    def build4(self, rng, payload, fragment):
        options = b"\x01" * (4 * rng.choice((0, 0, 1, 10)))
        offset = {None: 0, "only": 0, "first": 0x2000, "later": rng.choice((1, 0x2001, 100))}[fragment]
        header = struct.pack(">BBHHHBBH4s4s", 0x45 + len(options) // 4, 0,
                             20 + len(options) + len(payload), self.number, offset, 64,
                             self.protocol, 0, socket.inet_aton(self.source),
                             socket.inet_aton(self.destination)) + options
        return header[:10] + struct.pack(">H", checksum(header)) + header[12:] + payload

    def build6(self, rng, payload, fragment):
        kinds = [kind for kind in (HOP, DEST, ROUTING) if rng.random() < 0.3]
        if fragment:
            kinds.append(FRAGMENT)
        kinds += [kind for kind in (AUTH, DEST) if rng.random() < 0.2]
        # Behind a later fragment's header are bytes from the middle.
        following = [*kinds[1:], self.protocol]
        headers = b""
        starts = []     # where each header begins, the protocol's the last one
        for kind, following_kind in zip(kinds, following):
            starts.append(len(headers))
            if kind == FRAGMENT:
                offset = {"only": 0, "first": 1, "later": rng.choice((8, 9, 800))}[fragment]
                headers += struct.pack(">BBHI", following_kind, 0, offset, self.number)
                continue
            # The kernel drops packets whose hop-by-hop options have more padding.
            units = 0 if kind == HOP else rng.choice((0, 0, 1, 5))
            if kind == AUTH:
                # In units of 4 bytes
                headers += struct.pack(">BB", following_kind, 1 + 2 * units) + bytes(10 + 8 * units)
            elif kind == ROUTING:
                headers += struct.pack(">BBBB", following_kind, 2 * units, 4, 0) + bytes(
                    4 + 16 * units)
            else:
                size = 4 + 8 * units
                headers += struct.pack(">BBBB", following_kind, units, 1, size) + bytes(size)
        data = headers + payload
        length = len(data)
        if fragment in ("first", "only"):
            starts.append(len(headers))
            length = self.end_early(rng, list(zip([*kinds, self.protocol], starts)), length)
            if fragment == "only":
                self.later = ()
            if rng.random() < 0.5:
                data = data[:length]
            self.surplus = len(data) - length
        return struct.pack(">IHBB16s16s", 6 << 28 | self.number, length,
                           kinds[0] if kinds else self.protocol, 64,
                           socket.inet_pton(socket.AF_INET6, self.source),
                           socket.inet_pton(socket.AF_INET6, self.destination)) + data

    def end_early(self, rng, headers, length):
        """Where a first fragment ends: sometimes somewhere behind its header of fragments. headers: their
        kinds and where they begin; the last one is the protocol's."""
        if rng.random() < 0.5:
            earliest = dict(headers)[FRAGMENT] + 8
            length = rng.randrange(earliest, length + 1, 8)
        kind, start = headers[-1]
        if start + 4 > length:
            self.dport = None
            self.later = (kind,)
        # The first bytes of a header say which one follows.
        if any(start + 2 > length for _, start in headers[:-1]):
            self.later = tuple(PROTOCOLS.values())
        return length


def number_of(data):
    """The number of a frame that has come back; None: it is none of the test's"""
    kind = data[12:14]
    if kind == b"\x08\x00":
        return struct.unpack_from(">H", data, 18)[0]
    return struct.unpack_from(">I", data, 14)[0] & 0xfffff if kind == b"\x86\xdd" else None


class Attachment:
    """One that is made, and what the reference counts for it"""

    def __init__(self, rng, place):
        self.set = rng.choice(SETS)
        self.direction = rng.choice(("src", "src", "dst", "both"))
        self.verdict = rng.choice(("drop", "drop", "accept", "count"))
        self.protocol = rng.choice((None, *PROTOCOLS, *PROTOCOLS))
        self.ports = set()
        self.words = [self.set, self.direction, self.verdict, *place.split()]
        if self.protocol:
            self.words += ["proto", self.protocol, "dport", ",".join(self.draw_ports(rng))]
        self.packets = self.bytes = 0

    def draw_ports(self, rng):
        for _ in range(rng.choice((1, 1, 2, 5, 15))):
            first = last = rng.choice(PORTS)
            if rng.random() < 0.3:
                last = rng.choice([port for port in PORTS if port >= first])
            self.ports |= set(range(first, last + 1))
            yield str(first) if first == last else f"{first}{rng.choice('-:')}{last}"

    def concerns(self, frame):
        """Is it about the ports of a frame?"""
        protocol = PROTOCOLS.get(self.protocol)
        return (not protocol or (frame.protocol == protocol and frame.dport in self.ports) or
                (self.verdict == "drop" and protocol in frame.later))

    def matches(self, frame):
        if not self.concerns(frame):
            return False
        # The set "masked" is one of IPv4.
        if self.set == "masked" and frame.family == 6:
            return False
        return ((self.direction != "dst" and frame.listed[0]) or
                (self.direction != "src" and frame.listed[1]))


ORDER = {"accept": 100, "count": 200, "drop": 300}


def passes(attachments, frame):
    """The reference: also counts"""
    for at in sorted(attachments, key=lambda at: ORDER[at.verdict]):
        if at.matches(frame):
            at.packets += 1
            at.bytes += frame.bytes
            if at.verdict != "count":
                return at.verdict == "accept"
    return True


def attach_one(place):
    """Attaches one set to all ports, so that frames of all kinds are dropped, and others are not."""
    at = Attachment(random.Random(0), place)
    at.set, at.direction, at.verdict, at.protocol = "plain", "src", "drop", None
    must("cannot attach", TOOL, "--force", "attach", "plain", "src", "drop", *place.split())
    return [at]


def attach_some(rng, place):
    attachments = []
    while len(attachments) < 5:
        at = Attachment(rng, place)
        # The same may be attached already.
        if not call(TOOL, "--force", "attach", *at.words).returncode:
            attachments.append(at)
    return attachments


def listen(net):
    """A socket of the client that receives what comes back"""
    def make():
        each = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        each.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)
        each.bind(("eth0", 3))
        return each
    return net.within(net.client, make)


def receive(net, client, frames, expected):
    """The numbers of the frames that come back. Waits for those that are expected, and then for one that
    was sent last."""
    back = set()
    end = time.monotonic() + SECONDS
    sent = {frame.number for frame in frames}
    client.settimeout(0.1)
    while time.monotonic() < end and not expected <= back:
        try:
            data, (_, _, kind, *_) = client.recvfrom(4096)
        except TimeoutError:
            continue
        if kind != socket.PACKET_OUTGOING and number_of(data) in sent:
            back.add(number_of(data))
    net.settle("10.0.0.1")
    net.settle("172.31.0.1")
    client.setblocking(False)
    try:
        while True:
            data, (_, _, kind, *_) = client.recvfrom(4096)
            if kind != socket.PACKET_OUTGOING and number_of(data) in sent:
                back.add(number_of(data))
    except BlockingIOError:
        pass
    return back


def differences(net, client, attachments, frames):
    """Yields what differs from the reference."""
    expected = {frame.number for frame in frames if passes(attachments, frame)}
    for frame in frames:
        client.send(frame.data)
    back = receive(net, client, frames, expected)
    differences.fates |= {(frame.family, "later" if frame.later else frame.dport is not None,
                           frame.number in back) for frame in frames}
    for frame in frames:
        if (frame.number in expected) != (frame.number in back):
            yield (f"frame {frame.number} {'came' if frame.number in back else 'did not come'} back:"
                   f" protocol {frame.protocol}, port {frame.dport}, {frame.data.hex()}")
    stats = json.loads(must("cannot read the counters", TOOL, "-j", "stats"))["attachments"]
    # Those of one order are in the order in which they were made.
    for at, have in zip(sorted(attachments, key=lambda at: ORDER[at.verdict]), stats):
        if (at.packets, at.bytes) != (have["packets"], have["bytes"]):
            yield (f"{' '.join(at.words)}: counted {have['packets']} packets, {have['bytes']} bytes,"
                   f" expected {at.packets}, {at.bytes}")
    counted = sum(at.packets for at in attachments if at.set == "counted")
    listing = json.loads(must("cannot list", TOOL, "-j", "list", "counted"))[0]["members"]
    have = sum(member["packets"] for member in listing)
    if counted != have:
        yield f"the entries of a set counted {have} packets, its attachments {counted}"


def prepare():
    for line in ("plain hash:net family any", "counted hash:net family any counters",
                 "masked hash:ip netmask 25"):
        must("cannot create a set", TOOL, "create", *line.split())
    for name in SETS:
        for family in (4,) if name == "masked" else (4, 6):
            for address in SOURCES[family][0], DESTINATIONS[family][0]:
                must("cannot add", TOOL, "--force", "-exist", "add", name, address)
    for name, value in {"ipv4/ip_forward": 1, "ipv4/conf/all/send_redirects": 0,
                        "ipv4/conf/eth0/send_redirects": 0, "ipv4/icmp_echo_ignore_all": 1,
                        "ipv6/conf/all/forwarding": 1}.items():
        if has_ipv6() or name.startswith("ipv4"):
            with open(f"/proc/sys/net/{name}", "w") as f:
                f.write(str(value))


def places():
    if sys.argv[1:] == ["xdp"]:
        return ["xdp dev eth0"]
    must("cannot create a set", TOOL, "create", "probe", "hash:ip")
    ingress = not call(TOOL, "attach", "probe", "src", "count", "ingress", "dev", "eth0").returncode
    return ["", "dev eth0 priority -399"] + ["ingress dev eth0"] * ingress


def body(out):
    seed = os.environ.get("SEED") or str(random.randrange(1 << 32))
    out.note(f"SEED={seed} repeats this run")
    rng = random.Random(seed)
    differences.fates = set()
    must("cannot load the module", "insmod", os.environ["IPCUCKOO_KO"])
    if "xdp" in sys.argv:
        must("cannot load the module", "insmod", os.environ["IPCUCKOO_BPF_KO"])
    net = Net()
    client = listen(net)
    prepare()
    for place in places():
        for number in range(ROUNDS):
            must("cannot detach", TOOL, "--force", "detach", "--all")
            must("cannot reset counters", TOOL, "--force", "add", "counted", "-exist",
                 SOURCES[4][0], "packets", "0", "bytes", "0")
            for address in SOURCES[6][0], DESTINATIONS[4][0], DESTINATIONS[6][0]:
                must("cannot reset counters", TOOL, "--force", "add", "counted", "-exist",
                     address, "packets", "0", "bytes", "0")
            attachments = attach_some(rng, place) if number else attach_one(place)
            frames = [Frame(rng, 1 + i, place.startswith(("ingress", "xdp"))) for i in range(FRAMES)]
            wrong = list(differences(net, client, attachments, frames))
            if wrong:
                out.note("\n".join(wrong[:4]) + "\n" + call(TOOL, "save", "--all").stdout)
            out.case(f"{place or 'ip'}, round {number + 1}", not wrong)
            if wrong:
                return
    kinds = {4: (False, True), 6: (False, True, "later")} if has_ipv6() else {4: (False, True)}
    out.case("frames with and without ports came back, and did not",
             differences.fates == {(family, ports, back) for family, each in kinds.items()
                                   for ports in each for back in (False, True)})
    must("cannot detach", TOOL, "--force", "detach", "--all")
    client.close()
    net.close()
    if "xdp" in sys.argv:
        unload("ipcuckoo_bpf")
    unload("ipcuckoo")


ktap.run(body)
