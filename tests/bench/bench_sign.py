#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Signing and proving zones, beside Debian's kzonesign and knotd, dnssec-signzone and ldns-signzone in the same run. Parts (--parts):
  file     a TLD's zone file is signed whole, file to signed file; in the same turns what `openssl speed` says of P-256
  steps    the same within a program (bench_sign): the signer beside as many bare signatures, the proof of all and of a part, and 100 changed names
  change   100 changed names in a running server that has signed a TLD: from the first command to the OK, and until they are answered
  zones    many small zones get their first keys and signatures by a running server: CPU of each. Their keys and databases are in --state, a file
           system in memory unless said: on a disk a zone waits for some flushes, and what CPU these take depends on the file system
  spread   many small zones signed at one start, and the hours of the days after it (bench_spread): a simulation with the signer under its own clock
  token    P-256 in a token of SoftHSM, beside a bare client of its module, with one thread and as many as there are processors (bench_token)
  keys     two years of 10,000 zones' keys (tests/sim/keys_sim)
  faults   faults injected between signer and proof (tests/sim/faults_sim)
--acceptance measures all parts at the sizes for which there are goals, and ends with a table of the goals: about half an hour.

Keys are ECDSA P-256, a KSK and a ZSK; NSEC3 has no salt and, unless --chain says otherwise, opt-out. A quarter of a TLD's delegations are secure.
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import bench_token
import gen_zones
from bench_lib import TOP, changes, goals, options, process, results, servers, zones
from harness.server import BUILD

WHAT = """\
Zones are signed and proven: ECDSA P-256, NSEC3 without salt.

- CPU of programs is that of the whole program, its system calls included: reading the file, signing, writing the file.
- "openssl speed": as many signatures as the signed file has, by what `openssl speed ecdsap256` says before and after each turn. "Bare signatures": as many in a
  loop over 150 bytes, with their hashes, in the program that signs.
- 100 changed names: each gets a DS record or loses it. Time is from the first command (all are sent at once) until the server has said OK and answers
  the last one; then the change is signed, proven and on the disk. Nothing else asks the server meanwhile. Server and client go before other programs (nice -20), if
  the user may say so: how long they wait for processors that others use is not the server's time. The disk is shared, too.
- Small zones have five records; their files and databases are in memory (--state). Their CPU is that of the server from its start until nothing moves, less that of the same start without signing.
- Spread: how many signatures each hour has, after 100,000 zones were signed at one start. The busiest hour of a day in means of that day; 24: all in one hour."""
DS_SHARE = 0.25
SIGNED_CONF = """\
policy:
  - id: p
    algorithm: ecdsap256sha256
    signing-threads: {threads}
    nsec3: {nsec3}
    nsec3-opt-out: {opt_out}
    nsec3-salt-length: 0
    nsec3-iterations: 0
"""
FILE_CONF = """\
database:
    storage: {folder}
{policy}zone:
  - domain: {origin}
    storage: {folder}
    file: {file}
    dnssec-signing: on
    dnssec-policy: p
"""


def policy_of(args, threads):
    return SIGNED_CONF.format(threads=threads, nsec3="off" if args.chain == "nsec" else "on", opt_out="on" if args.chain == "opt-out" else "off")


# ---- file: programs that read a file and write a signed one ----

def timed(command, folder, output=None):
    """CPU time, highest memory and seconds of a program that runs in a folder: dnssec-signzone leaves a file there."""
    begin = time.monotonic()
    with open(output or os.devnull, "w", encoding="ascii") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=errors, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{command[0]}: {errors.read()[-500:]}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": time.monotonic() - begin, "peak_bytes": usage.ru_maxrss * 1024}


