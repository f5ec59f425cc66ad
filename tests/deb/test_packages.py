# SPDX-License-Identifier: BSD-2-Clause
"""Guards what operators see when they install, upgrade to, remove and purge the packages, on started machines.

The service that runs is the hardened one of distro/knot.service.
"""
import filecmp
import os
import pathlib
import re

import pytest

import machine

CONF = """\
# Kept by hand.
server:
    listen: 127.0.0.1@53
    user: knot:knot

log:
  - target: syslog
    any: info
  - target: {log}
    any: info

zone:
  - domain: example.com
    storage: {storage}
"""
ZONE = """\
@ 3600 SOA ns hostmaster 1 2 3 4 5
@ 3600 NS ns
ns 3600 A 192.0.2.1
"""
OURS = "/packages/bowline_*.deb /packages/bowline-dnsutils_*.deb /packages/libbowline0_*.deb"
TOOLS = {"bowline-dnsutils": "kdig knsupdate kxdpgun", "bowline-dnssecutils": "knsec3hash kzonecheck kzonesign", "bowline-host": "khost"}
INSTALL = "apt-get install -q -y --no-install-recommends "
# As the manual says: the tools beside knot, then the change by their command.
MIGRATE = INSTALL + "/packages/bowline-dnsutils_*.deb && bowline-migrate install --no-install-recommends /packages/bowline_*.deb /packages/libbowline0_*.deb"


def ask(box, name="example.com SOA", server="127.0.0.1"):
    return box.run(f"kdig +short +timeout=2 +retry=2 @{server} {name}", check=False).strip()


def version(box):
    return ask(box, "version.server CH TXT").strip('"').split(" ")[0]


def configure(box, storage="/var/lib/knot", log="/var/log/knot/knot.log"):
    """A configuration and a zone as an administrator would leave them, whichever server is installed."""
    box.run(f"mkdir -p {storage} {log.rsplit('/', 1)[0]}; chown knot:knot {storage} {log.rsplit('/', 1)[0]}")
    box.write("/etc/knot/knot.conf", CONF.format(storage=storage, log=log))
    box.write(f"{storage}/example.com.zone", ZONE)
    box.run("systemctl restart knot || { journalctl --no-pager -u knot -n 40; exit 1; }")


def install_knot(box, **places):
    box.run(INSTALL + "knot knot-dnsutils")
    configure(box, **places)
    assert version(box) == "Knot"
    assert ask(box).startswith("ns.example.com. hostmaster.example.com. 1 ")


def kept(box, *paths):
    return box.run("md5sum " + " ".join(paths) + "; stat -c '%n %a %U %G' " + " ".join(paths))


def test_fresh(box):
    """On a machine without any: the service runs at once, serving nothing; a zone is added; the sandbox lets the server do its work."""
    box.run(INSTALL + OURS)
    assert box.run("systemctl is-active knot; systemctl is-enabled knot") == "active\nenabled\n"
    assert box.run("runuser -u knot -- knotc status").strip() == "Running"
    assert box.run("stat -c '%n %a %U %G' /etc/knot /etc/knot/knot.conf /var/lib/knot") == (
        "/etc/knot 750 root knot\n/etc/knot/knot.conf 640 root knot\n/var/lib/knot 770 knot knot\n")
    configure(box)
    assert ask(box).startswith("ns.example.com. ")
    assert "server started" in box.run("cat /var/log/knot/knot.log")
    box.run("for i in $(seq 50); do runuser -u knot -- knotc zone-image | grep -q 'image: current' && exit 0; sleep 0.1; done; exit 1")
    box.restart()
    assert ask(box).startswith("ns.example.com. ")
    assert "contents: image" in box.run("runuser -u knot -- knotc zone-status +contents")
    assert "denied" not in box.run("journalctl --no-pager -u knot -p warning")


