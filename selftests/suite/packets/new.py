#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Attachments with "new" act on new connections only: connections of TCP and UDP, IPv4 and IPv6, some
of them established before their peer is listed; related packets; packets that are not tracked; and when
connection tracking is on. KTAP."""
import json
import os
import socket
import subprocess
import sys
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(here, "../dropin")]

from differ import ktap
from differ.net import Net, has_ipv6, namespace, new_namespace
from differ.types import call, must, unload

TOOL = os.environ["IPCUCKOO"]
SECONDS = 60
# How long to wait for what must not come
SILENCE = 0.5
# The peer, an address of the client that is never listed, and the firewall
ADDRESSES = {4: ("192.0.2.7", "192.0.2.8", "203.0.113.1"),
             6: ("2001:db8::7", "2001:db8::8", "2001:db8:ffff::1")}
FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
COUNT = "/proc/sys/net/netfilter/nf_conntrack_count"


def tool(*words):
    must("the tool fails", TOOL, "--force", *words)


def bound(net, where, family, kind, address, port=0):
    """A socket in a namespace"""
    def make():
        each = socket.socket(FAMILIES[family], kind)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == 6:
            each.setsockopt(socket.IPPROTO_IPV6, 78, 1)     # IPV6_FREEBIND
        each.bind((address, port))
        each.settimeout(SECONDS)
        return each
    return net.within(where, make)


class Connection:
    """A connection of TCP: @peer is an address of the client. out: the firewall opens it."""

    def __init__(self, net, family, peer, port, out=False, patience=SECONDS):
        ends = (net.firewall, ADDRESSES[family][2]), (net.client, peer)
        opener, listener = ends if out else ends[::-1]
        server = bound(net, *listener[:1], family, socket.SOCK_STREAM, listener[1], port)
        server.listen()
        self.sockets = [server]
        near = bound(net, opener[0], family, socket.SOCK_STREAM, opener[1])
        self.sockets.append(near)
        near.settimeout(patience)
        try:
            near.connect((listener[1], port))
            self.opened = True
        except TimeoutError:
            self.opened = False
            return
        far = server.accept()[0]
        far.settimeout(SECONDS)
        self.sockets.append(far)
        self.client, self.firewall = (far, near) if out else (near, far)

    def works(self):
        """Do bytes pass in both directions?"""
        for here, there in (self.client, self.firewall), (self.firewall, self.client):
            here.send(b"hello")
            if there.recv(5) != b"hello":
                return False
        return True

    def close(self):
        for each in self.sockets:
            each.close()
        return self


def opens(net, family, peer, port, out=False, patience=SILENCE):
    return Connection(net, family, peer, port, out, patience).close().opened


def attach(*words):
    tool("-exist", "detach", "peers")
    tool("attach", "peers", *words)


def fresh_set(*entries):
    tool("flush", "peers")
    for entry in entries:
        tool("add", "peers", entry)


def counted():
    return json.loads(must("no stats", TOOL, "-j", "stats"))["attachments"][0]["packets"]


def tracked():
    """Does the namespace of this process track connections? There is no file without nf_conntrack."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        before = read_count()
        own.bind(("127.0.0.1", 0))
        own.sendto(b"x", own.getsockname())
        return read_count() > before


def read_count():
    try:
        with open(COUNT) as f:
            return int(f.read())
    except FileNotFoundError:
        return 0


