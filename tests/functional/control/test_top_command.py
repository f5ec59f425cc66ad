# SPDX-License-Identifier: BSD-2-Clause
"""Guards the command `top` (doc/formats/top.md): what workers always count, and zones and types while `top` runs."""
import collections
import contextlib
import socket
import time

import dns.message
import dns.query
import pytest

from harness.control import Client
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = pytest.mark.ours


@pytest.fixture
def server(knotd):
    """Without mod-stats: nothing of this needs any."""
    knotd.write("example.zone", example(7))
    knotd.write("other.zone", example(8).replace("example.", "other."))
    knotd.configure(zones=["example", "other"])
    return knotd.start()


def panels(units):
    """{panel: {(item, id): number}}"""
    result = collections.defaultdict(dict)
    for unit in units:
        key = (unit.get("item"), unit.get("id"))
        assert key not in result[unit["section"]], f"two values of {unit}"
        result[unit["section"]][key] = int(unit["data"])
    return result


def wait_counted(looker, requests, drops=0):
    """A batch is counted once its replies were handed over, so clients may have them earlier. Takes what `looker` has looked at."""
    found = {}

    def is_counted():
        found.update(panels(looker.command("top")))
        counts = [found["server"][None, "requests"], sum(found["latency"].values()), sum(found["rcode"].values())]
        return min(counts) >= requests and found["drops"][None, "no-request"] >= drops

    wait_until(is_counted, lambda: f"{requests} requests, {drops} drops in {found}", pause=0.01)
    return found


def test_counts_always(server):
    with Client(server.socket) as looker:
        before = panels(looker.command("top"))
        for _ in range(3):
            server.ask("www.example.", "A")
        server.ask("nothing.example.", "A")
        server.ask("www.nowhere.", "A")
        server.ask("www.example.", "A", tcp=True)
        server.send_raw(b"\0" * 5, timeout=0.2)
        after = wait_counted(looker, 6, drops=1)

    def difference(panel):
        return {key: count - before[panel].get(key, 0) for key, count in after[panel].items()
                if count != before[panel].get(key, 0)}

    assert difference("protocol") == {(None, "udp4"): 5, (None, "tcp4"): 1}
    assert difference("rcode") == {(None, "NOERROR"): 4, (None, "NXDOMAIN"): 1, (None, "REFUSED"): 1}
    assert difference("drops") == {(None, "no-request"): 1}
    assert {(None, "requests"): 6, (None, "replies"): 6}.items() <= difference("server").items()
    assert after["server"][None, "zone-count"] == 2
    assert set(key[1] for key in after["protocol"]) == {"udp4", "tcp4", "udp6", "tcp6", "udp4-xdp", "tcp4-xdp", "udp6-xdp",
                                                         "tcp6-xdp"}
    assert after["time"][None, None] > before["time"][None, None]
    latency = difference("latency")
    assert sum(count for (protocol, _), count in latency.items() if protocol == "udp4") == 5
    assert sum(count for (protocol, _), count in latency.items() if protocol == "tcp4") == 1
    bounds = [int(bound) for _, bound in latency if bound != "inf"]
    assert bounds and all(1024 <= bound <= 1 << 32 for bound in bounds)


def test_zones_and_types_while_somebody_looks(server):
    server.ask("www.example.", "A")
    with Client(server.socket) as looker:
        first = panels(looker.command("top"))
        assert "zone" not in first and "type" not in first
        for _ in range(4):
            server.ask("www.example.", "AAAA")
        server.ask("www.other.", "A")
        server.ask("www.other.", "TYPE65280", tcp=True)
        server.ask("www.nowhere.", "MX")
        looked = panels(looker.command("top"))
        assert looked["zone"] == {(None, "example."): 4, (None, "other."): 2}
        assert looked["type"] == {(None, "AAAA"): 4, (None, "A"): 1, (None, "TYPE65280"): 1, (None, "MX"): 1}
        assert list(looked["zone"].values()) == sorted(looked["zone"].values(), reverse=True)
        assert "zone" not in panels(looker.command("top"))
        with Client(server.socket) as second:
            second.command("top")
            server.ask("www.example.", "A")
            for connection in (looker, second):
                assert panels(connection.command("top"))["zone"] == {(None, "example."): 1}
        server.ask("www.other.", "A")
        assert panels(looker.command("top"))["zone"] == {(None, "other."): 1}


def test_a_reload_removes_a_zone_that_is_looked_at(server):
    with Client(server.socket) as looker:
        looker.command("top")
        server.ask("www.other.", "A")
        server.configure(zones=["example"])
        server.knotc("reload")
        assert "zone" not in panels(looker.command("top"))
        server.ask("www.example.", "A")
        assert panels(looker.command("top"))["zone"] == {(None, "example."): 1}


def test_more_lookers_than_may_look(server):
    """The fifth gets everything but zones and types."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(Client(server.socket)) for _ in range(5)]
        for connection in connections:
            assert not [unit for unit in connection.command("top") if "error" in unit]
        server.ask("www.example.", "A")
        assert ["zone" in panels(connection.command("top")) for connection in connections] == [True] * 4 + [False]
        connections[0].stream.close()

        def fifth_sees():
            server.ask("www.example.", "A")
            return "zone" in panels(connections[4].command("top"))

        wait_until(fifth_sees, "the place of who has gone")


def test_many_messages_over_one_connection(server):
    """Each message of a TCP turn is a request."""
    query = dns.message.make_query("www.example.", "A").to_wire()
    with Client(server.socket) as looker, socket.create_connection(("127.0.0.1", server.port), timeout=5 * PATIENCE) as stream:
        before = panels(looker.command("top"))
        stream.sendall((len(query).to_bytes(2, "big") + query) * 30)
        for _ in range(30):
            dns.query.receive_tcp(stream, expiration=time.time() + 5 * PATIENCE)
        after = wait_counted(looker, 30)
    assert after["protocol"][None, "tcp4"] - before["protocol"][None, "tcp4"] == 30
    assert sum(count for (protocol, _), count in after["latency"].items() if protocol == "tcp4") == 30


def test_over_xdp(make_knotd, pair):
    server = make_knotd(pair.server)
    server.port = 53
    server.write("example.zone", example(7))
    server.configure(listen=(), zones=["example"], text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n")
    server.start()
    with Client(server.socket) as looker:
        looker.command("top")
        for _ in range(5):
            server.ask("www.example.", "A", pair.server4, client=pair.client)
        server.ask("www.example.", "A", pair.server4, client=pair.client, tcp=True)
        looked = panels(looker.command("top"))
        after = wait_counted(looker, 6)
    assert after["protocol"][None, "udp4-xdp"] == 5 and after["protocol"][None, "tcp4-xdp"] == 1
    assert sum(count for (protocol, _), count in after["latency"].items() if protocol == "udp4-xdp") == 5
    assert looked["zone"] == {(None, "example."): 6}
    queues = {panel: sum(after[panel].values()) for panel in ("queue", "queue-sent", "queue-dropped")}
    assert all(key[0] == pair.server_if for key in after["queue"])
    assert queues["queue"] >= 6 and queues["queue-sent"] >= 6 and queues["queue-dropped"] == 0
