# SPDX-License-Identifier: BSD-2-Clause
"""A server on AF_XDP for the tests of the xdp-* commands."""
from zones import example


def start(make_knotd, pair, more="", listen=None):
    """Answers on the pair's interface, port 53; `more`: items of section xdp."""
    daemon = make_knotd(pair.server)
    daemon.port = 53
    daemon.write("example.zone", example())
    configure(daemon, pair, more, listen)
    return daemon.start()


def configure(daemon, pair, more="", listen=None):
    daemon.configure(zones=["example"], listen=(), server=f"listen: [{pair.server4}@53, {pair.server6}@53]",
                     text=f"xdp:\n    listen: {listen or pair.server_if + '@53'}\n" +
                          "".join(f"    {line}\n" for line in more.splitlines()) +
                          "template:\n  - id: default\n    global-module: mod-stats\n")


def ask(daemon, pair, name, rdtype="A", family=4, **options):
    """A question over XDP."""
    return daemon.ask(name, rdtype, pair.server4 if family == 4 else pair.server6, client=pair.client, **options)
