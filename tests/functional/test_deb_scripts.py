# SPDX-License-Identifier: BSD-2-Clause
"""Guards what can be said of the packages without building them on a machine (tests/deb): the conversion of a configuration database of
Knot DNS by the package's script, which folders the service may write to, and that programs don't depend on the folder they were built in."""
import os
import pathlib
import pwd
import re
import subprocess

import pytest

from harness.server import BUILD, TOP, built

POSTINST = pathlib.Path(__file__).parents[2] / "distro/deb/bowline.postinst"
TEXT = "zone:\n  - domain: example.com\n"


def function(name):
    return re.search(rf"^{name}\(\) \{{\n.*?^\}}\n", POSTINST.read_text(), re.M | re.S).group()


class Box:
    """The script's function on folders of the test; `runuser` runs what it is told as who we are."""

    def __init__(self, folder):
        self.folder, self.confdb, self.export = folder, folder / "confdb", folder / "confdb-export.conf"

    def theirs(self, text=TEXT, age_s=10):
        """A database of Knot's, changed so long before its text was made."""
        self.confdb.mkdir()
        (self.confdb / "data.mdb").write_bytes(b"\xff" * 4096)
        self.export.write_text(text)
        os.utime(self.export, (2000000000, 2000000000))
        os.utime(self.confdb / "data.mdb", (2000000000 - age_s, 2000000000 - age_s))
        return self

    def convert(self):
        script = f"set -e\nrunuser() {{ shift 3; \"$@\"; }}\nconfdb='{self.confdb}' export='{self.export}'\n{function('import_confdb')}import_confdb\n"
        path = f"{os.path.dirname(built('knotc', 'tools'))}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", script], env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=30, check=True)
        return done.stdout

    def read(self):
        done = subprocess.run([built("knotc", "tools"), "-C", str(self.confdb), "conf-export", str(self.folder / "out")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
        return (self.folder / "out").read_text() if done.returncode == 0 else done.stdout

    def is_theirs(self, folder="confdb"):
        return (self.folder / folder / "data.mdb").read_bytes() == b"\xff" * 4096


@pytest.fixture
def box(directory):
    return Box(directory)


def test_converted(box):
    assert "is kept in" in box.theirs().convert()
    assert 'domain: "example.com."' in box.read() and box.is_theirs("confdb.knot")
    assert box.convert() == ""


def test_second_time(box):
    """What an earlier conversion kept stays; the database isn't moved into it."""
    (box.folder / "confdb.knot").mkdir()
    box.theirs().convert()
    assert not list((box.folder / "confdb.knot").iterdir())
    kept = [path.name for path in box.folder.glob("confdb.knot.*")]
    assert len(kept) == 1 and box.is_theirs(kept[0])


def test_old_text(box):
    """A text that is older than the database is of something else."""
    assert "in the format of Knot DNS" in box.theirs(age_s=-10).convert()
    assert box.is_theirs() and not (box.folder / "confdb.knot").exists()


def test_text_that_is_refused(box):
    assert "was not accepted" in box.theirs(text="nosuch:\n").convert()
    assert box.is_theirs() and sorted(path.name for path in box.folder.iterdir()) == ["confdb", "confdb-export.conf"]


def test_interrupted(box):
    """Between its two moves."""
    box.theirs().convert()
    box.confdb.rename(box.folder / "confdb.bowline")
    assert box.convert() == ""
    assert 'domain: "example.com."' in box.read()


def test_kernel_program_names_no_folder():
    """It is embedded with its debug information, so that packages built in other folders would have other bytes."""
    program = (BUILD / "xdp/bpf/filter.bpf.o").read_bytes()
    assert b"xdp/bpf/filter.bpf.c\0" in program, "lines of the source are known"
    for folder in (TOP, BUILD.resolve()):
        assert os.fsencode(folder) not in program


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's rights need root")
def test_writable_paths(directory):
    """Folders that are the server's, and those of files that are: a log in /var/log that somebody has made for it."""
    nobody = pwd.getpwnam("nobody")
    conf = directory / "etc"
    for name, is_its in (("etc", False), ("zones", True), ("logs", False), ("rotated", False), ("sealed", False)):
        (directory / name).mkdir()
        if is_its:
            os.chown(directory / name, nobody.pw_uid, nobody.pw_gid)
    for name, is_its in (("logs/knot.log", True), ("sealed/knot.log", False), ("rotated/read-only.zone", False)):
        (directory / name).write_text("")
        if is_its:
            os.chown(directory / name, nobody.pw_uid, nobody.pw_gid)
    (conf / "knot.conf").write_text(f"""log:
  - target: {directory}/logs/knot.log       # its own file in a folder of root's
  - target: "{directory}/sealed/knot.log"
  - target: {directory}/nowhere/knot.log
template:
  - id: default
    storage: {directory}/zones
    file: "{directory}/rotated/read-only.zone"
database:
    storage: /dev/null
""")
    text = function("writable_paths").replace("find /etc/knot", f"find {conf}")
    script = f"set -e\nrunuser() {{ shift 3; command runuser -u nobody -- \"$@\"; }}\nexport=/nonexistent\n{text}writable_paths\n"
    done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30, check=True)
    assert done.stdout.split("\n") == [f"{directory}/logs", f"{directory}/zones", ""]
