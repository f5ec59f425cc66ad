# SPDX-License-Identifier: BSD-2-Clause
"""kxdpgun over AF_XDP between two namespaces: what it counts is what the server counts; TCP with all modes; Debian's kxdpgun beside it."""
import json
import re
import signal
import subprocess

import pytest

from harness.net import Pair, run as run_command
from harness.waiting import PATIENCE, wait_until
from zones import example

import gun
from test_load_sockets import pcap

pytestmark = [pytest.mark.ours, pytest.mark.core]

QUERIES = """\
www.example A
www.example AAAA E
www.example A D
nx.example A
example MX
example SOA
a.b.example A
x.wild.example TXT
alias.example A
far.example A
y.tree.example A
x.sub.example A
sub.example DS
other A
"""
DEBIAN = "/usr/sbin/kxdpgun"


@pytest.fixture
def server(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\ntemplate:\n  - id: default\n    global-module: mod-stats\n")
    daemon.start()
    daemon.queries = daemon.dir / "queries"
    daemon.queries.write_text(QUERIES)
    return daemon


def shoot(server, pair, *arguments, family=4, **options):
    target = pair.server4 if family == 4 else pair.server6
    return gun.load(*arguments, queries=server.queries, target=target, namespace=pair.client, **options)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("tcp", [False, True])
def test_counts_are_the_servers(server, pair, family, tcp):
    report = shoot(server, pair, *["-T"] * tcp, "-t", 1, "-Q", 2000, "--timeout", 5, "--verify", server.dir / "example.zone", family=family)
    counts = report.counts
    assert gun.is_load(counts["sent"], 2000)
    assert counts["matched"] == counts["replies"] == counts["sent"]
    assert counts["lost"] == counts["late"] == counts["duplicate"] == counts["unexpected"] == counts["malformed"] == 0
    assert counts["verified"] == counts["sent"] and counts["wrong"] == 0, report.of("wrong_answer")
    assert server.stats()[f"mod-stats.request-protocol[{'tcp' if tcp else 'udp'}{family}-xdp]"] == counts["sent"]
    assert report.latency["count"] == counts["sent"] and 0 < report.latency["p50"] <= report.latency["max"]
    assert sum(report.sum["response_rcodes"].values()) == counts["sent"]
    if tcp:
        assert counts["opened"] == counts["established"] == counts["closed"] == counts["sent"] and counts["reset"] == 0
    assert "prog/xdp" not in run_command("ip", "-n", pair.client, "-d", "link", "show", pair.client_if).stdout


def test_several_queues(make_knotd):
    """Replies may come to another thread than the query's; all are matched."""
    with Pair(queues=2) as pair:
        daemon = make_knotd(pair.server)
        daemon.port = 53
        daemon.write("example.zone", example())
        daemon.configure(zones=["example"], listen=(), server=f"listen: {pair.server4}@53")
        daemon.start()
        daemon.queries = daemon.dir / "queries"
        daemon.queries.write_text(QUERIES)
        for protocol in ([], ["-T"]):
            report = shoot(daemon, pair, *protocol, "-t", 1, "-Q", 1000, "--timeout", 5, "--verify", daemon.dir / "example.zone")
            assert len(report.of("thread_summary")) == 2
            assert report.counts["matched"] == report.counts["sent"] and gun.is_load(report.counts["sent"], 1000)
            assert report.counts["unexpected"] == report.counts["wrong"] == 0


@pytest.mark.parametrize("protocol", [[], ["-T"]])
def test_replies_to_other_queues(make_knotd, protocol):
    """The server's kernel chooses the queue of each reply by its own hash; the thread that waits for it is woken: it doesn't sleep until the next query is due."""
    with Pair(queues=4) as pair:
        daemon = make_knotd(pair.server)
        daemon.port = 53
        daemon.write("example.zone", example())
        daemon.configure(zones=["example"], listen=[pair.server4], server="")
        daemon.start()
        daemon.queries = daemon.dir / "queries"
        daemon.queries.write_text(QUERIES)
        report = shoot(daemon, pair, *protocol, "-t", 4, "-Q", 40, "-b", 1, "--timeout", 5, "--verify", daemon.dir / "example.zone", goes_first=True)
        assert len(report.of("thread_summary")) == 4 and report.counts["matched"] == report.counts["sent"] >= 100
        assert report.latency["p90"] < 5e6 * PATIENCE, "nanoseconds"


@pytest.mark.parametrize("mode, established, replies, closed", [
    ("1", True, False, False), ("2", True, False, False), ("3", True, False, False), ("5", True, False, False), ("7", True, False, False),
    ("8", True, True, False), ("9", True, True, True)])
def test_modes(server, pair, mode, established, replies, closed):
    counts = shoot(server, pair, f"-T{mode}", "-t", 1, "-Q", 100, "--timeout", 5).counts
    assert gun.is_load(counts["opened"], 100)
    assert counts["established"] == (counts["opened"] if established else 0)
    assert counts["matched"] == (counts["opened"] if replies else 0)
    assert counts["closed"] == (counts["opened"] if closed else 0)


def test_connections_are_reused(server, pair):
    counts = shoot(server, pair, "-TR", "-t", 2, "-Q", 1000, "--timeout", 5).counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 2000)
    assert counts["established"] == counts["opened"] < counts["sent"]      # how many fewer: what is due together needs a connection each


