# SPDX-License-Identifier: BSD-2-Clause
"""Guards samples/grafana-dashboard.json, prometheus.yml and prometheus-rules.yml: each query is asked of a Prometheus that scrapes our server."""
import json
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest

from harness.metrics import families, request
from harness.net import free_port, inside
from harness.server import TOP
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = pytest.mark.ours

DASHBOARD = json.loads((TOP / "samples" / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
WORDS = {"sum", "by", "rate", "histogram_quantile", "topk", "min", "max", "time", "changes", "le", "instance"}


def queries():
    """{expression: panels} of all panels and annotations, with Grafana's variables filled in."""
    found = {}
    for panel in PANELS:
        for target in panel["targets"]:
            found.setdefault(target["expr"], []).append(panel["title"])
    for annotation in DASHBOARD["annotations"]["list"]:
        found.setdefault(annotation["expr"], []).append("annotation")
    # An interval that is longer than any test: what was asked at its beginning is still in it at its end.
    return {expr.replace("$__rate_interval", "1h").replace("$__interval", "1h").replace("$instance", ".*"): titles
            for expr, titles in found.items()}


def names_of(expr):
    """Names of metrics in an expression: words in front of a selector."""
    return set(re.findall(r"([a-z_][a-z0-9_]*)\{", expr))


def test_form():
    """What Grafana 9 wants of a dashboard."""
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] and DASHBOARD["title"] and DASHBOARD["id"] is None
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    cells = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= 24
        mine = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not mine & cells, f"{panel['title']} lies on another panel"
        cells |= mine
    for panel in PANELS:
        assert panel["targets"] and panel["type"] in {entry["id"] for entry in DASHBOARD["__requires"]}
        defaults, legend = panel["fieldConfig"]["defaults"], panel["options"].get("legend", {})
        assert defaults.get("unit") != "pps", f"{panel['title']}: a packet in ten seconds would be shown as 100 mp/s"
        assert panel["gridPos"]["w"] > 8 or legend.get("placement", "bottom") == "bottom", f"{panel['title']}: the legend takes most of it"
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}" and target["refId"]
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                grouped = re.search(r"by \(([^)]*)\)", target["expr"])
                assert not grouped or label in re.split(r", *", grouped.group(1)), (panel["title"], label)
    assert {"datasource", "instance"} == {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    for expr in queries():
        assert "$" not in expr and names_of(expr)


def test_samples_of_prometheus():
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (package prometheus)")
    done = subprocess.run(["promtool", "check", "config", TOP / "samples" / "prometheus.yml"], capture_output=True, text=True,
                          timeout=30 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Prometheus:
    def __init__(self, directory, namespace, target):
        self.namespace, self.port = namespace, free_port()
        text = (TOP / "samples" / "prometheus.yml").read_text(encoding="utf-8")
        text = re.sub(r"(scrape|evaluation)_interval: \d+s", r"\1_interval: 1s", text).replace("127.0.0.1:9433", target)
        assert text.count(target) == 2
        (directory / "prometheus.yml").write_text(text)
        shutil.copy(TOP / "samples" / "prometheus-rules.yml", directory)
        self.log = open(directory / "prometheus.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{namespace}", "prometheus",
                                         f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/tsdb",
                                         f"--web.listen-address=127.0.0.1:{self.port}"], stdout=self.log, stderr=self.log)

    def ask(self, path, **items):
        with inside(self.namespace):
            url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(items)}"
            try:
                with urllib.request.urlopen(url, timeout=10 * PATIENCE) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                if error.code == 503:   # it is still starting, and says so in plain text
                    raise
                return json.load(error)

    def wait(self, query):
        """Until the query has a result."""
        def has_result():
            assert self.process.poll() is None, "Prometheus has ended"
            try:
                return self.ask("query", query=query)["data"]["result"]
            except OSError:     # it is still starting
                return None

        return wait_until(has_result, f"a result of {query}", timeout=20, pause=0.2)

    def close(self):
        self.process.kill()     # nothing of its data is wanted
        self.process.wait()
        self.log.close()


