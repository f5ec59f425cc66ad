# SPDX-License-Identifier: BSD-2-Clause
"""Guards how knotc finds the control socket: of a database it reads nothing but the groups that name it, and it reads once per process."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conf"))

from conf_server import start  # noqa: E402
from harness.server import built, is_ours  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402
from zones import example  # noqa: E402

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")


def knotc(*arguments):
    return subprocess.run([built("knotc", "tools"), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=20 * PATIENCE, check=False)


class Script:
    """knotc that reads lines from a pipe: each line is answered before the next is written."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([built("knotc", "tools"), *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20 * PATIENCE)

    def line(self, text):
        """What the line prints: one line, behind prompt and echo."""
        self.process.stdin.write(text + "\n")
        for printed in self.process.stdout:
            printed = printed.replace("knotc> ", "").strip()
            if printed and printed != text:
                return printed
        return ""


def test_zones_of_a_database_are_not_read(knotd):
    """A zone's block that can't be read (its checksum is wrong) concerns conf-check, and not an action that only needs the socket."""
    knotd.write("example.zone", example(1))
    start(knotd, zones=["example"], text="template:\n  - id: default\n    comment: needle-in-the-template\n")
    data = knotd.dir / "confdb" / "data.mdb"
    data.write_bytes(data.read_bytes().replace(b"needle-in-the-template", b"needle-in-the-haystack"))
    done = knotc("-C", data.parent, "status")
    assert (done.returncode, done.stdout) == (0, "Running\n")
    done = knotc("-C", data.parent, "conf-check")
    assert done.returncode == 1 and "the checksum of a block is wrong" in done.stdout


@pytest.mark.parametrize("is_database", [True, False])
def test_a_script_looks_once(knotd, is_database):
    """The configuration goes after the first line; the others don't miss it."""
    knotd.write("example.zone", example(1))
    if is_database:
        start(knotd, zones=["example"])
        source, where = "-C", knotd.dir / "confdb"
    else:
        knotd.configure(zones=["example"])
        knotd.start()
        source, where = "-c", knotd.path
    with Script(source, where) as script:
        assert script.line("status") == "Running"
        os.rename(where, f"{where}.away")
        assert script.line("status") == "Running"
        assert "serial" in script.line("zone-status example +serial")
    done = knotc(source, where, "status")
    assert done.returncode == 1 and str(where) in done.stdout, "another process looks again"


def test_an_import_makes_it_look_again(knotd):
    """Within one process the database that conf-import wrote names another socket."""
    knotd.write("example.zone", example(1))
    start(knotd, zones=["example"])
    other = knotd.write("other.conf", f"server:\n    rundir: {knotd.dir}/other-rundir\n")
    with Script("-C", knotd.dir / "confdb", "-f") as script:
        assert script.line("status") == "Running"
        assert script.line(f"conf-import {other}") == "OK"
        assert "other-rundir" in script.line("status")
