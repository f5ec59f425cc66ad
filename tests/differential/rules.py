# SPDX-License-Identifier: BSD-2-Clause
"""Differences from Knot DNS that we accept, each with its reason. A rule is a function of a Difference; its docstring is
the argument, with the RFC. The fewer the better: a difference that no rule explains fails the test."""
import functools

import dns.exception
import dns.flags
import dns.message

FORMERR, NOTIMP, REFUSED = 1, 4, 5
RRSIG = 46


class Difference:
    """One question that two servers answered differently."""

    def __init__(self, line):
        self.server, number, self.letters, self.transport, query, reference, answer = line.rstrip("\n").split("\t")
        self.number = int(number)
        self.query, self.reference, self.answer = bytes.fromhex(query), bytes.fromhex(reference), bytes.fromhex(answer)
        self.others = {}    # server: its answer, for those that aren't a reference

    @staticmethod
    def text(wire):
        if not wire:
            return "(no answer)"
        try:
            return dns.message.from_wire(wire, ignore_trailing=True, one_rr_per_rrset=True).to_text()
        except (dns.exception.DNSException, ValueError) as error:
            return f"({type(error).__name__}: {error}) {wire.hex()}"

    def show(self):
        """The question, and what only the reference (-) and only the other server (+) say."""
        reference, answer = self.text(self.reference).split("\n"), self.text(self.answer).split("\n")
        asked = self.text(self.query).split("\n")
        question = asked[asked.index(";QUESTION") + 1] if ";QUESTION" in asked else self.query.hex()
        edns = " ".join(line for line in asked if line.startswith(("opcode", "flags", "eflags", "payload", "edns", "option")))
        lines = [f"### {self.server} differs in {self.letters}; question {self.number} by {self.transport}: {question} ({edns})"]
        # Sections are sets: only their headings' places matter.
        for mark, own, other in (("-", reference, answer), ("+", answer, reference)):
            section = "header"
            for line in own:
                if line.startswith(";"):
                    section = line[1:].lower()
                elif line.lower() not in self.lines_of(other, section):
                    lines.append(f"{mark} {section:10} {line}")
        return "\n".join(lines)

    @staticmethod
    def lines_of(text, section):
        """Lines of one section in lower case."""
        found, current = set(), "header"
        for line in text:
            if line.startswith(";"):
                current = line[1:].lower()
            elif current == section:
                found.add(line.lower())
        return found

    @property
    def question(self):
        """(name, type) of a well-formed question, for grouping."""
        try:
            asked = dns.message.from_wire(self.query, question_only=True).question[0]
            return asked.name.to_text().lower(), asked.rdtype
        except (dns.exception.DNSException, IndexError, ValueError):
            return "?", 0

    @property
    def is_parsed(self):
        """The request is a message of one question that can be parsed to its end, by a parser that is not ours. A compressed name has
        nothing to point to in the question."""
        try:
            return len(dns.message.from_wire(self.query).question) == 1 and self.query[12] < 64
        except (dns.exception.DNSException, ValueError):
            return False

    @functools.cached_property
    def messages(self):
        """(question, reference, answer) as dns.message.Message; None where there is none that can be read."""
        return tuple(parsed(wire) for wire in (self.query, self.reference, self.answer))

    def seconded(self):
        """NSD or BIND says the same as we: rcode, AA, answer and authority."""
        return any(essence(parsed(self.answer)) == essence(parsed(other)) is not None for other in self.others.values())

    def authority_seconded(self):
        """NSD or BIND has our rcode, AA and authority; what it has in ANSWER may differ (how many RRSIGs answer RRSIG is a choice)."""
        own = essence(parsed(self.answer))
        return own is not None and any(theirs is not None and theirs[:2] + theirs[3:] == own[:2] + own[3:]
                                       for theirs in (essence(parsed(other)) for other in self.others.values()))

    def truncated_elsewhere(self):
        """NSD or BIND sets TC."""
        return any(len(other) >= 12 and other[2] & 2 for other in self.others.values())

    def seconded_without(self, names, quorum=any):
        """NSD or BIND (quorum=all: both) answers the same and has none of these names in its additional section either."""
        return bool(self.others) and quorum(essence(parsed(self.answer)) == essence(message) is not None
                   and not names & {name for name, _, _ in records(message, "additional")}
                   for message in map(parsed, self.others.values()))

    def extra(self, section):
        """(records that only the reference has, records that only we have) of "answer", "authority" or "additional"."""
        _, reference, answer = self.messages
        return records(reference, section) - records(answer, section), records(answer, section) - records(reference, section)


