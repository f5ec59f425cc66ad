#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The daemon against crashes: it is killed at each of its writes and at any moment, power fails, the disk is full. After each start every zone
is what was promised, and what lies on the disk agrees with it.

    crash_sim.py [-n rounds] [-s seed] [-p part]

A world is a daemon with some zones of different settings, in a folder in memory; a round is one life of it: it starts, what it serves is
compared with what was promised, transactions are committed (some in all zones at once), files edited and reloaded, zones flushed and frozen, until it
is killed. In every other world the images are lost between some lives. Parts: writes (killed at a call to the disk: before, in the middle or after it), moments (killed at any time), power (after a kill at a
write also what was not synced is lost, in units of 512 bytes, by chance), full (writes fail for a while; then all goes on by itself).

One line per part starts with `ok` or `not ok`. Exit status 1: something failed; how to repeat it is printed.
"""
import argparse
import collections
import contextlib
import dataclasses
import mmap
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.control import Client, unit, BLOCK  # noqa: E402
from harness.server import BUILD, Knotd, built  # noqa: E402

SHIM = BUILD / "tests" / "sim" / ".libs" / "libdisk_shim.so"
PARTS = {"writes": 0.5, "moments": 0.15, "power": 0.25, "full": 0.1}       # and their share of the rounds
LIVES = 25              # of a world
KINDS = ("before", "half", "after")
SECTOR = 512
ENTRY = struct.Struct("=IIQQ32s")       # disk_entry_t
WRITE, SYNC, TRUNCATE, NAME = range(4)
CONTROL = struct.Struct("=IIIIIi")      # the beginning of disk_control_t
ENOSPC = 28
HARMLESS = "created again|\\(it is empty;|SOA serial decreased, ignoring zone file"    # a new database that was torn; a file behind its journal
TORN = r"journal, .*\((its file is too short|it does not begin like a file of LMDB);"     # the same, before a change is in it
HANG_S = 60
COMPLAINT = re.compile(r"(warning|error|critical): .*(image|journal|timer|database)|set aside|damaged|malformed")


class Fault(Exception):
    pass


# ---- The disk after a power failure ----

class Inode:
    """A file: what is on the disk, and what was written since it was synced."""

    def __init__(self, data=b""):
        self.data, self.pending = bytearray(data), []

    def put(self, off, data):
        if len(self.data) < off + len(data):
            self.data.extend(bytes(off + len(data) - len(self.data)))
        self.data[off:off + len(data)] = data

    def sync(self):
        for off, data in self.pending:
            self.put(off, data)
        self.pending = []

    def truncate(self, length):
        self.sync()
        del self.data[length:]
        self.data.extend(bytes(length - len(self.data)))

    def fail(self, dice):
        """All, none, most, some or few of the sectors that were not synced are there, in any order."""
        units = []
        for off, data in self.pending:
            at = 0
            while at < len(data):
                step = min(SECTOR - (off + at) % SECTOR, len(data) - at)
                units.append((off + at, data[at:at + step]))
                at += step
        chance = dice.choice((1, 0, 0.95, 0.5, 0.05))
        dice.shuffle(units)
        for off, data in units:
            if dice.random() < chance:
                self.put(off, data)


def files_below(folder):
    return {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}


def entries(log):
    """(kind, is durable, offset, length, name, data) of each complete entry."""
    data, at = log.read_bytes(), 0
    while at + ENTRY.size <= len(data):
        kind, is_durable, off, length, name = ENTRY.unpack_from(data, at)
        at += ENTRY.size
        body = b""
        if kind in (WRITE, NAME):
            if at + (length + 7) // 8 * 8 > len(data):
                return      # the process ended while it wrote this
            body = data[at:at + length]
            at += (length + 7) // 8 * 8
        yield kind, is_durable, off, length, name.split(b"\0")[0].decode(), body


def fail_power(folder, base, log, dice):
    """Leave in the folder what a power failure leaves: `base` was there before, {name: bytes}. Names change in order, and surely when the folder is synced.
    A lock file of LMDB holds nothing that counts."""
    live = {name: Inode(data) for name, data in base.items()}
    durable, renames = dict(live), []
    for kind, is_durable, off, length, name, body in entries(log):
        if kind == NAME:
            if name in live:
                inode, new = live.pop(name), body.rstrip(b"\0").decode()
                if new:
                    live[new] = inode
                renames.append((name, new))
            continue
        if kind == SYNC and name not in live:       # a folder
            for old, new in [pair for pair in renames if str(pathlib.PurePath(pair[0]).parent) == name]:
                rename_durably(durable, old, new)
                renames.remove((old, new))
            continue
        if name not in live:
            live[name] = durable[name] = Inode()
        inode = live[name]
        if kind == WRITE and is_durable:
            inode.put(off, body)
        elif kind == WRITE:
            inode.pending.append((off, body))
        elif kind == SYNC:
            inode.sync()
        elif kind == TRUNCATE:
            inode.truncate(length)
    for old, new in renames[:dice.randint(0, len(renames))]:
        rename_durably(durable, old, new)
    for name, path in files_below(folder).items():
        if path.name != "lock.mdb" and name not in durable:
            path.unlink()
    for name, inode in durable.items():
        if not name.endswith("lock.mdb"):
            inode.fail(dice)
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(inode.data)


def rename_durably(durable, old, new):
    inode = durable.pop(old, None)
    if inode is not None and new:
        durable[new] = inode


# ---- Zones ----

@dataclasses.dataclass(frozen=True)
class Version:
    serial: int
    records: frozenset      # of (owner, text)

    def file(self, origin):
        lines = [f"$ORIGIN {origin}", f"@ 60 SOA ns admin {self.serial} 3600 600 86400 60", "@ 60 NS ns", "ns 60 A 192.0.2.1"]
        return "\n".join(lines + [f'{owner} 60 TXT "{text}"' for owner, text in sorted(self.records)]) + "\n"


@dataclasses.dataclass
class Zone:
    name: str
    sync: int
    has_journal: bool
    items: str
    version: Version
    in_doubt: Version = None        # sent, not acknowledged
    maybe: list = dataclasses.field(default_factory=list)   # older versions that a crash may bring back, as nothing more was promised
    known: set = dataclasses.field(default_factory=set)     # all versions that there have been
    edits: set = dataclasses.field(default_factory=lambda: {frozenset()})   # what the operator's files had
    serial_max: int = 1
    is_frozen: bool = False

    def allowed(self):
        return [self.version, *([self.in_doubt] if self.in_doubt else []), *self.maybe]

    def begin(self, version):
        self.in_doubt = version
        self.known.add(version)
        self.serial_max = max(self.serial_max, version.serial)

    def acknowledge(self, is_durable):
        self.maybe = [] if is_durable else [*self.maybe, self.version]
        self.version, self.in_doubt = self.in_doubt, None

    def settle(self, version):
        """After a start this is what there is."""
        self.version, self.in_doubt, self.is_frozen = version, None, False
        if version in self.maybe or self.has_journal:
            self.maybe = []


SETTINGS = (    # zonefile-sync, with journal, more items
    (-1, True, "journal-content: changes"), (0, True, "journal-content: changes"), (3600, True, "journal-content: all\n    zonefile-load: difference"),
    (-1, True, "journal-content: all\n    zonefile-load: none"), (-1, True, "journal-content: changes\n    journal-max-depth: 3"), (0, False, "journal-content: none"),
    (-1, False, "journal-content: none"),
    (-1, True, "journal-content: all\n    journal-max-depth: 4\n    zonefile-load: whole"),
    (-1, True, "journal-content: all\n    journal-max-depth: 4\n    zonefile-load: difference-no-serial"),
    (0, True, "journal-content: all\n    journal-max-depth: 4\n    zonefile-load: difference-no-serial"),
    (-1, True, "journal-content: changes\n    journal-max-depth: 4\n    zonefile-load: difference"))


def has_journal():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "knot.conf")
        path.write_text("zone:\n  - domain: a.test\n    journal-content: all\n    zonefile-load: none\n", encoding="ascii")
        return subprocess.run([built("knotc", "tools"), "-c", str(path), "conf-check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0


# ---- One world ----

class World:
    """A daemon and what it has promised."""

    def __init__(self, part, seed):
        self.part, self.seed, self.dice = part, seed, random.Random(seed)
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bowline-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)).resolve()
        self.disk = self.dir / "disk"
        (self.disk / "zones").mkdir(parents=True)
        self.knotd = Knotd(self.dir)
        self.client, self.control, self.mark, self.is_shimmed = None, None, 0, False
        self.counts = collections.Counter()
        self.has_stored = False     # a change was acknowledged, so the journal is whole
        self.calls = 60         # to the disk, in a life: what the next ones are killed at
        self.make_zones()

    def make_zones(self):
        # Without a journal only the images may have what was served.
        self.loses_images = HAS_JOURNAL and self.dice.random() < 0.5
        settings = [row for row in SETTINGS if (HAS_JOURNAL or not row[1]) and (row[1] or not self.loses_images)]
        self.zones, text = [], "zone:\n"
        for number in range(4):
            sync, journal, items = self.dice.choice(settings)
            name = f"z{number}.test."
            zone = Zone(name, sync, journal, items, Version(1, frozenset()))
            if "zonefile-load: none" in items:
                zone.items = items = items.replace("zonefile-load: none", "zonefile-load: difference")
            zone.known.add(zone.version)
            self.zones.append(zone)
            self.write(zone, zone.version)
            text += f"  - domain: {name}\n    storage: {self.disk}/zones\n    file: {name}zone\n    zonefile-sync: {sync}\n    {items}\n"
        self.knotd.conf("\n".join([
            "server:", f"    rundir: {self.dir}/run", "    udp-workers: 1", "    tcp-workers: 1", "    background-workers: 2",
            f"    listen: 127.0.0.1@{self.knotd.port}", "control:", "    listen: knot.sock", "    timeout: 3600", "database:", f"    storage: {self.disk}/db",
            "log:", "  - target: stdout", "    any: info", text]))

    def write(self, zone, version):
        new = self.dir / "new"
        new.write_text(version.file(zone.name), encoding="ascii")
        new.replace(self.disk / "zones" / f"{zone.name}zone")

    # ---- life ----

    def start(self, kill_at, when):
        """Start; kill_at: number of the call to the disk, 0: none."""
        count, log = self.dir / "count", self.dir / "log"
        for path in (count, log):
            path.unlink(missing_ok=True)
        self.base = {name: path.read_bytes() for name, path in files_below(self.disk).items()} if self.part == "power" else {}
        self.mark = self.knotd.output.stat().st_size if self.knotd.output.exists() else 0
        environment = {"LD_PRELOAD": str(SHIM), "DISK_FOLDER": str(self.disk), "DISK_KILL_AT": str(kill_at), "DISK_WHEN": when, "DISK_COUNT": str(count)}
        if self.part == "power":
            environment["DISK_LOG"] = str(log)
        self.knotd.start(ready=False, environment=environment)
        end = time.monotonic() + HANG_S
        while True:
            self.alive()
            with contextlib.suppress(OSError):
                if re.search(r"info: loaded \d+ zones in", self.said()):
                    self.client = Client(self.knotd.socket, HANG_S)
                    if self.client.ask(cmd="status"):
                        return
            if time.monotonic() > end:
                raise Fault("the daemon doesn't answer")
            time.sleep(0.002)       # between two looks

    def said(self):
        with open(self.knotd.output, "rb") as file:
            file.seek(self.mark)
            return file.read().decode(errors="replace")

    def log(self):
        """The end of the log, of more than the last life, without what says nothing of zones."""
        dull = re.compile(r"received command|zone will be loaded|using UDP|binding to|info: (loading|loaded configuration|Bowline|control)|stale PID|server (started|in)")
        text = self.knotd.output.read_text(errors="replace") if self.knotd.output.exists() else ""
        return "\n".join([line[24:] for line in text.splitlines() if not dull.search(line)][-60:])

    def alive(self):
        """ConnectionError if the daemon has been killed; a fault if it ended otherwise."""
        status = self.knotd.process.poll()
        if status == -9:
            raise ConnectionError("killed")
        if status is not None:
            raise Fault(f"the daemon ended with {status}")

    def end(self):
        """The daemon is killed, or is about to be."""
        if self.client is not None:
            self.client.stream.close()
            self.client = None
        end = time.monotonic() + 0.2
        while self.knotd.process.poll() is None and time.monotonic() < end and self.part in ("writes", "power"):
            time.sleep(0.001)       # between two looks
        if self.knotd.process.poll() is None:
            self.knotd.process.kill()
        if self.knotd.process.wait() != -9:
            raise Fault(f"the daemon ended with {self.knotd.process.returncode}")
        self.calls = max(20, (3 * self.calls + self.done_calls()) // 4)

    def done_calls(self):
        path = self.dir / "count"
        return int.from_bytes(path.read_bytes()[:4], "little") if path.exists() else 0

    def set_fault(self, count):
        """The next calls to the disk fail, 0: none."""
        with open(self.dir / "count", "r+b") as file, mmap.mmap(file.fileno(), CONTROL.size) as control:
            calls = int.from_bytes(control[:4], "little")
            control[12:CONTROL.size] = struct.pack("=IIi", calls + 1 if count else 0, count, ENOSPC)

    # ---- what is there ----

    def read(self, zone):
        records, serial = set(), None
        for reply in self.client.command("zone-read", zone=zone.name):
            if reply.get("type") == "SOA":
                serial = int(reply["data"].split()[2])
            elif reply.get("type") == "TXT":
                records.add((reply["owner"].removesuffix(f".{zone.name}"), reply["data"].strip('"')))
        return Version(serial, frozenset(records)) if serial is not None else None

    def verify(self):
        """Every zone is what was promised, and the file that was written is a version that there was."""
        for zone in self.zones:
            found = self.read(zone)
            if found not in zone.allowed():
                raise Fault(f"{zone.name} ({zone.sync}, {zone.items}) is\n  {found}\nallowed:\n  " + "\n  ".join(map(str, zone.allowed())))
            zone.settle(found)
            self.verify_file(zone)
            self.counts["verified"] += 1
        harmless = HARMLESS if self.has_stored else f"{HARMLESS}|{TORN}"
        bad = [line for line in self.said().splitlines() if COMPLAINT.search(line) and not re.search(harmless, line)]
        if bad and self.part != "full":
            raise Fault("complaints after the start:\n" + "\n".join(bad))

    def verify_file(self, zone):
        path = self.disk / "zones" / f"{zone.name}zone"
        text = path.read_text() if path.exists() else ""
        if not text.startswith(";;"):
            return      # the operator's
        serial, records = None, set()
        for line in text.splitlines():
            fields = [part.strip() for part in line.split("\t")]
            if line.startswith(";;") or len(fields) < 4:
                continue
            if fields[2] == "SOA":
                serial = int(fields[3].split()[2])
            elif fields[2] == "TXT":
                records.add((fields[0].removesuffix(f".{zone.name}"), fields[3].strip('"')))
        if Version(serial, frozenset(records)) not in zone.known or ";; Written" not in text:
            raise Fault(f"{zone.name}: its file has a version that there never was:\n{text}")

    # ---- what is done ----

    def next_version(self, zone, serial=None):
        records = set(zone.version.records)
        for _ in range(self.dice.randint(1, 3)):
            if records and self.dice.random() < 0.4:
                records.remove(self.dice.choice(sorted(records)))
            else:
                records.add((f"n{self.dice.randrange(12)}", f"{self.dice.getrandbits(32):08x}" * self.dice.choice((1, 1, 20))))
        if frozenset(records) == zone.version.records:
            records.add(("always", f"{self.dice.getrandbits(32):08x}"))
        return Version(serial or zone.version.serial + 1, frozenset(records))

    def transaction(self, zone, version):
        parts = [unit(cmd="zone-begin", zone=zone.name), BLOCK]
        for owner, text in sorted(zone.version.records - version.records):
            parts += [unit(cmd="zone-unset", zone=zone.name, owner=owner, type="TXT", data=f'"{text}"'), BLOCK]
        for owner, text in sorted(version.records - zone.version.records):
            parts += [unit(cmd="zone-set", zone=zone.name, owner=owner, ttl="60", type="TXT", data=f'"{text}"'), BLOCK]
        return b"".join([*parts, unit(cmd="zone-commit", zone=zone.name), BLOCK]), parts.count(BLOCK) + 1

    def commit(self, zones):
        """A transaction in each of the zones, at the same time."""
        clients = [Client(self.knotd.socket, HANG_S) for _ in zones]
        try:
            counts = []
            for client, zone in zip(clients, zones):
                zone.begin(self.next_version(zone))
                data, count = self.transaction(zone, zone.in_doubt)
                client.send(data)
                counts.append(count)
            for client, zone, count in zip(clients, zones, counts):
                replies = [client.block() for _ in range(count)]
                self.take_reply(zone, [reply["error"] for block in replies for _, reply in block if "error" in reply])
        finally:
            for client in clients:
                client.stream.close()

    def take_reply(self, zone, errors):
        if not errors:
            zone.acknowledge(zone.has_journal)
            self.counts["acknowledged"] += 1
            self.has_stored = self.has_stored or zone.has_journal
        elif self.part == "full":
            self.counts["refused"] += 1
            zone.in_doubt = None
            self.ask("zone-abort", zone)
            found = self.read(zone)
            if found != zone.version:
                raise Fault(f"{zone.name} serves a change that was refused ({errors}): {found}, not {zone.version}")
        else:
            raise Fault(f"{zone.name}: {errors}")

    def ask(self, command, zone=None, **items):
        replies = self.client.command(command, **({"zone": zone.name} if zone else {}), **items)
        return [reply["error"] for reply in replies if "error" in reply]

    def edit(self, zone):
        """An operator edits the file: from then on a start takes it, too."""
        if "difference-no-serial" in zone.items:
            # The server's serial, whatever the file's is; so a file with just the records that it had when it was loaded last has no change.
            version = self.next_version(zone)
            while version.records in zone.edits:
                version = self.next_version(zone)
            zone.edits.add(version.records)
            zone.begin(version)
            self.write(zone, Version(1, version.records))
        else:
            zone.begin(self.next_version(zone, zone.serial_max + 1000))
            self.write(zone, zone.in_doubt)
        zone.version, zone.in_doubt, zone.maybe = zone.in_doubt, None, []
        errors = self.ask("zone-reload", zone, flags="B")
        if errors and self.part != "full":
            raise Fault(f"{zone.name}: zone-reload: {errors}")

    def flush(self, zone):
        errors = self.ask("zone-flush", zone, flags="BF")
        if not errors:
            zone.maybe = []

    def step(self):
        kind, zone = self.dice.random(), self.dice.choice(self.zones)
        if kind < 0.6:
            self.commit([zone])
        elif kind < 0.8:
            self.commit(self.dice.sample(self.zones, self.dice.randint(2, len(self.zones))))
        elif kind < 0.9:
            self.flush(zone)
        elif zone.sync == -1 and self.part in ("writes", "moments"):
            self.edit(zone)
        self.counts["steps"] += 1

    def live(self):
        """One round."""
        kill_at = self.dice.randint(1, self.calls + 5) if self.part in ("writes", "power") else 0
        self.is_reading = True
        if self.loses_images and self.dice.random() < 0.5:
            shutil.rmtree(self.disk / "db" / "images", ignore_errors=True)
            self.counts["without images"] += 1
        try:
            self.start(kill_at, self.dice.choice(KINDS))
            self.verify()
            if self.part == "full":
                self.live_full()
            else:
                for _ in range(self.dice.randint(0, 14)):
                    self.step()
                if self.part == "moments":
                    time.sleep(self.dice.random() * 0.03)       # a crash at any moment
        except (ConnectionError, BrokenPipeError) as error:
            try:
                self.knotd.process.wait(2)
            except subprocess.TimeoutExpired:
                raise Fault(f"a connection was closed: {error}") from None
            self.counts["killed at a write"] += 1
        self.end()
        if self.part == "power":
            fail_power(self.disk, self.base, self.dir / "log", self.dice)
            self.counts["power failures"] += 1

    def live_full(self):
        for _ in range(self.dice.randint(1, 4)):
            self.step()
        self.set_fault(self.dice.choice((1, 2, 3, 10, 100000)))
        for _ in range(self.dice.randint(1, 5)):
            self.step()
        self.set_fault(0)
        refused = self.counts["refused"]
        self.commit(self.zones)     # there is room again
        if self.counts["refused"] != refused:
            raise Fault("a change is refused although there is room again")

    def close(self):
        if self.client is not None:
            self.client.stream.close()
        if self.knotd.process is not None and self.knotd.process.poll() is None:
            self.knotd.process.kill()
            self.knotd.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def run_world(task):
    """(what was counted, fault or None)"""
    part, seed, lives = task
    world, lived = World(part, seed), 0
    try:
        for lived in range(1, lives + 1):
            world.live()
            world.counts["rounds"] += 1
        return world.counts, None
    except Exception as error:      # whatever it is, say how to repeat it
        what = str(error) if isinstance(error, Fault) else "".join(traceback.format_exception(error))
        return world.counts, f"part {part}, seed {seed}, life {lived}: {what}\n{world.log()}"
    finally:
        world.close()


def report_world(task, sender):
    """A process of its own: when it is terminated, it leaves no daemon and no folder."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sender.send(run_world(task))
    sender.close()


