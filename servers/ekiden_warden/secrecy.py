"""Keeping what a process knows from its user's other processes."""

import contextlib

from ekiden_warden import kernel
from ekiden_warden.program import LINUX


def hide_memory() -> bool:
    """Keep other processes of this user from reading this one: its memory, and its environment in /proc.

    Without it they can, keys included; root always can. It holds for the rest of the process's life; programs that it
    starts are not covered, so it should pass on no key to them.

    Returns:
        Whether it holds: it does on Linux.
    """
    with contextlib.suppress(OSError, AttributeError):  # AttributeError: a C library without the call
        if LINUX:
            kernel.hide_memory()
            return True
    return False
