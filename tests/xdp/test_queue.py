# SPDX-License-Identifier: BSD-2-Clause
"""Queues: segments built and sent, losses counted, interfaces that go, taps, routes."""
import os
import socket
import struct
import time

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import rdpcap

from harness.net import Pair, inside, run
from harness.waiting import wait_until
from harness.wire import PORT, Echo, Wire

PAYLOAD = bytes(range(40))
SOL_PACKET, PACKET_VNET_HDR = 263, 15


@pytest.fixture(scope="module", params=["native", "emulated"])
def mode(request):
    return "-n" if request.param == "native" else "-e"


def frame(pair, family=4, source=None, tags=(), transport=None):
    """TCP comes from an unused address, so that the client's kernel doesn't answer replies with resets."""
    if transport is not None and isinstance(transport, TCP) and source is None:
        source = "192.0.2.50" if family == 4 else "2001:db8::50"
    ether = Ether(src=pair.client_mac, dst=pair.server_mac)
    for tag in tags:
        ether /= Dot1Q(vlan=tag)
    network = IP(src=source or pair.client4, dst=pair.server4) if family == 4 else IPv6(src=source or pair.client6, dst=pair.server6)
    return ether / network / (transport or UDP(sport=40000, dport=PORT)) / Raw(PAYLOAD)


def redirected(counters):
    return sum(counters[f"redirected-{kind}"] for kind in ("udp4", "udp6", "tcp4", "tcp6"))


def taken(counters):
    """What has become of redirected packets: each has a verdict, or was lost on its way to the queue."""
    return sum(counters[name] for name in ("ok", "bad-tcp-checksum", "partial-checksum", "rx_full", "rx_dropped"))


def test_segments(start, wire, pair, mode):
    """TCP segments come back in other frames than they came in, with checksums as scapy computes them."""
    echo = start(mode, "-S")
    cases = [(family, tags, size) for family in (4, 6) for tags in ((), (5,), (5, 6)) for size in (0, 1, 33, 1400)]
    for family, tags, size in cases:
        segment = TCP(sport=40000, dport=PORT, seq=1000 + size, ack=77, flags="PA", options=[("NOP", None), ("WScale", 7)])
        asked = frame(pair, family, tags=tags, transport=segment)
        asked[TCP].remove_payload()
        asked = Ether(bytes(asked / Raw(bytes(size))))
        reply = wire.ask(asked)
        assert reply is not None, (family, tags, size, dict(echo.counters()))
        reply = Ether(reply)
        assert (reply.src, reply.dst) == (asked.dst, asked.src)
        assert [layer.vlan for layer in reply.iterpayloads() if isinstance(layer, Dot1Q)] == list(tags)
        network = reply[IP] if family == 4 else reply[IPv6]
        assert (network.src, network.dst) == (asked[network.__class__].dst, asked[network.__class__].src)
        assert (reply[TCP].sport, reply[TCP].dport, reply[TCP].seq) == (PORT, 40000, 1000 + size)
        again = reply.copy()
        del again[TCP].chksum
        if family == 4:
            assert (network.ttl, int(network.flags), network.id) == (64, 0, reply[TCP].chksum)
            del again[IP].chksum
            assert Ether(bytes(again))[IP].chksum == network.chksum
        assert Ether(bytes(again))[TCP].chksum == reply[TCP].chksum
    counters = echo.counters()
    assert counters["sent-tcp4"] == counters["sent-tcp6"] == counters["ok-tcp4"] == counters["ok-tcp6"] == len(cases) // 2
    assert counters["replied"] == counters["ok-udp4"] == counters["ok-udp6"] == 0


def test_kinds_and_batches(start, wire, pair, mode):
    echo = start(mode, "-t")
    spoilt = bytearray(bytes(frame(pair, 6, transport=TCP(sport=40000, dport=PORT))))
    spoilt[-1] ^= 1
    for packet, count in ((frame(pair, 4), 3), (frame(pair, 6), 2), (frame(pair, 4, transport=TCP(sport=1, dport=PORT)), 4),
                          (spoilt, 5)):
        for _ in range(count):
            wire.send(packet)
    counters = echo.wait(lambda c: taken(c) >= 14, "14 packets")
    assert counters["ok-udp4"] == counters["replied-udp4"] == 3
    assert counters["ok-udp6"] == counters["replied-udp6"] == 2
    assert (counters["ok-tcp4"], counters["ok-tcp6"], counters["bad-tcp-checksum-tcp6"]) == (4, 0, 5)
    assert counters["ok"] == 9 and counters["bad-tcp-checksum"] == 5
    sizes = (0, 1, 2, 4, 8, 16, 32, 64)
    least = sum(counters[f"batch{row}"] * size for row, size in enumerate(sizes))
    most = sum(counters[f"batch{row}"] * max(size, 2 * size - 1) for row, size in enumerate(sizes))
    assert least <= 14 <= most


