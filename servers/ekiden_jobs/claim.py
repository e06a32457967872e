"""Who runs a job: one system's job alone, one run at a time; the standard library alone."""

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from ekiden_files import write_new
from ekiden_jobs.records import (
    CLAIM_FILE,
    CLAIMED_BY_ANOTHER,
    ENDED_FILE,
    MAY_NOT_RUN_AGAIN,
    STARTED_FILE,
    read_ended,
    read_started,
)

NOBODY = ""
"""Who owns the claim of a job that must not run."""
_UNREADABLE = "?"
_PATIENCE_S = 60.0
_LOOK_EVERY_S = 0.25


class LeaveError(Exception):
    """There is nothing to run; the message says why, and `code` is what to exit with."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


def claim_run(folder: Path, native_id: str, requeues: int, pause: Callable[[float], None]) -> int:
    """Claim a job for this process until it ends; return which run of the job it is to be, from 1.

    Args:
        folder: Where the job leaves what it writes.
        native_id: The job of the system's that this process belongs to; once one has the claim, no other gets it.
        requeues: How often the job may run again.
        pause: Waits for some seconds; it may raise to give up.

    Raises:
        LeaveError: The job is another's, is over, or has run as often as it may.
    """
    claim = folder / CLAIM_FILE
    try:
        write_new(claim, json.dumps({"native_id": native_id, "at": time.time()}) + "\n", sync=True)
    except FileExistsError:
        owner = _read_owner(claim)
        if owner != native_id:
            raise LeaveError(CLAIMED_BY_ANOTHER, f"this job belongs to {owner!r}, not to {native_id!r}") from None
    _hold(claim, pause)
    ended = read_ended(folder / ENDED_FILE)
    if ended is not None and ended.is_final:
        raise LeaveError(ended.shell_code, f"this job ended before, with exit code {ended.shell_code}")
    started = read_started(folder / STARTED_FILE)
    runs = 0 if started is None else started.run
    if runs > requeues:
        raise LeaveError(MAY_NOT_RUN_AGAIN, f"this job has run {runs} times and may be put back {requeues} times")
    if ended is not None:
        (folder / ENDED_FILE).rename(folder / f"ended-{ended.run}.json")
    return runs + 1


def bar_run(folder: Path) -> bool:
    """Claim a job for nobody, so that it never runs; return whether that is so, which it is not once it was claimed."""
    try:
        write_new(folder / CLAIM_FILE, json.dumps({"native_id": NOBODY, "at": time.time()}) + "\n", sync=True)
    except FileExistsError:
        return claim_owner(folder) == NOBODY
    return True


def claim_owner(folder: Path) -> str | None:
    """Return whose a job is, `NOBODY` if it must not run; None as long as it is not claimed."""
    claim = folder / CLAIM_FILE
    if not claim.exists():
        return None
    try:
        return _read_owner(claim)
    except LeaveError:
        return _UNREADABLE


def _read_owner(claim: Path) -> str:
    try:
        value = cast("dict[str, object]", json.loads(claim.read_bytes()))
        return str(value["native_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise LeaveError(CLAIMED_BY_ANOTHER, f"the claim {str(claim)!r} cannot be read: {error}") from error


def _hold(claim: Path, pause: Callable[[float], None]) -> None:
    """Lock the claim for the rest of this process's life, where the file system can do that.

    An earlier run of the same job can still be about to end when the system starts the next one.
    """
    descriptor = os.open(claim, os.O_RDWR | os.O_CLOEXEC)
    give_up_at = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in {errno.EAGAIN, errno.EACCES}:
                return
        else:
            return
        if time.monotonic() >= give_up_at:
            raise LeaveError(CLAIMED_BY_ANOTHER, "an earlier run of this job does not end")
        pause(_LOOK_EVERY_S)
