# SPDX-License-Identifier: BSD-2-Clause
"""kzonesign, alone and beside Debian's: the same key database, the same records, zones that validators accept."""
import json
import os
import re
import shutil
import subprocess
import time

import dns.rdatatype
import dns.zone
import pytest

from harness.server import built
from harness.validators import complaint

pytestmark = pytest.mark.ours

KEYMGR, PEER = "/usr/sbin/keymgr", "/usr/bin/kzonesign"
DAY = 86400
ZONE = ("$ORIGIN example.com.\n$TTL 3600\n@ SOA ns host 5 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\nwww AAAA 2001:db8::1\n"
        "*.wild TXT \"any\"\nempty.non.terminal A 192.0.2.4\nsub NS ns.sub\nns.sub A 192.0.2.3\nsecure NS ns.secure\nns.secure A 192.0.2.5\n"
        "secure DS 1 13 2 0000000000000000000000000000000000000000000000000000000000000000\nalias CNAME www\n")


class Signer:
    def __init__(self, folder, policy=""):
        self.dir, self.file = folder, folder / "example.com.zone"
        self.configure(policy)
        self.write(ZONE)

    def configure(self, policy):
        text = f"policy:\n  - id: p\n{policy}" if policy else ""
        uses = "    dnssec-policy: p\n" if policy else ""
        (self.dir / "knot.conf").write_text(f"database:\n  storage: {self.dir}\n{text}zone:\n  - domain: example.com\n    storage: {self.dir}\n{uses}")

    def write(self, text):
        self.file.write_text(text)

    def run(self, *arguments, program=None, zone="example.com"):
        command = [program or built("kzonesign", "tools"), "-c", self.dir / "knot.conf", *arguments, zone]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def sign(self, *arguments, program=None):
        done = self.run(*arguments, program=program)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def keys(self):
        """{tag: {timer or attribute: value}} as Debian's keymgr lists them."""
        done = subprocess.run([KEYMGR, "-c", self.dir / "knot.conf", "example.com", "list", "-e"], capture_output=True, text=True, check=True)
        return {int(fields["tag"]): fields for fields in (dict(re.findall(r"(\S+?)=(\S+)", line)) for line in done.stdout.splitlines())}

    def validate(self, when=None):
        fault = complaint(self.file, "example.com", when)
        assert not fault, fault

    def zone(self):
        return dns.zone.from_file(str(self.file), origin="example.com.", relativize=False)

    def records(self):
        return sorted((name, ttl, rdata.to_text()) for name, ttl, rdata in self.zone().iterate_rdatas())

    def sets(self):
        """{(owner, type, covers): (TTL, RDATAs)} but what signatures consist of: of them type, algorithm, labels, TTL, tag."""
        found = {}
        for name, ttl, rdata in self.zone().iterate_rdatas():
            is_sig = rdata.rdtype == dns.rdatatype.RRSIG
            what = (rdata.algorithm, rdata.labels, rdata.original_ttl, rdata.key_tag) if is_sig else rdata.to_text()
            found.setdefault((name, rdata.rdtype, rdata.type_covered if is_sig else 0), set()).add((ttl, what))
        return found


@pytest.fixture
def signer(directory):
    return Signer(directory)


POLICIES = {
    "nsec": "", "nsec3": "    nsec3: on\n    nsec3-salt-length: 8\n", "opt-out": "    nsec3: on\n    nsec3-opt-out: on\n    nsec3-iterations: 2\n",
    "csk": "    single-type-signing: on\n", "rsa": "    algorithm: rsasha256\n    zsk-size: 1024\n    ksk-size: 1024\n",
    "ed25519": "    algorithm: ed25519\n    reproducible-signing: on\n", "p384": "    algorithm: ecdsap384sha384\n    signing-threads: 4\n",
    "cds": "    cds-cdnskey-publish: none\n    dnskey-ttl: 100\n",
}


@pytest.mark.parametrize("policy", POLICIES, ids=list(POLICIES))
def test_like_debians(directory, policy):
    """Both sign with the same keys: validators accept both, and but for times and signatures' bytes the zones are the same."""
    ours = Signer(directory, POLICIES[policy] + "    rrsig-lifetime: 10d\n    rrsig-refresh: 2d\n    rrsig-pre-refresh: 1h\n")
    ours.sign("-r")
    ours.validate()
    ours_sets = ours.sets()
    ours.write(ZONE)
    ours.sign(program=PEER)
    ours.validate()
    assert ours_sets == ours.sets()
    # What the other one signed stays as it is.
    before = ours.records()
    ours.sign()
    assert before == ours.records()


