#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write many small zones and the configuration for them: SOA, two NS, MX and a www A each. The same arguments give the same bytes.

DIRECTORY/knot.conf has everything but what --server adds; zone files are spread over DIRECTORY/zones/ABC/, by the first
three characters of the name. A million zones are 4 GB of blocks and take a minute or two.
"""
import argparse
import os
import pathlib
import random
import sys

from gen_tld import labels

TLDS = ["com.", "com.", "com.", "net.", "org.", "de.", "info.", "co.uk."]

ZONE = """\
$TTL 3600
@ SOA ns1.dns{p}.net. hostmaster.dns{p}.net. {serial} 10800 3600 604800 300
@ NS ns1.dns{p}.net.
@ NS ns2.dns{p}.net.
@ MX 10 mail
www A 192.0.{a}.{b}
"""


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--zones", type=int, default=100_000, metavar="N", help="[%(default)s]")
    parser.add_argument("--include", type=int, default=0, metavar="N",
                        help="put the zones into files of N zones that knot.conf includes; 0: all into knot.conf [%(default)s]")
    parser.add_argument("--providers", type=int, default=500, metavar="N", help="hosters whose servers are named [%(default)s]")
    parser.add_argument("--serial", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--listen", default="127.0.0.1@5300", metavar="ADDRESS", help="[%(default)s]")
    parser.add_argument("--server", action="append", default=[], metavar="ITEM", help="another line of section server")
    parser.add_argument("--log", default="{directory}/knot.log", metavar="TARGET", help="[%(default)s]")
    parser.add_argument("--conf-only", action="store_true", help="leave the zone files as they are")
    parser.add_argument("directory", type=pathlib.Path)
    return parser.parse_args()


def names(count, seed=1):
    """Names of the zones, in the order of the configuration: not sorted."""
    rng = random.Random(seed)
    return [f"{label}.{TLDS[i % len(TLDS)]}" for i, label in enumerate(labels(count, rng))]


def zone_text(index, serial=1, providers=500):
    """The zone file of the zone at `index`."""
    return ZONE.format(p=index % providers, serial=serial, a=index >> 8 & 255, b=index & 255)


def zone_path(directory, name):
    """Where template default's `file` leads to."""
    return directory / "zones" / name[:3] / f"{name}zone"


def write_zones(directory, zones, args):
    for folder in {name[:3] for name in zones}:
        (directory / "zones" / folder).mkdir(parents=True, exist_ok=True)
    base = f"{directory}/zones/"
    for i, name in enumerate(zones):
        fd = os.open(f"{base}{name[:3]}/{name}zone", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(fd, zone_text(i, args.serial, args.providers).encode())
        os.close(fd)


def zone_blocks(zones):
    return "zone:\n" + "".join(f"  - domain: {name}\n" for name in zones)


def write_conf(directory, zones, args):
    lines = ["server:", f"    rundir: {directory}/run", f"    listen: {args.listen}"]
    lines += [f"    {item}" for item in args.server]
    lines += ["log:", f"  - target: {args.log.format(directory=directory)}", "    any: info",
              "database:", f"    storage: {directory}/db",
              "template:", "  - id: default", f"    storage: {directory}/zones", '    file: "%c[0-2]/%s.zone"']
    text = "\n".join(lines) + "\n"
    if args.include > 0:
        (directory / "conf.d").mkdir(exist_ok=True)
        for old in (directory / "conf.d").glob("*.conf"):
            old.unlink()
        for first in range(0, len(zones), args.include):
            path = directory / "conf.d" / f"{first:08}.conf"
            path.write_text(zone_blocks(zones[first:first + args.include]))
        text += f"include: {directory}/conf.d/*.conf\n"
    else:
        text += zone_blocks(zones)
    (directory / "knot.conf").write_text(text)


def main():
    args = parse_args()
    directory = args.directory.resolve()
    for folder in (directory, directory / "run", directory / "db"):
        folder.mkdir(parents=True, exist_ok=True)
    zones = names(args.zones, args.seed)
    if not args.conf_only:
        write_zones(directory, zones, args)
    write_conf(directory, zones, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
