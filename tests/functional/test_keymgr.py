# SPDX-License-Identifier: BSD-2-Clause
"""keymgr, alone and beside Debian's on the same key database."""
import json
import re
import shutil
import subprocess
import time

import pytest

from harness.server import built

pytestmark = pytest.mark.ours

PEER = "/usr/sbin/keymgr"
needs_peer = pytest.mark.skipif(not shutil.which(PEER), reason="Debian's knot is not installed")


class Keys:
    """A key database in a folder of its own."""

    def __init__(self, folder):
        self.dir = folder / "keys"
        self.dir.mkdir()

    def run(self, *arguments, program=None):
        return subprocess.run([program or built("keymgr", "tools"), "-D", self.dir, *arguments], capture_output=True, text=True, check=False, timeout=30)

    def do(self, *arguments, program=None):
        done = self.run(*arguments, program=program)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fail(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 1 and done.stdout == "", done
        return done.stderr

    def list(self, zone="example."):
        return json.loads(self.do("-j", zone, "list"))


@pytest.fixture
def keys(directory):
    return Keys(directory)


def test_keys_live(keys):
    """Made, listed, changed, shared and removed."""
    assert keys.do("example.", "list") == "" and keys.do("-l") == ""
    ksk = keys.do("example", "generate", "ksk=yes").strip()
    zsk = keys.do("example.", "generate", "algorithm=rsasha256", "size=1024", "active=+1h").strip()
    shown = {key["id"]: key for key in keys.list()}
    assert set(shown) == {ksk, zsk} and shown[ksk]["ksk"] and not shown[ksk]["zsk"] and shown[zsk]["size"] == 1024
    assert shown[zsk]["active"] - shown[zsk]["publish"] == 3600 and not shown[zsk]["missing"]
    tag = shown[ksk]["tag"]
    human = r"created=[+-]\ds publish=[+-]\ds ready=[+-]\ds active=[+-]\ds"
    assert re.search(rf"^{ksk} +{tag} KSK ECDSAP256SHA256 {human}$", keys.do("example.", "list", "human"), re.MULTILINE)
    assert keys.do("EXAMPLE.", "set", str(tag), "retire=+30d", "remove=20990101000000") == "OK\n"
    assert next(key for key in keys.list() if key["id"] == ksk)["remove"] == 4070908800
    assert keys.do("other.", "share", ksk, "example.") == "OK\n"
    assert keys.do("-l").split() == ["other.", "example."]
    assert keys.do("example.", "delete", f"id={ksk[:10]}") == "OK\n"
    assert (keys.dir / "keys" / f"{ksk}.pem").exists()      # the other zone has it
    assert keys.do("example.", "set", zsk, "retire=1", "remove=2", "active=1", "publish=1") == "OK\n"
    assert keys.do("example.", "del_all_old") == "OK\n" and keys.list() == []


def test_records(keys):
    """DS and DNSKEY of all KSKs, or of one key."""
    keys.do("example.", "generate", "ksk", "zsk")
    zsk = keys.do("example.", "generate").strip()
    assert re.fullmatch(r"example\. DS \d+ 13 2 [0-9a-f]{64}\nexample\. DS \d+ 13 4 [0-9a-f]{96}\n", keys.do("example.", "ds"))
    assert re.fullmatch(r"example\. DNSKEY 257 3 13 \S{88}\n", keys.do("example.", "dnskey"))
    assert re.fullmatch(r"example\. DNSKEY 256 3 13 \S{88}\n", keys.do("example.", "dnskey", zsk))


@pytest.mark.parametrize("arguments, error", [
    (["set"], "error: Key is not specified\n"),
    (["set", "1", "active=+1d"], "error: key not found: 1\nerror: not exists\n"),
    (["set", "xyz"], "error: invalid key specification: xyz\nerror: invalid parameter\n"),
    (["delete"], "error: Key is not specified\n"),
    (["share"], "error: Key to be shared is not specified\n"),
    (["share", "1"], "error: Zone to be shared from not specified\n"),
    (["import-pem"], "error: PEM file to import not specified\n"),
    (["import-pem", "/nonexistent"], "error: failed to get key from file /nonexistent\nerror: not exists\n"),
    (["import-pem", "/"], "error: failed to get key from file /\nerror: Is a directory\n"),
    (["import-pem", "/dev/zero"], "error: failed to get key from file /dev/zero\nerror: not enough space provided\n"),
    (["import-pem", "/nonexistent", "active=-5d"], "error: timestamp 'publish' must be before 'active'\nerror: semantic check\n"),
    (["import-pub"], "error: BIND-style key to import not specified\n"),
    (["import-pub", "/nonexistent"], "error: failed to get key from file /nonexistent\nerror: not exists\n"),
    (["import-bind", "/nonexistent"], "error: failed to get key from file /nonexistent.key\nerror: not exists\n"),
    (["generate", "foo=bar"], "error: invalid parameter: foo=bar\nerror: invalid parameter\n"),
    (["generate", "algorithm=99"], "error: unknown algorithm: 99\nerror: invalid parameter\n"),
    (["generate", "size=x"], "error: invalid size: 'x'\nerror: invalid parameter\n"),
    (["generate", "publish=+2d", "active=+1d"], "error: timestamp 'publish' must be before 'active'\nerror: semantic check\n"),
    (["nsec3-salt", "zz"], "error: invalid salt: zz\nerror: malformed data\n"),
    (["master-serial", "x"], "error: invalid serial: x\nerror: invalid parameter\n"),
    (["share", "1", "a..b"], "error: invalid zone name 'a..b'\nerror: empty label\n"),
    # A time that can't be read: no key, which would be used at once.
    (["generate", "active=tomorrow"], "error: invalid timestamp: tomorrow\nerror: invalid parameter\n"),
    (["generate", "ksk=yes", "retire="], "error: invalid timestamp: \nerror: invalid parameter\n"),
    (["bogus"], "error: invalid command 'bogus', see keymgr -h\n"),
    # What isn't done isn't passed by.
    (["delete", "1", "2"], "error: delete: superfluous argument '2'\n"),
    (["list", "iso", "x"], "error: list: superfluous argument 'x'\n"),
    (["plan", "iso", "x"], "error: plan: superfluous argument 'x'\n"),
    (["del-all-old", "x"], "error: del-all-old: superfluous argument 'x'\n"),
    (["keystore-bench", "1", "13", "x"], "error: keystore-bench: superfluous argument 'x'\n"),
])
def test_refused(keys, arguments, error):
    assert keys.fail("example.", *arguments) == error
    assert keys.list() == [] and list((keys.dir / "keys").glob("*.pem")) == []


def test_for_later(keys):
    """A key that was made for later is the next one that is generated, if it is such as is wanted: of that role, algorithm and size."""
    later = keys.do("example.", "generate", "algorithm=8", "size=1024", "for-later=yes", "created=-1d").strip()
    shown, = keys.list()
    assert shown["for-later"] and shown["publish"] == 0 and shown["active"] == 0
    for words in (["algorithm=8", "size=2048"], ["algorithm=8", "size=1024", "ksk=yes"], ["algorithm=13"]):
        assert keys.do("example.", "generate", *words).strip() != later
    assert keys.do("example.", "generate", "algorithm=8", "size=1024", "retire=+1d").strip() == later
    taken = next(key for key in keys.list() if key["id"] == later)
    assert not taken["for-later"] and taken["created"] == shown["created"] and taken["publish"] == taken["active"] > taken["created"] and taken["retire"] > taken["active"]
    assert keys.do("example.", "generate", "algorithm=8", "size=1024").strip() != later


def test_no_role(keys):
    """A key without a role is a ZSK."""
    key = keys.do("example.", "generate", "ksk=yes").strip()
    assert keys.do("example.", "set", key, "ksk=no") == "OK\n" and [(it["ksk"], it["zsk"]) for it in keys.list()] == [(False, True)]
    assert keys.do("example.", "dnskey", key).split()[2] == "256"


def test_set_beside_others(keys):
    """Each of many that change a key at once keeps what the others have changed."""
    timers = ["created", "pre_active", "ready", "revoke"]   # whose order doesn't matter
    key = keys.do("example.", "generate", "ksk=yes", "publish=0", "active=0").strip()
    for turn in range(1, 6):
        times = {timer: turn * 1000000 + i for i, timer in enumerate(timers)}
        done = [subprocess.Popen([built("keymgr", "tools"), "-D", keys.dir, "example.", "set", key, f"{timer}={when}"], stdout=subprocess.PIPE)
                for timer, when in times.items()]
        assert [one.communicate(timeout=60)[0] for one in done] == [b"OK\n"] * len(done)
        shown, = keys.list()
        assert {timer: shown[timer.replace("_", "-")] for timer in timers} == times


def test_json_of_nothing(keys):
    """No keys are an empty list, not an empty document."""
    keys.do("other.", "generate")
    for arguments in (["example.", "list"], ["example.", "trash-list"], ["-", "trash-list"]):
        assert json.loads(keys.do("-j", *arguments)) == []


def test_wrong_folder(keys, directory):
    """A path that leads nowhere isn't a zone without keys; as with Knot DNS, a database is made there, but not in silence."""
    keys.dir = directory / "tpyo"
    done = keys.run("example.", "list")
    assert (done.returncode, done.stdout) == (0, "") and done.stderr == f"warning: there was no key database in '{keys.dir}', an empty one was made\n"
    assert keys.run("example.", "list").stderr == ""
    keys.dir = directory / "first"
    assert keys.run("example.", "generate").stderr == ""


def test_refused_before_anything(keys):
    assert keys.fail("a..b", "list") == "error: invalid zone name 'a..b' (empty label)\n"
    key = keys.do("example.", "generate").strip()
    assert keys.fail("example.", "set", key, "retire=never") == "error: invalid timestamp: never\nerror: invalid parameter\n"


@pytest.mark.parametrize("text, distance", [("+1", 1), ("now+2mi", 120), ("t-3h", -10800), ("-1d", -86400), ("now+1mo", 2592000), ("+1y", 31536000), ("now", 0)])
def test_distances(keys, text, distance):
    now = time.time()
    keys.do("example.", "generate", f"created={text}")
    assert abs(keys.list()[0]["created"] - now - distance) < 5


def test_salt_and_serials(keys):
    assert keys.do("example.", "nsec3-salt") == "-- no salt --\n"
    assert keys.do("example.", "nsec3-salt", "abCD") == "OK\n" and keys.do("example.", "nsec3-salt") == "Current salt: ABCD\n"
    assert keys.do("example.", "nsec3-salt", "-") == "OK\n" and keys.do("example.", "nsec3-salt") == "Current salt: -\n"
    for command in ("master-serial", "local-serial"):
        assert keys.do("example.", command) == "-- no serial --\n"
        assert keys.do("example.", command, "4294967295") == "OK\n" and keys.do("example.", command) == "Current serial: 4294967295\n"


def test_tsig(keys):
    assert re.fullmatch(r"# hmac-sha256:k\.:(\S{44})\nkey:\n  - id: k\.\n    algorithm: hmac-sha256\n    secret: \1\n", keys.do("-t", "k."))
    done = keys.run("-t", "k", "hmac-sha512", "250")
    assert done.stderr == "warning: optimal key size for hmac-sha512 is at least 512 bits\n" and re.search(r"secret: \S{44}$", done.stdout.strip())
    assert keys.fail("-t", "k", "hmac-x") == \
        "error: failed to generate TSIG (invalid key algorithm 'hmac-x', use hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha224, hmac-sha1 or hmac-md5)\n"
    assert keys.fail("-t", "k", "hmac-md5", "x") == "error: invalid number of bits 'x', use 1 to 8192\n"
    for name in ("", "a..b", "two words", "alg:key"):   # which no configuration or -y takes
        assert keys.fail("-t", name) == f"error: failed to generate TSIG (invalid key name '{name}')\n"


def test_imports(keys, directory):
    """A private key of a file, and the public one of another signer."""
    made = keys.do("example.", "generate", "ksk=yes").strip()
    shutil.copy(keys.dir / "keys" / f"{made}.pem", directory / "k.pem")
    (directory / "k.key").write_text(keys.do("example.", "dnskey"))
    shutil.rmtree(keys.dir)
    keys.dir.mkdir()
    assert keys.do("example.", "import-pem", directory / "k.pem", "algorithm=13", "ksk=yes") == f"{made}\nOK\n"
    assert keys.do("elsewhere.", "import-pub", directory / "k.key") == f"{made}\nOK\n"
    assert keys.list("elsewhere.")[0]["public-only"] and not keys.list()[0]["public-only"]
    (directory / "k.pem").write_text("rubbish")
    assert "failed to get key from file" in keys.fail("third.", "import-pem", directory / "k.pem")


@needs_peer
def test_beside_debians(keys):
    """Each reads what the other wrote; records are the same."""
    ours = keys.do("example.", "generate", "ksk=yes").strip()
    theirs = keys.do("example.", "generate", program=PEER).strip()
    for command in ("ds", "dnskey"):
        assert keys.do("example.", command) == keys.do("example.", command, program=PEER)
    for zone_of, program in ((ours, PEER), (theirs, None)):
        assert keys.do("example.", "set", zone_of, "retire=+7d", "remove=+8d", program=program) == "OK\n"
    listed = [re.sub(r"created=\S+ ", "", line) for line in keys.do("example.", "list").splitlines()]
    assert sorted(listed) == sorted(keys.do("example.", "list", program=PEER).splitlines())
    assert keys.do("-l", program=PEER) == keys.do("-l")
    for zone_of, program in ((ours, PEER), (theirs, None)):
        assert keys.do("example.", "delete", zone_of, program=program) == "OK\n"
    assert keys.list() == []


def bind_key(folder, *arguments):
    """A pair of files of BIND's dnssec-keygen."""
    done = subprocess.run(["dnssec-keygen", "-K", folder, *arguments, "example."], capture_output=True, text=True, check=True, timeout=60)
    return folder / done.stdout.strip()


@pytest.mark.skipif(not shutil.which("dnssec-keygen"), reason="BIND's tools are not installed")
@pytest.mark.parametrize("algorithm", ["RSASHA256 -b 1024", "RSASHA512 -b 2048", "ECDSAP256SHA256", "ECDSAP384SHA384", "ED25519", "ED448"])
def test_import_bind(keys, directory, algorithm):
    """Keys of BIND, with their timers, as Debian's keymgr takes them; the private keys are those files'."""
    ksk = bind_key(directory, "-f", "KSK", "-a", *algorithm.split())
    zsk = bind_key(directory, "-a", *algorithm.split(), "-P", "now", "-A", "+1d", "-I", "+10d", "-D", "+20d")
    ksk_id = keys.do("example.", "import-bind", f"{ksk}.key").split("\n")[0]
    assert keys.do("example.", "import-bind", f"{zsk}.private").endswith("\nOK\n") and keys.do("same.", "import-bind", zsk).endswith("\nOK\n")
    shown = {key["id"]: key for key in keys.list()}
    zsk_id, = set(shown) - {ksk_id}
    assert shown[ksk_id]["ksk"] and not shown[ksk_id]["zsk"] and not shown[zsk_id]["missing"] and not shown[zsk_id]["public-only"]
    assert f"{ksk}".endswith(f"{shown[ksk_id]['tag']:05}") and shown[ksk_id]["retire"] == shown[ksk_id]["remove"] == 0
    offsets = {name: shown[zsk_id][name] - shown[zsk_id]["created"] for name in ("publish", "active", "retire", "remove")}
    assert offsets == {"publish": 0, "active": 86400, "retire": 864000, "remove": 1728000}
    if shutil.which(PEER):
        (directory / "theirs").mkdir()
        theirs = Keys(directory / "theirs")
        for pair in (ksk, zsk):
            theirs.do("example.", "import-bind", f"{pair}.key", program=PEER)
        listed = [re.sub(r"created=\S+ ", "", line) for line in keys.do("example.", "list").splitlines()]
        assert sorted(listed) == sorted(theirs.do("example.", "list", program=PEER).splitlines())


@pytest.mark.skipif(not shutil.which("dnssec-keygen"), reason="BIND's tools are not installed")
def test_import_bind_refused(keys, directory):
    """Half a pair, the private key of another, and times that are none."""
    one, other = bind_key(directory, "-a", "13"), bind_key(directory, "-a", "13")
    shutil.copy(f"{one}.key", directory / "half.key")
    assert keys.fail("example.", "import-bind") == "error: BIND-style key to import not specified\n"
    names = f"error: failed to get key from file {directory}/"
    assert keys.fail("example.", "import-bind", directory / "none") == f"{names}none.key\nerror: not exists\n"
    assert keys.fail("example.", "import-bind", directory / "half.key") == f"{names}half.private\nerror: not exists\n"
    shutil.copy(f"{other}.private", directory / "half.private")
    assert keys.fail("example.", "import-bind", directory / "half.key") == f"{names}half.private\nerror: invalid private key\n"
    text = (directory / f"{one.name}.private").read_text()
    (directory / "half.private").write_text(re.sub(r"Publish: .*", "Publish: soon", text))
    assert keys.fail("example.", "import-bind", directory / "half") == f"{names}half.private\nerror: malformed data\n"
    assert keys.list() == [] and not (keys.dir / "keys").exists()


def test_trash(keys):
    """A deleted key is listed, taken back with its roles, and discarded; a zone's own command leaves those of others."""
    ksk, zsk, other = (keys.do(zone, "generate", *more).strip() for zone, more in (("example.", ["ksk=yes"]), ("example.", []), ("other.", [])))
    tags = {key["id"]: key["tag"] for key in keys.list()}
    for zone, key in (("example.", ksk), ("example.", zsk), ("other.", other)):
        assert keys.do(zone, "delete", key) == "OK\n"
    lines = {line.split()[0]: line for line in keys.do("example.", "trash-list").splitlines()}
    assert set(lines) == {ksk, zsk} and re.fullmatch(rf"{ksk} +{tags[ksk]} KSK ECDSAP256SHA256 deleted=\d+ expires=\d+", lines[ksk])
    assert re.search(rf"^other\. {other} .* deleted=[+-]\ds expires=\+\S+$", keys.do("-", "trash-list", "human"), re.MULTILINE)
    shown = {entry["id"]: entry for entry in json.loads(keys.do("-j", "-", "trash-list"))}
    assert set(shown) == {ksk, zsk, other} and shown[ksk]["expires"] - shown[ksk]["deleted"] == 28 * 86400 and not shown[ksk]["missing"]
    assert keys.do("example.", "import-trash", ksk, "retire=+3d") == f"{ksk}\nOK\n"
    back, = keys.list()
    assert back["id"] == ksk and back["ksk"] and not back["zsk"] and back["tag"] == tags[ksk] and back["retire"] - back["active"] == 3 * 86400
    assert keys.do("example.", "trash-list").split()[0] == zsk
    assert keys.fail("example.", "trash-discard") == "error: Key ID not specified\n"
    assert keys.fail("example.", "trash-discard", other) == "error: not exists\n"
    assert keys.do("example.", "trash-discard", zsk) == "OK\n"
    assert {path.stem for path in (keys.dir / "keys").iterdir()} == {ksk, other}
    assert keys.fail("example.", "import-trash") == "error: Key ID to re-import not specified\n"
    assert keys.fail("example.", "import-trash", zsk) == "error: not exists\n"
    (keys.dir / "keys" / f"{other}.pem").unlink()
    assert " missing " in keys.do("other.", "trash-list")
    assert keys.fail("other.", "import-trash", other) == "error: no suitable keystore\n"
    assert keys.do("-", "trash-discard", "-") == "OK\n" and keys.do("-", "trash-list") == ""
