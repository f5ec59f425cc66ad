# SPDX-License-Identifier: BSD-2-Clause
"""A journal that can't be opened at the start, though it has changes: none of them is forgotten, nor replaced by a change of an older version."""
import contextlib
import fcntl
import os
import signal

import pytest

from edited import edit, serial, start
from test_journal import names, write, zone

pytestmark = pytest.mark.ours
JOURNAL = "db/journal"


@contextlib.contextmanager
def locked(daemon):
    """As by another server with the same journal."""
    folder = os.open(daemon.dir / JOURNAL, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield "another process writes to it"
    finally:
        os.close(folder)


@contextlib.contextmanager
def broken(daemon):
    """LMDB can't open its lock file."""
    path = daemon.dir / JOURNAL / "lock.mdb"
    path.unlink(missing_ok=True)
    path.mkdir()
    try:
        (path / "something").write_text("")
        yield ""
    finally:
        (path / "something").unlink()
        path.rmdir()


def commit(daemon, *words):
    """A transaction; what its commit said."""
    daemon.knotc("zone-begin", "example")
    daemon.knotc("zone-set", "example", *words)
    said = daemon.knotc("zone-commit", "example", check=False)
    daemon.knotc("zone-abort", "example", check=False)
    return said


def error(daemon):
    return daemon.knotc("zone-status", "example", "+error").stdout


def prepare(daemon, items):
    """Version 5 in file and image, versions 6 and 7 in the journal only."""
    start(daemon, items=items)
    daemon.wait(lambda: "current" in daemon.knotc("zone-image", "example").stdout, what="the image")
    daemon.stop()
    (daemon.dir / "db" / "images").rename(daemon.dir / "old")
    daemon.start()
    daemon.wait(lambda: serial(daemon) == 5, what="the zone")
    edit(daemon, "a 60 A 192.0.2.2")
    edit(daemon, "b 60 A 192.0.2.2")
    daemon.stop(signal.SIGKILL)
    for file in (daemon.dir / "db" / "images").iterdir():
        file.unlink()
    (daemon.dir / "db" / "images").rmdir()
    (daemon.dir / "old").rename(daemon.dir / "db" / "images")


@pytest.mark.parametrize("closed", [locked, broken])
@pytest.mark.parametrize("items", ["zonefile-sync: -1", "zonefile-sync: -1\nzonefile-load: difference\njournal-content: all", "zonefile-sync: 1h"])
def test_nothing_is_forgotten(knotd, closed, items):
    prepare(knotd, items)
    with closed(knotd) as why:
        knotd.start()
        knotd.wait_log(r"error: journal, failed to open '\S+' \(.*" + why)
        knotd.wait_log(r"error: \[example\.\] zone event 'load' failed")
        knotd.wait(lambda: serial(knotd) == 5, what="the version that can be had")
        assert "journal" in error(knotd) and why in error(knotd)
        said = commit(knotd, "c", "60", "A", "192.0.2.2")
        assert said.returncode == 1 and "journal" in said.stdout and why in said.stdout
        said = knotd.knotc("zone-serial-set", "example", "9", check=False)
        assert said.returncode == 1 and serial(knotd) == 5
        assert knotd.log().count("zone event 'load' failed") == 1       # trying again is silent
    knotd.wait(lambda: knotd.knotc("-b", "zone-reload", "example", check=False).returncode == 0, 60, "the journal")
    assert serial(knotd) == 7
    assert names(knotd) == ["a", "b"] and "journal opened" in knotd.log()
    assert "journal" not in error(knotd)
    edit(knotd, "c 60 A 192.0.2.2")
    knotd.stop(signal.SIGKILL)
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 8, what="the zone")
    assert names(knotd) == ["a", "b", "c"]


def test_zone_without_a_file(knotd):
    """Its only place is the journal: there is nothing to serve until that can be opened."""
    knotd.configure(zones=["example"], text="template:\n  - id: default\n    zonefile-load: none\n    zonefile-sync: -1\n    journal-content: all\n")
    (knotd.dir / "db").mkdir()
    knotd.start()
    knotd.wait_log(r"\[example\.\] zone not found")
    edit(knotd, "@ 60 SOA ns admin 3 60 60 60 60", "@ 60 NS ns.other.", "a 60 A 192.0.2.2")
    knotd.stop(signal.SIGKILL)
    with locked(knotd):
        knotd.start()
        knotd.wait_log(r"error: \[example\.\] zone event 'load' failed", count=2)
        assert serial(knotd) is None
        said = commit(knotd, "@", "60", "SOA", "ns", "admin", "9", "60", "60", "60", "60")
        assert said.returncode == 1 and serial(knotd) is None
    knotd.wait(lambda: serial(knotd) == 3, 60, "the zone")      # it is tried again without being asked to
    assert names(knotd) == ["a"]


def test_a_file_changes_meanwhile(knotd):
    """It is served, as it would be with the journal."""
    prepare(knotd, "zonefile-sync: -1")
    with locked(knotd):
        knotd.start()
        knotd.wait(lambda: serial(knotd) == 5, what="the version that can be had")
        write(knotd, zone(20, "c"))
        knotd.knotc("reload")
        knotd.wait(lambda: serial(knotd) == 20, what="the file")
        assert commit(knotd, "d", "60", "A", "192.0.2.2").returncode == 1
    knotd.wait(lambda: "OK" in commit(knotd, "d", "60", "A", "192.0.2.2").stdout, 60, "a commit")
    assert serial(knotd) == 21 and names(knotd) == ["c"]


def test_a_journal_that_is_not_used(knotd):
    """Nothing of it is wanted, so nothing is missing."""
    prepare(knotd, "zonefile-sync: -1")
    knotd.path.write_text(knotd.path.read_text().replace("zonefile-sync: -1", "zonefile-sync: -1\n    journal-content: none"))
    with locked(knotd):
        knotd.start()
        knotd.wait(lambda: serial(knotd) == 5, what="the zone")
        edit(knotd, "c 60 A 192.0.2.2")
        assert "failed" not in error(knotd) and serial(knotd) == 6
