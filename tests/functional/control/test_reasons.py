# SPDX-License-Identifier: BSD-2-Clause
"""Guards that a command says why it failed, and what went wrong although it succeeded: file, line and reason in the reply."""
import json
import re
import subprocess
import time

import pytest

from harness.server import built, is_ours
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")

BAD = example(2).replace("www", "www 300 A 192.0.2.300\nwww", 1)


def knotc(knotd, *arguments):
    """(status, standard output)"""
    done = subprocess.run([built("knotc", "tools"), "-s", str(knotd.socket), *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                          timeout=20 * PATIENCE, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(1))
    knotd.write("other.zone", example(1).replace("$ORIGIN example.", "$ORIGIN other."))
    knotd.configure(zones=["example", "other"])
    knotd.start()
    return knotd


def line_of(text, part):
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_zone_reload(server):
    server.write("example.zone", BAD)
    status, output = knotc(server, "-b", "zone-reload", "example")
    assert status == 1
    assert re.fullmatch(rf"error: \[example\.?\] \(parser failed, file '{server.dir}/example.zone', line {line_of(BAD, '192.0.2.300')}, "
                        r"invalid IPv4 address[^\n]*, near '192.0.2.300'\)\n", output), output
    status, output = knotc(server, "-j", "-b", "zone-reload", "example")
    assert status == 1 and "192.0.2.300" in output
    json.loads(output)
    (server.dir / "example.zone").unlink()
    assert f"(not exists, file '{server.dir}/example.zone')" in knotc(server, "-b", "zone-reload", "example")[1]


def test_zone_status(server):
    assert knotc(server, "zone-status", "+failed") == (0, "")
    assert knotc(server, "zone-status", "example", "+error")[1] == "[example.]\n"
    before = knotc(server, "zone-status", "example")[1]
    server.write("example.zone", BAD)
    knotc(server, "-b", "zone-reload", "example")
    assert knotc(server, "zone-status", "example")[1] == before, "as Knot's, unless asked for"
    status, output = knotc(server, "zone-status", "+failed")
    assert status == 0 and output.count("\n") == 1, output
    assert re.match(rf"\[example\.\] role: master \| serial: 1 \| .*error: failed [+-]\d+s, parser failed, file '{server.dir}/example.zone', "
                    r"line \d+, invalid IPv4 address", output), output
    assert re.fullmatch(r"\[example\.\] error: failed \S+, parser failed, [^\n]+\n\[other\.\]\n", knotc(server, "zone-status", "+error")[1])
    assert knotc(server, "zone-status", "+failed", "+serial", "other", "example")[1].startswith("[example.] serial: 1 | error: failed ")
    server.write("example.zone", example(3))
    assert knotc(server, "-b", "zone-reload", "example") == (0, "OK\n")
    assert knotc(server, "zone-status", "+failed") == (0, "")


def test_a_refused_edit_keeps_the_fault_of_the_file(server):
    server.write("example.zone", BAD)
    knotc(server, "-b", "zone-reload", "example")
    knotc(server, "zone-begin", "example")
    for record in (("CNAME", "www.example."), ("A", "192.0.2.1")):
        assert knotc(server, "zone-set", "example", "both", *record) == (0, "OK\n")
    assert knotc(server, "zone-commit", "example")[0] == 1
    assert "parser failed" in knotc(server, "zone-status", "+failed")[1]
    assert knotc(server, "zone-abort", "example") == (0, "OK\n")
    assert "parser failed" in knotc(server, "zone-status", "+failed")[1]


def test_the_age_is_that_of_the_first_failure(server):
    """Neither an edit that is refused nor the same failure once more makes it younger; another failure has its own age."""
    def age():
        return int(re.search(r"error: failed [+-](\d+)s", knotc(server, "zone-status", "example", "+error")[1]).group(1))

    server.write("example.zone", BAD)
    knotc(server, "-b", "zone-reload", "example")
    wait_until(lambda: age() >= 2, "an age of two seconds")
    knotc(server, "zone-begin", "example")
    for record in (("CNAME", "www.example."), ("A", "192.0.2.1")):
        assert knotc(server, "zone-set", "example", "both", *record) == (0, "OK\n")
    assert knotc(server, "zone-commit", "example")[0] == 1
    assert knotc(server, "zone-abort", "example") == (0, "OK\n")
    assert age() >= 2
    assert knotc(server, "-b", "-f", "zone-reload", "example")[0] == 1
    assert age() >= 2
    before = age()
    server.write("example.zone", BAD.replace("192.0.2.300", "192.0.2.301"))
    assert knotc(server, "-b", "zone-reload", "example")[0] == 1
    assert age() < before


def test_a_zone_that_goes_takes_its_reason_along(server):
    server.write("example.zone", BAD)
    knotc(server, "-b", "zone-reload", "example")
    server.configure(zones=["other"])
    assert knotc(server, "-b", "reload") == (0, "Reloaded\n")
    server.write("example.zone", example(4))
    server.configure(zones=["example", "other"])
    assert knotc(server, "-b", "reload") == (0, "Reloaded\n")
    assert knotc(server, "zone-status", "+failed") == (0, "")


def test_zone_commit(server):
    knotc(server, "zone-begin", "example")
    assert knotc(server, "zone-set", "example", "both", "CNAME", "www.example.") == (0, "OK\n")
    assert knotc(server, "zone-set", "example", "both", "A", "192.0.2.1") == (0, "OK\n")
    status, output = knotc(server, "zone-commit", "example")
    assert status == 1
    assert re.fullmatch(r"error: \[example\.?\] \(semantic check, node both\.example\., another record exists beside CNAME[^\n]*\)\n", output), output
    assert knotc(server, "zone-unset", "example", "both", "CNAME") == (0, "OK\n")
    assert knotc(server, "zone-commit", "example") == (0, "OK\n")
    # The SOA with its old serial and the one with the new, and the address.
    assert "[example.] control, transaction committed, records: 1 removed, 2 added" in server.log()


def test_reload_error(server):
    server.conf(server.path.read_text() + "    lisen: x\n")
    status, output = knotc(server, "reload")
    lines = server.path.read_text().splitlines()
    assert status == 1 and output.startswith("error: (invalid item, "), output
    assert f"'{server.path}', line {len(lines)}, " in output and "lisen" in output, output


def test_reload_warnings(server):
    """What did not work follows the first word; without warnings nothing does."""
    assert knotc(server, "reload") == (0, "Reloaded\n")
    server.write("example.zone", BAD)
    server.configure(zones=["example", "other"], listen=("127.0.0.1", "127.0.0.2"))
    status, output = knotc(server, "-b", "reload")
    lines = output.splitlines()
    assert status == 0 and lines[0] == "Reloaded, 2 warnings:", output
    assert "warning: changes of listen require restart to take effect" in lines
    assert any(re.match(r"warning: \[example\.\] parser failed, file '.*', line \d+, invalid IPv4", line) for line in lines), output
    assert "changes of listen require restart" in server.log(), "the log has it, too"
    server.configure(zones=["example", "other"])
    status, output = knotc(server, "-j", "reload")
    assert status == 0 and "require restart" not in output, "what runs is what is configured again"
    json.loads(output)


def test_who_does_not_ask_gets_no_warnings(server):
    """The reply to other clients is that of Knot DNS: one BLOCK."""
    from harness.control import BLOCK, Client, unit     # pylint: disable=import-outside-toplevel
    server.configure(zones=["example", "other"], listen=("127.0.0.1", "127.0.0.2"))
    with Client(server.socket, 20) as client:
        client.send(unit(cmd="reload"), BLOCK)
        assert client.block() == []
        client.send(unit(cmd="conf-begin"), BLOCK)
        assert client.block() == []


def test_conf_transactions_of_a_text_file(server):
    want = r"OK, 1 warning:\nwarning: the configuration is a text file, not a database: [^\n]*next reload or start\n"
    assert re.fullmatch(want, knotc(server, "conf-begin")[1])
    assert knotc(server, "conf-set", "server.identity", "x") == (0, "OK\n")
    assert re.fullmatch(want, knotc(server, "conf-commit")[1])
    assert re.fullmatch(want, knotc(server, "conf-begin")[1])
    assert knotc(server, "conf-set", "server.tcp-workers", "7") == (0, "OK\n")
    output = knotc(server, "conf-commit")[1]
    assert output.startswith("OK, 2 warnings:\n") and "changes of tcp-workers require restart" in output, output


def test_open_transactions_are_named(server):
    knotc(server, "zone-begin", "other")
    began = time.monotonic()
    in_the_way = r"\(too many transactions, zone other\., open for \d+[smhd], end it with 'zone-commit other\.' or 'zone-abort other\.'\)"
    for words in (("reload",), ("conf-begin",), ("zone-begin", "other"), ("-b", "zone-reload", "other")):
        status, output = knotc(server, *words)
        assert status == 1 and re.search(in_the_way, output), (words, output)
    wait_until(lambda: time.monotonic() - began > 1.1, "a second to pass")
    assert not re.search("open for 0s", knotc(server, "reload")[1])
    assert knotc(server, "zone-abort", "other") == (0, "OK\n")
    knotc(server, "conf-begin")
    for words in (("reload",), ("conf-begin",), ("zone-begin", "other")):
        status, output = knotc(server, *words)
        assert status == 1 and re.search(r"\(too many transactions, configuration, open for \d+s, end it with 'conf-commit' or 'conf-abort'\)", output)
    assert knotc(server, "conf-abort") == (0, "OK\n")
