# SPDX-License-Identifier: BSD-2-Clause
"""dnskey-sync: several signers of one zone tell each other their keys. Knot DNS passes all but those marked `ours`."""
import dns.dnssec
import dns.query
import dns.update
import pytest

from functional.signing.test_submission import ACL, CHILD
from harness.validators import complaint

pytestmark = pytest.mark.core


def configure(signer, index, others, modulo=2, interval=1, cds="always"):
    remotes = "remote:\n" + "".join(f"  - id: r{i}\n    address: 127.0.0.1@{other.port}\n" for i, other in enumerate(others))
    names = ", ".join(f"r{i}" for i in range(len(others)))
    signer.configure(zones=["child.test"], text=remotes + ACL + f"dnskey-sync:\n  - id: d\n    remote: [{names}]\n    check-interval: {interval}\n"
                     f"policy:\n  - id: p\n    dnskey-sync: d\n    keytag-modulo: {index}/{modulo}\n    dnskey-management: incremental\n    delete-delay: 10\n"
                     f"    cds-cdnskey-publish: {cds}\n    propagation-delay: 1\n    dnskey-ttl: 1\n    zone-max-ttl: 60\n"
                     "template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    ddns-master: \"\"\n"
                     "    zonefile-sync: -1\n    zonefile-load: difference-no-serial\n    journal-content: all\n"
                     f"    serial-modulo: {index}/{modulo}\n")


def make_signers(make_knotd, count=2):
    signers = []
    for i in range(count):
        signer = make_knotd(name=f"signer{i}")
        (signer.dir / "db").mkdir()
        signer.write("child.test.zone", CHILD)
        signers.append(signer)
    for i, signer in enumerate(signers):
        configure(signer, i, [other for other in signers if other is not signer], max(count, 2))
    return signers


def keys_of(signer):
    answer = signer.ask("child.test", "DNSKEY").answer
    return {rdata.to_text() for rdata in answer[0]} if answer else set()


def tags_of(signer):
    answer = signer.ask("child.test", "DNSKEY").answer
    return {dns.dnssec.key_id(rdata) for rdata in answer[0]} if answer else set()


def start_all(signers):
    for signer in signers:
        signer.start()
        signer.wait(lambda: signer.ask("child.test", "SOA").answer, what="the zone")


@pytest.mark.parametrize("count", [2, 3])
def test_all_have_all_keys(make_knotd, count):
    """Each publishes the keys of all, with tags that tell whose they are, and signs with its own; serials differ by signer."""
    signers = make_signers(make_knotd, count)
    start_all(signers)
    for i, signer in enumerate(signers):
        signer.wait(lambda: len(keys_of(signer)) == 2 * count, 40, "the keys of all")
        assert {tag % count for tag in tags_of(signer)} == set(range(count))
        answer = signer.ask("child.test", "SOA", want_dnssec=True).answer
        assert answer[0][0].serial % count == i
        assert {sig.key_tag % count for sig in answer[1]} == {i}
        signer.knotc("-f", "-b", "zone-flush", "child.test")
        assert complaint(signer.dir / "child.test.zone", "child.test") == ""
    assert len({frozenset(keys_of(signer)) for signer in signers}) == 1
    for signer in signers:
        signer.wait_log(r"DNSKEY sync, outgoing, remote 127.0.0.1@\d+.*remote is up-to-date", 40)
        signer.wait(lambda: len(signer.ask("child.test", "CDS").answer[0]) == count, 40, "the CDS records of all")


def test_rollover(make_knotd):
    """A new key comes to the other signer, and goes there when it goes here."""
    signers = make_signers(make_knotd)
    start_all(signers)
    for signer in signers:
        signer.wait(lambda: len(keys_of(signer)) == 4, 40, "the keys of both")
    before = tags_of(signers[0])
    signers[0].knotc("zone-key-rollover", "child.test", "zsk")
    signers[1].wait(lambda: tags_of(signers[1]) - before, 40, "the new key at the other signer")
    assert {tag % 2 for tag in tags_of(signers[1]) - before} == {0}


def test_refused_and_gone(make_knotd):
    """A signer that refuses, or is gone, gets the update after the next check-interval."""
    signers = make_signers(make_knotd)
    text = (signers[1].dir / "knot.conf").read_text()
    (signers[1].dir / "knot.conf").write_text(text.replace("action: [ transfer, update, notify ]", "action: transfer"))
    start_all(signers)
    signers[0].wait_log(r"DNSKEY sync, outgoing, remote .*remote responded with rcode (NOTAUTH|REFUSED)", 30)
    signers[1].stop()
    signers[0].wait_log(r"DNSKEY sync, outgoing, remote .*failed \(", 30)
    (signers[1].dir / "knot.conf").write_text(text)
    signers[1].start()
    signers[1].wait(lambda: len(keys_of(signers[1])) == 4, 40, "the keys of both")
    signers[0].wait_log(r"DNSKEY sync, DNSKEYs \+2/-0 \(\+\d+ \+\d+\), CDNSKEYs")
    signers[0].wait_log(r"DNSKEY sync, outgoing, remote .*finished")


def test_foreign_keys_stay(make_knotd):
    """A key of a third party, with a tag of that party, is neither removed nor sent to others."""
    signers = make_signers(make_knotd)
    configure(signers[0], 0, [signers[1]], 3)
    configure(signers[1], 1, [signers[0]], 3)
    start_all(signers)
    for signer in signers:
        signer.wait(lambda: len(keys_of(signer)) == 4, 40, "the keys of both")
    third = make_knotd(name="third")
    (third.dir / "db").mkdir()
    third.write("child.test.zone", CHILD)
    configure(third, 2, [signers[0]], 3)
    (third.dir / "knot.conf").write_text((third.dir / "knot.conf").read_text().replace("    dnskey-sync: d\n", ""))
    start_all([third])
    update = dns.update.UpdateMessage("child.test.")
    update.add("child.test.", 1, "DNSKEY", next(iter(keys_of(third))))
    assert dns.query.tcp(update, "127.0.0.1", port=signers[1].port, timeout=10).rcode() == 0
    count = signers[0].log().count("remote is up-to-date")
    signers[0].knotc("-b", "zone-sign", "child.test")
    signers[0].wait(lambda: signers[0].log().count("remote is up-to-date") > count, 40, "another exchange")
    assert len(keys_of(signers[1])) == 5 and len(keys_of(signers[0])) == 4
