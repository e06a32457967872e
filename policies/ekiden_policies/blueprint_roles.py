"""What each role may change in a blueprint: the roles as data, and the judgement of a change against them.

A change is judged on the tree that would be merged, node by node. Who looks at the trees tells, for each node of either
one, what it was and what it is; nothing here reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Role = Literal["blueprinter", "refiner", "worker"]
NodeKind = Literal["proof", "definition", "assumption", "other"]
ProofState = Literal["complete", "placeholder", "broken", "none"]
Part = Literal["attribute", "body", "declaration", "place", "proof", "signature", "statement", "title"]
"""`attribute`: label, other options, other attributes. `declaration`: modifiers, keyword. `place`: its order among the
others. `proof`, `statement`, `title`: prose. `signature`: what Lean is told that it states."""

REMOVED = "removed"
"""What a target becomes that is no longer there, as an approval names it."""


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node of the base, of the head, or of both.

    Attributes:
        name: Its Lean name.
        kind: What it is; where it is removed, what it was.
        before: Its proof in the base; None where it is not there.
        after: Its proof in the head; None where it is not there.
        parts: What differs in the text.
        meaning: Whether what it states is the same: by Lean where that has an answer, by the text otherwise.
        becomes: Names what it states now, for an approval.
        is_target: Whether it is, or was, a theorem: what the blueprint is for.
        is_helper: Whether it stands directly before the worker's own node, with nothing but fresh nodes between.
        hazards: What of it could change the meaning of text after it, where nobody has compared meanings.
        sorry: Whether Lean finds a `sorry` in what is written as complete.
    """

    name: str
    kind: NodeKind
    before: ProofState | None
    after: ProofState | None
    parts: frozenset[Part] = frozenset()
    meaning: Literal["same", "changed"] = "same"
    becomes: str = ""
    is_target: bool = False
    is_helper: bool = False
    hazards: tuple[str, ...] = ()
    sorry: bool = False

    @property
    def is_new(self) -> bool:
        """Whether the base does not have it."""
        return self.before is None

    @property
    def is_gone(self) -> bool:
        """Whether the head does not have it."""
        return self.after is None


class PathChange(NamedTuple):
    """A file that differs between the base and the head; a renamed one is a removed one and an added one."""

    path: str
    event: Literal["added", "changed", "removed"]
    is_blueprint: bool
    is_regular: bool = True


class CommandChange(NamedTuple):
    """A command outside all nodes that is in one of the trees alone, such as `open Nat`."""

    path: str
    text: str
    event: Literal["added", "removed"]
    place: int
    """Its place among the commands of the file that has it."""


@dataclass(frozen=True, slots=True)
class BlueprintChange:
    """All that differs between the base and the head.

    Attributes:
        nodes: All nodes of both, in the order of the head and then of the base.
        paths: The files that differ.
        commands: The commands outside nodes that differ.
        declarations: Declarations that are no nodes whose meaning differs, by Lean.
    """

    nodes: tuple[NodeChange, ...]
    paths: tuple[PathChange, ...] = ()
    commands: tuple[CommandChange, ...] = ()
    declarations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoleRules:
    """What a role may change.

    Attributes:
        role: The role.
        own_parts: What may differ in the one node that the role is given; None where it is given none.
        other_parts: What may differ in all other nodes of the base.
        adds: Where nodes may be added.
        new_kinds: Which kinds of nodes may be added.
        new_proofs: What the proof of an added lemma or theorem may be.
        removes: Whether nodes may be removed.
        proofs: What the proof of a node of the base may become.
        meanings: What must go on meaning the same: all nodes, or the targets unless somebody approved.
        commands: Whether commands outside nodes may differ.
        files: Whether blueprint files may be added and removed.
    """

    role: Role
    own_parts: frozenset[Part] | None
    other_parts: frozenset[Part]
    adds: Literal["anywhere", "before its node"]
    new_kinds: frozenset[NodeKind]
    new_proofs: frozenset[ProofState]
    removes: bool
    proofs: Literal["placeholder", "placeholder or untouched", "complete"]
    meanings: Literal["all frozen", "targets by approval"]
    commands: bool
    files: bool


