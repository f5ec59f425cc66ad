#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How long queries wait at rising rates: our load generator (kxdpgun) against Bowline, Knot DNS, NSD and BIND, each with one CPU.

Queries come at even distances whatever the server does, and latency counts from when each was due: what is above a server's rate waits longer and longer.
Server and generator go before all else on their CPUs (SCHED_FIFO), so that other programs on the machine don't count as latency.
Per server and rate: p50 to p99.99 in microseconds, and the share of queries that was answered. A server's rates end with the first of which a twentieth is lost.
"""
import argparse
import contextlib
import json
import os
import pathlib
import sys

from bench_lib import options, process, results, servers, zones
from harness.net import Pair
from harness.server import BUILD

GUN = str(BUILD / "src" / "tools" / "kxdpgun")
PERCENTILES = ("p50", "p90", "p99", "p99.9", "p99.99")
SERVERS = {"Bowline, AF_XDP": ("bowline", True), "Knot DNS, AF_XDP": ("knot", True), "Bowline, sockets": ("bowline", False), "Knot DNS, sockets": ("knot", False),
           "NSD, sockets": ("nsd", False), "BIND, sockets": ("named", False)}


def go_first(pid):
    """All threads of all processes of the server."""
    for task in (task for process_id in process.family(pid) for task in pathlib.Path(f"/proc/{process_id}/task").iterdir()):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(task.name), os.SCHED_FIFO, os.sched_param(1))


def shoot(pair, args, rate, queries):
    """The last line of statistics, and the share that was answered of what was due."""
    text = pair.exec(pair.client, "chrt", "-f", "1", GUN, "-j", "-t", str(args.seconds), "-Q", str(rate), "-b", "1", "-F", str(process.processors()[1]), "--timeout", "2",
                     "-i", str(queries), "-I", pair.client_if, pair.server4, timeout=args.seconds + 60).stdout
    last = [line for line in map(json.loads, text.splitlines()) if line["type"] == "stats_sum"][-1]
    return last, last["counts"]["matched"] / (rate * args.seconds)


def of_server(args, name, zone, queries):
    """[(rate, {percentile: microseconds}, share, send delay p99)]"""
    kind, xdp = SERVERS[name]
    rows = []
    with Pair() as pair, servers.make(kind, servers.Setup([(args.origin, zone)], pair.server4, 53, pair.server, pair.server_if if xdp else None)) as server:
        processor = process.processors()[0]
        server.start(processor)
        server.wait_answer(args.origin)
        if xdp:
            server.check_transport()
        process.settle(server.pid)
        process.pin(server.pid, processor)
        go_first(server.pid)
        shoot(pair, args, args.rates[0], queries)       # warm up
        for rate in args.rates:
            last, share = shoot(pair, args, rate, queries)
            rows.append((rate, {p: last["latency_ns"][p] / 1e3 for p in PERCENTILES}, share, last["send_delay_ns"]["p99"] / 1e3))
            if share < 0.95:
                break
    return rows


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--origin", default="example.", help="[%(default)s]")
    parser.add_argument("-n", "--names", type=options.size, default=100_000, help="delegations [%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=3, help="of each rate [%(default)s]")
    parser.add_argument("-r", "--rates", type=options.sizes, default=options.sizes("12500,25000,50000,100000,200000,400000"), metavar="N,...",
                        help="queries/s [12500,25000,50000,100000,200000,400000]")
    parser.add_argument("--servers", type=lambda text: text.split(";"), default=list(SERVERS), metavar="NAME;...", help=f"[{';'.join(SERVERS)}]")
    args = parser.parse_args()
    options.need_root(parser)
    return args


def main():
    args = parse_args()
    zone = zones.tld(args.names, args.origin)
    queries = zones.plain(zones.questions(zone, args.origin))
    found, before = {}, results.machine()["load"]
    for name in args.servers:
        found[name] = of_server(args, name, zone, queries)
    rows = [[f"{name}, {rate:,}/s", *(f"{row[p]:,.0f}" for p in PERCENTILES), f"{share:.4f}", f"{delay:,.0f}"] for name, all_rates in found.items()
            for rate, row, share, delay in all_rates]
    table = {"title": "Latency by rate, microseconds", "head": ["server, rate", *PERCENTILES, "answered", "send delay, p99"], "rows": rows}
    plots = [{"file": f"latency-{p}.svg", "kind": "lines", "title": f"Latency under load, {p}, one core for the server", "x_label": "queries per second", "y_label": "µs",
              "log_y": True, "series": {name: [[rate, max(row[p], 1)] for rate, row, share, _ in all_rates if share > 0] for name, all_rates in found.items()}} for p in ("p50", "p99")]
    name = "Bowline, AF_XDP"
    if name in found:
        plots.append({"file": "latency-percentiles.svg", "kind": "lines", "title": f"{name}: percentiles of latency under load", "x_label": "queries per second", "y_label": "µs",
                      "log_y": True, "series": {p: [[rate, row[p]] for rate, row, _, _ in found[name]] for p in PERCENTILES}})
    results.keep("latency", "Latency at rising rates, over a veth pair. The generator's own lateness is its send delay.", [table], plots, found, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
