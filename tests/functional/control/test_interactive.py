# SPDX-License-Identifier: BSD-2-Clause
"""Guards knotc's prompt: completion of actions, zones and filters, errors that don't end it, exit."""
import fcntl
import os
import re
import signal
import struct
import subprocess
import termios

import pytest

from harness.prompt import Prompt
from harness.server import built, is_ours
from harness.waiting import wait_until
from zones import example

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")


@pytest.fixture
def prompt(knotd, directory):
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    knotd.start()
    made = Prompt(built("knotc", "tools"), "-x", "-s", str(knotd.socket), home=directory)
    try:
        made.read_until("knotc> ")
        yield made
    finally:
        made.close()


def test_completion(prompt, directory):
    prompt.type("zone-stat\t")
    prompt.read_until(r"zone-stats  +zone-status\r?\n")     # two candidates are listed ...
    prompt.type("u\t")                               # ... one is completed, with a blank
    prompt.read_until(r"zone-status ")
    prompt.type("ex\t")
    prompt.read_until(r"example\. ")                 # a zone that the server knows
    prompt.type("+ser\t\n")
    prompt.read_until(r"\[example\.\] serial: 7\r?\n")
    prompt.type("status w\t\n")
    prompt.read_until(r"UDP workers: 2")
    prompt.type("\t")
    prompt.read_until(r"Actions:(?s:.*)placed right after the command name")
    prompt.type("help\n")
    prompt.read_until(r"Actions:(?s:.*)placed right after the command name")
    prompt.type("nonsense\n")
    prompt.read_until(r"error: invalid command 'nonsense'")
    prompt.type("zone-read example '@' SOA\n")
    prompt.read_until(r"\[example\.\] example\. \d+ SOA ")
    prompt.type("exit\n")
    assert prompt.wait() == 0
    history = (directory / ".knotc_history").read_text()
    assert "status" in history and "nonsense" in history


def test_completion_of_xdp_commands(prompt):
    prompt.type("xdp-b\tl\t\n")                     # words of the command ...
    prompt.read_until(r"xdp-block list \r?\nOK\r?\n")
    prompt.type("xdp-capture x +sn\t0\n")           # ... its filters, and how it fails without leaving the prompt
    prompt.read_until(r"xdp-capture x \+snaplen 0\r?\nerror: invalid snaplen '0'")
    prompt.type("xdp-status l\t\n")                 # interfaces of this machine
    prompt.read_until(r"xdp-status lo")
    prompt.read_until(r"error: \(no such XDP interface\) lo")
    prompt.type("xdp-block add\n")
    prompt.read_until(r"Usage: knotc xdp-block")
    prompt.type("exit\n")
    assert prompt.wait() == 0


def test_end_of_input(prompt):
    prompt.type("\x04")
    assert prompt.wait() == 0


@pytest.mark.parametrize("line,said", [("zone-set example a 60 TXT 'x", "a single quote"), ('zone-set example a 60 TXT "x', "a double quote"),
                                       ("status \\", "nothing follows the last backslash")])
