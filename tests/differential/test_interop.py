# SPDX-License-Identifier: BSD-2-Clause
"""Transfers, NOTIFY and dynamic updates between us and the distribution's knotd, nsd and named: both directions, IPv4 and IPv6, each TSIG
algorithm. Afterwards the zones of both sides are the same, record for record."""
import os
import pathlib
import re
import subprocess
import tempfile

import dns.query
import dns.rcode
import dns.tsigkeyring
import dns.update
import pytest

from harness.waiting import PATIENCE
from interop_fleet import ADDRESSES, ALGORITHMS, IN, OUT, PROGRAMS, SECRET, SMALL, Fleet, records_at, wire_name

WAYS = {OUT: "we are primary", IN: "we are secondary"}
# Which client updates the zones that we are primary of, by the peer that is their secondary.
CLIENTS = {"knot": "knsupdate", "nsd": "dnspython", "named": "nsupdate"}
SEEN = {}       # {(peer, way, family, algorithm): what was seen}


def print_table():
    """What was seen, for who runs this. Not seen in a test's process that pytest-xdist started."""
    print("\nA: AXFR, I: IXFR, N: NOTIFY, U: dynamic update (knot: knsupdate, nsd: dnspython, named: nsupdate)")
    print(f"{'peer':6} {'direction':17} {'':5}" + "".join(f"{algorithm.removeprefix('hmac-'):>8}" for algorithm in ALGORITHMS))
    for peer in PROGRAMS:
        for way, text in WAYS.items():
            for family in ADDRESSES:
                marks = ["".join(sorted(SEEN.get((peer, way, family, algorithm), "-"))) for algorithm in ALGORITHMS]
                print(f"{peer:6} {text:17} {family:5}" + "".join(f"{mark:>8}" for mark in marks))


@pytest.fixture(scope="module")
def fleet(request):
    missing = [program for program in PROGRAMS.values() if not os.path.exists(program)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="bowline-") as directory:
        pathlib.Path(directory).chmod(0o755)
        made = Fleet(directory, PROGRAMS)
        try:
            made.start()
            yield made
        finally:
            made.finish()
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print_table()


def note(case, what):
    SEEN.setdefault((case.peer, case.way, case.family, case.algorithm), set()).add(what)


def lines(fleet):
    """{zone: our log's lines about it}."""
    found = {}
    for line in fleet.ours.log().splitlines():
        match = re.search(r" \[(\S+)\] (.*)", line)
        if match:
            found.setdefault(match[1], []).append(match[2])
    return found


def peer_text(case, port=r"\d+"):
    key = f", key {re.escape(case.key)}" if case.key else ""
    return rf"remote {re.escape(case.address)}@{port}( TCP)?{key},"


def assert_logged(of_zone, case, pattern, what):
    text = "\n".join(of_zone.get(case.zone, []))
    assert re.search(f"^{pattern}", text, re.M), f"{case.zone}: no line /{pattern}/ in\n{text}"
    note(case, what)


def assert_equal(fleet, case):
    ours, theirs = (records_at(server.port, case) for server in (fleet.ours, fleet.peers[case.peer]))
    assert ours == theirs, f"{case.zone}: only ours {sorted(ours - theirs)[:5]}, only theirs {sorted(theirs - ours)[:5]}"


def test_whole_zones(fleet):
    """AXFR fills an empty secondary; the big zones take several messages, each of which is signed."""
    of_zone = lines(fleet)
    for case in fleet.cases:
        direction = "outgoing" if case.way == OUT else "incoming"
        messages = r"\d+" if case.size == SMALL else r"([2-9]|\d\d+)"
        assert_logged(of_zone, case, rf"AXFR, {direction}, {peer_text(case)} finished, .*seconds, {messages} messages", "A")
        assert_equal(fleet, case)


def test_differences(fleet):
    """A file is edited and its server reloads it: NOTIFY says so, IXFR brings it."""
    fleet.edit()
    of_zone = lines(fleet)
    for case in fleet.cases:
        port = fleet.peers[case.peer].port if case.way == OUT else r"\d+"
        notify = "outgoing" if case.way == OUT else "incoming"
        # nsd's NOTIFY has no SOA.
        serial = r"serial (2|none)" if case.peer == "nsd" and case.way == IN else "serial 2"
        assert_logged(of_zone, case, rf"notify, {notify}, {peer_text(case, port)} {serial}$", "N")
        assert_logged(of_zone, case, rf"IXFR, {notify}, {peer_text(case)} finished, ", "I")
        assert not re.search(r"fallback to AXFR|AXFR-style", "\n".join(of_zone[case.zone])), of_zone[case.zone]
        assert_equal(fleet, case)


def client_command(fleet, case, is_tcp):
    """What runs nsupdate or knsupdate with the update."""
    tool = CLIENTS[case.peer]
    key = ["-y", f"{case.algorithm}:{case.key}:{SECRET}"] if case.key else []
    text = (f"server {case.address} {fleet.ours.port}\nzone {case.zone}\nprereq yxdomain ns.{case.zone}\n"
            f"update add new.{case.zone} 60 AAAA 2001:db8::{case.size}\nupdate delete a.b.c.ent.{case.zone} SRV\nsend\n")
    process = subprocess.Popen([tool, "-t", "30", *(["-v"] if is_tcp else []), *key], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    process.stdin.write(text)
    process.stdin.close()
    return process


def update_by_dnspython(fleet, case, is_tcp):
    keyring = dns.tsigkeyring.from_text({case.key: SECRET}) if case.key else None
    message = dns.update.UpdateMessage(case.zone, keyring=keyring, keyname=case.key, keyalgorithm=wire_name(case.algorithm))
    message.present("ns")
    message.add("new", 60, "AAAA", f"2001:db8::{case.size}")
    message.delete("a.b.c.ent", "SRV")
    reply = (dns.query.tcp if is_tcp else dns.query.udp)(message, case.address, 30 * PATIENCE, fleet.ours.port)
    assert reply.rcode() == dns.rcode.NOERROR and reply.had_tsig == bool(case.key), (case.zone, reply)


def test_updates(fleet):
    """nsupdate, knsupdate and dnspython update zones that we are primary of, over UDP and TCP; the secondaries follow by IXFR."""
    if fleet.version < 2:
        fleet.edit()
    cases, running = [case for case in fleet.cases if case.way == OUT], []
    for number, case in enumerate(cases):
        if CLIENTS[case.peer] == "dnspython":
            update_by_dnspython(fleet, case, number % 2)
        else:
            running.append((case, client_command(fleet, case, number % 2)))
    for case, process in running:
        output = process.stdout.read()
        assert process.wait(60 * PATIENCE) == 0, f"{case.zone}: {output}"
    fleet.wait(3, fleet.primary, cases)
    fleet.wait(3, fleet.secondary, cases)
    of_zone = lines(fleet)
    for case in cases:
        assert_logged(of_zone, case, r"DDNS, finished, serial 2 -> 3, ", "U")
        assert_logged(of_zone, case, rf"IXFR, outgoing, {peer_text(case)} started, serial 2 -> 3$", "I")
        assert_equal(fleet, case)
        owners = {owner for owner, *_ in records_at(fleet.peers[case.peer].port, case)}
        assert f"new.{case.zone}" in owners and f"a.b.c.ent.{case.zone}" not in owners