def test_addresses_of_a_prefix(server, pair):
    """Replies go to many addresses, and are matched by address, too."""
    # The kernel of the server has no neighbours there; its XDP program answers to where queries come from.
    counts = shoot(server, pair, "-l", "192.0.2.64/28", "-t", 1, "-Q", 1000, "--timeout", 5).counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 1000)
    counts = shoot(server, pair, "-l", "2001:db8::1:0/112", "-t", 1, "-Q", 1000, "--timeout", 5, family=6).counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 1000)


def test_macs_are_overridden(server, pair):
    counts = shoot(server, pair, "-L", pair.client_mac, "-R", pair.server_mac, "-I", pair.client_if, "-t", 0.5, "--timeout", 5).counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 500)
    counts = shoot(server, pair, "-R", "02:00:00:00:00:01", "-t", 0.5).counts
    assert counts["matched"] == 0 and counts["lost"] == counts["sent"] and gun.is_load(counts["sent"], 500)


def test_replies_are_dropped(server, pair):
    report = shoot(server, pair, "-r", "-t", 0.5)
    assert gun.is_load(report.counts["sent"], 500) and report.counts["replies"] == 0
    wait_until(lambda: server.stats()["mod-stats.request-protocol[udp4-xdp]"] == report.counts["sent"], "all queries at the server")


def test_statistics_on_the_way(server, pair):
    report = shoot(server, pair, "-t", 1, "-S", 200, "--timeout", 5)
    periods = report.of("stats_periodic")
    assert len(periods) >= 4
    assert all(a["until_ns"] == b["since_ns"] for a, b in zip(periods, periods[1:]))
    assert sum(period["queries"] for period in periods) <= report.sum["queries"]


def test_signals(server, pair):
    """SIGUSR1: statistics so far; SIGINT: no more queries. The run is so long that only the signal ends it, however late that comes."""
    command = gun.command("-j", "-t", 1000, queries=server.queries, target=pair.server4, namespace=pair.client)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        def line(kind):
            text = process.stdout.readline()
            assert text, f"kxdpgun ended: {process.communicate()}"
            assert json.loads(text)["type"] == kind
            return json.loads(text)

        try:
            line("header")
            wait_until(lambda: server.stats().get("mod-stats.request-protocol[udp4-xdp]", 0) > 0, "queries")
            process.send_signal(signal.SIGUSR1)     # nsenter has become kxdpgun
            so_far = line("stats_sum")
            process.send_signal(signal.SIGINT)
            line("thread_summary")
            last = line("stats_sum")
            assert 0 < so_far["queries"] <= last["queries"] and so_far["until_ns"] < last["until_ns"]
            assert process.wait(20 * PATIENCE) == 0 and process.communicate() == ("", "")
        finally:
            process.kill()


