# SPDX-License-Identifier: BSD-2-Clause
"""kxdpgun over sockets: a scripted server whose faults must all be found, real servers, lists and recordings, profiles, bad input."""
import base64
import re
import signal
import struct
import subprocess
import time

import dns.edns
import dns.message
import pytest

from harness.responder import Responder, answer_with
from harness.net import run as run_command
from harness.waiting import PATIENCE, wait_until
from zones import many

import gun

pytestmark = [pytest.mark.ours, pytest.mark.core]

ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns host 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n"
NAMES = 50


def write_queries(directory, text=None):
    path = directory / "queries"
    path.write_text(text or "".join(f"h{n}.example A\n" for n in range(NAMES)))
    return path


def write_zone(directory):
    path = directory / "example.zone"
    path.write_text(ZONE + "".join(f"h{n} A 192.0.2.7\n" for n in range(NAMES)))
    return path


def shoot(directory, port, *arguments, queries=None, **options):
    return gun.load("--sockets", "--threads", 1, *arguments, queries=queries or write_queries(directory), target=f"127.0.0.1@{port}", **options)


good = answer_with("192.0.2.7")


def test_each_fault_has_its_count(directory):
    """Of a hundred queries one each is lost, answered twice, late, under another id, with another question, not DNS, and truncated."""
    def script(number, query, wire):
        reply = good(query).to_wire()
        kind = number % 100
        if kind == 1:
            return []
        if kind == 2:
            return [(reply, 0), (reply, 0)]
        if kind == 3:
            return [(reply, 6)] if number < 300 else []     # so that it comes before the end
        if kind == 4:
            return [(bytes([reply[0] ^ 0x55]) + reply[1:], 0), (reply, 0)]
        if kind == 5:
            return [(reply.replace(b"example", b"exbmple", 1), 0), (reply, 0)]
        if kind == 6:
            return [(b"\0\1garbage", 0), (wire, 0), (reply, 0)]
        if kind == 7:
            return [(reply[:2] + bytes([reply[2] | 2]) + reply[3:], 0)]
        return [(reply, 0)]

    with Responder(script) as responder:
        counts = shoot(directory, responder.port, "-t", 2.5, "-Q", 400, "--timeout", 5, "-b", 1).counts
    came = responder.count
    of = [sum(number % 100 == kind for number in range(1, came + 1)) for kind in range(8)]
    late = sum(number % 100 == 3 for number in range(1, min(came, 299) + 1))
    assert counts["sent"] == came and gun.is_load(came, 1000, 1)
    assert counts["lost"] == of[1] + of[3] and counts["matched"] == came - counts["lost"]
    assert counts["late"] == late
    assert counts["duplicate"] == of[2]
    assert counts["unexpected"] == of[4] + of[5]
    assert counts["malformed"] == 2 * of[6]
    assert counts["truncated"] == of[7]
    assert counts["replies"] == counts["matched"] + late + of[2] + of[4] + of[5] + 2 * of[6]


@pytest.mark.parametrize("every", [10, 700])
def test_wrong_answers_are_found(directory, every):
    bad = answer_with("192.0.2.8")
    with Responder(lambda number, query, wire: [((bad if number % every == 0 else good)(query).to_wire(), 0)]) as responder:
        report = shoot(directory, responder.port, "-t", 2, "-Q", 500, "--timeout", 5, "--verify", write_zone(directory), "--show-wrong", 5)
    counts = report.counts
    assert counts["matched"] == counts["verified"] == counts["sent"] >= every
    assert counts["wrong"] == counts["sent"] // every
    shown = report.of("wrong_answer")
    assert len(shown) == min(5, counts["wrong"])
    assert "192.0.2.7" in shown[0]["expected"] and "192.0.2.8" in shown[0]["came"]
    assert shown[0]["question"].endswith(".example. A") and "records missing" in shown[0]["fault"]


