# SPDX-License-Identifier: BSD-2-Clause
"""A program in a terminal: keys go in, the screen is looked at. tmux is the terminal, each one a server of its own."""
import os
import re
import secrets
import shlex
import shutil
import subprocess
import termios

import pytest

from .waiting import PATIENCE, wait_until


class Terminal:
    """Runs a command in a terminal of width × height; the screen stays when it ends, with its status (`ended`). Close it, or use `with`."""

    def __init__(self, directory, *command, width=100, height=40, environment=None):
        if shutil.which("tmux") is None:
            pytest.skip("no tmux")
        name = secrets.token_hex(3)
        self.socket = directory / f"tmux-{name}.sock"
        self.end = directory / f"tmux-{name}.status"
        variables = {"HOME": str(directory), "LC_ALL": "C.UTF-8", **(environment or {})}
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
        line = f"{shlex.join(words)}; echo $? > {shlex.quote(str(self.end))}; sleep {60 * PATIENCE}"
        self.tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-s", "x", line)

    def tmux(self, *arguments):
        done = subprocess.run(["tmux", "-u", "-S", str(self.socket), "-f", "/dev/null", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, timeout=20 * PATIENCE)
        assert done.returncode == 0, (arguments, done.stdout)
        return done.stdout

    def _wait_for_keys(self, timeout=10):
        """Until the program takes single keys: a prompt is shown a moment before that, and what comes in between is echoed by the system."""
        tty = self.tmux("display-message", "-p", "-t", "x", "#{pane_tty}").strip()
        fd = os.open(tty, os.O_RDWR | os.O_NOCTTY)
        try:
            wait_until(lambda: not termios.tcgetattr(fd)[3] & termios.ICANON, lambda: f"the program takes keys\n{self.screen()}", timeout, 0.01)
        finally:
            os.close(fd)

    def type(self, text):
        """Characters as they are, to a program that takes single keys."""
        self._wait_for_keys()
        self.tmux("send-keys", "-t", "x", "-l", "--", text)

    def press(self, *keys):
        """Keys by name: Tab, Enter, C-u, Up ..."""
        self._wait_for_keys()
        self.tmux("send-keys", "-t", "x", *keys)

    def screen(self, colors=False, history=False):
        """Lines without the blanks at their ends."""
        text = self.tmux("capture-pane", "-p", "-t", "x", *(["-e"] if colors else []), *(["-S", "-"] if history else []))
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def wait(self, pattern, timeout=10, **options):
        """The screen once it matches (re.MULTILINE)."""
        found = wait_until(lambda: re.search(pattern, self.screen(**options), re.MULTILINE), lambda: f"/{pattern}/ in\n{self.screen()}", timeout)
        return found.string

    def resize(self, width, height):
        self.tmux("resize-window", "-t", "x", "-x", str(width), "-y", str(height))

    def ended(self, timeout=10):
        """Exit status of the command."""
        text = wait_until(lambda: self.end.exists() and self.end.read_text().strip(), lambda: f"the command's end\n{self.screen()}", timeout)
        return int(text)

    def pid(self):
        """Of the command itself, once it runs."""
        shell = self.tmux("list-panes", "-t", "x", "-F", "#{pane_pid}").strip()
        found = wait_until(lambda: subprocess.run(["pgrep", "-P", shell], stdout=subprocess.PIPE, text=True, check=False).stdout.split(),
                           "the command")
        return int(found[0])

    def close(self):
        subprocess.run(["tmux", "-S", str(self.socket), "kill-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                       timeout=20 * PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def shell(directory):
    """A shell of its own with the prompt `shell>`, to run, stop and continue a program in."""
    terminal = Terminal(directory, "bash", "--norc", "--noprofile", "-i", environment={"PS1": "shell> "})
    try:
        terminal.wait(r"^shell>")
    except BaseException:
        terminal.close()
        raise
    return terminal
