# SPDX-License-Identifier: BSD-2-Clause
"""A secondary beside primaries that do everything wrong: each zone has a primary with one behaviour, all at once. The old version of each serves
on, the log says why, an honest zone among them is refreshed at once, and nothing is left behind."""
import contextlib
import itertools
import os
import re
import socket
import struct
import threading

import dns.message
import dns.name
import dns.rdatatype
import dns.tsig
import dns.tsigkeyring
import pytest

from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.core]

SECRET = "bG9uZyBlbm91Z2ggZm9yIGEgdGVzdA=="
KEYRING = dns.tsigkeyring.from_text({"k.": SECRET, "other.": SECRET})
SOA, NS, A, CNAME, DNAME, OPT, IXFR, AXFR, ANY = 6, 2, 1, 5, 39, 41, 251, 252, 255
SIZE_MAX = 200_000      # of a zone


# ---- Messages, byte by byte ----

def wire(text):
    return dns.name.from_text(text).to_wire()


def rr(owner, rdtype, rdata, ttl=60, rdclass=1, length=None):
    return (owner if isinstance(owner, bytes) else wire(owner)) + struct.pack(">HHIH", rdtype, rdclass, ttl, len(rdata) if length is None else length) + rdata


def soa(zone, serial, minimum=60):
    return rr(zone, SOA, wire(f"ns.{zone}") + wire(f"admin.{zone}") + struct.pack(">5I", serial, 3600, 3600, 86400, minimum))


def a(owner, last=2):
    return rr(owner, A, bytes([192, 0, 2, last]))


class Query:
    def __init__(self, data):
        self.message = dns.message.from_wire(data, keyring=KEYRING)
        self.id, self.qtype = self.message.id, self.message.question[0].rdtype
        self.zone = self.message.question[0].name.to_text()

    @property
    def first(self):
        return soa(self.zone, 2)

    def body(self):
        return [rr(self.zone, NS, wire(f"ns.{self.zone}")), a(f"ns.{self.zone}", 1), a(f"new.{self.zone}")]

    def reply(self, *records, rcode=0, flags=0x8400, ident=None, question=True, count=None, additional=(), tail=b"", zone=None, qtype=None, qclass=1):
        asked = wire(zone or self.zone) + struct.pack(">HH", qtype or self.qtype, qclass) if question else b""
        header = struct.pack(">6H", self.id if ident is None else ident, flags | rcode, int(question), len(records) if count is None else count, 0,
                             len(additional))
        return header + asked + b"".join(records) + b"".join(additional) + tail

    def axfr(self, *more):
        return self.reply(self.first, *self.body(), *more, self.first)


# ---- What a primary does. A function of the query gives what is sent, one after the other: messages, and these ----

class Raw(bytes):
    """Bytes without a length in front."""


CUT, RESET, HANG = "cut", "reset", "hang"       # the end of the connection; silence


def drip(q):
    data = q.axfr()
    for byte in struct.pack(">H", len(data)) + data:
        yield Raw([byte])
        yield 0.3           # seconds


def endless(q, *records):
    yield q.reply(q.first, *q.body())
    message = q.reply(*records)
    while True:
        yield message


def growing(q):
    yield q.reply(q.first, *q.body())
    for number in itertools.count():
        yield q.reply(*(a(f"n{number}-{i}.{q.zone}") for i in range(500)))


def long_ixfr(q):
    """Changesets without an end, each of which takes back the one before."""
    if q.qtype == AXFR:
        yield q.reply(rcode=5)
        return
    yield q.reply(soa(q.zone, 4_000_000), soa(q.zone, 1))
    for serial in itertools.count(1):
        there, more = a(f"new.{q.zone}"), soa(q.zone, serial + 1)
        yield q.reply(*([there] if serial % 2 == 0 else []), more, *([there] if serial % 2 else []), more)


def ixfr(q, *records):
    """These changes to IXFR; AXFR of the new version to AXFR."""
    return [q.reply(soa(q.zone, 2), *records, soa(q.zone, 2))] if q.qtype == IXFR else [q.axfr()]


