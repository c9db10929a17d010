# SPDX-License-Identifier: GPL-2.0
"""A fake Local API of CrowdSec, which tells the truth or lies. It remembers when each bouncer asked
last, as the real one does, and sends what has changed since."""
import http.server
import ipaddress
import json
import ssl
import threading
import time
import urllib.parse

from fleet.server import Background

KEY = "c2VjcmV0IGtleSBvZiBhIGJvdW5jZXI"
# As the real one: what ended so long before the last request is sent once more, in seconds
OVERLAP = 2


def go_duration(seconds):
    """As Go prints it: 3h59m57.1s"""
    if seconds < 0:
        return "-" + go_duration(-seconds)
    if seconds < 1:
        return f"{seconds * 1000:.6f}".rstrip("0").rstrip(".") + "ms" if seconds else "0s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:.9f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


class Decision:
    def __init__(self, number, value, seconds, **words):
        self.id = number
        self.value = value
        self.created = time.time()
        self.until = self.created + seconds
        self.scope = words.get("scope") or ("Range" if "/" in value else "Ip")
        self.type = words.get("type", "ban")
        self.origin = words.get("origin", "cscli")
        self.scenario = words.get("scenario", "manual 'ban' from 'localhost'")

    def show(self):
        return {"duration": go_duration(self.until - time.time()), "id": self.id,
                "origin": self.origin, "scenario": self.scenario, "scope": self.scope,
                "type": self.type, "uuid": f"0-{self.id}", "value": self.value}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            # The client has enough.
            self.close_connection = True

    def do_GET(self):
        lapi = self.server
        if lapi.stopped:
            # A connection from before: it is closed without an answer.
            raise ConnectionResetError
        url = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        with lapi.lock:
            lapi.requests.append((url.path, query, dict(self.headers)))
            lie = lapi.next_lie(query)
        if lie:
            # The real one notes the request also if its answer is lost.
            lapi.pulled()
            self.close_connection = True
            lie.send(self)
        elif not self.is_allowed():
            self.say(403, {"message": "access forbidden"})
        elif url.path == "/v1/decisions/stream":
            parts = lapi.stream(query)
            time.sleep(lapi.delay)
            self.say(200, *parts)
        elif url.path == "/v1/decisions":
            self.say(200, lapi.list(query))
        else:
            self.say(404, {"message": "not found"})

    def do_POST(self):
        lapi = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.is_allowed():
            self.say(403, {"message": "access forbidden"})
            return
        with lapi.lock:
            lapi.metrics.append((self.path, dict(self.headers), body))
        self.say(lapi.metrics_status, None)

    def is_allowed(self):
        if isinstance(self.connection, ssl.SSLSocket) and self.connection.getpeercert():
            return True
        return self.headers.get("X-Api-Key") == self.server.key

    def say(self, status, *parts):
        """Sends JSON: an object, or pieces of text as chunks"""
        chunked = len(parts) > 1
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for part in parts:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part.encode()))
            self.wfile.write(b"0\r\n\r\n")
            return
        body = json.dumps(parts[0]).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Lapi(Background):
    def __init__(self, port=0, tls=None, old=None):
        """@tls: a context of Python's ssl. @old: a Lapi that was stopped, whose decisions this one
        has."""
        super().__init__(port, Handler, tls)
        self.lock = threading.RLock()
        self.key = KEY
        self.decisions = old.decisions if old else {}
        self.number = old.number if old else 0
        self.pull = old.pull if old else 0
        self.lies = []
        self.requests = []
        self.metrics = []
        self.metrics_status = 201
        self.chunked = False
        # Seconds that an answer takes
        self.delay = 0
        self.start()

    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    # --- decisions ---

    def add(self, value, seconds=3600, **words):
        with self.lock:
            self.number += 1
            self.decisions[self.number] = Decision(self.number, value, seconds, **words)
            return self.number

    def delete(self, number):
        """Ends a decision, as cscli does."""
        with self.lock:
            decision = self.decisions[number]
            decision.until = min(decision.until, time.time())

    def delete_all(self):
        with self.lock:
            for number in self.decisions:
                self.delete(number)

    def drop(self, number):
        """A decision vanishes without notice."""
        with self.lock:
            del self.decisions[number]

    def flush(self, seconds):
        """Forgets decisions that ended so many seconds ago, as the real one does after some days."""
        with self.lock:
            for number in [n for n, d in self.decisions.items() if d.until < time.time() - seconds]:
                self.drop(number)

    def shift(self, seconds):
        """The clock was set: not that of the machine where the Local API is."""
        with self.lock:
            self.pull += seconds
            for decision in self.decisions.values():
                decision.created += seconds
                decision.until += seconds

    def active(self, slack=0):
        """Decisions that last for more than @slack seconds from now on"""
        now = time.time()
        with self.lock:
            return [d for d in self.decisions.values() if d.until > now + slack]

    # --- requests ---

    def lie(self, answer, times=1 << 30, startup=False):
        """The next answers are lies: a fleet.server.Answer. None: no more of them. With startup,
        only those to who asks for all decisions"""
        with self.lock:
            self.lies = [answer, times, startup] if answer else []

    def next_lie(self, query):
        if not self.lies or not self.lies[1] or \
                self.lies[2] and query.get("startup") != "true":
            return None
        self.lies[1] -= 1
        return self.lies[0]

    def pulled(self):
        with self.lock:
            self.pull = time.time()

    def wanted(self, decision, query):
        def words(name):
            return query[name].split(",") if name in query else None
        scopes = [s.capitalize() for s in words("scopes") or ["ip", "range"]]
        with_, without = words("scenarios_containing"), words("scenarios_not_containing")
        if decision.scope.capitalize() not in scopes and decision.scope != "strange":
            return False
        if "origins" in query and decision.origin not in words("origins"):
            return False
        if with_ and not any(w in decision.scenario for w in with_):
            return False
        return not (without and any(w in decision.scenario for w in without))

    def longest(self, chosen, query):
        """Without dedup=false only decisions than which none lasts longer"""
        if query.get("dedup") == "false":
            return chosen
        ends = {}
        for d in self.decisions.values():
            at = d.scope, d.type, d.value
            ends[at] = max(ends.get(at, 0), d.until)
        return [d for d in chosen if d.until == ends[d.scope, d.type, d.value]]

    def stream(self, query):
        """The answer: an object, or its text in pieces"""
        with self.lock:
            now, since = time.time(), self.pull
            startup = query.get("startup") == "true"
            everything = [d for d in self.decisions.values() if self.wanted(d, query)]
            new = [d for d in everything if d.until > now and (startup or d.created > since)]
            gone = [d for d in everything if d.until <= now and
                    (startup or d.until > since - OVERLAP)]
            new, gone = ([d.show() for d in self.longest(part, query)] for part in (new, gone))
            self.pull = now
            if not self.chunked:
                return [{"deleted": gone or None, "new": new or None}]
            text = ['{"new": [', ",".join(map(json.dumps, new)), '], "deleted": [',
                    ",\n ".join(map(json.dumps, gone)), "]}"]
            return [part for part in text if part]

    def list(self, query):
        with self.lock:
            return [d.show() for d in self.active() if self.wanted(d, query)] or None

    def asked(self, startup=None):
        """How many requests for the stream there were; only those for all decisions, or for
        changes"""
        with self.lock:
            return sum(path == "/v1/decisions/stream" and
                       (startup is None or (query["startup"] == "true") == startup)
                       for path, query, _ in self.requests)


def reference(decisions, types=("ban",), v4_only=False):
    """What a set has that enforces these decisions, naively: entry -> the longest decision"""
    result = {}
    for d in decisions:
        if d.scope.lower() not in ("ip", "range") or d.type not in types:
            continue
        net = ipaddress.ip_network(d.value, strict=False)
        if v4_only and net.version == 6:
            continue
        entry = str(net.network_address) if net.prefixlen == net.max_prefixlen else str(net)
        if entry not in result or d.until > result[entry].until:
            result[entry] = d
    return result
