"""Verifying a blueprint by its rules, and a change of it by what its role may do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint.changes import compare
from ekiden_blueprint.edges import edges_of
from ekiden_blueprint.graph import ProofGraph
from ekiden_blueprint.parser import BlueprintFile, parse
from ekiden_blueprint.project import Project
from ekiden_blueprint.rules import check
from ekiden_blueprint.states import Progress
from ekiden_blueprint.version import TARGET, Version
from ekiden_orchestrator.blueprint.change_rules import change_finding, finding_at, findings_of
from ekiden_orchestrator.errors import CommandError
from ekiden_policies.blueprint_roles import judge_change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ekiden_blueprint.findings import Finding
    from ekiden_blueprint.rules import Allowances, Diagnostic
    from ekiden_orchestrator.blueprint.elaborating import Elaborated, Elaborator
    from ekiden_orchestrator.blueprint.repository import Merged, Repository
    from ekiden_policies.blueprint_roles import BlueprintChange, Role


@dataclass(frozen=True, slots=True)
class Assignment:
    """Whose change is judged: the role, a worker's node, and what somebody let targets become."""

    role: Role
    node: str = ""
    approved: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change to be judged.

    Attributes:
        repository: Where the commits are.
        merged: The base, the change, and what merging gives.
        files: Tells the blueprint's files of a tree.
        assignment: Whose change it is.
        source_folder: The folder that names of modules count from.
    """

    repository: Repository
    merged: Merged
    files: Callable[[str], Sequence[str]]
    assignment: Assignment
    source_folder: str = ""


class ChangedVersion(NamedTuple):
    """A change: both versions, the files that differ, and what was merged."""

    base: Version
    merged: Merged
    assignment: Assignment
    change: BlueprintChange


@dataclass(frozen=True, slots=True)
class Verified:
    """What was looked at, and what was found."""

    project: Project
    progress: Progress
    findings: tuple[Finding, ...]
    elaborated: Elaborated
    allowances: Allowances
    changed: ChangedVersion | None = None

    @property
    def passes(self) -> bool:
        """Whether nothing found is an error."""
        return not any(finding.severity == "error" for finding in self.findings)


def verify(
    project: Project, elaborate: Elaborator, allowances: Allowances, *, build: Sequence[Diagnostic] = ()
) -> Verified:
    """Verify one version by all rules.

    Args:
        project: The files.
        elaborate: Asks Lean.
        allowances: What the project allows.
        build: What a build of it said.
    """
    elaborated = elaborate(project)
    facts = elaborated.facts
    edges = edges_of(project, facts)
    said = [*elaborated.diagnostics, *build]
    findings = check(project, edges=edges, diagnostics=said, allowances=allowances, facts=facts)
    if elaborated.absent:
        findings.append(_not_looked_at(project, elaborated.absent))
    known = facts if facts is not None and facts.outcome == "complete" else None
    progress = Progress(ProofGraph(project, edges), known, assumed=allowances.assumptions)
    return Verified(project, progress, tuple(findings), elaborated, allowances)


def verify_change(
    proposal: Proposal, elaborate: Elaborator, allowances: Allowances, *, build: Sequence[Diagnostic] = ()
) -> Verified:
    """Verify what merging a change gives: by all rules, and against the base by what the change's role may do.

    Args:
        proposal: The change.
        elaborate: Asks Lean.
        allowances: What the project allows.
        build: What a build of the merged tree said.

    Raises:
        CommandError: A file cannot be read, there is none, or the base has no such lemma or theorem for the worker.
    """
    repository, merged, assignment = proposal.repository, proposal.merged, proposal.assignment
    named = tuple(dict.fromkeys((*proposal.files(merged.tree), *proposal.files(merged.base))))
    head_project = _project_of_tree(proposal, merged.tree, named)
    base_project = _project_of_tree(proposal, merged.base, named)
    if not head_project.files and not base_project.files:
        raise CommandError(f"Neither commit has a plain file among {', '.join(map(repr, named)) or 'no files'}.")
    if assignment.node:
        given = base_project.node(assignment.node)  # says which are near when there is none
        if not given.is_proof:
            raise CommandError(f"{assignment.node!r} is no lemma or theorem; a worker has one to prove.")
    verified = verify(head_project, elaborate, allowances, build=build)
    base = Version(base_project, elaborate(base_project).facts)
    head = Version(head_project, verified.elaborated.facts)
    paths = repository.differing(merged.base, merged.tree, named)
    change = compare(base, head, own=assignment.node, paths=paths)
    found = findings_of(
        judge_change(assignment.role, change, own=assignment.node, approved=assignment.approved), base, head
    )
    found += _conflicts(merged)
    found += _told(change, assignment, head)
    return Verified(
        head_project,
        verified.progress,
        (*found, *verified.findings),
        verified.elaborated,
        allowances,
        ChangedVersion(base, merged, assignment, change),
    )


def _project_of_tree(proposal: Proposal, tree: str, paths: Iterable[str]) -> Project:
    """Read the blueprint of a tree, its files in the order in which they import one another.

    Raises:
        CommandError: A file is not UTF-8, or is too big.
    """
    files: list[BlueprintFile] = []
    for path in paths:
        if (data := proposal.repository.read(tree, path)) is not None:
            try:
                files.append(parse(data.decode("utf-8"), path, source_folder=proposal.source_folder))
            except UnicodeDecodeError as error:
                raise CommandError(f"{path!r} is not UTF-8: byte {error.start} cannot be read. Save it so.") from error
    return Project(in_import_order(files))


def in_import_order(files: Sequence[BlueprintFile]) -> list[BlueprintFile]:
    """Put files after those they import, and otherwise leave them in their order."""
    modules = {file.module: file for file in files}
    ordered: dict[str, BlueprintFile] = {}

    def visit(module: str, above: frozenset[str]) -> None:
        if module in ordered or module in above:
            return
        for command in modules[module].commands:
            if command.kind == "import":
                for name in command.names:
                    if name in modules:
                        visit(name, above | {module})
        ordered[module] = modules[module]

    for module in modules:
        visit(module, frozenset())
    return list(ordered.values())


def matching(paths: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """Give the paths that one of the patterns fits; `**` fits any folders, `*` and `?` no slash."""
    wanted = [re.compile(_expression(pattern)) for pattern in patterns]
    return [path for path in paths if any(pattern.fullmatch(path) for pattern in wanted)]


def _expression(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(signs.get(part) or re.escape(part) for part in parts)


def _not_looked_at(project: Project, why: str) -> Finding:
    path = project.files[0].source.path if project.files else ""
    return change_finding(
        "BP013", f"Lean has not looked at it, so complete proofs are taken at their word. {why}", path
    )


def _conflicts(merged: Merged) -> list[Finding]:
    message = "Merging it into {!r} leaves a conflict in this file; bring the branch up to date."
    return [change_finding("BP012", message.format(merged.base[:12]), path) for path in merged.conflicts]


def _told(change: BlueprintChange, assignment: Assignment, head: Version) -> Iterable[Finding]:
    """Say what is allowed and yet should be seen: approved changes of targets, and proofs given up."""
    for one in change.nodes:
        node = head.nodes.get(one.name)
        if node is None:
            continue
        if one.is_target and one.meaning == "changed" and assignment.approved.get(one.name) == one.becomes:
            message = f"The target {one.name!r} states something else, as was approved ({one.becomes})."
            yield finding_at("BP014", message, head, node, "signature")
        if one.before == "complete" and one.after == "placeholder":
            message = f"The proof of {one.name!r} was complete and is a placeholder now."
            yield finding_at("BP015", message, head, node, "body")


def targets_of(project: Project) -> list[str]:
    """Give the names of the theorems, in order."""
    return list(dict.fromkeys(node.full_name for node in project.nodes if node.keyword == TARGET and node.name))
