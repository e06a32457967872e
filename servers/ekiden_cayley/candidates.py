"""Structured families of magmas from which the library is chosen.

Products of magmas are no family here: a product satisfies exactly the laws of all its factors, so it separates no pair
of laws that a factor does not separate.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

Tables = NDArray[np.uint8]
Integers = NDArray[np.int64]


class Candidates(NamedTuple):
    """Some magmas of one family and order.

    Attributes:
        method: The family, as a formula.
        tables: An array of shape (m, n, n).
        parameters: For each table the numbers that the formula needs.
    """

    method: str
    tables: Tables
    parameters: list[list[int]]


def structured_families(seed: int, scale: float = 1.0) -> Iterator[Candidates]:
    """Yield the families in a fixed order; where a family is large, a sample of it that the seed chooses.

    Args:
        seed: Chooses the samples.
        scale: How much of the usual sample sizes to take.
    """
    for order in range(4, 14):
        yield _polynomials("a*x + b*y + c mod n", order, _linear_coefficients(order))
    for order, size in [(4, 4096), (5, 15625), (6, 6000), (7, 15000), (8, 6000), (9, 6000), (11, 6000)]:
        rows = _sample([order] * 6, round(size * scale), seed)
        yield _polynomials("a*x + b*y + c + d*x*x + e*x*y + f*y*y mod n", order, rows)
    for prime, dimension, size in [(2, 2, 1024), (3, 2, 10000), (2, 3, 12000)]:
        yield _matrix_linear(prime, dimension, round(size * scale), seed)
    groups = [((4,), 256), ((2, 2), 256), ((5,), 3125), ((6,), 12000), ((7,), 20000), ((8,), 6000), ((2, 4), 6000)]
    groups += [((2, 2, 2), 8000), ((9,), 4000), ((3, 3), 5000), ((11,), 3000)]
    for group, size in groups:
        yield _translation_invariant(group, round(size * scale), seed)
        yield _permuted_differences(group, round(size * scale / 3), seed)
    for order, size in [(4, 6000), (5, 6000), (6, 3000)]:
        yield _sums_of_functions(order, round(size * scale), seed)
    for order, size in [(4, 15000), (5, 8000), (6, 4000)]:
        yield _row_permutations(order, round(size * scale), seed)


def neighbours(table: Tables) -> Candidates:
    """Return the tables that differ from a table in one cell; parameters are the cell and its value."""
    order = len(table)
    places = [
        [i, j, value]
        for i, j in itertools.product(range(order), repeat=2)
        for value in range(order)
        if value != table[i, j]
    ]
    tables = np.repeat(table[None], len(places), axis=0)
    at = np.array(places, dtype=np.int64).reshape(-1, 3)
    tables[np.arange(len(places)), at[:, 0], at[:, 1]] = at[:, 2]
    return Candidates("one cell changed", tables, places)


def extensions(small: Tables, size: int, seed: int) -> Candidates:
    """Return tables with one element more than the given ones.

    The parameters are the number of the given table, then the new column and the new row, which are drawn.
    """
    count, order, _ = small.shape
    draw = np.random.default_rng([seed, order, 17])
    chosen = draw.integers(0, count, size)
    new = draw.integers(0, order + 1, (size, 2 * order + 1))
    tables = np.zeros((size, order + 1, order + 1), dtype=np.uint8)
    tables[:, :order, :order] = small[chosen]
    tables[:, :order, order] = new[:, :order]
    tables[:, order, :] = new[:, order:]
    parameters = np.concatenate([chosen[:, None], new], axis=1).tolist()
    return Candidates("one element added to a magma of order n - 1", tables, parameters)


def _sample(sizes: list[int], size: int, seed: int) -> Integers:
    """Return all rows of numbers below the sizes, or a sorted sample of them."""
    total = int(np.prod(np.array(sizes, dtype=object)))
    if total <= size:
        chosen = np.arange(total)
    else:
        draw = np.random.default_rng([seed, len(sizes), *sizes])
        chosen = np.unique(draw.integers(0, total, size))
    return np.stack(np.unravel_index(chosen, sizes), axis=1).astype(np.int64)


def _linear_coefficients(order: int) -> Integers:
    return np.array(list(itertools.product(range(order), range(order), (0, 1))), dtype=np.int64)


def _polynomials(method: str, order: int, coefficients: Integers) -> Candidates:
    x, y = np.meshgrid(np.arange(order), np.arange(order), indexing="ij")
    terms = np.stack([x, y, np.ones_like(x), x * x, x * y, y * y])[: coefficients.shape[1]]
    tables = np.tensordot(coefficients, terms, axes=1) % order
    return Candidates(method, tables.astype(np.uint8), coefficients.tolist())


def _elements(group: tuple[int, ...]) -> Integers:
    return np.array(list(itertools.product(*[range(modulus) for modulus in group])), dtype=np.int64)


def _numbers(group: tuple[int, ...], elements: Integers) -> Integers:
    """Number the elements of a product of cyclic groups."""
    moduli = np.array(group)
    weights = np.array([int(np.prod(moduli[place + 1 :])) for place in range(len(group))])
    return elements % moduli @ weights


def _matrix_linear(prime: int, dimension: int, size: int, seed: int) -> Candidates:
    vectors = _elements((prime,) * dimension)
    entries = 2 * dimension * dimension
    rows = _sample([prime] * (entries + dimension), size, seed)
    a = rows[:, : entries // 2].reshape(-1, dimension, dimension)
    b = rows[:, entries // 2 : entries].reshape(-1, dimension, dimension)
    images = (vectors @ a)[:, :, None] + (vectors @ b)[:, None] + rows[:, None, None, entries:]
    tables = _numbers((prime,) * dimension, images)
    return Candidates(f"x*A + y*B + c over F{prime}^{dimension}", tables.astype(np.uint8), rows.tolist())


def _differences(group: tuple[int, ...]) -> Integers:
    elements = _elements(group)
    return _numbers(group, elements[None, :] - elements[:, None])


def _sums(group: tuple[int, ...]) -> Integers:
    elements = _elements(group)
    return _numbers(group, elements[None, :] + elements[:, None])


def _translation_invariant(group: tuple[int, ...], size: int, seed: int) -> Candidates:
    order = int(np.prod(group))
    functions = _sample([order] * order, size, seed)
    return _translated(group, functions)


def _permuted_differences(group: tuple[int, ...], size: int, seed: int) -> Candidates:
    order = int(np.prod(group))
    draw = np.random.default_rng([seed, *group])
    functions = np.unique([draw.permutation(order) for _ in range(max(size, 1))], axis=0).astype(np.int64)
    return _translated(group, functions)


def _translated(group: tuple[int, ...], functions: Integers) -> Candidates:
    order = int(np.prod(group))
    tables = _sums(group)[np.arange(order)[:, None], functions[:, _differences(group)]]
    name = " x ".join(f"Z{modulus}" for modulus in group)
    return Candidates(f"x + f(y - x) over {name}", tables.astype(np.uint8), functions.tolist())


def _sums_of_functions(order: int, size: int, seed: int) -> Candidates:
    functions = _sample([order] * (2 * order), size, seed)
    tables = (functions[:, :order, None] + functions[:, None, order:]) % order
    return Candidates("f(x) + g(y) mod n", tables.astype(np.uint8), functions.tolist())


def _row_permutations(order: int, size: int, seed: int) -> Candidates:
    permutations = np.array(list(itertools.permutations(range(order))), dtype=np.int64)
    choices = _sample([len(permutations)] * order, size, seed)
    return Candidates("row x is a permutation p(x)", permutations[choices].astype(np.uint8), choices.tolist())
