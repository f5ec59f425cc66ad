# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of the zone file: when it is written, how, and that nothing that was committed gets lost between."""
import datetime
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import time

import pytest

from edited import ZONE, addresses, edit, records, serial, start
from harness.control import BLOCK, Client, unit
from harness.disk import fill, small_disk
from harness.server import is_ours

TIMEOUT_S = 1     # control.timeout
NEVER = "zonefile-sync: -1"


def file(daemon, zone="example"):
    return (daemon.dir / f"{zone}.zone").read_text()


def status(daemon, zone="example"):
    text = daemon.knotc("zone-status", zone).stdout
    return dict(re.findall(r"([\w/-]+): ([^|\n]+?)(?= \||\n|$)", text))


def image(daemon, zone="example"):
    text = daemon.knotc("zone-image", zone).stdout
    return dict(re.findall(r"([\w/-]+): ([^|\n]+?)(?= \||\n|$)", text))


def wait_saved(daemon, number):
    """Wait until the version of this serial is on disk: that of the version before is current, too, by its file."""
    daemon.wait(lambda: image(daemon).get("serial") == str(number) and image(daemon)["image"] == "current", 10, "the image")


def restart(daemon, number=signal.SIGTERM):
    """Stop, and what the log says from the next start on."""
    daemon.stop(number)
    before = len(daemon.log())
    daemon.start()
    return daemon.log()[before:]


def times(daemon, pattern):
    """When lines were logged that match, in seconds."""
    found = re.findall(rf"^(\S+) \w+: {pattern}", daemon.log(), re.M)
    return [datetime.datetime.fromisoformat(stamp).timestamp() for stamp in found]


def wait_flushed(daemon, old, new):
    daemon.wait_log(rf"\[example\.\] zone file updated, serial {old} -> {new}\n")


def test_written_at_once(knotd):
    start(knotd)
    edit(knotd, "a 60 A 192.0.2.2", "- mail")
    wait_flushed(knotd, 5, 6)
    lines = file(knotd).splitlines()
    assert re.match(r";; Zone dump \((Bowline|Knot DNS) [\d.]+\)", lines[0])
    assert lines[1:] [:-1] == [
        "example.            \t3600\tSOA\tns1.example. admin.example. 6 3600 600 86400 60",
        "example.            \t3600\tNS\tns1.example.", "a.example.          \t60\tA\t192.0.2.2",
        "alias.example.      \t3600\tCNAME\twww.example.", "ns1.example.        \t3600\tA\t192.0.2.1",
        "sub.example.        \t3600\tNS\tns.sub.example.", "ns.sub.example.     \t3600\tA\t192.0.2.9",
        "www.example.        \t300\tA\t192.0.2.80", "www.example.        \t3600\tAAAA\t2001:db8::1", ";; Written 9 records"]
    assert not list(knotd.dir.glob("example.zone.*"))
    if is_ours():       # what was written is what is served: nothing to read
        knotd.knotc("-b", "zone-reload", "example")
        assert "zone file not changed, serial 6" in knotd.log()


@pytest.mark.ours
def test_blocking_commit_waits_for_the_file(knotd):
    """The one way to know that what was committed is in the file."""
    start(knotd)
    for number in range(5):
        edit(knotd, f"a{number} 60 A 192.0.2.2", commit=("-b",))
        assert f"a{number}.example." in file(knotd)