def parsed(wire):
    try:
        return dns.message.from_wire(wire, ignore_trailing=True)
    except (dns.exception.DNSException, ValueError):
        return None


def records(message, section):
    """Set of (name, type, rdata) of a section. Names in the rdata of the types that may be compressed have the letters' case of what they
    are compressed against, which says nothing (RFC 1035 2.3.3)."""
    if message is None:
        return set()
    return {(rrset.name, rrset.rdtype, text_of(rdata)) for rrset in getattr(message, section) for rdata in rrset}


def text_of(rdata):
    return rdata.to_text().lower() if rdata.rdtype in (2, 5, 6, 12, 15) else rdata.to_text()


def targets(message):
    """Names that the answer's MX, SRV, SVCB and HTTPS records point to."""
    found = set()
    for rrset in message.answer:
        for rdata in rrset:
            found |= {getattr(rdata, field) for field in ("exchange", "target") if hasattr(rdata, field)}
    return found


def essence(message):
    if message is None:
        return None
    return (message.rcode(), message.flags & dns.flags.AA, frozenset(records(message, "answer")),
            frozenset(records(message, "authority")))


def rcodes(d):
    return tuple(None if len(wire) < 12 else wire[3] & 15 for wire in (d.reference, d.answer))


def udp_limit(question):
    """Bytes that an answer over UDP may have (RFC 6891 6.2.3, 6.2.5; all servers have a limit of 1232 here)."""
    return max(512, min(question.payload, 1232)) if question is not None and question.edns >= 0 else 512


# ---- Requests that are out of order ----

def formerr_for_what_cannot_be_parsed(d):
    """RFC 1035 4.1.1: FORMERR is for a request that "the name server was unable to interpret"; RFC 9619: and for more than one
    question. Knot DNS 3.2 drops some of these and overlooks damage in others. Our answer carries no record and is not longer than the request.
    NSD limits the errors that it sends per second, so that its silence says nothing."""
    said = [other for server, other in d.others.items() if other or server != "nsd"]
    return rcodes(d)[1] == FORMERR and len(d.answer) <= max(len(d.query), 12) and (
        not d.is_parsed or all(len(other) >= 12 and other[3] & 15 == FORMERR for other in said))


def not_implemented_comes_first(d):
    """RFC 1035 4.1.1: an opcode that is not supported, or type 0, is NOTIMP whatever class and name are; Knot looks for the zone first
    and says REFUSED. NSD or BIND does as we."""
    return rcodes(d) == (REFUSED, NOTIMP) and (d.query[2] >> 3 & 15 not in (0, 4, 5) or d.question[1] == 0)


def small_payload_means_512(d):
    """RFC 6891 6.2.3: "Values lower than 512 MUST be treated as equal to 512". Knot says FORMERR to some of them."""
    question, _, answer = d.messages
    return (question is not None and answer is not None and 0 <= question.edns and question.payload < 512
            and rcodes(d)[0] == FORMERR and rcodes(d)[1] != FORMERR and len(d.answer) <= 512 + 65535 * (d.transport == "tcp"))


def zone_version(d):
    """RFC 9660: a query with ZONEVERSION gets one; Knot DNS 3.2 is older than the RFC."""
    question, _, answer = d.messages
    return (d.letters == "o" and question is not None and any(o.otype == 19 for o in question.options)
            and any(o.otype == 19 for o in answer.options))


# ---- Sizes ----

