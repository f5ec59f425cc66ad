# SPDX-License-Identifier: BSD-2-Clause
"""Our knotd and Debian's, each with the same policy and zone, under one clock that the test moves: the same keys in the same states with the same
timers to the second, the same signatures, the same lines in the log, at each time at which something happens. What we sign is valid at that time.

The clock goes to the next time that the servers name themselves ("next signing at"), which has to be the same one. Ours is stopped meanwhile, as it rolls no keys
soon after the clock of a running server has jumped (ADR 69).
"""
import re
import subprocess

import dns.dnssec
import dns.query
import dns.rdatatype
import dns.update
import dns.zone
import pytest

from harness.clock import Clock
from harness.server import Knotd, built
from harness.validators import complaint

BEGIN = 1798761600      # 2027-01-01
HOUR, DAY = 3600, 86400
ZONE = "$TTL 3600\n@ SOA ns1 admin 10 3600 600 86400 300\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.2\nsub NS ns.sub\nns.sub A 192.0.2.5\n*.wild TXT any\na.b.c A 192.0.2.4\n"
BASE = ["rrsig-lifetime: 14d", "rrsig-refresh: 3d", "rrsig-pre-refresh: 1h", "propagation-delay: 1h", "dnskey-ttl: 1h", "zone-max-ttl: 1h", "nsec3-salt-length: 8",
        "nsec3-iterations: 0", "ksk-lifetime: 0", "zsk-lifetime: 0"]
DEBIANS_KEYMGR, DEBIANS_KNOTD = "/usr/sbin/keymgr", "/usr/sbin/knotd"
TIMERS = ["created", "pre-active", "publish", "ready", "active", "retire-active", "retire", "post-active", "revoke", "remove"]
# Lines of the log that only one of them has, and parts of lines: (pattern, why).
EXCEPTIONS = [
    (r", serial \d+, new RRSIGs \d+", "3.6 says them, 3.2 doesn't"),
    (r"^.*next key action.*$", "3.6 says it, 3.2 doesn't"),
    (r"^.*DNSSEC, validation.*$", "we prove each version"),
    (r"(?<=@)\d+ TCP,", "3.6 says the protocol, 3.2 doesn't"),
    (r"(?<=@)\d+,", "see above"),
    (r"^.*loaded, serial.*$", "no line of signing"),
    (r"^.*KSK submission check: negative$", "it comes when the parent has answered"),
    (r"^.*next signing at .*$", "compared as times, by next_time()"),
]


