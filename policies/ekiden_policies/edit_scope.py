"""Whether an edit of a file stays inside what its author may change.

A scope is data: the files that may be edited and, of a Lean file, either all of it or one node. Who looks at the files
tells what an edit does: where it changes text, which frozen parts differ afterwards, which commands it brings. The
decision is made here; nothing here reads a file or parses Lean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_policies.blueprint_roles import Role

Part = Literal["helper_area", "statement", "proof", "title", "body"]
"""The parts of a node that its owner may edit."""

ViolationCode = Literal[
    "outside_scope",
    "frozen_changed",
    "node_lost",
    "node_repeated",
    "syntax_problem",
    "unindented_line",
    "appended_after_placeholder",
    "appended_after_proof",
    "command_in_body",
    "runs_code",
    "continues_frozen_text",
    "helper_command",
    "helper_keyword",
    "helper_modifier",
    "helper_attribute",
    "helper_without_name",
    "helper_captures_name",
    "stray_text",
]


class Place(NamedTuple):
    """A line and a column, both from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class EditableSpan(NamedTuple):
    """A part of a file that may be edited, up to and without `end`; text may also be inserted at either end."""

    part: Part
    start: int
    end: int
    first: Place
    last: Place

    def __str__(self) -> str:
        return f"{self.part} {self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class HelperRules:
    """What the helper area before a node may hold: nodes that leave the meaning of all other text as it is.

    Attributes:
        keywords: What a helper node may declare.
        modifiers: Modifiers that a helper may have.
        attributes: Attributes that a helper, or a declaration inside a proof, may have.
        commands: Keywords of further commands that may stand there, such as `open` or `notation`, although they change
            what later text means.
        bare: Whether helpers may lack the blueprint attribute.
    """

    keywords: frozenset[str] = frozenset({"lemma", "def", "abbrev", "structure", "inductive"})
    modifiers: frozenset[str] = frozenset({"noncomputable", "private", "protected", "nonrec"})
    attributes: frozenset[str] = frozenset({"blueprint", "inline", "irreducible", "noinline", "nolint"})
    commands: frozenset[str] = frozenset()
    bare: bool = False


@dataclass(frozen=True, slots=True)
class FileScope:
    """A file that may be edited.

    Attributes:
        path: The file, from the workspace on.
        node: Lean name of the one node that may be edited in it; empty when all of the file may be.
        helpers: What may stand before that node.
    """

    path: str
    node: str = ""
    helpers: HelperRules = field(default_factory=HelperRules)


@dataclass(frozen=True, slots=True)
class EditScope:
    """What one agent may edit.

    Attributes:
        files: The files, the primary one first.
        primary: Whether the first file is the one that is meant when a call names none.
        any_file: Whether every file of the workspace may be edited; `files` is empty then.
        role: The agent's role, where it has one.
    """

    files: tuple[FileScope, ...] = ()
    primary: bool = False
    any_file: bool = False
    role: Role | None = None

    def flaw(self) -> str | None:
        """Say what is wrong with the scope itself, if anything is."""
        for scope in self.files:
            if scope.node and not scope.path.lower().endswith(".lean"):
                return f"{scope.path!r} is no Lean file and has no node {scope.node!r}."
            if self.role == "worker" and scope.path.lower().endswith(".lean") and not scope.node:
                return f"A worker edits one node of a Lean file, and the scope names none for {scope.path!r}."
        if self.role == "worker" and self.any_file:
            return "A worker edits one node of a Lean file, and the scope names none."
        paths = [scope.path for scope in self.files]
        repeated = next((path for path in paths if paths.count(path) > 1), None)
        return None if repeated is None else f"The scope names {repeated!r} twice."


class Change(NamedTuple):
    """Characters of the old text that give way to others; `first` and `last` are places in the old text."""

    start: int
    end: int
    new_text: str
    first: Place
    last: Place

    @property
    def what(self) -> str:
        """Say whether text comes, goes or is rewritten."""
        return "insert" if self.start == self.end else "replace" if self.new_text else "delete"


class Oddity(NamedTuple):
    """Something in the new text that was not there before, and where; `what` names it."""

    what: str
    place: Place


class HelperCommand(NamedTuple):
    """A command that the edit brings into the helper area.

    Attributes:
        is_node: Whether it has a blueprint attribute.
        declares: Whether it declares something with a keyword that nodes can have.
        keyword: Its keyword.
        name: What it declares; empty when it has no name.
        modifiers: Its modifiers.
        attributes: All attributes in it.
        captured: The word in frozen text after it that its name could take; empty when there is none.
        opened: The part of its name that is a namespace which frozen text before it opens; empty when none does.
        place: Where it stands in the new text.
    """

    is_node: bool
    declares: bool
    keyword: str
    name: str
    modifiers: tuple[str, ...]
    attributes: tuple[str, ...]
    captured: str
    place: Place
    opened: str = ""