def fits_into_less(d):
    """RFC 2181 9: TC says that something did not fit. We compress names that Knot spells out and don't reserve room, so
    that an answer is whole that Knot has to cut. Ours is within the limit and not truncated."""
    question, reference, answer = d.messages
    return (d.transport == "udp" and None not in (reference, answer) and set(d.letters) <= set("hANDr")
            and reference.flags & dns.flags.TC and not answer.flags & dns.flags.TC
            and reference.flags | dns.flags.TC == answer.flags | dns.flags.TC and len(d.answer) <= udp_limit(question))


def more_fits_beside(d):
    """RFC 2181 9, RFC 9471 3.2: additional data that is not required (addresses of sibling servers, of targets, their signatures and
    denials) is sent as far as it fits, without TC. We compress names that Knot spells out, so that a record of ours did not fit into
    Knot's message any more; a smaller one that Knot has in its place does then not fit into ours. To the byte, and never in-domain glue."""
    question, reference, answer = d.messages
    if d.transport != "udp" or d.letters != "D" or None in (reference, answer) or len(d.answer) > udp_limit(question):
        return False
    cuts = [rrset.name for rrset in answer.authority if rrset.rdtype == 2]
    missing, more = d.extra("additional")
    return (bool(more) and all(len(d.reference) + size(record, answer) > udp_limit(question) for record in more)
            and all(len(d.answer) + size(record, reference) > udp_limit(question)
                    and not any(record[0].is_subdomain(cut) for cut in cuts) for record in missing))


def size(record, message):
    """Octets of one of the message's additional records, its owner compressed."""
    return next(12 + len(rdata.to_wire()) for rrset in message.additional for rdata in rrset
                if (rrset.name, rrset.rdtype, text_of(rdata)) == record)


def rcode_of_a_truncated_chain(d):
    """RFC 6604 3: RCODE tells of the last name of a chain of aliases. In an answer that is cut, Knot leaves the RCODE of
    where it stopped; the client asks again by TCP anyway."""
    _, reference, answer = d.messages
    return d.letters == "r" and reference.flags & answer.flags & dns.flags.TC != 0 and rcodes(d) == (0, 3)


# ---- Answers ----

def zero_octet_sorts_first(d):
    """RFC 4034 6.1: labels are compared as octet strings where the absence of an octet sorts before a zero octet, so all names below
    "b" come before "b\\000". Knot DNS 3.2 takes "b" as the predecessor of "b\\000": its NSEC does not cover the name."""
    question, _, answer = d.messages
    if d.letters != "N" or question is None or not any(label.endswith(b"\0") for label in question.question[0].name.labels):
        return False
    return covers(answer, question.question[0].name) and d.seconded()


def covers(message, name):
    """An NSEC of the message covers the name."""
    for rrset in message.authority:
        for rdata in rrset if rrset.rdtype == 47 else ():
            if rrset.name < name and (name < rdata.next or rdata.next <= rrset.name):
                return True
    return False


def negative_has_soa(d):
    """RFC 2308 3: a negative answer has the SOA record of the zone in its authority section, or TC if it doesn't fit. Knot leaves it out
    without TC at the end of a chain of aliases that fills the message. Ours has it (with TC, as NSD's or BIND's, where only its
    signature is left out: RFC 4035 3.1.1)."""
    question, reference, answer = d.messages
    missing, more = d.extra("authority")
    return (d.transport == "udp" and d.letters in ("N", "hN") and not missing and {r[1] for r in more} <= {6, RRSIG}
            and 6 in {r[1] for r in more} and rcodes(d) in ((3, 3), (0, 0)) and not reference.flags & dns.flags.TC
            and not reference.authority and bool(targets_of_aliases(reference)) and len(d.answer) <= udp_limit(question)
            and (not answer.flags & dns.flags.TC or d.truncated_elsewhere()))


def targets_of_aliases(message):
    return {rdata.target for rrset in message.answer if rrset.rdtype in (5, 39) for rdata in rrset}


def complete_proof_does_not_fit(d):
    """RFC 4035 3.1.1: what is required and does not fit sets TC. As proof_is_complete, but the answer is so small that the proof
    that Knot leaves out makes it truncated; so it is with NSD or BIND."""
    _, reference, answer = d.messages
    if d.transport != "udp" or d.letters != "hN" or None in (reference, answer) or reference.flags & dns.flags.TC:
        return False
    missing, more = d.extra("authority")
    return (answer.flags & dns.flags.TC != 0 and {r[1] for r in missing} <= {RRSIG} and bool(more)
            and {r[1] for r in more} <= {RRSIG, 47, 50} and d.truncated_elsewhere())


