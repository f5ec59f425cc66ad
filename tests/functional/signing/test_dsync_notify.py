# SPDX-License-Identifier: BSD-2-Clause
"""policy.dsync-notify: a NOTIFY goes to the parent's DSYNC target when CDS, CDNSKEY or CSYNC records come (RFC 9859)."""
import re
import socketserver
import struct
import threading

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdatatype
import pytest

from functional.signing.test_submission import CHILD

pytestmark = [pytest.mark.core, pytest.mark.ours]

HEAD = "@ 60 SOA ns1 admin 10 3600 600 86400 30\n@ 60 NS ns1\nns1 60 A 127.0.0.1\n"
REPORT_CHANNEL = 18


class Target:
    """Takes NOTIFYs over TCP and answers them with `rcode`; while it is None it closes connections instead."""

    def __init__(self):
        self.messages, self.rcode = [], dns.rcode.NOERROR
        target = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while target.rcode is not None and (head := self.rfile.read(2)):
                    message = dns.message.from_wire(self.rfile.read(struct.unpack("!H", head)[0]))
                    target.messages.append(message)
                    reply = dns.message.make_response(message)
                    reply.set_rcode(target.rcode)
                    wire = reply.to_wire()
                    self.wfile.write(struct.pack("!H", len(wire)) + wire)

        socketserver.ThreadingTCPServer.daemon_threads = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def types(self):
        return [dns.rdatatype.to_text(message.question[0].rdtype) for message in self.messages]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def target():
    made = Target()
    yield made
    made.close()


def start_parent(make_knotd, records, zone="test", name="parent"):
    daemon = make_knotd(name=name)
    (daemon.dir / "db").mkdir()
    daemon.write(f"{zone}.zone", HEAD + records)
    daemon.configure(zones=[zone])
    return daemon.start()


def start_child(make_knotd, resolvers, items=("dsync-delay: 0",), zone="child.test", text=CHILD):
    """resolvers: ports of who is asked."""
    daemon = make_knotd(name="child")
    (daemon.dir / "db").mkdir()
    daemon.write(f"{zone}.zone", text)
    remotes = "remote:\n" + "".join(f"  - id: r{i}\n    address: 127.0.0.1@{port}\n" for i, port in enumerate(resolvers))
    names = ", ".join(f"r{i}" for i in range(len(resolvers)))
    daemon.configure(zones=[zone], text=remotes + f"policy:\n  - id: p\n    dsync-notify: [{names}]\n    propagation-delay: 1\n    dnskey-ttl: 1\n"
                     "    zone-max-ttl: 60\n    cds-cdnskey-publish: always\n" + "".join(f"    {item}\n" for item in items) +
                     "template:\n  - id: default\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n")
    return daemon.start()


def record(target, owner="*._dsync", rdtype="CDS", name="ns1"):
    return f"{owner} 60 DSYNC {rdtype} NOTIFY {target.port} {name}\n"


def check_notify(message, rdtype, zone="child.test."):
    """RFC 1996 3.7 with another type: AA, a question, nothing else that says anything."""
    assert message.opcode() == dns.opcode.NOTIFY and message.flags & dns.flags.AA and not message.answer
    (question,) = message.question
    assert question.name.to_text() == zone and question.rdtype == dns.rdatatype.from_text(rdtype)


def test_first_keys_and_csync(make_knotd, target):
    """One NOTIFY for the records of the first keys; another for the CSYNC that comes later."""
    parent = start_parent(make_knotd, record(target) + record(target, rdtype="CSYNC"))
    child = start_child(make_knotd, [parent.port])
    child.wait_log(rf"notify\(CDS\), outgoing, remote 127.0.0.1@{target.port} TCP, success")
    assert target.types() == ["CDS"]
    check_notify(target.messages[0], "CDS")
    assert not target.messages[0].options
    assert "DSYNC-notify" not in child.knotc("zone-status", "child.test").stdout
    for words in (("zone-begin",), ("zone-set", "@", "60", "CSYNC", "10 3 NS"), ("zone-commit",)):
        child.knotc(words[0], "child.test", *words[1:])
    child.wait_log(r"notify\(CSYNC\), outgoing")
    assert target.types() == ["CDS", "CDS", "CSYNC"], "the zone has records of both"
    check_notify(target.messages[-1], "CSYNC")
    # Changes that are about something else make no NOTIFY.
    for words in (("zone-begin",), ("zone-set", "www", "60", "A", "192.0.2.9"), ("zone-commit",)):
        child.knotc(words[0], "child.test", *words[1:])
    child.wait(lambda: child.ask("www.child.test").answer, what="the change")
    assert "DSYNC-notify" not in child.knotc("zone-status", "child.test").stdout and len(target.messages) == 3


