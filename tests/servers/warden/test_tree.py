"""Counting what a tree of processes takes."""

import os
import subprocess
import sys

from ekiden_warden import tree

SHARES = """
import os
kept = bytearray(b"x") * (64 << 20)
for _ in range(2):
    if os.fork() == 0:
        os.read(0, 1)
        os._exit(0)
print("ready", flush=True)
os.read(0, 1)
"""
MEBIBYTE = 1 << 20


def test_memory_that_processes_share_is_counted_for_each_or_divided_among_them():
    before = tree.count_resident_bytes(os.getpid()), tree.count_proportional_bytes(os.getpid())
    with subprocess.Popen([sys.executable, "-c", SHARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shares:
        assert shares.stdout is not None
        assert shares.stdout.readline() == b"ready\n"
        assert tree.count_resident_bytes(os.getpid()) - before[0] > 3 * 64 * MEBIBYTE
        assert 64 * MEBIBYTE < tree.count_proportional_bytes(os.getpid()) - before[1] < 2 * 64 * MEBIBYTE
        shares.communicate(timeout=30)
