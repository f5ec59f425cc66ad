#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Our load generator beside Debian's kxdpgun, in turns over the same link and server, and whether its latencies are true.

A veth pair joins two network namespaces; Bowline serves over AF_XDP, with one CPU, the generators have the other. Loads:
  udp      as many queries as go; also with --verify, through AF_XDP sockets only (-m copy), and with replies dropped in the kernel (-r)
  paced    queries at a rate that the server answers, so that each has a reply to be matched, timed and verified
  connect  TCP, a connection per query, at a rate that both keep; Debian's wakes once a millisecond and sends what has become due: so do "bursts" of ours,
           which by itself sends each query when it is due, and spends CPU on waking for it
  flood    TCP, as many connections as go
  quic     QUIC, a connection and a query each, as many as Debian's knotd answers with the other CPU: what counts are those that were answered
  pause    50,000 queries/s to a server over sockets that pauses 100 ms each second (pausing_server): percentiles against what the pauses make of a
           queue that is filled evenly, worked off evenly, and measured by the server itself
Per load: queries or connections sent per second; per second of CPU time of the generator, user and system, its children included: what one core could do
if it had nothing else to do, and what counts on a shared machine; share that was answered.
"""
import argparse
import contextlib
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

from bench_lib import options, process, results, servers, zones
from harness.net import Pair
from harness.quic_knot import many_names, quic_knot
from harness.server import BUILD
from harness.waiting import wait_until

OURS, DEBIAN = str(BUILD / "src" / "tools" / "kxdpgun"), "/usr/sbin/kxdpgun"
MOST = 5_000_000
MOST_QUIC = 10_000       # per second: more than either server or generator can
COPY = ["-m", "copy"]
GENERATORS = {
    "udp": {"ours": (OURS, []), "debian": (DEBIAN, []), "ours, verify": (OURS, ["--verify", "ZONE"]), "ours, copy": (OURS, COPY),
            "ours, copy, verify": (OURS, [*COPY, "--verify", "ZONE"]), "ours, drop": (OURS, ["-r"]), "debian, drop": (DEBIAN, ["-r"])},
    "paced": {"ours": (OURS, []), "debian": (DEBIAN, []), "ours, bursts": (OURS, ["-b", "BURST"]), "ours, verify": (OURS, ["--verify", "ZONE"])},
    "connect": {"ours": (OURS, ["-T"]), "debian": (DEBIAN, ["-T"]), "ours, bursts": (OURS, ["-T", "-b", "BURST"])},
    "quic": {"ours": (OURS, ["-U"]), "debian": (DEBIAN, ["-U"]), "ours, full handshakes": (OURS, ["-U0"]), "debian, full handshakes": (DEBIAN, ["-U0"])},
    "flood": {"ours": (OURS, ["-T"]), "debian": (DEBIAN, ["-T"]), "ours, copy": (OURS, [*COPY, "-T"])},
}
COUNTED = {"connect": "total SYNs:", "flood": "total SYNs:", "quic": "total replies:"}
PAUSE = {"rate": 50_000, "pause_ms": 100, "period_ms": 1000}


def number_after(text, what):
    match = re.search(rf"{what}\s+(\d+)", text)
    return int(match.group(1)) if match else 0


def shoot(pair, program, arguments, rate, seconds, queries, counted="total queries:"):
    """One run: what it sent (or what else is counted), what was answered, CPU seconds."""
    processor = process.processors()[1]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = pair.exec(pair.client, program, *arguments, "-t", str(seconds), "-Q", str(rate), "-F", str(processor), "-i", str(queries), "-I", pair.client_if,
                     pair.server4, timeout=seconds + 60, check=False).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    sent = number_after(text, counted)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return {"per_s": sent / seconds, "per_cpu_s": sent / (user + system), "user_ns": user * 1e9 / max(sent, 1), "system_ns": system * 1e9 / max(sent, 1),
            "share": number_after(text, "total replies:") / max(sent, 1), "wrong": number_after(text, "wrong:")}, text


@contextlib.contextmanager
def bowline(args, pair, zone):
    with servers.make("bowline", servers.Setup([(args.origin, zone)], pair.server4, 53, pair.server, pair.server_if, tcp=True)) as server:
        processor = process.processors()[0]
        server.start(processor)
        server.wait_answer(args.origin)
        server.check_transport()
        process.settle(server.pid)
        process.pin(server.pid, processor)
        yield


@contextlib.contextmanager
def knot(pair):
    """Debian's knotd over QUIC, with names of its own."""
    with tempfile.TemporaryDirectory() as directory, quic_knot(pathlib.Path(directory), pair, many_names(100)) as log:
        wait_until(lambda: "loaded, serial" in log.read_text(), log.read_text)
        process.pin(int(re.search(r"PID (\d+)", log.read_text()).group(1)), process.processors()[0])
        queries = pathlib.Path(directory) / "queries"
        queries.write_text("".join(f"n{n}.example A\n" for n in range(100)), encoding="ascii")
        yield queries


