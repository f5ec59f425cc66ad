# SPDX-License-Identifier: BSD-2-Clause
"""The same scripts to the distribution's knsupdate (Knot DNS 3.2.6) and to ours: what they print, how they exit, and the messages that they send must
be the same, byte for byte but for IDs and times, but for differences that golden_knsupdate_rules.py explains.

The servers are one whose replies are chosen by the zone's name, which remembers what it was sent, and our knotd and the distribution's, one for each
program, whose zones must be the same after all scripts. The table is written to BUILD/golden/knsupdate.md, what is unexplained to
BUILD/golden/knsupdate-unexplained.

Variables: LINES (a regular expression of the cases to run), KNOT_SEED (another one has other scripts).
"""
import collections
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden_knsupdate_rules  # noqa: E402
from golden_knsupdate import golden_cases, golden_daemon_cases  # noqa: E402
from golden_message import expanded, masked  # noqa: E402
from harness.net import free_port  # noqa: E402
from harness.scripted_server import ScriptedServer  # noqa: E402
from harness.server import BUILD, built  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402
from peers import knot, wait_answer  # noqa: E402

PEER = "/usr/bin/knsupdate"
CASES_MIN = 900
SECRET = "A" * 43 + "="
FILES = {"key": f"k1:{SECRET}\n", "badkey": "nonsense\n", "bad": "zone odd.test\nnonsense\n", "exit": "exit\n", "zone": "zone odd.test\n",
         "add": "add a A 192.0.2.9\nsend\n"}
ZONE = "$ORIGIN {name}\n$TTL 3600\n@ SOA ns1 hostmaster 1 3600 600 86400 300\n@ NS ns1\nns1 A 192.0.2.1\na A 192.0.2.2\n"

pytestmark = pytest.mark.skipif(not os.path.exists(PEER), reason="the distribution's knsupdate is not installed")

NORMAL = ((r"(?<= id: )\d+", "ID"), (r"(?<=reply ID \()\d+", "ID"), (r"(?<=query ID \()\d+", "ID"), (r"(?<=127\.0\.0\.1@)\d{4,5}", "PORT"),
          (r"(?<=127\.0\.0\.1 )\d{4,5}", "PORT"), (r"(TSIG[ \t]+hmac-\S+) \d+ (\d+) (\d+)( [^ ]*[^\d ][^ ]*)? \d+", r"\1 WHEN \2 \3 MAC ID"),
          (r"(hmac-\S+ )\d{10} (\d+ \d+) \S+ \d+", r"\1WHEN \2 MAC ID"),
          (r"knsupdate \([^)]*\), version .*", "VERSION"), (r"^Usage: knsupdate (.|\n)*\Z", "USAGE\n"), (r"^\S*/knsupdate: ", "knsupdate: "))


def normal(text, places):
    for name, value in places.items():
        text = re.sub(rf"(?<!\w){re.escape(str(value))}(?!\d)", name.upper(), text)
    for pattern, replacement in NORMAL:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return text


def run(program, case, port, folder, received):
    """(exit code, standard output, standard error, messages)."""
    path = folder / "script"
    text = case.script.replace("{port}", str(port))
    path.write_bytes(text.encode("latin-1"))
    places = {"port": port, "script": path, "folder": folder}
    stdin = text.encode("latin-1") if case.reads_stdin else b""
    done = subprocess.run([program, *case.words(**places)], input=stdin, capture_output=True, timeout=60 * PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "HOME": str(folder)})
    texts = [normal(output.decode(errors="replace"), places) for output in (done.stdout, done.stderr)]
    return (done.returncode, *texts, "\n".join(f"{transport} {masked(wire)}" for transport, wire in received))


def run_odd(program, case, folder):
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    server = ScriptedServer()
    try:
        return run(program, case, server.port if case.server == "odd" else free_port(), folder, server.received)
    finally:
        server.stop()


def run_both_odd(number, case, directory):
    return [run_odd(program, case, directory / f"{number}-{name}") for name, program in (("theirs", PEER), ("ours", built("knsupdate", "tools")))]


def start_daemon(directory, program):
    directory.mkdir()
    os.chmod(directory, 0o755)
    daemon = knot(directory / "run", [], directory, program, listen=["127.0.0.1"])
    text = daemon.path.read_text()
    for name in ("upd.test", "key.test"):
        (directory / f"{name}.zone").write_text(ZONE.replace("{name}", name + "."))
        text += f"\n  - domain: {name}\n    file: {name}.zone\n    acl: {name}\n    zonefile-sync: -1\n"
    daemon.path.write_text(f"""key:
  - id: k1
    algorithm: hmac-sha256
    secret: {SECRET}
acl:
  - id: upd.test
    address: 127.0.0.0/8
    action: [update, transfer]
  - id: key.test
    key: k1
    action: [update, transfer]
""" + text)
    daemon.start()
    wait_answer(daemon.port, "upd.test.", daemon.process, daemon.output)
    return daemon


def show(result):
    code, out, err, messages = result
    return "\n".join([f"exit {code}", *(f"  {text}" for text in out.splitlines()), *(f"  err: {text}" for text in err.splitlines()),
                      *(f"  sent: {text}" for text in messages.splitlines())])


