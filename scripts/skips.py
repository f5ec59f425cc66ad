# SPDX-License-Identifier: BSD-2-Clause
"""Which tests may be skipped: tests/skips.txt, for count-unit and count-junit.

With SKIPS=fail in the environment, as .ci/run sets it, a skipped test that isn't listed there counts as failed. Otherwise a skip is
neither a success nor a failure: without root or a tool, a person runs what can be run.
"""
import fnmatch
import os
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))


class Fault(Exception):
    """A line of the list that can't be read."""


def read(path=None):
    """[(line number, test, reason)]: patterns as of a shell."""
    entries = []
    with open(path or os.path.join(TOP, "tests", "skips.txt"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != 3 or not all(fields):
                raise Fault(f"tests/skips.txt:{number}: not 'TEST | REASON | WHY'")
            entries.append((number, fields[0], fields[1]))
    return entries


def allowed(test, reason, entries):
    return any(fnmatch.fnmatchcase(test, pattern) and fnmatch.fnmatchcase(reason, why) for _, pattern, why in entries)


def count(skipped):
    """How many of `skipped`, pairs of test and reason, count as failed; says so on the standard error."""
    strict, failed, listed = os.environ.get("SKIPS") == "fail", 0, 0
    entries = read() if strict else []
    for test, reason in skipped:
        if not strict:
            continue
        if allowed(test, reason, entries):
            listed += 1
        else:
            failed += 1
            print(f"skipped, and not listed in tests/skips.txt: {test} ({reason})", file=sys.stderr)
    if skipped:
        print(f"{len(skipped)} skipped" + (f", {listed} of them as listed in tests/skips.txt" if strict else ""), file=sys.stderr)
    return failed