@dataclass(frozen=True, slots=True)
class NodeEdit:
    """What an edit does to a file of which one node may be changed.

    Attributes:
        spans: What may be edited, in order.
        changes: What the edit changes.
        found: How often the new text has the node.
        frozen: The frozen parts that the new text does not have as they were.
        problems: Syntax problems that the old text did not have.
        continued: Frozen commands that the new text makes longer.
        body_commands: Commands after the node's beginning that the old text did not have.
        body_attributes: Attributes in the node's body that were not there.
        programs: Words that run code while Lean reads the text, and were not there.
        unindented: Lines of the new body that begin at column 1.
        stray: Text in the helper area that belongs to no command that is known.
        helpers: The commands that come into the helper area.
        after_body: Text that is inserted right after the body; None where there is none.
        body_is_placeholder: Whether the old body is a placeholder.
        body_can_grow: Whether lines may follow the old body: it has no `sorry` and begins with `by` on a line.
        body_is_rewritten: Whether old lines of the body change besides.
    """

    spans: tuple[EditableSpan, ...]
    changes: tuple[Change, ...]
    found: int = 1
    frozen: tuple[Oddity, ...] = ()
    problems: tuple[Oddity, ...] = ()
    continued: tuple[Oddity, ...] = ()
    body_commands: tuple[Oddity, ...] = ()
    body_attributes: tuple[Oddity, ...] = ()
    programs: tuple[Oddity, ...] = ()
    unindented: tuple[Oddity, ...] = ()
    stray: tuple[Oddity, ...] = ()
    helpers: tuple[HelperCommand, ...] = ()
    after_body: Change | None = None
    body_is_placeholder: bool = False
    body_can_grow: bool = False
    body_is_rewritten: bool = False


class Violation(NamedTuple):
    """Why an edit is refused.

    Attributes:
        code: What rule it breaks.
        message: That in words, with the way out.
        first: Where.
        last: Up to where; the same place when it is no stretch of the old text.
        text: `old` when the place is in the text before the edit, `new` when it is in the refused one.
        nearest: The editable span nearest to it; None when the place is in the refused text.
    """

    code: ViolationCode
    message: str
    first: Place
    last: Place
    text: Literal["old", "new"]
    nearest: EditableSpan | None = None


def judge_new_problems(problems: Iterable[Oddity]) -> tuple[Violation, ...]:
    """Refuse syntax problems that an edit brings."""
    return tuple(
        _in_new("syntax_problem", f"The new text cannot be read: {problem.what}.", problem.place)
        for problem in problems
    )


def judge_node_edit(edit: NodeEdit, helpers: HelperRules, node: str) -> tuple[Violation, ...]:
    """Return why an edit by a node's owner is refused; nothing when it is allowed."""
    problems = judge_new_problems(edit.problems)
    if edit.found != 1:
        return (*problems, *_lost(edit, node))
    return (
        *problems,
        *_frozen(edit),
        *(
            _in_new(
                "continues_frozen_text",
                f"The text would become a part of {each.what}, which is frozen; begin it with a declaration at "
                "column 1.",
                each.place,
            )
            for each in edit.continued
        ),
        *(
            _in_new(
                "command_in_body",
                f"`{each.what}` begins a command of its own; a proof body holds the proof alone. Put helper "
                "nodes into the helper area.",
                each.place,
            )
            for each in edit.body_commands
        ),
        *(
            _in_new(
                "runs_code",
                f"`{each.what}` runs code while Lean reads the text, which can change what frozen text means; "
                "prove it without.",
                each.place,
            )
            for each in edit.programs
        ),
        *(
            _in_new(
                "unindented_line",
                f"The line {each.what!r} begins at column 1; indent every line of a proof body.",
                each.place,
            )
            for each in edit.unindented
        ),
        *_appended(edit),
        *(violation for helper in edit.helpers for violation in _helper(helper, helpers)),
        *(
            _in_new("stray_text", f"{each.what!r} begins no command that is known here; remove it.", each.place)
            for each in edit.stray
        ),
        *(
            _attribute(each.what, each.place, helpers)
            for each in edit.body_attributes
            if each.what not in helpers.attributes
        ),
    )


