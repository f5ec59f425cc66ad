# SPDX-License-Identifier: BSD-2-Clause
"""Beside other XDP programs: libxdp's dispatcher, with the distribution's xdp-tools as the others."""
import contextlib
import fcntl
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from harness.net import run
from harness.waiting import wait_until
from harness.wire import Echo, wait_detached
from test_priv import answers, helper_of, wait_gone

OTHER = next(iter(pathlib.Path("/usr/lib").glob("*/bpf/xdpfilt_alw_tcp.o")), None)


@contextlib.contextmanager
def alone(path):
    """Only one process is in such a block with this file: xdp-tools have a lock of the whole machine and give up when it is taken."""
    with open(path, "ab") as file:
        def is_mine():
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False
        wait_until(is_mine, "the end of others' tests with xdp-tools", 60)
        yield


@pytest.fixture
def files(pair, tmp_path, monkeypatch):
    """A BPF file system of the test's own, where libxdp finds it."""
    if shutil.which("xdp-filter") is None or OTHER is None:
        pytest.skip("no xdp-tools")
    with alone(pathlib.Path(tempfile.gettempdir()) / "bowline-xdp-tools.lock"):
        yield from mounted(tmp_path, monkeypatch)
        # Whatever a test that failed has left.
        pair.exec(pair.server, "ip", "link", "set", "dev", pair.server_if, "xdp", "off", check=False)


def mounted(tmp_path, monkeypatch):
    path = tmp_path / "bpf"
    path.mkdir()
    run("mount", "-t", "bpf", "bpf", str(path))
    monkeypatch.setenv("LIBXDP_BPFFS", str(path))
    yield path
    run("umount", "-l", str(path))


@pytest.fixture
def start(pair):
    """As in conftest.py, but others may be attached at the end."""
    started = []

    def make(*arguments, **options):
        started.append(Echo(pair, *arguments, **options))
        return started[-1]

    yield make
    ended = [echo.stop() for echo in started if echo.process.poll() is None]
    assert all(code == 0 and err == "" for code, _, err in ended), ended


class Others:
    """Programs that are attached through libxdp."""

    def __init__(self, pair):
        self.pair = pair

    def exec(self, *command, check=True):
        return self.pair.exec(self.pair.server, *command, check=check)

    def names(self):
        """Names of what the dispatcher runs, in its order; none without a dispatcher."""
        lines = self.exec("xdp-loader", "status", self.pair.server_if).stdout.splitlines()
        return [line.split()[2] for line in lines if line.strip().startswith("=>")]


@pytest.fixture(params=["native", "skb"])
def others(pair, files, request):
    """xdp-filter runs on the server's interface."""
    made = Others(pair)
    made.mode = request.param
    done = made.exec("xdp-filter", "load", "-m", request.param, pair.server_if, check=False)
    if done.returncode != 0:
        pytest.skip(f"xdp-filter can't be loaded here: {done.stdout.strip()}")
    if made.names() != ["xdpfilt_alw_all"]:
        made.exec("xdp-filter", "unload", pair.server_if, check=False)
        pytest.skip("this kernel refuses programs of type BPF_PROG_TYPE_EXT, so libxdp does without its dispatcher")
    yield made
    made.exec("xdp-loader", "unload", "-a", pair.server_if, check=False)


def ours(names):
    return [name for name in names if name.startswith("bowline_")]


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_join_and_leave(others, start, pair, sig):
    echo = start()
    assert ("native" if others.mode == "native" else "emulated") in echo.first_line, echo.stop()
    assert others.names()[0] == "xdpfilt_alw_all" and len(ours(others.names())) == 1
    assert answers(pair)
    helper = helper_of(echo.process)
    echo.stop(sig)
    wait_gone(helper)
    assert others.names() == ["xdpfilt_alw_all"]


def test_others_come_and_go(others, start, pair):
    echo = start()
    others.exec("xdp-loader", "load", "-m", others.mode, pair.server_if, str(OTHER))
    assert len(others.names()) == 3 and answers(pair)
    others.exec("xdp-filter", "unload", pair.server_if)
    assert len(ours(others.names())) == 1 and answers(pair)
    echo.stop()
    assert others.names() == ["xdpfilt_alw_tcp"]


def test_what_a_crash_left_is_removed(others, start, pair):
    """Helper and server killed: no process is left to leave the dispatcher."""
    echo = start()
    helper = helper_of(echo.process)
    subprocess.run(["kill", "-9", str(helper), str(echo.process.pid)], check=True)
    echo.process.communicate()
    wait_gone(helper)
    assert len(ours(others.names())) == 1, "nothing to clean up"
    start()
    assert len(ours(others.names())) == 1 and answers(pair)


def test_two_servers_join(others, start, pair):
    start("-q", "1")
    second = start("-p", "5301", "-q", "0")
    assert second.first_line.startswith("initialized XDP interface"), second.stop()
    assert len(ours(others.names())) == 2
    second.stop()
    assert len(ours(others.names())) == 1 and answers(pair)


def test_others_wait_while_we_are_alone(files, start, pair):
    """Alone on a link of our own: others are refused by libxdp, and nothing changes for us."""
    start()
    done = Others(pair).exec("xdp-filter", "load", "-m", "native", pair.server_if, check=False)
    assert done.returncode != 0
    assert answers(pair) and pair.link()["xdp"]["prog"]["name"] == "bowline_filter"


def test_without_dispatcher(files, start, pair):
    """A program that is attached as the only one is left alone."""
    # ip mounts a BPF file system for that: not where it would stay.
    pair.exec(pair.server, "unshare", "-m", "ip", "link", "set", "dev", pair.server_if, "xdp", "obj", str(OTHER), "sec", "xdp")
    try:
        code, _, err = start().stop()
        assert code == 1 and "another XDP program" in err
        assert pair.link()["xdp"]["prog"]["name"] == "xdpfilt_alw_tcp"
    finally:
        pair.exec(pair.server, "ip", "link", "set", "dev", pair.server_if, "xdp", "off")
    wait_detached(pair)
    assert start().first_line.startswith("initialized XDP interface")
