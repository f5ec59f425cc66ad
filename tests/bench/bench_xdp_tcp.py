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
import os
import re
import shutil
import sys
import tempfile
import time

from bench_xdp import Knotd, Pair, cpu_rate_when_idle, cpu_seconds, first_answer, in_turns, keep, options, print_medians, zone_of


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
    parser = options(__doc__, 100_000, 20_000)
    parser.add_argument("-m", "--most", type=int, default=1_000_000, help="queries/s of the load without measure [%(default)s]")
    parser.add_argument("--loads", default="connect,stream,flood", help="[%(default)s]")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("network namespaces need root")
    zone, queries = zone_of(args)
    plain = plain_queries(queries)
    rows = in_turns(args, zone, lambda program: turn(program, args, zone, queries, plain))
    print_medians(rows, [(f"{load}_{key}", f"{load:8} {text}", 1, form) for load in args.loads.split(",") for key, text, form in (
        ("per_s", "replies per second", ",.0f"), ("cpu_ns", "CPU per reply, ns", ",.0f"), ("share", "share of queries answered", ",.3f"))])
    keep(args, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
