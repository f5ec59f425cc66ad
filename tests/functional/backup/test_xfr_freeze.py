# SPDX-License-Identifier: BSD-2-Clause
"""zone-xfr-freeze and zone-xfr-thaw: transfers are refused at once, also after a restart."""
import dns.flags
import dns.message
import dns.query
import pytest

pytestmark = pytest.mark.ours
ZONE = "@ 3600 SOA ns a 1 900 300 4000 60\n@ 3600 NS ns\nns A 192.0.2.1\n"


def refusal(knotd):
    """The Extended DNS Error of a refused AXFR; None: it isn't refused with one."""
    query = dns.message.make_query("x.test.", "AXFR", use_edns=0)
    reply = dns.query.tcp(query, "127.0.0.1", port=knotd.port, timeout=10, one_rr_per_rrset=True)
    codes = [int(option.code) for option in reply.options if option.otype == 15]
    return codes[0] if codes and reply.rcode() == 5 else None


def fields(knotd):
    return knotd.knotc("zone-status", "x.test", "+freeze").stdout


def test_frozen_and_thawed(knotd):
    knotd.write("x.test.zone", ZONE)
    knotd.configure("acl:\n  - id: all\n    address: 127.0.0.1\n    action: transfer\n")
    knotd.conf(knotd.path.read_text() + f"zone:\n  - domain: x.test\n    storage: {knotd.dir}\n    acl: all\n")
    knotd.start()
    assert knotd.knotc("zone-xfr-freeze", "x.test").stdout == "OK\n"
    assert "XFR-freeze: yes" in fields(knotd) and refusal(knotd) == 14
    assert "info: [x.test.] outgoing XFR frozen" in knotd.log()
    knotd.stop(9)
    knotd.start()
    assert "XFR-freeze: yes" in fields(knotd) and refusal(knotd) == 14
    assert "notice: [x.test.] outgoing XFR is still frozen" in knotd.log()
    knotd.knotc("zone-xfr-thaw", "x.test")
    assert "XFR-freeze" not in fields(knotd) and refusal(knotd) is None
    assert "info: [x.test.] outgoing XFR unfrozen" in knotd.log()
    knotd.stop(9)
    knotd.start()
    assert "XFR-freeze" not in fields(knotd)
    done = knotd.knotc("zone-xfr-freeze", "no.test", check=False)
    assert done.returncode == 1 and "(no such zone found)" in done.stdout
