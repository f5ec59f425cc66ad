# SPDX-License-Identifier: BSD-2-Clause
"""The servers that are compared, behind one face: configure, start, ask what they use, stop.

A server is named in --servers: bowline, knot, nsd, or NAME=PATH for another knotd (an older build, say). One worker per transport in each.
"""
import dataclasses
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from harness.net import free_port, inside
from harness.server import Knotd, built

from . import process

KNOTD, NSD, NAMED = "/usr/sbin/knotd", "/usr/sbin/nsd", "/usr/sbin/named"


@dataclasses.dataclass
class Setup:
    """What to serve, and where."""
    zones: list                     # of (apex, path)
    address: str = "127.0.0.1"
    port: int = 0                   # 0: a free one
    namespace: str = None
    xdp: str = None                 # interface to serve over AF_XDP; None: sockets
    tcp: bool = False               # also over AF_XDP
    log: str = "info"               # Knot's: from which level on
    server: str = ""                # Knot's: one more item of section server
    text: str = ""                  # more sections for Knot's configuration
    zone_text: str = ""             # a whole zone section instead of one made from `zones`
    conf: str = ""                  # NSD, named: the zones' part of the configuration instead of one made from `zones`
    options: str = ""               # named: more statements of its options


class Server:
    """One server in a directory of its own, which goes with it. `with` it: stopped at the end of the block."""

    def __init__(self, name, program, setup):
        self.name, self.program, self.setup = name, program, setup
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="bowline-bench-"))
        self.port = setup.port or free_port()
        self.started = 0.0              # monotonic clock at exec

    # ---- for each kind ----

    def _start(self):
        raise NotImplementedError

    def _stop(self, number):
        raise NotImplementedError

    def log(self):
        raise NotImplementedError

    # ---- for all ----

    @property
    def pid(self):
        return self.process.pid

    def start(self, processor=None):
        """Start, and return at once. processor: where all its threads run from the beginning."""
        with process.on_processor(processor):
            self.started = time.monotonic()
            self._start()

    def wait_answer(self, origin, timeout=300):
        """Seconds from exec until the zone's SOA is answered."""
        query = question(origin, 6)
        with inside(self.setup.namespace):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect((self.setup.address, self.port))
        sock.settimeout(0.02)
        with sock:
            while time.monotonic() - self.started < timeout:
                if self.process.poll() is not None:
                    raise RuntimeError(f"{self.name} ended with {self.process.returncode}: {self.log()[-3000:]}")
                try:
                    sock.send(query)
                    reply = sock.recv(4096)
                    if reply[3] & 15 == 0 and reply[7] == 1:
                        return time.monotonic() - self.started
                except OSError:
                    pass
                time.sleep(0.002)
        raise RuntimeError(f"{self.name}: no answer within {timeout} s: {self.log()[-3000:]}")

    def stop(self, number=15):
        self._stop(number)

    def close(self):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class KnotServer(Server):
    """Bowline or Knot DNS: the same configuration."""

    def __init__(self, name, program, setup):
        super().__init__(name, program, setup)
        self.daemon = Knotd(self.dir, setup.namespace, program)
        self.daemon.port = self.port
        zones = setup.zone_text or "zone:\n" + "".join(
            f'  - domain: "{apex}"\n    file: "{self._copy(path)}"\n' for apex, path in setup.zones)
        self.daemon.conf("\n".join([
            "server:", f"    rundir: {self.dir}/run", "    udp-workers: 1", "    tcp-workers: 1", "    background-workers: 1",
            f"    listen: {setup.address}@{self.port}", *([f"    {setup.server}"] if setup.server else []), "control:", "    listen: knot.sock", "database:", f"    storage: {self.dir}/db",
            "log:", "  - target: stdout", f"    any: {setup.log}",
            *([f"xdp:\n    listen: {setup.xdp}@{self.port}" + ("\n    tcp: on" if setup.tcp else "")] if setup.xdp else []),
            setup.text.rstrip(), zones]) + "\n")

    def _copy(self, path):
        """Knot DNS drops root's right to read everything: it can't enter a home directory of mode 0700."""
        return shutil.copy(path, self.dir)

    @property
    def process(self):
        return self.daemon.process

    def _start(self):
        self.daemon.start(ready=False)

    def _stop(self, number):
        self.daemon.stop(number, timeout=120)

    def log(self):
        return self.daemon.log()

    def control(self, *arguments):
        """The server's own knotc."""
        return self.daemon.knotc(*arguments, timeout=300, program="/usr/sbin/knotc" if self.program == KNOTD else None).stdout

    def check_transport(self):
        if self.setup.xdp and "initialized XDP interface" not in self.log():
            raise RuntimeError(f"{self.name} is not on AF_XDP: {self.log()[-2000:]}")


