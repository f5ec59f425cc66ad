# SPDX-License-Identifier: BSD-2-Clause
"""Signals on D-Bus, on a bus of the test's own."""
import re
import shutil
import subprocess

import dns.query
import dns.update
import pytest

from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not (shutil.which("dbus-daemon") and shutil.which("dbus-monitor")), reason="no dbus-daemon")]
SOA = "@ 3600 SOA ns a {} 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={dir}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/><allow user="*"/>
<allow send_type="signal"/><allow receive_type="signal"/></policy></busconfig>
"""


class Bus:
    def __init__(self, directory):
        self.dir, self.processes = directory, []
        (directory / "bus.conf").write_text(BUS.format(dir=directory))
        self.run(["dbus-daemon", f"--config-file={directory}/bus.conf", "--nofork", "--nopidfile"], subprocess.DEVNULL)
        wait_until((directory / "bus").exists, "the bus", 20)
        with open(directory / "signals", "wb") as output:
            self.run(["dbus-monitor", "--address", f"unix:path={directory}/bus", "type='signal',interface='cz.nic.knotd.events'"], output)
        wait_until(lambda: "NameAcquired" in (directory / "signals").read_text(), "the listener", 20)

    def run(self, command, output):
        self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL))

    def signals(self):
        """[(name, argument...)]"""
        found = []
        for block in re.split(r"^signal ", (self.dir / "signals").read_text(), flags=re.M):
            name = re.search(r"path=/cz/nic/knotd; interface=cz\.nic\.knotd\.events; member=(\w+)", block)
            if name:
                found.append((name[1], *re.findall(r'^   (?:string|uint32|uint16) "?([^"\n]*)"?$', block, re.M)))
        return found

    def wait(self, signal):
        wait_until(lambda: signal in self.signals(), lambda: f"{signal} in {self.signals()}", 30)

    def end(self, index):
        process = self.processes[index]
        if process.poll() is None:
            process.terminate()
        process.wait()


@pytest.fixture
def bus(directory, monkeypatch):
    made = Bus(directory)
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={directory}/bus")
    yield made
    for i in range(len(made.processes)):
        made.end(i)


def configure(knotd, events="[running, zone-updated]", bad=""):
    for zone in ("a.test", "b.test"):
        knotd.write(f"{zone}.zone", SOA.format(1))
    knotd.write("b.test.zone", bad or SOA.format(1))
    knotd.configure(server=f"dbus-event: {events}\ndbus-init-delay: 0")
    knotd.conf(knotd.path.read_text() + "acl:\n  - id: u\n    address: 127.0.0.1\n    action: update\nzone:\n" + "".join(
        f"  - domain: {zone}\n    storage: {knotd.dir}\n    file: {zone}.zone\n    acl: u\n" for zone in ("a.test", "b.test")))


def test_life_of_a_zone(knotd, bus):
    configure(knotd)
    knotd.start()
    bus.wait(("started",))
    assert sorted(bus.signals()) == [("started",), ("zone_updated", "a.test.", "1"), ("zone_updated", "b.test.", "1")]
    assert bus.signals()[-1] == ("started",)
    assert "info: d-bus: connected to system bus" in knotd.log()
    knotd.write("a.test.zone", SOA.format(2))
    knotd.knotc("-b", "zone-reload", "a.test")
    bus.wait(("zone_updated", "a.test.", "2"))
    for words in (("zone-begin", "a.test"), ("zone-set", "a.test", "x", "60", "A", "192.0.2.9"), ("-b", "zone-commit", "a.test")):
        knotd.knotc(*words)
    bus.wait(("zone_updated", "a.test.", "3"))
    update = dns.update.UpdateMessage("a.test")
    update.add("y", 60, "A", "192.0.2.10")
    assert dns.query.tcp(update, "127.0.0.1", port=knotd.port, timeout=20).rcode() == 0
    bus.wait(("zone_updated", "a.test.", "4"))
    knotd.write("b.test.zone", "broken\n")
    knotd.knotc("-b", "zone-reload", "b.test", check=False)
    bus.wait(("zone_not_updated", "b.test."))
    knotd.stop()
    bus.wait(("stopped",))
    assert [signal[0] for signal in bus.signals()].count("started") == 1


def test_started_waits_for_contents(knotd, bus):
    configure(knotd, events="running", bad="broken\n")
    knotd.start()
    knotd.wait_log("loaded 1 zones")
    assert bus.signals() == []
    knotd.write("b.test.zone", SOA.format(1))
    knotd.knotc("-b", "zone-reload", "b.test")
    bus.wait(("started",))
    knotd.stop()
    bus.wait(("stopped",))
    assert bus.signals() == [("started",), ("stopped",)]


def test_the_bus_goes(knotd, bus):
    """The server goes on without, and says so."""
    configure(knotd)
    knotd.start()
    bus.wait(("started",))
    bus.end(0)
    knotd.write("a.test.zone", SOA.format(2))
    knotd.knotc("-b", "zone-reload", "a.test")
    knotd.wait_log(r"warning: d-bus: connection lost \(")
    knotd.write("a.test.zone", SOA.format(3))
    knotd.knotc("-b", "zone-reload", "a.test")
    assert "serial: 3" in knotd.knotc("zone-status", "a.test").stdout


def test_no_bus(knotd, directory, monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={directory}/nowhere")
    configure(knotd)
    knotd.start()
    assert "error: d-bus: failed to open system bus (" in knotd.log()


def test_signing(knotd, bus):
    """Keys that are made, a KSK that waits, and signatures that won't be good for long."""
    (knotd.dir / "db").mkdir()
    knotd.write("a.test.zone", SOA.format(1))
    knotd.configure(server="dbus-event: [keys-updated, ksk-submission]\ndbus-init-delay: 0")
    knotd.conf(knotd.path.read_text() + f"zone:\n  - domain: a.test\n    storage: {knotd.dir}\n    dnssec-signing: on\n    zonefile-sync: -1\n")
    knotd.start()
    bus.wait(("keys_updated", "a.test."))
    ksk = re.search(r"key, tag +(\d+), algorithm \S+, KSK", knotd.log())[1]
    wait_until(lambda: any(s[:3] == ("zone_ksk_submission", "a.test.", ksk) for s in bus.signals()), lambda: bus.signals(), 30)
    waits = next(s for s in bus.signals() if s[0] == "zone_ksk_submission")
    assert (knotd.dir / "db" / "keys" / "keys" / f"{waits[3]}.pem").exists()


def test_signatures_that_expire(knotd, bus):
    knotd.write("a.test.zone", SOA.format(1))
    knotd.configure(server="dbus-event: dnssec-invalid\ndbus-init-delay: 0")
    knotd.conf(knotd.path.read_text() + f"zone:\n  - domain: a.test\n    storage: {knotd.dir}\n    dnssec-validation: on\n")
    knotd.start()
    bus.wait(("zone_dnssec_invalid", "a.test.", "0"))
