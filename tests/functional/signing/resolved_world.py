# SPDX-License-Identifier: BSD-2-Clause
"""Signed zones below a signed root, all questions about them, and what a validating resolver must find: a model of RFC 4035 5 and RFC 5155 8, 9.2.

Zones: the root; one for each row of KINDS; below each of these `insecure`, `sub.entcut`, `secure` and `island` (signed, without a DS).
"""
import dataclasses
import zlib

import dns.name

ROOT_NS, ROOT_ADDRESS = "ns.root.", "192.0.2.1"
ZONES_NS, ZONES_ADDRESS = "ns.zones.", "192.0.2.2"
ALGORITHMS = {8: "rsasha256", 10: "rsasha512", 13: "ecdsap256sha256", 14: "ecdsap384sha384", 15: "ed25519", 16: "ed448"}
CHAINS = {"nsec": [], "nsec3": ["nsec3: on", "nsec3-salt-length: 4"], "optout": ["nsec3: on", "nsec3-opt-out: on"]}
FEW = [(8, "nsec"), (10, "nsec3"), (13, "nsec"), (13, "nsec3"), (13, "optout"), (14, "optout"), (15, "nsec3"), (16, "nsec")]
ALL = [(algorithm, chain) for algorithm in ALGORITHMS for chain in CHAINS]

APEX = "@ SOA ns.root. h.root. 10 3600 600 86400 {ttl}\n@ NS {ns}\n"
CONTENTS = APEX + """\
@ MX 10 mail
@ TXT "the apex"
mail A 192.0.2.10
mail AAAA 2001:db8::10
www A 192.0.2.11
www AAAA 2001:db8::11
a.b.c A 192.0.2.12
x.b.c TXT "its sibling"
*.wild A 192.0.2.13
*.wild TXT "any"
host.wild TXT "not the wildcard"
below.ent.wild TXT "ent.wild exists"
*.wildcname CNAME www
*.wildchain CNAME q.wild
*.deep.wildent MX 10 mail
alias CNAME www
alias2 CNAME alias
alias-gone CNAME gone.c
alias-ent CNAME c
alias-wild CNAME q.wild
alias-insecure CNAME www.insecure
alias-secure CNAME www.secure
alias-island CNAME www.island
alias-secure-gone CNAME gone.secure
alias-root CNAME ns.root.
alias-nowhere CNAME www.nowhere.
target TXT "of a DNAME"
below.target A 192.0.2.14
dname DNAME target
dname TXT "beside a DNAME"
dname-wild DNAME wild
dname-insecure DNAME insecure
dname-secure DNAME secure
insecure NS ns.insecure
ns.insecure A 192.0.2.1
sub.entcut NS ns.sub.entcut
ns.sub.entcut A 192.0.2.1
secure NS ns.secure
ns.secure A 192.0.2.1
island NS ns.island
ns.island A 192.0.2.1
UPPER.Case A 192.0.2.15
\\000\\255.odd A 192.0.2.16
_sip._tcp SRV 0 0 5060 www
a-very-long-label-that-has-as-many-bytes-as-a-label-may-have-00 A 192.0.2.17
types CAA 0 issue "ca.example"
types HINFO "cpu" "os"
types NAPTR 100 50 "s" "x" "" _sip._tcp
types SVCB 1 www alpn=h2
types TLSA 0 0 1 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB106618E971
types SSHFP 2 1 123456789ABCDEF67890123456789ABCDEF67890
types TYPE65280 \\# 3 010203
""" + "".join(f'large TXT "{number:03} {"x" * 90}"\n' for number in range(60)) + "".join(f"many A 10.1.{number}.1\n" for number in range(40))
CHILD = APEX + 'ns A 192.0.2.1\nwww A 192.0.2.20\n*.wild TXT "any"\na.b A 192.0.2.21\nalias CNAME www\n'
CHILDREN = {"insecure": False, "sub.entcut": False, "secure": True, "island": True}     # whether they are signed