@pytest.mark.parametrize("spoil", [lambda line: line.replace("192.0.2.2", "192.0.2.9"), lambda line: line.replace("www.example.com", "new.example.com")])
def test_validators_are_awake(directory, spoil):
    """Each of the four sees what is wrong, now and at another time, but for one that knows no other time."""
    signer = Signer(directory, POLICIES["rsa"])
    signer.sign()
    signer.validate(time.time() + DAY)
    text = signer.file.read_text()
    signer.write(re.sub(r"^www\.example\.com\.\s.*\sA\s.*$", lambda match: spoil(match[0]), text, flags=re.MULTILINE))
    programs = {"dnspython", "dnssec-verify", "ldns-verify-zone", "validns"}
    for when, saw in ((None, programs), (time.time() + DAY, programs - {"dnssec-verify"})):
        assert {line.split(":")[0] for line in complaint(signer.file, "example.com", when).splitlines()} >= saw
    signer.write(text)
    for when in (time.time() - DAY, time.time() + 60 * DAY):    # too early, too late
        assert {line.split(":")[0] for line in complaint(signer.file, "example.com", when).splitlines()} >= programs - {"dnssec-verify"}


def test_first_keys(signer):
    done = signer.run()
    assert done.returncode == 0
    assert re.fullmatch(r"Next signing: \d+\nNext roll-over: \d+\nKSK submission to parent zone needed\n", done.stdout)
    assert "DNSSEC policy not configured for zone 'example.com', taking defaults" in done.stderr
    assert "no keys are available" in done.stderr
    keys = signer.keys()
    assert sorted((key["ksk"], key["zsk"], key["algorithm"]) for key in keys.values()) == [("no", "yes", "13"), ("yes", "no", "13")]
    mode = [path.stat().st_mode & 0o777 for path in (signer.dir / "keys" / "keys").glob("*.pem")]
    assert mode == [0o640, 0o640]
    # Keys that are there stay, and nothing is said of rollovers.
    assert re.fullmatch(r"Next signing: \d+\n", signer.sign())
    assert signer.keys() == keys


def test_a_rollover_in_time(directory):
    """A ZSK's life, day by day: at each time validators accept the zone, and states are as Debian's keymgr shows them."""
    signer = Signer(directory, "    zsk-lifetime: 10d\n    propagation-delay: 1h\n    rrsig-lifetime: 7d\n    rrsig-refresh: 2d\n")
    now = begun = int(time.time())
    tags = set()
    for _ in range(4):
        text = signer.sign("-r", "-t", str(now))
        signer.validate(now)
        tags |= set(signer.keys())
        now = int(re.search(r"Next roll-over: (\d+)", text).group(1))
        assert now > begun
    zsks = sorted((int(key["publish"]), tag) for tag, key in signer.keys().items() if key["zsk"] == "yes")
    assert [published - begun for published, _ in zsks] == [10 * DAY]           # the first one is gone
    # published, 1 h + DNSKEY's TTL later active
    assert int(signer.keys()[zsks[0][1]]["active"]) - begun == 10 * DAY + 2 * 3600
    assert len(tags) == 3


def test_another_folder(signer):
    out = signer.dir / "out"
    out.mkdir()
    signer.sign("-o", str(out))
    assert signer.file.read_text() == ZONE and "RRSIG" in (out / "example.com.zone").read_text()


def test_the_file_keeps_owner_and_mode(signer):
    os.chown(signer.file, 4711, 4712)
    signer.file.chmod(0o604)
    signer.sign()
    info = signer.file.stat()
    assert (info.st_uid, info.st_gid, info.st_mode & 0o777) == (4711, 4712, 0o604)
    assert sorted(path.name for path in signer.dir.iterdir()) == ["example.com.zone", "keys", "knot.conf"]


def test_old_signatures_go(signer):
    """Signatures of keys that the zone doesn't have, of another chain, and expired ones."""
    other = signer.dir / "other"
    other.mkdir()
    stranger = Signer(other, "    nsec3: on\n")
    stranger.sign()
    signer.write(stranger.file.read_text())
    signer.sign()
    signer.validate()
    rdatas = [rdata for _, _, rdata in signer.zone().iterate_rdatas()]
    assert {rdata.key_tag for rdata in rdatas if rdata.rdtype == dns.rdatatype.RRSIG} == set(signer.keys())
    assert dns.rdatatype.NSEC in {rdata.rdtype for rdata in rdatas} and dns.rdatatype.NSEC3 not in {rdata.rdtype for rdata in rdatas}


@pytest.mark.parametrize("change,want", [
    (lambda signer: signer.file.unlink(), "failed to load zone contents (not exists), file '/"),
    (lambda signer: signer.write("@ SOA nonsense"), "failed to load zone contents"),
    (lambda signer: shutil.rmtree(signer.dir / "keys" / "keys"), "failed to sign the zone (no private key, key "),
    (lambda signer: [path.write_text("rubbish") for path in (signer.dir / "keys" / "keys").glob("*.pem")], "failed to sign the zone (invalid private key"),
    (lambda signer: (signer.dir / "keys" / "data.mdb").write_bytes(b"x" * 50000), "failed to open key database ("),
])
def test_failures_change_nothing(signer, change, want):
    signer.sign()
    signer.write(ZONE)
    change(signer)
    before = signer.file.read_bytes() if signer.file.exists() else None
    done = signer.run()
    assert done.returncode == 1 and want in done.stderr, done.stderr
    assert before == (signer.file.read_bytes() if signer.file.exists() else None)


