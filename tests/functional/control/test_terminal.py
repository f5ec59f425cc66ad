# SPDX-License-Identifier: BSD-2-Clause
"""Guards knotc's prompt as a terminal shows it: completion of everything, history, keys, help, colours."""
import re
import subprocess

import pytest

from harness.server import built, is_ours
from harness.terminal import Terminal, shell
from zones import example

pytestmark = [pytest.mark.core, pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")]


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(7))
    knotd.write("example2.zone", "@ 60 SOA ns admin 1 60 60 60 60\n@ NS ns\nns A 192.0.2.1\n")
    knotd.configure(zones=["example", "example2"], text="template:\n  - id: default\n    global-module: mod-stats\n")
    return knotd.start()


@pytest.fixture
def prompt(server, directory):
    with Terminal(directory, built("knotc", "tools"), "-s", str(server.socket), width=110) as terminal:
        terminal.wait(r"^knotc>$")
        yield terminal


def clear(prompt):
    prompt.press("C-u", "C-l")
    prompt.wait(r"\A(\(conf\) )?knotc>\Z")


def completed(prompt, text, pattern):
    """Type, press TAB, see the line; then start again."""
    clear(prompt)
    prompt.type(text)
    prompt.press("Tab")
    prompt.wait(r"^(\(conf\) )?knotc> " + pattern)


# What is typed before TAB, and the line then.
COMPLETIONS = [
    ("zone-rel", "zone-reload"),
    ("status w", "status workers"),
    ("zone-status exa", r"zone-status example"),                  # zones that the server has
    ("zone-status example2", r"zone-status example2\."),
    ("zone-status example. +ser", r"zone-status example\. \+serial"),
    ("zone-reload -b example2", r"zone-reload -b example2\."),
    ("zone-key-rollover example. k", r"zone-key-rollover example\. ksk"),
    ("zone-read example. @ AAA", r"zone-read example\. @ AAAA"),
    ("zone-stats example. zone.s", r"zone-stats example\. zone\.size"),
    ("stats server.zone-c", r"stats server\.zone-count"),
    ("conf-read serv", "conf-read server"),                       # sections,
    ("conf-read server", r"conf-read server\."),                  # ... one that has no identifiers,
    ("conf-read server.ident", r"conf-read server\.identity"),
    ("conf-read server.identity zone[example2", r"conf-read server\.identity zone\[example2\.\]"),
    ("conf-get zone[example.]", r"conf-get zone\[example\.\]\."),
    ("conf-list zone[example.].semantic", r"conf-list zone\[example\.\]\.semantic-checks"),
    ("conf-set zone[example.].semantic-checks s", r"conf-set zone\[example\.\]\.semantic-checks soft"),
    ("conf-set zone[example.].template d", r"conf-set zone\[example\.\]\.template default"),
    ("conf-set server.async-start of", r"conf-set server\.async-start off"),
    ("conf-unset server.udp-w", r"conf-unset server\.udp-workers"),
    ("conf-unset server.udp-workers ", r"conf-unset server\.udp-workers 2"),
    ("conf-import {dir}/knot.co", r"conf-import {dir}/knot\.conf"),
    ("zone-flush example. +outdir {dir}/ru", r"zone-flush example\. \+outdir {dir}/run/"),
    ("xdp-b", "xdp-block"),
    ("top +int", r"top \+interval"),
]


def test_completion(server, prompt):
    for typed, line in COMPLETIONS:
        completed(prompt, typed.replace("{dir}", str(server.dir)), line.replace("{dir}", re.escape(str(server.dir))) + r" ?$")


