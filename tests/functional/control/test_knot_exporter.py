# SPDX-License-Identifier: BSD-2-Clause
"""Guards that PyPI's knot-exporter works unchanged, and that our endpoint and it agree on names and values."""
import fcntl
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from harness.metrics import families, request, value, wait_open
from harness.net import free_port
from harness.server import BUILD
from harness.server import library as our_library
from harness.waiting import PATIENCE, wait_until
from zones import example

VENV = BUILD / "venv-knot-exporter"
MODULES = ("mod-stats:\n  - id: all\n    query-type: on\ntemplate:\n  - id: default\n    global-module: mod-stats/all\n"
           "    module: mod-stats\n")


@pytest.fixture(scope="module")
def exporter():
    """The program, installed from PyPI once per build tree."""
    is_whole = VENV / "installed"       # an interrupted installation starts from scratch
    with open(f"{VENV}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_whole.exists():
            try:
                subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True, capture_output=True, timeout=60 * PATIENCE)
                subprocess.run([VENV / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "10",
                                "knot-exporter==3.6.2"], check=True,
                               capture_output=True, timeout=60 * PATIENCE)
            except (subprocess.SubprocessError, OSError) as error:
                pytest.skip(f"knot-exporter can't be installed from PyPI: {error}")
            is_whole.touch()
    return VENV / "bin" / "knot-exporter"


def library(ours):
    if ours and {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ):
        pytest.skip("Python can't load a library that needs a sanitizer")
    paths = [our_library()] if ours else sorted(pathlib.Path("/usr/lib").glob("*/libknot.so.1?"))
    if not paths or paths[0] is None:
        pytest.skip("there is no library for knot-exporter")
    return paths[0]


def start(knotd, program=None, server=""):
    knotd.program = program or knotd.program
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"], server=server, text=MODULES)
    knotd.start()
    for name, rdtype, tcp in (("www.example", "A", False), ("www.example", "A", False), ("nothing.example", "MX", True)):
        knotd.ask(name, rdtype, tcp=tcp)
    knotd.wait(lambda: knotd.stats().get("mod-stats.server-operation[query]") == 3, what="the questions to be counted")
    return knotd


def scrape(exporter, knotd, ours):
    """{(name, labels): value} of what the exporter gives, pids and Python's own metrics left out."""
    port = free_port()
    process = subprocess.Popen([exporter, "--web-listen-port", str(port), "--knot-library-path", library(ours), "--zone-timers",
                                "--knot-socket-path", knotd.socket], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def answer():
        assert process.poll() is None, process.communicate()[0]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10 * PATIENCE) as response:
                return response.read().decode()
        except urllib.error.URLError:
            return None

    try:
        text = wait_until(answer, "the exporter's answer", pause=0.1)
    finally:
        process.kill()
        process.communicate()
    found = {}
    parser = pytest.importorskip("prometheus_client.parser", reason="python3-prometheus-client is not installed")
    for family in parser.text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("knot_"):
                labels = {**sample.labels, "pid": ""} if "pid" in sample.labels else sample.labels
                found[sample.name, tuple(sorted(labels.items()))] = sample.value
    return found


def test_same_names_and_values_as_with_knot(exporter, make_knotd):
    """What it gets from Debian's knotd it gets from ours; more are what 3.5 has and 3.2 hasn't."""
    if not pathlib.Path("/usr/sbin/knotd").exists():
        pytest.skip("Debian's knotd is not installed")
    knot = scrape(exporter, start(make_knotd(name="knot"), "/usr/sbin/knotd"), ours=False)
    ours = scrape(exporter, start(make_knotd(name="ours")), ours=True)
    memory = [key for key in knot if "memory" in key[0]]
    assert memory and set(knot) <= set(ours)
    assert {key: ours[key] for key in knot if key not in memory} == {key: knot[key] for key in knot if key not in memory}
    assert {key[0].removesuffix("_total") for key in set(ours) - set(knot)} == {"knot_zone_stats_size", "knot_zone_stats_max_ttl"}
    assert len(knot) > 40


@pytest.mark.ours
def test_our_endpoint_agrees_with_it(exporter, knotd):
    """Dashboards that were made for it go on: each counter under its name NAME_total, each level under NAME."""
    port = free_port()
    start(knotd, server=f"metrics-listen: 127.0.0.1@{port}")
    theirs = scrape(exporter, knotd, ours=True)
    wait_open(port)
    status, _, text = request(port)
    assert status == 200
    found = families(text)
    levels = {"knot_stats_zone_count", "knot_zone_serial", "knot_zone_stats_size", "knot_zone_stats_max_ttl", "knot_memory_usage_bytes"}
    timers = {"knot_zone_refresh_seconds", "knot_zone_retry_seconds", "knot_zone_expiration_seconds"}   # asked for by an option
    compared = 0
    for (name, labels), want in theirs.items():
        base = name.removesuffix("_total")
        if base in timers or (name != base) == (base in levels):
            continue    # it gives each number twice, as NAME and NAME_total
        labels = dict(labels)
        if "pid" in labels:
            labels["pid"] = str(knotd.process.pid)
            assert value(found, name, **labels) > 0
        else:
            assert value(found, name, **labels) == want, (name, labels)
        compared += 1
    assert compared > 20
