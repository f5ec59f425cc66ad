# SPDX-License-Identifier: BSD-2-Clause
"""dnssec-validation and zone-validate. Knot DNS passes all but those marked `ours`."""
import re
import subprocess

import dns.query
import dns.update
import pytest

from harness.server import built

pytestmark = pytest.mark.core

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.2\nsub NS ns.sub\nns.sub A 192.0.2.5\n"
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n"


def sign(folder, serial=10, lifetime="14d", nsec3=True, more=""):
    """The text of a zone file that kzonesign signed; the key is made the first time."""
    folder.mkdir(exist_ok=True)
    (folder / "knot.conf").write_text(f"database:\n  storage: {folder}\npolicy:\n  - id: p\n    nsec3: {'on' if nsec3 else 'off'}\n"
                                      f"    rrsig-lifetime: {lifetime}\n    rrsig-refresh: 1\n    rrsig-pre-refresh: 0\n    zsk-lifetime: 0\n"
                                      f"zone:\n  - domain: example\n    storage: {folder}\n    dnssec-policy: p\n")
    (folder / "example.zone").write_text(ZONE.format(serial=serial) + more)
    subprocess.run([built("kzonesign", "tools"), "-c", folder / "knot.conf", "example"], check=True, capture_output=True)
    return (folder / "example.zone").read_text()


def break_signature(text, owner, rrtype):
    """Change a character in the middle of a signature."""
    lines = text.splitlines()
    index = next(i for i, line in enumerate(lines) if re.match(rf"{re.escape(owner)}\s+\d+\s+RRSIG\s+{rrtype}\s", line))
    at = len(lines[index]) - 20
    other = "A" if lines[index][at] != "A" else "B"
    lines[index] = lines[index][:at] + other + lines[index][at + 1:]
    return "\n".join(lines) + "\n"


def start(daemon, text, *items):
    daemon.write("example.zone", text)
    (daemon.dir / "db").mkdir(exist_ok=True)
    daemon.configure(zones=["example"], text=ACL + "template:\n  - id: default\n    acl: all\n    dnssec-validation: on\n    zonefile-sync: -1\n"
                     + "".join(f"    {item}\n" for item in items))
    return daemon.start()


def serial(daemon):
    answer = daemon.ask("example", "SOA").answer
    return answer[0][0].serial if answer else None


@pytest.mark.parametrize("nsec3", [True, False])
def test_files(make_knotd, directory, nsec3):
    """What is valid is served; what isn't leaves the old version, with the reason in the log."""
    folder = directory / "signer"
    daemon = start(make_knotd(), sign(folder, nsec3=nsec3))
    daemon.wait(lambda: serial(daemon) == 10, what="the valid version")
    daemon.wait_log(r"DNSSEC, validation successful")
    faults = [
        (break_signature(sign(folder, 11, nsec3=nsec3), "www.example.", "A"), "no valid signature for a record|invalid signature", "www.example. A"),
        (sign(folder, 12, nsec3=nsec3) + "new.example. 60 A 192.0.2.9\n", ".*", "new.example."),
        ("".join(line for line in sign(folder, 13, nsec3=nsec3).splitlines(True) if not re.search(r"RRSIG\s+SOA", line)), "no valid signature", "example. SOA"),
        ("".join(line for line in sign(folder, 14, nsec3=nsec3).splitlines(True) if not re.search(r"\sDNSKEY\s+2", line)), ".*", None),
    ]
    for number, (text, error, hint) in enumerate(faults):
        daemon.write("example.zone", text)
        daemon.knotc("-b", "zone-reload", "example", check=False)
        daemon.wait_log(rf"error: \[example\.\] DNSSEC, validation failed \((?:{error})", count=1)
        daemon.wait_log(r"DNSSEC, validation failed", count=number + 1)
        if hint:
            daemon.wait_log(rf"DNSSEC, validation hint: {re.escape(hint)}")
        assert serial(daemon) == 10
    daemon.write("example.zone", sign(folder, 20, nsec3=nsec3))
    daemon.knotc("-b", "zone-reload", "example")
    assert serial(daemon) == 20


def test_unsigned_and_broken_at_start(make_knotd, directory):
    daemon = start(make_knotd(), ZONE.format(serial=10))
    daemon.wait_log(r"DNSSEC, validation failed \(no keys for signing\)")
    assert serial(daemon) is None
    daemon.write("example.zone", sign(directory / "signer", 11))
    daemon.knotc("-b", "zone-reload", "example")
    assert serial(daemon) == 11


