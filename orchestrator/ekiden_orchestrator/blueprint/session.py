"""What the commands about blueprints have in common: which files, which Lean, which allowances."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_blueprint.findings import apply_fixes
from ekiden_blueprint.project import Project
from ekiden_blueprint.rules import Diagnostic, check, read_build_log
from ekiden_files import write_whole
from ekiden_orchestrator.blueprint.repository import WORKTREE
from ekiden_orchestrator.blueprint.verifying import Assignment, Proposal, in_import_order, matching
from ekiden_orchestrator.errors import CommandError
from ekiden_policies.blueprint_merge import assignment_of
from ekiden_policies.blueprint_roles import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ekiden_blueprint.rules import Allowances
    from ekiden_config.blueprint import BlueprintSettings
    from ekiden_orchestrator.blueprint.repository import Repository
    from ekiden_policies.blueprint_roles import Role

_MOST_LOG_BYTES = 64 << 20


def read_project(files: Sequence[Path], settings: BlueprintSettings) -> Project:
    """Read the files, or those that the settings' patterns find under the working folder.

    Raises:
        CommandError: There are none.
        BlueprintError: One cannot be read.
    """
    chosen, root = _chosen(files, settings)
    return Project(in_import_order(Project.read(chosen, root, source_folder=settings.source_folder).files))


def fix_files(files: Sequence[Path], settings: BlueprintSettings, allowances: Allowances) -> dict[str, int]:
    """Write every fix that the rules are sure of into the same files, as far as the text tells without Lean.

    Returns:
        How many fixes were made, for each file that changed.

    Raises:
        CommandError: There are no files, or one cannot be written.
        BlueprintError: One cannot be read.
    """
    _, root = _chosen(files, settings)
    project = read_project(files, settings)
    findings = [finding for finding in check(project, allowances=allowances) if finding.fix is not None]
    made: dict[str, int] = {}
    for file in project.files:
        path, text = file.source.path, file.source.text
        own = [finding for finding in findings if finding.path == path]
        if (fixed := apply_fixes(text, own)) != text:
            try:
                write_whole(root / path, fixed.encode())
            except OSError as error:
                raise CommandError(f"Cannot write {path!r}: {error.strerror}.") from error
            made[path] = len(own)
    return made


def _chosen(files: Sequence[Path], settings: BlueprintSettings) -> tuple[list[Path], Path]:
    """Give the files, and the folder that their paths are told from."""
    here = Path.cwd()
    chosen = [Path(os.path.normpath(here / file)) for file in files]
    if not chosen:
        below = (path.relative_to(here).as_posix() for path in sorted(here.rglob("*.lean")) if path.is_file())
        chosen = [here / path for path in matching(below, settings.files)]
    if not chosen:
        raise CommandError(f"No file fits {', '.join(map(repr, settings.files))} here; name the blueprint's files.")
    inside = all(path.is_relative_to(here) for path in chosen)
    root = here if inside else Path(os.path.commonpath([path.parent for path in chosen]))
    return list(dict.fromkeys(chosen)), root


def files_of(
    repository: Repository, files: Sequence[Path], settings: BlueprintSettings
) -> Callable[[str], Sequence[str]]:
    """Tell the blueprint's files of a tree: the ones named, or those that the settings' patterns find.

    Raises:
        CommandError: A file named lies outside the repository.
    """
    named: list[str] = []
    for file in files:
        place = Path(os.path.normpath(Path.cwd() / file))
        if not place.is_relative_to(repository.root):
            raise CommandError(f"{str(file)!r} lies outside the repository; name a file in it.")
        named.append(place.relative_to(repository.root).as_posix())
    return lambda tree: named or matching(repository.paths(tree), settings.files)


def read_assignment(
    role: str | None, node: str | None, branch: str | None, title: str | None, approved: dict[str, str]
) -> Assignment:
    """Tell whose change it is, from its role and node or from its branch and title.

    Raises:
        CommandError: They do not say, or contradict each other.
    """
    if branch is not None:
        found = assignment_of(branch, title or "")
        if found is None:
            raise CommandError(
                f"The branch {branch!r} with the title {title!r} is no role's; say --role and --node. A worker's are "
                "`round-N/NODE` and `Complete blueprint node: NODE`."
            )
        if role not in (None, found.role) or node not in (None, found.node):
            raise CommandError(f"The branch {branch!r} is that of a {found.role}; leave out --role and --node.")
        return Assignment(found.role, found.node, approved)
    known: dict[str, Role] = {name: name for name in ROLES}
    if role is None:
        raise CommandError(f"Say whose change it is: --role with one of {', '.join(known)}, or --branch.")
    if role not in known:
        raise CommandError(f"--role is {role!r}; say one of {', '.join(known)}.")
    if role == "worker" and not node:
        raise CommandError("A worker has one node; say it with --node.")
    if role != "worker" and node:
        raise CommandError(f"--node is a worker's; a {role} has none.")
    return Assignment(known[role], node or "", approved)


def propose(
    repository: Repository,
    refs: tuple[str, str],
    files: Callable[[str], Sequence[str]],
    assignment: Assignment,
    source_folder: str = "",
) -> Proposal:
    """Merge a head into a base, so that what merging gives can be judged.

    Raises:
        CommandError: A ref names no commit.
    """
    base = repository.commit(refs[0])
    head = repository.commit_of_working_tree(files("HEAD")) if refs[1] == WORKTREE else repository.commit(refs[1])
    return Proposal(repository, repository.merged(base, head), files, assignment, source_folder)


def read_log(path: Path | None) -> list[Diagnostic]:
    """Read a build log; one that cannot be read is a build that did not come to its end."""
    if path is None:
        return []
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_LOG_BYTES + 1)
    except OSError as error:
        return [Diagnostic("error", f"the build log {str(path)!r} cannot be read: {error.strerror}")]
    if len(data) > _MOST_LOG_BYTES:
        return [Diagnostic("error", f"the build log {str(path)!r} has more than {_MOST_LOG_BYTES >> 20} MiB")]
    return read_build_log(data.decode("utf-8", "replace"))