def test_other_programs_read_it(knotd):
    start(knotd)
    edit(knotd, 'a 60 TXT "b;c" d', "* 60 A 192.0.2.2", r"x\032y 60 TYPE65280 \# 2 ABCD")
    wait_flushed(knotd, 5, 6)
    found = False
    for program, *arguments in (("/usr/bin/kzonecheck", "-o", "example"), ("/usr/bin/named-checkzone", "example"),
                                ("/usr/sbin/nsd-checkzone", "example"), ("/usr/sbin/named-checkzone", "example")):
        if os.path.exists(program):
            done = subprocess.run([program, *arguments, knotd.dir / "example.zone"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
            found = True
    assert found, "no program that checks zone files is installed"


@pytest.mark.ours
def test_owner_mode_and_link_stay(knotd):
    knotd.write("real.zone", ZONE).chmod(0o604)
    if os.geteuid() == 0:
        os.chown(knotd.dir / "real.zone", 1234, 4321)
    (knotd.dir / "example.zone").symlink_to("real.zone")
    start(knotd)
    edit(knotd, "a 60 A 192.0.2.2", commit=("-b",))
    assert (knotd.dir / "example.zone").is_symlink() and "a.example." in (knotd.dir / "real.zone").read_text()
    info = (knotd.dir / "real.zone").stat()
    assert info.st_mode & 0o777 == 0o604
    if os.geteuid() == 0:
        assert (info.st_uid, info.st_gid) == (1234, 4321)


def flush_due(daemon, zone="example"):
    """When the file is to be written: UNIX time."""
    with Client(daemon.socket) as client:
        return int(re.sub(r"\D", "", client.command("zone-status", zone=zone, filters="eu")[5]["data"]))


def test_written_later(knotd):
    """A period counts from the last time that the file was to be written, not from the change: both changes at once."""
    start(knotd, items="zonefile-sync: 4")
    before = file(knotd)
    due = flush_due(knotd) if is_ours() else 0
    edit(knotd, "a 60 A 192.0.2.2")
    edit(knotd, "b 60 A 192.0.2.3")
    planned, after, looked = flush_due(knotd) if is_ours() else 0, file(knotd), time.time()
    knotd.wait(lambda: "a.example." in file(knotd) and "b.example." in file(knotd), 15, "the file")
    if not is_ours():
        return
    knotd.wait_log(r"\[example\.\] zone file updated, serial \d -> 7\n")
    loaded, written = times(knotd, r"\[example\.\] loaded, serial none")[0], times(knotd, r"\[example\.\] zone file updated, serial")
    assert written[0] - loaded > 3.9
    if looked - loaded < 3:
        assert after == before and len(written) == 1
        assert abs(planned - due) <= 1, "the change doesn't move it"
    knotd.wait(lambda: flush_due(knotd) > due + 2, what="the next period")


@pytest.mark.ours
def test_period_goes_on_without_changes(knotd):
    """Nothing is written, logged or renewed where nothing changed, and there is always a next time."""
    start(knotd, items="zonefile-sync: 1")
    before = (knotd.dir / "example.zone").stat()
    due = flush_due(knotd)
    knotd.wait(lambda: flush_due(knotd) >= due + 2, what="two periods")
    after = (knotd.dir / "example.zone").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert "zone file updated" not in knotd.log() and "flush" not in knotd.log()
    knotd.knotc("-b", "zone-flush", "example")      # who asks by name gets the file written
    assert (knotd.dir / "example.zone").stat().st_ino != before.st_ino


def change_sync(daemon, items, how):
    """Another zonefile-sync: for all zones, in the file and by reload, or for the one zone by a commit."""
    if how == "commit":
        daemon.knotc("conf-begin")
        daemon.knotc("conf-set", "zone[example].zonefile-sync", items.rpartition(" ")[2])
        daemon.knotc("conf-commit")
        return
    text = re.sub(r"zonefile-sync: \S+", items, daemon.path.read_text())
    daemon.conf(text)
    daemon.knotc("reload")


@pytest.mark.ours
@pytest.mark.parametrize("how", ["reload", "commit"])
@pytest.mark.parametrize("before, after", [("-1", "1"), ("1h", "1"), ("-1", "0"), ("1h", "0")])
def test_sync_that_changes(knotd, before, after, how):
    """What was not written is due by what is configured now; Knot DNS 3.2 waits for the next change where that is 0, and after a commit."""
    start(knotd, items=f"zonefile-sync: {before}")
    edit(knotd, "a 60 A 192.0.2.2")
    assert "a.example." not in file(knotd)
    change_sync(knotd, f"zonefile-sync: {after}", how)
    knotd.wait(lambda: "a.example." in file(knotd), 10, "the file")
    wait_flushed(knotd, 5, 6)


@pytest.mark.ours
def test_sync_that_changes_for_another_time(knotd):
    """Planned again: later, earlier, and never."""
    start(knotd, items="zonefile-sync: 1h")
    edit(knotd, "a 60 A 192.0.2.2")
    for items, planned in (("3h", ("+3h", "+2h")), ("1d", ("+1D", "+23h")), ("2h", ("+2h", "+1h")), ("-1", ("-",))):
        change_sync(knotd, f"zonefile-sync: {items}", "reload")
        assert status(knotd).get("flush", "-").startswith(planned), items
    assert "a.example." not in file(knotd)


@pytest.mark.ours
def test_written_before_the_end(knotd):
    start(knotd, items="zonefile-sync: 1h")
    edit(knotd, "a 60 A 192.0.2.2")
    assert re.fullmatch(r"\+(1h|59m\d+s)", status(knotd)["flush"])
    said = restart(knotd)
    assert "a.example." in file(knotd) and addresses(knotd, "a") == ["192.0.2.2"]
    assert "serial none -> 6" in said


def test_never_written_but_by_force(knotd):
    start(knotd, items=NEVER)
    before = file(knotd)
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.knotc("-b", "zone-flush", "example")
    knotd.wait_log("zonefile synchronization disabled, use force command to override it")
    assert file(knotd) == before
    knotd.knotc("-b", "-f", "zone-flush", "example")
    assert "a.example." in file(knotd)
    wait_flushed(knotd, 5, 6)


def test_to_a_folder(knotd):
    start(knotd, ("example", "second"))
    before = file(knotd)
    out = knotd.dir / "deep" / "out"
    knotd.knotc("zone-flush", "--", "+outdir", str(out.parent))
    knotd.knotc("zone-flush", "example", "+outdir", str(out))
    assert sorted(path.name for path in out.parent.glob("*.zone")) == ["example.zone", "second.zone"]
    assert "www.example." in (out / "example.zone").read_text() and file(knotd) == before
    blocked = knotd.write("blocked", "")
    assert knotd.knotc("zone-flush", "example", "+outdir", str(blocked), check=False).returncode == 1
    assert knotd.knotc("zone-flush", "--", "+outdir", str(blocked), check=False).stdout == "error: (operation failed for some zones)\n"
    for zone in ("example", "second"):       # which, and why, is in the log
        knotd.wait_log(rf"warning: \[{zone}\.\] failed to update zone file \(.*\), file '{blocked}/{zone}.zone'")
    assert "(invalid parameter)" in knotd.knotc("zone-flush", "example", "+outdir", "", check=False).stdout


def test_frozen(knotd):
    start(knotd)
    before = file(knotd)
    knotd.knotc("-b", "zone-freeze", "example")
    knotd.wait(lambda: status(knotd)["freeze"] == "yes", 5, "the freeze")
    knotd.wait_log(r"\[example\.\] zone updates frozen")
    edit(knotd, "a 60 A 192.0.2.2")
    assert addresses(knotd, "a") == ["192.0.2.2"]
    assert status(knotd)["flush"].startswith("frozen") and file(knotd) == before
    knotd.knotc("-b", "zone-thaw", "example")
    knotd.wait(lambda: "a.example." in file(knotd), 10, "the file")
    knotd.wait_log(r"\[example\.\] zone updates unfrozen")
    assert "freeze" not in status(knotd)


@pytest.mark.ours
def test_frozen_events_run_in_the_order_of_their_times(knotd):
    """A write that was due before a load is tried before it, and finds that the file has changed."""
    start(knotd)
    knotd.knotc("-b", "zone-freeze", "example")
    edit(knotd, "a 60 A 192.0.2.2")
    assert status(knotd)["flush"].startswith("frozen")
    by_hand = ZONE.replace("admin 5 ", "admin 50 ")
    knotd.write("example.zone", by_hand)
    os.kill(knotd.process.pid, signal.SIGUSR1)
    knotd.wait(lambda: status(knotd).get("load", "").startswith("frozen"), 5, "the load that waits")
    knotd.knotc("-b", "zone-thaw", "example")
    knotd.wait(lambda: serial(knotd) == 50, 5, "the file")
    log = knotd.log()
    assert log.index("not overwritten") < log.index("zone event 'flush' failed") < log.index("serial 6 -> 50")
    assert file(knotd) == by_hand and status(knotd).get("flush", "-") == "-"


def test_frozen_but_flushed_by_name(knotd):
    start(knotd)
    knotd.knotc("-b", "zone-freeze", "example")
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.knotc("-b", "zone-flush", "example")
    assert "a.example." in file(knotd)


@pytest.mark.ours
def test_changed_file_is_not_overwritten(knotd):
    """Operators who edit the file by hand while changes come another way must not lose their work silently."""
    start(knotd)
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "a", "60", "A", "192.0.2.2")
    by_hand = ZONE.replace("admin 5 ", "admin 50 ") + "hand A 192.0.2.5\n"
    knotd.write("example.zone", by_hand)
    knotd.knotc("zone-commit", "example")
    knotd.wait_log(r"warning: \[example\.\] zone file '.*' changed since it was read, not overwritten")
    assert addresses(knotd, "a") == ["192.0.2.2"] and file(knotd) == by_hand
    done = knotd.knotc("-b", "zone-flush", "example", check=False)
    assert done.returncode == 1 and file(knotd) == by_hand
    assert "the zone file changed since it was read: reload it, or overwrite it with -f" in done.stdout
    knotd.knotc("-b", "zone-reload", "example")
    assert "it replaces changes that were not written to it" in knotd.log()
    assert addresses(knotd, "a") == [] and addresses(knotd, "hand") == ["192.0.2.5"]
    edit(knotd, "b 60 A 192.0.2.3", commit=("-b",))
    assert "hand.example." in file(knotd) and "b.example." in file(knotd)


def stop_while_writing(daemon):
    """Stop the process between the first byte beside the zone file and its new name. False: it was too fast."""
    before = os.stat(daemon.dir / "example.zone").st_ino
    with Client(daemon.socket) as client:
        assert client.command("zone-flush", zone="example") == []
        while not any(name.startswith("example.zone.") for name in os.listdir(daemon.dir)):
            if os.stat(daemon.dir / "example.zone").st_ino != before:
                return False
    os.kill(daemon.process.pid, signal.SIGSTOP)
    if os.stat(daemon.dir / "example.zone").st_ino == before:
        return True
    os.kill(daemon.process.pid, signal.SIGCONT)
    return False


@pytest.mark.ours
def test_file_that_changes_while_it_is_written(knotd):
    """Writing a large zone takes seconds; what an operator saves meanwhile isn't replaced at their end."""
    knotd.write("example.zone", ZONE + "".join(f"n{number} A 192.0.2.7\n" for number in range(60000)))
    start(knotd, items="zonefile-sync: 1h")
    by_hand = ZONE.replace("admin 5 ", "admin 50 ") + "hand A 192.0.2.5\n"
    for number in range(50):
        edit(knotd, f"a{number} 60 A 192.0.2.2")
        if stop_while_writing(knotd):
            break
    knotd.write("example.zone", by_hand)
    os.kill(knotd.process.pid, signal.SIGCONT)
    knotd.wait_log(r"warning: \[example\.\] zone file '.*' changed since it was read, not overwritten")
    assert file(knotd) == by_hand and serial(knotd) == 6 + number
    assert list(knotd.dir.glob("example.zone.*")) == []
    knotd.knotc("-b", "zone-reload", "example")
    assert addresses(knotd, "hand") == ["192.0.2.5"] and file(knotd) == by_hand


@pytest.mark.ours
def test_file_that_was_just_read_is_not_rewritten(knotd):
    """A load and a write that come due together: who edited the file keeps comments and order."""
    start(knotd)
    knotd.knotc("-b", "zone-freeze", "example")
    edit(knotd, "a 60 A 192.0.2.2")
    by_hand = "; by hand\n" + ZONE.replace("admin 5 ", "admin 50 ")
    knotd.write("example.zone", by_hand)
    os.kill(knotd.process.pid, signal.SIGUSR1)
    knotd.wait(lambda: status(knotd).get("load", "").startswith("frozen"), 5, "the load that waits")
    knotd.knotc("-b", "zone-thaw", "example")
    knotd.wait(lambda: serial(knotd) == 50, 5, "the file")
    knotd.knotc("-b", "zone-reload", "example")     # what was asked for with the load has ended
    assert file(knotd) == by_hand


@pytest.mark.ours
@pytest.mark.parametrize("sync, thaw", [("4", False), ("0", True)], ids=["came due", "thawed"])
def test_written_after_a_job_that_was_in_the_way(knotd, sync, thaw):
    """The time to write comes while a load runs: the file is written when that ends, though it brought nothing."""
    start(knotd, items=f"zonefile-sync: {sync}")
    if thaw:
        knotd.knotc("-b", "zone-freeze", "example")
    zone, kept, fifo = (knotd.dir / name for name in ("example.zone", "kept.zone", "fifo"))
    os.mkfifo(fifo)
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "a", "60", "A", "192.0.2.2")
    with Client(knotd.socket) as client:    # no program is started from the change to the load: that is to run before the write comes due
        assert client.command("zone-commit", zone="example") == []
        zone.rename(kept)
        fifo.rename(zone)
        assert client.command("zone-reload", zone="example") == []
    knotd.wait(lambda: status(knotd)["load"].startswith("running"), 5, "the load")
    zone.rename(fifo)
    kept.rename(zone)
    if thaw:
        knotd.knotc("zone-thaw", "example")
    else:
        time.sleep(float(sync) + 0.1)     # the write comes due
    fifo.write_text("not a record\n")
    wait_flushed(knotd, 5, 6)
    assert "a.example." in file(knotd)


