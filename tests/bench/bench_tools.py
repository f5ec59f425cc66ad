#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""kdig beside Debian's kdig and BIND's dig, over loopback, from our knotd.

Parts (--parts):
  start     one question: from the start of the program to its end
  batch     many questions by one program, one after the other: kdig's on the command line, dig's in a file; +short
  axfr      a TLD's zone is transferred and printed
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from bench_lib import options, results, zones
from harness.server import Knotd, built

WHAT = """\
Asking and printing: one question, a batch of questions, and AXFR of a TLD, by kdig, Debian's kdig and dig, over loopback. What is printed goes to /dev/null.

- Seconds are from exec to the end, CPU is that of the program and its system calls; the server, our knotd, has what it needs of the other processor."""
PROGRAMS = {"bowline": None, "knot": "/usr/bin/kdig", "dig": "/usr/bin/dig"}
STARTS = 50     # runs of one question for each figure


def program(name):
    return built("kdig", "tools") if name == "bowline" else PROGRAMS.get(name, name.split("=")[-1])


def at(name, port):
    """The server as each program takes it."""
    return ["@127.0.0.1", "-p", str(port)]


def run(command):
    """Seconds and CPU seconds of a command."""
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{command[:6]}: {errors[-500:]!r}")
    return seconds, usage.ru_utime + usage.ru_stime


def measure_start(name, port, origin):
    runs = sorted(run([program(name), *at(name, port), origin, "SOA"]) for _ in range(STARTS))
    return {"wall_ms": runs[len(runs) // 2][0] * 1e3, "cpu_ms": sum(cpu for _, cpu in runs) / len(runs) * 1e3}


def measure_batch(name, port, path, count):
    """Names of a few letters: as many as a command line takes."""
    if name == "dig":
        command = [program(name), *at(name, port), "+short", "-f", path]
    else:
        command = [program(name), *at(name, port), "+short", *pathlib.Path(path).read_text(encoding="ascii").split()]
    seconds, cpu_s = run(command)
    return {"wall_s": seconds, "cpu_s": cpu_s, "questions_per_s": count / seconds}


def measure_axfr(name, port, origin):
    seconds, cpu_s = run([program(name), *at(name, port), origin, "AXFR"])
    return {"wall_s": seconds, "cpu_s": cpu_s}


METRICS = {
    "start": (("wall_ms", "median, ms", 1, ".2f"), ("cpu_ms", "CPU, ms", 1, ".2f")),
    "batch": (("wall_s", "seconds", 1, ".2f"), ("cpu_s", "CPU s", 1, ".2f"), ("questions_per_s", "questions per second", 1, ",.0f")),
    "axfr": (("wall_s", "seconds", 1, ".2f"), ("cpu_s", "CPU s", 1, ".2f")),
}


def serve(folder, origin, path):
    """Our knotd with the zone."""
    daemon = Knotd(folder)
    daemon.configure(f"acl:\n  - id: all\n    action: transfer\n    address: 127.0.0.0/8\nzone:\n  - domain: {origin}\n    file: {path}\n    acl: all\n")
    daemon.start()
    daemon.wait(lambda: "loaded, serial" in daemon.log(), 300, "the zone")
    return daemon


def main():
    parser = options.parser(__doc__, "bowline,knot,dig")
    parser.add_argument("--parts", default="start,batch,axfr", help="[%(default)s]")
    parser.add_argument("--zones", type=options.sizes, default=[1_000_000], metavar="N,...", help="delegations [1M]")
    parser.add_argument("--questions", type=options.size, default=100_000, metavar="N", help="of the batch [100k]")
    args = parser.parse_args()
    tables, turns = [], {}
    load = f"{os.getloadavg()[0]:.1f}"
    for size in args.zones:
        folder = tempfile.mkdtemp(prefix="bench-tools-")
        daemon = serve(pathlib.Path(folder), args.origin, zones.tld(size, args.origin, is_sorted=True))
        names = os.path.join(folder, "names")
        with open(names, "w", encoding="ascii") as file:
            file.writelines(f"n{number}.t\n" for number in range(args.questions))
        parts = {
            "start": lambda name, port=daemon.port: measure_start(name, port, args.origin),
            "batch": lambda name, port=daemon.port, path=names: measure_batch(name, port, path, args.questions),
            "axfr": lambda name, port=daemon.port: measure_axfr(name, port, args.origin),
        }
        titles = {"start": "one question", "batch": f"{args.questions:,} questions", "axfr": f"AXFR of {size:,} delegations"}
        try:
            for part in args.parts.split(","):
                if part != "axfr" and size != args.zones[0]:
                    continue
                found = options.in_turns(args.servers, args.turns, parts[part], f"{titles[part]} ")
                turns[titles[part]] = found
                tables.append(results.metrics_table(titles[part], options.medians(found), METRICS[part]))
        finally:
            daemon.stop()
            shutil.rmtree(folder, ignore_errors=True)
    results.keep("tools", WHAT, tables, [], turns, load)


if __name__ == "__main__":
    main()
