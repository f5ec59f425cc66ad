#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A catalog zone and its members, which are transferred from one primary (tests/bench/many_primary.c), in turns with Debian's Knot DNS.

  from nothing  exec to the last transfer, and the answers of 1,000 members: a server with the catalog's file and an empty database
  restart       exec to the answers of 1,000 members; how many zones were transferred after a stop and another start: none has changed
  one more      a transaction of the catalog that adds a member: from its first byte to the answer of the new zone, which is
                transferred meanwhile; and until zone-commit has returned
  one less      a transaction that removes it: until it is not served any more
The primary and the client share the processors with the server. No member has a zone file. Bowline has the members' images after a restart; Knot DNS
would transfer all of them again, so that its journal keeps whole zones.

--acceptance measures the sizes that there are goals for, and ends with a table of them.
"""
import os
import random
import socket
import statistics
import subprocess
import sys
import time

import gen_zones
from bench_lib import goals, options, process, results, servers
from bench_lib.changes import ControlSession
from bench_lib.zones import WORK
from bench_refresh import Primary
from harness.server import BUILD, TOP

CATALOG = "catalog.test."
PROBES = 1000
GONE = (5, 9)      # REFUSED, NOTAUTH
WHAT = "A catalog zone and its members, which are transferred from one primary."
HEAD = "@ 0 SOA invalid. invalid. 1 3600 600 2147483646 0\n@ 0 NS invalid.\nversion 0 TXT \"2\"\n"
METRICS = (("nothing_s", "from nothing: until all members are served, s", 1, ",.2f"), ("nothing_cpu_s", "CPU of that, s", 1, ",.2f"),
           ("transfers", "zones that were transferred", 1, ",.0f"), ("again_s", "restart: until all members are served, s", 1, ",.2f"),
           ("again_transfers", "zones that were transferred again", 1, ",.0f"), ("per_zone_bytes", "memory per member, bytes", 1, ",.0f"),
           ("more_median_s", "one member more: until it is served, median ms", 1e-3, ",.1f"), ("more_max_s", "until it is served, longest ms", 1e-3, ",.1f"),
           ("commit_median_s", "until zone-commit has returned, median ms", 1e-3, ",.1f"), ("more_cpu_s", "CPU of the server for one more, ms", 1e-3, ",.1f"),
           ("less_median_s", "one member less: until it isn't served, median ms", 1e-3, ",.1f"))


def catalog_of(names):
    """Its file, made once per number."""
    path = WORK / f"catalog-{len(names)}.zone"
    if not path.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        with open(half, "w", encoding="ascii") as out:
            out.write(HEAD)
            out.writelines(f"{number:08x}.zones 0 PTR {name}\n" for number, name in enumerate(names))
        half.rename(path)
    return path


def setup_of(names, primary, keeps_journal):
    journal = "    zonefile-load: none\n    journal-content: all\n" if keeps_journal else ""
    text = (f"remote:\n  - id: p\n    address: 127.0.0.1@{primary.port}\nacl:\n  - id: p\n    address: 127.0.0.1\n    action: [notify, query]\n"
            f"template:\n  - id: default\n    zonefile-sync: -1\n  - id: member\n    zonefile-sync: -1\n    master: p\n    acl: p\n{journal}")
    zone = (f'zone:\n  - domain: {CATALOG}\n    file: "{catalog_of(names)}"\n    catalog-role: interpret\n    catalog-template: member\n'
            "    zonefile-load: difference\n    acl: p\n")
    return servers.Setup([], text=text, zone_text=zone, log="warning")


class Client:
    """Questions for the SOA of zones."""

    def __init__(self, server):
        self.socket, self.ident = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
        self.socket.connect((server.setup.address, server.port))

    def ask(self, name, timeout=0.1):
        """(rcode, True if there is an answer); None: no reply."""
        self.ident = (self.ident + 1) & 0xFFFF
        query = servers.question(name, 6, self.ident)
        self.socket.settimeout(timeout)
        try:
            self.socket.send(query)
            while (reply := self.socket.recv(4096))[:2] != query[:2]:
                pass
        except OSError:
            time.sleep(0.001)
            return None
        return reply[3] & 15, reply[7] == 1


def wait_served(server, client, names, primary, transfers, timeout=1800):
    """Seconds from exec until so many zones were transferred and a sample of the members is served."""
    probes = random.Random(3).sample(names, min(PROBES, len(names)))
    while primary.say("count")[3] < transfers:
        if server.process.poll() is not None or time.monotonic() - server.started > timeout:
            raise RuntimeError(f"{server.name}: {primary.say('count')[3]:,} of {transfers:,} zones were transferred: {server.log()[-2000:]}")
        time.sleep(0.02)
    while probes:
        if client.ask(probes[-1]) == (0, True):
            probes.pop()
        elif time.monotonic() - server.started > timeout:
            raise RuntimeError(f"{server.name} doesn't serve {probes[-1]}: {server.log()[-2000:]}")
    return time.monotonic() - server.started


def change(server, client, is_added, number, name, timeout=120):
    """(until the change is seen, until zone-commit has returned), seconds."""
    session, begin = ControlSession(server.dir / "run" / "knot.sock", 1), time.monotonic()
    session.send(CATALOG, [(is_added, f"more{number}.zones", "PTR", name if is_added else "")])
    seen = committed = None
    while None in (seen, committed):
        if committed is None:
            session.sock.settimeout(0.0005)
            try:
                if session.take():
                    committed = time.monotonic() - begin
                    if session.error:
                        raise RuntimeError(session.error)
            except TimeoutError:
                pass
        if seen is None and (got := client.ask(name, 0.001)) is not None and ((got == (0, True)) if is_added else got[0] in GONE):
            seen = time.monotonic() - begin
        if time.monotonic() - begin > timeout:
            raise RuntimeError(f"{name}: the change isn't served")
    session.close()
    return seen, committed


def changes(server, client, count, row):
    """Add members one after the other, then remove them."""
    added, commits, removed, cpu = [], [], [], []
    for number in range(count):
        before = process.cpu_clock(server.pid)
        seen, committed = change(server, client, True, number, f"more{number}.example.")
        time.sleep(0.1)     # what the change leaves to be done belongs to it
        cpu.append(process.cpu_clock(server.pid) - before)
        added.append(seen)
        commits.append(committed)
    for number in range(count):
        removed.append(change(server, client, False, number, f"more{number}.example.")[0])
    row.update(more_median_s=statistics.median(added), more_max_s=max(added), commit_median_s=statistics.median(commits),
               more_cpu_s=statistics.median(cpu), less_median_s=statistics.median(removed))


def turn(name, args, count):
    names, row = gen_zones.names(count), {}
    with Primary() as primary, servers.make(name, setup_of(names, primary, name == "knot")) as server:
        (server.dir / "db").mkdir(exist_ok=True)
        for path in (server.dir, server.dir / "db"):
            path.chmod(0o777)
        server.start()
        client = Client(server)
        row["nothing_s"] = wait_served(server, client, names, primary, count)
        row["nothing_cpu_s"] = process.cpu_clock(server.pid)
        process.settle(server.pid, 600)
        row["transfers"] = primary.say("count")[3]
        row["per_zone_bytes"] = process.memory(server.pid) / count
        server.stop()
        before = primary.say("count")
        server.start()
        row["again_s"] = wait_served(server, client, names, primary, 0)
        process.settle(server.pid, 600)
        after = primary.say("count")
        row["again_transfers"] = after[2] + after[3] - before[2] - before[3]
        changes(server, client, args.changes, row)
    return row


def main():
    parser = options.parser(__doc__, "bowline", turns=1)
    parser.add_argument("--acceptance", action="store_true", help="what there are goals for, and a table of them")
    parser.add_argument("--members", default="10000", metavar="N,...", help="[%(default)s]")
    parser.add_argument("--changes", type=int, default=20, metavar="N", help="members added, and removed, one after the other [%(default)s]")
    if "--acceptance" in sys.argv:
        parser.set_defaults(members="100000,1000000")
    args = parser.parse_args()
    subprocess.run(["make", "-C", str(BUILD), "-s", "tests/bench/many_primary"], check=True, cwd=TOP)
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    for count in map(int, args.members.split(",")):
        rows = options.in_turns(args.servers, args.turns, lambda name, n=count: turn(name, args, n), f"{count} members, ")
        turns[f"{count} members"] = rows
        shared = {name: [{k: row.get(k, -1) for k, *_ in METRICS} for row in made] for name, made in rows.items()}
        tables.append(results.metrics_table(f"A catalog of {count:,} members", options.medians(shared), METRICS))
    reached = goals.table({"catalog": {"turns": turns}})
    if reached is not None and args.acceptance:
        tables.append(reached)
    results.keep("catalog", WHAT, tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
