# SPDX-License-Identifier: BSD-2-Clause
"""Guards what knotc does to a configuration without a server: conf-init, conf-import, conf-export, conf-check, zone-check; which one it takes."""
import fcntl
import json
import os
import stat
import subprocess

import pytest

from harness.server import built, is_ours
from harness.waiting import PATIENCE
from zones import example

pytestmark = [pytest.mark.core, pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")]

FORCE = "error: use force option to overwrite the existing destination and ensure the server is not running!\n"


class Knotc:
    def __init__(self, directory):
        self.dir = directory

    def write(self, name, text):
        (self.dir / name).write_text(text)
        return name

    def __call__(self, *arguments, status=0, **options):
        """(stdout, stderr) of a run in the directory, checked for its status."""
        done = subprocess.run([built("knotc", "tools"), *arguments], capture_output=True, text=True, check=False, timeout=20 * PATIENCE,
                              cwd=self.dir, **options)
        assert done.returncode == status, (arguments, done)
        return done.stdout, done.stderr

    def export(self):
        return self("-C", "db", "conf-export")[0]


@pytest.fixture
def knotc(directory):
    (directory / "example.zone").write_text(example(7))
    made = Knotc(directory)
    made.write("a.conf", f"server:\n    identity: a\ntemplate:\n  - id: default\n    storage: {directory}\nzone:\n  - domain: example\n")
    return made


def test_a_database_is_made_filled_and_emptied(knotc):
    assert knotc("-C", "db", "conf-init") == ("OK\n", "")
    assert stat.S_IMODE(os.stat(knotc.dir / "db").st_mode) == 0o750
    assert stat.S_IMODE(os.stat(knotc.dir / "db" / "data.mdb").st_mode) == 0o640
    assert knotc("-C", "db", "conf-init") == ("OK\n", "")              # an empty one needs no force
    assert knotc("-C", "db", "conf-import", "a.conf") == ("OK\n", "")
    assert 'identity: "a"' in knotc.export()
    for action in (["conf-init"], ["conf-import", "a.conf"]):
        assert knotc("-C", "db", *action, status=1) == ("", FORCE)
    assert 'identity: "a"' in knotc.export()
    assert knotc("-C", "db", "conf-import", "-f", "a.conf") == ("OK\n", "")
    assert knotc("-f", "-C", "db", "conf-init") == ("OK\n", "")
    assert "identity" not in knotc.export()


def test_import_makes_the_database(knotc):
    assert knotc("-C", "db", "conf-import", "a.conf") == ("OK\n", "")
    assert knotc("-C", "db", "conf-check") == ("Configuration is valid\n", "")
    assert knotc("-C", "db", "zone-check") == ("", "")


@pytest.mark.parametrize("name", ["b.conf", "odd [x]*?.conf"])
def test_import_nopurge_adds(knotc, name):
    knotc("-C", "db", "conf-import", "a.conf")
    knotc.write(name, "zone:\n  - domain: b.test\n    template: default\n")
    assert knotc("-C", "db", "-f", "conf-import", name, "+nopurge") == ("OK\n", "")
    assert '"example."' in knotc.export() and '"b.test."' in knotc.export()
    before = knotc.export()
    output, errors = knotc("-C", "db", "-f", "conf-import", name, "+nopurge", status=1)
    assert output == "" and "duplicate identifier" in errors and errors.endswith("error: import (duplicate identifier)\n")
    assert knotc.export() == before


@pytest.mark.parametrize("text,wanted", [
    ("server:\n    nonsense: 1\n", "line 2, item 'nonsense', value '1' (invalid item)"),
    ("zone:\n  - domain: a.\n    acl: nope\n", "item 'acl', value 'nope' (invalid reference)"),
    ("remote:\n  - id: x\n", "section 'remote[x]' (no remote address defined)"),
], ids=["item", "reference", "block"])
@pytest.mark.parametrize("filters", [[], ["+nopurge"]], ids=["purge", "nopurge"])
def test_a_faulty_file_changes_nothing(knotc, text, wanted, filters):
    knotc("-C", "db", "conf-import", "a.conf")
    before = knotc.export()
    output, errors = knotc("-C", "db", "-f", "conf-import", knotc.write("bad.conf", text), *filters, status=1)
    assert output == "" and wanted in errors and "error: import (" in errors
    assert knotc.export() == before


def test_import_of_a_missing_file(knotc):
    output, errors = knotc("-C", "db", "conf-import", "nofile", status=1)
    assert output == "" and errors == "error: config, failed to load file 'nofile' (not exists)\nerror: import (not exists)\n"
    assert not (knotc.dir / "db").exists()


@pytest.mark.parametrize("filters", [[], ["+nopurge"]], ids=["purge", "nopurge"])
def test_a_failed_import_makes_no_database(knotc, filters):
    """A server would take the empty database instead of its file at the next start."""
    output, errors = knotc("-C", "db", "conf-import", knotc.write("bad.conf", "server:\n    nonsense: 1\n"), *filters, status=1)
    assert output == "" and errors.endswith("error: import (invalid item)\n") and errors.count("invalid item") == 2
    assert not (knotc.dir / "db").exists()
    assert knotc("-C", "db", "conf-import", "a.conf", *filters) == ("OK\n", "")
    assert 'identity: "a"' in knotc.export()


@pytest.mark.skipif(os.geteuid() != 0, reason="files of others need root")
def test_root_makes_it_for_the_server(knotc):
    """In the server's folder: with a database that is root's the server could not start again."""
    (knotc.dir / "lib").mkdir()
    os.chown(knotc.dir / "lib", 65534, 65534)
    for action in (["conf-import", "a.conf"], ["conf-init", "-f"], ["conf-import", "a.conf"]):
        assert knotc("-C", "lib/db/", *action) == ("OK\n", "")
        for path in ("lib/db", "lib/db/data.mdb"):
            info = os.stat(knotc.dir / path)
            assert (info.st_uid, info.st_gid) == (65534, 65534), path
    assert stat.S_IMODE(os.stat(knotc.dir / "lib/db").st_mode) == 0o750


def test_import_while_another_holds_the_database(knotc):
    knotc("-C", "db", "conf-import", "a.conf")
    fd = os.open(knotc.dir / "db", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        output, errors = knotc("-C", "db", "-f", "conf-import", "a.conf", status=1)
        assert output == "" and "error: failed to open configuration database 'db' (" in errors
    finally:
        os.close(fd)
    assert 'identity: "a"' in knotc.export()


def test_export_goes_round(knotc):
    """What is exported is the same configuration when it is read: from a file, from a database, to a file."""
    assert knotc("-c", "a.conf", "conf-export", "out.conf") == ("OK\n", "")
    text = (knotc.dir / "out.conf").read_text()
    assert knotc("-c", "out.conf", "conf-export")[0] == text
    knotc("-C", "db", "conf-import", "out.conf")
    assert knotc.export() == text
    assert knotc("-v", "-c", "a.conf", "conf-export")[0] == text          # nothing else gets in between


def test_export_leaves_what_is_there(knotc):
    """The file keeps its mode, a link stays a link; when there is no room the old file stays."""
    target = knotc.dir / "target.conf"
    target.write_text("old")
    target.chmod(0o604)
    (knotc.dir / "link.conf").symlink_to("target.conf")
    knotc("-c", "a.conf", "conf-export", "link.conf")
    assert (knotc.dir / "link.conf").is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o604 and "example." in target.read_text()
    for path, reason in (("/dev/full", "No space left on device"), ("/nonexistent/x", "not exists"), (".", "Is a directory")):
        output, errors = knotc("-c", "a.conf", "conf-export", path, status=1)
        assert output == "" and errors == f"error: failed to export to file '{path}' ({reason})\n"
    assert sorted(path.name for path in knotc.dir.iterdir() if path.name.startswith("target")) == ["target.conf"]


def test_export_mode_follows_the_umask(knotc):
    for mask, mode in ((0o022, 0o644), (0o027, 0o640)):
        (knotc.dir / "out.conf").unlink(missing_ok=True)
        knotc("-c", "a.conf", "conf-export", "out.conf", preexec_fn=lambda mask=mask: os.umask(mask))
        assert stat.S_IMODE((knotc.dir / "out.conf").stat().st_mode) == mode


def test_export_of_the_schema(knotc):
    schema = json.loads(knotc("conf-export", "+schema")[0])
    assert schema["$schema"].endswith("2020-12/schema")
    assert knotc("conf-export", "schema.json", "+schema") == ("OK\n", "")
    assert json.loads((knotc.dir / "schema.json").read_text()) == schema


def test_json(knotc):
    assert json.loads(knotc("-j", "raw", "-c", "a.conf", "conf-check")[0]) == {"command": "conf-check", "reply": [], "ok": True}
    output, errors = knotc("-j", "raw", "-C", "db", "conf-import", "nofile", status=1)
    assert json.loads(output) == {"command": "conf-import", "reply": [], "ok": False} and "import (not exists)" in errors


def test_zone_check(knotc):
    assert knotc("-c", "a.conf", "zone-check", "example") == ("", "")
    assert knotc("-c", "a.conf", "zone-check", "nope", status=1) == ("", "error: [nope.] no such zone found\n")
    (knotc.dir / "example.zone").write_text("@ 60 SOA a b 1 1 1 1 1\n@ NS nowhere\n")
    knotc.write("soft.conf", f"zone:\n  - domain: example\n    storage: {knotc.dir}\n    semantic-checks: soft\n")
    output, errors = knotc("-c", "soft.conf", "zone-check")               # a finding of the checks is a warning ...
    assert "[example.] check, node example., missing glue record" in output + errors
    assert knotc("-f", "-c", "soft.conf", "zone-check", status=1) == (output, errors)  # ... or, with force, a failure


@pytest.mark.parametrize("arguments,wanted", [
    (["-c", "a.conf", "-C", "db", "conf-check"], "ambiguous configuration source"),
    (["-C", "db", "conf-check"], "failed to open configuration database 'db' (not exists)"),
    (["-c", "nofile", "conf-check"], "failed to load configuration file 'nofile' (not exists)"),
    (["-C", "nodir", "status"], "failed to open configuration database 'nodir' (not exists)"),
    (["conf-import"], "command requires 1 arguments"),
    (["conf-export", "a", "b"], "command takes at most 1 arguments"),
    (["conf-init", "x"], "command doesn't take arguments"),
    (["conf-import", "a.conf", "+schema"], "unknown filter: +schema"),
    (["nonsense"], "invalid command 'nonsense'"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else None)
def test_what_is_refused(knotc, arguments, wanted):
    output, errors = knotc(*arguments, status=1)
    assert output == "" and f"error: {wanted}\n" in errors


def test_the_socket_comes_from_the_configuration(knotc, knotd):
    """-C and -c name the server, too; -s needs neither."""
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    knotd.start()
    knotc("-C", "db", "conf-import", str(knotd.path))
    for source in (["-C", "db"], ["-c", str(knotd.path)], ["-s", str(knotd.socket), "-c", "nofile"]):
        assert knotc(*source, "status") == ("Running\n", "")
    assert f"debug: socket '{knotd.socket}'" in knotc("-v", "-C", "db", "status")[0]
