# SPDX-License-Identifier: BSD-2-Clause
"""A client's exchange with servers (src/exchange, src/transport), by the program tests/exchange/ask: good servers of others over each
transport, and bad ones that fail at each stage. All must end soon, with the right kind of end and the sentence of Knot's utilities."""
import contextlib
import os
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest

from harness.net import free_port, run
from harness.quic_knot import many_names, quic_knot
from harness.server import BUILD, built
from harness.tls import NAME, SETTINGS, Pki, Server, answer, exactly, frame, framed, headers, read_query, read_request, reset, tool, wait_end
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.ours]
ASK = str(BUILD / "tests/exchange/ask")
SILENCE = 700     # ms that a client waits for servers that say nothing


def ask(lines="a.example A\n", namespace=None, **settings):
    """What the client prints. A list gives a setting more than once."""
    command = [ASK] + [f"{name}={value}" for name, values in settings.items() for value in (values if isinstance(values, list) else [values])]
    if namespace:
        command = ["nsenter", f"--net=/run/netns/{namespace}", *command]
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE, check=False)
    assert done.returncode in (0, 1), done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


def ends(text):
    """How each query ended, with the sentence about it."""
    return re.findall(r"^end (.*)$", text, re.M)


# ---- Servers of others ----

@contextlib.contextmanager
def daemon(command, directory, is_up, **options):
    with open(directory / "output.log", "w", encoding="utf-8") as log:
        process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, cwd=directory, **options)
        try:
            wait_until(lambda: process.poll() is not None or is_up(), lambda: (directory / "output.log").read_text())
            assert process.poll() is None, (directory / "output.log").read_text()
            yield process
        finally:
            process.terminate()
            process.wait(timeout=20 * PATIENCE)


def listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture(scope="module")
def unbound(tmp_path_factory, pki):
    """Ports of DNS over TLS, HTTPS, and plain."""
    directory = tmp_path_factory.mktemp("unbound")
    tls, https, plain = free_port(), free_port(), free_port()
    interfaces = "".join(f"  interface: 127.0.0.1@{port}\n" for port in (tls, https, plain))
    (directory / "unbound.conf").write_text(f"""server:
{interfaces}  tls-port: {tls}
  https-port: {https}
  tls-service-key: "{pki.path('good.key')}"
  tls-service-pem: "{pki.path('good.pem')}"
  directory: "{directory}"
  username: ""
  chroot: ""
  pidfile: ""
  do-daemonize: no
  use-syslog: no
  local-zone: "example." static
  local-data: "a.example. A 192.0.2.1"
remote-control:
  control-enable: no
""")
    with daemon(["unbound", "-d", "-c", "unbound.conf"], directory, lambda: all(listens(port) for port in (tls, https, plain))):
        yield {"tls": tls, "https": https, "udp": plain, "tcp": plain}


@pytest.fixture(scope="module")
def dnsdist(tmp_path_factory, pki, unbound):
    """Ports of DNS over TLS and HTTPS."""
    directory = tmp_path_factory.mktemp("dnsdist")
    tls, https, plain = free_port(), free_port(), free_port()
    pair = f'"{pki.path("good.pem")}", "{pki.path("good.key")}"'
    pages = {"moved": (301, "/dns-query"), "found": (302, "https://dns.example/dns-query"), "loop": (308, "/loop"), "to-http": (307, "http://dns.example/dns-query"),
             "busy": (503, "busy")}
    paths = ", ".join(f'"/{name}"' for name in ["dns-query", *pages])
    entries = ", ".join(f'newDOHResponseMapEntry("^/{name}$", {status}, "{content}")' for name, (status, content) in pages.items())
    (directory / "dnsdist.conf").write_text(f"""setLocal("127.0.0.1:{plain}")
setSecurityPollSuffix("")
newServer({{address="127.0.0.1:{unbound['udp']}"}}):setUp()
addTLSLocal("127.0.0.1:{tls}", {pair})
addDOHLocal("127.0.0.1:{https}", {pair}, {{{paths}}})
addDOHLocal("[::1]:{https}", "{pki.path("address.pem")}", "{pki.path("address.key")}")
getDOHFrontend(0):setResponsesMap({{{entries}}})
""")
    with daemon(["dnsdist", "--supervised", "--disable-syslog", "-C", "dnsdist.conf"], directory, lambda: listens(tls) and listens(https)):
        yield {"tls": tls, "https": https}


