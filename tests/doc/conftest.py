# SPDX-License-Identifier: BSD-2-Clause
"""The tests of the manual use the harness of the others."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
