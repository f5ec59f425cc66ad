# SPDX-License-Identifier: BSD-2-Clause
"""kxdpgun over QUIC: with Debian's knotd, and its kxdpgun beside ours, over AF_XDP; over sockets with a scripted server whose faults must all be found."""
import contextlib
import dataclasses
import json
import pathlib
import re
import subprocess

import pytest

from harness.net import Pair
from harness.quic_knot import ZONE, many_names, quic_knot
from harness.server import BUILD
from harness.tls import Pki
from harness.waiting import PATIENCE, wait_until

import gun
from test_load_xdp import layout

pytestmark = [pytest.mark.ours, pytest.mark.core]
SERVER = str(BUILD / "tests/exchange/quic_server")
DEBIAN = "/usr/sbin/kxdpgun"
NAMES = 50


# ---- Over AF_XDP: Debian's knotd, which has QUIC there ----

@dataclasses.dataclass
class Knot:
    zone: pathlib.Path
    queries: pathlib.Path


@pytest.fixture
def knot(directory, pair):
    with quic_knot(directory, pair, many_names(100)) as log:
        wait_until(lambda: "loaded, serial" in log.read_text(), log.read_text)
        daemon = Knot(directory / "example.zone", directory / "queries")
        daemon.queries.write_text("a.example A\nnx.example A\nexample SOA D\nn7.example A E\n")
        yield daemon


def shoot_knot(knot, pair, *arguments, **options):
    return gun.load(*arguments, queries=options.pop("queries", knot.queries), target=pair.server4, namespace=pair.client, **options)


@pytest.mark.parametrize("mode", ["-U", "-U0", "-UR"])
def test_answers_are_right(knot, pair, mode):
    report = shoot_knot(knot, pair, mode, "-t", 1, "-Q", 100, "--timeout", 10, "--verify", knot.zone)
    counts = report.counts
    assert counts["matched"] == counts["verified"] == counts["sent"] and gun.is_load(counts["sent"], 100)
    assert counts["wrong"] == counts["unexpected"] == counts["lost"] == counts["reset"] == 0, report.of("wrong_answer")
    assert counts["closed"] == counts["opened"] >= counts["established"] >= 1
    if mode == "-UR":
        assert counts["opened"] < counts["sent"]
    else:
        assert counts["opened"] == counts["sent"]
    assert set(report.sum["response_rcodes"]) == {"NOERROR", "NXDOMAIN"}
    assert report.sum["conn_info"]["type"] == "quic" and report.latency["count"] == counts["sent"]


@pytest.mark.parametrize("mode, established, replies, closed", [
    ("1", False, False, False), ("2", True, False, False), ("3", True, False, False), ("5", True, False, False), ("7", True, False, False), ("8", True, True, False)])
def test_modes(knot, pair, mode, established, replies, closed):
    counts = shoot_knot(knot, pair, f"-U{mode}", "-t", 1, "-Q", 50, "--timeout", 10 if replies else 3).counts
    assert gun.is_load(counts["opened"], 50)
    assert (counts["established"] > 0) == established and counts["established"] <= counts["opened"]
    assert counts["matched"] == (counts["opened"] if replies else 0)
    assert counts["closed"] == (counts["opened"] if closed or mode == "2" else 0)      # mode 2: at the end of the run


def test_transfers(knot, pair, directory):
    (directory / "zones").write_text("example\n")
    counts = shoot_knot(knot, pair, "-U", "-t", 1, "-Q", 10, "--timeout", 10, "--profile", "axfr", queries=directory / "zones").counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 10, 0)
    assert counts["records"] == counts["sent"] * (3 + 100 + 1)


def test_injected(knot, pair):
    counts = shoot_knot(knot, pair, "-U", "-m", "inject", "-t", 1, "-Q", 50, "--timeout", 10, "--verify", knot.zone).counts
    assert counts["matched"] == counts["verified"] == counts["sent"] and counts["wrong"] == 0


def test_text_is_that_of_debian(knot, pair):
    """Debian's lines are ours in the same order, up to their numbers; ours go on behind them."""
    command = ["-t", "1", "-Q", "20", "-U"]
    theirs = layout(pair.exec(pair.client, DEBIAN, *command, "-i", str(knot.queries), pair.server4).stdout)
    ours = layout(gun.run(*command, "--timeout", 10, queries=knot.queries, target=pair.server4, namespace=pair.client).stdout)
    assert ours[:len(theirs)] == theirs
    assert all(re.match(r"matched: |latency: |send delay: ", line) for line in ours[len(theirs):])


def test_qlog(knot, pair, directory):
    (directory / "qlog").mkdir()
    counts = shoot_knot(knot, pair, "-U", "-G", directory / "qlog", "-t", 1, "-Q", 10, "--timeout", 10).counts
    files = list((directory / "qlog").iterdir())
    assert len(files) == counts["opened"]
    for path in files:
        first = path.read_text().lstrip("\x1e")
        assert "qlog_version" in json.JSONDecoder().raw_decode(first)[0], first[:200]


