# SPDX-License-Identifier: BSD-2-Clause
"""Random programs of dynamic updates, commands, edits of files, transfers, NOTIFY, full disks, restarts and kills on a primary and a secondary, against
a model that knows which versions there may be.

- What was acknowledged is never lost, and what was published isn't either.
- Serials only grow (RFC 1982), over restarts and kills, too.
- IXFR from any version that there was, applied to it by dnspython, is the version that is served.
- Once both are left alone, the secondary's zones are the primary's.

hypothesis makes the programs and shrinks one that fails to the steps that it needs; what is printed is that program. The same programs each time;
KNOT_SEED=n makes others, MODEL_EXAMPLES=n another number.
"""
import contextlib
import dataclasses
import os
import pathlib
import resource
import shutil
import socket
import struct
import tempfile
import time

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsigkeyring
import dns.update
import dns.xfr
import dns.zone
import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test  # noqa: E402

from harness.control import Client  # noqa: E402
from harness.server import Knotd  # noqa: E402
from harness.waiting import PATIENCE, wait_until  # noqa: E402

pytestmark = [pytest.mark.ours, pytest.mark.long]

SEED = int(os.environ.get("KNOT_SEED", "1"))
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "20"))
STEPS = 30
SECRET = "c2VjcmV0IG9mIHRoZSBtb2RlbCBvZiBhIHBhaXI="
TTL = 60
ZONES = ("a.test.", "b.test.", "c.test.")
# What the primary and the secondary do with each; only of a zone that is wholly in the journal does a secondary know everything after a kill.
PRIMARY = {"a.test.": "zonefile-load: difference\n    zonefile-sync: -1", "b.test.": "zonefile-load: difference\n    zonefile-sync: -1\n    journal-content: all",
           "c.test.": "zonefile-sync: 0\n    journal-max-depth: 3"}
SECONDARY = {"a.test.": "zonefile-sync: -1\n    journal-content: all", "b.test.": "zonefile-sync: 0", "c.test.": "zonefile-sync: 3600\n    journal-max-depth: 5"}
IS_EDITED = ("a.test.", "b.test.")      # the operator's files; the primary writes that of c.test
IS_DURABLE = ("a.test.",)               # at the secondary
OWNERS = ("www", "x.deep", "*.wild", "sub", "deep")
DATA = {"A": ("192.0.2.1", "192.0.2.2", "192.0.2.3"), "TXT": ('"one"', '"two"'), "CNAME": ("ns",)}
FIXED = {("@", "NS", "ns"), ("ns", "A", "192.0.2.53")}

zones = st.sampled_from(ZONES)
records = st.sampled_from([(owner, rdtype, data) for owner in OWNERS for rdtype, values in DATA.items() for data in values])
changes = st.lists(st.tuples(st.sampled_from(("add", "add", "add", "delete", "delete set", "delete name")), records), min_size=1, max_size=4)


def is_newer(one, other):
    """RFC 1982."""
    return one != other and (one - other) % 2 ** 32 < 2 ** 31


@dataclasses.dataclass(frozen=True)
class Version:
    serial: int
    records: frozenset

    def text(self, origin):
        lines = [f"$ORIGIN {origin}", f"@ {TTL} SOA ns admin {self.serial} 3600 1 86400 60"]
        return "\n".join(lines + [f"{owner} {TTL} {rdtype} {data}" for owner, rdtype, data in sorted(self.records)]) + "\n"

    def zone(self, origin):
        return dns.zone.from_text(self.text(origin), origin, relativize=False)


def is_valid(found):
    """What a load or a commit demands, of such records: CNAME is alone."""
    return all(sum(each[0] == owner for each in found) == 1 for owner, rdtype, _ in found if rdtype == "CNAME")


def updated(before, edits):
    """The records after a dynamic update (RFC 2136 3.4.2)."""
    after = set(before)
    for how, record in edits:
        owner, rdtype, _ = record
        here = {each for each in after if each[0] == owner}
        if how == "delete name":
            after -= here
        elif how == "delete set":
            after -= {each for each in here if each[1] == rdtype}
        elif how == "delete":
            after.discard(record)
        elif rdtype == "CNAME":
            if all(each[1] == "CNAME" for each in here):
                after = after - here | {record}
        elif all(each[1] != "CNAME" for each in here):
            after.add(record)
    return frozenset(after)


