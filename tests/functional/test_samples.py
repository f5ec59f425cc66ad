# SPDX-License-Identifier: BSD-2-Clause
"""guards: configurations that people start from are valid and serve: samples/, and what Debian 12's and Ubuntu 24.04's knot install.

Each runs unchanged in a scene: files where it says, `eth0` with the addresses it listens on."""
import os
import pathlib
import shutil
import subprocess

import pytest

from harness.scene import Scene
from harness.server import TOP
from harness.waiting import wait_until

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"), pytest.mark.ours]

ZONE = """\
$TTL 3600
@    SOA  ns1 hostmaster 1 3600 600 86400 300
     NS   ns1
ns1  A    192.0.2.1
www  A    192.0.2.80
"""
# The file that knot 3.2.6-1 of Debian 12 and 3.3.4-1.1build2 of Ubuntu 24.04 install as /etc/knot/knot.conf, without its comments.
DISTRIBUTION = """\
server:
    rundir: "/run/knot"
    user: knot:knot
    automatic-acl: on

log:
  - target: syslog
    any: info

database:
    storage: "/var/lib/knot"

remote:

template:
  - id: default
    storage: "/var/lib/knot"
    file: "%s.zone"

zone:
"""
# What its comments tell to fill in, of what there is without transfers.
FILLED_IN = DISTRIBUTION.replace("automatic-acl: on\n", "automatic-acl: on\n    listen: [ 127.0.0.1@53, ::1@53, 192.0.2.1@53 ]\n").replace(
    "remote:\n", "remote:\n  - id: secondary\n    address: 192.168.1.1@53\n") + "  - domain: example.com\n"

STORAGE = "/var/lib/knot"
# sample: ({file it is copied to: sample}, {zone: file})
SAMPLES = {
    "knot.conf": ({}, {"example.com": f"{STORAGE}/example.com.zone"}),
    "tld.conf": ({}, {"example": f"{STORAGE}/tld/example.zone"}),
    "anycast/knot.conf": ({"common.conf": "anycast/common.conf", "zones.d/all.conf": "anycast/zones.conf"},
                          {"example.com": f"{STORAGE}/zones/e/example.com.zone", "example.net": f"{STORAGE}/zones/e/example.net.zone",
                           "parked1.example": f"{STORAGE}/parked/parked.zone", "parked2.example": f"{STORAGE}/parked/parked.zone"}),
    "hosting.conf": ({}, {"example.com": f"{STORAGE}/zones/example.com.zone", "example.net": f"{STORAGE}/zones/example.net.zone",
                          "2.0.192.in-addr.arpa": "/etc/knot/zones/2.0.192.in-addr.arpa.zone",
                          "provider.example": "/etc/knot/zones/provider.example.zone"}),
    "presigned.conf": ({}, {"example.com": f"{STORAGE}/signed/example.com.signed", "example.org": f"{STORAGE}/signed/example.org.signed"}),
    "monitoring.conf": ({}, {"example.com": f"{STORAGE}/example.com.zone", "example.net": f"{STORAGE}/example.net.zone"}),
}


@pytest.fixture
def scene():
    with Scene() as made:
        yield made


def succeed(scene, command, side="server"):
    status, said = scene.run(command, side)
    assert status == 0, f"{command}:\n{said}\n{scene.run('tail -n 30 /run/knot.journal')[1]}"
    return said


def serve(scene, zones):
    """conf-check passes, the server starts, each zone answers with its SOA and an address."""
    for path in zones.values():
        scene.write(path, ZONE)
    succeed(scene, "chown -R knot:knot /var/lib/knot")
    said = succeed(scene, "knotc conf-check")
    assert said == "Configuration is valid\n"
    succeed(scene, "systemctl start knot")
    for zone in zones:
        assert succeed(scene, f"knotc -b zone-status {zone} +serial").strip() == f"[{zone}.] serial: 1"
        assert succeed(scene, f"kdig @192.0.2.1 www.{zone} A +short +retry=0 +timeout=20", "client") == "192.0.2.80\n"
        assert succeed(scene, f"kdig @192.0.2.1 www.{zone} A +short +tcp +timeout=20", "client") == "192.0.2.80\n"
    assert " error: " not in scene.run("cat /run/knot.journal")[1]