# ---- A scripted server, which has sockets ----

@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


@contextlib.contextmanager
def scripted(pki, *script, namespace=None):
    """(port, counts): counts are there when the server has ended, which is at the end of the block."""
    counts = {}
    inside = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
    with subprocess.Popen([*inside, SERVER, pki.path("good.pem"), pki.path("good.key"), *script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield int(process.stdout.readline()), counts
            text = process.communicate(timeout=20 * PATIENCE)[0]
            counts.update({name: int(number) for name, number in map(str.split, text.splitlines())})
            assert process.returncode == 0
        finally:
            process.kill()


def shoot(directory, port, *arguments, **options):
    queries, zone = directory / "queries", directory / "zone"
    queries.write_text("".join(f"h{n}.example A\n" for n in range(NAMES)))
    zone.write_text("$ORIGIN example.\n$TTL 60\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n" + "".join(f"h{n} A 192.0.2.7\n" for n in range(NAMES)))
    target, how = options.pop("target", "127.0.0.1"), options.pop("how", ["--sockets", "--threads", 1])
    return gun.load(*how, "-t", 2, "-Q", 100, "--verify", zone, *arguments, queries=queries, target=f"{target}@{port}", **options)


@pytest.mark.parametrize("mode", ["-U", "-UR"])
def test_each_fault_has_its_count(directory, pki, mode):
    with scripted(pki, "silent=10", "cut=11", "wrong=13", "id=17") as (port, server):
        counts = shoot(directory, port, mode, "--timeout", 5).counts
    assert server["queries"] == counts["sent"] and gun.is_load(counts["sent"], 200)
    # An answer with another id is none; its stream then ends without one.
    assert counts["unexpected"] == server["id"]
    assert counts["lost"] == counts["refused"] == server["silent"] + server["cut"] + server["id"]
    assert counts["matched"] == counts["verified"] == counts["sent"] - counts["lost"]
    assert counts["wrong"] == server["wrong"]
    assert counts["opened"] == counts["established"] == counts["closed"] == server["connections"]
    assert counts["reset"] == 0
    assert mode == "-U" or server["connections"] < counts["sent"]


@pytest.mark.parametrize("mode", ["-U", "-UR"])
def test_replies_to_other_queues(directory, pki, mode):
    """The server's kernel chooses the queue of each reply by its own hash: all replies come to the thread that has the connection, which is woken for them."""
    with Pair(queues=4) as pair, scripted(pki, f"address={pair.server4}", namespace=pair.server) as (port, server):
        report = shoot(directory, port, mode, "--timeout", 5, how=[], target=pair.server4, namespace=pair.client, goes_first=True)
    counts = report.counts
    assert len(report.of("thread_summary")) == 4
    assert server["queries"] == counts["sent"] == counts["matched"] == counts["verified"] and gun.is_load(counts["sent"], 200)
    assert counts["wrong"] == counts["unexpected"] == counts["lost"] == counts["reset"] == 0
    assert report.latency["p50"] < 15e6 * PATIENCE, "nanoseconds: a handshake has several turns"


def test_connections_that_the_server_closes(directory, pki):
    with scripted(pki, "close=9") as (port, server):
        counts = shoot(directory, port, "-U", "--timeout", 5).counts
    assert server["queries"] == counts["sent"] and server["close"] > 0
    assert counts["lost"] == counts["refused"] == server["close"] and counts["matched"] == counts["sent"] - counts["lost"]


@pytest.mark.parametrize("mode, early", [("-U", True), ("-U0", False), ("-UR", False)])
def test_early_data(directory, pki, mode, early):
    """The first connection has no ticket; mode 0 never has one, and connections that are kept need none."""
    with scripted(pki, "early=1") as (port, server):
        counts = shoot(directory, port, mode, "--timeout", 5).counts
    assert counts["matched"] == counts["sent"] == server["queries"]
    assert (server["early"] > counts["sent"] / 4) == early and (server["early"] == 0) != early


def test_few_connections_take_all(directory, pki):
    """More queries than connections: they wait, and none is lost."""
    with scripted(pki) as (port, server):
        counts = shoot(directory, port, "-UR", "--clients", 2, "--timeout", 10).counts
    assert counts["matched"] == counts["sent"] and 1 <= server["connections"] == counts["opened"] <= 2


def test_nobody_listens(directory):
    counts = shoot(directory, 9, "-U", "-t", 0.5).counts
    assert counts["matched"] == 0 and counts["lost"] == counts["sent"] > 0
    assert counts["reset"] == counts["opened"] and counts["established"] == 0


def test_flooded_port(directory, pki):
    """A server sends to one port faster than it can be read: all queries leave all the same, and the run ends in time."""
    with scripted(pki, "flood=3") as (port, _counts):
        counts = shoot(directory, port, "-UR", "-t", 1, "-Q", 20, "--timeout", 1).counts
    assert (counts["sent"], counts["lost"], counts["matched"]) == (20, 20, 0)
