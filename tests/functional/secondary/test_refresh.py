# SPDX-License-Identifier: BSD-2-Clause
"""Secondary zones: the distribution's knotd and named as primaries."""
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from harness.metrics import families, request, wait_open
from harness.net import free_port
from harness.server import Knotd, built
from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.core]

KNOT = "/usr/sbin/knotd"
NAMED = "/usr/sbin/named"
ZONE = "$ORIGIN example.\n@ 60 SOA ns admin {serial} {timers} 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n{more}"
SECRET = "bG9uZyBlbm91Z2ggZm9yIGEgdGVzdA=="
KEY = f"key:\n  - id: k.\n    algorithm: {{algorithm}}\n    secret: {SECRET}\n"
TIMERS = "3600 600 86400"


def zone_text(serial, more="", timers=TIMERS):
    return ZONE.format(serial=serial, more=more, timers=timers)


class Primary:
    """Debian's knotd with the zone example."""

    def __init__(self, directory, algorithm=None, before="", more_zone=""):
        if not os.path.exists(KNOT):
            pytest.skip("Debian's knot isn't installed")
        self.daemon = Knotd(directory, program=KNOT)
        self.key = KEY.format(algorithm=algorithm) if algorithm else ""
        self.before, self.more_zone = before, more_zone

    def start(self, text):
        (self.daemon.dir / "db").mkdir(exist_ok=True)
        self.daemon.write("example.zone", text)
        rule = "    key: k.\n" if self.key else "    address: 127.0.0.1\n"
        self.daemon.configure(f"{self.key}{self.before}acl:\n  - id: a\n    action: transfer\n{rule}"
                              f"zone:\n  - domain: example\n    storage: {self.daemon.dir}\n    acl: a\n"
                              f"    zonefile-load: difference\n    zonefile-sync: -1\n{self.more_zone}")
        self.daemon.start()
        wait_until(lambda: serial_of(self.daemon) is not None, "the primary's zone", 20)
        return self

    def change(self, text):
        self.daemon.write("example.zone", text)
        self.daemon.knotc("-b", "zone-reload", "example")


def serial_of(daemon):
    try:
        answer = daemon.ask("example", "SOA")
    except Exception:
        return None
    return answer.answer[0][0].serial if answer.answer else None


def configure(secondary, ports, algorithm=None, zone="", server="", addresses=None):
    remotes = "".join(f"  - id: p{i}\n    address: 127.0.0.1@{port}\n" + ("    key: k.\n" if algorithm else "")
                      for i, port in enumerate(ports))
    key = KEY.format(algorithm=algorithm) if algorithm else ""
    secondary.configure(f"{key}remote:\n{remotes}zone:\n  - domain: example\n    storage: {secondary.dir}\n"
                        f"    master: [{', '.join(f'p{i}' for i in range(len(ports)))}]\n{zone}", server=server)


@pytest.fixture
def primary(directory):
    made = []

    def make(text=zone_text(1), **options):
        one = Primary(pathlib.Path(directory) / f"primary{len(made)}", **options).start(text)
        made.append(one)
        return one
    yield make
    for one in made:
        one.daemon.stop()


def wait_serial(secondary, serial):
    wait_until(lambda: serial_of(secondary) == serial, lambda: f"serial {serial}\n{secondary.log()[-5000:]}", 20)


def refresh(secondary, command="zone-refresh"):
    return secondary.knotc("-b", command, "example", check=False)


def records(daemon, name, rdtype):
    return sorted(str(rd) for rrset in daemon.ask(name, rdtype).answer for rd in rrset)


def test_whole_zone_then_changes(knotd, primary):
    """AXFR into nothing, IXFR afterwards, and the log as Knot's."""
    first = primary()
    configure(knotd, [first.daemon.port])
    knotd.start()
    wait_serial(knotd, 1)
    peer = rf"remote 127.0.0.1@{first.daemon.port}"
    knotd.wait_log(r"\[example\.\] zone will be bootstrapped")
    knotd.wait_log(rf"info: \[example\.\] AXFR, incoming, {peer} TCP, started\n")
    knotd.wait_log(rf"info: \[example\.\] AXFR, incoming, {peer} TCP, finished, remote serial 1, \d+\.\d\d seconds, 1 messages, \d+ bytes\n")
    knotd.wait_log(rf"info: \[example\.\] refresh, {peer}, zone updated, \d+\.\d\d seconds, serial none -> 1, expires in 86400 seconds\n")
    first.change(zone_text(2, "a 60 A 192.0.2.2\n"))
    assert refresh(knotd).returncode == 0
    wait_serial(knotd, 2)
    assert records(knotd, "a.example", "A") == ["192.0.2.2"]
    knotd.wait_log(rf"refresh, {peer}, remote serial 2, zone is outdated")
    knotd.wait_log(rf"IXFR, incoming, {peer} TCP, started")
    knotd.wait_log(rf"zone updated, \d+\.\d\d seconds, serial 1 -> 2")
    assert refresh(knotd).returncode == 0
    knotd.wait_log(rf"refresh, {peer} TCP, remote serial 2, zone is up-to-date")
    assert "AXFR" not in knotd.log().split("serial 1 -> 2")[1]


