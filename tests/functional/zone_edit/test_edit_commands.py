# SPDX-License-Identifier: BSD-2-Clause
"""Commands of zone transactions word by word: replies, exit codes, log lines, with our knotc and the distribution's."""
import os
import re
import signal

import pytest

from edited import addresses, edit, records, serial, start
from harness.server import built, is_ours

pytestmark = pytest.mark.core

DISTRIBUTION = "/usr/sbin/knotc"


@pytest.fixture(params=["own", "distribution"])
def knotc(request, knotd):
    program = DISTRIBUTION
    if request.param == "distribution" and not os.path.exists(DISTRIBUTION):
        pytest.skip("the distribution's knotc is not installed")
    if request.param == "own" and is_ours():
        program = built("knotc", "tools")
    start(knotd, ("example", "second"), "semantic-checks: on")
    return lambda *words: knotd.knotc(*words, program=program, check=False)


@pytest.fixture
def own(knotd):
    """Words that the distribution's knotc sends in another way."""
    start(knotd, ("example", "second"), "semantic-checks: on")
    return lambda *words: knotd.knotc(*words, check=False)


def expect(knotc, steps):
    """Each step: words, text of the error or "" for success, lines of records that are shown."""
    for words, error, *lines in steps:
        done = knotc(*(words if isinstance(words, tuple) else words.split()))
        shown = [re.sub(r"^\[\S+\] ", "", line) for line in done.stdout.splitlines() if line and line != "OK"]
        if error:
            assert done.returncode == 1 and f"({error}" in done.stdout, f"{words}: {done.stdout}"
        else:
            assert done.returncode == 0, f"{words}: {done.stdout}"
            assert shown == lines, f"{words}: {done.stdout}"


def test_without_a_transaction(knotc):
    none = "no active transaction"
    expect(knotc, [("zone-get example", none), ("zone-diff example", none), ("zone-set example a 60 A 192.0.2.1", none),
                   ("zone-unset example www", none), ("zone-commit example", none), ("zone-abort example", none),
                   # Of all zones those are meant that have one.
                   ("zone-commit --", ""), ("zone-abort --", ""), ("zone-get --", ""), ("zone-diff --", "")])


def test_unknown_zone(knotc):
    expect(knotc, [(f"{command} nowhere {words}", "no such zone found")
                   for command, words in (("zone-begin", ""), ("zone-get", ""), ("zone-diff", ""), ("zone-set", "a 60 A 192.0.2.1"),
                                          ("zone-unset", "a"), ("zone-commit", ""), ("zone-abort", ""), ("zone-flush", ""),
                                          ("zone-freeze", ""), ("zone-thaw", ""))])


def test_adding(knotc):
    expect(knotc, [
        ("zone-begin example", ""), ("zone-begin example", "too many transactions"),
        ("zone-set example a 60 A 192.0.2.2", ""),
        ("zone-set example a 60 A 192.0.2.2", "such record already exists in zone"),
        ("zone-set example a 61 A 192.0.2.3", ""),
        ("zone-set example a A 192.0.2.4", ""),
        ("zone-get example a", "", "a.example. 61 A 192.0.2.2", "a.example. 61 A 192.0.2.3", "a.example. 61 A 192.0.2.4"),
        ("zone-get example a A", "", "a.example. 61 A 192.0.2.2", "a.example. 61 A 192.0.2.3", "a.example. 61 A 192.0.2.4"),
        ("zone-get example a MX", ""),
        ("zone-get example A.Example. a", "", "a.example. 61 A 192.0.2.2", "a.example. 61 A 192.0.2.3", "a.example. 61 A 192.0.2.4"),
        ("zone-get example missing", "no such node in zone found"), ("zone-get example a BAR", "invalid parameter"),
        ("zone-set example b 60 BAR x", "parser failed"), ("zone-set example b 60 A 192.0.2", "parser failed"),
        ("zone-set example b 60 A", "parser failed"), ("zone-set example b 60 A 192.0.2.1 2", "parser failed"),
        ("zone-set example a..b 60 A 192.0.2.1", "parser failed"), ("zone-set example b 60 ANY x", "parser failed"),
        (("zone-set", "example", "a b", "60", "A", "192.0.2.1"), "parser failed"),
        ("zone-set example b+c A 192.0.2.1", "parser failed"), ("zone-set example b MX 1 c+d", "parser failed"),
        ("zone-set example out.of.zone. 60 A 192.0.2.1", "name does not belong to the zone"),
        ("zone-set example b 60 SOA ns1 admin 9 1 1 1 1", "not allowed"),
        ("zone-set example b 60 TYPE65280 \\# 2 ABCD", ""),
        ("zone-set example ns.sub A 192.0.2.10", ""),
        (("zone-set", "example", "@", "60", "TXT", '"a b" c'), ""),
        ("zone-diff example", "", '+example. 60 TXT "a b" "c"', "+a.example. 61 A 192.0.2.2", "+a.example. 61 A 192.0.2.3",
         "+a.example. 61 A 192.0.2.4", "+b.example. 60 TYPE65280 \\# 2 ABCD", "+ns.sub.example. 3600 A 192.0.2.10"),
        ("zone-abort example", ""), ("zone-get example a", "no active transaction"),
    ])


