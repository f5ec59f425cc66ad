# SPDX-License-Identifier: BSD-2-Clause
"""Mistakes of operators, and accidents of their disks: the zone is served on as it is, valid, and log and zone-status say what is wrong, where, and what
to do about it."""
import os
import shutil
import subprocess
import sys
import time

import pytest

from harness.waiting import PATIENCE
from test_pkcs11 import keystores, tokens, vanishing     # noqa: F401
from test_policy_items import keymgr
from test_signing import check, configure, count, serial, start, tags, wait_serial

pytestmark = [pytest.mark.ours, pytest.mark.core]


def error(daemon):
    return daemon.knotc("zone-status", "example", "+error").stdout


def key_list(daemon):
    return keymgr(daemon, "example", "list").splitlines()


def refuse(daemon, *said):
    """Signing fails with all of this behind the command, in the status and in the log, and nothing of what is served has changed."""
    before, lines = (serial(daemon), tags(daemon)), daemon.log().count("\n")
    done = daemon.knotc("-b", "zone-sign", "example", check=False)
    assert done.returncode != 0
    for what in said:
        assert what in done.stdout and what in error(daemon) and what in "".join(daemon.log().splitlines(True)[lines:]), (what, done.stdout, error(daemon))
    assert (serial(daemon), tags(daemon)) == before
    check(daemon)


def restart(daemon):
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: serial(daemon), what="the zone")


def test_key_database_is_lost(make_knotd):
    """No new keys are made beside a zone that is served with others; the old database comes back, or an operator wants new ones."""
    daemon = start(make_knotd())
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    keys, before = daemon.dir / "db" / "keys", tags(daemon)
    daemon.stop()
    shutil.move(keys, daemon.dir / "kept")
    daemon.start()
    daemon.wait_log("guard rail, new version not published .the key database has no keys of the zone, which is served signed: restore them, or let new ones be made., "
                    "force overrides")
    refuse(daemon, "the key database has no keys of the zone")
    assert key_list(daemon) == []
    daemon.stop()
    shutil.rmtree(keys)
    shutil.move(daemon.dir / "kept", keys)
    restart(daemon)
    daemon.knotc("-b", "zone-sign", "example")
    assert tags(daemon) == before and not error(daemon).strip().endswith("restore them")
    daemon.stop()
    shutil.rmtree(keys)
    restart(daemon)
    daemon.knotc("-f", "-b", "zone-sign", "example")
    assert not before & tags(daemon) and len(key_list(daemon)) == 2
    check(daemon)


def test_key_database_is_replaced(make_knotd):
    """An old copy that is put in the place of the database while the server runs: what the server writes wouldn't be in it."""
    daemon = start(make_knotd())
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    keys, before = daemon.dir / "db" / "keys", tags(daemon)
    shutil.copytree(keys, daemon.dir / "copy")
    shutil.rmtree(keys)
    shutil.copytree(daemon.dir / "copy", keys)
    refuse(daemon, f"KASP database '{keys}' was removed or replaced, restart the server to use it")
    shutil.rmtree(keys)
    refuse(daemon, f"KASP database '{keys}' was removed or replaced, restart the server to use it")
    shutil.copytree(daemon.dir / "copy", keys)
    restart(daemon)
    daemon.knotc("-b", "zone-sign", "example")
    assert tags(daemon) == before
    check(daemon)


def test_what_is_no_key_file(make_knotd):
    """A FIFO is not waited for, and a folder is none."""
    daemon = start(make_knotd())
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    path = next((daemon.dir / "db" / "keys" / "keys").glob("*.pem"))
    kept = path.rename(path.with_suffix(".kept"))
    os.mkfifo(path)
    refuse(daemon, f"id {path.stem}: invalid private key")
    path.unlink()
    path.mkdir()
    refuse(daemon, f"id {path.stem}: Is a directory")
    path.rmdir()
    kept.rename(path)
    daemon.knotc("-b", "zone-sign", "example")
    wait_serial(daemon, 12)
    check(daemon)


