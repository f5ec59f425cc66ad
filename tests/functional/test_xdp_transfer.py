# SPDX-License-Identifier: BSD-2-Clause
"""Transfers over TCP on AF_XDP: the zone arrives whole, with TSIG too, beside slow and broken readers."""
import contextlib
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.xfr
import dns.zone
import pytest

from harness.net import inside
from harness.waiting import PATIENCE, wait_until
from test_transfer_out import KEYRING, RULES, frames, query, send
from zones import example, many

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

NAMES = 16000       # more than a connection buffers


def start(make_knotd, pair, names, lines=""):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.write("large.zone", many("large.", names))
    daemon.configure(zones=["example", "large"], listen=(), server="",
                     text=RULES + f"  - id: link\n    address: [ {pair.client4}, {pair.client6} ]\n    action: transfer\n"
                     f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n{lines}"
                     "template:\n  - id: default\n    acl: [ signed, link ]\n    zonefile-sync: -1\n")
    daemon.start()
    daemon.wait_log("initialized XDP interface")
    return daemon


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair, NAMES)


def connect(pair, rcvbuf=None, where=None):
    with inside(pair.client):
        sock = socket.socket(socket.AF_INET6 if ":" in (where or "") else socket.AF_INET)
    if rcvbuf:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    sock.settimeout(10 * PATIENCE)
    sock.connect((where or pair.server4, 53))
    return sock


def read_zone(sock, asked, name):
    """The zone that the messages of a transfer are, as dnspython makes it; TSIG is checked."""
    zone = dns.zone.Zone(name, relativize=False)
    context, stream = None, frames(sock)
    with dns.xfr.Inbound(zone, asked.question[0].rdtype) as inbound:
        done = False
        while not done:
            reply = dns.message.from_wire(next(stream), keyring=KEYRING, request_mac=asked.mac, xfr=True, multi=True, tsig_ctx=context,
                                          one_rr_per_rrset=asked.question[0].rdtype == dns.rdatatype.IXFR)
            context = reply.tsig_ctx
            assert reply.had_tsig == asked.had_tsig
            done = inbound.process_message(reply)
    return zone


def axfr(pair, name="large", key=False, where=None):
    asked = query(name, key=key)
    with connect(pair, where=where) as sock:
        send(sock, asked)
        return read_zone(sock, asked, name)


def content(server, name="large"):
    return dns.zone.from_file(str(server.dir / f"{name}.zone"), name, relativize=False)


@pytest.mark.parametrize("key, family", [(False, 4), (True, 4), (False, 6)])
def test_axfr(server, pair, key, family):
    assert axfr(pair, key=key, where=pair.server6 if family == 6 else None) == content(server)
    server.wait_log(r"AXFR, outgoing, remote \S+ TCP, (key xfr\., )?started, serial 1\n")
    server.wait_log(r"AXFR, outgoing, remote \S+ TCP, (key xfr\., )?finished, \d+\.\d\d seconds, \d+ messages, \d{6,7} bytes\n")


def test_what_follows_on_the_connection(server, pair):
    """Requests behind a transfer are answered behind it, also those of a client that sends no more."""
    with connect(pair) as sock:
        send(sock, query("example"), query("h7.large", "A"), query("example"))
        sock.shutdown(socket.SHUT_WR)
        got = [dns.message.from_wire(message, xfr=True) for message in frames(sock)]
    assert [message.question[0].rdtype for message in got] == [dns.rdatatype.AXFR, dns.rdatatype.A, dns.rdatatype.AXFR]


def test_ixfr(server, pair):
    zone = axfr(pair, "example")
    server.knotc("zone-begin", "example")
    server.knotc("zone-set", "example", "new", "60", "A", "192.0.2.7")
    server.knotc("zone-commit", "example")
    now = axfr(pair, "example")
    assert zone != now
    with inside(pair.client):
        dns.query.inbound_xfr(pair.server4, zone, dns.xfr.make_query(zone)[0], port=53, lifetime=10 * PATIENCE)
    assert zone == now
    server.wait_log(r"IXFR, outgoing, remote \S+ TCP, finished, \d\.\d\d seconds, 1 messages, \d+ bytes\n")


