# SPDX-License-Identifier: BSD-2-Clause
"""external-validation: another program decides about a new version while it waits, and nothing else waits with it."""
import re
import time
from concurrent.futures import ThreadPoolExecutor

import dns.rcode
import dns.update
import pytest

from harness.server import Knotd
from harness.waiting import wait_until

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

HEAD = "$ORIGIN {zone}.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n"


def text(serial, *more, zone="example"):
    return HEAD.format(serial=serial, zone=zone) + "".join(f"{line}\n" for line in more)


def configure(daemon, items="", zone_items="", zones=("example",), more="", server=""):
    blocks = "".join(f"  - domain: {zone}\n    storage: {daemon.dir}\n    external-validation: e\n    journal-content: all\n{zone_items}" for zone in zones)
    daemon.configure(f"external:\n  - id: e\n{items}{more}zone:\n{blocks}", server=server)


def status(daemon, zone="example"):
    match = re.search(r"transaction: (\S+)", daemon.knotc("zone-status", zone, "+transaction").stdout)
    return match.group(1) if match else "-"


def serial(daemon, zone="example"):
    match = re.search(r"serial: (\d+)", daemon.knotc("zone-status", zone, "+serial").stdout)
    return int(match.group(1)) if match else None


def wait_waiting(daemon, zone="example"):
    wait_until(lambda: status(daemon, zone) == "open-external", lambda: f"a version that waits\n{daemon.log()[-3000:]}")


def wait_serial(daemon, wanted, zone="example"):
    wait_until(lambda: serial(daemon, zone) == wanted, lambda: f"serial {wanted}\n{daemon.log()[-3000:]}")


def decide(daemon, command="zone-commit", zone="example"):
    wait_waiting(daemon, zone)
    assert daemon.knotc(command, zone).stdout == "OK\n"


@pytest.fixture
def served(knotd):
    """A zone with serial 1, which was accepted; other zones have no say."""
    knotd.write("example.zone", text(1, "old A 192.0.2.9"))
    configure(knotd, f"    timeout: 60\n    dump-new-zone: {knotd.dir}/%s.new\n    dump-removals: {knotd.dir}/%s.diff\n"
                     f"    dump-additions: {knotd.dir}/%s.diff\n", server="background-workers: 1")
    knotd.start()
    decide(knotd)
    wait_serial(knotd, 1)
    return knotd


def test_accepted_and_refused(served):
    served.knotc("zone-reload", "example")      # the same file: no question
    served.write("example.zone", text(2, "new A 192.0.2.9"))
    served.knotc("zone-reload", "example")
    wait_waiting(served)
    served.wait_log(r"notice: \[example\.\] waiting for external validation")
    assert serial(served) == 1
    diff = (served.dir / "example.diff").read_text()
    assert re.sub(r"[ \t]+", " ", diff) == (
        ";; Removed records\nexample. 60 SOA ns1.example. admin.example. 1 3600 600 86400 60\nold.example. 60 A 192.0.2.9\n"
        ";; Added records\nexample. 60 SOA ns1.example. admin.example. 2 3600 600 86400 60\nnew.example. 60 A 192.0.2.9\n")
    assert "new.example." in (served.dir / "example.new").read_text()
    decide(served)
    wait_serial(served, 2)
    assert status(served) == "-"
    served.write("example.zone", text(3))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.knotc, "-b", "zone-reload", "example", check=False)
        decide(served, "zone-abort")
        done = waiting.result(20)
    assert (done.returncode, done.stdout) == (1, "error: [example] (external validation failed, it was refused)\n")
    assert serial(served) == 2
    assert "external validation failed, it was refused" in served.knotc("zone-status", "example", "+error").stdout


def test_a_transaction_is_its_own_consent(served):
    for command in (("zone-begin",), ("zone-set", "example", "a", "60", "A", "192.0.2.3"), ("zone-commit",)):
        served.knotc(command[0], *(command[1:] or ("example",)))
    assert serial(served) == 2 and served.log().count("waiting for external validation") == 1


def test_a_start_does_not_ask_again(served):
    served.stop()
    served.start()
    wait_serial(served, 1)
    assert served.log().count("waiting for external validation") == 1


def test_no_decision(knotd):
    knotd.write("example.zone", text(1))
    configure(knotd, "    timeout: 1\n")
    knotd.start()
    knotd.wait_log(r"failed to load .*external validation failed|event 'load' failed \(external validation failed\)")
    assert "there was no decision in time" in knotd.knotc("zone-status", "example", "+error").stdout
    assert serial(knotd) is None


def test_no_worker_is_held(knotd):
    """With one worker, more zones wait than there are workers, others are loaded, and a stop waits for none of them."""
    names = [f"z{number}" for number in range(20)]
    for name in (*names, "free"):
        knotd.write(f"{name}.zone", text(1, zone=name))
    configure(knotd, "    timeout: 3600\n", zones=names, server="background-workers: 1")
    with open(knotd.dir / "knot.conf", "a", encoding="ascii") as file:
        file.write(f"  - domain: free\n    storage: {knotd.dir}\n")
    knotd.start()
    for name in names:
        wait_waiting(knotd, name)
    knotd.write("free.zone", text(2, zone="free"))
    assert knotd.knotc("-b", "zone-reload", "free").stdout == "OK\n"
    assert serial(knotd, "free") == 2
    for name in names[:10]:
        decide(knotd, zone=name)
    for name in names[:10]:
        wait_serial(knotd, 1, name)
    begun = time.monotonic()
    knotd.stop()
    assert time.monotonic() - begun < 20


def test_dynamic_update(served):
    """The client hears when it is decided."""
    served.stop()
    configure(served, "    timeout: 60\n", "    acl: a\n", more="acl:\n  - id: a\n    address: 127.0.0.1\n    action: update\n")
    served.start()
    wait_serial(served, 1)
    for command, rcode, last in (("zone-abort", dns.rcode.SERVFAIL, 1), ("zone-commit", dns.rcode.NOERROR, 2)):
        update = dns.update.UpdateMessage("example.")
        update.add("dyn", 60, "A", "192.0.2.77")
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(served.exchange, update, timeout=20)
            decide(served, command)
            assert answer.result(20).rcode() == rcode
        assert serial(served) == last


def test_transfer(served, directory):
    secondary = Knotd(directory / "secondary")
    try:
        served.stop()
        configure(served, "    timeout: 60\n", "    acl: a\n", more="acl:\n  - id: a\n    address: 127.0.0.1\n    action: transfer\n")
        served.start()
        wait_serial(served, 1)
        configure(secondary, "    timeout: 60\n", "    master: p\n", more=f"remote:\n  - id: p\n    address: 127.0.0.1@{served.port}\n")
        secondary.start()
        decide(secondary, "zone-abort")
        secondary.wait_log(r"AXFR, incoming, .*failed \(external validation failed\)")
        secondary.knotc("zone-refresh", "example")
        decide(secondary)
        wait_serial(secondary, 1)
    finally:
        secondary.stop()
