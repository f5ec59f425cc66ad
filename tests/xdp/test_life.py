# SPDX-License-Identifier: BSD-2-Clause
"""Opening, closing, dying, and what is said when it can't be done."""
import os
import signal
import socket
import subprocess

import pytest

from harness.net import Pair, inside
from harness.waiting import PATIENCE, wait_until
from harness.wire import PORT, Echo, wait_detached


def ask_from(pair, port, timeout=10 * PATIENCE):
    """What comes back to a datagram from this port (0: any)."""
    with inside(pair.client), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", port))
        sock.settimeout(timeout)
        sock.sendto(b"hello", (pair.server4, PORT))
        try:
            return sock.recv(100)
        except (TimeoutError, ConnectionRefusedError):
            return None


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_detached_at_the_end(start, pair, sig):
    echo = start()
    assert "xdp" in pair.link()
    assert ask_from(pair, 0) == b"hello"
    echo.stop(sig)
    if sig == signal.SIGKILL:
        wait_detached(pair)
    assert "xdp" not in pair.link()


def test_restart_at_once(start, pair):
    """What the kernel releases late must not keep the next process from starting."""
    for _ in range(5):
        echo = start()
        assert echo.first_line.startswith("initialized XDP interface"), echo.stop()[2]
        assert ask_from(pair, 0) == b"hello"
        echo.stop(signal.SIGKILL)


def test_attached_already(start, pair):
    start()
    code, _, err = start().stop()
    assert code == 1
    assert "another XDP program" in err and f"ip link set dev {pair.server_if} xdp off" in err
    assert ask_from(pair, 0) == b"hello", "the first one goes on"


KNOTD = "/usr/sbin/knotd"


@pytest.fixture
def knot(pair, tmp_path):
    """The distribution's Knot DNS on the same interface and port."""
    if not os.path.exists(KNOTD):
        pytest.skip("no knotd")
    path = tmp_path / "knot.conf"
    path.write_text(f"server:\n    rundir: {tmp_path}\ndatabase:\n    storage: {tmp_path}\n"
                    f"xdp:\n    listen: {pair.server_if}@{PORT}\nlog:\n  - target: stdout\n    any: info\n")
    process = subprocess.Popen(["nsenter", f"--net=/run/netns/{pair.server}", KNOTD, "-c", str(path)],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if "initialized XDP interface" in line:
            break
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()
    pair.exec(pair.server, "ip", "link", "set", "dev", pair.server_if, "xdp", "off", check=False)
    wait_detached(pair)


def test_taking_over_from_knot(knot, start, pair):
    """Its program stays attached, switched off, and makes place; while it runs, it is left alone."""
    code, _, err = start().stop()
    assert code == 1 and "another XDP program" in err
    assert "xdp" in pair.link()
    knot.terminate()
    knot.wait(10 * PATIENCE)
    assert "xdp" in pair.link(), "nothing to take over"
    echo = start()
    assert echo.first_line.startswith("initialized XDP interface"), echo.stop()[2]
    assert ask_from(pair, 0) == b"hello"


@pytest.mark.parametrize("arguments, interface, said", [
    (["-r", "1000"], None, "ring-size 1000 is not a power of two"),
    (["-r", "65536"], None, "ring-size 65536"),
    ([], "nosuch0", "no such interface"),
])
def test_faults(start, arguments, interface, said, pair):
    code, _, err = start(*arguments, interface=interface).stop()
    assert code == 1 and said in err
    assert "xdp" not in pair.link()


def test_no_permission(start, pair):
    code, _, err = start(command=["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", "-all"]).stop()
    assert code == 1 and "CAP_NET_RAW" in err and "root" in err
    assert "xdp" not in pair.link()


def test_interface_comes_up_later():
    """A server may start before its link does."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with Pair() as pair:
        pair.exec(pair.server, "ip", "link", "set", pair.server_if, "down")
        echo = Echo(pair)
        assert echo.first_line.startswith("initialized XDP interface")
        pair.exec(pair.server, "ip", "link", "set", pair.server_if, "up")
        try:
            wait_until(lambda: ask_from(pair, 0, 0.3) == b"hello", lambda: f"an answer: {dict(echo.counters())}")   # the link takes a moment
        finally:
            echo.stop()


@pytest.mark.parametrize("arguments, mode", [
    ([], "native/copy"), (["-c"], "native/copy"), (["-e"], "emulated"), (["-e", "-c"], "emulated/copy"),
])
def test_mode(start, pair, arguments, mode):
    echo = start(*arguments)
    assert echo.first_line == f"initialized XDP interface {pair.server_if}, UDP port {PORT}, queues 1, {mode} mode"


def test_busy_poll(start, pair):
    start("-b", "16")
    for port in range(41000, 41050):
        assert ask_from(pair, port) == b"hello"


@pytest.fixture(scope="module")
def wide():
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with Pair(queues=2) as made:
        yield made


def test_each_queue_has_its_socket(wide):
    echo = Echo(wide)
    try:
        assert "queues 2" in echo.first_line
        for port in range(41000, 41100):
            assert ask_from(wide, port) == b"hello"
        counters = echo.counters()
        assert counters["queue0.replied"] > 0 and counters["queue1.replied"] > 0
        assert counters["replied"] == 100
    finally:
        echo.stop()
        wait_detached(wide)


def test_queue_without_socket(wide):
    """The kernel gets what arrives on a queue that no worker serves."""
    echo = Echo(wide, "-q", "1")
    try:
        with inside(wide.server):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind(("", PORT))
        with sock:
            sock.settimeout(10 * PATIENCE)
            for port in range(41000, 41060):
                ask_from(wide, port, timeout=0.02)
            counters = echo.wait(lambda c: c["passed-no-socket"] + c["replied"] >= 60, "60 datagrams")
            assert counters["passed-no-socket"] > 0 and counters["replied"] > 0
            assert counters["passed-no-socket"] + counters["replied"] == 60
            for _ in range(counters["passed-no-socket"]):
                assert sock.recv(100) == b"hello"
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                sock.recv(100)
    finally:
        echo.stop()
        wait_detached(wide)