@pytest.mark.ours
def test_begin_waits_for_a_load(knotd):
    """However long that takes, a client that waits for it gets its reply: its block has ended and keeps no other waiting."""
    start(knotd)
    knotd.conf(knotd.path.read_text().replace("control:\n", f"control:\n    timeout: {TIMEOUT_S}\n"))
    knotd.knotc("reload")
    zone, kept, fifo = (knotd.dir / name for name in ("example.zone", "kept.zone", "fifo"))
    os.mkfifo(fifo)
    zone.rename(kept)
    fifo.rename(zone)
    knotd.knotc("zone-reload", "example")
    knotd.wait(lambda: status(knotd)["load"].startswith("running"), 5, "the load")
    with Client(knotd.socket) as client:
        client.send(unit(cmd="zone-begin", zone="example"), BLOCK)
        # A block with more to come would be waited for no longer than four times control.timeout.
        assert not select.select([client.stream], [], [], 4 * TIMEOUT_S + 0.5)[0], "the connection stays as it is"
        zone.rename(fifo)
        kept.rename(zone)
        fifo.write_text("not a record\n")
        assert client.block() == []
    assert status(knotd)["transaction"] == "open"


@pytest.fixture
def small(knotd):
    with small_disk(knotd.dir / "small", "64k") as folder:
        yield folder


