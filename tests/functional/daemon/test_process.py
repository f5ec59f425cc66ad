# SPDX-License-Identifier: BSD-2-Clause
"""The process: options, daemon, order of the log, one line for each failure."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import dns.rcode
import pytest

from harness.disk import fill, small_disk
from harness.server import built
from harness.waiting import PATIENCE, wait_until

pytestmark = [pytest.mark.core, pytest.mark.ours]

ZONE = "@ 3600 SOA ns admin {serial} 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"
LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d (debug|info|notice|warning|error|critical): ")


def run(*arguments):
    return subprocess.run([built("knotd", "knotd"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=10 * PATIENCE, check=False)


@pytest.mark.parametrize("arguments, status, text", [
    (["-h"], 0, "Usage: knotd"),
    (["-h"], 0, "/knot.sock)"),
    (["-V"], 0, "knotd (Bowline), version "),
    (["-VV"], 0, "Config dir: "),
    (["surplus"], 1, "surplus"),
    (["-m", "0"], 1, "invalid configuration database size"),
    (["--nonsense"], 1, "Usage: knotd"),
], ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_options(arguments, status, text):
    done = run(*arguments)
    assert done.returncode == status and text in done.stdout


def test_log_in_order(knotd):
    """What an operator (and a script) sees of a start and a stop."""
    knotd.write("a.zone", ZONE.format(serial=1))
    knotd.configure(zones=["a"])
    knotd.start()
    knotd.stop()
    lines = knotd.log().splitlines()
    assert all(LINE.match(line) for line in lines), lines
    order = ["starting", "loaded configuration file", "using UDP reuseport", "binding to interface 127.0.0.1@",
             "loading 1 zones", r"\[a\.\] zone will be loaded", r"starting server in the foreground, PID \d+",
             "server started answering", "stopping server", "shutting down"]
    places = [next((i for i, line in enumerate(lines) if re.search(text, line)), None) for text in order]
    assert None not in places and places == sorted(places), list(zip(order, places))
    assert re.search(r"info: \[a\.\] loaded, serial none -> 1, \d+ bytes$", knotd.log(), re.M)


def test_reload_log(knotd):
    knotd.write("a.zone", ZONE.format(serial=1))
    knotd.configure(zones=["a"])
    knotd.start()
    knotd.write("a.zone", ZONE.format(serial=7))
    knotd.process.send_signal(signal.SIGHUP)
    knotd.wait_log(r"info: \[a\.\] loaded, serial 1 -> 7, \d+ bytes")
    knotd.wait_log("info: configuration reloaded")
    # Unchanged: stays as it is.
    knotd.process.send_signal(signal.SIGHUP)
    knotd.wait_log("info: configuration reloaded", count=2)
    knotd.knotc("-b", "zone-reload", "a")       # when this has ended, what was to be loaded before has been
    assert knotd.log().count("] loaded, serial") == 2


def test_failure_is_one_line(knotd):
    """A directory that isn't there: no trail of follow-up lines."""
    knotd.configure()
    knotd.conf(knotd.path.read_text().replace(f"{knotd.dir}/run", f"{knotd.dir}/nowhere"))
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    problems = [l for l in knotd.log().splitlines() if "error: " in l or "critical: " in l]
    assert len(problems) == 1 and "nowhere" in problems[0]


@pytest.mark.parametrize("user, fault", [
    ("nobody-of-that-name", "invalid user name 'nobody-of-that-name'"),
    ("root:no-such-group", "invalid group name 'no-such-group'"),
])
def test_unknown_user(knotd, user, fault):
    knotd.configure(server=f"user: {user}")
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert f"config, {fault}" in knotd.log()


def test_second_instance_is_told_whom(knotd):
    knotd.configure()
    knotd.start()
    done = run("-c", str(knotd.path))
    assert done.returncode == 1
    assert f"already running, PID {knotd.process.pid}" in done.stdout
    assert "binding" not in done.stdout