class Side:
    """One of the two servers."""

    def __init__(self, name, directory, program, clock):
        self.name, self.clock = name, clock
        (directory / name / "db").mkdir(parents=True)
        self.daemon = Knotd(directory / name, program=program)
        self.daemon.LOGGING = self.daemon.LOGGING.replace("debug", "info")
        self.daemon.write("example.zone", ZONE)
        self.seen = 0       # characters of the log that were compared
        self.confirmed = 0  # KSKs whose DS the parent had

    def configure(self, policy, items=("dnssec-signing: on",), more=""):
        lines = "".join(f"    {item}\n" for item in [*[base for base in BASE if base.split(":")[0] not in {item.split(":")[0] for item in policy}], *policy])
        self.daemon.configure(zones=["example"], text=f"acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n{more}"
                              f"policy:\n  - id: p\n{lines}template:\n  - id: default\n    acl: all\n    dnssec-policy: p\n    zonefile-sync: -1\n"
                              "    zonefile-load: difference-no-serial\n    journal-content: all\n" + "".join(f"    {item}\n" for item in items))

    def start(self):
        self.daemon.start(environment=self.clock.environment())
        self.daemon.wait(lambda: self.daemon.ask("example", "SOA").answer, what="the zone")

    def move(self, when):
        """Sign at another time. Returns a condition: it has."""
        if self.daemon.program == DEBIANS_KNOTD:
            self.clock.set(when)
            before = self.signings()
            self.daemon.knotc("zone-keys-load", "example", program="/usr/sbin/knotc")
        else:
            assert self.daemon.stop() == 0
            self.clock.set(when)
            before = self.signings()
            self.start()
            self.daemon.knotc("-b", "zone-keys-load", "example", program="/usr/sbin/knotc")     # what the start has planned comes before
        return lambda: self.signings() > before

    def keymgr(self, *words, program=DEBIANS_KEYMGR):
        done = subprocess.run([program, "-c", str(self.daemon.path), "example.", *words], capture_output=True, text=True, timeout=30, check=False,
                              env=self.clock.whole_environment())
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def keys(self):
        """Each key as (role and algorithm, its timers), in order of these."""
        found = []
        for line in self.keymgr("list", "-e").splitlines():
            fields = dict(re.findall(r"(\S+?)=(\S+)", line))
            times = tuple(int(fields[timer]) for timer in TIMERS if timer != "created")
            found.append(((fields["ksk"], fields["zsk"], fields["algorithm"]), times, int(fields["tag"])))
        return sorted(found)

    def signings(self):
        return len(re.findall(r"DNSSEC, next signing (?:at|not)", self.daemon.log()))

    def next_time(self):
        """When the server wants to sign again, of its last word about that."""
        said = re.findall(r"DNSSEC, next signing (?:at (\S+)|not scheduled)", self.daemon.log())
        done = subprocess.run(["date", "-d", said[-1], "+%s"], capture_output=True, text=True, check=True) if said and said[-1] else None
        return int(done.stdout) if done else None

    def contents(self):
        return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.", port=self.daemon.port, relativize=False, timeout=30), relativize=False)

    def lines(self):
        """What the log says of signing since the last call, without what differs by nature: times, tags, numbers."""
        log = self.daemon.log()[self.seen:]
        self.seen += len(log)
        said = []
        for line in log.splitlines():
            match = re.match(r"\S+ (\w+: \[example\.\] .*(?:DNSSEC|submission).*)", line)
            text = match[1] if match else ""
            for pattern, _ in EXCEPTIONS:
                text = re.sub(pattern, "", text)
            if text:
                said.append(re.sub(r"\btag +\d+", "tag", re.sub(r"key \d+", "key", text)))
        return without_idle_ones(sorted_keys(said))


def without_idle_ones(lines):
    """A server that has just started looks at its zone more than once: signings that change nothing are left out beside others, but for one."""
    blocks = [[]]
    for line in lines:
        if line.endswith("DNSSEC, signing zone"):
            blocks.append([])
        blocks[-1].append(line)
    busy = [block for block in blocks if block and not any(line.endswith("zone is up-to-date") for line in block)]
    return [line for block in busy or blocks[-1:] for line in block]


def sorted_keys(lines):
    """Keys whose lives began at one time are listed in any order."""
    result, keys = [], []
    for line in lines:
        if "DNSSEC, key, tag" in line:
            keys.append(line)
            continue
        result += sorted(keys) + [line]
        keys = []
    return result + sorted(keys)


def shape_of(side):
    """The zone without what differs by nature: of signatures all but bytes, with the place of the key in the list; of keys their place."""
    zone, places = side.contents(), {tag: place for place, (_, _, tag) in enumerate(side.keys())}
    found = []
    for name, ttl, rdata in zone.iterate_rdatas():
        what = rdata.to_text()
        if rdata.rdtype == dns.rdatatype.RRSIG:
            covered = dns.rdatatype.to_text(rdata.type_covered)
            what = (covered, rdata.algorithm, rdata.labels, rdata.original_ttl, rdata.expiration, rdata.inception, places.get(rdata.key_tag))
        elif rdata.rdtype in (dns.rdatatype.DNSKEY, dns.rdatatype.CDNSKEY):
            what = (rdata.flags, rdata.algorithm, places.get(dns.dnssec.key_id(rdata)))
        elif rdata.rdtype == dns.rdatatype.CDS:
            what = (rdata.key_tag and places.get(rdata.key_tag), rdata.algorithm, rdata.digest_type)
        elif rdata.rdtype in (dns.rdatatype.NSEC3, dns.rdatatype.NSEC3PARAM):   # another salt, other hashes
            name, what = "", " ".join(what.split()[5:]) if rdata.rdtype == dns.rdatatype.NSEC3 else what.split()[:3]
        elif rdata.rdtype == dns.rdatatype.SOA:
            what = rdata.serial
        if rdata.rdtype == dns.rdatatype.RRSIG and rdata.type_covered == dns.rdatatype.NSEC3:
            name = ""
        found.append((str(name), ttl, dns.rdatatype.to_text(rdata.rdtype), str(what)))
    return sorted(found)


