# SPDX-License-Identifier: BSD-2-Clause
"""kzonecheck: what it says of each fault, alone and beside Debian's; what it does with its options; lines and JSON.

Debian's is Knot DNS 3.2.6: it writes faults to standard output, has other words for some of them, and tells of one fault of signatures and chain only.
"""
import json
import os
import re
import subprocess
import time

import dns.zone
import pytest

from harness.server import built

pytestmark = [pytest.mark.ours, pytest.mark.core]

PEER = "/usr/bin/kzonecheck"
DAY = 86400
HEAD = "$TTL 60\n@ SOA ns admin 1 3600 600 86400 30\n@ NS ns\nns A 192.0.2.1\n"
KEY = "mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ=="
DNSKEY, CDNSKEY = f"@ DNSKEY 257 3 13 {KEY}\n", f"@ CDNSKEY 257 3 13 {KEY}\n"
OTHER_CDNSKEY = f"@ CDNSKEY 256 3 13 {KEY}\n"
CDS = f"@ CDS 1 13 2 {64 * '0'}\n"
DELETE_CDS, DELETE_CDNSKEY = "@ CDS 0 0 0 00\n", "@ CDNSKEY 0 3 0 AA==\n"
DS = "000102030405060708090A0B0C0D0E0F10111213"
SERIOUS = ("multiple SOA records", "another record exists beside CNAME", "multiple CNAME records", "child record exists under DNAME", "multiple DNAME records",
           "NS record exists beside DNAME", "DS at the zone apex", "DELEG at the zone apex", "missing SOA at the zone apex")
# What 3.2 hasn't, or refuses to check at all.
NEWER = ("multiple SOA records", "DS at the zone apex", "DELEG at the zone apex", "unknown error")

# What is in the zone beside HEAD: (owner, text).
PLAIN = {
    "": [],
    "@ SOA ns admin 2 3600 600 86400 30\n": [("example", "multiple SOA records")],
    "c CNAME d\nc A 192.0.2.2\nc TXT x\n": [("c", "another record exists beside CNAME")],
    "c CNAME d\nc CNAME e\n": [("c", "multiple CNAME records")],
    "d DNAME x.\na.b.d A 192.0.2.2\n": [("d", "child record exists under DNAME")],
    "d DNAME x.\nd DNAME y.\n": [("d", "multiple DNAME records")],
    "d DNAME x.\nd NS y.\n": [("d", "NS record exists beside DNAME")],
    f"@ DS 1 8 1 {DS}\n": [("example", "DS at the zone apex")],
    "@ TYPE61440 \\# 1 00\n": [("example", "DELEG at the zone apex")],
    "a NS ns.a\na NS no\nb NS ns.b\nns.b AAAA ::1\nc NS x.wild\n*.wild A 192.0.2.1\nd NS ns.b\ne NS out.\n": [("a", "missing glue record")] * 2,
    "@ NS ns.elsewhere\n": [("example", "missing glue record")],
    "a NS out.\na DS 7 8 1 00\n": [("a", "invalid digest length in DS (keytag 7, algorithm 1)")],
    f"a NS out.\na DS 8 8 1 {DS}\na DS 9 8 2 {DS}\na DS 9 8 4 {DS}\n": [("a", f"invalid digest length in DS (keytag 9, algorithm {i})") for i in (2, 4)],
    "a NS out.\na DS 10 8 99 00\n": [("a", "unknown algorithm in DS (keytag 10, algorithm 99)")],
}
# The same with -d on, of a zone with a key: what the apex says. Signatures and chain are left out.
DNSSEC = {
    "@ NSEC3PARAM 1 2 0 -\n": [("example", "invalid flags in NSEC3PARAM"), ("example", "unknown error (missing or wrong NSEC3PARAM record)")],
    "@ NSEC3PARAM 2 0 0 -\n": [("example", "invalid algorithm in NSEC3PARAM"), ("example", "unknown error (missing or wrong NSEC3PARAM record)")],
    CDNSKEY: [("example", "missing CDS")],
    CDS: [("example", "missing CDNSKEY")],
    CDS + CDNSKEY: [("example", "CDS not match CDNSKEY")],
    CDS + OTHER_CDNSKEY: [("example", "CDNSKEY not match DNSKEY"), ("example", "CDS not match CDNSKEY")],
    CDS + CDNSKEY + OTHER_CDNSKEY: [("example", f) for f in ("CDNSKEY not match DNSKEY", "CDS not match CDNSKEY", "CDNSKEY without corresponding CDS")],
    DELETE_CDS + DELETE_CDNSKEY: [],
    DELETE_CDS + CDNSKEY: [("example", "invalid CDNSKEY/CDS for DNSSEC delete algorithm")],
    DELETE_CDNSKEY + CDS: [("example", "CDS not match CDNSKEY"), ("example", "invalid CDNSKEY/CDS for DNSSEC delete algorithm")],
    DELETE_CDS + DELETE_CDNSKEY + CDNSKEY: [("example", "invalid CDNSKEY/CDS for DNSSEC delete algorithm"), ("example", "CDNSKEY without corresponding CDS")],
    f"@ DNSKEY 257 3 8 AwEAAa==\n{CDS}": [("example", "missing CDNSKEY"), ("example", "invalid DNSKEY")],
}
PROOF = re.compile(r"no valid signature|NSEC\(3\)|opt-out|unknown error")


