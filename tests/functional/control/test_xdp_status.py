# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc xdp-status`: every packet is in one row, sums match to the packet, old clients can read it."""
import collections
import json
import os
import re
import socket
import subprocess

import pytest
from scapy.all import ARP, ICMP, IP, UDP, Dot1AD, Dot1Q, Ether, IPOption_LSRR, IPOption_Router_Alert, Raw
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, RouterAlert

from harness.net import Pair, inside, may_make_namespaces
from harness.server import TOP, built
from harness.waiting import wait_until
from harness.wire import Wire
from xdp_server import ask, counters, moved, start, wait_counters

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]


def status(server, *words):
    """{interface: {item: {queue or "": value}}} of the JSON."""
    reply = json.loads(server.knotc("-j", "raw", "xdp-status", *words).stdout)
    assert reply["command"] == "xdp-status" and reply["ok"] is True
    found = {}
    for unit in reply["reply"]:
        value = unit["data"]
        items = found.setdefault(unit["section"], {})
        items.setdefault(unit["item"], {})[unit.get("id", "")] = int(value) if re.fullmatch(r"-?\d+", value) else value
    return found


QUERY = bytes.fromhex("1234000000010000000000000377777707") + b"example\0\0\1\0\1"
OUR = {"sport": 1111, "dport": 53}


def kinds(pair, has_vlans):
    """has_vlans: the server has devices for the tags. {what: (frame, row)}: two dozen kinds of packets, each with the row that it belongs to."""
    ether = Ether(src=pair.client_mac, dst=pair.server_mac)
    v4, v6 = IP(src=pair.client4, dst=pair.server4), IPv6(src=pair.client6, dst=pair.server6)
    udp, query = UDP(**OUR), Raw(QUERY)
    made = {
        "query, IPv4": (ether / v4 / udp / query, "answered-udp4"),
        "query, IPv6": (ether / v6 / udp / query, "answered-udp6"),
        "query, IPv4 with options and a tag": (
            ether / Dot1Q(vlan=5) / IP(src=v4.src, dst=v4.dst, options=[IPOption_Router_Alert()]) / udp / query,
            "answered-udp4" if has_vlans else "passed-other-vlan"),
        "query, IPv6 with an extension header and two tags": (
            ether / Dot1AD(vlan=7) / Dot1Q(vlan=5) / v6 / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / udp / query,
            "answered-udp6" if has_vlans else "passed-other-vlan"),
        "no message": (ether / v4 / udp / Raw(bytes(5)), "no-reply"),
        "a response": (ether / v6 / udp / Raw(QUERY[:2] + b"\x80" + QUERY[3:]), "no-reply"),
        "other port": (ether / v4 / UDP(sport=1111, dport=54) / query, "passed-other-port"),
        "other address": (ether / IP(src=v4.src, dst="192.0.2.77") / udp / query, "passed-other-address"),
        "ICMP": (ether / v4 / ICMP(type=8), "passed-other-protocol"),
        "ARP": (ether / ARP(op=2, psrc=pair.client4, pdst=pair.server4), "passed-not-ip"),
        "fragment, IPv4": (ether / IP(src=v4.src, dst=v4.dst, flags="MF", proto=17) / Raw(bytes(32)), "passed-fragment"),
        "fragment, IPv6": (ether / v6 / IPv6ExtHdrFragment(m=1, nh=17) / Raw(bytes(32)), "passed-fragment"),
        "three tags": (ether / Dot1Q(vlan=5) / Dot1Q(vlan=5) / Dot1Q(vlan=5) / v4 / udp / query, "passed-vlan-tags"),
        "cut short": (bytes(ether / v4)[:20], "passed-malformed"),
        "broadcast MAC": (Ether(src=pair.client_mac, dst="ff:ff:ff:ff:ff:ff") / v4 / udp / query, "passed-group"),
        "another host's MAC": (Ether(src=pair.client_mac, dst="02:00:00:00:77:77") / v4 / udp / query, "passed-other-mac"),
        "VLAN of others": (ether / Dot1Q(vlan=100) / v4 / udp / query, "passed-other-vlan"),
        "broadcast source": (ether / IP(src="192.0.2.255", dst=v4.dst) / udp / query, "passed-broadcast-source"),
        "surplus behind the datagram": (ether / v4 / UDP(**OUR, len=8 + len(QUERY), chksum=0) / Raw(QUERY + bytes(8)), "answered-udp4"),
        "IP checksum": (ether / IP(src=v4.src, dst=v4.dst, chksum=0x1234) / udp / query, "dropped-bad-ip-checksum"),
        "UDP checksum": (ether / v6 / UDP(**OUR, chksum=0x1234) / query, "dropped-bad-udp-checksum"),
        "UDP length": (ether / v4 / UDP(**OUR, len=90) / query, "dropped-bad-length"),
        "source route": (ether / IP(src=v4.src, dst=v4.dst, options=[IPOption_LSRR(routers=["192.0.2.9"])]) / udp / query,
                         "dropped-bad-header"),
        "source that can't be": (ether / IP(src="127.0.0.1", dst=v4.dst) / udp / query, "dropped-bad-address"),
        "blocked source": (ether / IP(src="203.0.113.9", dst=v4.dst) / udp / query, "dropped-blocked"),
    }
    return {what: (bytes(frame), row) for what, (frame, row) in made.items()}


