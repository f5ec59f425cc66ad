# SPDX-License-Identifier: BSD-2-Clause
"""Guards the control protocol byte by byte: units, blocks, odd requests and their replies. Each test but those marked holds for Knot DNS too."""
import contextlib
import os
import pathlib
import random
import re
import socket
import stat
import subprocess
import threading
import time

import pytest

from harness.control import BLOCK, COMMAND, DATA, END, EXTRA, ZONE, Client, item, unit
from harness.server import is_ours
from harness.waiting import wait_until
from zones import example

pytestmark = pytest.mark.core

# Knot DNS 3.2 sends an empty block, 3.5 the request.
RUNNING = [("data", {"cmd": "status"})] if is_ours() else []


def start(knotd, timeout=3600, listen="knot.sock"):
    """timeout: control.timeout, which is longer than any test where it isn't what is tested."""
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example", "missing.test"])
    knotd.conf(knotd.path.read_text().replace("control:\n    listen: knot.sock", f"control:\n    timeout: {timeout}\n    listen: {listen}"))
    return knotd.start()


@pytest.fixture
def server(knotd):
    return start(knotd)


@pytest.fixture
def client(server):
    with Client(server.socket) as made:
        yield made


def fields(units, name):
    return [items.get(name) for _, items in units]


# ---- Units and blocks ----

def test_socket_mode(server):
    """Owner and group may write; reading is not allowed."""
    mode = server.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o220


