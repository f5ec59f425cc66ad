# SPDX-License-Identifier: BSD-2-Clause
"""keymgr plan: what it says is what the server does, at that second. Not a command of Knot DNS."""
import json
import subprocess
import time
import xml.dom.minidom

import pytest

from harness.server import built

pytestmark = pytest.mark.core

POLICY = """policy:
  - id: p
    zsk-lifetime: 10
    propagation-delay: 1
    dnskey-ttl: 2
    zone-max-ttl: 3
    rrsig-lifetime: 1000
    rrsig-refresh: 100
    rrsig-pre-refresh: 10
    delete-delay: 1
  - id: other
    algorithm: ed25519
    zsk-lifetime: 1d
    zone-max-ttl: 1h
"""
ZONE = "$ORIGIN plan.test.\n$TTL 2\n@ SOA ns1 admin 10 3600 600 86400 2\n@ NS ns1\nns1 A 192.0.2.1\n"


def plan(daemon, *words, check=True):
    done = subprocess.run([built("keymgr", "tools"), "-c", str(daemon.dir / "knot.conf"), *words[:1], "plan.test", "plan", *words[1:]], capture_output=True, text=True,
                          check=False, timeout=30)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture(name="daemon")
def make_daemon(make_knotd):
    daemon = make_knotd()
    (daemon.dir / "db").mkdir()
    daemon.write("plan.test.zone", ZONE)
    daemon.configure(zones=["plan.test"], text=POLICY + "template:\n  - id: default\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    daemon.start()
    daemon.wait(lambda: daemon.ask("plan.test", "SOA").answer, what="the zone")
    return daemon


def states(daemon):
    """The keys that aren't KSKs: what each is now, by their timers."""
    listed = subprocess.run([built("keymgr", "tools"), "-c", str(daemon.dir / "knot.conf"), "-j", "plan.test", "list"], capture_output=True, text=True, check=True, timeout=30)
    return [key for key in json.loads(listed.stdout) if key.get("zsk", True) and not key.get("ksk")]


def test_server_does_it(daemon):
    """A ZSK rollover of seconds: publication, activation and removal come when the plan has them."""
    events = [event for event in json.loads(plan(daemon, "-j", "--until", "+25").stdout) if event["role"] == "ZSK"]
    assert [event["action"] for event in events[:4]] == ["publish", "activate", "retire", "remove"]
    when = {event["action"]: event["timestamp"] for event in events[:4]}
    old = events[2]["tag"]
    daemon.wait_log(r"DNSSEC, ZSK rollover started", timeout=30)
    assert abs(time.time() - when["publish"]) <= 2.5
    daemon.wait(lambda: any(sig.key_tag != old for sig in daemon.ask("plan.test", "SOA", want_dnssec=True).answer[1]), 30, "the new key's signature")
    assert abs(time.time() - when["activate"]) <= 2.5
    daemon.wait(lambda: len(daemon.ask("plan.test", "DNSKEY").answer[0]) == 2, 30, "the end of the old key")
    assert abs(time.time() - when["remove"]) <= 2.5


def test_forms(daemon):
    """A table in three forms of times, JSON, a picture; and what another policy would do."""
    table = plan(daemon, "-x", "--until", "+60").stdout.splitlines()
    assert table and all(" ZSK " in line or " KSK " in line for line in table)
    assert len(plan(daemon, "-x", "unix", "--until", "+60").stdout.splitlines()) == len(table)
    assert plan(daemon, "-x", "human", "--until", "+60").stdout.startswith("+")
    picture = xml.dom.minidom.parseString(plan(daemon, "-x", "--until", "+60", "--svg").stdout)
    assert len(picture.getElementsByTagName("rect")) >= 3
    other = plan(daemon, "-x", "--policy", "other", "--until", "+1d")
    assert "another algorithm" in other.stdout
    path = daemon.dir / "what-if.conf"
    path.write_text("policy:\n  - id: p\n    algorithm: ed25519\n")
    assert "another algorithm" in plan(daemon, "-x", "--policy", str(path), "--until", "+1d").stdout


def test_parent(daemon):
    """A KSK that waits for its parent is said to, and goes on where --ds-after says when."""
    waiting = plan(daemon, "-x", "--until", "+60")
    assert "waits for its DS" in waiting.stderr and "assumed" not in waiting.stdout
    going = plan(daemon, "-x", "--until", "+10mi", "--ds-after", "+5mi")
    assert "the parent has its DS, assumed 5m after its submission" in going.stdout and not going.stderr


@pytest.mark.parametrize("words,want", [(["--until", "soon"], "invalid --until 'soon'"), (["--ds-after", "x"], "invalid --ds-after 'x'"),
                                        (["--policy", "none"], "policy 'none' is neither in the configuration nor a file")])
def test_bad_options(daemon, words, want):
    done = plan(daemon, "-x", *words, check=False)
    assert done.returncode == 1 and want in done.stderr and not done.stdout


def test_knotc(daemon):
    """The running server says the same, as far as the second."""
    said = daemon.knotc("zone-key-plan", "plan.test").stdout
    assert said.count("action: ") >= 10
    first = said.splitlines()[0]
    assert first.startswith("[plan.test.] time: +") and "role: ZSK" in first and "why: a rollover begins, lifetime 10s" in first
    daemon.configure(zones=["plan.test"], text="")
    daemon.knotc("reload")
    assert "not supported" in daemon.knotc("zone-key-plan", "plan.test", check=False).stdout
