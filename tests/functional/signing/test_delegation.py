# SPDX-License-Identifier: BSD-2-Clause
"""Delegations without hands: a parent that follows NOTIFY of CDS and CSYNC, a child that sends it, and a resolver that validates.

All are in one network namespace, as the parent asks the child's servers at port 53: 127.0.0.1 is the parent's server (zone test), 127.0.0.2 the
child's (child.test, and op.test of its operator, with the signals), 127.0.0.3 an unbound that trusts the parent's key.
"""
import re
import shutil
import socket
import subprocess
import time

import dns.flags
import dns.message
import dns.opcode
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from harness.net import inside
from harness.waiting import wait_until

pytestmark = [pytest.mark.ours, pytest.mark.core]

PARENT, CHILD, RESOLVER = "127.0.0.1", "127.0.0.2", "127.0.0.3"
SOA = "@ 60 SOA ns1.op.test. admin 10 3600 600 86400 30\n"
TEST_ZONE = SOA + f"""\
@ 60 NS ns.test.
ns 60 A {PARENT}
*._dsync 60 DSYNC CDS NOTIFY 53 ns
*._dsync 60 DSYNC CSYNC NOTIFY 53 ns
child 60 NS ns1.op
op 60 NS ns1.op
ns1.op 60 A {CHILD}
"""
OP_ZONE = SOA + f"@ 60 NS ns1\nns1 60 A {CHILD}\n"
CHILD_ZONE = SOA + "@ 60 NS ns1.op.test.\nwww 60 A 192.0.2.80\n"
FAST = "    propagation-delay: 0\n    dnskey-ttl: 1\n    zone-max-ttl: 60\n"


