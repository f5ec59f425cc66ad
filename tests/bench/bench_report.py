#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""doc/benchmarks.md and doc/bench/*.svg from the results that benchmarks have left in build/bench/results: nothing in them is typed by hand.

Sections whose benchmark has not been run since stay as they are in the document. -o: another folder than doc.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys

from bench_lib import TOP, results, svg

ORDER = ("xdp", "udp", "tcp", "xdp-tcp", "load", "restart", "memory", "many-zones", "conf-commit", "change", "lookup", "answer", "profile")

INTRO = """\
# Benchmarks

Each section below is made by one command, named there, and by `./dev bench report`; nothing here is typed by hand.
`./dev bench NAME --help` says what is measured and how, and how to measure other sizes, peers or older builds (`--servers bowline,before=PATH,knot`).

## How to read it

- **Ratios within one table count, not figures by themselves.** Servers take turns in one run, the order changes from turn to turn, and
  medians are reported. The machine is small, virtual and shared; the same figure may be a third higher an hour later.
- Bowline has one CPU for all its threads, and so have its peers; the load generator has the other one. With one worker per transport, replies per second are those of
  one CPU, but for what the kernel does on the generator's side of the link.
- The link is a veth pair between two network namespaces, AF_XDP in copy mode. The kernel's part of a reply is dearer there than with a real
  network card, and the same for all: look at user CPU for what the servers themselves do.
- User and system time come from /proc/PID/stat, where the kernel divides them by what its timer tick meets. That is fair while the server is busy all the time; at a fixed
  rate, sleeps fall in step with the tick, and only their sum means something. So tables show the division only for loads without a measure.
- Memory is anonymous and shared memory (RssAnon, RssShmem) of all processes of a server, shared pages counted once: not pages of files, which the system may drop.
- "First answer" counts from exec() to the zone's SOA over the network, asked every few milliseconds.
- The zone is tests/bench/gen_tld.py's: delegations of a TLD, 2.65 records each; of ten questions eight ask below a delegation, one for a DS, one for
  a name that is not there.
- In-process figures (lookup, answer) are of one thread without a network. Instructions come from callgrind and are the same on a loaded machine.
- "Load before" is the system's load average before the run: above 1, something else was running, and figures of seconds and replies/s are worth little.
- Benchmarks never pass or fail.
"""


GOALS = """\
What was set out to be reached, against what the sections below have measured. The peer is Debian's Knot DNS; a million delegations unless said.
"""


def median(results_of, name, key, server, metric):
    """Of a result's turns; None if it was not measured."""
    turns = results_of.get(name, {}).get("turns", {}).get(key, {}).get(server)
    values = [turn[metric] for turn in turns or () if metric in turn]
    return statistics.median(values) if values else None


def against(name, key, metric):
    """Bowline's share of Knot's."""
    def value(found):
        mine, other = (median(found, name, key, server, metric) for server in ("bowline", "knot"))
        return mine / other if mine is not None and other else None
    return value


def own(name, key, metric, unit=1):
    def value(found):
        mine = median(found, name, key, "bowline", metric)
        return mine / unit if mine is not None else None
    return value


def of_sizes(name, metric, one, other):
    """Bowline's figure at the first key as a share of that at the second."""
    def value(found):
        values = [median(found, name, key, "bowline", metric) for key in (one, other)]
        return values[0] / values[1] if None not in values else None
    return value


def ten_millions(found):
    by_size = found.get("answer", {}).get("turns", {}).get("ns", {})
    values = [by_size.get(size, {}).get("uniform batch") for size in ("10000000", "1000000")]
    return values[0] / values[1] if None not in values else None


