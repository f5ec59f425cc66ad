# SPDX-License-Identifier: BSD-2-Clause
"""A primary makes a catalog of its zones; our own server and the distribution's knotd have the zones from that."""
import os
import re
import signal

import dns.query
import dns.rdatatype
import dns.zone
import pytest

from harness.server import Knotd

pytestmark = [pytest.mark.ours, pytest.mark.core]

KNOT = "/usr/sbin/knotd"
MEMBER = "@ 60 SOA ns admin 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n"


def configure_primary(daemon, members, peers):
    """members: name to group, or None."""
    text = "".join(f"  - id: {name}\n    address: 127.0.0.1@{peer.port}\n" for name, peer in peers.items())
    to = ", ".join(peers)
    zones = "".join(f"  - domain: {name}\n    storage: {daemon.dir}\n    acl: t\n    notify: [{to}]\n    catalog-role: member\n    catalog-zone: gen.\n"
                    + (f"    catalog-group: {group}\n" if group else "") for name, group in members.items())
    daemon.configure(f"remote:\n{text}acl:\n  - id: t\n    address: 127.0.0.1\n    action: [transfer, query]\n"
                     f"zone:\n  - domain: gen.\n    storage: {daemon.dir}\n    catalog-role: generate\n    acl: t\n    notify: [{to}]\n{zones}")
    for name in members:
        if not (daemon.dir / f"{name}.zone").exists():
            daemon.write(f"{name}.zone", MEMBER)


def configure_secondary(daemon, primary):
    daemon.configure(f"remote:\n  - id: p\n    address: 127.0.0.1@{primary.port}\nacl:\n  - id: n\n    address: 127.0.0.1\n    action: [notify, query]\n"
                     f"template:\n  - id: t\n    storage: {daemon.dir}\n    master: p\n    acl: n\n"
                     f"  - id: g\n    storage: {daemon.dir}/g\n    master: p\n    acl: n\n"
                     f"zone:\n  - domain: gen.\n    storage: {daemon.dir}\n    master: p\n    acl: n\n    catalog-role: interpret\n    catalog-template: [t, g]\n")
    (daemon.dir / "g").mkdir(exist_ok=True)
    (daemon.dir / "db").mkdir(exist_ok=True)


def answers(daemon, member):
    try:
        answer = daemon.ask(f"ns.{member}", "A")
    except Exception:
        return False
    return bool(answer.answer)


def listed(primary):
    """Member to unique id, by transfer."""
    zone = dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "gen.", port=primary.port, relativize=False), relativize=False)
    return {rdataset[0].target.to_text(True): name.labels[0].decode() for name, node in zone.nodes.items()
            for rdataset in node.rdatasets if rdataset.rdtype == dns.rdatatype.PTR}


def wait_served(daemons, members, gone=()):
    for daemon in daemons:
        daemon.wait(lambda: all(answers(daemon, m) for m in members) and not any(answers(daemon, m) for m in gone), 30,
                    f"members {members} without {gone}")


@pytest.fixture
def fleet(make_knotd, directory):
    primary, ours = make_knotd(name="p"), make_knotd(name="s")
    secondaries = {"ours": ours}
    knot = None
    if os.path.exists(KNOT):
        knot = Knotd(directory / "k", program=KNOT)
        secondaries["knot"] = knot
    configure_primary(primary, {"a.test": None, "b.test": "g"}, secondaries)
    primary.start()
    for daemon in secondaries.values():
        configure_secondary(daemon, primary)
        daemon.start()
    yield primary, secondaries
    if knot is not None:
        knot.stop()


def test_fleet_follows(fleet):
    primary, secondaries = fleet
    ours = secondaries["ours"]
    wait_served(secondaries.values(), ("a.test", "b.test"))
    before = listed(primary)
    assert set(before) == {"a.test", "b.test"} and all(re.fullmatch("[0-9a-f]{16}", unique) for unique in before.values())
    assert (ours.dir / "g" / "b.test.zone").exists() or "b.test" in ours.log()
    # A zone more: the others keep their ids, and their secondaries aren't touched.
    configure_primary(primary, {"a.test": None, "b.test": "g", "c.test": None}, secondaries)
    primary.knotc("reload")
    wait_served(secondaries.values(), ("a.test", "b.test", "c.test"))
    after = listed(primary)
    assert {name: after[name] for name in before} == before and "c.test" in after
    assert len(re.findall(r"\[a\.test\.\] AXFR, incoming.* started", ours.log())) == 1
    # One less.
    configure_primary(primary, {"b.test": "g", "c.test": None}, secondaries)
    primary.knotc("reload")
    wait_served(secondaries.values(), ("b.test", "c.test"), ("a.test",))
    # It comes back with another id (RFC 9432 5.4), the rest as it was, also after a kill: times are on disk.
    ids = listed(primary)
    serial = primary.ask("gen.", "SOA").answer[0][0].serial
    primary.stop(signal.SIGKILL)
    primary.start()
    primary.wait(lambda: primary.ask("gen.", "SOA").answer, 20, "the catalog")
    assert listed(primary) == ids
    assert primary.ask("gen.", "SOA").answer[0][0].serial == serial, "nothing changed"
    # A secondary that restarts asks, and transfers nothing that is the same.
    ours.stop(signal.SIGKILL)
    at = len(ours.log())
    ours.start()
    wait_served([ours], ("b.test", "c.test"))
    ours.wait(lambda: len(re.findall(r"\[(gen|[bc]\.test)\.\] refresh, remote [^\n]*zone is up-to-date", ours.log()[at:])) >= 3, 20, "refreshes")
    assert "AXFR, incoming" not in ours.log()[at:]


def test_knot_makes_and_reads_ours(make_knotd, directory):
    """The distribution's knotd as primary, and in its place ours on the same files."""
    if not os.path.exists(KNOT):
        pytest.skip("Debian's knot isn't installed")
    primary, ours = Knotd(directory / "k", program=KNOT), make_knotd(name="s")
    try:
        (primary.dir / "db").mkdir()
        configure_primary(primary, {"a.test": None, "b.test": "g"}, {"ours": ours})
        configure_secondary(ours, primary)
        primary.start()
        ours.start()
        wait_served([ours], ("a.test", "b.test"))
        configure_primary(primary, {"b.test": "g", "c.test": None}, {"ours": ours})
        primary.knotc("reload")
        wait_served([ours], ("b.test", "c.test"), ("a.test",))
    finally:
        primary.stop()
