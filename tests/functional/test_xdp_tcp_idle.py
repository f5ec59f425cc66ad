# SPDX-License-Identifier: BSD-2-Clause
"""guards: issue 3: a million idle TCP connections over AF_XDP, at most 128 bytes each.

A hundred thousand in the normal run; BOWLINE_FULL=1 opens the million.
"""
import os
import re
import subprocess

import pytest

from harness.server import BUILD
from zones import example

COUNT = 1_000_000 if os.environ.get("BOWLINE_FULL") else 100_000
BYTES = 128
# Slabs and the table that connections are found by grow in steps; answering a query touches memory too.
SLACK = 6 << 20

pytestmark = pytest.mark.ours


@pytest.fixture
def server(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n    tcp-idle-close-timeout: 600\n"
                          "    tcp-idle-reset-timeout: 700\n")
    daemon.start()
    return daemon


def anonymous(daemon):
    """Bytes of memory of its own; frames, which it shares with the kernel, are not among them."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"^RssAnon:\s+(\d+) kB", file.read(), re.M).group(1)) * 1024


@pytest.mark.parametrize("family", [4, 6])
def test_idle_connections_are_small(server, pair, family):
    where = pair.server4 if family == 4 else pair.server6
    for _ in range(3):
        server.ask("www.example", "A", where, tcp=True, client=pair.client)
    before = anonymous(server)
    command = ["nsenter", f"--net=/run/netns/{pair.client}", str(BUILD / "tests/xdp/idle_clients"), "-n", str(COUNT),
               *(["-6"] if family == 6 else []), pair.client_if, where, pair.server_mac]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        line = clients.stdout.readline()
        opened = int(re.match(r"opened=(\d+)", line).group(1))
        grown = anonymous(server) - before
        print(f"{line.strip()}; {grown / COUNT:.1f} bytes per connection")
        assert opened == COUNT, line
        # All of them are there, and another client is served as before.
        answer = server.ask("www.example", "A", where, tcp=True, client=pair.client)
        assert answer.answer[0][0].address == "192.0.2.80"
        assert grown <= COUNT * BYTES * 1.1 + SLACK
        clients.stdin.close()
