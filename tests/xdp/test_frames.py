# SPDX-License-Identifier: BSD-2-Clause
"""Frames of every shape on a real interface: answered, refused and counted, or left to the kernel."""
import random
import socket

import pytest
from scapy.all import (ARP, ICMP, IP, UDP, Dot1AD, Dot1Q, Ether, IPOption_LSRR, IPOption_NOP, IPOption_RR,
                       IPOption_Router_Alert, Padding, Raw)
from scapy.layers.inet6 import (HBHOptUnknown, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN,
                                RouterAlert)

from harness.net import inside
from harness.waiting import PATIENCE, wait_until
from harness.wire import PORT

PAYLOAD = bytes(range(40))


class Build:
    """Layers with the pair's addresses."""

    def __init__(self, pair):
        self.ether = Ether(src=pair.client_mac, dst=pair.server_mac)
        self.v4 = IP(src=pair.client4, dst=pair.server4, tos=0xB8 | 1, ttl=33)
        self.v6 = IPv6(src=pair.client6, dst=pair.server6, tc=0xB8 | 2, fl=0x1234, hlim=33)
        self.udp = UDP(sport=40000, dport=PORT) / Raw(PAYLOAD)


def spoilt(packet, layer, **fields):
    """The packet with checksums as they were, and then fields of one layer changed."""
    packet = packet.__class__(bytes(packet))
    for name, value in fields.items():
        setattr(packet[layer], name, value)
    return packet


ANSWERED = {
    "IPv4": lambda b: b.ether / b.v4 / b.udp,
    "IPv6": lambda b: b.ether / b.v6 / b.udp,
    "IPv4, no payload": lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT),
    "IPv4, one byte": lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT) / Raw(b"x"),
    "IPv4, full MTU": lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT) / Raw(bytes(1472)),
    "IPv6, full MTU": lambda b: b.ether / b.v6 / UDP(sport=40000, dport=PORT) / Raw(bytes(1452)),
    "IPv4, no UDP checksum": lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT, chksum=0) / Raw(PAYLOAD),
    "IPv4, padded": lambda b: b.ether / b.v4 / b.udp / Padding(b"\xff" * 9),
    "IPv4, VLAN": lambda b: b.ether / Dot1Q(vlan=100, prio=3) / b.v4 / b.udp,
    "IPv6, VLAN": lambda b: b.ether / Dot1Q(vlan=100) / b.v6 / b.udp,
    "IPv4, service tag": lambda b: b.ether / Dot1AD(vlan=7) / b.v4 / b.udp,
    "IPv6, two tags": lambda b: b.ether / Dot1AD(vlan=7) / Dot1Q(vlan=100) / b.v6 / b.udp,
    "IPv4, options": lambda b: b.ether / IP(src=b.v4.src, dst=b.v4.dst,
                                            options=[IPOption_RR(), IPOption_NOP(), IPOption_Router_Alert()]) / b.udp,
    "IPv4, options and VLAN": lambda b: b.ether / Dot1Q(vlan=9) / IP(src=b.v4.src, dst=b.v4.dst,
                                                                     options=[IPOption_Router_Alert()]) / b.udp,
    "IPv6, hop-by-hop": lambda b: b.ether / b.v6 / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / b.udp,
    "IPv6, hop-by-hop, routing, destination options":
        lambda b: b.ether / b.v6 / IPv6ExtHdrHopByHop(options=[PadN(optdata=b"\0" * 4)]) /
        IPv6ExtHdrRouting(segleft=0) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 12)]) / b.udp,
}


