# SPDX-License-Identifier: BSD-2-Clause
"""Images of zones: a start takes them when nothing changed, and only then; losing them never loses a zone."""
import errno
import os
import re
import resource
import signal
import subprocess
import time

import pytest

from harness.disk import fill, small_disk
from zones import example, many

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

FROM_IMAGE = r"\[example\.\] loaded, serial none -> \d+, \d+ bytes, from image"
FROM_FILE = r"\[example\.\] loaded, serial none -> \d+, \d+ bytes$"


def configure(knotd, zone_items="", database="", zones=("example",), **options):
    """storage of the images is {dir}/db; other items of the zone follow it."""
    text = "database:\n" + "".join(f"    {line}\n" for line in database.splitlines()) if database else ""
    knotd.configure(text=text, **options)
    conf = knotd.path.read_text()
    if database:        # one section only
        conf = conf.replace(f"database:\n    storage: {knotd.dir}/db\n", "")
        conf = conf.replace("database:\n", f"database:\n    storage: {knotd.dir}/db\n")
    conf += "zone:\n"
    for zone in zones:
        conf += f"  - domain: {zone}\n    storage: {knotd.dir}\n" + "".join(f"    {line}\n" for line in zone_items.splitlines())
    knotd.conf(conf)


def status(server, zone="example", action="zone-image"):
    """The fields of the zone's line."""
    line = server.knotc(action, zone).stdout.strip()
    return dict(field.split(": ", 1) for field in line.partition("] ")[2].split(" | "))


def origin(server, zone="example"):
    """Where the zone's contents came from."""
    return server.knotc("-e", "zone-status", zone, "+contents").stdout.strip().removeprefix(f"[{zone}.] contents: ")


def wait_saved(server, zone="example"):
    server.wait(lambda: status(server, zone)["image"] == "current", 10, f"an image of {zone}")


def restart(server, number=signal.SIGTERM):
    """Stop, start; returns what the second start says."""
    server.stop(number)
    before = len(server.log())
    old, server.log = server.log, lambda: type(server).log(server)[before:]
    server.process = None
    server.start()
    said = server.log()
    server.log = old
    return said


def version(server, zone="example"):
    return server.ask(f"version.{zone}", "TXT").answer[0][0].strings[0].decode()


@pytest.fixture
def saved(knotd):
    """A server whose zone has an image."""
    knotd.write("example.zone", example(1))
    configure(knotd)
    knotd.start()
    assert re.search(FROM_FILE, knotd.log(), re.M)
    assert origin(knotd) == "file"
    wait_saved(knotd)
    return knotd


def test_start_from_image(saved):
    before = saved.ask("example", "SOA").to_text().splitlines()[1:]
    said = restart(saved)
    assert re.search(FROM_IMAGE, said) and "parsed" not in said and "image not used" not in said
    assert origin(saved) == "image"
    assert saved.ask("example", "SOA").to_text().splitlines()[1:] == before
    assert version(saved) == "1"
    found = status(saved)
    assert found["image"] == "current" and found["serial"] == "1" and found["source"] == f"{saved.dir}/example.zone"
    assert int(found["size"]) > 1000 and re.match(r"[+-](\d+m)?\d+s$", found["saved"])


def test_every_name_is_there_again(knotd):
    """Zone data read back through the control socket: the same from the file and from the image."""
    knotd.write("example.zone", many("example.", 3000))
    configure(knotd)
    knotd.start()
    wait_saved(knotd)
    before = knotd.knotc("zone-read", "example").stdout
    assert before.count("\n") > 3000
    assert re.search(FROM_IMAGE, restart(knotd))
    assert knotd.knotc("zone-read", "example").stdout == before


def test_a_new_version_replaces_the_image(saved):
    saved.write("example.zone", example(2))
    saved.knotc("-b", "zone-reload", "example")
    assert version(saved) == "2"
    saved.wait(lambda: status(saved).get("serial") == "2" and status(saved)["image"] == "current", 10, "image of version 2")
    said = restart(saved)
    assert re.search(r"none -> 2, \d+ bytes, from image", said)
    assert version(saved) == "2"


def test_stop_saves_what_waits(knotd):
    knotd.write("example.zone", example(1))
    configure(knotd)
    knotd.start()
    assert re.search(FROM_IMAGE, restart(knotd))   # no time to save before the stop


def test_changed_file_is_read(saved):
    saved.stop()
    saved.write("example.zone", example(2))
    said = restart(saved)
    assert said.count("image not used (zone file changed)") == 1 and re.search(FROM_FILE, said, re.M)
    assert version(saved) == "2"
    wait_saved(saved)
    assert re.search(FROM_IMAGE, restart(saved))


