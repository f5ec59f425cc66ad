# SPDX-License-Identifier: BSD-2-Clause
"""mod-rrl: floods of bounded size beside honest clients, over sockets and AF_XDP."""
import socket
import struct

import dns.edns
import dns.flags
import dns.message
import pytest

from harness.net import inside
from zones import many

COMMON = "template:\n  - id: default\n    storage: {dir}\n    file: \"%s.zone\"\n"


def configure(daemon, limits, before="", zones=("one",), per_zone=False, **options):
    for zone in zones:
        daemon.write(f"{zone}.zone", many(zone + ".", 3))
    module = "module: mod-rrl/r" if per_zone else "global-module: mod-rrl/r"
    daemon.configure(text=before + "mod-rrl:\n  - id: r\n" + "".join(f"    {line}\n" for line in limits) + COMMON + f"    {module}\n" +
                     "zone:\n" + "".join(f"  - domain: {zone}\n" for zone in zones), **options)


def query(number, name="h1.one"):
    return dns.message.make_query(name, "A", id=number).to_wire()


def flood(daemon, count, sources, where="127.0.0.1", client=None, port=None, wire_of=query):
    """Send `count` queries from each source, one after the other; replies per source as lists of (is truncated, bytes)."""
    found = {}
    with inside(client):
        socks = {source: socket.socket(socket.AF_INET6 if ":" in source else socket.AF_INET, socket.SOCK_DGRAM) for source in sources}
    try:
        for source, sock in socks.items():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            sock.bind((source, 0))
            sock.connect((where, port or daemon.port))
            found[source] = []
        for number in range(count):
            for source, sock in socks.items():
                sock.send(wire_of(number + 1))
            if number % 20 == 19:     # no faster than the server
                for source, sock in socks.items():
                    receive(sock, found[source], 0.05, number + 1)
        for source, sock in socks.items():
            receive(sock, found[source], 1, count)
    finally:
        for sock in socks.values():
            sock.close()
    return found


def receive(sock, replies, seconds, count):
    """Until there are `count` replies, or none comes for `seconds`."""
    sock.settimeout(seconds)
    try:
        while len(replies) < count:
            data = sock.recv(4096)
            replies.append((bool(struct.unpack(">H", data[2:4])[0] & dns.flags.TC), len(data)))
    except TimeoutError:
        return


def answers(replies):
    return sum(not is_cut for is_cut, _ in replies)


def cuts(replies):
    return sum(is_cut for is_cut, _ in replies)


def test_greedy_beside_honest(knotd):
    """A /24 that floods gets what it may, truncated replies beyond that; an honest neighbour and others get every answer."""
    configure(knotd, ["rate-limit: 1", "instant-limit: 10"], listen=("127.0.0.1",))
    knotd.start()
    greedy = [f"127.1.1.{n}" for n in range(1, 41)]
    found = flood(knotd, 60, greedy)
    passed = sum(answers(replies) for replies in found.values())
    # 10 at once to an address, 320 to the network; a little more as time goes on.
    assert max(answers(replies) for replies in found.values()) <= 60
    assert 300 <= passed <= 320 + 32 * 30, passed
    assert sum(map(len, found.values())) == 60 * len(greedy)        # the others were truncated
    truncated = [size for replies in found.values() for is_cut, size in replies if is_cut]
    assert max(truncated) == len(query(1))
    honest = flood(knotd, 8, [f"127.2.{n}.1" for n in range(20)])
    assert all(answers(replies) == 8 for replies in honest.values())
    # TCP isn't limited by the number of queries.
    for _ in range(30):
        assert knotd.ask("h1.one", tcp=True).answer
    stats = knotd.stats("-f", "stats")
    assert stats["mod-rrl.slipped"] == len(truncated) and stats["mod-rrl.dropped"] == 0
    assert "notice: module 'mod-rrl/r', address 127.1.1." in knotd.log() and knotd.log().count("'mod-rrl") == 1


@pytest.mark.parametrize("slip", [0, 2])
def test_slip(knotd, slip):
    configure(knotd, ["rate-limit: 1", "instant-limit: 10", f"slip: {slip}"])
    knotd.start()
    replies = flood(knotd, 200, ["127.3.3.3"])["127.3.3.3"]
    stats = knotd.stats("-f", "stats")
    assert stats["mod-rrl.slipped"] == cuts(replies)
    assert stats["mod-rrl.dropped"] == 200 - len(replies) and 10 <= answers(replies) < 60
    assert abs(cuts(replies) - (stats["mod-rrl.dropped"] if slip else 0)) <= 1
    drops = [line for line in knotd.knotc("-f", "stats").stdout.splitlines() if "by-module" in line]
    assert drops == []          # the module's own counter is the one to look at


def test_dry_run_and_whitelist(knotd):
    limits = ["rate-limit: 1", "instant-limit: 5"]
    configure(knotd, [*limits, "dry-run: on"])
    knotd.start()
    assert answers(flood(knotd, 100, ["127.4.4.4"])["127.4.4.4"]) == 100
    assert knotd.stats("-f", "stats")["mod-rrl.slipped"] > 50
    assert "(dry run)" in knotd.log()
    configure(knotd, [*limits, "whitelist: [ 127.4.0.0/16, 127.5.0.1-127.5.0.9 ]"])
    knotd.knotc("reload")
    found = flood(knotd, 100, ["127.4.4.4", "127.5.0.9", "127.5.0.10"])
    assert answers(found["127.4.4.4"]) == 100 and answers(found["127.5.0.9"]) == 100
    assert answers(found["127.5.0.10"]) < 60


