# SPDX-License-Identifier: BSD-2-Clause
"""zonemd-verify and zonemd-generate, judged by dnspython's digests. Knot DNS passes all but those marked `ours`."""
import re
import shutil

import dns.query
import dns.rcode
import dns.rdatatype
import dns.update
import dns.zone
import pytest

from harness.server import is_ours
from harness.waiting import wait_until

pytestmark = pytest.mark.core

SHA384, SHA512 = 1, 2
TEXT = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n{more}"
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n"


def text(serial, *more):
    return TEXT.format(serial=serial, more="".join(f"{line}\n" for line in more))


def with_digest(serial, *more, algorithm=SHA384):
    """The zone file with its record."""
    zone = dns.zone.from_text(text(serial, *more), origin="example.", relativize=False)
    return text(serial, *more, f"@ ZONEMD {zone.compute_digest(algorithm).to_text()}")


def configure(daemon, *items, more="", text_before=""):
    daemon.configure(zones=["example"], text=ACL + text_before + "template:\n  - id: default\n    acl: all\n    zonefile-sync: -1\n"
                     + "".join(f"    {item}\n" for item in items) + more)
    if daemon.process is None:
        (daemon.dir / "db").mkdir(exist_ok=True)


def start(daemon, zone_text, *items):
    daemon.write("example.zone", zone_text)
    configure(daemon, *items)
    return daemon.start()


def contents(daemon):
    return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.", port=daemon.port, relativize=False), relativize=False)


def serial(daemon):
    answer = daemon.ask("example", "SOA").answer
    return answer[0][0].serial if answer else None


def wait_serial(daemon, wanted):
    daemon.wait(lambda: serial(daemon) == wanted, what=f"serial {wanted}")


def check_digest(daemon, wanted_serial, algorithm=SHA384):
    """The zone has this serial, and one record, with the right digest and the TTL of the SOA."""
    wait_serial(daemon, wanted_serial)
    zone = contents(daemon)
    records = zone.find_rdataset("example.", dns.rdatatype.ZONEMD)
    assert [(record.serial, int(record.scheme), int(record.hash_algorithm)) for record in records] == [(wanted_serial, 1, algorithm)]
    assert records.ttl == zone.find_rdataset("example.", dns.rdatatype.SOA).ttl
    zone.verify_digest()


def has_record(daemon):
    return bool(daemon.ask("example", "ZONEMD").answer)


def commit(daemon, *edits, check=True):
    daemon.knotc("zone-begin", "example")
    for edit in edits:
        daemon.knotc(edit[0], "example", *edit[1:])
    done = daemon.knotc("zone-commit", "example", check=check)
    if done.returncode != 0:
        daemon.knotc("zone-abort", "example")
    return done


ADD = ("zone-set", "new", "60", "A", "192.0.2.7")
ZERO = "0" * 96
FAULTS = {
    "absent": (text(2), "not exists"),
    "wrong": (with_digest(2).replace("192.0.2.1", "192.0.2.2"), "malformed data"),
    "other serial": (with_digest(1).replace("admin 1", "admin 2"), "operation not supported"),
    "other algorithm": (text(2, f"@ ZONEMD 2 1 240 {ZERO}"), "operation not supported"),
    "two": (with_digest(2) + f"@ ZONEMD 2 1 1 {ZERO}\n", "semantic check"),
}


# ---- Verification ----

@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_does_not_verify(knotd, fault):
    bad, error = FAULTS[fault]
    start(knotd, with_digest(1), "zonemd-verify: on")
    knotd.wait_log(r"info: \[example\.\] ZONEMD, verification successful")
    assert serial(knotd) == 1
    knotd.write("example.zone", bad)
    done = knotd.knotc("-b", "zone-reload", "example", check=False)
    assert done.returncode == 1 and error in done.stdout
    knotd.wait_log(rf"error: \[example\.\] ZONEMD, verification failed \({error}\)")
    knotd.wait_log(rf"error: \[example\.\] zone event 'load' failed \({error}")
    assert serial(knotd) == 1


def test_at_the_start(knotd):
    start(knotd, text(1), "zonemd-verify: on")
    knotd.wait_log(r"error: \[example\.\] zone event 'load' failed \(not exists")
    assert knotd.ask("example", "SOA").rcode() == dns.rcode.SERVFAIL
    knotd.write("example.zone", with_digest(1))
    knotd.knotc("-b", "zone-reload", "example")
    assert serial(knotd) == 1