def test_same_size_and_time_but_another_file(saved):
    """Moved over the old one, with its time: the inode tells."""
    saved.stop()
    path = saved.dir / "example.zone"
    info = path.stat()
    other = saved.write("other", path.read_text().replace('"1"', '"7"'))
    os.utime(other, ns=(info.st_atime_ns, info.st_mtime_ns))
    other.replace(path)
    assert path.stat().st_size == info.st_size
    assert "image not used (zone file changed)" in restart(saved)
    assert version(saved) == "7"


def test_written_twice_within_a_tick(knotd):
    """Written, read, written again without a new size before the kernel's clock of files moves on: the second counts."""
    def write(serial):
        with path.open("r+") as file:
            file.write(f"@ 60 SOA ns admin {serial:04d} 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n"
                       f'version 60 TXT "{serial}"\n')

    configure(knotd)
    path = knotd.write("example.zone", "")
    write(1000)
    knotd.start()
    for serial in range(1001, 1101, 2):
        write(serial)
        knotd.process.send_signal(signal.SIGUSR1)
        time.sleep(0.0005 * (serial % 10))      # the file may be read now
        write(serial + 1)
        knotd.knotc("-b", "zone-reload", "example")
        assert version(knotd) == str(serial + 1)
    said = restart(knotd)
    assert version(knotd) == "1100", said


@pytest.mark.parametrize("how", ["start", "reload", "zone-reload"])
def test_included_file_counts(knotd, how):
    knotd.write("part", "there A 192.0.2.1\n")
    knotd.write("example.zone", example(1) + "$INCLUDE part\n")
    configure(knotd)
    knotd.start()
    wait_saved(knotd)
    assert re.search(FROM_IMAGE, restart(knotd))
    knotd.write("part", "there A 192.0.2.2\n")
    if how == "start":
        said = restart(knotd)
        assert re.search(r"image not used \(included file '\S+/part' changed\)", said)
    else:
        knotd.knotc("-b", *([how] if how == "reload" else [how, "example"]))
    assert knotd.ask("there.example").answer[0][0].address == "192.0.2.2"


@pytest.mark.parametrize("items", ["default-ttl: 7", "semantic-checks: on", "zone-max-size: 1M"])
def test_changed_settings(saved, items):
    saved.stop()
    configure(saved, items)
    said = restart(saved)
    assert said.count("image not used (settings of the zone") == 1 and re.search(FROM_FILE, said, re.M)
    wait_saved(saved)
    assert re.search(FROM_IMAGE, restart(saved))


def test_another_file_is_configured(saved):
    saved.stop()
    saved.write("moved.zone", example(3))
    configure(saved, "file: moved.zone")
    assert "image not used (made from another zone file)" in restart(saved)
    assert version(saved) == "3"


def test_missing_file_is_an_error(saved):
    """As Knot: a zone without its file isn't served, whatever is stored of it."""
    saved.stop()
    (saved.dir / "example.zone").unlink()
    said = restart(saved)
    assert "failed to parse zone file" in said and "from image" not in said
    assert saved.ask("example", "SOA").rcode() == 2
    saved.write("example.zone", example(4))
    saved.knotc("-b", "zone-reload", "example")
    assert version(saved) == "4"


def test_unchanged_zone_costs_nothing(saved):
    for number in range(1, 4):
        saved.knotc("-b", "zone-reload", "example")
        assert saved.log().count("zone file not changed, serial 1") == number
    saved.knotc("-b", "reload")
    saved.process.send_signal(signal.SIGUSR1)
    saved.wait_log("reloading zones")
    saved.knotc("-b", "zone-reload", "example")
    assert saved.log().count("zone file parsed") == 1
    assert len(re.findall(r"\] loaded, serial", saved.log())) == 1


# ---- Damage ----

def flip(server, text, count=1):
    """Change bytes of the database where `text` stands."""
    path = server.dir / "db" / "images" / "data.mdb"
    data = bytearray(path.read_bytes())
    found, at = 0, -1
    while found < count and (at := data.find(text, at + 1)) >= 0:
        data[at] ^= 0x10
        found += 1
    assert found
    path.write_bytes(data)


def test_damaged_image(saved):
    saved.stop()
    flip(saved, b"x" * 100)
    said = restart(saved)
    lines = [line for line in said.splitlines() if "image" in line and "warning" in line]
    assert len(lines) == 1 and "rebuilding from zone file" in lines[0], said
    assert version(saved) == "1" and re.search(FROM_FILE, said, re.M)
    wait_saved(saved)
    assert re.search(FROM_IMAGE, restart(saved))


