# SPDX-License-Identifier: BSD-2-Clause
"""The manual is built without a warning, with working links, and the manual pages pass mandoc's lint."""
import fcntl
import html.parser
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest

from harness.manual import TOP
from harness.server import BUILD
from harness.waiting import PATIENCE


@pytest.fixture(scope="module")
def pages():
    if shutil.which("sphinx-build") is None:
        pytest.skip("python3-sphinx is not installed")
    with open(BUILD / "html.lock", "w", encoding="ascii") as lock:     # another run may be building it
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "-C", str(BUILD), "--no-print-directory", "html"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    return BUILD / "doc" / "html"


class Links(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.add(attributes.get("id") or attributes.get("name"))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        for name in ("src", "href"):
            if tag in ("script", "img", "link") and name in attributes:
                self.loaded.append(attributes[name])


def test_links(pages):
    """Every link into the manual leads somewhere; no page loads anything from elsewhere."""
    read = {path: Links(path) for path in pages.rglob("*.html")}
    assert len(read) > 10
    faults = []
    for path, page in read.items():
        for link in page.links + page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loaded:
                    faults.append(f"{path.name}: loads {link}")
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if not target.exists():
                faults.append(f"{path.name}: {link}: no such file")
            elif url.fragment and target in read and url.fragment not in read[target].anchors:
                faults.append(f"{path.name}: {link}: no such place")
    assert not faults, "\n".join(faults)


def manual_pages():
    """Those of the tree, and those that the build makes."""
    made = ["knot.conf.5", *(path.stem for path in TOP.glob("doc/man/*.[1-8].in"))]
    return sorted([*TOP.glob("doc/man/*.[1-8]"), *(BUILD / "doc/man" / name for name in made)])


@pytest.mark.parametrize("path", manual_pages(), ids=lambda path: path.name)
def test_manual_page(path):
    """mandoc finds nothing to say about what it reads; without mandoc, groff."""
    assert path.exists()
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=30 * PATIENCE)
        # The page that the build generates has no date: it would differ from build to build.
        said = [line for line in done.stdout.splitlines() if "missing date" not in line]
        assert not said, "\n".join(said)
    elif shutil.which("groff"):
        done = subprocess.run(["groff", "-mandoc", "-wall", "-Tutf8", "-z", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=30 * PATIENCE)
        assert not done.stdout, done.stdout
    else:
        pytest.skip("neither mandoc nor groff is installed")


def test_every_program_has_a_page():
    """And every page a program."""
    installed = re.findall(r"^s?bin_PROGRAMS \+= (.*)$", "\n".join(p.read_text() for p in TOP.glob("src/*/Makefile.inc")), re.M)
    programs = {pathlib.PurePath(name).name for line in installed for name in line.split()}
    pages = {path.stem for path in manual_pages()} - {"knot.conf"}
    assert programs and programs == pages
