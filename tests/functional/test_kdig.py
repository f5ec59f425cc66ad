# SPDX-License-Identifier: BSD-2-Clause
"""kdig and khost beside what the golden lines compare: files of queries, dnstap, connections that are kept, output that can't be written, terminals."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

import pytest

from harness.net import free_port
from harness.scripted_server import ScriptedServer
from harness.server import built
from harness.waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def odd():
    server = ScriptedServer()
    yield server
    server.stop()


def run(words, program="kdig", **options):
    return subprocess.run([built(program, "tools"), *words], capture_output=True, text=True, timeout=30 * PATIENCE, check=False,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}, **options)


def kdig(odd, *words, **options):
    return run([f"@127.0.0.1#{odd.port}", *words], **options)


def on_terminal(words, stdout_too, columns=80, **environment):
    """What goes to a terminal: standard error, with stdout_too standard output as well; and the rest."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([built("kdig", "tools"), *words], stdin=subprocess.DEVNULL, stdout=follower if stdout_too else subprocess.PIPE,
                          stderr=follower, env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment}) as process:
        os.close(follower)
        rest = process.communicate(timeout=60 * PATIENCE)[0]
        seen = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:
                break
            if not more:
                break
            seen += more
    os.close(leader)
    return seen.decode(), (rest or b"").decode()


# ---- files of queries ----

def test_batch(odd, tmp_path):
    path = tmp_path / "queries"
    path.write_text("# a comment\n; another\n\na.odd.test\ncname.odd.test CNAME\n  glue.odd.test\t-t NS +noall +authority\n")
    done = kdig(odd, "+short", "-f", str(path), "a-2.odd.test")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["192.0.2.1", "a.odd.test.", "192.0.2.1", "192.0.2.2"]
    done = kdig(odd, "+short", "-f", "-", input=path.read_text())
    assert (done.returncode, done.stdout) == (0, "192.0.2.1\na.odd.test.\n")


def test_batch_is_checked_first(odd, tmp_path):
    """Nothing is asked if a line is bad; it is named."""
    path = tmp_path / "queries"
    path.write_text("a.odd.test\n\na.odd.test +nonsense\n")
    done = kdig(odd, "+short", "-f", str(path))
    assert done.returncode == 1 and "192.0.2.1" not in done.stdout
    assert "invalid option: +nonsense" in done.stderr and f"in file {path}, line 3" in done.stderr
    done = kdig(odd, "-f", str(tmp_path / "none"))
    assert done.returncode == 1 and "No such file" in done.stderr
    path.write_text(f"-f {path}\n")
    assert "within one" in kdig(odd, "-f", str(path)).stderr


def test_bad_line_in_the_middle_of_standard_input(odd):
    done = kdig(odd, "+short", "-f", "-", input="a.odd.test\n-t XX\na.odd.test\n")
    assert done.returncode == 1 and done.stdout == "192.0.2.1\n" and "bad type XX" in done.stderr


# ---- dnstap ----

def test_dnstap(odd, tmp_path):
    path = tmp_path / "messages.tap"
    done = kdig(odd, "-E", str(path), "a.odd.test", "tc.a-2.odd.test", "whole.odd.test", "AXFR")
    assert done.returncode == 0
    shown = run(["-G", str(path), "+qr"])
    assert shown.returncode == 0, shown.stderr
    assert re.findall(r"Flags: (qr )?.*(?:ANSWER: (\d+)).*", shown.stdout) == [
        ("", "0"), ("qr ", "1"), ("", "0"), ("qr ", "2"), ("", "0"), ("qr ", "2"), ("", "0"), ("qr ", "4")]
    assert shown.stdout.count(f"To 127.0.0.1@{odd.port}(UDP)") == 2 and shown.stdout.count(f"From 127.0.0.1@{odd.port}(TCP)") == 2
    assert '"QTYPEname": "AXFR"' in run(["-G", str(path), "+json"]).stdout


