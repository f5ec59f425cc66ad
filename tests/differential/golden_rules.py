# SPDX-License-Identifier: BSD-2-Clause
"""Differences between knotc of Knot DNS 3.2.6 and ours that we accept, each with its reason: rules for what many lines have in
common, rows for single lines. What neither explains fails the test, and so does a rule or row that explains nothing any more.

Results are (exit, stdout, stderr) in the test's normal form. A reason that begins with "3.5" is what Knot DNS 3.5 and 3.6 do and Debian's
version does not do yet, one with "not supported yet" a feature to come, one with "Bowline" something that we do on purpose."""
import re

from golden_difference import registry

# Lines of the log that aren't compared: requests (ours say by whom), and what loading says, which images change.
LOG_SKIPPED = re.compile(r"control, (received command|binding to|transaction committed)|zone (file parsed|file not changed|will be loaded)|loaded, serial")
# What differs between two runs, and words that 3.5 has added.
LOG_NORMAL = ((r"\d+\.\d\d seconds|(?<=@)\d+|(?<=in )\d+ seconds|\d+ bytes", "N"), (r"(?<=@N) TCP", ""), (r"finished, remote serial \d+,", "finished,"))

# A rule is a function (line, world, theirs, ours) that is true where the difference is of this kind.
RULES, rule = registry()


def without(result, pattern):
    """A result without what matches in its output; lines that become empty go."""
    code, out, err = result
    lines = [re.sub(pattern, "", line) for line in out.splitlines() if re.sub(pattern, "", line) or not line]
    return code, "\n".join(lines), err


@rule("3.5: one blank in `error: (text)` of no zone (ADR 0007)")
def one_blank(_line, _world, theirs, ours):
    return (theirs[0], theirs[1].replace("error:  (", "error: ("), theirs[2].replace("error:  (", "error: (")) == ours


@rule("Bowline: a KSK of a zone that isn't signed here can't be submitted; Knot DNS 3.2 misses a key")
def submission_unsigned(line, _world, theirs, ours):
    said, wanted = "no key ready for submission", "operation not supported"
    return line.startswith("zone-ksk-submitted") and said in theirs[1] + theirs[2] and ours == (
        theirs[0], theirs[1].replace(said, wanted), theirs[2].replace(said, wanted))


@rule("Bowline: a command for which Knot DNS 3.2 crashes")
def crash(line, _world, theirs, ours):
    return line == "zone-backup +backupdir" and "failed to control (connection reset)" in theirs[2] and ours[1] in (
        "error: (missing parameter)", "error:  (missing parameter)")


@rule("Bowline: the usage is followed by a line that says which value is wrong")
def wrong_value(_line, world, theirs, ours):
    return world == "ours" and theirs == (1, "USAGE", "") and ours[:2] == (1, "USAGE") and re.fullmatch(r"error: invalid [^\n]+, use [^\n]+", ours[2])


@rule("Bowline: a hint stands behind an error of the configuration, a warning of zone files that are missing before its verdict")
def hints(line, _world, theirs, ours):
    added = r"^(hint: .*|warning: config, item 'zone\[.*\.file', value '.*' \(no such file\))$"
    kept = "\n".join(text for text in ours[2].splitlines() if not re.match(added, text))
    return kept != ours[2] and (ours[0], ours[1], kept) == theirs


@rule("3.5, and DSYNC-notify and delegation of Bowline: zone-status has more events")
def events(line, _world, theirs, ours):
    new = r"(purge|DNSSEC-validate): - \| | \| (DNSKEY-sync|DSYNC-notify|delegation): -"
    return "zone-status" in line and without(ours, new) == theirs


@rule("3.5: events that freezing holds back have a time")
def frozen_events(line, _world, theirs, ours):
    return "zone-status" in line and theirs != ours and (theirs[0], re.sub(": frozen(?= |$)", ": TIME", theirs[1]), theirs[2]) == ours


