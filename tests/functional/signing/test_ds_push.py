# SPDX-License-Identifier: BSD-2-Clause
"""ds-push: DS records are sent to the parent when CDS records come. Knot DNS passes all but those marked `ours`."""
import re

import dns.message
import dns.opcode
import dns.rrset
import pytest

from functional.signing.test_submission import ACL, CHILD, PARENT
from harness.fake import FakeServer

pytestmark = pytest.mark.core


def start_parent(make_knotd, name="parent", acl=ACL):
    daemon = make_knotd(name=name)
    (daemon.dir / "db").mkdir()
    daemon.write("test.zone", PARENT)
    daemon.configure(zones=["test"], text=acl + "template:\n  - id: default\n    acl: all\n    zonefile-sync: -1\n")
    return daemon.start()


def configure_child(child, parents, delay=1, of_zone=None, cds="rollover", check=1):
    remotes = "remote:\n" + "".join(f"  - id: p{i}\n    address: 127.0.0.1@{parent.port}\n" for i, parent in enumerate(parents))
    names = ", ".join(f"p{i}" for i in range(len(parents)))
    child.configure(zones=["child.test"], text=remotes + ACL + f"submission:\n  - id: s\n    parent: [{names}]\n    check-interval: {check}\n"
                    f"policy:\n  - id: p\n    ksk-submission: s\n    ds-push: [{names}]\n    propagation-delay: {delay}\n    dnskey-ttl: 1\n    zone-max-ttl: 60\n"
                    f"    cds-cdnskey-publish: {cds}\n"
                    "template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n"
                    + (f"    ds-push: {of_zone}\n" if of_zone is not None else ""))


def start_child(make_knotd, parents, **how):
    child = make_knotd(name="child")
    (child.dir / "db").mkdir()
    child.write("child.test.zone", CHILD)
    configure_child(child, parents, **how)
    child.start()
    child.wait(lambda: child.ask("child.test", "SOA").answer, what="the zone")
    return child


def ds_of(parent):
    answer = parent.ask("child.test", "DS").answer
    return {rdata.to_text() for rdata in answer[0]} if answer else set()


def cds_of(child):
    answer = child.ask("child.test", "CDS").answer
    return {rdata.to_text() for rdata in answer[0]} if answer else set()


def test_rollover_without_anybody(make_knotd):
    """The first KSK and the next one get their DS records by themselves, and what was there before goes."""
    parent = start_parent(make_knotd)
    child = start_child(make_knotd, [parent])
    first = cds_of(child)
    child.wait_log(r"DS push, outgoing, remote 127.0.0.1@\d+.*success")
    assert ds_of(parent) == first and len(first) == 1
    child.wait_log("DNSSEC, KSK submission, confirmed")
    child.wait(lambda: not cds_of(child), what="the end of the submission")
    assert "DS-push" not in child.knotc("zone-status", "child.test").stdout
    assert ds_of(parent) == first, "that the CDS record goes removes nothing"
    child.knotc("zone-key-rollover", "child.test", "ksk")
    child.wait(lambda: cds_of(child), 20, "CDS of the new key")
    second = cds_of(child)
    child.wait(lambda: ds_of(parent) == second, what="the new DS in place of the old one")
    child.wait_log("DNSSEC, KSK submission, confirmed", count=2)


def test_all_parents_and_one_that_refuses(make_knotd):
    """Each server gets the update; a refusal is final, and holds up no other server."""
    refusing = start_parent(make_knotd, "refusing", "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\n")
    other = start_parent(make_knotd, "other")
    child = start_child(make_knotd, [refusing, other])
    child.wait_log(rf"DS push, outgoing, remote 127.0.0.1@{refusing.port}.*server responded with error 'NOTAUTH'")
    child.wait_log(rf"DS push, outgoing, remote 127.0.0.1@{other.port}.*success")
    assert ds_of(other) == cds_of(child) and not ds_of(refusing)
    assert "DS-push" not in child.knotc("zone-status", "child.test").stdout


def test_parent_that_is_gone(make_knotd):
    """It is tried again ten minutes later, which zone-status says, also after a restart of the child."""
    parent = start_parent(make_knotd)
    parent.stop()
    child = start_child(make_knotd, [parent])
    child.wait_log(rf"DS push, outgoing, remote 127.0.0.1@{parent.port}.*failed \(")
    child.wait(lambda: re.search(r"DS-push: \+(9m|10m)", child.knotc("zone-status", "child.test").stdout), what="the next try")
    child.stop()
    child.start()
    child.wait(lambda: child.ask("child.test", "SOA").answer, what="the zone")
    child.wait(lambda: re.search(r"DS-push: \+(9m|10m)", child.knotc("zone-status", "child.test").stdout), what="the next try after a restart")


def test_item_of_the_zone(make_knotd):
    """The zone's item replaces the policy's, also if it is empty. Newer than Knot DNS 3.2."""
    parent = start_parent(make_knotd)
    child = start_child(make_knotd, [parent], of_zone='""')
    child.wait_log("KSK submission check: negative", count=3)
    assert "DS push" not in child.log() and not ds_of(parent)


def test_all_is_removed(make_knotd):
    """cds-cdnskey-publish: delete-dnssec takes the DS records away."""
    parent = start_parent(make_knotd)
    child = start_child(make_knotd, [parent])
    child.wait(lambda: ds_of(parent), what="the DS record")
    child.wait_log("DNSSEC, KSK submission, confirmed")
    configure_child(child, [parent], cds="delete-dnssec")
    child.knotc("reload")
    child.wait(lambda: cds_of(child) == {"0 0 0 00"}, what="the CDS record that says so")
    child.wait(lambda: not ds_of(parent), what="no DS record")


@pytest.mark.ours
def test_another_zone_in_the_answer(make_knotd):
    """The update is for the zone that was asked for: an SOA record of any other name in the answer chooses nothing."""
    def answer(query):
        reply = dns.message.make_response(query)
        if query.opcode() == dns.opcode.QUERY:
            reply.answer.append(dns.rrset.from_text("victim.example.", 7, "IN", "SOA", "ns1. admin. 1 2 3 4 5"))
        return reply

    parent = FakeServer(answer)
    child = start_child(make_knotd, [parent])
    child.wait_log("DS push.*unable to query parent SOA")
    assert not [query for query in parent.asked if query.opcode() == dns.opcode.UPDATE]
