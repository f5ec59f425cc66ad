# SPDX-License-Identifier: BSD-2-Clause
"""What is wrong with a signed zone by RFC 4034, 4035, 5155 and 9077, with dnspython's names, RDATA and signatures.

Everything is looked at, and each fault is said: signatures of each set that must have one and of no other, by each algorithm of the keys; all
TTLs; the chain of NSEC or NSEC3, name by name; digests of ZONEMD; CDS and CDNSKEY.
"""
import time

import dns.dnssec
import dns.exception
import dns.name
import dns.rdatatype
import dns.zone

RRSIG, NSEC, NSEC3, NS, DS = (getattr(dns.rdatatype, name) for name in ("RRSIG", "NSEC", "NSEC3", "NS", "DS"))
DNSKEY, SOA, NSEC3PARAM = dns.rdatatype.DNSKEY, dns.rdatatype.SOA, dns.rdatatype.NSEC3PARAM
SEP, REVOKE = 0x0001, 0x0080
OPT_OUT = 1


def bitmap(rdata):
    """The types of an NSEC or NSEC3 record."""
    return {window * 256 + at * 8 + bit for window, octets in rdata.windows for at, octet in enumerate(octets) for bit in range(8) if octet & (0x80 >> bit)}


def types_of(node):
    return {rdataset.rdtype for rdataset in node}


def text(types):
    return " ".join(sorted(dns.rdatatype.to_text(rdtype) for rdtype in types)) or "none"


