"""Ending what a warden left behind that was itself killed, where no namespace ends it for us."""

import contextlib

import psutil

from ekiden_orchestrator.marathon.folder import AttemptFolder


def end_strays(folder: AttemptFolder) -> int:
    """Kill every process that carries the attempt's answers file in its environment; return how many there were."""
    ended = 0
    while strays := _strays(folder):
        for process in strays:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(strays, timeout=5)
        ended += len(strays)
    return ended


def _strays(folder: AttemptFolder) -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get("JUDGE_MARATHON_OUTPUT") == str(folder.answers):
                found.append(process)
    return found
