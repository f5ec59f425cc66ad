# SPDX-License-Identifier: BSD-2-Clause
"""Certificates for tests, and servers that behave as badly as a test wants: TLS, HTTP/2 and plain TCP, one connection a time."""
import contextlib
import datetime
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import threading

from .net import free_port

NAME = "dns.example"


def tool(*command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False, **options)
    assert done.returncode == 0, f"{command}: {done.stdout.decode(errors='replace')}"
    return done.stdout.decode(errors="replace")


class Pki:
    """A CA in a directory, and certificates by it: each is NAME.pem, NAME.key."""

    def __init__(self, directory):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.make("ca", "cn = Test CA\nca\ncert_signing_key\n", issuer=None)
        self.make("other-ca", "cn = Other CA\nca\ncert_signing_key\n", issuer=None)
        server = "tls_www_server\nsigning_key\nip_address = 127.0.0.1\nip_address = 192.0.2.1\n"
        self.make("good", f"cn = {NAME}\ndns_name = {NAME}\n{server}")
        self.make("address", f"cn = {NAME}\nip_address = ::1\n{server}")
        self.make("wrong-name", f"cn = other.example\ndns_name = other.example\n{server}")
        self.make("self-signed", f"cn = {NAME}\ndns_name = {NAME}\n{server}", issuer=None)
        self.make("foreign", f"cn = {NAME}\ndns_name = {NAME}\n{server}", issuer="other-ca")
        self.make("expired", f"cn = {NAME}\ndns_name = {NAME}\n{server}", begin=-20, end=-10)
        self.make("early", f"cn = {NAME}\ndns_name = {NAME}\n{server}", begin=10, end=20)
        self.make("client", "cn = A client\ntls_www_client\nsigning_key\n")

    def path(self, name):
        return str(self.dir / name)

    def make(self, name, template, issuer="ca", begin=-2, end=30):
        """begin, end: days from now."""
        today = datetime.datetime.now(datetime.timezone.utc)
        dates = [(today + datetime.timedelta(days=days)).strftime("%Y-%m-%d 00:00:00 UTC") for days in (begin, end)]
        (self.dir / f"{name}.tmpl").write_text(f'{template}activation_date = "{dates[0]}"\nexpiration_date = "{dates[1]}"\n')
        tool("certtool", "--generate-privkey", "--key-type=ecdsa", "--curve=secp256r1", "--outfile", self.path(f"{name}.key"))
        how = ["--generate-self-signed"] if issuer is None else \
            ["--generate-certificate", "--load-ca-certificate", self.path(f"{issuer}.pem"), "--load-ca-privkey", self.path(f"{issuer}.key")]
        tool("certtool", *how, "--load-privkey", self.path(f"{name}.key"), "--template", self.path(f"{name}.tmpl"), "--outfile", self.path(f"{name}.pem"))

    def pin(self, name):
        """SHA-256 of the public key, in hex."""
        text = tool("certtool", "--key-id", "--hash=sha256", "--infile", self.path(f"{name}.pem"))
        return re.search(r"\b([0-9a-f]{64})\b", text).group(1)

    def context(self, name="good", alpn=(), versions=None, wants_client=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if versions:
            context.minimum_version, context.maximum_version = versions
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.path("ca.pem"))
        return context


class Server:
    """A TCP server on loopback; each connection is given to serve(socket), in one thread, one after the other."""

    def __init__(self, serve):
        self.serve = serve
        self.port = free_port()
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.connections = 0
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            with contextlib.suppress(OSError, EOFError), connection:
                connection.settimeout(30)
                self.serve(connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(timeout=40)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def reset(connection):
    """Close with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def wait_end(connection):
    """Say nothing until the client goes."""
    while connection.recv(4096):
        pass


def exactly(connection, length):
    data = b""
    while len(data) < length:
        part = connection.recv(length - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def read_query(connection):
    """One framed message."""
    return exactly(connection, struct.unpack("!H", exactly(connection, 2))[0])


def answer(query):
    """NOERROR without records."""
    return query[:2] + b"\x84\x00\x00\x01" + bytes(6) + query[12:]


def framed(message):
    return struct.pack("!H", len(message)) + message


# ---- HTTP/2, as little of it as bad servers need ----

SETTINGS = bytes.fromhex("000000040000000000")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


def headers(stream, fields, flags=4):
    """HEADERS with literals that aren't indexed (RFC 7541 6.2.2)."""
    block = b""
    for name, value in fields:
        block += b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    return frame(1, flags, stream, block)


def read_request(connection):
    """Preface and frames up to the end of the first request: its stream and body."""
    exactly(connection, len(PREFACE))
    body = b""
    while True:
        head = exactly(connection, 9)
        payload = exactly(connection, int.from_bytes(head[:3], "big"))
        if head[3] == 0:
            body += payload
        if head[3] in (0, 1) and head[4] & 1:
            return int.from_bytes(head[5:9], "big"), body
