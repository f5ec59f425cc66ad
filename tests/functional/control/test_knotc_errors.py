# SPDX-License-Identifier: BSD-2-Clause
"""Guards how knotc fails: no server, one that doesn't answer or goes away, words that are wrong, an output that is closed. Status 1, said why."""
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from harness.server import BUILD, TOP, built, is_ours
from harness.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")


def knotc(*arguments, **options):
    return subprocess.run([built("knotc", "tools"), *map(str, arguments)], stderr=subprocess.PIPE, text=True, check=False,
                          stdin=subprocess.DEVNULL, **{"stdout": subprocess.PIPE, "timeout": 20 * PATIENCE, **options})


def fails(wanted, *arguments, output="", **options):
    done = knotc(*arguments, **options)
    assert (done.returncode, done.stdout) == (1, output) and re.search(wanted, done.stderr), done
    return done


@pytest.fixture
def listener(directory):
    """A listening socket that sends what the test says."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(directory / "s.sock"))
        made.listen(5)
        made.settimeout(20 * PATIENCE)
        yield made


def serve(listener, reply, close=True):
    """Answer one connection with these bytes in a thread."""
    def run():
        stream, _ = listener.accept()
        with stream:
            stream.settimeout(20 * PATIENCE)
            stream.recv(65536)
            if reply:
                stream.sendall(reply)
            if not close:
                while stream.recv(65536):
                    pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_no_socket(directory):
    fails(r"^error: failed to connect to socket '[^']+/nope' \(not exists\), is knotd running\?$", "-s", directory / "nope", "status")


def test_nobody_listens(directory):
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(directory / "s.sock"))
    fails(r"^error: failed to connect to socket '[^']+' \(connection refused\), is knotd running\?$", "-s", directory / "s.sock", "status")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, who becomes nobody by setpriv")
def test_not_allowed(directory, listener):
    os.chmod(directory / "s.sock", 0)
    os.chmod(directory, 0o755)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", built("knotc", "tools"), "-s", str(directory / "s.sock"), "status"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20 * PATIENCE)
    except PermissionError:
        pytest.skip("nobody may not run the program where it was built")
    if "failed to execute" in done.stderr:
        pytest.skip("nobody may not run the program where it was built")
    assert done.returncode == 1 and re.search(r"^error: failed to connect to socket '[^']+' \(operation not permitted\), be a member of group knot, or root$", done.stderr)


def test_path_too_long():
    fails(r"^error: failed to connect to socket '/x+' \(not enough space provided\), the path may have 107 bytes at most$", "-s", "/" + "x" * 200, "status")


def test_timeout(directory, listener):
    """After -t: not sooner, and not only when the usual minute is over."""
    sooner = time.monotonic()
    fails(r"^error: failed to control \(connection timeout\), the server is busy or hangs, -t waits longer$", "-t", "1", "-s", directory / "s.sock", "status", timeout=45)
    assert time.monotonic() - sooner > 0.9


GONE = r"\(connection (reset|closed)\), the server ended, or has too many connections"


@pytest.mark.parametrize("reply,wanted", [
    (b"", GONE),                                            # goes away at once
    (b"\x01\x10\x00\x06status", GONE),                      # in the middle of a unit
    (b"\x01\x0f\x00\x00\x03", r"\(invalid parameter\)"),   # an item that is none
], ids=["nothing", "half", "unknown"])
def test_broken_replies(directory, listener, reply, wanted):
    thread = serve(listener, reply)
    fails(rf"^error: failed to control {wanted}$", "-s", directory / "s.sock", "zone-status")
    thread.join(5 * PATIENCE)


def test_json_says_why(directory):
    done = knotc("-j", "raw", "-s", directory / "nope", "status")
    assert done.returncode == 1 and '"ok": false, "error": "failed to connect to socket' in done.stdout


@pytest.mark.parametrize("reply,output", [
    (b"\x01\x12\x00\x03bad\x03", "error: (bad)\n"),
    (b"\x01\x12\x00\x03bad\x16\x00\x02a.\x03", "error: [a.] (bad)\n"),
], ids=["server", "zone"])
def test_an_error_unit_is_status_1(directory, listener, reply, output):
    """Errors that the server reports are the reply: they go to standard output, as with the peer."""
    thread = serve(listener, reply, close=False)
    done = knotc("-s", directory / "s.sock", "zone-reload")
    assert (done.returncode, done.stdout, done.stderr) == (1, output, "")
    thread.join(5 * PATIENCE)


@pytest.mark.parametrize("arguments,wanted", [
    (["-Q"], "invalid option"), (["--nonsense"], "unrecognized option"), (["-s"], "requires an argument"),
    (["-t", "x", "status"], "^error: invalid timeout, use 0 to 86400 seconds$"), (["-t", "-1", "status"], "invalid timeout"),
    (["-t", "86401", "status"], "invalid timeout"), (["-F", "4", "status"], "^error: invalid format, use 3.5, 3.6 or json$"),
    (["-m", "0", "conf-check"], "^error: invalid size of the configuration database, use 1 to 10000 MiB$"),
    (["-m", "10001", "conf-check"], "invalid size"), (["-m", "x", "conf-check"], "invalid size"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else None)
def test_wrong_options_get_the_usage(arguments, wanted):
    """On standard output, as with the peer; what is wrong on standard error."""
    fails(wanted, *arguments, output=knotc("-h").stdout)


def test_exit_is_for_the_prompt():
    done = knotc("exit")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


@pytest.mark.parametrize("arguments,wanted", [
    (["status", "a", "b"], "command takes at most 1 arguments"), (["stop", "x"], "command doesn't take arguments"),
    (["zone-begin"], "command requires at least 1 arguments"), (["zone-purge", "a"], "force option required!"),
    (["zone-status", "+nonsense"], r"unknown filter: \+nonsense"), (["nonsense"], "invalid command 'nonsense'"),
    (["conf-set", "zone[a"], r"\(missing bracket after identifier\) a"),
], ids=lambda value: "-".join(value) if isinstance(value, list) else None)
def test_wrong_words_reach_no_server(directory, arguments, wanted):
    """A socket that isn't there shows that nothing was sent: the words are what is complained of."""
    fails(wanted, "-s", directory / "nope", *arguments)


