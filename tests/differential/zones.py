# SPDX-License-Identifier: BSD-2-Clause
"""Zones for the differential test, each made from a seed, and signed with the distribution's tools.

A zone is a list of (owner, type, rdata) with owners relative to nothing ("www.example."); the zone's file is written
from it and the questions are asked from it. Signed zones are kept between runs in a cache that is named after this
file's contents and the seed.
"""
import fcntl
import hashlib
import os
import pathlib
import random
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

TTL = 3600
INCEPTION, EXPIRATION = "20250101000000", "20440101000000"


class Zone:
    """Records of one zone and how it is to be signed: None, "nsec", "nsec3" or "optout"."""

    def __init__(self, name, signing=None, nsec3=("0", "-"), kind=""):
        self.name = name
        self.signing = signing
        self.nsec3 = nsec3          # iterations, salt
        self.kind = kind or name.rstrip(".") or "root"
        self.records = []
        self.owners = {}            # owner: set of types
        self.cuts = set()

    def under(self, label):
        return label + "." + self.name if self.name != "." else label + "."

    def add(self, owner, rtype, rdata, ttl=TTL):
        self.records.append((owner, ttl, rtype, rdata))
        self.owners.setdefault(owner, set()).add(rtype)
        if rtype == "NS" and owner != self.name:
            self.cuts.add(owner)

    def apex(self, *servers, serial=2025010101, minimum=900):
        self.add(self.name, "SOA", f"{servers[0]} admin.{self.name if self.name != '.' else ''} {serial} 7200 3600 1209600 {minimum}")
        for server in servers:
            self.add(self.name, "NS", server)

    def text(self):
        return "".join(f"{o}\t{ttl}\tIN\t{t}\t{r}\n" for o, ttl, t, r in self.records)

    def file_name(self):
        return (self.name.rstrip(".") or "root") + ".zone"


def address4(rng):
    return f"{rng.randint(1, 223)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"


def address6(rng):
    return f"2001:db8:{rng.randint(0, 0xffff):x}::{rng.randint(1, 0xffff):x}"


def ds(rng, digest=2):
    length = {1: 20, 2: 32, 4: 48}[digest]
    return f"{rng.randint(0, 65535)} 13 {digest} {rng.getrandbits(length * 8):0{length * 2}X}"


def word(rng, low=3, high=12):
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(rng.randint(low, high)))