@pytest.mark.ours
def test_full_disk(knotd, small):
    """Served all the same, said, kept, and tried again."""
    (small / "example.zone").write_text(ZONE)
    (knotd.dir / "example.zone").symlink_to(small / "example.zone")
    start(knotd)
    fill(small / "filler")
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.wait_log(r"warning: \[example\.\] failed to update zone file \(No space left on device\), file '.*'")
    knotd.wait_log(r"error: \[example\.\] zone event 'flush' failed \(No space left on device\)")
    assert addresses(knotd, "a") == ["192.0.2.2"] and file(knotd) == ZONE
    knotd.wait(lambda: status(knotd)["flush"].startswith("+"), what="the next try")
    assert sorted(os.listdir(small)) == ["example.zone", "filler"]
    assert knotd.knotc("-b", "zone-flush", "example", check=False).returncode == 1
    (small / "filler").unlink()
    knotd.knotc("-b", "zone-flush", "example")
    assert "a.example." in file(knotd)


@pytest.mark.ours
def test_a_stop_says_what_is_lost(knotd, small):
    """The disk stays full until the end: neither file nor image has the change, and there is no journal. With room for the image nothing is lost, and nothing said."""
    lost = "error: [example.] changes are lost, neither zone file nor image could be written, serial 6\n"
    (small / "example.zone").write_text(ZONE)
    (knotd.dir / "example.zone").symlink_to(small / "example.zone")
    start(knotd, items="journal-content: none")
    fill(small / "filler")
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.stop()
    assert lost not in knotd.log()
    knotd.start()
    assert addresses(knotd, "a") == ["192.0.2.2"]
    knotd.stop()
    shutil.rmtree(knotd.dir / "db")
    (knotd.dir / "db").symlink_to(small)
    knotd.start()
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.stop()
    assert lost in knotd.log()