def run(*arguments, program=None, text=None):
    return subprocess.run([program or built("kzonecheck", "tools"), *arguments], input=text, capture_output=True, text=True, check=False, timeout=120)


def write(directory, text, name="example.zone"):
    path = directory / name
    path.write_text(text)
    return path


def kind(fault):
    return re.sub(r" \(.*", "", fault)


def printed(faults, order):
    """What is on standard error: `faults` as they come, and the summary in order of the table."""
    lines = [f"[{'example' if owner == 'example' else owner + '.example'}.] {text}" for owner, text in faults]
    kinds = [kind(text) for _, text in faults]
    summary = [f"{kinds.count(text):4}\t{text}" for text in sorted(set(kinds), key=order.index)]
    serious = ["", "error: serious semantic error detected"] if set(kinds) & set(SERIOUS) else []
    return "".join(line + "\n" for line in [*lines, "", "Error summary:", *summary, *serious]) if faults else ""


ORDER = ["missing SOA at the zone apex", "multiple SOA records", "another record exists beside CNAME", "multiple CNAME records", "child record exists under DNAME",
         "multiple DNAME records", "NS record exists beside DNAME", "DS at the zone apex", "DELEG at the zone apex", "missing NS at the zone apex", "missing glue record",
         "no valid signature for a record", "missing NSEC(3) record", "wrong NSEC(3) bitmap", "inconsistent NSEC(3) chain", "wrong NSEC3 opt-out",
         "superfluous NSEC(3)", "invalid flags in NSEC3PARAM", "invalid algorithm in NSEC3PARAM", "unknown algorithm in DS", "invalid digest length in DS",
         "missing DNSKEY", "invalid DNSKEY", "many DNSKEYs with equal keytag", "missing CDS", "CDS not match CDNSKEY", "missing CDNSKEY", "CDNSKEY not match DNSKEY",
         "CDNSKEY without corresponding CDS", "invalid CDNSKEY/CDS for DNSSEC delete algorithm", "unknown error"]


def words_of_36(text):
    """What Debian's 3.2 printed, as 3.6 prints it, but for what 3.2 doesn't know."""
    text = re.sub(r" +$", "", text, flags=re.MULTILINE).replace("invalid algorithm in DS", "unknown algorithm in DS")
    return text.replace("Serious semantic error detected", "\nerror: serious semantic error detected").replace("No semantic error found", "No error found")


def words_of_32(text):
    return re.sub(r", algorithm \d+\)", ")", text)


@pytest.mark.parametrize("records", PLAIN, ids=lambda records: records.split("\n", maxsplit=1)[0][:40] or "good")
def test_faults(directory, records):
    path, faults = write(directory, HEAD + records), PLAIN[records]
    done = run("-v", path)
    assert (done.returncode, done.stderr) == (1 if faults else 0, printed(faults, ORDER))
    assert done.stdout == "detected zone origin example.\n" + ("" if faults else "No error found\n")
    if not any(text in NEWER for _, text in faults):
        peer = run("-v", "-o", "example", path, program=PEER)
        ours = run("-v", "-o", "example", path)
        assert (peer.returncode, words_of_36(peer.stdout)) == (ours.returncode, words_of_32(ours.stderr) + ours.stdout)