M = "1000000"
# What, how to find it, goal, True if more is better, format.
GOAL_ROWS = (
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
    ("100,000 zones: start against Knot's", against("many-zones", "100000", "start_s"), 0.25, False, ".2f"),
    ("100,000 zones: memory against Knot's", against("many-zones", "100000", "memory_bytes"), 0.25, False, ".2f"),
    ("100,000 zones: reload of the configuration against Knot's", against("many-zones", "100000", "reload_s"), 0.25, False, ".2f"),
    ("100,000 zones: reload of one zone against Knot's", against("many-zones", "100000", "zone_reload_s"), 0.25, False, ".2f"),
    ("1,000,000 zones: memory per zone, bytes", own("many-zones", M, "per_zone_bytes"), 1500, False, ",.0f"),
    ("commit of one record: CPU, median ms", own("change", f"one {M}", "cpu_median_s", 1e-3), 1, False, ".3f"),
    ("commit of one record: CPU, 99 % ms", own("change", f"one {M}", "cpu_p99_s", 1e-3), 5, False, ".3f"),
    ("commit of one record, signed: CPU, median ms", own("change", f"one {M} signed", "cpu_median_s", 1e-3), 1, False, ".3f"),
    ("commit of one record, signed: CPU, 99 % ms", own("change", f"one {M} signed", "cpu_p99_s", 1e-3), 5, False, ".3f"),
    ("commit of one record: CPU, 10M delegations against 10,000", of_sizes("change", "cpu_median_s", "one 10000000", "one 10000"), 1.5, False, ".2f"),
    ("answers right after zone-commit without the change", own("change", f"one {M}", "late"), 0, False, ".0f"),
    ("commits per second, 64 sessions, 64 zones", own("change", "sessions", "many_per_s"), 5000, True, ",.0f"),
    ("commits per second, 64 sessions, one zone", own("change", "sessions", "single_per_s"), 5000, True, ",.0f"),
    ("10,000 records in one commit: CPU of zone-commit, ms", own("change", f"batch {M}", "commit_cpu_s", 1e-3), 50, False, ".1f"),
    ("random commits: memory at most / fresh", own("change", "random 100000", "most_share"), 1.5, False, ".2f"),
    ("random commits: slowest query meanwhile, ms", own("change", "random 100000", "busy_max_s", 1e-3), 10, False, ".1f"),
    ("during 1,000 commits a second: replies per second of the thread's CPU, against without", own("change", f"load {M}", "most_per_cpu_s_ratio"), 0.95, True, ".3f"),
    ("during 1,000 commits a second: latency, 99 %, against without", own("change", f"load {M}", "p99_s_ratio"), 1.05, False, ".2f"),
    ("image and 10,000 changesets to first answer, s", own("change", f"start {M}", "again_s"), 0.3, False, ".3f"),
    ("acknowledged commits gone after kill -9", own("change", f"start {M}", "lost"), 0, False, ",.0f"),
    ("1,000,000 zones: replies/s over all against a server of one", of_sizes("many-zones", "all_per_s", M, "1"), 0.75, True, ".2f"),
)


def goals(found, before):
    rows = []
    for what, find, goal, more, form in GOAL_ROWS:
        value, old = find(found), find(before)
        if value is not None:
            rows.append([what, f"{'≥' if more else '≤'} {goal:g}"] + ([format(old, form) if old is not None else ""] if before else []) +
                        [format(value, form), "yes" if (value >= goal if more else value <= goal) else "no"])
    table = {"title": "Goals", "head": ["", "goal", *(["before"] if before else []), "now", "reached"], "rows": rows}
    return "## Goals\n\n" + GOALS + "\n" + results.markdown(table) + "\n" if rows else ""


def about(result):
    machine, versions = result["machine"], result["versions"]
    text = ", ".join(f"{'Bowline' if key == 'bowline' else key} {value}" for key, value in versions.items() if key not in ("system", "compiler"))
    return (f"`{result['command']}`, {result['date']}. {machine['processors']} × {machine['processor']}"
            f"{' (virtual)' if machine['virtual'] else ''}, {machine['memory']}, Linux {machine['kernel']}, {versions.get('system', '')}, "
            f"{versions.get('compiler', '')}; load before: {machine['load']}. Versions: {text}.")


def section(result, plots_folder):
    parts = [f"## {result['name']}", result["what"], about(result), *(results.markdown(table) for table in result["tables"])]
    for plot in result["plots"]:
        (plots_folder / plot["file"]).write_text(svg.draw(plot), encoding="utf-8")
        parts.append(f"![{plot['title']}](bench/{plot['file']})")
    return "\n\n".join(parts) + "\n"


def kept_sections(path):
    """{name: text} of what the document has now."""
    if not path.exists():
        return {}
    return {name: text.rstrip() + "\n" for name, text in re.findall(r"^(?=## ([\w-]+)\n)(.*?)(?=^## |\Z)", path.read_text(encoding="utf-8"), re.M | re.S)
            if name in ORDER}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=TOP / "doc", help="[%(default)s]")
    parser.add_argument("--before", type=pathlib.Path, metavar="DIR", help="results of an older build, NAME-before.json: a column among the goals")
    parser.add_argument("names", nargs="*", metavar="NAME", help="sections to renew [all that have results]")
    args = parser.parse_args()
    document, plots = args.output / "benchmarks.md", args.output / "bench"
    plots.mkdir(parents=True, exist_ok=True)
    sections = kept_sections(document)
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in results.FOLDER.glob("*.json")}
    before = {path.stem.removesuffix("-before"): json.loads(path.read_text(encoding="utf-8"))
              for path in (args.before.glob("*-before.json") if args.before else ())}
    renewed = []
    for name in args.names or ORDER:
        if name in found:
            sections[name] = section(found[name], plots)
            renewed.append(name)
        elif args.names:
            parser.error(f"no result of {name}: run ./dev bench {name} first")
    if not renewed:
        parser.error(f"no results in {results.FOLDER}: run ./dev bench NAME first")
    document.write_text(INTRO + "\n" + goals(found, before) + "".join("\n" + sections[name] for name in ORDER if name in sections), encoding="utf-8")
    print(f"{document}: renewed {', '.join(renewed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
