# SPDX-License-Identifier: BSD-2-Clause
"""The privileged helper beside a server: who outlives whom, and what stays behind."""
import os
import pathlib
import signal
import socket
import time

import pytest

from harness.net import inside
from harness.waiting import PATIENCE, wait_until
from harness.wire import PORT, wait_detached

CAPABILITIES = "net_raw,net_admin,bpf,perfmon,ipc_lock,net_bind_service,sys_admin"


def answers(pair):
    """Whether a datagram comes back; another one is sent when nothing came for a second, as a link may lose one."""
    with inside(pair.client), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(1)
        for _ in range(5 * PATIENCE):
            sock.sendto(b"hello", (pair.server4, PORT))
            try:
                return sock.recv(100) == b"hello"
            except (TimeoutError, ConnectionRefusedError):
                pass
    return False


def helper_of(process):
    """PID of the server's only child."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


def status(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def is_gone(pid):
    """Gone, or dead and waiting for its parent."""
    try:
        return status(pid)["State"].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_gone(pid, timeout=5):
    wait_until(lambda: is_gone(pid), f"the end of process {pid}", timeout)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_helper_ends_with_the_server(start, pair, sig):
    echo = start()
    helper = helper_of(echo.process)
    assert status(helper)["Name"] == "knotd-priv"
    assert answers(pair)
    echo.stop(sig)
    wait_gone(helper)
    wait_detached(pair)


def test_signals_for_everybody_leave_the_helper(start, pair):
    """What a terminal or a service manager sends to all processes is the server's to obey."""
    echo = start()
    helper = helper_of(echo.process)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGPIPE):
        os.kill(helper, sig)
    time.sleep(0.1)     # absence: none of these signals ends it
    assert status(helper)["Name"] == "knotd-priv" and answers(pair)
    code, _, err = echo.stop()
    assert (code, err) == (0, "")
    wait_gone(helper)
    assert "xdp" not in pair.link()


def test_server_lives_without_helper(start, pair):
    echo = start()
    helper = helper_of(echo.process)
    os.kill(helper, signal.SIGKILL)
    wait_gone(helper)
    time.sleep(0.2)     # absence: the program stays without the helper
    assert "xdp" in pair.link() and answers(pair), "the program belongs to the server, too"
    code, _, err = echo.stop()
    assert (code, err) == (0, "")
    wait_detached(pair)


def test_both_killed(start, pair):
    echo = start()
    helper = helper_of(echo.process)
    os.kill(helper, signal.SIGKILL)
    echo.stop(signal.SIGKILL)
    wait_detached(pair)
    echo = start()
    assert echo.first_line.startswith("initialized XDP interface") and answers(pair)


def test_user_with_capabilities(start, pair):
    """As systemd starts it: a user with ambient capabilities."""
    wanted = ",".join("+" + name for name in CAPABILITIES.split(","))
    echo = start(command=["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", wanted, "--ambient-caps", wanted])
    assert echo.first_line.startswith("initialized XDP interface"), echo.stop()
    assert answers(pair)
    held = status(helper_of(echo.process))
    assert held["Uid"].split()[0] == "65534"
    assert int(held["CapAmb"], 16) == 0 and held["NoNewPrivs"] == "1"
    assert int(held["CapEff"], 16) & (1 << 21) == 0, "CAP_SYS_ADMIN is for looking at other programs only"


def test_fewer_capabilities(start, pair):
    """CAP_SYS_ADMIN does instead of CAP_BPF and CAP_PERFMON; without any of them it says what is missing."""
    def run(names):
        wanted = ",".join("+" + name for name in names)
        return start(command=["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", wanted, "--ambient-caps", wanted,
                              "--bounding-set", "-all," + wanted])
    for third in (["bpf", "perfmon"], ["sys_admin"], ["bpf", "sys_admin"]):
        echo = run(["net_raw", "net_admin", "ipc_lock", *third])
        assert echo.first_line.startswith("initialized XDP interface"), echo.stop()
        assert answers(pair)
        echo.stop()
    for missing in ("bpf", "perfmon"):
        code, _, err = run([name for name in ("net_raw", "net_admin", "bpf", "perfmon", "ipc_lock") if name != missing]).stop()
        assert code == 1 and f"CAP_{missing.upper()}" in err
    assert "xdp" not in pair.link()
