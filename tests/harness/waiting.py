# SPDX-License-Identifier: BSD-2-Clause
"""How tests wait: for what has to happen, never for a number of looks or a time in which it should have."""
import os
import time

# How much longer than on a quiet machine things may take: only a test that fails anyway waits so long.
PATIENCE = 6 if {"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ) else 3


def wait_until(condition, what, timeout=10, pause=0.02):
    """What condition() returns once that is true. `what` says what is missing when it takes more than timeout seconds (times PATIENCE):
    a text, or a function that makes one."""
    end = time.monotonic() + timeout * PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {timeout * PATIENCE} s: {what() if callable(what) else what}"
        time.sleep(pause)     # between two looks
    return value
