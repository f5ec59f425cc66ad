# SPDX-License-Identifier: BSD-2-Clause
"""What was set out to be reached, and how to find it in results: for the report, and for what a benchmark says at its end.

A finder takes ({name of a benchmark: its result}, server) and returns a figure; None if it was not measured.
"""
import statistics


def median(results_of, name, key, server, metric):
    """Of a result's turns; None if it was not measured."""
    turns = results_of.get(name, {}).get("turns", {}).get(key, {}).get(server)
    values = [turn[metric] for turn in turns or () if metric in turn]
    return statistics.median(values) if values else None


def against(name, key, metric):
    """The server's share of Knot's."""
    def value(found, server):
        mine, other = (median(found, name, key, each, metric) for each in (server, "knot"))
        return mine / other if None not in (mine, other) and other else None
    return value


def own(name, key, metric, unit=1):
    def value(found, server):
        mine = median(found, name, key, server, metric)
        return mine / unit if mine is not None else None
    return value


def of_sizes(name, metric, one, other):
    """The figure at the first key as a share of that at the second."""
    def value(found, server):
        values = [median(found, name, key, server, metric) for key in (one, other)]
        return values[0] / values[1] if None not in values and values[1] else None
    return value


def ten_millions(found, _server):
    by_size = found.get("answer", {}).get("turns", {}).get("ns", {})
    values = [by_size.get(size, {}).get("uniform batch") for size in ("10000000", "1000000")]
    return values[0] / values[1] if None not in values else None


def instructions(size):
    def value(found, _server):
        return found.get("answer", {}).get("turns", {}).get("instructions", {}).get(size, {}).get("uniform batch")
    return value


