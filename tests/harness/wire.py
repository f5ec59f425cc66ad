# SPDX-License-Identifier: BSD-2-Clause
"""An echo server on AF_XDP in one namespace of a pair, raw frames from the other."""
import collections
import select
import signal
import socket
import struct
import subprocess

from .net import inside, send_frame
from .server import BUILD
from .waiting import PATIENCE, wait_until

PORT = 5300
SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING = 263, 8, 4
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 0x10, 0x40


class Echo:
    """kxdp_echo on the pair's server interface."""

    def __init__(self, pair, *arguments, interface=None, command=()):
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{pair.server}", *command, str(BUILD / "tests/xdp/kxdp_echo"), "-p", str(PORT),
             *arguments, interface or pair.server_if],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.first_line = self._line().strip()

    def _line(self):
        """What it says next; empty when it has ended."""
        assert select.select([self.process.stdout], [], [], 20 * PATIENCE)[0], "kxdp_echo says nothing"
        return self.process.stdout.readline()

    def counters(self):
        """All counters; those of queues also as a sum over the queues, under the name without the queue."""
        self.process.send_signal(signal.SIGUSR1)
        return self._parse(self._line())

    def wait(self, condition, what="counters", timeout=10):
        """The counters once condition(counters) is true: a frame is counted some time after it was sent."""
        last = collections.Counter()

        def is_met():
            nonlocal last
            last = self.counters()
            return condition(last)
        wait_until(is_met, lambda: f"{what}: { {name: value for name, value in last.items() if value} }", timeout)
        return last

    @staticmethod
    def _parse(line):
        values = collections.Counter()
        for item in line.split():
            name, value = item.split("=")
            values[name] = int(value)
            if name.startswith("queue"):
                values[name.split(".")[1]] += int(value)
        return values

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        out, err = self.process.communicate(timeout=10 * PATIENCE)
        return self.process.returncode, out, err


class Wire:
    """Raw frames on the client's interface."""

    def __init__(self, pair):
        with inside(pair.client):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.socket.bind((pair.client_if, 0))
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)

    def send(self, frame):
        send_frame(self.socket, bytes(frame))

    def receive(self, seconds):
        """Frames from the server's port until `seconds` have passed without one; tags are back in their place."""
        while select.select([self.socket], [], [], seconds)[0]:
            data, extra, _, address = self.socket.recvmsg(4096, 256)
            if address[2] == PACKET_OUTGOING:
                continue
            for level, kind, value in extra:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                    status, *_, tci, tpid = struct.unpack("IIIHHHH", value[:20])
                    if status & TP_STATUS_VLAN_VALID:
                        tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
                        data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
            if struct.pack("!H", PORT) in data[14:80] and not is_icmp(data):
                yield data

    def ask(self, frame, seconds=10.0 * PATIENCE):
        """The first frame that comes back; None if there is none in time, so give a short one where none shall come."""
        self.send(frame)
        return next(self.receive(seconds), None)

    def close(self):
        self.socket.close()


def is_icmp(data):
    offset = 12
    while data[offset:offset + 2] in (b"\x81\x00", b"\x88\xa8"):
        offset += 4
    kind, header = data[offset:offset + 2], data[offset + 2:]
    return (kind == b"\x08\x00" and header[9] == 1) or (kind == b"\x86\xdd" and header[6] in (0, 58))


def wait_detached(pair, timeout=5):
    """The kernel lets go of a killed process's program a moment later."""
    wait_until(lambda: "xdp" not in pair.link(), "the program's end on the interface", timeout)
