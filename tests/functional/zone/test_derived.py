# SPDX-License-Identifier: BSD-2-Clause
"""Zones that are made of others, reverse-generate and include-from, follow them: commits, files, transfers, starts."""
import re
import signal

import pytest

pytestmark = [pytest.mark.core, pytest.mark.ours, pytest.mark.threads]

HEAD = "$TTL 60\n@ SOA ns.example. admin.example. {serial} 3600 600 86400 60\n@ NS ns.example.\n"
REVERSE = "2.0.192.in-addr.arpa"
REMOTES = "remote:\n  - id: r\n    address: 127.0.0.1@{port}\nacl:\n  - id: a\n    address: 127.0.0.1\n    action: [transfer, notify, update]\n"


def write(daemon, name, text="", serial=1):
    daemon.write(f"{name}.zone", HEAD.format(serial=serial) + text)


def zones(daemon, blocks, before=""):
    """blocks: name to more items, in order."""
    daemon.configure(before + "zone:\n" + "".join(f"  - domain: {name}\n    storage: {daemon.dir}\n" + "".join(f"    {item}\n" for item in items)
                                                  for name, items in blocks.items()))


def read(daemon, zone, kinds="PTR|A|AAAA|TXT|CNAME|NS|MX|DNAME"):
    """Records but for those of the apex."""
    lines = [line.partition("] ")[2] for line in daemon.knotc("zone-read", zone).stdout.splitlines()]
    return sorted(line for line in lines if re.fullmatch(rf"\S+ \d+ ({kinds}) .*", line) and not line.startswith(f"{zone}. "))


def serial(daemon, zone):
    return int(daemon.knotc("zone-read", zone, "@", "SOA").stdout.split(" SOA ")[1].split()[2])


def pointer(last, target, ttl=60):
    return f"{last}.{REVERSE}. {ttl} PTR {target}."


def has(daemon, zone, want):
    daemon.wait(lambda: read(daemon, zone) == sorted(want), 10, f"{zone} with {sorted(want)}, it has {read(daemon, zone)}")


def commit(daemon, zone, *edits):
    daemon.knotc("zone-begin", zone)
    for edit in edits:
        words = edit.split()
        daemon.knotc("zone-set" if words[0] == "+" else "zone-unset", zone, *words[1:])
    daemon.knotc("zone-commit", zone)


def start(daemon, reverse=(), **files):
    write(daemon, "example", files.get("example", "www 300 A 192.0.2.1\nout A 10.0.0.1\nwww AAAA 2001:db8::1\n"))
    write(daemon, REVERSE, files.get("reverse", "9 PTR by.hand.\n"))
    zones(daemon, {"example": (), REVERSE: ("reverse-generate: example", *reverse)})
    return daemon.start()


def test_reverse_follows_commits(knotd):
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    first = serial(knotd, REVERSE)
    commit(knotd, "example", "+ mail 60 A 192.0.2.25", "- out")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), pointer(25, "mail.example")])
    assert serial(knotd, REVERSE) == first + 1
    commit(knotd, "example", "- www A", "- mail")
    has(knotd, REVERSE, [pointer(9, "by.hand")])
    # What isn't about addresses in the zone is no change of it.
    knotd.wait(lambda: "pending" not in knotd.knotc("zone-status", REVERSE).stdout)
    after = serial(knotd, REVERSE)
    commit(knotd, "example", "+ x 60 TXT y", "+ y 60 A 10.0.0.2")
    commit(knotd, "example", "+ new 60 A 192.0.2.7")
    has(knotd, REVERSE, [pointer(7, "new.example"), pointer(9, "by.hand")])
    assert serial(knotd, REVERSE) == after + 1
    # The file is the zone's own part.
    assert "PTR by.hand" in (knotd.dir / f"{REVERSE}.zone").read_text() and "example. PTR" not in (knotd.dir / f"{REVERSE}.zone").read_text()
    assert "new.example" not in (knotd.dir / f"{REVERSE}.zone").read_text()


