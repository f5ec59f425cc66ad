#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How servers start, and what they hold: load, restart or memory. No network but loopback; all of a server runs on one CPU.

  load     zone file to first answer (wall clock from exec, and CPU time), the highest anonymous memory until nothing moves any more,
           for sizes, owners shuffled and in canonical order
  restart  first from the zone file, then again: after a stop, after kill -9, and with the system's caches dropped. Bowline has saved an image
           of the zone by then; others read the file again. Also the time until 1000 questions spread over the zone are answered, and
           that of `knotc zone-reload` when the file has not changed
  memory   anonymous and shared memory when nothing moves any more, by size
"""
import os
import pathlib
import random
import re
import signal
import socket
import sys
import time

from bench_lib import options, process, results, servers, zones

ORDERS = ("shuffled", "sorted")
PROBES = 1000


def setup(args, zone):
    return servers.Setup([(args.origin, zone)])


# ---- load, memory ----

def load_turn(name, args, zone):
    with servers.make(name, setup(args, zone)) as server:
        server.start(process.processors()[0])
        with process.Peak(server.pid) as peak:
            start_s = server.wait_answer(args.origin)
            cpu = process.cpu(server.pid)
            process.settle(server.pid)
        memory = process.memory(server.pid)
        return {"start_s": start_s, "user_s": cpu.user, "cpu_s": sum(cpu), "peak_bytes": max(peak.bytes, memory), "memory_bytes": memory,
                "peak_share": max(peak.bytes, memory) / memory}


LOAD_METRICS = (("start_s", "file to first answer, s", 1, ",.3f"), ("cpu_s", "CPU until then, s", 1, ",.2f"),
                ("peak_bytes", "highest memory, MB", 1e6, ",.1f"), ("memory_bytes", "settled memory, MB", 1e6, ",.1f"),
                ("peak_share", "highest / settled", 1, ".2f"))


def bench_load(args):
    turns, tables, series = {}, [], {}
    for size in args.sizes:
        for order in args.orders:
            zone = zones.tld(size, args.origin, order == "sorted")
            turns[f"{size} {order}"] = rows = options.in_turns(args.servers, args.turns if size >= 100_000 else 1,
                                                               lambda name, z=zone: load_turn(name, args, z), f"{size:,} {order}, ")
            of = options.medians(rows)
            tables.append(results.metrics_table(f"{size:,} delegations, {order}, {zone.stat().st_size / 1e6:,.1f} MB of text", of, LOAD_METRICS))
            for name, row in of.items():
                series.setdefault(name if order == args.orders[0] else f"{name}, {order}", []).append([size, row])
    plots = [{"file": f"load-{file}.svg", "kind": "lines", "title": title, "x_label": "delegations", "y_label": unit, "log_y": True,
              "series": {name: [[size, max(row[key], 1e-3) / scale] for size, row in points] for name, points in series.items()}}
             for file, key, title, unit, scale in (("time", "start_s", "Zone file to first answer", "s", 1),
                                                   ("peak", "peak_bytes", "Highest memory while loading", "MB", 1e6))]
    return "From a zone file to the first answer, on one core.", tables, plots, turns


def bench_memory(args):
    turns, by_size = {}, {}
    for size in args.sizes:
        zone = zones.tld(size, args.origin)
        turns[size] = options.in_turns(args.servers, args.turns, lambda name, z=zone: load_turn(name, args, z), f"{size:,} delegations, ")
        by_size[size] = options.medians(turns[size])
    names = list(next(iter(by_size.values())))
    table = {"title": "Memory of the whole process, settled: MB, and bytes per delegation",
             "head": ["delegations"] + [f"{name}, {unit}" for unit in ("MB", "bytes") for name in names] +
                     [f"{names[0]}/{name}" for name in names[1:]],
             "rows": [[f"{size:,}"] + [f"{of[name]['memory_bytes'] / 1e6:,.1f}" for name in names] +
                      [f"{of[name]['memory_bytes'] / size:,.0f}" for name in names] +
                      [results.ratio(of[names[0]]["memory_bytes"], of[name]["memory_bytes"]) for name in names[1:]]
                      for size, of in by_size.items()]}
    plots = [{"file": "memory.svg", "kind": "lines", "title": "Memory, settled", "x_label": "delegations", "y_label": "MB", "log_y": True,
              "series": {name: [[size, of[name]["memory_bytes"] / 1e6] for size, of in by_size.items()] for name in names}}]
    return "What a server holds once a zone is loaded.", [table], plots, turns


# ---- restart ----

def ask_many(server, names):
    """Ask one after the other; seconds since exec when all are answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((server.setup.address, server.port))
        sock.settimeout(1)
        for number, name in enumerate(names):
            query = servers.question(name, 1, number)
            for _ in range(5):
                try:
                    sock.send(query)
                    while sock.recv(4096)[:2] != query[:2]:
                        pass        # a late answer to one of the first questions
                    break
                except OSError:
                    time.sleep(0.001)
    return time.monotonic() - server.started


