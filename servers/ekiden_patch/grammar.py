"""Reads a patch in Codex's `apply_patch` format, for one file that is already there.

*** Begin Patch
*** Update File: Main.lean        (may be left out: the file is known)
@@ theorem foo                    (a line of the file to start after; `@@` alone: none)
 a line that stays
-a line that goes
+a line that comes
*** End of File                   (optional: the lines above are the last of the file)
*** End Patch
"""

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ekiden_patch.errors import PatchError

# What Codex trims: Unicode's white space. Python's own `strip` takes U+001C to U+001F as well.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

BEGIN = "*** Begin Patch"
END = "*** End Patch"
UPDATE = "*** Update File: "
END_OF_FILE = "*** End of File"
_HEREDOCS = ("<<EOF", "<<'EOF'", '<<"EOF"')
_FOREIGN = {
    "*** Add File: ": "adding a file",
    "*** Delete File: ": "deleting a file",
    "*** Environment ID:": "choosing an environment",
}
_MOVE = "*** Move to: "

LineKind = Literal["context", "removed", "added"]
_KINDS: dict[str, LineKind] = {"": "context", " ": "context", "-": "removed", "+": "added"}


class PatchLine(NamedTuple):
    """One line of a chunk, without its mark.

    Attributes:
        kind: Whether it stays, goes or comes.
        text: The line.
        number: Where it stands in the patch, from 1.
    """

    kind: LineKind
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """One place of the file, and what becomes of it.

    Attributes:
        header: The line of the file after which to look (`@@ header`), or None.
        lines: What stays, goes and comes, in order.
        at_end_of_file: Whether the old lines must be the last of the file.
        number: Where the chunk starts in the patch, from 1.
        section: Which `*** Update File` it stands under, from 0. Each section starts again at the top of the file, as
            the one before it left it.
    """

    header: str | None
    lines: tuple[PatchLine, ...]
    at_end_of_file: bool
    number: int
    section: int = 0

    @property
    def old_lines(self) -> tuple[str, ...]:
        """The lines that must be in the file."""
        return tuple(line.text for line in self.lines if line.kind != "added")

    @property
    def new_lines(self) -> tuple[str, ...]:
        """The lines that stand there afterwards, as the patch spells them."""
        return tuple(line.text for line in self.lines if line.kind != "removed")


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of one file.

    Attributes:
        chunks: Its places, in the order of the file within each section.
        path: The file that it names, as it names it; None when it names none.
    """

    chunks: tuple[Chunk, ...]
    path: str | None


def parse_patch(text: str) -> Patch:
    """Read a patch.

    Args:
        text: The patch; blanks around it, padded markers, CRLF line ends and a heredoc around the whole are accepted.

    Raises:
        PatchError: The text is no patch, or one that does more than update one file.
    """
    reader = _Reader()
    for number, line in _body(text):
        reader.read(line, number)
    return reader.finish()


def check_target(patch: Patch, names: Collection[str]) -> None:
    """Refuse a patch that names another file than the one it is for.

    Args:
        patch: The patch.
        names: The names by which the file goes; the first is told in the refusal.

    Raises:
        PatchError: The patch names a file, and it is none of these.
    """
    if patch.path is None or posixpath.normpath(patch.path) in {posixpath.normpath(name) for name in names}:
        return
    target = next(iter(names), "")
    message = f"The patch updates {patch.path!r}, but only {target!r} can be edited here; name that file, or none."
    raise PatchError("wrong_file", message, {"path": patch.path, "target": target})


def _body(text: str) -> list[tuple[int, str]]:
    """Return the numbered lines between the two markers."""
    stripped = text.lstrip(BLANKS)
    first = text[: len(text) - len(stripped)].count("\n") + 1
    lines = [line.removesuffix("\r") for line in stripped.rstrip(BLANKS).split("\n")]
    if lines[0] in _HEREDOCS and lines[-1].endswith("EOF") and len(lines) >= 4:
        lines, first = lines[1:-1], first + 1
    if lines[0].strip(BLANKS) != BEGIN:
        message = f"The first line of a patch must be {BEGIN!r}, but it is {_short(lines[0])}."
        raise PatchError("no_begin_marker", message, {"patch_line": first})
    last = first + len(lines) - 1
    if len(lines) < 2 or lines[-1].strip(BLANKS) != END:
        message = f"The last line of a patch must be {END!r}, but it is {_short(lines[-1])}."
        raise PatchError("no_end_marker", message, {"patch_line": last})
    # The carriage return of a CRLF patch is off already; Codex takes one more off each line.
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines[1:-1], first + 1)]


@dataclass(slots=True)
class _OpenChunk:
    header: str | None
    number: int
    lines: list[PatchLine] = field(default_factory=list[PatchLine])
    at_end_of_file: bool = False


@dataclass(slots=True)
class _Reader:
    """What was read so far."""

    chunks: list[Chunk] = field(default_factory=list[Chunk])
    path: str | None = None
    section: int = -1
    section_line: int = 0
    fresh: bool = True  # no chunk was begun in this section
    open: _OpenChunk | None = None
    ended: bool = False

    def read(self, line: str, number: int) -> None:
        """Take one line of the body."""
        # An indented marker inside a section is a line of the file; before the first section there is no such line.
        marker = line.strip(BLANKS) if self.section < 0 else line.rstrip(BLANKS)
        if self.ended and marker:
            message = (
                f"Line {number} of the patch is {_short(line)}, but {END!r} came before it; that is the last line."
            )
            raise PatchError("misplaced_end_marker", message, {"patch_line": number})
        if self.ended or self._read_file_marker(marker, number):
            return
        if self.section < 0:
            if not marker:
                return
            self._begin_section(None, number, line)
        if marker == "@@" or marker.startswith("@@ "):
            self._begin_chunk(marker[3:] if len(marker) > 2 else None, number)
        elif marker == END_OF_FILE and not self._is_ended():
            self._end_at_file(number)
        elif not (self._is_ended() and not marker):
            self._read_line(line, number)

    def finish(self) -> Patch:
        """Return the patch, once every line was read."""
        if self.section < 0:
            raise PatchError("no_chunks", "The patch changes nothing: it has no chunk. Start one with '@@'.")
        self._close_section()
        return Patch(tuple(self.chunks), self.path)

    def _read_file_marker(self, marker: str, number: int) -> bool:
        if not marker.startswith("*** "):
            return False
        if marker == END:
            self.ended = True
            return True
        for prefix, deed in _FOREIGN.items():
            if marker.startswith(prefix):
                self._refuse_operation(marker, deed, number)
        if marker.startswith(_MOVE) and self.fresh:
            self._refuse_operation(marker, "moving a file", number)
        if not marker.startswith(UPDATE):
            return False
        self._begin_section(marker.removeprefix(UPDATE), number, marker)
        return True

    def _refuse_operation(self, marker: str, deed: str, number: int) -> None:
        message = (
            f"Line {number} of the patch, {_short(marker)}, asks for {deed}; only the file's text can be changed here."
        )
        operation = marker.removeprefix("*** ").partition(":")[0]
        raise PatchError("file_operation", message, {"patch_line": number, "operation": operation})

    def _begin_section(self, path: str | None, number: int, line: str) -> None:
        if self.section >= 0:
            self._close_section()
            if self.path is None or posixpath.normpath(path or "") != posixpath.normpath(self.path):
                message = (
                    f"Line {number} of the patch starts on another file, {_short(line)}; send one patch for each file."
                )
                raise PatchError("several_files", message, {"patch_line": number, "paths": [self.path, path]})
        elif path is None and (line.strip(BLANKS).startswith("***") or not line.startswith(("@@", "+", "-", " "))):
            message = (
                f"Line {number} of the patch is {_short(line)}; a chunk starts with '@@' alone, or with '@@ ' and a "
                "line of the file after which it stands."
            )
            raise PatchError("bad_header", message, {"patch_line": number})
        else:
            self.path = path
        self.section, self.section_line, self.fresh = self.section + 1, number, True

    def _begin_chunk(self, header: str | None, number: int) -> None:
        if self.open is not None and not self.open.lines:
            message = (
                f"Line {number} of the patch starts a chunk, but that of line {self.open.number} has no lines; "
                "give one '@@' for each chunk."
            )
            raise PatchError("empty_chunk", message, {"patch_line": number})
        self._close_chunk()
        self.open, self.fresh = _OpenChunk(header, number), False

    def _end_at_file(self, number: int) -> None:
        if self.open is None:
            return
        if not self.open.lines:
            raise self._empty_chunk(self.open, number)
        self.open.at_end_of_file = True

    def _is_ended(self) -> bool:
        return self.open is not None and self.open.at_end_of_file

    def _read_line(self, line: str, number: int) -> None:
        mark = line[:1]
        if self._is_ended() or mark not in _KINDS:
            message = (
                f"Line {number} of the patch is {_short(line)}; "
                + (
                    f"after {END_OF_FILE!r} only"
                    if self._is_ended()
                    else "a line of a chunk starts with ' ', '-' or '+', and only"
                )
                + " a new chunk ('@@') or the end of the patch can follow."
            )
            raise PatchError("bad_line", message, {"patch_line": number})
        if self.open is None:
            self.open, self.fresh = _OpenChunk(None, number), False
        self.open.lines.append(PatchLine(_KINDS[mark], line[1:], number))

    def _close_chunk(self) -> None:
        chunk = self.open
        if chunk is not None:
            if not chunk.lines:
                raise self._empty_chunk(chunk, chunk.number)
            self.chunks.append(
                Chunk(chunk.header, tuple(chunk.lines), chunk.at_end_of_file, chunk.number, self.section)
            )
        self.open = None

    def _close_section(self) -> None:
        self._close_chunk()
        if self.fresh:
            message = (
                f"Line {self.section_line} of the patch names {self.path!r}, and no chunk follows; start one with '@@'."
            )
            raise PatchError("no_chunks", message, {"patch_line": self.section_line})

    @staticmethod
    def _empty_chunk(chunk: _OpenChunk, number: int) -> PatchError:
        message = f"The chunk from line {chunk.number} of the patch has no lines; each starts with ' ', '-' or '+'."
        return PatchError("empty_chunk", message, {"patch_line": number})


def _short(line: str) -> str:
    return repr(line if len(line) <= 120 else line[:117] + "...")
