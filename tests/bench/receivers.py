# SPDX-License-Identifier: BSD-2-Clause
"""Many receivers of one zone at once, some of which read slowly: part `receivers` of bench_transfer.py, which starts the server.

The receivers are one process that reads whatever is there and looks only at lengths of messages; a transfer is whole when as many bytes came as
a first receiver got alone. A slow one reads 64 KiB four times a second, in small steps of its window: it isn't done when the others are.
"""
import multiprocessing
import select
import socket
import statistics
import struct
import time

from bench_lib import changes, process
from harness.net import inside

SLOW_PAUSE, SLOW_BYTES, SLOW_BUFFER = 0.25, 65536, 131072
FAST_BYTES = 1 << 20
COMMIT_PAUSE = 0.005            # between two commits


def question(origin):
    message = struct.pack(">6H", 1, 0, 1, 0, 0, 0) + changes.wire_name(origin) + struct.pack(">2H", 252, 1)
    return struct.pack(">H", len(message)) + message


def connect(address, port, slow):
    sock = socket.socket()
    if slow:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BUFFER)
    sock.settimeout(60)
    sock.connect((address, port))
    return sock


class Receiver:
    def __init__(self, address, port, origin, slow):
        self.sock, self.slow, self.bytes, self.end, self.broken = connect(address, port, slow), slow, 0, 0.0, ""
        self.sock.sendall(question(origin))
        self.begin = time.monotonic()
        self.sock.setblocking(False)

    def read(self, room, wanted):
        """Some of what there is. False: nothing more is expected."""
        try:
            count = self.sock.recv_into(room, SLOW_BYTES if self.slow else FAST_BYTES)
        except BlockingIOError:
            return True
        except OSError as error:
            self.broken = str(error)
            return False
        self.bytes += count
        if count == 0 and not self.broken:
            self.broken = "closed early"
        if wanted and self.bytes >= wanted:
            self.end = time.monotonic()
        return count > 0 and not self.end


def alone(address, port, origin):
    """Bytes of a transfer, and seconds until the last one."""
    begin, total, kept = time.monotonic(), 0, b""
    with connect(address, port, False) as sock:
        sock.sendall(question(origin))
        sock.settimeout(1)              # behind the last byte nothing comes
        while True:
            try:
                kept = sock.recv(FAST_BYTES)
            except TimeoutError:
                return total, time.monotonic() - begin - 1
            if not kept:
                raise RuntimeError("the transfer was ended early")
            total += len(kept)


def receive(address, port, origin, counts, wanted, timeout, pipe):
    """The process of the receivers: says when all have begun, and then what became of them."""
    room, epoll = bytearray(FAST_BYTES), select.epoll()
    all_of = [Receiver(address, port, origin, number < counts[1]) for number in range(sum(counts))]
    fast = {one.sock.fileno(): one for one in all_of if not one.slow}
    slow, waiting = [one for one in all_of if one.slow], len(fast)
    for fd in fast:
        epoll.register(fd, select.EPOLLIN)
    pipe.send("begun")
    due, end = time.monotonic() + SLOW_PAUSE, time.monotonic() + timeout
    while waiting and time.monotonic() < end:
        for fd, _ in epoll.poll(SLOW_PAUSE):
            if not fast[fd].read(room, wanted):
                epoll.unregister(fd)
                waiting -= 1
        if time.monotonic() >= due:
            due = time.monotonic() + SLOW_PAUSE
            for one in slow:
                if not one.broken:
                    one.read(room, 0)
    times = [one.end - one.begin for one in fast.values() if one.end]
    pipe.send({"whole": len(times), "broken": [one.broken for one in all_of if one.broken], "times": times, "slow_bytes": [one.bytes for one in slow]})
    for one in all_of:
        one.sock.close()


class Commits:
    """One record that comes and goes, commit by commit."""

    def __init__(self, server, origin):
        self.session, self.origin, self.number, self.times = changes.ControlSession(server.daemon.socket, 1000), origin, 0, []

    def one(self):
        self.number += 1
        self.times.append(changes.commit(self.session, self.origin, [(self.number % 2 == 1, "receivers", "TXT", "x")]))
        time.sleep(COMMIT_PAUSE)

    def taken(self, name):
        found, self.times = sorted(self.times), []
        return {f"{name}_commits": len(found), f"{name}_median_s": statistics.median(found), f"{name}_p99_s": found[int(len(found) * 0.99)]}


def figures(server, args, namespace=None):
    """What `args.receivers` receivers at once do, `args.slow` of them slow: times, memory, commits meanwhile."""
    where, commits, result = (server.setup.address, server.port), Commits(server, args.origin), {}
    with inside(namespace), process.on_processor(process.processors()[1]):
        wanted, alone_s = alone(*where, args.origin)
        end = time.monotonic() + args.calm
        while time.monotonic() < end:
            commits.one()
        result |= commits.taken("calm")
        process.settle(server.pid)
        before = process.anonymous(server.pid)
        mine, theirs = multiprocessing.Pipe()
        # Versions differ by a record that comes and goes: the shorter one is awaited.
        one = multiprocessing.Process(target=receive, args=(*where, args.origin, (args.receivers - args.slow, args.slow), wanted, args.timeout, theirs))
        with process.Peak(server.pid) as peak:
            one.start()
            mine.recv()
            while not mine.poll():
                commits.one()
            said = mine.recv()
        one.join()
    if len(said["times"]) < args.receivers - args.slow or said["broken"]:
        print(f"{server.name}: {said['whole']} of {args.receivers - args.slow} receivers got it all; {said['broken'][:3]}")
    return result | commits.taken("busy") | {
        "alone_s": alone_s, "receivers": args.receivers, "slow": args.slow, "whole": said["whole"], "broken": len(said["broken"]),
        "first_s": min(said["times"], default=0.0), "last_s": max(said["times"], default=0.0), "bytes": wanted, "slow_bytes": min(said["slow_bytes"], default=0),
        "grown_bytes": max(0, peak.bytes - before), "memory_bytes": before}


METRICS = (
    ("receivers", "receivers at once", 1, ",.0f"), ("slow", "of them slow", 1, ",.0f"), ("whole", "of the others that got all of it", 1, ",.0f"),
    ("broken", "connections that were ended", 1, ",.0f"), ("alone_s", "one alone, s", 1, ",.2f"), ("first_s", "the first of all, s", 1, ",.1f"),
    ("last_s", "the last but the slow, s", 1, ",.1f"), ("bytes", "bytes of a transfer, MB", 1e6, ",.1f"), ("slow_bytes", "what a slow one had got, at least, MB", 1e6, ",.1f"),
    ("memory_bytes", "memory before, MB", 1e6, ",.1f"), ("grown_bytes", "highest growth, MiB", 1 << 20, ",.1f"),
    ("calm_commits", "commits before", 1, ",.0f"), ("calm_median_s", "a commit before, median, ms", 1e-3, ",.3f"), ("calm_p99_s", "a commit before, 99 %, ms", 1e-3, ",.3f"),
    ("busy_commits", "commits meanwhile", 1, ",.0f"), ("busy_median_s", "a commit meanwhile, median, ms", 1e-3, ",.3f"), ("busy_p99_s", "a commit meanwhile, 99 %, ms", 1e-3, ",.3f"))
