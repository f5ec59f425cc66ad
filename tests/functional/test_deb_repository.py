# SPDX-License-Identifier: BSD-2-Clause
"""Guards what apt does with our packages beside those of Knot DNS 3.6: bowline takes knot's place, each package of tools that of Knot's with
the same tools, and nothing else is ever removed.

A repository in a folder has empty packages: Knot 3.6's with their names and relations, ours with those of distro/deb/control. apt simulates
with a state of its own; the machine's packages and lists are not looked at.
"""
import gzip
import pathlib
import re
import shutil
import subprocess

import pytest

from harness.server import TOP
from harness.waiting import PATIENCE

pytestmark = [pytest.mark.ours, pytest.mark.skipif(shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None,
                                                   reason="not a system of Debian's kind")]
OLD, NEW, OURS = "3.5.0-1", "3.6.2-1", "0.1.0-1"


def knot(version, soname):
    """Knot DNS's packages: name, version, relations."""
    depends = f"Depends: libknot{soname} (= {version})\n"
    return {
        "knot": (version, depends + "Breaks: knot-dnsutils (<< 2.9.2-5)\n"),
        "knot-dnsutils": (version, depends + "Breaks: knot (<< 2.9.2-5)\nReplaces: knot (<< 2.9.2-5)\n"),
        "knot-dnssecutils": (version, depends + "Breaks: knot (<< 3.2.0-1)\n"),
        "knot-host": (version, depends),
        "knot-module-geoip": (version, f"Depends: knot (= {version})\n"),
        f"libknot{soname}": (version, "Multi-Arch: same\n"),
        "libknot-dev": (version, depends),
        "python3-libknot": (version, depends),
    }


def ours():
    """Our packages as distro/deb/control has them, without what they depend on beyond each other."""
    packages = {}
    for block in (TOP / "distro/deb/control").read_text().split("\n\n")[1:]:
        name = re.search(r"^Package: (\S+)", block, re.M)[1]
        fields = ""
        for field in ("Conflicts", "Breaks", "Replaces", "Provides", "Multi-Arch"):
            match = re.search(rf"^{field}: (.*(?:\n .*)*)", block, re.M)
            fields += f"{field}: {match[1]}\n" if match else ""
        packages[name] = (OURS, fields.replace("${binary:Version}", OURS))
    packages["libbowline-dev"] = (OURS, packages["libbowline-dev"][1] + f"Depends: libbowline0 (= {OURS})\n")
    return packages


