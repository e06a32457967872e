"""The packaged library of magmas, and its file format.

The library is a text file of JSON lines: a header that says how the file was generated, then one magma a line, the most
useful first. A magma is useful for the pairs of laws that it separates and that neither the magmas of order 2 and 3 nor
the magmas before it separate.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from ekiden_cayley.errors import CayleyError
from ekiden_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, eq=False)
class LibraryTable:
    """A magma of the library and where it comes from.

    Attributes:
        table: The table, an array of shape (n, n).
        method: The family or search that gave it.
        parameters: The numbers that the method needs to give it again.
        transposed: Whether the method gave its transpose.
    """

    table: NDArray[np.uint8]
    method: str
    parameters: list[int]
    transposed: bool

    @property
    def order(self) -> int:
        """The number of elements."""
        return len(self.table)


def library_tables() -> tuple[LibraryTable, ...]:
    """Return the packaged magmas, the most useful first."""
    return _packaged()[1]


def library_header() -> dict[str, str | int]:
    """Return how the packaged library was generated: script, version, seed, laws, and what it separates."""
    return dict(_packaged()[0])


@lru_cache(maxsize=1)
def _packaged() -> tuple[dict[str, str | int], tuple[LibraryTable, ...]]:
    return read_library(files("ekiden_cayley").joinpath("data/library.jsonl").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def library() -> dict[int, NDArray[np.uint8]]:
    """Return the packaged magmas by order: arrays of shape (m, n, n), read-only, the most useful first."""
    tables: dict[int, list[NDArray[np.uint8]]] = {}
    for entry in library_tables():
        tables.setdefault(entry.order, []).append(entry.table)
    result = {order: np.stack(tables[order]) for order in sorted(tables)}
    for stacked in result.values():
        stacked.setflags(write=False)
    return result


def read_library(text: str) -> tuple[dict[str, str | int], tuple[LibraryTable, ...]]:
    """Read a library file: its header and its magmas.

    Raises:
        CayleyError: A line is not what `write_library` writes.
    """
    lines = text.splitlines()
    try:
        header = json.loads(lines[0])
        return header, tuple(_read_table(line) for line in lines[1:])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise CayleyError(f"This is no library of magmas: {error!r}. Generate it anew.") from error


def _read_table(line: str) -> LibraryTable:
    value = json.loads(line)
    cells = [DIGITS.index(digit) for digit in value["cells"]]
    order = value["order"]
    table = np.array(cells, dtype=np.uint8).reshape(order, order)
    if int(table.max()) >= order:
        raise CayleyError(f"A table of order {order} holds {int(table.max())!r}.")
    table.setflags(write=False)
    return LibraryTable(table, value["method"], value["parameters"], value["transposed"])


def write_library(path: Path, tables: Sequence[LibraryTable], **header: str | int) -> None:
    """Write a library file, whole."""
    lines = [json.dumps({**header, "tables": len(tables)})]
    lines += [
        json.dumps(
            {
                "order": entry.order,
                "cells": "".join(DIGITS[cell] for cell in entry.table.ravel().tolist()),
                "method": entry.method,
                "parameters": entry.parameters,
                "transposed": entry.transposed,
            }
        )
        for entry in tables
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "\n".join(lines) + "\n")
