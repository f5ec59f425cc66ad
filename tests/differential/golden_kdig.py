# SPDX-License-Identifier: BSD-2-Clause
"""Command lines of kdig and khost for test_golden_kdig.py, made at random from a seed: {name} is the port of a server of that name."""
import itertools
import random

# A record of each type that servers load.
ZONE = r"""
$ORIGIN all.test.
$TTL 3600
@ SOA ns1 hostmaster 2024010101 10800 3600 604800 3600
@ NS ns1
@ NS ns2.all.test.
@ MX 10 mail
@ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
@ NSEC3PARAM 1 0 10 ABCD
@ CDS 12345 13 2 49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC49FD46E6C4B45C55D4AC49FD
@ CDNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
@ CSYNC 66 3 A NS AAAA
@ ZONEMD 2024010101 1 1 FEBE3D4CE2EC2FFA4BA99D46CD69D6D29711E55217057BEE7EB1A7B641A47BA7FED2DD5B97AE499FAFA4F22C6BD647DE
ns1 A 192.0.2.1
ns2 AAAA 2001:db8::1
mail A 192.0.2.2
hinfo HINFO "PC Intel" "Linux"
minfo MINFO a b.example.
txt TXT "hello world" "second; \"quoted\" \\back" "caf\195\169"
rp RP a.b c.d
afsdb AFSDB 1 afs
rt RT 10 relay
key KEY 256 3 13 AwEAAQ==
loc LOC 50 5 12.345 N 14 25 10 E 200m 10m 100m 10m
srv SRV 1 2 53 target
naptr NAPTR 100 50 "s" "z3950+I2L+I2C" "" _z3950._tcp.gatech.edu.
kx KX 1 kxhost
cert CERT PGP 0 0 AwEAAQ==
dname DNAME other.test.
apl APL 1:192.168.32.0/21 !2:fe80::/10
ds DS 60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118
ds NS ns.ds
ns.ds A 192.0.2.9
sshfp SSHFP 2 1 123456789abcdef67890123456789abcdef67890
ipseckey IPSECKEY 10 1 2 192.0.2.38 AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==
ipseckey3 IPSECKEY 10 3 2 gw.all.test. AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQ==
rrsig RRSIG A 13 3 3600 20300101000000 20240101000000 2642 all.test. qQtc+8/1Q3Q1Vx1UYFuVSW0u+2p1hS0DE1k9+Lx0NUx0Pg8bhB4t0d/kN5Vq6L7+O3p0u5tWk1o2CQpKmrlNsg==
rrsig A 192.0.2.7
nsec NSEC host.all.test. A MX RRSIG NSEC TYPE1234
dhcid DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=
tlsa TLSA 3 1 1 0D6FCE13243AA7A8A1E3CD01A5C8A1D1A6D5C3A9A1E3CD01A5C8A1D1A6D5C3A9
smimea SMIMEA 3 1 1 0D6FCE13243AA7A8
openpgp OPENPGPKEY AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4AQNRU3mG7TVTO2BkR47usntb102uFJtugbo6BSGvgqt4
svcb SVCB 1 svc.all.test. alpn="h2,h3" port=8443 ipv4hint=192.0.2.1 ech=AAAA key667="hello"
https HTTPS 0 alias.all.test.
spf SPF "v=spf1 -all"
nid NID 10 0014:4fff:ff20:ee64
l32 L32 10 10.1.2.0
l64 L64 10 2001:0DB8:1140:1000
lp LP 10 l64-subnet1.example.com.
eui48 EUI48 00-00-5e-00-53-2a
eui64 EUI64 00-00-5e-ef-10-00-00-2a
uri URI 10 1 "ftp://ftp1.example.com/public"
caa CAA 0 issue "ca.example.net; account=230123"
unk TYPE65500 \# 4 0A000001
mb TYPE7 \# 3 016100
null TYPE10 \# 3 016100
big TXT ( "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
 "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc")
alias CNAME mail
*.wild A 192.0.2.44
a-rather-long-owner-name-for-columns.and-more A 192.0.2.50
exactly31chars-ab.cdef A 1.2.3.4
"""