def check_reply(reply, request, b):
    """The reply field by field, with checksums that scapy computes itself."""
    reply = Ether(reply)
    request = Ether(bytes(request))
    assert (reply.src, reply.dst) == (request.dst, request.src)
    tags = [(type(layer), layer.vlan, layer.prio) for layer in request.iterpayloads() if isinstance(layer, (Dot1Q, Dot1AD))]
    assert [(type(l), l.vlan, l.prio) for l in reply.iterpayloads() if isinstance(l, (Dot1Q, Dot1AD))] == tags
    if IP in request:
        ip, asked = reply[IP], request[IP]
        assert (ip.ihl, ip.tos, ip.id, int(ip.flags), ip.frag, ip.ttl, ip.proto) == (5, asked.tos & 3, 0, 0, 0, 64, 17)
    else:
        ip, asked = reply[IPv6], request[IPv6]
        assert (ip.tc, ip.fl, ip.hlim, ip.nh) == (asked.tc & 3, 0, 64, 17)
    assert (ip.src, ip.dst) == (asked.dst, asked.src)
    assert (reply[UDP].sport, reply[UDP].dport) == (PORT, request[UDP].sport)
    payload = bytes(reply[UDP].payload)[:reply[UDP].len - 8]
    assert payload == bytes(request[UDP].payload)[:request[UDP].len - 8]
    again = reply.copy()
    del again[UDP].chksum
    assert Ether(bytes(again))[UDP].chksum == reply[UDP].chksum != 0
    if IP in request:
        del again[IP].chksum
        assert Ether(bytes(again))[IP].chksum == reply[IP].chksum


@pytest.fixture(scope="module", params=["native", "emulated"])
def mode(request):
    return request.param


@pytest.fixture
def echo(start, mode):
    made = start("-n" if mode == "native" else "-e")
    assert mode in made.first_line
    return made


def test_answered(echo, wire, pair):
    b = Build(pair)
    for name, make in ANSWERED.items():
        packet = make(b)
        reply = wire.ask(packet)
        assert reply is not None, f"{name}: no reply; {dict(echo.counters())}"
        try:
            check_reply(reply, packet, b)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
    assert echo.counters()["ok"] == echo.counters()["replied"] == len(ANSWERED)


REFUSED = {
    "bad-ip-checksum": [lambda b: b.ether / b.v4.__class__(src=b.v4.src, dst=b.v4.dst, chksum=0x1234) / b.udp,
                        lambda b: spoilt(b.ether / b.v4 / b.udp, IP, ttl=34)],
    "bad-udp-checksum": [# One byte of surplus, which the length leaves out and scapy's checksum does not (RFC 9868).
                         lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT, len=47) / Raw(PAYLOAD),
                         lambda b: spoilt(b.ether / b.v4 / b.udp, UDP, sport=40001),
                         lambda b: spoilt(b.ether / b.v6 / b.udp, UDP, sport=40001),
                         lambda b: spoilt(b.ether / b.v4 / b.udp, Raw, load=bytes(40)),
                         lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT, chksum=0xFFFF) / Raw(PAYLOAD),
                         lambda b: b.ether / b.v6 / UDP(sport=40000, dport=PORT, chksum=0) / Raw(PAYLOAD)],
    "bad-length": [lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT, len=49) / Raw(PAYLOAD),
                   lambda b: b.ether / b.v4 / UDP(sport=40000, dport=PORT, len=7) / Raw(PAYLOAD),
                   lambda b: b.ether / IP(src=b.v4.src, dst=b.v4.dst, len=90) / b.udp,
                   lambda b: b.ether / IPv6(src=b.v6.src, dst=b.v6.dst, plen=90) / b.udp,
                   lambda b: Ether(bytes(b.ether / b.v4 / b.udp)[:-1])],
    "bad-header": [lambda b: b.ether / IP(src=b.v4.src, dst=b.v4.dst, options=[IPOption_LSRR(routers=["192.0.2.9"])]) / b.udp,
                   lambda b: b.ether / b.v6 / IPv6ExtHdrDestOpt(options=[HBHOptUnknown(otype=0x5E, optdata=b"\0" * 4)]) / b.udp],
    "bad-address": [lambda b: b.ether / IP(src="127.0.0.1", dst=b.v4.dst) / b.udp,
                    lambda b: b.ether / IP(src="224.0.0.1", dst=b.v4.dst) / b.udp,
                    lambda b: b.ether / IP(src="255.255.255.255", dst=b.v4.dst) / b.udp,
                    lambda b: b.ether / IPv6(src="::1", dst=b.v6.dst) / b.udp,
                    lambda b: b.ether / b.v4 / UDP(sport=0, dport=PORT) / Raw(PAYLOAD)],
}


