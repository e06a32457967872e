"""Data sets for training: JSON Lines with the state before each tactic, and a manifest with hashes.

The same rows, mix and seed give the same bytes, whatever order and files the rows lie in.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from ekiden_files import writing_whole
from ekiden_store.data_sets.exports_folder import whole_folder
from ekiden_store.data_sets.exports_manifest import MANIFEST, TRAIN, VALIDATION, FileEntry, Manifest, SourceEntry
from ekiden_store.data_sets.exports_names import Given, Names
from ekiden_store.data_sets.exports_sources import Item, SourceReading, items
from ekiden_store.data_sets.mixes import FileSource, Mix, Source
from ekiden_store.data_sets.mixes_template import Template
from ekiden_store.errors import StoreError
from ekiden_store.queries.sampling_hashes import Distinct, text_digest, text_number
from ekiden_store.queries.sampling_sorting import Ranked, RankedLines
from ekiden_store.redaction.redactor import Redactor
from ekiden_store.snapshot import Snapshot

_STATES = 65_536
_MOST_NAMES = 5
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # some readers end a line there


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
    names = Names(mix)
    template = None if mix.template is None else _redacted_template(mix.template, redactor)
    with whole_folder(folder) as half_written, RankedLines() as train, RankedLines() as validation:
        sides = _Sides(mix, names, redactor, train, validation)
        sources = [_add(source, snapshot, sides) for source in mix.sources]
        files = {TRAIN: train, VALIDATION: validation} if names.keeps_some else {TRAIN: train}
        written = [_write(half_written / name, lines, template) for name, lines in files.items()]
        entries = tuple(entry for entry, _ in written)
        told = _told(mix) | ({} if template is None else {"template": template.model_dump(mode="json")})
        manifest = Manifest(
            ekiden=version("ekiden"),
            mix=_redacted(told, redactor),
            lists=dict(sorted(names.lists.items())),
            template_sha256=None if template is None else template.sha256,
            sources=tuple(sources),
            files=entries,
            shared_states=written[0][1].shared_with(written[1][1]) if names.keeps_some else 0,
            redacted=dict(sorted((redactor.found - before).items())),
            remarks=tuple(map(redactor.redact, _remarks(mix, sources, entries, names, snapshot))),
        )
        with writing_whole(half_written / MANIFEST, sync=True) as file:
            file.write(manifest.model_dump_json(indent=2).encode() + b"\n")
    return manifest


@dataclass(frozen=True, slots=True)
class _Sides:
    """The files that lines go to, and what strikes out secrets on the way."""

    mix: Mix
    names: Names
    redactor: Redactor
    train: RankedLines
    validation: RankedLines
    given: Given = field(default_factory=Given)

    def left_out(self, item: Item, source: Source) -> str:
        """Return why an example is left out; empty: it is not."""
        if self.names.is_left_out(item.theorem, source):
            return "theorem_left_out"
        if self.mix.max_characters is not None and item.characters > self.mix.max_characters:
            return "too_long"
        return "in_a_source_above" if self._looks_above(source) and self.given.has(item.record) else ""

    def place(self, ranked: Ranked, source: Source) -> None:
        """Add a line to the file that its theorem belongs to."""
        record = json.loads(ranked.line)
        if len(self.mix.sources) > 1 and self.mix.dedupe:
            self.given.add(record)
        clean = _line(_redacted(record, self.redactor) | {"source": source.name})
        is_kept = self.names.is_kept(ranked.theorem)
        side, copies = (self.validation, 1) if is_kept else (self.train, source.upsample)
        for copy in range(copies):
            rank = text_digest("mix", str(self.mix.seed), source.name, str(copy), ranked.line.decode())
            side.add(rank, clean, ranked.theorem)

    def _looks_above(self, source: Source) -> bool:
        return self.mix.dedupe and bool(source.dedupe)


def _add(source: Source, snapshot: Snapshot | None, sides: _Sides) -> SourceEntry:
    """Add the lines of a source to both files."""
    reading = SourceReading()
    examples = different = chosen = hashes = 0
    left_out: Counter[str] = Counter()
    with RankedLines() as lines:
        for item in items(source, snapshot, reading):
            line = _line(item.record)
            examples += 1
            hashes += int.from_bytes(hashlib.sha256(line).digest())
            if reason := sides.left_out(item, source):
                left_out[reason] += 1
                continue
            alike = [item.key[name] for name in source.dedupe] if source.dedupe else [line.decode()]
            lines.add(text_digest("source", str(sides.mix.seed), source.name, *alike), line, item.theorem)
        for ranked in lines.one_of_each_rank() if source.dedupe else lines.in_order():
            different += 1
            if source.subsample is None or different <= source.subsample:
                chosen += 1
                sides.place(ranked, source)
    sides.given.close_source()
    conflicts = {"positive_elsewhere": reading.tally.conflicts} if reading.tally.conflicts else {}
    return SourceEntry(
        name=source.name,
        rows=reading.tally.rows,
        unusable=dict(sorted(reading.tally.unusable.items())),
        examples=examples + reading.tally.conflicts,
        left_out=dict(sorted((left_out + Counter(conflicts)).items())),
        doubles=examples - left_out.total() - different,
        chosen=chosen,
        sha256_sum=f"{hashes % 2**256:064x}",
        file_sha256=reading.file_sha256,
    )


def _write(path: Path, lines: RankedLines, template: Template | None) -> tuple[FileEntry, Distinct]:
    """Write a file; return what it holds, and its states."""
    digest = hashlib.sha256()
    size = 0
    theorems: set[str] = set()
    sources: Counter[str] = Counter()
    states = Distinct()
    waiting: list[int] = []
    with writing_whole(path, sync=True) as file:
        for ranked in lines.in_order():
            record = json.loads(ranked.line)
            line = (ranked.line if template is None else _line(template.worded(record))) + b"\n"
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
    entry = FileEntry.model_validate(
        {
            "name": path.name,
            "lines": sources.total(),
            "theorems": len(theorems),
            "bytes": size,
            "sha256": digest.hexdigest(),
            "sources": dict(sorted(sources.items())),
        }
    )
    return entry, states


def _remarks(
    mix: Mix, sources: list[SourceEntry], files: tuple[FileEntry, ...], names: Names, snapshot: Snapshot | None
) -> Iterator[str]:
    """Yield what is not as one might expect."""
    for source, entry in zip(mix.sources, sources, strict=True):
        if not entry.rows:
            yield f"The source {source.name!r} found nothing that it asks for."
        elif source.subsample is not None and entry.chosen < source.subsample:
            yield f"The source {source.name!r} was to give {source.subsample} examples and has {entry.chosen}."
        elif not entry.chosen:
            yield f"Of the {entry.rows} rows of the source {source.name!r} none became an example."
    yield from (f"{entry.name} is empty." for entry in files if not entry.lines)
    if found := names.not_met:
        more = f" and {len(found) - _MOST_NAMES} more" if len(found) > _MOST_NAMES else ""
        shown = ", ".join(map(repr, found[:_MOST_NAMES]))
        yield f"There are no examples of theorems that were to be kept for validation: {shown}{more}."
    if damaged := len(snapshot.findings) if snapshot else 0:
        yield f"{damaged} files or lines of the store are damaged; what they held is not here. Check the store."


def _line(record: object) -> bytes:
    try:
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        return _LINE_ENDS.sub(lambda match: f"\\u{ord(match[0]):04x}", line).encode()
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


def _redacted_template(template: Template, redactor: Redactor) -> Template:
    return template.model_copy(
        update={name: redactor.redact(getattr(template, name)) for name in ("prompt", "completion", "system")}
    )


def _told(mix: Mix) -> dict[str, Any]:
    """Return a mix as the manifest tells of it: of files their names alone, so that it tells of no place."""
    told = mix.model_dump(mode="json")
    told["validation"]["files"] = [file.name for file in mix.validation.files]
    told["left_out"]["files"] = [file.name for file in mix.left_out.files]
    for source, given in zip(told["sources"], mix.sources, strict=True):
        if isinstance(given, FileSource):
            source["path"] = given.path.name
    return told