# Owner and type of what is in the zone.
OWNERS = [line.split()[:2] for line in ZONE.splitlines() if line.strip() and line[0] not in " @$" and len(line.split()) > 2]
APEX = ["SOA", "NS", "MX", "DNSKEY", "NSEC3PARAM", "CDS", "CDNSKEY", "CSYNC", "ZONEMD"]

# What makes both programs send the same: the newer one sends EDNS by default, of another size.
PLAIN, EDNS = "+noedns", "+edns +bufsize=1232"

FORMATS = ["+multiline", "+short", "+generic", "+nocrypto", "+noclass", "+nottl", "+nocomments", "+nostats", "+noheader", "+noopt", "+noquestion",
           "+noanswer", "+noauthority", "+noadditional", "+noall", "+all", "+qr", "+json", "+nomultiline", "+noshort", "+nojson", "+answer",
           "+comments", "+header", "+question", "+stats", "+crypto", "+nogeneric", "+noqr", "+authority", "+additional", "+opttext", "+opt"]
FLAGS = ["+aaflag", "+tcflag", "+nordflag", "+norecurse", "+raflag", "+zflag", "+noadflag", "+cdflag", "+dnssec", "+rdflag", "+noaaflag",
         "+nocdflag", "+nodnssec", "+adflag"]
EDNS_OPTIONS = ["+nsid", "+nonsid", "+bufsize=512", "+bufsize=4000", "+padding=0", "+padding=7", "+nopadding", "+alignment=2", "+alignment=64",
                "+alignment", "+padding", "+subnet=192.0.2.0/24", "+subnet=192.0.2.77/23", "+subnet=2001:db8::/33", "+subnet=0.0.0.0/0",
                "+subnet=::/0", "+nosubnet", "+edns=1", "+edns=255", "+noedns", "+expire", "+noexpire", "+cookie=0102030405060708",
                "+cookie=01020304050607080910111213141516", "+nocookie", "+ednsopt=65001", "+ednsopt=65001:6869", "+ednsopt=10:01",
                "+ednsopt=3:", "+noednsopt", "+ednsopt=0", "+client=10.0.0.0/8", "+nobadcookie", "+badcookie", "+ednsopt=65535:00ff"]

# What a scripted server (scripted_server.py) replies.
REPLIES = """a a-3 cname a.cname glue a.glue soa a.soa.glue noqr.a qname.a qcase.a qtype.a qtype-99.a noq twoq.a tc.a tc.big-9 alwaystc.a cut-0.a
cut-1.a cut-5.a cut-11.a cut-12.a cut-13.a cut-20.a cut-30.a cut-40.a trail-00.a trail-0102030405.a count-0-0.a count-1-0.a count-1-3.a count-2-1.a
count-3-1.a loop forward label garbage garbage-00 garbage-0001020304050607080910 wreck-0102 wreck-85000001000000000000 twice.a half.a slow-50.a
rcode-1 rcode-2 rcode-3 rcode-4 rcode-5 rcode-6 rcode-7 rcode-8 rcode-9 rcode-10 rcode-11 rcode-15 rcode-5.a rcode-3.soa opcode-1.a opcode-2.a
opcode-3.a opcode-4.a opcode-5.a.glue opcode-6.a opcode-15.a flags-8000.a flags-ffff.a flags-87f0.a flags-8040.a flags-8020.a rrclass-3 rrclass-4
rrclass-254 rrclass-255 rrclass-0 ttl-0 ttl-4294967295 ttl-2147483648 owner-0361006200 owner-00 owner-052e5c22282900 owner-0301ff2000 owner-012a00
owner-05413b24404000 rd-1-c0000201 rd-28-20010db8000000000000000000000001 rd-2-c00c rd-5-c00c rd-6-c00cc00c0000000100000e1000000384000151800000012c
rd-15-000ac00c rd-16-0568656c6c6f rd-16-00 rd-16-036122620161 rd-33-000100020003c00c rd-65280-01 rd-65280 rd-10-00 rd-249-00 rd-255-01 rd-128
rd-47-c00c000140 rd-47-0000 rd-46-00010d0300000e1070dbd880659200800a520001 rd-48-0101030d01020304 rd-48-0000030801030405 rd-48-010003fe01 rd-43-ec450501aa
rd-50-0100000a02abcd140102030405060708091011121314151617181920000140 rd-51-0100000a00 rd-64-000100 rd-64-0001000003000220fb rd-65-0000c00c
rd-257-0005697373756561 rd-257-80000000 rd-256-000a000161 rd-52-030101aa rd-44-0101aa rd-45-0a0002aa rd-37-0001000000aa rd-29-00121314805918198003157080989680
rd-99-0161 rd-104-000a00144fffff20ee64 rd-108-00005e00532a rd-42-0001150300c0a820 rd-35-0064003201730161016200 rd-17-c00cc00c rd-13-01610162
tsig tsig-16 tsig-17 tsig-18 tsig-22 tsig-99 a.tsig rd-59-00000000 rd-61-01 rd-62-00000042000300 rd-63-0000000101010a""".split()