@pytest.mark.ours
@pytest.mark.parametrize("saved", (True, False))
def test_a_stop_says_what_a_changed_file_replaces(knotd, saved):
    """The image has the change, or can't have it as the file changed before: the next start reads the file either way."""
    start(knotd, items=NEVER)
    if saved:
        edit(knotd, "a 60 A 192.0.2.2")
        wait_saved(knotd, 6)
    knotd.write("example.zone", ZONE.replace("admin 5 ", "admin 50 "))
    if not saved:
        edit(knotd, "a 60 A 192.0.2.2")
    restart(knotd)
    assert "error: [example.] changes are lost, the zone file changed since it was read, serial 6\n" in knotd.log()
    assert serial(knotd) == 50 and addresses(knotd, "a") == []
    knotd.stop()
    assert knotd.log().count("changes are lost") == 1


# ---- Restarts ----

@pytest.mark.ours
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stop", "kill -9"])
def test_image_keeps_what_no_file_has(knotd, number):
    start(knotd, items=NEVER)
    before = file(knotd)
    edit(knotd, "a 60 A 192.0.2.2", "- mail")
    wait_saved(knotd, 6)
    said = restart(knotd, number)
    assert "from image" in said and file(knotd) == before
    assert addresses(knotd, "a") == ["192.0.2.2"] and serial(knotd) == 6
    edit(knotd, "b 60 A 192.0.2.3")     # goes on from there
    knotd.knotc("-b", "-f", "zone-flush", "example")
    assert "a.example." in file(knotd) and "b.example." in file(knotd) and "mail" not in file(knotd)
    wait_saved(knotd, 7)
    assert "from image" in restart(knotd) and serial(knotd) == 7