def test_rollover(make_knotd, target):
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [parent.port])
    child.wait_log(r"notify\(CDS\).*success")
    child.knotc("zone-ksk-submitted", "child.test")
    child.knotc("zone-key-rollover", "child.test", "ksk")
    child.wait_log(r"notify\(CDS\).*success", count=2, timeout=30)


@pytest.mark.parametrize("zone, owner", [
    ("child.test", "child._dsync"),
    ("child.test", "_dsync"),
    ("city.ise.mie.test", "city.ise.mie._dsync"),
    ("city.ise.mie.test", "*._dsync"),
])
def test_names(make_knotd, target, zone, owner):
    """The steps of RFC 9859 4.1; the zone that denies a name says where the parent is."""
    server = start_parent(make_knotd, record(target, owner=owner))
    child = start_child(make_knotd, [server.port], zone=zone, text="@ 60 SOA ns1 admin 10 3600 600 86400 30\n@ 60 NS ns1\nns1 60 A 192.0.2.1\n")
    child.wait_log(r"notify\(CDS\), outgoing.*success")
    check_notify(target.messages[0], "CDS", zone + ".")


@pytest.mark.parametrize("records, said", [
    ("", "DSYNC notify, the parent has no DSYNC record"),
    ("*._dsync 60 DSYNC CSYNC NOTIFY 53 ns1\n", "DSYNC notify, the parent wants no NOTIFY of such records"),
    ("*._dsync 60 DSYNC CDS 7 53 ns1\n", "DSYNC notify, the parent wants no NOTIFY of such records"),
    ("*._dsync 60 DSYNC CDS NOTIFY 53 nowhere\n", "DSYNC notify, no address of the parent's target nowhere.test."),
])
def test_no_target(make_knotd, records, said):
    parent = start_parent(make_knotd, records)
    child = start_child(make_knotd, [parent.port])
    child.wait_log(re.escape(said))
    again = re.search(r"DSYNC-notify: \+", child.knotc("zone-status", "child.test").stdout)
    assert bool(again) == ("no address" in said), "what may be there later is tried again"


def test_target_that_is_gone_or_refuses(make_knotd, target):
    """It is tried again a minute later, which zone-status says; a refusal is final."""
    target.rcode = None
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [parent.port])
    child.wait_log(r"notify\(CDS\), outgoing.*failed \(")
    child.wait(lambda: re.search(r"DSYNC-notify: \+(59s|1m)", child.knotc("zone-status", "child.test").stdout), what="the next try")
    target.rcode = dns.rcode.REFUSED
    child.knotc("zone-key-rollover", "child.test", "ksk")     # new records come, so it isn't waited for
    child.wait_log(r"notify\(CDS\), outgoing.*server responded with error 'REFUSED'", timeout=30)
    child.wait(lambda: "DSYNC-notify" not in child.knotc("zone-status", "child.test").stdout, what="the end")


def test_first_resolver_is_gone(make_knotd, target):
    gone = start_parent(make_knotd, "", name="gone")
    gone.stop()
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [gone.port, parent.port])
    child.wait_log(rf"DSYNC lookup, outgoing, remote 127.0.0.1@{gone.port}.*failed")
    child.wait_log(r"notify\(CDS\), outgoing.*success")


def test_report_channel(make_knotd, target):
    """The agent domain is sent if it is below a name server of the zone, else not, and the log says so."""
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [parent.port], ["dsync-delay: 0", "dsync-report-channel: errors.ns1.child.test"])
    child.wait_log(r"notify\(CDS\), outgoing.*success")
    (option,) = target.messages[0].options
    assert option.otype == REPORT_CHANNEL and option.to_wire() == b"\6errors\3ns1\5child\4test\0"


def test_report_channel_of_others(make_knotd, target):
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [parent.port], ["dsync-delay: 0", "dsync-report-channel: errors.example"])
    child.wait_log(r"notify\(CDS\), outgoing.*success")
    assert not target.messages[0].options
    assert "'dsync-report-channel' isn't below a name server of the zone, ignored" in child.log()


def test_delay_and_off(make_knotd, target):
    """Without the item of its own, it waits for propagation-delay; without resolvers, there is no NOTIFY."""
    parent = start_parent(make_knotd, record(target))
    child = start_child(make_knotd, [parent.port], ["dsync-delay: 1h"])
    child.wait(lambda: re.search(r"DSYNC-notify: \+(59m|1h)", child.knotc("zone-status", "child.test").stdout), what="the event")
    child.stop()
    path = child.dir / "knot.conf"
    path.write_text(path.read_text(encoding="utf-8").replace("dsync-notify: [r0]", 'dsync-notify: ""'), encoding="utf-8")
    child.start()
    child.knotc("zone-key-rollover", "child.test", "ksk")
    child.wait_log("DNSSEC, successfully signed", count=2)
    assert "DSYNC-notify" not in child.knotc("zone-status", "child.test").stdout and not target.messages
