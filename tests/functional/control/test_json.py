# SPDX-License-Identifier: BSD-2-Clause
"""Guards knotc -j: for every command one document that the published schema accepts, with numbers as numbers; errors of every kind, too."""
import json
import re
import subprocess

import pytest
from jsonschema import Draft202012Validator

from harness.server import TOP, built, is_ours
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")

SCHEMA = json.loads((TOP / "doc" / "formats" / "knotc.schema.json").read_text(encoding="utf-8"))
Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = Draft202012Validator(SCHEMA)


class Knotc:
    def __init__(self, server, directory):
        self.server = server
        self.dir = directory
        self.seen = set()

    def run(self, *words, options=(), socket=True):
        where = ["-s", str(self.server.socket)] if socket and self.server else []
        return subprocess.run([built("knotc", "tools"), *where, *options, "-j", *words], capture_output=True, text=True, check=False,
                              timeout=30 * PATIENCE, cwd=self.dir)

    def __call__(self, *words, status=0, **how):
        """The document of a command, checked: exit status, nothing beside it, the schema."""
        done = self.run(*words, **how)
        assert done.returncode == status, (words, done)
        assert done.stderr == "", (words, done)
        document = json.loads(done.stdout)
        VALIDATOR.validate(document)
        assert document["ok"] is (status == 0)
        assert [message for message in document["messages"] if message["level"] == "error"] or status == 0, (words, document)
        self.seen.add(words[0])
        return document

    def result(self, *words, **how):
        return self(*words, **how)["result"]

    def error(self, *words, **how):
        """The first error of a command that fails."""
        return [message for message in self(*words, status=1, **how)["messages"] if message["level"] == "error"][0]


@pytest.fixture
def knotc(knotd, directory):
    (directory / "example.zone").write_text(example(7))
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"], text="mod-stats:\n  - id: all\ntemplate:\n  - id: default\n    global-module: mod-stats/all\n")
    return Knotc(knotd.start(), directory)


@pytest.fixture
def local(directory):
    (directory / "example.zone").write_text(example(7))
    (directory / "a.conf").write_text(f"server:\n    identity: a\n    udp-workers: 3\n    listen: [ 127.0.0.1@5300, ::1@5300 ]\n"
                                      f"template:\n  - id: default\n    storage: {directory}\nzone:\n  - domain: example\n"
                                      "    dnssec-signing: off\n    zonefile-sync: 1h\n")
    return Knotc(None, directory)


def test_server(knotc):
    assert knotc.result("status") == [{"state": "running"}]
    workers, = knotc.result("status", "workers")
    assert workers["udp-workers"] == 2 and workers["running"] == 0
    assert re.match(r"\d", knotc.result("status", "version")[0]["version"])
    assert "storage-dir" in knotc.result("status", "configure")[0]
    assert knotc.result("status", "cert-key") == [{"cert-key": None}]
    assert knotc.result("reload") == []
    assert {"section": "server", "item": "zone-count", "value": 1} in knotc.result("stats")


def test_zones(knotc):
    assert knotc.result("zone-status", "example") == [{"zone": "example.", "role": "master", "serial": 7, "transaction": None, "freeze": None,
                                                       "XFR-freeze": None, "catalog": None, "load": None, "refresh": None, "update": None,
                                                       "expiration": None, "purge": None, "flush": None, "backup/restore": None,
                                                       "notify": None, "re-sign": None, "DNSSEC-validate": None, "DS-check": None,
                                                       "DS-push": None, "DNSKEY-sync": None, "DSYNC-notify": None, "delegation": None}]
    assert knotc.result("zone-status", "+serial") == [{"zone": "example.", "serial": 7}]
    assert knotc.result("zone-reload", "example") == [] and knotc.result("zone-freeze") == [] and knotc.result("zone-thaw") == []
    assert knotc.result("zone-flush", options=["-f"]) == []
    assert {"zone": "example.", "section": "zone", "item": "size"}.items() <= knotc.result("zone-stats", "example", "zone.size")[0].items()
    assert knotc.result("zone-read", "example", "www", "A") == [
        {"zone": "example.", "owner": "www.example.", "ttl": 3600, "type": "A", "data": "192.0.2.80"}]
    assert knotc.result("zone-image", "example")[0]["zone"] == "example."


def test_zone_transaction(knotc):
    assert knotc.result("zone-begin", "example") == []
    assert knotc.result("zone-set", "example", "new", "60", "A", "192.0.2.9") == []
    assert knotc.result("zone-get", "example", "new") == [{"zone": "example.", "owner": "new.example.", "ttl": 60, "type": "A", "data": "192.0.2.9"}]
    knotc.result("zone-unset", "example", "www", "A")
    changes = {(row["change"], row["owner"]) for row in knotc.result("zone-diff", "example")}
    assert {("add", "new.example."), ("remove", "www.example.")} <= changes
    assert knotc.result("zone-commit", "example") == []
    knotc.result("zone-serial-set", "example", "70")
    assert knotc.error("zone-abort", "example")["text"] == "no active transaction"
    assert knotc.result("zone-status", "example", "+serial")[0]["serial"] >= 70
    knotc.result("zone-purge", "example", options=["-f"])
    assert knotc.result("zone-status", "example", "+serial") == [{"zone": "example.", "serial": None}]


