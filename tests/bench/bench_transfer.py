#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Zones over the network, in turns with Debian's Knot DNS, NSD and BIND: out to secondaries and in from primaries. Each server has one processor.

Parts (--parts):
  out       AXFR of a TLD over loopback to a reader that only counts (transfer_read): the server's CPU for each, without TSIG and with
            hmac-sha256; the kernel's part of sending is in it, and as this is loopback much of its part of receiving
  xdp       the same over AF_XDP, on a veth pair, Bowline only (Knot DNS 3.2 transfers no zones there). Needs root
  receivers many receivers of the TLD at once, some slow, over loopback and (as root) over AF_XDP, Bowline only: seconds, memory, and what a commit takes
            meanwhile. The server has one processor for all of its threads
  in        an empty secondary is started, its primary is Bowline on the other processor: seconds from exec to the first answer, highest memory
  ixfr      a secondary has the TLD; a scripted primary (scripted_primary) makes versions of one record more, sends NOTIFY, and serves the questions and the
            IXFR that follow. Then it asks for the SOA each 50 microseconds: microseconds from before the write of the IXFR's last byte, and from before the
            NOTIFY, to the answer with the new serial. The next version 5 ms after the last was served
  many      very many secondary zones of five records, with a scripted primary: seconds until all are transferred to a server that knows none, and
            after a stop, that lasts until all are due, from exec until each zone's SOA was asked for; meanwhile new versions at a rate, of random zones, from their NOTIFY to the answer.
            Memory per zone, and how much of that they have because they have a primary: against another start without `master`

--acceptance measures all that there are goals for, at their sizes, and ends with a table of the goals. Zones of that size take gigabytes of disk meanwhile.
"""
import contextlib
import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import time

import receivers
from bench_lib import goals, options, process, results, servers, zones
from harness.net import Pair, free_port, inside
from harness.server import BUILD, TOP

PEERS = ("knot", "nsd", "named")
LOADS = ("transfer_read", "scripted_primary")
SECRET = "benchmark-of-updates"         # as bench_lib.servers gives it to named
SECRET_BASE64 = "YmVuY2htYXJrLW9mLXVwZGF0ZXM="
WHAT = """\
Zones over the network: a TLD's zone out to a reader that only counts, in to an empty secondary, one record by NOTIFY and IXFR, and very many small secondary zones.

- CPU is that of all of the server's threads and processes, its system calls included, from the kernel's scheduler to the nanosecond. Over loopback the sender's system call
  also does most of the kernel's work for the receiver.
- Seconds of "in" are those of the secondary; its primary, Bowline, has the other processor, which other programs share.
- Times of one-record changes end with a reply that was asked for every 50 µs: that is their resolution."""


def load(name):
    return BUILD / "tests" / "bench" / name


def is_knot(name):
    """Bowline, an older build of it, or Knot DNS: those share a configuration."""
    return name.split("=")[0] not in ("nsd", "named")


# ---- Configurations ----

KNOT_KEY = f"key:\n  - id: key.\n    algorithm: hmac-sha256\n    secret: {SECRET_BASE64}\n"
KNOT_PRIMARY = KNOT_KEY + """\
acl:
  - id: signed
    key: key.
    action: transfer
  - id: plain
    action: transfer
template:
  - id: default
    zonefile-sync: -1
    zonefile-load: whole
    semantic-checks: off
    acl: [plain, signed]
"""
PATIENT = "tcp-io-timeout: 10000"       # a reader may wait for a processor
KNOT_SECONDARY = """\
remote:
  - id: primary
    address: 127.0.0.1@{port}
acl:
  - id: notify
    address: 127.0.0.1
    action: notify
