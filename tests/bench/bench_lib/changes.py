# SPDX-License-Identifier: BSD-2-Clause
"""Ways to change a zone from outside, behind one face, for one session or many: transactions of a control socket, dynamic updates.

A change is a list of (is_added, owner relative to the zone, type, data). A session sends one commit and hears of its end later, so that one
thread keeps many under way.
"""
import collections
import select
import socket
import time

import dns.rdata
import dns.rdatatype

from harness.control import BLOCK, CODES, DATA, END, EXTRA, unit

TTL = "3600"
REFUSED = "too many transactions"       # another session's transaction on this zone: try again


class ControlSession:
    """Transactions of Bowline or Knot DNS. commits_max: a new connection after so many; a server may serve one connection at a time."""

    def __init__(self, path, commits_max=1000):
        self.path, self.commits_max = str(path), commits_max
        self.sock, self.commits, self.left, self.blocks, self.error = None, 0, b"", 0, ""

    def _connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(600)
        end = time.monotonic() + 600
        while True:
            try:
                self.sock.connect(self.path)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.001)
        self.commits, self.left = 0, b""

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def fileno(self):
        return self.sock.fileno()

    def send(self, zone, change, begins=True, commits=True):
        """Send a transaction, or a part of one; the server answers each of its commands."""
        if self.sock is None:
            self._connect()
        self.commits += commits
        self.error = self.error if self.blocks > 0 else ""      # of those that are under way
        self.blocks += begins + len(change) + commits
        parts = [unit(cmd="zone-begin", zone=zone), BLOCK] if begins else []
        for is_added, owner, rdtype, data in change:
            if is_added:
                parts += [unit(cmd="zone-set", zone=zone, owner=owner, ttl=TTL, type=rdtype, data=data), BLOCK]
            else:
                parts += [unit(cmd="zone-unset", zone=zone, owner=owner, type=rdtype, **({"data": data} if data else {})), BLOCK]
        if commits:
            parts += [unit(cmd="zone-commit", zone=zone), BLOCK]
        self.sock.sendall(b"".join(parts) + (END if self.commits >= self.commits_max else b""))

    def take(self):
        """What has come. True if the commit is over: done if `error` is empty."""
        more = self.sock.recv(65536)
        if not more:
            self.error, self.blocks = self.error or "closed", 0
            self.close()
            return True
        data, at = self.left + more, 0
        while at < len(data) and self.blocks > 0:
            kind = data[at:at + 1]
            if kind == BLOCK:
                self.blocks -= 1
            if kind in (END, DATA, EXTRA, BLOCK):
                at += 1
                continue
            length = int.from_bytes(data[at + 1:at + 3], "big")
            if at + 3 + length > len(data):
                break
            if data[at] == CODES["error"] and not self.error:
                self.error = data[at + 3:at + 3 + length].decode(errors="replace")
            at += 3 + length
        self.left = data[at:]
        if self.blocks == 0 and (self.error or self.commits >= self.commits_max):
            self.close()        # Knot DNS ends a connection after an error
        return self.blocks == 0

    def room(self):
        """How many commits the connection still takes."""
        return self.commits_max - (self.commits if self.sock is not None else 0)


class UpdateSession:
    """Dynamic updates (RFC 2136) over UDP, or TCP where one is too large for that."""

    def __init__(self, address, port):
        self.address, self.port, self.error = address, port, ""
        self.sock, self.ident, self.sent = None, 0, b""

    def _connect(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.connect((self.address, self.port))
        self.sock.settimeout(600)

    def close(self):
        if self.sock is not None:
            self.sock.close()
            self.sock = None

    def fileno(self):
        return self.sock.fileno()

    def send(self, zone, change):
        if self.sock is None:
            self._connect()
        self.ident, self.error = (self.ident + 1) & 0xffff, ""
        self.sock.send(update_message(zone, change, self.ident))

    def take(self):
        reply = self.sock.recv(4096)
        if int.from_bytes(reply[:2], "big") != self.ident:
            return False
        if reply[3] & 15:
            self.error = f"rcode {reply[3] & 15}"
        return True

    @staticmethod
    def room():
        """One update is under way at a time."""
        return 1


def wire_name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.rstrip(".").split(".") if label) + b"\0"


