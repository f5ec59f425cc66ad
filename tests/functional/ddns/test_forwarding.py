# SPDX-License-Identifier: BSD-2-Clause
"""Updates of a secondary zone: its primary applies them, and the client gets the primary's answer."""
import re

import dns.message
import dns.rcode
import dns.tsigkeyring
import dns.update
import pytest

from updating import (RULES, SECRET, ZONE, ask_update, connect, datagrams, framed, has, nsupdate, read_message, start, update, zone_items)
from harness.net import free_port

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

OTHER = dns.tsigkeyring.from_text({"other.": SECRET})


def secondary_of(make_knotd, ports, key="", acl="signed, plain", zone=""):
    """A secondary zone of the primary at these ports, addresses of one remote, in order."""
    secondary = make_knotd(name="secondary")
    addresses = ", ".join(f"127.0.0.1@{port}" for port in ports)
    secondary.configure(zones=["example"], text=f"{RULES}remote:\n  - id: p\n    address: [{addresses}]\n{key}{zone_items(acl)}    master: p\n{zone}")
    return secondary.start()


@pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_forwarded(make_knotd, tcp, signed):
    """Over TCP to the primary, signed by the key of the remote whatever the client's was; any rcode comes back, signed as the client signed."""
    primary = start(make_knotd(name="primary"), acl="signed")
    secondary = secondary_of(make_knotd, [primary.port], key="    key: key.\n")
    reply = ask_update(secondary, update(1, signed=signed), tcp)
    assert (reply.id, reply.rcode(), reply.had_tsig) == (1, dns.rcode.NOERROR, signed)
    assert has(primary, "h1") and not has(secondary, "h1")
    refused = update(2, signed=signed)
    refused.present("gone")
    reply = ask_update(secondary, refused, tcp)
    assert (reply.id, reply.rcode(), reply.had_tsig) == (2, dns.rcode.NXDOMAIN, signed)
    secondary.wait_log(re.escape("[example.] DDNS, forwarding 1 updates"))
    secondary.wait_log(re.escape(f"[example.] DDNS, outgoing, remote 127.0.0.1@{primary.port} TCP, key key., successfully forwarded"))


def test_a_key_that_only_the_primary_knows(make_knotd):
    """Its signature, and that of the answer, pass untouched."""
    primary = make_knotd(name="primary")
    primary.write("example.zone", ZONE)
    primary.configure(zones=["example"], text=f"key:\n  - id: other.\n    algorithm: hmac-sha256\n    secret: {SECRET}\n"
                      f"acl:\n  - id: o\n    key: other.\n    action: update\n{zone_items('o')}")
    primary.start()
    secondary = secondary_of(make_knotd, [primary.port])
    made = dns.update.UpdateMessage("example", keyring=OTHER, keyname="other.", keyalgorithm="hmac-sha256")
    made.add("h1", 60, "A", "10.0.0.1")
    with connect(secondary) as sock:
        sock.sendall(framed(made))
        reply = dns.message.from_wire(read_message(sock), keyring=OTHER, request_mac=made.mac)
    assert (reply.id, reply.rcode(), reply.had_tsig) == (made.id, dns.rcode.NOERROR, True)
    assert has(primary, "h1")


def test_a_rule_without_a_key_comes_first(make_knotd):
    """Then a signature passes untouched even if its key is known here: what decides is the rule, not the key."""
    primary = start(make_knotd(name="primary"), acl="signed")
    secondary = secondary_of(make_knotd, [primary.port], acl="plain, signed")
    reply = ask_update(secondary, update(1, signed=True), True)
    assert (reply.id, reply.rcode(), reply.had_tsig) == (1, dns.rcode.NOERROR, True)
    secondary.wait_log(re.escape(f"[example.] DDNS, outgoing, remote 127.0.0.1@{primary.port} TCP, successfully forwarded"))


def test_addresses_in_turn_and_none(make_knotd):
    """The first address that answers counts; if none does, SERVFAIL, and the log says why."""
    primary = start(make_knotd(name="primary"))
    dead = free_port()
    secondary = secondary_of(make_knotd, [dead, primary.port])
    assert nsupdate(secondary, ["update add h1.example. 60 A 10.0.0.1"]) == (0, "")
    assert has(primary, "h1")
    primary.stop()
    with datagrams(secondary) as sock:
        sock.send(update(2, signed=True).to_wire())
        assert sock.recv(512)[:4] == b"\0\2\xa8\2"
    secondary.wait_log(re.escape(f"DDNS, outgoing, remote 127.0.0.1@{primary.port} TCP, failed to forward updates ("))


def test_ddns_master(make_knotd):
    """It is another server than the zone's master."""
    primary = start(make_knotd(name="primary"))
    text = f"remote:\n  - id: p\n    address: 127.0.0.1@{free_port()}\n  - id: d\n    address: 127.0.0.1@{primary.port}\n"
    secondary = make_knotd(name="secondary")
    secondary.configure(zones=["example"], text=f"{RULES}{text}{zone_items('plain')}    master: p\n    ddns-master: d\n")
    secondary.start()
    with datagrams(secondary) as sock:
        sock.send(update(1).to_wire())
        assert sock.recv(512)[:4] == b"\0\1\xa8\0"
    assert has(primary, "h1")