REPLIES_EDNS = """a.opt a.opt-3 a.opt-3-6162 a.opt-3-00ff a.opt-8-00011800c00002 a.opt-8-00022010fe800001 a.opt-9 a.opt-9-00000e10 a.opt-9-00000000
a.opt-10-0102030405060708 a.opt-10-01020304050607080910111213141516 a.opt-10-0102 a.opt-12 a.opt-12-0000 a.opt-12-0001 a.opt-15-0000 a.opt-15-000f
a.opt-15-00126869 a.opt-15-001d a.opt-15-00ff a.opt-15-0000c3a9 a.opt-65001-6869 a.opt-65001 a.opt-4-01 a.opt-20 a.opt-65001-00ff a.optraw-0003
a.optttl-8000 a.optttl-00018000 a.rcode-16 a.rcode-17 a.rcode-22 a.rcode-4000 a.optanswer a.opttwice a.optowner badcookie.a badcookie-x.a cookie.a
a.opt-3-61.opt-65001-62.opt-9.opt-12-00 a.opt-11-0064 a.opt-18-016100 a.opt-19-010000000007 a.opt-13-016100 a.opt-8-01 a.opt-15-0e a.opt-9-01
a.opt-15-00000a a.opt-8-0003180000 rcode-23.a""".split()

TRANSFERS = """whole split many nosoa empty twosoa foreign secondempty whole.rcode-5 split.laterrcode-5 split.laterid split.laternoqr whole.id
split.laternoq split.latercut-5 split.laterqname whole.noqr whole.trail-00 empty.rcode-5 split.latertsig split.lateropt whole.half whole.close
whole.noq split.laterqtype whole.qname whole.rcode-23 split.laterloop split.latergarbage split.latertrail-00""".split()
CHANGES = "ixfr ixfr2 newer whole onlysoa twosoa split many".split()
SLOW_TRANSFERS = "noend otherend after onlysoa split.laternone".split()

