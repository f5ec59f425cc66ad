# SPDX-License-Identifier: BSD-2-Clause
"""kdig +validate: replies of our signed zones are good, and bogus when they are changed on the way."""
import os
import re
import socket
import subprocess
import threading

import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdata
import dns.rdatatype
import dns.rrset
import pytest

from harness.server import BUILD, Knotd, built, library
from harness.waiting import PATIENCE, wait_until

ZONE = """\
@ 3600 SOA ns admin 1 3600 900 604800 300
@ NS ns
ns A 192.0.2.1
www A 192.0.2.2
www A 192.0.2.3
a.b.ent A 192.0.2.3
*.wild A 192.0.2.4
x.wild TXT "x"
alias CNAME www
out CNAME www.other.example.
d DNAME ent
secure NS ns.secure
secure DS 1 13 2 49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC49FD
ns.secure A 192.0.2.5
insecure NS ns.insecure
ns.insecure A 192.0.2.6
"""
ZONES = ("nsec.test", "nsec3.test", "optout.test")
CONF = """\
policy:
  - id: nsec
  - id: nsec3
    nsec3: on
  - id: optout
    nsec3: on
    nsec3-opt-out: on
zone:
""" + "".join(f"""\
  - domain: {zone}
    storage: {{dir}}
    dnssec-signing: on
    dnssec-policy: {zone.split('.')[0]}
    zonefile-sync: -1
""" for zone in ZONES) + """\
  - domain: plain.test
    storage: {dir}
"""

pytestmark = pytest.mark.skipif(library() is None, reason="the shared libraries are not built")


class Liar:
    """Passes UDP queries on, and changes what comes back but for DNSKEY records."""

    def __init__(self, port):
        self.server = ("127.0.0.1", port)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.change = lambda reply: None
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                query, client = self.sock.recvfrom(65535)
            except OSError:
                return
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
                out.settimeout(5 * PATIENCE)
                out.sendto(query, self.server)
                wire = out.recv(65535)
            reply = dns.message.from_wire(wire)
            if reply.question[0].rdtype != dns.rdatatype.DNSKEY:
                self.change(reply)
            self.sock.sendto(reply.to_wire(max_size=65535), client)


