# SPDX-License-Identifier: BSD-2-Clause
"""Sockets: wildcard addresses, UNIX paths, addresses that aren't there yet, starting before zones are loaded."""
import os
import socket
import struct

import dns.message
import dns.rcode
import pytest

from harness.net import has_ipv6
from harness.waiting import PATIENCE

pytestmark = pytest.mark.ours

ZONE = "@ 3600 SOA ns admin 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"


@pytest.fixture
def server(knotd):
    def start(listen, **options):
        knotd.write("a.zone", ZONE)
        knotd.configure(zones=["a"], listen=listen, **options)
        return knotd.start()
    return start


NEEDS_IPV6 = pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6")


@pytest.mark.parametrize("bound, asked", [("0.0.0.0", "127.0.0.53"), ("0.0.0.0", "127.0.0.1"),
                                          pytest.param("::", "::1", marks=NEEDS_IPV6)])
def test_answer_leaves_from_the_address_asked(server, bound, asked):
    daemon = server([bound])
    family = socket.AF_INET6 if ":" in asked else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:     # not connected: sees every sender
        sock.settimeout(5 * PATIENCE)
        sock.sendto(dns.message.make_query("a.", "SOA").to_wire(), (asked, daemon.port))
        data, source = sock.recvfrom(4096)
    assert source[:2] == (asked, daemon.port)
    assert dns.message.from_wire(data).rcode() == dns.rcode.NOERROR
    assert daemon.ask("a", "SOA", asked, tcp=True).rcode() == dns.rcode.NOERROR


def test_unix_stream(server):
    daemon = server(["127.0.0.1"], server="listen: {dir}/run/dns.sock")
    query = dns.message.make_query("a.", "SOA").to_wire()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(5 * PATIENCE)
        sock.connect(str(daemon.dir / "run" / "dns.sock"))
        sock.sendall(struct.pack("!H", len(query)) + query)
        sock.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: sock.recv(65535), b""))    # in as many pieces as it comes
        assert struct.unpack("!H", data[:2])[0] == len(data) - 2
        assert dns.message.from_wire(data[2:]).rcode() == dns.rcode.NOERROR


def test_unix_datagram(server):
    daemon = server(["127.0.0.1"], server="listen: {dir}/run/dns.sock")
    query = dns.message.make_query("a.", "SOA").to_wire()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5 * PATIENCE)
        sock.bind(str(daemon.dir / "client"))
        sock.sendto(query, str(daemon.dir / "run" / "dns.sock.dgram"))
        assert dns.message.from_wire(sock.recv(65535)).rcode() == dns.rcode.NOERROR
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:     # nowhere to answer to: ignored
        sock.sendto(query, str(daemon.dir / "run" / "dns.sock.dgram"))
    assert daemon.is_answering()
    daemon.stop()
    assert not os.path.exists(daemon.dir / "run" / "dns.sock")
    assert not os.path.exists(daemon.dir / "run" / "dns.sock.dgram")


@pytest.mark.parametrize("name", ["dns.sock", "dns.sock.dgram"])
def test_unix_path_of_another_file(knotd, name):
    """Only a socket that a dead server left is replaced: a mistyped path destroys no file."""
    path = knotd.dir / "run" / name
    path.write_text("precious")
    knotd.configure(listen=["127.0.0.1"], server="listen: {dir}/run/dns.sock")
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert path.read_text() == "precious"


def test_address_that_is_not_there(server):
    daemon = server(["127.0.0.1", "192.0.2.53"])
    assert f"warning: address 192.0.2.53@{daemon.port} UDP bound, but required nonlocal bind" in daemon.log()
    assert daemon.is_answering()


@pytest.mark.parametrize("items", ["tcp-reuseport: on", "socket-affinity: on", "udp-workers: 8\ntcp-workers: 8"])
def test_worker_settings(server, items):
    addresses = ["127.0.0.1", "::1"] if has_ipv6() else ["127.0.0.1"]
    daemon = server(addresses, server=items)
    for where in addresses:
        for tcp in (False, True):
            for _ in range(8):
                assert daemon.ask("a", "SOA", where, tcp).rcode() == dns.rcode.NOERROR


def test_async_start_answers_before_zones_are_loaded(knotd):
    """A pipe in the place of a zone file: loading waits, answers don't."""
    os.mkfifo(knotd.dir / "slow.zone")
    knotd.write("a.zone", ZONE)
    knotd.configure(zones=["a", "slow"], server="async-start: on")
    knotd.start(ready=False)
    knotd.wait_log("server started answering")
    knotd.wait(lambda: knotd.ask("a", "SOA").rcode() == dns.rcode.NOERROR, 10, "zone a")
    assert knotd.ask("slow", "SOA").rcode() == dns.rcode.SERVFAIL
    (knotd.dir / "slow.zone").write_text(ZONE)
    knotd.wait(lambda: knotd.ask("slow", "SOA").rcode() == dns.rcode.NOERROR, 10, "zone slow")


def test_no_answer_before_zones_are_loaded(knotd):
    """Without async-start requests wait in the socket, and are answered well when the last zone is there."""
    os.mkfifo(knotd.dir / "slow.zone")
    knotd.configure(zones=["slow"])
    knotd.start(ready=False)
    knotd.wait_log("starting server in the foreground")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.5)
        sock.sendto(dns.message.make_query("slow.", "SOA").to_wire(), ("127.0.0.1", knotd.port))
        with pytest.raises(TimeoutError):
            sock.recv(4096)
        (knotd.dir / "slow.zone").write_text(ZONE)
        sock.settimeout(10 * PATIENCE)
        assert dns.message.from_wire(sock.recv(4096)).rcode() == dns.rcode.NOERROR
