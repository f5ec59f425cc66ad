# SPDX-License-Identifier: BSD-2-Clause
"""zone-backup and zone-restore: what comes back, what is refused, and what is left when something goes wrong, here and between Knot DNS and us."""
import itertools
import re
import shutil
import subprocess

import pytest

from harness import lmdb
from harness.disk import fill, small_disk
from harness.server import Knotd, built

pytestmark = pytest.mark.ours
SOA = "@ 3600 SOA ns a 1 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"
ITEMS = {
    "file.test": "zonefile-sync: 0",
    "kept.test": "zonefile-sync: -1",
    "journal.test": "zonefile-sync: 0\n    zonefile-load: difference-no-serial\n    journal-content: all",
    ".": "zonefile-sync: 0\n    file: root.zone",
}
KNOTD = "/usr/sbin/knotd"
peer = pytest.mark.skipif(not shutil.which(KNOTD), reason="Debian's knot is not installed")


def configure(server, items=None):
    items = items or ITEMS
    for zone in items:
        server.write("root.zone" if zone == "." else f"{zone}.zone", SOA)
    server.configure()
    server.conf(server.path.read_text() + "zone:\n" + "".join(f"  - domain: {zone}\n    storage: {server.dir}\n    {item}\n" for zone, item in items.items()))
    return server


@pytest.fixture
def theirs(directory):
    """Debian's knotd with the same zones."""
    (directory / "theirs" / "db").mkdir(parents=True)
    server = configure(Knotd(directory / "theirs", program=KNOTD))
    yield server
    server.stop()


def add(server, zone, owner, address="192.0.2.9"):
    for words in (("zone-begin", zone), ("zone-set", zone, owner, "300", "A", address), ("-b", "zone-commit", zone)):
        server.knotc(*words)


def serial(server, zone):
    return server.knotc("zone-status", zone, "+serial").stdout.rsplit(" ", 1)[1].strip()


def wait_serial(server, zone, wanted):
    server.wait(lambda: serial(server, zone) == str(wanted), 20, lambda: f"serial {wanted} of {zone}, it is {serial(server, zone)}")


def records(server, zone):
    lines = server.knotc("zone-read", zone).stdout.splitlines()
    return sorted(line.split("] ", 1)[1] for line in lines)


def label(folder):
    return dict(line.split(": ", 1) for line in (folder / "knot_backup.label").read_text().splitlines())


def chain(folder, zone):
    """The first and last serial of the changes in a journal in Knot's layout."""
    found = subprocess.run([built("kjournalprint", "tools"), "-x", "-d", str(folder), zone], capture_output=True, text=True, check=False).stdout
    return re.findall(r"^(?:Zone-in-journal )?(\d+)(?: -> (\d+))?", found, re.M)


def test_back_and_forth(knotd, directory):
    configure(knotd).start()
    backup = directory / "backup"
    for zone in ITEMS:
        add(knotd, zone, "one")
        add(knotd, zone, "two")
    before = {zone: records(knotd, zone) for zone in ITEMS}
    assert knotd.knotc("-b", "zone-backup", "+backupdir", str(backup), "+journal").stdout == "OK\n"
    assert label(backup)["parameters"] == f"+zonefile +journal +timers +kaspdb +nokeysonly +catalog +quic +backupdir {backup}"
    assert label(backup)["zone_count"] == "4" and label(backup)["backup_format"] == "2" and label(backup)["label"] == "Knot DNS Backup"
    assert sorted(path.name for path in (backup / "zonefiles").iterdir()) == [".zone", "file.test.zone", "journal.test.zone", "kept.test.zone"]
    assert not (backup / "lock.knot_backup").exists()
    for zone in ITEMS:
        add(knotd, zone, "three")
    add(knotd, "file.test", "four")
    assert knotd.knotc("-b", "zone-restore", "+backupdir", str(backup), "+journal").stdout == "OK\n"
    for zone in ITEMS:
        wait_serial(knotd, zone, 3)
    assert {zone: records(knotd, zone) for zone in ITEMS} == before
    add(knotd, "journal.test", "after")
    after = records(knotd, "journal.test")
    knotd.stop()
    knotd.start()
    assert {zone: records(knotd, zone) for zone in ITEMS} == {**before, "journal.test": after}
    for zone in ITEMS:
        assert re.search(rf"info: \[{re.escape(zone if zone == '.' else zone + '.')}\] zone backed up to '{backup}'", knotd.log())
        assert re.search(rf"info: \[{re.escape(zone if zone == '.' else zone + '.')}\] zone restored from '{backup}'", knotd.log())


