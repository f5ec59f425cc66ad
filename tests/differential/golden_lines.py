# SPDX-License-Identifier: BSD-2-Clause
"""Command lines of knotc that Knot DNS 3.2.6 and Bowline must answer alike, in scenarios that each start with a fresh server.

A line is the arguments of knotc as a shell would split them; {dir} is the scenario's directory, {sock} the control socket, {conf}
the configuration file, {db} the configuration database. Before the arguments comes the scenario's prefix, unless the line begins
with `%`. Lines that begin with `=` aren't commands:

    = write NAME TEXT     replace a file by a text of TEXTS
    = remove NAME         remove a file
    = wait ZONE SERIAL    until this serial is served ("-": none)
    = ask NAME TYPE       effect: what the server answers to a question
    = zone ZONE           effect: records that zone-read prints, in no order
    = file NAME           effect: records of a zone file, "none" where there is no file
    = conf                effect: what conf-read prints
    = pipe LINE; LINE     knotc without action gets these lines from a pipe
    = restart ZONE...     stop and start the server; these zones are awaited
    = hup                 send SIGHUP, wait until it was followed
"""
import dataclasses

SOA = "@ SOA ns1 admin {serial} 3600 600 86400 300"


def small(origin, serial, more=""):
    return f"$ORIGIN {origin}.\n$TTL 3600\n@ SOA ns1 admin {serial} 3600 600 86400 300\n@ NS ns1\nns1 A 192.0.2.53\n{more}"


BODY = """ns1 AAAA 2001:db8::53
@ MX 10 mail
mail A 192.0.2.25
www A 192.0.2.80
www A 192.0.2.81
www AAAA 2001:db8::80
alias CNAME www
text TXT "one" "two words" "qu\\"ote;"
*.wild TXT "wild"
a.b.c 60 A 192.0.2.3
sub NS ns.sub
sub DS 12345 13 2 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
ns.sub A 192.0.2.99
_25._tcp.mail TLSA 3 1 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
svc HTTPS 1 . alpn="h2,h3" ipv4hint=192.0.2.80
unknown TYPE65280 \\# 4 01020304
"""

TEXTS = {
    "example-7": small("example", 7, BODY),
    "example-8": small("example", 8, BODY.replace("192.0.2.25", "192.0.2.26")),
    "example-9": small("example", 9, BODY.replace("192.0.2.25", "192.0.2.27")),
    "example-bad": small("example", 10, "www A 1.2.3\n"),
    "second-1": small("second.test", 1, "www A 192.0.2.1\n"),
    "second-2": small("second.test", 2, "www A 192.0.2.2\n"),
    "third-5": small("third.test", 5),
    "broken": "$ORIGIN broken.test.\n$TTL 60\n@ SOA ns1 admin 1 2 3 4 5\n@ NS ns1\nns1 A 192.0.2.999\n",
    "no-apex": "$ORIGIN broken.test.\n$TTL 60\nwww A 192.0.2.1\n",
    "no-ns": "$ORIGIN broken.test.\n$TTL 60\n@ SOA ns1 admin 1 2 3 4 5\nalias CNAME a\nalias A 192.0.2.1\n",
}

SERVER = """server:
    rundir: {dir}
    version: "golden"
    identity: "server one"
    nsid: "n1"
    udp-workers: 2
    tcp-workers: 2
    background-workers: 2
    listen: 127.0.0.1@{port}
control:
    listen: knot.sock
    timeout: 60
database:
    storage: {dir}/state
log:
  - target: {dir}/log
    any: info
"""
ZONES = """template:
  - id: default
    storage: {dir}
    file: "%s.zone"
zone:
  - domain: example
  - domain: second.test
  - domain: missing.test
"""
STATISTICS = """mod-stats:
  - id: all
    edns-presence: on
    query-type: on
template:
  - id: default
    storage: {dir}
    file: "%s.zone"
    global-module: mod-stats/all
    module: mod-stats
zone:
  - domain: example
  - domain: second.test
"""
FILES = {"example.zone": "example-7", "second.test.zone": "second-1"}

TEXTS |= {
    "conf": SERVER + ZONES,
    "conf-third": SERVER + ZONES + "  - domain: third.test\n",
    "conf-without-second": SERVER + ZONES.replace("  - domain: second.test\n", ""),
    "conf-version": SERVER.replace("golden", "another") + ZONES,
    "conf-bad": SERVER + "    nonsense: on\n" + ZONES,
    "conf-bad-value": SERVER.replace("udp-workers: 2", "udp-workers: many") + ZONES,
    "conf-small": "server:\n    listen: 127.0.0.1@{port}\n    version: imported\nzone:\n  - domain: example\n    storage: {dir}\n",
    "conf-reference": "zone:\n  - domain: example\n    template: nowhere\n",
    "conf-include": "include: {dir}/small.conf\n",
    "conf-checks": SERVER + "zone:\n  - domain: broken.test\n    storage: {dir}\n    semantic-checks: on\n",
}


@dataclasses.dataclass
class Scenario:
    name: str
    lines: str
    conf: str = SERVER + ZONES
    files: dict = dataclasses.field(default_factory=lambda: dict(FILES))
    zones: tuple = ("example", "second.test")   # awaited before the first line
    database: bool = False                      # the server runs on a configuration database, made from conf
    prefix: str = "-s {sock}"


