"""Leaving: a server that ends takes everything it started with it, and does not wait for what cannot be interrupted."""

import os
import sys
import threading

import psutil

_GRACE_S = 1.0
"""How long running calls may take to notice that the server is ending; clients kill after two seconds."""


def stop_descendants() -> None:
    """Kill every process that this one started, directly or not."""
    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue


def leave_soon(status: int, *, grace_s: float = _GRACE_S) -> None:
    """End the process after a moment of grace, if it has not ended by then; a computing thread cannot be cancelled."""

    def leave() -> None:
        stop_descendants()
        sys.stderr.flush()
        os._exit(status)

    timer = threading.Timer(grace_s, leave)
    timer.daemon = True
    timer.start()
