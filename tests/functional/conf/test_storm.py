# SPDX-License-Identifier: BSD-2-Clause
"""Hundreds of commits that change zones, templates and modules while questions are asked: no wrong answer, none lost. And 100,000 zones
by one commit. Variable: SEED (of what is changed and asked, default 1)."""
import os
import random
import re
import socket
import threading
import time

import dns.message
import dns.rcode
import pytest

from conf_server import Conf, import_conf, start
from harness.net import inside
from harness.waiting import PATIENCE, wait_until
from zones import example

COME = ("come0.test", "come1.test", "come2.test", "come3.test")
ZONES = ("stay.test", "flip.test", *COME)
CONFIG = "template:\n  - id: default\n  - id: t\n    storage: {dir}/1\nmod-stats:\n  - id: s\n    query-type: on\n"

pytestmark = pytest.mark.ours

SEED = os.environ.get("SEED", "1")


def prepare(daemon):
    for serial in (1, 2):
        (daemon.dir / str(serial)).mkdir()
        for zone in ZONES:
            daemon.write(f"{serial}/{zone}.zone", example(serial).replace("$ORIGIN example.", f"$ORIGIN {zone}."))
    daemon.write("stay.test.zone", (daemon.dir / "1" / "stay.test.zone").read_text())


class Asker(threading.Thread):
    """Asks for the versions of zones, one question after the other."""

    def __init__(self, where, port, namespace, seed):
        super().__init__()
        self.where, self.port, self.namespace, self.dice = where, port, namespace, random.Random(seed)
        self.ends = threading.Event()
        self.asked = self.lost = 0
        self.wrong, self.seen = [], set()

    def may_be(self, zone, answer):
        if zone == "stay.test":
            return answer == "1"
        if zone == "flip.test":
            return answer in ("1", "2")
        return answer in ("REFUSED", "SERVFAIL", "1", "2")      # SERVFAIL: it is being loaded

    def run(self):
        with inside(self.namespace):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sock:
            sock.settimeout(10 * PATIENCE)
            sock.connect((self.where, self.port))
            while not self.ends.is_set():
                self.ask(sock, self.dice.choice(ZONES))

    def ask(self, sock, zone):
        query = dns.message.make_query(f"version.{zone}", "TXT")
        query.id = self.asked % 65536
        self.asked += 1
        try:
            sock.send(query.to_wire())
            reply = dns.message.from_wire(sock.recv(65535))
        except TimeoutError:
            self.lost += 1
            return
        text = dns.rcode.to_text(reply.rcode())
        answer = reply.answer[0][0].strings[0].decode() if reply.answer else text
        if reply.id != query.id or not self.may_be(zone, answer):
            self.wrong.append(f"{zone}: {answer} ({text})")
        self.seen.add((zone, answer))


def wait_seen(askers, wanted):
    """Until a client has got each of these answers, or a wrong one."""
    def missing():
        return wanted - {pair for asker in askers for pair in set(asker.seen)}
    wait_until(lambda: not missing() or any(asker.wrong or asker.lost for asker in askers), lambda: f"answers {sorted(missing())}", 20)


def storm(daemon, where, namespace, commits, seed):
    dice = random.Random(f"{seed} commits")
    askers = [Asker(where, daemon.port, namespace, f"{seed} {number}") for number in range(3)]
    for asker in askers:
        asker.start()
    there, took = set(), []
    try:
        with Conf(daemon) as conf:
            for number in range(commits):
                edits = [f"template[t].storage={daemon.dir}/{1 + number // 7 % 2}", f"server.identity={number}"]
                for zone in dice.sample(COME, 2):
                    if zone in there:
                        edits.append(f"-zone[{zone}]")
                        there.discard(zone)
                    else:
                        edits += [f"zone[{zone}]", f"zone[{zone}].template=t"]
                        there.add(zone)
                edits += dice.choice(([], ["template[t].module=mod-stats"], ["-template[t].module"] if number else [],
                                      ["template[default].global-module=mod-stats/s"], ["zone[stay.test].module=mod-stats"],
                                      ["-mod-stats.query-type"], ["mod-stats[s].query-type=on"], ["server.udp-max-payload=1400"]))
                conf.do("conf-begin")
                for edit in edits:      # what is not set can't be unset
                    error = conf.error("conf-unset" if edit.startswith("-") else "conf-set", edit.lstrip("-"))
                    assert error in ("", "not exists"), f"{edit}: {error}"
                begin = time.monotonic()
                conf.do("conf-commit")
                took.append(time.monotonic() - begin)
            # However few answers there were between commits on a busy machine: each state is seen in the end.
            conf.change("template[t].storage=" + f"{daemon.dir}/1", *(edit for zone in COME if zone not in there
                                                                     for edit in (f"zone[{zone}]", f"zone[{zone}].template=t")))
            wait_seen(askers, {("flip.test", "1"), *((zone, "1") for zone in COME)})
            conf.change(f"template[t].storage={daemon.dir}/2")
            wait_seen(askers, {("stay.test", "1"), ("flip.test", "2"), *((zone, "2") for zone in COME)})
    finally:
        for asker in askers:
            asker.ends.set()
        for asker in askers:
            asker.join()
    asked, lost = sum(a.asked for a in askers), sum(a.lost for a in askers)
    print(f"{commits} commits, the longest {max(took) * 1e3:.0f} ms; {asked} questions, {lost} lost; seed {seed}")
    assert not any(a.wrong for a in askers), [a.wrong[:5] for a in askers]
    assert lost == 0


