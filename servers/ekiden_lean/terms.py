"""What exported terms are: a hash of their structure, and the constants that they name."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ekiden_lean.export import Entry, Export, Name

SORRY: Name = ("sorryAx",)
_PLACE_OF_SORRY: Name = ("Lean", "Name")
_CHILDREN = {"a": (1, 2), "l": (1, 2), "p": (1, 2), "z": (1, 2, 3), "j": (3,)}


def children(entry: Entry) -> Iterator[int]:
    """Give the numbers of the expressions that an expression is made of."""
    for place in _CHILDREN.get(str(entry[0]), ()):
        yield cast("int", entry[place])


class TermHashes:
    """Hashes of an export's terms.

    Left out are names of bound variables, how binders are written, and where a `sorry` stands; universe parameters
    count by their place. What stands for a constant is the caller's to say, always the same once it has been asked for.
    """

    def __init__(self, export: Export, identity: Callable[[Name], bytes]) -> None:
        self._export = export
        self._identity = identity
        self._parameters: tuple[Name, ...] = ()
        self._by_parameters: dict[tuple[Name, ...], dict[int, bytes]] = {}
        self._levels: dict[tuple[Name, ...], list[bytes]] = {}
        self._labelled: dict[int, bool] = {}

    def of(self, root: int, parameters: tuple[Name, ...]) -> bytes:
        """Hash the term of this number in a declaration with these universe parameters."""
        self._parameters = parameters
        known = self._by_parameters.setdefault(parameters, {})
        wanted = reached(self._export, root, known)
        for place in sorted(wanted):  # each after those it is made of
            known[place] = self._hash(self._export.expressions[place], known)
        return known[root]

    def _hash(self, entry: Entry, known: dict[int, bytes]) -> bytes:
        match entry:
            case ("c", int(name), *levels):
                parts = [self._identity(self._export.names[name])]
                parts += [self._level(cast("int", level)) for level in levels]
            case ("s", int(level)):
                parts = [self._level(level)]
            case ("a", int(function), int()) if self._is_sorry_with_place(function):
                return known[function]
            case ("j", int(name), number, int(value)):
                parts = [self._identity(self._export.names[name]), str(number).encode(), known[value]]
            case ("b" | "n" | "t", value):
                parts = [str(value).encode()]
            case _:
                parts = [known[child] for child in children(entry)]
        return digest(str(entry[0]), *parts)

    def _level(self, place: int) -> bytes:
        known = self._levels.setdefault(self._parameters, [])
        while len(known) <= place:  # each after those it is made of
            kind, *parts = self._export.levels[len(known)]
            if kind == "p":
                known.append(self._parameter(self._export.names[cast("int", parts[0])]))
            else:
                known.append(digest(f"level {kind}", *(known[cast("int", part)] for part in parts)))
        return known[place]

    def _parameter(self, name: Name) -> bytes:
        if name in self._parameters:
            return digest("parameter", str(self._parameters.index(name)).encode())
        return digest("stray parameter", repr(name).encode())

    def _is_sorry_with_place(self, place: int) -> bool:
        """Tell `sorryAx (Name → α) b`, which Lean applies to the place in the file at which the `sorry` stands."""
        if (found := self._labelled.get(place)) is None:
            found = self._labelled[place] = self._is_labelled(place)
        return found

    def _is_labelled(self, place: int) -> bool:
        expressions, names = self._export.expressions, self._export.names
        match expressions[place]:
            case ("a", int(inner), int()):
                pass
            case _:
                return False
        match expressions[inner]:
            case ("a", int(head), int(kind)):
                pass
            case _:
                return False
        match expressions[head], expressions[kind]:
            case ("c", int(name), *_), ("p", int(domain), int(), int()) if names[name] == SORRY:
                return expressions[domain][0] == "c" and names[cast("int", expressions[domain][1])] == _PLACE_OF_SORRY
            case _:
                return False


def digest(kind: str, *parts: bytes) -> bytes:
    """Hash a kind with parts, each of a length that is told."""
    hasher = sha256(kind.encode())
    for part in parts:
        hasher.update(b"\0%d\0" % len(part))
        hasher.update(part)
    return hasher.digest()


def reached(export: Export, root: int, known: dict[int, bytes] | None = None) -> set[int]:
    """Give the numbers of all expressions in a term, those that are known and what only they lead to left out."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        place = waiting.pop()
        if place in found or (known is not None and place in known):
            continue
        found.add(place)
        waiting.extend(children(export.expressions[place]))
    return found


def constants(export: Export, root: int) -> set[Name]:
    """Give the constants that a term names."""
    found: set[Name] = set()
    for place in reached(export, root):
        entry = export.expressions[place]
        if entry[0] in ("c", "j"):
            found.add(export.names[cast("int", entry[1])])
    return found
