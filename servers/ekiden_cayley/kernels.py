"""Evaluating laws on many tables of one order, at compiled speed.

A law is flattened into numbers (`compile_law`) and run by small compiled functions. Every step of a law is
recomputed only when one of its variables has changed, and a table is left at its first failing assignment.

The compiled code is kept on disk (beside this file, or in the user's cache when that folder cannot be written), so only
the first use on a machine pays for compiling.
"""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numba  # pyright: ignore[reportMissingTypeStubs]  # numba ships no types
import numpy as np
from numpy.typing import NDArray

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.kernel_cache import compiled_code_can_be_kept
from ekiden_magma import Law, straight_line

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ORDER = 255
MAX_SLOTS = 256
POLL_S = 0.05
LAWS_PER_TASK = 64

Tables = NDArray[np.uint8]
Truths = NDArray[np.bool_]
Code = NDArray[np.uint16]
Words = NDArray[np.uint64]

_Result = TypeVar("_Result")


class Stopping(Protocol):
    """Something that says when to stop, such as `ekiden_cayley.stop.Stop`."""

    def expired(self) -> bool:
        """Tell whether the search is cancelled or out of time."""
        ...


def compile_law(law: Law) -> Code:
    """Flatten a law: variables, steps, left, right, the first step to redo per variable, then the steps' arguments.

    Steps are sorted by their last variable, so that the fastest changing variable redoes the fewest steps.

    Raises:
        CayleyError: The law has more distinct subterms than the kernels hold.
    """
    program = straight_line(law)
    if program.variables + len(program.steps) > MAX_SLOTS:
        raise CayleyError(f"The law {str(law)!r} has more than {MAX_SLOTS} distinct subterms.")
    last = list(range(program.variables))
    for left, right in program.steps:
        last.append(max(last[left], last[right]))
    order = sorted(range(len(program.steps)), key=lambda step: last[program.variables + step])
    slot = list(range(program.variables)) + [0] * len(order)
    for position, step in enumerate(order):
        slot[program.variables + step] = program.variables + position
    first = [sum(last[program.variables + step] < variable for step in order) for variable in range(program.variables)]
    arguments = [slot[argument] for step in order for argument in program.steps[step]]
    head = [program.variables, len(order), slot[program.left], slot[program.right]]
    return np.array(head + first + arguments, dtype=np.uint16)


def satisfied(law: Law, tables: Tables, *, stop: Stopping | None = None) -> Truths:
    """Tell which of many tables of one order satisfy a law.

    Args:
        law: The law.
        tables: An array of shape (m, n, n) with entries 0, ..., n - 1, for an n of at most 255.
        stop: Asked a few times a second whether to give up.

    Returns:
        An array of shape (m,).

    Raises:
        CayleyError: `tables` is no such array.
        StoppedError: `stop` expired before the answer was known.
    """
    return satisfied_many([law], tables, stop=stop)[0]


def satisfied_many(laws: Sequence[Law | Code], tables: Tables, *, stop: Stopping | None = None) -> Truths:
    """Tell for many laws (or laws from `compile_law`) which of many tables of one order satisfy them.

    The laws are shared out over the processors; the answer does not depend on how many there are.

    Returns:
        An array of shape (number of laws, m).

    Raises:
        CayleyError: `tables` is not of shape (m, n, n) with entries 0, ..., n - 1.
        StoppedError: `stop` expired before the answer was known.
    """
    tables = checked_tables(tables)
    codes = [compile_law(law) if isinstance(law, Law) else law for law in laws]
    result = np.zeros((len(codes), len(tables)), dtype=np.bool_)
    if not codes or not len(tables):
        return result
    offsets = np.zeros(len(codes), dtype=np.int64)
    np.cumsum([len(code) for code in codes[:-1]], out=offsets[1:])
    flat = np.concatenate(codes)
    halt = np.zeros(1, dtype=np.uint8)
    if len(codes) == 1 and stop is None:
        _evaluate(flat, offsets, tables, halt, result)
        return result
    with ThreadPoolExecutor(_processors() if len(codes) > LAWS_PER_TASK else 1) as pool:
        starts = range(0, len(codes), LAWS_PER_TASK)
        tasks = [
            pool.submit(
                _evaluate, flat, offsets[at : at + LAWS_PER_TASK], tables, halt, result[at : at + LAWS_PER_TASK]
            )
            for at in starts
        ]
        _wait_or_halt(tasks, halt, stop)
    return result


