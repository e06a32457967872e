"""What an installation of the WebAssembly Lean consists of, written beside it, and whether that is still so."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ekiden_lean.errors import LeanError
from ekiden_lean.unpack import file_sha256

FILE = "manifest.json"
LOADER = "lean.js"
MODULE = "lean.wasm"
LIBRARY = "lib"


class Manifest(BaseModel):
    """The parts of an installation by size and SHA-256."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lean_version: str = Field(description="The version that Lean tells.")
    package: str = Field(description="The package it came from, with its version.")
    loader_revision: int = Field(description="Which of our changes the loader carries.")
    loader_bytes: int
    loader_sha256: str
    module_bytes: int
    module_sha256: str
    library_files: int
    library_sha256: str = Field(description="Over the library's file names and their hashes, in order of the names.")

    @property
    def identity(self) -> str:
        """Return a short hash of everything that a verdict depends on."""
        parts = (self.lean_version, self.loader_sha256, self.module_sha256, self.library_sha256)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def library_sha256(hashes: Mapping[str, str]) -> str:
    """Return one hash for a whole folder, from the hashes of its files by relative name."""
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """Return what an installation says of itself, or `None` when it is not complete."""
    try:
        manifest = Manifest.model_validate_json((folder / FILE).read_bytes())
        sizes = ((folder / LOADER).stat().st_size, (folder / MODULE).stat().st_size)
    except (OSError, ValidationError):
        return None
    return manifest if sizes == (manifest.loader_bytes, manifest.module_bytes) else None


def verify(folder: Path, manifest: Manifest) -> None:
    """Read a whole installation again.

    Raises:
        LeanError: If any of it is not as it was installed.
    """
    library = folder / LIBRARY
    changed = [
        name
        for name, expected in ((LOADER, manifest.loader_sha256), (MODULE, manifest.module_sha256))
        if file_sha256(folder / name) != expected
    ]
    files = {path.relative_to(library).as_posix(): path for path in library.rglob("*") if path.is_file()}
    if library_sha256({name: file_sha256(path) for name, path in files.items()}) != manifest.library_sha256:
        changed.append(f"{LIBRARY} ({len(files)} files, {manifest.library_files} installed)")
    if changed:
        raise LeanError(
            f"The Lean in {str(folder)!r} is not as it was installed: {', '.join(changed)}. "
            "Install it afresh: ekiden lean install --wasm --again"
        )