@pytest.mark.skipif(not os.path.exists("/usr/bin/kdig"), reason="the distribution's kdig is not installed")
def test_dnstap_of_others(odd, tmp_path):
    """Each reads what the other has written."""
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    words = [f"@127.0.0.1#{odd.port}", "+noedns", "a.odd.test", "glue.odd.test", "-t", "NS"]
    assert run(["-E", ours, *words]).returncode == 0
    subprocess.run(["/usr/bin/kdig", "-E", theirs, *words], stdout=subprocess.DEVNULL, check=True, timeout=30 * PATIENCE)

    def read(program, path):
        text = subprocess.run([program, "-G", path, "+qr"], capture_output=True, text=True, check=True, timeout=30 * PATIENCE,
                              env={**os.environ, "TZ": "UTC"}).stdout
        return re.sub(r"id: \d+|Time .*|in [\d.]+ ms", "X", text)
    texts = {read(program, path) for program in (built("kdig", "tools"), "/usr/bin/kdig") for path in (ours, theirs)}
    assert len(texts) == 1 and "glue.odd.test." in texts.pop()


def test_dnstap_that_is_none(odd, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(b"\0\0\0\0nonsense")
    done = run(["-G", str(path)])
    assert done.returncode == 1 and "unable to open dnstap input file" in done.stderr
    done = kdig(odd, "-E", str(tmp_path / "no" / "folder"), "a.odd.test")
    assert done.returncode == 1 and "unable to open dnstap output file" in done.stderr and done.stdout == ""


# ---- connections ----

def test_keepopen(odd):
    """One connection for all, or another one where the server has closed it."""
    before = odd.connections
    done = kdig(odd, "+short", "+tcp", "+keepopen", *["a.odd.test"] * 20)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout == "192.0.2.1\n" * 20
    assert odd.connections == before + 1
    done = kdig(odd, "+short", "+tcp", "+keepopen", "a.odd.test", "then-close.a.odd.test", "a.odd.test")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "192.0.2.1\n" * 3)


@pytest.mark.core
def test_settings_of_lines(odd, tmp_path):
    """What a line of a file sets ends with its query; a connection that is kept doesn't."""
    lines = tmp_path / "queries"
    lines.write_text("a.odd.test +ednsopt=65001:aa\n+ednsopt=65002:bb a.odd.test +ednsopt=65003:cc b.odd.test\n" * 3)
    before = odd.connections
    done = kdig(odd, "+tcp", "+keepopen", "+qr", "+ednsopt=65000", "-f", str(lines))
    codes = [re.findall(r"^;; Option \((\d+)\)", shown, re.M) for shown in re.split("^;; Sent ", done.stdout, flags=re.M)[:-1]]
    assert codes == [["65000", "65001"], ["65000", "65002", "65003"], ["65000", "65002"]] * 3
    assert done.returncode == 0 and odd.connections == before + 1
    # It speaks no TLS: what these settings leave behind is found by AddressSanitizer.
    lines.write_text("+tls +tls-pin=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= a.odd.test +https=//x.example/path b.odd.test +proxy=192.0.2.1-192.0.2.2\n" * 3)
    assert kdig(odd, "+time=1", "+retry=0", "-f", str(lines)).returncode == 1


def test_unix_socket(tmp_path):
    done = run([f"@{tmp_path}/none", "a.odd.test", "+tcp", "+time=1"])
    assert done.returncode == 1 and f"failed to query server {tmp_path}/none@UNIX(TCP)" in done.stderr


# ---- output ----

def test_output_that_cannot_be_written(odd):
    with open("/dev/full", "w") as full:
        done = subprocess.run([built("kdig", "tools"), f"@127.0.0.1#{odd.port}", "a.odd.test"], stdout=full, check=False, timeout=30 * PATIENCE)
    assert done.returncode == 1
    with open("/dev/full", "w") as full:
        assert subprocess.run([built("khost", "tools"), "-h"], stdout=full, check=False, timeout=30 * PATIENCE).returncode == 1


def test_escapes_do_not_reach_the_terminal(odd):
    """A server can't write to the user's terminal: extended errors, NSID, TXT, names."""
    for name in ("opt-15-00001b5b324a", "opt-3-1b5b324a", "rd-16-041b5b324a", "owner-041b5b324a00", "opt-65001-1b5b324a.opttext"):
        for words in ([], ["+short"], ["+opttext"], ["+json"]):
            done = kdig(odd, f"{name}.odd.test", *words)
            assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr


