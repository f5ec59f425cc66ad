# SPDX-License-Identifier: BSD-2-Clause
"""Fixtures. `KNOTD=/usr/sbin/knotd ./dev test functional` runs the tests against the distribution's Knot DNS, to check
the tests themselves: those marked `ours` say what only Bowline promises."""
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.net import Pair, end_by_sigterm_as_by_sigint, may_make_namespaces  # noqa: E402
from harness.server import Knotd, is_ours  # noqa: E402
from harness.validators import complaint_of  # noqa: E402


def pytest_configure(config):
    end_by_sigterm_as_by_sigint()
    config.addinivalue_line("markers", "ours: promised by Bowline, not by Knot DNS")
    config.addinivalue_line("markers", "core: part of each CI run under AddressSanitizer and UndefinedBehaviorSanitizer, with `threads` under ThreadSanitizer")
    config.addinivalue_line("markers", "long: takes more than half a minute; under a sanitizer only when everything is run")
    config.addinivalue_line("markers", "threads: worth a run under ThreadSanitizer")


def pytest_collection_modifyitems(items):
    if not is_ours():
        for item in items:
            if item.get_closest_marker("ours"):
                item.add_marker(pytest.mark.skip(reason="promised by Bowline, not by Knot DNS"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    setattr(item, f"report_{report.when}", report)


@pytest.fixture
def directory():
    """A short path: a UNIX socket's name has 107 bytes."""
    path = tempfile.mkdtemp(prefix="bowline-")
    os.chmod(path, 0o755)
    yield pathlib.Path(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_knotd(directory, request):
    """Function that makes daemons; each is stopped and looked after at the end, and a failed test shows its log."""
    made = []

    def make(namespace=None, name=None):
        path = directory / (name or f"d{len(made)}")
        path.mkdir(exist_ok=True)
        made.append(Knotd(path, namespace))
        return made[-1]

    yield make
    faults = []
    for daemon in made:
        try:
            if daemon.is_running() and daemon.path.exists() and "dnssec-signing: on" in daemon.path.read_text():     # the last version that the test saw
                fault = complaint_of(daemon)
                assert not fault, f"what {daemon.dir.name} serves isn't valid:\n{fault}"
        except AssertionError as error:
            faults.append(str(error))
        try:
            daemon.finish()
        except AssertionError as error:
            faults.append(str(error))
        report = getattr(request.node, "report_call", None)
        if report is not None and report.failed:
            print(f"--- log of {daemon.dir.name}\n{daemon.log()[-6000:]}")
    assert not faults, "\n".join(faults)


@pytest.fixture
def knotd(make_knotd):
    return make_knotd()


@pytest.fixture
def pair():
    if not may_make_namespaces():
        pytest.skip("network namespaces need root")
    with Pair() as made:
        yield made
