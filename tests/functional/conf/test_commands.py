# SPDX-License-Identifier: BSD-2-Clause
"""conf-begin to conf-commit, each with every error that it has. The rows were taken from Knot DNS 3.2.6 and pass there, too
(KNOTD=/usr/sbin/knotd), but those marked as ours."""
import os
import re
import shutil
import signal
import warnings

import pytest

from conf_server import Conf, import_conf, start
from harness.control import BLOCK, Client, command, unit
from harness.server import built, library
from harness.waiting import PATIENCE
from zones import example

pytestmark = pytest.mark.core

BASE = {"zones": ["a.test", "b.test"], "text": "template:\n  - id: default\n  - id: t\nmod-stats:\n  - id: s1\n"}


@pytest.fixture
def server(knotd):
    for zone in ("a.test", "b.test"):
        knotd.write(f"{zone}.zone", example(1).replace("$ORIGIN example.", f"$ORIGIN {zone}."))
    return start(knotd, **BASE)


@pytest.fixture
def conf(server):
    with Conf(server) as made:
        yield made


def test_without_transaction(conf):
    for name in ("conf-commit", "conf-diff", "conf-get", "conf-set", "conf-unset"):
        assert conf.error(name) == "no active transaction", name
    assert conf.error("conf-abort") == ""
    reply = conf.block("conf-set", "zone[c.test].file=x")
    assert reply == [("data", {"cmd": "conf-set", "error": "no active transaction", "section": "zone", "id": "c.test", "item": "file",
                               "data": "x"})]


def test_begin_twice_and_end(conf):
    assert conf.error("conf-begin") == ""
    assert conf.error("conf-begin").startswith("too many transactions")
    assert conf.error("conf-abort") == ""
    assert conf.error("conf-abort") == ""
    assert conf.error("conf-begin") == ""
    assert conf.error("conf-commit") == ""      # of nothing
    assert conf.error("conf-commit") == "no active transaction"


SET_ERRORS = {
    "": "invalid parameter",
    "nosuch": "invalid item",
    "SERVER.identity=x": "invalid item",
    "mod-nosuch[x]": "invalid item",
    "server": "operation not supported",
    "server=x": "value not supported",
    "server[id]": "identifier not supported",
    "server[id].nosuch": "identifier not supported",
    "server.nosuch": "invalid item",
    "server.nosuch=5": "invalid item",
    "server.identity": "missing value",
    "server.udp-workers=0": "value is out of range",
    "server.udp-workers=99999999999999999999999": "value is out of range",
    "server.udp-workers=many": "invalid parameter",
    "zone": "missing identifier",
    "zone[]": "missing identifier",
    "zone.file": "missing value",
    "zone.domain": "missing identifier",
    "zone[a.test]": "duplicate identifier",
    "zone[A.TEST.]": "duplicate identifier",
    "zone[bad..name]": "invalid parameter",
    "zone[new.test]=data": "value not supported",
    "zone[w.test].domain=w.test": "value not supported",
    "zone[nosuch.test].file=x": "invalid identifier",
    "zone[nosuch.test].file": "missing value",
    "zone[nosuch.test].nosuch": "invalid item",
    "zone[a.test].template=nosuch": "not exists",
    "zone[a.test].module=mod-stats/nosuch": "not exists",
    "zone[a.test].module=mod-nosuch": "invalid parameter",
    "zone[a.test].semantic-checks=maybe": "invalid parameter",
    "include": "missing value",
    "include[id]=x": "identifier not supported",
    "include.item=x": "invalid item",
    "include=/nonexistent": "file error",
}

UNSET_ERRORS = {
    "nosuch": "invalid item",
    "server.nosuch": "invalid item",
    "server[id]": "identifier not supported",
    "server.identity": "not exists",
    "server.listen=192.0.2.99": "not exists",
    "zone[nosuch.test]": "invalid identifier",
    "zone.domain=nosuch.test": "invalid identifier",
    "zone[a.test].domain=a.test": "value not supported",
    "zone[a.test].nosuch": "invalid item",
    "zone[a.test].file": "not exists",
    "zone[a.test].storage=/nonexistent": "not exists",
    "zone[a.test].semantic-checks=xx": "invalid parameter",
    "include": "operation not supported",
    "[id].item": "invalid item",
}

READ_ERRORS = {
    "nosuch": "invalid item",
    "server.nosuch": "invalid item",
    "server[id]": "identifier not supported",
    "zone[nosuch.test]": "invalid identifier",
    "include": "operation not supported",
}


