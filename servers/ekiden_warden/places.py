"""Where things lie on this machine that a confined program needs, or must not see."""

import contextlib
import os
import pwd
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ekiden_warden.order import View

_SYSTEM = frozenset(
    {"bin", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "sbin", "snap", "sys", "usr"}
)
_SETTINGS = "/etc"


def python_folders() -> list[Path]:
    """Return the folders of this Python and its packages, those on the way of its executable's links included."""
    folders = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    return [*map(Path, folders), *(path.parent for path in _links(Path(sys.executable)))]


def home_folders() -> list[Path]:
    """Return the home folders of this user, by the environment and by the system's list."""
    homes = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return [Path(home) for home in homes if Path(home).is_absolute()]


def as_seen(paths: Iterable[Path]) -> set[str]:
    """Return absolute paths, each also with its links resolved: a link must stay visible as one."""
    return {form for path in paths for form in (os.path.abspath(path), os.path.realpath(path))}  # noqa: PTH100


def system_view(*, writes: Sequence[Path], shows: Sequence[Path], hides: Sequence[Path]) -> View:
    """Return a view of the system's own folders, and of nothing else but what is shown or may be written.

    Everything beside the usual system folders is hidden: homes, temporary folders, sockets of services, other
    people's data; so are settings that not everybody may read.
    """
    kept = as_seen(shows)
    writable = {os.path.realpath(path) for path in writes}
    covers = {os.path.realpath(path) for path in (*_beside_system(), *home_folders(), *_private_settings())}
    covers -= kept | writable | {"/"}
    covers |= {os.path.realpath(path) for path in hides}
    return View(tuple((path, None) for path in sorted(covers)), tuple(sorted(kept - covers)), tuple(sorted(writable)))


def program_files(executable: Path) -> list[Path]:
    """Return an executable and every link on the way to it."""
    return list(_links(executable))


def _links(path: Path) -> Iterator[Path]:
    yield path
    while path.is_symlink():
        path = path.parent / path.readlink()
        yield path


def _beside_system() -> Iterator[str]:
    with os.scandir("/") as entries:
        for entry in entries:
            if entry.name not in _SYSTEM and not entry.is_symlink():
                yield entry.path


def _private_settings() -> Iterator[str]:
    """Yield what this user may read in the system's settings while others may not: keys, password hashes."""
    waiting = [_SETTINGS]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                needed = 0o005 if is_folder else 0o004
                if entry.stat(follow_symlinks=False).st_mode & needed != needed:
                    if os.access(entry.path, os.R_OK):
                        yield entry.path
                elif is_folder:
                    waiting.append(entry.path)
