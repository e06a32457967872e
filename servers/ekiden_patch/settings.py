"""Which files the server may edit: read from the settings and from the variables `APPLY_PATCH_*`."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from ekiden_patch.errors import PatchError
from ekiden_patch.files import resolve_inside
from ekiden_policies.edit_scope import EditScope, FileScope, HelperRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ekiden_config import PatchSettings

PREFIXES = ("EKIDEN_APPLY_PATCH_", "LEANMARATHON_APPLY_PATCH_", "APPLY_PATCH_")
"""Prefixes of the variables, the strongest first."""


class ScopedWorkspace(NamedTuple):
    """A folder, and what may be edited in it."""

    root: Path
    scope: EditScope


def read_scope(settings: PatchSettings, environ: Mapping[str, str] = os.environ) -> ScopedWorkspace:
    """Return the workspace and the scope; every file of the scope is there.

    Raises:
        PatchError: A setting or a variable is wrong.
    """
    root = _root(_variable("WORKSPACE", environ) or settings.workspace or ".")
    helpers = HelperRules(
        keywords=frozenset(settings.helper_keywords),
        modifiers=frozenset(settings.helper_modifiers),
        attributes=frozenset(settings.helper_attributes),
        commands=frozenset(settings.helper_commands),
        bare=settings.bare_helpers,
    )
    target, node = _variable("TARGET_FILE", environ), _variable("NODE", environ)
    others = _listed(_variable("OTHER_FILES", environ))
    role = _variable("ROLE", environ) or settings.role
    if role not in ("", "blueprinter", "refiner", "worker"):
        raise _wrong(f"The role {role!r} is none of 'blueprinter', 'refiner', 'worker'.")
    if node and not target:
        raise _wrong(f"APPLY_PATCH_NODE is {node!r}, but APPLY_PATCH_TARGET_FILE names no file that holds it.")
    if target or others:
        first = [FileScope(_label(root, target), node, helpers)] if target else []
        files = [*first, *(_other(root, name, first) for name in others)]
    else:
        files = [FileScope(_label(root, each.path), each.node, helpers) for each in settings.files]
    _refuse_links(root, files)
    primary = bool(target) or (not others and bool(files))
    scope = EditScope(tuple(files), primary=primary, any_file=not files, role=role or None)
    if (flaw := scope.flaw()) is not None:
        raise _wrong(flaw)
    return ScopedWorkspace(root, scope)


def label_of(root: Path, name: str) -> str:
    """Return how a file is called: its path from the root on, links on the way followed.

    Raises:
        PatchError: The name is none, or leads out of the root.
    """
    return resolve_inside(root, name).relative_to(root).as_posix()


def _root(name: str) -> Path:
    try:
        root = Path(name).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise _wrong(f"The workspace {name!r} cannot be found.") from error
    if not root.is_dir():
        raise _wrong(f"The workspace {name!r} is no folder.")
    return root


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return next((value for prefix in PREFIXES if (value := environ.get(prefix + name, "").strip())), "")


def _listed(value: str) -> list[str]:
    """Return the names of a JSON array, or of a list with commas or line breaks."""
    if not value:
        return []
    if value.startswith("["):
        try:
            parsed: object = json.loads(value)
        except ValueError as error:
            raise _wrong(f"APPLY_PATCH_OTHER_FILES is no JSON array: {error}.") from error
        names = cast("list[object]", parsed) if isinstance(parsed, list) else []
        if not names or not all(isinstance(name, str) for name in names):
            raise _wrong("APPLY_PATCH_OTHER_FILES is no JSON array of names.")
        found = [str(name).strip() for name in names]
    else:
        found = [name.strip() for name in value.replace(",\n", "\n").replace("\n", ",").split(",")]
    if "" in found:
        raise _wrong("APPLY_PATCH_OTHER_FILES has an empty entry.")
    return found


def _other(root: Path, name: str, first: list[FileScope]) -> FileScope:
    label = _label(root, name)
    if label.lower().endswith(".lean"):
        raise _wrong(f"{name!r} is a Lean file; only APPLY_PATCH_TARGET_FILE may be one.")
    if any(label == scope.path for scope in first):
        raise _wrong(f"{name!r} is the target file too; name it once.")
    return FileScope(label)


def _label(root: Path, name: str) -> str:
    try:
        label = label_of(root, name)
    except PatchError as error:
        raise _wrong(error.message) from error
    try:
        mode = (root / label).lstat().st_mode
    except OSError as error:
        raise _wrong(f"There is no file {name!r} in the workspace.") from error
    if not stat.S_ISREG(mode):
        raise _wrong(f"{name!r} is no regular file (a link, a folder or a device).")
    return label


def _refuse_links(root: Path, files: list[FileScope]) -> None:
    """Refuse two names of one file: a hard link would be edited under either."""
    seen: dict[tuple[int, int], str] = {}
    for scope in files:
        found = (root / scope.path).lstat()
        other = seen.setdefault((found.st_dev, found.st_ino), scope.path)
        if other != scope.path:
            raise _wrong(f"{scope.path!r} and {other!r} are one file; name it once.")


def _wrong(message: str) -> PatchError:
    return PatchError("not_configured", f"{message} That is for whoever runs this server.")
