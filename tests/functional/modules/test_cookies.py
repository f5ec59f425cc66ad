# SPDX-License-Identifier: BSD-2-Clause
"""mod-cookies with dig, kdig, dnspython and the distribution's knotd, over sockets and AF_XDP."""
import subprocess

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.rcode
import pytest

from harness.net import free_port
from harness.server import Knotd
from harness.waiting import wait_until
from zones import example, many

SECRET = "0x000102030405060708090a0b0c0d0e0f"
CLIENT = bytes(range(1, 9))


def conf(daemon, module, more="", zones=("one", "two")):
    for zone in zones:
        daemon.write(f"{zone}.zone", many(zone + ".", 3))
    blocks = f"  - domain: {zones[0]}\n    module: mod-cookies/c\n" + "".join(f"  - domain: {zone}\n" for zone in zones[1:])
    return f"mod-cookies:\n  - id: c\n{module}template:\n  - id: default\n    storage: {daemon.dir}\n    file: \"%s.zone\"\n{more}zone:\n{blocks}"


def cookie_of(reply):
    found = [option.data if hasattr(option, "data") else option.server for option in reply.options if option.otype == 10]
    assert len(found) <= 1
    if not found:
        return None
    option = next(option for option in reply.options if option.otype == 10)
    return option.to_wire()


def ask(daemon, name="h1.one", cookie=None, **options):
    edns = [dns.edns.GenericOption(10, cookie)] if cookie is not None else []
    return daemon.ask(name, use_edns=0, options=edns, **options)


def test_server_cookie(knotd):
    """Without a cookie nothing changes; with the client's part alone there is BADCOOKIE over UDP; with both an answer."""
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n"))
    knotd.start()
    assert ask(knotd).answer and cookie_of(ask(knotd)) is None
    bad = ask(knotd, cookie=CLIENT)
    cookie = cookie_of(bad)
    assert bad.rcode() == dns.rcode.BADCOOKIE and not bad.answer and len(cookie) == 24 and cookie[:12] == CLIENT + b"\1\0\0\0"
    good = ask(knotd, cookie=cookie)
    assert good.rcode() == dns.rcode.NOERROR and good.answer and cookie_of(good) == cookie
    assert cookie_of(ask(knotd, "nx.one", cookie=cookie)) == cookie
    stream = ask(knotd, cookie=CLIENT, tcp=True)
    assert stream.answer and cookie_of(stream)[:12] == CLIENT + b"\1\0\0\0"
    for length in (0, 7, 9, 15, 41):
        malformed = ask(knotd, cookie=bytes(length))
        assert malformed.rcode() == dns.rcode.FORMERR and malformed.edns == 0 and cookie_of(malformed) is None
    assert ask(knotd, cookie=cookie[:-1] + bytes([cookie[-1] ^ 1])).rcode() == dns.rcode.BADCOOKIE
    assert cookie_of(ask(knotd, "h1.two", cookie=CLIENT)) is None       # a zone without the module
    stats = knotd.stats("-f", "zone-stats", "one")
    assert stats["mod-cookies.presence"] == 10 and stats["mod-cookies.dropped"] == 0


def test_no_room_in_vain(knotd):
    """A client that sends no cookie gets as much of an answer as without the module."""
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n"))
    for name in ("one", "two"):
        # 512 bytes without EDNS, 512 with: header and question, TXT with its owner as a pointer
        text = "".join(f"{owner} 60 TXT {' '.join(chr(34) + 'x' * n + chr(34) for n in sizes)}\n"
                       for owner, sizes in (("t512", (200, 200, 512 - 12 - 14 - 12 - 402 - 1)), ("e512", (200, 200, 512 - 12 - 14 - 12 - 402 - 1 - 11))))
        (knotd.dir / f"{name}.zone").write_text(many(name + ".", 3) + text)
    knotd.start()
    for name in ("one", "two"):
        plain = knotd.ask(f"t512.{name}", "TXT")
        edns = knotd.ask(f"e512.{name}", "TXT", use_edns=0, payload=512)
        for reply in (plain, edns):
            assert reply.answer and not reply.flags & dns.flags.TC and len(reply.to_wire()) == 512
    # With a cookie there is less room.
    cookie = cookie_of(ask(knotd, "t512.one", cookie=CLIENT))
    assert ask(knotd, "e512.one", rdtype="TXT", cookie=cookie, payload=512).flags & dns.flags.TC