@dataclasses.dataclass
class Zone:
    """What the model knows."""
    name: str
    served: Version                 # by the primary
    may_be: dict                    # {serial: records that a version of this serial may have, one of these}
    known: dict                     # {serial: records}: seen at the primary
    seen: int = None                # the secondary's last serial; None: it need not know any

    def serve(self, version):
        self.served = version
        self.may_be[version.serial] = [version.records]
        self.known[version.serial] = version.records

    def next(self, found):
        return Version((self.served.serial + 1) % 2 ** 32, found) if found != self.served.records else self.served


class Server:
    """A daemon, its control connection, and whether its disk is full."""

    def __init__(self, directory):
        self.daemon = Knotd(directory)
        self.client, self.is_full = None, False

    def start(self):
        self.daemon.start(ready=False)

        def is_answering():
            assert self.daemon.process.poll() is None, self.log()
            with contextlib.suppress(OSError):
                self.client = Client(self.daemon.socket)
                return self.client.ask(cmd="status") != []
            return False
        wait_until(is_answering, "the daemon", pause=0.005)
        self.is_full = False

    def restart(self, signal):
        self.client.stream.close()
        self.daemon.stop(signal)
        self.start()

    def command(self, name, zone=None, **items):
        """The command's error, "" if there is none."""
        replies = self.client.command(name, **({"zone": zone.name} if zone else {}), **items)
        return "; ".join(reply["error"] for reply in replies if "error" in reply)

    def read(self, zone):
        """The version that it serves, None if there is none."""
        found, serial = set(), None
        for reply in self.client.command("zone-read", zone=zone.name):
            if "owner" not in reply:
                continue
            owner = "@" if reply["owner"] == zone.name else reply["owner"].removesuffix(f".{zone.name}")
            if reply["type"] == "SOA":
                serial = int(reply["data"].split()[2])
            else:
                assert int(reply["ttl"]) == TTL, reply
                found.add((owner, reply["type"], reply["data"].removesuffix(f".{zone.name}")))
        return Version(serial, frozenset(found)) if serial is not None else None

    def limit(self, is_full):
        """Writes of files fail behind their first pages, as on a full disk."""
        size = 16384 if is_full else resource.RLIM_INFINITY
        resource.prlimit(self.daemon.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        self.is_full = is_full

    def log(self):
        return "\n".join([line for line in self.daemon.log().splitlines() if "'zone-read'" not in line][-40:])

    def finish(self):
        if self.client is not None:
            self.client.stream.close()
        if self.daemon.process is not None and self.daemon.process.poll() is None:
            self.limit(False)
        self.daemon.finish()


class Stream:
    """A TCP connection to a server, with messages in flight."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), 30 * PATIENCE)
        self.stream = self.sock.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.sock.close()

    def send(self, *messages):
        wires = [message.to_wire() for message in messages]
        self.sock.sendall(b"".join(struct.pack(">H", len(wire)) + wire for wire in wires))

    def read(self):
        """A message's bytes; None: the connection has ended."""
        head = self.stream.read(2)
        return self.stream.read(struct.unpack(">H", head)[0]) if len(head) == 2 else None


KEYRING = dns.tsigkeyring.from_text({"k.": ("hmac-sha256", SECRET)})


def update_message(zone, edits, is_signed, number=0):
    made = dns.update.UpdateMessage(zone.name, keyring=KEYRING if is_signed else None, id=number + 1)
    for how, (owner, rdtype, data) in edits:
        if how == "add":
            made.add(owner, TTL, rdtype, data if rdtype != "CNAME" else f"{data}.{zone.name}")
        elif how == "delete":
            made.delete(owner, rdtype, data if rdtype != "CNAME" else f"{data}.{zone.name}")
        else:
            made.delete(owner, *([rdtype] if how == "delete set" else []))
    return made


def transferred(server, zone, base):
    """The version that IXFR makes of `base`, by dnspython; and whether it was one, not the whole zone."""
    contents = base.zone(zone.name)
    query, serial = dns.xfr.make_query(contents, serial=base.serial, keyring=KEYRING, keyname="k.")
    assert serial == base.serial
    with Stream(server.daemon.port) as stream, dns.xfr.Inbound(contents, dns.rdatatype.IXFR, serial, False) as inbound:
        stream.send(query)
        is_done, context = False, None
        while not is_done:
            wire = stream.read()
            assert wire and wire[3] & 15 == dns.rcode.NOERROR, f"IXFR of {zone.name} from {base.serial}: {wire}\n{server.log()}"
            message = dns.message.from_wire(wire, keyring=KEYRING, request_mac=query.mac, xfr=True, tsig_ctx=context, multi=True,
                                            one_rr_per_rrset=True)
            context = message.tsig_ctx
            is_done = inbound.process_message(message)
        is_difference = inbound.rdtype == dns.rdatatype.IXFR
    found, serial = set(), None
    for name, ttl, rdata in contents.iterate_rdatas():
        assert ttl == TTL
        owner = name.relativize(contents.origin).to_text()
        if rdata.rdtype == dns.rdatatype.SOA:
            serial = rdata.serial
        else:
            found.add((owner, dns.rdatatype.to_text(rdata.rdtype), rdata.to_text().removesuffix(f".{zone.name}")))
    return Version(serial, frozenset(found)), is_difference


CONFIGURATION = """key:
  - id: k.
    algorithm: hmac-sha256
    secret: {secret}
remote:
  - id: peer
    address: 127.0.0.1@{port}
    key: k.
acl:
  - id: signed
    key: k.
    action: [ notify, transfer, update ]
  - id: plain
    address: 127.0.0.1
    action: [ transfer, update ]
zone:
"""
COUNTS = {"IXFR": 0, "whole": 0, "full": 0, "kills": 0, "updates": 0}


class Model(RuleBasedStateMachine):
    """Both daemons beside the model."""

    def __init__(self):
        super().__init__()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bowline-"))
        self.dir.chmod(0o755)
        self.primary, self.secondary = Server(self.dir / "p"), Server(self.dir / "s")
        self.needs_refresh = False      # a NOTIFY may have been lost
        self.zones = {}

    def teardown(self):
        try:
            if self.zones:
                self.settle()
                self.check_history()
        finally:
            try:
                for server in (self.primary, self.secondary):
                    server.finish()
            finally:
                shutil.rmtree(self.dir, ignore_errors=True)

    def configure(self, server, peer, items, role):
        text = CONFIGURATION.format(secret=SECRET, port=peer.daemon.port)
        for name in ZONES:
            text += (f"  - domain: {name}\n    storage: {server.daemon.dir}\n    file: {name}zone\n    acl: [ signed, plain ]\n    {role}: peer\n"
                     f"    {items[name]}\n")
        server.daemon.configure(text, control="timeout: 3600")

    @initialize(serials=st.lists(st.sampled_from((1, 2 ** 31 - 5, 2 ** 32 - 5)), min_size=len(ZONES), max_size=len(ZONES)))
    def begin(self, serials):
        self.configure(self.primary, self.secondary, PRIMARY, "notify")
        self.configure(self.secondary, self.primary, SECONDARY, "master")
        for name, serial in zip(ZONES, serials):
            zone = Zone(name, None, {}, {})
            zone.serve(Version(serial, frozenset(FIXED)))
            self.write(zone, zone.served)
            self.zones[name] = zone
        self.primary.start()
        for zone in self.zones.values():
            self.check_primary(zone)
        self.secondary.start()
        self.settle()

    # ---- looks ----

    def logs(self):
        return f"--- primary\n{self.primary.log()}\n--- secondary\n{self.secondary.log()}"

    def check_primary(self, zone):
        seen = None

        def is_served():
            nonlocal seen
            seen = self.primary.read(zone)
            return seen == zone.served
        wait_until(is_served, lambda: f"{zone.name} to be\n{zone.served}\nit is\n{seen}\n{self.logs()}", timeout=3, pause=0.005)

    def check_secondary(self, zone):
        """It has a version that there was at the primary, and none older than before."""
        seen = self.secondary.read(zone)
        if seen is None:
            assert zone.seen is None, f"{zone.name} is gone\n{self.logs()}"
            return
        assert seen.records in zone.may_be.get(seen.serial, []), f"{zone.name}: {seen}, but {zone.may_be.get(seen.serial)}\n{self.logs()}"
        assert not is_newer(seen.serial, zone.served.serial), f"{zone.name}: {seen} at the secondary, {zone.served} at the primary\n{self.logs()}"
        assert zone.seen is None or not is_newer(zone.seen, seen.serial), f"{zone.name}: {zone.seen} was there, it is {seen}\n{self.logs()}"
        zone.seen = seen.serial

    @invariant()
    def all_is_right(self):
        for zone in self.zones.values():
            self.check_primary(zone)
            self.check_secondary(zone)

    @rule()
    def settle(self):
        """NOTIFY brings everything, unless one may have been lost."""
        for server in (self.primary, self.secondary):
            server.limit(False)
        if self.needs_refresh:
            for zone in self.zones.values():
                self.secondary.command("zone-refresh", zone)
            self.needs_refresh = False

        def is_there(zone):
            self.check_secondary(zone)
            return zone.seen == zone.served.serial
        for zone in self.zones.values():
            wait_until(lambda zone=zone: is_there(zone), lambda zone=zone: f"{zone.name}: {zone.served}\n{self.logs()}", timeout=10, pause=0.01)

    def check_history(self):
        """IXFR from each of the last versions, at both."""
        for zone in self.zones.values():
            for serial, found in list(zone.known.items())[-8:]:
                for server in (self.primary, self.secondary):
                    version, is_difference = transferred(server, zone, Version(serial, found))
                    assert version == zone.served, f"IXFR {zone.name} from {serial}: {version}, not {zone.served}\n{self.logs()}"
                    if serial != version.serial:
                        COUNTS["IXFR" if is_difference else "whole"] += 1

    # ---- changes ----

    def write(self, zone, version):
        """An operator edits the primary's file."""
        self.primary.daemon.write("new", version.text(zone.name)).replace(self.primary.daemon.dir / f"{zone.name}zone")

    @rule(name=zones, edits=changes, is_signed=st.booleans(), is_tcp=st.booleans())
    def update(self, name, edits, is_signed, is_tcp):
        zone = self.zones[name]
        wanted = zone.next(updated(zone.served.records, edits))
        ask = dns.query.tcp if is_tcp else dns.query.udp
        rcode = ask(update_message(zone, edits, is_signed), "127.0.0.1", 30 * PATIENCE, self.primary.daemon.port).rcode()
        if self.primary.is_full and wanted != zone.served:
            assert rcode == dns.rcode.SERVFAIL, (rcode, self.logs())
            return
        assert rcode == dns.rcode.NOERROR, (rcode, self.logs())
        COUNTS["updates"] += 1
        zone.serve(wanted)

    def prefixes(self, zone, updates):
        """The records after each of the updates. A batch makes one version of several: each serial may be one of these."""
        found = [zone.served.records]
        for edits in updates:
            found.append(updated(found[-1], edits))
        for number in range(1, len(found)):
            serial = (zone.served.serial + number) % 2 ** 32
            zone.may_be[serial] = [*zone.may_be.get(serial, []), *found[number:]]
        return found

    def take(self, zone, found, least):
        """What the primary serves is what it was, or the first so many updates of a batch, at least `least`."""
        before, seen = zone.served, self.primary.read(zone)
        serials = [(before.serial + number) % 2 ** 32 for number in range(len(found))]
        assert seen.records in found[least:] and seen.serial in serials, f"{zone.name}: {seen}, but {before.serial}, {found[least:]}\n{self.logs()}"
        assert (seen.serial == before.serial) == (seen.records == before.records) or len(set(found)) < len(found), (seen, before, self.logs())
        zone.serve(seen)

    @rule(name=zones, updates=st.lists(changes, min_size=2, max_size=8), is_signed=st.booleans())
    def updates_at_once(self, name, updates, is_signed):
        if self.primary.is_full:
            return
        zone = self.zones[name]
        found = self.prefixes(zone, updates)
        with Stream(self.primary.daemon.port) as stream:
            stream.send(*(update_message(zone, edits, is_signed, number) for number, edits in enumerate(updates)))
            for _ in updates:
                wire = stream.read()
                assert wire and wire[3] & 15 == dns.rcode.NOERROR, (wire, self.logs())
        COUNTS["updates"] += len(updates)
        self.take(zone, found, len(updates))

    @rule(name=zones, updates=st.lists(changes, min_size=1, max_size=8), is_signed=st.booleans(), count=st.integers(0, 8))
    def killed_in_updates(self, name, updates, is_signed, count):
        """The primary is killed when so many are acknowledged: these are there afterwards, and maybe the next of them."""
        if self.primary.is_full:
            return
        zone, acknowledged = self.zones[name], 0
        found = self.prefixes(zone, updates)
        with Stream(self.primary.daemon.port) as stream:
            stream.send(*(update_message(zone, edits, is_signed, number) for number, edits in enumerate(updates)))
            for _ in range(min(count, len(updates))):
                wire = stream.read()
                assert wire and wire[3] & 15 == dns.rcode.NOERROR, (wire, self.logs())
                acknowledged += 1
            self.primary.restart(9)
        COUNTS["kills"] += 1
        self.needs_refresh = True
        wait_until(lambda: self.primary.read(zone) is not None, lambda: f"{zone.name}\n{self.logs()}", pause=0.005)
        self.take(zone, found, acknowledged)

    @rule(name=zones, edits=changes, fate=st.sampled_from(("commit", "commit", "commit", "abort")), is_waited_for=st.booleans())
    def transaction(self, name, edits, fate, is_waited_for):
        """Edits by command. An update that comes meanwhile waits for their end."""
        zone, primary = self.zones[name], self.primary
        assert primary.command("zone-begin", zone) == ""
        found = set(zone.served.records)
        for how, (owner, rdtype, data) in edits:
            items = {"owner": owner, "type": rdtype, "data": data}
            if how == "add":
                error = primary.command("zone-set", zone, ttl=str(TTL), **items)
                found |= {(owner, rdtype, data)} if error == "" else set()
            elif how == "delete":
                error = primary.command("zone-unset", zone, **items)
                found -= {(owner, rdtype, data)} if error == "" else set()
        wanted = zone.next(frozenset(found))
        later = [("add", ("later", "A", "192.0.2.99"))]
        with Stream(primary.daemon.port) as stream:
            if is_waited_for:
                stream.send(update_message(zone, later, False))
            error = primary.command("zone-commit" if fate == "commit" else "zone-abort", zone)
            if fate == "commit" and (not is_valid(wanted.records) or (primary.is_full and wanted != zone.served)):
                assert error != "", (wanted, self.logs())
                assert primary.command("zone-abort", zone) == ""
            else:
                assert error == "", (error, self.logs())
                if fate == "commit":
                    zone.serve(wanted)
            if is_waited_for:
                wire = stream.read()
                wanted = zone.next(updated(zone.served.records, later))
                fails = primary.is_full and wanted != zone.served
                assert wire and wire[3] & 15 == (dns.rcode.SERVFAIL if fails else dns.rcode.NOERROR), (wire, self.logs())
                if not fails:
                    zone.serve(wanted)

    @rule(name=st.sampled_from(IS_EDITED), chosen=st.lists(records, max_size=5), how=st.sampled_from(("zone-reload", "reload", "kill", "stop")))
    def edit_file(self, name, chosen, how):
        """A file with a higher serial wins, also when it is found after a restart."""
        zone, found = self.zones[name], frozenset({*FIXED, *chosen})
        if self.primary.is_full or not is_valid(found):
            return
        version = Version((zone.served.serial + 10) % 2 ** 32, found)
        self.write(zone, version)
        if how == "zone-reload":
            assert self.primary.command("zone-reload", zone, flags="B") == "", self.logs()
        elif how == "reload":
            assert self.primary.command("reload") == "", self.logs()
        zone.serve(version)
        if how in ("kill", "stop"):
            self.primary.restart(9 if how == "kill" else 15)
            self.needs_refresh = True
        self.check_primary(zone)

    # ---- transfers ----

    @rule(name=zones, which=st.integers(0, 30), is_primary=st.booleans())
    def ixfr(self, name, which, is_primary):
        zone = self.zones[name]
        serial = list(zone.known)[-1 - which % len(zone.known)]
        server = self.primary if is_primary else self.secondary
        seen = server.read(zone)
        if seen is None or is_newer(serial, seen.serial):
            return
        version, is_difference = transferred(server, zone, Version(serial, zone.known[serial]))
        assert version.records in zone.may_be[version.serial], (version, zone.may_be[version.serial], self.logs())
        assert not is_primary or version == zone.served, (version, zone.served, self.logs())
        if serial != version.serial:
            COUNTS["IXFR" if is_difference else "whole"] += 1

    @rule(name=zones, what=st.sampled_from(("zone-refresh", "zone-retransfer", "zone-notify", "zone-flush", "zone-purge")))
    def command(self, name, what):
        zone = self.zones[name]
        server = self.primary if what == "zone-notify" else self.secondary
        if what == "zone-purge":
            zone.seen = None
            self.needs_refresh = True
        server.command(what, zone, **({"flags": "F"} if what == "zone-purge" else {}))

    # ---- accidents ----

    @rule(is_primary=st.booleans(), is_full=st.booleans())
    def disk(self, is_primary, is_full):
        COUNTS["full"] += is_full
        (self.primary if is_primary else self.secondary).limit(is_full)
        if not is_primary:
            self.needs_refresh = True

    @rule(is_primary=st.booleans(), signal=st.sampled_from((9, 15)))
    def restart(self, is_primary, signal):
        COUNTS["kills"] += signal == 9
        (self.primary if is_primary else self.secondary).restart(signal)
        self.needs_refresh = True
        if is_primary:
            for zone in self.zones.values():
                self.check_primary(zone)
            return
        for zone in self.zones.values():
            if zone.name in IS_DURABLE:
                wait_until(lambda zone=zone: self.secondary.read(zone) or zone.seen is None, lambda zone=zone: f"{zone.name}\n{self.logs()}", pause=0.005)
            else:
                zone.seen = None


@pytest.mark.parametrize("items", ["zonefile-sync: 0", "zonefile-sync: -1\n    journal-content: all"], ids=["changes", "all"])
def test_another_zone_of_an_old_serial(items, monkeypatch):
    """The primary has lost its zone and begins again: after zone-retransfer no difference leads from before, and a kill brings nothing back."""
    monkeypatch.setitem(SECONDARY, "b.test.", items)
    pair = Model()
    primary, secondary, zone = pair.primary, pair.secondary, Zone("b.test.", Version(1, frozenset(FIXED)), {}, {})
    try:
        pair.configure(primary, secondary, PRIMARY, "notify")
        pair.configure(secondary, primary, SECONDARY, "master")
        pair.write(zone, zone.served)
        primary.start()
        secondary.start()
        secondary.command("zone-refresh", zone)

        def add(owner):
            message = update_message(zone, [("add", (owner, "A", "192.0.2.1"))], False)
            assert dns.query.tcp(message, "127.0.0.1", 30 * PATIENCE, primary.daemon.port).rcode() == dns.rcode.NOERROR
            wait_until(lambda: secondary.read(zone) == primary.read(zone), pair.logs)
            return primary.read(zone)
        wait_until(lambda: secondary.read(zone) == zone.served, pair.logs)
        add("two")
        add("three")
        primary.client.stream.close()
        primary.daemon.stop()
        shutil.rmtree(primary.daemon.dir / "db")
        other = Version(2, frozenset({*FIXED, ("other", "A", "192.0.2.77")}))
        pair.write(zone, other)
        primary.start()
        wait_until(lambda: primary.read(zone) == other, pair.logs)
        assert secondary.command("zone-retransfer", zone, flags="B") == ""
        assert secondary.read(zone) == other
        assert transferred(secondary, zone, zone.served) == (other, False), secondary.log()
        last = add("four")
        assert last.serial == 3 and transferred(secondary, zone, other) == (last, True), secondary.log()
        secondary.restart(9)
        wait_until(lambda: secondary.read(zone) is not None, secondary.log)
        assert secondary.read(zone) in ((last,) if "all" in items else (last, other)), secondary.log()
    finally:
        pair.teardown()


def test_model(capsys):
    begin = time.monotonic()
    run_state_machine_as_test(hypothesis.seed(SEED)(Model), settings=hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck)))
    with capsys.disabled():
        print(f"\nseed {SEED}, {EXAMPLES} programs of up to {STEPS} steps, {time.monotonic() - begin:.1f} s: "
              + ", ".join(f"{count} {what}" for what, count in COUNTS.items()))
    assert EXAMPLES < 10 or all(COUNTS.values()), COUNTS