def signed(q, *parts, key="k.", unsigned_from=None, bend=None, **options):
    """Messages signed in one chain, as far as they are."""
    context = None
    for number, records in enumerate(parts):
        message = dns.message.from_wire(q.reply(*records), xfr=True, one_rr_per_rrset=True)
        if unsigned_from is not None and number >= unsigned_from:
            yield q.reply(*records)
            continue
        message.use_tsig(KEYRING, key, original_id=q.id, **options)
        message.request_mac = q.message.mac
        data = message.to_wire(multi=True, tsig_ctx=context)
        context = message.tsig_ctx
        yield bend(data) if bend is not None else data


def many_parts(q):
    return [[q.first, *q.body()], *([a(f"n{i}.{q.zone}")] for i in range(110)), [q.first]]


def flip(data):
    """Another bit of the MAC, which stands in front of ID, error and length of other data."""
    return data[:-7] + bytes([data[-7] ^ 1]) + data[-6:]


POINTER_BEYOND = b"\xff\xff"
LONG_NAME = (b"\x3f" + b"x" * 63) * 4 + b"\0"

# Behaviours at the question for the SOA; None leaves it to the honest answer, serial 2.
AT_SOA = {
    **{f"soa-{name}": (lambda q, rcode=rcode: [q.reply(rcode=rcode)]) for name, rcode in
       dict(formerr=1, servfail=2, nxdomain=3, notimp=4, refused=5, notauth=9).items()},
    "soa-empty": lambda q: [q.reply()],
    "soa-id": lambda q: [q.reply(q.first, ident=q.id ^ 1)],
    "soa-question": lambda q: [q.reply(q.first, zone="other.")],
    "soa-of-another": lambda q: [q.reply(soa("other.", 2))],
    "soa-query": lambda q: [q.reply(q.first, flags=0x0400)],
    "soa-opcode": lambda q: [q.reply(q.first, flags=0xA400)],
    "soa-short-rdata": lambda q: [q.reply(rr(q.zone, SOA, b"\0\0\0\0"))],
    "soa-loop": lambda q: [q.reply(b"\xc0" + bytes([12 + len(wire(q.zone)) + 4]) + b"\0\6\0\1\0\0\0\0\0\0")],
    "soa-counts": lambda q: [q.reply(count=60000)],
    "soa-11-bytes": lambda q: [q.reply()[:11]],
    "soa-nothing": lambda q: [b""],
    "soa-class": lambda q: [q.reply(rr(q.zone, SOA, soa(q.zone, 2)[-40:], rdclass=3))],
    "soa-two-opt": lambda q: [q.reply(q.first, additional=[rr(b"\0", OPT, b"", rdclass=1232)] * 2)],
    "soa-long-opt": lambda q: [q.reply(q.first, additional=[rr(b"\0", OPT, b"\0\3\xff\xff" + b"x" * 60000, rdclass=1232)])],
    "soa-hang": lambda q: [HANG],
    "soa-cut": lambda q: [CUT],
    "soa-reset": lambda q: [RESET],
    "soa-cut-in-length": lambda q: [Raw(b"\1"), CUT],
    "soa-cut-in-message": lambda q: [Raw(b"\0\xff" + q.reply(q.first)), CUT],
    "soa-noise": lambda q: [bytes(range(256)) * 255],
    "soa-older": lambda q: [q.reply(soa(q.zone, 0))],
    "soa-same": lambda q: [q.reply(soa(q.zone, 1))],
    "soa-same-expire-late": lambda q: [q.reply(soa(q.zone, 1), additional=[rr(b"\0", OPT, b"\0\x09\0\4\xff\xff\xff\xff", rdclass=1232)])],
    "soa-same-expire-short": lambda q: [q.reply(soa(q.zone, 1), additional=[rr(b"\0", OPT, b"\0\x09\0\2\0\0", rdclass=1232)])],
}

