# SPDX-License-Identifier: BSD-2-Clause
"""knsupdate beside what the golden scripts compare: encrypted transports, servers that are late or lie, the prompt, output that can't be written."""
import base64
import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import termios
import threading
import time
import unittest.mock

import dns.message
import dns.name
import dns.opcode
import dns.query
import dns.tsig
import dns.update
import pytest

from harness.net import free_port, has_ipv6
from harness.prompt import Prompt
from harness.quic_knot import quic_knot
from harness.scripted_server import ScriptedServer
from harness.server import BUILD, TOP, built
from harness.tls import NAME, Pki, Server, framed, read_query, reset, wait_end
from harness.waiting import PATIENCE, wait_until

SECRET = "c2VjcmV0IG9mIHRoZSB0ZXN0cyBvZiB1cGRhdGVz"
SCRIPT = "zone example.\nadd a.example. 60 A 192.0.2.7\nsend\n"
ZONE = "$ORIGIN example.\n$TTL 60\n@ SOA ns1 admin 1 3600 600 86400 60\n@ NS ns1\nns1 A 192.0.2.1\n"


def knsupdate(*words, script=SCRIPT, namespace=None, **options):
    command = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
    options = {"capture_output": True, **options}
    return subprocess.run([*command, built("knsupdate", "tools"), *words], input=script, text=True, timeout=60 * PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, **options)


def reply(query, rcode=0):
    """To an update, without records."""
    return query[:2] + bytes([0xA8, rcode]) + b"\0\1" + bytes(6) + query[12:12 + query[12:].index(b"\0") + 5]


@pytest.fixture(name="odd")
def odd_server():
    server = ScriptedServer()
    yield server
    server.stop()


