#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What changes of a zone cost, in turns with Debian's Knot DNS and BIND. Zones are not written back to their files.

Bowline and Knot DNS change by transactions of the control socket (zone-begin, zone-set, zone-commit, sent at once), named by dynamic updates
over loopback: one record in one update. All threads of a server have one processor. Parts (--parts):
  one       CPU of the server for a commit of one delegation that comes or goes, to the nanosecond, work in the background that falls between two
            commits included; seconds until it is acknowledged; after the OK a query: how many answers lack the change. For sizes, and signed
            (NSEC3, opt-out, by kzonesign; named doesn't take changes of a zone without its keys)
  sizes     CPU of a commit to a large zone as a share of that to a small one: two servers, in slices by turns, so that what else the machine does
            meets both
  sessions  commits per second of 64 sessions that each wait for their OK: of 64 zones, and all of one zone (a zone has one transaction at a
            time over the control socket: there sessions take turns)
  batch     10,000 delegations in one commit, and the commit alone
  random    delegations, DS and glue come and go at random: memory meanwhile against a server that has just loaded the zone, the longest
            commit, and the longest that one of 1,000 queries a second waits, against the same without commits
  load      over AF_XDP: replies per second of as many queries as the generator sends in each state, replies per second of CPU of the thread that
            answers, and latency: without commits, with 1,000 a second, and with as many at a neighbour, a second server of the same build with the
            same zone, in short slices by turns. The thread that answers has the processor that devices interrupt least,
            and goes before other programs there. The load has another one,
            and so have all else: the servers' other threads, the neighbour, the commits; with two processors these two are the same. So what commits cost
            answering is with/neighbour; neighbour/without is what it costs that a program on another processor writes as much. Needs root
  start     a start after kill -9, when a checkpoint and then 10,000 commits were made (as many as fit into a minute): seconds to the first
            answer, and the commits that are gone; with Bowline once more where journal-max-depth lets no changes be merged
A server that needs a second for each commit makes fewer of them than asked for: rows say how many.

--acceptance measures all parts at the sizes for which there are goals, peers where there is something to compare, and ends with a table of the
goals: about eleven minutes on a quiet machine with two processors, as root. The zones are made before: --acceptance --prepare (ten minutes, once;
2.5 GB). Memory under a million random commits takes as long again: --parts random --random 1M --random-seconds 900 --random-ahead 20 --servers bowline.
"""
import contextlib
import multiprocessing
import os
import random
import re
import signal
import socket
import statistics
import sys
import threading
import time

from bench_lib import changes, goals, loads, options, process, results, servers, zones
from harness.net import Pair

SESSIONS = 64
PEERS = ("knot", "named")
WHAT = """\
Zones changed from outside while they are served. Bowline's commits, and Knot's with its journal, are on the disk when they are acknowledged.

- Commits at a *neighbour*: a second server of the same build gets them, whose threads run where those of the measured server do that don't answer. So
  with/neighbour is what commits cost answering; neighbour/without is what it costs that another program beside it writes as much: caches, memory, disk.
  The quartiles are those of the ratios of slices that followed each other.
- Replies during commits are of a rate that the generator keeps in each state (--load-rate), and it goes before all else on its processor. With as many queries as
  it can send, it would share that processor with the commits, and replies/s would say how many queries it could send meanwhile. What the thread could answer at most
  is replies per second of its CPU.
- Latency during commits is from the moment before a query is sent to the moment when the kernel has the reply: a program that asks waits for its processor, which
  it shares with the commits, and that isn't the server's time. The answering thread goes before other programs on its processor (SCHED_FIFO), and no other thread of
  either server runs there: it has the processor as if that were set apart for it. *Waited for its processor* is what remains: the kernel of this machine takes no
  processor from a program that is in a system call. With --load-shared the thread has no such right.
- A query that waits while the server uses less CPU than the wait is long waits for the machine: another program, or the host of the virtual machine."""
WARM_UP = 4
KNOT_TEXT = """\
template:
  - id: default
    zonefile-sync: -1
    zonefile-load: whole
    semantic-checks: off
"""


def make(name, zones_of, args, more="", **setup):
    """A server. more: lines for the template of Knot's configuration."""
    server = servers.make(name, servers.Setup(zones_of, text=KNOT_TEXT + more, **setup))
    (server.dir / "db").mkdir(exist_ok=True)
    (server.dir / "db").chmod(0o777)        # of Knot DNS's journal
    server.dir.chmod(0o777)
    return server


def session(server, args):
    if isinstance(server, servers.NamedServer):
        return changes.UpdateSession(server.setup.address, server.port)
    # Knot DNS 3.2 serves one control connection at a time.
    return changes.ControlSession(server.daemon.socket, 1 if server.name in args.reconnect else 1000)


def seconds_of(name, args):
    """How long a server commits at most."""
    return args.peer_seconds if name.split("=")[0] in PEERS else args.seconds


def delegation(number):
    """One delegation comes, or goes."""
    return [(number % 2 == 0, f"bench-{number // 2:07}", "NS", f"ns{number % 50}.hoster.test." if number % 2 == 0 else "")]


def at(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


# ---- one: a commit of one record ----

class Asker:
    """Asks whether a delegation is there."""

    def __init__(self, server):
        self.sock, self.ident = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
        self.sock.settimeout(5)
        self.sock.connect((server.setup.address, server.port))

    def is_there(self, name):
        for _ in range(5):      # a datagram may be lost where the machine has no time
            self.ident = (self.ident + 1) & 0xffff
            self.sock.send(servers.question(name, 1, self.ident))
            with contextlib.suppress(TimeoutError):
                while int.from_bytes((reply := self.sock.recv(4096))[:2], "big") != self.ident:
                    pass
                return (reply[3] & 15) == 0
        raise RuntimeError(f"no answer to {name}")

    def is_late(self, zone, number):
        """True if the answer lacks what commit `number` did."""
        return self.is_there(f"{delegation(number)[0][1]}.{zone}") != delegation(number)[0][0]


def one_turn(name, args, size, is_signed):
    if is_signed and name.split("=")[0] == "named":
        return {}
    path = (zones.signed if is_signed else zones.tld)(size, args.origin)
    with make(name, [(args.origin, path)], args) as server:
        server.start(process.processors()[0])
        server.wait_answer(args.origin)
        process.settle(server.pid)
        process.pin(server.pid, process.processors()[0])
        one, asker = session(server, args), Asker(server)
        for number in range(WARM_UP):
            changes.commit(one, args.origin, delegation(number))
        took, cpus, late = [], [], 0
        begin, before = time.monotonic(), process.cpu_clock(server.pid)
        for number in range(args.commits):
            took.append(changes.commit(one, args.origin, delegation(number)))
            if number < 1000:
                late += asker.is_late(args.origin, number)
            now = process.cpu_clock(server.pid)
            cpus.append(now - before)
            before = now
            if time.monotonic() - begin > seconds_of(name, args):
                break
    return {"commits": len(took), "cpu_median_s": statistics.median(cpus), "cpu_p99_s": at(cpus, 0.99), "cpu_mean_s": statistics.mean(cpus),
            "took_median_s": statistics.median(took), "took_p99_s": at(took, 0.99), "asked": min(len(took), 1000), "late": late}


ONE_METRICS = (
    ("commits", "commits", 1, ",.0f"), ("cpu_median_s", "CPU of a commit, median ms", 1e-3, ",.3f"), ("cpu_p99_s", "CPU of a commit, 99 % ms", 1e-3, ",.3f"),
    ("cpu_mean_s", "CPU of a commit, mean ms", 1e-3, ",.3f"), ("took_median_s", "until acknowledged, median ms", 1e-3, ",.3f"),
    ("took_p99_s", "until acknowledged, 99 % ms", 1e-3, ",.3f"), ("asked", "queries right after the OK", 1, ",.0f"),
    ("late", "of them answered without the change", 1, ",.0f"))


def bench_one(args):
    for is_signed in args.signed:
        for size in args.signed_names if is_signed else args.names:
            key = f"one {size}{' signed' if is_signed else ''}"
            yield key, f"A commit of one record, {size:,} delegations{', signed (NSEC3, opt-out)' if is_signed else ''}", ONE_METRICS, (
                lambda name, n=size, s=is_signed: one_turn(name, args, n, s))


# ---- sizes: a commit to a large zone against one to a small one ----

def sizes_turn(name, args, sizes):
    """Two servers that stay, slices by turns: what else the machine does meets both."""
    with contextlib.ExitStack() as stack:
        served, number, cpus = [], 0, {size: [] for size in sizes}
        for size in sizes:
            server = stack.enter_context(make(name, [(args.origin, zones.tld(size, args.origin))], args))
            server.start(process.processors()[0])
            server.wait_answer(args.origin)
            process.settle(server.pid)
            process.pin(server.pid, process.processors()[0])
            served.append((size, server, session(server, args)))
        for _ in range(args.size_slices):
            for size, server, one in served:
                one.close()         # before the server ends an idle connection
                for each in range(WARM_UP):
                    changes.commit(one, args.origin, delegation(number + each))
                costs, before = [], process.cpu_clock(server.pid)
                for each in range(WARM_UP, args.size_commits):
                    changes.commit(one, args.origin, delegation(number + each))
                    costs.append(process.cpu_clock(server.pid) - before)
                    before += costs[-1]
                cpus[size].append((statistics.median(costs), statistics.mean(costs)))
            number += args.size_commits
    result = {"slices": args.size_slices}
    for index, which in enumerate(("median", "mean")):
        small, large = ([figures[index] for figures in cpus[size]] for size in sizes)
        shares = [other / own for own, other in zip(small, large)]
        result |= {f"small_{which}_s": statistics.median(small), f"large_{which}_s": statistics.median(large), f"{which}_share": statistics.median(shares),
                   f"{which}_low": at(shares, 0.25), f"{which}_high": at(shares, 0.75)}
    return result


SIZES_METRICS = (("slices", "slices of each", 1, ",.0f"),) + tuple(row for which in ("median", "mean") for row in (
    (f"small_{which}_s", f"small zone: CPU of a commit, {which} ms", 1e-3, ",.3f"), (f"large_{which}_s", f"large zone: CPU of a commit, {which} ms", 1e-3, ",.3f"),
    (f"{which}_share", f"large / small, {which}", 1, ".2f"), (f"{which}_low", f"large / small, {which}, lower quartile", 1, ".2f"),
    (f"{which}_high", f"large / small, {which}, upper quartile", 1, ".2f")))


def bench_sizes(args):
    small, large = args.size_names
    yield "sizes", f"A commit of one record, {large:,} delegations against {small:,}, in slices by turns", SIZES_METRICS, (
        lambda name: {} if name in PEERS else sizes_turn(name, args, (small, large)))


# ---- sessions: commits per second ----

def sessions_turn(name, args):
    origins = [f"z{number}.test." for number in range(SESSIONS)]
    result = {}
    with make(name, [(origin, zones.small(origin)) for origin in origins], args) as server:
        server.start(process.processors()[0])
        for origin in origins:
            server.wait_answer(origin)
        process.settle(server.pid)
        process.pin(server.pid, process.processors()[0])
        numbers = dict.fromkeys(origins, 0)

        def next_change(zone):
            numbers[zone] += 1
            return delegation(numbers[zone] - 1)

        for key, among in (("many", origins), ("single", origins[:1])):
            sessions = [session(server, args) for _ in range(SESSIONS)]
            cpu = process.cpu_clock(server.pid)
            done, seconds, refused = changes.storm(sessions, among, next_change, args.storm_seconds)
            result |= {f"{key}_per_s": done / seconds, f"{key}_cpu_s": (process.cpu_clock(server.pid) - cpu) / max(done, 1), f"{key}_refused": refused}
            for each in sessions:
                each.close()
    return result


SESSION_METRICS = tuple(
    (f"{key}_{end}", f"{what}: {text}", unit, form) for key, what in (("many", "64 zones"), ("single", "one zone")) for end, text, unit, form in (
        ("per_s", "commits per second", 1, ",.0f"), ("cpu_s", "CPU of a commit, ms", 1e-3, ",.3f"), ("refused", "refused, tried again", 1, ",.0f")))


def bench_sessions(args):
    yield "sessions", f"{SESSIONS} sessions at once, each commit waited for, zones of 100 delegations", SESSION_METRICS, lambda name: sessions_turn(name, args)


# ---- batch: many records in one commit ----

def batch_turn(name, args, size):
    if name.split("=")[0] == "named":
        return {}       # a message has 64 KB
    with make(name, [(args.origin, zones.tld(size, args.origin))], args) as server:
        server.start(process.processors()[0])
        server.wait_answer(args.origin)
        process.settle(server.pid)
        process.pin(server.pid, process.processors()[0])
        one = session(server, args)
        changes.commit(one, args.origin, delegation(0))
        begin, cpu = time.monotonic(), process.cpu_clock(server.pid)
        edit = changes.Transaction(one, args.origin)
        edit.change([(True, f"batch-{number:06}", "NS", f"ns{number % 50}.hoster.test.") for number in range(args.batch)])
        before_commit, cpu_commit = time.monotonic(), process.cpu_clock(server.pid)
        edit.commit()
        acknowledged = time.monotonic()
        late = Asker(server).is_there(f"batch-{args.batch - 1:06}.{args.origin}") is not True
        process.settle(server.pid)
        end = process.cpu_clock(server.pid)
    return {"records": args.batch, "cpu_s": end - cpu, "commit_cpu_s": end - cpu_commit, "took_s": acknowledged - begin, "commit_took_s": acknowledged - before_commit,
            "late": int(late)}


BATCH_METRICS = (("records", "records", 1, ",.0f"), ("commit_cpu_s", "CPU of zone-commit, and after it, ms", 1e-3, ",.1f"),
                 ("commit_took_s", "zone-commit, ms", 1e-3, ",.1f"), ("cpu_s", "CPU of all, zone-set included, ms", 1e-3, ",.1f"),
                 ("took_s", "all, ms", 1e-3, ",.1f"), ("late", "answers without the change", 1, ",.0f"))


def bench_batch(args):
    for size in args.batch_names:
        yield f"batch {size}", f"{args.batch:,} records in one commit, {size:,} delegations", BATCH_METRICS, lambda name, n=size: batch_turn(name, args, n)


# ---- random: memory and stalls ----

class Random:
    """Delegations, DS and glue that come and go at random, as many as come; the same each time."""

    def __init__(self, rng, origin, share):
        self.rng, self.origin, self.share, self.there, self.last = rng, origin, share, [], 0

    def next(self, _zone):
        kind = self.rng.random()
        if self.there and kind >= self.share:
            position = self.rng.randrange(len(self.there))
            self.there[position], self.there[-1] = self.there[-1], self.there[position]
            return [(False, owner, rdtype, "") for owner, rdtype in self.there.pop()]
        self.last += 1
        owner = f"r{self.rng.randrange(1 << 30):x}-{self.last}"
        if kind < 0.6 * self.share:
            made = [(True, owner, "NS", f"ns{self.last % 5000}.hoster.test.")]
        else:
            made = [(True, owner, "NS", f"ns1.{owner}.{self.origin}"), (True, f"ns1.{owner}", "A", "192.0.2.1"),
                    (True, owner, "DS", f"{self.last % 65536} 13 2 {self.rng.getrandbits(256):064X}")]
        self.there.append([(owner, rdtype) for _, owner, rdtype, _ in made])
        return made


def probe(pid, address, port, name, end, results_pipe):
    """A query each millisecond, one at a time: how long it waited, for how long of that others had the processor of the thread that answers (Bowline), and what CPU
    time the server used meanwhile. It goes before whatever else wants its processor, if it may."""
    os.sched_setaffinity(0, {process.processors()[1]})
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    waits, own, others = [], [], []
    thread = process.thread_named(pid, "udp-0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, port))
        sock.settimeout(30)
        query = servers.question(name, 6)
        while not end.is_set():
            waited = process.waited(pid, thread) if thread is not None else 0.0
            begin, before = time.monotonic(), process.cpu_clock(pid)
            sock.send(query)
            sock.recv(4096)
            waits.append(time.monotonic() - begin)
            own.append(process.cpu_clock(pid) - before)
            others.append(process.waited(pid, thread) - waited if thread is not None else 0.0)
            time.sleep(max(0.0, 0.001 - waits[-1]))
    results_pipe.send((waits, own, others))


class Probe:
    """Queries from a process of its own while the block runs; `waits`: seconds of each; `own`: the server's CPU in them; `others`: other threads had the processor, its own or
    others' (Bowline)."""

    def __init__(self, server, name):
        self.end, (self.pipe, other) = multiprocessing.Event(), multiprocessing.Pipe(False)
        self.process = multiprocessing.Process(target=probe, args=(server.pid, server.setup.address, server.port, name, self.end, other), daemon=True)

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.waits, self.own, self.others = self.pipe.recv()
        self.process.join()


def fresh_of_now(name, server, args):
    """Bytes of memory of a server that has just loaded the zone as it is now; None: this server writes no zone file."""
    if isinstance(server, servers.NamedServer):
        return None
    server.control("-b", "zone-flush", args.origin)
    with make(name, [(args.origin, server.dir / zones.tld(args.random_names, args.origin).name)], args) as other:
        other.start(process.processors()[0])
        other.wait_answer(args.origin)
        process.settle(other.pid)
        return process.memory(other.pid)


def random_turn(name, args, size):
    with make(name, [(args.origin, zones.tld(size, args.origin))], args) as server:
        server.start(process.processors()[0])
        server.wait_answer(args.origin)
        process.settle(server.pid)
        process.pin(server.pid, process.processors()[0])
        one, script, took, made = session(server, args), Random(random.Random(5), args.origin, args.random_share), [], 0
        fresh = process.memory(server.pid)
        with Probe(server, args.origin) as idle:
            time.sleep(3)
        anonymous, cpu = process.anonymous(server.pid), process.cpu_clock(server.pid)
        with process.Peak(server.pid) as peak, Probe(server, args.origin) as busy:
            begin = time.monotonic()
            while made < args.random and time.monotonic() - begin < (args.peer_seconds if name in PEERS else args.random_seconds):
                many = [script.next(args.origin) for _ in range(min(args.random_ahead, one.room(), args.random - made))]
                took.append(changes.commit(one, args.origin, *many))
                made += len(many)
        process.settle(server.pid)
        cpu = process.cpu_clock(server.pid) - cpu
        most, settled = max(peak.bytes, anonymous) - anonymous + fresh, process.memory(server.pid)
        now = fresh_of_now(name, server, args)
    return {"commits": made, "per_s": made / sum(took), "cpu_s": cpu / made, "took_max_s": max(took), "fresh_bytes": fresh, "now_bytes": now or fresh,
            "most_bytes": most, "most_share": most / (now or fresh), "settled_share": settled / (now or fresh), "idle_max_s": max(idle.waits),
            "busy_p999_s": at(busy.waits, 0.999), "busy_max_s": max(busy.waits), "busy_own_s": max(busy.own),
            "busy_rest_s": max(wait - other for wait, other in zip(busy.waits, busy.others))}


RANDOM_METRICS = (
    ("commits", "commits", 1, ",.0f"), ("per_s", "commits per second, one session", 1, ",.0f"), ("took_max_s", "longest wait for an OK, ms", 1e-3, ",.1f"),
    ("cpu_s", "CPU of a commit and a few queries, ms", 1e-3, ".3f"), ("fresh_bytes", "memory before, MB", 1e6, ",.1f"),
    ("now_bytes", "a new server with the zone that came of it, MB", 1e6, ",.1f"), ("most_bytes", "memory at most, MB", 1e6, ",.1f"),
    ("most_share", "at most / a new server", 1, ".2f"), ("settled_share", "afterwards / a new server", 1, ".2f"), ("idle_max_s", "slowest query without commits, ms", 1e-3, ",.2f"),
    ("busy_p999_s", "query meanwhile, 99.9 % ms", 1e-3, ",.2f"), ("busy_max_s", "slowest query meanwhile, ms", 1e-3, ",.2f"),
    ("busy_rest_s", "the same less what the thread that answers waited for its processor, ms", 1e-3, ",.2f"),
    ("busy_own_s", "most CPU that the server used while a query waited, ms", 1e-3, ",.2f"))


def bench_random(args):
    size = args.random_names
    yield f"random {size}", f"Random commits, {size:,} delegations", RANDOM_METRICS, lambda name: random_turn(name, args, size)


# ---- load: answers during commits ----

class Paced:
    """Commits at a rate in a thread while the block runs; `done` of them."""

    def __init__(self, one, zone, rate, numbers):
        self.one, self.zone, self.rate, self.numbers = one, zone, rate, numbers
        self.done, self.seconds, self.error, self.end = 0, 0.0, None, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        begin = time.monotonic()
        try:
            while not self.end.is_set():
                changes.commit(self.one, self.zone, delegation(next(self.numbers)))
                self.done += 1
                time.sleep(max(0.0, begin + self.done / self.rate - time.monotonic()))
        except (OSError, RuntimeError) as error:
            self.error = error
        self.seconds = time.monotonic() - begin

    def __enter__(self):
        if self.rate:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        if self.rate:
            self.thread.join()
            self.one.close()        # a server ends a connection that is idle
        if self.error is not None:
            raise self.error


# Commits nowhere, at a second server whose threads are where this one's others are, and at this one. So neighbour/without is what it costs
# that another program writes as much beside it, and with/neighbour what commits cost answering itself.
LOAD_WORDS = (("without", "without commits"), ("neighbour", "commits at the neighbour"), ("with", "with commits"))
LOAD_STATES = tuple(state for state, _ in LOAD_WORDS)
LOAD_FIGURES = (
    # key, what, unit, format
    ("per_s", "replies/s", 1, ",.0f"), ("per_cpu_s", "replies per second of CPU of the thread", 1, ",.0f"),
    ("p50_s", "latency, median ms", 1e-3, ",.3f"), ("p99_s", "latency, 99 % ms", 1e-3, ",.3f"))
LOAD_RATIOS = ("neighbour / without", "with / neighbour", "with / without")


def thread_figures(server, thread):
    return process.threads(server.pid)[thread], process.waited(server.pid, thread), process.faults(server.pid, thread)


def load_slice(server, pair, one, numbers, args, queries, answering, load_on):
    """One short turn. one: the session that commits; None: no commits."""
    rate = args.commit_rate if one is not None else 0
    with Paced(one, args.origin, rate, numbers) as paced:
        before = thread_figures(server, answering)
        replies, _, _ = loads.gun(pair, queries, args.load_rate, args.load_seconds, first_on=load_on)
        cpu, _, faults = (now - then for now, then in zip(thread_figures(server, answering), before))
    result = {"per_s": replies / args.load_seconds, "per_cpu_s": replies / cpu, "faults_per_s": faults / args.load_seconds,
              "commits_per_s": paced.done / paced.seconds if rate else 0.0}
    with Paced(one, args.origin, rate, numbers):
        waited = process.waited(server.pid, answering)
        times = loads.waits(pair, loads.messages(zones.plain(queries)), args.latency_rate, args.load_seconds, load_on)
        waited = process.waited(server.pid, answering) - waited
    return result | {"p50_s": at(times, 0.5), "p99_s": at(times, 0.99), "waited_s": waited / args.load_seconds}


def find_answering(server, pair, queries, args):
    """The thread that answers, by its CPU under load."""
    before = process.threads(server.pid)
    loads.gun(pair, queries, args.rate, 2)
    after = process.threads(server.pid)
    return max(after, key=lambda thread: after[thread] - before.get(thread, 0.0))


def load_result(slices):
    """Medians of each state, and of the ratios of neighbouring slices; of these the middle half, too."""
    result = {f"{key}_{state}": statistics.median(row[key] for row in rows) for state, rows in slices.items() for key in rows[0]}
    for key, *_ in LOAD_FIGURES:
        for ratio in LOAD_RATIOS:
            over, under = ratio.split(" / ")
            ratios = [above[key] / below[key] for above, below in zip(slices[over], slices[under])]
            result |= {f"{key} {ratio}": statistics.median(ratios), f"{key} {ratio} low": at(ratios, 0.25), f"{key} {ratio} high": at(ratios, 0.75)}
    return result


def load_turn(name, args, size):
    if name.split("=")[0] == "named":
        return {}
    zone = zones.tld(size, args.origin)
    queries, (mine, load_on, others) = zones.questions(zone, args.origin), process.apart()
    with Pair() as pair, make(name, [(args.origin, zone)], args) as neighbour, \
            make(name, [(args.origin, zone)], args, address=pair.server4, port=53, namespace=pair.server, xdp=pair.server_if) as server:
        for each in (neighbour, server):
            each.start()
            each.wait_answer(args.origin)
            process.settle(each.pid)
        server.check_transport()
        answering = find_answering(server, pair, queries, args)
        for each in (neighbour, server):
            process.pin(each.pid, others)
        os.sched_setaffinity(answering, {mine})
        if not args.load_shared:
            os.sched_setscheduler(answering, os.SCHED_FIFO, os.sched_param(1))
        sessions = {"without": (None, None), **{state: (session(each, args), iter(range(1 << 40))) for state, each in
                                                (("neighbour", neighbour), ("with", server))}}
        slices = {state: [] for state in LOAD_STATES}
        with process.on_processor(others):
            for number in range(args.slices):
                for turn in range(len(LOAD_STATES)):
                    state = LOAD_STATES[(number + turn) % len(LOAD_STATES)]
                    slices[state].append(load_slice(server, pair, *sessions[state], args, queries, answering, load_on))
    return load_result(slices) | {"slices": args.slices}


LOAD_METRICS = (
    ("slices", "slices of each", 1, ",.0f"), ("commits_per_s_with", "commits per second meanwhile", 1, ",.0f"),
    ("commits_per_s_neighbour", "commits per second at the neighbour", 1, ",.0f"),
    *((f"waited_s_{state}", f"ms per second that the thread waited for its processor, {words}", 1e-3, ",.2f") for state, words in LOAD_WORDS),
    ("faults_per_s_with", "page faults per second of the thread, with commits", 1, ",.0f"),
    *((f"{key}_{state}", f"{what}, {words}", unit, form) for key, what, unit, form in LOAD_FIGURES for state, words in LOAD_WORDS),
    *((f"{key} {ratio}{end}", f"{what}, {ratio}{words}", 1, ".3f") for key, what, _, _ in LOAD_FIGURES for ratio in LOAD_RATIOS for end, words in (
        ("", ""), (" low", ", lower quartile"), (" high", ", upper quartile"))))


def bench_load(args):
    size = args.load_names
    yield f"load {size}", f"UDP over AF_XDP during {args.commit_rate:,} commits a second, {size:,} delegations", LOAD_METRICS, (
        lambda name: load_turn(name, args, size))


# ---- start: checkpoint and changes after it ----

def start_turn(name, args, size, is_deep):
    if is_deep and name in PEERS:
        return {}
    more = f"    journal-max-depth: {2 * args.start_commits}\n" if is_deep else ""
    with make(name, [(args.origin, zones.tld(size, args.origin))], args, more=more) as server:
        server.start(process.processors()[0])
        result = {"file_s": server.wait_answer(args.origin)}
        process.settle(server.pid)
        server.stop()           # whatever is saved at an end, is now
        server.start(process.processors()[0])
        server.wait_answer(args.origin)
        process.settle(server.pid)
        one, made = session(server, args), 0
        begin = time.monotonic()
        while made < args.start_commits and time.monotonic() - begin < seconds_of(name, args):
            changes.commit(one, args.origin, [(True, f"bench-{made:07}", "NS", f"ns{made % 50}.hoster.test.")])
            made += 1
        server.stop(signal.SIGKILL)
        server.start(process.processors()[0])
        result["again_s"] = server.wait_answer(args.origin)
        result["again_cpu_s"] = process.cpu_clock(server.pid)
        asker = Asker(server)
        result |= {"commits": made, "lost": sum(not asker.is_there(f"bench-{number:07}.{args.origin}") for number in range(made))}
        process.settle(server.pid)
        server.stop()
        server.start(process.processors()[0])
        result["stopped_s"] = server.wait_answer(args.origin)
    return result


START_METRICS = (("file_s", "first start, from the file, s", 1, ",.3f"), ("commits", "commits, then kill -9", 1, ",.0f"), ("again_s", "start: first answer, s", 1, ",.3f"),
                 ("again_cpu_s", "CPU until then, s", 1, ",.3f"), ("lost", "acknowledged commits that are gone", 1, ",.0f"),
                 ("stopped_s", "start after a stop: first answer, s", 1, ",.3f"))


def bench_start(args):
    size = args.start_names
    for is_deep in (False, True):
        yield f"start {size}{' deep' if is_deep else ''}", (
            f"Start with changes since the checkpoint, {size:,} delegations{', the journal merges none of them' if is_deep else ''}"), START_METRICS, (
                lambda name, deep=is_deep: start_turn(name, args, size, deep))


PARTS = {"one": bench_one, "sizes": bench_sizes, "sessions": bench_sessions, "batch": bench_batch, "random": bench_random, "load": bench_load, "start": bench_start}


# What --acceptance changes of the options.
ACCEPTANCE = {"names": [10_000, 1_000_000], "size_names": [10_000, 10_000_000], "signed_names": [1_000_000], "batch_names": [1_000_000], "seconds": 20, "peer_seconds": 8,
              "random": 200_000, "random_seconds": 90, "random_ahead": 20, "slices": 10, "peer_rows": "one 1000000|sessions|batch 1000000"}


def parse_args():
    parser = options.parser(__doc__, "bowline,knot,named", 1)
    parser.add_argument("--acceptance", action="store_true", help="all that there are goals for, and a table of them")
    parser.add_argument("--prepare", action="store_true", help="only make the zones that are needed")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=[part for part in PARTS if part != "load" or os.geteuid() == 0],
                        metavar="PART,...", help=f"[{','.join(PARTS)}; load only as root]")
    parser.add_argument("-n", "--names", type=options.sizes, default=[10_000, 1_000_000], metavar="N,...", help="delegations of one [10k,1M]")
    parser.add_argument("--size-names", type=options.sizes, default=[10_000, 1_000_000], metavar="SMALL,LARGE", help="delegations of sizes [10k,1M]")
    parser.add_argument("--size-slices", type=int, default=20, help="of sizes, for each zone [%(default)s]")
    parser.add_argument("--size-commits", type=int, default=500, help="in a slice, an even number [%(default)s]")
    parser.add_argument("--signed-names", type=options.sizes, default=[10_000, 1_000_000], metavar="N,...", help="those of one, signed [10k,1M]")
    parser.add_argument("--batch-names", type=options.sizes, default=[10_000, 1_000_000], metavar="N,...", help="those of batch [10k,1M]")
    parser.add_argument("-c", "--commits", type=int, default=10_000, help="of one, at most [%(default)s]")
    parser.add_argument("--seconds", type=float, default=60, help="of commits, at most, in one and start [%(default)s]")
    parser.add_argument("--peer-seconds", type=float, default=60, help="the same of Knot DNS and BIND, also in random [%(default)s]")
    parser.add_argument("--peer-rows", default=".*", metavar="REGEX", help="measure Knot DNS and BIND only in rows of this key [all]")
    parser.add_argument("--signed", type=lambda text: [word == "yes" for word in text.split(",")], default=[False, True], metavar="no,yes",
                        help="which zones of one [no,yes]")
    parser.add_argument("--storm-seconds", type=float, default=5, help="of sessions [%(default)s]")
    parser.add_argument("--batch", type=int, default=10_000, help="records of batch [%(default)s]")
    parser.add_argument("--random", type=options.size, default=100_000, help="commits of random [%(default)s]")
    parser.add_argument("--random-seconds", type=float, default=120, help="at most [%(default)s]")
    parser.add_argument("--random-names", type=options.size, default=100_000, help="delegations [%(default)s]")
    parser.add_argument("--random-share", type=float, default=0.5, help="share of these commits that add, the others remove [%(default)s: the zone stays as large]")
    parser.add_argument("--random-ahead", type=int, default=1, help="commits that the session sends at once, before it waits for their OK [%(default)s]")
    parser.add_argument("--load-names", type=options.size, default=1_000_000, help="delegations [%(default)s]")
    parser.add_argument("--load-seconds", type=int, default=1, help="of each slice of load [%(default)s]")
    parser.add_argument("--load-shared", action="store_true", help="other programs may take the answering thread's processor from it in load")
    parser.add_argument("--slices", type=int, default=12, help="of each state of load [%(default)s]")
    parser.add_argument("--commit-rate", type=int, default=1000, help="commits per second of load [%(default)s]")
    parser.add_argument("-r", "--rate", type=int, default=60_000, help="queries per second that warm up load [%(default)s]")
    parser.add_argument("--load-rate", type=int, default=100_000, help="queries per second whose replies are counted in load [%(default)s]")
    parser.add_argument("--latency-rate", type=int, default=5000, help="queries per second whose latency is measured [%(default)s]")
    parser.add_argument("--start-names", type=options.size, default=1_000_000, help="delegations [%(default)s]")
    parser.add_argument("--start-commits", type=int, default=10_000, help="[%(default)s]")
    parser.add_argument("--reconnect", type=lambda text: text.split(","), default=["knot", "before"], metavar="NAME,...",
                        help="servers that get a new control connection for each commit [knot,before]")
    if "--acceptance" in sys.argv:
        parser.set_defaults(**ACCEPTANCE)
    args = parser.parse_args()
    unknown = set(args.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}: {', '.join(PARTS)}")
    if len(args.size_names) != 2 or args.size_commits % 2 != 0 or args.size_commits <= WARM_UP:
        parser.error(f"--size-names takes two sizes, --size-commits an even number above {WARM_UP}")
    if not args.prepare and ("load" in args.parts or args.acceptance):
        options.need_root(parser)
    return args


def prepare(args):
    """Make the zones; they are kept in the build tree."""
    for size in {*args.names, *args.size_names, *args.batch_names, args.random_names, args.load_names, args.start_names}:
        zones.tld(size, args.origin)
    for size in args.signed_names if True in args.signed else ():
        zones.signed(size, args.origin)
    zones.plain(zones.questions(zones.tld(args.load_names, args.origin), args.origin))


def servers_of(key, args):
    """Those of --servers that are measured in a row."""
    return ",".join(name for name in args.servers.split(",") if name not in PEERS or re.fullmatch(args.peer_rows, key))


def main():
    args = parse_args()
    if args.prepare:
        prepare(args)
        return 0
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    for part in args.parts:
        for key, title, metrics, turn in PARTS[part](args):
            rows = options.in_turns(servers_of(key, args), args.turns, turn, f"{key}, ")
            turns[key] = {name: made for name, made in rows.items() if made[0]}
            if turns[key]:
                tables.append(results.metrics_table(title, options.medians(turns[key]), metrics))
                results.show(tables[-1])
    reached = goals.table({"change": {"turns": turns}}, [name for name in args.servers.split(",") if name in PEERS])
    if reached is not None and args.acceptance:
        tables.append(reached)
    results.keep("change", WHAT, tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
