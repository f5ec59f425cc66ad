# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc xdp-check`: works without a server, names what is in the way and what to do, and says by its status whether
XDP can work."""
import json
import shutil

import pytest

from harness.net import may_make_namespaces, run
from harness.server import built

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]

SEVERITIES = {"ok", "warning", "error"}


def check(pair, *words, prefix=(), config=None):
    options = ["-c", str(config)] if config else []
    done = pair.exec(pair.server, *prefix, built("knotc", "tools"), *options, *words, check=False)
    return done.returncode, done.stdout


def findings(pair, *words, **options):
    """(exit status, {interface: {id: (severity, text, advice)}})"""
    status, text = check(pair, "-j", "raw", "xdp-check", *words, **options)
    reply = json.loads(text[text.index("{"):])
    assert reply["command"] == "xdp-check" and reply["ok"] is (status == 0)
    found = {}
    for unit in reply["reply"]:
        rows = found.setdefault(unit["section"], {})
        if unit["kind"] == "data":
            assert unit["type"] in SEVERITIES
            rows[unit["item"]] = (unit["type"], unit["data"], None)
        else:
            assert unit["type"] == "advice"
            rows[unit["item"]] = rows[unit["item"]][:2] + (unit["data"],)
    return status, found


def test_an_interface_that_works(pair):
    status, found = findings(pair, pair.server_if)
    assert status == 0 and set(found) == {pair.server_if}
    rows = found[pair.server_if]
    assert "veth" in rows["driver"][1]
    assert not [row for row in rows.values() if row[0] == "error"]
    # A warning without advice doesn't help.
    assert all(row[2] for row in rows.values() if row[0] == "warning")
    status, text = check(pair, "xdp-check", pair.server_if)
    assert status == 0 and text.startswith(f"{pair.server_if}: XDP can work\n")
    for item, (severity, what, advice) in rows.items():
        assert f"{item}" in text and what in text and (advice is None or f"-> {advice}" in text)


@pytest.mark.parametrize("name", ["nonsense9", ""])
def test_no_such_interface(pair, name):
    status, found = findings(pair, name)
    assert status == 1
    (rows,) = found.values()
    assert rows["interface"][0] == "error"
    # Longer than any: not cut to one that may be there.
    assert check(pair, "xdp-check", pair.server_if + "x" * 20) == (1, f"error: there is no interface {pair.server_if}{'x' * 20}\n")


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="no setpriv")
def test_without_permission(pair):
    """An error, and advice which capabilities or limits to give."""
    status, found = findings(pair, pair.server_if, prefix=("setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"))
    assert status == 1
    errors = {item: row for item, row in found[pair.server_if].items() if row[0] == "error"}
    assert any("CAP_" in (row[2] or "") + row[1] for row in errors.values()), errors
    assert all(row[2] for row in errors.values())


def test_large_mtu(make_pair):
    with make_pair(mtu=9000) as pair:
        _, found = findings(pair, pair.server_if)
        severity, _, advice = found[pair.server_if]["mtu"]
        assert severity in ("warning", "error") and "mtu" in advice


@pytest.fixture
def make_pair():
    from harness.net import Pair
    return Pair


def test_another_program_is_there(pair, directory):
    """An XDP program of someone else's is named, and what to do about it."""
    tool = shutil.which("xdp-loader")
    program = directory / "pass.o"
    if tool is None or shutil.which("clang") is None:
        pytest.skip("no xdp-loader or clang")
    (directory / "pass.c").write_text('__attribute__((section("xdp"), used)) int pass_all(void *c) { return 2; }\n'
                                      'char _license[] __attribute__((section("license"), used)) = "GPL";\n')
    run("clang", "-target", "bpf", "-O2", "-g", "-c", str(directory / "pass.c"), "-o", str(program))
    run("ip", "-n", pair.server, "link", "set", "dev", pair.server_if, "xdp", "obj", str(program), "sec", "xdp")
    status, found = findings(pair, pair.server_if)
    assert status == 1
    errors = [row for row in found[pair.server_if].values() if row[0] == "error"]
    assert any("xdp off" in (row[2] or "") for row in errors), errors


def test_interfaces_of_the_configuration(pair, directory):
    config = directory / "knot.conf"
    config.write_text(f"xdp:\n    listen: [ {pair.server4}@53, lo ]\n    ring-size: 512\n")
    _, found = findings(pair, config=config)
    assert list(found) == [pair.server_if, "lo"]
    config.write_text("xdp:\n    listen: 203.0.113.77\n")
    status, text = check(pair, "xdp-check", config=config)
    assert status == 1 and "203.0.113.77" in text
    config.write_text("xdp:\n    listen: [\n")
    status, text = check(pair, "xdp-check", config=config)
    assert status == 1 and "error: " in text


def test_all_interfaces(pair, directory):
    config = directory / "knot.conf"
    config.write_text("server:\n    rundir: /nonexistent\n")
    status, found = findings(pair, config=config)
    assert status == 0 and set(found) == {pair.server_if}


def test_wrong_words(pair):
    status, text = check(pair, "xdp-check", "a", "b")
    assert status == 1 and "Usage: knotc xdp-check [<interface>]" in text