@rule("3.5: counters of TLS and of TCP timeouts; Bowline: those of evicted connections, unanswered packets, versions held back")
def more_counters(line, _world, theirs, ours):
    new = (r"^(\[\S+\] )?(mod-stats\.request-protocol\[tls[46]\]"
           r"|server\.(zone-update-error|tcp-\w+-timeout|tcp-evicted|zone-publish-refused|zone-proof-refused|delegation-[a-z-]+|reflector-port|error-limit)) = 0$")
    return "stats" in line and theirs != ours and without(ours, new) == theirs


@rule("3.5: zone-stats has the zone's size and largest TTL")
def zone_counters(line, _world, theirs, ours):
    more = without(ours, r"^\[\S+\] zone\.(size|max-ttl) = \d+$")
    return "zone-stats" in line and (more == theirs or (" zone" in line and theirs[0] == 1 and more == (0, "", "")))


@rule("3.5: no such counter is an invalid parameter")
def no_such_counter(line, _world, theirs, ours):
    return "stats" in line and (theirs[0], theirs[1].replace("(not exists)", "(invalid parameter)"), theirs[2]) == ours


@rule("3.5: values of counters and items are bold")
def bold_values(line, _world, theirs, ours):
    return re.search("-X (stats|conf-)", line) and without(ours, r"\x1b\[[01]m") == theirs


@rule("Bowline: the error says what is wrong with the zone file, and a check names the culprit and its line")
def error_of_zone_file(_line, _world, theirs, ours):
    words = r"parser failed|missing SOA record|semantic check"
    near = re.sub(r", near '[^']*'", "", ours[2])
    near = re.sub(r"(check, node [^']*?)( \((record type|NS|MX) \S+\))?(, file '[^']*', line \d+)?$", r"\1", near, flags=re.M)
    return (ours[0], re.sub(rf"\(({words})(, .*)?\)$", "(failed)", ours[1], flags=re.M),
            re.sub(rf"(failed to check zone file) \(({words})\)$", r"\1 (failed)", near, flags=re.M)) == theirs


NO_NOTIFY = "Bowline: NOTIFY isn't planned where there is nothing to notify"


@rule(NO_NOTIFY)
def no_notify(line, _world, theirs, ours):
    new = r" \| (purge|DNSSEC-validate|DNSKEY-sync|DSYNC-notify|delegation): -"
    return "zone-status" in line and theirs != ours and without(theirs, r" \| notify: (TIME|pending)") == without(without(ours, new), r" \| notify: -")


@rule("3.5: zone-purge says that a part was purged")
def part_purged(line, _world, theirs, ours):
    return line.startswith("= said") and theirs != ours and without(ours, r"^notice: \[\S+\] requested zone data purged$") == theirs


@rule("3.5: after a load the log says that outgoing transfers are still frozen")
def still_frozen(line, _world, theirs, ours):
    return line.startswith("= said") and theirs != ours and without(ours, r"^notice: \[\S+\] outgoing XFR is still frozen$") == theirs


@rule("Bowline: the file is named that can't be written")
def file_named(line, _world, theirs, ours):
    return line.startswith("= said") and without(ours, r"(?<=\(zone is empty\)), file '[^']*'") == theirs


# Names that configurations of Knot DNS 3.2 may still have and 3.5 lists no more.
OLD_ITEMS = {
    "server": ("listen-xdp", "max-tcp-clients", "tcp-handshake-timeout", "tcp-reply-timeout", "max-udp-payload", "max-ipv4-udp-payload",
               "max-ipv6-udp-payload"),
    "zone": ("disable-any", "max-zone-size", "max-journal-usage", "max-journal-depth", "max-refresh-interval", "min-refresh-interval"),
}
OLD_ITEMS["template"] = (*OLD_ITEMS["zone"], "timer-db", "max-timer-db-size", "journal-db", "journal-db-mode", "max-journal-db-size",
                         "kasp-db", "max-kasp-db-size")


@rule("3.5: more sections and items; names that were old in 3.2 are gone")
def more_items(line, _world, theirs, ours):
    if not re.search(r"(^| )conf-list( \w+)?$", line) or theirs[::2] != ours[::2]:
        return False
    old = {f"{section}.{item}" for section, items in OLD_ITEMS.items() for item in items}
    more = iter(ours[1].splitlines())
    return all(item in more for item in theirs[1].splitlines() if item not in old)     # in the same order


