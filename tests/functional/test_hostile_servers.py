# SPDX-License-Identifier: BSD-2-Clause
"""kdig, khost and knsupdate against servers and files that keep them busy, each beside an honest one."""
import os
import subprocess

import pytest

from harness import scripted_server
from harness.server import built
from harness.waiting import PATIENCE

NAME = "a.odd.test"


def start(program, *words, **options):
    return subprocess.Popen([built(program, "tools"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}, **options)


def run(program, *words, script="", **options):
    """Output and exit code."""
    with start(program, *words, **options) as process:
        out, err = process.communicate(script, timeout=60 * PATIENCE)
        return process.returncode, out, err


# ---- Files ----

@pytest.fixture(scope="module")
def odd():
    server = scripted_server.ScriptedServer()
    yield server
    server.stop()


def kdig_of(odd, path, **options):
    return run("kdig", f"@127.0.0.1#{odd.port}", "+short", "+retry=0", "-f", str(path), **options)


@pytest.mark.parametrize(("content", "said"), [
    (f"{NAME}\n{NAME}\0 NS\n", "a byte with the value 0 in the line\n;; ERROR: in file {path}, line 2\n"),
    (f"\0{NAME}\n", "a byte with the value 0 in the line\n;; ERROR: in file {path}, line 1\n"),
    (f"{NAME}\n" + 1100000 * "x" + f"\n{NAME}\n", "the line is longer than 1048576 bytes\n;; ERROR: in file {path}, line 2\n"),
], ids=["0 in the middle", "0 at the start", "long line"])
def test_bad_lines_of_a_batch(odd, tmp_path, content, said):
    """Nothing of a line is left out without a word."""
    path = tmp_path / "queries"
    path.write_text(content)
    assert kdig_of(odd, path) == (1, "", ";; ERROR: " + said.format(path=path))


def test_batch_without_queries(odd, tmp_path):
    """Nothing is asked, and not the root, as kdig without words does."""
    path = tmp_path / "queries"
    path.write_text("# none\n\n")
    before = len(odd.received)
    assert kdig_of(odd, path) == kdig_of(odd, "/dev/null") == kdig_of(odd, "-") == (0, "", "")
    assert len(odd.received) == before


def test_batch_of_a_pipe(odd):
    """What can be read only once is asked all the same: kdig -f <(program)."""
    reader, writer = os.pipe()
    os.write(writer, f"{NAME}\na-2.odd.test\n".encode())
    os.close(writer)
    try:
        assert kdig_of(odd, f"/dev/fd/{reader}", pass_fds=[reader]) == (0, "192.0.2.1\n192.0.2.1\n192.0.2.2\n", "")
    finally:
        os.close(reader)


def test_batch_of_a_folder(odd, tmp_path):
    assert kdig_of(odd, tmp_path) == (1, "", f";; ERROR: unable to read file of queries {tmp_path} (Is a directory)\n")


@pytest.mark.parametrize(("program", "words", "said"), [
    ("kdig", ["-f", "/dev/zero"], ";; ERROR: the line is longer than 1048576 bytes\n;; ERROR: in file /dev/zero, line 1\n"),
    ("knsupdate", ["/dev/zero"], ";; ERROR: the line is longer than 1048576 bytes\n;; ERROR: in /dev/zero, line 1\n"),
    ("kxdpgun", ["--sockets", "-t", "1", "-Q", "1", "-i", "/dev/zero", "127.0.0.1"],
     "error: failed loading queries, /dev/zero:1: the line is longer than 1048576 bytes\n"),
])
def test_file_without_end(program, words, said):
    """Before: all of the memory, and with a limit of it the rest of the file was left out without a word."""
    limit = ["prlimit", "--as=3000000000"] if "asan" not in str(built(program, "tools")) else []
    done = subprocess.run([*limit, built(program, "tools"), *words], capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
