"""Showing a solver only its part of the file system, inside a mount namespace of its own."""

import errno
import os
import stat
from pathlib import Path

from ekiden_orchestrator.marathon.warden import kernel
from ekiden_orchestrator.marathon.warden.order import View

_TMPFS = "mode=0755,size=64m"


def fresh_proc() -> None:
    """Mount a /proc that shows only the processes of this namespace."""
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)


def arrange(view: View) -> bool:
    """Cover, show and protect as the view says; tell whether the rest could be made read-only.

    Must run before `fresh_proc`: it reaches covered folders through descriptors under the old /proc.

    Raises:
        OSError: A step failed; the caller gives this namespace up.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    sources = {path for path in (*view.shows, *view.writes) if Path(path).is_dir()}
    sources |= {shown for _, shown in view.covers if shown is not None} | {os.devnull}
    held = {path: os.open(path, os.O_PATH) for path in sources}
    covers = dict(view.covers)
    writable = set(view.writes)
    for path in sorted({*covers, *view.shows, *view.writes}, key=lambda path: Path(path).parts):
        if path in covers:
            if _cover(path, covers[path], held):
                writable.add(path)
        elif path in held:
            _show(path, held[path], always=path in writable)
    protected = _protect(sorted(path for path in writable if Path(path).is_dir()))
    for descriptor in held.values():
        os.close(descriptor)
    return protected


def _cover(path: str, shown: str | None, held: dict[str, int]) -> bool:
    """Hide what is at a path; tell whether the solver may write there."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False  # another cover hides it already, or nothing is there
    if not stat.S_ISDIR(mode):
        _bind(held[os.devnull], path)
        return False
    if shown is not None:
        _bind(held[shown], path)
        return True
    kernel.mount("tmpfs", path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, _TMPFS)
    return path.startswith("/dev/")


def _show(path: str, descriptor: int, *, always: bool) -> None:
    try:
        visible = os.path.samestat(Path(path).stat(), os.fstat(descriptor))
    except OSError:
        visible = False
    if visible and not always:
        return
    Path(path).mkdir(parents=True, exist_ok=True)
    _bind(descriptor, path)


def _bind(descriptor: int, target: str) -> None:
    kernel.mount(f"/proc/self/fd/{descriptor}", target, None, kernel.MS_BIND | kernel.MS_REC)


def _protect(writable: list[str]) -> bool:
    try:
        kernel.set_read_only("/", read_only=True, recursive=True)
    except OSError as error:
        if error.errno == errno.ENOSYS:  # before Linux 5.12
            return False
        raise
    for path in writable:
        kernel.set_read_only(path, read_only=False, recursive=False)
    return True