@pytest.mark.ours
def test_backlog(knotd):
    """As many connections as control.backlog says wait in the kernel."""
    knotd.configure()
    knotd.conf(knotd.path.read_text().replace("control:\n", "control:\n    backlog: 7\n"))
    knotd.start()
    lines = subprocess.run(["ss", "-xlH"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert [line.split()[3] for line in lines if str(knotd.socket) in line] == ["7"]


@pytest.mark.ours
@pytest.mark.parametrize("make", ["file", "folder", "alive", "datagram", "dead"])
def test_socket_file_that_is_there(knotd, directory, make):
    """What is no socket stays, and so does a server's; what a dead one left behind is replaced."""
    knotd.write("example.zone", example(7))
    knotd.configure(zones=["example"])
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if make == "datagram" else socket.SOCK_STREAM)
    if make == "file":
        knotd.socket.write_text("precious")
    elif make == "folder":
        knotd.socket.mkdir()
    else:
        listener.bind(str(knotd.socket))
        if make == "alive":
            listener.listen()
        elif make == "dead":
            listener.close()
    if make == "dead":
        assert knotd.start().knotc("status").stdout == "Running\n"
    else:
        knotd.start(ready=False)
        assert knotd.wait_end() == 1
        assert f"critical: control, failed to bind socket '{knotd.socket}' (" in knotd.log()
        assert knotd.socket.exists()
    listener.close()


@pytest.mark.parametrize("path,reason", [
    ("missing/knot.sock", "(not exists), create its folder"),
    ("x" * 120, "(not enough space provided), the path may have 107 bytes at most"),
    ("run", "(already exists), a file in its place is not a socket"),
], ids=["folder", "long", "file"])
def test_socket_that_can_not_be_made(knotd, path, reason):
    knotd.configure()
    knotd.conf(knotd.path.read_text() + f"control:\n    listen: {knotd.dir}/{path}\n")
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert f"critical: control, failed to bind socket '{knotd.dir}/{path}' {reason}\n" in knotd.log()


def test_several_blocks_on_one_connection(client):
    for _ in range(3):
        assert client.ask(cmd="status") == RUNNING
    assert fields(client.ask(cmd="zone-read", zone="example", owner="www", type="A"), "data") == ["192.0.2.80"]
    client.send(END)
    assert client.is_closed()


def test_blocks_sent_at_once(client):
    """Requests don't wait for replies."""
    client.send((unit(cmd="status") + BLOCK) * 50)
    for _ in range(50):
        assert client.block() == RUNNING


def test_bytes_one_by_one(client):
    for byte in unit(cmd="zone-read", zone="example", owner="www", type="A") + BLOCK:
        client.send(bytes([byte]))
    assert fields(client.block(), "data") == ["192.0.2.80"]


def test_nothing_happens_before_the_block_ends(client):
    """A unit ends where the next type byte is; a client has to send BLOCK."""
    client.send(unit(cmd="status"))
    assert client.is_silent(0.5)
    client.send(BLOCK)
    assert client.block() == RUNNING


def test_order_of_items_does_not_matter(client):
    client.send(DATA, item(0x19, "A"), item(0x17, "www"), item(ZONE, "example"), item(COMMAND, "zone-read"), BLOCK)
    assert fields(client.block(), "data") == ["192.0.2.80"]


def test_last_of_doubled_items_wins(client):
    client.send(DATA, item(COMMAND, "stop"), item(COMMAND, "status"), BLOCK)
    assert client.block() == RUNNING


def test_items_before_the_type(client):
    """They belong to the unit that comes."""
    client.send(item(COMMAND, "status"), DATA, BLOCK)
    assert client.block() == RUNNING


def test_empty_items(client):
    """As knot-exporter sends FLAGS; they count as there, and say nothing."""
    assert client.ask(cmd="status", flags="") == ([("data", {"cmd": "status", "flags": ""})] if is_ours() else [])
    assert client.ask(cmd="zone-read", zone="example", owner="www", type="A", flags="")[0][1]["data"] == "192.0.2.80"


def test_leading_extra_is_ignored(client):
    client.send(unit(EXTRA, cmd="stop"), unit(cmd="status"), BLOCK)
    assert client.block() == RUNNING


@pytest.mark.ours     # Knot DNS 3.2 closes the connection
def test_rest_of_the_block_is_skipped(client):
    client.send(unit(cmd="status"), unit(cmd="stop"), unit(EXTRA, data="x"), unit(cmd="nonsense"), BLOCK)
    assert client.block() == RUNNING
    assert client.ask(cmd="status") == RUNNING


def test_units_do_not_inherit(client):
    """What a unit doesn't say is not taken from the one before."""
    client.send(unit(cmd="zone-read", zone="example", owner="www", type="A"), BLOCK)
    assert fields(client.block(), "data") == ["192.0.2.80"]
    assert len(client.ask(cmd="zone-read", zone="example", owner="www")) == 2


def test_longest_item(client):
    """65535 bytes come back with the error, as they were sent."""
    name = "a" * 65535
    reply = client.ask(cmd="stats", section=name)
    assert reply[0][1]["section"] == name and "error" in reply[0][1]


@pytest.mark.parametrize("code", [*range(4, 16), 28, 64, 128, 255])
def test_unknown_code(server, code):
    """Closes this connection, and nothing else."""
    for data in (bytes([code]), DATA + bytes([code]), unit(cmd="status") + bytes([code]) + b"\0\0"):
        with Client(server.socket) as client:
            client.send(data + BLOCK)
            assert client.is_closed(), data
    with Client(server.socket) as client:
        assert client.ask(cmd="status") == RUNNING


# ---- Commands ----

@pytest.mark.parametrize("request_items", [{"cmd": "nonsense"}, {"cmd": "STATUS"}, {"cmd": ""}, {"zone": "example"}, {}])
def test_no_reply_to_an_unknown_command(client, request_items):
    """Not even a BLOCK; the next command on the connection is answered."""
    client.send(unit(**request_items), BLOCK)
    assert client.is_silent(0.5)
    assert client.ask(cmd="status") == RUNNING


def test_error_has_the_request(client):
    """As it came, but for the zone's name in lower case."""
    for name in ("nowhere.test", "NoWhere.Test"):
        reply = client.ask(cmd="zone-read", zone=name, owner="Www", type="A", flags="F")
        assert reply == [("data", {"cmd": "zone-read", "zone": "nowhere.test", "owner": "Www", "type": "A", "flags": "F",
                                   "error": "no such zone found"})]
    reply = client.ask(cmd="zone-read", zone="A" * 2000)
    assert fields(reply, "error") == ["invalid parameter"]
    assert client.ask(cmd="status") == RUNNING


def test_error_per_zone(client):
    client.send(unit(cmd="zone-status", zone="nowhere.test"), unit(cmd="zone-status", zone="example", filters="s"),
                unit(cmd="zone-status", zone="a..b"), BLOCK)
    reply = client.block()
    assert fields(reply, "zone") == ["nowhere.test", "example.", "a..b"]
    assert fields(reply, "error") == ["no such zone found", None, reply[2][1]["error"]]


def test_log_has_each_zone(server, client):
    """A line for each zone of a block, and one for what cannot be done with it."""
    client.send(unit(cmd="zone-status", zone="example", filters="s"), unit(cmd="zone-status", zone="Missing.Test", filters="s"),
                unit(cmd="zone-status", zone="nowhere.test", filters="s"), BLOCK)
    assert len(client.block()) == 3
    assert fields(client.ask(cmd="zone-sign", zone="example"), "error") == ["operation not supported"]
    assert fields(client.ask(cmd="zone-sign", zone="nowhere.test"), "error") == ["no such zone found"]
    for line in ("info: [example.] control, received command 'zone-status'", "info: [missing.test.] control, received command 'zone-status'",
                 "info: [nowhere.test.] control, received command 'zone-status'", "error: [nowhere.test.] control, error (no such zone found)",
                 "error: [example.] control, error (operation not supported)"):
        server.wait_log(re.escape(line))


def test_zone_names(client):
    """Lower case, with or without the final dot."""
    for name in ("example", "EXAMPLE", "example.", "eXample."):
        reply = client.ask(cmd="zone-status", zone=name, filters="s")
        assert [(items["zone"], items["data"]) for _, items in reply] == [("example.", "7")], name


@pytest.mark.ours     # and Knot DNS 3.5's
def test_a_unit_without_zone_ends_the_zones(client):
    client.send(unit(cmd="zone-status", zone="example", filters="s"), unit(cmd="zone-status", filters="s"),
                unit(cmd="zone-status", zone="missing.test", filters="s"), BLOCK)
    assert fields(client.block(), "zone") == ["example."]


def test_one_error_for_all_zones(client):
    """Of the zones where a name is not."""
    reply = client.ask(cmd="zone-read", owner="www", type="A")
    assert fields(reply, "data")[:1] == ["192.0.2.80"]
    assert [error for error in fields(reply, "error") if error] == ["operation failed for some zones"]


def test_flags_are_letters_anywhere(client):
    """`F` and `B` are looked for, whatever is around them."""
    few = client.ask(cmd="stats", section="server")
    many = client.ask(cmd="stats", section="server", flags="xFy")
    assert len(many) >= len(few)
    assert client.ask(cmd="zone-reload", zone="example", flags="FB") == []


def test_stop(server, client):
    """BLOCK, END, and the server goes."""
    client.send(unit(cmd="stop"), BLOCK)
    assert client.block() == []
    assert client.block() == [("end", {})]
    assert server.wait_end() == 0


# ---- Clients that are slow, silent or hostile ----

def is_fine(server):
    with Client(server.socket) as client:
        return client.ask(cmd="status") == RUNNING


def test_silent_client_is_closed(knotd):
    """After control.timeout, here 2 s."""
    server = start(knotd, timeout=2)
    begin = time.monotonic()
    with Client(server.socket) as client:
        assert client.is_closed()
        assert time.monotonic() - begin > 1.9


def test_half_a_unit_is_closed(server):
    for data in (DATA, unit(cmd="status"), DATA + b"\x10", DATA + b"\x10\xff\xff", DATA + b"\x10\x00\x06sta"):
        with Client(server.socket) as client:
            client.send(data)
            client.stream.shutdown(socket.SHUT_WR)
            assert client.is_closed(), data
    assert is_fine(server)


SLOTS = 64      # of all sockets


@pytest.mark.threads
@pytest.mark.ours
def test_many_sessions_at_once(knotd):
    """As many as there are slots hold a connection each, each with a transaction of its own: none is closed while all talk, and none waits for another
    one to go. Threads come with connections."""
    def thread_count():
        return len(list(pathlib.Path(f"/proc/{knotd.process.pid}/task").iterdir()))

    zones = [f"z{number}.test" for number in range(SLOTS)]
    for zone in zones:
        knotd.write(f"{zone}.zone", "@ 60 SOA a b 1 3600 600 86400 60\n@ 60 NS a\na 60 A 192.0.2.1\n")
    knotd.configure(zones=zones, text="template:\n  - id: default\n    zonefile-sync: -1\n")
    knotd.start()
    before = thread_count()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(knotd.socket)) for _ in zones]
        for client, zone in zip(clients, zones):
            assert client.ask(cmd="zone-begin", zone=zone) == []
        assert before + SLOTS - 2 <= thread_count() <= before + SLOTS
        for step in ({"cmd": "zone-set", "owner": "b", "ttl": "60", "type": "A", "data": "192.0.2.2"}, {"cmd": "zone-commit"}):
            for client, zone in zip(clients, zones):
                client.send(unit(zone=zone, **step), BLOCK)
            for client in clients:
                assert client.block() == []
    assert [len(knotd.ask(f"b.{zone}").answer) for zone in zones] == [1] * SLOTS