def test_text_of_more_than_255_bytes(knotc):
    """A key for DKIM in one piece; it becomes several strings."""
    long, first, rest = "k" * 300, "k" * 255, "k" * 45
    expect(knotc, [
        ("zone-begin example", ""),
        (("zone-set", "example", "dkim", "60", "TXT", f'"v=DKIM1" "{long}" end'), ""),
        (("zone-get", "example", "dkim"), "", f'dkim.example. 60 TXT "v=DKIM1" "{first}" "{rest}" "end"'),
        (("zone-set", "example", "machine", "60", "HINFO", f'"{long}" b'), "parser failed"),
        ("zone-abort example", ""),
    ])


def test_units_and_class(own):
    """A TTL and the class are written as in a zone file, in any order (RFC 1035 5.1)."""
    expect(own, [
        ("zone-begin example", ""),
        ("zone-set example u1 1h IN A 192.0.2.2", ""), ("zone-set example u2 in 1h30m A 192.0.2.2", ""),
        ("zone-set example u3 IN A 192.0.2.2", ""), ("zone-set example u4 1W A 192.0.2.2", ""),
        ("zone-diff example", "", "+u1.example. 3600 A 192.0.2.2", "+u2.example. 5400 A 192.0.2.2",
         "+u3.example. 3600 A 192.0.2.2", "+u4.example. 604800 A 192.0.2.2"),
        ("zone-set example a 1x A 192.0.2.1", "parser failed"),
        ("zone-unset example u1 IN A", ""), ("zone-unset example u2 IN A 192.0.2.2", ""),
        ("zone-unset example u3 1h IN A 192.0.2.2", ""), ("zone-unset example u4", ""), ("zone-diff example", ""),
        ("zone-abort example", ""),
    ])


def test_names_in_other_scripts(own):
    """What is typed in UTF-8 is converted by IDNA, shown names stay A-labels; escaped bytes are taken as they are."""
    expect(own, [
        ("zone-begin example", ""),
        ("zone-set example bücher A 192.0.2.2", ""), ("zone-get example BÜCHER", "", "xn--bcher-kva.example. 3600 A 192.0.2.2"),
        ("zone-set example b\\195\\188cher A 192.0.2.2", ""),
        ("zone-set example b MX 1 bücher", "parser failed"),
        ("zone-diff example", "", "+b\\195\\188cher.example. 3600 A 192.0.2.2", "+xn--bcher-kva.example. 3600 A 192.0.2.2"),
        ("zone-abort example", ""),
        ("zone-status bücher.example", "no such zone found"),
    ])


def test_removing(knotc):
    expect(knotc, [
        ("zone-begin example", ""),
        ("zone-unset example www A", ""), ("zone-unset example www A", "not exists"),
        ("zone-unset example nothere", "no such node in zone found"), ("zone-unset example mail A", "not exists"),
        ("zone-unset example mail MX 20 www", "no such record in zone found"), ("zone-unset example mail MX 20", "parser failed"),
        ("zone-unset example out.of.zone.", "no such node in zone found"), ("zone-unset example mail BAR", "invalid parameter"),
        ("zone-unset example mail MX 10 www", ""), ("zone-get example mail", "no such node in zone found"),
        ("zone-unset example ns1 77 A 192.0.2.1", ""),
        ("zone-unset example @ SOA", ""), ("zone-unset example @", ""),
        ("zone-get example @", "", "example. 3600 SOA ns1.example. admin.example. 5 3600 600 86400 60"),
        ("zone-diff example", "", "-example. 3600 NS ns1.example.", "-mail.example. 3600 MX 10 www.example.",
         "-ns1.example. 3600 A 192.0.2.1", "-www.example. 300 A 192.0.2.80"),
        ("zone-abort example", ""),
    ])


def test_several_zones(knotc, knotd):
    expect(knotc, [("zone-begin --", ""), ("zone-set -- zz 60 A 192.0.2.7", ""),
                   ("zone-diff --", "", "+zz.example. 60 A 192.0.2.7", "+zz.second. 60 A 192.0.2.7"),
                   ("zone-begin --", "operation failed for some zones"),
                   ("zone-abort second", ""), ("zone-commit --", "")])
    assert addresses(knotd, "zz") == ["192.0.2.7"] and addresses(knotd, "zz", "second") == []
    assert (serial(knotd), serial(knotd, "second")) == (6, 5)