def test_all_at_once(directory):
    """All faults in one run, the summary counts them, and is in order."""
    kinds = [records for records in PLAIN if "@" not in records]
    records = "".join(f"$ORIGIN s{i}.example.\n{text}" for i, text in enumerate(kinds)) + f"$ORIGIN example.\n@ DS 1 8 1 {DS}\n"
    path = write(directory, HEAD + records)
    done = run("-o", "example", path)
    texts = [kind(line) for line in re.findall(r"^\[.*?\] (.*)", done.stderr, re.MULTILINE)]
    summary = re.findall(r"^ *(\d+)\t(.*)", done.stderr, re.MULTILINE)
    assert done.returncode == 1 and sorted(texts) == sorted([kind(text) for records in kinds for _, text in PLAIN[records]] + ["DS at the zone apex"])
    assert summary == [(str(texts.count(text)), text) for text in ORDER if text in texts]
    peer = run("-o", "example", path, program=PEER)
    known = "".join(line for line in done.stderr.splitlines(True) if not re.search("at the zone apex", line))
    assert words_of_36(peer.stdout) == words_of_32(known)


@pytest.mark.parametrize("records", DNSSEC, ids=lambda records: " ".join(re.findall(r"^@ ((?:\S+ ){3})", records, re.MULTILINE)))
def test_apex_of_signed(directory, records):
    """What it says of keys and parameters, and of the parent's DS set; the rest of such a zone is wrong, too."""
    path, faults = write(directory, HEAD + DNSKEY * ("DNSKEY 257 3 8" not in records) + records), DNSSEC[records]
    done = run("-d", "on", path)
    lines = re.findall(r"^\[(\w+)\.\] (.*)", done.stderr, re.MULTILINE)
    is_proven = not any("DNSKEY" in text and "invalid D" in text or "unknown" in text for _, text in faults)
    assert [line for line in lines if not PROOF.search(line[1])] == [line for line in faults if not PROOF.search(line[1])]
    assert any("no valid signature" in text for _, text in lines) == is_proven
    assert ("example", "unknown error (missing or wrong NSEC3PARAM record)") not in set(lines) ^ set(faults)
    assert done.returncode == 1 and "serious" not in done.stderr
    peer = run("-d", "on", "-o", "example", path, program=PEER)
    peers = re.findall(r"^\[(\w+)\.\] (.*)", words_of_36(peer.stdout), re.MULTILINE)
    assert [line for line in peers if not PROOF.search(line[1])] == [line for line in lines if not PROOF.search(line[1])]
    assert run("-d", "off", path).returncode == 0
    assert run(path).returncode == 0  # no signature


def test_no_name_server(directory):
    path = write(directory, HEAD.replace("@ NS ns\n", ""))
    assert run(path).stderr == printed([("example", "missing NS at the zone apex")], ORDER)
    assert words_of_36(run("-o", "example", path, program=PEER).stdout) == run(path).stderr


def test_no_key(directory):
    path = write(directory, HEAD + "@ RRSIG SOA 13 1 60 20300101000000 20200101000000 1 example. AAAA\n")
    assert run(path).stderr == printed([("example", "missing DNSKEY")], ORDER)
    assert run("-d", "off", path).returncode == 0


# ---- Signatures and chain ----

SIGNED = HEAD + "www A 192.0.2.2\nwww AAAA ::1\na.b.c TXT x\nsub NS ns.sub\nns.sub A 192.0.2.5\nsec NS out.\nsec DS 1 8 1 " + DS + "\n"


def sign(directory, nsec3, more=""):
    (directory / "knot.conf").write_text(f"database:\n  storage: {directory}\npolicy:\n  - id: p\n    rrsig-lifetime: 14d\n    nsec3: {'off' if nsec3 == 'off' else 'on'}\n"
                                         f"    nsec3-opt-out: {'on' if nsec3 == 'opt-out' else 'off'}\n    cds-cdnskey-publish: none\n"
                                         f"zone:\n  - domain: example\n    storage: {directory}\n    dnssec-policy: p\n")
    write(directory, SIGNED + more)
    subprocess.run([built("kzonesign", "tools"), "-c", directory / "knot.conf", "example"], check=True, capture_output=True)
    return (directory / "example.zone").read_text()


