# SPDX-License-Identifier: BSD-2-Clause
"""Reads pcapng files as the format's specification says; shares nothing with what writes them."""
import collections
import struct

Packet = collections.namedtuple("Packet", "interface direction time_ns length data")
SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
DIRECTIONS = {1: "in", 2: "out"}


class Capture:
    """interfaces: [{"name", "snaplen", "filter"}], packets, statistics: {name: {"captured", "dropped"}}.

    Raises ValueError for bytes that aren't whole blocks.
    """

    def __init__(self, data):
        self.interfaces, self.packets, self.statistics, self.application = [], [], {}, None
        pos = 0
        while pos < len(data):
            if len(data) - pos < 12:
                raise ValueError(f"{len(data) - pos} bytes behind the last block")
            kind, length = struct.unpack_from("<II", data, pos)
            if length % 4 or length < 12 or length > len(data) - pos or struct.unpack_from("<I", data, pos + length - 4)[0] != length:
                raise ValueError(f"block of type {kind:#x} at {pos} has length {length}")
            if (pos == 0) != (kind == SECTION):
                raise ValueError(f"block of type {kind:#x} at {pos}")
            self._block(kind, data[pos + 8:pos + length - 4])
            pos += length

    @classmethod
    def of(cls, path):
        with open(path, "rb") as file:
            return cls(file.read())

    @staticmethod
    def _options(data):
        options, pos = {}, 0
        while pos < len(data):
            code, length = struct.unpack_from("<HH", data, pos)
            if code == 0:
                break
            options[code] = data[pos + 4:pos + 4 + length]
            pos += 4 + (length + 3) // 4 * 4
        return options

    def _block(self, kind, body):
        if kind == SECTION:
            magic, major = struct.unpack_from("<IH", body)
            if (magic, major) != (0x1A2B3C4D, 1):
                raise ValueError(f"magic {magic:#x}, version {major}")
            self.application = self._options(body[16:]).get(4, b"").decode()
        elif kind == INTERFACE:
            link, _, snaplen = struct.unpack_from("<HHI", body)
            options = self._options(body[8:])
            if link != 1 or options[9] != b"\x09":
                raise ValueError(f"link type {link}, resolution {options.get(9)}")
            expression = options.get(11)
            self.interfaces.append({"name": options[2].decode(), "snaplen": snaplen,
                                    "filter": expression[1:].decode() if expression else None})
        elif kind == PACKET:
            number, high, low, kept, length = struct.unpack_from("<IIIII", body)
            options = self._options(body[20 + (kept + 3) // 4 * 4:])
            self.packets.append(Packet(self.interfaces[number]["name"], DIRECTIONS[struct.unpack("<I", options[2])[0]],
                                       high << 32 | low, length, body[20:20 + kept]))
        elif kind == STATISTICS:
            options = self._options(body[12:])
            captured, dropped = (struct.unpack("<Q", options[code])[0] for code in (6, 7))
            self.statistics[self.interfaces[struct.unpack_from("<I", body)[0]]["name"]] = {"captured": captured, "dropped": dropped}
