# SPDX-License-Identifier: BSD-2-Clause
"""Dynamic updates over AF_XDP: replies to datagrams leave in frames of their own, those over TCP by the worker's stack."""
import random
import socket

import dns.message
import dns.rcode
import pytest

from updating import (ANSWER_S, SECRET, ask_update, connect, datagrams, framed, has, nsupdate, read_message, send_many, start, update)
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

PER_CONN = 256      # NET_LATER_PER_CONN of src/sys/limits.h


@pytest.fixture
def server(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    start(daemon, listen=(), text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n")
    daemon.wait_log("initialized XDP interface")
    return daemon


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("options", [[], ["-v"]], ids=["udp", "tcp"])
def test_nsupdate(server, pair, family, options):
    where = pair.server4 if family == 4 else pair.server6
    for more in [], ["-y", f"hmac-sha256:key.:{SECRET}"]:
        name = f"new{len(more)}"
        lines = [f"update add {name}.example. 60 A 192.0.2.9"]
        assert nsupdate(server, lines, *options, *more, where=where, client=pair.client) == (0, "")
        assert has(server, name, where, pair.client)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_many_in_flight(server, pair, tcp):
    count = 1000
    with (connect if tcp else datagrams)(server, pair.server4, pair.client) as sock:
        answered = send_many(sock, [update(n, signed=n % 4 == 0) for n in range(count)], 64, tcp)
    assert set(answered.values()) == {dns.rcode.NOERROR} and len(answered) == count
    assert all(has(server, f"h{n}", pair.server4, pair.client) for n in random.sample(range(count), 50))


def test_a_connection_waits_for_its_answers(server, pair):
    server.knotc("zone-begin", "example")
    query = dns.message.make_query("ns1.example", "A")
    with connect(server, pair.server4, pair.client) as sock:
        sock.sendall(b"".join(framed(update(n)) for n in range(PER_CONN + 20)) + framed(query))
        server.wait_log("blocked zone update due to open control transaction")
        sock.settimeout(0.5)        # an absence
        with pytest.raises(TimeoutError):
            sock.recv(1)
        with connect(server, pair.server4, pair.client) as other:
            other.sendall(framed(query))
            assert read_message(other)[:2] == query.id.to_bytes(2, "big")
        server.knotc("zone-abort", "example")
        sock.settimeout(ANSWER_S)
        replies = [read_message(sock) for _ in range(PER_CONN + 21)]
    assert sorted(int.from_bytes(reply[:2], "big") for reply in replies if reply[2] & 0x28) == list(range(PER_CONN + 20))
    assert query.id.to_bytes(2, "big") in [reply[:2] for reply in replies if not reply[2] & 0x28]


def test_idle_close_waits_for_a_reply(make_knotd, pair):
    """A connection whose update waits isn't idle, however long that takes; afterwards it is."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    start(daemon, listen=(), text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n    tcp-idle-close-timeout: 1\n    tcp-idle-reset-timeout: 2\n")
    daemon.wait_log("initialized XDP interface")
    daemon.knotc("zone-begin", "example")
    with connect(daemon, pair.server4, pair.client) as sock:
        sock.sendall(framed(update(1)) + framed(update(2)))
        daemon.wait_log("blocked zone update due to open control transaction")
        sock.settimeout(3.5)        # an absence: neither FIN nor RST
        with pytest.raises(TimeoutError):
            sock.recv(1)
        daemon.knotc("zone-abort", "example")
        sock.settimeout(ANSWER_S)
        assert {read_message(sock)[:4] for _ in range(2)} == {b"\0\1\xa8\0", b"\0\2\xa8\0"}
        assert read_message(sock) == b""        # the idle close


def test_half_closed_client(server, pair):
    with connect(server, pair.server4, pair.client) as sock:
        sock.sendall(framed(update(1)))
        sock.shutdown(socket.SHUT_WR)
        assert read_message(sock)[:4] == b"\0\1\xa8\0"
        assert read_message(sock) == b""
    assert has(server, "h1", pair.server4, pair.client)


def test_clients_and_workers_that_go(server, pair):
    """Connections that are reset while their updates wait; then the worker ends, and another one comes, while some wait."""
    server.knotc("-b", "zone-freeze", "example")
    for n in range(5):
        sock = connect(server, pair.server4, pair.client)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        sock.sendall(framed(update(n)))
        sock.close()
    with datagrams(server, pair.server4, pair.client) as sock:
        sock.send(update(999).to_wire())
        wait_until(lambda: "update" in server.knotc("zone-status", "example", "+events").stdout, "an update waits", 10 * PATIENCE)
        text = server.path.read_text()
        server.conf(text.replace("    tcp: on\n", "    tcp: on\n    ring-size: 4096\n"))       # opens the interface again
        server.knotc("reload")
        server.wait_log("initialized XDP interface", count=2)
        server.knotc("-b", "zone-thaw", "example")
    wait_until(lambda: has(server, "h999", pair.server4, pair.client), "applied", 10 * PATIENCE)
    assert ask_update(server, update(4000), where=pair.server4, client=pair.client).rcode() == dns.rcode.NOERROR
    assert ask_update(server, update(4001), tcp=True, where=pair.server4, client=pair.client).rcode() == dns.rcode.NOERROR
