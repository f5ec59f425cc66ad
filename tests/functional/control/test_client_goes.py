# SPDX-License-Identifier: BSD-2-Clause
"""Guards against clients that close the connection within a reply: the thread that served them must be free again."""
import socket

import pytest

from zones import example

pytestmark = pytest.mark.ours


def test_client_goes_within_a_reply(knotd):
    knotd.write("example.zone", example())
    knotd.configure(zones=["example"])
    # The server doesn't wait for a client that has gone: not for control.timeout, which is longer than the test's patience.
    knotd.conf(knotd.path.read_text().replace("control:\n", "control:\n    timeout: 3600\n"))
    knotd.start()
    command, zone = b"\x10\x00\x0bzone-status", b"\x16\x00\x08example."
    for _ in range(20):     # more than there are threads
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(str(knotd.socket))
            stream.sendall((b"\x01" + command + zone) * 2000)      # and no end of the request
            assert stream.recv(100)
    assert knotd.knotc("status").stdout == "Running\n"
    assert knotd.stop() == 0
