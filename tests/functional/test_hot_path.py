# SPDX-License-Identifier: BSD-2-Clause
"""What a worker does per packet: no allocation, no lock, no page touched for the first time, no system call.

The daemon runs under load with a library in front of the C library that counts allocations and locks per thread, and with a
tracer that counts system calls; the questions make referrals, positive answers, chains, wildcards, and denials with
NSEC3. The compiled program is looked at, too: nothing that the answering functions can call has an instruction with a bus
lock. Each of these checks is also shown something that it has to find.
"""
import base64
import collections
import hashlib
import os
import pathlib
import re
import shlex
import struct
import subprocess

import pytest

from harness.load import kxdpgun
from harness.server import BUILD, TOP, built
from harness.waiting import wait_until

HERE = pathlib.Path(__file__).resolve().parent / "hot_path"
KINDS = ("allocations", "frees", "locks")
SECONDS = 1                 # of each load that is watched
REPLIES_MIN = 10000
SHARE_MAX = 2 / 8           # system calls per reply: two per batch, and batches of eight at least
PAGES_MAX = 200             # two workers' buffers of 64 datagrams
WAITS = {"poll": 7, "ppoll": 271, "nanosleep": 35, "clock_nanosleep": 230, "restart_syscall, as a tracer comes": 219}
MOVES = {"udp": {"recvmmsg": 299, "sendmmsg": 307},
         "xdp": {"sendto": 44, "recvfrom, to see whether the interface is there when nothing came": 45}}

MAKEFILE = BUILD / "Makefile"
IS_SANITIZED = MAKEFILE.exists() and re.search(r"^SANITIZE_FLAGS = \S", MAKEFILE.read_text(encoding="utf-8"), re.M)

pytestmark = [pytest.mark.ours,
              pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of system calls are x86-64's"),
              pytest.mark.skipif(bool(IS_SANITIZED), reason="sanitizers allocate and lock by themselves")]


# ---- A zone with everything, and questions ----

def hash_label(name):
    wire = b"".join(bytes([len(label)]) + label.encode() for label in name.rstrip(".").split(".")) + b"\0"
    return base64.b32hexencode(hashlib.sha1(wire).digest()).decode().lower()


def signature(owner, covered):
    return f"{owner} RRSIG {covered} 13 2 3600 20370101000000 20200101000000 4711 busy. {'A' * 86}==\n"


def zone_text(count=300):
    """Signed in form only: the signatures are not checked."""
    text = "$ORIGIN busy.\n$TTL 3600\n@ SOA ns.busy. host.busy. 1 1800 900 604800 900\n@ NS ns\n@ NSEC3PARAM 1 0 0 -\n"
    text += signature("@", "SOA") + signature("@", "NS") + signature("@", "NSEC3PARAM")
    owners = {"busy.": "NS SOA RRSIG NSEC3PARAM", "ns.busy.": "A RRSIG", "*.w.busy.": "A RRSIG", "w.busy.": ""}
    text += "ns A 192.0.2.1\n" + signature("ns", "A") + "*.w A 192.0.2.9\n" + signature("*.w", "A")
    for i in range(count):
        text += f"h{i} A 192.0.2.3\nh{i} MX 10 ns\n" + signature(f"h{i}", "A") + signature(f"h{i}", "MX")
        text += f"c{i} CNAME h{i}\n" + signature(f"c{i}", "CNAME")
        text += f"d{i} NS ns.d{i}\nd{i} NS ns.elsewhere.\nns.d{i} A 192.0.2.5\nns.d{i} AAAA 2001:db8::5\n"
        owners[f"h{i}.busy."] = "A MX RRSIG"
        owners[f"c{i}.busy."] = "CNAME RRSIG"
    chain = sorted((hash_label(owner), types) for owner, types in owners.items())
    for (label, types), (following, _) in zip(chain, chain[1:] + chain[:1]):
        text += f"{label} NSEC3 1 1 0 - {following} {types}\n" + signature(label, "NSEC3")
    return text


def query_lines(count=300):
    kinds = ("h{} A E", "h{} A D", "h{} MX D", "h{} TXT D", "c{} A D", "d{} A E", "www.d{} A D", "d{} DS D", "x{} A D",
             "x{} A E", "y.w{} A D", "y{}.w A D", "y{}.w TXT D", "h{} ANY E")
    return "".join(f"{kind.format(i).replace(' ', '.busy. ', 1)}\n" for i in range(count) for kind in kinds)


# ---- What is counted ----

def compiled(directory, name, *arguments):
    target = directory / name
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-O1", "-Wall", "-D_GNU_SOURCE", "-o", str(target), *arguments], check=True, timeout=60)
    return target


