# SPDX-License-Identifier: BSD-2-Clause
"""A scripted DNS server over UDP on loopback: says exactly what a test wants, query by query."""
import contextlib
import socket
import threading

import dns.flags
import dns.message
import dns.rrset

SO_RCVBUFFORCE = 33     # Python has no name for it


def answer_with(address):
    """Reply to a query with one A record of its name."""
    def reply(query):
        response = dns.message.make_response(query)
        response.flags |= dns.flags.AA
        response.answer = [dns.rrset.from_text(query.question[0].name, 60, "IN", "A", address)]
        return response
    return reply


class Responder:
    """Calls `script(number, query, wire)` for each query, from 1; it gives the replies: (wire, seconds later) each."""

    def __init__(self, script):
        self.script, self.count = script, 0
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        except PermissionError:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.sock.bind(("127.0.0.1", 0))
        self.sock.settimeout(0.1)
        self.port = self.sock.getsockname()[1]
        self.is_over = False
        self.timers = []
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def _send(self, wire, client):
        with contextlib.suppress(OSError):
            self.sock.sendto(wire, client)

    def _serve(self):
        while not self.is_over:
            try:
                wire, client = self.sock.recvfrom(4096)
            except TimeoutError:
                continue
            self.count += 1
            for reply, later in self.script(self.count, dns.message.from_wire(wire), wire):
                if later == 0:
                    self._send(reply, client)
                else:
                    self.timers.append(threading.Timer(later, self._send, (reply, client)))
                    self.timers[-1].start()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for timer in self.timers:
            timer.cancel()
        self.sock.close()
