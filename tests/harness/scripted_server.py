# SPDX-License-Identifier: BSD-2-Clause
"""A server whose reply is chosen by the labels of the question's name, to show clients what servers get wrong: UDP and TCP on one port.
The same question has the same reply each time, so two clients can be compared.

A label is a row of ACTIONS, with its arguments behind `-`: `a.rcode-3.opt-15-0012.odd.test` is a reply with an address, rcode 3 and an extended
error. The first label may be of TRANSFERS: what an AXFR or IXFR of the name gives. Labels that are neither mean nothing.
"""
import binascii
import socket
import struct
import threading
import time

from .tls import framed, read_query

TTL = 300


def name_wire(text):
    """The wire form of a name without escapes."""
    labels = [label for label in text.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label.encode("latin-1") for label in labels) + b"\0"


def rr(owner, kind, rdata, ttl=TTL, rrclass=1):
    """A record; the owner is wire form, or the offset of a pointer."""
    at = struct.pack("!H", 0xC000 | owner) if isinstance(owner, int) else owner
    return at + struct.pack("!HHIH", kind, rrclass, ttl, len(rdata)) + rdata


def soa_rdata(serial):
    return name_wire("ns.odd.test") + name_wire("admin.odd.test") + struct.pack("!5I", serial, 3600, 900, 604800, 300)


def option(code, data):
    return struct.pack("!HH", code, len(data)) + data


class Question:
    """What was asked; `wire` is the whole message."""

    def __init__(self, wire):
        self.wire = wire
        self.id, self.flags, self.qdcount = struct.unpack("!HHH", wire[:6])
        self.counts = struct.unpack("!4H", wire[4:12])
        at, labels = 12, []
        if self.qdcount:
            while wire[at]:
                labels.append(wire[at + 1:at + 1 + wire[at]].decode("latin-1"))
                at += 1 + wire[at]
            at += 1
            self.type, self.rrclass = struct.unpack("!HH", wire[at:at + 4])
            at += 4
        else:
            self.type, self.rrclass = 0, 0
        self.labels, self.section, self.end = labels, wire[12:at], at
        self.options = self.read_options()

    def read_options(self):
        """Options of the OPT, by code; None: there is no OPT."""
        at = self.end
        for _ in range(sum(self.counts[1:])):
            while self.wire[at] and self.wire[at] < 0xC0:
                at += 1 + self.wire[at]
            at += 1 if not self.wire[at] else 2
            kind, _, _, length = struct.unpack("!HHIH", self.wire[at:at + 10])
            at += 10
            if kind == 41:
                found, pos = {}, at
                while pos < at + length:
                    code, size = struct.unpack("!HH", self.wire[pos:pos + 4])
                    found[code] = self.wire[pos + 4:pos + 4 + size]
                    pos += 4 + size
                return found
            at += length
        return None

    @property
    def words(self):
        return [label.lower() for label in self.labels[:-2]]


class Reply:
    """A message that actions change."""

    def __init__(self, question, is_tcp):
        self.question, self.is_tcp = question, is_tcp
        self.id = question.id
        self.flags = 0x8000 | (question.flags & 0x7900) | 0x0400
        self.questions = [question.section] if question.qdcount else []
        self.sections = {1: [], 2: [], 3: []}
        self.opt, self.options = None, b""
        self.counts = {}
        self.tail, self.cut, self.delay, self.whole = b"", None, 0.0, None
        self.times, self.is_silent, self.is_closed = 1, False, False

    def set_opt(self, rrclass=1232, ttl=0, owner=b"\0"):
        if self.opt is None:
            self.opt = [owner, rrclass, ttl]
        return self.opt

    def bytes(self):
        if self.whole is not None:
            return self.whole
        additional = list(self.sections[3])
        if self.opt is not None:
            additional.append(rr(self.opt[0], 41, self.options, self.opt[2], self.opt[1]))
        parts = [self.questions, self.sections[1], self.sections[2], additional]
        counts = [self.counts.get(i, len(part)) for i, part in enumerate(parts)]
        wire = struct.pack("!HHHHHH", self.id, self.flags, *counts) + b"".join(b"".join(part) for part in parts) + self.tail
        return wire if self.cut is None else wire[:self.cut]