class Busy:
    """A daemon that can be watched."""

    def __init__(self, make_knotd, pair, directory, transport, injects):
        self.pair, self.directory, self.transport = pair, directory, transport
        self.table = directory / "counts"
        self.table.write_bytes(b"")
        self.table.chmod(0o666)
        shim = compiled(directory, "shim.so", "-shared", "-fPIC", str(HERE / "shim.c"), "-ldl")
        self.tracer = compiled(directory, "syscalls", str(HERE / "syscalls.c"))
        self.queries = directory / "queries"
        self.queries.write_text(query_lines())
        self.daemon = make_knotd(pair.server)
        self.daemon.port = 53
        self.daemon.write("busy.zone", zone_text())
        xdp = f"xdp:\n    listen: {pair.server_if}@53\n" if transport == "xdp" else ""
        self.daemon.configure(listen=(), server=f"listen: {pair.server4}@53",
                              text=xdp + "mod-stats:\n  - id: all\n    query-type: on\n    reply-size: on\n    edns-presence: on\n"
                              "template:\n  - id: default\n    global-module: mod-stats/all\n    semantic-checks: off\n",
                              zones=["busy"])
        environment = {"LD_PRELOAD": str(shim), "HOT_PATH_FILE": str(self.table)}
        self.daemon.start(environment={**environment, **({"HOT_PATH_INJECT": "1"} if injects else {})})
        assert self.daemon.ask("h1.busy", "A", pair.server4, client=pair.client).answer

    def workers(self):
        """Numbers of the threads that answer."""
        tasks = pathlib.Path(f"/proc/{self.daemon.process.pid}/task")
        return [int(task.name) for task in tasks.iterdir()
                if re.fullmatch(rf"{self.transport}-\d+\s*", (task / "comm").read_text())]

    def counts(self):
        """{thread: {kind: count}}"""
        data = self.table.read_bytes()
        used = struct.unpack_from("<I", data)[0]
        result = collections.defaultdict(collections.Counter)
        for row in range(used):
            thread, *counts = struct.unpack_from(f"<{1 + len(KINDS)}Q", data, 8 + row * 8 * (1 + len(KINDS)))
            result[thread].update(dict(zip(KINDS, counts)))
        return result

    def faults_of_pages(self):
        """First touches of memory by the workers."""
        total = 0
        for thread in self.workers():
            stat = pathlib.Path(f"/proc/{self.daemon.process.pid}/task/{thread}/stat").read_text()
            total += int(stat.rsplit(")", 1)[1].split()[7])
        return total

    def load(self, seconds):
        """Replies to as many questions as the machine takes, for that many seconds; for longer if it is too busy for enough of them."""
        replies = 0

        def is_enough():
            nonlocal replies
            replies += kxdpgun(self.pair, self.queries, seconds, 300000, "-b", "64")
            return replies > REPLIES_MIN
        wait_until(is_enough, "replies", 20, 0)
        return replies


@pytest.fixture
def make_busy(make_knotd, pair, directory):
    return lambda transport, injects=False: Busy(make_knotd, pair, directory, transport, injects)


def watch_memory(busy):
    """What workers did in between: a counter of allocations, frees, locks and pages touched first; and the replies."""
    busy.load(1)            # counters and buffers are touched for the first time
    before, pages = busy.counts(), busy.faults_of_pages()
    replies = busy.load(SECONDS)
    after = busy.counts()
    done = collections.Counter({"pages": busy.faults_of_pages() - pages})
    for thread in busy.workers():
        done.update({kind: after[thread][kind] - before[thread][kind] for kind in KINDS})
    assert sum(row["allocations"] for row in after.values()) > 100, "the daemon's start was not counted"
    return +done, replies


def watch_calls(busy):
    """{number: calls} of all workers, and the replies."""
    busy.load(1)
    tracers = [subprocess.Popen([busy.tracer, str(thread), "300"], stdout=subprocess.PIPE, text=True)
               for thread in busy.workers()]
    calls = collections.Counter()
    try:
        for tracer in tracers:
            assert tracer.stdout.readline() == "ready\n"
        replies = busy.load(SECONDS)
        for tracer in tracers:
            tracer.terminate()
            for line in tracer.communicate(timeout=100)[0].splitlines():
                number, count = line.split()
                calls[int(number)] += int(count)
            assert tracer.returncode == 0
    finally:
        for tracer in tracers:
            tracer.kill()
            tracer.wait()
    return dict(calls), replies


def call_faults(calls, replies, transport):
    """What is wrong with these system calls; empty: nothing."""
    allowed = set(WAITS.values()) | set(MOVES[transport].values())
    faults = [f"system call {number}, {count} times" for number, count in calls.items() if number not in allowed]
    if sum(calls.values()) > replies * SHARE_MAX:
        faults.append(f"{sum(calls.values())} system calls for {replies} replies")
    return faults


# ---- Tests ----

@pytest.mark.parametrize("transport", ["udp", "xdp"])
def test_workers_neither_allocate_nor_lock(make_busy, transport):
    done, replies = watch_memory(make_busy(transport))
    # A larger batch than in the load before touches more of the buffers: at most that many pages, once.
    assert done.pop("pages", 0) <= PAGES_MAX
    assert not done


