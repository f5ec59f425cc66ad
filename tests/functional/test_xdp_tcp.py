# SPDX-License-Identifier: BSD-2-Clause
"""TCP over AF_XDP with the kernel's own clients on the other end of the link: RFC 7766 as over sockets (test_tcp.py),
odd segmentation, limits and times, floods, and loss both ways beside the kernel's own server."""
import contextlib
import errno
import itertools
import json
import random
import re
import resource
import selectors
import shutil
import socket
import struct
import subprocess
import threading
import time

import dns.exception
import dns.message
import dns.rcode
import pytest

from harness.net import inside
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

HUGE_COUNT = 240  # TXT records of `huge`: an answer of about 60 kB
SOCKETS4 = "192.0.2.3"  # an address of the server that the kernel's TCP serves


def zone_text():
    huge = "\n        TXT   ".join(f'"{n:03d}{"y" * 240}"' for n in range(HUGE_COUNT))
    return example() + f"huge    TXT   {huge}\n"


def start(make_knotd, pair, xdp="", listen=""):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", zone_text())
    addresses = f"{pair.server_if}@53" if not listen else listen
    extra = "".join(f"    {line}\n" for line in xdp.strip().splitlines())
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{SOCKETS4}@53]\ntcp-max-clients: 4000",
                     text=f"xdp:\n    listen: [{addresses}]\n    tcp: on\n{extra}"
                          "template:\n  - id: default\n    global-module: mod-stats\n")
    return daemon.start()


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair)


def framed(name, rdtype="A", number=0):
    query = dns.message.make_query(name, rdtype)
    query.id = number
    wire = query.to_wire()
    return struct.pack("!H", len(wire)) + wire


def connect(pair, where=None, timeout=10 * PATIENCE, **options):
    """A connection from the client's namespace. rcvbuf, nodelay, source: as the names say."""
    where = where or pair.server4
    with inside(pair.client):
        sock = socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, socket.SOCK_STREAM)
    if "rcvbuf" in options:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["rcvbuf"])
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.settimeout(timeout)
    if "source" in options:
        sock.bind((options["source"], 0))
    sock.connect((where, 53))
    return sock


def read_exactly(sock, length):
    data = bytearray()
    while len(data) < length:
        more = sock.recv(length - len(data))
        if not more:
            raise EOFError(f"closed after {len(data)} of {length} bytes")
        data += more
    return bytes(data)


def read_wire(sock):
    return read_exactly(sock, struct.unpack("!H", read_exactly(sock, 2))[0])


def read_ids(sock, count):
    return [struct.unpack("!H", read_wire(sock)[:2])[0] for _ in range(count)]


def ending(sock, within=10 * PATIENCE):
    """How the other end ends the connection: "closed", "reset", or None when it doesn't in time."""
    sock.settimeout(within)
    try:
        while sock.recv(65536):
            pass
    except TimeoutError:
        return None
    except ConnectionError:
        return "reset"
    return "closed"


