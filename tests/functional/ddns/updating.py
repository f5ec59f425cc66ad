# SPDX-License-Identifier: BSD-2-Clause
"""Clients for dynamic updates, and a server that takes them."""
import contextlib
import select
import socket
import struct
import subprocess
import time

import dns.message
import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update

from harness.net import inside
from harness.waiting import PATIENCE

SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
KEYS = dns.tsigkeyring.from_text({"key.": SECRET})
ZONE = """$ORIGIN example.
$TTL 60
@ SOA ns1 admin 1 3600 600 86400 60
@ NS ns1
ns1 A 192.0.2.1
"""
RULES = f"""key:
  - id: key.
    algorithm: hmac-sha256
    secret: {SECRET}
acl:
  - id: signed
    key: key.
    action: update
  - id: plain
    action: update
"""
ANSWER_S = 10 * PATIENCE


def zone_items(acl, more=""):
    return f"template:\n  - id: default\n    acl: [{acl}]\n    zonefile-sync: -1\n    zonefile-load: difference\n    journal-content: all\n{more}"


def start(daemon, acl="plain, signed", text="", **options):
    daemon.write("example.zone", ZONE)
    daemon.configure(zones=["example"], text=RULES + zone_items(acl) + text, **options)
    return daemon.start()


def update(number, signed=False, zone="example", prefix="h"):
    """Adds prefixNUMBER A."""
    made = dns.update.UpdateMessage(zone, keyring=KEYS if signed else None, keyname="key." if signed else None, keyalgorithm="hmac-sha256")
    made.add(f"{prefix}{number}", 60, "A", f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}")
    made.id = number & 0xffff
    return made


def framed(message):
    wire = message if isinstance(message, bytes) else message.to_wire()
    return struct.pack("!H", len(wire)) + wire


def read_message(sock):
    """A message from a stream; b"": the other side has ended it."""
    data = b""
    while len(data) < 2 or len(data) < 2 + struct.unpack("!H", data[:2])[0]:
        more = sock.recv(2 + struct.unpack("!H", data[:2])[0] - len(data) if len(data) >= 2 else 2 - len(data))
        if not more:
            return b""
        data += more
    return data[2:]


def connect(daemon, where="127.0.0.1", client=None):
    with inside(client) if client else contextlib.nullcontext():
        sock = socket.create_connection((where, daemon.port), ANSWER_S)
    return sock


def datagrams(daemon, where="127.0.0.1", client=None):
    """Connected: a reply from another address isn't taken."""
    with inside(client) if client else contextlib.nullcontext():
        sock = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(ANSWER_S)
    sock.connect((where, daemon.port))
    return sock


def send_many(sock, messages, in_flight, is_stream):
    """Send updates, so many unanswered at a time; {id: rcode}. A datagram without an answer is sent again."""
    waiting, answered, left = {}, {}, list(reversed(messages))
    end = time.monotonic() + ANSWER_S
    while (left or waiting) and time.monotonic() < end:
        while left and len(waiting) < in_flight:
            message = left.pop()
            waiting[message.id] = message
            sock.sendall(framed(message) if is_stream else message.to_wire())
        if select.select([sock], [], [], 1 if not is_stream else ANSWER_S)[0]:
            wire = read_message(sock) if is_stream else sock.recv(65535)
            assert wire, "closed"
            ident = int.from_bytes(wire[:2], "big")
            message = waiting.pop(ident, None)
            if message is not None:
                reply = dns.message.from_wire(wire, keyring=KEYS if message.had_tsig or message.keyring else None, request_mac=message.mac)
                assert reply.opcode() == dns.opcode.UPDATE
                assert bool(message.keyring) == reply.had_tsig
                answered[ident] = reply.rcode()
        elif not is_stream:
            for message in waiting.values():
                sock.send(message.to_wire())
    assert not waiting and not left, f"{len(waiting)} without an answer"
    return answered


def ask_update(daemon, message, tcp=False, where="127.0.0.1", client=None):
    """The reply, its signature checked."""
    sock = (connect if tcp else datagrams)(daemon, where, client)
    with sock:
        sock.sendall(framed(message) if tcp else message.to_wire())
        wire = read_message(sock) if tcp else sock.recv(65535)
        return dns.message.from_wire(wire, keyring=KEYS, request_mac=message.mac)


def nsupdate(daemon, lines, *options, where="127.0.0.1", client=None):
    """Run nsupdate; its exit status and what it prints."""
    text = f"server {where} {daemon.port}\nzone example.\n" + "".join(f"{line}\n" for line in lines) + "send\n"
    command = ["nsupdate", "-t", "20", *options]
    if client:
        command = ["nsenter", f"--net=/run/netns/{client}", *command]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    return done.returncode, done.stdout + done.stderr


def has(daemon, name, where="127.0.0.1", client=None):
    return bool(daemon.ask(f"{name}.example", "A", where, client=client).answer)