def test_parents(directory):
    """It reports a name that lacks its NSEC3 once, not again for each name below it."""
    text = sign(directory, "on", "k.m.n0.p.q A 192.0.2.1\n" + "".join(f"n{i}.p.q A 192.0.2.1\n" for i in range(4)))
    empty = re.findall(r"(?m)^(\S+\.example\.)\s+\d+\s+NSEC3\t1 0 0 \S+ \w+ *$", text)
    assert len(empty) == 5
    for jobs in ("1", "2"):
        done = run("-o", "example", "-j", jobs, write(directory, without("|".join(rf"^{owner}" for owner in empty), text), "parents"))
        missing = re.findall(r"(?m)^\[(\S+)\] missing NSEC", done.stderr)
        assert missing == ["c.example.", "b.c.example.", "q.example.", "p.q.example.", "m.n0.p.q.example."]


def test_order(directory):
    """Faults of many names are in the order of the names, whichever thread found them."""
    text = sign(directory, "off", "".join(f"n{i:05} A 192.0.2.1\n" for i in range(20000)))
    spoilt = re.sub(r"(?m)^(n\d+[05]00\.example\.\s+\d+\sA\s)\S+$", r"\g<1>192.0.2.2", text)
    done = run("-o", "example", "-j", "2", write(directory, spoilt, "order"))
    assert re.findall(r"(?m)^\[n(\d+)", done.stderr) == [f"{i:05}" for i in range(0, 20000, 500)]


def without(pattern, text):
    lines = text.splitlines(True)
    kept = [line for line in lines if not re.search(pattern, line)]
    assert len(kept) < len(lines)
    return "".join(kept)