def reset(sock):
    """Close with a RST instead of a FIN."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def tcp_status(server, pair):
    """Sums of `knotc xdp-status`."""
    units = json.loads(server.knotc("-j", "raw", "xdp-status", pair.server_if).stdout)["reply"]
    return {unit["item"]: int(unit["data"]) for unit in units if not unit.get("id") and unit["data"].isdigit()}


# ---- Answers ----

@pytest.mark.parametrize("family", [4, 6])
def test_answers(server, pair, family):
    where = pair.server4 if family == 4 else pair.server6
    for _ in range(5):
        answer = server.ask("www.example", "A", where, tcp=True, client=pair.client)
        assert answer.answer[0][0].address == "192.0.2.80"
    answer = server.ask("big.example", "TXT", where, tcp=True, client=pair.client)
    assert len(answer.answer[0]) == 30
    stats = server.stats()
    assert stats[f"mod-stats.request-protocol[tcp{family}-xdp]"] == 6
    assert stats.get(f"mod-stats.request-protocol[tcp{family}]", 0) == 0


def test_udp_beside_tcp(server, pair):
    with connect(pair) as sock:
        for number in range(50):
            sock.sendall(framed("www.example", number=number))
            assert server.ask("mail.example", "A", pair.server4, client=pair.client).answer
            assert read_ids(sock, 1) == [number]
    stats = server.stats()
    assert stats["mod-stats.request-protocol[tcp4-xdp]"] == stats["mod-stats.request-protocol[udp4-xdp]"] == 50


def require(program):
    if shutil.which(program) is None:
        pytest.skip(f"no {program}")


@pytest.mark.parametrize("command", [
    ["dig", "+tcp", "+short", "+tries=1", "@192.0.2.1", "www.example"],
    ["dig", "+tcp", "+short", "+tries=1", "@2001:db8::1", "www.example"],
    ["kdig", "+tcp", "+short", "+retry=0", "@192.0.2.1", "www.example", "A"],
    ["kdig", "+tcp", "+short", "+retry=0", "+keepopen", "@192.0.2.1", "www.example", "A", "www.example", "A"],
], ids=["dig", "dig6", "kdig", "kdig-keepopen"])
def test_tools(server, pair, command):
    require(command[0])
    lines = set(pair.exec(pair.client, *command, timeout=100).stdout.split())
    assert lines == {"192.0.2.80"}, lines
    assert server.stats()["mod-stats.request-protocol[tcp4-xdp]"] + \
        server.stats().get("mod-stats.request-protocol[tcp6-xdp]", 0) > 0


def test_dnsperf(server, pair):
    """20 busy connections, several queries under way on each: none lost, none wrong."""
    require("dnsperf")
    questions = "www.example A\nmail.example A\nbig.example TXT\nnothing.example A\nalias.example A\n"
    queries = server.write("queries", questions * 4000)
    text = pair.exec(pair.client, "dnsperf", "-m", "tcp", "-s", pair.server4, "-d", str(queries), "-c", "20", "-n", "1", "-t", "20",
                     "-q", "200", timeout=100).stdout
    sent = int(re.search(r"Queries sent:\s+(\d+)", text).group(1))
    completed = int(re.search(r"Queries completed:\s+(\d+)", text).group(1))
    assert completed == sent == 20000, text
    assert server.stats()["mod-stats.request-protocol[tcp4-xdp]"] >= completed


def test_answer_larger_than_any_window(server, pair):
    with connect(pair, rcvbuf=4096) as sock:
        sock.sendall(framed("huge.example", "TXT", 1) + framed("www.example", "A", 2))
        answer = dns.message.from_wire(read_wire(sock))
        assert len(answer.answer[0]) == HUGE_COUNT
        assert read_ids(sock, 1) == [2]


# ---- Segments ----

def test_byte_by_byte(server, pair):
    with connect(pair) as sock:
        for byte in framed("www.example", number=7) + framed("mail.example", number=8):
            sock.send(bytes([byte]))
        assert read_ids(sock, 2) == [7, 8]


def test_odd_segments(server, pair):
    """Queries cut anywhere, several per segment, messages over several segments."""
    rng = random.Random(4711)
    data = b"".join(framed("www.example" if n % 3 else "nothing.example", number=n) for n in range(200))
    with connect(pair) as sock:
        while data:
            cut = rng.choice((1, 2, 3, rng.randrange(1, 200), rng.randrange(1, 3000)))
            sock.sendall(data[:cut])
            data = data[cut:]
            if rng.randrange(4) == 0:
                time.sleep(0.002)     # often the next segment comes alone
        assert sorted(read_ids(sock, 200)) == list(range(200))


def test_pipelined_queries(server, pair):
    with connect(pair) as sock:
        sock.sendall(b"".join(framed("www.example", number=n) for n in range(1000)))
        assert sorted(read_ids(sock, 1000)) == list(range(1000))


def test_half_close(server, pair):
    with connect(pair) as sock:
        sock.sendall(b"".join(framed("big.example", "TXT", n) for n in range(20)))
        sock.shutdown(socket.SHUT_WR)
        assert read_ids(sock, 20) == list(range(20))
        assert ending(sock) == "closed"


def test_half_close_with_part_of_a_query(server, pair):
    with connect(pair) as sock:
        sock.sendall(framed("www.example", number=1) + framed("www.example", number=2)[:9])
        sock.shutdown(socket.SHUT_WR)
        assert read_ids(sock, 1) == [1]
        assert ending(sock) == "closed"


def test_resets(server, pair):
    """Clients that go in the middle of everything: the others don't notice."""
    with connect(pair) as other:
        for turn in range(100):
            sock = connect(pair)
            if turn % 4:
                sock.sendall(framed("huge.example", "TXT", turn) * (turn % 4))
            if turn % 3 == 0:
                sock.recv(1000) if turn % 4 else None
            reset(sock)
        other.sendall(framed("www.example", number=5))
        assert read_ids(other, 1) == [5]