def test_connections(out, net, family):
    peer, other, own = ADDRESSES[family]

    def case(text, passed):
        out.case(f"IPv{family}: {text}", passed)
    fresh_set()
    attach("src", "drop", "new")
    old = Connection(net, family, peer, 1000)
    case("a connection from an address that is not listed", old.works())
    fresh_set(peer)
    case("it goes on when the address is listed", old.works() and counted() == 0)
    case("another one from there cannot be opened", not opens(net, family, peer, 1001))
    case("its packets are counted", counted() > 0)
    case("from another address it can", opens(net, family, other, 1002, patience=SECONDS))
    case("and to the address that is listed", opens(net, family, peer, 1003, True, SECONDS))
    case("the old one still goes on", old.works())
    attach("src", "drop", "new", "proto", "tcp", "dport", "1000-1009")
    case("new and ports: a new connection to one of them", not opens(net, family, peer, 1001))
    case("new and ports: to another one", opens(net, family, peer, 2001, patience=SECONDS))
    case("new and ports: the old one", old.works())
    attach("dst", "drop", "new")
    case("dst: the old one", old.works() and counted() == 0)
    case("dst: a new one to the address", not opens(net, family, peer, 1004, True) and counted())
    case("dst: a new one from the address", opens(net, family, peer, 1005, patience=SECONDS))
    attach("both", "mark", "0x1", "new")
    case("other verdicts: the old one is not counted", old.works() and counted() == 0)
    case("other verdicts: a new one is", opens(net, family, peer, 1006, patience=SECONDS) and
         counted() == 1)
    # So that the bytes that are dropped do not come later, this is the last use of it.
    attach("src", "drop")
    with_drop = bound(net, net.firewall, family, socket.SOCK_DGRAM, own, 1007)
    old.client.send(b"hello")
    old.firewall.settimeout(SILENCE)
    try:
        case("without new, the old one ends", old.firewall.recv(5) is None)
    except TimeoutError:
        case("without new, the old one ends", True)
    with_drop.close()
    old.close()


def test_datagrams(out, net, family):
    peer, other, own = ADDRESSES[family]

    def case(text, passed):
        out.case(f"IPv{family}, UDP: {text}", passed)

    def arrives(here, there, to):
        here.sendto(b"hello", to)
        try:
            return there.recv(5) == b"hello"
        except TimeoutError:
            return False
    fresh_set(peer)
    attach("src", "drop", "new")
    client = bound(net, net.client, family, socket.SOCK_DGRAM, peer, 3000)
    firewall = bound(net, net.firewall, family, socket.SOCK_DGRAM, own, 3001)
    firewall.settimeout(SILENCE)
    case("a first packet is dropped", not arrives(client, firewall, (own, 3001)))
    firewall.settimeout(SECONDS)
    case("the firewall sends one", arrives(firewall, client, (peer, 3000)))
    case("the answer passes", arrives(client, firewall, (own, 3001)))
    # An error of ICMP is related to the packet that it is about.
    firewall.connect((peer, 3999))
    firewall.send(b"hello")
    try:
        case("a related error arrives", not firewall.recv(5))
    except (ConnectionRefusedError, TimeoutError) as e:
        case("a related error arrives", isinstance(e, ConnectionRefusedError))
    client.close()
    firewall.close()


def test_untracked(out, net):
    peer = ADDRESSES[4][0]
    fresh_set()
    attach("src", "drop", "new")
    old = Connection(net, 4, peer, 1100)
    fresh_set(peer)
    rules = ("table ip n { chain c { type filter hook prerouting priority raw; tcp dport 1100 notrack; };"
             " chain o { type filter hook output priority raw; tcp sport 1100 notrack; }; }")
    if subprocess.run(["nft", rules], capture_output=True).returncode:
        out.skip("what is not tracked counts as new", "no nft, or no notrack")
    else:
        old.client.send(b"hello")
        old.firewall.settimeout(SILENCE)
        try:
            out.case("what is not tracked counts as new", old.firewall.recv(5) is None)
        except TimeoutError:
            out.case("what is not tracked counts as new", counted() > 0)
        must("cannot delete a table", "nft", "delete table ip n")
    old.close()


