# SPDX-License-Identifier: BSD-2-Clause
"""Guards completion of all tools by shells: what bash, fish and zsh offer comes from the same tables as the prompt's, with zones of the server."""
import os
import re
import shutil
import subprocess

import pytest

from harness.server import TOP, built
from harness.terminal import Terminal
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.ours

COMPLETION = f"{TOP}/distro/completion"
BASH = (f"source {COMPLETION}/$1.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _$1;"
        " [ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"")
FISH = f"source {COMPLETION}/$argv[1].fish; complete -C \"$argv\""


def path():
    return f"{os.path.dirname(built('knotc', 'tools'))}:{os.environ['PATH']}"


def bash(_, words):
    return ["bash", "--norc", "-c", BASH, "bash", *words]


def fish(directory, words):
    return ["env", f"HOME={directory}", "fish", "--no-config", "-c", FISH, *words]


def candidates(shell, directory, words, **environment):
    """What the shell would offer for the last of the words."""
    if shutil.which(shell.__name__) is None:
        pytest.skip(f"no {shell.__name__}")
    done = subprocess.run(shell(directory, words), env=os.environ | {"PATH": path()} | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=20 * PATIENCE, check=True)
    return done.stdout.split("\n")[:-1]


@pytest.fixture(params=[bash, fish], ids=["bash", "fish"])
def complete(request, directory):
    return lambda *words, program="knotc": candidates(request.param, directory, [program, *words])


@pytest.fixture
def server(knotd):
    for name in ("example", "other"):
        knotd.write(f"{name}.zone", example(7))
    knotd.configure(zones=["example", "other"])
    return knotd.start()


def stripped(words):
    """bash is given the space behind a whole word, fish puts it there itself."""
    return [word.rstrip(" ") for word in words]


# the words, what is offered
WHOLE = [
    (["zone-stat"], ["zone-stats", "zone-status"]),
    (["zone-freez"], ["zone-freeze"]),
    (["zone-status", "exa"], ["example."]),
    (["nothing-like-th"], []),
    # All of the word, as shells replace it whole.
    (["conf-read", "zone[exam"], ["zone[example.]"]),
    (["conf-read", "zone[example.].stor"], ["zone[example.].storage"]),
    (["conf-set", "server.listen"], ["server.listen", "server.listen-quic", "server.listen-tls"]),
    (["conf-set", "server.async-start", "o"], ["off", "on"]),
]


@pytest.mark.parametrize("words, want", WHOLE)
def test_words_of_the_tables(server, complete, words, want):
    # fish is one step ahead: it would put a space behind the name of the zone.
    offered = ["zone[example.]" if word == "zone[example.]." else word for word in stripped(complete("-s", str(server.socket), *words))]
    assert offered == want


def test_filters_and_identifiers(server, complete):
    socket = ("-s", str(server.socket))
    assert "+serial" in stripped(complete(*socket, "zone-status", "example", "+"))
    assert stripped(complete(*socket, "conf-read", "zone[")) == ["zone[example.", "zone[other."]


def test_options_and_files(directory, complete):
    assert complete("--so") == ["--socket"]
    (directory / "knot.conf").write_text("")
    assert complete("-c", f"{directory}/knot.c") == [f"{directory}/knot.conf"]
    assert stripped(complete("conf-import", f"{directory}/knot.c")) == [f"{directory}/knot.conf"]
    assert complete("-t", "") == []
    assert complete("-F", "") == ["3.5", "3.6", "json"]


def test_without_a_server(directory, complete):
    """Words are completed, names are not; nothing is said into the line that is being typed."""
    missing = ("-s", str(directory / "missing"))
    assert stripped(complete(*missing, "conf-comm")) == ["conf-commit"]
    assert complete(*missing, "zone-reload", "e") == []


@pytest.fixture
def journal(server):
    """Of a server with changes of one zone, as an option of kjournalprint."""
    for words in (("zone-begin", "example"), ("zone-set", "example", "new", "60", "A", "192.0.2.1"), ("zone-commit", "example")):
        assert server.knotc(*words).returncode == 0
    return "-D", str(server.dir / "db" / "journal")


def test_kjournalprint(journal, directory, complete):
    assert complete(*journal, "", program="kjournalprint") == ["example."]
    assert complete(*journal, "o", program="kjournalprint") == []
    assert complete("--zone", program="kjournalprint")[0].split("\t")[0] == "--zone-list"
    assert complete("-D", f"{directory}/missing", "", program="kjournalprint") == []


@pytest.fixture
def keys(directory):
    """A key database with a zone, as an option of keymgr, and the ids of its keys."""
    where = ("-D", str(directory / "keys"))
    (directory / "keys").mkdir()
    return where, sorted(subprocess.run([built("keymgr", "tools"), *where, "example.", "generate"], capture_output=True, text=True, check=True, timeout=60).stdout.strip() for _ in range(2))


def test_keymgr(keys, directory, complete):
    where, ids = keys
    assert complete(*where, "", program="keymgr") == ["example."]
    assert complete(*where, "example.", "import-b", program="keymgr") == ["import-bind"]
    assert "keystore-test" in complete("hsm", "", program="keymgr")
    assert sorted(complete(*where, "example.", "delete", "", program="keymgr")) == ids
    assert complete(*where, "example.", "list", "h", program="keymgr") == ["human"]
    assert sorted(stripped(complete(*where, "example.", "set", ids[0], "p", program="keymgr"))) == ["post_active=", "pre_active=", "publish="]
    assert complete(*where, "example.", "generate", "al", program="keymgr") == ["algorithm="]
    (directory / "k.pem").write_text("")
    assert complete(*where, "example.", "import-pem", f"{directory}/k.p", program="keymgr") == [f"{directory}/k.pem"]
    assert [word.split("\t")[0] for word in complete("--ext", program="keymgr")] == ["--extended"]
    assert complete("-D", f"{directory}/missing", "", program="keymgr") == []


def test_zone_tools(directory, complete):
    (directory / "one.zone").write_text("")
    assert complete("-z", f"{directory}/one.z", program="kzonecheck") == [f"{directory}/one.zone"]
    assert sorted(complete("-d", "", program="kzonecheck")) == ["off", "on"]
    assert [word.split("\t")[0] for word in complete("--li", program="kzonecheck")] == ["--lines"]
    assert [word.split("\t")[0] for word in complete("--ver", program="kzonesign")] == ["--verify", "--version"]
    assert complete("-c", f"{directory}/one.z", program="kzonesign") == [f"{directory}/one.zone"]


def test_knsupdate(directory, complete):
    (directory / "one.txt").write_text("")
    assert complete(f"{directory}/one.t", program="knsupdate") == [f"{directory}/one.txt"]
    assert complete("-k", f"{directory}/one.t", program="knsupdate") == [f"{directory}/one.txt"]
    assert complete("-p", "", program="knsupdate") == []
    assert sorted(word.split("\t")[0] for word in complete("--t", program="knsupdate")) == ["--tcp", "--timeout", "--tls", "--tsig", "--tsigfile"]


PROGRAMS = "kcatalogprint kdig keymgr khost kjournalprint knotc knsec3hash knsupdate kxdpgun kzonecheck kzoneimage kzonesign".split()


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_options(directory, complete, program):
    """Each shell has those of the help, and no other."""
    text = subprocess.run([built(program, "tools"), "-h"], capture_output=True, text=True, check=True, timeout=20 * PATIENCE).stdout
    listed = set(re.findall(r"^ +(?:-\w(?:, )?)?(--[a-z-]+)", text, re.M)) | {"--help", "--version"}
    offered = {word.split("\t")[0] for word in complete("--", program=program)}
    assert listed - offered <= {"--no-color"}     # deprecated
    assert offered - listed <= set(re.findall(r"--[a-z-]+", text))


def test_kxdpgun(directory, complete):
    (directory / "one.zone").write_text("")
    for option in ("-i", "--verify"):
        assert complete(option, f"{directory}/one.z", program="kxdpgun") == [f"{directory}/one.zone"]
    assert "lo" in complete("-I", "", program="kxdpgun")
    assert complete("--profile", "a", program="kxdpgun") == ["axfr"] and complete("--mode", "in", program="kxdpgun") == ["inject"]


def test_kcatalogprint(directory, complete):
    """Names of a catalog's members, from the database."""
    where = ("-D", str(directory / "none"))
    assert complete(*where, "-m", "", program="kcatalogprint") == []
    fake = directory / "bin"
    fake.mkdir()
    (fake / "kcatalogprint").write_text("#!/bin/sh\nprintf ';; <member zone> <record owner> <catalog zone> <group>\\nm.example. id.zones.cat. cat. g\\nn.example. ip.zones.cat. cat. -\\n"
                                        ";; 2 member zones\\n'\n")
    (fake / "kcatalogprint").chmod(0o755)
    with_fake = {"PATH": f"{fake}:{os.environ['PATH']}"}
    for shell in (bash, fish):
        if shutil.which(shell.__name__) is not None:
            assert candidates(shell, directory, ["kcatalogprint", *where, "-m", ""], **with_fake) == ["m.example.", "n.example."]
            assert candidates(shell, directory, ["kcatalogprint", *where, "-a", ""], **with_fake) == ["cat."]


@pytest.mark.parametrize("program, words", [("kcatalogprint", ["-a", ""]), ("kcatalogprint", ["-m", ""]), ("kjournalprint", [""]), ("kzoneimage", [""]), ("keymgr", [""]),
                                            ("kxdpgun", ["-I", ""])])
def test_names_are_not_commands(directory, program, words):
    """What others named so, as producers of catalogs name their zones: no shell runs it when it completes."""
    fake, name = directory / "bin", f"$(touch${{IFS}}{directory}/ran)`touch\t{directory}/ran`."
    fake.mkdir()
    for each in (program, "ls"):
        (fake / each).write_text(f"#!/bin/sh\ncat <<'END'\n{name} {name} {name} $(touch {directory}/ran)\nEND\n")
        (fake / each).chmod(0o755)
    for shell in (bash, fish):
        if shutil.which(shell.__name__) is not None:
            candidates(shell, directory, [program, *words], PATH=f"{fake}:{os.environ['PATH']}")
    assert not (directory / "ran").exists()


def test_kzoneimage(server, complete):
    images = server.dir / "db"
    assert complete("--s", program="kzoneimage")[0].split("\t")[0] == "--sources"
    assert complete("-c", f"{images}/nothing", program="kzoneimage") == []


@pytest.fixture
def zsh(directory):
    """zsh at its prompt with the function where it looks for functions; cleared before each line."""
    if shutil.which("zsh") is None:
        pytest.skip("no zsh")
    (directory / ".zshrc").write_text(f"PS1='shell> '\nfpath=({COMPLETION} $fpath)\nautoload -Uz compinit && compinit -u -D\n")
    with Terminal(directory, "zsh", "-i", width=160, environment={"ZDOTDIR": str(directory), "PATH": path()}) as terminal:
        terminal.wait(r"^shell>")
        yield terminal


# what is typed, what the screen shows once Tab was pressed
ZSH = [
    ("zone-freez", r"zone-freeze$"),
    ("zone-stat", r"^zone-stats +zone-status$"),
    ("zone-status exa", r"zone-status example\.$"),
    ("conf-read server.async", r"conf-read server\.async-start$"),
    (r"conf-read zone\[exam", r"conf-read zone\\\[example\.\\\]$"),
    ("conf-read 'zone[exam", r"conf-read 'zone\[example\.\]$"),
    (r"conf-read zone\[example.\].stor", r"conf-read zone\\\[example\.\\\]\.storage$"),
    (r"conf-set server.async-start o", r"^off +on$"),
    ("--confd", r"--confdb$"),
    ("-F js", r"-F json$"),
]


def test_zsh(server, zsh):
    for typed, shown in ZSH:
        zsh.press("C-u", "C-l")
        zsh.wait(r"\Ashell>\Z")
        zsh.type(f"knotc -s {server.socket} {typed}")
        zsh.press("Tab")
        zsh.wait(shown)


def test_zsh_kjournalprint(journal, zsh):
    for typed, shown in ((f"{' '.join(journal)} exa", r"example\.$"), ("--zone", r"--zone-list$")):
        zsh.press("C-u", "C-l")
        zsh.wait(r"\Ashell>\Z")
        zsh.type(f"kjournalprint {typed}")
        zsh.press("Tab")
        zsh.wait(shown)


def test_zsh_keymgr(keys, zsh):
    where, ids = " ".join(keys[0]), keys[1]
    for typed, shown in ((f"{where} exa", r"example\.$"), (f"{where} example. import-b", r"import-bind$"), (f"{where} example. set {ids[0]} al", r"algorithm=$"),
                         (f"{where} example. list h", r"human$"), ("--ext", r"--extended$")):
        zsh.press("C-u", "C-l")
        zsh.wait(r"\Ashell>\Z")
        zsh.type(f"keymgr {typed}")
        zsh.press("Tab")
        zsh.wait(shown)


def test_zsh_knsupdate(directory, zsh):
    (directory / "one.txt").write_text("")
    for typed, shown in ((f"{directory}/one", r"/one\.txt$"), (f"-k {directory}/one", r"/one\.txt$"), (f"-A{directory}/one", r"/one\.txt$"),
                         (f"--ca={directory}/one", r"/one\.txt$"), ("--tim", r"--timeout$")):
        zsh.press("C-u", "C-l")
        zsh.wait(r"\Ashell>\Z")
        zsh.type(f"knsupdate {typed}")
        zsh.press("Tab")
        zsh.wait(shown)
