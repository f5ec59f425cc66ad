# SPDX-License-Identifier: BSD-2-Clause
"""The manual's examples: found in the sources of doc/manual, run in a scene, compared with what is shown. doc/manual/examples.py describes them."""
import dataclasses
import os
import pathlib
import re
import signal
import time

from .waiting import PATIENCE

TOP = pathlib.Path(__file__).resolve().parents[2]
MANUAL = TOP / "doc" / "manual"
DIRECTIVES = ("knot-conf", "file", "sample", "session", "prepare", "log")
# Directives that show text which nothing checks; a command or a configuration must not hide in them.
UNCHECKED = re.compile(r"^ *\.\. (?:code-block|code|literalinclude|parsed-literal|highlight)::|^(?! *\.\. ).*::$")
PROMPT = re.compile(r"^((?:\w+)?[#$]) (.*)$")
ELLIPSIS = "\u2026"
TIME_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:[+-]\d\d:?\d\d|Z)?")


@dataclasses.dataclass
class Command:
    prompt: str
    text: str
    line: int                   # number of its line in the file
    output: list = dataclasses.field(default_factory=list)

    def status(self):
        """What it ends with: a client that shows an error fails."""
        is_client = re.match(r"(knotc|kdig) ", self.text) and "|" not in self.text
        return 1 if is_client and any(re.match(r"error: |;; ERROR", line) for line in self.output) else 0


@dataclasses.dataclass
class Example:
    path: pathlib.Path
    line: int                   # number of the directive's line
    kind: str
    argument: str
    options: dict
    indent: int                 # of the content
    first: int                  # number of the content's first line
    content: list

    def __str__(self):
        return f"{self.path.relative_to(TOP)}:{self.line}"

    def text(self):
        return "\n".join(self.content) + "\n"

    def commands(self):
        found = []
        for number, line in enumerate(self.content, self.first):
            match = PROMPT.match(line)
            if match:
                found.append(Command(match.group(1), match.group(2), number))
            elif found and found[-1].text.endswith("\\") and not found[-1].output:
                found[-1].text += "\n" + line
            elif found:
                found[-1].output.append(line)
            else:
                raise ValueError(f"{self}: the first line has no prompt: {line!r}")
        for command in found:
            while command.output and not command.output[-1].strip():
                command.output.pop()
        return found


def indentation(line):
    return len(line) - len(line.lstrip(" "))


def examples_of(path):
    """All examples of a file, in their order."""
    lines, found, at = path.read_text(encoding="utf-8").split("\n"), [], 0
    while at < len(lines):
        match = re.match(r"^( *)\.\. ([\w-]+):: *(.*)$", lines[at])
        if not match or match.group(2) not in DIRECTIVES:
            at += 1
            continue
        start, outer, options, key = at, len(match.group(1)), {}, None
        at += 1
        while at < len(lines) and indentation(lines[at]) > outer:
            option = re.match(r"^ +:([\w-]+): *(.*)$", lines[at])
            if option:
                key = option.group(1)
                options[key] = option.group(2)
            else:
                options[key] += " " + lines[at].strip()
            at += 1
        first = None
        content = []
        if match.group(2) == "sample":
            text = (TOP / "samples" / match.group(3).strip()).read_text(encoding="utf-8").rstrip("\n")
            found.append(Example(path, start + 1, "sample", match.group(3).strip(), options, 0, start + 1, text.split("\n")))
            continue
        while at < len(lines) and (not lines[at].strip() or indentation(lines[at]) > outer):
            if first is None and lines[at].strip():
                first = at
            if first is not None:
                content.append(lines[at])
            at += 1
        while content and not content[-1].strip():
            content.pop()
        if not content:
            raise ValueError(f"{path}:{start + 1}: {match.group(2)} without content")
        indent = min(indentation(line) for line in content if line.strip())
        found.append(Example(path, start + 1, match.group(2), match.group(3).strip(), options, indent, first + 1,
                             [line[indent:] for line in content]))
    return found


