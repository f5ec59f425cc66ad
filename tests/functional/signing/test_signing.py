# SPDX-License-Identifier: BSD-2-Clause
"""dnssec-signing: every version that is served goes through the validators of harness/validators.py. Knot DNS passes all but those marked `ours`."""
import re
import subprocess
import time

import dns.dnssec
import dns.query
import dns.rdatatype
import dns.update
import dns.xfr
import dns.zone
import pytest

from harness.server import is_ours
from harness.validators import complaint

pytestmark = pytest.mark.core

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 30\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.{host}\n*.wild TXT \"any\"\n" \
       "a.b.c A 192.0.2.4\nsub NS ns.sub\nns.sub A 192.0.2.5\nsafe NS ns.safe\nns.safe A 192.0.2.6\n" \
       "safe DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\n"
ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n"
NSEC3 = ["nsec3: on", "nsec3-salt-length: 4"]
FAST = ["propagation-delay: 1", "dnskey-ttl: 1", "zone-max-ttl: 1", "rrsig-lifetime: 1h", "rrsig-refresh: 10m", "rrsig-pre-refresh: 1m"]


def configure(daemon, policy=(), items=(), more=""):
    policy = policy if any(line.startswith("algorithm") for line in policy) else ["algorithm: ecdsap256sha256", *policy]
    lines = "".join(f"    {line}\n" for line in policy)
    daemon.configure(zones=["example"], text=f"{ACL}policy:\n  - id: p\n{lines}{more}template:\n  - id: default\n    acl: all\n"
                     "    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n" + "".join(f"    {item}\n" for item in items))


def write(daemon, serial=10, host=2, more=""):
    daemon.write("example.zone", ZONE.format(serial=serial, host=host) + more)


def start(daemon, policy=(), items=(), more=""):
    if not (daemon.dir / "example.zone").exists():
        write(daemon)
    (daemon.dir / "db").mkdir(exist_ok=True)
    configure(daemon, policy, items, more)
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    return daemon


def serial(daemon):
    answer = daemon.ask("example", "SOA").answer
    return answer[0][0].serial if answer else None


def wait_serial(daemon, wanted):
    daemon.wait(lambda: serial(daemon) == wanted, what=lambda: f"serial {wanted}, not {serial(daemon)}")


def contents(daemon):
    return dns.zone.from_xfr(dns.query.xfr("127.0.0.1", "example.", port=daemon.port, relativize=False), relativize=False)


def check(daemon):
    """What is served is valid; returns it."""
    zone = contents(daemon)
    path = daemon.dir / "served.zone"
    zone.to_file(str(path), relativize=False)
    fault = complaint(path)
    assert not fault, fault
    return zone


def signatures(zone):
    made = {(str(name), rdata.to_text()) for name, _, rdata in zone.iterate_rdatas() if rdata.rdtype == dns.rdatatype.RRSIG}
    assert made
    return made


def update(daemon, *changes):
    message = dns.update.UpdateMessage("example.")
    for change in changes:
        change(message)
    return dns.query.tcp(message, "127.0.0.1", port=daemon.port, timeout=10).rcode()


def count(daemon, pattern):
    return len(re.findall(pattern, daemon.log()))


def tags(daemon, rrset="DNSKEY"):
    """Tags of keys, or of those that signed a set."""
    zone = contents(daemon)
    if rrset == "DNSKEY":
        return {dns.dnssec.key_id(key) for key in zone.get_rdataset("example.", "DNSKEY")}
    return {sig.key_tag for sig in zone.get_rdataset("example.", "RRSIG", covers=rrset)}


@pytest.mark.parametrize("policy", [[], NSEC3, [*NSEC3, "nsec3-opt-out: on"], ["single-type-signing: on"], ["algorithm: ed25519"]])
def test_first_version_and_files(make_knotd, policy):
    """The file's serial is stepped by signing; a file with another serial, or the same, is signed again."""
    daemon = start(make_knotd(), policy)
    assert serial(daemon) == 11
    first = check(daemon)
    daemon.wait_log(r"\[example\.\] loaded, serial none -> 10 -> 11,")
    daemon.wait_log(r"DNSSEC, successfully signed")
    daemon.wait_log(r"DNSSEC, next signing at 20")
    write(daemon, serial=20, host=7)
    daemon.knotc("-b", "zone-reload", "example")
    wait_serial(daemon, 21)
    second = check(daemon)
    assert second.get_rdataset("www.example.", "A")[0].address == "192.0.2.7"
    if is_ours():   # what didn't change has its signatures still
        assert len(signatures(second) & signatures(first)) >= len(signatures(first)) - 4
    daemon.wait_log(r"\[example\.\] loaded, serial 11 -> 20 -> 21,")


