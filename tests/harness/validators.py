# SPDX-License-Identifier: BSD-2-Clause
"""Other programs' judgement of a signed zone: ldns-verify-zone, dnssec-verify, validns, and dnspython by way of zone_model.py.

Each version of a signed zone that a test sees goes through all four: complaint(). What one of them is known to get wrong is in EXCEPTIONS, with
its reason, and nowhere else.
"""
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import time

import dns.dnssec
import dns.name
import dns.rdatatype
import dns.zone

from .waiting import PATIENCE
from .zone_model import Judge

SECONDS = 5     # for one program and a test's zone; one that loops gets no more

# Types that validns doesn't know by name: it is given the form of RFC 3597 of their records, and in bitmaps and signatures.
KNOWN_TO_VALIDNS = set("A NS CNAME SOA MB MG MR PTR HINFO MINFO MX TXT RP AFSDB X25 RT NSAP PX AAAA LOC SRV NAPTR KX CERT DNAME DS SSHFP IPSECKEY RRSIG NSEC DNSKEY "
                       "DHCID NSEC3 NSEC3PARAM TLSA SPF NID L32 L64 LP".split())
RSA = {5, 7, 8, 10}


def algorithms(zone):
    """Of keys, of signatures, of delegations."""
    return {int(rdata.algorithm) for _, _, rdata in zone.iterate_rdatas() if rdata.rdtype in (dns.rdatatype.DNSKEY, dns.rdatatype.RRSIG, dns.rdatatype.DS)}


def always(_zone):
    return True


def has_other_than_rsa(zone):
    return bool(algorithms(zone) - RSA)


def has_eddsa(zone):
    return bool(algorithms(zone) & {15, 16})


def has_unpublished_keys(zone):
    known = {dns.dnssec.key_id(key) for key in zone.get_rdataset(zone.origin, "DNSKEY") or []}
    return any(rdata.key_tag not in known for _, _, rdata in zone.iterate_rdatas() if rdata.rdtype == dns.rdatatype.RRSIG)


def has_escapes(zone):
    return any("\\" in str(name) for name in zone.nodes)


def has_adt(zone):
    return any(key.flags & 2 for key in zone.get_rdataset(zone.origin, "DNSKEY") or [])


def is_root(zone):
    return zone.origin == dns.name.root


# (program, what it may say: a line, or "timeout"; of which zones; why).
EXCEPTIONS = [
    ("ldns-verify-zone", "timeout", always, "1.8 loops for ever on some zones with NSEC3 that all others find valid"),
    ("validns", r"error building pkey|RRSIG\(\S+\): cannot verify signature, reason unknown|No KSK found", has_other_than_rsa,
     "0.8, of 2016, makes keys of ECDSA in a way that OpenSSL 3 refuses; what isn't cryptography it checks all the same"),
    ("validns", "cannot find the right signer key", has_unpublished_keys,
     "where another algorithm begins or ends, there are signatures of keys that aren't in the DNSKEY set (RFC 6781 4.1.4): it wants each of them"),
    ("validns", "", has_escapes, "it reads a label with an escape as none"),
    ("validns", "", has_adt, "it passes over keys with a flag that it doesn't know, as ADT"),
    ("validns", "", is_root, "it takes no name as one of the root zone"),
    ("validns", r"bad or unsupported algorithm 1[56]|mentions (RRSIG|DNSKEY), but no such record|cannot find a signer key", has_eddsa, "it doesn't know EdDSA, and passes over its keys and signatures"),
]
# Programs that aren't asked about another time than now: {program: why}.
WITHOUT_TIME = {"dnssec-verify": "it has no option for that, and its jemalloc hangs under libfaketime 0.9.10, when one calls the other before it is ready"}


def is_excepted(program, line, zone):
    return any(program == name and re.search(pattern, line) and applies(zone) for name, pattern, applies, _ in EXCEPTIONS)


def rdata_for_validns(rdata):
    """An RDATA in the words of 2016."""
    if dns.rdatatype.to_text(rdata.rdtype) not in KNOWN_TO_VALIDNS:
        return rdata.to_generic().to_text()
    words = rdata.to_text().split(" ")
    first = {"NSEC": 1, "NSEC3": 5, "RRSIG": 0}.get(dns.rdatatype.to_text(rdata.rdtype))
    if first is not None:   # types: all that follow, or the one that is covered
        last = 1 if first == 0 else len(words)
        words[first:last] = [known_type(word) for word in words[first:last]]
    return " ".join(words)


