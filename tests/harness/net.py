# SPDX-License-Identifier: BSD-2-Clause
"""Free ports, and two network namespaces joined by a veth pair."""
import collections
import contextlib
import ctypes
import functools
import errno
import json
import os
import random
import secrets
import signal
import socket
import subprocess

from .waiting import wait_until

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


# Below what the kernel gives to sockets that ask for any port (ip_local_port_range): else a client's socket may take the port of a daemon
# that is about to start, or to start again.
PORTS = range(10000, 32768)
# Tests that run at the same time don't take the same port: a name in the network namespace says whose it is, for as long as this process
# lives or until it has taken many others.
TAKEN = collections.deque(maxlen=100)
LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def has_ipv6():
    """True if there is a loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
            sock.bind(("::1", 0))
    except OSError:
        return False
    return True


def is_free(port):
    """True if the port is free for UDP and TCP on 127.0.0.1 and ::1."""
    with contextlib.ExitStack() as stack:
        try:
            for family, host in LOOPBACK if has_ipv6() else LOOPBACK[:1]:
                for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                    stack.enter_context(socket.socket(family, kind)).bind((host, port))
        except OSError:
            return False
    return True


def free_port():
    """A port that is free for UDP and TCP on 127.0.0.1 and ::1, and that no other test gets."""
    dice = random.SystemRandom()
    for _ in range(10000):
        port = dice.choice(PORTS)
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0bowline-test-port-{port}")
        except OSError:
            name.close()
            continue
        if is_free(port):
            TAKEN.append(name)
            return port
        name.close()
    raise RuntimeError(f"no port of {PORTS} is free")


def run(*command, check=True, **options):
    """Run a short command; its output is in the exception when it fails."""
    options.setdefault("timeout", 20)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stdout}")
    return done


@contextlib.contextmanager
def inside(namespace):
    """Sockets that this thread makes in the block belong to `namespace`, also after the block. None: no change."""
    if namespace is None:
        yield
        return
    with open("/proc/thread-self/ns/net", "rb") as home, open(f"/run/netns/{namespace}", "rb") as there:
        if LIBC.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        try:
            yield
        finally:
            if LIBC.setns(home.fileno(), CLONE_NEWNET) != 0:
                os.abort()  # a test in the wrong namespace must not go on


def send_frame(sock, frame):
    """Send on a packet socket; where the other end of a veth pair has no room for a frame, that is said, and it gets it a moment later."""
    def is_sent():
        try:
            sock.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            return False
        return True
    wait_until(is_sent, "room for a frame on the link", pause=0.001)


@functools.cache
def may_make_namespaces():
    """True if this process may make network namespaces and mount in namespaces of its own: root in a container may not always."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--net", "--mount", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                check=False).returncode == 0


def end_by_sigterm_as_by_sigint():
    """SIGTERM, which timeout sends, would end pytest without its fixtures: namespaces and daemons would stay."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def make_or_close(thing, *args):
    """Let it make itself by its _make(); where that fails, nothing of it stays."""
    try:
        thing._make(*args)
    except BaseException:
        thing.close()
        raise


class Pair:
    """Two namespaces and a link: `server` with interface `srv0`, `client` with `cli0`; IPv4 and IPv6 on both.

    Neighbours are static, so no test waits for ARP; the client fills in checksums itself, because a veth pair would
    otherwise carry frames without them. Close it (or use `with`): both namespaces go, with all that is in them.
    """

    server_if, client_if = "srv0", "cli0"
    server4, client4 = "192.0.2.1", "192.0.2.2"
    server6, client6 = "2001:db8::1", "2001:db8::2"

    def __init__(self, queues=1, mtu=1500):
        tag = secrets.token_hex(3)
        self.server, self.client = f"bwl-{tag}-s", f"bwl-{tag}-c"
        self.queues = queues
        make_or_close(self, mtu)

    def _make(self, mtu):
        for namespace in (self.server, self.client):
            run("ip", "netns", "add", namespace)
            run("ip", "-n", namespace, "link", "set", "lo", "up")
        many = ["numrxqueues", str(self.queues), "numtxqueues", str(self.queues)]
        run("ip", "link", "add", self.server_if, "netns", self.server, *many, "mtu", str(mtu), "type", "veth",
            "peer", "name", self.client_if, "netns", self.client, *many, "mtu", str(mtu))
        for namespace, device, v4, v6 in ((self.server, self.server_if, self.server4, self.server6),
                                          (self.client, self.client_if, self.client4, self.client6)):
            run("ip", "-n", namespace, "address", "add", f"{v4}/24", "dev", device)
            run("ip", "-n", namespace, "address", "add", f"{v6}/64", "dev", device, "nodad")
            run("ip", "-n", namespace, "link", "set", device, "up")
            if self.queues > 1:
                self.exec(namespace, "ethtool", "-L", device, "rx", str(self.queues), "tx", str(self.queues), check=False)
        self.exec(self.client, "ethtool", "-K", self.client_if, "tx", "off", "gso", "off", "gro", "off", "tso", "off",
                  check=False)
        self.server_mac = self._mac(self.server, self.server_if)
        self.client_mac = self._mac(self.client, self.client_if)
        for namespace, device, addresses, mac in (
                (self.server, self.server_if, (self.client4, self.client6), self.client_mac),
                (self.client, self.client_if, (self.server4, self.server6), self.server_mac)):
            for address in addresses:
                run("ip", "-n", namespace, "neighbour", "replace", address, "lladdr", mac, "nud", "permanent",
                    "dev", device)

    @staticmethod
    def _mac(namespace, device):
        return json.loads(run("ip", "-n", namespace, "-j", "link", "show", device).stdout)[0]["address"]

    @staticmethod
    def exec(namespace, *command, **options):
        """Run a command in a namespace and wait for it."""
        return run("nsenter", f"--net=/run/netns/{namespace}", *command, **options)

    def add_vlan(self, *tags):
        """A VLAN device of the server for frames with these tags, from the outer to the inner: 5, or ("802.1ad", 7). False: the kernel has none."""
        lower = self.server_if
        for tag in tags:
            protocol, number = tag if isinstance(tag, tuple) else ("802.1Q", tag)
            name = f"{lower}.{number}"
            if run("ip", "-n", self.server, "link", "show", "dev", name, check=False).returncode != 0:
                made = run("ip", "-n", self.server, "link", "add", "link", lower, "name", name, "type", "vlan", "protocol", protocol, "id", str(number),
                           check=False)
                if "Unknown device type" in made.stdout:
                    return False
                assert made.returncode == 0, made
                run("ip", "-n", self.server, "link", "set", name, "up")
            lower = name
        return True

    def link(self):
        """`ip -j -d link` of the server's interface: "xdp" in it says what is attached."""
        return json.loads(run("ip", "-n", self.server, "-j", "-d", "link", "show", self.server_if).stdout)[0]

    def close(self):
        for namespace in (self.server, self.client):
            run("ip", "netns", "del", namespace, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Alone:
    """A namespace with a loopback device and nothing else, which has these addresses. Close it, or use `with`."""

    def __init__(self, addresses):
        self.name = f"bwl-{secrets.token_hex(3)}-a"
        make_or_close(self, addresses)

    def _make(self, addresses):
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "set", "lo", "up")
        for address in addresses:
            run("ip", "-n", self.name, "address", "add", f"{address}/32", "dev", "lo")

    def close(self):
        run("ip", "netns", "del", self.name, check=False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
