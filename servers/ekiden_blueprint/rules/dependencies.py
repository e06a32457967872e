"""Checks 6 and 7: references resolve, prose and Lean name the same dependencies, and each lemma serves something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.edges import is_vertex, resolved
from ekiden_blueprint.lexer import IDENTIFIER
from ekiden_blueprint.rules.scene import listed
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Container

    from ekiden_blueprint.model import BlueprintNode, Option, Reference
    from ekiden_blueprint.rules.scene import Scene

_NAME = re.compile(IDENTIFIER)
_SHOWN, _MOST_PARTS = 3, 30


def check_dependencies(scene: Scene) -> None:
    """Run the rules on references and dependencies."""
    for node in scene.project.nodes:
        for option in (node.statement, node.proof, node.title):
            _check_labels_exist(scene, node, option)
        if is_vertex(node):
            _check_uses(scene, node)
        if node.is_proof and node.body_kind != "invalid":
            _check_proof(scene, node)
        if _is_elaborated(scene, node):
            _check_statement(scene, node)
            _check_imports(scene, node)
    _note_unknown(scene)


def check_closeness(scene: Scene) -> None:
    """Run the rule that each lemma is used."""
    used = _used(scene)
    unused = [
        node for node in scene.project.nodes if node.keyword == "lemma" and node.name and node.full_name not in used
    ]
    named = _named_in_code(scene) if unused else set[str]()
    for node in unused:
        if node.full_name not in named:
            message = f"Nothing uses the lemma {node.name!r}; use it in a later proof, remove it, or make it a theorem."
            scene.report_node("BP701", node, node.name_span, message)


def _is_elaborated(scene: Scene, node: BlueprintNode) -> bool:
    """Whether the edges of a node are what Lean made of it."""
    return scene.edges.origin == "elaborated" and bool(node.name) and node.full_name not in scene.edges.unknown


def _cited(scene: Scene, node: BlueprintNode, option: Option | None) -> dict[str, Reference]:
    """Give the Lean names of the nodes that a text cites, each where it does so first."""
    cited: dict[str, Reference] = {}
    for reference in node.crefs_in(option):
        for target in scene.project.by_label.get(reference.name, ())[:1]:
            cited.setdefault(target.full_name, reference)
    return cited


def _check_labels_exist(scene: Scene, node: BlueprintNode, option: Option | None) -> None:
    known = scene.project.by_label
    for reference in node.crefs_in(option):
        if reference.name not in known:
            close = scene.nearest(reference.name, known)
            message = f"No node has the label {reference.name!r}{close}. Mend the reference or write the node."
            scene.report_node("BP601", node, reference.span, message)


def _check_uses(scene: Scene, node: BlueprintNode) -> None:
    seen: set[str] = set()
    own = scene.order.get(node.full_name, -1)
    for use in node.uses:
        name = resolved(use.name.removeprefix("_root_."), node.namespace, scene.order)
        if use.name in seen:
            scene.report_node("BP611", node, use.span, f"{use.name!r} is named twice in `sorry_using`; remove one.")
        seen.add(use.name)
        if name is None:
            close = scene.nearest(use.name, scene.order)
            message = f"`sorry_using` names {use.name!r}, which is no node{close}. Mend the name or write the node."
            scene.report_node("BP602", node, use.span, message)
            continue
        target = scene.project.by_name[name][0]
        if not is_vertex(target):
            message = (
                f"`sorry_using` names {use.name!r}, which is a {target.keyword}; it takes lemmas and theorems alone."
            )
            scene.report_node("BP603", node, use.span, message)
        elif scene.order[name] >= own:
            message = f"`sorry_using` names {use.name!r}, which is not declared before {node.name!r}; move it up."
            scene.report_node("BP604", node, use.span, message)
        elif not scene.is_visible(name, node):
            message = f"`sorry_using` names {use.name!r}, which is in {target.path!r}, a file that is not imported."
            scene.report_node("BP604", node, use.span, f"{message} Import it.")


def _check_proof(scene: Scene, node: BlueprintNode) -> None:
    """Compare what the proof text cites with what the proof rests on."""
    if not node.name:
        return
    by_name = scene.project.by_name
    cited = {
        name: reference
        for name, reference in _cited(scene, node, node.proof).items()
        if name in by_name and is_vertex(by_name[name][0])
    }
    if _is_elaborated(scene, node):
        edges, name = scene.edges, node.full_name
        parents = edges.parents.get(name, ())
        needed = edges.through_value.get(name, ())
        in_statement = set(edges.through_type.get(name, ())) & _cited(scene, node, node.statement).keys()
        _check_order(scene, node, parents)
        missing = [parent for parent in needed if parent not in cited and parent not in in_statement]
        _compare(scene, node, cited, set(parents), missing, user="Lean's proof")
    elif node.body_kind in ("by_sorry", "by_sorry_using"):
        uses = [resolved(use.name.removeprefix("_root_."), node.namespace, by_name) for use in node.uses]
        needed = [use for use in dict.fromkeys(uses) if use is not None and is_vertex(by_name[use][0])]
        missing = [use for use in needed if use not in cited]
        _compare(scene, node, cited, set(needed), missing, user="the placeholder")


def _note_unknown(scene: Scene) -> None:
    """Say once a file which complete proofs could not be compared with their prose."""
    for place in scene.places:
        proofs = [node for node in place.nodes if node.is_proof and node.name and node.body_kind == "complete"]
        unknown = [node for node in proofs if not _is_elaborated(scene, node)]
        if unknown:
            some = listed(node.name for node in unknown[:_SHOWN])
            more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
            message = f"What the proofs of {some}{more} use is known to Lean alone; their citations were not compared."
            scene.report("BP610", place, unknown[0].name_span, message)


def _compare(
    scene: Scene, node: BlueprintNode, cited: dict[str, Reference], parents: set[str], missing: list[str], *, user: str
) -> None:
    where = node.proof.span if node.proof else node.name_span
    for parent in missing:
        label = scene.project.by_name[parent][0].label
        message = (
            f"The proof text of {node.name!r} does not cite {parent!r}, which {user} uses; add `\\cref{{{label}}}`."
        )
        scene.report_node("BP606", node, where, message)
    for name, reference in cited.items():
        if name not in parents:
            message = (
                f"The proof of {node.name!r} cites {reference.name!r}, which {user} does not use; remove it or use it."
            )
            scene.report_node("BP607", node, reference.span, message)


def _check_order(scene: Scene, node: BlueprintNode, parents: tuple[str, ...]) -> None:
    own = scene.order[node.full_name]
    for parent in parents:
        if scene.order[parent] >= own:
            message = f"{node.name!r} rests on {parent!r}, which is not declared before it; move that node up."
            scene.report_node("BP605", node, node.name_span, message)


def _check_imports(scene: Scene, node: BlueprintNode) -> None:
    """Report what a node rests on without importing its file: Lean was given all files as one text."""
    edges, name = scene.edges, node.full_name
    for other in dict.fromkeys((*edges.definitions.get(name, ()), *edges.parents.get(name, ()))):
        if not scene.is_visible(other, node):
            path = scene.project.by_name[other][0].path
            message = f"{node.name!r} rests on {other!r} in {path!r}, a file that is not imported; import it."
            scene.report_node("BP605", node, node.name_span, message)


def _check_statement(scene: Scene, node: BlueprintNode) -> None:
    """Compare what the statement text cites with what Lean's statement names."""
    name, edges = node.full_name, scene.edges
    cited = _cited(scene, node, node.statement)
    used = {*edges.definitions.get(name, ()), *edges.parents.get(name, ())}
    if node.is_definition:
        used |= _uses_of_definition(scene, node)
    for other, reference in cited.items():
        if other != name and other not in used:
            message = (
                f"The statement of {node.name!r} cites {reference.name!r}, which Lean does not use there; remove it."
            )
            scene.report_node("BP608", node, reference.span, message)
    index = scene.index
    if index is None or node.statement is None:
        return
    named = index.node_uses(name)
    needed = (named.in_type | named.in_value) if node.is_definition else named.in_type
    elsewhere = _cited(scene, node, node.title)
    for other in sorted(needed - cited.keys() - elsewhere.keys() - {name}, key=scene.order.__getitem__):
        label = scene.project.by_name[other][0].label
        message = (
            f"The statement of {node.name!r} uses {other!r} in Lean and does not cite it; add `\\cref{{{label}}}`."
        )
        scene.report_node("BP609", node, node.statement.span, message)


