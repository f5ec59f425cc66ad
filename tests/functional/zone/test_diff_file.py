# SPDX-License-Identifier: BSD-2-Clause
"""zone-diff +file: what a reload would change, without a change."""
import pytest

pytestmark = [pytest.mark.core, pytest.mark.ours]

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin 10 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\nwww 300 A 192.0.2.80\n"


def start(daemon):
    daemon.write("example.zone", ZONE)
    daemon.configure(zones=["example"])
    return daemon.start()


def diff(daemon, zone="example"):
    done = daemon.knotc("zone-diff", zone, "+file", check=False)
    return done.returncode, [line.removeprefix("[example.] ") for line in done.stdout.splitlines()]


def read(daemon):
    return daemon.knotc("zone-read", "example").stdout


def test_what_a_reload_would_change(knotd):
    start(knotd)
    before = read(knotd)
    assert diff(knotd) == (0, [])
    knotd.write("example.zone", ZONE.replace(" 10 ", " 11 ").replace("www 300", "www 900").replace("ns1 A 192.0.2.1", "ns1 A 192.0.2.1\nnew A 192.0.2.5"))
    expected = ["-example. 60 SOA ns1.example. admin.example. 10 3600 600 86400 60", "-www.example. 300 A 192.0.2.80",
                "+example. 60 SOA ns1.example. admin.example. 11 3600 600 86400 60", "+new.example. 60 A 192.0.2.5", "+www.example. 900 A 192.0.2.80"]
    assert diff(knotd) == (0, expected)
    assert read(knotd) == before                           # dry
    knotd.knotc("-b", "zone-reload", "example")
    assert diff(knotd) == (0, []) and "www.example. 900 A" in read(knotd)


def test_beside_an_open_transaction(knotd):
    """The file is compared with what is served; the transaction is another matter, and stays."""
    start(knotd)
    knotd.knotc("zone-begin", "example")
    knotd.knotc("zone-set", "example", "mail", "60", "A", "192.0.2.25")
    knotd.write("example.zone", ZONE.replace("www 300 A 192.0.2.80\n", ""))
    assert diff(knotd) == (0, ["-www.example. 300 A 192.0.2.80"])
    assert knotd.knotc("zone-diff", "example").stdout.splitlines() == ["[example.] +mail.example. 60 A 192.0.2.25"]


@pytest.mark.parametrize("content, said", [(None, "example.zone'"), (ZONE + "bad A 192.0.2.256\n", "line 7"), (ZONE.replace("@ SOA", "x SOA"), "SOA")])
def test_a_file_that_could_not_be_loaded(knotd, content, said):
    start(knotd)
    before = read(knotd)
    if content is None:
        (knotd.dir / "example.zone").unlink()
    else:
        knotd.write("example.zone", content)
    status, lines = diff(knotd)
    assert status == 1 and len(lines) == 1 and lines[0].startswith("error: ") and said in lines[0], lines
    assert read(knotd) == before
    assert "error" not in knotd.knotc("zone-status", "example", "+failed").stdout


def test_nothing_is_served(knotd):
    start(knotd)
    knotd.knotc("-f", "zone-purge", "example", "+expire")
    status, lines = diff(knotd)
    assert status == 1 and "empty" in lines[0], lines
    status, lines = diff(knotd, "nowhere")
    assert status == 1 and "no such zone found" in lines[0], lines
