# SPDX-License-Identifier: BSD-2-Clause
"""Transfers to secondaries over TCP and UNIX sockets: AXFR, IXFR, TSIG, many receivers, slow ones."""
import contextlib
import os
import socket
import struct

import dns.message
import dns.query
import dns.name
import dns.rdatatype
import dns.tsigkeyring
import dns.xfr
import dns.zone
import pytest

from zones import example, many

RULES = """\
key:
  - id: xfr
    algorithm: hmac-sha256
    secret: Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE=
acl:
  - id: signed
    key: xfr
    action: transfer
  - id: local
    address: 127.0.0.0/8
    action: transfer
"""
KEYRING = dns.tsigkeyring.from_text({"xfr.": ("hmac-sha256", "Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE=")})


def start(knotd, zones, items="", server="tcp-io-timeout: 60000\ntcp-idle-timeout: 120", **options):
    for name, text in zones.items():
        knotd.write(f"{name}.zone", text)
    knotd.configure(text=RULES + "template:\n  - id: default\n    acl: [ signed, local ]\n    zonefile-sync: -1\n" +
                    "".join(f"    {item}\n" for item in items.splitlines()), zones=list(zones), server=server, **options)
    return knotd.start()


def frames(sock):
    """The messages that come, as bytes."""
    with sock.makefile("rb") as stream:
        while len(head := stream.read(2)) == 2:
            length, = struct.unpack(">H", head)
            message = stream.read(length)
            assert len(message) == length
            yield message