@pytest.mark.ours   # Knot DNS doesn't verify transactions
def test_changes_have_to_bring_a_record(knotd):
    start(knotd, with_digest(1), "zonemd-verify: on")
    wait_serial(knotd, 1)
    assert commit(knotd, ADD, check=False).returncode == 1
    update = dns.update.UpdateMessage("example.")
    update.add("new", 60, "A", "192.0.2.8")
    assert dns.query.tcp(update, "127.0.0.1", port=knotd.port, timeout=10).rcode() == dns.rcode.SERVFAIL
    assert serial(knotd) == 1 and not knotd.ask("new.example", "A").answer
    assert len(re.findall(r"ZONEMD, verification failed \(operation not supported\)", knotd.log())) == 2
    new = dns.zone.from_text(with_digest(2, "new A 192.0.2.7"), origin="example.", relativize=False)
    record = new.find_rdataset("example.", dns.rdatatype.ZONEMD)[0]
    commit(knotd, ADD, ("zone-unset", "@", "ZONEMD"), ("zone-set", "@", "60", "ZONEMD", *record.to_text().split()),
           ("zone-unset", "@", "SOA"), ("zone-set", "@", "60", "SOA", "ns1", "admin", "2", "3600", "600", "86400", "60"))
    check_digest(knotd, 2)


# ---- Generation ----

@pytest.mark.parametrize("name,algorithm", [("zonemd-sha384", SHA384), ("zonemd-sha512", SHA512)])
def test_each_source_gets_a_record(knotd, name, algorithm):
    start(knotd, text(10, f"@ 5 ZONEMD 10 1 1 {ZERO}"), f"zonemd-generate: {name}")
    check_digest(knotd, 11, algorithm)
    knotd.wait_log(r"info: \[example\.\] loaded, serial none -> 10 -> 11, \d+ bytes")
    commit(knotd, ADD)
    check_digest(knotd, 12, algorithm)
    update = dns.update.UpdateMessage("example.")
    update.add("more", 60, "A", "192.0.2.8")
    assert dns.query.tcp(update, "127.0.0.1", port=knotd.port, timeout=10).rcode() == dns.rcode.NOERROR
    check_digest(knotd, 13, algorithm)
    # Who sets a serial gets that one, and a record can't be taken away or replaced.
    commit(knotd, ("zone-unset", "@", "SOA"), ("zone-set", "@", "60", "SOA", "ns1", "admin", "30", "3600", "600", "86400", "60"))
    check_digest(knotd, 30, algorithm)
    commit(knotd, ("zone-unset", "@", "ZONEMD"))
    check_digest(knotd, 31, algorithm)
    knotd.write("example.zone", text(40))
    knotd.knotc("-b", "zone-reload", "example")
    check_digest(knotd, 41, algorithm)
    knotd.wait_log(r"info: \[example\.\] loaded, serial 31 -> 40 -> 41, \d+ bytes")


def test_a_valid_record_stays(knotd):
    start(knotd, with_digest(10), "zonemd-generate: zonemd-sha384")
    check_digest(knotd, 10)
    knotd.wait_log(r"info: \[example\.\] loaded, serial none -> 10, \d+ bytes")


def test_remove(knotd):
    start(knotd, with_digest(10), "zonemd-generate: remove")
    wait_serial(knotd, 11)
    assert not has_record(knotd)
    commit(knotd, ADD, ("zone-set", "@", "60", "ZONEMD", "10", "1", "1", ZERO))
    wait_serial(knotd, 12)
    assert not has_record(knotd)
    knotd.write("example.zone", text(20))
    knotd.knotc("-b", "zone-reload", "example")
    assert serial(knotd) == 20


@pytest.mark.parametrize("images", [True, False])
@pytest.mark.parametrize("content", ["none", "changes", "all"])
def test_after_a_restart(knotd, content, images):
    """What was generated for a file that doesn't have it, and what changed since, is there again."""
    start(knotd, text(10), "zonemd-generate: zonemd-sha384", f"journal-content: {content}")
    check_digest(knotd, 11)
    if content != "none":
        commit(knotd, ADD)
        check_digest(knotd, 12)
    knotd.stop()
    if not images:      # what the file and the journal lead to
        shutil.rmtree(knotd.dir / "db/images", ignore_errors=not is_ours())
    knotd.start()
    check_digest(knotd, 11 if content == "none" else 12)
    assert bool(knotd.ask("new.example", "A").answer) == (content != "none")


