# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of a server that loads, publishes and saves zones; damaged images. The zone files are the truth: after each start every zone
answers as its file says, whatever happened to its image.

tests/sim/image_sim.c does the same to the store and the zones alone, thousands of times. The same is chosen each time; KNOT_SEED=n chooses something else."""
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
import zlib

import dns.message
import dns.rcode
import pytest

from harness.control import command
from harness.server import BUILD
from harness.waiting import PATIENCE

pytestmark = pytest.mark.ours

ROUNDS = 100
ZONES = {"a.test": 3, "b.test": 4, "c.a.test": 2, "d.test": 3, "large.test": 900, "larger.test": 4000}
SHIM = BUILD / "tests" / "sim" / ".libs" / "libdisk_shim.so"


def value(zone, serial, number):
    return f"{zlib.crc32(f'{zone} {serial} {number}'.encode()):010d}"


def zone_text(zone, serial):
    """All versions of a zone have the same size: only the file's time and inode tell them apart."""
    lines = [f"$ORIGIN {zone}.", "$TTL 60", f"@ SOA ns admin {serial} 3600 600 86400 60", "@ NS ns", "ns A 192.0.2.1"]
    lines += [f'n{n} TXT "{value(zone, serial, n)}"' for n in range(ZONES[zone])]
    return "\n".join(lines) + "\n"


class Farm:
    """A server with zones whose files change; knows what each file holds."""

    def __init__(self, daemon, dice):
        self.daemon, self.dice = daemon, dice
        self.serials = {}
        self.folder = daemon.dir / "db" / "images"
        self.marks = 0          # length of the log when the server was started last
        self.checked = 0
        for zone in ZONES:
            self.write(zone, 100001)
        daemon.configure(zones=ZONES)

    def write(self, zone, serial=None):
        """A new version of the file: over the old one or moved there. Not while it may be read."""
        serial = serial or self.serials[zone] + 1
        path = self.daemon.dir / f"{zone}.zone"
        if path.exists() and self.dice.random() < 0.5:
            with path.open("r+") as file:
                file.write(zone_text(zone, serial))
        else:
            self.daemon.write("new", zone_text(zone, serial)).replace(path)
        self.serials[zone] = serial

    def start(self, **environment):
        self.marks = len(self.daemon.log())
        self.daemon.start(ready=False, environment=environment)

    def said(self):
        return self.daemon.log()[self.marks:]

    def kill(self):
        self.daemon.process.kill()
        self.daemon.process.wait(10 * PATIENCE)

    def ask(self, sock, name, rdtype):
        """The answer, or None if there is none at the moment."""
        query = dns.message.make_query(name, rdtype)
        query.id = self.dice.randrange(65536)
        try:
            sock.send(query.to_wire())
            while True:
                answer = dns.message.from_wire(sock.recv(65535))
                if answer.id == query.id:
                    return answer
        except (TimeoutError, ConnectionRefusedError):
            return None

    def check(self, zones=tuple(ZONES), timeout=20):
        """Every zone answers, and from the first answer on it is what the file says."""
        end = time.monotonic() + timeout * PATIENCE
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.settimeout(0.2)
            sock.connect(("127.0.0.1", self.daemon.port))

            def answer_to(name, rdtype):
                """One that comes in time; None when the server ended."""
                while (found := self.ask(sock, name, rdtype)) is None and self.daemon.process.poll() is None and time.monotonic() < end:
                    pass
                return found
            for zone in zones:
                while True:
                    assert time.monotonic() < end and self.daemon.process.poll() is None, f"{zone}:\n{self.said()[-4000:]}"
                    answer = self.ask(sock, zone, "SOA")
                    if answer is not None and answer.rcode() == dns.rcode.NOERROR:
                        break
                    time.sleep(0.005)     # asks again until the deadline above
                serial = self.serials[zone]
                assert answer.answer[0][0].serial == serial, f"{zone} has {answer.answer[0][0].serial}, its file {serial}"
                count = ZONES[zone]
                for number in self.dice.sample(range(count), min(count, 12)):
                    answer = answer_to(f"n{number}.{zone}", "TXT")
                    assert answer is not None and answer.answer, f"n{number}.{zone}: {answer}"
                    assert answer.answer[0][0].strings[0].decode() == value(zone, serial, number), f"n{number}.{zone}, serial {serial}"
                answer = answer_to(f"n{count}.{zone}", "TXT")
                assert answer is not None and answer.rcode() == dns.rcode.NXDOMAIN and answer.authority[0][0].serial == serial
                self.checked += 1

    def wait_saved(self, zones=tuple(ZONES)):
        def is_saved():
            text = self.daemon.knotc("zone-image", *zones).stdout
            return text.count("image: current") == len(zones)
        self.daemon.wait(is_saved, 20, "images of all zones")

    def reload(self, zone, blocking):
        error = command(self.daemon.socket, "zone-reload", f"{zone}.", "B" if blocking else "")
        assert error == "", error


