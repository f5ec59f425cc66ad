# SPDX-License-Identifier: BSD-2-Clause
"""IXFR beside the distribution's knotd: the same updates of the same zones, then each question that a secondary may have about them.

Both answer in the same way: with the difference, the whole zone, or the SOA alone. A difference is the same step by step, or we have made one of
several steps; applied, it gives the same zone.
"""
import collections
import os
import pathlib
import random
import socket
import struct
import tempfile

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.update
import pytest

from harness.server import Knotd
from harness.waiting import PATIENCE, wait_until

PEER = "/usr/sbin/knotd"
SEED = int(os.environ.get("SEED", "1"))
VERSIONS = 8
# Items of each zone, and its first serial.
ZONES = {
    "plain.test.": ("zonefile-sync: -1", 1),
    "whole.test.": ("zonefile-sync: -1\n    journal-content: all\n    zonefile-load: difference", 7),
    "wrap.test.": ("zonefile-sync: -1", 2 ** 32 - 4),
    "off.test.": ("zonefile-sync: -1\n    provide-ixfr: off", 1),
    "none.test.": ("zonefile-sync: -1\n    journal-content: none", 1),
    "deep.test.": ("zonefile-sync: 0\n    journal-max-depth: 4", 1),
    "big.test.": ("zonefile-sync: -1", 1),
}
BIG = "big.test."   # its last changes take more than a message, of TCP, too


def zone_text(name, serial):
    lines = [f"$ORIGIN {name}", f"@ 60 SOA ns admin {serial} 3600 600 86400 60", "@ 60 NS ns", "ns 60 A 192.0.2.1", "c 60 CNAME ns", "mx 60 MX 10 ns"]
    return "\n".join(lines + [f"h{number} 60 A 192.0.2.{number}" for number in range(1, 20)]) + "\n"


def updates(name):
    """The messages that make the versions."""
    source, made = random.Random(f"{SEED} {name}"), []
    for number in range(VERSIONS - 1):
        message = dns.update.UpdateMessage(name, id=number + 1)
        message.add("count", 60, "TXT", str(number))
        for _ in range(source.randrange(4)):
            owner = f"h{source.randrange(24)}"
            how = source.choice(("add", "add", "replace", "delete"))
            if how == "delete":
                message.delete(owner)
            elif how == "add":
                message.add(owner, 60, "A", f"192.0.2.{source.randrange(30)}")
            else:
                message.replace(owner, source.choice((60, 120)), "A", f"192.0.2.{source.randrange(30)}")
        if number % 3 == 2:
            message.delete("count", "TXT", str(number - 1))
        if name == BIG and number >= VERSIONS - 3:
            for host in range(150):
                message.add(f"big{number}-{host}", 60, "TXT", f"{number} {host} " + "x" * 150)
        made.append(message)
    return made


def start(directory, program):
    daemon = Knotd(directory, program=program)
    (daemon.dir / "db").mkdir()
    text = "acl:\n  - id: all\n    address: 127.0.0.1\n    action: [ transfer, update ]\nzone:\n"
    for name, (items, serial) in ZONES.items():
        daemon.write(f"{name}zone", zone_text(name, serial))
        text += f"  - domain: {name}\n    storage: {daemon.dir}\n    file: {name}zone\n    acl: all\n    {items}\n"
    daemon.configure(text)
    return daemon.start()


def serial_of(daemon, name):
    answer = daemon.ask(name, "SOA").answer
    return answer[0][0].serial if answer else None


# ---- questions ----

def question(name, serial, owner=None, more=False):
    message = dns.message.make_query(name, "IXFR", id=1)
    message.flags = 0
    if more:
        message.authority.append(dns.rrset.from_text(name, 0, "IN", "NS", "ns."))
    if serial is not None:
        message.authority.append(dns.rrset.from_text(owner or name, 0, "IN", "SOA", f". . {serial} 0 0 0 0"))
    return message.to_wire()


