# SPDX-License-Identifier: BSD-2-Clause
"""kill -9 of a server in any phase of a transaction and of its commit: the state after the next start is the last that was committed."""
import os
import shutil
import subprocess

import pytest

from conf_server import Conf, import_conf
from harness.server import BUILD
from zones import example

pytestmark = pytest.mark.ours

MANY = 3000
SHIM = BUILD / "tests" / "sim" / ".libs" / "libdisk_shim.so"


@pytest.fixture
def server(knotd):
    for number in range(4):
        knotd.write(f"z{number}.test.zone", example(number).replace("$ORIGIN example.", f"$ORIGIN z{number}.test."))
    knotd.configure(control=knotd.PATIENT, zones=["z0.test"], server="identity: 0")
    import_conf(knotd)
    return knotd


def shim(daemon, at, when, count):
    """Environment of a server that ends at this call that changes the database's folder."""
    assert SHIM.exists(), f"{SHIM} is not built"
    sanitizers = os.environ.get("ASAN_OPTIONS", "")
    return {"LD_PRELOAD": str(SHIM), "DISK_FOLDER": str((daemon.dir / "confdb").resolve()), "DISK_KILL_AT": str(at),
            "DISK_WHEN": when, "DISK_COUNT": str(count), "ASAN_OPTIONS": f"{sanitizers}:verify_asan_link_order=0".lstrip(":")}


def calls_of(count):
    return int.from_bytes(count.read_bytes()[:4], "little") if count.exists() else 0


def commit(conf, daemon, number):
    """The n-th commit adds the n-th zone, removes the one before, and sets the identity to n."""
    conf.change(f"zone[z{number}.test]", f"zone[z{number}.test].storage={daemon.dir}", f"-zone[z{number - 1}.test]",
                f"server.identity={number}")


def committed(daemon):
    """The number of the commit that the server follows; everything must be of the same."""
    daemon.wait(daemon.is_answering, what="an answer")
    with Conf(daemon) as conf:
        assert conf.error("conf-get") == "no active transaction"
        number = int(conf.lines("conf-read", "server.identity")[0].split()[1])
        assert conf.lines("conf-read", "zone.domain") == [f"zone.domain z{number}.test."]
    answer = daemon.ask(f"version.z{number}.test", "TXT")
    assert answer.answer[0][0].strings[0] == str(number).encode()
    return number


def kill(daemon):
    daemon.process.kill()
    daemon.wait_end()


def drive(daemon):
    """Two commits and a transaction that stays open. Returns how many were acknowledged; the server may be killed meanwhile."""
    done = 0
    try:
        with Conf(daemon) as conf:
            for number in (1, 2):
                commit(conf, daemon, number)
                done = number
            conf.do("conf-begin")
            conf.do("conf-set", "zone[z3.test]")
    except (ConnectionError, OSError):
        daemon.wait_end()
    return done


def test_killed_between_commands(server):
    """Everything of a transaction that is open is forgotten, whatever it was doing."""
    steps = [(), ("begin",), ("begin", "set"), ("begin", "set", "unset"), ("begin", "set", "failed commit"), ("begin", "set", "commit")]
    for words in steps:
        server.start()
        before = committed(server)
        with Conf(server) as conf:
            for word in words:
                if word == "begin":
                    conf.do("conf-begin")
                elif word == "set":
                    conf.do("conf-set", "server.identity=1", "zone[z1.test]", f"zone[z1.test].storage={server.dir}")
                elif word == "unset":
                    conf.do("conf-unset")
                elif word == "failed commit":
                    conf.do("conf-set", "key[k]")
                    assert conf.error("conf-commit") != ""
                else:
                    conf.do("conf-unset", "zone[z0.test]")
                    conf.do("conf-commit")
        kill(server)
        server.start()
        assert committed(server) == (1 if "commit" in words else before)
        server.stop()


def test_killed_at_each_write(server):
    count, base = server.dir / "count", server.dir / "base"
    shutil.copytree(server.dir / "confdb", base)
    server.start(environment=shim(server, 0, "before", count))
    assert drive(server) == 2
    kill(server)
    calls = calls_of(count)
    assert calls >= 4, "a commit writes and syncs"
    kills, seen = 0, set()
    for at in range(1, calls + 1):
        for when in ("before", "half", "after"):
            shutil.rmtree(server.dir / "confdb")
            shutil.copytree(base, server.dir / "confdb")
            count.unlink()
            server.start(environment=shim(server, at, when, count))
            done = drive(server)
            assert server.process.poll() is not None, f"call {at} ({when}) didn't come"
            kills += 1
            server.start()
            now = committed(server)
            assert done <= now <= done + 1, f"call {at} ({when}): {done} commits were acknowledged, {now} is there"
            seen.add((done, now))
            kill(server)
    print(f"{kills} kills at {calls} calls: {sorted(seen)}")
    assert {(0, 0), (0, 1), (1, 1), (1, 2)} <= seen


def test_killed_while_many_are_committed(server):
    """A commit of many zones, killed at times within it: all of them or none."""
    names = [f"zone[n{n}.test]" for n in range(MANY)]
    seen = set()
    for delay_ms in (0, 5, 10, 20, 30, 50, 80, 120):
        server.start()
        with Conf(server) as conf:
            already = len(conf.lines("conf-read", "zone.domain"))
            conf.do("conf-begin")
            if already == 1:
                conf.do("conf-set", *names)
            else:
                conf.do("conf-unset", *names)
            killer = subprocess.Popen(["sh", "-c", f"sleep {delay_ms / 1000}; kill -9 {server.process.pid}"])
            try:
                acknowledged = conf.block("conf-commit") == []
            except (ConnectionError, OSError):
                acknowledged = False
        killer.wait()
        server.wait_end()
        server.start()
        with Conf(server) as conf:
            count = len(conf.lines("conf-read", "zone.domain"))
        assert count in (1, MANY + 1)
        assert not acknowledged or count != already
        seen.add((acknowledged, count != already))
        server.stop()
    print(sorted(seen))
