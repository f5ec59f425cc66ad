# SPDX-License-Identifier: BSD-2-Clause
"""One client that takes all it can get of what only secondaries and primaries should ask for, beside honest ones."""
import contextlib
import socket
import struct
import time

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import pytest

from harness.net import free_port
from harness.waiting import PATIENCE, wait_until
from test_transfer_out import RULES, frames, query, send
from zones import example, many

pytestmark = [pytest.mark.ours, pytest.mark.core]

GREEDY = "127.0.0.9"
NAMES = 30000


def memory(server):
    with open(f"/proc/{server.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def connect(server, source="127.0.0.1", rcvbuf=None):
    sock = socket.socket()
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.settimeout(20 * PATIENCE)
    sock.bind((source, 0))
    sock.connect(("127.0.0.1", server.port))
    return sock


def start(knotd, zones, text="", **options):
    for name, zone in zones.items():
        knotd.write(f"{name}.zone", zone)
    rules = RULES + ("  - id: all\n    address: 127.0.0.0/8\n    action: [transfer, notify, update]\n") + text
    knotd.configure(text=rules + "template:\n  - id: default\n    acl: all\n    zonefile-sync: -1\n", zones=list(zones), **options)
    return knotd.start()


def test_transfers_that_are_not_read(knotd):
    """300 of one source, which are reset by and by; an honest secondary and queries notice nothing, and memory doesn't grow with them."""
    server = start(knotd, {"large": many("large.", NAMES)})
    before = memory(server)
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            send(stack.enter_context(connect(server, GREEDY, rcvbuf=2048)), query("large"))
        assert server.ask("h7.large").answer
        with connect(server) as sock:
            send(sock, query("large"))
            sock.shutdown(socket.SHUT_WR)
            messages = list(frames(sock))   # at once: this one is no slow reader
        assert sum(struct.unpack_from(">H", message, 6)[0] for message in messages) == NAMES + 5    # SOA twice, NS, its address, version
        assert PATIENCE > 3 or memory(server) < before + (16 << 20)      # sanitizers keep what was freed
        wait_until(lambda: server.log().count("connection ended early") >= 300, "the end of those that stopped", 20)
        assert server.ask("h7.large", tcp=True).answer


def notify(zone, serial=None):
    message = dns.message.make_query(zone, "SOA")
    message.set_opcode(dns.opcode.NOTIFY)
    message.flags = dns.flags.AA | dns.opcode.to_flags(dns.opcode.NOTIFY)
    if serial is not None:
        message.answer.append(dns.rrset.from_text(zone + ".", 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    return message


def test_flood_of_notify(knotd):
    """Refreshes don't follow each message, all are answered, and another zone's NOTIFY isn't held up."""
    silent = socket.create_server(("127.0.0.1", 0))     # a primary that accepts and says nothing
    dead = free_port()
    text = f"remote:\n  - id: silent\n    address: 127.0.0.1@{silent.getsockname()[1]}\n  - id: dead\n    address: 127.0.0.1@{dead}\n"
    for name in ("noisy", "other"):
        knotd.write(f"{name}.zone", many(name + ".", 3))
    knotd.configure(text=RULES + "  - id: all\n    address: 127.0.0.0/8\n    action: notify\n" + text + f"zone:\n  - domain: noisy\n    storage: {knotd.dir}\n"
                    f"    acl: all\n    master: silent\n  - domain: other\n    storage: {knotd.dir}\n    acl: all\n    master: dead\n")
    knotd.start()
    with silent, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((GREEDY, 0))
        sock.connect(("127.0.0.1", knotd.port))
        sock.settimeout(5 * PATIENCE)
        wires = [notify("noisy", serial).to_wire() for serial in range(2, 66)]
        for _ in range(100):
            for wire in wires:
                sock.send(wire)
            for _ in wires:
                assert sock.recv(500)[3] & 15 == dns.rcode.NOERROR
        before = knotd.log().count("[other.] refresh, failed")
        assert knotd.exchange(notify("other", 9)).rcode() == dns.rcode.NOERROR
        knotd.wait(lambda: knotd.log().count("[other.] refresh, failed") > before, 10, "the refresh of the other zone")
    assert knotd.log().count("[noisy.] NOTIFY, incoming") <= 6400
    assert knotd.log().count("[noisy.] refresh, failed") < 50


def update(zone, *records):
    message = dns.message.make_query(zone, "SOA")
    message.set_opcode(dns.opcode.UPDATE)
    message.flags = dns.opcode.to_flags(dns.opcode.UPDATE)
    for owner, rdtype, rdata in records:
        message.authority.append(dns.rrset.from_text(owner, 60, "IN", rdtype, rdata))
    return message


def test_large_updates_beside_honest_ones(knotd):
    """One source sends messages of 60 KB as fast as it can; an update of another zone and queries take no longer than some of its messages."""
    server = start(knotd, {"example": example(), "large": many("large.", 20000)}, server="tcp-io-timeout: 60000")
    large = update("large", *((f"n{i}.sub{i % 7}.large.", "TXT", "x" * 100) for i in range(500))).to_wire()
    with connect(server, GREEDY) as sock:
        sock.setblocking(False)
        left = (struct.pack(">H", len(large)) + large) * 20
        took = []
        for number in range(20):
            with contextlib.suppress(BlockingIOError):
                left = left[sock.send(left):]
            begun = time.monotonic()
            reply = server.exchange(update("example", (f"u{number}.example.", "A", "192.0.2.9")), tcp=True)
            took.append(time.monotonic() - begun)
            assert reply.rcode() == dns.rcode.NOERROR
            assert server.ask(f"u{number}.example").answer
    assert sorted(took)[10] < 1 * PATIENCE
