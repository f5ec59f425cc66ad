# SPDX-License-Identifier: BSD-2-Clause
"""Differences between knsupdate of Knot DNS 3.2.6 and ours that we accept, each with its reason. A rule brings both results to a form in which the
difference is gone; what is still different then is unexplained, and a rule that explains nothing fails the test.

Results are (exit, stdout, stderr, messages) in the test's normal form. A reason that begins with "3.6" is what Knot DNS 3.4 to 3.6 do and Debian's version
does not do yet, one with "Bowline" is something that we do on purpose."""
import itertools
import re

from golden_difference import distance, registry
from golden_message import expanded

# A rule is a function (case, result) that gives the result without what differs, for both sides.
RULES, rule = registry()

# What one of the two doesn't take: (reason, line of the script, what is said about it).
REFUSED_BY_US, REFUSED_BY_THEM = [], []


def refused(table, reason, line, error):
    table.append((reason, re.compile(line, re.M), error))


def explain_refusal(case, theirs, ours):
    """The reason why one of the two doesn't take a line and stops there, or None."""
    for table, refusing, other in ((REFUSED_BY_US, ours, theirs), (REFUSED_BY_THEM, theirs, ours)):
        for reason, line, error in table:
            if refusing[0] == 1 and line.search(str(case)) and re.search(error, refusing[2]) and not re.search(error, other[2]):
                return reason
    return None


def explain(case, theirs, ours):
    """The reasons of all that differs, or None: something is left."""
    reasons = []
    refusal = explain_refusal(case, theirs, ours)
    if refusal:
        return [refusal]
    for first, second in [*((row,) * 2 for row in RULES), *itertools.permutations(RULES, 2)]:
        new_theirs, new_ours = (function_of(first, second)(case, result) for result in (theirs, ours))
        if new_theirs == theirs and new_ours == ours:
            continue
        if new_theirs == new_ours or distance(new_theirs, new_ours) < distance(theirs, ours):
            reasons += [reason for reason, _ in dict.fromkeys((first, second)) if reason not in reasons]
            theirs, ours = new_theirs, new_ours
        if theirs == ours:
            return reasons
    return None


def function_of(first, second):
    """Two rules at once, as a line may differ in two ways; the same twice is one."""
    return first[1] if first == second else lambda case, result: second[1](case, first[1](case, result))


def all_reasons():
    return [reason for reason, *_ in [*RULES, *REFUSED_BY_US, *REFUSED_BY_THEM]]


def in_out(result, pattern, replacement=""):
    code, out, err, messages = result
    return code, re.sub(pattern, replacement, out, flags=re.M), err, messages


def in_err(result, pattern, replacement=""):
    code, out, err, messages = result
    return code, out, re.sub(pattern, replacement, err, flags=re.M), messages


@rule("Bowline: messages above 512 bytes go over TCP")
def transport(_case, result):
    code, out, err, messages = result
    return code, out, err, re.sub(r"^UDP (?=[0-9a-f]{1025})", "TCP ", messages, flags=re.M)


@rule("Bowline: names keep their letter case")
def letter_case(case, result):
    code, out, err, messages = result
    if not re.search(r"Odd\.Test|\bB\b", case.script):
        return result
    out = re.sub(r"\b(B|Odd\.Test)(?=\.)", lambda match: match[0].lower(), out)
    return code, out, err, re.sub(r"\| (\d) ([0-9a-f]+) (\d+ \d+ \d+) ([0-9a-f]*)", lower, spelt_out(messages))


@rule("Bowline: a condition with data has the class of the zone (RFC 2136 2.4.2)")
def condition_class(case, result):
    code, out, err, messages = result
    if not re.search(r"^class (?!IN)", case.script, re.M):
        return result
    return code, re.sub(r"\t0\t(IN|CH|ANY|NONE)\t(?=\S+\t\S)", r"\t0\tCLASS\t", out), err, re.sub(r"(?<=\| 1 )([0-9a-f]+ \d+ )\d+( \d+ [0-9a-f]+)", r"\1CLASS\2", spelt_out(messages))


def spelt_out(messages):
    """All names in full, unless that was done already."""
    return messages if " | " in messages else "\n".join(f"{transport} {expanded(wire)}" for transport, wire in (line.split(" ") for line in messages.splitlines()))


