# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc xdp-capture`: files that tcpdump reads, both directions, filters, limits, and what ends it."""
import json
import re
import shutil
import signal
import subprocess
import threading
import time

import dns.message
import pytest

from harness.net import may_make_namespaces, run
from harness.pcapng import Capture
from harness.server import built
from harness.waiting import PATIENCE, wait_until
from xdp_server import ask, configure, start

pytestmark = [pytest.mark.ours, pytest.mark.threads, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]

TCPDUMP = shutil.which("tcpdump")


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair)


class Running:
    """A capture into a file, started and ready. What was answered since is in it, however it ends."""

    def __init__(self, server, *words, file="capture.pcapng"):
        self.path = server.dir / file
        self.process = subprocess.Popen([built("knotc", "tools"), "-s", str(server.socket), "xdp-capture", str(self.path), *words],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def is_ready():
            # Interfaces are described as soon as the taps are there.
            assert self.process.poll() is None, self.process.communicate()
            return self.path.exists() and self.path.stat().st_size >= 100

        wait_until(is_ready, "the capture to begin")

    def written(self):
        """What is in the file by now; None while a block is being written."""
        try:
            return Capture.of(self.path)
        except ValueError:
            return None

    def end(self, number=signal.SIGINT, status=0):
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=15 * PATIENCE)
        assert self.process.returncode == status, (out, err)
        self.out, self.err = out, err
        return Capture.of(self.path)


def dns_of(packet):
    """The message in a UDP packet over IPv4 without options."""
    assert packet.data[12:14] == b"\x08\x00" and packet.data[23] == 17
    return dns.message.from_wire(packet.data[42:])


def test_queries_and_replies(server, pair):
    capture = Running(server)
    before = time.time_ns()
    for name in ("www.example", "a.b.c.example", "nothing.example"):
        ask(server, pair, name)
    seen = capture.end()
    assert [i["name"] for i in seen.interfaces] == [pair.server_if]
    assert seen.application.startswith("knotc")
    assert [p.direction for p in seen.packets] == ["in", "out"] * 3
    for query, reply in zip(seen.packets[::2], seen.packets[1::2]):
        sent, answer = dns_of(query), dns_of(reply)
        assert answer.id == sent.id and answer.question == sent.question and not sent.flags & 0x8000 and answer.flags & 0x8000
        assert query.data[:6].hex(":") == pair.server_mac and reply.data[:6].hex(":") == pair.client_mac
        assert query.time_ns <= reply.time_ns <= time.time_ns()
        assert query.length == len(query.data)
    # A batch has the time at which its thread began to look for packets, maybe long before the first one came.
    assert before <= seen.packets[2].time_ns
    assert seen.statistics == {pair.server_if: {"captured": 6, "dropped": 0}}
    assert re.search(rf"xdp-capture.captured\[{pair.server_if}\] = 6\n", capture.out)
    assert "xdp-capture.written = 6\n" in capture.out


