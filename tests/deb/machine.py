# SPDX-License-Identifier: BSD-2-Clause
"""Whole machines: Debian and Ubuntu in containers, started with their own systemd, without a network but their own loopback.

A base of each distribution is made once by debootstrap and kept (MACHINES, default /var/cache/bowline-machines); machines are
overlays of it that vanish with the test. What apt-get installs in a machine was fetched before: a machine reaches nothing.
"""
import contextlib
import glob
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CACHE = os.environ.get("MACHINES", "/var/cache/bowline-machines")
# Debian 12 and 13, Ubuntu 24.04 and 26.04.
SUITES = {
    "bookworm": ("debian", ["bookworm main"]),
    "trixie": ("debian", ["trixie main"]),
    "noble": ("ubuntu", ["noble main universe", "noble-updates main universe"]),
    "resolute": ("ubuntu", ["resolute main universe", "resolute-updates main universe"]),
}
INCLUDE = "systemd,systemd-sysv,dbus,iproute2,procps,adduser,ca-certificates,apparmor"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}


def call(*command, timeout, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, timeout=timeout, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def in_tree(root, script, *binds, timeout=600):
    """Run a shell script in a tree, with this machine's network and without starting it."""
    return call("systemd-nspawn", "-q", "--register=no", "--keep-unit", "--timezone=off", "-M", "m" + secrets.token_hex(4),
                "-D", root, *(f"--bind={bind}" for bind in binds),
                *(f"--setenv={key}={value}" for key, value in ENVIRONMENT.items()), "bash", "-ec", script, timeout=timeout)


def mirror_of(distribution):
    """The address that DEBIAN_MIRROR or UBUNTU_MIRROR names, or where this machine's apt fetches the distribution's packages from; or None."""
    named = os.environ.get(f"{distribution.upper()}_MIRROR")
    if named:
        return named.rstrip("/")
    label = distribution.capitalize()
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", f"Origin: {label}", f"Label: {label}"],
                          stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    return next((line.rstrip("/") for line in done.stdout.split("\n") if line.startswith("http")), None)


def base(suite):
    """The distribution's tree, made when it isn't there yet."""
    root = os.path.join(CACHE, suite)
    if os.path.isdir(root):
        return root
    distribution, components = SUITES[suite]
    mirror = mirror_of(distribution)
    archives = os.path.join(CACHE, "archives", suite)
    os.makedirs(archives, exist_ok=True)
    scripts = "/usr/share/debootstrap/scripts"
    arguments = []
    if not os.path.exists(f"{scripts}/{suite}"):  # a debootstrap older than the distribution: all of Ubuntu's are alike
        arguments = [f"{scripts}/gutsy"]
    if distribution == "ubuntu" and not os.path.exists("/usr/share/keyrings/ubuntu-archive-keyring.gpg"):
        arguments.insert(0, "--no-check-gpg")
    options = [option for option in arguments if option.startswith("-")]
    script = [option for option in arguments if not option.startswith("-")]
    partial = root + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    call("debootstrap", "--variant=minbase", f"--cache-dir={archives}", f"--include={INCLUDE}",
         f"--components={components[0].split(' ', 1)[1].replace(' ', ',')}", *options, suite, partial, mirror, *script, timeout=900)
    with open(f"{partial}/etc/apt/sources.list", "w", encoding="ascii") as file:
        file.writelines(f"deb {mirror} {line}\n" for line in components)
    os.rename(partial, root)
    return root


def builder(suite, root):
    """A tree of its own to build packages in, so that what that takes isn't in the machines."""
    tree = os.path.join(CACHE, suite + "-builder")
    if not os.path.isdir(tree):
        call("cp", "-a", root, tree + ".partial", timeout=120)
        os.rename(tree + ".partial", tree)
    return tree


def pack():
    """The files of the source as they are now, for build()."""
    files = subprocess.run(["git", "-C", TOP, "ls-files", "-z"], check=True, capture_output=True).stdout
    os.makedirs(CACHE, exist_ok=True)
    subprocess.run(["tar", "-C", TOP, "--null", "-T", "-", "-cf", f"{CACHE}/tree.tar"], input=files, check=True)


def build(suite, root, place, settings=""):
    """As on a fresh machine: what was packed, at `place`, and `./dev deb`, which installs what it needs. The folder that the packages are in."""
    tree = os.path.join(CACHE, "tree")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    subprocess.run(["tar", "-C", tree, "-xf", f"{tree}.tar"], check=True)
    print(in_tree(builder(suite, root), f"{settings}cd {place} && ./dev deb", f"{tree}:{place}", timeout=3600))
    return os.path.join(tree, "deb")


def fetch(root, packages, *wanted):
    """Fetch what installing `wanted` takes into the base's own archive of packages."""
    in_tree(root, f"apt-get -q update && apt-get -q install -y --no-install-recommends --download-only {' '.join(wanted)}",
            f"{packages}:/packages")


class Machine:
    """A started machine. `packages` is a folder, seen as /packages."""

    def __init__(self, root, packages, *options):
        self.name = "bowline-" + secrets.token_hex(4)
        self.work = tempfile.mkdtemp(prefix="bowline-machine-", dir=CACHE)
        self.root = os.path.join(self.work, "root")
        self.packages = packages
        self.options = options
        self.process = self.init = None
        for part in ("root", "upper", "scratch"):
            os.mkdir(os.path.join(self.work, part))
        call("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={root},upperdir={self.work}/upper,workdir={self.work}/scratch",
             self.root, timeout=10)

    def start(self):
        with open(os.path.join(self.work, "console"), "ab") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "-q", "--register=no", "--keep-unit", "--timezone=off", "-M", self.name, "-D", self.root,
                 "--private-network", "--kill-signal=SIGRTMIN+3", f"--bind-ro={self.packages}:/packages", *self.options, "-b"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
        self.init = None
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            children = glob.glob(f"/proc/{self.process.pid}/task/*/children")
            pids = " ".join(open(path, encoding="ascii").read() for path in children).split()
            if pids:
                self.init = pids[0]
                state = self.run("systemctl is-system-running || true", check=False).strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.3)     # looks again: the machine starts
        with open(os.path.join(self.work, "console"), encoding="utf-8", errors="replace") as console:
            raise RuntimeError("the machine did not start:\n" + console.read()[-3000:])

    def stop(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)
        self.process = None

    def restart(self):
        """As after a loss of nothing but power: what services run is what is enabled."""
        self.stop()
        self.start()

    def run(self, script, check=True, timeout=120):
        """Run a shell script in the machine; its output."""
        command = ["nsenter", "-t", self.init, "-m", "-u", "-i", "-n", "-p", "-C", "bash", "-c", script]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=timeout, check=False, env=ENVIRONMENT)
        if check and done.returncode != 0:
            raise RuntimeError(f"{script}: exit {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def write(self, path, text):
        """Write a file as an editor does: owner and mode stay."""
        with open(self.root + path, "w", encoding="utf-8") as file:
            file.write(text)

    def close(self):
        self.stop()
        call("umount", "-l", self.root, timeout=10)
        shutil.rmtree(self.work, ignore_errors=True)


@contextlib.contextmanager
def machine(root, packages, *options):
    one = Machine(root, packages, *options)
    try:
        one.start()
        yield one
    finally:
        one.close()