def test_updates(make_knotd, directory):
    """An update that breaks the zone is refused as a whole."""
    daemon = start(make_knotd(), sign(directory / "signer"))
    daemon.wait(lambda: serial(daemon) == 10, what="the zone")
    update = dns.update.UpdateMessage("example.")
    update.add("new.example.", 60, "A", "192.0.2.9")
    assert dns.query.tcp(update, "127.0.0.1", port=daemon.port, timeout=10).rcode() == 2
    daemon.wait_log(r"DNSSEC, incremental validation failed")
    assert serial(daemon) == 10


@pytest.mark.ours   # not of 3.2
def test_command(make_knotd, directory):
    daemon = start(make_knotd(), sign(directory / "signer"))
    daemon.wait(lambda: serial(daemon) == 10, what="the zone")
    daemon.knotc("-b", "zone-validate", "example")
    daemon.wait_log("DNSSEC, full zone revalidation")
    daemon.wait_log("DNSSEC, validation successful", count=2)
    assert re.search(r"DNSSEC-validate: \+", daemon.knotc("zone-status", "example").stdout)


@pytest.mark.ours   # not of 3.2
def test_expiring(make_knotd, directory):
    """A version whose signatures expire soon is served with a warning; later they are noted to have expired."""
    daemon = start(make_knotd(), sign(directory / "signer", lifetime="6"))
    daemon.wait(lambda: serial(daemon) == 10, what="the zone")
    daemon.wait_log(r"warning: \[example\.\] DNSSEC, validation failed \(oncoming RRSIG expiration\)")
    daemon.wait_log("DNSSEC, RRSIG expiration revalidation", 20)
    daemon.wait_log(r"error: \[example\.\] DNSSEC, validation failed")
    assert serial(daemon) == 10     # a primary only says so


@pytest.mark.ours
def test_image_is_proven_in_the_background(make_knotd, directory):
    daemon = start(make_knotd(), sign(directory / "signer"))
    daemon.wait(lambda: serial(daemon) == 10, what="the zone")
    daemon.stop()
    daemon.start()
    daemon.wait_log("from image")
    daemon.wait_log("DNSSEC, validation successful", 20, count=2)


@pytest.mark.ours
def test_signing_zone_is_proven(make_knotd):
    """zone-validate of a zone that the server signs."""
    daemon = make_knotd()
    daemon.write("example.zone", ZONE.format(serial=10))
    (daemon.dir / "db").mkdir()
    daemon.configure(zones=["example"], text=ACL + "template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    zonefile-sync: -1\n")
    daemon.start()
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    daemon.knotc("-b", "zone-validate", "example")
    daemon.wait_log(r"DNSSEC, validation successful, checked RRSIGs \d+")


@pytest.mark.ours
def test_validation_is_turned_on(make_knotd):
    """What is served is looked at; a primary that isn't valid stays served, with the reason told."""
    daemon = start(make_knotd(), ZONE.format(serial=10))
    daemon.wait_log("DNSSEC, validation failed")
    configured = daemon.path.read_text()
    daemon.conf(configured.replace("dnssec-validation: on", "dnssec-validation: off"))
    daemon.knotc("reload")
    daemon.wait(lambda: serial(daemon) == 10, what="the zone without validation")
    daemon.conf(configured)
    daemon.knotc("reload")
    daemon.wait_log(r"DNSSEC, validation failed \(no keys for signing\)", count=2)
    assert serial(daemon) == 10


@pytest.mark.parametrize("items,is_told", [
    (["semantic-checks: on"], True),
    (["semantic-checks: soft"], False),
    (["semantic-checks: off"], False),
    (["semantic-checks: on", "dnssec-signing: on"], False),  # it makes signatures itself
])
def test_semantic_checks(make_knotd, directory, items, is_told):
    """Without dnssec-validation, a file with wrong signatures is served; semantic-checks: on tells what is wrong, all of it."""
    text = break_signature(break_signature(sign(directory / "signer"), "www.example.", "A"), "ns1.example.", "A")
    daemon = start(make_knotd(), text, "dnssec-validation: off", *items)
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    lines = re.findall(r"(\w+): \[example\.\] check, (.*)", daemon.log())
    wanted = [("warning", f"node {owner}.example., no valid signature for a record (record type A)") for owner in ("ns1", "www")]
    assert lines == (wanted if is_told else [])
    if is_told:
        said = daemon.knotc("-c", str(daemon.dir / "knot.conf"), "zone-check", "example").stdout
        assert re.search(r"node www.example., no valid signature for a record \(record type A\), file '.*example.zone', line \d+", said)


def test_semantic_checks_where_it_is_validated(make_knotd, directory):
    """What dnssec-validation says isn't said twice."""
    daemon = start(make_knotd(), break_signature(sign(directory / "signer"), "www.example.", "A"), "semantic-checks: on")
    daemon.wait_log(r"DNSSEC, validation failed")
    assert "[example.] check, " not in daemon.log()
