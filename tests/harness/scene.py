# SPDX-License-Identifier: BSD-2-Clause
"""A small machine for a chapter's examples: the files and programs are where the manual says, and nothing of it is left afterwards.

Two network namespaces are joined by a veth pair: `eth0` of the server has 192.0.2.1 and 2001:db8::1, the client 192.0.2.2 and 2001:db8::2. A
mount namespace has empty /etc/knot, /var/lib/knot, /var/log, /run and the built programs before all others in PATH; a PID namespace ends what was
started. There is no systemd in it: `systemctl` does what the unit file of the packages says for knot.service, `journalctl` prints what
that service wrote.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from .net import Pair, make_or_close
from .server import BUILD, TOP, built, library
from .waiting import PATIENCE, wait_until

PROGRAMS = (("knotd", "knotd"), ("knotc", "tools"), ("kzoneimage", "tools"), ("kzonecheck", "tools"), ("kzonesign", "tools"), ("keymgr", "tools"), ("kxdpgun", "tools"),
            ("kdig", "tools"), ("khost", "tools"), ("knsupdate", "tools"))
UNIT = TOP / "distro" / "knot.service"
# What a build with --prefix=/usr/local names, and what packages name.
NAMES = (("/usr/local/etc/knot", "/etc/knot"), ("/usr/local/var/run/knot", "/run/knot"), ("/usr/local/var/lib/knot", "/var/lib/knot"),
         ("/usr/local/sbin/", "/usr/sbin/"), ("/run/work/", ""))

SETUP = """\
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/knot /run/lock
mount -t tmpfs none /etc/knot
mount -t tmpfs none /var/lib/knot
mount -t tmpfs none /var/log
mkdir /var/log/knot
mount -t tmpfs none /usr/local
mkdir -p /usr/local/bin /usr/local/lib /usr/local/sbin /usr/local/etc /usr/local/var/run /usr/local/var/lib
ln -s /etc/knot /usr/local/etc/knot
ln -s /run/knot /usr/local/var/run/knot
ln -s /var/lib/knot /usr/local/var/lib/knot
chown knot:knot /run/knot /var/lib/knot /var/log/knot /etc/knot
chmod 755 /run/knot /var/lib/knot /etc/knot
cp {bin}/* /usr/local/sbin
mkdir /usr/local/lib/bowline
cp {library} $(dirname {library})/libbowline-dnssec.so.0 /usr/local/lib/ && ln -s ../libbowline.so.0 /usr/local/lib/bowline/libknot.so.17
mount -t proc proc /proc
mount -t bpf bpf /sys/fs/bpf 2>/dev/null || true
hostname ns1.example.net
mkdir /run/work
/usr/local/sbin/notified &
until [ -S /run/knot.notify ]; do sleep 0.01; done
touch {ready}
# As process 1 it takes in what is left of others.
while :; do sleep 3600 & wait $!; done
"""

# Keeps what the server tells systemd, a line for each message.
NOTIFIED = """\
#!/usr/bin/python3
import os
import socket
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock, open("/run/knot.notified", "ab", buffering=0) as file:
    sock.bind("/run/knot.new")
    os.chmod("/run/knot.new", 0o777)
    os.rename("/run/knot.new", "/run/knot.notify")
    while True:
        file.write(sock.recv(4096).replace(b"\\n", b" ") + b"\\n")
"""

# For what comes a moment later: `wait-for COMMAND`, until it succeeds.
WAIT_FOR = """\
#!/bin/bash
end=$((SECONDS + {patience}))
until bash -c "$*" >/dev/null 2>&1; do
	[ $SECONDS -lt $end ] || {{ echo "wait-for: not within {patience} s: $*" >&2; exit 1; }}
	sleep 0.02
done
"""

SYSTEMCTL = """\
#!/bin/bash
# systemctl VERB knot: runs what the unit file says, and waits as systemd does for Type=notify. Then for the loads, which systemd doesn't: what is
# printed next is the same each time.
unit={unit}
log=/run/knot.journal
line() {{ sed -n "s,^$1=,,p" "$unit" | sed 's,/usr/sbin/,/usr/local/sbin/,; s,\\$KNOT_CONF_MAX_SIZE,512,'; }}
running() {{ [ -e /run/knot.main ] && kill -0 "$(cat /run/knot.main)" 2>/dev/null; }}
wait_for() {{
	local end=$((SECONDS + {patience}))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.02
	done
}}
ended() {{ ! running; }}
count() {{ grep -c READY=1 /run/knot.notified; }}
since() {{ tail -n "+$((from + 1))" $log 2>/dev/null; }}
ready() {{ ended || [ "$(count)" -gt "$before" ]; }}
loaded() {{ ended || ! knotc zone-status 2>/dev/null | grep -qE 'load: (running|pending)'; }}
# Said by the last job of a start, where the log is the journal.
answering() {{ ended || ! since | grep -q 'info: starting server' || since | grep -q 'info: server started answering'; }}
failed() {{
	echo "Job for knot.service failed because the control process exited with error code." >&2
	return 1
}}
stop() {{
	running || return 0
	kill "$(cat /run/knot.main)"
	wait_for ended
}}
start() {{
	running && return 0
	before=$(count)
	from=$(cat $log 2>/dev/null | wc -l)
	cd /
	NOTIFY_SOCKET=/run/knot.notify setsid bash -c "exec $(line ExecStart)" >>$log 2>&1 </dev/null &
	echo $! >/run/knot.main
	wait_for ready && wait_for loaded && wait_for answering && {{ running || failed; }}
}}
reload() {{
	running || return
	before=$(count)
	MAINPID=$(cat /run/knot.main) bash -c "$(line ExecReload)" && wait_for ready && wait_for loaded
}}
[ "${{2%.service}}" = knot ] || {{ echo "Unit $2 not found." >&2; exit 5; }}
case $1 in
start) start ;;
stop) stop ;;
restart) stop && start ;;
reload) reload ;;
is-active) if running; then echo active; else echo inactive; exit 3; fi ;;
*) echo "Unknown command verb $1." >&2; exit 1 ;;
esac
"""

# Of a journal only the messages: what the server prints, without its own time stamps.
JOURNALCTL = """\
#!/bin/sh
sed -E 's/^[0-9]{4}-[0-9-]+T[0-9:.]+([+-][0-9:]+|Z) //' /run/knot.journal
"""


class Link(Pair):
    server_if, client_if = "eth0", "eth0"


class Scene:
    """Make it, run commands, close it (or use `with`)."""

    def __init__(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="bowline-scene-"))
        self.link, self.holder, self.root = None, None, None
        make_or_close(self)

    def _make(self):
        self.link = Link()
        bin_dir = self.work / "bin"
        bin_dir.mkdir()
        for name, folder in PROGRAMS:
            self._program(bin_dir / name, f'#!/bin/sh\nexec "{built(name, folder)}" "$@"\n')
        self._program(bin_dir / "systemctl", SYSTEMCTL.format(unit=UNIT, patience=20 * PATIENCE))
        self._program(bin_dir / "notified", NOTIFIED)
        self._program(bin_dir / "wait-for", WAIT_FOR.format(patience=20 * PATIENCE))
        self._program(bin_dir / "journalctl", JOURNALCTL)
        ready = self.work / "ready"
        script = self.work / "setup"
        script.write_text(SETUP.format(bin=bin_dir, ready=ready, library=library()))
        # unshare's child is process 1 of the new PID namespace and goes with unshare.
        self.holder = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.link.server}", "unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child",
             "bash", str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

        def is_ready():
            assert self.holder.poll() is None, f"no scene: {self.holder.stdout.read()}"
            return ready.exists()
        wait_until(is_ready, "the scene", 20)
        self.root = pathlib.Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split()[0]
        self._check_directories()

    @staticmethod
    def _program(path, text):
        path.write_text(text)
        path.chmod(0o755)

    def _check_directories(self):
        """The manual's paths are those of the packages; a build with others than /usr/local's and these can't run its examples."""
        text = self.run("knotd -h; knotd -VV")[1]
        for path in re.findall(r"/[\w/.-]*knot\b(?!d)", text):
            if not any(path.startswith(prefix) for prefix in ("/etc/", "/var/", "/run/", "/usr/local/", str(BUILD))):
                raise RuntimeError(f"configured with {path}: the manual's examples run with --prefix=/usr/local or /usr")

    def popen(self, command, side="server", **options):
        namespace = self.link.client if side == "client" else self.link.server
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return subprocess.Popen(
            ["nsenter", f"--target={self.root}", "--mount", "--uts", "--pid", f"--net=/run/netns/{namespace}",
             "bash", "-c", f"cd /run/work\n{command}"],
            env={**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": "/run/work", "TERM": "dumb",
                 "LD_LIBRARY_PATH": "/usr/local/lib", "PYTHONPATH": str(BUILD / "python")},
            text=True, errors="replace", stdin=subprocess.DEVNULL, start_new_session=True, **options)

    def run(self, command, side="server", timeout=60):
        """(exit status, everything it printed). What it leaves in the background must not hold its output."""
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = self.popen(command, side, stdout=output, stderr=subprocess.STDOUT)
            try:
                process.wait(timeout * PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            output.seek(0)
            return process.returncode, output.read()

    @staticmethod
    def readable(printed):
        """With the paths that the packages have."""
        for ours, theirs in NAMES:
            printed = printed.replace(ours, theirs)
        return printed

    def write(self, path, text):
        """A file on the small machine."""
        (self.work / "file").write_text(text)
        status, said = self.run(f'mkdir -p "$(dirname {path})" && cat {self.work}/file >{path}')
        assert status == 0, said

    def close(self):
        if self.holder is not None:
            self.holder.kill()
            self.holder.wait()
        if self.link is not None:
            self.link.close()
        shutil.rmtree(self.work, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
