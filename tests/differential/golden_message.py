# SPDX-License-Identifier: BSD-2-Clause
"""UPDATE messages taken apart: without what differs between two runs, and with all names spelt out."""
import struct

# RDATA whose names are compressed (RFC 3597 4): names from an offset on, and how many.
COMPRESSED = {2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (0, 1), 6: (0, 2), 7: (0, 1), 8: (0, 1), 9: (0, 1), 12: (0, 1), 14: (0, 2), 15: (2, 1), 17: (0, 2),
              18: (2, 1), 21: (2, 1), 26: (2, 2), 33: (6, 1), 36: (2, 1), 39: (0, 1)}


def read_name(wire, at):
    """(labels in full, offset behind)."""
    name, behind = b"", None
    while True:
        length = wire[at]
        if length >= 0xC0:
            behind = behind or at + 2
            at = struct.unpack("!H", wire[at:at + 2])[0] & 0x3FFF
            continue
        name += wire[at:at + 1 + length]
        at += 1 + length
        if length == 0:
            return name, behind or at


def records(wire):
    """(section, owner, type, class, ttl, rdata in full, offset of rdata)."""
    counts = struct.unpack("!4H", wire[4:12])
    at = 12
    for section, count in enumerate(counts):
        for _ in range(count):
            owner, at = read_name(wire, at)
            kind, rrclass = struct.unpack("!HH", wire[at:at + 4])
            at += 4
            if section == 0:
                yield section, owner, kind, rrclass, 0, b"", at
                continue
            ttl, length = struct.unpack("!IH", wire[at:at + 6])
            at += 6
            yield section, owner, kind, rrclass, ttl, spelt_out(wire, kind, at, length), at
            at += length


def spelt_out(wire, kind, at, length):
    fixed, names = COMPRESSED.get(kind, (0, 0)) if length else (0, 0)
    data, end, pos = wire[at:at + fixed], at + length, at + fixed
    for _ in range(names):
        name, pos = read_name(wire, pos)
        data += name
    return data + wire[pos:end]


def masked(wire):
    """In hex, without ID, and without time, MAC and original ID of a TSIG."""
    wire = b"\0\0" + wire[2:]
    for section, _owner, kind, _class, _ttl, _rdata, at in records(wire):
        if kind == 250 and section == 3:
            _, time_at = read_name(wire, at)
            mac_len = struct.unpack("!H", wire[time_at + 8:time_at + 10])[0]
            mac_at = time_at + 10
            wire = wire[:time_at] + bytes(6) + wire[time_at + 6:mac_at] + bytes(mac_len + 2) + wire[mac_at + mac_len + 2:]
    return wire.hex()


def expanded(text):
    """A masked message with all names spelt out, in a line."""
    wire = bytes.fromhex(text)
    lines = [wire[:12].hex()]
    lines += [f"{section} {owner.hex()} {kind} {rrclass} {ttl} {rdata.hex()}" for section, owner, kind, rrclass, ttl, rdata, _ in records(wire)]
    return " | ".join(lines)
