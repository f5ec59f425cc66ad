# SPDX-License-Identifier: BSD-2-Clause
"""What a scenario of the golden tests is: command lines of knotc that Knot DNS 3.2.6 and Bowline must answer alike, and where they start.

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
    = primary NAME TEXT   replace a file of the primary, which loads it
    = said [ZONE]         effect: what the log has got since the last look, in no order
    = files NAME          effect: files of a directory
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
    primary: str = ""                         # configuration of a server that the zones come from; Knot DNS in each world
