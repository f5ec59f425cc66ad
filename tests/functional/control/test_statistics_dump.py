# SPDX-License-Identifier: BSD-2-Clause
"""Guards the periodic dump of counters: layout, appending, following a reload."""
import re
import stat
import time

from zones import example

TEXT = """mod-stats:
  - id: all
    query-type: on
template:
  - id: default
    storage: {dir}
    global-module: mod-stats/all
    module: mod-stats
"""


def configure(knotd, statistics):
    knotd.configure(zones=["example", "quiet.test"], server="identity: here",
                    text=TEXT.replace("{dir}", str(knotd.dir)) + statistics)


def wait_for(path, condition, timeout=10):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if path.exists() and condition(path.read_text()):
            return path.read_text()
        time.sleep(0.1)
    raise AssertionError(path.read_text() if path.exists() else f"no {path}")


def test_dump(knotd):
    knotd.write("example.zone", example(7))
    knotd.write("quiet.test.zone", example(1).replace("example.", "quiet.test."))
    configure(knotd, "")
    knotd.start()
    knotd.ask("www.example", "A", use_edns=False)
    time.sleep(1.2)
    path = knotd.dir / "run" / "stats.yaml"
    assert not path.exists()

    # A reload starts it; its counters start anew.
    configure(knotd, "statistics:\n    timer: 1\n")
    knotd.knotc("-b", "reload")
    knotd.ask("www.example", "A", use_edns=False)
    text = wait_for(path, lambda text: "query-type" in text)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert text.startswith("---\n")
    assert re.search(r"^time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}\nidentity: here\nserver:\n zone-count: 2\n", text, re.M)
    assert "\nmod-stats:\n request-protocol:\n  udp4: 1\n server-operation:\n  query: 1\n" in text
    assert "\n query-type:\n  A: 1\n" in text
    assert text.endswith('\nzone:\n "example.":\n  mod-stats:\n   request-protocol:\n    udp4: 1\n   server-operation:\n'
                         '    query: 1\n   request-bytes:\n    query: 29\n   response-bytes:\n    reply: 45\n'
                         '   response-code:\n    NOERROR: 1\n')
    assert ": 0\n" not in text and "quiet.test" not in text

    configure(knotd, "statistics:\n    timer: 1\n    append: on\n    file: more.yaml\n")
    knotd.knotc("reload")
    wait_for(knotd.dir / "run" / "more.yaml", lambda text: text.count("---\n") >= 2)