def test_addresses_of_ip6(knotd):
    write(knotd, "example", "www AAAA 2001:db8::1\nwww A 192.0.2.1\n")
    write(knotd, "8.b.d.0.1.0.0.2.ip6.arpa")
    zones(knotd, {"8.b.d.0.1.0.0.2.ip6.arpa": ("reverse-generate: example",), "example": ()})
    knotd.start()
    has(knotd, "8.b.d.0.1.0.0.2.ip6.arpa", ["1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa. 60 PTR www.example."])


def test_include_follows_commits(knotd):
    write(knotd, "example", "www A 192.0.2.1\nsub NS ns.sub\nns.sub A 192.0.2.9\n")
    write(knotd, "sub.example", "@ TXT apex\nx A 192.0.2.2\n")
    zones(knotd, {"example": ("include-from: sub.example",), "sub.example": ()})
    knotd.start()
    own = "www.example. 60 A 192.0.2.1"
    has(knotd, "example", [own, 'sub.example. 60 TXT "apex"', "x.sub.example. 60 A 192.0.2.2"])
    commit(knotd, "sub.example", "+ y 5 TXT z", "- x")
    has(knotd, "example", [own, 'sub.example. 60 TXT "apex"', 'y.sub.example. 5 TXT "z"'])
    # What is the source's is as the source has it; the rest is free.
    commit(knotd, "example", "- y.sub", "+ z.sub 60 A 192.0.2.3", "+ mail 60 A 192.0.2.4")
    has(knotd, "example", [own, "mail.example. 60 A 192.0.2.4", 'sub.example. 60 TXT "apex"', 'y.sub.example. 5 TXT "z"'])


def test_edits_of_a_reverse_zone(knotd):
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    commit(knotd, REVERSE, "- 1", "+ 3 60 PTR other.hand.", "+ 4 60 PTR wrong.example.", "+ 5 60 TXT x")
    want = [pointer(1, "www.example", 300), pointer(3, "other.hand"), f'5.{REVERSE}. 60 TXT "x"', pointer(9, "by.hand")]
    has(knotd, REVERSE, want)
    before = serial(knotd, REVERSE)
    # They outlive a start, with the image and without it, and a change of the source.
    for folder in ("images", "nothing"):
        knotd.stop()
        for path in (knotd.dir / "db" / folder).glob("*") if (knotd.dir / "db" / folder).is_dir() else ():
            path.unlink()
        knotd.start()
        has(knotd, REVERSE, want)
        assert serial(knotd, REVERSE) == before
    commit(knotd, "example", "+ www 60 A 192.0.2.8")
    has(knotd, REVERSE, [pointer(1, "www.example"), *want[1:], pointer(8, "www.example")])


def test_the_file_changes(knotd):
    """Reloading takes what differs in the file, and leaves what comes from others."""
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    before = serial(knotd, REVERSE)
    # Of its own: a name in the source without the address, and an alias in the place of an address.
    write(knotd, REVERSE, "8 PTR by.hand.\n7 PTR none.example.\n1 CNAME 1.0/25\n", serial=1)
    knotd.knotc("-b", "zone-reload", REVERSE)
    has(knotd, REVERSE, [f"1.{REVERSE}. 60 CNAME 1.0/25.{REVERSE}.", pointer(7, "none.example"), pointer(8, "by.hand")])
    assert serial(knotd, REVERSE) == before + 1
    commit(knotd, "example", "+ none 60 A 192.0.2.70")
    has(knotd, REVERSE, [f"1.{REVERSE}. 60 CNAME 1.0/25.{REVERSE}.", pointer(7, "none.example"), pointer(70, "none.example"), pointer(8, "by.hand")])
    write(knotd, REVERSE, "")
    knotd.knotc("-b", "zone-reload", REVERSE)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(70, "none.example")])


def test_a_file_of_a_source_changes(knotd):
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    write(knotd, "example", "ftp A 192.0.2.21\n", serial=2)
    knotd.knotc("-b", "zone-reload", "example")
    has(knotd, REVERSE, [pointer(9, "by.hand"), pointer(21, "ftp.example")])