template:
  - id: default
    zonefile-sync: -1
    semantic-checks: off
{more}"""
KNOT_MASTER = "    master: primary\n    acl: notify\n"


def primary(name, args, path, **setup):
    """A server, not started, that gives the zone to all."""
    apex = args.origin
    conf = {
        "nsd": f'key:\n  name: "key."\n  algorithm: hmac-sha256\n  secret: "{SECRET_BASE64}"\n'
               f'zone:\n  name: "{apex}"\n  zonefile: "{path}"\n  provide-xfr: 0.0.0.0/0 NOKEY\n  provide-xfr: 0.0.0.0/0 key.\n',
        "named": f'zone "{apex.rstrip(".")}" {{ type primary; file "{path}"; allow-transfer {{ any; }}; zone-statistics none; }};',
    }.get(name.split("=")[0], "")
    return prepared(servers.make(name, servers.Setup([(apex, path)], text=KNOT_PRIMARY, server=PATIENT, conf=conf, **setup)))


def secondary(name, args, port, path=None):
    """A server, not started, with a primary at a port of loopback; path: of the version that it has, which is copied."""
    apex, file = args.origin, "secondary.zone"
    if is_knot(name):
        setup = servers.Setup([], text=KNOT_SECONDARY.format(port=port, more=KNOT_MASTER), zone_text=f"zone:\n  - domain: {apex}\n    file: {file}\n")
    else:
        text = "masterfile-format text; " if path else ""
        setup = servers.Setup([], conf={
            "nsd": f'server:\n  xfrd-reload-timeout: 0\nzone:\n  name: "{apex}"\n  zonefile: "{file}"\n'
                   f"  allow-notify: 127.0.0.1 NOKEY\n  request-xfr: 127.0.0.1@{port} NOKEY\n",
            "named": f'zone "{apex.rstrip(".")}" {{ type secondary; file "{file}"; {text}primaries port {port} {{ 127.0.0.1; }}; zone-statistics none; }};',
        }[name], options="serial-query-rate 100000; startup-notify-rate 100000;")
    server = prepared(servers.make(name, setup))
    if is_knot(name):
        conf = server.daemon.path
        conf.write_text(conf.read_text().replace(f"file: {file}", f'file: "{server.dir / file}"'))
    if path:
        shutil.copy(path, server.dir / file)
        (server.dir / file).chmod(0o666)
    return server


def prepared(server):
    (server.dir / "db").mkdir(exist_ok=True)
    for folder in (server.dir, server.dir / "db"):
        folder.chmod(0o777)         # Knot DNS drops root's rights
    return server


def started(server, args, processor):
    """Start it, wait until it has nothing more to do."""
    server.start(processor)
    seconds = server.wait_answer(args.origin)
    process.settle(server.pid)
    process.pin(server.pid, processor)
    return seconds


# ---- out: AXFR to a reader ----

def read(args, server, secret, namespace=None):
    """CPU of the server and what the reader says, for each transfer."""
    found = []
    with inside(namespace), process.on_processor(process.processors()[1]):
        for _ in range(args.transfers):
            before = process.clock_of_all(server.pid)
            said = json.loads(subprocess.run([load("transfer_read"), server.setup.address, str(server.port), args.origin, "1", secret], check=True,
                                             stdout=subprocess.PIPE, text=True, timeout=300).stdout)
            time.sleep(0.05)        # what the server does behind a transfer
            found.append(said | {"cpu_s": process.clock_of_all(server.pid) - before})
            if secret and not said["signatures"]:
                raise RuntimeError(f"{server.name} doesn't sign its transfers")
    return found


def out_figures(args, server, namespace=None):
    result = {}
    for key, secret in (("plain", ""), ("tsig", SECRET)):
        found = read(args, server, secret, namespace)
        result |= {f"{key}_cpu_s": statistics.median(row["cpu_s"] for row in found), f"{key}_s": statistics.median(row["seconds"] for row in found),
                   f"{key}_bytes": found[0]["bytes"], f"{key}_messages": found[0]["messages"], "records": found[0]["records"] - 1}
    result["memory_bytes"] = process.memory(server.pid)
    return result


def out_turn(name, args):
    with primary(name, args, zones.tld(args.names, args.origin)) as server:
        started(server, args, process.processors()[0])
        return out_figures(args, server)


def xdp_turn(name, args):
    if name in PEERS:
        return {}
    with Pair() as pair, primary(name, args, zones.tld(args.names, args.origin), address=pair.server4, port=53, namespace=pair.server, xdp=pair.server_if,
                                 tcp=True) as server:
        started(server, args, process.processors()[0])
        server.check_transport()
        return out_figures(args, server, pair.client)


OUT_METRICS = (("records", "records", 1, ",.0f"),) + tuple(row for key, what in (("plain", "without TSIG"), ("tsig", "with TSIG")) for row in (
    (f"{key}_cpu_s", f"CPU of the server, {what}, s", 1, ",.3f"), (f"{key}_s", f"until the last byte, {what}, s", 1, ",.3f"),
    (f"{key}_bytes", f"bytes, {what}, MB", 1e6, ",.1f"), (f"{key}_messages", f"messages, {what}", 1, ",.0f"))) + (
    ("memory_bytes", "memory afterwards, MB", 1e6, ",.1f"),)


def bench_out(args):
    yield f"out {args.names}", f"AXFR out over loopback, {args.names:,} delegations", OUT_METRICS, lambda name: out_turn(name, args)


def bench_xdp(args):
    yield f"xdp {args.names}", f"AXFR out over AF_XDP, {args.names:,} delegations", OUT_METRICS, lambda name: xdp_turn(name, args)


# ---- receivers: many at once ----

def receivers_turn(name, args, is_xdp):
    if name in PEERS:
        return {}
    path = zones.tld(args.names, args.origin)
    with contextlib.ExitStack() as stack:
        pair = stack.enter_context(Pair()) if is_xdp else None
        where = {"address": pair.server4, "port": 53, "namespace": pair.server, "xdp": pair.server_if, "tcp": True} if is_xdp else {}
        server = stack.enter_context(primary(name, args, path, **where))
        started(server, args, process.processors()[0])
        if is_xdp:
            server.check_transport()
        return receivers.figures(server, args, pair.client if is_xdp else None)


def bench_receivers(args):
    for is_xdp in (False, True) if os.geteuid() == 0 else (False,):
        way = "AF_XDP" if is_xdp else "TCP sockets"
        yield (f"receivers {'xdp' if is_xdp else 'tcp'} {args.names}", f"AXFR to {args.receivers} receivers at once over {way}, {args.slow} of them slow, {args.names:,} delegations",
               receivers.METRICS, lambda name, way=is_xdp: receivers_turn(name, args, way))


# ---- in: AXFR to an empty secondary ----

def in_turn(name, args):
    mine, other = process.processors()
    with primary("bowline", args, zones.tld(args.names, args.origin)) as source:
        started(source, args, other)
        with secondary(name, args, source.port) as server:
            server.start(mine)
            with process.Peak(server.pid) as peak:
                result = {"first_s": server.wait_answer(args.origin), "first_cpu_s": process.clock_of_all(server.pid)}
                process.settle(server.pid)
            peak_bytes = max(peak.bytes, process.memory(server.pid))
            return result | {"peak_bytes": peak_bytes, "memory_bytes": process.memory(server.pid), "cpu_s": process.clock_of_all(server.pid)}


IN_METRICS = (("first_s", "exec to the first answer, s", 1, ",.2f"), ("first_cpu_s", "CPU until then, s", 1, ",.2f"), ("cpu_s", "CPU until all is saved, s", 1, ",.2f"),
              ("peak_bytes", "highest memory, MB", 1e6, ",.1f"), ("memory_bytes", "settled memory, MB", 1e6, ",.1f"))


def bench_in(args):
    yield f"in {args.names}", f"AXFR in, an empty secondary, {args.names:,} delegations", IN_METRICS, lambda name: in_turn(name, args)


# ---- ixfr: one record ----

class ScriptedPrimary:
    """The program, from the block's begin on; said() waits for its end."""

    def __init__(self, port, secondary_port, origin, until, count=0, refresh=1800, versions=0, per_s=0):
        command = [load("scripted_primary"), *map(str, (port, secondary_port, origin.rstrip("."), count, refresh, versions, per_s)), until]
        with process.on_processor(process.processors()[1]):
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def said(self, timeout):
        """What it prints when all is done, or when time is up; it goes on answering."""
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.process.terminate()
        return json.loads(self.process.stdout.readline())

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def times(said):
    return {f"{key}_{end}_s": said.get(f"{key}_{end}_us", 0) / 1e6 for key in ("served", "told") for end in ("median", "p99", "max")}