@rule("Bowline: the error says what to do")
def more_words(line, world, theirs, ours):
    return world == "ours" and "-C " in line and theirs[:2] == ours[:2] and theirs[2] and ours[2].endswith("\n" + theirs[2])


@rule("3.5: the parser's words in the error of zone-set and zone-unset")
def words_of_parser(line, _world, theirs, ours):
    return re.search("zone-(un)?set", line) and (ours[0], re.sub(r"\(parser failed, [^)]+\)", "(parser failed)", ours[1]), ours[2]) == theirs


@rule("Bowline: too many transactions: which one is open, and how to end it")
def open_transaction(_line, _world, theirs, ours):
    more = r"(?<=\(too many transactions), (zone|configuration)[^()]*(?=\))"
    return theirs != ours and (ours[0], re.sub(more, "", ours[1]), ours[2]) == theirs


@rule("Bowline: the error says which file, line and item it is about")
def error_with_place(line, _world, theirs, ours):
    more = r"(?<=[a-z]), (file|node|missing) .*(?=\)$)"
    return re.search("reload|commit", line) and theirs != ours and (ours[0], re.sub(more, "", ours[1], flags=re.M), ours[2]) == theirs


@rule("Bowline: a connection that fails says what to look at")
def connect_hint(_line, world, theirs, ours):
    return world == "ours" and theirs != ours and (
        *ours[:2], re.sub(r"(?<=\)), (is knotd running\?|be a member of group knot, or root)$", "", ours[2], flags=re.M)) == theirs


@rule("Bowline: warnings follow the word of success")
def warnings(line, world, theirs, ours):
    """Only our knotc asks for them."""
    return world == "ours" and re.search("reload|conf-begin|conf-commit", line) and theirs != ours and (
        ours[0], re.sub(r", \d+ warnings?:(\nwarning: .*)+", "", ours[1]), ours[2]) == theirs


OK = (0, "OK", "")


def error(text, after=""):
    return 1, f"error: ({text})" + (f" {after}" if after else ""), ""


def zone_error(text, zone="example"):
    return 1, f"error: [{zone}] ({text})", ""


NEW = "[example.] +new.example. 60 A 192.0.2.1"
TWICE = "Bowline: a record that is set twice is an error of the second time only; Knot DNS 3.2 forgets the first as well"
BENEVOLENT = "3.5: zone-begin has +benevolent"
DEFAULT_TTL = "3.5: zone.default-ttl is the TTL where there is none"
ZONE_IS_OPEN = "too many transactions, zone example., open for AGE, end it with 'zone-commit example.' or 'zone-abort example.'"
CONF_IS_OPEN = "too many transactions, configuration, open for AGE, end it with 'conf-commit' or 'conf-abort'"
OPEN_ZONE = "3.5: neither reload nor zone-reload -b lose an open zone transaction"
OPEN_BOTH = "3.5: no configuration transaction beside one of a zone"
ALL_OR_SOME = "Bowline: all zones and some zones in one command is a mistake; with zone-purge it would be a costly one"
EXPIRED = "Bowline: a zone that was expired by hand is loaded from its file by zone-reload; Knot DNS 3.2 refuses"

NO_ZONE = "3.5: knotc prints the error of each command; 3.2 exits with 1 in silence"

BIG_TTL = "zone-set example bad 4294967296 A 192.0.2.1"     # Debian's knotc takes it for a type

