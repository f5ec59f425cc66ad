# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc top`: numbers of a server that is made up, of a real one, the screen, its keys, and how it ends. The drawing itself: top_test.c."""
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from harness.server import built, is_ours
from harness.terminal import Terminal, shell
from harness.top import TopServer, refusal, unit
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")


def counts(number, seconds=1):
    """The reply to the number-th request: 1000 queries per second."""
    return (unit("time", "", number * seconds * 10**9) + unit("server", "zone-count", 12345) +
            unit("protocol", "udp4", 750 * number) + unit("protocol", "tcp6-xdp", 250 * number) +
            unit("rcode", "NOERROR", 900 * number) + unit("rcode", "NXDOMAIN", 100 * number) +
            unit("type", "A", 600 if number else 0) + unit("type", "AAAA", 400 if number else 0) +
            unit("zone", "example.", 1000 if number else 0) +
            unit("queue", "0", 250 * number, "eth0") + unit("drops", "no-room", 3 * number) +
            unit("latency", "2048", 1000 * number, "udp4"))


@pytest.fixture
def fake(directory):
    made = []

    def make(replies=counts):
        made.append(TopServer(directory / "s.sock", replies))
        return made[-1]

    yield make
    for server in made:
        server.close()


def knotc(path, *arguments, status=0, timeout=30):
    done = subprocess.run([built("knotc", "tools"), "-s", str(path), *arguments], capture_output=True, text=True, check=False,
                          timeout=timeout * PATIENCE, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done
    return done.stdout, done.stderr


def test_lines(fake):
    server = fake()
    output, errors = knotc(server.path, "top", "+interval", "0.1")
    assert errors == "" and server.asked == 2
    assert output.splitlines() == [
        "queries 1000.0 1000", "server zone-count 12345", "protocol udp4 750.0 750", "protocol tcp6-xdp 250.0 250",
        "rcode NOERROR 900.0 900", "rcode NXDOMAIN 100.0 100", "type A 600.0 600", "type AAAA 400.0 400", "zone example. 1000.0 1000",
        "queue eth0/0 250.0 250", "drops no-room 3.0 3", "latency udp4 p50=1792ns p90=1997ns p99=2043ns p99.9=2047ns",
    ]


def test_json(fake):
    output, _ = knotc(fake().path, "-j", "top", "+interval", "0.1", "+count", "3")
    samples = [json.loads(line) for line in output.splitlines()]
    assert [sample["queries"] for sample in samples] == [{"rate": 1000, "total": 1000 * n} for n in (1, 2, 3)]
    assert samples[0]["seconds"] == 1 and samples[0]["queue"] == [{"item": "eth0", "id": "0", "rate": 250, "total": 250}]
    assert samples[2]["latency"][0]["p99"] == 2043
    assert samples[2]["zone"] == [{"id": "example.", "rate": 1000, "interval": 1000, "total": 1000}]


@pytest.mark.parametrize("arguments,wanted", [
    (["+interval", "0"], "error: invalid interval, use 0.1 to 3600 seconds instead of '0'\n"),
    (["+interval", "nan"], "error: invalid interval, use 0.1 to 3600 seconds instead of 'nan'\n"),
    (["+interval", "1x"], "error: invalid interval, use 0.1 to 3600 seconds instead of '1x'\n"),
    (["+count", "-1"], "error: invalid count '-1'\n"),
    (["+count", ""], "error: invalid count ''\n"),
    (["+count"], "error: missing value of filter: +count\nUsage: knotc top [+count <n>] [+interval <seconds>]\n"),
    (["x"], "error: command doesn't take arguments\nUsage: knotc top [+count <n>] [+interval <seconds>]\n"),
])
def test_bad_arguments(directory, arguments, wanted):
    assert knotc(directory / "nothing", "top", *arguments, status=1) == ("", wanted)


def test_no_server(directory):
    assert knotc(directory / "nothing", "top", status=1) == ("", f"error: failed to connect to socket '{directory}/nothing' (not exists), is knotd running?\n")


def test_refused(fake):
    assert knotc(fake(lambda number: refusal("operation not supported")).path, "top", status=1) == ("", "error: (operation not supported)\n")


def test_server_goes(fake):
    output, errors = knotc(fake(lambda number: counts(number) if number < 2 else None).path, "top", "+interval", "0.1", "+count", "5", status=1)
    assert output.startswith("queries 1000.0 1000\n") and "error: failed to control (" in errors


def test_no_answer(fake):
    """A server that doesn't know the command says nothing (Knot DNS): that must not take a minute."""
    silence = threading.Event()
    server = fake(lambda number: silence.wait() and None)
    try:
        assert knotc(server.path, "-t", "1", "top", status=1) == ("", "error: the server doesn't answer, or doesn't know the command 'top'\n")
    finally:
        silence.set()


def test_server_that_stops_answering(fake):
    """Neither keys nor signals are looked at while an answer is waited for: that must end, whatever time limit was given."""
    silence = threading.Event()
    server = fake(lambda number: counts(number) if number < 2 else silence.wait() and None)
    try:
        output, errors = knotc(server.path, "-t", "0", "top", "+interval", "0.1", "+count", "5", status=1)
    finally:
        silence.set()
    assert output.startswith("queries 1000.0 1000\n") and "error: failed to control (" in errors


def test_no_output(fake):
    """The connection must not get the number of the descriptor that is missing."""
    server = fake()
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", built("knotc", "tools"), "-s", server.path, "top", "+interval", "0.1"],
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False, timeout=20 * PATIENCE)
    assert done.returncode == 1 and "error: failed to write to standard output" in done.stderr
    assert server.asked == 2


