# SPDX-License-Identifier: BSD-2-Clause
"""Versions change a hundred times a second while clients ask: every answer is from one version, whole, and from one that was there
between question and answer.

The zone is written so that each of its answers tells the serial in several places: answer, authority and additional data, names that
exist in odd or even serials only, wildcards, negative answers."""
import bisect
import collections
import multiprocessing
import os
import socket
import struct
import time

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import pytest

from harness.control import command
from harness.net import inside
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours, pytest.mark.threads]

VERSIONS = 600              # to be published, 100 per second if the machine is free
PERIOD = 0.008              # seconds from one to the next, at least
SECONDS_MAX = 60 * PATIENCE
STEP = 8                    # versions; after that many each client has had three answers more, however busy the machine is
FORK = multiprocessing.get_context("fork")


def address(serial):
    return f"10.{serial >> 16 & 255}.{serial >> 8 & 255}.{serial & 255}"


def zone_text(serial):
    """Some names make a load take longer than an answer, so that both meet."""
    lines = ["$ORIGIN example.", "$TTL 60", f"@ SOA ns admin {serial} 3600 600 86400 60", "@ NS ns", "ns A 192.0.2.1",
             f'version TXT "{serial}"', f"mix MX 1 a{serial}", f"mix MX 2 b{serial}", f"alias CNAME a{serial}",
             f"a{serial} A {address(serial)}", f"b{serial} A {address(serial)}", f"sub NS ns{serial}.sub",
             f"ns{serial}.sub A {address(serial)}", f"{'odd' if serial % 2 else '*.even'} A {address(serial)}"]
    lines += [f"h{n} A 192.0.2.{n % 256}" for n in range(100)]
    return "\n".join(lines) + "\n"


# ---- What an answer says ----

def serial_of_address(text):
    return sum(int(part) << 8 * n for part, n in zip(text.split(".")[1:], (2, 1, 0)))


def serials_of(message):
    """Every serial that any record of the message tells."""
    found = []
    for section in (message.answer, message.authority, message.additional):
        for rrset in section:
            owner = rrset.name.labels[0].decode()
            if owner[:1] in "ab" and owner[1:].isdigit():
                found.append(int(owner[1:]))
            for record in rrset:
                if rrset.rdtype == dns.rdatatype.SOA:
                    found.append(record.serial)
                elif rrset.rdtype == dns.rdatatype.TXT:
                    found.append(int(record.strings[0]))
                elif rrset.rdtype == dns.rdatatype.A and record.address != "192.0.2.1":
                    found.append(serial_of_address(record.address))
                elif rrset.rdtype == dns.rdatatype.MX:
                    found.append(int(record.exchange.labels[0][1:]))
                elif rrset.rdtype == dns.rdatatype.CNAME:
                    found.append(int(record.target.labels[0][1:]))
                elif rrset.rdtype == dns.rdatatype.NS and record.target.labels[0] != b"ns":
                    found.append(int(record.target.labels[0][2:]))
    return found


def counts(message):
    return [sum(len(rrset) for rrset in section) for section in (message.answer, message.authority, message.additional)]


# name, type, what an answer has in its sections for an odd and for an even serial, and the rcode.
QUESTIONS = (
    ("version.example.", "TXT", ([1, 0, 0], "NOERROR"), ([1, 0, 0], "NOERROR")),
    ("example.", "SOA", ([1, 0, 0], "NOERROR"), ([1, 0, 0], "NOERROR")),
    ("mix.example.", "MX", ([2, 0, 2], "NOERROR"), ([2, 0, 2], "NOERROR")),
    ("alias.example.", "A", ([2, 0, 0], "NOERROR"), ([2, 0, 0], "NOERROR")),
    ("x.sub.example.", "A", ([0, 1, 1], "NOERROR"), ([0, 1, 1], "NOERROR")),
    ("odd.example.", "A", ([1, 0, 0], "NOERROR"), ([0, 1, 0], "NXDOMAIN")),
    ("x.even.example.", "A", ([0, 1, 0], "NXDOMAIN"), ([1, 0, 0], "NOERROR")),
    ("version.example.", "A", ([0, 1, 0], "NOERROR"), ([0, 1, 0], "NOERROR")),
)


def look(number, wire):
    """(serial, None), or (None, what is wrong with the answer to question `number`)."""
    message = dns.message.from_wire(wire)
    name, rdtype, odd, even = QUESTIONS[number]
    found = set(serials_of(message))
    if len(found) != 1:
        return None, f"{name} {rdtype}: serials {sorted(found)} in one answer:\n{message}"
    serial = found.pop()
    want = odd if serial % 2 else even
    got = (counts(message), dns.rcode.to_text(message.rcode()))
    if got != want:
        return None, f"{name} {rdtype}: {got} instead of {want} for serial {serial}:\n{message}"
    return serial, None


# ---- Clients, each a process ----

def udp_exchange(sock, wire):
    """None: no answer in time; the question may have been lost on its way."""
    sock.send(wire)
    try:
        while True:
            answer = sock.recv(65535)
            if answer[:2] == wire[:2]:
                return answer
    except TimeoutError:
        return None


def tcp_exchange(sock, wire):
    def read(count):
        data = b""
        while len(data) < count:
            block = sock.recv(count - len(data))
            if not block:
                raise ConnectionError("closed by the server")
            data += block
        return data
    sock.sendall(struct.pack("!H", len(wire)) + wire)
    return read(struct.unpack("!H", read(2))[0])


