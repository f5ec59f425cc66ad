# SPDX-License-Identifier: BSD-2-Clause
"""Random programs of commands, edits of files, restarts and kills, against a model that knows what must be served after each step.

hypothesis makes the programs and shrinks one that fails to the steps that it needs; what is printed is that program. The same programs each time;
KNOT_SEED=n makes others, MODEL_EXAMPLES=n another number.
"""
import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st  # noqa: E402
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test  # noqa: E402

from harness.control import Client  # noqa: E402
from harness.server import Knotd, built  # noqa: E402
from harness.waiting import wait_until  # noqa: E402

pytestmark = [pytest.mark.ours, pytest.mark.long]

SEED = int(os.environ.get("KNOT_SEED", "1"))
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "80"))
STEPS = 40
ZONES = ("a.test.", "b.test.", "c.test.")
TTL = "60"
DATA = {"A": ("192.0.2.1", "192.0.2.2", "192.0.2.3"), "TXT": ('"one"', '"two"'), "CNAME": ("ns",), "NS": ("ns.sub", "ns.elsewhere.")}
OWNERS = ("www", "x.deep", "*.wild", "sub", "deep")
FIXED = {("@", "NS", "ns"), ("ns", "A", "192.0.2.53")}

zones = st.sampled_from(ZONES)
owners = st.sampled_from(OWNERS)
records = st.sampled_from([(owner, rdtype, data) for owner in OWNERS for rdtype, values in DATA.items() for data in values
                           if rdtype != "NS" or owner == "sub"])      # nothing is checked below a cut


