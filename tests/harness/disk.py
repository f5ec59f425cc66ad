# SPDX-License-Identifier: BSD-2-Clause
"""Disks that are full soon."""
import contextlib
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(folder, size):
    """The folder as a disk of its own with so much room ("64k"), within the block. Where one may not mount the test is skipped."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "bowline-test", folder], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)    # a server that a failed test has left may be there still


def fill(path, step=4096):
    """Take all the room that is left on a disk by this file, `step` bytes at once."""
    with open(path, "wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(step))
