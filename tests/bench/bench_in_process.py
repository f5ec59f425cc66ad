#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a lookup or an answer costs in one thread without a network, by size of the zone: lookup or answer.

Runs tests/bench/bench_scale (there it is said what is measured): nanoseconds of CPU time, batches of 64 against one by one, owners
chosen uniformly and by Zipf's law. Then once more under callgrind, if valgrind is installed, for instructions: up to --count-max
delegations, as loading is slow there.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from bench_lib import options, results, zones
from harness.server import BUILD

KINDS = {"lookup": "From a name to the node that answers it.", "answer": "From Ethernet frame to Ethernet frame, as an AF_XDP worker answers."}
WAYS = ("uniform batch", "uniform single", "zipf batch", "zipf single")
QUESTIONS_COUNTED = 4096        # as in bench_scale.c


def timed(args, program, zone):
    """{way: ns, "load_s": s, "memory_mb": MB}"""
    text = subprocess.run([program, args.kind, zone, args.origin], check=True, capture_output=True, text=True).stdout
    row = {way: float(re.search(rf"^{way} ([\d.]+)$", text, re.M).group(1)) for way in WAYS}
    row["load_s"], row["memory_mb"] = map(float, re.search(r"^load ([\d.]+) ([\d.]+)$", text, re.M).groups())
    return row


def counted(args, program, zone):
    """{way: instructions}"""
    with tempfile.TemporaryDirectory(prefix="bowline-count-") as directory:
        done = subprocess.run(["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--collect-atstart=no", "--toggle-collect=measure_*",
                               f"--callgrind-out-file={directory}/way", program, args.kind, zone, args.origin, "count"],
                              check=False, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"instructions: not counted: {done.stderr.strip()[-500:]}")
            return {}
        dumps = sorted(pathlib.Path(directory).glob("way.*"), key=lambda path: int(path.suffix[1:]))
        totals = [int(re.search(r"^(?:totals|summary):\s*(\d+)", path.read_text(encoding="ascii", errors="replace"), re.M).group(1))
                  for path in dumps[:len(WAYS)]]
    return {way: total / QUESTIONS_COUNTED for way, total in zip(WAYS, totals)}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--sizes", type=options.sizes, default=options.sizes("1k,100k,1M,10M"), metavar="N,...",
                        help="delegations [1k,100k,1M,10M; the file of the largest takes two minutes and 1.1 GB, once]")
    parser.add_argument("--count-max", type=options.size, default=100_000, metavar="N",
                        help="count instructions up to this size; 0: not at all [100k]")
    parser.add_argument("--origin", default="example.", help="[%(default)s]")
    parser.add_argument("--program", default=str(BUILD / "tests" / "bench" / "bench_scale"), help="another build's [%(default)s]")
    return parser.parse_args()


def main():
    args = parse_args()
    load_before = f"{os.getloadavg()[0]:.1f}"
    by_size, counts = {}, {}
    for size in args.sizes:
        zone = zones.tld(size, args.origin)
        by_size[size] = row = timed(args, args.program, zone)
        if size <= args.count_max and shutil.which("valgrind"):
            counts[size] = counted(args, args.program, zone)
        print(f"{size:,}: " + "  ".join(f"{key} {options.figure(value)}" for key, value in row.items()), flush=True)
    tables = [{"title": "Nanoseconds of CPU time", "head": ["delegations", *WAYS, "single/batch, uniform"],
               "rows": [[f"{size:,}"] + [f"{row[way]:,.0f}" for way in WAYS] + [results.ratio(row["uniform single"], row["uniform batch"])]
                        for size, row in by_size.items()]}]
    if 1_000_000 in by_size and 10_000_000 in by_size:
        tables.append({"title": "10,000,000 delegations against 1,000,000", "head": ["", *WAYS], "rows": [
            ["ratio"] + [results.ratio(by_size[10_000_000][way], by_size[1_000_000][way]) for way in WAYS]]})
    if any(counts.values()):
        tables.append({"title": "Instructions", "head": ["delegations", *WAYS],
                       "rows": [[f"{size:,}"] + [f"{row[way]:,.0f}" for way in WAYS] for size, row in counts.items() if row]})
    tables.append({"title": "Loading and memory, in this process", "head": ["delegations", "load, s of CPU", "MB", "bytes per delegation"],
                   "rows": [[f"{size:,}", f"{row['load_s']:.2f}", f"{row['memory_mb']:,.1f}", f"{row['memory_mb'] * 1e6 / size:,.0f}"]
                            for size, row in by_size.items()]})
    plots = [{"file": f"{args.kind}.svg", "kind": "lines", "title": f"{args.kind.capitalize()}: CPU time by size", "x_label": "delegations",
              "y_label": "ns", "series": {way.replace(" ", ", "): [[size, row[way]] for size, row in by_size.items()] for way in WAYS}}]
    results.keep(args.kind, KINDS[args.kind], tables, plots, {"ns": by_size, "instructions": counts}, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
