# SPDX-License-Identifier: BSD-2-Clause
"""The manual knows what the programs know: counters, commands, and has no names that they don't."""
import os
import re
import shutil
import subprocess

import pytest

from harness.manual import MANUAL, TOP
from harness.net import may_make_namespaces
from harness.scene import Scene
from harness.server import BUILD, built
from harness.waiting import PATIENCE

CONFIGURATION = """\
server:
    listen: 192.0.2.1
    metrics-listen: 127.0.0.1@9433
xdp:
    listen: eth0
mod-stats:
  - id: all
    edns-presence: on
    flag-presence: on
    request-edns-option: on
    response-edns-option: on
    reply-nodata: on
    query-type: on
    query-size: on
    reply-size: on
template:
  - id: default
    storage: /var/lib/knot
    global-module: [ mod-cookies, mod-rrl, mod-stats/all ]
zone:
  - domain: example.com
"""


def with_tables(name):
    """A page with the tables of counters that are generated into it."""
    def table(match):
        return match.group(1) + subprocess.run([built("counters_doc", "control"), match.group(2)], stdout=subprocess.PIPE, text=True, check=True,
                                               timeout=20 * PATIENCE).stdout.replace("\n", "\n" + match.group(1))

    return re.sub(r"^( *)\.\. include:: generated/counters-([\w-]+)\.rst$", table, (MANUAL / name).read_text(), flags=re.M)


@pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")
def test_counters():
    """Each counter and metric is explained, those of AF_XDP in its chapter; and each that is explained exists."""
    text, rows = with_tables("statistics.rst"), with_tables("xdp.rst")
    with Scene() as scene:
        scene.write("/etc/knot/knot.conf", CONFIGURATION)
        scene.write("/var/lib/knot/example.com.zone", "@ 3600 SOA a b 1 2 3 4 5\n@ 3600 NS a\n")
        assert scene.run("systemctl start knot")[0] == 0, scene.run("cat /run/knot.journal")[1]
        said = scene.run("knotc -f stats; knotc -f zone-stats example.com")[1]
        metrics = set(re.findall(r"^# HELP (\S+)", scene.run("curl -s --max-time 10 http://127.0.0.1:9433/metrics")[1], re.M))
    assert len(metrics) > 20
    starts = re.findall(r"``((?:knot|process)_\w*?)(\u2026?)``", text)
    assert [name for name in sorted(metrics) if not any(name == start or (is_open and name.startswith(start)) for start, is_open in starts)] == []
    assert [start for start, _ in starts if not any(name.startswith(start) for name in metrics)] == []
    counters = set(re.findall(r"^(?:\[\S+\] )?([\w-]+\.[\w-]+)(?:\[\S+\])? =", said, re.M))
    assert len(counters) > 60, said
    known = set(re.findall(r"``([\w-]+)``", text))
    known_rows = set(re.findall(r"``([\w-]+)``", rows))
    assert [name for name in sorted(counters) if name.split(".")[1] not in known
            and not (name.startswith("xdp.") and name.split(".")[1] in known_rows)] == []
    # The first column of tables that follow a section's name.
    explained = re.split(r"^``([\w-]+)``\n", text.split("Reading them")[0], flags=re.M)
    for section, part in zip(explained[1::2], explained[2::2]):
        for cell in re.findall(r"^ +\* - (``.*)$", part, re.M):
            for name in re.findall(r"``([\w-]+)``", cell):
                assert f"{section}.{name}" in counters, f"statistics.rst explains {section}.{name}, which is none"