def exchange(daemon, wire, is_tcp):
    """The answer's records in their order, in one list, and the code and flags of its first message."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if is_tcp else socket.SOCK_DGRAM) as sock:
        sock.settimeout(20 * PATIENCE)
        sock.connect(("127.0.0.1", daemon.port))
        if not is_tcp:
            sock.send(wire)
            message = dns.message.from_wire(sock.recv(65535), one_rr_per_rrset=True)
            return records(message), dns.rcode.to_text(message.rcode()), bool(message.flags & dns.flags.TC)
        sock.sendall(struct.pack(">H", len(wire)) + wire)
        found, first = [], None
        with sock.makefile("rb") as stream:
            while not is_over(found):
                length, = struct.unpack(">H", stream.read(2))
                message = dns.message.from_wire(stream.read(length), one_rr_per_rrset=True)
                found += records(message)
                first = first or message
                if message.rcode() != 0 or not message.answer:
                    break
    return found, dns.rcode.to_text(first.rcode()), bool(first.flags & dns.flags.TC)


def records(message):
    return [(rrset.name.to_text().lower(), rrset.rdtype, rrset.ttl, rrset[0].to_text().lower()) for rrset in message.answer]


def serial(record):
    return int(record[3].split()[2]) if record[1] == dns.rdatatype.SOA else None


def is_over(found):
    """A transfer ends with the SOA that it began with: of a difference the third time that its serial comes, as the last step has it, too."""
    if len(found) == 1:
        # One SOA: nothing follows if nothing is newer, which the caller finds by the message's end. Our messages and knotd's hold more.
        return True
    if not found:
        return False
    is_difference = serial(found[1]) is not None and serial(found[1]) != serial(found[0])
    count = sum(serial(record) == serial(found[0]) for record in found)
    return found[-1] == found[0] and count == (3 if is_difference else 2)


Answer = collections.namedtuple("Answer", "kind rcode is_cut steps contents")


def answer(daemon, wire, is_tcp, versions):
    """kind: what it is; steps: {(from, to): (removed, added)}; contents: the zone that it leads to."""
    found, rcode, is_cut = exchange(daemon, wire, is_tcp)
    if not found:
        return Answer("nothing", rcode, is_cut, None, None)
    if len(found) == 1:
        return Answer(f"SOA {serial(found[0])}", rcode, is_cut, None, None)
    if serial(found[1]) is None:
        assert len(set(found)) == len(found) - 1, "a record comes twice"
        return Answer("whole", rcode, is_cut, None, frozenset(found))
    steps, contents, at = {}, set(versions[serial(found[1])]), 1
    while at < len(found) - 1:
        ends = [number for number in range(at + 1, len(found)) if serial(found[number]) is not None]
        removed, added = found[at:ends[0]], found[ends[0]:ends[1]]
        assert set(removed) <= contents, f"removed, but not there: {set(removed) - contents}"
        contents -= set(removed)
        assert not set(added) & contents, f"added, but there: {set(added) & contents}"
        contents |= set(added)
        steps[serial(removed[0]), serial(added[0])] = (frozenset(removed), frozenset(added))
        at = ends[1]
    assert found[at] == found[0] and found[0] in contents, "the SOA at the end"
    return Answer("difference", rcode, is_cut, steps, frozenset(contents))


def whole(daemon, name):
    found = set()
    for message in dns.query.xfr("127.0.0.1", name, port=daemon.port, relativize=False, lifetime=20 * PATIENCE):
        found |= {(rrset.name.to_text().lower(), rrset.rdtype, rrset.ttl, rdata.to_text().lower()) for rrset in message.answer for rdata in rrset}
    return frozenset(found)


@pytest.fixture(scope="module")
def servers():
    """Ours and knotd with all versions, and what each version was: {zone: {serial: records}}."""
    if not os.path.exists(PEER):
        pytest.skip("knotd is not installed")
    with tempfile.TemporaryDirectory(prefix="bowline-") as directory:
        top, daemons = pathlib.Path(directory), []
        top.chmod(0o755)
        try:
            daemons += [start(top / "ours", None), start(top / "knot", PEER)]
            for daemon in daemons:
                wait_until(lambda daemon=daemon: all(serial_of(daemon, name) is not None for name in ZONES), "the zones", 20)
            versions = {name: {first: whole(daemons[0], name)} for name, (_, first) in ZONES.items()}
            for name, (_, first) in ZONES.items():
                for number, message in enumerate(updates(name), 1):
                    for daemon in daemons:
                        assert dns.query.tcp(message, "127.0.0.1", 20 * PATIENCE, daemon.port).rcode() == 0
                        assert serial_of(daemon, name) == (first + number) % 2 ** 32, f"{name}: each message changes something"
                    versions[name][(first + number) % 2 ** 32] = whole(daemons[0], name)
                assert whole(daemons[0], name) == whole(daemons[1], name), name
            yield *daemons, versions
        finally:
            for daemon in daemons:
                daemon.finish()


def serials_of(name):
    """All that there were, the last of them, older, newer ones, and one that can't be compared."""
    first = ZONES[name][1]
    last = first + VERSIONS - 1
    numbers = [*range(first - 2, last + 3), last + 2 ** 31 - 1, last + 2 ** 31, last + 2 ** 31 + 1]
    return [number % 2 ** 32 for number in (numbers if name != BIG else numbers[::4])]


@pytest.mark.parametrize("is_tcp", [True, False], ids=["TCP", "UDP"])
@pytest.mark.parametrize("name", ZONES)
def test_as_knot(servers, name, is_tcp):
    ours, knot, versions = servers
    kinds = collections.Counter()
    for number in serials_of(name):
        wire = question(name, number)
        got, want = (answer(daemon, wire, is_tcp, versions[name]) for daemon in (ours, knot))
        assert got[:3] == want[:3], (number, got, want)
        kinds[got.kind.split()[0]] += 1
        if got.contents is not None:
            assert got.contents == want.contents == versions[name][(ZONES[name][1] + VERSIONS - 1) % 2 ** 32], number
        if got.kind == "difference":
            assert got.steps == want.steps or (len(got.steps) == 1 and len(want.steps) > 1), (number, got.steps, want.steps)
            assert sum(len(part) for step in got.steps.values() for part in step) <= sum(len(part) for step in want.steps.values() for part in step)
    both = {"off.test.": {"whole"}, "none.test.": {"SOA", "whole"}}
    wanted = {"SOA"} if not is_tcp else both.get(name, {"SOA", "whole", "difference"})
    assert set(kinds) == wanted, kinds


@pytest.mark.parametrize("is_tcp", [True, False], ids=["TCP", "UDP"])
def test_malformed_as_knot(servers, is_tcp):
    """Without the SOA, with that of another name, or behind another record; of a name that isn't a zone's, or isn't served."""
    ours, knot, versions = servers
    for wire in (question("plain.test.", None), question("plain.test.", 1, owner="ns.plain.test."), question("plain.test.", 1, more=True),
                 question("plain.test.", 1, owner="test."), question("ns.plain.test.", 1), question("elsewhere.", 1), question("PLAIN.test.", 1)):
        got, want = (answer(daemon, wire, is_tcp, versions["plain.test."]) for daemon in (ours, knot))
        assert got[:3] == want[:3], (wire, got, want)