@pytest.mark.parametrize("program", ["dig", "kdig"])
def test_clients(knotd, program):
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n"))
    knotd.start()
    at = [program, "@127.0.0.1", "-p", str(knotd.port), "h1.one", "+cookie"]
    done = subprocess.run([*at, "+badcookie"], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    assert "status: NOERROR" in done and "10.0.0.1" in done and "COOKIE" in done, done
    if program == "dig":
        assert "(good)" in done, done
        assert "BADCOOKIE" in subprocess.run([*at, "+nobadcookie"], stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


@pytest.mark.ours
def test_same_cookies_as_knot(knotd, directory):
    """Servers of one anycast address with the same secret know each other's cookies."""
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n"), listen=("127.0.0.1", "::1"))
    knotd.start()
    (directory / "knot").mkdir()
    other = Knotd(directory / "knot", program="/usr/sbin/knotd")
    other.port = free_port()
    try:
        other.configure(text=conf(other, f"    secret: {SECRET}\n"), listen=("127.0.0.1", "::1"))
        other.start(ready=False)
        wait_until(lambda: other.is_answering(), "Knot DNS answers", timeout=20)
        for where in ("127.0.0.1", "::1"):
            for maker, taker in ((knotd, other), (other, knotd)):
                wait_until(lambda m=maker: ask(m, where=where).answer, "the zone is loaded", timeout=20)
                cookie = cookie_of(ask(maker, where=where, cookie=CLIENT))
                assert ask(taker, where=where, cookie=cookie).rcode() == dns.rcode.NOERROR
                assert ask(taker, where=where, cookie=cookie[:-1] + bytes([cookie[-1] ^ 1])).rcode() == dns.rcode.BADCOOKIE
    finally:
        other.stop()


def test_slip(knotd):
    """One of three bad ones is answered, the others get nothing and are counted."""
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n    badcookie-slip: 3\n"))
    knotd.start()
    query = dns.message.make_query("h1.one", "A", use_edns=0, options=[dns.edns.GenericOption(10, CLIENT)])
    silent = 0
    for _ in range(9):
        try:    # from one port, so that one worker gets them all
            assert knotd.exchange(query, timeout=0.5, source_port=knotd.port - 1).rcode() == dns.rcode.BADCOOKIE
        except dns.exception.Timeout:
            silent += 1
    assert silent == 6
    assert knotd.stats("-f", "zone-stats", "one")["mod-cookies.dropped"] == 6
    cookie = cookie_of(ask(knotd, cookie=CLIENT, tcp=True))
    assert all(ask(knotd, cookie=cookie).answer for _ in range(9))


def test_random_secret_outlives_a_reload(knotd):
    knotd.configure(text=conf(knotd, ""))
    knotd.start()
    cookie = cookie_of(ask(knotd, cookie=CLIENT))
    knotd.configure(text=conf(knotd, "", zones=("one", "two", "three")))
    knotd.knotc("reload")
    knotd.wait(lambda: ask(knotd, "h1.three").answer, what="the new zone")
    assert ask(knotd, cookie=cookie).rcode() == dns.rcode.NOERROR
    knotd.stop()
    knotd.start()
    assert ask(knotd, cookie=cookie).rcode() == dns.rcode.BADCOOKIE


def test_changed_secret(knotd):
    """The second secret is known still, the first one makes the new cookie."""
    knotd.configure(text=conf(knotd, f"    secret: {SECRET}\n"))
    knotd.start()
    old = cookie_of(ask(knotd, cookie=CLIENT))
    knotd.configure(text=conf(knotd, f"    secret: [ 0x{'ab' * 16}, {SECRET} ]\n"))
    knotd.knotc("reload")
    reply = ask(knotd, cookie=old)
    assert reply.answer and cookie_of(reply) != old
    knotd.configure(text=conf(knotd, f"    secret: 0x{'ab' * 16}\n"))
    knotd.knotc("reload")
    assert ask(knotd, cookie=old).rcode() == dns.rcode.BADCOOKIE
    assert ask(knotd, cookie=cookie_of(reply)).answer


def test_over_xdp(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    daemon.configure(listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"mod-cookies:\n  - id: c\n    secret: {SECRET}\nxdp:\n    listen: {pair.server_if}@53\n    tcp: on\n"
                          f"template:\n  - id: default\n    storage: {daemon.dir}\n    file: \"%s.zone\"\n"
                          "    global-module: [ mod-cookies/c, mod-stats ]\n    module: mod-cookies\nzone:\n  - domain: example\n")
    daemon.start()
    for where in (pair.server4, pair.server6):
        bad = ask(daemon, "www.example", CLIENT, where=where, client=pair.client)
        cookie = cookie_of(bad)
        assert bad.rcode() == dns.rcode.BADCOOKIE
        good = ask(daemon, "www.example", cookie, where=where, client=pair.client)
        assert good.answer and cookie_of(good) == cookie        # one option, though the zone has the module, too
        assert cookie_of(ask(daemon, "www.example", CLIENT, where=where, client=pair.client, tcp=True))[:8] == CLIENT
    stats = daemon.stats()
    assert stats["mod-cookies.presence"] == 6
    assert stats["mod-stats.request-protocol[udp4-xdp]"] == 2 and stats["mod-stats.response-code[BADCOOKIE]"] == 2
