# SPDX-License-Identifier: BSD-2-Clause
"""The journal: what is committed survives, what it may not hold is refused, and what zonefile-load makes of it."""
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from edited import ZONE, addresses, edit, records, serial, start
from harness.disk import fill, small_disk
from harness.server import built, is_ours
from harness.waiting import PATIENCE

NEVER = "zonefile-sync: -1"


def names(daemon, zone="example"):
    """The hosts that tests add."""
    return sorted(name for name in "abc" if addresses(daemon, name, zone))


def kill(daemon):
    daemon.stop(signal.SIGKILL)
    daemon.start()


def write(daemon, text):
    """A zone file with a time of change that differs from the last one's, for daemons that look at seconds."""
    path = daemon.write("example.zone", text)
    later = path.stat().st_mtime_ns + write.step
    write.step += 2 * 10**9
    os.utime(path, ns=(later, later))


write.step = 2 * 10**9


def reload(daemon):
    return daemon.knotc("-b", "zone-reload", "example", check=False)


def zone(number, *hosts):
    return ZONE.replace("admin 5 ", f"admin {number} ") + "".join(f"{host} 60 A 192.0.2.2\n" for host in hosts)


def items(load, content):
    return f"{NEVER}\nzonefile-load: {load}\njournal-content: {content}"


def edit_often(daemon, count):
    """Changes that come to one host more."""
    for number in range(count - 1):
        edit(daemon, f"n{number} 60 A 192.0.2.2")
    edit(daemon, "a 60 A 192.0.2.2")


def kill_without_images(daemon):
    """Kill the daemon, lose its images, and start it."""
    daemon.stop(signal.SIGKILL)
    shutil.rmtree(daemon.dir / "db" / "images", ignore_errors=True)
    shutil.rmtree(daemon.dir / "images", ignore_errors=True)
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")


# ---- Start ----

STARTS = [("whole", "changes"), ("whole", "all"), ("difference", "changes"), ("difference", "all")]


@pytest.mark.parametrize("load, content", STARTS)
def test_commit_survives(knotd, load, content):
    start(knotd, items=items(load, content))
    edit(knotd, "a 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 6, what="the zone")
    assert names(knotd) == ["a"]
    edit(knotd, "b 60 A 192.0.2.2", "- a")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 7, what="the zone")
    assert names(knotd) == ["b"]


@pytest.mark.ours
@pytest.mark.parametrize("count", [1, 30])  # 30: they were merged
@pytest.mark.parametrize("load, content", [*STARTS, ("difference-no-serial", "all")])
def test_commit_survives_without_images(knotd, load, content, count):
    """As after a loss of the images, which are copies only."""
    start(knotd, items=items(load, content))
    edit_often(knotd, count)
    kill_without_images(knotd)
    assert (names(knotd), serial(knotd)) == (["a"], 5 + count)
    if load != "difference-no-serial":
        assert f"[example.] changes from journal applied, serial 5 -> {5 + count}\n" in knotd.log()
    if load != "whole" and content == "all":
        assert f"[example.] zone loaded from journal, serial {5 + count}\n" in knotd.log()


@pytest.mark.ours
@pytest.mark.parametrize("load, content", [*STARTS, ("difference-no-serial", "all")])
def test_commit_after_an_edited_file_survives_without_images(knotd, load, content):
    start(knotd, items=items(load, content))
    edit_often(knotd, 3)
    write(knotd, zone(20, "b"))
    reload(knotd)
    knotd.wait(lambda: names(knotd) == ["b"], what="the edited file")
    before = serial(knotd)
    edit_often(knotd, 30)
    kill_without_images(knotd)
    assert (names(knotd), serial(knotd)) == (["a", "b"], before + 30)


