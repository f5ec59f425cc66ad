# SPDX-License-Identifier: BSD-2-Clause
"""Golden command lines of the configuration: files, database, transactions (golden_scenario.py explains them)."""
from golden_scenario import Scenario

CONF_SCENARIOS = [
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
]
