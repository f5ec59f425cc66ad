# SPDX-License-Identifier: BSD-2-Clause
"""kdig, khost and knsupdate against servers and files that keep them busy, each beside an honest one."""
import base64
import contextlib
import functools
import os
import socket
import subprocess
import threading
import time

import dns.message
import dns.name
import dns.rrset
import dns.tsig
import pytest

from harness import scripted_server
from harness.net import free_port
from harness.server import built
from harness.tls import Server, framed, read_query
from harness.waiting import PATIENCE

NAME = "a.odd.test"
SCRIPT = "zone odd.test\nadd a.odd.test A 192.0.2.1\nsend\n"
KEY = "hmac-sha256:key:" + base64.b64encode(b"s" * 32).decode()


def start(program, *words, **options):
    return subprocess.Popen([built(program, "tools"), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}, **options)


def run(program, *words, script="", **options):
    """Output and exit code."""
    with start(program, *words, **options) as process:
        out, err = process.communicate(script, timeout=60 * PATIENCE)
        return process.returncode, out, err


def right(query):
    if query[2] >> 3 & 15 == 5:    # UPDATE
        return query[:2] + b"\xa8\0\0\1" + bytes(6) + query[12:12 + 10 + 4]
    return scripted_server.answer(query, False)[0][0][1]


def other_id(query):
    reply = right(query)
    return bytes([reply[0] ^ 1]) + reply[1:]


@contextlib.contextmanager
def udp_server(serve):
    """serve(query, send, send_from_elsewhere), in a thread for each query; the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as elsewhere:
        sock.bind(("127.0.0.1", 0))
        elsewhere.bind(("127.0.0.1", 0))

        def take():
            while True:
                query, client = sock.recvfrom(65535)
                if not query:
                    return
                sends = [functools.partial(lambda way, to, data: way.sendto(data, to), way, client) for way in (sock, elsewhere)]
                threading.Thread(target=serve, daemon=True, args=(query, *sends)).start()

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield sock.getsockname()[1]
        finally:
            elsewhere.sendto(b"", sock.getsockname())
            thread.join()


def test_what_is_passed_by_makes_no_time():
    """A reply with another ID, and one from elsewhere, shortly before the time is over: it isn't given another time."""
    limit, late = 4, 3.5

    def serve(query, send, send_from_elsewhere):
        time.sleep(late)    # the attack
        with contextlib.suppress(OSError):
            send(other_id(query))
            send_from_elsewhere(right(query))

    with udp_server(serve) as port:
        began = time.monotonic()
        processes = [start("kdig", f"@127.0.0.1#{port}", NAME, f"+timeout={limit}", "+retry=0"),
                     start("khost", "-W", str(limit), "-R", "0", "-t", "A", NAME, f"127.0.0.1@{port}"),
                     start("knsupdate", "-p", str(port), "-t", str(limit), "-r", "0")]
        processes[2].stdin.write(SCRIPT)
        processes[2].stdin.flush()
        for process in processes:
            with process:
                assert process.wait(timeout=60 * PATIENCE) == 1
                said = process.stderr.read()
                assert ";; WARNING: reply ID (" in said and ";; WARNING: unexpected reply source 127.0.0.1@" in said
                assert f";; WARNING: response timeout for 127.0.0.1@{port}(UDP)\n" in said
        assert limit <= time.monotonic() - began < limit + late - 0.5