@pytest.mark.ours
@pytest.mark.parametrize("count", [1, 30])  # 30: they were merged
@pytest.mark.parametrize("is_marked", [True, False])  # False: killed between writing the file and noting that
def test_file_without_serial_that_was_written(knotd, count, is_marked):
    """Changes that were committed after the server wrote the file stay, others that an operator makes in it count."""
    start(knotd, items=items("difference-no-serial", "all"))
    edit(knotd, "a 60 A 192.0.2.2")
    if is_marked:
        knotd.knotc("-b", "-f", "zone-flush", "example")
    else:
        (knotd.dir / "out").mkdir()
        knotd.knotc("-b", "zone-flush", "example", "+outdir", str(knotd.dir / "out"))
        shutil.copy(knotd.dir / "out" / "example.zone", knotd.dir / "example.zone")
        kill_without_images(knotd)
    for number in range(count - 1):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    edit(knotd, "b 60 A 192.0.2.2")
    now = 6 + count
    for hosts, version, change in ((["a", "b"], now, lambda text: text), (["b"], now + 1, lambda text: re.sub(r"(?m)^a\..*\n", "", text))):
        knotd.stop(signal.SIGKILL)
        shutil.rmtree(knotd.dir / "db" / "images", ignore_errors=True)
        path = knotd.dir / "example.zone"
        path.write_text(change(path.read_text()))
        knotd.start()
        knotd.wait(lambda: serial(knotd) is not None, what="the zone")
        assert (names(knotd), serial(knotd)) == (hosts, version)
        knotd.knotc("-b", "-f", "zone-flush", "example")


@pytest.mark.ours
@pytest.mark.parametrize("has_image", [True, False])
def test_file_without_serial_that_did_not_change(knotd, has_image):
    """Knot DNS takes back, at each start, what the file doesn't have; here only what another file doesn't have."""
    start(knotd, items=items("difference-no-serial", "all"))
    if has_image:
        knotd.wait(lambda: "current" in knotd.knotc("zone-image", "example").stdout, what="the image")
    edit(knotd, "a 60 A 192.0.2.2")
    edit(knotd, "- ns.sub", "c 60 A 192.0.2.2")
    knotd.stop(signal.SIGKILL)
    if not has_image:
        shutil.rmtree(knotd.dir / "db" / "images")
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 7, what="the zone")
    assert names(knotd) == ["a", "c"]
    assert has_image == ("zone file parsed, serial 5, not changed" not in knotd.log())
    knotd.stop()
    write(knotd, zone(1, "b"))
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 8, what="the zone")
    assert names(knotd) == ["b"]


@pytest.mark.parametrize("content", ["changes", "all"])
def test_zone_without_a_file(knotd, content):
    """zonefile-load: none. What a transaction made is in the journal, the file isn't looked at."""
    knotd.write("example.zone", ZONE)
    knotd.configure(zones=["example"], text=f"template:\n  - id: default\n    zonefile-load: none\n    zonefile-sync: -1\n    journal-content: {content}\n")
    (knotd.dir / "db").mkdir(exist_ok=True)
    knotd.start()
    knotd.wait_log(r"\[example\.\] zone not found")
    knotd.wait_log(r"\[example\.\] zone event 'load' failed \(not exists\)")
    edit(knotd, "@ 60 SOA ns admin 3 60 60 60 60", "@ 60 NS ns.other.", "a 60 A 192.0.2.2")
    assert serial(knotd) == 3
    if content == "changes":
        return
    edit(knotd, "b 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 4, what="the zone")
    assert names(knotd) == ["a", "b"]
    knotd.wait_log(r"\[example\.\] zone loaded from journal, serial 4")
    write(knotd, zone(20, "c"))
    reload(knotd)
    assert serial(knotd) == 4 and names(knotd) == ["a", "b"]


def test_zone_in_journal_is_written_once(knotd):
    start(knotd, items=items("difference", "all"))
    knotd.wait_log(r"\[example\.\] zone stored to journal, serial 5")
    knotd.stop()
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 5, what="the zone")
    assert knotd.log().count("zone stored to journal") == 1


def test_lower_file_at_start(knotd):
    """The journal's version wins over a file that went back."""
    start(knotd, items=items("difference", "all"))
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.stop()
    write(knotd, zone(4, "b"))
    knotd.start()
    knotd.wait_log(r"warning: \[example\.\] zone file changed with SOA serial decreased, ignoring zone file and loading from journal")
    knotd.wait(lambda: serial(knotd) == 6, what="the zone")
    assert names(knotd) == ["a"]


