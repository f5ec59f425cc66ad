# SPDX-License-Identifier: BSD-2-Clause
"""Route check on a real interface: what the kernel program finds in the routing table reaches the server with the packet."""
import os

import pytest
from scapy.all import IP, UDP, Ether, Raw
from scapy.layers.inet6 import IPv6

from harness.net import Pair, run
from harness.wire import PORT, Echo, Wire

# source of the query, to which of our addresses → the counter that moves besides "received"
ROWS = {
    "on the link": ("192.0.2.2", "192.0.2.1", "via-same"),
    "behind the default route": ("198.18.0.1", "192.0.2.1", "via-same"),
    "behind the other uplink": ("198.18.1.1", "192.0.2.1", "via-other"),
    "a rule for our address": ("198.18.0.1", "203.0.113.1", "via-other"),
    "neighbour not known": ("192.0.2.99", "192.0.2.1", "via-kernel"),
    "blackhole": ("198.18.2.1", "192.0.2.1", "dropped-unroutable"),
    "unreachable": ("198.18.3.1", "192.0.2.1", "dropped-unroutable"),
    "no route": ("198.18.4.1", "192.0.2.1", "passed-no-route"),
    "IPv6, on the link": ("2001:db8::2", "2001:db8::1", "via-same"),
    "IPv6, behind the default route": ("2001:db8:5::1", "2001:db8::1", "via-same"),
    "IPv6, behind the other uplink": ("2001:db8:6::1", "2001:db8::1", "via-other"),
    "IPv6, neighbour not known": ("2001:db8::99", "2001:db8::1", "via-kernel"),
    "IPv6, prohibited": ("2001:db8:7::1", "2001:db8::1", "dropped-unroutable"),
    "IPv6, link-local": ("fe80::99", "fe80::1", "via-same"),
}
COUNTERS = {counter for _, _, counter in ROWS.values()}


@pytest.fixture(scope="module")
def uplinks():
    """A pair whose server has a second interface; its addresses are listed to be served."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with Pair() as pair:
        run("ip", "-n", pair.server, "link", "add", "up1", "type", "veth", "peer", "name", "far1")
        run("ip", "-n", pair.server, "link", "set", "far1", "up")
        run("ip", "-n", pair.server, "link", "set", "up1", "up")
        for line in ("address add 203.0.113.1/24 dev up1", "address add 2001:db8:b::1/64 dev up1 nodad",
                     "neighbour add 203.0.113.9 lladdr 02:00:00:00:00:09 nud permanent dev up1",
                     "neighbour add 2001:db8:b::9 lladdr 02:00:00:00:00:09 nud permanent dev up1",
                     "route add default via 192.0.2.2", "route add default via 2001:db8::2",
                     "route add 198.18.1.0/24 via 203.0.113.9", "route add 2001:db8:6::/48 via 2001:db8:b::9",
                     "route add blackhole 198.18.2.0/24", "route add unreachable 198.18.3.0/24",
                     "route add throw 198.18.4.0/24", "route add prohibit 2001:db8:7::/48",
                     "rule add from 203.0.113.1 table 100", "route add default via 203.0.113.9 table 100"):
            run("ip", "-n", pair.server, *line.split())
        yield pair


def forwarding(pair, device):
    return [Pair.exec(pair.server, "sysctl", "-n", f"net.{family}.conf.{device}.forwarding").stdout.strip()
            for family in ("ipv4", "ipv6")]


@pytest.mark.parametrize("mode", ["native", "emulated"])
def test_way_of_replies(uplinks, mode):
    pair = uplinks
    before = {device: forwarding(pair, device) for device in ("all", "lo", pair.server_if)}
    echo = Echo(pair, "-R", "-n" if mode == "native" else "-e")
    assert mode in echo.first_line, echo.stop()
    wire = Wire(pair)
    try:
        assert forwarding(pair, "lo") == ["1", "1"]
        assert forwarding(pair, pair.server_if) == before[pair.server_if], "nothing is forwarded for others"
        for name, (source, destination, want) in ROWS.items():
            start = echo.counters()
            ip = IPv6 if ":" in source else IP
            ether = Ether(src=pair.client_mac, dst=pair.server_mac)
            reply = wire.ask(ether / ip(src=source, dst=destination) / UDP(sport=40000, dport=PORT) / Raw(b"query"),
                             **({} if want == "via-same" else {"seconds": 0.05}))
            end = echo.wait(lambda c, start=start: any(c[name] != start[name] for name in COUNTERS), name)
            moved = {counter: end[counter] - start[counter] for counter in COUNTERS if end[counter] != start[counter]}
            assert moved == {want: 1}, name
            assert (reply is not None) == (want == "via-same"), name
            if reply is not None:
                assert Ether(reply)[ip].dst == source, name
    finally:
        wire.close()
        code, _, err = echo.stop()
    assert (code, err) == (0, "")
    assert {device: forwarding(pair, device) for device in before} == before, "put back at the end"
