"""Files that are kept to spare work: each appears whole or not at all, and may go at any time."""

import logging
from pathlib import Path

from ekiden_files import write_whole

_LOGGER = logging.getLogger(__name__)


def drop(path: Path) -> None:
    """Remove a kept file, if that can be done; nothing depends on it."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOGGER.warning("cannot drop %s: %s", path, error)


def keep(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all, and its folder, for the user's eyes alone.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(path, data, mode=0o600)
