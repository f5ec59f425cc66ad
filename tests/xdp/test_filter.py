# SPDX-License-Identifier: BSD-2-Clause
"""The kernel program against its model, on frames that a seeded generator makes."""
import os
import pathlib
import subprocess

import pytest

FRAMES = int(os.environ.get("FILTER_FRAMES", "1000000"))
# What takes time or routes; xdp/filter_test.c has it.
NOT_HERE = {"dropped-rate-limited", "dropped-unroutable"}


def test_program_and_model_agree():
    if os.geteuid() != 0:
        pytest.skip("the kernel runs BPF programs for root")
    program = pathlib.Path(os.environ.get("BUILD", "build")) / "tests/xdp/filter_fuzz"
    done = subprocess.run([program, str(FRAMES)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    fates = dict(line.split("=") for line in done.stdout.splitlines() if not line.startswith("KNOT_SEED"))
    assert sum(map(int, fates.values())) > FRAMES * 0.99
    assert {name for name, count in fates.items() if int(count) == 0} == NOT_HERE, "fates that the generator missed"
