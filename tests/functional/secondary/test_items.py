# SPDX-License-Identifier: BSD-2-Clause
"""Items about transfers in, each with a zone of one daemon whose primary is a script: what is asked, and from where, is written down there."""
import collections
import itertools
import os
import pathlib
import re
import socket
import struct
import tempfile
import threading
import time
import types

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest

from harness.net import free_port
from harness.server import Knotd
from harness.waiting import wait_until
from test_notify import Notified

pytestmark = [pytest.mark.ours, pytest.mark.core]

EXPIRE = 9      # EDNS option
Asked = collections.namedtuple("Asked", "zone type source connection edns expire")


def soa(zone, serial, timers):
    return dns.rrset.from_text(zone, 60, "IN", "SOA", f"ns.{zone} admin.{zone} {serial} {timers} 60")


def address(zone, number):
    return dns.rrset.from_text(f"a{number}.{zone}", 60, "IN", "A", f"192.0.2.{number}")


class Script:
    """A primary over TCP and a UNIX socket. zones: what it has; a zone of serial n has the addresses a1 to an."""

    def __init__(self):
        self.zones = collections.defaultdict(lambda: types.SimpleNamespace(serial=1, timers="3600 600 86400", rcode=0, expire=None, ixfr="good"))
        self.asked, self.closed, self.numbers = [], set(), itertools.count()

    def listen(self, family, where):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.bind(where)
        listener.listen(64)
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
        return listener.getsockname()

    def accept(self, listener):
        while True:
            client, peer = listener.accept()
            threading.Thread(target=self.serve, args=(client, peer, next(self.numbers)), daemon=True).start()

    def serve(self, client, peer, number):
        with client, client.makefile("rwb") as stream:
            try:
                while len(size := stream.read(2)) == 2:
                    query = dns.message.from_wire(stream.read(struct.unpack("!H", size)[0]))
                    for wire in self.answer(query, peer, number):
                        stream.write(struct.pack("!H", len(wire)) + wire)
                        stream.flush()
            except OSError:
                pass
            self.closed.add(number)

    def answer(self, query, peer, number):
        question = query.question[0]
        name, zone = question.name.to_text(), self.zones[question.name.to_text().split(".")[0]]
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked.append(Asked(name, kind, peer[0] if peer else "", number, query.edns, any(o.otype == EXPIRE for o in query.options)))
        if zone.rcode == "silent":
            time.sleep(30)      # longer than any time limit of the daemon
            return []
        reply = dns.message.make_response(query)
        reply.flags |= dns.flags.AA
        reply.set_rcode(zone.rcode)
        reply.answer = self.records(name, kind, zone) if zone.rcode == 0 else []
        if zone.expire is not None and query.edns >= 0:
            reply.use_edns(0, options=[dns.edns.GenericOption(EXPIRE, struct.pack("!I", zone.expire))])
        if kind == "IXFR" and zone.ixfr == "drips":
            return self.drip(reply, name, zone)
        return [reply.to_wire(max_size=65535)]

    @staticmethod
    def drip(reply, name, zone):
        """An IXFR that doesn't end before the test changes the zone; then the connection is closed."""
        for number in itertools.count():
            if zone.ixfr != "drips":
                raise OSError
            yield reply.to_wire(max_size=65535)
            reply.answer = [address(name, number % 200 + 10)]
            time.sleep(0.1)     # a slow primary

    @staticmethod
    def records(name, kind, zone):
        first = soa(name, zone.serial, zone.timers)
        whole = [first, dns.rrset.from_text(name, 60, "IN", "NS", f"ns.{name}"), *(address(name, n) for n in range(1, zone.serial + 1)), first]
        if kind == "SOA":
            return [first]
        if kind == "AXFR" or zone.ixfr == "whole":
            return whole
        if zone.ixfr == "misfit":
            return [first, soa(name, zone.serial - 1, zone.timers), address(name, 77), first, address(name, zone.serial), first]
        if zone.ixfr == "drips":
            return [first, soa(name, zone.serial - 1, zone.timers), first, address(name, zone.serial)]
        steps = [[soa(name, n - 1, zone.timers), soa(name, n, zone.timers), address(name, n)] for n in range(2, zone.serial + 1)]
        return [first, *itertools.chain(*steps), first]

    def of(self, zone):
        return [asked for asked in self.asked if asked.zone == f"{zone}."]


