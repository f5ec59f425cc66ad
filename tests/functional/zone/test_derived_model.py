# SPDX-License-Identifier: BSD-2-Clause
"""Random edits of a reverse zone and of its sources, reloads, starts and kills: what is served is what a model says."""
import os
import random

import pytest

from functional.zone.test_derived import HEAD, REVERSE, commit, read_if_any, serial, zones

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

SEED = int(os.environ.get("SEED", "0")) or random.randrange(1, 1 << 32)
STEPS = int(os.environ.get("STEPS", "40"))
SOURCES = ("a", "b", "n1.a")


class World:
    """own: last octet to (type, data) of records that are the zone's own; sources: zone to {(name, octet)}."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng = daemon, rng
        self.sources = {zone: set() for zone in SOURCES}
        self.own, self.file, self.serial = {}, {}, 1
        self.log = []

    def write_sources(self, zone):
        self.serial += 1000                                # above those that commits have given
        text = "".join(f"{name} 60 A 192.0.2.{octet}\n" for name, octet in sorted(self.sources[zone]))
        self.daemon.write(f"{zone}.zone", HEAD.format(serial=self.serial) + text)

    def write_own(self):
        text = "".join(f"{octet} 60 {kind} {data}\n" for octet, (kind, data) in sorted(self.file.items()))
        self.daemon.write(f"{REVERSE}.zone", HEAD.format(serial=1) + text)

    def want(self):
        lines = {f"{octet}.{REVERSE}. 60 {kind} {data}" for octet, (kind, data) in self.own.items()}
        for zone, addresses in self.sources.items():
            for name, octet in addresses:
                owner = f"{name}.{zone}."
                closest = max((source for source in SOURCES if f".{owner}".endswith(f".{source}.")), key=len)
                if closest == zone and self.own.get(octet, ("",))[0] != "CNAME":
                    lines.add(f"{octet}.{REVERSE}. 60 PTR {owner}")
        return sorted(lines)

    def check(self):
        self.daemon.wait(lambda: read_if_any(self.daemon) == self.want(), 10, lambda: f"{self.log}\nwanted {self.want()}\nit has {read_if_any(self.daemon)}")

    def random_addresses(self):
        return {(f"n{self.rng.randrange(4)}", self.rng.randrange(1, 9)) for _ in range(self.rng.randrange(5))}

    def start(self):
        self.daemon.start()
        self.daemon.wait(lambda: all(self.daemon.knotc("zone-read", zone, "@", "SOA", check=False).returncode == 0 for zone in (*SOURCES, REVERSE)))

    # Steps. Each says what was done.

    def edit_source(self):
        zone = self.rng.choice(SOURCES)
        after = self.random_addresses()
        edits = [f"- {name} A 192.0.2.{octet}" for name, octet in self.sources[zone] - after]
        edits += [f"+ {name} 60 A 192.0.2.{octet}" for name, octet in after - self.sources[zone]]
        if edits:
            commit(self.daemon, zone, *edits)
        self.sources[zone] = after
        return f"{zone}: {edits}"

    def reload_source(self):
        zone = self.rng.choice(SOURCES)
        self.sources[zone] = self.random_addresses()
        self.write_sources(zone)
        self.daemon.knotc("-b", "zone-reload", zone)
        return f"{zone} has {self.sources[zone]}"

    def edit_own(self):
        octet = self.rng.randrange(20, 25)
        if octet in self.own:
            kind, data = self.own.pop(octet)
            commit(self.daemon, REVERSE, f"- {octet} {kind} {data}")
            return f"own {octet} goes"
        self.own[octet] = ("PTR", f"by.hand{octet}.")
        commit(self.daemon, REVERSE, f"+ {octet} 60 PTR by.hand{octet}.")
        return f"own {octet} comes"

    def edit_wrongly(self):
        """What isn't the zone's own is put right."""
        octet = self.rng.randrange(30, 35)
        if self.rng.random() < 0.5:
            commit(self.daemon, REVERSE, f"+ {octet} 60 PTR n1.b.")
            return f"wrong {octet}"
        self.check()
        present = [line.split() for line in self.want() if " PTR n" in line]
        if present:
            owner, _, _, target = present[0]
            commit(self.daemon, REVERSE, f"- {owner} PTR {target}")
        return f"taken {present[:1]}"

    def reload_own(self):
        kinds = [("PTR", "in.file."), ("CNAME", "alias."), ("TXT", '"x"')]
        self.own = {octet: self.rng.choice(kinds) for octet in range(1, 9, 3) if self.rng.random() < 0.5}
        self.own.update({octet: ("PTR", "other.file.") for octet in range(40, 43) if self.rng.random() < 0.5})
        self.file = dict(self.own)
        self.write_own()
        self.daemon.knotc("-b", "zone-reload", REVERSE)
        return f"own is {self.own}"

    def restart(self):
        self.daemon.stop()
        self.start()
        return "start"

    def kill(self):
        self.check()                                       # what isn't looked at yet is found later, too, but own edits are on disk
        self.daemon.process.kill()
        self.daemon.process.wait()
        self.start()
        return "killed"

    def restart_with_other_source(self):
        self.daemon.stop()
        zone = self.rng.choice(SOURCES)
        self.sources[zone] = self.random_addresses()
        self.write_sources(zone)
        self.start()
        return f"start with {zone} {self.sources[zone]}"

    def step(self):
        steps = {self.edit_source: 8, self.reload_source: 2, self.edit_own: 3, self.edit_wrongly: 2, self.reload_own: 2, self.restart: 1, self.kill: 1,
                 self.restart_with_other_source: 1}
        self.log.append(self.rng.choices(list(steps), list(steps.values()))[0]())


def test_random_steps(knotd):
    print(f"SEED={SEED}")
    world = World(knotd, random.Random(SEED))
    for zone in SOURCES:
        world.write_sources(zone)
    world.write_own()
    blocks = {zone: () for zone in SOURCES}
    zones(knotd, {REVERSE: (f"reverse-generate: [{', '.join(SOURCES)}]",), **blocks})
    world.start()
    world.check()
    for _ in range(STEPS):
        world.step()
        if world.rng.random() < 0.7:
            world.check()
    world.check()
    before = serial(knotd, REVERSE)
    knotd.stop()
    world.start()
    world.check()
    assert serial(knotd, REVERSE) == before, world.log
