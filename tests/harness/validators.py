# SPDX-License-Identifier: BSD-2-Clause
"""Other programs' judgement of a signed zone."""
import subprocess

SECONDS = 5     # ldns-verify-zone 1.8 loops for ever on some zones with NSEC3 that all others find valid


def complaint(path, origin="example", one_key=False, when=None):
    """What dnssec-verify and ldns-verify-zone find wrong in a zone file, or "". one_key: it has a CSK; when: YYYYMMDDhhmmss, for ldns alone."""
    ldns = ["ldns-verify-zone", *(["-t", when] if when else []), str(path)]
    commands = [ldns] if when else [["dnssec-verify", "-q", *(["-z"] if one_key else []), "-o", origin, str(path)], ldns]
    said = ""
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            continue
        if done.returncode != 0:
            said += f"{command[0]}: {done.stdout}{done.stderr}"
    return said