class World:
    def __init__(self, make_knotd, pair, rules=("ds-update: on", "ds-delete: on", "ds-bootstrap: on", "csync: on"), min_interval=0,
                 child_zone=CHILD_ZONE, parent_zone=TEST_ZONE, child_items=""):
        self.namespace = pair.server
        self.rules, self.min_interval, self.child_items = rules, min_interval, child_items
        self.parent, self.child = (make_knotd(pair.server, name) for name in ("parent", "child"))
        for daemon, where in ((self.parent, PARENT), (self.child, CHILD)):
            daemon.port, daemon.where = 53, where
            (daemon.dir / "db").mkdir()
        self.parent.write("test.zone", parent_zone)
        self.child.write("child.test.zone", child_zone)
        self.child.write("op.test.zone", OP_ZONE)
        self.unbound = None

    def start(self, child_policy="", resolver=True):
        self.configure_parent()
        self.parent.start()
        self.configure_child(child_policy)
        self.child.start()
        for daemon, zone in ((self.parent, "test"), (self.child, "child.test"), (self.child, "op.test")):
            daemon.wait(lambda d=daemon, z=zone: self.ask(d, z, "DNSKEY") or z == "child.test", what=zone)
        if resolver:
            self.start_resolver()
        return self

    def configure_parent(self):
        rules = "".join(f"    {rule}\n" for rule in self.rules)
        self.parent.configure(zones=["test"], listen=(PARENT,), text=f"remote:\n  - id: resolver\n    address: {RESOLVER}\n" +
                              "acl:\n  - id: anyone\n    action: [notify, update]\n    address: 127.0.0.0/8\n" +
                              f"delegation:\n  - id: children\n    resolver: resolver\n    min-interval: {self.min_interval}\n{rules}" +
                              f"policy:\n  - id: p\n{FAST}" +
                              "template:\n  - id: default\n    dnssec-signing: on\n    dnssec-policy: p\n    zonefile-sync: -1\n    acl: anyone\n    delegation: children\n")

    def configure_child(self, child_policy=""):
        self.child.configure(listen=(CHILD,), text=f"remote:\n  - id: parent\n    address: {PARENT}\n" +
                             "submission:\n  - id: s\n    parent: parent\n    check-interval: 1\n" +
                             f"policy:\n  - id: op\n{FAST}  - id: child\n{FAST}    ksk-submission: s\n    dsync-notify: parent\n    dsync-delay: 0\n{child_policy}" +
                             "template:\n  - id: default\n    storage: {dir}\n    zonefile-sync: -1\n" +
                             f"zone:\n  - domain: op.test\n    dnssec-signing: on\n    dnssec-policy: op\n  - domain: child.test\n{self.child_items}" +
                             "    dnssec-signing: on\n    dnssec-policy: child\n")

    def start_resolver(self):
        """Its anchor is the parent's key; the operator's zone is made secure first."""
        self.change(self.parent, "test", ("set", "op", "60", "DS", self.ds_of("op.test")))
        anchor = [rdata.to_text() for rdata in self.ask(self.parent, "test", "DNSKEY") if rdata.flags & 1]
        path = self.parent.dir / "unbound.conf"
        path.write_text(f"""\
server:
    directory: "{self.parent.dir}"
    chroot: ""
    username: ""
    pidfile: ""
    interface: {RESOLVER}
    access-control: 127.0.0.0/8 allow
    do-not-query-localhost: no
    do-ip6: no
    use-syslog: no
    cache-max-ttl: 0
    cache-max-negative-ttl: 0
    module-config: "validator iterator"
    trust-anchor: "test. DNSKEY {anchor[0]}"
    local-zone: "test." nodefault
remote-control:
    control-enable: no
stub-zone:
    name: "test."
    stub-addr: {PARENT}
    stub-prime: no
""", encoding="utf-8")
        self.unbound = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.namespace}", "unbound", "-d", "-c", str(path)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.resolve("op.test", "SOA").flags & dns.flags.AD, "a resolver that validates", 20)

    def stop(self):
        if self.unbound is not None:
            self.unbound.kill()
            self.unbound.wait()

    # ---- questions ----

    def exchange(self, message, where, tcp=True):
        with inside(self.namespace):
            return (dns.query.tcp if tcp else dns.query.udp)(message, where, timeout=10)

    def ask(self, daemon, name, rdtype):
        """The records of an answer: a list."""
        reply = self.exchange(dns.message.make_query(name, rdtype), daemon.where)
        return [rdata for rrset in reply.answer if rrset.rdtype == dns.rdatatype.from_text(rdtype) for rdata in rrset]

    def resolve(self, name, rdtype):
        query = dns.message.make_query(name, rdtype, want_dnssec=True)
        try:
            return self.exchange(query, RESOLVER)
        except (OSError, EOFError):
            return dns.message.make_response(query)

    def texts(self, daemon, name, rdtype):
        return sorted(rdata.to_text() for rdata in self.ask(daemon, name, rdtype))

    def ds_of(self, zone):
        keys = self.ask(self.child, zone, "DNSKEY")
        (key,) = [key for key in keys if key.flags & 1]
        return dns.dnssec.make_ds(dns.name.from_text(zone), key, "SHA256").to_text()

    def present(self):
        return self.texts(self.parent, "child.test", "DS")

    def is_secure(self):
        """A validator finds the child secure."""
        reply = self.resolve("www.child.test", "A")
        return bool(reply.answer and reply.flags & dns.flags.AD)

    def is_bogus(self):
        return self.resolve("www.child.test", "A").rcode() == dns.rcode.SERVFAIL

    # ---- changes ----

    def change(self, daemon, zone, *edits):
        daemon.knotc("zone-begin", zone)
        for edit in edits:
            daemon.knotc(f"zone-{edit[0]}", zone, *edit[1:])
        daemon.knotc("zone-commit", zone)

    def signal(self):
        """Put the child's CDS and CDNSKEY records into the operator's zone."""
        edits = [("set", "_dsboot.child.test._signal.ns1", "60", rdtype, rdata.to_text())
                 for rdtype in ("CDS", "CDNSKEY") for rdata in self.ask(self.child, "child.test", rdtype)]
        assert edits
        self.change(self.child, "op.test", *edits)

    def notify(self, name="child.test", rdtype="CDS", tcp=True):
        message = dns.message.make_query(name, rdtype, flags=dns.flags.AA)
        message.set_opcode(dns.opcode.NOTIFY)
        return self.exchange(message, PARENT, tcp).rcode()

    def check(self, *options):
        return self.parent.knotc(*options, "zone-child-check", "test", "child.test.", check=False)

    def bootstrap(self):
        self.child.wait(lambda: self.ask(self.child, "child.test", "CDS"), what="CDS")
        self.signal()
        assert self.notify() == dns.rcode.NOERROR
        self.parent.wait(lambda: self.present() == self.texts(self.child, "child.test", "CDS"), what="the first DS")


