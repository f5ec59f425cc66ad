# SPDX-License-Identifier: BSD-2-Clause
"""Zones that were made to keep a validator or a signer busy, or to break it, as a primary may send them. None of them is served with
`dnssec-validation`, a signer makes a valid zone of each, an honest zone beside them comes at once, and what all cost is bounded."""
import base64
import os
import random
import re
import struct
import time

import pytest

from harness.validators import complaint
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.core]

SOA = "@ 60 SOA ns admin 10 3600 3600 864000 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n"


def base64_of(data):
    return base64.b64encode(data).decode()


def tag_of(rdata):
    total = sum(octet if number & 1 else octet << 8 for number, octet in enumerate(rdata))
    return (total + (total >> 16)) & 0xFFFF


def signature(owner, rdtype, labels, algorithm, tag, data, earlier=0):
    def stamp(seconds):
        return time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() + seconds))
    return f"{owner} 60 RRSIG {rdtype} {algorithm} {labels} 60 {stamp(5 * 86400)} {stamp(-3600 - earlier)} {tag} bad. {base64_of(data)}\n"


def chain(**types):
    """NSEC records of the apex, `ns` and other names, so that a validator goes on to signatures; types of each, but NSEC."""
    types = {"@": "NS SOA DNSKEY RRSIG", "ns": "A RRSIG"} | types
    names = sorted(types, key=lambda name: "" if name == "@" else name)
    return "".join(f"{name} 60 NSEC {behind if behind != '@' else 'bad.'} {types[name]} NSEC\n" for name, behind in zip(names, names[1:] + names[:1]))


def keys_of_one_tag(count):
    """Ed25519: any 32 octets are a key."""
    head, keys = struct.pack(">HBB", 257, 3, 15), []
    while len(keys) < count:
        body = os.urandom(30)
        key = body + struct.pack(">H", (4711 - tag_of(head + body)) % 0xFFFF)
        keys += [key] if tag_of(head + key) == 4711 else []
    return keys


def keytrap():
    """CVE-2023-50387: many keys of one tag, and as many signatures of each set."""
    sets = (("@", "DNSKEY", 2), ("@", "SOA", 2), ("@", "NS", 2), ("ns", "A", 3))
    return "".join(f"@ 60 DNSKEY 257 3 15 {base64_of(key)}\n" for key in keys_of_one_tag(300)) + \
        "".join(signature(*place, 15, 4711, os.urandom(64), number) for place in sets for number in range(300)) + chain()


def many_keys():
    """More than a counter of 16 bits has room for."""
    return "".join(f"@ 60 DNSKEY 257 3 15 {base64_of(struct.pack('>I28x', number))}\n" for number in range(66000)) + chain(**{"@": "NS SOA DNSKEY", "ns": "A"})


def many_signatures():
    """A large set with as many signatures: each would hash all of it."""
    key = os.urandom(32)
    tag = tag_of(struct.pack(">HBB", 256, 3, 15) + key)
    return f"@ 60 DNSKEY 256 3 15 {base64_of(key)}\n" + "".join(f'big 60 TXT "{number:05}{"x" * 240}"\n' for number in range(12000)) + \
        "".join(signature("big", "TXT", 3, 15, tag, struct.pack(">I60x", number), number) for number in range(12000)) + \
        chain(**{"@": "NS SOA DNSKEY", "ns": "A"}, big="TXT RRSIG")


def slow_keys():
    """RSA with exponents as long as the modulus."""
    key = b"\0" + struct.pack(">H", 384) + b"\xff" * 384 + b"\xfe" + os.urandom(382) + b"\1"
    tag = tag_of(struct.pack(">HBB", 257, 3, 8) + key)
    return f"@ 60 DNSKEY 257 3 8 {base64_of(key)}\n" + \
        "".join(signature(f"n{number}", "A", 3, 8, tag, b"\1" + os.urandom(383)) + f"n{number} 60 A 192.0.2.1\n" for number in range(300)) + \
        chain(**{"@": "NS SOA DNSKEY", "ns": "A"}, **{f"n{number}": "A RRSIG" for number in range(300)})