def test_no_place_for_new_keys(make_knotd):
    """A rollover that can't make a key says where it should be, and is done when it can."""
    daemon = start(make_knotd(), policy=["zsk-lifetime: 0"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    folder = daemon.dir / "db" / "keys" / "keys"
    folder.rename(folder.with_suffix(".kept"))
    folder.write_text("")
    daemon.knotc("zone-key-rollover", "example", "zsk")
    said = f"new key, folder {folder}: not a directory"
    daemon.wait(lambda: said in error(daemon), what="the reason")
    assert f"DNSSEC, failed to update key set (not a directory), {said}" in daemon.log()
    assert serial(daemon) == 11 and len(key_list(daemon)) == 2
    folder.unlink()
    folder.with_suffix(".kept").rename(folder)
    daemon.knotc("zone-key-rollover", "example", "zsk")
    daemon.wait(lambda: len(tags(daemon)) == 3, what="the new key")
    assert count(daemon, "ZSK rollover started") == 1
    check(daemon)


def test_no_records_of_offline_keys(make_knotd):
    """Keys of the zone's own, but nothing that was signed by the one that is elsewhere."""
    daemon = start(make_knotd())
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    configure(daemon, ["offline-ksk: on", "manual: on", "dnskey-ttl: 60", "zone-max-ttl: 60"])
    daemon.knotc("reload")
    daemon.wait_log("DNSSEC, no offline KSK records available")
    done = daemon.knotc("-b", "zone-sign", "example", check=False)
    assert "no offline KSK records, import an SKR" in done.stdout and "no offline KSK records, import an SKR" in error(daemon)
    assert serial(daemon) == 11
    check(daemon)


# ---- What others hold ----

LOCK = """
import ctypes, sys
lmdb = ctypes.CDLL("liblmdb.so.0")
env, txn = ctypes.c_void_p(), ctypes.c_void_p()
assert lmdb.mdb_env_create(ctypes.byref(env)) == 0
assert lmdb.mdb_env_open(env, sys.argv[1].encode(), 0x200000, 0o660) == 0
assert lmdb.mdb_txn_begin(env, None, 0, ctypes.byref(txn)) == 0
print("locked", flush=True)
sys.stdin.read()
"""


def other_zones_go_on(daemon, serial_before):
    """Zones that aren't signed are loaded, though all workers wait."""
    begin = time.monotonic()
    daemon.write("plain.zone", f"$ORIGIN plain.\n@ 60 SOA ns admin {serial_before + 1} 3600 600 86400 30\n@ 60 NS ns\nns 60 A 192.0.2.1\n")
    daemon.knotc("-b", "zone-reload", "plain")
    assert daemon.ask("plain", "SOA").answer[0][0].serial == serial_before + 1
    assert time.monotonic() - begin < 20 * PATIENCE


def start_three(daemon, policy=(), more=""):
    """Two zones that are signed, for as many workers, and one that isn't."""
    (daemon.dir / "db").mkdir()
    for name in ("one", "two", "plain"):
        daemon.write(f"{name}.zone", f"$ORIGIN {name}.\n@ 60 SOA ns admin 1 3600 600 86400 30\n@ 60 NS ns\nns 60 A 192.0.2.1\n")
    policy = "".join(f"    {line}\n" for line in policy)
    more = more or "policy:\n  - id: p\n    algorithm: ecdsap256sha256\n"
    daemon.configure(f"{more}{policy}template:\n  - id: default\n    storage: {daemon.dir}\n    zonefile-sync: -1\n"
                     "zone:\n" + "".join(f"  - domain: {name}\n    dnssec-signing: on\n    dnssec-policy: p\n" for name in ("one", "two")) + "  - domain: plain\n")
    daemon.start()
    for name in ("one", "two", "plain"):
        daemon.wait(lambda zone=name: daemon.ask(zone, "SOA").answer, what=name)


def test_key_database_is_locked(make_knotd):
    """By a keymgr that was stopped: signing waits and says so, other zones go on, and it goes on by itself."""
    daemon = make_knotd()
    start_three(daemon)
    with subprocess.Popen([sys.executable, "-c", LOCK, str(daemon.dir / "db" / "keys")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout.readline() == b"locked\n"
            for name in ("one", "two"):
                daemon.knotc("zone-key-rollover", name, "zsk")
            other_zones_go_on(daemon, 1)
            for name in ("one", "two"):
                daemon.wait_log(rf"\[{name}\.\] DNSSEC, signing waits for the KASP database or a keystore, another process or a token may hold it")
            other_zones_go_on(daemon, 2)
        finally:
            holder.kill()
    for name in ("one", "two"):
        daemon.wait_log(rf"\[{name}\.\] DNSSEC, ZSK rollover started")


def test_token_stalls(make_knotd, vanishing):   # noqa: F811
    """So does a token that doesn't answer any more."""
    place, stalled = vanishing
    daemon = make_knotd()
    start_three(daemon, ["single-type-signing: on"], keystores(("hsm", place)))
    stalled.write_text("0 stalls")
    for name in ("one", "two"):
        daemon.knotc("zone-sign", name)
    other_zones_go_on(daemon, 1)
    for name in ("one", "two"):
        daemon.wait_log(rf"\[{name}\.\] DNSSEC, signing waits for the KASP database or a keystore")
    before = count(daemon, "successfully signed")
    stalled.unlink()
    daemon.wait(lambda: count(daemon, "successfully signed") == before + 2, 20, "signed zones")
