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
    """No test measures its times: a client that a busy machine keeps waiting isn't a slow one."""
    return start(knotd, "tcp-idle-timeout: 120\ntcp-io-timeout: 60000\ntcp-max-clients: 20")


@pytest.fixture
def impatient(knotd):
    return start(knotd, "tcp-idle-timeout: 2\ntcp-io-timeout: 800")


def connect(server, timeout=10 * PATIENCE, source="127.0.0.1"):
    sock = socket.create_connection(("127.0.0.1", server.port), timeout, (source, 0))
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


# ---- Who may stay ----

IGNORED = {"empty": b"\x00\x00", "a response": b"\x00\x0c\x00\x00\x80" + bytes(9), "shorter than a header": b"\x00\x03abc"}


@contextlib.contextmanager
def crowd(server, count, address="127.0.0.1"):
    """Connections from an address; the server may refuse or close some of them."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(server, source=address)) for _ in range(count)]


def is_open(sock):
    """Not closed by the server; there is nothing to be read."""
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def count_open(socks):
    return sum(map(is_open, socks))


def is_answered(server, source="127.0.0.1", timeout=2):
    """A query over a connection of its own."""
    try:
        with connect(server, timeout, source) as sock:
            sock.sendall(framed("www.example", number=1))
            return read_message(sock).rcode() == dns.rcode.NOERROR
    except (OSError, EOFError, dns.exception.DNSException):
        return False


@pytest.mark.ours
@pytest.mark.parametrize("pieces", [1, 2], ids=["whole", "in two pieces"])
@pytest.mark.parametrize("message", IGNORED.values(), ids=IGNORED)
def test_message_without_answer_is_no_sign_of_life(impatient, message, pieces):
    """Only a query that is answered restarts the idle time, so a client that sends nothing doesn't stay for ever."""
    started = time.monotonic()
    with connect(impatient) as sock, contextlib.suppress(ConnectionError):
        sock.settimeout(0.3)
        for _ in range(20 * PATIENCE):
            for piece in (message[:1], message[1:]) if pieces == 2 else (message,):
                sock.sendall(piece)
                time.sleep(0.05)    # so that each piece is a segment of its own
            try:
                assert sock.recv(1) == b""
                break
            except TimeoutError:
                pass
        else:
            pytest.fail("the connection is open still")
    assert time.monotonic() - started > 1


@pytest.mark.ours
def test_answered_query_is_a_sign_of_life(impatient):
    started = time.monotonic()
    with connect(impatient) as sock:
        while time.monotonic() - started < 5:    # more than twice the limit
            sock.sendall(framed("www.example", number=1) + IGNORED["empty"])
            assert read_message(sock).id == 1
            time.sleep(0.2)     # a client that asks now and then


@pytest.mark.ours
@pytest.mark.threads
@pytest.mark.parametrize("workers", [1, 3])
def test_client_limit(knotd, workers):
    """All connections of all workers together stay within tcp-max-clients, and those of one address within its share; who comes is
    served at once all the same."""
    server = start(knotd, f"tcp-idle-timeout: 120\ntcp-io-timeout: 60000\ntcp-max-clients: 20\ntcp-workers: {workers}")
    with crowd(server, 60) as own, crowd(server, 60, "127.0.0.2") as second, crowd(server, 60, "127.0.0.3") as third:
        server.wait(lambda: count_open(own + second + third) <= 20, 10, "the limit")
        assert count_open(own) <= 10 and count_open(second) <= 10
        for source in ("127.0.0.1", "127.0.0.2", "127.0.0.4"):
            assert is_answered(server, source, 10 * PATIENCE)
        assert count_open(own + second + third) in range(15, 21)
        stats = {key: value for key, value in server.stats().items() if key.startswith("server.tcp-")}
        assert stats["server.tcp-evicted"] >= 160 and stats["server.tcp-idle-timeout"] == 0


@pytest.mark.ours
def test_idlest_of_the_greediest_makes_room(server):
    """A source that has few connections keeps them, and of the greedy one's those that are used."""
    with crowd(server, 2, "127.0.0.2") as modest, crowd(server, 10) as greedy, crowd(server, 8, "127.0.0.3") as third:
        def use(socks):
            for sock in socks:
                sock.sendall(framed("www.example", number=5))
                assert read_message(sock).id == 5
        use(greedy)         # they are accepted, which a busy server does late
        time.sleep(0.3 * PATIENCE)      # the server's clock is coarse, and a slow server notes late when a connection was used
        use(greedy[:2])
        time.sleep(0.1 * PATIENCE)      # the worker notes the use when the answer is on its way
        with crowd(server, 4, "127.0.0.4"):
            server.wait(lambda: count_open(greedy) == 7 and count_open(third) == 7, 10, "the greediest are closed")
            assert all(map(is_open, modest)) and all(map(is_open, greedy[:2]))
            assert not any(map(is_open, greedy[2:5]))


@pytest.mark.ours
@pytest.mark.parametrize("message", IGNORED.values(), ids=IGNORED)
def test_one_address_fills_nothing(server, message):
    """Many connections of an address that send what gets no answer: others are served, and so is that address."""
    with crowd(server, 100) as socks:
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.sendall(message)
        for source in ("127.0.0.2", "127.0.0.1", "127.0.0.2"):
            assert is_answered(server, source, 10 * PATIENCE)


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
