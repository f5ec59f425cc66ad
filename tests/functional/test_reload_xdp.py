# SPDX-License-Identifier: BSD-2-Clause
"""Reload of a big zone under load over AF_XDP: nothing is lost, no answer mixes two versions."""
import os
import re
import threading

import dns.message
import pytest

from harness.load import kxdpgun

NAMES = 100_000
RATE = 5_000        # queries/s; far below what gets lost for other reasons
SECONDS = 8
RING = 16384        # three seconds of queries: a busy machine may keep a worker waiting


def zone(serial):
    """Every part of an answer about `mix` says which version it is from: answer, authority (none), additional."""
    lines = ["$ORIGIN example.", "$TTL 60", f"@ SOA ns1 admin {serial} 3600 600 86400 60", "@ NS ns1", "ns1 A 192.0.2.1",
             f"mix MX 1 a{serial}", f"mix MX 2 b{serial}", f"mix MX 3 c{serial}"]
    lines += [f"{x}{serial} A 10.0.0.{serial}" for x in "abc"]
    lines += [f"{x}{serial} AAAA 2001:db8::{serial:x}" for x in "abc"]
    lines += [f"h{n} A 10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in range(NAMES)]
    return "\n".join(lines) + "\n"


def publish(daemon, serial):
    daemon.write("new", zone(serial)).rename(daemon.dir / "example.zone")
    daemon.knotc("-b", "zone-reload", "example", timeout=60)


def load(daemon, pair, queries):
    """(queries that came to the server, those of them that it didn't answer) of one kxdpgun run at the fixed rate. What kxdpgun itself doesn't
    see in time, or never sent, is not the server's."""
    def counts():
        stats = daemon.stats()
        return [stats.get(f"xdp.{name}[{pair.server_if}]", 0) for name in ("redirected-udp4", "sent-udp4", "rx_full", "rx_dropped")]

    before = counts()
    kxdpgun(pair, queries, SECONDS, RATE)

    def moved():
        return [after - first for first, after in zip(before, counts())]

    def is_settled():
        came, sent, *lost = moved()
        return sent + sum(lost) >= came
    daemon.wait(is_settled, what="an end of each query that came")
    came, sent, *_ = moved()
    return came, came - sent


@pytest.mark.threads
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_reload_under_load(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", zone(1))
    daemon.configure(zones=["example"], listen=(), server=f"listen: {pair.server4}@53", text=f"xdp:\n    listen: {pair.server_if}@53\n    ring-size: {RING}\n")
    daemon.start()
    queries = daemon.write("queries", "".join(f"h{n * 37 % NAMES}.example. A E\n" for n in range(20000)))
    _, lost_without = load(daemon, pair, queries)

    stop, faults, asked, reloads = threading.Event(), [], [0], [0]

    def versions(answer):
        """Each version that any record of the answer is from."""
        found = set()
        for rrset in [*answer.answer, *answer.additional]:
            found |= {int(re.search(r"\d+$", text).group()) for text in
                      ([r.exchange.labels[0].decode() for r in rrset] if rrset.rdtype == 15 else [rrset.name.labels[0].decode()])}
            if rrset.rdtype == 1:
                found |= {int(r.address.rsplit(".", 1)[1]) for r in rrset}
        return found

    def client():
        last = 0
        while not stop.is_set():
            # kxdpgun takes all replies to ports from 2000 up.
            answer = daemon.exchange(dns.message.make_query("mix.example", "MX", use_edns=0), pair.server4,
                                     client=pair.client, source_port=1000 + asked[0] % 900)
            asked[0] += 1
            found = versions(answer)
            if len(found) != 1 or min(found) < last or len(answer.answer[0]) != 3 or len(answer.additional) != 6:
                faults.append(f"versions {found} after {last}:\n{answer}")
                return
            last = min(found)

    def reloader():
        serial = 2
        while not stop.is_set():
            publish(daemon, serial)
            reloads[0] += 1
            serial += 1

    def noting(work):
        try:
            work()
        except Exception as error:  # pylint: disable=broad-except
            faults.append(f"{work.__name__}: {error!r}")

    threads = [threading.Thread(target=noting, args=(work,)) for work in (client, reloader)]
    for thread in threads:
        thread.start()
    try:
        daemon.wait(lambda: reloads[0] >= 1 and asked[0] > 100 or faults, timeout=20, what="a reload and answers")
        came, lost = load(daemon, pair, queries)
        # One that was under way with the load, however long it lasts.
        daemon.wait(lambda: reloads[0] >= 2 or faults, timeout=20, what="a second reload")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(f"{reloads[0]} reloads, {came} queries, lost {lost}, without reload {lost_without}; {asked[0]} answers looked at")
    assert not faults, faults[0]
    assert came > RATE * SECONDS // 4
    assert lost <= lost_without + came // 10000