def ixfr_turn(name, args):
    versions = args.peer_versions if name.split("=")[0] in PEERS else args.versions
    port = free_port()
    with secondary(name, args, port, zones.tld(args.names, args.origin)) as server:
        started(server, args, process.processors()[0])
        before = process.clock_of_all(server.pid)
        with ScriptedPrimary(port, server.port, args.origin, "notified", versions=versions) as scripted:
            said = scripted.said(args.seconds)
        cpu = process.clock_of_all(server.pid) - before
    served = said["versions"] - said["lost"]
    return {"versions": served, "lost": said["lost"], **times(said), "cpu_s": cpu / max(served, 1)}


TIMES = tuple((f"{key}_{end}_s", f"{what}, {word} ms", 1e-3, ",.3f") for key, what in (
    ("served", "last byte of the transfer to the answer"), ("told", "NOTIFY to the answer")) for end, word in (("median", "median"), ("p99", "99 %"), ("max", "longest")))
IXFR_METRICS = (("versions", "versions", 1, ",.0f"), ("lost", "not served within 20 s", 1, ",.0f"), *TIMES,
                ("cpu_s", "CPU of the server per version, questions of the primary included, ms", 1e-3, ",.3f"))


def bench_ixfr(args):
    yield f"ixfr {args.names}", f"A new version of one record more, NOTIFY and IXFR, {args.names:,} delegations", IXFR_METRICS, lambda name: ixfr_turn(name, args)


