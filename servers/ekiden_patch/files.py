"""Reads and writes the file that patches change: whole, only on the text that was read, one writer at a time."""

import hashlib
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from ekiden_patch.errors import PatchError

_LOCK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file's text as it was read.

    Attributes:
        path: The file.
        text: Its text, line ends as they are.
        sha256: The hash of its bytes: the precondition for writing over them.
    """

    path: Path
    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Undo:
    """What it takes to take a change back.

    Attributes:
        path: The file.
        text: The text to put back.
        sha256: The hash of the text that the change left: only over that one is the old text put back.
    """

    path: Path
    text: str
    sha256: str


def sha256_of(text: str) -> str:
    """Return the hash of a text's bytes on disk."""
    return hashlib.sha256(text.encode()).hexdigest()


def resolve_inside(root: Path, name: str) -> Path:
    """Return the path of a file under a root.

    Args:
        root: The folder that holds every file that may be edited.
        name: The file's name as a caller gives it, relative to the root, or absolute and under it.

    Raises:
        PatchError: The name is none, or leads out of the root, also by a link, or to a link.
    """
    if not name or "\0" in name:
        raise PatchError(
            "bad_path", f"{name!r} names no file; give its path relative to the workspace.", {"path": name}
        )
    try:
        base = root.resolve(strict=True)
        path = base / name
        inside = path.parent.resolve().is_relative_to(base) and path.resolve().is_relative_to(base)
    except (OSError, RuntimeError) as error:
        raise PatchError(
            "bad_path", f"The path {name!r} cannot be followed: {_reason(error)}.", {"path": name}
        ) from error
    if not inside:
        raise PatchError(
            "bad_path",
            f"The path {name!r} leads out of the workspace; only files inside it can be edited.",
            {"path": name},
        )
    if path.name in {"", ".."}:
        raise PatchError("not_regular", f"{name!r} is a folder, not a file.", {"path": name})
    return path.parent.resolve() / path.name


def read_snapshot(path: Path, *, sha256: str | None = None) -> Snapshot:
    """Read a file's text.

    Args:
        path: The file.
        sha256: The hash that its bytes must have, when the caller knows which text it means.

    Raises:
        PatchError: It is missing, no regular file, not UTF-8, or another text than was meant.
    """
    snapshot = _read(path)
    if sha256 is not None and snapshot.sha256 != sha256.lower():
        message = (
            f"{path.name!r} is not the text that was meant: its hash is another. Read it again and make the patch anew."
        )
        raise _stale(path, message, sha256, snapshot.sha256)
    return snapshot


def _read(path: Path) -> Snapshot:
    try:
        # The file that was checked is the file that is read: a link put there in between is not followed.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        _require_regular(path)
        raise _cannot_read(path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(path)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read()
    except OSError as error:
        raise _cannot_read(path, error) from error
    finally:
        os.close(descriptor)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        message = f"{path.name!r} is not UTF-8 (byte {error.start}); only text in UTF-8 can be patched."
        raise PatchError("not_utf8", message, {"file": path.name, "byte": error.start}) from error
    return Snapshot(path, text, hashlib.sha256(content).hexdigest())


def write_text(snapshot: Snapshot, new_text: str, *, lock_folder: Path | None = None) -> Undo:
    """Write a new text over the one that was read, whole or not at all.

    Args:
        snapshot: What the new text was made from; the file must still hold it.
        new_text: The new text.
        lock_folder: Where the lock that keeps other writers out is kept; a folder of the user's own unless given. Every
            writer of the file must use the same one.

    Returns:
        What it takes to take the change back.

    Raises:
        PatchError: The file changed since it was read, another writer holds it for too long, or it cannot be written.
    """
    path = snapshot.path
    try:
        content = new_text.encode()
    except UnicodeEncodeError as error:
        message = f"The new text has a lone surrogate, {new_text[error.start]!r}, which no file in UTF-8 can hold."
        raise PatchError("not_utf8", message, {"file": path.name, "offset": error.start}) from error
    with _locked(path, lock_folder):
        found = _read(path)
        if found.sha256 != snapshot.sha256:
            message = (
                f"{path.name!r} changed since it was read; nothing was written. Read it again and make the patch anew."
            )
            raise _stale(path, message, snapshot.sha256, found.sha256)
        try:
            _replace(path, content)
        except OSError as error:
            raise PatchError(
                "cannot_write", f"{path.name!r} cannot be written: {_reason(error)}.", {"file": path.name}
            ) from error
    return Undo(path, snapshot.text, hashlib.sha256(content).hexdigest())


def undo_change(undo: Undo, *, lock_folder: Path | None = None) -> Undo:
    """Put the old text back, and return what it takes to have the change again.

    Raises:
        PatchError: The file was changed by another since, or cannot be written.
    """
    found = _read(undo.path)
    if found.sha256 != undo.sha256:
        message = f"{undo.path.name!r} was changed after the patch that is to be taken back; nothing was written."
        raise _stale(undo.path, message, undo.sha256, found.sha256)
    return write_text(found, undo.text, lock_folder=lock_folder)


@contextmanager
def _locked(path: Path, folder: Path | None) -> Generator[None]:
    """Hold the lock of one file: no other writer comes between the check of its hash and the new text."""
    name = hashlib.sha256(os.fsencode(path.parent.resolve() / path.name)).hexdigest()
    # Not beside the file: the folder is a work tree, and a lock in it would be one more change to explain.
    kept = folder if folder is not None else Path(platformdirs.user_state_dir("ekiden")) / "patch-locks"
    try:
        kept.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(kept / f"{name}.lock", timeout=_LOCK_TIMEOUT_S):
            yield
    except Timeout as error:
        message = f"{path.name!r} is being written by another patch; try again in a moment."
        raise PatchError("busy", message, {"file": path.name}) from error
    except OSError as error:
        raise PatchError(
            "cannot_write", f"The lock of {path.name!r} cannot be taken: {_reason(error)}.", {"file": path.name}
        ) from error


def _replace(path: Path, content: bytes) -> None:
    """Put new bytes in a file's place; its mode stays."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(_require_regular(path).st_mode))
            os.fsync(file.fileno())
        _require_regular(path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _require_regular(path: Path) -> os.stat_result:
    try:
        found = path.lstat()
    except FileNotFoundError as error:
        message = f"There is no file {path.name!r}; only files that exist can be patched."
        raise PatchError("missing_file", message, {"file": path.name}) from error
    except OSError as error:
        raise _cannot_read(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise _not_regular(path)
    return found


def _stale(path: Path, message: str, expected: str, found: str) -> PatchError:
    return PatchError("stale", message, {"file": path.name, "expected_sha256": expected, "found_sha256": found})


def _cannot_read(path: Path, error: OSError) -> PatchError:
    return PatchError("cannot_read", f"{path.name!r} cannot be read: {_reason(error)}.", {"file": path.name})


def _not_regular(path: Path) -> PatchError:
    message = f"{path.name!r} is no regular file (a link, a folder or a device); only regular files can be patched."
    return PatchError("not_regular", message, {"file": path.name})


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