def test_slow_readers(server, pair):
    """More than anybody buffers, read late through tiny windows by several at once, while a quick client is served."""
    count = 12
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connect(pair, rcvbuf=2048)) for _ in range(4)]
        for sock in slow:
            sock.sendall(b"".join(framed("huge.example", "TXT", n) for n in range(count)))
        time.sleep(0.5)     # absence: the slow clients read nothing while their answers pile up
        # No client reads before this one is served.
        assert server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client, timeout=4 * PATIENCE).answer
        for sock in slow:
            for number in range(count):
                wire = read_wire(sock)
                assert struct.unpack("!H", wire[:2])[0] == number and len(wire) > HUGE_COUNT * 240


def test_many_connections_at_once(server, pair):
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(pair)) for _ in range(500)]
        for number, sock in enumerate(socks):
            sock.sendall(framed("www.example", number=number))
        for number, sock in enumerate(socks):
            assert read_ids(sock, 1) == [number]


@pytest.mark.parametrize("data", [b"\x00\x00", b"\x00\x01\xff", b"\x00\x0b" + b"x" * 11], ids=["0", "1", "11"])
def test_message_too_short_for_a_header(server, pair, data):
    with connect(pair) as sock:
        sock.sendall(data + framed("www.example", number=9))
        with contextlib.suppress(ConnectionError, EOFError):
            assert read_ids(sock, 1) == [9]
    assert server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client).rcode() == dns.rcode.NOERROR


# ---- Limits and times ----

def test_idle_connections_end(make_knotd, pair):
    """First a FIN, then, for who keeps the other half open, a RST."""
    start(make_knotd, pair, "tcp-idle-close-timeout: 1\ntcp-idle-reset-timeout: 2")
    with connect(pair) as sock, connect(pair) as silent:
        started = time.monotonic()
        sock.sendall(framed("www.example", number=3))
        assert read_ids(sock, 1) == [3]
        assert ending(sock) == "closed"
        assert 0.5 < time.monotonic() - started < 9     # 10 by default
        assert ending(silent) == "closed"
        error = wait_until(lambda: sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), "a RST", 5)
        assert error in (errno.ECONNRESET, errno.EPIPE)


IGNORED = {"empty": b"\x00\x00", "a response": b"\x00\x0c\x00\x00\x80" + bytes(9), "shorter than a header": b"\x00\x03abc",
           "empty, 512 bytes of them": bytes(512)}


@pytest.mark.parametrize("message", IGNORED.values(), ids=IGNORED)
def test_message_without_answer_is_no_sign_of_life(make_knotd, pair, message):
    """Only a query that is answered restarts the idle time, as over sockets (test_tcp.py). What is ignored may last as long as one long
    message does: 130 times 512 bytes."""
    start(make_knotd, pair, "tcp-idle-close-timeout: 1\ntcp-idle-reset-timeout: 2")
    with connect(pair) as sock, contextlib.suppress(ConnectionError):
        sock.settimeout(0.25 if len(message) < 512 else 0.05)   # between two messages
        for _ in range(400):
            sock.sendall(message)
            try:
                assert sock.recv(1) == b""
                break
            except TimeoutError:
                pass
        else:
            pytest.fail("the connection is open still")