def nearest_span(spans: Sequence[EditableSpan], start: int, end: int) -> EditableSpan | None:
    """Return the editable span nearest to a stretch of the old text."""
    return min(spans, key=lambda span: max(span.start - end, start - span.end, 0), default=None)


def _lost(edit: NodeEdit, node: str) -> Iterable[Violation]:
    outside = tuple(_outside(edit))
    if edit.found:
        message = f"The new text declares {node!r} {edit.found} times; give the helper another name."
        yield Violation("node_repeated", message, *_whole(edit), "new")
    else:
        message = f"The new text has no node {node!r} that can be read; keep its attribute, keyword and name."
        yield Violation("node_lost", message, *_whole(edit), "new")
    yield from outside


def _whole(edit: NodeEdit) -> tuple[Place, Place]:
    places = [place for change in edit.changes for place in (change.first, change.last)] or [Place(1, 1)]
    return min(places), max(places)


def _frozen(edit: NodeEdit) -> Iterable[Violation]:
    if not edit.frozen:
        return
    outside = tuple(_outside(edit))
    yield from outside
    if not outside:
        for each in edit.frozen:
            message = f"After the edit {each.what} would read differently, and it is frozen."
            yield _in_new("frozen_changed", message, each.place)


def _outside(edit: NodeEdit) -> Iterable[Violation]:
    for change in edit.changes:
        if any(span.start <= change.start and change.end <= span.end for span in edit.spans):
            continue
        nearest = nearest_span(edit.spans, change.start, change.end)
        near = f"; the nearest editable span is {nearest}" if nearest else ""
        message = f"{change.what} at original {change.first}-{change.last} is outside the editable spans{near}."
        yield Violation("outside_scope", message, change.first, change.last, "old", nearest)


def _appended(edit: NodeEdit) -> Iterable[Violation]:
    change = edit.after_body
    if change is None or (not edit.body_is_placeholder and (edit.body_can_grow or edit.body_is_rewritten)):
        return
    body = next((span for span in edit.spans if span.part == "body"), None)
    if edit.body_is_placeholder:
        message = "Nothing may follow a placeholder; replace its line by the proof."
        yield Violation("appended_after_placeholder", message, change.first, change.last, "old", body)
        return
    message = (
        "Lines may follow a proof only if it begins with `by` on the line of `:=` and has no `sorry`; rewrite the old "
        "lines in the same patch."
    )
    yield Violation("appended_after_proof", message, change.first, change.last, "old", body)


def _helper(helper: HelperCommand, rules: HelperRules) -> Iterable[Violation]:
    place, keyword = helper.place, helper.keyword
    if not helper.declares and keyword not in rules.commands:
        message = (
            f"`{keyword or 'this text'}` may not stand in the helper area: it can change what frozen text means. "
            f"Only nodes may: {_words(rules.keywords)}."
        )
        yield _in_new("helper_command", message, place)
        return
    if helper.declares:
        if keyword not in rules.keywords and keyword not in rules.commands:
            message = f"A helper may not be `{keyword}`; use one of {_words(rules.keywords)}."
            yield _in_new("helper_keyword", message, place)
        elif not helper.is_node and not rules.bare:
            message = f"The {keyword} {helper.name!r} has no blueprint attribute; helpers are nodes."
            yield _in_new("helper_command", message, place)
        if not helper.name:
            yield _in_new("helper_without_name", f"This {keyword} has no name; give it one.", place)
        if helper.captured:
            message = (
                f"{helper.captured!r} also stands in frozen text after the helper, which could come to mean the "
                "helper; take a name that occurs nowhere else."
            )
            yield _in_new("helper_captures_name", message, place)
        if helper.opened:
            message = (
                f"{helper.opened!r} is opened as a namespace before the helper, so frozen text could come to mean what "
                "is in the helper; take another name."
            )
            yield _in_new("helper_captures_name", message, place)
    for modifier in helper.modifiers:
        if modifier not in rules.modifiers:
            message = f"A helper may not be `{modifier}`; allowed are {_words(rules.modifiers)}."
            yield _in_new("helper_modifier", message, place)
    for attribute in helper.attributes:
        if attribute not in rules.attributes:
            yield _attribute(attribute, place, rules)


def _attribute(name: str, place: Place, rules: HelperRules) -> Violation:
    message = (
        f"The attribute `{name}` acts on text outside the declaration; remove it. Allowed are "
        f"{_words(rules.attributes)}."
    )
    return _in_new("helper_attribute", message, place)


def _in_new(code: ViolationCode, message: str, place: Place) -> Violation:
    return Violation(code, message, place, place, "new")


def _words(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in sorted(words)) or "none"
