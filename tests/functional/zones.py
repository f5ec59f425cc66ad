# SPDX-License-Identifier: BSD-2-Clause
"""Zone texts that several tests use."""

EXAMPLE = """\
$ORIGIN example.
$TTL 3600
@       SOA   ns1 admin {serial} 3600 600 86400 300
        NS    ns1
        NS    ns2.example.
        MX    10 mail
ns1     A     192.0.2.53
        AAAA  2001:db8::53
ns2     A     192.0.2.54
mail    A     192.0.2.25
www     A     192.0.2.80
        AAAA  2001:db8::80
version TXT   "{serial}"
*.wild  TXT   "wild"
a.b.c   A     192.0.2.3
alias   CNAME www
far     CNAME www.elsewhere.
tree    DNAME other.example.
x.other A     192.0.2.4
sub     NS    ns.sub
ns.sub  A     192.0.2.99
big     TXT   {big}
"""


def example(serial=1):
    """A small zone that has a bit of everything; `version TXT` says which one it is; `big TXT` is over 4 kB."""
    big = "\n        TXT   ".join(f'"{n:03d}{"x" * 200}"' for n in range(30))
    return EXAMPLE.format(serial=serial, big=big)


def many(origin, count, serial=1):
    """A zone of `count` names hN, each with an A record, and `version TXT` as above."""
    lines = [f"$ORIGIN {origin}", "$TTL 60", f"@ SOA ns1 admin {serial} 3600 600 86400 60", "@ NS ns1",
             "ns1 A 192.0.2.1", f'version TXT "{serial}"']
    lines += [f"h{n} A 10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(count)]
    return "\n".join(lines) + "\n"
