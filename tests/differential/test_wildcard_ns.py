# SPDX-License-Identifier: BSD-2-Clause
"""NS at a wildcard: undefined by RFC 4592 4.2, so what Knot DNS and NSD agree on is right. BIND loads no such zone."""
import pathlib
import shutil
import tempfile

import dns.flags
import dns.message
import dns.query
import dns.rdatatype
import pytest

import peers
from harness.server import built
from zones import Zone

PEERS = ("/usr/sbin/knotd", "/usr/sbin/nsd")

pytestmark = pytest.mark.skipif(not all(shutil.which(path) for path in PEERS), reason="knotd or nsd is not installed")


def wildcard_zone():
    zone = Zone("wild-ns.test.")
    zone.apex("ns.wild-ns.test.")
    zone.add("ns.wild-ns.test.", "A", "192.0.2.1")
    zone.add("*.cut.wild-ns.test.", "NS", "ns.elsewhere.")
    zone.add("*.signed-cut.wild-ns.test.", "NS", "ns.elsewhere.")
    zone.add("*.signed-cut.wild-ns.test.", "DS", f"4711 13 2 {'AB' * 32}")
    return zone


def shape(reply):
    """What an answer says, without additional data."""
    sections = [sorted(f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)} {sorted(map(str, rrset))}" for rrset in section)
                for section in (reply.answer, reply.authority)]
    return reply.rcode(), bool(reply.flags & dns.flags.AA), sections


@pytest.fixture(scope="module")
def ports():
    stack = []
    with tempfile.TemporaryDirectory(prefix="bowline-wildcard-ns-") as place:
        directory = pathlib.Path(place)
        directory.chmod(0o755)          # servers that were started by root give up their rights
        zone = wildcard_zone()
        (directory / zone.file_name()).write_text(zone.text())
        try:
            result = {}
            for name, program in (("knot", PEERS[0]), ("bowline", built("knotd", "knotd"))):
                daemon = peers.knot(directory / name, [zone], directory, program).start(ready=False)
                stack.append(daemon.finish)
                daemon.wait_ready(60)
                daemon.wait(lambda d=daemon: d.knotc("zone-read", zone.name, "@", "SOA", check=False).returncode == 0, 60, "the zone")
                result[name] = daemon.port
            nsd = peers.Nsd(directory / "nsd", [zone], directory).start()
            stack.append(nsd.stop)
            nsd.wait()
            yield {**result, "nsd": nsd.port}
        finally:
            for action in reversed(stack):
                action()


@pytest.mark.parametrize("rtype", ["DS", "NS", "A"])
@pytest.mark.parametrize("name", ["a.cut", "a.b.cut", "*.cut", "a.signed-cut"])
def test_as_knot_and_nsd(ports, name, rtype):
    query = dns.message.make_query(f"{name}.wild-ns.test.", rtype, use_edns=0)
    said = {server: shape(dns.query.udp(query, "127.0.0.1", port=port, timeout=20)) for server, port in ports.items()}
    assert said["bowline"] == said["knot"]
    if rtype == "DS":                   # a referral's owner is a matter of taste
        assert said["bowline"] == said["nsd"]
