# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc xdp-block`: sources dropped or limited, the longest prefix decides, counted, kept over reloads."""
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

import dns.flags
import dns.message
import pytest
from scapy.all import IP, UDP, Ether, Raw

from harness.net import inside, may_make_namespaces
from harness.server import built
from harness.waiting import wait_until
from harness.wire import Wire
from xdp_server import configure, counters, start, wait_counters

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair)


def rules(server):
    """{prefix: {item: value}} of the list, read from its JSON."""
    reply = json.loads(server.knotc("-j", "raw", "xdp-block", "list").stdout)
    assert reply["command"] == "xdp-block" and reply["ok"] is True
    found = {}
    for unit in reply["reply"]:
        assert unit["section"] == "xdp-block"
        value = unit["data"]
        found.setdefault(unit["id"], {})[unit["item"]] = int(value) if value.isdigit() else value
    return found


def is_answered(server, pair, family=4):
    """Whether a question has an answer; one that is dropped is counted."""
    question = dns.message.make_query("www.example", "A")
    with inside(pair.client):
        stream = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    with stream:
        stream.connect((pair.server4 if family == 4 else pair.server6, 53))

        def dropped():
            return sum(rule["dropped"] for rule in rules(server).values())

        before = dropped()
        stream.send(question.to_wire())

        def fate():
            if select.select([stream], [], [], 0.05)[0]:
                answer = dns.message.from_wire(stream.recv(65535))
                assert answer.id == question.id and answer.flags & dns.flags.AA
                return "answered"
            return "dropped" if dropped() > before else None

        return wait_until(fate, "an answer, or a question that is dropped", pause=0) == "answered"


def test_add_list_remove(server, pair):
    assert is_answered(server, pair)
    assert rules(server) == {}
    assert server.knotc("xdp-block", "list").stdout == "OK\n"
    assert server.knotc("xdp-block", "add", f"{pair.client4}/32").stdout == "OK\n"
    assert server.knotc("xdp-block", "add", "2001:db8:ffff::/48", "+rate", "50").stdout == "OK\n"
    assert not is_answered(server, pair) and not is_answered(server, pair)
    assert is_answered(server, pair, family=6)
    assert rules(server) == {
        f"{pair.client4}/32": {"rate": 0, "matched": 2, "dropped": 2, "source": "command"},
        "2001:db8:ffff::/48": {"rate": 50, "matched": 0, "dropped": 0, "source": "command"},
    }
    lines = server.knotc("xdp-block", "list").stdout.splitlines()
    assert lines[0].split() == ["prefix", "rate", "matched", "dropped", "source"]
    assert sorted(line.split() for line in lines[1:]) == sorted([
        [f"{pair.client4}/32", "drop", "2", "2", "command"], ["2001:db8:ffff::/48", "50", "0", "0", "command"]])
    assert server.knotc("xdp-block", "list", pair.client4).stdout.count("\n") == 2
    assert server.knotc("xdp-block", "remove", pair.client4).stdout == "OK\n"
    assert is_answered(server, pair)
    assert set(rules(server)) == {"2001:db8:ffff::/48"}
    log = server.log()
    for line in (f"added {pair.client4}/32, all dropped", "added 2001:db8:ffff::/48, rate 50 per second", f"removed {pair.client4}/32"):
        assert f"notice: control, xdp-block, {line}" in log, line


def test_remove_all(server, pair):
    """Rules of the configuration stay."""
    configure(server, pair, "block: [ 203.0.113.0/24 ]")
    assert server.knotc("reload").stdout == "Reloaded\n"
    assert server.knotc("xdp-block", "add", "198.51.100.0/24").stdout == "OK\n"
    assert server.knotc("xdp-block", "add", "192.0.2.128/25").stdout == "OK\n"
    assert server.knotc("xdp-block", "remove", "all").stdout == "OK\n"
    assert set(rules(server)) == {"203.0.113.0/24"}
    assert server.knotc("xdp-block", "remove", "all").stdout == "OK\n"


def list_table(server):
    """[{column: value}] of the table."""
    header, *lines = server.knotc("xdp-block", "list").stdout.splitlines()
    names = header.split()
    ends = [header.index(name) + len(name) for name in names]
    return [dict(zip(names, (line[begin:end].strip() for begin, end in zip([0, max(ends[0], len(line.split()[0])), *ends[1:]], [
        max(ends[0], len(line.split()[0])), *ends[1:]])))) for line in lines]


