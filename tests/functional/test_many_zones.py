# SPDX-License-Identifier: BSD-2-Clause
"""A hundred thousand zones from one configuration with included files: all answer; a reload touches what changed, nothing else."""
import os
import pathlib
import random
import re
import socket
import struct
import sys
import types

import dns.name
import dns.rcode
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import gen_zones  # noqa: E402

COUNT = int(os.environ.get("MANY_ZONES", "100000"))     # fewer for a build that is slow on purpose
INCLUDES = 10
IN_FLIGHT = 64

CONF = """\
server:
    rundir: {dir}/run
    listen: 127.0.0.1@{port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 2
control:
    listen: knot.sock
    timeout: 60
database:
    storage: {dir}/db
log:
  - target: stdout
    server: info
    control: info
  - target: {dir}/zones.log
    zone: info
template:
  - id: default
    storage: {dir}/zones
    file: "%c[0-2]/%s.zone"
include: conf.d/*.conf
"""


@pytest.fixture(params=[COUNT])
def server(knotd, request):
    knotd.names = gen_zones.names(request.param)
    args = types.SimpleNamespace(serial=1, providers=500)
    gen_zones.write_zones(knotd.dir, knotd.names, args)
    (knotd.dir / "conf.d").mkdir()
    write_conf(knotd, knotd.names)
    knotd.conf(CONF)
    knotd.start(ready=False)
    knotd.wait_ready(120)
    return knotd


def write_conf(server, names):
    for i in range(INCLUDES):
        (server.dir / "conf.d" / f"{i}.conf").write_text(gen_zones.zone_blocks(names[i::INCLUDES]))


def zone_log(server, start=0):
    with open(server.dir / "zones.log", "rb") as log:
        log.seek(start)
        return log.read().decode()


def log_end(server):
    return os.stat(server.dir / "zones.log").st_size


def ask_all(server, names):
    """Ask for the SOA of each; what answered with anything but a SOA and AA."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", server.port))
    sock.settimeout(server.ANSWER_S)
    wrong = []
    for first in range(0, len(names), IN_FLIGHT):
        waiting = {}
        for i, name in enumerate(names[first:first + IN_FLIGHT]):
            wire = dns.name.from_text("www." + name).to_wire()
            sock.send(struct.pack("!6H", i, 0, 1, 0, 0, 0) + wire + b"\0\1\0\1")
            waiting[i] = (name, wire)
        while waiting:
            reply = sock.recv(512)
            number, flags, _, answers, _, _ = struct.unpack_from("!6H", reply)
            name, wire = waiting.pop(number)
            if flags & 0x840F != 0x8400 or answers != 1 or not reply[12:].startswith(wire):
                wrong.append((name, flags, answers))
    sock.close()
    return wrong


def rcode_of(server, name):
    return dns.rcode.to_text(server.ask(name, "SOA").rcode())


def reload_and_read(server):
    """What a reload wrote about zones."""
    before = log_end(server)
    server.knotc("-b", "-t", "60", "reload", timeout=90)
    return zone_log(server, before)


def test_many_zones(server):
    names = server.names
    random.Random(1).shuffle(names)
    assert ask_all(server, names) == []
    assert len(re.findall(r"\] loaded, serial none -> 1,", zone_log(server))) == COUNT

    assert reload_and_read(server) == "", "a reload that changes nothing touches no zone"

    changed = names[17]
    path = gen_zones.zone_path(server.dir, changed)
    path.write_text(path.read_text().replace(" 1 10800", " 2 10800"))
    text = reload_and_read(server)
    assert set(re.findall(r"\[(.*?)\]", text)) == {changed}
    assert len(re.findall(r"\] loaded, serial 1 -> 2,", text)) == 1
    assert server.ask(changed, "SOA").answer[0][0].serial == 2

    before = log_end(server)
    server.knotc("-b", "zone-reload", names[18])
    text = zone_log(server, before)
    assert set(re.findall(r"\[(.*?)\]", text)) <= {names[18]}

    gone = names[19:24]
    write_conf(server, [name for name in names if name not in gone])
    assert reload_and_read(server) == "", "zones that stay are not touched by those that go"
    assert {rcode_of(server, name) for name in gone} == {"REFUSED"}
    assert ask_all(server, names[24:1024]) == []

    write_conf(server, names)
    text = reload_and_read(server)
    assert set(re.findall(r"\[(.*?)\]", text)) == set(gone)
    assert {rcode_of(server, name) for name in gone} == {"NOERROR"}

    status = server.knotc("zone-status", "+serial", timeout=60).stdout.splitlines()
    assert len(status) == COUNT
    assert sum("serial: 1" in line for line in status) == COUNT - 1


@pytest.mark.parametrize("server", [COUNT // 10], indirect=True)
def test_settings_change(server):
    """A setting of the template that zones are made with: all are loaded again, one with its own value isn't."""
    own = server.names[0]
    first = server.dir / "conf.d" / "0.conf"
    first.write_text(first.read_text().replace(f"domain: {own}\n", f"domain: {own}\n    default-ttl: 3600\n"))
    assert reload_and_read(server) == "", "the default, written out"
    server.conf(CONF.replace("include:", "    default-ttl: 7200\ninclude:"))
    text = reload_and_read(server)
    assert len(re.findall(r"\] loaded, serial 1 -> 1,", text)) == len(server.names) - 1
    assert f"[{own}]" not in text