def test_pauses_are_seen_as_they_are(directory):
    """A server that pauses 100 ms of each second: a tenth of queries wait for up to 100 ms, evenly. The truth is computed from the pauses."""
    begin = []

    def script(number, query, wire):
        if not begin:
            gun.go_first()
            begin.append(time.monotonic())
        passed = (time.monotonic() - begin[0]) % 1
        if passed > 0.9:
            time.sleep(1 - passed)      # the pause that is measured
        return [(good(query).to_wire(), 0)]

    with Responder(script) as responder:
        report = shoot(directory, responder.port, "-t", 5, "-Q", 500, "-b", 1, "--timeout", 5, "--latency", directory / "table", goes_first=True)
    assert report.counts["matched"] == report.counts["sent"]
    # The load of the machine can only add: bounds are generous above, and tight below.
    assert report.latency["p50"] < 50e6
    assert 85e6 < report.latency["p99"] < 200e6
    assert 92e6 < report.latency["max"] < 300e6
    rows = [line.split() for line in (directory / "table").read_text().splitlines() if line and line.lstrip()[0].isdigit()]
    share = next(float(row[1]) for row in rows if float(row[0]) >= 20)
    assert 0.85 < share < 0.935     # 8 % wait for more than 20 ms


@pytest.mark.parametrize("protocol", [[], ["-T"], ["-TR"]])
def test_real_server(make_knotd, directory, protocol):
    daemon = make_knotd()
    daemon.write("example.zone", many("example.", 500))
    daemon.configure(zones=["example"])
    daemon.start()
    queries = write_queries(directory, "".join(f"h{n}.example A\nno{n}.example TXT D\n" for n in range(500)))
    report = gun.load("--sockets", "--threads", 2, *protocol, "-t", 1, "-Q", 2000, "--timeout", 10, "--verify", daemon.dir / "example.zone", "--zipf", 1,
                      queries=queries, target=f"127.0.0.1@{daemon.port}")
    assert report.counts["matched"] == report.counts["verified"] == report.counts["sent"] and gun.is_load(report.counts["sent"], 2000)
    assert report.counts["wrong"] == report.counts["lost"] == 0
    assert set(report.sum["response_rcodes"]) == {"NOERROR", "NXDOMAIN"}


def test_random_names(directory):
    seen = []

    def script(number, query, wire):
        seen.append(query.question[0].name.to_text())
        return [(good(query).to_wire(), 0)]

    with Responder(script) as responder:
        counts = shoot(directory, responder.port, "-t", 1, "-Q", 300, "--timeout", 5, "--random", "r-").counts
        assert counts["matched"] == counts["sent"] == len(seen) and gun.is_load(len(seen), 300)
        assert len(set(seen)) == len(seen) and all(name.startswith("r-") for name in seen)
        first = list(seen)
        seen.clear()
        shoot(directory, responder.port, "-t", 1, "-Q", 300, "--random", "r-")
        both = min(len(seen), len(first))       # a machine that is busy sends less in its second
        assert both >= 30 and seen[:both] == first[:both]       # the same seed
        seen.clear()
        shoot(directory, responder.port, "-t", 1, "-Q", 300, "--random", "r-", "--seed", 2)
        assert not set(seen) & set(first)


def test_ramp(directory):
    with Responder(lambda number, query, wire: [(good(query).to_wire(), 0)] if number <= 450 else []) as responder:
        report = shoot(directory, responder.port, "--ramp", "100:300:100:1", "--knee", "1:4000", "--timeout", 5, "-b", 1, goes_first=True)
    steps = report.of("ramp_step")
    assert [(step["rate"], step["due"], step["good"]) for step in steps] == [(100, 100, True), (200, 200, True), (300, 300, False)]
    assert steps[2]["matched"] < 300
    assert report.of("ramp_knee")[0]["rate"] == 200
    assert not report.of("ramp_knee")[0]["may_be_higher"]


