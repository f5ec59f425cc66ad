# SPDX-License-Identifier: BSD-2-Clause
"""mod-noudp and mod-queryacl with real clients, over sockets and AF_XDP."""
import dns.edns
import dns.flags
import dns.rcode
import pytest

from zones import example, many

CONF = """\
mod-noudp:
  - id: third
    udp-allow-rate: 3
  - id: cut
    udp-truncate-rate: 3
mod-queryacl:
  - id: here
    address: [ 127.0.0.0/30, ::1 ]
  - id: there
    address: [ 192.0.2.0/24, 10.0.0.0-10.0.0.9 ]
  - id: second
    interface: 127.0.0.2
"""


def is_cut(reply):
    """TC and nothing but the question."""
    cut = bool(reply.flags & dns.flags.TC)
    assert not cut or not (reply.answer or reply.authority or reply.additional)
    assert reply.rcode() == dns.rcode.NOERROR
    return cut


def start(daemon, modules, listen=("127.0.0.1",), **options):
    for zone in modules:
        daemon.write(f"{zone}.zone", many(zone + ".", 3))
    zones = "".join(f"  - domain: {zone}\n    module: {module}\n" if module else f"  - domain: {zone}\n" for zone, module in modules.items())
    daemon.configure(text=CONF + options.pop("text", "") + f"template:\n  - id: default\n    storage: {daemon.dir}\n    file: \"%s.zone\"\n" +
                     options.pop("more", "") + "zone:\n" + zones, listen=listen, **options)
    return daemon.start()


def test_noudp(knotd):
    start(knotd, {"all": "mod-noudp", "third": "mod-noudp/third", "cut": "mod-noudp/cut", "free": ""}, server="udp-workers: 1")
    for rdtype in ("A", "TXT", "SOA"):
        assert is_cut(knotd.ask("h1.all", rdtype))
    assert is_cut(knotd.ask("nx.all", use_edns=0, payload=1232))
    nsid = {"use_edns": 0, "options": [dns.edns.GenericOption(dns.edns.NSID, b"")]}     # no more bytes than were sent
    assert not knotd.ask("h1.all", **nsid).options and knotd.ask("h1.all", tcp=True, **nsid).options
    assert knotd.ask("h1.all", tcp=True).answer and not is_cut(knotd.ask("h1.free"))
    assert [is_cut(knotd.ask("h1.third")) for _ in range(6)] == [True, True, False] * 2
    assert [is_cut(knotd.ask("h1.cut")) for _ in range(6)] == [False, False, True] * 2


def test_queryacl(knotd):
    start(knotd, {"here": "mod-queryacl/here", "there": "mod-queryacl/there", "second": "mod-queryacl/second", "free": ""},
          listen=("127.0.0.1", "127.0.0.2"))
    for tcp in (False, True):
        assert knotd.ask("h1.here", tcp=tcp).answer and knotd.ask("h1.free", tcp=tcp).answer
        refused = knotd.ask("h1.there", tcp=tcp)
        assert refused.rcode() == dns.rcode.NOTAUTH and not refused.answer and not refused.flags & dns.flags.AA
        assert knotd.ask("h1.second", tcp=tcp).rcode() == dns.rcode.NOTAUTH
        assert knotd.ask("h1.second", where="127.0.0.2", tcp=tcp).answer
    assert knotd.ask("h1.there", use_edns=0).edns == 0


def test_queryacl_wildcard_socket(knotd):
    """Which address was asked is known there, too."""
    start(knotd, {"second": "mod-queryacl/second"}, listen=("0.0.0.0",))
    for tcp in (False, True):
        assert knotd.ask("h1.second", tcp=tcp).rcode() == dns.rcode.NOTAUTH
        assert knotd.ask("h1.second", where="127.0.0.2", tcp=tcp).answer


def test_over_xdp(make_knotd, pair):
    """The same modules for queries that come over AF_XDP, of the server and of a zone."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.write("cut.zone", many("cut.", 3))

    def configure(address):
        text = f"""\
mod-queryacl:
  - id: client
    address: [ {address} ]
    interface: [ {pair.server4}, {pair.server6} ]
xdp:
    listen: {pair.server_if}@53
    tcp: on
template:
  - id: default
    storage: {daemon.dir}
    file: "%s.zone"
    global-module: mod-queryacl/client
zone:
  - domain: example
  - domain: cut
    module: mod-noudp
"""
        daemon.configure(text=text, listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]")

    def ask(name, where=pair.server4, tcp=False):
        return daemon.ask(name, where=where, client=pair.client, tcp=tcp)

    configure("0.0.0.0/0, ::/0")
    daemon.start()
    for where in (pair.server4, pair.server6):
        assert ask("www.example", where).answer and ask("www.example", where, tcp=True).answer
        assert is_cut(ask("h1.cut", where)) and ask("h1.cut", where, tcp=True).answer
    configure("192.0.2.1")
    daemon.knotc("reload")
    for where in (pair.server4, pair.server6):
        for tcp in (False, True):
            assert ask("www.example", where, tcp).rcode() == dns.rcode.NOTAUTH


@pytest.mark.ours
def test_changed_by_a_transaction(knotd):
    start(knotd, {"one": ""})
    assert not is_cut(knotd.ask("h1.one"))
    for command in (("conf-begin",), ("conf-set", "zone[one].module", "mod-noudp"), ("conf-commit",)):
        knotd.knotc(*command)
    assert is_cut(knotd.ask("h1.one"))