def test_retransfer(knotd, primary):
    first = primary()
    configure(knotd, [first.daemon.port])
    knotd.start()
    wait_serial(knotd, 1)
    assert refresh(knotd, "zone-retransfer").returncode == 0
    knotd.wait_log("AXFR, incoming, .*finished", count=2)


@pytest.mark.parametrize("algorithm", ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"])
def test_signed(knotd, primary, algorithm):
    first = primary(algorithm=algorithm)
    configure(knotd, [first.daemon.port], algorithm)
    knotd.start()
    wait_serial(knotd, 1)
    knotd.wait_log(r"AXFR, incoming, .* TCP, key k\., finished")
    first.change(zone_text(2, "a 60 A 192.0.2.2\n"))
    assert refresh(knotd).returncode == 0
    wait_serial(knotd, 2)


def test_key_is_missing(knotd, primary):
    first = primary(algorithm="hmac-sha256")
    configure(knotd, [first.daemon.port])
    knotd.start()
    knotd.wait_log(r"AXFR, incoming, .*server responded with error 'NOTAUTH'")
    knotd.wait_log(r"\[example\.\] refresh, failed \(no usable master\), next retry at \d{4}-\d\d-\d\dT")
    knotd.wait_log(r"zone event 'refresh' failed \(no usable master\)")
    assert serial_of(knotd) is None


def test_dead_primary_then_the_next(knotd, primary):
    first = primary()
    dead = free_port()
    configure(knotd, [dead, first.daemon.port])
    knotd.start()
    wait_serial(knotd, 1)
    knotd.wait_log(rf"info: \[example\.\] refresh, remote p0, address 127.0.0.1@{dead}, failed \(connection reset\)")
    knotd.wait_log(r"warning: \[example\.\] refresh, remote p0 not usable")


def test_expires_and_comes_back(knotd, primary):
    first = primary(zone_text(1, timers="2 1 4"))
    configure(knotd, [first.daemon.port])
    knotd.start()
    wait_serial(knotd, 1)
    text = knotd.knotc("zone-status", "example").stdout
    assert "role: slave" in text and "expiration: +" in text and "refresh: +" in text
    first.daemon.stop()
    knotd.wait_log(r"\[example\.\] zone expired", 30)
    wait_until(lambda: serial_of(knotd) is None, "no answer from an expired zone", 20)
    first.start(zone_text(1, timers="2 1 4"))
    wait_serial(knotd, 1)


def test_restart_keeps_the_zone_and_its_times(knotd, primary):
    first = primary()
    configure(knotd, [first.daemon.port])
    knotd.start()
    wait_serial(knotd, 1)
    knotd.wait_log("zone file updated")
    knotd.stop()
    first.daemon.stop()
    before = len(knotd.log())
    knotd.start()
    wait_serial(knotd, 1)
    assert "AXFR" not in knotd.log()[before:]
    status = knotd.knotc("zone-status", "example").stdout
    assert re.search(r"refresh: \+(1h|59m)", status), status     # neither now nor after a retry
    assert "expiration: +" in status, status


def test_restart_without_zone_file(knotd, primary):
    """The first version is in no journal and no zone file: its image and the change behind it are enough."""
    first = primary()
    configure(knotd, [first.daemon.port], zone="    zonefile-sync: -1\n")
    knotd.start()
    wait_serial(knotd, 1)
    first.change(zone_text(2, "a 60 A 192.0.2.2\n"))
    assert refresh(knotd).returncode == 0
    wait_serial(knotd, 2)
    knotd.stop()
    printed = subprocess.run([built("kjournalprint", "tools"), "-x", "-d", "-c", knotd.path, "example"], capture_output=True, text=True, check=True).stdout
    assert "1 -> 2" in printed and "Zone-in-journal" not in printed, printed
    first.daemon.stop()
    before = len(knotd.log())
    knotd.start()
    wait_serial(knotd, 2)
    assert records(knotd, "a.example", "A") == ["192.0.2.2"]
    assert "AXFR" not in knotd.log()[before:]


def test_changes_that_do_not_fit(knotd, primary):
    """A record is missing that IXFR removes: AXFR follows on a new connection."""
    first = primary(zone_text(1, "a 60 A 192.0.2.2\n"))
    configure(knotd, [first.daemon.port], zone="    journal-content: none\n")
    knotd.start()
    wait_serial(knotd, 1)
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-unset", "example", "a", "A")
    knotd.knotc("zone-commit", "example")
    first.change(zone_text(2, "b 60 A 192.0.2.3\n"))     # from 1, which the secondary had
    first.change(zone_text(3, "b 60 A 192.0.2.4\n"))
    knotd.knotc("-f", "zone-serial-set", "example", "1")
    assert refresh(knotd).returncode == 0
    wait_serial(knotd, 3)
    knotd.wait_log(r"IXFR, incoming, .*, serial 1 -> 3, failed to apply changes to zone \(no such record in zone found\)")
    knotd.wait_log(r"refresh, remote 127.0.0.1@\d+, fallback to AXFR \(no such record in zone found\)")
    assert records(knotd, "b.example", "A") == ["192.0.2.4"]
    assert records(knotd, "a.example", "A") == []


def test_primary_zone_is_refused(knotd):
    knotd.write("example.zone", zone_text(1))
    knotd.configure(zones=["example"])
    knotd.start()
    reply = refresh(knotd)
    assert "operation not supported" in reply.stdout
    assert knotd.knotc("zone-refresh").stdout == "OK\n"      # of all zones those are meant that have primaries


def test_named_as_primary(knotd, directory):
    if not os.path.exists(NAMED):
        pytest.skip("named isn't installed")
    folder = pathlib.Path(directory) / "named"
    folder.mkdir()
    port = free_port()
    (folder / "example.zone").write_text(zone_text(1, "".join(f"n{i} 60 A 192.0.2.{i % 250}\n" for i in range(5000))))
    (folder / "named.conf").write_text(f"""options {{ directory "{folder}"; pid-file none; session-keyfile none; managed-keys-directory "{folder}";
lock-file none; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }}; recursion no; dnssec-validation no; notify no; empty-zones-enable no; }};
controls {{ }};
key "k." {{ algorithm hmac-sha256; secret "{SECRET}"; }};
zone "example" {{ type primary; file "{folder}/example.zone"; allow-transfer {{ key "k."; }}; }};
""")
    program = folder / "named"
    shutil.copy(NAMED, program)
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([program, "-f", "-n", "1", "-c", folder / "named.conf", "-g"], stdout=log, stderr=log, cwd=folder)
    try:
        configure(knotd, [port], "hmac-sha256", zone="    retry-max-interval: 1\n")
        knotd.start()
        wait_serial(knotd, 1)
        assert records(knotd, "n4999.example", "A") == ["192.0.2.249"]
    finally:
        process.terminate()
        process.wait(20)


def test_age_by_remote(knotd, primary):
    """Metrics say when which primary last had what the zone has: from a start on, after a transfer, after a look that found nothing new."""
    knotd.metrics = free_port()
    first, begun = primary(), time.time()
    configure(knotd, [free_port(), first.daemon.port], server=f"metrics-listen: 127.0.0.1@{knotd.metrics}")
    knotd.start()
    wait_open(knotd.metrics)
    wait_serial(knotd, 1)

    def ages():
        found = families(request(knotd.metrics)[2])
        return [{tuple(sample.labels.values()): sample.value for sample in found[f"knot_{what}_last_refresh_timestamp_seconds"].samples}
                for what in ("zone", "remote")]
    wait_until(lambda: ages()[1], "the end of the first refresh")
    zones, remotes = ages()
    assert set(zones) == {("example.", "p1")} and set(remotes) == {("p1",)}     # p0 isn't there
    assert begun - 1 <= zones["example.", "p1"] == remotes["p1",] <= time.time() + 1
    wait_until(lambda: time.time() >= zones["example.", "p1"] + 1, "the next second")
    assert refresh(knotd).returncode == 0
    later = ages()
    assert later[0]["example.", "p1"] > zones["example.", "p1"] and later[1]["p1",] == later[0]["example.", "p1"]
    first.daemon.stop()
    refresh(knotd)
    assert ages() == later