def has_ended(pid):
    """Its parent may be slow to take note of it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_folder_that_goes(knotd):
    """The server goes on without its rundir, and takes nothing away from another one that uses it since."""
    knotd.write("a.zone", ZONE.format(serial=1))
    knotd.configure(zones=["a"])
    knotd.start()
    shutil.rmtree(knotd.dir / "run")
    assert knotd.ask("a", "SOA").answer
    (knotd.dir / "run").mkdir()
    taken = [knotd.dir / "run" / name for name in ("knot.pid", "knot.sock")]
    for path in taken:
        path.write_text("somebody else's")
    assert knotd.stop() == 0
    assert [path.read_text() for path in taken] == ["somebody else's"] * 2


def test_daemon(knotd):
    knotd.configure(text="log:\n  - target: {dir}/knot.log\n    any: info\n", logging=False)
    done = run("-c", str(knotd.path), f"--daemonize={knotd.dir}")
    assert done.returncode == 0, done.stdout
    pid = int((knotd.dir / "run" / "knot.pid").read_text())
    try:
        assert os.readlink(f"/proc/{pid}/cwd") == str(knotd.dir)
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        assert os.getsid(pid) == pid
        assert "starting server as a daemon" in (knotd.dir / "knot.log").read_text()
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: has_ended(pid), "the daemon's end")
    assert not os.path.exists(knotd.dir / "run" / "knot.pid")


def test_paths_of_a_daemon_are_relative_to_its_start(knotd):
    """Wherever it goes then: files of zones, logs and sockets are those that the same command has in the foreground."""
    knotd.write("a.zone", ZONE.format(serial=1))
    knotd.configure(text="log:\n  - target: knot.log\n    any: info\nzone:\n  - domain: a\n    storage: .\n", logging=False,
                    listen=["127.0.0.1"])
    knotd.conf(knotd.path.read_text().replace(f"{knotd.dir}/", ""))
    done = subprocess.run([built("knotd", "knotd"), "-c", "knot.conf", "-d"], cwd=knotd.dir, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    pid = int((knotd.dir / "run" / "knot.pid").read_text())
    log = knotd.dir / "knot.log"
    try:
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
        wait_until(lambda: "[a.] loaded, serial none -> 1" in log.read_text(), "the first load")
        knotd.write("a.zone", ZONE.format(serial=2))
        log.rename(knotd.dir / "old.log")
        knotd.knotc("reload")
        wait_until(lambda: "[a.] loaded, serial 1 -> 2" in log.read_text(), "the zone in the new log file")
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: has_ended(pid), "the daemon's end")


@pytest.mark.parametrize("streams", ["<&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("daemon", [False, True], ids=["foreground", "daemon"])
def test_without_standard_streams(knotd, daemon, streams):
    """A socket in the place of a stream would get what is logged, and be closed when the daemon leaves its terminal."""
    knotd.write("a.zone", ZONE.format(serial=1))
    knotd.configure(zones=["a"], text=f"log:\n  - target: {knotd.dir}/knot.log\n    any: info\n", logging=False)
    closing = f'exec "$@" {streams} {"&" if not daemon else ""}'
    subprocess.run(["sh", "-c", closing, "sh", built("knotd", "knotd"), "-c", str(knotd.path), *(["-d"] if daemon else [])],
                   timeout=60, check=True)
    pid_file, log = knotd.dir / "run" / "knot.pid", knotd.dir / "knot.log"
    wait_until(lambda: log.exists() and "server started" in log.read_text(), "the start")
    pid = int(pid_file.read_text())
    try:
        for number in range(3):
            assert not os.readlink(f"/proc/{pid}/fd/{number}").startswith(("socket", "anon_inode", str(knotd.dir))), number
        assert knotd.ask("a.", "SOA").rcode() == dns.rcode.NOERROR
    finally:
        os.kill(pid, signal.SIGTERM)
    wait_until(lambda: has_ended(pid), "the daemon's end")


def test_daemon_that_fails(knotd):
    knotd.configure(server="user: nobody-of-that-name")
    assert run("-c", str(knotd.path), "-d").returncode == 1


def test_many_faults_do_not_fill_the_log(knotd):
    knotd.write("a.zone", "rubbish rubbish rubbish\n" * 5000)
    knotd.configure(zones=["a"])
    knotd.start()
    assert len(re.findall(r"', line \d+", knotd.log())) <= 20
    assert "failed to parse zone file" in knotd.log()
    assert "zone event 'load' failed" in knotd.log()


def test_second_signal_ends_at_once(knotd):
    """A job that hangs (a pipe without a writer) must not keep the operator from stopping."""
    os.mkfifo(knotd.dir / "stuck.zone")
    knotd.configure(zones=["stuck"], server="async-start: on")
    knotd.start(ready=False)
    knotd.wait_log("server started answering")
    knotd.wait(lambda: "load: running" in knotd.knotc("zone-status", "stuck", check=False).stdout, what="the load")
    knotd.process.send_signal(signal.SIGTERM)
    knotd.wait_log("stopping server")
    with pytest.raises(subprocess.TimeoutExpired):
        knotd.process.wait(0.5)
    knotd.process.send_signal(signal.SIGTERM)
    assert knotd.wait_end() == 1


def test_address_in_use(knotd):
    """What to look for; and, as with Knot DNS, a critical line for those who watch for one."""
    knotd.configure()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taker:
        taker.bind(("127.0.0.1", knotd.port))
        knotd.start(ready=False)
        assert knotd.wait_end() == 1
    lines = [line.split(" ", 1)[1] for line in knotd.log().splitlines()[-2:]]
    assert lines == [f"error: cannot bind address 127.0.0.1@{knotd.port} UDP (address already in use), 'ss -lntup' shows the program that uses it",
                     "critical: failed to configure server"]


def test_folder_of_the_pid_file_is_missing(knotd):
    """After a boot /run is empty: the hint names what is missing."""
    knotd.configure(server="pidfile: {dir}/missing/knot.pid")
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert knotd.log().endswith(f"critical: failed to create a PID file '{knotd.dir}/missing/knot.pid' (not exists), create its folder, "
                                "owned by the server's user\n")


def test_full_disk(knotd):
    """The PID file can't be written: one line, and no empty file that the next start would trip over."""
    with small_disk(knotd.dir / "run", "4k") as run_folder:
        fill(run_folder / "filler")
        knotd.configure()
        knotd.start(ready=False)
        assert knotd.wait_end() == 1
        assert re.search(r"critical: failed to create a PID file '.*knot\.pid' \(.*space.*\)", knotd.log()), knotd.log()
        assert not (run_folder / "knot.pid").exists()