M = "1000000"
# What, how to find it, goal, True if more is better, format.
ROWS = (
    ("UDP over AF_XDP: replies/s against Knot's", against("xdp", M, "most_per_s"), 2.0, True, ".2f"),
    ("UDP over AF_XDP: user CPU per reply against Knot's", against("xdp", M, "most_user_ns"), 0.25, False, ".2f"),
    ("UDP over sockets: replies/s against Knot's", against("udp", M, "most_per_s"), 1.3, True, ".2f"),
    ("memory, settled, MB", own("memory", M, "memory_bytes", 1e6), 200, False, ".1f"),
    ("memory, settled, with AF_XDP, MB", own("xdp", M, "memory_bytes", 1e6), 200, False, ".1f"),
    ("file to first answer against Knot's, owners shuffled", against("load", f"{M} shuffled", "start_s"), 0.3, False, ".2f"),
    ("file to first answer against Knot's, owners sorted", against("load", f"{M} sorted", "start_s"), 0.3, False, ".2f"),
    ("file to first answer, owners shuffled, s on one core", own("load", f"{M} shuffled", "start_s"), 1.5, False, ".2f"),
    ("file to first answer, owners sorted, s on one core", own("load", f"{M} sorted", "start_s"), 1.5, False, ".2f"),
    ("highest memory while loading / settled", own("load", f"{M} shuffled", "peak_share"), 1.3, False, ".2f"),
    ("image to first answer, s", own("restart", M, "again_s"), 0.3, False, ".3f"),
    ("image to first answer after kill -9, s", own("restart", M, "killed_s"), 0.3, False, ".3f"),
    ("user CPU per answer, 10M names against 1M (in process)", ten_millions, 1.3, False, ".2f"),
    ("instructions per answer, 1,000 delegations (in process), not above those before zones had incremental versions", instructions("1000"), 2680, False, ",.0f"),
    ("instructions per answer, 100,000 delegations (in process), not above those before", instructions("100000"), 2834, False, ",.0f"),
    ("100,000 zones: start against Knot's", against("many-zones", "100000", "start_s"), 0.25, False, ".2f"),
    ("100,000 zones: memory against Knot's", against("many-zones", "100000", "memory_bytes"), 0.25, False, ".2f"),
    ("100,000 zones: reload of the configuration against Knot's", against("many-zones", "100000", "reload_s"), 0.25, False, ".2f"),
    ("100,000 zones: reload of one zone against Knot's", against("many-zones", "100000", "zone_reload_s"), 0.25, False, ".2f"),
    ("1,000,000 zones: memory per zone, bytes", own("many-zones", M, "per_zone_bytes"), 1500, False, ",.0f"),
    ("1,000,000 zones: replies/s over all against a server of one", of_sizes("many-zones", "all_per_s", M, "1"), 0.75, True, ".2f"),
    ("commit of one record: CPU, median ms", own("change", f"one {M}", "cpu_median_s", 1e-3), 1, False, ".3f"),
    ("commit of one record: CPU, 99 % ms", own("change", f"one {M}", "cpu_p99_s", 1e-3), 5, False, ".3f"),
    ("commit of one record, signed: CPU, median ms", own("change", f"one {M} signed", "cpu_median_s", 1e-3), 1, False, ".3f"),
    ("commit of one record, signed: CPU, 99 % ms", own("change", f"one {M} signed", "cpu_p99_s", 1e-3), 5, False, ".3f"),
    ("commit of one record: CPU, 10M delegations against 10,000", own("change", "sizes", "median_share"), 1.5, False, ".2f"),
    ("answers right after zone-commit without the change", own("change", f"one {M}", "late"), 0, False, ".0f"),
    ("commits per second, 64 sessions, 64 zones", own("change", "sessions", "many_per_s"), 5000, True, ",.0f"),
    ("commits per second, 64 sessions, one zone", own("change", "sessions", "single_per_s"), 5000, True, ",.0f"),
    ("10,000 records in one commit: CPU of zone-commit, ms", own("change", f"batch {M}", "commit_cpu_s", 1e-3), 50, False, ".1f"),
    ("random commits: memory at most / fresh", own("change", "random 100000", "most_share"), 1.5, False, ".2f"),
    ("random commits: slowest query meanwhile, ms", own("change", "random 100000", "busy_max_s", 1e-3), 10, False, ".1f"),
    ("random commits: the same less the waiting for a processor, ms", own("change", "random 100000", "busy_rest_s", 1e-3), 10, False, ".1f"),
    ("random commits: most CPU of the server while a query waited, ms", own("change", "random 100000", "busy_own_s", 1e-3), 10, False, ".1f"),
    ("1,000 commits a second: replies/s of 100,000 queries/s against those at a neighbour", own("change", f"load {M}", "per_s with / neighbour"), 0.95, True, ".3f"),
    ("1,000 commits a second: replies per second of the thread's CPU against those at a neighbour",
     own("change", f"load {M}", "per_cpu_s with / neighbour"), 0.95, True, ".3f"),
    ("1,000 commits a second: latency, 99 %, against those at a neighbour", own("change", f"load {M}", "p99_s with / neighbour"), 1.05, False, ".3f"),
    ("1,000 commits a second: replies/s of 100,000 queries/s against none", own("change", f"load {M}", "per_s with / without"), 0.95, True, ".3f"),
    ("1,000 commits a second: replies per second of the thread's CPU against none", own("change", f"load {M}", "per_cpu_s with / without"), 0.95, True, ".3f"),
    ("1,000 commits a second: latency, 99 %, against none", own("change", f"load {M}", "p99_s with / without"), 1.05, False, ".3f"),
    ("image and 10,000 changesets to first answer, s", own("change", f"start {M}", "again_s"), 0.3, False, ".3f"),
    ("image and 10,000 changesets, none merged, to first answer, s", own("change", f"start {M} deep", "again_s"), 0.3, False, ".3f"),
    ("acknowledged commits gone after kill -9", own("change", f"start {M}", "lost"), 0, False, ",.0f"),
    ("AXFR out: CPU, s", own("transfer", f"out {M}", "plain_cpu_s"), 0.2, False, ".3f"),
    ("AXFR out with TSIG: CPU, s", own("transfer", f"out {M}", "tsig_cpu_s"), 0.35, False, ".3f"),
    ("AXFR out over AF_XDP: CPU, s", own("transfer", f"xdp {M}", "plain_cpu_s"), 0.2, False, ".3f"),
    ("AXFR out over AF_XDP with TSIG: CPU, s", own("transfer", f"xdp {M}", "tsig_cpu_s"), 0.35, False, ".3f"),
    ("AXFR in: start of an empty secondary to the first answer, s", own("transfer", f"in {M}", "first_s"), 1.2, False, ".2f"),
    ("AXFR in: highest memory, MB", own("transfer", f"in {M}", "peak_bytes", 1e6), 200, False, ".1f"),
    ("IXFR of one record: last byte to the answer, median ms", own("transfer", f"ixfr {M}", "served_median_s", 1e-3), 1, False, ".3f"),
    ("IXFR of one record: last byte to the answer, 99 % ms", own("transfer", f"ixfr {M}", "served_p99_s", 1e-3), 3, False, ".3f"),
    ("IXFR of one record: NOTIFY to the answer, median ms", own("transfer", f"ixfr {M}", "told_median_s", 1e-3), 3, False, ".3f"),
    ("1,000,000 secondary zones: all fresh after a restart, s", own("transfer", f"many {M}", "fresh_s"), 60, False, ".1f"),
    ("1,000,000 secondary zones: state of each, bytes", own("transfer", f"many {M}", "state_bytes"), 1000, False, ",.0f"),
    ("1,000,000 secondary zones: NOTIFY to the answer meanwhile, 99 % ms", own("transfer", f"many {M}", "told_p99_s", 1e-3), 50, False, ".1f"),
    ("catalog of 100,000 members: from nothing until all are served, s", own("catalog", "100000 members", "nothing_s"), 15, False, ".2f"),
    ("catalog of 100,000 members: transferred again by a restart", own("catalog", "100000 members", "again_transfers"), 0, False, ",.0f"),
    ("catalog of 1,000,000 members: one more until it is served, median ms", own("catalog", f"{M} members", "more_median_s", 1e-3), 50, False, ".1f"),
    ("catalog of 1,000,000 members: transferred again by a restart", own("catalog", f"{M} members", "again_transfers"), 0, False, ",.0f"),
    ("dynamic updates per second, one in flight", own("ddns", "1 in flight", "per_s"), 3000, True, ",.0f"),
    ("dynamic updates per second, 64 in flight, a quarter signed", own("ddns", "64 in flight", "per_s"), 50000, True, ",.0f"),
    ("dynamic updates per second, 256 in flight, a quarter signed", own("ddns", "256 in flight", "per_s"), 50000, True, ",.0f"),
    ("dynamic updates per second, 2,048 in flight, a quarter signed", own("ddns", "2048 in flight", "per_s"), 50000, True, ",.0f"),
    ("acknowledged dynamic updates gone after kill -9", own("ddns", "2048 in flight", "lost"), 0, False, ",.0f"),
    ("signing a TLD, file to signed file: CPU against openssl speed", own("sign", f"file {M}", "per_openssl"), 1.3, False, ".2f"),
    ("signing a TLD, file to signed file: highest memory, MB", own("sign", f"file {M}", "peak_bytes", 1e6), 300, False, ".0f"),
    ("signing a zone within the program: CPU against bare signatures", own("sign", f"steps {M}", "sign_per_bare"), 1.3, False, ".2f"),
    ("100 changed names: signed, proven, durable, answered, median ms", own("sign", f"change {M}", "wall_median_s", 1e-3), 15, False, ".1f"),
    ("100 changed names: the same, 99 % ms", own("sign", f"change {M}", "wall_p99_s", 1e-3), 15, False, ".1f"),
    ("100 changed names: CPU of the server, median ms", own("sign", f"change {M}", "cpu_median_s", 1e-3), 15, False, ".1f"),
    ("proof of a change, all signatures: share of the CPU of the change", own("sign", f"steps {M}", "change_prove_per_change"), 0.25, False, ".2f"),
    ("proof of a change, one of 16 signatures: share of the CPU of the change", own("sign", f"steps {M}", "change_prove_some_per_change"), 0.25, False, ".2f"),
    ("proof of a whole zone as the server does it: wall time with signing against signing", own("sign", f"steps {M}", "wall_proven"), 1.5, False, ".2f"),
    ("small zones, first keys and signatures: CPU against Knot's", against("sign", "zones", "cpu_s"), 0.5, False, ".2f"),
    ("small zones signed at one start, rrsig-spread: busiest hour of a day against its mean",
     lambda found, _: median(found, "sign", "spread", "12 days", "day"), 1.2, False, ".2f"),
    ("P-256 in SoftHSM, all sessions: signatures/s against a bare client", own("sign", "token", "speed_per_bare"), 0.8, True, ".2f"),
    ("two simulated years of 10,000 zones' keys: CPU, s", own("sign", "keys", "cpu_s"), 10, False, ".2f"),
    ("injected faults that were published", own("sign", "faults", "published"), 0, False, ",.0f"),
)


def is_reached(value, goal, more):
    return value >= goal if more else value <= goal


def table(found, peers=(), before=None):
    """Rows that were measured: of Bowline, of Bowline before if there are such results, and of peers. None: no row was."""
    rows = []
    for what, find, goal, more, form in ROWS:
        value = find(found, "bowline")
        if value is None:
            continue
        others = [find(before, "bowline")] if before else []
        others += [find(found, peer) for peer in peers]
        rows.append([what, f"{'≥' if more else '≤'} {goal:,g}", format(value, form), "yes" if is_reached(value, goal, more) else "no",
                     *("" if other is None else format(other, form) for other in others)])
    head = ["", "goal", "now", "reached", *(["before"] if before else []), *peers]
    return {"title": "Goals", "head": head, "rows": rows} if rows else None