def test_configuration(knotc):
    assert {"section": "server", "item": "udp-workers", "values": [2]} in knotc.result("conf-read", "server")
    assert {"section": "zone"} in knotc.result("conf-list")
    assert knotc.result("conf-begin") == [] and knotc.result("conf-set", "server.identity", "me") == []
    assert knotc.result("conf-get", "server.identity") == [{"section": "server", "item": "identity", "values": ["me"]}]
    assert knotc.result("conf-diff") == [{"change": "add", "section": "server", "item": "identity", "values": ["me"]}]
    assert knotc.result("conf-unset", "server.identity") == [] and knotc.result("conf-abort") == []
    assert knotc.error("conf-commit")["text"] == "no active transaction"


def test_xdp(knotc):
    assert knotc.result("xdp-status") == []
    knotc("xdp-block", "list", status=knotc.run("xdp-block", "list").returncode)
    check = knotc("xdp-check", "lo", status=knotc.run("xdp-check", "lo").returncode)["result"]
    assert check[0]["interface"] == "lo" and check[0]["findings"]
    assert knotc.error("xdp-capture", "out.pcapng")["text"]


def test_top(knotc):
    sample = json.loads(knotc.run("top", "+interval", "0.1").stdout)
    facts = {row["id"]: row["data"] for row in sample["server"]}
    assert facts["zone-count"] == 1 and all(isinstance(fact, int) for fact in facts.values())
    assert knotc.error("top", "+interval", "0")["text"].startswith("invalid interval")


def test_errors(knotc, directory):
    error = knotc.error("zone-status", "nowhere")
    assert (error["zone"], error["text"]) == ("nowhere", "no such zone found")
    assert knotc.error("zone-read", "example", "www", "NOTYPE")["text"]
    assert knotc.error("nonsense")["text"] == "invalid command 'nonsense'"
    assert knotc.error("zone-status", "example", "+nonsense")["text"]
    assert knotc.error("conf-read", "nonsense")["section"] == "nonsense"
    assert "failed to connect" in knotc.error("status", options=["-s", str(directory / "nowhere")], socket=False)["text"]
    assert knotc.error("zone-sign", "example")["text"] == "operation not supported"


def test_every_command_that_needs_no_server(local):
    rows = local.result("help")
    assert {"status", "zone-status", "conf-export"} <= {row["command"] for row in rows} and all(row["description"] for row in rows)
    assert local("conf-check", options=["-c", "a.conf"])["messages"] == []
    assert local.result("zone-check", options=["-c", "a.conf"]) == []
    assert local.result("conf-init", options=["-C", "db"]) == [] and local.result("conf-import", "a.conf", options=["-C", "db"]) == []
    items = local.result("conf-export", options=["-C", "db"])
    assert {"section": "server", "item": "udp-workers", "values": [3]} in items
    assert {"section": "server", "item": "listen", "values": ["127.0.0.1@5300", "::1@5300"]} in items
    assert {"section": "zone", "id": "example.", "item": "dnssec-signing", "values": [False]} in items
    assert local.result("conf-export", "out.conf", options=["-C", "db"]) == [] and (local.dir / "out.conf").exists()
    schema = json.loads(local.run("conf-export", "+schema").stdout)     # is JSON itself
    assert schema["$schema"]


def test_findings(local):
    """An object for each finding, with its file and line."""
    (local.dir / "bad.conf").write_text("server:\n    lisen: 127.0.0.1\n")
    errors = local("conf-check", status=1, options=["-c", "bad.conf"])["messages"]
    first = errors[0]
    assert first["file"].endswith("bad.conf") and first["line"] == 2 and first["item"] == "lisen" and first["reason"]
    (local.dir / "example.zone").write_text(example(7) + "bad A 1.2.3\nworse AAAA x\n")
    errors = local("zone-check", status=1, options=["-c", "a.conf"])["messages"]
    assert {message["zone"] for message in errors} == {"example."} and len([1 for message in errors if "line" in message["text"]]) >= 2
    assert local.error("conf-import", "nofile", options=["-C", "db"])["text"] == "config, failed to load file 'nofile' (not exists)"
    assert local.error("zone-check", "nowhere", options=["-c", "a.conf"])["zone"] == "nowhere."
    assert local.error("conf-check", options=["-c", "nofile"])["text"]


def test_raw_has_the_units_of_the_protocol(knotc):
    """The form that -j had first: nothing of it has changed."""
    done = knotc.run("raw", "zone-status", "example", "+serial")
    assert done.stdout == ('{"command": "zone-status", "reply": [\n'
                           '  {"kind": "data", "flags": "", "zone": "example.", "type": "serial", "data": "7", "filters": ""}\n'
                           '], "ok": true}\n')
