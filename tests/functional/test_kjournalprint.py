# SPDX-License-Identifier: BSD-2-Clause
"""kjournalprint on journals that Debian's knotd writes: line by line what its own kjournalprint says, also when they are damaged."""
import json
import re
import shutil
import struct
import subprocess

import pytest

from harness import lmdb
from harness.server import Knotd, built
from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not shutil.which("/usr/sbin/kjournalprint"), reason="Debian's knot is not installed")]
ZONES = ("merged.test", "whole.test", "flushed.test", "large.test", "types.test", "unchanged.test")
SOA = "@ 3600 SOA ns a 1 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"
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
    zonefile-sync: -1
zone:
  - domain: merged.test
    journal-max-depth: 4
  - domain: whole.test
    journal-max-depth: 4
    zonefile-load: difference
    journal-content: all
  - domain: flushed.test
    zonefile-sync: 0
    journal-max-depth: 4
  - domain: large.test
  - domain: types.test
  - domain: unchanged.test
"""


def ours(*arguments):
    return subprocess.run([built("kjournalprint", "tools"), *map(str, arguments)], capture_output=True, text=True, timeout=60)


def theirs(*arguments):
    return subprocess.run(["/usr/sbin/kjournalprint", *map(str, arguments)], capture_output=True, text=True, timeout=60)


def commit(knotc, zone, *changes):
    for words in (("zone-begin", zone), *changes, ("zone-commit", zone)):
        done = subprocess.run([*knotc, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done)


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """A journal with all kinds of entries."""
    folder = tmp_path_factory.mktemp("knot")
    knotd = Knotd(folder, program="/usr/sbin/knotd")
    (folder / "db").mkdir()
    knotd.conf(CONF)
    for zone in ZONES:
        knotd.write(f"{zone}.zone", SOA)
    knotd.process = subprocess.Popen(["/usr/sbin/knotd", "-c", knotd.path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    knotc = ("/usr/sbin/knotc", "-s", knotd.socket)
    try:
        wait_until(lambda: subprocess.run([*knotc, "zone-status", ZONES[-1], "+serial"], capture_output=True, text=True).stdout.rstrip().endswith("serial: 1"), "knotd answers", 30)
        for zone in ZONES[:3]:
            for i in range(1, 8):
                commit(knotc, zone, ("zone-set", zone, f"w{i}", "300", "A", f"10.0.0.{i}"), ("zone-set", zone, f"w{i}", "300", "TXT", '"a b" "c;d"'),
                       *([("zone-unset", zone, f"w{i - 2}", "A")] if i > 2 else []))
        zone = "large.test"
        commit(knotc, zone, *(("zone-set", zone, "big", "300", "TXT", f'"{i:03}{"x" * 200}"') for i in range(300)))
        commit(knotc, zone, ("zone-unset", zone, "big", "TXT"))
        zone = "types.test"
        commit(knotc, zone, ("zone-set", zone, "a", "300", "A", "192.0.2.1"), ("zone-set", zone, "a", "300", "A", "192.0.2.2"),
               ("zone-set", zone, "a.very.long.name.that.exceeds.the.column", "86400", "TYPE65280", "\\# 3 010203"),
               ("zone-set", zone, "x" * 20, "1", "AAAA", "2001:db8::1"), ("zone-set", zone, "x" * 21, "1", "AAAA", "2001:db8::1"),
               ("zone-set", zone, "rr", "7", "NAPTR", '100 50 "s" "z3950+I2L+I2C" "" _z3950._tcp.gatech.edu.'), ("zone-set", zone, "*.w\\.x", "7", "MX", "10 mail"))
        commit(knotc, zone, ("zone-unset", zone, "a", "A"), ("zone-set", zone, "@", "5", "NS", "ns2"))
        subprocess.run([*knotc, "-b", "stop"], capture_output=True, timeout=60)
        knotd.process.wait(60)
    finally:
        knotd.process.kill()
        knotd.process.wait(60)
    return folder / "db" / "journal"


# What 3.6 has and 3.2 has not.
NEWER = re.compile(r", timestamp: \d+|(?<=\t) timestamp: -?[+\w]+\t|(?<=\t) timestamp: \S+\t")


def same(journal, *arguments, status=None):
    a, b = ours("-D", journal, *arguments), theirs("-D", journal, *arguments)
    assert NEWER.sub("", a.stdout) == b.stdout
    assert (a.returncode, a.stderr) == (b.returncode, b.stderr) if status is None else a.returncode == status
    return a


@pytest.mark.parametrize("zone", (*ZONES, "none.test", "MERGED.TEST."))
def test_all_forms(journal, zone):
    for options in ((), ("-d",), ("-X",), ("-X", "-d"), ("-x",), ("-n", "--debug"), ("-H",), ("--check", "-d"), ("-l", "1"), ("-dl3",), ("-d", "-l", "100"),
                    ("-l", "0"), ("-dl0",)):
        same(journal, *options, zone)
    assert "timestamp" in ours("-D", journal, "types.test").stdout


@pytest.mark.parametrize("zone", ZONES)
def test_serials(journal, zone):
    for serial in (0, 1, 2, 4, 5, 6, 8, 77, 4294967295):
        same(journal, "-d", "-s", serial, zone)
        same(journal, "-d", "-s", serial, "-l", "2", zone)


def test_zone_list(journal):
    assert same(journal, "-z").stdout.split() == ["large.test.", "types.test.", "whole.test.", "merged.test.", "flushed.test."]
    lines = ours("-D", journal, "-z", "-d").stdout.splitlines()
    assert lines[0] == ";; <zone name>              <occupied KiB> <first serial> <last serial> <full zone>"
    assert re.fullmatch(r"whole\.test\. {18} +\d+ +4 +8 yes", lines[3]) and re.fullmatch(r"merged\.test\. {17} +\d+ +1 +8 no", lines[4])
    assert re.fullmatch(r";; Occupied all zones together: \d+ KiB", lines[-1])


def test_merged(journal):
    """One change with what is there at the end."""
    lines = [NEWER.sub("", line) for line in ours("-D", journal, "-M", "merged.test").stdout.splitlines()]
    assert lines[0] == ";; Changes between zone versions: 1 -> 8, changeset: 1"
    assert [line.split()[3] for line in lines if "\tA\t" in line] == ["10.0.0.6", "10.0.0.7"]
    assert ours("-D", journal, "-M", "-d", "-s", "5", "types.test").stdout == "The journal is empty or the serial not present\n"
    whole = ours("-D", journal, "-M", "-d", "whole.test").stdout.splitlines()
    assert whole[0].startswith("Zone-in-journal 8  +++: 12\t") and whole[-3] == "Total number of changesets:  1"


def written_from(document):
    """The text of all changes, from their JSON."""
    for number, change in enumerate(document["changesets"], 1):
        tail = f"{change['serial-to']}, changeset: {number}, timestamp: {change['timestamp']}"
        yield f";; Zone-in-journal, serial: {tail}" if change["kind"] == "zone" else f";; Changes between zone versions: {change['serial-from']} -> {tail}"
        assert [len(change[part]) for part in ("removed", "added")] == [change["removed-count"], change["added-count"]]
        assert {rr["type"] for part in ("removed", "added") for rr in change[part]} - {"SOA"} == set(change["types"])
        for part in ("removed", "added"):
            for rr in change[part]:
                if rr["type"] == "SOA":
                    yield f";; {part.capitalize()}"
                yield f"{rr['owner']}\t{rr['ttl']}\t{rr['type']}\t{rr['rdata']}"


@pytest.mark.parametrize("zone", (*ZONES, "none.test"))
def test_json(journal, zone):
    """It says what the text does, whatever is chosen."""
    for options in ((), ("-l", "2"), ("-M",), ("-H",), ("-s", "4"), ("-s", "77")):
        text, done = ours("-D", journal, "-x", *options, zone), ours("-D", journal, "-j", *options, zone)
        assert (done.returncode, done.stderr) == (text.returncode, text.stderr)
        document = json.loads(done.stdout)
        assert document["zone"] == f"{zone}." and "error" not in document and document["occupied-all-zones"] > 0
        lines = [re.sub(r"^(\S+)\s+(\d+\t)", r"\1\t\2", line) for line in text.stdout.splitlines() if not line.startswith("The journal is empty")]
        assert list(written_from(document)) == lines, options
    brief, whole = (json.loads(ours("-D", journal, *options, zone).stdout) for options in (("-j", "-d"), ("-j",)))
    assert brief == {**whole, "changesets": [{key: value for key, value in change.items() if key not in ("removed", "added")} for change in whole["changesets"]]}


def test_json_zone_list(journal, tmp_path):
    names = ours("-D", journal, "-z").stdout.split()
    assert json.loads(ours("-D", journal, "-jz").stdout) == [{"zone": name} for name in names]
    lines = [re.split(" +", line) for line in ours("-D", journal, "-z", "-d").stdout.splitlines() if not line.startswith(";;")]
    said = [[zone["zone"], str(zone["occupied"] // 1024), str(zone["serial-first"]), str(zone["serial-last"]), "yes" if zone["full-zone"] else "no"]
            for zone in json.loads(ours("-D", journal, "-j", "-z", "-d").stdout)]
    assert said == lines and len(lines) == len(names)
    shutil.copytree(journal, tmp_path / "j")
    lmdb.change(tmp_path / "j", {change_key("flushed.test", 6): number(7) + bytes(28) + b"\1a"})
    for options, count in (((), 2), (("-H",), 0), (("-M",), 0)):     # a short list isn't taken for a short journal
        done = ours("-D", tmp_path / "j", "-j", *options, "flushed.test")
        document = json.loads(done.stdout)
        assert done.returncode == 1 and f"({document['error']})" in done.stderr and len(document["changesets"]) == count
    assert json.loads(ours("-D", journal, "-j", "NoSuch.Test").stdout)["zone"] == "nosuch.test."


def test_wrong_use(journal, tmp_path):
    (tmp_path / "empty").mkdir()
    for arguments in (("-D", tmp_path / "none", "-z"), ("-D", tmp_path / "none", "a"), ("-D", tmp_path / "empty", "a"), ("-D", journal, "-D", journal, "a"),
                      ("-D", journal, "a", "b"), ("-D", journal), ("-D", journal, "-l", "x", "a"), ("-D", journal, "-s", "-1", "a"), ("-D", journal, "bad..name"), ()):
        a, b = ours(*arguments), theirs(*arguments)
        assert a.returncode == b.returncode and a.stderr.startswith(b.stderr.rstrip("\n")), arguments    # what is wrong is ours
        assert a.stdout[:60] == b.stdout[:60]
    a, b = ours(journal, "flushed.test"), theirs(journal, "flushed.test")
    assert (a.returncode, a.stderr, NEWER.sub("", a.stdout)) == (b.returncode, b.stderr, b.stdout)
    assert ours("-D", journal, "-Q", "a").returncode == 1
    assert re.fullmatch(r"kjournalprint \(.*\), version .*\n", ours("-V").stdout)
    wanted = [line for line in theirs("-h").stdout.splitlines() if "(default" not in line]
    assert [line for line in ours("-h").stdout.splitlines() if "(default" not in line and not re.search("--merge|--json", line)] == wanted


def test_full_disk(journal):
    with open("/dev/full", "w") as full:
        assert subprocess.run([built("kjournalprint", "tools"), "-D", journal, "merged.test"], stdout=full).returncode == 1


def test_configuration(journal, tmp_path):
    path = tmp_path / "knot.conf"
    path.write_text(f"database:\n    journal-db: {journal}\nzone:\n  - domain: types.test\n")
    # Ages are counted to the second of each run.
    by_conf, by_path = (NEWER.sub("", ours(*at, "-d", "types.test").stdout) for at in (("-c", path), ("-D", journal)))
    assert by_conf == by_path != ""
    done = ours("-c", tmp_path / "none.conf", "types.test")
    assert done.returncode == 1 and f"error: failed opening configuration file '{tmp_path}/none.conf'" in done.stderr


def key(zone, text):
    return b"".join(bytes([len(label)]) + label.encode() for label in zone.split(".")) + b"\0" * 5 + text


def number(value):
    return struct.pack(">I", value)


def change_key(zone, serial, chunk=0):
    return key(zone, number(serial) + number(chunk))


def contradictions():
    """(what, zone, values to set, exit status of ours if it differs)."""
    for zone in ("flushed.test", "merged.test", "whole.test"):
        for text, values in ((b"last_serial_to\0", (0, 5, 9)), (b"first_serial\0", (0, 3, 5, 9)), (b"changeset_count\0", (0, 3, 9)), (b"flags\0", (0, 1, 3))):
            for value in values:
                yield f"{text} {value}", zone, {key(zone, text): number(value)}
        for serial in (4, 5, 7):
            yield f"without {serial}", zone, {change_key(zone, serial): None}
        yield "short", zone, {change_key(zone, 6): b"\0\0\0\7" + bytes(10)}
        yield "another chunk", zone, {change_key(zone, 6, 1): number(99) + bytes(28)}
        yield "payload", zone, {change_key(zone, 6): number(7) + bytes(28) + b"\1a"}
    yield "without the merged one", "merged.test", {change_key("merged.test", 1): None}
    yield "merged and whole", "whole.test", {key("whole.test", b"flags\0"): number(6)}
    alone = {change_key("merged.test", serial): None for serial in range(4, 8)}
    yield "merged alone", "merged.test", {**alone, key("merged.test", b"changeset_count\0"): number(0)}
    gone = {change_key("flushed.test", serial): None for serial in range(4, 8)}
    yield "all gone", "flushed.test", {**gone, key("flushed.test", b"first_serial\0"): number(8)}


@pytest.mark.parametrize("what, zone, values", [pytest.param(*row, id=f"{row[0]} {row[1]}") for row in contradictions()])
def test_contradictions(journal, tmp_path, what, zone, values):
    """What doesn't fit together is printed as far as it goes, with the same words and status; -H finds the same."""
    shutil.copytree(journal, tmp_path / "j")
    lmdb.change(tmp_path / "j", values)
    same(tmp_path / "j", "-d", zone)
    a, b = ours("-D", tmp_path / "j", "-H", "-d", zone), theirs("-D", tmp_path / "j", "-H", "-d", zone)
    assert (a.returncode, a.stderr.splitlines()[:1], NEWER.sub("", a.stdout)) == (b.returncode, b.stderr.splitlines()[:1], b.stdout)


