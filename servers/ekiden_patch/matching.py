"""Finds where a chunk of a patch belongs in a file, as Codex does, and says why when that is nowhere or unclear."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Literal, NamedTuple

from ekiden_patch.errors import PatchError
from ekiden_patch.grammar import BLANKS, Chunk

Ambiguity = Literal["refuse", "first"]
Level = Literal["exact", "right_trimmed", "trimmed", "folded"]

_FOLDS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        **dict.fromkeys("\xa0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
_LEVELS: dict[Level, Callable[[str], str]] = {
    "exact": lambda line: line,
    "right_trimmed": lambda line: line.rstrip(BLANKS),
    "trimmed": lambda line: line.strip(BLANKS),
    "folded": lambda line: line.strip(BLANKS).translate(_FOLDS),
}
_SHOWN = 8  # candidates, or differing lines, that a refusal lists
_SHOWN_LENGTH = 160
_COMPARED = 100  # lines of a chunk that are compared with the region nearest to it
_LOOKED_AT = 300  # places of one word that the search for the nearest region looks at; rare words count for more


class Match(NamedTuple):
    """Where a chunk goes.

    Attributes:
        start: Index of the file's line before which, or from which, the chunk goes.
        old_count: How many lines of the file it matched.
        new_count: How many of the chunk's new lines are written: not its empty last one, where the file has none such.
        cursor: The line from which the next chunk is looked for.
        level: How closely the lines agree.
    """

    start: int
    old_count: int
    new_count: int
    cursor: int
    level: Level


class _Difference(NamedTuple):
    line: int
    expected: str
    found: str


class LineTable:
    """The lines of a file, without their ends, ready to be searched."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        self._folded: dict[Level, tuple[str, ...]] = {}
        self._places: dict[Level, dict[str, list[int]]] = {}

    def __len__(self) -> int:
        return len(self.lines)

    def find(
        self, wanted: Sequence[str], start: int = 0, *, first_only: bool = False
    ) -> tuple[Level, list[int]] | None:
        """Return every place at the closest level at which there is one, or None.

        Args:
            wanted: The lines to find, at least one.
            start: The first line at which a place may begin.
            first_only: Return the first place alone.
        """
        for level, fold in _LEVELS.items():
            if found := self._find_at(level, tuple(fold(line) for line in wanted), start, first_only):
                return level, found
        return None

    def _find_at(self, level: Level, wanted: tuple[str, ...], start: int, first_only: bool) -> list[int]:
        lines, places = self.folded(level), self.index(level)
        # The line of the lot that the file has least often leaves the fewest places to look at.
        anchor = min(range(len(wanted)), key=lambda index: len(places.get(wanted[index], ())))
        rarest = places.get(wanted[anchor], [])
        last = len(lines) - len(wanted)
        begin = bisect_left(rarest, start + anchor)
        if len(wanted) == 1:
            return rarest[begin : begin + 1] if first_only else rarest[begin:]
        found: list[int] = []
        for index in range(begin, len(rarest)):
            place = rarest[index] - anchor
            if place > last:
                break
            if lines[place : place + len(wanted)] == wanted:
                found.append(place)
                if first_only:
                    break
        return found

    def folded(self, level: Level) -> tuple[str, ...]:
        """Return the lines as they are compared at a level."""
        if level not in self._folded:
            fold = _LEVELS[level]
            self._folded[level] = tuple(fold(line) for line in self.lines)
        return self._folded[level]

    def index(self, level: Level) -> dict[str, list[int]]:
        """Return where each line stands, as the lines are compared at a level."""
        if level not in self._places:
            places: dict[str, list[int]] = {}
            for index, line in enumerate(self.folded(level)):
                places.setdefault(line, []).append(index)
            self._places[level] = places
        return self._places[level]

    @cached_property
    def words(self) -> dict[str, list[int]]:
        """The lines in which each word stands."""
        words: dict[str, list[int]] = {}
        for index, line in enumerate(self.folded("folded")):
            for word in set(line.split()):
                words.setdefault(word, []).append(index)
        return words


