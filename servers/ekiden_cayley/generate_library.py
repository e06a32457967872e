"""Generate the packaged library of magmas: `python -m ekiden_cayley.generate_library --out FILE --work DIR`.

Candidates come from structured families, from SAT searches for a magma that separates a pair of laws which nothing so
far separates, and from the neighbours and transposes of both. Of these the library takes, greedily, the magmas that
separate the most pairs which all magmas of order 2 and 3 and the magmas taken before leave open.

The work is deterministic: samples are drawn from the seed, and SAT searches are bounded by steps of work, not by time.
The work folder keeps a journal of SAT searches, so an interrupted run, started again, does none of them twice.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sys
import time
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
import typer

from ekiden_cayley.candidates import Candidates, extensions, neighbours, structured_families
from ekiden_cayley.kernels import Code, compile_law, satisfied_many
from ekiden_cayley.law_list import all_laws
from ekiden_cayley.library import LibraryTable, write_library
from ekiden_cayley.sat import SatSearch
from ekiden_cayley.separation import OpenPair, Separation, Words, most_separating_first, packed_words
from ekiden_cayley.small_orders import all_magmas
from ekiden_magma import Law, read_laws

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

log = logging.getLogger(__name__)

app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)

VERSION = 1
BATCH = 2048
SAT_PASSES = ((4, 20), (5, 20), (6, 20), (4, 200), (5, 200), (7, 20), (6, 200), (8, 30), (7, 200))
"""Orders and steps of SAT searches, cheapest first."""


class Magma(NamedTuple):
    """A candidate with the laws that it satisfies."""

    entry: LibraryTable
    satisfied: Words


class LawBook:
    """The laws that magmas are to separate, and their duals."""

    def __init__(self, laws: list[Law]) -> None:
        self.laws = laws
        numbers = {_key(law): number for number, law in enumerate(laws)}
        self._codes: list[Code] = [compile_law(law) for law in laws]
        self._dual_numbers: list[int] = []
        for law in laws:
            number = numbers.setdefault(_key(law.dual()), len(self._codes))
            if number == len(self._codes):
                self._codes.append(compile_law(law.dual()))
            self._dual_numbers.append(number)

    def measured(self, candidates: Candidates) -> Iterator[Magma]:
        """Yield the candidates and their transposes with the laws that they satisfy."""
        for start in range(0, len(candidates.tables), BATCH):
            tables = candidates.tables[start : start + BATCH]
            parameters = candidates.parameters[start : start + BATCH]
            truths = satisfied_many(self._codes, tables).T
            direct = packed_words(truths[:, : len(self.laws)])
            mirrored = packed_words(truths[:, self._dual_numbers])
            for table, numbers, own, dual in zip(tables, parameters, direct, mirrored, strict=True):
                yield Magma(LibraryTable(table, candidates.method, numbers, transposed=False), own)
                yield Magma(LibraryTable(table.T, candidates.method, numbers, transposed=True), dual)


def _key(law: Law) -> str:
    return min(str(law.canonical()), str(law.swapped().canonical()))


class Pool:
    """The candidates that separate something, one of each set of satisfied laws."""

    def __init__(self, book: LawBook) -> None:
        self.book = book
        self.separation = Separation(len(book.laws))
        for order in (2, 3):
            for satisfied in packed_words(satisfied_many(book.laws, all_magmas(order)).T):
                self.separation.add(satisfied)
        self.of_small_orders = self.separation.pairs
        self._magmas: dict[bytes, Magma] = {}

    def consider(self, candidates: Candidates) -> list[Magma]:
        """Keep the candidates that separate an open pair; return the new ones."""
        new: list[Magma] = []
        for magma in self.book.measured(candidates):
            name = magma.satisfied.tobytes()
            if name not in self._magmas and self.separation.gain(magma.satisfied):
                self._magmas[name] = magma
                new.append(magma)
        return new

    def magmas(self) -> list[Magma]:
        """Return all that is kept, small magmas first."""
        return sorted(self._magmas.values(), key=lambda magma: magma.entry.order)

    def absorb(self, magmas: Iterable[Magma]) -> list[Magma]:
        """Count the pairs that these magmas separate as no longer open; return those that were needed."""
        ordered = list(magmas)
        chosen = most_separating_first(self.separation, [magma.satisfied for magma in ordered], limit=len(ordered))
        return [ordered[number] for number in chosen]

    def best(self, limit: int, least_gain: int) -> tuple[list[LibraryTable], int]:
        """Choose the library; return it and the number of pairs that it and the small orders separate."""
        separation = Pool(self.book).separation
        magmas = self.magmas()
        chosen = most_separating_first(separation, [magma.satisfied for magma in magmas], limit, least_gain)
        return [magmas[number].entry for number in chosen], separation.pairs


@dataclass(frozen=True, slots=True)
class Journal:
    """What SAT searches found, one JSON line each, in a file that only grows."""

    path: Path
    known: dict[tuple[str, str, int, int, int], list[list[int]] | None]

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Read a journal; a last line that was cut off is forgotten."""
        known: dict[tuple[str, str, int, int, int], list[list[int]] | None] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.read_text(encoding="utf-8").rpartition("\n")[0] if path.exists() else ""
        for line in whole.splitlines():
            law1, law2, order, steps, seed, rows = json.loads(line)
            known[law1, law2, order, steps, seed] = rows
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
        return cls(path, known)

    def search(self, law1: Law, law2: Law, order: int, steps: int, seed: int) -> list[list[int]] | None:
        """Return a table that separates the laws, or None if none is found within so many steps."""
        name = (str(law1), str(law2), order, steps, seed)
        if name not in self.known:
            search = SatSearch(law1, law2, order, seed=seed)
            result = next((found for _ in range(steps) if (found := search.step()) is not None), None)
            search.close()
            rows = None if result is None or isinstance(result, str) else [list(row) for row in result.rows]
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*name, rows]) + "\n")
            self.known[name] = rows
        return self.known[name]


