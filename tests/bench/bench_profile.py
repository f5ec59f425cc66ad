#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where the answering worker spends its time under load: `perf record -e cpu-clock` of the busiest thread, the first symbols as a table.

The load is that of `./dev bench xdp` (or udp) without measure. For each of --servers, so that builds can be compared:
--servers before=PATH,bowline.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

from bench_lib import loads, options, process, results, servers, zones
from harness.net import Pair

AS_MANY_AS_GO = 5_000_000


def thread_times(pid):
    """{thread: ticks of CPU time}"""
    times = {}
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            fields = path.read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        times[int(path.parts[-2])] = int(fields[11]) + int(fields[12])
    return times


def busiest(pid):
    before = thread_times(pid)
    time.sleep(0.5)
    after = thread_times(pid)
    return max(after, key=lambda thread: after[thread] - before.get(thread, 0))


def record(pid, seconds, path):
    """[(share, object, symbol, is it the kernel's)], the largest first; share of the thread's time, in percent."""
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "3999", "-t", str(busiest(pid)), "-o", path, "--", "sleep", str(seconds)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds + 60)
    text = subprocess.run(["perf", "report", "--stdio", "--no-children", "-i", path, "-F", "overhead,dso,symbol", "-w", "8,40,80"],
                          check=True, capture_output=True, text=True, timeout=120).stdout
    return [(float(share), where, symbol, kind == "k") for share, where, kind, symbol in
            re.findall(r"^\s*([\d.]+)%\s+(\S+)\s+\[(.)\]\s+(\S+)", text, re.M)]


def profile(name, args, zone, queries):
    with Pair() as pair, servers.make(name, servers.Setup([(args.origin, zone)], pair.server4, 53, pair.server,
                                                         pair.server_if if args.transport == "xdp" else None)) as server:
        processor = process.processors()[0]
        server.start(processor)
        server.wait_answer(args.origin)
        server.check_transport()
        process.settle(server.pid)
        process.pin(server.pid, processor)
        load = threading.Thread(target=loads.gun, args=(pair, queries, AS_MANY_AS_GO, args.seconds + 5))
        load.start()
        time.sleep(2)
        rows = record(server.pid, args.seconds, str(server.dir / "perf.data"))
        load.join()
    return rows


def main():
    parser = options.parser(__doc__, "bowline", 1)
    parser.add_argument("--transport", choices=("xdp", "udp"), default="xdp", help="[%(default)s]")
    parser.add_argument("-n", "--names", type=options.size, default=1_000_000, help="delegations [%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=5, help="[%(default)s]")
    parser.add_argument("--top", type=int, default=25, help="symbols [%(default)s]")
    args = parser.parse_args()
    options.need_root(parser)
    if shutil.which("perf") is None:
        parser.error("perf is not installed: apt-get install linux-perf (Debian) or linux-tools-generic (Ubuntu)")
    load_before = f"{os.getloadavg()[0]:.1f}"
    zone = zones.tld(args.names, args.origin)
    queries = zones.questions(zone, args.origin)
    tables, figures = [], {}
    for name in args.servers.split(","):
        rows = profile(name, args, zone, queries)
        name = name.split("=")[0]
        figures[name] = rows
        user = sum(share for share, _, _, kernel in rows if not kernel)
        tables.append({"title": f"{name}, {args.transport}: user {user:.1f} %, kernel {sum(row[0] for row in rows) - user:.1f} %",
                       "head": ["symbol", "where", "% of the thread"],
                       "rows": [[symbol, "kernel" if kernel else where, f"{share:.2f}"] for share, where, symbol, kernel in rows[:args.top]]})
    results.keep("profile", "Where the answering worker spends its time, with as much load as there is.", tables, [], figures, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