@pytest.fixture
def scene(make_knotd, pair, directory):
    """A server with XDP and mod-stats, and Prometheus beside it."""
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not installed")
    server = make_knotd(pair.server)
    server.port = 53
    server.write("example.zone", example(7))
    server.configure(listen=(), zones=["example"], server="listen: 127.0.0.1@53\nmetrics-listen: 127.0.0.1@9433",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\nmod-stats:\n  - id: all\n    query-type: on\n"
                          "template:\n  - id: default\n    global-module: mod-stats/all\n")
    server.start()
    prometheus = Prometheus(directory, pair.server, "127.0.0.1:9433")
    try:
        yield server, pair, prometheus
    finally:
        prometheus.close()


def test_queries_have_answers(scene):
    """Each names metrics that the endpoint has, is understood, and gives numbers, but where there is none of the kind."""
    server, pair, prometheus = scene
    server.ask("www.example.", "A", pair.server4, client=pair.client)   # counters that modules show once they count
    prometheus.wait("sum(knot_requests_total) == 1")
    prometheus.wait('count_over_time(up{job="bowline-zones"}[1h]) > 0')
    for number in range(20):
        server.ask("www.example.", "A", pair.server4, client=pair.client, tcp=number % 4 == 0)
    prometheus.wait("sum(knot_requests_total) == 21")
    with inside(pair.server):
        status, _, text = request(9433)
    assert status == 200
    exposed = {sample.name for family in families(text).values() for sample in family.samples}
    quiet = {"Packets dropped by reason", "Packets passed to the kernel"}    # `> 0`, and none were
    for expr, titles in queries().items():
        assert not names_of(expr) - exposed, (titles, names_of(expr) - exposed)

        def numbers(expr=expr, titles=titles):
            reply = prometheus.ask("query", query=expr)
            assert reply["status"] == "success", (titles, expr, reply)
            return {row["value"][1] for row in reply["data"]["result"]} - {"NaN"}

        if quiet & set(titles) or "annotation" in titles:
            numbers()
        else:   # some need two values of what there was only one yet
            wait_until(numbers, f"numbers for {titles}: {expr}", pause=0.2)
    started = [sample.value for family in families(text).values() for sample in family.samples
               if sample.name == "process_start_time_seconds"]
    for annotation in DASHBOARD["annotations"]["list"]:    # the value is the moment, in milliseconds
        marks = prometheus.ask("query", query=annotation["expr"].replace("$instance", ".*"))["data"]["result"]
        assert annotation["useValueForTime"] and [float(row["value"][1]) / 1000 for row in marks] == pytest.approx(started)
    assert prometheus.ask("query", query="sum by (").get("status") == "error"
    protocols = prometheus.ask("query", query="sum by (protocol) (increase(knot_requests_total[1h])) > 0")["data"]["result"]
    assert {row["metric"]["protocol"] for row in protocols} == {"udp4-xdp", "tcp4-xdp"}


def test_rules_are_evaluated(scene):
    """Each rule of the sample names metrics that the endpoint has, and is understood; a zone whose file has a fault raises its alert."""
    server, pair, prometheus = scene
    text = (TOP / "samples" / "prometheus-rules.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\bknot_\w+|\bprocess_\w+", "\n".join(re.findall(r"^ +expr: (.*)$", text, re.M))))
    prometheus.wait('up{job="bowline"} == 1')
    server.write("example.zone", "this is no zone\n")
    assert server.knotc("-b", "zone-reload", "example", check=False).returncode == 1
    with inside(pair.server):
        exposed = {sample.name for family in families(request(9433)[2]).values() for sample in family.samples}
    assert len(used) > 7 and used - exposed == set()

    def rules():
        return [rule for group in prometheus.ask("rules")["data"]["groups"] for rule in group["rules"]]

    def raised():
        return {rule["name"] for rule in rules() if rule["alerts"]}

    wait_until(lambda: "BowlineZoneFault" in raised() and all(rule["health"] != "unknown" for rule in rules()), rules, timeout=30, pause=0.2)
    assert {rule["name"]: rule["lastError"] for rule in rules() if rule["health"] == "err"} == {}
    assert "BowlineZoneNotServed" not in raised()      # the version before is served
