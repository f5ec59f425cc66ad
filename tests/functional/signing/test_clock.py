# SPDX-License-Identifier: BSD-2-Clause
"""A clock that jumps, while the server runs and before it starts: what is served stays valid for those whose clock is right, keys stay, and the log says it. By libfaketime."""
import pathlib

import dns.rcode
import pytest

from test_pkcs11 import Manager, add
from test_signing import check, configure, contents, serial, signatures, tags, update, write

LIBRARY = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
DAY = 86400
pytestmark = [pytest.mark.ours, pytest.mark.skipif(LIBRARY is None, reason="libfaketime is not installed")]
POLICY = ["zsk-lifetime: 30d", "propagation-delay: 5", "dnskey-ttl: 5", "zone-max-ttl: 20"]


class Clock:
    """Of daemons that it starts, and of no other program."""

    def __init__(self, folder):
        self.path = folder / "time"
        self.environment = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(self.path), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        self.set(0)

    def set(self, seconds):
        new = self.path.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        new.rename(self.path)

    def start(self, daemon):
        daemon.start(environment=self.environment)
        daemon.wait(lambda: serial(daemon) is not None, what="the zone")


@pytest.fixture
def clock(directory):
    return Clock(directory)


def begin(make_knotd, clock, *more):
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    configure(daemon, [*POLICY, *more])
    clock.start(daemon)
    return daemon


def keys(daemon):
    return Manager(daemon.dir).list()


def test_forward_while_it_runs(make_knotd, clock):
    """A year ahead: signatures are made again, as they seem to have expired, but no key goes or comes before caches have forgotten what was served."""
    daemon = begin(make_knotd, clock)
    before, old = keys(daemon), check(daemon)
    clock.set(366 * DAY)
    daemon.wait_log(r"clock was set from \d{4}-\S+Z to \d{4}-\S+Z \(\+1Y1D", timeout=15)
    daemon.wait_log("DNSSEC, successfully signed", count=2, timeout=30)
    assert keys(daemon) == before
    assert tags(daemon) == {key["tag"] for key in before.values()}
    zone = contents(daemon)
    assert not signatures(zone) & signatures(old)
    daemon.wait(lambda: len(keys(daemon)) > len(before), timeout=60, what="the rollover that is due, later")
    assert set(before) < set(keys(daemon)) and tags(daemon) >= {key["tag"] for key in before.values()}
    daemon.stop()   # its signatures are of the future


def test_back_while_it_runs(make_knotd, clock):
    """A year back: what would be signed now would have expired for everyone else, so nothing is, unless an operator forces it."""
    daemon = begin(make_knotd, clock)
    before, old = keys(daemon), check(daemon)
    clock.set(-366 * DAY)
    daemon.wait_log(r"clock was set from \d{4}-\S+Z to \d{4}-\S+Z \(-1Y1D", timeout=15)
    daemon.wait_log("guard rail, new version not published \\(the clock is behind: it shows ", timeout=30)
    assert "the clock is behind" in daemon.knotc("zone-status", "example", "+error").stdout
    assert update(daemon, add("new")) == dns.rcode.SERVFAIL
    assert keys(daemon) == before and signatures(check(daemon)) == signatures(old)
    clock.set(0)
    assert update(daemon, add("new")) == dns.rcode.NOERROR
    check(daemon)
    daemon.wait(lambda: "the clock is behind" not in daemon.knotc("zone-status", "example", "+error").stdout, what="no fault")
    assert keys(daemon) == before


def test_back_by_minutes_is_nothing(make_knotd, clock):
    daemon = make_knotd()
    write(daemon)
    (daemon.dir / "db").mkdir()
    configure(daemon, ["manual: on", "nsec3: on"])
    for role in ("yes", "no"):
        Manager(daemon.dir).do("example.", "generate", f"ksk={role}", "algorithm=13", "publish=-1d", "ready=-1d" if role == "yes" else "publish=-1d", "active=-1d")
    clock.start(daemon)
    clock.set(-600)
    daemon.wait_log(r"clock was set from .* \(-10m", timeout=15)
    assert update(daemon, add("new")) == dns.rcode.NOERROR
    daemon.knotc("-b", "zone-sign", "example")
    daemon.wait(lambda: contents(daemon).get_rdataset("new.example.", "A"), what="the change")
    check(daemon)


def test_behind_at_start(make_knotd, clock):
    """A machine without a battery: the zone is served as it was, and signed when the clock is right."""
    daemon = begin(make_knotd, clock)
    before, old = keys(daemon), check(daemon)
    daemon.stop()
    clock.set(-366 * DAY)
    clock.start(daemon)
    daemon.wait_log("the clock is behind: it shows ", timeout=30)
    assert keys(daemon) == before and signatures(check(daemon)) == signatures(old)
    clock.set(0)
    daemon.wait_log("DNSSEC, zone is up-to-date", timeout=30)
    assert keys(daemon) == before
    assert update(daemon, add("new")) == dns.rcode.NOERROR
    check(daemon)


def test_ahead_at_start(make_knotd, clock):
    """Signatures have expired, be it for the clock or as the server was off: they are made again, keys wait."""
    daemon = begin(make_knotd, clock)
    before = keys(daemon)
    daemon.stop()
    clock.set(366 * DAY)
    clock.start(daemon)
    daemon.wait_log(r"DNSSEC, signatures had expired at \S+, and the clock shows \S+, keys are not rolled for \d+ seconds", timeout=30)
    daemon.wait_log("DNSSEC, successfully signed", count=2, timeout=30)
    assert keys(daemon) == before
    daemon.knotc("-b", "zone-sign", "example")
    assert keys(daemon) == before, "another run, with signatures that are valid by now, doesn't roll either"
    daemon.wait(lambda: len(keys(daemon)) > len(before), timeout=60, what="the rollover that is due, later")
    daemon.stop()


def test_forced_by_an_operator(make_knotd, clock):
    """The clock was wrong before: force signs by the one that is right, and no key loses its timers."""
    daemon = begin(make_knotd, clock)
    before = keys(daemon)
    clock.set(2 * DAY)
    daemon.wait_log(r"clock was set from .* \(\+2D", timeout=15)
    daemon.knotc("-b", "zone-sign", "example")
    ahead = contents(daemon)
    clock.set(0)
    daemon.wait_log(r"clock was set from .* \(-2D", timeout=15)
    daemon.wait_log("the clock is behind", timeout=30)
    daemon.knotc("-f", "-b", "zone-sign", "example")
    daemon.wait(lambda: not signatures(contents(daemon)) & signatures(ahead), what="other signatures")
    check(daemon)
    assert keys(daemon) == before