@pytest.mark.parametrize("name", SAMPLES)
def test_sample(scene, name):
    others, zones = SAMPLES[name]
    if name == "tld.conf":
        succeed(scene, "ip link add eth1 type veth peer name peer1 && ip link set eth1 up && ip link set peer1 up")
    scene.write("/etc/knot/knot.conf", (TOP / "samples" / name).read_text())
    for target, source in others.items():
        scene.write(f"/etc/knot/{target}", (TOP / "samples" / source).read_text())
    serve(scene, zones)
    if name == "tld.conf":
        status = succeed(scene, "knotc xdp-status")
        assert "eth0: state up" in status and "eth1: state up" in status and "route-check on" in status
        assert int(succeed(scene, "knotc -f stats xdp.answered-udp4").splitlines()[0].split(" = ")[1]) >= 1
    if name == "anycast/knot.conf":
        assert "ams2" in succeed(scene, "kdig @192.0.2.1 example.com SOA +nsid", "client")
        assert succeed(scene, "grep -c 'loaded, serial' /var/log/knot/knot.log") == "4\n"
    if name == "monitoring.conf":
        metrics = succeed(scene, "curl -s --max-time 20 http://127.0.0.1:9433/metrics")
        assert 'knot_zone_serial{zone="example.net."} 1\n' in metrics
    if name == "hosting.conf":
        assert succeed(scene, "knotc -s /run/knot/web.sock status") == "Running\n"
        assert "request-bytes" in succeed(scene, "knotc zone-stats example.com")


def test_no_sample_is_left_out():
    """Every configuration in samples/ is run by the test above."""
    used = set(SAMPLES) | {source for others, _ in SAMPLES.values() for source in others.values()}
    there = {str(path.relative_to(TOP / "samples")) for path in (TOP / "samples").rglob("*.conf")}
    assert there == used


def installed():
    """The configuration that the distribution's package has installed on this machine, None if it was changed or isn't there."""
    path = pathlib.Path("/etc/knot/knot.conf")
    if shutil.which("dpkg") is None:
        return None
    done = subprocess.run(["dpkg", "--verify", "knot"], capture_output=True, text=True, check=False)
    is_original = done.returncode == 0 and str(path) not in done.stdout
    return path.read_text() if is_original and path.exists() else None


def test_distribution(scene):
    """As it is installed: valid, and the server starts without zones."""
    scene.write("/etc/knot/knot.conf", DISTRIBUTION)
    assert succeed(scene, "knotc conf-check") == "Configuration is valid\n"
    succeed(scene, "systemctl start knot")
    assert succeed(scene, "knotc status") == "Running\n"
    assert succeed(scene, "knotc stats") == ""    # no zone, and it says so


def test_distribution_on_this_machine(scene):
    """The text above is what is installed."""
    text = installed()
    if text is None:
        pytest.skip("no unchanged /etc/knot/knot.conf of the package knot")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines == [line for line in DISTRIBUTION.splitlines() if line]
    scene.write("/etc/knot/knot.conf", text)
    assert succeed(scene, "knotc conf-check") == "Configuration is valid\n"
    succeed(scene, "systemctl start knot")


def test_distribution_filled_in(scene):
    """With an address, a remote and a zone, as its comments show; a remote that nothing refers to asks for nothing."""
    scene.write("/etc/knot/knot.conf", FILLED_IN)
    serve(scene, {"example.com": f"{STORAGE}/example.com.zone"})


def test_unit_with_a_late_interface(scene):
    """An XDP interface that is absent at the start, an error of conf-check, prevents no start: it is used once it is there."""
    scene.write("/etc/knot/knot.conf", "server:\n    listen: 192.0.2.1\n    user: knot:knot\nxdp:\n    listen: late0\n"
                f"zone:\n  - domain: example.com\n    storage: {STORAGE}\n")
    scene.write(f"{STORAGE}/example.com.zone", ZONE)
    status, said = scene.run("knotc conf-check")
    assert status == 1 and "'late0'" in said
    succeed(scene, "systemctl start knot")
    assert succeed(scene, "kdig @192.0.2.1 www.example.com A +short +retry=0 +timeout=20", "client") == "192.0.2.80\n"
    assert "late0: state up" not in scene.run("knotc xdp-status")[1]
    succeed(scene, "ip link add late0 type veth peer name late1 && ip link set late0 up && ip link set late1 up")
    wait_until(lambda: "late0: state up" in scene.run("knotc xdp-status")[1], "late0 to be used", 30)


def test_unit_with_a_mistake(scene):
    """The unit's start fails, and the journal has what conf-check says: the line, the item, what is probably meant."""
    scene.write("/etc/knot/knot.conf", "server:\n    listen: 192.0.2.1\n    udp-worker: 4\n")
    status, said = scene.run("systemctl start knot")
    assert status == 1 and "failed" in said
    assert scene.run("systemctl is-active knot")[0] == 3
    journal = scene.run("journalctl -u knot")[1]
    assert "line 3, item 'udp-worker', value '4' (invalid item), did you mean 'udp-workers'" in journal
    assert journal.count("udp-worker'") == 1