# Words that are wrong, or end in something else than a query.
WRONG = """-Z|--nonsense|-b|-b x|-b 127.0.0.1#x|-b ::1|-c|-c XX|-c CLASS70000|-p|-t|-t XX|-t TYPE70000|-t IXFR|-t IXFR=|-t IXFR=x|-t IXFR=5000000000
-t AXFR=4|-t NOTIFY=x|-x|-x 1.2.3|-x 1.2.3.4.5|-x 1:2|-k|-k /nonexistent|-y|-y x|-y a:b:c:d|-y md5:k:AAAA|-y k:!!|+nonsense|+nononsense|+|+no|+t|+tl|+tls-
+edns=256|+edns=x|+edns=|+edns=-1|+noedns=1|+bufsize|+bufsize=|+bufsize=x|+bufsize=70000|+retry|+retry=x|+retry=-1|+time|+timeout=x|+timeout=-1
+cookie=xx|+cookie=01|+cookie=010203040506070809|+cookie=01020304050607|+subnet|+subnet=x|+subnet=1.2.3.4/33|+subnet=1.2.3.4/|+subnet=1.2.3.4/-1
+ednsopt|+ednsopt=x|+ednsopt=70000|+ednsopt=5:xx|+ednsopt=5:abc|+padding=x|+padding=70000|+alignment=x|+alignment=1|+alignment=70000|+short=1
+noshort=1|+tcp=1|+tls-pin|+tls-pin=xx|+tls-hostname|+tls-sni|+tls-keyfile|+tls-ocsp-stapling=x|+tls-ocsp-stapling=0|+https=|+https=http://|+proxy
+proxy=x|+proxy=1.2.3.4|+proxy=1.2.3.4-::1|+proxy=1.2.3.4#x-2.3.4.5|+proxy=1.2.3.4-2.3.4.5#x|+ad|+aa|+dnsse|+class=IN|+fail|@[::1|-4 -6|-h=x|-V=1|-4x
-4 -b ::1|-h|--help|-V|--version|+r|+a|+an|+answe|+c|+s|+tt|+q|+g|+jso|+mul|+nomul|+b|+k|+ke|+ig|+ex|+coo|+sub|+SHORT|+Short|-t soa|-t Any|-c any|-c ch
-cCH|-tSOA|-t axfr|soa ch|CLASS1 TYPE6|TYPE6 IN|-6|-4|-q|-q .|-x ::1|-x 1.2.3.4|-x fe80::1|-t NOTIFY|-t NOTIFY=7|-t IXFR=7|NOTIFY=1|axfr
-q a..b|-q aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa|a..b|-d|-d -t soa|+noidn|+multiline=x|+ttl=1|+retry=0|+noretry|+notimeout
+edns|+edns=0|+bufsize=0|+padding|+nopadding|+alignment|+noalignment|+expire=1|+nsid=x|+ednsopt=5:|-y k1:|-y hmac-sha256:k1:AAAA|-y hmac-md5:k1:AAAA
-y hmac-sha512:k1:AAAA|-y HMAC-SHA1:k1:AAAA""".replace("\n", "|").split("|")

SWITCHES_HOST = ["", "-v", "-a", "-d", "-r", "-T", "-w", "-r -v", "-T -v", "-c CH", "-c ANY -v", "-R 0", "-W 2", "-4", "-v -c IN", "-rT"]
WRONG_HOST = """-Z|-R|-R x|-R -1|-W x|-W -1|-W 5000000000|-t|-t X|-t IXFR|-t AXFR=1|-c|-c X|-6|-h|--help|-V|--version|-t PTR|-t soa|-t NOTIFY|-t NOTIFY=3
--nonsense|-t TYPE6|-c CLASS3|-t a -t mx|-a -t a|-t a -a""".replace("\n", "|").split("|")


def pick(chance, words, most):
    """Up to `most` of the words, in any order."""
    return " ".join(chance.sample(words, chance.randrange(most + 1)))


def transport(chance):
    return chance.choice(["", "", "", "+tcp", "+notcp", "+ignore", "+tcp +keepopen"])


def base(chance):
    return chance.choice([PLAIN] * 6 + [EDNS] * 3 + [""])


def kdig(server, words):
    return f"kdig @127.0.0.1#{{{server}}} " + " ".join(words.split())


