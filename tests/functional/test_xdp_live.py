# SPDX-License-Identifier: BSD-2-Clause
"""XDP interfaces that change while the server runs: by reload, `ip link`, `ethtool -L`. guards: doc/adr/0011-live-changes.md"""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest

from harness.control import Client
from harness.load import Load
from harness.net import Pair, inside, run
from harness.server import built
from harness.waiting import PATIENCE

pytestmark = [pytest.mark.ours, pytest.mark.threads, pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")]

ZONE = "$ORIGIN example.\n@ 60 SOA ns1 a 1 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\nwww A 192.0.2.80\n"


class Link:
    """A second link between the namespaces of a pair: `srv1` and `cli1`, of any number of queues."""

    server_if, client_if = "srv1", "cli1"
    server4, client4 = "198.51.100.1", "198.51.100.2"

    def __init__(self, pair, queues=1):
        self.pair, self.queues = pair, queues
        self.add()

    def add(self):
        pair, many = self.pair, ["numrxqueues", str(self.queues), "numtxqueues", str(self.queues)]
        run("ip", "link", "add", self.server_if, "netns", pair.server, *many, "type", "veth",
            "peer", "name", self.client_if, "netns", pair.client, *many)
        for namespace, device, address in ((pair.server, self.server_if, self.server4),
                                           (pair.client, self.client_if, self.client4)):
            if self.queues > 1:
                self.channels(1, namespace, device)
            run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", device)
            run("ip", "-n", namespace, "link", "set", device, "up")
        pair.exec(pair.client, "ethtool", "-K", self.client_if, "tx", "off", "gso", "off", "gro", "off", check=False)
        mac = pair._mac(pair.server, self.server_if)
        run("ip", "-n", pair.client, "neighbour", "replace", self.server4, "lladdr", mac, "nud", "permanent",
            "dev", self.client_if)

    def channels(self, count, namespace=None, device=None, check=True):
        return self.pair.exec(namespace or self.pair.server, "ethtool", "-L", device or self.server_if, "rx", str(count),
                              "tx", str(count), check=check)

    def remove(self):
        run("ip", "-n", self.pair.server, "link", "del", self.server_if)

    def set(self, state):
        run("ip", "-n", self.pair.server, "link", "set", self.server_if, state)


@pytest.fixture
def link(pair):
    return Link(pair, queues=4)


@pytest.fixture
def server(make_knotd, pair):
    """A daemon in the pair's server namespace with the function `set(xdp, server)` to write its configuration."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", ZONE)

    def write(*xdp, server=""):
        daemon.configure(zones=["example"], listen=(), server=server,
                         text=("xdp:\n" + "".join(f"    {line}\n" for line in xdp) if xdp else "")
                         + "template:\n  - id: default\n    global-module: mod-stats\n")

    def change(*xdp, server=""):
        write(*xdp, server=server)
        daemon.knotc("reload")

    daemon.write_conf, daemon.change = write, change
    return daemon


def answers(server, pair, where, port=53, tcp=False, timeout=10 * PATIENCE):
    """Whether there is an answer. Give a short time where there shall be none, and where one is waited for."""
    try:
        query = dns.message.make_query("www.example", "A")
        return server.exchange(query, where, tcp, timeout, pair.client, port).rcode() == dns.rcode.NOERROR
    except (OSError, EOFError, dns.exception.DNSException):
        return False


def workers(server):
    """Numbers of UDP, TCP and XDP workers."""
    return tuple(int(n) for n in re.findall(r"(?:UDP|TCP|XDP) workers: (\d+)", server.knotc("status", "workers").stdout))


def wait_workers(server, count):
    server.wait(lambda: workers(server)[2] == count, what=f"{count} XDP workers")


def wait_answers(server, pair, where, **options):
    server.wait(lambda: answers(server, pair, where, timeout=0.5, **options), what=f"answers at {where}")


def xdp_count(server, item, ifname):
    return server.stats().get(f"xdp.{item}[{ifname}]", 0)


# ---- Changes by reload ----

def test_other_interfaces_lose_nothing(server, pair, link):
    server.write_conf(f"listen: [ {pair.server_if}@53, {pair.server4}@5300, {link.server_if}@53 ]")
    server.start()
    with Load(pair.client, link.server4) as load:
        for xdp in ([f"listen: [ {pair.server_if}@5300, {link.server_if}@53 ]"],
                    [f"listen: {link.server_if}@53"],
                    [f"listen: [ {link.server_if}@53, {pair.server4}@53 ]"],
                    [f"listen: [ {link.server_if}@53, {pair.server4}@53 ]", "tcp: on", "tcp-max-clients: 5000"],
                    [f"listen: [ {link.server_if}@53, {pair.server_if}@53 ]", "block: 203.0.113.0/24", "route-check: off"],
                    [f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]", "udp: on", "tcp: off"]):
            server.change(*xdp)
            load.wait_answers(100)
        assert answers(server, pair, pair.server4)
        run("ip", "-n", pair.server, "link", "del", pair.server_if)
        server.wait_log("XDP interface srv0 is gone")
        wait_workers(server, 1)
        load.wait_answers(100)
    assert load.lost == []
    assert load.refused == 0


def test_same_interface_loses_nothing(server, pair):
    """What changes in maps, changes while packets flow."""
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    with Load(pair.client, pair.server4) as load:
        for xdp in ([f"listen: [ {pair.server4}@53, '{pair.server6}@53' ]".replace("'", "")],
                    [f"listen: {pair.server4}@53", "tcp: on"],
                    [f"listen: {pair.server_if}@53", "tcp: on", "tcp-max-clients: 2000", "tcp-resend-timeout: 2"],
                    [f"listen: {pair.server_if}@53", "route-check: on"],
                    [f"listen: {pair.server_if}@53", "block: [ 203.0.113.0/24, 2001:db8:bad::/48@10 ]"],
                    [f"listen: {pair.server_if}@53"]):
            server.change(*xdp)
            load.wait_answers(100)
    assert load.lost == []
    assert "initialized XDP interface" in server.log()
    assert len(re.findall("initialized XDP interface", server.log())) == 1


def test_port_and_address_follow(server, pair):
    server.write_conf(f"listen: [ {pair.server_if}@53, {pair.server4}@5300 ]")
    server.start()
    assert answers(server, pair, pair.server4) and answers(server, pair, pair.server6)
    server.change(f"listen: {pair.server_if}@5300")
    assert answers(server, pair, pair.server4, port=5300)
    assert not answers(server, pair, pair.server4, timeout=0.5)
    server.change(f"listen: {pair.server6}@5300")
    assert answers(server, pair, pair.server6, port=5300)
    assert not answers(server, pair, pair.server4, port=5300, timeout=0.5)
    server.change(server="listen: 127.0.0.1@5301")
    wait_workers(server, 0)
    assert "xdp" not in pair.link()
    server.change(f"listen: {pair.server_if}@53")
    assert answers(server, pair, pair.server4)
    assert "require restart" in server.log()     # server.listen does, as ever
    assert not re.search("changes of (tcp|udp|ring-size|listen) require.*\n.*XDP", server.log())


def test_another_port_needs_a_restart(server, pair, link):
    """The helper's policy has the ports of the configuration at start: what is open goes on as before, a new interface gets sockets."""
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    refused = r"\(port 5300 was not in the configuration at start; restart the server to use it\)"
    server.change(f"listen: {pair.server_if}@5300")
    server.wait_log(f"warning: failed to change XDP interface srv0 {refused}, it goes on as before")
    assert answers(server, pair, pair.server4)
    # With settings that take other sockets, too: the refusal is known before the interface is closed.
    program = pair.link()["xdp"]["prog"]["id"]
    server.change(f"listen: {pair.server_if}@5300", "ring-size: 1024")
    assert len(re.findall(r"failed to change XDP interface srv0 \(port 5300 ", server.log())) == 2
    assert pair.link()["xdp"]["prog"]["id"] == program
    assert answers(server, pair, pair.server4)
    server.change(f"listen: [ {pair.server_if}@53, {link.server_if}@5300 ]")
    server.wait_log(f"warning: failed to initialize XDP interface srv1 {refused}, using ordinary sockets instead")
    assert answers(server, pair, link.server4, port=5300) and workers(server)[2] == 1
    server.change(f"listen: {pair.server_if}@853")    # a port of DNS: at any time
    assert answers(server, pair, pair.server4, port=853)
    server.write_conf(f"listen: {pair.server_if}@5300")
    server.stop()
    server.start()
    assert answers(server, pair, pair.server4, port=5300) and workers(server)[2] == 1


def test_tcp_is_switched(server, pair):
    """With `tcp: off` the kernel's stack has the port, with `on` ours; and changed limits leave connections alone."""
    sockets, xdp = f"listen: {pair.server4}@53", f"listen: {pair.server_if}@53"
    server.write_conf(xdp, server=sockets)
    server.start()
    for switch, protocol in (("off", "tcp4"), ("on", "tcp4-xdp"), ("off", "tcp4")):
        server.change(xdp, f"tcp: {switch}", server=sockets)
        assert answers(server, pair, pair.server4, tcp=True)
        assert server.stats().get(f"mod-stats.request-protocol[{protocol}]") == 1
    server.change(xdp, "tcp: on", server=sockets)
    query = dns.message.make_query("www.example", "A")
    with inside(pair.client):
        sock = socket.create_connection((pair.server4, 53), 10 * PATIENCE)
    with sock:
        for limits in ([], ["tcp-max-clients: 2000"], ["tcp-idle-close-timeout: 30", "block: 203.0.113.0/24"],
                       ["tcp-outbuf-max-size: 10M", "route-check: off"]):
            server.change(xdp, "tcp: on", *limits, server=sockets)
            time.sleep(0.15)     # absence: the change closes no connection
            dns.query.send_tcp(sock, query, time.time() + 10 * PATIENCE)
            assert dns.query.receive_tcp(sock, time.time() + 10 * PATIENCE)[0].answer


def test_settings_of_sockets_open_the_interface_anew(server, pair):
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    assert answers(server, pair, pair.server4)
    before = xdp_count(server, "fq_fill", pair.server_if)
    server.knotc("xdp-block", "add", "2001:db8::/32")
    emptied = xdp_count(server, "tx_empty", pair.server_if)
    assert emptied > 0
    server.change(f"listen: {pair.server_if}@53", "ring-size: 64")
    assert xdp_count(server, "tx_empty", pair.server_if) >= emptied    # counters of closed queues stay
    assert answers(server, pair, pair.server4)
    assert xdp_count(server, "tx_empty", pair.server_if) > emptied
    assert not answers(server, pair, pair.server6, timeout=0.5)        # and so do block rules
    assert len(re.findall("initialized XDP interface", server.log())) == 2
    assert before > 64 >= xdp_count(server, "fq_fill", pair.server_if)


LEVELS = {"tx_busy", "fq_fill", "rx_fill", "tx_fill", "cq_fill", "waiting", "tcp-clients", "tcp-half-open", "tcp-time-wait", "tcp-inbuf",
          "tcp-outbuf", "tcp-memory"}


def counters_of(server, ifname):
    """Counters of `stats` and `metrics` that must never fall, by name."""
    found = {}
    for name, value in server.stats().items():
        item, _, interface = name.rstrip("]").partition("[")
        if interface == ifname and item.removeprefix("xdp.") not in LEVELS:
            found[name] = value
    return found


def test_counters_never_fall(server, pair, link):
    """However often sockets and kernel program are closed and opened; the sums of where packets ended match all the time."""
    xdp = [f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]", "tcp: on", "block: 203.0.113.0/24"]
    server.write_conf(*xdp)
    server.start()
    last = {}

    def difference():
        with Client(server.socket) as client:
            return [(unit["id"], unit["data"]) for unit in client.command("xdp-status", section=link.server_if)
                    if unit["item"] == "difference" and "id" in unit and unit["data"] != "0"]

    def use(what, is_there=True):
        for _ in range(5 if is_there else 0):
            wait_answers(server, pair, link.server4)
            wait_answers(server, pair, link.server4, tcp=True)
        server.wait(lambda: difference() == [], what=f"sums that match: {what} {difference()}")
        now = counters_of(server, link.server_if)
        fallen = {name: (count, now.get(name)) for name, count in last.items() if now.get(name, 0) < count}
        assert fallen == {}, what
        for item in ("received", "answered-udp4", "taken-tcp", "tcp-accepted", "sent-udp4"):
            name = f"xdp.{item}[{link.server_if}]"
            assert now[name] > last.get(name, 0) or not is_there, (what, name)
        last.update(now)

    use("at first")
    server.change(*xdp, "ring-size: 64")
    use("after a reload that opens the sockets again")
    link.channels(2)
    wait_workers(server, 3)
    use("with more queues")
    link.remove()
    server.wait_log("XDP interface srv1 is gone")
    use("without the interface", is_there=False)
    link.add()
    wait_workers(server, 2)
    use("when it has come back")
    with Client(server.socket) as client:
        facts = {unit["item"]: unit["data"] for unit in client.command("xdp-status", section=link.server_if) if unit["type"] == "interface"}
    assert facts["queues"] == "1", "a queue that isn't there any more has counters only"


def test_counters_of_rules_never_fall(server, pair):
    xdp = [f"listen: {pair.server_if}@53", f"block: [ {pair.client4}, 2001:db8::/32@1000000 ]"]
    server.write_conf(*xdp)
    server.start()

    def rules():
        units = json.loads(server.knotc("-j", "raw", "xdp-block", "list").stdout)["reply"]
        return {unit["id"]: int(unit["data"]) for unit in units if unit["item"] == "matched"}

    last = rules()
    assert len(last) == 2
    for more in ([], ["ring-size: 64"], ["ring-size: 128"], []):
        server.change(*xdp, *more)
        assert all(count >= last[prefix] for prefix, count in rules().items()), more
        assert not answers(server, pair, pair.server4, timeout=0.2) and answers(server, pair, pair.server6)
        now = rules()
        assert all(now[prefix] > last[prefix] for prefix in now), (more, last, now)
        last = now


def test_block_rules_follow(server, pair):
    server.write_conf(f"listen: {pair.server_if}@53", f"block: {pair.client4}")
    server.start()
    assert not answers(server, pair, pair.server4, timeout=0.5)
    assert answers(server, pair, pair.server6)
    server.change(f"listen: {pair.server_if}@53", "block: 2001:db8::/32")
    assert answers(server, pair, pair.server4)
    assert not answers(server, pair, pair.server6, timeout=0.5)
    server.change(f"listen: {pair.server_if}@53", "block: [ 0.0.0.0/0@1, 192.0.2.0/25@1000 ]")
    assert answers(server, pair, pair.server4) and answers(server, pair, pair.server6)
    server.change(f"listen: {pair.server_if}@53", "block: [ 0.0.0.0/0, 192.0.2.0/25@1000, 2001:db8::2 ]")
    assert answers(server, pair, pair.server4) and not answers(server, pair, pair.server6, timeout=0.5)
    server.change(f"listen: {pair.server_if}@53")
    assert answers(server, pair, pair.server6)


@pytest.mark.parametrize("xdp", [["listen: srv0@53", "ring-size: 5"],
                                 ["listen: srv0@53", "udp: off"],
                                 ["listen: srv0@53", "block: 192.0.2.2/24"]])
def test_failed_reload_keeps_the_old_state(server, pair, xdp):
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    server.write_conf(*xdp)
    assert server.knotc("reload", check=False).returncode == 1
    assert answers(server, pair, pair.server4)
    assert "changed XDP interface" not in server.log()


def test_too_many_addresses_keep_the_old_state(server, pair):
    for number in range(20):
        run("ip", "-n", pair.server, "address", "add", f"203.0.113.{number + 1}/32", "dev", pair.server_if)
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    many = ", ".join(f"203.0.113.{number + 1}" for number in range(20))
    server.change(f"listen: [ {many} ]")
    server.wait_log(f"error: too many XDP listen addresses on interface {pair.server_if}, at most 16")
    assert answers(server, pair, pair.server4)


def test_end_in_the_middle_of_everything(server, pair):
    """TCP connections of all ages, a capture, block rules and changes behind it, then `knotc stop`: it ends at once and
    well. Under AddressSanitizer that says that nothing is leaked."""
    link = Link(pair)    # one queue: channels can't be set while the server takes the interface
    both = f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]"
    server.write_conf(both, "tcp: on", "block: 203.0.113.0/24", "tcp-idle-close-timeout: 100", "tcp-idle-reset-timeout: 100")
    server.start()
    capture = subprocess.Popen([built("knotc", "tools"), "-s", str(server.socket), "xdp-capture", os.devnull],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server.wait_log("received command 'xdp-capture'")
    server.knotc("xdp-block", "add", "198.51.100.99", "+rate", "5")
    with contextlib.ExitStack() as stack:
        def connection(where):
            with inside(pair.client):
                sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            sock.settimeout(10 * PATIENCE)
            sock.connect((where, 53))
            return sock

        query = dns.message.make_query("www.example", "A").to_wire()
        query = struct.pack("!H", len(query)) + query
        for part in (b"", query[:1], query[:9], query + query[:5], query * 20):
            for where in (pair.server4, link.server4):
                sock = connection(where)
                sock.sendall(part)
                if len(part) > len(query):
                    assert sock.recv(2)
        link.remove()
        wait_workers(server, 1)
        link.add()
        wait_workers(server, 2)
        connection(link.server4).sendall(query[:5])
        server.change(both, "tcp: on", "ring-size: 1024")
        wait_answers(server, pair, link.server4, tcp=True)
        connection(pair.server4).sendall(query * 3)
        connection(link.server4).sendall(query[:5])
        server.knotc("stop")
        assert server.wait_end(timeout=30) == 0
    assert capture.wait(timeout=10 * PATIENCE) == 0
    for device in (pair.server_if, link.server_if):
        assert "xdp" not in run("ip", "-n", pair.server, "link", "show", "dev", device).stdout


# ---- Changes of the system ----

def test_interface_returns(server, pair, link):
    server.write_conf(f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]")
    server.start()
    assert answers(server, pair, link.server4)
    for turn in (1, 2):
        link.remove()
        # The second, if the server was about to open it again: as it came to be, it may have been without link or address still.
        server.wait_log(r"warning: XDP interface srv1 is gone, waiting for it|reopen XDP interface srv1 \(.*no such interface", count=turn)
        wait_workers(server, 1)
        link.add()
        server.wait_log("initialized XDP interface srv1", count=turn + 1)
        wait_answers(server, pair, link.server4)
        wait_workers(server, 2)
    assert xdp_count(server, "rx_dropped", "srv1") == 0


def test_interface_comes_later(server, pair):
    server.write_conf(f"listen: [ {pair.server_if}@53, srv1@53 ]")
    server.start()
    assert re.search("warning: failed to initialize XDP interface srv1", server.log())
    link = Link(pair)
    wait_answers(server, pair, link.server4)
    wait_workers(server, 2)


def test_emulated_where_the_driver_cannot(server, pair, link):
    """veth refuses native XDP while the other end sends on more queues than this end receives on."""
    link.channels(4, pair.client, link.client_if)
    server.write_conf(f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]")
    server.start()
    assert re.search("initialized XDP interface srv0, .* native/copy mode", server.log())
    assert re.search("initialized XDP interface srv1, .* emulated mode", server.log())
    assert answers(server, pair, link.server4) and answers(server, pair, pair.server4)


def test_down_and_up(server, pair, link):
    server.write_conf(f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]")
    server.start()
    link.set("down")
    time.sleep(1.5)     # absence: nothing answers while the link is down
    assert not answers(server, pair, link.server4, timeout=0.3)
    link.set("up")
    wait_answers(server, pair, link.server4)
    assert "gone" not in server.log()


def test_channels_are_followed(server, pair, link):
    """While the interface is opened again, the sockets of `server: listen` answer."""
    sockets = f"listen: {link.server4}@53"
    server.write_conf(f"listen: {link.server_if}@53", server=sockets)
    server.start()
    assert workers(server)[2] == 1
    in_flight = 100    # sent shortly before a change, or while its log line is found
    windows = []       # numbers of queries that came while channels were changed, on either side
    with Load(pair.client, link.server4, silence=1) as load:
        for count in (2, 4):
            before = load.sent
            link.channels(count)
            server.wait_log(f"initialized XDP interface srv1, UDP port 53, queues {count},", timeout=20)
            wait_workers(server, count)
            link.channels(count, pair.client, link.client_if)
            windows.append(range(before - in_flight, load.sent + in_flight))
            load.wait_answers(300)
    # What was in the old queues' rings is lost, and what veth drops while it rebuilds its own. A change that lasts for seconds, because the machine
    # is busy, must not lose what comes meanwhile.
    elsewhere = [number for number in load.lost if not any(number in window for window in windows)]
    assert elsewhere == [], windows
    assert len(load.lost) < max(4 * in_flight, sum(len(window) for window in windows) / 2), windows
    for _ in range(40):    # from many ports, so every queue gets some
        assert answers(server, pair, link.server4)
    # The kernel doesn't take a queue away while a socket is bound to it (see doc/adr/0011).
    done = link.channels(1, check=False)
    assert done.returncode != 0 and "AF_XDP" in done.stdout, done
    assert workers(server)[2] == 4 and answers(server, pair, link.server4)
    server.change("listen: srv0@53", server=sockets)
    server.wait(lambda: link.channels(1, check=False).returncode == 0, what="sockets that the kernel has let go")
    server.change(f"listen: {link.server_if}@53", server=sockets)
    wait_workers(server, 1)
    assert answers(server, pair, link.server4)


def bound(pair, port, where):
    """True if some UDP socket in the server's namespace is bound to the address."""
    text = pair.exec(pair.server, "ss", "-Hlnu").stdout
    return re.search(rf"{re.escape(where)}:{port}\b", text) is not None


def test_address_gets_its_interface(server, pair):
    """Sockets serve an address that no interface has; XDP takes over when one gets it, and back."""
    late = "203.0.113.7"
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    server.change(f"listen: [ {pair.server_if}@53, {late}@53 ]")
    server.wait_log(f"warning: no XDP interface for address {late}@53")
    assert bound(pair, 53, late)              # a low port, bound by the helper
    link = Link(pair)
    run("ip", "-n", pair.client, "route", "add", f"{late}/32", "via", link.server4, "dev", link.client_if)
    run("ip", "-n", pair.server, "address", "add", f"{late}/32", "dev", link.server_if)
    wait_workers(server, 2)
    server.wait(lambda: not bound(pair, 53, late), what="sockets closed")
    assert answers(server, pair, late)
    run("ip", "-n", pair.server, "address", "del", f"{late}/32", "dev", link.server_if)
    wait_workers(server, 1)
    server.wait(lambda: bound(pair, 53, late), what="sockets opened again")


def test_sockets_until_another_program_goes(server, make_knotd, pair):
    """Another server holds the interface: sockets serve, XDP takes over when that has gone, and says each once."""
    other = make_knotd(pair.server, "other")
    other.write("example.zone", ZONE)
    other.configure(zones=["example"], listen=(), text=f"xdp:\n    listen: {pair.server_if}@5399\n")
    other.start()
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    server.wait_log("failed to initialize XDP interface srv0 .*another XDP program")
    assert bound(pair, 53, pair.server4)
    assert answers(server, pair, pair.server4) and answers(server, pair, pair.server4, tcp=True)
    assert workers(server) == (4, 4, 0)
    other.stop()
    server.wait(lambda: workers(server)[2] == 1, what="XDP", timeout=12)
    assert answers(server, pair, pair.server4)
    server.wait(lambda: not bound(pair, 53, pair.server4), what="sockets closed")
    server.wait(lambda: workers(server) == (2, 2, 1), what="workers of the sockets ended")
    assert len(re.findall("failed to initialize XDP interface", server.log())) == 1


# ---- The helper ----

def helper_of(process):
    """The child that keeps the privileges."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


def test_helper_dies(server, pair):
    server.write_conf(f"listen: {pair.server_if}@53")
    server.start()
    os.kill(helper_of(server.process), signal.SIGKILL)
    server.wait_log("error: the helper process that has the privileges for XDP ended", timeout=5)
    assert answers(server, pair, pair.server4)
    server.change(f"listen: {pair.server_if}@5300")
    server.wait_log("error: failed to change XDP interface srv0 .*, it goes on as before")
    assert answers(server, pair, pair.server4)
    time.sleep(2.5)     # absence: it isn't tried again, and not reported again
    assert len(re.findall("the helper process", server.log())) == 1
    assert len(re.findall("failed to change XDP interface", server.log())) == 1


# ---- Leaks ----

def usage(process):
    """Descriptors, threads, memory in KiB that no other process shares."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return (len(os.listdir(f"/proc/{process.pid}/fd")), int(re.search(r"Threads:\s+(\d+)", status).group(1)),
            int(re.search(r"RssAnon:\s+(\d+)", status).group(1)))