class SigningServer:
    """Over UDP; each answer is signed, with the fault that is set."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port, self.updates, self.fault = self.sock.getsockname()[1], [], None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def sign(self, update):
        answer = dns.message.make_response(update)
        if self.fault == "unsigned":
            answer.tsig, answer.keyring = None, None
            return answer.to_wire()
        if self.fault == "other key":
            answer.keyring = dns.tsig.Key("key.", base64.b64encode(b"another secret"), update.tsig[0].algorithm)
        wire = answer.to_wire()
        if self.fault == "changed":
            return wire[:3] + bytes([wire[3] ^ 0x10]) + wire[4:]            # AD
        return wire

    def run(self):
        while True:
            data, address = self.sock.recvfrom(65535)
            if data == b"end":
                return
            name = dns.name.from_text("key.")
            # The name in front of the TSIG's fixed part says the algorithm; dnspython wants to know it before.
            algorithm = next(known for known in map(dns.name.from_text, [*ALGORITHMS[1:], "hmac-md5.sig-alg.reg.int."]) if known.to_wire() in data)
            self.updates.append(dns.message.from_wire(data, keyring={name: dns.tsig.Key(name, SECRET, algorithm)}))
            if self.fault == "long ago":
                with unittest.mock.patch("time.time", return_value=time.time() - 3600):
                    wire = self.sign(self.updates[-1])
            else:
                wire = self.sign(self.updates[-1])
            self.sock.sendto(wire, address)

    def stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"end", ("127.0.0.1", self.port))
        self.thread.join()
        self.sock.close()


@pytest.fixture(name="signing_server")
def started_signing_server():
    server = SigningServer()
    yield server
    server.stop()


# ---- TLS ----

@pytest.fixture(scope="module", name="pki")
def test_pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


@contextlib.contextmanager
def tls_server(pki, cert="good", wants_client=False):
    """Port, the updates that came, and what clients asked for by SNI."""
    updates, names = [], []
    context = pki.context(cert, alpn=("dot",), wants_client=wants_client)
    context.sni_callback = lambda _socket, name, _context: names.append(name)

    def serve(connection):
        with contextlib.suppress(OSError, EOFError), context.wrap_socket(connection, server_side=True) as session:
            updates.append(read_query(session))
            session.sendall(framed(reply(updates[-1])))
            session.recv(1)

    with Server(serve) as server:
        yield server.port, updates, names


def pin_of(pki, name):
    return base64.b64encode(bytes.fromhex(pki.pin(name))).decode()


TLS_ROWS = [
    # what, certificate, options ({ca}, {pin}, {other} are of the test), whether the update is sent
    ("opportunistic", "self-signed", "-S", True),
    ("right name", "good", f"-S --ca={{ca}} -H {NAME}", True),
    ("demands mean TLS", "good", f"-A{{ca}} --hostname {NAME}", True),
    ("name of another", "wrong-name", f"-S -A{{ca}} -H {NAME}", False),
    ("address as the name", "good", "-S -A{ca}", True),
    ("other CA", "foreign", f"-S -A{{ca}} -H {NAME}", False),
    ("out of date", "expired", f"-S -A{{ca}} -H {NAME}", False),
    ("CAs of the system", "good", f"-S -A -H {NAME}", False),
    ("right pin", "self-signed", "-S -P {pin}", True),
    ("one pin of two", "good", "-S --pin {other} --pin {pin}", True),
    ("wrong pin", "good", "-S -P {other}", False),
    ("server name", "good", "-S -s sni.example", True),
]


@pytest.mark.parametrize(("_what", "cert", "options", "is_sent"), TLS_ROWS, ids=[row[0] for row in TLS_ROWS])
def test_tls(pki, _what, cert, options, is_sent):
    words = options.format(ca=pki.path("ca.pem"), pin=pin_of(pki, cert), other=pin_of(pki, "client")).split()
    with tls_server(pki, cert) as (port, updates, names):
        done = knsupdate("-p", str(port), *words)
        assert (done.returncode == 0, len(updates)) == (is_sent, int(is_sent)), done.stderr
        if is_sent:
            assert done.stdout + done.stderr == ""
            assert dns.message.from_wire(updates[0]).opcode() == dns.opcode.UPDATE
        else:
            assert ";; ERROR: the update wasn't sent\n" in done.stderr
        assert ("sni.example" in names) == ("sni.example" in words)


def test_tls_client_certificate(pki):
    with tls_server(pki, wants_client=True) as (port, updates, _names):
        done = knsupdate("-p", str(port), "-S", "-E", pki.path("client.pem"), "-K", pki.path("client.key"))
        assert done.returncode == 0 and len(updates) == 1, done.stderr
        assert knsupdate("-p", str(port), "-S").returncode == 1 and len(updates) == 1
    done = knsupdate("-S", "-E", pki.path("client.pem"), "-K", "/nonexistent")
    assert done.returncode == 1 and "/nonexistent" in done.stderr


# ---- Servers ----

def has_address(port, tcp=False):
    """Whether the server has what SCRIPT adds."""
    query = dns.message.make_query("a.example.", "A")
    found = (dns.query.tcp if tcp else dns.query.udp)(query, "127.0.0.1", port=port, timeout=5 * PATIENCE)
    return "192.0.2.7" in str(found.answer)


@pytest.fixture(name="server")
def updated_server(knotd):
    knotd.write("example.zone", ZONE)
    knotd.configure(zones=["example"], text=f"""key:
  - id: key.
    algorithm: hmac-sha512
    secret: {SECRET}
acl:
  - id: signed
    key: key.
    action: update
  - id: plain
    address: 127.0.0.2
    action: update
template:
  - id: default
    acl: [signed, plain]
    zonefile-sync: -1
