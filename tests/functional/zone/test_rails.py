# SPDX-License-Identifier: BSD-2-Clause
"""Guard rails: a version that breaks publish-max-shrink or publish-require isn't published, however it comes."""
import re

import pytest

pytestmark = [pytest.mark.core, pytest.mark.ours]

HEAD = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin {serial} 3600 600 86400 60\n"
NS = "@ NS ns1\nns1 A 192.0.2.1\n"


def text(serial, hosts=10, ns=True):
    return HEAD.format(serial=serial) + (NS if ns else "") + "".join(f"host{number} A 192.0.2.{number + 10}\n" for number in range(hosts))


def start(daemon, items, zone_text):
    daemon.write("example.zone", zone_text)
    template = "template:\n  - id: default\n" + "".join(f"    {item}\n" for item in items)
    daemon.configure(zones=["example"], text=template)
    return daemon.start()


def serial(daemon):
    match = re.search(r"serial: (\d+)", daemon.knotc("zone-status", "example", "+serial").stdout)
    return int(match.group(1)) if match else None


def error(daemon):
    """What zone-status says about the failure."""
    return daemon.knotc("zone-status", "example", "+error").stdout.strip()


def reload(daemon, *options):
    """Exit status and output of a reload that is waited for."""
    done = daemon.knotc("-b", *options, "zone-reload", "example", check=False)
    return done.returncode, done.stdout.strip()


CASES = [
    ("publish-max-shrink: 10", text(2, hosts=2), "publish-max-shrink 10 %, records 13 -> 5, -61.5 %"),
    ("publish-require: apex-ns", text(2, ns=False), "publish-require apex-ns, no NS record at the zone apex"),
    ("publish-require: newer-serial", text(0), "publish-require newer-serial, serial 1 -> 0"),
    ("publish-require: [ apex-ns, newer-serial ]", text(1, hosts=11), "publish-require newer-serial, serial 1 -> 1, but other records"),
    ("publish-require: signed", text(2), "publish-require signed, no signatures at the zone apex"),
]


@pytest.mark.parametrize("item,after,reason", CASES, ids=[case[0] for case in CASES])
def test_reload_is_refused(knotd, item, after, reason):
    start(knotd, [item], text(1))
    knotd.write("example.zone", after)
    status, output = reload(knotd)
    assert (status, output) == (1, f"error: [example] (guard rail, {reason})")
    assert serial(knotd) == 1
    assert re.fullmatch(r"\[example\.\] error: failed [-+]\d+s, guard rail, " + re.escape(reason), error(knotd)), error(knotd)
    knotd.wait_log(re.escape(f"error: [example.] guard rail, new version not published ({reason}), force overrides"))
    # Trying again changes nothing, and a file that keeps the rails ends the failure.
    assert reload(knotd)[0] == 1
    knotd.write("example.zone", text(3) + "@ RRSIG SOA 8 1 60 20300101000000 20200101000000 1 @ AAAA\n@ NSEC @ SOA NS RRSIG NSEC\n")
    assert reload(knotd) == (0, "OK")
    assert serial(knotd) == 3
    assert error(knotd) == "[example.]"


@pytest.mark.parametrize("item,after,reason", CASES, ids=[case[0] for case in CASES])
def test_force_overrides(knotd, item, after, reason):
    start(knotd, [item], text(1))
    knotd.write("example.zone", after)
    assert reload(knotd)[0] == 1
    assert reload(knotd, "-f") == (0, "OK")
    assert error(knotd) == "[example.]"
    assert serial(knotd) == int(re.search(r"admin (\d+)", after).group(1))
    knotd.wait_log(re.escape(f"notice: [example.] guard rail overridden by force ({reason})"))
    knotd.wait_log(r"\[example\.\] control, received command 'zone-reload'.*by uid \d+")
    # Force was for that time.
    knotd.write("example.zone", text(0, hosts=0, ns=False))
    assert reload(knotd)[0] == 1


def test_reload_of_all(knotd):
    """`reload`, and zone-reload without waiting, keep the rails, too."""
    start(knotd, ["publish-max-shrink: 10"], text(1))
    knotd.write("example.zone", text(2, hosts=0))
    knotd.knotc("reload")
    knotd.wait_log("guard rail, new version not published")
    assert serial(knotd) == 1
    knotd.knotc("zone-reload", "example")
    knotd.wait_log("guard rail, new version not published", count=2)
    assert serial(knotd) == 1


def test_commit(knotd):
    """The transaction stays open, so it can be mended, forced or aborted."""
    start(knotd, ["publish-max-shrink: 10", "publish-require: [ apex-ns, newer-serial ]"], text(1))
    knotd.knotc("zone-begin", "example")
    for number in range(3):
        knotd.knotc("zone-unset", "example", f"host{number}")
    reason = "publish-max-shrink 10 %, records 13 -> 10, -23.1 %"
    done = knotd.knotc("zone-commit", "example", check=False)
    assert (done.returncode, done.stdout) == (1, f"error: [example] (guard rail, {reason})\n")
    assert serial(knotd) == 1
    assert "transaction: open" in knotd.knotc("zone-status", "example", "+transaction").stdout
    assert error(knotd) == "[example.]"        # the operator has the answer; the zone is as it was
    # The serial that the refused commit had taken is given back.
    assert "SOA" not in knotd.knotc("zone-diff", "example").stdout
    knotd.knotc("zone-set", "example", "host0", "60", "A", "192.0.2.10")
    knotd.knotc("zone-set", "example", "host1", "60", "A", "192.0.2.11")
    knotd.knotc("zone-commit", "example")
    assert serial(knotd) == 2
    # Forced: the log says by whom.
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-unset", "example", "@", "NS")
    done = knotd.knotc("zone-commit", "example", check=False)
    assert done.stdout == "error: [example] (guard rail, publish-require apex-ns, no NS record at the zone apex)\n"
    knotd.knotc("-f", "zone-commit", "example")
    assert serial(knotd) == 3
    knotd.wait_log(r"notice: \[example\.\] guard rail overridden by force, by uid \d+ \(publish-require apex-ns, ")


