# SPDX-License-Identifier: BSD-2-Clause
"""guards: `knotc conf-export +schema` is a JSON Schema (draft 2020-12) that agrees with the server about each item: it refuses no value that
the server takes, and takes no number, option or boolean that the server refuses; the configurations of samples/, and whatever Knot DNS accepts,
are valid by it."""
import json
import re
import shutil
import subprocess

import pytest

from harness.server import TOP, built
from harness.waiting import PATIENCE

jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
pytestmark = pytest.mark.ours

# Items whose values must lead somewhere, which a schema can't know.
REFERENCES = re.compile(r"\((invalid reference|invalid module reference|missing module configuration|unknown module)\)")
# What is said of a value that is not among those of its item.
WRONG = re.compile(r"\((invalid parameter|value is out of range|invalid port|missing value|invalid modulo)\)")
VALUES = [-2, -1, 0, 1, 2, 255, 65536, 2**31, 2**32, 2**47, True, False, "on", "off", "nonsense", "none", "10%", None, "ON", "False", "1h", "1K", "1M", "5x", "1h30m", "all", "any"]
KINDS = ("integer", "boolean", "enum")


@pytest.fixture(scope="module")
def schema():
    done = subprocess.run([built("knotc", "tools"), "conf-export", "+schema"], capture_output=True, text=True, timeout=10 * PATIENCE, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def scalar(text):
    """A value as YAML has it."""
    if text.startswith('"'):
        return text[1:-1].replace('\\"', '"')
    if text.lower() in ("", "null"):
        return None
    if text.lower() in ("on", "true", "off", "false"):
        return text.lower() in ("on", "true")
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    return int(text) if re.fullmatch(r"[-+]?[0-9]+", text) else float(text) if re.fullmatch(r"[0-9]+\.[0-9]+", text) else text


def value_of(text):
    if not text.startswith("["):
        return scalar(text)
    return [scalar(word) for word in re.findall(r'"(?:[^"\\]|\\.)*"|[^\s,]+', text[1:-1])]


def translate(text):
    """A configuration as what a YAML reader would make of it."""
    whole, section, block = {}, None, None
    for line in text.splitlines():
        line = re.sub(r'(^|\s)#(?=([^"]*"[^"]*")*[^"]*$).*', "", line).rstrip()
        if not line:
            continue
        dash, key, value = re.fullmatch(r"\s*(- )?\s*([^\s:]+)\s*:\s*(.*)", line).groups()
        if not line[0].isspace() and not dash:
            section, block = key, None
            if value:
                whole.setdefault(key, []).append(value_of(value))
            else:
                whole.setdefault(key, None)
        elif dash:
            block = {key: value_of(value)}
            whole[section] = (whole[section] or []) + [block]
        else:
            if block is None:
                block = whole[section] = whole[section] or {}
            block[key] = value_of(value)
    return whole


@pytest.mark.parametrize("name", sorted(str(path.relative_to(TOP / "samples")) for path in (TOP / "samples").glob("**/*.conf")))
def test_samples_are_valid(validator, name):
    configuration = translate((TOP / "samples" / name).read_text())
    assert configuration
    faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in validator.iter_errors(configuration)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("configuration", [
    {"serve": {}},
    {"server": {"udp-worker": 1}},
    {"server": {"udp-workers": 0}},
    {"server": []},
    {"zone": {}},
    {"zone": [{"file": "x"}]},
    {"zone": [{"domain": "a..b", "semantic-checks": "maybe"}]},
    {"key": [{"id": "k"}]},
    {"key": [{"id": "k", "secret": "Y"}]},
    {"control": {"listen": ["a", "b", "c", "d", "e"]}},
    {"template": [{"id": "x", "domain": "a"}]},
    {"policy": [{"id": "x", "keytag-modulo": "1"}]},
    {"server": {"quic-outbuf-max-size": 1}},
    {"mod-stat": [{"id": "x"}]},
    {"mod-stats": [{"id": None}]},
    {"module": [{"id": 5}]},
    {"acl": [{"id": "x", "address": 10}]},
    {"acl": [{"id": "x", "update-type": 16}]},
    {"log": [{"target": "syslog", "any": None}]},
])
def test_faults_are_found(validator, configuration):
    assert not validator.is_valid(configuration)


# Each with whether Knot DNS accepts it: texts as operators have them, which YAML reads as numbers, booleans and nothing.
CONFIGURATIONS = [
    (True, "server:\n  identity: 5\n  version: 3.5\n  nsid: 12\n  rundir: 7\n  user: 1000\n  pidfile: on\n"),
    (True, "server:\n  nsid: 0x12\n  automatic-acl: On\n  listen: 0.0.0.0@53\n"),
    (True, "server:\n  nsid:\n  automatic-acl:\n  listen:\n"),
    (True, 'server:\n  nsid: ""\n  automatic-acl: ""\n  listen: ""\n  udp-workers: +1\n'),
    (True, "server:\n  quic-outbuf-max-size: 1M\n"),
    (False, "server:\n  quic-outbuf-max-size: 1\n"),
    (False, "server:\n  udp-workers: 0x\n"),
    (False, "server:\n  udp-workers:\n"),
    (False, "server:\n  udp-workers: 1K\n"),
    (False, "server:\n  automatic-acl: yes\n"),
    (False, "server: 5\n"),
    (False, "Server:\n  identity: a\n"),
    (False, "server:\n  tcp-io-timeout: 1H\n"),
    (True, "control:\n  listen: 5\n  timeout: 0\n"),
    (True, "database:\n  journal-db-max-size: 1G\n  timer-db:\n  storage: 5\n"),
    (True, "log:\n  - target: 5\n    any: INFO\n  - target: syslog\n    zone: Warning\n"),
    (False, "log:\n  - target: x\n    any:\n"),
    (True, "key:\n  - id: 5\n    algorithm: HMAC-SHA256\n    secret: 1234\nacl:\n  - id: on\n    key: 5\n    deny: off\n    action: [Transfer, notify]\n"),
    (True, "key:\n  - id: 0.5\n    algorithm: hmac-sha1\n    secret:\n"),
    (True, "remote:\n  - id: true\n    address: [ 10.0.0.1@53, ::1@53 ]\n    via: 5\nremotes:\n  - id: 1\n    remote: true\nacl:\n  - id: 7\n    remote: [ 1, true ]\n"),
    (True, "acl:\n  - id: a\n    address: [ 10.0.0.1, 10.0.0.0/8, ::1, 10.0.0.1-10.0.0.9 ]\n    update-type: [ NULL, TYPE65, a ]\n    update-owner-name: [ 5, a. ]\n"),
    (False, "acl:\n  - id: a\n    address: 10\n"),
    (False, "acl:\n  - id: a\n    update-type: 16\n"),
    (True, "template:\n  - id: 7\n    file: 5\n    semantic-checks: SOFT\nzone:\n  - domain: 5\n    template: 7\n  - domain: 1.5\n    storage: 3\n"
           "  - domain: 0/25.2.0.192.in-addr.arpa\n    file:\n    serial-policy: UnixTime\n"),
    (True, "zone:\n"),
    (False, "zone:\n  domain: a\n"),
    (False, "zone:\n  - domain: .com\n"),
    (True, "mod-stats:\n  - id: 5\n    query-type: on\n  - id: all\nzone:\n  - domain: example.com\n    module: [ mod-stats/5, mod-cookies, mod-stats/all ]\n"),
    (True, 'zone:\n  - domain: example.com\n    module: ""\n'),
    (False, "mod-foo:\n  - id: 5\n"),
    (True, "mod-synthrecord:\n  - id: 7\n    type: forward\n    prefix: 5\n    network: 10.0.0.0/8\n    ttl: 1h\n"),
    (False, "mod-synthrecord:\n  - id: 7\n    type: forward\n    network: 10\n"),
    (True, "mod-rrl:\n  - id: 1\n    rate-limit: 5\n    whitelist: [ 10.0.0.0/8 ]\n"),
    (True, "mod-onlinesign:\n  - id: 1\n    nsec-bitmap: [ A, NULL ]\n"),
    (True, "policy:\n  - id: 5\n    algorithm: ECDSAP256SHA256\n    ksk-lifetime: 365d\n    nsec3: On\n"),
    (False, "policy:\n  - id: 5\n    algorithm: 13\n"),
    (True, "statistics:\n  timer: 1d\n  file: 5\n  append: TRUE\n"),
]


# What translate() doesn't know: a section with a value, and one of blocks that has items instead.
ODD = {"server: 5\n": {"server": 5}, "zone:\n  domain: a\n": {"zone": {"domain": "a"}}}


@pytest.mark.parametrize(("accepted", "text"), CONFIGURATIONS)
def test_schema_accepts_what_knot_accepts(validator, tmp_path, accepted, text):
    """Knot's own verdict where Debian's package of it is installed. YAML's `yes` is a boolean to a reader of YAML 1.1 only."""
    (tmp_path / "knot.conf").write_text(text)
    if knotc := shutil.which("knotc", path="/usr/sbin"):
        done = subprocess.run([knotc, "-c", tmp_path / "knot.conf", "conf-check"], capture_output=True, text=True, timeout=10 * PATIENCE, check=False)
        assert (done.returncode == 0) == accepted, done.stderr
    configuration = ODD.get(text) or translate(text)
    faults = [f"{list(fault.absolute_path)}: {fault.message}" for fault in validator.iter_errors(configuration)]
    assert (not faults) == accepted, (configuration, faults)


def test_modules_from_files(validator):
    """Items of a module that Knot DNS loads from a file are unknown; without such a module its section is a misspelled one."""
    section = {"mod-Foo2-x": [{"id": 1, "speed": "high"}], "zone": [{"domain": "a", "module": ["mod-Foo2-x/1"]}]}
    assert validator.is_valid({"module": [{"id": "mod-Foo2-x", "file": "/usr/lib/knot/foo.so"}], **section})
    assert not validator.is_valid(section)
    assert not validator.is_valid({"module": [{"id": "mod-Foo2-x"}], "foo": []})


def items(schema):
    """(section, item, its schema, whether the section has blocks)."""
    for section, description in schema["properties"].items():
        block = description["items"] if description["type"][0] == "array" else description
        for item, row in block.get("properties", {}).items():
            yield section, item, row, block.get("required")


def is_listed(row):
    """True if the schema says which numbers or names an item has: those must agree in both directions."""
    texts = json.dumps(row)
    return '"enum"' in texts or '"minimum"' in texts


def spelled(value):
    if value is None:
        return ""
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else f'"{value}"'


SAMPLE = {"address": "::1", "remote": "r", "secret": "YQ==", "type": "forward", "network": "::/0", "sink": "x", "config-file": "x"}


def verdict(knotc, path, section, item, value, required):
    """What the server says of one item, None if nothing is wrong with the value."""
    lines = ["remote:", "  - id: r", "    address: ::1", f"{section}:"]
    if required:
        lines += [f"  - {required[0]}: {'mod-x' if section == 'module' else 'x.'}"]
        lines += [f"    {name}: {SAMPLE[name]}" for name in required[1:] if name != item]
    lines += [f"    {item}: {spelled(value)}"]
    path.write_text("\n".join(lines) + "\n")
    done = subprocess.run([knotc, "-c", path, "conf-check"], capture_output=True, text=True, timeout=10 * PATIENCE, check=False)
    said = [line for line in done.stderr.splitlines() if f"item '{item}'" in line and WRONG.search(line) and not REFERENCES.search(line)]
    return said[0] if said else None


def test_schema_agrees_with_the_server(schema, validator, tmp_path):
    knotc = built("knotc", "tools")
    faults, count = [], 0
    for section, item, row, required in items(schema):
        if required and item == required[0] or not is_listed(row):
            continue
        for value in VALUES[count % 5 :: 5]:
            block = {item: value}
            if required:
                block = {required[0]: "mod-x", **{name: SAMPLE[name] for name in required[1:]}, item: value}
            is_valid = validator.is_valid({section: [block] if required else block})
            said = verdict(knotc, tmp_path / "c", section, item, value, required)
            # Text with a unit may be out of range: the schema has no ranges for text.
            is_text_number = isinstance(value, str) and value[:1].isdigit()
            count += 1
            if is_valid != (said is None) and not (is_text_number and is_valid):
                faults.append(f"{section}.{item}: {value!r}: schema {'takes' if is_valid else 'refuses'} it; server: {said}")
    assert count > 400
    assert not faults, f"{len(faults)} of {count}\n" + "\n".join(faults[:40])
