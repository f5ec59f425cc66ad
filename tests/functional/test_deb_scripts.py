# SPDX-License-Identifier: BSD-2-Clause
"""Guards what can be said of the packages without building them on a machine (tests/deb): the conversion of a configuration database of
Knot DNS by bowline-migrate, what it keeps from Knot's own script, which folders the service may write to, and that programs don't depend on the folder they were built in."""
import os
import pathlib
import pwd
import re
import subprocess

import pytest

from harness.net import may_make_namespaces
from harness.server import BUILD, TOP, built
from harness.waiting import PATIENCE

POSTINST = TOP / "distro/deb/bowline.postinst"
MIGRATE = TOP / "distro/deb/bowline-migrate"
TEXT = "zone:\n  - domain: example.com\n"


def function(name, script=POSTINST):
    return re.search(rf"^{name}\(\) \{{\n.*?^\}}\n", script.read_text(), re.M | re.S).group()


class Box:
    """The script's function on folders of the test; `runuser` runs its command as the user of the test."""

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
        functions = "".join(function(name, MIGRATE) for name in ("die", "is_ours", "allow_start", "import_confdb"))
        script = f"set -eu\nrunuser() {{ shift 3; \"$@\"; }}\nconfdb='{self.confdb}' export='{self.export}'\n{functions}import_confdb\n"
        path = f"{os.path.dirname(built('knotc', 'tools'))}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", script], env=os.environ | {"PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=30, check=False)
        assert done.returncode == ("bowline-migrate: " in done.stdout), done.stdout
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


# What /var/lib/dpkg/info/knot.postrm does, as Debian 12 and Ubuntu 24.04 have it.
KNOT_POSTRM = """\
for name in catalog confdb journal keys timers; do rm -rf /var/lib/knot/$name; done
rmdir /var/lib/knot 2>/dev/null || true
deluser --quiet knot >/dev/null 2>&1 || true
deb-systemd-helper purge knot.service >/dev/null || true
"""


@pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")
def test_purge_of_knot(directory):
    """bowline-migrate purge: the script of the package runs, and nothing of the server's goes. All of it in a mount namespace of the test, with commands
    of our own in the place of those that would change the machine."""
    (directory / "bin").mkdir()
    (directory / "postrm").write_text(KNOT_POSTRM)
    for name, text in (("dpkg-query", "echo config-files"), ("dpkg", f"echo \"$@\" >>{directory}/calls\nsh {directory}/postrm"),
                       ("record", f"echo changed by ${{0##*/}} >>{directory}/calls")):
        (directory / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (directory / "bin" / name).chmod(0o755)
    script = f"""set -eu
mount -t tmpfs none /var/lib/knot
mkdir /var/lib/knot/keys /var/lib/knot/confdb && echo key >/var/lib/knot/keys/k && echo db >/var/lib/knot/confdb/data.mdb
for command in /usr/sbin/deluser /usr/bin/deb-systemd-helper; do [ ! -e $command ] || mount --bind {directory}/bin/record $command; done
{MIGRATE} purge
cat /var/lib/knot/keys/k /var/lib/knot/confdb/data.mdb
sh {directory}/postrm; ls /var/lib/knot
"""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script], env=os.environ | {"PATH": f"{directory}/bin:{os.environ['PATH']}"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=30 * PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "key\ndb\n"), "and without bowline-migrate all of it goes"
    calls = (directory / "calls").read_text().split("\n")
    assert calls[0] == "--purge knot" and len(calls) > 2, "only the script run without bowline-migrate reaches these commands"
    assert sum("changed by" in call for call in calls) == len(calls) - 2 <= 2, calls


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's rights need root")
def test_writable_paths(directory):
    """Folders that are the server's, and those of files that are: a log in /var/log that was made for it."""
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
