# SPDX-License-Identifier: BSD-2-Clause
"""Guards completion of knotc by shells: what bash offers comes from the same tables as the prompt's, with zones of the server."""
import os
import subprocess

import pytest

from harness.server import TOP, built
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.ours


def candidates(words, environment=None):
    """What bash would offer for the last of the words."""
    script = (f"source {TOP}/distro/completion/knotc.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _knotc;"
              " [ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"")
    path = f"{os.path.dirname(built('knotc', 'tools'))}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], env=os.environ | {"PATH": path} | (environment or {}),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20 * PATIENCE, check=True)
    return done.stdout.split("\n")[:-1]


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    return knotd.start()


def test_words_of_the_tables(server):
    socket = ("-s", str(server.socket))
    assert candidates(["knotc", *socket, "zone-stat"]) == ["zone-stats", "zone-status"]
    assert candidates(["knotc", *socket, "zone-freez"]) == ["zone-freeze "]
    assert candidates(["knotc", *socket, "zone-status", "exa"]) == ["example. "]
    assert "+serial" in candidates(["knotc", *socket, "zone-status", "example", "+"])
    assert candidates(["knotc", *socket, "nothing-like-th"]) == []


def test_options_and_files(directory):
    assert candidates(["knotc", "--so"]) == ["--socket"]
    (directory / "knot.conf").write_text("")
    assert candidates(["knotc", "-c", f"{directory}/kno"]) == [f"{directory}/knot.conf"]
    assert candidates(["knotc", "-t", ""]) == []


def test_without_a_server(directory):
    """Words are completed, names are not; nothing is said into the line that is being typed."""
    missing = ("-s", str(directory / "nobody"))
    assert candidates(["knotc", *missing, "conf-comm"]) == ["conf-commit "]
    assert candidates(["knotc", *missing, "zone-reload", "e"]) == []
