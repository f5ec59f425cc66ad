# SPDX-License-Identifier: BSD-2-Clause
"""A server that knows nothing but the command `top`: its counts are given, so what knotc makes of them is known beforehand."""
import contextlib
import socket
import threading

from .control import BLOCK, Client, item
from .waiting import PATIENCE

ZONE_ITEMS = {"section": 0x13, "item": 0x14, "id": 0x15, "data": 0x1A, "error": 0x12}


def unit(section, key, value, sub=None):
    made = b"\x01" + item(ZONE_ITEMS["section"], section)
    if sub is not None:
        made += item(ZONE_ITEMS["item"], sub)
    return made + item(ZONE_ITEMS["id"], key) + item(ZONE_ITEMS["data"], str(value))


def refusal(text):
    return b"\x01" + item(ZONE_ITEMS["error"], text)


class TopServer:
    """replies(number) gives the bytes of the units of the number-th reply; None: the connection is closed instead."""

    def __init__(self, path, replies):
        self.path, self.replies, self.asked = str(path), replies, 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(5)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                stream, _ = self.socket.accept()
                with stream, contextlib.suppress(OSError):
                    self._talk(stream)

    def _talk(self, stream):
        stream.settimeout(60 * PATIENCE)
        peer = Client.of(stream)
        while ("end", {}) not in peer.block():
            reply = self.replies(self.asked)
            self.asked += 1
            if reply is None:
                return
            peer.send(reply, BLOCK)

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(5 * PATIENCE)