# At the question for the zone, IXFR first and then perhaps AXFR.
AT_TRANSFER = {
    **{f"xfr-{name}": (lambda q, rcode=rcode: [q.reply(rcode=rcode)]) for name, rcode in
       dict(formerr=1, servfail=2, notimp=4, refused=5, notauth=9).items()},
    "xfr-empty": lambda q: [q.reply()],
    "xfr-cut": lambda q: [CUT],
    "xfr-cut-in-length": lambda q: [Raw(b"\1"), CUT],
    "xfr-cut-in-message": lambda q: [Raw(b"\x20\0" + q.reply(q.first)), CUT],
    "xfr-cut-behind-message": lambda q: [q.reply(q.first, *q.body()), CUT],
    "xfr-reset": lambda q: [q.reply(q.first, *q.body()), RESET],
    "xfr-hang": lambda q: [q.reply(q.first, *q.body()), HANG],
    "xfr-drip": drip,
    "xfr-same-record": lambda q: endless(q, *[a(f"new.{q.zone}")] * 1000),
    "xfr-empty-messages": lambda q: endless(q),
    "xfr-foreign": lambda q: endless(q, *[a(f"n{i}.elsewhere.") for i in range(1000)]),
    "xfr-growing": growing,
    "xfr-soa-not-first": lambda q: [q.reply(*q.body(), q.first)],
    "xfr-other-zone": lambda q: [q.reply(soa("other.", 2), a("new.other."), soa("other.", 2))],
    "xfr-id": lambda q: [q.reply(q.first, *q.body()), q.reply(q.first, ident=q.id ^ 1)],
    "xfr-rcode-later": lambda q: [q.reply(q.first, *q.body()), q.reply(rcode=2)],
    "xfr-query": lambda q: [q.reply(q.first, *q.body(), q.first, flags=0)],
    "xfr-opcode": lambda q: [q.reply(q.first, *q.body(), q.first, flags=0xA400)],
    "xfr-pointer-beyond": lambda q: [q.axfr(rr(POINTER_BEYOND, A, bytes(4)))],
    "xfr-pointer-loop": lambda q: [q.axfr(rr(q.zone, NS, b"\1a" + struct.pack(">H", 0xC000 + len(q.reply(q.first, *q.body(), wire(q.zone))) + 10)))],
    "xfr-rdlength": lambda q: [q.reply(q.first, rr(q.zone, NS, b"\0", length=50000), q.first)],
    "xfr-short-a": lambda q: [q.axfr(rr(f"x.{q.zone}", A, b"\1\2\3"))],
    "xfr-count": lambda q: [q.reply(q.first, *q.body(), q.first, count=60)],
    "xfr-long-name": lambda q: [q.axfr(rr(LONG_NAME, A, bytes(4)))],
    "xfr-cname-at-apex": lambda q: [q.axfr(rr(q.zone, CNAME, wire("x.")))],
    "xfr-cname-beside": lambda q: [q.axfr(rr(f"new.{q.zone}", CNAME, wire("x.")))],
    "xfr-below-dname": lambda q: [q.axfr(rr(f"d.{q.zone}", DNAME, wire("x.")), a(f"b.d.{q.zone}"))],
    "xfr-class": lambda q: [q.axfr(rr(f"x.{q.zone}", A, bytes(4), rdclass=3))],
    "xfr-any": lambda q: [q.axfr(rr(f"x.{q.zone}", ANY, b""))],
    "xfr-header": lambda q: [q.reply()[:11]],
    "xfr-nothing": lambda q: [b""],
    "ixfr-empty-changes": long_ixfr,
    "xfr-noise": lambda q: [bytes(range(256)) * 255],
}

SIGNED = {
    "tsig-none": lambda q: [q.axfr()],
    "tsig-wrong-mac": lambda q: signed(q, [q.first, *q.body(), q.first], bend=flip),
    "tsig-other-key": lambda q: signed(q, [q.first, *q.body(), q.first], key="other."),
    "tsig-missing-later": lambda q: signed(q, *many_parts(q), unsigned_from=1),
    "tsig-error": lambda q: signed(q, [q.first, *q.body(), q.first], tsig_error=17),
    "tsig-not-last": lambda q: [moved_tsig(q)],
    "tsig-twice": lambda q: [doubled_tsig(q)],
    "tsig-unsigned-error": lambda q: [q.reply(rcode=2)],
    "tsig-cut-mac": lambda q: [cut_mac(q)],
}

