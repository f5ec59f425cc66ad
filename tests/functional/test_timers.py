# SPDX-License-Identifier: BSD-2-Clause
"""Times that outlive the server: written when they should be, kept from Knot DNS and for it, dropped by zone-purge, no harm when damaged."""
import re
import shutil
import struct
import subprocess
import time

import pytest

from harness import lmdb
from harness.net import free_port
from harness.waiting import wait_until

pytestmark = pytest.mark.ours
ZONE = "@ 3600 SOA ns a 1 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"
LAST_FLUSH, NEXT_REFRESH, NEXT_EXPIRE = 0x81, 0x83, 0x8a


def wire(zone):
    return b"".join(bytes([len(label)]) + label.encode() for label in zone.split(".")) + b"\0"


def fields(record):
    return {record[i]: struct.unpack(">Q", record[i + 1:i + 9])[0] for i in range(0, len(record) - 8, 9)}


def configure(knotd, sync="shutdown", zones=("a.test", "b.test"), zonefile_sync=600):
    text = f"database:\n    storage: {knotd.dir}/db\n    timer-db-sync: {sync}\n"
    for zone in zones:
        knotd.write(f"{zone}.zone", ZONE)
    knotd.configure()
    knotd.conf(knotd.path.read_text().replace(f"database:\n    storage: {knotd.dir}/db\n", text) +
               "zone:\n" + "".join(f"  - domain: {zone}\n    storage: {knotd.dir}\n    zonefile-sync: {zonefile_sync}\n" for zone in zones))


def times(knotd):
    return {key: fields(value) for key, value in lmdb.read(knotd.dir / "db" / "timers").items()}


def test_written_at_the_end(knotd):
    configure(knotd)
    knotd.start()
    began = time.time()
    assert not (knotd.dir / "db" / "timers").exists()
    knotd.stop()
    assert re.search(r"info: updated persistent timer DB in \d+\.\d\d seconds", knotd.log())
    found = times(knotd)
    assert set(found) == {wire("a.test"), wire("b.test")} and all(abs(found[zone][LAST_FLUSH] - began) < 60 for zone in found)
    # The period goes on where it was.
    before = int(began) - 400
    lmdb.change(knotd.dir / "db" / "timers", {wire("a.test"): struct.pack(">BQ", LAST_FLUSH, before)})
    knotd.start()
    knotd.stop()
    assert abs(times(knotd)[wire("a.test")][LAST_FLUSH] - before) <= 2


@pytest.mark.parametrize("sync, period", [("immediate", 600), ("2", 600)])
def test_written_before_the_end(knotd, sync, period):
    configure(knotd, sync, zonefile_sync=period)
    knotd.start()
    assert knotd.knotc("-b", "-f", "zone-flush", "a.test").returncode == 0
    wait_until(lambda: (knotd.dir / "db" / "timers" / "data.mdb").exists() and wire("a.test") in times(knotd), "record", 30)
    assert abs(times(knotd)[wire("a.test")][LAST_FLUSH] - time.time()) < 60 and wire("b.test") not in times(knotd)
    knotd.stop()


def test_never(knotd):
    configure(knotd, "never")
    knotd.start()
    knotd.stop()
    assert not (knotd.dir / "db" / "timers").exists() and "timer DB" not in knotd.log()


def test_purge(knotd):
    configure(knotd)
    knotd.start()
    knotd.stop()
    folder = knotd.dir / "db" / "timers"
    lmdb.change(folder, {wire("gone.test"): struct.pack(">BQ", NEXT_EXPIRE, 5), wire("gone2.test"): b"damaged"})
    knotd.start()
    assert knotd.knotc("-f", "zone-purge", "a.test", "+timers").returncode == 0
    assert set(times(knotd)) == {wire("b.test"), wire("gone.test"), wire("gone2.test")}
    assert knotd.knotc("-f", "zone-purge", "--", "+orphan").returncode == 0
    assert set(times(knotd)) == {wire("b.test")}
    knotd.stop()