def update_message(zone, change, ident):
    """The bytes of an update; those of the usual records are made here, as a library takes longer than the server."""
    update = b""
    for is_added, owner, rdtype, data in change:
        name = wire_name(f"{owner}.{zone}") if owner != "@" else wire_name(zone)
        code = int(dns.rdatatype.from_text(rdtype))
        if not is_added and not data:
            update += name + code.to_bytes(2, "big") + b"\0\xff" + b"\0\0\0\0\0\0"
            continue
        rdata = wire_name(data) if rdtype == "NS" else dns.rdata.from_text("IN", rdtype, data).to_wire()
        update += (name + code.to_bytes(2, "big") + (b"\0\1" + int(TTL).to_bytes(4, "big") if is_added else b"\0\xfe\0\0\0\0") +
                   len(rdata).to_bytes(2, "big") + rdata)
    return (ident.to_bytes(2, "big") + b"\x28\0" + b"\0\1\0\0" + len(change).to_bytes(2, "big") + b"\0\0" +
            wire_name(zone) + b"\0\6\0\1" + update)


def commit(session, zone, *many):
    """One commit, or some of one connection that are sent at once, waited for. Seconds until the last was acknowledged."""
    begin = time.monotonic()
    for change in many:
        session.send(zone, change)
    while not session.take():
        pass
    if session.error:
        raise RuntimeError(f"{zone}: {session.error}")
    return time.monotonic() - begin


def storm(sessions, zones, next_change, seconds):
    """Commits of many sessions for some seconds: (commits, seconds, refused). Session i changes zones[i % len(zones)].

    Where a zone takes one transaction at a time, the sessions that share it take turns.
    """
    turns, by_fd = {zone: collections.deque() for zone in zones}, {}
    for number, session in enumerate(sessions):
        turns[zones[number % len(zones)]].append(session)
    done = refused = 0
    epoll = select.epoll()

    def start(zone):
        session = turns[zone].popleft()
        session.send(zone, next_change(zone))
        if by_fd.get(session.fileno()) is None:
            epoll.register(session.fileno(), select.EPOLLIN)
        by_fd[session.fileno()] = (session, zone)

    begin = time.monotonic()
    with epoll:
        for zone, sharing in turns.items():
            for _ in range(1 if isinstance(sharing[0], ControlSession) else len(sharing)):
                start(zone)
        under_way = len(by_fd)
        while under_way:
            for fd, _ in epoll.poll(60):
                session, zone = by_fd[fd]
                if not session.take():
                    continue
                if session.sock is None:
                    del by_fd[fd]
                under_way -= 1
                if session.error == "":
                    done += 1
                elif session.error.startswith(REFUSED):
                    refused += 1
                else:
                    raise RuntimeError(f"{zone}: {session.error}")
                turns[zone].append(session)
                if time.monotonic() - begin < seconds:
                    start(zone)
                    under_way += 1
    return done, time.monotonic() - begin, refused


class Transaction:
    """A transaction of many records over a control socket, its commit apart from its changes."""

    SENT_AT_ONCE = 500      # the server's replies to so many fit into the socket's buffer

    def __init__(self, session, zone):
        self.session, self.zone = session, zone
        self._do([], begins=True)

    def _do(self, change, begins=False, commits=False):
        begin = time.monotonic()
        self.session.send(self.zone, change, begins, commits)
        while not self.session.take():
            pass
        if self.session.error:
            raise RuntimeError(f"{self.zone}: {self.session.error}")
        return time.monotonic() - begin

    def change(self, change):
        for at in range(0, len(change), self.SENT_AT_ONCE):
            self._do(change[at:at + self.SENT_AT_ONCE])

    def commit(self):
        return self._do([], commits=True)