def lower(match):
    """A record of an expanded message."""
    section, owner, fixed, rdata = match.groups()
    owner, rdata = (bytes.fromhex(text).lower().hex() for text in (owner, rdata))
    return f"| {section} {owner} {fixed} {rdata}"


@rule("Bowline: names are compressed against all earlier ones of a message")
def compression(_case, result):
    code, out, err, messages = result
    return code, out, err, spelt_out(messages)


@rule("Bowline: what is wrong with a line is told, and in which item")
def wrong_line(_case, result):
    code, out, err, messages = result
    pattern = (r"^;; ERROR: (unexpected (literal|token).*|ambiguous literal: .*|failed to parse (zone|origin|class|ttl|owner|type|server|local address) .*"
               r"|invalid (record|rdata|data of \S+) .*|class mismatch .*|type \S+ is never of .*|failed to set default origin.*)$")
    return (code, out, re.sub(pattern, ";; ERROR: LINE", err, flags=re.M), messages) if code == 1 else result


@rule("Bowline: a malformed answer is shown as far as it can be read")
def malformed(case, result):
    code, out, err, messages = result
    if "cut-0" in case.script:    # theirs says nothing of an empty message over TCP
        return code, "", re.sub(r"^;; ERROR: malformed reply packet.*\n", "", err, flags=re.M), messages
    if code != 1 or "malformed reply packet" not in err and "failed to parse response" not in err:
        return result
    return code, "", re.sub(r"^;; ERROR: (malformed reply packet|failed to parse response).*", ";; ERROR: MALFORMED", err, flags=re.M), messages


@rule("Bowline: data of a condition that can't have any isn't sent")
def condition_data(case, result):
    code, out, err, messages = result
    if not re.search(r"^nxrrset a A 1.2.3.4$", case.script, re.M):
        return result
    return (code, re.sub(r"(NONE\tA)\t1.2.3.4$", r"\1", out, flags=re.M), re.sub(r"^;; WARNING: ignoring input data '1.2.3.4'\n", "", err, flags=re.M),
            re.sub(r"(\| 1 [0-9a-f]+ 1 254 0 )01020304", r"\1", spelt_out(messages)))


@rule("Bowline: @ is the origin in all commands")
def at_sign(case, result):
    code, out, err, messages = result
    if not re.search(r"^(del|nxdomain) @$", case.script, re.M):
        return result
    return code, re.sub(r"\t$", "", re.sub(r"^(\\@)?\. +", ". ", out, flags=re.M), flags=re.M), err, re.sub(r"(\| \d )0140", r"\1", spelt_out(messages))


@rule("Bowline: before an answer there is none to be shown")
def no_answer_yet(_case, result):
    result = in_out(result, r"^Answer:\n;; ->>HEADER<<- opcode: QUERY; status: NOERROR; id: ID\n;; Flags: ; ZONE: 0; PREREQ: 0; UPDATE: 0; ADDITIONAL: 0\n")
    return in_err(result, r"^;; WARNING: there is no answer yet\n")


# What is no difference in standard output and in standard error: (reason, pattern, what stands for it).
SAME_OUT = (
    ("Bowline: empty data is printed so that it can be read again", r"(?<=APL)\t?(\\# 0)?$", ""),
    ("Bowline: lines don't end in a tab where there is no data", r"\t$", ""),
    ("3.6: CAA and URI don't end in a blank", r'(?<=") $', ""),
    ("Bowline: EDNS of an answer is shown, as extended errors may be in it", r"^;; EDNS PSEUDOSECTION:\n(;; .*\n)+\n", ""),
    ("Bowline: -d tells of what goes over the network", r"^;; DEBUG: .*\n", ""),
)
SAME_ERR = (
    ("Bowline: an error has the file and the line", r"^;; ERROR: in .*, line \d+\n", ""),
    ("Bowline: what isn't sent at the end is told", r"^;; WARNING: an update with \d+ records? wasn't sent: .*\n", ""),
    ("Bowline: a failure to send is an error, beside the warnings about each attempt", r"^;; ERROR: (no answer: whether the update was done isn't known|the update wasn't sent)\n", ""),
    ("Bowline: RCODEs without a name are numbered", r"(?<=update failed with error )('RCODE \d+'|'')$", "RCODE"),
    ("Bowline: what is wrong with a key is told, and not its secret", r"(?<=ERROR: failed to parse key)(file '[^']*')?( '[^']*'|.*)$", r"\1"),
    ("Bowline: what is wrong with a key is told", r"(?<=invalid key specification) \(.*\)$", ""),
    ("Bowline: why a server can't be reached is told", r"(?<=can't )([a-z ]+ \S+\((?:TCP|UDP)\)) \([^)]*\)$", r"\1"),
    ("Bowline: nobody at the port, and a datagram without content, are told apart from no answer", r"^;; WARNING: (can't receive reply from|response timeout for) 127.0.0.1@PORT\(UDP\)", "NO ANSWER"),
    ("Bowline: a host that can't be found is looked for once", r"^(;; ERROR: .* for \S+@\S+\n)\1+", r"\1"),
    ("Bowline: a wrong name is told", r"^;; ERROR: (LINE|failed to parse owner 'a..b' \(empty label\))\n", ""),
    ("Bowline: how many records fit into a message is told", r"^;; ERROR: \d+ of \d+ records fit into 65535 bytes: send them in parts\n", ""),
    ("Bowline: a key that the server doesn't know is told", r"reply verification \((failed to verify TSIG|TSIG key not recognized or invalid)\)", "reply verification (KEY)"),
    ("Bowline: what is too much in a line is told, for all commands", r"^;; WARNING: ignoring input data '.*'\n", ""),
)


