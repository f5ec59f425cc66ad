# SPDX-License-Identifier: BSD-2-Clause
"""Everything that changes or looks at a running server at the same time: commits of the configuration, edits of zones, reloads by signal
and by command, `top`, metrics, statistics files, clients that go. The only refusal that they may get is that another one has a transaction; nothing else goes
wrong, nothing stays behind, and the server ends in the middle of it. For longer: STORM_SECONDS=60; with other dice: SEED=2."""
import os
import random
import signal
import socket
import threading
import time
import urllib.request

import dns.message
import pytest

from conf_server import Conf, start
from harness.control import BLOCK, Client, unit
from harness.net import free_port
from harness.waiting import PATIENCE
from zones import example

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

SECONDS = float(os.environ.get("STORM_SECONDS", "4"))
SEED = os.environ.get("SEED", "1")
PATIENT_S = 30 * PATIENCE
STAY, COME = ("stay0.test", "stay1.test"), ("come0.test", "come1.test", "come2.test")


class Storm:
    def __init__(self, daemon, metrics_port, seed):
        self.daemon, self.metrics_port, self.seed = daemon, metrics_port, seed
        self.ends = threading.Event()
        self.wrong, self.counts, self.threads = [], {}, []
        self.is_stopping = False

    def add(self, work, number=0):
        def run():
            dice = random.Random(f"{self.seed} {work.__name__} {number}")
            while not self.ends.is_set():
                try:
                    work(self, dice)
                except Exception as error:  # pylint: disable=broad-except
                    if isinstance(error, ConnectionError) and self.daemon.process.poll() is None:
                        continue    # the server makes room for others by closing what is idle
                    if not self.is_stopping:
                        self.wrong.append(f"{work.__name__}: {error!r}")
                    return
                self.counts[work.__name__] = self.counts.get(work.__name__, 0) + 1
        self.threads.append(threading.Thread(target=run))

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(4 * PATIENT_S)     # what it waits for has a bound of its own
            assert not thread.is_alive()


def error_of(units):
    return next((items["error"] for _, items in units if "error" in items), "")


def change_conf(storm, dice):
    with Conf(storm.daemon) as conf:
        if conf.error("conf-begin") != "":
            return
        for zone in dice.sample(COME, 2):
            if conf.error("conf-unset", f"zone[{zone}]") != "":
                conf.error("conf-set", f"zone[{zone}]", f"zone[{zone}].module={dice.choice(('mod-stats', 'mod-stats/s'))}")
        conf.error("conf-set", f"server.identity={dice.randrange(1000)}")
        if dice.random() < 0.2:
            conf.error("conf-set", "key[k]")    # a commit of this fails
        last = dice.choice(("conf-commit", "conf-commit", "conf-commit", "conf-abort", "conf-diff", "conf-get"))
        conf.block(last)
        if last != "conf-commit" or conf.error("conf-abort") != "":
            conf.error("conf-abort")


def change_zone(storm, dice):
    zone = dice.choice(STAY + COME)
    with Client(storm.daemon.socket) as client:
        error = error_of(client.ask(cmd="zone-begin", zone=zone))
        if error != "":
            return
        for _ in range(dice.randrange(4)):
            client.ask(cmd="zone-set", zone=zone, owner=f"n{dice.randrange(50)}", ttl="60", type="A", data="192.0.2.7")
        client.ask(cmd=dice.choice(("zone-get", "zone-diff", "zone-status")), zone=zone)
        last = dice.choice(("zone-commit", "zone-commit", "zone-abort", "zone-purge"))
        client.ask(cmd=last, zone=zone, **({"flags": "F", "filters": "e"} if last == "zone-purge" else {}))
        client.ask(cmd="zone-abort", zone=zone)
        if last == "zone-purge":
            client.ask(cmd="zone-reload", zone=zone)


def change_serial(storm, dice):
    with Client(storm.daemon.socket) as client:
        zone = dice.choice(STAY)
        client.ask(cmd=dice.choice(("zone-freeze", "zone-thaw", "zone-flush", "zone-reload")), zone=zone)
        client.ask(cmd="zone-serial-set", zone=zone, type="+", data="1")
        client.ask(cmd="zone-thaw", zone=zone)


def reload(storm, dice):
    if dice.random() < 0.5:
        storm.daemon.process.send_signal(dice.choice((signal.SIGHUP, signal.SIGHUP, signal.SIGUSR1)))
    else:
        with Client(storm.daemon.socket) as client:
            client.ask(cmd="reload")
    time.sleep(dice.random() / 20)     # at any moment


