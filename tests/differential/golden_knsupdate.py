# SPDX-License-Identifier: BSD-2-Clause
"""Scripts of knsupdate for test_golden_knsupdate.py, made at random from a seed.

A Case is run with each program: `options` are words of the command line, in which {script}, {port}, {folder} stand for what they say; without {script}
the script comes on standard input."""
import dataclasses
import random
import shlex

from golden_kdig import ZONE

# "TYPE rdata" of each kind of record.
RECORDS = [line.split(None, 1)[1] for line in ZONE.splitlines() if line.strip() and line[0] not in " $(" and not line.rstrip().endswith("(")
           and len(line.split()) > 2 and "(" not in line]
OWNERS = ["a", "b", "www", "a.b", "x.y.z", "*.wild", "_tcp", "a-rather-long-owner-name-for-columns.and-more", "B", "other.example.", "upd.test.", "a.upd.test.",
          r"\052", r"with\.dot", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1", "300", "0"]
TTLS = ["", "", "300", "0", "4294967295", "1h", "2147483648"]
CLASSES = ["", "", "IN"]
KEYS = ["k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "hmac-sha256:k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "hmac-sha512:k2:YWJjZA==",
        "hmac-md5:k3.example:YWJjZA==", "hmac-sha1:K4:YWJjZA=="]

# What replies the labels of the zone's name choose, see scripted_server.py.
REPLIES = """a rcode-1 rcode-2 rcode-3 rcode-4 rcode-5 rcode-6 rcode-7 rcode-8 rcode-9 rcode-10 rcode-11 rcode-15 rcode-16 rcode-17 noqr qname qtype noq twoq id
cut-0 cut-5 cut-11 cut-12 cut-13 cut-20 trail-00 tc alwaystc a.glue soa count-1-3 count-2-1 loop garbage tsig tsig-16 tsig-17 tsig-18 twice slow-50
opcode-0 opcode-4 opcode-15 a.opt rcode-5.a flags-a800 flags-8000 rcode-10.opt-15-0012""".split()

# Lines that are wrong, or odd.
WRONG = r"""foo|zone|zone a..b|origin|origin a..b|class|class XX|ttl|ttl x|ttl -1|ttl 99999999999|key|key a|key a b|key xx:a AAAA|gsstsig|oldgsstsig|realm x
server|add|add a|add a A|add a 300|add a 300 A|add a XX 1|add a A 1.2.3|add a A 1.2.3.4 x|add a..b A 1.2.3.4|add a CH A 1.2.3.4|add a 99999999999 A 1.2.3.4
add a MX 10|add a SOA a b 1 2 3|add a TXT "x|add a ANY \# 0|add a OPT \# 0|add a A \# 3 010203|add a A \# 4 01020304|del|del a XX|del a CH|del a CH A|del a A x
del a NONE A|del a OPT|del a TSIG|del a AXFR|del a ANY|del a IN ANY|del a 300 IN ANY|nxdomain|nxdomain a b|nxdomain a..b|yxdomain|nxrrset|nxrrset a
nxrrset a XX|nxrrset a A 1.2.3.4|nxrrset a CH A|yxrrset|yxrrset a|yxrrset a A 1.2.3|yxrrset a 300 A|yxrrset a IN A 1.2.3.4 5|prereq|prereq add a A 1.2.3.4
prereq foo|update|update nxdomain a|update foo|update send|send x|show x|answer x|debug|local|local x|exit now|quit|exit|a|s|d|n|pre|upd|zon x|serv 127.0.0.1
ADD a A 1.2.3.4|Show|; a comment|  ; a comment|;|	|add a A 1.2.3.4 ; a comment|add a TXT "a;b"|add @ A 1.2.3.4|del @|nxdomain @|add a NS @|class CH|class ANY
class CLASS1|class NONE|ttl 1h|ttl 0|origin x.|local 127.0.0.2|local 127.0.0.2 0|server 127.0.0.1 99999|zone other.test|add a TYPE300 \# 2 abcd|del a TYPE65535
add a APL|del a APL|add a A ( 1.2.3.4 )|add a A ( 1.2.3.4|del a IN 300 A|del a 1h A|update add b A 1.2.3.4|prereq  nxdomain   b|add  b  A  1.2.3.4|add	b	A	1.2.3.4
add a$b A 1.2.3.4|del a$b|add \300.x A 1.2.3.4|add a\ b A 1.2.3.4|help|sh|se|an|update delete a|prereq yxrrset a A""".replace("\n", "|").split("|")

OPTIONS = """-h|--help|-V|--version|-Z|--nonsense|-p|-t|-r|-y|-k|-t x|-t -1|-r x|-r -1|-r 99999999999|-y x|-y k:!!|-y xx:k:AAAA|-k /nonexistent|-k {folder}/key
-k {folder}/badkey|-k {folder}/key -y k1:AAAA|-y k1:AAAA -y k2:AAAA|-v|-d|-v -d|-t 0|-r 0|-t 5 -r 1|/nonexistent|/nonexistent {script}|{script} /nonexistent
-|- {script}|{script} -|{script} {script}|{folder}/bad {script}|{folder}/exit {script}|{folder}/zone {folder}/add|{folder}/add|{folder}/zone {script}|-vd
-p {port}|-p 0|-p 99999|{folder}|-h x|-V x|-dV|-p domain -h""".replace("\n", "|").split("|")


@dataclasses.dataclass(frozen=True)
class Case:
    server: str         # odd: scripted; closed: there is none; knot, ours: a daemon
    options: str
    script: str

    def words(self, **places):
        words = shlex.split(self.options)
        for name, value in places.items():
            words = [word.replace("{" + name + "}", str(value)) for word in words]
        return words

    @property
    def reads_stdin(self):
        return "{" not in self.options.replace("{port}", "").replace("{folder}/key", "").replace("{folder}/badkey", "")

    def __str__(self):
        return f"{self.server} knsupdate {self.options}\n" + self.script


def join(*words):
    return " ".join(word for word in words if word)


def record_line(chance):
    """One condition or change."""
    owner, record, kind = chance.choice(OWNERS), chance.choice(RECORDS), chance.choice(RECORDS).split()[0]
    line = chance.randrange(12)
    if line < 5:
        return join(chance.choice(["add", "add", "update add"]), owner, chance.choice(TTLS), chance.choice(CLASSES), record)
    if line < 8:
        what = chance.choice(["", kind, record])
        return join(chance.choice(["del", "delete", "update del", "update delete"]), owner, chance.choice(["", "", "300"]),
                    chance.choice(CLASSES) if what else "", what)
    if line < 9:
        return join(chance.choice(["", "prereq"]), chance.choice(["nxdomain", "yxdomain"]), owner)
    if line < 10:
        return join(chance.choice(["", "prereq"]), "nxrrset", owner, chance.choice(CLASSES), kind)
    return join(chance.choice(["", "prereq"]), "yxrrset", owner, chance.choice(CLASSES), chance.choice([kind, record]))


def settings(chance, zone):
    lines = [f"zone {zone}"]
    if chance.random() < 0.7:
        lines.append(f"origin {chance.choice([zone, zone, 'upd.test.', 'sub.' + zone])}")
    if chance.random() < 0.3:
        lines.append(f"ttl {chance.choice(['0', '60', '86400', '2147483647'])}")
    if chance.random() < 0.15:
        lines.append("class IN")
    if chance.random() < 0.2:
        lines.append(f"server 127.0.0.1{chance.choice(['', ' {port}'])}")
    if chance.random() < 0.1:
        lines.append("local 127.0.0.1")
    if chance.random() < 0.15:
        algorithm, name, secret = ("hmac-sha256:" + chance.choice(KEYS)).split(":")[-3:]
        lines.append(f"key {algorithm}:{name} {secret}" if algorithm.startswith("hmac") else f"key {name} {secret}")
    return lines


def script(chance, zone, ends=("send",), most=8):
    lines = settings(chance, zone) + [record_line(chance) for _ in range(chance.randrange(most + 1))]
    if chance.random() < 0.4:
        lines.append("show")
    lines += ends
    if chance.random() < 0.5:
        lines.append("answer")
    if chance.random() < 0.2:
        lines += [record_line(chance), *ends, "show"]
    return "\n".join(lines) + "\n"


def message_cases(chance):
    """What is sent."""
    for i in range(260):
        zone = chance.choice(["odd.test", "odd.test.", "Odd.Test", "a.b.odd.test", "test", "."])
        options = join(chance.choice(["", "", "", "-v"]), "-p {port}", f"-y {chance.choice(KEYS)}" if i % 5 == 0 else "", chance.choice(["{script}", ""]))
        yield Case("odd", options, script(chance, zone))
    for record in sorted(set(RECORDS)):
        line = f"zone odd.test\norigin odd.test\nadd a {record}\ndel b {record}\nyxrrset c {record}\ndel d {record.split()[0]}\nshow\nsend\n"
        yield Case("odd", "-p {port} {script}", line)


def reply_cases(chance):
    for reply in REPLIES:
        for transport in ("", "-v"):
            yield Case("odd", join(transport, "-t 2 -r 1 -p {port} {script}"), f"zone {reply}.odd.test\nadd a.odd.test A 192.0.2.1\nsend\nanswer\nshow\n")
        yield Case("odd", "-t 2 -r 0 -p {port} -y " + KEYS[0], script(chance, f"{reply}.odd.test"))
    for transport in ("", "-v"):
        yield Case("odd", join(transport, "-t 2 -r 1 -p {port} {script}"), "zone none.odd.test\nadd a.odd.test A 192.0.2.1\nsend\nanswer\n")
        yield Case("closed", join(transport, "-t 2 -r 1 -p {port} {script}"), "zone odd.test\nadd a.odd.test A 192.0.2.1\nsend\nanswer\n")
    yield Case("odd", "-p {port}", "server no-such-host.invalid\nzone odd.test\nadd a A 192.0.2.1\nsend\n")
    yield Case("odd", "-p {port}", "server localhost\nzone odd.test\nadd a A 192.0.2.1\nsend\n")
    yield Case("odd", "-p {port}", "local no-such-host.invalid\nzone odd.test\nadd a A 192.0.2.1\nsend\n")


def line_cases(chance):
    """Each wrong or odd line alone, and between others."""
    for line in WRONG:
        yield Case("odd", "-p {port} {script}", f"zone odd.test\n{line}\nadd z A 192.0.2.1\nshow\nsend\nanswer\n")
        yield Case("odd", "-p {port}", script(chance, "odd.test", [line, "send"], 2))
    for line in ("send", "show", "answer", "add a A 192.0.2.1\nsend", "", "\n\n\n", "; x", "exit", "zone x"):
        for end in ("", "\n", "\r\n"):
            yield Case("odd", "-p {port}", line + end)


def option_cases():
    for options in OPTIONS:
        options = options if options == "-p {port}" or "-p" in options else join("-p {port}", options)
        yield Case("odd", options, "zone odd.test\nadd a A 192.0.2.1\nsend\nshow\n")


def size_cases():
    for count in (1, 8, 9, 40, 600, 1100, 1400):
        for options in ("", "-v", "-y " + KEYS[0]):
            lines = "".join(f'add name-of-host-{i}.odd.test. TXT "this is the text {i}"\n' for i in range(count))
            yield Case("odd", join("-p {port}", options), f"zone odd.test\n{lines}send\nanswer\n")


# Of a daemon with the zones upd.test, which anybody may change, and key.test, which k1 may.
def daemon_cases(chance):
    for i in range(90):
        zone = "key.test." if i % 3 == 0 else chance.choice(["upd.test.", "upd.test.", "upd.test.", "none.test."])
        key = chance.choice(["", "-y " + KEYS[0], "-y " + KEYS[0], "-y k1:BBBB", "-y k9:AAAA", "-y hmac-sha512:k1:AAAA"]) if zone == "key.test." else ""
        names = [chance.choice(["a", "b", "c", "@"]) + "." + zone for _ in range(4)]
        names = [name.replace("@.", "") for name in names]
        lines = [chance.choice([f"add {names[0]} {chance.choice(['60', '3600'])} A 192.0.2.{chance.randrange(4)}", f"add {names[0]} 60 TXT x{chance.randrange(3)}",
                                f"del {names[1]} A", f"del {names[1]}", f"del {names[2]} A 192.0.2.{chance.randrange(4)}", f"add {names[3]} CNAME a.{zone}",
                                f"nxdomain {names[0]}", f"yxdomain {names[1]}", f"nxrrset {names[2]} A", f"yxrrset {names[3]} A",
                                f"yxrrset {names[0]} A 192.0.2.{chance.randrange(4)}", f"add {names[1]} MX 10 mail.{zone}", "add out.side. A 192.0.2.1"])
                 for _ in range(1 + chance.randrange(4))]
        yield "\n".join([f"zone {zone}", *lines, "send", "answer"]) + "\n", join(chance.choice(["", "-v"]), "-p {port}", key, "{script}")


def golden_cases(seed=1):
    chance = random.Random(seed)
    return [*message_cases(chance), *reply_cases(chance), *line_cases(chance), *option_cases(), *size_cases()]


def golden_daemon_cases(seed=2):
    """(server, options, script), in the order in which they have to be run."""
    chance = random.Random(seed)
    return [Case(server, options, text) for text, options in daemon_cases(chance) for server in ("knot", "ours")]
