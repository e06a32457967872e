"""Data sets for training: JSON Lines with the state before each tactic, and a manifest with hashes.

The same rows, mix and seed give the same bytes, whatever order and files the rows lie in.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from ekiden_files import sync_folder, writing_whole
from ekiden_store.errors import StoreError, one_line
from ekiden_store.exports_manifest import MANIFEST, FileEntry, Manifest, SourceEntry
from ekiden_store.exports_sources import SourceReading, items
from ekiden_store.mixes import FileSource, Mix, Source
from ekiden_store.redaction import Redactor
from ekiden_store.sampling_hashes import Distinct, text_digest, text_number
from ekiden_store.sampling_sorting import Ranked, RankedLines
from ekiden_store.snapshot import Snapshot

TRAIN = "train.jsonl"
VALIDATION = "validation.jsonl"
_STATES = 65_536


def export_mix(
    mix: Mix, folder: Path, *, snapshot: Snapshot | None = None, redactor: Redactor | None = None
) -> Manifest:
    """Write a data set as a new folder: `train.jsonl`, `validation.jsonl` if something is kept for it, `manifest.json`.

    The folder is there when all of it is. Lines are in a random order, which the seed tells.

    Args:
        mix: What it is made of.
        folder: Where it is to lie; there must be nothing yet.
        snapshot: The store; None: the mix takes nothing from one.
        redactor: Strikes out secrets; None: those that are known by their shape.

    Raises:
        StoreError: There is something already, or a source or the disk makes trouble; nothing is written then.
    """
    redactor = redactor or Redactor()
    before = Counter(redactor.found)
    with _whole_folder(folder) as half_written, RankedLines() as train, RankedLines() as validation:
        kept = bool(mix.validation.fraction or mix.validation.theorems)
        sides = _Sides(mix, redactor, train, validation)
        sources = [_add(source, snapshot, sides) for source in mix.sources]
        files = {TRAIN: train, VALIDATION: validation} if kept else {TRAIN: train}
        written = [_write(half_written / name, lines) for name, lines in files.items()]
        manifest = Manifest(
            mix=_redacted(_told(mix), redactor),
            sources=tuple(sources),
            files=tuple(entry for entry, _ in written),
            shared_states=written[0][1].shared_with(written[1][1]) if kept else 0,
            redacted=dict(sorted((redactor.found - before).items())),
        )
        with writing_whole(half_written / MANIFEST, sync=True) as file:
            file.write(manifest.model_dump_json(indent=2).encode() + b"\n")
    return manifest


@dataclass(frozen=True, slots=True)
class _Sides:
    """The files that lines go to, and what strikes out secrets on the way."""

    mix: Mix
    redactor: Redactor
    train: RankedLines
    validation: RankedLines

    def place(self, ranked: Ranked, source: Source) -> None:
        """Add a line to the file that its theorem belongs to."""
        clean = _line(_redacted({**json.loads(ranked.line), "source": source.name}, self.redactor))
        is_kept = self._is_for_validation(ranked.theorem, source)
        side, copies = (self.validation, 1) if is_kept else (self.train, source.upsample)
        for copy in range(copies):
            rank = text_digest("mix", str(self.mix.seed), source.name, str(copy), ranked.line.decode())
            side.add(rank, clean, ranked.theorem)

    def _is_for_validation(self, theorem: str, source: Source) -> bool:
        kept = self.mix.validation
        if not theorem and (kept.fraction or kept.theorems):
            raise StoreError(
                f"An example of the source {source.name!r} names no theorem, so nobody knows whether it may be trained "
                "on. Name its theorem, or keep nothing for validation."
            )
        return theorem in kept.theorems or text_number("split", str(self.mix.seed), theorem) < kept.fraction * 2**64


def _add(source: Source, snapshot: Snapshot | None, sides: _Sides) -> SourceEntry:
    """Add the lines of a source to both files."""
    reading = SourceReading()
    examples = different = chosen = hashes = 0
    with RankedLines() as lines:
        for item in items(source, snapshot, reading):
            line = _line(item.record)
            examples += 1
            hashes += int.from_bytes(hashlib.sha256(line).digest())
            alike = [item.key[name] for name in source.dedupe] if source.dedupe else [line.decode()]
            lines.add(text_digest("source", str(sides.mix.seed), source.name, *alike), line, item.theorem)
        for ranked in lines.one_of_each_rank() if source.dedupe else lines.in_order():
            different += 1
            if source.subsample is None or different <= source.subsample:
                chosen += 1
                sides.place(ranked, source)
    return SourceEntry(
        name=source.name,
        rows=reading.tally.rows,
        unusable=dict(sorted(reading.tally.unusable.items())),
        examples=examples,
        doubles=examples - different,
        chosen=chosen,
        sha256_sum=f"{hashes % 2**256:064x}",
        file_sha256=reading.file_sha256,
    )


def _write(path: Path, lines: RankedLines) -> tuple[FileEntry, Distinct]:
    """Write a file; return what it holds, and its states."""
    digest = hashlib.sha256()
    size = 0
    theorems: set[str] = set()
    sources: Counter[str] = Counter()
    states = Distinct()
    waiting: list[int] = []
    with writing_whole(path, sync=True) as file:
        for ranked in lines.in_order():
            line = ranked.line + b"\n"
            record = json.loads(line)
            file.write(line)
            digest.update(line)
            size += len(line)
            theorems.add(ranked.theorem)
            sources[record["source"]] += 1
            waiting.append(text_number(record["state"]))
            if len(waiting) >= _STATES:
                states.add(np.array(waiting, dtype=np.uint64))
                waiting.clear()
    states.add(np.array(waiting, dtype=np.uint64))
    entry = FileEntry(
        name=path.name,
        lines=sources.total(),
        theorems=len(theorems),
        bytes=size,
        sha256=digest.hexdigest(),
        sources=dict(sorted(sources.items())),
    )
    return entry, states


def _line(record: object) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise StoreError(
            f"An example holds half of a surrogate pair, so no file can hold it: {record!r:.200}."
        ) from error


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {name: _redacted(each, redactor) for name, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_redacted(each, redactor) for each in cast("list[Any]", value)]
    return value


def _told(mix: Mix) -> dict[str, Any]:
    """Return a mix as the manifest tells of it: of files their names alone, so that it tells of no place."""
    told = mix.model_dump(mode="json")
    for source, given in zip(told["sources"], mix.sources, strict=True):
        if isinstance(given, FileSource):
            source["path"] = given.path.name
    return told


@contextmanager
def _whole_folder(folder: Path) -> Generator[Path]:
    """Yield a folder beside the one that is wanted, which takes its name in the end."""
    if folder.exists() or folder.is_symlink():
        raise StoreError(f"{str(folder)!r} is there already. Choose another folder, or take it away.")
    half_written = folder.with_name(f".{folder.name[:50]}.{os.urandom(8).hex()}.part")
    try:
        half_written.mkdir(parents=True)
        yield half_written
        sync_folder(half_written)
        half_written.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"The data set {str(folder)!r} cannot be written: {one_line(error)}") from error
    finally:
        shutil.rmtree(half_written, ignore_errors=True)
