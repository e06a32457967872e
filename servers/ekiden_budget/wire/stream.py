"""Reading a streamed answer on its way to the caller."""

import json
from collections.abc import Mapping
from typing import assert_never, cast

from ekiden_budget.wire.call import Dialect
from ekiden_budget.wire.fields import mapping_of
from ekiden_budget.wire.sse import Event, EventSplitter
from ekiden_budget.wire.usage import Usage, read_usage

_ENDS = ("response.completed", "response.incomplete", "response.failed")
_MARKS = (b'"error"', *(end.encode() for end in _ENDS))


class StreamReader:
    """Passes the bytes of one streamed answer on and reads from them what it cost.

    The bytes are passed on as they come, but for the usage event that only the proxy asked for. While such an event
    has to be looked for, each event is passed on once it is whole.

    Attributes:
        ended: Whether the event was seen with which the format ends its streams.
        failed: Whether the upstream said in the stream that it failed.
    """

    def __init__(self, dialect: Dialect, *, hide_usage_event: bool = False) -> None:
        self._dialect: Dialect = dialect
        self._hides = hide_usage_event
        self._events = EventSplitter()
        self._usage: Usage | None = None
        self._counts: dict[str, object] = {}
        self._settled = False
        self._unreadable = False
        self.ended = False
        self.failed = False

    @property
    def usage(self) -> Usage | None:
        """What the call cost; None until the upstream has said so for good, and when it cannot be read."""
        return self._usage if self._settled and not self._unreadable else None

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the answer in and return those to pass on."""
        if not self._hides:
            for event in self._events.split(data):
                self._read(event)
            if self._events.oversized:
                self._events.drop_start()
            return data
        kept = bytearray()
        for event in self._events.split(data):
            if not self._read(event):
                kept += event.raw
        if self._events.oversized:
            kept += self._events.drop_start()
        return bytes(kept)

    def finish(self) -> bytes:
        """Return the bytes that were held back, now that the upstream has closed the stream as it should."""
        event = self._events.finish()
        hidden = event is not None and self._read(event)
        self._settled = self._settled or self._usage is not None
        return event.raw if event is not None and self._hides and not hidden else b""

    def _read(self, event: Event) -> bool:
        """Look at one event and tell whether the caller must not see it."""
        if event.oversized:
            self._unreadable = True
        if event.data is None:
            return False
        match self._dialect:
            case "chat" | "embeddings":
                return self._read_chat(event.data)
            case "responses":
                self._read_responses(event.data)
            case "messages":
                self._read_messages(event.data)
            case _:
                assert_never(self._dialect)
        return False

    def _read_chat(self, data: bytes) -> bool:
        if data.strip() == b"[DONE]":
            self.ended = True
            self._settled = self._usage is not None
            return False
        if b'"usage"' not in data and b'"error"' not in data:
            return False
        chunk = _json_object(data)
        if chunk.get("error"):
            self.failed = True
        if not isinstance(chunk.get("usage"), dict):
            return False
        self._usage = read_usage("chat", chunk)
        # a chunk with choices may be followed by others, with a running count in each
        alone = chunk.get("choices") == []
        self._settled = self._settled or alone
        return alone and self._hides

    def _read_responses(self, data: bytes) -> None:
        if not any(mark in data for mark in _MARKS):
            return
        event = _json_object(data)
        kind = event.get("type")
        if kind in ("error", "response.failed"):
            self.failed = True
        if kind in _ENDS:
            self.ended = self._settled = True
            self._usage = read_usage("responses", mapping_of(event.get("response")))

    def _read_messages(self, data: bytes) -> None:
        if b'"message_' not in data and b'"error"' not in data:
            return
        event = _json_object(data)
        match event.get("type"):
            case "message_start":
                self._add(mapping_of(event.get("message")))
            case "message_delta":
                # its counts are those of the whole answer up to here
                self._add(event)
                if "output_tokens" in mapping_of(event.get("usage")):
                    self._usage = read_usage("messages", {"usage": self._counts})
                    self._settled = True
            case "message_stop":
                self.ended = True
            case "error":
                self.failed = True
            case _:
                pass

    def _add(self, event: Mapping[str, object]) -> None:
        counts = mapping_of(event.get("usage"))
        self._counts |= {name: value for name, value in counts.items() if value is not None}


def _json_object(data: bytes) -> Mapping[str, object]:
    """Return the object in an event's data, or an empty one if there is none that can be read."""
    try:
        return mapping_of(cast("object", json.loads(data)))
    except (ValueError, RecursionError):  # not JSON, not UTF-8, an enormous number, or a tower of brackets
        return {}