@pytest.fixture
def make_world(make_knotd, pair):
    if shutil.which("unbound") is None:
        pytest.skip("needs unbound")
    made = []

    def make(**options):
        made.append(World(make_knotd, pair, **options))
        return made[-1]

    yield make
    for world in made:
        world.stop()


def test_from_unsigned_to_insecure_without_hands(make_world):
    """A child becomes secure, its KSK rolls, and it goes insecure, without an edit of the parent."""
    world = make_world().start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    # The operator's signal is there: the child's next NOTIFY makes it secure.
    world.signal()
    begin = time.monotonic()
    world.notify()
    world.parent.wait_log(r"delegation, child.test., CDS, DS records changed, 0 -> 1")
    assert world.present() == world.texts(world.child, "child.test", "CDS")
    took = time.monotonic() - begin
    world.parent.wait(world.is_secure, what="a secure child")
    print(f"insecure child -> DS at the parent: {took:.3f} s")
    world.child.wait_log("DNSSEC, KSK submission, confirmed", timeout=20)

    # A rollover: the child's server finds the parent's target, and the parent changes the DS.
    first = world.present()
    world.child.knotc("zone-key-rollover", "child.test", "ksk")
    world.parent.wait_log(r"delegation, child.test., CDS, DS records changed, 1 -> 1", timeout=30)
    world.child.wait_log("DNSSEC, KSK submission, confirmed", count=2, timeout=30)
    assert world.present() != first and len(world.present()) == 1
    assert world.is_secure()

    # The child asks for the removal of its DS records.
    world.configure_child("    cds-cdnskey-publish: delete-dnssec\n")
    world.child.knotc("reload")
    world.parent.wait_log(r"delegation, child.test., CDS, DS records changed, 1 -> 0", timeout=30)
    assert not world.present()
    world.parent.wait(lambda: not world.is_secure() and not world.is_bogus(), what="an insecure child")
    assert world.parent.stats()["server.delegation-change"] == 3
    history = world.parent.knotc("zone-history", "test").stdout
    assert "child" in history


def test_child_that_starts_unsigned(make_world):
    """How long it takes from the first signature to DS, with immediate timing."""
    world = make_world(child_zone=CHILD_ZONE).start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    begin = time.monotonic()
    world.signal()
    world.notify()
    world.parent.wait(world.present, timeout=10, what="DS")
    assert time.monotonic() - begin < 5


# ---- What isn't followed ----


@pytest.mark.parametrize("rules, said", [
    (["ds-update: on", "ds-delete: on"], "CDS, refused (not allowed by 'ds-bootstrap')"),
    (["ds-bootstrap: on"], "CDS, refused (_dsboot.child.test._signal.ns1.op.test.: the answer for CDS"),
])
def test_no_first_ds(make_world, rules, said):
    """Without the rule, and with it but without a signal, which a NOTIFY and an operator's check both say."""
    world = make_world(rules=rules).start()
    world.child.wait_log("notify.CDS.*success")
    world.notify()
    world.parent.wait_log(re.escape("delegation, child.test., " + said))
    done = world.check()
    assert done.returncode != 0 and said in done.stdout and not world.present()
    assert world.parent.stats()["server.delegation-refused"] >= 1


