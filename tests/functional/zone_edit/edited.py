# SPDX-License-Identifier: BSD-2-Clause
"""A zone that tests edit, and what they look at."""
import re

ZONE = """\
$ORIGIN example.
$TTL 3600
@ SOA ns1 admin 5 3600 600 86400 60
@ NS ns1
ns1 A 192.0.2.1
www 300 A 192.0.2.80
www AAAA 2001:db8::1
mail MX 10 www
sub NS ns.sub
ns.sub A 192.0.2.9
alias CNAME www
"""


def start(daemon, zones=("example",), items="", database=True, **others):
    """A daemon with these zones, whose template has more items. others: of configure()."""
    for zone in zones:
        if not (daemon.dir / f"{zone}.zone").exists():
            daemon.write(f"{zone}.zone", ZONE.replace("example", zone))
    text = "template:\n  - id: default\n" + "".join(f"    {item}\n" for item in ["zone-max-size: 100M", *items.splitlines()])
    daemon.configure(zones=list(zones), text=text, **others)
    if database:
        (daemon.dir / "db").mkdir(exist_ok=True)
    daemon.start()
    daemon.wait(lambda: serial(daemon, zones[-1]) is not None, 10, "the zones")
    return daemon


def serial(daemon, zone="example"):
    match = re.search(r"serial: (\d+)", daemon.knotc("zone-status", zone, "+serial").stdout)
    return int(match.group(1)) if match else None


def edit(daemon, *changes, zone="example", commit=()):
    """One transaction: each change is the words behind the zone's name, with '-' in front to remove."""
    daemon.knotc("zone-begin", zone)
    for change in changes:
        words = change.split()
        if words[0] == "-":
            daemon.knotc("zone-unset", zone, *words[1:])
        else:
            daemon.knotc("zone-set", zone, *words)
    daemon.knotc(*commit, "zone-commit", zone)


def records(daemon, *words, zone="example", command="zone-read"):
    """Lines of records without the zone in front."""
    text = daemon.knotc(command, zone, *words).stdout
    return [re.sub(r"^\[\S+\] ", "", line) for line in text.splitlines() if line]


def addresses(daemon, name, zone="example"):
    answer = daemon.ask(f"{name}.{zone}", "A").answer
    return sorted(record.address for rrset in answer for record in rrset if hasattr(record, "address"))