@pytest.mark.threads
@pytest.mark.ours
def test_idle_connections_do_not_lock_out(knotd):
    """More than there are slots: the one that has waited longest goes when another one wants in; no command waits for control.timeout."""
    server = start(knotd)
    idle = [Client(server.socket) for _ in range(SLOTS - 1)]
    time.sleep(0.1)     # these have waited longer than the next one
    busy = Client(server.socket)
    assert busy.ask(cmd="status") == RUNNING
    for _ in range(5):
        assert busy.ask(cmd="status") == RUNNING
        assert is_fine(server)
    assert busy.ask(cmd="status") == RUNNING
    assert 1 <= sum(client.is_closed(0.01) for client in idle) < SLOTS - 1
    for client in (*idle, busy):
        client.stream.close()


@pytest.mark.threads
@pytest.mark.ours
@pytest.mark.parametrize("how", ["silent", "half", "drip", "unread", "endless"])
def test_no_client_keeps_its_slot(knotd, how):
    """control.timeout 0 is no limit: such clients would stay for ever."""
    start(knotd, timeout=0)
    clients = [Client(knotd.socket) for _ in range(SLOTS + 12)]
    try:
        for client in clients:
            client.stream.setblocking(False)
            try:
                if how == "half":
                    client.stream.send(unit(cmd="status"))
                elif how == "unread":
                    client.stream.send((unit(cmd="zone-read", zone="example") + BLOCK) * 500)
                elif how == "endless":
                    client.stream.send(unit(cmd="status"))
            except (BlockingIOError, ConnectionError):
                pass
        for _ in range(4):
            for client in clients:
                try:
                    if how == "drip":
                        client.stream.send(item(COMMAND, "s"))
                    elif how == "endless":
                        client.stream.send(unit(cmd="status") * 100)
                except (BlockingIOError, ConnectionError):
                    pass
            assert is_fine(knotd)
    finally:
        for client in clients:
            client.stream.close()
    assert knotd.stop() == 0


