# SPDX-License-Identifier: BSD-2-Clause
"""Guards the xdp-* commands against requests that knotc never makes: items missing, empty, not UTF-8, as long as can be."""
import random
import socket

import pytest

from harness.net import may_make_namespaces
from harness.waiting import PATIENCE
from xdp_server import ask, start

pytestmark = [pytest.mark.ours, pytest.mark.skipif(not may_make_namespaces(), reason="namespaces need root")]

COMMANDS = ("xdp-status", "xdp-block", "xdp-capture", "xdp-capture-read", "xdp-capture-stop")
VALUES = (b"", b"\xff\xfe\x80", b"x" * 65535, b"0", b"-1", b"18446744073709551616", b"add", b"remove", b"list", b"%s%n",
          b"203.0.113.0/24", b"203.0.113.1/24", b"::ffff:203.0.113.0/120", b"2001:db8:f::/48", b"2001:db8:f::/129", b"/", b"@",
          b"1,6 0 0 65535", b"1,6 0 0", b"4097,6 0 0 1", b"srv0", b"srv0-and-more-of-it", b"lo\nerror: x")
NAMES = range(1, 11)    # all items but the command: KNOT_CTL_IDX_*


def item(index, value):
    return bytes([16 + index]) + len(value).to_bytes(2, "big") + value


def until_block(stream):
    """Everything up to the end of a reply, which is a byte of its own that no item has."""
    data, at = b"", 0
    while True:
        while at < len(data):
            if data[at] >= 16:
                at += 3 + int.from_bytes(data[at + 1:at + 3], "big")
                continue
            if data[at] in (0, 3):
                return
            at += 1
        part = stream.recv(1 << 16)
        if not part:
            return
        data += part


@pytest.mark.parametrize("seed", range(3))
def test_odd_requests(make_knotd, pair, seed):
    server = start(make_knotd, pair)
    dice = random.Random(seed)
    for _ in range(60):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(10 * PATIENCE)
            stream.connect(str(server.socket))
            for _ in range(dice.randrange(1, 6)):
                items = b"".join(item(index, dice.choice(VALUES)) for index in NAMES if dice.random() < 0.3)
                stream.sendall(b"\x01" + item(0, dice.choice(COMMANDS).encode()) + items + b"\x03")
                if dice.random() < 0.2:
                    break    # goes without the reply
                until_block(stream)
    assert ask(server, pair, "www.example").answer
    assert server.knotc("status").stdout == "Running\n"