def test_the_file_gets_it(knotd):
    start(knotd, text(10), "zonemd-generate: zonemd-sha384")
    check_digest(knotd, 11)
    knotd.knotc("-b", "-f", "zone-flush", "example")
    zone = dns.zone.from_file(str(knotd.dir / "example.zone"), origin="example.", relativize=False)
    zone.verify_digest()
    knotd.knotc("-b", "-f", "zone-reload", "example")
    check_digest(knotd, 11)


def test_differences(knotd):
    """A file without a record takes none away; one with a serial of its own gets the next one."""
    start(knotd, text(10), "zonemd-generate: zonemd-sha384", "zonefile-load: difference", "journal-content: all")
    check_digest(knotd, 11)
    knotd.write("example.zone", text(20, "new A 192.0.2.7"))
    knotd.knotc("-b", "zone-reload", "example")
    check_digest(knotd, 21)
    knotd.wait_log(r"info: \[example\.\] loaded, serial 11 -> 20 -> 21, \d+ bytes")
    knotd.stop()
    knotd.start()
    check_digest(knotd, 21)


@pytest.mark.ours   # Knot DNS takes two serials for one change
def test_differences_without_serial(knotd):
    start(knotd, text(10), "zonemd-generate: zonemd-sha384", "zonefile-load: difference-no-serial", "journal-content: all")
    check_digest(knotd, 11)
    knotd.write("example.zone", text(10, "new A 192.0.2.7"))
    knotd.knotc("-b", "zone-reload", "example")
    check_digest(knotd, 12)
    knotd.write("example.zone", text(9, "new A 192.0.2.7"))
    knotd.knotc("-b", "zone-reload", "example")
    check_digest(knotd, 12)
    # What was committed since stays after a restart, with no version more.
    commit(knotd, ("zone-set", "other", "60", "A", "192.0.2.7"))
    check_digest(knotd, 13)
    knotd.stop()
    knotd.start()
    check_digest(knotd, 13)
    assert knotd.ask("other.example", "A").answer


# ---- Transfers ----

def start_pair(make_knotd, primary_items, secondary_items, zone_text):
    primary, secondary = make_knotd(), make_knotd()
    start(primary, zone_text, *primary_items)
    wait_until(lambda: serial(primary) is not None, "the primary has the zone")
    configure(secondary, "master: p", *secondary_items, text_before=f"remote:\n  - id: p\n    address: 127.0.0.1@{primary.port}\n")
    secondary.start()
    return primary, secondary


def test_transfers_are_verified(make_knotd):
    primary, secondary = start_pair(make_knotd, ["zonemd-generate: zonemd-sha384"], ["zonemd-verify: on"], text(10))
    check_digest(secondary, 11)
    commit(primary, ADD)
    secondary.knotc("zone-refresh", "example")
    check_digest(secondary, 12)
    secondary.wait_log(r"info: \[example\.\] ZONEMD, verification successful", count=2)
    # From now on the primary generates none: the record isn't for the new version.
    configure(primary)
    primary.knotc("reload")
    commit(primary, ("zone-unset", "new"))
    wait_serial(primary, 13)
    secondary.knotc("zone-refresh", "example")
    secondary.wait_log(r"error: \[example\.\] ZONEMD, verification failed \(operation not supported\)")
    assert serial(secondary) == 12
    secondary.knotc("zone-retransfer", "example")
    secondary.wait_log(r"error: \[example\.\] ZONEMD, verification failed \(operation not supported\)", count=2)
    check_digest(secondary, 12)


def test_a_transferred_version_gets_a_record_of_its_own(make_knotd):
    """With the serial of the primary, whose own records don't matter."""
    primary, secondary = start_pair(make_knotd, ["zonemd-generate: zonemd-sha384"], ["zonemd-generate: zonemd-sha512"], text(10))
    check_digest(secondary, 11, SHA512)
    commit(primary, ADD)
    secondary.knotc("zone-refresh", "example")
    check_digest(secondary, 12, SHA512)
    assert re.search(r"IXFR, incoming, remote \S+(?: TCP)?, finished", secondary.log())
    check_digest(primary, 12, SHA384)