class Judge:
    """Looks at one zone (not relativized) at a time (UNIX)."""

    def __init__(self, zone, now=None):
        self.zone, self.origin, self.now = zone, zone.origin, now or time.time()
        self.faults = []
        self.keys = self.get(self.origin, DNSKEY) or []
        self.hashed = {name for name, node in zone.items() if types_of(node) - {RRSIG} == {NSEC3}}
        self.cuts = {name for name, node in zone.items() if name != self.origin and NS in types_of(node)}
        self.names = {name for name, node in zone.items() if name not in self.hashed and not self.is_below_cut(name) and types_of(node) - {RRSIG, NSEC}}

    def get(self, name, rdtype, covers=dns.rdatatype.NONE):
        return self.zone.get_rdataset(name, rdtype, covers)

    def fault(self, name, what):
        self.faults.append(f"{name} {what}")

    def is_below_cut(self, name):
        while name != self.origin and len(name) > len(self.origin):
            name = name.parent()
            if name in self.cuts:
                return True
        return False

    def is_signed(self, name, rdtype):
        """True if the set must have signatures."""
        if name in self.hashed:
            return True
        return not self.is_below_cut(name) and (name not in self.cuts or rdtype in (DS, NSEC))

    # ---- signatures ----

    def check_signature(self, name, rdataset, rdata):
        """The algorithm of a signature that is valid, or None."""
        wanted = len(name) - 1 - (name.labels[0] == b"*")
        if rdata.labels != wanted or rdata.signer != self.origin or rdata.original_ttl != rdataset.ttl:
            self.fault(name, f"RRSIG({text([rdataset.rdtype])}) labels {rdata.labels}, TTL {rdata.original_ttl}, signer {rdata.signer}")
        if not any(dns.dnssec.key_id(key) == rdata.key_tag and key.algorithm == rdata.algorithm for key in self.keys):
            return None     # of a key that isn't published yet, or any more
        try:
            dns.dnssec.validate_rrsig((name, rdataset), rdata, {self.origin: self.keys}, now=self.now)
        except dns.exception.DNSException as error:
            self.fault(name, f"RRSIG({text([rdataset.rdtype])}) by {rdata.key_tag}: {error}")
            return None
        return int(rdata.algorithm)

    def check_set(self, name, rdataset, algorithms):
        sigs = self.get(name, RRSIG, rdataset.rdtype)
        if not self.is_signed(name, rdataset.rdtype):
            if sigs:
                self.fault(name, f"{text([rdataset.rdtype])} must not be signed")
            return
        if not sigs:
            self.fault(name, f"{text([rdataset.rdtype])} has no signature")
            return
        if sigs.ttl != rdataset.ttl:
            self.fault(name, f"RRSIG({text([rdataset.rdtype])}) TTL {sigs.ttl}, not {rdataset.ttl}")
        valid = {self.check_signature(name, rdataset, rdata) for rdata in sigs} - {None}
        if not valid:
            self.fault(name, f"{text([rdataset.rdtype])} has no valid signature")
        elif algorithms - valid:
            self.fault(name, f"{text([rdataset.rdtype])} has signatures of algorithms {valid}, not {algorithms}")

    def check_signatures(self):
        algorithms = {int(key.algorithm) for key in self.keys if not key.flags & REVOKE}
        if not algorithms:
            self.fault(self.origin, "has no DNSKEY")
        for name, node in self.zone.items():
            for rdataset in node:
                if rdataset.rdtype != RRSIG:
                    self.check_set(name, rdataset, algorithms)
                elif not node.get_rdataset(self.zone.rdclass, rdataset.covers):
                    self.fault(name, f"RRSIG of {text([rdataset.covers])}, which isn't there")

    # ---- the chain ----

    def chain_ttl(self):
        soa = self.get(self.origin, SOA)
        return min(soa.ttl, soa[0].minimum)

    def shown_types(self, name):
        """The types that must be in a bitmap, but for NSEC and RRSIG."""
        types = types_of(self.zone.nodes[name]) - {RRSIG, NSEC}
        return types & {NS, DS} if name in self.cuts else types

    def check_link(self, name, rdataset, wanted, following, found_next):
        if len(rdataset) != 1 or rdataset.ttl != self.chain_ttl():
            self.fault(name, f"{len(rdataset)} {text([rdataset.rdtype])}, TTL {rdataset.ttl}, not {self.chain_ttl()}")
        found = bitmap(rdataset[0])
        if found != wanted:
            self.fault(name, f"{text([rdataset.rdtype])} has types {text(found)}, not {text(wanted)}")
        if found_next != following:
            self.fault(name, f"{text([rdataset.rdtype])} leads to {found_next}, not {following}")

    def check_nsec(self):
        chain = sorted(self.names)
        for name, following in zip(chain, chain[1:] + chain[:1]):
            rdataset = self.get(name, NSEC)
            if rdataset is None:
                self.fault(name, "has no NSEC")
            else:
                self.check_link(name, rdataset, self.shown_types(name) | {NSEC, RRSIG}, following, rdataset[0].next)
        for name, node in self.zone.items():
            if types_of(node) & {NSEC, NSEC3, NSEC3PARAM} and (name not in self.names or types_of(node) & {NSEC3, NSEC3PARAM}):
                self.fault(name, f"has {text(types_of(node))}")

    def hash(self, name, params):
        return dns.name.from_text(dns.dnssec.nsec3_hash(name, params.salt, params.iterations, params.algorithm).lower(), self.origin)

    def with_empty_ones(self):
        """Names and empty non-terminals: True if a signed set is there or below."""
        found = {}
        for name in self.names:
            is_secure = name not in self.cuts or DS in types_of(self.zone.nodes[name])
            at = name
            while at not in found or (is_secure and not found[at]):
                found[at] = is_secure
                if at == self.origin:
                    break
                at = at.parent()
        return found

    def check_nsec3(self, params):
        wanted = {self.hash(name, params): name for name in self.with_empty_ones()}
        secure = self.with_empty_ones()
        chain = sorted(self.hashed)
        for at, following in zip(chain, chain[1:] + chain[:1]):
            rdataset = self.get(at, NSEC3)
            rdata, name = rdataset[0], wanted.get(at)
            if name is None:
                self.fault(at, "NSEC3 of no name")
                continue
            if (rdata.algorithm, rdata.iterations, rdata.salt) != (params.algorithm, params.iterations, params.salt):
                self.fault(at, "NSEC3 with other parameters than NSEC3PARAM")
            types = self.shown_types(name) if name in self.names else set()
            if types and (name not in self.cuts or DS in types):
                types = types | {RRSIG}
            found_next = dns.name.from_text(rdata.to_text().split()[4].lower(), self.origin)
            self.check_link(at, rdataset, types, following, found_next)
        for at, name in wanted.items():
            if at not in self.hashed and (secure[name] or not self.is_opted_out(at, chain)):
                self.fault(name, f"has no NSEC3 ({at})")
        for name in self.names:
            if types_of(self.zone.nodes[name]) & {NSEC}:
                self.fault(name, "has NSEC, too")

    def is_opted_out(self, at, chain):
        """True if the record that covers a hashed name has the opt-out flag."""
        before = [name for name in chain if name < at] or chain
        return bool(before) and bool(self.get(before[-1], NSEC3)[0].flags & OPT_OUT)

    # ---- the apex ----

    def check_apex(self):
        known = {(dns.dnssec.key_id(key), key.algorithm) for key in self.keys}
        for rdata in self.get(self.origin, dns.rdatatype.CDS) or []:
            if rdata.algorithm and (rdata.key_tag, rdata.algorithm) not in known:
                self.fault(self.origin, f"CDS of no key: {rdata}")
        for rdata in self.get(self.origin, dns.rdatatype.CDNSKEY) or []:
            if rdata.algorithm and rdata.to_text() not in {key.to_text() for key in self.keys}:
                self.fault(self.origin, f"CDNSKEY of no key: {rdata}")
        if self.get(self.origin, dns.rdatatype.ZONEMD) is not None:
            try:
                self.zone.verify_digest()
            except dns.exception.DNSException as error:
                self.fault(self.origin, f"ZONEMD: {error}")

    def judge(self):
        self.check_signatures()
        params = self.get(self.origin, NSEC3PARAM)
        if params is None:
            self.check_nsec()
        elif len(params) != 1 or params.ttl != self.chain_ttl():
            self.fault(self.origin, f"{len(params)} NSEC3PARAM, TTL {params.ttl}")
        else:
            self.check_nsec3(params[0])
        self.check_apex()
        return self.faults


def faults_of(path, origin, now=None):
    """The faults of a zone file, each a line."""
    zone = dns.zone.from_file(str(path), origin=origin, relativize=False, check_origin=False)
    return Judge(zone, now).judge()
