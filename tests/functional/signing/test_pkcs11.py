# SPDX-License-Identifier: BSD-2-Clause
"""Private keys in tokens: SoftHSM's, made by each test, of keymgr, kzonesign and the server, beside Debian's on the same token and key database."""
import json
import pathlib
import re
import shutil
import subprocess

import dns.dnssec
import dns.rcode
import dns.update
import pytest

from harness.server import Knotd, built
from harness.validators import complaint
from harness.net import free_port
from harness.waiting import PATIENCE, wait_until
from test_signing import check, contents, serial, update, wait_serial, write

MODULE = "/usr/lib/softhsm/libsofthsm2.so"
PEERS = {"keymgr": "/usr/sbin/keymgr", "knotd": "/usr/sbin/knotd"}
pytestmark = [pytest.mark.ours, pytest.mark.skipif(not pathlib.Path(MODULE).exists(), reason="SoftHSM is not installed")]
needs_peer = pytest.mark.skipif(not shutil.which(PEERS["keymgr"]), reason="Debian's knot is not installed")
HERE = pathlib.Path(__file__).parent


class Tokens:
    def __init__(self, folder):
        self.dir = folder / "softhsm"
        (self.dir / "tokens").mkdir(parents=True)
        self.conf = self.dir / "softhsm2.conf"
        self.conf.write_text(f"directories.tokendir = {self.dir}/tokens\nlog.level = ERROR\n")

    def add(self, label):
        subprocess.run(["softhsm2-util", "--init-token", "--free", "--label", label, "--pin", "1234", "--so-pin", "1234"], check=True, capture_output=True, timeout=30)

    def objects(self):
        """Files of keys: two for each pair."""
        return [path for path in self.dir.rglob("*.object") if path.name != "token.object"]

    @staticmethod
    def place(label, pin="1234", module=MODULE):
        return f"pkcs11:token={label};pin-value={pin} {module}"


@pytest.fixture
def tokens(directory, monkeypatch):
    made = Tokens(directory)
    monkeypatch.setenv("SOFTHSM2_CONF", str(made.conf))
    made.add("one")
    return made


def keystores(*stores):
    """Sections `keystore` and `policy`: stores are (id, place, more lines)."""
    text = "keystore:\n"
    for name, place, *more in stores:
        text += f"  - id: {name}\n    backend: {'pkcs11' if place.startswith('pkcs11:') else 'pem'}\n    config: \"{place}\"\n" + "".join(f"    {line}\n" for line in more)
    return text + f"policy:\n  - id: p\n    keystore: [{', '.join(store[0] for store in stores)}]\n    algorithm: ecdsap256sha256\n"


class Manager:
    """keymgr with a configuration of its own, or a daemon's."""

    def __init__(self, folder, text=None):
        self.conf = folder / "knot.conf"
        if text is not None:
            self.conf.write_text(f"database:\n  storage: {folder}\n{text}zone:\n  - domain: example\n    dnssec-policy: p\n")

    def run(self, *arguments, program=None):
        return subprocess.run([program or built("keymgr", "tools"), "-c", self.conf, *arguments], capture_output=True, text=True, check=False, timeout=60 * PATIENCE)

    def do(self, *arguments, program=None):
        done = self.run(*arguments, program=program)
        assert done.returncode == 0 and not done.stderr, done
        return done.stdout

    def fail(self, *arguments):
        done = self.run(*arguments)
        assert done.returncode == 1, done
        return done.stderr

    def list(self):
        return {key["id"]: key for key in json.loads(self.do("-j", "example.", "list"))}

    def has(self, *keys):
        """True if these are the keys. SoftHSM may not open a token that another process, such as the server, writes to just then."""
        done = self.run("-j", "example.", "list")
        return done.returncode == 0 and {key["id"] for key in json.loads(done.stdout or "[]")} == set(keys)


# ---- keymgr ----