""")
    return knotd.start()


@pytest.mark.parametrize("transport", ["-v", ""])
def test_key_file(server, directory, transport):
    (directory / "key").write_text(f"hmac-sha512:key.:{SECRET}\n")
    words = ["-p", str(server.port), *transport.split()]
    done = knsupdate(*words)
    assert done.returncode == 1 and not has_address(server.port)
    assert ";; ERROR: update failed with error 'NOTAUTH'\n" in done.stderr or ";; ERROR: update failed with error 'REFUSED'\n" in done.stderr, done.stderr
    assert done.stderr.endswith(";; ERROR: in standard input, line 3\n")
    done = knsupdate(*words, "--tsigfile", str(directory / "key"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and has_address(server.port)


ALGORITHMS = ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("given", ["-y", "-k", "key"])
def test_tsig_algorithms(signing_server, directory, algorithm, given):
    """dnspython checks the signature and signs the answer, with the key by option, file and command."""
    (directory / "key").write_text(f"{algorithm}:key.:{SECRET}\n")
    words = {"-y": ["-y", f"{algorithm}:key.:{SECRET}"], "-k": ["-k", str(directory / "key")], "key": []}[given]
    script = f"key {algorithm}:key. {SECRET}\n{SCRIPT}" if given == "key" else SCRIPT
    done = knsupdate("-p", str(signing_server.port), *words, script=script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (signed,) = signing_server.updates
    assert signed.had_tsig and str(signed.tsig[0].algorithm).startswith(algorithm)


@pytest.mark.parametrize(("fault", "said"), [
    ("unsigned", "reply verification (expected a TSIG or SIG(0))"),
    ("other key", "reply verification ("),
    ("changed", "reply verification ("),
    ("long ago", "reply verification ("),
])
def test_tsig_of_the_answer(signing_server, fault, said):
    """An answer that can't be believed isn't: the update counts as failed, whatever it says."""
    signing_server.fault = fault
    done = knsupdate("-p", str(signing_server.port), "-y", f"hmac-sha256:key.:{SECRET}")
    assert done.returncode == 1 and f";; ERROR: {said}" in done.stderr, done.stderr
    assert ";; ERROR: in standard input, line 3\n" in done.stderr


def test_local_address(server):
    assert knsupdate("-p", str(server.port), script="local 127.0.0.2\n" + SCRIPT).returncode == 0
    assert has_address(server.port)


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6")
def test_ipv6():
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.bind(("::1", 0))
        port = sock.getsockname()[1]
        thread = threading.Thread(target=lambda: sock.sendto(*(lambda data, address: (reply(data), address))(*sock.recvfrom(65535))))
        thread.start()
        done = knsupdate(script=f"server ::1 {port}\n" + SCRIPT)
        thread.join()
    assert (done.returncode, done.stderr) == (0, "")


def test_dnsdist_with_tls(server, directory, pki):
    """An update over TLS by way of another's proxy."""
    port = free_port()
    (directory / "dnsdist.conf").write_text(f"""setLocal("127.0.0.1:{free_port()}")
setSecurityPollSuffix("")
newServer({{address="127.0.0.1:{server.port}"}}):setUp()
addTLSLocal("127.0.0.1:{port}", "{pki.path('good.pem')}", "{pki.path('good.key')}")
""")
    with open(directory / "dnsdist.log", "w", encoding="utf-8") as log, \
            subprocess.Popen(["dnsdist", "--supervised", "--disable-syslog", "-C", "dnsdist.conf"], stdout=log, stderr=log, cwd=directory) as process:
        try:
            def listens():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                    return True
                return False

            wait_until(listens, lambda: (directory / "dnsdist.log").read_text())
            done = knsupdate("-S", f"-A{pki.path('ca.pem')}", "-H", NAME, "-p", str(port), "-y", f"hmac-sha512:key.:{SECRET}")
            assert (done.returncode, done.stderr) == (0, "")
            assert has_address(server.port)
        finally:
            process.terminate()


TLS_FAULTS = [
    # what the server does, once it has the update or before, and the sentence about it
    ("reset", lambda session: reset(session), False),
    ("closes", lambda session: session.close(), False),
    ("stalls", wait_end, True),
    ("half an answer, and closes", lambda session: session.sendall(framed(bytes(40))[:20]), False),
    ("half an answer, and stalls", lambda session: (session.sendall(framed(bytes(40))[:20]), wait_end(session)), True),
    ("a message of one byte", lambda session: (session.sendall(framed(b"x")), wait_end(session)), False),
    ("an empty message", lambda session: (session.sendall(framed(b"")), wait_end(session)), None),
]


@pytest.mark.parametrize(("_what", "behave", "is_late"), TLS_FAULTS, ids=[row[0] for row in TLS_FAULTS])
def test_tls_faults(pki, _what, behave, is_late):
    """The update was sent, and what has become of it isn't known; never is it sent again by itself."""
    updates = []

    def serve(connection):
        with contextlib.suppress(OSError, EOFError), pki.context("good", alpn=("dot",)).wrap_socket(connection, server_side=True) as session:
            updates.append(read_query(session))
            behave(session)

    with Server(serve) as server:
        began = time.monotonic()
        done = knsupdate("-p", str(server.port), "-S", "-t", "1")
        took = time.monotonic() - began
    assert done.returncode == 1 and done.stdout.count("HEADER") == 0 and len(updates) == server.connections == 1
    assert done.stderr.endswith(";; ERROR: in standard input, line 3\n")
    assert "no answer: whether the update was done isn't known" in done.stderr or "malformed reply packet" in done.stderr, done.stderr
    if is_late is not None:
        assert (took >= 1) == is_late, (took, done.stderr)