def test_errors_of_edits(conf):
    """Nothing that fails changes anything, and the reply names what it is about."""
    conf.do("conf-begin")
    for name, rows in (("conf-set", SET_ERRORS), ("conf-unset", UNSET_ERRORS), ("conf-get", READ_ERRORS)):
        for edit, text in rows.items():
            assert conf.error(name, edit) == text, f"{name} {edit}"
    assert conf.block("conf-diff") == []
    reply = conf.block("conf-set", "zone[a.test].template=nosuch")
    assert reply == [("data", {"cmd": "conf-set", "error": "not exists", "section": "zone", "id": "a.test", "item": "template",
                               "data": "nosuch"})]


def test_errors_of_reading(conf):
    for edit, text in READ_ERRORS.items():
        assert conf.error("conf-read", edit) == text, edit
    assert conf.error("conf-list", "nosuch") == "invalid item"
    assert conf.error("conf-list", "server") == "operation not supported"


@pytest.mark.ours
def test_too_many_values(conf):
    """The words of a file that has too many."""
    conf.do("conf-begin")
    conf.block("conf-unset", "control.listen")     # perhaps it isn't set
    for number in range(4):
        conf.do("conf-set", f"control.listen={number}.sock")
    assert conf.error("conf-set", "control.listen=4.sock") == "too many values"
    conf.do("conf-set", "control.listen=3.sock")        # is there already
    assert [items["data"] for _, items in conf.block("conf-get", "control.listen")] == [f"{number}.sock" for number in range(4)]
    conf.do("conf-abort")


@pytest.mark.ours
def test_what_is_not_supported_yet(conf):
    conf.do("conf-begin")
    assert conf.error("conf-set", "zone[a.test].zone-db-output=2") == "not supported yet"
    assert conf.error("conf-set", "zone[a.test].module=mod-probe") == "not supported yet"
    assert conf.error("conf-list", filters="t") == ""
    conf.do("conf-abort")
    for letters in ({"filters": "t"}, {"filters": "st"}, {"flags": "t"}, {"flags": "st"}):      # flags: clients of Knot 3.2
        assert conf.error("conf-list", **letters) == "no active transaction"


def test_edits_diff_and_get(conf):
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]")
    conf.do("conf-set", "zone.domain=d.test")
    conf.do("conf-set", "zone[c.test].template=t")
    conf.do("conf-set", "zone[c.test].module=mod-stats/s1")
    conf.do("conf-set", "zone[c.test].module=mod-stats")
    conf.do("conf-set", "zone[c.test].module=mod-stats")
    conf.do("conf-set", "server.identity=me")
    conf.do("conf-unset", "zone[b.test].storage")
    conf.do("conf-unset", "template[t]")
    conf.do("conf-unset", "zone[c.test].template")
    storage = conf.lines("conf-get", "zone[a.test].storage")[0].split()[1]
    assert sorted(conf.lines("conf-diff")) == sorted([
        "+server.identity me", "-template.id t",
        "+zone.domain c.test.", "+zone[c.test.].module mod-stats/s1", "  +zone[c.test.].module mod-stats",
        "+zone.domain d.test.", f"-zone[b.test.].storage {storage}",
    ])
    assert conf.lines("conf-diff", "zone[b.test]") == [f"-zone[b.test.].storage {storage}"]
    assert conf.lines("conf-diff", "server") == ["+server.identity me"]
    assert conf.lines("conf-get", "zone[c.test]") == ["zone.domain c.test.", "zone[c.test.].module mod-stats/s1",
                                                      "  zone[c.test.].module mod-stats"]
    assert conf.lines("conf-get", "server.identity", "zone[d.test]") == ["server.identity me", "zone.domain d.test."]
    assert conf.lines("conf-get", "server.identity", "zone[nosuch]", "zone[d.test]") == ["server.identity me", "error: invalid identifier"]
    assert "zone.domain c.test." not in conf.lines("conf-read", "zone")
    conf.do("conf-commit")
    assert "zone.domain c.test." in conf.lines("conf-read", "zone")
    assert conf.lines("conf-read", "server.identity") == ["server.identity me"]


def test_a_block_is_done_as_a_whole(conf):
    conf.do("conf-begin")
    reply = conf.block("conf-set", "zone[n1.test]", "zone[n2.test]", "zone[n2.test]", "zone[n3.test]")
    assert reply == [("data", {"cmd": "conf-set", "error": "duplicate identifier", "section": "zone", "id": "n2.test"})]
    assert conf.error("conf-get", "zone[n1.test]") == "invalid identifier"
    conf.do("conf-set", "zone[n1.test]", "zone[n2.test]", "zone[n1.test].file=x")
    assert conf.error("conf-unset", "zone[n1.test]", "zone[nosuch.test]") == "invalid identifier"
    assert conf.lines("conf-get", "zone[n1.test]") == ["zone.domain n1.test.", "zone[n1.test.].file x"]


