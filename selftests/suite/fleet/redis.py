#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""Lists that ipcuckood shares in Redis, with a real redis-server and a server that lies. The sets
in the kernel are compared with what was published, and with the list as Redis has it, read naively.
KTAP.

SEED repeats a run; ROUNDS is the number of rounds of random changes and faults at the end (default
10); from 100 on, 50 firewalls have them, not three. With words, only these tests run: "redis.py lies
random"."""
import binascii
import collections
import contextlib
import datetime
import fcntl
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet import engine
from fleet import server as lie
from fleet.daemon import Daemon, members, read_answer, tool, wait_for
from fleet.runner import run_tests

ROUNDS = int(os.environ.get("ROUNDS", "10"))
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))
# Firewalls of the largest fleet: in "make check-fleet", and in a short run
HOSTS = 50 if ROUNDS >= 100 else 8
# Resident memory of a daemon, whatever is sent to it
MEMORY_KB = 50 << 10
# Seconds for a change to be in force everywhere
SOON = 30
BRIDGE = "10.99.0.1"
REPLICA = 6391

MANY = [f"198.18.{i // 250}.{i % 250}" for i in range(1000)]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Host:
    """A firewall: a daemon, in a network namespace of its own if it has a number"""

    def __init__(self, directory, name, number=None):
        self.name = name
        self.netns = name if number else None
        self.disk = False
        self.link = f"v-{name}"
        if number:
            ip("netns", "add", name)
            ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", self.link, "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"10.99.0.{number + 1}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        self.daemon = Daemon(os.path.join(directory, name), self.netns)

    def configure(self, server, keys=None, sets=""):
        keys = {"set": "s", "server": server, "heartbeat": "2s", "connect-time": "3s",
                "host": self.name, **(keys or {})}
        self.daemon.configure(f"[set s]\nattach = no\n{sets}[redis feed]\n" +
                              "".join(f"{k} = {v}\n" for k, v in keys.items()))

    def members(self):
        return members("s", self.netns)

    def publish(self, *words, options=(), stdin=None):
        """Exit status and output of the tool"""
        done = subprocess.run([os.environ["IPCUCKOO"], *options, "publish", "feed", *words,
                               "--control", self.daemon.control], capture_output=True, text=True,
                              stdin=stdin)
        return done.returncode, done.stdout + done.stderr

    def replace(self, entries, *words):
        path = os.path.join(self.daemon.dir, "list")
        with open(path, "w", encoding="ascii") as f:
            f.write("".join(entry + "\n" for entry in entries))
        return self.publish("--file", path, *words)

    def publish_cut(self, entries):
        """Publishes standard input, a connection that is reset behind these entries."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            sender = socket.create_connection(server.getsockname())
            receiver, _ = server.accept()
        sender.sendall("".join(entry + "\n" for entry in entries).encode())
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sender.close()
        with receiver:
            return self.publish("--file", "-", stdin=receiver)

    def has(self, entries, seconds=SOON):
        want = set(entries)
        return wait_for(lambda: set(self.members()) == want, seconds)

    def source(self):
        return self.daemon.source("feed")

    def fleet(self):
        done = subprocess.run([os.environ["IPCUCKOO"], "fleet", "status", "feed", "-j", "--control",
                               self.daemon.control], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout or "{}")

    def nft(self, command):
        subprocess.run(["ip", "netns", "exec", self.netns, "nft", command], check=True)

    def limit(self):
        """Give its state a small disk of its own."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "state", self.daemon.state],
                       check=True)
        self.disk = True

    def fill(self):
        with contextlib.suppress(OSError), open(f"{self.daemon.state}/fill", "wb", 0) as f:
            while f.write(bytes(4096)):
                pass

    def empty(self):
        os.unlink(f"{self.daemon.state}/fill")

    def remove(self):
        if self.daemon.process:
            self.daemon.stop(signal.SIGKILL)
        if self.disk:
            subprocess.run(["umount", self.daemon.state], check=True)
        for name in tool("list", "-n", netns=self.netns).split():
            tool("destroy", name, netns=self.netns)
        if self.netns:
            ip("link", "del", "dev", self.link)
            ip("netns", "del", self.netns)