def proof_is_complete(d):
    """RFC 4035 3.1.3.2-3.1.3.4, RFC 5155 7.2: a denial proves that the name is not there as well as that no wildcard answers. Knot DNS 3.2
    leaves one out where a wildcard is an empty non-terminal. What we have more is NSEC, NSEC3 and their signatures, and NSD or BIND
    sends the same proof."""
    missing, more = d.extra("authority")
    return d.letters == "N" and not missing and {record[1] for record in more} <= {RRSIG, 47, 50} and d.authority_seconded()


def opt_out_name_without_hash(d):
    """RFC 5155 7.1: an empty non-terminal above insecure delegations only has no NSEC3 under opt-out. Knot DNS 3.2 answers
    names below it with nothing at all, without AA; it is a denial with the closest provable encloser (RFC 5155 7.2.1, 7.2.2)."""
    _, reference, answer = d.messages
    return (None not in (reference, answer) and not reference.flags & dns.flags.AA and not reference.answer
            and not reference.authority and answer.flags & dns.flags.AA != 0
            and any(rrset.rdtype == 50 for rrset in answer.authority))


def no_wildcard_below_a_cut(d):
    """RFC 1034 4.3.3: "Wildcard RRs do not apply when the query is in another zone. That is, delegation cancels the wildcard
    defaults." Knot makes addresses of a mail server, or of a referral's server elsewhere, from a wildcard that lies below a cut. NSD or
    BIND says as we; both must where the server is in the delegated domain itself, for its glue is not optional (RFC 9471 3.1)."""
    _, _, answer = d.messages
    if d.letters != "D" or answer is None or (answer.authority and answer.answer):
        return False
    missing, more = d.extra("additional")
    referral = [rrset for rrset in answer.authority if rrset.rdtype == 2]
    named = targets(answer) | {rdata.target for rrset in referral for rdata in rrset}
    names = {name for name, _, _ in missing}
    is_glue = any(name.is_subdomain(cut.name) for name in names for cut in referral)
    return (not more and bool(missing) and all(name in named and rtype in (1, 28) for name, rtype, _ in missing)
            and d.seconded_without(names, all if is_glue else any))


def additional_owner_is_the_target(d):
    """RFC 1034 4.3.3, RFC 4592 3.3.1: a wildcard lends its records to the name that was looked for, here the target of an SVCB or
    HTTPS record. Knot sends them with the asterisk as their owner, which says nothing about the target. But for that owner, or
    for want of room, the records are the same."""
    question, reference, answer = d.messages
    if d.letters != "D" or None in (reference, answer):
        return False
    missing, more = d.extra("additional")
    wanted = targets(answer)
    def is_lent(star, record):
        return record[1:] == star[1:] and record[0] in wanted and record[0].is_subdomain(star[0].parent())
    def lacks_room(record):
        return d.transport == "udp" and len(d.answer) + size(record, reference) > udp_limit(question)
    stars = {record for record in missing if record[0].is_wild()}
    return (bool(stars) and all(record in stars or lacks_room(record) for record in missing)
            and all(any(is_lent(star, record) for record in records(answer, "additional")) or lacks_room(star) for star in stars)
            and all(any(is_lent(star, record) for star in stars) for record in more))


RULES = [formerr_for_what_cannot_be_parsed, not_implemented_comes_first, small_payload_means_512, zone_version, fits_into_less,
         more_fits_beside, additional_owner_is_the_target, no_wildcard_below_a_cut, rcode_of_a_truncated_chain, zero_octet_sorts_first,
         proof_is_complete, negative_has_soa, complete_proof_does_not_fit, opt_out_name_without_hash]


def explain(difference):
    """Name of the rule that explains a difference, None if there is none."""
    for rule in RULES:
        if rule(difference):
            return rule.__name__
    return None
