"""What differs between two versions of a blueprint, as data that a policy judges."""

from __future__ import annotations

from bisect import bisect_left
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from ekiden_blueprint.edges import plain_name
from ekiden_blueprint.version import TARGET, WORD, last_part
from ekiden_policies.blueprint_roles import BlueprintChange, CommandChange, NodeChange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.version import ComparedDeclaration, Version
    from ekiden_policies.blueprint_roles import NodeKind, Part, PathChange, ProofState

_PROSE: tuple[Part, ...] = ("proof", "statement", "title")
_HARMLESS_MODIFIERS = frozenset({"noncomputable", "private"})


def compare(base: Version, head: Version, *, own: str = "", paths: Iterable[PathChange] = ()) -> BlueprintChange:
    """Compare two versions of a blueprint.

    Args:
        base: What is there.
        head: What is to be there.
        own: The node that a worker is given; fresh nodes directly before it are its helpers.
        paths: The files that differ between the two.
    """
    helpers = _helpers(base, head, own)
    moved = _moved(base, head)
    nodes = [
        _new(head, node, base, is_helper=name in helpers)
        if name not in base.nodes
        else _old(base.nodes[name], node, base, head, is_moved=name in moved)
        for name, node in head.nodes.items()
    ]
    gone = [_gone(node) for name, node in base.nodes.items() if name not in head.nodes]
    return BlueprintChange((*nodes, *gone), tuple(paths), tuple(_commands(base, head)), _declarations(base, head))


def _new(head: Version, node: BlueprintNode, base: Version, *, is_helper: bool) -> NodeChange:
    compared = base.facts is not None and plain_name(node.full_name) in head.declarations
    return NodeChange(
        node.full_name,
        _kind(node),
        None,
        _state(node),
        is_target=node.keyword == TARGET,
        is_helper=is_helper,
        hazards=() if compared else tuple(_hazards(head, node, base)),
        sorry=_has_sorry(head, node),
    )


def _gone(node: BlueprintNode) -> NodeChange:
    return NodeChange(node.full_name, _kind(node), _state(node), None, is_target=node.keyword == TARGET)


def _old(before: BlueprintNode, after: BlueprintNode, base: Version, head: Version, *, is_moved: bool) -> NodeChange:
    name = after.full_name
    was, known = base.declarations.get(plain_name(name)), head.declarations.get(plain_name(name))
    if was is not None and known is not None and not was.refusal and not known.refusal:
        same = (was.kind, was.type_hash, was.meaning_hash) == (known.kind, known.type_hash, known.meaning_hash)
    else:
        same = base.meaning_in_text(before) == head.meaning_in_text(after)
    becomes = f"text:{head.meaning_in_text(after)}"
    if before.keyword == TARGET != after.keyword:  # it would no longer be guarded
        becomes, same = after.keyword or "nothing", False
    return NodeChange(
        name,
        _kind(after),
        _state(before),
        _state(after),
        parts=frozenset(_parts(base, before, head, after, is_moved=is_moved)),
        meaning="same" if same else "changed",
        becomes=becomes,
        is_target=before.keyword == TARGET,
        sorry=_has_sorry(head, after),
    )


def _kind(node: BlueprintNode) -> NodeKind:
    if node.is_proof:
        return "proof"
    if node.is_definition:
        return "definition"
    return "assumption" if node.keyword == "axiom" else "other"


def _state(node: BlueprintNode) -> ProofState:
    match node.body_kind:
        case "complete":
            return "complete"
        case "by_sorry" | "by_sorry_using":
            return "placeholder"
        case "invalid":
            return "broken"
        case "":
            return "none"


def _has_sorry(head: Version, node: BlueprintNode) -> bool:
    return head.index is not None and node.body_kind == "complete" and head.index.has_own_sorry(node.full_name)


def _parts(
    base: Version, before: BlueprintNode, head: Version, after: BlueprintNode, *, is_moved: bool
) -> Iterable[Part]:
    for part in _PROSE:
        if _prose(before, part) != _prose(after, part):
            yield part
    if _attribute(base, before) != _attribute(head, after):
        yield "attribute"
    if _declared(base, before) != _declared(head, after):
        yield "declaration"
    if _slice(base, before, before.signature) != _slice(head, after, after.signature):
        yield "signature"
    if _slice(base, before, before.body) != _slice(head, after, after.body):
        yield "body"
    if is_moved or before.path != after.path:
        yield "place"


def _prose(node: BlueprintNode, name: str) -> tuple[str, str] | None:
    option = node.option(name)
    return option and (option.form, option.value)


def _slice(version: Version, node: BlueprintNode, span: tuple[int, int] | None) -> str:
    return "" if span is None else version.text(node, *span)


