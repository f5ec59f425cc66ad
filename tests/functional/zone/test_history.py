# SPDX-License-Identifier: BSD-2-Clause
"""zone-history and zone-revert: what was published, and the way back, also after a crash, and where there is none."""
import json
import re
import signal

import pytest

pytestmark = [pytest.mark.core, pytest.mark.ours]

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin 10 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\nwww 300 A 192.0.2.80\nwww 300 A 192.0.2.81\n"


def start(daemon, *items, zones=("example",)):
    for zone in zones:
        daemon.write(f"{zone}.zone", ZONE.replace("example.", f"{zone}."))
    template = "template:\n  - id: default\n" + "".join(f"    {item}\n" for item in ("zonefile-sync: -1", *items))
    daemon.configure(zones=list(zones), text=template)
    (daemon.dir / "db").mkdir(exist_ok=True)
    return daemon.start()


def serial(daemon):
    match = re.search(r"serial: (\d+)", daemon.knotc("zone-status", "example", "+serial").stdout)
    return int(match.group(1)) if match else None


def records(daemon):
    """All but the SOA."""
    return sorted(line for line in daemon.knotc("zone-read", "example").stdout.splitlines() if " SOA " not in line)


def edit(daemon, *changes, options=()):
    daemon.knotc("zone-begin", "example")
    for command, *words in (change.split() for change in changes):
        daemon.knotc(f"zone-{command}", "example", *words)
    daemon.knotc(*options, "zone-commit", "example")


def history(daemon):
    """Serial, source, removed, added of each version."""
    lines = daemon.knotc("zone-history", "example").stdout.splitlines()
    rows = [dict(part.split(": ", 1) for part in line.removeprefix("[example.] ").split(" | ")) for line in lines if line.startswith("[")]
    return [(int(row["serial"]), row["source"], int(row["removed"]), int(row["added"])) for row in rows]


def revert(daemon, *words, options=()):
    done = daemon.knotc(*options, "zone-revert", "example", *words, check=False)
    return done.returncode, done.stdout.strip()


def test_revert(knotd):
    """The records, their TTLs and the other fields of the SOA are those of the version before; the serial goes on."""
    start(knotd)
    before = records(knotd)
    edit(knotd, "set new 60 A 192.0.2.5", "set www 900 A 192.0.2.82", "unset ns1", "set @ 60 SOA ns1 other 10 3600 600 86400 60")
    after = records(knotd)
    assert serial(knotd) == 11 and after != before
    assert revert(knotd) == (0, "OK")
    assert serial(knotd) == 12 and records(knotd) == before
    assert "admin.example. 12 3600 600 86400 60" in knotd.knotc("zone-read", "example", "@", "SOA").stdout
    # Twice: what was undone is there again.
    assert revert(knotd) == (0, "OK")
    assert serial(knotd) == 13 and records(knotd) == after
    assert "other.example. 13 " in knotd.knotc("zone-read", "example", "@", "SOA").stdout
    assert [row[:2] for row in history(knotd)] == [(11, "control"), (12, "revert"), (13, "revert")]
    knotd.wait_log(r"\[example\.\] control, received command 'zone-revert', by uid \d+")
    knotd.wait_log(r"info: \[example\.\] control, zone reverted, serial 11 -> 12, records: \d+ removed, \d+ added")


def test_revert_to_a_serial(knotd):
    start(knotd)
    states = {10: records(knotd)}
    for number in range(4):
        edit(knotd, f"set host{number} 60 A 192.0.2.{number}")
        states[11 + number] = records(knotd)
    for target, result in ((12, 15), (10, 16), (14, 17)):
        assert revert(knotd, str(target)) == (0, "OK")
        assert serial(knotd) == result and records(knotd) == states[target]
    # What isn't there, or is no serial.
    for words, error in ((("9",), "value is out of range, the history leads back to serial 10"), (("17",), "value is out of range, serial 17 is the present one")):
        status, output = revert(knotd, *words)
        assert status == 1 and f"({error})" in output, (words, output)
    for words in ("x", "-1", "4294967296", "+1", "12 13"):
        assert revert(knotd, *words.split())[0] == 1, words
    assert knotd.knotc("zone-revert", "nowhere", check=False).returncode == 1
    assert serial(knotd) == 17