def test_terminal(odd):
    """Names are shown in the user's characters on a terminal only; there are no colours either way."""
    name = "xn--hky-fla2b.a.odd.test"
    words = [f"@127.0.0.1#{odd.port}", name]
    assert name in kdig(odd, name).stdout
    seen, _ = on_terminal(words, True)
    assert "héká" not in kdig(odd, name).stdout and "hékáy.a.odd.test." in seen and "\x1b[" not in seen
    seen, _ = on_terminal([*words, "+noidnout"], True)
    assert name in seen
    assert "hékáy" in kdig(odd, name, "+idnout").stdout


def test_progress(odd):
    """Long work that goes elsewhere is counted on the terminal, and the line goes in the end."""
    words = [f"@127.0.0.1#{odd.port}", "+short", *["slow-300.a.odd.test"] * 6]
    seen, rest = on_terminal(words, False)
    assert rest == "192.0.2.1\n" * 6
    assert re.search(r"\r;; \d queries", seen) and seen.endswith("\r\x1b[K")
    assert "queries" not in run(words).stderr


def test_progress_of_a_transfer(odd):
    """An AXFR that takes long is counted in records; only on a terminal that can erase the line, and only if the output goes elsewhere."""
    words = [f"@127.0.0.1#{odd.port}", "many.slow-40.odd.test", "AXFR", "+noall", "+answer", "+time=5"]
    records = run(words).stdout
    assert records.count("\n") == 52
    seen, rest = on_terminal(words, False)
    assert re.search(r"\r;; \d+ records", seen) and seen.endswith("\r\x1b[K") and rest == records
    for stdout_too, terminal in ((False, "dumb"), (True, "xterm")):
        seen, rest = on_terminal(words, stdout_too, TERM=terminal)
        assert "\x1b" not in seen and seen.replace("\r\n", "\n") + rest == records


@pytest.mark.parametrize("words", [["a.glue.odd.test", "+multiline"], ["rd-16-036162630568656c6c6f.odd.test", "TXT"], ["big-9.odd.test", "TXT", "+tcp", "+short"], ["-h"],
                                   ["a.odd.test", "+json"]])
def test_width_and_locale(odd, words):
    """What is printed is the same however wide the terminal is, whatever the locale, and in a pipe."""
    def same(text):
        return re.sub(r"(?<= id: )\d+|(?<=;; Time ).*|(?<= in )\S+ ms|(?<=\"ID\": )\d+|(?<=date).*", "X", text.replace("\r\n", "\n"))
    words = [f"@127.0.0.1#{odd.port}", *words]
    want = same(run(words).stdout)
    assert want.count("\n") > 1 and "\x1b" not in want
    for columns in (1, 20, 80, 500):
        assert same(on_terminal(words, True, columns, COLUMNS=str(columns))[0]) == want
    for locale in ("C", "POSIX", "C.UTF-8", "de_DE.UTF-8", "tr_TR.ISO-8859-9", "no such"):
        assert same(on_terminal(words, True, LC_ALL=locale, LANG=locale, LC_NUMERIC=locale)[0]) == want


