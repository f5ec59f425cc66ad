# SPDX-License-Identifier: BSD-2-Clause
"""Transactions are committed as fast as they can be while clients ask: every answer is from one version, whole, and from one that was
there between question and answer. Clients and questions are those of the test with zone files (tests/functional/test_versions.py)."""
import re
import socket
import threading
import time

import pytest

import test_versions as versions
from harness.control import BLOCK, COMMAND, DATA, ERROR, FLAGS, ZONE, item
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.threads]

OWNER, TTL, TYPE, VALUE = 0x17, 0x18, 0x19, 0x1a


class Control:
    """One connection, a command per block."""

    def __init__(self, path):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(30 * PATIENCE)
        self.stream.connect(str(path))

    def run(self, name, *units, flags=""):
        """Units are (owner, ttl, type, data) with None for what is left out; the text of errors."""
        request = b""
        for unit in units or [()]:
            request += DATA + item(COMMAND, name) + (item(FLAGS, flags) if flags else b"") + item(ZONE, "example.")
            request += b"".join(item(code, value) for code, value in zip((OWNER, TTL, TYPE, VALUE), unit) if value is not None)
        self.stream.sendall(request + BLOCK)
        reply = b""
        while not reply.endswith(BLOCK):
            block = self.stream.recv(65536)
            assert block, f"{name}: the server closed the connection"
            reply += block
        found = re.findall(bytes([ERROR]) + rb"..([a-z ,]+)", reply, re.S)
        return b"; ".join(found).decode()

    def close(self):
        self.stream.close()


def changes(serial):
    """From the zone of the serial before to that of this one, several records in a block."""
    lines = {old: [line.split() for line in versions.zone_text(old).splitlines()[2:15]] for old in (serial - 1, serial)}

    def units(number):
        result = []
        for words in lines[number]:
            owner, rdtype, data = words[0], words[1], " ".join(words[2:])
            if rdtype != "SOA" and owner != "ns" and data != "ns":
                result.append((owner, "60", rdtype, data))
        return result
    return units(serial - 1), units(serial)


def publish(daemon, first, clients):
    written, served = {}, {}
    control = Control(daemon.socket)
    begin = time.monotonic()
    for serial in range(first, first + versions.VERSIONS):
        gone, new = changes(serial)
        for name, units in (("zone-begin", ()), ("zone-unset", gone), ("zone-set", new)):
            error = control.run(name, *units)
            assert error == "", f"{name}: {error}"
        written[serial] = time.monotonic()
        error = control.run("zone-commit")
        assert error == "", error
        served[serial] = time.monotonic()
        versions.keep_pace(serial, clients)
        time.sleep(max(0, begin + (serial - first) * versions.PERIOD - served[serial]))     # the pace of the versions
    control.close()
    return written, served


@pytest.fixture(autouse=True)
def transactions(monkeypatch):
    monkeypatch.setattr(versions, "publish", publish)


def test_over_sockets(knotd):
    knotd.write("example.zone", versions.zone_text(1))
    knotd.configure(control=knotd.PATIENT, zones=["example"])
    knotd.start()
    versions.run(knotd, ["udp", "udp", "tcp", "tcp"], "127.0.0.1", knotd.port, None)
    knotd.knotc("-b", "zone-flush", "example")
    assert f'"{1 + versions.VERSIONS}"' in (knotd.dir / "example.zone").read_text()


def test_over_xdp(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", versions.zone_text(1))
    daemon.configure(control=daemon.PATIENT, zones=["example"], listen=(), server=f"listen: {pair.server4}@53",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n"
                          "template:\n  - id: default\n    global-module: mod-stats\n    zonefile-sync: -1\n")
    daemon.start()
    seen = versions.run(daemon, ["udp", "udp", "tcp", "tcp"], pair.server4, 53, pair.client)
    stats = daemon.stats()
    for kind in ("udp", "tcp"):
        assert stats[f"mod-stats.request-protocol[{kind}4-xdp]"] >= seen[kind], "answers came another way"


def test_many_sessions(knotd):
    """Eight clients that change the same zone at once, each a name of its own, with begin, set, get, diff, commit and abort as they come. Which client has a
    transaction or shares one doesn't matter: each commit that was OK is served from then on, and nothing else ever is."""
    knotd.write("example.zone", versions.zone_text(1))
    knotd.configure(control=knotd.PATIENT, zones=["example"])
    knotd.start()
    enough, faults, commits = threading.Event(), [], []
    allowed = {"", "too many transactions", "no active transaction", "such record already exists in zone", "no such node in zone found",
               "no such record in zone found", "not exists"}

    def work(number):
        try:
            count = 0
            while not enough.is_set():
                control = Control(knotd.socket)
                for name, unit in (("zone-begin", ()), ("zone-set", (f"w{number}", "60", "TXT", str(count))), ("zone-get", (f"w{number}",)),
                                   ("zone-diff", ()), ("zone-unset", (f"w{number}", None, "TXT", str(count - 2))),
                                   ("zone-commit" if count % 4 else "zone-abort", ()), ("zone-read", (f"w{number}",))):
                    error = control.run(name, unit)
                    if error.split(",")[0] not in allowed:
                        faults.append(f"{name}: {error}")
                        return
                    if name == "zone-commit" and error == "":
                        commits.append(number)
                count += 1
                control.close()
        except Exception as error:  # pylint: disable=broad-except
            faults.append(repr(error))

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    last, begin = 0, time.monotonic()

    def look():
        nonlocal last
        serial = knotd.ask("example", "SOA").answer[0][0].serial
        assert serial >= last
        last = serial
        return faults or (time.monotonic() > begin + 6 and len(commits) > 20)
    try:
        wait_until(look, lambda: f"more than 20 commits, not {len(commits)}", 60, 0)
    finally:
        enough.set()
        for worker in workers:
            worker.join()
    assert not faults, faults[:3]
    knotd.knotc("zone-abort", "example", check=False)
    knotd.knotc("-b", "zone-flush", "example")
    read = {line for line in knotd.knotc("zone-read", "example").stdout.splitlines() if " TXT " in line}
    written = {"[example.] " + re.sub(r" *\t", " ", line) for line in (knotd.dir / "example.zone").read_text().splitlines() if "\tTXT\t" in line}
    assert read == written
