# SPDX-License-Identifier: BSD-2-Clause
"""Guards the promise that the Python package libknot works over our library, against our server."""
import warnings

import pytest

from harness.server import library as our_library
from harness.waiting import PATIENCE
from xdp_server import ask, start
from zones import example

# By a module that only the package has: our folder libknot/ itself passes for a package when it is in the path.
pytest.importorskip("libknot.dname", reason="the Python package libknot is not installed")
import libknot.control  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def library():
    path = our_library()
    assert path is not None, "the library is not built"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        libknot.Knot(str(path))


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(7))
    (knotd.dir / "db").mkdir()
    knotd.configure(zones=["example", "missing.test"], text="template:\n  - id: default\n    global-module: mod-stats\n")
    return knotd.start()


@pytest.fixture
def control(server):
    made = libknot.control.KnotCtl()
    made.set_timeout(10 * PATIENCE)
    made.connect(str(server.socket))
    yield made
    if server.process.poll() is None:
        made.send(libknot.control.KnotCtlType.END)
    made.close()


def test_names_and_numbers():
    assert libknot.Knot.rtype_str(28) == "AAAA" and libknot.Knot.rtype_str(65280) == "TYPE65280"
    assert libknot.Knot.rcode_str(3) == "NXDOMAIN" and libknot.Knot.rcode_str(11) == "RCODE11"
    name = libknot.dname.KnotDname("www.Example.com")
    assert (name.str(), name.size(), name.wire()) == ("www.Example.com.", 17, b"\x03www\x07Example\x03com\x00")
    assert libknot.dname.KnotDname(dname_wire=b"\x01.\x00").str() == "\\.."
    for wire in (b"\x03ww", b"\x40" + b"a" * 64 + b"\x00"):
        with pytest.raises(ValueError):
            libknot.dname.KnotDname(dname_wire=wire)


def test_blocks_on_one_connection(control):
    """As a scrape of knot-exporter does: several commands, one connection, an empty FLAGS item."""
    control.send_block("stats", flags="")
    assert control.receive_stats()["server"]["zone-count"] == 2
    control.send_block("zone-stats", flags="")
    assert control.receive_stats()["zone"]["example."]["zone"]["size"] > 1000
    control.send_block("zone-status")
    status = control.receive_block()
    assert status["example."]["serial"] == "7" and status["missing.test."]["serial"] == "-"
    assert {"expiration", "refresh"} <= set(status["example."])
    control.send_block("zone-read", rtype="SOA")
    soa = control.receive_block()["example."]["example."]["SOA"]
    assert len(soa["data"][0].split()) == 7 and soa["ttl"] == "3600"
    control.send_block("status", rtype="workers")
    assert control.receive_block()["workers"]["UDP workers"] == 2
    control.send_block("status", rtype="configure")
    assert "Version" in control.receive_block()["configure"]
    control.send_block("status")
    assert control.receive_block() == {"status": "Running"}


def test_zone_transaction(control, server):
    """Several records in one block, and what they become."""
    control.send_block("zone-begin", zone="example.")
    assert control.receive_block() == {}
    control.send_block("zone-set", zone="example.", owner="new", ttl="60", rtype="A", data="192.0.2.77")
    assert control.receive_block() == {}
    control.send_block("zone-unset", zone="example.", owner="www", rtype="AAAA")
    assert control.receive_block() == {}
    control.send_block("zone-get", zone="example.", owner="new")
    assert control.receive_block()["example."]["new.example."]["A"] == {"ttl": "60", "data": ["192.0.2.77"]}
    control.send_block("zone-set", zone="example.", owner="new", ttl="60", rtype="A", data="192.0.2")
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="parser failed"):
        control.receive_block()
    control.send_block("zone-commit", zone="example.", flags="B")
    assert control.receive_block() == {}
    control.send_block("zone-status", zone="example.")
    assert control.receive_block()["example."]["serial"] == "8"
    assert server.ask("new.example", "A").answer[0][0].address == "192.0.2.77"
    assert "new.example." in (server.dir / "example.zone").read_text()


