# SPDX-License-Identifier: BSD-2-Clause
"""Runs kxdpgun and reads its lines of JSON."""
import json
import subprocess

from harness.server import built

GUN = built("kxdpgun", "tools")


class Report:
    """What a run said. `sum`: the last line of statistics; `counts`: the counters in it."""

    def __init__(self, text):
        self.lines = [json.loads(line) for line in text.splitlines()]
        self.sum = self.of("stats_sum")[-1]
        self.counts = self.sum["counts"]
        self.latency = self.sum["latency_ns"]

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]


def command(*arguments, queries, target, namespace=None):
    inside = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
    return [*inside, str(GUN), *map(str, arguments), "-i", str(queries), target]


def run(*arguments, check=True, timeout=60, **options):
    done = subprocess.run(command(*arguments, **options), capture_output=True, text=True, check=False, timeout=timeout)
    assert not check or done.returncode == 0, done.stderr
    return done


def load(*arguments, **options):
    """A run with JSON; nothing is on standard error."""
    done = run("-j", *arguments, **options)
    assert done.stderr == ""
    return Report(done.stdout)