class Bench:
    """A redis-server, and firewalls"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.hosts = []
        self.bridge = False
        self.links = []
        self.redis = None
        self.others = []
        self.gate = None

    def host(self, name="here", number=None):
        host = Host(self.dir, name, number)
        self.hosts.append(host)
        return host

    def begin(self, **keys):
        """One firewall, and a list"""
        self.redis = engine.Redis(self.dir)
        host = self.host()
        host.configure(self.server(), keys)
        host.daemon.start()
        host.replace(MANY[:100])
        if not host.has(MANY[:100]):
            raise RuntimeError("the list does not arrive: " + host.daemon.messages())
        return host

    def fleet(self, names, rng=None, **keys):
        """A namespace for each name, and Redis on the bridge between them. With @rng also a replica,
        and a gate to the primary; each firewall has these addresses in a random order.
        """
        ip("link", "add", "bridge", "type", "bridge")
        self.bridge = True
        ip("addr", "add", f"{BRIDGE}/24", "dev", "bridge")
        ip("link", "set", "bridge", "up")
        self.redis = engine.Redis(self.dir, BRIDGE)
        ports = [self.redis.port]
        if rng:
            self.others.append(engine.Redis(self.dir, BRIDGE, REPLICA, (
                "--replicaof", BRIDGE, str(self.redis.port))))
            self.gate = engine.Gate(BRIDGE, self.redis.port)
            ports += [REPLICA, self.gate.port]
        for number, name in enumerate(names, 1):
            host = self.host(name, number)
            if rng:
                rng.shuffle(ports)
                host.limit()
            host.configure(" ".join(f"{BRIDGE}:{port}" for port in ports), keys)
            host.daemon.start()
        return self.hosts

    def server(self):
        return f"127.0.0.1:{self.redis.port}"

    def secret(self, text):
        """A file with a password that only the daemon can read"""
        path = os.path.join(self.dir, "password")
        with open(path, "w", encoding="ascii") as f:
            os.chmod(path, 0o600)
            f.write(text + "\n")
        return path

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed and detail is not None:
            self.tap.note(str(detail)[:3000])

    def explain(self):
        return "\n".join(host.daemon.messages()[-3000:] if os.path.exists(host.daemon.log)
                         else f"{host.name}: the daemon was not started" for host in self.hosts)

    def close(self):
        for host in self.hosts:
            host.remove()
        if self.gate:
            self.gate.stop()
        for server in (self.redis, *self.others):
            if server and server.process.poll() is None:
                server.kill()
        for link in self.links + ["bridge"] * self.bridge:
            ip("link", "del", link)
        shutil.rmtree(self.dir)


def parse(text):
    """A JSON document; None if the text is none"""
    try:
        return json.loads(text)
    except ValueError:
        return None


def test_publish(b):
    b.redis = engine.Redis(b.dir)
    host = b.host()
    host.configure(b.server(), sets="except = 192.0.2.128/25\n")
    host.daemon.start()
    status, text = host.publish("192.0.2.1")
    b.case("a list that does not exist is not made by an entry",
           status == 3 and "--file" in text, text)
    b.case("and the source says what to do", wait_for(
        lambda: "publish feed --file" in (host.source().get("problem") or "")), host.source())
    mixed = MANY[:500] + ["10.1.0.0/16", "2001:db8::1", "2001:db8:1::/48"]
    status, text = host.replace(mixed)
    b.case("a file makes it", status == 0 and "entries: 503" in text, text)
    want = mixed + ["192.0.2.128/25 nomatch"]
    b.case("the set has it", host.has(want), len(host.members()))
    b.case("Redis has it, read naively", set(b.redis.entries("feed")) == set(mixed))
    used = int(b.redis.head("feed")["bytes"])
    b.case("in 4 bytes an IPv4 host", used == 4 * 500 + 5 + 17 + 16 + 4 * 5, used)
    status, text = host.publish("203.0.113.7", "203.0.113.0/26", "timeout", "3600", "comment",
                                "a scanner")
    b.case("entries are added, with values", status == 0 and host.has(
        want + ["203.0.113.7", "203.0.113.0/26"]), text)
    value = host.members().get("203.0.113.7", "")
    b.case("and the set has the values",
           re.fullmatch(r'timeout 3[56]\d\d comment "a scanner"', value), value)
    before = int(b.redis.head("feed")["seq"])
    host.publish("203.0.113.7", "timeout", "3600", "comment", "a scanner")
    status, text = host.publish("203.0.113.7", "203.0.113.0/26", MANY[0], "--delete")
    b.case("entries are deleted", status == 0 and host.has(set(want) - {MANY[0]}), text)
    status, text = host.publish("203.0.113.7", "--delete")
    b.case("twice is no error, and ordered",
           status == 0 and int(b.redis.head("feed")["seq"]) == before + 3, text)
    status, text = host.publish(MANY[0], "--delete", options=["-j"])
    b.case("-j: an object is printed", status == 0 and parse(text) == {
        "list": "feed", "state": "published", "published": True, "change": before + 4, "entries": 1}, text)
    status, text = host.publish(MANY[0], "--delete", options=["-q"])
    b.case("-q: what was published is not printed", status == 0 and text == "", text)
    status, text = host.publish(MANY[0], "--delete", options=["-q", "-j"])
    b.case("-q -j: the object is printed", status == 0 and
           (parse(text) or {}).get("change") == before + 6, text)
    status, text = host.publish("--file", "/dev/null", options=["-q"])
    b.case("-q: nor what the daemon refuses", status == 3 and text == "", text)
    for words, pattern in ((("nonsense",), "nonsense"), (("192.0.2.1", "timeout", "x"), "timeout"),
                           (("192.0.2.1", "--delete", "timeout", "5"), "--delete"),
                           ((), "which entries"), (("192.0.2.1", "comment", 'a "b"'), "quote")):
        status, text = host.publish(*words)
        b.case(f"publish {' '.join(words)}: refused", status and pattern in text, text)
    for lines, pattern in ((["192.0.2.1", "no"], "line 2"), ([], "--empty"),
                           (["192.0.2.1,soon"], "line 1"), (["# nothing"], "--empty"),
                           (["192.0.2.1 192.0.2.2"], "two addresses"),
                           (["127.0.0.1 localhost"], "hosts file")):
        status, text = host.replace(lines)
        b.case(f"a file with {lines}: refused", status and pattern in text, text)
    status, text = host.publish("--file", host.daemon.dir, "--empty")
    b.case("a directory is refused, and named",
           status == 2 and f"{host.daemon.dir} cannot be read: Is a directory" in text, text)
    status, text = host.publish_cut(MANY[:9])
    b.case("standard input that ends with an error is refused",
           status == 2 and "(standard input) cannot be read: Connection reset" in text, text)
    b.case("nothing changed", host.has(set(want) - {MANY[0]}))
    done = host.daemon.run("--dry-run")
    b.case("--dry-run finds no difference", not done.returncode and
           "0 entries would be added, 0 deleted" in done.stdout, done)
    status, text = host.replace(["198.51.100.0 - 198.51.100.3 # x"])
    b.case("a range may have blanks", status == 0 and host.has(
        ["198.51.100.0/30", "192.0.2.128/25 nomatch"]), text)
    status, text = host.replace([], "--empty")
    b.case("--empty makes it empty", status == 0 and host.has(["192.0.2.128/25 nomatch"]), text)
    status, text = host.fleet()
    b.case("fleet status: in force here", wait_for(lambda: host.fleet()[0] == 0), text)
    with open(host.daemon.config, encoding="utf-8") as f:
        config = f.read()
    host.daemon.configure(config.replace("attach = no\n", ""))
    host.daemon.process.send_signal(signal.SIGHUP)
    b.case("fleet status: of no use where the set is not attached", wait_for(
        lambda: host.fleet()[0] == 1 and "not attached" in str(host.fleet()[1])), host.fleet())
    host.daemon.configure(config)
    host.daemon.process.send_signal(signal.SIGHUP)
    b.case("and in force again", wait_for(lambda: host.fleet()[0] == 0), host.fleet())
    bad = subprocess.run([os.environ["IPCUCKOO"], "publish", "x", "192.0.2.1", "--control",
                          host.daemon.control], capture_output=True, text=True)
    b.case("an unknown list is refused", bad.returncode == 3 and "[redis x]" in bad.stderr, bad)
    bad = subprocess.run([os.environ["IPCUCKOO"], "fleet", "status", "--control", "/nowhere"],
                         capture_output=True, text=True)
    b.case("so is a daemon that is not there", bad.returncode == 4, bad)


def test_guard(b):
    """What would block an address that the machine needs, or much of the internet, is not published;
    if it is all the same, the set does not get it."""
    b.redis = engine.Redis(b.dir)
    host = b.host()
    host.configure(b.server())
    host.daemon.start()
    host.replace(MANY[:9])
    b.case("the set has the list", host.has(MANY[:9]), host.members())
    for words, pattern in ((("0.0.0.0/0", "::/0"), "0.0.0.0/0 has "),
                           (("169.254.169.254",), "169.254.169.254 is a link-local address"),
                           (("8.0.0.0/8", "9.0.0.0/8"), "would drop 33554432 more addresses of IPv4")):
        status, text = host.publish(*words)
        b.case(f"publish {' '.join(words)}: refused", status == 3 and pattern in text and
               "--force does it" in text, text)
    status, text = host.replace(MANY[:9] + ["4.0.0.0/6"])
    b.case("a file is refused, too", status == 3 and "would drop 67108864 more" in text, text)
    status, text = host.publish("192.0.2.222", "8.0.0.0/8", "9.0.0.0/8", options=["--force"])
    b.case("--force publishes it", status == 0 and
           {"8.0.0.0/8", "9.0.0.0/8"} <= set(b.redis.entries("feed")), text)
    b.case("the set gets the rest", host.has(MANY[:9] + ["192.0.2.222"]), host.members())
    b.case("the source says so", host.source()["kept_out"] == 2, host.source())
    answer = host.daemon.why("8.1.2.3")[1]
    source = answer["sets"][0]["sources"][0]
    b.case("why: the list has it, and the guard keeps it out of the set",
           answer["sets"][0]["answer"] == "not listed" and source["list"] == "feed" and
           [(c["entry"], c["kept_out"]) for c in source["covered_by"]] == [("8.0.0.0/8", True)], answer)
    text = host.daemon.why(MANY[0], "-q")[1]
    b.case("why: the list that has an address, and where",
           f"(list feed in Redis at {source['server']}): {MANY[0]}, as of " in text, text)
    b.case("health: a warning", host.daemon.health()[0] == 1 and "not put into the set" in
           host.daemon.health()[1], host.daemon.health())
    status, text = host.publish("8.0.0.0/8")
    b.case("what was too much is not published again without a word", status == 3 and
           "8.0.0.0/8 was more than max-growth allows" in text, text)
    status, text = host.publish("8.0.0.0/8", "--delete")
    b.case("a deletion", wait_for(lambda: host.source()["kept_out"] == 1), host.source())


def test_timeouts(b):
    """All let go in the same second."""
    hosts = b.fleet(["fw1", "fw2"])
    hosts[0].replace([f"192.0.2.1,{int(time.time()) + 1000}", "192.0.2.2"])
    for host in hosts:
        b.case(f"{host.name} has the list", host.has(["192.0.2.1", "192.0.2.2"]),
               host.daemon.messages())
    # The second one is away when the entry is published.
    hosts[1].daemon.stop()
    hosts[0].publish("192.0.2.3", "timeout", "8")
    end = time.time() + 8
    hosts[0].has(["192.0.2.1", "192.0.2.2", "192.0.2.3"])
    time.sleep(3)
    hosts[1].daemon.start()
    b.case("who was away gets it, with the time that is left",
           hosts[1].has(["192.0.2.1", "192.0.2.2", "192.0.2.3"]))
    ends = []
    for host in hosts:
        before = time.time()
        left = int(re.search(r"timeout (\d+)", host.members().get("192.0.2.3", "timeout 999"))[1])
        # The time was read at some moment in between, and is rounded. An entry ends with a second of
        # the kernel's clock, so up to one later than was asked for.
        ends.append((before + left - 1, time.time() + left + 1))
    b.case("it ends at the same moment on both",
           max(e[0] for e in ends) <= min(e[1] for e in ends) and ends[1][0] <= end + 1, (ends, end))
    gone = []
    for host in hosts:
        wait_for(lambda h=host: "192.0.2.3" not in h.members(), SOON)
        gone.append(time.time() - end)
    b.case("both let go in the same second", all(-1.5 < g < 2.5 for g in gone), gone)
    b.case("nothing else went", all(host.has(["192.0.2.1", "192.0.2.2"]) for host in hosts))


def test_values(b):
    """Entries of the snapshot, with and without values, in sets that have values or not"""
    tool("create", "s", "hash:net", "family", "any", "timeout", "60")
    b.redis = engine.Redis(b.dir)
    host = b.host()
    host.configure(b.server(), sets="except = 198.18.0.64/26\n")
    host.daemon.start()
    left = {entry for entry in MANY[:200] if not entry.startswith("198.18.0.") or
            not 64 <= int(entry.rsplit(".")[-1]) < 128}
    want = left | {"198.18.0.64/26 nomatch", "203.0.113.7"}
    until = int(time.time()) + 1000
    host.replace(MANY[:200] + [f"203.0.113.7,{until}", f"198.18.0.65,{until}"])
    b.case("exceptions are left out of a snapshot", host.has(want), len(host.members()))
    found = host.members()
    wrong = {e: found[e] for e in left if found[e] != "timeout 0"}
    b.case("without expiry, none expires, though the set has a default timeout", not wrong, wrong)
    b.case("with expiry, it does", re.fullmatch(r"timeout 9\d\d", found["203.0.113.7"]), found)
    host.daemon.stop()
    tool("destroy", "s")
    host.configure(b.server(), sets="except = 198.18.0.64/26\n")
    host.daemon.start()
    b.case("a set that the daemon creates gets the same", host.has(want), len(host.members()))
    host.daemon.ask("refresh feed")
    b.case("and again when the snapshot is read again", wait_for(
        lambda: host.source()["deliveries"]) and host.has(want), host.source())
    found = host.members()
    b.case("with the same values", all(found[e] == "timeout 0" for e in left) and
           re.fullmatch(r"timeout 9\d\d", found["203.0.113.7"]), found["203.0.113.7"])


def test_name_publisher(b):
    """Which firewall has published an entry, and when, is in its comment on all of them."""
    hosts = b.fleet(["fw1", "fw2"], **{"name-publisher": "yes"})
    hosts[0].replace(["198.51.100.1"])
    begin = int(time.time())
    hosts[0].publish("192.0.2.7", "comment", "guessed passwords")
    status, text = hosts[1].publish("192.0.2.8", "timeout", "3600")
    b.case("all have what both have published", status == 0 and all(
        host.has(["198.51.100.1", "192.0.2.7", "192.0.2.8"]) for host in hosts), text)
    for host in hosts:
        for entry, start in (("192.0.2.7", "guessed passwords, by fw1"), ("192.0.2.8", "by fw2")):
            done = subprocess.run(["ip", "netns", "exec", host.netns, os.environ["IPCUCKOO"], "why", entry,
                                   "--control", host.daemon.control], capture_output=True, text=True)
            said = re.search(rf'from redis feed .*, comment "{start} at (\S+)"', done.stdout)
            at = said and datetime.datetime.fromisoformat(said[1].replace("Z", "+00:00")).timestamp()
            b.case(f"{host.name}: why {entry} says who has published it, and when",
                   said and begin <= at <= time.time(), done)
        b.case(f"{host.name}: a whole list has the comments of its file", "comment" not in
               host.members()["198.51.100.1"], host.members())
    status, text = hosts[0].publish("192.0.2.9", "comment", "x" * 230)
    b.case("a comment that has no room for it stays as it is", status == 0 and wait_for(
        lambda: f'comment "{"x" * 230}"' in hosts[1].members().get("192.0.2.9", "")), (text, hosts[1].members()))
    status, text = hosts[0].publish("192.0.2.9", "--delete")
    status, text = hosts[0].publish("192.0.2.7", "--delete")
    b.case("an entry is deleted", status == 0 and all(
        host.has(["198.51.100.1", "192.0.2.8"]) for host in hosts), text)


def test_agree(b):
    hosts = b.fleet(["fw1", "fw2"])
    hosts[0].replace(MANY)
    b.case("both have the list", all(host.has(MANY) for host in hosts))
    hosts[0].publish("203.0.113.1")
    hosts[1].publish("203.0.113.2")
    both = MANY + ["203.0.113.1", "203.0.113.2"]
    b.case("each one's ban is in force on both", all(host.has(both) for host in hosts))
    hosts[1].publish("203.0.113.1", "--delete")
    b.case("one takes back the ban of the other",
           all(host.has(set(both) - {"203.0.113.1"}) for host in hosts))
    b.case("fleet status says that all have it", wait_for(lambda: hosts[1].fleet()[0] == 0),
           hosts[1].fleet())
    hosts[0].daemon.process.send_signal(signal.SIGSTOP)
    hosts[1].publish("203.0.113.3")
    b.case("who lags is shown", wait_for(lambda: any(
        h["name"] == "fw1" and h["state"] in ("lags", "not heard of")
        for h in hosts[1].fleet()[1].get("hosts", []))), hosts[1].fleet())
    b.case("and who was not heard of", wait_for(lambda: any(
        h["name"] == "fw1" and h["state"] == "not heard of"
        for h in hosts[1].fleet()[1].get("hosts", []))), hosts[1].fleet())
    hosts[0].daemon.process.send_signal(signal.SIGCONT)
    b.case("until it is there again", wait_for(lambda: hosts[1].fleet()[0] == 0), hosts[1].fleet())
    # One step: no moment with a part of it
    more = [f"172.16.{i // 250}.{i % 250}" for i in range(600)]
    hosts[0].publish(*more)
    seen = set()
    wait_for(lambda: seen.add(sum(m.startswith("172.16.") for m in hosts[1].members())) or
             max(seen) >= 600, SOON)
    b.case("600 entries of one publication come in one step", seen <= {0, 600}, seen)
    hosts[0].publish("203.0.113.4")
    hosts[1].daemon.ask("status")
    lag = hosts[1].source()["lag"]
    b.tap.note(f"from the stream to the set: {lag * 1000:.1f} ms")
    b.case("a change is in force in less than a second", lag < 1, lag)
    text = hosts[1].daemon.run("status", "--prometheus").stdout
    crc = binascii.crc32(hosts[1].source()["version"].encode())
    b.case("lag and version are metrics", "ipcuckood_source_lag_seconds{" in text and
           re.search(rf"source_version\{{.*\}} {crc}$", text, re.M), text)
    b.case("the clocks agree, and that is a metric",
           re.search(r"source_clock_difference_seconds\{.*\} 0$", text, re.M) and
           "warning" not in hosts[1].source(), text)


def test_restart(b):
    host = b.begin()
    want = set(MANY[:100])
    host.daemon.stop()
    tool("destroy", "s")
    b.redis.pause()
    host.daemon.start()
    b.case("after a restart, the set comes from the disk", host.has(want))
    b.redis.go_on()
    wait_for(lambda: host.source()["state"] == "good")
    b.case("it goes on where it was", host.source()["deliveries"] == 0 and
           host.daemon.messages().count("has 100 entries now") == 1, host.daemon.messages())
    host.publish("203.0.113.1")
    want |= {"203.0.113.1"}
    host.has(want)
    host.daemon.stop(signal.SIGKILL)
    host.daemon.start()
    b.case("after a crash, too: changes that were not stored come again", host.has(want))
    host.daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "was read again" in host.daemon.messages())
    host.publish("203.0.113.2")
    want |= {"203.0.113.2"}
    b.case("after a reload, too", host.has(want), host.daemon.messages())
    host.configure(b.server(), sets="family = inet\n")
    host.daemon.process.send_signal(signal.SIGHUP)
    host.publish("2001:db8::7", "203.0.113.3")
    want |= {"203.0.113.3"}
    tool("destroy", "s")
    b.case("what does not fit into the set is left out, and counted",
           host.has(want) and host.source()["left_out"] == 1, host.source())
    tool("destroy", "s")
    host.configure(b.server())
    host.daemon.process.send_signal(signal.SIGHUP)
    want |= {"2001:db8::7"}
    b.case("and read when the set takes it", host.has(want), host.daemon.messages())
    host.daemon.ask("refresh feed")
    b.case("refresh reads the snapshot again", wait_for(
        lambda: host.source()["deliveries"] and host.source()["state"] == "good") and
        host.has(want), host.source())


def test_left_out(b):
    """Changes of which none fits into the set"""
    host = b.begin()
    other = b.host("other")
    other.configure(b.server(), {"publish": "no"}, "family = inet\n")
    other.daemon.start()
    wait_for(lambda: other.source()["state"] == "good", SOON)
    host.publish("2001:db8::1")
    b.case("a change that does not fit is passed over", wait_for(
        lambda: other.source()["seq"] == int(b.redis.head("feed")["seq"])), other.source())
    before = b.redis.commands()
    time.sleep(2)
    count = b.redis.commands() - before
    b.case("and not asked for again and again", count < 50, count)
    host.publish("2001:db8::2", "2001:db8::3")
    host.publish("203.0.113.1")
    b.case("and so are others", wait_for(
        lambda: other.source()["seq"] == int(b.redis.head("feed")["seq"])) and
        other.source()["left_out"] == 3, other.source())


def test_replaced(b):
    """The list is replaced by one that cannot be used yet, behind changes that can"""
    host = b.begin()
    other = b.host("other")
    for how in ("read again", "started again"):
        host.replace(MANY[:100])
        other.configure(b.server(), {"max-entries": "150"})
        other.daemon.start()
        wait_for(lambda: other.source()["entries"] == 100, SOON)
        other.daemon.stop()
        host.publish("203.0.113.1")
        host.replace(MANY)
        other.daemon.start()
        b.case("a list that is too large is not taken", wait_for(
            lambda: "more than 150 entries" in (other.source().get("problem") or ""), SOON),
            other.source())
        b.case("a change in front of it is", wait_for(
            lambda: other.source()["entries"] == 101, SOON), other.source())
        other.configure(b.server(), {"max-entries": "5000"})
        if how == "read again":
            other.daemon.process.send_signal(signal.SIGHUP)
        else:
            other.daemon.stop()
            other.daemon.start()
        b.case(f"it is when there is room for it, and the configuration is {how}", wait_for(
            lambda: other.source()["entries"] == len(MANY), SOON), other.source())
        other.daemon.stop()


def test_full(b):
    """A list that has as many entries as max-entries allows"""
    host = b.begin(**{"max-entries": "100"})
    seq = host.source()["seq"]
    host.publish(MANY[5])
    host.publish(MANY[6], "--delete")
    # What is refused depends on what has come back from Redis.
    wait_for(lambda: host.source()["seq"] == seq + 2, SOON)
    host.daemon.publish("feed", f"{MANY[7]}\n203.0.113.1\n{MANY[7]}\n")
    want = set(MANY[:100]) - {MANY[6]} | {"203.0.113.1"}
    b.case("entries that it has can be published again, and others in their place",
           wait_for(lambda: host.source()["seq"] == seq + 3, SOON) and host.has(want),
           host.source())
    for what, (status, text) in (("one more", host.publish("203.0.113.2")),
                                 ("a longer list", host.replace(MANY[:101]))):
        b.case(f"{what} is refused, and not published", status and "max-entries" in text, text)
    other = b.host("other")
    other.configure(b.server())
    other.daemon.start()
    wait_for(lambda: other.source()["state"] == "good", SOON)
    other.publish("203.0.113.2")
    b.case("who gets one more from elsewhere fails, and says why", wait_for(
        lambda: "more than 100 entries" in (host.source().get("problem") or ""), SOON),
        host.source())
    other.publish(MANY[8], "--delete")
    host.daemon.ask("refresh feed")
    b.case("until there is one less",
           host.has(want - {MANY[8]} | {"203.0.113.2"}), host.source())


def test_trimmed(b):
    host = b.begin()
    want = set(MANY[:100])
    for i in range(5):
        host.publish(f"203.0.113.{i}")
        want.add(f"203.0.113.{i}")
    host.has(want)
    host.daemon.stop()
    other = b.host("other")
    other.configure(b.server())
    other.daemon.start()
    other.publish("203.0.113.9", MANY[0], "--delete")
    other.replace(sorted(want | {"10.9.9.9"}))
    other.publish("10.8.8.8")
    b.redis.ask("XTRIM", b.redis.key("feed", "changes"), "MAXLEN", "1")
    other.daemon.stop()
    host.daemon.start()
    want |= {"10.9.9.9", "10.8.8.8"}
    b.case("who was away too long takes the snapshot, and the changes behind it", host.has(want))
    b.case("and says so", "the snapshot is read" in host.daemon.messages())
    # While it follows, a change is lost.
    b.redis.ask("HINCRBY", b.redis.key("feed", "head"), "seq", 1)
    host.publish("10.7.7.7")
    b.case("a missing change is noticed, also behind the snapshot",
           wait_for(lambda: "missing" in (host.source().get("problem") or "")), host.source())
    b.case("and the last good contents stay", set(host.members()) >= want)
    host.replace(MANY[:50])
    b.case("a new snapshot mends it", host.has(MANY[:50]), host.source())
    # The newest changes are gone, and nothing comes behind them.
    host.daemon.stop()
    other.daemon.start()
    other.publish("10.6.6.6", "10.5.5.5")
    other.publish("10.4.4.4")
    changes = b.redis.key("feed", "changes")
    newest = [entry[0] for entry in b.redis.ask("XREVRANGE", changes, "+", "-", "COUNT", "2")]
    b.redis.ask("XDEL", changes, *newest)
    other.daemon.stop()
    host.daemon.start()
    b.case("changes that are missing at the end of the stream are noticed",
           wait_for(lambda: "missing" in (host.source().get("problem") or "")), host.source())
    host.replace(MANY[:50])
    b.case("and a new snapshot mends that", host.has(MANY[:50]), host.source())
    b.redis.ask("FLUSHALL")
    host.daemon.process.send_signal(signal.SIGHUP)
    b.case("a list that is gone empties nothing", wait_for(
        lambda: host.source()["state"] == "failing" and
        "there is no list" in host.source()["problem"]) and host.has(MANY[:50]), host.source())
    host.replace(MANY[:70])
    b.case("and one that is made again is followed", host.has(MANY[:70]))
    version = b.redis.head("feed")["version"]
    b.redis.ask("DEL", b.redis.key("feed", "snapshot:" + version))
    host.daemon.ask("refresh feed")
    b.case("a snapshot that is missing empties nothing", wait_for(
        lambda: "not there as a whole" in (host.source().get("problem") or "")) and
        host.has(MANY[:70]), host.source())


def test_renewed(b):
    host = b.begin(keep="100")
    want = set(MANY[:100])
    for i in range(160):
        host.daemon.publish("feed", f"203.0.113.{i}\n")
        want.add(f"203.0.113.{i}")
    b.case("160 changes are in force", host.has(want), host.daemon.messages())
    first = 1

    def renewed():
        host.daemon.publish("feed", "203.0.113.1\n")
        time.sleep(0.2)
        return int(b.redis.head("feed")["snapshot-seq"]) > first
    b.case("the snapshot is renewed", wait_for(renewed), b.redis.head("feed"))
    b.case("the list is the same", set(b.redis.entries("feed")) == want and host.has(want))
    state = host.source()
    b.case("and nobody had to read it", state["deliveries"] > 100 and "missing" not in
           host.daemon.messages(), state)
    host.daemon.stop()
    for name in os.listdir(host.daemon.state):
        os.unlink(os.path.join(host.daemon.state, name))
    host.daemon.start()
    b.case("a new follower reads it", host.has(want))


def test_large(b):
    """The list does not become larger than max-size, in whatever way it grows."""
    host = b.begin(**{"keep": "100", "max-size": "4K"})
    want = set(MANY[:100])
    found = None
    for i in range(300):
        status, found = host.daemon.publish("feed", f"203.0.113.{i % 250},{1900000000 + i},comment {i}\n")
        if status:
            break
        want.add(f"203.0.113.{i % 250}")
    b.case("a change that would make the list too large is refused",
           status == 3 and "more bytes than max-size" in found, found)
    b.case("not before it is", len(want) > 200 and host.has(want), len(want))
    status, text = host.publish(*MANY[:30], "--delete")
    want -= set(MANY[:30])
    b.case("deletions are not refused", status == 0 and host.has(want), text)
    # A change of an entry needs no room, and leads to a new snapshot.
    wait_for(lambda: not host.publish(MANY[50])[0] and
             int(b.redis.head("feed")["snapshot-seq"]) > 1, SOON)
    head = b.redis.head("feed")
    b.case("the snapshot is renewed, and within max-size",
           int(head["snapshot-seq"]) > 1 and int(head["bytes"]) <= 4096, head)
    # Somebody else has another limit, and renews nothing.
    host.daemon.stop()
    other = b.host("other")
    other.configure(b.server(), {"keep": "1000000"})
    other.daemon.start()
    wait_for(lambda: other.source()["state"] == "good", SOON)
    large = [f"172.16.{i // 250}.{i % 250}" for i in range(2000)]
    other.daemon.publish("feed", "".join(entry + "\n" for entry in large))
    want |= set(large)
    for i in range(60):
        other.daemon.publish("feed", f"198.51.100.{i}\n")
        want.add(f"198.51.100.{i}")
    before = b.redis.head("feed")
    other.daemon.stop()
    host.daemon.start()
    b.case("a list that others made too large is followed", host.has(want), host.source())
    other.daemon.start()
    b.case("it is not renewed here, and that is said", wait_for(
        lambda: (other.daemon.publish("feed", "198.51.100.1\n"), re.search(
            r"not renewed: it would have \d+ bytes, and max-size allows 4096",
            host.source().get("warning", "")))[1], 3 * SOON), host.source())
    b.case("in the journal once", host.daemon.messages().count("is not renewed") == 1,
           host.daemon.messages())
    after = b.redis.head("feed")
    b.case("the snapshot is the old one", after["version"] == before["version"], (before, after))
    host.daemon.stop()
    for name in os.listdir(host.daemon.state):
        os.unlink(os.path.join(host.daemon.state, name))
    host.daemon.start()
    b.case("so a firewall that is new gets all of it", host.has(want), host.source())


# What ipcuckood(8) says that a user needs
FOLLOWER = ("+hmget", "+hget", "+hgetall", "+hset", "+getrange", "+xread", "+xrange", "+role", "+time")
PUBLISHER = ("+eval", "+get", "+set", "+setex", "+setrange", "+append", "+strlen", "+hincrby", "+xadd",
             "+xlen", "+xtrim", "+persist", "+expire")


def test_rights(b):
    """The rights that the manual gives to whoever publishes are enough, and allow no more."""
    b.redis = engine.Redis(b.dir)
    b.redis.ask("ACL", "SETUSER", "publisher", "on", ">secret", "~ipcuckoo:*", *FOLLOWER, *PUBLISHER)
    path = b.secret("secret")
    host = b.host()
    host.configure(b.server(), {"user": "publisher", "password-file": path, "keep": "100"})
    host.daemon.start()
    b.case("the list is made", host.replace(MANY[:100])[0] == 0 and host.has(MANY[:100]), host.source())
    status, text = host.replace(MANY[:90])
    b.case("and replaced", status == 0 and host.has(MANY[:90]), text)
    before = int(b.redis.head("feed")["snapshot-seq"])
    want = set(MANY[:90])
    for i in range(60):
        host.daemon.publish("feed", f"203.0.113.{i}\n")
        want.add(f"203.0.113.{i}")
    status, text = host.publish(MANY[0], "--delete")
    want.remove(MANY[0])
    b.case("changes are published", status == 0 and host.has(want), text)
    b.case("the snapshot is renewed", wait_for(
        lambda: (host.daemon.publish("feed", "203.0.113.1\n"),
                 int(b.redis.head("feed")["snapshot-seq"]) > before)[1], SOON), b.redis.head("feed"))
    b.case("the report is there, and can be read", wait_for(lambda: host.fleet()[0] == 0), host.fleet())
    host.daemon.ask("refresh feed")
    b.case("the list is read again", wait_for(lambda: host.source()["state"] == "good") and
           host.has(want), host.source())
    b.case("the clocks are compared", host.source().get("clock_difference", -1) >= 0, host.source())
    denied = b.redis.ask("ACL", "LOG")
    b.case("Redis has denied nothing", denied == [], denied)
    key = b.redis.key("feed", "head")
    for words in (("FLUSHALL",), ("FLUSHDB",), ("SWAPDB", "0", "1"), ("KEYS", "*"), ("SCAN", "0"),
                  ("CONFIG", "GET", "*"), ("SAVE",), ("SHUTDOWN",), ("DEL", key), ("RENAME", key, key),
                  ("MIGRATE", "192.0.2.1", "1", key, "0", "1"), ("REPLICAOF", "192.0.2.1", "1"),
                  ("GET", "other"), ("SET", "other", "x"), ("HSET", "other", "x", "y")):
        answer = b.redis.ask("ACL", "DRYRUN", "publisher", *words)
        b.case(f"{' '.join(words)} is denied", b"no permissions" in answer, answer)
    with socket.create_connection(("127.0.0.1", b.redis.port), 10) as s:
        s.sendall(engine.pack("AUTH", "publisher", "secret") +
                  engine.pack("EVAL", "return redis.call('FLUSHALL')", "0"))
        f = s.makefile("rb")
        engine.read_reply(f)
        answer = f.readline()
    b.case("so it is in a script", answer.startswith(b"-") and b.redis.head("feed"), answer)


def test_gone(b):
    """The engine is killed, comes back, is read-only, refuses the password."""
    host = b.begin(queue="5")
    want = set(MANY[:100])
    b.redis.kill()
    b.case("the engine gone: said, and the list stays", wait_for(
        lambda: host.source()["state"] == "failing") and host.has(want), host.source())
    failures = host.source()["failures"]
    wait_for(lambda: host.source()["failures"] >= failures + 2)
    b.case("it is said once", host.daemon.messages().count("it is tried again, at least") <= 2,
           host.daemon.messages())
    status, text = host.publish("203.0.113.1", "203.0.113.2")
    b.case("a publication waits, and that is said",
           status == 7 and "not published yet" in text, text)
    begin = time.monotonic()
    status, text = host.publish("203.0.113.10", options=["-j"])
    took = time.monotonic() - begin
    found = parse(text) or {}
    b.case("-j: an object says so", status == 7 and found.get("state") == "waits" and
           found.get("published") is False and found.get("list") == "feed" and
           found.get("entries") == 1 and found.get("waiting") == 3 and found.get("why"), text)
    # Without an answer, it would wait for five seconds. The machine may be slow.
    b.case("and at once", took < 4, took)
    status, text = host.publish(*MANY[500:510])
    b.case("up to a limit, and then it is refused", status == 3 and "queue = 5" in text, text)
    for name, ask in (("fleet status", host.fleet), ("a whole list", lambda: host.replace(MANY[:9]))):
        begin = time.monotonic()
        status, text = ask()
        took = time.monotonic() - begin
        b.case(f"{name} fails at once", status == 3 and took < 4, (status, text, took))
    host.daemon.process.send_signal(signal.SIGHUP)
    time.sleep(1)
    b.redis.start()
    want |= {"203.0.113.1", "203.0.113.2", "203.0.113.10"}
    b.case("it is published when the engine is there again, even after a reload", host.has(want),
           host.daemon.messages())
    b.case("the state is good", wait_for(lambda: host.source()["state"] == "good"), host.source())
    b.redis.pause()
    time.sleep(7)
    b.case("an engine that is silent is noticed", host.source()["state"] == "failing",
           host.source())
    b.redis.go_on()
    host.publish("203.0.113.3")
    want |= {"203.0.113.3"}
    b.case("and followed again", host.has(want))
    b.redis.ask("ACL", "SETUSER", "reader", "on", ">secret", "~ipcuckoo:*", "+@read",
                "+@connection")
    path = b.secret("secret")
    # It can only read, and not even report.
    keys = {"user": "reader", "password-file": path}
    reader = b.host("reader")
    reader.configure(b.server(), keys)
    reader.daemon.start()
    b.case("a user that can only read follows",
           wait_for(lambda: reader.source()["state"] == "good"), reader.source())
    status, text = reader.publish("203.0.113.9")
    b.case("and cannot publish", status == 3 and "does not let this user write" in text, text)
    b.case("which is said of reports, too", wait_for(
        lambda: "report = no" in reader.daemon.messages()), reader.daemon.messages())
    b.redis.ask("ACL", "SETUSER", "reader", "reset", "on", ">secret", "%R~ipcuckoo:*",
                "%W~ipcuckoo:*:fleet", *FOLLOWER)
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("with the rights in the manual, it reports", wait_for(lambda: any(
        h["name"] == "reader" and h["state"] == "in force"
        for h in reader.fleet()[1].get("hosts", []))), reader.fleet())
    b.secret("wrong")
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("a wrong password is said", wait_for(
        lambda: "password" in (reader.source().get("problem") or "")), reader.source())
    os.chmod(path, 0o644)
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("a password that everybody can read is not used", wait_for(
        lambda: "needs the password in " in (reader.source().get("problem") or "") and
        f"run: chmod o= {path}," in reader.source()["problem"]), reader.source())
    reader.configure(b.server(), {**keys, "password-file": b.dir})
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("so is a file that cannot be read", wait_for(lambda: "is no regular file" in (
        reader.source().get("problem") or "")), reader.source())
    # Two addresses: nobody answers at the first one.
    reader.configure(f"127.0.0.1:1 {b.redis.dir}/socket")
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("the next address is tried", wait_for(
        lambda: reader.source()["server"].endswith("socket") and
        reader.source()["state"] == "good"), reader.source())
    reader.configure("127.0.0.1:1 127.0.0.1:2")
    reader.daemon.process.send_signal(signal.SIGHUP)
    b.case("if none can be used, all of them are named", wait_for(
        lambda: re.search(r"127.0.0.1:1 .*; 127.0.0.1:2 ", reader.source().get("problem") or "")),
        reader.source())
    b.redis.ask("CONFIG", "SET", "maxmemory", "1")
    status, text = host.publish("203.0.113.4")
    b.case("an engine without memory: refused, with advice", status == 3 and "maxmemory" in text,
           text)


def content(path):
    """Of a file; "" if there is none"""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="ascii") as f:
        return f.read()


def test_waiting(b):
    """What waits to be published survives the daemon, and is published once."""
    host = b.begin()
    want = set(MANY[:100])
    path = os.path.join(host.daemon.state, "feed@feed.waiting")

    def waiting():
        return host.source()["waiting"]

    def seq():
        return int(b.redis.head("feed")["seq"])
    before = seq()
    b.redis.kill()
    for words in (("203.0.113.1", "203.0.113.2"), ("203.0.113.3",), ("203.0.113.3", "--delete")):
        status, text = host.publish(*words)
        b.case(f"publish {' '.join(words)} waits",
               status == 7 and "not published yet" in text, text)
    host.daemon.stop(signal.SIGKILL)
    host.daemon.start()
    b.case("after a crash it still waits", waiting() == 4, host.source())
    b.case("which is a metric", re.search(r"^ipcuckood_source_waiting{.*} 4$", host.daemon.run(
        "status", "--prometheus").stdout, re.M))
    b.case("and in the status", "wait to be published: 4" in host.daemon.run("status").stdout)
    host.daemon.publish("feed", "203.0.113.4\n", wait=False)
    wait_for(lambda: waiting() == 5)
    host.daemon.stop()
    with open(path, "a", encoding="ascii") as f:
        f.write("change 0123 1 5 0 00cb00")
    host.daemon.start()
    b.case("what no client was told of survives an orderly end; a line that is cut off is none",
           waiting() == 5 and "cannot be read" not in host.daemon.messages(), host.source())
    b.redis.start()
    want |= {"203.0.113.1", "203.0.113.2", "203.0.113.4"}
    b.case("all of it is published when Redis is there, in its order",
           wait_for(lambda: not waiting()) is not None and host.has(want), host.source())
    b.case("each once", seq() == before + 4, seq() - before)
    b.case("and nothing waits on disk", not os.path.exists(path))
    # Redis does what was sent, but the daemon is killed before it knows.
    before = seq()
    host.publish("203.0.113.5")
    # The connection on which it was reported is free for the next change.
    wait_for(lambda: json.loads(b.redis.ask("HGET", b.redis.key("feed", "fleet"), "here") or b"{}")
             .get("seq") == before + 1)
    b.redis.pause()
    status, text = host.publish("203.0.113.6")
    host.daemon.stop(signal.SIGKILL)
    b.redis.go_on()
    want |= {"203.0.113.5", "203.0.113.6"}
    done = wait_for(lambda: seq() == before + 2, 5)
    b.case("a change is published, and its daemon does not know", status == 7 and done, text)
    host.daemon.start()
    b.case("it is sent again, and not published twice", wait_for(
        lambda: not waiting() and not os.path.exists(path)) and seq() == before + 2 and
        host.has(want), seq() - before)
    b.case("as Redis has it, read naively", set(b.redis.entries("feed")) == want)
    b.redis.kill()
    host.publish("203.0.113.7")
    host.daemon.stop()
    with open(path, "r+", encoding="ascii") as f:
        text = f.read()
        f.seek(0)
        f.write(text.replace("00cb007107", "00cb0071zz"))
    host.daemon.start()
    b.case("a file that is damaged: said, and not used",
           not waiting() and "line 2 of" in host.daemon.messages(), host.daemon.messages())
    b.case("it is kept under another name", "00cb0071zz" in content(path + ".bad") and
           f"{path}.bad" in host.daemon.messages(), host.daemon.messages())
    # Redis comes back without the list.
    host.publish("203.0.113.8")
    b.redis.lose()
    b.redis.start()
    b.case("while there is no list, changes go on waiting", wait_for(
        lambda: "there is no list" in (host.source().get("publish_problem") or "")) and
        waiting() == 1, host.source())
    status, text = host.replace(MANY[:30])
    b.case("and the list is made again before them", status == 0 and
           host.has(MANY[:30] + ["203.0.113.8"]) and not waiting(), (text, host.source()))


def test_left(b):
    """The section of changes that wait gets another name, or goes away."""
    host = b.begin()
    want = set(MANY[:100])
    path = os.path.join(host.daemon.state, "feed@feed.waiting")
    with open(host.daemon.config, encoding="utf-8") as f:
        before = f.read()

    def reload(text):
        said = host.daemon.messages().count("was read again")
        host.daemon.configure(text)
        host.daemon.process.send_signal(signal.SIGHUP)
        return wait_for(lambda: host.daemon.messages().count("was read again") > said)

    def left():
        found = [path] if path in host.daemon.run("status").stdout else []
        return found if host.daemon.status()["left_waiting"] == found else None
    b.redis.kill()
    status, text = host.publish("203.0.113.1")
    b.case("a change waits, and is no matter of another section", status == 7 and left() == [], text)
    for name, text in (
            ("another name", before.replace("[redis feed]", "[redis other]\nlist = feed")),
            ("another list", before.replace("[redis feed]", "[redis feed]\nlist = other")),
            ("no such section", "[set s]\n")):
        for how in ("read again", "started again"):
            begin = len(host.daemon.messages())
            if how == "read again":
                reload(text)
            else:
                host.daemon.stop()
                host.daemon.start()
            b.case(f"{name}, {how}: what stays behind is said, and what to do", wait_for(
                lambda n=begin: re.search(
                    rf"no section \[redis feed\] with list = feed,.*{path}: put the section back",
                    host.daemon.messages()[n:])), host.daemon.messages())
            b.case(f"{name}, {how}: status says so, and the file stays",
                   left() == [path] and os.path.exists(path), host.daemon.run("status"))
    b.redis.start()
    reload(before)
    want |= {"203.0.113.1"}
    b.case("when the section is back, the change is published", host.has(want), host.source())
    b.case("and nothing is left", left() == [] and wait_for(lambda: not os.path.exists(path)))
    host.daemon.stop()
    for name in ("feed@feed.waiting.bad", "x.waiting", "feed@feed.list"):
        with open(os.path.join(host.daemon.state, name), "w", encoding="ascii"):
            pass
    host.daemon.start()
    b.case("files of other kinds are none of these", host.daemon.status()["left_waiting"] == [],
           host.daemon.status())


def waiting_file(host, lines):
    """Replaces the file of what waits."""
    path = os.path.join(host.daemon.state, "feed@feed.waiting")
    with open(path, "w", encoding="ascii") as f:
        f.write("# ipcuckood waiting 1\n" + "".join(line + "\n" for line in lines))
    return path


def waiting_line(number, sent=0):
    return f"change {number:032x} 1 {int(time.time())} {sent} 000a{number:06x}"


def test_unstored(b):
    """The file of what waits cannot be read, or cannot be written."""
    host = b.begin()
    want = set(MANY[:100])
    b.redis.kill()
    lost = "is lost if the daemon ends"

    def waiting():
        return host.source()["waiting"]

    def understood():
        return not re.search("makes no sense|cannot be read", host.daemon.messages())
    # Its new version cannot be written.
    host.daemon.stop()
    path = waiting_file(host, [])
    host.daemon.start()
    os.mkdir(path + ".new")
    status, text = host.publish("203.0.113.1")
    b.case("what cannot be stored: the client is told", status == 3 and lost in text, text)
    os.rmdir(path + ".new")
    status, text = host.publish("203.0.113.2")
    b.case("later it can, and nothing is said", status == 7 and lost not in text, text)
    host.daemon.stop()
    host.daemon.start()
    b.case("after an orderly end both wait, each once",
           waiting() == 2 and understood(), host.daemon.messages())
    want |= {"203.0.113.1", "203.0.113.2"}
    # What could not be stored is published, and is not stored later.
    host.daemon.stop()
    waiting_file(host, [])
    host.daemon.start()
    os.mkdir(path + ".new")
    host.publish("203.0.113.1")
    os.rmdir(path + ".new")
    host.publish("203.0.113.2")
    b.redis.start()
    b.case("both are published", wait_for(lambda: not waiting()) is not None and host.has(want),
           host.source())
    b.case("and nothing waits on disk", wait_for(lambda: not os.path.exists(path), 5))
    # It can be written, and not be put in its place.
    b.redis.kill()
    os.mkdir(path)
    for address in ("203.0.113.3", "203.0.113.4"):
        status, text = host.publish(address)
        b.case(f"a directory has its name: {address} is not called stored",
               status == 3 and lost in text, text)
    os.rmdir(path)
    host.publish("203.0.113.5")
    host.daemon.stop(signal.SIGKILL)
    host.daemon.start()
    b.case("all of it is stored with the next change", waiting() == 3, host.source())
    # A line that was written twice
    host.daemon.stop()
    line = waiting_line(1)
    waiting_file(host, [line, line, waiting_line(2)])
    host.daemon.start()
    b.case("a change that is there twice waits once, and what is behind it waits",
           waiting() == 2 and understood(), host.daemon.messages())
    # Of another version
    host.daemon.stop()
    waiting_file(host, [line])
    with open(path, "r+", encoding="ascii") as f:
        text = f.read().replace("waiting 1", "waiting 2")
        f.seek(0)
        f.write(text)
    host.daemon.start()
    b.case("a file of another version: said, and kept", content(path + ".bad") == text and
           "line 1 of" in host.daemon.messages() and not waiting(), host.daemon.messages())
    # It cannot be opened, or cannot be read.
    for name, make in (("that cannot be opened", lambda: os.symlink(path, path)),
                       ("that cannot be read", lambda: os.mkdir(path))):
        host.daemon.stop()
        if os.path.exists(path):
            os.unlink(path)
        os.unlink(host.daemon.log)
        make()
        host.daemon.start()
        b.case(f"a file {name}: said", "cannot be read: " in host.daemon.messages(),
               host.daemon.messages())
        status, text = host.publish("203.0.113.6")
        b.case(f"a file {name}: what waits is not called stored", status == 3 and lost in text,
               text)
        host.daemon.stop()
        b.case(f"a file {name}: it stays", os.path.lexists(path) and not os.path.isfile(path))
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)
        host.daemon.start()
    # It is long.
    host.daemon.stop()
    waiting_file(host, [waiting_line(i) for i in range(1, 200001)])
    host.daemon.start()
    with open(f"/proc/{host.daemon.process.pid}/stat", encoding="ascii") as f:
        used = int(f.read().rsplit(")", 1)[1].split()[11]) / os.sysconf("SC_CLK_TCK")
    b.case("200000 changes are read in a few seconds", waiting() == 200000 and used < 10, used)


# An answer to ROLE
PRIMARY = engine.array(engine.bulk(b"master"))


def old_error(text):
    """An error of a command in a script, before Redis 7"""
    return ("ERR Error running script (call to f_0123456789abcdef0123456789abcdef01234567): "
            f"@user_script:1: @user_script: 1: -{text}")


REFUSALS = (
    ("MISCONF Redis is configured to save RDB snapshots, but it cannot", "takes no changes: .*MISC"),
    ("BUSY Redis is busy running a script", "takes no changes: .*BUSY"),
    ("NOAUTH Authentication required.", "takes no changes: .*NOAUTH"),
    ("MOVED 3999 127.0.0.1:6381", "written to: MOVED"),
    ("WRONGTYPE Operation against a key holding the wrong kind of value", "takes no .*WRONGTYPE"),
    ("NOPERM this user has no permissions", "does not let this user write"),
    ("READONLY You can't write against a read only replica.", "written to: READONLY"),
    (old_error("READONLY You can't write against a read only replica."), "written to: READONLY"),
    (old_error("NOREPLICAS Not enough good replicas to write."), "written to: NOREPLICAS"),
    (old_error("OOM command not allowed when used memory > 'maxmemory'."), "raise its maxmemory"),
)


def test_refused(b):
    """Redis refuses what waits, with all kinds of errors."""
    host = b.host()
    liar = engine.Liar()
    host.configure(f"127.0.0.1:{liar.port}", {"report": "no"})

    def restart(sent=0):
        if host.daemon.process:
            host.daemon.stop()
        path = waiting_file(host, [waiting_line(1, sent)])
        host.daemon.start()
        return path

    def problem(pattern):
        return wait_for(lambda: re.search(pattern, host.source().get("publish_problem") or ""),
                        SOON)

    def sent_at(path):
        """As the file says, after an orderly end"""
        host.daemon.stop()
        with open(path, encoding="ascii") as f:
            return int(re.findall(r"^(?:change \w+ 1 \d+|sent \w+) (\d+)", f.read(), re.M)[-1])
    before = int(time.time()) - 7200
    primary = {"ROLE": PRIMARY}
    for text, pattern in REFUSALS:
        liar.answers = {**primary, "EVAL": f"-{text}\r\n".encode()}
        path = restart()
        b.case(f"{text[-40:]}: said, and the change goes on waiting", problem(pattern) and
               host.source()["waiting"] == 1, host.source())
        b.case(f"{text[-40:]}: it is not taken for sent", sent_at(path) == 0)
        path = restart(before)
        b.case(f"{text[-40:]}: unless an earlier attempt got no reply",
               problem(pattern) and sent_at(path) == before)
    # The connection is lost, and then the change is refused.
    liar.answers = primary
    path = restart()
    problem("closed the connection")
    liar.answers = {**primary, "EVAL": b"-NOPERM no\r\n"}
    b.case("an attempt that gets no reply is remembered when the next one is refused",
           problem("does not let") and sent_at(path) > before)
    liar.answers = {**primary, "EVAL": b"-ERR string exceeds maximum allowed size (512MB)\r\n"}
    restart()
    b.case("what Redis can never take is given up, and that is said", wait_for(
        lambda: not host.source()["waiting"]) is not None and
        "and are lost: " in host.daemon.messages(), host.daemon.messages())
    liar.answers = {**primary, "EVAL": engine.later(b"-NOPERM no\r\n", 1)}
    status, text = host.daemon.publish("feed", "192.0.2.1\n")
    b.case("who waits is told, and publishes it again", status == 3 and "does not let" in text and
           not host.source()["waiting"], (status, text))
    host.daemon.publish("feed", "192.0.2.1\n", wait=False)
    b.case("of who has gone, the change goes on waiting", problem("does not let") and
           host.source()["waiting"] == 1, host.source())
    host.daemon.stop()
    waiting_file(host, [])
    host.daemon.start()
    # Only the last command of a whole list is refused; then it gets no reply, and is refused.
    liar.answers = {**primary, "SETEX": b"+OK\r\n",
                    "EVAL": b"-READONLY You can't write against a read only replica.\r\n"}
    begin = time.monotonic()
    status, text = host.replace(MANY[:9])
    b.case("a whole list that a replica refuses: said at once, with what to do", status == 3 and
           re.search("READONLY .*line server name its primary, too; nothing was done", text) and
           time.monotonic() - begin < 3, (status, text, time.monotonic() - begin))
    del liar.answers["EVAL"]
    status, text = host.replace(MANY[:9])
    b.case("one that gets no reply may have been published", status == 3 and
           "may have been published or not" in text, (status, text))
    liar.stop()


def test_behind(b):
    """A replica that lags is not followed back; a primary is, and so is what was accepted."""
    host = b.begin()
    want = set(MANY[:100])
    replica = engine.Redis(b.dir, port=REPLICA, options=(
        "--replicaof", f"127.0.0.1 {b.redis.port}", "--repl-diskless-sync-delay", "0"))
    b.others = [replica]

    def caught_up():
        return replica.answers() and replica.head("feed") == b.redis.head("feed")
    b.case("the replica has the list", wait_for(caught_up, 20))
    old = set(want)

    def lag():
        """From now on it has no primary."""
        replica.ask("REPLICAOF", "127.0.0.1", "1")
        for entry in ("203.0.113.1", "203.0.113.2"):
            host.publish(entry)
            want.add(entry)
        return host.has(want)

    def follow(servers):
        host.daemon.stop()
        host.configure(servers)
        host.daemon.start()
    b.case("it lags", lag() and replica.head("feed") != b.redis.head("feed"))
    here = f"127.0.0.1:{replica.port}"
    follow(f"{here} {b.server()}")
    b.case("a replica that lags is left for the next address", wait_for(
        lambda: host.source()["state"] == "good" and
        host.source()["server"] == b.server()), host.source())
    b.case("and no ban is removed", set(host.members()) == want and
           "the snapshot is read" not in host.daemon.messages(), host.daemon.messages())
    follow(here)
    b.case("if there is no other, that is said", wait_for(
        lambda: re.search(r"is behind: it has change 1 of the list feed, and 3 is in force here; "
                          r"it is tried again.*ipcuckood accept feed",
                          host.source().get("problem") or "")), host.source())
    # Whatever else goes wrong, it is no reason to go back.
    host.daemon.ask("refresh feed")
    failures = host.source()["failures"]
    wait_for(lambda: host.source()["failures"] > failures)
    b.case("and the bans stay, also after a refresh", set(host.members()) == want, host.source())
    replica.ask("ACL", "SETUSER", "default", "-role")
    b.case("so they do if it does not say whether it is the primary", wait_for(
        lambda: "(+role)" in (host.source().get("problem") or "")) and
        set(host.members()) == want, host.source())
    b.case("the older list can be accepted", host.daemon.ask("accept feed")[0] == 0 and
           host.has(old) and wait_for(lambda: host.source()["state"] == "good"), host.source())
    b.case("and then nothing waits", host.daemon.ask("accept feed")[0] != 0)
    follow(b.server())
    b.case("the newer one is followed again", host.has(want), host.source())
    follow(here)
    failures = host.source()["failures"]
    wait_for(lambda: host.source()["failures"] > failures)
    b.case("what was accepted once is not believed again", set(host.members()) == want)
    replica.ask("ACL", "SETUSER", "default", "+role")
    replica.ask("REPLICAOF", "NO", "ONE")
    b.case("when it is the primary, its list is followed, though older", host.has(old),
           host.source())


def test_empty_replica(b):
    """A replica that has not got the list yet is no reason to refuse a publication."""
    host = b.begin()
    replica = engine.Redis(b.dir, port=REPLICA, options=("--replicaof", "127.0.0.1 1"))
    b.others = [replica]
    host.daemon.stop()
    host.configure(f"127.0.0.1:{replica.port} {b.server()}")
    host.daemon.start()
    for entry in ("203.0.113.1", "203.0.113.2"):
        status, text = host.publish(entry)
        b.case(f"{entry} is published to the primary", status == 0, text)
    status, text = host.replace(MANY[:50])
    b.case("and so is a whole list", status == 0 and host.has(MANY[:50]), (text, host.source()))
    # The connection on which the daemon has published is closed by then.
    time.sleep(6)
    status, found = host.fleet()
    b.case("the state of the fleet is that of the primary's list", status == 0 and found.get("seq") == 4,
           (status, found))
    b.case("the replica got nothing", replica.ask("KEYS", "*") == [])

    def follow(servers):
        host.daemon.stop()
        host.configure(servers)
        host.daemon.start()

    def problem(pattern):
        return wait_for(lambda: re.search(pattern, host.source().get("problem") or ""))

    here = f"127.0.0.1:{replica.port}"
    follow(here)
    b.case("if there is no other server, that is said, and the list stays in force",
           problem("is a replica that is not connected to its primary") and host.has(MANY[:50]),
           host.source())
    # What it is cannot be known then.
    replica.ask("ACL", "SETUSER", "default", "-role")
    follow(f"{here} {b.server()}")
    status, found = host.fleet()
    b.case("a replica that does not say its role: the fleet is that of the primary's list",
           found.get("seq") == 4, (status, found))
    b.case("and the list is followed there", wait_for(
        lambda: host.source()["state"] == "good" and host.source()["server"] == b.server()),
           host.source())
    follow(here)
    b.case("if there is no other server, the missing right is named, and the list stays",
           problem(r"has no list feed; .*\(\+role\)") and host.has(MANY[:50]), host.source())
    status, text = host.daemon.ask("fleet feed")
    b.case("and so it is to who asks for the fleet, without advice to publish", status == 3 and
           "(+role)" in text and "--file" not in text, (status, text))


def test_empty_primary(b):
    """A primary without the list is named first, and one that has it behind it."""
    host = b.begin(keep="100")
    empty = engine.Redis(b.dir, port=REPLICA)
    b.others = [empty]
    want = set(MANY[:100])
    host.daemon.stop()
    b.redis.ask("DEL", b.redis.key("feed", "fleet"))
    host.configure(f"127.0.0.1:{empty.port} {b.server()}", {"keep": "100"})
    host.daemon.start()
    b.case("the list is followed where it is", wait_for(
        lambda: host.source()["state"] == "good" and host.source()["server"] == b.server()),
           host.source())
    b.case("the report goes there", wait_for(
        lambda: b.redis.ask("HGET", b.redis.key("feed", "fleet"), "here"), 10), host.source())
    status, text = host.publish("203.0.113.1")
    want |= {"203.0.113.1"}
    b.case("a change goes there", status == 0 and host.has(want), (text, host.source()))
    # The connection on which the daemon has published is closed by then.
    time.sleep(6)
    status, found = host.fleet()
    b.case("and so does who asks for the fleet", status == 0 and found.get("seq") == 2,
           (status, found))
    for i in range(60):
        host.daemon.publish("feed", f"203.0.113.{i}\n")
        want.add(f"203.0.113.{i}")

    def renewed():
        host.daemon.publish("feed", "203.0.113.1\n")
        time.sleep(0.2)
        return int(b.redis.head("feed")["snapshot-seq"]) > 1
    b.case("the snapshot is renewed there", wait_for(renewed, SOON), b.redis.head("feed"))
    b.case("the empty one got nothing", empty.ask("KEYS", "*") == [], empty.ask("KEYS", "*"))
    # All are empty.
    b.redis.ask("FLUSHALL")
    host.daemon.stop()
    host.daemon.start()
    advice = rf"(:{REPLICA}|{b.server()}) has no list feed; .*ipcuckoo publish feed --file"
    b.case("if no server has it, that is said of all, with advice", wait_for(
        lambda: len(re.findall(advice.replace(".*", "[^;]*"), host.source().get("problem") or "")) == 2),
           host.source())
    b.case("and the list stays in force", set(host.members()) == want, len(host.members()))
    status, text = host.daemon.ask("fleet feed")
    b.case("who asks for the fleet is told, too", status == 3 and re.search(advice, text), text)
    status, text = host.publish("203.0.113.200")
    b.case("and who publishes a change, which waits", status == 7 and re.search(
        "not published yet: .*" + advice, text) and host.source()["waiting"] == 1, text)
    status, text = host.replace(MANY[:50])
    b.case("a whole list makes it, and what waits is published behind it", status == 0 and
           host.has(MANY[:50] + ["203.0.113.200"], 60) and not host.source()["waiting"],
           (text, host.source()))
    b.case("on the server that is named first",
           set(empty.entries("feed")) == {*MANY[:50], "203.0.113.200"} and
           b.redis.ask("KEYS", "*") == [], b.redis.ask("KEYS", "*"))


def test_writable_replica(b):
    """What is written to a replica is lost, whether the replica accepts it or not."""
    host = b.begin()
    replica = engine.Redis(b.dir, port=REPLICA, options=(
        "--replicaof", f"127.0.0.1 {b.redis.port}", "--repl-diskless-sync-delay", "0"))
    b.others = [replica]
    want = set(MANY[:100])
    for read_only in ("yes", "no"):
        name = f"replica-read-only {read_only}"
        replica.ask("CONFIG", "SET", "replica-read-only", read_only)
        b.case(f"{name}: the replica has the list", wait_for(
            lambda: replica.head("feed") == b.redis.head("feed"), 20))
        host.daemon.stop()
        # With a short heartbeat, the next report would come on the connection to the primary.
        host.configure(f"127.0.0.1:{replica.port} {b.server()}", {"heartbeat": "60s"})
        b.redis.ask("DEL", b.redis.key("feed", "fleet"))
        host.daemon.start()
        b.case(f"{name}: the list is followed there", wait_for(
            lambda: host.source()["state"] == "good" and
            host.source()["server"].endswith(f":{replica.port}")), host.source())
        b.case(f"{name}: the report goes to the primary", wait_for(
            lambda: b.redis.ask("HGET", b.redis.key("feed", "fleet"), "here"), 10),
               host.source())
        before = int(b.redis.head("feed")["seq"])
        status, text = host.publish(f"203.0.113.{before}")
        want |= {f"203.0.113.{before}"}
        b.case(f"{name}: a change goes to the primary", status == 0 and
               int(b.redis.head("feed")["seq"]) == before + 1, (text, b.redis.head("feed")))
        b.case(f"{name}: the primary has it, and it is in force", host.has(want) and
               set(b.redis.entries("feed")) == want, (host.source(), replica.head("feed")))
        host.daemon.stop()
        host.configure(f"127.0.0.1:{replica.port}")
        host.daemon.start()
        status, text = host.publish("203.0.113.99")
        b.case(f"{name}: if no primary is named, a change waits, and that is said", status == 7 and
               re.search("not published yet: .*is a replica.* name its primary", text) and
               int(b.redis.head("feed")["seq"]) == before + 1, text)
        # Without a change that waits before it
        host.daemon.stop()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(host.daemon.state, "feed@feed.waiting"))
        host.configure(f"127.0.0.1:{replica.port}", {"report": "no"})
        host.daemon.start()
        status, found = host.fleet()
        b.case(f"{name}: the fleet can be read there, as it was before", status != 3 and
               found.get("seq") == before + 1, (status, found))


def test_cluster(b):
    """Two servers share the slots; the first one that is named has not that of the list."""
    one, two = [engine.Redis(b.dir, port=port, options=("--cluster-enabled", "yes"))
                for port in (REPLICA, REPLICA + 1)]
    b.redis, b.others = one, [two]
    one.ask("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
    two.ask("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
    one.ask("CLUSTER", "MEET", "127.0.0.1", str(two.port))
    wait_for(lambda: all(b"cluster_state:ok" in r.ask("CLUSTER", "INFO") for r in (one, two)), SOON)
    slot = int(one.ask("CLUSTER", "KEYSLOT", one.key("feed", "head")))
    servers = (two, one) if slot < 8192 else (one, two)
    host = b.host()
    host.configure(" ".join(f"127.0.0.1:{server.port}" for server in servers))
    host.daemon.start()
    done = host.replace(MANY[:100])
    b.case("a list is published to the server that has its slot", not done[0], done)
    done = host.publish("203.0.113.1")
    b.case("and so is a change", not done[0], done)
    b.case("both are in force", host.has(MANY[:100] + ["203.0.113.1"]), host.source())


def test_sentinel(b):
    """The primary is killed, and its replica becomes the primary."""
    b.redis = engine.Redis(b.dir)
    replica = engine.Redis(b.dir, port=REPLICA, options=(
        "--replicaof", f"127.0.0.1 {b.redis.port}", "--repl-diskless-sync-delay", "0"))
    sentinels = [engine.Sentinel(b.dir, 26390 + i, "fleet", b.redis) for i in range(3)]
    b.others = [replica, *sentinels]
    addresses = " ".join(f"127.0.0.1:{s.port}" for s in sentinels)
    hosts = [b.host("fw1"), b.host("fw2")]
    for i, host in enumerate(hosts):
        # The daemons share the machine, so each has a set of its own.
        keys = {"sentinel": f"fleet {addresses}", "set": "s" if not i else "t",
                "heartbeat": "2s", "connect-time": "3s", "host": host.name}
        host.daemon.configure(f"[set {keys['set']}]\nattach = no\n[redis feed]\n" +
                              "".join(f"{k} = {v}\n" for k, v in keys.items()))
        host.set = keys["set"]

    def everywhere(entries, seconds=60):
        return all(wait_for(lambda h=host: set(members(h.set)) == set(entries), seconds)
                   for host in hosts)
    b.case("the replica follows", wait_for(replica.follows, 20))

    def knows(sentinel):
        """Sentinel looks every ten seconds whether a replica has its primary."""
        replicas = sentinel.ask("SENTINEL", "REPLICAS", "fleet")
        fields = dict(zip(replicas[0][::2], replicas[0][1::2])) if replicas else {}
        return fields.get(b"flags") == b"slave" and fields.get(b"master-link-status") == b"ok"
    # The daemons may ask any of them.
    b.case("each Sentinel knows it", wait_for(lambda: all(map(knows, sentinels)), 60))
    hosts[0].daemon.start()
    status, text = hosts[0].replace(MANY[:100])
    b.case("Sentinel says where to publish", status == 0, text)
    hosts[1].daemon.start()
    want = set(MANY[:100])
    b.case("and where to follow", everywhere(want), hosts[1].source())
    b.case("which is the replica", wait_for(lambda: hosts[1].source()["server"].endswith(f":{REPLICA}")),
           hosts[1].source())
    status, text = hosts[1].publish("203.0.113.1")
    both = int(b.redis.ask("WAIT", 1, 10000))
    want |= {"203.0.113.1"}
    b.case("a ban is acknowledged by both", status == 0 and both == 1, (text, both))
    # Its connection ends: the addresses of the old answer are not used any more.
    for client in replica.ask("CLIENT", "LIST").decode().splitlines():
        if "cmd=xread " in client:
            replica.ask("CLIENT", "KILL", "ID", re.match(r"id=(\d+)", client)[1])
    hosts[0].publish("203.0.113.9")
    want |= {"203.0.113.9"}
    b.case("whoever loses a replica asks Sentinel again, and finds it", everywhere(want) and
           all(host.source()["server"].endswith(f":{REPLICA}") for host in hosts),
           [host.source() for host in hosts])
    b.redis.kill()
    killed = time.monotonic()
    status, text = hosts[0].publish("203.0.113.2")
    want |= {"203.0.113.2"}
    b.case("a ban while the primary is gone is published, or waits",
           status == 0 or status == 7 and "not published yet" in text, text)
    b.case("it is in force everywhere, and the one before is not lost", everywhere(want),
           [host.source() for host in hosts])
    b.tap.note(f"in force {time.monotonic() - killed:.1f} s after the primary was killed")
    b.case("the replica is the primary now", set(replica.entries("feed")) == want)
    status, text = hosts[1].publish("203.0.113.1", "--delete")
    want -= {"203.0.113.1"}
    # Its publisher may still be about to ask Sentinel again.
    b.case("an unban is published to it, or waits until it is",
           (status == 0 or status == 7 and "not published yet" in text) and everywhere(want), text)
    # It returns, and Sentinel makes it a replica.
    b.redis.start()
    b.case("the old primary returns as a replica", wait_for(b.redis.follows, 60))
    hosts[0].publish("203.0.113.3")
    want |= {"203.0.113.3"}
    b.case("and nothing that it had before comes back", everywhere(want) and wait_for(
        lambda: set(b.redis.entries("feed")) == want), [host.source() for host in hosts])
    for sentinel in sentinels:
        sentinel.kill()
    status, text = hosts[0].publish("203.0.113.4")
    hosts[1].daemon.ask("refresh feed")
    b.case("without sentinels: said, and what is in force stays", wait_for(
        lambda: "Sentinel cannot be asked" in (hosts[1].source().get("problem") or "")) and
        set(members(hosts[1].set)) >= want, hosts[1].source())
    sentinels[2].start()
    b.case("one that is back is enough to find the primary", everywhere(want | {"203.0.113.4"}),
           [host.source() for host in hosts])
    hosts[1].daemon.configure(f"[set t]\n[redis feed]\nset = t\nsentinel = nobody {addresses}\n"
                              "connect-time = 3s\n")
    hosts[1].daemon.process.send_signal(signal.SIGHUP)
    b.case("a name that Sentinel does not know: said", wait_for(
        lambda: "no primary of the name nobody" in (hosts[1].source().get("problem") or "")),
        hosts[1].source())


def lies():
    """(name, answers by command, pattern of the message)"""
    good = head_and(engine.head_of(), struct.pack(">BI4s", 0, 1, b"\1\2\3\4"))
    no_head = engine.array(*[engine.bulk(None)] * 6)
    return (
        ("HTTP", {"HMGET": b"HTTP/1.1 400 Bad Request\r\n\r\n"}, "cannot be used"),
        ("an endless string", {"HMGET": engine.endless(b"$100000000000\r\n")}, "MB|in time"),
        ("an endless array", {"HMGET": engine.endless(b"*100000\r\n", b":1\r\n" * 9999)},
         "makes no sense|nobody asked"),
        ("a reply that nobody asked for",
         {"HMGET": no_head + b"+x\r\n", "ROLE": PRIMARY}, "no list|nobody asked"),
        ("a huge array", {"HMGET": b"*2147483647\r\n"}, "MB"),
        ("many arrays", {"HMGET": engine.endless(b"*6\r\n", b"*9999\r\n")}, ""),
        ("a negative length", {"HMGET": b"*-7\r\n"}, ""),
        ("cut off", {"HMGET": engine.closing(b"*6\r\n$1\r\n1\r\n")}, "closed"),
        ("silent", {"HMGET": engine.silent}, "in time"),
        ("closed at once", {}, "closed"),
        ("a status", {"HMGET": b"+OK\r\n"}, "makes no sense"),
        ("an error", {"HMGET": b"-ERR no\r\n"}, "refuses to show it: ERR no"),
        ("no list", {"HMGET": no_head, "ROLE": PRIMARY}, "there is no list"),
        ("another format", {"HMGET": engine.head_of(form=b"2")}, "format 2"),
        ("half a head", {"HMGET": engine.array(engine.bulk(b"1"), *[engine.bulk(None)] * 5)},
         "damaged"),
        ("a version with a path", {"HMGET": engine.head_of(version=b"../x")}, "damaged"),
        ("a wrong id", {"HMGET": engine.head_of(at=b"x")}, "damaged"),
        ("a snapshot of 1 TB", head_and(engine.head_of(size=10 ** 12), b"x" * 99), "max-size"),
        ("a snapshot that is short", head_and(engine.head_of(size=99), b"\0"), "as a whole"),
        ("a snapshot that is long", head_and(engine.head_of(size=9), b"x" * 99), "makes no sense"),
        ("no snapshot", head_and(engine.head_of(), None), "no sense"),
        ("nonsense in it", head_and(engine.head_of(), b"nonsense!"), "snapshot is wrong"),
        ("too many entries", head_and(engine.head_of(), struct.pack(">BI4s", 0, 1 << 31, b"")),
         "snapshot is wrong"),
        ("an entry twice", head_and(engine.head_of(size=13), struct.pack(
            ">BI8s", 0, 2, b"\1\2\3\4" * 2)), "snapshot is wrong"),
        ("a prefix with host bits", head_and(engine.head_of(size=10), struct.pack(
            ">BI5s", 2, 1, b"\1\2\3\4\x08")), "snapshot is wrong"),
        ("a gap behind it", {**good, "XREAD": engine.stream((b"9-0", 9, b"c", b"\0\1\2\3\4"))},
         "missing"),
        ("nothing behind it", {**head_and(engine.head_of(seq=9), good["GETRANGE"], True),
                               "XREAD": b"*-1\r\n"}, "missing"),
        ("a change that is nonsense", {**good, "XREAD": engine.stream(
            (b"8-0", 8, b"c", b"\xff\1\2"))}, "number 7 is wrong"),
        ("a change that is cut off", {**good, "XREAD": engine.stream(
            (b"8-0", 8, b"c", b"\0\1\2\3"))}, "number 7 is wrong"),
        ("an unknown field", {**good, "XREAD": engine.stream((b"8-0", 8, b"z", b"x"))},
         "does not know"),
        ("replaced again and again", {**good, "XREAD": engine.stream((b"8-0", 8, b"v", b"a"))},
         "contradict"),
        ("a large change", {**good, "XREAD": engine.stream((b"8-0", 8, b"c", b"\0" * 99999))},
         "number 7 is wrong"),
    )


def head_and(head, snapshot, packed=False):
    return {"HMGET": head, "GETRANGE": snapshot if packed else engine.bulk(snapshot),
            "XREAD": b"*-1\r\n", "XRANGE": engine.array()}


def test_lies(b):
    host = b.begin()
    want = set(MANY[:100])
    liar = engine.Liar()
    good, peak = host.source()["good_at"], 0
    for name, answers, pattern in lies():
        host.daemon.stop()
        liar.answers = answers
        host.configure(f"127.0.0.1:{liar.port}", {"report": "no", "max-size": "1M"})
        host.daemon.start()
        now = wait_for(lambda: (s := host.source())["failures"] and s, SOON)
        b.case(f"{name}: fails, and says why", now and now["state"] == "failing" and
               re.search(pattern, now["problem"]), now or host.source())
        b.case(f"{name}: the last good contents stay", set(host.members()) == want,
               len(host.members()))
        peak = max(peak, host.daemon.proc("VmHWM"))
    liar.stop()
    b.tap.note(f"most memory: {peak} kB")
    b.case("memory is bounded", peak < MEMORY_KB, peak)
    host.daemon.stop()
    host.configure(b.server())
    host.daemon.start()
    b.case("the truth is believed again", wait_for(
        lambda: host.source()["state"] == "good" and host.source()["good_at"] >= good), host.source())


# What a server would have a terminal, a shell, and whoever reads lines do
EVIL = (b"\x1b]0;owned\x07\x9b1m\xe2\x80\xae$(touch run)`touch run`\nipcuckood: forged\n<3>forged\n"
        b"  redis ghost: good\r  redis ghost: good")


def test_hostile(b):
    """A server whose texts act on terminals, and have lines like those of the daemon"""
    host = b.host()
    liar = engine.Liar()
    error = b"-ERR " + EVIL.replace(b"\r", b"") + b"\r\n"
    host.daemon.env = {"JOURNAL_STREAM": "1:1"}
    fleet = {"HGET": engine.bulk(b"7"), "HGETALL": engine.array(engine.bulk(EVIL), engine.bulk(b"{}"))}
    for name, answers, keys in (
            ("an error", {"HMGET": error, "EVAL": error}, {}),
            ("a refused password", {"AUTH": error}, {"password-file": b.secret("x")}),
            ("Sentinel", {"SENTINEL": error}, {"sentinel": f"fleet 127.0.0.1:{liar.port}"})):
        liar.answers = {**fleet, "ROLE": PRIMARY, "HSET": error, **answers}
        host.configure(f"127.0.0.1:{liar.port}", keys)
        if "sentinel" in keys:
            with open(host.daemon.config, encoding="utf-8") as f:
                text = re.sub("^server .*\n", "", f.read(), flags=re.M)
            host.daemon.configure(text)
        host.daemon.start()
        problem = wait_for(lambda: host.source().get("problem"))
        b.case(f"{name}: the source fails, and its text is quoted",
               problem and "\\x1b]0;owned\\x07" in problem, problem)
        shown = {"status": host.daemon.run("status").stdout,
                 "status -j": host.daemon.run("status", "--json").stdout,
                 "the answer to publish": "".join(map(str, host.publish("192.0.2.1"))),
                 "fleet status": host.daemon.ask("fleet feed text")[1],
                 "fleet status -j": host.daemon.ask("fleet feed json")[1],
                 "the names": host.daemon.ask("names")[1]}
        host.daemon.stop()
        shown["the journal"] = host.daemon.messages()
        os.unlink(host.daemon.log)
        for what, text in shown.items():
            b.case(f"{name}: {what}: nothing acts on a terminal, and no line is forged",
                   all(c.isprintable() or c == "\n" for c in text) and
                   not re.search("^(ipcuckood: |<3>)?forged|^  redis ghost", text, re.M), ascii(text))
        b.case(f"{name}: each line of the journal is one of the daemon", re.fullmatch(
            r"(<[346]>\[redis feed\] .*\n|<6>.*(configuration|set s).*\n)*", shown["the journal"]),
            shown["the journal"])
        b.case(f"{name}: completion gets the name, and nothing else", shown["the names"] == "feed\n",
               shown["the names"])
    liar.stop()


# Nobody has these addresses, and nobody says so: packets to them are dropped.
NAMESERVERS = ("10.98.0.1", "10.98.0.2", "10.98.0.3")


def test_nameservers(b):
    """Three nameservers that never answer: only what needs them waits for them."""
    b.redis = engine.Redis(b.dir)
    server = lie.Server()
    server.say("/near", lie.whole("192.0.2.1\n"))
    ip("link", "add", "dead", "type", "dummy")
    b.links.append("dead")
    ip("addr", "add", "10.98.0.254/24", "dev", "dead")
    ip("link", "set", "dead", "up")
    host = b.host()
    resolv, script = (os.path.join(b.dir, name) for name in ("resolv.conf", "in-namespace"))
    with open(resolv, "w", encoding="ascii") as f:
        f.write("".join(f"nameserver {address}\n" for address in NAMESERVERS))
    with open(script, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind {resolv} /etc/resolv.conf && "
                f"exec \"$0\" \"$@\"' {host.daemon.program} \"$@\"\n")
    os.chmod(script, 0o755)
    near = f"[feed near]\nset = t\nurl = {server.url('/near')}\nevery = 1s\njitter = 0%\n"
    away = "".join(f"[redis {name}]\nset = t\n{key} = {value}\nconnect-time = 3s\n"
                   for name, key, value in (("name", "server", "redis.example:6379"),
                                            ("same", "server", "redis.example:6379"),
                                            ("sentinel", "sentinel", "x sentinel.example:26379")))
    away += ("[feed far]\nset = t\nurl = http://feed.example/\nevery = 1m\nconnect-time = 3s\n"
             "jitter = 0%\n")
    host.daemon.configure(f"[set s]\nattach = no\n[set t]\nattach = no\n[redis feed]\nset = s\n"
                          f"server = {b.server()}\n{near}{away}")
    program, host.daemon.program = host.daemon.program, script
    host.daemon.start()
    b.case("a list in a Redis that is named by its address is published",
           not host.daemon.publish("feed", "203.0.113.255\n", "replace")[0] and
           host.has(["203.0.113.255"]), host.daemon.messages())
    asked, forced, fetched = [], [], []

    def measure(what):
        begin = time.monotonic()
        done = what()
        return time.monotonic() - begin if done else 99
    end = time.monotonic() + 45
    for i in itertools.count():
        if i == 60:
            host.daemon.process.send_signal(signal.SIGHUP)
        entry, listed = f"203.0.113.{i % 250}", f"198.51.100.{i % 250}"
        asked.append(measure(lambda: host.daemon.ask("status")))
        forced.append(measure(lambda e=entry: not host.daemon.publish("feed", e + "\n")[0] and
                              wait_for(lambda: e in members("s"), 20)))
        if i % 10 == 0:
            server.say("/near", lie.whole(f"{listed}\n"))
            fetched.append(measure(lambda e=listed: host.daemon.ask("refresh near") and
                                   wait_for(lambda: e in members("t"), 20)))
        if time.monotonic() > end:
            break
    asked.sort()
    b.tap.note(f"status: {asked[len(asked) // 2] * 1000:.0f} ms at the median of {len(asked)}, "
               f"{asked[-1] * 1000:.0f} ms at most; a ban: {max(forced) * 1000:.0f} ms at most; a feed: "
               f"{max(fetched) * 1000:.0f} ms at most")
    b.case("status answers", asked[len(asked) // 2] < 0.1 and asked[-1] < 1, asked[-5:])
    b.case("a ban is in force in a second", max(forced) < 1, sorted(forced)[-5:])
    b.case("and so is a feed that is named by its address", max(fetched) < 1, fetched)
    for name in ("name", "same", "sentinel"):
        b.case(f"{name}: that nothing answers is said", wait_for(lambda n=name: re.search(
            "example:.* cannot be looked up: no nameserver answers in time",
            host.daemon.source(n).get("problem") or "")), host.daemon.source(name))
    b.case("so it is of a feed", wait_for(
        lambda: host.daemon.source("far")["state"] == "failing"), host.daemon.source("far"))
    # libcurl has a thread for each look-up, the daemon has one for each name.
    threads = host.daemon.proc("Threads")
    b.case("there are few threads", threads < 30, threads)
    stopped = measure(lambda: host.daemon.stop() == 0)
    b.case("the daemon ends when it has to", stopped < 5, stopped)
    # The same names, when they can be looked up
    hosts = os.path.join(b.dir, "hosts")
    with open(hosts, "w", encoding="ascii") as f:
        f.write("127.0.0.1 redis.example\n")
    with open(script, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind {hosts} /etc/hosts && "
                f"exec \"$0\" \"$@\"' {program} \"$@\"\n")
    host.configure(f"redis.example:{b.redis.port}")
    host.daemon.start()
    b.case("a name that has an address is connected to", wait_for(
        lambda: host.source()["state"] == "good"), host.source())
    host.configure(f"no.such.name.invalid:1 127.0.0.1:{b.redis.port}")
    host.daemon.process.send_signal(signal.SIGHUP)
    b.case("behind a name that has none, the next address is tried", wait_for(
        lambda: host.source()["state"] == "good" and host.source()["server"] == b.server()),
        host.source())
    server.stop()


def test_stream_refused(b):
    """Servers that show the head of the list, but not its changes"""
    host = b.host()
    liars = [engine.Liar(), engine.Liar()]
    heads = []

    def head(connection):
        heads.append(time.monotonic())
        connection.sendall(engine.head_of())
    good = {**head_and(None, struct.pack(">BI4s", 0, 1, b"\1\2\3\4")), "HMGET": head,
            "XREAD": engine.later(b"*-1\r\n", 1)}
    bad = {**good, "XREAD": b"-NOPERM no permissions to run the 'xread' command\r\n"}
    for liar in liars:
        liar.answers = good
    host.configure(" ".join(f"127.0.0.1:{liar.port}" for liar in liars), {"report": "no"})
    host.daemon.start()
    b.case("the list is in force", wait_for(lambda: host.source()["state"] == "good") and
           host.has(["1.2.3.4"]), host.source())
    for how in ("in force already", "not in force yet"):
        said = len(host.daemon.messages())
        heads.clear()
        for liar in liars:
            liar.answers = bad
        if how == "not in force yet":
            host.daemon.stop()
            for name in os.listdir(host.daemon.state):
                os.unlink(os.path.join(host.daemon.state, name))
            host.daemon.start()
        b.case(f"a list {how}: the refusal is said", wait_for(
            lambda: re.search(r"(refuses to show it: NOPERM.*){2}tried again",
                              host.source().get("problem") or ""), SOON), host.source())
        time.sleep(5)
        b.case(f"a list {how}: all servers are tried, and then later again", len(heads) < 20,
               f"{len(heads)} heads: {host.source()}")
        said = host.daemon.messages()[said:]
        b.case(f"a list {how}: nothing else is said", "contradict" not in said, said)
        liars[1].answers = good
        b.case(f"a list {how}: a server that shows it is used", wait_for(
            lambda: host.source()["state"] == "good", SOON) and
            host.source()["server"].endswith(f":{liars[1].port}"), host.source())
    for liar in liars:
        liar.stop()


def test_clock(b):
    """A Redis whose clock differs from that of this machine"""
    host = b.host()
    liar = engine.Liar()
    good = head_and(engine.head_of(), struct.pack(">BI4s", 0, 1, b"\1\2\3\4"), False)

    def tell(seconds):
        def send(connection):
            connection.sendall(engine.array(engine.bulk(b"%d" % (time.time() + seconds)),
                                            engine.bulk(b"999999")))
        liar.answers = {**good, "TIME": send, "XREAD": engine.later(b"*-1\r\n", 1)}

    def warning():
        return host.source().get("warning", "")

    host.configure(f"127.0.0.1:{liar.port}", {"report": "no"})
    tell(37)
    host.daemon.start()
    b.case("a machine that is behind is warned", wait_for(
        lambda: re.search(r"is 3[78] seconds behind that of Redis at 127\.0\.0\.1.* later here",
                          warning())), host.source())
    b.case("and the list is in force all the same", wait_for(
        lambda: host.source()["state"] == "good"), host.source())
    tell(-3600)
    host.daemon.ask("refresh feed")
    b.case("a machine that is ahead is warned", wait_for(
        lambda: re.search(r"is (3599|3600) seconds ahead of that .* earlier here", warning())),
        host.source())
    text = host.daemon.run("status", "--prometheus").stdout
    b.case("the difference is a metric", re.search(
        r"source_clock_difference_seconds\{.*\} (3599|3600)", text), text)
    tell(0)
    host.daemon.ask("refresh feed")
    b.case("the warning ends when the clocks agree", wait_for(lambda: not warning()),
           host.source())
    tell(37)
    host.daemon.ask("refresh feed")
    b.case("a warning that is there", wait_for(warning), host.source())
    liar.answers = {**good, "TIME": engine.array(engine.bulk(b"x"), engine.bulk(b"-1"))}
    host.daemon.ask("refresh feed")
    b.case("does not stay when Redis does not tell its time", wait_for(
        lambda: host.source()["state"] == "good" and not warning() and
        "clock_difference" not in host.source()), host.source())
    b.case("which is said", wait_for(
        lambda: "let the user run TIME" in host.daemon.messages()), host.daemon.messages())
    # The clock of this machine is set, while changes keep coming: there is no heartbeat.
    start = time.time() - time.monotonic()
    changes = collections.defaultdict(lambda: itertools.count(8))

    def constant(connection):
        connection.sendall(engine.array(engine.bulk(b"%d" % (time.monotonic() + start)),
                                        engine.bulk(b"0")))

    def change(connection):
        time.sleep(0.2)
        n = next(changes[connection])
        # Each request gets one more change behind the snapshot, which has change 7.
        connection.sendall(engine.stream((b"%d-0" % n, n, b"c", b"\0\1\2\3\4")))
    liar.answers = {**good, "TIME": constant, "XREAD": change}
    host.daemon.ask("refresh feed")
    b.case("the clocks agree", wait_for(
        lambda: host.source().get("clock_difference", 9) < 2), host.source())
    b.case("a snapshot is in force though changes keep coming", wait_for(
        lambda: host.source()["seq"] > 9), host.source())
    for seconds, pattern in ((3600, "seconds ahead of that"), (-3600, "^$")):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
        b.case(f"the clock is set by {seconds} seconds, which is noticed without a new connection",
               wait_for(lambda p=pattern: re.search(p, warning())), host.source())
    liar.stop()


def test_clock_set(b):
    """The clock is set while entries are in force whose time it is"""
    host = b.begin()
    until = int(time.time()) + 30000
    host.replace([MANY[0], f"{MANY[1]},{until - 29000}", f"{MANY[2]},{until}"])
    b.case("the list is in force", host.has(MANY[:3]), host.source())
    for seconds, want in ((7200, {MANY[0], MANY[2]}), (-7200, set(MANY[:3]))):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
        b.case(f"set by {seconds} seconds: what has expired by it is not in force, all else is",
               host.has(want), host.members())
        left = re.search(r"timeout (\d+)", host.members().get(MANY[2], "timeout 0"))
        b.case("and lasts as long as it has to by it",
               abs(time.time() + int(left[1]) - until) < 5, left[0])
    b.case("which is said", "the clock was set by" in host.daemon.messages())


def test_config(b):
    host = b.host()
    host.configure("localhost", {"list": "a b", "user": "x", "tls-ca": "/x", "heartbeat": "0s"})
    done = host.daemon.run("--check", host.daemon.config)
    for pattern in (r"\[redis feed\] server: \"localhost\": write HOST:PORT",
                    r"\[redis feed\] list: \"a b\" is no name", r"user: .* password-file = ",
                    r"tls-ca: .* tls = yes", r"heartbeat: \"0s\""):
        b.case(f"--check: {pattern[-24:]}", done.returncode and re.search(pattern, done.stderr),
               done.stderr)
    for keys, pattern in (("", "such as: server ="),
                          ("sentinel = a\n", "addresses of the sentinels"),
                          ("sentinel = a b\n", r"sentinel: \"b\": write HOST:PORT"),
                          ("sentinel = a b:1\nserver = c:1\n", "exclude each other"),
                          ("server = c:1\nsentinel-password-file = /x\n", "without the line")):
        host.daemon.configure(f"[set s]\n[redis feed]\nset = s\n{keys}")
        done = host.daemon.run("--check", host.daemon.config)
        b.case(f"--check: {pattern[-24:]}", done.returncode and re.search(pattern, done.stderr),
               done.stderr)
    host.configure("192.0.2.1:1 [2001:db8::1]:6379 /run/redis.sock")
    done = host.daemon.run("--check", host.daemon.config)
    b.case("--check: addresses of all kinds are right", not done.returncode, done.stderr)
    path = b.secret("a password")
    host.configure("192.0.2.1:1", {"password-file": path})
    for mode, status in ((0o640, 0), (0o644, 2)):
        os.chmod(path, mode)
        done = host.daemon.run("--check", host.daemon.config)
        b.case(f"--check: a password in a file of mode {mode:o}", done.returncode == status and
               (f"[redis feed] password-file: needs the password in {path}, which every user" in
                done.stderr) == bool(status), done.stderr)


def test_million(b):
    """A million addresses, beside load of the same file"""
    host = b.begin(**{"max-entries": "2000000"})
    path = os.path.join(b.dir, "million")
    with open(path, "w", encoding="ascii") as f:
        f.writelines(f"100.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}\n" for i in range(1000000))
    tool("create", "other", "hash:net", "family", "any")
    begin = time.monotonic()
    tool("load", "other", path)
    load = time.monotonic() - begin
    status, text = host.publish("--file", path)
    published = time.monotonic()
    b.case("a million addresses are published", not status, text)
    full = re.compile(r"Number of entries: 1000000\b")
    b.case("and in force", wait_for(lambda: full.search(tool("list", "-t", "s"))))
    follow = time.monotonic() - published
    host.daemon.stop()
    for name in os.listdir(host.daemon.state):
        os.unlink(os.path.join(host.daemon.state, name))
    tool("destroy", "s")
    host.daemon.start(wait=False)
    begin = time.monotonic()
    b.case("a new follower has them", wait_for(
        lambda: full.search(tool("list", "-t", "s", check=False))))
    b.tap.note(f"load: {load:.2f} s; in force after the publication: {follow:.2f} s; on a new "
               f"follower: {time.monotonic() - begin:.2f} s")
    b.case("in 4 bytes each", int(b.redis.head("feed")["bytes"]) == 4000005, b.redis.head("feed"))
    b.tap.note(f"most memory: {host.daemon.proc('VmHWM')} kB")


def test_many(b):
    """How soon a ban is in force on many firewalls, as each of them measures it"""
    hosts = b.fleet([f"fw{i}" for i in range(1, HOSTS + 1)], heartbeat="60s")
    hosts[0].replace(MANY)
    b.case(f"{HOSTS} firewalls have the list", all(host.has(MANY, 90) for host in hosts))
    lags = []
    for i in range(20):
        hosts[i % HOSTS].daemon.publish("feed", f"203.0.113.{i}\n")
        seq = int(b.redis.head("feed")["seq"])
        for host in hosts:
            wait_for(lambda h=host: h.source()["seq"] == seq)
            lags.append(host.source()["lag"] * 1000)
    lags.sort()
    half, most = lags[len(lags) // 2], lags[len(lags) * 99 // 100]
    b.tap.note(f"in force on {HOSTS} firewalls: {half:.0f} ms at the median, {most:.0f} ms at p99")
    b.case("p99 is below a second", most < 1000, lags[-10:])
    b.case("the median is below 100 ms", half < 100, lags[:10])
    b.case("all have all of it", all(host.has(MANY + [f"203.0.113.{i}" for i in range(20)])
                                     for host in hosts))
    b.case("and say so", wait_for(lambda: not hosts[0].fleet()[0]), hosts[0].fleet())


def unread(s):
    """How many bytes the other end of a local socket has not read"""
    return struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)))[0]


class Round:
    """Random changes and faults. What was published is in @want; what is taken back was in force
    everywhere at the last quiet moment, so the order of publications does not matter."""

    def __init__(self, b, rng):
        self.b, self.rng = b, rng
        self.want = set()
        self.settled = set()
        self.next = 0
        self.servers = [b.redis, *b.others]
        # Which servers, and which firewalls, have which fault
        self.paused, self.killed = set(), set()
        self.parted, self.dropping, self.full = set(), set(), set()
        self.count = collections.Counter()
        self.unanswered = []
        self.wrong = 0

    def fresh(self):
        self.next += 1
        return f"172.{16 + self.next // 62500}.{self.next // 250 % 250}.{self.next % 250}"

    def ban(self):
        entries = [self.fresh() for _ in range(self.rng.choice((1, 1, 1, 5, 40)))]
        self.send(entries)
        self.want.update(entries)

    def unban(self):
        if self.settled:
            entries = self.rng.sample(sorted(self.settled), min(3, len(self.settled)))
            self.send(entries, "del")
            self.want.difference_update(entries)
            self.settled.difference_update(entries)

    def send(self, entries, how="add"):
        """What the daemon has, it publishes, now or later, whether somebody waits or not."""
        host = self.rng.choice(self.b.hosts)
        lines = "".join(e + "\n" for e in entries)
        answer = host.daemon.hand_over("feed", lines, how)
        # The daemon reads this much at once.
        if len(lines) < 200 and self.rng.random() < 0.5:
            answer.close()
        else:
            self.unanswered.append((answer, host, f"{how} {entries[:3]}"))

    def read_answers(self):
        """A daemon that ends does not answer, and one that does not reach Redis says so."""
        for answer, host, what in self.unanswered:
            try:
                found = read_answer(answer)
            except OSError as e:
                found = None if isinstance(e, ConnectionError) else (1, str(e))
            answer.close()
            if found and found[0] and not (found[0] in (3, 7) and
                                           found[1].startswith("not published yet: ")):
                self.wrong += 1
                self.b.tap.note(f"{host.name}: {what}: {found}")
        self.unanswered.clear()

    def revive(self, server):
        if server in self.killed:
            server.start()
        elif server in self.paused:
            server.go_on()
        self.killed.discard(server)
        self.paused.discard(server)

    def engine(self):
        """The primary or the replica is killed, or stops for a while, or goes on."""
        server = self.rng.choice(self.servers)
        if server in self.killed | self.paused:
            self.revive(server)
        elif self.rng.random() < 0.5:
            server.kill()
            self.killed.add(server)
        else:
            server.pause()
            self.paused.add(server)

    def toggle(self, hosts, begin, end):
        """A random firewall gets a fault, or loses it; @hosts are those that have it."""
        host = self.rng.choice(self.b.hosts)
        if host in hosts:
            hosts.remove(host)
            end(host)
        else:
            hosts.add(host)
            begin(host)

    def part(self):
        self.toggle(self.parted, lambda h: ip("link", "set", h.link, "down"),
                    lambda h: ip("link", "set", h.link, "up"))

    def drop(self):
        """Packets are dropped in one direction."""
        hook = self.rng.choice(("input", "output"))
        self.toggle(self.dropping, lambda h: h.nft(
            "add table inet part; add chain inet part c "
            f"{{ type filter hook {hook} priority 0; policy drop; }}"),
                    lambda h: h.nft("delete table inet part"))

    def fill(self):
        """There is no room where the daemon stores its state."""
        self.toggle(self.full, Host.fill, Host.empty)

    def slow(self):
        self.b.gate.slow = not self.b.gate.slow

    def lie(self):
        """Who comes through the gate gets lies."""
        self.b.gate.answers = {} if self.b.gate.answers else self.rng.choice(lies())[1]

    def restart(self):
        host = self.rng.choice(self.b.hosts)
        # What waits, and cannot be stored, is lost with the daemon: whoever publishes is told so.
        if host in self.full:
            return
        # What was just handed over is lost with a daemon that ends before it has read it, or is
        # killed before it has stored it.
        for answer, owner, _ in self.unanswered:
            if owner is host:
                wait_for(lambda a=answer: not unread(a), SOON)
        how = (signal.SIGTERM,) if host.source()["waiting"] else (signal.SIGKILL, signal.SIGTERM)
        host.daemon.stop(self.rng.choice(how))
        host.daemon.start()

    def trim(self):
        """Nothing of what is in the snapshot stays in the stream."""
        redis = self.b.redis
        if redis not in self.killed | self.paused:
            redis.ask("XTRIM", redis.key("feed", "changes"), "MINID",
                      redis.head("feed")["snapshot-id"])

    def quiet(self):
        """All faults end. The sets have to become what was published."""
        for server in self.servers:
            self.revive(server)
        for host in self.parted:
            ip("link", "set", host.link, "up")
        for host in self.dropping:
            host.nft("delete table inet part")
        for host in self.full:
            host.empty()
        for hosts in (self.parted, self.dropping, self.full):
            hosts.clear()
        self.b.gate.slow, self.b.gate.answers = False, {}
        for host in self.b.hosts:
            if not host.has(self.want, 90):
                have = set(host.members())
                self.wrong += 1
                self.b.tap.note(f"{host.name}: missing {sorted(self.want - have)[:5]}, too many "
                                f"{sorted(have - self.want)[:5]}: {host.source()}")
                self.b.tap.note(host.daemon.messages()[-1500:])
        self.read_answers()
        found = set(self.b.redis.entries("feed"))
        if found != self.want:
            self.wrong += 1
            self.b.tap.note(f"Redis: {sorted(found ^ self.want)[:5]}")
        self.settled = set(self.want)


def test_random(b):
    """Random changes and faults, on a primary with a replica, some of them through a gate"""
    rng = random.Random(SEED)
    b.tap.note(f"SEED={SEED}")
    count = HOSTS if ROUNDS >= 100 else 3
    hosts = b.fleet([f"fw{n}" for n in range(1, count + 1)], rng, keep="200")
    hosts[0].replace(MANY[:50])
    run = Round(b, rng)
    run.want = set(MANY[:50])
    run.quiet()
    faults = [run.engine, run.part, run.drop, run.restart, run.trim, run.fill, run.slow, run.lie]
    for at in range(ROUNDS):
        for _ in range(rng.randint(3, 10 + count)):
            act = rng.choice(rng.choice(([run.ban, run.ban, run.unban], faults)))
            run.count[act.__name__] += 1
            act()
            time.sleep(rng.choice((0, 0, 0.05, 0.3)))
        run.quiet()
        if rng.random() < 0.2:
            run.want = set(rng.sample(MANY, 60))
            status, text = hosts[at % count].replace(sorted(run.want))
            run.wrong += bool(status)
            run.quiet()
        if run.wrong > 3:
            b.tap.note(f"given up in round {at}")
            break
    b.tap.note(f"{sum(run.count[f.__name__] for f in faults)} faults: {dict(run.count)}")
    b.case(f"{count} firewalls, {ROUNDS} rounds of changes and faults: all sets equal what was"
           " published", run.wrong == 0)


TESTS = (test_config, test_clock, test_clock_set, test_publish, test_guard, test_timeouts, test_values,
         test_name_publisher, test_agree, test_restart, test_left_out, test_replaced, test_full, test_trimmed,
         test_renewed, test_large, test_rights, test_gone, test_waiting, test_left, test_unstored,
         test_refused, test_behind, test_empty_replica, test_empty_primary, test_writable_replica,
         test_cluster, test_sentinel, test_lies, test_hostile, test_nameservers,
         test_stream_refused, test_million, test_many, test_random)


def body(tap):
    run_tests(tap, TESTS, Bench)


def has_redis():
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write("[set s]\n[redis feed]\nset = s\nserver = /x\n")
        f.flush()
        return not subprocess.run([os.environ["IPCUCKOOD"], "--check", f.name],
                                  capture_output=True).returncode


if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
if not has_redis():
    ktap.skip_all("ipcuckood was built without hiredis")
if not shutil.which(engine.PROGRAM):
    ktap.skip_all("there is no Redis: install redis-tools")
ktap.run(body)
