# SPDX-License-Identifier: BSD-2-Clause
"""Other people's tools for asking against the daemon. Tools for control: tests/functional/control."""
import re
import shutil
import subprocess
import time

import pytest

from harness.clock import Clock
from harness.server import built
from zones import example


@pytest.fixture
def server(knotd):
    knotd.write("example.zone", example(3))
    knotd.configure(zones=["example"])
    return knotd.start()


def tool(name, *arguments, **options):
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    done = subprocess.run([name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("options", [[], ["+tcp"], ["+dnssec", "+nsid"]], ids=["udp", "tcp", "dnssec"])
def test_kdig(server, options):
    text = tool("kdig", f"@127.0.0.1@{server.port}", "www.example", "AAAA", *options)
    assert "status: NOERROR" in text and "2001:db8::80" in text and ";; WARNING" not in text


@pytest.mark.parametrize("options", [[], ["+tcp"], ["+dnssec", "+nsid"], ["+subnet=192.0.2.0/24"]],
                         ids=["udp", "tcp", "dnssec", "subnet"])
def test_dig(server, options):
    text = tool("dig", "@127.0.0.1", "-p", str(server.port), "www.example", "AAAA", *options)
    assert "status: NOERROR" in text and "2001:db8::80" in text and ";; Warning" not in text


@pytest.mark.parametrize("mode", ["udp", "tcp"])
@pytest.mark.threads
def test_dnsperf(server, mode):
    lines = ("www.example A", "nothing.example MX", "x.tree.example A", "big.example TXT", "deep.sub.example A")
    queries = server.write("queries", "".join(f"{line}\n" for line in lines * 2000))
    text = tool("dnsperf", "-s", "127.0.0.1", "-p", str(server.port), "-d", str(queries), "-n", "1", "-t", "20", "-m", mode, "-c", "4", "-Q", "5000")
    sent, completed = (int(re.search(rf"Queries {word}:\s+(\d+)", text).group(1)) for word in ("sent", "completed"))
    assert sent == 2000 * len(lines) and sent - completed <= sent // 1000, text


KEY = """key:
  - id: k
    algorithm: hmac-sha256
    secret: c2VjcmV0
acl:
  - id: all
    key: k
    action: [transfer, update]
template:
  - id: default
    acl: all
"""


@pytest.mark.ours
@pytest.mark.parametrize("ahead", [-4000, 100000])
def test_clocks_that_differ(knotd, ahead):
    """kdig and knsupdate say by how much: the one at the terminal may be the wrong one."""
    knotd.write("example.zone", example(3))
    knotd.configure(KEY, zones=["example"])
    knotd.start()
    clock = Clock(knotd.dir / "clock", time.time() - ahead)     # of the tools: the server is ahead of it
    said = rf"TSIG out of time window: the server's clock is (\d+) s {'ahead of' if ahead > 0 else 'behind'} this one"
    (knotd.dir / "update").write_text(f"server 127.0.0.1 {knotd.port}\nzone example.\nadd new.example. 60 A 192.0.2.1\nsend\n")
    for command in (["kdig", f"@127.0.0.1@{knotd.port}", "-y", "k:c2VjcmV0", "example", "SOA"], ["kdig", f"@127.0.0.1@{knotd.port}", "-y", "k:c2VjcmV0", "example", "AXFR"],
                    ["knsupdate", "-y", "k:c2VjcmV0", str(knotd.dir / "update")]):
        done = subprocess.run([built(command[0], "tools"), *command[1:]], capture_output=True, text=True, timeout=100, check=False, env=clock.whole_environment())
        differs = re.search(said, done.stderr)
        assert differs and abs(int(differs[1]) - abs(ahead)) < 60, done
        server, = re.findall(r" BADTIME 6 (\d+)$", done.stdout, re.M) or [time.time()]   # readable, as the time signed
        assert abs(int(server) - time.time()) < 60