def find_chunk(table: LineTable, chunk: Chunk, cursor: int, ambiguity: Ambiguity) -> Match:
    """Return where a chunk goes.

    Without a header, that is the first place at or after the cursor. With one, it is the first place after the header.

    Args:
        table: The file.
        chunk: The chunk.
        cursor: The line after the chunk before this one.
        ambiguity: With "refuse", a chunk that could go to several places is refused. With "first" it goes to the first
            of them, and added lines alone go to the end of the file, header or not, as in Codex.

    Raises:
        PatchError: There is no such place, or there are several.
    """
    headers = [] if chunk.header is None else _headers(table, chunk, chunk.header, cursor, ambiguity)
    start = headers[0] + 1 if headers else cursor
    if not chunk.old_lines:
        return _find_addition(table, chunk, start, headers, ambiguity)
    one_is_enough = ambiguity == "first" or chunk.header is not None or chunk.at_end_of_file
    match, places = _find_from(table, chunk, start, first_only=one_is_enough)
    if match is None:
        raise _not_found(table, chunk, start)
    if ambiguity == "refuse" and not chunk.at_end_of_file:
        places = places + _places_after(table, chunk, match, headers)
        if len(places) > 1:
            raise _ambiguous(table, chunk, places, "old lines match")
    return match


def _headers(table: LineTable, chunk: Chunk, header: str, cursor: int, ambiguity: Ambiguity) -> list[int]:
    found = table.find([header], cursor, first_only=ambiguity == "first")
    if found is None:
        raise _header_not_found(table, chunk, header, cursor)
    return found[1]


def _find_addition(table: LineTable, chunk: Chunk, start: int, headers: list[int], ambiguity: Ambiguity) -> Match:
    count = len(chunk.new_lines)
    if ambiguity == "first" or chunk.header is None or chunk.at_end_of_file:
        return Match(len(table), 0, count, start, "exact")
    if len(headers) > 1:
        raise _ambiguous(table, chunk, headers, f"header {chunk.header!r} matches")
    return Match(start, 0, count, start, "exact")


def _find_from(table: LineTable, chunk: Chunk, start: int, *, first_only: bool) -> tuple[Match | None, list[int]]:
    """Return the first place from a line on, and it alone or every place at its level."""
    wanted, new_count = chunk.old_lines, len(chunk.new_lines)
    found = _find_lines(table, chunk, wanted, start, first_only)
    if found is None and not wanted[-1]:
        # Models write an empty line for the end of the file's last line: it need not be there.
        wanted, new_count = wanted[:-1], new_count - (chunk.new_lines[-1:] == ("",))
        found = _find_lines(table, chunk, wanted, start, first_only)
    if found is None:
        return None, []
    level, places = found
    return Match(places[0], len(wanted), new_count, places[0] + len(wanted), level), places


def _places_after(table: LineTable, chunk: Chunk, match: Match, headers: list[int]) -> list[int]:
    """Return the first places after those headers that stand after the place that was found."""
    later = headers[bisect_left(headers, match.start) :]
    if not later or not match.old_count:
        return []
    found = table.find(chunk.old_lines[: match.old_count], later[0] + 1)
    if found is None or found[0] != match.level:
        return []
    places = (bisect_left(found[1], header + 1) for header in later)
    return sorted({found[1][place] for place in places if place < len(found[1])})


def _find_lines(
    table: LineTable, chunk: Chunk, wanted: Sequence[str], start: int, first_only: bool
) -> tuple[Level, list[int]] | None:
    if not wanted:
        return "exact", [start]
    start = max(start, len(table) - len(wanted)) if chunk.at_end_of_file else start
    return table.find(wanted, start, first_only=first_only)


def _ambiguous(table: LineTable, chunk: Chunk, places: list[int], what: str) -> PatchError:
    shown = ", ".join(f"line {place + 1} ({_line(table, place)})" for place in places[:_SHOWN])
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    message = (
        f"Chunk from line {chunk.number} of the patch: its {what} {len(places)} places: {shown}{more}. Add context "
        "lines, or a '@@' header that stands in the file once, until one place is left."
    )
    candidates = [{"line": place + 1, "text": table.lines[place]} for place in places[:_SHOWN] if place < len(table)]
    return PatchError(
        "ambiguous", message, {"patch_line": chunk.number, "count": len(places), "candidates": candidates}
    )


def _header_not_found(table: LineTable, chunk: Chunk, header: str, cursor: int) -> PatchError:
    details: dict[str, object] = {"patch_line": chunk.number, "header": header, "from_line": cursor + 1}
    if found := table.find([header]):
        return _out_of_order(chunk, f"header {header!r}", found[1], details)
    nearest = [] if (place := _nearest(table, [header])) is None else [{"line": place + 1, "text": table.lines[place]}]
    hint = f"; the nearest is line {nearest[0]['line']}, {_line(table, place or 0)}" if nearest else ""
    message = (
        f"No line of the file reads {header!r}, the header of the chunk in line {chunk.number} of the patch{hint}. "
        "Give a whole line of the file after '@@ ', or '@@' alone."
    )
    return PatchError("header_not_found", message, {**details, "nearest": nearest})


