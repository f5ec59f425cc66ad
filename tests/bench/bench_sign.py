#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signing a TLD's zone file whole, beside Debian's kzonesign and dnssec-signzone, and 100 changed names on top of it; and proving both: CPU time and memory.

Each reads the same file and writes a signed one: ECDSA P-256, a KSK and a ZSK, NSEC3 without salt and, unless --chain says otherwise, opt-out.
Ours is the signer of src/sign in a program of its own (bench_sign); "bare signatures" are as many as it made, of 150 bytes, in a loop.
"""
import json
import os
import shutil
import subprocess
import tempfile

from bench_lib import options, results, zones
from harness.server import BUILD

WHAT = """\
A TLD's zone file is signed: ECDSA P-256, NSEC3 without salt.

- CPU is that of the whole program, its system calls included: reading the file, signing, writing the file.
- "Bare signatures": as many as the signer made, in a loop over 150 bytes."""
KNOT_CONF = """\
database:
    storage: {folder}
policy:
  - id: p
    algorithm: ecdsap256sha256
    nsec3: {nsec3}
    nsec3-opt-out: {opt_out}
    nsec3-salt-length: 0
    nsec3-iterations: 0
    signing-threads: {threads}
zone:
  - domain: {origin}
    storage: {folder}
    file: {file}
    dnssec-signing: on
    dnssec-policy: p
"""


def timed(command, folder):
    """CPU time, highest memory and output of a program that runs in a folder: dnssec-signzone leaves a file there."""
    child = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    output, errors = child.stdout.read(), child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{command[0]}: {errors[-500:]}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024}, output


def sign_ours(args, path, folder):
    figures, output = timed([BUILD / "tests/bench/bench_sign", args.origin, path, args.chain, args.threads, os.path.join(folder, "signed")], folder)
    said = json.loads(output)
    return {**said, "cpu_s": said["load_s"] + said["sign_s"] + said["build_s"] + said["write_s"],
            "sign_per_bare": said["sign_s"] / said["bare_s"], "build_per_bare": (said["sign_s"] + said["build_s"]) / said["bare_s"],
            "prove_per_sign": said["prove_1_s"] / said["sign_s"], "prove_8_per_sign": said["prove_8_s"] / said["sign_s"],
            "prove_64_per_sign": said["prove_64_s"] / said["sign_s"],
            "change_prove_per_change": said["change_prove_s"] / (said["change_sign_s"] + said["change_build_s"]),
            "change_prove_some_per_change": said["change_prove_some_s"] / (said["change_sign_s"] + said["change_build_s"]),
            "change_s": said["change_sign_s"] + said["change_build_s"], "program_s": figures["cpu_s"]}


def sign_kzonesign(args, path, folder):
    os.chmod(folder, 0o777)
    conf = os.path.join(folder, "knot.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(KNOT_CONF.format(folder=folder, file=path, origin=args.origin, threads=args.threads,
                                    nsec3="off" if args.chain == "nsec" else "on", opt_out="on" if args.chain == "opt-out" else "off"))
    return timed(["kzonesign", "-c", conf, "-o", folder, args.origin], folder)[0]


def sign_bind(args, path, folder):
    for flags in ([], ["-f", "KSK"]):
        subprocess.run(["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", *flags, "-K", folder, args.origin], check=True, stdout=subprocess.DEVNULL)
    chain = {"nsec": [], "nsec3": ["-3", "-"], "opt-out": ["-3", "-", "-A"]}[args.chain]
    return timed(["dnssec-signzone", "-q", "-S", "-P", "-N", "keep", "-H", "0", "-n", str(args.threads), "-K", folder, "-o", args.origin,
                  "-f", os.path.join(folder, "signed"), *chain, path], folder)[0]


SIGNERS = {"bowline": sign_ours, "kzonesign": sign_kzonesign, "dnssec-signzone": sign_bind}
METRICS = (
    ("cpu_s", "file to signed file, CPU s", 1, ".2f"),
    ("peak_bytes", "memory at most, MB", 1e6, ".0f"),
    ("signatures", "signatures", 1, ",.0f"),
    ("bare_s", "bare signatures, CPU s", 1, ".2f"),
    ("sign_s", "signing alone, CPU s", 1, ".2f"),
    ("sign_wall_s", "signing alone, s", 1, ".2f"),
    ("sign_per_bare", "signing, times the bare signatures", 1, ".2f"),
    ("build_per_bare", "with the building of the version, times", 1, ".2f"),
    ("prove_per_sign", "proof of all signatures, times the signing", 1, ".2f"),
    ("prove_8_per_sign", "proof with one of 8 signatures, times", 1, ".2f"),
    ("prove_64_per_sign", "proof with one of 64, times", 1, ".2f"),
    ("change_s", "100 changed names, CPU ms", 1e-3, ".1f"),
    ("change_sign_s", "of these for signing, ms", 1e-3, ".1f"),
    ("change_prove_s", "proof of the change, ms", 1e-3, ".1f"),
    ("change_prove_per_change", "the same, times the change", 1, ".2f"),
    ("change_prove_some_s", "proof of it with one of 16 signatures, ms", 1e-3, ".1f"),
    ("change_prove_some_per_change", "the same, times the change", 1, ".2f"),
)


def measure(name, args, path):
    folder = tempfile.mkdtemp(prefix="bench-sign-")
    try:
        return SIGNERS[name](args, path, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = options.parser(__doc__, "bowline,kzonesign,dnssec-signzone")
    parser.add_argument("--zones", type=options.sizes, default=[100_000, 1_000_000], metavar="N,...", help="delegations [100k,1M]")
    parser.add_argument("--chain", choices=("nsec", "nsec3", "opt-out"), default="opt-out", help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="that sign [%(default)s]")
    args = parser.parse_args()
    tables, turns = [], {}
    load = f"{os.getloadavg()[0]:.1f}"
    for size in args.zones:
        path = zones.tld(size, args.origin, is_sorted=True)
        found = options.in_turns(args.servers, args.turns, lambda name, path=path: measure(name, args, path), f"{size:,} ")
        turns[str(size)] = found
        tables.append(results.metrics_table(f"{size:,} delegations, {args.chain}, {args.threads} thread(s)", options.medians(found), METRICS))
    results.keep("sign", WHAT, tables, [], turns, load)


if __name__ == "__main__":
    main()
