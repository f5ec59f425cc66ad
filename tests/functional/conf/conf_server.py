# SPDX-License-Identifier: BSD-2-Clause
"""A server whose configuration is in a database, and its transactions without a process per command."""
import os

from harness.control import BLOCK, Client, unit
from harness.server import built, is_ours
from harness.waiting import PATIENCE

import subprocess


def knotc_for(daemon):
    """The knotc that reads the daemon's database: of the same make."""
    return built("knotc", "tools") if is_ours() else "/usr/sbin/knotc"


def import_conf(daemon, path=None):
    """Put the configuration file into the database, which the server takes from now on."""
    database = daemon.dir / "confdb"
    done = subprocess.run([knotc_for(daemon), "-C", str(database), "-f", "conf-import", str(path or daemon.path)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60 * PATIENCE, check=False)
    assert done.returncode == 0, done.stdout
    daemon.source = ("-C", str(database))
    return database


def start(daemon, *arguments, **options):
    """Configure as Knotd.configure() does, import, start."""
    daemon.configure(**{"control": daemon.PATIENT, **options})
    import_conf(daemon)
    return daemon.start(*arguments)


class Conf:
    """Commands for the configuration over one connection. timeout: as of Client."""

    def __init__(self, daemon, socket=None, timeout=60):
        self.client = Client(socket or daemon.socket, timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.__exit__()

    def block(self, command, *edits, **more):
        """One block with a unit for each edit ("zone[a].file=x"); the units of the reply."""
        units = [unit(cmd=command, **parts(edit), **more) for edit in edits or ("",)]
        self.client.send(*units, BLOCK)
        return self.client.block()

    def error(self, command, *edits, **more):
        """The text of the first error, "" if there is none."""
        return next((items["error"] for _, items in self.block(command, *edits, **more) if "error" in items), "")

    def do(self, command, *edits, **more):
        """What must work."""
        reply = self.block(command, *edits, **more)
        assert not any("error" in items for _, items in reply), f"{command} {edits}: {reply}"
        return reply

    def change(self, *edits):
        """A whole transaction; edits with "-" before them unset."""
        self.do("conf-begin")
        for edit in edits:
            self.do("conf-unset" if edit.startswith("-") else "conf-set", edit.lstrip("-"))
        self.do("conf-commit")

    def lines(self, command, *edits, **more):
        """The reply as lines "+section[id].item value"."""
        return [line_of(kind, items) for kind, items in self.block(command, *edits, **more)]


def parts(edit):
    """Items of a unit. A part is left out if it is not there; "include=x" and "zone[a].file=" have data."""
    rest, equals, data = edit.partition("=")
    section, item, identifier = rest, "", None
    if "[" in rest:
        section, _, rest = rest.partition("[")
        identifier, _, rest = rest.partition("]")
        item = rest.lstrip(".")
    elif "." in rest:
        section, _, item = rest.partition(".")
    result = {}
    if section:
        result["section"] = section
    if identifier is not None:
        result["id"] = identifier
    if item:
        result["item"] = item
    if equals:
        result["data"] = data
    return result


def line_of(kind, items):
    if "error" in items:
        return f"error: {items['error']}"
    sign = items.get("flags", "")
    where = items.get("section", "") + (f"[{items['id']}]" if "id" in items else "") + (f".{items['item']}" if "item" in items else "")
    return ("  " if kind == "extra" else "") + sign + where + (f" {items['data']}" if "data" in items else "")


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def is_root():
    return os.geteuid() == 0
