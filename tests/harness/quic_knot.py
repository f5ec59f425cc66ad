# SPDX-License-Identifier: BSD-2-Clause
"""Debian's knotd as a server over QUIC, which it needs XDP for: in the server's namespace of a pair, on port 853."""
import contextlib
import subprocess

from .waiting import PATIENCE

ZONE = "example. 3600 SOA a.example. b.example. 1 2 3 4 5\nexample. 3600 NS a.example.\na.example. 3600 A 192.0.2.3\n"


def many_names(count):
    """ZONE and so many names more."""
    return ZONE + "".join(f"n{i}.example. 3600 A 192.0.2.{i % 256}\n" for i in range(count))


@contextlib.contextmanager
def quic_knot(directory, pair, zone, action="transfer"):
    """It serves the zone `example`, of this text, with one action allowed for all. Gives the path of its log."""
    (directory / "example.zone").write_text(zone)
    for name in ("run", "db"):
        (directory / name).mkdir()
    (directory / "knot.conf").write_text(f"""
server:
  rundir: {directory}/run
  listen: {pair.server4}@5300
xdp:
  listen: {pair.server_if}@53
  quic: on
log:
  - target: stdout
    any: info
database:
  storage: {directory}/db
acl:
  - id: any
    action: {action}
zone:
  - domain: example
    file: {directory}/example.zone
    zonefile-sync: -1
    acl: any
""")
    path = directory / "output.log"
    command = ["nsenter", f"--net=/run/netns/{pair.server}", "/usr/sbin/knotd", "-c", directory / "knot.conf"]
    with open(path, "w", encoding="utf-8") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield path
        finally:
            process.terminate()
            process.wait(20 * PATIENCE)
