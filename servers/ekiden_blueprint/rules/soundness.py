"""Check 9: nothing passes for proved that is not, by the look of the text and by what Lean reports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.attributes import attribute_entries
from ekiden_blueprint.declarations import begins_word, is_given_name
from ekiden_blueprint.edges import plain_name
from ekiden_blueprint.findings import Fix
from ekiden_blueprint.lexer import ID_REST, IDENTIFIER
from ekiden_blueprint.programs import programs
from ekiden_blueprint.rules.scene import listed
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.rules.facts import CheckedDeclaration
    from ekiden_blueprint.rules.scene import Place, Scene, Word

_END = rf"(?![{ID_REST}])"
_HOLES = ("sorry", "sorry_using", "admit", "sorryAx")
_GIVES_UP = ("apply?", "rw?")
"""Tactics that close a goal with `sorry`."""
_GIVES_UP_IN_PLACE = ("stop", "plausible", "slim_check")
"""The same; but elsewhere these are common words."""
_COMPILER = (
    "native_decide",
    "bv_decide",
    "bv_check",
    "ofReduceBool",
    "ofReduceNat",
    "reduceBool",
    "reduceNat",
    "trustCompiler",
)
REPLACES = frozenset({"implemented_by", "extern"})
"""Attributes that put a program in a definition's place."""
_TOKEN = re.compile(
    "|".join(
        re.escape(word) + _END
        for word in sorted([*_HOLES, *_GIVES_UP, *_GIVES_UP_IN_PLACE, *_COMPILER], key=len, reverse=True)
    )
    + rf"|«sorryAx»|\+«?native{_END}|«?native»?\s*:=\s*+(?!false{_END})[{ID_REST}]*|set_option\s+{IDENTIFIER}"
)
_ANYWHERE = re.compile("sorryAx|educe|trustCompiler")
_TACTIC_PLACE = re.compile(
    r"(?:^|[\n;·.(|⟨{]|=>|<;>|(?:(?<![\w.])(?:all_goals|any_goals|by|classical|do|else|first|focus|iterate(?:\s+\d+)?"
    r"|repeat1?'?|show_term|then|try|with_reducible(?:_and_instances)?|with_unfolding_all)))[ \t]*\Z"
)
_OPERATOR = re.compile(r"[ \t]*(?!<;>|--)[-+*/^=<>≤≥≠∈∣%∧∨→↔,]")
_TACTICS = frozenset({"admit", *_GIVES_UP_IN_PLACE})
_ONLY_ADMIT = re.compile(r"\s*by\s+admit\s*")
_NOT_CHECKED = frozenset({"axiom", "opaque", "unsafe"})
"""What Lean may have a node as that it does not say it is."""
_SORRY = "sorryAx"


def check_soundness(scene: Scene) -> None:
    """Run the rules on words in code, and on Lean's facts when they are there."""
    for place in scene.places:
        for word in place.words(_TOKEN):
            node = place.node_at(word.start)
            if node is not None:
                _check_word(scene, place, node, word)
        for node in place.nodes:
            _check_programs(scene, place, node)
    if scene.facts is not None:
        for node in scene.project.nodes:
            if node.name:
                _check_facts(scene, node)
        _check_axioms(scene)


def _check_word(scene: Scene, place: Place, node: BlueprintNode, word: Word) -> None:
    text, span = word.text, Span(word.start, word.end)
    if not _ANYWHERE.search(text):
        is_field = not begins_word(place.code, word.start)
        if (
            is_field
            or (text in _TACTICS and is_given_name(place.code, *span, node.span.start))
            or place.code.startswith("«", span.start - 1)
        ):
            return
    if text.startswith("set_option"):
        name = text.split()[1]
        if name not in scene.allowances.local_options:
            message = f"The option {name!r} is set inside {node.name!r}; remove it, or let the project allow it."
            scene.report("BP910", place, span, message)
    elif text in _HOLES or text == "«sorryAx»":
        _check_hole(scene, place, node, word)
    elif text in _GIVES_UP or text in _GIVES_UP_IN_PLACE:
        if text in _GIVES_UP or _in_tactic_place(place.code, span):
            message = f"The tactic `{text}` in {node.name!r} leaves a `sorry` behind; finish the proof."
            scene.report("BP901", place, span, message)
    else:
        message = f"`{text}` in {node.name!r} trusts the compiler; use `decide`, `norm_num` or a proof."
        scene.report("BP902", place, span, message)


def _in_tactic_place(code: str, span: Span) -> bool:
    before = _TACTIC_PLACE.search(code, max(0, span.start - 200), span.start)
    return before is not None and _OPERATOR.match(code, span.end) is None


