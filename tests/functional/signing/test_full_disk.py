# SPDX-License-Identifier: BSD-2-Clause
"""Disks without room for keys or the journal while a zone is signed: the version that is served stays, valid, the reason is in log and status, and with
room again the rollover goes on."""
import re

import pytest

from harness.disk import fill, small_disk
from test_mistakes import error
from test_signing import check, serial, start, tags

pytestmark = [pytest.mark.ours, pytest.mark.core]

NO_ROOM = "No space left on device|not enough space provided"


def start_on(daemon, disk, folder, is_split):
    """A signed zone with a folder of the databases on the disk; is_split: the private keys are elsewhere."""
    (daemon.dir / "db").mkdir()
    (disk / folder).mkdir()
    (daemon.dir / "db" / folder).symlink_to(disk / folder)
    if is_split:
        (daemon.dir / "private").mkdir()
        (disk / folder / "keys").symlink_to(daemon.dir / "private")
    start(daemon, ["propagation-delay: 1h", "dnskey-ttl: 1", "zone-max-ttl: 60"])


@pytest.mark.parametrize("folder, is_split", [("keys", False), ("keys", True), ("journal", False)])
def test_full_disk(make_knotd, folder, is_split):
    """A rollover of the ZSK begins without room, again and again."""
    daemon = make_knotd()
    with small_disk(daemon.dir / "small", "2M") as disk:
        start_on(daemon, disk, folder, is_split)
        before = (serial(daemon), tags(daemon))
        fill(disk / "filler")
        for _ in range(3):
            begin = len(daemon.log())
            done = daemon.knotc("-b", "zone-key-rollover", "example", "zsk", check=False)
            assert done.returncode != 0 and re.search(NO_ROOM, done.stdout), done
            assert re.search(f"error: .*({NO_ROOM})", daemon.log()[begin:]) and re.search(NO_ROOM, error(daemon))
            assert (serial(daemon), tags(daemon)) == before
        check(daemon)
        made = len(list((daemon.dir / "db" / "keys" / "keys").glob("*.pem"))) - len(before[1])
        assert made == (folder == "journal"), "no key is made that isn't saved, nor one for each attempt"
        (disk / "filler").unlink()
        daemon.knotc("-b", "zone-key-rollover", "example", "zsk")
        daemon.wait(lambda: len(tags(daemon)) == 3, what="the new key")
        assert serial(daemon) > before[0] and before[1] < tags(daemon)
        assert not re.search(NO_ROOM, error(daemon))
        check(daemon)
        after = (serial(daemon), tags(daemon))
        daemon.stop()
        daemon.start()
        daemon.wait(lambda: serial(daemon) is not None, what="the zone")
        assert (serial(daemon), tags(daemon)) == after
        daemon.stop()