def test_unit(box):
    """What systemd thinks of the unit, and what the processes have."""
    box.run(INSTALL + OURS)
    faults = [line for line in box.run("systemd-analyze verify knot.service || true").splitlines() if "'man " not in line]
    assert faults == []
    score = re.search(r"exposure level for knot.service: ([0-9.]+)", box.run("systemd-analyze security --no-pager knot.service"))
    assert float(score[1]) <= 1.8
    status = box.run("cat /proc/$(systemctl show -P MainPID knot)/status")
    assert re.search(r"^CapEff:\t0+$", status, re.M) and re.search(r"^NoNewPrivs:\t1$", status, re.M)
    assert re.search(r"^Seccomp:\t2$", status, re.M)


def test_upgrade(box):
    """From the distribution's knot: configuration, zones, user and service stay; nothing is asked; knot's remains may be purged."""
    install_knot(box, storage="/srv/zones", log="/srv/logs/knot.log")
    box.run("echo 'KNOTD_ARGS=\"-v\"' >/etc/default/knot")
    files = "/etc/knot/knot.conf", "/etc/default/knot", "/srv/zones/example.com.zone"
    before = kept(box, *files) + box.run("id knot")
    log = box.run(MIGRATE)
    assert kept(box, *files) + box.run("id knot") == before
    assert "/srv/zones" in log and "/srv/logs" in log, "the sandbox lets the server write where the configuration says"
    assert version(box) == "Bowline"
    assert ask(box).startswith("ns.example.com. hostmaster.example.com. 1 ")
    assert "knotd -m 512 -v" in box.run("ps -o args= -C knotd")
    assert "Bowline" in box.run("cat /srv/logs/knot.log")
    assert box.run("runuser -u knot -- knotc status").strip() == "Running"
    assert "Bowline" in box.run("kdig -V") and "ii  knot-dnsutils" not in box.run("dpkg -l knot-dnsutils 2>&1 | cat")
    assert box.run("dpkg --audit; apt-get -q check").count("\n") <= 4
    box.run("bowline-migrate purge")
    assert kept(box, *files) + box.run("id knot") == before
    assert box.run("systemctl is-active knot; systemctl is-enabled knot") == "active\nenabled\n"
    box.restart()
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. ")


def test_log_in_a_folder_of_root(box):
    """The server writes to a log file that was made for it in a folder where it may make none, also after a rotation."""
    install_knot(box)
    make = "touch /var/log/own.log && chown knot:knot /var/log/own.log"
    box.run(f"{make} && sed -i s,/var/log/knot/knot.log,/var/log/own.log, /etc/knot/knot.conf && systemctl restart knot")
    assert "Knot DNS" in box.run("cat /var/log/own.log")
    box.run(MIGRATE)
    assert "Bowline" in box.run("cat /var/log/own.log")
    box.run(f"mv /var/log/own.log /var/log/own.log.1 && {make} && knotc reload")
    assert "configuration reloaded" in box.run("cat /var/log/own.log")


def test_upgrade_of_defaults(box):
    """Configuration files that were not changed become ours without a question."""
    box.run(INSTALL + "knot knot-dnsutils")
    box.run(MIGRATE)
    assert "Bowline" not in box.run("cat /etc/knot/knot.conf") and "as the package installs it" in box.run("cat /etc/knot/knot.conf")
    assert box.run("ls -A /etc/knot /etc/default | grep -E 'dpkg|kept' || true") == ""
    assert box.run("runuser -u knot -- knotc status").strip() == "Running"
    assert box.run("dpkg --verify bowline") == ""


def test_disabled(box):
    """A service that was disabled is neither started nor enabled by the upgrade."""
    box.run(INSTALL + "knot; systemctl disable -q --now knot")
    box.run(MIGRATE)
    assert box.run("systemctl is-active knot; systemctl is-enabled knot", check=False) == "inactive\ndisabled\n"


