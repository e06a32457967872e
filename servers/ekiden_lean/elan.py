"""Finding the Lean that elan's `lean` stands for, without running elan: it would download one that is not installed."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ekiden_lean.errors import LeanError

if TYPE_CHECKING:
    from collections.abc import Mapping

_RELEASE = re.compile(r"leanprover--lean4---v(\d+)\.(\d+)\.(\d+)")


def elan_home(environ: Mapping[str, str]) -> Path:
    """Return where elan keeps its toolchains."""
    return Path(environ.get("ELAN_HOME") or Path.home() / ".elan").expanduser()


def is_shim(program: Path) -> bool:
    """Tell whether a `lean` or `lake` is elan's stand-in, which chooses and may download the real one."""
    if program.resolve().name in {"elan", "elan-init"}:
        return True
    elan = program.parent / "elan"
    try:
        return elan.is_file() and program.samefile(elan)
    except OSError:
        return False


def chosen_toolchain(directory: Path, environ: Mapping[str, str]) -> Path:
    """Return the folder of the installed toolchain that elan would choose in a directory.

    Raises:
        LeanError: If elan would have to download it, or none is chosen.
    """
    home = elan_home(environ)
    name = _chosen_name(directory, home, environ)
    if name is None:
        raise LeanError(
            f"elan is installed in {str(home)!r}, and no toolchain is chosen: elan default leanprover/lean4:stable"
        )
    folder = _installed(home / "toolchains", name)
    if folder is None:
        raise LeanError(
            f"elan stands for the Lean toolchain {name!r}, which is not installed, and Ekiden does not let it download "
            f"one by itself. Either: elan toolchain install {name} - or set lean.lean to a Lean that is there, or "
            "lean.toolchain to 'wasm'."
        )
    return folder


def _chosen_name(directory: Path, home: Path, environ: Mapping[str, str]) -> str | None:
    if named := environ.get("ELAN_TOOLCHAIN", "").strip():
        return named
    directory = directory.resolve()
    settings = _settings(home / "settings.toml")
    overrides = cast("dict[str, object]", settings.get("overrides") or {})
    for folder in (directory, *directory.parents):
        if isinstance(override := overrides.get(str(folder)), str):
            return override
        try:
            if named := (folder / "lean-toolchain").read_text(encoding="utf-8").strip():
                return named
        except (OSError, UnicodeDecodeError):
            continue
    default = settings.get("default_toolchain")
    return default if isinstance(default, str) and default != "none" else None


def _settings(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _installed(toolchains: Path, name: str) -> Path | None:
    """Return the folder of a toolchain; for a channel such as 'stable' the newest installed release of it."""
    origin, _, release = name.rpartition(":")
    full = f"{origin or 'leanprover/lean4'}:{release}"
    for candidate in (full, name):
        folder = toolchains / candidate.replace("/", "--").replace(":", "---")
        if (folder / "bin" / "lean").is_file():
            return folder
    if release != "stable":
        return None
    releases = [
        (tuple(map(int, match.groups())), folder)
        for folder in toolchains.glob("leanprover--lean4---v*")
        if (match := _RELEASE.fullmatch(folder.name)) and os.access(folder / "bin" / "lean", os.X_OK)
    ]
    return max(releases)[1] if releases else None
