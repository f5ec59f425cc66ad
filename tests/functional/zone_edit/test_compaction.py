# SPDX-License-Identifier: BSD-2-Clause
"""Memory that commits leave behind is given back while the zone is served, whatever its size and however it changes."""
import re
import signal
import time

import pytest

from edited import addresses, edit, records, serial, start
from harness.control import Client

pytestmark = [pytest.mark.ours, pytest.mark.core]

HEAD = "$ORIGIN example.\n@ 3600 SOA ns admin 5 3600 600 86400 60\n@ 3600 NS ns\nns 3600 A 192.0.2.1\n"
COMPACTED, BUILT = r"debug: \[example\.\] memory compacted \(OK\)", r"debug: \[example\.\] built from scratch in the background"
NOT_BUILT = r"debug: \[example\.\] not built from scratch in the background \(it would save little\)"
SAME = "TXT that commits store for each name, and a build from scratch once for all of them"


def start_with(knotd, hosts, items=""):
    knotd.write("example.zone", HEAD + "".join(f"h{number} 60 A 192.0.2.{number % 250}\n" for number in range(hosts)))
    start(knotd, items=f"zonefile-sync: -1\n{items}")


def commit(client, *changes):
    """One transaction; a change is (command, owner, items)."""
    replies = client.command("zone-begin", zone="example.")
    for command, owner, items in changes:
        replies += client.command(command, zone="example.", owner=owner, **items)
    replies += client.command("zone-commit", zone="example.")
    assert not [reply for reply in replies if "error" in reply], replies


def put(owner, number):
    return ("zone-set", owner, {"ttl": "60", "type": "A", "data": f"192.0.2.{number % 250}"})


def all_records(knotd):
    return sorted(line for line in records(knotd) if " SOA " not in line)


def test_passes(knotd):
    """A zone that doesn't change its size: passes move what is in use, and each answer is right meanwhile."""
    start_with(knotd, 3000)
    before = all_records(knotd)
    with Client(knotd.socket) as client:
        for number in range(1500):
            commit(client, ("zone-unset", f"h{number}", {}), put("there", number))
            commit(client, put(f"h{number}", number), ("zone-unset", "there", {}))
            if number % 50 == 0:
                assert addresses(knotd, f"h{number}") == [f"192.0.2.{number % 250}"]
                assert addresses(knotd, "there") == []
                assert addresses(knotd, f"h{2999 - number}") == [f"192.0.2.{(2999 - number) % 250}"]
    knotd.wait_log(COMPACTED)
    assert all_records(knotd) == before
    assert serial(knotd) == 3005
    knotd.stop(signal.SIGKILL)
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 3005, 10, "the zone")
    assert all_records(knotd) == before


def put_same(owner):
    return ("zone-set", owner, {"ttl": "60", "type": "TXT", "data": f'"{SAME}"'})


def test_growth_by_what_is_the_same(knotd):
    """A zone of which much could be stored once is built from scratch beside its commits; an open transaction goes on."""
    start_with(knotd, 2000)
    with Client(knotd.socket) as client:
        for number in range(900):
            commit(client, put_same(f"t{number}"))
        client.command("zone-begin", zone="example.")
        client.command("zone-set", zone="example.", owner="t900", ttl="60", type="TXT", data=f'"{SAME}"')
        knotd.wait_log(BUILT)
        assert not [reply for reply in client.command("zone-commit", zone="example.") if "error" in reply]
        for number in range(901, 1000):
            commit(client, put_same(f"t{number}"))
    expected = sorted(f't{number}.example. 60 TXT "{SAME}"' for number in range(1000))
    assert [line for line in all_records(knotd) if line.startswith("t")] == expected
    assert serial(knotd) == 5 + 1000
    knotd.stop(signal.SIGKILL)
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 5 + 1000, 10, "the zone")
    assert [line for line in all_records(knotd) if line.startswith("t")] == expected


def test_growth_by_what_differs(knotd):
    """A build from scratch would take as much memory again and save none of it."""
    start_with(knotd, 2000)
    with Client(knotd.socket) as client:
        for number in range(2000, 2900):
            commit(client, put(f"h{number}", number))
        knotd.wait_log(NOT_BUILT)
        weighed = len(re.findall(NOT_BUILT, knotd.log()))
        assert weighed < 6
        for number in range(2900, 3000):
            commit(client, put(f"h{number}", number))
    assert not re.search(BUILT, knotd.log())
    assert len(re.findall(NOT_BUILT, knotd.log())) <= weighed + 1
    expected = sorted(f"h{number}.example. 60 A 192.0.2.{number % 250}" for number in range(3000))
    assert [line for line in all_records(knotd) if line.startswith("h")] == expected


def test_growth_by_fast_commits(knotd):
    """Commits that wait for no disk may leave the thread that builds behind. It catches up, or comes to its end soon after them."""
    start_with(knotd, 2000, "journal-content: none")
    count = 0
    with Client(knotd.socket) as client:
        for times, more in enumerate((900, 1300, 1800, 2600), 1):
            text = f"{times} {SAME}, {SAME}"    # a text is shared from when it was built with, so each time another one
            for number in range(count, count + more):
                commit(client, ("zone-set", f"t{number}", {"ttl": "60", "type": "TXT", "data": f'"{text}"'}))
            count += more
            knotd.wait_log(BUILT, timeout=15, count=times)
    assert len([line for line in all_records(knotd) if line.startswith("t")]) == count


def test_small_zone(knotd):
    """A small zone is built from scratch now and then, and when it is left alone."""
    start_with(knotd, 20)
    with Client(knotd.socket) as client:
        for number in range(200):
            commit(client, put(f"n{number % 10}", number), *([("zone-unset", f"n{(number + 5) % 10}", {})] if number >= 5 else []))
    edit(knotd, "last 60 A 192.0.2.9")
    knotd.wait_log(BUILT)
    assert addresses(knotd, "last") == ["192.0.2.9"]
    assert addresses(knotd, "h7") == ["192.0.2.7"]


def test_purge_amid_a_pass(knotd):
    """A pass isn't for the version that is read from the image again: its chunks have the same numbers, and are in use."""
    hosts = 30000
    start_with(knotd, hosts)
    asked = range(0, hosts, 100)
    with Client(knotd.socket) as client:
        for delay in (0.01, 0.02, 0.03, 0.05, 0.08):
            commit(client, *(("zone-unset", f"h{number}", {}) for number in range(0, hosts, 4)))
            commit(client, *(put(f"h{number}", number) for number in range(0, hosts, 4)))
            time.sleep(delay)  # the pass has come to another place each time
            client.command("zone-purge", zone="example.", flags="F", filters="e")
            assert not [reply for reply in client.command("zone-reload", zone="example.", flags="B") if "error" in reply]
            edit(knotd, "more 60 A 192.0.2.1")
            edit(knotd, "- more")
            assert [addresses(knotd, f"h{number}") for number in asked] == [[f"192.0.2.{number % 250}"] for number in asked]
    assert len([line for line in all_records(knotd) if line.startswith("h")]) == hosts
