# SPDX-License-Identifier: BSD-2-Clause
"""Guards that tools need no resolver: where none answers, they wait for nothing. A start of the host may run them, and
the resolver of a name server may well be the name server."""
import os
import subprocess
import sys

import pytest

from harness.server import built, is_ours

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
              pytest.mark.skipif(not is_ours(), reason="promised by Bowline, not by Knot DNS")]

CONF = "server:\n    listen: 127.0.0.1@5353\ndatabase:\n    storage: {0}\nzone:\n  - domain: example\n    storage: {0}\n"

# In a network of its own: a name that no file knows, and a resolver that is asked and never answers. Says how often it was asked.
SCRIPT = r"""
import socket, subprocess, sys
directory, *command = sys.argv[1:]
for text in ("ip link set lo up", "hostname nobody-knows-this", f"mount --bind {directory}/resolv.conf /etc/resolv.conf",
             f"mount --bind {directory}/nsswitch.conf /etc/nsswitch.conf", f"mount --bind {directory}/hosts /etc/hosts"):
    subprocess.run(text.split(), check=True)
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.bind(("127.0.0.1", 53))
done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=25)
resolver.setblocking(False)
asked = 0
try:
    while resolver.recv(512):
        asked += 1
except BlockingIOError:
    pass
print(done.stdout.strip())
print("exit", done.returncode, "asked", asked)
"""


def run(directory, *command):
    (directory / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    (directory / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")
    (directory / "hosts").write_text("127.0.0.1 localhost\n")
    done = subprocess.run(["unshare", "--mount", "--uts", "--net", "--propagation", "private", sys.executable, "-c", SCRIPT, str(directory),
                           *map(str, command)], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_scene(directory):
    """A query to the resolver is noticed."""
    assert run(directory, "getent", "ahosts", "nobody-knows-this")[-1] not in ("exit 2 asked 0", "exit 0 asked 0")


@pytest.mark.parametrize("tool, arguments, says", [
    ("knotc", ["conf-check"], "Configuration is valid"),
    ("knotc", ["conf-export", "/dev/stdout"], 'domain: "example."'),
    ("knotc", ["zone-check", "example"], "exit 0"),
    ("knotc", ["xdp-check"], "exit"),
    ("kzoneimage", [], "opening the folder"),
], ids=["conf-check", "conf-export", "zone-check", "xdp-check", "kzoneimage"])
def test_tools(directory, tool, arguments, says):
    (directory / "knot.conf").write_text(CONF.format(directory))
    (directory / "example.zone").write_text("@ 60 SOA ns h 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\n")
    said = run(directory, built(tool, "tools"), "-c", directory / "knot.conf", *arguments)
    assert said[-1].endswith(" asked 0") and says in "\n".join(said), said