def test_purge_of_knot(box):
    """bowline-migrate purge, even while the server doesn't run, takes nothing from it: knot's own script would delete keys and user."""
    install_knot(box)
    box.run("cd /var/lib/knot; for i in keys journal timers catalog; do mkdir -p $i; echo $i >$i/kept; done; chown -R knot:knot .")
    assert "bowline-migrate purge" in box.run(MIGRATE)
    before = box.run("id knot; cd /var/lib/knot; md5sum example.com.zone */kept")
    assert box.run("systemctl is-enabled knot; systemctl stop knot; bowline-migrate purge; systemctl is-enabled knot").count("enabled\n") == 2
    assert box.run("id knot; cd /var/lib/knot; md5sum example.com.zone */kept") == before
    assert "\nrc  knot " not in box.run("dpkg -l 'knot*' | cat")
    box.restart()
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. ")


def test_back_to_knot(box):
    """And back: the distribution's server goes on with the same files; purging our remains touches neither."""
    install_knot(box)
    box.run(MIGRATE)
    before = kept(box, "/etc/knot/knot.conf", "/var/lib/knot/example.com.zone")
    box.run(INSTALL + "-o DPkg::Options::=--force-confold knot")
    assert version(box) == "Knot" and ask(box).startswith("ns.example.com. ")
    box.run("dpkg --purge bowline")
    assert kept(box, "/etc/knot/knot.conf", "/var/lib/knot/example.com.zone") == before
    assert box.run("systemctl is-active knot; systemctl is-enabled knot; id -un knot") == "active\nenabled\nknot\n"


def test_remove_and_purge(box):
    """Removing leaves configuration and data; purging leaves zones, which no package made."""
    box.run(INSTALL + OURS)
    configure(box)
    box.run("apt-get remove -q -y bowline")
    assert box.run("pgrep knotd || true") == ""
    box.run("test -e /etc/knot/knot.conf -a -e /var/lib/knot/images")
    out = box.run("dpkg --purge bowline")
    assert "data in /var/lib/knot" in out
    assert box.run("ls /etc/knot /var/log/knot /etc/apparmor.d/usr.sbin.knotd /etc/default/knot 2>/dev/null || true") == ""
    assert box.run("ls /var/lib/knot").split() == ["example.com.zone"] + (["timers"] if box.run("ls -d /var/lib/knot/timers", False)[0] == "/" else [])
    box.run(INSTALL + OURS)
    assert box.run("runuser -u knot -- knotc status").strip() == "Running"


def test_same_version_again(box):
    """Installing over itself keeps what was changed, and restarts the service once."""
    box.run(INSTALL + OURS)
    configure(box)
    before = kept(box, "/etc/knot/knot.conf")
    box.run(INSTALL + "--reinstall " + OURS)
    assert kept(box, "/etc/knot/knot.conf") == before
    assert ask(box).startswith("ns.example.com. ")


def install_knot_with_database(box):
    """The server of the distribution with its configuration in a database, which it makes of the file."""
    install_knot(box)
    box.run("systemctl stop knot; cd /var/lib/knot; runuser -u knot -- knotc -C confdb conf-import -f /etc/knot/knot.conf 2>&1 ||"
            " runuser -u knot -- knotc -f -C confdb conf-import /etc/knot/knot.conf")
    box.run("printf 'server:\\n' >/etc/knot/knot.conf; systemctl start knot")
    assert version(box) == "Knot" and ask(box).startswith("ns.example.com. ")


def test_database(box):
    """A configuration database of knot is converted, by way of the text that its own knotc makes of it."""
    install_knot_with_database(box)
    log = box.run(MIGRATE)
    assert "configuration database converted" in log
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. "), box.run("journalctl --no-pager -u knot -n 20")
    assert "example.com" in box.run("runuser -u knot -- knotc conf-read zone")
    assert box.run("stat -c '%a %U %G' /var/lib/knot/confdb-export.conf") == "600 knot knot\n"
    box.run("test -e /var/lib/knot/confdb.knot/data.mdb; bowline-migrate purge")
    box.restart()
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. ")