def test_closed_output(fake):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([built("knotc", "tools"), "-s", fake().path, "top", "+interval", "0.1", "+count", "50"], stdout=full,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=20 * PATIENCE)
    assert done.returncode == 1 and "error: failed to write to standard output" in done.stderr


# ---- The screen ----

BOTTOM = r"(?s:.*)^ q quit"     # the terminal may have got no more than a part of what was drawn


@pytest.fixture
def screen(fake, directory):
    with Terminal(directory, built("knotc", "tools"), "-s", fake().path, "top", "+interval", "0.2", width=100, height=40) as terminal:
        terminal.wait(r"^queries/s +1,000")
        yield terminal


def test_screen(screen):
    text = screen.wait(r"█\s*$" + BOTTOM)
    for pattern in (r"^ knotc top \S+ +\S+s\.sock +every 0\.2 s +\d\d:\d\d:\d\d$", "^PROTOCOL ─+ queries/s", "^udp4 +█+.* 75% +750",
                    r"tcp6-xdp +█+.* 25% +250", "LATENCY ─+ +p50 +p90 +p99 +p99.9$", r"udp4 +1\.79 µs +2\.00 µs +2\.04 µs +2\.05 µs",
                    "NXDOMAIN", "AAAA", r"example\.", "eth0 0", "no-room", "zone-count +12,345", "^ q quit"):
        screen.wait(pattern)
    assert len(text.split("\n")) == 40


def test_keys(screen):
    screen.press("h")
    screen.wait(r"^  Keys$")
    screen.press("h")
    screen.wait(r"^PROTOCOL ")
    screen.press("s")
    screen.wait("sort: total")
    screen.press("s")
    screen.wait("sort: name")
    screen.press("+")
    screen.wait(r"every 0\.4 s")
    screen.press("-", "-")
    screen.wait(r"every 0\.1 s")
    screen.press("-")                                             # no less than that
    screen.press("p")
    screen.wait(r"PAUSED $|PAUSED$")
    screen.press("Space")
    screen.wait(r"h help\Z|h help *$")
    screen.press("q")
    assert screen.ended() == 0
    screen.wait(r"\A\Z")                                          # what was there before is there again


def test_pause_asks_nothing(fake, directory):
    server = fake()
    with Terminal(directory, built("knotc", "tools"), "-s", server.path, "top", "+interval", "0.1") as terminal:
        terminal.wait(r"^queries/s +1,000")
        terminal.press("p")
        terminal.wait("PAUSED")
        asked = server.asked
        time.sleep(0.5)     # absence: the paused screen asks for nothing
        terminal.press("s")
        terminal.wait("sort: total")
        assert server.asked - asked <= 1                          # one may have been under way
        terminal.press("p")
        end = asked + 5
        terminal.wait(r"^all queries +(\d,)?\d+")
        wait_until(lambda: server.asked >= end, "requests after the pause")