def test_time_and_comment(server, pair):
    """A rule ends when its time is over, and the one of the configuration with its prefix is in force again."""
    configure(server, pair, f"block: [ {pair.client4}@1000000 ]")
    assert server.knotc("reload").stdout == "Reloaded\n"
    assert server.knotc("xdp-block", "add", pair.client4, "+for", "2h", "+comment", "ticket 4711").stdout == "OK\n"
    rule = rules(server)[f"{pair.client4}/32"]
    assert 7000 < rule.pop("remaining") <= 7200
    assert rule == {"rate": 0, "matched": 0, "dropped": 0, "source": "command", "comment": "ticket 4711"}
    (result,) = json.loads(server.knotc("-j", "xdp-block", "list").stdout)["result"]
    assert result["comment"] == "ticket 4711" and 7000 < result["remaining"] <= 7200
    (row,) = list_table(server)
    assert row["comment"] == "ticket 4711" and re.fullmatch(r"2h 0m|1h \d+m", row["remaining"]), row
    assert not is_answered(server, pair)
    assert server.knotc("reload").stdout == "Reloaded\n"
    assert "remaining" in rules(server)[f"{pair.client4}/32"]
    # The same prefix once more: the new end and comment replace the old ones.
    assert server.knotc("xdp-block", "add", pair.client4, "+for", "1").stdout == "OK\n"
    server.wait(lambda: rules(server)[f"{pair.client4}/32"]["source"] == "configuration", what="the end of the rule")
    assert is_answered(server, pair)
    log = server.log()
    for line in ("all dropped, for 7200 s, comment 'ticket 4711'", "all dropped, for 1 s\n"):
        assert f"notice: control, xdp-block, added {pair.client4}/32, {line}" in log, line
    assert log.count(f"notice: control, xdp-block, removed {pair.client4}/32, its time is over") == 1


