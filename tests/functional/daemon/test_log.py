# SPDX-License-Identifier: BSD-2-Clause
"""Guards the log: each message that scripts know, where lines go, rotated files, full disks, the journal's fields, syslog."""
import os
import pathlib
import pwd
import re
import signal
import socket
import subprocess
import threading

import pytest

from harness.control import Client
from harness.disk import fill, small_disk
from harness.net import may_make_namespaces
from harness.server import built

pytestmark = pytest.mark.ours

LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d (debug|info|notice|warning|error|critical): (\[(\S*\.)\] )?(.*)$")
ZONE = "@ 3600 SOA ns admin {} 3600 600 86400 300\n@ NS ns\nns A 192.0.2.1\n"

# Message: what it is about, level, zone, pattern of its text. The scenario below provokes each.
MESSAGES = [
    ("start", "info", None, r"Bowline \d\S* starting"),
    ("start", "info", None, r"loaded configuration file '{dir}/knot.conf'(, mapsize \d+ MiB)?"),
    ("start", "info", None, r"using UDP(/TCP)? reuseport(, socket affinity)?"),
    ("start", "info", None, r"binding to interface 127\.0\.0\.1@{port}"),
    ("start", "warning", None, r"cannot bind address 192\.0\.2\.77@{port} UDP \(.*\)|.*192\.0\.2\.77@{port} .*"),
    ("start", "info", None, r"loading 5 zones"),
    ("start", "info", None, r"control, binding to '{dir}/run/knot\.sock'"),
    ("start", "info", None, r"starting server in the foreground, PID \d+"),
    ("start", "info", None, r"server started answering"),
    ("zone", "info", "good.", r"zone will be loaded"),
    ("zone", "info", "good.", r"zone file parsed, serial 1"),
    ("zone", "info", "good.", r"loaded, serial none -> 1, \d+ bytes"),
    ("zone", "info", ".", r"loaded, serial none -> 1, \d+ bytes"),
    ("zone", "error", "gone.", r"failed to parse zone file '{dir}/gone\.zone' \(not exists\)"),
    ("zone", "info", "gone.", r"zone not found"),
    ("zone", "error", "gone.", r"zone event 'load' failed \(not exists\)"),
    ("loader", "error", "wrong.", r"zone loader, error in zone, file '{dir}/wrong\.zone', line 3 \(.+\)"),
    ("loader", "error", "wrong.", r"zone loader, failed to load zone, file '{dir}/wrong\.zone', 1 errors"),
    ("loader", "error", "checked.", r"check, node alias\.checked\., another record exists beside CNAME \(record type \S+\), file '{dir}/checked\.zone', line \d+"),
    ("loader", "error", "checked.", r"zone loader, failed to load zone, file '{dir}/checked\.zone' \(semantic check\)"),
    ("control", "info", None, r"control, received command 'status'"),
    ("control", "info", "good.", r"control, received command 'zone-reload', flags 'B', by uid \d+"),
    ("control", "info", "good.", r"control, received command 'zone-status', filters 'r'"),
    ("control", "debug", None, r"control, received command 'conf-list'.*"),
    ("control", "error", "nowhere.", r"control, error \(no such zone found\)"),
    ("control", "error", None, r"control, error \(operation failed for some zones\)"),
    ("zone", "info", "good.", r"loaded, serial 1 -> 2, \d+ bytes"),
    ("zone", "info", "good.", r"zone expired"),
    ("reload", "info", None, r"reloading configuration file '{dir}/knot\.conf'"),
    ("reload", "info", None, r"configuration reloaded"),
    ("reload", "warning", None, r"changes of udp-workers require restart to take effect"),
    ("reload", "error", None, r"config, file '{dir}/knot\.conf', line \d+, item 'nonsense', value 'on' \(invalid item\)"),
    ("reload", "error", None, r"failed to load configuration file '{dir}/knot\.conf' \(.+\)"),
    ("reload", "info", None, r"reloading zones"),
    ("control", "notice", None, r"control, persistent configuration database not available"),
    ("reload", "warning", None, r"reload aborted due to active configuration transaction"),
    ("reload", "warning", None, r"reload aborted due to active zone transaction"),
    ("zone", "info", "good.", r"zone updates frozen"),
    ("zone", "info", "good.", r"zone updates unfrozen"),
    ("zone", "info", "good.", r"zone file updated, serial 2 -> 3"),
    ("stop", "info", None, r"stopping server"),
    ("stop", "info", None, r"shutting down"),
]


