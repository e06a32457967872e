"""The header of a Lean file: which modules it imports, and the text without it."""

import re
from dataclasses import dataclass

from ekiden_lean.errors import HeaderError

_WORD = re.compile(r"«[^«»\n]*»|[^\W\d][\w'!?]*")
_IMPORT_MODIFIERS = ("all", "runtime")


@dataclass(frozen=True, slots=True)
class Header:
    """What stands before the first command.

    Attributes:
        imports: Names of the imported modules, in order.
        body: The whole text with the header's words blanked, so that every position stays what it was.
    """

    imports: tuple[str, ...]
    body: str


def read_header(text: str) -> Header:
    """Read the header of a file that is no module of Lean's module system.

    `prelude` is passed over: what a trusted module needs is imported anyway.

    Raises:
        HeaderError: The header cannot be read, or it makes the file a module.
    """
    spans: list[tuple[int, int]] = []
    imports: list[str] = []
    place = _skip_blanks(text, 0)
    while found := _WORD.match(text, place):
        word = found.group()
        if word in ("module", "public", "meta") and _is_module_header(text, found.end(), word):
            raise HeaderError("A submission cannot be a module: leave `module`, `public` and `meta` out of its header.")
        if word == "prelude" and not imports:
            spans.append(found.span())
            place = _skip_blanks(text, found.end())
        elif word == "import":
            name, end = _module_name(text, found.end())
            spans.append((found.start(), end))
            imports.append(name)
            place = _skip_blanks(text, end)
        else:
            break
    return Header(tuple(imports), _blanked(text, spans))


def _is_module_header(text: str, end: int, word: str) -> bool:
    """Tell the header's keyword from the first command: `module` stands alone, the others before an import."""
    if word == "module":
        return True
    following = _WORD.match(text, _skip_blanks(text, end))
    return following is not None and following.group() in ("import", "meta")


def _module_name(text: str, place: int) -> tuple[str, int]:
    parts: list[str] = []
    place = _skip_blanks(text, place)
    while found := _WORD.match(text, place):
        if not parts and found.group() in _IMPORT_MODIFIERS and text[found.end() : found.end() + 1].isspace():
            raise HeaderError(f"A submission cannot `import {found.group()}`: import the module plainly.")
        parts.append(found.group().strip("«»"))
        place = found.end()
        if text[place : place + 1] != ".":
            break
        place += 1
    if not parts or text[place - 1 : place] == ".":
        raise HeaderError("An `import` in the header names no module.")
    if any("." in part or not part for part in parts):
        raise HeaderError(f"The import {'.'.join(parts)!r} is no name of a module.")
    return ".".join(parts), place


def _skip_blanks(text: str, place: int) -> int:
    """Skip white space and comments; a documentation comment belongs to a command."""
    while place < len(text):
        if text[place] in " \t\r\n":
            place += 1
        elif text.startswith("--", place):
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        elif text.startswith("/-", place) and text[place + 2 : place + 3] not in ("-", "!"):
            place = _comment_end(text, place)
        else:
            break
    return place


def _comment_end(text: str, place: int) -> int:
    depth = 0
    for found in re.compile(r"/-|-/").finditer(text, place):
        depth += 1 if found.group() == "/-" else -1
        if depth == 0:
            return found.end()
    raise HeaderError("A comment in the header has no end.")


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])
