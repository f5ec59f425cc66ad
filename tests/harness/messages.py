# SPDX-License-Identifier: BSD-2-Clause
"""The texts that a program can write: the format strings of its sources, as patterns."""
import re

LITERAL = r'"(?:\\.|[^"\\\n])*"'
FORMATS = re.compile(rf'(?:{LITERAL}|PRI\w+)(?:\s*(?:{LITERAL}|PRI\w+))*')
CONVERSION = re.compile(r"%(?:%|[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?(?:[diouxXcsp])|[-+ #0]*\d*$)")
PREFIX = re.compile(r"^(?:\d{4}-\S+ )?(?:(?:debug|info|notice|warning|error|critical): )?(?:\[\S+\] )?")


def pattern(text):
    """The regular expression of a format; None if too little of it is fixed to tell anything."""
    parts, fixed, at = [], 0, 0
    for match in CONVERSION.finditer(text):
        parts.append(re.escape(text[at:match.start()]))
        fixed += match.start() - at
        parts.append("%" if match.group() == "%%" else ".*")
        at = match.end()
    parts.append(re.escape(text[at:]))
    fixed += len(text) - at
    return re.compile("".join(parts)) if fixed >= 8 else None


class Messages:
    """All messages of the sources below `top`."""

    def __init__(self, top):
        self.patterns = []
        for folder in ("src", "xdp", "libknot"):
            for path in (top / folder).rglob("*.c"):
                if not path.name.endswith("_test.c"):
                    self._read(path.read_text(encoding="utf-8"))

    def _read(self, code):
        for literal in FORMATS.finditer(re.sub(r"PRI\w+", '"d"', code)):
            text = "".join(part[1:-1] for part in re.findall(LITERAL, literal.group()))
            text = text.replace('\\"', '"').replace("\\\\", "\\").replace("\\n", "")
            found = pattern(text)
            if found is not None:
                self.patterns.append(found)

    def has(self, line):
        """Whether a message gives this line. What is before a colon of an earlier message counts as part of a conversion."""
        text = PREFIX.sub("", line.strip())
        return any(p.fullmatch(text) for p in self.patterns)