@pytest.fixture(scope="module", params=["off", "on", "opt-out"])
def signed(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("signed")
    return directory, sign(directory, request.param), request.param


# How the zone is spoilt; later; faults that kzonecheck prints, of which Debian's has one: owner (None: a hash) and text.
SPOILT = [
    ("good", str, 0, []),
    ("a day before", str, 13 * DAY, []),
    ("wrong signature", lambda t: t.replace("192.0.2.2", "192.0.2.22"), 0, [("www.example.", "no valid signature for a record (record type A)")]),
    ("wrong signatures", lambda t: t.replace("192.0.2.2", "192.0.2.22").replace("\t::1", "\t::2").replace('"x"', '"y"'), 0,
     [("a.b.c.example.", "no valid signature for a record (record type TXT)"), ("www.example.", "no valid signature for a record (record type A)"),
      ("www.example.", "no valid signature for a record (record type AAAA)")]),
    ("no signature", lambda t: without(r"^www.*RRSIG\tAAAA", t), 0, [("www.example.", "no valid signature for a record (record type AAAA)")]),
    ("bitmap", lambda t: without(r"^www\S*\s+\d+\s(RRSIG\s)?AAAA", t), 0, [("www.example.", "wrong NSEC(3) bitmap")]),
    ("new names", lambda t: t + "new.example. 60 A 192.0.2.9\nnewer.example. 60 A 192.0.2.9\n", 0,
     [("new.example.", "missing NSEC(3) record"), ("newer.example.", "missing NSEC(3) record"),
      ("new.example.", "no valid signature for a record (record type A)"), ("newer.example.", "no valid signature for a record (record type A)")]),
    ("a DNSKEY that isn't one", lambda t: t + "example. 60 DNSKEY 256 3 13 AAAA\n", 0, [("example.", "invalid DNSKEY")]),
]


@pytest.mark.parametrize("what,spoil,later,faults", SPOILT, ids=[row[0] for row in SPOILT])
def test_signed(signed, what, spoil, later, faults):
    """All that is wrong with a signed zone; Debian's finds one fault of it."""
    directory, text, _ = signed
    path, when = write(directory, spoil(text), "spoilt"), str(int(time.time()) + later)
    done = run("-o", "example", "-t", when, path)
    lines = re.findall(r"^\[(\S+)\] (.*)", done.stderr, re.MULTILINE)
    # Names that came into the chain's spans break it, too.
    assert [line for line in lines if line[1] != "inconsistent NSEC(3) chain"] == faults
    assert done.returncode == (1 if faults else 0)
    peer = run("-o", "example", "-t", when, path, program=PEER)
    peers = re.findall(r"^\[(\S+)\] (.*)", words_of_36(peer.stdout), re.MULTILINE)
    assert len(peers) == min(len(lines), 1) and set(peers) <= set(lines)  # not always the first: its threads don't wait for each other
    assert peer.returncode == done.returncode
    assert run("-o", "example", "-d", "off", path).stderr == ""


def test_expired(signed):
    """Each set, once."""
    directory, text, _ = signed
    done = run("-o", "example", "-t", f"+{15 * 24}h", write(directory, text, "expired"))
    sets = {(owner, rrtype) for owner, rrtype in re.findall(r"(?m)^(\S+)\s+\d+\s+RRSIG\t(\S+)", text)}
    told = re.findall(r"(?m)^\[(\S+)\] no valid signature for a record \(record type (\S+)\)$", done.stderr)
    assert sorted(told) == sorted(sets)
    assert f"{len(sets):4}\tno valid signature for a record\n" in done.stderr


def test_nsec(signed):
    directory, text, nsec3 = signed
    if nsec3 != "off":
        return
    done = run("-o", "example", write(directory, without(r"^sub.*\tNSEC\t", text), "chain"))
    assert done.stderr == printed([("sub", "missing NSEC(3) record")], ORDER)
    done = run("-o", "example", write(directory, re.sub(r"(?m)^(sec\S+\s+\d+\sNSEC\s)sub", r"\1www", text), "chain"))
    assert done.stderr == printed([("sec", "inconsistent NSEC(3) chain"), ("sec", "no valid signature for a record (record type NSEC)")], ORDER)
    done = run("-o", "example", write(directory, text + "ns.sub.example. 30 NSEC www.example. A NSEC\n", "chain"))
    assert done.stderr == printed([("ns.sub", "wrong NSEC(3) bitmap")], ORDER)


def test_nsec3(signed):
    directory, text, nsec3 = signed
    if nsec3 == "off":
        return
    owner, fields = re.search(r"(?m)^(\S+)\.example\.\s+\d+\s+NSEC3\t(.* )\S+ A AAAA RRSIG$", text).groups()
    done = run("-o", "example", write(directory, without(rf"^{owner}", text), "chain"))
    told = re.findall(r"(?m)^\[\S+\] (.*)$", done.stderr)
    assert "[www.example.] missing NSEC(3) record" in done.stderr and told == ["missing NSEC(3) record", "inconsistent NSEC(3) chain"]
    other = owner[:-1] + ("0" if owner[-1] != "0" else "1")
    done = run("-o", "example", write(directory, f"{text}{other}.example. 30 NSEC3 {fields}{owner} A\n", "chain"))
    told = re.findall(rf"(?m)^\[{other}\.example\.\] (.*)$", done.stderr)
    assert "superfluous NSEC(3)" in told and "no valid signature for a record (record type NSEC3)" in told
    assert "inconsistent NSEC(3) chain" in done.stderr
    if nsec3 == "opt-out":
        cleared = re.sub(r"(?m)(\tNSEC3\t1 )1 ", r"\g<1>0 ", text)
        assert "[sub.example.] wrong NSEC3 opt-out" in run("-o", "example", write(directory, cleared, "chain")).stderr


@pytest.mark.parametrize("jobs", ["1", "2", "7"])
def test_many(directory, jobs):
    """It tells of faults in the same order with any number of threads; behind a thousand it counts them."""
    path = write(directory, HEAD + DNSKEY + "".join(f"n{i:04} A 192.0.2.1\n" for i in range(1500)))
    done = run("-d", "on", "-j", jobs, path)
    lines = done.stderr.splitlines()
    assert lines[:3] == ["[example.] missing NSEC(3) record", "[n0000.example.] missing NSEC(3) record", "[n0001.example.] missing NSEC(3) record"]
    assert lines[1000:1003] == ["1504 more: no valid signature for a record", "502 more: missing NSEC(3) record", ""]
    assert "1504\tno valid signature for a record" in lines and "1502\tmissing NSEC(3) record" in lines


# ---- Lines and JSON ----


FILE = HEAD + "www A 192.0.2.2\n  TXT x\n$INCLUDE more\nc CNAME d\nwww CNAME e\n"


def test_lines(directory):
    write(directory, "a NS out.\n\n; \na DS 1 8 1 00\n", "more")
    done = run("-l", write(directory, FILE))
    assert done.stderr.splitlines()[:2] == [
        f"[a.example.] invalid digest length in DS (keytag 1, algorithm 1), file '{directory}/more', line 4",
        f"[www.example.] another record exists beside CNAME (record type A), file '{directory}/example.zone', line 9"]
    assert " line " not in run(directory / "example.zone").stderr


def test_lines_of_records(directory):
    """The record's own line, if the fault is one record's; names may have capitals."""
    path = write(directory, HEAD + f"b NS NS.B\na NS ns.b\n  NS Ns.Nowhere\na DS 2 8 1 {DS}\na TXT x\na DS (\n1\n8 1 00 )\na DS 3 8 1 00\n  DS 3 8 1 01\n")
    lines = run("-l", path).stderr.splitlines()
    wanted = [("a", "missing glue record (NS ns.nowhere.example.)", 7),
              ("a", "invalid digest length in DS (keytag 1, algorithm 1)", 10), ("a", "invalid digest length in DS (keytag 3, algorithm 1)", 13),
              ("a", "invalid digest length in DS (keytag 3, algorithm 1)", 14), ("b", "missing glue record (NS ns.b.example.)", 5)]
    assert lines[:6] == [f"[{owner}.example.] {text}, file '{path}', line {line}" for owner, text, line in wanted] + [""]


def test_many_lines(directory):
    """In order, however many there are."""
    path = write(directory, HEAD + "".join(f"n{i:04} CNAME a\nn{i:04} CNAME b\n" for i in range(1200)))
    lines = run("-l", path).stderr.splitlines()
    assert [line[1:6] for line in lines[:1200]] == [f"n{i:04}" for i in range(1200)]
    assert all(lines[i].endswith(f", line {2 * i + 5}") for i in range(1000))


def test_json(directory):
    write(directory, "a NS out.\na DS 1 8 1 00\n", "more")
    path = write(directory, FILE)
    done = run("--json", path)
    assert done.returncode == 1 and done.stderr == ""
    assert json.loads(done.stdout) == {
        "zone": "example.", "file": str(path), "serious": True, "good": False,
        "messages": [
            {"level": "warning", "text": "invalid digest length in DS", "owner": "a.example.", "type": "DS", "detail": "(keytag 1, algorithm 1)",
             "file": str(directory / "more"), "line": 2, "count": 1, "serious": False},
            {"level": "error", "text": "another record exists beside CNAME", "owner": "www.example.", "type": "CNAME", "detail": "(record type A)",
             "file": str(path), "line": 9, "count": 1, "serious": True}],
        "summary": [{"text": "another record exists beside CNAME", "count": 1, "serious": True}, {"text": "invalid digest length in DS", "count": 1, "serious": False}]}
    good = run("--json", write(directory, HEAD))
    assert good.returncode == 0 and json.loads(good.stdout)["good"] is True
    broken = run("--json", write(directory, HEAD + "www A 1.2.3\n"))
    assert broken.returncode == 1 and json.loads(broken.stdout)["messages"][0]["line"] == 5


# ---- Files, and which zone it is ----


@pytest.mark.parametrize("name,text,zone", [
    ("example.zone", HEAD, "example."),
    ("Example", HEAD, "example."),
    ("file.zone", HEAD.replace("@ SOA", "@ SOA", 1), "file."),
    ("file.zone", "$ORIGIN other.test.\n" + HEAD, "other.test."),
    ("file.zone", HEAD.replace("@ SOA", "Named.test. SOA").replace("@ NS ns\nns A 192.0.2.1", "named.test. NS ns.out."), "named.test."),
])
def test_origin(directory, name, text, zone):
    done = run("-v", write(directory, text, name))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"detected zone origin {zone}\nNo error found\n", "")


