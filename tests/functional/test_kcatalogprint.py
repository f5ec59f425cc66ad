# SPDX-License-Identifier: BSD-2-Clause
"""kcatalogprint on databases that Debian's knotd writes: byte by byte what its own kcatalogprint says."""
import json
import re
import shutil
import subprocess

import pytest

from harness.server import Knotd, built
from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not shutil.which("/usr/sbin/kcatalogprint"), reason="Debian's knot is not installed")]
CONF = """server:
    rundir: {dir}/run
    listen: 127.0.0.1@{port}
log:
  - target: stderr
    any: info
database:
    storage: {dir}/db
template:
  - id: default
    storage: {dir}
  - id: a
    storage: {dir}
  - id: b
    storage: {dir}
zone:
  - domain: cat.test
    catalog-role: interpret
    catalog-template: [a, b]
  - domain: Other.Catalog.test
    catalog-role: interpret
    catalog-template: a
"""
SOA = "@ 0 SOA invalid. invalid. 1 3600 600 2147483646 0\n@ 0 NS invalid.\nversion 0 TXT \"2\"\n"
CATALOGS = {
    "cat.test": SOA + r"""
Id1.zones 0 PTR m1.test.
id2.zones 0 PTR M2.Test.
group.id2.zones 0 TXT "b"
id6.zones 0 PTR .
coo.id6.zones 0 PTR x.test.
id7.zones 0 PTR a\.b\032c.test.
group.id7.zones 0 TXT "sp ace\"q\200"
a\.b.zones 0 PTR arpa.
""",
    "other.catalog.test": SOA + "x.zones 0 PTR m3.test.\ny.zones 0 PTR verylongnameofamember.example.com.\n"
                                "group.y.zones 0 TXT \"e\\027[31m\\010f\\194\\155\"\n",
}


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, timeout=60)


def ours(*arguments):
    return run(built("kcatalogprint", "tools"), *arguments)


def theirs(*arguments):
    return run("/usr/sbin/kcatalogprint", *arguments)


def same(*arguments):
    """But for what controls terminals, begins a line or isn't UTF-8, which a catalog's producer could put in a group."""
    a, b = ours(*arguments), theirs(*arguments)
    assert (a.stdout, a.stderr, a.returncode) == (b.stdout.replace(b"e\x1b[31m\nf\xc2\x9b\n", b"e\\027[31m\\010f\\194\\155\n").replace(b"q\xc8\n", b"q\\200\n"), b.stderr, b.returncode), arguments
    return a.stdout.decode(errors="replace").splitlines()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    folder = tmp_path_factory.mktemp("knot")
    knotd = Knotd(folder, program="/usr/sbin/knotd")
    (folder / "db").mkdir()
    knotd.conf(CONF)
    for zone, text in CATALOGS.items():
        knotd.write(f"{zone}.zone", text)
    knotd.process = subprocess.Popen(["/usr/sbin/knotd", "-c", knotd.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    database = folder / "db" / "catalog"
    try:
        wait_until(lambda: theirs("-D", database).stdout.endswith(b"Total records: 7\n"), "all members are stored", 30)
    finally:
        knotd.process.kill()
        knotd.process.wait(60)
    return database


def test_all(database):
    lines = same("-D", database)
    assert lines[0] == ";; <member zone> <record owner> <catalog zone> <group>" and lines[-1] == "Total records: 7"
    assert lines[1] == ".  id6.zones.cat.test.  cat.test.  "
    assert "m2.test.  id2.zones.cat.test.  cat.test.  b" in lines and "m3.test.  x.zones.other.catalog.test.  other.catalog.test.  " in lines


@pytest.mark.parametrize("name", ["cat.test", "CAT.test.", "other.catalog.test", "nosuch.test", "test", "."])
def test_catalog(database, name):
    same("-D", database, "-a", name)
    same("--dir", database, "--catalog", name)


@pytest.mark.parametrize("name", [".", "m1.test", "M2.TEST.", "a\\.b\\032c.test", "nosuch.test"])
def test_member(database, name):
    same("-D", database, "-m", name)
    same("-D", database, "--member", name, "-a", "cat.test")
    same("-D", database, "-m", name, "-a", "other.catalog.test")


def test_configuration(database):
    conf = database.parent.parent / "print.conf"
    conf.write_text(f"database:\n    storage: {database.parent}\n")
    assert same("-c", conf) == same("-D", database)
    assert same("-D", database, "-c", conf) == [] and same(database) == same("-D", database)


def test_wrong_use(database, tmp_path):
    (tmp_path / "empty").mkdir()
    for arguments in (("-D", tmp_path / "none"), (database, database), ("-D", database, "-D", database), ("-q",)):
        a, b = ours(*arguments), theirs(*arguments)
        assert (a.returncode, a.stdout == b"") == (b.returncode, b.stdout == b""), arguments
    a = ours("-D", tmp_path / "none")
    assert (a.stdout, a.stderr, a.returncode) == (b";; <member zone> <record owner> <catalog zone> <group>\n",
                                                  b"error: failed to print catalog (database does not exist)\n", 0)
    assert not (tmp_path / "none").exists()
    # Knot takes a wrong name for no filter.
    a = ours("-D", database, "-m", "bad..name")
    assert a.returncode == 1 and a.stderr == b"error: invalid zone name 'bad..name' (empty label)\n" and a.stdout == b""


def test_json(database, tmp_path):
    """The same records, in the same order, with the same filters; nothing is an empty list; what can't be read is a failure."""
    for filters in ([], ["-a", "cat.test"], ["-m", "m2.test"], ["-m", "nosuch.test"]):
        lines = ours("-D", database, *filters).stdout.decode("latin-1").splitlines()[1:-1]
        done = ours("-D", database, "--json", *filters)
        assert (done.returncode, done.stderr) == (0, b"")
        rows = json.loads(done.stdout)
        assert ["  ".join(row[name] for name in ("zone", "owner", "catalog")) + "  " for row in rows] == [re.match(r"(\S+  ){3}", line)[0] for line in lines]
        assert [line.endswith("  " + row["group"]) for line, row in zip(lines, rows) if row["group"].isascii() and row["group"].isprintable()].count(False) == 0
    done = ours("-D", tmp_path / "none", "-j")
    assert done.returncode == 1 and json.loads(done.stdout) == [] and b"database does not exist" in done.stderr


def test_damaged(database, tmp_path):
    """An error instead of numbers from broken pages; the file stays as it is."""
    broken = tmp_path / "catalog"
    shutil.copytree(database, broken)
    data = broken / "data.mdb"
    data.write_bytes(data.read_bytes()[:8192])
    before = data.read_bytes()
    a = ours("-D", broken)
    assert a.returncode == 0 and b"failed to print catalog (" in a.stderr and b"Total" not in a.stdout
    assert data.read_bytes() == before and not (broken / "data.mdb.damaged").exists()