def test_accept(out, net):
    """accept shields from "drop new" only at the same priority, and the tool warns."""
    peer = ADDRESSES[4][0]
    there = "ipcuckoo attach friends src accept priority -199\n"

    def warning(*words):
        done = call(TOOL, "--force", "attach", *words)
        return done.stderr if not done.returncode else "it failed"

    def warned(*words):
        said = warning(*words)
        return "Warning: set peers " in said and there in said
    tool("create", "friends", "hash:ip")
    tool("add", "friends", peer)
    fresh_set(peer)
    attach("src", "drop", "new")
    out.case("accept behind drop new: a warning", warned("friends", "src", "accept"))
    out.case("it does not let packets past", not opens(net, 4, peer, 1201))
    tool("detach", "peers")
    out.case("accept in front of drop new: a warning", warned("peers", "src", "drop", "new"))
    out.case("none for another direction, and without new",
             not warning("peers", "dst", "drop", "new") and not warning("peers", "src", "drop"))
    tool("detach", "peers")
    out.case("none at the same priority",
             not warning("friends", "src", "accept", "priority", "-199") and
             not warning("peers", "src", "drop", "new"))
    out.case("it lets packets past", opens(net, 4, peer, 1201, patience=SECONDS))
    tool("detach", "--all")
    tool("destroy", "friends")


def test_refused(out):
    for words, why in ((("ingress", "dev", "eth0"), "ingress comes before connection tracking"),
                       (("xdp", "dev", "eth0"), "xdp comes before connection tracking"),
                       (("priority", "-200"), "new needs a priority above -200"),
                       (("priority", "-450"), "without priority it is -199")):
        done = call(TOOL, "attach", "peers", "src", "drop", "new", *words)
        out.case(f"refused: new {' '.join(words)}", done.returncode == 2 and why in done.stderr)
    attach("src", "drop", "new")
    first = json.loads(must("no stats", TOOL, "-j", "stats"))["attachments"][0]
    out.case("the default priority", (first["priority"], first["new"]) == (-199, True))
    saved = must("cannot save", TOOL, "save", "--all")
    out.case("save", "attach peers src drop order 300 priority -199 new\n" in saved)
    tool("detach", "peers", "src", "drop", "new")
    attach("src", "drop", "priority", "-100")
    out.case("detach with new leaves one without it",
             call(TOOL, "detach", "peers", "new").returncode == 3)
    attach("src", "drop", "new", "priority", "-100")
    with open("/proc/net/ipcuckoo/attachments") as f:
        out.case("the file in /proc", " -100 active new 0 0\n" in f.read())
    done = subprocess.run([TOOL, "--force", "-exist", "restore"], input=saved, text=True,
                          capture_output=True)
    out.case("restore", not done.returncode and " new\n" in must("no save", TOOL, "save", "--all"))
    tool("detach", "--all")


def body(out):
    must("cannot load the module", "insmod", os.environ["IPCUCKOO_KO"])
    net = Net()
    for name in ("tcp_syn_retries", "tcp_retries2"):
        with open(f"/proc/sys/net/ipv4/{name}", "w") as f:
            f.write("3")
    tool("create", "peers", "hash:net", "family", "any")
    # So that packets to the firewall's own loopback device are tracked, if anything is.
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    attach("src", "drop")
    out.case("without new, nothing is tracked", not tracked())
    attach("src", "drop", "new")
    out.case("new switches connection tracking on", tracked())
    if os.path.isdir("/sys/module/nf_conntrack/holders"):
        out.case("nf_conntrack is needed now", call("rmmod", "nf_conntrack").returncode)
    tool("detach", "--all")
    out.case("it stays on when the set is detached", tracked())
    for family in (4, 6) if has_ipv6() else (4,):
        test_connections(out, net, family)
        test_datagrams(out, net, family)
    test_untracked(out, net)
    test_accept(out, net)
    test_refused(out)
    tool("destroy")
    unload("ipcuckoo")
    out.case("it is off when the module is unloaded", not tracked())
    must("cannot load the module again", "insmod", os.environ["IPCUCKOO_KO"])
    # A namespace that ends with an attachment
    new_namespace()
    inner = namespace()
    tool("create", "peers", "hash:ip")
    attach("src", "drop", "new")
    os.close(inner)
    net.within(net.firewall, lambda: None)
    net.close()
    end = time.monotonic() + SECONDS
    while call("rmmod", "ipcuckoo").returncode and time.monotonic() < end:
        time.sleep(0.1)
    out.case("the module can be unloaded after a namespace ended with such an attachment",
             not os.path.exists("/sys/module/ipcuckoo"))


ktap.run(body)