def test_reloads_leak_nothing(server, pair, link):
    both = [f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]"]
    turns = [[f"listen: {pair.server_if}@53"], [*both, "ring-size: 1024", "block: 203.0.113.0/24"],
             [f"listen: [ {pair.server_if}@53, 203.0.113.7@53 ]", "tcp: on"], both]
    server.write_conf(*both)
    # One arena and a fixed threshold: else what glibc keeps for itself hides what is lost.
    server.start(environment={"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"})

    def round_of_reloads():
        for xdp in turns:
            server.change(*xdp)
        assert answers(server, pair, pair.server4) and answers(server, pair, link.server4)

    helper = helper_of(server.process)
    round_of_reloads()
    round_of_reloads()
    time.sleep(0.2)     # what the reloads replaced is freed a moment later
    before, helper_before = usage(server.process), len(os.listdir(f"/proc/{helper}/fd"))
    for _ in range(5):
        round_of_reloads()
    # Looking at an interface takes a descriptor for a moment, once a second, and what is replaced is freed a moment later.
    is_sanitized = bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ))    # they keep freed memory; the first sees leaks better

    def is_as_before():
        after = usage(server.process)
        print(f"descriptors, threads, KiB: {before} then {after} after 20 reloads")
        return after[0] <= before[0] and after[1] <= before[1] and (is_sanitized or after[2] < before[2] + 1024)
    server.wait(is_as_before, what="no more descriptors, threads and memory than before", timeout=5)
    server.wait(lambda: len(os.listdir(f"/proc/{helper}/fd")) <= helper_before, what="no more descriptors of the helper than before")


