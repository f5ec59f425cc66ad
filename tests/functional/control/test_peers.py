# SPDX-License-Identifier: BSD-2-Clause
"""Guards the promise that clients and servers mix: the distribution's knotc and our knotc print the same, against our
server and against the distribution's; the counters of mod-stats move as Knot's do."""
import contextlib
import os
import re
import socket
import subprocess

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.query
import pytest

from harness.server import Knotd, built, is_ours
from harness.waiting import PATIENCE
from zones import example

PEER_KNOTD, PEER_KNOTC = "/usr/sbin/knotd", "/usr/sbin/knotc"

needs_peer = pytest.mark.skipif(not (os.path.exists(PEER_KNOTD) and os.path.exists(PEER_KNOTC) and is_ours()),
                                reason="the distribution's knot is not installed")

STATISTICS = ("mod-stats:\n  - id: all\n    query-type: on\n    edns-presence: on\n    flag-presence: on\n"
              "    reply-nodata: on\n    query-size: on\n    reply-size: on\n    request-edns-option: on\n"
              "    response-edns-option: on\n"
              "template:\n  - id: default\n    global-module: mod-stats/all\n    module: mod-stats/all\n")


def start(daemon, text=STATISTICS):
    daemon.write("example.zone", example(7))
    daemon.configure(zones=["example", "missing.test"], text=text, server="version: x\nidentity: y\nnsid: z")
    daemon.conf(daemon.path.read_text().replace("udp-workers: 2", "udp-workers: 1"))    # messages are handled in their order
    daemon.start()
    # The distribution's server may load zones after it has said that it started.
    daemon.wait(lambda: "serial: 7" in daemon.knotc("zone-status", "example").stdout, what="the zone")
    daemon.wait_log(r"missing\.test\.\] zone event 'load' failed")
    daemon.wait(lambda: re.search(r"running: 0.*pending: 0", daemon.knotc("status", "workers").stdout), what="the end of its jobs")
    return daemon


@pytest.fixture
def peer(directory):
    (directory / "peer").mkdir()
    daemon = Knotd(directory / "peer", program=PEER_KNOTD)
    yield daemon
    daemon.finish()


def both(server, *arguments):
    """Exit status and output of the distribution's knotc and of ours, without the warnings that only ours asks for."""
    results = []
    for program in (PEER_KNOTC, built("knotc", "tools")):
        done = server.knotc(*arguments, program=program, check=False)
        lines = [re.sub(r"^(Reloaded|OK), \d+ warnings?:$", r"\1", line) for line in done.stdout.splitlines() if not line.startswith("warning: ")]
        # Knot prints two blanks where an error is of no zone, and one after an error without an item.
        results.append((done.returncode, [line.replace("error:  (", "error: (").rstrip() for line in lines]))
    return results


READ_ONLY = [
    ("status",), ("status", "version"), ("status", "workers"), ("status", "nonsense"), ("status", "a", "b"),
    ("zone-status",), ("zone-status", "example"), ("-e", "zone-status", "example"), ("-X", "zone-status"),
    ("zone-status", "example", "missing.test", "+role", "+serial"), ("zone-status", "--", "+role"),
    ("zone-status", "+role", "example"),
    ("zone-status", "nowhere"), ("zone-status", "example", "nowhere"), ("zone-status", "+nonsense"), ("zone-status", "a..b"),
    ("zone-read", "example"), ("zone-read", "example", "www"), ("zone-read", "example", "www", "A"),
    ("zone-read", "example", "@", "SOA"), ("zone-read", "example", "www", "MX"), ("zone-read", "example", "nothing"),
    ("zone-read", "example", "www", "NONSENSE"), ("zone-read", "missing.test"), ("zone-read", "--", "@", "SOA"), ("zone-read",),
    ("stats", "server.zone-count"), ("-f", "stats", "mod-stats"), ("-f", "stats", "mod-stats.request-bytes"),
    ("stats", "nonsense"), ("zone-stats",), ("zone-reload", "example"), ("zone-reload", "-b", "example"),
    ("-b", "zone-reload", "missing.test"), ("-b", "zone-reload"), ("zone-reload", "nowhere"),
    ("zone-purge", "example"), ("zone-begin",), ("stop", "now"), ("reload", "now"), ("nonsense",), ("reload",), ("-b", "reload"),
]


@needs_peer
@pytest.mark.parametrize("whose", ["ours", "peer"])
def test_same_output(knotd, peer, whose):
    """Commands that change nothing, through both clients."""
    server = start(knotd if whose == "ours" else peer)
    for arguments in READ_ONLY:
        theirs, ours = both(server, *arguments)
        assert theirs == ours, arguments


@needs_peer
def test_not_signed_here(knotd):
    """Commands for zones that the server signs say so of others; of all zones, those are meant that it signs."""
    server = start(knotd)
    for command in ("zone-sign", "zone-keys-load"):
        for code, lines in both(server, command):
            assert code == 0 and lines == ["OK"], command
    for code, lines in both(server, "zone-sign", "example"):
        assert code == 1 and lines == ["error: [example] (operation not supported)"]