def zone_lines(chance):
    servers = ["ours", "knot", "named", "nsd"]
    for owner, kind in OWNERS:
        for _ in range(9):
            yield kdig(chance.choice(servers), f"{base(chance)} {owner}.all.test {kind} {pick(chance, FORMATS, 4)} {transport(chance)}")
    for kind in APEX + ["ANY", "A", "TXT", "TYPE65", "CLASS1"]:
        for _ in range(9):
            yield kdig(chance.choice(servers), f"{base(chance)} all.test {kind} {pick(chance, FORMATS, 4)} {transport(chance)}")
    for name in ("nx.all.test", "x.y.wild.all.test", "www.dname.all.test", "a.ds.all.test", "other.example", ".", "alias.all.test", "ALL.Test"):
        for _ in range(6):
            yield kdig(chance.choice(servers), f"{base(chance)} {name} {pick(chance, FORMATS, 3)} {pick(chance, FLAGS, 2)} {transport(chance)}")
    for _ in range(40):
        yield kdig(chance.choice(["ours", "knot"]), f"{base(chance)} all.test AXFR {pick(chance, FORMATS, 4)}")
    for _ in range(20):
        yield kdig(chance.choice(["ours", "knot"]), f"{base(chance)} all.test IXFR={chance.choice([1, 2024010101, 4294967295])} {pick(chance, FORMATS, 2)}")


def edns_lines(chance):
    for _ in range(260):
        server = chance.choice(["ours", "knot", "named", "nsd", "odd"])
        name = "a.cookie.odd.test" if server == "odd" else "all.test SOA"
        yield kdig(server, f"{EDNS} +qr {name} {pick(chance, EDNS_OPTIONS, 4)} {pick(chance, FORMATS, 1)} {transport(chance)}")
    for _ in range(80):
        yield kdig(chance.choice(["ours", "knot", "named", "nsd"]), f"{base(chance)} +qr all.test SOA {pick(chance, FLAGS, 5)} {pick(chance, FORMATS, 1)}")


def odd_lines(chance):
    for reply in REPLIES:
        for _ in range(3):
            yield kdig("odd", f"{PLAIN} {reply}.odd.test +time=1 +retry=0 {pick(chance, FORMATS, 2)} {transport(chance)}")
    for reply in REPLIES_EDNS:
        for _ in range(4):
            yield kdig("odd", f"{EDNS} {chance.choice(['', '+cookie=0102030405060708'])} {reply}.odd.test +time=1 +retry=0 "
                              f"{pick(chance, FORMATS, 2)} {transport(chance)}")
    for transfer in TRANSFERS:
        for _ in range(2):
            yield kdig("odd", f"{PLAIN} {transfer}.odd.test AXFR +time=1 {pick(chance, FORMATS, 2)}")
    for transfer in CHANGES:
        for _ in range(3):
            yield kdig("odd", f"{PLAIN} {transfer}.odd.test IXFR={chance.choice([3, 5])} +time=1 {pick(chance, FORMATS, 2)}")
    for transfer in SLOW_TRANSFERS:
        yield kdig("odd", f"{PLAIN} {transfer}.odd.test AXFR +time=1")
        yield kdig("odd", f"{PLAIN} {transfer}.odd.test IXFR=4 +time=1")


def wait_lines(chance):
    """What isn't answered, and what is answered late."""
    for words in ("none +time=1 +retry=0", "none +time=1 +retry=1", "none +time=1 +tcp", "id.a +time=1 +retry=0", "id.a +time=1 +tcp",
                  "close +tcp +time=1", "half.a +tcp +time=1", "udpnone.a +time=1 +retry=1", "slow-1500.a +time=1 +retry=1", "slow-300.a +time=0",
                  "close +tcp +time=1 +retry=2", "cut-5.a +retry=2", "slow-100.a +notimeout"):
        name, *options = words.split()
        yield kdig("odd", f"{PLAIN} {name}.odd.test {' '.join(options)}")
    yield f"kdig {PLAIN} +time=1 @127.0.0.1#{{closed}} @127.0.0.1#{{odd}} a.odd.test +retry=0"
    yield f"kdig {PLAIN} +tcp @127.0.0.1#{{closed}} @127.0.0.1#{{odd}} a.odd.test"
    yield f"kdig {PLAIN} +tcp @127.0.0.1#{{closed}} a.odd.test"
    yield f"kdig {PLAIN} @nonexistent.invalid @127.0.0.1#{{odd}} a.odd.test"