def tld(name, count, rng, signing=None):
    """Delegations as a registry has them: most to hosting companies' servers, some with glue of their own."""
    zone = Zone(name, signing)
    zone.apex(f"a.nic.{name}", f"b.nic.{name}", "ns.elsewhere.")
    for label in "ab":
        zone.add(f"{label}.nic.{name}", "A", address4(rng))
        zone.add(f"{label}.nic.{name}", "AAAA", address6(rng))
    hosts = [f"ns{n}.host{h}.{name}" for h in range(count // 100 + 2) for n in (1, 2)]
    outside = [f"ns{n}.dns{h}.net." for h in range(20) for n in (1, 2)]
    children = sorted({f"{word(rng)}.{name}" for _ in range(count)})
    for host in {h.split(".", 1)[1] for h in hosts}:
        zone.add(host, "NS", f"ns1.{host}")
        zone.add(host, "NS", f"ns2.{host}")
    for host in hosts:
        zone.add(host, "A", address4(rng))
        if rng.random() < 0.5:
            zone.add(host, "AAAA", address6(rng))
    for child in children:
        if child in zone.owners:
            continue
        kind = rng.random()
        if kind < 0.5:
            pool = rng.sample(outside, 2)
        elif kind < 0.85:
            pool = rng.sample(hosts, rng.randint(1, 4))
        else:
            pool = [f"ns{n}.{child}" for n in range(1, rng.randint(2, 4))]
            for host in pool:
                zone.add(host, "A", address4(rng))
                if rng.random() < 0.5:
                    zone.add(host, "AAAA", address6(rng))
            if rng.random() < 0.3:
                pool.append(rng.choice(outside))
        for host in pool:
            zone.add(child, "NS", host)
        if signing and rng.random() < 0.3:
            for _ in range(rng.randint(1, 2)):
                zone.add(child, "DS", ds(rng))
    return zone


def root(count, rng):
    """A thousand top-level domains, most with servers named in other top-level domains."""
    zone = Zone(".", "nsec", kind="root")
    zone.apex(*[f"{l}.root-servers.net." for l in "abcdef"])
    names = sorted({word(rng, 2, 8) + "." for _ in range(count)} | {"net.", "com.", "org."})
    glue = set()
    for name in names:
        for n in range(rng.randint(2, 6)):
            host = f"{'abcdef'[n]}.nic.{name}" if rng.random() < 0.6 else f"{'abcdef'[n]}.gtld-servers.{rng.choice(names)}"
            if ("NS", host) in {(t, r) for o, _, t, r in zone.records[-8:] if o == name}:
                continue
            zone.add(name, "NS", host)
            glue.add(host)
        if rng.random() < 0.9:
            zone.add(name, "DS", ds(rng))
    for host in sorted(glue):
        zone.add(host, "A", address4(rng))
        if rng.random() < 0.9:
            zone.add(host, "AAAA", address6(rng))
    for l in "abcdef":
        zone.add(f"{l}.root-servers.net.", "A", address4(rng))
    return zone


# Every type with RDATA of its own shape; types that a peer does not know by name are written as RFC 3597 has it.
ALL_TYPES = [
    ("A", "192.0.2.1"), ("AAAA", "2001:db8::1"), ("HINFO", '"cpu" "os"'), ("MINFO", "rmail.{z} emailbx.{z}"),
    ("MX", "10 mx1.{z}"), ("TXT", '"one" "two" "\\"three\\\\"'), ("RP", "admin.{z} text.{z}"), ("AFSDB", "1 afs.{z}"),
    ("RT", "10 relay.{z}"), ("KEY", "256 3 13 AAECAwQFBgcICQoLDA0ODw=="), ("LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m"),
    ("SRV", "0 5 5060 sip.{z}"), ("NAPTR", '100 50 "s" "z3950+I2L+I2C" "" _z3950._tcp.{z}'), ("KX", "10 kx.{z}"),
    ("CERT", "1 12179 3 AQNMgU8J2Ckv"), ("APL", "1:192.168.32.0/21 !1:192.168.38.0/28"), ("SSHFP", "2 1 123456789ABCDEF67890123456789ABCDEF67890"),
    ("IPSECKEY", "10 1 2 192.0.2.38 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ=="), ("DHCID", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="),
    ("TLSA", "0 0 1 D2ABDE240D7CD3EE6B4B28C54DF034B97983A1D16E8A410E4561CB106618E971"), ("OPENPGPKEY", "mQINBFit2jsBEADrbl5vjVxYeAE0g0IDYCBpHirv1Sjlqxx5"),
    ("SPF", '"v=spf1 -all"'), ("NID", "10 1014:4fff:ff20:ee64"), ("L32", "10 10.1.2.0"), ("L64", "10 2001:1DB8:1140:1000"),
    ("LP", "10 l64.{z}"), ("EUI48", "00-00-5e-00-53-2a"), ("EUI64", "00-00-5e-ef-10-00-00-2a"), ("URI", '10 1 "ftp://ftp1.example.com/public"'),
    ("CAA", '0 issue "ca.example.net"'), ("PTR", "target.{z}"), ("SVCB", "1 svc.{z} alpn=h2,h3 port=8443"), ("HTTPS", "1 . alpn=h2"),
    ("TYPE53", "\\# 4 00010203"), ("TYPE262", "\\# 3 026161"), ("TYPE261", "\\# 4 03616263"), ("TYPE65280", "\\# 5 0102030405"), ("TYPE19", "\\# 5 0431323334"),
    ("TYPE20", "\\# 4 03616263"),
]
NEW_TYPES = ("TYPE261", "TYPE262", "TYPE19", "TYPE20")


def odd(name, rng, signing=None, nsec3=("3", "AABBCCDD")):
    """Everything unusual in one zone."""
    z = name
    zone = Zone(name, signing, nsec3)
    zone.apex(f"ns1.{z}", f"ns.other.{z}", "outside.")
    zone.add(z, "MX", f"10 mx1.{z}")
    zone.add(z, "TXT", '"apex"')
    add = lambda label, rtype, rdata: zone.add(f"{label}.{z}", rtype, rdata)  # noqa: E731
    add("ns1", "A", "192.0.2.53")
    add("ns1", "AAAA", "2001:db8::53")
    add("ns.other", "A", "192.0.2.54")
    for n, (rtype, rdata) in enumerate(ALL_TYPES):
        if signing and rtype in NEW_TYPES:
            continue                    # the signer writes their names, which not every server reads
        add("types", rtype, rdata.replace("{z}", z))
        add(f"t{n}", rtype, rdata.replace("{z}", z))
    for host in ("mx1", "afs", "relay", "sip", "kx", "svc", "target", "l64"):
        add(host, "A", address4(rng))
        if host != "relay":
            add(host, "AAAA", address6(rng))
    # Additional data: targets inside, outside, below cuts, at wildcards, at CNAMEs.
    for n, target in enumerate(["mx1", "gone", "cname1", "in.wild1", "host.cut1", "deep.ent"]):
        add("mxs", "MX", f"{n} {target}.{z}")
        add(f"srv{n}", "SRV", f"0 0 53 {target}.{z}")
        add(f"svcb{n}", "SVCB", f"1 {target}.{z}")
        add(f"https{n}", "HTTPS", f"0 {target}.{z}")
    add("mxs", "MX", "20 elsewhere.")
    add("https-alias", "HTTPS", f"0 https0.{z}")
    # Empty non-terminals.
    add("deep.ent", "A", "192.0.2.10")
    add("a.b.c.d.e", "TXT", '"five deep"')
    add("x.b.c.d.e", "TXT", '"and its sibling"')
    # Wildcards: plain, below an empty non-terminal, beside names, with every kind of answer.
    add("*.wild1", "A", "192.0.2.11")
    add("*.wild1", "MX", f"10 mx1.{z}")
    add("host.wild1", "TXT", '"not the wildcard"')
    add("below.ent.wild1", "TXT", '"ent.wild1 exists, so no wildcard"')
    add("*.wild2", "CNAME", f"target.{z}")
    add("*.wild3", "CNAME", f"x.wild1.{z}")
    add("*.wild4", "CNAME", f"y.wild4.{z}")            # to itself
    add("*.ent.wild5", "A", "192.0.2.12")
    add("*", "TXT", '"the apex wildcard"') if signing is None else None
    add("*.*.stars", "A", "192.0.2.13")
    add("sub.*.stars2", "A", "192.0.2.14")              # an asterisk that is an empty non-terminal
    add("*.wildcname", "CNAME", "outside.elsewhere.")
    # CNAME chains: short, over ten, to nothing, to nodata, in a loop, out, into a cut, into a DNAME.
    add("cname1", "CNAME", f"target.{z}")
    for n in range(1, 24):
        add(f"chain{n}", "CNAME", f"chain{n + 1}.{z}")
    add("chain24", "A", "192.0.2.24")
    add("cname-gone", "CNAME", f"gone.ent.{z}")
    add("cname-ent", "CNAME", f"ent.{z}")
    add("cname-self", "CNAME", f"cname-self.{z}")
    add("cname-a", "CNAME", f"cname-b.{z}")
    add("cname-b", "CNAME", f"cname-a.{z}")
    add("cname-out", "CNAME", "www.elsewhere.")
    add("cname-cut", "CNAME", f"www.cut1.{z}")
    add("cname-cut-itself", "CNAME", f"cut1.{z}")
    add("cname-dname", "CNAME", f"deep.dname1.{z}")
    add("cname-wild", "CNAME", f"q.wild1.{z}")
    add("cname-apex", "CNAME", z)
    # DNAME: inside, outside, to a wildcard, chained, in a loop, to a name so long that YXDOMAIN comes.
    add("dname1", "DNAME", f"ent.{z}")
    add("dname1", "TXT", '"beside a DNAME"')
    add("dname2", "DNAME", "elsewhere.")
    add("dname3", "DNAME", f"wild1.{z}")
    add("dname4", "DNAME", f"dname1.{z}")
    add("dname5", "DNAME", f"dname6.{z}")
    add("dname6", "DNAME", f"dname5.{z}")
    add("dname7", "DNAME", f"{'x' * 60}.{'y' * 60}.{'z' * 60}.{z}")
    add("dname8", "DNAME", f"cut1.{z}")
    add("dname-self.below", "DNAME", f"below.{z}")
    add("dname-root", "DNAME", ".")
    # Cuts: glue inside, in a sibling zone, none, secure and not, deep, with data hidden below, at several levels.
    add("cut1", "NS", f"ns1.cut1.{z}")
    add("cut1", "NS", f"ns1.cut2.{z}")
    add("ns1.cut1", "A", "192.0.2.61")
    add("ns1.cut1", "AAAA", "2001:db8::61")
    add("host.cut1", "A", "192.0.2.62")
    add("cut2", "NS", f"ns1.cut2.{z}")
    add("cut2", "NS", f"ns.sub.cut1.{z}")
    add("ns1.cut2", "A", "192.0.2.63")
    add("ns.sub.cut1", "A", "192.0.2.64")
    add("cut3", "NS", "ns.elsewhere.")
    add("cut4", "NS", f"ns1.{z}")
    add("cut4", "DS", ds(rng))
    add("cut4", "DS", ds(rng, 4))
    add("cut5.p.q.r", "NS", f"ns1.cut5.p.q.r.{z}")
    add("ns1.cut5.p.q.r", "A", "192.0.2.65")
    add("cut5.p.q.r", "DS", ds(rng, 1))
    for n in range(13):
        add("cut6", "NS", f"server-with-a-long-name-{n}.cut6.{z}")
        add(f"server-with-a-long-name-{n}.cut6", "A", address4(rng))
        add(f"server-with-a-long-name-{n}.cut6", "AAAA", address6(rng))
    add("cut7", "NS", f"q.wild1.{z}")                   # glue would come from a wildcard
    add("cut8", "NS", f"cut8.{z}")                      # server is named like the cut
    add("cut8", "A", "192.0.2.68")
    add("below.cut9", "NS", f"ns.below.cut9.{z}")       # a cut below a cut
    add("cut9", "NS", f"ns.below.cut9.{z}")
    add("ns.below.cut9", "A", "192.0.2.69")
    add("cut10", "NS", f"cname1.{z}")                   # server is an alias: forbidden, but seen
    add("cut11", "NS", "ns.other-zone-of-ours.")
    # Labels with every kind of byte, long names, many records, sizes about the limits.
    add("\\000\\255\\.x", "A", "192.0.2.70")
    add("UPPER.Case", "A", "192.0.2.71")
    add("CNAME.Case", "CNAME", f"Upper.cASE.{z}")
    add(".".join(["a" * 60] * 3), "A", "192.0.2.72")
    for n in range(40):
        add("many", "A", f"10.1.{n}.1")
        add("many-aaaa", "AAAA", f"2001:db8:1::{n:x}")
    for size in (300, 500, 1000, 1150, 1200, 1400, 3900, 8000):
        for n in range((size + 199) // 200):
            add(f"size{size}", "TXT", f'"{n:03d}{"s" * (min(200, size - n * 200) - 4)}"')
    add("_dns.resolver", "SVCB", f"1 dot.{z} alpn=dot")
    add("dot", "A", "192.0.2.75")
    return zone


def small(name, rng, child=None):
    """A random zone over very few labels, so that everything meets everything. child: a zone of ours that it delegates."""
    labels = ["a", "b", "c", "w"]
    signing = rng.choice([None, None, "nsec", "nsec3", "optout"])
    zone = Zone(name, signing, (str(rng.choice([0, 0, 1, 5])), rng.choice(["-", "AB", "0102030405060708"])), kind="small")
    pool = [".".join(rng.choice(labels) for _ in range(depth)) + "." + name for depth in (1, 2, 2, 3, 3, 4) for _ in range(4)]
    pool += [f"*.{n}" for n in rng.sample(pool, 4)] + [f"*.{name}"] * rng.randint(0, 1)
    servers = rng.choice([["ns.outside."], [f"ns.{name}"], [f"ns.{name}", "ns.outside."]])
    zone.apex(*servers, minimum=rng.choice([60, 900, 7200]))
    if servers[0] != "ns.outside.":
        zone.add(f"ns.{name}", "A", address4(rng))     # BIND does not load a zone without
    chosen = {}
    for owner in sorted(set(rng.sample(pool, min(len(pool), rng.randint(2, 18))))):
        above = [owner.split(".", n)[n] for n in range(1, owner.count(".") - name.count(".") + 1)]
        if any(chosen.get(a) == "DNAME" for a in above):
            continue                        # nothing may be below a DNAME
        if any(o.endswith("." + owner) for o in chosen) and rng.random() < 1:
            kinds = ["data", "data", "CNAME", "NS"]
        else:
            kinds = ["data", "data", "data", "CNAME", "NS", "DNAME"]
        kind = rng.choice(kinds)
        if owner.startswith("*.") and kind in ("NS", "DNAME"):
            kind = "data"                   # RFC 4592 4.2, 4.4: undefined
        chosen[owner] = kind
        target = rng.choice(pool) if rng.random() < 0.8 else "x.outside."
        if kind == "CNAME":
            zone.add(owner, "CNAME", target)
        elif kind == "DNAME":
            zone.add(owner, "DNAME", target.replace("*.", "") if rng.random() < 0.9 else name)
            if rng.random() < 0.5:
                zone.add(owner, "A", address4(rng))
        elif kind == "NS":
            for _ in range(rng.randint(1, 3)):
                server = rng.choice([f"ns.{owner}", target.replace("*.", ""), "ns.outside."])
                if ("NS", server) not in {(t, r) for o, _, t, r in zone.records if o == owner}:
                    zone.add(owner, "NS", server)
                    if server == f"ns.{owner}":
                        zone.add(server, "A", address4(rng))
            if rng.random() < 0.4:
                zone.add(owner, "DS", ds(rng))
        else:
            for rtype in rng.sample(["A", "AAAA", "TXT", "MX", "SRV"], rng.randint(1, 3)):
                zone.add(owner, rtype, {"A": address4(rng), "AAAA": address6(rng), "TXT": '"text"', "MX": f"5 {target}",
                                        "SRV": f"0 0 1 {target}"}[rtype])
    # Below a DNAME there must be nothing; glue may have come there later.
    for dname in [o for o, types in zone.owners.items() if "DNAME" in types]:
        zone.records = [r for r in zone.records if not r[0].endswith("." + dname)]
    for owner in [o for o, types in zone.owners.items() if "CNAME" in types]:
        zone.records = [r for r in zone.records if r[0] != owner or r[2] == "CNAME"]
    if child is not None:
        zone.records = [r for r in zone.records if r[0] != child and not r[0].endswith("." + child)]
        zone.add(child, "NS", f"ns.{child}")
        zone.add(f"ns.{child}", "A", address4(rng))
        if rng.random() < 0.5:
            zone.add(child, "DS", ds(rng))
    # One TTL per set, no record twice.
    zone.records = list(dict.fromkeys(zone.records))
    zone.owners, zone.cuts = {}, set()
    for owner, _, rtype, _ in zone.records:
        zone.owners.setdefault(owner, set()).add(rtype)
        if rtype == "NS" and owner != name:
            zone.cuts.add(owner)
    return zone


def generate(seed, scale=1.0):
    """All zones. scale: of the big ones."""
    def rng(what):
        return random.Random(f"{seed} {what}")
    zones = [
        tld("tld.", int(8000 * scale), rng("tld")),
        tld("nsec-tld.", int(4000 * scale), rng("nsec"), "nsec"),
        tld("nsec3-tld.", int(4000 * scale), rng("nsec3"), "nsec3"),
        tld("optout-tld.", int(6000 * scale), rng("optout"), "optout"),
        odd("odd.", rng("odd")),
        odd("odd-nsec.test.", rng("odd-nsec"), "nsec"),
        odd("odd-nsec3.test.", rng("odd-nsec3"), "nsec3"),
    ]
    zones += [small(f"s{n}.small.", rng(f"small {n}"), f"a.s{n}.small." if n < 20 else None) for n in range(180)]
    # Children of zones that are here too: DS and NS at both sides of a cut.
    zones += [small(f"a.s{n}.small.", rng(f"child {n}")) for n in range(20)]
    return zones, [root(int(1200 * scale) + 50, rng("root"))]


def sign(zone, source, target, work):
    """Sign with dnssec-signzone by one key; dates are fixed, so a signed zone can be kept."""
    work.mkdir(parents=True, exist_ok=True)
    def call(*command):
        done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout[-2000:]}")
        return done.stdout
    key = call("dnssec-keygen", "-q", "-a", "ECDSAP256SHA256", "-f", "KSK", "-n", "ZONE", "-L", str(TTL), zone.name).split()[-1]
    text = source.read_text() + (work / f"{key}.key").read_text()
    (work / "unsigned").write_text(text)
    options = []
    if zone.signing in ("nsec3", "optout"):
        options = ["-3", zone.nsec3[1], "-H", zone.nsec3[0]] + (["-A"] if zone.signing == "optout" else [])
    call("dnssec-signzone", "-q", "-P", "-z", "-o", zone.name, "-s", INCEPTION, "-e", EXPIRATION, "-O", "full",
         *options, "-f", str(target.resolve()), "unsigned", key)
    shutil.rmtree(work)


def write(zones, directory):
    """Write (and sign) the files that are not in `directory` yet."""
    directory.mkdir(parents=True, exist_ok=True)
    def one(zone):
        target = directory / zone.file_name()
        if target.exists():
            return
        plain = directory / (zone.file_name() + ".plain")
        plain.write_text(zone.text())
        if zone.signing is None:
            plain.rename(target)
        else:
            half = directory / (zone.file_name() + ".half")
            sign(zone, plain, half, directory / ("work-" + zone.file_name()))
            half.rename(target)
            plain.unlink()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, zones))


def cached(base, seed, scale=1.0):
    """(zones, root zones, directory, root directory): from the cache if this file is the same."""
    own = hashlib.sha256(pathlib.Path(__file__).read_bytes() + f"{seed} {scale}".encode()).hexdigest()[:16]
    directory = pathlib.Path(base) / f"zones-{own}"
    main, top = generate(seed, scale)
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w", encoding="ascii") as lock:      # another run may be making them
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(main, directory / "main")
        write(top, directory / "top")
    return main, top, directory / "main", directory / "top"
