# SPDX-License-Identifier: BSD-2-Clause
"""Bounds of loading: files that never end, iterations of NSEC3, serials that secondaries don't take, names in raw UTF-8."""
import re
import subprocess
import time

import pytest

from harness.server import built
from harness.waiting import PATIENCE

pytestmark = pytest.mark.ours

HEAD = "$TTL 60\n@ SOA ns admin {serial} 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"


def write(path, text, serial=1):
    path.write_text(HEAD.format(serial=serial) + text)
    return path


def test_includes_are_bounded(tmp_path):
    """Six levels of thirty lines are 729 million files: the load ends, with one line that says why."""
    for level in range(6):
        (tmp_path / f"i{level}").write_text(f"$INCLUDE i{level + 1}\n" * 30)
    (tmp_path / "i6").write_text("")
    write(tmp_path / "zone", "$INCLUDE i0\n")
    (tmp_path / "conf").write_text(f"zone:\n  - domain: example\n    file: {tmp_path}/zone\n")
    done = subprocess.run([built("knotc", "tools"), "-c", tmp_path / "conf", "zone-check"], capture_output=True, text=True,
                          timeout=30 * PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr.count("more than 10000 files included") == 1, done.stderr
    assert "failed to load zone, file" in done.stderr


def test_stop_ends_a_load(knotd):
    """A zone file that takes a minute: the process has gone within seconds of `stop`, and says nothing of the file."""
    for level in range(4):
        knotd.write(f"i{level}", f"$INCLUDE i{level + 1}\n" * 9)
    knotd.write("i4", "; x\n" * 400000)
    write(knotd.dir / "long.zone", "$INCLUDE i0\n")
    knotd.configure(zones=["long"], server="async-start: on")
    knotd.start()
    knotd.wait_log("zone will be loaded")
    begin = time.monotonic()
    knotd.knotc("stop")
    assert knotd.wait_end(5) == 0
    assert time.monotonic() - begin < 5 * PATIENCE
    assert "long.zone" not in knotd.log().split("zone will be loaded")[1], knotd.log()


def test_iterations(knotd):
    """More than 50 iterations of NSEC3 are warned of; an item of the zone refuses them."""
    chain = "@ NSEC3PARAM 1 0 {0} -\n0123456789abcdefghijklmnopqrstuv NSEC3 1 0 {0} - 0123456789abcdefghijklmnopqrstuv A\n"
    write(knotd.dir / "example.zone", chain.format(100))
    knotd.configure(zones=["example"])
    knotd.start()
    knotd.wait_log(r"warning: \[example\.\] check, node example\., too many NSEC3 iterations \(100, RFC 9276 recommends 0\)")
    assert knotd.ask("ns.example").answer
    knotd.conf(knotd.path.read_text() + "    nsec3-max-iterations: 99\n")
    knotd.knotc("reload")
    knotd.wait_log(r"error: \[example\.\] check, node example\., more NSEC3 iterations than nsec3-max-iterations \(100, allowed 99\)")
    knotd.wait_log(r"\[example\.\] zone event 'load' failed \(semantic check\)")
    write(knotd.dir / "example.zone", chain.format(0), serial=2)
    knotd.knotc("-b", "zone-reload", "example")
    knotd.wait_log(r"loaded, serial 1 -> 2")
    assert len(re.findall("too many NSEC3", knotd.log())) == 1


def test_serials_that_secondaries_do_not_take(knotd):
    back, same = r"warning: \[example\.\] updated SOA serial is lower than current, serial 5 -> 4,", r"warning: \[example\.\] contents changed, but not the serial 4,"
    write(knotd.dir / "example.zone", "www A 192.0.2.2\n", serial=5)
    knotd.configure(zones=["example"])
    knotd.start()
    knotd.wait_log("loaded, serial none -> 5")
    write(knotd.dir / "example.zone", "www A 192.0.2.2\n", serial=4)
    knotd.knotc("-b", "zone-reload", "example")
    knotd.wait_log(back)
    write(knotd.dir / "example.zone", "; the same contents\nWWW A 192.0.2.2\n", serial=4)
    knotd.knotc("-b", "zone-reload", "example")
    knotd.wait_log("loaded, serial 4 -> 4")
    assert not re.search(same, knotd.log())
    write(knotd.dir / "example.zone", "www A 192.0.2.3\n", serial=4)
    knotd.knotc("-b", "zone-reload", "example")
    knotd.wait_log(same)
    # A transaction that sets an older serial itself.
    for words in ("zone-begin example", "zone-set example @ SOA ns admin 3 1 1 1 1", "zone-commit example"):
        knotd.knotc(*words.split())
    knotd.wait_log(r"warning: \[example\.\] updated SOA serial is lower than current, serial 4 -> 3,")
    # And one that doesn't.
    for words in ("zone-begin example", "zone-set example www A 192.0.2.9", "zone-commit example"):
        knotd.knotc(*words.split())
    knotd.wait(lambda: "serial: 4" in knotd.knotc("zone-status", "example", "+serial").stdout, what="the next serial")
    assert len(re.findall("lower than current|not the serial", knotd.log())) == 3


@pytest.mark.parametrize("line, wanted", [
    ("b\u00fccher A 192.0.2.1", r"line 5 \(invalid domain name character, near 'b\\195\\188cher'\)\nhint: not IDNA, did you mean 'xn--bcher-kva'\?"),
    ("x MX 1 a+b", r"line 5 \(invalid domain name character in exchange, near 'a\+b'\)$"),
    ("x TXT ( y\nz A 192.0.2.1 \x01", r"line 6 \(invalid character, near '\\001', in the parentheses opened in line 5\)$"),
    ("$GENERATE 1-9 a$ A 192.0.2.$", r"line 5 \(invalid directive, \$GENERATE isn't supported, near '\$GENERATE'\)$"),
])
def test_faults_of_files(tmp_path, line, wanted):
    write(tmp_path / "zone", line + "\n")
    (tmp_path / "conf").write_text(f"zone:\n  - domain: example\n    file: {tmp_path}/zone\n")
    done = subprocess.run([built("knotc", "tools"), "-c", tmp_path / "conf", "zone-check"], capture_output=True, text=True,
                          timeout=30 * PATIENCE, check=False)
    assert done.returncode == 1 and re.search(wanted, done.stderr, re.M), done.stderr