# (scenario, line, world or "": both): (exit, stdout, stderr) of ours, reason
ROWS = {
    ("options", "zone-begin example +nonsense", "ours"): ((1, "", "error: unknown filter: +nonsense"), "3.5: zone-begin has filters"),
    ("zone-status", "zone-status example --", "ours"): ((1, "", "error: '--' can't be combined with other zones"), ALL_OR_SOME),
    ("zone-edit", BIG_TTL, "ours"):
        (error("parser failed, number is bigger than 32 bits", "[example] bad 4294967296 A 192.0.2.1"), "Bowline: a TTL out of range is not a missing one"),
    ("zone-edit", BIG_TTL, "crossed"):
        (error("invalid parameter", "[example] bad 4294967296 A 192.0.2.1"), "3.5: without a TTL the type must be one"),
    ("zone-set-words", "zone-set example x 60x TXT b", ""):
        (error("parser failed, invalid time unit", "[example] x 60x TXT b"), "Bowline: a TTL may have units, and one that is wrong is one"),
    ("zone-edit-twice", "zone-diff example", ""): ((0, NEW, ""), TWICE),
    ("zone-edit-twice", "zone-set example www2 TXT x", ""): (OK, DEFAULT_TTL),
    ("zone-edit-twice", "zone-get example www2", ""): ((0, '[example.] www2.example. 3600 TXT "x"', ""), DEFAULT_TTL),
    ("zone-edit-twice", "zone-begin example +benevolent", ""): (OK, BENEVOLENT),
    ("zone-edit-twice", "zone-set example new 60 A 192.0.2.1", ""): (OK, BENEVOLENT),
    ("zone-edit-twice", "zone-unset example nothing", ""): (OK, BENEVOLENT),
    ("zone-edit-twice", "zone-unset example www MX", ""): (OK, BENEVOLENT),
    ("zone-edit-twice", "zone-read example new", ""): ((0, NEW.replace("+", ""), ""), BENEVOLENT),
    ("zone-edit-reload", "reload", ""): (error(ZONE_IS_OPEN), OPEN_ZONE),
    ("zone-edit-reload", "-b zone-reload example", ""): (zone_error(ZONE_IS_OPEN), OPEN_ZONE),
    ("zone-edit-reload", "zone-status example", ""): ((0, "[example.] role: master | serial: 7 | transaction: open | load: TIME", ""), OPEN_ZONE),
    ("zone-edit-reload", "zone-abort example", ""): (OK, OPEN_ZONE),
    ("conf-modules", "conf-get control", ""): ((0, "control.listen = knot.sock a.sock b.sock c.sock\ncontrol.timeout = 5", ""), "3.5: several control sockets"),
    ("conf-and-zone", "zone-begin example", ""): (zone_error(CONF_IS_OPEN), OPEN_BOTH),
    ("conf-and-zone", "zone-abort example", ""): (zone_error("no active transaction"), OPEN_BOTH),
    ("conf-and-zone", "conf-begin", ""): (error(ZONE_IS_OPEN), OPEN_BOTH),
    ("zone-files", "-b zone-flush example +outdir {dir}/knot.conf/no", ""): (zone_error("not a directory"), "Bowline: the system's error by its name"),
    ("zone-files", "-b zone-reload example", ""): (OK, EXPIRED),
    ("zone-files", "zone-status example +serial", ""): ((0, "[example.] serial: 8", ""), EXPIRED),
    ("zone-files", "zone-status example", ""): ((0, "[example.] role: master | serial: 8", ""), EXPIRED),
    ("xfr-freeze", "zone-xfr-freeze nowhere.test", "ours"): (zone_error("no such zone found", "nowhere.test"), NO_ZONE),
    ("xfr-freeze", "zone-xfr-thaw nowhere.test", "ours"): (zone_error("no such zone found", "nowhere.test"), NO_ZONE),
    ("xfr-freeze", "-e zone-status example +freeze", ""): ((0, "[example.] freeze: - | XFR-freeze: yes", ""), "3.5: frozen transfers survive a restart"),
}


def explain(scenario, line, world, theirs, ours, used):
    """The reason of a difference; None if there is none."""
    for reason, function in RULES:
        if function(line, world, theirs, ours):
            used.add(reason)
            return reason
    for key in ((scenario, line, world), (scenario, line, "")):
        if key in ROWS and ROWS[key][0] == ours:
            used.add(key)
            return ROWS[key][1]
    return None


SOMETIMES = {NO_NOTIFY}     # on a slow machine Knot DNS has done what it planned before it is asked


def unused(used):
    return [key for key in (*ROWS, *(reason for reason, _ in RULES)) if key not in used | SOMETIMES]