def test_file(server, pair, tmp_path):
    """All rules of a file at once; from standard input, too."""
    file = tmp_path / "blocked"
    file.write_text("# a list\n\n198.51.100.0/24 for 2h  #  scanner \n2001:db8:bad::/48@100\t\r\n203.0.113.9@7 for 10m", encoding="ascii")
    assert server.knotc("xdp-block", "add", "+file", file, "+for", "1d", "+comment", "night").stdout == "OK\n"
    found = {prefix: (rule["rate"], rule["comment"], -(-rule["remaining"] // 60)) for prefix, rule in rules(server).items()}
    assert found == {"198.51.100.0/24": (0, "scanner", 120), "2001:db8:bad::/48": (100, "night", 1440), "203.0.113.9/32": (7, "night", 10)}
    assert server.knotc("xdp-block", "remove", "all").stdout == "OK\n"
    done = subprocess.run([built("knotc", "tools"), "-s", server.socket, "xdp-block", "add", "+file", "-"], input="::1\n", capture_output=True,
                          text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "OK\n", "")
    assert set(rules(server)) == {"::1/128"}


@pytest.mark.parametrize("text, errors", [
    ("192.0.2.0/24\n192.0.2.1/24\n192.0.2.9@0\n", ["line 2, '192.0.2.1/24' (address has bits behind the prefix)",
                                                   "line 3, '192.0.2.9@0' (the rate must be 1 to 1000000 queries per second)"]),
    ("192.0.2.0/24\n::/0\n192.0.2.0/24@5", ["line 3, '192.0.2.0/24@5' (line 1 has the same prefix)"]),
    ("::/0 for\n", ["line 1, 'for' (the time is missing)"]), ("::/0 10m", ["line 1, '10m' (unexpected word"]),
    ("::/0 for 10x", ["line 1, '10x' (the time must be 1 second to 52 weeks"]), ("::/0 # " + "x" * 128, ["(the comment is too long"]),
    ("# none\n", ["has no rules"]), ("".join(f"10.{n >> 8}.{n & 255}.0/24\n" for n in range(4097)), ["line 4097, '10.16.0.0/24' (the file has more"]),
], ids=["prefix", "twice", "no-time", "word", "time", "comment", "empty", "many"])
def test_wrong_file_changes_nothing(server, tmp_path, text, errors):
    file = tmp_path / "blocked"
    file.write_text(text, encoding="ascii")
    done = server.knotc("xdp-block", "add", "+file", file, check=False)
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (1, len(errors))
    for line, error in zip(lines, errors):
        assert line.startswith(f"error: file '{file}'") and error in line
    messages = json.loads(server.knotc("-j", "xdp-block", "add", "+file", file, check=False).stdout)["messages"]
    assert [message.get("line", 0) for message in messages] == [int((re.findall(r"', line (\d+)", line) or [0])[0]) for line in lines]
    assert rules(server) == {}


def test_too_many_rules_change_nothing(server, tmp_path):
    """The server's own limit: what was there before stays, and nothing of the file is in force."""
    assert server.knotc("xdp-block", "add", "::1").stdout == "OK\n"
    file = tmp_path / "blocked"
    file.write_text("".join(f"10.{n >> 8}.{n & 255}.0/24\n" for n in range(4096)), encoding="ascii")
    done = server.knotc("xdp-block", "add", "+file", file, check=False)
    assert done.returncode == 1 and "error: (too many rules)" in done.stdout
    assert set(rules(server)) == {"::1/128"}


def test_longest_prefix_decides(server, pair):
    server.knotc("xdp-block", "add", "192.0.2.0/24")
    assert not is_answered(server, pair)
    server.knotc("xdp-block", "add", pair.client4, "+rate", "1000000")
    assert is_answered(server, pair)
    found = rules(server)
    assert (found["192.0.2.0/24"]["matched"], found[f"{pair.client4}/32"]["matched"]) == (1, 1)
    server.knotc("xdp-block", "remove", pair.client4)
    assert not is_answered(server, pair)
    server.knotc("-f", "xdp-block", "add", "::/0")
    assert not is_answered(server, pair, family=6)
    # A rate given later takes effect.
    server.knotc("xdp-block", "add", "192.0.2.0/24", "+rate", "1000000")
    assert is_answered(server, pair)


def test_a_slip_does_not_silence_the_server(server, pair):
    """Without -f no rule drops all queries of a family; with a rate, or for half of it, one may be added."""
    for prefix, family in [("0.0.0.0/0", "IPv4"), ("::/0", "IPv6")]:
        done = server.knotc("xdp-block", "add", prefix, "+for", "1h", check=False)
        assert (done.returncode, done.stdout) == (1, f"error: (it drops all queries over {family}, use force option) {prefix}\n")
        server.knotc("xdp-block", "add", prefix, "+rate", "1000000")
    server.knotc("xdp-block", "remove", "all")
    rule_file = server.dir / "rules"
    rule_file.write_text("192.0.2.0/24\n0.0.0.0/0\n")
    assert "use force option" in server.knotc("xdp-block", "add", "+file", rule_file, check=False).stdout
    assert not rules(server) and is_answered(server, pair)
    server.knotc("xdp-block", "add", "0.0.0.0/1")
    server.knotc("-f", "xdp-block", "add", "+file", rule_file)
    assert not is_answered(server, pair)


def test_only_what_is_ours(server, pair):
    """Other ports and protocols of a blocked source reach the kernel."""
    server.knotc("-f", "xdp-block", "add", "0.0.0.0/0")
    done = pair.exec(pair.client, "ping", "-c", "2", "-i", "0.2", "-W", "10", pair.server4, check=False)
    if done.returncode != 127:      # there is a ping
        assert " 0% packet loss" in done.stdout
    assert rules(server)["0.0.0.0/0"]["matched"] == 0
    assert not is_answered(server, pair)


def test_kept_over_reload(server, pair):
    server.knotc("xdp-block", "add", pair.client4)
    configure(server, pair, f"block: [ 2001:db8::/64@1000000, {pair.client4}@1000000, 203.0.113.0/24 ]")
    assert server.knotc("reload").stdout == "Reloaded\n"
    found = rules(server)
    assert found[f"{pair.client4}/32"]["source"] == "command" and found[f"{pair.client4}/32"]["rate"] == 0
    assert found["2001:db8::/64"] == {"rate": 1000000, "matched": 0, "dropped": 0, "source": "configuration"}
    assert found["203.0.113.0/24"]["source"] == "configuration"
    assert not is_answered(server, pair) and is_answered(server, pair, family=6)
    # A reload that changes none of them leaves them alone.
    assert server.knotc("reload").stdout == "Reloaded\n"
    assert rules(server)[f"{pair.client4}/32"]["dropped"] == 1 and rules(server)["2001:db8::/64"]["matched"] == 1
    # The configured rule of the same prefix comes back; what its prefix has counted goes on.
    server.knotc("xdp-block", "remove", pair.client4)
    assert rules(server)[f"{pair.client4}/32"] == {"rate": 1000000, "matched": 1, "dropped": 1, "source": "configuration"}
    assert is_answered(server, pair)
    done = server.knotc("xdp-block", "remove", pair.client4, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("error: (rule is from the configuration")
    configure(server, pair)
    assert server.knotc("reload").stdout == "Reloaded\n"
    assert rules(server) == {}


@pytest.mark.parametrize("words, text", [
    ((), "command requires at least 1 arguments"), (("nonsense", "::/0"), "unknown word 'nonsense'"), (("add",), "missing prefix"),
    (("remove", "::/0", "+for", "1h"), "'remove' takes no rate, time, comment or file"), (("add", "::/0", "+for"), "missing value of filter: +for"),
    (("add", "::/0", "+file", "x"), "a prefix and a file can't be combined"),
    (("add", "::/0", "+nonsense"), "unknown filter: +nonsense"), (("add", "::/0", "+rate"), "missing value of filter: +rate"),
    (("remove", "::/0", "+rate", "1"), "'remove' takes no rate"), (("add", "::/0", "::/0"), "takes at most 2 arguments"),
])
def test_wrong_words_get_the_usage(server, words, text):
    done = server.knotc("xdp-block", *words, check=False)
    assert done.returncode == 1
    assert text in done.stdout and "Usage: knotc xdp-block add|remove|list" in done.stdout


@pytest.mark.parametrize("words", [
    ("add", "192.0.2.0/33"), ("add", "::/129"), ("add", "nonsense"), ("add", "192.0.2.1/24"), ("add", ""), ("add", "192.0.2.0/"),
    ("add", "192.0.2.0/24@5"), ("add", "::/0", "+rate", "0"), ("add", "::/0", "+rate", "-1"), ("add", "::/0", "+rate", "x"),
    ("add", "::/0", "+for", "0"), ("add", "::/0", "+for", "10x"), ("add", "::/0", "+for", "53w"), ("add", "::/0", "+for", "1hh"),
    ("add", "::/0", "+for", ""), ("add", "::/0", "+comment", "x" * 128), ("add", "::/0", "+comment", "a\nb"),
    ("add", "::/0", "+rate", "99999999999"), ("add", "1" * 200), ("remove", "192.0.2.0/24"), ("list", "192.0.2.0/24"),
])
def test_wrong_values_are_refused(server, words):
    done = server.knotc("xdp-block", *words, check=False)
    assert done.returncode == 1 and done.stdout.startswith("error: ("), done.stdout
    assert rules(server) == {}


def test_without_xdp(knotd):
    """Nothing to put rules into: they are kept for the interface that a reload may bring."""
    knotd.configure()
    knotd.start()
    assert knotd.knotc("xdp-block", "add", "::1", "+for", "1").stdout == "OK\n"
    knotd.wait(lambda: rules(knotd) == {}, what="the end of the rule")
    assert knotd.knotc("xdp-block", "add", "192.0.2.0/24").stdout == "OK\n"
    assert set(rules(knotd)) == {"192.0.2.0/24"}
    assert knotd.knotc("xdp-block", "remove", "192.0.2.0/24").stdout == "OK\n"


def test_without_the_helper(server, pair):
    """It does the changes: an error says so, and what is in force stays."""
    server.knotc("xdp-block", "add", "203.0.113.0/24")
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/children", encoding="ascii") as file:
        (helper,) = map(int, file.read().split())
    os.kill(helper, signal.SIGKILL)
    server.wait(lambda: "helper ended" in server.knotc("xdp-status").stdout, what="the helper's end")
    done = server.knotc("xdp-block", "add", pair.client4, check=False)
    assert (done.returncode, done.stdout) == (1, f"error: (the privileged helper has ended, restart the server) {pair.client4}\n")
    assert is_answered(server, pair)
    assert "203.0.113.0/24" in rules(server)


def test_rate_under_load(server, pair):
    """A flood is held to the rate: exact counts, not speeds. The bound is the contract of struct filter_rule in abi.h."""
    rate = 100
    frame = bytes(Ether(src=pair.client_mac, dst=pair.server_mac) / IP(src=pair.client4, dst=pair.server4) / UDP(sport=40000, dport=53) /
                  Raw(dns.message.make_query("www.example", "A").to_wire()))
    with inside(pair.client):
        taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)    # takes the answers
    wire = Wire(pair)
    before = counters(server, pair)
    begin = time.monotonic()
    server.knotc("xdp-block", "add", pair.client4, "+rate", str(rate))
    sent = 0

    def ask_more():
        """As many as the link's queue holds. Whether some were dropped by now."""
        nonlocal sent
        for _ in range(100):
            wire.send(frame)
        sent += 100
        now = wait_counters(server, pair, lambda now: now["received"] - before["received"] >= sent and now["waiting"] == 0)
        return now["dropped-rate-limited"] > before["dropped-rate-limited"]

    with taker:
        taker.bind((pair.client4, 40000))
        for _ in range(100):
            ask_more()
        wait_until(ask_more, "questions over the limit", pause=0)
        wait_until(lambda: rules(server)[f"{pair.client4}/32"]["matched"] == sent, "all questions to be counted")
        seconds = time.monotonic() - begin
        rule = rules(server)[f"{pair.client4}/32"]
        passed = rule["matched"] - rule["dropped"]
        wait_counters(server, pair, lambda now: now["answered-udp4"] - before["answered-udp4"] == passed and
                      now["dropped-rate-limited"] - before["dropped-rate-limited"] == rule["dropped"], f"{passed} answers and {rule}")
        wait_until(lambda: is_answered(server, pair), "an answer after the flood")
    wire.close()
    print(f"{sent} questions in {seconds:.2f} s, {rule}")
    # The burst, which is a tenth of a second's, can always pass.
    assert rate / 10 <= passed <= rate * seconds + rate / 10 + 1
