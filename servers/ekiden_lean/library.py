"""The compiled modules of a Lean."""

from collections.abc import Sequence
from pathlib import Path


def module_present(library_path: Sequence[Path], name: str) -> bool:
    """Tell whether a module's compiled file is in one of these folders."""
    parts = name.split(".")
    if not all(parts) or any("/" in part or "\\" in part for part in parts):
        return False
    return any(folder.joinpath(*parts[:-1], f"{parts[-1]}.olean").is_file() for folder in library_path)