@pytest.fixture
def farm(knotd):
    seed = int(os.environ.get("KNOT_SEED", "1"))
    print(f"KNOT_SEED={seed}")
    return Farm(knotd, random.Random(seed))


def from_image(log):
    return len(re.findall(r"loaded, serial .* bytes, from image", log))


def complaints(log):
    """Lines that say that images can't be used; not those of files that changed."""
    return [line for line in log.splitlines()
            if re.search(r"(warning|error|critical): .*image|image not used", line) and "(zone file changed)" not in line]


# ---- Kills ----

def live(farm):
    """One life of the server, which ends at any moment."""
    dice = farm.dice
    farm.start()
    if dice.random() < 0.35:
        time.sleep(dice.uniform(0, 0.12))        # it may not even have begun
        return "starting"
    farm.check()
    reloads = dice.choice([0, 1, 2, 4])
    farm.daemon.wait(farm.daemon.socket.exists, 10, "control socket")
    for _ in range(reloads):
        zones = dice.sample(list(ZONES), dice.randint(1, 3))
        for zone in zones:
            farm.write(zone)
            farm.reload(zone, blocking=True)
        farm.check(zones)
    if reloads and dice.random() < 0.5:
        zone = dice.choice(list(ZONES))
        farm.write(zone)
        farm.reload(zone, blocking=False)
        time.sleep(dice.uniform(0, 0.02))     # a crash at any moment of the reload
        return "reloading"
    time.sleep(dice.uniform(0, 0.5))     # a crash at any moment
    if dice.random() < 0.1:
        farm.wait_saved()       # so that there are images in any case
    return "saving"


def test_killed_at_any_moment(farm):
    kinds, images, loads = {}, 0, 0
    for _ in range(ROUNDS):
        kind = live(farm)
        kinds[kind] = kinds.get(kind, 0) + 1
        farm.kill()
        said = farm.said()
        assert not complaints(said), said
        images += from_image(said)
        loads += len(re.findall(r"\] loaded, serial ", said))
        if farm.dice.random() < 0.3:
            farm.write(farm.dice.choice(list(ZONES)))
    farm.start()
    farm.check()
    farm.wait_saved()
    print(f"{ROUNDS} kills: {kinds}; {farm.checked} zones checked; {loads} loads, {images} from images")
    assert 0 < images < loads and len(kinds) == 3


def shim(farm, at, when, count):
    """Environment of a server that ends at this call to the disk."""
    assert SHIM.exists(), f"{SHIM} is not built"
    sanitizers = os.environ.get("ASAN_OPTIONS", "")
    return {"LD_PRELOAD": str(SHIM), "DISK_FOLDER": str(farm.folder.resolve()), "DISK_KILL_AT": str(at), "DISK_WHEN": when,
            "DISK_COUNT": str(count), "ASAN_OPTIONS": f"{sanitizers}:verify_asan_link_order=0".lstrip(":")}


def calls_of(count):
    return int.from_bytes(count.read_bytes()[:4], "little") if count.exists() else 0


def drive(farm):
    """A start, two changed zones, a reload of one more, until all are saved; or up to where the server is killed."""
    try:
        farm.check()
        farm.wait_saved()
        farm.write("b.test")
        farm.reload("b.test", blocking=True)
        farm.check(["b.test"])
        farm.wait_saved()
    except (AssertionError, OSError) as error:
        try:
            farm.daemon.process.wait(3 * PATIENCE)      # who is being killed closes its sockets before it is gone
        except subprocess.TimeoutExpired:
            raise error from None
    return farm.daemon.process.poll() is None


