# SPDX-License-Identifier: BSD-2-Clause
"""A journal that Knot DNS left: every commit is served, printed as Knot printed it, taken over once, and stays where it was."""
import contextlib
import re
import shutil
import subprocess

import pytest

from harness import lmdb
from harness.net import free_port
from harness.server import built
from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not shutil.which("/usr/sbin/knotd"), reason="Debian's knot is not installed")]
ZONES = ("plain.test", "merged.test", "whole.test", "flushed.test", "large.test")
SOA = "@ 3600 SOA ns a 1 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"
ZONE_ITEMS = {
    "plain.test": "zonefile-sync: -1",
    "merged.test": "zonefile-sync: -1\n    journal-max-depth: 4",
    "whole.test": "zonefile-sync: -1\n    journal-max-depth: 4\n    zonefile-load: difference\n    journal-content: all",
    "flushed.test": "zonefile-sync: 0",
    "large.test": "zonefile-sync: -1",
}


def zones(directory):
    return "zone:\n" + "".join(f"  - domain: {zone}\n    storage: {directory}\n    {items}\n" for zone, items in ZONE_ITEMS.items())


@contextlib.contextmanager
def theirs(knotd):
    """Debian's knotd works on the databases and zone files: its knotc, as a function."""
    run = knotd.dir / "theirs"
    run.mkdir(exist_ok=True)
    (run / "knot.conf").write_text(f"server:\n    rundir: {run}\n    listen: 127.0.0.1@{free_port()}\ndatabase:\n    storage: {knotd.dir}/db\n" + zones(knotd.dir))
    process = subprocess.Popen(["/usr/sbin/knotd", "-c", run / "knot.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(*words):
        return subprocess.run(["/usr/sbin/knotc", "-s", run / "knot.sock", *words], capture_output=True, text=True, timeout=60)

    def knotc(*words):
        done = ask(*words)
        assert done.returncode == 0, (words, done)
        return done.stdout

    try:
        wait_until(lambda: (run / "knot.sock").exists() and re.search(r"serial: \d", ask("zone-status", "large.test", "+serial").stdout), "knotd answers", 60)
        yield knotc
        ask("-b", "stop")
        process.wait(60)
    finally:
        process.kill()
        process.wait(60)


@pytest.fixture
def left(knotd):
    """Ours, not started, where Debian's knotd has committed: serial 8 of each zone but the last, which is at 2."""
    (knotd.dir / "db").mkdir(exist_ok=True)
    for zone in ZONES:
        knotd.write(f"{zone}.zone", SOA)
    with theirs(knotd) as knotc:
        for zone in ZONES[:4]:
            for i in range(1, 8):
                knotc("zone-begin", zone)
                knotc("zone-set", zone, f"w{i}", "300", "A", f"10.0.0.{i}")
                if i > 2:
                    knotc("zone-unset", zone, f"w{i - 2}", "A")
                knotc("zone-commit", zone)
        knotc("zone-begin", "large.test")
        for i in range(200):
            knotc("zone-set", "large.test", f"n{i}", "300", "TXT", f'"{i:03}{"x" * 200}"')
        knotc("zone-commit", "large.test")
    knotd.configure()
    knotd.conf(knotd.path.read_text() + zones(knotd.dir))
    return knotd


def kjournalprint(knotd, *arguments):
    return subprocess.run([built("kjournalprint", "tools"), "-D", knotd.dir / "db" / "journal", *arguments], capture_output=True, text=True, timeout=60).stdout


def records(knotd, zone):
    """Owners of A records."""
    return set(re.findall(r"(w\d)\S* \d+ A", knotd.knotc("zone-read", zone).stdout))


def test_taken_over_once(left):
    journal = left.dir / "db" / "journal"
    before = (journal / "data.mdb").read_bytes()
    theirs = {zone: subprocess.run(["/usr/sbin/kjournalprint", "-D", journal, zone], capture_output=True, text=True).stdout for zone in ZONES}
    left.start()
    left.wait(lambda: "taken over" in left.log(), 30, "line of the takeover")
    lines = re.findall(r"info: journal of Knot DNS taken over, (\d+) zones, (\d+) changes, (\d+) failed; it stays as '(.*)'", left.log())
    assert len(lines) == 1 and lines[0][0] == "5" and lines[0][2] == "0" and lines[0][3] == f"{journal}/data.mdb.knot"
    for zone in ZONES[:4]:
        assert records(left, zone) == {"w6", "w7"}, zone
        assert "serial: 8" in left.knotc("zone-status", zone, "+serial").stdout
    assert left.knotc("zone-read", "large.test").stdout.count(" TXT ") == 200
    for zone in ("plain.test", "flushed.test", "large.test"):
        assert re.sub(r", timestamp: \d+", "", kjournalprint(left, zone)) == theirs[zone]
    # A commit goes on from there, and what was purged doesn't come back.
    for words in (("zone-begin", "plain.test"), ("zone-set", "plain.test", "w8", "300", "A", "10.0.0.8"), ("zone-commit", "plain.test")):
        assert left.knotc(*words).returncode == 0
    assert left.knotc("-f", "zone-purge", "flushed.test", "+journal").returncode == 0
    left.stop()
    left.start()
    assert left.log().count("taken over") == 1
    assert records(left, "plain.test") == {"w6", "w7", "w8"} and kjournalprint(left, "flushed.test") == "The journal is empty\n"
    left.stop()
    assert (journal / "data.mdb.knot").read_bytes() == before


def test_second_switch(left):
    """The way back as the manual describes it; what Knot DNS then commits is taken over when ours starts again."""
    journal = left.dir / "db" / "journal"
    left.start()
    left.wait(lambda: "taken over" in left.log(), 30, "line of the takeover")
    for words in (("zone-begin", "plain.test"), ("zone-set", "plain.test", "w8", "300", "A", "10.0.0.8"), ("zone-commit", "plain.test"), ("-b", "-f", "zone-flush")):
        assert left.knotc(*words).returncode == 0
    left.stop()
    (journal / "data.mdb.knot").rename(journal / "data.mdb")
    with theirs(left) as knotc:
        assert "w8" in knotc("zone-read", "plain.test")
        knotc("zone-begin", "plain.test")
        knotc("zone-set", "plain.test", "w9", "300", "A", "10.0.0.9")
        knotc("zone-commit", "plain.test")
    left.start()
    left.wait(lambda: left.log().count("taken over") == 2, 30, "second line of the takeover")
    assert records(left, "plain.test") == {"w6", "w7", "w8", "w9"}
    left.stop()


def test_goes_on_after_a_crash(left):
    """The server ends before all zones were loaded: the next start takes over the rest, and nothing twice."""
    journal = left.dir / "db" / "journal"
    left.start()
    left.wait(lambda: "taken over" in left.log(), 30, "line of the takeover")
    counts = {zone: kjournalprint(left, "-d", zone).splitlines()[-3] for zone in ZONES}
    left.stop()
    (journal / "data.mdb.knot.taken").unlink()
    left.start()
    left.wait(lambda: left.log().count("taken over") == 2, 30, "second line")
    assert re.findall(r"taken over, (\d+) zones, (\d+) changes, (\d+) failed", left.log())[1] == ("0", "0", "0")
    assert {zone: kjournalprint(left, "-d", zone).splitlines()[-3] for zone in ZONES} == counts
    left.stop()


def test_damaged(left):
    """A zone whose history is damaged starts with what is right, and says so."""
    journal = left.dir / "db" / "journal"
    values = lmdb.read(journal)
    key = b"\5large\4test\0" + bytes(4) + b"\0\0\0\1" + bytes(4)
    lmdb.change(journal, {key: values[key][:-3]})
    left.start()
    left.wait(lambda: "taken over" in left.log(), 30, "line of the takeover")
    assert "error: [large.test.] failed to take over the journal of Knot DNS (malformed data)" in left.log()
    assert re.search(r"taken over, 4 zones, \d+ changes, 1 failed", left.log())
    assert records(left, "plain.test") == {"w6", "w7"} and "serial: 1" in left.knotc("zone-status", "large.test", "+serial").stdout
    left.stop()
