# SPDX-License-Identifier: BSD-2-Clause
"""Packets for others on an interface that listens at any address: left to the kernel, counted, and followed while the server runs.
guards: doc/adr/0028-whose-packet.md, RFC 1122 3.2.1.3, RFC 9868"""
import random
import re
import socket
import threading

import dns.message
import pytest
from scapy.all import IP, UDP, Dot1AD, Dot1Q, Ether, Raw
from scapy.layers.inet6 import IPv6

from harness.net import inside, may_make_namespaces, run
from harness.waiting import wait_until
from xdp_server import ask, counters, moved, start, wait_counters

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]

QUERY = dns.message.make_query("www.example", "A", id=0x1234).to_wire()
FOREIGN_MAC = "02:00:00:00:77:77"
PORT = 1111


class Sender:
    """Frames from the client's end of the link, each counted by the server before the next."""

    def __init__(self, server, pair):
        self.server, self.pair = server, pair
        with inside(pair.client):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.sock.bind((pair.client_if, 0))

    def frame(self, dst=None, mac=None, src=None, tags=(), mac_src=None):
        layers = Ether(src=mac_src or self.pair.client_mac, dst=mac or self.pair.server_mac)
        for tag in tags:
            layers /= tag
        if ":" in (dst or ""):
            layers /= IPv6(src=src or self.pair.client6, dst=dst)
        else:
            layers /= IP(src=src or self.pair.client4, dst=dst or self.pair.server4)
        return layers / UDP(sport=PORT, dport=53) / Raw(QUERY)

    def fate(self, **what):
        """The row that a frame ends in: the one that moves by a whole burst of it, whatever the kernels say to each other meanwhile."""
        burst = 20
        before = counters(self.server, self.pair)
        frame = bytes(self.frame(**what))
        for _ in range(burst):
            self.sock.send(frame)

        def rows(now):
            return [row for row, count in moved(before, now).items() if count >= burst and row.startswith(("answered-", "passed-", "dropped-"))]
        after = wait_counters(self.server, self.pair, lambda now: rows(now) and now["waiting"] == 0, f"{what} all in one row")
        assert after["difference"] == 0 and len(rows(after)) == 1, moved(before, after)
        return rows(after)[0]

    def wait_fate(self, row, **what):
        """A burst that the change comes in the middle of has two rows: the next one tells."""
        def is_met():
            before = counters(self.server, self.pair)
            self.sock.send(bytes(self.frame(**what)))
            wait_counters(self.server, self.pair, lambda now: now["received"] > before["received"] and now["waiting"] == 0)
            return moved(before, counters(self.server, self.pair)).get(row, 0) > 0
        wait_until(is_met, f"{what} in {row}", timeout=20)
        assert self.fate(**what) == row


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair)


@pytest.fixture
def sender(server, pair):
    made = Sender(server, pair)
    yield made
    made.sock.close()


def ip(pair, *words):
    run("ip", "-n", pair.server, *words)


def test_packets_for_others(sender, pair):
    assert sender.fate() == "answered-udp4"
    assert sender.fate(dst=pair.server6) == "answered-udp6"
    assert sender.fate(mac=FOREIGN_MAC) == "passed-other-mac"
    assert sender.fate(mac=FOREIGN_MAC, dst=pair.server6) == "passed-other-mac"
    for address in ("8.8.8.8", "192.0.2.99", "192.0.2.255", "127.0.0.1", "2001:db8::99", "fe80::99", "::1"):
        assert sender.fate(dst=address) == "passed-not-local", address
    assert sender.fate(src="192.0.2.255") == "passed-broadcast-source"
    assert sender.fate(src="192.0.2.254") == "answered-udp4"
    for tags in ([Dot1Q(vlan=100)], [Dot1AD(vlan=100), Dot1Q(vlan=200)], [Dot1AD(vlan=100)]):
        assert sender.fate(tags=tags) == "passed-other-vlan"
    assert sender.fate(tags=[Dot1Q(vlan=0, prio=5)]) == "answered-udp4"