@pytest.mark.threads
@pytest.mark.ours
def test_a_greedy_client_makes_room(knotd):
    """One that sends without end, so that something unread lies in its socket whenever the server looks, and never completes a unit."""
    start(knotd, timeout=0)
    ended = threading.Event()

    def send_slowly(stream):
        with contextlib.suppress(OSError):
            stream.sendall(DATA + bytes([COMMAND]) + b"\xff\xff")
            while not ended.wait(0.001):
                stream.sendall(b"a")

    with contextlib.ExitStack() as stack:
        greedy = stack.enter_context(Client(knotd.socket))
        thread = threading.Thread(target=send_slowly, args=(greedy.stream,))
        thread.start()
        stack.callback(thread.join)
        stack.callback(ended.set)

        def is_closed_by_honest_ones():
            client = stack.enter_context(Client(knotd.socket))
            assert client.ask(cmd="status") == RUNNING
            return not thread.is_alive()

        wait_until(is_closed_by_honest_ones, "the greedy client to be closed", pause=0.02)


@pytest.mark.threads
@pytest.mark.ours
def test_sockets_do_not_share_slots(knotd):
    """Who fills one socket doesn't close the other."""
    start(knotd, timeout=0, listen="[knot.sock, two.sock, three.sock, four.sock]")
    two = knotd.socket.with_name("two.sock")
    with Client(two) as kept:
        assert kept.ask(cmd="status") == RUNNING
        others = [Client(knotd.socket) for _ in range(SLOTS)]
        for _ in range(5):
            assert is_fine(knotd)
        assert kept.ask(cmd="status") == RUNNING
        for name in ("three.sock", "four.sock"):
            with Client(knotd.socket.with_name(name)) as client:
                assert client.ask(cmd="status") == RUNNING
        for client in others:
            client.stream.close()


