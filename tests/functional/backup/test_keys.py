# SPDX-License-Identifier: BSD-2-Clause
"""zone-backup and zone-restore of keys: between servers of ours, and between Knot DNS and us."""
import shutil
import subprocess

import pytest

from harness.server import Knotd

pytestmark = pytest.mark.ours
KNOTD, KEYMGR = "/usr/sbin/knotd", "/usr/sbin/keymgr"
ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin 10 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\n"


def start(server, signs=True):
    (server.dir / "db").mkdir(exist_ok=True)
    server.write("example.zone", ZONE)
    signing = "    dnssec-signing: on\n    dnssec-policy: p\n" if signs else ""
    server.configure(zones=["example"], text="policy:\n  - id: p\n    nsec3: on\n    nsec3-salt-length: 8\n    zsk-lifetime: 0\ntemplate:\n  - id: default\n"
                     f"    zonefile-sync: -1\n{signing}")
    return server.start()


def keys(server):
    """What Debian's keymgr says of the keys."""
    done = subprocess.run([KEYMGR, "-c", server.path, "example", "list", "-e"], capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines())



def pems(folder):
    return {path.name: path.read_bytes() for path in (folder / "keys").glob("*.pem")}


@pytest.mark.core
def test_keys_come_back(make_knotd, directory):
    """The zone goes on with its keys on another machine; what a backup has not been asked for stays out of it."""
    first = start(make_knotd(name="first"))
    first.wait(lambda: first.ask("example", "DNSKEY").answer, what="the signed zone")
    before = keys(first)
    first.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "backup"))
    first.knotc("-b", "zone-backup", "example", "+nokaspdb", "+backupdir", str(directory / "without"))
    assert pems(directory / "backup" / "keys") == pems(first.dir / "db" / "keys")
    assert not (directory / "without" / "keys").exists()
    assert all(path.stat().st_mode & 0o27 == 0 for path in (directory / "backup" / "keys" / "keys").glob("*.pem"))
    first.stop()
    second = start(make_knotd(name="second"))
    second.wait(lambda: second.ask("example", "DNSKEY").answer, what="the signed zone")
    assert keys(second) != before
    second.knotc("-b", "zone-restore", "example", "+backupdir", str(directory / "backup"))
    second.wait(lambda: second.ask("example", "DNSKEY").answer and keys(second) == before, what="the keys of the first")
    second.knotc("-b", "zone-sign", "example")
    second.knotc("-b", "zone-validate", "example")
    assert keys(second) == before


@pytest.mark.core
def test_server_without_keys(make_knotd, directory):
    """No key database is made for a backup of zones that have no keys."""
    server = start(make_knotd(), signs=False)
    server.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "backup"))
    assert not (server.dir / "db" / "keys").exists()
    server.knotc("-b", "zone-restore", "example", "+backupdir", str(directory / "backup"))


@pytest.mark.core
def test_purge(make_knotd):
    """Keys go only if they are named; then the zone gets new ones."""
    server = start(make_knotd())
    server.wait(lambda: server.ask("example", "DNSKEY").answer, what="the signed zone")
    before = keys(server)
    server.knotc("-f", "-b", "zone-purge", "example")
    assert keys(server) == before
    server.write("example.zone", ZONE)
    server.knotc("-b", "zone-reload", "example")
    server.wait(lambda: server.ask("example", "DNSKEY").answer, what="the signed zone")
    assert keys(server) == before
    server.knotc("-f", "-b", "zone-purge", "example", "+keys", "+kaspdb")
    assert keys(server) == []
    server.knotc("-f", "-b", "zone-sign", "example")   # caches don't know the new ones
    assert len(keys(server)) == 2 and not set(keys(server)) & set(before)
    server.knotc("-b", "zone-validate", "example")


def test_lost_private_key(make_knotd, directory):
    """Told, and the rest is backed up."""
    server = start(make_knotd())
    server.wait(lambda: server.ask("example", "DNSKEY").answer, what="the signed zone")
    lost = sorted((server.dir / "db" / "keys" / "keys").glob("*.pem"))[0]
    lost.unlink()
    server.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "backup"))
    server.wait_log(f"backup, private key not copied, tag \\d+, id {lost.stem} ")
    assert len(pems(directory / "backup" / "keys")) == 1


@pytest.mark.skipif(not shutil.which(KNOTD), reason="Debian's knot is not installed")
@pytest.mark.parametrize("is_theirs_first", [True, False])
def test_between_servers(make_knotd, directory, is_theirs_first):
    theirs = Knotd(directory / "theirs", program=KNOTD)
    theirs.dir.mkdir(exist_ok=True)
    ours = make_knotd(name="ours")
    first, second = (theirs, ours) if is_theirs_first else (ours, theirs)
    try:
        start(first)
        first.wait(lambda: first.ask("example", "DNSKEY").answer, what="the signed zone")
        before = keys(first)
        first.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "backup"), "+nojournal")
        first.stop()
        start(second)
        second.wait(lambda: second.ask("example", "DNSKEY").answer, what="the signed zone")
        second.knotc("-b", "zone-restore", "example", "+backupdir", str(directory / "backup"), "+nojournal")
        second.wait(lambda: second.ask("example", "DNSKEY").answer and keys(second) == before, what="the keys of the first")
        second.knotc("-b", "zone-sign", "example")
        assert keys(second) == before
    finally:
        theirs.stop()