def lines_of(text):
    """(level, zone, message) of each line."""
    lines = []
    for line in text.splitlines():
        match = LINE.match(line)
        assert match, line
        lines.append((match.group(1), match.group(3), match.group(4)))
    return lines


@pytest.fixture
def provoked(knotd):
    """The log of a server to which everything has happened."""
    zones = {"good": ZONE.format(1), "wrong": ZONE.format(1).replace("192.0.2.1", "192.0.2"),
             "checked": ZONE.format(1) + "alias CNAME a\nalias A 192.0.2.1\n", "root": ZONE.format(1)}
    for name, text in zones.items():
        knotd.write(f"{name}.zone", text)
    knotd.configure(zones=["good.", "gone.", "wrong.", "checked.", '"."\n    file: root.zone'], listen=["127.0.0.1", "192.0.2.77"],
                    text="template:\n  - id: default\n    semantic-checks: on\n")
    knotd.start()
    text = knotd.path.read_text()
    knotd.write("good.zone", ZONE.format(2))
    for command in ("-b zone-reload good", "zone-status GOOD +role", "conf-list", "zone-status nowhere", "-b zone-reload --",
                    "-b -f zone-purge good +expire"):
        knotd.knotc(*command.split(), check=False)
    for changed in (text.replace("udp-workers: 2", "udp-workers: 1"), text.replace("server:\n", "server:\n    nonsense: on\n"), text):
        knotd.conf(changed)
        knotd.knotc("reload", check=False)
    knotd.process.send_signal(signal.SIGUSR1)
    knotd.wait_log("reloading zones")
    for command in ("conf-begin", "reload", "conf-abort", "-b zone-reload good", "zone-begin good", "reload", "zone-set good more 60 A 192.0.2.2",
                    "zone-commit good", "-b -f zone-flush good", "-b zone-freeze good", "-b zone-thaw good"):
        knotd.knotc(*command.split(), check=False)
    knotd.stop()
    return knotd


def test_messages(provoked):
    """Each message is there, with its level and its zone, in a line of the known form."""
    lines = lines_of(provoked.log())
    assert all(len(line.encode()) <= 31 + 511 for line in provoked.log().splitlines())
    missing = []
    for about, level, zone, pattern in MESSAGES:
        pattern = pattern.replace("{dir}", re.escape(str(provoked.dir))).replace("{port}", str(provoked.port))
        if not any(found[:2] == (level, zone) and re.fullmatch(pattern, found[2]) for found in lines):
            near = [found for found in lines if re.fullmatch(pattern, found[2])]
            missing.append(f"{about}: {level} [{zone}] {pattern}" + (f"\n    but {near}" if near else ""))
    assert not missing, "\n".join(missing) + "\n" + provoked.log()


def with_log(knotd, section):
    knotd.conf(knotd.path.read_text().replace(knotd.LOGGING.rstrip(), section.rstrip()))


def test_no_log_section(knotd):
    """Warnings and worse to standard error, notices and info to standard output, no debug lines."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a", "gone"], logging=False)
    knotd.start(ready=False)
    knotd.wait(lambda: knotd.socket.exists() and knotd.knotc("status", check=False).returncode == 0, what="control socket")
    knotd.knotc("conf-list", check=False)
    knotd.stop()
    levels = {level for level, _, _ in lines_of(knotd.log())}
    assert levels == {"info", "error"}, knotd.log()


def test_rotated_file(knotd):
    """SIGHUP and a reload open the file again: a file that was moved away gets no more lines."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    path = knotd.dir / "knot.log"
    with_log(knotd, "log:\n  - target: {dir}/knot.log\n    any: info\n")
    knotd.start(ready=False)
    knotd.wait(lambda: path.exists() and "server started answering" in path.read_text(), what="start")
    for number, reload in enumerate((lambda: knotd.process.send_signal(signal.SIGHUP), lambda: knotd.knotc("reload"))):
        moved = path.rename(knotd.dir / f"knot.log.{number}")
        reload()
        knotd.wait(lambda: path.exists() and "configuration reloaded" in path.read_text(), what="the new file")
        size = moved.stat().st_size
        knotd.knotc("status")
        knotd.wait(lambda: "command 'status'" in path.read_text(), what="a line")
        assert moved.stat().st_size == size
    lines_of(path.read_text())