def test_chain(knotd):
    """example includes sub.example, which is made of two zones below it; the reverse zone is made of all that."""
    write(knotd, "example", "www A 192.0.2.1\n")
    write(knotd, "sub.example", "own A 192.0.2.2\n")
    write(knotd, "a.sub.example", "x A 192.0.2.3\n")
    write(knotd, REVERSE)
    zones(knotd, {REVERSE: ("reverse-generate: example",), "example": ("include-from: sub.example",),
                  "sub.example": ("include-from: a.sub.example",), "a.sub.example": ()})
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.example"), pointer(2, "own.sub.example"), pointer(3, "x.a.sub.example")])
    commit(knotd, "a.sub.example", "- x", "+ y 9 A 192.0.2.4")
    has(knotd, REVERSE, [pointer(1, "www.example"), pointer(2, "own.sub.example"), pointer(4, "y.a.sub.example", 9)])


def test_loop(knotd):
    """Zones that are made of each other neither wait for ever nor change for ever."""
    write(knotd, "a.arpa", "www A 192.0.2.1\n")
    write(knotd, REVERSE, "x A 192.0.2.2\n")
    write(knotd, "arpa", "y A 192.0.2.3\n")
    zones(knotd, {"arpa": (f"reverse-generate: [{REVERSE}, a.arpa]",), "a.arpa": ("reverse-generate: arpa",),
                  REVERSE: ("reverse-generate: [a.arpa, arpa]",)})
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.a.arpa"), pointer(3, "y.arpa"), f"x.{REVERSE}. 60 A 192.0.2.2"])
    has(knotd, "arpa", [pointer(1, "www.a.arpa"), pointer(2, f"x.{REVERSE}"), "y.arpa. 60 A 192.0.2.3"])
    serials = [serial(knotd, zone) for zone in ("arpa", "a.arpa", REVERSE)]
    commit(knotd, "a.arpa", "+ new 60 A 192.0.2.9")
    has(knotd, "arpa", [pointer(1, "www.a.arpa"), pointer(2, f"x.{REVERSE}"), pointer(9, "new.a.arpa"), "y.arpa. 60 A 192.0.2.3"])
    has(knotd, REVERSE, [pointer(1, "www.a.arpa"), pointer(3, "y.arpa"), pointer(9, "new.a.arpa"), f"x.{REVERSE}. 60 A 192.0.2.2"])
    assert [serial(knotd, zone) for zone in ("arpa", "a.arpa", REVERSE)] == [number + 1 for number in serials]


def test_a_source_that_comes_later(knotd):
    """The first contents wait; what there is stays while a source has nothing."""
    write(knotd, REVERSE, "9 PTR by.hand.\n")
    zones(knotd, {"example": (), REVERSE: ("reverse-generate: example",)})
    knotd.start()
    knotd.wait_log(rf"\[{REVERSE}\.\] waiting for source forward zone 'example'")
    assert "example" not in knotd.knotc("zone-read", REVERSE, check=False).stdout
    write(knotd, "example", "www A 192.0.2.1\n")
    knotd.knotc("-b", "zone-reload", "example")
    has(knotd, REVERSE, [pointer(1, "www.example"), pointer(9, "by.hand")])
    assert "error" not in knotd.knotc("zone-status", REVERSE, "+failed").stdout
    before = serial(knotd, REVERSE)
    knotd.stop()
    (knotd.dir / "example.zone").rename(knotd.dir / "away")
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.example"), pointer(9, "by.hand")])
    commit(knotd, REVERSE, "+ 5 60 TXT x")
    has(knotd, REVERSE, [pointer(1, "www.example"), f'5.{REVERSE}. 60 TXT "x"', pointer(9, "by.hand")])
    assert serial(knotd, REVERSE) == before + 1
    (knotd.dir / "away").rename(knotd.dir / "example.zone")
    write(knotd, "example", "www A 192.0.2.2\n", serial=2)
    knotd.knotc("-b", "zone-reload", "example")
    has(knotd, REVERSE, [pointer(2, "www.example"), f'5.{REVERSE}. 60 TXT "x"', pointer(9, "by.hand")])


