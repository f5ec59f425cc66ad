# SPDX-License-Identifier: BSD-2-Clause
"""Versions that aren't published, as they aren't validly signed, or as caches don't know their keys: what the log and others say, what is served, and how it goes on."""
import re
import time

import dns.edns
import dns.rcode
import pytest

from test_pkcs11 import Manager, add, keystores, tokens, vanishing  # noqa: F401: fixtures
from test_pkcs11 import start as start_tokens
from test_signing import ZONE, check, configure, contents, serial, signatures, start, tags, update, wait_serial

pytestmark = [pytest.mark.ours, pytest.mark.core]
MANUAL = ["manual: on", "propagation-delay: 10", "dnskey-ttl: 60", "zone-max-ttl: 60"]


def counter(daemon, name):
    return int(re.search(rf"server\.{name} = (\d+)", daemon.knotc("-f", "stats", "server").stdout).group(1))


def error(daemon):
    return daemon.knotc("zone-status", "example", "+error").stdout


def ede(answer):
    return [option.code for option in answer.options if option.otype == dns.edns.OptionType.EDE]


def test_wrong_signatures(make_knotd, vanishing):   # noqa: F811
    """A token whose signatures are wrong from some moment on: nothing of that is served, all channels tell it, and it goes on by itself."""
    place, bad = vanishing
    daemon = start_tokens(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    before = check(daemon)
    bad.write_text("3 lies")   # the key is opened and proven with the first ones
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
    bad.write_text("4 lies")
    daemon = start_tokens(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait_log(r"DNSSEC, validation failed \(")
    answer = daemon.ask("www.example", "A", use_edns=0)
    assert answer.rcode() == dns.rcode.SERVFAIL and ede(answer) == [dns.edns.EDECode.INVALID_DATA]
    bad.unlink()
    daemon.wait(lambda: serial(daemon) is not None, timeout=30, what="the zone")
    check(daemon)


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