@pytest.mark.parametrize("damage", ["empty", "rubbish", "cut", "foreign"])
def test_damaged_database(saved, damage):
    saved.stop()
    path = saved.dir / "db" / "images" / "data.mdb"
    data = path.read_bytes()
    path.write_bytes({"empty": b"", "rubbish": os.urandom(len(data)), "cut": data[:len(data) // 2 & ~4095],
                      "foreign": data[:16] + data[16:24][::-1] + data[24:]}[damage])
    said = restart(saved)
    assert version(saved) == "1" and re.search(FROM_FILE, said, re.M)
    assert len([line for line in said.splitlines() if "images" in line and "warning" in line]) <= 1, said
    wait_saved(saved)
    assert re.search(FROM_IMAGE, restart(saved))


# ---- No room ----

def test_full_map(knotd):
    knotd.write("example.zone", example(1))
    knotd.write("large.zone", many("large.", 60000))
    configure(knotd, database="image-db-max-size: 1M", zones=("example", "large"))
    knotd.start()
    knotd.wait_log("images, failed to save")
    assert knotd.log().count("images, failed to save") == 1
    assert version(knotd, "large") == "1"
    knotd.stop()
    knotd.write("large.zone", many("large.", 10))
    restart(knotd)
    wait_saved(knotd, "large")
    wait_saved(knotd)
    said = restart(knotd)
    assert said.count("from image") == 2 and "failed to save" not in said


def test_full_disk(knotd):
    with small_disk(knotd.dir / "disk", "2m") as disk:
        (knotd.dir / "db").symlink_to(disk)
        knotd.write("example.zone", many("example.", 60000))
        configure(knotd)
        knotd.start()
        knotd.wait_log("images, failed to save", 20)
        assert "next try" in knotd.log()
        assert version(knotd) == "1"
        # Room again: a reload tries at once.
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        knotd.knotc("reload")
        knotd.wait_log("images, saved again")
        wait_saved(knotd)
        assert knotd.log().count("images, failed to save") == 1
        assert re.search(FROM_IMAGE, restart(knotd))
        knotd.stop()


def test_full_disk_before_the_first_image(knotd):
    """LMDB writes to a map of its lock file. If the disk had no room for that file, the server died of SIGBUS."""
    with small_disk(knotd.dir / "disk", "64k") as disk:
        fill(disk / "filler")
        (knotd.dir / "db").symlink_to(disk)
        knotd.write("example.zone", example(1))
        configure(knotd)
        knotd.start()
        assert re.search(r"images, failed to open '.*' \(making .*: No space left on device, free some space", knotd.log()), knotd.log()
        assert version(knotd) == "1"
        (disk / "filler").unlink()
        restart(knotd)
        wait_saved(knotd)
        knotd.stop()


def test_limit_of_file_sizes(saved):
    """ulimit -f doesn't end the server: it stops saving, not serving."""
    size = os.stat(f"{saved.dir}/db/images/data.mdb").st_size
    resource.prlimit(saved.process.pid, resource.RLIMIT_FSIZE, (size, size))
    saved.write("example.zone", many("example.", 20000, 2))
    saved.knotc("zone-reload", "example")
    saved.wait_log(r"images, failed to save")
    assert version(saved) == "2"


def test_limit_of_file_sizes_from_the_start(knotd):
    knotd.write("example.zone", example(1))
    configure(knotd)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, hard))  # an empty database has 8192
    try:
        knotd.start()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "images, failed to open" in knotd.log()
    assert version(knotd) == "1"


def test_storage_that_can_not_be_opened(knotd):
    (knotd.dir / "db").write_text("a file where a folder should be\n")
    knotd.write("example.zone", example(1))
    configure(knotd)
    knotd.start()
    assert knotd.log().count("warning: images, failed to open") == 1
    assert version(knotd) == "1"
    assert status(knotd)["image"] == "none"
    knotd.knotc("-f", "zone-purge", "example", "+image")
    knotd.write("example.zone", example(2))
    knotd.knotc("-b", "zone-reload", "example")
    assert version(knotd) == "2"


# ---- Purge ----

def test_purge_image_only(saved):
    saved.knotc("-f", "zone-purge", "example", "+image")
    assert status(saved)["image"] == "none" and version(saved) == "1"
    said = restart(saved)
    assert re.search(FROM_FILE, said, re.M) and "image not used" not in said


