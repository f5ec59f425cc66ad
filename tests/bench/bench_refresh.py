#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Many secondary zones of one primary (tests/bench/many_primary.c): a start at which every zone is to be refreshed.

The zones have their files, and no times: all refreshes are due at once. As soon as the secondary answers, the primary
changes a zone now and then and sends NOTIFY; a change counts from then until the secondary answers with the new serial.

  start     exec to the last answer to a question for a zone's SOA; once more without primaries, which is the load alone
  notify    NOTIFY to the new serial: median, 99 %, the longest; lost: not served after 10 seconds
  memory    anonymous and shared memory per zone, less that of the same zones without primaries
The secondary, the primary and the client share the processors.
"""
import json
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import time

import gen_zones
from bench_lib import options, process, results, servers
from bench_many_zones import folder_of
from harness.net import free_port
from harness.server import BUILD, TOP

PRIMARY = BUILD / "tests" / "bench" / "many_primary"
LATE_S = 10
PROVIDERS = 500      # gen_zones.py's
METRICS = (("load_s", "start without primaries, seconds", 1, ",.1f"), ("fresh_s", "start until all zones are fresh, seconds", 1, ",.1f"),
           ("cpu_s", "CPU of that, seconds", 1, ",.1f"), ("questions", "questions for SOA", 1, ",.0f"), ("connections", "connections", 1, ",.0f"),
           ("told", "NOTIFYs meanwhile", 1, ",.0f"), ("median_s", "NOTIFY until served, median ms", 1e-3, ",.1f"),
           ("p99_s", "NOTIFY until served, 99 % ms", 1e-3, ",.1f"), ("max_s", "NOTIFY until served, longest ms", 1e-3, ",.1f"),
           ("lost", "lost", 1, ",.0f"), ("state_b", "memory per zone for being secondary, bytes", 1, ",.0f"))


class Primary:
    def __init__(self):
        self.port = free_port()
        self.process = subprocess.Popen([PRIMARY, str(self.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


class Client:
    """NOTIFYs, and questions for the SOA of what was changed, until it is served."""

    def __init__(self, primary, port, names):
        self.primary, self.names, self.waiting, self.took, self.lost, self.told = primary, names, {}, [], 0, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(0.001)
        self.ident, self.random = 0, random.Random(5)

    def tell(self):
        index = self.random.randrange(len(self.names))
        name = self.names[index]
        if name in self.waiting:
            return
        serial = self.primary.say(f"change {name} {index % PROVIDERS}")[0]
        query = bytearray(servers.question(name, 6, 65535))
        query[2] = 0x24     # NOTIFY, AA
        self.waiting[name] = (serial, time.monotonic())
        self.told += 1
        self.send(bytes(query))

    def send(self, message):
        try:
            self.socket.send(message)
        except OSError:
            time.sleep(0.001)

    def ask(self):
        """One round of questions."""
        asked = {}
        for name, (serial, since) in list(self.waiting.items()):
            self.ident = (self.ident + 1) % 65535
            asked[self.ident] = (name, serial, since)
            self.send(servers.question(name, 6, self.ident))
        until = time.monotonic() + 0.005
        while asked and time.monotonic() < until:
            try:
                reply = self.socket.recv(4096)
            except OSError:
                continue
            name, serial, since = asked.pop(int.from_bytes(reply[:2], "big"), (None, 0, 0))
            now = time.monotonic()
            if name and reply[3] & 15 == 0 and reply[7] == 1 and serial.to_bytes(4, "big") in reply[-40:]:
                self.took.append(now - since)
                del self.waiting[name]
        for name, (serial, since) in list(self.waiting.items()):
            if time.monotonic() - since > LATE_S:
                self.lost += 1
                del self.waiting[name]

    def is_served(self, name):
        self.send(servers.question(name, 6, 65535))
        try:
            reply = self.socket.recv(4096)
        except OSError:
            return False
        return reply[3] & 15 == 0 and reply[7] == 1


def conf_of(folder, names, port, primary_port, top):
    master = "    master: p\n    acl: p\n" if primary_port else ""
    remote = f"remote:\n  - id: p\n    address: 127.0.0.1@{primary_port}\nacl:\n  - id: p\n    address: 127.0.0.1\n    action: notify\n" if primary_port else ""
    return (f"server:\n    rundir: {top}/run\n    listen: 127.0.0.1@{port}\nlog:\n  - target: {top}/log\n    any: info\n"
            f"database:\n    storage: {top}/db\n{remote}"
            f'template:\n  - id: default\n    storage: {folder}/zones\n    file: "%c[0-2]/%s.zone"\n    zonefile-sync: -1\n{master}'
            + gen_zones.zone_blocks(names))


def run(top, folder, names, primary, result):
    port = free_port()
    (top / "knot.conf").write_text(conf_of(folder, names, port, primary.port if primary else None, top))
    shutil.rmtree(top / "db" / "timers", ignore_errors=True)
    (top / "log").unlink(missing_ok=True)
    began = time.monotonic()
    server = subprocess.Popen([BUILD / "src" / "knotd" / "knotd", "-c", top / "knot.conf"], cwd=top, stdout=subprocess.DEVNULL)
    try:
        if primary is None:
            client = Client(None, port, names)
            probes = random.Random(3).sample(names, 1000)
            while probes:
                if client.is_served(probes[-1]):
                    probes.pop()
                if server.poll() is not None or time.monotonic() - began > 900:
                    raise RuntimeError("the zones weren't loaded")
            result["load_s"] = time.monotonic() - began
            process.settle(server.pid)
            result["plain_b"] = process.memory(server.pid) / len(names)
            return
        client = Client(primary, port, names)
        next_s, looked_s, answers = 0, 0, False
        while time.monotonic() - began < 900:
            now = time.monotonic()
            if server.poll() is not None:
                raise RuntimeError("the server ended")
            if now - looked_s > 0.2:
                looked_s = now
                questions = primary.say("count")
                if questions[0] >= len(names):
                    break
            if not answers:         # none before the zones are loaded, as ever
                answers = client.is_served(names[0])
            elif now > next_s and len(client.waiting) < 64:
                client.tell()
                next_s = now + 0.02
            client.ask()
        else:
            raise RuntimeError(f"of {len(names)} zones {questions[0]} were asked for")
        result["fresh_s"] = time.monotonic() - began
        result["cpu_s"] = sum(process.cpu(server.pid))
        while client.waiting:
            client.ask()
        questions = primary.say("count")
        took = sorted(client.took) or [-1]
        result.update(questions=questions[1], connections=questions[4], told=client.told, lost=client.lost, median_s=statistics.median(took),
                      p99_s=took[len(took) * 99 // 100], max_s=took[-1])
        process.settle(server.pid)
        result["state_b"] = process.memory(server.pid) / len(names) - result["plain_b"]
    finally:
        server.terminate()
        server.wait(300)


def turn(args, count):
    names, folder = gen_zones.names(count), folder_of(args, count)
    top = pathlib.Path(folder.parent) / "refresh"
    shutil.rmtree(top, ignore_errors=True)
    for path in (top, top / "run", top / "db"):
        path.mkdir(parents=True)
    result = {}
    run(top, folder, names, None, result)       # also makes what later starts begin with
    run(top, folder, names, None, result)
    with Primary() as primary:
        run(top, folder, names, primary, result)
    print(json.dumps(result), file=sys.stderr)
    shutil.rmtree(top, ignore_errors=True)
    return result


def main():
    parser = options.parser(__doc__, "bowline", turns=1)
    parser.add_argument("--zones", default="100000", metavar="N,...", help="[%(default)s]")
    args = parser.parse_args()
    args.include = 0
    subprocess.run(["make", "-C", str(BUILD), "-s", "tests/bench/many_primary"], check=True, cwd=TOP)
    load_before = f"{os.getloadavg()[0]:.1f}"
    turns, tables = {}, []
    for count in map(int, args.zones.split(",")):
        rows = options.in_turns(args.servers, args.turns, lambda name, n=count: turn(args, n), f"{count} zones, ")
        turns[f"{count} zones"] = rows
        shared = {name: [{k: row.get(k, -1) for k, *_ in METRICS} for row in made] for name, made in rows.items()}
        tables.append(results.metrics_table(f"{count:,} secondary zones of one primary", options.medians(shared), METRICS))
    results.keep("refresh", __doc__.split("\n", 2)[2], tables, [], turns, load_before)
    return 0


if __name__ == "__main__":
    sys.exit(main())