def test_soa_is_replaced(knotc, knotd):
    expect(knotc, [
        ("zone-begin example", ""), ("zone-set example @ 60 SOA ns1 admin 100 3600 600 86400 60", ""),
        ("zone-get example @ SOA", "", "example. 60 SOA ns1.example. admin.example. 100 3600 600 86400 60"),
        ("zone-set example a 60 A 192.0.2.2", ""),
        ("zone-diff example", "", "-example. 3600 SOA ns1.example. admin.example. 5 3600 600 86400 60",
         "+example. 60 SOA ns1.example. admin.example. 100 3600 600 86400 60", "+a.example. 60 A 192.0.2.2"),
        ("zone-commit example", ""),
        ("zone-read example @ SOA", "", "example. 60 SOA ns1.example. admin.example. 100 3600 600 86400 60")])
    assert serial(knotd) == 100


def test_failed_check_keeps_the_transaction(knotc, knotd):
    """Nothing of it is served, and mending it is enough."""
    expect(knotc, [("zone-begin example", ""), ("zone-set example www 60 CNAME mail", ""), ("zone-set example a 60 A 192.0.2.2", ""),
                   ("zone-commit example", "semantic check")])
    assert "transaction: open" in knotc("zone-status", "example").stdout
    assert re.search(r"error: \[example\.\] check, node .?www\.example\.", knotd.log())
    assert addresses(knotd, "a") == [] and serial(knotd) == 5
    expect(knotc, [("zone-unset example www CNAME", ""), ("zone-commit example", "")])
    assert addresses(knotd, "a") == ["192.0.2.2"] and serial(knotd) == 6
    assert "transaction" not in knotc("zone-status", "example").stdout


def test_commit_without_changes(knotc, knotd):
    expect(knotc, [("zone-begin example", ""), ("zone-commit example", ""), ("zone-begin example", ""),
                   ("zone-set example x 3 A 192.0.2.77", ""), ("zone-unset example x A", ""), ("zone-diff example", ""),
                   ("zone-commit example", "")])
    assert serial(knotd) == 5 and "zone file updated" not in knotd.log()


def test_default_ttl(knotd):
    """Knot 3.2 has no default, later ones have; the template's here."""
    if not is_ours():
        pytest.skip("a later Knot's")
    start(knotd, items="default-ttl: 99")
    edit(knotd, "a A 192.0.2.2")
    assert records(knotd, "a") == ["a.example. 99 A 192.0.2.2"]


@pytest.mark.ours
def test_benevolent(knotd):
    start(knotd)
    knotd.knotc("zone-begin", "example", "+benevolent")
    knotd.knotc("zone-set", "example", "www", "300", "A", "192.0.2.80")
    knotd.knotc("zone-unset", "example", "nothere")
    knotd.knotc("zone-unset", "example", "www", "MX")
    knotd.knotc("zone-unset", "example", "www", "A", "192.0.2.81")
    assert knotd.knotc("zone-set", "example", "www", "300", "A", "192", check=False).returncode == 1
    assert records(knotd, command="zone-diff") == []
    knotd.knotc("zone-commit", "example")
    assert serial(knotd) == 5


@pytest.mark.parametrize("policy, least", [("increment", 6), ("unixtime", 1700000000), ("dateserial", 2024010100)])
def test_serial_policy(knotd, policy, least):
    start(knotd, items=f"serial-policy: {policy}")
    edit(knotd, "a 60 A 192.0.2.2")
    first = serial(knotd)
    assert first == least if policy == "increment" else first >= least
    edit(knotd, "b 60 A 192.0.2.2")
    assert serial(knotd) > first


@pytest.mark.ours
def test_serial_set(knotd):
    start(knotd, ("example", "second"))

    def run(*words):
        done = knotd.knotc(*words, check=False)
        return done.returncode, done.stdout.strip()

    assert run("zone-serial-set", "example") == (0, "[example.] 5")
    assert run("zone-serial-set", "example", "100")[0] == 0 and serial(knotd) == 100
    knotd.wait_log(r"\[example\.\] zone file updated, serial 5 -> 100")
    code, text = run("zone-serial-set", "example", "50")
    assert code == 1 and "(value is out of range)" in text and serial(knotd) == 100
    assert run("-f", "zone-serial-set", "example", "50")[0] == 0 and serial(knotd) == 50
    assert run("zone-serial-set", "example", "50")[0] == 0 and serial(knotd) == 50
    assert run("zone-serial-set", "example", "+5")[0] == 0 and serial(knotd) == 55
    assert run("zone-serial-set", "example", "+MAX")[0] == 0 and serial(knotd) == 55 + 2147483647
    assert run("zone-serial-set", "--", "+1")[0] == 0 and serial(knotd, "second") == 6
    for bad in ("abc", "-5", "4294967296", "+2147483648", "5x"):
        assert run("zone-serial-set", "example", bad)[0] == 1, bad
    assert "no such zone found" in run("zone-serial-set", "nowhere", "5")[1]
    knotd.knotc("zone-begin", "second")
    assert "too many transactions" in run("zone-serial-set", "second", "9")[1]
    knotd.knotc("zone-abort", "second")
    knotd.knotc("-f", "zone-purge", "second")
    assert "zone is empty" in run("zone-serial-set", "second", "9")[1]
    assert knotd.ask("example", "SOA").answer[0][0].serial == 56 + 2147483647


