# SPDX-License-Identifier: BSD-2-Clause
"""The distribution's kdig and ours over TLS and HTTPS: the same command lines to unbound must print the same, with debug lines about certificates,
and end with the same exit code, but for what golden_kdig_rules.py explains."""
import base64
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden_kdig_rules  # noqa: E402
from harness.net import free_port  # noqa: E402
from harness.server import built  # noqa: E402
from harness.tls import NAME, Pki  # noqa: E402
from harness.waiting import PATIENCE, wait_until  # noqa: E402
from test_golden_kdig import PEERS, difference, pytestmark, run  # noqa: E402,F401


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def ports(tmp_path_factory, pki):
    """unbound's ports; one has a certificate that is out of date."""
    directory = tmp_path_factory.mktemp("unbound")
    found = {name: free_port() for name in ("tls", "https", "plain", "expired", "closed")}
    processes = []

    def start(name, cert, used):
        (directory / f"{name}.conf").write_text("server:\n" + "".join(f"  interface: 127.0.0.1@{found[port]}\n" for port in used) + f"""
  tls-port: {found[used[0]]}
  https-port: {found[used[-1]]}
  tls-service-key: "{pki.path(cert + '.key')}"
  tls-service-pem: "{pki.path(cert + '.pem')}"
  directory: "{directory}"
  username: ""
  chroot: ""
  pidfile: ""
  do-daemonize: no
  use-syslog: no
  local-zone: "example." static
  local-data: "a.example. A 192.0.2.1"
  local-data: "a.example. AAAA 2001:db8::1"
  local-data: "b.example. TXT 'some text'"
remote-control:
  control-enable: no
""")
        log = open(directory / f"{name}.log", "w", encoding="utf-8")  # pylint: disable=consider-using-with
        processes.append(subprocess.Popen(["unbound", "-d", "-c", f"{name}.conf"], stdout=log, stderr=log, cwd=directory))
        log.close()

    def answers(port, *words):
        done = subprocess.run([PEERS["kdig"], f"@127.0.0.1#{port}", "a.example", "+short", "+time=1", "+retry=0", *words], capture_output=True, check=False)
        return done.stdout == b"192.0.2.1\n"

    try:
        start("good", "good", ("tls", "plain", "https"))
        start("expired", "expired", ("expired",))
        wait_until(lambda: answers(found["plain"]) and answers(found["tls"], "+tls") and answers(found["expired"], "+tls"), "unbound")
        yield found
    finally:
        for process in processes:
            process.terminate()
            process.wait(timeout=20 * PATIENCE)


