# SPDX-License-Identifier: BSD-2-Clause
"""Our daemon and the distribution's knotd, nsd and named, each of them primary of some zones and secondary of others: a zone for each peer,
direction, address family and TSIG algorithm."""
import dataclasses
import pathlib
import random
import shutil
import signal
import subprocess

import dns.exception
import dns.message
import dns.query
import dns.tsigkeyring

from harness.net import free_port, has_ipv6
from harness.server import Knotd
from harness.waiting import PATIENCE, wait_until

PROGRAMS = {"knot": "/usr/sbin/knotd", "nsd": "/usr/sbin/nsd", "named": "/usr/sbin/named"}
ADDRESSES = {"IPv4": "127.0.0.1", **({"IPv6": "::1"} if has_ipv6() else {})}
ALGORITHMS = ("none", "hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")
SECRET = "bG9uZyBlbm91Z2ggZm9yIHRoZSB0ZXN0cyBvZiBpbnRlcm9wZXJhdGlvbg=="
OUT, IN = "out", "in"       # we are primary; we are secondary
SMALL, BIG = 40, 3000       # names in a zone; the big ones take several messages


@dataclasses.dataclass(frozen=True)
class Case:
    """A zone between us and a peer."""
    peer: str
    way: str
    family: str
    algorithm: str
    size: int = SMALL

    @property
    def zone(self):
        return f"{self.peer}-{self.way}-{self.family}-{self.algorithm}-{self.size}.test.".lower()

    @property
    def key(self):
        """The key's name, None for a zone whose messages aren't signed."""
        return None if self.algorithm == "none" else f"k-{self.algorithm}."

    @property
    def address(self):
        return ADDRESSES[self.family]


def all_cases(peers):
    cases = [Case(peer, way, family, algorithm) for peer in peers for way in (OUT, IN) for family in ADDRESSES for algorithm in ALGORITHMS]
    return cases + [Case(peer, way, "IPv4", "hmac-sha256", BIG) for peer in peers for way in (OUT, IN)]


# ---- zones ----

def zone_text(case, version):
    """Version 1, 2, ...: names come, go and change with each."""
    source = random.Random(case.zone)
    lines = [f"$ORIGIN {case.zone}", "$TTL 300", f"@ SOA ns admin {version} 3600 1 86400 60", "@ NS ns", "@ NS ns2", "ns A 192.0.2.1",
             "ns2 AAAA 2001:db8::1", "@ MX 10 ns", '@ CAA 0 issue "ca.test"', "*.wild TXT wild", "a.b.c.ent 60 SRV 1 2 3 ns",
             "old CNAME ns", "sub NS ns.sub", "ns.sub A 192.0.2.2", r"unknown TYPE65280 \# 3 010203", f'@ TXT "version {version}"',
             'long TXT ' + " ".join(f'"{"x" * 200}{i}"' for i in range(5))]
    for number in range(case.size):
        kind = source.choice(["goes", "comes", "ttl", "data", "grows", *["stays"] * (2 if case.size == SMALL else 20)])
        if (kind == "goes" and version > 1) or (kind == "comes" and version == 1):
            continue
        ttl = 300 + version if kind == "ttl" else 300
        data = 100 + version if kind == "data" else 1
        lines.append(f"h{number} {ttl} A 10.{number >> 8}.{number & 255}.{data}")
        if kind == "grows":
            lines += [f"h{number} {ttl} A 10.{number >> 8}.{number & 255}.{i}" for i in range(2, 2 + version)]
            lines.append(f"x.h{number} {ttl} TXT {version}")
    return "\n".join(lines) + "\n"


def serial_at(port, case):
    try:
        reply = dns.query.udp(dns.message.make_query(case.zone, "SOA"), case.address, port=port, timeout=2)
    except (dns.exception.DNSException, OSError):
        return None
    return reply.answer[0][0].serial if reply.answer else None


def records_at(port, case):
    """{(owner, type, ttl, rdata)} by AXFR, signed if the zone has a key; dnspython checks the signatures."""
    options = {"keyring": dns.tsigkeyring.from_text({case.key: SECRET}), "keyname": case.key, "keyalgorithm": wire_name(case.algorithm)} if case.key else {}
    found = set()
    for reply in dns.query.xfr(case.address, case.zone, port=port, relativize=False, lifetime=20 * PATIENCE, **options):
        found |= {(rrset.name.to_text().lower(), int(rrset.rdtype), rrset.ttl, rdata.to_wire(origin=None))
                  for rrset in reply.answer for rdata in rrset}
    return found