class Two:
    """Both servers, moved and compared together."""

    def __init__(self, directory):
        self.clock = Clock(directory / "clock", BEGIN)
        self.sides = [Side("ours", directory, built("knotd", "knotd"), self.clock), Side("debians", directory, DEBIANS_KNOTD, self.clock)]
        self.directory, self.steps = directory, 0
        self.lag = 0    # seconds by which what is due next may be later here, where 3.6 waits longer than 3.2

    def configure(self, *arguments, **more):
        for side in self.sides:
            side.configure(*arguments, **more)

    def start(self):
        for side in self.sides:
            side.start()
        self.compare("the start")

    def act(self, what, *commands):
        """Give both a command of knotc; wait until both have signed; compare."""
        for side in self.sides:
            before = side.signings()
            for command in commands:
                side.daemon.knotc(*command, program="/usr/sbin/knotc")
            side.daemon.wait(lambda s=side, b=before: s.signings() > b, what=lambda: f"{what}: signing again")
        self.compare(what)

    def reload(self, policy, what, **more):
        self.configure(policy, **more)
        self.act(what, ["reload"])

    def keymgr(self, function, *words):
        """A command for a key that `function` takes from each side's list."""
        for side in self.sides:
            key = function(side.keys()) if function else None
            side.keymgr(words[0], *([f"keytag={key[2]}"] if key else []), *words[1:])

    def move(self, when, what):
        what = f"{what} at {when - BEGIN} s"
        has_signed = [side.move(when) for side in self.sides]   # ours first: it is stopped when the clock is set
        for side, condition in zip(self.sides, has_signed):
            side.daemon.wait(condition, what=lambda: f"{what}: signing again")
        self.compare(what)

    def run(self, until, most=60):
        """Go from event to event until a time."""
        for _ in range(most):
            when = self.next_time()
            if when is None or when > until:
                return
            self.move(when, "an event")
        raise AssertionError(f"more than {most} events")

    def next_time(self):
        """When both want to sign next; None: not by themselves."""
        ours, theirs = [side.next_time() for side in self.sides]
        assert ours == theirs or (self.lag and ours - theirs == self.lag), self.differences("the next time", ours, theirs)
        assert ours is None or ours > self.clock.now, (ours, self.clock.now)
        return ours

    def run_until_ready(self):
        """To the time at which a KSK waits for its DS."""
        for _ in range(20):
            if any(key[0][0] == "yes" and key[1][2] and not key[1][3] for key in self.sides[0].keys()):
                return
            self.move(self.next_time(), "an event")
        raise AssertionError("no KSK is ready")

    def publish(self, parent):
        """The parent gets the DS records of both; then both ask for them."""
        change = dns.update.UpdateMessage(".")
        change.delete("example.", "DS")
        for side in self.sides:
            for rdata in side.contents().get_rdataset("example.", "CDS"):
                change.add("example.", 7200, "DS", rdata.to_text())
        assert dns.query.tcp(change, "127.0.0.1", port=parent.port, timeout=10).rcode() == 0
        when = self.clock.now + HOUR
        for side in self.sides:
            before = side.signings()
            side.move(when)
            side.daemon.wait_log("KSK submission, confirmed", count=1 + side.confirmed)
            side.confirmed += 1
            # Once as it was asked to, and once with the new state.
            side.daemon.wait(lambda s=side, b=before: s.signings() >= b + 2, what="signing with the confirmed key")
        self.compare("the DS is there")

    def differences(self, what, ours, theirs):
        return f"{what}, step {self.steps}, {self.clock.now - BEGIN} s after the beginning\nours:   {ours}\ntheirs: {theirs}\n{self.sides[0].daemon.log()[-3000:]}"

    def compare(self, what):
        self.steps += 1
        ours, theirs = self.sides
        values = [[key[:2] for key in side.keys()] for side in self.sides]
        assert values[0] == values[1], self.differences(f"keys after {what}", *values)
        values = [side.lines() for side in self.sides]
        assert values[0] == values[1], self.differences(f"log after {what}", *["\n".join(value) for value in values])
        values = [set(shape_of(side)) for side in self.sides]
        mine, other = values[0] - values[1], values[1] - values[0]
        # Where keys of another algorithm begin to sign, 3.2 makes some signatures again that were good.
        kept = {row for row in mine if self.as_new(row) in other}
        assert mine == kept and other == {self.as_new(row) for row in kept}, self.differences(f"zone after {what}", sorted(mine), sorted(other))
        zone = ours.contents()
        if zone.get_rdataset("example.", "DNSKEY") is not None:
            zone.to_file(str(self.directory / "zone"), relativize=False)
            fault = complaint(self.directory / "zone", "example.", self.clock.now)
            assert not fault, f"{what}: {fault}"

    def as_new(self, row):
        """A signature of shape_of() as if it had been made now."""
        return (*row[:3], re.sub(r"\d{10}, \d{10}", f"{self.clock.now + 14 * DAY}, {self.clock.now - 5400}", row[3]))

    def states(self):
        return [key[0] for key in self.sides[0].keys()]


