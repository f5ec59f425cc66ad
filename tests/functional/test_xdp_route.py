# SPDX-License-Identifier: BSD-2-Clause
"""`xdp: route-check: on`: replies leave as the kernel would route them. Two uplinks between two namespaces; the client is
an address behind both. What went where is read from the counters and seen on the other end of each link."""
import contextlib
import json
import os
import re
import secrets
import select
import socket
import struct

import dns.exception
import dns.message
import dns.query
import pytest

from harness.net import inside, make_or_close, run
from harness.waiting import PATIENCE
from zones import example

pytestmark = [pytest.mark.ours, pytest.mark.threads, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


class Uplinks:
    """Server with srv0 and srv1, client with cli0 and cli1 and an address of its own behind them. All in one machine, no
    forwarding anywhere."""

    server4, server6 = "192.0.2.1", "2001:db8:a::1"          # asked
    other4, other6 = "198.51.100.1", "2001:db8:b::1"         # of the second uplink
    gates4, gates6 = ("192.0.2.2", "198.51.100.2"), ("2001:db8:a::2", "2001:db8:b::2")
    client4, client6 = "203.0.113.7", "2001:db8:c::7"

    def __init__(self):
        tag = secrets.token_hex(3)
        self.server, self.client = f"bwl-{tag}-s", f"bwl-{tag}-c"
        make_or_close(self)

    def _make(self):
        for namespace in (self.server, self.client):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        for number in (0, 1):
            run("ip", "link", "add", f"srv{number}", "netns", self.server, "type", "veth",
                "peer", "name", f"cli{number}", "netns", self.client)
            for namespace, device, v4, v6 in (
                    (self.server, f"srv{number}", (self.server4, self.other4)[number], (self.server6, self.other6)[number]),
                    (self.client, f"cli{number}", self.gates4[number], self.gates6[number])):
                run("ip", "-n", namespace, "address", "add", f"{v4}/24", "dev", device)
                run("ip", "-n", namespace, "address", "add", f"{v6}/64", "dev", device, "nodad")
                # A link-local address that is still being checked can't ask for neighbours.
                self.exec(namespace, "sh", "-c", f"echo 0 >/proc/sys/net/ipv6/conf/{device}/accept_dad")
                run("ip", "-n", namespace, "link", "set", device, "up")
            self.exec(self.client, "ethtool", "-K", f"cli{number}", "tx", "off", "gso", "off", "gro", "off", "tso", "off")
            # Replies come in by the link that queries did not go out on.
            self.exec(self.client, "sh", "-c", f"echo 0 >/proc/sys/net/ipv4/conf/cli{number}/rp_filter")
        self.exec(self.client, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter")
        for address in (f"{self.client4}/32", f"{self.client6}/128"):
            self.ip(self.client, "address", "add", address, "dev", "lo", *(["nodad"] if ":" in address else []))
        # By default replies go back by the first uplink.
        self.ip(self.server, "route", "add", "203.0.113.0/24", "via", self.gates4[0])
        self.ip(self.server, "-6", "route", "add", "2001:db8:c::/64", "via", self.gates6[0])

    @staticmethod
    def exec(namespace, *command, **options):
        return run("nsenter", f"--net=/run/netns/{namespace}", *command, **options)

    @staticmethod
    def ip(namespace, *words, **options):
        return run("ip", "-n", namespace, *words, **options)

    def mac(self, namespace, device):
        return json.loads(self.ip(namespace, "-j", "link", "show", device).stdout)[0]["address"]

    def know(self, number):
        """The server knows the neighbour on this uplink."""
        for gate in (self.gates4[number], self.gates6[number]):
            self.ip(self.server, "neighbour", "replace", gate, "lladdr", self.mac(self.client, f"cli{number}"), "nud",
                    "permanent", "dev", f"srv{number}")

    def policy(self):
        """What the server says from the address that is asked leaves by the second uplink."""
        self.ip(self.server, "route", "add", "default", "via", self.gates4[1], "table", "100")
        self.ip(self.server, "rule", "add", "from", self.server4, "lookup", "100")
        self.ip(self.server, "-6", "route", "add", "default", "via", self.gates6[1], "table", "100")
        self.ip(self.server, "-6", "rule", "add", "from", self.server6, "lookup", "100")

    def close(self):
        for namespace in (self.server, self.client):
            run("ip", "netns", "del", namespace, check=False)


@pytest.fixture
def uplinks():
    made = Uplinks()
    yield made
    made.close()


def start(make_knotd, uplinks, listen=("srv0", "srv1"), more=""):
    daemon = make_knotd(uplinks.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), text=f"xdp:\n    listen: [{', '.join(f'{name}@53' for name in listen)}]\n"
                     f"    tcp: on\n    route-check: on\n{more}")
    return daemon.start()


def counters(server):
    """{interface: {counter: value}} over all queues."""
    found = {}
    for unit in json.loads(server.knotc("-j", "raw", "xdp-status").stdout)["reply"]:
        if not unit.get("id") and re.fullmatch(r"-?\d+", unit["data"]):
            found.setdefault(unit["section"], {})[unit["item"]] = int(unit["data"])
    return found


def wait_counters(server, condition):
    """counters() once the condition holds: some are added after the packet was handed over."""
    server.wait(lambda: condition(counters(server)), what="counters of xdp-status")
    return counters(server)


@contextlib.contextmanager
def watching(uplinks, device):
    """A socket that sees what arrives at a client's device."""
    with inside(uplinks.client):
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    with sock:
        sock.bind((device, 3))
        yield sock


def replies_seen(sock, wait=0.3):
    """Ethernet frames from port 53."""
    frames = []
    while select.select([sock], [], [], wait)[0]:
        frame, address = sock.recvfrom(4096)
        outgoing = address[2] == socket.PACKET_OUTGOING
        is_ipv6 = frame[12:14] == b"\x86\xdd"
        off = 14 + (40 if is_ipv6 else 20)
        proto = frame[20] if is_ipv6 else frame[23]
        if not outgoing and frame[12:14] in (b"\x08\x00", b"\x86\xdd") and proto in (6, 17) and \
                struct.unpack("!H", frame[off:off + 2])[0] == 53:
            frames.append(frame)
    return frames


def ask(uplinks, family=4, tcp=False, timeout=10 * PATIENCE):
    """A question from the address behind both links; the answer."""
    where, source = (uplinks.server4, uplinks.client4) if family == 4 else (uplinks.server6, uplinks.client6)
    query = dns.message.make_query("www.example", "A")
    with inside(uplinks.client):
        function = dns.query.tcp if tcp else dns.query.udp
        return function(query, where, port=53, timeout=timeout, source=source)


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("family", [4, 6])
def test_same_uplink(make_knotd, uplinks, family, tcp):
    uplinks.know(0)
    server = start(make_knotd, uplinks)
    with watching(uplinks, "cli0") as first, watching(uplinks, "cli1") as second:
        assert ask(uplinks, family, tcp).answer
        assert replies_seen(first) and not replies_seen(second, 0.05)
    counts = counters(server)["srv0"]
    assert counts["sent-relayed"] == counts["sent-by-kernel"] == 0
    assert counts[f"sent-{'tcp' if tcp else 'udp'}{family}"] > 0


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
@pytest.mark.parametrize("family", [4, 6])
def test_policy_rule_chooses_the_other_uplink(make_knotd, uplinks, family, tcp):
    uplinks.know(0)
    uplinks.know(1)
    uplinks.policy()
    server = start(make_knotd, uplinks)
    with watching(uplinks, "cli0") as first, watching(uplinks, "cli1") as second:
        for _ in range(3):
            assert ask(uplinks, family, tcp).answer
        frames = replies_seen(second)
        assert len(frames) >= 3 and not replies_seen(first, 0.05)
    macs = bytes.fromhex((uplinks.mac(uplinks.client, "cli1") + uplinks.mac(uplinks.server, "srv1")).replace(":", ""))
    assert {frame[:12] for frame in frames} == {macs}
    counts = wait_counters(server, lambda c: c["srv0"]["sent-relayed"] >= 3 and c["srv1"][f"sent-{'tcp' if tcp else 'udp'}{family}"] >= 3)
    assert counts["srv0"]["sent-relayed"] >= 3 and counts["srv0"]["sent-by-kernel"] == 0
    assert counts["srv1"][f"sent-{'tcp' if tcp else 'udp'}{family}"] >= 3
    for name in ("all", "srv0", "srv1"):
        path = f"/proc/sys/net/ipv{family}/conf/{name}/forwarding"
        assert uplinks.exec(uplinks.server, "cat", path).stdout.strip() == "0"


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_other_uplink_without_xdp(make_knotd, uplinks, tcp):
    """No worker of ours sends there: the kernel does."""
    uplinks.know(0)
    uplinks.know(1)
    uplinks.policy()
    server = start(make_knotd, uplinks, listen=["srv0"])
    with watching(uplinks, "cli1") as second:
        assert ask(uplinks, 4, tcp).answer and ask(uplinks, 6, tcp).answer
        assert len(replies_seen(second)) >= 2
    counts = wait_counters(server, lambda c: c["srv0"]["sent-by-kernel"] >= 2)["srv0"]
    assert counts["sent-by-kernel"] >= 2 and counts["sent-relayed"] == 0 and counts["unsent-kernel"] == 0


@pytest.mark.parametrize("family", [4, 6])
def test_unknown_neighbour(make_knotd, uplinks, family):
    """The first reply goes through the kernel, which asks for the neighbour; then AF_XDP knows it."""
    uplinks.policy()
    server = start(make_knotd, uplinks)
    for namespace in (uplinks.server, uplinks.client):
        uplinks.ip(namespace, "neighbour", "flush", "all", "nud", "all", check=False)
    assert ask(uplinks, family).answer
    first = wait_counters(server, lambda c: c["srv0"]["sent-by-kernel"] >= 1)["srv0"]
    assert first["sent-by-kernel"] >= 1 and first["unsent-kernel"] == 0
    server.wait(lambda: ask(uplinks, family).answer and counters(server)["srv0"]["sent-relayed"] > 0, what="a reply over the other uplink's queue")
    assert ask(uplinks, family, tcp=True).answer


def test_blackhole(make_knotd, uplinks):
    """No answer may go there: counted and dropped in the kernel program; others are answered."""
    uplinks.know(0)
    server = start(make_knotd, uplinks)
    uplinks.ip(uplinks.server, "route", "add", "blackhole", f"{uplinks.client4}/32")
    before = counters(server)["srv0"]
    with pytest.raises(dns.exception.Timeout):
        ask(uplinks, 4, timeout=0.5)
    after = wait_counters(server, lambda c: c["srv0"]["dropped-unroutable"] > before["dropped-unroutable"])["srv0"]
    assert after["dropped-unroutable"] == before["dropped-unroutable"] + 1
    assert ask(uplinks, 6).answer
    uplinks.ip(uplinks.server, "route", "del", "blackhole", f"{uplinks.client4}/32")
    assert ask(uplinks, 4).answer


def test_route_changes_under_a_connection(make_knotd, uplinks):
    """A connection goes on when its way out changes."""
    uplinks.know(0)
    uplinks.know(1)
    server = start(make_knotd, uplinks)
    query = dns.message.make_query("www.example", "A").to_wire()
    framed = struct.pack("!H", len(query)) + query
    with inside(uplinks.client):
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with sock:
        sock.settimeout(10 * PATIENCE)
        sock.bind((uplinks.client4, 0))
        sock.connect((uplinks.server4, 53))
        for turn in range(4):
            sock.sendall(framed)
            length = struct.unpack("!H", sock.recv(2, socket.MSG_WAITALL))[0]
            assert len(sock.recv(length, socket.MSG_WAITALL)) == length
            if turn == 1:
                uplinks.policy()
    assert counters(server)["srv0"]["sent-relayed"] > 0


def test_no_route_check_by_default(make_knotd, uplinks):
    """Without it a reply goes back the way the query came, whatever the routing table says."""
    uplinks.policy()
    server = start(make_knotd, uplinks)
    server.conf(server.path.read_text().replace("route-check: on", "route-check: off"))
    server.knotc("reload")
    with watching(uplinks, "cli0") as first:
        assert ask(uplinks, 4).answer and ask(uplinks, 4, tcp=True).answer
        assert replies_seen(first)
    assert counters(server)["srv0"]["sent-relayed"] == 0