def test_any_ip(sender, pair):
    """`local` routes make addresses the host's (AnyIP), in the table "local" and in others; a broadcast address within is not."""
    for dst, prefix in (("10.77.3.4", "10.77.0.0/16"), ("2001:db8:77::5", "2001:db8:77::/48")):
        row = "answered-udp6" if ":" in dst else "answered-udp4"
        for table in ("local", "main", "100"):
            family = "-6" if ":" in dst else "-4"
            assert sender.fate(dst=dst) == "passed-not-local"
            if table == "100":
                ip(pair, family, "rule", "add", "lookup", "100")
            ip(pair, "route", "add", "local", prefix, "dev", "lo", "table", table)
            sender.wait_fate(row, dst=dst)
            ip(pair, "route", "del", "local", prefix, "dev", "lo", "table", table)
            sender.wait_fate("passed-not-local", dst=dst)
    ip(pair, "route", "add", "local", "10.0.0.0/8", "dev", "lo")
    ip(pair, "address", "add", "10.77.0.1/24", "dev", pair.server_if)
    sender.wait_fate("answered-udp4", dst="10.77.0.254")
    sender.wait_fate("passed-not-local", dst="10.77.0.255")
    sender.wait_fate("passed-broadcast-source", src="10.77.0.255")


def test_marked_packets_only(sender, pair):
    """A transparent proxy's table: `local default`, but only for packets with a mark, which none has that comes from the wire."""
    ip(pair, "rule", "add", "fwmark", "1", "lookup", "100")
    ip(pair, "route", "add", "local", "default", "dev", "lo", "table", "100")
    ip(pair, "address", "add", "198.51.100.7/32", "dev", pair.server_if)
    sender.wait_fate("answered-udp4", dst="198.51.100.7")    # the changes have been seen
    assert sender.fate(dst="8.8.8.8") == "passed-not-local"


def test_addresses_follow(sender, pair):
    for address in ("198.51.100.7/32", "2001:db8:9::7/128"):
        dst = address.split("/", maxsplit=1)[0]
        row = "answered-udp6" if ":" in dst else "answered-udp4"
        for device in (pair.server_if, "lo"):
            assert sender.fate(dst=dst) == "passed-not-local"
            ip(pair, "address", "add", address, "dev", device)
            sender.wait_fate(row, dst=dst)
            ip(pair, "address", "del", address, "dev", device)
            sender.wait_fate("passed-not-local", dst=dst)


def test_interface_loses_its_addresses(sender, server, pair):
    """What comes for them then is the kernel's, until they return."""
    ip(pair, "address", "flush", "dev", pair.server_if, "scope", "global")
    sender.wait_fate("passed-not-local")
    sender.wait_fate("passed-not-local", dst=pair.server6)
    link_local = re.search(r"inet6 (fe80::\S+)/", run("ip", "-n", pair.server, "address", "show", "dev", pair.server_if).stdout).group(1)
    sender.wait_fate("answered-udp6", dst=link_local, src="fe80::1234")
    ip(pair, "address", "add", f"{pair.server4}/24", "dev", pair.server_if)
    sender.wait_fate("answered-udp4")
    assert ask(server, pair, "www.example").answer


def test_macs_follow(sender, pair):
    ip(pair, "link", "set", pair.server_if, "address", FOREIGN_MAC)
    sender.wait_fate("answered-udp4", mac=FOREIGN_MAC)
    assert sender.fate(mac=pair.server_mac) == "passed-other-mac"
    ip(pair, "link", "set", pair.server_if, "address", pair.server_mac)
    sender.wait_fate("answered-udp4")
    # As VRRP does it: a device on the interface that has the address of the router.
    virtual = "00:00:5e:00:01:07"
    assert sender.fate(mac=virtual) == "passed-other-mac"
    ip(pair, "link", "add", "link", pair.server_if, "name", "vrrp7", "address", virtual, "type", "macvlan", "mode", "private")
    sender.wait_fate("answered-udp4", mac=virtual)
    ip(pair, "link", "del", "vrrp7")
    sender.wait_fate("passed-other-mac", mac=virtual)