# ---- many: a million secondary zones ----

KNOT_KEEPS = "    zonefile-load: none\n    journal-content: all\n"       # Bowline has images


def many_text(name, count, origin, port):
    return (KNOT_SECONDARY.format(port=port, more=(KNOT_KEEPS if name in PEERS else "") + KNOT_MASTER),
            "zone:\n" + "".join(f"  - domain: z{number}.{origin}\n" for number in range(count)))


def wait_saved(server, quiet=15.0, timeout=300):
    """Until nothing was written to its databases for a while: secondaries never rest."""
    end, last, before = time.monotonic() + timeout, time.monotonic(), None
    while time.monotonic() - last < quiet and time.monotonic() < end:
        now = [(path.stat().st_size, path.stat().st_mtime_ns) for path in sorted((server.dir / "db").glob("**/data.mdb"))]
        last = time.monotonic() if now != before else last
        before = now
        time.sleep(0.2)


def restarted(server, args, count, port, processor):
    """Start it after a stop, with new versions meanwhile: figures."""
    with ScriptedPrimary(port, server.port, args.origin, "asked", count, args.refresh, 1 << 30, args.version_rate) as scripted:
        server.start(processor)
        with process.Peak(server.pid) as peak:
            said = scripted.said(args.many_seconds)
        result = {"peak_bytes": peak.bytes, "fresh": said["asked"], "fresh_s": said["last_s"] - server.started, "first_question_s": said["first_s"] - server.started,
                  "fresh_cpu_s": process.clock_of_all(server.pid), "questions": said["questions"], "again": said["transferred"], "versions": said["versions"],
                  "lost": said["lost"], **times(said)}
        wait_saved(server)
        return result | {"memory_bytes": process.memory(server.pid)}


def many_turn(name, args, count):
    if name in ("nsd", "named") or (name in PEERS and count > args.peer_zones):
        return {}
    port, processor = free_port(), process.processors()[0]
    text, zone_text = many_text(name, count, args.origin, port)
    with prepared(servers.make(name, servers.Setup([], text=text, zone_text=zone_text, log="warning"))) as server:
        with ScriptedPrimary(port, server.port, args.origin, "transferred", count, args.refresh) as scripted:
            server.start(processor)
            said = scripted.said(args.many_seconds)
            result = {"zones": count, "transferred": said["transferred"], "transferred_s": said["last_s"] - server.started,
                      "transferred_cpu_s": process.clock_of_all(server.pid)}
            wait_saved(server)
            server.stop()
        time.sleep(1.1 * args.refresh)      # all are due, also those that have asked once more
        result |= restarted(server, args, count, port, processor)
        server.stop()
        server.daemon.path.write_text(server.daemon.path.read_text().replace(KNOT_MASTER, ""))
        server.start(processor)
        server.wait_answer(f"z{count - 1}.{args.origin}", 600)
        process.settle(server.pid, 60)
        result["plain_bytes"] = process.memory(server.pid)
    return result | {"per_zone_bytes": result["memory_bytes"] / count, "state_bytes": (result["memory_bytes"] - result["plain_bytes"]) / count}


MANY_METRICS = (
    ("transferred", "first start: zones transferred", 1, ",.0f"), ("transferred_s", "first start: until then, s", 1, ",.1f"),
    ("transferred_cpu_s", "first start: CPU until then, s", 1, ",.1f"), ("fresh", "after a stop: zones whose SOA was asked for", 1, ",.0f"),
    ("fresh_s", "after a stop: exec until then, s", 1, ",.1f"), ("first_question_s", "after a stop: exec to the first question, s", 1, ",.1f"),
    ("fresh_cpu_s", "after a stop: CPU until then, s", 1, ",.1f"), ("questions", "questions and transfers", 1, ",.0f"), ("again", "zones transferred", 1, ",.0f"),
    ("versions", "new versions meanwhile", 1, ",.0f"), ("lost", "not served within 20 s", 1, ",.0f"), *TIMES,
    ("peak_bytes", "highest memory until all are fresh, MB", 1e6, ",.1f"), ("memory_bytes", "settled memory, MB", 1e6, ",.1f"), ("per_zone_bytes", "memory per zone, bytes", 1, ",.0f"),
    ("state_bytes", "of that because it has a primary, bytes", 1, ",.0f"))