def test_without_the_journal_the_file_counts(knotd, directory):
    configure(knotd).start()
    add(knotd, "kept.test", "one")
    knotd.knotc("-b", "zone-backup", "kept.test", "file.test", "+backupdir", str(directory / "b"))
    assert label(directory / "b")["zone_count"] == "2" and not (directory / "b" / "journal").exists()
    knotd.knotc("-b", "zone-restore", "kept.test", "+backupdir", str(directory / "b"))
    knotd.wait(lambda: len(records(knotd, "kept.test")) == 3, 20, "the file of the beginning")
    assert "one.kept.test" not in "".join(records(knotd, "kept.test"))
    # What only the journal had is gone, so the next start has the same.
    knotd.stop()
    knotd.start()
    assert len(records(knotd, "kept.test")) == 3


def test_parts_alone(knotd, directory):
    """Parts that weren't backed up stay as they are, unless they are asked for."""
    configure(knotd).start()
    knotd.knotc("-b", "zone-backup", "file.test", "+backupdir", str(directory / "t"), "+nozonefile")
    assert sorted(path.name for path in (directory / "t").iterdir()) == ["knot_backup.label", "timers"]
    add(knotd, "file.test", "later")
    knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(directory / "t"))
    wait_serial(knotd, "file.test", 2)
    assert "later.file.test." in "".join(records(knotd, "file.test"))
    done = knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(directory / "t"), "+zonefile", "+journal", check=False)
    assert done.returncode == 1 and "(requested data not in backup)" in done.stdout
    assert "warning: [file.test.] missing in backup: zonefile, journal" in knotd.log()
    assert serial(knotd, "file.test") == "2"


def test_a_zone_that_came_later_stays(knotd, directory):
    configure(knotd).start()
    knotd.knotc("-b", "zone-backup", "kept.test", "+backupdir", str(directory / "b"))
    done = knotd.knotc("-b", "zone-restore", "file.test", "kept.test", "+backupdir", str(directory / "b"), check=False)
    assert "[file.test] (requested data not in backup)" in done.stdout and done.returncode == 1
    assert "[file.test.] zone restore failed (requested data not in backup)" in knotd.log()
    assert (knotd.dir / "file.test.zone").exists() and serial(knotd, "file.test") == "1"
    assert "info: [kept.test.] zone restored from" in knotd.log()


def test_what_is_refused(knotd, directory):
    configure(knotd).start()
    backup, plain = directory / "b", directory / "plain"
    plain.mkdir()
    (directory / "file").write_text("x")
    knotd.knotc("-b", "zone-backup", "file.test", "+backupdir", str(backup))
    for words, text, line in [
        (("zone-backup",), "missing parameter", "error: backup init failed (missing parameter)"),
        (("zone-restore", "file.test"), "missing parameter", "error: [file.test.] restore init failed (missing parameter)"),
        (("zone-backup", "+backupdir", str(backup)), "already exists", "error: backup init failed (already exists)"),
        (("zone-backup", "+backupdir", str(directory / "file")), "already exists", "error: backup init failed (already exists)"),
        (("zone-backup", "+backupdir", str(directory / "no" / "b")), "not exists", "error: backup init failed (not exists)"),
        (("zone-backup", "+backupdir", f"{knotd.dir}/db"), "invalid parameter", "error: backup to the database storage directory not allowed"),
        (("zone-restore", "+backupdir", f"{knotd.dir}/db"), "invalid parameter", "error: restore from the database storage directory not allowed"),
        (("zone-backup", "+backupdir", str(plain), "+timers", "+notimers"), "parameter conflict", "error: backup init failed (parameter conflict)"),
        (("zone-restore", "+backupdir", str(plain)), "malformed data", "error: restore init failed (malformed data)"),
        (("zone-restore", "+backupdir", str(directory / "no")), "not exists", "error: restore init failed (not exists)"),
        (("zone-restore", "+backupdir", str(directory / "file")), "not a directory", "error: restore init failed (not a directory)"),
    ]:
        done = knotd.knotc("-b", *words, check=False)
        assert done.returncode == 1 and done.stdout.strip() == f"error: ({text})", words
        assert line in knotd.log(), words
    assert list(plain.iterdir()) == []
    done = knotd.knotc("-b", "zone-backup", "no.test", "+backupdir", str(plain), check=False)
    assert "[no.test] (no such zone found)" in done.stdout
    # What a label must have.
    text = (backup / "knot_backup.label").read_text()
    for change, error in ((text.replace("format: 2", "format: 3"), "operation not supported"), (text.replace("LE", "BE"), "incompatible CPU architecture"),
                          (text[3:], "malformed data"), (text.replace("format: 2", "format: x"), "malformed data"), ("", "malformed data"),
                          ("\0" * 70000, "malformed data")):
        (backup / "knot_backup.label").write_text(change)
        assert f"({error})" in knotd.knotc("-b", "zone-restore", "+backupdir", str(backup), check=False).stdout
    assert all(serial(knotd, zone) == "1" for zone in ITEMS)
    # An open transaction would be lost.
    (backup / "knot_backup.label").write_text(text)
    knotd.knotc("zone-begin", "file.test")
    assert "too many transactions" in knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(backup), check=False).stdout
    assert "warning: [file.test.] restoring backup not possible due to open control transaction" in knotd.log()
    knotd.knotc("-b", "zone-backup", "file.test", "+backupdir", str(directory / "b2"))
    knotd.knotc("zone-abort", "file.test")