def word_lines(chance):
    for words in WRONG:
        yield kdig("odd", f"{PLAIN} a.odd.test +time=1 +retry=0 {words}")
        yield kdig("odd", f"{PLAIN} +time=1 +retry=0 {words} a.odd.test")
    for first, second in itertools.product(["", "+short", "+tcp", "MX", "CH", "+json"], ["", "+multiline", "@127.0.0.1#{ours}", "-t SOA", "-x 1.2.3.4"]):
        yield kdig("odd", f"{PLAIN} {first} a.odd.test cname.odd.test {second}")
        yield kdig("odd", f"{PLAIN} a.odd.test {first} glue.odd.test {second} +keepopen a.odd.test")
    for words in ("@127.0.0.1@{odd}", "@127.0.0.1:{odd}", "@[127.0.0.1]:{odd}", "@[127.0.0.1]@{odd}", "@[127.0.0.1]#{odd}", "-p {odd} @127.0.0.1",
                  "@127.0.0.1 -p {odd}", "@localhost#{odd} -4", "-p {odd} @127.0.0.1#{ours}"):
        for rest in ("a.odd.test", "a.odd.test +tcp", "-q a.odd.test -t A", "a.odd.test SOA"):
            yield f"kdig {PLAIN} +retry=0 +time=1 {words} {rest}"
    for algorithm in ("", "hmac-sha256:", "hmac-md5:", "hmac-sha1:", "hmac-sha224:", "hmac-sha384:", "hmac-sha512:"):
        for server in ("ours", "knot"):
            yield kdig(server, f"{PLAIN} -y {algorithm}k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= all.test SOA {pick(chance, FORMATS, 1)}")
            yield kdig(server, f"{PLAIN} -y {algorithm}k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= all.test AXFR {pick(chance, FORMATS, 1)}")
            yield kdig(server, f"{PLAIN} -y {algorithm}other:AAAA all.test SOA")


def host_lines(chance):
    for owner, kind in OWNERS:
        for _ in range(2):
            yield f"khost {chance.choice(SWITCHES_HOST)} -t {kind} {owner}.all.test 127.0.0.1#{{{chance.choice(['ours', 'knot', 'named', 'nsd'])}}}"
    for name in ("all.test", "alias.all.test", "nx.all.test", "mail.all.test", "192.0.2.1", "2001:db8::1", "other.example"):
        for switches in SWITCHES_HOST:
            # named limits the rate of replies of class CH.
            server = chance.choice(["ours", "knot", "nsd"] if "-c" in switches else ["ours", "knot", "named", "nsd"])
            yield f"khost {switches} {name} 127.0.0.1#{{{server}}}"
    for words in ("-t AXFR", "-v -t AXFR", "-t IXFR=1", "-T -t AXFR", "-a -t AXFR"):
        for server in ("ours", "knot"):
            yield f"khost {words} all.test 127.0.0.1#{{{server}}}"
    for reply in REPLIES:
        yield f"khost -W 1 -R 0 {chance.choice(['', '-t A', '-v', '-t SOA'])} {reply}.odd.test 127.0.0.1#{{odd}}"
    for transfer in TRANSFERS:
        yield f"khost -W 1 {chance.choice(['', '-v'])} -t AXFR {transfer}.odd.test 127.0.0.1#{{odd}}"
    for words in WRONG_HOST:
        yield f"khost -W 1 -R 0 {words} a.odd.test 127.0.0.1#{{odd}}"
        yield f"khost {words} -W 1 -R 0 192.0.2.1 127.0.0.1#{{odd}}"
    yield from ("khost", "khost a b c", "khost a.odd.test [::1", "khost -t A a.odd.test nonexistent.invalid", "khost a..b 127.0.0.1#{odd}",
                "khost a.odd.test [127.0.0.1]:{odd}", "khost -t A a.odd.test 127.0.0.1@{odd}", "khost -W 1 -R 1 -t A none.odd.test 127.0.0.1#{odd}")