def _uses_of_definition(scene: Scene, node: BlueprintNode) -> frozenset[str]:
    if scene.index is None:
        return frozenset()
    uses = scene.index.node_uses(node.full_name)
    return uses.in_type | uses.in_value


def _meant(written: str, namespace: str, known: Container[str]) -> list[str]:
    """Give the nodes that a name in code may mean: itself, or what a field is taken of."""
    parts = written.removeprefix("_root_.").split(".")[:_MOST_PARTS]
    names = (resolved(".".join(parts[:length]), namespace, known) for length in range(1, len(parts) + 1))
    return [name for name in names if name is not None]


def _used(scene: Scene) -> set[str]:
    """Give the names of all nodes that some other node uses, as far as edges say."""
    used: set[str] = set()
    for node in scene.project.nodes:
        used.update(scene.edges.parents.get(node.full_name, ()))
        if node.is_definition and _is_elaborated(scene, node):
            used |= _uses_of_definition(scene, node)
    return used


def _named_in_code(scene: Scene) -> set[str]:
    """Give the names of all nodes that the code of some other node may mean, where Lean has not said what it means."""
    named: set[str] = set()
    for node in scene.project.nodes:
        if _is_elaborated(scene, node):
            continue
        code = scene.place_of(node).code
        for span in (node.signature, node.body or Span(0, 0)):
            written = {found.group() for found in _NAME.finditer(code, *span)}
            meant = {name for one in written for name in _meant(one, node.namespace, scene.order)}
            named |= meant - {node.full_name}
    return named