@pytest.mark.ours
def test_a_command_that_runs_is_not_closed(knotd):
    """Its connection stays, however many others come: here it waits for the lock, which a client of the other socket holds."""
    server = start(knotd, listen="[knot.sock, two.sock]")
    with contextlib.ExitStack() as stack:
        def connect(path):
            return stack.enter_context(Client(path))

        writer, prober, reader = connect(knotd.socket.with_name("two.sock")), connect(knotd.socket), connect(knotd.socket)
        assert writer.ask(cmd="conf-begin") == []
        writer.send(unit(cmd="conf-set", section="server", item="version", data="x"), unit(cmd="conf-set"))
        server.wait_log("config item 'server.version'")     # it keeps the lock until its block ends
        prober.send(unit(cmd="status"), BLOCK)
        assert prober.is_silent(0.5)
        reader.send((unit(cmd="zone-read", zone="example") + BLOCK) * 20)
        # Half of the slots: two and all that come, which make room for each other.
        others = [connect(knotd.socket) for _ in range(SLOTS // 2 + 4)]
        wait_until(lambda: sum(client.is_closed(0.01) for client in others) >= 5, "others to be closed")
        writer.send(END)
        assert prober.block() == RUNNING
        for _ in range(20):
            assert len(reader.block()) > 40


@pytest.mark.ours
def test_a_long_reply_that_is_read_is_not_closed(knotd):
    """While there are some who have waited longer."""
    start(knotd)
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(Client(knotd.socket)) for _ in range(SLOTS - 1)]
        for client in idle:
            assert client.ask(cmd="status") == RUNNING
        time.sleep(0.1)     # these have waited longer than the next one
        reader = stack.enter_context(Client(knotd.socket))
        reader.send((unit(cmd="zone-read", zone="example") + BLOCK) * 200)
        for _ in range(5):
            stack.enter_context(Client(knotd.socket))
        wait_until(lambda: sum(client.is_closed(0.01) for client in idle) >= 5, "others to be closed")
        for _ in range(200):
            assert len(reader.block()) > 40


@pytest.mark.threads
@pytest.mark.ours
def test_busy(knotd):
    """While another one holds the lock: an empty block after control.timeout, at once where that is 0. A client that holds the lock and sends nothing loses it."""
    server = start(knotd, timeout=0)
    with Client(server.socket) as writer, Client(server.socket) as other:
        assert writer.ask(cmd="conf-begin") == []
        begin = time.monotonic()
        writer.send(unit(cmd="conf-set", section="server", item="version", data="x"), unit(cmd="conf-set"))
        wait_until(lambda: other.ask(cmd="status") == [], "an empty block", pause=0.01)
        server.wait_log(r"command 'status' gave up \(requested resource is busy\)")
        wait_until(lambda: other.ask(cmd="status") == RUNNING, "the end of the writer's time", pause=0.05)
        assert time.monotonic() - begin > 4.5
        assert writer.is_closed()
        # Half a block is none: nothing was set.
        assert fields(other.ask(cmd="conf-get", section="server", item="version"), "data") != ["x"]
        assert other.ask(cmd="conf-abort") == []


@pytest.mark.ours
def test_each_unit_waits_for_the_lock(knotd):
    """With "B" the lock is given back while a zone is waited for; the next unit of the block takes it again before it runs."""
    server = start(knotd)
    with Client(server.socket) as client, Client(server.socket) as writer:
        client.send(unit(cmd="zone-reload", zone="missing.test", flags="B"), unit(cmd="zone-reload", zone="example", flags="B"))
        server.wait_log(r"\[missing\.test\.\] control, error")
        assert writer.ask(cmd="conf-begin") == []
        writer.send(unit(cmd="conf-set", section="server", item="version", data="x"), unit(cmd="conf-set"))
        server.wait_log("config item 'server.version'")     # it keeps the lock until its block ends
        server.write("example.zone", example(8))
        client.send(BLOCK)
        server.wait_log(r"\[example\.\] control, received command 'zone-reload'")
        with Client(server.socket) as reader:
            begin = time.monotonic()
            while time.monotonic() - begin < 1:     # an absence
                assert fields(reader.ask(cmd="zone-status", zone="example", filters="s"), "data") == ["7"]
        writer.send(END)
        assert fields(client.block(), "zone") == ["missing.test"]
        assert fields(client.ask(cmd="zone-status", zone="example", filters="s"), "data") == ["8"]


@pytest.mark.ours
def test_a_unit_that_finds_the_lock_taken_fails(knotd):
    """As a command does that waits for control.timeout, here 0; the client has the error of each zone."""
    server = start(knotd, timeout=0)
    with Client(server.socket) as client, Client(server.socket) as writer:
        client.send(unit(cmd="zone-reload", zone="missing.test", flags="B"), unit(cmd="zone-reload", zone="example", flags="B"))
        server.wait_log(r"\[missing\.test\.\] control, error")
        assert writer.ask(cmd="conf-begin") == []
        writer.send(unit(cmd="conf-set", section="server", item="version", data="x"), unit(cmd="conf-set"))
        server.wait_log("config item 'server.version'")
        client.send(BLOCK)
        assert fields(client.block(), "error")[1:] == ["requested resource is busy"]


@pytest.mark.ours
def test_drip_under_the_lock(knotd):
    """A client that sends a unit now and then has one control.timeout for all of its block."""
    server = start(knotd, timeout=1)
    with Client(server.socket) as writer:
        assert writer.ask(cmd="conf-begin") == []
        with pytest.raises(ConnectionError):
            wait_until(lambda: writer.send(unit(cmd="conf-set", section="server", item="version", data="x")), "the connection's end", pause=0.25)
        assert is_fine(server)


@pytest.mark.ours
@pytest.mark.parametrize("command", [{"cmd": "conf-get"}, {"cmd": "conf-diff"}, {"cmd": "conf-list", "section": "zone", "filters": "t"}])
def test_unread_reply_holds_no_lock(knotd, command):
    """A client that asks for a large reply and doesn't read it makes no other wait, whatever control.timeout allows."""
    server = start(knotd)
    with Client(server.socket) as writer, Client(server.socket) as other:
        assert writer.ask(cmd="conf-begin") == []
        zones = [unit(cmd="conf-set", section="zone", item="domain", data=f"a-rather-long-name-{n}.test") for n in range(20000)]
        writer.send(*zones, BLOCK)
        assert writer.block() == []
        writer.send(unit(**command), BLOCK)
        assert writer.stream.recv(1, socket.MSG_PEEK) == DATA       # the command runs, or has run
        assert other.ask(cmd="status") == RUNNING
        assert len(writer.block()) >= 20000


@pytest.mark.ours
def test_drip_of_bytes_under_the_lock(knotd):
    """The same for one that sends its unit byte by byte."""
    server = start(knotd, timeout=1)
    with Client(server.socket) as writer:
        assert writer.ask(cmd="conf-begin") == []
        writer.send(unit(cmd="conf-set", section="server", item="version", data="x"), DATA)
        with pytest.raises(ConnectionError):
            wait_until(lambda: writer.send(item(COMMAND, "")), "the connection's end", pause=0.25)
        assert is_fine(server)


@pytest.fixture
def large(knotd):
    """A zone whose listing is larger than what is gathered in memory, and many small ones; control.timeout allows long waits."""
    text = " ".join(f'"{"x" * 255}"' for _ in range(230))
    knotd.write("large.zone", "$TTL 60\n@ SOA ns a 1 1 1 1 1\n@ NS ns\nns A 192.0.2.1\n"
                + "".join(f"t{number} TXT {text}\n" for number in range(1250)))
    return knotd


def start_large(knotd, timeout, zones=()):
    knotd.configure(zones=["large", *zones])
    knotd.conf(knotd.path.read_text().replace("control:\n", f"control:\n    timeout: {timeout}\n"))
    knotd.start()
    knotd.wait(lambda: "serial: 1" in knotd.knotc("zone-status", "large").stdout, what="the zone")
    return knotd


@pytest.mark.ours
@pytest.mark.parametrize("command", [{"cmd": "zone-read", "zone": "large"}, {"cmd": "zone-status"}, {"cmd": "zone-image"}, {"cmd": "conf-read"}],
                         ids=lambda command: command["cmd"])
def test_unread_listing_holds_nothing(large, command):
    """Who asks for a long listing and doesn't read it makes no reload, commit or change of the zone wait, whatever control.timeout allows."""
    server = start_large(large, 600, [f"a-zone-with-a-name-that-is-not-too-short-{number}.test" for number in range(1000)])
    with Client(server.socket) as reader, Client(server.socket) as other:
        reader.send(unit(**command), BLOCK)
        assert reader.stream.recv(1, socket.MSG_PEEK) == DATA       # the command runs, or has run
        assert other.ask(cmd="reload") == []
        server.wait_log("configuration reloaded")
        assert [other.ask(cmd=name) for name in ("conf-begin", "conf-set", "conf-abort")][::2] == [[], []]
        assert other.ask(cmd="zone-reload", zone="large", flags="B") == []
        assert len(reader.block()) >= 1250      # whole, all the same


@pytest.mark.ours
def test_slow_reader_of_a_transaction(large):
    """What others must wait for is held within one control.timeout in all, however steadily the client reads."""
    server = start_large(large, 1)
    server.knotc("zone-begin", "large")
    with Client(server.socket) as reader:
        reader.send(unit(cmd="zone-get", zone="large"), BLOCK)
        size = 0
        with pytest.raises(ConnectionError):
            while size < 66 << 20:      # of some 74 MB
                more = reader.stream.recv(100000)
                if not more:
                    raise ConnectionError
                size += len(more)
                time.sleep(0.2)     # a client that reads slowly
        server.knotc("zone-abort", "large")


@pytest.mark.ours
def test_flood_under_the_lock(knotd):
    """A client that sends units without end, as fast as it can, doesn't keep the lock for ever."""
    server = start(knotd, timeout=1)
    with Client(server.socket) as writer:
        assert writer.ask(cmd="conf-begin") == []
        units = unit(cmd="conf-set", section="server", item="version", data="x") * 1000
        with pytest.raises(ConnectionError):
            wait_until(lambda: writer.send(units), "the connection's end", 20, pause=0)
    assert is_fine(server)      # what ended it is that, or, where this client is too slow to keep the server busy, its waits
    assert "version = x" not in server.knotc("conf-get", "server.version").stdout
    server.knotc("conf-abort")


@pytest.mark.ours
def test_endless_block(server):
    """A block is bounded, whether its units are of use or skipped, and however small they are."""
    for units in (unit(cmd="status", filters="x" * 60000) * 16, unit(cmd="status") + unit() * 1000000):
        with Client(server.socket) as client:
            sent, limit = 0, (300 << 20) if len(units) < 1000000 else 20 * len(units)
            with pytest.raises(ConnectionError):
                while sent < limit:
                    client.send(units)
                    sent += len(units)
    server.wait_log("closed a connection whose block of units was too large")
    assert is_fine(server)


@pytest.mark.threads
def test_connect_storm(server):
    for _ in range(300):
        Client(server.socket).stream.close()
    for _ in range(100):
        with Client(server.socket) as client:
            client.send(unit(cmd="status") + BLOCK)
    assert is_fine(server)


@pytest.mark.ours
def test_endless_unit(server):
    """A unit that never ends is bounded in memory, its connection closed; so is one without a type byte, or of doubled items."""
    def resident():
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    before = resident()
    piece = item(COMMAND, "a" * 65535)
    for begin in (DATA, b""):
        with Client(server.socket) as client:
            sent = 0
            try:
                client.send(begin)
                while sent < 100 << 20:
                    client.send(piece)
                    sent += len(piece)
            except (ConnectionError, TimeoutError):
                pass
            assert sent < 8 << 20
            assert client.is_closed()
    assert is_fine(server)
    if "ASAN_OPTIONS" not in os.environ:
        assert resident() - before < 8 << 10    # KiB


@pytest.mark.threads
def test_garbage(server):
    rng = random.Random(1)
    for _ in range(200):
        with Client(server.socket) as client:
            data = bytearray((unit(cmd="zone-status", zone="example", filters="rs") + BLOCK) * 3)
            for _ in range(rng.randrange(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            try:
                client.send(bytes(data))
                client.stream.shutdown(socket.SHUT_WR)
                assert client.is_closed()
            except ConnectionError:
                pass
    assert is_fine(server)
