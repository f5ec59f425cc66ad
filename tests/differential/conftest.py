# SPDX-License-Identifier: BSD-2-Clause
"""Tests of this folder make network namespaces, too. What golden lines gave is printed at the end of the run: compared, equal, explained with reasons."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.net import end_by_sigterm_as_by_sigint  # noqa: E402
from harness.server import BUILD  # noqa: E402

begin = time.time()


def pytest_configure():
    end_by_sigterm_as_by_sigint()


def pytest_terminal_summary(terminalreporter):
    """Tables that tests of this run wrote, also those of other processes."""
    for path in sorted((BUILD / "golden").glob("*.md")):
        if path.stat().st_mtime >= begin:
            terminalreporter.section(f"golden lines: {path.stem}")
            terminalreporter.write(path.read_text())
