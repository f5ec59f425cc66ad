# SPDX-License-Identifier: BSD-2-Clause
"""Start and stop: what bad configurations, busy ports and missing files get; signals; pid file; log files."""
import fcntl
import os
import re
import signal
import socket
import subprocess
import threading
import time

import dns.rcode
import pytest

from harness.server import TOP, built
from harness.waiting import PATIENCE, wait_until
from zones import example

pytestmark = pytest.mark.core

BAD_CONFIGURATIONS = {
    "unknown item": ("server:\n    colour: red\n", 2, "colour"),
    "unknown section": ("sever:\n    listen: 127.0.0.1\n", 1, "sever"),
    "tabulator": ("server:\n\tlisten: 127.0.0.1\n", 2, "tab"),
    "value out of range": ("server:\n    udp-workers: 0\n", 2, "udp-workers"),
    "not a number": ("server:\n    tcp-idle-timeout: soon\n", 2, "tcp-idle-timeout"),
    "duplicate zone": ("zone:\n  - domain: a.\n  - domain: A\n", 3, "a"),
    "reference to nothing": ("zone:\n  - domain: a.\n    template: none\n", 3, "template"),
    "wrong indentation": ("server:\n    rundir: /tmp\n  user: root\n", 3, ""),
    "item without section": ("    listen: 127.0.0.1\n", 1, ""),
}


@pytest.mark.parametrize("what", BAD_CONFIGURATIONS)
def test_bad_configuration(knotd, what):
    text, line, word = BAD_CONFIGURATIONS[what]
    knotd.conf(text)
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    log = knotd.log()
    assert f"config, file '{knotd.path}', line {line}" in log and word in log


def test_missing_configuration(knotd):
    knotd.start(ready=False)
    assert knotd.wait_end() == 1 and str(knotd.path) in knotd.log()


@pytest.mark.ours
def test_unsupported_item_is_refused(knotd):
    """Settings without an effect are refused, so that operators don't rely on them."""
    knotd.conf("zone:\n  - domain: a.\n    zone-db-output: 2\n")
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert f"config, file '{knotd.path}', line 3, item 'zone-db-output'" in knotd.log()
    assert "not supported yet" in knotd.log()


def test_busy_port(knotd):
    knotd.configure()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
        udp.bind(("127.0.0.1", knotd.port))
        tcp.bind(("127.0.0.1", knotd.port))
        tcp.listen()
        knotd.start(ready=False)
        assert knotd.wait_end() == 1
    assert f"127.0.0.1@{knotd.port}" in knotd.log()


def test_missing_rundir(knotd):
    knotd.configure()
    knotd.conf(knotd.path.read_text().replace(f"{knotd.dir}/run", f"{knotd.dir}/nowhere"))
    knotd.start(ready=False)
    assert knotd.wait_end() == 1
    assert [l for l in knotd.log().splitlines() if "nowhere" in l and (" error: " in l or " critical: " in l)]


def test_second_instance(make_knotd):
    first, second = make_knotd(), make_knotd()
    first.configure()
    first.start()
    second.configure()
    second.conf(second.path.read_text().replace(f"rundir: {second.dir}", f"rundir: {first.dir}"))
    second.start(ready=False)
    assert second.wait_end() == 1
    assert first.is_answering()


def test_pid_file(knotd):
    knotd.configure()
    knotd.start()
    path = knotd.dir / "run" / "knot.pid"
    assert int(path.read_text()) == knotd.process.pid
    assert knotd.stop() == 0
    assert not path.exists()


@pytest.mark.parametrize("text", ["4194303", "-5", "rubbish"])
def test_stale_pid_file_is_no_obstacle(knotd, text):
    knotd.configure()
    (knotd.dir / "run" / "knot.pid").write_text(text)
    knotd.start()
    assert f"warning: removing stale PID file '{knotd.dir}/run/knot.pid'" in knotd.log()
    assert int((knotd.dir / "run" / "knot.pid").read_text()) == knotd.process.pid


@pytest.mark.ours
@pytest.mark.skipif(os.geteuid() != 0, reason="switching the user needs root")
def test_pid_file_in_a_directory_of_root(knotd):
    """After the user switch it can't be removed: then it is emptied, so that no tool signals a stranger."""
    knotd.configure(server="user: nobody:nogroup")
    for path in (knotd.dir, knotd.path):
        os.chmod(path, 0o755)
    knotd.conf(knotd.path.read_text().replace("listen: knot.sock", f"listen: {knotd.dir}/control/knot.sock"))
    (knotd.dir / "control").mkdir()
    os.chmod(knotd.dir / "control", 0o777)
    knotd.socket = knotd.dir / "control" / "knot.sock"
    knotd.start()
    path = knotd.dir / "run" / "knot.pid"
    assert int(path.read_text()) == knotd.process.pid
    assert knotd.stop() == 0
    assert path.read_text() == ""
    knotd.start()
    assert "stale" not in knotd.log() and "already running" not in knotd.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_signals(knotd, number):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"])
    knotd.start()
    assert knotd.stop(number) == 0
    assert "stopping server" in knotd.log()


