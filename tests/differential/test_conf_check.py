# SPDX-License-Identifier: BSD-2-Clause
"""guards: what `knotc conf-check` says of a configuration is what Knot's knotc says, except for the listed differences."""
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from conf_texts import DIFFERENT, NOT_YET, SAME  # noqa: E402
from harness.net import may_make_namespaces  # noqa: E402
from harness.server import built  # noqa: E402
from harness.waiting import PATIENCE  # noqa: E402

KNOT = "/usr/sbin/knotc"
LEVELS = ("error: ", "warning: ", "notice: ")
#: What our conf-check looks at and Knot's doesn't; right configurations stay valid, with a warning.
LINTS = ("(no such user)", "(no such group)", "(no such file)", "(no such folder)", "(the same address twice)",
         "(not an IP address, makes a UNIX socket of this name)")
#: Knot's message has the value, which then is in the log; ours leaves out a secret.
SECRET = re.compile(r"(item 'secret'), value '.*'(?= \()")
SCHEMA = "Knot DNS), version 3.2"    # the peer that the texts were sorted with


def as_knot_says_it(lines):
    """Ours goes on behind the first error, and adds hints and lints: without them, and up to the first error as Knot."""
    kept, has_error = [], False
    for line in lines:
        is_last = line.startswith("error: failed to load")
        is_more = line.startswith("hint: ") or line.endswith(LINTS) or (has_error and not is_last)
        is_unsupported = "(not supported yet)" in line or line.startswith("error: config, not supported yet: ")
        if not is_more or is_unsupported:
            kept.append(line)
        has_error = has_error or (line.startswith("error: ") and not is_unsupported and "include loop" not in line)
    return kept


def said(program, path, text):
    """(exit code, lines). Sorted, as Knot's two streams are not ordered against each other."""
    path.write_bytes(text.encode())
    done = subprocess.run(["stdbuf", "-oL", program, "-c", path, "conf-check"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=30 * PATIENCE, check=False)
    lines = done.stdout.decode(errors="replace").replace(str(path), "F").splitlines()
    return done.returncode, sorted([SECRET.sub(r"\1", line) for line in lines] if program == KNOT else as_knot_says_it(lines))


def without_frame(lines):
    """Messages alone: no level, not the line that ends every run."""
    for level in LEVELS:
        lines = [line.removeprefix(level) for line in lines]
    return [line for line in lines if line != "Configuration is valid" and not line.startswith("failed to load configuration")]


@pytest.fixture(scope="module")
def knot():
    if not pathlib.Path(KNOT).exists():
        pytest.skip(f"no {KNOT}")
    version = subprocess.run([KNOT, "--version"], capture_output=True, text=True, check=False).stdout
    if SCHEMA not in version:
        pytest.skip(f"sorted for {SCHEMA}, this is {version.strip()}")
    return KNOT


def test_same_words(knot, tmp_path):
    ours = built("knotc", "tools")
    faults = []
    for text in SAME:
        want, got = said(knot, tmp_path / "c", text), said(ours, tmp_path / "c", text)
        if want != got:
            faults.append(f"{text!r}\n  Knot: {want}\n  ours: {got}")
    assert not faults, f"{len(faults)} of {len(SAME)}:\n" + "\n".join(faults)


def test_same_rules(knot, tmp_path):
    """Rules about items that we don't support yet: checked all the same, with the same words beside our refusal."""
    ours = built("knotc", "tools")
    refused = "(not supported yet)"
    faults = []
    for text in NOT_YET:
        got, peer = said(ours, tmp_path / "c", text), said(knot, tmp_path / "c", text)
        rest = [line for line in without_frame(got[1]) if refused not in line and not line.startswith("config, not supported yet: ")]
        if got[0] != 1 or refused not in "".join(got[1]) or rest != without_frame(peer[1]):
            faults.append(f"{text!r}\n  Knot: {peer}\n  ours: {got}")
    assert not faults, f"{len(faults)} of {len(NOT_YET)}:\n" + "\n".join(faults)


def test_different_words(knot, tmp_path):
    """Each difference is still there, and is what the table says: one that has gone belongs to SAME."""
    ours = built("knotc", "tools")
    faults = []
    for text, want, why in DIFFERENT:
        got, peer = said(ours, tmp_path / "c", text), said(knot, tmp_path / "c", text)
        if without_frame(got[1]) != sorted(want.splitlines()) or got == peer:
            faults.append(f"{text!r} ({why})\n  Knot: {peer}\n  ours: {got}")
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")
@pytest.mark.parametrize("mtu, payload, listen, count", [
    (1280, "udp-max-payload: 1232", "d0", 0),
    (1279, "udp-max-payload: 1232", "d0", 1),
    (1279, "udp-max-payload: 1232", "192.0.2.1@54", 1),
    (1299, "udp-max-payload-ipv6: 1252", "[ d0@54, lo ]", 1),
    (1300, "udp-max-payload-ipv6: 1252", "[ d0@54, lo ]", 0),
    (1280, "udp-max-payload-ipv4: 1253", "d0", 1),
    (9000, "udp-max-payload: 1724", "d0", 0),
    (9000, "udp-max-payload: 1725", "d0", 1),
    (9000, "udp-max-payload-ipv4: 1744", "d0", 0),
    (9000, "udp-max-payload-ipv4: 1745", "d0", 1),
])
def test_payload_and_mtu(knot, tmp_path, mtu, payload, listen, count):
    """Answers that AF_XDP could not send: warned of at the same sizes, by the interface's MTU and by what a frame holds."""
    path = tmp_path / "c"
    path.write_text(f"server:\n  {payload}\nxdp:\n  listen: {listen}\n")
    script = (f"ip link add d0 type veth peer name d1 && ip link set d0 mtu {mtu} up && ip addr add 192.0.2.1/24 dev d0 && "
              f"{knot} -c {path} conf-check; echo ----; {built('knotc', 'tools')} -c {path} conf-check")
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True, timeout=30 * PATIENCE, check=True)
    said = [line for line in done.stderr.splitlines() if "maximum UDP payload" in line]
    assert len(said) == 2 * count and said[:count] == said[count:], done.stderr
    assert done.stdout.count("Configuration is valid") == 2