# What isn't as usual, and is taken all the same.
HARMLESS = {
    "honest": lambda q: [q.axfr()],
    "fine-no-question": lambda q: [q.reply(q.first, *q.body(), q.first, question=False)],
    "fine-another-last-soa": lambda q: [q.reply(q.first, *q.body(), soa(q.zone, 3))],
    "fine-no-aa": lambda q: [q.reply(q.first, *q.body(), q.first, flags=0x8000)],
    "fine-one-record-each": lambda q: [q.reply(record) for record in (q.first, *q.body(), q.first)],
    "fine-foreign-record": lambda q: [q.axfr(a("x.elsewhere."))],
    "fine-double-record": lambda q: [q.axfr(a(f"new.{q.zone}"))],
    "fine-removes-missing": lambda q: ixfr(q, soa(q.zone, 1), a(f"none.{q.zone}"), soa(q.zone, 2)),
    "fine-from-another-serial": lambda q: ixfr(q, soa(q.zone, 0), soa(q.zone, 2), a(f"new.{q.zone}")),
    "fine-broken-chain": lambda q: ixfr(q, soa(q.zone, 1), soa(q.zone, 3), a(f"x.{q.zone}"), soa(q.zone, 5), soa(q.zone, 2)),
    "fine-formerr-to-ixfr": lambda q: [q.reply(rcode=1)] if q.qtype == IXFR else [q.axfr()],
    "fine-notimp-to-ixfr": lambda q: [q.reply(rcode=4)] if q.qtype == IXFR else [q.axfr()],
}

# What the log says of some of them.
REASONS = {
    r"connection timeout": ["soa-hang", "xfr-hang", "xfr-drip"],
    r"connection reset": ["soa-cut-in-message", "soa-reset", "xfr-cut-behind-message", "xfr-reset"],
    r"malformed data": ["soa-id", "xfr-id", "xfr-empty-messages", "xfr-pointer-loop", "xfr-count", "xfr-short-a", "tsig-none", "tsig-missing-later", "tsig-not-last"],
    r"failed to verify TSIG": ["tsig-wrong-mac", "tsig-cut-mac", "tsig-twice"],
    r"TSIG key not recognized or invalid": ["tsig-other-key", "tsig-error"],
    r"zone size exceeded": ["xfr-growing", "xfr-foreign", "xfr-same-record"],
    r"semantic check": ["xfr-cname-at-apex", "xfr-cname-beside", "xfr-below-dname"],
    r"not allowed": ["soa-refused", "xfr-servfail", "xfr-rcode-later", "ixfr-empty-changes"],
}


def tsig_at(q):
    """A signed answer, and where its TSIG record begins."""
    data = next(signed(q, [q.first, *q.body(), q.first]))
    return data, data.rindex(wire("k."))


def moved_tsig(q):
    data, _ = tsig_at(q)
    return data[:10] + b"\0\2" + data[12:] + rr(b"\0", OPT, b"", rdclass=1232)


def doubled_tsig(q):
    data, at = tsig_at(q)
    return data[:10] + b"\0\2" + data[12:] + data[at:]


def cut_mac(q):
    """Four bytes of the MAC."""
    data, at = tsig_at(q)
    algorithm = at + len(wire("k.")) + 10
    mac = data.index(b"\0", algorithm) + 1 + 8
    length = struct.unpack_from(">H", data, mac)[0]
    rdata = data[algorithm:mac] + b"\0\4" + data[mac + 2:mac + 6] + data[mac + 2 + length:]
    return data[:algorithm - 2] + struct.pack(">H", len(rdata)) + rdata


BAD = {**AT_SOA, **AT_TRANSFER, **SIGNED}
ALL = {**BAD, **HARMLESS}


ADDRESSES = {name: f"127.1.0.{number}" for number, name in enumerate(ALL, 1)}


