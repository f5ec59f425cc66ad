# SPDX-License-Identifier: BSD-2-Clause
"""A known mix of frames, faster than Python sends, and `knotc xdp-status`: every frame in its row. PACKETS=1000000 prints the tables."""
import collections
import os

import pytest

from harness.net import Pair, run
from harness.server import BUILD
from test_xdp_status import moved, settled
from xdp_server import start

pytestmark = [pytest.mark.ours, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

PACKETS = int(os.environ.get("PACKETS", "50000"))
PER_SECOND = 40000
LIMIT = 500

# kind of frame (tests/xdp/send_mix.c) → row
ROWS = {
    "udp4": "answered-udp4", "vlan": "answered-udp4", "ipv4-options": "answered-udp4", "limited": "answered-udp4",
    "udp6": "answered-udp6", "qinq": "answered-udp6", "extension-headers": "answered-udp6",
    "three-tags": "passed-vlan-tags",
    "source-route": "dropped-bad-header",
    "authentication-header": "passed-extension",
    "fragment4": "passed-fragment", "fragment6": "passed-fragment",
    "bad-ip-checksum": "dropped-bad-ip-checksum",
    "bad-udp-checksum": "dropped-bad-udp-checksum",
    "bad-udp-length": "dropped-bad-length", "ip-longer-than-frame": "dropped-bad-length",
    "short": "passed-malformed",
    "jumbo": "dropped-no-frame",
    "other-port": "passed-other-port", "tcp4-other-port": "passed-other-port",
    "other-address4": "passed-other-address", "other-address6": "passed-other-address",
    "icmp": "passed-other-protocol", "icmp6": "passed-other-protocol", "sctp": "passed-other-protocol",
    "arp": "passed-not-ip",
    "multicast-mac": "passed-group",
    "from-loopback": "dropped-bad-address",
    "blocked": "dropped-blocked",
}
# "tcp": what the TCP stack makes of it, taken or refused by its limits: RST and SYN-ACK are rate-limited.
TCP_ROWS = {
    "off": {"tcp4-syn": "passed-other-port", "tcp6-ack": "passed-other-port", "tcp4-bad-checksum": "passed-other-port"},
    "on": {"tcp4-syn": "tcp", "tcp6-ack": "tcp", "tcp4-bad-checksum": "dropped-bad-tcp-checksum"},
}


def send_mix(pair):
    done = Pair.exec(pair.client, str(BUILD / "tests/xdp/send_mix"), pair.client_if, pair.server_mac, pair.server4, pair.server6, "53",
                     str(PACKETS), str(PER_SECOND), timeout=60 + 2 * PACKETS / PER_SECOND)
    print(done.stdout)
    return {name: int(count) for name, count in
            (line.split("=") for line in done.stdout.splitlines() if not line.startswith("KNOT_SEED"))}


@pytest.mark.parametrize("tcp", TCP_ROWS)
def test_every_packet_is_in_its_row(make_knotd, tcp):
    with Pair(queues=2, mtu=3000) as pair:
        # Nobody sends but the test: the client has no addresses, and no IPv6 of its own.
        Pair.exec(pair.client, "sysctl", "-qw", f"net.ipv6.conf.{pair.client_if}.disable_ipv6=1")
        run("ip", "-n", pair.client, "address", "flush", "dev", pair.client_if)
        server = start(make_knotd, pair, more=f"ring-size: 4096\ntcp: {tcp}",
                       listen=f"[ {pair.server4}@53, {pair.server6}@53 ]")
        server.knotc("xdp-block", "add", "203.0.113.0/25")
        server.knotc("xdp-block", "add", "203.0.113.128/25", "+rate", str(LIMIT))
        before = settled(server, pair)
        if "PACKETS" in os.environ:
            print(server.knotc("xdp-status").stdout)
        sent = send_mix(pair)
        after = settled(server, pair)
        if "PACKETS" in os.environ:
            print(server.knotc("xdp-status").stdout)
    rows = ROWS | TCP_ROWS[tcp]
    assert set(sent) == set(rows) and sum(sent.values()) == PACKETS
    change = moved(before, after)
    want = collections.Counter()
    for kind, count in sent.items():
        want[rows[kind]] += count
    limited = change["dropped-rate-limited"]
    want["dropped-rate-limited"] += limited
    want[rows["limited"]] -= limited
    assert 0 < limited < sent["limited"]
    # Should the machine be too slow, frames are lost where that is counted.
    lost = {row: change[row] for row in ("dropped-ring-full", "dropped-tx-full", "ring-fq-empty") if row in change}
    got = change | {"tcp": sum(count for row, count in change.items() if row == "taken-tcp" or row.startswith("dropped-tcp-"))}
    if not lost:
        assert {row: got.get(row, 0) for row in want} == want
    fates = {row: count for row, count in change.items() if row.startswith(("answered-", "taken-", "no-reply", "passed-", "dropped-"))}
    assert sum(fates.values()) == change["received"] == PACKETS
    assert sum(lost.values()) < PACKETS / 100
    assert set(after["difference"].values()) == {0}
