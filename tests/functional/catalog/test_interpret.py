# SPDX-License-Identifier: BSD-2-Clause
"""Catalogs that are interpreted: members come and go, bad catalogs change nothing, and what was decided outlives the process."""
import re
import signal

import dns.message
import dns.query
import dns.rcode
import pytest

pytestmark = [pytest.mark.ours, pytest.mark.core]

HEAD = "@ 0 SOA invalid. invalid. {serial} 3600 600 2147483646 0\n@ 0 NS invalid.\n"
VERSION = 'version 0 TXT "2"\n'
MEMBER = "@ 60 SOA ns admin 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n"


def ptr(unique, member, group=None):
    return f"{unique}.zones 0 PTR {member}\n" + (f'group.{unique}.zones 0 TXT "{group}"\n' if group else "")


class Catalogs:
    """A server with two catalogs in files."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.serials = {}
        for name in ("a", "b", "c", "d", "own"):
            self.daemon.write(f"{name}.test.zone", MEMBER)
        (self.daemon.dir / "other").mkdir()
        (self.daemon.dir / "other" / "a.test.zone").write_text(MEMBER.replace("192.0.2.1", "192.0.2.2"))
        self.configure()

    def configure(self, more=""):
        d = self.daemon
        d.configure(f"acl:\n  - id: q\n    action: query\n    address: 127.0.0.2\n"
                    f"template:\n  - id: t\n    storage: {d.dir}\n  - id: other\n    storage: {d.dir}/other\n"
                    f"zone:\n" + "".join(
                        f"  - domain: {c}\n    storage: {d.dir}\n    catalog-role: interpret\n    catalog-template: [t, other]\n"
                        f"    acl: q\n    zonefile-load: difference\n    zonefile-sync: -1\n" for c in ("cat1.", "cat2."))
                    + f"  - domain: own.test\n    storage: {d.dir}\n{more}")

    def write(self, catalog, members, version=VERSION):
        self.serials[catalog] = self.serials.get(catalog, 0) + 1
        self.daemon.write(f"{catalog}.zone", HEAD.format(serial=self.serials[catalog]) + version + members)

    def change(self, catalog, members, version=VERSION):
        self.write(catalog, members, version)
        self.daemon.knotc("-b", "zone-reload", catalog, check=False)

    def answers(self, name, rdata="192.0.2.1"):
        answer = self.daemon.ask(f"ns.{name}.test", "A")
        return bool(answer.answer) and answer.answer[0][0].to_text() == rdata

    def rcode(self, name):
        return self.daemon.ask(name, "SOA").rcode()

    def permitted(self, name):
        return dns.query.udp(dns.message.make_query(name, "SOA"), "127.0.0.1", 5, self.daemon.port, source="127.0.0.2")

    def wait_for(self, *names):
        """Exactly these members are served."""
        def is_so():
            return all(self.answers(name) == (name in names) for name in "abcd")
        self.daemon.wait(is_so, 20, f"members {names}")


@pytest.fixture
def catalogs(make_knotd):
    made = Catalogs(make_knotd())
    made.write("cat1", ptr("i1", "a.test."))
    made.write("cat2", "")
    made.daemon.start()
    made.wait_for("a")
    return made


def test_members_come_and_go(catalogs):
    c = catalogs
    c.daemon.wait_log(r"info: \[a\.test\.\] zone added from catalog")
    c.daemon.wait_log(r"info: \[cat1\.\] enqueued 1 catalog updates")
    c.daemon.wait_log(r"info: catalog, updating, 1 changes")
    c.change("cat1", ptr("i1", "a.test.") + ptr("i2", "b.test."))
    c.wait_for("a", "b")
    assert len(re.findall(r"\[a\.test\.\] loaded", c.daemon.log())) == 1, "the other member wasn't touched"
    # A file that the server may write goes with its zone.
    c.change("cat1", ptr("i2", "b.test."))
    c.wait_for("b")
    c.daemon.wait_log(r"notice: \[a\.test\.\] zone purged")
    assert not (c.daemon.dir / "a.test.zone").exists() and (c.daemon.dir / "b.test.zone").exists()
    assert c.rcode("a.test") == dns.rcode.REFUSED
    # Another unique id: its data go, and it begins as a new zone, here without a file.
    c.change("cat1", ptr("i3", "b.test."))
    c.daemon.wait_log(r"notice: \[b\.test\.\] zone purged")
    c.daemon.wait(lambda: c.rcode("b.test") == dns.rcode.SERVFAIL, 10, "b.test has no contents")
    assert not (c.daemon.dir / "b.test.zone").exists()


def test_group_chooses_the_template(catalogs):
    c = catalogs
    c.change("cat1", ptr("i1", "a.test.", "other"))
    c.daemon.wait(lambda: c.answers("a", "192.0.2.2"), 10, "the other template's file")
    assert (c.daemon.dir / "a.test.zone").exists()
    c.change("cat1", ptr("i1", "a.test."))
    c.daemon.wait(lambda: c.answers("a"), 10, "the first template's file")


def test_status(catalogs):
    c = catalogs
    c.change("cat1", ptr("i1", "a.test.", "other"))
    c.daemon.wait(lambda: c.answers("a", "192.0.2.2"), 10, "the other template's file")
    for zone, want in (("a.test", "catalog: cat1.#other"), ("cat1", "catalog: interpret")):
        assert want in c.daemon.knotc("zone-status", zone, "+catalog").stdout
    assert "catalog" not in c.daemon.knotc("zone-status", "own.test", "+catalog").stdout    # a field that says nothing isn't printed


def test_queries_need_permission(catalogs):
    c = catalogs
    assert c.rcode("cat1") == dns.rcode.NOTAUTH
    assert c.rcode("version.cat1") == dns.rcode.NOTAUTH
    assert c.rcode("own.test") == dns.rcode.NOERROR
    assert c.permitted("cat1").rcode() == dns.rcode.NOERROR


BAD = (
    ("no version", "", "", "invalid zone file"),
    ("another version", "", 'version 0 TXT "3"\n', "invalid zone file"),
    ("two members of an id", "i1.zones 0 PTR c.test.\n", VERSION, "such record already exists in zone"),
    ("a group of two strings", 'group.i1.zones 0 TXT "a" "b"\n', VERSION, "malformed data"),
)


def test_bad_catalogs_change_nothing(catalogs):
    c = catalogs
    for i, (what, more, version, why) in enumerate(BAD):
        c.change("cat1", ptr("i1", "a.test.") + ptr("i2", "b.test.") + more, version)
        c.daemon.wait_log(r"error: \[cat1\.\] failed to process catalog zone", count=i + 1)
        last = [line for line in c.daemon.log().splitlines() if "failed to process catalog zone" in line][-1]
        assert why in last, f"{what}: {last}"
    assert c.permitted("cat1").answer[0][0].serial == 1
    c.wait_for("a")
    c.change("cat1", ptr("i1", "a.test.") + ptr("i2", "b.test."))
    c.wait_for("a", "b")


def test_members_that_are_refused(catalogs):
    c = catalogs
    c.change("cat1", ptr("i1", "a.test.") + ptr("i4", "own.test.") + ptr("i5", "b.test.") + ptr("i6", "b.test."))
    c.daemon.wait_log(r"error: \[own\.test\.\] member zone already configured, ignoring")
    c.daemon.wait_log(r"error: \[b\.test\.\] duplicate addition of the member node, ignoring")
    c.wait_for("a", "b")
    c.change("cat2", ptr("j1", "a.test.") + ptr("j2", "c.test."))
    c.daemon.wait_log(r"error: \[a\.test\.\] member zone already configured by catalog, ignoring")
    c.wait_for("a", "b", "c")
    # The catalog that doesn't have the member can't remove it.
    c.change("cat2", ptr("j2", "c.test."))
    c.daemon.wait_log(r"error: \[a\.test\.\] incorrect removal of (wrong|unknown) member node, ignoring")
    c.wait_for("a", "b", "c")


def test_members_outlive_the_process(catalogs):
    c = catalogs
    c.change("cat1", ptr("i1", "a.test.") + ptr("i2", "b.test."))
    c.wait_for("a", "b")
    c.daemon.stop(signal.SIGKILL)
    # The catalog itself is gone; what it has listed isn't.
    (c.daemon.dir / "cat1.zone").unlink()
    at = len(c.daemon.log())
    c.daemon.start()
    c.wait_for("a", "b")
    assert "zone added from catalog" not in c.daemon.log()[at:]
    # A start that finds another catalog than the last process knew.
    c.daemon.stop(signal.SIGKILL)
    c.write("cat1", ptr("i2", "b.test.") + ptr("i3", "c.test."))
    c.daemon.start()
    c.wait_for("b", "c")


def test_configuration_wins(catalogs):
    c = catalogs
    c.change("cat1", ptr("i1", "a.test.") + ptr("i2", "b.test."))
    c.wait_for("a", "b")
    loads = len(re.findall(r"\[a\.test\.\] loaded", c.daemon.log()))
    c.configure(f"  - domain: a.test\n    storage: {c.daemon.dir}\n")
    c.daemon.knotc("reload")
    c.wait_for("a", "b")
    assert len(re.findall(r"\[a\.test\.\] loaded", c.daemon.log())) == loads
    c.change("cat1", ptr("i2", "b.test."))      # no member any more: the catalog can't take it away
    c.change("cat1", ptr("i2", "b.test.") + ptr("i3", "c.test."))
    c.wait_for("a", "b", "c")
    # Without the catalog, its members go; with it, they are there again, and their data never went.
    d = c.daemon
    text = (d.dir / "knot.conf").read_text()
    d.conf(re.sub(r"  - domain: cat1\.\n(    .*\n)*", "", text))
    d.knotc("reload")
    c.wait_for("a")
    d.conf(text)
    d.knotc("reload")
    c.wait_for("a", "b", "c")