def test_broken_zone_at_start(knotd):
    """The zone that can't be loaded answers SERVFAIL, the others serve."""
    knotd.write("example.zone", example())
    knotd.write("broken.zone", "@ SOA ns admin 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.256\n")
    knotd.configure(zones=["example", "broken", "absent"])
    knotd.start()
    assert knotd.ask("www.example", "A").rcode() == dns.rcode.NOERROR
    for zone in ("broken", "absent"):
        answer = knotd.ask(zone, "SOA", use_edns=0)
        assert answer.rcode() == dns.rcode.SERVFAIL and not answer.answer
    assert "broken.zone', line 4" in knotd.log()


def test_broken_zone_has_extended_error(knotd):
    """RFC 8914 4.25: EDE 24, Invalid Data; as Knot DNS says it."""
    knotd.configure(zones=["absent"])
    knotd.start()
    options = knotd.ask("absent", "SOA", use_edns=0).options
    assert [int.from_bytes(o.to_wire()[:2], "big") for o in options if o.otype == 15] == [24]


def test_log_file_is_reopened(knotd):
    knotd.configure(text="log:\n  - target: {dir}/knot.log\n    any: info\n", logging=False)
    knotd.start(ready=False)
    path = knotd.dir / "knot.log"
    knotd.wait(lambda: path.exists() and "answering" in path.read_text() or
               path.exists() and "server started" in path.read_text(), 10, "log file")
    path.rename(knotd.dir / "old.log")
    knotd.process.send_signal(signal.SIGHUP)
    knotd.wait(lambda: path.exists() and "configuration reloaded" in path.read_text(), 10, "new log file")
    line = path.read_text().splitlines()[0]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?[+-]\d\d:?\d\d (info|notice|warning): ", line), line


def test_no_zone_and_no_listener(knotd):
    """Not useful, but no reason to fail."""
    knotd.configure(listen=())
    knotd.start()
    assert knotd.stop() == 0
    for line in ("warning: no network interface configured", "info: loading 0 zones", "warning: no zones loaded"):
        assert line in knotd.log()


@pytest.mark.ours
def test_no_control_socket(knotd):
    """Said, as without it only signals reach the server."""
    knotd.configure()
    knotd.conf(knotd.path.read_text().replace("listen: knot.sock", "listen: []"))
    knotd.start(ready=False)
    knotd.wait_log("server started answering")
    assert "warning: no control socket configured" in knotd.log()
    assert not knotd.socket.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="switching the user needs root")
def test_user_switch(knotd):
    import pwd
    uid = pwd.getpwnam("nobody").pw_uid
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"], server="user: nobody:nogroup")
    for path in [knotd.dir, *knotd.dir.rglob("*")]:
        os.chown(path, uid, -1)
    knotd.start()
    status = open(f"/proc/{knotd.process.pid}/status", encoding="ascii").read()
    assert f"Uid:\t{uid}\t{uid}\t{uid}" in status
    effective = int(next(l.split()[1] for l in status.splitlines() if l.startswith("CapEff:")), 16)
    assert effective & (1 << 21 | 1 << 12) == 0, "CAP_SYS_ADMIN or CAP_NET_ADMIN kept"
    assert knotd.ask("www.example", "A").rcode() == dns.rcode.NOERROR


def test_notify_socket(knotd):
    """sd_notify: READY when started, STOPPING at the end."""
    knotd.configure()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        path = str(knotd.dir / "notify")
        sock.bind(path)
        sock.settimeout(10 * PATIENCE)
        knotd.start(environment={"NOTIFY_SOCKET": path})
        wait_until(lambda: "READY=1" in sock.recv(4096).decode().split("\n"), "READY=1")
        assert knotd.stop() == 0
        wait_until(lambda: "STOPPING=1" in sock.recv(4096).decode().split("\n"), "STOPPING=1")


def fields_of(sock):
    """The fields of the next message to the service manager."""
    return dict(line.split("=", 1) for line in sock.recv(4096).decode().split("\n"))