@pytest.mark.parametrize("arguments", [["-h"], ["-V"], ["-VV"], ["--help"], ["--version"]], ids="".join)
def test_closed_output(arguments):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = knotc(*arguments, stdout=full)
    assert done.returncode == 1 and "error: failed to write to standard output" in done.stderr


def test_closed_output_of_a_reply(directory, listener):
    thread = serve(listener, b"\x03", close=False)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = knotc("-s", directory / "s.sock", "zone-reload", stdout=full)
    assert done.returncode == 1 and "error: failed to write to standard output" in done.stderr
    thread.join(5 * PATIENCE)


def test_options_end_at_the_action(directory, listener):
    """Behind the action -b and -f are options, anything else is an argument (getopt's "+")."""
    thread = serve(listener, b"\x03", close=False)
    assert knotc("-s", directory / "s.sock", "zone-reload", "-b", "--force", "-v").stdout == "OK\n"
    thread.join(5 * PATIENCE)
    with_status = knotc("-s", directory / "nope", "status", "-h")
    assert "Usage" not in with_status.stdout and with_status.returncode == 1


def test_the_manual_page_has_it_all():
    """Every action, filter and option of the help is in knotc(8)."""
    text = (BUILD / "doc" / "man" / "knotc.8").read_text(encoding="utf-8").replace("\\-", "-")
    shown = knotc("-h").stdout
    options = re.findall(r"^ -\w, --([\w-]+)", shown, re.MULTILINE)
    actions = [name for name in re.findall(r"^ ([a-z-]+) ", shown, re.MULTILINE)]
    assert len(options) >= 14 and len(actions) >= 50
    for name in options:
        assert f"--{name}" in text, name
    pages = dict(re.findall(r"^\.TP\n\\fB([a-z-]+)\\fR(.*\n(?:[^.].*\n)*)", text, re.MULTILINE))
    absent = re.findall(r"^ ([a-z-]+) .*\(not supported yet\)$", shown, re.MULTILINE)
    assert set(actions) <= set(pages)
    for name in actions:
        assert ("Not supported yet." in pages[name]) == (name in absent), name
        assert ("(#)" in pages[name]) == (f" {name} " in "".join(line + "\n" for line in shown.splitlines() if "(#)" in line)), name
    source = (TOP / "libknot" / "control" / "commands.def").read_text(encoding="utf-8")
    filters = re.findall(r'\.word = "(\+\w+)"', source)
    assert len(filters) > 30
    for name in filters:
        assert name in text, name
