"""Infinite magmas on the naturals, and the exact decision of laws in them.

A `ResidueModel` computes `x ◇ y = max(0, a*x + b*y + c)`; the residues of x and y choose the rule (a, b, c).
Whether such a magma satisfies a law is decided exactly, by splitting the infinitely many assignments into finitely
many *cells* on which every subterm is one affine form.

A cell gives each variable an arithmetic progression `low + step*k` with k = 0, 1, 2, ... (`step` 0: one value), and
the k of different variables are independent. On a cell a subterm is written `constant + sum of coefficients[i] * k_i`
with all coefficients >= 0: variables are, and a product is as soon as two questions have one answer on the whole cell:

- Which rule applies? It is fixed when each coefficient of both arguments is divisible by the modulus. Otherwise some
  variable with a coefficient is split into the residue classes `low + step*j + (step*modulus)*k`, 0 <= j < modulus.
- Does the maximum truncate? The form's least value is its constant (all k = 0). If that is >= 0, it never does. If
  no coefficient is left, the value is the number max(0, constant). Otherwise a variable with a coefficient is split
  into the single value `low` and the rest `low + step + step*k`, which raises the constant on the rest.

Every split replaces a cell by cells that partition it, so the cells without open questions partition all assignments.
Both sides of the law are affine on such a cell. If the two forms are equal, the law holds on the cell. If not, either
the constants differ, and the law fails at all k = 0, or the coefficients of some k_i differ, and it fails at k_i = 1
and all other k = 0. So the decision is sound and complete. It ends because residue splits happen at most once a
variable, and because the constant of a fixed product rises by at least one with each split for truncation while it
is negative. Large offsets and many variables make many cells, so their number is capped.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from ekiden_magma.errors import MagmaError, shown
from ekiden_magma.program import StraightLine, straight_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ekiden_magma.law import Law
    from ekiden_magma.table import Assignment

MAX_MODULUS = 64
MAX_PARAMETER = 1_000_000
MAX_CELLS = 100_000
QUICK_ASSIGNMENTS = 128


class AffineRule(NamedTuple):
    """The rule `max(0, a*x + b*y + c)`."""

    a: int
    b: int
    c: int


class Progression(NamedTuple):
    """The naturals `low + step*k` for k = 0, 1, 2, ...; a `step` of 0 is the single value `low`."""

    low: int
    step: int


Cell = tuple[Progression, ...]


class _Form(NamedTuple):
    """The affine form `constant + sum of coefficients[i] * k_i`."""

    constant: int
    coefficients: tuple[int, ...]


class _Split(NamedTuple):
    """An open question on a cell, and the variable whose split helps to answer it."""

    variable: int
    by_residue: bool


@dataclass(frozen=True, slots=True)
class ResidueModel:
    """An infinite magma on 0, 1, 2, ...: an affine rule, cut off at 0, for each pair of residues.

    Attributes:
        modulus: The number of residue classes.
        rules: `rules[(x % modulus) * modulus + (y % modulus)]` is the rule for `x ◇ y`.

    Raises:
        MagmaError: The number of rules is not `modulus` squared, a factor is negative, or a number is too large.
    """

    modulus: int
    rules: tuple[AffineRule, ...]

    def __post_init__(self) -> None:
        if type(self.modulus) is not int or not 1 <= self.modulus <= MAX_MODULUS:
            raise MagmaError(f"The modulus is {shown(self.modulus)}; it must be 1..{MAX_MODULUS}.")
        if len(self.rules) != self.modulus**2:
            raise MagmaError(
                f"A model of modulus {self.modulus} needs {self.modulus**2} rules, one for each pair of residues; "
                f"found {len(self.rules)}."
            )
        for place, rule in enumerate(self.rules):
            if any(type(number) is not int or abs(number) > MAX_PARAMETER for number in rule):
                raise MagmaError(f"Rule {place} of the model must hold whole numbers of at most {MAX_PARAMETER}.")
            if rule.a < 0 or rule.b < 0:
                raise MagmaError(f"Rule {place} is {tuple(rule)}; its factors a and b must not be negative.")

    @classmethod
    def uniform(cls, a: int, b: int, c: int) -> ResidueModel:
        """Build the model `max(0, a*x + b*y + c)` without residues."""
        return cls(1, (AffineRule(a, b, c),))

    @classmethod
    def from_value(cls, value: object) -> ResidueModel:
        """Build a model from parsed JSON: a name, or `{"modulus": 1, "rules": [[1, 0, 1]]}`.

        Raises:
            MagmaError: The value is neither, or no such model exists.
        """
        if isinstance(value, str):
            known = named_models()
            if value not in known:
                raise MagmaError(f"No model is named {shown(value)}; the names are {', '.join(known)}.")
            return known[value]
        if isinstance(value, dict):
            entries = cast("dict[object, object]", value)
            rules = entries.get("rules")
            if entries.keys() == {"modulus", "rules"} and isinstance(rules, list):
                return cls(
                    cast("int", entries["modulus"]),
                    tuple(_rule(place, r) for place, r in enumerate(cast("list[object]", rules))),
                )
        raise MagmaError(
            'A model is a name or an object {"modulus": 1, "rules": [[a, b, c]]} with modulus * modulus rules.'
        )

    def to_value(self) -> dict[str, object]:
        """Return the model as JSON data; `from_value` reads it back."""
        return {"modulus": self.modulus, "rules": [list(rule) for rule in self.rules]}

    def product(self, x: int, y: int) -> int:
        """Return `x ◇ y`."""
        a, b, c = self.rules[(x % self.modulus) * self.modulus + y % self.modulus]
        return max(0, a * x + b * y + c)

    def dual(self) -> ResidueModel:
        """Return the model with `x ◇ y` and `y ◇ x` exchanged."""
        m = self.modulus
        mirrored = (self.rules[s * m + r] for r in range(m) for s in range(m))
        return ResidueModel(m, tuple(AffineRule(rule.b, rule.a, rule.c) for rule in mirrored))

    def evaluate(self, law: Law, assignment: Assignment) -> tuple[int, int]:
        """Return the values of both sides of a law under an assignment of all its variables.

        Raises:
            MagmaError: The assignment misses a variable or gives it no natural number.
        """
        values: list[int] = []
        for name in law.variables:
            value = assignment.get(name)
            if type(value) is not int or value < 0:
                raise MagmaError(f"The variable {name!r} is {shown(value)}; it needs a natural number.")
            values.append(value)
        return self._run(straight_line(law), values)

    def counterexample(self, law: Law, *, max_cells: int = MAX_CELLS) -> Assignment | None:
        """Return an assignment under which the law fails, or None if it holds for all naturals. Exact.

        Small assignments are tried first.

        Raises:
            MagmaError: The decision would need more than `max_cells` cells.
        """
        program = straight_line(law)
        for values in _small_assignments(program.variables):
            left, right = self._run(program, list(values))
            if left != right:
                return dict(zip(law.variables, values, strict=True))
        for cell, left, right in self._decided_cells(law, max_cells):
            if left != right:
                point = _difference(cell, left, right)
                return dict(zip(law.variables, point, strict=True))
        return None

    def satisfies(self, law: Law, *, max_cells: int = MAX_CELLS) -> bool:
        """Tell whether the law holds for all naturals. Exact.

        Raises:
            MagmaError: The decision would need more than `max_cells` cells.
        """
        return self.counterexample(law, max_cells=max_cells) is None

    def cells(self, law: Law, *, max_cells: int = MAX_CELLS) -> Iterator[Cell]:
        """Yield cells, one progression for each variable of the law, that partition all assignments.

        On each cell both sides of the law are single affine forms.

        Raises:
            MagmaError: There are more than `max_cells` cells.
        """
        for cell, _, _ in self._decided_cells(law, max_cells):
            yield cell

    def _run(self, program: StraightLine, slots: list[int]) -> tuple[int, int]:
        for left, right in program.steps:
            slots.append(self.product(slots[left], slots[right]))
        return slots[program.left], slots[program.right]

    def _decided_cells(self, law: Law, max_cells: int) -> Iterator[tuple[Cell, _Form, _Form]]:
        program = straight_line(law)
        waiting: list[Cell] = [(Progression(0, 1),) * program.variables]
        seen = 0
        while waiting:
            seen += 1
            if seen > max_cells:
                raise MagmaError(
                    f"Deciding {str(law)!r} in this model of modulus {self.modulus} takes more than {max_cells} cases; "
                    "use smaller offsets or a smaller modulus."
                )
            cell = waiting.pop()
            found = self._forms(program, cell)
            if isinstance(found, _Split):
                waiting.extend(reversed(self._parts(cell, found)))
            else:
                yield cell, *found

    def _forms(self, program: StraightLine, cell: Cell) -> tuple[_Form, _Form] | _Split:
        slots: list[_Form] = []
        for place, (low, step) in enumerate(cell):
            slots.append(_Form(low, tuple(step if i == place else 0 for i in range(len(cell)))))
        for left, right in program.steps:
            value = self._form_of_product(slots[left], slots[right])
            if isinstance(value, _Split):
                return value
            slots.append(value)
        return slots[program.left], slots[program.right]

    def _form_of_product(self, left: _Form, right: _Form) -> _Form | _Split:
        m = self.modulus
        if m > 1:
            for variable, (p, q) in enumerate(zip(left.coefficients, right.coefficients, strict=True)):
                if p % m or q % m:
                    return _Split(variable, by_residue=True)
        a, b, c = self.rules[(left.constant % m) * m + right.constant % m]
        constant = a * left.constant + b * right.constant + c
        coefficients = tuple(a * p + b * q for p, q in zip(left.coefficients, right.coefficients, strict=True))
        if constant < 0:
            for variable, coefficient in enumerate(coefficients):
                if coefficient:
                    return _Split(variable, by_residue=False)
            constant = 0
        return _Form(constant, coefficients)

    def _parts(self, cell: Cell, split: _Split) -> list[Cell]:
        low, step = cell[split.variable]
        if split.by_residue:
            parts = [Progression(low + step * j, step * self.modulus) for j in range(self.modulus)]
        else:
            parts = [Progression(low, 0), Progression(low + step, step)]
        return [(*cell[: split.variable], part, *cell[split.variable + 1 :]) for part in parts]


def named_models() -> dict[str, ResidueModel]:
    """Return well-known infinite magmas by name; the names may stand for the models in JSON."""
    rule = AffineRule
    return {
        "sum": ResidueModel.uniform(1, 1, 0),
        "sum-successor": ResidueModel.uniform(1, 1, 1),
        "left-successor": ResidueModel.uniform(1, 0, 1),
        "right-successor": ResidueModel.uniform(0, 1, 1),
        "left-predecessor": ResidueModel.uniform(1, 0, -1),
        "right-predecessor": ResidueModel.uniform(0, 1, -1),
        "left-double": ResidueModel.uniform(2, 0, 0),
        "right-double": ResidueModel.uniform(0, 2, 0),
        "left-double-sum": ResidueModel.uniform(2, 1, 0),
        "right-double-sum": ResidueModel.uniform(1, 2, 0),
        # Up or down by the parity of the left (right) argument: the right (left) one moves.
        "left-parity-walk": ResidueModel(2, (rule(0, 1, 1), rule(0, 1, 1), rule(0, 1, -1), rule(0, 1, -1))),
        "right-parity-walk": ResidueModel(2, (rule(1, 0, 1), rule(1, 0, -1), rule(1, 0, 1), rule(1, 0, -1))),
    }


def _small_assignments(variables: int) -> Iterator[tuple[int, ...]]:
    side = 2
    while (side + 1) ** variables <= QUICK_ASSIGNMENTS:
        side += 1
    return itertools.islice(itertools.product(range(side), repeat=variables), QUICK_ASSIGNMENTS)


def _difference(cell: Cell, left: _Form, right: _Form) -> list[int]:
    """Return a point of the cell where two different forms differ."""
    point = [low for low, _ in cell]
    if left.constant == right.constant:
        pairs = zip(left.coefficients, right.coefficients, strict=True)
        variable = next(i for i, (p, q) in enumerate(pairs) if p != q)
        point[variable] += cell[variable].step
    return point


def _rule(place: int, value: object) -> AffineRule:
    if isinstance(value, list):
        numbers = cast("list[object]", value)
        if len(numbers) == 3:
            a, b, c = cast("list[int]", numbers)
            return AffineRule(a, b, c)
    raise MagmaError(f"Rule {place} of the model must be a list of three whole numbers [a, b, c].")