def test_other_sources(knotd):
    """What a reload adds to the sources, and takes out of them."""
    write(knotd, "other", "o A 192.0.2.40\n")
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    commit(knotd, REVERSE, "+ 5 60 TXT x")
    for sources, want in (("[example, other]", [pointer(1, "www.example", 300), pointer(40, "o.other")]), ("other", [pointer(40, "o.other")])):
        zones(knotd, {"example": (), "other": (), REVERSE: (f"reverse-generate: {sources}",)})
        knotd.knotc("reload")
        knotd.wait(lambda want=want: [line for line in read(knotd, REVERSE) if "TXT" not in line] == sorted([*want, pointer(9, "by.hand")]), 10, str(want))
    zones(knotd, {"example": (), "other": (), REVERSE: ("reverse-generate: nowhere",)})
    knotd.knotc("reload")
    knotd.wait_log("zone to reverse 'nowhere' does not exist")
    knotd.wait(lambda: [line for line in read(knotd, REVERSE) if "TXT" not in line] == [pointer(9, "by.hand")])


def test_a_source_leaves_the_configuration(knotd):
    """What came from it goes when the zone is reloaded, and comes again with it."""
    write(knotd, "other", "o A 192.0.2.40\n")
    write(knotd, "example", "www 300 A 192.0.2.1\n")
    write(knotd, REVERSE, "9 PTR by.hand.\n")
    zones(knotd, {"example": (), "other": (), REVERSE: ("reverse-generate: [example, other]",)})
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), pointer(40, "o.other")])
    zones(knotd, {"example": (), REVERSE: ("reverse-generate: [example, other]",)})
    knotd.knotc("reload")
    commit(knotd, "example", "+ x 60 A 192.0.2.2")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(2, "x.example"), pointer(9, "by.hand"), pointer(40, "o.other")])
    knotd.knotc("-b", "zone-reload", REVERSE)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(2, "x.example"), pointer(9, "by.hand")])
    zones(knotd, {"example": (), "other": (), REVERSE: ("reverse-generate: [example, other]",)})
    knotd.knotc("reload")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(2, "x.example"), pointer(9, "by.hand"), pointer(40, "o.other")])


def test_sources_changed_while_the_server_was_stopped(knotd):
    write(knotd, "other", "o A 192.0.2.40\n")
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    knotd.stop()
    zones(knotd, {"example": (), "other": (), REVERSE: ("reverse-generate: other",)})
    knotd.start()
    has(knotd, REVERSE, [pointer(9, "by.hand"), pointer(40, "o.other")])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_made_again_after_a_start(knotd, how):
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    commit(knotd, "example", "+ mail 60 A 192.0.2.25")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), pointer(25, "mail.example")])
    before = serial(knotd, REVERSE)
    knotd.stop(how) if how == signal.SIGTERM else knotd.process.kill()
    if how == signal.SIGKILL:
        knotd.process.wait()
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), pointer(25, "mail.example")])
    # Until it has been looked at: then a change of a source makes one version.
    commit(knotd, "example", "+ new 60 A 192.0.2.26")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), pointer(25, "mail.example"), pointer(26, "new.example")])
    assert serial(knotd, REVERSE) == before + 1


def test_many_commits_become_few(knotd):
    start(knotd, reverse=("update-delay: 2",))      # of 100 ms a slow machine makes no two
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    before = serial(knotd, REVERSE)
    for number in range(40):
        commit(knotd, "example", f"+ n{number} 60 A 192.0.2.{100 + number}")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand"), *(pointer(100 + n, f"n{n}.example") for n in range(40))])
    assert serial(knotd, REVERSE) - before < 40