def separate_by_sat(pool: Pool, journal: Journal, passes: Iterable[tuple[int, int]], deadline: float) -> None:
    """Search magmas for the pairs that are still open, until none is found any more or time is up.

    After a success the cheaper passes are repeated: other pairs have become critical.
    """
    done: list[tuple[int, int]] = []
    for one_pass in passes:
        done.append(one_pass)
        while time.monotonic() <= deadline:
            if not any(_sat_pass(pool, journal, *earlier, deadline) for earlier in done):
                break


def _sat_pass(pool: Pool, journal: Journal, order: int, steps: int, deadline: float) -> bool:
    laws = pool.book.laws
    cost = [len(law.variables) * 100 + law.operations for law in laws]
    critical = pool.separation.critical_pairs(cost)
    before = pool.separation.pairs
    for pair in critical:
        if time.monotonic() > deadline:
            break
        if not pool.separation.separates(pair):
            _separate_pair(pool, journal, pair, order, steps)
    log.info(
        "order %d, %d steps: %d critical pairs, %d pairs separated", order, steps, len(critical), pool.separation.pairs
    )
    return pool.separation.pairs > before


def _separate_pair(pool: Pool, journal: Journal, pair: OpenPair, order: int, steps: int) -> None:
    law1, law2 = pool.book.laws[pair.law1], pool.book.laws[pair.law2]
    for seed in range(3):
        rows = journal.search(law1, law2, order, steps, seed)
        if rows is None:
            return
        table = np.array(rows, dtype=np.uint8)
        new = pool.consider(Candidates("SAT search", table[None], [[order, seed]]))
        new += pool.consider(neighbours(table))
        pool.absorb(new)


def fill(pool: Pool, seed: int, scale: float) -> None:
    """Fill a pool with the structured families and what is near their best members."""
    for candidates in structured_families(seed, scale):
        new = pool.consider(candidates)
        log.info(
            "%s, order %d: %d of %d", candidates.method, candidates.tables.shape[1], len(new), len(candidates.tables)
        )
    for order in (2, 3):
        pool.consider(extensions(all_magmas(order), round(40000 * scale), seed))
    generation = pool.absorb(pool.magmas())
    log.info("families separate %d pairs", pool.separation.pairs)
    for magma in generation:
        if magma.entry.order <= 7:
            pool.absorb(pool.consider(neighbours(magma.entry.table)))
    log.info("with their neighbours %d pairs", pool.separation.pairs)


@app.command()
def generate(
    *,
    out: Annotated[Path, typer.Option(help="The library file to write.")],
    work: Annotated[Path, typer.Option(help="Where the journal is kept.")],
    laws: Annotated[Path | None, typer.Option(help="Laws to separate; else all with up to four operations.")] = None,
    seed: Annotated[int, typer.Option(help="Chooses the samples of large families.")] = 0,
    tables: Annotated[int, typer.Option(help="The most tables to take.")] = 2000,
    least_gain: Annotated[int, typer.Option(help="Take no table that separates fewer new pairs.")] = 1,
    scale: Annotated[float, typer.Option(help="How much of the usual sample sizes to take.")] = 1.0,
    passes: Annotated[int, typer.Option(help="How many SAT passes to make.")] = len(SAT_PASSES),
    time_limit: Annotated[float, typer.Option(help="Seconds after which to begin no SAT search.")] = 1e9,
) -> None:
    """Generate the library of magmas."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    deadline = time.monotonic() + time_limit
    law_list = read_laws(laws) if laws else all_laws(4)
    pool = Pool(LawBook(law_list))
    log.info("all magmas of order 2 and 3 separate %d pairs of %d laws", pool.of_small_orders, len(law_list))
    fill(pool, seed, scale)
    separate_by_sat(pool, Journal.open(work / "sat.jsonl"), SAT_PASSES[:passes], deadline)
    entries, pairs = pool.best(tables, least_gain)
    log.info("%d tables, with the small orders they separate %d pairs", len(entries), pairs)
    text = "\n".join(map(str, law_list))
    write_library(
        out,
        entries,
        script="ekiden_cayley.generate_library",
        version=VERSION,
        seed=seed,
        scale=str(scale),
        sat_passes=passes,
        ended_by_time_limit=time.monotonic() > deadline,
        laws=len(law_list),
        laws_sha256=hashlib.sha256(text.encode()).hexdigest(),
        separated_by_small_orders=pool.of_small_orders,
        separated=pairs,
    )


if __name__ == "__main__":
    app()
