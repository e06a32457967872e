"""Showing a program only its part of the system's files, inside a mount namespace of its own."""

import errno
import os
import stat
from pathlib import Path

from ekiden_warden import kernel
from ekiden_warden.order import View

_PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV
_EMPTY = "mode=0755,size=64m"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount point
_DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def fresh_proc(*, read_only: bool) -> None:
    """Mount a /proc that shows only the processes of this namespace.

    Read-only keeps root, who owns the system's settings there, from changing them without any capability.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    protection = kernel.MS_RDONLY if read_only else 0
    kernel.mount("proc", "/proc", "proc", _PLAIN | kernel.MS_NOEXEC | protection)


def arrange(view: View) -> bool:
    """Cover, show and protect as the view says; tell whether the rest could be made read-only.

    Must run before `fresh_proc`: it reaches covered folders through descriptors under the old /proc.

    Raises:
        OSError: A step failed; the caller gives this namespace up.
    """
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    sources = set(filter(os.path.exists, (*view.shows, *view.writes, *_DEVICES)))
    sources |= {shown for _, shown in view.covers if shown is not None}
    held = {path: os.open(path, os.O_PATH) for path in sources}
    _fresh_devices(held)
    covers = dict(view.covers)
    writable = {_SHARED_MEMORY, *view.writes}
    links = {path for path in view.shows if os.path.realpath(path) != path}  # later than what they point to
    paths = {*covers, *view.shows, *view.writes}
    for path in sorted(paths, key=lambda path: (path in links, Path(path).parts)):
        if path in covers:
            if _cover(path, covers[path], held):
                writable.add(path)
        elif path in held:
            _show(path, held[path], always=path in writable)
    protected = _protect(sorted(path for path in writable if Path(path).is_dir()))
    for descriptor in held.values():
        os.close(descriptor)
    return protected


def _fresh_devices(held: dict[str, int]) -> None:
    """Replace /dev by the harmless devices: root would not need a capability to open a disk's."""
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.MS_NOSUID, _EMPTY)
    for path in _DEVICES:
        if path in held:
            Path(path).touch()
            _bind(held[path], path)
    for name, target in _LINKS.items():
        (Path("/dev") / name).symlink_to(target)
    Path(_SHARED_MEMORY).mkdir()
    kernel.mount("tmpfs", _SHARED_MEMORY, "tmpfs", _PLAIN, _EMPTY)


def _cover(path: str, shown: str | None, held: dict[str, int]) -> bool:
    """Hide what is at a path; tell whether the program may write there."""
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
    kernel.mount("tmpfs", path, "tmpfs", _PLAIN, _EMPTY)
    return False


def _show(path: str, descriptor: int, *, always: bool) -> None:
    shown = os.fstat(descriptor)
    try:
        visible = os.path.samestat(Path(path).stat(), shown)
    except OSError:
        visible = False
    if visible and not always:
        return
    if stat.S_ISDIR(shown.st_mode):
        Path(path).mkdir(parents=True, exist_ok=True)
    else:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
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
