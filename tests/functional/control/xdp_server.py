# SPDX-License-Identifier: BSD-2-Clause
"""A server on AF_XDP for the tests of the xdp-* commands."""
from harness.control import Client
from harness.waiting import wait_until
from zones import example


def start(make_knotd, pair, more="", listen=None):
    """Answers on the pair's interface, port 53; `more`: items of section xdp."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    configure(daemon, pair, more, listen)
    return daemon.start()


def configure(daemon, pair, more="", listen=None):
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"xdp:\n    listen: {listen or pair.server_if + '@53'}\n" +
                          "".join(f"    {line}\n" for line in more.splitlines()) +
                          "template:\n  - id: default\n    global-module: mod-stats\n")


def ask(daemon, pair, name, rdtype="A", family=4, **options):
    """A question over XDP."""
    return daemon.ask(name, rdtype, pair.server4 if family == 4 else pair.server6, client=pair.client, **options)


def counters(server, pair):
    """{row: number} of xdp-status: the sums over the queues of the pair's interface."""
    with Client(server.socket) as client:
        units = client.command("xdp-status")
    return {unit["item"]: int(unit["data"]) for unit in units
            if unit["section"] == pair.server_if and "id" not in unit and unit["data"].lstrip("-").isdigit()}


def wait_counters(server, pair, condition, what="counters"):
    """Once condition(counters): a frame is counted some time after it was sent."""
    last = {}

    def is_met():
        last.update(counters(server, pair))
        return condition(last)

    wait_until(is_met, lambda: f"{what}: { {row: count for row, count in last.items() if count} }", timeout=20, pause=0.001)
    return last


def moved(before, after):
    """What has changed of counters()."""
    return {row: after[row] - count for row, count in before.items() if after[row] != count}