def test_a_reload_forgets_nothing(knotd):
    limits = ["rate-limit: 1", "instant-limit: 50"]
    configure(knotd, limits)
    knotd.start()
    assert cuts(flood(knotd, 100, ["127.6.6.6"])["127.6.6.6"]) > 20
    configure(knotd, limits, zones=("one", "two"))
    knotd.knotc("reload")
    assert cuts(flood(knotd, 20, ["127.6.6.6"])["127.6.6.6"]) > 5


@pytest.mark.ours
def test_zones_share_the_table_of_a_block(knotd):
    """A victim gets no more from several zones than from one."""
    configure(knotd, ["rate-limit: 1", "instant-limit: 10"], zones=("one", "two"), per_zone=True)
    knotd.start()
    assert cuts(flood(knotd, 60, ["127.7.7.7"])["127.7.7.7"]) > 5
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.7.7.7", 0))
        sock.connect(("127.0.0.1", knotd.port))
        replies = []
        for number in range(20):
            sock.send(query(number, "h1.two"))
        receive(sock, replies, 1, 20)
    assert cuts(replies) > 5
    assert knotd.stats("-f", "zone-stats", "two")["mod-rrl.slipped"] == cuts(replies)


def test_known_by_cookie(knotd):
    """Clients that have proved their address with a cookie aren't limited."""
    configure(knotd, ["rate-limit: 1", "instant-limit: 3"])
    text = knotd.path.read_text().replace("global-module: mod-rrl/r", "global-module: [ mod-cookies, mod-rrl/r ]")
    knotd.path.write_text(text)
    knotd.start()
    opt = [dns.edns.GenericOption(10, b"\1" * 8)]
    bad = knotd.ask("h1.one", use_edns=0, options=opt, tcp=True)
    cookie = [option for option in bad.options if option.otype == 10]
    assert all(knotd.ask("h1.one", use_edns=0, options=cookie).answer for _ in range(60))
    assert knotd.stats("-f", "stats")["mod-rrl.slipped"] == 0


def test_bad_cookies_are_limited(knotd):
    """BADCOOKIE goes to forged sources as well: a module that refuses before mod-rrl doesn't hide a flood from it."""
    def with_cookie(number):
        opt = [dns.edns.GenericOption(10, b"\1" * 8), dns.edns.GenericOption(dns.edns.NSID, b"")]
        return dns.message.make_query("h1.one", "A", id=number, use_edns=0, options=opt).to_wire()

    configure(knotd, ["rate-limit: 1", "instant-limit: 10"], server=f'nsid: "{"n" * 100}"')
    text = knotd.path.read_text().replace("global-module: mod-rrl/r", "global-module: [ mod-cookies, mod-rrl/r ]")
    knotd.path.write_text(text)
    knotd.start()
    replies = flood(knotd, 200, ["127.8.8.8"], wire_of=with_cookie)["127.8.8.8"]
    assert len(replies) == 200 and 10 <= answers(replies) < 60
    # They have the cookie, which has 16 bytes more than the client's part, and nothing else that makes them large.
    assert max(size for is_cut, size in replies if is_cut) <= len(with_cookie(1)) + 16
    assert knotd.stats("-f", "stats")["mod-rrl.slipped"] == cuts(replies)


@pytest.mark.ours
def test_server_and_zone_with_one_block(knotd):
    """A request is counted once, though both refer to the block."""
    configure(knotd, ["rate-limit: 1", "instant-limit: 100"])
    text = knotd.path.read_text().replace("global-module: mod-rrl/r", "global-module: mod-rrl/r\n    module: mod-rrl/r")
    knotd.path.write_text(text)
    knotd.start()
    assert answers(flood(knotd, 90, ["127.9.9.9"])["127.9.9.9"]) == 90


def test_time_over_tcp(knotd):
    """Queries over TCP beyond the time that their source may use get no reply."""
    configure(knotd, ["rate-limit: 0", "time-rate-limit: 1", "time-instant-limit: 1"])
    knotd.start()
    with socket.create_connection(("127.0.0.1", knotd.port)) as sock:
        wire = query(1)
        sock.sendall((struct.pack(">H", len(wire)) + wire) * 500)
        knotd.wait(lambda: knotd.stats("-f", "stats")["mod-rrl.dropped-time"] > 100, what="queries that were dropped")
    assert knotd.ask("h1.one").answer           # over UDP


def test_over_xdp(make_knotd, pair):
    """A flood over AF_XDP, IPv4 and IPv6, beside an honest client; TCP stays open."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    configure(daemon, ["rate-limit: 1", "instant-limit: 20"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
              before=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n")
    daemon.start()
    for where, source in ((pair.server4, pair.client4), (pair.server6, pair.client6)):
        replies = flood(daemon, 200, [source], where, pair.client, 53)[source]
        assert len(replies) == 200 and 20 <= answers(replies) < 120 and cuts(replies) > 80, (answers(replies), cuts(replies))
        for _ in range(20):
            assert daemon.ask("h1.one", where=where, client=pair.client, tcp=True).answer
    assert daemon.stats("-f", "stats")["mod-rrl.slipped"] > 160