def test_active_connection_stays(make_knotd, pair):
    idle = 2
    start(make_knotd, pair, f"tcp-idle-close-timeout: {idle}\ntcp-idle-reset-timeout: {2 * idle}")

    def talk():
        """For longer than a connection may be idle. False: this machine let nothing happen for so long that it was idle."""
        with connect(pair) as sock:
            begin = last = time.monotonic()
            for number in itertools.count():
                try:
                    sock.sendall(framed("www.example", number=number))
                    assert read_ids(sock, 1) == [number]
                except (EOFError, ConnectionError):
                    assert time.monotonic() - last > 0.8 * idle
                    return False
                last = time.monotonic()
                if last - begin > 1.6 * idle:
                    return True
                time.sleep(0.2 * idle)     # pace: shorter than the idle time
    wait_until(talk, "a connection that is never idle", 20)


@contextlib.contextmanager
def many_sockets(count):
    """Room for as many sockets in this process; sudo on a fresh machine leaves it 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 200), max(hard, count + 200)))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_slow_loris_and_full_table(make_knotd, pair):
    """More connections than there is room for, of several sources, each giving a byte now and then: real clients are served
    all the while."""
    server = start(make_knotd, pair, "tcp-max-clients: 1024\ntcp-idle-close-timeout: 120\ntcp-idle-reset-timeout: 150")
    query = framed("www.example")
    sources = ["192.0.2.11", "192.0.2.12", "192.0.2.13"]
    for source in sources:
        pair.exec(pair.client, "ip", "address", "add", f"{source}/24", "dev", pair.client_if)
    with many_sockets(1300), contextlib.ExitStack() as stack:
        loris = []
        for number in range(1300):
            with inside(pair.client):
                sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            sock.setblocking(False)
            sock.bind((sources[number % len(sources)], 0))
            sock.connect_ex((pair.server4, 53))
            loris.append(sock)
        # A slow machine has them still in its queue; clients that are half open while they complete may be pushed out by them.
        server.wait(lambda: tcp_status(server, pair)["tcp-accepted"] > 1024, timeout=20, what="connections in the table")
        for turn in range(10):
            for sock in loris:
                with contextlib.suppress(OSError):
                    sock.send(query[turn:turn + 1])
            answer = server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client)
            assert answer.answer, f"turn {turn}"
        status = tcp_status(server, pair)
        assert status["tcp-clients"] > 900 and status["tcp-accepted"] > 1024


def test_one_source_takes_a_part_of_the_table(make_knotd, pair):
    """An address that opens all the connections it can leaves room for others."""
    server = start(make_knotd, pair, "tcp-max-clients: 1024")
    pair.exec(pair.client, "ip", "address", "add", "192.0.2.11/24", "dev", pair.client_if)
    with many_sockets(900), contextlib.ExitStack() as stack:
        for _ in range(900):
            with inside(pair.client):
                sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            sock.setblocking(False)
            sock.bind(("192.0.2.11", 0))
            sock.connect_ex((pair.server4, 53))
        server.wait(lambda: (s := tcp_status(server, pair))["tcp-accepted"] >= 500 and s["tcp-dropped-limit"] > 0, what="connections in the table")
        time.sleep(0.2)     # no more come in
        status = tcp_status(server, pair)
        assert 500 <= status["tcp-accepted"] <= 512 and status["tcp-dropped-limit"] > 0
        assert server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client).answer


def test_restart_while_connections_are_open(make_knotd, pair):
    server = start(make_knotd, pair)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(pair)) for _ in range(20)]
        for sock in socks:
            sock.sendall(framed("www.example"))
            read_wire(sock)
        server.stop()
        assert {ending(sock) for sock in socks} == {"reset"}
        server.start()
        assert server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client).answer


def test_crash_while_connections_are_open(make_knotd, pair):
    """The next server knows nothing of them and says so."""
    server = start(make_knotd, pair)
    with connect(pair) as sock:
        sock.sendall(framed("www.example", number=1))
        read_wire(sock)
        server.process.kill()
        server.process.wait()
        server.start()
        with contextlib.suppress(ConnectionError):
            sock.sendall(framed("www.example", number=2))
        assert ending(sock) == "reset"


def test_off_and_on_by_reload(make_knotd, pair):
    server = start(make_knotd, pair)
    text = server.path.read_text()
    with connect(pair) as sock:
        sock.sendall(framed("www.example", number=1))
        assert read_ids(sock, 1) == [1]
        server.conf(text.replace("    tcp: on", "    tcp: off"))
        server.knotc("reload")
        assert ending(sock) == "reset"
    with pytest.raises(OSError):
        connect(pair, timeout=1)
    assert server.ask("www.example", "A", pair.server4, client=pair.client).answer
    server.conf(text)
    server.knotc("reload")
    assert server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client).answer


# ---- Floods ----

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def syn_frame(pair, number):
    """A SYN of a forged source."""
    mac = bytes.fromhex((pair.server_mac + pair.client_mac).replace(":", ""))
    source = socket.inet_aton(f"198.51.{number >> 8 & 255}.{number & 255}")
    target = socket.inet_aton(pair.server4)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 44, 0, 0x4000, 64, 6, 0, source, target)
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    tcp = struct.pack("!HHIIBBHHHBBH", 1024 + number % 60000, 53, number * 7919 & 0xffffffff, 0, 0x60, 2, 64240, 0, 0,
                      2, 4, 1460)
    pseudo = source + target + struct.pack("!HH", 6, len(tcp))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    return mac + b"\x08\x00" + ip + tcp


def test_syn_flood(make_knotd, pair):
    """Forged SYNs, each second ten times what the table takes: real clients are answered, with SYN cookies. No faster than
    that: packets that get lost in front of a slow server (sanitizers) are another test's."""
    server = start(make_knotd, pair, "tcp-max-clients: 1024")
    frames = [syn_frame(pair, number) for number in range(20000)]
    with inside(pair.client):
        flood = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    flood.bind((pair.client_if, 0))
    stop = threading.Event()
    sent = 0

    def send():
        nonlocal sent
        while not stop.is_set():
            for number, frame in enumerate(frames):
                with contextlib.suppress(OSError):
                    flood.send(frame)
                    sent += 1
                if number % 50 == 0 and stop.wait(0.005):
                    return

    sender = threading.Thread(target=send)
    sender.start()
    try:
        started = time.monotonic()
        answered = 0
        while time.monotonic() - started < (4 if answered > 50 and sent > 5000 else 60 * PATIENCE):
            answer = server.ask("www.example", "A", pair.server4, tcp=True, client=pair.client)
            assert answer.answer
            answered += 1
    finally:
        stop.set()
        sender.join()
        flood.close()
    assert sent > 5000 and answered > 50, (sent, answered)
    server.wait(lambda: tcp_status(server, pair)["difference"] == 0, what="a fate of each packet")
    status = tcp_status(server, pair)
    assert status["tcp-cookies-sent"] > 1000 and status["tcp-cookies-good"] > 0 and status["difference"] == 0