def test_higher_file_at_start(knotd):
    start(knotd, items=items("difference", "all"))
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.stop()
    write(knotd, zone(9, "b"))
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 9, what="the zone")
    assert names(knotd) == ["b"]
    knotd.wait_log(r"\[example\.\] zone loaded from journal, serial 6")
    edit(knotd, "c 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 10, what="the zone")
    assert names(knotd) == ["b", "c"]


# ---- Reload: (zonefile-load, journal-content, file) after "a" was committed as serial 6 → serial, hosts ----

RELOADS = [
    ("whole", "none", (9, "b"), 9, ["b"]),
    ("whole", "none", (5, "b"), 5, ["b"]),
    ("whole", "changes", (9, "b"), 9, ["b"]),
    ("whole", "changes", (5, "b"), 6, ["a", "b"]),      # the journal's change follows serial 5
    ("whole", "changes", (4, "b"), 4, ["b"]),
    ("whole", "all", (9, "b"), 9, ["b"]),
    ("difference", "none", (9, "b"), 9, ["b"]),
    ("difference", "none", (6, "b"), 7, ["b"]),         # changed contents get another serial
    ("difference", "changes", (9, "b"), 9, ["b"]),
    ("difference", "changes", (6, "b"), 7, ["b"]),
    ("difference", "changes", (5, "b"), 7, ["a", "b"]),
    ("difference", "all", (9, "b"), 9, ["b"]),
    ("difference", "all", (6, "a"), 6, ["a"]),
    ("difference-no-serial", "all", (9, "b"), 7, ["b"]),
    ("difference-no-serial", "all", (1, "b"), 7, ["b"]),
    ("none", "none", (9, "b"), None, []),
]


@pytest.mark.parametrize("load, content, file, number, hosts", RELOADS, ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None)
def test_reload(knotd, load, content, file, number, hosts):
    if load == "none":
        knotd.write("example.zone", ZONE)
        knotd.configure(zones=["example"], text=f"template:\n  - id: default\n    zonefile-load: none\n    journal-content: {content}\n")
        knotd.start()
    else:
        start(knotd, items=items(load, content))
        edit(knotd, "a 60 A 192.0.2.2")
        assert serial(knotd) == 6
    write(knotd, zone(*file))
    reload(knotd)
    assert serial(knotd) == number
    assert names(knotd) == hosts


@pytest.mark.parametrize("number, word", [(4, "decreased"), (6 + 2**31, "incomparable"), (7 + 2**31, "decreased")])
def test_file_that_does_not_follow(knotd, number, word):
    """With differences, what is served stays."""
    start(knotd, items=items("difference", "changes"))
    edit(knotd, "a 60 A 192.0.2.2")
    write(knotd, zone(number, "b"))
    done = reload(knotd)
    assert done.returncode == 1 and "value is out of range" in done.stdout
    knotd.wait_log(rf"warning: \[example\.\] zone file changed with {word} SOA serial")
    knotd.wait_log(r"error: \[example\.\] zone event 'load' failed \(value is out of range\)")
    assert serial(knotd) == 6 and names(knotd) == ["a"]


@pytest.mark.ours
def test_difference_is_durable(knotd):
    """The zone in the journal, the file's difference to it, and a transaction: each is there after the file has gone back."""
    start(knotd, items=items("difference", "all"))
    write(knotd, zone(7, "b"))
    reload(knotd)
    edit(knotd, "c 60 A 192.0.2.2")
    knotd.stop(signal.SIGKILL)
    write(knotd, zone(5))
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 8, what="the zone")
    assert names(knotd) == ["b", "c"]


