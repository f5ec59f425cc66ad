# SPDX-License-Identifier: BSD-2-Clause
"""mod-authsignal: signals of DNSSEC bootstrapping (RFC 9615), over sockets and AF_XDP. Knot DNS has it since 3.3, so what it does there is from its manual."""
import dns.flags
import dns.rcode
import pytest

from zones import example

pytestmark = [pytest.mark.ours, pytest.mark.core]

SIGNAL = "_signal.ns1.operator.test"
HEAD = "@ 3600 SOA ns1.operator.test. h. 1 3600 600 86400 300\n@ 3600 NS ns1.operator.test.\n"
# Zones that were signed elsewhere have their records already.
ELSEWHERE = HEAD + "@ 120 CDS 11 13 2 " + "AB" * 32 + "\n@ 120 CDS 12 13 2 " + "CD" * 32 + "\n@ 120 CDNSKEY 257 3 13 " + "A" * 86 + "==\n"
ZONES = """\
policy:
  - id: p
    cds-cdnskey-publish: always
    propagation-delay: 1
    dnskey-ttl: 1
    zone-max-ttl: 60
template:
  - id: default
    storage: {dir}
    zonefile-sync: -1
zone:
  - domain: %s
    module: mod-authsignal
  - domain: here.test
    dnssec-signing: on
    dnssec-policy: p
  - domain: elsewhere.co.test
  - domain: unsigned.test
  - domain: broken.test
""" % SIGNAL


def write_zones(daemon):
    (daemon.dir / "db").mkdir(exist_ok=True)
    for zone in (SIGNAL, "here.test", "unsigned.test"):
        daemon.write(f"{zone}.zone", HEAD)
    daemon.write("elsewhere.co.test.zone", ELSEWHERE)


def records(reply):
    return {rdata.to_text() for rrset in reply.answer for rdata in rrset}


def check(ask, name, rdtype):
    """The signal has what the child's apex has, under its own name, with AA and the child's TTL, without signatures."""
    apex, signal = ask(name, rdtype), ask(f"_dsboot.{name}.{SIGNAL}", rdtype, want_dnssec=True)
    assert records(apex) and records(signal) == records(apex)
    assert signal.flags & dns.flags.AA and signal.rcode() == dns.rcode.NOERROR and not signal.authority
    (rrset,) = signal.answer
    assert rrset.name.to_text() == f"_dsboot.{name}.{SIGNAL}." and rrset.ttl == apex.answer[0].ttl


def is_empty(reply, rcode):
    return reply.rcode() == rcode and not reply.answer


def test_signals(knotd):
    write_zones(knotd)
    knotd.configure(text=ZONES)
    knotd.start()
    knotd.wait(lambda: knotd.ask("here.test", "CDS").answer, what="the signed zone")
    for tcp in (False, True):
        def ask(name, rdtype, **options):
            return knotd.ask(name, rdtype, tcp=tcp, **options)
        for name in ("here.test", "elsewhere.co.test"):
            for rdtype in ("CDS", "CDNSKEY"):
                check(ask, name, rdtype)
        assert is_empty(ask(f"_dsboot.here.test.{SIGNAL}", "A"), dns.rcode.NOERROR)
        assert is_empty(ask(f"anything.{SIGNAL}", "CDS"), dns.rcode.NOERROR)
        assert is_empty(ask(f"_dsboot.unsigned.test.{SIGNAL}", "CDS"), dns.rcode.NOERROR)
        assert is_empty(ask(f"_dsboot.unknown.test.{SIGNAL}", "CDS"), dns.rcode.NXDOMAIN)
        assert is_empty(ask(f"_dsboot.broken.test.{SIGNAL}", "CDS"), dns.rcode.SERVFAIL)


def test_follows_the_child(knotd):
    """A commit of the child shows in the next answer."""
    write_zones(knotd)
    knotd.configure(text=ZONES)
    knotd.start()
    name = "elsewhere.co.test"
    for command in (("zone-begin",), ("zone-unset", "@", "CDS"), ("zone-set", "@", "60", "CDS", "0 0 0 00"), ("zone-commit",)):
        knotd.knotc(command[0], name, *command[1:])
    signal = knotd.ask(f"_dsboot.{name}.{SIGNAL}", "CDS")
    assert records(signal) == {"0 0 0 00"} and signal.answer[0].ttl == 60


def test_over_xdp(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    write_zones(daemon)
    daemon.write("example.zone", example())
    daemon.configure(text=ZONES + f"  - domain: example\nxdp:\n    listen: {pair.server_if}@53\n    tcp: on\n", listen=(),
                     server=f"listen: [{pair.server4}@53, {pair.server6}@53]")
    daemon.start()

    for where in (pair.server4, pair.server6):
        for tcp in (False, True):
            def ask(name, rdtype, **options):
                return daemon.ask(name, rdtype, where=where, client=pair.client, tcp=tcp, **options)
            daemon.wait(lambda: ask("here.test", "CDS").answer, what="the signed zone")
            check(ask, "here.test", "CDS")
            check(ask, "elsewhere.co.test", "CDNSKEY")
