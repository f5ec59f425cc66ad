# SPDX-License-Identifier: BSD-2-Clause
"""NOTIFY: from the distribution's knotd to a secondary, and from a primary to servers that answer, refuse, or are down."""
import socket
import struct
import threading

import dns.message
import pytest

from harness.net import free_port
from test_refresh import configure, primary, wait_serial, zone_text  # noqa: F401

pytestmark = [pytest.mark.ours, pytest.mark.core]


class Notified:
    """A server that keeps the NOTIFYs that come over TCP, and answers with an rcode."""

    def __init__(self, rcode=0):
        self.rcode, self.got = rcode, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rwb") as stream:
            while len(size := stream.read(2)) == 2:
                query = dns.message.from_wire(stream.read(struct.unpack("!H", size)[0]))
                self.got.append(query)
                reply = dns.message.make_response(query)
                reply.set_rcode(self.rcode)
                stream.write(struct.pack("!H", len(reply.to_wire())) + reply.to_wire())
                stream.flush()


def start(knotd, servers, zone="", ports=()):
    ports = [server.port for server in servers] + list(ports)
    remotes = "".join(f"  - id: s{i}\n    address: 127.0.0.1@{port}\n" for i, port in enumerate(ports))
    knotd.write("example.zone", zone_text(1, timers="3600 2 86400"))
    names = ", ".join(f"s{i}" for i in range(len(ports)))
    knotd.configure(f"remote:\n{remotes}zone:\n  - domain: example\n    storage: {knotd.dir}\n    notify: [{names}]\n{zone}")
    knotd.start()


def test_secondary_follows(knotd, primary):  # noqa: F811
    """A change at the primary comes without a refresh being due, and the one who notified is asked."""
    first = primary(before=f"remote:\n  - id: s\n    address: 127.0.0.1@{knotd.port}\n", more_zone="    notify: s\n")
    configure(knotd, [first.daemon.port], server="    automatic-acl: on\n")
    knotd.start()
    wait_serial(knotd, 1)
    first.change(zone_text(2, "a 60 A 192.0.2.2\n"))
    wait_serial(knotd, 2)
    knotd.wait_log(r"info: \[example\.\] notify, incoming, remote 127\.0\.0\.1@\d+ TCP, serial 2\n")
    knotd.wait_log(r"zone updated, \d+\.\d\d seconds, serial 1 -> 2")


def test_servers_are_told(knotd):
    """NOTIFY goes to all at once, of the start and of a change; a refusal is an answer; one that is down gets it again."""
    good, refusing = Notified(), Notified(5)
    down = free_port()
    start(knotd, [good, refusing], ports=[down])
    peer = r"\[example\.\] notify, outgoing, remote 127\.0\.0\.1@"
    knotd.wait_log(rf"info: {peer}{good.port} TCP, serial 1\n")
    knotd.wait_log(rf"warning: {peer}{refusing.port} TCP, server responded with error 'REFUSED'\n")
    knotd.wait_log(rf"warning: {peer}{down} TCP, failed \(connection reset\)\n")
    knotd.wait_log(r"error: \[example\.\] zone event 'notify' failed \(failed\)\n")
    query = good.got[0]
    assert query.opcode() == 4 and query.flags & 0x0400 and query.answer[0][0].serial == 1 and query.edns == 0
    assert not query.options
    for command in ("zone-begin", "zone-set", "zone-commit"):
        knotd.knotc(command, "example", *(["a", "60", "A", "192.0.2.9"] if command == "zone-set" else []))
    knotd.wait_log(rf"info: {peer}{good.port} TCP, serial 2\n")
    knotd.wait_log(rf"warning: {peer}{down} TCP, retry, failed", timeout=20)
    told = len(good.got)
    knotd.wait_log(rf"warning: {peer}{down} TCP, retry, failed", timeout=20, count=2)
    assert len(good.got) == told and len(refusing.got) == told, "only who failed is told again"


def test_command(knotd):
    good = Notified()
    start(knotd, [good])
    knotd.wait_log(rf"notify, outgoing, remote 127\.0\.0\.1@{good.port} TCP, serial 1\n")
    assert knotd.knotc("-b", "zone-notify", "example").returncode == 0
    assert len(good.got) == 2
    knotd.stop()
    knotd.start()
    assert knotd.knotc("-b", "zone-notify", "example").returncode == 0
    assert len(good.got) == 3, "a restart with the serial that is known tells nobody"
