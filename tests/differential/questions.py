# SPDX-License-Identifier: BSD-2-Clause
"""Questions about zones: all names and types, names that are just not there, names below cuts, every shape of request.

A question is (by TCP, message). Everything comes from the random generator that is passed in.
"""
import struct

TYPES = {
    "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "HINFO": 13, "MINFO": 14, "MX": 15, "TXT": 16, "RP": 17, "AFSDB": 18,
    "RT": 21, "KEY": 25, "AAAA": 28, "LOC": 29, "SRV": 33, "NAPTR": 35, "KX": 36, "CERT": 37, "DNAME": 39, "APL": 42, "DS": 43,
    "SSHFP": 44, "IPSECKEY": 45, "RRSIG": 46, "NSEC": 47, "DNSKEY": 48, "DHCID": 49, "NSEC3": 50, "NSEC3PARAM": 51, "TLSA": 52,
    "CDS": 59, "CDNSKEY": 60, "OPENPGPKEY": 61, "SVCB": 64, "HTTPS": 65, "SPF": 99, "NID": 104, "L32": 105, "L64": 106, "LP": 107,
    "EUI48": 108, "EUI64": 109, "ANY": 255, "URI": 256, "CAA": 257,
}
COMMON = ["A", "AAAA", "NS", "DS", "SOA", "MX", "TXT", "CNAME", "DNAME", "DNSKEY", "NSEC", "NSEC3PARAM", "RRSIG", "ANY", "HTTPS",
          "SRV", "PTR", "CDS", "CDNSKEY"]
SIZES = [512, 513, 700, 1000, 1220, 1232, 1400, 1452, 4096, 65535, 0, 100]


def number(rtype):
    return TYPES[rtype] if rtype in TYPES else int(rtype[4:])


def wire_name(text):
    out, label = b"", bytearray()
    position = 0
    if text == ".":
        return b"\0"
    while position < len(text):
        char = text[position]
        if char == "\\" and text[position + 1].isdigit():
            label.append(int(text[position + 1:position + 4]))
            position += 4
        elif char == "\\":
            label.append(ord(text[position + 1]))
            position += 2
        elif char == ".":
            out += bytes([len(label)]) + label
            label = bytearray()
            position += 1
        else:
            label.append(ord(char))
            position += 1
    return out + b"\0"


def is_possible(name):
    wire = wire_name(name)
    if len(wire) > 255:
        return False
    position = 0
    while wire[position]:
        if wire[position] > 63:
            return False
        position += wire[position] + 1
    return position == len(wire) - 1


def option(code, data=b""):
    return struct.pack("!HH", code, len(data)) + data


def opt(size=1232, do=False, version=0, options=b"", flags=0, rcode=0):
    return b"\0" + struct.pack("!HHBBHH", 41, size, rcode, version, (0x8000 if do else 0) | flags, len(options)) + options


def message(name, rtype, edns=None, flags=0, rclass=1, opcode=0):
    return struct.pack("!HHHHHH", 0, flags | opcode << 11, 1, 0, 0, edns is not None) + wire_name(name) + \
        struct.pack("!HH", rtype, rclass) + (edns or b"")


def mixed_case(rng, wire):
    end = wire.index(b"\0", 12) if 0 in wire[12:] else len(wire)
    return wire[:12] + bytes(c ^ 0x20 if (65 <= c <= 90 or 97 <= c <= 122) and rng.random() < 0.5 else c
                             for c in wire[12:end]) + wire[end:]


def dress(rng, name, rtype):
    """One question in a random but valid outfit."""
    edns = None
    if rng.random() < 0.75:
        options = option(3) if rng.random() < 0.05 else b""
        edns = opt(rng.choice(SIZES) if rng.random() < 0.5 else 1232, rng.random() < 0.65, options=options)
    flags = rng.choice([0, 0, 0, 0x0100, 0x0100, 0x0010, 0x0020, 0x0130, 0x0040])
    wire = message(name, number(rtype), edns, flags)
    if rng.random() < 0.1:
        wire = mixed_case(rng, wire)
    return rng.random() < 0.08, wire


def neighbours(rng, name, zone):
    """Names near one that exists: one letter further, shorter, below, above."""
    first, _, rest = name.partition(".")
    near = [f"x.{name}", f"*.{name}", f"a.b.{name}", f"{first}0.{rest}", f"{first[:-1]}.{rest}" if len(first) > 1 else f"0.{rest}",
            f"-{first}.{rest}", f"\\000.{name}", f"{first}\\000.{rest}"]
    while rest and rest != zone.name and rest.endswith(zone.name):
        near.append(rest)
        near.append(f"zz.{rest}")
        rest = rest.partition(".")[2]
    return [n for n in near if "\\" not in first and is_possible(n) and ".." not in n and not n.startswith(".")]


def of_zone(zone, rng, budget):
    """`budget` questions about one zone, each name of it at least once if the budget allows."""
    owners = sorted(zone.owners)
    result = []
    def ask(name, rtypes):
        for rtype in rtypes:
            result.append(dress(rng, name, rtype))
    ask(zone.name, COMMON)
    every = len(owners) * 12 <= budget
    while len(result) < budget:
        for owner in owners if every else rng.sample(owners, min(len(owners), 2000)):
            present = sorted(zone.owners[owner])
            if every:
                ask(owner, present)
            ask(owner, rng.sample(present, min(2, len(present))) + rng.sample(COMMON, 2))
            near = neighbours(rng, owner, zone)
            for name in rng.sample(near, min(len(near), 4)):
                ask(name, rng.sample(COMMON, 1 + (rng.random() < 0.5)))
            if len(result) >= budget:
                break
    return result