# ---- Loss ----

LOSSES = (0, 1, 5, 20)  # percent each way
CONNECTIONS, QUESTIONS = 50, 3
SECONDS = 60 * PATIENCE


def lose(pair):
    """Client addresses 192.0.2.(100 + percent) lose packets both ways, by the client's own netfilter: each hundredth, twentieth or fifth of all
    that their connections exchange. What hits a connection among many is as good as random; but none loses everything again and again by bad
    luck, which at 20 % of random losses happens to one in some hundred connections within any patience."""
    require("nft")
    rules = ["table inet loss {", " chain input { type filter hook input priority 0"]
    rules += [f"  ip daddr 192.0.2.{100 + p} tcp sport 53 numgen inc mod {100 // p} 0 counter drop" for p in LOSSES if p]
    rules += [" }", " chain output { type filter hook output priority 0"]
    rules += [f"  ip saddr 192.0.2.{100 + p} tcp dport 53 numgen inc mod {100 // p} 0 counter drop" for p in LOSSES if p]
    rules += [" }", "}", ""]
    done = subprocess.run(["nsenter", f"--net=/run/netns/{pair.client}", "nft", "-f", "-"], input="\n".join(rules), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout


class Client:
    """A connection that asks one question after the other, driven by a selector."""

    def __init__(self, pair, where, percent):
        self.where, self.percent = where, percent
        self.answered, self.data, self.failure, self.ended = 0, b"", None, 0.0
        with inside(pair.client):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.sock.bind((f"192.0.2.{100 + percent}", 0))
        self.sock.connect_ex((where, 53))
        self.wants = selectors.EVENT_WRITE

    def ask(self):
        self.sock.send(framed("big.example" if self.answered % 3 == 1 else "www.example", "TXT" if self.answered % 3 == 1 else "A",
                              self.answered))
        self.wants = selectors.EVENT_READ

    def step(self):
        """Go on; True: the end, good or bad."""
        try:
            if self.wants == selectors.EVENT_WRITE:
                error = self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if error:
                    raise OSError(error, "connect")
                self.ask()
                return False
            more = self.sock.recv(65536)
            if not more:
                raise EOFError("closed")
            self.data += more
            while len(self.data) >= 2 and len(self.data) >= 2 + struct.unpack("!H", self.data[:2])[0]:
                length = struct.unpack("!H", self.data[:2])[0]
                assert struct.unpack("!H", self.data[2:4])[0] == self.answered
                self.data = self.data[2 + length:]
                self.answered += 1
                if self.answered == QUESTIONS:
                    return True
                self.ask()
        except (OSError, EOFError) as error:
            self.failure = error
            return True
        return False


def run_clients(clients, seconds):
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.sock, client.wants, client)
    started = time.monotonic()
    while selector.get_map() and time.monotonic() - started < seconds:
        for key, _ in selector.select(0.2):
            client = key.data
            if client.step():
                client.ended = time.monotonic() - started
                selector.unregister(client.sock)
            else:
                selector.modify(client.sock, client.wants, client)
    for client in clients:
        client.sock.close()
    selector.close()