def test_levels_change_live(knotd):
    """Of a section that is there, and of a target that is new."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    knotd.start()
    path = knotd.dir / "control.log"
    with_log(knotd, "log:\n  - target: stdout\n    any: warning\n  - target: {dir}/control.log\n    control: info\n")
    knotd.knotc("reload")
    knotd.wait(path.exists, what="the new target")
    mark = len(knotd.log())
    knotd.knotc("status")
    knotd.knotc("-b", "zone-reload", "a")
    knotd.wait(lambda: "zone-reload" in path.read_text(), what="a line")
    assert knotd.log()[mark:] == ""
    assert all(message.startswith("control, ") for _, _, message in lines_of(path.read_text())), path.read_text()


def test_levels_change_by_commit(knotd):
    """A transaction of the configuration changes the log as a reload does."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    knotd.start()
    path = knotd.dir / "zones.log"
    for command in ("conf-begin", "conf-unset log[stdout].any", "conf-set log[stdout].any error", f"conf-set log[{path}]",
                    f"conf-set log[{path}].zone info", "conf-commit"):
        knotd.knotc(*command.split())
    assert path.exists()
    mark = len(knotd.log())
    knotd.knotc("-b", "zone-reload", "a")
    assert knotd.log()[mark:] == ""
    assert "[a.] zone file not changed" in path.read_text()
    knotd.knotc("zone-status", "nowhere", check=False)
    assert "no such zone found" in knotd.log()[mark:]


def test_a_link_that_leads_nowhere(knotd):
    """It isn't followed to make a file, and that is said: "not exists" alone would send readers to look for the link, which is there."""
    (knotd.dir / "log").symlink_to(knotd.dir / "nowhere")
    knotd.configure()
    with_log(knotd, "log:\n  - target: {dir}/log\n    any: info\n  - target: stdout\n    any: info\n")
    knotd.start()
    assert f"error: failed to open log, file '{knotd.dir}/log' (is a symbolic link whose target does not exist)" in knotd.log()
    assert not (knotd.dir / "nowhere").exists()


def test_folder_that_is_not_there(knotd):
    """Said with the path and the reason in the targets that there are; a reload says it again, and leaves the others as they are."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    with_log(knotd, "log:\n  - target: {dir}/nowhere/log\n    any: info\n  - target: {dir}/run\n    any: info\n"
                    "  - target: stdout\n    any: info\n")
    knotd.start()
    assert f"error: failed to open log, file '{knotd.dir}/run' (" in knotd.log()
    pattern = rf"error: failed to open log, file '{knotd.dir}/nowhere/log' \(not exists\)"
    assert re.search(pattern, knotd.log())
    knotd.knotc("reload")
    knotd.wait_log(pattern, count=2)
    (knotd.dir / "nowhere").mkdir()
    knotd.knotc("reload")
    knotd.wait(lambda: "configuration reloaded" in (knotd.dir / "nowhere" / "log").read_text()
               if (knotd.dir / "nowhere" / "log").exists() else False, what="the file")


def test_only_target_fails(knotd):
    """Then lines go where they went before: none is lost."""
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    with_log(knotd, "log:\n  - target: {dir}/nowhere/log\n    any: info\n")
    knotd.start()
    assert "failed to open log" in knotd.log() and "server started answering" in knotd.log()


def test_owner(knotd):
    """Files belong to the user that the server becomes, so that it can open them again."""
    if os.geteuid() != 0:
        pytest.skip("changing the user needs root")
    nobody = pwd.getpwnam("nobody")
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"], server="user: nobody:nogroup")
    with_log(knotd, "log:\n  - target: {dir}/log/knot.log\n    any: info\n  - target: stdout\n    any: info\n")
    (knotd.dir / "log").mkdir()
    for path in (knotd.dir / "log", knotd.dir / "run", knotd.dir):
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
    knotd.start()
    path = knotd.dir / "log" / "knot.log"
    assert path.stat().st_uid == nobody.pw_uid and path.stat().st_mode & 0o007 == 0
    assert knotd.socket.stat().st_uid == nobody.pw_uid and knotd.socket.stat().st_mode & 0o777 == 0o220
    path.rename(path.with_suffix(".1"))
    knotd.knotc("reload")
    knotd.wait(path.exists, what="the new file")
    assert path.stat().st_uid == nobody.pw_uid


def test_full_disk(knotd):
    """The server goes on; the log says later how much of it is missing."""
    with small_disk(knotd.dir / "small", "8k") as small:
        knotd.write("a.zone", ZONE.format(1))
        knotd.configure(zones=["a"])
        with_log(knotd, "log:\n  - target: {dir}/small/log\n    any: info\n  - target: stdout\n    any: info\n")
        knotd.start()
        filler = small / "filler"
        fill(filler, 512)
        for _ in range(100):    # what is left of the log's own page
            knotd.knotc("status")
        assert knotd.ask("a", "SOA").answer
        filler.unlink()
        knotd.knotc("status")
        text = (small / "log").read_text()
        match = re.search(r"\n\S+ warning: log, (\d+) lines lost \(No space left on device\)\n", text)
        assert match and 1 <= int(match.group(1)) <= 100, text[-1000:]
        assert len(re.findall("command 'status'", text)) + int(match.group(1)) == len(re.findall("command 'status'", knotd.log()))
        knotd.stop()


# ---- The journal and syslog: sockets of our own in a mount namespace ----

class SystemSocket:
    """A socket that keeps what is sent to it: senders wait while it isn't read."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.stream = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.stream.bind(str(path))
        os.chmod(path, 0o777)
        self.stream.settimeout(0.05)
        self.entries, self.is_over = [], False
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        """All that is there, also after the end."""
        while True:
            try:
                self.entries.append(self.stream.recv(65536).decode())
            except TimeoutError:
                if self.is_over:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        self.stream.close()