def sign_kzonesign(args, path, folder, program):
    os.chmod(folder, 0o777)
    conf = os.path.join(folder, "knot.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(FILE_CONF.format(folder=folder, file=path, origin=args.origin, policy=policy_of(args, args.threads)))
    figures = timed([program, "-c", conf, "-o", folder, args.origin], folder)
    return figures, os.path.join(folder, path.name)


def sign_bind(args, path, folder):
    for flags in ([], ["-f", "KSK"]):
        subprocess.run(["dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", *flags, "-K", folder, args.origin], check=True, stdout=subprocess.DEVNULL)
    chain = {"nsec": [], "nsec3": ["-3", "-"], "opt-out": ["-3", "-", "-A"]}[args.chain]
    signed = os.path.join(folder, "signed")
    return timed(["dnssec-signzone", "-q", "-S", "-P", "-N", "keep", "-H", "0", "-n", str(args.threads), "-K", folder, "-o", args.origin,
                  "-f", signed, *chain, path], folder), signed


def sign_ldns(args, path, folder):
    keys = [subprocess.run(["ldns-keygen", "-a", "ECDSAP256SHA256", *flags, args.origin], check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout.strip()
            for flags in ([], ["-k"])]
    chain = {"nsec": [], "nsec3": ["-n"], "opt-out": ["-n", "-p"]}[args.chain]
    signed = os.path.join(folder, "signed")
    return timed(["ldns-signzone", *chain, *(["-t", "0"] if chain else []), "-o", args.origin, "-f", signed, path, *keys], folder), signed


FILE_SIGNERS = {
    "bowline": lambda args, path, folder: sign_kzonesign(args, path, folder, BUILD / "src/tools/kzonesign"),
    "kzonesign": lambda args, path, folder: sign_kzonesign(args, path, folder, "/usr/bin/kzonesign"),
    "dnssec-signzone": sign_bind,
    "ldns-signzone": sign_ldns,
}


def signatures_in(path):
    with open(path, encoding="ascii", errors="replace") as file:
        return sum(1 for line in file if re.match(r"\S*\s+(\d+\s+)?(IN\s+)?RRSIG\s", line))


def openssl_per_s():
    """Signatures per second of CPU, as OpenSSL measures itself."""
    output = subprocess.run(["openssl", "speed", "-seconds", "2", "ecdsap256"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return float(output.strip().splitlines()[-1].split()[-2])


def file_turn(name, args, path):
    folder = tempfile.mkdtemp(prefix="bench-sign-")
    try:
        before = openssl_per_s()
        figures, signed = FILE_SIGNERS[name](args, path, folder)
        per_s = (before + openssl_per_s()) / 2
        count = signatures_in(signed)
        return {**figures, "signatures": count, "openssl_s": count / per_s, "per_openssl": figures["cpu_s"] * per_s / count}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


FILE_METRICS = (
    ("cpu_s", "file to signed file, CPU s", 1, ".2f"), ("wall_s", "the same, s", 1, ".2f"), ("peak_bytes", "memory at most, MB", 1e6, ".0f"),
    ("signatures", "signatures", 1, ",.0f"), ("openssl_s", "as many by openssl speed, CPU s", 1, ".2f"), ("per_openssl", "CPU, times that", 1, ".2f"))


def bench_file(args):
    for size in args.names:
        path = zones.tld(size, args.origin, is_sorted=True, ds_share=DS_SHARE)
        yield f"file {size}", f"{size:,} delegations, {args.chain}, {args.threads} thread(s), file to signed file", FILE_METRICS, args.signers, (
            lambda name, path=path: file_turn(name, args, path))


# ---- steps: within a program ----

def steps_turn(args, path):
    with tempfile.TemporaryDirectory(prefix="bench-sign-") as folder:
        done = subprocess.run([BUILD / "tests/bench/bench_sign", args.origin, path, args.chain, str(args.threads), os.path.join(folder, "signed")],
                              check=True, stdout=subprocess.PIPE, text=True)
    said = json.loads(done.stdout)
    change_s = said["change_sign_s"] + said["change_build_s"]
    return {**said, "change_s": change_s, "sign_per_bare": said["sign_s"] / said["bare_s"],
            **{f"prove_{share}_per_sign": said[f"prove_{share}_s"] / said["sign_s"] for share in (1, 8, 64)},
            "wall_proven_all": (said["sign_wall_s"] + said["prove_1_wall_s"]) / said["sign_wall_s"],
            "wall_proven": (said["sign_wall_s"] + said["prove_64_wall_s"]) / said["sign_wall_s"],
            "change_prove_per_change": said["change_prove_s"] / change_s, "change_prove_some_per_change": said["change_prove_some_s"] / change_s}


STEPS_METRICS = (
    ("signatures", "signatures", 1, ",.0f"), ("bare_s", "bare signatures, CPU s", 1, ".2f"), ("sign_s", "signing alone, CPU s", 1, ".2f"),
    ("sign_wall_s", "signing alone, s", 1, ".2f"), ("sign_per_bare", "signing, times the bare signatures", 1, ".2f"),
    ("build_s", "building of the signed version, CPU s", 1, ".2f"),
    ("prove_1_per_sign", "proof of all signatures, times the CPU of signing", 1, ".2f"), ("prove_8_per_sign", "proof with one of 8, times", 1, ".2f"),
    ("prove_64_per_sign", "proof with one of 64, times", 1, ".2f"), ("wall_proven_all", "signed and all proven, times the wall time of signing", 1, ".2f"),
    ("wall_proven", "signed and proven as the server does it (one of 64), times", 1, ".2f"),
    ("change_signatures", "100 changed names: signatures", 1, ",.0f"), ("change_s", "signing and the new version, CPU ms", 1e-3, ".1f"),
    ("change_sign_s", "of these for signing, ms", 1e-3, ".1f"), ("change_prove_s", "proof of all of it, CPU ms", 1e-3, ".1f"),
    ("change_prove_per_change", "the same, times the change", 1, ".2f"), ("change_prove_some_s", "proof with one of 16 signatures, ms", 1e-3, ".1f"),
    ("change_prove_some_per_change", "the same, times the change", 1, ".2f"))


def bench_steps(args):
    for size in args.names:
        path = zones.tld(size, args.origin, is_sorted=True, ds_share=DS_SHARE)
        yield f"steps {size}", f"{size:,} delegations, {args.chain}, {args.threads} thread(s), within a program", STEPS_METRICS, "bowline", (
            lambda _, path=path: steps_turn(args, path))


# ---- change: a running server ----

CHANGED = 100


class Asker:
    """Asks for DS records with their signatures."""

    def __init__(self, server):
        self.sock, self.ident = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
        self.sock.settimeout(5)
        self.sock.connect((server.setup.address, server.port))

    def answers(self, name):
        """Records in the answer section."""
        self.ident = (self.ident + 1) & 0xffff
        query = servers.question(name, 43, self.ident)
        self.sock.send(query[:11] + b"\1" + query[12:] + bytes.fromhex("0000291000000080000000"))
        while (reply := self.sock.recv(4096))[:2] != query[:2]:
            pass
        return int.from_bytes(reply[6:8], "big")


def at(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def change_of(names, number):
    """The first time each name gets a DS, then it loses it, and so on."""
    digest = f"{number // 2 % 65536:04x}" + 30 * "00" if number % 2 == 0 else None
    return [(digest is not None, name, "DS", f"{number // 2 % 65000 + 1} 13 2 {digest}" if digest else "") for name in names]


@contextlib.contextmanager
def going_first():
    """What is started here goes before other programs of a shared machine, as far as the user may say so."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


def change_turn(name, args, path):
    commits = args.commits if name != "knot" else args.peer_commits
    setup = servers.Setup([(args.origin, path)], text=policy_of(args, args.change_threads) + "template:\n  - id: default\n    zonefile-sync: -1\n    zonefile-load: difference-no-serial\n"
                          "    journal-content: all\n    dnssec-signing: on\n    dnssec-policy: p\n    semantic-checks: off\n")
    insecure = [each.removesuffix(f".{args.origin}") for each, _ in zip(zones.insecure(path, args.origin), range(100 * CHANGED))]
    random.Random(1).shuffle(insecure)
    walls, cpus, late = [], [], 0
    with going_first(), servers.make(name, setup) as server:
        (server.dir / "db").mkdir(exist_ok=True)
        (server.dir / "db").chmod(0o777)
        server.dir.chmod(0o777)
        server.start()
        server.wait_answer(args.origin, 900)
        process.settle(server.pid)
        session, asker = changes.ControlSession(server.daemon.socket, 1 if name == "knot" else 1000), Asker(server)
        for number in range(commits + 2):
            names = insecure[number // 2 * CHANGED % len(insecure):][:CHANGED]
            before, begin = process.cpu_clock(server.pid), time.monotonic()
            changes.commit(session, args.origin, change_of(names, number))
            found = asker.answers(f"{names[-1]}.{args.origin}")
            wall, cpu = time.monotonic() - begin, process.cpu_clock(server.pid) - before
            late += (found > 0) != (number % 2 == 0)
            if number >= 2:     # the first ones read what nothing has read yet
                walls.append(wall)
                cpus.append(cpu)
    return {"commits": commits, "wall_median_s": statistics.median(walls), "wall_p99_s": at(walls, 0.99), "cpu_median_s": statistics.median(cpus),
            "cpu_p99_s": at(cpus, 0.99), "late": late}


CHANGE_METRICS = (
    ("commits", "commits of 100 names", 1, ",.0f"), ("wall_median_s", "until answered, median ms", 1e-3, ",.1f"), ("wall_p99_s", "until answered, 99 % ms", 1e-3, ",.1f"),
    ("cpu_median_s", "CPU of the server, median ms", 1e-3, ",.1f"), ("cpu_p99_s", "CPU of the server, 99 % ms", 1e-3, ",.1f"),
    ("late", "answers without the change", 1, ",.0f"))


def bench_change(args):
    size = max(args.names)
    path = zones.tld(size, args.origin, is_sorted=True, ds_share=DS_SHARE)
    yield f"change {size}", f"100 changed names of {size:,} delegations, {args.chain}, {args.change_threads} thread(s) that sign", CHANGE_METRICS, args.servers, (
        lambda name: change_turn(name, args, path))


# ---- zones: many small ones ----

def zones_setup(folder, names, is_signed):
    text = (SIGNED_CONF.format(threads=1, nsec3="off", opt_out="off") if is_signed else "") + (
        f'template:\n  - id: default\n    storage: {folder}/zones\n    file: "%c[0-2]/%s.zone"\n    zonefile-sync: -1\n    journal-content: none\n')
    return servers.Setup([], text=text + ("    dnssec-signing: on\n    dnssec-policy: p\n" if is_signed else ""), zone_text=gen_zones.zone_blocks(names), log="warning")


def count_keys(server):
    folder = server.dir / "db" / "keys" / "keys"
    return sum(1 for _ in folder.iterdir()) if folder.exists() else 0


def zones_start(name, folder, names, is_signed):
    """CPU of a start until nothing moves."""
    with servers.make(name, zones_setup(folder, names, is_signed)) as server:
        (server.dir / "db").mkdir(exist_ok=True)
        (server.dir / "db").chmod(0o777)
        server.dir.chmod(0o777)
        server.start()
        server.wait_answer(names[0], 900)
        while is_signed and count_keys(server) < 2 * len(names):
            if server.process.poll() is not None:
                raise RuntimeError(f"{name} ended: {server.log()[-2000:]}")
            time.sleep(0.5)
        server.wait_answer(names[-1], 3600)
        process.settle(server.pid)
        return process.cpu_clock(server.pid), time.monotonic() - server.started


def zones_turn(name, args):
    folder = pathlib.Path(args.state) / f"zones-{args.many}"
    if not folder.exists():
        subprocess.run([sys.executable, TOP / "tests" / "bench" / "gen_zones.py", "-n", str(args.many), folder], check=True)
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    names = gen_zones.names(args.many)
    plain, _ = zones_start(name, folder, names, False)
    signed, wall = zones_start(name, folder, names, True)
    return {"zones": args.many, "cpu_s": signed - plain, "each_s": (signed - plain) / args.many, "wall_s": wall}


ZONES_METRICS = (("zones", "zones", 1, ",.0f"), ("cpu_s", "CPU of first keys and signatures, s", 1, ",.1f"), ("each_s", "the same, of a zone, ms", 1e-3, ",.3f"),
                 ("wall_s", "start until all are signed, s", 1, ",.1f"))


def bench_zones(args):
    kept = tempfile.tempdir
    tempfile.tempdir = args.state
    try:
        yield "zones", f"{args.many:,} small zones: first keys and signatures", ZONES_METRICS, args.servers, lambda name: zones_turn(name, args)
    finally:
        tempfile.tempdir = kept
        shutil.rmtree(pathlib.Path(args.state) / f"zones-{args.many}", ignore_errors=True)


# ---- What has programs of its own ----

SPREAD_DAYS = 26
SPREADS = (("none", 0), ("12 days", 12 * 86400))
SPREAD_METRICS = (
    ("first", "signatures of the start", 1, ",.0f"), ("renewed", f"of {SPREAD_DAYS} days after it", 1, ",.0f"), ("most_per_mean", "busiest hour, times the mean of all", 1, ".2f"),
    ("day", "busiest hour of a day, times its mean", 1, ".2f"), ("worst_day", "the same of the worst day", 1, ".2f"), ("idle_hours", "hours without signatures", 1, ",.0f"))


def run_json(*command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout)


def bench_spread(args):
    spreads = dict(SPREADS)
    yield "spread", f"{args.spread_zones:,} small zones signed at one start, rrsig-spread", SPREAD_METRICS, ",".join(spreads), (
        lambda name: run_json(BUILD / "tests/bench/bench_spread", args.spread_zones, spreads[name], SPREAD_DAYS))


def bench_token_part(args):
    yield "token", f"P-256 in SoftHSM, {args.sessions} sessions", bench_token.METRICS, "bowline", (
        lambda _: bench_token.measure(args.sessions, args.token_turns)["ECDSAP256SHA256"])


def said(*command, pattern):
    """What a simulation says at its end."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=False)
    match = re.search(pattern, done.stdout)
    if match is None or done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {done.stdout[-500:]}")
    return match


def keys_turn(_):
    found = said(BUILD / "tests/sim/keys_sim", "-n", "1", pattern=r"two years of the keys of (\d+) zones: (\d+) runs, ([\d.]+) s of CPU")
    return {"zones": int(found.group(1)), "runs": int(found.group(2)), "cpu_s": float(found.group(3))}


def bench_keys(_):
    yield "keys", "Two simulated years of many zones' keys", (("zones", "zones", 1, ",.0f"), ("runs", "events", 1, ",.0f"), ("cpu_s", "CPU s", 1, ".2f")), "bowline", keys_turn


def faults_turn(args):
    found = said(BUILD / "tests/sim/faults_sim", "-n", args.faults, pattern=(
        r"(\d+) faults injected, (\d+) published; (\d+) harmless, (\d+) published; blinded: (\d+) of (\d+) published"))
    return dict(zip(("injected", "published", "harmless", "harmless_published", "blind_published", "blind"), map(int, found.groups())))


def bench_faults(args):
    yield "faults", "Faults between signer and proof", (
        ("injected", "faults injected", 1, ",.0f"), ("published", "published", 1, ",.0f"), ("harmless", "changes without a fault", 1, ",.0f"),
        ("harmless_published", "published", 1, ",.0f"), ("blind", "faults with proof and rails blinded", 1, ",.0f"), ("blind_published", "published", 1, ",.0f")), "bowline", (
            lambda _: faults_turn(args))


PARTS = {"file": bench_file, "steps": bench_steps, "change": bench_change, "zones": bench_zones, "spread": bench_spread, "token": bench_token_part, "keys": bench_keys,
         "faults": bench_faults}
# What --acceptance changes of the options.
ACCEPTANCE = {"parts": list(PARTS), "names": [1_000_000], "threads": 2, "turns": 2}
ONE_TURN = {"change", "zones", "spread", "keys", "faults", "token"}


def parse_args():
    parser = options.parser(__doc__, "bowline,knot")
    parser.add_argument("--acceptance", action="store_true", help="all that there are goals for, and a table of them")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["file", "steps"], metavar="PART,...", help=f"{','.join(PARTS)} [file,steps]")
    parser.add_argument("--signers", default=",".join(FILE_SIGNERS), metavar="NAME,...", help="of file [%(default)s]")
    parser.add_argument("-n", "--names", type=options.sizes, default=[100_000, 1_000_000], metavar="N,...", help="delegations [100k,1M]")
    parser.add_argument("--chain", choices=("nsec", "nsec3", "opt-out"), default="opt-out", help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="that sign [%(default)s]")
    parser.add_argument("--change-threads", type=int, default=1, metavar="N", help="that sign in change, where processors are idle several are faster [%(default)s]")
    parser.add_argument("-c", "--commits", type=int, default=200, help="of change [%(default)s]")
    parser.add_argument("--peer-commits", type=int, default=6, help="the same of Knot DNS [%(default)s]")
    parser.add_argument("--many", type=options.size, default=100_000, help="zones of zones [%(default)s]")
    parser.add_argument("--state", default="/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir(), help="folder for zones [%(default)s]")
    parser.add_argument("--spread-zones", type=options.size, default=100_000, help="[%(default)s]")
    parser.add_argument("--sessions", type=int, default=os.cpu_count(), help="of token [%(default)s]")
    parser.add_argument("--token-turns", type=int, default=6, help="of half a second for each [%(default)s]")
    parser.add_argument("--faults", type=int, default=176, help="rounds of each of 57 kinds of fault [%(default)s]")
    if "--acceptance" in sys.argv:
        parser.set_defaults(**ACCEPTANCE)
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    return args


def main():
    args = parse_args()
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    for part in args.parts:
        with contextlib.closing(PARTS[part](args)) as rows:
            for key, title, metrics, names, turn in rows:
                turns[key] = options.in_turns(names, 1 if part in ONE_TURN else args.turns, turn, f"{key}, ")
                tables.append(results.metrics_table(title, options.medians(turns[key]), metrics))
                results.show(tables[-1])
    reached = goals.table({"sign": {"turns": turns}})
    if reached is not None and args.acceptance:
        tables.append(reached)
    results.keep("sign", WHAT, tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