def test_manager(tokens, directory):
    """Generated with a label, listed with their store, removed: the token is empty at the end."""
    keys = Manager(directory, keystores(("hsm", tokens.place("one"), "key-label: on"), ("files", "keys")))
    ksk = keys.do("example.", "generate", "ksk=yes").strip()
    zsk = keys.do("example.", "generate", "algorithm=rsasha256", "size=2048").strip()
    assert re.search(rf"^{ksk} +\d+ KSK ECDSAP256SHA256 PKCS11/hsm created=", keys.do("example.", "list"), re.MULTILINE)
    shown = keys.list()
    assert {(key["backend"], key["keystore"], key["missing"], key["size"]) for key in shown.values()} == {("PKCS11", "hsm", False, 256), ("PKCS11", "hsm", False, 2048)}
    assert not (directory / "keys" / "keys").exists()
    assert b"example. KSK" in b"".join(path.read_bytes() for path in tokens.objects())
    for key in (ksk, zsk):
        assert keys.do("example.", "delete", key) == "OK\n"
    assert sorted(line.split()[0] for line in keys.do("example.", "trash-list").splitlines()) == sorted([ksk, zsk])
    assert keys.do("example.", "trash-discard", "-") == "OK\n" and keys.do("-", "trash-list") == ""
    assert tokens.objects() == []


def test_import(tokens, directory):
    """A key of a file goes into the token, and one that is there is taken by its id, in any way to write that."""
    keys = Manager(directory, keystores(("hsm", tokens.place("one"))))
    subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-out", directory / "k.pem"], check=True, capture_output=True, timeout=60)
    rsa = keys.do("example.", "import-pem", directory / "k.pem", "algorithm=8").split()[0]
    made = keys.do("example.", "generate", "ksk=yes").strip()
    records = keys.do("example.", "dnskey")
    shutil.rmtree(directory / "keys")
    colons = ":".join(made[i:i + 2] for i in range(0, 40, 2)).upper()
    assert keys.do("example.", "import-pkcs11", colons, "algorithm=13", "ksk=yes") == f"{made}\nOK\n"
    assert keys.do("example.", "import-pkcs11", rsa, "algorithm=8") == f"{rsa}\nOK\n"
    assert keys.do("example.", "dnskey") == records and set(keys.list()) == {made, rsa}
    assert keys.fail("example.", "import-pkcs11") == "error: Key ID to import not specified\n"
    assert keys.fail("example.", "import-pkcs11", "abc") == "error: invalid key ID\n"
    assert keys.fail("example.", "import-pkcs11", "00" * 20) == f"error: failed to get key {'00' * 20} from the keystore\nerror: not exists\n"
    assert "invalid public key" in keys.fail("example.", "import-pkcs11", rsa, "algorithm=13")
    files = Manager(directory, keystores(("files", "keys")))
    assert files.fail("example.", "import-pkcs11", made).startswith("error: not a PKCS #11 keystore for zone example.\n")