def _check_programs(scene: Scene, place: Place, node: BlueprintNode) -> None:
    """Report what gets round the kernel: programs, and attributes that put one in a definition's place."""
    found = list(programs(place.code, *node.span))
    for name, span in attribute_entries(place.code, *node.span):
        if name in REPLACES:
            start = place.code.index(name, span.start)
            found.append(Span(start, start + len(name)))
    for span in found:
        word = place.code[slice(*span)]
        scene.report("BP903", place, span, f"`{word}` in {node.name!r} gets round the kernel; remove it.")


def _check_hole(scene: Scene, place: Place, node: BlueprintNode, word: Word) -> None:
    """Report a hole of a proof node, unless it is the placeholder or another rule speaks of it."""
    if node.is_definition:
        return
    body, span = node.body, Span(word.start, word.end)
    in_body = body is not None and body.start <= word.start < body.end
    if in_body and word.text in ("sorry", "sorry_using"):
        return
    part = "proof" if in_body else "statement or attributes"
    admits = body is not None and _ONLY_ADMIT.fullmatch(place.text, *body) is not None
    fix = Fix(body, " by\n  sorry") if body is not None and in_body and admits else None
    message = f"`{word.text}` in the {part} of {node.name!r} leaves a hole; write the placeholder layout or prove it."
    scene.report("BP901", place, span, message, fix)


def _check_facts(scene: Scene, node: BlueprintNode) -> None:
    known = scene.declarations.get(plain_name(node.full_name))
    if known is None:
        message = f"Lean has no declaration {node.full_name!r}; mend the error that stops it, or the name."
        scene.report_node("BP906", node, node.name_span, message)
        return
    if known.refusal:
        message = f"The kernel refuses {node.name!r}: {known.refusal}. Mend it."
        scene.report_node("BP911", node, node.name_span, message)
    if known.kind in _NOT_CHECKED and node.keyword != known.kind:
        message = f"{node.name!r} is written as a {node.keyword}, and Lean has it as {known.kind}; remove what does so."
        scene.report_node("BP909", node, node.name_span, message)
    _check_sorry(scene, node, known)
    foreign = [name for name in known.axioms if name not in scene.allowances.axioms | {_SORRY, node.full_name}]
    assumed = [name for name in foreign if plain_name(name) in scene.allowances.assumptions]
    refused = [name for name in foreign if name not in assumed]
    if refused:
        message = f"{node.name!r} rests on {_axioms(refused)}; do without, or let the project declare an assumption."
        scene.report_node("BP905", node, node.name_span, message)
    if assumed:
        scene.report_node("BP908", node, node.name_span, f"{node.name!r} rests on the assumption {listed(assumed)}.")


def _axioms(names: list[str]) -> str:
    return f"the axiom{'s' if len(names) > 1 else ''} {listed(names)}"


def _check_sorry(scene: Scene, node: BlueprintNode, known: CheckedDeclaration) -> None:
    if node.body_kind in ("by_sorry", "by_sorry_using", "invalid") or scene.index is None:
        return
    if scene.index.has_own_sorry(node.full_name):
        message = f"Lean finds a `sorry` in {node.name!r}, whose text shows none; prove it or write the placeholder."
    elif (known.sorry or _SORRY in known.axioms) and not _explained(scene, node):
        message = f"{node.name!r} rests on a `sorry` that no node's text shows; find where it comes from."
    else:
        return
    scene.report_node("BP904", node, node.name_span, message)


def _explained(scene: Scene, node: BlueprintNode) -> bool:
    """Whether a node that rests on a `sorry` rests on a node whose own it is."""
    index = scene.index
    waiting, seen = [node.full_name], {node.full_name}
    while waiting and index is not None:
        uses = index.node_uses(waiting.pop())
        below = (uses.in_type | uses.in_value) - seen
        if any(index.has_own_sorry(name) for name in below):
            return True
        seen |= below
        waiting += below
    return False


def _check_axioms(scene: Scene) -> None:
    """Report axioms of the environment that no command of the text shows."""
    shown = {
        plain_name(name) for place in scene.places for command in place.file.commands for name in command.names
    } | {plain_name(node.full_name) for node in scene.project.nodes}
    trusted = scene.allowances.axioms | scene.allowances.assumptions | {_SORRY}
    for name, known in scene.declarations.items():
        if known.kind == "axiom" and name not in trusted | shown:
            message = f"Lean has the axiom {name!r}, which the text does not show; find the command that makes it."
            scene.report("BP907", scene.places[0], Span(0, 0), message)
