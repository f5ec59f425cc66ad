# SPDX-License-Identifier: BSD-2-Clause
"""The same command lines to the distribution's knotc and knotd (Knot DNS 3.2.6) and to ours: what they print, how they exit, and what
has changed afterwards must be the same, but for differences that golden_rules.py explains.

Three worlds run each scenario of golden_server.py, golden_zone.py and golden_conf.py side by side, each in a directory of its own:
`knot` (their client, their server), `ours`, and `crossed` (their client, our server). The table is written to BUILD/golden/golden.md and golden.json, what is unexplained to
BUILD/golden/unexplained, and what each world said to transcript-*.

Variable: SCENARIO (a part of the names of the scenarios to run).
"""
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dns.exception
import dns.message
import dns.query
import dns.rdatatype
import dns.zone
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden_rules  # noqa: E402
from golden_conf import CONF_SCENARIOS  # noqa: E402
from golden_operator import OPERATOR_SCENARIOS  # noqa: E402
from golden_scenario import TEXTS  # noqa: E402
from golden_server import SERVER_SCENARIOS  # noqa: E402
from golden_zone import ZONE_SCENARIOS  # noqa: E402
from harness.server import BUILD, Knotd, built  # noqa: E402
from harness.waiting import PATIENCE, wait_until  # noqa: E402

PEER_KNOTD, PEER_KNOTC = "/usr/sbin/knotd", "/usr/sbin/knotc"
WORLDS = ("knot", "ours", "crossed")
SCENARIOS = SERVER_SCENARIOS + ZONE_SCENARIOS + CONF_SCENARIOS + OPERATOR_SCENARIOS
LINES_MIN = 300
LEAVES_WORK = re.compile(r"reload|hup|restart|commit|(?<!-b )zone-(flush|purge|freeze|thaw)")
LOCAL = ("conf-init", "conf-check", "conf-import", "conf-export", "zone-check")

pytestmark = pytest.mark.skipif(not (os.path.exists(PEER_KNOTD) and os.path.exists(PEER_KNOTC)),
                                reason="the distribution's knot is not installed")