def test_candidates_are_listed(prompt):
    clear(prompt)
    prompt.type("zone-stat")
    prompt.press("Tab")
    prompt.wait(r"^knotc> zone-stat\nzone-stats +zone-status\nknotc> zone-stat$")
    clear(prompt)
    prompt.type("conf-read zone")
    prompt.press("Tab")
    prompt.wait(r"^knotc> conf-read zone\nzone\. +zone\[\nknotc> conf-read zone$")
    clear(prompt)
    prompt.type("zone-status ")
    prompt.press("Tab")
    # Columns are read downwards, as a shell shows them.
    rows = prompt.wait(r"^\+catalog.*\n(.+\n)*knotc> zone-status$").splitlines()
    rows = [row.split() for row in rows if row.startswith("+") or row.startswith("--")]
    listed = [row[column] for column in range(len(rows[0])) for row in rows if column < len(row)]
    assert listed == ["+catalog", "+contents", "+error", "+events", "+failed", "+freeze", "+role", "+serial", "+transaction", "--",
                      "example.", "example2."]


def test_zones_of_the_configuration(server, directory):
    """Actions that need no server complete what the configuration has, also when no server runs."""
    server.stop()
    with Terminal(directory, built("knotc", "tools"), "-c", str(server.path)) as prompt:
        prompt.wait(r"^knotc>$")
        completed(prompt, "zone-check example2", r"zone-check example2\.$")
        prompt.press("Enter")
        prompt.wait(r"^knotc>\Z")
        completed(prompt, "zone-status example2", r"zone-status example2$")


def test_completion_within_a_transaction(prompt):
    """What was set since conf-begin is known, too."""
    for line in ("conf-begin", "conf-set zone[fresh.test]", "conf-set server.listen 192.0.2.53@53"):
        prompt.type(line)
        prompt.press("Enter")
        prompt.wait(r"^OK(, 1 warning:\nwarning: the configuration is a text file[^>]*)?\n\(conf\) knotc>\Z")
        prompt.press("C-l")
        prompt.wait(r"\A\(conf\) knotc>\Z")
    completed(prompt, "conf-get zone[fre", r"conf-get zone\[fresh\.test\.\]$")
    completed(prompt, "conf-unset server.listen 192", r"conf-unset server\.listen 192\.0\.2\.53@53$")


def test_nothing_fits(prompt):
    completed(prompt, "nonsense", "nonsense$")
    completed(prompt, "stop ", "stop$")
    prompt.press("C-u")
    prompt.type("status")
    prompt.press("Enter")
    prompt.wait(r"^Running$")


def test_help(prompt):
    prompt.press("Tab")
    text = prompt.wait(r"right after the command name\.\nknotc>$", history=True)
    assert "\nActions:\n" in text and "Usage:" not in text


def test_history(server, directory, prompt):
    for line in ("status version", "status", "status"):
        prompt.type(line)
        prompt.press("Enter")
        prompt.wait(r"^knotc>\Z")
    prompt.press("Up", "Up")
    prompt.wait(r"^knotc> status version\Z")                      # the same line twice in a row is kept once
    prompt.press("C-u")
    prompt.type("exit")
    prompt.press("Enter")
    assert prompt.ended() == 0
    lines = (directory / ".knotc_history").read_text().splitlines()
    assert [line.replace("\\040", " ").removesuffix("\\012") for line in lines[1:]] == ["status version", "status", "exit"]
    with Terminal(directory / "d0", built("knotc", "tools"), "-s", str(server.socket), environment={"HOME": str(directory)}) as again:
        again.wait(r"^knotc>$")
        again.press("Up", "Up", "Up")                             # kept for the next time
        again.wait(r"^knotc> status version\Z")


def test_editrc(server, directory):
    (directory / ".editrc").write_text('knotc:bind -s "^T" "status version"\n')
    with Terminal(directory, built("knotc", "tools"), "-s", str(server.socket)) as prompt:
        prompt.wait(r"^knotc>$")
        prompt.press("C-t")
        prompt.wait(r"^knotc> status version\Z")


def test_quotes(prompt):
    prompt.type("zone-read 'example.' \"@\" SOA")
    prompt.press("Enter")
    prompt.wait(r"^\[example\.\] example\. \d+ SOA ")