class OtherServer(Server):
    """What runs as a process of its own, in the foreground."""

    process = None

    def command(self):
        raise NotImplementedError

    def _start(self):
        command = self.command()
        if self.setup.namespace is not None:
            command = ["nsenter", f"--net=/run/netns/{self.setup.namespace}", *command]
        with open(self.dir / "output.log", "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=self.dir)

    def _stop(self, number):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


class NamedServer(OtherServer):
    """BIND's named with one thread, primary of zones that loopback may change by dynamic updates, unless setup.conf says otherwise."""

    def __init__(self, name, program, setup):
        super().__init__(name, program, setup)
        self.conf = self.dir / "named.conf"
        self.conf.write_text("\n".join([
            "options {", f'  directory "{self.dir}"; pid-file none; session-keyfile none; lock-file none;', f"  listen-on port {self.port} {{ {setup.address}; }};",
            "  listen-on-v6 { none; }; recursion no; dnssec-validation no; notify no; check-names primary ignore; allow-new-zones no;", f"  {setup.options}", "};",
            "controls { };", 'key "key." { algorithm hmac-sha256; secret "YmVuY2htYXJrLW9mLXVwZGF0ZXM="; };', "logging { category update { null; }; };",
            setup.conf or "\n".join(
              f'zone "{apex.rstrip(".")}" {{ type primary; file "{shutil.copy(path, self.dir)}"; allow-update {{ 127.0.0.0/8; }}; zone-statistics none; }};'
              for apex, path in setup.zones)]) + "\n", encoding="ascii")

    def command(self):
        return [self.program, "-g", "-n", "1", "-c", str(self.conf)]

    def log(self):
        path = self.dir / "output.log"
        return path.read_text(errors="replace") if path.exists() else ""


class NsdServer(OtherServer):
    """NSD with one server process and without its rate limit."""

    def __init__(self, name, program, setup):
        super().__init__(name, program, setup)
        zones = setup.conf or "".join(
            f'zone:\n  name: "{apex}"\n  zonefile: "{shutil.copy(path, self.dir)}"\n' for apex, path in setup.zones)
        self.conf = self.dir / "nsd.conf"
        self.conf.write_text("\n".join([
            "server:", "  server-count: 1", f"  ip-address: {setup.address}@{self.port}", "  do-ip6: no", f'  zonesdir: "{self.dir}"',
            '  username: ""', '  chroot: ""', '  database: ""', f'  pidfile: "{self.dir}/nsd.pid"', f'  zonelistfile: "{self.dir}/zone.list"',
            f'  xfrdfile: "{self.dir}/xfrd.state"', f'  xfrdir: "{self.dir}"', f'  logfile: "{self.dir}/nsd.log"',
            "  rrl-ratelimit: 0", "  rrl-whitelist-ratelimit: 0", "  tcp-count: 2000",
            "remote-control:", "  control-enable: yes", f'  control-interface: "{self.dir}/control"', zones]) + "\n", encoding="ascii")

    def command(self):
        return [self.program, "-d", "-c", str(self.conf)]

    def control(self, *arguments):
        return subprocess.run(["/usr/sbin/nsd-control", "-c", str(self.conf), *arguments], check=True, capture_output=True, text=True,
                              timeout=120).stdout

    def log(self):
        return "".join(path.read_text(errors="replace") for path in (self.dir / "output.log", self.dir / "nsd.log") if path.exists())

    def check_transport(self):
        if self.setup.xdp:
            raise RuntimeError("NSD has no AF_XDP")


def question(name, rdtype, ident=0x1234):
    """A query's bytes."""
    labels = [label for label in name.rstrip(".").split(".") if label]
    return (ident.to_bytes(2, "big") + bytes.fromhex("0000000100000000 0000".replace(" ", "")) +
            b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0" + rdtype.to_bytes(2, "big") + b"\0\1")


def program_of(name):
    """(name, path) of what --servers names."""
    if "=" in name:
        return tuple(name.split("=", 1))
    return name, {"bowline": lambda: built("knotd", "knotd"), "knot": lambda: KNOTD, "nsd": lambda: NSD, "named": lambda: NAMED}[name]()


def make(name, setup):
    """A server, not started."""
    name, program = program_of(name)
    return {"nsd": NsdServer, "named": NamedServer}.get(name, KnotServer)(name, program, setup)