def start_with(knotd, mounts=(), output=""):
    """Start with some folders mounted over others, for this process only; output: the shell's redirections."""
    if mounts and not may_make_namespaces():
        pytest.skip("may not mount")
    script = " && ".join([*(f"mount --bind {source} {target}" for source, target in mounts), f'exec {built("knotd", "knotd")} "$@" {output}'])
    space = "unshare -m --propagation private " if mounts else ""
    program = knotd.write("start", f"#!/bin/sh\nexec {space}sh -c '{script}' knotd \"$@\"\n")
    program.chmod(0o755)
    knotd.program = str(program)
    knotd.start(ready=False)
    knotd.wait(lambda: knotd.socket.exists() and knotd.knotc("status", check=False).returncode == 0, what="control socket")


def run_with(knotd, mounts):
    start_with(knotd, mounts)
    knotd.knotc("-b", "zone-reload", "a")
    knotd.knotc("zone-status", "nowhere", check=False)
    knotd.stop()


def system_folder(knotd):
    """What is mounted over /run/systemd so that the journal's socket is ours."""
    if not pathlib.Path("/run/systemd").is_dir():
        pytest.skip("no /run/systemd to mount over")
    system = knotd.dir / "systemd"
    (system / "system").mkdir(parents=True)     # sd_booted()
    return system