def test_damage(knotd):
    """A record concerns its zone only; a file that can't be trusted is set aside and named."""
    configure(knotd)
    knotd.start()
    knotd.stop()
    folder = knotd.dir / "db" / "timers"
    lmdb.change(folder, {wire("a.test"): b"\x81\0\0"})
    knotd.start()
    assert "error: [a.test.] failed to load persistent timers (malformed data)" in knotd.log()
    assert "[b.test.] failed" not in knotd.log()
    knotd.stop()
    assert LAST_FLUSH in times(knotd)[wire("a.test")]
    (folder / "data.mdb").write_bytes(b"no database" * 1000)
    knotd.start()
    assert re.search(r"warning: persistent timers, '.*/timers' \(it does not begin like a file of LMDB; it was renamed to data.mdb.damaged", knotd.log())
    knotd.stop()
    assert set(times(knotd)) == {wire("a.test"), wire("b.test")}


THEIRS = """server:
    rundir: {dir}
    listen: 127.0.0.1@{port}
database:
    storage: {dir}/db
remote:
  - id: primary
    address: 127.0.0.1@{primary}
acl:
  - id: any
    address: 127.0.0.1
    action: transfer
zone:
  - domain: a.test
    storage: {dir}
    zonefile-sync: 600
    {role}
"""


class Theirs:
    """Debian's knotd, with one zone."""

    def __init__(self, directory, role, primary=0):
        (directory / "db").mkdir(parents=True)
        self.dir, self.port = directory, free_port()
        (directory / "theirs.conf").write_text(THEIRS.format(dir=directory, port=self.port, primary=primary, role=role))

    def __enter__(self):
        self.process = subprocess.Popen(["/usr/sbin/knotd", "-c", self.dir / "theirs.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: "serial: 1" in self.status("+serial"), "knotd has the zone", 60)
        return self

    def __exit__(self, *_):
        subprocess.run(["/usr/sbin/knotc", "-s", self.dir / "knot.sock", "-b", "stop"], capture_output=True, timeout=60)
        self.process.terminate()
        self.process.wait(60)

    def status(self, *filters):
        return subprocess.run(["/usr/sbin/knotc", "-s", self.dir / "knot.sock", "zone-status", "a.test", *filters], capture_output=True, text=True, timeout=60).stdout

    def due(self, event):
        """UNIX time."""
        match = re.search(rf"{event}: \+(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", self.status("+events"))
        return time.time() + sum(int(value or 0) * unit for value, unit in zip(match.groups(), (3600, 60, 1)))


@pytest.mark.skipif(not shutil.which("/usr/sbin/knotd"), reason="Debian's knot is not installed")
def test_there_and_back(knotd, tmp_path):
    """A secondary of Knot DNS knows after our turn when it refreshes and expires; we know its last flush."""
    primary = Theirs(tmp_path / "primary", "acl: any")
    (primary.dir / "a.test.zone").write_text(ZONE)
    with primary:
        secondary = Theirs(knotd.dir / "theirs", "master: primary", primary.port)
        with secondary:
            wait_until(lambda: "expiration" in secondary.status("+events"), "expiration", 60)
            before = {event: secondary.due(event) for event in ("refresh", "expiration")}
        folder = knotd.dir / "db" / "timers"
        folder.parent.mkdir(exist_ok=True)
        shutil.copytree(secondary.dir / "db" / "timers", folder)
        theirs = times(knotd)[wire("a.test")]
        lmdb.change(folder, {wire("a.test"): lmdb.read(folder)[wire("a.test")] + struct.pack(">BQ", 0xf0, 77)})
        configure(knotd, zones=("a.test",))
        knotd.start()
        knotd.stop()
        ours = times(knotd)[wire("a.test")]
        assert {key: value for key, value in theirs.items() if value and key != LAST_FLUSH} == \
            {key: value for key, value in ours.items() if key not in (LAST_FLUSH, 0xf0)} and ours[0xf0] == 77
        assert abs(ours[LAST_FLUSH] - theirs[LAST_FLUSH]) <= 1
        shutil.rmtree(secondary.dir / "db" / "timers")
        shutil.copytree(folder, secondary.dir / "db" / "timers")
        with secondary:
            wait_until(lambda: "expiration" in secondary.status("+events"), "expiration", 60)
            after = {event: secondary.due(event) for event in ("refresh", "expiration")}
        assert all(abs(before[event] - after[event]) <= 2 for event in before), (before, after)