class Apt:
    def __init__(self, folder):
        self.folder = folder
        self.repository = folder / "repository"
        for path in ("repository", "state/lists/partial", "cache/archives/partial", "etc/parts", "log"):
            (folder / path).mkdir(parents=True)
        self.status = folder / "state/status"
        self.status.write_text("")
        self.stanzas = []
        (folder / "etc/sources.list").write_text(f"deb [trusted=yes] file:{self.repository} ./\n")

    def publish(self, *sets):
        """Make the packages and the repository's index. No key is asked for."""
        for packages in sets:
            for name, (version, fields) in packages.items():
                control = (f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: Test <test@example.net>\n{fields}"
                           "Description: empty\n")
                tree = self.folder / "tree" / f"{name}_{version}"
                (tree / "DEBIAN").mkdir(parents=True)
                (tree / "DEBIAN/control").write_text(control)
                path = self.repository / f"{name}_{version}_amd64.deb"
                subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, path], check=True, stdout=subprocess.DEVNULL, timeout=20 * PATIENCE)
                self.stanzas.append(f"{control}Filename: ./{path.name}\nSize: {path.stat().st_size}\n")
        index = "\n".join(self.stanzas)
        (self.repository / "Packages").write_text(index)
        with gzip.open(self.repository / "Packages.gz", "wt") as file:
            file.write(index)
        self.run("update")

    def installed(self, *sets):
        """These packages are installed."""
        self.status.write_text("\n".join(
            f"Package: {name}\nStatus: install ok installed\nVersion: {version}\nArchitecture: amd64\nMaintainer: Test <test@example.net>\n{fields}"
            "Description: empty\n" for packages in sets for name, (version, fields) in packages.items()))

    def run(self, *words, status=0):
        done = subprocess.run(
            ["apt-get", "-q", "-y", "-o", f"Dir::State={self.folder}/state", "-o", f"Dir::State::status={self.status}",
             "-o", f"Dir::Cache={self.folder}/cache", "-o", f"Dir::Etc={self.folder}/etc", "-o", f"Dir::Etc::Parts={self.folder}/etc/parts",
             "-o", f"Dir::Etc::SourceParts={self.folder}/etc/parts", "-o", f"Dir::Etc::PreferencesParts={self.folder}/etc/parts",
             "-o", f"Dir::Log={self.folder}/log", "-o", "APT::Architecture=amd64", "-o", "APT::Architectures::=amd64",
             "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE, check=False)
        assert done.returncode == status, done.stdout
        return done.stdout

    def changes(self, *words):
        """What apt would do: {"Inst": names, "Remv": names}, and that it downgrades nothing."""
        out = self.run("--simulate", *words)
        assert "DOWNGRADED" not in out, out
        return {verb: sorted(re.findall(rf"^{verb} (\S+)", out, re.M)) for verb in ("Inst", "Remv")}


@pytest.fixture
def apt(directory):
    made = Apt(directory)
    made.publish(knot(OLD, 15), knot(NEW, 17), ours())
    return made


def only(packages, *names):
    return {name: packages[name] for name in names}


# Ours whose files have the names of files of Knot's.
PLACES = {"bowline-dnsutils": "knot-dnsutils", "bowline-dnssecutils": "knot-dnssecutils", "bowline-host": "knot-host"}
LIBRARIES = ("libknot17", "libknot-dev", "python3-libknot")


def without_tools():
    """Ours but for those that take the place of tools of Knot DNS."""
    return {name: package for name, package in ours().items() if name not in PLACES}


def test_in_place_of_knot(apt):
    """All of ours on a machine with all of Knot 3.6's: the package knot goes, and a plug-in of it; the tools when ours are wanted."""
    apt.installed(knot(NEW, 17))
    assert apt.changes("install", "--no-install-recommends", *without_tools()) == {"Inst": sorted(without_tools()), "Remv": ["knot", "knot-module-geoip"]}
    assert apt.changes("install", *ours()) == {"Inst": sorted(ours()), "Remv": sorted(["knot", "knot-module-geoip", *PLACES.values()])}


def test_beside_the_tools(apt):
    tools = (*PLACES.values(), *LIBRARIES)
    apt.installed(only(knot(NEW, 17), *tools))
    assert apt.changes("install", "--no-install-recommends", *without_tools()) == {"Inst": sorted(without_tools()), "Remv": []}


def test_tools_afterwards(apt):
    """The other order."""
    tools = (*PLACES.values(), *LIBRARIES)
    apt.installed(without_tools())
    assert apt.changes("install", *tools) == {"Inst": sorted(tools), "Remv": []}


@pytest.mark.parametrize("mine", sorted(PLACES))
def test_tools_either_way(apt, mine):
    """Packages with files of the same names: one takes the other's place, and the server stays."""
    knots = PLACES[mine]
    apt.installed(ours())
    assert apt.changes("install", knots) == {"Inst": [knots, "libknot17"], "Remv": [mine]}
    apt.installed(only(knot(NEW, 17), knots, "libknot17"))
    assert apt.changes("install", "--no-install-recommends", mine) == {"Inst": [mine], "Remv": [knots]}


@pytest.mark.parametrize("verb", ["upgrade", "dist-upgrade"])
def test_upgrades_leave_ours(apt, verb):
    """Knot's repository is configured, with higher versions of everything: ours stay, its tools are upgraded."""
    apt.installed(ours())
    assert apt.changes(verb) == {"Inst": [], "Remv": []}
    apt.installed(without_tools(), only(knot(OLD, 15), "knot-dnsutils", "libknot15"))
    assert apt.changes("dist-upgrade") == {"Inst": ["knot-dnsutils", "libknot17"], "Remv": []}


def test_back(apt):
    """Operators who want knot again get it, and keep our other packages."""
    apt.installed(without_tools(), only(knot(NEW, 17), "knot-dnsutils", "libknot17"))
    assert apt.changes("install", "knot") == {"Inst": ["knot"], "Remv": ["bowline"]}


def test_other_packages_do_not_take_us_for_knot(apt):
    """What depends on knot wants transfers, signing, its plug-ins: bowline doesn't satisfy it, and apt doesn't replace bowline by the way."""
    apt.installed(ours())
    out = apt.run("--simulate", "install", "knot-module-geoip", status=100)
    assert "bowline : Conflicts: knot" in out


def test_no_file_of_the_library_has_a_name_of_knots():
    for name in ("libbowline0", "libbowline-dnssec0", "libbowline-dev", "bowline-doc"):
        for path in [*(TOP / "distro/deb").glob(f"{name}.install"), *(TOP / "distro/deb").glob(f"{name}.docs")]:
            for line in path.read_text().split("\n"):
                assert re.search(r"bowline|^doc/html$|^$", line), f"{path.name}: {line}"


def installed_paths():
    """(package, path or folder) of all lines of distro/deb/*.install that say what `make install` has put there."""
    for path in sorted((TOP / "distro/deb").glob("*.install")):
        for line in path.read_text().split("\n"):
            if line and not line.startswith("debian/"):
                yield path.stem, line


def test_no_file_is_in_two_packages():
    """dpkg would refuse to install both: neither the same line, nor one below a folder of another."""
    lines = list(installed_paths())
    twice = [(one, path, other, below) for one, path in lines for other, below in lines if (one, path) != (other, below) and f"{below}/".startswith(f"{path}/")]
    assert len(lines) > 40 and not twice


def test_completion_is_in_the_package_of_its_program():
    """For each shell that there is a file for."""
    lines = dict((path, package) for package, path in installed_paths())
    programs = {pathlib.PurePath(path).name: package for path, package in lines.items() if re.match("usr/s?bin/", path)}
    files = list((TOP / "distro/completion").iterdir())
    assert len(files) > 15
    for file in files:
        name = file.stem.lstrip("_")
        path = {".bash": f"bash-completion/completions/{name}", ".fish": f"fish/vendor_completions.d/{name}.fish", "": f"zsh/vendor-completions/_{name}"}[file.suffix]
        assert lines.get(f"usr/share/{path}") == programs[name], file.name