def device_folder(knotd):
    """What is mounted over /dev, so that syslog's socket is ours."""
    devices = knotd.dir / "dev"
    devices.mkdir()
    for name, minor in (("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)):
        try:
            os.mknod(devices / name, 0o20666, os.makedev(1, minor))
        except PermissionError:
            pytest.skip("may not make devices")
    return devices


def test_journal_fields(knotd):
    """PRIORITY, MESSAGE with the level before it, ZONE where there is one."""
    system = system_folder(knotd)
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    with_log(knotd, "log:\n  - target: syslog\n    any: info\n")
    with SystemSocket(system / "journal" / "socket") as journal:
        run_with(knotd, [(system, "/run/systemd")])
    entries = [dict(line.split("=", 1) for line in entry.splitlines() if "=" in line) for entry in journal.entries]
    by_message = {entry["MESSAGE"]: entry for entry in entries}
    loaded = next(entry for message, entry in by_message.items() if "loaded, serial none -> 1" in message)
    assert loaded["MESSAGE"].startswith("info: [a.] loaded") and loaded["PRIORITY"] == "6" and loaded["ZONE"] == "a."
    assert by_message["info: server started answering"]["PRIORITY"] == "6"
    assert "ZONE" not in by_message["info: server started answering"]
    failed = by_message["error: [nowhere.] control, error (no such zone found)"]
    assert failed["PRIORITY"] == "3" and failed["ZONE"] == "nowhere."
    assert not any("CODE_FILE" in entry for entry in entries)


def test_journal_field_of_keys(knotd):
    """KEY_SUBMISSION has the tag of a KSK that waits for its DS."""
    system = system_folder(knotd)
    knotd.write("a.zone", ZONE.format(1))
    (knotd.dir / "db").mkdir()
    knotd.configure(zones=["a"], text="template:\n  - id: default\n    dnssec-signing: on\n    zonefile-sync: -1\n")
    with_log(knotd, "log:\n  - target: syslog\n    any: info\n")
    with SystemSocket(system / "journal" / "socket") as journal:
        start_with(knotd, [(system, "/run/systemd")])
        knotd.wait(lambda: any("DNSSEC, next signing at" in entry for entry in journal.entries), what="a signed zone")
        knotd.stop()
    entries = [dict(line.split("=", 1) for line in entry.splitlines() if "=" in line) for entry in journal.entries]
    waiting, = [entry for entry in entries if "KEY_SUBMISSION" in entry]
    tag, = re.findall(r"DNSSEC, key, tag +(\d+), algorithm \S+, KSK", "\n".join(journal.entries))
    assert waiting["KEY_SUBMISSION"] == tag and waiting["ZONE"] == "a."
    assert waiting["MESSAGE"] == "notice: [a.] DNSSEC, KSK submission, waiting for confirmation"


def test_syslog(knotd):
    """Facility daemon, name knot, PID, level before the message, no timestamp of ours."""
    devices = device_folder(knotd)
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    with_log(knotd, "log:\n  - target: syslog\n    any: info\n")
    with SystemSocket(devices / "log") as syslog:
        run_with(knotd, [(devices, "/dev")])
    lines = syslog.entries
    assert any(re.fullmatch(r"<30>.{15} knot\[\d+\]: info: \[a\.\] loaded, serial none -> 1, \d+ bytes\0?", line) for line in lines), lines
    assert any(re.fullmatch(r"<27>.{15} knot\[\d+\]: error: \[nowhere\.\] control, error \(no such zone found\)\0?", line) for line in lines)


# ---- Receivers that hang ----

class Unread:
    """A target of the log that isn't read for now: makes the configuration's section, mounts and redirections."""

    def __init__(self, knotd, how):
        self.how, self.mounts, self.output, self.left = how, (), "", b""
        self.target = {"stdout": "stdout", "stderr": "stderr", "stream": "stdout", "file": "{dir}/pipe"}.get(how, "syslog")
        pipe = knotd.dir / "pipe"
        if how in ("stdout", "stderr", "file"):
            os.mkfifo(pipe)
            self.fd = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.output = {"stdout": f">{pipe}", "stderr": f"2>{pipe}"}.get(how, "")
            return
        folder = {"journal": system_folder, "syslog": device_folder}[how](knotd) if how != "stream" else None
        path = {"journal": folder / "journal" / "socket", "syslog": folder / "log"}[how] if folder else None
        if how == "stream":
            mine, theirs = socket.socketpair()
            os.set_inheritable(theirs.fileno(), True)
            self.theirs = theirs    # as systemd's standard output
        else:
            path.parent.mkdir(exist_ok=True)
            mine = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            mine.bind(str(path))
            os.chmod(path, 0o777)
            self.mounts = [(folder, "/run/systemd" if how == "journal" else "/dev")]
        mine.setblocking(False)
        self.fd = mine.detach()

    def read(self):
        """All that has come so far."""
        try:
            while more := os.read(self.fd, 65536):
                self.left += more + (b"\n" if self.target == "syslog" else b"")
        except BlockingIOError:
            pass
        return self.left.decode()


@pytest.mark.parametrize("how", ["stdout", "stderr", "stream", "file", "journal", "syslog"])
def test_receiver_that_hangs(knotd, how):
    """Threads that log go on answering; once the log is read again, a line says what is missing."""
    unread = Unread(knotd, how)
    knotd.write("a.zone", ZONE.format(1))
    knotd.configure(zones=["a"])
    with_log(knotd, f"log:\n  - target: {unread.target}\n    any: info\n")
    if how == "stream":
        program = knotd.write("with-stream", f"#!/bin/sh\nexec {built('knotd', 'knotd')} \"$@\"\n")
        program.chmod(0o755)
        knotd.process = subprocess.Popen([program, *knotd.source], stdout=unread.theirs, stdin=subprocess.DEVNULL, cwd=knotd.dir)
        unread.theirs.close()
        knotd.wait(lambda: knotd.socket.exists() and knotd.knotc("status", check=False).returncode == 0, what="control socket")
    else:
        start_with(knotd, unread.mounts, unread.output)
    with Client(knotd.socket) as client:
        for _ in range(6000):   # of some 70 bytes each: more than any of them takes
            client.command("status")
        assert client.command("zone-reload", zone="a", flags="B") == []
        assert client.command("reload", flags="B") == []
    assert knotd.ask("a", "SOA").answer
    unread.read()
    for _ in range(2):
        knotd.knotc("zone-status", "a")
    knotd.wait(lambda: unread.read().count("'zone-status'") == 2, what="lines that are read again")
    text = unread.read()
    lost = [int(count) for count in re.findall(r"warning: log, (\d+) lines lost \(.+\)", text)]
    assert lost and sum(lost) + text.count("'status'") >= 6000 and "starting" in text
    if how not in ("journal", "syslog"):
        lines_of(text)
    knotd.stop()
    os.close(unread.fd)
