"""From an export and the kernel's report on it to facts: who uses whom, hashes, axioms.

The terms are those that the kernel was given. Pieces that Lean makes of a declaration (matchers, nested proofs,
equation lemmas, recursors, projections, local functions) are part of it; to use one is to use it, or what that piece is
made of.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ekiden_lean.export import ExportError
from ekiden_lean.facts import DeclarationFacts, DeclarationKind
from ekiden_lean.kernel import AXIOMS_OF_LEAN
from ekiden_lean.names import is_internal, is_reserved, is_shared, prefixes, shown, told_by_driver, visible
from ekiden_lean.terms import SORRY, TermHashes, constants, digest
from ekiden_lean.worker import unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_lean.export import Export, Exported, ExportedKind, Name

_KINDS: dict[ExportedKind, DeclarationKind] = {
    "axiom": "axiom",
    "def": "def",
    "thm": "theorem",
    "opaque": "opaque",
    "induct": "inductive",
}
_UNSAFE = "It is unsafe, and the kernel has nothing to say of that."


class Report(NamedTuple):
    """What the kernel's process said of an export.

    Attributes:
        masks: For each declaration that it took, by number, the leaves that it rests on, as bits.
        refusals: For each that it refused, the reason.
        leaves: Axioms: whether the library has it, and its name.
    """

    masks: dict[int, int]
    refusals: dict[int, str]
    leaves: list[tuple[bool, str]]


def read_report(lines: Sequence[str]) -> Report:
    """Read the report on an export.

    Raises:
        ExportError: The export could not be read, or the report is not whole.
    """
    report = Report({}, {}, [])
    for line in lines:
        word, _, rest = line.partition(" ")
        number, _, more = rest.partition(" ")
        match word:
            case "accepted":
                report.masks[int(number)] = int(more, 10) if len(more) < 4000 else _long_number(more)
            case "refused":
                report.refusals[int(number)] = unescaped(more)
            case "leaf":
                report.leaves.append((number == "library", unescaped(more)))
            case "complete":
                return report
            case _:
                raise ExportError(f"The kernel's process cannot read the export: {unescaped(rest)}.")
    raise ExportError("The kernel's process did not say all.")


def _long_number(text: str) -> int:
    head, tail = text[:-4000], text[-4000:]
    return (_long_number(head) if len(head) > 4000 else int(head)) * 10**4000 + int(tail)


class _Constant(NamedTuple):
    """A constant of the text, by the number of its declaration, with all terms that belong to it."""

    number: int
    type: int
    values: tuple[int, ...]


class Account:
    """All that an export and the report on it say, asked for once."""

    def __init__(self, export: Export, report: Report, *, has_proofs: bool) -> None:
        self._export = export
        self._report = report
        self._has_proofs = has_proofs
        self._constants: dict[Name, _Constant] = {}
        self._known_bases: dict[Name, tuple[frozenset[str], frozenset[str]]] = {}
        self._inside: dict[Name, Name] = {}
        """Constructors and recursors, and the type that they belong to."""
        for number in [*report.masks, *report.refusals]:  # what is refused is never taken for what is not
            self._enter(number, export.declarations[number])
        self._parents: dict[Name, Name | None] = {}
        """Pieces, and the declaration that each is part of, if any."""
        self._find_pieces()
        self._hashes = TermHashes(export, self._identity)
        self._pieces: dict[Name, bytes] = {}
        self._meanings = Meanings(export, [export.declarations[number] for number in report.masks], self._parents)
        self._hash_pieces()

    def facts(self) -> tuple[DeclarationFacts, ...]:
        """Give the facts of all declarations, in the order of the text."""
        for name in self._constants:  # each after what it needs, so that no recursion goes deep
            self._bases(name)
        names = [name for name in self._constants if name not in self._parents]
        lost = [
            name
            for name, remark in self._export.remarks.items()
            if remark.kind == "unsafe" and name not in self._constants and not is_internal(visible(name))
        ]
        order = sorted([*names, *lost], key=self._place)
        return tuple(self._facts_of(name) if name in self._constants else self._unsafe(name) for name in order)

    def _enter(self, number: int, declaration: Exported) -> None:
        if declaration.kind != "induct":
            values = () if declaration.value is None else (declaration.value,)
            self._constants.setdefault(declaration.name, _Constant(number, declaration.type, values))
            return
        for one in declaration.types:
            values = tuple(made.type for made in one.constructors)
            self._constants.setdefault(one.name, _Constant(number, one.type, values))
            self._inside.update(dict.fromkeys((made.name for made in one.constructors), one.name))

    def _find_pieces(self) -> None:
        whole: dict[Name, Name] = {}
        """Declarations so far, by visible name."""
        for name in sorted(self._constants, key=lambda name: len(visible(name))):
            parent = next((whole[start] for start in prefixes(visible(name)) if start in whole), None)
            if self._kind(name) == "axiom":
                is_piece = False
            elif parent is None:
                is_piece = is_internal(visible(name))
            else:
                is_piece = self._belongs(name, parent)
            if is_piece:
                self._parents[name] = parent
            else:
                whole.setdefault(visible(name), name)

    def _belongs(self, name: Name, parent: Name) -> bool:
        suffix = visible(name)[len(visible(parent)) :]
        mine, other = self._export.remarks.get(name), self._export.remarks.get(parent)
        same_command = mine is not None and other is not None and mine.command == other.command
        return same_command or is_shared(suffix) or (self._kind(parent) != "inductive" and is_reserved(suffix))

    def _kind(self, name: Name) -> DeclarationKind:
        return _KINDS[self._export.declarations[self._constants[name].number].kind]

    def _identity(self, name: Name) -> bytes:
        return self._pieces.get(name) or named(name)

    def _hash_pieces(self) -> None:
        for name, constant in self._constants.items():  # in the order of the export: each after what it needs
            if name in self._parents and constant.number in self._report.masks:
                self._pieces[name] = digest("piece", self._type_hash(name), self._value_hash(name))

    def _type_hash(self, name: Name) -> bytes:
        constant = self._constants[name]
        parameters = self._export.declarations[constant.number].parameters
        return digest("type", b"%d" % len(parameters), self._hashes.of(constant.type, parameters))

    def _value_hash(self, name: Name) -> bytes:
        constant = self._constants[name]
        declaration = self._export.declarations[constant.number]
        parts = [self._hashes.of(value, declaration.parameters) for value in constant.values]
        for one in declaration.types:
            if one.name == name:
                parts += [named(made.name) for made in one.constructors]
        return digest("value", b"%d" % declaration.fixed, *parts) if declaration.kind != "axiom" else b""

    @cached_property
    def _children(self) -> dict[Name, list[Name]]:
        found: dict[Name, list[Name]] = {}
        for name, parent in self._parents.items():
            if parent is not None:
                found.setdefault(parent, []).append(name)
        return found

    def _named_by(self, terms: Iterable[int], *, of: Name) -> tuple[set[Name], bool]:
        """Give the declarations that terms name, and whether one of them or of the pieces behind them is a `sorry`."""
        found: set[Name] = set()
        seen: set[Name] = set()
        waiting = [name for term in terms for name in constants(self._export, term)]
        while waiting:
            name = self._home(waiting.pop())
            if name in seen or name == of:
                continue
            seen.add(name)
            if name not in self._parents:
                if name in self._constants:
                    found.add(name)
                continue
            parent = self._parents[name]
            suffix = visible(name)[len(visible(parent)) if parent else 0 :]
            if parent is not None and parent != of and not is_shared(suffix):
                found.add(parent)
            else:
                constant = self._constants[name]
                for term in (constant.type, *constant.values):
                    waiting += constants(self._export, term)
        return found - {of}, SORRY in seen

    def _home(self, name: Name) -> Name:
        """Give the inductive type for its constructors and recursors, else the name itself."""
        if name in self._inside:
            return self._inside[name]
        last = name[-1] if name else ""
        if name not in self._constants and isinstance(last, str) and (last == "rec" or last.startswith("rec_")):
            return name[:-1]
        return name

    def _facts_of(self, name: Name) -> DeclarationFacts:
        constant = self._constants[name]
        pieces = [self._constants[child] for child in self._children.get(name, ())]
        terms = [*constant.values, *(term for piece in pieces for term in (piece.type, *piece.values))]
        uses_type, type_sorry = self._named_by([constant.type], of=name)
        uses_value, value_sorry = self._named_by(terms, of=name)
        axioms, unproved = self._bases(name)
        remark = self._export.remarks.get(name)
        kind = self._kind(name)
        return DeclarationFacts(
            name=self._shown(name),
            kind="instance" if kind == "def" and remark is not None and remark.kind == "instance" else kind,
            private=visible(name) != name,
            type_hash=self._type_hash(name).hex(),
            value_hash=self._value_hash(name).hex(),
            meaning_hash=(self._meanings.of(name) or b"").hex(),
            axioms=tuple(sorted(axioms)),
            unproved=tuple(sorted(unproved)),
            sorry="sorryAx" in axioms,
            own_sorry=type_sorry or value_sorry,
            uses_type=self._all_shown(uses_type),
            uses_value=self._all_shown(uses_value),
            refusal=self._refusal(name),
            line=remark.line or None if remark else None,
        )

    def _refusal(self, name: Name) -> str:
        """Give the first reason why the kernel refuses a declaration or a piece that it needs."""
        refusals = self._report.refusals
        if (number := self._constants[name].number) not in refusals:
            return ""
        pieces = (self._constants[child].number for child in self._children.get(name, ()))
        return refusals[min([number, *(piece for piece in pieces if piece in refusals)])]

    def _unsafe(self, name: Name) -> DeclarationFacts:
        line = self._export.remarks[name].line or None
        private = visible(name) != name
        nothing: tuple[str, ...] = ()
        return DeclarationFacts(
            self._shown(name),
            "unsafe",
            private,
            "",
            "",
            "",
            nothing,
            nothing,
            False,
            False,
            nothing,
            nothing,
            _UNSAFE,
            line,
        )

    def _bases(self, name: Name) -> tuple[frozenset[str], frozenset[str]]:
        """Give the axioms and the unproved theorems behind a declaration; of a refused one those that show."""
        if (found := self._known_bases.get(name)) is None:
            self._known_bases[name] = (frozenset(), frozenset())  # a refused declaration may name itself
            mask = self._report.masks.get(self._constants[name].number)
            found = self._known_bases[name] = self._bases_that_show(name) if mask is None else self._bases_in(mask)
        return found

    def _bases_in(self, mask: int) -> tuple[frozenset[str], frozenset[str]]:
        axioms: set[str] = set()
        unproved: set[str] = set()
        for place, (library, leaf) in enumerate(self._report.leaves):
            if mask >> place & 1:
                known = not library or leaf in AXIOMS_OF_LEAN or self._has_proofs
                (axioms if known else unproved).add(leaf if library else self._own_axioms.get(leaf, leaf))
        return frozenset(axioms), frozenset(unproved)

    def _bases_that_show(self, name: Name) -> tuple[frozenset[str], frozenset[str]]:
        constant = self._constants[name]
        axioms: set[str] = set()
        unproved: set[str] = set()
        for used in {used for term in (constant.type, *constant.values) for used in constants(self._export, term)}:
            home = self._home(used)
            if (told := told_by_driver(used)) in AXIOMS_OF_LEAN:
                axioms.add(told)
            elif home in self._constants:
                more = self._bases(home)
                axioms |= more[0]
                unproved |= more[1]
        return frozenset(axioms), frozenset(unproved)

    @cached_property
    def _own_axioms(self) -> dict[str, str]:
        return {told_by_driver(name): self._shown(name) for name in self._constants if self._kind(name) == "axiom"}

    @cached_property
    def _bearers(self) -> Counter[Name]:
        """How many constants the source would call by each name."""
        return Counter(visible(name) for name in self._constants)

    @cached_property
    def _of_others(self) -> frozenset[str]:
        """Names that are somebody else's, as the driver tells them: those of the library's axioms."""
        return AXIOMS_OF_LEAN | {leaf for library, leaf in self._report.leaves if library}

    def _shown(self, name: Name) -> str:
        # no source can declare privately what is another's name or the library's, but code that runs could
        seen = visible(name)
        is_borrowed = seen != name and (self._bearers[seen] > 1 or told_by_driver(seen) in self._of_others)
        return shown(name if is_borrowed else seen)

    def _all_shown(self, names: Iterable[Name]) -> tuple[str, ...]:
        return tuple(self._shown(name) for name in sorted(names, key=self._place))

    def _place(self, name: Name) -> tuple[int, int, str]:
        remark = self._export.remarks.get(name)
        number = self._constants[name].number if name in self._constants else 0
        return (remark.command if remark else 0, number, shown(name))


class Meanings:
    """Hashes in which the definitions of a text count by what they mean."""

    def __init__(self, export: Export, declarations: Sequence[Exported], pieces: Iterable[Name]) -> None:
        self._export = export
        self._known: dict[Name, bytes] = {}
        self._pieces = frozenset(pieces)
        self._hashes = TermHashes(export, self._identity)
        for declaration in declarations:  # each after what it needs
            if declaration.kind == "induct":
                self._add_inductive(declaration)
            else:
                self._known[declaration.name] = self._meaning(declaration)

    def of(self, name: Name) -> bytes | None:
        """Give the meaning of a declaration; None for one that the kernel refuses."""
        return self._known.get(name)

    def _identity(self, name: Name) -> bytes:
        if (found := self._known.get(name)) is not None:
            return found
        type_name = name[:-1]
        if type_name in self._known and isinstance(name[-1], str) and name[-1].startswith("rec"):
            return digest("recursor", self._known[type_name], name[-1].encode())
        return named(name)

    def _meaning(self, declaration: Exported) -> bytes:
        parts = [b"%d" % len(declaration.parameters), self._hashes.of(declaration.type, declaration.parameters)]
        if declaration.kind == "axiom":
            parts.append(named(declaration.name))
        elif declaration.value is not None and (declaration.kind != "thm" or declaration.name in self._pieces):
            parts.append(self._hashes.of(declaration.value, declaration.parameters))
        return digest(declaration.kind, *parts)

    def _add_inductive(self, declaration: Exported) -> None:
        stand_ins = {one.name: digest("type itself", b"%d" % place) for place, one in enumerate(declaration.types)}
        hashes = TermHashes(self._export, lambda name: stand_ins.get(name) or self._identity(name))
        parts = [b"%d" % declaration.fixed, b"%d" % len(declaration.parameters)]
        for one in declaration.types:
            parts.append(hashes.of(one.type, declaration.parameters))
            parts += [hashes.of(made.type, declaration.parameters) for made in one.constructors]
        group = digest("inductive", *parts)
        for place, one in enumerate(declaration.types):
            self._known[one.name] = digest("type", group, b"%d" % place)
            for number, made in enumerate(one.constructors):
                self._known[made.name] = digest("constructor", group, b"%d" % place, b"%d" % number)


def named(name: Name) -> bytes:
    """Hash a name as such: that of a private declaration without what Lean puts before it."""
    kind = "name" if visible(name) == name else "private name"
    return digest(kind, *(repr(part).encode("utf-8", "replace") for part in visible(name)))
