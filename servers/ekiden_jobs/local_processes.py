"""Hearing of the end of processes that are not this one's children, and signalling them."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress

from ekiden_warden.identity import ProcessIdentity, lives

_LONGEST_SLEEP_S = 0.5  # where the system does not tell of the end of a process


def send(process: ProcessIdentity, number: signal.Signals) -> None:
    """Send a signal to a process, and to none that has got its number since."""
    with suppress(ProcessLookupError):
        if not hasattr(os, "pidfd_open"):
            if lives(process):
                os.kill(process.pid, number)
            return
        descriptor = os.pidfd_open(process.pid)
        try:
            if lives(process):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def wait_for_an_end(processes: Iterable[ProcessIdentity], timeout_s: float) -> None:
    """Sleep until one of some processes ends, but not for longer than the timeout."""
    _wait_for_pids([process.pid for process in processes], timeout_s)


def wait_for(child: subprocess.Popen[bytes], timeout_s: float) -> bool:
    """Wait for the end of a child; tell whether it came in time."""
    if not hasattr(os, "pidfd_open"):
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout_s)
    else:
        _wait_for_pids([child.pid], timeout_s)
    return child.poll() is not None


def _wait_for_pids(pids: Iterable[int], timeout_s: float) -> None:
    if not hasattr(os, "pidfd_open"):
        time.sleep(min(timeout_s, _LONGEST_SLEEP_S))
        return
    poll = select.poll()
    descriptors: list[int] = []
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(pid))
                poll.register(descriptors[-1], select.POLLIN)
        poll.poll(timeout_s * 1000)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