def test_database_by_apt_alone(box):
    """Nothing exports the database before knot's knotc is gone: nothing is lost, the server doesn't serve something else, and the way out works."""
    install_knot_with_database(box)
    box.run("cp /usr/sbin/knotc /root/old-knotc")
    box.run(INSTALL + "-o DPkg::Options::=--force-confold " + OURS)
    # systemd tries some times.
    box.run("for i in $(seq 60); do systemctl is-failed -q knot && exit 0; sleep 1; done; systemctl status knot; exit 1")
    assert not ask(box).startswith("ns.example.com. "), "serving another configuration would be worse"
    db = "/var/lib/knot/confdb"
    assert "is in the format of Knot DNS" in box.run("bowline-migrate import", check=False)
    box.run(f"cp /root/old-knotc /tmp; runuser -u knot -- /tmp/old-knotc -C {db} conf-export {db}-export.conf")
    box.run("bowline-migrate import && systemctl restart knot")
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. ")


def test_apt_alone(box):
    """Without bowline-migrate dpkg asks about changed configuration files, as policy wants it. Without an answer they stay."""
    install_knot(box)
    before = kept(box, "/etc/knot/knot.conf", "/var/lib/knot/example.com.zone")
    log = box.run(f"yes '' | {INSTALL} {OURS}")
    assert "Configuration file '/etc/knot/knot.conf'" in log
    assert kept(box, "/etc/knot/knot.conf", "/var/lib/knot/example.com.zone") == before
    assert version(box) == "Bowline" and ask(box).startswith("ns.example.com. ")


def test_library_and_manual(box):
    """The library beside Knot's; Python's name for it is where only Python looks; the manual's start page; completion for three shells."""
    box.run(INSTALL + "libknot-dev " + OURS + " /packages/bowline-doc_*.deb")
    assert "bowline/libknot" not in box.run("ldconfig -p")
    box.run("test -e /usr/lib/*/bowline/libknot.so.17; test -e /usr/share/doc/bowline/html/index.html")
    box.run("cd /usr/share; ls bash-completion/completions/{knotc,kjournalprint} fish/vendor_completions.d/{knotc,kjournalprint}.fish zsh/vendor-completions/_{knotc,kjournalprint}")


def test_tools_alone(box):
    """The tools without a server, beside nothing of Knot's: each runs, and is completed and described; removed, nothing is left."""
    before = box.run("dpkg-query -f '${Package}\\n' -W")
    assert "knot" not in before
    box.run(INSTALL + " ".join(f"/packages/{package}_*.deb" for package in TOOLS))
    for package, programs in TOOLS.items():
        for program in programs.split():
            assert re.match(rf"{program} \(Bowline\), version ", box.run(f"{program} -V"))
            assert box.run(f"dpkg-query -f '${{Package}}\\n' -S $(command -v {program}) | cut -d: -f1") == f"{package}\n"
    installed = set(box.run("dpkg-query -f '${Package}\\n' -W").split())
    assert not [name for name in installed if name.startswith(("knot", "libknot", "libdnssec", "libzscanner"))]
    box.run(f"apt-get purge -q -y {' '.join(TOOLS)}")
    assert box.run("command -v kdig khost kzonecheck || true") == ""


def test_tools_in_place_of_knots(box):
    """Knot's tools go when ours come, and the other way round; dpkg never finds a file of two packages."""
    knots = "knot-dnsutils knot-host knot-dnssecutils"
    ours = " ".join(f"/packages/{package}_*.deb" for package in TOOLS)
    box.run(INSTALL + knots)
    assert "Knot DNS" in box.run("kdig -V; khost -V")
    box.run(INSTALL + ours)
    assert box.run("kdig -V; khost -V").count("Bowline") == 2
    assert "ii  " not in box.run(f"dpkg -l {knots} 2>/dev/null | grep ^ii || true")
    box.run(INSTALL + knots)
    assert box.run("kdig -V; khost -V").count("Knot DNS") == 2
    assert box.run("dpkg --audit") == ""


