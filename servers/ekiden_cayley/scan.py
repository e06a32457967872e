"""Refuting all ordered pairs of a list of laws at once.

Every law gets a signature, the magmas that satisfy it. A magma refutes "law i implies law j" if it satisfies i and not
j; so the row of law i in the matrix of refutations is the union, over the magmas that satisfy law i, of the laws that
they fail. Signatures and rows are packed bits, and rows are written as they are made: the list of laws may be long.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.kernels import Tables, Truths, Words, compile_law, refuted_rows, satisfied_many
from ekiden_cayley.library import library
from ekiden_cayley.scan_files import Refutations, optional_pairs
from ekiden_cayley.separation import packed_words, unpacked
from ekiden_cayley.small_orders import all_magmas
from ekiden_cayley.stop import Stop
from ekiden_files import write_whole, writing_whole
from ekiden_magma import CayleyTable, Law

if TYPE_CHECKING:
    from pathlib import Path

MATRIX = "refuted.npy"
PARQUET = "refuted.parquet"
REPORT = "scan.json"
MAGMAS_PER_BATCH = 256
ROWS_PER_BATCH = 1024
JOINED_WORDS_PER_S = 5e8
"""How fast rows are joined on a slow machine: what is kept back of a time limit while laws are evaluated."""


class ScanProgress(NamedTuple):
    """How far a scan is; the total of a phase does not change, and `done` only rises.

    Attributes:
        phase: "evaluate" counts tests of one law on one magma, "join" counts laws.
        done: How many are done.
        total: How many there are.
    """

    phase: Literal["evaluate", "join"]
    done: int
    total: int


ProgressCallback = Callable[[ScanProgress], None]


class ScanReport(BaseModel):
    """What a scan found; also the content of `scan.json`."""

    model_config = ConfigDict(frozen=True)

    laws: int = Field(description="The number of laws, n.")
    pairs: int = Field(description="The number of ordered pairs, n * n, each law with itself included.")
    refuted: int = Field(description="How many ordered pairs (i, j) have a magma that satisfies law i and not law j.")
    complete: bool = Field(description="False if the time limit ended the scan before all magmas were used.")
    magmas: int = Field(description="How many magmas were used.")
    seconds: float = Field(description="Wall time of the scan, files included.")
    laws_sha256: str = Field(description="SHA-256 of the laws, each as printed and ended by a line feed.")
    matrix: str = Field(description="The file with the packed bit matrix, in NumPy's format: row i for law i.")
    bit_order: Literal["little"] = Field(
        default="little", description="Law j (from 0) is refuted by law i if `matrix[i, j >> 3] >> (j & 7) & 1`."
    )
    parquet: str | None = Field(default=None, description="The file with a row (law1, law2), from 1, per refuted pair.")


@dataclass(frozen=True, slots=True, eq=False)
class Signatures:
    """Which magmas fail which laws.

    Attributes:
        laws: The number of laws.
        magmas: The magmas used: arrays of shape (m, n, n).
        failed: For each magma the laws that it does not satisfy, packed.
        complete: Whether all magmas at hand were used.
    """

    laws: int
    magmas: list[Tables]
    failed: Words
    complete: bool

    def rows(self, start: int, end: int, *, stop: Stop | None = None) -> Words:
        """Return the laws that each of the laws `start`, ..., `end` - 1 does not imply, packed.

        Args:
            start: The first law, a multiple of 64.
            end: The law after the last one.
            stop: When to give up.

        Raises:
            StoppedError: `stop` expired before they were known.
        """
        columns = np.ascontiguousarray(self.failed[:, start // 64 : -(-end // 64)])
        satisfied = np.ascontiguousarray(~unpacked(columns, end - start).T)
        return refuted_rows(satisfied, self.failed, stop=stop)

    def witness(self, law1: int, law2: int) -> CayleyTable | None:
        """Return the first magma that satisfies law 1 and not law 2, or None; the laws are given by number from 0."""
        separating = np.flatnonzero(~self._fails(law1) & self._fails(law2))
        if not len(separating):
            return None
        number = int(separating[0])
        for tables in self.magmas:
            if number < len(tables):
                return CayleyTable.from_flat(tables[number].ravel().tolist())
            number -= len(tables)
        raise AssertionError("a magma for each signature")

    def _fails(self, law: int) -> Truths:
        return (self.failed.view(np.uint8)[:, law >> 3] >> (law & 7) & 1).astype(np.bool_)


def useful_magmas() -> list[Tables]:
    """Return all magmas of order 2 and 3, then the packaged library by order."""
    return [all_magmas(2), all_magmas(3), *library().values()]


def sign(
    laws: Sequence[Law],
    magmas: Sequence[Tables] | None = None,
    *,
    stop: Stop | None = None,
    progress: ProgressCallback | None = None,
) -> Signatures:
    """Evaluate laws on magmas, by default `useful_magmas()`, as long as `stop` leaves time to join the signatures.

    Raises:
        StoppedError: `stop` was cancelled.
    """
    magmas = useful_magmas() if magmas is None else magmas
    batches = [
        tables[start : start + MAGMAS_PER_BATCH]
        for tables in magmas
        for start in range(0, len(tables), MAGMAS_PER_BATCH)
    ]
    total = sum(map(len, batches)) * len(laws)
    codes = [compile_law(law) for law in laws]
    failed = [packed_words(np.zeros((0, len(laws)), dtype=np.bool_))]
    done = joins = 0
    for batch in batches:
        if stop is not None and stop.remaining_s <= joins * failed[0].shape[1] / JOINED_WORDS_PER_S:
            break
        try:
            satisfied = satisfied_many(codes, batch, stop=stop)
        except StoppedError:
            break
        failed.append(packed_words(~satisfied.T))
        joins += int(satisfied.sum())
        done += len(batch) * len(laws)
        if progress is not None:
            progress(ScanProgress("evaluate", done, total))
    _refuse_if_cancelled(stop)
    return Signatures(
        len(laws), batches[: len(failed) - 1], np.concatenate(failed), complete=len(failed) > len(batches)
    )


def scan(
    laws: Sequence[Law],
    out: Path,
    *,
    time_limit_s: float | None = None,
    magmas: Sequence[Tables] | None = None,
    parquet: bool = False,
    stop: Stop | None = None,
    progress: ProgressCallback | None = None,
) -> ScanReport:
    """Refute all ordered pairs of laws that the magmas at hand refute, and write the matrix of refutations to a folder.

    A pair that is not refuted may still be false. Files of an earlier scan are replaced, whole, the report last.

    Args:
        laws: The laws; duplicates are laws like any other.
        out: The folder; it is made if need be.
        time_limit_s: Ends the scan early, with the refutations found so far.
        magmas: Arrays of shape (m, n, n); by default all magmas of order 2 and 3 and the packaged library.
        parquet: Write also a Parquet file with one row for each refuted pair.
        stop: Cancels the scan; nothing is written then.
        progress: Called after each batch of work.

    Raises:
        CayleyError: There are no laws, or the folder cannot be written.
        StoppedError: `stop` was cancelled.
    """
    started = time.monotonic()
    if not laws:
        raise CayleyError("A scan needs at least one law.")
    stop = Stop(time_limit_s, parent=stop)
    try:
        out.mkdir(parents=True, exist_ok=True)
        signatures = sign(laws, magmas, stop=stop, progress=progress)
        with writing_whole(out / MATRIX) as matrix, optional_pairs(out / PARQUET if parquet else None) as write_pairs:
            refuted, complete = _write_rows(signatures, matrix, write_pairs, stop, progress)
        report = ScanReport(
            laws=len(laws),
            pairs=len(laws) ** 2,
            refuted=refuted,
            complete=complete,
            magmas=len(signatures.failed),
            seconds=round(time.monotonic() - started, 3),
            laws_sha256=hashlib.sha256("".join(f"{law}\n" for law in laws).encode()).hexdigest(),
            matrix=MATRIX,
            parquet=PARQUET if parquet else None,
        )
        write_whole(out / REPORT, report.model_dump_json(indent=2) + "\n")
        if not parquet:
            (out / PARQUET).unlink(missing_ok=True)
    except OSError as error:
        raise CayleyError(f"Cannot write the scan to {str(out)!r}: {error}") from error
    return report


def _write_rows(
    signatures: Signatures,
    matrix: BinaryIO,
    write_pairs: Callable[[Refutations], None],
    stop: Stop,
    progress: ProgressCallback | None,
) -> tuple[int, bool]:
    """Join and write all rows; return the number of refuted pairs and whether nothing was left out."""
    laws, width = signatures.laws, (signatures.laws + 7) // 8
    header = {"descr": "|u1", "fortran_order": False, "shape": (laws, width)}
    np.lib.format.write_array_header_1_0(matrix, header)
    refuted, complete = 0, signatures.complete
    for start in range(0, laws, ROWS_PER_BATCH):
        end = min(start + ROWS_PER_BATCH, laws)
        try:
            rows = signatures.rows(start, end, stop=stop)
        except StoppedError:
            _refuse_if_cancelled(stop)
            rows = np.zeros((end - start, signatures.failed.shape[1]), dtype=np.uint64)
            complete = False
        refuted += int(np.bitwise_count(rows).sum())
        matrix.write(rows.view(np.uint8)[:, :width].tobytes())
        write_pairs(Refutations(start, laws, rows))
        if progress is not None:
            progress(ScanProgress("join", end, laws))
        _refuse_if_cancelled(stop)
    return refuted, complete


def _refuse_if_cancelled(stop: Stop | None) -> None:
    if stop is not None and stop.cancelled:
        raise StoppedError("The scan was cancelled; nothing was written.")