PORTS = [("unbound", "tls"), ("unbound", "https"), ("dnsdist", "tls"), ("dnsdist", "https"), ("unbound", "udp"), ("unbound", "tcp")]


LONG = "a" * 60 + ("." + "b" * 60) * 3


@pytest.mark.parametrize("server,given,authority", [("::1", None, "[::1]"), ("127.0.0.1", None, "127.0.0.1"), ("127.0.0.1", "::1", "[::1]"), ("127.0.0.1", "[::1]:853", "[::1]:853"),
                                                    ("127.0.0.1", "dns.example", "dns.example"), ("::1", LONG, LONG)])
def test_authority(dnsdist, server, given, authority):
    """An address of IPv6 stands in brackets, wherever it comes from; names stay as they are."""
    text = ask(kind="https", server=server, port=dnsdist["https"], **({"authority": given} if given else {}))
    assert f"HTTP session (HTTP/2-POST)-({authority}/dns-query)-(status: 200)" in text and ends(text) == ["ok"], text


def test_authority_of_a_certificate(dnsdist, pki):
    """kdig +https=[ADDRESS]: the certificate has to be of the address, which has no brackets there, and no zone."""
    for said, is_good in (("[::1]", True), (f"[::1]:{dnsdist['https']}", True), ("[::1%lo]", True), (f"[::1%lo]:{dnsdist['https']}", True), ("::1%lo", True),
                          ("[::2]", False), ("[::2%lo]", False), (NAME, True), (f"{NAME}%lo", False)):
        host = said.replace("%lo", "") if "::" in said else said
        host = f"[{host}]" if host[0] == ":" else host
        address = "127.0.0.1" if NAME in said else "::1"    # whose certificate has the name or the address
        done = subprocess.run([built("kdig", "tools"), f"@{address}#{dnsdist['https']}", f"+https={said}", f"+tls-ca={pki.path('ca.pem')}", "+noall", "+header", "a.example"],
                              capture_output=True, text=True, timeout=20 * PATIENCE, check=False)
        assert (done.returncode == 0) == is_good and (f"-({host}/dns-query)-(status: 200)" in done.stdout) == is_good, done


@pytest.mark.core
@pytest.mark.parametrize("server,kind", PORTS)
def test_peers(server, kind, request, pki):
    port = request.getfixturevalue(server)[kind]
    text = ask("a.example A\nnothing.example A\na.example SOA\n", kind=kind, server="127.0.0.1", port=port, ca=pki.path("ca.pem"), hostname=NAME)
    assert re.findall(r"^reply rcode=(\d) answers=(\d)", text, re.M) == [("0", "1"), ("3", "0"), ("0", "0")], text
    assert ends(text) == ["ok"] * 3
    assert "other id" not in text
    assert ("debug: TLS, The certificate is trusted. \n" in text) == (kind in ("tls", "https"))
    if kind in ("tls", "https"):
        assert re.search(r"^;; TLS session \(TLS1\.3\)-\(ECDHE-[A-Z0-9]+\)-\(ECDSA-SECP256R1-SHA256\)-\(AES-256-GCM\)$", text, re.M), text
    if kind == "https":
        assert ";; HTTP session (HTTP/2-POST)-(127.0.0.1/dns-query)-(status: 200)\n" in text


@pytest.mark.parametrize("server,kind", PORTS[:4])
def test_peers_resumption(server, kind, request, pki):
    """The second session shows no certificate; early data is used where it is taken, and the query gets there anyway."""
    port = request.getfixturevalue(server)[kind]
    for early in (0, 1):
        text = ask("a.example A\nticket\na.example A\n", kind=kind, server="127.0.0.1", port=port, ca=pki.path("ca.pem"), hostname=NAME, early=early)
        assert ends(text) == ["ok", "ok"], text
        assert "ticket yes\n" in text
        assert text.count("received certificate hierarchy") == 1, text


