"""Where a declaration runs code while Lean reads it: a program can read files, print, and change what text means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_blueprint.attributes import cut_entries
from ekiden_blueprint.declarations import begins_word
from ekiden_blueprint.lexer import ID_REST
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS = (
    "unsafe",
    "by_elab",
    "eval%",
    "run_tac",
    "run_conv",
    "run_cmd",
    "run_elab",
    "run_meta",
    "include_str",
    "dbg_trace",
)
_FIELDS = ("preprocessors", "oracle", "discharger", "discharge", "preprocess", "proc", "suspend")
_CONFIGURED = frozenset({"linarith", "nlinarith", "polyrith", "solve_by_elim", "apply_rules", "apply_assumption"})
"""Tactics whose configuration holds programs, in `_FIELDS`."""
_CONFIGURATIONS = r"(?:Linarith|SolveByElim|ApplyRules|Backtrack)Config"
_TAKES_RULES = frozenset({"aesop", "continuity", "finiteness", "measurability"})
_RUNS = re.compile(
    r"(?=[«a-zLSAB])"
    rf"(?:(?<!«)(?:(?:{'|'.join(_WORDS)}|tactic(?!\s*\|))(?![{ID_REST}])|config(?=\s*:=\s*[^\s{{]))"
    rf"|«?(?:{'|'.join(_FIELDS)})»?(?=\s*:=)|{_CONFIGURATIONS}(?![{ID_REST}]))"
)
_OPENING = {")": "(", "]": "[", "}": "{", "⟩": "⟨"}
_CLAUSE = re.compile(r"\(\s*(?:add|erase)\s")
_RULE_ATTRIBUTE = re.compile(r"(?:(?:local|scoped)\s+)?aesop\s")
_FLAG = re.compile(rf"[-+][{ID_REST}]+\s*\Z")
_LAST_WORD = re.compile(rf"([{ID_REST}]+)\*?\s*\Z")
_LONGEST_WORD = 60
_FARTHEST = 4000


def programs(code: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """Give the words that run code, in a stretch of a text without comments and strings.

    `unsafe` is a phase in the rules of `aesop`, and `tactic` a word that runs code there alone.
    """
    for found in _RUNS.finditer(code, start, len(code) if end is None else end):
        word, at = found.group(), found.start()
        if not word.strip("«»").endswith("Config") and not begins_word(code, at):
            continue  # a field
        if word == "unsafe":
            runs = not _is_rule(code, at)
        elif word == "tactic":
            runs = _is_rule(code, at)
        elif word.strip("«»") in (*_FIELDS, "config"):
            runs = any(name in _CONFIGURED for _, name in _around(code, at))
        else:
            runs = True
        if runs:
            yield Span(*found.span())


def _is_rule(code: str, at: int) -> bool:
    """Tell whether a word is one of the rules of `aesop`, in its `add` clause or in an attribute, and in no term."""
    for opening, name in _around(code, at):
        if code.startswith("@", opening - 1):
            entry = code[slice(*cut_entries(code, opening + 1, at)[-1])]
            return _RULE_ATTRIBUTE.match(entry.lstrip()) is not None
        if _CLAUSE.match(code, opening):
            return name in _TAKES_RULES or name.startswith("aesop_")
        if code[opening] != "[":
            return False
    return False


def _around(code: str, at: int) -> Iterator[tuple[int, str]]:
    """Give the brackets that are open at a place, innermost first, each with the word that its argument belongs to."""
    opening = _open_before(code, at)
    while opening is not None:
        yield opening, _applied_to(code, opening)
        opening = _open_before(code, opening)


def _open_before(code: str, at: int) -> int | None:
    closed: list[str] = []
    for place in range(at - 1, max(-1, at - _FARTHEST), -1):
        sign = code[place]
        if sign in _OPENING:
            closed.append(_OPENING[sign])
        elif sign in "([{⟨":
            if not closed:
                return place
            if closed.pop() != sign:
                return None
    return None


def _applied_to(code: str, opening: int) -> str:
    """Give the word before a bracket, or before the arguments in brackets that stand before it."""
    at = opening
    while at > max(0, opening - _FARTHEST):
        if code[at - 1].isspace():
            at -= 1
        elif code[at - 1] in ")]" and (before := _open_before(code, at - 1)) is not None:
            at = before
        elif (flag := _FLAG.search(code, max(0, at - _LONGEST_WORD), at)) is not None:
            at = flag.start()
        else:
            break
    found = _LAST_WORD.search(code, max(0, at - _LONGEST_WORD), at)
    return found[1].rstrip("!?") if found else ""
