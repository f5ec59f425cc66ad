# SPDX-License-Identifier: BSD-2-Clause
"""Commands over the control socket without a process per command."""
import socket

DATA, BLOCK = b"\x01", b"\x03"
COMMAND, FLAGS, ERROR, ZONE = 0x10, 0x11, 0x12, 0x16


def item(code, text):
    value = text.encode()
    return bytes([code]) + len(value).to_bytes(2, "big") + value


def command(path, name, zone=None, flags=""):
    """Give a command and wait for its end; the text of its error, "" if there is none."""
    request = DATA + item(COMMAND, name) + (item(FLAGS, flags) if flags else b"") + (item(ZONE, zone) if zone else b"") + BLOCK
    reply = b""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(30)
        stream.connect(str(path))
        stream.sendall(request)
        while True:
            block = stream.recv(65536)
            if not block:
                raise ConnectionError(f"{name}: the server closed the connection")
            reply += block
            at, errors, is_whole = 0, [], False
            while at < len(reply) and not is_whole:
                if reply[at] < 0x10:
                    is_whole = reply[at:at + 1] in (BLOCK, b"\x00")
                    at += 1
                elif at + 3 <= len(reply):
                    end = at + 3 + int.from_bytes(reply[at + 1:at + 3], "big")
                    if reply[at] == ERROR:
                        errors.append(reply[at + 3:end].decode(errors="replace"))
                    at = end
                else:
                    break
            if is_whole:
                return "; ".join(errors)
