# SPDX-License-Identifier: BSD-2-Clause
"""Dynamic updates over sockets: the reply comes when the change is durable and served, from where it was asked, and signed."""
import random
import signal
import socket
import time

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import pytest

from updating import (ANSWER_S, KEYS, SECRET, ask_update, connect, datagrams, framed, has, nsupdate, read_message, send_many, start, update)
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

PER_CONN = 256      # NET_LATER_PER_CONN of src/sys/limits.h


@pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
@pytest.mark.parametrize("options", [[], ["-v"]], ids=["udp", "tcp"])
def test_nsupdate(knotd, options, signed):
    start(knotd)
    more = ["-y", f"hmac-sha256:key.:{SECRET}"] if signed else []
    assert nsupdate(knotd, ["update add new.example. 60 A 192.0.2.9"], *options, *more) == (0, "")
    assert has(knotd, "new")        # at once: the answer says that it is served
    status, output = nsupdate(knotd, ["prereq nxdomain new.example.", "update add x.example. 60 A 192.0.2.9"], *options, *more)
    assert status == 2 and "YXDOMAIN" in output
    assert not has(knotd, "x")


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_what_is_not_allowed(knotd, tcp):
    start(knotd, acl="signed")
    assert ask_update(knotd, update(1), tcp).rcode() == dns.rcode.NOTAUTH
    assert ask_update(knotd, update(2, zone="other"), tcp).rcode() == dns.rcode.NOTAUTH
    reply = ask_update(knotd, update(3, signed=True), tcp)
    assert (reply.rcode(), reply.had_tsig, reply.edns) == (dns.rcode.NOERROR, True, -1)
    assert reply.flags & dns.flags.QR
    assert has(knotd, "h3") and not has(knotd, "h1")


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_many_in_flight(knotd, tcp):
    """64 unanswered at a time: each gets its own answer, a quarter of them signed ones, and many share a commit."""
    start(knotd)
    count = 1000
    with (connect if tcp else datagrams)(knotd) as sock:
        answered = send_many(sock, [update(n, signed=n % 4 == 0) for n in range(count)], 64, tcp)
    assert set(answered.values()) == {dns.rcode.NOERROR} and len(answered) == count
    assert all(has(knotd, f"h{n}") for n in random.sample(range(count), 50))
    serial = knotd.ask("example", "SOA").answer[0][0].serial
    assert 1 < serial < count   # some shared one: how many depends on who is faster


@pytest.mark.parametrize("where", ["127.0.0.1", "127.0.0.77", "::1"])
def test_from_the_address_that_was_asked(knotd, where):
    """On sockets bound to all addresses; ours takes replies from there only."""
    start(knotd, listen=("0.0.0.0", "::"))
    assert ask_update(knotd, update(1), where=where).rcode() == dns.rcode.NOERROR