ACTIONS = {}


def action(function):
    ACTIONS[function.__name__.replace("_", "")] = function
    return function


def unhex(text):
    return binascii.unhexlify(text)


# ---- what is right ----

@action
def a(reply, count="1"):
    reply.sections[1] += [rr(12, 1, bytes([192, 0, 2, i % 250 + 1])) for i in range(int(count))]


@action
def cname(reply, target="a.odd.test"):
    reply.sections[1].append(rr(12, 5, name_wire(target.replace("_", "."))))


@action
def soa(reply, serial="5"):
    reply.sections[2].append(rr(12, 6, soa_rdata(int(serial))))


@action
def glue(reply):
    reply.sections[2].append(rr(12, 2, name_wire("ns.odd.test")))
    reply.sections[3].append(rr(name_wire("ns.odd.test"), 1, b"\xc0\0\2\1"))


@action
def rd(reply, kind, data=""):
    """A record of a type with this RDATA."""
    reply.sections[1].append(rr(12, int(kind), unhex(data)))


@action
def rrclass(reply, number="3"):
    reply.sections[1].append(rr(12, 16, b"\5hello", rrclass=int(number)))


@action
def owner(reply, name):
    """A record with this owner, in hex wire form."""
    reply.sections[1].append(rr(unhex(name), 1, b"\xc0\0\2\1"))


@action
def ttl(reply, number):
    reply.sections[1].append(rr(12, 1, b"\xc0\0\2\1", ttl=int(number)))


@action
def flags(reply, bits):
    reply.flags = int(bits, 16)


@action
def rcode(reply, number):
    code = int(number)
    reply.flags = (reply.flags & 0xFFF0) | (code & 15)
    if code > 15:
        opt = reply.set_opt()
        opt[2] |= (code >> 4) << 24


@action
def opcode(reply, number):
    reply.flags = (reply.flags & 0x87FF) | int(number) << 11


@action
def opt(reply, code="", data=""):
    """An OPT, with an option."""
    reply.set_opt()
    if code:
        reply.options += option(int(code), unhex(data))


@action
def optraw(reply, data):
    reply.set_opt()
    reply.options += unhex(data)


@action
def optttl(reply, number):
    reply.set_opt()[2] = int(number, 16)


@action
def optowner(reply):
    reply.set_opt(owner=name_wire("x"))


@action
def optanswer(reply):
    reply.sections[1].append(rr(b"\0", 41, b"", 0, 512))


@action
def opttwice(reply):
    reply.set_opt()
    reply.sections[3].append(rr(b"\0", 41, b"", 0, 512))


@action
def tsig(reply, error="0"):
    data = name_wire("hmac-sha256") + b"\0\0\x65\x92\0\0\1\x2c\0\4abcd" + struct.pack("!HHH", reply.id, int(error), 0)
    reply.sections[3].append(rr(name_wire("k1"), 250, data, 0, 255))


@action
def badtime(reply):
    """Anybody can send that: there is no signature."""
    data = name_wire("hmac-sha256") + b"\0\0\x65\x92\0\0\1\x2c\0\0" + struct.pack("!HHHHI", reply.id, 18, 6, 0, int(time.time()) + 5000)
    reply.sections[3].append(rr(name_wire("k1"), 250, data, 0, 255))


@action
def cookie(reply, server="0102030405060708"):
    sent = (reply.question.options or {}).get(10, b"")
    reply.set_opt()
    reply.options += option(10, sent[:8] + unhex(server))


@action
def badcookie(reply, always=""):
    """BADCOOKIE until the server's cookie comes back."""
    sent = (reply.question.options or {}).get(10, b"")
    server = b"\1\2\3\4\5\6\7\x08"
    reply.set_opt()
    reply.options += option(10, sent[:8] + server)
    if always or sent[8:] != server:
        rcode(reply, "23")
        reply.sections[1].clear()


# ---- what is wrong ----

@action
def id(reply):
    reply.id ^= 0x0101


