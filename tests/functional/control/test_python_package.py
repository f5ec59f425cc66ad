# SPDX-License-Identifier: BSD-2-Clause
"""Guards the promise that the Python package libknot works over our libknot.so, against our server."""
import warnings

import pytest

from harness.server import BUILD
from xdp_server import ask, start
from zones import example

# By a module that only the package has: our folder libknot/ itself passes for a package when it is in the path.
pytest.importorskip("libknot.dname", reason="the Python package libknot is not installed")
import libknot.control  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def library():
    path = BUILD / ".libs" / "libknot.so.17"
    if not path.exists():
        path = BUILD / "libknot" / ".libs" / "libknot.so.17"
    if not path.exists():
        pytest.skip("libknot.so is not built")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        libknot.Knot(str(path))


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example", "missing.test"], text="template:\n  - id: default\n    global-module: mod-stats\n")
    return knotd.start()


@pytest.fixture
def control(server):
    made = libknot.control.KnotCtl()
    made.set_timeout(5)
    made.connect(str(server.socket))
    yield made
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


@pytest.mark.ours
def test_xdp_commands(make_knotd, pair):
    """Tables come as sections, identifiers and items, which this package turns into dictionaries."""
    daemon = start(make_knotd, pair)
    for _ in range(3):
        ask(daemon, pair, "www.example")
    control = libknot.control.KnotCtl()
    control.set_timeout(5)
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
