"""Reading an export: the declarations of a text as numbered lines, which may come from a process that lies.

The same lines go to the kernel. So that both readers see the same, only what has one reading is let through: plain
numbers, entries that name earlier ones, whole escapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ekiden_lean.errors import LeanError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Name = tuple[str | int, ...]
"""A name by its parts, as Lean has it: neither dots nor guillemets."""

Entry = tuple[str | int, ...]
"""A level or an expression: its letter, then what it is made of."""

ExportedKind = Literal["axiom", "def", "thm", "opaque", "induct"]

_NUMBER = re.compile(r"[0-9]+")
_ESCAPED = re.compile(r"(?:[^\\\r\n\0]|\\[\\nr])*")
_ESCAPE = re.compile(r"\\(.)")
_BINDERS = frozenset("disc")
_LONGEST_INDEX = 12


class ExportError(LeanError):
    """An export cannot be read in one way only."""


class Typed(NamedTuple):
    """A constant's name and the number of its type."""

    name: Name
    type: int


class ExportedType(NamedTuple):
    """A type of an inductive declaration, and its constructors."""

    name: Name
    type: int
    constructors: tuple[Typed, ...]


class Exported(NamedTuple):
    """A declaration.

    Attributes:
        kind: Which of Lean's kinds.
        parameters: Names of its universe levels.
        name: Its name; the first type's for an inductive declaration.
        type: The number of its type.
        value: The number of its value; None for axioms and inductive types.
        types: The types that an inductive declaration makes.
        fixed: How many parameters the types have.
    """

    kind: ExportedKind
    parameters: tuple[Name, ...]
    name: Name
    type: int
    value: int | None = None
    types: tuple[ExportedType, ...] = ()
    fixed: int = 0


class Remark(NamedTuple):
    """What the process that read the text says of a constant; nothing vouches for it.

    Attributes:
        kind: `unsafe` when the kernel has nothing to say of it; `instance` when type class search finds it.
        line: The line at which its command begins; 0 when there is none.
        command: The number of its command.
    """

    kind: str
    line: int
    command: int


@dataclass(slots=True)
class Export:
    """An export that has been read."""

    names: list[Name] = field(default_factory=list[Name])
    levels: list[Entry] = field(default_factory=list[Entry])
    expressions: list[Entry] = field(default_factory=list[Entry])
    declarations: list[Exported] = field(default_factory=list[Exported])
    remarks: dict[Name, Remark] = field(default_factory=dict[Name, Remark])
    kernel_text: str = ""


def read_export(text: str) -> Export:
    """Read an export.

    Raises:
        ExportError: It holds a line that has no reading, or more than one.
    """
    return _Reader().read(text)