# zone: items of it
ZONES = {
    "plain": "", "via": "master: via", "six": "master: six", "unix": "master: unix", "noedns": "master: noedns", "option": "",
    "emax": "expire-max-interval: 100", "emin": "expire-min-interval: 90000", "fmax": "refresh-max-interval: 600", "fmin": "refresh-min-interval: 36000",
    "tmax": "retry-max-interval: 60", "tmin": "retry-min-interval: 7200", "size": "zone-max-size: 100", "byone": "ixfr-by-one: on", "together": "",
    "benevolent": "ixfr-benevolent: on", "strict": "", "difference": "ixfr-from-axfr: on\n    acl: all", "replaced": "acl: all",
    "blocked": "master: blocks\n    notify: told", "told": "notify: told", "group": "master: group", "silent": "", "full": "master: full", "refused": "",
    "pinned": "master: [plain, second]\n    master-pin-tolerance: 1h", "slow": "",
}


@pytest.fixture(scope="module")
def world():
    with tempfile.TemporaryDirectory(prefix="bowline-") as directory:
        top = pathlib.Path(directory)
        top.chmod(0o755)
        script, second, told, daemon = Script(), Script(), Notified(), Knotd(top / "s")
        full = socket.socket()      # a server that takes no more connections
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        crowd = [socket.socket() for _ in range(4)]
        for one in crowd:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        port = script.listen(socket.AF_INET, ("127.0.0.1", 0))[1]
        six = script.listen(socket.AF_INET6, ("::1", 0))[1]
        script.listen(socket.AF_UNIX, str(top / "p.sock"))
        os.chmod(top / "p.sock", 0o777)
        second_port = second.listen(socket.AF_INET, ("127.0.0.1", 0))[1]
        script.zones["option"].expire = 500
        script.zones["fmin"].timers = script.zones["fmax"].timers = script.zones["tmax"].timers = "7200 3600 86400"
        script.zones["silent"].rcode, script.zones["refused"].rcode = "silent", 5
        script.zones["slow"].timers = "3600 600 3"
        at = f"127.0.0.1@{port}"
        remotes = {"plain": at, "via": f"{at}\n    via: 127.0.0.9", "six": f"::1@{six}", "unix": top / "p.sock", "noedns": f"{at}\n    no-edns: on",
                   "blocks": f"{at}\n    block-notify-after-transfer: on", "told": f"127.0.0.1@{told.port}", "second": f"127.0.0.1@{second_port}",
                   "dead": f"127.0.0.1@{free_port()}", "full": f"127.0.0.1@{full.getsockname()[1]}"}
        text = "remote:\n" + "".join(f"  - id: {name}\n    address: {value}\n" for name, value in remotes.items())
        text += "remotes:\n  - id: group\n    remote: [dead, plain]\nacl:\n  - id: all\n    address: 127.0.0.1\n    action: transfer\nzone:\n"
        for name, items in ZONES.items():
            master = "" if "master: " in items else "    master: plain\n"
            text += f"  - domain: {name}\n    storage: {daemon.dir}\n    zonefile-load: none\n    journal-content: all\n{master}    {items}\n"
        daemon.configure(text, server="tcp-remote-io-timeout: 700\nremote-retry-delay: 600000\nremote-pool-limit: 3\nremote-pool-timeout: 2\n")
        daemon.start()
        wait_until(lambda: all(status(daemon, name).get("serial") == "1" for name in ZONES if name not in ("silent", "full", "refused", "size")),
                   lambda: f"all zones\n{daemon.log()[-5000:]}", 30)
        yield types.SimpleNamespace(daemon=daemon, script=script, second=second, told=told)
        daemon.finish()
        for one in (full, *crowd):
            one.close()


def status(daemon, zone, *options):
    text = daemon.knotc(*options, "zone-status", zone).stdout
    return dict(re.findall(r"([\w-]+): (\S+)", text.replace("|", " ")))