def known_type(word):
    return word if word in KNOWN_TO_VALIDNS or word.startswith("TYPE") else f"TYPE{int(dns.rdatatype.from_text(word))}"


def write_for_validns(zone, path):
    """SOA first, with lines that validns reads."""
    rows = sorted(zone.iterate_rdatas(), key=lambda row: (row[2].rdtype != dns.rdatatype.SOA, row[0]))
    with open(path, "w", encoding="ascii") as out:
        for name, ttl, rdata in rows:
            out.write(f"{name}\t{ttl}\tIN\t{known_type(dns.rdatatype.to_text(rdata.rdtype))}\t{rdata_for_validns(rdata)}\n")


def commands(zone, path, for_validns, when):
    """{program: command}. when: UNIX time, or None."""
    origin = zone.origin.to_text()
    flags = {key.flags & 1 for key in zone.get_rdataset(zone.origin, "DNSKEY") or []}
    ldns = ["-t", time.strftime("%Y%m%d%H%M%S", time.gmtime(when))] if when else []
    return {
        "ldns-verify-zone": ["ldns-verify-zone", *ldns, str(path)],
        # -z: a key signs all that it signs, whatever its flags: where there are no others, it is a CSK.
        "dnssec-verify": ["dnssec-verify", "-q", *(["-z"] if flags == {1} else []), "-o", origin, str(path)],
        "validns": ["validns", "-z", origin, *(["-t", str(int(when))] if when else []), "-p", "cname-other-data", "-p", "dname", "-p", "nsec3param-not-apex",
                    str(for_validns)],
    }


def said_by(program, process, deadline):
    """The lines of a program that finds a fault; none if there is none."""
    try:
        out, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["timeout"]
    if process.returncode == 0:
        return []
    return [line for line in out.splitlines() if line.strip()] or [f"exit {process.returncode}"]


def is_asked(program, when):
    if shutil.which(program) is None:
        raise FileNotFoundError(f"{program} is not installed; run ./dev deps test")
    return when is None or program not in WITHOUT_TIME


def complaint(path, origin="example", when=None):
    """What the four find wrong in a zone file at a time (UNIX; None: now), or "". A file without a DNSKEY is wrong, too."""
    zone = dns.zone.from_file(str(path), origin=origin, relativize=False, check_origin=False)
    with tempfile.NamedTemporaryFile("w", prefix="validns-") as translated:
        write_for_validns(zone, translated.name)
        processes = {program: subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
                     for program, command in commands(zone, path, translated.name, when).items() if is_asked(program, when)}
        deadline = time.monotonic() + SECONDS
        lines = [("dnspython", fault) for fault in Judge(zone, when).judge()]
        for program, process in processes.items():
            lines += [(program, line) for line in said_by(program, process, deadline) if not is_excepted(program, line, zone)]
    return "".join(f"{program}: {line}\n" for program, line in lines)


def for_others(record):
    """A record as text in which DSYNC (RFC 9859) is a type of RFC 3597: of the four only we know it."""
    words = record.split(" ")
    if words[2] == "DSYNC":
        rdtype, scheme, port, target = words[3:7]
        wire = struct.pack("!HBH", dns.rdatatype.from_text(rdtype), 1 if scheme == "NOTIFY" else int(scheme), int(port)) + dns.name.from_text(target).to_wire()
        words[2:] = ["TYPE66", "\\#", str(len(wire)), wire.hex()]
    elif words[2] in ("NSEC", "NSEC3", "RRSIG"):
        words[3:] = ["TYPE66" if word == "DSYNC" else word for word in words[3:]]
    return " ".join(words)


def complaint_of(daemon):
    """The same of all zones with keys that a running daemon (server.py) serves."""
    lines = {}
    for line in daemon.knotc("zone-read", "--").stdout.splitlines():
        zone, record = re.match(r"\[(\S+)\] (.*)", line).groups()
        lines.setdefault(zone, []).append(for_others(record))
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        for zone, records in lines.items():
            if any(record.lower().startswith(f"{zone.lower()} ") and record.split()[2] == "DNSKEY" for record in records):
                path = pathlib.Path(folder) / "zone"
                path.write_text("\n".join(records) + "\n", encoding="utf-8")
                said += complaint(path, zone)
    return said
