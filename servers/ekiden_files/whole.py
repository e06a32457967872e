"""Files that are whole or not there."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_NEW_FILE = 0o666  # less what the process's umask takes away
_MODES = 0o777


def write_whole(path: Path, data: bytes | str, *, mode: int | None = None, sync: bool = False) -> None:
    """Write a file so that whoever reads it sees the old content or the new, and nothing between.

    Args:
        path: The file; its folder must be there.
        data: The content; text becomes UTF-8 with its line ends as they are.
        mode: Who may read and write the file; None: as it was, or as usual for a new one.
        sync: Whether it must survive a crash of the machine too.

    Raises:
        OSError: It cannot be written; what was there is still there.
    """
    with writing_whole(path, mode=mode, sync=sync) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def writing_whole(path: Path, *, mode: int | None = None, sync: bool = False) -> Generator[BinaryIO]:
    """Open a file that takes its name when all of it is written; after an error nothing of it stays.

    Raises:
        OSError: It cannot be written; what was there is still there.
    """
    temporary = _beside(path)
    try:
        with _create(temporary, path, mode) as file:
            yield file
            _finish(file, sync=sync)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def write_new(path: Path, data: bytes | str, *, mode: int | None = None, sync: bool = False) -> None:
    """Write a file that is not there yet, whole; of several who try at once exactly one succeeds.

    Raises:
        FileExistsError: It is there.
        OSError: It cannot be written.
    """
    temporary = _beside(path)
    try:
        with _create(temporary, path, mode) as file:
            file.write(data.encode() if isinstance(data, str) else data)
            _finish(file, sync=sync)
        try:
            os.link(temporary, path)
        except FileExistsError:
            if temporary.stat().st_nlink == 1:  # over NFS a link can be made whose answer is lost, and then asked again
                raise
    finally:
        temporary.unlink(missing_ok=True)
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder survive a crash of the machine."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beside(path: Path) -> Path:
    """Return a name in the same folder, so in the same file system, that nobody else has."""
    return path.with_name(f".{path.name[:50]}.{os.urandom(8).hex()}.part")


def _create(temporary: Path, path: Path, mode: int | None) -> BinaryIO:
    if mode is None:
        try:
            mode = stat.S_IMODE(path.stat().st_mode) & _MODES
        except FileNotFoundError:
            return _open_new(temporary, _NEW_FILE)
    file = _open_new(temporary, mode)
    os.fchmod(file.fileno(), mode)
    return file


def _open_new(path: Path, mode: int) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w+b")


def _finish(file: BinaryIO, *, sync: bool) -> None:
    file.flush()
    if sync:
        os.fsync(file.fileno())
