"""Files of attempts, told apart by what they hold, and their way into the store."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Literal

from ekiden_store import Store, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ekiden_store import Origin, Step
    from ekiden_store.columns import StatePpIs

FileKind = Literal["parquet", "atif", "session"]
_SUFFIXES = frozenset({".parquet", ".json", ".jsonl"})
_BATCH = 4_096
_FIRST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the files themselves do not say.

    Attributes:
        theorem: What was to be proved.
        run: The run that the rows belong to; empty: what the file says, else its name.
        iteration: The iteration of expert iteration.
        origin: Where rows of Parquet files come from.
        state_pp: Whether their `state_pp` is the state after the tactic or before it, or mixed.
        is_over: Whether sessions are over: calls without a result have then failed.
    """

    theorem: str = ""
    run: str = ""
    iteration: int | None = None
    origin: Origin = "import"
    state_pp: StatePpIs = "after"
    is_over: bool = False


@dataclass(slots=True)
class Imported:
    """What became of one file.

    Attributes:
        file: The file.
        kind: What it was.
        rows: How many rows the store gained.
        known: How many it had already.
        notes: What of the file made no row.
        error: Why nothing was imported; empty: something was.
    """

    file: str
    kind: str = ""
    rows: int = 0
    known: int = 0
    notes: list[str] = field(default_factory=list[str])
    error: str = ""


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Return the files to import: those named, the parts of stores, and of other folders all that may be attempts.

    Raises:
        StoreError: A store has rows that are in no part, or a folder holds nothing to import.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        if (path / "store.json").is_file():
            _require_compacted(path)
            path = path / "parts"  # noqa: PLW2901
        below = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())
        if not below:
            raise StoreError(f"There is nothing to import in {str(path)!r}: no .parquet, .json or .jsonl file.")
        found += below
    return list(dict.fromkeys(found))


def import_file(store: Store, path: Path, options: ImportOptions) -> Imported:
    """Add the rows of one file to the store; what keeps it out is told, and raises nothing."""
    done = Imported(str(path))
    try:
        done.kind = kind_of(path)
        if done.kind == "parquet":
            added = store.import_parquet(
                path, state_pp_is=options.state_pp, origin=options.origin, run_id=options.run or None
            )
            done.rows, done.known = added.rows, added.known
        elif done.kind == "atif":
            from ekiden_store.sessions.atif import read_trajectory

            _append(store, read_trajectory(path, theorem_name=options.theorem, run_id=options.run), done)
        else:
            _import_session(store, path, options, done)
    except StoreError as error:
        done.error = str(error)
    return done


def kind_of(path: Path) -> FileKind:
    """Tell what a file of attempts is, by what it holds.

    Raises:
        StoreError: It cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(_FIRST_LINE)
            while line and not line.strip():
                line = file.readline(_FIRST_LINE)
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {error.strerror}.") from error
    if line.startswith(b"PAR1"):
        return "parquet"
    if not line.lstrip().startswith(b"{"):
        raise StoreError(
            f"{str(path)!r} holds no attempts: it is neither Parquet, nor a trajectory of ATIF, nor a session file of "
            "Codex or Claude Code."
        )
    try:
        first: object = json.loads(line)
    except (ValueError, RecursionError):
        return "atif"  # an object over several lines
    return "atif" if isinstance(first, dict) and "schema_version" in first else "session"


def _import_session(store: Store, path: Path, options: ImportOptions, done: Imported) -> None:
    from ekiden_store.sessions.session import SessionFile

    session = SessionFile(
        path,
        theorem_name=options.theorem,
        run_id=options.run,
        iteration=options.iteration,
        is_over=options.is_over,
    )
    _append(store, session.steps(), done)
    report = session.report
    done.kind = report.kind or "session"
    if report.damaged:
        done.notes.append(f"{report.damaged} lines are damaged")
    if report.copied:
        done.notes.append(f"{report.copied} lines repeat the session that it was forked from")
    if report.unfinished:
        done.notes.append(f"{report.unfinished} calls have no result yet (--over: they have failed)")
    if report.unknown:
        done.notes.append(f"{report.unknown.total()} lines of unknown kinds: {', '.join(sorted(report.unknown)[:5])}")
    if report.torn:
        done.notes.append("the last line is not finished")


def _append(store: Store, steps: Iterable[Step], done: Imported) -> None:
    from ekiden_store.row_ids import known_ids

    waiting = iter(steps)
    with store.writer(producer="ekiden store import") as writer:
        while batch := list(islice(waiting, _BATCH)):
            with store.snapshot() as snapshot:
                known = known_ids(snapshot, [step.row_id for step in batch])
            writer.append(batch)
            done.rows += len({step.row_id for step in batch} - known)
            done.known += len(known)


def _require_compacted(folder: Path) -> None:
    from ekiden_store.segments import listed_segments

    if any(segment.path.stat().st_size for segment in listed_segments(folder / "wal")):
        raise StoreError(
            f"The store {str(folder)!r} has rows that are in no part yet: "
            f"ekiden store compact --store {folder}, then import again."
        )