def test_ramp_of_a_late_generator(directory):
    """A generator that had no CPU doesn't blame the server: the knee says that it was late itself."""
    def shoot_stopped(*arguments):
        words = gun.command("--sockets", "--threads", 1, "--ramp", "100:200:100:1", "--knee", "1:200", "--timeout", 5, "-b", 1, *arguments,
                            queries=write_queries(directory), target=f"127.0.0.1@{responder.port}")
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            wait_until(lambda: count > 20, "queries")
            process.send_signal(signal.SIGSTOP)
            time.sleep(1)   # how long it has no CPU
            process.send_signal(signal.SIGCONT)
            return process.communicate(timeout=60 * PATIENCE)[0]

    def script(_number, query, _wire):
        nonlocal count
        count += 1
        return [(good(query).to_wire(), 0)]

    count = 0
    with Responder(script) as responder:
        report = gun.Report(shoot_stopped("-j"))
        knee, steps = report.of("ramp_knee")[0], report.of("ramp_step")
        assert knee["generator_late"] and knee["send_delay_p99_ns"] > 100_000_000
        assert knee["send_delay_p99_ns"] == next(step for step in steps if not step["good"])["send_delay_p99_ns"]   # that of the step in question
        count = 0
        assert re.search(r"^knee: .*\nthe generator itself was late, by p99 \S+ \S*s: it had too little CPU", shoot_stopped(), re.M)


def pcap(times):
    """A recording of queries over UDP on loopback, raw IP."""
    packets = b""
    for number, when in enumerate(times):
        message = dns.message.make_query(f"h{number}.example", "A").to_wire()
        udp = struct.pack("!HHHH", 4444, 53, 8 + len(message), 0) + message
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, b"\x7f\0\0\1", b"\x7f\0\0\1") + udp
        packets += struct.pack("<IIII", int(when), round(when % 1 * 1e6), len(ip), len(ip)) + ip
    return struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101) + packets


def test_recordings(directory):
    path = directory / "queries.pcap"
    path.write_bytes(pcap([1000, 1000.5, 1001.5, 1003]))
    came = []

    def script(number, query, wire):
        if not came:
            gun.go_first()
        came.append((time.monotonic(), query.question[0].name.to_text()))
        return [(good(query).to_wire(), 0)]

    with Responder(script) as responder:
        counts = shoot(directory, responder.port, "--pcap", "--times", "-t", 4.4, queries=path, goes_first=True).counts
        assert counts["sent"] == counts["matched"] == 5     # it begins again after the mean of its pauses
        assert [name for _, name in came] == [f"h{n}.example." for n in (0, 1, 2, 3, 0)]
        gaps = [b[0] - a[0] for a, b in zip(came, came[1:])]
        assert all(abs(gap - want) < 0.24 for gap, want in zip(gaps, [0.5, 1, 1.5, 1]))
        path.write_bytes(pcap([1000] * 3))                  # all at once: no rate, and so none as high as can be
        counts = shoot(directory, responder.port, "--pcap", "--times", "-t", 1.4, queries=path).counts
        assert counts["sent"] == counts["matched"] == 6
        counts = shoot(directory, responder.port, "--pcap", "-Q", 400, "-t", 0.5, "--timeout", 5, queries=path).counts
        assert counts["sent"] == counts["matched"] and gun.is_load(counts["sent"], 200)


SECRET = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
RULES = f"""\
key:
  - id: key
    algorithm: hmac-sha256
    secret: {SECRET}
acl:
  - id: all
    address: 127.0.0.1
    action: [transfer, update, notify]
  - id: signed
    key: key
    action: [transfer, update, notify, query]
template:
  - id: default
    acl: [all, signed]
"""


@pytest.fixture
def open_server(make_knotd):
    daemon = make_knotd()
    daemon.write("example.zone", many("example.", 500))
    daemon.configure(zones=["example"], text=RULES + "    zonefile-sync: -1\n    zonefile-load: difference\n    journal-content: all\n")
    daemon.start()
    return daemon