def refresh(world, zone, serial=None, **changes):
    """A refresh when the primary's zone has changed so; the log since then."""
    vars(world.script.zones[zone]).update(changes, **({"serial": serial} if serial else {}))
    start = len(world.daemon.log())
    world.daemon.knotc("-b", "zone-refresh", zone, check=False)
    return "\n".join(line for line in world.daemon.log()[start:].splitlines() if f"[{zone}.]" in line)


def seconds(text):
    """+1h59m58s"""
    return sum(int(number) * {"h": 3600, "m": 60, "s": 1, "D": 86400}[unit] for number, unit in re.findall(r"(\d+)([Dhms])", text))


def test_where_it_asks(world):
    """via, IPv6, a UNIX socket, a group whose first remote is down."""
    asked = {zone: world.script.of(zone)[0] for zone in ("plain", "via", "six", "unix", "group")}
    assert {zone: one.source for zone, one in asked.items()} == {"plain": "127.0.0.1", "via": "127.0.0.9", "six": "::1", "unix": "", "group": "127.0.0.1"}
    log = world.daemon.log()
    assert re.search(r"\[group\.\] refresh, remote dead, address 127\.0\.0\.1@\d+, failed \(connection reset\)", log)
    assert re.search(r"\[unix\.\] AXFR, incoming, remote /\S+/p\.sock, started", log) and re.search(r"\[six\.\] AXFR, incoming, remote ::1@\d+ TCP", log)


def test_edns(world):
    """The EXPIRE option is asked for, but for no-edns, which also takes a connection for each question."""
    for zone in ("plain", "noedns"):
        assert "serial 1 -> 2" in refresh(world, zone, 2)
    before, after = world.script.of("plain")[-2:], world.script.of("noedns")[-2:]
    assert [one.type for one in before] == [one.type for one in after] == ["SOA", "IXFR"]
    assert all(one.edns == 0 and one.expire for one in before) and before[0].connection == before[1].connection
    assert all(one.edns == -1 and not one.expire for one in after)


def test_expire(world):
    """The option lowers the time of the SOA, and limits hold for both."""
    log = world.daemon.log()
    for zone, expire in (("plain", 86400), ("option", 500), ("emax", 100), ("emin", 90000)):
        assert re.search(rf"\[{zone}\.\] refresh, .*serial none -> 1, expires in {expire} seconds", log), zone
    assert re.search(r"up-to-date, expires in (4[2-9]\d|500) seconds", refresh(world, "option", expire=400)), "no less than what is left"
    assert "up-to-date, expires in 2000 seconds" in refresh(world, "option", expire=2000)
    assert re.search(r"serial 1 -> 2, expires in 300 seconds", refresh(world, "option", 2, expire=300))


def test_refresh_and_retry_limits(world):
    for zone, low, high in (("fmax", 400, 600), ("fmin", 35000, 36000), ("plain", 3000, 3600)):
        assert low <= seconds(status(world.daemon, zone)["refresh"]) <= high, zone
    for zone, low, high in (("tmax", 1, 60), ("tmin", 7000, 7200)):
        assert re.search(r"failed \(no usable master\), next retry at \d{4}", refresh(world, zone, rcode=5))
        assert low <= seconds(status(world.daemon, zone)["refresh"]) <= high, zone


def test_bootstrap_is_tried_again_soon(world):
    """5c² seconds after c failures, and a random part."""
    assert "failed (no usable master)" in refresh(world, "refused")
    assert seconds(status(world.daemon, "refused")["refresh"]) <= 10


def test_why_a_zone_is_stale(world):
    text = world.daemon.knotc("zone-status", "refused", "+error").stdout
    assert re.search(r"error: failed -?\+?[\w]+, no usable master, remote plain, address 127\.0\.0\.1@\d+, failed \(not allowed\)", text), text


def test_size(world):
    world.daemon.wait_log(r"warning: \[size\.\] AXFR, incoming, remote 127\.0\.0\.1@\d+ TCP(/pool)?, zone size exceeded")
    assert status(world.daemon, "size").get("serial", "-") == "-"


def test_changes_one_by_one(world):
    assert "serial 1 -> 3" in refresh(world, "together", 3)
    assert "serial 1 -> 2" in refresh(world, "byone", 3)
    world.daemon.wait_log(r"\[byone\.\] refresh, .*serial 2 -> 3")