def test_errors(control):
    control.send_block("zone-read", zone="nowhere")
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="no such zone found"):
        control.receive_block()
    control.send_block("stats", section="nonsense")
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="invalid parameter"):
        control.receive_stats()
    control.send_block("status")
    assert control.receive_block() == {"status": "Running"}
    other = libknot.control.KnotCtl()
    with pytest.raises(libknot.control.KnotCtlErrorConnect, match="not exists"):
        other.connect("/nonexistent/socket")


def test_raw_units(control):
    """Units by hand: several of one command, replies unit by unit, data that one sets item by item."""
    index, kind = libknot.control.KnotCtlDataIdx, libknot.control.KnotCtlType
    for zone in ("example", "missing.test"):
        query = libknot.control.KnotCtlData()
        query[index.COMMAND], query[index.ZONE], query[index.FILTERS] = "zone-status", zone, "s"
        control.send(kind.DATA, query)
    control.send(kind.BLOCK)
    replies = []
    while True:
        reply = libknot.control.KnotCtlData()
        if control.receive(reply) == kind.BLOCK:
            break
        replies.append((reply[index.ZONE], reply[index.TYPE], reply[index.DATA], reply[index.OWNER]))
    assert replies == [("example.", "serial", "7", ""), ("missing.test.", "serial", "-", "")]


def test_zone_status_filters(control):
    control.send_block("zone-status", zone="example", filters="rs")
    assert control.receive_block() == {"example.": {"role": "master", "serial": "7"}}
    control.send_block("zone-status", zone="EXAMPLE", filters="z")
    assert control.receive_block() == {}      # a letter of no field


def test_triggers(server, control):
    """With and without waiting."""
    server.write("example.zone", example(8))
    control.send_block("zone-reload", zone="example", flags="B")
    assert control.receive_block() == {}
    control.send_block("zone-status", zone="example", filters="s")
    assert control.receive_block()["example."]["serial"] == "8"
    control.send_block("zone-reload")
    assert control.receive_block() == {}
    control.send_block("reload")
    assert control.receive_block() == {}
    control.send_block("zone-reload", zone="example", flags="B")    # a load that still runs would bring back what is purged
    assert control.receive_block() == {}
    control.send_block("zone-purge", zone="example", flags="FB", filters="e")
    assert control.receive_block() == {}
    control.send_block("zone-status", zone="example", filters="s")
    assert control.receive_block()["example."]["serial"] == "-"


def test_remote_error_has_the_request(control):
    control.send_block("zone-read", zone="example", owner="nothing", rtype="A")
    with pytest.raises(libknot.control.KnotCtlErrorRemote) as caught:
        control.receive_block()
    data = caught.value.data
    assert (data[libknot.control.KnotCtlDataIdx.ZONE], data[libknot.control.KnotCtlDataIdx.OWNER]) == ("example", "nothing")
    assert "no such node in zone found" in str(caught.value)


def test_connection_is_refused_or_ends(server, control):
    """After `stop` the connection ends, and new ones are refused."""
    control.send_block("stop")
    assert control.receive_block() == {}
    assert control.receive() == libknot.control.KnotCtlType.END
    server.wait_end()
    other = libknot.control.KnotCtl()
    with pytest.raises(libknot.control.KnotCtlErrorConnect):
        other.connect(str(server.socket))


def test_silence_of_the_server(control):
    """An unknown command gets no reply; the client's own limit ends the wait."""
    control.set_timeout(1)
    control.send_block("nonsense")
    with pytest.raises(libknot.control.KnotCtlErrorReceive):
        control.receive_block()