@pytest.mark.skipif(TCPDUMP is None, reason="no tcpdump")
def test_pipe_into_tcpdump(server, pair):
    """As in the manual: tcpdump prints while the capture runs, and ends it by ending."""
    shell = subprocess.Popen(f"'{built('knotc', 'tools')}' -s {server.socket} xdp-capture - | {TCPDUMP} -l -n -c 4 -r -",
                             shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    stop = threading.Event()

    def client():
        while not stop.wait(0.1):
            ask(server, pair, "www.example")

    thread = threading.Thread(target=client)
    thread.start()
    try:
        out, err = shell.communicate(timeout=20 * PATIENCE)
    finally:
        stop.set()
        thread.join()
        shell.kill()
    assert shell.returncode == 0, err
    lines = out.splitlines()
    assert len(lines) == 4, out
    assert re.search(rf"IP {pair.client4}\.\d+ > {pair.server4}\.53: \d+", lines[0]), out
    assert re.search(rf"IP {pair.server4}\.53 > {pair.client4}\.\d+: \d+\*", lines[1]), out
    assert server.knotc("status").stdout == "Running\n"


def test_tcp(make_knotd, pair):
    """The handshake and what follows, segments of both sides in their order; a tap sees what the stack sends."""
    server = start(make_knotd, pair, "tcp: on")
    capture = Running(server, "+filter", "tcp port 53")
    ask(server, pair, "www.example", tcp=True)
    ask(server, pair, "www.example")
    syn, ack, fin, rst = 0x02, 0x10, 0x01, 0x04

    def flags(found):
        return [(p.direction, p.data[47] & 0x17) for p in found.packets] if found else []

    # Both sides end the connection after the answer is there.
    wait_until(lambda: {direction for direction, bits in flags(capture.written()) if bits & fin} == {"in", "out"}, "the connection's end")
    seen = flags(capture.end())
    assert seen[:3] == [("in", syn), ("out", syn | ack), ("in", ack)]
    assert ("in", fin | ack) in seen
    assert not [bits for _, bits in seen if bits & rst]


@pytest.mark.skipif(TCPDUMP is None, reason="no tcpdump")
def test_filter_says_what_tcpdump_says(server, pair):
    """The same expression, before and after."""
    expression = f"udp and src host {pair.client4} and src portrange 5000-5004"
    capture = Running(server, "+filter", expression, file="filtered")
    for port in range(5000, 5010):
        server.exchange(dns.message.make_query("www.example", "A"), pair.server4, client=pair.client, source_port=port)
    server.ask("www.example", "A", pair.server6, client=pair.client)
    seen = capture.end()
    assert [p.direction for p in seen.packets] == ["in"] * 5
    assert [int.from_bytes(p.data[34:36]) for p in seen.packets] == list(range(5000, 5005))
    assert seen.interfaces[0]["filter"] == expression
    again = run(TCPDUMP, "-n", "-r", str(capture.path), expression).stdout
    assert len(re.findall(r" > .*\.53: ", again)) == 5, again


def test_nothing_is_left_behind(server, pair):
    """What was captured before the end is in the file, though the client had no time to ask for it."""
    capture = Running(server)
    capture.process.send_signal(signal.SIGSTOP)
    time.sleep(0.6)     # the read that was under way has ended
    for _ in range(50):
        ask(server, pair, "www.example")
    capture.process.send_signal(signal.SIGINT)
    seen = capture.end(signal.SIGCONT)
    assert [p.direction for p in seen.packets] == ["in", "out"] * 50
    assert seen.statistics == {pair.server_if: {"captured": 100, "dropped": 0}}


def test_one_at_a_time(server, pair):
    capture = Running(server, "+interface", pair.server_if)
    done = server.knotc("xdp-capture", str(server.dir / "never"), check=False)
    assert done.returncode == 1 and done.stdout == "error: (another capture is running)\n"
    assert not (server.dir / "never").exists()
    ask(server, pair, "www.example")
    assert len(capture.end().packets) == 2


def test_snaplen_and_count(server, pair):
    capture = Running(server, "+snaplen", "60", "+count", "3")
    for _ in range(4):
        ask(server, pair, "www.example")
    seen = capture.end(None)
    assert len(seen.packets) == 3
    for packet in seen.packets:
        assert len(packet.data) == 60 < packet.length
    assert seen.interfaces[0]["snaplen"] == 60
    assert "xdp-capture.written = 3\n" in capture.out


def test_bad_frames_are_seen(server, pair):
    """What the server refuses is what one wants to look at."""
    from scapy.all import IP, UDP, Ether, Raw
    from harness.wire import Wire
    capture = Running(server)
    wire = Wire(pair)
    frame = bytes(Ether(src=pair.client_mac, dst=pair.server_mac) / IP(src=pair.client4, dst=pair.server4) /
                  UDP(sport=40000, dport=53, chksum=0x1234) / Raw(bytes(40)))
    wire.send(frame)
    ask(server, pair, "www.example")
    wire.close()
    seen = capture.end()
    assert [p.direction for p in seen.packets] == ["in", "in", "out"]
    assert seen.packets[0].data == frame


def test_wrong_words(server):
    for words, text in (
            (("+filter", "udp port nonsense"), "error: invalid filter expression: "),
            (("+filter", "(udp"), "error: invalid filter expression: "),
            (("+filter", "inbound"), "error: invalid filter expression: "),
            (("+count", "0"), "error: invalid count '0'"), (("+count", "x"), "error: invalid count 'x'"),
            (("+snaplen", "0"), "error: invalid snaplen '0'"), (("+snaplen", "1000000"), "error: invalid snaplen '1000000'"),
            (("+nonsense",), "error: unknown filter: +nonsense"), (("+filter",), "error: missing value of filter: +filter"),
            (("+interface", "nonsense9"), "error: (no such XDP interface)"),
            (("second",), "Usage: knotc xdp-capture")):
        done = server.knotc("xdp-capture", str(server.dir / "never"), *words, check=False)
        assert done.returncode == 1 and text in done.stdout, done.stdout
        assert not (server.dir / "never").exists()
    done = server.knotc("xdp-capture", check=False)
    assert done.returncode == 1 and "Usage: knotc xdp-capture" in done.stdout
    done = server.knotc("xdp-capture", "/nonexistent/file", check=False)
    assert done.returncode == 1 and "failed to open '/nonexistent/file' (No such file or directory)" in done.stdout
    assert server.knotc("status").stdout == "Running\n"


def test_a_capture_holds_nothing_up(server, pair):
    """Other commands, a reload among them, go on; the capture survives the reload."""
    capture = Running(server)
    ask(server, pair, "www.example")
    assert server.knotc("-b", "reload").stdout == "Reloaded\n"     # it would say that the server is busy
    assert server.knotc("zone-status").returncode == 0
    ask(server, pair, "www.example")
    assert len(capture.end().packets) == 4


def test_interfaces_come_and_go(server, pair):
    """What was captured before an interface was closed is there, and what came after it was opened again."""
    capture = Running(server)
    ask(server, pair, "www.example")
    configure(server, pair, "ring-size: 1024")      # opens it again
    assert server.knotc("reload").stdout == "Reloaded\n"

    def ring_sizes():
        return [unit["data"] for unit in json.loads(server.knotc("-j", "raw", "xdp-status").stdout)["reply"] if unit["item"] == "ring-size"]

    server.wait(lambda: ring_sizes() == ["1024"], what="the interface to be open again")
    ask(server, pair, "a.b.c.example")
    assert server.knotc("xdp-capture", "/dev/null", check=False).returncode == 1
    seen = capture.end()
    assert [str(dns_of(p).question[0].name) for p in seen.packets] == ["www.example."] * 2 + ["a.b.c.example."] * 2
    assert seen.statistics == {pair.server_if: {"captured": 4, "dropped": 0}}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_client_goes(server, pair, number):
    """However it ends, the taps go, and a new capture can begin."""
    capture = Running(server)
    capture.process.send_signal(number)
    capture.process.communicate(timeout=10 * PATIENCE)
    assert capture.process.returncode == (0 if number == signal.SIGTERM else -number)

    def another():
        try:
            return Running(server, "+count", "2", file="again")
        except AssertionError:
            return None

    again = wait_until(another, "the end of the first capture", pause=0.1)
    ask(server, pair, "www.example")
    assert len(again.end(None).packets) == 2


def test_the_server_goes(server, pair):
    capture = Running(server)
    ask(server, pair, "www.example")
    wait_until(lambda: (found := capture.written()) and len(found.packets) == 2, "the packets in the file")
    server.stop()
    seen = capture.end(None)
    assert [p.direction for p in seen.packets] == ["in", "out"]
    assert "the server has ended the capture" in capture.err


def test_no_xdp(knotd):
    knotd.configure()
    knotd.start()
    done = knotd.knotc("xdp-capture", "/dev/null", check=False)
    assert done.returncode == 1 and "no XDP interface" in done.stdout
    assert knotd.knotc("xdp-status").stdout == "No XDP interface\n"


@pytest.mark.skipif(shutil.which("kxdpgun") is None, reason="no kxdpgun")
def test_under_load(server, pair):
    """Replies go on, what is not written is counted, and the file is whole. Figures are printed, not judged."""
    queries = server.write("queries", "www.example A\n")

    def load():
        text = pair.exec(pair.client, "kxdpgun", "-t", "3", "-Q", "100000", "-i", str(queries), "-I", pair.client_if,
                         pair.server4, timeout=40 * PATIENCE).stdout
        return tuple(int(re.search(rf"total {word}:\s+(\d+)", text).group(1)) for word in ("queries", "replies"))

    alone = load()
    capture = Running(server)
    both = load()
    seen = capture.end()
    statistics = seen.statistics[pair.server_if]
    print(f"replies of queries: {alone[1]} of {alone[0]} alone, {both[1]} of {both[0]} with a capture; "
          f"{len(seen.packets)} frames written, {statistics}")
    assert both[1] > 0
    assert len(seen.packets) == statistics["captured"] - statistics["dropped"]
    assert {p.direction for p in seen.packets} == {"in", "out"}
