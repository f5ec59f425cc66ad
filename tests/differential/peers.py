# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's nsd and named on a free port, set up as close to Knot DNS as they can be."""
import pathlib
import shutil
import socket
import subprocess

from harness.net import free_port, has_ipv6
from harness.server import Knotd
from harness.waiting import PATIENCE, wait_until

IDENTITY, VERSION, NSID = "differential", "some version", "instance-1"


def wait_answer(port, name, process, log, timeout=60):
    """Until SOA of `name` is answered."""
    import questions
    query = questions.message(name, 6)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.3)
        sock.connect(("127.0.0.1", port))

        def is_answered():
            assert process.poll() is None, f"ended with {process.returncode}: {log.read_text()[-3000:]}"
            try:
                sock.send(query)
                reply = sock.recv(65535)
            except OSError:
                return False
            return reply[3] & 15 == 0 and reply[7] > 0
        wait_until(is_answered, lambda: f"an answer for {name}: {log.read_text()[-3000:]}", timeout, 0.1)


class Peer:
    """A server process with its own directory."""

    def __init__(self, directory, zones, zone_directory):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.zones = [(zone.name, pathlib.Path(zone_directory) / zone.file_name()) for zone in zones]
        self.log = self.dir / "log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            cwd=self.dir)
        return self

    def wait(self):
        wait_answer(self.port, self.zones[-1][0], self.process, self.log)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Nsd(Peer):
    def command(self):
        lines = ["server:", "  server-count: 1", f"  ip-address: 127.0.0.1@{self.port}", '  username: ""', '  chroot: ""',
                 f'  zonesdir: "{self.dir}"', '  database: ""', f'  pidfile: "{self.dir}/pid"', f'  xfrdfile: "{self.dir}/xfrd"',
                 f'  zonelistfile: "{self.dir}/zonelist"', f'  xfrdir: "{self.dir}"', "  minimal-responses: yes", "  refuse-any: no",
                 "  ipv4-edns-size: 1232", "  ipv6-edns-size: 1232", f'  identity: "{IDENTITY}"', f'  version: "{VERSION}"',
                 f'  nsid: "ascii_{NSID}"', "  tcp-timeout: 30", "  rrl-ratelimit: 0", "remote-control:", "  control-enable: no"]
        for name, path in self.zones:
            lines += ["zone:", f'  name: "{name}"', f'  zonefile: "{path}"']
        (self.dir / "nsd.conf").write_text("\n".join(lines) + "\n")
        return ["/usr/sbin/nsd", "-d", "-c", str(self.dir / "nsd.conf")]


class Named(Peer):
    def command(self):
        text = f"""
options {{
    directory "{self.dir}"; pid-file none; session-keyfile none; managed-keys-directory "{self.dir}"; lock-file none;
    listen-on port {self.port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
    recursion no; allow-query {{ any; }}; minimal-responses yes; minimal-any yes; notify no; empty-zones-enable no;
    max-udp-size 1232; edns-udp-size 1232; answer-cookie no; dnssec-validation no; check-names master ignore; check-names primary ignore;
    rrset-order {{ order none; }}; hostname "{IDENTITY}"; server-id "{NSID}"; version "{VERSION}"; allow-transfer {{ none; }};
    tcp-clients 20; check-integrity no; check-dup-records ignore; check-mx ignore; check-wildcard no;
    zero-no-soa-ttl no;
}};
controls {{ }};
""".replace("check-names master ignore; ", "")
        for name, path in self.zones:
            text += f'zone "{name}" {{ type primary; file "{path}"; }};\n'
        (self.dir / "named.conf").write_text(text)
        # A copy: AppArmor's profile of /usr/sbin/named keeps that from reading files of ours.
        program = self.dir / "named"
        shutil.copy("/usr/sbin/named", program)
        return [str(program), "-f", "-n", "1", "-U", "1", "-c", str(self.dir / "named.conf"), "-g"]


def knot(directory, zones, zone_directory, program, listen=None, namespace=None, xdp=None):
    """Knot DNS or Bowline: the same configuration for both. Not started."""
    daemon = Knotd(directory, namespace, program)
    if xdp:
        daemon.port = 53
    addresses = listen or ["127.0.0.1", *(["::1"] if has_ipv6() else [])]
    lines = [f"xdp:\n    listen: {xdp}@53"] if xdp else []
    lines += ["mod-stats:", "  - id: all", "    request-protocol: on", "template:", "  - id: default",
              f"    storage: {zone_directory}", "    semantic-checks: off", "    global-module: mod-stats/all", "zone:"]
    for zone in zones:
        lines += [f'  - domain: "{zone.name}"', f'    file: "{zone.file_name()}"']
    daemon.configure("\n".join(lines), listen=addresses,
                     server=f'identity: "{IDENTITY}"\nversion: "{VERSION}"\nnsid: "{NSID}"\ntcp-idle-timeout: 30\ntcp-io-timeout: 0')
    return daemon