@dataclasses.dataclass
class Zone:
    """One zone: its records by name and type; which chain it has; whether there is a chain of trust to it."""
    name: dns.name.Name
    text: str
    chain: str = ""         # "" of a zone that isn't signed
    algorithm: int = 13
    is_secure: bool = False
    ttl: int = 300
    records: dict = dataclasses.field(default_factory=dict)     # {name: {type: [words of RDATA]}}

    def __post_init__(self):
        for line in self.text.splitlines():
            owner, rdtype, rdata = line.split(" ", 2)
            self.add(owner, rdtype, rdata)

    def add(self, owner, rdtype, rdata):
        name = self.name if owner == "@" else dns.name.from_text(owner, self.name)
        self.records.setdefault(name, {}).setdefault(rdtype, []).append(rdata.split())

    def absolute(self, word):
        return dns.name.from_text(word, self.name)

    def exists(self, name):
        """A name of the zone, perhaps an empty one."""
        return any(owner.is_subdomain(name) for owner in self.records)

    def types(self, name):
        return self.records.get(name, {})

    def cut_above(self, name):
        """The delegation at or above a name, or None."""
        while name != self.name:
            if "NS" in self.types(name):
                return name
            name = name.parent()
        return None

    def is_in_chain(self, name):
        """False: with opt-out, no NSEC3 record matches the name: it and all below are delegations without DS."""
        if self.chain != "optout":
            return True
        below = [owner for owner in self.records if owner.is_subdomain(name) and self.cut_above(owner) in (None, owner)]
        return any(owner == self.name or "NS" not in self.types(owner) or "DS" in self.types(owner) for owner in below)