def test_loop(journal, tmp_path):
    """3.2 never ends."""
    shutil.copytree(journal, tmp_path / "j")
    values = lmdb.read(tmp_path / "j")
    lmdb.change(tmp_path / "j", {change_key("flushed.test", 7): number(5) + values[change_key("flushed.test", 7)][4:]})
    done = ours("-D", tmp_path / "j", "-d", "flushed.test")
    assert done.returncode == 1 and done.stderr == "error: failed to load changesets (loop detected)\n"
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["4", "5", "6", "7"]


def test_other_files(journal, tmp_path):
    """Versions that aren't known, and databases of something else."""
    for version in (b"4.0\0", None):
        shutil.copytree(journal, tmp_path / str(version))
        lmdb.change(tmp_path / str(version), {b"\0\0\0\0version\0": version})
        done = ours("-D", tmp_path / str(version), "merged.test")
        assert done.returncode == 1 and done.stderr.startswith("error: the journal DB is broken ("), done
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "data.mdb").write_bytes(b"no database" * 1000)
    done = ours("-D", tmp_path / "bad", "-z")
    assert done.returncode == 1 and "does not begin like a file of LMDB" in done.stderr


def test_wrong_arguments(journal):
    """The option, the value and what would do are named, before the usage."""
    for arguments, error in (([], "missing zone name"), (["-l", "x", "a"], "invalid limit 'x', use a number up to 4294967295"),
                             (["-s", "-1", "a"], "invalid serial '-1', use a number up to 4294967295"), (["a", "b", "c"], "superfluous argument 'b'"),
                             (["-z", "a", "b"], "superfluous argument 'a'")):
        done = ours(*arguments)
        assert (done.returncode, done.stderr) == (1, f"error: {error}\n") and done.stdout.startswith("Usage:")
    done = ours("-D", "/nonexistent/j", "a")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "error: the journal DB does not exist, folder '/nonexistent/j'\n")