def test_a_block_that_is_cut_off_is_not_done(server, conf):
    conf.do("conf-begin")
    with Conf(server) as other:
        other.client.send(unit(cmd="conf-set", section="zone", id="n1.test"), unit(cmd="conf-set", section="zone", id="n2.test"))
    server.wait(lambda: conf.error("conf-get", "zone[n1.test]") == "invalid identifier", what="the block undone")
    conf.do("conf-abort")


def test_a_failed_check_keeps_the_transaction(server, conf):
    conf.do("conf-begin")
    conf.do("conf-set", "mod-rrl[r]")
    conf.do("conf-set", "xdp.listen=foo/bar")
    reply = conf.block("conf-commit")
    assert reply == [("data", {"error": "invalid XDP interface specification", "section": "xdp", "item": "listen",
                               "data": "foo/bar"})]
    assert conf.error("conf-begin").startswith("too many transactions")
    conf.do("conf-unset", "xdp")
    conf.do("conf-unset", "mod-rrl")
    conf.do("conf-set", "template[x]")
    conf.do("conf-set", "zone[a.test].template=x")
    conf.do("conf-unset", "template[x]")
    assert conf.block("conf-commit") == [("data", {"error": "invalid reference", "section": "zone", "id": "a.test.",
                                                   "item": "template", "data": "x"})]
    assert server.ask("www.a.test").answer
    conf.do("conf-unset", "zone[a.test].template")
    conf.do("conf-commit")
    assert conf.error("conf-commit") == "no active transaction"


@pytest.mark.ours       # Knot 3.2 can't commit after an include that failed
def test_include(server, conf):
    good = server.write("good.conf", "server:\n    identity: inc\nzone:\n  - domain: inc.test\n    template: t\n")
    bad = server.write("bad.conf", "zone:\n  - domain: inc2.test\n  - domain: inc3.test\n    nosuch: x\n")
    conf.do("conf-begin")
    conf.do("conf-set", f"include={good}")
    before = conf.lines("conf-diff")
    assert conf.error("conf-set", f"include={bad}") == "invalid item"
    assert conf.error("conf-set", "zone[inc4.test]", f"include={bad}") == "invalid item"
    assert conf.lines("conf-diff") == before == ["+server.identity inc", "+zone.domain inc.test.", "+zone[inc.test.].template t"]
    conf.do("conf-commit")
    assert conf.lines("conf-read", "zone[inc.test]") == ["zone.domain inc.test.", "zone[inc.test.].template t"]


@pytest.mark.ours
def test_clear(conf):
    conf.do("conf-begin")
    conf.do("conf-set", "clear=mod-*")
    assert conf.lines("conf-diff") == ["-mod-stats.id s1"]
    conf.do("conf-set", "clear=zone")
    assert conf.lines("conf-get", "zone") == []


def test_everything_away(server, conf):
    conf.do("conf-begin")
    conf.do("conf-unset")
    assert conf.lines("conf-get") == []
    conf.do("conf-abort")
    assert conf.lines("conf-read", "zone.domain") == ["zone.domain a.test.", "zone.domain b.test."]


def test_reload_is_refused(server, conf):
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]")
    assert conf.error("reload").startswith("too many transactions")
    assert conf.lines("conf-diff") == ["+zone.domain c.test."]
    conf.do("conf-abort")
    assert conf.error("reload") == ""


@pytest.mark.ours
def test_reload_by_signal_is_refused(server, conf):
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]")
    server.process.send_signal(signal.SIGHUP)
    server.wait_log("warning: reload aborted due to active configuration transaction")
    conf.do("conf-commit")
    assert "zone.domain c.test." in conf.lines("conf-read", "zone")


@pytest.mark.ours
@pytest.mark.threads
def test_a_later_unit_reads_the_transaction_alone(server, conf):
    """Reading a transaction sorts it, so no other request may run: also where only the second unit of a block asks for it."""
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]")
    with Client(server.socket) as other, Client(server.socket, timeout=1) as reader:
        other.send(unit(cmd="zone-abort", zone="a.test") * 2)     # goes on, with what commands share, until its block ends
        server.wait_log(r"control, error \(no active transaction\)")
        reader.send(unit(cmd="conf-list", section="zone"), unit(cmd="conf-list", section="zone", filters="t"), BLOCK)
        reply = b""
        with pytest.raises(TimeoutError):
            while b"c.test" not in reply:
                reply += reader.read(1)
        other.send(BLOCK)
        reader.stream.settimeout(10 * PATIENCE)
        while not reply.endswith(BLOCK):
            reply += reader.read(1)
        assert b"c.test." in reply


