# SPDX-License-Identifier: BSD-2-Clause
"""Another wall clock for daemons and programs, by libfaketime: one that stands still until the test moves it. What measures distances (the
monotonic clock) is the real one, so that nothing else in a daemon changes."""
import glob
import os
import pathlib
import time


def library():
    """libfaketime for programs with threads; its folder is named after the machine's architecture."""
    found = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise FileNotFoundError("libfaketime is not installed; run ./dev deps test")
    return found[0]


class Clock:
    """A clock in a file. now: UNIX time, whole seconds."""

    def __init__(self, path, now):
        self.path = pathlib.Path(path)
        self.set(now)

    def set(self, now):
        self.now = int(now)
        whole = self.path.with_suffix(".new")   # a program must not read half of it
        whole.write_text(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(self.now)) + "\n")
        whole.replace(self.path)

    def environment(self):
        """What a program needs in its environment. Times of files stay as they are."""
        return {"LD_PRELOAD": library(), "FAKETIME_TIMESTAMP_FILE": str(self.path), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1", "TZ": "UTC"}

    def whole_environment(self):
        return {**os.environ, **self.environment()}