@pytest.fixture(name="two")
def make_two(tmp_path):
    made = Two(tmp_path)
    yield made
    faults = []
    for side in made.sides:
        try:
            side.daemon.finish()
        except AssertionError as error:
            faults.append(str(error))
    assert not [fault for fault in faults if made.sides[0].daemon.dir.name in fault], faults


SUBMITTED = ["zone-ksk-submitted", "example"]


@pytest.mark.parametrize("chain", [[], ["nsec3: on", "nsec3-salt-lifetime: 20d"]])
def test_zsk(two, chain):
    """Two rollovers by lifetime, with signatures renewed between them, and the salt."""
    two.configure(["zsk-lifetime: 30d", *chain])
    two.start()
    two.act("submission", SUBMITTED)
    two.run(BEGIN + 70 * DAY)
    assert two.steps > 10 and len(two.states()) == 2


def test_ksk(two):
    two.configure(["ksk-lifetime: 60d"])
    two.start()
    two.act("submission", SUBMITTED)
    two.run(BEGIN + 59 * DAY)
    two.run_until_ready()
    two.move(two.clock.now + 5 * HOUR, "while the KSK waits")
    two.act("submission", SUBMITTED)
    two.run(two.clock.now + 30 * DAY)
    assert len(two.states()) == 2
    two.act("a forced rollover", ["zone-key-rollover", "example", "ksk"])
    two.run_until_ready()
    two.act("submission", SUBMITTED)
    two.run(two.clock.now + 10 * DAY)
    assert len(two.states()) == 2


def test_csk(two):
    two.configure(["single-type-signing: on", "ksk-lifetime: 60d"])
    two.start()
    two.act("submission", SUBMITTED)
    two.run(BEGIN + 59 * DAY)
    two.run_until_ready()
    two.act("submission", SUBMITTED)
    two.lag = HOUR      # 3.6 removes a CSK when no cache has its signatures any more, zone-max-ttl later than 3.2
    two.move(two.next_time(), "the end of the old CSK")
    two.lag = 0
    two.run(two.clock.now + 20 * DAY)
    assert two.states() == [("yes", "yes", "13")]


