# SPDX-License-Identifier: BSD-2-Clause
"""Dynamic update as plain as it can be said: a zone is a dictionary of RRsets. Deliberately ignorant of how the engine does it."""
import struct

A, NS, CNAME, SOA, MX, TXT, SIG, DNAME, OPT, RRSIG, NSEC, NSEC3PARAM = 1, 2, 5, 6, 15, 16, 24, 39, 41, 46, 47, 51
BESIDE_CNAME = {SIG, 25, 30, RRSIG, NSEC}  # with KEY and NXT: RFC 2181 10.1, 4034 3
IN, NONE, ANY = 1, 254, 255
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, REFUSED, YXDOMAIN, YXRRSET, NXRRSET, NOTZONE = 0, 1, 2, 3, 5, 6, 7, 8, 10
META = {0, SIG, OPT, 128, 249, 250, 251, 252, 253, 254, 255}


def wire(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split(".") if label) + b"\0"


def record(owner, rtype, rclass, ttl, rdata=b""):
    """What a message has of it: (owner, type, class, ttl, rdata)."""
    return owner, rtype, rclass, ttl, rdata


def message(zone, prereqs, updates):
    sections = [b"".join(wire(o) + struct.pack(">HHIH", t, c, ttl, len(rdata)) + rdata for o, t, c, ttl, rdata in section)
                for section in (prereqs, updates)]
    return (struct.pack(">HHHHHH", 1, 5 << 11, 1, len(prereqs), len(updates), 0) + wire(zone) + struct.pack(">HH", SOA, IN)
            + sections[0] + sections[1])


def serial(rdata):
    return int.from_bytes(rdata[-20:-16], "big")


class Refused(Exception):
    pass


class Model:
    """rrsets: {(owner in lower case, type): [ttl, {rdata, ...}]}."""

    def __init__(self, zone, rrsets):
        self.zone = zone.lower()
        self.rrsets = rrsets
        self.base_serial = self.serial()

    def serial(self):
        return serial(next(iter(self.rrsets[self.zone, SOA][1])))

    def types_at(self, name):
        return {rtype for owner, rtype in self.rrsets if owner == name}

    def is_in(self, name):
        return name == self.zone or name.endswith("." + self.zone)

    def has_below(self, name):
        return any(owner.endswith("." + name) for owner, _ in self.rrsets)

    def is_below_dname(self, name):
        while name != self.zone:
            name = name.split(".", 1)[1]
            if (name, DNAME) in self.rrsets:
                return True
        return False

    # ---- the steps ----

    def apply(self, prereqs, updates):
        """The rcode; self as it is afterwards."""
        before = {key: [ttl, set(data)] for key, (ttl, data) in self.rrsets.items()}
        try:
            self.check_form(prereqs, updates)
            self.check_prereqs([(o.lower(), *rest) for o, *rest in prereqs])
            updates = [(o.lower(), *rest) for o, *rest in updates]
            for update in updates:
                self.check_format(*update)
            for update in updates:
                self.change(*update)
        except Refused as refused:
            self.rrsets = before
            return refused.args[0]
        return NOERROR

    def check_form(self, prereqs, updates):
        """What a reader of messages refuses. Of data only addresses are looked at: the tests send no other that are malformed."""
        for is_update, (_, rtype, rclass, _, rdata) in [(False, each) for each in prereqs] + [(True, each) for each in updates]:
            has_data = rclass != ANY and (is_update or rclass != NONE)
            if rtype in (OPT, 250) or (rtype, rclass) == (255, IN) or (has_data and rtype == A and len(rdata) != 4):
                raise Refused(FORMERR)

    def check_prereqs(self, prereqs):
        wanted = {}
        for owner, rtype, rclass, ttl, rdata in prereqs:
            if ttl != 0:
                raise Refused(FORMERR)
            if not self.is_in(owner):
                raise Refused(NOTZONE)
            if rclass == IN:
                wanted.setdefault((owner, rtype), set()).add(rdata)
            elif rdata or rclass not in (ANY, NONE):
                raise Refused(FORMERR)
            elif rtype == 255:
                if bool(self.types_at(owner)) != (rclass == ANY):
                    raise Refused(NXDOMAIN if rclass == ANY else YXDOMAIN)
            elif ((owner, rtype) in self.rrsets) != (rclass == ANY):
                raise Refused(NXRRSET if rclass == ANY else YXRRSET)
        for key, data in wanted.items():
            if self.rrsets.get(key, [0, set()])[1] != data:
                raise Refused(NXRRSET)

    def check_format(self, owner, rtype, rclass, ttl, rdata):
        if not self.is_in(owner):
            raise Refused(NOTZONE)
        is_good = (rclass == IN and rtype not in META) or (rclass == NONE and rtype not in META and ttl == 0) \
            or (rclass == ANY and not rdata and (rtype == 255 or rtype not in META))
        if not is_good:
            raise Refused(FORMERR)
        if rtype == NSEC3PARAM and (owner != self.zone or (self.zone, NSEC3PARAM) in self.rrsets):
            raise Refused(REFUSED)

    def change(self, owner, rtype, rclass, ttl, rdata):
        if rclass == IN:
            self.add(owner, rtype, ttl, rdata)
        elif rtype == SOA:
            pass
        elif rclass == ANY:
            kept = {SOA, NS} if owner == self.zone else set()
            for each in self.types_at(owner) if rtype == 255 else {rtype}:
                if each not in kept:
                    self.rrsets.pop((owner, each), None)
        else:
            there = self.rrsets.get((owner, rtype), [0, set()])[1]
            if not (owner == self.zone and rtype == NS and len(there) == 1):
                there.discard(rdata)
                if not there:
                    self.rrsets.pop((owner, rtype), None)

    def add(self, owner, rtype, ttl, rdata):
        there = self.types_at(owner)
        if self.is_below_dname(owner):
            return
        if rtype == SOA:
            ahead = (serial(rdata) - self.base_serial) % 2 ** 32
            if owner == self.zone and 0 < ahead < 2 ** 31:
                self.rrsets[owner, SOA] = [ttl, {rdata}]
        elif rtype == CNAME:
            if not there - {CNAME, *BESIDE_CNAME}:
                self.rrsets[owner, CNAME] = [ttl, {rdata}]
        elif CNAME in there:
            pass
        elif rdata in self.rrsets.get((owner, rtype), [0, set()])[1] and rtype != NSEC3PARAM:
            pass
        elif rtype == DNAME:
            if DNAME in there or not self.has_below(owner):
                self.rrsets[owner, DNAME] = [ttl, {rdata}]
        elif rtype == NSEC3PARAM and rtype in there:
            del self.rrsets[owner, rtype]
        else:
            rrset = self.rrsets.setdefault((owner, rtype), [ttl, set()])
            rrset[0] = ttl
            rrset[1].add(rdata)

    def commit(self):
        """The next serial, if something has changed since the last one: the caller knows."""
        if self.serial() == self.base_serial:
            ttl, data = self.rrsets[self.zone, SOA]
            old = next(iter(data))
            self.rrsets[self.zone, SOA] = [ttl, {old[:-20] + struct.pack(">I", self.base_serial + 1) + old[-16:]}]
        self.base_serial = self.serial()