def _attribute(version: Version, node: BlueprintNode) -> str:
    """Give the attribute list with nothing in its three texts."""
    start, end = node.attribute
    pieces: list[str] = []
    for option in sorted(node.options, key=lambda option: option.span):
        if option.name in _PROSE:
            pieces.append(version.text(node, start, option.value_span.start))
            start = option.value_span.end
    return "".join([*pieces, version.text(node, start, end)])


def _declared(version: Version, node: BlueprintNode) -> str:
    """Give what stands around the attribute list and before the signature: modifiers, keyword, name."""
    before = version.text(node, node.offset, node.attribute.start)
    return before + version.text(node, node.attribute.end, node.signature.start)


def _moved(base: Version, head: Version) -> set[str]:
    """Give the nodes of both that stand in another order: all but a longest run that kept its order."""
    places = {name: place for place, name in enumerate(base.nodes)}
    common = [name for name in head.nodes if name in places]
    tails: list[int] = []
    ends: list[str] = []
    above: dict[str, str] = {}
    for name in common:
        at = bisect_left(tails, places[name])
        if at:
            above[name] = ends[at - 1]
        tails[at : at + 1], ends[at : at + 1] = [places[name]], [name]
    kept: set[str] = set()
    name = ends[-1] if ends else ""
    while name:
        kept.add(name)
        name = above.get(name, "")
    return set(common) - kept


def _helpers(base: Version, head: Version, own: str) -> set[str]:
    """Give the fresh nodes that stand directly before a node, with no other node between."""
    node = head.nodes.get(own)
    if node is None:
        return set()
    found: set[str] = set()
    earlier = [other for other in head.file_of(node).nodes if other.span.start < node.span.start]
    for other in reversed(earlier):
        if not other.name or other.full_name in base.nodes:
            break
        found.add(other.full_name)
    return found


def _hazards(head: Version, node: BlueprintNode, base: Version) -> Iterable[str]:
    """Say what of a new node could change the meaning of what stands after it."""
    if node.keyword in ("instance", "class"):
        yield f"the keyword {node.keyword!r}"
    for modifier in node.modifiers:
        if modifier not in _HARMLESS_MODIFIERS:
            yield f"the modifier {modifier!r}"
    for _, attribute in head.attributes(node):
        yield f"the attribute {attribute!r}"
    if head.is_opened(node):
        yield "the name of a namespace that is opened"
    last = last_part(node.full_name)
    places = {name: place for place, name in enumerate(head.nodes)}
    for other in head.nodes.values():
        if other.full_name in base.nodes and places[other.full_name] > places[node.full_name]:
            signature = head.code(other, *other.signature)
            if last in (WORD.findall(signature) if WORD.fullmatch(last) else signature):
                yield f"a name that the statement of {other.full_name!r} uses"
                return


def _commands(base: Version, head: Version) -> Iterable[CommandChange]:
    """Give the commands outside nodes that differ, and those that kept their text but not the nodes before them."""
    for path in sorted(base.outside.keys() | head.outside.keys()):
        was, now = _anchored(base, path, head), _anchored(head, path, base)
        keys = [[(text, anchor) for _, anchor, text in side] for side in (was, now)]
        for tag, start, end, new_start, new_end in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
            if tag != "equal":
                for place, _, text in was[start:end]:
                    yield CommandChange(path, _shortened(text), "removed", place)
                for place, _, text in now[new_start:new_end]:
                    yield CommandChange(path, _shortened(text), "added", place)


def _anchored(version: Version, path: str, other: Version) -> list[tuple[int, str, str]]:
    """Give the commands of a file: their place, the node of both versions before each, and their text."""
    file = next((file for file in version.project.files if file.source.path == path), None)
    if file is None:
        return []
    nodes = {node.span.start: node.full_name for node in file.nodes}
    texts = dict(version.outside[path])
    anchor, found = "", list[tuple[int, str, str]]()
    for place, command in enumerate(file.commands):
        if command.kind == "node":
            name = next((nodes[at] for at in range(*command.span) if at in nodes), "")
            anchor = name if name in other.nodes else anchor
        else:
            found.append((place, anchor, texts[place]))
    return found


def _declarations(base: Version, head: Version) -> tuple[str, ...]:
    """Give the declarations that are no nodes, and whose meaning Lean finds changed."""
    if base.facts is None or head.facts is None:
        return ()
    nodes = {plain_name(name) for name in base.nodes}

    def meaning(known: ComparedDeclaration | None) -> tuple[str, str] | None:
        return None if known is None else (known.kind, known.meaning_hash)

    return tuple(
        name
        for name, was in base.declarations.items()
        if name not in nodes and meaning(was) != meaning(head.declarations.get(name))
    )


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