def file_lines(chance):
    """Keys in files, and dnstap files: {files} is a folder that the test makes."""
    for key in ("key", "key-bind", "key-none", "key-empty", "key-bad", "key-two", "nothing-here"):
        for words in ("all.test SOA", "all.test SOA +tcp", "all.test AXFR +noall +answer"):
            yield kdig(chance.choice(["ours", "knot"]), f"{PLAIN} -k {{files}}/{key} {words}")
    for tap in ("tap", "tap-tcp"):
        for _ in range(20):
            yield f"kdig -G {{files}}/{tap} {pick(chance, FORMATS, 3)}".rstrip()
    yield from ("kdig -G {files}/key", "kdig -G {files}/nothing-here", "kdig -G", "kdig -E", "kdig -G {files}/tap-cut", "kdig -G {files}/tap-empty +qr",
                f"kdig @127.0.0.1#{{odd}} {PLAIN} -E {{files}}/no/folder a.odd.test")


# Names that users write, in their characters, with escapes, or as they shouldn't.
NAMES = ["münchen.odd.test", "BÜCHER.a.odd.test", "straße.a.odd.test", "xn--mnchen-3ya.a.odd.test", "xn--zzzzzz.a.odd.test", "ελλάδα.a.odd.test", "日本語.a.odd.test",
         "a\\.b.a.odd.test", "a\\032b.a.odd.test", "a\\255.a.odd.test", "a\\256.a.odd.test", "a\\25.a.odd.test", "_sip._tcp.a.odd.test", "*.a.odd.test", "-.a.odd.test",
         "a.odd.test.", "a..odd.test", ".a.odd.test", "1.2.3.4.a.odd.test", "x" * 63 + ".a.odd.test", "x" * 64 + ".a.odd.test", ".".join(["y" * 61] * 4), "@", "A.ODD.TEST",
         "☃.a.odd.test", "a\u200bb.a.odd.test", "0/25.2.0.192.a.odd.test", "a$b.a.odd.test", "a(b.a.odd.test", "a;b.a.odd.test", 'a"b.a.odd.test']


def name_lines(chance):
    for name in NAMES:
        word = name if name.replace(".", "").isalnum() else "'" + name + "'"
        yield kdig("odd", f"{PLAIN} +time=1 +retry=0 {word}")
        yield kdig("odd", f"{PLAIN} +time=1 +retry=0 +noidn -q {word} {pick(chance, FORMATS, 2)}")
        yield f"khost -W 1 -R 0 -t A {word} 127.0.0.1#{{odd}}"
    for address in ("192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", "0.0.0.0", "255.255.255.255", "1.2.3.4%lo", "fe80::1%lo", "1.2.3.04", "::", "192.0.2.0/24"):
        for words in ("", "+short", "-t A", "+qr +noall +question"):
            yield kdig(chance.choice(["ours", "knot"]), f"{PLAIN} -x {address} {words}")
    for source in ("127.0.0.1", "127.0.0.2", "127.0.0.3#0", "::1", "192.0.2.200", "127.0.0.1@70000", "x", "127.0.0.1#"):
        for words in ("a.odd.test", "a.odd.test +tcp", "-4 a.odd.test", "a.odd.test a-2.odd.test +short"):
            yield kdig("odd", f"{PLAIN} +time=1 +retry=0 -b {source} {words}")
    for server in ("@127.0.0.1#70000", "@127.0.0.1#", "@127.0.0.1@x", "-p 70000 @127.0.0.1", "-p x @127.0.0.1", "@", "@#53", "@[127.0.0.1", "@[127.0.0.1]x", "@1.2.3", "@::1%none"):
        yield f"kdig {PLAIN} +time=1 +retry=0 {server} a.odd.test"


def golden_lines():
    """All lines, without repetitions, always the same."""
    chance = random.Random(1)
    return list(dict.fromkeys(line.replace("  ", " ") for lines in (zone_lines, edns_lines, odd_lines, wait_lines, word_lines, host_lines, file_lines, name_lines)
                              for line in lines(chance)))