def test_secondaries_of_both_kinds(make_knotd):
    """Source and reverse zone come from a primary; another secondary gets the result by IXFR."""
    primary, ours, last = make_knotd(name="p"), make_knotd(name="s"), make_knotd(name="l")
    write(primary, "example", "www A 192.0.2.1\n")
    write(primary, REVERSE, "9 PTR by.hand.\n7 PTR none.example.\n")
    zones(primary, {name: ("acl: a", "notify: r", "zonefile-load: difference-no-serial", "journal-content: all") for name in ("example", REVERSE)},
          REMOTES.format(port=ours.port))
    both = REMOTES.format(port=primary.port).replace("acl:\n", f"  - id: l\n    address: 127.0.0.1@{last.port}\nacl:\n")
    zones(ours, {"example": ("master: r", "acl: a"), REVERSE: ("master: r", "acl: a", "notify: l", "reverse-generate: example")}, both)
    zones(last, {REVERSE: ("master: r", "acl: a")}, REMOTES.format(port=ours.port))
    for daemon in (last, ours, primary):
        daemon.start(ready=False)
    for daemon in (last, ours, primary):
        daemon.wait_ready()
    want = [pointer(1, "www.example"), pointer(7, "none.example"), pointer(9, "by.hand")]
    for daemon in (ours, last):
        daemon.wait(lambda daemon=daemon: read_if_any(daemon) == sorted(want), 30, f"{want}")
    commit(primary, "example", "+ new 60 A 192.0.2.5")
    for daemon in (ours, last):
        has(daemon, REVERSE, [*want, pointer(5, "new.example")])
    last.wait_log(r"IXFR, incoming.* finished")
    before = serial(ours, REVERSE)
    # What only the primary of the reverse zone knows.
    commit(primary, REVERSE, "+ 3 60 TXT x", "- 7", "- 9")
    want = [pointer(1, "www.example"), f'3.{REVERSE}. 60 TXT "x"', pointer(5, "new.example")]
    for daemon in (ours, last):
        has(daemon, REVERSE, want)
    assert serial(ours, REVERSE) == before + 1
    # A start without the primary.
    ours.stop()
    primary.stop()
    ours.start()
    has(ours, REVERSE, want)
    assert serial(ours, REVERSE) == before + 1


def read_if_any(daemon):
    return read(daemon, REVERSE) if daemon.knotc("zone-read", REVERSE, check=False).returncode == 0 else None


def test_a_secondary_after_a_start(make_knotd):
    """What goes while the primary's own records aren't known goes when they are."""
    primary, ours = make_knotd(name="p"), make_knotd(name="s")
    write(primary, REVERSE, "9 PTR by.hand.\n7 PTR none.example.\n")
    zones(primary, {REVERSE: ("acl: a", "notify: r")}, REMOTES.format(port=ours.port))
    write(ours, "example", "www A 192.0.2.1\nftp A 192.0.2.2\n")
    zones(ours, {"example": (), REVERSE: ("master: r", "acl: a", "reverse-generate: example")}, REMOTES.format(port=primary.port))
    primary.start()
    ours.start()
    want = [pointer(1, "www.example"), pointer(2, "ftp.example"), pointer(7, "none.example"), pointer(9, "by.hand")]
    ours.wait(lambda: read_if_any(ours) == sorted(want), 30, f"{want}")
    ours.stop()
    write(ours, "example", "www A 192.0.2.1\n", serial=2)
    ours.start()
    has(ours, REVERSE, [pointer(1, "www.example"), pointer(7, "none.example"), pointer(9, "by.hand")])


def test_no_longer_made_of_others(knotd):
    """Without the item a reload leaves what the file says."""
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    commit(knotd, "example", "+ new 60 A 192.0.2.5")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(5, "new.example"), pointer(9, "by.hand")])
    zones(knotd, {"example": (), REVERSE: ()})
    knotd.knotc("reload")
    has(knotd, REVERSE, [pointer(9, "by.hand")])
    commit(knotd, "example", "+ newer 60 A 192.0.2.6")
    zones(knotd, {"example": (), REVERSE: ("reverse-generate: example",)})
    knotd.knotc("reload")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(5, "new.example"), pointer(6, "newer.example"), pointer(9, "by.hand")])
    assert "example." not in re.sub("ns.example.|admin.example.", "", (knotd.dir / f"{REVERSE}.zone").read_text())


def test_an_expired_source(knotd, make_knotd):
    """What came from a source stays while that has no contents."""
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    knotd.knotc("-f", "zone-purge", "example", "+expire")
    commit(knotd, REVERSE, "+ 5 60 TXT x")
    has(knotd, REVERSE, [pointer(1, "www.example", 300), f'5.{REVERSE}. 60 TXT "x"', pointer(9, "by.hand")])
    write(knotd, "example", "www A 192.0.2.2\n", serial=5)
    knotd.knotc("-b", "zone-reload", "example")
    has(knotd, REVERSE, [pointer(2, "www.example"), f'5.{REVERSE}. 60 TXT "x"', pointer(9, "by.hand")])


