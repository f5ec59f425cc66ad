# SPDX-License-Identifier: BSD-2-Clause
"""Guards what knotc sends: for the same words the same units as the distribution's knotc 3.2 sends, and the same words back for an empty reply.

Both talk to a server that only writes down what it gets. Differences that are meant are in `normal`; two more have no line here: the peer leaves
the backslash of "\\]" in an identifier, and takes a filter that an action doesn't have for a zone when it has no filters at all.
"""
import pathlib
import shlex
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.server import built  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402

PEER = "/usr/sbin/knotc"
pytestmark = pytest.mark.skipif(not pathlib.Path(PEER).exists(), reason="no knotc of Knot DNS")

NAMES = "CMD FLAGS ERROR SECTION ITEM ID ZONE OWNER TTL TYPE DATA FILTERS".split()
END, BLOCK = 0, 3

LINES = r"""
status
status version
stop
reload
-b reload
reload -f
stats
stats a.b
stats a.b.c
stats .b
stats a.
-f stats
zone-status
zone-status --
zone-status a
zone-status a +role
zone-status +role +serial a
zone-status a b +events +freeze +catalog +transaction
zone-reload a b
-b zone-reload a
-b -f zone-reload a
zone-reload -b a
zone-reload -f a
zone-refresh A
zone-flush
zone-flush a +outdir /x
zone-flush +outdir /x a
-f zone-flush a
zone-backup +backupdir /x
zone-backup a +backupdir /x +nozonefile +journal
zone-restore a b +backupdir /x
zone-sign a
zone-keys-load a
zone-key-rollover a ksk
zone-key-rollover a x
zone-ksk-submitted a
zone-freeze
zone-thaw a
zone-xfr-freeze a
zone-xfr-thaw
zone-notify
zone-retransfer a
zone-read a
zone-read a b
zone-read a b c
zone-read -- @ SOA
zone-begin a
zone-begin --
zone-commit a b
zone-abort --
zone-diff a
zone-diff --
zone-get a @
zone-set a b A 1
zone-set a b 300 A 1 2
zone-set a b 300 300
zone-set a b x y
zone-set a b A
zone-set a b 300 A
zone-set -- b A 1
zone-set a b TYPE1 1
zone-set a b 1 1 1
zone-set a b TXT "a b" c
zone-set a b 300
zone-unset a b
zone-unset a b A
zone-unset a b A 1
zone-unset a b 300
zone-unset a b 300 A 1 2
zone-unset a b x
zone-unset -- b
-f zone-purge a
-f zone-purge --
-f zone-purge a +expire +zonefile +journal +timers +kaspdb +catalog
-f zone-purge a +orphan
zone-stats a
zone-stats a x.y
zone-stats -- x
conf-list
conf-list server
conf-list zone[a]
conf-list zone[a].b
conf-list server zone
conf-list a.b.c
-f conf-list x
conf-read
conf-read a b
conf-read zone[a].b
conf-read "a[x y]"
-b conf-read a
conf-begin
conf-commit
-f conf-commit
conf-abort
conf-diff a
conf-get a[b]
conf-set a
conf-set a b
conf-set a b c d
conf-set a[b].c d
-f conf-set a b
-b conf-set a b
conf-unset
conf-unset a
conf-unset a b c
conf-unset a[b].c d
"""

# Refused by both before anything is sent.
REFUSED = """
status a b
stop x
zone-begin
zone-read
zone-read a b c d
zone-diff
zone-diff a b
zone-set a b
zone-unset a
zone-stats
zone-stats a b c
zone-key-rollover
zone-key-rollover a
zone-ksk-submitted
zone-purge a
zone-status +nonsense
nonsense
conf-import
conf-import a b
conf-export a b
conf-set
conf-begin x
conf-read zone[a
conf-read zone[a]x
conf-read server.
"""


def lines(text):
    return [line for line in text.splitlines() if line.strip()]


def read_units(stream):
    """Units up to END or the end of the connection; each BLOCK is answered with an empty one."""
    data, units = b"", []
    pos = 0

    def need(count):
        nonlocal data
        while len(data) < count:
            more = stream.recv(65536)
            if not more:
                raise EOFError
            data += more

    try:
        while True:
            need(pos + 1)
            kind = data[pos]
            pos += 1
            if kind == END:
                return units
            if kind == BLOCK:
                units.append("BLOCK")
                stream.sendall(bytes([BLOCK]))
            elif kind < 16:
                units.append({})
            else:
                need(pos + 2)
                size = int.from_bytes(data[pos:pos + 2], "big")
                pos += 2
                need(pos + size)
                units[-1][NAMES[kind - 16]] = data[pos:pos + size].decode()
                pos += size
    except (EOFError, OSError):
        return units


def run(program, line, directory):
    """(units, stdout, status) of a line."""
    path = directory / "s.sock"
    path.unlink(missing_ok=True)
    words = shlex.split(line)
    options = []
    while words[0].startswith("-"):
        options.append(words.pop(0))
    got = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)
        listener.settimeout(20 * PATIENCE)

        def serve():
            try:
                stream, _ = listener.accept()
            except OSError:
                return
            with stream:
                stream.settimeout(20 * PATIENCE)
                got.extend(read_units(stream))

        thread = threading.Thread(target=serve)
        thread.start()
        done = subprocess.run([program, "-s", str(path), *options, *words], capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
        # Who sent nothing didn't connect: the thread still waits.
        if thread.is_alive():
            with socket.socket(socket.AF_UNIX) as other:
                other.connect(str(path))
        thread.join()
    return got, done.stdout, done.returncode


def normal(units):
    """Without what is meant to differ: the peer sends FLAGS without letters; letters of conf-* are among FLAGS (3.2), we send them
    as FILTERS (3.5), too; the peer's "s" with conf-set has no meaning; ours asks for warnings with the filter "w"."""
    made = []
    for unit in units:
        if unit == "BLOCK":
            made.append(unit)
            continue
        unit = dict(unit)
        if unit["CMD"].startswith("conf-") or (unit["CMD"] == "reload" and unit.get("FILTERS") == "w"):
            unit.pop("FILTERS", None)
        if unit["CMD"] == "conf-set":
            unit["FLAGS"] = unit.get("FLAGS", "").replace("s", "")
        if not unit.get("FLAGS"):
            unit.pop("FLAGS", None)
        made.append(unit)
    return made


@pytest.mark.parametrize("line", lines(LINES))
def test_same_request(line, tmp_path):
    theirs, their_output, their_status = run(PEER, line, tmp_path)
    ours, our_output, our_status = run(built("knotc", "tools"), line, tmp_path)
    assert normal(ours) == normal(theirs) and ours
    assert (our_output, our_status) == (their_output, their_status)


@pytest.mark.parametrize("line", lines(REFUSED))
def test_same_refusal(line, tmp_path):
    theirs, their_output, their_status = run(PEER, line, tmp_path)
    ours, our_output, our_status = run(built("knotc", "tools"), line, tmp_path)
    assert not theirs and not ours
    assert (our_output, our_status) == (their_output, their_status) == ("", 1)