def ask_by_command(knotd):
    assert knotd.knotc("zone-reload", "example").stdout == "OK\n"


def ask_by_signal(knotd):
    knotd.process.send_signal(signal.SIGUSR1)
    knotd.wait_log("reloading zones")


@pytest.mark.ours
@pytest.mark.parametrize("ask", [ask_by_command, ask_by_signal])
def test_loading_is_kept_off(knotd, ask):
    """A transaction stands on one version: what would change it is made up for afterwards; who would wait for it is refused."""
    start(knotd)
    knotd.knotc("zone-begin", "example")
    for words in (("-b", "zone-reload", "example"), ("reload",), ("conf-begin",)):
        done = knotd.knotc(*words, check=False)
        assert done.returncode == 1 and "(too many transactions, " in done.stdout, words
    new = (knotd.dir / "example.zone").read_text().replace("admin 5 ", "admin 50 ")
    knotd.write("new", new).rename(knotd.dir / "example.zone")
    ask(knotd)
    knotd.wait(lambda: "load: frozen(" in knotd.knotc("zone-status", "example").stdout, 5, "the load to be held")
    assert serial(knotd) == 5
    knotd.knotc("zone-abort", "example")
    knotd.wait(lambda: serial(knotd) == 50, 5, "the new file")


@pytest.mark.ours
def test_configuration_transaction_keeps_it_off(knotd):
    start(knotd)
    knotd.knotc("conf-begin")
    done = knotd.knotc("zone-begin", "example", check=False)
    assert done.returncode == 1 and "too many transactions" in done.stdout
    knotd.knotc("conf-abort")
    knotd.knotc("zone-begin", "example")


def test_purge_ends_it(knotd):
    start(knotd)
    edit(knotd, "a 60 A 192.0.2.2")
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "b", "60", "A", "192.0.2.3")
    # A client that waits for it gets the reason, as with other blocking commands; what isn't the contents may go.
    for filters in ((), ("+expire",)):
        done = knotd.knotc("-f", "-b", "zone-purge", "example", *filters, check=False)
        assert done.returncode == 1 and done.stdout.startswith("error: [example] (too many transactions, zone example., ")
    knotd.knotc("-f", "-b", "zone-purge", "example", "+journal")
    assert "+b.example." in knotd.knotc("zone-diff", "example").stdout
    knotd.knotc("-f", "zone-purge", "example")
    done = knotd.knotc("zone-commit", "example", check=False)
    assert "no active transaction" in done.stdout
    assert not (knotd.dir / "example.zone").exists()
    # A zone without contents can be made from nothing; without a SOA it isn't one.
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "@", "60", "NS", "ns1")
    assert "(semantic check" in knotd.knotc("zone-commit", "example", check=False).stdout
    knotd.knotc("zone-set", "example", "@", "60", "SOA", "ns1 admin 1 1 1 1 1")
    knotd.knotc("zone-set", "example", "ns1", "60", "A", "192.0.2.1")
    knotd.knotc("zone-commit", "example")
    assert addresses(knotd, "ns1") == ["192.0.2.1"] and serial(knotd) == 1
    knotd.wait_log(r"zone file updated, serial 1\n")


def test_log_names_the_record(own, knotd):
    """Behind Knot's words: the user and the record as it was typed; a long one is cut."""
    uid = os.getuid()
    for words in ("zone-begin example", "zone-set example new 60 A 192.0.2.7", "zone-unset example www A", "zone-unset example mail",
                  "zone-abort example", "zone-serial-set example +5"):
        assert own(*words.split()).returncode == 0, words
    own("zone-begin", "example")
    own("zone-set", "example", "long", "60", "TXT", " ".join(f'"{"x" * 200}"' for _ in range(100)))
    received = [line.split("info: [example.] control, received command ", 1)[1] for line in knotd.log().splitlines()
                if "received command 'zone-" in line and f", by uid {uid}" in line]
    assert [line.replace(f", by uid {uid}", "") for line in received] == [
        "'zone-begin'", "'zone-set', record 'new 60 A 192.0.2.7'", "'zone-unset', record 'www A'", "'zone-unset', record 'mail'",
        "'zone-abort'", "'zone-serial-set', data '+5'", "'zone-begin'", f"'zone-set', record 'long 60 TXT \"{'x' * 199}...'"]
