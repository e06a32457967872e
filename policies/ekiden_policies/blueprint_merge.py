"""Whose a pull request on a blueprint is, by its branch and title, and whether it is merged without a person."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_policies.blueprint_roles import Role


class Assignment(NamedTuple):
    """Which role a branch is for, and which node a worker's is for."""

    role: Role
    node: str = ""


_BRANCHES: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"blueprint/init"), "blueprinter"),
    (re.compile(r"(?:blueprint-refiner|refiner)/round-[0-9]+"), "refiner"),
    (re.compile(r"round-[0-9]+/(?P<slug>[A-Za-z0-9._-]+)"), "worker"),
)
_TITLE = re.compile(r"Complete blueprint node: (?P<node>\S.*)")
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_SLUG = 180


def slug_of(node: str) -> str:
    """Return a node's name as a worker's branch has it."""
    return _NOT_IN_SLUG.sub("-", node)[:_LONGEST_SLUG].strip(".-") or "node"


def assignment_of(branch: str, title: str) -> Assignment | None:
    """Tell from a branch's name and a pull request's title whose change it is; None where it is nobody's.

    Args:
        branch: Such as `round-3/two_is_even`.
        title: For a worker's, `Complete blueprint node: two_is_even`.
    """
    for pattern, role in _BRANCHES:
        found = pattern.fullmatch(branch)
        if found is None:
            continue
        if role != "worker":
            return Assignment(role)
        named = _TITLE.fullmatch(title.strip())
        node = named["node"].strip() if named else ""
        return Assignment(role, node) if node and node.isprintable() and slug_of(node) == found["slug"] else None
    return None


_CLOSING = re.compile(
    r"(?<![\w/-])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):? +#([1-9][0-9]{0,8})(?![\w/])", re.IGNORECASE
)


def closed_issues(body: str) -> tuple[int, ...]:
    """Tell which issues a pull request's text says it closes: each with a keyword of its own right before it."""
    return tuple(dict.fromkeys(int(number) for number in _CLOSING.findall(body)))


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What a forge says of a pull request.

    Attributes:
        author: Who opened it.
        branch: Its branch.
        title: Its title.
        head: The commit it ends at.
        base_branch: Where it is to be merged.
        same_repository: Whether its branch is in the repository itself, and not in a fork.
        is_open: Whether it is open and no draft.
    """

    author: str
    branch: str
    title: str
    head: str
    base_branch: str
    same_repository: bool
    is_open: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """What was tested, and how it went.

    Attributes:
        passed: Whether it passed with Lean, by a report of where the text's own code may have run.
        passed_again: Whether it passed without Lean, here.
        base: The commit of the base.
        head: The commit of the change.
        tree: The tree that merging both gives, which is what was tested.
        role: The role it was judged by.
        node: The node it was judged by.
    """

    passed: bool
    passed_again: bool
    base: str
    head: str
    tree: str
    role: str
    node: str


def reasons_against_merging(
    pull: PullRequest, tested: Trial, *, authors: Sequence[str], base_branch: str, base: str, tree: str
) -> list[str]:
    """Say why a pull request is not merged; nothing where it is.

    Args:
        pull: The pull request as the forge has it now.
        tested: What was tested.
        authors: Whose pull requests may be merged.
        base_branch: The branch that is merged into.
        base: Where that branch is now.
        tree: What merging gives now.
    """
    reasons: list[str] = []
    if not pull.is_open:
        reasons.append("It is closed, or a draft.")
    if pull.author not in authors:
        reasons.append(
            f"Its author {pull.author!r} is not among those whose pull requests are merged without a person."
        )
    if not pull.same_repository:
        reasons.append("Its branch is in another repository.")
    if pull.base_branch != base_branch:
        reasons.append(f"It is for the branch {pull.base_branch!r}, not for {base_branch!r}.")
    assigned = assignment_of(pull.branch, pull.title)
    if assigned is None:
        reasons.append(f"Its branch {pull.branch!r} and title {pull.title!r} are no role's.")
    elif assigned != (tested.role, tested.node):
        reasons.append(f"It was tested as {tested.role} {tested.node!r}; its branch and title say {assigned.role}.")
    if not (tested.passed and tested.passed_again):
        reasons.append("It did not pass.")
    if tested.head != pull.head:
        reasons.append("It has new commits since it was tested.")
    if tested.base != base:
        reasons.append(f"The branch {base_branch!r} has moved since it was tested; test again.")
    elif tested.tree != tree:
        reasons.append("What was tested is not what merging gives.")
    return reasons
