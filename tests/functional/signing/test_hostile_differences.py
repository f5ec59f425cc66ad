# SPDX-License-Identifier: BSD-2-Clause
"""Primaries whose IXFR, and the AXFR behind it, break a signed zone: with `dnssec-validation` the old version is served on with the reason in the log; a
secondary that signs stays valid whatever comes."""
import re

import dns.message
import dns.rdatatype
import dns.rrset
import dns.zone
import pytest

from functional.signing.test_secondary import ZONE, check
from functional.signing.test_validation import sign
from harness.fake import FakeServer

pytestmark = [pytest.mark.ours, pytest.mark.core]

SIGNED_TYPES = {"RRSIG", "DNSKEY", "NSEC", "NSEC3", "NSEC3PARAM", "CDS", "CDNSKEY"}


def records_of(text):
    """Records of a zone file, as lines of a fixed form."""
    zone = dns.zone.from_text(text, "example.", relativize=False)
    return {f"{name} {ttl} {dns.rdatatype.to_text(rdata.rdtype)} {rdata.to_text()}" for name, ttl, rdata in zone.iterate_rdatas()}


def type_of(record):
    return record.split()[2]


def is_of(record, rdtype, covered=""):
    """True for records of a type; of RRSIG: those of another type."""
    words = record.split()
    return words[2] == rdtype and (not covered or words[3] == covered)


def without(records, *kinds):
    """kinds: ("A",) or ("RRSIG", "A")."""
    return {record for record in records if not any(is_of(record, *kind) for kind in kinds)}


def broken_chain(records):
    """Without one NSEC3 record that isn't the apex's, and its signature."""
    gone = sorted(record for record in records if is_of(record, "NSEC3") and " NS " not in record)[0].split()[0]
    return {record for record in records if record.split()[0] != gone}


FAULTS = {
    "no DNSKEY": ("no keys for signing", lambda records: without(records, ("DNSKEY",), ("RRSIG", "DNSKEY"))),
    "one DNSKEY less": ("no valid signature for a record", lambda records: {record for record in records if not re.search(r" DNSKEY 256 ", record)}),
    "keys without signatures": ("no valid signature for a record", lambda records: without(records, ("RRSIG", "DNSKEY"))),
    "an address without a signature": ("wrong NSEC(3", lambda records: without(records, ("RRSIG", "A"))),
    "no signature at all": ("wrong NSEC(3", lambda records: without(records, ("RRSIG",))),
    "a hole in the chain": ("wrong NSEC3 opt-out", broken_chain),
    "no chain": ("missing or wrong NSEC3PARAM record", lambda records: without(records, ("NSEC3",), ("RRSIG", "NSEC3"))),
    "no NSEC3PARAM": ("missing NSEC(3", lambda records: without(records, ("NSEC3PARAM",), ("RRSIG", "NSEC3PARAM"))),
    "nothing of DNSSEC": ("no keys for signing", lambda records: {record for record in records if type_of(record) not in SIGNED_TYPES}),
    "a name that isn't signed": ("missing NSEC(3", lambda records: records | {"new.example. 60 A 192.0.2.77"}),
}


class Primary(FakeServer):
    """Has the version `now` after `before`; both are sets of records. `removed` and `added` go into the difference, too."""

    def __init__(self, records):
        super().__init__(self.reply)
        self.before, self.now, self.removed, self.added = None, records, [], []

    @staticmethod
    def soa(records):
        (soa,) = [record for record in records if type_of(record) == "SOA"]
        return soa

    def move(self, records, removed=(), added=()):
        self.before, self.now, self.removed, self.added = self.now, records, sorted(removed), sorted(added)

    def reply(self, query):
        soa = self.soa(self.now)
        rest = sorted(self.now - {soa})
        kind = dns.rdatatype.to_text(query.question[0].rdtype)
        if kind == "SOA":
            lines = [soa]
        elif kind == "IXFR" and self.before is not None:
            old = self.soa(self.before)
            lines = [soa, old, *sorted(self.before - self.now - {old}), *self.removed, soa, *sorted(self.now - self.before - {soa}), *self.added, soa]
        else:
            lines = [soa, *rest, *self.added, soa]
        reply = dns.message.make_response(query)
        reply.request_payload = 65535
        for line in lines:
            owner, ttl, rdtype, rdata = line.split(None, 3)
            reply.answer.append(dns.rrset.from_text(owner, int(ttl), "IN", rdtype, rdata))
        return reply


