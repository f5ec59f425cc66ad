# SPDX-License-Identifier: BSD-2-Clause
"""Options that benchmarks have in common, and turns."""
import argparse
import os
import statistics


def sizes(text):
    """1k,100k,1M → [1000, 100000, 1000000]"""
    units = {"k": 1000, "M": 1_000_000}
    return [int(float(part[:-1]) * units[part[-1]]) if part[-1] in units else int(part) for part in text.split(",") if part]


def size(text):
    """1M → 1000000"""
    return sizes(text)[0]


def parser(description, servers, turns=3):
    """A parser with what all are asked for."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("-t", "--turns", type=int, default=turns, help="[%(default)s]")
    result.add_argument("--origin", default="example.", help="[%(default)s]")
    result.add_argument("--servers", default=servers, metavar="NAME,...",
                        help="bowline, knot, nsd, or NAME=PATH for another knotd [%(default)s]")
    result.add_argument("-v", "--verbose", action="store_true", help="print what the load generators say")
    return result


def need_root(of):
    if os.geteuid() != 0:
        of.error("network namespaces need root")


def in_turns(servers, turns, one, what=""):
    """{server: [figures of a turn]}; one(server) measures it once. The order changes from turn to turn."""
    names = servers.split(",")
    rows = {name.split("=")[0]: [] for name in names}
    for number in range(turns):
        for name in names if number % 2 == 0 else reversed(names):
            row = one(name)
            rows[name.split("=")[0]].append(row)
            print(f"{what}turn {number + 1} {name.split('=')[0]:8} " + "  ".join(f"{key} {figure(value)}" for key, value in row.items()),
                  flush=True)
    return rows


def figure(value):
    """Three digits that count."""
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def medians(rows):
    """{server: {key: median over its turns}}"""
    return {name: {key: statistics.median(row[key] for row in turns) for key in turns[0]} for name, turns in rows.items() if turns}
