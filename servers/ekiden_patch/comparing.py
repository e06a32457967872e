"""What a patch does to a file of which one node may be edited: both texts parsed, and held against each other."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ekiden_blueprint import parse
from ekiden_blueprint.attributes import attribute_entries
from ekiden_blueprint.lexer import ID_FIRST, ID_REST
from ekiden_blueprint.programs import programs
from ekiden_patch.scopes import NodeView, code_of, differing, nodes_named, view_node
from ekiden_policies.edit_scope import Change, HelperCommand, NodeEdit, Oddity, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_blueprint import BlueprintFile, Command
    from ekiden_patch.applying import Replacement
    from ekiden_policies.edit_scope import EditableSpan

_DECLARES = frozenset({"node", "declaration", "axiom", "example", "opaque"})
_GOES_ON = re.compile(
    r"(?:by|calc|decreasing_by|deriving|do|else|extends|from|fun|have|if|let|match|return|show|termination_by|then|"
    r"where|with)\b"
)
"""Words with which a line at column 1 may go on with the declaration above it."""
_WORD_AT_MARGIN = re.compile(rf"^(?=[{ID_FIRST}#])\S+", re.MULTILINE)
_SHOWN = 60


def compare(old: NodeView, new_text: str, replacements: Sequence[Replacement], name: str) -> NodeEdit:
    """Return what it means for a node's file to become another text.

    Args:
        old: The node as it is.
        new_text: The text of the file after the patch.
        replacements: What the patch replaces.
        name: The node's name.
    """
    file = parse(new_text, old.file.source.path, previous=old.file)
    problems = new_problems(old.file, file)
    changes = tuple(change for replacement in replacements for change in _changes(old, replacement))
    found = nodes_named(file, name)
    if len(found) != 1:
        return NodeEdit(old.spans, changes, found=len(found), problems=problems)
    new = view_node(file, found[0], anchor=old.anchor, body_offset=old.body_offset)
    body = old.span("body")
    after = [each for each in replacements if body and each.span == (body.end, body.end) and each.new_text.strip()]
    in_place = new_text.startswith(old.frozen[0])  # otherwise the helper area is not where it was
    return NodeEdit(
        old.spans,
        changes,
        problems=problems,
        frozen=(frozen := tuple(_frozen(old, new))),
        continued=() if frozen else tuple(_continued(old, new)),
        body_commands=tuple(_inner_commands(old, new) if frozen else _body_commands(old, new)),
        body_attributes=tuple(_body_attributes(old, new)),
        programs=tuple(_programs(old, new)),
        unindented=tuple(_unindented(old, new)),
        stray=tuple(_stray(old, new)) if in_place else (),
        helpers=tuple(_helpers(old, new)) if in_place else (),
        after_body=_change(old, after[0].span.start, after[0].span.end, after[0].new_text) if after else None,
        body_is_placeholder=old.node.body_kind in ("by_sorry", "by_sorry_using"),
        body_can_grow=_can_grow(old),
        body_is_rewritten=body is not None
        and any(each.span.start < body.end and each.span.end > body.start for each in replacements),
    )


def new_problems(old: BlueprintFile, new: BlueprintFile) -> tuple[Oddity, ...]:
    """Return the syntax problems that a text has and the one before it had not."""
    known = Counter(problem.message for problem in old.problems)
    found: list[Oddity] = []
    for problem in new.problems:
        if known[problem.message]:
            known[problem.message] -= 1
        else:
            found.append(Oddity(problem.message, Place(*new.source.position(problem.span.start))))
    return tuple(found)


def _changes(old: NodeView, replacement: Replacement) -> Iterable[Change]:
    """Return which characters a replacement of lines changes: line by line where it has as many as before."""
    (start, end), new_text = replacement
    old_lines = old.text[start:end].splitlines(keepends=True)
    new_lines = new_text.splitlines(keepends=True)
    if len(old_lines) != len(new_lines):
        yield _change(old, start, end, new_text)
        return
    for before, after in zip(old_lines, new_lines, strict=True):
        if before != after:
            most = min(len(before), len(after))
            head = next((at for at in range(most) if before[at] != after[at]), most)
            tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
            yield _change(old, start + head, start + len(before) - tail, after[head : len(after) - tail])
        start += len(before)


def _change(old: NodeView, start: int, end: int, new_text: str) -> Change:
    return Change(start, end, new_text, old.place(start), old.place(end))


def _frozen(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return which frozen parts read differently, byte for byte and as the parser reads them."""
    if [span.part for span in old.spans] != [span.part for span in new.spans]:
        yield Oddity("the form of the node", new.place(new.node.span.start))
        return
    names = ["the text before the helper area", *(f"the text after the {span.part}" for span in old.spans)]
    ends = [*(span.start for span in new.spans), len(new.text)]
    for index in differing(old.frozen, new.frozen):
        yield Oddity(names[index], new.place(ends[index]))
    one, other = old.node, new.node
    same = (
        (one.label, one.full_name, one.keyword, one.modifiers)
        == (other.label, other.full_name, other.keyword, other.modifiers)
        and [(option.name, option.form) for option in one.options]
        == [(option.name, option.form) for option in other.options]
        and old.file.source.slice(one.signature) == new.file.source.slice(other.signature)
        and one.span.start - old.head == other.span.start - new.head
    )
    if not same:
        yield Oddity("the label, options, name or signature of the node", new.place(other.span.start))