def test_transfers(open_server, directory):
    zone = write_queries(directory, "example\n")
    counts = shoot(directory, open_server.port, "-T", "-t", 1, "-Q", 20, "--timeout", 10, "--profile", "axfr", queries=zone).counts
    assert counts["matched"] == counts["sent"] and gun.is_load(counts["sent"], 20, 0)
    assert counts["records"] == counts["sent"] * (4 + 500 + 1)
    counts = shoot(directory, open_server.port, "-T", "-t", 1, "-Q", 20, "--timeout", 10, "--profile", "ixfr", "--serial", 1, queries=zone).counts
    assert counts["matched"] == counts["records"] == counts["sent"] and gun.is_load(counts["sent"], 20, 0)     # nothing newer


def test_updates(open_server, directory):
    zone = write_queries(directory, "example\n")
    report = shoot(directory, open_server.port, "-t", 1, "-Q", 50, "-b", 1, "--profile", "update", "--random", "new-", "--timeout", 10, queries=zone)
    sent = report.counts["sent"]
    assert report.counts["matched"] == sent and gun.is_load(sent, 50, 0)
    assert report.sum["response_rcodes"] == {"NOERROR": sent}
    answer = open_server.knotc("zone-read", "example").stdout
    assert answer.count("] new-") == sent


def test_notify(open_server, directory):
    zone = write_queries(directory, "example\n")
    report = shoot(directory, open_server.port, "-t", 1, "-Q", 50, "--timeout", 5, "--profile", "notify", "--serial", 7, queries=zone)
    assert report.counts["matched"] == report.counts["sent"] and gun.is_load(report.counts["sent"], 50)


def test_tsig(open_server, directory):
    report = shoot(directory, open_server.port, "-t", 1, "-Q", 200, "--timeout", 5, "--tsig", f"hmac-sha256:key:{SECRET}", "--verify", open_server.dir / "example.zone")
    assert report.counts["matched"] == report.counts["sent"] and report.counts["bad_tsig"] == 0
    other = base64.b64encode(b"x" * 32).decode()
    report = shoot(directory, open_server.port, "-t", 1, "-Q", 200, "--timeout", 5, "--tsig", f"hmac-sha256:key:{other}")
    assert report.sum["response_rcodes"] == {"NOTAUTH": report.counts["sent"]}
    assert report.counts["bad_tsig"] == report.counts["matched"]


def test_cookies(make_knotd, directory):
    daemon = make_knotd()
    daemon.write("example.zone", many("example.", 50))
    daemon.configure(zones=["example"], text="mod-cookies:\n  - id: c\ntemplate:\n  - id: default\n    global-module: [mod-stats, mod-cookies/c]\n")
    daemon.start()
    seen = []
    report = shoot(directory, daemon.port, "-t", 2, "-Q", 200, "--timeout", 5, "--profile", "cookies", "--verify", daemon.dir / "example.zone")
    assert report.counts["matched"] == report.counts["sent"] and report.counts["wrong"] == 0
    # The first batch has no server's cookie yet, nor what is sent before the first reply has come.
    assert 1 <= report.sum["response_rcodes"]["BADCOOKIE"] == report.counts["unverified"] < report.counts["sent"]

    def script(number, query, wire):
        seen.append([option.to_wire() for option in query.options])
        response = good(query)
        response.use_edns(0, options=[dns.edns.GenericOption(10, seen[-1][0][:8] + b"server12")])
        return [(response.to_wire(), 0)]

    with Responder(script) as responder:
        shoot(directory, responder.port, "-t", 2, "-Q", 50, "--timeout", 5, "-b", 1, "--profile", "cookies")
    assert len(seen[0][0]) == 8 and seen[-1][0][8:] == b"server12" and seen[-1][0][:8] == seen[0][0]


