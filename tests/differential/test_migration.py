# SPDX-License-Identifier: BSD-2-Clause
"""A signed zone moves from Debian's knotd to ours and back, as doc/manual/migration.rst says, in the middle of rollovers, under one clock: the same keys
with the same timers, signatures that are good stay, serials go on, and what was due next is done at its time, by the one that is there.
"""
import shutil

import dns.dnssec
import dns.query
import dns.rdatatype
import dns.update
import pytest

from harness.clock import Clock
from harness.server import built
from harness.validators import complaint
from test_rollovers import BEGIN, DAY, HOUR, Side

DEBIANS = "/usr/sbin/knotd"
POLICY = ["nsec3: on", "zsk-lifetime: 30d"]
# How zone files and the journal work together: as by default, and as the manual of Knot DNS advises for signed zones.
WAYS = {
    "whole": ["dnssec-signing: on", "zonefile-sync: 0", "zonefile-load: whole", "journal-content: changes"],
    "difference": ["dnssec-signing: on", "zonefile-sync: -1", "zonefile-load: difference-no-serial", "journal-content: all"],
}


class Place:
    """One configuration, its databases and zone file, and the server that works on them."""

    def __init__(self, directory, way):
        self.clock = Clock(directory / "clock", BEGIN)
        self.side = Side("place", directory, DEBIANS, self.clock)
        self.side.configure(POLICY, WAYS[way])
        text = self.side.daemon.path.read_text().replace("    zonefile-sync: -1\n    zonefile-load: difference-no-serial\n    journal-content: all\n", "", 1)
        self.side.daemon.conf(text)
        self.directory, self.journal = directory, self.side.daemon.dir / "db" / "journal"

    def start(self, program):
        self.side.daemon.program = program
        self.side.daemon.output.write_text("")
        self.side.start()
        self.side.daemon.wait(lambda: self.side.signings() > 0, what="the first signing")

    def stop(self, is_ours=False):
        """Ours goes as migration.rst says, so that Knot's may take over again."""
        backup = self.directory / "backup"
        if is_ours:
            self.knotc("-b", "-f", "zone-flush", "example")
            self.side.daemon.knotc("-b", "zone-backup", "+backupdir", str(backup), "+journal", "example")
        assert self.side.daemon.stop() == 0
        if is_ours:
            for path in self.journal.iterdir():
                path.unlink()
            (backup / "journal" / "data.mdb").replace(self.journal / "data.mdb")
            shutil.rmtree(backup)

    def knotc(self, *words):
        return self.side.daemon.knotc(*words, program="/usr/sbin/knotc")

    def act(self, *command):
        before = self.side.signings()
        self.knotc(*command)
        self.side.daemon.wait(lambda: self.side.signings() > before, what=f"signing after {command}")
        return self.contents()

    def move(self):
        """To the next time that the server names."""
        condition = self.side.move(self.side.next_time())
        self.side.daemon.wait(condition, what="signing at another time")
        return self.contents()

    def move_until(self, condition):
        for _ in range(20):
            if condition():
                return
            self.move()
        raise AssertionError(f"not within 20 events: {self.side.keys()}")

    def contents(self):
        zone = self.side.contents()
        path = self.directory / "zone"
        zone.to_file(str(path), relativize=False)
        fault = complaint(path, "example.", self.clock.now)
        assert not fault, fault
        return zone

    def update(self, owner):
        change = dns.update.UpdateMessage("example.")
        change.add(owner, 60, "A", "192.0.2.77")
        assert dns.query.tcp(change, "127.0.0.1", port=self.side.daemon.port, timeout=20).rcode() == 0

    def state(self):
        """What has to be the same with the other server."""
        return rows(self.contents()), self.side.keys(), self.side.next_time()


def rows(zone):
    return sorted((str(name), ttl, dns.rdatatype.to_text(rdata.rdtype), rdata.to_text()) for name, ttl, rdata in zone.iterate_rdatas())


def serial(zone):
    return zone.get_soa().serial


@pytest.fixture(name="place")
def make_place(tmp_path):
    made = []

    def make(way):
        made.append(Place(tmp_path, way))
        return made[0]
    yield make
    for place in made:
        place.side.daemon.stop()


def count(place, state_of):
    return sum(1 for key in place.side.keys() if state_of(key))


def zsk(key):
    return key[0][0] == "no"


TIMERS = {"publish": 1, "ready": 2, "active": 3, "retire-active": 4, "retire": 5, "remove": 8}


def has(key, timer):
    return key[1][TIMERS[timer]] != 0


def move_over(place, program):
    """From one server to the other: all is as it was, and nothing is signed again."""
    before = place.state()
    is_ours = place.side.daemon.program == built("knotd", "knotd")
    place.stop(is_ours)
    place.start(program)
    after = place.state()
    assert after[1] == before[1], "keys and timers"
    assert after[2] == before[2], "when it signs next"
    assert after[0] == before[0], sorted(set(before[0]) ^ set(after[0]))


@pytest.mark.parametrize("way", WAYS)
def test_there_and_back(place, way):
    place = place(way)
    place.start(DEBIANS)
    place.act("zone-ksk-submitted", "example")
    place.update("first.example.")
    # A new ZSK is published by Knot's, and takes over with ours.
    place.move_until(lambda: count(place, zsk) == 2)
    move_over(place, built("knotd", "knotd"))
    last = serial(place.contents())
    place.update("second.example.")
    assert serial(place.contents()) == last + 1
    place.move_until(lambda: count(place, lambda key: zsk(key) and has(key, "retire")) == 1)
    # The old one goes with Knot's, which has what came meanwhile.
    move_over(place, DEBIANS)
    place.update("third.example.")
    assert serial(place.contents()) > last + 1
    place.move_until(lambda: count(place, zsk) == 1)
    assert {"first", "second", "third"} <= {str(name).split(".")[0] for name in place.contents().nodes}
    # A KSK: begun by Knot's, ready with ours, confirmed with Knot's, the old one removed with ours.
    place.act("zone-key-rollover", "example", "ksk")
    move_over(place, built("knotd", "knotd"))
    place.move_until(lambda: count(place, lambda key: not zsk(key) and has(key, "ready") and not has(key, "active")) == 1)
    assert place.contents().get_rdataset("example.", "CDS") is not None
    move_over(place, DEBIANS)
    place.act("zone-ksk-submitted", "example")
    move_over(place, built("knotd", "knotd"))
    place.move_until(lambda: count(place, lambda key: not zsk(key)) == 1)
    assert place.clock.now < BEGIN + 60 * DAY and place.clock.now % HOUR == 0