def test_members_of_a_catalog(make_knotd):
    """The sources are listed by a catalog: there and gone again."""
    knotd = make_knotd(name="c")
    write(knotd, REVERSE, "9 PTR by.hand.\n")
    write(knotd, "m", "www A 192.0.2.1\n")
    write(knotd, "cat", 'version TXT "2"\nx.zones PTR m.\n')
    zones(knotd, {"cat": ("catalog-role: interpret", "catalog-template: t"), REVERSE: ("reverse-generate: m",)},
          f"template:\n  - id: t\n    storage: {knotd.dir}\n")
    (knotd.dir / "db").mkdir(exist_ok=True)
    knotd.start()
    has(knotd, REVERSE, [pointer(1, "www.m"), pointer(9, "by.hand")])
    commit(knotd, "m", "+ new 60 A 192.0.2.2")
    has(knotd, REVERSE, [pointer(1, "www.m"), pointer(2, "new.m"), pointer(9, "by.hand")])


def test_a_frozen_zone_waits(knotd):
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    knotd.knotc("-b", "zone-freeze", REVERSE)
    commit(knotd, "example", "- www")
    commit(knotd, "example", "+ www 60 A 192.0.2.3")
    assert pointer(1, "www.example", 300) in read(knotd, REVERSE)
    knotd.knotc("-b", "zone-thaw", REVERSE)
    has(knotd, REVERSE, [pointer(3, "www.example"), pointer(9, "by.hand")])


def test_what_a_reload_would_change(knotd):
    """zone-diff +file knows that the file is only a part of the zone."""
    start(knotd)
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])
    assert knotd.knotc("zone-diff", REVERSE, "+file").stdout == ""
    write(knotd, REVERSE, "8 PTR by.hand.\n")
    assert [line.partition("] ")[2] for line in knotd.knotc("zone-diff", REVERSE, "+file").stdout.splitlines()] == \
        ["-" + pointer(9, "by.hand"), "+" + pointer(8, "by.hand")]
    has(knotd, REVERSE, [pointer(1, "www.example", 300), pointer(9, "by.hand")])


def test_a_guard_rail_holds_a_version_back(knotd):
    """A source that is emptied doesn't empty the reverse zone, unless that is forced."""
    addresses = "".join(f"n{n} A 192.0.2.{n}\n" for n in range(10, 60))
    start(knotd, ("publish-max-shrink: 50",), example=addresses)
    want = [*(pointer(n, f"n{n}.example") for n in range(10, 60)), pointer(9, "by.hand")]
    has(knotd, REVERSE, want)
    write(knotd, "example", "n10 A 192.0.2.10\n", serial=2)
    knotd.knotc("-b", "zone-reload", "example")
    knotd.wait_log("guard rail, new version not published")
    assert read(knotd, REVERSE) == sorted(want)
    assert "guard rail" in knotd.knotc("zone-status", REVERSE, "+failed").stdout
    done = knotd.knotc("-b", "zone-reload", REVERSE, check=False)
    assert done.returncode != 0 and "guard rail" in done.stdout
    assert read(knotd, REVERSE) == sorted(want)
    knotd.knotc("-b", "-f", "zone-reload", REVERSE)
    assert read(knotd, REVERSE) == sorted([pointer(9, "by.hand"), pointer(10, "n10.example")])


@pytest.mark.parametrize("items, said", [
    (("include-from: other",), "zone in 'include-from' is not below the zone"),
    (("include-from: example",), "zone in 'include-from' is not below the zone"),
    (("reverse-generate: example",), "zone in 'reverse-generate' is the zone itself"),
    (("include-from: a.example", "reverse-generate: other"), "'include-from' and 'reverse-generate' cannot be specified together"),
    (("include-from: a.example", "catalog-role: generate"), "generated catalog zones have neither 'include-from' nor 'reverse-generate'"),
])
def test_bad_configurations(knotd, items, said):
    zones(knotd, {"example": items})
    done = knotd.knotc("-c", str(knotd.dir / "knot.conf"), "conf-check", check=False)
    assert done.returncode != 0 and said in done.stdout + (done.stderr or '')
