# SPDX-License-Identifier: BSD-2-Clause
"""Random ACL lists, one for each of many zones, and random requests for them: what a server of Knot's configuration does with each."""
import dataclasses
import socket
import struct
import time
import types
import unittest.mock

import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.update

from harness.net import has_ipv6
from harness.waiting import PATIENCE

SOURCES = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", *(["::1"] if has_ipv6() else []))
NETS = ("127.0.0.2", "127.0.0.3", "127.0.0.2-127.0.0.3", "127.0.0.3-127.0.0.5", "127.0.0.4/30", "127.0.0.0/30", "127.0.0.0/8", "0.0.0.0/0", "::1",
        "::/0", "::1-::2", "192.0.2.0/24")
SECRETS = {"k1.": "Zmlyc3Q=", "k2.": "c2Vjb25k", "z.test.": "dGhpcmQ="}     # and one for each zone: www.ZONE
ALGORITHMS = {"k1.": "hmac-sha256", "k2.": "hmac-sha512", "z.test.": "hmac-sha1"}
OTHER_SECRET = "b3RoZXI="
REMOTES = """remote:
  - id: plain
    address: 127.0.0.2
  - id: signed
    address: [ 127.0.0.3, ::1@5300 ]
    key: k1.
  - id: many
    address: [ 127.0.0.2, 127.0.0.4, ::1 ]
  - id: never
    address: [ 127.0.0.5, 127.0.0.4 ]
    automatic-acl: off
  - id: last
    address: 127.0.0.5
    key: k2.
remotes:
  - id: group
    remote: [ plain, last ]
  - id: other
    remote: [ never, signed ]
"""
PARTIES = ("plain", "signed", "many", "never", "last", "group", "other")
ACTIONS = ("query", "notify", "transfer", "update")
OWNERS = ("", "www", "x.www", "X.WWW", "other", "y.other", "*")
TYPES = ("A", "AAAA", "TXT", "CNAME")
DATA = {"A": "192.0.2.1", "AAAA": "2001:db8::1", "TXT": "text", "CNAME": "target."}


def algorithm_of(key):
    return ALGORITHMS.get(key, "hmac-sha256")


def secret_of(key):
    return SECRETS.get(key, "em9uZQ==")


def some(source, values, most):
    return source.sample(values, source.randint(1, most))


def zone_name(number):
    return f"n{number}.z.test."


def keys_of(number):
    return [*SECRETS, f"www.{zone_name(number)}"]


@dataclasses.dataclass
class Zone:
    number: int
    items: dict         # of the zone: acl, notify, master
    rules: list         # text of each, in the order of the list
    words: list         # keys of the rules

    @property
    def name(self):
        return zone_name(self.number)


def random_rule(source, number, ident):
    """Text, and the keys that it names."""
    lines, words = [f"  - id: {ident}"], []
    if source.random() < 0.25:
        lines.append(f"    remote: [ {', '.join(some(source, PARTIES, 2))} ]")
    else:
        if source.random() < 0.65:
            lines.append(f"    address: [ {', '.join(some(source, NETS, 2))} ]")
        if source.random() < 0.5:
            keys = some(source, keys_of(number), 2)
            lines.append(f"    key: [ {', '.join(keys)} ]")
            words += keys
    if source.random() < 0.92:
        lines.append(f"    action: [ {', '.join(some(source, ACTIONS, 4))} ]")
    if source.random() < 0.25:
        lines.append(f"    deny: {source.choice(('on', 'on', 'off'))}")
    if source.random() < 0.35:
        lines.append(f"    update-type: [ {', '.join(some(source, TYPES, 3))} ]")
    if source.random() < 0.5:
        owner = source.choice(("key", "zone", "name", "name"))
        lines.append(f"    update-owner: {owner}")
        if source.random() < 0.7:
            lines.append(f"    update-owner-match: {source.choice(('sub-or-equal', 'equal', 'sub'))}")
        if owner == "name" and source.random() < 0.85:
            names = some(source, ("www", "x.www", "other", "OTHER", f"www.{zone_name(number)}", zone_name(number), "test.", "elsewhere."), 2)
            lines.append(f"    update-owner-name: [ {', '.join(names)} ]")
    return "\n".join(lines) + "\n", words


def random_zone(source, number):
    rules, words = [], []
    for rule in range(source.choice((0, 1, 1, 2, 2, 3, 4))):
        text, more = random_rule(source, number, f"n{number}-{rule}")
        rules.append(text)
        words += more
    items = {}
    if rules:
        items["acl"] = [f"n{number}-{rule}" for rule in range(len(rules))]
    for item in ("notify", "master"):
        if source.random() < (0.3 if item == "notify" else 0.2):
            items[item] = some(source, PARTIES, 2)
    return Zone(number, items, rules, words)


def configuration(zones, has_automatic):
    keys = "".join(f"  - id: {key}\n    algorithm: {algorithm_of(key)}\n    secret: {secret_of(key)}\n"
                   for key in [*SECRETS, *(f"www.{zone.name}" for zone in zones)])
    text = f"key:\n{keys}{REMOTES}acl:\n{''.join(rule for zone in zones for rule in zone.rules)}"
    text += ("template:\n  - id: default\n    storage: {dir}\n    file: \"%s.zone\"\n    zonefile-sync: -1\n    zonefile-load: whole\n"
             "    journal-content: none\n    semantic-checks: off\nzone:\n")
    for zone in zones:
        text += f"  - domain: {zone.name}\n" + "".join(f"    {item}: [ {', '.join(values)} ]\n" for item, values in zone.items.items())
    return text, f"automatic-acl: {'on' if has_automatic else 'off'}"