def hashed(zone_text, rng, count):
    """Owners of NSEC3 records themselves: they are not names of the zone (RFC 5155 7.2.8)."""
    owners = [line.split()[0] for line in zone_text.splitlines() if "\tNSEC3\t" in line or " NSEC3 " in line]
    owners = rng.sample(owners, min(len(owners), count))
    return [dress(rng, owner, rng.choice(["NSEC3", "A", "RRSIG", "ANY"])) for owner in owners]


def protocol(names, rng, count):
    """Requests whose form is unusual, about names that exist: each is valid or not by its form alone."""
    result = []
    both = lambda wire: result.extend([(False, wire), (True, wire)])  # noqa: E731
    for name in names[:3]:
        for opcode in range(16):
            both(message(name, 6, None, opcode=opcode))
            both(message(name, 6, opt(), opcode=opcode))
        for bit in (0x0400, 0x0200, 0x0080, 0x0040, 0x0020, 0x0010, 0x0001, 0x000f):
            both(message(name, 1, opt(), flags=bit))
        for rclass in (0, 2, 3, 4, 254, 255, 65535):
            both(message(name, 1, opt(), rclass=rclass))
            both(message(name, 255, None, rclass=rclass))
        for rtype in (0, 10, 41, 128, 245, 246, 247, 248, 249, 250, 251, 252, 253, 254, 255, 65280, 65535):
            both(message(name, rtype))
            both(message(name, rtype, opt(4096, True)))
        for version in (1, 2, 127, 255):
            both(message(name, 1, opt(version=version)))
            both(message(name, 1, opt(version=version, do=True, options=option(3))))
        for options in (option(3), option(3, b"abc"), option(8, b"\0\1\x18\0\xc0\0\2"), option(8, b"\0\1"), option(9), option(10, b"12345678"),
                        option(10, b"1234567"), option(10, b"1" * 24), option(11), option(11, b"\0\1"), option(12, b"\0" * 20), option(13, b"\0"),
                        option(14, b"\0\1"), option(15, b"\0\1"), option(16), option(65001, b"x" * 10), option(3) + option(3),
                        option(3) + option(10, b"12345678") + option(9)):
            both(message(name, 6, opt(options=options)))
        for size in (0, 1, 511, 512, 1231, 1232, 1233, 4096, 65535):
            both(message(name, 255, opt(size, True)))
        for flags in (0x4000, 0x0001, 0x7fff):
            both(message(name, 1, opt(flags=flags)))
        both(message(name, 1, opt(rcode=1)))
    for text in ("id.server.", "hostname.bind.", "version.bind.", "version.server.", "authors.bind.", "bind.", "server.", "x.id.server."):
        for rtype in (16, 255, 1):
            for edns in (None, opt()):
                both(message(text, rtype, edns, rclass=3))
                both(message(text, rtype, edns, rclass=1))
    plain = message(names[0], 1)
    with_opt = message(names[0], 1, opt(options=option(3)))
    def counts(wire, qd, an, ns, ar):
        return wire[:4] + struct.pack("!HHHH", qd, an, ns, ar) + wire[12:]
    malformed = [
        counts(plain, 0, 0, 0, 0), counts(plain, 0, 0, 0, 0)[:12], counts(plain, 2, 0, 0, 0), counts(plain + plain[12:], 2, 0, 0, 0),
        counts(plain, 1, 1, 0, 0), counts(plain, 1, 0, 1, 0), counts(plain, 1, 0, 0, 1), plain + b"\0", plain + b"trailing bytes",
        counts(with_opt + opt(), 1, 0, 0, 2), counts(with_opt, 1, 1, 0, 0), counts(with_opt, 1, 0, 1, 0),
        counts(plain + wire_name("a.") + opt()[1:], 1, 0, 0, 1), counts(plain + opt()[:-2] + b"\0\1", 1, 0, 0, 1),
        counts(plain + opt(options=b"\0\3\0\5abc"), 1, 0, 0, 1), counts(plain + opt(options=b"\0\3\0"), 1, 0, 0, 1),
        plain[:12] + b"\xc0\x0c" + plain[-4:], plain[:12] + b"\x41" + b"a" * 65 + b"\0" + plain[-4:], plain[:12] + b"\xc0\x00" + plain[-4:],
        plain[:12] + (b"\x3f" + b"a" * 63) * 4 + b"\0" + plain[-4:], plain[:12] + b"\1a" * 127 + b"\0" + plain[-4:],
        plain[:12] + b"\1a" * 128 + b"\0" + plain[-4:],
        counts(plain + b"\0" + struct.pack("!HHIH", 1, 1, 0, 4) + b"abcd", 1, 0, 0, 1),
        counts(plain + b"\0" + struct.pack("!HHIH", 1, 1, 0, 4) + b"abcd", 1, 1, 0, 0),
        counts(plain + b"\xc0\x0c" + struct.pack("!HHIH", 6, 1, 0, 0), 1, 0, 1, 0),
    ]
    malformed += [plain[:n] for n in range(12, len(plain))]
    malformed += [with_opt[:n] for n in range(len(plain) + 1, len(with_opt))]
    for wire in malformed:
        both(wire)
    while len(result) < count:
        wire = bytearray(rng.choice([plain, with_opt, message(rng.choice(names), rng.choice(list(TYPES.values())), opt(4096, True))]))
        for _ in range(rng.randint(1, 3)):
            wire[rng.randrange(2, len(wire))] ^= 1 << rng.randrange(8)
        result.append((rng.random() < 0.2, bytes(wire)))
    return result


def pack(questions, doubtful):
    """The file that `ask` reads. doubtful: of each question, whether no answer may be the right answer."""
    return b"".join(struct.pack("!BH", tcp | maybe << 1, len(wire)) + wire for (tcp, wire), maybe in zip(questions, doubtful))