def test_serial_of_a_commit(knotd):
    start(knotd, ["publish-require: newer-serial"], text(10))
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "@", "60", "SOA", "ns1 admin 7 3600 600 86400 60")
    done = knotd.knotc("zone-commit", "example", check=False)
    assert "(guard rail, publish-require newer-serial, serial 10 -> 7)" in done.stdout
    knotd.knotc("zone-abort", "example")
    assert knotd.knotc("zone-serial-set", "example", "7", check=False).returncode == 1
    assert serial(knotd) == 10
    knotd.knotc("-f", "zone-serial-set", "example", "7")
    assert serial(knotd) == 7
    knotd.wait_log(r"guard rail overridden by force, by uid \d+ \(publish-require newer-serial, serial 10 -> 7\)")


def test_counter(knotd):
    """Each version that was held back counts, from a file or a transaction; those that were forced don't."""
    start(knotd, ["publish-max-shrink: 10"], text(1))

    def refused():
        return int(re.search(r"server\.zone-publish-refused = (\d+)", knotd.knotc("-f", "stats", "server").stdout).group(1))

    assert refused() == 0
    knotd.write("example.zone", text(2, hosts=0))
    reload(knotd)
    assert refused() == 1
    reload(knotd, "-f")
    assert refused() == 1
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-unset", "example", "ns1")
    knotd.knotc("zone-commit", "example", check=False)
    assert refused() == 2
    knotd.knotc("-f", "zone-commit", "example")
    assert refused() == 2


def test_nothing_was_served(knotd):
    """At the first load any version is better than none; what is broken is a warning."""
    start(knotd, ["publish-max-shrink: 0", "publish-require: [ apex-ns, newer-serial, signed, common-key ]"], text(1, ns=False))
    assert serial(knotd) == 1
    knotd.wait_log(re.escape("warning: [example.] guard rail broken, but nothing was served before (publish-require apex-ns, no NS record at the zone apex)"))


@pytest.mark.parametrize("load", ["difference", "difference-no-serial"])
def test_start_with_a_whole_zone_in_the_journal(knotd, load):
    """That is what was served last: a file that breaks a rail isn't merged into it, and the zone is served as it was."""
    items = ["publish-max-shrink: 10", f"zonefile-load: {load}", "zonefile-sync: -1", "journal-content: all"]
    start(knotd, items, text(1))
    knotd.wait_log(r"zone stored to journal, serial 1")
    for option in ("zone-begin", "zone-set example host60 60 A 192.0.2.60", "zone-commit"):
        words = option.split()
        knotd.knotc(words[0], "example", *words[2:])
    assert serial(knotd) == 2
    knotd.stop()
    knotd.write("example.zone", text(3, hosts=2))
    knotd.start()
    knotd.wait_log(r"error: \[example\.\] zone event 'load' failed \(guard rail\)")
    assert serial(knotd) == 2 and knotd.ask("host60.example").answer and knotd.ask("host7.example").answer
    reason = "publish-max-shrink 10 %, records 14 -> 5, -64.3 %"
    assert error(knotd).endswith("guard rail, " + reason)
    assert reload(knotd) == (1, f"error: [example] (guard rail, {reason})")
    knotd.stop()        # also from the image of what was served
    knotd.start()
    knotd.wait(lambda: serial(knotd) == 2, what="the zone")
    assert reload(knotd, "-f")[0] == 0
    assert serial(knotd) == 3 and not knotd.ask("host7.example").answer and not knotd.ask("host60.example").answer


def test_items(knotd):
    """Values that are wrong, with the place; a change of the items holds from the next version on."""
    start(knotd, [], text(1))
    conf = knotd.path.read_text()
    for value, reason in (("publish-max-shrink: 101", "value is out of range"), ("publish-max-shrink: few", "invalid parameter"),
                          ("publish-require: ns", "invalid parameter")):
        knotd.conf(conf + f"    {value}\n")
        done = knotd.knotc("reload", check=False)
        assert done.returncode == 1
        item, _, text_of = value.partition(": ")
        knotd.wait_log(re.escape(f"item '{item}', value '{text_of}' ({reason})"))
    knotd.conf(conf + "    publish-max-shrink: 0\n")
    knotd.knotc("reload")
    knotd.write("example.zone", text(2, hosts=9))
    assert reload(knotd) == (1, "error: [example] (guard rail, publish-max-shrink 0 %, records 13 -> 12, -7.7 %)")
    knotd.conf(conf)
    knotd.knotc("reload")
    knotd.wait(lambda: serial(knotd) == 2, what="the version of the file")