def refuted_rows(satisfied: Truths, failed: Words, *, stop: Stopping | None = None) -> Words:
    """Join, for each law, the laws that the magmas which satisfy it do not satisfy.

    Args:
        satisfied: For some laws (rows) and all magmas whether the magma satisfies the law.
        failed: For each magma the laws that it does not satisfy, as bits of 64-bit words.
        stop: Asked a few times a second whether to give up.

    Returns:
        For each of the laws the laws that it does not imply, as bits of 64-bit words.

    Raises:
        StoppedError: `stop` expired before the answer was known.
    """
    result = np.zeros((len(satisfied), failed.shape[1]), dtype=np.uint64)
    halt = np.zeros(1, dtype=np.uint8)
    with ThreadPoolExecutor(_processors()) as pool:
        slices = [slice(start, start + LAWS_PER_TASK) for start in range(0, len(satisfied), LAWS_PER_TASK)]
        tasks = [pool.submit(_join_failed, satisfied[part], failed, halt, result[part]) for part in slices]
        _wait_or_halt(tasks, halt, stop)
    return result


def first_refuting(law1: Law, law2: Law, tables: Tables, *, stop: Stopping | None = None) -> int | None:
    """Return the index of the first table that satisfies law 1 and not law 2, or None.

    Raises:
        CayleyError: `tables` is not of shape (m, n, n) with entries 0, ..., n - 1.
        StoppedError: `stop` expired before the answer was known.
    """
    tables = checked_tables(tables)
    code1, code2 = compile_law(law1), compile_law(law2)
    halt = np.zeros(1, dtype=np.uint8)
    if stop is None:
        found = _first_refuting(code1, code2, tables, halt)
    else:
        with ThreadPoolExecutor(1) as pool:
            found = _wait_or_halt([pool.submit(_first_refuting, code1, code2, tables, halt)], halt, stop)[0]
    return None if found < 0 else found


def checked_tables(tables: Tables) -> Tables:
    """Return the tables as the kernels want them.

    Raises:
        CayleyError: They are not of shape (m, n, n) with entries 0, ..., n - 1 for an n of 1 to 255.
    """
    if tables.ndim != 3 or tables.shape[1] != tables.shape[2] or not 1 <= tables.shape[1] <= MAX_ORDER:
        raise CayleyError(f"Tables have the shape (m, n, n) with n from 1 to {MAX_ORDER}; these have {tables.shape!r}.")
    order = tables.shape[1]
    if tables.size and not 0 <= tables.min() <= tables.max() < order:
        wrong = tables.max() if tables.max() >= order else tables.min()
        raise CayleyError(f"Tables of order {order} hold 0..{order - 1}; found {wrong.item()!r}.")
    return np.ascontiguousarray(tables, dtype=np.uint8)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _wait_or_halt(tasks: list[Future[_Result]], halt: NDArray[np.uint8], stop: Stopping | None) -> list[_Result]:
    """Wait for compiled functions on other threads; tell them to halt when `stop` expires or we are interrupted."""
    pending = set(tasks)
    try:
        while pending:
            pending = wait(pending, timeout=None if stop is None else POLL_S).not_done
            if pending and stop is not None and stop.expired():
                raise StoppedError("The evaluation was stopped before it was complete; allow more time.")
        return [task.result() for task in tasks]
    finally:
        if pending:
            halt[0] = 1
            for task in pending:
                task.cancel()


