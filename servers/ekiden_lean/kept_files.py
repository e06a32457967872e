"""Files that are kept to spare work: each appears whole or not at all, and may go at any time."""

import logging
import os
import tempfile
from pathlib import Path

_LOGGER = logging.getLogger(__name__)


def drop(path: Path) -> None:
    """Remove a kept file, if that can be done; nothing depends on it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOGGER.warning("cannot drop %s: %s", path, error)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all, in a folder of the user's alone.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
