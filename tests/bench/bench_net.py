#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Servers under load over a network link, in turns, in one run: xdp, udp, tcp or xdp-tcp.

A veth pair joins two network namespaces; the server has one CPU, the load generator the other. Loads:
  most     kxdpgun, UDP, as many queries as the machine takes
  rate     the same at a fixed rate that all servers can take
  connect  kxdpgun -T at a fixed rate: a connection per query (SYN, query, reply, FIN)
  flood    the same, as many as the machine takes
  stream   dnsperf -m tcp: 20 long connections with 2000 queries under way, as fast as it goes
Per load: replies per second; user and system time of the server's processes per reply, without what they use when idle. Before:
seconds from exec to the first answer, and anonymous and shared memory when nothing moves any more. The order of the servers changes from turn to
turn. Reported are medians and ratios: on a shared machine only the ratio within one run means something.
"""
import dataclasses
import os
import sys

from bench_lib import loads, options, process, results, servers, zones
from harness.net import Pair

AS_MANY_AS_GO = 5_000_000       # queries/s


@dataclasses.dataclass
class Transport:
    what: str
    peers: str
    loads: tuple
    names: int
    grow: str           # other sizes, one turn each
    rate: int           # queries/s of the fixed loads
    most: int           # queries/s offered where there is no measure
    xdp: bool
    turns: int


TRANSPORTS = {
    "xdp": Transport("UDP over AF_XDP", "bowline,knot", ("most", "rate"), 1_000_000, "1k,100k", 60_000, AS_MANY_AS_GO, True, 3),
    "udp": Transport("UDP over sockets", "bowline,knot,nsd", ("most", "rate"), 1_000_000, "1k", 40_000, AS_MANY_AS_GO, False, 2),
    "tcp": Transport("TCP over sockets", "bowline,knot,nsd", ("connect", "flood", "stream"), 100_000, "", 5_000, 1_000_000, False, 2),
    "xdp-tcp": Transport("TCP over AF_XDP", "bowline,knot", ("connect", "flood", "stream"), 100_000, "", 20_000, 1_000_000, True, 3),
}

LOADS = {
    "most": lambda pair, args, queries: loads.gun(pair, queries, args.most, args.seconds),
    "rate": lambda pair, args, queries: loads.gun(pair, queries, args.rate, args.seconds),
    "connect": lambda pair, args, queries: loads.gun(pair, queries, args.rate, args.seconds, tcp=True),
    "flood": lambda pair, args, queries: loads.gun(pair, queries, args.most, args.seconds, tcp=True),
    "stream": lambda pair, args, queries: loads.stream(pair, zones.plain(queries), args.seconds),
}
# The kernel divides user from system time by what its tick meets: at a fixed rate a server's sleeps fall in step with it.
PACED = ("rate", "connect")
STATS = "mod-stats:\n  - id: all\n    request-protocol: on\ntemplate:\n  - id: default\n    global-module: mod-stats/all\n"


def turn(name, args, transport, zone, queries):
    """All measurements of one server once."""
    result = {}
    with Pair() as pair, servers.make(name, servers.Setup(
            [(args.origin, zone)], pair.server4, 53, pair.server, pair.server_if if transport.xdp else None, tcp="stream" in args.loads,
            text=STATS if args.stats else "")) as server:
        processor = process.processors()[0]
        server.start(processor)
        result["start_s"] = server.wait_answer(args.origin)
        server.check_transport()
        process.settle(server.pid)
        result["memory_bytes"] = process.memory(server.pid)
        process.pin(server.pid, processor)
        idle = process.idle_rate(server.pid)
        loads.gun(pair, queries, args.rate, 1, tcp="connect" in args.loads)         # warm up
        process.pin(server.pid, processor)
        for load in args.loads:
            figures, text = loads.measured(server.pid, lambda of=load: LOADS[of](pair, args, queries), idle)
            result |= {f"{load}_per_s": figures["replies"] / args.seconds, **{f"{load}_{key}": figures[key]
                       for key in ("user_ns", "system_ns", "cpu_ns", "share")}}
            if args.verbose:
                print(text)
    return result


def table(title, of, args):
    rows = []
    for load in args.loads:
        rows.append((f"{load}_per_s", f"{load}: replies per second", 1, ",.0f"))
        if load not in PACED:
            rows += [(f"{load}_user_ns", f"{load}: user CPU per reply, ns", 1, ",.0f"),
                     (f"{load}_system_ns", f"{load}: system CPU per reply, ns", 1, ",.0f")]
        rows += [(f"{load}_cpu_ns", f"{load}: CPU per reply, ns", 1, ",.0f"),
                 (f"{load}_share", f"{load}: share of queries answered", 1, ".3f")]
    rows += [("memory_bytes", "memory, MB", 1e6, ",.1f"), ("start_s", "start to first answer, s", 1, ".2f")]
    return results.metrics_table(title, of, rows)


def plots(kind, transport, args, of, by_size):
    busy = [load for load in args.loads if load not in PACED]
    found = [{"file": f"{kind}-replies.svg", "kind": "bars", "title": f"{transport.what}: replies per second, one core", "y_label": "replies/s",
              "groups": busy, "series": {name: [row[f"{load}_per_s"] for load in busy] for name, row in of.items()}},
             {"file": f"{kind}-cpu.svg", "kind": "bars", "title": f"{transport.what}: CPU time per reply", "y_label": "ns", "groups": busy,
              "series": {name: [row[f"{load}_cpu_ns"] for load in busy] for name, row in of.items()},
              "below": {"note": "dark: user, light: system", **{name: [row[f"{load}_user_ns"] for load in busy] for name, row in of.items()}}}]
    if len(by_size) > 1:
        found.append({"file": f"{kind}-growth.svg", "kind": "lines", "title": f"{transport.what}: user CPU per reply by size of the zone",
                      "x_label": "delegations", "y_label": "ns", "series": {
                          name: [[size, row[name][f"{busy[0]}_user_ns"]] for size, row in sorted(by_size.items())] for name in of}})
    return found if busy else []


def growth_table(kind, args, of, by_size):
    load = args.loads[0]
    columns = [(name, key, unit, form, text) for key, unit, form, text in (
        (f"{load}_per_s", 1, ",.0f", "replies/s"), (f"{load}_user_ns", 1, ",.0f", "user ns"), ("memory_bytes", 1e6, ",.1f", "MB"),
        ("start_s", 1, ".2f", "start s")) for name in of]
    return {"title": f"{kind}: how it grows with the zone ({load})",
            "head": ["delegations"] + [f"{name}, {text}" for name, _, _, _, text in columns],
            "rows": [[f"{size:,}"] + [format(row[name][key] / unit, form) for name, key, unit, form, _ in columns]
                     for size, row in sorted(by_size.items())]}


def parse_args():
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    transport = TRANSPORTS.get(kind)
    parser = options.parser(__doc__, transport.peers if transport else "", transport.turns if transport else 3)
    parser.add_argument("transport", choices=TRANSPORTS)
    if transport:
        parser.add_argument("-n", "--names", type=options.size, default=transport.names, help="delegations [%(default)s]")
        parser.add_argument("-g", "--grow", type=options.sizes, default=options.sizes(transport.grow), metavar="N,...",
                            help=f"other sizes, measured in one turn: how it grows; 0: none [{transport.grow}]")
        parser.add_argument("-r", "--rate", type=int, default=transport.rate, help="queries/s of the fixed load [%(default)s]")
        parser.add_argument("-m", "--most", type=int, default=transport.most, help="queries/s of the load without measure [%(default)s]")
        parser.add_argument("--loads", type=lambda text: text.split(","), default=list(transport.loads), metavar="NAME,...",
                            help=f"[{','.join(transport.loads)}]")
    parser.add_argument("-s", "--seconds", type=int, default=4, help="of each load [%(default)s]")
    parser.add_argument("--zone", help="a zone file instead of a generated one")
    parser.add_argument("--stats", action="store_true", help="count with mod-stats in Bowline and Knot DNS")
    args = parser.parse_args()
    options.need_root(parser)
    return args, transport


def main():
    args, transport = parse_args()
    load_before = f"{os.getloadavg()[0]:.1f}"
    by_size, turns = {}, {}
    for size in [*args.grow, args.names]:
        if size == 0:
            continue
        zone = args.zone if args.zone and size == args.names else zones.tld(size, args.origin)
        queries = zones.questions(zone, args.origin)
        turns[size] = options.in_turns(args.servers, args.turns if size == args.names else 1,
                                       lambda name, z=zone, q=queries: turn(name, args, transport, z, q), f"{size:,} delegations, ")
        by_size[size] = options.medians(turns[size])
    of = by_size[args.names]
    tables = [table(f"{transport.what}, {args.names:,} delegations, medians of {args.turns} turns", of, args)]
    if len(by_size) > 1:
        tables.append(growth_table(args.transport, args, of, by_size))
    results.keep(args.transport, transport.what + ".", tables, plots(args.transport, transport, args, of, by_size), turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