@pytest.mark.parametrize("transport", ["udp", "xdp"])
def test_workers_make_two_calls_per_batch(make_busy, transport):
    calls, replies = watch_calls(make_busy(transport))
    print(f"{transport}: {replies} replies, system calls by number: {calls}")
    assert not call_faults(calls, replies, transport)


@pytest.mark.parametrize("transport", ["udp", "xdp"])
def test_the_counters_count(make_busy, transport):
    """With a worker that allocates, locks and calls the system once per batch the tests above fail."""
    busy = make_busy(transport, injects=True)
    done, _ = watch_memory(busy)
    assert all(done[kind] > 0 for kind in KINDS)
    calls, replies = watch_calls(busy)
    assert any("system call 110" in fault for fault in call_faults(calls, replies, transport)), (calls, replies)


# ---- The compiled program ----

ROOTS = ("answer_read", "request_answer", "traffic_end", "look_rows", "kxdp_frame_parse", "kxdp_frame_reply")
# Functions of other libraries that copy, compare or hash, and nothing else.
HARMLESS = {"memcpy", "memmove", "memcmp", "memset", "strcmp", "strlen", "__memcpy_chk", "__memmove_chk", "__memset_chk", "gnutls_hash_fast",
            "__assert_fail", "__stack_chk_fail"}
# Locked instructions behind a test that lets no packet through, or one in very many:
EXCEPT = {"sys_counters_add_shared",    # only threads without a row of counters add to the shared one
          "knot_tsig_verify_read", "knot_tsig_sign",    # only signed requests: GnuTLS allocates for each HMAC
          "request_act"}                # effects: marks a zone that is asked for, once until the mark is taken, and lists one that isn't there
FORBIDDEN = re.compile(r"\b(lock |xchg +\S*\(|mfence|syscall|cmpxchg)")


class Program:
    """The functions of a program by their addresses: several may have one name."""

    def __init__(self, path):
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True,
                              timeout=120).stdout
        self.names, self.code = {}, {}
        for line in text.splitlines():
            head = re.match(r"([0-9a-f]+) <(.+)>:$", line)
            if head:
                start = int(head.group(1), 16)
                self.names[start] = head.group(2)
                lines = self.code[start] = []
            elif line.startswith(" "):
                lines.append(line.split(":", 1)[-1].strip())

    def find(self, *names):
        """Functions of these names, also those that the compiler made out of them (name.part.0)."""
        return [start for start, name in self.names.items() if name.split(".")[0] in names]

    def reachable(self, roots):
        """(functions that the roots may call, directly or not, {functions of other libraries that these call})"""
        seen, outside, waiting = set(), set(), list(roots)
        while waiting:
            start = waiting.pop()
            if start in seen or self.names[start] in EXCEPT:
                continue
            seen.add(start)
            for line in self.code[start]:
                target = re.search(r"\b(?:call|j[a-z]+)\s+([0-9a-f]+) <([^>+]+)(\+0x[0-9a-f]+)?>", line)
                if target and target.group(2).endswith("@plt"):
                    outside.add(target.group(2)[:-len("@plt")])
                elif target and not target.group(3):
                    waiting.append(int(target.group(1), 16))
        return seen, outside

    def locked(self, functions):
        """{name: instructions with a bus lock, barriers and system calls}"""
        found = {self.names[start]: [line for line in self.code[start] if FORBIDDEN.search(line)] for start in functions}
        return {name: lines for name, lines in found.items() if lines}


def test_answering_functions_have_no_locked_instruction():
    program = Program(built("knotd", "knotd"))
    statistics = re.findall(r"^static void (stats_add_\w+)\(const tally_t",
                            (TOP / "src/modules/stats/stats.c").read_text(encoding="utf-8"), re.M)
    assert len(statistics) > 10
    # The stages of each kind of request and the options of replies are rows of tables, too.
    stages = re.findall(r"^static (?:inline )?\w+ (gate_\w+|decide_\w+)\(job_t \*job\)$", (TOP / "src/answer/answer.c").read_text(encoding="utf-8"),
                        re.M)
    options = re.findall(r"^static \w+ (finish_\w+)\(const answer_env_t", (TOP / "src/answer/finish.c").read_text(encoding="utf-8"), re.M)
    assert len(stages) > 8 and len(options) == 8
    roots = program.find(*ROOTS, "stats_answered", *statistics, *stages, *options)
    assert len(roots) > 10 + len(ROOTS) + len(options)
    seen, outside = program.reachable(roots)
    assert {"knot_query_parse", "zone_tree_warm", "answer_plan", "answer_encode"} <= {program.names[start] for start in seen}
    assert not program.locked(seen)
    assert not outside - HARMLESS
    # The same search finds what it has to find.
    assert program.locked(program.reachable(program.find("sys_slot_take"))[0])
    assert "malloc" in program.reachable(program.find("sys_counters_new"))[1]
