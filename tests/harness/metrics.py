# SPDX-License-Identifier: BSD-2-Clause
"""Metrics over HTTP, read strictly."""
import http.client
import re
import shutil
import socket
import subprocess

import pytest

from .waiting import PATIENCE, wait_until

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def request(where, path="/metrics", method="GET", accept=OPENMETRICS, timeout=20 * PATIENCE, body=None, host=None):
    """(status, headers, body as text). where: a port on 127.0.0.1, (address, port), or the path of a UNIX socket."""
    if isinstance(where, int):
        where = ("127.0.0.1", where)
    connection = http.client.HTTPConnection(*where, timeout=timeout) if isinstance(where, tuple) else UnixConnection(where, timeout)
    try:
        headers = ({"Accept": accept} if accept else {}) | ({"Host": host} if host is not None else {})
        connection.request(method, path, headers=headers, body=body)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def is_open(where):
    """Whether a server answers there: True; False if nothing listens; None where that is not certain."""
    try:
        return request(where, "/nothing")[0] == 404
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except (OSError, http.client.HTTPException):    # it is about to close
        return None


def wait_open(where, wanted=True):
    """The thread that serves an address opens and closes it a moment after the configuration is in force."""
    wait_until(lambda: is_open(where) is wanted, f"{where} to be {'open' if wanted else 'closed'}")


def families(text):
    """{family: family} of an exposition, read by the strict parser of prometheus_client."""
    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="python3-prometheus-client is not installed")
    result = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.name not in result
        assert family.documentation, f"{family.name} has no help"
        result[family.name] = family
    return result


def value(found, name, **labels):
    """The sample `name` with exactly these labels."""
    for family in found.values():
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return sample.value
    raise KeyError(f"{name}{labels}")


def lint(text):
    """What promtool finds fault with in the text format: lines; one for its exit status if it says nothing."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed (package prometheus)")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30 * PATIENCE, check=False)
    lines = {re.sub(r"\s+", " ", line).strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()}
    return lines or ({f"exit status {done.returncode}"} if done.returncode != 0 else set())