def test_signal_of_another_key(make_world):
    world = make_world().start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.change(world.child, "op.test", ("set", "_dsboot.child.test._signal.ns1", "60", "CDS", "1 13 2 " + "AB" * 32))
    done = world.check()
    assert "the signal isn't what the child has" in done.stdout and not world.present()


def test_wrong_cds_of_a_secure_child(make_world):
    """CDS records that would break the child, that are of no key, or that come unsigned: the DS stays, and the child secure."""
    world = make_world().start()
    world.bootstrap()
    first = world.present()
    # The child's operator loses control: its zone is served without signatures, with a CDS record of another key.
    world.child.configure(listen=(CHILD,), zones=["op.test", "child.test"], text="template:\n  - id: default\n    zonefile-sync: -1\n    zonefile-load: whole\n")
    (world.child.dir / "child.test.zone").write_text(SOA.replace(" 10 ", " 2147483647 ") + "@ 60 NS ns1.op.test.\n@ 60 CDS 1 13 2 " + "AB" * 32 + "\n", encoding="utf-8")
    world.child.stop()
    shutil.rmtree(world.child.dir / "db")
    (world.child.dir / "db").mkdir()
    world.child.start()
    done = world.check()
    assert "aren't signed by a key that a present DS record is of" in done.stdout
    assert world.present() == first


def test_server_that_is_gone(make_world):
    """A check ends with a reason, and one that comes later succeeds."""
    world = make_world().start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.signal()
    world.child.stop()
    done = world.check()
    assert "ns1.op.test. 127.0.0.2@53 doesn't answer over TCP" in done.stdout
    world.child.start()
    world.parent.wait(lambda: world.check().returncode == 0, 30, "the DS")
    assert world.present()


def test_servers_that_disagree(make_world, make_knotd, pair):
    """Two name servers, of which one has an older version: nothing changes until both have the same."""
    zone = TEST_ZONE.replace("child 60 NS ns1.op\n", "child 60 NS ns1.op\nchild 60 NS ns2.op\nns2.op 60 A 127.0.0.4\n")
    world = make_world(parent_zone=zone, rules=["ds-update: on", "ds-bootstrap: on"]).start()
    other = make_knotd(pair.server, "other")
    other.port = 53
    other.write("child.test.zone", CHILD_ZONE)
    other.configure(zones=["child.test"], listen=("127.0.0.4",))
    other.start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.signal()
    done = world.check()
    assert "have different CDS or CDNSKEY records" in done.stdout
    assert not world.present()


def test_names_that_are_no_children(make_world):
    """NOTAUTH and no check: the apex, names that aren't delegated, names below a cut, other zones; and who may not notify."""
    world = make_world().start(resolver=False)
    world.parent.wait_log("delegation, child.test., CDS, refused")
    for name in ("test", "ns.test", "nothing.test", "www.child.test", "child.other", "*.test"):
        for rdtype in ("CDS", "CSYNC"):
            assert world.notify(name, rdtype) in (dns.rcode.NOTAUTH, dns.rcode.FORMERR), (name, rdtype)
    assert world.notify("child.test", "TXT") != dns.rcode.NOERROR
    assert world.parent.stats()["server.delegation-check"] == 1, "the child's own NOTIFY"
    for words in (("test", "www.child.test."), ("test", "nothing"), ("test", "test."), ("test", "child.other."), ("test",)):
        done = world.parent.knotc("zone-child-check", *words, check=False)
        assert done.returncode != 0, words
    assert "delegation, www.child.test., CDS and CSYNC, refused (there is no such delegation)" in world.parent.log()
    path = world.parent.dir / "knot.conf"
    path.write_text(path.read_text(encoding="utf-8").replace("action: [notify, update]", "action: [transfer]"), encoding="utf-8")
    world.parent.knotc("reload")
    assert world.notify() == dns.rcode.NOTAUTH


