# SPDX-License-Identifier: BSD-2-Clause
"""Golden command lines of operators: secondary zones, backups, purging, freezing, and what the log says of them."""
from golden_scenario import SERVER, TEXTS, Scenario, small

PRIMARY = """server:
    rundir: {dir}
    listen: 127.0.0.1@{port}
database:
    storage: {dir}/state
acl:
  - id: all
    address: 127.0.0.0/8
    action: transfer
template:
  - id: default
    storage: {dir}
    file: "%s.zone"
    acl: all
    zonefile-load: difference
zone:
  - domain: second.test
  - domain: third.test
"""
SECONDARY = SERVER + """remote:
  - id: primary
    address: 127.0.0.1@{primary}
template:
  - id: default
    storage: {dir}
    file: "%s.zone"
acl:
  - id: all
    address: 127.0.0.0/8
    action: [transfer, notify]
zone:
  - domain: example
    acl: all
  - domain: second.test
    master: primary
    acl: all
  - domain: third.test
    master: primary
    notify: primary
"""
KEPT = SERVER + """template:
  - id: default
    storage: {dir}
    file: "%s.zone"
zone:
  - domain: example
  - domain: second.test
    zonefile-sync: -1
    journal-content: all
    zonefile-load: difference-no-serial
  - domain: third.test
  - domain: missing.test
"""

TEXTS |= {
    "second-3": small("second.test", 3, "www A 192.0.2.3\n"),
    "second-4": small("second.test", 4, "www A 192.0.2.4\n"),
    "third-6": small("third.test", 6),
}

