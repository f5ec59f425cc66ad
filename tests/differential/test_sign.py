# SPDX-License-Identifier: BSD-2-Clause
"""Zones that src/sign signed, whole and by changes, are right for others: the validators of harness/validators.py find no fault;
dnssec-signzone makes the same chain of NSEC or NSEC3 for the same zone, kzonesign the same chain and signatures of the same sets for the same time.
guards: RFC 4034, 4035, 5155

Zones are random, from KNOT_SEED on: delegations with and without DS, glue, names below cuts, wildcards, empty non-terminals.
"""
import os
import random
import subprocess
import time

import dns.dnssec
import dns.name
import dns.rdataclass
import dns.rdatatype
import dns.zone
import pytest

from harness.server import BUILD
from harness.validators import complaint

SEED = int(os.environ.get("KNOT_SEED", 1))
KINDS = {"nsec": [], "nsec3": ["-3"], "opt-out": ["-A", "-3"]}
DS = "12345 13 2 " + "AB" * 32
LABELS = ["a", "b", "B2", "www", "x-1", "*", "ns", "_tcp"]


class World:
    """A zone of names with kinds of records, which may be changed."""

    def __init__(self, rng):
        self.rng, self.names, self.serial = rng, {}, 1
        for _ in range(rng.randrange(3, 40)):
            self.change()

    def change(self):
        """Give a random name other records, or none."""
        depth = self.rng.choice([1, 1, 1, 2, 2, 3, 4])
        name = ".".join(self.rng.choice(LABELS[:5] if i else LABELS) for i in range(depth))
        self.serial += 1
        if self.rng.random() < 0.25:
            self.names.pop(name, None)
        else:
            kind = self.rng.choice(["plain", "plain", "many", "cut", "cut", "secure", "cname"])
            # dnssec-verify refuses a wildcard that is a cut.
            self.names[name] = "plain" if "*" in name and kind in ("cut", "secure") else kind

    def text(self):
        lines = ["$TTL 3600", f"@ SOA ns hostmaster {self.serial} 2 3 4 600", "@ NS ns.elsewhere.", "@ MX 5 mail"]
        for name, kind in self.names.items():
            lines += {
                "plain": [f"{name} 300 A 192.0.2.1"],
                "many": [f"{name} TXT {i}" for i in range(5)] + [f"{name} A 192.0.2.2", f"{name} AAAA 2001:db8::1", f"{name} CAA 0 issue x",
                                                               f"{name} MX 1 MAIL.Example.", f"{name} TYPE65280 \\# 1 00"],
                "cut": [f"{name} NS glue.{name}", f"glue.{name} A 192.0.2.3"],
                "secure": [f"{name} NS ns.elsewhere.", f"{name} DS {DS}"],
                "cname": [f"{name} CNAME www"],
            }[kind]
        return "\n".join(lines) + "\n"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def sign(out, kind, salt, iterations, *files):
    """Sign the first file and, as a change, what the second one has otherwise."""
    done = run(BUILD / "tests/differential/sign_file", "example.", files[0], kind, salt, iterations, 2, int(time.time()), *files[1:])
    out.write_text(done.stdout)
    return done.stderr


def chain_of(path):
    """{(owner, type): (next name, types in the bitmap)} and NSEC3 parameters, of a zone file."""
    zone = dns.zone.from_file(str(path), origin="example.", relativize=False, check_origin=False)
    chain = {}
    for name, rdataset in zone.iterate_rdatasets():
        if rdataset.rdtype in (dns.rdatatype.NSEC, dns.rdatatype.NSEC3, dns.rdatatype.NSEC3PARAM):
            for rdata in rdataset:
                chain[name, rdataset.rdtype] = rdataset.ttl, rdata.to_text().lower()  # BIND keeps the case of names
    return chain


def check(path):
    """No fault; and each set has one signature, by the key for it."""
    fault = complaint(path)
    assert not fault, fault
    zone = dns.zone.from_file(str(path), origin="example.", relativize=False)
    flags = {dns.dnssec.key_id(key): key.flags for key in zone.get_rdataset("example.", "DNSKEY")}
    for name, rdataset in zone.iterate_rdatasets():
        if rdataset.rdtype == dns.rdatatype.RRSIG:
            assert [flags[rdata.key_tag] for rdata in rdataset] == [257 if rdataset.covers == dns.rdatatype.DNSKEY else 256], (name, rdataset.covers)


