"""What the sources of a mix hold, one record after the other."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from ekiden_store.data_sets.mixes import ContrastSource, DedupeKey, FileSource, Source
from ekiden_store.errors import StoreError, one_line
from ekiden_store.queries.pairs import Example, Tally, examples
from ekiden_store.queries.pairs_contrast import Contrast, contrasts
from ekiden_store.queries.sorry import gives_up
from ekiden_store.snapshot import Snapshot

_MAX_LINE_BYTES = 64 << 20
_CONTRAST = tuple(each.name for each in fields(Contrast))


class Item(NamedTuple):
    """One record of a source, and what tells whether another one is its double."""

    theorem: str
    record: dict[str, object]
    key: dict[DedupeKey, str]

    @property
    def characters(self) -> int:
        """How long its state and its tactics are together."""
        return len(self.key["state"]) + len(self.key["tactic"])


@dataclass(slots=True)
class SourceReading:
    """What was found in a source; complete when all of it is read.

    Attributes:
        tally: What became of its rows.
        file_sha256: The hash of its file, if it is one.
    """

    tally: Tally = field(default_factory=Tally)
    file_sha256: str | None = None


def items(source: Source, snapshot: Snapshot | None, reading: SourceReading) -> Iterator[Item]:
    """Yield what a source holds.

    Args:
        source: The source.
        snapshot: The store, if it takes anything from one.
        reading: Is filled with what was found.

    Raises:
        StoreError: It cannot be read.
    """
    if isinstance(source, FileSource):
        yield from _lines(source.path, reading)
        return
    if snapshot is None:
        raise StoreError(f"The source {source.name!r} is one of a store, and no store was given.")
    if isinstance(source, ContrastSource):
        pairs = contrasts(
            snapshot,
            source.rows,
            failed=source.failed,
            with_states=source.with_states,
            on_proofs=source.on_proofs,
            conflicts=source.conflicts,
            verdicts=source.verdicts,
            tally=reading.tally,
        )
        for pair in pairs:
            tactics = f"{pair.positive}\0{pair.negative}"
            record = {name: getattr(pair, name) for name in _CONTRAST}
            yield Item(pair.theorem, record, {"theorem": pair.theorem, "state": pair.state, "tactic": tactics})
        return
    found = examples(
        snapshot,
        source.rows,
        finishing=source.finishing,
        on_proofs=source.on_proofs,
        verdicts=source.verdicts,
        tally=reading.tally,
    )
    yield from map(_item, found)


def _item(example: Example) -> Item:
    record: dict[str, object] = {
        "theorem": example.theorem,
        "state": example.state,
        "tactic": example.tactic,
        "depth": example.depth,
    }
    return Item(example.theorem, record, {"theorem": example.theorem, "state": example.state, "tactic": example.tactic})


def _lines(path: Path, reading: SourceReading) -> Iterator[Item]:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(_read(file), 1):
                digest.update(line)
                if line.strip():
                    reading.tally.rows += 1
                    example = _example(line, f"Line {number} of {path.name!r}")
                    if reason := _reason(example):
                        reading.tally.unusable[reason] += 1
                        continue
                    reading.tally.used += 1
                    yield _item(example)
    except OSError as error:
        raise StoreError(f"{str(path)!r} cannot be read: {one_line(error)}") from error
    reading.file_sha256 = digest.hexdigest()


def _read(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(_MAX_LINE_BYTES + 1):
        yield line


def _reason(example: Example) -> str | None:
    if not example.tactic.strip() or not example.state.strip():
        return "root" if not example.tactic.strip() else "finished_before"
    return "sorry" if gives_up(example.tactic) else None


def _example(line: bytes, place: str) -> Example:
    if len(line) > _MAX_LINE_BYTES:
        raise StoreError(f"{place} is longer than {_MAX_LINE_BYTES} bytes.")
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place} is no JSON: {error}.") from error
    row = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    theorem, state, tactic = row.get("theorem", ""), row.get("state"), row.get("tactic")
    depth = row.get("depth", 0)
    if not isinstance(state, str) or not isinstance(tactic, str) or not isinstance(theorem, str):
        raise StoreError(
            f"{place} lacks the text of a state or a tactic: it has {', '.join(map(repr, row)) or 'nothing'}."
        )
    if not isinstance(depth, int) or isinstance(depth, bool):
        raise StoreError(f"{place} has the depth {depth!r}, which is no whole number.")
    return Example(theorem, state, tactic, depth)
