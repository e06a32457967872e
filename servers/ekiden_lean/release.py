"""The release of the WebAssembly Lean that this Ekiden installs: names, versions, sizes and hashes."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Package:
    """A package of a registry, pinned."""

    name: str
    version: str
    sha256: tuple[str, ...]
    """The hash of each file that may come: one, or one for each kind of system."""
    size: int
    """Bytes to fetch."""
    unpacked_size: int
    """Bytes it takes on the disk afterwards."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Release:
    """What is installed together."""

    lean_version: str
    lean: Package
    node: Package


def packaged_release() -> Release:
    """Return the release that comes with this Ekiden."""
    tables = tomllib.loads((files("ekiden_lean") / "wasm_release.toml").read_text("utf-8"))
    return Release(tables["lean"]["lean_version"], _package(tables["lean"]), _package(tables["node"]))


def _package(table: dict[str, Any]) -> Package:
    return Package(table["package"], table["version"], tuple(table["sha256"]), table["bytes"], table["unpacked_bytes"])