def wire_name(algorithm):
    return "hmac-md5.sig-alg.reg.int." if algorithm == "hmac-md5" else f"{algorithm}."


# ---- servers ----

def knot_keys():
    return "key:\n" + "".join(f"  - id: k-{algorithm}.\n    algorithm: {algorithm}\n    secret: {SECRET}\n" for algorithm in ALGORITHMS[1:])


def knot_zones(directory, cases, way, port_of):
    """Sections of a configuration as Knot's: `way` is that of the cases in which this server is the primary, port_of(case) its other side's."""
    remotes, rules, zones = {}, {}, []
    for case in cases:
        ident = f"{case.peer}-{case.family}-{case.algorithm}"
        remotes[ident] = (f"  - id: {ident}\n    address: {case.address}@{port_of(case)}\n" + (f"    key: {case.key}\n" if case.key else ""))
        who = f"    key: {case.key}\n" if case.key else "    address: [ 127.0.0.1, ::1 ]\n"
        rules[case.algorithm] = f"  - id: {case.algorithm}\n{who}    action: [ transfer, notify, update ]\n"
        # nsd 4.6.1 adds the apex's record sets again to those that are there.
        more = "    ixfr-benevolent: on\n" if case.peer == "nsd" else ""
        role = f"    notify: {ident}\n    zonefile-load: difference\n" if case.way == way else f"    master: {ident}\n{more}"
        zones.append(f"  - domain: {case.zone}\n    storage: {directory}\n    file: {case.zone}zone\n    zonefile-sync: -1\n"
                     f"    acl: {case.algorithm}\n{role}")
    return knot_keys() + "remote:\n" + "".join(remotes.values()) + "acl:\n" + "".join(rules.values()) + "zone:\n" + "".join(zones)


class KnotLike:
    """Ours, or the distribution's knotd."""

    def __init__(self, directory, way, cases, program=None):
        self.daemon = Knotd(directory, program=program)
        (self.daemon.dir / "db").mkdir(exist_ok=True)
        self.port, self.way, self.cases = self.daemon.port, way, cases

    def write(self, case, version):
        self.daemon.write(f"{case.zone}zone", zone_text(case, version))

    def start(self, port_of):
        self.daemon.configure(knot_zones(self.daemon.dir, self.cases, self.way, port_of), listen=ADDRESSES.values(),
                              server="tcp-max-clients: 1000\nautomatic-acl: off")
        self.daemon.start()

    def reload(self):
        self.daemon.knotc("reload")

    def log(self):
        return self.daemon.log()

    def finish(self):
        self.daemon.finish()


