# SPDX-License-Identifier: BSD-2-Clause
"""Programs with a prompt (libedit), typed to and read as by a user."""
import os
import pty
import re
import select
import signal
import termios

from .waiting import wait_until


class Prompt:
    """A program with a prompt on a terminal of its own."""

    def __init__(self, *arguments, home):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # Shells start what runs in the background with this ignored, and children inherit it.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.environ.update(TERM="vt100", HOME=str(home))
            os.execv(arguments[0], arguments)
        self.text = ""

    def read_until(self, pattern):
        """What was printed up to the pattern, without it being seen again."""
        def printed():
            # The editor moves the cursor instead of printing again what is there.
            self.text = re.sub(r"\r?\x1b\[\d*[CK]|\x00", "", self.text)
            match = re.search(pattern, self.text)
            if match is None and select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            return match

        match = wait_until(printed, lambda: f"/{pattern}/ in {self.text!r}", pause=0)
        seen, self.text = self.text[:match.end()], self.text[match.end():]
        return seen

    def type(self, text):
        # The editor shows its prompt before it takes single characters: an end of input in between would be lost.
        wait_until(lambda: not termios.tcgetattr(self.fd)[3] & termios.ICANON, "the editor to read", pause=0.01)
        os.write(self.fd, text.encode())

    def wait(self):
        """Exit status."""
        def has_ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid != 0 else None

        (status,) = wait_until(has_ended, "the program to end", pause=0.01)
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
