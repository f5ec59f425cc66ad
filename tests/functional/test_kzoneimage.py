# SPDX-License-Identifier: BSD-2-Clause
"""kzoneimage: what it says of the images of a server, running or not, agrees with the server; damage is found."""
import json
import re
import subprocess

import pytest
from jsonschema import Draft202012Validator

from harness.server import TOP, built
from zones import example

pytestmark = pytest.mark.ours


def kzoneimage(*arguments):
    return subprocess.run([built("kzoneimage", "tools"), *map(str, arguments)], capture_output=True, text=True, timeout=30)


def rows(output):
    """The fields of each zone's line: name, serial, size, unit, pieces, format, saved, age, state, file."""
    lines = output.splitlines()
    assert lines[0].split()[:5] == ["zone", "serial", "size", "pieces", "format"] and " images, " in lines[-1]
    return {line.split()[0]: line.split() for line in lines[1:-1]}


@pytest.fixture
def server(knotd):
    knotd.configure()
    knotd.write("example.zone", example(7))
    knotd.write("big.zone", "@ SOA ns r 9 2 3 4 30\n@ NS ns.other.\n" + "".join(f"n{i} TXT {i:05}{'q' * 195}\n" for i in range(9000)))
    knotd.conf(knotd.path.read_text() + f"""
zone:
  - domain: example
    storage: {knotd.dir}
  - domain: big
    storage: {knotd.dir}
""")
    knotd.start()
    knotd.wait(lambda: all("image: current" in knotd.knotc("zone-image", zone).stdout for zone in ("example", "big")), 20, "images")
    return knotd


def test_listing(server):
    for _ in ("while it runs", "after it has stopped"):
        done = kzoneimage("-c", server.path)
        assert done.returncode == 0 and done.stderr == ""
        found = rows(done.stdout)
        assert list(found) == ["big.", "example."]
        assert found["example."][1] == "7" and found["example."][-2:] == ["same", f"{server.dir}/example.zone"]
        assert found["big."][1] == "9" and found["big."][3] == "MiB" and int(found["big."][4]) >= 4
        assert re.search(r"^2 images, [\d.]+ MiB; [\d.]+ MiB of .* in use$", done.stdout, re.M)
        server.stop()
    server.write("example.zone", example(8))
    (server.dir / "big.zone").unlink()
    found = rows(kzoneimage("-c", server.path).stdout)
    assert found["example."][-2] == "changed" and found["big."][-2] == "missing"


def test_named_zones(server):
    done = kzoneimage("-c", server.path, "EXAMPLE", "-s")
    assert done.returncode == 0 and list(rows(done.stdout)) == ["example."]
    done = kzoneimage("-c", server.path, "other", "big.")
    assert done.returncode == 1 and list(rows(done.stdout)) == ["big."]
    assert done.stderr == "error: [other.] zone image, there is none\n"
    assert kzoneimage("-c", server.path, "a..b").returncode == 1


def test_damage_is_found(server):
    server.stop()
    done = kzoneimage("-c", server.path, "-v")
    assert done.returncode == 0 and done.stdout.endswith("; verified\n")
    data = next(server.dir.glob("**/data.mdb"))
    content = bytearray(data.read_bytes())
    place = content.rindex(b"q" * 150)
    content[place] ^= 4
    data.write_bytes(content)
    done = kzoneimage("-c", server.path)
    assert done.returncode == 0        # the records and the tree are as they were
    done = kzoneimage("-c", server.path, "-v")
    assert done.returncode == 1 and "verified" not in done.stdout
    assert done.stderr == "error: [big.] zone image, a checksum does not match\n"
    content[4096 + 10] = content[10] = 99
    data.write_bytes(content)
    done = kzoneimage("-d", data.parent)
    assert done.returncode == 1 and "it does not begin like a file of LMDB" in done.stderr
    assert not data.with_name("data.mdb.damaged").exists()


SCHEMA = json.loads((TOP / "doc" / "formats" / "kzoneimage.schema.json").read_text(encoding="utf-8"))
Draft202012Validator.check_schema(SCHEMA)


def document(*arguments, status=0):
    """What -j prints, checked: exit status, nothing beside it, the schema."""
    done = kzoneimage("-j", *arguments)
    assert done.returncode == status and done.stderr == "", done
    made = json.loads(done.stdout)
    Draft202012Validator(SCHEMA).validate(made)
    assert made["ok"] is (status == 0) and bool(made["messages"]) is (status != 0)
    return made


def test_json(server):
    made = document("-c", server.path)
    big, small = made["result"]
    assert (big["zone"], big["serial"], small["zone"], small["serial"]) == ("big.", 9, "example.", 7)
    assert big["size"] > 1 << 20 and big["pieces"] >= 4 and "verified" not in big
    assert small["files"] == [{"path": f"{server.dir}/example.zone", "state": "same"}]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", small["saved"])
    assert 0 < made["used"] < made["max"] and made["directory"].startswith(str(server.dir))
    assert [image["verified"] for image in document("-c", server.path, "-v", "big")["result"]] == [True]
    missing = document("-c", server.path, "other", "big", status=1)
    assert [image["zone"] for image in missing["result"]] == ["big."]
    assert missing["messages"] == [{"level": "error", "text": "zone image, there is none", "zone": "other."}]
    server.stop()
    data = next(server.dir.glob("**/data.mdb"))
    content = bytearray(data.read_bytes())
    content[content.rindex(b"q" * 150)] ^= 4
    data.write_bytes(content)
    (server.dir / "example.zone").unlink()
    damaged = document("-c", server.path, "-v", status=1)
    assert [image["verified"] for image in damaged["result"]] == [False, True]
    assert damaged["messages"] == [{"level": "error", "text": "zone image, a checksum does not match", "zone": "big."}]
    assert damaged["result"][1]["files"][0]["state"] == "missing"


def test_json_of_nothing(directory):
    nothing = document("-d", directory / "none", status=1)
    assert nothing["result"] == [] and "directory" not in nothing
    assert "none.conf" in document("-c", directory / "none.conf", status=1)["messages"][-1]["text"]


def test_usage(directory):
    assert kzoneimage("-h").stdout.startswith("Usage: kzoneimage ")
    assert kzoneimage("--version").stdout.startswith("kzoneimage (Bowline), version ")
    done = kzoneimage("--nothing")
    assert done.returncode == 1 and "Usage:" in done.stderr
    done = kzoneimage("-d", directory / "none")
    assert done.returncode == 1 and "No such file" in done.stderr
    assert not (directory / "none").exists()
    done = kzoneimage("-c", directory / "none.conf")
    assert done.returncode == 1 and "none.conf" in done.stderr