# ---- requests ----

@dataclasses.dataclass(frozen=True)
class Request:
    zone: str
    action: str         # query, AXFR, IXFR, notify, update
    is_tcp: bool
    source: str
    key: str            # None: unsigned
    fault: str          # of the signature: None, MAC, time, algorithm, name
    records: tuple      # UPDATE: (owner, type, how)

    def wire(self):
        """The message, and the MAC of its signature."""
        message = self.message()
        message.id = 1
        if self.key is None:
            return message.to_wire(), b""
        algorithm, name = algorithm_of(self.key), self.key
        if self.fault == "algorithm":
            algorithm = "hmac-sha224"
        elif self.fault == "name":
            name = "unknown."
        message.use_tsig(dns.tsig.Key(name, OTHER_SECRET if self.fault == "MAC" else secret_of(self.key), algorithm))
        if self.fault != "time":
            return message.to_wire(), message.mac
        with unittest.mock.patch("dns.message.time", types.SimpleNamespace(time=lambda: time.time() - 3600)):
            return message.to_wire(), b""       # signed an hour ago

    def message(self):
        if self.action == "update":
            made = dns.update.UpdateMessage(self.zone)
            for owner, rtype, how in self.records:
                if how == "add":
                    made.add(owner or "@", 60, rtype, DATA[rtype])
                elif how == "delete name":
                    made.delete(owner or "@")
                elif how == "delete set":
                    made.delete(owner or "@", rtype)
                else:
                    made.delete(owner or "@", rtype, DATA[rtype])
            return made
        made = dns.message.make_query(self.zone, "SOA" if self.action in ("query", "notify") else self.action)
        made.flags = 0
        if self.action == "notify":
            made.set_opcode(dns.opcode.NOTIFY)
            made.flags |= dns.flags.AA
        elif self.action == "IXFR":
            made.authority.append(dns.rrset.from_text(self.zone, 0, "IN", "SOA", ". . 1 0 0 0 0"))
        return made


def random_request(source, zone):
    # A zone with a primary forwards updates, which knotd 3.2 admits by other rules.
    updates = ("update",) * (3 if "master" not in zone.items else 0)
    action = source.choice(("query", "AXFR", "IXFR", "notify", *updates))
    key = source.choice([None, None, *zone.words, *zone.words, *keys_of(zone.number)])
    if action == "update" and any("update-owner: key" in rule for rule in zone.rules):
        key = key or source.choice(zone.words or ["k1."])   # knotd 3.2 admits an unsigned update by such a rule
    fault = source.choice((None,) * 6 + ("MAC", "time", "algorithm", "name")) if key else None
    is_tcp = action == "AXFR" and source.random() < 0.95 or source.random() < 0.3
    records = tuple((source.choice(OWNERS), source.choice(TYPES), source.choice(("add", "add", "add", "delete name", "delete set", "delete")))
                    for _ in range(source.choice((0, 1, 1, 1, 2, 3)))) if action == "update" else ()
    return Request(zone.name, action, is_tcp, source.choice(SOURCES), key, fault, records)


# ---- what comes back ----

def skip_name(wire, at):
    while wire[at]:
        if wire[at] >= 0xc0:
            return at + 2
        at += 1 + wire[at]
    return at + 1


@dataclasses.dataclass(frozen=True)
class Reply:
    rcode: int
    answers: bool
    tsig: tuple         # None, or (error, has a MAC, length of other data)
    is_verified: bool   # with a MAC: it is good


def read_reply(wire, request, mac):
    """What counts of it. The signature is checked, too."""
    counts = struct.unpack(">4H", wire[4:12])
    at, tsig = 12, None
    for _ in range(counts[0]):
        at = skip_name(wire, at) + 4
    for _ in range(sum(counts[1:])):
        start = skip_name(wire, at)
        rtype, _, _, length = struct.unpack(">HHIH", wire[start:start + 10])
        if rtype == dns.rdatatype.TSIG:
            data = skip_name(wire, start + 10)
            mac_len = struct.unpack(">H", wire[data + 8:data + 10])[0]
            error, other_len = struct.unpack(">HH", wire[data + 10 + mac_len + 2:data + 10 + mac_len + 6])
            tsig = (error, mac_len > 0, other_len)
        at = start + 10 + length
    assert at == len(wire), f"{len(wire) - at} bytes behind the last record"
    is_verified = False
    if tsig and tsig[1] and request.fault != "time":
        key = dns.tsig.Key(request.key, secret_of(request.key), algorithm_of(request.key))
        dns.message.from_wire(wire, keyring=key, request_mac=mac)
        is_verified = True
    return Reply(wire[3] & 15, counts[1] > 0, tsig, is_verified)


def ask(port, request):
    """The first message of the reply."""
    wire, mac = request.wire()
    family = socket.AF_INET6 if ":" in request.source else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM if request.is_tcp else socket.SOCK_DGRAM) as sock:
        sock.settimeout(20 * PATIENCE)
        sock.bind((request.source, 0))
        sock.connect(("::1" if ":" in request.source else "127.0.0.1", port))
        if not request.is_tcp:
            sock.send(wire)
            return read_reply(sock.recv(65535), request, mac)
        sock.sendall(struct.pack(">H", len(wire)) + wire)
        with sock.makefile("rb") as stream:
            length, = struct.unpack(">H", stream.read(2))
            return read_reply(stream.read(length), request, mac)