@pytest.mark.parametrize("program", ["kdig", "knsupdate"])
@pytest.mark.parametrize("is_stranger", [False, True], ids=["other IDs", "other ports"])
def test_flood_is_no_flood_of_text(program, is_stranger):
    """It tells of the first ones and counts the others; the right answer behind them is taken."""
    count = 300

    def serve(query, send, send_from_elsewhere):
        for _ in range(count):
            if is_stranger:
                send_from_elsewhere(right(query))
            else:
                send(other_id(query))
            time.sleep(0.0005)    # so that none is lost
        send(right(query))

    with udp_server(serve) as port:
        words = [f"@127.0.0.1#{port}", NAME, "+short"] if program == "kdig" else ["-p", str(port)]
        code, out, err = run(program, *words, script=SCRIPT if program == "knsupdate" else "")
    lines = err.splitlines()
    assert code == 0 and out == ("192.0.2.1\n" if program == "kdig" else "")
    assert len(lines) == 21 and all(("unexpected reply source" if is_stranger else "reply ID") in line for line in lines[:20])
    assert lines[20] == f";; WARNING: {count - 20} more of that kind were passed by"


# ---- Transfers whose signatures are wrong ----

def signed_transfer(query, way):
    """Three messages of a zone, signed with the key; the way says what is wrong."""
    name = dns.name.from_text("key.")
    keyring = {name: dns.tsig.Key(name, b"s" * 32, "hmac-sha256.")}
    asked = dns.message.from_wire(query, keyring=keyring)
    records = ["odd.test. 60 IN SOA ns.odd.test. admin.odd.test. 5 1 1 1 1", "w.odd.test. 60 IN A 192.0.2.7", "odd.test. 60 IN SOA ns.odd.test. admin.odd.test. 5 1 1 1 1"]
    context = None
    for number, text in enumerate(records):
        reply = dns.message.make_response(asked)
        owner, ttl, rrclass, kind, data = text.split(None, 4)
        reply.answer.append(dns.rrset.from_text(owner, int(ttl), rrclass, kind, data))
        if way == "unsigned" or (way, number) == ("unsigned end", 2) or (way == "signed at the ends" and number == 1):
            reply.tsig, reply.keyring = None, None
            wire = reply.to_wire()
            if context is not None:
                context.update(wire)
        else:
            wire = reply.to_wire(multi=True, tsig_ctx=context)
            context = reply.tsig_ctx
        if (way, number) == ("changed", 1):
            wire = wire.replace(bytes([192, 0, 2, 7]), bytes([192, 0, 2, 8]))
        yield wire


@pytest.mark.parametrize(("way", "shown", "said"), [
    ("good", 3, None),
    ("signed at the ends", 3, None),
    ("unsigned", 0, ";; ERROR: reply verification for 127.0.0.1@{port}(TCP) (expected a TSIG or SIG(0))"),
    ("changed", 1, ";; ERROR: reply verification for 127.0.0.1@{port}(TCP) ("),
    ("unsigned end", 3, ";; ERROR: the last message of the transfer isn't signed"),
])
@pytest.mark.parametrize("program", ["kdig", "kdig +json"])
def test_transfer_with_wrong_signatures(program, way, shown, said):
    """It ends where the signature is wrong, and isn't called good."""
    def serve(connection):
        for wire in signed_transfer(read_query(connection), way):
            connection.sendall(framed(wire))
        time.sleep(0.1)    # a client that doesn't end would say that the connection is closed

    with Server(serve) as server:
        code, out, err = run("kdig", f"@127.0.0.1#{server.port}", "odd.test", "AXFR", "-y", KEY, *program.split()[1:])
    assert code == (0 if said is None else 1), err
    if said is None:
        assert err == ""
    else:
        assert err.startswith(said.format(port=server.port)) and err.count("\n") == 2, err
    if program == "kdig":
        assert sum(line.split()[2:3] == ["IN"] for line in out.splitlines()) == shown


# ---- Files ----

@pytest.fixture(scope="module")
def odd():
    server = scripted_server.ScriptedServer()
    yield server
    server.stop()


def kdig_of(odd, path, **options):
    return run("kdig", f"@127.0.0.1#{odd.port}", "+short", "+retry=0", "-f", str(path), **options)