def test_refused(echo, wire, pair):
    b = Build(pair)
    for verdict, makers in REFUSED.items():
        for make in makers:
            wire.send(make(b))
    counters = echo.wait(lambda c: sum(c[name] for name in REFUSED) >= sum(map(len, REFUSED.values())), "frames that are refused")
    assert list(wire.receive(0.1)) == []
    assert {name: counters[name] for name in REFUSED} == {name: len(makers) for name, makers in REFUSED.items()}
    assert counters["replied"] == 0


def server_socket(pair, family, port):
    with inside(pair.server):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.bind(("::" if family == socket.AF_INET6 else "0.0.0.0", port))
    sock.settimeout(10 * PATIENCE)
    return sock


def test_left_to_the_kernel(echo, wire, pair):
    b = Build(pair)
    long = bytes(random.Random(1).randbytes(2000))
    before = echo.counters()
    with server_socket(pair, socket.AF_INET, PORT) as four, server_socket(pair, socket.AF_INET, PORT + 1) as other:
        whole = bytes(UDP(bytes(IP(bytes(b.v4 / UDP(sport=40000, dport=PORT) / Raw(long)))[UDP])))
        wire.send(b.ether / IP(src=b.v4.src, dst=b.v4.dst, id=7, flags="MF", proto=17) / Raw(whole[:1200]))
        wire.send(b.ether / IP(src=b.v4.src, dst=b.v4.dst, id=7, frag=150, proto=17) / Raw(whole[1200:]))
        assert four.recv(4096) == long, "fragments"
        wire.send(b.ether / b.v4 / UDP(sport=40000, dport=PORT + 1) / Raw(PAYLOAD))
        assert other.recv(4096) == PAYLOAD, "another port"
        wire.send(Ether(src=pair.client_mac, dst="ff:ff:ff:ff:ff:ff") / b.v4 / b.udp)
        wire.send(b.ether / b.v4 / ICMP() / Raw(b"ping"))
        wire.send(Ether(src=pair.client_mac, dst="ff:ff:ff:ff:ff:ff") / ARP(psrc=pair.client4, pdst=pair.server4))
        wire.send(bytes(b.ether / b.v4)[:15])
    with server_socket(pair, socket.AF_INET6, PORT) as six:
        whole = bytes(IPv6(bytes(b.v6 / UDP(sport=40000, dport=PORT) / Raw(long)))[UDP])
        wire.send(b.ether / b.v6 / IPv6ExtHdrFragment(id=9, m=1, offset=0, nh=17) / Raw(whole[:1200]))
        wire.send(b.ether / b.v6 / IPv6ExtHdrFragment(id=9, m=0, offset=150, nh=17) / Raw(whole[1200:]))
        assert six.recv(4096) == long, "IPv6 fragments"
    want = {"passed-fragment": 4, "passed-other-port": 1, "passed-group": 1, "passed-not-ip": 1, "passed-malformed": 1, "passed-other-protocol": 1}
    after = echo.wait(lambda c: all(c[name] - before[name] >= count for name, count in want.items()), "frames for the kernel")
    delta = {name: after[name] - before[name] for name in after}
    assert delta["passed-fragment"] == 4
    assert delta["passed-other-port"] >= 1
    assert delta["passed-group"] >= 1       # the client's kernel has routers and groups to ask for, too
    assert delta["passed-not-ip"] == delta["passed-malformed"] == 1
    assert delta["passed-other-protocol"] >= 1
    assert delta["redirected-udp4"] == delta["redirected-udp6"] == delta["replied"] == 0
    fates = [name for name in delta if name.startswith(("redirected-", "passed-", "dropped-"))]
    assert delta["received"] == sum(delta[name] for name in fates)


