# SPDX-License-Identifier: BSD-2-Clause
"""Guards the lints: each finds the fault that is planted in a small tree, and nothing in the tree without it."""
import os
import shutil
import subprocess

import pytest

from harness.manual import TOP
from harness.waiting import PATIENCE

CONFIGURE = "PKG_CHECK_MODULES([lmdb], [lmdb >= 0.9.24])\n"
HEADER = """/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once
#define KNOT_EXPORT
KNOT_EXPORT int knot_used(int number);
int inner(void);
"""
SOURCE = """/* SPDX-License-Identifier: BSD-2-Clause */
#include "libknot/used.h"
#include <lmdb.h>
static sys_mutex_t used_lock;
int inner(void)
{
	return 1; /* as in used.h */
}

int knot_used(int number)
{
	return number + inner();
}
"""
TEST = """# SPDX-License-Identifier: BSD-2-Clause
import time


def test_it(server):
    time.sleep(1)       # absence: nothing happens
    assert server.said == ""
"""
MAKEFILE = "# SPDX-License-Identifier: BSD-2-Clause\nlibknot/used.c libknot/used.h tests/functional/test_it.py doc/a.md doc/locks.md\n"
TREE = {
    "configure.ac": CONFIGURE, "Makefile.am": "", "dev": "", ".ci/run": "", "README.md": "", "CONTRIBUTING.md": "", "NEWS": "",
    "libknot/used.h": HEADER, "libknot/used.c": SOURCE, "libknot/Makefile.inc": MAKEFILE, "tests/functional/test_it.py": TEST,
    "tests/skips.txt": "tests/functional/test_it.py::test_it | no root | needs root\n", "doc/a.md": "See `libknot/used.c`.\n",
    "doc/locks.md": "| 1 | a lock | `libknot/used.c` | what | when |\n",
    "distro/deb/libbowline0.symbols": "libbowline.so.0 libbowline0 #MINVER#\n knot_used@Base 0.1.0\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def lint(name, tree, **variables):
    """Exit status and output of scripts/check-NAME over the tree."""
    done = subprocess.run([TOP / "scripts" / f"check-{name}"], env=os.environ | {"srcdir": str(tree)} | variables, cwd=tree,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE, check=False)
    return done.returncode, done.stdout


# lint, file, what in it, by what it is replaced, what is said
FAULTS = [
    ("unused", "libknot/used.c", "return number + inner();", "return number;", "libknot/used.c:5: nothing but tests, if anything, calls inner()"),
    ("unused", "libknot/used.c", "#include <lmdb.h>\n", "", "configure.ac:1: no source includes a header of lmdb"),
    ("unused", "configure.ac", "[lmdb >=", "[libother >=", "configure.ac:1: scripts/check-unused doesn't know the headers of libother"),
    ("tree", "libknot/used.c", "as in used.h", "as in unused.h", "libknot/used.c:7: names unused.h, which does not exist"),
    ("tree", "doc/a.md", "used.c", "old.c", "doc/a.md:1: names libknot/old.c, which does not exist"),
    ("tree", "distro/deb/libbowline0.symbols", "knot_used", "knot_old", "knot_used, which a header exports, is missing"),
    ("tree", "libknot/used.h", "KNOT_EXPORT int knot_used(", "int knot_used(", "libbowline0.symbols:1: no header exports knot_used"),
    ("tree", "README.md", "", "deb http://deb." "debian.org/debian\n", "README.md:1: names deb." "debian.org"),
    ("tree", "libknot/used.c", "return 1;", "return atoi(s);", "libknot/used.c:7: atoi() is banned"),
    ("tree", "libknot/Makefile.inc", "libknot/used.c ", "", "libknot/used.c:1: not listed in any Makefile.inc"),
    ("tree", "libknot/used.c", "static sys_mutex_t used_lock;\n", "", "doc/locks.md:1: has 1 locks of libknot/used.c, which declares 0"),
    ("tree", "doc/locks.md", "a lock |", "a lock, another |", "doc/locks.md:1: has 2 locks of libknot/used.c, which declares 1"),
    ("tree", "libknot/used.h", "SPDX-License-Identifier", "Licence", "libknot/used.h:1: no SPDX-License-Identifier line"),
    ("includes", "libknot/used.c", "libknot/used.h", "libknot/gone.h", "libknot/used.c:2: includes libknot/gone.h, which does not exist"),
    ("names", "libknot/used.c", "int inner(void)", "static int put(void)", "libknot/used.c:5: put(): it is one bare verb"),
    ("tests", "tests/functional/test_it.py", "    assert server.said", "    server.said", "test_it.py:5: test_it asserts nothing"),
    ("tests", "tests/functional/test_it.py", 'said == ""', 'said == "" or "x"', "test_it.py:7: this assertion can't fail"),
    ("tests", "tests/functional/test_it.py", "       # absence: nothing happens", "", "test_it.py:6: a pause of fixed length without a comment"),
    ("tests", "tests/skips.txt", "::test_it", "::test_gone", "tests/skips.txt:1: tests/functional/test_it.py has no test_gone"),
    ("tests", "tests/skips.txt", " | needs root", "", "tests/skips.txt:1: not 'TEST | REASON | WHY'"),
]


@pytest.mark.parametrize("name, file, old, new, said", FAULTS)
def test_planted(tree, name, file, old, new, said):
    status, out = lint(name, tree)
    assert status == 0 or name == "unused", f"without the fault: {out}"
    assert said not in out
    path = tree / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1) if old else new)
    status, out = lint(name, tree)
    assert status == 1 and said in out, out


