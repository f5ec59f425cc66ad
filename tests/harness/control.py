# SPDX-License-Identifier: BSD-2-Clause
"""Commands over the control socket without a process per command; the bytes of the protocol, good and bad ones."""
import socket

from .waiting import PATIENCE, wait_until

END, DATA, EXTRA, BLOCK = b"\x00", b"\x01", b"\x02", b"\x03"
ITEMS = ("cmd", "flags", "error", "section", "item", "id", "zone", "owner", "ttl", "type", "data", "filters")
CODES = {name: 16 + index for index, name in enumerate(ITEMS)}
COMMAND, FLAGS, ERROR, ZONE = (CODES[name] for name in ("cmd", "flags", "error", "zone"))


def item(code, text):
    value = text if isinstance(text, bytes) else text.encode()
    return bytes([code]) + len(value).to_bytes(2, "big") + value


def unit(kind=DATA, **items):
    """A unit: unit(cmd="zone-read", zone="example", type="SOA")."""
    return kind + b"".join(item(CODES[name], value) for name, value in sorted(items.items(), key=lambda pair: CODES[pair[0]]))


class Client:
    """A connection that speaks the protocol's bytes. timeout: seconds that connecting, and each part of a reply, may take (times PATIENCE)."""

    def __init__(self, path, timeout=30):
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(timeout * PATIENCE)
        self.left = b""

        def is_connected():
            try:
                self.stream.connect(str(path))
            except BlockingIOError:     # the backlog is full, and Python's connect doesn't wait
                return False
            return True

        wait_until(is_connected, f"a place among the connections that wait at {path}", timeout, 0.01)

    @classmethod
    def of(cls, stream):
        """The same on a connection that is there: the other side of it, say."""
        made = cls.__new__(cls)
        made.stream, made.left = stream, b""
        return made

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

    def command(self, name, **items):
        """The same, without the units' types."""
        return [reply for _, reply in self.ask(cmd=name, **items)]

    def is_closed(self, timeout=10 * PATIENCE):
        """True if the server closes the connection within the time (seconds, as they are); what it sends before is thrown away."""
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
    items = {"cmd": name} | ({"zone": zone} if zone else {}) | ({"flags": flags} if flags else {})
    with Client(path) as client:
        return "; ".join(unit["error"] for _, unit in client.ask(**items) if "error" in unit)
