# SPDX-License-Identifier: GPL-2.0
"""A real redis-server, a server that lies instead of it, and the list in Redis, read naively"""
import contextlib
import ipaddress
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from fleet.daemon import wait_for

SECONDS = 60
TIMED, COMMENT, DEL = 4, 8, 16
# Sizes of the kinds of entries: IPv4 and IPv6 hosts, IPv4 and IPv6 prefixes
SIZES = (4, 16, 5, 17)


def pack(*words):
    """A command in the protocol of Redis"""
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


def read_reply(f):
    line = f.readline()
    kind, rest = line[:1], line[1:].strip()
    if kind in b"+:":
        return rest
    if kind == b"-":
        raise RuntimeError(rest.decode())
    if int(rest) < 0:
        return None
    if kind == b"$":
        return f.read(int(rest) + 2)[:-2]
    return [read_reply(f) for _ in range(int(rest))]


# The package redis-tools has the server under this name. The package redis-server, which only adds
# another name, would start one on the machine where the tests are run. valkey-tools is like it.
PROGRAM = os.environ.get("ENGINE") or "redis-check-rdb"


class Redis:
    """Writes to disk each command before it answers, so that a kill loses nothing."""

    def __init__(self, directory, address="127.0.0.1", port=6390, options=()):
        self.dir = os.path.join(directory, f"redis-{port}")
        os.makedirs(self.dir, exist_ok=True)
        self.address, self.port = address, port
        self.process = None
        self.options = options
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--dir", self.dir, "--port", str(self.port), "--bind",
             *sorted({self.address, "127.0.0.1"}), "--unixsocket",
             os.path.join(self.dir, "socket"), "--appendonly", "yes",
             "--appendfsync", "always", "--save", "", "--protected-mode", "no", "--logfile",
             os.path.join(self.dir, "log"), *self.options], executable=shutil.which(PROGRAM))
        if not wait_for(self.answers, 20):
            raise RuntimeError("redis-server does not start")

    def answers(self):
        try:
            return self.ask("PING") == b"PONG"
        except (OSError, RuntimeError, ValueError):
            return False

    def ask(self, *words):
        with socket.create_connection(("127.0.0.1", self.port), SECONDS) as s:
            s.sendall(pack(*words))
            return read_reply(s.makefile("rb"))

    def follows(self):
        """Has it found its primary? It closes its connections when Sentinel makes it a replica."""
        try:
            return b"master_link_status:up" in self.ask("INFO", "replication")
        except OSError:
            return False

    def commands(self):
        """How many it has got"""
        text = self.ask("INFO", "stats").decode()
        return int(re.search(r"total_commands_processed:(\d+)", text)[1])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def lose(self):
        """After kill(): it starts again with nothing."""
        shutil.rmtree(self.dir)
        os.makedirs(self.dir)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def key(self, name, rest):
        return f"ipcuckoo:{{{name}}}:{rest}"

    def head(self, name):
        flat = self.ask("HGETALL", self.key(name, "head"))
        return {k.decode(): v.decode() for k, v in zip(flat[::2], flat[1::2])}

    def entries(self, name):
        """The list by its keys: entry: (second at which it expires, comment)"""
        head = self.head(name)
        data = self.ask("GET", self.key(name, "snapshot:" + head["version"])) or b""
        found = read_snapshot(data)
        seq = int(head["snapshot-seq"])
        changes = self.ask("XRANGE", self.key(name, "changes"), "(" + head["snapshot-id"], "+")
        for _, fields in changes:
            assert int(fields[1]) == seq + 1, (fields, seq)
            seq += 1
            assert fields[2] == b"c", fields
            apply(found, fields[3])
        assert seq == int(head["seq"]), (seq, head)
        now = time.time()
        return {e: v for e, v in found.items() if not v[0] or v[0] > now}


def text_of(kind, data):
    size = 16 if kind & 1 else 4
    address = ipaddress.ip_address(data[:size])
    return f"{address}/{data[size]}" if kind & 2 else str(address)


def cut_comment(data):
    comment, _, rest = data.partition(b"\0")
    return comment.decode(), rest


def read_snapshot(data):
    found = {}
    while data:
        flags, count = struct.unpack(">BI", data[:5])
        data, comment = data[5:], None
        if flags & COMMENT:
            comment, data = cut_comment(data)
        size = SIZES[flags & 3]
        for _ in range(count):
            entry, data = text_of(flags & 3, data[:size]), data[size:]
            expires = 0
            if flags & TIMED:
                expires, data = struct.unpack(">I", data[:4])[0], data[4:]
            assert entry not in found
            found[entry] = expires, comment
    return found