def test_force(knotd, directory):
    configure(knotd).start()
    backup, old = directory / "b", directory / "old"
    knotd.knotc("-b", "zone-backup", "file.test", "kept.test", "+backupdir", str(backup))
    (backup / "mine").write_text("stays")
    add(knotd, "file.test", "one")
    knotd.knotc("-b", "-f", "zone-backup", "file.test", "+backupdir", str(backup))
    assert [path.name for path in (backup / "zonefiles").iterdir()] == ["file.test.zone"] and (backup / "mine").read_text() == "stays"
    assert "one" in (backup / "zonefiles" / "file.test.zone").read_text()
    # A folder without a label, as the first format has it.
    old.mkdir()
    shutil.copy(backup / "zonefiles" / "file.test.zone", old)
    add(knotd, "file.test", "two")
    assert "(malformed data)" in knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(old), "+notimers", check=False).stdout
    knotd.knotc("-b", "-f", "zone-restore", "file.test", "+backupdir", str(old), "+notimers")
    wait_serial(knotd, "file.test", 2)


def test_a_full_disk_leaves_no_backup(knotd, directory):
    configure(knotd, {"file.test": "zonefile-sync: 0", "large.test": "zonefile-sync: 0"})
    knotd.write("large.test.zone", SOA + "".join(f"a{i} 300 A 192.0.2.{i % 250}\n" for i in range(20000)))
    knotd.start()
    knotd.wait(lambda: serial(knotd, "large.test") == "1", 20, "the large zone")
    with small_disk(directory / "disk", "256k") as disk:
        backup = disk / "b"
        done = knotd.knotc("-b", "zone-backup", "+backupdir", str(backup), check=False)
        assert done.returncode == 1 and "operation failed for some zones" in done.stdout
        assert re.search(r"warning: \[large.test.\] backup, zone file failed \(", knotd.log())
        assert re.search(r"warning: \[large.test.\] zone backup failed \(", knotd.log())
        assert (backup / "lock.knot_backup").exists() and not (backup / "knot_backup.label").exists()
        assert "(requested resource is busy)" in knotd.knotc("-b", "zone-restore", "+backupdir", str(backup), check=False).stdout
        assert "(requested resource is busy)" in knotd.knotc("-b", "zone-backup", "+backupdir", str(backup), check=False).stdout
        # What is left over goes by force.
        knotd.knotc("-b", "-f", "zone-backup", "file.test", "+backupdir", str(backup))
        assert label(backup)["zone_count"] == "1"
    assert serial(knotd, "large.test") == "1"
    # Restoring to a disk that is full keeps the old file.
    knotd.knotc("-b", "zone-backup", "+backupdir", str(directory / "b"))
    assert "zone-update-error" not in knotd.knotc("stats", "server").stdout


