# SPDX-License-Identifier: BSD-2-Clause
"""ACL and TSIG beside the distribution's knotd: random rules and requests, the same rcode and the same signature of the reply.

SEED=n makes other cases, ACL_ZONES=n more of them.
"""
import collections
import os
import pathlib
import random
import tempfile

import pytest

from acl_cases import Reply, ask, configuration, random_request, random_zone
from harness.net import has_ipv6
from harness.server import Knotd
from harness.waiting import wait_until

PEER = "/usr/sbin/knotd"
SEED = int(os.environ.get("SEED", "1"))
ZONES, REQUESTS = int(os.environ.get("ACL_ZONES", "100")), 6
BADKEY = 17


def start(directory, program, zones, has_automatic):
    daemon = Knotd(directory, program=program)
    (daemon.dir / "db").mkdir()
    for zone in zones:
        daemon.write(f"{zone.name}zone", "@ 60 SOA ns admin 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n")
    text, server = configuration(zones, has_automatic)
    daemon.configure(text, listen=["127.0.0.1", *(["::1"] if has_ipv6() else [])], server=server)
    return daemon.start()


def expected(reply):
    """What later versions of Knot make of a reply of 3.2's, which adds an unsigned BADKEY to a request that the ACL denies."""
    return Reply(reply.rcode, reply.answers, None, False) if reply.tsig and reply.tsig[0] == BADKEY else reply


@pytest.mark.skipif(not os.path.exists(PEER), reason="knotd is not installed")
@pytest.mark.parametrize("has_automatic", [False, True], ids=["rules", "automatic"])
def test_as_knot(has_automatic):
    source = random.Random(f"{SEED} {has_automatic}")
    zones = [random_zone(source, number) for number in range(ZONES)]
    seen, faults = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="bowline-") as directory:
        top = pathlib.Path(directory)
        top.chmod(0o755)
        daemons = []
        try:
            daemons += [start(top / "ours", None, zones, has_automatic), start(top / "knot", PEER, zones, has_automatic)]
            ours, knot = daemons
            wait_until(lambda: knot.ask(zones[-1].name, "SOA").answer, "the last zone", 20)
            for zone in zones:
                for _ in range(REQUESTS):
                    request = random_request(source, zone)
                    want, got = expected(ask(knot.port, request)), ask(ours.port, request)
                    seen[request.action, want.rcode, want.tsig is not None] += 1
                    if want != got:
                        faults.append(f"{request}\n{zone.items}\n{''.join(zone.rules)}theirs {want}\nours {got}\n")
        finally:
            for daemon in daemons:
                daemon.finish()
    assert not faults, f"SEED={SEED}: {len(faults)} of {sum(seen.values())} differ:\n" + "\n".join(faults[:8])
    assert all(seen[action, rcode, is_signed] for action in ("query", "AXFR", "IXFR", "notify", "update") for rcode in (0, 9)
               for is_signed in (False, True)), seen
