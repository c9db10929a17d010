# SPDX-License-Identifier: GPL-2.0
"""Certificates for tests, made by openssl"""
import os
import ssl
import subprocess


def openssl(*words):
    done = subprocess.run(["openssl", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {words[0]}: {done.stderr}")


class Authority:
    """An authority that signs certificates"""

    def __init__(self, directory, name):
        self.dir = os.path.join(directory, name)
        os.mkdir(self.dir)
        self.cert = os.path.join(self.dir, "ca.pem")
        self.key = os.path.join(self.dir, "ca.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-days", "2", "-keyout", self.key, "-out", self.cert)

    def sign(self, name, names="", days="2"):
        """Paths of a certificate and its key. @names: "DNS:a,IP:b" """
        cert, key, request, extensions = (os.path.join(self.dir, name + suffix)
                                          for suffix in (".pem", ".key", ".req", ".ext"))
        with open(extensions, "w", encoding="ascii") as f:
            f.write(f"subjectAltName={names}\n" if names else "basicConstraints=CA:FALSE\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert, "-CAkey", self.key,
                "-CAcreateserial", "-days", days, "-extfile", extensions, "-out", cert)
        return cert, key


def server_context(pair, ca=None):
    """A context of Python's ssl for a server with this certificate and key. With @ca, clients need a
    certificate that it has signed."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(*pair)
    if ca:
        made.load_verify_locations(ca)
        made.verify_mode = ssl.CERT_REQUIRED
    return made