def test_second_signal_ends_at_once(server, pair):
    """The replies that may still come, until the timeout of 1000 s, aren't waited for."""
    server.stop()       # it answers no more
    with subprocess.Popen(gun.command("-j", "-t", 1000, "-S", 100, "--timeout", 1000, queries=server.queries, target=pair.server4, namespace=pair.client),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not json.loads(process.stdout.readline()).get("queries"):
                pass
            process.send_signal(signal.SIGINT)
            line = {"queries": None}
            while line["queries"] != 0:     # it has stopped sending, and waits
                line = json.loads(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            assert process.wait(20 * PATIENCE) == 0
            last = json.loads(process.stdout.read().splitlines()[-1])
            assert last["type"] == "stats_sum" and last["counts"]["sent"] > 0 == last["counts"]["matched"]
        finally:
            process.kill()


@pytest.mark.parametrize("arguments", [[], ["-T"], ["-m", "inject"], ["-m", "inject", "-T"], ["-r", "-m", "inject"], ["-Q", 300000],
                                       ["-Q", 300000, "-T"], ["-m", "generic"]])
def test_interface_that_goes(server, pair, arguments):
    """The run ends at once, says why, and is a failure; what was counted until then is reported."""
    command = gun.command("-j", "-t", 1000, "-S", 100, *arguments, queries=server.queries, target=pair.server4, namespace=pair.client)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            while not json.loads(process.stdout.readline()).get("queries"):
                pass
            pair.exec(pair.client, "ip", "link", "del", pair.client_if)
            output, errors = process.communicate(timeout=20 * PATIENCE)
            report = gun.Report(output)
            assert report.of("thread_summary")[0]["error"] == "interface cli0 has gone" and report.counts["sent"] > 0
            assert errors == "error: thread 0 ended early (interface cli0 has gone)\n" and process.returncode == 1
        finally:
            process.kill()


def layout(text):
    """Lines without numbers, and without what only one of the two says."""
    lines = [re.sub(r"[\d.]+", "#", line).replace("native/copy", "native") for line in text.splitlines()]
    return [re.sub(r" +", " ", line) for line in lines]


@pytest.mark.parametrize("arguments", [["-t", "1"], ["-t", "1", "-r"], ["-t", "1", "-T"], ["-t", "1", "-T1"], ["-t", "1", "-b", "1", "-Q", "100"]])
def test_text_is_that_of_debian(server, pair, arguments):
    """Debian's lines are ours in the same order, up to their numbers; ours go on behind them."""
    command = [DEBIAN, *arguments, "-i", str(server.queries), pair.server4]
    theirs = layout(pair.exec(pair.client, *command).stdout)
    ours = layout(gun.run(*arguments, queries=server.queries, target=pair.server4, namespace=pair.client).stdout)
    assert ours[:len(theirs)] == theirs
    assert all(re.match(r"matched: |latency: |send delay: |segments sent again: |truncated replies: |lost connections: ", line) for line in ours[len(theirs):])


def mode_of(pair, server, rate, *arguments, queries=None):
    """By the first line of a run of some milliseconds."""
    text = gun.run(*arguments, "-t", "0.02", *["-Q", rate] * (rate is not None), queries=queries or server.queries, target=pair.server4, namespace=pair.client).stdout
    return re.search(r", (\S+) mode$", text, re.MULTILINE).group(1)


def test_how_frames_are_sent(server, pair):
    """By the queue at rates that it keeps without zero copy, injected above, unless the user or the other end of the link wants otherwise."""
    assert mode_of(pair, server, 250000) == "native/copy"
    assert mode_of(pair, server, 250001) == mode_of(pair, server, 250001, "-T") == mode_of(pair, server, 1, "-m", "inject") == "native/inject"
    assert mode_of(pair, server, 250001, "-m", "copy") == "native/copy"
    recording = server.dir / "queries.pcap"
    recording.write_bytes(pcap([1000, 1000.01]))
    assert mode_of(pair, server, None, "--pcap", "--times", queries=recording) == "native/copy", "its rate isn't known"
    assert mode_of(pair, server, 250001, "-m", "generic").startswith("emulated")
    server.stop()
    assert mode_of(pair, server, 250001) == "native/copy", "no program at the other end of the veth pair would receive what is injected"


@pytest.mark.parametrize("tcp, goes_first", [(False, False), (True, False), (False, True)])
def test_injected_queries(server, pair, tcp, goes_first):
    """Sent by the kernel's program instead of the queue: the same counts, and all of them right; as a real-time process, too, which the sender mustn't have for itself."""
    counts = shoot(server, pair, "-m", "inject", *["-T"] * tcp, "-t", 1, "-Q", 2000, "--timeout", 10, "--verify", server.dir / "example.zone",
                   timeout=60, goes_first=goes_first).counts
    assert counts["matched"] == counts["verified"] == counts["sent"] and gun.is_load(counts["sent"], 2000)
    assert counts["wrong"] == counts["unexpected"] == 0
    assert server.stats()[f"mod-stats.request-protocol[{'tcp' if tcp else 'udp'}4-xdp]"] == counts["sent"]
