# SPDX-License-Identifier: BSD-2-Clause
"""kdig over what the golden lines don't reach: UNIX sockets, PROXYv2, connections that are kept for other names, text of hostile servers."""
import contextlib
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading

import pytest

from harness import scripted_server
from harness.server import built
from harness.tls import SETTINGS, Pki, Server, framed, frame, headers, read_query, read_request, wait_end
from harness.waiting import PATIENCE

THEIRS = "/usr/bin/kdig"


def run(*words, program=None, locale="C.UTF-8", **options):
    return subprocess.run([program or built("kdig", "tools"), *words], capture_output=True, text=True, timeout=30 * PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": locale, "TZ": "UTC"}, **options)


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


def replies(wire, is_tcp=True):
    return [reply for _, reply in scripted_server.answer(wire, is_tcp)[0]]


def serve_stream(connection):
    """Answer each message of a stream, as scripted_server does."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            for reply in replies(read_query(connection)):
                connection.sendall(framed(reply))


# ---- UNIX sockets ----

@contextlib.contextmanager
def unix_server(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as listener:
        listener.bind(str(path))

        def serve():
            with contextlib.suppress(OSError):
                if kind == socket.SOCK_DGRAM:
                    while True:
                        wire, client = listener.recvfrom(65535)
                        for reply in replies(wire, False):
                            listener.sendto(reply, client)
                while True:
                    with listener.accept()[0] as connection:
                        serve_stream(connection)
        if kind == socket.SOCK_STREAM:
            listener.listen(8)
        threading.Thread(target=serve, daemon=True).start()
        yield
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


def test_unix_stream(tmp_path):
    path = tmp_path / "dns.sock"
    with unix_server(path, socket.SOCK_STREAM):
        done = run(f"@{path}", "+tcp", "a.odd.test", "+keepopen", "cname.odd.test", "CNAME")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count(f";; From {path}(TCP) in ") == 2 and "192.0.2.1" in done.stdout
        transfer = run(f"@{path}", "split.odd.test", "AXFR", "+noall", "+answer")
        assert transfer.returncode == 0 and transfer.stdout.count("SOA") == 2


# ---- PROXYv2 ----

def proxied(data):
    """The addresses of a PROXYv2 header at the start, and how long it is."""
    assert data[:13] == b"\r\n\r\n\0\r\nQUIT\n\x21"
    family, length = data[13], struct.unpack("!H", data[14:16])[0]
    size = 4 if family >> 4 == 1 else 16
    body = data[16:16 + length]
    addresses = [socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, body[i * size:(i + 1) * size]) for i in (0, 1)]
    return (*addresses, *struct.unpack("!HH", body[2 * size:2 * size + 4]), family & 15), 16 + length


@contextlib.contextmanager
def proxy_server(seen):
    """UDP and TCP on one port; the headers of what comes are kept."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(tcp.getsockname())

        def serve_udp():
            with contextlib.suppress(OSError):
                while True:
                    data, client = udp.recvfrom(65535)
                    seen.append(data)
                    for reply in replies(data[proxied(data)[1]:], False):
                        udp.sendto(reply, client)

        def serve_tcp():
            with contextlib.suppress(OSError):
                while True:
                    with tcp.accept()[0] as connection:
                        data = connection.recv(16, socket.MSG_WAITALL)
                        data += connection.recv(struct.unpack("!H", data[14:16])[0], socket.MSG_WAITALL)
                        seen.append(data)
                        serve_stream(connection)
        threads = [threading.Thread(target=target, daemon=True) for target in (serve_udp, serve_tcp)]
        for thread in threads:
            thread.start()
        yield tcp.getsockname()[1]


@pytest.mark.parametrize("proxy, want", [("192.0.2.7-198.51.100.1", ("192.0.2.7", "198.51.100.1", 0, 53)),
                                         ("192.0.2.7#1234-198.51.100.1#5353", ("192.0.2.7", "198.51.100.1", 1234, 5353)),
                                         ("2001:db8::7#1-2001:db8::1", ("2001:db8::7", "2001:db8::1", 1, 53))])
def test_proxy(proxy, want):
    seen = []
    with proxy_server(seen) as port:
        for transport, protocol in (("+notcp", 2), ("+tcp", 1)):
            del seen[:]
            done = run(f"@127.0.0.1#{port}", transport, "+noedns", "+short", f"+proxy={proxy}", "a.odd.test")
            assert (done.returncode, done.stdout, done.stderr) == (0, "192.0.2.1\n", "")
            assert proxied(seen[0])[0] == (*want, protocol)
            if os.path.exists(THEIRS):
                run(f"@127.0.0.1#{port}", transport, "+noedns", "+short", f"+proxy={proxy}", "a.odd.test", program=THEIRS)
                assert seen[1][:proxied(seen[1])[1]] == seen[0][:proxied(seen[0])[1]]


# ---- Connections that are kept ----

@contextlib.contextmanager
def tls_server(pki, names):
    """Names are those that clients ask for."""
    context = pki.context("good", alpn=["dot"])
    context.sni_callback = lambda connection, name, _: names.append(name)

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as stream:
            serve_stream(stream)
    with Server(serve) as server:
        yield server


def test_kept_connection_is_of_its_name(pki, tmp_path):
    """Lines of a file share a connection only with those that ask for the same name, although one line's memory is used for the next."""
    lines = tmp_path / "queries"
    for options in ("+tls +tls-sni={}", "+tls-ca={ca} +tls-hostname={}"):
        names = []
        with tls_server(pki, names) as server:
            lines.write_text("".join(f"a.odd.test {options.format(name, ca=pki.path('ca.pem'))}\n" for name in ("one.example", "one.example", "two.example")))
            run(f"@127.0.0.1#{server.port}", "+short", "+keepopen", "+time=5", "-f", str(lines))
            assert names[0] == "one.example" and names[-1] == "two.example", options


def test_kept_connection_is_of_its_pin(pki, tmp_path):
    """A connection that was made without a pin, or with another one, serves no line that has one, and the other way round."""
    names, lines, wrong = [], tmp_path / "queries", "A" * 43 + "="
    lines.write_text(f"a.odd.test +tls\na-2.odd.test +tls-pin={wrong}\na.odd.test +tls\na-2.odd.test +tls-pin={'B' * 42}A=\na.odd.test +tls\n")
    with tls_server(pki, names) as server:
        done = run(f"@127.0.0.1#{server.port}", "+short", "+keepopen", "+retry=0", "+time=5", "-f", str(lines))
    assert (done.returncode, done.stdout.split()) == (1, ["192.0.2.1"] * 3)
    assert done.stderr.count("handshake failed") == 2


def test_kept_connection(pki):
    names = []
    with tls_server(pki, names) as server:
        done = run(f"@127.0.0.1#{server.port}", "+short", "+keepopen", "+tls-sni=one.example", "a.odd.test", "a-2.odd.test", "a.odd.test")
        assert (done.returncode, done.stdout, done.stderr) == (0, "192.0.2.1\n192.0.2.1\n192.0.2.2\n192.0.2.1\n", "")
        assert names == ["one.example"]


def test_trace_of_a_file(tmp_path):
    """A dnstap file that a line names outlives that line."""
    server = scripted_server.ScriptedServer()
    (tmp_path / "queries").write_text(f"a.odd.test -E {tmp_path}/first\n{'x' * 60}.a.odd.test -E {tmp_path}/other\nb.a.odd.test -E {tmp_path}/first\n")
    try:
        done = run(f"@127.0.0.1#{server.port}", "+short", "-f", str(tmp_path / "queries"))
    finally:
        server.stop()
    assert (done.returncode, done.stderr) == (0, "")
    shown = run("-G", str(tmp_path / "first"), "+noall", "+question").stdout
    assert [line.split()[0] for line in shown.splitlines() if line] == [";;a.odd.test.", ";;b.a.odd.test."]


# ---- Text of hostile servers ----

def test_redirection_with_escapes(pki):
    """Where to go next is printed, without control characters."""
    context = pki.context("good", alpn=["h2"])

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as stream:
            stream.sendall(SETTINGS)
            number, _ = read_request(stream)
            stream.sendall(headers(number, [(":status", "301"), ("location", "/x\x1b[2J\x9b1m/dns-query")], flags=5))
            stream.sendall(frame(7, 0, 0, bytes(8)))
            wait_end(stream)
    with Server(serve) as server:
        for words in ([], ["-d"]):
            done = run(f"@127.0.0.1#{server.port}", "+https", "+retry=0", "+time=2", "a.odd.test", *words)
            assert done.returncode == 1 and "\x1b" not in done.stdout + done.stderr and "\x9b" not in done.stdout + done.stderr


def test_certificate_with_escapes(pki):
    """Names in certificates are printed with -d, and -dd, without control characters."""
    pki.make("escapes", "cn = \"a\x1b[2Jb\"\ndns_name = \"x\x1b[2J.example\"\ntls_www_server\nsigning_key\n")
    context = pki.context("escapes", alpn=["dot"])

    def serve(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as stream:
            serve_stream(stream)
    with Server(serve) as server:
        done = run(f"@127.0.0.1#{server.port}", "+tls", "-dd", "a.odd.test")
    assert done.returncode == 0 and "SAN: " in done.stdout and "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("label, want", [("xn--mnchen-3ya", "münchen"), ("_25._tcp.XN--BCHER-KVA", "_25._tcp.bücher"), ("xn--strae-oqa", "straße"), ("xn--a", "xn--a")])
def test_names_in_the_users_characters(label, want):
    server = scripted_server.ScriptedServer()
    try:
        for locale, shown in (("C.UTF-8", want), ("C", label)):
            done = run(f"@127.0.0.1#{server.port}", "+idnout", "+noall", "+question", f"{label}.a.odd.test", locale=locale)
            assert done.stdout.split()[0].casefold() == f";;{shown}.a.odd.test.".casefold()
    finally:
        server.stop()


@pytest.mark.parametrize("label", ["xn--ab-mca", "xn--ab-g4t", "xn--abc-6m0a", "xn--ab-x3t", "xn--ab-qa", "xn--ab-r13a"])
def test_names_with_hidden_characters(label):
    """Labels whose characters would do something to the terminal are shown as they are: ASCII."""
    server = scripted_server.ScriptedServer()
    try:
        shown = run(f"@127.0.0.1#{server.port}", "+idnout", "+noall", "+question", f"{label}.a.odd.test").stdout
    finally:
        server.stop()
    assert all(character == "\n" or character == "\t" or character.isprintable() for character in shown)


# ---- Output that ends ----

def test_reader_that_goes(tmp_path):
    """A pipe whose reader has gone ends the program: by the signal, or, if that is ignored, with status 1."""
    server = scripted_server.ScriptedServer()
    (tmp_path / "queries").write_text("a.odd.test\n" * 5000)
    try:
        for ignores in (False, True):
            with subprocess.Popen([built("kdig", "tools"), f"@127.0.0.1#{server.port}", "-f", str(tmp_path / "queries")], stdout=subprocess.PIPE,
                                  restore_signals=not ignores) as process:
                process.stdout.read(100)
                process.stdout.close()
                assert process.wait(timeout=30 * PATIENCE) == (1 if ignores else -signal.SIGPIPE)
    finally:
        server.stop()


def test_output_that_would_block():
    """Standard output that another program has left non-blocking loses nothing."""
    server = scripted_server.ScriptedServer()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        with subprocess.Popen([built("kdig", "tools"), f"@127.0.0.1#{server.port}", "+tcp", "+noall", "+answer", *["big-300.odd.test"] * 20],
                              stdout=writer) as process:
            os.close(writer)
            with open(reader, "rb") as pipe:
                seen = pipe.read()
            assert process.wait(timeout=30 * PATIENCE) == 0
    finally:
        server.stop()
    assert seen.count(b" TXT") + seen.count(b"\tTXT") == 20 * 300
