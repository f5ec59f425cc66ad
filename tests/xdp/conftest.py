# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures: a pair of namespaces, echo servers on AF_XDP in one, raw frames from the other."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.net import Pair, end_by_sigterm_as_by_sigint  # noqa: E402
from harness.wire import Echo, Wire, wait_detached  # noqa: E402


def pytest_configure():
    end_by_sigterm_as_by_sigint()


@pytest.fixture(scope="module")
def pair():
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with Pair() as made:
        yield made


@pytest.fixture
def start(pair):
    """Function that starts echo servers; all are stopped at the end."""
    started = []

    def make(*arguments, on=pair, **options):
        started.append(Echo(on, *arguments, **options))
        return started[-1]

    yield make
    ended = [echo.stop() for echo in started if echo.process.poll() is None]
    wait_detached(pair)
    assert all(code == 0 and err == "" for code, _, err in ended), ended


@pytest.fixture
def wire(pair):
    made = Wire(pair)
    yield made
    made.close()
