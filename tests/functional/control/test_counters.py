# SPDX-License-Identifier: BSD-2-Clause
"""Guards src/sys/counters.def: every output shows the table's counters, all of them, in its order and with its help texts. A new row needs no line here."""
import re
import subprocess

import pytest

from harness.control import Client
from harness.metrics import families, request, wait_open
from harness.net import free_port
from harness.server import TOP, built
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.ours


def table(*kinds):
    """[(item, help)] of the rows of these kinds, in order."""
    text = (TOP / "src/sys/counters.def").read_text(encoding="utf-8")
    rows = re.findall(rf'^COUNTER_(?:{"|".join(kinds)})\((?:\w+, )?"([\w-]+)",[^"]*"([^"]+)"\)$', text, re.M)
    assert rows
    return rows


@pytest.fixture
def server(knotd):
    knotd.metrics = free_port()
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"], server=f"metrics-listen: 127.0.0.1@{knotd.metrics}")
    knotd.start()
    wait_open(knotd.metrics)
    return knotd


def test_stats(server):
    said = server.knotc("-f", "stats").stdout
    assert re.findall(r"^server\.([\w-]+)", said, re.M) == [item for item, _ in table("READ", "WORKER", "DROP_SHOWN")]
    said = server.knotc("-f", "zone-stats", "example").stdout
    assert re.findall(r"zone\.([\w-]+)", said) == [item for item, _ in table("ZONE")]


def test_metrics(server):
    found = families(request(server.metrics)[2])
    for prefix, kinds in (("knot_stats_", ("READ", "WORKER")), ("knot_zone_stats_", ("ZONE",))):
        for item, text in table(*kinds):
            assert found[prefix + item.replace("-", "_")].documentation == text
    reasons = [sample.labels["reason"] for sample in found["knot_dropped_requests"].samples]
    assert reasons == [reason for reason, _ in table("DROP", "DROP_SHOWN")]


def test_top(server):
    with Client(server.socket) as control:
        units = control.command("top")
    keys = {(unit.get("section"), unit.get("id")) for unit in units if "item" not in unit}
    assert {("server", item) for item, _ in table("READ", "WORKER")} | {("drops", reason) for reason, _ in table("DROP", "DROP_SHOWN")} <= keys


@pytest.mark.parametrize("name, kinds", [("server", ("READ", "WORKER", "DROP_SHOWN")), ("drops", ("DROP", "DROP_SHOWN")), ("xdp", ("XDP", "XDP_OWN")), ("zone", ("ZONE",))])
def test_manual(name, kinds):
    done = subprocess.run([built("counters_doc", "control"), name], stdout=subprocess.PIPE, text=True, check=True, timeout=20 * PATIENCE)
    assert re.findall(r"^   \* - ``([\w-]+)``$", done.stdout, re.M) == [item for item, _ in table(*kinds)]
    manual = (TOP / "doc/manual/statistics.rst").read_text(encoding="utf-8")
    assert f".. include:: generated/counters-{name}.rst" in manual
