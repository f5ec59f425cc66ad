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


# A machine without our user and folders, and without those of the distribution's package: what lies over /etc and /var/lib is the scene's own.
FRESH = """set -e
mkdir /run/fresh && mount -t tmpfs none /run/fresh
for path in /etc /var/lib; do
    mkdir -p /run/fresh/upper$path /run/fresh/work$path
    mount -t overlay overlay -o lowerdir=$path,upperdir=/run/fresh/upper$path,workdir=/run/fresh/work$path $path
done
rm -rf /etc/knot /var/lib/knot /run/knot
! id -u knot >/dev/null 2>&1 || userdel knot
! id -u knot 2>/dev/null
"""


@pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")
def test_readme():
    """The first steps that people see, word for word on a machine that has nothing: the server answers, then over AF_XDP, too."""
    section = re.search(r"^## A first configuration\n(.*?)^## ", (TOP / "README.md").read_text(), re.M | re.S).group(1)
    blocks = re.findall(r"^```(sh|yaml)\n(.*?)^```$", section, re.M | re.S)
    assert [kind for kind, _ in blocks] == ["sh", "yaml", "sh", "yaml", "sh"]
    said = ""
    with Scene() as scene:
        assert scene.run(FRESH) == (0, "")
        for kind, text in blocks:
            if kind == "yaml":
                status, out = scene.run(f"cat >>/etc/knot/knot.conf <<'END'\n{text}END")
            else:
                status, out = scene.run(f"cd {TOP}; set -e\n{text}")
            assert status == 0, f"{text}: {out}"
            said += out
            if "systemctl start" in text:
                assert scene.run("kdig @192.0.2.1 www.example.com A +short", "client") == (0, "example.com.\n192.0.2.80\n")
        assert "Configuration is valid" in said and "192.0.2.80" in said and "Reloaded" in said
        scene.run("kdig @192.0.2.1 www.example.com A +short", "client")
        assert "mod-stats.request-protocol[udp4-xdp] = 1" in scene.run("knotc stats")[1]
        assert scene.run("knotc stop") == (0, "Stopped\n")


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