@pytest.mark.ours
def test_changes_that_do_not_fit(knotd):
    """The file has the serial that a change follows, but not the record that it removes: nothing of it is applied."""
    start(knotd, items=items("whole", "changes"))
    edit(knotd, "- www A 192.0.2.80", "a 60 A 192.0.2.2")
    write(knotd, zone(5, "b").replace("www 300 A 192.0.2.80\n", ""))
    assert reload(knotd).returncode == 1
    knotd.wait_log(r"error: \[example\.\] failed to apply journal changes, serial 5 -> 6 \(no such record in zone found\)")
    knotd.wait_log(r"warning: \[example\.\] failed to load journal")
    assert serial(knotd) == 6 and names(knotd) == ["a"]
    knotd.stop()
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 5, what="the file alone")
    assert names(knotd) == ["b"]
    edit(knotd, "c 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 6, what="the zone")
    assert names(knotd) == ["b", "c"]


def test_first_change_after_a_reload(knotd):
    """The journal is made late, and the configuration that named it is gone then."""
    start(knotd, items=NEVER)
    for _ in range(3):
        knotd.knotc("reload")
    edit(knotd, "a 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 6, what="the zone")


def test_file_of_a_zone_that_had_none(knotd):
    """A zone is made by a transaction, so that the journal has it whole. Later its file is edited: then that is what changes lead on from."""
    knotd.configure(zones=["example"])
    (knotd.dir / "db").mkdir(exist_ok=True)
    knotd.start()
    knotd.wait_log(r"\[example\.\] zone not found")
    edit(knotd, "@ 60 SOA ns admin 3 60 60 60 60", "@ 60 NS ns.other.", "a 60 A 192.0.2.2")
    knotd.wait_log(r"\[example\.\] zone file updated")
    knotd.configure(zones=["example"], text=f"template:\n  - id: default\n    {NEVER}\n")
    knotd.knotc("reload")
    write(knotd, zone(20, "b"))
    reload(knotd)
    assert names(knotd) == ["b"]
    edit(knotd, "c 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 21, what="the zone")
    assert names(knotd) == ["b", "c"]


# ---- Limits ----

def test_all_commits_survive_a_kill(knotd):
    """OK means that it is on disk, whatever the journal merges meanwhile."""
    start(knotd, items=NEVER)
    count = 300
    for number in range(count):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 5 + count, what="the zone")
    there = {line.split()[0] for line in records(knotd)}
    assert [number for number in range(count) if f"n{number}.example." not in there] == []


def test_depth_flushes_the_file(knotd):
    start(knotd, items="zonefile-sync: 1h\njournal-max-depth: 3")
    for number in range(5):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    knotd.wait_log(r"\[example\.\] (journal, flushing the zone to allow old changesets cleanup to free space|journal is full, flushing)")
    knotd.wait_log(r"\[example\.\] zone file updated, serial 5 -> ")
    assert "n0.example." in (knotd.dir / "example.zone").read_text()
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 10, what="the zone")
    assert addresses(knotd, "n4") == ["192.0.2.2"]


@pytest.mark.ours
@pytest.mark.parametrize("sync", ["0", "1h"])
def test_full_journal_and_a_changed_file(knotd, sync):
    """Another program's file isn't overwritten to make room: changes are merged until the operator decides."""
    start(knotd, items=f"zonefile-sync: {sync}\njournal-max-depth: 4")
    file = knotd.dir / "example.zone"
    file.rename(knotd.dir / "kept")
    write(knotd, zone(50, "b"))
    for number in range(15):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    assert serial(knotd) == 20 and "admin 50" in file.read_text()
    knotd.wait_log(r"notice: \[example\.\] journal, zone file not written, merging old changesets instead")
    knotd.stop(signal.SIGKILL)
    shutil.rmtree(knotd.dir / "db" / "images")
    file.rename(knotd.dir / "edited")
    (knotd.dir / "kept").rename(file)
    knotd.start()       # on the file that the changes began with, all are there
    knotd.wait(lambda: serial(knotd) == 20, what="the zone")
    assert [number for number in range(15) if not addresses(knotd, f"n{number}")] == []
    (knotd.dir / "edited").rename(file)
    edit(knotd, "n15 60 A 192.0.2.2")
    knotd.knotc("-b", "-f", "zone-flush", "example")
    assert "n15.example." in file.read_text()
    edit(knotd, "n16 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 22, what="the zone")


@pytest.mark.ours
@pytest.mark.parametrize("load", ["whole", "difference"])
def test_whole_zone_larger_than_the_journal(knotd, load):
    """What the journal has instead leads nowhere: commits go on, and survive."""
    start(knotd, items=f"{items(load, 'all')}\njournal-max-usage: 40K")
    knotd.wait_log("zone stored to journal, serial 5")
    write(knotd, zone(20) + "".join(f'n{number} 60 TXT "{"x" * 250}"\n' for number in range(200)))
    if load == "difference":
        knotd.stop()
        shutil.rmtree(knotd.dir / "db")
        (knotd.dir / "db").mkdir()
        knotd.start()
    reload(knotd)
    knotd.wait(lambda: serial(knotd) == 20, what="the new file")
    knotd.wait_log(r"warning: \[example\.\] failed to write zone-in-journal \(not enough space provided\)")
    edit(knotd, "a 60 A 192.0.2.2")
    edit(knotd, "b 60 A 192.0.2.2")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 22, what="the zone")
    assert names(knotd) == ["a", "b"]


def test_change_larger_than_the_journal(knotd):
    start(knotd, items=f"{NEVER}\njournal-max-usage: 40K")
    knotd.knotc("zone-begin", "example")
    for number in range(200):
        knotd.knotc("zone-set", "example", f"n{number}", "60", "TXT", '"' + "x" * 250 + '"')
    done = knotd.knotc("zone-commit", "example", check=False)
    assert done.returncode == 1 and "not enough space provided" in done.stdout
    if is_ours():   # Debian's knotd leaves it at the reply
        knotd.wait_log(r"error: \[example\.\] journal update failed \(not enough space provided\)")
    assert serial(knotd) == 5
    knotd.knotc("zone-abort", "example")
    edit(knotd, "a 60 A 192.0.2.2")
    assert names(knotd) == ["a"]


@pytest.mark.ours
@pytest.mark.core
def test_full_disk(knotd):
    """Refused with a reason, the transaction stays open, status says so; with room again it goes through."""
    with small_disk(knotd.dir / "small", "1M") as small:
        (knotd.dir / "db").symlink_to(small)
        start(knotd, items=NEVER, database=False)
        edit(knotd, "a 60 A 192.0.2.2")
        fill(small / "filler")
        knotd.knotc("zone-begin", "example")
        for number in range(20):
            knotd.knotc("zone-set", "example", f"n{number}", "60", "TXT", '"' + "x" * 250 + '"')
        done = knotd.knotc("zone-commit", "example", check=False)
        assert done.returncode == 1 and re.search("No space left|not enough space", done.stdout)
        knotd.wait_log(r"error: \[example\.\] journal update failed \(")
        assert serial(knotd) == 6
        assert re.search("No space left|not enough space", knotd.knotc("zone-status", "example", "+error").stdout)
        (small / "filler").unlink()
        knotd.knotc("zone-commit", "example")
        assert serial(knotd) == 7
        assert not re.search("No space left|not enough space", knotd.knotc("zone-status", "example", "+error").stdout)
        kill(knotd)
        knotd.wait(lambda: serial(knotd) == 7, what="the zone")
        knotd.stop()


# ---- What is committed doesn't fit to the journal's zone ----

def test_serial_that_returns(knotd):
    """With the whole zone in the journal, a commit returns to a serial that a stored change begins at."""
    start(knotd, items=items("difference", "all"))
    edit(knotd, "a 60 A 192.0.2.2")
    edit(knotd, "@ 3600 SOA ns1 admin 3 3600 600 86400 60")
    for host in "bcdef":
        edit(knotd, f"{host} 60 A 192.0.2.2")
    assert serial(knotd) == 8
    if is_ours():   # Knot DNS goes back to a file whose serial is newer than one that it passed
        kill_without_images(knotd)      # the file has another version of the serial that the changes lead on from
        knotd.wait(lambda: serial(knotd) == 8, what="the zone")
        assert names(knotd) == ["a", "b", "c"]
        edit(knotd, "- a")
        assert serial(knotd) == 9


@pytest.mark.ours
def test_content_changes_there_and_back(knotd):
    """The journal misses what was committed meanwhile; Knot DNS refuses commits then."""
    def change_to(content):
        text = (knotd.dir / "knot.conf").read_text()
        (knotd.dir / "knot.conf").write_text(re.sub("journal-content: .*", f"journal-content: {content}", text))
        knotd.knotc("reload")
        knotd.wait(lambda: "pending" not in knotd.knotc("zone-status", "example").stdout, what="the load")

    start(knotd, items=items("difference", "all"))
    edit(knotd, "a 60 A 192.0.2.2")
    change_to("none")
    edit(knotd, "b 60 A 192.0.2.2")
    change_to("all")
    edit(knotd, "c 60 A 192.0.2.2")
    knotd.wait_log(r"notice: \[example\.\] storing the whole zone to journal, as it doesn't lead to serial 8")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 8, what="the zone")
    assert names(knotd) == ["a", "b", "c"]