def test_origin_that_is_given(directory):
    path = write(directory, HEAD, "file")
    assert run("-v", "-o", "b.test", path).stdout == "No error found\n"
    done = run("-o", "b.test", write(directory, "$ORIGIN c.test.\n" + HEAD, "file"))
    assert (done.returncode, done.stderr) == (1, "[b.test.] missing SOA at the zone apex\n\nError summary:\n   1\tmissing SOA at the zone apex\n\n"
                                              "error: serious semantic error detected\n")


def test_standard_input():
    done = run("-v", "-", text="$ORIGIN example.\n" + HEAD)
    assert (done.returncode, done.stdout) == (0, "detected zone origin example.\nNo error found\n")
    done = run("-l", "-o", "example.", "-", text=HEAD + "c CNAME a\nc CNAME b\n")
    assert done.stderr.startswith("[c.example.] multiple CNAME records, file '-', line 5\n")


def test_standard_input_breaks(directory):
    """What was read until then isn't the zone."""
    folder = os.open(directory, os.O_RDONLY)
    try:
        done = subprocess.run([built("kzonecheck", "tools"), "-o", "example.", "-"], stdin=folder, capture_output=True, text=True, check=False, timeout=60)
    finally:
        os.close(folder)
    assert (done.returncode, done.stderr) == (1, "error: failed to load the zone from standard input (Is a directory)\n")


