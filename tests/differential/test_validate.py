# SPDX-License-Identifier: BSD-2-Clause
"""Signed zones in which something was spoilt: what src/validate says of each, beside kzonecheck, ldns-verify-zone, dnssec-verify and the
model of the harness.
guards: RFC 4035 2, 5155 7.1

The zones are those of src/validate/random_test.c, from KNOT_SEED on; KNOT_ROUNDS has six zones each. What is right for us must be right for all;
what is wrong for any of the others, but for rules that only it has, must be wrong for us; and kzonecheck must say it in the same words.
"""
import concurrent.futures
import os
import re
import subprocess
import time

from harness.server import BUILD
from harness.zone_model import faults_of

ROUNDS = int(os.environ.get("KNOT_ROUNDS", 60))
# Our words: those of Debian's kzonecheck (3.2.6) that mean the same; None: it finds no fault.
WORDS = {
    "invalid signature": {"unknown error", None},  # beside a good one; of a KSK over other records: none
    "superfluous NSEC(3)": {None},
    "wrong NSEC3 opt-out": {"wrong NSEC3 opt-out", "inconsistent NSEC(3) chain"},  # with other parameters
    # Of an empty name; with other parameters; of a name that has nothing but a signature.
    "missing NSEC(3) record": {"missing NSEC(3) record", "wrong NSEC3 opt-out", "inconsistent NSEC(3) chain", "no valid signature for a record"},
}
# Of several algorithms one valid signature is enough, and a signature of nothing does no harm.
LENIENT = re.compile(r"has signatures of algorithms|which isn't there$")
# Types that stop kzonecheck's zone from being loaded, or that it checks besides.
OTHER_CHECKS = re.compile(r"in DS|glue|CDS|CDNSKEY|missing NS at")


def verdict_of_kzonecheck(path):
    done = subprocess.run(["kzonecheck", "-o", "zone.", "-d", "on", path], capture_output=True, text=True, timeout=60)
    if done.returncode < 0:
        return "error"  # it crashes, as where NSEC3 records have no NSEC3PARAM
    lines = [line for line in (done.stdout + done.stderr).splitlines() if re.match(r"\[|error", line) and not OTHER_CHECKS.search(line)]
    return None if not lines else re.sub(r" *\(.*record type.*\)$", "", lines[0].split("] ", 1)[-1]).strip() if lines[0].startswith("[") else "error"


def is_right(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def judge(path):
    """What is wrong with what we said of a zone; None: nothing."""
    what, ours, _ = path.with_suffix(".txt").read_text().splitlines()
    knot, ldns = verdict_of_kzonecheck(path), is_right("ldns-verify-zone", path)
    bind = is_right("dnssec-verify", "-q", "-z", "-o", "zone.", path)
    # dnssec-verify wants a signature of each algorithm of the keys. The apex tells it whether a zone has opt-out, in spans of which names lack NSEC3.
    bind_is_right = bind.returncode == 0 or "No correct" in bind.stderr + bind.stdout or ("opt-out" in what and "Missing NSEC3" in bind.stderr + bind.stdout)
    if ours == "OK":
        good = knot is None and ldns.returncode == 0 and bind_is_right
    else:
        others = (ldns.returncode != 0) + (bind.returncode != 0)
        good = knot in WORDS.get(ours, {ours}) or (knot == "error" and others > 0) or (knot is None and others == 2)
    model = [fault for fault in faults_of(path, "zone.") if not LENIENT.search(fault)]
    return None if good and bool(model) == (ours != "OK") else \
        f"{path.name}, {what}: {ours}; kzonecheck: {knot}; model: {model[:3]}; ldns: {ldns.stdout[-300:]}; BIND: {bind.stderr[-300:]}"


def test_spoilt_zones(tmp_path):
    environment = {**os.environ, "KNOT_DUMP": str(tmp_path), "KNOT_NOW": str(int(time.time())), "KNOT_ROUNDS": str(ROUNDS)}
    subprocess.run([BUILD / "tests/differential/spoil_zones"], env=environment, check=True, timeout=600, stdout=subprocess.DEVNULL)
    paths = sorted(tmp_path.glob("*.zone"))
    said = [path.with_suffix(".txt").read_text().splitlines()[1] for path in paths]
    assert len(paths) == 6 * ROUNDS and len(set(said)) >= 6 and "OK" in said
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [found for found in pool.map(judge, paths) if found is not None]
    assert not wrong, f"{len(wrong)} of {len(paths)}:\n" + "\n".join(wrong[:10])