def apply(found, data):
    while data:
        flags, size = data[0], SIZES[data[0] & 3]
        entry, data = text_of(flags & 3, data[1:1 + size]), data[1 + size:]
        expires, comment = 0, None
        if flags & TIMED:
            expires, data = struct.unpack(">I", data[:4])[0], data[4:]
        if flags & COMMENT:
            comment, data = cut_comment(data)
        if flags & DEL:
            found.pop(entry, None)
        else:
            found[entry] = expires, comment


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data) if data is not None else b"$-1\r\n"


def array(*parts):
    return b"*%d\r\n" % len(parts) + b"".join(parts)


def head_of(seq=7, version=b"abc", size=9, snapshot_seq=7, at=b"7-0", form=b"1"):
    """An answer to the question for the head"""
    return array(bulk(form), bulk(b"%d" % seq), bulk(version), bulk(b"%d" % size),
                 bulk(b"%d" % snapshot_seq), bulk(at))


def stream(*entries):
    """An answer to XREAD: (id, number, field, data)"""
    return array(array(bulk(b"ipcuckoo:{feed}:changes"), array(*(
        array(bulk(at), array(bulk(b"n"), bulk(b"%d" % n), bulk(field), bulk(data)))
        for at, n, field, data in entries))))


class Liar:
    """Speaks the protocol of Redis as far as @answers has answers: a command to bytes, or to a
    function that gets the connection. None closes it, but for TIME an error is the answer."""

    def __init__(self, address="127.0.0.1"):
        self.answers = {}
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            f = connection.makefile("rb")
            try:
                while words := read_reply(f):
                    answer = {"TIME": b"-ERR unknown command\r\n",
                              **self.answers}.get(words[0].decode())
                    if answer is None:
                        return
                    if callable(answer):
                        answer(connection)
                    else:
                        connection.sendall(answer)
            except (OSError, ValueError, RuntimeError):
                pass

    def stop(self):
        """Ends the thread before it closes the listener. A thread that is still in accept() would
        take a connection to the next server, if the next listener gets the same descriptor."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


class Gate(Liar):
    """Passes connections on to a server; slowly, if @slow. While it has @answers, it lies instead."""

    def __init__(self, address, port):
        self.behind = address, port
        self.slow = False
        super().__init__(address)

    def serve(self, connection):
        if self.answers:
            super().serve(connection)
            return
        with connection, contextlib.suppress(OSError):
            with socket.create_connection(self.behind) as server:
                back = threading.Thread(target=self.pump, args=(server, connection), daemon=True)
                back.start()
                self.pump(connection, server)
                back.join()

    def pump(self, source, to):
        with contextlib.suppress(OSError):
            # A liar has no old connections either.
            while not self.answers and (data := source.recv(300 if self.slow else 65536)):
                time.sleep(0.1 * self.slow)
                to.sendall(data)
        for each in (source, to):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def endless(first, piece=b"x" * 65536):
    """Sends without end; the client has to go away."""
    def send(connection):
        connection.sendall(first)
        while True:
            connection.sendall(piece)
    return send


def silent(connection):
    connection.recv(1)


def later(data, seconds):
    def send(connection):
        time.sleep(seconds)
        connection.sendall(data)
    return send


def closing(data):
    def send(connection):
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)
    return send


class Sentinel(Redis):
    """A real redis-sentinel, one of three that watch a primary; two of them have to agree"""

    def __init__(self, directory, port, name, primary):
        os.makedirs(os.path.join(directory, f"redis-{port}"))
        self.config = os.path.join(directory, f"redis-{port}", "sentinel.conf")
        with open(self.config, "w", encoding="ascii") as f:
            f.write(f"sentinel monitor {name} {primary.address} {primary.port} 2\n"
                    f"sentinel down-after-milliseconds {name} 1000\n"
                    f"sentinel failover-timeout {name} 5000\n")
        super().__init__(directory, port=port)

    def start(self):
        self.process = subprocess.Popen(
            ["redis-sentinel", self.config, "--port", str(self.port), "--dir", self.dir,
             "--protected-mode", "no", "--logfile", os.path.join(self.dir, "log")],
            executable=shutil.which(PROGRAM))
        if not wait_for(self.answers, 20):
            raise RuntimeError("redis-sentinel does not start")