def autopkgtests():
    """Name and needed packages of each test that distro/deb/tests/control lists."""
    text = pathlib.Path(machine.TOP, "distro/deb/tests/control").read_text(encoding="utf-8")
    for paragraph in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in paragraph.split("\n"))
        for name in fields["Tests"].split():
            yield name, [depends.split("|")[0].strip() for depends in fields["Depends"].split(",")]


@pytest.mark.parametrize("name, depends", autopkgtests(), ids=lambda value: value if isinstance(value, str) else "")
def test_autopkgtest(box, name, depends):
    """The packages' own tests, as autopkgtest runs them: in an empty folder, beside what they depend on and nothing else."""
    ours = {path.name.split("_")[0]: f"/packages/{path.name}" for path in pathlib.Path(box.packages).glob("*.deb")}
    wanted = [ours.get(package, package) for package in depends]
    box.run(INSTALL + " ".join(wanted + ([ours["libbowline0"], ours["libbowline-dnssec0"]] if "libbowline-dev" in depends else [])))
    script = pathlib.Path(machine.TOP, "distro/deb/tests", name).read_text(encoding="utf-8")
    box.write("/root/autopkgtest", script)
    out = box.run("chmod 755 /root/autopkgtest; export AUTOPKGTEST_TMP=$(mktemp -d); cd $AUTOPKGTEST_TMP; /root/autopkgtest; echo status $?")
    assert out.endswith("\nstatus 0\n") or out == "status 0\n", out


XDP = """\
ip netns add client
ip link add srv0 type veth peer name cli0 netns client
ip addr add 192.0.2.1/24 dev srv0; ip link set srv0 up
ip -n client addr add 192.0.2.2/24 dev cli0; ip -n client link set cli0 up
ip netns exec client ethtool -K cli0 tx off >/dev/null 2>&1 || true
mkdir -p /etc/systemd/system/knot.service.d; cp /usr/share/bowline/xdp.conf /etc/systemd/system/knot.service.d/
systemctl daemon-reload; systemctl restart knot
sed -i 's/^log:/xdp:\\n    listen: srv0\\n\\nlog:/' /etc/knot/knot.conf
systemctl reload knot
"""


def test_xdp(suite, packages):
    """The drop-in gives the helper what AF_XDP needs inside the sandbox, also for a change while the server runs; the process
    that answers still has nothing."""
    with machine.machine(machine.base(suite), packages, "--capability=all") as box:
        box.run(INSTALL + OURS + " ethtool")
        configure(box)
        box.run(XDP)
        box.run("ip netns exec client ping -c1 -W2 192.0.2.1 >/dev/null 2>&1 || true")
        answer = box.run("ip netns exec client kdig +short +timeout=2 +retry=2 @192.0.2.1 example.com SOA", check=False)
        journal = box.run("journalctl --no-pager -u knot -n 40")
        assert answer.startswith("ns.example.com. "), journal
        assert "srv0" in box.run("knotc xdp-status"), journal
        status = box.run("cat /proc/$(systemctl show -P MainPID knot)/status")
        assert re.search(r"^CapEff:\t0+$", status, re.M)


def test_same_bytes_again(suite, packages):
    """The same source makes the same packages: in another folder, at another time, with another time zone, umask and number of jobs."""
    if "PACKAGES" in os.environ:
        pytest.skip("the packages were built elsewhere, of another source perhaps")
    again = machine.build(suite, machine.base(suite), "/another/folder", "export TZ=Asia/Tokyo JOBS=$(($(nproc) + 1)); umask 027; ")
    names = sorted(os.listdir(packages))
    assert names and filecmp.cmpfiles(packages, again, names, shallow=False) == (names, [], [])