def test_ping_works(echo, pair):
    """ICMP by the kernels of both sides."""
    with inside(pair.client):
        four = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        six = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    with four, six:
        four.settimeout(10 * PATIENCE)
        six.settimeout(10 * PATIENCE)
        four.sendto(bytes(ICMP(id=77)), (pair.server4, 0))
        assert ICMP(four.recv(100)[20:]).id == 77
        six.sendto(bytes.fromhex("80000000004d0001"), (pair.server6, 0))
        while (reply := six.recv(100))[0] != 129:   # echo reply; neighbour discovery may come first
            pass
        assert reply[4:8].hex() == "004d0001"


def test_addresses(start, wire, pair, mode):
    """Listening on addresses: the same port on others is the kernel's."""
    pair.exec(pair.server, "ip", "address", "replace", "192.0.2.99/24", "dev", pair.server_if)
    echo = start("-n" if mode == "native" else "-e", "-a", pair.server4, "-a", pair.server6)
    b = Build(pair)
    assert wire.ask(b.ether / b.v4 / b.udp) is not None
    assert wire.ask(b.ether / b.v6 / b.udp) is not None
    with server_socket(pair, socket.AF_INET, PORT) as sock:
        wire.send(b.ether / IP(src=b.v4.src, dst="192.0.2.99") / b.udp)
        assert sock.recv(100) == PAYLOAD
    assert echo.counters()["replied"] == 2


@pytest.mark.parametrize("strict", [False, True])
def test_unfinished_checksums(start, pair, mode, strict):
    """A neighbour namespace's kernel leaves UDP checksums to the device: veth has none. Accepted there, unless strict."""
    pair.exec(pair.client, "ethtool", "-K", pair.client_if, "tx", "on")
    try:
        echo = start("-n" if mode == "native" else "-e", *(["-s"] if strict else []))
        for family, address in ((socket.AF_INET, pair.server4), (socket.AF_INET6, pair.server6)):
            with inside(pair.client), socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.settimeout(0.3 if strict else 10 * PATIENCE)
                sock.sendto(PAYLOAD, (address, PORT))
                if strict:
                    with pytest.raises(TimeoutError):
                        sock.recv(100)
                else:
                    assert sock.recv(100) == PAYLOAD
        assert echo.wait(lambda c: c["partial-checksum"] >= 2)["partial-checksum"] == 2
    finally:
        pair.exec(pair.client, "ethtool", "-K", pair.client_if, "tx", "off")


def test_no_frame_is_lost(start, wire, pair, mode):
    """Small rings, many good and bad frames in bursts: at the end every frame is back, and it still answers."""
    echo = start("-n" if mode == "native" else "-e", "-r", "64")
    b = Build(pair)
    good = bytes(b.ether / b.v4 / b.udp)
    bad = bytes(spoilt(b.ether / b.v4 / b.udp, UDP, sport=40001))
    bursts = 0

    def burst():
        nonlocal bursts
        bursts += 1
        for _ in range(40):
            wire.send(good)
            wire.send(bad)
        for _ in wire.receive(0.001):
            pass
        return bursts >= 100 and (c := echo.counters())["ok"] + c["bad-udp-checksum"] >= 2000
    wait_until(burst, "2000 frames through rings of 64", 20, 0)
    for _ in wire.receive(0.3):
        pass
    assert wire.ask(good) is not None
    # The last reply's frame comes back when its receiver has let go of it, and is collected with the next batch or wait.
    counters = echo.wait(lambda c: c["tx_busy"] == c["rx_fill"] == 0 and c["fq_fill"] == 64, "all frames")
    assert counters["ok"] == counters["replied"] + counters["tx_full"]
    assert counters["tx_busy"] == 0 and counters["fq_fill"] == 64