class World:
    """One server of one scenario and the client that talks to it."""

    def __init__(self, name, scenario, directory):
        self.name, self.scenario = name, scenario
        self.knotc = built("knotc", "tools") if name == "ours" else PEER_KNOTC
        self.server_knotc = PEER_KNOTC if name == "knot" else built("knotc", "tools")
        self.daemon = Knotd(directory, program=PEER_KNOTD if name == "knot" else built("knotd", "knotd"))
        self.dir = self.daemon.dir
        self.daemon.socket = self.dir / "knot.sock"
        self.slow = []
        self.primary, self.seen = None, 0
        self.names = {"dir": str(self.dir), "sock": str(self.daemon.socket), "conf": str(self.dir / "knot.conf"),
                      "db": str(self.dir / "confdb"), "port": str(self.daemon.port)}

    # ---- life ----

    def fill(self, text):
        for name, value in self.names.items():
            text = text.replace("{" + name + "}", value)
        return text

    def write(self, name, text):
        path = self.dir / name
        new = path.with_name(path.name + ".new")    # a reload must not find half of it
        new.write_text(self.fill(TEXTS[text]))
        new.replace(path)

    def start_primary(self):
        """A server that the zones come from: theirs in each world, so that only the secondary differs."""
        (self.dir / "primary" / "state").mkdir(parents=True)
        self.primary = Knotd(self.dir / "primary", program=PEER_KNOTD)
        self.primary.socket = self.primary.dir / "knot.sock"
        self.names["primary"] = str(self.primary.port)
        for name, text in (("second.test.zone", "second-1"), ("third.test.zone", "third-5")):
            (self.primary.dir / name).write_text(TEXTS[text])
        text = self.scenario.primary.replace("{dir}", str(self.primary.dir)).replace("{port}", str(self.primary.port))
        self.primary.path.write_text(text)
        self.primary.process = subprocess.Popen([PEER_KNOTD, "-c", str(self.primary.path)], stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=self.primary.dir)
        self.primary.wait(lambda: all(self.control_primary("zone-read", zone, "@", "SOA")[0] == 0 for zone in ("second.test", "third.test")), 20,
                          "the primary's zones")

    def start(self):
        if self.scenario.primary:
            self.start_primary()
        for name, text in self.scenario.files.items():
            self.write(name, text)
        (self.dir / "state").mkdir(exist_ok=True)
        (self.dir / "knot.conf").write_text(self.fill(self.scenario.conf))
        if self.scenario.database:
            done = self.run([self.server_knotc, "-C", self.names["db"], "conf-import", self.names["conf"]])
            if done[0] != 0:
                raise RuntimeError(f"conf-import: {done}")
        self.start_daemon(self.scenario.zones)

    def start_daemon(self, zones):
        where = ["-C", self.names["db"]] if self.scenario.database else ["-c", self.names["conf"]]
        command = [self.daemon.program, *where]
        with open(self.daemon.output, "ab") as output:
            self.daemon.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                                   cwd=self.dir)
        self.daemon.wait(lambda: self.daemon.socket.exists() and self.control("status")[0] == 0, 20, "control socket")
        for zone in zones:
            self.daemon.wait(lambda z=zone: self.serial(z) not in ("-", ""), 20, f"zone {zone}")

    def control(self, *arguments):
        """A command that is none of the compared lines, by the server's own client."""
        return self.run([self.server_knotc, "-s", self.names["sock"], *arguments])

    def control_primary(self, *arguments):
        return self.run([PEER_KNOTC, "-s", str(self.primary.socket), *arguments])

    def serial(self, zone):
        match = re.search(r"serial: (\S+)", self.control("zone-status", zone, "+serial")[1])
        return match.group(1) if match else ""

    def finish(self):
        try:
            if re.search(r"\bstop$", lines_of(self.scenario)[-1]):
                self.daemon.wait_end()      # a second request would be less polite
            self.daemon.finish()
        except AssertionError:
            if self.name != "knot":     # how the other one ends is not our concern
                raise

    def kill(self):
        """Whatever has happened: nothing of ours runs on."""
        for daemon in (self.daemon, self.primary):
            if daemon is not None and daemon.process is not None and daemon.process.poll() is None:
                daemon.process.kill()
                daemon.process.wait()

    # ---- lines ----

    def run(self, command, **options):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30 * PATIENCE, check=False,
                              cwd=self.dir, env={**os.environ, "HOME": str(self.dir)}, **options)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def command(self, line):
        raw = line.startswith("% ")
        words = shlex.split(self.fill(line[2:] if raw else line))
        prefix = [] if raw else shlex.split(self.fill(self.scenario.prefix))
        return self.run([self.knotc, *prefix, *words], stdin=subprocess.DEVNULL)

    def effect(self, line):
        verb, *words = line.split(" ")[1:]
        return getattr(self, f"effect_{verb}")(*words)

    def effect_write(self, name, text):
        self.write(name, text)

    def effect_remove(self, name):
        (self.dir / name).unlink()

    def effect_wait(self, zone, serial):
        self.daemon.wait(lambda: self.serial(zone) == serial, what=f"serial {serial} of {zone}")
        return 0, serial, ""

    def effect_primary(self, name, text):
        (self.primary.dir / name).write_text(TEXTS[text])
        code, out, err = self.control_primary("-b", "zone-reload", name.removesuffix(".zone"))
        assert code == 0, f"the primary: {out}{err}"

    def effect_said(self, zone=None):
        """Lines of the log about zones (one zone) since the last look."""
        self.settle("before the log is read")
        path = self.dir / "log"
        text = path.read_bytes()[self.seen:].decode(errors="replace") if path.exists() else ""
        self.seen += len(text.encode())
        wanted = rf"\[{re.escape(zone)}\.\]" if zone else r"\[\S+\.\]|control,"
        lines = [line.split(" ", 1)[1] for line in text.splitlines() if re.search(wanted, line) and not golden_rules.LOG_SKIPPED.search(line)]
        for pattern, replacement in golden_rules.LOG_NORMAL:
            lines = [re.sub(pattern, replacement, line) for line in lines]
        return 0, "\n".join(sorted(lines)), ""

    def effect_files(self, name):
        top = self.dir / name
        return 0, "\n".join(sorted(str(path.relative_to(top)) for path in top.rglob("*"))) if top.exists() else "none", ""

    def effect_restart(self, *zones):
        self.finish()
        self.kill()
        self.start_daemon(zones)

    def effect_hup(self):
        """Knot says when it has followed, and so do we."""
        def count():
            path = self.dir / "log"
            return len(re.findall("configuration reloaded|failed to reload|reload aborted", path.read_text() if path.exists() else self.daemon.log()))
        before = count()
        self.daemon.process.send_signal(signal.SIGHUP)
        self.daemon.wait(lambda: count() > before, what="reload")

    def effect_ask(self, name, rdtype):
        rdclass, _, rdtype = rdtype.rpartition("/")
        query = dns.message.make_query(name, rdtype, rdclass or "IN")
        try:
            reply = dns.query.udp(query, "127.0.0.1", port=self.daemon.port, timeout=10 * PATIENCE)
        except (dns.exception.DNSException, OSError) as error:
            return 1, type(error).__name__, ""
        lines = [dns.rcode.to_text(reply.rcode()), "AA" if reply.flags & dns.flags.AA else ""]
        for section in (reply.answer, reply.authority):
            lines += sorted(line for rrset in section for line in rrset.to_text().splitlines())
        return 0, "\n".join(lines), ""

    def effect_zone(self, zone):
        code, out, err = self.control("zone-read", zone)
        return code, "\n".join(sorted(out.splitlines())), err

    def effect_file(self, name):
        path = self.dir / name
        if not path.exists():
            return 1, "none", ""
        try:
            zone = dns.zone.from_file(str(path), origin=path.stem + ".", relativize=False, check_origin=False)
        except (dns.exception.DNSException, ValueError) as error:
            return 1, f"{type(error).__name__}: {error}", ""
        return 0, "\n".join(sorted(f"{owner} {ttl} {dns.rdatatype.to_text(rdata.rdtype)} {rdata.to_text()}"
                                   for owner, ttl, rdata in zone.iterate_rdatas())), ""

    def effect_conf(self):
        code, out, err = self.control("conf-read")
        return code, "\n".join(sorted(out.splitlines())), err

    def effect_pipe(self, *words):
        text = "".join(f"{line.strip()}\n" for line in " ".join(words).split(";"))
        return self.run([self.knotc, "-s", self.names["sock"]], input=text.encode())

    def settle(self, what):
        """Until no zone has work to do: what a line says depends on it."""
        wait_until(lambda: self.daemon.process.poll() is not None or not re.search(": (running|pending)", self.control("zone-status")[1]),
                   lambda: f"the end of all work {what}: {self.control('zone-status')}", 20)

    def normal(self, result):
        """Without what differs between two runs of one server."""
        code, *texts = result
        for i, text in enumerate(texts):
            for name in ("dir", "port"):
                text = text.replace(self.names[name], name.upper())
            text = re.sub(r"(?<=: )((?:running|pending|frozen)\()?[+-](?:\d+[YMDhms])+\)?", "TIME", text).strip("\n")
            text = re.sub(r"(?<=open for )\d+[smhd]", "AGE", text)
            text = re.sub(r"(knotc|knotd|Knot DNS|Bowline|bowline)( \([^)]*\))?,? (version )?\d+\.\d+[-.\w]*", "VERSION", text)
            text = re.sub(r"Usage: knotc .*The '-b' and '-f' options can be placed right after the command name\.", "USAGE", text, flags=re.S)
            text = re.sub(r"\A\s*(Version: )?VERSION\n.*", "BUILD", text, flags=re.S)     # status configure: what it was built with
            text = re.sub(r"(?<=\AVersion: )[\d.]+\Z", "VERSION", text)
            text = re.sub(r"^\S*/knotc: ", "knotc: ", text)     # getopt names the program as it was called
            texts[i] = "\n".join(line.rstrip() for line in text.splitlines())
        return (code, *texts)

    def go(self):
        """Result of each line; None where there is nothing to compare."""
        results = []
        for line in lines_of(self.scenario):
            if "zone-status" in line:
                self.settle(f"before {line}")
            start = time.monotonic()
            result = self.effect(line) if line.startswith("= ") else self.command(line)
            if time.monotonic() - start > 1:
                self.slow.append(f"{time.monotonic() - start:.1f} s: {self.scenario.name} ({self.name}): {line}")
            results.append(None if result is None else self.normal(result))
            if LEAVES_WORK.search(line):
                self.settle(f"after {line}")
        return results