@pytest.mark.ours
def test_status_and_watchdog_of_systemd(knotd):
    """What systemctl status shows, signs of life, and the time of a reload that Type=notify-reload wants."""
    knotd.write("example.zone", example())
    knotd.configure(zones=["example", "missing.test"])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        path = str(knotd.dir / "notify")
        sock.bind(path)
        sock.settimeout(10 * PATIENCE)
        knotd.start(environment={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
        wait_until(lambda: fields_of(sock).get("STATUS") == "2 zones, 1 failed, 0 XDP queues", "the status")
        begun, signs = time.monotonic(), 0
        while signs < 5:
            signs += fields_of(sock).get("WATCHDOG") == "1"
        assert 4 * 0.2 * 0.9 < time.monotonic() - begun < 20 * PATIENCE     # each half of the watchdog's time
        before = time.monotonic_ns() // 1000
        knotd.knotc("reload")
        fields = wait_until(lambda: (lambda found: found if "RELOADING" in found else None)(fields_of(sock)), "RELOADING=1")
        assert before <= int(fields["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
        wait_until(lambda: fields_of(sock).get("READY") == "1", "READY=1 after the reload")
        assert knotd.stop() == 0


@pytest.mark.ours
def test_one_line_for_all_zones(knotd):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example", "missing.test"])
    knotd.start()
    knotd.wait_log(r"loaded 1 zones in")
    assert re.findall(r"info: loaded (\d+) zones in \d+\.\d s, (\d+) failed", knotd.log()) == [("1", "1")]


@pytest.mark.ours
def test_a_server_that_is_being_killed_is_waited_for(make_knotd):
    """Its PID file is locked until the kernel has taken its memory away: here, until a copy of its descriptor is closed."""
    first, second = make_knotd(), make_knotd()
    first.configure()
    first.start()
    pidfile = first.dir / "run" / "knot.pid"
    with open(pidfile, encoding="ascii") as held:
        first.process.kill()
        first.process.wait()
        fcntl.flock(held, fcntl.LOCK_EX)
        second.configure()
        second.conf(second.path.read_text().replace(f"rundir: {second.dir}", f"rundir: {first.dir}"))
        threading.Timer(0.3, lambda: fcntl.flock(held, fcntl.LOCK_UN)).start()
        second.start(ready=False)
        second.wait_log("server started answering")
        assert "already running" not in second.log()


PROGRAMS = [("knotd", "knotd")] + [(name, "tools") for name in ("kcatalogprint", "kdig", "keymgr", "khost", "kjournalprint", "knotc", "knsec3hash", "knsupdate", "kxdpgun",
                                                               "kzonecheck", "kzoneimage", "kzonesign")]


@pytest.mark.ours
@pytest.mark.parametrize("program, folder", PROGRAMS)
def test_output_that_cannot_be_written(program, folder):
    for options in (["-h"], ["-VV"]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([built(program, folder), *options], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=20 * PATIENCE)
        assert done.returncode == 1 and done.stderr.count("failed to write to standard output") == 1
        closed = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', built(program, folder), *options], stderr=subprocess.PIPE, text=True, check=False, timeout=20 * PATIENCE)
        assert closed.returncode == 1 and closed.stderr.count("failed to write to standard output") == 1


@pytest.mark.ours
@pytest.mark.parametrize("program, folder", PROGRAMS)
def test_build_summary(program, folder):
    """Blocks of `Name: value`, as scripts read them of Knot's programs."""
    def output(option):
        return subprocess.run([built(program, folder), option], stdout=subprocess.PIPE, text=True, check=True, timeout=20 * PATIENCE).stdout
    text = output("-VV")
    head, *blocks = text.rstrip("\n").split("\n\n")
    assert re.fullmatch(rf"{program} \(Bowline\), version \S+", head)
    assert output("-V") == output("--version") == head + "\n" and output("--version=x") == text
    names = [[re.fullmatch(r"    ([^:]+):(?: .*)?", line).group(1) for line in block.split("\n")] for block in blocks]
    assert names == [["Configure"], ["Target", "Compiler", "CFLAGS"], ["Config"],
                     ["Prefix", "Run dir", "Storage dir", "Config dir", "Module dir"], ["Static modules", "Shared modules"],
                     ["Use recvmmsg", "Use SO_REUSEPORT(_LB)", "XDP support", "DoQ support", "Redis support", "Socket polling", "MaxMind DB support",
                      "Systemd integration", "POSIX capabilities", "PKCS #11 support", "Utilities with DoH", "Utilities with Dnstap", "Kdig DNSSEC validation"]]
    modules = re.search(r"^    Static modules: (.*)$", text, re.M).group(1).split(" ")
    assert modules == sorted(entry.name for entry in (TOP / "src/modules").iterdir() if entry.is_dir())
    assert "    Config: default mapsize 500 MiB\n" in text


@pytest.mark.ours
def test_zone_file_without_end(knotd):
    """A device holds up neither the other zones nor the stop."""
    knotd.write("example.zone", example())
    os.symlink("/dev/zero", knotd.dir / "endless.zone")
    knotd.configure(zones=["endless", "example"])
    knotd.start()
    assert f"[endless.] failed to parse zone file '{knotd.dir}/endless.zone' (file error)" in knotd.log()
    assert knotd.ask("www.example", "A").rcode() == dns.rcode.NOERROR
    assert knotd.knotc("-b", "zone-reload", "endless", check=False).stdout.strip() == f"error: [endless] (file error, file '{knotd.dir}/endless.zone')"
    assert knotd.stop(timeout=5) == 0
