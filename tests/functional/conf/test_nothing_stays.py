# SPDX-License-Identifier: BSD-2-Clause
"""What sessions, transactions, scrapes and reloads open, they close; and what is open when the server ends goes with it: leaks show
under AddressSanitizer."""
import contextlib
import os
import signal
import urllib.request

import pytest

from conf_server import Conf, start
from harness.control import BLOCK, Client, unit
from harness.net import free_port
from harness.waiting import PATIENCE
from zones import example

pytestmark = [pytest.mark.core, pytest.mark.ours]

ZONES = ("a.test", "b.test")


@pytest.fixture
def server(knotd):
    knotd.metrics_port = free_port()
    for zone in (*ZONES, "c.test"):
        knotd.write(f"{zone}.zone", example(1).replace("$ORIGIN example.", f"$ORIGIN {zone}."))
    return start(knotd, zones=ZONES, server=f"metrics-listen: 127.0.0.1@{knotd.metrics_port}",
                 text="log:\n  - target: stdout\n    any: info\n  - target: {dir}/more.log\n    any: debug\ntemplate:\n  - id: default\n    storage: {dir}\n"
                      "statistics:\n    timer: 1\n    file: {dir}/stats.yaml\n", logging=False)


def descriptors(daemon):
    folder = f"/proc/{daemon.process.pid}/fd"
    result = {}
    for number in os.listdir(folder):
        try:
            result[number] = os.readlink(f"{folder}/{number}")
        except FileNotFoundError:
            pass
    return result


def wait_same(daemon, before, what):
    """A thread may still be about to close a connection."""
    now = {}

    def is_same():
        nonlocal now
        now = descriptors(daemon)
        return len(now) <= len(before)
    daemon.wait(is_same, 10, lambda: f"end of {what}: {sorted(set(now.values()) - set(before.values()))}")


def sessions(daemon):
    for number in range(1000):
        with Client(daemon.socket) as client:
            command = ("status", "top", "zone-status", "conf-read", "no-such-command", "zone-begin", "zone-abort")[number % 7]
            client.send(unit(cmd=command, **({"zone": "a.test"} if command.startswith("zone") else {})), BLOCK)
            if number % 3 != 0:
                client.block() if command != "no-such-command" else None


def commits(daemon):
    with Client(daemon.socket) as client:
        client.ask(cmd="zone-abort")
    with Conf(daemon) as conf:
        for number in range(100):
            conf.change("zone[c.test]", f"server.identity={number}")
            conf.change("-zone[c.test]")


def failures(daemon):
    with Conf(daemon) as conf:
        for number in range(50):
            conf.do("conf-begin")
            conf.do("conf-set", "zone[c.test]", "key[k]")
            assert conf.error("conf-commit") != ""
            conf.do("conf-abort")


def scrapes(daemon):
    for number in range(200):
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.metrics_port}/metrics", timeout=30 * PATIENCE) as reply:
            assert reply.read(100 if number % 2 else None)


def reloads(daemon):
    with Client(daemon.socket) as client:
        for _ in range(50):
            assert not any("error" in items for _, items in client.ask(cmd="reload"))


def edit(client, number):
    for request in ({"cmd": "zone-begin"}, {"cmd": "zone-set", "owner": "n", "ttl": "60", "type": "A", "data": f"192.0.2.{number}"},
                    {"cmd": "zone-abort" if number % 3 == 0 else "zone-commit"}, {"cmd": "zone-flush", "flags": "B"}):
        assert not any("error" in items for _, items in client.ask(zone="a.test", **request)), request


def edits(daemon):
    with Client(daemon.socket) as client:
        for number in range(100):
            edit(client, number)


@pytest.mark.parametrize("work", [sessions, commits, failures, scrapes, reloads, edits], ids=lambda work: work.__name__)
def test_descriptors(server, work):
    with Client(server.socket) as client:
        client.ask(cmd="reload")
        edit(client, 100)       # the first commit makes the journal, which stays open
    before = descriptors(server)
    work(server)
    wait_same(server, before, work.__name__)


def test_end_with_everything_open(server):
    """A transaction on each zone; clients within blocks, and one that doesn't read its reply."""
    with Client(server.socket) as client, Client(server.socket) as half, Client(server.socket) as looker, Client(server.socket) as deaf:
        for zone in ZONES:
            client.ask(cmd="zone-begin", zone=zone)
            client.ask(cmd="zone-set", zone=zone, owner="new", ttl="60", type="TXT", data="x")
        half.send(unit(cmd="zone-set", zone="a.test", owner="new", type="A"))
        looker.ask(cmd="top")
        deaf.stream.settimeout(0.5)
        with contextlib.suppress(TimeoutError):     # it need not be read to its end
            deaf.send(unit(cmd="conf-read") * 5000, BLOCK)
        assert server.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_end_within_a_configuration_transaction(server, number):
    with Conf(server) as conf, Client(server.socket) as half:
        conf.do("conf-begin")
        conf.do("conf-set", "zone[c.test]", "server.identity=x")
        conf.do("conf-unset", "zone[b.test]")
        conf.do("conf-set", "key[k]")
        assert conf.error("conf-commit") != ""
        half.send(unit(cmd="conf-set", section="zone", id="d.test"))
        assert server.stop(number) == 0