def test_without_a_way_back(knotd):
    """Nothing was stored, or something else was loaded since: a clear error, and nothing changes."""
    start(knotd, "journal-content: none")
    edit(knotd, "set new 60 A 192.0.2.5")
    status, output = revert(knotd)
    assert status == 1 and "value is out of range, no change that led to serial 11 is stored" in output
    assert serial(knotd) == 11
    assert knotd.knotc("zone-history", "example").stdout == ""


def test_whole_load_between(knotd):
    start(knotd)
    edit(knotd, "set new 60 A 192.0.2.5")
    knotd.write("example.zone", ZONE.replace(" 10 ", " 20 "))
    knotd.knotc("-b", "-f", "zone-reload", "example")
    assert serial(knotd) == 20
    status, output = revert(knotd)
    assert status == 1 and "no change that led to serial 20 is stored" in output
    assert (20, "file", 0, 0) in history(knotd)


def test_open_transaction(knotd):
    start(knotd)
    edit(knotd, "set new 60 A 192.0.2.5")
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "more", "60", "A", "192.0.2.6")
    status, output = revert(knotd)
    assert status == 1 and "too many transactions" in output
    knotd.knotc("zone-commit", "example")
    assert revert(knotd) == (0, "OK")
    assert serial(knotd) == 13


def test_rails_hold_for_a_revert(knotd):
    start(knotd, "publish-max-shrink: 10")
    edit(knotd, *(f"set host{number} 60 A 192.0.2.{number}" for number in range(5)))
    status, output = revert(knotd)
    assert status == 1 and "guard rail, publish-max-shrink 10 %, records 10 -> 5, -50.0 %" in output
    assert serial(knotd) == 11
    assert revert(knotd, options=["-f"]) == (0, "OK")
    assert serial(knotd) == 12


def test_after_a_crash(knotd):
    """History and way back outlive kill -9 and a stop."""
    start(knotd)
    states = {10: records(knotd)}
    for number in range(3):
        edit(knotd, f"set host{number} 60 A 192.0.2.{number}")
        states[11 + number] = records(knotd)
    known = history(knotd)
    knotd.stop(signal.SIGKILL)
    knotd.start()
    assert serial(knotd) == 13 and history(knotd) == known == [(11, "control", 1, 2), (12, "control", 1, 2), (13, "control", 1, 2)]
    assert revert(knotd, "11") == (0, "OK")
    knotd.stop()
    knotd.start()
    assert serial(knotd) == 14 and records(knotd) == states[11]
    assert revert(knotd, "10") == (0, "OK")
    assert records(knotd) == states[10]


def test_history_formats(knotd):
    """Who, when and how large; JSON, UNIX times, several zones, zones without a history."""
    start(knotd, zones=("example", "other"))
    edit(knotd, "set new 60 A 192.0.2.5")
    line = knotd.knotc("zone-history", "example").stdout.strip()
    assert re.fullmatch(r"\[example\.\] serial: 11 \| time: [-+]\d+s \| source: control \| by: uid \d+ \| removed: 1 \| added: 2 \| size: \d+", line), line
    assert knotd.knotc("zone-history", "other").stdout == ""
    assert [line.split(" | ")[0] for line in knotd.knotc("zone-history").stdout.splitlines()] == ["[example.] serial: 11"]
    edit(knotd, "unset new")
    parsed = json.loads(knotd.knotc("-j", "zone-history", "example").stdout)
    assert [row["serial"] for row in parsed["result"]] == [11, 12], parsed
    assert knotd.knotc("zone-history", "nowhere", check=False).returncode == 1