def look(storm, dice):
    with Client(storm.daemon.socket) as client:
        for _ in range(dice.randrange(1, 4)):
            assert error_of(client.ask(cmd="top")) == ""
            time.sleep(dice.random() / 50)     # pace


def scrape(storm, dice):
    where = f"http://127.0.0.1:{storm.metrics_port}/metrics?zones={dice.choice(('on', 'off', 'only'))}"
    with urllib.request.urlopen(where, timeout=PATIENT_S) as reply:
        assert b"knot_" in reply.read()


def ask(storm, dice):
    name = f"n{dice.randrange(60)}.{dice.choice(STAY + COME)}"
    if dice.random() < 0.3:
        storm.daemon.ask(name, "A", tcp=True, timeout=PATIENT_S)
        return
    query, end = dns.message.make_query(name, "A").to_wire(), time.monotonic() + PATIENT_S
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.5)
        sock.connect(("127.0.0.1", storm.daemon.port))
        sock.send(query)
        while True:
            try:
                assert sock.recv(65535)[:2] == query[:2]
                return
            except TimeoutError:
                # No client reports that the server has ended meanwhile.
                if storm.is_stopping or time.monotonic() > end:
                    raise


def read(storm, dice):
    with Client(storm.daemon.socket) as client:
        client.ask(cmd=dice.choice(("stats", "zone-status", "zone-stats", "conf-read", "conf-list", "zone-read", "status", "zone-image")),
                   **({"filters": "t"} if dice.random() < 0.1 else {}))


def go_away(storm, dice):
    """Half a block, or no look at the reply."""
    with Client(storm.daemon.socket) as client:
        request = unit(cmd=dice.choice(("conf-set", "zone-set", "zone-read", "conf-read", "top", "zone-status", "conf-begin", "conf-abort")),
                       zone=STAY[0], section="server", item="identity", data="x", owner="n1", type="A") + BLOCK
        client.send(request[:dice.randrange(1, len(request) + 1)])


def prepare(daemon):
    port = free_port()
    for zone in STAY + COME:
        daemon.write(f"{zone}.zone", example(1).replace("$ORIGIN example.", f"$ORIGIN {zone}."))
    start(daemon, zones=STAY, server=f"metrics-listen: 127.0.0.1@{port}",
          text="""\
template:
  - id: default
    storage: {dir}
    zonefile-sync: 1
statistics:
    timer: 1
    file: {dir}/stats.yaml
mod-stats:
  - id: s
    query-type: on
""")
    return port


def run(daemon, seconds, with_stop):
    storm = Storm(daemon, prepare(daemon), SEED)
    for work in (change_conf, change_conf, change_zone, change_zone, change_serial, reload, look, look, scrape, ask, read, go_away):
        storm.add(work, len(storm.threads))
    try:
        for thread in storm.threads:
            thread.start()
        time.sleep(seconds)     # how long the storm lasts
        if with_stop:
            storm.is_stopping = True
            assert daemon.stop(timeout=60) == 0
    finally:
        storm.end()
    print(f"seed {storm.seed}: " + ", ".join(f"{count} {name}" for name, count in sorted(storm.counts.items())))
    assert not storm.wrong, storm.wrong
    return storm


def connections(path):
    """How many connections to a UNIX socket are open at the listener's side, those not accepted yet among them."""
    with open("/proc/net/unix", encoding="utf-8") as table:
        return sum(line.split()[7:] == [str(path)] for line in table) - 1


def test_everything_together(knotd):
    run(knotd, SECONDS, False)
    # What those who went away had sent may still be done, a begin among it.
    knotd.wait(lambda: connections(knotd.socket) == 0, 60, lambda: f"the end of {connections(knotd.socket)} connections")
    with Client(knotd.socket) as client, Conf(knotd) as conf:
        client.ask(cmd="zone-abort")
        conf.error("conf-abort")
        assert error_of(client.ask(cmd="reload")) == ""
        there = {items["id"].rstrip(".") for _, items in conf.block("conf-list", "zone")}
        conf.change("server.identity=calm", *(f"zone[{zone}]" for zone in COME if zone not in there))
        for zone in STAY + COME:
            client.ask(cmd="zone-thaw", zone=zone)
            client.ask(cmd="zone-reload", zone=zone, flags="B")
            assert error_of(client.ask(cmd="zone-serial-set", zone=zone, type="+", data="1")) == ""
            assert error_of(client.ask(cmd="zone-begin", zone=zone)) == ""
    for zone in STAY + COME:
        assert knotd.ask(zone, "SOA").answer


def test_end_in_the_middle(knotd):
    run(knotd, SECONDS / 2, True)