def test_vlans_follow(sender, pair):
    tags = [Dot1AD(vlan=7), Dot1Q(vlan=100)]
    assert sender.fate(tags=tags[1:]) == "passed-other-vlan"
    if not pair.add_vlan(100):
        return    # a kernel without VLAN devices: what they say is read in src/net/host_test.c
    sender.wait_fate("answered-udp4", tags=tags[1:])
    assert sender.fate(tags=tags) == "passed-other-vlan"
    pair.add_vlan(("802.1ad", 7), 100)
    sender.wait_fate("answered-udp4", tags=tags)
    ip(pair, "link", "set", f"{pair.server_if}.100", "down")
    sender.wait_fate("passed-other-vlan", tags=tags[1:])
    ip(pair, "link", "del", f"{pair.server_if}.7")
    sender.wait_fate("passed-other-vlan", tags=tags)


def test_configured_address_is_local(make_knotd, pair):
    """An address that `listen` names is answered as long as an interface has it; the rest of the interface's addresses aren't taken."""
    server = start(make_knotd, pair, listen=f"[ {pair.server4}@53 ]")
    sender = Sender(server, pair)
    assert sender.fate() == "answered-udp4"
    assert sender.fate(dst="8.8.8.8") == "passed-other-address"
    assert sender.fate(mac=FOREIGN_MAC) == "passed-other-mac"
    sender.sock.close()


def test_surplus_behind_the_datagram(server, pair):
    """The UDP length ends the datagram (RFC 768); what is behind it may be options (RFC 9868). As the kernel's path does."""
    link = Ether(src=pair.client_mac, dst=pair.server_mac)
    whole = IP(bytes(IP(src=pair.client4, dst=pair.server4) / UDP(sport=PORT, dport=53) / Raw(QUERY)))    # with its checksums
    with inside(pair.client):
        taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    taker.bind((pair.client4, PORT))
    taker.settimeout(20)
    wire.bind((pair.client_if, 0))
    for surplus in (1, 8, 100):
        wire.send(bytes(link / IP(src=pair.client4, dst=pair.server4, proto=17) / Raw(bytes(whole[UDP]) + b"\xA5" * surplus)))
        assert dns.message.from_wire(taker.recv(4096)).answer
    taker.close()
    wire.close()


# ---- A hostile neighbour ----

def test_floods_and_churn(sender, server, pair):
    """Frames for thousands of MACs, VLANs and addresses while addresses come and go: a client is answered, and every packet is in its row."""
    rng = random.Random(1)
    frames = []
    for _ in range(500):
        frames += [bytes(sender.frame(mac=f"02:00:00:{rng.randrange(256):02x}:{rng.randrange(256):02x}:77")),
                   bytes(sender.frame(tags=[Dot1Q(vlan=rng.randrange(1, 4095))])),
                   bytes(sender.frame(dst=f"10.{rng.randrange(256)}.{rng.randrange(256)}.9")),
                   bytes(sender.frame(dst=f"2001:db8:{rng.randrange(65536):x}::9")),
                   bytes(sender.frame(src="192.0.2.255")), bytes(sender.frame())]
    before = counters(server, pair)
    stopping, faults = threading.Event(), []

    def churn():
        number = 0
        while not stopping.is_set():
            number += 1
            words = ("address", "add" if number % 2 else "del", f"198.51.100.{number // 2 % 200 + 1}/32", "dev", pair.server_if)
            run("ip", "-n", pair.server, *words, check=False)

    def question():
        while not stopping.is_set():
            try:
                assert ask(server, pair, "www.example").answer
            except Exception as error:    # pylint: disable=broad-exception-caught
                faults.append(error)

    threads = [threading.Thread(target=run_steps) for run_steps in (churn, question)]
    for thread in threads:
        thread.start()
    for count, frame in enumerate(frames * 4):
        try:
            sender.sock.send(frame)
        except OSError:    # the link's queue is full
            pass
        if count % 500 == 0:
            counters(server, pair)
    stopping.set()
    for thread in threads:
        thread.join()
    assert not faults, faults[:3]
    after = wait_counters(server, pair, lambda now: now["waiting"] == 0 and now["difference"] == 0)
    change = moved(before, after)
    for row in ("passed-other-mac", "passed-other-vlan", "passed-not-local", "passed-broadcast-source", "answered-udp4"):
        assert change[row] > 500, change
    assert ask(server, pair, "www.example").answer