@pytest.mark.parametrize("size", [(160, 50), (80, 24), (40, 12), (10, 3), (200, 10)])
def test_resize(screen, size):
    screen.resize(*size)
    first = r"\A knotc top" if size[0] > 10 else r"\A(\S* *every| *\S)"

    def is_drawn():
        lines = screen.screen().split("\n")
        return re.search(first, lines[0]) and len(lines) == size[1] and lines[-1].startswith(" q quit")

    wait_until(is_drawn, lambda: f"a screen of {size} in\n{screen.screen()}")
    assert all(len(line) <= size[0] for line in screen.screen().split("\n"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_signals_put_the_terminal_back(screen, number):
    os.kill(screen.pid(), number)
    assert screen.ended() == 0
    screen.wait(r"\A\Z")
    wait_until(lambda: screen.tmux("display-message", "-p", "-t", "x", "#{cursor_flag} #{alternate_on}").split() == ["1", "0"],
               "the cursor and the screen that was there before")


def test_stop_and_go_on(fake, directory):
    """Ctrl-Z in a shell: its terminal is as it was; fg draws the screen again."""
    with shell(directory) as terminal:
        terminal.type(f"{built('knotc', 'tools')} -s {fake().path} top +interval 0.1\n")
        terminal.wait(r"^queries/s +1,000")
        terminal.press("C-z")
        terminal.wait(r"Stopped")
        terminal.type("echo visi'ble'\n")
        terminal.wait(r"^visible$")
        assert "queries/s" not in terminal.screen()
        terminal.type("fg\n")
        terminal.wait(r"^queries/s +1,000")
        terminal.press("q")
        terminal.wait(r"^visible$")
        terminal.type("exit\n")
        assert terminal.ended() == 0


def test_count_on_a_screen(fake, directory):
    with Terminal(directory, built("knotc", "tools"), "-s", fake().path, "top", "+interval", "0.1", "+count", "3") as terminal:
        assert terminal.ended() == 0


def test_the_server_comes_back(fake, directory):
    """The screen stays when the server is started again."""
    gone = threading.Event()
    server = fake(lambda number: None if gone.is_set() else counts(number))
    with Terminal(directory, built("knotc", "tools"), "-s", server.path, "top", "+interval", "0.1") as terminal:
        terminal.wait(r"^queries/s +1,000")
        gone.set()
        terminal.wait(r"failed to control \(")
        gone.clear()
        terminal.wait(r"h help *$")
        terminal.press("q")
        assert terminal.ended() == 0


@pytest.mark.parametrize("options,has_colors", [([], True), (["-x"], False)], ids=["default", "mono"])
def test_colors(fake, directory, options, has_colors):
    with Terminal(directory, built("knotc", "tools"), "-s", fake().path, *options, "top", "+interval", "0.1") as terminal:
        terminal.wait("PROTOCOL" + BOTTOM)
        assert ("\x1b[" in terminal.screen(colors=True)) == has_colors


def test_ascii(fake, directory):
    """In a locale without Unicode nothing but ASCII is drawn."""
    with Terminal(directory, built("knotc", "tools"), "-s", fake().path, "top", "+interval", "0.1", environment={"LC_ALL": "C"}) as terminal:
        assert terminal.wait(r"^PROTOCOL -+ queries/s" + BOTTOM).isascii() and terminal.wait("us +" + BOTTOM).isascii()


def test_a_terminal_that_can_do_nothing(fake, directory):
    """TERM=dumb, as an editor's shell: lines instead of a screen."""
    with Terminal(directory, built("knotc", "tools"), "-s", fake().path, "top", "+interval", "0.1", environment={"TERM": "dumb"}) as terminal:
        terminal.wait(r"^queries 1000\.0 1000$")
        assert terminal.ended() == 0


# ---- A real server ----

def test_real_server(knotd, directory):
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    knotd.start()
    with Terminal(directory, built("knotc", "tools"), "-s", str(knotd.socket), "top", "+interval", "0.3", width=120) as terminal:
        terminal.wait("PROTOCOL")
        stop = threading.Event()

        def load():
            while not stop.is_set():
                knotd.ask("www.example", "AAAA")
                knotd.ask("nope.example", "A", tcp=True)

        thread = threading.Thread(target=load)
        thread.start()
        try:
            for pattern in (r"^udp4 .* [\d,.]+", r"tcp4 ", "NOERROR", "NXDOMAIN", r"AAAA .* 50%|AAAA .* \d+%", r"example\. .* 100%",
                            r"udp4 +[\d.]+ [µnm]s"):
                terminal.wait(pattern)
        finally:
            stop.set()
            thread.join()
        terminal.press("q")
        assert terminal.ended() == 0
    sample = json.loads(knotd.knotc("-j", "top", "+interval", "0.1").stdout)
    assert sample["queries"]["total"] > 0 and [row for row in sample["server"] if row["id"] == "zone-count"][0]["data"] == 1
