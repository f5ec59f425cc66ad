# SPDX-License-Identifier: BSD-2-Clause
"""Bowline, Knot DNS, NSD and BIND on the same zones, asked the same questions.

Knot DNS is the reference: each answer of Bowline, over sockets and over AF_XDP, must equal Knot's in normal form (ask.c)
or be explained by a rule (rules.py). The other two are asked as well, and what they say differently is in the report:
where they agree with each other against Knot, Knot may be the one that is wrong.

Variables: SEED (of the questions, default 1; "random": a new one, printed), ZONE_SEED (of the zones, default 1), SCALE (of the big zones, default 1), SERVERS (default: bowline,knot,nsd,named).
"""
import collections
import os
import pathlib
import random
import secrets
import shutil
import subprocess
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import peers  # noqa: E402
import questions  # noqa: E402
import rules  # noqa: E402
import zones  # noqa: E402
from harness.net import Pair, has_ipv6, may_make_namespaces  # noqa: E402
from harness.server import BUILD, built  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402

SEED = os.environ.get("SEED", "1")
if SEED == "random":
    SEED = secrets.token_hex(4)
SCALE = float(os.environ.get("SCALE", "1"))
SERVERS = os.environ.get("SERVERS", "bowline,knot,nsd,named").split(",")
WORK = BUILD / "differential"
# Zones have a seed of their own: those of the last runs are kept, signed.
ZONE_SEED = os.environ.get("ZONE_SEED", "1")

# Questions per kind of zone.
BUDGET = {"tld": 40000, "nsec-tld": 40000, "nsec3-tld": 40000, "optout-tld": 40000, "odd": 14000, "odd-nsec.test": 14000,
          "odd-nsec3.test": 14000, "small": 350, "root": 24000}
PROTOCOL = 6000
KINDS = [*BUDGET, "protocol"]
# Bowline in its three ways of getting queries.
OURS = ["bowline", "bowline-udp6", "bowline-xdp4", "bowline-xdp6"]


def ask_program():
    for path in (BUILD / "tests" / "differential" / "ask", pathlib.Path(os.environ.get("ASK", "/nonexistent"))):
        if path.exists():
            return str(path)
    raise FileNotFoundError("tests/differential/ask is not built; run ./dev build")


def make_questions(zone_list, directory, with_protocol):
    """([question], [kind of each])"""
    asked, kinds = [], []
    def add(kind, more):
        asked.extend(more)
        kinds.extend([kind] * len(more))
    for zone in zone_list:
        rng = random.Random(f"{SEED} {zone.name}")
        budget = max(20, int(BUDGET[zone.kind] * min(SCALE, 1)))
        add(zone.kind, questions.of_zone(zone, rng, budget))
        if zone.signing in ("nsec3", "optout"):
            add(zone.kind, questions.hashed((directory / zone.file_name()).read_text(), rng, 50))
    if with_protocol:
        names = ["mx1.odd-nsec.test.", "odd.", "odd-nsec3.test.", "gone.odd-nsec.test.", "q.wild1.odd-nsec3.test.", "x.cut4.odd-nsec.test."]
        add("protocol", questions.protocol(names, random.Random(f"{SEED} protocol"), PROTOCOL))
    order = list(range(len(asked)))
    random.Random(SEED).shuffle(order)
    return [asked[i] for i in order], [kinds[i] for i in order]


class Run:
    """All servers on one set of zones; afterwards `differences[server, kind]` and `asked[kind]`."""

    def __init__(self, name, zone_list, directory, with_protocol, is_root):
        self.name = name
        self.differences = collections.defaultdict(list)
        self.answered = {}
        self.zones, self.directory = zone_list, directory
        self.asked, self.kinds = make_questions(zone_list, directory, with_protocol)
        self.is_root = is_root

    def start(self, stack, work):
        """Start the servers; each is stopped by `stack`. Returns the arguments for ask, the reference first."""
        arguments = []
        knot = peers.knot(work / "knot", self.zones, self.directory, "/usr/sbin/knotd")
        started = [knot.start(ready=False)]
        stack.append(knot.finish)
        arguments.append(f"knot=127.0.0.1@{knot.port}")
        for name, make in (("nsd", peers.Nsd), ("named", peers.Named)):
            if name in SERVERS:
                peer = make(work / name, self.zones, self.directory).start()
                stack.append(peer.stop)
                peer.wait()
                arguments.append(f"{name}=127.0.0.1@{peer.port}")
        if "bowline" in SERVERS:
            program = built("knotd", "knotd")
            ours = peers.knot(work / "bowline", self.zones, self.directory, program)
            started.append(ours.start(ready=False))
            stack.append(ours.finish)
            arguments += [f"bowline=127.0.0.1@{ours.port}", *([f"bowline-udp6=::1@{ours.port}/u"] if has_ipv6() else [])]
            if may_make_namespaces():
                pair = Pair()
                stack.append(pair.close)
                fast = peers.knot(work / "bowline-xdp", self.zones, self.directory, program, namespace=pair.server, xdp=pair.server_if,
                                  listen=[pair.server4, pair.server6])
                started.append(fast.start(ready=False))
                stack.append(fast.finish)
                self.fast = fast
                arguments += [f"bowline-xdp4={pair.server4}@53%{pair.client}/u", f"bowline-xdp6={pair.server6}@53%{pair.client}/u"]
        for daemon in started:
            daemon.wait_ready(60)
            for zone in (self.zones[0], self.zones[-1]):
                daemon.wait(lambda d=daemon, z=zone: d.knotc("zone-read", z.name, "@", "SOA", check=False).returncode == 0, 60,
                            f"zone {zone.name}")
        return arguments

    def ask(self, work):
        path = work / "questions"
        path.write_bytes(questions.pack(self.asked, [kind == "protocol" for kind in self.kinds]))
        stack = []
        try:
            arguments = self.start(stack, work)
            done = subprocess.run([ask_program(), str(path), *arguments], stdout=open(work / "differences", "w", encoding="ascii"),
                                  stderr=subprocess.PIPE, text=True, timeout=900 * PATIENCE, check=False)
            assert done.returncode == 0, done.stderr
            if hasattr(self, "fast"):
                stats = self.fast.stats()
                self.xdp_share = tuple(stats.get(f"mod-stats.request-protocol[udp{f}{x}]", 0) for f in "46" for x in ("-xdp", ""))
        finally:
            for action in reversed(stack):
                action()
        for line in done.stderr.splitlines():
            server, *counts, seconds = line.split("\t")
            self.answered[server] = (*map(int, counts), float(seconds))
        # What the others say where we differ, to see who is alone. No line: as Knot.
        others = {}
        with open(work / "differences", encoding="ascii") as file:
            for line in file:
                server, number, _ = line.split("\t", 2)
                self.differences[server, self.kinds[int(number)]].append(line)
                if server not in OURS:
                    others[number, server] = line.rstrip("\n").rsplit("\t", 1)[1]
        self.others = others

    def difference(self, line):
        """A line of output with what NSD and BIND answered."""
        found = rules.Difference(line)
        for server in self.answered:
            if server not in OURS and server != "knot":
                found.others[server] = bytes.fromhex(self.others[str(found.number), server]) \
                    if (str(found.number), server) in self.others else found.reference
        return found


