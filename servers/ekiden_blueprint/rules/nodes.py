"""Check 2: every node is whole, and its texts and options have the right form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.findings import Fix
from ekiden_blueprint.lexer import COMMENTS, ID_REST
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from ekiden_blueprint.model import BlueprintNode, Option
    from ekiden_blueprint.rules.scene import Place, Scene

PROSE = ("statement", "proof", "title")
_KINDS = {
    "line_comment": "line comment",
    "block_comment": "block comment",
    "doc_comment": "doc comment",
    "module_doc": "module doc comment",
}
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")
_ONLY_PLACEHOLDER = re.compile(r"\s*(?:by\b\s*)?(sorry_using\s*\[[^\[\]]*\]|sorry)\s*")
_PLACEHOLDER = re.compile(rf"(?:sorry_using|sorry)(?![{ID_REST}])")
_HOLE = re.compile(rf"(?:sorry_using|sorryAx|«sorryAx»|sorry|admit)(?![{ID_REST}])")
_LOUD = frozenset({"unsafe"})
"""Modifiers that another rule speaks of."""


def check_nodes(scene: Scene) -> None:
    """Run the rules on single nodes."""
    for place in scene.places:
        _check_syntax(scene, place)
        _check_comments(scene, place)
        _check_spacing(scene, place)
        for node in place.nodes:
            _check_declaration(scene, node)
            _check_texts(scene, node)
            _check_options(scene, node)
            _check_body(scene, place, node)


def _check_syntax(scene: Scene, place: Place) -> None:
    dangling = {node.attribute for node in place.nodes if not node.keyword}
    for message, span in place.file.problems:
        if span not in dangling:
            scene.report("BP221", place, span, f"Cannot read {_shown(place.file.source.slice(span))}: {message}.")


def _check_comments(scene: Scene, place: Place) -> None:
    """Report comments outside the prose, but for what another rule speaks of: what is not closed, unknown options."""
    if scene.allowances.comments:
        return
    prose = [
        option.value_span
        for node in place.nodes
        for option in node.options
        if option.form == "doc" and (option.name in PROSE or option.name not in scene.allowances.blueprint_options)
    ]
    own = {span.start for span in prose}
    for kind, span, closed in place.file.regions:
        if kind not in COMMENTS or not closed or (kind == "doc_comment" and span.start + 3 in own):
            continue
        if any(unread.start <= span.start < unread.end for unread in place.unread):
            continue
        shown = _shown(place.file.source.slice(span))
        message = f"The {_KINDS[kind]} {shown} stands outside the prose; move it into a text of a node or remove it."
        scene.report("BP201", place, span, message, _without(place.text, span))


def _without(text: str, span: Span) -> Fix:
    """Take a comment away, with its lines when nothing else is on them."""
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.end)
    line_end = len(text) if line_end < 0 else line_end
    before, after = text[line_start : span.start], text[span.end : line_end]
    if not before.strip() and not after.strip():
        return Fix(Span(line_start, min(line_end + 1, len(text))), "")
    if not after.strip():
        return Fix(Span(line_start + len(before.rstrip()), line_end), "")
    return Fix(span, " ")


def _check_spacing(scene: Scene, place: Place) -> None:
    for earlier, later in zip(place.nodes, place.nodes[1:], strict=False):
        gap = Span(earlier.span.end, later.span.start)
        between = place.file.source.slice(gap)
        if _BLANK_LINE.search(between):
            continue
        fix = None if between.strip() else Fix(gap, "\n\n")
        message = f"No blank line before the node {later.label or later.name!r}; leave one."
        scene.report("BP208", place, Span(later.attribute.start, later.attribute.start + 2), message, fix)


def _check_declaration(scene: Scene, node: BlueprintNode) -> None:
    if not node.label:
        message = f'The node {node.name!r} has no label; write `blueprint "..:.."` in its attribute.'
        scene.report_node("BP220", node, node.blueprint, message)
    if not node.keyword:
        message = f"The label {node.label!r} has no declaration; write it right after the attribute."
        scene.report_node("BP209", node, node.attribute, message)
        return
    if not node.name and node.keyword != "example":
        message = f"The {node.keyword} of {node.label!r} has no name; give it the one that its label says."
        scene.report_node("BP210", node, node.name_span, message)
    for modifier in node.modifiers:
        if modifier not in scene.allowances.modifiers and modifier not in _LOUD:
            allowed = ", ".join(sorted(scene.allowances.modifiers)) or "none"
            message = f"The modifier {modifier!r} of {node.name!r} is not allowed (allowed: {allowed}); remove it."
            scene.report_node("BP219", node, _modifier_span(scene.place_of(node), node, modifier), message)


def _modifier_span(place: Place, node: BlueprintNode, modifier: str) -> Span:
    start = node.attribute.start
    word = re.compile(rf"{modifier}(?![{ID_REST}])")
    found = next(place.words(word, node.attribute.end, max(node.name_span.start, node.attribute.end)), None)
    return Span(found.start, found.end) if found else Span(start, start + 2)


def _check_texts(scene: Scene, node: BlueprintNode) -> None:
    for name, rule in (("statement", "BP211"), ("title", "BP212"), ("proof", "BP213")):
        option = node.option(name)
        if name == "proof" and not node.is_proof:
            if option is not None and node.is_definition:
                message = f"The {node.keyword} {node.name!r} has a proof text; move it into `statement`."
                scene.report_node("BP223", node, option.span, message)
        elif option is None or not option.value.strip():
            said = "has no" if option is None else "has an empty"
            message = f"The node {node.label or node.name!r} {said} {name}; write `({name} := /-- .. -/)`."
            scene.report_node(rule, node, option.span if option else node.blueprint, message)
        if option is not None:
            _check_text(scene, node, option)


def _check_text(scene: Scene, node: BlueprintNode, option: Option) -> None:
    if option.form == "other" or (option.form == "string" and option.name != "title"):
        message = f"The value {_shown(option.value)} of {option.name!r} is not a doc comment; write `/-- .. -/`."
        scene.report_node("BP222", node, option.value_span, message)
        return
    depth: list[int] = []
    for found in _BRACE.finditer(option.value):
        at = option.value_span.start + found.start()
        if found.group() == "{":
            depth.append(at)
        elif found.group() == "}" and depth:
            depth.pop()
        elif found.group() == "}":
            message = f"A brace in the {option.name} of {node.label!r} closes none; remove it or write `\\}}`."
            scene.report_node("BP214", node, Span(at, at + 1), message)
            return
    if depth:
        message = f"A brace in the {option.name} of {node.label!r} is not closed; close it or write `\\{{`."
        scene.report_node("BP214", node, Span(depth[0], depth[0] + 1), message)


def _check_options(scene: Scene, node: BlueprintNode) -> None:
    seen: dict[str, Option] = {}
    allowed = scene.allowances.blueprint_options
    for option in node.options:
        earlier = seen.setdefault(option.name, option)
        if earlier is not option:
            fix = Fix(option.span, "") if earlier.value == option.value else None
            message = f"The option {option.name!r} of {node.label!r} is given twice; keep one of them."
            scene.report_node("BP217", node, option.span, message, fix)
        if option.name not in allowed:
            close = scene.nearest(option.name, sorted(allowed))
            way_out = "Mend its name, or remove it." if close else "Remove it."
            message = f"Unknown option {option.name!r} in the attribute of {node.label!r}{close}. {way_out}"
            scene.report_node("BP218", node, option.span, message)


def _check_body(scene: Scene, place: Place, node: BlueprintNode) -> None:
    if node.is_definition:
        for hole in place.words(_HOLE, node.attribute.start, node.span.end):
            message = f"{hole.text!r} in the {node.keyword} {node.name!r}; definitions must be complete."
            scene.report("BP216", place, Span(hole.start, hole.end), message)
    elif node.is_proof and node.body_kind == "invalid":
        _check_invalid(scene, place, node)


def _check_invalid(scene: Scene, place: Place, node: BlueprintNode) -> None:
    layout = "write `:= by`, and on the next line `sorry` or `sorry_using [..]` alone, or finish the proof"
    body = node.body
    if body is None or not place.code[body.start : body.end].strip():
        message = f"The {node.keyword} {node.name!r} has no proof; {layout}."
        scene.report("BP215", place, body or node.name_span, message)
        return
    hole = next(place.words(_PLACEHOLDER, body.start, body.end), None)
    if hole is None:
        return  # `admit` and its like, which the rules on holes speak of
    alone = _ONLY_PLACEHOLDER.fullmatch(place.code, body.start, body.end)
    commented = place.text[body.start : body.end] != place.code[body.start : body.end]
    assigned = place.code.startswith(":=", body.start - 2)
    fix = Fix(body, f" by\n  {alone[1]}") if alone and assigned and not commented else None
    message = f"{hole.text!r} in the proof of {node.name!r} is not alone on the line after `:= by`; {layout}."
    scene.report("BP215", place, Span(hole.start, hole.end), message, fix)


def _shown(text: str, limit: int = 40) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= limit else line[: limit - 3] + "...")