@pytest.mark.parametrize("what", ["plain text", "reset", "alert", "stall"])
def test_tls_that_does_not_begin(what):
    """Nothing of the update leaves before the handshake is over."""
    seen = []

    def serve(connection):
        seen.append(connection.recv(4096))
        if what == "plain text":
            connection.sendall(b"220 ready\r\n")
        elif what == "reset":
            reset(connection)
        elif what == "alert":
            connection.sendall(b"\x15\x03\x03\x00\x02\x02\x28")
        if what in ("stall", "alert"):
            wait_end(connection)

    with Server(serve) as server:
        done = knsupdate("-p", str(server.port), "-S", "-t", "1")
    assert done.returncode == 1 and done.stderr.endswith(";; ERROR: the update wasn't sent\n;; ERROR: in standard input, line 3\n"), done.stderr
    assert seen and seen[0][0] == 22 and b"example" not in seen[0]


# ---- QUIC ----

@contextlib.contextmanager
def quic_server(pki, way, cert="good"):
    """Port, and a function that ends the server and gives the messages that came."""
    command = [str(BUILD / "tests/exchange/quic_update_server"), pki.path(f"{cert}.pem"), pki.path(f"{cert}.key"), way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        def messages():
            process.terminate()
            return [bytes.fromhex(line) for line in process.communicate(timeout=20 * PATIENCE)[0].split()]

        try:
            yield int(process.stdout.readline()), messages
        finally:
            process.kill()


def test_quic(pki):
    with quic_server(pki, "good") as (port, messages):
        done = knsupdate("-p", str(port), "-Q", script=SCRIPT + "answer\n" + SCRIPT)
        sent = messages()
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("Answer:\n;; ->>HEADER<<- opcode: UPDATE; status: NOERROR; id: 0\n")
    assert len(sent) == 2 and sent[0] == sent[1] and sent[0][:4] == b"\0\0\x28\0"       # RFC 9250 4.2.1: ID 0
    assert [str(record) for record in dns.message.from_wire(sent[0]).sections[dns.update.UpdateSection.UPDATE]] == ["a.example. 60 IN A 192.0.2.7"]


@pytest.mark.parametrize(("_what", "cert", "options", "is_sent"), TLS_ROWS, ids=[row[0] for row in TLS_ROWS])
def test_quic_trust(pki, _what, cert, options, is_sent):
    words = options.replace("-S", "").format(ca=pki.path("ca.pem"), pin=pin_of(pki, cert), other=pin_of(pki, "client")).split()
    with quic_server(pki, "good", cert) as (port, messages):
        done = knsupdate("-p", str(port), "-Q", *words)
        assert (done.returncode == 0, len(messages())) == (is_sent, int(is_sent)), done.stderr
    assert is_sent or ";; ERROR: the update wasn't sent\n" in done.stderr


QUIC_FAULTS = [
    # the way of the server, what is said
    ("refuse", ";; ERROR: update failed with error 'REFUSED'\n"),
    ("other-id", ";; WARNING: reply ID (7) is different from query ID (0)\n"),
    ("no-update", "is no reply to an update\n"),
    ("trailing", ";; ERROR: malformed reply packet from"),
    ("silent", ";; ERROR: no answer: whether the update was done isn't known\n"),
    ("empty", ";; ERROR: no answer: whether the update was done isn't known\n"),
    ("half-and-close", ";; ERROR: no answer: whether the update was done isn't known\n"),
    ("half-and-stall", ";; ERROR: no answer: whether the update was done isn't known\n"),
    ("close", ";; ERROR: no answer: whether the update was done isn't known\n"),
    ("die", ";; ERROR: no answer: whether the update was done isn't known\n"),
]


@pytest.mark.parametrize(("way", "said"), QUIC_FAULTS, ids=[row[0] for row in QUIC_FAULTS])
def test_quic_faults(pki, way, said):
    with quic_server(pki, way) as (port, messages):
        done = knsupdate("-p", str(port), "-Q", "-t", "2")
        assert done.returncode == 1 and said in done.stderr and len(messages()) == 1, done.stderr
    assert done.stderr.endswith(";; ERROR: in standard input, line 3\n")


def test_quic_without_a_server():
    done = knsupdate("-p", str(free_port()), "-Q", "-t", "2")
    assert done.returncode == 1 and done.stderr.endswith(";; ERROR: the update wasn't sent\n;; ERROR: in standard input, line 3\n"), done.stderr


def test_quic_with_knot(directory, pair):
    """The distribution's knotd (3.2) reads updates over QUIC, and refuses to do them there."""
    with quic_knot(directory, pair, ZONE, action="update") as log:
        script = f"server {pair.server4}\n" + SCRIPT

        def answered():
            done = knsupdate("-Q", "-t", "2", "-d", script=script, namespace=pair.client)
            return done if "opcode: UPDATE; status: SERVFAIL; id: 0\n" in done.stdout else None

        done = wait_until(answered, log.read_text)
        assert f"{pair.server4}@853(UDP)" in done.stdout and ";; ERROR: update failed with error 'SERVFAIL'\n" in done.stderr
        done = knsupdate("-Q", "-P", base64.b64encode(bytes(32)).decode(), script=script, namespace=pair.client)
        assert done.returncode == 1 and ";; ERROR: the update wasn't sent\n" in done.stderr


# ---- What comes late, or isn't the answer ----

@contextlib.contextmanager
def udp_server(replies):
    """replies(number, data): datagrams to send for the copy of this number."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    copies = []

    def serve():
        while True:
            data, address = sock.recvfrom(65535)
            if data == b"end":
                return
            copies.append((data, address))
            for part in replies(len(copies), data):
                sock.sendto(part, address)

    thread = threading.Thread(target=serve)
    thread.start()
    port = sock.getsockname()[1]
    try:
        yield port, copies
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"end", ("127.0.0.1", port))
        thread.join()
        sock.close()


def test_copies_are_one_update():
    """Each copy is the same and comes from one port: the answer to any of them is the answer."""
    with udp_server(lambda number, data: [reply(data)] if number == 3 else []) as (port, copies):
        done = knsupdate("-p", str(port), "-t", "2", "-r", "3")
    assert done.returncode == 0 and len(copies) == 3 and len(set(copies)) == 1
    assert done.stderr == f";; WARNING: response timeout for 127.0.0.1@{port}(UDP)\n" * 2


def test_no_answer():
    with udp_server(lambda _number, _data: []) as (port, copies):
        done = knsupdate("-p", str(port), "-t", "1", "-r", "1")
    assert done.returncode == 1 and len(copies) == 2
    assert done.stderr.endswith(";; ERROR: no answer: whether the update was done isn't known\n;; ERROR: in standard input, line 3\n")


def test_forged_answers_are_passed_by():
    """Another ID can be anybody's guess: the right answer still counts."""
    with udp_server(lambda _number, data: [bytes([data[0] ^ 1]) + reply(data, 5)[1:], reply(data)]) as (port, copies):
        done = knsupdate("-p", str(port))
    assert done.returncode == 0 and len(copies) == 1
    assert done.stderr.startswith(";; WARNING: reply ID (") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(("size", "transport"), [(400, "UDP"), (600, "TCP")])
def test_large_updates_go_over_tcp(odd, size, transport):
    knsupdate("-p", str(odd.port), script=f"zone odd.test\nadd a TXT {' '.join(['x' * 99] * (size // 100))}\nsend\n")
    assert [kind for kind, _ in odd.received] == [transport]


def test_too_large(odd):
    lines = [f"add n{i}.odd.test. TXT {'x' * 200}" for i in range(400)]
    done = knsupdate("-p", str(odd.port), script="\n".join(["zone odd.test", *lines, "send\n"]))
    assert done.returncode == 1 and not odd.received
    fit = int(done.stderr.split(" of 400 records fit into 65535 bytes: send them in parts")[0].split()[-1])
    lines[fit:fit] = ["send"]
    done = knsupdate("-p", str(odd.port), script="\n".join(["zone odd.test", *lines, "send\n"]))
    assert (done.returncode, done.stderr, len(odd.received)) == (0, "", 2)


# ---- Files and output ----

def test_files(odd, tmp_path):
    """Files go on where the last one ended, up to the first error."""
    names = []
    for i, text in enumerate(("zone odd.test\n", "\nadd a A 192.0.2.1\n", "send\nadd b A 192.0.2\n", "send\n")):
        names.append(str(tmp_path / f"{i}.script"))
        pathlib.Path(names[-1]).write_text(text)
    done = knsupdate("-p", str(odd.port), *names)
    assert done.returncode == 1 and len(odd.received) == 1
    assert done.stderr == f";; ERROR: invalid data of A '192.0.2' (invalid IPv4 address)\n;; ERROR: in {names[2]}, line 2\n"


def test_unsent(odd):
    done = knsupdate("-p", str(odd.port), script="zone odd.test\nadd a A 192.0.2.1\n\n")
    assert done.returncode == 0 and not odd.received
    assert done.stderr == ";; WARNING: an update with 1 record wasn't sent: there is no 'send' behind it\n"


def test_full_output(odd):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = knsupdate("-p", str(odd.port), script="zone odd.test\nshow\n", capture_output=False, stdout=full)
    assert done.returncode == 1


def test_full_error_output(odd):
    """What can't be said changes nothing: the exit status has it."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = knsupdate("-p", str(odd.port), script="nonsense\n", capture_output=False, stdout=subprocess.DEVNULL, stderr=full)
    assert done.returncode == 1


def test_broken_pipe(odd):
    """A reader that goes early, such as head: it ends, and doesn't hang or say anything."""
    script = "zone odd.test\n" + "".join(f"add n{i}.odd.test. TXT {'x' * 200}\n" for i in range(250)) + "show\n" * 40
    with subprocess.Popen([built("knsupdate", "tools"), "-p", str(odd.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdin.write(script)
        process.stdin.close()
        assert process.stdout.readline() == "Update query:\n"
        process.stdout.close()
        assert process.wait(timeout=60 * PATIENCE) in (1, -signal.SIGPIPE)
        assert process.stderr.read() == ""


def test_large_output(odd):
    """All of a message of the largest size is shown, and the bytes on the wire are those."""
    count = 700
    script = "zone odd.test\n" + "".join(f"add name-number-{i}.odd.test. 60 TXT {'x' * 50}\n" for i in range(count)) + "show\nsend\nanswer\n"
    done = knsupdate("-p", str(odd.port), script=script)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.count("\tTXT\t") == count
    ((kind, wire),) = odd.received
    assert kind == "TCP" and len(dns.message.from_wire(wire).sections[dns.update.UpdateSection.UPDATE]) > 0


def test_long_lines(odd):
    """Lines of any length, and bytes of any value: an error names them, cut off."""
    script = "zone odd.test\nadd a.odd.test. TXT " + " ".join(["x" * 250] * 250) + "\nsend\n"
    assert knsupdate("-p", str(odd.port), script=script).returncode == 0 and len(odd.received) == 1
    done = knsupdate("-p", str(odd.port), script="z" * 1000000 + "\n")
    assert done.returncode == 1 and len(done.stderr) < 1000 and "unexpected literal: 'zzz" in done.stderr


def test_many_updates(odd):
    """One script, 500 updates: each is sent once, in order."""
    script = "zone odd.test\n" + "".join(f"add n{i}.odd.test. A 192.0.2.1\nsend\n" for i in range(500))
    assert knsupdate("-p", str(odd.port), script=script).returncode == 0
    names = [dns.message.from_wire(wire).sections[dns.update.UpdateSection.UPDATE][0].name.labels[0] for _, wire in odd.received]
    assert names == [f"n{i}".encode() for i in range(500)]


# ---- Help and page ----

def test_manual_page_has_everything(odd):
    """Each option of the help, and each command that the program lists."""
    page = re.sub(r"\\f[BIPR]", "", (TOP / "doc/man/knsupdate.1").read_text().replace("\\-", "-")).replace("del[ete]", "del delete")
    options = re.findall(r"(?<=[ ,])--?[A-Za-z]+", knsupdate("-h").stdout.split("\n", 3)[3])
    commands = [line.split()[0] for line in knsupdate("-p", str(odd.port), script="help\n").stdout.splitlines()]
    assert len(options) > 30 and len(commands) > 20
    assert [word for word in options + commands if not re.search(rf"(?<![\w-]){word}(?![\w-])", page)] == []


# ---- The prompt ----

@pytest.fixture(name="prompt")
def running_prompt(odd, tmp_path):
    made = Prompt(built("knsupdate", "tools"), "-p", str(odd.port), home=tmp_path)
    try:
        made.read_until("knsupdate> ")
        yield made
    finally:
        made.close()


def test_prompt(prompt, odd, tmp_path):
    prompt.type("nonsense\n")
    prompt.read_until(";; ERROR: unexpected literal: 'nonsense'\r?\n")
    prompt.type("zone rcode-5.odd.test\n")
    prompt.type("add a A 192.0.2.1\n")
    prompt.type("\n")                               # sends nothing
    prompt.type("send\n")
    prompt.read_until("update failed with error 'REFUSED'")
    prompt.type("zone odd.test\n")
    prompt.type(f"key k {SECRET}\n")
    prompt.type("show\n")
    prompt.read_until("ZONE: 1; PREREQ: 0; UPDATE: 0;")     # what was refused is over
    prompt.type("exit\n")
    assert prompt.wait() == 0
    assert len(odd.received) == 1
    history = (tmp_path / ".knsupdate_history").read_text()
    assert "nonsense" in history and SECRET not in history
    assert (tmp_path / ".knsupdate_history").stat().st_mode & 0o077 == 0


def test_prompt_interrupted(prompt):
    """Ctrl-C ends it as it ends knotc, and leaves the terminal as it was."""
    prompt.type("add b")
    prompt.type("\x03")
    assert prompt.wait() == -signal.SIGINT
    assert termios.tcgetattr(prompt.fd)[3] & termios.ICANON


def test_prompt_warns_once_more(prompt):
    """A command between two attempts to leave: the warning comes again."""
    prompt.type("zone odd.test\n")
    prompt.type("add a A 192.0.2.1\n")
    for _ in range(2):
        prompt.type("exit\n")
        prompt.read_until("Leave again to drop it.")
        prompt.type("show\n")
        prompt.read_until("UPDATE: 1;")
    prompt.type("quit\n")
    prompt.read_until("Leave again to drop it.")
    prompt.type("quit\n")
    assert prompt.wait() == 0


def test_prompt_completes(prompt):
    prompt.type("s\t\t")
    prompt.read_until(r"send +server +show\r?\n")
    prompt.type("h\t\n")                            # show
    prompt.read_until("Update query:")
    prompt.type("prereq n\t\t")
    prompt.read_until(r"nxdomain +nxrrset\r?\n")
    prompt.type("r\ta.z. AAA\t\n")                  # nxrrset, AAAA
    prompt.type("update d\tete b.z. 300 IN zonem\t\n")
    prompt.type("key hmac-sha51\tk YWJj\n")
    prompt.type("show\n")
    prompt.read_until(r"a\.z\. +\t0\tNONE\tAAAA\r?\n")
    prompt.read_until(r"b\.z\. +\t0\tANY\tZONEMD\r?\n")
    prompt.type("exit\n")
    prompt.read_until("Leave again to drop it.")
    prompt.type("exit\n")
    assert prompt.wait() == 0


def test_prompt_keeps_what_was_not_answered(prompt):
    """There is no server at the port: the update can be sent to another server."""
    prompt.type(f"server 127.0.0.1 {free_port()}\n")
    prompt.type("zone odd.test\n")
    prompt.type("add a A 192.0.2.1\n")
    prompt.type("send\n")
    prompt.read_until("whether the update was done isn't known")
    prompt.type("show\n")
    prompt.read_until("UPDATE: 1;")
    prompt.type("\x04")
    prompt.read_until("Leave again to drop it.")
    prompt.type("\x04")
    assert prompt.wait() == 0
