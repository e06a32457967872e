"""Ending what a warden left behind that was itself killed, where no namespace ends it for us."""

import contextlib

import psutil


def end_strays(name: str, value: str) -> int:
    """Kill every process that has this variable in its environment, with this value; return how many there were."""
    ended = 0
    while strays := _strays(name, value):
        for process in strays:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(strays, timeout=5)
        ended += len(strays)
    return ended


def _strays(name: str, value: str) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(name) == value:
                found.append(process)
    return found