class Process:
    """A server with a directory and a log."""

    def __init__(self, directory, cases):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True)
        self.port, self.cases, self.process = free_port(), cases, None
        self.output = self.dir / "log"

    def write(self, case, version):
        (self.dir / f"{case.zone}zone").write_text(zone_text(case, version))

    def start(self, port_of):
        with open(self.output, "ab") as log:
            self.process = subprocess.Popen(self.command(port_of), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.dir)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def log(self):
        return self.output.read_text(errors="replace")

    def finish(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Nsd(Process):
    def command(self, port_of):
        lines = ["server:", "  server-count: 1", *(f"  ip-address: {address}@{self.port}" for address in ADDRESSES.values()), '  username: ""',
                 '  chroot: ""', f'  zonesdir: "{self.dir}"', '  database: ""', f'  pidfile: "{self.dir}/pid"', f'  xfrdfile: "{self.dir}/xfrd"',
                 f'  zonelistfile: "{self.dir}/zonelist"', f'  xfrdir: "{self.dir}"', "  xfrd-reload-timeout: 0", "  rrl-ratelimit: 0",
                 "  tcp-count: 200", "  verbosity: 2", "remote-control:", "  control-enable: no"]
        for algorithm in ALGORITHMS[1:]:
            lines += ["key:", f"  name: k-{algorithm}.", f"  algorithm: {algorithm}", f"  secret: {SECRET}"]
        for case in self.cases:
            key, peer = case.key or "NOKEY", f"{case.address}@{port_of(case)}"
            lines += ["zone:", f'  name: "{case.zone}"', f'  zonefile: "{self.dir}/{case.zone}zone"', f"  provide-xfr: {case.address} {key}"]
            if case.way == IN:
                lines += [f"  notify: {peer} {key}", "  store-ixfr: yes", "  create-ixfr: yes"]
            else:
                lines += [f"  request-xfr: {peer} {key}", f"  allow-notify: {case.address} {key}"]
        (self.dir / "nsd.conf").write_text("\n".join(lines) + "\n")
        return [PROGRAMS["nsd"], "-d", "-c", str(self.dir / "nsd.conf")]


class Named(Process):
    def command(self, port_of):
        text = f"""options {{
directory "{self.dir}"; pid-file none; session-keyfile none; managed-keys-directory "{self.dir}"; lock-file none;
listen-on port {self.port} {{ 127.0.0.1; }}; listen-on-v6 port {self.port} {{ ::1; }}; recursion no; dnssec-validation no; empty-zones-enable no;
notify explicit; notify-delay 0; notify-rate 1000; startup-notify-rate 1000; serial-query-rate 1000; transfers-in 100; transfers-per-ns 100;
transfers-out 100; tcp-clients 500; check-integrity no; ixfr-from-differences yes; max-ixfr-ratio unlimited; masterfile-format text; }};
controls {{ }};
"""
        for algorithm in ALGORITHMS[1:]:
            text += f'key "k-{algorithm}." {{ algorithm {algorithm}; secret "{SECRET}"; }};\n'
        for case in self.cases:
            key = f' key "{case.key}"' if case.key else ""
            who = f'key "{case.key}";' if case.key else "127.0.0.1; ::1;"
            peer = f"{case.address} port {port_of(case)}{key};"
            role = (f"type primary; also-notify {{ {peer} }};" if case.way == IN else f"type secondary; primaries {{ {peer} }}; allow-notify {{ {who} }};")
            text += f'zone "{case.zone}" {{ {role} file "{self.dir}/{case.zone}zone"; allow-transfer {{ {who} }}; }};\n'
        (self.dir / "named.conf").write_text(text)
        # A copy: AppArmor's profile of /usr/sbin/named keeps that from reading files of ours.
        program = self.dir / "named"
        shutil.copy(PROGRAMS["named"], program)
        return [str(program), "-f", "-n", "1", "-U", "1", "-c", str(self.dir / "named.conf"), "-g"]


class Fleet:
    """All servers. Each stage is reached once, from the one before."""

    def __init__(self, directory, peers):
        self.cases = all_cases(peers)
        top = pathlib.Path(directory)
        self.ours = KnotLike(top / "ours", OUT, self.cases)
        make = {"knot": lambda path, cases: KnotLike(path, IN, cases, PROGRAMS["knot"]), "nsd": Nsd, "named": Named}
        self.peers = {peer: make[peer](top / peer, [case for case in self.cases if case.peer == peer]) for peer in peers}
        self.version = 0

    def primary(self, case):
        return self.ours if case.way == OUT else self.peers[case.peer]

    def secondary(self, case):
        return self.peers[case.peer] if case.way == OUT else self.ours

    def start(self):
        """Version 1 is everywhere. We start first: what we are secondary of is fetched by command."""
        for case in self.cases:
            self.primary(case).write(case, 1)
        self.ours.start(lambda case: self.peers[case.peer].port)
        for peer in self.peers.values():
            peer.start(lambda case: self.ours.port)
        self.wait(1, self.primary)
        self.ours.daemon.knotc("zone-refresh", *(case.zone for case in self.cases if case.way == IN))
        self.wait(1, self.secondary)
        self.version = 1

    def edit(self):
        """Version 2, made of files."""
        if self.version < 1:
            self.start()
        for case in self.cases:
            self.primary(case).write(case, 2)
        for server in (self.ours, *self.peers.values()):
            server.reload()
        self.wait(2, self.secondary)
        self.version = 2

    def wait(self, serial, server_of, cases=None):
        """Until these servers have the serial."""
        left = list(cases or self.cases)

        def are_there():
            left[:] = [case for case in left if serial_at(server_of(case).port, case) != serial]
            return not left

        def state():
            case = left[0]
            logs = "\n".join(f"--- {name}\n" + "\n".join([line for line in log.splitlines() if case.zone[:-1] in line][-15:] or log.splitlines()[-15:])
                             for name, log in (("ours", self.ours.log()), (case.peer, self.peers[case.peer].log())))
            return f"serial {serial} of {len(left)} zones, as {case.zone}: it is {serial_at(server_of(case).port, case)}\n{logs}"
        wait_until(are_there, state, 40, 0.05)

    def finish(self):
        for server in (self.ours, *self.peers.values()):
            server.finish()