@pytest.mark.parametrize("server", ["unbound", "dnsdist"])
def test_peers_https_get(server, request):
    port = request.getfixturevalue(server)["https"]
    text = ask("a.example A\na.example A\n", kind="https", server="127.0.0.1", port=port, get=1, authority=NAME)
    assert ends(text) == ["ok", "ok"], text
    assert f";; HTTP session (HTTP/2-GET)-({NAME}/dns-query)-(status: 200)\n" in text


@pytest.mark.parametrize("path,status,end,warning", [
    ("/dns-query", 200, "ok", None),
    ("/moved", 200, "ok", "HTTP redirect (127.0.0.1/moved)->(127.0.0.1/dns-query)"),
    ("/found", 200, "ok", f"HTTP redirect (127.0.0.1/found)->({NAME}/dns-query)"),
    ("/loop", 308, "http", "HTTP redirect (127.0.0.1/loop)->(127.0.0.1/loop)"),
    ("/to-http", 307, "http", None),
    ("/busy", 503, "http", None),
    ("/unknown", 404, "http", None),
])
def test_https_pages(dnsdist, path, status, end, warning):
    text = ask("a.example A\na.example A\n", kind="https", server="127.0.0.1", port=dnsdist["https"], path=path)
    assert [found.split(":")[0] for found in ends(text)] == [end, end], text
    assert f"-(status: {status})\n" in text
    assert (warning is None) == ("warning" not in text) and (warning or "") in text
    if end == "http":
        assert f"end http: can't receive reply from 127.0.0.1@{dnsdist['https']}(TCP)\n" in text


# ---- Debian's knotd over QUIC: it needs XDP ----

@pytest.fixture
def quic_server(directory, pair):
    with quic_knot(directory, pair, many_names(20000)) as log:
        wait_until(lambda: "zone file parsed, serial" in log.read_text() and (directory / "run/knot.sock").exists(), log.read_text)
        yield pair


@pytest.mark.core
def test_quic_with_knot(quic_server, pki):
    common = {"kind": "quic", "server": quic_server.server4, "port": 853, "namespace": quic_server.client}

    def once():
        return "reply" in ask(timeout=500, **common)

    wait_until(once, "no reply over QUIC")
    text = ask("a.example A\nnothing.example A\nexample AXFR\na.example A\n", **common)
    assert ends(text) == ["ok"] * 4, text
    assert sum(int(count) for count in re.findall(r"rcode=0 answers=(\d+)", text)) == 2 + 20004
    assert re.search(r"^;; QUIC session \(QUICv1\)-\(TLS1\.3\)-\(ECDHE-[A-Z0-9]+\)-", text, re.M), text
    for early in (0, 1):
        text = ask("a.example A\nticket\na.example A\n", early=early, **common)
        assert ends(text) == ["ok", "ok"] and "ticket yes\n" in text, text
        assert text.count("received certificate hierarchy") == 1, text
    text = ask(ca=pki.path("ca.pem"), hostname=NAME, **common)
    assert ends(text) == ["untrusted: QUIC, handshake failed (Error in the certificate.)"], text
    assert "debug: TLS, The certificate is NOT trusted. The certificate issuer is unknown. The name in the certificate does not match the expected. \n" in text


@pytest.mark.parametrize("what", ["silence", "refusal", "garbage", "version"])
def test_quic_bad_servers(what):
    """Datagrams that anybody could send end nothing but when they say so rightly: then the version is the reason."""
    port = free_port()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def serve():
        while True:
            data, address = server.recvfrom(2000)
            if data == b"end":
                return
            if what == "garbage":
                for length in (0, 1, 20, 1200):
                    server.sendto(os.urandom(length), address)
            elif what == "version":
                dcid, rest = data[6:6 + data[5]], data[6 + data[5]:]
                scid = rest[1:1 + rest[0]]
                server.sendto(b"\x80\0\0\0\0" + bytes([len(scid)]) + scid + bytes([len(dcid)]) + dcid + b"\xab\xcd\0\0", address)

    thread = threading.Thread(target=serve)
    if what != "refusal":
        server.bind(("127.0.0.1", port))
        thread.start()
    try:
        text = ask(kind="quic", server="127.0.0.1", port=port, timeout=SILENCE)
    finally:
        if what != "refusal":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.sendto(b"end", ("127.0.0.1", port))
            thread.join()
        server.close()
    assert ends(text) == [{"silence": "timeout: QUIC, peer took too long to respond",
                           "garbage": "timeout: QUIC, peer took too long to respond",
                           "version": "handshake: QUIC, handshake failed (no version in common)",
                           "refusal": "handshake: QUIC, handshake failed (Connection refused)"}[what]], text