@pytest.mark.parametrize("algorithm", ["ed25519", "ecdsap384sha384", "rsasha256"])
def test_algorithm(two, algorithm):
    """Conservative: new signatures, then keys, then the DS; and the other way round."""
    two.configure([])
    two.start()
    two.act("submission", SUBMITTED)
    two.move(BEGIN + 5 * DAY, "a while")
    two.reload([f"algorithm: {algorithm}"], "another algorithm")
    two.run_until_ready()
    two.act("submission", SUBMITTED)
    two.run(two.clock.now + 12 * DAY)
    number = {"ed25519": "15", "ecdsap384sha384": "14", "rsasha256": "8"}[algorithm]
    assert sorted(two.states()) == [("no", "yes", number), ("yes", "no", number)]


@pytest.mark.parametrize("first,other", [([], ["single-type-signing: on"]), (["single-type-signing: on"], [])])
def test_scheme(two, first, other):
    """From KSK and ZSK to CSK, and back."""
    two.configure(first)
    two.start()
    two.act("submission", SUBMITTED)
    two.move(BEGIN + 5 * DAY, "a while")
    two.reload(other, "another scheme")
    two.run_until_ready()
    two.act("submission", SUBMITTED)
    two.lag = 0 if other else HOUR  # the end of a CSK
    two.move(two.next_time(), "the end of the old keys")
    two.lag = 0
    two.run(two.clock.now + 12 * DAY)
    assert len(two.states()) == (1 if other else 2)


def test_insecure(two):
    """CDS and CDNSKEY say that the DS has to go; then signing is turned off, and the zone is as its operator left it."""
    two.configure([])
    two.start()
    two.act("submission", SUBMITTED)
    two.move(BEGIN + 5 * DAY, "a while")
    two.reload(["cds-cdnskey-publish: delete-dnssec"], "the wish to go insecure")
    two.run(BEGIN + 20 * DAY)
    assert [rdata.to_text() for rdata in two.sides[0].contents().get_rdataset("example.", "CDS")] == ["0 0 0 00"]
    two.reload([], "signing as before")


def test_manual(two):
    """Keys of an operator's, with times of the operator's: nothing rolls by itself, and each time is kept."""
    two.configure(["manual: on"])
    zsk, later = ["generate", "algorithm=13"], ["publish=+10d", "active=+11d", "retire=+40d", "remove=+41d"]
    for side in two.sides:
        side.keymgr("generate", "ksk=yes", "algorithm=13")
        side.keymgr(*zsk, "retire=+11d", "remove=+13d")
        side.keymgr(*zsk, *later)
    two.start()
    two.run(BEGIN + 12 * DAY)
    assert two.steps >= 3
    two.keymgr(lambda keys: keys[-1], "set", "retire=+30d", "remove=+31d")
    two.act("keys that were changed", ["zone-keys-load", "example"])
    two.run(BEGIN + 30 * DAY)


PARENT = "$TTL 7200\n@ SOA ns1 admin 10 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\nexample NS ns.example\nns.example A 192.0.2.1\n"


def test_parent(two, tmp_path):
    """Both ask one parent for the DS of their KSK; the old key goes when no cache has the old DS."""
    (tmp_path / "parent" / "db").mkdir(parents=True)
    parent = Knotd(tmp_path / "parent")
    parent.write("root.zone", PARENT)
    parent.configure(text="acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: update\ntemplate:\n  - id: default\n    acl: all\n    zonefile-sync: -1\n"
                     f"zone:\n  - domain: .\n    file: {parent.dir}/root.zone\n")
    parent.start()
    try:
        two.configure(["ksk-lifetime: 30d", "ksk-submission: s"],
                      more=f"remote:\n  - id: parent\n    address: 127.0.0.1@{parent.port}\nsubmission:\n  - id: s\n    parent: parent\n    check-interval: 1h\n"
                           "    parent-delay: 1d\n")
        two.start()
        two.publish(parent)
        two.run(BEGIN + 29 * DAY)
        two.run_until_ready()
        two.publish(parent)
        two.run(two.clock.now + 10 * DAY)
        assert len(two.states()) == 2
    finally:
        parent.finish()