@pytest.mark.parametrize("program, words", [("kdig", ["@127.0.0.1#{}", "+tcp", "slow-500.a.odd.test"]), ("khost", ["-T", "-t", "A", "slow-500.a.odd.test", "127.0.0.1#{}"])])
@pytest.mark.parametrize("closed, numbers, status", [(">&-", (1,), 1), ("2>&-", (2,), 0), ("<&-", (0,), 0), ("<&- >&- 2>&-", (0, 1, 2), 1)])
def test_streams_that_are_closed(odd, program, words, closed, numbers, status):
    """Sockets don't take the numbers of standard streams that are closed: what is printed would go to the server."""
    words = [built(program, "tools"), *(word.format(odd.port) for word in words)]
    before = len(odd.received)
    with subprocess.Popen(["sh", "-c", f'exec "$0" "$@" {closed}', *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: len(odd.received) > before, "no query")
        assert [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in numbers] == ["/dev/null"] * len(numbers)
        assert process.wait(timeout=30 * PATIENCE) == status


def test_malformed_replies_are_shown(odd):
    done = kdig(odd, "a.count-1-3.odd.test", "+retry=0")
    assert done.returncode == 1 and "malformed reply packet" in done.stderr
    assert re.search(r";; Malformed message of \d+ B, from byte \d+ on: a record is cut off", done.stdout)
    assert re.search(r"^;; a\.count-1-3\.odd\.test\.\t300\tIN\tA\t192\.0\.2\.1$", done.stdout, re.M)
    assert all(line == "" or line.startswith(";") for line in done.stdout.splitlines())


@pytest.mark.parametrize("name, said", [
    ("gap", "change from serial 5 follows one to serial 4"), ("badend", "the last change leads to serial 4, not to 5"), ("after", "records follow the final SOA"),
    ("foreign", "leading SOA owner not matching"), ("otherend", "response timeout"), ("noend", "response timeout")])
def test_transfers_out_of_order(odd, name, said):
    done = kdig(odd, f"{name}.odd.test", "IXFR=3", "+time=1")
    assert said in done.stderr


def test_khost_of_an_address(odd):
    done = run(["192.0.2.1", f"127.0.0.1#{odd.port}"], "khost")
    assert (done.returncode, done.stdout) == (0, "Host 1.2.0.192.in-addr.arpa. has no PTR record\n")


SECRET = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.mark.parametrize("program, option, words", [("kdig", "bad key (", []), ("knsupdate", "failed to parse key (", [os.devnull])])
@pytest.mark.parametrize("key, reason", [
    (f"hmac-foo:k1:{SECRET}", "unknown algorithm, use hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha224, hmac-sha1 or hmac-md5"),
    ("k1", "a key is [algorithm:]name:secret"), (f"hmac-sha256:a..b:{SECRET}", "invalid name of the key"), (f"k1:{SECRET}!", "the secret isn't base64")])
def test_bad_keys(odd, program, option, words, key, reason):
    """What is wrong with a key is said, and the secret isn't: errors go to logs."""
    done = run(["-y", key, *words], program)
    assert (done.returncode, done.stderr) == (1, f";; ERROR: {option}{reason})\n") and SECRET not in done.stdout


KEY_FILES = [
    (None, "No such file or directory"), ("", "there is no key in it"), ("\n# nothing\n", "there is no key in it"),
    ("key:\n  - id: k1\n    algorithm: hmac-sha256\n", "the key has no secret"), (f'key "k1" {{ secret "{SECRET}"; }};\n', "a key is [algorithm:]name:secret"),
    (f"md5:k1:{SECRET}\n", "unknown algorithm, use hmac-sha256, hmac-sha384, hmac-sha512, hmac-sha224, hmac-sha1 or hmac-md5")]


@pytest.mark.parametrize("program, option", [("kdig", "bad keyfile {} ("), ("knsupdate", "failed to parse keyfile '{}' (")])
@pytest.mark.parametrize("text, reason", KEY_FILES)
def test_bad_key_files(tmp_path, program, option, text, reason):
    path = tmp_path / "key"
    if text is not None:
        path.write_text(text)
    done = run(["-k", str(path), os.devnull], program)
    assert (done.returncode, done.stderr) == (1, f";; ERROR: {option.format(path)}{reason})\n")
    assert "Is a directory" in run(["-k", str(tmp_path), os.devnull], program).stderr


def test_key_files(odd, tmp_path):
    """A line as of -y, also behind comments, or what keymgr -t prints; a key that was taken out of use by a comment isn't taken."""
    made = run(["-t", "k1.example"], "keymgr").stdout
    assert made.startswith("# hmac-sha256:k1.example:") and "\nkey:\n" in made
    for text in (made, f"hmac-sha256:k1.example:{SECRET}\n", f"\n# of the secondary\n  k1.example:{SECRET}\n", f"hmac-sha256:k1.example:{SECRET} comment\n",
                 f"# hmac-sha256:old.example:{SECRET}\nhmac-sha256:k1.example:{SECRET}\n", f"# hmac-sha256:k1.example:{SECRET}\n"):
        (tmp_path / "key").write_text(text)
        done = kdig(odd, "-k", str(tmp_path / "key"), "+noall", "+qr", "+tsig", "a.odd.test")
        assert done.returncode == 0 and re.search(r"^k1\.example\.\s+0\s+ANY\s+TSIG\s+hmac-sha256\. ", done.stdout, re.M), text


def in_bash(odd, line):
    return subprocess.run(["bash", "-c", line, built("kdig", "tools"), f"@127.0.0.1#{odd.port}"], capture_output=True, text=True, timeout=30 * PATIENCE, check=False)


def test_clock_of_anybody(odd):
    """A reply that isn't signed may be anybody's, and so may be its time."""
    done = kdig(odd, "-y", f"k1:{SECRET}", "badtime.odd.test")
    assert re.search(r"the server's clock is (4\d{3}|5000) s ahead of this one, says a reply without a signature", done.stderr), done


def test_pipes(odd, tmp_path):
    """What comes through a pipe is there once: a key of a password manager, queries of another program, a packed dnstap file."""
    (tmp_path / "key").write_text(f"k1:{SECRET}\n")
    (tmp_path / "queries").write_text("a.odd.test\ncname.odd.test CNAME\n")
    for words in (f"-k <(cat {tmp_path}/key)", f"-k /dev/stdin <{tmp_path}/key", f"-k <(cat {tmp_path}/key) -q b.odd.test -q"):
        done = in_bash(odd, f'"$0" "$1" +noall +qr +tsig {words} a.odd.test')
        assert done.returncode == 0 and "TSIG\thmac-sha256" in done.stdout, done
    assert in_bash(odd, f'"$0" "$1" +short -f <(cat {tmp_path}/queries)').stdout == "192.0.2.1\na.odd.test.\n"
    assert in_bash(odd, f'cat {tmp_path}/queries | "$0" "$1" +short -f /dev/stdin').stdout == "192.0.2.1\na.odd.test.\n"
    assert kdig(odd, "-E", str(tmp_path / "tap"), "a.odd.test").returncode == 0
    assert in_bash(odd, f'"$0" +short -G <(cat {tmp_path}/tap)').stdout == "192.0.2.1\n"


@pytest.mark.parametrize("words, said", [
    (["@/nonexistent/socket"], "can't send query to /nonexistent/socket(UDP) (No such file or directory)"),
    (["@255.255.255.255"], "can't send query to 255.255.255.255@53(UDP) (Permission denied)"),
    (["@127.0.0.1#{closed}"], "can't receive reply from 127.0.0.1@{closed}(UDP) (Connection refused)"),
    (["@127.0.0.1#{closed}", "+tcp"], "can't connect to 127.0.0.1@{closed}(TCP) (Connection refused)"),
    (["@127.0.0.1#{closed}", "-b", "192.0.2.77"], "can't assign address 192.0.2.77 (Cannot assign requested address)"),
    (["@127.0.0.1#{odd}", "+tcp", "-q", "close.odd.test"], "can't receive reply from 127.0.0.1@{odd}(TCP) (the peer has closed the connection)")])
def test_why_nobody_answers(odd, words, said):
    """Warnings have the system's reason, and nothing is waited for that couldn't even be sent."""
    numbers = {"odd": odd.port, "closed": free_port()}
    begin = time.monotonic()
    done = run([*(word.format(**numbers) for word in words), "+retry=0", "+time=60", "a.odd.test"])
    assert done.returncode == 1 and f";; WARNING: {said.format(**numbers)}\n" in done.stderr and time.monotonic() - begin < 50


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", ""])
def test_names_of_users_in_any_locale(odd, locale):
    """In the locale C, as of a rescue system, names are UTF-8 too."""
    done = subprocess.run([built("kdig", "tools"), f"@127.0.0.1#{odd.port}", "+noall", "+question", "b\u00fccher.a.odd.test"], capture_output=True, check=False,
                          timeout=30 * PATIENCE, env={"LC_ALL": locale, "PATH": os.environ["PATH"]})
    assert (done.returncode, done.stderr) == (0, b"") and b"xn--bcher-kva.a.odd.test." in done.stdout
    done = subprocess.run([built("kdig", "tools"), f"@127.0.0.1#{odd.port}", b"b\xfccher.a.odd.test"], capture_output=True, check=False,
                          timeout=30 * PATIENCE, env={"LC_ALL": locale, "PATH": os.environ["PATH"]})
    assert done.returncode == 1 and b";; ERROR: IDNA (" in done.stderr