TLS = """+tls
+tls +keepopen a.example b.example TXT
+tls a.example +multiline
+tls +dnssec +padding
+tls +short
+tls +json
+tls +noall +stats
+tls +tls-sni=dns.example
+tls +tls-hostname=dns.example
+tls-hostname=dns.example +tls-ca=CA
+tls-hostname=dns.example +tls-ca
+tls-ca +tls-ca=CA +tls-hostname=dns.example
+tls-hostname=dns.example +tls-pin=PIN
+tls-hostname=dns.example +notls-hostname
+tls-hostname=dns.example +notls-ca
+tls-ca +notls-ca
+tls-ca=CA +notls-ca +tls
+tls-ca=CA +tls-sni=dns.example
+tls-ca=CA
+tls-ca=CA +tls-hostname=dns.example
+tls-ca=CA +tls-hostname=other.example
+tls-ca=OTHER +tls-hostname=dns.example
+tls-ca
+tls-ca=/nonexistent
+tls-pin=PIN
+tls-pin=BADPIN
+tls-pin=BADPIN +tls-pin=PIN
+tls-pin=x
+tls-ca=CA +tls-hostname=dns.example +tls-pin=BADPIN
+tls +tls-certfile=CERT +tls-keyfile=KEY
+tls +tls-certfile=CERT
+tls +tls-keyfile=KEY
+tls +tls-certfile=/nonexistent +tls-keyfile=/nonexistent
+tls +tls-ocsp-stapling
+tls-ca=CA +tls-hostname=dns.example +tls-ocsp-stapling
+tls +notls +tcp
-t AXFR +tls
+https=dns.example +nohttps +tls
-t AXFR +tls +qr
+tls +notls
+tls +nohttps +retry=0 +time=1
+quic +tls
+tls nothing.example
+tls +tls +notls-ca +notls-pin""".splitlines()
HTTPS = """+https
+https=127.0.0.1/dns-query
+https=dns.example/dns-query
+https=dns.example
+https=/dns-query
+https=/unknown
+https +https-get
+https=dns.example +https-get
+https +nohttps-get
+https +keepopen a.example b.example TXT
+https +short
+https +json
+https +dnssec +padding +multiline
+https +tls-ca=CA +tls-hostname=dns.example
+https +tls-ca=CA +tls-hostname=other.example
+https +tls-pin=PIN
+https +tls-pin=BADPIN
+https nothing.example
+https +tcp
+https=dns.example +tls-ca=CA
+tls-ca=CA +https=dns.example/dns-query
+https=127.0.0.1 +tls-ca=CA
+https=other.example +tls-ca=CA
+https=/dns-query +tls-ca=CA
+https=/dns-query +tls-hostname=dns.example
+https=other.example +tls-hostname=dns.example +tls-ca=CA
+tls-hostname=dns.example +https=other.example +tls-ca=CA
+tls-hostname=other.example +https=dns.example +tls-ca=CA
+https=https://dns.example/dns-query +tls-ca=CA
+https=http://dns.example/dns-query +tls-ca=CA
+https=dns.example:443/dns-query +tls-ca=CA
+https=dns.example/a/b?c=d +tls-ca=CA
+https=dns.example +tls-pin=PIN
+https=dns.example +tls-pin=PIN +tls-ca=CA
+https=dns.example +tls-pin=BADPIN
+https=dns.example +nohttps
+https=dns.example +nohttps +https +https-get +tls-ca=CA
+https=dns.example +https +tls-ca=CA
+https=dns.example +tls-ca=CA +notls-hostname
+https=dns.example +tls-sni=other.example +tls-ca=CA
+https=/unknown +https
+https +notls
+https +notls +tls
+quic +https
+https-get
+https +https-get +nohttps-get
""".splitlines()
OTHER = """@127.0.0.1#{expired} a.example +tls
@127.0.0.1#{expired} a.example +tls-ca=CA +tls-hostname=dns.example
@127.0.0.1#{closed} a.example +tls +retry=0
@127.0.0.1#{closed} a.example +https +retry=0
@127.0.0.1#{tls} a.example +https=/dns-query +retry=0
@127.0.0.1#{tls} a.example +tcp +retry=0 +time=1
@localhost#{tls} -4 a.example +tls +tls-ca=CA
@localhost#{tls} -4 a.example +tls
@127.0.0.1#{closed} @127.0.0.1#{tls} a.example +tls +retry=0""".splitlines()
LINES = [f"kdig @127.0.0.1#{{tls}} a.example {line}{debug}" for debug in ("", " -d") for line in TLS if not (debug and "json" in line)] + \
        [f"kdig @127.0.0.1#{{https}} a.example {line}{debug}" for debug in ("", " -d") for line in HTTPS if not (debug and "json" in line)] + \
        [f"kdig {line}{debug}" for debug in ("", " -d") for line in OTHER]


# Lines that work with ours alone, beside those at which theirs crashes.
BETTER = [r"https=\S*:443/"]    # the port isn't of the name that the certificate has to be of


@pytest.mark.parametrize("line", LINES)
def test_kdig_tls(line, ports, pki):
    words = {"CA": pki.path("ca.pem"), "OTHER": pki.path("other-ca.pem"), "CERT": pki.path("client.pem"), "KEY": pki.path("client.key"),
             "PIN": pin_text(pki.pin("good")), "BADPIN": pin_text(pki.pin("client"))}
    full = " ".join(part if "=" not in part else part.split("=")[0] + "=" + words.get(part.split("=", 1)[1], part.split("=", 1)[1]) for part in line.split())
    theirs, ours = run(PEERS["kdig"], full, ports), run(built("kdig", "tools"), full, ports)
    better = theirs[0] < 0 or any(re.search(pattern, full) for pattern in BETTER)
    assert (ours[0] == 0 and theirs != ours) if better else theirs == ours or golden_kdig_rules.explain(full, theirs, ours) is not None, difference(theirs, ours)


def pin_text(hex_digits):
    """As +tls-pin takes it: base64."""
    return base64.b64encode(bytes.fromhex(hex_digits)).decode()