@pytest.mark.ours   # Knot DNS serves a serial that goes back
def test_serial_of_a_file_that_lags_behind(make_knotd):
    daemon = start(make_knotd())
    for host in (21, 22, 23):
        write(daemon, serial=10, host=host)
        before = serial(daemon)
        daemon.knotc("-b", "zone-reload", "example")
        daemon.wait(lambda b=before: serial(daemon) == b + 1, what="the next serial")
        assert check(daemon).get_rdataset("www.example.", "A")[0].address == f"192.0.2.{host}"


def test_sign_again_and_keys_load(make_knotd):
    daemon = start(make_knotd())
    before = check(daemon)
    daemon.knotc("-b", "zone-keys-load", "example")
    daemon.wait_log("DNSSEC, zone is up-to-date")
    assert serial(daemon) == 11
    daemon.knotc("-b", "zone-sign", "example")
    daemon.wait_log("DNSSEC, dropping previous signatures, re-signing zone")
    wait_serial(daemon, 12)
    after = check(daemon)
    assert not signatures(after) & signatures(before)
    assert re.search(r"re-sign: \+", daemon.knotc("zone-status", "example").stdout)


@pytest.mark.parametrize("policy", [[], NSEC3, [*NSEC3, "nsec3-opt-out: on"]])
def test_updates(make_knotd, policy):
    """Each update and transaction is signed with its change, by what it reaches."""
    daemon = start(make_knotd(), policy)
    before = check(daemon)
    steps = [
        lambda m: m.add("new.deep.example.", 60, "A", "192.0.2.9"),
        lambda m: m.delete("www.example."),
        lambda m: m.add("sub.example.", 60, "DS", "1 13 2 " + "11" * 32),
        lambda m: m.delete("safe.example.", "DS"),
        lambda m: m.delete("new.deep.example."),
        lambda m: m.add("a.b.c.example.", 60, "NS", "ns.elsewhere."),
        lambda m: m.replace("example.", 60, "TXT", "apex"),
        lambda m: m.delete("sub.example."),
    ]
    for number, step in enumerate(steps):
        assert update(daemon, step) == 0
        wait_serial(daemon, 12 + number)
        after = check(daemon)
        made = signatures(after) - signatures(before)
        assert 1 <= len(made) <= 8, made
        before = after
    daemon.wait_log(r"DNSSEC, incrementally signed")
    daemon.knotc("zone-begin", "example")
    daemon.knotc("zone-set", "example", "b", "60", "A", "192.0.2.10")
    daemon.knotc("zone-commit", "example")
    wait_serial(daemon, 12 + len(steps))
    check(daemon)
    assert update(daemon, lambda m: m.add("b.example.", 60, "A", "192.0.2.10")) == 0   # it is there
    assert serial(daemon) == 12 + len(steps)


def test_changes_stay_beside_the_file(make_knotd):
    """What came by updates outlives another file, and a restart."""
    daemon = start(make_knotd())
    assert update(daemon, lambda m: m.add("dynamic.example.", 60, "A", "192.0.2.9")) == 0
    wait_serial(daemon, 12)
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: serial(daemon) == 12, what="the zone again")
    assert check(daemon).get_rdataset("dynamic.example.", "A") is not None
    write(daemon, serial=10, host=9)
    daemon.knotc("-b", "zone-reload", "example")
    daemon.wait(lambda: check(daemon).get_rdataset("www.example.", "A")[0].address == "192.0.2.9", what="the file's change")
    assert contents(daemon).get_rdataset("dynamic.example.", "A") is not None
    assert serial(daemon) > 12


@pytest.mark.ours
def test_restarts_serve_before_they_sign(make_knotd):
    """From the image, with the signatures that are there; without it, from file and journal, with a newer serial."""
    daemon = start(make_knotd())
    assert update(daemon, lambda m: m.add("dynamic.example.", 60, "A", "192.0.2.9")) == 0
    wait_serial(daemon, 12)
    before = check(daemon)
    daemon.stop()
    daemon.start()
    daemon.wait_log("from image")
    daemon.wait_log("DNSSEC, zone is up-to-date")
    assert signatures(check(daemon)) == signatures(before)
    daemon.stop()
    for path in (daemon.dir / "db").glob("images*"):
        subprocess.run(["rm", "-rf", str(path)], check=True)
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    assert serial(daemon) > 12
    assert check(daemon).get_rdataset("dynamic.example.", "A") is not None
    assert update(daemon, lambda m: m.add("another.example.", 60, "A", "192.0.2.9")) == 0
    daemon.stop()
    for path in (daemon.dir / "db").glob("images*"):
        subprocess.run(["rm", "-rf", str(path)], check=True)
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    zone = check(daemon)
    assert zone.get_rdataset("dynamic.example.", "A") is not None and zone.get_rdataset("another.example.", "A") is not None


