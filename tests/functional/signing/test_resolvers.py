# SPDX-License-Identifier: BSD-2-Clause
"""Zones that we sign, asked about by validating resolvers: unbound, knot-resolver and delv find each answer secure or insecure as a model says,
and none bogus. Names that are there, and all that are nearly there; also while keys roll.

KNOT_RESOLVED=all: each algorithm with each kind of chain, and more of delv.
"""
import os
import random
import re
import subprocess

import dns.dnssec
import pytest

from functional.signing.resolved_world import ALGORITHMS, ALL, CHAINS, FEW, ROOT_ADDRESS, ROOT_NS, ZONES_ADDRESS, World
from harness.net import Alone, may_make_namespaces
from harness.resolvers import Client, Root, ask_delv, start_kresd, start_unbound
from harness.server import built

pytestmark = pytest.mark.skipif(not may_make_namespaces(), reason="network namespaces need root")

IS_ALL = os.environ.get("KNOT_RESOLVED") == "all"
UNBOUND_ADDRESS, KRESD_ADDRESS = "192.0.2.53", "192.0.2.54"

# What they get wrong: (resolver, of which answer, why). An answer: name, type, what it said, (RCODE, is secure) as the model says.
EXCEPTIONS = [
    ("unbound", lambda name, rdtype, verdict, model: rdtype == "CNAME" and verdict.rcode == "NXDOMAIN" and model[0] == "NOERROR",
     "to hide the type, unbound asks for A first (RFC 9156); where the alias leads to no name, it takes that RCODE for its answer"),
    ("delv", lambda name, rdtype, verdict, model: "optout" in name and verdict.rcode == model[0] and verdict.is_secure,
     "it calls what a span with opt-out denies fully validated; RFC 5155 9.2 has no AD for that"),
]
SEED = int(os.environ.get("KNOT_SEED", 1))


def keymgr(daemon, zone, *words):
    return subprocess.run([built("keymgr", "tools"), "-c", str(daemon.path), str(zone), *words], capture_output=True, text=True, check=True, timeout=60).stdout


def policy_id(zone):
    return f"p{zone.algorithm}{zone.chain}"


# Rollovers of seconds: each DS comes to the root by itself, and is looked for there.
ROLLING = """\
remote:
  - id: root
    address: 192.0.2.1@53
submission:
  - id: s
    parent: root
    check-interval: 1
"""
ROLLING_POLICY = ["propagation-delay: 1", "dnskey-ttl: 1", "zone-max-ttl: 1", "ksk-submission: s", "ds-push: root", "rrsig-lifetime: 1h", "rrsig-refresh: 10m",
                  "rrsig-pre-refresh: 1m"]


def configure(daemon, zones, address, is_rolling=False):
    text = "acl:\n  - id: all\n    address: 192.0.2.0/24\n    action: [ update, transfer ]\n" + (ROLLING if is_rolling else "") + "policy:\n"
    for algorithm, chain in sorted({(zone.algorithm, zone.chain) for zone in zones if zone.chain}):
        items = [f"algorithm: {ALGORITHMS[algorithm]}", "zsk-lifetime: 0", *(ROLLING_POLICY if is_rolling else ["cds-cdnskey-publish: always"]), *CHAINS[chain]]
        text += f"  - id: p{algorithm}{chain}\n" + "".join(f"    {item}\n" for item in items)
    text += "template:\n  - id: default\n    zonefile-sync: -1\n    acl: all\nzone:\n"
    for zone in zones:
        text += f"  - domain: {zone.name}\n    file: {daemon.dir}/{zone.name}zone\n"
        if zone.chain:
            text += f"    dnssec-signing: on\n    dnssec-policy: {policy_id(zone)}\n"
    daemon.port = 53
    daemon.configure(listen=(address,), text=text)


def write(daemon, zone, signed_by):
    """The zone's file; DS records come from the keys of the zones below."""
    lines = [f"$TTL {zone.ttl}", f"$ORIGIN {zone.name}"]
    for owner, types in zone.records.items():
        for rdtype, rows in types.items():
            if rdtype == "DS":
                lines += [line.split("DS", 1)[0] + "DS" + line.split("DS", 1)[1] for line in keymgr(signed_by[owner], owner, "ds").splitlines()]
            else:
                lines += [f"{owner} {rdtype} {' '.join(words)}" for words in rows]
    (daemon.dir / f"{zone.name}zone").write_text("\n".join(lines) + "\n")


class Scene:
    """Two daemons: the root and the zones at the bottom; and the zones between. Keys are made before they start."""

    def __init__(self, make_knotd, namespace, kinds, is_rolling=False):
        self.world, self.namespace = World(kinds, ttl=1 if is_rolling else 300), namespace
        self.low, self.high = make_knotd(namespace, "low"), make_knotd(namespace, "high")
        tops = self.world.tops
        others = [zone for zone in self.world.zones.values() if zone not in tops]
        signed_by = {}
        for daemon, zones, address in ((self.low, others, ROOT_ADDRESS), (self.high, tops, ZONES_ADDRESS)):
            (daemon.dir / "db").mkdir()
            configure(daemon, zones, address, is_rolling and daemon is self.high)
            for zone in zones:
                signed_by[zone.name] = daemon
                for role in ("ksk=yes", "zsk=yes") if zone.chain else ():
                    keymgr(daemon, zone.name, "generate", role, *(["size=1024"] if zone.algorithm in (8, 10) else []))
        for daemon, zones in ((self.low, others), (self.high, tops)):
            for zone in zones:
                write(daemon, zone, signed_by)
            daemon.start(ready=False)
        for daemon in (self.low, self.high):
            daemon.wait_ready()
        self.anchor = keymgr(self.low, ".", "dnskey").replace(" DNSKEY", " 3600 IN DNSKEY")
        self.root = Root(ROOT_NS, ROOT_ADDRESS, self.anchor)

    def questions(self):
        return sorted({question for zone in self.world.zones.values() for question in self.world.questions(zone)})

    def faults(self, found, who):
        """Lines about what a resolver found otherwise than the model."""
        lines = []
        for (name, rdtype), verdict in found.items():
            rcode, is_secure = self.world.find(name, rdtype)
            is_right = (verdict.rcode, verdict.is_secure) == (rcode, is_secure)
            if not is_right and not any(who == whose and applies(name, rdtype, verdict, (rcode, is_secure)) for whose, applies, _ in EXCEPTIONS):
                lines.append(f"{who}: {name} {rdtype}: {verdict.rcode} {'secure' if verdict.is_secure else 'insecure'}, not {rcode} "
                             f"{'secure' if is_secure else 'insecure'}; {verdict.why}")
        return lines