def lines_of(scenario):
    return [line.strip() for line in scenario.lines.strip().splitlines() if line.strip()]


def run_scenario(name, scenario):
    """(results of the lines, "") or (None, why there are none)."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix=f"golden-{name[0]}-"))
    os.chmod(directory, 0o755)
    world = World(name, scenario, directory)
    results, why = None, ""
    try:
        world.start()
        results = world.go()
        world.finish()
        print(*world.slow, sep="\n")
    except (RuntimeError, AssertionError, OSError, subprocess.TimeoutExpired) as error:
        results, why = None, f"{type(error).__name__}: {error}"[-3000:]
    finally:
        world.kill()
        if not os.environ.get("KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
    return results, why


def run_world(name, scenarios):
    return {scenario.name: run_scenario(name, scenario) for scenario in scenarios}


class Table:
    """What was compared: per scenario and world the lines that are equal, explained, unexplained."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)
        self.reasons = collections.Counter()
        self.unexplained = []
        self.lines, self.effects = set(), set()

    def add(self, scenario, number, line, world, verdict, reason=""):
        (self.effects if line.startswith("= ") and not line.startswith("= pipe") else self.lines).add((scenario, number))
        self.counts[scenario, world][verdict] += 1
        if reason:
            self.reasons[reason] += 1

    def total(self, world, verdict):
        return sum(count[verdict] for (_, where), count in self.counts.items() if where == world)

    def markdown(self):
        rows = ["| scenario | compared with Knot DNS | lines | equal | explained | unexplained |", "|---|---|---|---|---|---|"]
        for (scenario, world), count in self.counts.items():
            rows.append(f"| {scenario} | {world} | {sum(count.values())} | {count['equal']} | {count['explained']} | {count['unexplained']} |")
        for world in WORLDS[1:]:
            counts = [self.total(world, verdict) for verdict in ("equal", "explained", "unexplained")]
            rows.append(f"| **all** | **{world}** | **{sum(counts)}** | " + " | ".join(f"**{count}**" for count in counts) + " |")
        rows += ["", f"{len(self.lines)} command lines, {len(self.effects)} looks at effects; crossed: their knotc, our knotd", "",
                 "| explained differences | results |", "|---|---|"]
        rows += [f"| {reason} | {count} |" for reason, count in self.reasons.most_common()]
        return "\n".join(rows) + "\n"

    def write(self):
        folder = BUILD / "golden"
        (folder / "golden.md").write_text(self.markdown())
        (folder / "unexplained").write_text("\n".join(self.unexplained) + "\n")
        (folder / "golden.json").write_text(json.dumps({
            "lines": len(self.lines), "effects": len(self.effects),
            "worlds": {world: {verdict: self.total(world, verdict) for verdict in ("equal", "explained", "unexplained")}
                       for world in WORLDS[1:]},
            "scenarios": [{"scenario": s, "world": w, **count} for (s, w), count in self.counts.items()],
            "reasons": dict(self.reasons), "unexplained": self.unexplained}, indent=1) + "\n")


