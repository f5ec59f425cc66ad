#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Checking a TLD's zone file with kzonecheck, beside Debian's kzonecheck and BIND's programs, plain and signed: CPU time and memory.

The signed one is made by our kzonesign: ECDSA P-256, NSEC3 without salt, with opt-out. All programs prove it with one thread.
"""
import os
import shutil
import subprocess
import tempfile

from bench_lib import options, results, zones
from harness.server import built

WHAT = """\
A TLD's zone file is checked, as it is and signed: ECDSA P-256, NSEC3 with opt-out.

- CPU is that of the whole program, its system calls included.
- BIND: named-checkzone for the plain file, dnssec-verify for the signed one."""
KNOT_CONF = """\
database:
    storage: {folder}
policy:
  - id: p
    nsec3: on
    nsec3-opt-out: on
    nsec3-salt-length: 0
zone:
  - domain: {origin}
    file: {file}
    dnssec-policy: p
"""
PROGRAMS = {
    "bowline": lambda origin, path, is_signed: [built("kzonecheck", "tools"), "-j", "1", "-o", origin, path],
    "kzonecheck": lambda origin, path, is_signed: ["/usr/bin/kzonecheck", "-o", origin, path],
    "bind": lambda origin, path, is_signed: (["dnssec-verify", "-q", "-o", origin, path] if is_signed else
                                             ["named-checkzone", "-q", "-i", "local", origin, path]),
}
METRICS = (("cpu_s", "CPU s", 1, ".2f"), ("peak_bytes", "memory at most, MB", 1e6, ".0f"), ("cpu_per_record_us", "CPU µs for a record", 1, ".2f"))


def measure(name, args, path, is_signed):
    with open(path, "rb") as file:
        records = sum(1 for line in file if line[:1] not in (b";", b"$", b"\n"))
    child = subprocess.Popen(PROGRAMS[name](args.origin, path, is_signed), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{name}: {errors[-500:]}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return {"cpu_s": cpu_s, "peak_bytes": usage.ru_maxrss * 1024, "cpu_per_record_us": cpu_s / records * 1e6}


def sign(args, path, folder):
    signed = os.path.join(folder, "signed.zone")
    shutil.copy(path, signed)
    with open(os.path.join(folder, "knot.conf"), "w", encoding="ascii") as file:
        file.write(KNOT_CONF.format(folder=folder, file=signed, origin=args.origin))
    subprocess.run([built("kzonesign", "tools"), "-r", "-c", os.path.join(folder, "knot.conf"), args.origin], check=True, stdout=subprocess.DEVNULL)
    return signed


def main():
    parser = options.parser(__doc__, "bowline,kzonecheck,bind")
    parser.add_argument("--zones", type=options.sizes, default=[100_000, 1_000_000], metavar="N,...", help="delegations [100k,1M]")
    args = parser.parse_args()
    tables, turns = [], {}
    load = f"{os.getloadavg()[0]:.1f}"
    folder = tempfile.mkdtemp(prefix="bench-check-")
    try:
        for size in args.zones:
            plain = zones.tld(size, args.origin, is_sorted=True)
            for what, path, is_signed in (("plain", plain, False), ("signed", sign(args, plain, folder), True)):
                found = options.in_turns(args.servers, args.turns, lambda name, path=path, is_signed=is_signed: measure(name, args, path, is_signed),
                                         f"{size:,} {what} ")
                turns[f"{size} {what}"] = found
                tables.append(results.metrics_table(f"{size:,} delegations, {what}", options.medians(found), METRICS))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    results.keep("check", WHAT, tables, [], turns, load)


if __name__ == "__main__":
    main()