def test_swapped_private_keys_sign_nothing(signer):
    """Two files with each other's key: a bogus zone is never written."""
    signer.sign()
    first, second = (signer.dir / "keys" / "keys").glob("*.pem")
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    signer.write(ZONE)
    done = signer.run()
    assert done.returncode == 1 and "invalid private key" in done.stderr
    assert signer.file.read_text() == ZONE


def without(pattern):
    return lambda text: "".join(line for line in text.splitlines(True) if not re.search(pattern, line))


@pytest.mark.parametrize("policy", ["    nsec3: off\n", "    nsec3: on\n    nsec3-opt-out: on\n"], ids=["NSEC", "NSEC3"])
@pytest.mark.parametrize("spoil,later,want", [
    (str, 0, None),
    (str, 13 * DAY, None),
    (str, 15 * DAY, "no valid signature for a record"),
    (lambda text: text.replace("192.0.2.2", "192.0.2.22"), 0, "no valid signature for a record"),
    (without(r"^www.*RRSIG\tAAAA"), 0, "no valid signature for a record"),
    (without(r"RRSIG\tNSEC"), 0, ""),  # where it was the only signature, the bitmap has a type too many
    (without(r"^www.*AAAA\t2001"), 0, "wrong NSEC(3) bitmap"),
    (without(r"\tDNSKEY\t257"), 0, "no valid signature for a record"),
    (without("DNSKEY"), 0, "no keys for signing"),
    (lambda text: text + "new.example.com. 3600 A 192.0.2.9\n", 0, "missing NSEC(3) record"),
    (lambda text: re.sub(r"(?m)(^www\S+\s+\S+\s+RRSIG\tA 13.*?)(\S{4})==$", r"\1\2==\n\1AAAA==", text), 0, "invalid signature"),
])
def test_verify_beside_debians(signer, policy, spoil, later, want):
    """The same words and exit status; nothing is written."""
    signer.configure(policy)
    signer.sign()
    signer.write(spoil(signer.file.read_text()))
    before = signer.file.read_bytes()
    when = ["-t", str(int(time.time()) + later)]
    ours, theirs = signer.run("-v", *when), signer.run("-v", *when, program=PEER)
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)
    assert ours.stdout == ("DNSSEC validation successful\n" if want is None else "")
    assert want is None or ours.stderr.startswith(f"error: DNSSEC validation failed ({want}")
    assert signer.file.read_bytes() == before


def test_verify_needs_no_keys(signer):
    signer.sign()
    shutil.rmtree(signer.dir / "keys")
    assert signer.sign("-v") == "DNSSEC validation successful\n"
    signer.write(ZONE)
    done = signer.run("--verify")
    assert done.returncode == 1 and done.stderr.endswith("error: DNSSEC validation failed (no keys for signing)\n")
    assert not (signer.dir / "keys").exists()


def test_json(signer):
    """What the text says: at first with keys that are made, then with those that are there; and the verdict."""
    first = json.loads(signer.run("-j").stdout)
    assert first.keys() == {"zone", "next-signing", "next-roll-over", "ksk-submission-needed"} and first["ksk-submission-needed"] is True
    names = {"Next signing": "next-signing", "Next roll-over": "next-roll-over"}
    said = dict(re.findall(r"^(.*): (\d+)$", signer.sign("-r"), re.M))
    document = json.loads(signer.sign("--json", "-r"))
    assert document == {"zone": "example.com.", "ksk-submission-needed": True, **{names[name]: int(value) for name, value in said.items()}}
    assert json.loads(signer.sign("-j")).keys() == {"zone", "next-signing"}
    assert json.loads(signer.sign("-v", "-j")) == {"zone": "example.com.", "valid": True}
    signer.write(signer.file.read_text().replace("192.0.2.2", "192.0.2.22"))
    text, done = signer.run("-v"), signer.run("-v", "-j")
    assert (done.returncode, done.stderr) == (text.returncode, text.stderr) == (1, text.stderr)
    assert json.loads(done.stdout) == {"zone": "example.com.", "valid": False, "reason": "no valid signature for a record", "owner": "www.example.com.", "type": "A"}


def test_json_of_salts(directory):
    signer = Signer(directory, POLICIES["nsec3"])
    text = signer.sign("-r")
    assert json.loads(signer.sign("-j", "-r"))["next-nsec3-re-salt"] == int(re.search(r"Next NSEC3 re-salt: (\d+)", text)[1])


def test_usage(signer):
    assert signer.run(zone="nowhere.test").stderr == "error: zone 'nowhere.test' not configured\n"
    for arguments in (["-t", "x"], ["-t", "0"], ["-t", "-5"], ["-q"]):
        done = signer.run(*arguments)
        assert done.returncode == 1 and "Usage: kzonesign" in done.stdout
        assert arguments == ["-q"] or done.stderr == f"error: invalid time '{arguments[1]}', use seconds since 1970, such as 1767225600\n"
    assert signer.run("second.test").stderr == "error: superfluous argument 'example.com', one zone is signed\n"
    done = subprocess.run([built("kzonesign", "tools")], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "missing zone name" in done.stderr
