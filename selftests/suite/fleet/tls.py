#!/usr/bin/python3 -ISB
# SPDX-License-Identifier: GPL-2.0
"""TLS of ipcuckood: feeds from an HTTPS server, and lists in a real redis-server that speaks TLS,
with certificates that are right or wrong. KTAP.

Debian 12's hiredis has no TLS. Where ipcuckood was built with it, lists in Redis are tested with
build/tls/ipcuckood, if that is there: see ../../vm/tls. With words, only these tests run:
"tls.py https"."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [here, os.path.join(here, "../dropin")]

from differ import ktap
from fleet import engine
from fleet import server as lie
from fleet.authority import Authority, server_context
from fleet.daemon import Daemon, members, tool, wait_for
from fleet.runner import run_tests

TLS_PORT = 6391
MANY = [f"198.18.0.{i}" for i in range(100)]
OWN_TLS = os.path.join(here, "../../../build/tls/ipcuckood")


def with_tls():
    """A daemon that knows TLS for Redis; None if there is none"""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(f"[set s]\n[redis l]\nset = s\nserver = x:1\ntls = yes\ntls-ca = {f.name}\n")
        f.flush()
        for program in (os.environ["IPCUCKOOD"], OWN_TLS):
            if os.path.exists(program) and not subprocess.run([program, "--check", f.name],
                                                              capture_output=True).returncode:
                return program
    return None


class Bench:
    """Two authorities, a daemon, and whatever it talks to"""

    def __init__(self, tap):
        self.tap = tap
        self.dir = tempfile.mkdtemp()
        self.ours = Authority(self.dir, "ours")
        self.theirs = Authority(self.dir, "theirs")
        self.right = self.ours.sign("right", "DNS:localhost,IP:127.0.0.1")
        self.elsewhere = self.ours.sign("elsewhere", "DNS:elsewhere.example,IP:192.0.2.1")
        self.foreign = self.theirs.sign("foreign", "DNS:localhost,IP:127.0.0.1")
        self.client = self.ours.sign("client")
        self.stranger = self.theirs.sign("stranger")
        self.daemon = Daemon(os.path.join(self.dir, "daemon"))
        self.end = []

    def case(self, text, passed, detail=None):
        self.tap.case(text, bool(passed))
        if not passed and detail is not None:
            self.tap.note(str(detail)[:3000])

    def run(self, section, keys):
        """Starts the daemon with these keys of the source "l"."""
        self.stop()
        for name in os.listdir(self.daemon.state):
            os.unlink(os.path.join(self.daemon.state, name))
        if "s" in tool("list", "-n").split():
            tool("destroy", "s")
        self.daemon.configure(f"[set s]\n[{section} l]\nset = s\n" +
                              "".join(f"{k} = {v}\n" for k, v in keys.items()))
        self.daemon.start()

    def stop(self):
        if self.daemon.process:
            self.daemon.stop()

    def good(self, text):
        """A case: the list has arrived."""
        state = wait_for(lambda: (s := self.daemon.source("l"))["state"] == "good" and s)
        self.case(text, state and set(members("s")) == set(MANY), self.daemon.source("l"))

    def bad(self, text, pattern):
        """A case: the source fails, and says why; nothing arrives."""
        state = wait_for(lambda: (s := self.daemon.source("l"))["state"] == "failing" and s)
        self.case(text, state and re.search(pattern, state["problem"]) and not members("s"),
                  state or self.daemon.source("l"))

    def explain(self):
        return self.daemon.messages()[-3000:] if os.path.exists(self.daemon.log) else ""

    def close(self):
        self.stop()
        for function in self.end:
            function()
        for name in tool("list", "-n").split():
            tool("destroy", name)
        shutil.rmtree(self.dir)


def test_https(b):
    def server(pair, ca=None):
        made = lie.Server(tls=server_context(pair, ca))
        made.say("/l", lie.whole("".join(e + "\n" for e in MANY)))
        b.end.append(made.stop)
        return made

    def feed(made, host="127.0.0.1", **keys):
        b.run("feed", {"url": made.url("/l", host), **{k.replace("_", "-"): v
                                                       for k, v in keys.items()}})
    right, ca = server(b.right), b.ours.cert
    feed(right, tls_ca=ca)
    b.good("https: a server with the right certificate")
    feed(right, "localhost", tls_ca=ca)
    b.good("https: by its name")
    feed(right)
    b.bad("https: an authority that the system does not know: refused", "certificate.*tls-ca")
    feed(right, tls_ca=b.theirs.cert)
    b.bad("https: a certificate of another authority: refused", "certificate.*tls-ca")
    feed(right, tls_ca="/nowhere")
    b.bad("https: no file of authorities: refused", "/nowhere|tls-ca")
    feed(server(b.elsewhere), tls_ca=ca)
    b.bad("https: a certificate for another name: refused",
          "certificate.*127.0.0.1|127.0.0.1.*cert")
    feed(server(b.foreign), tls_ca=ca)
    b.bad("https: a foreign certificate: refused", "certificate")
    plain = lie.Server()
    b.end.append(plain.stop)
    plain.say("/l", lie.whole("192.0.2.1\n"))
    b.run("feed", {"url": plain.url("/l").replace("http:", "https:"), "tls-ca": ca})
    b.bad("https: a server without TLS: refused", "cannot be fetched")
    asking = server(b.right, ca)
    feed(asking, tls_ca=ca, tls_cert=b.client[0], tls_key=b.client[1])
    b.good("https: the server asks for a certificate, and gets it")
    feed(asking, tls_ca=ca)
    b.bad("https: it does not get one: refused", "cannot be fetched")
    os.chmod(b.client[1], 0o644)
    feed(asking, tls_ca=ca, tls_cert=b.client[0], tls_key=b.client[1])
    b.bad("https: a private key that everybody can read: not used",
          f"needs the private key in .* chmod o= {b.client[1]}")
    done = b.daemon.run("--check", b.daemon.config)
    b.case("https: --check says so", done.returncode == 2 and
           f"[feed l] tls-key: needs the key in {b.client[1]}, which every" in done.stderr,
           done.stderr)
    os.chmod(b.client[1], 0o600)
    feed(asking, tls_ca=ca, tls_cert=b.stranger[0], tls_key=b.stranger[1])
    b.bad("https: it gets one of another authority: refused", "cannot be fetched")
    # What was good stays when the server shows another certificate.
    feed(right, tls_ca=ca)
    b.good("https: good again")
    right.stop()
    port = right.server_address[1]
    b.end.remove(right.stop)
    liar = lie.Server(port, server_context(b.foreign))
    b.end.append(liar.stop)
    liar.say("/l", lie.whole("192.0.2.1\n"))
    state = b.daemon.refresh("l")
    b.case("https: who takes the place of the server changes nothing",
           state["state"] == "failing" and set(members("s")) == set(MANY), state)


def test_redis(b):
    program = with_tls()
    if not program:
        b.tap.skip("lists in Redis with TLS",
                   "ipcuckood was built without it: install hiredis 1.0, or run selftests/vm/tls")
        return
    b.daemon.program = program

    def redis(pair, clients="no", start=False):
        options = ("--tls-port", str(TLS_PORT), "--tls-cert-file", pair[0], "--tls-key-file",
                   pair[1], "--tls-ca-cert-file", b.ours.cert, "--tls-auth-clients", clients)
        b.redis.kill()
        b.redis.options = options
        b.redis.start()

    def follow(server=f"127.0.0.1:{TLS_PORT}", **keys):
        keys = {"server": server, "tls": "yes", "tls-ca": b.ours.cert, "heartbeat": "2s",
                "connect-time": "3s", "host": "here", "list": "feed",
                **{k.replace("_", "-"): v for k, v in keys.items()}}
        b.run("redis", keys)
    b.redis = engine.Redis(b.dir)
    b.end.append(b.redis.kill)
    redis(b.right)
    follow()
    path = os.path.join(b.dir, "list")
    with open(path, "w", encoding="ascii") as f:
        f.write("".join(e + "\n" for e in MANY))

    def publish(*words):
        done = subprocess.run([os.environ["IPCUCKOO"], "publish", "feed", *words, "--control",
                               b.daemon.control], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    status, text = publish("--file", path)
    b.case("Redis: a list is published by TLS", status == 0, text)
    b.good("Redis: and followed")
    follow(f"localhost:{TLS_PORT}")
    b.good("Redis: by its name")
    follow(tls_ca=b.theirs.cert)
    b.bad("Redis: a certificate of another authority: refused", "not believed.*tls-ca")
    follow(tls_ca="/nowhere")
    b.bad("Redis: no file of authorities: refused", "tls-ca, and /nowhere")
    follow(tls_ca=b.right[1])
    b.bad("Redis: a file that has none: refused", "tls-ca, and ")
    follow(f"127.0.0.1:{b.redis.port}")
    b.bad("Redis: a port without TLS: refused", "by TLS.*tls-port")
    follow("127.0.0.1:1")
    b.bad("Redis: a port where nobody listens is told apart", "(?i)refused")
    redis(b.elsewhere)
    follow()
    b.bad("Redis: a certificate for another address: refused", r"not for 127.0.0.1;.*tls-name")
    follow(f"localhost:{TLS_PORT}")
    b.bad("Redis: for another name: refused", r"not for localhost;.*tls-name")
    follow(tls_name="elsewhere.example")
    b.good("Redis: unless tls-name says that it is the right one")
    redis(b.foreign)
    follow()
    b.bad("Redis: a foreign certificate: refused", "not believed")
    redis(b.right, "yes")
    follow()
    b.bad("Redis: asks for a certificate, and does not get it: refused",
          "(refuses TLS: |another certificate).*tls-cert")
    follow(tls_cert=b.stranger[0], tls_key=b.stranger[1])
    b.bad("Redis: one of another authority: refused",
          "(refuses TLS: |another certificate).*tls-cert")
    follow(tls_cert=b.client[0], tls_key=b.stranger[1])
    b.bad("Redis: a key of another certificate: refused", "tls-key, and ")
    os.chmod(b.client[1], 0o644)
    follow(tls_cert=b.client[0], tls_key=b.client[1])
    b.bad("Redis: a private key that everybody can read: not used",
          f"needs the private key in .* chmod o= {b.client[1]}")
    os.chmod(b.client[1], 0o600)
    renewed = [os.path.join(b.dir, name) for name in ("renewed.pem", "renewed.key")]
    for pair, what in ((b.stranger, "before"), (b.client, "after")):
        for source, path_of in zip(pair, renewed):
            shutil.copy(source, path_of)
        if what == "before":
            follow(tls_cert=renewed[0], tls_key=renewed[1])
            b.bad("Redis: one that has to be renewed: refused", "tls-cert")
    b.good("Redis: until it is, without a restart")
    follow(tls_cert=b.client[0], tls_key=b.client[1])
    b.good("Redis: the right one")
    b.redis.ask("ACL", "SETUSER", "reader", "reset", "on", ">secret", "%R~ipcuckoo:*",
                "%W~ipcuckoo:*:fleet", "+hmget", "+hget", "+hgetall", "+hset", "+getrange",
                "+xread", "+xrange")
    password = os.path.join(b.dir, "password")
    with open(password, "w", encoding="ascii") as f:
        os.chmod(password, 0o600)
        f.write("secret\n")
    follow(tls_cert=b.client[0], tls_key=b.client[1], user="reader", password_file=password)
    b.good("Redis: a user who may only read follows by TLS")
    before = b.redis.head("feed")
    status, text = publish("203.0.113.9")
    b.case("Redis: and cannot publish, which is said",
           status == 3 and "does not let this user write" in text, text)
    status, text = publish("--file", path)
    b.case("Redis: nor replace the list", status == 3 and "does not let this user write" in text,
           text)
    b.case("Redis: nothing changed there", b.redis.head("feed") == before)
    b.case("Redis: but it reports", wait_for(
        lambda: b.redis.ask("HGET", b.redis.key("feed", "fleet"), "here")))
    # A large list takes many records of TLS.
    many = [f"100.{64 + (i >> 16)}.{i >> 8 & 255}.{i & 255}" for i in range(300000)]
    with open(path, "w", encoding="ascii") as f:
        f.writelines(e + "\n" for e in many)
    follow(tls_cert=b.client[0], tls_key=b.client[1], max_entries="1000000")
    status, text = publish("--file", path)
    b.case("Redis: 300,000 hosts are published by TLS", status == 0, text)
    full = re.compile(r"Number of entries: 300000\b")
    b.case("Redis: and in force", wait_for(lambda: full.search(tool("list", "-t", "s"))))


TESTS = (test_https, test_redis)


def body(tap):
    run_tests(tap, TESTS, Bench)


if not os.path.exists(os.environ.get("IPCUCKOOD", "")):
    ktap.skip_all("ipcuckood was not built: its libraries are not installed")
if not shutil.which("openssl"):
    ktap.skip_all("there is no openssl to make certificates: install openssl")
ktap.run(body)