def _not_found(table: LineTable, chunk: Chunk, start: int) -> PatchError:
    wanted = list(chunk.old_lines)
    details: dict[str, object] = {"patch_line": chunk.number, "from_line": start + 1, "expected": _cut(wanted)}
    if chunk.at_end_of_file and (found := table.find(wanted, start)):
        lines = [place + 1 for place in found[1][:_SHOWN]]
        message = (
            f"The chunk from line {chunk.number} of the patch must match the end of the file, but its old lines stand "
            f"at line {lines[0]}, and more follow. Drop '*** End of File', or send the file's last lines."
        )
        return PatchError("not_at_end_of_file", message, {**details, "lines": lines})
    if found := table.find(wanted):
        return _out_of_order(chunk, "old lines", found[1], details)
    place = _nearest(table, wanted)
    if place is None:
        message = (
            f"The old lines of the chunk from line {chunk.number} of the patch are not in the file, nor is anything "
            "like them. Read the file again and copy them from it."
        )
        return PatchError("lines_not_found", message, details)
    differences = _differences(table, wanted, place)
    told = "; ".join(f"at line {each.line} expected {each.expected}, found {each.found}" for each in differences)
    message = (
        f"The old lines of the chunk from line {chunk.number} of the patch are not in the file. The nearest place is "
        f"line {place + 1}: {told}. Copy the lines from the file as they are."
    )
    listed = [each._asdict() for each in differences]
    return PatchError("lines_not_found", message, {**details, "nearest_line": place + 1, "differences": listed})


def _out_of_order(chunk: Chunk, what: str, places: list[int], details: dict[str, object]) -> PatchError:
    lines = [place + 1 for place in places[:_SHOWN]]
    message = (
        f"The {what} of the chunk from line {chunk.number} of the patch stand in the file only at line "
        f"{', '.join(str(line) for line in lines)}, before line {details['from_line']}, where its search starts. "
        "Chunks come in the order of the file, do not overlap, and follow their '@@' header."
    )
    return PatchError("out_of_order", message, {**details, "lines": lines})


def _nearest(table: LineTable, wanted: Sequence[str]) -> int | None:
    """Return the start of the region that shares the most lines and words with what was wanted, if any does."""
    votes: Counter[int] = Counter()
    index = table.index("folded")
    folded = [_LEVELS["folded"](line) for line in wanted]
    rarest = sorted(range(len(folded)), key=lambda offset: len(index.get(folded[offset], ())) or _LOOKED_AT)
    for offset in rarest[:_COMPARED]:
        for word in set(folded[offset].split()):
            places = table.words.get(word, ())
            for place in places[:_LOOKED_AT]:
                votes[place - offset] += 1 + _LOOKED_AT // len(places)
        for place in index.get(folded[offset], ())[:_LOOKED_AT] if folded[offset] else ():
            votes[place - offset] += _LOOKED_AT
    if not votes:
        return None
    best = max(votes.values())
    return max(0, min(start for start, count in votes.items() if count == best))


def _differences(table: LineTable, wanted: list[str], place: int) -> list[_Difference]:
    """Return what differs between the wanted lines and the region of the file from a line on."""
    region = table.folded("folded")[place : place + len(wanted)]
    folded = tuple(_LEVELS["folded"](line) for line in wanted)
    pairs = enumerate(zip(folded, region, strict=False))
    same = next((offset for offset, (one, other) in pairs if one != other), len(region))
    matcher = SequenceMatcher(None, folded[same:][:_COMPARED], region[same:][:_COMPARED], autojunk=False)
    wanted, place = wanted[same:], place + same
    return [
        _Difference(place + there + 1, _told(wanted[begin:end]), _told(table.lines[place + there : place + until]))
        for tag, begin, end, there, until in matcher.get_opcodes()
        if tag != "equal"
    ][:_SHOWN]


def _told(lines: Sequence[str]) -> str:
    return repr(_cut(lines)) if lines else "no such line"


def _cut(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "..."


def _line(table: LineTable, place: int) -> str:
    return repr(_cut([table.lines[place]])) if place < len(table) else "the end of the file"