@pytest.mark.parametrize("arguments,error", [
    (["nowhere"], "failed to load the zone file 'nowhere' (not exists)"),
    (["."], "failed to load the zone file '.' (is a directory)"),
    (["empty"], "failed to detect zone origin (missing SOA)"),
    (["-o", "..", "empty"], "invalid zone name '..'"),
    ([""], "invalid zone name '' by the name of the file"),
    (["empty", "other"], "superfluous argument 'other', one file is checked"),
    (["-d", "onn", "empty"], "invalid value 'onn' of --dnssec, use on or off"),
    (["--dnssec=", "empty"], "invalid value '' of --dnssec, use on or off"),
    (["-t", "x", "empty"], "unknown time format 'x', use YYYYMMDDhhmmss, seconds since 1970, or +5D or -30m"),
    (["-t", "20241301000000", "empty"], "unknown time format '20241301000000', use YYYYMMDDhhmmss, seconds since 1970, or +5D or -30m"),
    (["-t", "+1w", "empty"], "unknown time format '+1w', use YYYYMMDDhhmmss, seconds since 1970, or +5D or -30m"),
    (["-j", "0", "empty"], "invalid number of threads '0'"),
    (["-j", "x", "empty"], "invalid number of threads 'x'"),
    (["-J", "-p", "empty"], "the zone and JSON can't both be printed"),
    ([], "expected zone file name"),
])
def test_errors(directory, arguments, error):
    write(directory, "", "empty")
    done = subprocess.run([built("kzonecheck", "tools"), *arguments], capture_output=True, text=True, check=False, cwd=directory)
    assert (done.returncode, done.stderr) == (1, f"error: {error}\n")


def test_syntax(directory):
    path = write(directory, HEAD + "a A 1.2.3\nb A 192.0.2.300\nc CNAME d\nc CNAME e\n")
    done = run(path)
    assert done.returncode == 1 and re.findall(r"line (\d+) ", done.stderr) == ["5", "6"]
    assert done.stderr.endswith("error: failed to run semantic checks (parser failed)\n")
    assert re.findall(r"line (\d+) ", run("-v", path).stdout) == ["5", "6"]
    assert re.findall(r"line (\d+) ", run("-v", "-o", "example", path, program=PEER).stdout) == ["5", "6"]


def test_what_the_loader_says(directory):
    path = write(directory, HEAD + "a A 192.0.2.1\na 70 A 192.0.2.2\nb.out. A 192.0.2.1\n")
    ours, peer = run("-v", "-o", "example", path), run("-v", "-o", "example", path, program=PEER)
    assert ours.stdout == words_of_36(peer.stdout) and ours.stdout.count("zone loader") == 2
    assert run(path).stdout == run(path).stderr == ""


