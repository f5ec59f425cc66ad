# SPDX-License-Identifier: BSD-2-Clause
"""Packages for each distribution, built there by `./dev deb`, and machines to install them in."""
import glob
import os
import shutil

import pytest

import machine

# What the tests ask with and install beside our packages, and what the packages' own tests compile with.
PEERS = "knot knot-dnsutils knot-dnssecutils knot-host libknot-dev ethtool apt-utils gcc libc6-dev pkgconf"


def pytest_configure():
    missing = [tool for tool in ("debootstrap", "systemd-nspawn") if shutil.which(tool) is None]
    if os.getuid() != 0 or missing:
        pytest.exit(f"root and {' and '.join(missing) or 'all tools'} are needed; run: sudo ./dev test deb", returncode=2)


def build_packages(suite, root):
    out = os.path.join(machine.CACHE, "packages", suite)
    if os.environ.get("PACKAGES"):
        return os.path.join(os.environ["PACKAGES"], suite)
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    machine.pack()
    for path in glob.glob(machine.build(suite, root, "/tree") + "/*.deb"):
        if "-dbgsym_" not in path:
            shutil.copy(path, out)
    return out


@pytest.fixture(scope="session", params=list(machine.SUITES))
def suite(request):
    distribution = machine.SUITES[request.param][0]
    if not os.path.isdir(os.path.join(machine.CACHE, request.param)) and machine.mirror_of(distribution) is None:
        pytest.skip(f"this machine's apt has no packages of {distribution}; set {distribution.upper()}_MIRROR")
    return request.param


@pytest.fixture(scope="session")
def packages(suite):
    root = machine.base(suite)
    folder = build_packages(suite, root)
    machine.fetch(root, folder, PEERS)
    machine.fetch(root, folder, "/packages/*.deb")
    return folder


@pytest.fixture
def box(suite, packages):
    """A started machine of the distribution, without any DNS server."""
    with machine.machine(machine.base(suite), packages) as one:
        yield one
