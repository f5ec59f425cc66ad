# SPDX-License-Identifier: BSD-2-Clause
"""zonefile-skip: types that others manage are neither read from the zone file nor written to it."""
import re

import pytest

pytestmark = pytest.mark.core

ZONE = "$ORIGIN skip.test.\n$TTL 60\n@ SOA ns1 admin 10 3600 600 86400 30\n@ NS ns1\n@ MX 10 mail\n@ TXT \"file\"\nns1 A 192.0.2.1\nmail AAAA 2001:db8::1\n"


def start(make_knotd, items, policy=""):
    daemon = make_knotd()
    (daemon.dir / "db").mkdir()
    daemon.write("skip.test.zone", ZONE)
    daemon.configure(zones=["skip.test"], text=policy + "template:\n  - id: default\n" + "".join(f"    {item}\n" for item in items))
    daemon.start()
    daemon.wait(lambda: daemon.ask("skip.test", "SOA").answer, what="the zone")
    return daemon


def add(daemon, *records):
    daemon.knotc("zone-begin", "skip.test")
    for record in records:
        daemon.knotc("zone-set", "skip.test", *record.split())
    daemon.knotc("zone-commit", "skip.test")


def test_read_and_written(make_knotd):
    daemon = start(make_knotd, ["zonefile-skip: [ TXT, AAAA ]", "zonefile-sync: -1"])
    assert not daemon.ask("skip.test", "TXT").answer
    assert not daemon.ask("mail.skip.test", "AAAA").answer
    assert daemon.ask("skip.test", "MX").answer
    add(daemon, "x 60 TXT new", "y 60 A 192.0.2.9")
    assert daemon.ask("x.skip.test", "TXT").answer
    daemon.knotc("-f", "-b", "zone-flush", "skip.test")
    text = (daemon.dir / "skip.test.zone").read_text()
    assert "192.0.2.9" in text and "TXT" not in text and "AAAA" not in text
    daemon.knotc("-b", "zone-reload", "skip.test")
    assert daemon.ask("y.skip.test", "A").answer


def test_difference_keeps_them(make_knotd):
    """What the file can't have is no difference to it."""
    daemon = start(make_knotd, ["zonefile-skip: TXT", "zonefile-sync: -1", "zonefile-load: difference-no-serial", "journal-content: all"])
    add(daemon, "x 60 TXT new")
    (daemon.dir / "skip.test.zone").write_text(ZONE + "z A 192.0.2.7\n")
    daemon.knotc("-b", "zone-reload", "skip.test")
    daemon.wait(lambda: daemon.ask("z.skip.test", "A").answer, what="the file's record")
    assert daemon.ask("x.skip.test", "TXT").answer
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: daemon.ask("z.skip.test", "A").answer, what="the zone after a restart")
    assert daemon.ask("x.skip.test", "TXT").answer


def test_signed_zone(make_knotd):
    """With dnssec, the file of a signed zone has what its owner wrote; and its parts stand in order without that."""
    daemon = start(make_knotd, ["zonefile-skip: dnssec", "zonefile-sync: -1", "dnssec-signing: on"])
    daemon.wait(lambda: daemon.ask("skip.test", "SOA", want_dnssec=True).answer[1:], what="a signature")
    daemon.knotc("-f", "-b", "zone-flush", "skip.test")
    path = daemon.dir / "skip.test.zone"
    assert not re.search(r"\s(RRSIG|NSEC|DNSKEY|CDS|CDNSKEY)\s", path.read_text())
    daemon.configure(zones=["skip.test"], text="template:\n  - id: default\n    zonefile-sync: -1\n    dnssec-signing: on\n")
    daemon.knotc("reload")
    daemon.knotc("-f", "-b", "zone-flush", "skip.test")
    lines = path.read_text().splitlines()
    heads = [line for line in lines if line.startswith(";; DNSSEC")]
    assert heads == [";; DNSSEC signatures", ";; DNSSEC NSEC chain"]
    before, rest = lines[:lines.index(heads[0])], lines[lines.index(heads[0]):]
    assert "\tSOA\t" in before[1] and not any("RRSIG" in line or "NSEC" in line for line in before)
    assert all("\tNSEC\t" in line for line in rest[rest.index(heads[1]) + 1:-2])