# ---- What happens to the files while it runs ----

def folder(daemon):
    return daemon.dir / "db" / "journal"


def replace_folder(daemon):
    folder(daemon).rename(daemon.dir / "old")
    shutil.copytree(daemon.dir / "old", folder(daemon))


def replace_file(daemon):
    (folder(daemon) / "data.mdb").rename(folder(daemon) / "old.mdb")


@pytest.mark.ours
@pytest.mark.parametrize("harm, notice", [
    (lambda daemon: shutil.rmtree(folder(daemon)), "its file was removed or replaced while it was in use"),
    (replace_folder, "its file was removed or replaced while it was in use"),
    (replace_file, "its file was removed or replaced while it was in use"),
    (lambda daemon: os.truncate(folder(daemon) / "data.mdb", 0), "it was renamed to data.mdb.damaged, a new one is made"),
])
def test_files_that_go_while_it_runs(knotd, harm, notice):
    """What is committed afterwards is where a start finds it, and the log says that something was lost."""
    start(knotd, items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.knotc("-b", "-f", "zone-flush", "example")
    harm(knotd)
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "b", "60", "A", "192.0.2.2")
    if knotd.knotc("zone-commit", "example", check=False).returncode != 0:  # refused once: by then it is known
        knotd.knotc("zone-commit", "example")
    knotd.wait_log(rf"warning: journal, '[^']*' \(.*{re.escape(notice)}")
    assert serial(knotd) == 7
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 7, what="the zone")
    assert names(knotd) == ["a", "b"]


