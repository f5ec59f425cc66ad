#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signatures by keys in a token of SoftHSM: the signer of libdnssec, which server and kzonesign have, beside a bare client of the PKCS #11 module.

Each thread has a session of its own. Both take turns in one program (bench_token), so that what else the machine does meets both.
"""
import argparse
import json
import os
import shutil
import subprocess
import tempfile

from bench_lib import results
from harness.server import BUILD

WHAT = """\
Keys in a token of SoftHSM sign, each thread in a session of its own.

- "Bare": C_SignInit and C_Sign of the module, in a loop. "Ours": the signer of libdnssec, with the hashing of 32 bytes.
- CPU is that of the process: of both it is SoftHSM's, but for what ours adds."""
MODULE = "/usr/lib/softhsm/libsofthsm2.so"
METRICS = (
    ("bare_per_s", "bare, signatures/s", 1, ",.0f"),
    ("ours_per_s", "ours, signatures/s", 1, ",.0f"),
    ("speed_per_bare", "ours, times bare", 1, ".2f"),
    ("bare_cpu_us", "bare, CPU µs", 1, ".1f"),
    ("ours_cpu_us", "ours, CPU µs", 1, ".1f"),
    ("cpu_per_bare", "ours, times the CPU time", 1, ".2f"),
)


def measure(threads, turns):
    folder = tempfile.mkdtemp(prefix="bench-token-")
    try:
        os.mkdir(os.path.join(folder, "tokens"))
        conf = os.path.join(folder, "softhsm2.conf")
        with open(conf, "w", encoding="ascii") as file:
            file.write(f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n")
        environment = {**os.environ, "SOFTHSM2_CONF": conf}
        subprocess.run(["softhsm2-util", "--init-token", "--free", "--label", "bench", "--pin", "1234", "--so-pin", "1234"], check=True, stdout=subprocess.DEVNULL, env=environment)
        done = subprocess.run([BUILD / "tests/bench/bench_token", "pkcs11:token=bench;pin-value=1234", MODULE, "1234", str(threads), str(turns)],
                              check=True, stdout=subprocess.PIPE, text=True, env=environment)
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="[1 2]")
    parser.add_argument("--turns", type=int, default=6, metavar="N", help="of half a second for each [%(default)s]")
    args = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f}"
    turns = {str(count): measure(count, args.turns) for count in args.threads}
    tables = [results.metrics_table(f"{algorithm}, {count} thread(s)", {"bowline": figures}, METRICS)
              for count in args.threads for algorithm, figures in turns[str(count)].items()]
    results.keep("token", WHAT, tables, [], turns, load)


if __name__ == "__main__":
    main()