def test_ten_thousand_zones(knotd):
    """Start, reload of the configuration with zones added and removed, and stop: each within the seconds that tests wait for anything."""
    knotd.write("any.zone", ZONE.format(serial=1))
    zones = [f"z{n}.example" for n in range(10000)]
    template = "template:\n  - id: default\n    storage: {dir}\n    file: any.zone\n"

    def configure(names):
        knotd.configure(text=template + "zone:\n" + "".join(f"  - domain: {name}\n" for name in names))

    configure(zones)
    knotd.start()
    assert knotd.ask("z9999.example", "SOA").answer
    configure(zones[5000:] + ["new.example"])
    knotd.process.send_signal(signal.SIGHUP)
    knotd.wait_log(r"\[new\.example\.\] loaded, serial none -> 1")
    assert knotd.ask("z9999.example", "SOA").answer
    assert knotd.ask("z1.example", "SOA").rcode() == dns.rcode.REFUSED
    assert knotd.log().count("] loaded, serial") == 10001
    knotd.stop()


def slices(knotd):
    """{name of a thread: nanoseconds of CPU that the kernel gives it at a time}; without those that are ending."""
    found = {}
    for task in pathlib.Path(f"/proc/{knotd.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found[(task / "comm").read_text().strip()] = int(re.search(r"^se\.slice\s*:\s*(\d+)$", (task / "sched").read_text(), re.M)[1])
    return found


def test_answering_threads_come_first(knotd):
    """Threads that answer have short slices, so that they run as soon as they wake up; all others have the kernel's own."""
    own = pathlib.Path("/proc/self/sched")
    if not own.exists() or "se.slice" not in own.read_text() or tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12):
        pytest.skip("a kernel that neither gives nor shows slices")
    knotd.configure()
    knotd.start()

    def is_so():
        found = slices(knotd)
        answering = {name for name in found if name.startswith(("udp-", "tcp-")) or re.fullmatch(r"xdp-\d+", name)}
        return len(answering) >= 2 and all((length == 100_000) == (name in answering) for name, length in found.items())
    wait_until(is_so, lambda: f"short slices for those that answer: {slices(knotd)}")