@pytest.mark.ours
def test_other_sockets(knotd):
    """A transaction belongs to the socket at which it was begun."""
    knotd.configure(control=knotd.PATIENT, **BASE)
    knotd.path.write_text(knotd.path.read_text().replace("listen: knot.sock", "listen: [knot.sock, other.sock]"))
    import_conf(knotd)
    knotd.start()
    with Conf(knotd) as mine, Conf(knotd, knotd.dir / "run" / "other.sock") as other:
        assert other.error("conf-commit") == "no active transaction"
        mine.do("conf-begin")
        assert other.error("conf-begin").startswith("too many transactions")
        for name in ("conf-set", "conf-unset", "conf-get", "conf-diff"):
            assert other.error(name, "zone[c.test]") == "transaction thread mismatch", name
        assert other.error("conf-list", filters="t") == "transaction thread mismatch"
        assert other.error("conf-commit") == "requested resource is busy"
        assert other.error("conf-abort") == "requested resource is busy"
        assert other.lines("conf-read", "zone.domain") == ["zone.domain a.test.", "zone.domain b.test."]
        mine.do("conf-set", "zone[c.test]")
        with Conf(knotd) as again:      # another connection to the same socket
            again.do("conf-commit")
        assert "zone.domain c.test." in other.lines("conf-read", "zone.domain")


@pytest.mark.ours
def test_zone_transactions_keep_it_out(server, conf):
    if command(server.socket, "zone-begin", "a.test") == "operation not supported":
        pytest.skip("there are no zone transactions")
    assert conf.error("conf-begin").startswith("too many transactions")
    assert command(server.socket, "zone-abort", "a.test") == ""
    conf.do("conf-begin")
    assert command(server.socket, "zone-begin", "a.test").startswith("too many transactions")
    conf.do("conf-abort")


def test_log_lines(server, conf):
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]")
    conf.error("conf-set", "zone[c.test].nosuch=1")
    conf.do("conf-commit")
    for line in ("info: control, received command 'conf-begin'", "debug: control, config item 'zone[c.test]'",
                 "debug: control, config item 'zone[c.test].nosuch'", "debug: control, command 'conf-set' (invalid item)"):
        assert line in server.log(), line


# ---- Clients ----

def clients():
    yield "ours"
    yield "/usr/sbin/knotc"


@pytest.mark.parametrize("client", clients())
def test_knotc(server, client):
    program = built("knotc", "tools") if client == "ours" else client
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")

    def knotc(*words):
        done = server.knotc(*words, program=program, check=False)
        return done.returncode, done.stdout.strip()

    assert knotc("conf-set", "zone[c.test]") == (1, "error: (no active transaction) zone[c.test]")
    assert knotc("conf-begin") == (0, "OK")
    status, text = knotc("conf-begin")
    assert status == 1 and text.startswith("error: (too many transactions")
    assert knotc("conf-set", "zone[c.test]") == (0, "OK")
    assert knotc("conf-set", "zone[c.test].template", "t") == (0, "OK")
    assert knotc("conf-get", "zone[c.test]") == (0, "zone.domain = c.test.\nzone[c.test.].template = t")
    assert knotc("conf-diff") == (0, "+zone.domain = c.test.\n+zone[c.test.].template = t")
    assert knotc("conf-commit") == (0, "OK")
    assert knotc("conf-read", "zone[c.test].template") == (0, "zone[c.test.].template = t")
    assert knotc("conf-abort") == (0, "OK")


@pytest.mark.ours
def test_python_package(server):
    pytest.importorskip("libknot.dname", reason="the Python package libknot is not installed")
    import libknot.control
    path = library()
    assert path is not None, "the library is not built"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        libknot.Knot(str(path))
    control = libknot.control.KnotCtl()
    control.set_timeout(10 * PATIENCE)
    control.connect(str(server.socket))

    def run(name, **items):
        control.send_block(name, **items)
        return control.receive_block()

    run("conf-begin")
    run("conf-set", section="zone", identifier="c.test")
    run("conf-set", section="zone", identifier="c.test", item="template", data="t")
    assert run("conf-get", section="zone", identifier="c.test")["zone"]["c.test."]["template"] == ["t"]
    with pytest.raises(libknot.control.KnotCtlError, match="not exists"):
        run("conf-set", section="zone", identifier="c.test", item="template", data="nosuch")
    run("conf-commit")
    assert run("conf-read", section="zone", identifier="c.test", item="template") == {"zone": {"c.test.": {"template": ["t"]}}}
    control.send(libknot.control.KnotCtlType.END)
    control.close()


