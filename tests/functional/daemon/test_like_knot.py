# SPDX-License-Identifier: BSD-2-Clause
"""Guards the promise that scripts which read the log and the replies of Knot read ours: one scenario, run against the
distribution's knotd and against ours, step by step: log lines, answers, replies and exit statuses of knotc.

Knot 3.2 is the peer; where ours follows 3.6, or says more, TRANSLATED and OURS_ALONE say so."""
import os
import re
import signal
import subprocess

import dns.exception
import dns.rcode
import pytest

from harness.server import Knotd, built, is_ours

PEER_KNOTD, PEER_KNOTC = "/usr/sbin/knotd", "/usr/sbin/knotc"

pytestmark = pytest.mark.skipif(not (os.path.exists(PEER_KNOTD) and is_ours()),
                                reason="the distribution's knot is not installed")

SOA = "@ 3600 SOA ns host {} 3600 900 86400 300\n"
GOOD = SOA + "@ NS ns\nns A 192.0.2.1\n"

# Lines of the peer that we don't have: databases, modules, or another order.
PEER_ALONE = re.compile(r"module '|database storage|timer DB|loaded configuration file|starting server|^info: \S+ DNS|"
                        r"server started|received command 'status'|control, binding|using UDP")
OURS_ALONE = re.compile(r"loaded configuration file|starting server|Bowline|server started|received command 'status'|"
                        r"control, binding|using UDP|info: reloading zones|image not used|loaded \d+ zones in|updated SOA serial is lower|contents changed, but not the serial")
# Knot 3.2 knows one error for all that is wrong with a zone file; details of the parser are each their own.
# A check names the culprit and its line behind Knot's words, an error of the configuration has a hint there, a reply goes on behind Knot's reason.
TRANSLATED = [(r"^((?:error: (?:\[\S+\] )?(?:control, error )?|debug: control, command '\S+' )\([^,()]*), .*\)$", r"\1)"),
              (r"^(error: config, .*\)), [^()]*$", r"\1"), (r"(beside CNAME) \(record type \S+\)", r"\1"), (r"(check, node [^']*), file '[^']*', line \d+$", r"\1"),
              (r"\((parser failed|semantic check|missing SOA record)\)$", "(failed)"), (r", line (\d+) \(.*\)$", r", line \1"),
              (r", (flags|filters) '\w+'|, by uid \d+", ""), (r"^(error: )?fatal error in zone", r"\1error in zone"),
              (r"failed to load configuration file '[^']*'", "failed to load configuration file")]


class Run:
    """A daemon, and what was seen of it in the steps so far."""

    def __init__(self, daemon, alone):
        self.daemon, self.alone, self.seen, self.mark = daemon, alone, [], 0

    def knotc(self, *arguments):
        done = self.daemon.knotc(*arguments, check=False)
        self.seen.append((arguments, done.returncode, self.plain(done.stdout)))

    def plain(self, text):
        lines = []
        for line in text.replace(str(self.daemon.dir), "DIR").replace(str(self.daemon.port), "PORT").splitlines():
            line = re.sub(r"^\d{4}-\S+ ", "", line)
            for pattern, by in TRANSLATED:
                line = re.sub(pattern, by, line)
            if line and not self.alone.search(line):
                lines.append(line)
        return lines

    def fresh(self):
        """(lines of the log since the last step, how long it is with them)."""
        log = self.daemon.log()
        end = log.rfind("\n") + 1
        return [line for line in self.plain(log[self.mark:end]) if "'zone-status'" not in line], end

    def settle(self, step, zones, lines=0):
        """End of a step: all its jobs are done, and what asked for them has written its lines, at least that many. Lines of the log have no
        order among zones."""
        self.daemon.wait(lambda: not re.search(r"load: (running|pending)", self.daemon.knotc("zone-status", "+events").stdout),
                         what="idle")
        self.daemon.wait(lambda: len(self.fresh()[0]) >= lines, what=f"{lines} lines in the step: {step}")
        answers = []
        for zone in zones:
            answer = self.daemon.ask(zone, "SOA", use_edns=0)
            serial = answer.answer[0][0].serial if answer.answer else None
            answers.append((zone, dns.rcode.to_text(answer.rcode()), serial, [int(o.code) for o in answer.options if o.otype == 15]))
        written, self.mark = self.fresh()
        self.seen.append((step, sorted(written), answers))