@pytest.mark.skipif(not shutil.which("dnssec-keygen"), reason="BIND's tools are not installed")
@pytest.mark.parametrize("algorithm", ["RSASHA256", "ECDSAP384SHA384", "ED25519"])
def test_import_bind(tokens, directory, algorithm):
    """Into the token, whose own id of it is that of a file."""
    keys = Manager(directory, keystores(("hsm", tokens.place("one")), ("files", "keys")))
    pair = subprocess.run(["dnssec-keygen", "-K", directory, "-a", algorithm, "example."], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    made = keys.do("example.", "import-bind", directory / pair).split()[0]
    assert keys.list()[made]["keystore"] == "hsm" and len(tokens.objects()) == 2
    files = Manager(directory, keystores(("files", "keys")))
    assert files.do("other.", "import-bind", directory / pair).split()[0] == made


@pytest.mark.parametrize("place, text", [
    ("pkcs11:token=one;pin-value=1234", "invalid PKCS #11 configuration"),
    ("pkcs11:token=one;pin-value=1234 /nonexistent.so", "failed to load PKCS #11 module"),
    (f"pkcs11:token=two;pin-value=1234 {MODULE}", "PKCS #11 token not available"),
])
def test_refused(tokens, directory, place, text):
    assert tokens.dir.exists()
    keys = Manager(directory, keystores(("hsm", place)))
    assert keys.fail("example.", "list") == f"error: failed to initialize KASP ({text})\n"
    assert keys.fail("hsm", "keystore-test") == f"error: failed to open 'hsm' keystore ({text})\n"


def test_wrong_pin(tokens, directory):
    keys = Manager(directory, keystores(("hsm", tokens.place("one", pin="4321"))))
    assert keys.fail("example.", "generate") == "error: PKCS #11 PIN not accepted\n" and keys.list() == {}


def test_what_keystores_can(tokens, directory):
    """The same tables for both kinds, and nothing stays."""
    keys = Manager(directory, keystores(("hsm", tokens.place("one")), ("files", "elsewhere")))
    tables = {name: keys.do(name, "keystore-test").splitlines() for name in ("hsm", "files")}
    assert {name: lines[0] for name, lines in tables.items()} == {"hsm": "Keystore id 'hsm', type PKCS #11", "files": "Keystore id 'files', type PEM"}
    for lines in tables.values():
        assert lines[1:3] == ["", "Algorithm             Generate    Import    Remove       Use"] and len(lines) == 13
        able = {line[:20].rstrip(): set(line[20:].split()) for line in lines[3:]}
        assert able["RSASHA256 2048b"] == able["ECDSAP256SHA256 256b"] == able["ECDSAP384SHA384 384b"] == {"yes"}
    assert "no" not in " ".join(tables["files"][3:])
    assert tokens.objects() == [] and list(directory.rglob("*.pem")) == []
    assert keys.fail("other", "keystore-test") == "error: keystore 'other' not configured\n"
    done = keys.do("hsm", "keystore-bench", "2", "ecdsap256sha256").splitlines()
    assert done[:3] == ["Keystore id 'hsm', type PKCS #11, threads 2, algorithm ECDSAP256SHA256", "", "Algorithm             Sigs/sec"]
    assert int(re.fullmatch(r"ECDSAP256SHA256 256b +(\d+)", done[3]).group(1)) > 100
    assert keys.do("-", "keystore-bench", "1", "ed25519").startswith("Keystore default, type PEM, threads 1, algorithm ED25519\n")
    for algorithm, error in (("foo", "unknown"), ("rsasha1", "unsupported")):
        tried = keys.run("hsm", "keystore-bench", "1", algorithm)
        assert tried.returncode == 1 and tried.stderr == f"error: {error} algorithm '{algorithm}'\n"


@needs_peer
def test_beside_debians(tokens, directory):
    """Each goes on with the keys of the other, in one token and one key database."""
    keys = Manager(directory, keystores(("hsm", tokens.place("one"))))
    ours = keys.do("example.", "generate", "ksk=yes").strip()
    theirs = keys.do("example.", "generate", program=PEERS["keymgr"]).strip()
    assert {key["missing"] for key in keys.list().values()} == {False}
    assert keys.do("example.", "dnskey") == keys.do("example.", "dnskey", program=PEERS["keymgr"])
    shutil.rmtree(directory / "keys")
    assert keys.do("example.", "import-pkcs11", theirs, "algorithm=13").split()[0] == theirs
    assert keys.do("example.", "import-pkcs11", ours, "algorithm=13", "ksk=yes", program=PEERS["keymgr"]).split()[0] == ours
    for key, program in ((ours, PEERS["keymgr"]), (theirs, None)):
        assert keys.do("example.", "delete", key, program=program) == "OK\n"
    assert keys.do("-", "trash-discard", "-") == "OK\n" and tokens.objects() == []


@needs_peer
def test_ids_of_others(tokens, directory):
    """Other programs give keys in tokens ids of other lengths, and Debian's keymgr takes them: so do we, from its database, too."""
    ids = ["a1", "0123456789abcdef" * 4]
    keys = Manager(directory, keystores(("hsm", tokens.place("one"))))
    for key in ids:
        put_other_key(tokens, directory, "one", key)
    assert keys.do("example.", "import-pkcs11", ids[0], "algorithm=13", "ksk=yes", program=PEERS["keymgr"]) == f"{ids[0]}\nOK\n"
    assert keys.do("example.", "import-pkcs11", ids[1].upper(), "algorithm=13") == f"{ids[1]}\nOK\n"
    assert keys.do("example.", "dnskey") == keys.do("example.", "dnskey", program=PEERS["keymgr"])
    assert set(keys.list()) == set(ids) and {key["missing"] for key in keys.list().values()} == {False}
    assert keys.fail("example.", "import-pkcs11", "00" * 65) == keys.fail("example.", "import-pkcs11", "") == "error: invalid key ID\n"
    assert keys.do("example.", "set", ids[0], "retire=+10d") == keys.do("example.", "delete", ids[1]) == "OK\n"
    assert keys.do("example.", "import-trash", ids[1]) == f"{ids[1]}\nOK\n"
    assert keys.do("other.", "share", ids[1], "example.") == "OK\n"


# ---- kzonesign ----

class Folder:
    """As a daemon, as far as write() of test_signing wants it."""

    def __init__(self, folder):
        self.dir = folder

    def write(self, name, text):
        (self.dir / name).write_text(text)


def test_kzonesign(tokens, directory):
    keys = Manager(directory, keystores(("hsm", tokens.place("one"))))
    keys.conf.write_text(keys.conf.read_text() + f"    storage: {directory}\n")
    write(Folder(directory))
    for option, said in ((), "Next signing"), (["-v"], "DNSSEC validation successful"):
        done = subprocess.run([built("kzonesign", "tools"), "-c", keys.conf, *option, "example"], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0 and said in done.stdout, done
    assert not complaint(directory / "example.zone") and len(tokens.objects()) == 4
    signed = (directory / "example.zone").read_text()
    for path in tokens.objects():
        path.unlink()
    done = subprocess.run([built("kzonesign", "tools"), "-c", keys.conf, "example"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1 and re.fullmatch(r"error: failed to sign the zone \(no private key, key \d+, id [0-9a-f]{40}: no private key\)\n", done.stderr)
    assert (directory / "example.zone").read_text() == signed


# ---- The server ----

ACL = "acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: [ transfer, update ]\n"


def configure(daemon, stores, more=()):
    policy = "".join(f"    {line}\n" for line in more)
    daemon.configure(zones=["example"], text=f"{ACL}{stores}{policy}template:\n  - id: default\n    acl: all\n"
                     "    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")


def start(daemon, stores, more=()):
    if not (daemon.dir / "example.zone").exists():
        write(daemon)
    (daemon.dir / "db").mkdir(exist_ok=True)
    configure(daemon, stores, more)
    daemon.start()
    return daemon


def add(host):
    return lambda message: message.add(f"{host}.example.", 60, "A", "192.0.2.9")


def test_signs(make_knotd, tokens):
    """Keys are made in the token; a whole zone is signed by more than one thread, and changes are."""
    daemon = start(make_knotd(), keystores(("hsm", tokens.place("one"), "key-label: on")), ["signing-threads: 4"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    check(daemon)
    assert list(daemon.dir.rglob("*.pem")) == [] and len(tokens.objects()) == 4
    assert update(daemon, add("new")) == dns.rcode.NOERROR
    wait_serial(daemon, 12)
    check(daemon)
    daemon.knotc("-b", "zone-sign", "example")
    wait_serial(daemon, 13)
    check(daemon)


def test_signs_with_ids_of_others(make_knotd, tokens, directory):
    daemon = make_knotd()
    (daemon.dir / "db").mkdir()
    write(daemon)
    configure(daemon, keystores(("hsm", tokens.place("one"))), ["single-type-signing: on"])
    put_other_key(tokens, directory, "one", "a1")
    assert Manager(daemon.dir).do("example.", "import-pkcs11", "a1", "algorithm=13", "ksk=yes", "zsk=yes") == "a1\nOK\n"
    daemon.start()
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    check(daemon)
    assert set(Manager(daemon.dir).list()) == {"a1"}


def test_several_stores(make_knotd, tokens):
    """A KSK in the token, the ZSK in files, by ksk-only; a roll of the ZSK stays there."""
    daemon = start(make_knotd(), keystores(("hsm", tokens.place("one"), "ksk-only: on"), ("files", "keys")))
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    check(daemon)
    shown = Manager(daemon.dir).list().values()
    assert {(key["ksk"], key["keystore"]) for key in shown} == {(True, "hsm"), (False, "files")}
    assert len(list(daemon.dir.rglob("*.pem"))) == 1 and len(tokens.objects()) == 2


def test_wrong_key(make_knotd, tokens, directory):
    """Another key under the id is found out before anything is signed; a second token that has the right one is as good."""
    daemon = start(make_knotd(), keystores(("hsm", tokens.place("one"))), ["single-type-signing: on"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    key, = Manager(daemon.dir).list()
    tokens.add("two")
    put_other_key(tokens, directory, "two", key)
    daemon.stop()
    configure(daemon, keystores(("bad", tokens.place("two"))), ["single-type-signing: on"])
    before = daemon.log().count("\n")
    daemon.start()
    daemon.wait_log(rf"DNSSEC, key {tag_of(daemon)}, failed to load private key \(invalid private key\), keystore bad")
    assert "successfully signed" not in "\n".join(daemon.log().split("\n")[before:])
    configure(daemon, keystores(("bad", tokens.place("two")), ("hsm", tokens.place("one"))), ["single-type-signing: on"])
    daemon.knotc("reload")
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    check(daemon)


def tag_of(daemon):
    """Of the only key; the token needn't be there."""
    return int(re.search(r"DNSSEC, key, tag +(\d+),", daemon.log()).group(1))


def put_other_key(tokens, directory, label, key):
    assert tokens.dir.exists()
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory / "o.pem"], check=True, capture_output=True, timeout=60)
    subprocess.run(["softhsm2-util", "--import", directory / "o.pem", "--token", label, "--label", "other", "--id", key, "--pin", "1234"],
                   check=True, capture_output=True, timeout=30)


@pytest.fixture
def vanishing(tokens, directory, monkeypatch):
    """A token that is gone while a file exists: its place, and the file."""
    if not shutil.which("cc"):
        pytest.skip("no compiler")
    module, gone = directory / "vanishing.so", directory / "gone"
    subprocess.run(["cc", "-shared", "-fPIC", "-I/usr/include/p11-kit-1", "-o", module, HERE / "vanishing_token.c", "-ldl"], check=True, timeout=60)
    monkeypatch.setenv("TOKEN_IS_GONE", str(gone))
    return tokens.place("one", module=module), gone


def test_vanishing_token(make_knotd, vanishing):
    """The zone is served on while the token is gone, also by a server that is started then, and signed without being asked to when it is back."""
    place, gone = vanishing
    daemon = start(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    lost = rf"DNSSEC, key {tag_of(daemon)}, failed to load private key \(PKCS #11 token not available\), keystore hsm"
    daemon.stop()
    gone.touch()
    daemon.start()
    daemon.wait_log(lost)
    assert serial(daemon) == 11
    check(daemon)
    assert update(daemon, add("new")) == dns.rcode.SERVFAIL
    gone.unlink()
    daemon.wait_log("DNSSEC, zone is up-to-date", timeout=30)
    gone.touch()
    write(daemon, serial=20, host=7)
    daemon.knotc("-b", "zone-reload", "example", check=False)
    assert serial(daemon) == 11
    gone.unlink()
    daemon.knotc("-b", "zone-reload", "example")
    wait_serial(daemon, 21)
    assert check(daemon).get_rdataset("www.example.", "A")[0].address == "192.0.2.7"


def test_late_token(make_knotd, vanishing):
    """A new zone file waits for a token that comes after the server."""
    place, gone = vanishing
    daemon = start(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "rrsig-pre-refresh: 10"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    daemon.stop()
    write(daemon, serial=20, host=7)
    gone.touch()
    daemon.start()
    daemon.wait_log("zone event 'load' failed \\(PKCS #11 token not available\\)")
    gone.unlink()
    daemon.wait(lambda: serial(daemon) == 21, timeout=30, what="the zone")
    check(daemon)


def test_token_breaks_in_the_middle(make_knotd, vanishing):
    """What was signed by then isn't published, and the log says whose fault it was."""
    place, gone = vanishing
    daemon = start(make_knotd(), keystores(("hsm", place)), ["single-type-signing: on", "signing-threads: 2"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    gone.write_text("8")   # some are made to prove the key
    daemon.knotc("-b", "zone-sign", "example", check=False)
    daemon.wait_log(rf"DNSSEC, failed to sign zone content \(PKCS #11 token not available\), key {tag_of(daemon)}, id [0-9a-f]{{40}}, keystore hsm: PKCS #11 token not available")
    assert serial(daemon) == 11
    check(daemon)
    gone.unlink()
    daemon.knotc("-b", "zone-sign", "example")
    wait_serial(daemon, 12)
    check(daemon)


def test_backup(make_knotd, tokens, directory):
    """Records of the keys go with a backup and come back; private keys stay in the token, and the log says so."""
    daemon = start(make_knotd(), keystores(("hsm", tokens.place("one"))), ["single-type-signing: on"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    key, = Manager(daemon.dir).list()
    daemon.knotc("-b", "zone-backup", "+backupdir", str(directory / "kept"), "+kaspdb", "example")
    daemon.wait_log(rf"\[example\.\] backup of private key id {key} via PKCS #11 not possible, ignoring")
    assert list((directory / "kept").rglob("*.pem")) == []
    daemon.stop()
    shutil.rmtree(daemon.dir / "db" / "keys")
    daemon.start()
    daemon.wait(lambda: daemon.ask("example", "SOA").answer, what="the zone, from its image")
    daemon.knotc("-b", "zone-restore", "+backupdir", str(directory / "kept"), "+kaspdb", "example")
    daemon.wait_log(rf"\[example\.\] restore of private key id {key} via PKCS #11 not possible, ignoring")
    daemon.wait(lambda: Manager(daemon.dir).has(key), what="the key")
    daemon.wait(lambda: daemon.ask("example", "SOA").answer, what="the restored zone")
    daemon.knotc("-b", "zone-sign", "example")
    check(daemon)
    assert {dns.dnssec.key_id(record) for record in contents(daemon).get_rdataset("example.", "DNSKEY")} == {Manager(daemon.dir).list()[key]["tag"]}


def test_restore_into_token(make_knotd, tokens, directory):
    """Keys of files move into a token with a backup, and sign from there."""
    folder = directory / "kept"
    daemon = start(make_knotd(), keystores(("files", "keys")), [])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    keys = set(Manager(daemon.dir).list())
    daemon.knotc("-b", "zone-backup", "+backupdir", str(folder), "+kaspdb", "example")
    daemon.stop()
    shutil.rmtree(daemon.dir / "db" / "keys")
    start(daemon, keystores(("hsm", tokens.place("one"))), [])
    daemon.wait(lambda: daemon.ask("example", "SOA").answer, what="the zone")
    daemon.knotc("-b", "zone-restore", "+backupdir", str(folder), "+kaspdb", "example")
    daemon.wait(lambda: Manager(daemon.dir).has(*keys), what="the keys")
    daemon.knotc("-b", "zone-sign", "example")
    check(daemon)
    shown = Manager(daemon.dir).list().values()
    assert {(key["backend"], key["missing"]) for key in shown} == {("PKCS11", False)}
    assert {dns.dnssec.key_id(record) for record in contents(daemon).get_rdataset("example.", "DNSKEY")} == {key["tag"] for key in shown}


def test_import_while_the_token_fails(vanishing, directory, monkeypatch):
    """A key that the token may have already isn't put there again, and what goes wrong then doesn't cost the key that is there."""
    place, _ = vanishing
    trouble = directory / "trouble"
    monkeypatch.setenv("TOKEN_IN_TROUBLE", str(trouble))
    keys = Manager(directory, keystores(("hsm", place)))
    subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory / "k.pem"], check=True, capture_output=True, timeout=60)
    key = keys.do("example.", "import-pem", directory / "k.pem").split()[0]
    trouble.touch()
    assert "PKCS #11 token not available" in keys.fail("example.", "import-pem", directory / "k.pem", "algorithm=13")
    trouble.unlink()
    assert keys.list()[key]["missing"] is False
    assert keys.do("example.", "import-pem", directory / "k.pem").split() == [key, "OK"]


def test_trash_is_emptied(make_knotd, tokens):
    """Of any zone, by the signing of one; a key whose time isn't over stays."""
    daemon = start(make_knotd(), keystores(("hsm", tokens.place("one"))), ["trash-delay: 1"])
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    daemon.stop()
    keys = Manager(daemon.dir)
    of_zone, of_other = (keys.do(zone, "generate").strip() for zone in ("example.", "other."))
    for zone, key in (("example.", of_zone), ("other.", of_other)):
        assert keys.do(zone, "delete", key) == "OK\n"
    assert {line.split()[1] for line in keys.do("-", "trash-list").splitlines()} == {of_zone, of_other} and len(tokens.objects()) == 6
    wait_until(lambda: " expires=-" in keys.do("example.", "trash-list", "human"), "the end of the delay")
    daemon.start()
    daemon.wait(lambda: len(tokens.objects()) == 4, what="a sweep")
    assert keys.do("-", "trash-list").split()[1] == of_other
    check(daemon)


@needs_peer
def test_servers_take_turns(make_knotd, tokens):
    """Debian's knotd signs with keys that ours has made in the token, and the other way round."""
    stores = keystores(("hsm", tokens.place("one")))
    daemon = start(make_knotd(), stores)
    daemon.wait(lambda: serial(daemon) == 11, what="the zone")
    tags = {str(key) for key in contents(daemon).get_rdataset("example.", "DNSKEY")}
    daemon.stop()
    write(daemon, serial=20)
    other = Knotd(daemon.dir, program=PEERS["knotd"])
    other.port = free_port()
    configure(other, stores)
    other.start(ready=False)
    try:
        wait_until(lambda: other.is_answering() and serial(other) is not None and serial(other) > 20, "Knot DNS signs", timeout=20)
        assert {str(key) for key in contents(other).get_rdataset("example.", "DNSKEY")} == tags
    finally:
        other.stop()
    write(daemon, serial=30)
    configure(daemon, stores)
    daemon.start()
    daemon.wait(lambda: (serial(daemon) or 0) > 30, what="the zone")
    check(daemon)
    assert {str(key) for key in contents(daemon).get_rdataset("example.", "DNSKEY")} == tags