_ALL_PARTS: frozenset[Part] = frozenset(
    {"attribute", "body", "declaration", "place", "proof", "signature", "statement", "title"}
)
ROLES: dict[Role, RoleRules] = {
    "blueprinter": RoleRules(
        "blueprinter",
        own_parts=None,
        other_parts=_ALL_PARTS,
        adds="anywhere",
        new_kinds=frozenset({"proof", "definition", "assumption"}),
        new_proofs=frozenset({"placeholder"}),
        removes=True,
        proofs="placeholder",
        meanings="targets by approval",
        commands=True,
        files=True,
    ),
    "refiner": RoleRules(
        "refiner",
        own_parts=None,
        other_parts=_ALL_PARTS,
        adds="anywhere",
        new_kinds=frozenset({"proof", "definition", "assumption"}),
        new_proofs=frozenset({"placeholder"}),
        removes=True,
        proofs="placeholder or untouched",
        meanings="targets by approval",
        commands=True,
        files=True,
    ),
    "worker": RoleRules(
        "worker",
        own_parts=frozenset({"body", "proof", "statement", "title"}),
        other_parts=frozenset(),
        adds="before its node",
        new_kinds=frozenset({"proof", "definition"}),
        new_proofs=frozenset({"complete"}),
        removes=False,
        proofs="complete",
        meanings="all frozen",
        commands=False,
        files=False,
    ),
}
"""The roles."""

BreachKind = Literal[
    "path", "file kind", "part", "added", "removed", "target", "meaning", "proof", "unfinished", "command", "hazard"
]


class Breach(NamedTuple):
    """Something that a role may not do, or has left undone.

    Attributes:
        kind: What sort of thing.
        message: What is wrong and what to do.
        node: The node concerned, if any.
        path: The file concerned, if it is no node.
        command: The command concerned, if any.
        part: The part of the node, if one.
    """

    kind: BreachKind
    message: str
    node: str = ""
    path: str = ""
    command: CommandChange | None = None
    part: Part | None = None


def judge_change(
    role: Role, change: BlueprintChange, *, own: str = "", approved: Mapping[str, str] | None = None
) -> list[Breach]:
    """Judge a change by what a role may do.

    Args:
        role: Whose change it is.
        change: What differs.
        own: The node that a worker is given.
        approved: For each target that somebody let change, what it may become.

    Returns:
        What is wrong with the change; nothing where it may be made.
    """
    rules = ROLES[role]
    found = [*_paths(rules, change.paths), *_commands(rules, change.commands)]
    for node in change.nodes:
        if node.is_new:
            found += _new_node(rules, node, own)
        elif node.is_gone:
            found += _gone_node(rules, node, approved or {})
        else:
            found += _old_node(rules, node, own, approved or {})
    if rules.meanings == "all frozen":
        found += [
            Breach("meaning", f"The declaration {name!r} no longer means what it meant; put it back.")
            for name in change.declarations
        ]
    return found


def _paths(rules: RoleRules, paths: Iterable[PathChange]) -> Iterable[Breach]:
    for change in paths:
        if not change.is_blueprint:
            message = f"{change.path!r} is {change.event}, and is no file of the blueprint; leave it as it was."
            yield Breach("path", message, path=change.path)
        elif not change.is_regular:
            message = f"{change.path!r} is a link, a submodule or a program; make it a plain file."
            yield Breach("file kind", message, path=change.path)
        elif change.event != "changed" and not rules.files:
            message = f"{change.path!r} is {change.event}; a {rules.role} changes the files that are there."
            yield Breach("path", message, path=change.path)


def _commands(rules: RoleRules, commands: Iterable[CommandChange]) -> Iterable[Breach]:
    for command in () if rules.commands else commands:
        message = f"The command {command.text!r} is {command.event}; a {rules.role} leaves all but nodes as it was."
        yield Breach("command", message, path=command.path, command=command)