@pytest.fixture(name="alone")
def make_alone():
    with Alone([ROOT_ADDRESS, ZONES_ADDRESS, UNBOUND_ADDRESS, KRESD_ADDRESS]) as made:
        yield made


@pytest.fixture(name="resolvers")
def make_resolvers(directory, alone):
    made = []

    def start(root):
        made.append(start_unbound(directory / "unbound", alone.name, UNBOUND_ADDRESS, root))
        made.append(start_kresd(directory / "kresd", alone.name, KRESD_ADDRESS, root))
        return made
    yield start
    for resolver in made:
        resolver.stop()


def test_all_names(make_knotd, alone, resolvers):
    """Each is asked all questions in one order, with its cache, and with denials that it makes itself from NSEC and NSEC3 records (RFC 8198)."""
    scene = Scene(make_knotd, alone.name, ALL if IS_ALL else FEW)
    questions = scene.questions()
    random.Random(SEED).shuffle(questions)
    faults = []
    for resolver, who in zip(resolvers(scene.root), ("unbound", "kresd")):
        faults += scene.faults(Client(resolver).ask(questions), who)
    assert not faults, f"{len(faults)} of {len(questions)}\n" + "\n".join(faults[:60])


def test_delv(make_knotd, alone, directory):
    """It asks one server about one zone, which has the trust anchor."""
    scene = Scene(make_knotd, alone.name, ALL if IS_ALL else FEW)
    dice = random.Random(SEED)
    faults, seen = [], set()
    for zone in scene.world.tops:
        anchor = directory / f"{zone.name}anchor"
        words = [line.split(" ", 5) for line in keymgr(scene.high, zone.name, "dnskey").splitlines()]
        anchor.write_text("trust-anchors {\n" + "".join(f'    {name} static-key {flags} {protocol} {algorithm} "{key}";\n'
                                                        for name, _, flags, protocol, algorithm, key in words) + "};\n")
        questions = [question for question in scene.world.questions(zone) if scene.world.stays_in(zone, *question)]
        found = {question: ask_delv(alone.name, ZONES_ADDRESS, anchor, zone.name, *question) for question in dice.sample(questions, 60 if IS_ALL else 20)}
        faults += scene.faults(found, "delv")
        seen |= {(verdict.rcode, verdict.is_secure) for verdict in found.values()}
    assert not faults, f"{len(faults)}\n" + "\n".join(faults[:60])
    assert seen >= {(rcode, True) for rcode in ("NOERROR", "NXDOMAIN")}


def tags(scene, zone):
    return {dns.dnssec.key_id(key) for key in scene.high.ask(str(zone.name), "DNSKEY", ZONES_ADDRESS, tcp=True).answer[0]}


def test_while_keys_roll(make_knotd, alone, resolvers):
    """ZSK, KSK, algorithm: resolvers that ask all the time, with what they have cached, never see anything else than the model does."""
    scene = Scene(make_knotd, alone.name, [(13, "nsec"), (13, "nsec3"), (13, "optout")], is_rolling=True)
    dice = random.Random(SEED)
    asked = [(Client(resolver), who) for resolver, who in zip(resolvers(scene.root), ("unbound", "kresd"))]
    by_zsk, by_ksk, by_algorithm = scene.world.tops
    before = {zone.name: tags(scene, zone) for zone in scene.world.tops}
    scene.high.knotc("zone-key-rollover", str(by_zsk.name), "zsk")
    scene.high.knotc("zone-key-rollover", str(by_ksk.name), "ksk")
    text = scene.high.path.read_text()
    scene.high.conf(text.replace("p13optout\n    algorithm: ecdsap256sha256", "p13optout\n    algorithm: ed25519"))
    scene.high.knotc("reload")
    questions, rounds, faults = scene.questions(), 0, []
    wanted = {by_zsk.name: 1, by_ksk.name: 1, by_algorithm.name: 0}   # keys that stay

    def is_over():
        nonlocal rounds
        rounds += 1
        for client, who in asked:
            faults.extend(scene.faults(client.ask(dice.sample(questions, 60)), who))
        assert not faults, f"round {rounds}: {len(faults)}\n" + "\n".join(faults[:60])
        now = {zone.name: tags(scene, zone) for zone in scene.world.tops}
        return all(len(now[name]) == 2 and len(now[name] & before[name]) == stay for name, stay in wanted.items())
    scene.high.wait(is_over, 60, "the end of all rollovers")
    assert rounds >= 5, "few questions were asked meanwhile"
    assert len(re.findall("KSK submission, confirmed", scene.high.log())) >= 2
    for client, who in asked:
        faults = scene.faults(client.ask(questions), who)
        assert not faults, f"{len(faults)}\n" + "\n".join(faults[:60])
