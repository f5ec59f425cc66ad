# SPDX-License-Identifier: BSD-2-Clause
"""TCP as RFC 7766 wants it: pipelining, messages in pieces, slow readers, time and client limits."""
import contextlib
import socket
import struct
import time

import dns.exception
import dns.message
import dns.rcode
import pytest

from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.core


def start(knotd, items):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"], server=items)
    return knotd.start()


@pytest.fixture
def server(knotd):
    """Its times are no test's business: a client that a busy machine keeps waiting isn't a slow one."""
    return start(knotd, "tcp-idle-timeout: 120\ntcp-io-timeout: 60000\ntcp-max-clients: 20")


@pytest.fixture
def impatient(knotd):
    return start(knotd, "tcp-idle-timeout: 2\ntcp-io-timeout: 800")


def connect(server, timeout=10 * PATIENCE):
    sock = socket.create_connection(("127.0.0.1", server.port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def framed(name, rdtype="A", number=0, **options):
    query = dns.message.make_query(name, rdtype, **options)
    query.id = number
    wire = query.to_wire()
    return struct.pack("!H", len(wire)) + wire


def read_exactly(sock, length):
    data = b""
    while len(data) < length:
        more = sock.recv(length - len(data))
        if not more:
            raise EOFError(f"closed after {len(data)} of {length} bytes")
        data += more
    return data


def read_message(sock):
    length = struct.unpack("!H", read_exactly(sock, 2))[0]
    return dns.message.from_wire(read_exactly(sock, length))


def is_closed(sock, within):
    """True if the other end closes (or resets) in time; anything it sends before is ignored."""
    sock.settimeout(within)
    with contextlib.suppress(ConnectionError):
        try:
            while sock.recv(65536):
                pass
        except TimeoutError:
            return False
    return True


def test_pipelined_queries(server):
    """300 queries in one write; all are answered, each once."""
    with connect(server) as sock:
        sock.sendall(b"".join(framed("www.example", number=n) for n in range(300)))
        assert sorted(read_message(sock).id for _ in range(300)) == list(range(300))


def test_query_byte_by_byte(server):
    with connect(server) as sock:
        for byte in framed("www.example", number=7):
            sock.send(bytes([byte]))
            time.sleep(0.002)     # each byte in a segment of its own
        assert read_message(sock).id == 7


def test_second_query_split_over_writes(server):
    with connect(server) as sock:
        data = framed("www.example", number=1) + framed("mail.example", number=2)
        cut = len(data) - 9
        sock.sendall(data[:cut])
        assert read_message(sock).id == 1
        sock.sendall(data[cut:])
        assert read_message(sock).id == 2


def test_slow_reader_gets_all(server):
    """More answers than socket buffers hold, read late: the server waits for the reader, without mixing messages up."""
    count = 120
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        sock.settimeout(10 * PATIENCE)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(b"".join(framed("big.example", "TXT", n) for n in range(count)))
        seen = []
        for _ in range(count):
            answer = read_message(sock)
            assert len(answer.answer[0]) == 30
            seen.append(answer.id)
            time.sleep(0.002)     # a client that reads slowly
        assert sorted(seen) == list(range(count))


def test_half_closed_connection_is_answered(server):
    with connect(server) as sock:
        sock.sendall(framed("www.example", number=3))
        sock.shutdown(socket.SHUT_WR)
        assert read_message(sock).id == 3


def test_idle_connection_is_closed(impatient):
    with connect(impatient) as sock:
        started = time.monotonic()
        sock.sendall(framed("www.example", number=3))
        read_message(sock)
        assert is_closed(sock, 8)    # by default after 10 s
        assert time.monotonic() - started > 1


def test_stuck_query_is_closed(impatient):
    """Half a message and then nothing: the I/O timeout ends it."""
    with connect(impatient) as sock:
        sock.sendall(framed("www.example")[:9])
        assert is_closed(sock, 8)
    assert impatient.ask("www.example", "A", tcp=True).rcode() == dns.rcode.NOERROR


def test_reader_that_never_reads_does_not_block_others(server):
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            sock = stack.enter_context(connect(server))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for n in range(2000):
                    sock.send(framed("big.example", "TXT", n & 0xffff))
        assert server.ask("www.example", "A", tcp=True).rcode() == dns.rcode.NOERROR


@pytest.mark.parametrize("data", [b"\x00\x00", b"\x00\x01\xff", b"\x00\x0b" + b"x" * 11], ids=["0", "1", "11"])
def test_message_too_short_for_a_header(server, data):
    with connect(server) as sock, contextlib.suppress(ConnectionError):
        sock.sendall(data)
        is_closed(sock, 1)
    assert server.ask("www.example", "A", tcp=True).rcode() == dns.rcode.NOERROR


@pytest.mark.threads
def test_client_limit(server):
    """Over tcp-max-clients old idle connections give way or new ones are closed; the server stays usable."""
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            with contextlib.suppress(OSError):
                stack.enter_context(connect(server, timeout=1))
        time.sleep(0.3)     # absence: no connection is closed for the newer ones

    def is_usable():
        try:
            return server.ask("www.example", "A", tcp=True, timeout=2).rcode() == dns.rcode.NOERROR
        except (OSError, EOFError, dns.exception.DNSException):
            return False
    server.wait(is_usable, 8, "an answer by TCP")


@pytest.mark.threads
def test_connection_storm(server):
    """Connections that end in every possible way, and none of their descriptors left open."""
    def descriptors():
        import os
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))
    server.ask("www.example", "A", tcp=True)
    before = descriptors()
    for n in range(200):
        with contextlib.suppress(OSError, EOFError):
            with connect(server, timeout=2) as sock:
                if n % 4 == 1:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    sock.sendall(framed("big.example", "TXT", n))
                elif n % 4 == 2:
                    sock.sendall(framed("www.example", number=n))
                    read_message(sock)
                elif n % 4 == 3:
                    sock.sendall(framed("www.example", number=n)[:5])
    server.wait(lambda: descriptors() <= before + 1, 10, "descriptors are closed")