@needs_peer
def test_our_knotc_drives_a_peer(peer, directory):
    """Transactions of zones and of the configuration, against the distribution's server."""
    database = directory / "confdb"
    peer.write("example.zone", example(7))
    peer.configure(zones=["example"], server="version: x")
    subprocess.run([PEER_KNOTC, "-C", str(database), "conf-import", str(peer.path)], check=True, capture_output=True)
    peer.process = subprocess.Popen([PEER_KNOTD, "-C", str(database)], cwd=peer.dir, stdin=subprocess.DEVNULL,
                                    stdout=open(peer.output, "ab"), stderr=subprocess.STDOUT)
    peer.wait(lambda: peer.socket.exists() and peer.knotc("status", check=False).returncode == 0, 20, "the control socket")
    peer.wait(lambda: "serial: 7" in peer.knotc("zone-status", "example").stdout, 10, "the zone")

    def ours(*arguments, code=0):
        done = peer.knotc(*arguments, check=False)
        assert done.returncode == code, (arguments, done.stdout)
        return done.stdout.splitlines()

    assert ours("zone-set", "example", "new", "300", "TXT", "a", code=1) == \
        ["error: (no active transaction) [example] new 300 TXT a"]
    assert ours("zone-begin", "example") == ["OK"]
    assert ours("zone-set", "example", "new", "300", "TXT", "a b", "c") == ["OK"]
    assert ours("zone-set", "example", "new", "300", "A", "bad", code=1) == ["error: (parser failed) [example] new 300 A bad"]
    assert ours("zone-get", "example", "new", "TXT") == ['[example.] new.example. 300 TXT "a" "b" "c"']
    assert ours("zone-diff", "example") == ['[example.] +new.example. 300 TXT "a" "b" "c"']
    assert ours("zone-unset", "example", "new", "TXT") == ["OK"]
    assert ours("zone-diff", "example") == []
    assert ours("zone-abort", "example") == ["OK"]
    assert ours("zone-freeze", "example") == ["OK"]
    # The distribution's server freezes after its answer: until then it says "freezing".
    peer.wait(lambda: "freeze: yes" in ours("zone-status", "example")[0], 10, "the zone to be frozen")
    assert ours("zone-thaw", "example") == ["OK"]
    assert ours("zone-flush", "example", "+outdir", str(directory / "out"))[-1:] == ["OK"]
    assert ours("-b", "zone-backup", "example", "+backupdir", str(directory / "backup"), "+nojournal") == ["OK"]
    assert ours("-f", "zone-purge", "example", "+journal") == ["OK"]
    assert ours("zone-key-rollover", "example", "ksk", code=1) == ["error: [example] (operation not supported)"]

    assert "zone.file" in ours("conf-list", "zone")
    assert ours("conf-read", "zone.domain") == ["zone.domain = example."]
    assert ours("conf-read", "zone[example].storage") == [f"zone[example.].storage = {peer.dir}"]
    assert ours("conf-begin") == ["OK"]
    assert ours("conf-set", "server.version", "a b") == ["OK"]
    assert ours("conf-set", "server.nsid", "n") == ["OK"]
    assert ours("conf-set", "zone[other.test]") == ["OK"]
    assert ours("conf-set", "server.udp-workers", "many", code=1) == ["error: (invalid parameter) server.udp-workers = many"]
    assert ours("conf-diff", "server.version") == ["-server.version = x", "+server.version = a b"]
    assert ours("conf-unset", "zone[other.test]") == ["OK"]
    assert ours("conf-abort") == ["OK"]
    assert ours("stop") == ["Stopped"]
    peer.wait_end()


# ---- counters ----

def query(name, rdtype="A", **options):
    return dns.message.make_query(name, rdtype, id=0x1234, **options).to_wire()


def with_opcode(opcode, name="example", rdtype="SOA"):
    message = dns.message.make_query(name, rdtype, id=0x1234, use_edns=False)
    message.set_opcode(opcode)
    return message.to_wire()


def with_tsig():
    """Signed by an unknown key."""
    message = dns.message.make_query("www.example", "A", id=0x1234, use_edns=False)
    message.use_tsig({dns.name.from_text("k"): b"0123456789012345"})
    return message.to_wire()


HEADER = bytes.fromhex("1234 0000 0001 0000 0000 0000".replace(" ", ""))