def test_commands():
    """What the manual types exists, and knotc(8) explains all that there is."""
    usage = subprocess.run([built("knotc", "tools"), "-h"], stdout=subprocess.PIPE, text=True, check=True, timeout=20 * PATIENCE).stdout
    commands = set(re.findall(r"^ ((?:zone|conf|xdp)-[a-z-]+|status|stop|reload|stats|top)\b", usage, re.M))
    assert len(commands) > 40, usage
    typed = set()
    for path in MANUAL.glob("*.rst"):
        typed |= set(re.findall(r"knotc (?:-\S+ )*((?:zone|conf|xdp)-[a-z-]+)", path.read_text()))
    assert typed - commands == set()
    page = re.sub(r"\\f[BIR]", "", (BUILD / "doc/man/knotc.8").read_text()).replace("\\-", "-")
    assert [command for command in sorted(commands) if not re.search(rf"(?<![\w-]){command}(?![\w-])", page)] == []


PAGES = {"kcatalogprint": 8, "kdig": 1, "keymgr": 8, "khost": 1, "kjournalprint": 8, "knotc": 8, "knsec3hash": 1, "knsupdate": 1, "kxdpgun": 8, "kzonecheck": 1,
         "kzoneimage": 8, "kzonesign": 1}


@pytest.mark.parametrize("program", PAGES)
def test_options_of_man_pages(program):
    """A tool's manual page has the options of its help, no other, and the sections of all pages in their order."""
    usage = subprocess.run([built(program, "tools"), "-h"], stdout=subprocess.PIPE, text=True, check=True, timeout=20 * PATIENCE).stdout
    name = f"doc/man/{program}.{PAGES[program]}"
    text = (TOP / name if (TOP / name).exists() else BUILD / name).read_text()
    page = re.sub(r"\\f[BIR]", "", text).replace("\\-", "-").replace('"', "")

    def lacks(where, option):
        return not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", where)

    known = set(re.findall(r"(?<![\w-])--?[A-Za-z0-9][a-z-]*(?![\w-])", usage)) | set(re.findall(r"\+\[no\]([a-z-]+)", usage))
    assert [option for option in sorted(known) if lacks(page, option)] == []
    described = set(re.findall(r"^\.B(?:R)? (?:.*, )?(--?[A-Za-z0-9][a-z-]*)(?![\w-])", page.split(".SH OPTIONS")[1].split("\n.SH")[0], re.M))
    assert [option for option in sorted(described) if lacks(usage + "-h --help -V --version", option)] == []
    sections = re.findall(r"^\.SH (.*)", text, re.M)
    wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
    assert [section for section in sections if section in wanted] == wanted


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="not a system of Debian's kind")
def test_files_of_knot():
    """The chapter about migration says of each file of Knot's packages where it is now."""
    done = subprocess.run(["dpkg", "-L", "knot", "knot-dnsutils"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
                          timeout=20 * PATIENCE)
    if done.returncode != 0:
        pytest.skip("knot and knot-dnsutils are not installed")
    files = {line for line in done.stdout.split("\n") if os.path.isfile(line)}
    assert len(files) > 20
    named = re.findall(r"``(/[\w./-]+)``", (MANUAL / "migration.rst").read_text())
    assert sorted(path for path in files if not any(path == name or path.startswith(name + "/") for name in named)) == []


def test_dependencies():
    """The page of dependencies names every package that ./dev installs."""
    page = set(re.findall(r"[a-z0-9][a-z0-9.+-]+", (MANUAL / "dependencies.rst").read_text()))
    groups = re.findall(r"^deps_(\w+)='([^']*)'", (TOP / "dev").read_text(), re.M)
    assert len(groups) > 4
    assert {name: [package for package in packages.split() if package not in page] for name, packages in groups} == {
        name: [] for name, _ in groups}


def test_index_of_decisions():
    """doc/adr/README.md has a line for each page, with its title, and no other."""
    pages = sorted((TOP / "doc/adr").glob("0*.md"))
    titles = [(path, *re.match(r"# (\d+)\. (.*)", path.read_text()).groups()) for path in pages]
    listed = re.findall(r"^- \[(\d+)\]\(([\w.-]+)\) (.*)$", (TOP / "doc/adr/README.md").read_text(), re.M)
    assert listed == [(number, path.name, title) for path, number, title in titles]
    assert [path.name for path in pages if not re.search(r"^\*\*Context\.\*\*", path.read_text(), re.M)] == []