def difference(theirs, ours):
    return "\n".join(difflib.unified_diff(show(theirs).splitlines(), show(ours).splitlines(), "theirs", "ours", n=1, lineterm=""))


class Tally:
    def __init__(self):
        self.counts, self.reasons, self.unexplained = collections.Counter(), collections.Counter(), []

    def add(self, case, theirs, ours):
        kind = "daemon" if case.server in ("knot", "ours") else "scripted"
        self.counts[kind, "messages"] += len(ours[3].splitlines())
        self.counts[kind, "same bytes"] += sum(a == b for a, b in zip(theirs[3].splitlines(), ours[3].splitlines()))
        if theirs == ours:
            self.counts[kind, "equal"] += 1
            return
        why = golden_knsupdate_rules.explain(case, theirs, ours)
        self.counts[kind, "explained" if why is not None else "unexplained"] += 1
        self.reasons.update(why or [])
        if why is None:
            self.unexplained.append(f"### {case}{difference(theirs, ours)}")

    def table(self):
        columns = ("equal", "explained", "unexplained")
        rows = ["| server | scripts | equal | explained | unexplained | messages | same bytes |", "|---|---|---|---|---|---|---|"]
        for kind in ("scripted", "daemon"):
            row = [self.counts[kind, column] for column in columns]
            rows.append(f"| {kind} | {sum(row)} | " + " | ".join(str(n) for n in [*row, self.counts[kind, "messages"], self.counts[kind, "same bytes"]]) + " |")
        return "\n".join([*rows, "", "| explained differences | scripts |", "|---|---|", *(f"| {why} | {n} |" for why, n in self.reasons.most_common())]) + "\n"

    def write(self):
        folder = BUILD / "golden"
        folder.mkdir(exist_ok=True)
        (folder / "knsupdate.md").write_text(self.table())
        (folder / "knsupdate-unexplained").write_text("\n\n".join(self.unexplained) + "\n")


def wanted(cases):
    return [case for case in cases if re.search(os.environ.get("LINES", ""), str(case))]


def run_daemons(tally, cases, directory):
    """Each program has its own daemon of each kind, so both see the same zones; scripts of one kind go one after the other."""
    directory.mkdir()
    daemons = {}
    try:
        for kind, program in (("ours", built("knotd", "knotd")), ("knot", "/usr/sbin/knotd")):
            for user in ("theirs", "ours"):
                daemons[kind, user] = start_daemon(directory / f"{kind[0]}{user[0]}", program)    # short: a path of a socket has 107 bytes at most
        for case in cases:
            results = []
            for user, program in (("theirs", PEER), ("ours", built("knsupdate", "tools"))):
                results.append(run(program, case, daemons[case.server, user].port, directory, []))
            tally.add(case, *results)
        for kind in ("ours", "knot"):
            zones = [[transferred(daemons[kind, user].port, zone) for zone in ("upd.test", "key.test")] for user in ("theirs", "ours")]
            assert zones[0] == zones[1] and all(len(zone) > 3 for zone in zones[0])
    finally:
        for daemon in daemons.values():
            daemon.stop()


def transferred(port, zone):
    key = ["-y", f"k1:{SECRET}"] if zone == "key.test" else []
    out = subprocess.run([built("kdig", "tools"), "@127.0.0.1", "-p", str(port), *key, "+noall", "+answer", "AXFR", zone], capture_output=True, text=True,
                         check=True).stdout
    return sorted(out.split("\n"))


def test_golden_knsupdate(tmp_path):
    os.chmod(tmp_path, 0o755)
    tally = Tally()
    seed = int(os.environ.get("KNOT_SEED", "1"))
    everything, daemon_cases = golden_cases(seed), golden_daemon_cases(seed + 1)
    cases = wanted(everything)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda item: run_both_odd(*item, tmp_path), enumerate(cases)))
    for case, (theirs, ours) in zip(cases, results):
        tally.add(case, theirs, ours)
    try:
        run_daemons(tally, wanted(daemon_cases), tmp_path / "d")
    finally:
        tally.write()
    print(tally.table())
    assert not tally.unexplained, f"{len(tally.unexplained)} unexplained:\n" + "\n\n".join(tally.unexplained[:20])
    if len(cases) == len(everything):
        assert len(cases) + len(daemon_cases) >= CASES_MIN
    if len(cases) == len(everything) and seed == 1:
        unused = [reason for reason in golden_knsupdate_rules.all_reasons() if reason not in tally.reasons]
        assert not unused, f"explain nothing any more: {unused}"


def test_names_of_messages_are_spelt_out():
    """The form in which messages are compared has all of them, and shows a difference."""
    head = "000028000001000100010000"
    zone, record = "01780000060001", "c00c0001000100000e100004c0000201"
    same = "01780000010001" + "00000e100004c0000201"
    assert expanded(head + zone + record * 2) == expanded(head + zone + same * 2)
    assert expanded(head + zone + record * 2) != expanded(head + zone + record + record[:-1] + "2")