def turn(args, load, zone, queries, number):
    """{generator: figures} of one server."""
    found = {}
    with Pair() as pair, knot(pair) if load == "quic" else bowline(args, pair, zone) as others:
        rate = {"connect": args.connections, "paced": args.rate, "quic": MOST_QUIC}.get(load, MOST)
        order = list(GENERATORS[load].items())
        values = {"ZONE": str(zone), "BURST": str(rate // 1000)}
        for name, (program, arguments) in order if number % 2 == 0 else reversed(order):
            found[name], text = shoot(pair, program, [values.get(a, a) for a in arguments], rate, args.seconds, others or queries, COUNTED.get(load, "total queries:"))
            if args.verbose:
                print(f"{load}, {name}:\n{text}")
    return found


def generators(args, load, zone, queries):
    """Rows of a table: medians of all turns."""
    rows = {}
    for number in range(args.turns):
        for name, figures in turn(args, load, zone, queries, number).items():
            rows.setdefault(name, []).append(figures)
    of = options.medians({name: rows[name] for name in GENERATORS[load]})
    unit = "queries" if load in ("udp", "paced") else "connections"
    columns = [("per_cpu_s", f"{unit} per second of CPU", 1, ",.0f"), ("per_s", f"{unit} per second", 1, ",.0f"), ("user_ns", "user ns each", 1, ",.0f"),
               ("system_ns", "system ns each", 1, ",.0f"), ("share", "answered", 1, ".3f"), ("wrong", "wrong answers", 1, ".0f")]
    table = {"title": f"{load}, medians of {args.turns} turns", "head": ["generator"] + [text for _, text, _, _ in columns] + ["CPU, against Debian's"],
             "rows": [[name] + [format(row[key] / unit_of, form) for key, _, unit_of, form in columns] +
                      [results.ratio(row["per_cpu_s"], of["debian, drop" if "drop" in name else "debian"]["per_cpu_s"])] for name, row in of.items()]}
    return table, rows


def truth(pauses, begin_ns, rate, seconds):
    """Latencies of all queries, in ms: a queue that fills at `rate` while the server pauses, and is worked off evenly until it is empty."""
    waits = []
    for number in range(int(rate * seconds)):
        due = begin_ns + number * 1e9 / rate
        wait = 0.0
        for begin, end, drained in pauses:
            if begin <= due < drained:
                wait = end + (due - begin) * (drained - end) / (drained - begin) - due
        waits.append(wait / 1e6)
    return sorted(waits)


def pause(args):
    """The percentiles that were measured against the true ones. Both go before whatever else runs on the machine: a server that others keep from
    working has more pauses than those that it knows of."""
    with Pair() as pair, tempfile.TemporaryDirectory() as directory:
        queries = pathlib.Path(directory) / "queries"
        queries.write_text("".join(f"h{n}.example A\n" for n in range(1000)), encoding="ascii")
        command = [str(BUILD / "tests" / "bench" / "pausing_server"), pair.server4, "53", str(PAUSE["pause_ms"]), str(PAUSE["period_ms"]), str(args.seconds + 3)]
        with subprocess.Popen(["chrt", "-f", "1", "nsenter", f"--net=/run/netns/{pair.server}", *command], stdout=subprocess.PIPE, text=True) as server:
            process.pin(server.pid, process.processors()[0])
            text = pair.exec(pair.client, "chrt", "-f", "1", OURS, "-j", "-t", str(args.seconds), "-Q", str(PAUSE["rate"]), "-F", str(process.processors()[1]), "--timeout", "2",
                             "-i", str(queries), pair.server4, timeout=args.seconds + 60).stdout
            pauses = [tuple(map(int, line.split())) for line in server.stdout]
    last = [line for line in map(json.loads, text.splitlines()) if line["type"] == "stats_sum"][-1]
    waits = truth([p for p in pauses if p[2] > 0], last["runid"], PAUSE["rate"], args.seconds)
    rows = []
    for name in ("p50", "p90", "p99", "p99.9", "p99.99", "max"):
        share = 100.0 if name == "max" else float(name[1:])
        true_ms = waits[min(len(waits) - 1, max(0, round(share / 100 * len(waits)) - 1))]
        measured_ms = last["latency_ns"][name] / 1e6
        rows.append([name, f"{true_ms:.3f}", f"{measured_ms:.3f}", f"{100 * (measured_ms / true_ms - 1):+.2f} %" if true_ms > 1 else "–",
                     f"{last['send_delay_ns'][name] / 1e6:.3f}"])
    title = f"latency at {PAUSE['rate']:,}/s, the server pauses 100 ms each second; {last['counts']['matched']:,} of {last['counts']['sent']:,} matched"
    return {"title": title, "head": ["", "by the pauses, ms", "measured, ms", "difference", "send delay, ms"], "rows": rows}, {"pauses": pauses, "report": last}


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-t", "--turns", type=int, default=3, help="[%(default)s]")
    parser.add_argument("--origin", default="example.", help="[%(default)s]")
    parser.add_argument("-n", "--names", type=options.size, default=100_000, help="delegations [%(default)s]")
    parser.add_argument("-s", "--seconds", type=int, default=4, help="of each run [%(default)s]")
    parser.add_argument("-c", "--connections", type=int, default=20_000, help="per second of the load `connect` [%(default)s]")
    parser.add_argument("-r", "--rate", type=int, default=100_000, help="queries per second of the load `paced` [%(default)s]")
    parser.add_argument("--loads", type=lambda text: text.split(","), default=["udp", "paced", "connect", "flood", "quic", "pause"], metavar="NAME,...",
                        help="[udp,paced,connect,flood,quic,pause]")
    parser.add_argument("-v", "--verbose", action="store_true", help="print what the generators say")
    args = parser.parse_args()
    options.need_root(parser)
    return args


def main():
    args = parse_args()
    zone = zones.tld(args.names, args.origin)
    queries = zones.plain(zones.questions(zone, args.origin))
    tables, turns = [], {}
    for load in args.loads:
        table, turns[load] = pause(args) if load == "pause" else generators(args, load, zone, queries)
        tables.append(table)
        results.show(table)
    results.keep("generator", "kxdpgun of ours and of Debian.", tables, [], turns)
    return 0


if __name__ == "__main__":
    sys.exit(main())
