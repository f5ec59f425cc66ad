#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""100,000 zones (tests/bench/gen_zones.py) added by one conf-commit while questions are answered over AF_XDP.

A veth pair joins two network namespaces; the server with its configuration in a database has one CPU, kxdpgun the other. kxdpgun asks
at a fixed rate for a zone that is there all the time: once before, once while the zones are committed and begin to load, once after. Twice,
each with a new server:
  set      conf-set of each zone, 1000 in a block, over one control connection
  include  conf-set include FILE
Reported: seconds of these and of the commit as the client sees them, and CPU time of the server; until the last zone is
loaded; questions without an answer in each of the three runs, and answers other than NOERROR; memory before and after; then, with all of
these zones, the time of commits that add and remove a single one.
"""
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time

import bench_many_zones
import gen_zones
from bench_lib import loads, options, process, results, servers
from harness.control import BLOCK, Client, unit
from harness.net import Pair
from harness.server import built

BLOCK_SIZE = 1000
PROBES = 200
BASE = "base.test."


class Session:
    """The configuration's transaction over one control connection."""

    def __init__(self, server):
        self.client = Client(server.daemon.socket, 300)

    def do(self, command, *units):
        """One block; units: items of each. Seconds."""
        begin = time.monotonic()
        self.client.send(*(unit(cmd=command, **items) for items in units or ({},)), BLOCK)
        reply = self.client.block()
        errors = [items for _, items in reply if "error" in items]
        if errors:
            raise RuntimeError(f"{command}: {errors[0]}")
        return time.monotonic() - begin

    def is_loading(self):
        """True while zone jobs run or wait."""
        self.client.send(unit(cmd="status", type="workers"), BLOCK)
        return "(running: 0, pending: 0)" not in self.client.block()[0][1]["data"]


def make(name, pair, folder):
    """A server that has one zone, and a template for those to come, in a database."""
    template = f'template:\n  - id: default\n    storage: {folder}/zones\n    file: "%c[0-2]/%s.zone"\n'
    server = servers.make(name, servers.Setup([], pair.server4, 53, pair.server, pair.server_if, text=template,
                                              zone_text=f"zone:\n  - domain: {BASE}\n    file: base.zone\n    storage: DIRECTORY\n"))
    daemon = server.daemon
    daemon.conf(daemon.path.read_text().replace("DIRECTORY", str(server.dir)).replace("any: info", "server: info\n    zone: error"))
    daemon.write("base.zone", gen_zones.zone_text(1))
    program = "/usr/sbin/knotc" if server.program == servers.KNOTD else built("knotc", "tools")
    subprocess.run([program, "-C", str(server.dir / "confdb"), "conf-import", str(daemon.path)], check=True, stdout=subprocess.DEVNULL)
    daemon.source = ("-C", str(server.dir / "confdb"))
    return server


class Load(threading.Thread):
    """kxdpgun in a thread of its own."""

    def __init__(self, pair, queries, args):
        super().__init__()
        self.arguments = (pair, queries, args.rate, args.seconds)
        self.failure = None

    def run(self):
        try:
            self.replies, self.share, self.text = loads.gun(*self.arguments)
        except Exception as failure:    # pylint: disable=broad-except  # told by the thread that waits
            self.failure = failure

    def figures(self, key, result, verbose):
        self.join()
        if self.failure is not None:
            raise self.failure
        total = loads.number_after(self.text, "total queries")
        good = sum(int(count.replace(",", "")) for count in re.findall(r"responded NOERROR:\s+([\d,]+)", self.text))
        result[f"{key}_queries"], result[f"{key}_lost"] = total, total - self.replies
        result[f"{key}_other"] = self.replies - good
        if verbose:
            print(self.text)


def asked(pair, queries, args, key, result, meanwhile=None):
    load = Load(pair, queries, args)
    load.start()
    if meanwhile is not None:
        time.sleep(min(1, args.seconds / 4))
        meanwhile()
    load.figures(key, result, args.verbose)


def edits_one_by_one(session, names):
    for first in range(0, len(names), BLOCK_SIZE):
        session.do("conf-set", *({"section": "zone", "id": name} for name in names[first:first + BLOCK_SIZE]))


def edits_by_include(session, server, names):
    path = server.dir / "zones.conf"
    path.write_text(gen_zones.zone_blocks(names), encoding="ascii")
    os.chmod(path, 0o644)
    session.do("conf-set", {"section": "include", "data": str(path)})