@action
def noqr(reply):
    reply.flags &= 0x7FFF


@action
def qname(reply):
    reply.questions = [name_wire("other.test") + reply.question.section[-4:]]


@action
def qcase(reply):
    reply.questions = [reply.question.section[:-4].upper() + reply.question.section[-4:]]


@action
def qtype(reply, number="2"):
    reply.questions = [reply.question.section[:-4] + struct.pack("!HH", int(number), 1)]


@action
def noq(reply):
    reply.questions = []


@action
def twoq(reply):
    reply.questions *= 2


@action
def tc(reply):
    """Truncated over UDP."""
    if not reply.is_tcp:
        reply.flags |= 0x0200
        reply.sections = {1: [], 2: [], 3: []}


@action
def alwaystc(reply):
    reply.flags |= 0x0200


@action
def cut(reply, length):
    reply.cut = int(length)


@action
def trail(reply, data="00"):
    reply.tail = unhex(data)


@action
def count(reply, section, number):
    reply.counts[int(section)] = int(number)


@action
def loop(reply):
    at = 12 + len(reply.question.section)
    reply.sections[1].append(struct.pack("!H", 0xC000 | at) + struct.pack("!HHIH", 1, 1, TTL, 4) + b"\xc0\0\2\1")


@action
def forward(reply):
    reply.sections[1].append(struct.pack("!H", 0xC0F0) + struct.pack("!HHIH", 1, 1, TTL, 4) + b"\xc0\0\2\1")


@action
def label(reply):
    reply.sections[1].append(b"\x80abc\0" + struct.pack("!HHIH", 1, 1, TTL, 4) + b"\xc0\0\2\1")


@action
def garbage(reply, data="ff"):
    reply.whole = unhex(data)


@action
def wreck(reply, data):
    """The right id, and what isn't a message behind it."""
    reply.whole = struct.pack("!H", reply.id) + unhex(data)


@action
def big(reply, count="300"):
    """Many records: over UDP as many bytes as go."""
    reply.sections[1] += [rr(12, 16, bytes([100]) + bytes([97 + i % 26]) * 100) for i in range(int(count))]


@action
def slow(reply, ms):
    reply.delay = int(ms) / 1000


@action
def twice(reply):
    reply.times = 2


@action
def none(reply):
    reply.is_silent = True


@action
def udpnone(reply):
    reply.is_silent = not reply.is_tcp


@action
def close(reply):
    """TCP is closed without a reply."""
    reply.is_closed = reply.is_tcp
    reply.is_silent = True


@action
def half(reply):
    """Over TCP half of the reply, then the end."""
    if reply.is_tcp:
        reply.is_closed = True


# ---- transfers ----

def address(name, number):
    return rr(name_wire(name), 1, bytes([192, 0, 2, number]))


def apex(question, serial):
    return rr(question.section[:-4], 6, soa_rdata(serial))


# The answer sections of the messages of a transfer, by word. q: the question.
TRANSFERS = {
    "whole": lambda q: [[apex(q, 5), address("a.odd.test", 1), address("b.odd.test", 2), apex(q, 5)]],
    "split": lambda q: [[apex(q, 5)], [address("a.odd.test", 1)], [address("b.odd.test", 2), apex(q, 5)]],
    "many": lambda q: [[apex(q, 5)]] + [[address(f"n{i}.odd.test", i)] for i in range(50)] + [[apex(q, 5)]],
    "nosoa": lambda q: [[address("a.odd.test", 1), apex(q, 5)]],
    "noend": lambda q: [[apex(q, 5), address("a.odd.test", 1)]],
    "empty": lambda q: [[]],
    "onlysoa": lambda q: [[apex(q, 5)]],
    "twosoa": lambda q: [[apex(q, 5), apex(q, 5)]],
    "otherend": lambda q: [[apex(q, 5), address("a.odd.test", 1), apex(q, 6)]],
    "after": lambda q: [[apex(q, 5), address("a.odd.test", 1), apex(q, 5), address("b.odd.test", 2)]],
    "foreign": lambda q: [[rr(name_wire("other.test"), 6, soa_rdata(5)), address("a.odd.test", 1), rr(name_wire("other.test"), 6, soa_rdata(5))]],
    "ixfr": lambda q: [[apex(q, 5), apex(q, 4), address("a.odd.test", 1), apex(q, 5), address("a.odd.test", 2), apex(q, 5)]],
    "ixfr2": lambda q: [[apex(q, 5), apex(q, 3), address("a.odd.test", 1), apex(q, 4)],
                        [address("a.odd.test", 3), apex(q, 4), apex(q, 5), address("a.odd.test", 2), apex(q, 5)]],
    "gap": lambda q: [[apex(q, 6), apex(q, 3), apex(q, 4), apex(q, 5), apex(q, 6), apex(q, 6)]],
    "badend": lambda q: [[apex(q, 5), apex(q, 3), apex(q, 4), apex(q, 4), apex(q, 4), apex(q, 5)]],
    "newer": lambda q: [[apex(q, 9)]],
    "secondempty": lambda q: [[apex(q, 5)], [], [apex(q, 5)]],
}


