# SPDX-License-Identifier: BSD-2-Clause
"""Items of policies that change which records are there: shared keys, ADT, digests, revoked keys, unsafe operations. Knot DNS passes all but those marked `ours`."""
import json
import shutil
import subprocess
import time

import dns.dnssec
import dns.rdatatype
import pytest

from functional.signing.test_signing import ACL, ZONE, check, contents, serial, start, write
from harness import lmdb
from harness.server import built

pytestmark = pytest.mark.core


def keymgr(daemon, *words):
    done = subprocess.run([built("keymgr", "tools"), "-c", str(daemon.dir / "knot.conf"), *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def records(daemon, kind, zone="example"):
    answer = daemon.ask(zone, kind).answer
    return list(answer[0]) if answer else []


def test_digest_type(make_knotd):
    daemon = start(make_knotd(), ["cds-digest-type: sha384"])
    check(daemon)
    cds, = records(daemon, "CDS")
    assert (cds.digest_type, len(cds.digest)) == (4, 48)


def test_key_tags(make_knotd):
    """All tags of new keys have the remainder, and each is another one."""
    daemon = start(make_knotd(), ["keytag-modulo: 3/16"])
    check(daemon)
    tags = {dns.dnssec.key_id(rdata) for rdata in records(daemon, "DNSKEY")}
    assert len(tags) == 2 and {tag % 16 for tag in tags} == {3}


@pytest.mark.ours
def test_adt(make_knotd):
    """Bit 14 of new keys says that delegations of this zone may be DELEG records; the keys sign as others do."""
    daemon = start(make_knotd(), ["deleg-adt: on"])
    assert sorted(rdata.flags for rdata in records(daemon, "DNSKEY")) == [258, 259]
    check(daemon)
    assert {key["adt"] for key in json.loads(keymgr(daemon, "-j", "example.", "list"))} == {True}
    daemon.stop()
    start(daemon, [])
    daemon.knotc("zone-key-rollover", "example", "zsk")
    daemon.wait(lambda: sorted(rdata.flags for rdata in records(daemon, "DNSKEY")) == [256, 258, 259], what="a new key without it")
    check(daemon)


def test_shared_ksk(make_knotd):
    """Zones of the policy have one KSK, each its own ZSK; another policy has another."""
    daemon = make_knotd()
    names = ["a.example", "b.example", "other.example"]
    (daemon.dir / "db").mkdir()
    daemon.configure(zones=[], text=f"{ACL}policy:\n  - id: p\n    ksk-shared: on\n  - id: q\n    ksk-shared: on\ntemplate:\n  - id: default\n    storage: {daemon.dir}\n    acl: all\n    dnssec-signing: on\n"
                     "    dnssec-policy: p\n    zonefile-sync: -1\nzone:\n" + "".join(f"  - domain: {name}\n" for name in names) + "    dnssec-policy: q\n")
    for name in names:
        daemon.write(f"{name}.zone", ZONE.replace("$ORIGIN example.", f"$ORIGIN {name}.").format(serial=10, host=2))
    daemon.start()
    daemon.wait(lambda: all(records(daemon, "DNSKEY", name) for name in names), what="the zones")
    keys = {name: {role: {rdata.key for rdata in records(daemon, "DNSKEY", name) if rdata.flags == role} for role in (256, 257)} for name in names}
    assert keys["a.example"][257] == keys["b.example"][257] != keys["other.example"][257]
    assert len(keys["a.example"][256] | keys["b.example"][256] | keys["other.example"][256]) == 3


@pytest.mark.ours
def test_revoked_key(make_knotd):
    """A revoked KSK signs the keys with its new tag as long as it is there (RFC 5011 2.1)."""
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    policy = "policy:\n  - id: p\n    manual: on\n    cds-cdnskey-publish: none\n"
    daemon.configure(zones=["example"], text=f"{ACL}{policy}template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    since = ["publish=-3h", "ready=-3h", "active=-3h"]     # so that caches know all of them
    old, _, _ = (keymgr(daemon, "example.", "generate", *since, *words).strip() for words in (["ksk=yes"], ["ksk=yes"], []))
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    check(daemon)
    keymgr(daemon, "example.", "set", old, "revoke=now")
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait(lambda: any(rdata.flags == 385 for rdata in records(daemon, "DNSKEY")), what="the revoked key")
    check(daemon)
    revoked = next(rdata for rdata in records(daemon, "DNSKEY") if rdata.flags == 385)
    signatures = daemon.ask("example", "DNSKEY", want_dnssec=True).answer[1]
    assert dns.dnssec.key_id(revoked) in {rdata.key_tag for rdata in signatures} and len(signatures) == 2
    keymgr(daemon, "example.", "set", old, "retire=now", "remove=now")
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait(lambda: not any(rdata.flags == 385 for rdata in records(daemon, "DNSKEY")), what="its end")
    check(daemon)


@pytest.mark.ours
def test_manual_submission(make_knotd):
    """Under a manual policy only timers move keys, and several KSKs that wait for their DS records are worth a warning."""
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    daemon.configure(zones=["example"], text=f"{ACL}policy:\n  - id: p\n    manual: on\ntemplate:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    for words in (["ksk=yes", "active=0"], ["ksk=yes", "active=0"], []):
        keymgr(daemon, "example.", "generate", "publish=-3h", *words)
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    daemon.wait_log(r"warning: \[example\.\] DNSSEC, published CDS/CDNSKEY records for too many \(2\) keys")
    daemon.knotc("zone-ksk-submitted", "example")
    daemon.wait_log(r"warning: \[example\.\] DNSSEC, ignoring KSK submission due to manual policy")
    assert {key["active"] for key in json.loads(keymgr(daemon, "-j", "example.", "list")) if key["ksk"]} == {0}
    assert "KSK submission, confirmed" not in daemon.log()


def test_rsasha1_with_nsec3(make_knotd):
    """RFC 5155 2: signers of that algorithm number use NSEC. Nothing is signed, so the zone isn't served."""
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    daemon.configure(zones=["example"], text=f"{ACL}policy:\n  - id: p\n    algorithm: rsasha1\n    ksk-size: 1024\n    zsk-size: 1024\n    nsec3: on\ntemplate:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    daemon.start()
    daemon.wait_log(r"DNSSEC, key \d+ cannot be used with NSEC3", count=2)
    daemon.wait_log(r"no keys for signing")
    assert serial(daemon) is None


@pytest.mark.ours
@pytest.mark.parametrize("first, then", [("timer", "timer"), ("kasp", "timer"), ("timer", "kasp")])
def test_last_serial(make_knotd, first, then):
    """The serial that was signed last is in the database of dnssec-metadata-db; without anything else, and after a change to the other one, the zone goes on from there."""
    daemon = start(make_knotd(), [], [f"dnssec-metadata-db: {first}"])
    for wanted in (12, 13):
        daemon.knotc("-b", "zone-sign", "example")
        daemon.wait(lambda w=wanted: serial(daemon) == w, what="a serial")
    daemon.stop()
    assert keymgr(daemon, "example.", "local-serial") == ("-- no serial --\n" if first == "timer" else "Current serial: 13\n")
    timers = b"".join(lmdb.read(daemon.dir / "db" / "timers").values()) if (daemon.dir / "db" / "timers").exists() else b""
    assert (b"\x8d" + (1 << 32 | 13).to_bytes(8, "big") in timers) == (first == "timer")
    for path in (daemon.dir / "db").iterdir():
        if path.name not in ("keys", "timers"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    start(daemon, [], [f"dnssec-metadata-db: {then}"])
    assert serial(daemon) == 14


# ---- unsafe-operation ----

@pytest.mark.ours
def test_no_update_dnskey(make_knotd):
    """The apex keeps the keys that the file has, which others take care of."""
    daemon = make_knotd()
    write(daemon, more="@ DNSKEY 256 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==\n")
    start(daemon, ["unsafe-operation: no-update-dnskey"])
    assert len(records(daemon, "DNSKEY")) == 1 and not records(daemon, "CDS")
    assert daemon.ask("www.example", "A", want_dnssec=True).answer[1:]
    daemon.stop()   # it isn't valid, as it says


@pytest.mark.ours
def test_no_update_nsec(make_knotd):
    """The zone has signatures, and no chain."""
    daemon = start(make_knotd(), ["unsafe-operation: no-update-nsec"])
    made = contents(daemon)
    kinds = {rdataset.rdtype for _, rdataset in made.iterate_rdatasets()}
    assert dns.rdatatype.NSEC not in kinds and dns.rdatatype.RRSIG in kinds
    daemon.stop()


@pytest.mark.ours
def test_no_update_expired(make_knotd):
    """Signatures that expire stay; without it they are renewed."""
    fast = ["rrsig-lifetime: 8", "rrsig-refresh: 2", "rrsig-pre-refresh: 1", "propagation-delay: 0", "dnskey-ttl: 0", "zone-max-ttl: 1"]
    daemon = start(make_knotd(), [*fast, "unsafe-operation: no-update-expired"])
    first = daemon.ask("www.example", "A", want_dnssec=True).answer[1][0]
    expires = daemon.ask("www.example", "A", want_dnssec=True).answer[1][0].expiration
    daemon.wait(lambda: time.time() > expires, 30, "the end of the signatures")
    daemon.knotc("-b", "zone-keys-load", "example")
    assert daemon.ask("www.example", "A", want_dnssec=True).answer[1][0] == first
    daemon.stop()
    start(daemon, fast[3:])
    daemon.wait(lambda: daemon.ask("www.example", "A", want_dnssec=True).answer[1][0] != first, 30, "another signature")


@pytest.mark.ours
def test_no_check_keyset(make_knotd):
    """A set of keys without a KSK signs, which it doesn't otherwise."""
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()

    def configure(more):
        daemon.configure(zones=["example"], text=f"{ACL}policy:\n  - id: p\n    manual: on\n{more}template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")

    configure("")
    keymgr(daemon, "example.", "generate")
    daemon.start()
    daemon.wait_log("DNSSEC, keys validation failed")
    assert serial(daemon) is None
    daemon.stop()
    configure("    unsafe-operation: no-check-keyset\n")
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    assert daemon.ask("www.example", "A", want_dnssec=True).answer[1:] and not daemon.ask("example", "DNSKEY", want_dnssec=True).answer[1:]
    daemon.stop()
