#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""doc/benchmarks.md and doc/bench/*.svg from the results that benchmarks have left in build/bench/results: nothing in them is typed by hand.

Sections whose benchmark has not been run since stay as they are in the document. -o: another folder than doc.
"""
import argparse
import json
import pathlib
import re
import sys

from bench_lib import TOP, goals, results, svg

ORDER = ("xdp", "udp", "tcp", "xdp-tcp", "generator", "latency", "load", "restart", "memory", "many-zones", "conf-commit", "change", "transfer", "ddns", "catalog", "sign", "token", "check", "tools", "lookup", "answer", "profile")

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


def kept_goals(path):
    """{goal's text: {column: cell}} of what the document has now."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    table = re.search(r"^\*\*Goals\*\*\n\n((?:\|.*\n)+)", text, re.M)
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.group(1).splitlines()] if table else []
    return {line[0]: dict(zip(lines[0], line)) for line in lines[2:]}


def goals_section(found, before, kept):
    """The goals with what was measured; those that weren't stay as they are in the document, as their sections do."""
    table = goals.table(found, (), before) or {"title": "Goals", "head": ["", "goal", "now", "reached"], "rows": []}
    new = {row[0]: row for row in table["rows"]}
    table["rows"] = [new[what] if what in new else [kept[what].get(column, "") for column in table["head"]]
                     for what, *_ in goals.ROWS if what in new or what in kept]
    return "## Goals\n\n" + GOALS + "\n" + results.markdown(table) + "\n" if table["rows"] else ""


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
    sections, kept = kept_sections(document), kept_goals(document)
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
    document.write_text(INTRO + "\n" + goals_section(found, before, kept) + "".join("\n" + sections[name] for name in ORDER if name in sections), encoding="utf-8")
    print(f"{document}: renewed {', '.join(renewed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
