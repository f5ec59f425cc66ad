#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a commit of one record costs, by size of the zone: zone-begin, zone-set, zone-commit over one control connection, one after the other.

The zone is like that of a TLD (gen_tld.py), not signed. Each commit adds a delegation, or takes away the one before. Nothing is written to the zone
file meanwhile (zonefile-sync: -1); Knot DNS keeps a journal, which Bowline doesn't have yet. Reported for each size and server:
  commit   milliseconds from the first of the three commands to the reply to the last: median and 99 %
  CPU      milliseconds of the server's user and system time, per commit
  memory   anonymous memory of the process before, and the most while commits were made
After every tenth commit the zone is asked for what it changed: the answer must be there when the commit has said OK.
"""
import socket
import statistics
import sys
import time

from bench_lib import options, process, results, servers, zones
from harness.control import Client

MAX_SECONDS = 60    # a server that needs a second for each commit makes fewer of them


def must(client, name, **items):
    for reply in client.command(name, **items):
        if "error" in reply:
            raise RuntimeError(f"{name}: {reply}")


def commit(client, origin, number):
    """One delegation comes, or goes. Seconds."""
    owner = {"zone": origin, "owner": f"bench-{number // 2:07}"}
    begin = time.monotonic()
    must(client, "zone-begin", zone=origin)
    if number % 2 == 0:
        must(client, "zone-set", **owner, ttl="3600", type="NS", data=f"ns{number % 50}.hoster.test.")
    else:
        must(client, "zone-unset", **owner, type="NS")
    must(client, "zone-commit", zone=origin)
    return time.monotonic() - begin


def is_answered(server, origin, number):
    """True if a query sees what commit `number` did: a referral, or no such name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect((server.setup.address, server.port))
        sock.send(servers.question(f"bench-{number // 2:07}.{origin}", 1))
        reply = sock.recv(4096)
    return (reply[3] & 15) == (0 if number % 2 == 0 else 3)


def turn(name, args, size):
    setup = servers.Setup([(args.origin, zones.tld(size, args.origin))],
                          text="template:\n  - id: default\n    zonefile-sync: -1\n    zonefile-load: whole\n")
    with servers.make(name, setup) as server:
        folder = server.dir / "db"      # of Knot DNS's journal
        folder.mkdir(exist_ok=True)
        folder.chmod(0o777)
        server.start()
        server.wait_answer(args.origin)
        process.settle(server.pid)
        before, took, late = process.anonymous(server.pid), [], 0
        with process.Peak(server.pid) as memory, Client(server.daemon.socket, 300) as client:
            commit(client, args.origin, 0)
            commit(client, args.origin, 1)
            begin, cpu = time.monotonic(), sum(process.cpu(server.pid))
            for number in range(args.commits):
                took.append(commit(client, args.origin, number))
                if number % 10 == 0:
                    late += not is_answered(server, args.origin, number)
                if time.monotonic() - begin > MAX_SECONDS:
                    break
            cpu = sum(process.cpu(server.pid)) - cpu
    took.sort()
    return {"commits": len(took), "median_s": statistics.median(took), "p99_s": took[len(took) * 99 // 100], "cpu_s": cpu / len(took),
            "late": late, "before_bytes": before, "most_bytes": max(before, memory.bytes)}


METRICS = (
    ("commits", "commits", 1, ",.0f"), ("median_s", "commit, median ms", 1e-3, ",.3f"), ("p99_s", "commit, 99 % ms", 1e-3, ",.3f"),
    ("cpu_s", "CPU of the server per commit, ms", 1e-3, ",.3f"), ("late", "answers that lacked the change", 1, ",.0f"),
    ("before_bytes", "memory before, MB", 1e6, ",.1f"), ("most_bytes", "memory at most, MB", 1e6, ",.1f"))


def main():
    parser = options.parser(__doc__, "bowline,knot", 1)
    parser.add_argument("-n", "--names", type=options.sizes, default=[10_000, 1_000_000], metavar="N,...", help="delegations [10k,1M]")
    parser.add_argument("-c", "--commits", type=int, default=2000, help="at most [%(default)s], and those of a minute")
    args = parser.parse_args()
    turns, tables = {}, []
    for size in args.names:
        turns[size] = options.in_turns(args.servers, args.turns, lambda name, n=size: turn(name, args, n), f"{size:,} names, ")
        tables.append(results.metrics_table(f"{size:,} delegations, a commit of one record", options.medians(turns[size]), METRICS))
    results.keep("change", "One record changed over the control socket.", tables, [], {str(size): rows for size, rows in turns.items()}, None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