@pytest.fixture(scope="module")
def liar(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kdig-validate")
    daemon = Knotd(directory)
    for zone in (*ZONES, "plain.test"):
        (directory / f"{zone}.zone").write_text(ZONE)
    daemon.configure(CONF)
    daemon.start()
    liar = Liar(daemon.port)
    wait_until(lambda: all("good" in kdig(liar, zone, "SOA").stdout for zone in ZONES), "signed zones", 20)
    yield liar
    liar.sock.close()
    daemon.stop()


def kdig(liar, *words, environment=None):
    return subprocess.run([built("kdig", "tools"), f"@127.0.0.1#{liar.port}", "+validate", "+noall", *words], capture_output=True, text=True,
                          timeout=30 * PATIENCE, check=False, env=environment or {**os.environ, "LD_LIBRARY_PATH": str(BUILD / ".libs")})


QUESTIONS = ("{} SOA", "www.{}", "www.{} MX", "nx.{}", "b.ent.{}", "ent.{}", "foo.wild.{}", "foo.wild.{} MX", "x.wild.{} TXT", "y.x.wild.{}", "alias.{}",
             "out.{}", "a.secure.{}", "a.insecure.{}", "insecure.{} DS", "secure.{} DS", "nx.{} DS", "{} DNSKEY", "{} ANY", "foo.a.b.ent.{}", "WWW.{}", "{} AAAA", "a.b.d.{}", "b.d.{}", "d.{} DNAME")


@pytest.mark.parametrize("zone", ZONES)
def test_good(liar, zone):
    liar.change = lambda reply: None
    for question in QUESTIONS:
        done = kdig(liar, *question.format(zone).split())
        assert done.returncode == 0 and "VALIDATION: good: all is signed" in done.stdout, f"{question}: {done.stdout}{done.stderr}"


def test_insecure(liar):
    liar.change = lambda reply: None
    done = kdig(liar, "www.plain.test")
    assert done.returncode == 0 and "insecure: nothing is signed" in done.stdout


def sections(reply):
    return (reply.answer, reply.authority)


def spoil_signatures(reply):
    for section in sections(reply):
        for rrset in section:
            if rrset.rdtype == dns.rdatatype.RRSIG:
                for rdata in list(rrset):
                    text = rdata.to_text().split()
                    blob = "".join(text[8:])
                    rrset.remove(rdata)
                    rrset.add(dns.rdata.from_text("IN", "RRSIG", " ".join([*text[:8], ("A" if blob[0] != "A" else "B") + blob[1:]])))


def other_times(inception, expiration):
    def change(reply):
        for section in sections(reply):
            for rrset in section:
                if rrset.rdtype == dns.rdatatype.RRSIG:
                    for rdata in list(rrset):
                        text = rdata.to_text().split()
                        rrset.remove(rdata)
                        rrset.add(dns.rdata.from_text("IN", "RRSIG", " ".join([*text[:4], expiration, inception, *text[6:]])))
    return change


def drop(kind, covers=None):
    """Without the records of a type, or the signatures of it."""
    def change(reply):
        for section in sections(reply):
            section[:] = [rrset for rrset in section if not (rrset.rdtype == kind and (covers is None or rrset.covers == covers))]
    return change


def add_address(reply):
    reply.answer[0].add(dns.rdata.from_text("IN", "A", "203.0.113.1"))


def claim_nxdomain(reply):
    reply.set_rcode(dns.rcode.NXDOMAIN)


def rename_answer(reply):
    """Records of another name, signed as they are."""
    for rrset in reply.answer:
        rrset.name = dns.name.from_text("other.nsec.test.")


A, NSEC, NSEC3, RRSIG, DS = (dns.rdatatype.from_text(name) for name in ("A", "NSEC", "NSEC3", "RRSIG", "DS"))
LIES = (("www.{}", spoil_signatures, "a signature is wrong"), ("www.{}", add_address, "a signature is wrong"),
        ("www.{}", other_times("20200101000000", "20200201000000"), "a signature has expired"),
        ("www.{}", other_times("20900101000000", "20900201000000"), "a signature isn't valid yet"),
        ("www.{} MX", drop(RRSIG, covers=dns.rdatatype.SOA), "not signed"), ("www.{} MX", claim_nxdomain, "not what the reply says"),
        ("nx.{}", lambda reply: reply.set_rcode(0), "not what the reply says"), ("nx.{}", lambda reply: (drop(NSEC)(reply), drop(NSEC3)(reply)), "prove nothing"),
        ("foo.wild.{}", lambda reply: (drop(NSEC)(reply), drop(NSEC3)(reply)), "it isn't proven that the name has no records"),
        ("a.secure.{}", drop(DS), "prove nothing"), ("insecure.{} DS", lambda reply: (drop(NSEC)(reply), drop(NSEC3)(reply)), "prove nothing"))


@pytest.mark.parametrize("zone", ZONES[:2])
@pytest.mark.parametrize("question, lie, said", LIES, ids=[f"{question} {number}" for number, (question, _, _) in enumerate(LIES)])
def test_lies(liar, zone, question, lie, said):
    liar.change = lie
    done = kdig(liar, *question.format(zone).split(), "+validate=2")
    assert done.returncode == 1 and "VALIDATION: bogus" in done.stdout and said in done.stdout, done.stdout + done.stderr
    only = kdig(liar, *question.format(zone).split(), "+validate=1")
    assert only.returncode == 1 and len(re.findall("VALIDATION", only.stdout)) == 1


def test_other_name(liar):
    """A name's records with the signature of another's."""
    liar.change = rename_answer
    done = kdig(liar, "www.nsec.test")
    assert done.returncode == 1 and "bogus" in done.stdout and "other.nsec.test. A: a signature is wrong" in done.stdout


def test_alias_into_another_zone(liar):
    """What isn't of the signer's zone needn't be signed."""
    def append(reply):
        reply.answer.append(dns.rrset.from_text("www.other.example.", 60, "IN", "A", "192.0.2.9"))
    liar.change = append
    done = kdig(liar, "out.nsec.test")
    assert done.returncode == 0 and "good: all that is of the zone is signed" in done.stdout


def test_unsigned_behind_another_zone(liar):
    """What was asked for isn't excused by records in front of it that another zone has signed."""
    def change(reply):
        query = dns.message.make_query("www.nsec3.test.", "A", want_dnssec=True)
        drop(RRSIG)(reply)
        reply.answer[:0] = dns.query.udp(query, liar.server[0], port=liar.server[1], timeout=5 * PATIENCE).answer
    liar.change = change
    done = kdig(liar, "www.nsec.test", "+validate=2")
    assert done.returncode == 1 and "bogus" in done.stdout and "www.nsec.test. A: not signed" in done.stdout, done.stdout


def test_unsigned_alias(liar):
    """A CNAME without a signature has to follow from the DNAME."""
    def change(reply):
        for rrset in reply.answer:
            if rrset.rdtype == dns.rdatatype.CNAME:
                rrset.clear()
                rrset.add(dns.rdata.from_text("IN", "CNAME", "www.nsec.test."))
    liar.change = change
    done = kdig(liar, "a.b.d.nsec.test", "+validate=2")
    assert done.returncode == 1 and "bogus" in done.stdout and "a.b.d.nsec.test. CNAME: not signed" in done.stdout, done.stdout


def test_stripped(liar):
    """Without any signature nothing can be said."""
    liar.change = lambda reply: (drop(RRSIG)(reply), drop(NSEC)(reply))
    done = kdig(liar, "www.nsec.test")
    assert "insecure: nothing is signed" in done.stdout


def test_without_the_library(liar):
    liar.change = lambda reply: None
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = kdig(liar, "www.nsec.test", environment=environment)
    if "good" not in done.stdout:      # it isn't installed here
        assert done.returncode == 1 and "can't validate without the library libbowline-dnssec.so.0" in done.stderr


def test_bad_levels(liar):
    for value in ("0", "4", "x"):
        done = kdig(liar, "www.nsec.test", f"+validate={value}")
        assert done.returncode == 1 and f"invalid +validate={value}" in done.stderr
