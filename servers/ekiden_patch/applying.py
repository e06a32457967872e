"""Applies a patch to a text: what Codex's own `apply_patch` makes of it, and which characters that replaces."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Literal, NamedTuple

from ekiden_blueprint.spans import Span
from ekiden_patch.grammar import Chunk, Patch
from ekiden_patch.matching import Ambiguity, LineTable, Match, find_chunk

_LINE_END = re.compile(r"\r\n|\n|\r")


class Replacement(NamedTuple):
    """Characters of the old text that give way to others.

    Attributes:
        span: Which characters of the old text; empty where text is only inserted.
        new_text: What stands there instead.
    """

    span: Span
    new_text: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What a patch makes of a text.

    Attributes:
        text: The new text.
        replacements: What changes, in order and apart from each other; whole lines, without those that stay.
    """

    text: str
    replacements: tuple[Replacement, ...]


class IntendedDifference(NamedTuple):
    """A patch on which Codex and we part on purpose.

    Attributes:
        name: What it is about.
        applies: Whether always, or only where ambiguity is refused.
        codex: What Codex does.
        ours: What we do.
        reason: Why.
    """

    name: str
    applies: Literal["always", "when ambiguity is refused"]
    codex: str
    ours: str
    reason: str


INTENDED_DIFFERENCES = (
    IntendedDifference(
        "unnamed_file",
        "always",
        "refuses a patch without '*** Update File'",
        "takes it to be for the file at hand; blank lines before the first chunk or the file's line are skipped",
        "the server knows its file, and a model that leaves the name out means that one",
    ),
    IntendedDifference(
        "one_file",
        "always",
        "adds, deletes, moves and updates any number of files; the first stay changed when a later one fails",
        "refuses all but updates of the one file",
        "a scope covers the text of one file, and half a patch is worse than none",
    ),
    IntendedDifference(
        "no_environment",
        "always",
        "accepts '*** Environment ID' and goes to that machine",
        "refuses it",
        "there is no other machine to go to",
    ),
    IntendedDifference(
        "ambiguous_lines",
        "when ambiguity is refused",
        "takes the first of several places that match equally well",
        "refuses and lists the places; after a '@@' header that stands in the file once, the first place is meant",
        "the wrong one of two equal proofs would be changed in silence",
    ),
    IntendedDifference(
        "addition_under_header",
        "when ambiguity is refused",
        "appends a chunk of added lines alone to the end of the file, whatever its '@@' header says",
        "inserts the lines after the header's line",
        "that is what the header asks for",
    ),
)


class _Edit(NamedTuple):
    """Lines of the file, by index, that give way to new ones."""

    start: int
    old_count: int
    content: tuple[str, ...]


class _Kept(NamedTuple):
    """Characters that are in the old and in the new text."""

    old: int
    new: int
    length: int


def apply_patch(text: str, patch: Patch, *, ambiguity: Ambiguity = "refuse") -> Applied:
    """Return what a patch makes of a text.

    Lines that only give context stay as the file has them, new lines end as the file's first line does, and the last
    line gets an end.

    Args:
        text: The file's text.
        patch: The patch.
        ambiguity: With "refuse", a chunk that could go to several places is refused; with "first", all is as in Codex.

    Raises:
        PatchError: A chunk belongs nowhere, or to several places.
    """
    new_text, kept = text, [_Kept(0, 0, len(text))]
    for _, chunks in groupby(patch.chunks, key=lambda chunk: chunk.section):
        new_text, more = _apply_section(new_text, list(chunks), ambiguity)
        kept = _compose(kept, more)
    return Applied(new_text, tuple(_replacements(text, new_text, kept)))


def _apply_section(text: str, chunks: Sequence[Chunk], ambiguity: Ambiguity) -> tuple[str, list[_Kept]]:
    lines = _split(text)
    table = LineTable([line for line, _ in lines])
    edits: list[_Edit] = []
    cursor = 0
    for chunk in chunks:
        match = find_chunk(table, chunk, cursor, ambiguity)
        edits += _edits(chunk, match)
        cursor = match.cursor
    return _rebuild(text, lines, sorted(edits, key=lambda edit: edit.start))


