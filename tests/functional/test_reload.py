# SPDX-License-Identifier: BSD-2-Clause
"""Reload: new versions appear at once and whole, broken ones never; the old keep serving."""
import re
import signal
import threading

import dns.rcode
import dns.resolver
import pytest

from zones import example, many

pytestmark = pytest.mark.core


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(1))
    knotd.configure(zones=["example"])
    return knotd.start()


def version(server, zone="example", **options):
    return server.ask(f"version.{zone}", "TXT", **options).answer[0][0].strings[0].decode()


def reload_by(server, how):
    if how == "hup":
        server.process.send_signal(signal.SIGHUP)
    else:
        server.knotc(*how)


@pytest.mark.parametrize("how", ["hup", ("reload",), ("zone-reload", "example")], ids=["hup", "reload", "zone-reload"])
def test_new_version(server, how):
    server.write("example.zone", example(2))
    reload_by(server, how)
    server.wait(lambda: version(server) == "2", 10, "version 2")
    assert server.ask("example", "SOA").answer[0][0].serial == 2


def test_usr1_reloads_zones(server):
    server.write("example.zone", example(2))
    server.process.send_signal(signal.SIGUSR1)
    server.wait(lambda: version(server) == "2", 10, "version 2")


@pytest.mark.parametrize("text, line", [
    (example(2) + "www A 1.2.3\n", None),
    (example(2) + "foo BAR baz\n", None),
    ("@ SOA ns1 admin 2 1 1 1\n", 1),
    (example(2).replace("$TTL 3600", "$TTL soon"), 2),
    ("", None),
], ids=["bad address", "unknown type", "short SOA", "bad TTL", "empty file"])
def test_broken_zone_keeps_the_old_version(server, text, line):
    server.write("example.zone", text)
    server.knotc("zone-reload", "example", check=False)
    server.wait_log(r"error: \[example\.\]", 10)
    assert version(server) == "1"
    if line is not None:
        assert f"line {line}" in server.log()


@pytest.mark.parametrize("extra", ["\nserver:\n    nonsense: on\n", "\nzone:\n  - domain: second\n    storage: \n\t"],
                         ids=["unknown item", "tabulator"])
def test_broken_configuration_keeps_the_old(server, extra):
    good = server.path.read_text()
    server.write("second.zone", example().replace("example.", "second."))
    server.path.write_text(good + extra)
    server.process.send_signal(signal.SIGHUP)
    server.wait_log(r"error: .*config, file", 10)
    assert version(server) == "1"
    assert server.ask("second", "SOA").rcode() == dns.rcode.REFUSED
    server.path.write_text(good)
    server.knotc("reload")
    assert version(server) == "1"


def test_zone_added_and_removed(server):
    server.write("second.zone", example(5).replace("$ORIGIN example.", "$ORIGIN second.").replace("ns2.example.", "ns2"))
    server.configure(zones=["example", "second"])
    server.knotc("reload")
    server.wait(lambda: server.ask("version.second", "TXT").answer, 10, "second zone")
    assert version(server, "second") == "5"
    server.configure(zones=["second"])
    server.knotc("reload")
    server.wait(lambda: server.ask("example", "SOA").rcode() == dns.rcode.REFUSED, 10, "first zone gone")
    assert version(server, "second") == "5"


def test_settings_that_need_a_restart_are_named(server):
    server.configure(zones=["example"], server="socket-affinity: on")
    server.knotc("reload")
    server.wait_log(r"warning: changes of .* require restart to take effect", 10)


def test_a_setting_that_goes_back_needs_no_restart(server):
    """A warning that was printed once isn't printed by the next reload, nor when it is what runs again."""
    for workers in (3, 3, 2):
        server.conf(re.sub(r"udp-workers: \d", f"udp-workers: {workers}", server.path.read_text()))
        server.knotc("reload")
    assert re.findall("changes of .* require", server.log()) == ["changes of udp-workers require"]


def test_settings_that_apply_at_once(server):
    server.configure(zones=["example"], server='identity: "changed"\nnsid: "changed"')
    server.knotc("reload")
    server.wait(lambda: server.ask("id.server", "TXT", rdclass="CH").answer[0][0].strings[0] == b"changed", 10, "identity")


@pytest.mark.threads
def test_reload_under_load(knotd):
    """Every answer is from one version, none is lost, and time never runs backwards for one socket."""
    count = 3000
    knotd.write("example.zone", many("example.", count, 1))
    knotd.configure(zones=["example"])
    knotd.start()
    stop, faults, asked = threading.Event(), [], [0]

    def client():
        last = 0
        while not stop.is_set():
            try:
                serial = knotd.ask("version.example", "TXT").answer[0][0].strings[0]
            except Exception as error:  # pylint: disable=broad-except
                faults.append(repr(error))
                return
            asked[0] += 1
            if int(serial) < last:
                faults.append(f"version {serial} after {last}")
            last = int(serial)

    threads = [threading.Thread(target=client) for _ in range(2)]
    for thread in threads:
        thread.start()
    serial = 1
    while serial < 8 or (asked[0] <= 100 and not faults):
        serial += 1
        knotd.write("new", many("example.", count, serial)).rename(knotd.dir / "example.zone")
        knotd.knotc("-b", "zone-reload", "example")
        knotd.wait(lambda s=serial: version(knotd) == str(s), 10, f"version {serial}")
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults and asked[0] > 100