def write_transcripts(results, chosen):
    """What each world said, line by line, to read side by side."""
    for world in WORLDS:
        with open(BUILD / "golden" / f"transcript-{world}", "w", encoding="utf-8") as file:
            for scenario in chosen:
                said, why = results[world][scenario.name]
                for line, result in zip(lines_of(scenario), said or [(1, "", why)]):
                    file.write(f"### {scenario.name}: {line}\n{show(result)}\n")


def show(result):
    if result is None:
        return "(none)"
    code, out, err = result
    return "\n".join([f"exit {code}", *(f"  {line}" for line in out.splitlines()), *(f"  err: {line}" for line in err.splitlines())])


def compare(table, scenario, world, theirs, ours, used):
    for number, (line, want, got) in enumerate(zip(lines_of(scenario), theirs, ours)):
        if want is None or (world == "crossed" and any(word in LOCAL for word in line.split(" "))):
            continue
        if want == got:
            table.add(scenario.name, number, line, world, "equal")
            continue
        reason = golden_rules.explain(scenario.name, line, world, want, got, used)
        table.add(scenario.name, number, line, world, "explained" if reason else "unexplained", reason)
        if not reason:
            table.unexplained.append(f"### {scenario.name} ({world}): {line}\n- {show(want)}\n+ {show(got)}")


def test_golden_lines():
    chosen = [s for s in SCENARIOS if os.environ.get("SCENARIO", "") in s.name]
    with concurrent.futures.ThreadPoolExecutor(len(WORLDS)) as pool:
        results = dict(zip(WORLDS, pool.map(run_world, WORLDS, itertools.repeat(chosen))))
    (BUILD / "golden").mkdir(exist_ok=True)
    write_transcripts(results, chosen)
    table, faults, used = Table(), [], set()
    for scenario in chosen:
        theirs, why = results["knot"][scenario.name]
        assert theirs is not None, f"{scenario.name}: Knot DNS: {why}"
        for world in WORLDS[1:]:
            ours, why = results[world][scenario.name]
            if ours is None:
                faults.append(f"### {scenario.name} ({world}): {why}")
            else:
                compare(table, scenario, world, theirs, ours, used)
    table.write()
    print(table.markdown())
    faults += table.unexplained
    if len(chosen) == len(SCENARIOS):
        faults += [f"explains nothing any more: {row}" for row in golden_rules.unused(used)]
        assert len(table.lines) >= LINES_MIN
    assert not faults, f"{len(faults)} unexplained:\n" + "\n".join(faults)
