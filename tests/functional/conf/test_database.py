# SPDX-License-Identifier: BSD-2-Clause
"""Where the configuration comes from: -C, -m, a database of Knot DNS or with damage, one that others change, and none at all."""
import fcntl
import os
import re
import shutil
import subprocess

import pytest

from conf_server import Conf, import_conf, is_root, knotc_for, start
from harness.control import command
from harness.disk import fill, small_disk
from harness.server import built
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.ours


def run_knotd(*arguments):
    done = subprocess.run([built("knotd", "knotd"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=20 * PATIENCE, check=False)
    return done.returncode, done.stdout


def zone_file(daemon, zone, serial=1):
    daemon.write(f"{zone}.zone", example(serial).replace("$ORIGIN example.", f"$ORIGIN {zone}."))


def test_options(knotd):
    for arguments, text in ((("-c", "x", "-C", "y"), "give one of --config and --confdb"), (("-m", "0", "-C", "x"), "size 0"),
                            (("-m", "10001", "-C", "x"), "size 10001"), (("-m", "1x", "-C", "x"), "size 1x")):
        status, output = run_knotd(*arguments)
        assert status == 1 and text in output, output
    zone_file(knotd, "a.test")
    start(knotd, "-m", "7", zones=["a.test"])
    assert f"loaded configuration database '{knotd.dir}/confdb', mapsize 7 MiB" in knotd.log()
    assert knotd.ask("www.a.test").answer


def test_what_was_committed_outlives_the_server(knotd):
    for zone in ("a.test", "b.test"):
        zone_file(knotd, zone)
    start(knotd, zones=["a.test"])
    with Conf(knotd) as conf:
        conf.change("zone[b.test]", f"zone[b.test].storage={knotd.dir}", "server.identity=kept")
        conf.do("conf-begin")
        conf.do("conf-set", "zone[c.test]")     # open when the server stops
        before = conf.lines("conf-read")
    knotd.stop()
    knotd.start()
    assert knotd.ask("www.b.test").answer
    with Conf(knotd) as conf:
        assert conf.lines("conf-read") == before
        assert conf.error("conf-get") == "no active transaction"
        conf.do("conf-begin")
        conf.do("conf-abort")


def test_a_new_folder_is_an_empty_configuration(knotd):
    database = knotd.dir / "new"
    # Nothing is configured, so the pid file's folder is the one of the system, which may be there or not.
    knotd.source = ("-C", str(database))
    knotd.start("-s", str(knotd.dir / "s"), ready=False)
    knotd.wait_log(f"loaded configuration database '{database}', mapsize 500 MiB")
    assert (database / "data.mdb").exists()
    knotd.process.kill()
    knotd.wait_end()
    status, output = run_knotd("-C", str(knotd.dir / "no" / "folder"))
    assert status == 1 and "failed to make the folder (No such file or directory)" in output


def test_reload_reads_what_others_wrote(knotd):
    for zone in ("a.test", "b.test"):
        zone_file(knotd, zone)
    start(knotd, zones=["a.test"])
    knotd.configure(control=knotd.PATIENT, zones=["b.test"])
    import_conf(knotd)
    assert knotd.ask("www.a.test").answer and not knotd.ask("www.b.test").answer
    assert command(knotd.socket, "reload") == ""
    assert f"reloading configuration database '{knotd.dir}/confdb'" in knotd.log()
    knotd.wait(lambda: knotd.ask("www.b.test").answer, what="the zone of the reload")
    assert not knotd.ask("www.a.test").answer


def test_begin_after_others_wrote(knotd):
    """A transaction begins with what the database has, also if the server was not reloaded since."""
    for zone in ("a.test", "b.test", "c.test"):
        zone_file(knotd, zone)
    start(knotd, zones=["a.test"])
    knotd.configure(control=knotd.PATIENT, zones=["b.test"])
    import_conf(knotd)
    with Conf(knotd) as conf:
        conf.do("conf-begin")
        assert conf.lines("conf-get", "zone.domain") == ["zone.domain b.test."]
        conf.do("conf-set", "zone[c.test]", f"zone[c.test].storage={knotd.dir}")
        conf.do("conf-commit")
        assert conf.lines("conf-read", "zone.domain") == ["zone.domain b.test.", "zone.domain c.test."]
    for zone in ("b.test", "c.test"):
        knotd.wait(lambda zone=zone: knotd.ask(f"www.{zone}").answer, what=zone)
    assert not knotd.ask("www.a.test").answer


CHANGED = "notice: control, configuration database '{}' was changed by another process, the transaction begins with its contents"


def test_import_under_a_running_server(knotd):
    """What another process imports is followed with the next commit or reload, and by nothing else; the log says so once per begin."""
    for zone in ("a.test", "b.test"):
        zone_file(knotd, zone)
    start(knotd, zones=["a.test"])
    said = CHANGED.format(knotd.dir / "confdb")
    with Conf(knotd) as conf:
        conf.do("conf-begin")
        conf.do("conf-abort")
        assert "another process" not in knotd.log()
        knotd.configure(control=knotd.PATIENT, zones=["b.test"])
        import_conf(knotd)
        assert conf.lines("conf-read", "zone.domain") == ["zone.domain a.test."]
        conf.do("conf-begin")
        assert knotd.log().count(said) == 1
        assert conf.lines("conf-get", "zone.domain") == ["zone.domain b.test."]
        assert conf.lines("conf-diff") == []        # against what the transaction began with
        conf.do("conf-abort")
        assert conf.lines("conf-read", "zone.domain") == ["zone.domain a.test."] and knotd.ask("www.a.test").answer
        conf.do("conf-begin")
        assert knotd.log().count(said) == 2
        conf.do("conf-commit")                      # nothing of its own
        assert conf.lines("conf-read", "zone.domain") == ["zone.domain b.test."]
        conf.do("conf-begin")
        conf.do("conf-abort")
        assert knotd.log().count(said) == 2
    knotd.wait(lambda: knotd.ask("www.b.test").answer, what="the imported zone")
    assert not knotd.ask("www.a.test").answer


def test_one_writer(knotd):
    zone_file(knotd, "a.test")
    start(knotd, zones=["a.test"])
    folder = os.open(knotd.dir / "confdb", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with Conf(knotd) as conf:
        assert "another process changes it" in conf.error("conf-begin")
        assert "another process changes it" in knotd.log()
        os.close(folder)
        conf.do("conf-begin")
        done = subprocess.run([knotc_for(knotd), "-C", str(knotd.dir / "confdb"), "-f", "conf-import", str(knotd.path)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE, check=False)
        assert done.returncode == 1 and "another process changes it" in done.stdout
        conf.do("conf-abort")
    import_conf(knotd)


def test_databases_that_are_not_ours(knotd):
    if shutil.which("/usr/sbin/knotc") is None:
        pytest.skip("Knot DNS is not installed")
    knotd.configure(control=knotd.PATIENT, zones=["a.test"])
    database = knotd.dir / "confdb"
    subprocess.run(["/usr/sbin/knotc", "-C", str(database), "conf-import", str(knotd.path)], check=True, timeout=20 * PATIENCE,
                   stdout=subprocess.DEVNULL)
    before = (database / "data.mdb").read_bytes()
    for program in (built("knotd", "knotd"), built("knotc", "tools")):
        done = subprocess.run([program, "-C", str(database), *(["conf-check"] if program.endswith("knotc") else [])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20 * PATIENCE, check=False)
        assert done.returncode == 1 and "it was made by Knot DNS" in done.stdout and "conf-export" in done.stdout
    assert (database / "data.mdb").read_bytes() == before
    # What the message says is the way.
    subprocess.run(["/usr/sbin/knotc", "-C", str(database), "conf-export", str(knotd.dir / "exported.conf")], check=True, timeout=20 * PATIENCE)
    database.rename(knotd.dir / "away")
    zone_file(knotd, "a.test")
    import_conf(knotd, knotd.dir / "exported.conf")
    knotd.start()
    assert knotd.ask("www.a.test").answer


def test_damage(knotd):
    """A server doesn't start from a damaged database, doesn't change it, and one that runs keeps what it has."""
    zone_file(knotd, "a.test")
    start(knotd, zones=["a.test"])
    path = knotd.dir / "confdb" / "data.mdb"
    good = path.read_bytes()
    at = good.index(b"knot.sock")
    path.write_bytes(good[:at] + b"K" + good[at + 1:])
    assert command(knotd.socket, "reload") != ""
    assert "it is damaged (the checksum of a block is wrong)" in knotd.log()
    with Conf(knotd) as conf:
        conf.do("conf-begin")       # the version is that of the start, so nothing is read
        conf.do("conf-abort")
    assert knotd.ask("www.a.test").answer
    knotd.stop()
    for bad in (path.read_bytes(), good[:5000], b"", b"x" * 8192):
        path.write_bytes(bad)
        status, output = run_knotd("-C", str(path.parent), "-s", str(knotd.dir / "s"))
        assert status == 1 and "it is damaged (" in output and "move the folder away" in output
        assert path.read_bytes() == bad
    path.write_bytes(good)
    knotd.start()
    assert knotd.ask("www.a.test").answer


def test_full_and_read_only(knotd):
    """What can't be written is not followed either; the transaction stays open."""
    zone_file(knotd, "a.test")
    start(knotd, "-m", "1", zones=["a.test"])
    with Conf(knotd) as conf:
        conf.do("conf-begin")
        conf.do("conf-set", *(f"zone[a-rather-long-name-of-a-zone-{n}.test]" for n in range(20000)))
        assert re.search(r"^configuration database '.*', failed to write to it \(it is full\), .*increase it with --max-conf-size$",
                         conf.error("conf-commit"))
        assert len(conf.lines("conf-read", "zone.domain")) == 1
        assert len(conf.lines("conf-get", "zone.domain")) == 20001
        assert knotd.ask("www.a.test").answer
        conf.do("conf-abort")
        conf.change("server.identity=fits")
        assert conf.lines("conf-read", "server.identity") == ["server.identity fits"]


def test_full_disk(knotd):
    """As with a full database; what was committed before stays, also over a restart, and room lets the commit through."""
    with small_disk(knotd.dir / "confdb", "256k") as folder:
        zone_file(knotd, "a.test")
        start(knotd, zones=["a.test"])
        with Conf(knotd) as conf:
            conf.change("server.identity=before")
            fill(folder / "filler")
            conf.do("conf-begin")
            conf.do("conf-set", "server.identity=after", *(f"zone[a-rather-long-name-of-a-zone-{n}.test]" for n in range(1000)))
            assert "No space left on device" in conf.error("conf-commit")
            assert conf.lines("conf-read", "server.identity") == ["server.identity before"]
            assert knotd.ask("www.a.test").answer
            assert len(conf.lines("conf-get", "zone.domain")) == 1001
            conf.do("conf-abort")
        knotd.stop()
        knotd.start()
        with Conf(knotd) as conf:
            assert conf.lines("conf-read", "server.identity") == ["server.identity before"]
            (folder / "filler").unlink()
            conf.change("server.identity=after")
            assert conf.lines("conf-read", "server.identity") == ["server.identity after"]
        knotd.stop()


def test_file_without_rights(knotd):
    if is_root() and shutil.which("setpriv") is None:
        pytest.skip("setpriv is needed")
    zone_file(knotd, "a.test")
    knotd.configure(control=knotd.PATIENT, zones=["a.test"])
    database = import_conf(knotd)
    database.chmod(0o555)
    (database / "data.mdb").chmod(0o444)
    if is_root():
        for path in (knotd.dir, knotd.dir / "run"):
            os.chown(path, 65534, 65534)
        knotd.program = str(knotd.write("as_nobody", "#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "
                                        f"{built('knotd', 'knotd')} \"$@\"\n"))
        os.chmod(knotd.program, 0o755)
    knotd.start()
    with Conf(knotd) as conf:
        conf.do("conf-begin")
        conf.do("conf-set", "server.identity=x")
        assert "check owner and mode" in conf.error("conf-commit")
        assert conf.lines("conf-read", "server.identity") == []
        conf.do("conf-abort")
    assert knotd.ask("www.a.test").answer
    knotd.program = None


def test_with_a_file(knotd):
    """Transactions work with a configuration file, too, until the next reload."""
    for zone in ("a.test", "b.test"):
        zone_file(knotd, zone)
    knotd.configure(control=knotd.PATIENT, zones=["a.test"])
    knotd.start()
    with Conf(knotd) as conf:
        conf.change("zone[b.test]", f"zone[b.test].storage={knotd.dir}")
    assert "notice: control, persistent configuration database not available" in knotd.log()
    knotd.wait(lambda: knotd.ask("www.b.test").answer, what="the zone of the transaction")
    assert command(knotd.socket, "reload") == ""
    assert not knotd.ask("www.b.test").answer
