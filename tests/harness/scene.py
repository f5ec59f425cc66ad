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
import time

from .net import Pair, make_or_close
from .server import BUILD, TOP, built

PROGRAMS = (("knotd", "knotd"), ("knotc", "tools"), ("kzoneimage", "tools"))
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
cp {libknot} /usr/local/lib/ 2>/dev/null || true
mount -t proc proc /proc
mount -t bpf bpf /sys/fs/bpf 2>/dev/null || true
hostname ns1.example.net
mkdir /run/work
touch {ready}
# As process 1 it takes in what is left of others.
while :; do sleep 3600 & wait $!; done
"""

SYSTEMCTL = """\
#!/bin/bash
# systemctl VERB knot: runs what the unit file says.
unit={unit}
log=/run/knot.journal
line() {{ sed -n "s,^$1=,,p" "$unit" | sed 's,/usr/sbin/,/usr/local/sbin/,; s,\\$KNOT_CONF_MAX_SIZE,512,'; }}
running() {{ [ -e /run/knot.main ] && kill -0 "$(cat /run/knot.main)" 2>/dev/null; }}
stop() {{
	running || return 0
	kill "$(cat /run/knot.main)"
	for _ in $(seq 200); do running || return 0; sleep 0.05; done
	return 1
}}
start() {{
	running && return 0
	if ! bash -c "$(line ExecStartPre)" >>$log 2>&1; then
		echo "Job for knot.service failed because the control process exited with error code." >&2
		return 1
	fi
	cd /
	setsid bash -c "exec $(line ExecStart)" >>$log 2>&1 </dev/null &
	echo $! >/run/knot.main
	for _ in $(seq 200); do
		[ "$(knotc status 2>/dev/null)" = Running ] && sleep 0.1 && return 0
		running || {{ echo "Job for knot.service failed because the control process exited with error code." >&2; return 1; }}
		sleep 0.05
	done
	return 1
}}
[ "${{2%.service}}" = knot ] || {{ echo "Unit $2 not found." >&2; exit 5; }}
case $1 in
start) start ;;
stop) stop ;;
restart) stop && start ;;
reload) running && MAINPID=$(cat /run/knot.main) bash -c "$(line ExecReload)" && sleep 0.5 ;;
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
        self._program(bin_dir / "systemctl", SYSTEMCTL.format(unit=UNIT))
        self._program(bin_dir / "journalctl", JOURNALCTL)
        ready = self.work / "ready"
        script = self.work / "setup"
        script.write_text(SETUP.format(bin=bin_dir, ready=ready, libknot=BUILD / ".libs" / "libknot.so.17"))
        # unshare's child is process 1 of the new PID namespace and goes with unshare.
        self.holder = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.link.server}", "unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child",
             "bash", str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 20
        while not ready.exists():
            if self.holder.poll() is not None:
                raise RuntimeError(f"no scene: {self.holder.stdout.read()}")
            if time.monotonic() > end:
                raise RuntimeError("the scene is not ready after 20 s")
            time.sleep(0.02)
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
                process.wait(timeout)
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
