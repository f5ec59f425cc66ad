# SPDX-License-Identifier: BSD-2-Clause
"""Plots as SVG, written by hand: lines over sizes, bars by server. Readable on light and on dark pages."""
import html
import math

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 76, 20, 44, 78
LIGHT = ("#0b6bcb", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#0e7490")
DARK = ("#60a5fa", "#fb923c", "#4ade80", "#c084fc", "#facc15", "#22d3ee")
LIGHTER = ' opacity="0.55"'
DASHES = ("", "6 4", "2 3")
STYLE = """<style>
svg { font: 12px system-ui, sans-serif; } .page { fill: #ffffff; } text { fill: #1f2937; } .title { font-size: 14px; font-weight: 600; }
.axis { stroke: #6b7280; fill: none; } .grid { stroke: #e5e7eb; } .line { fill: none; stroke-width: 2; }
%s
@media (prefers-color-scheme: dark) { .page { fill: #0d1117; } text { fill: #d1d5db; } .axis { stroke: #9ca3af; } .grid { stroke: #2d333b; }
%s }
</style>"""


def colours(of):
    return "\n".join(f".s{i} {{ stroke: {c}; }} .f{i} {{ fill: {c}; }}" for i, c in enumerate(of))


def short(value):
    """1200000 → 1.2M"""
    if value == 0:
        return "0"
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.3g}{letter}"
    return f"{value:.3g}"


class Scale:
    """Values to coordinates, and where ticks are."""

    def __init__(self, values, low, high, log):
        values = [value for value in values if value is not None and (value > 0 or not log)] or [1]
        self.log, self.low, self.high = log, low, high
        if log:
            self.min, self.max = math.log10(min(values)), math.log10(max(values))
            if self.max - self.min < 0.3:
                self.min, self.max = self.min - 0.2, self.max + 0.2
        else:
            self.min, self.max = 0, max(values) * 1.08 or 1

    def at(self, value):
        value = math.log10(value) if self.log else value
        return self.low + (value - self.min) / (self.max - self.min) * (self.high - self.low)

    def ticks(self):
        if self.log:
            decades = range(math.floor(self.min), math.ceil(self.max) + 1)
            steps = (1,) if self.max - self.min > 2 else (1, 2, 5)
            return [step * 10.0 ** decade for decade in decades for step in steps
                    if self.min - 1e-9 <= math.log10(step) + decade <= self.max + 1e-9]
        rough = self.max / 5
        unit = 10 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        return [step * i for i in range(int(self.max / step) + 1)]


def label(text, x, y, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{html.escape(text)}</text>'


def frame(title, y_label, y_scale):
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
           f"<title>{html.escape(title)}</title>", STYLE % (colours(LIGHT), colours(DARK)),
           f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>', label(title, WIDTH / 2, 22, extra=' class="title"'),
           label(y_label, 0, 0, extra=f' transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"')]
    for tick in y_scale.ticks():
        y = y_scale.at(tick)
        out += [f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>', label(short(tick), LEFT - 6, y + 4, "end")]
    out.append(f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    return out


def legend(entries, note=None):
    """Below the plot, in one row. entries: [(name, mark)], a mark is SVG around the origin."""
    out, x = [], LEFT
    for name, mark in entries:
        out += [f'<g transform="translate({x} {HEIGHT - 18})">{mark}</g>', label(name, x + 22, HEIGHT - 14, "start")]
        x += 36 + 6.6 * len(name)
    if note:
        out.append(label(note, WIDTH - RIGHT, HEIGHT - 14, "end"))
    return out


def styles(names):
    """{name: (colour's number, dashes)}: what is before ", " in a name chooses its colour, what follows its dashes."""
    bases, variants = [], []
    for name in names:
        base, _, variant = name.partition(", ")
        bases += [base] if base not in bases else []
        variants += [variant] if variant not in variants else []
    return {name: (bases.index(name.partition(", ")[0]) % len(LIGHT), DASHES[variants.index(name.partition(", ")[2]) % len(DASHES)])
            for name in names}


def lines(title, x_label, y_label, series, log_y=False):
    """series: {name: [[x, y], ...]}; x is logarithmic, as sizes are."""
    series = {name: [(x, y) for x, y in points if y is not None] for name, points in series.items()}
    xs = [x for points in series.values() for x, _ in points]
    x_scale = Scale(xs, LEFT + 14, WIDTH - RIGHT - 14, True)
    y_scale = Scale([y for points in series.values() for _, y in points], HEIGHT - BOTTOM, TOP, log_y)
    out = frame(title, y_label + (" (logarithmic)" if log_y else ""), y_scale)
    for x in sorted(set(xs)):
        at = x_scale.at(x)
        out += [f'<path class="axis" d="M{at:.1f} {HEIGHT - BOTTOM}v5"/>', label(short(x), at, HEIGHT - BOTTOM + 18)]
    out.append(label(x_label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 36))
    style = styles(series)
    for name, points in series.items():
        colour, dashes = style[name]
        spots = [(x_scale.at(x), y_scale.at(y)) for x, y in sorted(points)]
        if len(spots) > 1:
            out.append(f'<polyline class="line s{colour}" stroke-dasharray="{dashes}" points="' +
                       " ".join(f"{x:.1f},{y:.1f}" for x, y in spots) + '"/>')
        out += [f'<circle class="f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in spots]
    marks = [(name, f'<path class="line s{colour}" stroke-dasharray="{dashes}" d="M0 0H18"/>') for name, (colour, dashes) in style.items()]
    return "\n".join(out + legend(marks) + ["</svg>", ""])


def bars(title, y_label, groups, series, log_y=False, below=None):
    """series: {name: [value per group]}; below: {name: [lower part of each bar]}, drawn darker, with below["note"] in the legend."""
    below = dict(below or {})
    note = below.pop("note", None)
    y_scale = Scale([value for values in series.values() for value in values], HEIGHT - BOTTOM, TOP, log_y)
    if log_y:
        y_scale.min -= 0.5
    out = frame(title, y_label, y_scale)
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = min(room * 0.8 / len(series), 60)
    for number, group in enumerate(groups):
        middle = LEFT + room * (number + 0.5)
        out.append(label(group, middle, HEIGHT - BOTTOM + 18))
        for index, (name, values) in enumerate(series.items()):
            if values[number] is None:
                continue
            x, top = middle + (index - len(series) / 2) * width, y_scale.at(values[number])
            out.append(f'<rect class="f{index % len(LIGHT)}"{LIGHTER if name in below else ""} x="{x + 2:.1f}" '
                       f'y="{top:.1f}" width="{width - 4:.1f}" height="{HEIGHT - BOTTOM - top:.1f}"/>')
            if name in below:
                part = y_scale.at(below[name][number])
                out.append(f'<rect class="f{index % len(LIGHT)}" x="{x + 2:.1f}" y="{part:.1f}" width="{width - 4:.1f}" '
                           f'height="{HEIGHT - BOTTOM - part:.1f}"/>')
            out.append(label(short(values[number]), x + width / 2, top - 4))
    marks = [(name, f'<rect class="f{index % len(LIGHT)}" y="-6" width="12" height="12"/>') for index, name in enumerate(series)]
    return "\n".join(out + legend(marks, note) + ["</svg>", ""])


def draw(plot):
    """The SVG of a plot as results.py keeps it."""
    arguments = {key: value for key, value in plot.items() if key not in ("file", "kind")}
    return {"lines": lines, "bars": bars}[plot["kind"]](**arguments)
