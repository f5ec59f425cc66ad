#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What a knotc command costs with a large configuration: ours beside the distribution's, each with its own server and database.

Each server has one zone of its own and --zones more in the database that knotc reads (`-C`), or in a text file (`-c`). Reported, the
median of --turns in seconds of wall clock and of CPU time of knotc:
  script   --lines lines on standard input: conf-begin and conf-set of new zones
  status   one `knotc status`
"""
import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.server import Knotd, built  # noqa: E402

PEER = ("/usr/sbin/knotd", "/usr/sbin/knotc")


def timed(command, text=""):
    """Wall clock and CPU time of a program that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    wall = time.monotonic() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or "error" in done.stdout:
        raise RuntimeError(f"{command}: {done.stdout[-500:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def configure(daemon, zones):
    daemon.configure(zones=["own.test"])
    daemon.conf(daemon.path.read_text() + "".join(f"  - domain: bulk{i}.example\n    file: none\n" for i in range(zones)))
    daemon.write("own.test.zone", "@ 60 SOA ns. host. 1 60 60 60 60\n@ 60 NS ns.\n")


def measure(name, programs, args):
    knotd, knotc = programs
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"bench-knotc-{name}-"))
    os.chmod(folder, 0o755)
    daemon = Knotd(folder, program=knotd)
    rows = {}
    try:
        configure(daemon, args.zones)
        database = folder / "confdb"
        subprocess.run([knotc, "-C", str(database), "conf-import", str(daemon.path)], check=True, stdout=subprocess.DEVNULL)
        daemon.source = ("-C", str(database))
        daemon.start(ready=False)
        deadline = time.monotonic() + 120
        while subprocess.run([knotc, "-s", str(daemon.socket), "status"], capture_output=True, check=False).returncode != 0:
            if time.monotonic() > deadline:
                raise RuntimeError(daemon.log()[-1000:])
            time.sleep(0.2)
        script = "conf-begin\n" + "".join(f"conf-set zone[new{i}.example]\n" for i in range(args.lines - 2)) + "conf-abort\n"
        for source, where in (("-C", str(database)), ("-c", str(daemon.path)), ("-s", str(daemon.socket))):
            if source != "-c":      # Knot reads a file for each line, which takes minutes
                rows[f"script {source}"] = [timed([knotc, source, where], script) for _ in range(args.turns)]
            rows[f"status {source}"] = [timed([knotc, source, where, "status"]) for _ in range(args.turns)]
    finally:
        if daemon.process is not None:
            daemon.process.kill()
            daemon.process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return {key: [statistics.median(values) for values in zip(*turns)] for key, turns in rows.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--zones", type=int, default=50_000, metavar="N", help="[%(default)s]")
    parser.add_argument("--lines", type=int, default=500, metavar="N", help="[%(default)s]")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="[%(default)s]")
    args = parser.parse_args()
    servers = {"bowline": (built("knotd", "knotd"), built("knotc", "tools"))}
    if all(os.path.exists(path) for path in PEER):
        servers["knot"] = PEER
    print(f"{args.zones:,} zones, {args.lines} lines: wall clock (CPU time) of knotc, s")
    for name, programs in servers.items():
        for key, (wall, cpu) in measure(name, programs, args).items():
            print(f"{name:8} {key:10} {wall:8.3f} ({cpu:.3f})")


if __name__ == "__main__":
    main()