def report(runs, path):
    """What was asked, what differed, for people."""
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"SEED={SEED} ZONE_SEED={ZONE_SEED} SCALE={SCALE}\n")
        for run in runs:
            out.write(f"\n{run.name}: {len(run.zones)} zones, {len(run.asked)} questions\n")
            for server, (asked, answered, retries, strays, differ, seconds) in run.answered.items():
                out.write(f"  {server:14} asked {asked:7} answered {answered:7} retries {retries:6} strays {strays:5} "
                          f"different {differ:6} {seconds:6.1f} s\n")
        for run in runs:
            for (server, kind), lines in sorted(run.differences.items()):
                groups = collections.defaultdict(list)
                for line in lines:
                    groups[line.split("\t", 3)[2]].append(line)
                for letters, same in sorted(groups.items(), key=lambda g: -len(g[1])):
                    out.write(f"\n===== {server}, {kind}: {len(same)} x {letters}\n")
                    for line in same[:3 if server in OURS else 1]:
                        out.write(rules.Difference(line).show() + "\n")


@pytest.fixture(scope="session")
def runs():
    # Some rules need NSD or BIND to agree with us.
    needed = ["/usr/sbin/knotd", *(f"/usr/sbin/{name}" for name in ("nsd", "named") if name in SERVERS)]
    missing = [name for name in (*needed, "dnssec-keygen", "dnssec-signzone") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)}")
    WORK.mkdir(parents=True, exist_ok=True)
    main, top, main_directory, top_directory = zones.cached(WORK, ZONE_SEED, SCALE)
    # Servers started by root drop the right to read and write everything, so they can't work in a home directory of mode 0700.
    with tempfile.TemporaryDirectory(prefix="bowline-differential-") as place:
        os.chmod(place, 0o755)
        result = []
        for name, zone_list, directory in (("zones", main, main_directory), ("root", top, top_directory)):
            copy, work = pathlib.Path(place) / name, pathlib.Path(place) / f"run-{name}"
            shutil.copytree(directory, copy)
            work.mkdir()
            result.append(Run(name, zone_list, copy, name == "zones", name == "root"))
            result[-1].ask(work)
    report(result, WORK / "report.txt")
    with open(WORK / "report.txt", encoding="utf-8") as file:
        print(file.read().split("\n=====", 1)[0])
    return result


@pytest.mark.parametrize("server", OURS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_knot(runs, server, kind):
    if server not in runs[0].answered:
        pytest.skip("not asked")
    unexplained, explained = [], collections.Counter()
    for run in runs:
        for line in run.differences[server, kind]:
            difference = run.difference(line)
            rule = rules.explain(difference)
            if rule is None:
                unexplained.append(difference)
            else:
                explained[rule] += 1
    print(f"SEED={SEED} {server} {kind}: explained {dict(explained)}")
    groups = collections.Counter(d.letters for d in unexplained)
    shown = "\n".join(d.show() for d in unexplained[:4])
    assert not unexplained, f"SEED={SEED}: {len(unexplained)} unexplained differences {dict(groups)}\n{shown}"


def test_enough_was_asked(runs):
    """The acceptance of this test as a whole; a server that lost many answers was not really compared."""
    reference = [run.answered["knot"] for run in runs]
    total = sum(asked for run in runs for server, (asked, *_) in run.answered.items() if server in OURS or len(run.answered) == 1)
    print(f"SEED={SEED}: {sum(r[0] for r in reference)} questions, {total} asked of Bowline")
    if SCALE >= 1:
        assert sum(r[0] for r in reference) >= 200000
    for run in runs:
        # Knot is silent on malformed questions, and NSD on those beyond a number of errors in a second.
        malformed = run.kinds.count("protocol")
        for server, (asked, answered, *_) in run.answered.items():
            assert answered > (asked - malformed) * 0.95, f"{run.name}: {server} answered {answered} of {asked}"


def test_xdp_was_used(runs):
    """What we call AF_XDP above did come over AF_XDP."""
    if not hasattr(runs[0], "xdp_share"):
        pytest.skip("no AF_XDP without root")
    for run in runs:
        fast4, slow4, fast6, slow6 = run.xdp_share
        assert fast4 > 1000 and fast6 > 1000 and slow4 == 0 and slow6 == 0
