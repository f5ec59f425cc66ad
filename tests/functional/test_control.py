# SPDX-License-Identifier: BSD-2-Clause
"""knotc against a running daemon, and the counters that it shows."""
import json
import os
import re
import socket

import pytest

from harness.server import built, is_ours
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.core

DISTRIBUTION = "/usr/sbin/knotc"


@pytest.fixture(params=["own", "distribution"])
def knotc(request):
    if request.param == "distribution":
        if not os.path.exists(DISTRIBUTION):
            pytest.skip("the distribution's knotc is not installed")
        return DISTRIBUTION
    return built("knotc", "tools") if is_ours() else DISTRIBUTION


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"], text="mod-stats:\n  - id: all\n    query-type: on\n    edns-presence: on\n"
                    "    flag-presence: on\n    reply-nodata: on\n    query-size: on\n    reply-size: on\n"
                    "    request-edns-option: on\n    response-edns-option: on\n"
                    "template:\n  - id: default\n    global-module: mod-stats/all\n")
    return knotd.start()


def test_status(server, knotc):
    done = server.knotc("status", program=knotc)
    assert "Running" in done.stdout
    assert re.search(r"UDP workers: 2, TCP workers: 2", server.knotc("status", "workers", program=knotc).stdout)
    assert server.knotc("status", "version", program=knotc).stdout.strip()


def test_zone_status(server, knotc):
    text = server.knotc("zone-status", "example", program=knotc).stdout
    assert "[example.]" in text and re.search(r"role: master", text) and re.search(r"serial: 7\b", text)


def test_zone_status_contents_only_when_asked(server):
    """The field isn't Knot's: scripts that read zone-status don't see it."""
    assert server.knotc("zone-status", "example").stdout == "[example.] role: master | serial: 7\n"
    assert server.knotc("zone-status", "example", "+contents").stdout == "[example.] contents: file\n"
    assert server.knotc("zone-status", "example", "+serial", "+contents").stdout == "[example.] serial: 7 | contents: file\n"
    for options in (["-e"], ["-j"]):
        assert "contents" not in server.knotc(*options, "zone-status", "example").stdout
    assert '"type": "contents", "data": "file"' in server.knotc("-j", "raw", "zone-status", "example", "+contents").stdout


def test_zone_read(server, knotc):
    text = server.knotc("zone-read", "example", "www", "A", program=knotc).stdout
    assert re.search(r"\[example\.\] www\.example\. 3600 A 192\.0\.2\.80", text)
    everything = server.knotc("zone-read", "example", program=knotc).stdout
    assert "192.0.2.99" in everything and len(everything.splitlines()) > 40


def test_unknown_zone_and_command(server, knotc):
    done = server.knotc("zone-status", "nowhere", program=knotc, check=False)
    assert done.returncode == 1 and "no such zone" in done.stdout
    assert server.knotc("zone-frobnicate", program=knotc, check=False).returncode == 1


def test_stop(server, knotc):
    assert "Stopped" in server.knotc("stop", program=knotc).stdout
    assert server.wait_end() == 0


def test_zone_reload_blocking(server, knotc):
    server.write("example.zone", example(8))
    assert "OK" in server.knotc("-b", "zone-reload", "example", program=knotc).stdout
    assert server.ask("version.example", "TXT").answer[0][0].strings[0] == b"8"


def test_counters(server):
    """Each question moves exactly the counters that speak of it."""
    base = server.stats()

    def change(function):
        nonlocal base
        function()
        after = server.stats()
        moved = {key: value - base.get(key, 0) for key, value in after.items() if value != base.get(key, 0)}
        base = after
        return {key[len("mod-stats."):]: value for key, value in moved.items() if key.startswith("mod-stats.")}

    moved = change(lambda: server.ask("www.example", "A", use_edns=False))
    assert moved["request-protocol[udp4]"] == 1
    assert moved["server-operation[query]"] == 1
    assert moved["response-code[NOERROR]"] == 1
    assert moved["query-type[A]"] == 1
    assert moved["request-bytes[query]"] == 29
    assert "edns-presence[request]" not in moved and "reply-nodata[A]" not in moved

    moved = change(lambda: server.ask("nothing.example", "MX", tcp=True, use_edns=0, want_dnssec=True))
    assert moved["request-protocol[tcp4]"] == 1
    assert moved["response-code[NXDOMAIN]"] == 1
    assert moved["edns-presence[request]"] == 1 and moved["edns-presence[response]"] == 1
    assert moved["flag-presence[DO]"] == 1
    assert moved["query-type[MX]"] == 1

    moved = change(lambda: server.ask("mail.example", "AAAA"))
    assert moved["reply-nodata[AAAA]"] == 1 and moved["response-code[NOERROR]"] == 1

    moved = change(lambda: server.ask("big.example", "TXT", use_edns=0, payload=512))
    assert moved["flag-presence[TC]"] == 1

    moved = change(lambda: server.ask("elsewhere", "A"))
    assert moved["response-code[REFUSED]"] == 1


def test_server_counters(server):
    stats = server.stats()
    assert stats["server.zone-count"] == 1
    assert server.knotc("stats", "server").stdout.splitlines() != []
    assert server.knotc("stats", "server.nonsense", check=False).returncode == 1


def test_configuration_check(server, knotc):
    done = server.knotc("-c", str(server.path), "conf-check", program=knotc)
    assert "Configuration is valid" in done.stdout
    bad = server.write("bad.conf", "server:\n    nonsense: 1\n")
    done = server.knotc("-c", str(bad), "conf-check", program=knotc, check=False)
    assert done.returncode == 1 and "line 2" in done.stdout


@pytest.mark.ours
def test_json(server):
    """What Knot's knotc lacks."""
    assert json.loads(server.knotc("-j", "zone-status", "example").stdout)
    assert json.loads(server.knotc("-j", "-f", "stats").stdout)


def test_garbage_on_the_socket(server):
    """Bytes that are no request close the connection and nothing else."""
    for data in (b"\xff" * 100, b"\x01\x10\xff\xff", b"\x01\x10\x00\x06status", b"\x03" * 5000, b""):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(10 * PATIENCE)
            sock.connect(str(server.socket))
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(4096):
                    pass
            except (ConnectionError, TimeoutError):
                pass
    assert "Running" in server.knotc("status").stdout
