# SPDX-License-Identifier: BSD-2-Clause
"""Runs kxdpgun and reads its lines of JSON."""
import contextlib
import json
import os
import subprocess

from harness.server import built
from harness.waiting import PATIENCE

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


def is_load(sent, most, batch=10):
    """So many are most of a run. A machine that is busy lets the generator go late: what is due at the end of its time stays unsent, the rest was sent at once."""
    return most / 10 <= sent <= most + batch


def go_first():
    """This thread, or a process that is begun with this, goes before all others, as far as the system lets it: for tests that measure time."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def command(*arguments, queries, target, namespace=None):
    inside = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
    return [*inside, str(GUN), *map(str, arguments), "-i", str(queries), target]


def run(*arguments, check=True, timeout=60 * PATIENCE, goes_first=False, **options):
    done = subprocess.run(command(*arguments, **options), capture_output=True, text=True, check=False, timeout=timeout,
                          preexec_fn=go_first if goes_first else None)     # pylint: disable=subprocess-popen-preexec-fn
    assert not check or done.returncode == 0, done.stderr
    return done


def load(*arguments, **options):
    """A run with JSON; nothing is on standard error."""
    done = run("-j", *arguments, **options)
    assert done.stderr == ""
    return Report(done.stdout)