def test_unix_sockets(knotd):
    start(knotd, listen=("127.0.0.1", str(knotd.dir / "dns.sock")))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(ANSWER_S)
        sock.connect(str(knotd.dir / "dns.sock"))
        sock.sendall(framed(update(1)) + framed(update(2, signed=True)))
        assert {read_message(sock)[:2], read_message(sock)[:2]} == {b"\0\1", b"\0\2"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(ANSWER_S)
        sock.bind(str(knotd.dir / "client.sock"))
        sock.connect(str(knotd.dir / "dns.sock.dgram"))
        sock.send(update(3).to_wire())
        assert sock.recv(65535)[:4] == b"\0\3\xa8\0"
    assert has(knotd, "h1") and has(knotd, "h2") and has(knotd, "h3")


def test_frozen(knotd):
    """Eight wait for a frozen zone, the ninth is refused with the reason; those that wait are answered when it thaws."""
    start(knotd)
    knotd.knotc("-b", "zone-freeze", "example")
    refused = update(100, signed=True)
    refused.use_edns(0)
    with connect(knotd) as sock:
        sock.sendall(b"".join(framed(update(n)) for n in range(8)) + framed(refused))
        reply = dns.message.from_wire(read_message(sock), keyring=KEYS, request_mac=refused.mac)
        assert (reply.id, reply.rcode(), reply.had_tsig) == (100, dns.rcode.REFUSED, True)
        assert [(option.otype, option.code) for option in reply.options] == [(dns.edns.OptionType.EDE, dns.edns.EDECode.NOT_READY)]
        knotd.knotc("-b", "zone-thaw", "example")
        assert sorted(read_message(sock)[:2] for _ in range(8)) == [bytes((0, n)) for n in range(8)]
    assert has(knotd, "h7") and not has(knotd, "h100")


def test_a_connection_waits_for_its_answers(knotd):
    """Updates that wait hold back what the client sends behind them; other connections aren't touched, and an idle limit doesn't count."""
    start(knotd, server="tcp-idle-timeout: 1\ntcp-io-timeout: 500")
    knotd.knotc("zone-begin", "example")
    query = dns.message.make_query("ns1.example", "A")
    with connect(knotd) as sock:
        sock.sendall(b"".join(framed(update(n)) for n in range(PER_CONN + 20)) + framed(query))
        knotd.wait_log("blocked zone update due to open control transaction")
        time.sleep(2.5)     # an absence: longer than both limits
        sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        assert not has(knotd, "h0")
        with connect(knotd) as other:
            other.sendall(framed(query))
            assert read_message(other)[:2] == query.id.to_bytes(2, "big")
        knotd.knotc("zone-abort", "example")
        sock.settimeout(ANSWER_S)
        replies = [read_message(sock) for _ in range(PER_CONN + 21)]
    assert sorted(int.from_bytes(reply[:2], "big") for reply in replies if reply[2] & 0x28) == list(range(PER_CONN + 20))
    assert replies and query.id.to_bytes(2, "big") in [reply[:2] for reply in replies if not reply[2] & 0x28]
    assert all(has(knotd, f"h{n}") for n in (0, PER_CONN - 1, PER_CONN, PER_CONN + 19))


def test_half_closed_client(knotd):
    start(knotd)
    with connect(knotd) as sock:
        sock.sendall(framed(update(1)))
        sock.shutdown(socket.SHUT_WR)
        assert read_message(sock)[:4] == b"\0\1\xa8\0"
        assert read_message(sock) == b""
    assert has(knotd, "h1")


@pytest.mark.parametrize("resets", [False, True], ids=["closed", "reset"])
def test_clients_that_go(knotd, resets):
    """Connections that end while their updates wait; the updates are applied, their answers dropped, and nothing is left behind."""
    start(knotd)
    for turn in range(3):
        knotd.knotc("zone-begin", "example")
        for n in range(20):
            sock = connect(knotd)
            if resets:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.sendall(b"".join(framed(update(turn * 1000 + n * 10 + k, signed=k == 1)) for k in range(5)))
            sock.close()
        with datagrams(knotd) as sock:
            sock.send(update(turn * 1000 + 999).to_wire())
        knotd.knotc("zone-abort", "example")
        wait_until(lambda turn=turn: has(knotd, f"h{turn * 1000 + 190}") and has(knotd, f"h{turn * 1000 + 999}"), "applied", 10 * PATIENCE)
    assert ask_update(knotd, update(4000), tcp=True).rcode() == dns.rcode.NOERROR


def test_end_while_updates_wait(knotd):
    """They are answered: SERVFAIL, or not at all, but the process ends."""
    start(knotd)
    knotd.knotc("zone-begin", "example")
    with connect(knotd) as sock, datagrams(knotd) as other:
        sock.sendall(b"".join(framed(update(n)) for n in range(10)))
        other.send(update(11).to_wire())
        knotd.wait_log("blocked zone update due to open control transaction")
        knotd.stop()
        reply = read_message(sock)
        assert reply == b"" or reply[3] & 15 == dns.rcode.SERVFAIL
    knotd.start()
    assert not has(knotd, "h0")


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_kill_loses_nothing_acknowledged(knotd, tcp):
    """kill -9 while 64 are in flight: each that was acknowledged is there after the start."""
    start(knotd)
    for turn in range(3):
        acknowledged, n = [], turn * 100000
        sock = (connect if tcp else datagrams)(knotd)
        until = time.monotonic() + 0.5 + turn * 0.3
        with sock:
            sent = 0
            while time.monotonic() < until:
                while sent - len(acknowledged) < 64:
                    message = update(n + sent)
                    message.id = sent & 0xffff
                    sock.sendall(framed(message) if tcp else message.to_wire())
                    sent += 1
                reply = read_message(sock) if tcp else sock.recv(65535)
                assert reply[3] & 15 == dns.rcode.NOERROR
                acknowledged.append(int.from_bytes(reply[:2], "big"))
            knotd.stop(signal.SIGKILL)
        knotd.start()
        assert len(acknowledged) > 64
        missing = [ident for ident in acknowledged if not has(knotd, f"h{n + ident}")]
        assert missing == []
