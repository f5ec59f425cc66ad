# SPDX-License-Identifier: BSD-2-Clause
"""Golden command lines of the server: status, options, reload, statistics, the client itself, stop (golden_scenario.py explains them)."""
from golden_scenario import Scenario, SERVER, STATISTICS

SERVER_SCENARIOS = [
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
    Scenario("of-an-unsigned-zone", """
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
    Scenario("crash", """
        zone-backup +backupdir
        """),
    Scenario("stop", """
        stop
        """),
]