class World:
    """All zones; find() says what a resolver must find."""

    def __init__(self, kinds, ttl=300):
        self.zones, self.ttl = {}, ttl
        self.root = self.add(".", APEX + "ns.root A 192.0.2.1\nnet TXT \"beside\"\n", "nsec", 13, True)
        self.tops = []
        for algorithm, chain in kinds:
            top = self.add(f"z{algorithm}{chain}.", CONTENTS, chain, algorithm, True, ZONES_NS)
            self.tops.append(top)
            for label, is_signed in CHILDREN.items():
                self.add(f"{label}.{top.name}", CHILD, chain if is_signed else "", 13, label == "secure")
        for top in self.tops:
            self.root.add(str(top.name), "NS", ZONES_NS)
            for child in self.of(top):
                if child.is_secure:
                    top.add(str(child.name), "DS", "-")
            self.root.add(str(top.name), "DS", "-")
        self.root.add(ZONES_NS, "A", ZONES_ADDRESS)

    def add(self, name, text, chain, algorithm, is_secure, ns=ROOT_NS):
        text = text.replace("{ttl}", str(self.ttl)).replace("{ns}", ns)
        zone = Zone(dns.name.from_text(name), text, chain, algorithm, is_secure, self.ttl)
        self.zones[zone.name] = zone
        return zone

    def of(self, top):
        return [zone for zone in self.zones.values() if zone.name != top.name and zone.name.is_subdomain(top.name) and top is not self.root]

    def zone_of(self, name):
        while True:
            if name in self.zones:
                return self.zones[name]
            name = name.parent()

    def find(self, name, rdtype, depth=0):
        """(RCODE, is it secure)."""
        name = dns.name.from_text(name) if isinstance(name, str) else name
        zone = self.zone_of(name.parent() if rdtype == "DS" and name != dns.name.root else name)
        assert depth < 12, name
        if not zone.chain or not zone.is_secure:
            rcode, _ = self.find_in(zone, name, rdtype, depth)
            return rcode, False
        return self.find_in(zone, name, rdtype, depth)

    def follow(self, zone, target, rdtype, depth, is_secure):
        rcode, is_target_secure = self.find(target, rdtype, depth + 1)
        return rcode, is_secure and is_target_secure

    def find_in(self, zone, name, rdtype, depth):
        above = name
        while above != zone.name:
            above = above.parent()
            if "DNAME" in zone.types(above):
                target = name.relativize(above).concatenate(zone.absolute(zone.types(above)["DNAME"][0][0]))
                return self.follow(zone, target, rdtype, depth, True)
        if zone.exists(name):
            return self.find_there(zone, name, rdtype, depth, zone.is_in_chain(name))
        encloser = name.parent()
        while not zone.exists(encloser):
            encloser = encloser.parent()
        wildcard = dns.name.Name((b"*",)).concatenate(encloser)
        # With opt-out the next closer name may be a delegation: no proof that there is none.
        is_proven = zone.chain != "optout"
        if zone.exists(wildcard):
            return self.find_there(zone, wildcard, rdtype, depth, is_proven)
        return "NXDOMAIN", is_proven

    def find_there(self, zone, name, rdtype, depth, is_proven):
        """Of a name that exists, or the wildcard in its place. is_proven: whether its absence of types, or the wildcard, can be proven."""
        types = zone.types(name)
        if "CNAME" in types and rdtype not in ("CNAME", "NSEC"):
            return self.follow(zone, zone.absolute(types["CNAME"][0][0]), rdtype, depth, is_proven)
        return "NOERROR", is_proven

    def stays_in(self, zone, name, rdtype):
        """True if the server of a zone alone has the whole answer: no alias leads out, and the name isn't delegated."""
        name = dns.name.from_text(name) if isinstance(name, str) else name
        if not name.is_subdomain(zone.name) or self.zone_of(name.parent() if rdtype == "DS" else name) is not zone:
            return False    # the DS of the zone itself is its parent's
        above = name
        while above != zone.name:
            above = above.parent()
            if "DNAME" in zone.types(above):
                return False
        while not zone.exists(above := name):
            name = name.parent()
            wildcard = dns.name.Name((b"*",)).concatenate(name)
            if zone.exists(wildcard):
                above = wildcard
                break
        alias = zone.types(above).get("CNAME")
        return alias is None or rdtype == "CNAME" or self.stays_in(zone, zone.absolute(alias[0][0]), rdtype)

    # ---- questions ----

    def questions(self, zone):
        """Every name with each type that is there and one that is not; names just before and behind, above, below and beside; below cuts."""
        names = {}
        for owner, types in zone.records.items():
            names.setdefault(owner, set()).update(types, {"A", "TXT" if "TXT" not in types else "MX"})
            if "NS" in types:
                names[owner] |= {"DS", "NS", "SOA"}
            at = owner
            while at != zone.name:
                at = at.parent()
                names.setdefault(at, set()).update({"A", "TXT"})
        names[zone.name] |= {"SOA", "NS", "DNSKEY", "NSEC3PARAM", "CDS", "AAAA", "DS"}
        for owner in list(names):
            for near in self.near(owner, zone.name):
                names.setdefault(near, set()).update({"A"} if zlib.crc32(near.to_wire()) % 2 else {"TXT", "DS"})
        return sorted((str(name), rdtype) for name, types in names.items() for rdtype in types)

    @staticmethod
    def near(name, apex):
        made = [[b"x", *name.labels], [b"*", *name.labels], [b"\0", *name.labels], [b"a", b"b", *name.labels]]
        if name != apex:
            first, rest = name.labels[0], name.labels[1:]
            made += [[first + b"0", *rest], [first[:-1] + bytes([first[-1] - 1 if first[-1] else 255]) if len(first) > 1 else b"0", *rest],
                     [first + b"\0", *rest], [b"-" + first, *rest], [b"~", *rest]]
        found = []
        for labels in made:
            if all(len(label) <= 63 for label in labels) and len(labels) < 100:
                found.append(dns.name.Name(labels))
        return found

