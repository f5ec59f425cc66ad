# SPDX-License-Identifier: BSD-2-Clause
"""A known mix of frames, faster than Python sends, and `knotc xdp-status`: every frame in its row. PACKETS=1000000 prints the tables."""
import collections
import os

import pytest

from harness.load import send_mix
from harness.net import Pair, may_make_namespaces, run
from xdp_server import counters, moved, start, wait_counters

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]

PACKETS = int(os.environ.get("PACKETS", "50000"))
WINDOW = 128    # frames on their way: what the link's queues and the rings hold
LIMIT = 5       # per second: fewer than come on any machine

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


@pytest.mark.parametrize("tcp", TCP_ROWS)
def test_every_packet_is_in_its_row(make_knotd, tcp):
    with Pair(queues=2, mtu=3000) as pair:
        # Only the test sends: the client has no addresses, and no IPv6 of its own.
        Pair.exec(pair.client, "sysctl", "-qw", f"net.ipv6.conf.{pair.client_if}.disable_ipv6=1")
        run("ip", "-n", pair.client, "address", "flush", "dev", pair.client_if)
        has_vlans = pair.add_vlan(100) and pair.add_vlan(("802.1ad", 7), 100)
        server = start(make_knotd, pair, more=f"ring-size: 4096\ntcp: {tcp}",
                       listen=f"[ {pair.server4}@53, {pair.server6}@53 ]")
        server.knotc("xdp-block", "add", "203.0.113.0/25")
        server.knotc("xdp-block", "add", "203.0.113.128/25", "+rate", str(LIMIT))
        before = counters(server, pair)
        if "PACKETS" in os.environ:
            print(server.knotc("xdp-status").stdout)
        sent = send_mix(pair, 53, PACKETS, WINDOW, lambda count: wait_counters(
            server, pair, lambda now: now["received"] >= before["received"] + count and now["waiting"] == 0))
        print(sent)
        rows = ROWS | TCP_ROWS[tcp] | ({} if has_vlans else {"vlan": "passed-other-vlan", "qinq": "passed-other-vlan"})
        assert set(sent) == set(rows) and sum(sent.values()) == PACKETS
        want = collections.Counter()
        for kind, count in sent.items():
            want[rows[kind]] += count

        def is_right(now):
            """All of them, and nothing else."""
            change = moved(before, now)
            got = {row: count for row, count in change.items() if row.startswith(("answered-", "taken-", "no-reply", "passed-", "dropped-"))}
            tcp_rows = [row for row in got if row == "taken-tcp" or row.startswith("dropped-tcp-")]
            got |= {"tcp": sum(got.pop(row) for row in tcp_rows)} if tcp_rows else {}
            limited = got.get("dropped-rate-limited", 0)
            with_limit = collections.Counter(want)
            with_limit["dropped-rate-limited"] += limited
            with_limit[rows["limited"]] -= limited
            return got == with_limit and 0 < limited < sent["limited"]

        after = wait_counters(server, pair, is_right, f"{dict(want)} from {before}")
        if "PACKETS" in os.environ:
            print(server.knotc("xdp-status").stdout)
    assert after["received"] - before["received"] == PACKETS and after["difference"] == 0
