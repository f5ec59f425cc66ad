#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bowline against the distribution's knotd on TCP over AF_XDP, in turns, in one run.

Loads over a veth pair between two namespaces, per turn and server:
  connect  kxdpgun -T: a connection per query (SYN, query, reply, FIN)
  stream   dnsperf -m tcp: some long connections with many queries under way on each, from the kernel's TCP
  flood    as connect, as many as the machine takes
The first at a rate that both can take. CPU time of the server's process per reply is the figure that counts, as the
load generator shares the machine. The order changes from turn to turn. Reported are medians and their ratios.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time

from bench_xdp import Knotd, Pair, built, cpu_rate_when_idle, cpu_seconds, first_answer, zone_of


def number_after(text, what):
    match = re.search(rf"{what}:?\s+([\d,.]+)", text)
    return float(match.group(1).replace(",", "").rstrip(".")) if match else 0.0


def gun(pair, queries, rate, seconds):
    """(replies, share of queries answered, what kxdpgun says)"""
    text = pair.exec(pair.client, "kxdpgun", "-T", "-t", str(seconds), "-Q", str(rate), "-i", str(queries),
                     "-I", pair.client_if, pair.server4, timeout=seconds + 30).stdout
    replies = number_after(text, "total replies")
    total = number_after(text, "total queries") or number_after(text, r"total SYNs\S*")
    return replies, replies / max(total, 1), text


def stream(pair, queries, seconds):
    """As gun(), as fast as it goes."""
    text = pair.exec(pair.client, "dnsperf", "-m", "tcp", "-s", pair.server4, "-d", str(queries), "-c", "20", "-q", "2000",
                     "-l", str(seconds), timeout=seconds + 60).stdout
    replies, total = number_after(text, "Queries completed"), number_after(text, "Queries sent")
    return replies, replies / max(total, 1), text


def measured(daemon, idle, load):
    """CPU nanoseconds per reply, share answered, replies per second of one load."""
    before, started = cpu_seconds(daemon.process.pid), time.monotonic()
    replies, share, text = load()
    passed = time.monotonic() - started
    used = cpu_seconds(daemon.process.pid) - before - idle * passed
    return used * 1e9 / max(replies, 1), share, replies, text


def turn(program, args, zone, queries, plain):
    """All measurements of one server once."""
    directory = tempfile.mkdtemp(prefix="bowline-bench-")
    zone = shutil.copy(zone, directory)
    result = {}
    with Pair() as pair:
        daemon = Knotd(directory, pair.server, program)
        daemon.port = 53
        daemon.configure(f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n"
                         f'zone:\n  - domain: "{args.origin}"\n    file: "{zone}"\n', listen=(), server=f"listen: {pair.server4}@53")
        try:
            daemon.start(ready=False)
            first_answer(daemon, pair, args.origin)
            time.sleep(1)
            if "initialized XDP interface" not in daemon.log():
                raise RuntimeError("not on AF_XDP: " + daemon.log()[-2000:])
            idle = cpu_rate_when_idle(daemon)
            gun(pair, queries, args.rate, 1)                      # warm up
            loads = {
                "connect": lambda: gun(pair, queries, args.rate, args.seconds),
                "stream": lambda: stream(pair, plain, args.seconds),
                "flood": lambda: gun(pair, queries, args.most, args.seconds),
            }
            for name in args.loads.split(","):
                cpu, share, replies, text = measured(daemon, idle, loads[name])
                result[f"{name}_cpu_ns"], result[f"{name}_share"] = cpu, share
                result[f"{name}_per_s"] = replies / args.seconds
                if args.verbose:
                    print(text)
        finally:
            try:
                daemon.stop(timeout=60)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    return result


def plain_queries(queries):
    """The same questions as dnsperf wants them."""
    path = queries.with_suffix(".dnsperf")
    if not path.exists():
        with open(queries, encoding="ascii") as source, open(path, "w", encoding="ascii") as out:
            for line in source:
                out.write(" ".join(line.split()[:2]) + "\n")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--names", type=int, default=100_000, help="delegations [%(default)s]")
    parser.add_argument("-t", "--turns", type=int, default=3, help="[%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=4, help="of each load [%(default)s]")
    parser.add_argument("-r", "--rate", type=int, default=20_000, help="queries/s of the fixed loads [%(default)s]")
    parser.add_argument("-m", "--most", type=int, default=1_000_000, help="queries/s of the load without measure [%(default)s]")
    parser.add_argument("--loads", default="connect,stream,flood", help="[%(default)s]")
    parser.add_argument("--origin", default="example.", help="[%(default)s]")
    parser.add_argument("--zone", help="a zone file instead of a generated one")
    parser.add_argument("--servers", default="bowline,knot", help="[%(default)s]")
    parser.add_argument("--json", help="write all numbers here")
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("network namespaces need root")
    programs = {"bowline": lambda: built("knotd", "knotd"), "knot": lambda: "/usr/sbin/knotd"}
    servers = args.servers.split(",")
    zone, queries = zone_of(args)
    plain = plain_queries(queries)
    print(f"zone {zone.name}: {zone.stat().st_size / 1e6:.0f} MB; {args.turns} turns, {args.seconds} s per load, "
          f"{os.cpu_count()} CPUs shared with the load generator", flush=True)
    rows = {name: [] for name in servers}
    for number in range(args.turns):
        for name in servers if number % 2 == 0 else reversed(servers):
            row = turn(programs[name](), args, zone, queries, plain)
            rows[name].append(row)
            print(f"turn {number + 1} {name:8} " + "  ".join(f"{key} {value:,.3f}" if "share" in key else f"{key} {value:,.0f}"
                                                           for key, value in row.items()), flush=True)
    print(f"\n{'median of turns':38}" + "".join(f"{name:>14}" for name in servers) + ("     ratio" if len(servers) == 2 else ""))
    for load in args.loads.split(","):
        for key, text, form in ((f"{load}_per_s", "replies per second", ",.0f"), (f"{load}_cpu_ns", "CPU per reply, ns", ",.0f"),
                                (f"{load}_share", "share of queries answered", ",.3f")):
            values = [statistics.median(row[key] for row in rows[name]) for name in servers]
            ratio = f"{values[0] / values[1]:10.2f}" if len(values) == 2 and values[1] else ""
            print(f"{load:8} {text:29}" + "".join(f"{value:>14{form}}" for value in values) + ratio)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"arguments": vars(args), "turns": rows}, indent=1), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
