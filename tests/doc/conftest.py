# SPDX-License-Identifier: BSD-2-Clause
"""The tests of the manual use the harness of the others."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from harness.net import end_by_sigterm_as_by_sigint  # noqa: E402


def pytest_configure():
    end_by_sigterm_as_by_sigint()