def _continued(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return the commands before the helper area that do not end where they did."""
    before = [command for command in old.file.commands if command.span.start < old.anchor]
    after = [command for command in new.file.commands if command.span.start < new.anchor]
    if before != after:
        what = _told(before[-1]) if before else "the text before it"
        yield Oddity(what, new.place(new.anchor))


def _body_commands(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return the commands after the node's own beginning that were not there before."""
    by = len(new.text) - len(old.text)
    known = {command.shifted(by) for command in old.file.commands if command.span.start > old.node.span.start}
    for command in new.file.commands:
        if command.span.start > new.node.span.start:
            if command in known:
                known.remove(command)
            else:
                yield Oddity(command.keyword or _first_word(new.text, command), new.place(command.span.start))
    if known:
        lost = min(known, key=lambda command: command.span.start)
        yield Oddity(f"what was {_told(lost)}", new.place(lost.span.start))


def _inner_commands(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return the commands inside the new text of the body, where the text after it is not what it was."""
    tail = len(new.text) - len(old.frozen[-1])
    if not new.text.endswith(old.frozen[-1]):
        return
    for command in new.file.commands:
        if new.node.span.start < command.span.start < tail:
            yield Oddity(command.keyword or _first_word(new.text, command), new.place(command.span.start))


def _helpers(old: NodeView, new: NodeView) -> Iterable[HelperCommand]:
    """Return the commands of the helper area that were not in it."""
    known = Counter(_text(old, command) for command in _in_helper_area(old))
    opened = _opened(new)
    for command in _in_helper_area(new):
        text = _text(new, command)
        if known[text]:
            known[text] -= 1
            continue
        name = command.names[0] if command.names and command.kind in _DECLARES else ""
        yield HelperCommand(
            is_node=command.kind == "node",
            declares=command.kind in ("node", "declaration"),
            keyword=command.keyword or ("module doc" if command.kind == "module_doc" else ""),
            name=name,
            modifiers=command.modifiers,
            attributes=attributes_in(code_of(text)),
            captured=_captured(new, name) if name else "",
            opened=last if (last := _last_part(name)) in opened else "",
            place=new.place(command.span.start),
        )


def _in_helper_area(view: NodeView) -> list[Command]:
    return [command for command in view.file.commands if view.anchor <= command.span.start < view.head]


def _text(view: NodeView, command: Command) -> str:
    return view.text[command.span.start : command.span.end]


def attributes_in(code: str) -> tuple[str, ...]:
    """Return the names of all attributes in a piece of code; what cannot be read is `?`."""
    return tuple(entry.name for entry in attribute_entries(code))


def _captured(new: NodeView, name: str) -> str:
    """Return the word of frozen code after the helper area that a name, or an instance that is derived, could take."""
    word = _last_part(name)
    if word not in new.text[new.head :]:
        return ""
    code = code_of(new.text[new.head :])
    for span in new.spans[1:]:
        start, end = span.start - new.head, span.end - new.head
        code = code[:start] + " " * (end - start) + code[end:]
    found = re.search(rf"(?<![{ID_REST}])(?:inst[{ID_REST}]*)?{re.escape(word)}(?![{ID_REST}])", code)
    return found.group() if found else ""


def _opened(new: NodeView) -> set[str]:
    """Return the last parts of the namespaces that are opened or entered before the helper area.

    What a declaration brings besides its name (constructors, fields, local definitions, what Lean generates) lies in
    the namespace of its name. So frozen text could take it for its own only where that namespace is open; where it is
    opened after the helper area, the name stands in frozen text there.
    """
    commands = (command for command in new.file.commands if command.span.start < new.anchor)
    return {_last_part(name) for each in commands if each.kind in ("open", "namespace") for name in each.names}


def _last_part(name: str) -> str:
    return name.rsplit(".", 1)[-1].strip("«»")


def _body_attributes(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    before, after = old.span("body"), new.span("body")
    if before is None or after is None or "@[" not in new.text[after.start : after.end]:
        return
    known = Counter(attributes_in(code_of(old.text[before.start : before.end])))
    for name in attributes_in(code_of(new.text[after.start : after.end])):
        known[name] -= 1
        if known[name] < 0:
            yield Oddity(name, after.first)


def _programs(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return the words of the new text that run code, beyond those of the old one."""
    known = Counter(word for word, _ in _programs_in(old))
    for word, at in _programs_in(new):
        known[word] -= 1
        if known[word] < 0:
            yield Oddity(word, new.place(at))


def _programs_in(view: NodeView) -> Iterable[tuple[str, int]]:
    code = code_of(view.text[view.anchor : view.node.span.end])
    return ((code[start:end], view.anchor + start) for start, end in programs(code))


def _unindented(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    before, after = old.span("body"), new.span("body")
    if before is None or after is None:
        return
    known = {line for _, line in _lines_at_margin(old, before)}
    for at, line in _lines_at_margin(new, after):
        if line not in known:
            yield Oddity(_cut(line), new.place(at))


def _lines_at_margin(view: NodeView, span: EditableSpan) -> Iterable[tuple[int, str]]:
    """Return the lines of a span that begin at column 1 and have something there, and where they begin."""
    at = span.start
    for line in view.text[span.start : span.end].split("\n"):
        if line.strip() and line[0] not in " \t" and (at == 0 or view.text[at - 1] == "\n"):
            yield at, line
        at += len(line) + 1


def _stray(old: NodeView, new: NodeView) -> Iterable[Oddity]:
    """Return words at column 1 of the helper area that neither begin a command nor go on with one."""
    if new.helper_text == old.helper_text:
        return
    code = code_of(new.helper_text)
    commands = _in_helper_area(new)
    first = commands[0].span.start - new.anchor if commands else len(code)
    if before := code[:first].strip():
        yield Oddity(_cut(before.splitlines()[0]), new.place(new.anchor + code.index(before[0])))
    ends = [*(command.span.start - new.anchor for command in commands[1:]), len(code)]
    for command, end in zip(commands, ends, strict=False):
        start = _keyword_end(code, command, new.anchor)
        for found in _WORD_AT_MARGIN.finditer(code, start, end):
            if not _GOES_ON.match(found.group()) and code[found.start() - 1] == "\n":
                yield Oddity(found.group(), new.place(new.anchor + found.start()))


def _keyword_end(code: str, command: Command, anchor: int) -> int:
    """Return where the keyword of a command of the helper area ends."""
    start = command.span.start - anchor
    found = re.compile(rf"(?<![\w.]){re.escape(command.keyword)}(?![\w.])").search(code, start)
    return found.end() if command.keyword and found else start + 1


def _can_grow(old: NodeView) -> bool:
    body = old.node.body
    if body is None or old.node.body_kind not in ("complete", ""):
        return False
    code = code_of(old.text[body.start : body.end])
    first = next((line.strip() for line in code.split("\n") if line.strip()), "")
    return first == "by"


def _told(command: Command) -> str:
    return " ".join((command.keyword or "the command", *command.names[:1]))


def _first_word(text: str, command: Command) -> str:
    return _cut(text[command.span.start : command.span.end].split("\n", 1)[0])


def _cut(line: str) -> str:
    return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."
