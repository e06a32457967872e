"""Writing the workflows for GitHub, filled in for a repository."""

from __future__ import annotations

import re
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from pathlib import Path

WORKFLOWS = ("merge-blueprint.yml", "verify-blueprint.yml", "warm-blueprint-cache.yml")
_SPEC = re.compile(r"[A-Za-z0-9._+@:/=~ -]{1,300}")
_BRANCH = re.compile(r"(?!-)[A-Za-z0-9._/-]{1,200}")


def workflow_texts(*, ekiden: str | None = None, base: str = "main") -> dict[str, str]:
    """Return the workflows by file name.

    Args:
        ekiden: What pip installs; this version of Ekiden by default.
        base: The branch that is merged into.

    Raises:
        CommandError: One of the two has signs that do not belong there.
    """
    spec = ekiden or f"ekiden=={version('ekiden')}"
    if not _SPEC.fullmatch(spec) or spec.startswith("-"):
        raise CommandError(f"{spec!r} is nothing that pip installs; say such as 'ekiden==0.1.0'.")
    if not _BRANCH.fullmatch(base):
        raise CommandError(f"{base!r} is no plain name of a branch; say such as 'main'.")
    folder = files("ekiden_orchestrator.blueprint") / "workflows"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in WORKFLOWS}
    return {name: text.replace("@EKIDEN@", spec).replace("@BASE@", base) for name, text in texts.items()}


def write_workflows(folder: Path, *, ekiden: str | None, base: str, force: bool) -> list[Path]:
    """Write the workflows into a folder, all or none.

    Raises:
        CommandError: One is there already, or cannot be written.
    """
    texts = {folder / name: text for name, text in workflow_texts(ekiden=ekiden, base=base).items()}
    there = [path for path in texts if path.exists()]
    if there and not force:
        raise CommandError(f"{str(there[0])!r} is there already; --force replaces it.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"Cannot write into {str(folder)!r}: {error.strerror}.") from error
    return list(texts)
