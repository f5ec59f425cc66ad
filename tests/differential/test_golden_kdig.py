# SPDX-License-Identifier: BSD-2-Clause
"""The same command lines to the distribution's kdig and khost (Knot DNS 3.2.6) and to ours, over the same servers: what they print and how they
exit must be the same, but for differences that golden_kdig_rules.py explains.

The servers are ours, the distribution's knotd, named and nsd, and one whose replies are wrong in the way that the question's name says. The table is
written to BUILD/golden/kdig.md and kdig.json, what is unexplained to BUILD/golden/kdig-unexplained.

Variable: LINES (a regular expression of the lines to run).
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden_kdig_rules  # noqa: E402
from golden_kdig import ZONE, golden_lines  # noqa: E402
from harness.net import free_port  # noqa: E402
from harness.scripted_server import ScriptedServer  # noqa: E402
from harness.server import BUILD, built  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402
from peers import Named, Nsd, knot, wait_answer  # noqa: E402

PEERS = {"kdig": "/usr/bin/kdig", "khost": "/usr/bin/khost"}
LINES_MIN = 2000
KEY = """key:
  - id: k1
    algorithm: {algorithm}
    secret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
acl:
  - id: all
    address: 127.0.0.0/8
    action: transfer
"""

pytestmark = pytest.mark.skipif(not all(os.path.exists(path) for path in PEERS.values()), reason="the distribution's kdig and khost are not installed")


SECRET = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
KEY_FILES = {
    "key": f"hmac-sha256:k1:{SECRET}\n",
    "key-bind": f'key "k1" {{ algorithm hmac-sha256; secret "{SECRET}"; }};\n',
    "key-none": "\n",
    "key-empty": "",
    "key-bad": "hmac-nonsense:k1:AAAA\n",
    "key-two": f"hmac-sha256:k1:{SECRET}\nhmac-sha256:k2:AAAA\n",
}


class Zone:
    name = "all.test."

    @staticmethod
    def file_name():
        return "all.test.zone"


def start_knot(directory, zone_directory, program):
    daemon = knot(directory, [], zone_directory, program, listen=["127.0.0.1"])
    text = daemon.path.read_text()
    daemon.path.write_text(KEY.replace("{algorithm}", "hmac-sha256") + text + f"""
  - domain: all.test
    file: all.test.zone
    acl: all
""")
    daemon.start()
    wait_answer(daemon.port, "all.test.", daemon.process, daemon.output)
    return daemon


def make_files(folder, port):
    """Keys, and dnstap files that the distribution's kdig has written."""
    folder.mkdir()
    for name, text in KEY_FILES.items():
        (folder / name).write_text(text)
    for name, words in (("tap", ()), ("tap-tcp", ("+tcp",))):
        subprocess.run([PEERS["kdig"], "-E", str(folder / name), f"@127.0.0.1#{port}", "+noedns", *words, "a.odd.test", "glue.odd.test", "-t", "NS", "a.rcode-3.odd.test"],
                       stdout=subprocess.DEVNULL, check=True, timeout=60 * PATIENCE)
    whole = (folder / "tap").read_bytes()
    (folder / "tap-cut").write_bytes(whole[:-40])
    (folder / "tap-empty").write_bytes(whole[:42])
    return folder


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """The port of each server."""
    directory = tmp_path_factory.mktemp("golden-kdig")
    os.chmod(directory, 0o755)
    (directory / "all.test.zone").write_text(ZONE)
    stopping = []
    try:
        found = {}
        for name, program in (("ours", built("knotd", "knotd")), ("knot", "/usr/sbin/knotd")):
            daemon = start_knot(directory / name, directory, program)
            stopping.append(daemon.stop)
            found[name] = daemon.port
        for name, peer in (("named", Named), ("nsd", Nsd)):
            server = peer(directory / name, [Zone], directory)
            stopping.append(server.stop)
            server.start().wait()
            found[name] = server.port
        odd = ScriptedServer()
        stopping.append(odd.stop)
        yield {**found, "odd": odd.port, "closed": free_port(), "files": make_files(directory / "files", odd.port)}
    finally:
        for stop in stopping:
            stop()


