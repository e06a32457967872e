"""Whether a process that holds a key can be read by another one of the same, ordinary user."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is tested is Linux's")

# Root can read everything. Changing the user hides a process too, which starting a program would undo; but an ordinary
# user may be unable to start this Python.
BECOME_ORDINARY = """
import ctypes, json, os, sys
from ekiden_warden import hide_memory
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    assert ctypes.CDLL(None).prctl(4, 1, 0, 0, 0) == 0
"""
HOLDER = f"""{BECOME_ORDINARY}
kept = ctypes.create_string_buffer(b"a key in memory")
if sys.argv[1] == "hidden":
    assert hide_memory()
print(ctypes.addressof(kept), flush=True)
sys.stdin.read()
"""
READER = f"""{BECOME_ORDINARY}
def found(path, place, secret):
    try:
        with open(f"/proc/{{sys.argv[1]}}/{{path}}", "rb", buffering=0) as file:
            file.seek(place)
            return secret in file.read(4096)
    except PermissionError:
        return None
memory = found("mem", int(sys.argv[2]), b"a key in memory")
environment = found("environ", 0, b"a key in the environment")
print(json.dumps({{"root": os.geteuid() == 0, "environment": environment, "memory": memory}}))
"""


def try_to_read(kind: str) -> dict[str, object]:
    """Have one process hold secrets and another one of the same user try to read them."""
    environment = {"SECRET": "a key in the environment", "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as holder:
        assert holder.stdout is not None
        arguments = [sys.executable, "-c", READER, str(holder.pid), holder.stdout.readline().strip()]
        read = subprocess.run(arguments, capture_output=True, text=True, check=True)
    return json.loads(read.stdout)


def test_no_process_of_the_same_user_reads_one_that_hid_its_memory() -> None:
    assert try_to_read("hidden") == {"root": False, "environment": None, "memory": None}


def test_one_that_did_not_can_be_read() -> None:
    assert try_to_read("plain")["environment"] is True
