# SPDX-License-Identifier: BSD-2-Clause
"""The daemon under test: its files, its process, its log."""
import os
import pathlib
import re
import signal
import socket
import subprocess

import dns.exception
import dns.message
import dns.query

from .net import free_port, inside
from .waiting import PATIENCE, wait_until

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", TOP / "build"))


def built(name, folder):
    """Path of a program of the build tree; the variable KNOTD, KNOTC ... names another, e.g. the distribution's."""
    override = os.environ.get(name.upper())
    if override:
        return override
    for path in (BUILD / "src" / folder / name, BUILD / name):
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"{name} is not built in {BUILD}; run ./dev build")


def library():
    """Path of the shared library of the build tree, or None: what the Python package libknot is to load."""
    path = BUILD / ".libs" / "libbowline.so.0"
    return path if path.exists() else None


def is_ours():
    """False when the tests run another daemon to check the tests themselves."""
    return "KNOTD" not in os.environ or str(BUILD) in os.environ["KNOTD"]


class Knotd:
    """One daemon in its own directory. Write files, start, ask, stop; everything that it says is in `log()`.

    The configuration is a template: {dir} is the directory, {port} a free port.
    """

    LOGGING = "log:\n  - target: stdout\n    any: debug\n"

    def __init__(self, directory, namespace=None, program=None):
        self.program = program          # path; None: the one that was built
        self.dir = pathlib.Path(directory)
        self.namespace = namespace
        self.port = free_port()
        self.process = None
        self.path = self.dir / "knot.conf"
        self.output = self.dir / "output.log"
        (self.dir / "run").mkdir(parents=True, exist_ok=True)
        self.socket = self.dir / "run" / "knot.sock"
        self.source = ("-c", str(self.path))    # where it takes its configuration from

    # ---- files ----

    def write(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    # For tests that keep a connection while they wait: the server closes one that is silent, and gives up a command that waits for others.
    PATIENT = "timeout: 3600"

    def configure(self, text="", zones=(), listen=("127.0.0.1",), server="", logging=True, control=""):
        """A whole configuration: `server` and `control` hold more items of these sections, `text` more sections after them."""
        lines = ["server:", f"    rundir: {self.dir}/run", "    udp-workers: 2", "    tcp-workers: 2",
                 "    background-workers: 2"]
        if listen:
            lines.append("    listen: [" + ", ".join(a if a.startswith("/") else f"{a}@{self.port}" for a in listen) + "]")
        lines += [f"    {line}" for line in server.strip().splitlines()]
        lines += ["control:", "    listen: knot.sock", *(f"    {line}" for line in control.splitlines()), "database:", f"    storage: {self.dir}/db"]
        if logging:
            lines.append(self.LOGGING.rstrip())
        if text:
            lines.append(text.rstrip())
        if zones:
            lines.append("zone:")
            for zone in zones:
                lines += [f"  - domain: {zone}", f"    storage: {self.dir}"]
        self.conf("\n".join(lines) + "\n")

    def conf(self, text):
        whole = self.path.with_suffix(".new")   # a reload must not find half of it
        whole.write_text(text.replace("{dir}", str(self.dir)).replace("{port}", str(self.port)))
        whole.replace(self.path)

    # ---- process ----

    def start(self, *arguments, ready=True, environment=None):
        """Start in the foreground. ready: wait until it answers, else return at once."""
        command = [self.program or built("knotd", "knotd"), *self.source, *arguments]
        if self.namespace is not None:
            command = ["nsenter", f"--net=/run/netns/{self.namespace}", *command]
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            cwd=self.dir, env={**os.environ, **(environment or {})})
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self, timeout=20):
        self.wait_log(r"server started answering|server started in the foreground|info: server started\b", timeout)
        # Knot 3.2 says so before the control socket and the zones are there.
        self.wait(lambda: self.socket.exists() and self.knotc("status", check=False).returncode == 0, timeout,
                  "the control socket answers")

    def wait(self, condition, timeout=10, what="condition"):
        def met_or_dead():
            met = condition()
            assert met or self.process.poll() is None, f"knotd ended with {self.process.returncode} while waiting for {missing()}:\n{self.log()}"
            return met

        def missing():
            return what() if callable(what) else what
        return wait_until(met_or_dead, lambda: f"{missing()}\n{self.log()[-4000:]}", timeout)

    def wait_log(self, pattern, timeout=10, count=1):
        """Wait until the log has `count` lines that match."""
        self.wait(lambda: len(re.findall(pattern, self.log())) >= count, timeout, f"log line /{pattern}/")

    def wait_end(self, timeout=10):
        """Exit status of a daemon that is expected to end without a signal, within `timeout` seconds times PATIENCE."""
        try:
            return self.process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"knotd goes on running:\n{self.log()[-4000:]}") from None

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, number=signal.SIGTERM, timeout=15):
        """Stop, within `timeout` seconds times PATIENCE; the exit status, negative for a signal."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(timeout * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"knotd did not stop within {timeout * PATIENCE} s:\n{self.log()[-4000:]}") from None
        return self.process.returncode

    def log(self):
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def finish(self):
        """End of a test: stop and see that nothing went wrong underneath."""
        running = self.is_running()
        status = self.stop()
        log = self.log()
        for trouble in ("Sanitizer", "runtime error:", "Assertion", "stack smashing"):
            assert trouble not in log, f"{trouble}:\n{log[-8000:]}"
        if running:
            assert status == 0, f"knotd ended with {status}:\n{log[-4000:]}"
        elif status is not None and status < 0:
            assert status == -signal.SIGKILL, f"knotd died of signal {-status}:\n{log[-4000:]}"

    # ---- control ----

    def knotc(self, *arguments, check=True, program=None, timeout=30):
        """Run knotc against this daemon, for at most `timeout` seconds times PATIENCE."""
        try:
            program = program or built("knotc", "tools")
        except FileNotFoundError:
            program = "/usr/sbin/knotc"
        done = subprocess.run([program, "-s", str(self.socket), *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=timeout * PATIENCE, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"knotc {' '.join(arguments)}: exit {done.returncode}: {done.stdout}\n{self.log()[-3000:]}")
        return done

    def stats(self, *arguments):
        """Counters as a dictionary, e.g. {"mod-stats.request-protocol[udp4]": 3}."""
        result = {}
        for line in self.knotc(*(arguments or ("-f", "stats"))).stdout.splitlines():
            match = re.match(r"(?:\[\S+\] )?(\S+?)(?: =|:) (\d+)$", line.strip())
            if match:
                result[match.group(1)] = int(match.group(2))
        return result

    # ---- questions ----

    # Long enough for any machine: who expects silence says how long it has to last.
    ANSWER_S = 5 * PATIENCE

    def ask(self, name, rdtype="A", where="127.0.0.1", tcp=False, timeout=ANSWER_S, client=None, **options):
        """One question by UDP or TCP; a dns.message.Message. client: namespace to ask from."""
        query = dns.message.make_query(name, rdtype, **options)
        return self.exchange(query, where, tcp, timeout, client)

    def exchange(self, query, where="127.0.0.1", tcp=False, timeout=ANSWER_S, client=None, port=None, source_port=0):
        function = dns.query.tcp if tcp else dns.query.udp
        with inside(client if client is not None else self.namespace):
            return function(query, where, port=port or self.port, timeout=timeout, source_port=source_port)

    def send_raw(self, data, where="127.0.0.1", timeout=ANSWER_S, client=None, port=None):
        """Answer to one datagram of any bytes, None if there is none in time."""
        family = socket.AF_INET6 if ":" in where else socket.AF_INET
        with inside(client if client is not None else self.namespace):
            sock = socket.socket(family, socket.SOCK_DGRAM)
        with sock:
            sock.settimeout(timeout)
            sock.connect((where, port or self.port))
            sock.send(data)
            try:
                return sock.recv(65535)
            except TimeoutError:
                return None

    def is_answering(self, where="127.0.0.1", timeout=0.3):
        try:
            self.ask(".", "SOA", where, timeout=timeout)
        except (dns.exception.DNSException, OSError):
            return False
        return True
