"""Where the top-level commands of a text begin.

This works on a *view* of the text, which is as long as the text: comments are blank in it, strings are reduced to their
quotes and quoted names to underscores, and a mark stands where a doc comment begins.

What decides when a word may be a command or part of a term:

- A command word ends what stands before it at any column, also inside an open bracket: nothing that Lean may take for a
  command is hidden in a body. The one exception is an attribute list, where `instance` or `local` are attributes.
- `open .. in` and `set_option .. in` are a command of their own when a command follows, and part of a term or a tactic
  block when none does. The same words at column 1 are always a command.
- A doc comment, an attribute list or a modifier begins a command when a command word follows. Otherwise it belongs to
  a field or a constructor, unless it stands at column 1 or holds a `blueprint` attribute.
- `#word` is a command when Lean or Mathlib has it, or at column 1.
- A command that only a project's own macros know is not seen: its text belongs to the command before it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ekiden_blueprint.lexer import ID_REST, inside_identifier
from ekiden_blueprint.spans import Span
from ekiden_blueprint.words import (
    CANDIDATE,
    DOC_MARK,
    HASH_COMMANDS,
    IN,
    KEYWORD,
    KIND_OF_WORD,
    MODIFIER,
    MODULE_DOC_MARK,
    OPEN_ARGUMENTS,
    OPTION_ARGUMENTS,
    STARTS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ekiden_blueprint.model import CommandKind

DECLARING: frozenset[CommandKind] = frozenset({"declaration", "axiom", "example", "opaque"})
CLOSER = {"(": ")", "[": "]", "{": "}", "⟨": "⟩", "⟦": "⟧", "@[": "]"}
BLUEPRINT_WORD = re.compile(rf"(?<![{ID_REST}.])blueprint\??(?![{ID_REST}.])")
_SPACE = re.compile(r"\s*")
_NO_NAME_BEFORE = re.compile(rf"\.\.\Z|(?<![{ID_REST}.»)\]])[0-9][0-9_]*\.\Z")
_NO_ATTRIBUTE = (
    r"(?:theorem|lemma|def|abbrev|axiom|example|opaque|inductive|structure|namespace|section|variable|mutual)"
    rf"(?![{ID_REST}.])"
)
_BRACKET = re.compile(
    rf"(?:«[^»]*+»|[^A-Za-z_@\[\](){{}}⟨⟩«]++|«|(?!{_NO_ATTRIBUTE})[A-Za-z_]++|@(?!\[)|(?<=[.]){_NO_ATTRIBUTE})*+"
    rf"(?P<mark>@\[|[\[\](){{}}⟨⟩]|{_NO_ATTRIBUTE})"
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a command begins: where, with what modifiers and attribute lists, and with which word."""

    start: int
    kind: CommandKind
    keyword: str
    keyword_end: int
    modifiers: tuple[str, ...]
    attributes: tuple[Span, ...]
    unbalanced: bool
    scan_from: int


def beginnings(view: str, *, margin: bool = True) -> Iterator[Beginning]:
    """Find where the commands of a text begin; `margin` says whether the text itself begins at column 1."""
    at = 0
    while (found := CANDIDATE.match(view, at)) is not None:
        start = found.start("start")
        if _continues_a_name(view, start):
            at = found.end()
            continue
        if view[start] == MODULE_DOC_MARK:
            yield Beginning(start, "module_doc", "", start + 1, (), (), unbalanced=False, scan_from=start + 1)
            at = start + 1
            continue
        beginning = _beginning(view, start)
        if _is_command(view, beginning, margin=margin):
            yield beginning
        at = max(beginning.scan_from, start + 1)


def closing_bracket(view: str, opening: int) -> int | None:
    """Give the offset after the bracket that closes an attribute list or one of its options, if it is closed."""
    stack: list[str] = []
    at = opening
    while (found := _BRACKET.match(view, at)) is not None:
        mark, at = found["mark"], found.end()
        if mark in CLOSER and not (mark == "@[" and stack):
            stack.append(CLOSER[mark])
        elif len(mark) > 1 or mark != stack.pop():
            return None
        if not stack:
            return at
    return None


