# SPDX-License-Identifier: BSD-2-Clause
"""Answers of a running daemon over sockets: transports, EDNS, CHAOS, what malformed requests get."""
import contextlib
import os
import random
import socket
import struct

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import pytest

from harness.server import is_ours
from zones import example

pytestmark = pytest.mark.core


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"], listen=["127.0.0.1", "::1"],
                    server='identity: "id-1"\nversion: "v-1"\nnsid: "nsid-1"')
    return knotd.start()


def texts(answer):
    return sorted(r.to_text() for rrset in answer.answer for r in rrset)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("where", ["127.0.0.1", "::1"])
def test_address(server, where, tcp):
    answer = server.ask("www.example", "A", where, tcp)
    assert texts(answer) == ["192.0.2.80"]
    assert answer.flags & dns.flags.AA and answer.flags & dns.flags.QR and not answer.flags & dns.flags.RA


@pytest.mark.parametrize("name, rdtype, rcode, answers, authority", [
    ("example", "SOA", "NOERROR", ["SOA"], []),
    ("nothing.example", "A", "NXDOMAIN", [], ["SOA"]),
    ("www.example", "MX", "NOERROR", [], ["SOA"]),
    ("b.c.example", "A", "NOERROR", [], ["SOA"]),
    ("any.thing.wild.example", "TXT", "NOERROR", ["TXT"], []),
    ("alias.example", "A", "NOERROR", ["CNAME", "A"], []),
    ("far.example", "A", "NOERROR", ["CNAME"], []),
    ("x.tree.example", "A", "NOERROR", ["DNAME", "CNAME", "A"], []),
    ("deep.sub.example", "A", "NOERROR", [], ["NS"]),
    ("elsewhere", "A", "REFUSED", [], []),
])
def test_kinds(server, name, rdtype, rcode, answers, authority):
    answer = server.ask(name, rdtype)
    assert dns.rcode.to_text(answer.rcode()) == rcode
    assert [dns.rdatatype.to_text(s.rdtype) for s in answer.answer] == answers
    assert [dns.rdatatype.to_text(s.rdtype) for s in answer.authority] == authority


def test_question_case_is_kept(server):
    query = dns.message.make_query("wWw.ExAmPlE", "A")
    wire = server.send_raw(query.to_wire())
    assert b"\x03wWw\x07ExAmPlE\x00" in wire


@pytest.mark.ours
def test_unix_socket(knotd):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"], listen=["127.0.0.1", f"{knotd.dir}/dns.sock"])
    knotd.start()
    query = dns.message.make_query("www.example", "A").to_wire()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(knotd.ANSWER_S)
        sock.connect(f"{knotd.dir}/dns.sock")
        sock.sendall(struct.pack("!H", len(query)) + query)
        length = struct.unpack("!H", sock.recv(2, socket.MSG_WAITALL))[0]
        assert texts(dns.message.from_wire(sock.recv(length, socket.MSG_WAITALL))) == ["192.0.2.80"]


def test_edns_echo_and_nsid(server):
    query = dns.message.make_query("www.example", "A", use_edns=0, payload=1400,
                                   options=[dns.edns.GenericOption(dns.edns.NSID, b"")])
    answer = server.exchange(query)
    assert answer.edns == 0 and answer.payload == 1232
    assert [o.to_wire() for o in answer.options if o.otype == dns.edns.NSID] == [b"nsid-1"]
    assert server.ask("www.example", "A", use_edns=False).edns == -1


def test_edns_bad_version(server):
    wire = bytearray(dns.message.make_query("www.example", "A", use_edns=0).to_wire())
    wire[-5] = 7
    answer = dns.message.from_wire(server.send_raw(bytes(wire)))
    assert answer.rcode() == dns.rcode.BADVERS and answer.edns == 0 and not answer.answer


def test_two_opt_records(server):
    wire = bytearray(dns.message.make_query("www.example", "A", use_edns=0).to_wire())
    wire += wire[-11:]
    wire[11] = 2
    assert dns.message.from_wire(server.send_raw(bytes(wire))).rcode() == dns.rcode.FORMERR


@pytest.mark.parametrize("size, truncated", [(512, True), (1232, True), (4096, True)])
def test_truncation(server, size, truncated):
    answer = server.ask("big.example", "TXT", use_edns=0, payload=size)
    assert bool(answer.flags & dns.flags.TC) == truncated
    full = server.ask("big.example", "TXT", tcp=True, use_edns=0, payload=size)
    assert not full.flags & dns.flags.TC and len(texts(full)) == 30


