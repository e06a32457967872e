"""Checks 3 to 5: environment, keyword, label and name agree, and labels and names are unique."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.findings import Fix
from ekiden_blueprint.model import PROOF_KEYWORDS
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.rules.scene import Scene

_PREFIXES = {"definition": "def", "lemma": "lem", "theorem": "thm"}
_SHAPE = re.compile(r"([^:\s]*):(\S(?:.*\S)?)", re.DOTALL)


def environments_of(node: BlueprintNode) -> tuple[str, ...]:
    """Give the LaTeX environments that suit a node's keyword; an assumption may be a lemma or a theorem."""
    if node.is_definition:
        return ("definition",)
    if node.keyword in PROOF_KEYWORDS:
        return (node.keyword,)
    return ("lemma", "theorem") if node.keyword == "axiom" else ()


def check_labels(scene: Scene) -> None:
    """Run the rules on environments, labels and names."""
    labels: dict[str, BlueprintNode] = {}
    names: dict[str, BlueprintNode] = {}
    for node in scene.project.nodes:
        suited = environments_of(node)
        if suited:
            _check_environment(scene, node, suited)
            if node.label:
                _check_label(scene, node, suited)
        _check_unique(scene, node, labels, names)


def _check_environment(scene: Scene, node: BlueprintNode, suited: tuple[str, ...]) -> None:
    option = node.option("latexEnv")
    wanted = suited[0]
    if option is None:
        fix = Fix(Span(node.blueprint.end, node.blueprint.end), f'\n  (latexEnv := "{wanted}")')
        message = f'The node {node.label or node.name!r} has no latexEnv; write `(latexEnv := "{wanted}")`.'
        scene.report_node("BP301", node, node.blueprint, message, fix)
    elif option.form != "string" or option.value not in _PREFIXES:
        fix = Fix(option.span, f'(latexEnv := "{wanted}")')
        message = f'latexEnv {option.value!r} is none of "definition", "lemma", "theorem"; write "{wanted}".'
        scene.report_node("BP301", node, option.value_span, message, fix)
    elif option.value not in suited:
        fix = Fix(option.value_span, wanted)
        message = f'latexEnv {option.value!r} does not suit the keyword {node.keyword!r}; write "{wanted}".'
        scene.report_node("BP302", node, option.value_span, message, fix)


def _check_label(scene: Scene, node: BlueprintNode, suited: tuple[str, ...]) -> None:
    shape = _SHAPE.fullmatch(node.label)
    prefixes = [_PREFIXES[environment] for environment in suited]
    if shape is None:
        message = f"The label {node.label!r} is not a prefix, a colon and a name; write it like `{prefixes[0]}:name`."
        scene.report_node("BP401", node, node.label_span, message)
        return
    prefix, suffix = shape.groups()
    if prefix not in _PREFIXES.values():
        message = f"The prefix {prefix!r} of the label {node.label!r} is none of def, lem, thm; use `{prefixes[0]}:`."
        scene.report_node("BP402", node, node.label_span, message)
    elif prefix not in prefixes:
        message = f"The label {node.label!r} does not suit the keyword {node.keyword!r}; use `{prefixes[0]}:`."
        scene.report_node("BP403", node, node.label_span, message)
    wanted = suffix.replace("-", "_")
    if node.name and node.name != wanted:
        message = (
            f"The label {node.label!r} asks for the Lean name {wanted!r}, not {node.name!r}; rename one of the two."
        )
        scene.report_node("BP404", node, node.name_span, message)


def _check_unique(
    scene: Scene, node: BlueprintNode, labels: dict[str, BlueprintNode], names: dict[str, BlueprintNode]
) -> None:
    if node.label and labels.setdefault(node.label, node) is not node:
        where = _where(scene, labels[node.label])
        message = f"The label {node.label!r} is already that of the node at {where}; change one."
        scene.report_node("BP501", node, node.label_span, message)
    name = node.full_name
    if name and names.setdefault(name, node) is not node:
        where = _where(scene, names[name])
        message = f"The Lean name {name!r} is already that of the node at {where}; change one."
        scene.report_node("BP502", node, node.name_span, message)


def _where(scene: Scene, node: BlueprintNode) -> str:
    place = scene.place_of(node)
    line = place.file.source.position(node.label_span.start).line
    return f"{place.path}:{line}" if len(scene.places) > 1 else f"line {line}"