def _split(text: str) -> list[tuple[str, str]]:
    """Return the lines of a text, each with its end; only the last may have none."""
    lines: list[tuple[str, str]] = []
    start = 0
    for found in _LINE_END.finditer(text):
        lines.append((text[start : found.start()], found.group()))
        start = found.end()
    return lines if start == len(text) else [*lines, (text[start:], "")]


def _edits(chunk: Chunk, match: Match) -> Iterable[_Edit]:
    """Return each run of changes between the context lines of a chunk."""
    old = new = 0
    start, goes = match.start, 0
    comes: list[str] = []
    for line in chunk.lines:
        is_old = line.kind != "added" and old < match.old_count
        is_new = line.kind != "removed" and new < match.new_count
        if line.kind == "context" and is_old and is_new:
            yield _Edit(start, goes, tuple(comes))
            start, goes, comes = match.start + old + 1, 0, []
        else:
            goes += is_old
            comes += [line.text] if is_new else []
        old += line.kind != "added"
        new += line.kind != "removed"
    yield _Edit(start, goes, tuple(comes))


def _rebuild(text: str, lines: Sequence[tuple[str, str]], edits: Sequence[_Edit]) -> tuple[str, list[_Kept]]:
    """Return the text with its edits, and which characters of the old one it keeps."""
    usual = lines[0][1] if lines and lines[0][1] else "\n"
    starts = [0, *accumulate(len(line) + len(end) for line, end in lines)]
    parts: list[str] = []
    kept: list[_Kept] = []
    at = length = 0
    for edit in (*edits, _Edit(len(lines), 0, ())):
        if at < edit.start:
            parts.append(text[starts[at] : starts[edit.start]])
            kept.append(_Kept(starts[at], length, len(parts[-1])))
            if edit.start == len(lines) and not lines[-1][1]:
                parts[-1] += usual
            length += len(parts[-1])
        parts.append("".join(line + usual for line in edit.content))
        length += len(parts[-1])
        at = edit.start + edit.old_count
    return "".join(parts), kept


def _compose(first: Sequence[_Kept], second: Sequence[_Kept]) -> list[_Kept]:
    """Return what two changes, one after the other, keep of the first text."""
    both: list[_Kept] = []
    one = two = 0
    while one < len(first) and two < len(second):
        early, late = first[one], second[two]
        start, end = max(early.new, late.old), min(early.new + early.length, late.old + late.length)
        if start < end:
            both.append(_Kept(early.old + start - early.new, late.new + start - late.old, end - start))
        if early.new + early.length < late.old + late.length:
            one += 1
        else:
            two += 1
    return both


def _replacements(old: str, new: str, kept: Sequence[_Kept]) -> Iterable[Replacement]:
    at_old = at_new = 0
    for piece in (*kept, _Kept(len(old), len(new), 0)):
        if piece.old > at_old or piece.new > at_new:
            found = _trimmed(old, Span(at_old, piece.old), new[at_new : piece.new])
            if found.new_text or found.span.start < found.span.end:
                yield found
        at_old, at_new = piece.old + piece.length, piece.new + piece.length


def _trimmed(old: str, span: Span, new_text: str) -> Replacement:
    """Return the replacement without the lines that are the same at its start and at its end."""
    before = [line + end for line, end in _split(old[span.start : span.end])]
    after = [line + end for line, end in _split(new_text)]
    most = min(len(before), len(after))
    head = next((index for index in range(most) if before[index] != after[index]), most)
    tail = next((index for index in range(most - head) if before[-1 - index] != after[-1 - index]), most - head)
    start = span.start + sum(len(line) for line in before[:head])
    end = span.end - sum(len(line) for line in before[len(before) - tail :])
    return Replacement(Span(start, end), "".join(after[head : len(after) - tail]))