def run_worlds(tasks):
    """The counts of all worlds, and the first fault or None. A process for each world, as many at once as there are processors."""
    counts, waiting, running = collections.Counter(), list(reversed(tasks)), {}
    try:
        while waiting or running:
            while waiting and len(running) < len(os.sched_getaffinity(0)):
                receiver, sender = multiprocessing.Pipe(duplex=False)
                task = waiting.pop()
                process = multiprocessing.Process(target=report_world, args=(task, sender))
                process.start()
                sender.close()
                running[receiver] = process, task
            for receiver in multiprocessing.connection.wait(running):
                process, (part, seed, _) = running.pop(receiver)
                try:
                    done, fault = receiver.recv()
                except EOFError:
                    done, fault = {}, f"part {part}, seed {seed}: its process ended without a word"
                receiver.close()
                process.join()
                counts.update(done)
                if fault:
                    return counts, fault
        return counts, None
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


HAS_JOURNAL = has_journal()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--rounds", type=int, default=4000, help="in all [%(default)s]")
    parser.add_argument("-s", "--seed", type=int, default=1, help="[%(default)s]")
    parser.add_argument("-p", "--part", choices=PARTS, help="one part, all rounds [all]")
    parser.add_argument("-w", "--world", action="store_true", help="the seed is that of one world: to repeat what failed")
    args = parser.parse_args()
    failed = False
    for part in [args.part] if args.part else PARTS:
        begin = time.monotonic()
        rounds = round(args.rounds * (1 if args.part else PARTS[part]))
        tasks = [(part, args.seed * 1000003 + number, min(LIVES, rounds - number * LIVES)) for number in range((rounds + LIVES - 1) // LIVES)]
        if args.world:
            tasks = [(part or "writes", args.seed, LIVES)]
        counts, fault = run_worlds(tasks)
        text = ", ".join(f"{count} {what}" for what, count in counts.most_common())
        print(f"{'not ok' if fault else 'ok'} crash {part}: {text}, {time.monotonic() - begin:.0f} s", flush=True)
        if fault:
            failed = True
            print(f"{fault}\nrepeat with: crash_sim.py -p {part} -w -s {re.search('seed ([0-9]+)', fault).group(1)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
