# SPDX-License-Identifier: BSD-2-Clause
"""What a worker that was taken over can get from the privileged helper: the test takes the worker's end of the pair of sockets and asks in its
place. guards: doc/adr/0010-privileged-helper.md"""
import contextlib
import ctypes
import errno
import os
import pathlib
import select
import signal
import socket
import struct

import pytest

from harness.net import run

pytestmark = [pytest.mark.ours, pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")]

OPEN, CONFIGURE, CLOSE, BIND = 1, 2, 3, 8
MODE_EMULATED = 2
UDP, TCP = 1, 2
LISTENS = 16    # of struct priv_config_t
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438
EACCES = -errno.EACCES
ZONE = "$ORIGIN example.\n@ 60 SOA ns1 a 1 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n"


def helper_socket(pid):
    """A copy of the daemon's end: its only UNIX socket of this type."""
    rows = [row.split() for row in pathlib.Path(f"/proc/{pid}/net/unix").read_text().splitlines()[1:]]
    pairs = {f"socket:[{row[6]}]" for row in rows if int(row[4], 16) == socket.SOCK_SEQPACKET}
    numbers = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):    # closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{name}") in pairs:
                numbers.append(int(name))
    assert len(numbers) == 1
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    pidfd = syscall(SYS_PIDFD_OPEN, pid, 0)
    assert pidfd >= 0
    copy = syscall(SYS_PIDFD_GETFD, pidfd, numbers[0], 0)
    os.close(pidfd)
    assert copy >= 0
    return socket.socket(fileno=copy)


class Worker:
    """Requests of xdp/priv_wire.h, as bytes."""

    def __init__(self, pid):
        self.sock = helper_socket(pid)
        self.sock.settimeout(30)

    def ask(self, request):
        """The reply's code, its text, and the first integer behind them."""
        self.sock.send(request)
        data, fds, _, _ = socket.recv_fds(self.sock, 4096, 4)
        for fd in fds:
            os.close(fd)
        (code,), text = struct.unpack_from("=i", data), data[4:228].split(b"\0")[0].decode()
        return code, text, struct.unpack_from("=I", data, 232)[0]

    @staticmethod
    def config(*ports):
        listens = b"".join(struct.pack("=16xHBx", port, 1) for port in ports)
        return struct.pack("=II", UDP | TCP, len(ports)) + listens.ljust(20 * LISTENS, b"\0")

    def open(self, ifname, *ports):
        return self.ask(struct.pack("=II16s", OPEN, MODE_EMULATED, ifname.encode()) + self.config(*ports))

    def configure(self, iface, *ports):
        return self.ask(struct.pack("=II", CONFIGURE, iface) + self.config(*ports))

    def close(self, iface):
        return self.ask(struct.pack("=II", CLOSE, iface))

    def bind(self, port):
        return self.ask(struct.pack("=IHHHHI16s16x", BIND, socket.AF_INET, socket.SOCK_STREAM, port, 0, 0, b""))


@pytest.fixture
def worker(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", ZONE)
    daemon.configure(zones=["example"], listen=(), text=f"xdp:\n    listen: [ {pair.server_if}@53, {pair.server4}@5300 ]\n")
    daemon.start()
    # Stopped, so that it neither asks nor takes a reply that isn't its own: after one it would end the helper, as it must.
    os.kill(daemon.process.pid, signal.SIGSTOP)
    made = Worker(daemon.process.pid)
    while select.select([made.sock], [], [], 0.1)[0]:
        made.sock.recv(4096)    # asked for before
    yield made
    made.sock.close()
    os.kill(daemon.process.pid, signal.SIGCONT)


def test_ports_of_another_interface(worker, pair):
    """SSH and HTTPS of an interface that isn't configured stay where they are; DNS could be taken there, which ADR 10 says."""
    run("ip", "-n", pair.server, "link", "add", "mgmt0", "type", "veth", "peer", "name", "mgmt1")
    for ports in ((22,), (443,), (53, 22), (1,), (5299,), (65535,)):
        code, text, _ = worker.open("mgmt0", *ports)
        assert code == EACCES and "restart the server" in text, ports
    assert "xdp" not in run("ip", "-n", pair.server, "link", "show", "dev", "mgmt0").stdout
    code, text, iface = worker.open("mgmt0", 53, 853, 5300)
    assert (code, text) == (0, "")
    for port in (22, 443, 8080):
        code, text, _ = worker.configure(iface, 53, port)
        assert code == EACCES and f"port {port} " in text
    assert worker.configure(iface, 853)[0] == 0
    assert worker.close(iface)[0] == 0


def test_ports_of_the_configured_interface(worker):
    """The first interface that was opened has number 0."""
    assert worker.configure(0, 22)[0] == EACCES
    assert worker.configure(0, 53, 5300)[0] == 0
    assert worker.bind(22)[0] == EACCES and worker.bind(5300)[0] == EACCES
    assert worker.bind(853)[0] == 0


def test_messages_of_every_length(worker):
    """Nothing but whole messages of known kinds is read."""
    whole = struct.pack("=II16s", OPEN, MODE_EMULATED, b"lo") + worker.config(53)
    for length in [*range(1, len(whole)), len(whole) + 1, 60000]:
        assert worker.ask(whole[:length].ljust(length, b"\0"))[0] == -errno.EINVAL, length
    for kind in (0, 10, 255, 0xFFFFFFFF):
        assert worker.ask(struct.pack("=I", kind) + whole[4:])[0] == -errno.EINVAL
    assert worker.bind(853)[0] == 0