def test_a_full_disk_keeps_the_zone_file(knotd, directory):
    with small_disk(directory / "disk", "64k") as disk:
        configure(knotd, {"file.test": f"zonefile-sync: -1\n    file: {disk}/file.test.zone"})
        (disk / "file.test.zone").write_text(SOA)
        knotd.start()
        knotd.knotc("-b", "zone-backup", "+backupdir", str(directory / "b"))
        fill(disk / "filler")
        (directory / "b" / "zonefiles" / "file.test.zone").write_text(SOA + "; " + "x" * 5000 + "\n")
        done = knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(directory / "b"), check=False)
        assert done.returncode == 1 and re.search(r"\[file.test.\] restore, zone file failed \(", knotd.log())
        assert serial(knotd, "file.test") == "1"
        assert (disk / "file.test.zone").read_text() == SOA
        knotd.stop()


@pytest.mark.parametrize("part", ["journal", "timers"])
def test_a_damaged_database_changes_nothing(knotd, directory, part):
    configure(knotd).start()
    add(knotd, "journal.test", "one")
    knotd.knotc("-b", "zone-backup", "+backupdir", str(directory / "b"), "+journal")
    data = directory / "b" / part / "data.mdb"
    data.write_bytes(b"\xff" * 8192 + data.read_bytes()[8192:])
    add(knotd, "journal.test", "two")
    before = records(knotd, "journal.test")
    done = knotd.knotc("-b", "zone-restore", "journal.test", "+backupdir", str(directory / "b"), "+journal", check=False)
    assert done.returncode == 1 and re.search(rf"warning: \[journal.test.\] restore, {part} failed \(", knotd.log())
    assert records(knotd, "journal.test") == before and data.read_bytes()[:4] == b"\xff" * 4
    # Without that part the rest can be restored.
    knotd.knotc("-b", "zone-restore", "file.test", "+backupdir", str(directory / "b"), f"+no{part}", "+zonefile")


def many(knotd, count):
    knotd.write("z.zone", SOA)
    knotd.configure()
    knotd.conf(knotd.path.read_text() + "zone:\n" + "".join(f"  - domain: z{i:04}.test\n    storage: {knotd.dir}\n    zonefile-sync: -1\n    file: z.zone\n" for i in range(count)))
    knotd.start()


def test_two_at_once(knotd, directory):
    many(knotd, 600)
    first, second, last = directory / "b1", directory / "b2", "z0599.test"
    knotd.knotc("zone-backup", "+backupdir", str(first))
    done = knotd.knotc("-b", "zone-backup", "+backupdir", str(second), check=False)
    skipped = knotd.log().count("backup or restore already in progress, skipping zone")
    assert skipped > 0 and "operation failed for some zones" in done.stdout
    knotd.wait(lambda: (first / "knot_backup.label").exists(), 60, "the label")
    assert label(first)["zone_count"] == "600" and label(second)["zone_count"] == str(600 - skipped)
    assert len(list((first / "zonefiles").iterdir())) == 600
    # While a zone waits for being restored, no transaction on it begins.
    knotd.knotc("zone-restore", "+backupdir", str(first))
    done = knotd.knotc("zone-begin", last, check=False)
    assert "(try again later)" in done.stdout, done.stdout
    knotd.wait_log(rf"\[{last}.\] zone restored from", 60)
    knotd.wait(lambda: serial(knotd, last) == "1", 20, "the zone is served")


def test_an_interrupted_one_is_no_backup(knotd, directory):
    many(knotd, 600)
    for how, end in (("stop", lambda: knotd.stop()), ("kill", lambda: knotd.stop(9))):
        backup = directory / how
        knotd.knotc("zone-backup", "+backupdir", str(backup))
        end()
        assert (backup / "lock.knot_backup").exists() and not (backup / "knot_backup.label").exists()
        knotd.start()
        assert "(requested resource is busy)" in knotd.knotc("-b", "zone-restore", "+backupdir", str(backup), check=False).stdout
    assert f"warning: backup to '{directory / 'stop'}' in progress, terminating, will be incomplete" in knotd.log()
    knotd.knotc("-b", "-f", "zone-backup", "z0001.test", "+backupdir", str(directory / "kill"))
    assert label(directory / "kill")["zone_count"] == "1"