def is_supported(item):
    """Whether the server takes an item of a zone."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "knot.conf")
        path.write_text(f"zone:\n  - domain: a.test\n    {item}\n", encoding="ascii")
        return subprocess.run([built("knotc", "tools"), "-c", str(path), "conf-check"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False).returncode == 0


@dataclasses.dataclass(frozen=True)
class Version:
    """What is served, or in a file."""
    serial: int
    records: frozenset

    def is_valid(self):
        """What the semantic checks demand, of records such as these: CNAME is alone, and single."""
        for owner in {owner for owner, rdtype, _ in self.records if rdtype == "CNAME"}:
            if len([1 for record in self.records if record[0] == owner]) > 1:
                return False
        return True

    def text(self, origin):
        lines = [f"$ORIGIN {origin}", f"@ {TTL} SOA ns admin {self.serial} 3600 600 86400 60"]
        return "\n".join(lines + [f"{owner} {TTL} {rdtype} {data}" for owner, rdtype, data in sorted(self.records)]) + "\n"


@dataclasses.dataclass
class Zone:
    """The model of one zone."""
    name: str
    sync: int                       # zonefile-sync
    has_journal: bool
    served: Version = None          # None: no contents
    file: Version = None            # None: no file. What the server may write meanwhile is one of `written`
    is_edited: bool = False         # the file isn't what the server has read or written last
    is_frozen: bool = False
    waits_for_load: bool = False    # a reload while it was frozen
    edits: frozenset = None         # records of the open transaction; None: no transaction
    maybe: list = dataclasses.field(default_factory=list)   # versions that a crash may bring back besides the one that is served
    serial_max: int = 0

    def serve(self, version, is_durable):
        """A new version is served."""
        self.maybe = [] if is_durable else [*self.maybe, self.served]
        self.served = version
        self.serial_max = max(self.serial_max, version.serial)

    def changed(self):
        """The open transaction changes something."""
        return self.edits is not None and self.edits != self.served.records


class Model(RuleBasedStateMachine):
    """The daemon beside the model."""

    def __init__(self):
        super().__init__()
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bowline-"))
        self.dir.chmod(0o755)
        self.knotd = Knotd(self.dir)
        self.client = None

    # ---- the daemon ----

    def connect(self):
        def is_answering():
            assert self.knotd.process.poll() is None, self.log()
            with contextlib.suppress(OSError):
                client = Client(self.knotd.socket)
                self.client = client
                return client.ask(cmd="status") != []
            return False
        wait_until(is_answering, "the daemon", pause=0.005)

    def start(self):
        self.knotd.start(ready=False)
        self.connect()

    def command(self, name, zone=None, **items):
        """The command's error, "" if there is none."""
        replies = self.client.command(name, **({"zone": zone.name} if zone else {}), **items)
        return "; ".join(reply["error"] for reply in replies if "error" in reply)

    def read(self, zone):
        """The version that the daemon serves."""
        replies = self.client.command("zone-read", zone=zone.name)
        found, serial = set(), None
        for reply in replies:
            owner = "@" if reply["owner"] == zone.name else reply["owner"].removesuffix(f".{zone.name}")
            if reply["type"] == "SOA":
                serial = int(reply["data"].split()[2])
            else:
                found.add((owner, reply["type"], reply["data"].removesuffix(f".{zone.name}")))
        return Version(serial, frozenset(found)) if serial is not None else None

    def log(self):
        """The end of the daemon's log, without this test's own looks."""
        return "\n".join([line for line in self.knotd.log().splitlines() if "'zone-read'" not in line][-25:])

    def teardown(self):
        try:
            if self.client is not None:
                self.client.stream.close()
            self.knotd.finish()
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)

    # ---- the model ----

    def write(self, zone, version):
        """An operator edits the file."""
        self.knotd.write("new", version.text(zone.name)).replace(self.knotd.dir / f"{zone.name}zone")
        zone.file, zone.is_edited = version, True
        zone.serial_max = max(zone.serial_max, version.serial)

    def load(self, zone, is_durable=True):
        """The zone is read from its file."""
        zone.waits_for_load = False
        if zone.is_edited and zone.file is not None and zone.file.is_valid():
            zone.served, zone.is_edited, zone.maybe = zone.file, False, []

    def check(self, zone):
        """What is served, by the control socket and by a query, is what the model says."""
        expected = zone.served
        seen = None

        def is_served():
            nonlocal seen
            seen = self.read(zone)
            return seen == expected
        wait_until(is_served, lambda: f"{zone.name} to be\n{expected}\nit is\n{seen}\n{self.log()}", timeout=1, pause=0.005)
        reply = self.knotd.ask(zone.name, "SOA")
        assert [rrset[0].serial for rrset in reply.answer] == ([expected.serial] if expected is not None else []), reply

    @initialize(syncs=st.lists(st.sampled_from([-1, 0, 3600]), min_size=len(ZONES), max_size=len(ZONES)),
                journals=st.lists(st.booleans(), min_size=len(ZONES), max_size=len(ZONES)))
    def begin(self, syncs, journals):
        self.zones = {}
        text = "zone:\n"
        for name, sync, has_journal in zip(ZONES, syncs, journals):
            zone = Zone(name, sync, has_journal and HAS_JOURNAL)
            self.zones[name] = zone
            self.write(zone, Version(1, frozenset(FIXED)))
            zone.served, zone.is_edited = zone.file, False
            text += (f"  - domain: {name}\n    storage: {self.dir}\n    file: {name}zone\n    zonefile-sync: {sync}\n"
                     f"    journal-content: {'changes' if zone.has_journal else 'none'}\n")
        self.knotd.configure(text=text, control="timeout: 3600")
        self.start()
        for zone in self.zones.values():
            self.check(zone)

    @rule(name=zones)
    def zone_begin(self, name):
        zone = self.zones[name]
        if zone.served is None:
            return
        error = self.command("zone-begin", zone)
        assert error.startswith("too many transactions" if zone.edits is not None else "") and bool(error) == (zone.edits is not None), error
        if zone.edits is None:
            zone.edits = zone.served.records

    @rule(name=zones, record=records)
    def zone_set(self, name, record):
        zone = self.zones[name]
        error = self.command("zone-set", zone, owner=record[0], ttl=TTL, type=record[1], data=record[2])
        if zone.edits is None:
            assert error == "no active transaction", error
        elif record in zone.edits:
            assert error == "such record already exists in zone", error
        elif record[1] == "CNAME" and any(each[:2] == record[:2] for each in zone.edits):
            assert error, "a second CNAME"
        else:
            assert error == "", error
            zone.edits |= {record}

    @rule(name=zones, record=records)
    def zone_unset(self, name, record):
        zone = self.zones[name]
        error = self.command("zone-unset", zone, owner=record[0], type=record[1], data=record[2])
        if zone.edits is None:
            assert error == "no active transaction", error
        elif record in zone.edits:
            assert error == "", error
            zone.edits -= {record}
        else:
            assert error != ""

    @rule(name=zones, owner=owners)
    def zone_unset_owner(self, name, owner):
        zone = self.zones[name]
        error = self.command("zone-unset", zone, owner=owner)
        there = {record for record in zone.edits or () if record[0] == owner}
        is_node = any(each == owner or each.endswith(f".{owner}") for each, _, _ in zone.edits or ())
        assert (error == "") == is_node, error      # that of an empty non-terminal has nothing to remove
        if there:
            zone.edits -= there

    @rule(name=zones, waits=st.booleans())
    def zone_commit(self, name, waits):
        zone = self.zones[name]
        waits = waits and zone.sync == 0 and not zone.is_frozen and not zone.is_edited and zone.file is not None
        error = self.command("zone-commit", zone, **({"flags": "B"} if waits else {}))
        if zone.edits is None:
            assert error == "no active transaction", error
            return
        wanted = Version(zone.served.serial + 1, zone.edits)
        if not wanted.is_valid():
            assert error.startswith("semantic check"), error
            return
        assert error == "", error
        if zone.changed():
            zone.serve(wanted, zone.has_journal or waits)
            if waits:
                zone.file = wanted
        zone.edits = None

    @rule(name=zones)
    def zone_abort(self, name):
        zone = self.zones[name]
        assert self.command("zone-abort", zone) == ("" if zone.edits is not None else "no active transaction")
        zone.edits = None

    @rule(name=zones, step=st.integers(-3, 3))
    def zone_serial_set(self, name, step):
        zone = self.zones[name]
        if zone.served is None:
            return
        number = max(1, zone.served.serial + step)
        error = self.command("zone-serial-set", zone, type="=", data=str(number))
        if zone.edits is not None:
            assert error.startswith("too many transactions"), error
        elif number < zone.served.serial:
            assert error, "the serial was lowered"
        else:
            assert error == "" or number == zone.served.serial, error
            if number > zone.served.serial:
                zone.serve(Version(number, zone.served.records), zone.has_journal)

    @rule(name=zones, chosen=st.lists(records, max_size=4))
    def edit_file(self, name, chosen):
        zone = self.zones[name]
        version = Version(zone.serial_max + 1000, frozenset({*FIXED, *chosen}))
        if version.is_valid():
            self.write(zone, version)

    @rule(name=zones)
    def zone_reload(self, name):
        zone = self.zones[name]
        error = self.command("zone-reload", zone, flags="B")
        if zone.edits is not None:
            assert error.startswith("too many transactions"), error
            return
        assert (error == "") == (zone.file is not None), error
        self.load(zone)

    @rule()
    def reload(self):
        error = self.command("reload")
        if any(zone.edits is not None for zone in self.zones.values()):
            assert error.startswith("too many transactions"), error
            return
        assert error == "", error
        for zone in self.zones.values():
            if zone.is_frozen:
                zone.waits_for_load = True
            else:
                self.load(zone)

    @rule(name=zones)
    def zone_freeze(self, name):
        zone = self.zones[name]
        if zone.edits is None:
            assert self.command("zone-freeze", zone, flags="B") == ""
            zone.is_frozen = True

    @rule(name=zones)
    def zone_thaw(self, name):
        zone = self.zones[name]
        if zone.edits is None:
            assert self.command("zone-thaw", zone, flags="B") == ""
            zone.is_frozen = False
            if zone.waits_for_load:
                self.load(zone)

    @rule(name=zones, is_forced=st.booleans())
    def zone_flush(self, name, is_forced):
        """Afterwards the file is the version, unless the operator has edited it and didn't say -f, or it is never written without."""
        zone = self.zones[name]
        if zone.served is None:
            return
        self.command("zone-flush", zone, flags="BF" if is_forced else "B")
        if is_forced or (zone.sync >= 0 and not zone.is_edited):
            assert self.file(zone) == zone.served
            zone.file, zone.is_edited, zone.maybe = zone.served, False, []
        elif zone.is_edited:
            assert self.file(zone) == zone.file

    def file(self, zone):
        """What the server has written, one record a line, names absolute."""
        serial, found = None, set()
        path = self.dir / f"{zone.name}zone"
        if not path.exists():
            return None
        if not path.read_text().startswith(";;"):
            return zone.file        # the operator's
        for line in path.read_text().splitlines():
            if line.startswith(";;"):
                continue
            owner, _, rdtype, data = (part.strip() for part in line.split("\t"))
            if rdtype == "SOA":
                serial = int(data.split()[2])
            else:
                found.add(("@" if owner == zone.name else owner.removesuffix(f".{zone.name}"), rdtype, data.removesuffix(f".{zone.name}")))
        return Version(serial, frozenset(found))

    @rule(name=zones)
    def zone_purge(self, name):
        zone = self.zones[name]
        error = self.command("zone-purge", zone, flags="BF")
        if zone.edits is not None:
            assert error.startswith("too many transactions"), error
            return
        assert error == "", error
        assert not (self.dir / f"{zone.name}zone").exists()
        zone.served = zone.file = None
        zone.is_edited = zone.waits_for_load = False
        zone.maybe = []

    @rule(how=st.sampled_from(["stop", "kill"]))
    def restart(self, how):
        self.client.stream.close()
        self.knotd.stop(9 if how == "kill" else 15)
        self.start()
        for zone in self.zones.values():
            zone.edits, zone.is_frozen, zone.waits_for_load = None, False, False
            if zone.is_edited:      # the operator's file wins over what was committed before
                self.load(zone)
            elif how == "kill" and zone.maybe:
                allowed = [zone.served, *zone.maybe]
                wait_until(lambda z=zone, a=allowed: self.read(z) in a, f"{zone.name} to be one of {allowed}", timeout=1, pause=0.005)
                zone.served, zone.maybe = self.read(zone), []
            zone.file = self.file(zone)

    @rule(name=zones, changes=st.lists(st.tuples(st.booleans(), records), min_size=1, max_size=4), waits=st.booleans())
    def edit(self, name, changes, waits):
        """A whole transaction."""
        self.zone_begin(name)
        for is_added, record in changes:
            (self.zone_set if is_added else self.zone_unset)(name, record)
        self.zone_commit(name, waits)

    @invariant()
    def all_is_served(self):
        for zone in getattr(self, "zones", {}).values():
            self.check(zone)


HAS_JOURNAL = False


def test_model(capsys):
    global HAS_JOURNAL
    HAS_JOURNAL = is_supported("journal-content: all")
    with capsys.disabled():
        print(f"\nseed {SEED}, {EXAMPLES} programs of up to {STEPS} steps, journal: {HAS_JOURNAL}")
    begin = time.monotonic()
    run_state_machine_as_test(hypothesis.seed(SEED)(Model), settings=hypothesis.settings(
        max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck)))
    assert time.monotonic() - begin < 3600