def _new_node(rules: RoleRules, node: NodeChange, own: str) -> Iterable[Breach]:
    if node.kind not in rules.new_kinds:
        message = f"{node.name!r} is new, and no lemma, theorem or definition; a {rules.role} may not add it."
        yield Breach("added", message, node.name)
    elif rules.adds == "before its node" and not node.is_helper:
        message = f"{node.name!r} is new and does not stand directly before {own!r}; move it there or remove it."
        yield Breach("added", message, node.name)
    if rules.adds == "before its node" and node.is_target:
        message = f"{node.name!r} is a new theorem; a {rules.role} adds lemmas and definitions. Make it a lemma."
        yield Breach("added", message, node.name)
    if node.kind == "proof" and (node.after not in rules.new_proofs or (node.sorry and rules.proofs == "complete")):
        wanted = "a placeholder" if "placeholder" in rules.new_proofs else "complete, without a `sorry`"
        message = f"{node.name!r} is new; the proof of what a {rules.role} adds is {wanted}, and this one is not."
        yield Breach("proof", message, node.name, part="body")
    if rules.meanings == "all frozen":
        for hazard in node.hazards:
            message = (
                f"{node.name!r} has {hazard}, which can change what later text means; remove it, or have Lean look."
            )
            yield Breach("hazard", message, node.name)


def _gone_node(rules: RoleRules, node: NodeChange, approved: Mapping[str, str]) -> Iterable[Breach]:
    if not rules.removes:
        yield Breach("removed", f"{node.name!r} is removed or renamed; put it back.", node.name)
    elif node.is_target and approved.get(node.name) != REMOVED:
        message = (
            f"The target {node.name!r} is removed or renamed; put it back, or have somebody approve that it becomes "
            f"{REMOVED!r}."
        )
        yield Breach("target", message, node.name)


def _old_node(rules: RoleRules, node: NodeChange, own: str, approved: Mapping[str, str]) -> Iterable[Breach]:
    is_own = node.name == own and rules.own_parts is not None
    allowed = rules.own_parts if is_own and rules.own_parts is not None else rules.other_parts
    foreign = sorted(node.parts - allowed)
    for part in foreign:
        message = (
            f"The {_PARTS[part]} of {node.name!r} {_ARE[part]} changed, which a {rules.role} may not; put it back."
        )
        yield Breach("part", message, node.name, part=part)
    if node.meaning == "changed":
        yield from _new_meaning(rules, node, approved, told="signature" in foreign)
    if node.kind == "proof":
        yield from _old_proof(rules, node, is_own=is_own)


def _new_meaning(rules: RoleRules, node: NodeChange, approved: Mapping[str, str], *, told: bool) -> Iterable[Breach]:
    if rules.meanings == "all frozen":
        if not told:
            message = f"{node.name!r} no longer states what it stated, although its own text may be the same; put back "
            yield Breach("meaning", f"{message}what it rests on.", node.name, part="signature")
    elif node.is_target and approved.get(node.name) != node.becomes:
        message = (
            f"The target {node.name!r} no longer states what it stated. Put it back, or have somebody approve that it "
            f"becomes {node.becomes!r}."
        )
        yield Breach("target", message, node.name, part="signature")


def _old_proof(rules: RoleRules, node: NodeChange, *, is_own: bool) -> Iterable[Breach]:
    if is_own:
        if node.after != "complete" or node.sorry:
            message = f"The proof of {node.name!r} is not finished; finish it, or report what is in the way."
            yield Breach("unfinished", message, node.name, part="body")
    elif rules.proofs == "placeholder":
        if node.after != "placeholder":
            message = f"The proof of {node.name!r} is no placeholder; a {rules.role} writes no proofs."
            yield Breach("proof", message, node.name, part="body")
    elif rules.proofs == "placeholder or untouched" and node.after != "placeholder" and "body" in node.parts:
        message = f"The proof of {node.name!r} is neither untouched nor a placeholder; put one of the two there."
        yield Breach("proof", message, node.name, part="body")


_PARTS: dict[Part, str] = {
    "attribute": "attribute",
    "body": "body",
    "declaration": "keyword or modifiers",
    "place": "place in the order",
    "proof": "prose of the proof",
    "signature": "signature",
    "statement": "prose of the statement",
    "title": "title",
}
_ARE: dict[Part, str] = {part: "are" if part == "declaration" else "is" for part in _PARTS}