def test_purge_contents_only(saved):
    saved.knotc("-f", "zone-purge", "example", "+expire")
    saved.wait_log("zone expired")
    assert saved.ask("example", "SOA").rcode() == 2
    assert origin(saved) == "-"
    assert status(saved)["image"] == "current"
    saved.knotc("-b", "zone-reload", "example")
    assert version(saved) == "1" and origin(saved) == "image"


def test_purge_everything(saved):
    saved.knotc("-f", "zone-purge", "example")
    saved.wait_log("notice: .*zone purged")
    assert not (saved.dir / "example.zone").exists()
    assert status(saved)["image"] == "none"
    assert saved.ask("example", "SOA").rcode() == 2


def test_purge_images_of_all_zones(knotd):
    names = [f"z{i}" for i in range(20)]
    for name in names:
        knotd.write(f"{name}.zone", many(f"{name}.", 3))
    configure(knotd, zones=names)
    knotd.start()
    for name in names:
        wait_saved(knotd, name)
    knotd.knotc("-f", "zone-purge", "--", "+image")
    assert knotd.knotc("zone-image").stdout.count("image: none") == 20
    assert [version(knotd, name) for name in names] == ["1"] * 20
    restart(knotd)
    for name in names:
        wait_saved(knotd, name)
    knotd.knotc("-f", "zone-purge", "--")
    assert knotd.knotc("zone-image").stdout.count("image: none") == 20
    assert all(knotd.ask(name, "SOA").rcode() == 2 for name in names)
    assert not list(knotd.dir.glob("z*.zone"))


def test_removed_zone_keeps_its_image_until_it_is_purged(saved):
    saved.write("other.zone", many("other.", 3))
    configure(saved, zones=("other",))
    saved.knotc("-b", "reload")
    wait_saved(saved, "other")
    configure(saved, zones=("example", "other"))
    saved.knotc("-b", "reload")
    assert origin(saved) == "image"
    configure(saved, zones=("other",))
    saved.knotc("-b", "reload")
    assert saved.knotc("-f", "zone-purge", "example", "+image", check=False).returncode != 0   # not configured
    saved.knotc("-f", "zone-purge", "--", "+orphan")
    assert status(saved, "other")["image"] == "current"
    configure(saved, zones=("example", "other"))
    saved.knotc("-b", "reload")
    assert origin(saved) == "file"


# ---- Crashes and order ----

def test_killed_server_starts_again(saved):
    said = restart(saved, signal.SIGKILL)
    assert re.search(FROM_IMAGE, said)
    assert version(saved) == "1"


def test_killed_before_it_saved(knotd):
    knotd.write("example.zone", example(1))
    configure(knotd)
    knotd.start()
    said = restart(knotd, signal.SIGKILL)
    assert re.search(FROM_FILE, said, re.M) or re.search(FROM_IMAGE, said)
    assert version(knotd) == "1"


def test_mixed_start(knotd):
    """Half of the zones from images, half from files, at once."""
    names = [f"z{i:03d}" for i in range(200)]
    for name in names:
        knotd.write(f"{name}.zone", many(f"{name}.", 5))
    configure(knotd, zones=names)
    knotd.start()
    knotd.wait(lambda: all(status(knotd, name)["image"] == "current" for name in names[-3:] + names[:3]), 10, "images")
    knotd.stop()
    for name in names[::2]:
        knotd.write(f"{name}.zone", many(f"{name}.", 5, serial=2))
    said = restart(knotd)
    assert said.count("from image") == 100 and said.count("image not used (zone file changed)") == 100
    assert [version(knotd, name) for name in names] == ["2", "1"] * 100


def test_answers_at_once_with_async_start(knotd):
    """A zone that is ready is served while another one is being read: that comes through a pipe, so it lasts as long as the test wants."""
    knotd.write("example.zone", example(1))
    os.mkfifo(knotd.dir / "slow.zone")
    configure(knotd, zones=("example", "slow"), server="async-start: on")
    knotd.start(ready=False)
    knotd.wait(knotd.is_answering, 10, "an answer")
    knotd.wait(lambda: knotd.ask("example", "SOA").rcode() == 0, 10, "the zone that is ready")

    def opened():
        try:
            return os.open(knotd.dir / "slow.zone", os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO      # there is no reader yet
            return None
    with os.fdopen(knotd.wait(opened, 10, "a reader of the slow zone"), "w") as file:
        file.write(many("slow.", 10))
        file.flush()
        assert knotd.ask("example", "SOA").rcode() == 0 and knotd.ask("slow", "SOA").rcode() == 2
        assert "[slow.] loaded" not in knotd.log()
    knotd.wait_log(r"\[slow\.\] loaded")
    assert version(knotd, "slow") == "1"