def test_a_zone_that_is_removed_meanwhile(knotd, directory):
    many(knotd, 600)
    text = knotd.path.read_text()
    knotd.conf(text[:text.index("  - domain: z0300.test")])
    knotd.knotc("zone-backup", "+backupdir", str(directory / "b"))
    knotd.knotc("reload")
    knotd.knotc("-b", "zone-backup", "z0001.test", "+backupdir", str(directory / "b2"), check=False)
    # Either all were done before, or it is incomplete; in any case there is no claim that isn't so.
    if (directory / "b" / "knot_backup.label").exists():
        assert len(list((directory / "b" / "zonefiles").iterdir())) == int(label(directory / "b")["zone_count"])
    else:
        assert (directory / "b" / "lock.knot_backup").exists()


def test_one_version_under_commits(knotd, directory):
    """File and journal of a backup are of one version, whatever is committed meanwhile."""
    configure(knotd, {"live.test": "zonefile-sync: 60\n    zonefile-load: difference\n    journal-content: changes"}).start()
    (directory / "words").write_text("".join(f"zone-begin live.test\nzone-set live.test a{i} 300 A 192.0.2.1\nzone-commit live.test\n" for i in range(80)))
    with open(directory / "words", encoding="ascii") as words:
        client = subprocess.Popen([built("knotc", "tools"), "-s", str(knotd.socket)], stdin=words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seen = []
    for number in itertools.count():
        backup = directory / f"b{number}"
        is_over = client.poll() is not None
        knotd.knotc("-b", "zone-backup", "+backupdir", str(backup), "+journal")
        text = (backup / "zonefiles" / "live.test.zone").read_text()
        in_file = re.search(r"SOA\t\S+ \S+ (\d+) ", text).group(1)
        steps = chain(backup / "journal", "live.test") if (backup / "journal").exists() else []
        assert (not steps and in_file == "1") or steps[-1][1] == in_file
        assert len(re.findall(r"^a\d+\.live", text, re.M)) == int(in_file) - 1
        seen.append(int(in_file))
        if is_over:
            break
    assert len(set(seen)) > 2 and seen[-1] == 81
    knotd.knotc("-b", "zone-restore", "+backupdir", str(directory / "b1"), "+journal")
    wait_serial(knotd, "live.test", seen[1])


@peer
def test_theirs_is_restored_here(knotd, theirs, directory):
    theirs.start()
    for zone in ITEMS:
        for owner in ("one", "two", "three"):
            add(theirs, zone, owner)
    theirs.knotc("-b", "zone-backup", "+backupdir", str(directory / "b"), "+journal")
    wanted = {zone: records(theirs, zone) for zone in ITEMS}
    configure(knotd).start()
    knotd.knotc("-b", "zone-restore", "+backupdir", str(directory / "b"), "+journal")
    for zone in ITEMS:
        wait_serial(knotd, zone, 4)
    assert {zone: records(knotd, zone) for zone in ITEMS} == wanted
    assert chain(knotd.dir / "db" / "journal", "journal.test")[-1] == ("3", "4")
    add(knotd, "journal.test", "here")
    wait_serial(knotd, "journal.test", 5)


@peer
def test_ours_is_restored_there(knotd, theirs, directory):
    configure(knotd).start()
    # An RRset that is longer than a chunk of the journal, and records of all sizes.
    knotd.knotc("zone-begin", "journal.test")
    for i in range(12):
        knotd.knotc("zone-set", "journal.test", "long", "300", "TXT", *([f'"{i:02}{"x" * 240}"'] * 60))
    knotd.knotc("-b", "zone-commit", "journal.test")
    for zone in ITEMS:
        for owner in ("one", "two", "three"):
            add(knotd, zone, owner)
    knotd.knotc("-b", "zone-backup", "+backupdir", str(directory / "b"), "+journal")
    wanted = {zone: records(knotd, zone) for zone in ITEMS}
    theirs.start()
    theirs.knotc("-b", "zone-restore", "+backupdir", str(directory / "b"), "+journal")
    for zone in ITEMS:
        wait_serial(theirs, zone, 5 if zone == "journal.test" else 4)
    assert {zone: records(theirs, zone) for zone in ITEMS} == wanted
    found = subprocess.run(["/usr/sbin/kjournalprint", "-H", f"{theirs.dir}/db/journal", "journal.test"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    add(theirs, "journal.test", "there")
    wait_serial(theirs, "journal.test", 6)
    assert set(lmdb.read(directory / "b" / "timers")) == {b"\0", b"\4file\4test\0", b"\4kept\4test\0", b"\7journal\4test\0"}
