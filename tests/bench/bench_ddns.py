#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Dynamic updates over loopback, in turns with Debian's Knot DNS and BIND: how many are acknowledged in a second.

Each update adds the address of a new name to a TLD zone, over UDP. One in flight: the next is sent when the last was acknowledged. Many: so many are
unanswered at a time, a quarter of them signed (hmac-sha256). After the last a kill -9, another start, and a sample of the names that were
acknowledged is asked for. What is acknowledged by Bowline is on the disk; by Knot DNS, too; BIND's journal is, as far as named calls fsync().
The load (update_load) shares the processors with the server. Figures are of the machine with what else runs on it: before each load a program writes 512
bytes and calls fdatasync() again and again for a second, in the same folder; an update alone in flight waits for one of these at least.

--acceptance measures what there are goals for, and ends with a table of them.
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

from bench_change import Asker
from bench_lib import goals, options, process, results, servers, zones
from harness.server import BUILD, TOP

SECRET = "benchmark-of-updates"
PEERS = ("knot", "named")
WHAT = """\
Dynamic updates over loopback (UDP), each of which adds the address of a new name to a TLD's zone. Bowline's and Knot's are on the disk when they are acknowledged.
After the last a kill -9, another start, and a sample of the names that were acknowledged is asked for."""
LOAD = BUILD / "tests" / "bench" / "update_load"
KNOT_TEXT = f"""\
key:
  - id: key.
    algorithm: hmac-sha256
    secret: YmVuY2htYXJrLW9mLXVwZGF0ZXM=
acl:
  - id: signed
    key: key.
    action: update
  - id: plain
    action: update
template:
  - id: default
    zonefile-sync: -1
    zonefile-load: difference
    semantic-checks: off
    journal-content: all
    acl: [plain, signed]
"""
METRICS = (("per_s", "acknowledged per second", 1, ",.0f"), ("median_s", "until the answer, median ms", 1e-3, ",.3f"),
           ("p99_s", "until the answer, 99 % ms", 1e-3, ",.3f"), ("max_s", "until the answer, longest ms", 1e-3, ",.1f"),
           ("cpu_us", "CPU of the server per update, µs", 1, ",.1f"), ("refused", "refused", 1, ",.0f"), ("again", "sent again", 1, ",.0f"),
           ("syncs_per_s", "fdatasync() per second of a program that does nothing else, right before", 1, ",.0f"),
           ("lost", "acknowledged and gone after kill -9, of the sample", 1, ",.0f"))


def syncs_per_s(folder, seconds=1.0):
    """How often a small write can be made durable, one after the other."""
    path, count = folder / "syncs", 0
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(fd, bytes(1 << 20))
        os.fsync(fd)
        begin = time.monotonic()
        while time.monotonic() - begin < seconds:
            os.pwrite(fd, b"x" * 512, count * 512 % (1 << 20))
            os.fdatasync(fd)
            count += 1
        return count / (time.monotonic() - begin)
    finally:
        os.close(fd)
        path.unlink()


def turn(name, args, in_flight, signed):
    path = zones.tld(args.names, args.origin)
    setup = servers.Setup([(args.origin, path)], text=KNOT_TEXT)
    with servers.make(name, setup) as server:
        (server.dir / "db").mkdir(exist_ok=True)
        (server.dir / "db").chmod(0o777)
        server.dir.chmod(0o777)
        server.start()
        server.wait_answer(args.origin)
        process.settle(server.pid)
        syncs = syncs_per_s(server.dir)
        before = process.cpu_clock(server.pid)
        out = subprocess.run([LOAD, "127.0.0.1", str(server.port), args.origin.rstrip("."), str(args.seconds), str(in_flight), str(signed), SECRET, "0"],
                             check=True, capture_output=True, text=True, timeout=args.seconds + 120).stdout
        said = json.loads(out)
        cpu, done = process.cpu_clock(server.pid) - before, said["acknowledged"]
        row = {"per_s": done / said["seconds"], "median_s": said["median_us"] / 1e6, "p99_s": said["p99_us"] / 1e6, "max_s": said["max_us"] / 1e6,
               "cpu_us": cpu / max(done, 1) * 1e6, "refused": said["refused"], "again": said["again"], "syncs_per_s": syncs}
        if done == said["next"]:        # all were acknowledged: each must be there
            server.stop(signal.SIGKILL)
            server.start()
            server.wait_answer(args.origin)
            time.sleep(0.2)
            asker = Asker(server)
            row["lost"] = sum(not asker.is_there(f"bench-{number}.{args.origin}") for number in random.sample(range(done), min(done, 500)))
        return row


def main():
    parser = options.parser(__doc__, "bowline,knot,named", turns=3)
    parser.add_argument("--acceptance", action="store_true", help="what there are goals for, one turn, and a table of them")
    parser.add_argument("--names", type=options.size, default="1M", help="delegations of the zone [%(default)s]")
    parser.add_argument("--seconds", type=float, default=5, help="of load, each [%(default)s]")
    parser.add_argument("--in-flight", default="1,64,256,2048", metavar="N,...", help="[%(default)s]")
    if "--acceptance" in sys.argv:
        parser.set_defaults(names=1_000_000, turns=1)
    args = parser.parse_args()
    subprocess.run(["make", "-C", str(BUILD), "-s", "tests/bench/update_load"], check=True, cwd=TOP)
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    for in_flight in map(int, args.in_flight.split(",")):
        signed = 25 if in_flight > 1 else 0
        key = f"{in_flight} in flight"
        rows = options.in_turns(args.servers, args.turns, lambda name, n=in_flight, s=signed: turn(name, args, n, s), f"{key}, ")
        turns[key] = rows
        shared = {name: [{k: row.get(k, -1) for k, *_ in METRICS} for row in made] for name, made in rows.items()}
        tables.append(results.metrics_table(f"Dynamic updates, {key}, {signed} % of them signed, {args.names:,} delegations", options.medians(shared), METRICS))
    reached = goals.table({"ddns": {"turns": turns}}, [name for name in args.servers.split(",") if name in PEERS])
    if reached is not None and args.acceptance:
        tables.append(reached)
    results.keep("ddns", WHAT, tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
