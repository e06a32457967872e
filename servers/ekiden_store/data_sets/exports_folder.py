"""Folders that are there whole or not at all."""

import fcntl
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from ekiden_files import sync_folder
from ekiden_store.errors import StoreError, one_line

_LONGEST_NAME = 50


@contextmanager
def whole_folder(folder: Path) -> Generator[Path]:
    """Yield a folder beside the one that is wanted, which takes its name in the end.

    What a process that was killed left behind when it made the same folder is taken away first. A lock, which ends
    with its process, tells it from what another process is making.

    Raises:
        StoreError: There is something already, or the disk makes trouble; nothing is there then.
    """
    if folder.exists() or folder.is_symlink():
        raise StoreError(f"{str(folder)!r} is there already. Choose another folder, or take it away.")
    half_written = _beside(folder, os.urandom(8).hex())
    descriptor = -1
    try:
        for old in _left_behind(folder):
            shutil.rmtree(old, ignore_errors=True)
        half_written.mkdir(parents=True)
        descriptor = _locked(half_written)
        yield half_written
        sync_folder(half_written)
        half_written.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"The data set {str(folder)!r} cannot be written: {one_line(error)}") from error
    finally:
        shutil.rmtree(half_written, ignore_errors=True)
        if descriptor >= 0:
            os.close(descriptor)


def _beside(folder: Path, mark: str) -> Path:
    return folder.with_name(f".{folder.name[:_LONGEST_NAME]}.{mark}.part")


def _left_behind(folder: Path) -> Iterator[Path]:
    """Yield the folders that processes which are gone were making."""
    name = re.compile(re.escape(f".{folder.name[:_LONGEST_NAME]}.") + r"[0-9a-f]{16}\.part")
    for path in list(folder.parent.iterdir()) if folder.parent.is_dir() else []:
        if not name.fullmatch(path.name) or path.is_symlink():
            continue
        try:
            descriptor = _locked(path)
        except OSError:  # somebody is making it, or it is not ours
            continue
        yield path
        os.close(descriptor)


def _locked(folder: Path) -> int:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
