# SPDX-License-Identifier: BSD-2-Clause
"""Guards the periodic dump of counters: layout, appending, following a reload."""
import os
import pathlib
import re
import stat
import time

import pytest

from harness.disk import small_disk
from harness.waiting import wait_until
from zones import example

TEXT = """mod-stats:
  - id: all
    query-type: on
template:
  - id: default
    storage: {dir}
    global-module: mod-stats/all
    module: mod-stats
"""


def configure(knotd, statistics):
    knotd.configure(zones=["example", "quiet.test"], server="identity: here",
                    text=TEXT.replace("{dir}", str(knotd.dir)) + statistics)


def wait_for(path, condition):
    """The first text of the file that meets it."""
    text = ""

    def is_met():
        nonlocal text
        text = path.read_text() if path.exists() else ""
        return text and condition(text)

    wait_until(is_met, lambda: f"what should be in {path}, where is:\n{text}")
    return text


def next_dump(path):
    """A whole document that was begun after now: the next one may have been begun before."""
    for _ in range(2):
        before = path.stat().st_ino, path.stat().st_mtime_ns
        wait_until(lambda: path.exists() and (path.stat().st_ino, path.stat().st_mtime_ns) != before, f"another {path}")
    return path.read_text()


@pytest.mark.ours     # and Knot DNS 3.5's: 3.2 leaves a blank behind keys, and quotes nothing
def test_dump(knotd):
    knotd.write("example.zone", example(7))
    knotd.write("quiet.test.zone", example(1).replace("example.", "quiet.test."))
    configure(knotd, "")
    knotd.start()
    knotd.ask("www.example", "A", use_edns=False)
    time.sleep(1.2)     # absence: nothing is written without a file or a timer
    path = knotd.dir / "run" / "stats.yaml"
    assert not path.exists()

    # A reload starts it; its counters start at zero.
    configure(knotd, "statistics:\n    timer: 1\n")
    knotd.knotc("-b", "reload")
    knotd.ask("www.example", "A", use_edns=False)
    wait_for(path, lambda text: "query-type" in text)
    text = next_dump(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert text.startswith("---\n")
    assert re.search(r"^time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}\nidentity: here\nserver:\n zone-count: 2\n", text, re.M)
    assert "\nmod-stats:\n request-protocol:\n  udp4: 1\n server-operation:\n  query: 1\n" in text
    assert "\n query-type:\n  A: 1\n" in text
    assert text.endswith('\nzone:\n "example.":\n  mod-stats:\n   request-protocol:\n    udp4: 1\n   server-operation:\n'
                         '    query: 1\n   request-bytes:\n    query: 29\n   response-bytes:\n    reply: 45\n'
                         '   response-code:\n    NOERROR: 1\n')
    assert ": 0\n" not in text and "quiet.test" not in text

    configure(knotd, "statistics:\n    timer: 1\n    append: on\n    file: more.yaml\n")
    knotd.knotc("reload")
    wait_for(knotd.dir / "run" / "more.yaml", lambda text: text.count("---\n") >= 2)
    assert stat.S_IMODE((knotd.dir / "run" / "more.yaml").stat().st_mode) == 0o640
    # Off again: nothing is written any more, but for what was under way.
    configure(knotd, "")
    knotd.knotc("reload")
    more = knotd.dir / "run" / "more.yaml"
    documents = more.read_text().count("---\n")
    time.sleep(2.5)     # absence: no document follows once the timer is off
    assert more.read_text().count("---\n") <= documents + 1


FAILURES = {    # append, file: what is said, in Knot's words
    ("on", "gone/stats.yaml"): "stats, failed to append file '{file}'",
    ("off", "gone/stats.yaml"): "stats, failed to open file '{file}'",
    ("on", "folder"): "stats, failed to append file '{file}'",
    ("off", "folder"): "stats, failed to access file '{file}'",
}


@pytest.mark.parametrize("append, file", FAILURES)
def test_a_file_that_cannot_be_written(knotd, append, file):
    """It is said, nothing is left beside it, and the next one is written when it can be."""
    path = knotd.dir / file
    (knotd.dir / "folder").mkdir()
    knotd.configure(text=f"statistics:\n    timer: 1\n    file: {path}\n    append: {append}\n")
    knotd.start()
    knotd.wait_log("error: " + re.escape(FAILURES[append, file].format(file=path)))
    # It is tried again every second: what is seen now and then is what is being written.
    knotd.wait(lambda: not list(knotd.dir.glob("folder.*")), what="a folder without what could not get its name")
    if file == "folder":
        path.rmdir()
    else:
        path.parent.mkdir()
    wait_for(path, lambda text: "zone-count" in text or text.startswith("---"))


@pytest.mark.ours
def test_a_full_disk_leaves_no_half_document(knotd):
    """What can't be appended as a whole isn't, so that the documents behind it can be read."""
    with small_disk(knotd.dir / "small", "4k") as small:
        path = small / "stats.yaml"
        before = "---\nfiller: " + "x" * 4060 + "\n"
        path.write_text(before)
        knotd.configure(text=f"statistics:\n    timer: 1\n    file: {path}\n    append: on\n")
        knotd.start()
        knotd.wait_log("error: " + re.escape(f"stats, failed to append file '{path}' (No space left on device)"))
        knotd.stop()
        assert path.read_text() == before


@pytest.mark.ours
def test_a_pipe_that_nobody_reads(knotd):
    """It is a file that can't be opened, not one to wait for: the server ends as ever."""
    path = knotd.dir / "pipe"
    os.mkfifo(path)
    knotd.configure(text=f"statistics:\n    timer: 1\n    file: {path}\n    append: on\n")
    knotd.start()
    knotd.wait_log("error: " + re.escape(f"stats, failed to append file '{path}'"))
    assert knotd.stop() == 0


@pytest.mark.ours
@pytest.mark.parametrize("identity, want", [("host.example", "host.example"), ("a: b", '"a: b"'), ("- x", '"- x"'),
                                            ('say \\"x\\"', '"say \\"x\\""'), ("tru#e", '"tru#e"'),
                                            # What YAML, 1.1 or 1.2, would take for something else than text, and what only looks like it.
                                            *((word, f'"{word}"') for word in ("Null", "true", "off", "1_000", "0x1f", "0o17", "1.5", "1e3", ".inf", "2026-01-31",
                                                                              "1.2.3.4", "1e", "1_0-2", "a_b")),
                                            *((word, word) for word in ("nullify", "0-15", "1024-1039", "ns1.example.net", "e1"))])
def test_any_identity_is_yaml(knotd, identity, want):
    knotd.configure(server=f'identity: "{identity}"', text="statistics:\n    timer: 1\n")
    knotd.start()
    text = wait_for(knotd.dir / "run" / "stats.yaml", lambda text: "identity" in text)
    assert f"\nidentity: {want}\n" in text


@pytest.mark.ours
def test_a_link_is_not_followed(knotd):
    """Any user who may write to the folder could make the server append to any file of the server's user."""
    victim, path = knotd.dir / "victim", knotd.dir / "stats.yaml"
    victim.write_text("mine\n")
    path.symlink_to(victim)
    statistics = f"statistics:\n    timer: 1\n    file: {path}\n"
    knotd.configure(text=statistics + "    append: on\n")
    knotd.start()
    knotd.wait_log("error: " + re.escape(f"stats, failed to append file '{path}' (is a symbolic link, which is not followed here)"))
    assert victim.read_text() == "mine\n"
    knotd.configure(text=statistics)
    knotd.knotc("reload")
    wait_for(path, lambda text: text.startswith("---"))     # what is replaced is the link
    assert victim.read_text() == "mine\n" and not path.is_symlink()


def normal(text):
    """{path of keys: value} of the dump without what is of the moment. 3.2 left a blank behind keys and wrote sections without values."""
    values, path = {}, []
    for line in text.splitlines():
        key, _, value = line.strip().partition(": ") if not line.strip().startswith('"') else (line.strip().rstrip(":"), "", "")
        depth = len(line) - len(line.lstrip(" "))
        path[depth:] = [key.rstrip(":")]
        if value.strip() and key not in ("time", "zone-update-error"):
            values["/".join(path)] = value.strip()
    return values


def test_same_as_knot(make_knotd):
    """The same questions give the same document, of Debian's knotd and of ours."""
    if not pathlib.Path("/usr/sbin/knotd").exists():
        pytest.skip("Debian's knotd is not installed")
    documents = []
    for number, program in enumerate(("/usr/sbin/knotd", None)):
        knotd = make_knotd(name=f"peer{number}")
        knotd.program = program or knotd.program
        knotd.write("example.zone", example(7))
        knotd.write("quiet.test.zone", example(1).replace("example.", "quiet.test."))
        configure(knotd, "statistics:\n    timer: 1\n")
        knotd.start()
        for name, rdtype, options in (("www.example", "A", {}), ("www.example", "AAAA", {"want_dnssec": True}),
                                      ("nothing.example", "MX", {"tcp": True}), ("www.nowhere", "A", {})):
            knotd.ask(name, rdtype, **options)
        path = knotd.dir / "run" / "stats.yaml"
        wait_for(path, lambda text: "tcp4: 1" in text and "udp4: 3" in text)
        documents.append(normal(next_dump(path)))
    differences = {key: (documents[0].get(key), documents[1].get(key)) for key in documents[0].keys() | documents[1].keys()
                   if documents[0].get(key) != documents[1].get(key)}
    assert not differences
    assert len(documents[1]) > 12