def test_rollover_of_zsk(make_knotd):
    """By short times: each version that is seen meanwhile is valid, and the old key goes at last."""
    daemon = start(make_knotd(), [*FAST, "zsk-lifetime: 1h"])
    old = tags(daemon, "SOA")
    assert len(old) == 1
    daemon.knotc("zone-key-rollover", "example", "zsk")
    daemon.wait_log("DNSSEC, ZSK rollover started")

    def is_over():
        check(daemon)
        return not old & tags(daemon)
    daemon.wait(is_over, 30, "the end of the rollover")
    assert tags(daemon, "SOA") and not old & tags(daemon, "SOA")
    check(daemon)


@pytest.mark.parametrize("arguments", [(), ("+ttl", "2")])
def test_rollover_of_ksk(make_knotd, arguments):
    daemon = start(make_knotd(), FAST)
    assert daemon.knotc("zone-ksk-submitted", "example", *arguments).returncode == 0
    daemon.wait_log("DNSSEC, KSK submission, confirmed")
    refused = daemon.knotc("zone-ksk-submitted", "example", check=False)
    assert refused.returncode != 0 and "no key ready for submission" in refused.stdout
    old = tags(daemon, "DNSKEY") - tags(daemon, "SOA")
    assert len(old) == 1 and contents(daemon).get_rdataset("example.", "CDS") is None
    daemon.knotc("zone-key-rollover", "example", "ksk")
    daemon.wait_log("DNSSEC, KSK rollover started")
    daemon.wait(lambda: check(daemon).get_rdataset("example.", "CDS") is not None, 30, "CDS of the new key")
    daemon.knotc("zone-ksk-submitted", "example", *arguments)

    def is_over():
        check(daemon)
        return not old & tags(daemon)
    daemon.wait(is_over, 30, "the end of the rollover")


def test_commands_of_zones_that_are_not_signed(make_knotd):
    daemon = make_knotd()
    write(daemon)
    daemon.configure(zones=["example"])
    daemon.start()
    for command in (["zone-sign", "example"], ["zone-keys-load", "example"], ["zone-key-rollover", "example", "ksk"]):
        done = daemon.knotc(*command, check=False)
        assert done.returncode != 0 and "operation not supported" in done.stdout.lower(), command
    assert daemon.knotc("zone-sign", check=False).returncode == 0   # of all zones none is meant
    done = daemon.knotc("zone-key-rollover", "example", "asterisk", check=False)
    assert done.returncode != 0


@pytest.mark.ours   # words of the log, and the retry
def test_lost_private_key(make_knotd):
    """What is served stays, changes are refused, and all goes on when the key is there again."""
    daemon = start(make_knotd())
    before = check(daemon)
    keys = sorted((daemon.dir / "db" / "keys" / "keys").glob("*.pem"))
    assert len(keys) == 2 and all(path.stat().st_mode & 0o7 == 0 for path in keys)
    saved = [(path, path.read_bytes()) for path in keys]
    for path in keys:
        path.unlink()
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == 2
    daemon.wait_log(r"DNSSEC, key \d+, failed to load private key \(")
    daemon.knotc("-b", "zone-sign", "example", check=False)
    daemon.wait_log("zone event 're-sign' failed")
    assert signatures(check(daemon)) == signatures(before)
    for path, data in saved:
        path.write_bytes(data)
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == 0
    assert check(daemon).get_rdataset("new.example.", "A") is not None


@pytest.mark.ours
def test_swapped_private_key(make_knotd):
    """A private key that isn't that of its public key signs nothing."""
    daemon = start(make_knotd())
    before = check(daemon)
    one, other = sorted((daemon.dir / "db" / "keys" / "keys").glob("*.pem"))
    data = one.read_bytes(), other.read_bytes()
    one.write_bytes(data[1])
    other.write_bytes(data[0])
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == 2
    assert signatures(check(daemon)) == signatures(before)


