# SPDX-License-Identifier: BSD-2-Clause
"""Guards `knotc xdp-block`: sources dropped or limited, the longest prefix decides, counted, kept over reloads."""
import json
import os
import re
import shutil
import signal

import dns.exception
import dns.rcode
import pytest

from xdp_server import ask, configure, start

pytestmark = [pytest.mark.ours, pytest.mark.threads, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]


@pytest.fixture
def server(make_knotd, pair):
    return start(make_knotd, pair)


def rules(server):
    """{prefix: {item: value}} of the list, read from its JSON."""
    reply = json.loads(server.knotc("-j", "xdp-block", "list").stdout)
    assert reply["command"] == "xdp-block" and reply["ok"] is True
    found = {}
    for unit in reply["reply"]:
        assert unit["section"] == "xdp-block"
        value = unit["data"]
        found.setdefault(unit["id"], {})[unit["item"]] = int(value) if value.isdigit() else value
    return found


def is_answered(server, pair, family=4):
    try:
        return ask(server, pair, "www.example", family=family, timeout=0.4).rcode() == dns.rcode.NOERROR
    except dns.exception.Timeout:
        return False


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
        [f"{pair.client4}/32", "0", "2", "2", "command"], ["2001:db8:ffff::/48", "50", "0", "0", "command"]])
    assert server.knotc("xdp-block", "list", pair.client4).stdout.count("\n") == 2
    assert server.knotc("xdp-block", "remove", pair.client4).stdout == "OK\n"
    assert is_answered(server, pair)
    assert set(rules(server)) == {"2001:db8:ffff::/48"}


def test_longest_prefix_decides(server, pair):
    server.knotc("xdp-block", "add", "192.0.2.0/24")
    assert not is_answered(server, pair)
    server.knotc("xdp-block", "add", pair.client4, "+rate", "1000000")
    assert is_answered(server, pair)
    found = rules(server)
    assert (found["192.0.2.0/24"]["matched"], found[f"{pair.client4}/32"]["matched"]) == (1, 1)
    server.knotc("xdp-block", "remove", pair.client4)
    assert not is_answered(server, pair)
    server.knotc("xdp-block", "add", "::/0")
    assert not is_answered(server, pair, family=6)
    # A rate given later takes effect.
    server.knotc("xdp-block", "add", "192.0.2.0/24", "+rate", "1000000")
    assert is_answered(server, pair)


def test_only_what_is_ours(server, pair):
    """Other ports and protocols of a blocked source reach the kernel."""
    server.knotc("xdp-block", "add", "0.0.0.0/0")
    done = pair.exec(pair.client, "ping", "-c", "2", "-i", "0.2", "-W", "2", pair.server4, check=False)
    if done.returncode != 127:
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


@pytest.mark.skipif(shutil.which("kxdpgun") is None, reason="no kxdpgun")
def test_rate_under_load(server, pair):
    """A flood is held to the rate: exact counts, not speeds. The bound is the contract of struct filter_rule in abi.h."""
    queries = server.write("queries", "www.example A\n")
    rate, seconds = 500, 3
    server.knotc("xdp-block", "add", pair.client4, "+rate", str(rate))
    text = pair.exec(pair.client, "kxdpgun", "-t", str(seconds), "-Q", "20000", "-i", str(queries), "-I", pair.client_if,
                     pair.server4, timeout=40).stdout
    sent, received = (int(re.search(rf"total {word}:\s+(\d+)", text).group(1)) for word in ("queries", "replies"))
    rule = rules(server)[f"{pair.client4}/32"]
    passed = rule["matched"] - rule["dropped"]
    print(f"{sent} queries, {received} replies, {rule}")
    assert rule["matched"] == sent
    assert received == passed
    # Evenly over the run, and a burst of at most a second's worth.
    assert rate * seconds * 0.8 <= passed <= rate * (seconds + 2)
