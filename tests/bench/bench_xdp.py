#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Bowline against the distribution's knotd over AF_XDP, in turns, in one run.

Per turn and server: start on the same zone (time from exec to the first answer), memory (anonymous and shared RSS), then
two loads by kxdpgun over a veth pair between two namespaces: as many queries as the machine takes (replies per second),
and a fixed rate that both can take (CPU time of the server's process per reply). The order changes from turn to turn.
Reported are medians and their ratios: on a shared machine only the ratio within one run means something.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from harness.net import Pair, inside  # noqa: E402
from harness.server import BUILD, Knotd, built  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def zone_of(args):
    """The zone's file and the file of queries, made once per size."""
    work = BUILD / "bench"
    work.mkdir(parents=True, exist_ok=True)
    path, queries = work / f"tld-{args.names}.zone", work / f"tld-{args.names}.queries"
    if args.zone:
        path = pathlib.Path(args.zone).resolve()
        queries = work / f"{path.name}.queries"
    elif not path.exists():
        half = path.with_suffix(".half")
        subprocess.run([sys.executable, TOP / "tests" / "bench" / "gen_tld.py", "-n", str(args.names), "--shuffle",
                        "--origin", args.origin, "-o", str(half)], check=True)
        half.rename(path)
    if not queries.exists():
        write_queries(path, queries, args.origin)
    return path, queries


def write_queries(zone, queries, origin, count=400000):
    """Of ten questions eight ask below a delegation, one for a DS, one for a name that is not there; spread over the zone."""
    names, last = [], None
    with open(zone, encoding="ascii", errors="replace") as file:
        for line in file:
            fields = line.split()
            if len(fields) > 3 and "NS" in fields[1:4] and fields[0] != last and not line[0] in " \t@$;":
                last = fields[0]
                names.append(last if last.endswith(".") else f"{last}.{origin}")
    step = max(1, len(names) // count)
    names = names[::step]
    import random
    random.Random(1).shuffle(names)
    with open(queries, "w", encoding="ascii") as out:
        for number, name in enumerate(names[:count]):
            kind = number % 10
            if kind == 8:
                out.write(f"{name} DS D\n")
            elif kind == 9:
                first, _, rest = name.partition(".")
                out.write(f"{first}x0.{rest} A D\n")
            else:
                out.write(f"www.{name} {'A' if kind & 1 else 'AAAA'} D\n")


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_bytes(pid):
    """Anonymous and shared memory in RAM: not pages of mapped files, which the system may drop."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return sum(int(re.search(rf"{key}:\s+(\d+) kB", status).group(1)) for key in ("RssAnon", "RssShmem")) * 1024


def first_answer(daemon, pair, origin, timeout=300):
    """Seconds until the zone's SOA is answered over the link."""
    import socket
    query = bytes.fromhex("12340000000100000000 0000") + b"".join(
        bytes([len(label)]) + label.encode() for label in origin.rstrip(".").split(".")) + bytes.fromhex("0000060001")
    with inside(pair.client):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect((pair.server4, 53))
    sock.settimeout(0.02)
    started = time.monotonic()
    with sock:
        while time.monotonic() - started < timeout:
            if daemon.process.poll() is not None:
                raise RuntimeError(daemon.log()[-3000:])
            try:
                sock.send(query)
                reply = sock.recv(4096)
                if reply[3] & 15 == 0 and reply[7] == 1:
                    return time.monotonic() - started
            except OSError:
                time.sleep(0.005)
    raise RuntimeError("no answer: " + daemon.log()[-3000:])


def load(pair, queries, rate, seconds):
    """(replies, replies per second, share of queries that were answered)"""
    text = pair.exec(pair.client, "kxdpgun", "-t", str(seconds), "-Q", str(rate), "-i", str(queries), "-I", pair.client_if,
                     pair.server4, timeout=seconds + 30).stdout
    replies = int(re.search(r"total replies:\s+(\d+)", text).group(1))
    total = int(re.search(r"total queries:\s+(\d+)", text).group(1))
    return replies, replies / seconds, replies / max(total, 1), text


def turn(program, args, zone, queries):
    """All measurements of one server once."""
    directory = tempfile.mkdtemp(prefix="bowline-bench-")
    # A copy: Knot DNS drops root's right to read everything, so it can't enter a home directory of mode 0700.
    zone = shutil.copy(zone, directory)
    result = {}
    with Pair() as pair:
        daemon = Knotd(directory, pair.server, program)
        daemon.port = 53
        daemon.configure(f"xdp:\n    listen: {pair.server_if}@53\n" + (
            "mod-stats:\n  - id: all\n    request-protocol: on\ntemplate:\n  - id: default\n    global-module: mod-stats/all\n"
            if args.stats else "") + f'zone:\n  - domain: "{args.origin}"\n    file: "{zone}"\n',
            listen=(), server=f"listen: {pair.server4}@53")
        try:
            daemon.start(ready=False)
            result["start_s"] = first_answer(daemon, pair, args.origin)
            time.sleep(1)
            result["memory_bytes"] = memory_bytes(daemon.process.pid)
            if "initialized XDP interface" not in daemon.log():
                raise RuntimeError("not on AF_XDP: " + daemon.log()[-2000:])
            load(pair, queries, args.rate, 1)                       # warm up
            _, result["replies_per_s"], result["answered_share"], text = load(pair, queries, 5_000_000, args.seconds)
            before, started = cpu_seconds(daemon.process.pid), time.monotonic()
            replies, _, share, text = load(pair, queries, args.rate, args.seconds)
            used = cpu_seconds(daemon.process.pid) - before
            idle = cpu_rate_when_idle(daemon)
            used -= idle * (time.monotonic() - started)
            result["cpu_ns_per_reply"] = used * 1e9 / max(replies, 1)
            result["answered_share_at_rate"] = share
            if args.verbose:
                print(text)
        finally:
            try:
                daemon.stop(timeout=60)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
    return result


def cpu_rate_when_idle(daemon, seconds=1.0):
    """What the process uses without any query, per second; not the replies' fault."""
    before = cpu_seconds(daemon.process.pid)
    time.sleep(seconds)
    return (cpu_seconds(daemon.process.pid) - before) / seconds


def options(description, names, rate):
    """A parser with what both benchmarks over AF_XDP are asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--names", type=int, default=names, help="delegations [%(default)s]")
    parser.add_argument("-t", "--turns", type=int, default=3, help="[%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=4, help="of each load [%(default)s]")
    parser.add_argument("-r", "--rate", type=int, default=rate, help="queries/s of the fixed load [%(default)s]")
    parser.add_argument("--origin", default="example.", help="[%(default)s]")
    parser.add_argument("--zone", help="a zone file instead of a generated one")
    parser.add_argument("--servers", default="bowline,knot", help="[%(default)s]")
    parser.add_argument("--json", help="write all numbers here")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser


def in_turns(args, zone, one):
    """{server: [figures of a turn]}; one(program) measures a server once, the order changes from turn to turn."""
    programs = {"bowline": lambda: built("knotd", "knotd"), "knot": lambda: "/usr/sbin/knotd"}
    servers = args.servers.split(",")
    print(f"zone {zone.name}: {zone.stat().st_size / 1e6:.0f} MB; {args.turns} turns, {args.seconds} s per load, "
          f"{os.cpu_count()} CPUs shared with the load generator", flush=True)
    rows = {name: [] for name in servers}
    for number in range(args.turns):
        for name in servers if number % 2 == 0 else reversed(servers):
            row = one(programs[name]())
            rows[name].append(row)
            print(f"turn {number + 1} {name:8} " + "  ".join(f"{key} {value:,.3g}" if isinstance(value, float) and value < 1000 else
                                                           f"{key} {value:,.0f}" for key, value in row.items()), flush=True)
    return rows


def print_medians(rows, metrics):
    """A line for each of metrics: (key, text, unit, format)."""
    width = max(len(text) for _, text, _, _ in metrics) + 2
    print(f"\n{'median of turns':{width}}" + "".join(f"{name:>14}" for name in rows) + ("     ratio" if len(rows) == 2 else ""))
    for key, text, unit, form in metrics:
        values = [statistics.median(row[key] for row in of) / unit for of in rows.values()]
        ratio = f"{values[0] / values[1]:10.2f}" if len(values) == 2 and values[1] else ""
        print(f"{text:{width}}" + "".join(f"{value:>14{form}}" for value in values) + ratio)


def keep(args, rows):
    """For --json."""
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"arguments": vars(args), "turns": rows}, indent=1), encoding="ascii")


def main():
    parser = options(__doc__, 1_000_000, 60_000)
    parser.add_argument("--stats", action="store_true", help="count with mod-stats in both")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("network namespaces need root")
    zone, queries = zone_of(args)
    rows = in_turns(args, zone, lambda program: turn(program, args, zone, queries))
    print_medians(rows, [("replies_per_s", "replies per second", 1, ",.0f"), ("cpu_ns_per_reply", "CPU per reply, ns", 1, ",.0f"),
                         ("memory_bytes", "memory, MB", 1e6, ",.1f"), ("start_s", "start to first answer, s", 1, ".2f")])
    keep(args, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