@pytest.mark.ours   # 3.2 has no generated digest in a zone that it signs incrementally
@pytest.mark.parametrize("policy", [[], NSEC3])
def test_digest(make_knotd, policy):
    """ZONEMD of a signed zone: right, signed, and in the chain, after each kind of change."""
    daemon = start(make_knotd(), policy, ["zonemd-generate: zonemd-sha384"])

    def check_digest():
        zone = check(daemon)
        assert len(zone.get_rdataset("example.", "ZONEMD")) == 1
        zone.verify_digest()
    check_digest()
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == 0
    check_digest()
    write(daemon, serial=50, host=9)
    daemon.knotc("-b", "zone-reload", "example")
    daemon.wait(lambda: serial(daemon) > 50, what="the file")
    check_digest()
    daemon.knotc("-b", "zone-sign", "example")
    check_digest()
    configure(daemon, policy, ["zonemd-generate: remove"])
    daemon.knotc("reload")
    daemon.wait(lambda: check(daemon).get_rdataset("example.", "ZONEMD") is None, what="no digest")


def test_policy_changes_and_end_of_signing(make_knotd):
    daemon = start(make_knotd())
    configure(daemon, NSEC3)
    daemon.knotc("reload")
    daemon.wait(lambda: check(daemon).get_rdataset("example.", "NSEC3PARAM") is not None, what="NSEC3")
    configure(daemon)
    daemon.knotc("reload")
    daemon.wait(lambda: check(daemon).get_rdataset("example.", "NSEC3PARAM") is None, what="NSEC")


def test_transfers_follow(make_knotd):
    """What secondaries get as differences is what is served."""
    daemon = start(make_knotd())
    zone = contents(daemon)
    for number in range(4):
        assert update(daemon, lambda m, n=number: m.replace("www.example.", 60, "A", f"192.0.2.{100 + n}")) == 0
    daemon.knotc("-b", "zone-sign", "example")
    wait_serial(daemon, 16)
    query, _ = dns.xfr.make_query(zone)
    dns.query.inbound_xfr("127.0.0.1", zone, query, port=daemon.port)
    assert signatures(zone) == signatures(contents(daemon)) and zone.get_soa().serial == 16


def test_expiring_signatures_are_renewed(make_knotd):
    daemon = start(make_knotd(), ["rrsig-lifetime: 10", "rrsig-refresh: 5", "rrsig-pre-refresh: 1", "propagation-delay: 0", "zone-max-ttl: 1", "dnskey-ttl: 1",
                                  "zsk-lifetime: 0"])
    before = serial(daemon)
    end = time.time() + 12
    while time.time() < end:
        check(daemon)
        time.sleep(0.5)     # signatures expire by the clock
    assert serial(daemon) >= before + 2


@pytest.mark.ours
def test_expirations_are_spread(make_knotd):
    """Signatures made at one time expire at many, none so early that it is due again at once, also after a restart."""
    daemon = make_knotd()
    write(daemon, more="".join(f"n{i} A 192.0.2.9\n" for i in range(300)))
    start(daemon, [*FAST, "rrsig-spread: 30m"])
    now = time.time()

    def ends(zone):
        return {(str(name), rdata.type_covered): rdata.expiration - now for name, _, rdata in zone.iterate_rdatas() if rdata.rdtype == dns.rdatatype.RRSIG}

    first = ends(check(daemon))
    assert len(first) > 600 and all(30 * 60 - 15 <= left <= 60 * 60 for left in first.values())
    # Some 16 names have one time in common: 16 times for so many.
    assert max(first.values()) - min(first.values()) > 15 * 60 and 8 < len(set(first.values())) <= 16
    daemon.stop()
    daemon.start()
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    assert ends(check(daemon)) == first
    daemon.wait_log("DNSSEC, zone is up-to-date")
    # Each set has its own time again; if that was too near by now, the next one.
    daemon.knotc("-b", "zone-sign", "example")
    again = ends(check(daemon))
    assert {again[key] - first[key] for key in first} <= {0, 30 * 60}


@pytest.mark.ours
def test_signatures_of_a_file_are_not_trusted(make_knotd):
    """Not even when the zone had right ones before it was purged."""
    daemon = start(make_knotd())
    check(daemon)
    text = (daemon.dir / "served.zone").read_text()
    daemon.knotc("-f", "-b", "zone-purge", "example", "+expire", "+journal", "+image")
    at = text.index("RRSIG A ")
    at = text.index(" example. ", at) + 20
    daemon.write("example.zone", text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1:])
    daemon.knotc("-b", "zone-reload", "example")
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    check(daemon)