@pytest.mark.threads
def test_storm(knotd):
    prepare(knotd)
    start(knotd, zones=["stay.test"], text=CONFIG)
    with Conf(knotd) as conf:
        conf.change("zone[flip.test]", "zone[flip.test].template=t")
    knotd.wait(lambda: knotd.ask("version.flip.test", "TXT").answer, what="flip.test")
    storm(knotd, "127.0.0.1", None, 300, SEED)


def test_storm_over_xdp(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    prepare(daemon)
    daemon.configure(control=daemon.PATIENT, zones=["stay.test"], listen=(), server=f"listen: [{pair.server4}@53]",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n" + CONFIG)
    import_conf(daemon)
    daemon.start()
    with Conf(daemon) as conf:
        conf.change("zone[flip.test]", "zone[flip.test].template=t")
    daemon.wait(lambda: daemon.ask("version.flip.test", "TXT", pair.server4, client=pair.client).answer, what="flip.test")
    storm(daemon, pair.server4, pair.client, 60, SEED)


def wait_loaded(daemon):
    daemon.wait(lambda: not re.search("load: (running|pending)", daemon.knotc("zone-status", "+events").stdout), 120, "the end of all loads")


def test_hundred_thousand_zones(knotd):
    """One commit; a following one of a single zone touches no other zone."""
    count = 100000
    prepare(knotd)
    start(knotd, "-m", "500", zones=["stay.test"], logging=False,
          text="log:\n  - target: stdout\n    server: info\n    zone: warning\n" + CONFIG.replace("{dir}/1", "{dir}"))
    knotd.write("many.zone", "@ 60 SOA a. b. 1 2 3 4 5\n@ 60 NS a.\n@ 60 TXT \"1\"\n")
    asker = Asker("127.0.0.1", knotd.port, None, 1)
    asker.dice.choice = lambda _: "stay.test"
    with Conf(knotd) as conf:
        conf.do("conf-begin")
        conf.do("conf-set", f"template[t].file={knotd.dir}/many.zone")
        for first in range(0, count, 5000):
            names = [f"n{number}.test" for number in range(first, first + 5000)]
            conf.do("conf-set", *(edit for name in names for edit in (f"zone[{name}]", f"zone[{name}].template=t")))
        asker.start()
        try:
            begin = time.monotonic()
            conf.do("conf-commit")
            all_of_them = time.monotonic() - begin
            knotd.wait(lambda: knotd.ask(f"n{count - 1}.test", "TXT").answer, 60, "the last zone")
            wait_loaded(knotd)
            mark, begin = len(knotd.log()), time.monotonic()
            conf.change("zone[one-more.test]", "zone[one-more.test].template=t", "log[stdout].zone=info")
            one = time.monotonic() - begin
            knotd.wait(lambda: knotd.ask("one-more.test", "TXT").answer, 60, "one more zone")
            wait_loaded(knotd)
            wait_until(lambda: asker.asked > 10 or asker.lost, "questions that were asked")
        finally:
            asker.ends.set()
            asker.join()
    print(f"{count} zones: {all_of_them:.2f} s; one more: {one * 1e3:.0f} ms; {asker.asked} questions meanwhile")
    assert not asker.wrong and asker.lost == 0
    assert set(re.findall(r"\[(\S+)\]", knotd.log()[mark:])) == {"one-more.test."}
    knotd.stop(timeout=60)
    begin = time.monotonic()
    knotd.start()
    knotd.wait(knotd.is_answering, 60, "an answer")
    print(f"started in {time.monotonic() - begin:.1f} s")
    assert knotd.ask("n77777.test", "TXT").answer