def bench_many(args):
    for count in args.zones:
        yield f"many {count}", f"{count:,} secondary zones", MANY_METRICS, lambda name, n=count: many_turn(name, args, n)


# ---- The whole ----

PARTS = {"out": bench_out, "xdp": bench_xdp, "receivers": bench_receivers, "in": bench_in, "ixfr": bench_ixfr, "many": bench_many}
ROOTED = ("xdp",)
# What --acceptance changes of the options.
ACCEPTANCE = {"names": 1_000_000, "zones": [10_000, 1_000_000], "transfers": 5, "versions": 2000, "peer_versions": 40, "refresh": 60, "many_seconds": 800}


def parse_args():
    parser = options.parser(__doc__, "bowline,knot,nsd,named", 1)
    parser.add_argument("--acceptance", action="store_true", help="all that there are goals for, and a table of them")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=[part for part in PARTS if part not in ROOTED or os.geteuid() == 0],
                        metavar="PART,...", help=f"[{','.join(PARTS)}; {', '.join(ROOTED)} only as root]")
    parser.add_argument("-n", "--names", type=options.size, default=100_000, metavar="N", help="delegations of the TLD [100k]")
    parser.add_argument("--transfers", type=int, default=3, metavar="N", help="of out and xdp, each [%(default)s]")
    parser.add_argument("--receivers", type=int, default=200, metavar="N", help="of part receivers, at once [%(default)s]")
    parser.add_argument("--slow", type=int, default=20, metavar="N", help="of them slow [%(default)s]")
    parser.add_argument("--calm", type=float, default=5, metavar="S", help="seconds of commits without receivers [%(default)s]")
    parser.add_argument("--timeout", type=float, default=600, metavar="S", help="that receivers may take [%(default)s]")
    parser.add_argument("--versions", type=int, default=500, metavar="N", help="of ixfr [%(default)s]")
    parser.add_argument("--peer-versions", type=int, default=20, metavar="N", help="of ixfr, of peers [%(default)s]")
    parser.add_argument("--seconds", type=float, default=60, help="of ixfr, at most [%(default)s]")
    parser.add_argument("--zones", type=options.sizes, default=[1000], metavar="N,...", help="of many [1000]")
    parser.add_argument("--peer-zones", type=options.size, default=10_000, metavar="N", help="of many, at most, of peers [%(default)s]")
    parser.add_argument("--version-rate", type=int, default=50, metavar="N", help="new versions a second, of many [%(default)s]")
    parser.add_argument("--refresh", type=int, default=10, metavar="S", help="of the SOA of zones of many; the stop lasts until all are due [%(default)s]")
    parser.add_argument("--many-seconds", type=float, default=120, help="that many waits at most [%(default)s]")
    parser.add_argument("--join", action="store_true", help="keep the tables that the last run had of parts that aren't measured now")
    if "--acceptance" in sys.argv:
        parser.set_defaults(**ACCEPTANCE)
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    if set(ROOTED) & set(args.parts):
        options.need_root(parser)
    return args


def kept_before():
    """Tables and turns of the last run."""
    path = results.FOLDER / "transfer.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"tables": [], "turns": {}}
    return found["tables"], found["turns"]


def main():
    args = parse_args()
    subprocess.run(["make", "-C", str(BUILD), "-s", *(f"tests/bench/{name}" for name in LOADS)], check=True, cwd=TOP)
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    old_tables, old_turns = kept_before() if args.join else ([], {})
    for part, bench in PARTS.items():
        for key, title, metrics, turn in bench(args):
            if part not in args.parts:
                turns |= {key: old_turns[key]} if key in old_turns else {}
                tables += [table for table in old_tables if table["title"].startswith(f"{title} (")]
                continue
            at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
            rows = options.in_turns(args.servers, args.turns, turn, f"{key}, ")
            turns[key] = {name: made for name, made in rows.items() if made[0]}
            if turns[key]:
                tables.append(results.metrics_table(f"{title} ({at}, load {os.getloadavg()[1]:.0f})", options.medians(turns[key]), metrics))
                results.show(tables[-1])
    reached = goals.table({"transfer": {"turns": turns}}, [name for name in args.servers.split(",") if name in PEERS])
    if reached is not None and args.acceptance:
        tables.append(reached)
    results.keep("transfer", WHAT, tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
