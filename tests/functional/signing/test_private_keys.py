# SPDX-License-Identifier: BSD-2-Clause
"""Private keys are in files that others can't read, and nowhere else: not in logs, and not in the memory of a server that has signed."""
import base64
import os
import re
import shutil
import stat
import subprocess

import dns.rcode
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from harness.server import built
from test_pkcs11 import Manager, tokens   # noqa: F401: a fixture
from test_pkcs11 import keystores
from test_pkcs11 import start as start_tokens
from test_signing import check, serial, start, update, wait_serial

pytestmark = pytest.mark.ours
ALGORITHMS = ["ecdsap256sha256", "ecdsap384sha384", "ed25519", "rsasha256"]


def pems(folder):
    return sorted(folder.rglob("*.pem"))


def numbers(path):
    """The private numbers of a PEM file in each form in which they may lie in memory or be printed."""
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    if isinstance(key, rsa.RSAPrivateKey):
        private = key.private_numbers()
        values = [private.d, private.p, private.q]
        forms = [value.to_bytes((value.bit_length() + 7) // 8, "big") for value in values]
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        forms = [key.private_numbers().private_value.to_bytes(key.curve.key_size // 8, "big")]
    else:
        assert isinstance(key, ed25519.Ed25519PrivateKey)
        forms = [key.private_bytes(serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption())]
    text = [line for line in path.read_bytes().split(b"\n") if line and b"-----" not in line]
    return forms + [form[::-1] for form in forms], text


def traces(data, path):
    """Which forms of a private key are in the bytes: as numbers, as hexadecimal or base64, as lines of the file."""
    raw, lines = numbers(path)
    found = []
    for form in raw:
        printed = [form, form.hex().encode(), form.hex().upper().encode(), base64.b64encode(form)[:40]]
        found += [what[:8] for what in printed if what in data]
    secret_lines = lines[1:-1] if len(lines) > 2 else []   # the first has the kind of the key, the last may have public numbers only
    return found + [line[:16] for line in secret_lines if line in data]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_modes_and_logs(make_knotd, directory, algorithm):
    """Each path that writes a key, by a server and by keymgr, with a log of all that there is to say."""
    old = os.umask(0)
    try:
        daemon = start(make_knotd(), [f"algorithm: {algorithm}", "cds-cdnskey-publish: always"])
        daemon.wait(lambda: serial(daemon) is not None, what="the zone")
        manager, said = Manager(daemon.dir), []
        said.append(manager.do("example.", "generate", "ksk=yes"))
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory / "own.pem"], check=True, capture_output=True)
        said.append(manager.do("example.", "import-pem", str(directory / "own.pem"), "algorithm=13"))
        said.append(manager.do("example.", "list"))
        daemon.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "kept"), "+kaspdb")
        daemon.knotc("-b", "zone-key-rollover", "example", "zsk", check=False)
        daemon.knotc("-b", "zone-sign", "example", check=False)
        daemon.knotc("-b", "zone-restore", "example", "+backupdir", str(directory / "kept"), "+kaspdb")
        said.append(daemon.knotc("zone-status", "example", "+error").stdout)
    finally:
        os.umask(old)
    files = [path for path in pems(directory) if path.name != "own.pem"]
    assert len(files) >= 6 and any("kept" in str(path) for path in files)
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o640 and stat.S_IMODE(path.parent.stat().st_mode) == 0o750, path
    data = daemon.log().encode() + "".join(said).encode()
    assert not [path for path in files for _ in traces(data, path)]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.skipif(not shutil.which("gcore"), reason="gdb is not installed")
def test_memory(make_knotd, directory, algorithm):
    """A core of a server that has made, read and used keys has none of them."""
    daemon = start(make_knotd(), [f"algorithm: {algorithm}", "signing-threads: 2"])
    daemon.wait(lambda: serial(daemon) is not None, what="the zone")
    assert update(daemon, lambda m: m.add("new.example.", 60, "A", "192.0.2.9")) == dns.rcode.NOERROR
    wait_serial(daemon, 12)
    daemon.knotc("-b", "zone-sign", "example")
    check(daemon)
    daemon.knotc("-b", "zone-backup", "example", "+backupdir", str(directory / "kept"), "+kaspdb")
    data = core(daemon, directory)
    assert b"example" in data and daemon.socket.name.encode() in data
    found = {path.name[:8]: traces(data, path) for path in pems(daemon.dir)}
    assert len(found) >= 2 and not any(found.values()), found


def core(daemon, directory):
    done = subprocess.run(["gcore", "-a", "-o", directory / "core", str(daemon.process.pid)], capture_output=True, text=True, check=False, timeout=120)
    path = directory / f"core.{daemon.process.pid}"
    assert path.exists(), done
    data = path.read_bytes()
    path.unlink()
    return data
