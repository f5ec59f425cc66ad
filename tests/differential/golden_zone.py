# SPDX-License-Identifier: BSD-2-Clause
"""Golden command lines of zones: status, contents, transactions, serials, files (golden_scenario.py explains them)."""
from golden_scenario import Scenario

ZONE_SCENARIOS = [
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
]