@pytest.fixture
def runs(make_knotd):
    peer = make_knotd(name="peer")
    peer.program = PEER_KNOTD
    return [Run(peer, PEER_ALONE), Run(make_knotd(name="ours"), OURS_ALONE)]


def same(runs):
    theirs, ours = (run.seen for run in runs)
    for t, o in zip(theirs, ours):
        assert t == o
    assert len(theirs) == len(ours)


def configure(daemon, zones, template="", text=""):
    (daemon.dir / "db").mkdir(exist_ok=True)
    daemon.configure(zones=zones, text="template:\n  - id: default\n    zonefile-sync: -1\n    journal-content: none\n"
                     f"    {template}\n" + text)


def test_reload(runs):
    for run in runs:
        daemon, zones = run.daemon, ["a.", "b.", "c."]

        def hup(count):
            daemon.process.send_signal(signal.SIGHUP)
            daemon.wait_log("configuration reloaded|failed to load configuration", count=count)

        for zone in zones:
            daemon.write(f"{zone}zone", GOOD.format(10))
        configure(daemon, ["a.", "b."])
        daemon.start()
        daemon.wait_log(r"\] loaded, serial", count=2)
        run.settle("start", zones, 8)
        hup(1)
        run.settle("nothing changed", zones, 2)
        os.utime(daemon.dir / "a.zone")     # else ours doesn't read it again
        run.knotc("-b", "zone-reload", "a.")
        run.settle("reload one", zones, 3)
        daemon.write("a.zone", GOOD.format(10) + "x A 192.0.2.2\n")
        hup(2)
        daemon.wait_log(r"serial 10 -> 10", count=2)
        run.settle("the same serial, other contents", zones, 4)
        daemon.write("a.zone", GOOD.format(9))
        run.knotc("-b", "zone-reload", "a.")
        run.settle("a lower serial", zones, 3)
        daemon.write("a.zone", GOOD.format(20))
        daemon.process.send_signal(signal.SIGUSR1)
        daemon.wait_log(r"serial 9 -> 20")
        run.settle("SIGUSR1", zones, 2)
        os.unlink(daemon.dir / "a.zone")
        run.knotc("-b", "zone-reload", "a.")
        run.settle("no file", zones, 5)
        daemon.write("a.zone", "rubbish")
        run.knotc("-b", "zone-reload", "a.")
        os.utime(daemon.dir / "b.zone")
        run.knotc("-b", "zone-reload")
        run.settle("rubbish", zones, 14)
        daemon.write("a.zone", GOOD.format(30))
        configure(daemon, ["c.", "b.", "a."])
        run.knotc("reload")
        daemon.wait_log(r"\[c\.\] loaded|serial 20 -> 30", count=2)
        run.settle("another zone", zones, 8)
        configure(daemon, ["c.", "b."])
        run.knotc("reload")
        run.settle("a zone less", zones, 3)
        configure(daemon, ["c.", "b."], "semantic-checks: maybe")
        run.knotc("reload")
        run.settle("bad configuration", zones, 5)
        configure(daemon, [])
        run.knotc("reload")
        run.settle("no zones", zones, 3)
        os.unlink(daemon.dir / "a.zone")
        configure(daemon, ["a."])
        run.knotc("reload")
        daemon.wait_log(r"\[a\.\] zone event 'load' failed", count=4)
        run.settle("a zone without file", zones, 7)
        run.knotc("zone-status")
        daemon.write("a.zone", GOOD.format(30))
        run.knotc("reload")
        daemon.wait_log("serial none -> 30")
        run.settle("the file appears", zones, 5)
        daemon.stop(signal.SIGINT)
        run.seen.append((daemon.process.returncode, run.fresh()[0], os.listdir(daemon.dir / "run")))
    same(runs)


