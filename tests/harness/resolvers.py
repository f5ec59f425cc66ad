# SPDX-License-Identifier: BSD-2-Clause
"""Validating resolvers that ask servers of a test, in a network namespace of the test's: unbound, knot-resolver, and delv, which is one for one question.

Each begins at a root server and a trust anchor that the test gives. Nothing leaves the namespace.
"""
import dataclasses
import os
import pathlib
import re
import selectors
import signal
import socket
import subprocess
import time

import dns.edns
import dns.flags
import dns.message
import dns.query
import dns.rcode

from .net import inside
from .waiting import PATIENCE, wait_until

UNBOUND = """\
server:
    interface: {address}
    access-control: 0.0.0.0/0 allow
    username: ""
    chroot: ""
    directory: "{dir}"
    pidfile: "{dir}/unbound.pid"
    use-syslog: no
    logfile: ""
    num-threads: 1
    do-not-query-localhost: no
    do-ip6: no
    root-hints: "{dir}/hints"
    trust-anchor-file: "{dir}/anchor"
    module-config: "validator iterator"
    val-log-level: 2
    val-bogus-ttl: 1
    qname-minimisation: yes
    aggressive-nsec: {aggressive}
    harden-below-nxdomain: yes
    ede: yes
    msg-cache-size: {cache}
    rrset-cache-size: {cache}
remote-control:
    control-enable: no
"""

KRESD = """\
net.ipv6 = false
net.listen('{address}', 53, {{ kind = 'dns' }})
cache.open(50 * MB, 'lmdb://{dir}/cache')
cache.min_ttl(0)
modules.unload('ta_update')
modules.unload('ta_signal_query')
modules.unload('priming')
modules.unload('detect_time_skew')
modules.unload('detect_time_jump')
modules.load('hints > iterate')
modules.load('bogus_log')
hints.root({{ ['{root_name}'] = '{root_address}' }})
trust_anchors.remove('.')
trust_anchors.add_file('{dir}/anchor', true)
"""


@dataclasses.dataclass(frozen=True)
class Root:
    """Where resolvers begin: the root server's name and address, and DNSKEY records of its zone as lines."""
    name: str
    address: str
    anchor: str


class Resolver:
    """A daemon at an address of its own, port 53. `make` writes its configuration and returns its command."""

    def __init__(self, folder, namespace, address):
        self.dir, self.namespace, self.address = pathlib.Path(folder), namespace, address
        self.output = self.dir / "output.log"
        self.process = None
        self.dir.mkdir(parents=True, exist_ok=True)

    def start(self, command):
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.namespace}", *command], stdout=output, stderr=subprocess.STDOUT,
                                            stdin=subprocess.DEVNULL, cwd=self.dir)
        wait_until(self.is_answering, lambda: f"an answer of {command[0]}: {self.log()[-2000:]}", 20)

    def is_answering(self):
        assert self.process.poll() is None, self.log()
        query = dns.message.make_query(".", "SOA", want_dnssec=True)
        try:
            with inside(self.namespace):
                return bool(dns.query.udp(query, self.address, timeout=2).answer)
        except (OSError, dns.exception.DNSException):
            return False

    def log(self):
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def start_unbound(folder, namespace, address, root, aggressive=True, has_cache=True):
    made = Resolver(folder, namespace, address)
    (made.dir / "hints").write_text(f". 3600 NS {root.name}\n{root.name} 3600 A {root.address}\n")
    (made.dir / "anchor").write_text(root.anchor)
    (made.dir / "unbound.conf").write_text(UNBOUND.format(address=address, dir=made.dir, aggressive="yes" if aggressive else "no", cache="4m" if has_cache else "0"))
    made.start(["unbound", "-d", "-p", "-c", str(made.dir / "unbound.conf")])
    return made


def start_kresd(folder, namespace, address, root):
    made = Resolver(folder, namespace, address)
    (made.dir / "anchor").write_text(root.anchor)
    (made.dir / "kresd.conf").write_text(KRESD.format(address=address, dir=made.dir, root_name=root.name, root_address=root.address))
    made.start(["kresd", "-n", "-c", str(made.dir / "kresd.conf"), str(made.dir)])
    return made


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a resolver makes of a question: its RCODE, and whether it is secure. `why` has more of a failure."""
    rcode: str
    is_secure: bool
    why: str = ""


def verdict_of(message):
    codes = [option.to_text() for option in message.options if option.otype == dns.edns.EDE]
    return Verdict(dns.rcode.to_text(message.rcode()), bool(message.flags & dns.flags.AD), "; ".join(codes))


class Client:
    """Asks many questions at a time, by UDP, and by TCP where the answer says so."""

    WINDOW = 64         # questions that wait for their answers
    TIMEOUT_S = 12      # resolvers give up earlier themselves

    def __init__(self, resolver):
        self.resolver = resolver
        with inside(resolver.namespace):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect((resolver.address, 53))
        self.sock.setblocking(False)

    def ask(self, questions):
        """{(name, type): Verdict}."""
        waiting, found, left = {}, {}, list(dict.fromkeys(questions))
        left.reverse()
        number = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self.sock, selectors.EVENT_READ)
            while left or waiting:
                while left and len(waiting) < self.WINDOW:
                    number = (number + 1) % 65536
                    waiting[number] = (left.pop(), time.monotonic())
                    self.sock.send(self.query(number, *waiting[number][0]).to_wire())
                if selector.select(1):
                    self.take(waiting, found)
                for number_late, (question, since) in list(waiting.items()):
                    if time.monotonic() - since > self.TIMEOUT_S * PATIENCE:
                        found[question] = Verdict("none", False, "no answer")
                        del waiting[number_late]
        return found

    @staticmethod
    def query(number, name, rdtype):
        query = dns.message.make_query(name, rdtype, want_dnssec=True, payload=4096)
        query.flags |= dns.flags.AD
        query.id = number
        return query

    def take(self, waiting, found):
        try:
            data = self.sock.recv(65535)
        except BlockingIOError:
            return
        message = dns.message.from_wire(data, ignore_trailing=True, raise_on_truncation=False)
        if message.id not in waiting:
            return
        question, _ = waiting.pop(message.id)
        if message.flags & dns.flags.TC:
            with inside(self.resolver.namespace):
                message = dns.query.tcp(self.query(message.id, *question), self.resolver.address, timeout=self.TIMEOUT_S * PATIENCE)
        found[question] = verdict_of(message)

    def close(self):
        self.sock.close()


def ask_delv(namespace, address, anchor_path, origin, name, rdtype):
    """delv's verdict, which it gets from that server alone: `origin` is the zone of the anchor."""
    done = subprocess.run(["nsenter", f"--net=/run/netns/{namespace}", "delv", f"@{address}", "-a", str(anchor_path), f"+root={origin}", "-q", name, "-t", rdtype],
                          capture_output=True, text=True, timeout=20 * PATIENCE, check=False, env={**os.environ, "LC_ALL": "C"})
    text = done.stdout + done.stderr
    failure = re.search(r"resolution failed: (.*)", text)
    if failure and failure[1] not in ("ncache nxdomain", "ncache nxrrset"):
        return Verdict(failure[1], False, text)
    rcode = "NXDOMAIN" if "nxdomain" in text else "NOERROR"
    return Verdict(rcode, bool(re.search(r"^; (negative response, )?fully validated", text, re.MULTILINE)) and "unsigned" not in text, text)
