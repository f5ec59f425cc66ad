# SPDX-License-Identifier: BSD-2-Clause
"""Signed zones that change at random, by transactions, dynamic updates, files and IXFR: after each change the zone is the one that Debian's kzonesign makes
from scratch of its records, with the same keys, but for times, signatures' bytes and the serial.

KNOT_SEED and KNOT_CHANGES choose other and more changes.
"""
import os
import random
import shutil
import subprocess

import dns.query
import dns.rdatatype
import dns.update
import dns.zone
import pytest

from harness.validators import complaint

PEER = "/usr/bin/kzonesign"
pytestmark = pytest.mark.skipif(not shutil.which(PEER), reason="Debian's knot-dnssecutils is not installed")

SEED, CHANGES = int(os.environ.get("KNOT_SEED", 1)), int(os.environ.get("KNOT_CHANGES", 25))
CHAINS = {"nsec": [], "nsec3": ["nsec3: on"], "opt-out": ["nsec3: on", "nsec3-opt-out: on"]}
POLICY = ["nsec3-salt-length: 0", "nsec3-iterations: 0", "rrsig-lifetime: 14d", "rrsig-refresh: 1d", "rrsig-pre-refresh: 1h", "zsk-lifetime: 0", "algorithm: ecdsap256sha256"]
DNSSEC = {"RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "CDS", "CDNSKEY"}
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update, notify ]\n"
LABELS = ["a", "b", "B2", "www", "x-1"]
DS = "12345 13 2 " + "AB" * 32


class World:
    """The records that the zone is to have: of each name the rows of its kind."""

    def __init__(self, dice):
        self.dice, self.names = dice, {}
        for _ in range(20):
            self.change()

    def change(self):
        """Another kind for a name, or none. Returns (the rows that go, those that come)."""
        name = ".".join([self.dice.choice([*LABELS, "*", "_tcp"]), *self.dice.choices(LABELS, k=self.dice.choice([0, 0, 0, 1, 1, 2, 3]))])
        before = self.names.pop(name, [])
        if self.dice.random() > 0.3:
            kinds = ["plain", "many", "alias"] if "*" in name else ["plain", "plain", "many", "cut", "cut", "secure", "alias"]
            self.names[name] = self.rows(name, self.dice.choice(kinds))
        return before, self.names.get(name, [])

    @staticmethod
    def rows(name, kind):
        owner = f"{name}.example."
        return {
            "plain": [(owner, 300, "A", "192.0.2.1")],
            "many": [*[(owner, 3600, "TXT", f'"{number}"') for number in range(5)], (owner, 60, "AAAA", "2001:db8::1"), (owner, 60, "CAA", '0 issue "x"')],
            "cut": [(owner, 3600, "NS", f"glue.{owner}"), (f"glue.{owner}", 3600, "A", "192.0.2.3")],
            "secure": [(owner, 3600, "NS", "ns.elsewhere."), (owner, 3600, "DS", DS)],
            "alias": [(owner, 3600, "CNAME", "www.example.")],
        }[kind]

    def text(self, serial):
        head = f"$TTL 3600\n$ORIGIN example.\n@ SOA ns hostmaster {serial} 3600 600 86400 600\n@ NS ns.elsewhere.\n@ MX 5 mail\n"
        return head + "".join(f"{owner} {ttl} {rdtype} {rdata}\n" for rows in self.names.values() for owner, ttl, rdtype, rdata in rows)

    def plain(self):
        """What a transfer has of it, but for the apex."""
        return sorted((owner.lower(), ttl, rdtype, rdata.lower()) for rows in self.names.values() for owner, ttl, rdtype, rdata in rows)


def contents(daemon):
    return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.", port=daemon.port, relativize=False, timeout=30), relativize=False)


def plain(zone):
    return sorted((str(name).lower(), ttl, dns.rdatatype.to_text(rdata.rdtype), rdata.to_text().lower()) for name, ttl, rdata in zone.iterate_rdatas()
                  if dns.rdatatype.to_text(rdata.rdtype) not in DNSSEC and name != zone.origin)


def shape(zone):
    """All records, of signatures only what has nothing to do with times."""
    rows = []
    for name, ttl, rdata in zone.iterate_rdatas():
        what = rdata.to_text().lower()
        if rdata.rdtype == dns.rdatatype.RRSIG:
            what = (rdata.type_covered, rdata.algorithm, rdata.labels, rdata.original_ttl, rdata.key_tag)
        elif rdata.rdtype == dns.rdatatype.SOA:
            what = ""
        rows.append((str(name).lower(), ttl, dns.rdatatype.to_text(rdata.rdtype), what))
    return sorted(rows, key=str)


def policy(chain):
    return "policy:\n  - id: p\n" + "".join(f"    {item}\n" for item in [*POLICY, *CHAINS[chain]])