@pytest.mark.long
def test_loss(make_knotd, pair):
    """Both servers are one process: the kernel's TCP on one address, ours on the other; at the same time, so that they have
    the same machine. The clients' patience is the same for both, and ends long after nearly all are through."""
    for percent in LOSSES:
        pair.exec(pair.client, "ip", "address", "add", f"192.0.2.{100 + percent}/24", "dev", pair.client_if)
        pair.exec(pair.server, "ip", "neighbour", "replace", f"192.0.2.{100 + percent}", "lladdr", pair.client_mac, "nud",
                  "permanent", "dev", pair.server_if)
    pair.exec(pair.server, "ip", "address", "add", f"{SOCKETS4}/24", "dev", pair.server_if)
    pair.exec(pair.client, "ip", "neighbour", "replace", SOCKETS4, "lladdr", pair.server_mac, "nud", "permanent", "dev",
              pair.client_if)
    server = start(make_knotd, pair, "tcp-idle-close-timeout: 120\ntcp-idle-reset-timeout: 150", listen=f"{pair.server4}@53")
    server.conf(server.path.read_text().replace("tcp-max-clients: 4000", "tcp-max-clients: 4000\n    tcp-idle-timeout: 120\n"
                                                "    tcp-io-timeout: 0"))
    server.knotc("reload")
    lose(pair)
    clients = [Client(pair, where, percent) for _ in range(CONNECTIONS) for percent in LOSSES
               for where in (pair.server4, SOCKETS4)]
    run_clients(clients, SECONDS)
    lines, ours = [], 0
    for percent in LOSSES:
        row = {}
        for where in (pair.server4, SOCKETS4):
            mine = [client for client in clients if (client.where, client.percent) == (where, percent)]
            row[where] = (sum(client.answered for client in mine), max(client.ended for client in mine),
                          sorted(client.ended for client in mine)[len(mine) // 2],
                          [str(client.failure) for client in mine if client.failure])
        lines.append(f"{percent:2} % lost each way: " + "; ".join(
            f"{'AF_XDP' if where == pair.server4 else 'kernel'} {answers} of {CONNECTIONS * QUESTIONS} answered, median {median:.2f} s, "
            f"last {last:.1f} s {failures or ''}" for where, (answers, last, median, failures) in row.items()))
        ours += row[pair.server4][0]
        assert row[pair.server4][0] == row[SOCKETS4][0] == CONNECTIONS * QUESTIONS, "\n".join(lines)
    print("\n".join(lines))
    drops = re.findall(r"counter packets (\d+)", pair.exec(pair.client, "nft", "list", "table", "inet", "loss").stdout)
    assert len(drops) == 6 and all(int(count) > 0 for count in drops), drops
    stats = server.stats()
    assert stats["mod-stats.request-protocol[tcp4-xdp]"] >= ours