def test_rules_go_and_come(make_world):
    """A reload without `delegation`: NOTIFY and the command are refused; with it again, they work."""
    world = make_world().start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    path = world.parent.dir / "knot.conf"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    delegation: children\n", ""), encoding="utf-8")
    world.parent.knotc("reload")
    assert world.notify() == dns.rcode.NOTAUTH
    assert "not supported" in world.check().stdout
    path.write_text(text, encoding="utf-8")
    world.parent.knotc("reload")
    world.bootstrap()


def test_frozen_and_edited(make_world):
    """While the parent is frozen, or an operator edits it, a change waits; it is made then."""
    world = make_world().start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.signal()
    world.parent.knotc("zone-freeze", "test")
    world.notify()
    world.parent.wait(lambda: "delegation: frozen" in world.parent.knotc("zone-status", "test").stdout, what="the event that waits")
    assert not world.present()
    assert "busy" in world.check().stdout
    world.parent.knotc("zone-thaw", "test")
    world.parent.wait(world.present, what="DS")
    world.parent.knotc("zone-begin", "test")
    assert "transaction" in world.check().stdout
    world.parent.knotc("zone-abort", "test")


def test_silent_server(make_world):
    """A server that takes connections and never answers: the check ends with that, and the parent stops while one goes on."""
    zone = TEST_ZONE.replace("child 60 NS ns1.op\n", "child 60 NS ns.silent\nns.silent 60 A 127.0.0.5\n")
    world = make_world(parent_zone=zone)
    with inside(world.namespace):
        silent = socket.create_server(("127.0.0.5", 53))
    with silent:
        world.start(resolver=False)
        world.parent.wait_log(r"refused \(ns.silent.test. 127.0.0.5@53 doesn't answer over TCP\)", timeout=20)
        world.notify()
        begin = time.monotonic()
        world.parent.stop()
        assert time.monotonic() - begin < 5


# ---- Limits ----


def test_min_interval(make_world):
    """A child isn't checked again so soon, but what it says meanwhile is followed then."""
    world = make_world(min_interval=3).start()
    world.child.wait_log("notify.CDS.*success")
    world.parent.wait_log("delegation, child.test., CDS, refused")
    world.signal()
    begin = time.monotonic()
    for _ in range(20):
        assert world.notify() == dns.rcode.NOERROR
    assert re.search(r"delegation: \+\ds", world.parent.knotc("zone-status", "test").stdout)
    world.parent.wait(world.present, what="DS")
    assert time.monotonic() - begin > 1
    assert world.parent.log().count("delegation, child.test., ") <= 4, "20 NOTIFYs were a check"


def test_flood_of_one_source(make_world):
    """A source that sends NOTIFYs for all children as fast as it can; another one's child is checked in time all the same."""
    count = 300
    many = "".join(f"c{i} 60 NS ns{i}.elsewhere.\n" for i in range(count))
    world = make_world(parent_zone=TEST_ZONE + many).start()
    world.child.wait(lambda: world.ask(world.child, "child.test", "CDS"), what="CDS")
    world.child.wait_log("notify.CDS.*success")
    world.signal()
    messages = []
    for i in range(count):
        message = dns.message.make_query(f"c{i}.test", "CDS", flags=dns.flags.AA)
        message.set_opcode(dns.opcode.NOTIFY)
        messages.append(message.to_wire())
    with inside(world.namespace):
        greedy = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    greedy.bind(("127.9.9.9", 0))
    greedy.settimeout(0.01)
    end, sent, begin = time.monotonic() + 3, 0, None
    honest_done = None
    while time.monotonic() < end:
        for wire in messages:
            greedy.sendto(wire, (PARENT, 53))
            sent += 1
        if begin is None and time.monotonic() > end - 2:
            begin = time.monotonic()
            assert world.notify() == dns.rcode.NOERROR
        if begin is not None and honest_done is None and world.present():
            honest_done = time.monotonic() - begin
    greedy.close()
    world.parent.wait(world.present, 5, "DS of the honest child")
    stats = world.parent.stats()
    print(f"{sent} NOTIFYs of one source in 3 s, {stats['server.delegation-notify-dropped']} ignored, {stats['server.delegation-check']} checks; "
          f"honest child: {honest_done if honest_done is not None else 'later'}")
    assert stats["server.delegation-notify-dropped"] > 0
    assert stats["server.delegation-check"] < 300
    assert world.resolve("www.child.test", "A").answer