# What differs between two runs of one program. IDs may have the number of a port, so they are the first.
IDS = r"(?<= id: )\d+|(?<=reply ID \()\d+|(?<=query ID \()\d+"
NORMAL = ((r"(?<=;; Time ).*", "WHEN"), (r"(?<= in )\d+\.\d ms", "T ms"),
          (r'(?<="dateString": ")[^"]*', "WHEN"), (r'(?<="dateSeconds": )\d+', "0"), (r'(?<="ID": )[^,]+', "0"),
          (r"(TSIG[ \t]hmac-\S+) \d+ (\d+) (\d+)( [^ ]*[^\d ][^ ]*)? \w+", r"\1 WHEN \2 \3 MAC ID"),
          (r"(TSIG hmac-\S+) \d+ (\d+) \(\n\s+(\d+) \S+\n\s+\w+", r"\1 WHEN \2 \3 MAC ID"),
          (r'"rdataTSIG": "(\S+) \d+ (\d+) (\d+)( [^ ]*[^\d ][^ ]*)? \w+', r'"rdataTSIG": "\1 WHEN \2 \3 MAC ID'),
          (r'(?<="messageOctetsHEX": ")[0-9A-F]{4}', "ID"), (r"(TYPE250[ \t]\S+ \d+) [0-9A-F]+", r"\1 HEX"), (r'("TYPEname": "TSIG"(.|\n)*?"RDATAHEX": ")[0-9A-F]+', r"\1HEX"), (r"(?<=127\.0\.0\.1@)\d{5}", "PORT"),
          (r"(kdig|khost) \([^)]*\), version .*", r"\1 VERSION"), (r"(?<=COOKIE: )[0-9A-F]{16}", "CLIENT"),
          (r"^Usage: (kdig|khost) (.|\n)*\Z", r"USAGE \1\n"), (r"^\S*/khost: ", "khost: "))


def normal(result, ports):
    code, *texts = result
    for i, text in enumerate(texts):
        text = re.sub(IDS, "ID", text)
        for name, port in ports.items():
            text = re.sub(rf"\b{port}\b", name.upper(), text)
        for pattern, replacement in NORMAL:
            text = re.sub(pattern, replacement, text, flags=re.M)
        # In hex, too: times and MACs of TSIG, cookies.
        texts[i] = text
    return (code, *texts)


def run(program, line, ports):
    words = shlex.split(line)[1:]
    words = [re.sub(r"\{(\w+)\}", lambda match: str(ports[match.group(1)]), word) for word in words]
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"})
    return normal((done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")), ports)


def run_both(line, ports):
    name = line.split()[0]
    return run(PEERS[name], line, ports), run(built(name, "tools"), line, ports)


def show(result):
    code, out, err = result
    return "\n".join([f"exit {code}", *(f"  {text}" for text in out.splitlines()), *(f"  err: {text}" for text in err.splitlines())])


def difference(theirs, ours):
    import difflib
    return "\n".join(difflib.unified_diff(show(theirs).splitlines(), show(ours).splitlines(), "theirs", "ours", n=1, lineterm=""))


def write(counts, reasons, unexplained):
    folder = BUILD / "golden"
    folder.mkdir(exist_ok=True)
    rows = ["| program | lines | equal | explained | unexplained |", "|---|---|---|---|---|"]
    for program in PEERS:
        row = [counts[program, verdict] for verdict in ("equal", "explained", "unexplained")]
        rows.append(f"| {program} | {sum(row)} | " + " | ".join(map(str, row)) + " |")
    total = sum(counts.values())
    rows += ["", f"{total} command lines compared: " + ", ".join(f"{sum(counts[program, verdict] for program in PEERS)} {verdict}" for verdict in
                                                               ("equal", "explained", "unexplained")), "", "| explained differences | lines |", "|---|---|"] + [f"| {reason} | {count} |" for reason, count in reasons.most_common()]
    text = "\n".join(rows) + "\n"
    (folder / "kdig.md").write_text(text)
    (folder / "kdig.json").write_text(json.dumps({"counts": {f"{a} {b}": count for (a, b), count in counts.items()}, "reasons": dict(reasons)}, indent=1))
    (folder / "kdig-unexplained").write_text("\n\n".join(unexplained) + "\n")


def test_golden_kdig(ports):
    everything = golden_lines()
    lines = [line for line in everything if re.search(os.environ.get("LINES", ""), line)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda line: run_both(line, ports), lines))
    counts, reasons, unexplained = collections.Counter(), collections.Counter(), []
    for line, (theirs, ours) in zip(lines, results):
        program = line.split()[0]
        if theirs == ours:
            counts[program, "equal"] += 1
            continue
        why = golden_kdig_rules.explain(line, theirs, ours)
        counts[program, "explained" if why is not None else "unexplained"] += 1
        reasons.update(why or [])
        if why is None:
            unexplained.append(f"### {line}\n{difference(theirs, ours)}")
    write(counts, reasons, unexplained)
    assert not unexplained, f"{len(unexplained)} unexplained:\n" + "\n\n".join(unexplained[:20])
    if len(lines) == len(everything):
        assert len(lines) >= LINES_MIN
        unused = [reason for reason, _ in golden_kdig_rules.RULES if reason not in reasons]
        assert not unused, f"explain nothing any more: {unused}"