@pytest.mark.parametrize(("content", "said"), [
    (f"{NAME}\n{NAME}\0 NS\n", "a byte with the value 0 in the line\n;; ERROR: in file {path}, line 2\n"),
    (f"\0{NAME}\n", "a byte with the value 0 in the line\n;; ERROR: in file {path}, line 1\n"),
    (f"{NAME}\n" + 1100000 * "x" + f"\n{NAME}\n", "the line is longer than 1048576 bytes\n;; ERROR: in file {path}, line 2\n"),
], ids=["0 in the middle", "0 at the start", "long line"])
def test_bad_lines_of_a_batch(odd, tmp_path, content, said):
    """Nothing of a line is left out without a word."""
    path = tmp_path / "queries"
    path.write_text(content)
    assert kdig_of(odd, path) == (1, "", ";; ERROR: " + said.format(path=path))


def test_batch_without_queries(odd, tmp_path):
    """Nothing is asked, and not the root, as kdig without words does."""
    path = tmp_path / "queries"
    path.write_text("# none\n\n")
    before = len(odd.received)
    assert kdig_of(odd, path) == kdig_of(odd, "/dev/null") == kdig_of(odd, "-") == (0, "", "")
    assert len(odd.received) == before


def test_batch_of_a_pipe(odd):
    """What can be read only once is asked all the same: kdig -f <(program)."""
    reader, writer = os.pipe()
    os.write(writer, f"{NAME}\na-2.odd.test\n".encode())
    os.close(writer)
    try:
        assert kdig_of(odd, f"/dev/fd/{reader}", pass_fds=[reader]) == (0, "192.0.2.1\n192.0.2.1\n192.0.2.2\n", "")
    finally:
        os.close(reader)


def test_settings_of_a_line_are_its_own(odd, tmp_path):
    """A server in front of a line's name is asked behind those of the command line, and for this line only."""
    path = tmp_path / "queries"
    path.write_text(f"@127.0.0.1#{odd.port} -y {KEY} {NAME}\n{NAME}\n")
    before, closed = len(odd.received), free_port()
    code, out, err = run("kdig", f"@127.0.0.1#{closed}", "+short", "+retry=0", "-f", str(path))
    assert (code, out) == (1, "192.0.2.1\n") and err.count(f"127.0.0.1@{closed}(UDP)") == 2 + 2
    assert len(odd.received) == before + 1 and b"\3key\0" in odd.received[-1][1]


def test_port_of_a_line_is_its_own(odd, tmp_path):
    """-p in front of a line's name is of the common servers without a port, and for this line only."""
    path = tmp_path / "queries"
    path.write_text(f"-p {odd.port} {NAME}\n-p {free_port()} {NAME}\n")
    code, out, err = run("kdig", "@127.0.0.1", "+short", "+retry=0", "-f", str(path))
    assert (code, out) == (1, "192.0.2.1\n") and str(odd.port) not in err


def test_batch_of_a_folder(odd, tmp_path):
    assert kdig_of(odd, tmp_path) == (1, "", f";; ERROR: unable to read file of queries {tmp_path} (Is a directory)\n")


@pytest.mark.parametrize(("program", "words", "said"), [
    ("kdig", ["-f", "/dev/zero"], ";; ERROR: the line is longer than 1048576 bytes\n;; ERROR: in file /dev/zero, line 1\n"),
    ("knsupdate", ["/dev/zero"], ";; ERROR: the line is longer than 1048576 bytes\n;; ERROR: in /dev/zero, line 1\n"),
    ("kxdpgun", ["--sockets", "-t", "1", "-Q", "1", "-i", "/dev/zero", "127.0.0.1"],
     "error: failed loading queries, /dev/zero:1: the line is longer than 1048576 bytes\n"),
])
def test_file_without_end(program, words, said):
    """Before: all of the memory, and with a limit of it the rest of the file was left out without a word."""
    limit = ["prlimit", "--as=3000000000"] if "asan" not in str(built(program, "tools")) else []
    done = subprocess.run([*limit, built(program, "tools"), *words], capture_output=True, text=True, timeout=60 * PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
