"""Server-sent events as bytes: where each one ends, whatever pieces they arrive in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_EVENT_BYTES = 8 * 1024 * 1024

# Two ends of lines in a row. A carriage return at the end of what is there may be half of one: it waits for the next
# byte.
_END = re.compile(rb"(?:\r\n|\n|\r(?=[^\n])){2}", re.DOTALL)
_LINE = re.compile(rb"\r\n|\n|\r")
_WIDEST_END = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        raw: Its bytes, the blank line behind it included, as far as they were kept.
        data: Its lines of data joined; None if it has none, as a comment.
        oversized: Whether it was too long to be kept: its raw bytes are only its end, and its data is not known.
    """

    raw: bytes
    data: bytes | None
    oversized: bool = False


class EventSplitter:
    """Cuts a stream of bytes into events.

    What it finds does not depend on the pieces in which the bytes come. It keeps at most one event and one piece.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._limit = max_event_bytes
        self._buffer = bytearray()
        self._looked_at = 0
        self._oversized = False

    @property
    def waiting(self) -> bytes:
        """The bytes of the event that has not ended, as far as they are kept."""
        return bytes(self._buffer)

    @property
    def oversized(self) -> bool:
        """Whether the event that has not ended is too long to be kept."""
        return self._oversized

    def split(self, data: bytes) -> Iterator[Event]:
        """Take bytes in and yield the events that end in them."""
        self._buffer += data
        start = 0
        while (end := _END.search(self._buffer, max(start, self._looked_at - _WIDEST_END))) is not None:
            yield self._event(bytes(self._buffer[start : end.end()]))
            start = self._looked_at = end.end()
        del self._buffer[:start]
        self._looked_at = len(self._buffer)
        if len(self._buffer) > self._limit:
            self._oversized = True

    def drop_start(self) -> bytes:
        """Give up the kept bytes of an oversized event but for those in which its end may have begun."""
        given = bytes(self._buffer[:-_WIDEST_END])
        del self._buffer[:-_WIDEST_END]
        self._looked_at = len(self._buffer)
        return given

    def finish(self) -> Event | None:
        """Return what came behind the last blank line, which some servers leave out at the very end."""
        if not self._buffer:
            return None
        event = self._event(bytes(self._buffer))
        self._buffer.clear()
        self._looked_at = 0
        return event

    def _event(self, raw: bytes) -> Event:
        oversized = self._oversized or len(raw) > self._limit
        self._oversized = False
        return Event(raw, None if oversized else _data_of(raw), oversized)


def _data_of(raw: bytes) -> bytes | None:
    """Join the lines of data of one event."""
    lines: list[bytes] = []
    for line in _LINE.split(raw):
        name, _, value = line.removeprefix(b"\xef\xbb\xbf").partition(b":")
        if name == b"data":
            lines.append(value.removeprefix(b" "))
    return b"\n".join(lines) if lines else None