def test_several_beside_slow_and_broken_ones(server, pair):
    """Readers that stop and readers that reset delay neither the others nor queries."""
    want, got = content(server), []
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            send(stack.enter_context(connect(pair, rcvbuf=4096)), query("large"))
        for _ in range(5):
            sock = connect(pair)
            send(sock, query("large"))
            sock.recv(1000)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        threads = [threading.Thread(target=lambda: got.append(axfr(pair))) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            with inside(pair.client):
                assert dns.query.udp(dns.message.make_query("h7.large", "A"), pair.server4, timeout=PATIENCE).answer
        for thread in threads:
            thread.join()
        assert len(got) == 8 and all(zone == want for zone in got)
    assert server.log().count("finished") >= 8


@pytest.mark.parametrize("item, survives", [("tcp-outbuf-max-size: 64M", True), ("ring-size: 1024", False), ("tcp: off", False)])
def test_reload_during_a_transfer(server, pair, item, survives):
    """New limits end nothing. Where the workers are made again, or TCP goes, a client hears of it at once, and transfers are served afterwards."""
    asked = query("large")
    with connect(pair, rcvbuf=4096) as sock:
        send(sock, asked)
        sock.recv(1000, socket.MSG_PEEK)
        text = server.path.read_text()
        server.path.write_text(re.sub("    tcp: on", f"    {item}" if item.startswith("tcp: ") else rf"\g<0>\n    {item}", text))
        server.knotc("reload", timeout=60)
        if survives:
            assert read_raw(sock, NAMES + 5)
        else:
            with pytest.raises((ConnectionResetError, StopIteration, AssertionError)):
                read_raw(sock, NAMES + 5)
            wait_until(lambda: "connection ended early" in server.log(), "the end of the transfer")
    if item != "tcp: off":
        assert axfr(pair, "example") == content(server, "example")


def test_too_many_at_once(server, pair):
    """Beyond 1024 transfers of a worker the next is answered with SERVFAIL; when one has gone, there is room again."""
    asked, signed = query("large"), query("example", key=True)
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(pair, rcvbuf=4096)) for _ in range(1024)]
        for sock in socks:
            send(sock, asked)
        for sock in socks:
            assert sock.recv(1)
        with connect(pair) as late:
            send(late, signed, query("h7.large", "A"))
            stream = frames(late)
            reply = dns.message.from_wire(next(stream), keyring=KEYRING, request_mac=signed.mac)
            assert reply.rcode() == dns.rcode.SERVFAIL
            assert dns.message.from_wire(next(stream)).answer       # the connection stays
            socks[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            socks[0].close()
            wait_until(lambda: "connection ended early" in server.log(), "the end of one")
            send(late, query("example"))
            assert dns.message.from_wire(next(stream), xfr=True).rcode() == dns.rcode.NOERROR


def read_raw(sock, records):
    """The messages of a transfer of so many records, as bytes; not parsed, which would take most of the time."""
    data, stream = [], frames(sock)
    while records > 0:
        data.append(next(stream))
        records -= int.from_bytes(data[-1][6:8], "big")
    assert records == 0
    return data


def test_slow_readers_finish(make_knotd, pair):
    """Windows that stay closed for longer than tcp-idle-reset-timeout: a reader that goes on gets it all."""
    names = 60000
    server = start(make_knotd, pair, names, "    tcp-idle-close-timeout: 1\n    tcp-idle-reset-timeout: 1\n")
    asked = query("large")
    with contextlib.ExitStack() as stack:
        socks = [stack.enter_context(connect(pair, rcvbuf=32768)) for _ in range(8)]
        for sock in socks:
            send(sock, asked)
        time.sleep(3.5)     # nothing is read for so long
        with ThreadPoolExecutor(len(socks)) as pool:
            got = list(pool.map(lambda sock: read_raw(sock, names + 5), socks[:-2]))
        assert all(messages == got[0] for messages in got)
        for name in ("tcp-idle-reset", "tcp-dropped-outbuf", "tcp-gave-up"):
            assert f"xdp.{name}" not in server.knotc("stats").stdout
        assert re.search(r"xdp\.tcp-clients\[\S+ = \d", server.knotc("stats").stdout)     # two are still there
