# SPDX-License-Identifier: BSD-2-Clause
"""What conf-commit changes while the server answers: zones, templates, modules, logs, limits; what has to wait is said."""
import dns.exception
import dns.flags
import dns.rcode
import pytest

from conf_server import Conf, start
from zones import example

pytestmark = pytest.mark.core


def zone_text(zone, serial):
    return example(serial).replace("$ORIGIN example.", f"$ORIGIN {zone}.")


@pytest.fixture
def server(knotd):
    (knotd.dir / "other").mkdir()
    for zone in ("a.test", "b.test", "c.test"):
        knotd.write(f"{zone}.zone", zone_text(zone, 1))
        knotd.write(f"other/{zone}.zone", zone_text(zone, 2))
    return start(knotd, zones=["a.test", "b.test"], text=f"template:\n  - id: default\n  - id: t\n    storage: {knotd.dir}\n")


@pytest.fixture
def conf(server):
    with Conf(server) as made:
        yield made


def version(server, zone):
    answer = server.ask(f"version.{zone}", "TXT")
    return int(answer.answer[0][0].strings[0]) if answer.answer else dns.rcode.to_text(answer.rcode())


def wait_version(server, zone, wanted):
    server.wait(lambda: version(server, zone) == wanted, what=f"{zone}: {wanted}")


def test_zones_come_and_go(server, conf):
    conf.change("zone[c.test]", "zone[c.test].template=t", "-zone[b.test]")
    wait_version(server, "c.test", 1)
    assert version(server, "b.test") == "REFUSED"
    assert version(server, "a.test") == 1
    conf.change("-zone[c.test]", "zone[b.test]", "zone[b.test].template=t")
    wait_version(server, "b.test", 1)
    assert version(server, "c.test") == "REFUSED"


def test_settings_of_a_zone(server, conf):
    conf.change(f"zone[a.test].storage={server.dir}/other")
    wait_version(server, "a.test", 2)
    assert version(server, "b.test") == 1


def test_template(server, conf):
    conf.change("-zone[a.test].storage", "zone[a.test].template=t", "-zone[b.test].storage", "zone[b.test].template=t")
    wait_version(server, "a.test", 1)
    conf.change(f"template[t].storage={server.dir}/other")
    for zone in ("a.test", "b.test"):
        wait_version(server, zone, 2)


@pytest.mark.ours
def test_files_that_changed_are_a_reloads_business(server, conf):
    """A commit loads what it is about, not every zone whose file is another by now."""
    server.write("a.test.zone", zone_text("a.test", 7))
    conf.change("zone[c.test]", "zone[c.test].template=t")
    wait_version(server, "c.test", 1)
    assert version(server, "a.test") == 1
    conf.change("zone[a.test].default-ttl=77")
    wait_version(server, "a.test", 7)


@pytest.mark.ours       # Knot 3.2 serves one connection at a time
def test_modules(server, conf):
    def counted():
        return server.stats().get("mod-stats.request-protocol[udp4]", 0)

    assert counted() == 0
    conf.change("template[default].global-module=mod-stats")
    for _ in range(3):
        server.ask("www.a.test")
    assert counted() == 3
    conf.change("mod-stats[quiet]", "mod-stats[quiet].request-protocol=off", "-template[default].global-module",
                "template[default].global-module=mod-stats/quiet")
    server.ask("www.a.test")
    assert counted() == 0
    conf.change("-template[default].global-module", "zone[a.test].module=mod-stats")
    server.ask("www.a.test")
    server.ask("www.b.test")
    assert server.stats("-f", "zone-stats", "a.test")["mod-stats.request-protocol[udp4]"] == 1


def test_logs(server, conf):
    path = server.dir / "more.log"
    conf.change(f"log[{path}]", f"log[{path}].any=info")
    server.wait(lambda: path.exists(), what="the log")
    conf.change("server.identity=x")
    server.wait(lambda: "received command 'conf-commit'" in path.read_text(), what="lines in it")
    conf.change(f"-log[{path}]")
    length = len(path.read_text())
    conf.change("server.identity=y")
    assert len(path.read_text()) == length


def test_limits(server, conf):
    def size(payload):
        answer = server.ask("big.a.test", "TXT", use_edns=0, payload=payload)
        return bool(answer.flags & dns.flags.TC), len(answer.to_wire())

    assert size(4096)[0]
    conf.change("server.identity=me", "server.udp-max-payload=4096")
    conf.change("server.udp-max-payload=1220")
    assert server.ask("id.server", "TXT", rdclass="CH").answer[0][0].strings[0] == b"me"


def test_statistics(server):
    path = server.dir / "run" / "dump.yaml"
    with Conf(server) as conf:
        conf.change("statistics.file=dump.yaml", "statistics.timer=1")
    server.wait(lambda: path.exists() and "server:" in path.read_text(), what="a dump")
    with Conf(server) as conf:
        conf.change("-statistics")


@pytest.mark.ours
def test_xdp_items(make_knotd, pair):
    """Items of a running interface: a prefix to drop comes and goes."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("a.test.zone", zone_text("a.test", 1))
    start(daemon, zones=["a.test"], listen=(), server=f"listen: [{pair.server4}@53]", text=f"xdp:\n    listen: {pair.server_if}@53\n")

    def is_answered(timeout=daemon.ANSWER_S):  # one query: the change was made when conf-commit was answered
        try:
            return bool(daemon.ask("www.a.test", "A", pair.server4, client=pair.client, timeout=timeout).answer)
        except dns.exception.Timeout:
            return False

    daemon.wait(lambda: is_answered(0.5), what="an answer")
    for _ in range(2):
        with Conf(daemon) as conf:
            conf.change(f"xdp.block={pair.client4}/32")
        assert not is_answered(0.5)
        with Conf(daemon) as conf:
            conf.change("-xdp.block")
        assert is_answered()
    with Conf(daemon) as conf:
        conf.do("conf-begin")
        conf.do("conf-set", f"xdp.block={pair.client4}/24")
        (_, reply), = conf.block("conf-commit")     # bits behind the prefix
        assert reply["error"] and (reply["section"], reply["item"], reply["data"]) == ("xdp", "block", f"{pair.client4}/24")


def test_what_needs_a_restart_is_said(server, conf):
    conf.change("server.udp-workers=1")
    assert "warning: changes of udp-workers require restart to take effect" in server.log()
    conf.change("server.listen=127.0.0.1@1")
    assert "require restart to take effect" in server.log().split("udp-workers", 1)[1]
    assert version(server, "a.test") == 1


@pytest.mark.ours
def test_a_zone_without_file_says_so_and_the_rest_goes_on(server, conf):
    conf.change("zone[missing.test]", "zone[missing.test].template=t")
    server.wait_log(r"\[missing\.test\.\].*failed")
    assert version(server, "missing.test") == "SERVFAIL"
    assert version(server, "a.test") == 1