def from_scratch(daemon, chain, world, folder):
    """Debian's kzonesign signs the records of the world with a copy of the daemon's keys."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    shutil.copytree(daemon.dir / "db" / "keys", folder / "keys")
    (folder / "example.zone").write_text(world.text(1))
    (folder / "knot.conf").write_text(f"database:\n  storage: {folder}\n{policy(chain)}zone:\n  - domain: example\n    storage: {folder}\n    dnssec-policy: p\n")
    done = subprocess.run([PEER, "-c", folder / "knot.conf", "-o", folder / "out", "example"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dns.zone.from_file(str(folder / "out" / "example.zone"), origin="example.", relativize=False)


def send_update(daemon, gone, come):
    update = dns.update.UpdateMessage("example.")
    for owner, _, rdtype, rdata in gone:
        update.delete(owner, rdtype, rdata)
    for owner, ttl, rdtype, rdata in come:
        update.add(owner, ttl, rdtype, rdata)
    assert dns.query.tcp(update, "127.0.0.1", port=daemon.port, timeout=30).rcode() == 0


def commit(daemon, gone, come):
    daemon.knotc("zone-begin", "example")
    for owner, _, rdtype, rdata in gone:
        daemon.knotc("zone-unset", "example", owner, rdtype, rdata)
    for owner, ttl, rdtype, rdata in come:
        daemon.knotc("zone-set", "example", owner, str(ttl), rdtype, rdata)
    daemon.knotc("zone-commit", "example")


def check(daemon, chain, world, folder, what):
    """Waits for the records, as a secondary gets them a moment later; then the whole zone is as one from scratch."""
    daemon.wait(lambda: plain(contents(daemon)) == world.plain(), 20, lambda: f"{what}: {set(plain(contents(daemon))) ^ set(world.plain())}")
    zone = contents(daemon)
    ours, theirs = shape(zone), shape(from_scratch(daemon, chain, world, folder))
    assert ours == theirs, (what, sorted(map(str, set(ours) - set(theirs))), sorted(map(str, set(theirs) - set(ours))))
    path = daemon.dir / "served.zone"
    zone.to_file(str(path), relativize=False)
    fault = complaint(path)
    assert not fault, f"{what}: {fault}"


def start(daemon, chain, world, items, more=""):
    (daemon.dir / "db").mkdir()
    if world is not None:
        daemon.write("example.zone", world.text(1))
    daemon.configure(zones=["example"], text=more + ACL + policy(chain) + "template:\n  - id: default\n    acl: all\n    dnssec-policy: p\n    zonefile-sync: -1\n"
                     + "".join(f"    {item}\n" for item in items))
    daemon.start()


@pytest.mark.parametrize("chain", CHAINS)
def test_changes_here(make_knotd, directory, chain):
    dice = random.Random(f"{SEED} {chain}")
    world, daemon = World(dice), make_knotd()
    start(daemon, chain, world, ["dnssec-signing: on", "zonefile-load: difference-no-serial", "journal-content: all"])
    daemon.wait(lambda: daemon.ask("example", "SOA").answer, what="the zone")
    check(daemon, chain, world, directory / "scratch", "the first version")
    for number in range(CHANGES):
        how = dice.choice(["update", "update", "transaction", "file"])
        changes = [world.change() for _ in range(dice.choice([1, 1, 2, 4]))]
        if how == "file":
            daemon.knotc("-f", "-b", "zone-flush", "example")   # what came otherwise is in the file, too
            daemon.write("example.zone", world.text(1))
            daemon.knotc("-b", "zone-reload", "example")
        else:
            for gone, come in changes:
                (send_update if how == "update" else commit)(daemon, gone, come)
        check(daemon, chain, world, directory / "scratch", f"change {number}, {how}, {changes}")


@pytest.mark.parametrize("chain", CHAINS)
def test_changes_of_a_primary(make_knotd, directory, chain):
    """A secondary signs what comes by IXFR."""
    dice = random.Random(f"{SEED} {chain} secondary")
    world, primary, secondary = World(dice), make_knotd(name="primary"), make_knotd(name="secondary")
    remote = "remote:\n  - id: peer\n    address: 127.0.0.1@{}\n"
    start(primary, chain, world, ["notify: peer", "zonefile-load: difference"], remote.format(secondary.port))
    start(secondary, chain, None, ["master: peer", "dnssec-signing: on"], remote.format(primary.port))
    secondary.wait(lambda: secondary.ask("example", "SOA").answer, what="the zone")
    check(secondary, chain, world, directory / "scratch", "the first version")
    for number in range(CHANGES):
        changes = [world.change() for _ in range(dice.choice([1, 1, 2, 4]))]
        for gone, come in changes:
            send_update(primary, gone, come)
        check(secondary, chain, world, directory / "scratch", f"change {number}, {changes}")
    assert "IXFR, incoming" in secondary.log()