class Primaries:
    """Each behaviour has an address, as connections are shared by what is asked of one."""

    def __init__(self):
        self.ends = threading.Event()
        self.listeners = []
        port = 0
        for address in ADDRESSES.values():
            self.listeners.append(socket.create_server((address, port), backlog=100))
            port = self.listeners[0].getsockname()[1]
        self.port = port
        for listener in self.listeners:
            threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while not self.ends.is_set():
            with contextlib.suppress(OSError):
                threading.Thread(target=self.serve, args=(listener.accept()[0],), daemon=True).start()

    def serve(self, sock):
        with sock, contextlib.suppress(OSError, EOFError), sock.makefile("rb") as stream:
            sock.settimeout(60 * PATIENCE)
            while not self.ends.is_set():
                head = stream.read(2)
                if len(head) < 2:
                    return
                q = Query(stream.read(struct.unpack(">H", head)[0]))
                for item in self.answer(q):
                    if not self.send(sock, item):
                        return

    @staticmethod
    def answer(q):
        name = q.zone.split(".")[0]
        if q.qtype in (IXFR, AXFR):
            return ALL[name](q)
        if name in AT_SOA:
            return AT_SOA[name](q)
        return signed(q, [q.first]) if name in SIGNED else [q.reply(q.first)]

    def send(self, sock, item):
        if isinstance(item, float):
            return not self.ends.wait(item)
        if item == RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if item == HANG:
            self.ends.wait(60 * PATIENCE)
        if isinstance(item, str):
            return False
        sock.sendall(item if isinstance(item, Raw) else struct.pack(">H", len(item)) + item)
        return not self.ends.is_set()

    def close(self):
        self.ends.set()
        for listener in self.listeners:
            listener.shutdown(socket.SHUT_RDWR)     # accept() comes back
            listener.close()


@pytest.fixture
def primaries():
    made = Primaries()
    yield made
    made.close()


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def memory(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) * 1024


def serial_of(daemon, name):
    answer = daemon.ask(f"{name}.bad", "SOA").answer
    return answer[0][0].serial if answer else None


def test_hostile_primaries(knotd, primaries):
    for name in ALL:
        knotd.write(f"{name}.bad.zone", f"$ORIGIN {name}.bad.\n@ 60 SOA ns admin 1 3600 3600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\nold 60 A 192.0.2.1\n")
    knotd.configure(f"key:\n  - id: k.\n    algorithm: hmac-sha256\n    secret: {SECRET}\n"
                    "remote:\n" + "".join(f"  - id: {name}\n    address: {ADDRESSES[name]}@{primaries.port}\n" + ("    key: k.\n" if name in SIGNED else "")
                                           for name in ALL) +
                    f"template:\n  - id: default\n    storage: {knotd.dir}\n    zone-max-size: {SIZE_MAX}\n    zonefile-sync: -1\nzone:\n" +
                    "".join(f"  - domain: {name}.bad\n    master: {name}\n" for name in ALL),
                    server="tcp-remote-io-timeout: 1000\nremote-retry-delay: 0")
    knotd.start()
    wait_until(lambda: serial_of(knotd, "honest") == 2, lambda: f"the honest zone\n{knotd.log()[-3000:]}", 10)
    before = descriptors(knotd)

    def missing():
        log = knotd.log()
        return [name for name in BAD if not re.search(rf"\[{name}\.bad\.\] refresh, (.*failed \(.*next retry at|.*up-to-date|all masters are outdated)", log)]
    wait_until(lambda: not missing(), lambda: f"an end of {missing()}\n" + "".join(line for line in knotd.log().splitlines(True) if any(
        f"[{name}.bad.]" in line for name in missing())), 40)
    log = knotd.log()
    for name in BAD:
        assert serial_of(knotd, name) == 1, name
        assert knotd.ask(f"old.{name}.bad").answer, name
        why = rf"\[{name}\.bad\.\] .*(failed \(|malformed message|server responded with error|is up-to-date|remote is outdated)"
        assert re.search(why, log), name
    for reason, names in REASONS.items():
        for name in names:
            assert re.search(rf"\[{name}\.bad\.\] refresh, remote \S+, address \S+, failed \({reason}\)", log), (name, reason)
    for name in HARMLESS:
        wait_until(lambda: serial_of(knotd, name) == 2, lambda: f"{name}\n" + "\n".join(line for line in knotd.log().splitlines() if f"[{name}.bad.]" in line), 10)
        assert knotd.ask(f"new.{name}.bad").answer, name
    wait_until(lambda: descriptors(knotd) <= before, lambda: f"{descriptors(knotd)} descriptors, {before} before", 20)
    # All again, three times: memory stays what it was after the first.
    held = memory(knotd)
    for count in (2, 3, 4):
        knotd.knotc("zone-refresh", *(f"{name}.bad" for name in BAD))
        wait_until(lambda: all(len(re.findall(rf"\[{name}\.bad\.\] refresh, failed", knotd.log())) >= count for name in AT_TRANSFER), "the next round", 40)
    assert PATIENCE > 3 or memory(knotd) < held + (24 << 20)      # sanitizers keep what was freed