@pytest.mark.ours
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_no_file_in_the_place_of_the_database(knotd, make):
    """Neither waits, nor is anything written there."""
    folder(knotd).mkdir(parents=True)
    make(folder(knotd) / "data.mdb")
    start(knotd, items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.wait_log(r"warning: journal, '[^']*' \(.*renamed to data.mdb.damaged, a new one is made")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 6, what="the zone")


# ---- Purge ----

def test_purge(knotd):
    start(knotd, items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.knotc("-b", "-f", "zone-purge", "example", "+journal")
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 5, what="the zone of the file")
    assert names(knotd) == []


@pytest.mark.ours
def test_purge_of_orphans(knotd):
    start(knotd, zones=("example", "other"), items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    edit(knotd, "a 60 A 192.0.2.2", zone="other")
    text = (knotd.dir / "knot.conf").read_text()
    (knotd.dir / "knot.conf").write_text(re.sub(r"  - domain: example\n(    .*\n)*", "", text))
    knotd.knotc("reload")
    knotd.knotc("-f", "zone-purge", "--", "+orphan")
    (knotd.dir / "knot.conf").write_text(text)
    kill(knotd)
    knotd.wait(lambda: serial(knotd) == 5 and serial(knotd, "other") == 6, what="the zones")


# ---- No durability asked for ----

@pytest.mark.ours
def test_no_journal(knotd):
    start(knotd, items=f"{NEVER}\njournal-content: none")
    edit(knotd, "a 60 A 192.0.2.2")
    time.sleep(0.1)   # an absence is shown: nothing may be written later either
    assert not (knotd.dir / "db" / "journal").exists() and not (knotd.dir / "journal").exists()


@pytest.mark.ours
def test_no_journal_without_changes(knotd):
    start(knotd, items=items("whole", "changes"))
    knotd.stop()
    assert not (knotd.dir / "db" / "journal").exists() and not (knotd.dir / "journal").exists()


@pytest.mark.ours
def test_check_of_merged_changes(knotd):
    """`kjournalprint -H` has nothing against changes that are merged on either side of the image's serial."""
    start(knotd, items=f"{NEVER}\njournal-max-depth: 5")
    for number in range(4):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    knotd.wait(lambda: re.search(r"\b9\b", knotd.knotc("zone-image", "example").stdout), what="the image")
    for number in range(4, 11):
        edit(knotd, f"n{number} 60 A 192.0.2.2")
    journal = ("-D", str(knotd.dir / "db" / "journal"))
    for options in ((), ("-H",)):
        done = subprocess.run([built("kjournalprint", "tools"), *journal, *options, "-d", "example"], capture_output=True, text=True, timeout=60 * PATIENCE)
        assert done.returncode == 0 and "code" not in done.stderr, (options, done)
        # 5 -> 9, 9 -> 13, 13 -> 14 ...: one merged change less if another image is saved meanwhile.
        assert done.stdout.startswith("5 -> ") and "-> 16 " in done.stdout, done


@pytest.mark.ours
def test_large_changes_of_many_zones(knotd):
    """More zones than are merged at once: none is forgotten."""
    zones = [f"z{number}" for number in range(8)]
    start(knotd, zones=zones, items=f"{NEVER}\njournal-max-depth: 3", server="background-workers: 4")
    strings = " ".join(["x" * 250] * 120)
    for number in range(5):
        for zone_name in zones:
            edit(knotd, f"n{number} 60 TXT {strings}", zone=zone_name)

    def depth(zone_name):
        journal = knotd.dir / "db" / "journal"
        done = subprocess.run([built("kjournalprint", "tools"), "-D", str(journal), "-d", zone_name], capture_output=True, text=True, timeout=60 * PATIENCE)
        return len(re.findall(r"^\d+ -> \d+", done.stdout, re.M))

    knotd.wait(lambda: all(1 <= depth(zone_name) <= 3 for zone_name in zones), what="the merges")
    kill(knotd)
    for zone_name in zones:
        knotd.wait(lambda name=zone_name: serial(knotd, name) == 10, what="the zone")
