# SPDX-License-Identifier: BSD-2-Clause
"""A primary with three secondaries: our own, the distribution's knotd and named. All share one key, for NOTIFY and for transfers."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import types

import dns.message
import dns.query
import dns.rcode
import pytest

from harness.net import free_port
from harness.server import Knotd
from harness.waiting import wait_until
from test_refresh import KNOT, NAMED, SECRET, serial_of, zone_text

pytestmark = [pytest.mark.ours, pytest.mark.core]

KEY = f"key:\n  - id: k.\n    algorithm: hmac-sha256\n    secret: {SECRET}\n"


def secondary_text(daemon, primary):
    return (f"{KEY}remote:\n  - id: p\n    address: 127.0.0.1@{primary.port}\n    key: k.\n"
            f"acl:\n  - id: n\n    key: k.\n    action: notify\n"
            f"zone:\n  - domain: example\n    storage: {daemon.dir}\n    master: p\n    acl: n\n")


@contextlib.contextmanager
def running_named(folder, primary):
    """Its port, or None if it isn't installed. A copy of the program isn't confined to the distribution's folders."""
    if not os.path.exists(NAMED):
        yield None
        return
    folder.mkdir()
    port = free_port()
    (folder / "named.conf").write_text(f"""options {{ directory "{folder}"; pid-file none; session-keyfile none; managed-keys-directory "{folder}";
lock-file none; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no; dnssec-validation no; empty-zones-enable no; }};
controls {{ }};
key "k." {{ algorithm hmac-sha256; secret "{SECRET}"; }};
zone "example" {{ type secondary; file "{folder}/example.db"; primaries {{ 127.0.0.1 port {primary.port} key "k."; }};
allow-notify {{ key "k."; }}; notify no; }};
""")
    program = folder / "named"
    shutil.copy(NAMED, program)
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([program, "-f", "-n", "1", "-c", folder / "named.conf", "-g"], stdout=log, stderr=log, cwd=folder)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def servers():
    with tempfile.TemporaryDirectory(prefix="bowline-") as directory, contextlib.ExitStack() as stack:
        top = pathlib.Path(directory)
        top.chmod(0o755)
        primary, ours = Knotd(top / "p"), Knotd(top / "s")
        daemons = [primary, ours]
        stack.callback(lambda: [daemon.finish() for daemon in daemons])
        named = stack.enter_context(running_named(top / "n", primary))
        peers = {"ours": ours.port, "named": named}
        if os.path.exists(KNOT):
            knot = Knotd(top / "k", program=KNOT)
            (knot.dir / "db").mkdir()
            daemons.append(knot)
            peers["knot"] = knot.port
        remotes = "".join(f"  - id: {name}\n    address: 127.0.0.1@{port}\n    key: k.\n" for name, port in peers.items() if port)
        primary.write("example.zone", zone_text(1))
        primary.configure(f"{KEY}remote:\n{remotes}acl:\n  - id: t\n    key: k.\n    action: transfer\nzone:\n  - domain: example\n"
                          f"    storage: {primary.dir}\n    zonefile-sync: -1\n    acl: t\n"
                          f"    notify: [{', '.join(name for name, port in peers.items() if port)}]\n")
        for daemon in daemons[1:]:
            daemon.configure(secondary_text(daemon, primary))
        for daemon in daemons:
            daemon.start()
        for name, port in peers.items():
            if port:
                at(port, 1, lambda name=name: f"{name} has the zone\n{ours.log()[-3000:]}\n{primary.log()[-3000:]}")
        yield types.SimpleNamespace(primary=primary, ours=ours, peers=peers)


def question(port, name, rdtype):
    try:
        return dns.query.udp(dns.message.make_query(name, rdtype), "127.0.0.1", port=port, timeout=1)
    except Exception:
        return None


def at(port, serial, what):
    """Wait until the server at the port has a version with the serial, or a newer one."""
    def has_it():
        answer = question(port, "example", "SOA")
        return bool(answer and answer.answer and answer.answer[0][0].serial >= serial)
    wait_until(has_it, what, 20)


def change(primary, owner):
    """Commit an address; the serial of the new version."""
    for command in (["zone-begin", "example"], ["zone-set", "example", owner, "60", "A", "192.0.2.9"], ["zone-commit", "example"]):
        primary.knotc(*command)
    return serial_of(primary)


