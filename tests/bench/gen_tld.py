#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write a zone file like that of a TLD: delegations, DS, in-domain glue. The same arguments give the same bytes.

With the defaults a million delegations make 2.65 million records and about 109 MB.
"""
import argparse
import random
import sys

SYLLABLES = [c + v for c in "bcdfghjklmnprstvz" for v in "aeiou"]          # 85
SUFFIXES = ["", "", "", "", "", "", "24", "hub", "net", "-info"]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--delegations", type=int, default=1_000_000, metavar="N", help="[%(default)s]")
    parser.add_argument("--ds", type=float, default=0.2, metavar="F", help="share of delegations with a DS [%(default)s]")
    parser.add_argument("--glue", type=float, default=0.15, metavar="F",
                        help="share of delegations whose two servers are in-domain: two A, half of them two AAAA [%(default)s]")
    parser.add_argument("--ns", type=int, default=2, metavar="N", help="NS per delegation [%(default)s]")
    parser.add_argument("--providers", type=int, default=5000, metavar="N",
                        help="name server operators outside the zone [%(default)s]")
    parser.add_argument("--origin", default="example.", metavar="NAME", help="[%(default)s]")
    parser.add_argument("--serial", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--ttl", type=int, default=3600, metavar="S", help="[%(default)s]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--shuffle", action="store_true", help="owners in random order, not in canonical order")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="[standard output]")
    args = parser.parse_args()
    if not args.origin.endswith(".") or not 0 <= args.ds <= 1 or not 0 <= args.glue <= 1 or args.ns < 1:
        parser.error("--origin ends with a dot, --ds and --glue are 0..1, --ns is at least 1")
    return args


def labels(count, rng):
    """Unique labels: syllables spell a permutation of the indices, so the prefix alone is unique; suffixes vary the length."""
    digits = 4
    while len(SYLLABLES) ** digits < 2 * count:
        digits += 1
    space = len(SYLLABLES) ** digits
    factor = 0x9E3779B97F4A7C15 % space | 1
    while space % 5 == 0 and factor % 5 == 0 or space % 17 == 0 and factor % 17 == 0:   # 85 = 5 * 17: stay coprime
        factor += 2
    offset = rng.randrange(space)
    result = []
    for i in range(count):
        value = (i * factor + offset) % space
        text = SUFFIXES[rng.getrandbits(8) % len(SUFFIXES)]
        for _ in range(digits):
            value, digit = divmod(value, len(SYLLABLES))
            text = SYLLABLES[digit] + text
        result.append(text)
    return result


def header(args):
    ttl, origin = args.ttl, args.origin
    lines = [f"$ORIGIN {origin}", f"$TTL {ttl}",
             f"@ {ttl} IN SOA a.nic.{origin} hostmaster.nic.{origin} {args.serial} 1800 900 604800 3600"]
    for server in "abcd":
        lines.append(f"@ {ttl} IN NS {server}.nic.{origin}")
    for i, server in enumerate("abcd", 1):
        lines.append(f"{server}.nic {ttl} IN A 192.0.2.{i}")
        lines.append(f"{server}.nic {ttl} IN AAAA 2001:db8::{i}")
    return lines


def delegation(name, args, rng):
    ttl, bits, lines = args.ttl, rng.getrandbits(96), []
    if rng.random() < args.glue:
        with_aaaa = bits & 1
        for i in range(1, args.ns + 1):
            lines.append(f"{name} {ttl} IN NS ns{i}.{name}")
        for i in range(1, args.ns + 1):
            lines.append(f"ns{i}.{name} {ttl} IN A {bits >> 1 & 127 | 1}.{bits >> 8 & 255}.{bits >> 16 & 255}.{i}")
            if with_aaaa:
                lines.append(f"ns{i}.{name} {ttl} IN AAAA 2001:db8:{bits >> 24 & 0xffff:x}:{bits >> 40 & 0xffff:x}::{i:x}")
    else:
        provider = bits % args.providers
        for i in range(1, args.ns + 1):
            lines.append(f"{name} {ttl} IN NS ns{i}.h{provider}.net.")
    if rng.random() < args.ds:
        digest = f"{rng.getrandbits(256):064X}"
        lines.append(f"{name} {ttl} IN DS {bits >> 64 & 0xffff} 13 2 {digest}")
    return lines


def main():
    args = parse_args()
    rng = random.Random(args.seed)
    names = labels(args.delegations, rng)
    if args.shuffle:
        rng.shuffle(names)
    else:
        names.sort()
    out = sys.stdout if args.output == "-" else open(args.output, "w", encoding="ascii")
    batch = header(args)
    for name in names:
        batch += delegation(name, args, rng)
        if len(batch) > 20000:
            out.write("\n".join(batch) + "\n")
            batch = []
    out.write("\n".join(batch) + "\n" if batch else "")
    if out is not sys.stdout:
        out.close()


if __name__ == "__main__":
    main()