BROKEN = {
    "good.": GOOD.format(1),
    "syntax.": GOOD.format(1) + "a A 192.0.2\n",
    "type.": GOOD.format(1) + "a NONSENSE 1\n",
    "nosoa.": "@ 3600 NS ns\nns A 192.0.2.1\n",
    "origin.": "other. 3600 SOA ns host 1 3600 900 86400 300\nother. NS ns.other.\n",
    "cname.": GOOD.format(1) + "x CNAME ns\nx A 192.0.2.1\n",
    "nons.": SOA.format(1),
    "outside.": GOOD.format(1) + "www.other. A 192.0.2.1\n",
    "empty.": "",
    "ttl.": GOOD.format(1) + "x 30 A 192.0.2.1\nx 60 A 192.0.2.2\n",
}


@pytest.mark.parametrize("checks", ["off", "on", "soft"])
def test_broken_zones(runs, checks):
    """What each fault of a zone file gets at the start and from zone-check."""
    for run in runs:
        daemon, zones = run.daemon, [*BROKEN, "missing."]
        for zone, text in BROKEN.items():
            daemon.write(f"{zone}zone", text)
        (daemon.dir / "directory.zone").mkdir(exist_ok=True)
        zones.append("directory.")
        configure(daemon, zones, f"semantic-checks: {checks}")
        daemon.start()
        run.settle("start", zones)
        knotc = PEER_KNOTC if daemon.program else built("knotc", "tools")
        for zone in [*zones, "nowhere."]:
            done = subprocess.run([knotc, "-c", daemon.path, "zone-check", zone], capture_output=True, text=True, check=False)
            run.seen.append((zone, done.returncode, run.plain(done.stdout), run.plain(done.stderr)))
    same(runs)


def test_check_with_force(runs):
    """Warnings of the semantic checks fail then; what the loader corrects doesn't."""
    for run in runs:
        daemon = run.daemon
        for zone, text in BROKEN.items():
            daemon.write(f"{zone}zone", text)
        configure(daemon, list(BROKEN), "semantic-checks: on")
        knotc = PEER_KNOTC if daemon.program else built("knotc", "tools")
        for zone in BROKEN:
            done = subprocess.run([knotc, "-c", daemon.path, "-f", "zone-check", zone], capture_output=True, check=False)
            run.seen.append((zone, done.returncode))
    same(runs)


# Sections of `log`: what goes where, with which levels.
TARGETS = {
    "a source below any": "  - target: stdout\n    any: error\n    zone: info\n",
    "a source above any": "  - target: stdout\n    any: info\n    zone: error\n",
    "a source before any": "  - target: stdout\n    zone: info\n    any: error\n",
    "one source": "  - target: stdout\n    server: info\n",
    "another source": "  - target: stdout\n    control: debug\n",
    "no source": "  - target: stdout\n",
    "critical": "  - target: stdout\n    any: critical\n",
    "two targets": "  - target: {dir}/first\n    any: warning\n  - target: stderr\n    zone: notice\n",
    "relative": "  - target: second\n    any: info\n",
    "one file twice": "  - target: {dir}/first\n    zone: info\n  - target: {dir}/./first\n    server: info\n",
}


@pytest.mark.parametrize("what", TARGETS)
def test_log_targets(runs, what):
    for run in runs:
        daemon = run.daemon
        daemon.write("good.zone", GOOD.format(1))
        daemon.write("type.zone", BROKEN["type."])
        configure(daemon, ["good.", "type."])
        daemon.conf(daemon.path.read_text().replace(daemon.LOGGING, "log:\n" + TARGETS[what]))
        daemon.start(ready=False)
        daemon.wait(lambda: daemon.socket.exists() and daemon.knotc("status", check=False).returncode == 0)
        os.utime(daemon.dir / "good.zone")
        daemon.knotc("-b", "zone-reload", check=False)
        run.knotc("zone-reload", "nowhere.")
        run.knotc("zone-status", "good.")
        run.knotc("reload")
        os.utime(daemon.dir / "good.zone")
        run.knotc("-b", "zone-reload", "good.")
        daemon.stop()
        for name in ("output.log", "first", "second"):
            path = daemon.dir / name
            run.seen.append((what, name, sorted(set(run.plain(path.read_text()))) if path.exists() else None))
    same(runs)
