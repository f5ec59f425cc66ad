# SPDX-License-Identifier: BSD-2-Clause
"""Errors that answer garbage: nothing goes to services that answer anything, so no loop begins, and errors have a rate. By UDP sockets and
over AF_XDP, IPv4 and IPv6."""
import contextlib
import select
import socket
import threading
import time

import pytest

from harness.net import inside
from zones import example

QUERY = bytes.fromhex("1234 0000 0001 0000 0000 0000 03777777 076578616d706c65 00 0001 0001")
CHARGEN = bytes(range(33, 107))     # RFC 864: a line of 74 printable characters, which isn't a request
FORMERR = bytes.fromhex("4321 0000 0001 0000 0000 0000 ff")
NOTIMP = bytes.fromhex("4321 1000 0000 0000 0000 0000")
BADVERS = bytes.fromhex("4321 0000 0000 0000 0000 0001 00 0029 04d0 00010000 0000")
REFLECTORS = (7, 13, 17, 19, 37, 464)
ERRORS_PER_S = 1000                 # NET_ERRORS_PER_S of src/sys/limits.h

pytestmark = pytest.mark.ours


@pytest.fixture(params=["sockets", "xdp"])
def server(request, make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    addresses = {"sockets": f"listen: [{pair.server4}@53, {pair.server6}@53]\nudp-workers: 1", "xdp": ""}[request.param]
    daemon.configure(zones=["example"], listen=(), server=addresses,
                     text=f"xdp:\n    listen: {pair.server_if}@53\n" if request.param == "xdp" else "")
    return daemon.start()


@contextlib.contextmanager
def client(pair, port=0, family=socket.AF_INET):
    """A UDP socket in the client's namespace that is connected to the server."""
    with inside(pair.client):
        sock = socket.socket(family, socket.SOCK_DGRAM)
    with sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        sock.bind((pair.client4 if family == socket.AF_INET else pair.client6, port))
        sock.connect((pair.server4 if family == socket.AF_INET else pair.server6, 53))
        sock.settimeout(10)
        yield sock


def rcode(reply):
    return reply[3] & 15


def ask(sock, message):
    sock.send(message)
    return sock.recv(4096)


def drops(server):
    stats = server.stats()
    return stats["server.reflector-port"], stats["server.error-limit"]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_nothing_is_sent_to_reflectors(server, pair, family):
    """Neither an error nor an answer; every other port gets both."""
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(client(pair, port, family)) for port in REFLECTORS]
        served = [stack.enter_context(client(pair, port, family)) for port in (1, 8, 20, 53, 463, 465, 1024, 4444)]
        for sock in silent:
            for message in (QUERY, CHARGEN, FORMERR, NOTIMP):
                sock.send(message)
        for sock in served:
            assert rcode(ask(sock, QUERY)) == 0 and rcode(ask(sock, CHARGEN)) == 1 and rcode(ask(sock, FORMERR)) == 1
        server.wait(lambda: drops(server)[0] == 4 * len(REFLECTORS), 10, "all are counted")
        assert drops(server)[1] == 0
        assert select.select(silent, [], [], 0)[0] == []


def test_no_loop_with_a_character_generator(server, pair):
    """What port 19 answers to anything, it answers to our error, too: it must not get one."""
    answered = threading.Event()
    with client(pair, 19) as reflector, client(pair) as other:
        def reflect():
            with contextlib.suppress(OSError):
                for _ in range(2000):
                    reflector.recv(4096)
                    answered.set()
                    reflector.send(CHARGEN)
        thread = threading.Thread(target=reflect)
        thread.start()
        reflector.send(CHARGEN)         # as an attacker does with a forged source
        server.wait(lambda: drops(server)[0] > 0, 10, "it has come")
        assert rcode(ask(other, QUERY)) == 0
        assert not answered.is_set() and drops(server)[0] == 1
        reflector.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("message, expected", [(FORMERR, 1), (NOTIMP, 4), (BADVERS, 0)], ids=["FORMERR", "NOTIMP", "BADVERS"])
def test_flood_of_garbage(server, pair, message, expected):
    """Errors are answered up to a rate; queries are answered as ever, and so are errors at a moderate rate."""
    count, replies = 6000, []
    with client(pair) as garbage, client(pair) as good:
        assert rcode(ask(garbage, message)) == expected
        begin = time.monotonic()
        for n in range(count):
            garbage.send(message)
            if n % 100 == 0:
                assert rcode(ask(good, QUERY)) == 0     # and so the server keeps up with the flood
                while select.select([garbage], [], [], 0)[0]:
                    replies.append(rcode(garbage.recv(4096)))
        server.wait(lambda: drops(server)[1] > 0, 10, "errors are dropped")
        assert rcode(ask(good, QUERY)) == 0
        while select.select([garbage], [], [], 0.5)[0]:
            replies.append(rcode(garbage.recv(4096)))
        seconds = time.monotonic() - begin
        assert set(replies) == {expected}
        assert ERRORS_PER_S - 1 <= len(replies) <= ERRORS_PER_S * (1 + seconds)
        assert len(replies) + drops(server)[1] == count
        for _ in range(100):
            assert rcode(ask(garbage, message)) == expected
            time.sleep(0.002)       # 500 per second at most