@pytest.fixture(scope="module")
def bind_keys(tmp_path_factory):
    """The folder of a pair of keys for dnssec-signzone."""
    folder = tmp_path_factory.mktemp("keys")
    for flags in ([], ["-f", "KSK"]):
        run("dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", *flags, "-K", folder, "example.")
    return folder


def chain_by_bind(path, out, kind, salt, iterations, keys):
    options = [] if kind == "nsec" else [*KINDS[kind], salt, "-H", iterations]
    run("dnssec-signzone", "-q", "-S", "-P", "-N", "keep", "-T", 3600, "-K", keys, "-o", "example.", "-f", out, *options, path, cwd=out.parent)
    # BIND gives NSEC3PARAM the TTL 0, Knot that of the chain.
    return {(name, rdtype): (600 if rdtype == dns.rdatatype.NSEC3PARAM else ttl, text) for (name, rdtype), (ttl, text) in chain_of(out).items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(SEED, SEED + 8))
def test_zones(tmp_path, bind_keys, kind, seed):
    rng = random.Random(f"{kind} {seed}")
    world = World(rng)
    salt, iterations = rng.choice(["-", "AB", "0102030405060708"]), rng.choice([0, 0, 3])
    before, after, bind = tmp_path / "before", tmp_path / "after", tmp_path / "bind"
    before.write_text(world.text())
    whole, part = tmp_path / "whole", tmp_path / "part"
    sign(whole, kind, salt, iterations, before)
    check(whole)
    assert chain_of(whole) == chain_by_bind(before, bind, kind, salt, iterations, bind_keys)
    for _ in range(5):
        for _ in range(rng.randrange(1, 5)):
            world.change()
        after.write_text(world.text())
        said = sign(part, kind, salt, iterations, before, after)
        assert "change part" in said
        check(part)
        sign(whole, kind, salt, iterations, after)
        ours, wanted = chain_of(part), chain_of(whole)
        assert ours == wanted
        assert ours == chain_by_bind(after, bind, kind, salt, iterations, bind_keys)
        before.write_text(after.read_text())


KNOT_CONF = """\
database:
    storage: {folder}
policy:
  - id: p
    algorithm: ecdsap256sha256
    nsec3: {nsec3}
    nsec3-opt-out: {opt_out}
    nsec3-salt-length: 0
    nsec3-iterations: 0
    rrsig-lifetime: 14d
    rrsig-refresh: 1d
    cds-cdnskey-publish: none
zone:
  - domain: example
    storage: {folder}
    file: plain
    dnssec-signing: on
    dnssec-policy: p
"""


def signatures_of(path):
    """[(owner, type covered, labels, TTLs, lifetime, flags of the key)], in order."""
    zone = dns.zone.from_file(str(path), origin="example.", relativize=False)
    flags = {dns.dnssec.key_id(key): key.flags for key in zone.get_rdataset("example.", "DNSKEY")}
    return sorted((str(name).lower(), rdata.type_covered, rdata.labels, rdata.original_ttl, rdataset.ttl, rdata.expiration - rdata.inception,
                   flags[rdata.key_tag])
                  for name, rdataset in zone.iterate_rdatasets() if rdataset.rdtype == dns.rdatatype.RRSIG for rdata in rdataset)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_as_knot(tmp_path, kind, seed):
    world = World(random.Random(f"knot {kind} {seed}"))
    (tmp_path / "plain").write_text(world.text())
    (tmp_path / "knot").mkdir()
    (tmp_path / "knot.conf").write_text(KNOT_CONF.format(folder=tmp_path, nsec3="off" if kind == "nsec" else "on",
                                                         opt_out="on" if kind == "opt-out" else "off"))
    run("kzonesign", "-c", tmp_path / "knot.conf", "-o", tmp_path / "knot", "example.")
    sign(tmp_path / "ours", kind, "-", 0, tmp_path / "plain")
    assert chain_of(tmp_path / "ours") == chain_of(tmp_path / "knot/plain")
    assert signatures_of(tmp_path / "ours") == signatures_of(tmp_path / "knot/plain")