def test_plain_udp_is_at_most_512(server):
    wire = server.send_raw(dns.message.make_query("big.example", "TXT", use_edns=False).to_wire())
    assert len(wire) <= 512 and wire[2] & 0x02


@pytest.mark.parametrize("name, text", [("id.server", "id-1"), ("hostname.bind", "id-1"), ("version.server", "v-1"),
                                        ("version.bind", "v-1")])
def test_chaos(server, name, text):
    answer = server.ask(name, "TXT", rdclass="CH")
    assert texts(answer) == [f'"{text}"']


def test_chaos_other_is_refused(server):
    assert server.ask("authors.bind", "TXT", rdclass="CH").rcode() == dns.rcode.REFUSED


def test_chaos_disabled(knotd):
    knotd.configure(server='identity: ""\nversion: ""')
    knotd.start()
    assert knotd.ask("id.server", "TXT", rdclass="CH").rcode() == dns.rcode.REFUSED
    assert knotd.ask("version.bind", "TXT", rdclass="CH").rcode() == dns.rcode.REFUSED


def test_any_and_rrsig_are_short(server):
    """RFC 8482: one RRset for ANY."""
    answer = server.ask("www.example", "ANY")
    assert answer.rcode() == dns.rcode.NOERROR and len(answer.answer) == 1


def test_opcodes(server):
    query = dns.message.make_query("example", "SOA")
    query.set_opcode(dns.opcode.STATUS)
    answer = server.exchange(query)
    assert answer.rcode() == dns.rcode.NOTIMP and answer.opcode() == dns.opcode.STATUS


MALFORMED = {
    "empty": (b"", None),
    "one byte": (b"\x12", None),
    "header cut short": (bytes.fromhex("1234 0000 0001 0000 0000 00"), None),
    "a reply": (bytes.fromhex("1234 8000 0001 0000 0000 0000 00 0002 0001"), None),
    "header only": (bytes.fromhex("1234 0000 0001 0000 0000 0000"), 1),
    "label runs over the end": (bytes.fromhex("1234 0000 0001 0000 0000 0000 3f 61"), 1),
    "question without type": (bytes.fromhex("1234 0000 0001 0000 0000 0000 00"), 1),
    "pointer to itself in the question": (bytes.fromhex("1234 0000 0001 0000 0000 0000 c00c 0001 0001"), 1),
    "two questions": (bytes.fromhex("1234 0000 0002 0000 0000 0000 00 0002 0001 00 0002 0001"), 1),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed(server, what):
    data, rcode = MALFORMED[what]
    if rcode is not None and not is_ours():
        pytest.skip("Knot DNS 3.2 drops these")
    if rcode is None:
        assert server.send_raw(data, timeout=0.5) is None
    else:
        reply = server.send_raw(data)
        assert reply[:2] == data[:2] and reply[2] & 0x80 and reply[3] & 0x0f == rcode
    assert texts(server.ask("www.example", "A")) == ["192.0.2.80"]


@pytest.mark.threads
def test_noise_does_no_harm(server):
    """Random bytes and bitwise damaged queries; afterwards the server answers as before."""
    good = dns.message.make_query("www.example", "A", use_edns=0, want_dnssec=True).to_wire()
    rng = random.Random(int(os.environ.get("KNOT_SEED", 1)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("127.0.0.1", server.port))
        for number in range(4000):
            if number % 2:
                data = bytearray(good)
                for _ in range(1 + number % 4):
                    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            else:
                data = rng.randbytes(rng.randrange(200))
            sock.send(bytes(data))
        # Until the worker has taken all that, the kernel may have no room for another question to it.
        last = dns.message.make_query("mail.example", "A").to_wire()
        sock.settimeout(0.3)

        def is_answered():
            sock.send(last)
            with contextlib.suppress(TimeoutError):
                while True:
                    if sock.recv(65535).startswith(last[:2] + b"\x85\x00"):
                        return True
            return False
        server.wait(is_answered, what="an answer to a question behind the noise")
    for _ in range(20):
        assert texts(server.ask("www.example", "A")) == ["192.0.2.80"]


def test_answer_comes_from_the_address_asked(knotd):
    """A wildcard socket answers from the address that was asked, not from the first of the interface."""
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"], listen=["0.0.0.0"])
    knotd.start()
    for last in (1, 7, 99):
        assert texts(knotd.ask("www.example", "A", where=f"127.0.0.{last}")) == ["192.0.2.80"]