def test_changes_that_do_not_fit(world):
    log = refresh(world, "strict", 2, ixfr="misfit")
    assert "fallback to AXFR (no such record in zone found)" in log and "serial 1 -> 2" in log
    log = refresh(world, "benevolent", 2, ixfr="misfit")
    assert "fallback" not in log and "AXFR" not in log and "serial 1 -> 2" in log
    assert world.daemon.ask("a2.benevolent", "A").answer


def test_difference_of_a_whole_zone(world):
    """It is given to other secondaries as IXFR."""
    for zone, is_difference in (("difference", True), ("replaced", False)):
        assert "receiving AXFR-style IXFR" in refresh(world, zone, 3, ixfr="whole")
        query = dns.message.make_query(zone, "IXFR")
        query.authority = [soa(f"{zone}.", 1, "3600 600 86400")]
        answer = dns.query.tcp(query, "127.0.0.1", port=world.daemon.port, timeout=20, one_rr_per_rrset=True).answer
        assert (answer[1].rdtype == dns.rdatatype.SOA) == is_difference, answer


def test_notify_after_a_transfer(world):
    wait_until(lambda: any(query.question[0].name.to_text() == "told." for query in world.told.got), "the NOTIFY of the other zone", 20)
    for zone in ("blocked", "told"):
        assert "serial 1 -> 2" in refresh(world, zone, 2)
    wait_until(lambda: sum(query.question[0].name.to_text() == "told." for query in world.told.got) >= 2, "its second one", 20)
    assert not any(query.question[0].name.to_text() == "blocked." for query in world.told.got)


def test_time_limits(world):
    """tcp-remote-io-timeout for an answer and for a connection; after that remote-retry-delay."""
    begun = time.monotonic()
    assert re.search(r"refresh, remote plain, address \S+, failed \(connection timeout\)", refresh(world, "silent"))
    assert 0.6 < time.monotonic() - begun < 4.5, "the default is 5 seconds"
    world.daemon.wait_log(r"\[full\.\] refresh, remote full, address \S+, failed \(connection timeout\)")
    assert "failed (remote known to be unreachable)" in refresh(world, "full")


def test_pool(world):
    """Two questions in a row share a connection that was kept, as remote-pool-limit says, and is closed after remote-pool-timeout."""
    refresh(world, "plain")
    wait_until(lambda: "TCP/pool, remote serial" in refresh(world, "plain"), "a connection out of the pool", 20)
    first, last = world.script.of("plain")[-2:]
    assert first.connection == last.connection
    wait_until(lambda: last.connection in world.script.closed, "the end of remote-pool-timeout", 20)


def test_expires_while_it_is_refreshed(world):
    """The primary sends an IXFR without end; the zone doesn't outlive its time by that, and comes back whole."""
    start = len(world.daemon.log())
    zone = world.script.zones["slow"]
    zone.ixfr = "drips"

    def drips():        # it expires every three seconds, and may just be fetched whole
        if "[slow.] IXFR, incoming" not in world.daemon.log()[start:]:
            zone.serial += 1
            world.daemon.knotc("zone-refresh", "slow")
        return re.search(r"(?s)\[slow\.\] IXFR, incoming, [^\n]* started.*\[slow\.\] zone expired", world.daemon.log()[start:])
    world.daemon.wait(drips, 20)
    assert not world.daemon.ask("slow", "SOA").answer
    zone.timers, zone.ixfr = "3600 600 86400", "good"
    wait_until(lambda: status(world.daemon, "slow").get("serial") == str(zone.serial), lambda: f"the zone\n{world.daemon.log()[-3000:]}", 30)


def test_pin_outlives_a_restart(world):
    """master-pin-tolerance: another primary is newer, and the one of the last transfer has an hour."""
    world.second.zones["pinned"].serial = 5
    assert "remote serial 5, zone is outdated, waiting for pinned master" in refresh(world, "pinned")
    world.daemon.stop()
    world.daemon.start()
    wait_until(lambda: status(world.daemon, "pinned").get("serial") == "1", "the zone", 20)
    log = refresh(world, "pinned")
    assert "waiting for pinned master" in log and "zone updated" not in log, log