# ---- CSYNC ----


def secure_world(make_world, **options):
    world = make_world(**options).start("    cds-cdnskey-publish: always\n")
    world.bootstrap()
    return world


def test_csync_changes_name_servers(make_world):
    """NS records and glue follow the child."""
    world = secure_world(make_world)
    world.change(world.child, "child.test", ("set", "@", "60", "NS", "ns1"), ("set", "ns1", "60", "A", "127.0.0.2"), ("set", "ns1", "60", "AAAA", "2001:db8::2"))
    world.change(world.child, "child.test", ("set", "@", "60", "CSYNC", "0 1 NS A AAAA"))
    world.child.wait_log(r"notify.CSYNC.*success")
    world.parent.wait_log(r"delegation, child.test., CSYNC, name servers changed, 1 -> 2")
    assert {"ns1.child.test.", "ns1.op.test."} == delegated(world)
    glue = world.parent.knotc("zone-read", "test", "ns1.child").stdout
    assert "A 127.0.0.2" in glue and "AAAA 2001:db8::2" in glue
    assert "CSYNC, nothing to change" in world.check().stdout


def delegated(world):
    return {line.split()[-1] for line in world.parent.knotc("zone-read", "test", "child", "NS").stdout.splitlines()}


def test_csync_that_waits_for_approval(make_world):
    """A record that isn't immediate: an operator approves it with -f. Types that aren't a delegation's: never."""
    world = secure_world(make_world)
    world.change(world.child, "child.test", ("set", "@", "60", "NS", "ns.elsewhere."), ("set", "@", "60", "CSYNC", "0 0 NS"))
    world.parent.wait_log(r"delegation, child.test., CSYNC, refused \(the CSYNC record isn't immediate and waits for approval\)")
    assert delegated(world) == {"ns1.op.test."}
    assert "name servers changed, 1 -> 2" in world.check("-f").stdout
    assert delegated(world) == {"ns1.op.test.", "ns.elsewhere."}


def test_csync_below_its_minimum(make_world):
    world = secure_world(make_world)
    world.change(world.child, "child.test", ("set", "@", "60", "NS", "ns.elsewhere."), ("set", "@", "60", "CSYNC", "4000000 3 NS"))
    world.parent.wait_log(r"CSYNC, refused \(ns1.op.test. 127.0.0.2@53: the zone's serial is lower than that of the CSYNC record\)")
    assert delegated(world) == {"ns1.op.test."}


# ---- Over AF_XDP ----


def test_notify_over_xdp(make_knotd, pair):
    """NOTIFYs about children that come over AF_XDP have them checked."""
    parent = make_knotd(pair.server)
    parent.port = 53
    (parent.dir / "db").mkdir()
    parent.write("test.zone", TEST_ZONE)
    parent.configure(zones=["test"], listen=(), server=f"listen: [{pair.server4}@53]", text=f"""\
xdp:
    listen: {pair.server_if}@53
    tcp: on
acl:
  - id: anyone
    action: notify
    address: {pair.client4}
delegation:
  - id: children
    ds-update: on
    min-interval: 0
template:
  - id: default
    acl: anyone
    delegation: children
    zonefile-sync: -1
""")
    parent.start()
    message = dns.message.make_query("child.test", "CDS", flags=dns.flags.AA)
    message.set_opcode(dns.opcode.NOTIFY)
    for tcp in (False, True):
        with inside(pair.client):
            reply = (dns.query.tcp if tcp else dns.query.udp)(message, pair.server4, timeout=10)
        assert reply.rcode() == dns.rcode.NOERROR
        parent.wait(lambda: parent.stats()["server.delegation-check"] == 1 + tcp, what="the check")
