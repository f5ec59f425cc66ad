# SPDX-License-Identifier: BSD-2-Clause
"""Differences from Knot DNS that we accept, each with its reason. A rule is a function of a Difference; its docstring is
the argument, with the RFC. The fewer the better: a difference that no rule explains fails the test."""
import dns.exception
import dns.message

FORMERR = 1


class Difference:
    """One question that two servers answered differently."""

    def __init__(self, line):
        self.server, number, self.letters, self.transport, query, reference, answer = line.rstrip("\n").split("\t")
        self.number = int(number)
        self.query, self.reference, self.answer = bytes.fromhex(query), bytes.fromhex(reference), bytes.fromhex(answer)

    @staticmethod
    def text(wire):
        if not wire:
            return "(no answer)"
        try:
            return dns.message.from_wire(wire, ignore_trailing=True, one_rr_per_rrset=True).to_text()
        except (dns.exception.DNSException, ValueError) as error:
            return f"({type(error).__name__}: {error}) {wire.hex()}"

    def show(self):
        lines = [f"### question {self.number} ({self.transport}): {self.server} differs in {self.letters}",
                 self.text(self.query), "--- reference", self.text(self.reference), f"--- {self.server}", self.text(self.answer)]
        return "\n".join(lines)

    @property
    def question(self):
        """(name, type) of a well-formed question, for grouping."""
        try:
            asked = dns.message.from_wire(self.query, question_only=True).question[0]
            return asked.name.to_text().lower(), asked.rdtype
        except (dns.exception.DNSException, IndexError, ValueError):
            return "?", 0

    @property
    def rcode(self):
        return self.answer[3] & 15 if len(self.answer) >= 12 else None

    @property
    def is_parsed(self):
        """The question is a message that can be parsed to its end."""
        try:
            dns.message.from_wire(self.query, ignore_trailing=True)
            return True
        except (dns.exception.DNSException, ValueError):
            return False


def answers_formerr(d):
    """A request that can't be parsed but has a whole header gets FORMERR (RFC 1035 4.1.1: "the name server was unable to
    interpret the query"); Knot DNS 3.2 sends nothing. An answer is what lets the client know, and it is never longer than
    the request, so it amplifies nothing."""
    return d.letters == "n" and not d.reference and d.rcode == FORMERR and len(d.answer) <= len(d.query) and not d.is_parsed


RULES = [answers_formerr]


def explain(difference):
    """Name of the rule that explains a difference, None if there is none."""
    for rule in RULES:
        if rule(difference):
            return rule.__name__
    return None
