"""Whether a tested pull request is merged: decided where there are rights, by data alone.

Nothing of the pull request runs here. Its files are read from git and checked again without Lean; what Lean said comes
from a record that was made where there were no rights.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from ekiden_orchestrator.blueprint.elaborating import Elaborated
from ekiden_orchestrator.blueprint.pull_report import pull_report
from ekiden_orchestrator.blueprint.verdict import MARKER, Verdict
from ekiden_orchestrator.blueprint.verifying import Assignment, Proposal, verify_change
from ekiden_orchestrator.errors import CommandError
from ekiden_policies.blueprint_merge import (
    PullRequest,
    Trial,
    assignment_of,
    closed_issues,
    reasons_against_merging,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ekiden_blueprint.rules import Allowances
    from ekiden_orchestrator.blueprint.repository import Repository

_MOST_BYTES = 16 << 20
_LEANS_TO_SAY = frozenset({"BP006", "BP007", "BP011"})
"""Rules by which text is taken for changed in meaning where Lean finds that it is not."""


class _Login(BaseModel):
    login: str


class _Repository(BaseModel):
    full_name: str


class _End(BaseModel):
    ref: str
    sha: str
    repo: _Repository | None


class GitHubPull(BaseModel):
    """What GitHub says of a pull request, as far as it matters here."""

    state: str
    draft: bool = False
    title: str
    body: str | None = None
    user: _Login
    head: _End
    base: _End


class Decision(BaseModel):
    """What is to be done with a pull request.

    Attributes:
        merge: Whether to merge it.
        retest: Whether testing again may help, since only the base has moved.
        base: The commit to merge into.
        head: The commit to merge.
        tree: What merging gives.
        closes: Issues to close after merging.
        reasons: Why it is not merged.
    """

    model_config = ConfigDict(frozen=True)

    merge: bool
    retest: bool
    base: str
    head: str
    tree: str
    closes: tuple[int, ...]
    reasons: tuple[str, ...]


class Gate:
    """Decides about one pull request.

    Args:
        repository: Has the base branch and the pull request's commits.
        base_branch: The branch that is merged into.
        authors: Whose pull requests are merged without a person.
        files: Tells the blueprint's files of a tree.
        source_folder: The folder that names of modules count from.
        allowances: What the project allows.
        approved: What somebody let targets become.
    """

    def __init__(
        self,
        repository: Repository,
        base_branch: str,
        *,
        authors: Sequence[str],
        files: Callable[[str], Sequence[str]],
        source_folder: str,
        allowances: Allowances,
        approved: Mapping[str, str],
    ) -> None:
        self._repository = repository
        self._base_branch = base_branch
        self._authors = authors
        self._files = files
        self._source_folder = source_folder
        self._allowances = allowances
        self._approved = approved

    def decide(self, pull: GitHubPull, verdict: Verdict | None, base: str) -> Decision:
        """Decide.

        Args:
            pull: The pull request as the forge has it now.
            verdict: What was found where Lean ran; None where there is no such record.
            base: The commit at which the base branch is now.
        """
        request = _request(pull)
        head = self._repository.commit(pull.head.sha)
        merged = self._repository.merged(base, head)
        change = verdict.change if verdict else None
        assigned = assignment_of(request.branch, request.title)
        again = False
        if assigned is not None:
            task = Assignment(assigned.role, assigned.node, self._approved)
            proposal = Proposal(self._repository, merged, self._files, task, self._source_folder)
            again = self._passes_again(proposal)
        trial = Trial(
            passed=verdict is not None and verdict.overall_pass and verdict.lean.used and not verdict.errors(),
            passed_again=again,
            base=change.base if change else "",
            head=change.head if change else "",
            tree=change.tree if change else "",
            role=change.role if change else "",
            node=change.node if change else "",
        )
        reasons = reasons_against_merging(
            request, trial, authors=self._authors, base_branch=self._base_branch, base=base, tree=merged.tree
        )
        moved = bool(trial.base) and trial.base != base
        return Decision(
            merge=not reasons,
            retest=moved and len(reasons) == 1,
            base=base,
            head=head,
            tree=merged.tree,
            closes=closed_issues(pull.body or ""),
            reasons=tuple(reasons),
        )

    def _passes_again(self, proposal: Proposal) -> bool:
        try:
            found = verify_change(proposal, lambda _: Elaborated(absent="Not asked here."), self._allowances)
        except CommandError:
            return False
        return not any(one.severity == "error" and one.rule not in _LEANS_TO_SAY for one in found.findings)


def read_pull(path: Path) -> GitHubPull:
    """Read what GitHub says of a pull request.

    Raises:
        CommandError: It cannot be read.
    """
    try:
        return GitHubPull.model_validate_json(_bounded(path))
    except ValidationError as error:
        raise CommandError(f"{str(path)!r} is no pull request as GitHub has it: {error.errors()[0]['msg']}.") from error


def read_verdict(path: Path) -> Verdict | None:
    """Read a record that nobody vouches for; None where there is none that can be read."""
    try:
        return Verdict.model_validate_json(_bounded(path))
    except (CommandError, ValidationError):
        return None


def comment(verdict: Verdict | None, decision: Decision, run_url: str) -> str:
    """Write the comment on a pull request."""
    said = ["It is merged as it was tested."] if decision.merge else [f"Not merged: {one}" for one in decision.reasons]
    if decision.retest:
        said.append("It is tested again.")
    if verdict is None:
        return f"{MARKER}\n\n## ❌ Blueprint not verified\n\nThe run left no report that can be read; see its log.\n"
    return pull_report(verdict, run_url=run_url, decision=said)


def outputs(decision: Decision) -> str:
    """Write a decision as the outputs of a step of GitHub Actions."""
    told: dict[str, object] = {
        **decision.model_dump(exclude={"reasons"}),
        "closes": " ".join(map(str, decision.closes)),
    }
    return "".join(
        f"{name}={json.dumps(value) if isinstance(value, bool) else value}\n" for name, value in told.items()
    )


def _request(pull: GitHubPull) -> PullRequest:
    same = pull.head.repo is not None and pull.base.repo is not None
    return PullRequest(
        author=pull.user.login,
        branch=pull.head.ref,
        title=pull.title,
        head=pull.head.sha,
        base_branch=pull.base.ref,
        same_repository=same and pull.head.repo == pull.base.repo,
        is_open=pull.state == "open" and not pull.draft,
    )


def _bounded(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"Cannot read {str(path)!r}: {error.strerror}.") from error
    if len(data) > _MOST_BYTES:
        raise CommandError(f"{str(path)!r} has more than {_MOST_BYTES:,} bytes.")
    return data