def skip_space(view: str, at: int) -> int:
    """Give the offset of the next thing that is not blank."""
    found = _SPACE.match(view, at)
    return found.end() if found else at


def _continues_a_name(view: str, at: int) -> bool:
    """Tell whether a word is the end of a longer name (`x.def`, `x₁def`), which `5def` and `f ..def` are not."""
    if not (view[at].isalpha() and at):
        return False
    if view[at - 1] == "`":
        return not view.startswith("``", max(0, at - 2))
    if view[at - 1] == ".":
        return not _NO_NAME_BEFORE.search(view, max(0, at - 100), at)
    return inside_identifier(view, at)


def _beginning(view: str, start: int) -> Beginning:
    """Read doc comments, attribute lists and modifiers from `start` up to the command word, if there is one."""
    modifiers: list[str] = []
    attributes: list[Span] = []
    at, unbalanced = start, False
    while True:
        at = skip_space(view, at)
        if view.startswith(DOC_MARK, at):
            at += 1
        elif view.startswith("@[", at):
            end = closing_bracket(view, at)
            if end is None:
                unbalanced = True
                at += 2
                break
            attributes.append(Span(at, end))
            at = end
        elif (modifier := MODIFIER.match(view, at)) is not None:
            modifiers.append(modifier["word"])
            at = modifier.end()
        else:
            break
    keyword = None if unbalanced else KEYWORD.match(view, at)
    kind, word = _kind_of(keyword, view)
    if kind not in DECLARING and any(BLUEPRINT_WORD.search(view, *span) for span in attributes):
        kind, word, at = "other", "", attributes[-1].end
    end = keyword.end() if keyword and word else at
    return Beginning(
        start, kind, word, end, tuple(modifiers), tuple(attributes), unbalanced, _scan_from(view, word, end)
    )


def _kind_of(found: re.Match[str] | None, view: str) -> tuple[CommandKind, str]:
    if found is None:
        return "other", ""
    if found["hash"]:
        known = found["hash"].rstrip("!") in HASH_COMMANDS or found["hash"] in HASH_COMMANDS
        return "other", found.group() if known or _at_margin(view, found.start()) else ""
    word = " ".join(found.group().split())
    if word.startswith("deriving"):
        return "other", "deriving instance"
    word = word.split()[0]
    return KIND_OF_WORD[word], word


def _scan_from(view: str, word: str, end: int) -> int:
    """Give the offset from which to look for the next command."""
    if word == "attribute":
        bracket = skip_space(view, end)
        return (view.startswith("[", bracket) and closing_bracket(view, bracket)) or end
    if word in ("open", "set_option"):
        arguments = (OPEN_ARGUMENTS if word == "open" else OPTION_ARGUMENTS).match(view, end)
        after = arguments.end() if arguments else end
        ending = IN.match(view, after)
        return ending.end() if ending else after
    return end


def _is_command(view: str, beginning: Beginning, *, margin: bool) -> bool:
    if (_at_margin(view, beginning.start) if beginning.start else margin) and (
        beginning.keyword or not view.startswith("|", beginning.keyword_end)
    ):
        return True
    if not beginning.keyword:
        return beginning.unbalanced or any(BLUEPRINT_WORD.search(view, *span) for span in beginning.attributes)
    if beginning.keyword not in ("open", "set_option") or not view.endswith("in", 0, beginning.scan_from):
        return True
    following = skip_space(view, beginning.scan_from)
    if following == len(view) or view[following] == MODULE_DOC_MARK:
        return True
    if STARTS.match(view, following) is None:
        return False
    return _is_command(view, _beginning(view, following), margin=margin)


def _at_margin(view: str, at: int) -> bool:
    return at == 0 or view[at - 1] == "\n"
