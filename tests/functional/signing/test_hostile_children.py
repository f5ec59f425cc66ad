# SPDX-License-Identifier: BSD-2-Clause
"""Children whose servers are hostile to a parent that follows NOTIFY(CDS): what they answer is refused with the reason, and an honest child isn't
held up by many that keep the parent waiting."""
import contextlib
import re
import socket
import struct
import threading

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rrset
import pytest

from functional.signing.test_delegation import TEST_ZONE, make_world      # noqa: F401
from harness.net import inside
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.core]


def reply_to(query, *records):
    """records: owner, type and as many RDATA as wanted."""
    reply = dns.message.make_response(query)
    reply.flags |= dns.flags.AA
    reply.answer = [dns.rrset.from_text(owner, 60, "IN", rdtype, *texts) for owner, rdtype, *texts in records]
    return reply


def cds_texts(count):
    return [f"{number} 13 2 " + f"{number:064x}" for number in range(count)]


def looping(query):
    """The name is an alias of one below it, which is an alias of the name."""
    name = query.question[0].name.to_text()
    return reply_to(query, (name, "CNAME", "x." + name), ("x." + name, "CNAME", name)).to_wire()


def alias_of_itself(query):
    name = query.question[0].name.to_text()
    return reply_to(query, (name, "CNAME", name)).to_wire()


def thousands(query):
    """As many CDS records as a message has room for."""
    return reply_to(query, (query.question[0].name.to_text(), "CDS", *cds_texts(1250))).to_wire(max_size=65535)


def a_hundred(query):
    """So many that the message is read."""
    return reply_to(query, (query.question[0].name.to_text(), "CDS", *cds_texts(100))).to_wire(max_size=65535)


def truncated(query):
    reply = reply_to(query)
    reply.flags |= dns.flags.TC
    return reply.to_wire()


def another_id(query):
    wire = bytearray(reply_to(query).to_wire())
    wire[0] ^= 0xFF
    return bytes(wire)


def another_name(query):
    other = dns.message.make_query("other.test", query.question[0].rdtype)
    other.id = query.id
    return reply_to(other).to_wire()


def noise(query):
    return struct.pack(">H", query.id) + b"\xff" * 40


ANSWERS = {
    "loop": (looping, "has an alias or other names"),
    "self": (alias_of_itself, "has an alias or other names"),
    "thousands": (thousands, "is too large"),
    "hundred": (a_hundred, "has too many records"),
    "tc": (truncated, "doesn't answer over TCP|isn't whole"),
    "id": (another_id, "doesn't answer over TCP"),
    "name": (another_name, "is to another question"),
    "noise": (noise, "isn't whole"),
}


class Children:
    """Servers over TCP on port 53 of addresses 127.0.6.*, by name of the child; `make(query)` gives the wire of an answer."""

    def __init__(self, namespace, makers):
        self.makers, self.listeners, self.asked = dict(makers), [], set()
        for number in range(1, len(self.makers) + 1):
            with inside(namespace):
                self.listeners.append(socket.create_server((f"127.0.6.{number}", 53)))
            threading.Thread(target=self.accept, args=(self.listeners[-1],), daemon=True).start()

    def zone(self):
        return "".join(f"{name} 60 NS ns.{name}\nns.{name} 60 A 127.0.6.{number}\n" for number, name in enumerate(self.makers, 1))

    def accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rwb") as stream, contextlib.suppress(OSError):
            while len(size := stream.read(2)) == 2:
                query = dns.message.from_wire(stream.read(struct.unpack(">H", size)[0]))
                name = query.question[0].name.labels[0].decode()
                self.asked.add(name)
                wire = self.makers[name](query)
                stream.write(struct.pack(">H", len(wire)) + wire)
                stream.flush()

    def stop(self):
        for listener in self.listeners:
            listener.close()


@pytest.fixture
def make_children(pair):
    made = []

    def make(makers):
        made.append(Children(pair.server, makers))
        return made[-1]

    yield make
    for children in made:
        children.stop()


def notify_all(world, names, source="127.9.9.9"):
    """NOTIFY(CDS) of children from a network of its own, until all of them were taken."""
    with inside(world.namespace):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sock:
        sock.bind((source, 0))
        sock.settimeout(5 * PATIENCE)
        for name in names:
            message = dns.message.make_query(f"{name}.test", "CDS", flags=dns.flags.AA)
            message.set_opcode(dns.opcode.NOTIFY)
            sock.sendto(message.to_wire(), ("127.0.0.1", 53))
            assert dns.message.from_wire(sock.recv(4096)).rcode() == dns.rcode.NOERROR


def test_answers(make_world, make_children):      # noqa: F811
    """Each is refused with what is wrong with it; the delegations stay."""
    children = make_children({name: make for name, (make, _) in ANSWERS.items()})
    world = make_world(parent_zone=TEST_ZONE + children.zone()).start(resolver=False)
    before = world.parent.knotc("zone-read", "test").stdout
    notify_all(world, ANSWERS)
    for name, (_, reason) in ANSWERS.items():
        world.parent.wait_log(rf"delegation, {name}.test., CDS, refused \(.*(?:{reason})", 20)
    assert world.parent.knotc("zone-read", "test").stdout == before
    assert world.ask(world.parent, "test", "SOA")


def test_slow_servers(make_world, make_children):     # noqa: F811
    """A network's children, more than are checked at a time, whose servers answer each question just in time."""
    over = threading.Event()

    def slow(query):
        over.wait(4)
        return reply_to(query).to_wire()

    names = [f"slow{number}" for number in range(40)]
    children = make_children({name: slow for name in names})
    world = make_world(parent_zone=TEST_ZONE + children.zone()).start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.child.wait_log("notify.CDS.*success")
    world.signal()
    notify_all(world, names[:20])
    wait_until(lambda: len(children.asked) >= 4, "checks that go on")
    notify_all(world, names[20:])
    assert world.notify() == dns.rcode.NOERROR
    world.parent.wait(world.present, what="DS of the honest child")
    assert not re.search(r"slow\d+.test., CDS, ", world.parent.log()), "the slow ones are waited for still"
    over.set()
    world.parent.wait_log(r"slow\d+.test., CDS, the child has no CDS", count=20)
