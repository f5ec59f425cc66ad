# SPDX-License-Identifier: BSD-2-Clause
"""Partners of dnskey-sync and parents of ds-push that refuse, stall, or say nonsense: the zone stays valid, an honest one behind them is served, and
other zones are signed meanwhile."""
import re
import struct
import threading

import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.tsigkeyring
import pytest

from functional.signing.test_dnskey_sync import keys_of
from functional.signing.test_ds_push import cds_of, ds_of, start_parent
from functional.signing.test_submission import ACL, CHILD
from harness.fake import FakeServer

pytestmark = [pytest.mark.ours, pytest.mark.core]

SECRET = "Wg=="
KEY = f"key:\n  - id: k\n    algorithm: hmac-sha256\n    secret: {SECRET}\n"


class Wire(bytes):
    """What isn't a message."""

    def to_wire(self):
        return bytes(self)


def rcode(query, code):
    reply = dns.message.make_response(query)
    reply.set_rcode(code)
    return reply


def noise(query):
    return Wire(struct.pack(">H", query.id) + b"\xff" * 100)


def another_id(query):
    reply = rcode(query, dns.rcode.NOERROR)
    reply.id ^= 1
    return reply


@pytest.fixture
def make_peer():
    """Function that makes servers of answer(query); None in its place: they take questions and never answer."""
    made, over = [], threading.Event()

    def make(answer, keyring=None):
        made.append(FakeServer(answer or (lambda query: over.wait() and None), keyring))
        return made[-1]

    yield make
    over.set()
    for peer in made:
        peer.stop()


def start(make_knotd, peers, policy, section="", keys=()):
    """A signed zone with such peers p0, p1 ..., and another one beside it."""
    remotes = "remote:\n" + "".join(f"  - id: p{i}\n    address: 127.0.0.1@{peer.port}\n" + ("    key: k\n" if i in keys else "") for i, peer in enumerate(peers))
    names = ", ".join(f"p{i}" for i in range(len(peers)))
    daemon = make_knotd(name="ours")
    (daemon.dir / "db").mkdir()
    for zone in ("child.test", "beside"):
        daemon.write(f"{zone}.zone", CHILD.replace("child.test", zone))
    daemon.configure(KEY + remotes + ACL + section.format(names=names) + "policy:\n  - id: p\n    propagation-delay: 0\n    dnskey-ttl: 1\n    zone-max-ttl: 60\n" +
                     policy.format(names=names) + f"template:\n  - id: default\n    storage: {daemon.dir}\n    acl: all\n    dnssec-signing: on\n    zonefile-sync: -1\n"
                     "zone:\n  - domain: child.test\n    dnssec-policy: p\n  - domain: beside\n",
                     server="tcp-remote-io-timeout: 3000\nbackground-workers: 1")
    daemon.start()
    for zone in ("child.test", "beside"):
        daemon.wait(lambda name=zone: daemon.ask(name, "SOA").answer, what=zone)
    return daemon


def sign_beside(daemon):
    """The other zone is signed though a peer of the first one doesn't answer."""
    before = daemon.ask("beside", "SOA").answer[0][0].serial
    daemon.knotc("-b", "zone-sign", "beside")
    assert daemon.ask("beside", "SOA").answer[0][0].serial > before


def many_keys(query):
    """As many keys as a message has room for: tags of all, and no end of what belongs to the one that asks."""
    reply = dns.message.make_response(query)
    if query.opcode() == dns.opcode.QUERY and query.question[0].rdtype == dns.rdatatype.DNSKEY:
        reply.request_payload = 65535
        reply.answer.append(dns.rrset.from_text("child.test.", 60, "IN", "DNSKEY", *[f"257 3 13 {number:084x}Aw==" for number in range(700)]))
    return reply


