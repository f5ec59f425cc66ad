# SPDX-License-Identifier: BSD-2-Clause
"""Load from the other end of a link, and what it costs the server per reply."""
import multiprocessing
import os
import re
import select
import socket
import struct
import time

from harness.net import inside

from . import process, servers


def number_after(text, what):
    match = re.search(rf"{what}:?\s+([\d,.]+)", text)
    return float(match.group(1).replace(",", "").rstrip(".")) if match else 0.0


def gun(pair, queries, rate, seconds, tcp=False, first_on=None):
    """kxdpgun over AF_XDP of the client's end; tcp: a connection per query. (replies, share of queries answered, what it says)

    first_on: a processor where it goes before whatever else runs there. It sleeps between its bursts: a rate that it can keep leaves the others their time.
    """
    processor = process.processors()[1] if first_on is None else first_on
    for _ in range(5):
        text = pair.exec(pair.client, *(["chrt", "-f", "1"] if first_on is not None else []), "kxdpgun", *(["-T"] if tcp else []), "-t", str(seconds),
                         "-Q", str(rate), "-F", str(processor), "-i", str(queries), "-I", pair.client_if, pair.server4,
                         timeout=seconds + 60, check=False).stdout
        total = number_after(text, "total queries") or number_after(text, r"total SYNs\S*")
        if total > 0:
            replies = number_after(text, "total replies")
            return replies, replies / total, text
        time.sleep(1)           # the interface may still be held by the load before
    raise RuntimeError(f"kxdpgun sends nothing: {text}")


TYPES = {"A": 1, "AAAA": 28, "DS": 43}
SO_TIMESTAMPNS = 35
LATE = 0.1      # seconds that the last replies have


def messages(queries, most=5000):
    """Questions of a file of zones.plain(), as messages."""
    with open(queries, encoding="ascii") as file:
        return [servers.question(name, TYPES[rdtype]) for name, rdtype in (line.split() for _, line in zip(range(most), file))]


def receive(sock, sent, found):
    """Take what has arrived. The kernel's time of arrival counts: when this program gets a processor to read it says nothing of the server."""
    while True:
        try:
            reply, extra, _, _ = sock.recvmsg(4096, 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = struct.unpack("qq", extra[0][2])
        begin = sent.pop(int.from_bytes(reply[:2], "big"), None)
        if begin is not None:
            found.append((seconds * 10**9 + nanoseconds - begin) / 1e9)


def ask(pair_of, questions, rate, seconds, processor, pipe):
    """Questions at a rate, whether or not there are replies to those before. It goes before whatever else wants its processor, and sleeps in between."""
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    namespace, address = pair_of
    with inside(namespace):
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sock:
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.connect((address, 53))
        sock.setblocking(False)
        time.sleep(LATE)        # the kernel begins to take times a moment later
        sent, found, number, begin = {}, [], 0, time.monotonic()
        while number < rate * seconds:
            wait = begin + number / rate - time.monotonic()
            if wait > 0:
                select.select([sock], [], [], wait)
                receive(sock, sent, found)
                continue
            ident = number & 0xffff
            message = ident.to_bytes(2, "big") + questions[number % len(questions)][2:]
            sent[ident] = time.time_ns()
            sock.send(message)
            number += 1
        time.sleep(LATE)
        receive(sock, sent, found)
    pipe.send(found + [float(seconds)] * len(sent))


def waits(pair, questions, rate, seconds, processor):
    """Seconds from each question to its reply, as the kernel of the client's end sees both; `seconds` if there is none."""
    pipe, other = multiprocessing.Pipe(False)
    asker = multiprocessing.Process(target=ask, args=((pair.client, pair.server4), questions, rate, seconds, processor, other), daemon=True)
    asker.start()
    other.close()       # recv() raises when the asker has ended without a word
    found = pipe.recv()
    asker.join()
    return found


def stream(pair, queries, seconds):
    """dnsperf with 20 long connections and 2000 questions under way, as fast as it goes. As gun()."""
    with process.on_processor(process.processors()[1]):
        text = pair.exec(pair.client, "dnsperf", "-m", "tcp", "-s", pair.server4, "-d", str(queries), "-c", "20", "-q", "2000",
                         "-l", str(seconds), timeout=seconds + 60).stdout
    replies, total = number_after(text, "Queries completed"), number_after(text, "Queries sent")
    return replies, replies / max(total, 1), text


def measured(pid, load, idle=process.Cpu(0, 0)):
    """Figures of one load: replies/s while it ran is the caller's; here nanoseconds of CPU per reply, without what `idle` takes."""
    before, started = process.cpu(pid), time.monotonic()
    replies, share, text = load()
    passed = time.monotonic() - started
    after = process.cpu(pid)
    user, system = (max(0.0, b - a - i * passed) * 1e9 / max(replies, 1) for a, b, i in zip(before, after, idle))
    return {"replies": replies, "share": share, "user_ns": user, "system_ns": system, "cpu_ns": user + system}, text