def test_where_packets_end(make_knotd, pair):
    """A known mix, every packet found again: each kind in its row, and nothing else moves. PACKETS=1000000 for many."""
    has_vlans = pair.add_vlan(5) and pair.add_vlan(("802.1ad", 7), 5)
    server = start(make_knotd, pair, listen=f"[ {pair.server4}@53, {pair.server6}@53 ]")
    server.knotc("xdp-block", "add", "203.0.113.0/24")
    for family in (4, 6):
        ask(server, pair, "www.example", family=family)
    # A socket takes the answers, or the client's kernel would send errors back.
    with inside(pair.client):
        takers = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
    for taker, address in zip(takers, (pair.client4, pair.client6)):
        taker.bind((address, OUR["sport"]))
    before = counters(server, pair)     # what was answered is counted
    if "PACKETS" in os.environ:
        print(server.knotc("xdp-status").stdout)
    mix = kinds(pair, has_vlans)
    rounds = -(-int(os.environ.get("PACKETS", "2100")) // len(mix))
    wanted = collections.Counter()
    wire = Wire(pair)
    for number in range(rounds):
        for frame, row in mix.values():
            wire.send(frame)
            wanted[row] += 1
        if number % 5 == 4:
            # Not faster than the server: what is lost in a ring would be another row.
            arrived = before["received"] + wanted.total()
            wait_counters(server, pair, lambda now, arrived=arrived: now["received"] >= arrived and now["waiting"] == 0)
    sent = wanted.total()
    print(f"{sent} packets of {len(mix)} kinds: {dict(wanted)}")

    def is_right(now):
        """But for what the kernels of the pair say to each other now and then: neighbours, which are ARP and ICMPv6."""
        change = moved(before, now)
        got = collections.Counter({row: change.get(row, 0) for row in wanted})
        chatter = collections.Counter({row: got[row] - wanted[row] for row in ("passed-not-ip", "passed-other-protocol")})
        return got == wanted + chatter and min(chatter.values()) >= 0 and change["received"] == sent + chatter.total() and now["difference"] == 0

    wait_counters(server, pair, is_right, f"{dict(wanted)} from {before}")
    for used in (wire, *takers):
        used.close()
    if "PACKETS" in os.environ:
        print(server.knotc("xdp-status").stdout)


def test_table(make_knotd):
    """Queues beside each other, sums first; the same numbers as in the JSON."""
    with Pair(queues=2) as pair:
        server = start(make_knotd, pair)
        for family in (4, 6) * 5:
            ask(server, pair, "www.example", family=family)

        def packets():
            """Threads count their turns several times a second, packets or not."""
            return {row: values for row, values in status(server, pair.server_if)[pair.server_if].items()
                    if not row.startswith(("batch-", "ring-"))}

        # The kernels of the pair talk to each other now and then: take the outputs between two equal counts.
        def outputs():
            numbers = packets()
            texts = server.knotc("-f", "xdp-status").stdout, server.knotc("xdp-status").stdout.splitlines()
            return (numbers, *texts) if packets() == numbers else None

        numbers, text, short = wait_until(outputs, "counters that stay for a moment", timeout=20)
        lines = text.splitlines()
        assert re.match(rf"{pair.server_if}: state up, .*mode native/copy, driver veth, mtu 1500, link up, queues 2, "
                        rf"listen {pair.server_if}@53, udp on", lines[0]), text
        assert lines[1].split() == ["sum", "0", "1"]
        received = next(line.split() for line in lines if line.startswith("received "))
        assert [int(value) for value in received[1:]] == [numbers["received"][key] for key in ("", "0", "1")]
        assert numbers["received"][""] == numbers["received"]["0"] + numbers["received"]["1"]
        assert "passed" in lines and "dropped" in lines
        assert lines[-1] == "Every packet received is in one of the other rows."
        assert numbers["answered-udp4"][""] == 5 and numbers["answered-udp6"][""] == 5
        assert set(short[:short.index("ring")]) < set(lines[:lines.index("ring")])
        assert {line.split()[0] for line in short} < {line.split()[0] for line in lines} and "  fragment" not in "\n".join(short)
        assert not [line for line in short[3:] if re.search(r" 0 +0 +0$", line)]
        assert server.stats()["mod-stats.request-protocol[udp4-xdp]"] == 5


def test_errors(make_knotd, pair):
    server = start(make_knotd, pair)
    assert list(status(server)) == [pair.server_if]
    done = server.knotc("xdp-status", "lo", check=False)
    assert (done.returncode, done.stdout) == (1, "error: (no such XDP interface) lo\n")
    done = server.knotc("xdp-status", "a", "b", check=False)
    assert done.returncode == 1 and "Usage: knotc xdp-status [<interface>]" in done.stdout


def test_interface_that_is_not_there(make_knotd, pair):
    server = start(make_knotd, pair, listen=f"[ {pair.server_if}@53, srv9@53 ]")
    found = status(server)
    assert found["srv9"]["state"][""] in ("gone", "sockets")
    assert found[pair.server_if]["state"][""] == "up"


def test_stats_have_the_new_counters(make_knotd, pair):
    """`knotc stats` has the same numbers, behind those of Knot DNS."""
    server = start(make_knotd, pair)
    for _ in range(3):
        ask(server, pair, "www.example")
    numbers = counters(server, pair)
    stats = server.stats("-f", "stats", "xdp")
    names = [name.split("[")[0] for name in stats]
    assert names[:11] == ["xdp." + name for name in (
        "rx_dropped", "rx_invalid", "tx_invalid", "rx_full", "fq_empty", "tx_empty", "tx_busy", "fq_fill", "rx_fill", "tx_fill", "cq_fill")]
    assert stats[f"xdp.answered-udp4[{pair.server_if}]"] == numbers["answered-udp4"] == 3
    assert stats[f"xdp.received[{pair.server_if}]"] >= numbers["received"]


@pytest.mark.skipif(not os.path.exists("/usr/sbin/knotc"), reason="the distribution's knot is not installed")
def test_the_client_of_knot_dns(make_knotd, pair):
    """It doesn't know the xdp-* commands, but sees the counters."""
    server = start(make_knotd, pair)
    ask(server, pair, "www.example")
    text = server.knotc("stats", "xdp.answered-udp4", program="/usr/sbin/knotc").stdout
    assert text == f"xdp.answered-udp4[{pair.server_if}] = 1\n"


def test_the_manual_knows_every_row(make_knotd, pair):
    """The manual's table, made of the counters' own table, explains each row by name; those of the TCP stack and of batches as a group."""
    assert "generated/counters-queues.rst" in (TOP / "doc" / "manual" / "xdp.rst").read_text()
    manual = subprocess.run([built("counters_doc", "control"), "queues"], capture_output=True, text=True, check=True).stdout
    server = start(make_knotd, pair)
    rows = [item for item, values in status(server)[pair.server_if].items()
            if "0" in values and not re.match(r"batch-|tcp-|difference", item)]
    assert len(rows) > 40
    assert [item for item in rows if f"``{item}``" not in manual] == []