@pytest.mark.ours
def test_image_outlives_other_settings(knotd):
    """Reading the file again would lose the changes."""
    start(knotd, items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    text = knotd.path.read_text()
    knotd.conf(text.replace(NEVER, NEVER + "\n    default-ttl: 77"))
    knotd.knotc("-b", "reload")
    assert addresses(knotd, "a") == ["192.0.2.2"]
    wait_saved(knotd, 6)
    knotd.conf(text.replace(NEVER, NEVER + "\n    default-ttl: 78"))
    restart(knotd)
    assert addresses(knotd, "a") == ["192.0.2.2"]


@pytest.mark.ours
def test_image_of_a_zone_without_file(knotd):
    start(knotd, items=NEVER)
    knotd.knotc("-f", "zone-purge", "example")
    edit(knotd, "@ 60 SOA ns1 admin 1 1 1 1 1", "@ 60 NS ns1", "ns1 60 A 192.0.2.1")
    wait_saved(knotd, 1)
    restart(knotd, signal.SIGKILL)
    assert addresses(knotd, "ns1") == ["192.0.2.1"] and not (knotd.dir / "example.zone").exists()


@pytest.mark.ours
def test_changed_file_wins_over_the_image(knotd):
    start(knotd, items=NEVER)
    edit(knotd, "a 60 A 192.0.2.2")
    wait_saved(knotd, 6)
    knotd.stop()
    knotd.write("example.zone", ZONE.replace("admin 5 ", "admin 50 "))
    knotd.start()
    assert "image not used (zone file changed)" in knotd.log()
    assert serial(knotd) == 50 and addresses(knotd, "a") == []


@pytest.mark.ours
def test_unwritten_changes_are_written_after_a_restart(knotd):
    start(knotd, items="zonefile-sync: 1h")
    edit(knotd, "a 60 A 192.0.2.2")
    wait_saved(knotd, 6)
    knotd.stop(signal.SIGKILL)
    knotd.conf(knotd.path.read_text().replace("zonefile-sync: 1h", "zonefile-sync: 0"))
    knotd.start()
    knotd.wait(lambda: "a.example." in file(knotd), 10, "the file")


@pytest.mark.ours
def test_killed_while_writing(knotd):
    """The file is the old one or a new one, whole; what a blocking commit said is written is there."""
    start(knotd)
    for number in range(12):
        edit(knotd, f"a{number} 60 A 192.0.2.{number}", commit=("-b",))
        knotd.knotc("zone-begin", "example")
        for more in range(5):
            knotd.knotc("zone-set", "example", f"b{number}-{more}", "60", "TXT", "x" * 200)
        knotd.knotc("zone-commit", "example")
        restart(knotd, signal.SIGKILL)
        assert file(knotd).splitlines()[-2].startswith(";; Written ")
        assert addresses(knotd, f"a{number}") == [f"192.0.2.{number}"]
        assert serial(knotd) >= 6 + number
    for leftover in knotd.dir.glob("example.zone.*"):
        assert len(leftover.name) == len("example.zone.XXXXXX")


@pytest.mark.ours
def test_random_edits_survive_everything(knotd):
    """A model of the zone through edits, flushes, kills and restarts."""
    import random
    chosen = random.Random(5)
    start(knotd, items="zonefile-sync: 0")
    model = set()
    for _ in range(25):
        changes = []
        for _ in range(chosen.randrange(1, 4)):
            name = f"n{chosen.randrange(12)}"
            if name in model:
                model.discard(name)
                changes.append(f"- {name} A")
            else:
                model.add(name)
                changes.append(f"{name} 60 A 192.0.2.1")
        edit(knotd, *changes, commit=("-b",))
        step = chosen.randrange(6)
        if step == 0:
            restart(knotd, signal.SIGKILL)
        elif step == 1:
            restart(knotd)
        elif step == 2:
            knotd.knotc("-b", "zone-reload", "example")
        shown = {line.split(".")[0] for line in records(knotd) if line.startswith("n") and line.split(".")[0] != "ns1"
                 and not line.startswith("ns.")}
        assert shown == model
        written = {line.split(".")[0] for line in file(knotd).splitlines() if re.match(r"n\d+\.", line)}
        assert written == model
    assert pathlib.Path(knotd.dir / "example.zone").exists()