def replacing(change, pattern, replacement):
    return lambda _case, result: change(result, pattern, replacement)


for row in SAME_OUT:
    rule(row[0])(replacing(in_out, *row[1:]))
for row in SAME_ERR:
    rule(row[0])(replacing(in_err, *row[1:]))

refused(REFUSED_BY_US, "Bowline: what has another ID, no QR, or another opcode is no answer to an update", r"^zone (noqr|opcode-\d+|flags-8000)\.",
        "is no reply to an update")
refused(REFUSED_BY_US, "Bowline: what has another ID, no QR, or another opcode is no answer to an update", r"^zone id\.", "is different from query ID")
refused(REFUSED_BY_US, "Bowline: a name that is missing isn't the root", r"^((update|prereq) +)?(add|del|delete|nxdomain|yxdomain|nxrrset|yxrrset|server|local)$",
        "is missing")
refused(REFUSED_BY_US, "Bowline: types that no zone has are refused", r"^del a (OPT|TSIG|AXFR)$", "is never of records in a zone")
refused(REFUSED_BY_US, "Bowline: wrong RDATA is found in its line", r"\\# 3 010203$", "invalid record data")
refused(REFUSED_BY_US, "Bowline: a type that is missing isn't ANY", r"^(nxrrset|yxrrset|prereq yxrrset) a$", "failed to parse type ''")
refused(REFUSED_BY_THEM, "Bowline: ANY may be deleted", r"^del a ANY$", "class mismatch 'ANY'")
refused(REFUSED_BY_THEM, "Bowline: a beginning of a command's name is enough, if it has only one meaning", r"^(n|pre|upd|zon x|serv .*|sh|se|an)$",
        "unexpected literal: '.*did you mean")
refused(REFUSED_BY_THEM, "Bowline: commands in any case of letters", r"^(ADD a|Show)", "unexpected literal: '(ADD|Show)")
refused(REFUSED_BY_THEM, "Bowline: there is a help", r"^help$", "unexpected literal: 'help'")
refused(REFUSED_BY_THEM, "Bowline: TTLs with units, and before or behind the class, in all commands", r"^(ttl 1h|del a IN 300 A|del a 1h A)$",
        r"failed to parse ttl '1h'$|unclosed last multiline block")
refused(REFUSED_BY_US, "Bowline: a port that can't be one is found in its line", r"^server 127.0.0.1 99999$", "failed to parse server")
refused(REFUSED_BY_US, "Bowline: names are checked as in zone files in all commands", r"^del a\$b$", "invalid domain name character")
refused(REFUSED_BY_US, "Bowline: an escape above 255 is no character", r"^add \\300", "invalid escape sequence")
refused(REFUSED_BY_US, "Bowline: -k and -y exclude each other", r"-[ky] \S+ -y ", "-k and -y exclude each other")
refused(REFUSED_BY_US, "Bowline: a port that can't be one is found at once", r"-p (0|99999)$", "invalid port")
refused(REFUSED_BY_US, "Bowline: a folder isn't an empty file", r"{folder}$", "Is a directory")