@pytest.mark.parametrize("arguments, said", [
    (["-t", "x"], "error: invalid duration 'x'"),
    (["-Q", "0"], "error: invalid QPS '0'"),
    (["-T4"], "error: invalid mode '4', one of 01235789R is possible"),
    (["-U9"], "error: invalid mode '9', one of 0123578R is possible"),
    (["-U1"], "error: --sockets does the ordinary mode and mode R (and 0 of QUIC); the others need AF_XDP"),
    (["-U", "-G", "/nowhere"], "error: can't write to the directory of --qlog"),
    (["-G", "/tmp"], "error: --qlog is for QUIC (-U)"),
    (["--profile", "axfr"], "error: profiles axfr and ixfr need TCP or QUIC: -T --sockets, -U"),
    (["-b", "0"], "error: invalid batch size '0', 1 to 2048 is possible"),
    (["-F", "x"], "error: invalid affinity 'x', as in '2', 's2' or '4s2'"),
    (["-l", "x"], "error: invalid local address 'x'"),
    (["-L", "1:2"], "error: invalid local MAC address '1:2'"),
    (["-v", "4095"], "error: invalid VLAN id '4095', 1 to 4094 is possible"),
    (["--ramp", "1:2"], "error: invalid ramp '1:2', as in 10000:100000:10000:5"),
    (["--profile", "zzz"], "error: unknown profile 'zzz', query, axfr, ixfr, notify, update, cookies are possible"),
    (["--tsig", "k:!!"], "error: invalid secret of the TSIG key"),
    (["--verify", "/nowhere"], "error: failed loading zone file '/nowhere' ("),
    (["--times"], "error: --times is for recordings (--pcap)"),
    (["--bad"], "unrecognized option '--bad'"),
])
def test_bad_options(directory, arguments, said):
    done = gun.run("--sockets", *arguments, queries=write_queries(directory), target="127.0.0.1", check=False)
    assert done.returncode == 1 and said in done.stderr and done.stdout == ""


@pytest.mark.parametrize("text, said", [
    ("", "error: no queries in"),
    ("a.example A\nb.example BAD\n", "queries:2: unknown type 'BAD'"),
    ("a.example \x1b[31mA\n", "queries:1: unknown type '\\027[31mA'"),
    ("a.example A\nb.example\0 A\n", "queries:2: a byte with the value 0 in the line"),
    (None, "(No such file or directory)"),
])
def test_bad_files(directory, text, said):
    path = directory / "queries"
    if text is not None:
        path.write_text(text)
    done = gun.run("--sockets", queries=path, target="127.0.0.1", check=False)
    assert done.returncode == 1 and said in done.stderr


def test_far_targets_need_a_rate(pair, directory):
    """Nothing is sent; what is near is in queries_test.c."""
    run_command("ip", "-n", pair.client, "route", "add", "198.51.100.0/24", "via", pair.server4)
    for transport in (["--sockets"], []):
        done = gun.run(*transport, queries=write_queries(directory), target="198.51.100.1", namespace=pair.client, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("error: '198.51.100.1' isn't on this host or on a private network of its own: say how many queries per second")


def test_addresses_of_this_host_need_sockets(pair, directory):
    done = gun.run(queries=write_queries(directory), target=pair.client4, namespace=pair.client, check=False)
    assert done.returncode == 1 and "use --sockets" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["-T"]])
def test_local_address_of_another_host(directory, arguments):
    """It isn't taken for a lack of ports, which fewer clients would mend."""
    done = gun.run("--sockets", "-t", 1, "-Q", 10, "-l", "198.51.100.7", *arguments, queries=write_queries(directory), target="127.0.0.1@1", check=False)
    assert done.returncode == 1 and "can't use the local address (Cannot assign requested address)" in done.stderr and "--clients" not in done.stderr


def test_zone_from_a_pipe(directory):
    with Responder(lambda number, query, wire: [(good(query).to_wire(), 0)]) as responder:
        done = subprocess.run(["bash", "-c", '"$0" --sockets --threads 1 -j -t 1 -Q 100 -i <(cat "$1") --verify <(cat "$2") "$3"', gun.GUN, write_queries(directory),
                               write_zone(directory), f"127.0.0.1@{responder.port}"], capture_output=True, text=True, check=False, timeout=60 * PATIENCE)
    assert done.returncode == 0 and gun.Report(done.stdout).counts["verified"] > 10, done
