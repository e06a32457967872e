"""Cutting Lean source text into tokens, for a fragment that is small on purpose.

A text is only cut if Lean cuts it in the same way. Whatever could be read differently (tabs, carriage returns,
documentation comments, letters that look like others, signs that run together) is `Undecided`.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["name", "number", "string", "sign", "end"]

_SPACE = " \n"
_SIGNS = ("(", ")", "⟨", "⟩", "{", "}", ",", ";", "◇", "∀", "·", "→", "↦")
_RUNS = (":", ":=", "=", "=>", ".")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_'!₀-₉]*(?:\.[A-Za-z][A-Za-z0-9_'!₀-₉]*)*|_(?![\w'!?.])", re.ASCII)
_NUMBER = re.compile(r"(?:0|[1-9][0-9]*)(?![\w.'!?])")
_STRING = re.compile(r'"[0-9\[\], ]*"')
_HOLE = re.compile(r"\?_(?![\w'!?.])")
_RUN = re.compile(r"[:=><|.+*/&!?@#$%^~-]+")


class Undecided(Exception):  # noqa: N818  # no error of anyone's: a text outside the fragment
    """The text is outside the fragment that can be read without Lean."""


class Token(NamedTuple):
    """A token and where it stands.

    Attributes:
        kind: What it is.
        text: Its characters.
        line: The line, from 0.
        column: The character in the line, from 0.
        spaced: White space or a comment stands before it, or it is the first.
    """

    kind: Kind
    text: str
    line: int
    column: int
    spaced: bool


def tokens(text: str) -> list[Token]:
    """Cut a whole text; the last token is of kind "end".

    Raises:
        Undecided: The text is outside the fragment.
    """
    if any(sign != "\n" and not sign.isprintable() for sign in text):
        raise Undecided
    found: list[Token] = []
    position = line = line_start = 0
    while True:
        start = position
        position = _after_blanks(text, position)
        spaced = position > start or start == 0
        line += text.count("\n", start, position)
        line_start = text.rfind("\n", 0, position) + 1
        if position == len(text):
            found.append(Token("end", "", line, position - line_start, spaced))
            return found
        kind, end = _token_at(text, position)
        found.append(Token(kind, text[position:end], line, position - line_start, spaced))
        position = end


def _token_at(text: str, position: int) -> tuple[Kind, int]:
    sign = text[position]
    if sign in _SIGNS:
        return "sign", position + 1
    if match := _NAME.match(text, position):
        # A letter, digit or mark outside the fragment may belong to the name in Lean.
        following = text[match.end() : match.end() + 1]
        if following and (following in "._?" or (following.isalnum() and not following.isascii())):
            raise Undecided
        return "name", match.end()
    for kind, pattern in _KINDS:
        if match := pattern.match(text, position):
            return kind, match.end()
    match = _RUN.match(text, position)
    if match is None or match[0] not in _RUNS:
        raise Undecided
    return "sign", match.end()


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (("number", _NUMBER), ("string", _STRING), ("sign", _HOLE))


def _after_blanks(text: str, position: int) -> int:
    """Return the end of the white space and comments at a position."""
    while position < len(text):
        if text[position] in _SPACE:
            position += 1
        elif text.startswith("--", position):
            newline = text.find("\n", position)
            position = len(text) if newline < 0 else newline
        elif text.startswith("/-", position):
            position = _after_block_comment(text, position)
        else:
            break
    return position


def _after_block_comment(text: str, start: int) -> int:
    """Return the end of a block comment; they nest."""
    if text[start + 2 : start + 3] in ("-", "!"):
        raise Undecided  # documentation belongs to the command after it
    depth, position = 1, start + 2
    while position < len(text):
        pair = text[position : position + 2]
        if pair in ("-/", "/-"):
            depth += 1 if pair == "/-" else -1
            position += 2
            if depth == 0:
                return position
        else:
            position += 1
    raise Undecided