def start(make_knotd, primary, *items):
    secondary = make_knotd()
    (secondary.dir / "db").mkdir()
    secondary.configure(zones=["example"], text=f"remote:\n  - id: peer\n    address: 127.0.0.1@{primary.port}\n"
                        "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\n"
                        "template:\n  - id: default\n    acl: all\n    master: peer\n    zonefile-sync: -1\n" + "".join(f"    {item}\n" for item in items))
    secondary.start()
    secondary.wait(lambda: serial(secondary) is not None, what="the first version")
    return secondary


@pytest.fixture
def make_primary():
    made = []

    def make(records):
        made.append(Primary(records))
        return made[-1]

    yield make
    for primary in made:
        primary.stop()


def serial(daemon):
    answer = daemon.ask("example", "SOA").answer
    return answer[0][0].serial if answer else None


def transfer(daemon):
    return sorted(daemon.knotc("zone-read", "example").stdout.splitlines())


def test_validating_secondary(make_knotd, make_primary, directory):
    """Each fault is refused with its reason in the log, and the next valid version is taken."""
    folder = directory / "signer"
    honest = records_of(sign(folder, 10))
    primary = make_primary(honest)
    secondary = start(make_knotd, primary, "dnssec-validation: on")
    served = transfer(secondary)
    for number, (name, (reason, fault)) in enumerate(FAULTS.items()):
        records = fault(records_of(sign(folder, 11 + number)))
        primary.before = honest
        primary.now = records
        begin = len(secondary.log())
        secondary.knotc("-b", "zone-refresh", "example", check=False)
        secondary.wait(lambda at=begin: "validation failed (" in secondary.log()[at:], what=f"the refusal of: {name}")
        assert f"validation failed ({reason}" in secondary.log()[begin:], name
        assert transfer(secondary) == served, name
    primary.now = records_of(sign(folder, 40))
    secondary.knotc("-b", "zone-refresh", "example")
    secondary.wait(lambda: serial(secondary) == 40, what="the valid version")
    assert any(query.question[0].rdtype == dns.rdatatype.IXFR for query in primary.asked)


def test_signing_secondary(make_knotd, make_primary):
    """The difference removes the secondary's own keys, signatures and chain, and brings a stranger's; then so does a whole transfer."""
    primary = make_primary(records_of(ZONE.format(serial=10, host=2)))
    secondary = start(make_knotd, primary, "dnssec-signing: on")
    own = {record for record in records_of(check(secondary).to_text(relativize=False)) if type_of(record) in SIGNED_TYPES}
    keys = {record for record in own if type_of(record) == "DNSKEY"}
    foreign = ["example. 60 DNSKEY 257 3 13 " + "A" * 86 + "==", "example. 60 NSEC3PARAM 1 0 5 ab", "example. 60 CDS 1 13 2 " + "AB" * 32,
               "www.example. 60 RRSIG A 13 2 60 20400101000000 20200101000000 1 example. " + "A" * 86 + "==", "www.example. 60 NSEC zz.example. A"]
    primary.move(records_of(ZONE.format(serial=11, host=3)), removed=own, added=foreign)
    secondary.knotc("-b", "zone-refresh", "example", check=False)
    zone = check(secondary)
    assert keys <= records_of(zone.to_text(relativize=False)), "own keys stay"
    secondary.knotc("-b", "zone-retransfer", "example", check=False)
    zone = check(secondary)
    assert keys <= records_of(zone.to_text(relativize=False)), "own keys stay"
    assert zone.get_rdataset("www.example.", "A")[0].address == "192.0.2.3"
