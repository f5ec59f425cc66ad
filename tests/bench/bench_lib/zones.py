# SPDX-License-Identifier: BSD-2-Clause
"""Zone files and files of questions: made once per size and kept in the build tree."""
import pathlib
import random
import subprocess
import sys
import tempfile

from harness.server import BUILD, TOP

WORK = BUILD / "bench"
QUERIES_MAX = 400_000


def tld(names, origin, is_sorted=False, ds_share=None):
    """Path of a zone with that many delegations, owners shuffled or in canonical order (gen_tld.py). ds_share: of those with a DS, if it isn't the usual one."""
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / f"tld-{names}{'-sorted' if is_sorted else ''}{'' if ds_share is None else f'-ds{ds_share:g}'}.zone"
    if not path.exists():
        print(f"writing {path.name} ...", file=sys.stderr, flush=True)
        half = path.with_suffix(".half")
        subprocess.run([sys.executable, TOP / "tests" / "bench" / "gen_tld.py", "-n", str(names), *([] if is_sorted else ["--shuffle"]),
                        *([] if ds_share is None else ["--ds", str(ds_share)]),
                        "--origin", origin, "-o", str(half)], check=True)
        half.rename(path)
    return path


def questions(zone, origin):
    """Path of a file of questions for `zone`, as kxdpgun wants them."""
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / f"{pathlib.Path(zone).name}.queries"
    if not path.exists():
        write_questions(zone, path, origin)
    return path


def delegations(zone, origin):
    """Owners of NS below the apex, absolute, in the file's order."""
    last = None
    with open(zone, encoding="ascii", errors="replace") as file:
        for line in file:
            fields = line.split(None, 4)
            if len(fields) > 3 and "NS" in fields[1:4] and fields[0] != last and line[0] not in " \t@$;":
                last = fields[0]
                yield last if last.endswith(".") else f"{last}.{origin}"


def insecure(zone, origin):
    """Delegations without a DS, absolute, of a file whose owners come together."""
    last, has_ns, has_ds = None, False, False
    with open(zone, encoding="ascii", errors="replace") as file:
        for line in file:
            fields = line.split(None, 4)
            if len(fields) < 4 or line[0] in " \t@$;":
                continue
            if fields[0] != last:
                if has_ns and not has_ds:
                    yield last if last.endswith(".") else f"{last}.{origin}"
                last, has_ns, has_ds = fields[0], False, False
            has_ns, has_ds = has_ns or "NS" in fields[1:4], has_ds or "DS" in fields[1:4]


def write_questions(zone, path, origin):
    """Of ten questions eight ask below a delegation, one for a DS, one for a name that is not there; spread over the zone."""
    names = list(delegations(zone, origin))
    names = names[::max(1, len(names) // QUERIES_MAX)]
    random.Random(1).shuffle(names)
    half = path.with_suffix(".half")
    with open(half, "w", encoding="ascii") as out:
        for number, name in enumerate(names[:QUERIES_MAX]):
            kind = number % 10
            if kind == 8:
                out.write(f"{name} DS D\n")
            elif kind == 9:
                first, _, rest = name.partition(".")
                out.write(f"{first}x0.{rest} A D\n")
            else:
                out.write(f"www.{name} {'A' if kind & 1 else 'AAAA'} D\n")
    half.rename(path)


def plain(queries):
    """The same questions as dnsperf wants them: without flags."""
    path = queries.with_suffix(".dnsperf")
    if not path.exists():
        half = path.with_suffix(".half")
        with open(queries, encoding="ascii") as source, open(half, "w", encoding="ascii") as out:
            for line in source:
                out.write(" ".join(line.split()[:2]) + "\n")
        half.rename(path)
    return path


SIGNING = """\
server:
    rundir: {folder}
database:
    storage: {folder}/db
policy:
  - id: opt-out
    nsec3: on
    nsec3-opt-out: on
    nsec3-iterations: 0
    nsec3-salt-length: 0
    single-type-signing: on
    algorithm: ECDSAP256SHA256
    rrsig-lifetime: 3650d
zone:
  - domain: {origin}
    file: {path}
    dnssec-signing: on
    dnssec-policy: opt-out
    semantic-checks: off
"""


def signed(names, origin):
    """Path of the zone of tld(), signed with NSEC3 and opt-out by Knot DNS's kzonesign: a million delegations take it a minute or two."""
    plain_zone = tld(names, origin)
    path = plain_zone.with_name(f"tld-{names}-signed.zone")
    if not path.exists():
        print(f"signing {plain_zone.name} ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            conf = pathlib.Path(folder, "knot.conf")
            conf.write_text(SIGNING.format(folder=folder, origin=origin, path=plain_zone), encoding="ascii")
            for made in ("db", "out"):
                pathlib.Path(folder, made).mkdir()
            done = subprocess.run(["kzonesign", "-c", str(conf), "-o", f"{folder}/out", origin], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            made = list(pathlib.Path(folder, "out").iterdir())
            if done.returncode != 0 or not made:
                raise RuntimeError(f"kzonesign: exit {done.returncode}: {done.stdout}")
            made[0].rename(path)
        path.chmod(0o644)
    return path


def small(origin, names=100):
    """Path of a zone of some delegations, of any apex: for many zones."""
    WORK.mkdir(parents=True, exist_ok=True)
    path = WORK / f"small-{names}-{origin}zone"
    if not path.exists():
        lines = [f"$ORIGIN {origin}", "$TTL 3600", "@ SOA ns admin 1 1800 900 604800 3600", "@ NS ns", "ns A 192.0.2.1"]
        path.write_text("\n".join(lines + [f"d{number} NS ns{number % 10}.hoster.test." for number in range(names)]) + "\n", encoding="ascii")
    return path