@pytest.mark.parametrize("what", ["overload", "too large"])
def test_losses_are_counted(what, mode):
    """Redirected packets that don't reach the queue are in the kernel's counters of its socket: each one, once."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    frames = 20000 if what == "overload" else 500
    with Pair(mtu=3000) as pair:
        echo, wire = Echo(pair, mode, "-t", "-r", "128", "-w", "5"), Wire(pair)
        try:
            small = bytes(frame(pair))
            large = bytes(frame(pair) / Raw(bytes(2000)))
            segment = bytes(frame(pair, 6, transport=TCP(sport=1, dport=PORT)))
            for i in range(frames):
                wire.send((small, segment)[i % 2] if what == "overload" else large)
            counters = echo.wait(lambda c: redirected(c) >= frames and taken(c) >= redirected(c), "all frames' ends", 20)
        finally:
            code, _, err = echo.stop()
            wire.close()
        assert (code, err) == (0, "")
    assert redirected(counters) == frames
    assert frames == counters["ok"] + counters["rx_full"] + counters["rx_dropped"], dict(counters)
    if what == "overload":
        assert counters["rx_dropped"] == counters["fq_empty"] > 0
        assert counters["rx_full"] > 0
    else:
        assert counters["rx_dropped"] == frames and counters["fq_empty"] == 0


def test_interface_goes(mode):
    """The queue's wait tells when the interface is removed; one that is only down comes back."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with Pair() as pair:
        echo, wire = Echo(pair, mode), Wire(pair)
        try:
            assert wire.ask(frame(pair)) is not None
            run("ip", "-n", pair.server, "link", "set", pair.server_if, "down")
            time.sleep(0.3)     # absence: an interface that is down isn't one that is gone
            assert echo.counters()["gone"] == 0
            run("ip", "-n", pair.server, "link", "set", pair.server_if, "up")
            wait_until(lambda: wire.ask(frame(pair), 0.2), "an answer on the interface that is up again")
            run("ip", "-n", pair.server, "link", "delete", pair.server_if)
            echo.wait(lambda c: c["gone"] == 1, "the interface's end")
        finally:
            code, _, err = echo.stop()
            wire.close()
        assert (code, err) == (0, "")


def test_tap(start, wire, pair, mode, tmp_path):
    """Both directions, good and bad frames, as they were on the wire."""
    path = tmp_path / "tap"
    echo = start(mode, "-S", "-T", str(path))
    bad = bytearray(bytes(frame(pair)))
    bad[-1] ^= 1
    sent, replies = [], []
    for packet in (frame(pair), frame(pair, 6, tags=(7,)), frame(pair, transport=TCP(sport=9, dport=PORT)), bad):
        sent.append(bytes(packet))
        if packet is bad:
            wire.send(packet)
        else:
            replies.append(wire.ask(packet))
            assert replies[-1] is not None
    echo.wait(lambda c: c["tap.seen"] >= 7, "7 frames in the tap")
    assert list(wire.receive(0.1)) == []
    counters = echo.counters()      # what it had seen last is in the file now
    assert (counters["tap.seen"], counters["tap.dropped"]) == (7, 0)
    packets = rdpcap(str(path))
    assert [bytes(p) for p in packets if int(p.time * 1000000) % 2 == 0] == sent
    assert [bytes(p) for p in packets if int(p.time * 1000000) % 2 == 1] == replies
    assert all(abs(float(p.time) - time.time()) < 60 for p in packets)