OPERATOR_SCENARIOS = [
    Scenario("secondary", """
        = said second.test
        zone-status second.test
        zone-status third.test
        zone-status +role
        -e zone-status second.test
        -b zone-refresh example
        -b zone-retransfer example
        -b zone-refresh nowhere.test
        -b zone-retransfer nowhere.test
        -b zone-refresh
        -b zone-refresh --
        -b zone-retransfer --
        = said second.test
        = primary second.test.zone second-2
        -b zone-refresh second.test
        = said second.test
        = zone second.test
        zone-status second.test +serial
        -b zone-retransfer second.test
        = said second.test
        -b zone-refresh second.test third.test
        = said second.test
        -b zone-refresh second.test example nowhere.test
        -b zone-notify example
        -b zone-notify third.test
        -b zone-notify nowhere.test
        -b zone-notify
        -b -f zone-purge second.test +expire
        = said second.test
        -b zone-refresh second.test
        = wait second.test 2
        = said second.test
        -b -f zone-purge second.test +timers
        = said second.test
        zone-status second.test +events
        -b zone-refresh second.test
        zone-freeze second.test
        = said second.test
        zone-status second.test
        = primary second.test.zone second-3
        -b zone-refresh second.test
        = wait second.test 3
        = said second.test
        zone-thaw second.test
        = said second.test
        -b zone-reload second.test
        = said second.test
        -b zone-flush second.test
        = said second.test
        zone-begin second.test
        zone-set second.test new 60 A 192.0.2.1
        -b zone-commit second.test
        zone-status second.test +serial
        = said second.test
        """, conf=SECONDARY, files={"example.zone": "example-7"}, zones=("example", "second.test", "third.test"),
             primary=PRIMARY),
    Scenario("xfr-freeze", """
        zone-xfr-freeze
        zone-xfr-freeze example
        zone-xfr-freeze example
        zone-xfr-freeze nowhere.test
        zone-status example +freeze
        -e zone-status example +freeze
        zone-status example
        = said
        -b zone-reload example
        = said
        = restart example
        -e zone-status example +freeze
        = said example
        zone-xfr-thaw example
        zone-xfr-thaw example
        zone-xfr-thaw nowhere.test
        zone-xfr-thaw --
        = said
        zone-status example
        """, zones=("example", "second.test")),
    Scenario("backup", """
        zone-backup
        zone-restore
        zone-backup example
        -b zone-backup example +backupdir {dir}/b1
        = said
        = files b1
        -b zone-backup example +backupdir {dir}/b1
        = said
        -b zone-backup nowhere.test +backupdir {dir}/b2
        = said
        = files b2
        -b zone-backup +backupdir {dir}/b3 +journal +nozonefile
        = said
        = files b3
        -b zone-backup -- +backupdir {dir}/b4 +kaspdb +catalog +journal +timers +zonefile
        = said
        = files b4
        -b zone-backup example +backupdir {dir}/b5 +nokaspdb +nocatalog +nojournal +notimers +nozonefile
        = said
        = files b5
        zone-backup example +backupdir {dir}/b6 +zonefile +nozonefile
        zone-backup example +backupdir {dir}/b6 +timers +notimers
        zone-backup example +backupdir {dir}/b6 +kaspdb +nokaspdb
        zone-backup example +backupdir {dir}/b6 +catalog +nocatalog
        zone-backup example +backupdir {dir}/b6 +nonsense
        = said
        = files b6
        -b zone-backup example +backupdir {dir}/state
        -b zone-backup example +backupdir {dir}/knot.conf
        -b zone-backup example +backupdir relative
        -b zone-backup example +backupdir {dir}/not/there
        = said
        -b zone-restore example +backupdir {dir}/nowhere
        -b zone-restore example +backupdir {dir}/knot.conf
        -b zone-restore example +backupdir {dir}/state
        -b zone-restore example +backupdir {dir}
        -b zone-restore nowhere.test +backupdir {dir}/b1
        = said
        zone-begin second.test
        zone-set second.test new 60 A 192.0.2.1
        -b zone-backup second.test +backupdir {dir}/b7
        = said
        zone-abort second.test
        = write example.zone example-9
        -b zone-reload example
        = said example
        -b zone-restore example +backupdir {dir}/b1
        = said
        = wait example 7
        = zone example
        = file example.zone
        -b zone-restore +backupdir {dir}/b4
        = said
        -b zone-restore example +backupdir {dir}/b3 +journal +nozonefile
        = said
        = write b4/zonefiles/example.zone broken
        -b zone-restore example +backupdir {dir}/b4
        zone-status example +serial
        """, conf=KEPT, files={"example.zone": "example-7", "second.test.zone": "second-1", "third.test.zone": "third-5"},
             zones=("example", "second.test", "third.test")),
    Scenario("purge", """
        zone-purge example
        -f zone-purge
        -f -b zone-purge nowhere.test
        -f -b zone-purge example +journal
        = said
        -f -b zone-purge example +timers
        -f -b zone-purge example +kaspdb
        -f -b zone-purge example +catalog
        -f -b zone-purge example +timers +journal
        = said
        zone-status example
        -f -b zone-purge second.test +zonefile
        = said
        = file second.test.zone
        zone-status second.test
        -f -b zone-purge second.test +expire
        = said
        zone-status second.test
        -f -b zone-purge example +expire +zonefile +journal +timers +kaspdb +catalog
        = said
        zone-status example
        = file example.zone
        -f -b zone-purge third.test
        = said
        zone-status third.test
        -f -b zone-purge third.test
        = said
        -f -b zone-purge missing.test +expire
        -f -b zone-purge missing.test +zonefile
        = said
        -f zone-purge nowhere.test +orphan
        -f zone-purge NOWHERE.test +journal +orphan
        -f zone-purge example +orphan
        -f zone-purge -- +orphan
        -f zone-purge +orphan
        = said
        -f -b zone-purge --
        = said
        """, conf=KEPT, files={"example.zone": "example-7", "second.test.zone": "second-1", "third.test.zone": "third-5"},
             zones=("example", "second.test", "third.test")),
    Scenario("flush-freeze", """
        -b zone-flush
        = said
        -b zone-flush example
        -b -f zone-flush example
        -b -f zone-flush second.test
        -b zone-flush second.test
        -b zone-flush missing.test
        -b zone-flush nowhere.test
        = said
        -b zone-flush example +outdir {dir}/out
        -b zone-flush missing.test +outdir {dir}/out
        -b zone-flush example +outdir {dir}
        -b zone-flush +outdir {dir}/out/deep
        -b zone-flush example +outdir {dir}/no/such/deep
        = said
        = file out/example.zone
        zone-freeze example
        zone-freeze example
        zone-freeze nowhere.test
        zone-freeze --
        = said
        zone-status
        zone-status example +freeze
        -b zone-reload example
        -b zone-flush example
        = said
        = write example.zone example-8
        = hup
        = said example
        -b zone-reload example
        = said example
        zone-begin example
        zone-set example new 60 A 192.0.2.1
        -b zone-commit example
        = said example
        zone-thaw
        zone-thaw example
        zone-thaw nowhere.test
        = said
        zone-status example
        """, conf=KEPT, files={"example.zone": "example-7", "second.test.zone": "second-1", "third.test.zone": "third-5"},
             zones=("example", "second.test", "third.test")),
]
