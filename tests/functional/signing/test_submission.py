# SPDX-License-Identifier: BSD-2-Clause
"""policy.ksk-submission: parents are asked for the DS record of a KSK that waits. Knot DNS passes all but those marked `ours`."""
import json
import re
import subprocess
import threading

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdata
import dns.rrset
import dns.update
import pytest

from harness.fake import FakeServer
from harness.server import built
from harness.waiting import wait_until

pytestmark = pytest.mark.core

CHILD = "$ORIGIN child.test.\n$TTL 60\n@ SOA ns1 admin 10 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\n"
PARENT = "$ORIGIN test.\n$TTL 7\n@ SOA ns1 admin 10 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\nchild NS ns1.child\nns1.child A 192.0.2.1\n"
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update, notify ]\n"


def start_parent(make_knotd, name="parent"):
    daemon = make_knotd(name=name)
    (daemon.dir / "db").mkdir()
    daemon.write("test.zone", PARENT)
    daemon.configure(zones=["test"], text=ACL + "template:\n  - id: default\n    acl: all\n    zonefile-sync: -1\n")
    return daemon.start()


def start_child(make_knotd, parents, delay=0):
    daemon = make_knotd(name="child")
    (daemon.dir / "db").mkdir()
    daemon.write("child.test.zone", CHILD)
    remotes = "remote:\n" + "".join(f"  - id: p{i}\n    address: 127.0.0.1@{parent.port}\n" for i, parent in enumerate(parents))
    names = ", ".join(f"p{i}" for i in range(len(parents)))
    daemon.configure(zones=["child.test"], text=remotes + ACL + f"submission:\n  - id: s\n    parent: [{names}]\n    check-interval: 1\n"
                     + (f"    parent-delay: {delay}\n" if delay else "")
                     + "policy:\n  - id: p\n    ksk-submission: s\n    propagation-delay: 1\n    dnskey-ttl: 1\n    zone-max-ttl: 60\n"
                     "template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    daemon.start()
    daemon.wait(lambda: daemon.ask("child.test", "SOA").answer, what="the zone")
    return daemon


def publish_ds(parent, child):
    """What the CDS record says, as its operator would."""
    cds = child.ask("child.test", "CDS").answer[0]
    update = dns.update.UpdateMessage("test.")
    update.delete("child.test.", "DS")
    for rdata in cds:
        update.add("child.test.", 7, "DS", rdata.to_text())
    assert dns.query.tcp(update, "127.0.0.1", port=parent.port, timeout=10).rcode() == 0


def count(daemon, pattern):
    return len(re.findall(pattern, daemon.log()))


def test_first_key(make_knotd):
    """Asked each check-interval until the DS is there; then the key is active, and is asked about no more."""
    parent = start_parent(make_knotd)
    child = start_child(make_knotd, [parent])
    child.wait_log(r"DS check, outgoing, remote 127.0.0.1@\d+.*KSK submission check: negative", count=2)
    publish_ds(parent, child)
    child.wait_log(r"DS check, outgoing, remote 127.0.0.1@\d+.*KSK submission check: positive")
    child.wait_log(r"DNSSEC, KSK submission, confirmed")
    child.wait(lambda: not child.ask("child.test", "CDS").answer, what="no CDS record")
    assert "DS-check" not in child.knotc("zone-status", "child.test").stdout
    assert re.search(r"algorithm \S+, KSK, public, active\b", child.log())


def test_all_parents(make_knotd):
    """One positive parent of two isn't enough; one that is gone isn't positive."""
    parents = [start_parent(make_knotd, "one"), start_parent(make_knotd, "other")]
    child = start_child(make_knotd, parents)
    publish_ds(parents[0], child)
    child.wait_log(rf"@{parents[0].port}.*KSK submission check: positive")
    child.wait_log(rf"@{parents[1].port}.*KSK submission check: negative", count=2)
    parents[1].stop()
    child.wait_log(rf"@{parents[1].port}.*failed \(")
    assert count(child, "KSK submission, confirmed") == 0
    parents[1].start()
    publish_ds(parents[1], child)
    child.wait_log(r"DNSSEC, KSK submission, confirmed", 20)


def test_rollover_without_hands(make_knotd):
    """The old KSK goes when the parent's TTL and parent-delay are over; a wrong DS confirms nothing."""
    parent = start_parent(make_knotd)
    child = start_child(make_knotd, [parent], delay=1)
    publish_ds(parent, child)
    child.wait_log(r"DNSSEC, KSK submission, confirmed")
    child.knotc("zone-key-rollover", "child.test", "ksk")
    child.wait(lambda: child.ask("child.test", "CDS").answer, 20, "CDS of the new key")
    before = count(child, "submission check: negative")
    child.wait(lambda: count(child, "submission check: negative") > before, what="the old DS, which isn't the new key's")
    assert count(child, "KSK submission, confirmed") == 1
    publish_ds(parent, child)
    child.wait_log(r"DNSSEC, KSK submission, confirmed", count=2)
    assert len(child.ask("child.test", "DNSKEY").answer[0]) == 3
    child.wait(lambda: len(child.ask("child.test", "DNSKEY").answer[0]) == 2, 40, "the old key's end")


def keymgr(daemon, *words):
    done = subprocess.run([built("keymgr", "tools"), "-c", str(daemon.dir / "knot.conf"), *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.ours
def test_answer_about_a_key_that_is_gone(make_knotd):
    """While the parent's answer waits for the zone's turn, another KSK comes. The answer isn't about that one, whose DS the parent hasn't shown."""
    may_answer = threading.Event()

    def answer(query):
        reply = dns.message.make_response(query)
        may_answer.wait(60)
        reply.answer.append(dns.rrset.from_text("child.test.", 7, "IN", "DS", *answer.records))
        return reply

    answer.records = []
    parent = FakeServer(answer)
    child = start_child(make_knotd, [parent])
    wait_until(lambda: parent.asked, what="the question")
    child.knotc("zone-freeze", "child.test")
    answer.records = [" ".join(line.split()[2:]) for line in keymgr(child, "child.test", "ds").splitlines()]
    may_answer.set()
    child.wait_log("KSK submission check: positive")
    old = next(key for key in json.loads(keymgr(child, "-j", "child.test", "list")) if key["ksk"])
    new = keymgr(child, "child.test", "generate", "ksk=yes", "active=0").strip()
    keymgr(child, "child.test", "delete", old["id"])
    child.knotc("zone-thaw", "child.test")
    child.wait_log("KSK submission check: negative")
    key = next(key for key in json.loads(keymgr(child, "-j", "child.test", "list")) if key["id"] == new)
    assert count(child, "KSK submission, confirmed") == 0 and key["active"] == 0 and key["ready"] > 0
    answer.records = [" ".join(line.split()[2:]) for line in keymgr(child, "child.test", "ds", new).splitlines()]
    child.wait_log("KSK submission, confirmed")


def key_texts(child):
    return [" ".join(line.split()[2:]) for line in keymgr(child, "child.test", "ds").splitlines()]


@pytest.mark.ours
@pytest.mark.parametrize("kind, said", [
    ("another question", r"failed \(malformed data\)"), ("another class", "KSK submission check: negative"), ("another owner", "KSK submission check: negative"),
    ("a false digest", "KSK submission check: negative"), ("cut off", r"failed \(not enough data to parse\)"), ("an error", r"failed \(SERVFAIL\)")])
def test_parents_that_say_something_else(make_knotd, kind, said):
    """What isn't the DS of the key, said in answer to that question, confirms nothing."""
    def answer(query):
        texts = answer.records
        asked = dns.message.make_query("other.test", "DS", id=query.id) if kind == "another question" else query
        reply = dns.message.make_response(asked)
        if kind == "another class":
            wires = [dns.rdata.from_text("IN", "DS", text).to_wire() for text in texts]
            reply.answer.append(dns.rrset.from_text("child.test.", 7, "CH", "TYPE43", *(f"\\# {len(wire)} {wire.hex()}" for wire in wires)))
        elif kind == "a false digest":
            reply.answer.append(dns.rrset.from_text("child.test.", 7, "IN", "DS", *(" ".join([*text.split()[:3], "0" * len(text.split()[3])]) for text in texts)))
        else:
            reply.answer.append(dns.rrset.from_text("other.test." if kind == "another owner" else "child.test.", 7, "IN", "DS", *texts))
        reply.flags |= dns.flags.TC if kind == "cut off" else 0
        reply.set_rcode(dns.rcode.SERVFAIL if kind == "an error" else dns.rcode.NOERROR)
        return reply

    answer.records = ["1 13 2 " + "00" * 32]
    parent = FakeServer(answer)
    child = start_child(make_knotd, [parent])
    answer.records = key_texts(child)
    child.wait_log(said, count=3, timeout=20)
    assert count(child, "KSK submission, confirmed") == 0


@pytest.mark.ours
def test_parent_with_two_ttls(make_knotd):
    """A signature that says less than the record: the old key stays for as long as the longer one."""
    def answer(query):
        reply = dns.message.make_response(query)
        reply.answer.append(dns.rrset.from_text("child.test.", 1000, "IN", "DS", *answer.records))
        reply.answer.append(dns.rrset.from_text("child.test.", 1000, "IN", "RRSIG", "DS 13 2 0 20370101000000 20200101000000 1 test. AAAA"))
        return reply

    answer.records = ["1 13 2 " + "00" * 32]
    parent = FakeServer(answer)
    child = start_child(make_knotd, [parent])
    answer.records = key_texts(child)
    child.wait_log("KSK submission, confirmed", timeout=20)
    child.knotc("zone-key-rollover", "child.test", "ksk")
    child.wait_log("KSK submission, waiting for confirmation", count=2, timeout=20)
    answer.records = key_texts(child)
    child.wait_log("KSK submission, confirmed", count=2, timeout=20)
    old = next(key for key in json.loads(keymgr(child, "-j", "child.test", "list")) if key["ksk"] and key["retire-active"])
    assert old["remove"] - old["retire-active"] >= 1000