def test_routes(start, wire, pair, mode):
    """Replies leave to the next hop of their route, with the route's VLAN or through the kernel where it says so."""
    server = ("ip", "-n", pair.server)
    run(*server, "route", "replace", "198.51.100.0/25", "via", "192.0.2.77", "dev", pair.server_if)
    run(*server, "route", "replace", "198.51.100.128/25", "via", "192.0.2.78", "dev", pair.server_if)
    run(*server, "neigh", "replace", "192.0.2.77", "lladdr", "02:00:00:00:00:77", "dev", pair.server_if)
    for neighbour in ("192.0.2.2", "192.0.2.50"):
        run(*server, "neigh", "replace", neighbour, "lladdr", pair.client_mac, "dev", pair.server_if)
    run(*server, "route", "replace", "blackhole", "203.0.113.0/24")
    echo = start(mode, "-S", "-R")
    for transport in (UDP(sport=40000, dport=PORT), TCP(sport=40000, dport=PORT, flags="A")):
        assert Ether(wire.ask(frame(pair, transport=transport))).dst == pair.client_mac, dict(echo.counters())
        assert Ether(wire.ask(frame(pair, source="198.51.100.9", transport=transport))).dst == "02:00:00:00:00:77"
        tagged = Ether(wire.ask(frame(pair, source="198.51.100.9", tags=(5,), transport=transport)))
        assert tagged.dst == "02:00:00:00:00:77" and Dot1Q not in tagged, "the route has no VLAN, whatever the query had"
        assert wire.ask(frame(pair, source="198.51.100.200", transport=transport), 0.3) is None
        assert wire.ask(frame(pair, source="203.0.113.1", transport=transport), 0.3) is None
    counters = echo.wait(lambda c: c["by_kernel-udp4"] + c["by_kernel-tcp4"] >= 2 and c["dropped-unroutable"] >= 2, "queries without reply")
    assert counters["replied-udp4"] == counters["sent-tcp4"] == 3
    assert counters["by_kernel-udp4"] == counters["by_kernel-tcp4"] == 1
    assert counters["dropped-unroutable"] == 2


@pytest.mark.parametrize("strict", [False, True])
def test_unfinished_tcp_checksums(start, pair, mode, strict):
    """A neighbour namespace's kernel leaves TCP checksums to the device, too: the SYNs of two ordinary sockets."""
    run("ip", "netns", "exec", pair.client, "ethtool", "-K", pair.client_if, "tx", "on")
    try:
        echo = start(mode, "-t", *(["-s"] if strict else []))
        for family, address in ((socket.AF_INET, pair.server4), (socket.AF_INET6, pair.server6)):
            with inside(pair.client), socket.socket(family, socket.SOCK_STREAM) as sock:
                sock.setblocking(False)
                sock.connect_ex((address, PORT))
        counters = echo.wait(lambda c: c["partial-checksum"] >= 2, "two SYNs")
        assert counters["partial-checksum-tcp4"] == counters["partial-checksum-tcp6"] == 1
        assert counters["bad-tcp-checksum"] == counters["ok"] == 0
    finally:
        run("ip", "netns", "exec", pair.client, "ethtool", "-K", pair.client_if, "tx", "off")


def send_large_segment(pair, payload_len):
    """What a kernel gives to a device with segmentation offload: one segment, to be cut up at 1448 bytes of payload."""
    segment = bytearray(bytes(frame(pair, transport=TCP(sport=40000, dport=PORT, flags="A")) / Raw(bytes(payload_len - len(PAYLOAD)))))
    pseudo = sum(struct.unpack("!4H", segment[26:34])) + 6 + len(segment) - 34
    pseudo = (pseudo & 0xFFFF) + (pseudo >> 16)
    segment[50:52] = struct.pack("!H", (pseudo & 0xFFFF) + (pseudo >> 16))
    vnet_header = struct.pack("<BBHHHH", 1, 1, 54, 1448, 34, 16)  # checksum needed, TCPv4; where things are
    with inside(pair.client), socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock:
        sock.bind((pair.client_if, 0))
        sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sock.send(vnet_header + segment)


@pytest.mark.parametrize("offload", ["on", "off"])
def test_segmentation_offload(start, pair, mode, offload):
    """A neighbour's large segments are cut up before they come, but in emulated mode: there they don't fit, and are counted."""
    features = ("ip", "netns", "exec", pair.client, "ethtool", "-K", pair.client_if)
    run(*features, "tx", "on", "tso", offload)
    try:
        echo = start(mode, "-t")
        send_large_segment(pair, 4000)
        fits = mode == "-n" or offload == "off"
        counters = echo.wait(lambda c: taken(c) >= (3 if fits else 1), "the segment's parts")
        assert counters["redirected-tcp4"] == (3 if fits else 1)
        assert counters["partial-checksum-tcp4"] == (3 if fits else 0)
        assert counters["rx_dropped"] == (0 if fits else 1)
    finally:
        run(*features, "tx", "off", "tso", "on")