def line_pattern(line, any_number):
    """A regular expression for one line that was shown."""
    parts = []
    for piece in re.split(rf"({ELLIPSIS}|{TIME_STAMP.pattern}|\s+|\d+)", line.rstrip()):
        if piece == ELLIPSIS:
            parts.append(r"[^\n]*?")
        elif TIME_STAMP.fullmatch(piece):
            parts.append(TIME_STAMP.pattern)
        elif piece.isspace():
            parts.append(r"[ \t]+")
        elif piece.isdigit() and any_number:
            parts.append(r"\d+")
        else:
            parts.append(re.escape(piece))
    return "".join(parts)


def matches(shown, printed, any_number=False):
    """Is what was printed what is shown?"""
    pattern = ""
    for line in shown:
        pattern += r"(?:[^\n]*\n)*?" if line.strip() == ELLIPSIS else line_pattern(line, any_number) + r"[ \t]*\n"
    printed = printed.rstrip()
    return re.fullmatch(pattern, printed + "\n" if printed else "") is not None


class Wrong(Exception):
    """An example that isn't true: where, what was shown, what happened."""


def check_configuration(scene, example):
    """It is valid, or refused for the reason that is shown."""
    path = example.argument or "/run/work/example.conf"
    scene.write(path, example.text())
    status, said = scene.run(f"knotc -c {path} conf-check")
    refused = example.options.get("refused")
    if refused is None and status != 0:
        raise Wrong(f"{example}: conf-check refuses it:\n{said}")
    if refused is not None and (status == 0 or refused not in said):
        raise Wrong(f"{example}: conf-check should say: {refused}\nbut says (status {status}):\n{said}")


def run_command(scene, command, side, any_number, again_s):
    """(status, what it prints). again_s: it may be run again for so long until it prints what is shown: what it looks at goes on meanwhile, or depends on what
    else the machine does."""
    end = time.monotonic() + again_s
    while True:
        status, printed = scene.run(command.text, side)
        printed = scene.readable(printed)
        if matches(command.output, printed, any_number) or time.monotonic() >= end:
            return status, printed


def run_session(scene, example, on_output=None):
    """Each command prints what is shown and ends as said. on_output(command, printed): for a command whose output differs, instead of failing."""
    commands = example.commands()
    meanwhile = example.options.get("meanwhile")
    asking = scene.popen(f"while :; do {meanwhile}; sleep 0.05; done >/dev/null 2>&1", "client") if meanwhile else None
    try:
        for command in commands:
            side = "client" if command.prompt.startswith("client") else "server"
            expected = int(example.options["status"]) if command is commands[-1] and "status" in example.options else command.status()
            any_number = example.options.get("numbers") == "vary"
            again_s = 10 * PATIENCE if meanwhile else 60 * PATIENCE if "again" in example.options else 0
            status, printed = run_command(scene, command, side, any_number, again_s)
            where = f"{example.path.name}:{command.line}: {command.text}"
            if status != expected:
                raise Wrong(f"{where}\nends with {status}, not {expected}, and prints:\n{printed}\nThe service wrote:\n"
                            f"{scene.run('tail -n 20 /run/knot.journal')[1]}")
            if not matches(command.output, printed, any_number):
                if on_output is None:
                    raise Wrong(f"{where}\nshown:\n" + "\n".join(command.output) + f"\nprinted:\n{printed}")
                on_output(command, printed)
    finally:
        if asking is not None:
            os.killpg(asking.pid, signal.SIGKILL)
            asking.wait()


def run_example(scene, example, on_output=None):
    """One example of any kind but `log`."""
    if "not-run" in example.options:
        if len(example.options["not-run"]) < 10:
            raise Wrong(f"{example}: :not-run: doesn't say why")
        return
    needed = example.options.get("needs-module")
    if needed is not None and scene.run(f"/usr/bin/python3 -c 'import {needed}'")[0] != 0:
        return
    if example.kind == "knot-conf":
        check_configuration(scene, example)
    elif example.kind in ("file", "sample"):
        scene.write(example.argument, example.text())
    elif example.kind == "session":
        run_session(scene, example, on_output)
    elif example.kind == "prepare":
        status, said = scene.run(example.text())
        if status != 0:
            raise Wrong(f"{example}: status {status}:\n{said}")
