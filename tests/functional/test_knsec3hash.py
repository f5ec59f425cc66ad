# SPDX-License-Identifier: BSD-2-Clause
"""knsec3hash: the examples of RFC 5155 appendix A, and byte by byte what Debian's says."""
import os
import subprocess

import pytest

from harness.server import built

pytestmark = [pytest.mark.ours, pytest.mark.core]
PEER = "/usr/bin/knsec3hash"
HELP = "Usage:   knsec3hash <salt> <algorithm> <iterations> <domain-name>\n"

# RFC 5155 appendix A: salt aabbccdd, 12 iterations.
RFC = {
    "example": "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom",
    "a.example": "35mthgpgcu1qg68fab165klnsnk3dpvl",
    "ai.example": "gjeqe526plbf1g8mklp59enfd789njgi",
    "ns1.example": "2t7b4g4vsa5smi47k61mv5bv1a22bojr",
    "*.w.example": "r53bq7cc2uvmubfu5ocmm6pers9tk9en",
    "xx.example": "t644ebqk9bibcna874givr6joj62mlhv",
}

# (arguments, exit status, standard output, standard error)
CASES = [
    (["c01dcafe", "1", "10", "knot-dns.cz"], 0, "7ptvge7qv67em61ros9238p5rakr2dm7 (salt=c01dcafe, hash=1, iterations=10)\n", ""),
    (["C01DCAFE", "01", "+10", "KNOT-dns.cz."], 0, "7ptvge7qv67em61ros9238p5rakr2dm7 (salt=C01DCAFE, hash=1, iterations=10)\n", ""),
    (["1", "0", "10", "c01dcafe", "knot-dns.cz"], 0, "7ptvge7qv67em61ros9238p5rakr2dm7 (salt=1, hash=1, iterations=10)\n", ""),
    (["1", "no number", "10", "c01dcafe", "knot-dns.cz"], 0, "7ptvge7qv67em61ros9238p5rakr2dm7 (salt=1, hash=1, iterations=10)\n", ""),
    (["-", "1", "0", "net"], 0, "a1rt98bs5qgc9nfi51s9hci47uljg6jh (salt=-, hash=1, iterations=0)\n", ""),
    (["", "1", "0", "net"], 0, "a1rt98bs5qgc9nfi51s9hci47uljg6jh (salt=, hash=1, iterations=0)\n", ""),
    (["-", "1", "0", "."], 0, "bekjp7dgpvsjukll47bk43i3urmq4u2f (salt=-, hash=1, iterations=0)\n", ""),
    (["-", "1", "65535", "a"], 0, "2e0q2n4a1lqu1jnjp0d1lqqi8l854bhk (salt=-, hash=1, iterations=65535)\n", ""),
    # The first fault is said, in this order: algorithm, iterations, salt, name, and what has no code.
    (["zz", "x", "y", "a..b"], 1, "", "error: invalid algorithm number\n"),
    (["zz", "1", "y", "a..b"], 1, "", "error: invalid iteration count\n"),
    (["zz", "2", "0", "a..b"], 1, "", "error: invalid salt (invalid parameter)\n"),
    (["aa", "2", "0", "a..b"], 1, "", "error: cannot parse domain name\n"),
    (["aa", "2", "0", "a"], 1, "", "error: cannot compute NSEC3 hash (invalid NSEC3 algorithm)\n"),
    (["-", "0", "0", "a"], 1, "", "error: cannot compute NSEC3 hash (invalid NSEC3 algorithm)\n"),
    (["-", "256", "0", "a"], 1, "", "error: invalid algorithm number\n"),
    (["-", "1", "65536", "a"], 1, "", "error: invalid iteration count\n"),
    (["-", "1", "", "a"], 1, "", "error: invalid iteration count\n"),
    (["-", "1", " 1", "a"], 1, "", "error: invalid iteration count\n"),
    (["-", "1", "0x1", "a"], 1, "", "error: invalid iteration count\n"),
    (["abc", "1", "0", "a"], 1, "", "error: invalid salt (invalid parameter)\n"),
    (["aa" * 256, "1", "0", "a"], 1, "", "error: invalid salt, maximum length is 255 bytes\n"),
    (["-", "1", "0", ""], 1, "", "error: cannot parse domain name\n"),
    (["-", "1", "0", "a" * 64], 1, "", "error: cannot parse domain name\n"),
]
USAGE = [([], 1), (["-", "1", "0"], 1), (["a"] * 6, 1), (["-h"], 0), (["--help", "x"], 0), (["-x"], 1), (["-", "1", "-1", "a"], 1), (["-", "1", "1", "a", "-x"], 1)]


def run(arguments, program=None):
    program = program or built("knsec3hash", "tools")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.replace(f"{program}: ", "knsec3hash: ")


@pytest.mark.parametrize("name", RFC)
def test_rfc(name):
    assert run(["aabbccdd", "1", "12", name]) == (0, f"{RFC[name]} (salt=aabbccdd, hash=1, iterations=12)\n", "")


@pytest.mark.parametrize("arguments,status,stdout,stderr", CASES, ids=range(len(CASES)))
def test_case(arguments, status, stdout, stderr):
    assert run(arguments) == (status, stdout, stderr)


@pytest.mark.parametrize("arguments,status", USAGE, ids=range(len(USAGE)))
def test_usage(arguments, status):
    result = run(arguments)
    assert result[0] == status and result[1].startswith(HELP)


def test_end_of_options():
    """Differently from Knot's, which takes the dashes for the salt."""
    assert run(["--", "-", "1", "0", "net"]) == (0, "a1rt98bs5qgc9nfi51s9hci47uljg6jh (salt=-, hash=1, iterations=0)\n", "")


def test_version():
    assert run(["-V"])[1].startswith("knsec3hash (Bowline), version ")


@pytest.mark.skipif(not os.path.exists(PEER), reason="Debian's knot-dnssecutils is not installed")
@pytest.mark.parametrize("arguments", [case[0] for case in CASES] + [case[0] for case in USAGE] + [["aabbccdd", "1", "12", name] for name in RFC])
def test_as_the_peer(arguments):
    assert run(arguments) == run(arguments, PEER)