def test_print(directory):
    done = run("-p", "-v", write(directory, HEAD + "a NS ns.a\n"))
    assert done.returncode == 1 and done.stdout.startswith("detected zone origin example.\n;; Zone dump (") and "No error" not in done.stdout
    again = run("-v", write(directory, done.stdout.split("\n", 1)[1], "again"))
    assert "zone origin example." in again.stdout and again.stderr == done.stderr


@pytest.mark.parametrize("when,seconds", [("1893456000", 1893456000), ("20300101000000", 1893456000), ("+1Y", 365 * DAY), ("+2M", 60 * DAY), ("+15D", 15 * DAY),
                                          ("+360h", 15 * DAY), ("+21600m", 15 * DAY), ("+1296000s", 15 * DAY), ("+1296000", 15 * DAY), ("-2D", -2 * DAY)])
def test_times(signed, when, seconds):
    """All of them are outside of the signatures' validity, and a second that is inside isn't."""
    directory, text, _ = signed
    path = write(directory, text, "times")
    assert "no valid signature" in run("-o", "example", "-t", when, path).stderr
    inside = re.sub(r"^([+])(\d+)(\D?)$", lambda match: f"+{60 if match.group(3) in ('', 's') else 1}{match.group(3) if match.group(3) in 'smhD' else 'D'}", when)
    if inside != when:
        assert run("-o", "example", "-t", inside, path).returncode == 0, (inside, seconds)


@pytest.mark.parametrize("value,is_on", [("on", True), ("1", True), ("yes", True), ("true", True), ("off", False), ("no", False), ("0", False), ("false", False), ("1x", True)])
def test_dnssec(directory, value, is_on):
    assert run("-d", value, write(directory, HEAD)).returncode == is_on


def with_zonemd(records):
    placeholder = "@ ZONEMD 1 1 1 " + 96 * "0" + "\n"
    zone = dns.zone.from_text(HEAD + records + placeholder, origin="example.", relativize=False)
    return HEAD + records + f"@ ZONEMD {zone.compute_digest(dns.zone.DigestHashAlgorithm.SHA384).to_text()}\n"


def test_zonemd(directory):
    """As in Knot DNS, what is found of the digest stands for all but faults that make the zone unusable."""
    unglued, unusable = "a NS ns.a\n", "d DNAME out.\na.d A 192.0.2.1\n"
    assert run("-z", write(directory, with_zonemd(""))).returncode == 0
    done = run("-z", write(directory, with_zonemd(unglued)))
    assert (done.returncode, done.stderr) == (0, printed([("a", "missing glue record")], ORDER))
    assert run(directory / "example.zone").returncode == 1
    done = run("-z", write(directory, with_zonemd(unusable)))
    assert (done.returncode, done.stderr) == (1, printed([("d", "child record exists under DNAME")], ORDER))
    for text, error in ((HEAD, "not exists"), (with_zonemd("") + "www A 192.0.2.9\n", "malformed data")):
        done = run("-z", write(directory, text))
        assert (done.returncode, done.stderr) == (1, f"error: invalid ZONEMD ({error})\n")
        assert run(directory / "example.zone").returncode == 0


def test_usage():
    shown = run("-h")
    assert shown.returncode == 0 and all(option in shown.stdout for option in ("--origin", "--dnssec", "--zonemd", "--time", "--jobs", "--print", "--verbose"))
    assert run("-V").stdout.startswith("kzonecheck (")
    assert run("--nonsense").stdout == shown.stdout and run("--nonsense").returncode == 1
    assert run().stdout == shown.stdout


def test_pipes(directory):
    """A zone that is unpacked on the way is read once, also where the origin and lines are looked for."""
    path = write(directory, HEAD + "c CNAME a\nc CNAME b\n")
    for words in ("-v", "-v -o example", "-l", "-J"):
        done = subprocess.run(["bash", "-c", f'"$0" {words} <(cat "$1")', built("kzonecheck", "tools"), path], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 1 and "multiple CNAME records" in done.stdout + done.stderr and "SOA" not in done.stderr, done
