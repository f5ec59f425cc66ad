# SPDX-License-Identifier: BSD-2-Clause
"""Results: tables on the terminal, and everything in build/bench/results/NAME.json, from which `./dev bench report` makes documents.

A result is {"name", "what", "date", "command", "machine", "versions", "tables", "plots", "turns"}:
  tables  [{"title", "head": [text], "rows": [[text]]}]
  plots   [{"file", "kind": "lines" or "bars", "title", ...}], the rest as svg.py wants it
  turns   the figures themselves, of any shape
"""
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

from harness.server import BUILD, TOP

FOLDER = BUILD / "bench" / "results"


def said(*command, pattern=r"(.+)"):
    """What a program prints about itself, or nothing."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20, check=False, cwd=TOP)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(pattern, done.stdout) if done.returncode in (0, 1) else None
    return match.group(1).strip() if match else ""


def machine():
    cpuinfo, meminfo = (pathlib.Path(path).read_text(encoding="ascii", errors="replace") for path in ("/proc/cpuinfo", "/proc/meminfo"))
    kilobytes = int(re.search(r"MemTotal:\s+(\d+)", meminfo).group(1))
    flags = re.search(r"^flags\s*:.*", cpuinfo, re.M)
    return {
        "processor": (re.search(r"^model name\s*:\s*(.+)", cpuinfo, re.M) or [platform.machine()] * 2)[1],
        "processors": os.cpu_count(),
        "virtual": bool(flags and "hypervisor" in flags.group(0)),
        "memory": f"{kilobytes / 1e6:.0f} GB",
        "kernel": platform.release(),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def versions():
    system = re.search(r'PRETTY_NAME="(.+)"', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"))
    return {key: value for key, value in {
        "bowline": said("git", "describe", "--always", "--dirty"),
        "knot": said("/usr/sbin/knotd", "-V", pattern=r"(?:version |, )([\d.]+)"),
        "nsd": said("/usr/sbin/nsd", "-v", pattern=r"version ([\d.]+)"),
        "kxdpgun": said("kxdpgun", "-V", pattern=r"(?:version |, )([\d.]+)"),
        "dnsperf": said("dnsperf", "-h", pattern=r"Version ([\d.]+)"),
        "compiler": said("gcc", "--version"),
        "system": system.group(1) if system else "",
    }.items() if value}


def ratio(mine, other):
    return f"{mine / other:.2f}" if other else ""


def metrics_table(title, of, metrics):
    """A row for each of metrics, (key, text, unit, format), a column for each server, and the first one's ratio to each other.

    of: {server: {key: value}}
    """
    names = list(of)
    head = [""] + names + [f"{names[0]}/{name}" for name in names[1:]]
    rows = []
    for key, text, unit, form in metrics:
        values = [of[name].get(key) for name in names]
        rows.append([text] + ["–" if value is None else format(value / unit, form) for value in values] +
                    ["" if None in (values[0], value) else ratio(values[0], value) for value in values[1:]])
    return {"title": title, "head": head, "rows": rows}


def show(table):
    """On the terminal: the first column to the left, the others to the right."""
    rows = [table["head"], *table["rows"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table["head"]))]
    print(f"\n{table['title']}")
    for row in rows:
        print("  " + row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:])))


def markdown(table):
    lines = [f"**{table['title']}**", "", "| " + " | ".join(table["head"]) + " |", "|" + "---|" + "---:|" * (len(table["head"]) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in table["rows"]])


def keep(name, what, tables, plots, turns, load_before=None):
    """Print tables, write NAME.json."""
    for table in tables:
        show(table)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    about = machine()
    if load_before is not None:
        about["load"] = load_before
    # Where an older build lies on this machine means nothing to a reader.
    arguments = re.sub(r"=/[^\s,]*/", "=…/", " ".join(argument for argument in sys.argv[1:] if argument != name))
    path.write_text(json.dumps({
        "name": name, "what": what, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "command": f"./dev bench {name} {arguments}".strip(), "machine": about, "versions": versions(), "tables": tables,
        "plots": plots, "turns": turns}, indent=1), encoding="utf-8")
    print(f"\nkept in {path}; ./dev bench report makes doc/benchmarks.md and its plots from it")