_numba = cast("Any", numba)
_compiled = _numba.njit
_types = _numba.types
_TABLE = _types.Array(_types.uint8, 2, "C", readonly=True)
_TABLES = _types.Array(_types.uint8, 3, "C", readonly=True)
_BYTES = _types.uint8[::1]
_CODE = _types.uint16[::1]
_KEEP = compiled_code_can_be_kept(__file__)


@_compiled(_types.boolean(_CODE, _types.int64, _TABLE, _BYTES, _BYTES), nogil=True, cache=_KEEP)
def _holds(
    code: Code,
    at: int,
    table: Tables,
    slots: NDArray[np.uint8],
    halt: NDArray[np.uint8],
) -> bool:
    """Tell whether one table satisfies the law at `code[at:]`; `slots` is room to work in.

    The slots of the law come first, from `MAX_SLOTS` on the number of values that each variable has had.
    Variable d starts at d (modulo the order): assignments with distinct values refute sooner than constant ones.
    """
    order = table.shape[0]
    variables = np.int64(code[at])
    steps = np.int64(code[at + 1])
    left = code[at + 2]
    right = code[at + 3]
    arguments = at + 4 + variables
    for variable in range(variables):
        slots[variable] = variable % order
        slots[MAX_SLOTS + variable] = 0
    redo = np.int64(0)
    while True:
        for step in range(redo, steps):
            place = arguments + 2 * step
            slots[variables + step] = table[slots[code[place]], slots[code[place + 1]]]
        if slots[left] != slots[right]:
            return False
        variable = variables - 1
        while variable >= 0:
            slots[variable] = slots[variable] + 1 if slots[variable] + 1 < order else 0
            slots[MAX_SLOTS + variable] += 1
            if slots[MAX_SLOTS + variable] < order:
                break
            slots[MAX_SLOTS + variable] = 0
            variable -= 1
        if variable < 0:
            return True
        if variable < variables - 1 and halt[0] != 0:
            return False
        redo = np.int64(code[at + 4 + variable])


@_compiled(_types.void(_CODE, _types.int64[::1], _TABLES, _BYTES, _types.boolean[:, ::1]), nogil=True, cache=_KEEP)
def _evaluate(
    code: Code,
    offsets: NDArray[np.int64],
    tables: Tables,
    halt: NDArray[np.uint8],
    result: Truths,
) -> None:
    """Fill `result[law, table]` for the laws at `offsets`."""
    slots = np.empty(2 * MAX_SLOTS, np.uint8)
    for law in range(offsets.shape[0]):
        for table in range(tables.shape[0]):
            if halt[0] != 0:
                return
            result[law, table] = _holds(code, offsets[law], tables[table], slots, halt)


@_compiled(_types.int64(_CODE, _CODE, _TABLES, _BYTES), nogil=True, cache=_KEEP)
def _first_refuting(code1: Code, code2: Code, tables: Tables, halt: NDArray[np.uint8]) -> int:
    """Return the index of the first table that satisfies law 1 and not law 2, or -1."""
    slots = np.empty(2 * MAX_SLOTS, np.uint8)
    for table in range(tables.shape[0]):
        holds1 = _holds(code1, 0, tables[table], slots, halt)
        refuted = holds1 and not _holds(code2, 0, tables[table], slots, halt)
        if halt[0] != 0:
            return -1
        if refuted:
            return table
    return -1


@_compiled(
    _types.void(_types.boolean[:, ::1], _types.uint64[:, ::1], _BYTES, _types.uint64[:, ::1]), nogil=True, cache=_KEEP
)
def _join_failed(satisfied: Truths, failed: Words, halt: NDArray[np.uint8], result: Words) -> None:
    """Fill `result[law]` with the bitwise "or" of `failed[magma]` over the magmas that satisfy the law."""
    for law in range(satisfied.shape[0]):
        for magma in range(satisfied.shape[1]):
            if satisfied[law, magma]:
                for word in range(failed.shape[1]):
                    result[law, word] |= failed[magma, word]
        if halt[0] != 0:
            return