def test_zone_edits(server, control):
    def ask(command, **items):
        control.send_block(command, zone="example", **items)
        return control.receive_block()

    ask("zone-begin")
    ask("zone-set", owner="new", ttl="60", rtype="TXT", data='"a b" c')
    ask("zone-set", owner="new", ttl="60", rtype="A", data="192.0.2.1")
    ask("zone-unset", owner="www", rtype="AAAA")
    assert ask("zone-get", owner="new", rtype="TXT") == {"example.": {"new.example.": {"TXT": {"ttl": "60", "data": ['"a b" "c"']}}}}
    assert set(ask("zone-diff")["example."]) == {"new.example.", "www.example."}
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="too many transactions"):
        ask("zone-begin")
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="parser failed"):
        ask("zone-set", owner="bad", ttl="60", rtype="A", data="nonsense")
    ask("zone-commit")
    assert ask("zone-read", owner="new", rtype="A")["example."]["new.example."]["A"]["data"] == ["192.0.2.1"]
    assert server.ask("new.example", "A").answer
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="no active transaction"):
        ask("zone-abort")
    ask("zone-freeze", flags="B")
    assert ask("zone-status", filters="f")["example."]["freeze"] == "yes"
    ask("zone-thaw", flags="B")
    ask("zone-flush", flags="FB")
    assert "192.0.2.1" in (server.dir / "example.zone").read_text()


@pytest.mark.ours     # and Knot DNS 3.5's: 3.2 has other letters
def test_configuration(server, control):
    """Schema, values, a transaction with several units, its errors; with the letters that knotc sends, and without."""
    def ask(command, **items):
        control.send_block(command, **items)
        return control.receive_block()

    assert {"server", "zone", "template", "log"} <= set(ask("conf-list", filters="s"))
    assert "storage" in ask("conf-list", section="zone", filters="s")["zone"]
    assert ask("conf-read", section="zone", item="domain") == {"zone": {"example.": {}, "missing.test.": {}}}
    assert ask("conf-read", section="server", item="udp-workers") == {"server": {"udp-workers": ["2"]}}
    assert ask("conf-read", section="zone", identifier="example", item="storage") == {"zone": {"example.": {"storage": [str(server.dir)]}}}
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="no active transaction"):
        ask("conf-set", section="server", item="version", data="x")
    ask("conf-begin")
    ask("conf-set", section="server", item="version", data="by python")
    ask("conf-set", section="zone", identifier="new.test")
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="invalid item"):
        ask("conf-set", section="server", item="nonsense", data="x")
    assert ask("conf-diff", section="server") == {"server": {"version": ["by python"]}}
    assert set(ask("conf-get", section="zone", item="domain")["zone"]) == {"example.", "missing.test.", "new.test."}
    ask("conf-unset", section="zone", identifier="new.test")
    ask("conf-commit")
    assert ask("conf-read", section="server", item="version") == {"server": {"version": ["by python"]}}
    with pytest.raises(libknot.control.KnotCtlErrorRemote, match="no active transaction"):
        ask("conf-commit")
    ask("conf-abort")


@pytest.mark.ours
def test_xdp_commands(make_knotd, pair):
    """Tables come as sections, identifiers and items, which this package turns into dictionaries."""
    daemon = start(make_knotd, pair)
    for _ in range(3):
        ask(daemon, pair, "www.example")
    control = libknot.control.KnotCtl()
    control.set_timeout(10 * PATIENCE)
    control.connect(str(daemon.socket))
    try:
        control.send_block("xdp-status")
        reply = control.receive_block()[pair.server_if]
        assert reply["driver"] == ["veth"] and reply["state"] == ["up"]
        assert reply["answered-udp4"] == reply["0"]["answered-udp4"] == ["3"]
        control.send_block("xdp-block", identifier="192.0.2.0/24", rtype="add", data="7")
        control.receive_block()
        control.send_block("xdp-block", rtype="list")
        assert control.receive_block()["xdp-block"]["192.0.2.0/24"]["rate"] == ["7"]
        control.send_block("xdp-block", identifier="nonsense", rtype="add")
        with pytest.raises(libknot.control.KnotCtlErrorRemote):
            control.receive_block()
    finally:
        control.send(libknot.control.KnotCtlType.END)
        control.close()
