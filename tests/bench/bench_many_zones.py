#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many small zones (tests/bench/gen_zones.py: five records each): start, memory, reloads, questions spread over all of them.

Per number of zones and server, over a veth pair between two namespaces, the server on one CPU, the load on the other:
  start    exec to the answers of 1000 zones spread over the configuration; once from files, and once more after a stop
  memory   anonymous and shared memory when nothing moves any more, per zone, all in
  reload   `knotc reload` with nothing changed: until it returns, until the process rests, and its CPU time
  zone     one zone file with a new serial, `knotc zone-reload` of that zone: until the new serial is answered
  load     kxdpgun as fast as it goes over AF_XDP: www.ZONE A, over all zones alike, and of one zone only
The peer is measured up to --peer-max zones.
"""
import os
import random
import socket
import subprocess
import sys
import time

import gen_zones
from bench_lib import TOP, loads, options, process, results, servers
from bench_lib.zones import WORK
from harness.net import Pair, inside

PROBES = 1000
QUERIES = 400_000
AS_MANY_AS_GO = 5_000_000


def folder_of(args, count):
    """Zone files, made once per number; with --include, also the files that the configuration includes."""
    folder = WORK / f"zones-{count}"
    program = [sys.executable, TOP / "tests" / "bench" / "gen_zones.py", "-n", str(count), "--include", str(args.include)]
    if not (folder / "knot.conf").exists():
        print(f"writing {count:,} zones to {folder} ...", file=sys.stderr, flush=True)
        half = WORK / f"zones-{count}.half"
        subprocess.run([*program, half], check=True)
        half.rename(folder)
    if args.include:
        subprocess.run([*program, "--conf-only", folder], check=True)
    return folder


def questions(names, path):
    chosen = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(QUERIES if len(names) > 1 else 1000):
            out.write(f"www.{chosen.choice(names)} A\n")
    return path


def setup(args, pair, folder, names):
    template = f'template:\n  - id: default\n    storage: {folder}/zones\n    file: "%c[0-2]/%s.zone"\n'
    zones = f"include: {folder}/conf.d/*.conf\n" if args.include else gen_zones.zone_blocks(names)
    return servers.Setup([], pair.server4, 53, pair.server, pair.server_if, text=template, zone_text=zones)


# ---- Asking ----

class Client:
    def __init__(self, pair):
        with inside(pair.client):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((pair.server4, 53))
        self.socket.settimeout(0.1)
        self.ident = 0

    def soa(self, name):
        """The reply to a question for a zone's SOA; None if there is none, or it isn't an answer."""
        self.ident = (self.ident + 1) & 0xFFFF
        query = servers.question(name, 6, self.ident)
        try:
            self.socket.send(query)
            while (reply := self.socket.recv(4096))[:2] != query[:2]:
                pass
        except OSError:
            time.sleep(0.005)
            return None
        return reply if reply[3] & 15 == 0 and reply[7] == 1 else None

    def wait(self, server, names, timeout):
        """Until each of names has been answered; seconds since exec."""
        for name in names:
            while self.soa(name) is None:
                if server.process.poll() is not None or time.monotonic() - server.started > timeout:
                    raise RuntimeError(f"{server.name}: no answer for {name}: {server.log()[-3000:]}")
        return time.monotonic() - server.started


def serial_of(reply):
    """Of an SOA reply whose answer ends with the record (its last 20 bytes are numbers); other sections are empty or the same NS."""
    import dns.message
    return dns.message.from_wire(reply).answer[0][0].serial


# ---- Measurements ----

def start(server, client, probes, result, key, timeout):
    server.start(process.processors()[0])
    result[f"{key}_s"] = client.wait(server, probes, timeout)
    result[f"{key}_cpu_s"] = sum(process.cpu(server.pid))
    process.settle(server.pid)


def reload_all(server, result):
    before, begin = sum(process.cpu(server.pid)), time.monotonic()
    server.control("reload")
    result["reload_returns_s"] = time.monotonic() - begin
    result["reload_s"] = process.busy_until(server.pid) - begin
    result["reload_cpu_s"] = sum(process.cpu(server.pid)) - before


def reload_one(server, client, folder, names, result):
    index = len(names) // 2
    name, serial = names[index], int(time.time())
    before = sum(process.cpu(server.pid))
    gen_zones.zone_path(folder, name).write_text(gen_zones.zone_text(index, serial), encoding="ascii")
    begin = time.monotonic()
    server.control("zone-reload", name)
    while (reply := client.soa(name)) is None or serial_of(reply) != serial:
        if time.monotonic() - begin > 120:
            raise RuntimeError(f"{server.name}: {name} is not reloaded: {server.log()[-3000:]}")
    result["zone_reload_s"] = time.monotonic() - begin
    process.busy_until(server.pid)
    result["zone_reload_cpu_s"] = sum(process.cpu(server.pid)) - before


def load(server, pair, path, args, result, key):
    processor = process.processors()[0]
    process.pin(server.pid, processor)
    loads.gun(pair, path, AS_MANY_AS_GO, 1)
    figures, _ = loads.measured(server.pid, lambda: loads.gun(pair, path, AS_MANY_AS_GO, args.seconds))
    result[f"{key}_per_s"] = figures["replies"] / args.seconds
    result[f"{key}_user_ns"] = figures["user_ns"]


def turn(name, args, folder, names):
    result = {}
    probes = random.Random(3).sample(names, min(PROBES, len(names)))
    with Pair() as pair, servers.make(name, setup(args, pair, folder, names)) as server:
        client = Client(pair)
        start(server, client, probes, result, "start", args.timeout)
        server.check_transport()
        result["memory_bytes"] = process.memory(server.pid)
        result["per_zone_bytes"] = result["memory_bytes"] / len(names)
        load(server, pair, questions(names, server.dir / "all.queries"), args, result, "all")
        load(server, pair, questions(names[:1], server.dir / "one.queries"), args, result, "one")
        reload_all(server, result)
        reload_one(server, client, folder, names, result)
        result["reloaded_bytes"] = process.memory(server.pid)
        server.stop()
        start(server, client, probes, result, "again", args.timeout)
    return result


METRICS = (
    ("start_s", "start, s", 1, ",.2f"), ("start_cpu_s", "start, CPU s", 1, ",.2f"), ("again_s", "start after a stop, s", 1, ",.2f"),
    ("again_cpu_s", "start after a stop, CPU s", 1, ",.2f"), ("memory_bytes", "memory, MB", 1e6, ",.1f"),
    ("per_zone_bytes", "memory per zone, bytes", 1, ",.0f"), ("reloaded_bytes", "memory after reloads, MB", 1e6, ",.1f"),
    ("reload_s", "reload, nothing changed, s", 1, ",.2f"), ("reload_returns_s", "reload: knotc returns, s", 1, ",.2f"),
    ("reload_cpu_s", "reload, CPU s", 1, ",.2f"), ("zone_reload_s", "reload of one zone, s", 1, ",.3f"),
    ("zone_reload_cpu_s", "reload of one zone, CPU s", 1, ",.2f"),
    ("all_per_s", "replies per second, all zones", 1, ",.0f"), ("one_per_s", "replies per second, one of them", 1, ",.0f"),
    ("all_user_ns", "user CPU per reply, all zones, ns", 1, ",.0f"), ("one_user_ns", "user CPU per reply, one of them, ns", 1, ",.0f"))


def growth(by_size):
    """What one worker answers per second, against a server of the smallest number of zones."""
    smallest = by_size[min(by_size)]
    names = list(smallest)
    columns = [(name, key, text) for key, text in (("all_per_s", "replies/s"), ("all_user_ns", "user ns")) for name in names]
    rows = [[f"{size:,}"] + [f"{of[name][key]:,.0f} ({of[name][key] / smallest[name][key]:.2f})" if name in of else "–" for name, key, _ in columns]
            for size, of in sorted(by_size.items())]
    return {"title": f"Questions over all zones (against {min(by_size):,})", "head": ["zones"] + [f"{name}, {text}" for name, _, text in columns],
            "rows": rows}


def plots(by_size):
    names = list(by_size[min(by_size)])
    rows = (("start", "start_s", "Start: exec to answers from all zones", "s", 1, True), ("memory", "per_zone_bytes", "Memory per zone", "bytes", 1, True),
            ("reload", "reload_s", "Reload that changes nothing", "s", 1, True),
            ("rate", "all_per_s", "Replies per second, questions over all zones", "replies/s", 1, False))
    return [{"file": f"many-zones-{file}.svg", "kind": "lines", "title": title, "x_label": "zones", "y_label": unit, "log_y": log, "series": {
        name: [[size, max(of[name][key], 1e-3) / scale] for size, of in sorted(by_size.items()) if name in of] for name in names}}
        for file, key, title, unit, scale, log in rows]


def main():
    parser = options.parser(__doc__, "bowline,knot", 1)
    parser.add_argument("--sizes", type=options.sizes, default=options.sizes("1,1k,100k,1M"), metavar="N,...", help="zones [1,1k,100k,1M]")
    parser.add_argument("--peer-max", type=options.size, default=100_000, metavar="N",
                        help="the largest number for servers but the first [100k]")
    parser.add_argument("--include", type=int, default=0, metavar="N", help="zones in included files of N; 0: all in one file [%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=3, help="of each load [%(default)s]")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a start [%(default)s]")
    args = parser.parse_args()
    options.need_root(parser)
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, by_size, tables = {}, {}, []
    for size in args.sizes:
        folder, names = folder_of(args, size), gen_zones.names(size)
        chosen = args.servers if size <= args.peer_max else args.servers.split(",")[0]
        turns[size] = options.in_turns(chosen, args.turns, lambda name, f=folder, n=names: turn(name, args, f, n), f"{size:,} zones, ")
        by_size[size] = options.medians(turns[size])
        tables.append(results.metrics_table(f"{size:,} zones of five records", by_size[size], METRICS))
    tables.append(growth(by_size))
    results.keep("many-zones", "Many small zones in one server.", tables, plots(by_size), turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