def test_errors_leave_the_prompt(server, prompt):
    prompt.type("zone-purge example.")
    prompt.press("Enter")
    prompt.wait(r"^error: force option required!\nknotc>\Z")
    server.stop()
    prompt.type("status")
    prompt.press("Enter")
    prompt.wait(r"^error: failed to connect to socket '[^']+' \([^)]+\), is knotd running\?\nknotc>\Z")
    completed(prompt, "zone-status exa", "zone-status exa$")      # no server answers: nothing is completed
    prompt.press("C-u", "C-d")
    assert prompt.ended() == 0


def test_signals(server, directory):
    """Ctrl-Z and fg: the line is there again. Ctrl-C ends the prompt, and the shell has its terminal back."""
    with shell(directory) as terminal:
        terminal.type(f"{built('knotc', 'tools')} -s {server.socket}\n")
        terminal.wait(r"^knotc>$")
        terminal.type("stat")
        terminal.wait(r"^knotc> stat$")
        terminal.press("C-z")
        terminal.wait(r"Stopped")
        terminal.type("fg\n")
        terminal.wait(r"^knotc> stat\Z")
        terminal.type("us\n")
        terminal.wait(r"^Running\nknotc>\Z")
        terminal.press("C-c")
        terminal.wait(r"^shell>\Z")
        terminal.type("stty -a | grep -o ' icanon'; exit\n")
        terminal.wait(r"^ icanon$")
        assert terminal.ended() == 0


@pytest.mark.parametrize("options,has_colors", [([], True), (["-x"], False), (["-X"], True), (["-e"], False), (["-e", "-X"], True)],
                         ids=["default", "mono", "color", "extended", "extended-color"])
def test_colors(server, directory, options, has_colors):
    with Terminal(directory, built("knotc", "tools"), "-s", str(server.socket), *options, "zone-status", "example") as terminal:
        screen = terminal.wait(r"role.*master.*serial", colors=True)
        assert terminal.ended() == 0
    assert ("\x1b[32m" in screen or "\x1b[1;32m" in screen or "\x1b[1m\x1b[32m" in screen) == has_colors, screen.encode()


@pytest.mark.parametrize("options,environment,has_colors", [([], {"NO_COLOR": "1"}, False), ([], {"NO_COLOR": ""}, True), (["-X"], {"NO_COLOR": "1"}, True), ([], {"TERM": "dumb"}, False)],
                         ids=["refused", "empty", "option", "plain"])
@pytest.mark.parametrize("program", ["knotc", "keymgr", "kjournalprint"])
def test_colors_that_nobody_wants(server, directory, program, options, environment, has_colors):
    """NO_COLOR and TERM=dumb are for all tools; an option goes before them."""
    words = {"knotc": ["-s", str(server.socket), "zone-status", "example"], "keymgr": ["-D", str(directory / "keys"), "example.", "list"],
             "kjournalprint": ["-D", str(server.dir / "db/journal"), "example"]}[program]
    if program == "keymgr":
        subprocess.run([built("keymgr", "tools"), "-D", directory / "keys", "example.", "generate"], check=True, stdout=subprocess.DEVNULL)
    else:
        for action in (["zone-begin", "example"], ["zone-set", "example", "new", "60", "A", "192.0.2.1"], ["zone-commit", "example"]):
            assert server.knotc(*action).returncode == 0
    with Terminal(directory, built(program, "tools"), *options, *words, environment=environment) as terminal:
        screen = terminal.wait(r"role|ZSK|Changes between", colors=True)
        assert terminal.ended() == 0
    assert ("\x1b[" in screen) == has_colors, screen.encode()


def test_top_from_the_prompt(prompt):
    """A command that takes the whole screen, and the prompt afterwards."""
    prompt.type("top")
    prompt.press("Enter")
    prompt.wait(r"^PROTOCOL ")
    prompt.press("q")
    prompt.wait(r"^knotc>\Z")
    prompt.type("status")
    prompt.press("Enter")
    prompt.wait(r"^Running\nknotc>\Z")
