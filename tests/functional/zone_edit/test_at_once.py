# SPDX-License-Identifier: BSD-2-Clause
"""All that changes zones and all that reads them, at the same time: for ThreadSanitizer; and no answer is of two versions."""
import threading
import time

import pytest

from harness.control import Client

pytestmark = [pytest.mark.ours, pytest.mark.core, pytest.mark.threads]

SECONDS = 5
FILE = "$ORIGIN {zone}.\n@ 60 SOA ns admin {serial} 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\nalone 60 TXT \"{serial}\"\n"
ZONES = {"a.test": 0, "b.test": 1, "c.test": -1}       # zonefile-sync
LARGE, HOSTS = "d.test", 2000           # a zone that is compacted, and goes back to versions before


class Storm:
    """Threads that do something again and again until the end."""

    def __init__(self, knotd):
        self.knotd, self.calm, self.ended = knotd, threading.Event(), threading.Event()
        self.faults, self.counts = [], {}

    def again(self, what, *args):
        try:
            with Client(self.knotd.socket) as client:
                while not self.ended.is_set() and not (what == self.churn and self.calm.is_set()):
                    what(client, *args)
                    self.counts[what.__name__] = self.counts.get(what.__name__, 0) + 1
        except Exception as error:      # shown by the test; a thread's own would be lost
            self.faults.append(f"{what.__name__}: {error!r}")

    def ask(self, client, name, zone, **items):
        """The command's errors, without those that others cause: an edited file isn't overwritten, so that a journal that waits for it is full."""
        replies = [reply["error"] for reply in client.command(name, zone=f"{zone}.", **items) if "error" in reply]
        self.faults += [f"{name} {zone}: {error}" for error in replies
                        if not error.startswith(("too many transactions", "no active transaction", "no such", "not exists", "such record",
                                                "file error, journal is full", "value is out of range, no change that led to serial 1 "))]
        return replies

    def put_pair(self, client, zone, number):
        self.ask(client, "zone-unset", zone, owner="pair")
        for word in ("x", "y"):
            self.ask(client, "zone-set", zone, owner="pair", ttl="60", type="TXT", data=f'"{number}" "{word}"')

    def commit(self, client, zone):
        """Two records that always come together; and names that come and go, so that there is something to compact."""
        number = self.counts.get("commit", 0)
        if self.ask(client, "zone-begin", zone):
            return
        self.put_pair(client, zone, number)
        self.ask(client, "zone-unset" if number % 2 else "zone-set", zone, owner=f"n{number // 2 % 200}",
                 **({} if number % 2 else {"ttl": "60", "type": "TXT", "data": '"n"'}))
        self.ask(client, "zone-commit", zone)

    def churn(self, client, zone):
        """Many names that come back as they were: memory that has to be moved."""
        number = self.counts.get("churn", 0)
        if self.ask(client, "zone-begin", zone):
            return
        self.put_pair(client, zone, number)
        for host in (each % HOSTS for each in range(number * 20, number * 20 + 20)):
            self.ask(client, "zone-unset", zone, owner=f"h{host}")
            self.ask(client, "zone-set", zone, owner=f"h{host}", ttl="60", type="TXT", data=f'"{host}"')
        self.ask(client, "zone-commit", zone)

    def revert(self, client, zone):
        self.ask(client, "zone-history", zone)
        self.ask(client, "zone-revert", zone)
        time.sleep(0.02)        # the pace of the load

    def edit_and_reload(self, client, zone):
        self.serial = getattr(self, "serial", 100000) + 100000
        self.knotd.write(f"{zone}.new", FILE.format(zone=zone, serial=self.serial)).replace(self.knotd.dir / f"{zone}.zone")
        self.ask(client, "zone-reload", zone, flags="B")
        time.sleep(0.05)        # the pace of the load

    def flush(self, client, zone):
        self.ask(client, "zone-flush", zone, flags="F")
        self.ask(client, "zone-image", zone)
        time.sleep(0.02)        # the pace of the load

    def save(self, client, zone):
        self.ask(client, "zone-image", zone)
        time.sleep(0.05)        # the pace of the load

    def freeze_and_list(self, client, zone):
        for name in ("zone-freeze", "zone-status", "zone-read", "zone-diff", "zone-thaw"):
            self.ask(client, name, zone)
        time.sleep(0.01)        # the pace of the load

    def reload_all(self, client):
        client.command("reload")
        time.sleep(0.1)         # the pace of the load

    def query(self, _client, zone):
        answer = self.knotd.ask(f"pair.{zone}", "TXT").answer
        found = sorted(record.strings for rrset in answer for record in rrset)
        if found and (len(found) != 2 or found[0][0] != found[1][0] or [words[1] for words in found] != [b"x", b"y"]):
            self.faults.append(f"an answer of two versions: {found}")


def test_everything_at_once(knotd):
    """Commits by two sessions per zone, edited files, reloads, flushes, images, freezing, listings, compaction, reverts and queries."""
    for zone in ZONES:
        knotd.write(f"{zone}.zone", FILE.format(zone=zone, serial=1))
    knotd.write(f"{LARGE}.zone", FILE.format(zone=LARGE, serial=1) + "".join(f'h{host} 60 TXT "{host}"\n' for host in range(HOSTS)))
    knotd.configure(control="timeout: 3600", text="zone:\n" + "".join(
        f"  - domain: {zone}\n    storage: {knotd.dir}\n    zonefile-sync: {sync}\n" for zone, sync in {**ZONES, LARGE: -1}.items()))
    knotd.start()
    storm = Storm(knotd)
    jobs = [(storm.reload_all,), *((what, zone) for zone in ZONES for what in (
        storm.commit, storm.commit, storm.edit_and_reload, storm.flush, storm.freeze_and_list, storm.query)),
            *((what, LARGE) for what in (storm.churn, storm.churn, storm.revert, storm.save, storm.query))]
    threads = [threading.Thread(target=storm.again, args=job) for job in jobs]
    for thread in threads:
        thread.start()
    time.sleep(SECONDS)     # the load
    knotd.wait(lambda: len(storm.counts) == 9 and min(storm.counts.values()) > 3 or storm.faults, 20, "each kind of work")
    # However slow the machine is, the changes go on until they have left something to compact.
    knotd.wait(lambda: f"[{LARGE}.] memory compacted (OK)" in knotd.log() or storm.faults, 40, "a pass of compaction")
    # A zone isn't reverted while a transaction of it is open, and one is for all the time that two sessions change it.
    storm.calm.set()
    knotd.wait(lambda: f"[{LARGE}.] control, zone reverted" in knotd.log() or storm.faults, 20, "a revert")
    storm.ended.set()
    for thread in threads:
        thread.join()
    print(storm.counts)
    assert storm.faults == []
    dump = knotd.knotc("zone-read", LARGE).stdout.splitlines()
    assert sorted(line.split(" ", 1)[1] for line in dump if "] h" in line) == sorted(f'h{host}.{LARGE}. 60 TXT "{host}"' for host in range(HOSTS))
    for zone in (*ZONES, LARGE):
        assert len(knotd.ask(zone, "SOA").answer) == 1