# ---- Certificates ----

def serve_tls(context, serve):
    """A server of TLS whose session is given to serve()."""
    def run_one(connection):
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as session:
            serve(session)
    return Server(run_one)


def serve_dns(session):
    while True:
        session.sendall(framed(answer(read_query(session))))


STRICT = {"ca": "ca.pem", "hostname": NAME}
UNTRUSTED = "untrusted: TLS, handshake failed (Error in the certificate.)"


@pytest.mark.core
@pytest.mark.parametrize("cert,trust,reason", [
    ("good", STRICT, None),
    ("good", {}, None),
    ("good", {"ca": "ca.pem", "hostname": "127.0.0.1"}, None),
    ("good", {"pin": "good"}, None),
    ("good", {"pin": ["client", "good"]}, None),
    ("expired", {}, None),
    ("self-signed", {}, None),
    ("self-signed", {"pin": "self-signed"}, None),
    ("good", {"pin": "client"}, "TLS, no certificate PIN match"),
    ("good", {**STRICT, "pin": "client"}, "TLS, no certificate PIN match"),
    ("expired", STRICT, "The certificate chain uses expired certificate."),
    ("expired", {**STRICT, "pin": "expired"}, "The certificate chain uses expired certificate."),
    ("early", STRICT, "The certificate chain uses not yet valid certificate."),
    ("wrong-name", STRICT, "The name in the certificate does not match the expected."),
    ("good", {"ca": "ca.pem", "hostname": "127.0.0.2"}, "The name in the certificate does not match the expected."),
    ("self-signed", STRICT, "The certificate issuer is unknown."),
    ("foreign", STRICT, "The certificate issuer is unknown."),
])
def test_certificates(pki, cert, trust, reason):
    settings = dict(trust)
    if "ca" in settings:
        settings["ca"] = pki.path(settings["ca"])
    if "pin" in settings:
        settings["pin"] = [pki.pin(name) for name in (settings["pin"] if isinstance(settings["pin"], list) else [settings["pin"]])]
    asked = []

    def serve(session):
        asked.append(read_query(session))
        session.sendall(framed(answer(asked[-1])))
        wait_end(session)

    with serve_tls(pki.context(cert), serve) as server:
        text = ask(kind="tls", server="127.0.0.1", port=server.port, **settings)
    assert ends(text) == ["ok" if reason is None else UNTRUSTED], text
    assert (reason or "") in text
    assert bool(asked) == (reason is None)     # the query isn't shown to a server that isn't trusted


def test_client_certificate(pki):
    with serve_tls(pki.context(wants_client=True), serve_dns) as server:
        common = {"kind": "tls", "server": "127.0.0.1", "port": server.port}
        text = ask(cert=pki.path("client.pem"), key=pki.path("client.key"), **common)
        assert ends(text) == ["ok"], text
        # In TLS 1.3 the refusal comes behind the client's handshake.
        text = ask(**common)
        assert ends(text) == [f"protocol: can't receive reply from 127.0.0.1@{server.port}(TCP)"], text
        assert "warning: TLS, failed to receive reply (A TLS fatal alert has been received.)\n" in text


def test_old_versions(pki):
    v = ssl.TLSVersion
    with serve_tls(pki.context(versions=(v.TLSv1_2, v.TLSv1_2)), serve_dns) as server:
        text = ask("a.example A\na.example A\nticket\na.example A\n", kind="tls", server="127.0.0.1", port=server.port, ca=pki.path("ca.pem"), hostname=NAME)
        assert ends(text) == ["ok"] * 3 and ";; TLS session (TLS1.2)-" in text, text


