# SPDX-License-Identifier: BSD-2-Clause
"""Offline KSK: requests and responses between two machines, each with our keymgr or Debian's, and a server that signs with them."""
import json
import os
import re
import subprocess
import time

import dns.dnssec
import dns.rdataclass
import dns.rdatatype
import dns.zone
import pytest

from functional.signing.test_submission import ACL, CHILD
from harness.server import built
from harness.validators import complaint

pytestmark = pytest.mark.core

ZONE = "child.test"
DEBIAN = "/usr/sbin/keymgr" if os.path.exists("/usr/sbin/keymgr") else "/usr/bin/keymgr"
PROGRAMS = {"ours": lambda: built("keymgr", "tools"), "Debian's": lambda: DEBIAN}
ZSK_SIDE = "    dnskey-ttl: 2\n    zone-max-ttl: 60\n    zsk-lifetime: 100\n    propagation-delay: 1\n"
KSK_SIDE = "    rrsig-refresh: 100\n    rrsig-lifetime: 300\n    rrsig-pre-refresh: 10\n    propagation-delay: 1\n"


class Machine:
    """A key database with its policy, worked on by one keymgr."""

    def __init__(self, folder, program, items):
        self.program = PROGRAMS[program]()
        folder.mkdir(exist_ok=True)
        self.conf = folder / "keymgr.conf"
        self.conf.write_text(f"database:\n    storage: {folder}\npolicy:\n  - id: p\n    manual: on\n    offline-ksk: on\n    cds-cdnskey-publish: always\n{items}"
                             f"zone:\n  - domain: {ZONE}\n    dnssec-signing: on\n    dnssec-policy: p\n")

    def run(self, *words, check=True):
        done = subprocess.run([self.program, "-c", str(self.conf), ZONE, *words], capture_output=True, text=True, check=False, timeout=60)
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done if not check else done.stdout

    def ask(self, folder, command, text):
        """A command with a file."""
        path = folder / "exchanged"
        path.write_text(text)
        return self.run(command, str(path))


def heads(text):
    """The times of the sections."""
    return [int(when) for when in re.findall(r"^;; \w+ 1.0 (\d+) \(", text, re.M)]


def plain(text):
    """A response without signatures and what says who made it."""
    return re.sub(r"\n\s+[\w+/=\n\t]+\n\t+\)", " )", re.sub(r"generated at .*", "", text))


@pytest.fixture(name="sides")
def make_sides(tmp_path):
    def make(zsk="ours", ksk="ours"):
        zsk_side, ksk_side = Machine(tmp_path / "zsk", zsk, ZSK_SIDE), Machine(tmp_path / "ksk", ksk, KSK_SIDE)
        ksk_side.run("generate", "ksk=yes")
        return zsk_side, ksk_side
    return make


@pytest.mark.parametrize("zsk,ksk", [("ours", "ours"), ("ours", "Debian's"), ("Debian's", "ours")])
def test_exchange(sides, tmp_path, zsk, ksk):
    """A request goes over, its response comes back, and all that the ZSK's machine needs is stored."""
    zsk_side, ksk_side = sides(zsk, ksk)
    zsk_side.run("pregenerate", "+400")
    assert zsk_side.run("list").count("ZSK") >= 4
    request = zsk_side.run("generate-ksr", "+400")
    response = ksk_side.ask(tmp_path, "sign-ksr", request)
    assert set(heads(request)) <= set(heads(response)) and heads(response) == sorted(heads(response))
    assert all(b - a <= 200 for a, b in zip(heads(response), heads(response)[1:])), "renewed before signatures expire"
    assert zsk_side.ask(tmp_path, "validate-skr", response) == "OK\n"
    assert zsk_side.ask(tmp_path, "import-skr", response) == "OK\n"
    shown = zsk_side.run("show-offline")
    assert heads(shown.replace("Offline records for", "Offline 1.0")) == heads(response)
    assert shown.replace("Offline records for", "SignedKeyResponse 1.0") + response.splitlines()[-1] + "\n" == response


def test_same_as_debian(sides, tmp_path):
    """Requests and responses of the same keys are the same, but for signatures; and either keymgr shows what the other one stores."""
    zsk_side, ksk_side = sides()
    zsk_side.run("pregenerate", "+300")
    until = str(int(time.time()) + 300)
    since = str(int(time.time()) + 5)
    request = zsk_side.run("generate-ksr", since, until)
    zsk_side.program = ksk_side.program = DEBIAN
    assert re.sub(r"generated at .*", "", zsk_side.run("generate-ksr", since, until)) == re.sub(r"generated at .*", "", request)
    request = zsk_side.run("generate-ksr", until)
    theirs = ksk_side.ask(tmp_path, "sign-ksr", request)
    zsk_side.ask(tmp_path, "import-skr", theirs)
    shown = zsk_side.run("show-offline", "+10", "+150")
    zsk_side.program = ksk_side.program = PROGRAMS["ours"]()
    assert plain(ksk_side.ask(tmp_path, "sign-ksr", request)) == plain(theirs)
    ours = zsk_side.run("show-offline", "+10", "+150")
    assert ours.splitlines()[1:] == shown.splitlines()[1:]
    assert zsk_side.run("del-offline", "+10", "+1000") == "OK\n"
    assert len(re.findall("^;;", zsk_side.run("show-offline"), re.M)) == 1