def iterations():
    """As many hashes of each name as there can be."""
    hashes = sorted(base64.b32hexencode(random.randbytes(20)).decode().lower() for _ in range(1000))
    return "@ 60 NSEC3PARAM 1 0 65535 -\n" + f"@ 60 DNSKEY 257 3 15 {base64_of(os.urandom(32))}\n" + \
        "".join(f"{one} 60 NSEC3 1 0 65535 - {behind} A RRSIG\n" for one, behind in zip(hashes, hashes[1:] + hashes[:1])) + \
        "".join(f"n{number} 60 A 192.0.2.1\n" for number in range(1000))


def many_types():
    """A name with very many sets, and a signature of each by a tag that may be anybody's."""
    return "".join(f"types 60 TYPE{number} \\# 1 00\n" + signature("types", f"TYPE{number}", 3, 15, 4711, b"\0" * 64) for number in range(1000, 9000)) + \
        f"@ 60 DNSKEY 257 3 15 {base64_of(keys_of_one_tag(1)[0])}\n"


HOSTILE = {made.__name__.replace("_", ""): made for made in (keytrap, many_keys, many_signatures, slow_keys, iterations, many_types)}


def cpu_s(daemon):
    with open(f"/proc/{daemon.process.pid}/stat", encoding="ascii") as status:
        fields = status.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(make_knotd, items, more=""):
    """A server with all of them and an honest zone."""
    daemon = make_knotd()
    (daemon.dir / "db").mkdir()
    for name, made in HOSTILE.items():
        daemon.write(f"{name}.zone", f"$ORIGIN {name}.bad.\n" + SOA + made().replace(" bad. ", f" {name}.bad. "))
    daemon.write("honest.zone", "$ORIGIN honest.\n" + SOA)
    daemon.configure("acl:\n  - id: all\n    address: 127.0.0.0/8\n    action: transfer\n" + more +
                     f"template:\n  - id: default\n    storage: {daemon.dir}\n    semantic-checks: soft\n    acl: all\n    zonefile-sync: -1\nzone:\n" +
                     "".join(f"  - domain: {name}.bad\n    file: {name}.zone\n" + "".join(f"    {item}\n" for item in items) for name in HOSTILE) +
                     "  - domain: honest\n    file: honest.zone\n", server="background-workers: 2")
    daemon.start()
    daemon.wait(lambda: daemon.ask("honest", "SOA").answer, 20, "the honest zone")
    return daemon


def test_validator(make_knotd):
    """Refused, each with its reason, by some seconds of CPU time."""
    daemon = start(make_knotd, ["dnssec-validation: on"])

    def missing():
        return [name for name in HOSTILE if not re.search(rf"\[{name}\.bad\.\] .*DNSSEC, validation failed \(", daemon.log())]
    wait_until(lambda: not missing(), lambda: f"an end of {missing()}\n{daemon.log()[-3000:]}", 60)
    used_s = cpu_s(daemon)
    print(f"{used_s:.1f} s of CPU time")
    for name in HOSTILE:
        assert not daemon.ask(f"{name}.bad", "SOA").answer, name
    for name, reason in (("keytrap", "many keys with equal keytag"), ("slowkeys", "invalid public key"), ("iterations", "missing or wrong NSEC3PARAM record")):
        assert f"[{name}.bad.] DNSSEC, validation failed ({reason})" in daemon.log()
    assert used_s < 10 * PATIENCE


def test_signer(make_knotd):
    """What is hostile is made right by signing."""
    daemon = start(make_knotd, ["dnssec-signing: on", "dnssec-policy: p"], "policy:\n  - id: p\n    signing-threads: 1\n")
    for name in HOSTILE:
        daemon.wait(lambda zone=f"{name}.bad": daemon.ask(zone, "SOA").answer, 60, f"{name}, signed")
    used_s = cpu_s(daemon)
    print(f"{used_s:.1f} s of CPU time")
    assert used_s < 20 * PATIENCE
    records = [line.split("] ", 1)[1] for line in daemon.knotc("zone-read", "keytrap.bad").stdout.splitlines()]
    daemon.write("signed", "\n".join(records) + "\n")
    fault = complaint(daemon.dir / "signed", "keytrap.bad")
    assert not fault, fault
    daemon.stop()       # others take validators minutes