def test_a_line_that_is_not_finished(knotd, line, said):
    """It is not dropped in silence: in a script, what stands behind it would be done without it."""
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    knotd.start()
    done = subprocess.run([built("knotc", "tools"), "-s", str(knotd.socket)], input=f"{line}\nstatus\n", capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.stderr.startswith(f"error: {said}") and done.stderr.count("\n") == 1
    assert done.stdout == "Running\n"


# ---- Open transactions ----

def test_the_prompt_shows_a_configuration_transaction(prompt):
    prompt.type("conf-begin\n")
    prompt.read_until(r"\(conf\) knotc> ")
    prompt.type("conf-set server.nsid x\n")
    prompt.read_until(r"OK\r?\n\(conf\) knotc> ")
    prompt.type("conf-set server.nonsense x\n")          # what fails within it leaves it open
    prompt.read_until(r"invalid item(?s:.*)\(conf\) knotc> ")
    prompt.type("conf-abort\n")
    prompt.read_until(r"OK\r?\nknotc> ")
    prompt.type("exit\n")
    assert prompt.wait() == 0 and "warning" not in prompt.text


def test_the_prompt_shows_zone_transactions(prompt, knotd):
    prompt.type("zone-begin EXAMPLE nowhere\n")            # one of the two is none
    prompt.read_until(r"no such zone found(?s:.*)\(example\.\) knotc> ")
    knotd.knotc("zone-abort", "example")                   # ended elsewhere: known with the next command
    prompt.type("zone-diff example\n")
    prompt.read_until(r"no active transaction(?s:.*)\nknotc> ")
    knotd.knotc("zone-begin", "example")                   # begun elsewhere
    prompt.type("zone-set example a 60 A 192.0.2.1\n")
    prompt.read_until(r"OK\r?\n\(example\.\) knotc> ")
    prompt.type("exit\n")                                 # and so not of this session
    assert prompt.wait() == 0 and "warning" not in prompt.text


@pytest.mark.parametrize("leave", ["exit\n", "quit\n", "\x04"])
def test_leaving_with_an_open_transaction_warns_once(prompt, leave):
    prompt.type("conf-begin\n")
    prompt.read_until(r"\(conf\) knotc> ")
    prompt.type(leave)
    prompt.read_until(r"\nwarning: a configuration transaction is open, end it with 'conf-commit' or 'conf-abort'\r?\n")
    prompt.read_until(r"\(conf\) knotc> ")
    prompt.type("status\n")
    prompt.read_until(r"Running\r?\n\(conf\) knotc> ")
    prompt.type(leave)                                    # after another command again
    prompt.read_until(r"warning: a configuration transaction is open(?s:.*)\(conf\) knotc> ")
    prompt.type(leave)
    assert prompt.wait() == 0


def test_leaving_names_the_zone(prompt):
    prompt.type("zone-begin example\n")
    prompt.read_until(r"\(example\.\) knotc> ")
    prompt.type("exit\n")
    prompt.read_until(r"warning: a transaction of zone example\. is open, end it with 'zone-commit example\.' or 'zone-abort example\.'\r?\n")
    prompt.type("zone-abort example.\n")
    prompt.read_until(r"OK\r?\nknotc> ")
    prompt.type("exit\n")
    assert prompt.wait() == 0


def test_a_terminal_that_goes_away_ends_it(prompt):
    """The warning keeps no process whose terminal is gone."""
    prompt.type("conf-begin\n")
    prompt.read_until(r"\(conf\) knotc> ")
    os.close(prompt.fd)
    prompt.fd = os.open("/dev/null", os.O_RDWR)
    assert prompt.wait() in (0, -signal.SIGHUP)


def test_scripts_see_nothing_of_it(knotd):
    """Without a terminal: no prompt, no warning, and `quit` is no command, as with Knot."""
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    knotd.start()
    done = subprocess.run([built("knotc", "tools"), "-s", str(knotd.socket)], input="zone-begin example\nquit\nstatus\nexit\nstatus\n",
                          capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "OK\nRunning\n", "error: invalid command 'quit'\n")


# ---- Candidates ----

def test_candidates_in_columns(prompt):
    """As other prompts list them: in columns that fit the terminal, downwards."""
    fcntl.ioctl(prompt.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    prompt.type("zone-\t")
    lines = prompt.read_until(r"zone-abort(?s:.*?)\n(?=\r?knotc> )").splitlines()
    words = [line.split() for line in lines if re.match(r"zone-\w", line)]
    assert max(len(line.rstrip()) for line in lines) <= 60 and len(words[0]) == 3
    downwards = [row[column] for column in range(3) for row in words if column < len(row)]
    assert downwards == sorted(downwards) and len(downwards) > 10
    assert "zone-reload" in downwards and "zone-sign" in downwards


def test_many_candidates_are_asked_about(knotd, directory):
    for number in range(150):
        knotd.write(f"z{number:03}.test.zone", example(1).replace("$ORIGIN example.", f"$ORIGIN z{number:03}.test."))
    knotd.configure(zones=[f"z{number:03}.test" for number in range(150)])
    knotd.start()
    made = Prompt(built("knotc", "tools"), "-x", "-s", str(knotd.socket), home=directory)
    try:
        made.read_until("knotc> ")
        made.type("zone-reload z\t")
        made.read_until(r"Display all 150 possibilities\? \(y or n\)")
        os.write(made.fd, b"\0\x1bn")      # other keys are no answer
        assert "z000" not in made.read_until(r"knotc> zone-reload z")
        made.type("\t")
        made.read_until(r"\(y or n\)")
        os.write(made.fd, b"y")
        assert "z075.test." in made.read_until(r"z149\.test\.(?s:.*)knotc> zone-reload z")
        made.type("\x15exit\n")
        assert made.wait() == 0
    finally:
        made.close()
