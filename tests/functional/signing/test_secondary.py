# SPDX-License-Identifier: BSD-2-Clause
"""A secondary that signs what it gets from a primary without keys. Knot DNS passes all but those marked `ours`."""
import subprocess

import dns.query
import dns.update
import dns.zone
import pytest

from harness.server import built
from harness.validators import complaint

pytestmark = pytest.mark.core

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.{host}\nsub NS ns.sub\nns.sub A 192.0.2.5\n"
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update, notify ]\n"


def start_pair(make_knotd, *items):
    primary, secondary = make_knotd(name="primary"), make_knotd(name="secondary")
    for daemon in (primary, secondary):
        (daemon.dir / "db").mkdir()
    primary.write("example.zone", ZONE.format(serial=10, host=2))
    primary.configure(zones=["example"], text=f"remote:\n  - id: peer\n    address: 127.0.0.1@{secondary.port}\n" + ACL
                      + "template:\n  - id: default\n    acl: all\n    notify: peer\n    zonefile-sync: -1\n    zonefile-load: difference\n")
    secondary.configure(zones=["example"], text=f"remote:\n  - id: peer\n    address: 127.0.0.1@{primary.port}\n" + ACL
                        + "template:\n  - id: default\n    acl: all\n    master: peer\n    dnssec-signing: on\n    zonefile-sync: -1\n"
                        + "".join(f"    {item}\n" for item in items))
    primary.start()
    secondary.start()
    secondary.wait(lambda: serial(secondary) is not None, what="the first version")
    return primary, secondary


def serial(daemon):
    answer = daemon.ask("example", "SOA").answer
    return answer[0][0].serial if answer else None


def check(daemon):
    zone = dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.", port=daemon.port, relativize=False), relativize=False)
    path = daemon.dir / "served.zone"
    zone.to_file(str(path), relativize=False)
    fault = complaint(path)
    assert not fault, fault
    return zone


def keymgr(daemon, *words):
    done = subprocess.run([built("keymgr", "tools"), "-c", str(daemon.path), "example.", *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def host(zone):
    return zone.get_rdataset("www.example.", "A")[0].address


def test_changes_of_the_primary(make_knotd):
    """First contents, differences, a whole transfer: signed, with serials that go on by one whatever the primary's are."""
    primary, secondary = start_pair(make_knotd)
    assert serial(secondary) == 10
    check(secondary)
    for number in range(3):
        update = dns.update.UpdateMessage("example.")
        update.replace("www.example.", 60, "A", f"192.0.2.{20 + number}")
        assert dns.query.tcp(update, "127.0.0.1", port=primary.port, timeout=10).rcode() == 0
        secondary.wait(lambda n=number: host(check(secondary)) == f"192.0.2.{20 + n}", what="the change")
        assert serial(secondary) == 11 + number
    primary.write("example.zone", ZONE.format(serial=100, host=99))
    primary.knotc("-b", "zone-reload", "example")
    secondary.wait(lambda: host(check(secondary)) == "192.0.2.99", what="the file's change")
    assert serial(secondary) == 14
    secondary.knotc("zone-refresh", "example")
    secondary.wait_log(r"remote serial 100, zone is up-to-date")
    secondary.knotc("-b", "zone-retransfer", "example")
    assert host(check(secondary)) == "192.0.2.99"


def test_last_serial(make_knotd):
    """The key database follows each version: Knot DNS, where the zone may go back to, takes differences only from the serial that is there."""
    primary, secondary = start_pair(make_knotd)
    for number in range(2):
        update = dns.update.UpdateMessage("example.")
        update.replace("www.example.", 60, "A", f"192.0.2.{20 + number}")
        assert dns.query.tcp(update, "127.0.0.1", port=primary.port, timeout=10).rcode() == 0
        secondary.wait(lambda n=number: serial(secondary) == 11 + n, what="the change")
        secondary.wait(lambda n=number: keymgr(secondary, "local-serial") == f"Current serial: {11 + n}\n", what="the serial")
    assert keymgr(secondary, "master-serial") == "Current serial: 12\n"


def test_own_changes_and_restart(make_knotd):
    """Signing again doesn't confuse transfers; neither does a restart."""
    primary, secondary = start_pair(make_knotd)
    secondary.knotc("-b", "zone-sign", "example")
    secondary.wait(lambda: serial(secondary) == 11, what="new signatures")
    secondary.stop()
    update = dns.update.UpdateMessage("example.")
    update.replace("www.example.", 60, "A", "192.0.2.77")
    assert dns.query.tcp(update, "127.0.0.1", port=primary.port, timeout=10).rcode() == 0
    secondary.start()
    secondary.knotc("zone-refresh", "example")
    secondary.wait(lambda: serial(secondary) is not None and host(check(secondary)) == "192.0.2.77", 20, "the change")
    assert serial(secondary) == 12
    secondary.knotc("zone-refresh", "example")
    secondary.wait_log(r"remote serial 11, zone is up-to-date")


@pytest.mark.ours
def test_whole_transfers_are_differences(make_knotd):
    """Signatures of what an AXFR doesn't change stay."""
    _, secondary = start_pair(make_knotd)
    before = check(secondary)
    secondary.knotc("-b", "zone-retransfer", "example")
    after = check(secondary)
    assert serial(secondary) == 10
    assert sorted(before.to_text().splitlines()) == sorted(after.to_text().splitlines())
