"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

VARIABLE = "NUMBA_CACHE_DIR"


def compiled_code_can_be_kept(source: str) -> bool:
    """Choose a folder for the compiled code of a source file; tell whether there is one.

    A folder that the user names in `NUMBA_CACHE_DIR` is kept. Otherwise it is the source's own `__pycache__` if that
    can be written, else a folder in the user's cache. With neither, each process compiles for itself.
    """
    if os.environ.get(VARIABLE):
        return _is_writable(Path(os.environ[VARIABLE]))
    if _is_writable(Path(source).parent / "__pycache__"):
        return True
    folder = Path(platformdirs.user_cache_dir("ekiden")) / "numba"
    if not _is_writable(folder):
        return False
    from numba.core import config  # pyright: ignore[reportMissingTypeStubs]  # numba ships no types

    config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]  # numba makes its settings at import
    return True


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)
