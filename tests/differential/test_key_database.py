# SPDX-License-Identifier: BSD-2-Clause
"""The key database, written by our keymgr and by Debian's under one clock: the same commands make the same bytes, whichever program gives them, and
the other one lists what one has written in the same words.

Commands are random, from KNOT_SEED on; keys are imported, so that all have the same.
"""
import os
import random
import re
import subprocess

import pytest

from harness import lmdb
from harness.clock import Clock
from harness.server import built

SEED, ROUNDS = int(os.environ.get("KNOT_SEED", 1)), int(os.environ.get("KNOT_ROUNDS", 1))
BEGIN = 1798761600      # 2027-01-01
DEBIANS = "/usr/sbin/keymgr"
KEYS = [("13", "KSK", "256"), ("13", "ZSK", "256"), ("15", "ZSK", "256"), ("14", "KSK", "384"), ("8", "ZSK", "1024"), ("16", "KSK", "456")]
CONF = """\
database:
    storage: {folder}
policy:
  - id: p
    manual: on
    offline-ksk: on
    dnskey-ttl: 3600
    zone-max-ttl: 3600
    nsec3-salt-length: 2
    rrsig-refresh: 3d
    rrsig-lifetime: 14d
    rrsig-pre-refresh: 1h
    propagation-delay: 1h
    algorithm: ed25519
    zsk-lifetime: 10d
{more}
template:
  - id: default
    dnssec-signing: on
    dnssec-policy: p
zone:
  - domain: a.example
  - domain: b.example
"""
ZONES = ["a.example", "b.example"]
TRASH = 0xF1    # a kind of record that 3.2 doesn't know


def without_our_words(complaint):
    """A complaint in 3.2's words: ours says of which key, too, and that a database was made."""
    complaint = re.sub("^warning: there was no key database in .*\n", "", complaint)
    return re.sub("^(error: key not (?:found|specified uniquely)): [0-9a-f]+", r"\1", complaint)


class Place:
    """A database and who works on it: "ours", "debians" or "both", by turns."""

    def __init__(self, folder, who, clock):
        self.folder, self.who, self.clock = folder, who, clock
        folder.mkdir()
        for name, more in (("ours", "    trash-delay: 0"), ("debians", "")):
            (folder / f"{name}.conf").write_text(CONF.format(folder=folder, more=more))

    def run(self, whose, *words):
        program = built("keymgr", "tools") if whose == "ours" else DEBIANS
        done = subprocess.run([program, "-c", self.folder / f"{whose}.conf", *words], capture_output=True, text=True, timeout=60, check=False,
                              env=self.clock.whole_environment())
        return done.returncode, done.stdout, without_our_words(re.sub(r"\S*/(\w+\.\w+)", r"\1", done.stderr))

    def do(self, dice, *words):
        return self.run(dice.choice(["ours", "debians"]) if self.who == "both" else self.who, *words)

    def records(self):
        return {key: value for key, value in lmdb.read(self.folder / "keys", "keys_db").items() if key[0] != TRASH}

    def private_keys(self):
        return {path.name: path.read_bytes() for path in (self.folder / "keys" / "keys").glob("*.pem")}


@pytest.fixture(scope="module", name="pems")
def make_pems(tmp_path_factory):
    """Files of private keys: (path, algorithm, role, id)."""
    folder, made = tmp_path_factory.mktemp("pems"), []
    for algorithm, role, size in KEYS:
        done = subprocess.run([DEBIANS, "-D", folder / "keys", "x.", "generate", f"algorithm={algorithm}", f"size={size}"], capture_output=True, text=True, check=True)
        identity = done.stdout.strip()
        made.append((folder / "keys" / "keys" / f"{identity}.pem", algorithm, role, identity))
    return made


def some_times(dice):
    """Timers in order, as attributes."""
    names = [name for name in ("publish", "active", "retire", "remove") if dice.random() < 0.8]
    at, words = dice.randrange(-40, 10), []
    for name in names:
        at += dice.randrange(0, 20)
        words.append(f"{name}={dice.choice(['', 't', 'now'] if at >= 0 else ['t', 'now'])}{at:+}{dice.choice(['d', 'h', 'mi'])}"
                     if dice.random() < 0.3 else f"{name}={BEGIN + at * 86400}")
    return words