def test_change_is_seen_at_our_secondary(servers):
    """NOTIFY and IXFR, both with the key, as both logs say."""
    serial = change(servers.primary, "ours")
    at(servers.ours.port, serial, lambda: f"serial {serial}\n{servers.ours.log()[-4000:]}")
    assert servers.ours.ask("ours.example", "A").answer[0][0].address == "192.0.2.9"
    told = rf"127\.0\.0\.1@{servers.ours.port} TCP, key k\., serial {serial}\n"
    servers.primary.wait_log(rf"info: \[example\.\] notify, outgoing, remote {told}")
    servers.primary.wait_log(rf"info: \[example\.\] IXFR, outgoing, remote 127\.0\.0\.1@\d+ TCP, key k\., started, serial {serial - 1} -> {serial}\n")
    servers.ours.wait_log(rf"info: \[example\.\] notify, incoming, remote 127\.0\.0\.1@\d+ TCP, key k\., serial {serial}\n")
    servers.ours.wait_log(rf"IXFR, incoming, remote 127\.0\.0\.1@{servers.primary.port} TCP, key k\., finished, remote serial {serial}, ")
    servers.ours.wait_log(rf"zone updated, \d+\.\d\d seconds, serial {serial - 1} -> {serial},")


@pytest.mark.parametrize("peer", ["knot", "named"])
def test_change_is_seen_at_others(servers, peer):
    port = servers.peers.get(peer)
    if not port:
        pytest.skip(f"{peer} isn't installed")
    serial = change(servers.primary, peer)
    at(port, serial, lambda: f"serial {serial}\n{servers.primary.log()[-4000:]}")
    assert question(port, f"{peer}.example", "A").answer[0][0].address == "192.0.2.9"
    servers.primary.wait_log(rf"info: \[example\.\] notify, outgoing, remote 127\.0\.0\.1@{port} TCP, key k\., serial {serial}\n")


def test_notify_without_key_is_refused(servers):
    """Such a NOTIFY starts no refresh."""
    message = dns.message.make_query("example", "SOA")
    message.set_opcode(dns.opcode.NOTIFY)
    assert dns.query.udp(message, "127.0.0.1", port=servers.ours.port, timeout=10).rcode() == dns.rcode.NOTAUTH
    servers.ours.wait_log(r"\[example\.\] ACL, denied, action notify, remote 127\.0\.0\.1@\d+")


def test_commands(servers):
    primary, ours = servers.primary, servers.ours
    serial = serial_of(primary)
    at(ours.port, serial, "our secondary is up to date")
    start = len(ours.log())
    assert primary.knotc("-b", "zone-notify", "example").stdout == "OK\n"
    wait_until(lambda: f"key k., serial {serial}\n" in ours.log()[start:], "the NOTIFY", 20)
    assert ours.knotc("-b", "zone-refresh", "example").stdout == "OK\n"
    wait_until(lambda: re.search(rf"remote serial {serial}, zone is up-to-date", ours.log()[start:]), "the reply to zone-refresh", 20)
    assert "AXFR" not in ours.log()[start:]
    assert ours.knotc("-b", "zone-retransfer", "example").stdout == "OK\n"
    wait_until(lambda: re.search(rf"AXFR, incoming, .*finished, remote serial {serial}, ", ours.log()[start:]), "AXFR", 20)
    status = ours.knotc("zone-status", "example").stdout
    assert "role: slave" in status and f"serial: {serial}" in status, status


def test_frozen_transfers_are_refused(servers):
    primary, ours = servers.primary, servers.ours
    assert primary.knotc("-b", "zone-xfr-freeze", "example").stdout == "OK\n"
    start = len(ours.log())
    try:
        refused = ours.knotc("-b", "zone-retransfer", "example", check=False)
        assert refused.returncode != 0 and "no usable master" in refused.stdout, (refused, ours.log()[-3000:])
        assert re.search(r"AXFR, incoming, .*server responded with error '\w+'", ours.log()[start:]), ours.log()[-3000:]
        assert serial_of(ours) == serial_of(primary), "the zone that it has goes on being served"
    finally:
        assert primary.knotc("-b", "zone-xfr-thaw", "example").stdout == "OK\n"
    assert ours.knotc("-b", "zone-retransfer", "example").stdout == "OK\n"