def ocsp(pki, cert, revoked=False, days_ago=0):
    """A response of the CA about a certificate."""
    serial = re.search(r"serial=([0-9A-F]+)", tool("openssl", "x509", "-in", pki.path(f"{cert}.pem"), "-noout", "-serial")).group(1)
    index, out = pki.path("index.txt"), pki.path(f"{cert}-{revoked}-{days_ago}.ocsp")
    with open(index, "w", encoding="utf-8") as file:
        file.write(f"{'R' if revoked else 'V'}\t490101000000Z\t{'200101000000Z' if revoked else ''}\t{serial}\tunknown\t/CN={NAME}\n")
    when = ["faketime", "-f", f"-{days_ago}d"] if days_ago else []
    tool(*when, "openssl", "ocsp", "-index", index, "-rsigner", pki.path("ca.pem"), "-rkey", pki.path("ca.key"), "-CA", pki.path("ca.pem"),
         "-issuer", pki.path("ca.pem"), "-cert", pki.path(f"{cert}.pem"), "-ndays", "60", "-respout", out)
    return out


OCSP_FAILED = "warning: TLS, failed to validate required OCSP data\n"


@pytest.mark.parametrize("response,age,warning", [
    ({"cert": "good"}, 3600, None),
    ({"cert": "good", "days_ago": 1}, 86400 * 3, None),
    (None, 3600, "TLS, unable to retrieve stapled OCSP data"),
    ({"cert": "good", "days_ago": 1}, 3600, "TLS, OCSP response is out of date."),
    ({"cert": "good", "revoked": True}, 3600, "TLS, OCSP data shows that cert was revoked"),
    ({"cert": "client"}, 3600, "TLS, OCSP response either empty or not for provided server cert"),
])
@pytest.mark.parametrize("has_ca", [True, False])
def test_ocsp(pki, tmp_path, response, age, warning, has_ca):
    chain = tmp_path / "chain.pem"
    chain.write_text("".join((pki.dir / name).read_text() for name in ("good.pem", "ca.pem")))
    port = free_port()
    staple = ["--ocsp-response", ocsp(pki, **response), "--ignore-ocsp-response-errors"] if response else []
    command = ["gnutls-serv", "--echo", "-p", port, "--x509certfile", chain, "--x509keyfile", pki.path("good.key"), *staple]
    trust = {"ca": pki.path("ca.pem"), "hostname": NAME} if has_ca else {}
    with daemon(command, tmp_path, lambda: listens(port)):
        text = ask(kind="tls", server="127.0.0.1", port=port, ocsp=age, timeout=SILENCE, **trust)
    # That server is none of DNS: a session is as far as it goes.
    assert (";; TLS session (" in text) == (warning is None) and (UNTRUSTED in ends(text)) == (warning is not None), text
    assert (OCSP_FAILED in text) == (warning is not None)
    assert warning is None or f"warning: {warning}\n" in text, text


# ---- Servers that fail at each stage ----