def some_command(dice, pems):
    """Not here: import-pem with both ksk and zsk, of which 3.2 makes a KSK and ours a CSK; what makes new keys, which differ."""
    zone, (path, algorithm, role, identity) = dice.choice(ZONES), dice.choice(pems)
    return dice.choice([
        lambda: [zone, "import-pem", str(path), f"algorithm={algorithm}", *([f"{role.lower()}=yes"] if role == "KSK" else []), *some_times(dice)],
        lambda: [zone, "set", identity, *some_times(dice)],
        lambda: [zone, "set", identity[:12], dice.choice(["ksk=yes", "zsk=yes", "ksk=no", "revoke=+3d", "ready=+1d", "retire=0"])],
        lambda: [zone, "share", identity, dice.choice(ZONES)],
        lambda: [zone, "delete", identity],
        lambda: [zone, "nsec3-salt", dice.choice(["-", "abcd", "00ff"])],
        lambda: [zone, "local-serial", str(dice.randrange(2**32))],
        lambda: [zone, "master-serial", str(dice.randrange(2**32))],
        lambda: [zone, "del-all-old"],
        lambda: [zone, dice.choice(["ds", "dnskey"])],
        lambda: [zone, dice.choice(["nsec3-salt", "local-serial", "master-serial"])],
    ])()


def readable(value):
    """A record; of one that may be a key, its flags and its timers from the beginning."""
    if value is None or len(value) < 92:
        return value and value.hex()
    times = [int.from_bytes(value[at:at + 8], "big") for at in range(20, 92, 8)]
    return value[16:20].hex(), [at and at - BEGIN for at in times], value[-8:].hex()


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_same_commands(tmp_path, pems, seed):
    dice, clock = random.Random(seed), Clock(tmp_path / "clock", BEGIN)
    places = [Place(tmp_path / who, who, clock) for who in ("ours", "debians", "both")]
    for number in range(80):
        words = some_command(dice, pems)
        # Of a key that the zone has, 3.2 saves the old record or the new one, as they happen to be sorted. A private key that is there it takes only from the same
        # bytes; ours writes those of ECDSA without the parameters of the curve, which PKCS #8 has already.
        if words[1] == "import-pem" and any(words[2].endswith(f"/{name}") for place in places for name in place.private_keys()):
            continue
        clock.set(clock.now + dice.choice([0, 1, 3600, 86400]))
        said = [place.do(dice, *words) for place in places]
        assert said[0] == said[1], (number, words, said)
        ours, *others = [place.records() for place in places]
        for other in others:
            different = [(key, readable(ours.get(key)), readable(other.get(key))) for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)]
            assert not different, f"command {number}, {words}, {said}: {different}"
        private = [place.private_keys() for place in places]
        assert private[0].keys() == private[1].keys() == private[2].keys(), (number, words)
    for zone in ZONES:
        for how in ([], ["-e"], ["-j"]):
            lists = [place.run(whose, *how, zone, "list") for place in places for whose in ("ours", "debians")]
            assert all(said[1] == lists[1][1] for said in lists[1::2]), (zone, how, lists)


def test_offline_records(tmp_path, pems):
    """What a signed key response says is stored, listed and removed as the same bytes, by either program."""
    clock, dice = Clock(tmp_path / "clock", BEGIN), random.Random(SEED)
    zone, signer = ZONES[0], Place(tmp_path / "signer", "ours", clock)
    zsk, ksk = next(pem for pem in pems if pem[1:3] == ("13", "ZSK")), next(pem for pem in pems if pem[1:3] == ("13", "KSK"))
    for path, algorithm, role, _ in (zsk, ksk):
        assert signer.do(dice, zone, "import-pem", str(path), f"algorithm={algorithm}", f"{role.lower()}=yes")[0] == 0
    (tmp_path / "request").write_text(signer.do(dice, zone, "generate-ksr", "+30d")[1])
    (tmp_path / "response").write_text(signer.do(dice, zone, "sign-ksr", str(tmp_path / "request"))[1])
    places = [Place(tmp_path / who, who, clock) for who in ("ours", "debians", "both")]
    commands = [["import-pem", str(zsk[0]), "algorithm=13"], ["import-skr", str(tmp_path / "response")], ["show-offline"], ["show-offline", "+5d", "+20d"],
                ["del-offline", "+5d", "+20d"], ["show-offline"], ["import-skr", str(tmp_path / "response")], ["del-offline", str(BEGIN - 10), "+100d"]]    # from 0 on, 3.2 removes nothing
    counts = []
    for words in commands:
        said = [place.do(dice, zone, *words) for place in places]
        assert said[0] == said[1] == said[2] and said[0][0] == 0, (words, said)
        records = [place.records() for place in places]
        assert records[0] == records[1] == records[2], words
        counts.append(sum(1 for key in records[0] if key[0] == 7))
    assert counts[1] >= 3 and counts[4] < counts[1] and counts[6] == counts[1] and counts[-1] == 0, counts