MESSAGES = {
    "plain": query("www.example", use_edns=False),
    "EDNS with DO": query("www.example", use_edns=0, want_dnssec=True),
    "options": query("www.example", use_edns=0, options=[dns.edns.GenericOption(3, b""), dns.edns.GenericOption(10, b"12345678"),
                                                         dns.edns.GenericOption(65001, b"x")]),
    "NODATA": query("www.example", "MX"),
    "NXDOMAIN": query("nothing.example", "TYPE66"),
    "refused": query("elsewhere.test"),
    "unloaded zone": query("missing.test"),
    "ANY": query("www.example", "ANY"),
    "truncated": query("big.example", "TXT", use_edns=0, payload=512),
    "CHAOS": dns.message.make_query("version.bind", "TXT", "CH", id=0x1234).to_wire(),
    "BADVERS": query("www.example", use_edns=1),
    "AXFR over UDP": query("example", "AXFR", use_edns=False),
    "STATUS": with_opcode(dns.opcode.STATUS),
    "NOTIFY": with_opcode(dns.opcode.NOTIFY),
    "UPDATE": with_opcode(dns.opcode.UPDATE),
    "IXFR": query("example", "IXFR", use_edns=False),
    "NOTIFY of a zone that isn't here": with_opcode(dns.opcode.NOTIFY, "elsewhere.test"),
    "type 0": query("www.example", "TYPE0", use_edns=False),
    "a key": with_tsig(),
    "opcode 9": HEADER[:2] + b"\x48\x00" + HEADER[4:] + b"\x03www\x07example\x00\x00\x01\x00\x01",
    "no question": HEADER[:4] + b"\0\0" + HEADER[6:],
    "question cut short": HEADER + b"\x03www",
    "trailing bytes": query("www.example", use_edns=False) + b"xyz",
    "an answer": HEADER[:2] + b"\x80\x00" + HEADER[4:] + b"\x03www\x07example\x00\x00\x01\x00\x01",
    "shorter than a header": HEADER[:11],
}

# Our replies may have other lengths (compression, order of options): how much is not compared, but whether is.
SIZES = ("response-bytes", "reply-size")

# Where we count otherwise, and why.
ALLOWED = {
    # Knot doesn't answer; we answer FORMERR if the header is whole.
    "question cut short": {"request-protocol[udp4]": 1, "server-operation[invalid]": 1, "request-bytes[other]": 16,
                           "response-code[FORMERR]": 1, "response-bytes[other]": True},
}


def all_counters(server):
    zone = server.stats("-f", "zone-stats", "example")
    return server.stats() | {f"zone {key}": value for key, value in zone.items() if key.startswith("mod-stats.")}


def moved(server, before):
    """{counter: by how much it has changed since}"""
    return {key: value - before.get(key, 0) for key, value in all_counters(server).items()
            if "mod-stats." in key and value != before.get(key, 0)}


def compared(changes, cost):
    """What is compared of changes, without what is known to have been spent."""
    result = {}
    for key, value in changes.items():
        whose, _, item = key.rpartition("mod-stats.")
        if value != cost.get(key, 0):
            if item.startswith(SIZES):
                result[whose + (item if item.startswith("response-bytes") else "reply-size")] = True
            else:
                result[whose + item] = value - cost.get(key, 0)
    return result


LAST = dns.message.make_query("www.example", "A", use_edns=False, id=0xFFFE).to_wire()


def by_udp(server, data):
    """Send it, and see that it was handled: a question behind it has its answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(10 * PATIENCE)
        sock.connect(("127.0.0.1", server.port))
        if data is not None:
            sock.send(data)
        sock.send(LAST)
        while sock.recv(65535)[:2] != LAST[:2]:
            pass


def by_tcp(server, data):
    """Send it, and see that it was handled: the server has come to the end of the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10 * PATIENCE) as stream, contextlib.suppress(ConnectionError):
        if data is not None:
            stream.sendall(len(data).to_bytes(2, "big") + data)
        stream.shutdown(socket.SHUT_WR)
        while stream.recv(65535):
            pass


@needs_peer
@pytest.mark.parametrize("by", [by_udp, by_tcp])
def test_counters_like_knot(knotd, peer, by):
    """Of the server and of the zone."""
    servers = start(knotd), start(peer)
    costs = []      # of finding out that a message was handled
    for server in servers:
        before = all_counters(server)
        by(server, None)
        costs.append(moved(server, before))
    differences = {}
    for what, data in MESSAGES.items():
        allowed = ALLOWED.get(what)
        if by is by_tcp and allowed is not None:
            allowed = {key.replace("[udp4]", "[tcp4]"): value for key, value in allowed.items()}
        before = [all_counters(server) for server in servers]
        for server in servers:
            by(server, data)
        ours, theirs = (compared(moved(server, counters), cost) for server, counters, cost in zip(servers, before, costs))
        if "[BADKEY]" in str(ours):    # which Knot DNS 3.3 counts by the header's code
            theirs = {key.replace("[NOTAUTH]", "[BADKEY]"): value for key, value in theirs.items()}
        if ours != (theirs if allowed is None else allowed):
            differences[what] = (ours, theirs)
    assert not differences, "\n".join(f"{what}:\n  ours   {o}\n  theirs {t}" for what, (o, t) in differences.items())