def client(kind, where, port, namespace, stop, asked, pipe):
    """Ask until told to stop; `asked` counts; send (observations, faults, lost) through the pipe."""
    observations, faults, lost, number = [], [], 0, 0
    try:
        with inside(namespace):
            sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
        sock.settimeout(10 * PATIENCE)
        sock.connect((where, port))
        exchange = tcp_exchange if kind == "tcp" else udp_exchange
        while not stop.is_set() and not faults:
            question = number % len(QUESTIONS)
            query = dns.message.make_query(*QUESTIONS[question][:2])
            query.id = number % 65536
            begin = time.monotonic()
            answer = exchange(sock, query.to_wire())
            end = time.monotonic()
            number += 1
            if answer is None:
                lost += 1
                continue
            serial, fault = look(question, answer)
            if fault is not None:
                faults.append(fault)
            else:
                observations.append((begin, end, serial))
                asked.value = len(observations)
            time.sleep(0.0005)      # who asks leaves time to who publishes
    except Exception as error:  # pylint: disable=broad-except
        faults.append(repr(error))
    pipe.send((observations, faults, lost))
    pipe.close()
    os._exit(0)     # nothing of pytest's runs here


# ---- Publishing ----

def keep_pace(serial, clients):
    """After some versions, until each client has had answers more."""
    if serial % STEP == 0:
        before = [asked.value for _, asked in clients]
        wait_until(lambda: all(asked.value >= count + 3 or not process.is_alive() for (process, asked), count in zip(clients, before)),
                   "answers to each client", 20, 0.001)


def publish(daemon, first, clients):
    """New versions from `first` on; (when each was written, when each was known to be served), by serial. clients: (process, answers)."""
    written, served = {}, {}
    begin = time.monotonic()
    for serial in range(first, first + VERSIONS):
        new = daemon.write("new", zone_text(serial))
        # A file that changed just now is read a moment later, as it may change again within a tick of its clock: too seldom for this test.
        changed = time.time_ns() - 10_000_000_000
        os.utime(new, ns=(changed, changed))
        written[serial] = time.monotonic()
        new.rename(daemon.dir / "example.zone")
        error = command(daemon.socket, "zone-reload", "example.", "B")
        assert error == "", error
        served[serial] = time.monotonic()
        assert served[serial] < begin + SECONDS_MAX, f"{serial} versions in {SECONDS_MAX} s"
        keep_pace(serial, clients)
        time.sleep(max(0, begin + (serial - first) * PERIOD - served[serial]))     # the pace of the versions
    return written, served


def check_times(observations, written, served):
    """Each answer is from a version that was written before it came, and not older than one that was served before the question."""
    times = [served[serial] for serial in sorted(served)]
    serials = sorted(served)
    for begin, end, serial in observations:
        at = bisect.bisect_left(times, begin)
        oldest = serials[at - 1] if at > 0 else serials[0] - 1
        assert serial >= oldest, f"serial {serial} was answered after {oldest} had been served"
        assert serial <= oldest or written[serial] <= end, f"serial {serial} was answered before it was written"


def run(daemon, kinds, where, port, namespace):
    """Clients of these kinds against a daemon whose zone changes."""
    stop, running = FORK.Event(), []
    for kind in kinds:
        ours, theirs = FORK.Pipe(duplex=False)
        asked = FORK.Value("Q", 0, lock=False)
        process = FORK.Process(target=client, args=(kind, where, port, namespace, stop, asked, theirs))
        process.start()
        theirs.close()
        running.append((kind, process, asked, ours))
    begin = time.monotonic()
    try:
        written, served = publish(daemon, 2, [(process, asked) for _, process, asked, _ in running])
    finally:
        seconds = time.monotonic() - begin
        stop.set()
        results = [(kind, *pipe.recv()) for kind, *_, pipe in running]
        for _, process, *_ in running:
            process.join(10 * PATIENCE)
    seen = collections.Counter()
    for kind, observations, faults, lost in results:
        assert not faults, f"{kind}: {faults[0]}"
        check_times(observations, written, served)
        assert lost <= 2 + len(observations) // 100, f"{kind}: {lost} lost of {len(observations)}"
        seen[kind] += len(observations)
    versions = {serial for _, observations, *_ in results for _, _, serial in observations}
    print(f"{len(served)} versions, {len(served) / seconds:.0f}/s; answers looked at: {dict(seen)}, from {len(versions)} versions")
    assert min(seen.values()) > 200 and len(versions) > VERSIONS // 10
    return seen


def test_over_sockets(knotd):
    knotd.write("example.zone", zone_text(1))
    knotd.configure(zones=["example"])
    knotd.start()
    run(knotd, ["udp", "udp", "tcp", "tcp"], "127.0.0.1", knotd.port, None)


def test_over_xdp(make_knotd, pair):
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", zone_text(1))
    daemon.configure(zones=["example"], listen=(), server=f"listen: {pair.server4}@53",
                     text=f"xdp:\n    listen: {pair.server_if}@53\n    tcp: on\n"
                          "template:\n  - id: default\n    global-module: mod-stats\n")
    daemon.start()
    seen = run(daemon, ["udp", "udp", "tcp", "tcp"], pair.server4, 53, pair.client)
    stats = daemon.stats()
    for kind in ("udp", "tcp"):
        assert stats[f"mod-stats.request-protocol[{kind}4-xdp]"] >= seen[kind], "answers came another way"