# ---- The log: what was changed, and by which user ----

@pytest.mark.ours
def test_log_names_the_item(server, conf):
    """The receipt of a change says which item, which value and which user, for each unit of the block; behind Knot's words."""
    uid = os.getuid()
    conf.do("conf-begin")
    conf.do("conf-set", "zone[c.test]", "server.nsid=ams1", "remote[r]", "remote[r].address=192.0.2.1", "remote[r].address=192.0.2.2")
    conf.do("conf-unset", "server.nsid")
    conf.do("conf-unset")
    conf.do("conf-abort")
    received = [line.split("info: control, received command ", 1)[1] for line in server.log().splitlines()
                if "received command 'conf-" in line]
    assert received == [f"'conf-begin', by uid {uid}",
                        f"'conf-set', by uid {uid}, item 'zone[c.test]'",
                        f"'conf-set', by uid {uid}, item 'server.nsid', data 'ams1'",
                        f"'conf-set', by uid {uid}, item 'remote[r]'",
                        f"'conf-set', by uid {uid}, item 'remote[r].address', data '192.0.2.1'",
                        f"'conf-set', by uid {uid}, item 'remote[r].address', data '192.0.2.2'",
                        f"'conf-unset', by uid {uid}, item 'server.nsid'",
                        f"'conf-unset', by uid {uid}",
                        f"'conf-abort', by uid {uid}"]


SECRET = "c2VjcmV0IG9mIGEga2V5"
SECRETS = [f"key[k].secret={SECRET}", f"KEY[k].SECRET={SECRET}", f"key[k].algorithm={SECRET}", f"key[k].secrt={SECRET}", f"key[k]={SECRET}",
           f"key[k].secret={SECRET}=", f"kye[k].secret={SECRET}", f"mod-cookies[c].secret=0x{SECRET}",
           f"keystore[s].config=pkcs11:pin-value={SECRET} m.so"]


@pytest.mark.ours
@pytest.mark.parametrize("edit", SECRETS)
@pytest.mark.parametrize("command", ["conf-set", "conf-unset"])
def test_log_has_no_secrets(server, conf, command, edit):
    """Neither where it belongs, nor where a slip puts it, nor in the message about one that is wrong."""
    item = edit.partition("=")[0]
    conf.do("conf-begin")
    conf.block(command, edit)
    conf.do("conf-abort")
    assert f"'{command}', by uid {os.getuid()}, item '{item}'\n" in server.log()
    assert SECRET not in server.log()


@pytest.mark.ours
@pytest.mark.parametrize("items, shown", [
    ({"cmd": "conf-set", "section": "", "item": "x"}, ", item '.x'"),
    ({"cmd": "conf-set", "section": ""}, ", item ''"),
    ({"cmd": "conf-set", "section": "server", "id": "", "item": ""}, ", item 'server'"),
    ({"cmd": "zone-unset", "zone": "a.test", "owner": "", "type": "A"}, ", record '@ A'"),
    ({"cmd": "zone-serial-set", "zone": "a.test", "type": "", "data": "7"}, ", data '7'"),
    ({"cmd": "zone-serial-set", "zone": "a.test", "data": ""}, ", data ''"),
], ids=str)
def test_log_of_empty_words(server, conf, items, shown):
    """Nothing that a client sends stands behind the number of the user as if it belonged to it."""
    conf.client.send(unit(**items), BLOCK)
    conf.client.block()
    assert f"received command '{items['cmd']}', by uid {os.getuid()}{shown}\n" in server.log()


@pytest.mark.ours
def test_log_lines_are_bounded(server, conf):
    """A long value is cut between characters, a block of many units is counted from the 17th on, and no value begins a line."""
    conf.do("conf-begin")
    conf.do("conf-set", "server.nsid=" + "ü" * 400)
    conf.block("conf-set", "server.version=a\nb: [x.] c")
    conf.do("conf-set", *(f"zone[z{i}.test]" for i in range(40)))
    conf.do("conf-abort")
    log = server.log()
    assert re.search(r"item 'server.nsid', data 'ü{100}\.\.\.'\n", log)
    assert re.search(r"item 'server.version', data 'a b: \[x\.\] c'\n", log)
    assert max(int(number) for number in re.findall(r"received command 'conf-set', .* item 'zone\[z(\d+)\.test\]'", log)) == 15
    assert "received command 'conf-set', 24 more items\n" in log