def test_partners(make_knotd, make_peer):
    """dnskey-sync: the log has the fault of each, none of their keys comes to the zone, and the one that listens gets ours."""
    answers = (None, lambda query: rcode(query, dns.rcode.REFUSED), noise, another_id, lambda query: None, many_keys, lambda query: rcode(query, dns.rcode.NOERROR))
    peers = [make_peer(answer) for answer in answers]
    daemon = start(make_knotd, peers, "    dnskey-sync: d\n    keytag-modulo: 0/2\n    dnskey-management: incremental\n    delete-delay: 10\n",
                   "dnskey-sync:\n  - id: d\n    remote: [{names}]\n    check-interval: 1\n")
    keys = keys_of(daemon)
    daemon.wait(lambda: peers[0].asked, what="a question to the silent one")
    sign_beside(daemon)
    said = ["failed \\(", "failed to obtain DNSKEY", "failed to obtain DNSKEY", "failed \\(", "failed \\(", "failed to prepare update", "finished"]
    for peer, text in zip(peers, said):
        daemon.wait_log(rf"DNSKEY sync, outgoing, remote 127.0.0.1@{peer.port}\b.*(?:{text})", 20)
    (update,) = [query for query in peers[-1].asked if query.opcode() == dns.opcode.UPDATE][:1]
    assert any(rrset.rdtype == dns.rdatatype.DNSKEY for rrset in update.authority)
    assert keys_of(daemon) == keys


def parent(soa, update):
    """Answers SOA queries for the parent's name by soa(reply), updates by update(reply)."""
    def answer(query):
        reply = dns.message.make_response(query)
        if query.opcode() == dns.opcode.UPDATE:
            return update(reply)
        if query.question[0].name.to_text() == "test.":
            reply.answer.append(dns.rrset.from_text("test.", 7, "IN", "SOA", "ns1. admin. 1 2 3 4 5"))
        return soa(reply)
    return answer


def same(reply):
    return reply


def of_id(reply):
    reply.id ^= 1
    return reply


def of_class(reply):
    reply.answer = [dns.rrset.from_text(rrset.name, 7, "CH", "TYPE6", rrset[0].to_generic().to_text()) for rrset in reply.answer]
    return reply


def unsigned(reply):
    reply.tsig = None
    return reply


def signed_by_another(reply):
    reply.use_tsig(dns.tsigkeyring.from_text({"k.": "AAAA"}), "k.")
    return reply


def refused(reply):
    reply.set_rcode(dns.rcode.REFUSED)
    return reply


def test_parents(make_knotd, make_peer):
    """ds-push: none of them is taken for one that has the DS record, and the honest one behind them gets it."""
    silent = make_peer(None)
    keyring = dns.tsigkeyring.from_text({"k.": SECRET})
    rows = [("server responded with error 'REFUSED'", parent(same, refused)), ("failed \\(", parent(of_id, same)), ("failed \\(", parent(same, of_id)),
            ("unable to query parent SOA", parent(of_class, same)), ("failed \\(", parent(same, lambda reply: None)),
            ("failed \\(", parent(same, lambda reply: Wire(struct.pack(">H", reply.id) + b"\xff" * 3)))]
    keyed = [("failed \\(", parent(unsigned, same)), ("failed \\(", parent(same, unsigned)), ("failed \\(", parent(same, signed_by_another))]
    peers = [silent] + [make_peer(answer, keyring) for _, answer in rows + keyed]
    honest = start_parent(make_knotd)
    daemon = start(make_knotd, [*peers, honest], "    ds-push: [{names}]\n    cds-cdnskey-publish: always\n", keys=range(1 + len(rows), len(peers)))
    daemon.wait(lambda: silent.asked, what="a question to the silent one")
    sign_beside(daemon)
    for peer, text in zip(peers, ["failed \\(", *[text for text, _ in rows + keyed]]):
        daemon.wait_log(rf"DS push, outgoing, remote 127.0.0.1@{peer.port}\b.*{text}", 20)
        assert not re.search(rf"DS push, outgoing, remote 127.0.0.1@{peer.port}\b.*success", daemon.log())
    daemon.wait_log(rf"DS push, outgoing, remote 127.0.0.1@{honest.port}\b.*success", 20)
    assert ds_of(honest) == cds_of(daemon)
    assert re.search(r"DS-push: \+(9m|10m)", daemon.knotc("zone-status", "child.test").stdout), "those that failed are told later"
