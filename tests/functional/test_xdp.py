# SPDX-License-Identifier: BSD-2-Clause
"""The daemon on AF_XDP between two namespaces: the plain path, what goes to the kernel, and what is left behind.
Frames of every shape are the business of tests/xdp."""
import signal

import dns.flags
import dns.rcode
import pytest

from harness.server import is_ours
from harness.wire import wait_detached
from zones import example

pytestmark = pytest.mark.core


@pytest.fixture
def server(make_knotd, pair):
    """Answers on AF_XDP at port `port`; sockets listen on the address too, on another port, for what is not XDP's."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n"
                          "template:\n  - id: default\n    global-module: mod-stats\n")
    daemon.start()
    return daemon


@pytest.mark.parametrize("family", [4, 6])
def test_query_takes_the_fast_path(server, pair, family):
    where = pair.server4 if family == 4 else pair.server6
    for _ in range(10):
        answer = server.ask("www.example", "A", where, client=pair.client)
        assert answer.answer[0][0].address == "192.0.2.80"
    stats = server.stats()
    assert stats[f"mod-stats.request-protocol[udp{family}-xdp]"] == 10
    assert stats.get(f"mod-stats.request-protocol[udp{family}]", 0) == 0


def test_tcp_goes_to_the_kernel(server, pair):
    answer = server.ask("big.example", "TXT", pair.server4, client=pair.client, use_edns=0)
    assert answer.flags & dns.flags.TC
    answer = server.ask("big.example", "TXT", pair.server4, tcp=True, client=pair.client)
    assert len(answer.answer[0]) == 30
    assert server.stats()["mod-stats.request-protocol[tcp4]"] == 1


def test_other_traffic_goes_to_the_kernel(server, pair):
    done = pair.exec(pair.client, "ping", "-c", "2", "-i", "0.2", "-W", "20", pair.server4, check=False)
    if done.returncode == 127:
        pytest.skip("no ping")
    assert " 0% packet loss" in done.stdout


def has_program(pair):
    return "xdp" in pair.link()


def test_program_is_detached_at_the_end(server, pair):
    assert has_program(pair)
    server.stop()
    if is_ours():
        assert not has_program(pair)


@pytest.mark.ours
def test_program_is_detached_after_a_crash(server, pair):
    assert has_program(pair)
    server.stop(signal.SIGKILL)
    wait_detached(pair)


@pytest.mark.ours
def test_fall_back_to_sockets(make_knotd, pair):
    """No such interface: one clear line that says what to do, and the sockets serve."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), server=f"listen: {pair.server4}@53", text="xdp:\n    listen: srv9@53\n")
    daemon.start()
    assert daemon.ask("www.example", "A", pair.server4, client=pair.client).rcode() == dns.rcode.NOERROR
    assert "srv9" in daemon.log()
