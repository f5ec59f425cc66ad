# SPDX-License-Identifier: BSD-2-Clause
"""Load from the other end of a link, and what it costs the server per reply."""
import re
import time

from . import process


def number_after(text, what):
    match = re.search(rf"{what}:?\s+([\d,.]+)", text)
    return float(match.group(1).replace(",", "").rstrip(".")) if match else 0.0


def gun(pair, queries, rate, seconds, tcp=False):
    """kxdpgun over AF_XDP of the client's end; tcp: a connection per query. (replies, share of queries answered, what it says)"""
    for _ in range(5):
        text = pair.exec(pair.client, "kxdpgun", *(["-T"] if tcp else []), "-t", str(seconds), "-Q", str(rate),
                         "-F", str(process.processors()[1]), "-i", str(queries), "-I", pair.client_if, pair.server4,
                         timeout=seconds + 60, check=False).stdout
        total = number_after(text, "total queries") or number_after(text, r"total SYNs\S*")
        if total > 0:
            replies = number_after(text, "total replies")
            return replies, replies / total, text
        time.sleep(1)           # the interface may still be held by the load before
    raise RuntimeError(f"kxdpgun sends nothing: {text}")


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
