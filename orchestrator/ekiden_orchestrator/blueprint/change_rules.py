"""Check 0: what the change of a role may be, as findings with rules of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_blueprint.findings import Finding
from ekiden_blueprint.rules import Rule
from ekiden_blueprint.spans import Position, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.version import Version
    from ekiden_policies.blueprint_roles import Breach, BreachKind, Part

CHANGE_CHECK = "Check 0: Change by Role"

_ALL = (
    Rule("BP001", "File that the change may not touch", "A role changes the blueprint alone.", "Leave it as it was."),
    Rule(
        "BP002",
        "No plain file",
        "A link, a submodule or a program in the place of a file can stand for anything.",
        "Make it a plain file.",
    ),
    Rule(
        "BP003",
        "Part of a node that the role may not change",
        "What others rest on, or work on, stays as it is.",
        "Put it back.",
    ),
    Rule(
        "BP004",
        "Node where the role may not add one",
        "A worker adds lemmas and definitions directly before its node, and nothing else.",
        "Move it there, or remove it.",
    ),
    Rule("BP005", "Node removed or renamed", "Others rest on it.", "Put it back."),
    Rule(
        "BP006",
        "Target changed without approval",
        "The targets are what the blueprint is for; whether a change of one is right is for somebody to say.",
        "Put it back, or have it approved in the file of approvals.",
    ),
    Rule(
        "BP007",
        "Frozen statement means something else",
        "The same text states something else where what it rests on has changed.",
        "Put back what it rests on.",
    ),
    Rule(
        "BP008",
        "Proof that the role may not write",
        "A blueprinter writes placeholders; a refiner leaves proofs as they are or puts placeholders in their place; "
        "what a worker adds is complete.",
        "Put a placeholder there, what stood there, or a complete proof, as the role has it.",
    ),
    Rule("BP009", "Node not finished", "A worker delivers its node proved, or reports why not.", "Finish the proof."),
    Rule(
        "BP010",
        "Command between nodes changed",
        "It can change what later statements mean.",
        "Put back what stood there.",
    ),
    Rule(
        "BP011",
        "Could change what later text means",
        "Without Lean nobody can tell whether what stands after it still means the same.",
        "Do without it, or have Lean look.",
    ),
    Rule(
        "BP012",
        "Does not merge",
        "What is tested is what merging gives; here it gives nothing.",
        "Bring the branch up to date and settle the conflict.",
    ),
    Rule(
        "BP013",
        "Not looked at by Lean",
        "Without Lean, statements are compared by their text, and complete proofs are taken at their word.",
        "Verify again where there is a Lean with the libraries.",
        "note",
    ),
    Rule(
        "BP014",
        "Approved change of a target",
        "It is told each time, never silent.",
        "Make sure that the approval is meant.",
        "note",
    ),
    Rule(
        "BP015",
        "Proof given up",
        "A complete proof became a placeholder, and must be found again.",
        "Make sure that it could not be kept.",
        "note",
    ),
)
CHANGE_RULES: dict[str, Rule] = {rule.id: rule for rule in _ALL}
"""The rules, by identifier."""

_RULE_OF: dict[BreachKind, str] = {
    "path": "BP001",
    "file kind": "BP002",
    "part": "BP003",
    "added": "BP004",
    "removed": "BP005",
    "target": "BP006",
    "meaning": "BP007",
    "proof": "BP008",
    "unfinished": "BP009",
    "command": "BP010",
    "hazard": "BP011",
}


def findings_of(breaches: Iterable[Breach], base: Version, head: Version) -> list[Finding]:
    """Put what a policy found wrong where it stands in the head; at the start of the file where it is gone from it."""
    return [_finding(breach, base, head) for breach in breaches]


def change_finding(rule: str, message: str, path: str) -> Finding:
    """Make a finding about a whole file, or about none."""
    return Finding(
        rule, CHANGE_RULES[rule].severity, message, path, Span(0, 0), start=Position(1, 1), end=Position(1, 1)
    )


def finding_at(rule: str, message: str, version: Version, node: BlueprintNode, part: Part | None = None) -> Finding:
    """Make a finding about a node."""
    return _placed(rule, message, version, node.path, _span(node, part))


def _finding(breach: Breach, base: Version, head: Version) -> Finding:
    rule = _RULE_OF[breach.kind]
    if (node := head.nodes.get(breach.node)) is not None:
        return finding_at(rule, breach.message, head, node, breach.part)
    if (command := breach.command) is not None and command.event == "added":
        file = head.project.file(command.path)
        return _placed(rule, breach.message, head, command.path, file.commands[command.place].span)
    gone = base.nodes.get(breach.node)
    first = head.project.files[0].source.path if head.project.files else ""
    return change_finding(rule, breach.message, breach.path or (gone.path if gone else first))


def _placed(rule: str, message: str, version: Version, path: str, span: Span) -> Finding:
    source = version.project.file(path).source
    start, end = source.position(span.start), source.position(span.end)
    return Finding(rule, CHANGE_RULES[rule].severity, message, path, span, start, end)


def _span(node: BlueprintNode, part: Part | None) -> Span:
    match part:
        case "proof" | "statement" | "title":
            option = node.option(part)
            return option.span if option else node.name_span
        case "attribute":
            return node.label_span
        case "signature":
            return Span(node.name_span.start, node.signature.end)
        case "body":
            return node.body or node.name_span
        case "declaration" | "place" | None:
            return node.name_span
