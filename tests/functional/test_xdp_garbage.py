# SPDX-License-Identifier: BSD-2-Clause
"""Broken frames and messages over AF_XDP: nothing is answered that must not be, and the daemon lives on."""
import os
import random
import socket

import pytest
from scapy.all import IP, UDP, Dot1Q, Ether, Raw
from scapy.layers.inet6 import IPv6

from harness.net import inside, send_frame
from zones import example

QUERY = bytes.fromhex("1234 0100 0001 0000 0000 0001 03777777 076578616d706c65 00 0001 0001 00 0029 04d0 0000 8000 0000")


@pytest.fixture
def server(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), text=f"xdp:\n    listen: {pair.server_if}@53\n"
                     "template:\n  - id: default\n    global-module: mod-stats\n")
    daemon.start()
    return daemon


@pytest.fixture
def wire(pair):
    with inside(pair.client):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        made.bind((pair.client_if, 0))
    yield made
    made.close()


def mutated(rng, data):
    """A few bytes changed, cut or repeated."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        where = rng.randrange(len(data))
        what = rng.randrange(4)
        if what == 0:
            data[where] = rng.choice((0, 1, 0x7F, 0x80, 0xC0, 0xFF, rng.randrange(256)))
        elif what == 1:
            data[where] ^= 1 << rng.randrange(8)
        elif what == 2 and len(data) > 20:
            del data[where:where + rng.randint(1, 12)]
        else:
            data[where:where] = data[where:where + rng.randint(1, 12)]
    return bytes(data)


def frames(pair, rng):
    ether = Ether(src=pair.client_mac, dst=pair.server_mac)
    hosts = (IP(src=pair.client4, dst=pair.server4), IPv6(src=pair.client6, dst=pair.server6))
    while True:
        link = ether / Dot1Q(vlan=5) if rng.random() < 0.1 else ether
        host = rng.choice(hosts)
        yield bytes(link / host / UDP(sport=rng.randint(1024, 65535), dport=53) / Raw(mutated(rng, QUERY)))
        yield mutated(rng, bytes(link / host / UDP(sport=4000, dport=53) / Raw(QUERY)))


def test_garbage(server, pair, wire):
    seed = int(os.environ.get("KNOT_SEED", 1))
    print(f"KNOT_SEED={seed}")
    made = frames(pair, random.Random(seed))
    for _ in range(4000):
        frame = next(made)
        if 14 <= len(frame) <= 1514:
            send_frame(wire, frame)
    for where in (pair.server4, pair.server6):
        assert server.ask("www.example", "A", where, client=pair.client).answer
    stats = server.stats()
    refused = {name: stats.get(f"xdp.rx_{name}[{pair.server_if}]", 0)
               for name in ("bad_ip_checksum", "bad_udp_checksum", "bad_length")}
    assert all(refused.values()), refused
    assert server.process.poll() is None