def single_commits(session, result, count=11):
    """A zone comes and goes; its file isn't there, which doesn't matter for the commit."""
    took = []
    for number in range(count):
        session.do("conf-begin")
        session.do("conf-unset" if number % 2 else "conf-set", {"section": "zone", "id": "single.test"})
        took.append(session.do("conf-commit"))
    result["single_commit_s"] = statistics.median(took)


def turn(name, args, folder, names, way):
    result = {}
    with Pair() as pair, make(name, pair, folder) as server:
        queries = server.dir / "base.queries"
        queries.write_text(f"www.{BASE} A\n" * 1000, encoding="ascii")
        server.start(process.processors()[0])
        server.wait_answer(BASE)
        server.daemon.wait(server.daemon.socket.exists, what="the control socket")
        server.check_transport()
        process.pin(server.pid, process.processors()[0])
        process.settle(server.pid)
        result["before_bytes"] = process.memory(server.pid)
        asked(pair, queries, args, "before", result)
        session = Session(server)
        session.do("conf-begin")
        begin, cpu = time.monotonic(), sum(process.cpu(server.pid))
        if way == "set":
            edits_one_by_one(session, names)
        else:
            edits_by_include(session, server, names)
        result["edits_s"], result["edits_cpu_s"] = time.monotonic() - begin, sum(process.cpu(server.pid)) - cpu
        result["edited_bytes"] = process.memory(server.pid)

        def commit():
            begin = time.monotonic()
            result["commit_s"] = session.do("conf-commit")
            while session.is_loading():
                if time.monotonic() - begin > 300:
                    raise RuntimeError(f"zones are not loaded: {server.log()[-3000:]}")
                time.sleep(0.05)
            result["loaded_s"] = time.monotonic() - begin

        asked(pair, queries, args, "commit", result, commit)
        client = bench_many_zones.Client(pair)
        client.wait(server, random.Random(3).sample(names, min(PROBES, len(names))), 300)
        process.settle(server.pid)
        result["after_bytes"] = process.memory(server.pid)
        asked(pair, queries, args, "after", result)
        single_commits(Session(server), result)     # the other one had nothing to do for too long
        server.stop()
    return result


METRICS = (
    ("edits_s", "edits, s", 1, ",.2f"), ("edits_cpu_s", "edits, CPU s of the server", 1, ",.2f"), ("commit_s", "commit, s", 1, ",.2f"),
    ("loaded_s", "commit until all zones are loaded, s", 1, ",.2f"), ("single_commit_s", "commit of one zone more or less, s", 1, ",.3f"),
    ("before_queries", "questions before", 1, ",.0f"), ("before_lost", "... without answer", 1, ",.0f"),
    ("commit_queries", "questions during the commit and the loading", 1, ",.0f"), ("commit_lost", "... without answer", 1, ",.0f"),
    ("commit_other", "... answered with an error", 1, ",.0f"),
    ("after_queries", "questions after", 1, ",.0f"), ("after_lost", "... without answer", 1, ",.0f"),
    ("before_bytes", "memory before, MB", 1e6, ",.1f"), ("edited_bytes", "memory with the open transaction, MB", 1e6, ",.1f"),
    ("after_bytes", "memory after, MB", 1e6, ",.1f"))


def main():
    parser = options.parser(__doc__, "bowline", 1)
    parser.add_argument("-n", "--zones", type=options.size, default=100_000, metavar="N", help="[100k]")
    parser.add_argument("-r", "--rate", type=int, default=200_000, help="queries/s [%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=10, help="of each of the three runs of the load [%(default)s]")
    parser.set_defaults(include=0)
    args = parser.parse_args()
    options.need_root(parser)
    load_before = f"{os.getloadavg()[0]:.1f}"
    folder, names = bench_many_zones.folder_of(args, args.zones), gen_zones.names(args.zones)
    turns, tables = {}, []
    for way in ("set", "include"):
        turns[way] = options.in_turns(args.servers, args.turns, lambda name, w=way: turn(name, args, folder, names, w), f"{way}, ")
        title = {"set": "conf-set of each", "include": "conf-set include FILE"}[way]
        tables.append(results.metrics_table(f"{args.zones:,} zones by one conf-commit, {title}", options.medians(turns[way]), METRICS))
    results.keep("conf-commit", f"Zones added by one conf-commit while {args.rate:,} questions/s are answered over AF_XDP.", tables, [], turns,
                 load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
