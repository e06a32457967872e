"""Cayley tables: finite magmas on 0, 1, ..., n - 1."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ekiden_magma.errors import MagmaError, shown
from ekiden_magma.program import StraightLine, straight_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_magma.law import Law

Assignment = dict[str, int]


@dataclass(frozen=True, slots=True)
class CayleyTable:
    """A magma on 0, ..., n - 1; `rows[i][j]` is the product `i ◇ j`.

    Raises:
        MagmaError: The rows are not a square of numbers 0, ..., n - 1.
    """

    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        order = len(self.rows)
        if order == 0:
            raise MagmaError("A Cayley table needs at least one element; this one has no rows.")
        for i, row in enumerate(self.rows):
            if len(row) != order:
                raise MagmaError(
                    f"Row {i} of the table has {len(row)} entries; a table of order {order} needs {order}."
                )
            for j, value in enumerate(row):
                if type(value) is not int or not 0 <= value < order:
                    raise MagmaError(
                        f"The product {i} ◇ {j} is {shown(value)}; a table of order {order} holds 0..{order - 1}."
                    )

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.rows)

    @classmethod
    def from_flat(cls, cells: Sequence[int]) -> CayleyTable:
        """Build a table from its n * n cells, row by row.

        Raises:
            MagmaError: The number of cells is no square, or a cell is out of range.
        """
        order = round(len(cells) ** 0.5)
        if order * order != len(cells):
            raise MagmaError(f"A table has n * n cells; {len(cells)} is no square number.")
        return cls(tuple(tuple(cells[i * order : (i + 1) * order]) for i in range(order)))

    @classmethod
    def parse(cls, text: str) -> CayleyTable:
        """Read a table from JSON rows, a flat list, or a digit string.

        `[[0,1],[1,0]]`, `[0,1,1,0]` and `0110` are the same table. Digits serve orders up to 10.

        Raises:
            MagmaError: The text is none of the three; the message says why.
        """
        stripped = text.strip()
        if stripped.isascii() and stripped.isdigit():
            return cls.from_flat([int(digit) for digit in stripped])
        try:
            value = cast("object", json.loads(stripped))
        except (ValueError, RecursionError) as error:
            shown = stripped if len(stripped) <= 60 else stripped[:57] + "..."
            raise MagmaError(
                f"Cannot read a Cayley table from {shown!r}; "
                "write rows '[[0,1],[1,0]]', cells '[0,1,1,0]' or digits '0110'."
            ) from error
        return cls.from_value(value)

    @classmethod
    def from_value(cls, value: object) -> CayleyTable:
        """Build a table from parsed JSON: a list of rows or a flat list of cells.

        Raises:
            MagmaError: The value is neither.
        """
        if isinstance(value, list) and value:
            items = cast("list[object]", value)
            if all(type(item) is int for item in items):
                return cls.from_flat(cast("list[int]", items))
            if all(isinstance(item, list) for item in items):
                return cls(tuple(tuple(row) for row in cast("list[list[int]]", items)))
        raise MagmaError("A Cayley table is a list of rows '[[0,1],[1,0]]' or a flat list of cells '[0,1,1,0]'.")

    def to_json(self) -> str:
        """Return the rows as JSON without blanks, such as `[[0,1],[1,0]]`."""
        return json.dumps(self.rows, separators=(",", ":"))

    def dual(self) -> CayleyTable:
        """Transpose the table."""
        return CayleyTable(tuple(zip(*self.rows, strict=True)))

    def evaluate(self, law: Law, assignment: Assignment) -> tuple[int, int]:
        """Return the values of both sides of a law under an assignment of all its variables.

        Raises:
            MagmaError: The assignment misses a variable or leaves the table.
        """
        values: list[int] = []
        for name in law.variables:
            value = assignment.get(name)
            if type(value) is not int or not 0 <= value < self.order:
                raise MagmaError(f"The variable {name!r} is {shown(value)}; it needs a value in 0..{self.order - 1}.")
            values.append(value)
        return self._run(straight_line(law), values)

    def counterexample(self, law: Law) -> Assignment | None:
        """Return the first assignment under which the law fails, or None if the table satisfies it.

        Assignments are tried in lexicographic order of the law's variables.
        """
        program = straight_line(law)
        for values in itertools.product(range(self.order), repeat=len(law.variables)):
            left, right = self._run(program, list(values))
            if left != right:
                return dict(zip(law.variables, values, strict=True))
        return None

    def satisfies(self, law: Law) -> bool:
        """Tell whether the law holds for all assignments."""
        return self.counterexample(law) is None

    def _run(self, program: StraightLine, slots: list[int]) -> tuple[int, int]:
        rows = self.rows
        for left, right in program.steps:
            slots.append(rows[slots[left]][slots[right]])
        return slots[program.left], slots[program.right]
