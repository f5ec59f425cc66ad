# SPDX-License-Identifier: BSD-2-Clause
"""What the benchmarks share: options and turns, servers, loads, zones, results, plots."""
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "tests"))
