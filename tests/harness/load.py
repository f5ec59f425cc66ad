# SPDX-License-Identifier: BSD-2-Clause
"""Queries at a rate: a few of which each is known (Load), or as many as a machine makes (kxdpgun)."""
import errno
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

import dns.message
import pytest

from .net import inside
from .server import BUILD
from .waiting import PATIENCE, wait_until

SO_RCVBUFFORCE, IP_RECVERR = 33, 11


def kxdpgun(pair, queries, seconds, rate, *arguments):
    """Replies that kxdpgun counts for the questions of a file, sent from the pair's client for some seconds, at a rate per second."""
    if shutil.which("kxdpgun") is None:
        pytest.skip("no kxdpgun")
    text = ""

    def is_done():
        nonlocal text
        text = pair.exec(pair.client, "kxdpgun", "-t", str(seconds), "-Q", str(rate), "-i", str(queries), *arguments, "-I", pair.client_if,
                         pair.server4, timeout=seconds + 30 * PATIENCE, check=False).stdout
        return "resource is busy" not in text       # the kernel is still taking the run before apart
    wait_until(is_done, "an interface for kxdpgun", 10, 0.2)
    replies = re.search(r"total replies:\s+(\d+)", text)
    assert replies, text
    return int(replies.group(1))


def send_mix(pair, port, frames, window, wait_taken):
    """{kind: frames} of tests/xdp/send_mix.c; after `window` frames wait_taken(sent) waits until all so far were taken in, so that none is lost."""
    program = [str(BUILD / "tests/xdp/send_mix"), pair.client_if, pair.server_mac, pair.server4, pair.server6, str(port), str(frames), str(window)]
    with subprocess.Popen(["nsenter", f"--net=/run/netns/{pair.client}", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            sent = {}
            for line in process.stdout:
                if line.startswith("sent "):
                    wait_taken(int(line.split()[1]))
                    process.stdin.write("\n")
                    process.stdin.flush()
                else:
                    name, count = line.split("=")
                    sent[name] = int(count)
            assert process.wait(10 * PATIENCE) == 0
        finally:
            process.kill()
    return sent


class Load:
    """Queries to one address, at most `rate` per second, each of its own id; `lost` after the end: ids without an answer.

    A machine that has no time for the sender gets fewer, not many at once later: those a socket could have no room for. At the end answers are
    waited for until all are there or none has come for `silence` seconds.
    """

    AT_ONCE = 16

    def __init__(self, namespace, where, port=53, rate=1000, silence=3 * PATIENCE):
        with inside(namespace):
            self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
        self.sock.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)      # a link without room for a datagram says so
        self.sock.connect((where, port))
        self.sock.settimeout(0.2)
        self.question = dns.message.make_query("www.example", "A", use_edns=False).to_wire()[2:]
        self.rate, self.silence = rate, silence
        self.sent, self.answered, self.refused, self.lost = 0, set(), 0, []
        self.stopping, self.sending_over = threading.Event(), threading.Event()
        self.threads = [threading.Thread(target=self._send), threading.Thread(target=self._receive)]

    def _send_one(self):
        try:
            self.sock.send(struct.pack("!H", self.sent) + self.question)
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return False
            self.refused += 1
        self.sent += 1
        return True

    def _send(self):
        start = time.monotonic()
        skipped = 0     # what was due while there was no time to send it
        while not self.stopping.is_set():
            due = int((time.monotonic() - start) * self.rate) - skipped
            if due - self.sent > self.AT_ONCE:
                skipped += due - self.sent - self.AT_ONCE
                due = self.sent + self.AT_ONCE
            while self.sent < min(due, 65535) and self._send_one():
                pass
            time.sleep(0.002)     # pace of the load
        self.sending_over.set()

    def _receive(self):
        last = time.monotonic()
        while not self.sending_over.is_set() or (len(self.answered) < self.sent and time.monotonic() < last + self.silence):
            try:
                data = self.sock.recv(4096)
                if len(data) > 12 and data[3] & 15 == 0 and data[7] == 1:
                    self.answered.add(struct.unpack("!H", data[:2])[0])
                    last = time.monotonic()
            except TimeoutError:
                pass
            except OSError:
                self.refused += 1
            if not self.sending_over.is_set():
                last = time.monotonic()

    def wait_answers(self, count, timeout=20):
        """Until that many more have come."""
        wanted = len(self.answered) + count
        wait_until(lambda: len(self.answered) >= wanted, lambda: f"{wanted} answers, there are {len(self.answered)} of {self.sent}", timeout)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        self.sock.close()
        self.lost = [number for number in range(self.sent) if number not in self.answered]
        print(f"{self.sent} queries, {len(self.lost)} lost, {self.refused} refused")
