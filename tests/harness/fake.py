# SPDX-License-Identifier: BSD-2-Clause
"""A server over TCP whose answers a test makes."""
import socket
import struct
import threading

import dns.message


class FakeServer:
    """answer(query) returns a message, or None: the connection is closed. `asked` has the queries."""

    def __init__(self, answer, keyring=None):
        self.answer, self.keyring, self.asked = answer, keyring, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, client.makefile("rwb") as stream:
            try:
                while len(size := stream.read(2)) == 2:
                    query = dns.message.from_wire(stream.read(struct.unpack("!H", size)[0]), keyring=self.keyring)
                    self.asked.append(query)
                    reply = self.answer(query)
                    if reply is None:
                        return
                    wire = reply.to_wire()
                    stream.write(struct.pack("!H", len(wire)) + wire)
                    stream.flush()
            except OSError:
                pass

    def stop(self):
        self.listener.close()