SCENARIOS = [
    Scenario("status", """
        status
        status version
        status workers
        status configure
        status nonsense
        status ''
        status a b
        status Workers
        -b status
        -f status
        -e status
        -x status
        -X status
        -v status
        -t 60 status
        -t 0 status
        --timeout 60 status
        --timeout=60 --mono status
        status -b
        status -f
        % -c {conf} status
        % --config {conf} status
        % --config={conf} status
        % -c {conf} -s {sock} status
        % --socket {sock} status
        % -s {dir}/nowhere status
        % -s {dir}/nowhere -t 1 zone-status
        % -s {dir}/conf status
        % -c {dir}/nowhere status
        """),
    Scenario("options", """
        -t -1 status
        -t x status
        -t 86401 status
        -t 1x status
        -t
        -m 0 status
        -m 10001 status
        -m x status
        -m 100 status
        -Q status
        --nonsense status
        -c
        % -c {conf} -C {db} status
        % -C {dir}/nowhere status
        nonsense
        zone
        STATUS
        status status
        ""
        stop now
        reload now
        stats a b
        zone-read
        zone-stats
        zone-begin
        zone-commit
        zone-abort
        zone-diff
        zone-get
        zone-set
        zone-set example
        zone-set example www
        zone-set example www A
        zone-set example www 60
        zone-set example www NONSENSE 1
        zone-unset
        zone-unset example
        exit
        exit now
        zone-purge
        -f zone-purge
        -f zone-purge +expire
        zone-purge example
        zone-purge example +journal
        zone-key-rollover example
        zone-key-rollover example xsk
        zone-ksk-submitted
        zone-backup
        zone-backup example
        zone-restore
        zone-flush +outdir
        zone-flush example +outdir
        zone-flush example +outdir ""
        conf-set
        conf-unset now now
        conf-import
        zone-read example a A b
        zone-diff example second.test
        zone-get example a A b
        zone-stats example a b
        zone-status +nonsense
        zone-flush +nonsense
        zone-reload +nonsense
        zone-freeze example +nonsense
        zone-read example +nonsense
        reload +nonsense
        conf-list +nonsense
        conf-read +nonsense
        zone-purge -f example +nonsense
        zone-begin example +nonsense
        zone-key-rollover example ksk now
        conf-init now
        conf-begin now
        conf-commit now
        conf-abort now
        conf-check now
        """),
    Scenario("zone-status", """
        zone-status
        zone-status --
        zone-status example
        zone-status example.
        zone-status EXAMPLE.
        zone-status second.test example
        zone-status missing.test
        zone-status nowhere.test
        zone-status NoWhere.Test
        zone-status example nowhere.test missing.test
        zone-status a..b
        zone-status @
        zone-status example example
        zone-status ''
        zone-status +ser
        zone-status +
        zone-status -b -f example
        zone-status example -f
        zone-status .
        zone-status example --
        zone-status +role
        zone-status +serial
        zone-status +transaction
        zone-status +freeze
        zone-status +catalog
        zone-status example +role +serial
        zone-status +role example
        zone-status +role example +serial second.test
        zone-status -- +serial
        -e zone-status example +role
        -e zone-status example +serial +transaction
        -e zone-status missing.test +serial +freeze
        -e zone-status +role +serial +transaction +freeze
        -e zone-status example +events
        -e zone-status example
        -e zone-status missing.test +events
        -X zone-status
        -X zone-status example
        -X -e zone-status example +serial
        -x zone-status example
        -f zone-status example
        -b zone-status example
        """),
    Scenario("zone-read", """
        zone-read example
        zone-read example.
        zone-read example @
        zone-read example www
        zone-read example WWW
        zone-read example www.example.
        zone-read example www A
        zone-read example www a
        zone-read example www AAAA
        zone-read example www MX
        zone-read example @ SOA
        zone-read example @ NS
        zone-read example text TXT
        zone-read example *.wild
        zone-read example x.wild
        zone-read example b.c
        zone-read example a.b.c
        zone-read example sub
        zone-read example sub DS
        zone-read example ns.sub
        zone-read example _25._tcp.mail TLSA
        zone-read example svc
        zone-read example svc HTTPS
        zone-read example unknown
        zone-read example unknown TYPE65280
        zone-read example unknown TYPE1
        zone-read example alias
        zone-read example nothing
        zone-read example www NONSENSE
        zone-read example www.elsewhere.
        zone-read example a..b
        zone-read missing.test
        zone-read nowhere.test
        zone-read NOWHERE.test WWW A
        zone-read EXAMPLE NoThing a
        zone-read --
        zone-read -- @ SOA
        zone-read -- www
        zone-read -- www A
        zone-read second.test www A
        -X zone-read example www A
        -e zone-read example www A
        """),
    Scenario("reload", """
        zone-reload example
        -b zone-reload example
        zone-reload -b example
        = write example.zone example-8
        = ask mail.example A
        -b zone-reload example
        = ask mail.example A
        zone-status example +serial
        -b zone-reload
        -b zone-reload --
        zone-reload nowhere.test
        -b zone-reload missing.test
        -b zone-reload example missing.test nowhere.test
        -f -b zone-reload example
        = write example.zone example-bad
        -b zone-reload example
        zone-status example +serial
        = ask mail.example A
        = write example.zone example-9
        -b zone-reload example
        zone-status example +serial
        = ask mail.example A
        = write knot.conf conf-third
        = write third.test.zone third-5
        reload
        = wait third.test 5
        zone-status
        = write knot.conf conf-without-second
        -b reload
        zone-status second.test
        zone-status
        = ask www.second.test A
        = write knot.conf conf-bad
        reload
        zone-status
        = write knot.conf conf-bad-value
        reload
        = write knot.conf conf-version
        reload
        = ask version.server CH/TXT
        = write knot.conf conf
        = hup
        = wait second.test 1
        zone-status
        = ask version.server CH/TXT
        = zone example
        """),
    Scenario("stats", """
        stats
        stats server
        stats server.zone-count
        stats server.nonsense
        stats nonsense
        stats mod-stats
        stats mod-stats.nonsense
        -f stats
        -f stats server
        -f stats mod-stats
        -f stats mod-stats.request-protocol
        -f stats mod-stats.server-operation
        -f stats mod-stats.request-bytes
        -f stats mod-stats.response-bytes
        -f stats mod-stats.response-code
        -f stats mod-stats.edns-presence
        -f stats mod-stats.query-type
        = ask www.example A
        = ask nothing.example TXT
        = ask www.nowhere.test A
        stats
        stats mod-stats
        stats mod-stats.request-protocol
        stats mod-stats.server-operation
        stats mod-stats.response-code
        stats mod-stats.query-type
        stats mod-stats.edns-presence
        zone-stats example
        zone-stats example zone
        zone-stats example zone.max-ttl
        zone-stats example mod-stats
        zone-stats example mod-stats.request-protocol
        zone-stats example mod-stats.response-code
        zone-stats second.test mod-stats
        -f zone-stats second.test mod-stats.request-protocol
        zone-stats example nonsense
        zone-stats example mod-stats.nonsense
        zone-stats nowhere.test
        zone-stats --
        zone-stats -- mod-stats
        zone-stats -- zone.max-ttl
        -X stats mod-stats.response-code
        -b stats mod-stats.response-code
        stats mod-stats.request-protocol -f
        """, conf=SERVER + STATISTICS),
    Scenario("zone-edit", """
        zone-get example
        zone-set example new 60 A 192.0.2.1
        zone-unset example www
        zone-diff example
        zone-commit example
        zone-abort example
        zone-begin nowhere.test
        zone-begin example
        zone-begin example
        zone-status example +transaction
        zone-status example
        zone-status second.test +transaction
        -e zone-status second.test +transaction
        zone-diff example
        zone-set example new 60 A 192.0.2.1
        zone-set example new A 192.0.2.2
        zone-set example new 60 AAAA 2001:db8::1
        zone-set example NEW 60 A 192.0.2.3
        zone-set example absolute.example. 60 TXT absolute
        zone-set example text2 60 TXT "a b" c
        zone-set example text3 300 TXT '"a b"' '"c;d"'
        zone-set example @ 3600 MX 20 mail2
        zone-set example mail2 3600 A 192.0.2.26
        zone-set example odd 60 TYPE65281 '\\# 2 0102'
        zone-set example bad 60 A nonsense
        zone-set example bad 60 A
        zone-set example bad 4294967296 A 192.0.2.1
        zone-set example bad 60 MX 10
        zone-set example outside.test. 60 A 192.0.2.1
        zone-set example alias 3600 A 192.0.2.1
        zone-get example new
        zone-get example new A
        zone-get example new AAAA
        zone-get example nothing
        zone-get example www
        zone-read example new
        zone-diff example
        = ask new.example A
        zone-unset example www A 192.0.2.81
        zone-unset example www A 192.0.2.99
        zone-unset example www AAAA
        zone-unset example www MX
        zone-unset example a.b.c
        zone-unset example nothing
        zone-unset example unknown TYPE65280
        zone-unset example alias
        zone-get example www
        zone-get example a.b.c
        zone-diff example
        zone-commit example
        zone-status example +serial +transaction
        = zone example
        = ask new.example A
        = ask www.example A
        = ask www.example AAAA
        = ask a.b.c.example A
        zone-diff example
        zone-commit example
        -b zone-flush example
        = file example.zone
        zone-begin example
        zone-set example gone 60 A 192.0.2.1
        zone-abort example
        zone-read example gone
        zone-status example +serial
        zone-begin example
        zone-commit example
        zone-status example +serial
        zone-begin example
        zone-unset example @ SOA
        zone-set example @ 3600 SOA ns1.example. admin.example. 100 3600 600 86400 300
        zone-diff example
        zone-commit example
        zone-status example +serial
        zone-read example @ SOA
        zone-begin example
        zone-set example @ 3600 SOA ns1.example. admin.example. 200 3600 600 86400 300
        zone-get example @ SOA
        zone-commit example
        zone-read example @ SOA
        zone-begin example
        zone-unset example @ NS
        zone-commit example
        zone-abort example
        zone-begin example second.test
        zone-status -- +transaction
        zone-set -- both 60 TXT x
        zone-get -- both
        zone-diff --
        zone-unset -- both TXT
        zone-diff --
        zone-set second.test own 60 TXT y
        zone-commit --
        = zone second.test
        zone-begin --
        zone-abort --
        zone-abort example
        zone-begin missing.test
        zone-set missing.test @ 3600 SOA ns1 admin 1 3600 600 86400 300
        zone-set missing.test @ 3600 NS ns1
        zone-set missing.test ns1 3600 A 192.0.2.1
        zone-get missing.test
        zone-commit missing.test
        zone-status missing.test +serial
        = zone missing.test
        = ask ns1.missing.test A
        = restart example second.test missing.test
        = zone example
        = zone second.test
        = zone missing.test
        = file example.zone
        = file second.test.zone
        """),
    Scenario("zone-edit-twice", """
        zone-begin example
        zone-set example new 60 A 192.0.2.1
        zone-set example new 60 A 192.0.2.1
        zone-diff example
        zone-set example www 3600 A 192.0.2.80
        zone-get example www A
        zone-set example www 60 A 192.0.2.82
        zone-get example www A
        zone-set example www2 TXT x
        zone-get example www2
        zone-set example www A 192.0.2.83
        zone-unset example www A 192.0.2.80
        zone-unset example www A 192.0.2.80
        zone-abort example
        zone-begin example +benevolent
        zone-set example new 60 A 192.0.2.1
        zone-set example new 60 A 192.0.2.1
        zone-unset example nothing
        zone-unset example www MX
        zone-diff example
        zone-commit example
        zone-read example new
        """),
    Scenario("zone-set-words", r"""
        zone-begin example
        zone-set example A 60 A 192.0.2.1
        zone-set example 60 60 A 192.0.2.1
        zone-set example 60 A 192.0.2.2
        zone-set example x 60 TYPE1 192.0.2.7
        zone-set example x 60 TYPE1 '\# 4 c0000208'
        zone-set example x 60 A '\# 4 c0000209'
        zone-set example x 60 IN A 192.0.2.10
        zone-set example x 60 CH A 192.0.2.10
        zone-set example x -1 A 192.0.2.1
        zone-set example x 0 A 192.0.2.1
        zone-set example x 4294967295 TXT a
        zone-set example x 000060 TXT b
        zone-set example x 60x TXT b
        zone-set example '' 60 TXT empty
        zone-set example 'a\.b' 60 TXT dot
        zone-set example 'a\046b' 60 TXT number
        zone-set example 'sp\032ace' 60 TXT space
        zone-set example 'sp ace' 60 TXT space
        zone-set example 'b\\c' 60 TXT backslash
        zone-set example 'q\"uote' 60 TXT quote
        zone-set example 'd\$ollar' 60 TXT x
        zone-set example '(par)' 60 TXT x
        zone-set example 'se;mi' 60 TXT x
        zone-set example 'se\;mi' 60 TXT x
        zone-set example '\@' 60 TXT at
        zone-set example '*' 60 TXT wild
        zone-set example 'a.*.b' 60 TXT inner
        zone-set example MiXeD 60 TXT relative
        zone-set example MiXeD.ExAmPlE. 60 TXT absolute
        zone-set example x.. 60 TXT x
        zone-set example .x 60 TXT x
        zone-set example . 60 TXT x
        zone-set example x.example 60 TXT relative
        zone-set example. y 60 TXT x
        zone-set EXAMPLE z 60 TXT x
        zone-set example rel 60 CNAME @
        zone-set example t 60 TXT
        zone-set example t 60 TXT ''
        zone-set example t 60 TXT '""'
        zone-set example t 60 TXT '"unfinished'
        zone-set example t 60 TXT 'a;comment'
        zone-set example t 60 TXT '( a'
        zone-set example t 60 TXT 'x\'
        zone-set example t 60 A '192.0.2.1 ; comment'
        zone-set example t 60 A 192.0.2.1 192.0.2.2
        zone-set example t 60 OPT x
        zone-set example t 60 ANY x
        zone-set example t 60 TYPE65536 '\# 0'
        zone-set example t 60 TYPE65535 '\# 0'
        zone-set example t 60 type1 192.0.2.4
        zone-get example 'a\.b'
        zone-get example 'a\046b'
        zone-get example MIXED
        zone-get example ''
        zone-get example '' TXT
        zone-get example x type1
        zone-get example x ANY
        zone-get example x 1
        zone-diff example
        zone-commit example
        = zone example
        """),
    Scenario("zone-unset", """
        zone-begin example
        zone-unset example ''
        zone-diff example
        zone-abort example
        zone-begin example
        zone-unset example @
        zone-get example @
        zone-unset example @
        zone-unset example @ MX
        zone-abort example
        zone-begin example
        zone-unset example www MX 10 mail
        zone-unset example nothing A 192.0.2.1
        zone-unset example b.c A 192.0.2.1
        zone-unset example www AAAA 2001:db8::80
        zone-unset example www AAAA 2001:db8::80
        zone-unset example www NONSENSE
        zone-unset example www NONSENSE x
        zone-unset example www A nonsense
        zone-unset example www 60
        zone-unset example www ''
        zone-unset example www.elsewhere. A
        zone-abort example
        zone-begin example
        zone-unset example mail A 192.0.2.25
        zone-unset example mail A 192.0.2.25
        zone-unset example mail A
        zone-unset example mail
        zone-unset example mail MX
        zone-get example mail
        zone-abort example
        zone-begin example
        zone-unset example b.c
        zone-unset example b.c A
        zone-get example b.c
        zone-unset example a.b.c
        zone-unset example a.b.c
        zone-unset example b.c
        zone-get example b.c
        zone-set example x.y.z 60 A 192.0.2.1
        zone-get example y.z
        zone-unset example y.z
        zone-unset example x.y.z A 192.0.2.1
        zone-unset example x.y.z A 192.0.2.1
        zone-unset example x.y.z A
        zone-unset example x.y.z
        zone-get example y.z
        zone-abort example
        zone-begin example
        zone-unset example @ SOA
        zone-unset example @ SOA ns1 admin 7 3600 600 86400 300
        zone-get example @ SOA
        zone-commit example
        zone-status example +serial
        zone-begin example
        zone-set example www 3600 SOA ns1 admin 3 3600 600 86400 300
        zone-set example @ 3600 SOA ns1 admin 3 3600 600 86400 300
        zone-diff example
        zone-commit example
        zone-read example @ SOA
        zone-begin missing.test
        zone-unset missing.test @
        zone-unset missing.test x
        zone-commit missing.test
        zone-abort missing.test
        """),
    Scenario("freeze", """
        zone-freeze example
        zone-begin example
        zone-set example a 60 A 192.0.2.1
        zone-commit example
        zone-status example +serial +freeze +events
        = file example.zone
        -b zone-flush example
        = file example.zone
        zone-status example +serial +freeze
        = write example.zone example-9
        reload
        zone-status example +serial +freeze +events
        -b zone-reload example
        zone-status example +serial +freeze
        -b zone-thaw example
        zone-status example +serial
        """),
    Scenario("zone-edit-reload", """
        zone-begin example
        zone-set example new 60 A 192.0.2.1
        reload
        zone-reload example
        -b zone-reload example
        -b zone-flush example
        zone-freeze example
        zone-thaw example
        -f -b zone-purge example +zonefile
        zone-status example
        zone-abort example
        zone-status example
        zone-begin example
        zone-set example new 60 A 192.0.2.1
        stop
        """),
    Scenario("zone-serial", """
        zone-read example @ SOA
        zone-begin example
        zone-set example a 60 A 192.0.2.1
        zone-commit example
        zone-read example @ SOA
        -b zone-flush example
        = write example.zone example-9
        -b zone-reload example
        zone-read example @ SOA
        = zone example
        = write example.zone example-8
        -b zone-reload example
        zone-read example @ SOA
        = zone example
        zone-begin example
        zone-set example a 60 A 192.0.2.1
        zone-commit example
        = zone example
        -b zone-flush example
        = file example.zone
        = restart example second.test
        = zone example
        """),
    Scenario("zone-files", """
        zone-flush
        -b zone-flush
        -b zone-flush example
        -b -f zone-flush example
        zone-flush nowhere.test
        -b zone-flush missing.test
        -b zone-flush example +outdir {dir}/out
        = file out/example.zone
        -b zone-flush +outdir {dir}/out2
        = file out2/example.zone
        = file out2/second.test.zone
        -b zone-flush example +outdir {dir}/knot.conf/no
        zone-freeze example
        zone-status example
        zone-status example +freeze
        zone-freeze example
        -b zone-thaw example
        zone-status example +freeze
        zone-thaw example
        zone-freeze
        zone-status +freeze
        -b zone-thaw
        zone-status +freeze
        zone-freeze nowhere.test
        zone-thaw nowhere.test
        zone-freeze example second.test
        -e zone-status +freeze
        zone-thaw --
        zone-begin example
        zone-set example flushed 60 TXT x
        zone-commit example
        -b zone-flush example
        = file example.zone
        -f -b zone-purge second.test +zonefile
        = file second.test.zone
        zone-status second.test
        -f -b zone-purge example +expire
        zone-status example
        = ask www.example A
        -b zone-reload example
        zone-status example +serial
        -f zone-purge nowhere.test
        -f -b zone-purge example +journal +timers +kaspdb +catalog
        zone-status example
        -f -b zone-purge example
        zone-status example
        = file example.zone
        """),
    Scenario("not-here-yet", """
        zone-refresh example
        zone-refresh
        zone-retransfer example
        zone-notify example
        zone-notify
        zone-sign example
        zone-sign
        zone-keys-load example
        zone-key-rollover example ksk
        zone-key-rollover example zsk
        zone-ksk-submitted example
        zone-xfr-freeze example
        zone-xfr-thaw example
        -b zone-backup example +backupdir {dir}/backup +nojournal
        -b zone-restore example +backupdir {dir}/backup +nojournal
        -b zone-restore example +backupdir {dir}/nowhere
        zone-backup example +backupdir {dir}/x +journal +nojournal
        """),
    Scenario("local", """
        % -c {conf} conf-check
        % --config={conf} conf-check
        % -c {dir}/nowhere.conf conf-check
        % -c {dir} conf-check
        = write bad.conf conf-bad
        % -c {dir}/bad.conf conf-check
        = write bad.conf conf-bad-value
        % -c {dir}/bad.conf conf-check
        % -c {dir}/bad.conf status
        = write bad.conf conf-reference
        % -c {dir}/bad.conf conf-check
        = write small.conf conf-small
        = write include.conf conf-include
        % -c {dir}/include.conf conf-check
        % -c {conf} zone-check
        % -c {conf} zone-check example
        % -c {conf} zone-check example second.test
        % -c {conf} zone-check missing.test
        % -c {conf} zone-check nowhere.test
        % -c {conf} zone-check EXAMPLE a..b ''
        % -c {conf} -f zone-check example
        = write broken.test.zone broken
        = write checks.conf conf-checks
        % -c {dir}/checks.conf zone-check
        % -c {dir}/checks.conf zone-check broken.test
        = write broken.test.zone no-apex
        % -c {dir}/checks.conf zone-check broken.test
        = write broken.test.zone no-ns
        % -c {dir}/checks.conf zone-check broken.test
        % -c {dir}/checks.conf -f zone-check broken.test
        % -C {dir}/new conf-init
        % -C {dir}/new conf-init
        % -C {dir}/new -f conf-init
        % -C {dir}/new conf-check
        % -C {dir}/new conf-export
        % -C {dir}/new conf-import {dir}/small.conf
        % -C {dir}/new -f conf-import {dir}/small.conf
        % -C {dir}/new conf-check
        % -C {dir}/new conf-export
        % -C {dir}/new conf-export {dir}/exported.conf
        % -c {dir}/exported.conf conf-check
        % -C {dir}/other conf-import {dir}/exported.conf
        % -C {dir}/other conf-export
        % -C {dir}/other -f conf-import {dir}/bad.conf
        % -C {dir}/other conf-export
        % -C {dir}/other -f conf-import {dir}/nowhere.conf
        % -C {dir}/full conf-import {conf}
        % -C {dir}/full conf-export
        % -C {dir}/full conf-check
        % -C {dir}/full zone-check example
        % -C {dir}/full status
        """),
    Scenario("pipe", """
        = pipe status
        = pipe status; zone-status; zone-status example +serial
        = pipe nonsense; status
        = pipe zone-read example www A; exit
        = pipe exit; status
        = pipe zone-begin example; zone-set example piped 60 TXT "a b"; zone-diff example; zone-abort example
        = pipe stop
        """),
    Scenario("conf-file", """
        conf-list
        conf-list server
        conf-list zone
        conf-list log
        conf-list control
        conf-list nonsense
        conf-list server.nonsense
        conf-read
        conf-read server
        conf-read server.version
        conf-read server.udp-workers
        conf-read server.nsid
        conf-read zone
        conf-read zone.domain
        conf-read zone[example]
        conf-read zone[example].storage
        conf-read zone[nowhere.test]
        conf-read template
        conf-read template[default].storage
        conf-read log
        conf-read log[{dir}/log].any
        conf-read nonsense
        conf-read server.nonsense
        conf-read database
        conf-read mod-stats
        conf-get server
        conf-diff
        conf-set server.version x
        conf-unset server.version
        conf-commit
        conf-abort
        conf-begin
        conf-begin
        conf-set server.version x
        conf-diff
        conf-get server.version
        conf-commit
        conf-read server.version
        = ask version.server CH/TXT
        reload
        = ask version.server CH/TXT
        conf-read server.version
        """),
    Scenario("conf-read", """
        conf-list
        conf-list server
        conf-list control
        conf-list log
        conf-list zone
        conf-list template
        conf-list nonsense
        conf-list server.nonsense
        conf-read
        conf-read server
        conf-read server control
        conf-read server.version
        conf-read server.listen
        conf-read server.identity server.nsid
        conf-read zone
        conf-read zone.domain
        conf-read zone[example]
        conf-read zone[example.]
        conf-read zone[EXAMPLE]
        conf-read zone[example].file
        conf-read zone.file
        conf-read template
        conf-read template.id
        conf-read template[default]
        conf-read template[default].file
        conf-read template[nowhere]
        conf-read server.nonsense
        conf-read nonsense
        conf-read zone[
        conf-read zone[]
        conf-read zone[a..b]
        conf-read .
        conf-read ""
        conf-read server.
        conf-read server[x
        conf-read server..version
        conf-read .version
        conf-read [
        conf-read []
        conf-read [x]
        conf-read zone[example].
        conf-read zone[example]x
        conf-read zone[example]x.file
        conf-read server[x]
        conf-read zone[nowhere.test]
        conf-read nonsense server.version
        -X conf-read server.version
        """, database=True),
    Scenario("conf-edit", """
        = write third.test.zone third-5
        conf-set server.version x
        conf-unset server.version
        conf-get server
        conf-diff
        conf-commit
        conf-abort
        conf-begin
        conf-begin
        conf-diff
        conf-get server.version
        conf-set server.version x
        conf-get server.version
        conf-read server.version
        conf-diff
        conf-diff server
        conf-diff server.version
        conf-diff zone
        = ask version.server CH/TXT
        conf-set server.version "two words"
        conf-diff server.version
        conf-set server.nsid other
        conf-set server.tcp-idle-timeout 20
        conf-set server.tcp-idle-timeout 0
        conf-set server.udp-max-payload 100
        conf-set server.udp-max-payload 1000
        conf-set server.udp-max-payload x
        conf-set server.nonsense x
        conf-set nonsense.version x
        conf-set server
        conf-set server.version
        conf-set server.listen 127.0.0.1@1 127.0.0.1@2
        conf-unset server.listen 127.0.0.1@1
        conf-unset server.listen 127.0.0.1@3
        conf-unset server.listen 127.0.0.1@2
        conf-diff server.listen
        conf-set zone[third.test]
        conf-set zone[third.test]
        conf-set zone[third.test].file third.test.zone
        conf-set zone[fourth.test].file x
        conf-set zone[a..b]
        conf-set zone.domain fifth.test
        conf-get zone.domain
        conf-get zone[third.test]
        conf-diff
        conf-unset zone[fifth.test]
        conf-unset zone[nowhere.test]
        conf-unset zone[third.test].comment
        conf-unset zone[third.test].nonsense
        conf-set zone[third.test].template nowhere
        conf-commit
        conf-unset zone[third.test].template
        conf-get zone[third.test]
        reload
        conf-commit
        conf-read server.version
        conf-read zone.domain
        conf-diff
        conf-commit
        = wait third.test 5
        zone-status third.test
        = ask version.server CH/TXT
        = ask ns1.third.test A
        = conf
        conf-begin
        conf-unset zone[second.test]
        conf-unset zone[second.test]
        conf-get zone[second.test]
        conf-diff
        conf-commit
        zone-status second.test
        = ask www.second.test A
        conf-begin
        conf-set template[other]
        conf-set template[other].file "other-%s"
        conf-set template[other].storage {dir}
        conf-set zone[third.test].template other
        conf-diff
        conf-unset template[other]
        conf-commit
        conf-abort
        conf-read template
        conf-abort
        conf-begin
        conf-unset server.nsid
        conf-unset server.nsid
        conf-unset server
        conf-get server
        conf-abort
        conf-begin
        conf-unset zone
        conf-get zone
        conf-diff zone.domain
        conf-abort
        conf-begin
        conf-unset
        conf-get
        conf-abort
        conf-read zone.domain
        conf-begin
        conf-set remote[a]
        conf-set remote[a].address 192.0.2.1
        conf-set remote[a].address 192.0.2.2@5353 2001:db8::1
        conf-get remote
        conf-unset remote[a].address 192.0.2.2@5353
        conf-get remote[a].address
        conf-set acl[x].action transfer
        conf-set acl[x]
        conf-set acl[x].action transfer
        conf-set acl[x].action nonsense
        conf-set acl[x].address 192.0.2.0/24
        conf-set acl[x].address nonsense
        conf-get acl
        conf-set key[k].secret YWJj
        conf-set key[k]
        conf-set key[k].algorithm hmac-sha256
        conf-set key[k].secret YWJj
        conf-set key[k].secret nonsense!
        conf-get key[k]
        conf-diff
        conf-abort
        conf-begin
        conf-set server.version durable
        conf-commit
        = restart example third.test
        conf-read server.version
        = ask version.server CH/TXT
        = conf
        conf-begin
        conf-set include {dir}/more.conf
        = write more.conf conf-small
        conf-set include {dir}/more.conf
        conf-get server.version
        conf-abort
        """, database=True),
    Scenario("crash", """
        zone-backup +backupdir
        """),
    Scenario("conf-modules", """
        conf-begin
        conf-set mod-stats[s]
        conf-set mod-stats[s].query-type on
        conf-set mod-stats[s].query-type maybe
        conf-set mod-stats[s].nonsense on
        conf-set template[default].global-module mod-stats/s
        conf-set template[default].global-module mod-stats/nowhere
        conf-set template[default].module mod-stats
        conf-set zone[example].module mod-nonsense
        conf-get mod-stats
        conf-get template[default].global-module
        conf-diff
        conf-commit
        = ask www.example A
        stats mod-stats.query-type
        zone-stats example mod-stats.request-protocol
        conf-read mod-stats
        conf-begin
        conf-unset mod-stats[s]
        conf-commit
        conf-unset template[default].global-module mod-stats/s
        conf-diff
        conf-commit
        stats mod-stats
        conf-read mod-stats
        conf-begin
        conf-set log[stdout]
        conf-set log[stdout].any nonsense
        conf-set log[stdout].any warning
        conf-set log[stdout].zone debug
        conf-get log[stdout]
        conf-set log[STDOUT]
        conf-unset log[stdout].any
        conf-commit
        conf-read log[stdout]
        conf-begin
        conf-unset log[stdout]
        conf-unset statistics
        conf-set statistics.timer 0
        conf-set statistics.timer 1m
        conf-get statistics
        conf-unset statistics.timer
        conf-set xdp.tcp on
        conf-get xdp
        conf-unset xdp
        conf-set database.journal-db-max-size 100M
        conf-set database.journal-db-max-size 1
        conf-get database
        conf-set control.timeout 5
        conf-set control.listen a.sock b.sock c.sock
        conf-get control
        conf-abort
        conf-list template.semantic-checks
        conf-list server.async-start
        conf-list server.version
        conf-list zone.domain
        """, database=True),
    Scenario("conf-zones", """
        = write third.test.zone third-5
        conf-begin
        conf-set zone third.test fourth.test fifth.test
        conf-set zone.domain third.test fourth.test
        conf-set zone[fifth.test].comment "five"
        conf-set zone[fifth.test]
        conf-set zone[fifth.test].comment "five"
        conf-set zone[fifth.test].comment "5"
        conf-set zone[fifth.test].zonefile-sync 10m
        conf-set zone[fifth.test].zonefile-sync -1
        conf-set zone[fifth.test].zonefile-sync -2
        conf-set zone[fifth.test].semantic-checks soft
        conf-set zone[fifth.test].semantic-checks hard
        conf-set zone[fifth.test].zone-max-size 1G
        conf-set zone[fifth.test].serial-policy unixtime
        conf-set zone[fifth.test].master nowhere
        conf-set zone[fifth.test].acl nowhere
        conf-get zone[fifth.test]
        conf-get zone[fifth.test].zonefile-sync
        conf-commit
        conf-unset zone[fifth.test].acl nowhere
        conf-unset zone[fifth.test].acl
        conf-unset zone[fifth.test].master
        conf-commit
        = wait third.test 5
        zone-status
        conf-read zone
        = ask ns1.third.test A
        conf-begin
        conf-unset zone third.test
        conf-unset zone.domain third.test
        conf-unset zone[fourth.test]
        conf-unset zone[fifth.test].comment
        conf-unset zone[fifth.test].comment 5
        conf-diff
        conf-commit
        zone-status
        conf-read zone
        = ask ns1.third.test A
        zone-begin fifth.test
        zone-set fifth.test @ 60 SOA ns1 admin 5 3600 600 86400 300
        zone-set fifth.test @ 60 NS ns1
        zone-set fifth.test ns1 60 A 192.0.2.5
        zone-commit fifth.test
        = ask ns1.fifth.test A
        conf-begin
        conf-set zone[fifth.test].file other.zone
        conf-commit
        = ask ns1.fifth.test A
        conf-begin
        conf-unset zone[fifth.test]
        conf-set zone[fifth.test]
        conf-diff
        conf-commit
        = ask ns1.fifth.test A
        """, database=True),
    Scenario("conf-names", r"""
        conf-begin
        conf-set 'key[a\]b]'
        conf-set 'remote[r]x]'
        conf-set 'remote[r\]x]'
        conf-set 'remote[r\]x].address' 192.0.2.1 192.0.2.2
        conf-get 'remote[r\]x].address'
        conf-unset 'remote[r\]x].address' 192.0.2.1
        conf-set 'remote[r\]x].address' nonsense
        conf-unset 'remote[r\]x]'
        conf-diff remote
        conf-set 'log[a\b]'
        conf-set 'log[a[b]'
        conf-set 'log[a.b]'
        conf-set 'log[a b].any' info
        conf-get log
        conf-set remote[r1] r2
        conf-set remote.id r1 r2 r3
        conf-set remote.id r1
        conf-get remote
        conf-get remote.id
        conf-set remote[r1].address 192.0.2.1 192.0.2.2 192.0.2.1
        conf-get remote[r1].address
        conf-set remote[r1].address 192.0.2.1 192.0.2.2
        conf-set remote[r1].address 192.0.2.3@53 2001:db8::1@5353
        conf-get remote[r1].address
        conf-diff remote[r1]
        conf-unset remote[r1].address 192.0.2.2 192.0.2.9
        conf-get remote[r1].address
        conf-unset remote[r1].address 192.0.2.2 192.0.2.1
        conf-diff
        conf-unset remote
        conf-unset remote
        conf-get remote
        conf-abort
        conf-begin
        conf-set zone[xn--bhj]
        conf-set zone[MiXeD.Test]
        conf-set zone[mixed.test.]
        conf-get zone.domain
        conf-unset zone[MIXED.TEST]
        conf-set zone[.]
        conf-set 'zone[a\.b]'
        conf-set 'zone[a\046b]'
        conf-set 'zone[a b]'
        conf-set 'zone[*.w]'
        conf-get zone
        conf-set zone.file x
        conf-set zone[example].file x y
        conf-set zone[example].file y
        conf-get zone.file
        conf-unset zone[example].file x
        conf-unset zone[example].file
        conf-set template.id other
        conf-set template[other].template x
        conf-diff template
        conf-unset template
        conf-get template
        conf-abort
        conf-begin
        conf-set server.identity
        conf-set server.identity ''
        conf-get server.identity
        conf-set server.identity 'with "quotes" and \\ backslash'
        conf-get server.identity
        conf-diff server
        conf-set server.listen ::1 ::1@54
        conf-set server.listen /tmp/x.sock
        conf-diff server.listen
        conf-unset server.listen ::1@53
        conf-get server.listen
        conf-unset server
        conf-diff server
        conf-unset
        conf-get
        conf-diff
        conf-abort
        conf-begin
        conf-set zone[example].zonefile-sync 1h
        conf-set zone[example].zonefile-sync 1.5h
        conf-get zone[example].zonefile-sync
        conf-set zone[example].zonefile-sync 90
        conf-get zone[example].zonefile-sync
        conf-set zone[example].zonefile-sync 3600
        conf-get zone[example].zonefile-sync
        conf-set zone[example].zone-max-size 1048576
        conf-get zone[example].zone-max-size
        conf-set zone[example].zone-max-size 1.5M
        conf-set zone[example].semantic-checks ON
        conf-get zone[example].semantic-checks
        conf-set server.udp-workers 0
        conf-set server.udp-workers -1
        conf-set server.user 1:2:3
        conf-diff zone[example]
        conf-abort
        conf-list zone.semantic-checks
        conf-list acl.action
        conf-list keystore.backend
        conf-list key.algorithm
        conf-list zone.zonefile-load
        conf-list include
        conf-read server nonsense zone
        conf-read zone[example] zone[second.test]
        conf-read zone.domain template.id
        conf-read server.identity server.identity
        conf-diff server zone
        """, database=True),
    Scenario("conf-and-zone", """
        conf-begin
        zone-begin example
        zone-abort example
        conf-abort
        zone-begin example
        conf-begin
        conf-abort
        zone-abort example
        conf-begin
        reload
        = hup
        conf-commit
        conf-abort
        """, database=True),
    Scenario("stop", """
        stop
        """),
]