class _Reader:
    def __init__(self) -> None:
        self._export = Export()
        self._types: list[tuple[Name, int, list[Typed]]] = []
        self._readers: dict[str, Callable[[list[str]], None]] = {
            "n": self._name,
            "u": self._level,
            "e": self._expression,
            "t": self._type,
            "c": self._constructor,
            "d": self._declaration,
            "h": self._remark,
        }

    def read(self, text: str) -> Export:
        for_kernel: list[str] = []
        lines = text.split("\n")
        try:
            end = lines.index("end")
        except ValueError:
            raise ExportError("The export has no end.") from None
        for number, line in enumerate(lines[:end]):
            parts = line.split(" ")
            try:
                self._readers[parts[0]](parts[1:])
            except (KeyError, IndexError, ValueError):
                raise ExportError(f"Line {number + 1} of the export cannot be read: {line[:80]!r}.") from None
            if parts[0] != "h":
                for_kernel.append(line)
        self._export.kernel_text = "\n".join([*for_kernel, "end", ""])
        return self._export

    def _name(self, parts: list[str]) -> None:
        match parts:
            case ["a"]:
                name: Name = ()
            case ["s", prefix, first, *rest]:
                name = (*self._named(prefix), _unescaped(" ".join([first, *rest])))
            case ["i", prefix, number]:
                name = (*self._named(prefix), _number(number))
            case _:
                raise ValueError
        self._export.names.append(name)

    def _level(self, parts: list[str]) -> None:
        match parts:
            case ["z"]:
                entry: Entry = ("z",)
            case ["s", one]:
                entry = ("s", self._index(one, self._export.levels))
            case ["m" | "i" as kind, one, other]:
                entry = (kind, self._index(one, self._export.levels), self._index(other, self._export.levels))
            case ["p", name]:
                entry = ("p", self._index(name, self._export.names))
            case _:
                raise ValueError
        self._export.levels.append(entry)

    def _expression(self, parts: list[str]) -> None:
        export = self._export
        one = export.expressions
        match parts:
            case ["b", number]:
                entry: Entry = ("b", _number(number))
            case ["s", level]:
                entry = ("s", self._index(level, export.levels))
            case ["c", name, *levels]:
                entry = ("c", self._index(name, export.names), *(self._index(level, export.levels) for level in levels))
            case ["a", function, argument]:
                entry = ("a", self._index(function, one), self._index(argument, one))
            case ["l" | "p" as kind, binder, name, domain, body] if binder in _BINDERS:
                entry = (kind, self._index(domain, one), self._index(body, one), self._index(name, export.names))
            case ["z", name, domain, value, body]:
                self._index(name, export.names)
                entry = ("z", self._index(domain, one), self._index(value, one), self._index(body, one))
            case ["j", name, number, value]:
                entry = ("j", self._index(name, export.names), _number(number), self._index(value, one))
            case ["n", number] if _NUMBER.fullmatch(number):
                entry = ("n", number.lstrip("0"))
            case ["t", first, *rest]:
                entry = ("t", _unescaped(" ".join([first, *rest])))
            case _:
                raise ValueError
        one.append(entry)

    def _type(self, parts: list[str]) -> None:
        name, kind = parts
        self._types.append((self._named(name), self._index(kind, self._export.expressions), []))

    def _constructor(self, parts: list[str]) -> None:
        name, kind = parts
        self._types[-1][2].append(Typed(self._named(name), self._index(kind, self._export.expressions)))

    def _declaration(self, parts: list[str]) -> None:
        export = self._export
        match parts:
            case ["axiom", name, kind, *levels]:
                value = None
            case ["def", hint, name, kind, value, *levels] if hint in ("o", "a") or _number(hint) >= 0:
                pass
            case ["thm" | "opaque", name, kind, value, *levels]:
                pass
            case ["induct", fixed, *levels]:
                self._inductive(_number(fixed), tuple(self._named(level) for level in levels))
                return
            case _:
                raise ValueError
        known: ExportedKind = next(one for one in ("axiom", "def", "thm", "opaque") if one == parts[0])
        self._types = []
        export.declarations.append(
            Exported(
                known,
                tuple(self._named(level) for level in levels),
                self._named(name),
                self._index(kind, export.expressions),
                None if value is None else self._index(value, export.expressions),
            )
        )

    def _inductive(self, fixed: int, parameters: tuple[Name, ...]) -> None:
        types = tuple(ExportedType(name, kind, tuple(made)) for name, kind, made in self._types)
        self._types = []
        self._export.declarations.append(
            Exported("induct", parameters, types[0].name, types[0].type, types=types, fixed=fixed)
        )

    def _remark(self, parts: list[str]) -> None:
        name, kind, line, command = parts
        self._export.remarks[self._named(name)] = Remark(kind, _number(line), _number(command))

    def _named(self, text: str) -> Name:
        return self._export.names[self._index(text, self._export.names)]

    def _index(self, text: str, entries: Sequence[object]) -> int:
        place = _number(text)
        if place >= len(entries):
            raise IndexError
        return place


def _number(text: str) -> int:
    if len(text) > _LONGEST_INDEX or not _NUMBER.fullmatch(text):
        raise ValueError
    return int(text)


def _unescaped(text: str) -> str:
    if not _ESCAPED.fullmatch(text):
        raise ValueError
    return _ESCAPE.sub(lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), text)
