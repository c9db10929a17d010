# SPDX-License-Identifier: GPL-2.0
"""An HTTP server that says the truth or lies: server.say(path, answer) chooses what it says next"""
import gzip
import http.server
import threading
import time
import zlib

# Bytes that are sent at once
PIECE = 64 << 10
# A gzip bomb: a megabyte of it is a gigabyte
BOMB_PIECES = 1024


def html(text="<title>Log in</title>"):
    return f"\n <!DOCTYPE html><html>{text}</html>\n"


class Answer:
    """How a path is answered. @send is called with the handler."""

    def __init__(self, send):
        self.send = send


def whole(text, etag=None, modified=None, encoding=None, status=200, type_="text/plain"):
    """A correct answer; 304 if the client has that already."""
    body = text if isinstance(text, bytes) else text.encode()

    def send(handler):
        known = handler.headers.get("If-None-Match")
        since = handler.headers.get("If-Modified-Since")
        same = etag and known == etag or not etag and modified and since == modified
        data = gzip.compress(body) if encoding == "gzip" else body
        handler.send_response(304 if same else status)
        if etag:
            handler.send_header("ETag", etag)
        if modified:
            handler.send_header("Last-Modified", modified)
        if not same:
            handler.send_header("Content-Type", type_)
            handler.send_header("Content-Length", str(len(data)))
            if encoding:
                handler.send_header("Content-Encoding", encoding)
        handler.end_headers()
        if not same:
            handler.wfile.write(data)
    return Answer(send)


def cut_off(text):
    """Announces more than it sends."""
    def send(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text) + 1000))
        handler.end_headers()
        handler.wfile.write(text.encode())
    return Answer(send)


def endless(piece, length=None, first=b""):
    """Sends @first, and then @piece without end; or announces a length and begins to."""
    def send(handler):
        handler.send_response(200)
        if length:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        handler.wfile.write(first)
        while not handler.server.stopped:
            handler.wfile.write(piece)
    return Answer(send)


def slow(text):
    """Sends a byte now and then."""
    def send(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        for byte in text.encode():
            if handler.server.stopped:
                return
            handler.wfile.write(bytes([byte]))
            time.sleep(0.3)
    return Answer(send)


def later(seconds):
    """Asks the client not to come again for some time."""
    def send(handler):
        handler.send_response(429)
        handler.send_header("Retry-After", str(seconds))
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return Answer(send)


class Counted:
    """Answers that take some time; how many are under way at once, at most"""

    def __init__(self):
        self.lock = threading.Lock()
        self.now = self.most = 0

    def whole(self, text, seconds):
        answer = whole(text)

        def send(handler):
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            time.sleep(seconds)
            with self.lock:
                self.now -= 1
            answer.send(handler)
        return Answer(send)


def silent():
    """Accepts the connection, and says nothing."""
    def send(handler):
        while not handler.server.stopped:
            time.sleep(0.1)
    return Answer(send)


def redirect(to):
    def send(handler):
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return Answer(send)


def bomb(encoding=None):
    """Little data that becomes very much: as a .gz file, or compressed on the way."""
    def send(handler):
        handler.send_response(200)
        if encoding:
            handler.send_header("Content-Encoding", encoding)
        handler.end_headers()
        pack = zlib.compressobj(9, wbits=31)
        piece = b"# nothing\n" * ((1 << 20) // 10)
        for _ in range(BOMB_PIECES):
            if handler.server.stopped:
                return
            handler.wfile.write(pack.compress(piece) + pack.flush(zlib.Z_SYNC_FLUSH))
    return Answer(send)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        with server.lock:
            server.requests.append((self.path, dict(self.headers)))
            answer = server.answers.get(self.path)
        try:
            if answer:
                answer.send(self)
            else:
                self.send_error(404)
        except OSError:
            # The client has enough.
            self.close_connection = True

    def log_message(self, *args):
        pass


class Background(http.server.ThreadingHTTPServer):
    """A server whose threads answer while the test goes on, from start() to stop()"""
    daemon_threads = True

    def __init__(self, port, handler, tls=None):
        """@tls: a context of Python's ssl; the server speaks https then"""
        super().__init__(("127.0.0.1", port), handler)
        self.scheme = "https" if tls else "http"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True,
                                          do_handshake_on_connect=False)
        self.stopped = False

    def start(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        self.stopped = True
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass


class Server(Background):
    def __init__(self, port=0, tls=None):
        super().__init__(port, Handler, tls)
        self.lock = threading.Lock()
        self.answers = {}
        self.requests = []
        self.start()

    def url(self, path, host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.server_address[1]}{path}"

    def say(self, path, answer):
        with self.lock:
            self.answers[path] = answer

    def count(self, path):
        with self.lock:
            return sum(p == path for p, _ in self.requests)

    def headers(self, path, at=-1):
        """The headers of request number @at for the path; of the last one"""
        with self.lock:
            return [headers for p, headers in self.requests if p == path][at]