def test_two_of_one_name(tree):
    (tree / "tests/doc").mkdir()
    (tree / "tests/doc/test_it.py").write_text(TEST)
    status, out = lint("tests", tree)
    assert status == 1 and "tests/functional/test_it.py:1: tests/doc/test_it.py has the same name, by which pytest imports it" in out


# file, what is in it, what is said; without an answer there is no fault
ENGLISH = [
    ("README.md", "If a zone has an error:\nWho queries it gets SERVFAIL.\n", 'README.md:2: says "Who"; write "If you ...", or "Operators who ..."'),
    ("README.md", "Operators who reload:\n```sh\nrunuser -u nobody -- knotc status\n```\n", ""),
    ("doc/manual/a.rst", "The server\nreads it anew.\n", 'doc/manual/a.rst:2: says "anew"; write "again"'),
    ("doc/manual/a.rst", "The reason is ``tabulator\ncharacter``; a tabulator is one.\n", 'doc/manual/a.rst:2: says "tabulator"; write "tab"'),
    ("doc/manual/a.rst", "The reason is ``tabulator\ncharacter``.\n\n.. session::\n\n   $ runuser -u nobody -- knotc status\n", ""),
    ("doc/man/a.8", "The process\nis told so.\n", 'doc/man/a.8:2: says "is told"; write who tells what'),
    ("doc/man/b.8.in", "It is all right.\n", 'doc/man/b.8.in:1: says "all right"; write'),
    ("samples/a.conf", "server:  # for somebody\n", 'samples/a.conf:1: says "somebody"; write'),
    ("src/conf/schema_a.c", 'char *doc = "What nobody may do."; /* anew */\n', 'src/conf/schema_a.c:1: says "nobody"; write'),
    ("src/conf/schema_a.c", 'char *doc = "What clients may do."; /* anew */\n', ""),
    ("tests/test_a.py", 'def test_a():\n    """Read\n    anew."""\n', 'tests/test_a.py:3: says "anew"; write "again"'),
    ("tests/test_a.py", 'x = 1       # for nobody\n', 'tests/test_a.py:1: says "nobody"; write'),
    ("tests/test_a.py", 'x = "nobody"\ny = (\n    "anew")\n', ""),
    ("scripts/check-a", '#!/usr/bin/env python3\nx = "#anew"\n', ""),
    ("distro/deb/a.postinst", "#!/bin/sh\nif id nobody; then # all right\n", 'distro/deb/a.postinst:2: says "all right"; write'),
    ("distro/deb/a.postinst", "#!/bin/sh\nif id nobody; then\n", ""),
]


@pytest.mark.parametrize("file, text, said", ENGLISH)
def test_english(tmp_path, file, text, said):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    status, out = lint("english", tmp_path)
    assert status == (1 if said else 0) and said in out and f"check-english: {1 if said else 0} faults" in out, out


def git(tree, *words):
    subprocess.run(["git", "-C", tree, "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main", *words],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20 * PATIENCE)


@pytest.mark.parametrize("subject, said", [
    ("net: close the idlest client first", ""),
    ("Close the idlest client first", 'not "area: what it does"'),
    ("net: " + "x" * 68, "73 characters, not 72 at most"),
])
def test_subjects(tree, subject, said):
    shutil.copytree(TOP / "scripts", tree / "scripts", ignore=shutil.ignore_patterns("__pycache__"))

    def check(since):
        done = subprocess.run([tree / "scripts/check-subjects"], env=os.environ | {"SINCE": since}, stdout=subprocess.PIPE, text=True,
                              timeout=20 * PATIENCE, check=False)
        return done.returncode, done.stdout

    assert check("HEAD")[1] == "check-subjects: no git repository here; nothing checked\n"
    git(tree, "init")
    git(tree, "commit", "--allow-empty", "-m", "Begin as it was")
    git(tree, "commit", "--allow-empty", "-m", subject)
    status, out = check("HEAD~1")
    assert status == (1 if said else 0) and said in out and "1 commits" in out
    assert "does not reach back" in check("0123456789012345678901234567890123456789")[1]


def test_format(tree):
    """What ./dev format would change is a fault."""
    for name in ("dev", ".clang-format"):
        shutil.copy(TOP / name, tree / name)
    script = "eval \"$(sed -n '/^sources()/,/^}/p; /^clang_format()/,/^}/p; /^check_format()/,/^}/p' dev)\"; jobs=1; SKIPS=fail; check_format"
    for text, status, faults in (("int a;\n", 0, "1 files, 0 faults"), ("int   a ;\n", 1, "1 files, 2 faults")):
        for path in (tree / "libknot").glob("*.[ch]"):
            path.unlink()
        (tree / "libknot/used.c").write_text(text)
        done = subprocess.run(["bash", "-c", script], cwd=tree, stdout=subprocess.PIPE, text=True, timeout=60 * PATIENCE, check=False)
        assert done.returncode == status and faults in done.stdout, done.stdout


@pytest.mark.parametrize("reason, counts", [("no root", "1 0"), ("no tool", "1 1")])
def test_skips(tmp_path, reason, counts):
    """A skip that isn't listed counts as failed where SKIPS=fail, and as nothing elsewhere."""
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite><testcase classname="tests.xdp.test_coexist" name="test_one"/>'
                      f'<testcase classname="tests.xdp.test_coexist" name="test_two"><skipped message="{reason}"/></testcase></testsuite></testsuites>')
    scripts = tmp_path / "scripts"
    shutil.copytree(TOP / "scripts", scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/skips.txt").write_text("tests/xdp/test_coexist.py::* | no root* | why\n")
    for strict, want in (("fail", counts), ("", "1 0")):
        done = subprocess.run([scripts / "count-junit", report], env=os.environ | {"SKIPS": strict}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=20 * PATIENCE, check=True)
        assert done.stdout.strip() == want, done.stderr