def query(name, rdtype="AXFR", serial=None, key=False, **options):
    message = dns.message.make_query(name, rdtype, **options)
    if serial is not None:
        message.authority.append(dns.rrset.from_text(name + ".", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    if key:
        message.use_tsig(KEYRING, "xfr.")
    return message


def connect(server, path=None):
    if path is None:
        sock = socket.create_connection(("127.0.0.1", server.port), 30)
    else:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(30)
        sock.connect(str(path))
    return sock


def send(sock, *messages):
    wires = [message if isinstance(message, bytes) else message.to_wire() for message in messages]
    sock.sendall(b"".join(struct.pack(">H", len(wire)) + wire for wire in wires))


def content(server, name):
    """The zone as it was loaded."""
    return dns.zone.from_file(str(server.dir / f"{name}.zone"), name, relativize=False)


def axfr(server, name, key=False):
    """The zone as dnspython makes it of a transfer."""
    options = {"keyring": KEYRING, "keyname": dns.name.from_text("xfr.")} if key else {}
    return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", name, port=server.port, relativize=False, lifetime=60, **options), relativize=False)


@pytest.mark.core
@pytest.mark.parametrize("key", [False, True])
def test_axfr(knotd, key):
    start(knotd, {"example": example(), "large": many("large.", 20000)})
    for name in ("example", "large"):
        assert axfr(knotd, name, key) == content(knotd, name)
    who = r"remote 127\.0\.0\.1@\d+ TCP, " + (r"key xfr\., " if key else "")
    knotd.wait_log(rf"info: \[large\.\] AXFR, outgoing, {who}started, serial 1\n")
    knotd.wait_log(rf"info: \[large\.\] AXFR, outgoing, {who}finished, \d+\.\d\d seconds, \d\d+ messages, \d{{6}} bytes\n")


def test_messages(knotd):
    """Every message has the question, and OPT and TSIG if the request has them; they are large, and others follow on the connection."""
    start(knotd, {"large": many("large.", 20000)})
    asked = query("large", key=True, use_edns=0)
    with connect(knotd) as sock:
        send(sock, asked, query("h7.large", "A"), query("large"))
        got, soas, context = [], 0, None
        stream = frames(sock)
        while soas < 2:
            got.append(next(stream))
            reply = dns.message.from_wire(got[-1], keyring=KEYRING, request_mac=asked.mac, xfr=True, multi=True, tsig_ctx=context)
            context = reply.tsig_ctx
            assert reply.had_tsig and reply.edns == 0 and len(reply.question) == 1 and reply.flags & dns.flags.AA
            soas += sum(len(rrset) for rrset in reply.answer if rrset.rdtype == dns.rdatatype.SOA)
        assert all(16383 < len(message) < 17000 for message in got[:-1])
        assert dns.message.from_wire(next(stream)).answer[0][0].address == "10.0.0.7"
        assert dns.message.from_wire(next(stream), xfr=True).answer[0].rdtype == dns.rdatatype.SOA


def test_ixfr(knotd):
    """From each version to the last one, the changes lead to what the zone is."""
    start(knotd, {"example": example()})
    versions = [axfr(knotd, "example")]
    for number in range(4):
        knotd.knotc("zone-begin", "example")
        knotd.knotc("zone-set", "example", f"n{number}", "60", "A", "192.0.2.7")
        if number > 0:
            knotd.knotc("zone-unset", "example", f"n{number - 1}")
        knotd.knotc("zone-commit", "example")
        versions.append(axfr(knotd, "example"))
    for serial, zone in enumerate(versions[:-1], 1):
        dns.query.inbound_xfr("127.0.0.1", zone, dns.xfr.make_query(zone)[0], port=knotd.port, lifetime=30)
        assert zone == versions[-1]
        knotd.wait_log(rf"info: \[example\.\] IXFR, outgoing, remote 127\.0\.0\.1@\d+ TCP, started, serial {serial} -> 5\n")
    knotd.wait_log(r"IXFR, outgoing, remote 127\.0\.0\.1@\d+ TCP, finished, \d\.\d\d seconds, 1 messages, \d+ bytes\n", count=4)
    assert "fallback" not in knotd.log()


def test_ixfr_as_axfr(knotd):
    start(knotd, {"example": example(7)})
    with connect(knotd) as sock:
        send(sock, query("example", "IXFR", serial=3))
        reply = dns.message.from_wire(next(frames(sock)), xfr=True)
        assert len(reply.answer) > 10 and reply.question[0].rdtype == dns.rdatatype.IXFR
    knotd.wait_log(r"IXFR, outgoing, remote \S+ TCP, incomplete history, serial 3, fallback to AXFR\n")
    knotd.wait_log(r"AXFR, outgoing, remote \S+ TCP, finished, ")


def test_not_provided(knotd):
    start(knotd, {"example": example(7)}, items="provide-ixfr: off")
    with connect(knotd) as sock:
        send(sock, query("example", "IXFR", serial=3))
        assert len(dns.message.from_wire(next(frames(sock)), xfr=True).answer) > 10
    knotd.wait_log(r"IXFR, outgoing, remote \S+ TCP, cannot provide, fallback to AXFR\n")


def test_unix_socket(knotd):
    path = knotd.dir / "dns.sock"
    knotd.write("example.zone", example())
    knotd.configure(text=RULES + "template:\n  - id: default\n    acl: signed\n", zones=["example"], listen=("127.0.0.1", str(path)))
    knotd.start()
    with connect(knotd, path) as sock:
        send(sock, query("example", key=True))
        assert len(next(frames(sock))) > 1000


def read_slowly(server, count):
    """Connections that asked for the zone and don't read."""
    stack = contextlib.ExitStack()
    for _ in range(count):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(60)
        sock.connect(("127.0.0.1", server.port))
        stack.enter_context(sock)
        send(sock, query("large"))
    return stack


def memory(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_slow_readers(knotd):
    """They delay neither each other nor commits, take little memory, and the version that they hold is the one of their request."""
    start(knotd, {"large": many("large.", 20000)}, server="tcp-io-timeout: 60000\ntcp-idle-timeout: 120\ntcp-max-clients: 500")
    axfr(knotd, "large")
    before = memory(knotd)
    with read_slowly(knotd, 100) as slow:
        knotd.wait_log(r"AXFR, outgoing, remote \S+ TCP, started", count=101, timeout=30)
        for number in range(5):
            knotd.knotc("zone-begin", "large")
            knotd.knotc("zone-set", "large", f"new{number}", "60", "A", "192.0.2.7")
            knotd.knotc("zone-commit", "large")
            assert knotd.ask(f"new{number}.large", tcp=True).answer
        assert len(axfr(knotd, "large").nodes) > 20000 + 5
        assert memory(knotd) - before < 64 << 20
    # The clients have gone: so have the versions that they held, and nothing waits.
    knotd.wait(lambda: knotd.ask("h1.large", tcp=True).answer, what="answers")


def test_dropped(knotd):
    """A client that goes in the middle of a transfer leaves nothing behind."""
    start(knotd, {"large": many("large.", 20000)})
    for _ in range(20):
        with connect(knotd) as sock:
            send(sock, query("large"))
            sock.recv(1000)
    assert len(axfr(knotd, "large").nodes) > 20000