def half_handshake(context, end):
    """Answer the ClientHello with a part of the flight, then end()."""
    def serve(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = context.wrap_bio(incoming, outgoing, server_side=True)
        incoming.write(connection.recv(4096))
        with contextlib.suppress(ssl.SSLWantReadError):
            session.do_handshake()
        flight = outgoing.read()
        connection.sendall(flight[:len(flight) // 2])
        end(connection)
    return serve


def close(connection):
    connection.shutdown(socket.SHUT_RDWR)


CLOSED = "handshake: TLS, handshake failed (The TLS connection was non-properly terminated.)"
RESET = "handshake: TLS, handshake failed (Connection reset by peer)"
BROKEN = "handshake: TLS, handshake failed (Broken pipe)"
SLOW = "timeout: TLS, peer took too long to respond"


# A server that closes while there is something to read sends RST; which of both the client sees first is chance.
@pytest.mark.parametrize("end,wants", [(close, {CLOSED, RESET}), (reset, {RESET, BROKEN, CLOSED}), (wait_end, {SLOW})], ids=["close", "reset", "silence"])
@pytest.mark.parametrize("stage", ["begin", "hello", "half"])
def test_handshake_stages(pki, stage, end, wants):
    def after_hello(connection):
        connection.recv(4096)
        end(connection)

    serve = {"begin": end, "hello": after_hello, "half": half_handshake(pki.context(), end)}[stage]
    with Server(serve) as server:
        begin = time.monotonic()
        text = ask(kind="tls", server="127.0.0.1", port=server.port, timeout=SILENCE)
    # A reset that is there before the client looks is one of its connection.
    assert ends(text)[0] in wants | ({f"connect: can't connect to 127.0.0.1@{server.port}(TCP)"} if end is reset else set()), text
    assert time.monotonic() - begin < 10 * PATIENCE


@pytest.mark.parametrize("kind", ["tcp", "tls"])
@pytest.mark.parametrize("reply,end,want,warning", [
    (b"", close, "closed", "TLS, peer has closed the connection|TLS, failed to receive reply"),
    (b"", wait_end, "timeout", "TLS, peer took too long to respond"),
    (b"", reset, "receive", ""),
    (b"\0", wait_end, "timeout", "TLS, peer took too long to respond"),
    (b"\0\x64half", close, "closed", "TLS, failed to receive reply|TLS, peer has closed the connection"),
    (b"\0\x64half", wait_end, "timeout", "TLS, peer took too long to respond"),
    (b"\xff\xff" + bytes(60000), close, "closed", "TLS, failed to receive reply|TLS, peer has closed the connection"),
], ids=["close", "silence", "reset", "one byte", "half, close", "half, silence", "most"])
def test_half_answers(pki, kind, reply, end, want, warning):
    def serve(session):
        read_query(session)
        session.sendall(reply)
        if end is reset and isinstance(session, ssl.SSLSocket):
            raw = socket.socket(fileno=session.detach())
            reset(raw)
        else:
            end(session)

    with (Server(serve) if kind == "tcp" else serve_tls(pki.context(), serve)) as server:
        text = ask(kind=kind, server="127.0.0.1", port=server.port, timeout=SILENCE)
    peer = f"127.0.0.1@{server.port}(TCP)"
    sentence = f"response timeout for {peer}" if want == "timeout" and kind == "tcp" else f"can't receive reply from {peer}"
    assert ends(text) == [f"{want}: {sentence}"], text
    if kind == "tls" and warning:
        assert re.search(f"^warning: ({warning})", text, re.M), text


def test_garbage_instead_of_tls():
    def serve(connection):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        wait_end(connection)

    with Server(serve) as server:
        text = ask(kind="tls", server="127.0.0.1", port=server.port)
    assert ends(text)[0].startswith("handshake: TLS, handshake failed (An unexpected TLS packet was received.)"), text


def test_refused():
    port = free_port()
    for kind in ("tcp", "tls", "https"):
        assert ends(ask(kind=kind, server="127.0.0.1", port=port)) == [f"connect: can't connect to 127.0.0.1@{port}(TCP)"]
    assert ends(ask(kind="udp", server="127.0.0.1", port=port)) == [f"receive: can't receive reply from 127.0.0.1@{port}(UDP)"]


def test_bytewise(pki):
    """A server whose bytes come one by one, each in a record of its own."""
    def serve(session):
        for byte in framed(answer(read_query(session))):
            session.sendall(bytes([byte]))
        wait_end(session)

    with serve_tls(pki.context(), serve) as server:
        text = ask(kind="tls", server="127.0.0.1", port=server.port)
    assert ends(text) == ["ok"], text


# ---- HTTP/2 that is wrong ----

GOOD = [(":status", "200"), ("content-type", "application/dns-message")]
HTTP_CASES = {
    "good": (lambda s, body: headers(s, GOOD) + frame(0, 1, s, answer(body)), "ok", ""),
    "several frames": (lambda s, body: headers(s, GOOD) + b"".join(frame(0, 0, s, bytes([b])) for b in answer(body)) + frame(0, 1, s), "ok", ""),
    "other type": (lambda s, body: headers(s, [(":status", "200"), ("content-type", "text/html")]) + frame(0, 1, s, answer(body)), "http",
                   "HTTP, the reply's content type isn't application/dns-message"),
    "no type": (lambda s, body: headers(s, GOOD[:1]) + frame(0, 1, s, answer(body)), "http", "HTTP, the reply's content type"),
    "teapot": (lambda s, body: headers(s, [(":status", "418")], 5), "http", ""),
    "interim": (lambda s, body: headers(s, [(":status", "103")]) + headers(s, GOOD) + frame(0, 1, s, answer(body)), "ok", ""),
    "too long": (lambda s, body: headers(s, GOOD) + b"".join(frame(0, 0, s, bytes(16384)) for _ in range(5)), "stream|timeout", ""),
    "reset": (lambda s, body: frame(3, 0, s, b"\0\0\0\7"), "stream", ""),
    "going away": (lambda s, body: frame(7, 0, 0, b"\0\0\0\0\0\0\0\x0b"), "protocol|stream|closed", ""),
    "length lies": (lambda s, body: headers(s, [*GOOD, ("content-length", "5")]) + frame(0, 1, s, answer(body)), "stream|protocol", ""),
    "no status": (lambda s, body: headers(s, GOOD[1:]) + frame(0, 1, s, answer(body)), "stream|protocol", ""),
    "bad compression": (lambda s, body: frame(1, 5, s, b"\xff\xff\xff\xff\xff\xff"), "protocol|closed", ""),
    "frame too long": (lambda s, body: b"\xff\xff\xff\0\1" + bytes(4), "protocol|closed", ""),
    "push": (lambda s, body: frame(5, 4, s, b"\0\0\0\2\x82"), "protocol|closed|timeout", ""),
    "http/1": (lambda s, body: b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "protocol|closed", ""),
    "nothing": (lambda s, body: b"", "timeout", "TLS, peer took too long to respond"),
    "half": (lambda s, body: headers(s, GOOD) + frame(0, 0, s, answer(body)[:5]), "timeout", "TLS, peer took too long to respond"),
}


@pytest.mark.parametrize("case", HTTP_CASES)
def test_http_bad_servers(pki, case):
    make, want, warning = HTTP_CASES[case]

    def serve(session):
        stream, body = read_request(session)
        session.sendall(SETTINGS + make(stream, body))
        wait_end(session)

    with serve_tls(pki.context(alpn=("h2",)), serve) as server:
        text = ask(kind="https", server="127.0.0.1", port=server.port, timeout=SILENCE)
    assert re.match(f"({want})(: can't receive reply from |$)", ends(text)[0]), text
    assert warning in text


@pytest.mark.parametrize("alpn", [(), ("http/1.1",)])
def test_no_http2(pki, alpn):
    with serve_tls(pki.context(alpn=alpn), wait_end) as server:
        text = ask(kind="https", server="127.0.0.1", port=server.port, timeout=SILENCE)
    assert ends(text)[0] in ("handshake: HTTP, the server doesn't speak HTTP/2 (ALPN)",
                             "handshake: TLS, handshake failed (A TLS fatal alert has been received.)"), text


@pytest.mark.parametrize("flood", [frame(6, 0, 0, bytes(8)), SETTINGS, frame(8, 0, 0, b"\0\0\0\1"), frame(2, 0, 1, bytes(5))], ids=["ping", "settings", "window", "priority"])
def test_http_floods(pki, flood):
    """Frames without end that answer nothing: the time limit holds, and memory doesn't grow."""
    def serve(session):
        read_request(session)
        session.sendall(SETTINGS)
        while True:
            session.sendall(flood * 100)

    with serve_tls(pki.context(alpn=("h2",)), serve) as server:
        begin = time.monotonic()
        command = ["/usr/bin/python3", "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], input=b'a.example A\\n'); "
                   "print('peak', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", ASK, "kind=https", "server=127.0.0.1",
                   f"port={server.port}", f"timeout={SILENCE}"]
        text = run(*command, timeout=60 * PATIENCE).stdout
    assert re.search("^end (timeout|protocol|closed|receive|send):", text, re.M), text
    assert time.monotonic() - begin < 20 * PATIENCE
    if "ASAN_OPTIONS" not in os.environ:
        assert int(re.search(r"peak (\d+)", text).group(1)) < 100000


def test_tls_is_read_exactly(pki):
    """Two answers in one record, and one that spans many."""
    def serve(session):
        query = read_query(session)
        session.sendall(framed(answer(query)) + framed(answer(query))[:5])
        session.sendall(framed(answer(query))[5:])
        exactly(session, 2)
        wait_end(session)

    with serve_tls(pki.context(), serve) as server:
        text = ask("a.example A\na.example A\n", kind="tls", server="127.0.0.1", port=server.port)
    assert ends(text) == ["ok", "ok"] and "other id" in text, text