# ---- All of it ----

def test_everything_at_once(server, pair):
    """Reloads from both sides, commands, captures that are killed, an interface that comes and goes: nothing hangs, is
    lost on the interface that isn't changed, or is left open."""
    link = Link(pair)    # one queue: channels can't be set while the server takes the interface
    both = f"listen: [ {pair.server_if}@53, {link.server_if}@53 ]"
    turns = [[both], [f"listen: {pair.server_if}@53"], [both, "block: 203.0.113.0/24", "tcp: on"]]
    metrics = f"metrics-listen: {server.dir}/metrics"
    server.write_conf(*turns[0], server=metrics)
    server.start()
    wait_workers(server, 2)
    before = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    end, faults = time.monotonic() + 8, []

    def repeat(step):
        def run_steps():
            count = 0
            try:
                while time.monotonic() < end:
                    step(count)
                    count += 1
            except Exception as error:    # pylint: disable=broad-exception-caught
                faults.append(error)
        return threading.Thread(target=run_steps)

    def change(count):
        server.write_conf(*turns[count % len(turns)], server=metrics)
        server.knotc("reload")

    def reload(_):
        server.knotc("reload")

    def hang_up(_):
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.05)     # pace

    def flap(_):
        link.remove()
        time.sleep(0.1)     # pace: the link is gone for a while
        link.add()
        time.sleep(0.3)     # pace

    def capture(_):
        client = subprocess.Popen([built("knotc", "tools"), "-s", str(server.socket), "xdp-capture", os.devnull],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.15)     # a capture that ends at any moment
        client.kill()
        client.wait()

    def block(_):
        for words in (("add", "198.51.100.99"), ("list",), ("remove", "198.51.100.99")):
            server.knotc("xdp-block", *words)

    def look(_):
        server.knotc("xdp-status")
        server.knotc("stats")

    def top(count):
        with Client(server.socket) as client:
            for _ in range(1 + count % 5):
                assert not any("error" in items for _, items in client.ask(cmd="top"))
                time.sleep(0.02)     # pace

    def scrape(_):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(30 * PATIENCE)
            stream.connect(f"{server.dir}/metrics")
            stream.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            reply = b""
            while part := stream.recv(65536):
                reply += part
        assert b"knot_xdp" in reply
        time.sleep(0.1)     # pace

    with Load(pair.client, pair.server4, rate=500) as load:
        threads = [repeat(step) for step in (change, reload, hang_up, flap, capture, block, look, top, scrape)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not faults, faults
    assert load.lost == []
    server.write_conf(both, server=metrics)
    server.knotc("reload")
    wait_workers(server, 2)
    assert answers(server, pair, link.server4)
    server.wait(lambda: len(os.listdir(f"/proc/{server.process.pid}/fd")) <= before, timeout=20,
                what=lambda: f"as few descriptors as before, {before}: {sorted(os.readlink(f'/proc/{server.process.pid}/fd/{n}') for n in os.listdir(f'/proc/{server.process.pid}/fd'))}")
    server.stop(timeout=3)