def drop_caches():
    """True if the system's page cache has been dropped."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="ascii")
    except OSError:
        return False
    return True


def folder_bytes(path):
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*") if file.is_file()) if path.exists() else 0


def start_once(server, args, names, result, key):
    server.start(process.processors()[0])
    result[f"{key}_s"] = server.wait_answer(args.origin)
    result[f"{key}_cpu_s"] = sum(process.cpu(server.pid))
    result[f"{key}_1000_s"] = ask_many(server, names)


def reload_unchanged(server, args):
    """Seconds that a reload of the zone takes, which is waited for."""
    if isinstance(server, servers.NsdServer):
        return None             # returns before the work is done
    begin = time.monotonic()
    server.control("-b", "zone-reload", args.origin)
    return time.monotonic() - begin


def restart_turn(name, args, zone, names):
    result = {}
    with servers.make(name, setup(args, zone)) as server:
        start_once(server, args, names, result, "file")
        process.settle(server.pid)
        result["file_memory"] = process.memory(server.pid)
        result["stored"] = folder_bytes(server.dir / "db")
        begin = time.monotonic()
        server.stop()
        result["stop_s"] = time.monotonic() - begin
        start_once(server, args, names, result, "again")
        process.settle(server.pid)
        result["again_memory"] = process.memory(server.pid)
        result["reload_s"] = reload_unchanged(server, args)
        process.settle(server.pid)
        server.stop(signal.SIGKILL)
        start_once(server, args, names, result, "killed")
        process.settle(server.pid)
        server.stop()
        if drop_caches():
            start_once(server, args, names, result, "cold")
        result["image_starts"] = len(re.findall("from image", server.log()))
    return {key: value for key, value in result.items() if value is not None}


def bench_restart(args):
    metrics = [(f"{key}{end}", f"{text}{what}", 1, ",.3f") for key, text in (
        ("file", "first start"), ("again", "after a stop"), ("killed", "after kill -9"), ("cold", "after a stop, caches dropped"))
        for end, what in (("_s", ": first answer, s"), ("_1000_s", ": 1000 answers, s"), ("_cpu_s", ": CPU, s"))]
    metrics += [("reload_s", "zone-reload, file unchanged, s", 1, ",.3f"), ("stop_s", "stop, s", 1, ",.2f"),
                ("file_memory", "memory after the first start, MB", 1e6, ",.1f"), ("again_memory", "memory after the second, MB", 1e6, ",.1f"),
                ("stored", "database, MB", 1e6, ",.1f"), ("image_starts", "starts from an image, of 4", 1, ".0f")]
    turns, tables, by_size = {}, [], {}
    for size in args.sizes:
        zone = zones.tld(size, args.origin)
        names = [line.split()[0] for line in open(zones.questions(zone, args.origin), encoding="ascii")]
        names = random.Random(2).sample(names, min(PROBES, len(names)))
        turns[size] = options.in_turns(args.servers, args.turns if size >= 100_000 else 1,
                                       lambda name, z=zone, n=names: restart_turn(name, args, z, n), f"{size:,} delegations, ")
        by_size[size] = of = options.medians(turns[size])
        tables.append(results.metrics_table(f"{size:,} delegations", of, metrics))
    plots = [{"file": "restart.svg", "kind": "lines", "title": "Exec to first answer: from the file, and again", "x_label": "delegations",
              "y_label": "s", "log_y": True, "series": {
                  f"{name}, {text}": [[size, of[name][key]] for size, of in by_size.items() if key in of[name]]
                  for name in next(iter(by_size.values())) for key, text in (("file_s", "file"), ("again_s", "again"))}}]
    return "Starting again. Bowline starts from the image that it has saved, others read the zone file.", tables, plots, turns


KINDS = {"load": (bench_load, "10k,100k,1M", 2, "bowline,knot,nsd"), "restart": (bench_restart, "10k,100k,1M", 1, "bowline,knot"),
         "memory": (bench_memory, "1k,10k,100k,1M", 1, "bowline,knot,nsd")}


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in KINDS else "load"
    bench, sizes, turns, peers = KINDS[kind]
    parser = options.parser(__doc__, peers, turns)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--sizes", type=options.sizes, default=options.sizes(sizes), metavar="N,...",
                        help=f"delegations; 10M takes minutes and gigabytes [{sizes}]")
    parser.add_argument("--orders", type=lambda text: text.split(","), default=list(ORDERS), metavar="ORDER,...",
                        help=f"of owners in the file, for load [{','.join(ORDERS)}]")
    args = parser.parse_args()
    load_before = f"{os.getloadavg()[0]:.1f}"
    what, tables, plots, figures = bench(args)
    results.keep(kind, what, tables, plots, figures, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