@pytest.mark.parametrize("has_images", [False, True], ids=["first images", "more images"])
def test_killed_at_each_write(farm, has_images):
    """Without an environment, or with images of which two are of old files."""
    count, base = farm.daemon.dir / "count", farm.daemon.dir / "base"
    if has_images:
        farm.start()
        farm.check()
        farm.wait_saved()
        farm.daemon.stop()
        shutil.copytree(farm.folder, base)

    def begin(at, when):
        shutil.rmtree(farm.folder, ignore_errors=True)
        if has_images:
            shutil.copytree(base, farm.folder)
        count.unlink(missing_ok=True)
        for zone in ("a.test", "large.test"):
            farm.write(zone)
        farm.start(**shim(farm, at, when, count))

    begin(0, "before")
    assert drive(farm)
    farm.daemon.stop()
    calls = calls_of(count)
    assert calls >= 6
    killed, missed, at = 0, 0, 0
    is_reached = True
    while is_reached:                        # what is saved together, so the number of calls, differs from start to start
        at, is_reached = at + 1, False
        for when in ("before", "half", "after"):
            begin(at, when)
            if drive(farm):
                missed += 1
                farm.kill()
            else:
                killed, is_reached = killed + 1, True
                assert farm.daemon.process.wait(10 * PATIENCE) == -signal.SIGKILL, farm.said()
            farm.start()
            farm.check()
            # The making of a new environment may be torn; there was nothing in it.
            assert not [line for line in complaints(farm.said()) if has_images or "created again" not in line], farm.said()
            farm.daemon.stop()
    print(f"{calls} calls to the disk at first; {killed} killed there, {missed} not reached; {farm.checked} zones checked")
    assert killed >= 3 * 6, "all three at each call that any start makes"


# ---- Damage ----

def patch(data, mark, offset, new):
    """New bytes at an offset from each mark; at least one."""
    at = data.find(mark)
    assert at >= 0
    while at >= 0:
        data[at + offset:at + offset + len(new)] = new
        at = data.find(mark, at + 1)
    return data


def flip(data, low, high, step):
    for at in range(low, high, step):
        data[at] ^= 0x10
    return data


FORMAT, RECORD = b"bowline\0", b"BOZi"
# What is done to data.mdb, and which part is said to be unusable: the whole database, or single zones.
DAMAGES = {
    "both meta pages": (lambda d: flip(d, 0, 8192, 64), "all"),
    "empty": (lambda d: d[:0], "all"),
    "cut to half": (lambda d: d[:len(d) // 2], "all"),
    "cut within a page": (lambda d: d[:len(d) - 5000], "all"),
    "garbage": (lambda d: bytearray(random.Random(1).randbytes(len(d))), "all"),
    "zeros": (lambda d: bytearray(len(d)), "all"),
    "other byte order of LMDB's": (lambda d: d[:16] + d[16:20][::-1] + d[20:4112] + d[4112:4116][::-1] + d[4116:], "all"),
    "other byte order": (lambda d: patch(d, FORMAT, 8, b"\1\2\3\4"), "all"),
    "other format": (lambda d: patch(d, FORMAT, 12, b"\0\0"), "all"),
    "not ours": (lambda d: patch(d, FORMAT, 0, b"windbag"), "all"),
    "records of an old format": (lambda d: patch(d, RECORD, 4, b"\0\0"), "zones"),
    "records of the other byte order": (lambda d: patch(d, RECORD, 6, b"\1\2"), "zones"),
    "a bit in each record": (lambda d: patch(d, RECORD, 40, b"\xff\xee\xdd"), "zones"),
    "torn end of each sector": (lambda d: flip(d, 8192 + 511, len(d), 512), "any"),
}


@pytest.fixture
def saved(farm):
    """All zones have an image, and the server is stopped."""
    farm.start()
    farm.check()
    farm.wait_saved()
    farm.daemon.stop()
    return farm


@pytest.mark.parametrize("what", DAMAGES)
def test_damage(saved, what):
    damage, part = DAMAGES[what]
    path = saved.folder / "data.mdb"
    good = path.read_bytes()
    path.write_bytes(damage(bytearray(good)))
    assert path.read_bytes() != good
    saved.start()
    saved.check()
    said = saved.said()
    lines = complaints(said)
    whole = [line for line in lines if "created again" in line]
    single = [re.search(r"\[(\S+)\.\]", line).group(1) for line in lines if "image not used" in line]
    assert len(lines) == len(whole) + len(single), lines
    if part == "all":
        assert len(whole) == 1 and not single, said
    elif part == "zones":
        assert not whole and sorted(single) == sorted(ZONES), said
    else:
        assert len(whole) == 1 or single, said
    assert len(single) == len(set(single)), lines
    # Saved again, without a command, and then as ever.
    saved.wait_saved()
    saved.daemon.stop()
    saved.start()
    saved.check()
    assert not complaints(saved.said()) and from_image(saved.said()) == len(ZONES)
