# SPDX-License-Identifier: BSD-2-Clause
"""Versions that aren't published, as they aren't validly signed, or as caches don't know their keys: what the log and others say, what is served, and how it goes on."""
import re
import time
from concurrent.futures import ThreadPoolExecutor

import dns.edns
import dns.rcode
import pytest

from harness.validators import complaint
from test_pkcs11 import Manager, add, keystores, put_other_key, tokens, vanishing  # noqa: F401: fixtures
from test_pkcs11 import configure as configure_tokens
from test_pkcs11 import start as start_tokens
from test_signing import ZONE, check, configure, contents, serial, signatures, start, tags, update, wait_serial, write

pytestmark = [pytest.mark.ours, pytest.mark.core]
MANUAL = ["manual: on", "propagation-delay: 10", "dnskey-ttl: 60", "zone-max-ttl: 60"]


def counter(daemon, name):
    return int(re.search(rf"server\.{name} = (\d+)", daemon.knotc("-f", "stats", "server").stdout).group(1))


def error(daemon):
    return daemon.knotc("zone-status", "example", "+error").stdout


def ede(answer):
    return [option.code for option in answer.options if option.otype == dns.edns.OptionType.EDE]


def test_wrong_signatures(make_knotd, vanishing):   # noqa: F811
    """A token whose sessions begin well and go on with wrong signatures: nothing of that is served, all channels tell it, and it goes on by itself."""
    place, bad = vanishing
    daemon = start_tokens(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    before = check(daemon)
    bad.write_text("1 lies")   # the first of a session is verified when it is made
    assert update(daemon, add("new")) == dns.rcode.SERVFAIL
    daemon.wait_log(r"DNSSEC, incremental validation failed \((no valid signature for a record|invalid signature)\)")
    daemon.wait_log(r"DNSSEC, validation hint: \S*example\. \S+")
    assert re.search(r"no valid signature|invalid signature", error(daemon))
    assert counter(daemon, "zone-proof-refused") >= 1
    answer = daemon.ask("www.example", "A", use_edns=0)
    assert answer.rcode() == dns.rcode.NOERROR and not ede(answer)
    assert signatures(check(daemon)) == signatures(before) and serial(daemon) == 11
    bad.unlink()
    assert update(daemon, add("new")) == dns.rcode.NOERROR
    wait_serial(daemon, 12)
    check(daemon)
    daemon.wait(lambda: "invalid signature" not in error(daemon) and "no valid" not in error(daemon), what="no fault")


def test_first_version_is_refused(make_knotd, vanishing):   # noqa: F811
    """Without a version before, resolvers get SERVFAIL with a reason; when the token is right, the zone is served without being asked to."""
    place, bad = vanishing
    bad.write_text("1 lies")
    daemon = start_tokens(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait_log(r"DNSSEC, validation failed \(")
    answer = daemon.ask("www.example", "A", use_edns=0)
    assert answer.rcode() == dns.rcode.SERVFAIL and ede(answer) == [dns.edns.EDECode.INVALID_DATA]
    bad.unlink()
    daemon.wait(lambda: serial(daemon) is not None, timeout=30, what="the zone")
    check(daemon)


def test_wrong_sessions(make_knotd, vanishing):   # noqa: F811
    """Wrong from the first signature on, as if the token had another key: the log names key and store."""
    place, bad = vanishing
    daemon = start_tokens(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    bad.write_text("0 lies")
    assert update(daemon, add("new")) == dns.rcode.SERVFAIL
    daemon.wait_log(r"DNSSEC, key \d+, failed to load private key \(invalid private key\), keystore hsm")
    assert "invalid private key" in error(daemon) and serial(daemon) == 11
    bad.unlink()
    daemon.wait_log("DNSSEC, zone is up-to-date", timeout=30)
    assert update(daemon, add("new")) == dns.rcode.NOERROR


def keymgr(daemon, *arguments):
    return Manager(daemon.dir).do("example.", *arguments)


def key_of(daemon, is_ksk, is_active=True):
    """The id of a key."""
    keys = Manager(daemon.dir).list()
    return next(i for i, key in keys.items() if key["ksk"] == is_ksk and (key["active"] > 0) == is_active)


def begin_manual(daemon, *more):
    (daemon.dir / "db").mkdir(exist_ok=True)
    daemon.write("example.zone", ZONE.format(serial=10, host=2))
    configure(daemon, MANUAL)
    Manager(daemon.dir).do("example.", "generate", "ksk=yes", "algorithm=13", "publish=-1d", "ready=-1d", "active=-1d")
    Manager(daemon.dir).do("example.", "generate", "ksk=no", "algorithm=13", "publish=-1d", "active=-1d")
    if more:
        Manager(daemon.dir).do("example.", "generate", "algorithm=13", "publish=-1d", "active=0", *more)
    start(daemon, MANUAL)
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")


def refuse(daemon, pattern):
    daemon.knotc("-b", "zone-keys-load", "example", check=False)
    daemon.wait_log(rf"guard rail, new version not published \(key \d+ {pattern}")
    assert "guard rail" in error(daemon) and counter(daemon, "zone-publish-refused") > 0
    assert serial(daemon) == 11
    check(daemon)


def test_zsk_removed_early(make_knotd):
    """Its signatures are cached: the version waits, until force."""
    daemon = make_knotd()
    begin_manual(daemon, "ksk=no")
    old, new = key_of(daemon, False), key_of(daemon, False, False)
    keymgr(daemon, "set", new, "active=+0")
    keymgr(daemon, "set", old, "retire=+0", "remove=+0")
    time.sleep(1.1)   # timers have seconds
    refuse(daemon, "is missing in DNSKEY, but its signatures are cached")
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == dns.rcode.NOERROR   # changes leave DNSKEY as it is
    wait_serial(daemon, 12)
    check(daemon)
    daemon.knotc("-f", "-b", "zone-sign", "example")
    wait_serial(daemon, 13)
    check(daemon)
    daemon.wait_log(r"guard rail overridden by force \(key \d+ is missing")
    assert update(daemon, lambda m: m.delete("new.example.")) == dns.rcode.NOERROR
    wait_serial(daemon, 14)
    check(daemon)


def test_zsk_replaced_in_time(make_knotd):
    daemon = make_knotd()
    begin_manual(daemon, "ksk=no")
    before = tags(daemon, "SOA")
    old, new = key_of(daemon, False), key_of(daemon, False, False)
    keymgr(daemon, "set", new, "active=-1")
    keymgr(daemon, "set", old, "retire=-1")
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait(lambda: not tags(daemon, "SOA") & before, what="the other key")
    assert len(tags(daemon)) == 3
    check(daemon)


def test_ksk_removed_with_its_ds(make_knotd):
    """The parent isn't known to have the DS of the other one."""
    daemon = make_knotd()
    begin_manual(daemon, "ksk=yes")
    old, new = key_of(daemon, True), key_of(daemon, True, False)
    keymgr(daemon, "set", old, "retire=+0", "remove=+0")
    time.sleep(1.1)   # as above
    refuse(daemon, "has stopped signing DNSKEY, and no other key that does is known to have a DS")
    keymgr(daemon, "set", new, "active=-1")
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait(lambda: len(tags(daemon)) == 2, what="one KSK")
    check(daemon)


def test_rollover_waits_for_what_is_served(make_knotd):
    """While versions are refused, keys don't move on: the next step counts from when the one before is served."""
    policy = ["propagation-delay: 1", "dnskey-ttl: 1", "zone-max-ttl: 60", "rrsig-pre-refresh: 10"]
    refusing = ["external-validation: e"], "external:\n  - id: e\n    timeout: 1\n"
    daemon = start(make_knotd(), policy)
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    before, old = tags(daemon, "SOA"), tags(daemon)
    configure(daemon, policy, *refusing)
    daemon.knotc("reload")
    daemon.knotc("-b", "zone-key-rollover", "example", "zsk", check=False)
    daemon.wait_log("ZSK rollover started")
    for _ in range(2):
        time.sleep(2.1)   # timers have seconds: the new key was due to sign
        daemon.knotc("-b", "zone-keys-load", "example", check=False)
    assert serial(daemon) == 11 and tags(daemon) == old
    configure(daemon, policy)
    daemon.knotc("reload")
    daemon.knotc("-b", "zone-keys-load", "example")
    assert len(tags(daemon)) == len(old) + 1 and tags(daemon, "SOA") == before
    check(daemon)
    daemon.wait(lambda: not tags(daemon, "SOA") & before, timeout=30, what="signatures of the new key")
    check(daemon)
    assert "guard rail" not in daemon.log()


# ---- Private keys ----

def test_key_that_will_sign_later(make_knotd):
    """A private key that isn't needed yet is looked at when the server starts, and missed until it is back."""
    daemon = make_knotd()
    begin_manual(daemon, "ksk=no")
    tag = next(key["tag"] for key in Manager(daemon.dir).list().values() if not key["ksk"] and key["active"] == 0)
    path = daemon.dir / "db" / "keys" / "keys" / f"{key_of(daemon, False, False)}.pem"
    other = daemon.dir / "db" / "keys" / "keys" / f"{key_of(daemon, False)}.pem"
    saved = path.read_bytes()
    for text, data in [("private key", other.read_bytes()), ("no private key", None)]:
        daemon.stop()
        path.unlink()
        if data is not None:
            path.write_bytes(data)
        before = daemon.log().count("private key can't be used")
        daemon.start()
        daemon.wait(lambda b=before: daemon.log().count(f"DNSSEC, key {tag}, private key can't be used") > b, what="the flaw")
        daemon.wait(lambda t=text: t in error(daemon) and f"key {tag}" in error(daemon), what="the zone's fault")
        check(daemon)
        assert serial(daemon) is not None
    path.write_bytes(saved)
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait(lambda: f"key {tag}" not in error(daemon), what="no fault")


def test_second_of_two_stores(make_knotd, tokens, directory):   # noqa: F811
    """The first store that has the right key is used, in the order of the configuration; the log names a wrong one before it, or behind it."""
    policy = ["single-type-signing: on", "rrsig-pre-refresh: 10"]
    daemon = start_tokens(make_knotd(), keystores(("good", tokens.place("one"))), policy)
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    key, = Manager(daemon.dir).list()
    tokens.add("two")
    put_other_key(tokens, directory, "two", key)
    for stores in [("bad", "good"), ("good", "bad")]:
        daemon.stop()
        places = {"good": tokens.place("one"), "bad": tokens.place("two")}
        configure_tokens(daemon, keystores(*((name, places[name]) for name in stores)), policy)
        before = daemon.log().count("private key can't be used (invalid private key), keystore bad")
        daemon.start()
        daemon.wait(lambda b=before: daemon.log().count("private key can't be used (invalid private key), keystore bad") > b, what="the flaw")
        daemon.wait(lambda: "keystore bad" in error(daemon), what="the zone's fault")
        assert update(daemon, add("new" + stores[0])) == dns.rcode.NOERROR
        check(daemon)


# ---- Going back, and other programs ----

def data(zone):
    """Records but for those of DNSSEC and the SOA."""
    return {(str(name), ttl, rdata.to_text()) for name, ttl, rdata in zone.iterate_rdatas() if rdata.rdtype.name not in ("SOA", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "DNSKEY", "CDS", "CDNSKEY")}


@pytest.mark.parametrize("chain", [[], ["nsec3: on", "nsec3-salt-length: 4"], ["nsec3: on", "nsec3-opt-out: on"]])
def test_revert(make_knotd, chain):
    """Back over changes, and over a version with other signatures and another ZSK: the data of then, signed now by the keys of now."""
    daemon = start(make_knotd(), [*chain, "propagation-delay: 1", "dnskey-ttl: 1", "zone-max-ttl: 60"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    first = check(daemon)
    assert update(daemon, lambda m: m.add("new.deep.example.", 60, "A", "192.0.2.9")) == dns.rcode.NOERROR
    assert update(daemon, lambda m: m.delete("www.example.")) == dns.rcode.NOERROR
    assert update(daemon, lambda m: m.add("sub.example.", 60, "DS", "1 13 2 " + "11" * 32)) == dns.rcode.NOERROR
    wait_serial(daemon, 14)
    daemon.knotc("-b", "zone-sign", "example")
    daemon.knotc("-b", "zone-key-rollover", "example", "zsk")
    daemon.wait(lambda: len(tags(daemon)) == 3, what="another ZSK")
    before = serial(daemon)
    keys = tags(daemon)
    daemon.knotc("zone-revert", "example", "11")
    daemon.wait(lambda: serial(daemon) > before, what="a newer serial")
    after = check(daemon)
    assert data(after) == data(first)
    assert tags(daemon) >= keys   # the rollover goes on
    assert update(daemon, lambda m: m.add("more.example.", 60, "A", "192.0.2.9")) == dns.rcode.NOERROR
    check(daemon)


def test_external_program_sees_the_signed_version(make_knotd):
    """It gets the version as it will be served, and nothing else waits for it; what it refuses leaves the zone as it was."""
    daemon = make_knotd()
    (daemon.dir / "db").mkdir()
    daemon.write("example.zone", ZONE.format(serial=10, host=2))
    daemon.write("other.zone", ZONE.replace("example.", "other.").format(serial=10, host=2))
    daemon.configure(f"external:\n  - id: e\n    timeout: 60\n    dump-new-zone: {daemon.dir}/%s.new\nacl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n"
                     f"policy:\n  - id: p\n    algorithm: ecdsap256sha256\ntemplate:\n  - id: default\n    storage: {daemon.dir}\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n"
                     "zone:\n  - domain: example\n    external-validation: e\n  - domain: other\n", server="background-workers: 1")
    daemon.start()
    waiting = lambda: "open-external" in daemon.knotc("zone-status", "example", "+transaction").stdout   # noqa: E731
    daemon.wait(waiting, what="a version that waits")
    daemon.wait(lambda: daemon.ask("other", "SOA").answer, what="the other zone, with one worker")
    fault = complaint(daemon.dir / "example.new")
    assert not fault, fault
    daemon.knotc("zone-commit", "example")
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    daemon.write("example.zone", ZONE.format(serial=20, host=7))
    daemon.knotc("zone-reload", "example")
    daemon.wait(waiting, what="another version that waits")
    fault = complaint(daemon.dir / "example.new")
    assert not fault and "192.0.2.7" in (daemon.dir / "example.new").read_text(), fault
    daemon.knotc("zone-abort", "example")
    daemon.wait(lambda: not waiting(), what="the decision")
    assert serial(daemon) == 11
    check(daemon)


def test_change_after_a_failure(make_knotd):
    """A change that is signed by itself isn't all: the log says that the zone as a whole couldn't be."""
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    configure(daemon, ["rrsig-pre-refresh: 10m"], ["external-validation: e"], "external:\n  - id: e\n    timeout: 60\n")
    daemon.start()

    def decide(command):
        daemon.wait(lambda: "open-external" in daemon.knotc("zone-status", "example", "+transaction").stdout, what="a version that waits")
        daemon.knotc(command, "example")

    decide("zone-commit")
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    daemon.knotc("zone-sign", "example")
    decide("zone-abort")
    daemon.wait_log("zone event 're-sign' failed")
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(update, daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9"))
        decide("zone-commit")
        assert done.result(timeout=60) == dns.rcode.NOERROR
    daemon.wait_log("DNSSEC, previous signing had failed")
    check(daemon)