BAD = [
    ("cut off", lambda text: text[:len(text) // 2], "malformed data"),
    ("without its last line", lambda text: text.rsplit(";;", 1)[0], "malformed data"),
    ("another record", lambda text: text.replace(" CDS ", " DS ", 1), "malformed data"),
    ("a key that was exchanged", lambda text: re.sub(r"(DNSKEY 257 3 13 \(\n\s+)(....)", r"\1AAAA", text, count=1), "no valid signature for a record"),
    ("of another zone", lambda text: text.replace(f"{ZONE}.", "other.test."), "no valid signature for a record"),
]


@pytest.mark.parametrize("what,spoil,want", BAD, ids=[row[0] for row in BAD])
def test_bad_responses(sides, tmp_path, what, spoil, want):
    """A response that isn't whole and good changes nothing. Debian's keymgr takes half a file for a whole one."""
    zsk_side, ksk_side = sides()
    zsk_side.run("pregenerate", "+300")
    response = ksk_side.ask(tmp_path, "sign-ksr", zsk_side.run("generate-ksr", "+300"))
    zsk_side.ask(tmp_path, "import-skr", response)
    before = zsk_side.run("show-offline")
    path = tmp_path / "bad"
    path.write_text(spoil(response))
    done = zsk_side.run("import-skr", str(path), check=False)
    assert done.returncode == 1 and done.stderr.endswith(f"error: {want}\n"), (what, done.stderr)
    assert zsk_side.run("show-offline") == before


def sections(response):
    """The records of each section: (DNSKEY rdatas, the tags by which these are signed)."""
    for part in re.split("^;; SignedKeyResponse.*$", response, flags=re.M)[1:-1]:
        apex = dns.zone.from_text(part, ZONE, relativize=False, check_origin=False)[f"{ZONE}."]
        signatures = apex.get_rdataset(dns.rdataclass.IN, dns.rdatatype.RRSIG, dns.rdatatype.DNSKEY)
        yield list(apex.get_rdataset(dns.rdataclass.IN, dns.rdatatype.DNSKEY)), {rdata.key_tag for rdata in signatures}


@pytest.mark.ours
def test_keys_that_go(sides, tmp_path):
    """A KSK signs with its revoked tag from the time on at which it is revoked (RFC 5011 2.1), and one that was removed needn't have its private key any more."""
    zsk_side, ksk_side = sides()
    gone = ksk_side.run("generate", "ksk=yes", "created=1", "publish=1", "ready=1", "active=1", "retire=2", "remove=3").strip()
    (ksk_side.conf.parent / "keys" / "keys" / f"{gone}.pem").unlink()
    revoked = next(key for key in json.loads(ksk_side.run("-j", "list")) if key["id"] != gone)
    ksk_side.run("generate", "ksk=yes")
    ksk_side.run("set", revoked["id"], "revoke=+150")
    zsk_side.run("pregenerate", "+300")
    response = ksk_side.ask(tmp_path, "sign-ksr", zsk_side.run("generate-ksr", "+300"))
    assert zsk_side.ask(tmp_path, "import-skr", response) == "OK\n"
    is_revoked = []
    for keys, tags in sections(response):
        assert tags == {dns.dnssec.key_id(key) for key in keys if key.flags & 1}
        is_revoked.append(any(key.flags & 0x80 for key in keys))
    assert is_revoked[0] is False and is_revoked[-1] is True
    assert ksk_side.run("delete", gone) == "OK\n"


@pytest.mark.ours
def test_private_key_is_missing(sides, tmp_path):
    """The key is named."""
    zsk_side, ksk_side = sides()
    zsk_side.run("pregenerate", "+300")
    path = tmp_path / "request"
    path.write_text(zsk_side.run("generate-ksr", "+300"))
    key = json.loads(ksk_side.run("-j", "list"))[0]
    (ksk_side.conf.parent / "keys" / "keys" / f"{key['id']}.pem").unlink()
    done = ksk_side.run("sign-ksr", str(path), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: key {key['tag']}, id {key['id']}: no private key\nerror: no private key\n")


def test_usage(sides, tmp_path):
    """What is missing is named, as by Debian's."""
    zsk_side, _ = sides()
    rows = [["pregenerate"], ["generate-ksr"], ["generate-ksr", "x"], ["sign-ksr"], ["sign-ksr", "/nonexistent"], ["import-skr"], ["import-skr", "/nonexistent"],
            ["validate-skr"], ["del-offline"], ["del-offline", "+1d"], ["del-offline", "+1d", "x"], ["show-offline", "x"], ["show-offline"]]
    for row in rows:
        done = [zsk_side.run(*row, check=False)]
        zsk_side.program = DEBIAN
        done.append(zsk_side.run(*row, check=False))
        zsk_side.program = PROGRAMS["ours"]()
        assert done[0].returncode == done[1].returncode and done[0].stderr == done[1].stderr, row


def start_server(make_knotd, records_s=300):
    """A server with the ZSKs, and the machine of the KSK. Its keymgr works on the server's database."""
    daemon = make_knotd(name="server")
    (daemon.dir / "db").mkdir()
    daemon.write(f"{ZONE}.zone", CHILD.replace("$TTL 60", "$TTL 5"))
    zsk_side = Machine(daemon.dir / "db", "ours", "    dnskey-ttl: 2\n    zone-max-ttl: 5\n    zsk-lifetime: 12\n    propagation-delay: 1\n    rrsig-refresh: 100\n    rrsig-lifetime: 1000\n    rrsig-pre-refresh: 10\n")
    ksk_side = Machine(daemon.dir / "ksk", "ours", KSK_SIDE)
    ksk_side.run("generate", "ksk=yes")
    policy = zsk_side.conf.read_text().split("policy:")[1].split("zone:")[0]
    daemon.configure(zones=[ZONE], text=ACL + f"policy:{policy}template:\n  - id: default\n    acl: all\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    if records_s:
        zsk_side.run("pregenerate", f"+{records_s}")
        exchange(daemon, zsk_side, ksk_side, records_s)
    return daemon, zsk_side, ksk_side


def exchange(daemon, zsk_side, ksk_side, seconds):
    response = ksk_side.ask(daemon.dir, "sign-ksr", zsk_side.run("generate-ksr", f"+{seconds}"))
    zsk_side.ask(daemon.dir, "import-skr", response)
    return response


def tags(daemon):
    return {dns.dnssec.key_id(rdata) for rdata in daemon.ask(ZONE, "DNSKEY").answer[0]}


def test_server(make_knotd):
    """It signs with what was made in advance, valid to others, and passes to the next records at their time."""
    daemon, _, _ = start_server(make_knotd, 30)
    daemon.start()
    daemon.wait(lambda: daemon.ask(ZONE, "SOA", want_dnssec=True).answer[1:], what="a signature")
    daemon.wait_log(r"DNSSEC, using offline records, DNSKEYs \d, CDNSKEYs 1, CDs 1, RRSIGs 3")
    daemon.wait_log("having offline KSK records for less than a week, import new SKR")
    first = tags(daemon)
    daemon.knotc("-f", "-b", "zone-flush", ZONE)
    assert complaint(daemon.dir / f"{ZONE}.zone", ZONE) == ""
    daemon.wait(lambda: tags(daemon) - first, 30, "the next ZSK")
    daemon.wait(lambda: first - tags(daemon), 90, "the end of the first ZSK")
    daemon.knotc("-f", "-b", "zone-flush", ZONE)
    assert complaint(daemon.dir / f"{ZONE}.zone", ZONE) == ""
    daemon.wait_log("using last offline KSK records available, import new SKR before RRSIGs expire", timeout=60)


def test_server_without_records(make_knotd):
    """The zone isn't served without them, and is once they are imported."""
    daemon, zsk_side, ksk_side = start_server(make_knotd, 0)
    zsk_side.run("pregenerate", "+30")
    daemon.start()
    daemon.wait_log("DNSSEC, no offline KSK records available")
    assert not daemon.ask(ZONE, "SOA").answer
    exchange(daemon, zsk_side, ksk_side, 30)
    daemon.knotc("zone-reload", ZONE)
    daemon.wait(lambda: daemon.ask(ZONE, "SOA", want_dnssec=True).answer[1:], what="a signature")


def test_changes(make_knotd):
    """Changes are signed by the ZSK, and leave the keys' records as they are."""
    daemon, _, _ = start_server(make_knotd)
    daemon.start()
    daemon.wait(lambda: daemon.ask(ZONE, "SOA", want_dnssec=True).answer[1:], what="a signature")
    before = daemon.ask(ZONE, "DNSKEY", want_dnssec=True).answer
    for command in (["zone-begin"], ["zone-set", ZONE, "new", "60", "A", "192.0.2.7"], ["zone-commit"]):
        daemon.knotc(command[0], *(command[1:] or [ZONE]))
    assert daemon.ask(f"new.{ZONE}", "A", want_dnssec=True).answer[1:]
    assert daemon.ask(ZONE, "DNSKEY", want_dnssec=True).answer == before
    daemon.knotc("-b", "zone-sign", ZONE)
    assert daemon.ask(ZONE, "DNSKEY", want_dnssec=True).answer == before
    daemon.knotc("-f", "-b", "zone-flush", ZONE)
    assert complaint(daemon.dir / f"{ZONE}.zone", ZONE) == ""
