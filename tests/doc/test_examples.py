# SPDX-License-Identifier: BSD-2-Clause
"""Every example of the manual is run: one small machine per chapter. `scripts/record-examples CHAPTER` puts in what commands print now."""
import re

import pytest

from harness.manual import MANUAL, TOP, UNCHECKED, examples_of, run_example
from harness.messages import Messages
from harness.net import may_make_namespaces
from harness.scene import Scene

CHAPTERS = sorted(path for path in MANUAL.glob("*.rst") if examples_of(path))
EXAMPLES = [(path.stem, example) for path in sorted(MANUAL.glob("*.rst")) for example in examples_of(path)]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_examples(path):
    examples = [example for example in examples_of(path) if example.kind != "log"]
    if all("not-run" in example.options for example in examples):
        return
    if not may_make_namespaces():
        pytest.skip("namespaces need root")
    with Scene() as scene:
        for example in examples:
            run_example(scene, example)


@pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")
def test_readme():
    """The first configuration that people see is valid, and the server that runs with it answers over AF_XDP."""
    text = re.search(r"^```yaml\n(.*?)^```$", (TOP / "README.md").read_text(), re.M | re.S).group(1)
    with Scene() as scene:
        scene.write("/etc/knot/knot.conf", text)
        scene.write("/var/lib/knot/example.com.zone", (TOP / "samples/example.com.zone").read_text())
        for command in ("knotc conf-check", "systemctl start knot", "knotc status; knotc zone-status", "knotc xdp-check eth0", "knotc reload"):
            status, said = scene.run(command)
            assert status == 0, f"{command}: {said}"
        assert scene.run("kdig @192.0.2.1 www.example.com A +short", "client") == (0, "example.com.\n192.0.2.80\n")
        assert "mod-stats.request-protocol[udp4-xdp] = 1" in scene.run("knotc stats")[1]


def test_log_lines_are_real():
    """Each log line of the manual could have been written by some message in the sources."""
    messages = Messages(TOP)
    wrong, count = [], 0
    for _, example in EXAMPLES:
        if example.kind != "log":
            continue
        for line in example.content:
            count += 1
            if line.strip() and not messages.has(line):
                wrong.append(f"{example}: no message in the sources gives: {line}")
    assert count > 0
    assert not wrong, "\n".join(wrong)


def test_reasons():
    """What isn't run says why."""
    assert [str(e) for _, e in EXAMPLES if "not-run" in e.options and len(e.options["not-run"]) < 10] == []


def test_nothing_escapes():
    """A configuration or a command that a reader might copy is in a directive that is run."""
    faults = []
    for path in sorted(MANUAL.glob("*.rst")):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if UNCHECKED.search(line):
                faults.append(f"{path.name}:{number}: {line.strip()}: use knot-conf, file, session or log")
    assert not faults, "\n".join(faults)
