# SPDX-License-Identifier: BSD-2-Clause
"""Commands over the control socket without a process per command; the bytes of the protocol, good and bad ones."""
import socket
import time

END, DATA, EXTRA, BLOCK = b"\x00", b"\x01", b"\x02", b"\x03"
ITEMS = ("cmd", "flags", "error", "section", "item", "id", "zone", "owner", "ttl", "type", "data", "filters")
CODES = {name: 16 + index for index, name in enumerate(ITEMS)}
COMMAND, FLAGS, ERROR, ZONE = 0x10, 0x11, 0x12, 0x16


def item(code, text):
    value = text if isinstance(text, bytes) else text.encode()
    return bytes([code]) + len(value).to_bytes(2, "big") + value


def unit(kind=DATA, **items):
    """A unit: unit(cmd="zone-read", zone="example", type="SOA")."""
    return kind + b"".join(item(CODES[name], value) for name, value in sorted(items.items(), key=lambda pair: CODES[pair[0]]))


class Client:
    """A connection that speaks the protocol's bytes."""

    def __init__(self, path, timeout=30):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(timeout)
        end = time.monotonic() + timeout
        while True:
            try:
                self.stream.connect(str(path))
                break
            except BlockingIOError:     # the backlog is full, and Python's connect doesn't wait
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)
        self.left = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def send(self, *parts):
        self.stream.sendall(b"".join(parts))

    def read(self, count):
        while len(self.left) < count:
            more = self.stream.recv(65536)
            if not more:
                raise ConnectionError("the server closed the connection")
            self.left += more
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def block(self):
        """Units up to a BLOCK (which is not among them) or an END (which is, as ("end", {}))."""
        units = []
        while (kind := self.read(1)) != BLOCK:
            if kind == END:
                return [*units, ("end", {})]
            if kind in (DATA, EXTRA):
                units.append(("data" if kind == DATA else "extra", {}))
                continue
            length = int.from_bytes(self.read(2), "big")
            units[-1][1][ITEMS[kind[0] - 16]] = self.read(length).decode(errors="replace")
        return units

    def ask(self, **items):
        """The reply to a command of one unit."""
        self.send(unit(**items), BLOCK)
        return self.block()

    def is_closed(self, timeout):
        """True if the server closes the connection within the time; what it sends before is thrown away."""
        self.stream.settimeout(timeout)
        try:
            while self.stream.recv(65536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            pass
        return True

    def is_silent(self, timeout):
        """True if the server neither replies nor closes."""
        self.stream.settimeout(timeout)
        try:
            self.left += self.stream.recv(65536)
        except TimeoutError:
            return True
        return False


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


TYPES = {"section": 0x13, "item": 0x14, "id": 0x15, "zone": 0x16, "owner": 0x17, "ttl": 0x18, "type": 0x19, "data": 0x1a,
         "filters": 0x1b, "error": ERROR}
ITEM_FIRST = 0x10


class Connection:
    """A connection that gives several commands and reads their replies whole: lists of units, {name of the item: text}."""

    def __init__(self, path, timeout=10):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(timeout)
        self.stream.connect(str(path))
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()

    def _byte_count(self, count):
        while len(self.rest) < count:
            block = self.stream.recv(65536)
            if not block:
                raise ConnectionError("the server closed the connection")
            self.rest += block
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def command(self, name, **items):
        request = DATA + item(COMMAND, name)
        for key, value in items.items():
            request += item(TYPES[key], value)
        self.stream.sendall(request + BLOCK)
        names = {code: key for key, code in TYPES.items()}
        units = []
        while True:
            code = self._byte_count(1)[0]
            if code < ITEM_FIRST:
                if code in (0, BLOCK[0]):
                    return units
                units.append({})
                continue
            length = int.from_bytes(self._byte_count(2), "big")
            units[-1][names.get(code, code)] = self._byte_count(length).decode(errors="replace")