def answer(wire, is_tcp):
    """The replies to a message: pairs of seconds to wait and bytes, and whether the connection ends then. None: silence."""
    question = Question(wire)
    replies, is_closed = [], False
    messages = [None]
    if question.type in (251, 252) and is_tcp:
        for word in question.words:
            if word.split("-")[0] in TRANSFERS:
                messages = TRANSFERS[word.split("-")[0]](question)
    for number, records in enumerate(messages):
        reply = Reply(question, is_tcp)
        if records is not None:
            reply.sections[1] += records
        for word in question.words:
            name, *arguments = word.split("-")
            if name.startswith("later") and name[5:] in ACTIONS:    # of messages of transfers but the first
                if number > 0:
                    ACTIONS[name[5:]](reply, *arguments)
            elif name in ACTIONS:
                ACTIONS[name](reply, *arguments)
        is_closed |= reply.is_closed
        if not reply.is_silent:
            replies += [(reply.delay, reply.bytes())] * reply.times
    return replies, is_closed


class ScriptedServer:
    """Threads of UDP and TCP on a free port of an address."""

    def __init__(self, address="127.0.0.1", port=0):
        self.udp = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.tcp = socket.socket(self.udp.family, socket.SOCK_STREAM)
        self.tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        while True:
            self.tcp.bind((address, port))
            self.port = self.tcp.getsockname()[1]
            try:
                self.udp.bind((address, self.port))
                break
            except OSError:
                self.tcp.close()
                self.tcp = socket.socket(self.udp.family, socket.SOCK_STREAM)
        self.tcp.listen(64)
        self.is_stopped = False
        self.connections = 0    # over TCP, so far
        self.received = []      # ("UDP" or "TCP", message)
        for loop_of in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=loop_of, daemon=True).start()

    def stop(self):
        self.is_stopped = True
        self.udp.close()
        self.tcp.close()

    def serve_udp(self):
        while not self.is_stopped:
            try:
                wire, client = self.udp.recvfrom(65535)
            except OSError:
                return
            threading.Thread(target=self.reply_udp, args=(wire, client), daemon=True).start()

    def reply_udp(self, wire, client):
        self.received.append(("UDP", wire))
        for delay, reply in answer(wire, False)[0]:
            time.sleep(delay)    # what the name asks for
            if not self.is_stopped:
                self.udp.sendto(reply[:60000], client)

    def serve_tcp(self):
        while not self.is_stopped:
            try:
                conn, _ = self.tcp.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.talk, args=(conn,), daemon=True).start()

    def talk(self, conn):
        with conn:
            try:
                while True:
                    wire = read_query(conn)
                    self.received.append(("TCP", wire))
                    replies, is_closed = answer(wire, True)
                    for delay, reply in replies:
                        time.sleep(delay)    # what the name asks for
                        message = framed(reply)
                        conn.sendall(message[:len(message) // 2] if is_closed else message)
                    if is_closed or b"then-close" in wire:     # half a reply, or a whole one
                        return
            except (OSError, EOFError):
                return
