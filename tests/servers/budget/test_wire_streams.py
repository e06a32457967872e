"""Streamed answers: what is passed on, what is read from them, in whatever pieces they come."""

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.wire import Dialect, StreamReader, Usage, error_event
from ekiden_budget.wire.sse import MAX_EVENT_BYTES, Event, EventSplitter

CHUNK = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"\xe2\x97\x87"},"finish_reason":null}]}\n\n'
USAGE = b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}\n\n'
DONE = b"data: [DONE]\n\n"
CHAT = CHUNK + b": keep-alive\n\n" + CHUNK + USAGE + DONE


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


MESSAGES = (
    event("message_start", message={"usage": {"input_tokens": 4, "cache_read_input_tokens": 90, "output_tokens": 1}})
    + event("ping")
    + event("content_block_delta", index=0, delta={"type": "text_delta", "text": "◇"})
    + event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 33, "input_tokens": None})
    + event("message_stop")
)
RESPONSES = (
    event("response.created", response={"id": "r", "usage": None})
    + event("response.output_text.delta", delta="◇")
    + event("response.completed", response={"usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}})
)
STREAMS: list[tuple[Dialect, bytes, Usage]] = [
    ("chat", CHAT, Usage(7, 3)),
    ("messages", MESSAGES, Usage(94, 33, 90)),
    ("responses", RESPONSES, Usage(9, 4)),
]
Outcome = tuple[bytes, Usage | None, bool, bool]


def run(dialect: Dialect, pieces: Sequence[bytes], *, hide: bool = False) -> Outcome:
    reader = StreamReader(dialect, hide_usage_event=hide)
    passed = b"".join([reader.feed(piece) for piece in pieces]) + reader.finish()
    return passed, reader.usage, reader.ended, reader.failed


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    marks = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in pairwise(marks)]


@pytest.mark.parametrize(("dialect", "stream", "usage"), STREAMS)
def test_a_stream_is_passed_on_and_its_usage_read(dialect: Dialect, stream: bytes, usage: Usage) -> None:
    assert run(dialect, [stream]) == (stream, usage, True, False)


@pytest.mark.parametrize(("dialect", "stream", "usage"), STREAMS)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("hide", [False, True])
def test_a_stream_may_come_byte_by_byte_and_with_any_ends_of_lines(
    dialect: Dialect, stream: bytes, usage: Usage, line_end: bytes, *, hide: bool
) -> None:
    stream = stream.replace(b"\n", line_end)
    hidden = USAGE.replace(b"\n", line_end) if hide else b""
    expected = stream.replace(hidden, b"") if hidden else stream
    assert run(dialect, [stream[at : at + 1] for at in range(len(stream))], hide=hide) == (expected, usage, True, False)


line = st.sampled_from(
    [b"data: x", b"data:y", b"data", b"data: \xe2\x97\x87", b": comment", b"event: e", b"id: 1", b"dataset: z", b"",
     CHUNK.strip(), USAGE.strip(), DONE.strip(), b'data: {"error":{"message":"x"}}', b'data: {"choices":[],',
     b'data: "usage":{"prompt_tokens":5,"completion_tokens":1}}', b'data: {"choices":[],"usage":"odd"}']
)  # fmt: skip
streams = st.lists(st.tuples(line, st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n"])), max_size=12).map(
    lambda lines: b"".join(text + end for text, end in lines)
)


@given(streams, st.lists(st.integers(0, 10_000), max_size=20), st.booleans())
def test_no_way_to_cut_a_stream_changes_anything(stream: bytes, places: list[int], hide: bool) -> None:
    assert run("chat", cut(stream, places), hide=hide) == run("chat", [stream], hide=hide)


@given(streams, st.lists(st.integers(0, 10_000), max_size=20))
def test_events_are_those_that_the_standard_describes(stream: bytes, places: list[int]) -> None:
    """The oracle reads all lines at once, as the standard says; events that it must drop for lack of an end count."""
    expected: list[bytes] = []
    data: list[bytes] = []
    for text in [*re.split(rb"\r\n|\n|\r", stream), b""]:
        if not text and data:
            expected.append(b"\n".join(data))
            data = []
        elif text == b"data" or text.startswith(b"data:"):
            data.append(text[5:].removeprefix(b" "))
    splitter = EventSplitter()
    found: list[Event] = [event for piece in cut(stream, places) for event in splitter.split(piece)]
    if (last := splitter.finish()) is not None:
        found.append(last)
    assert [event.data for event in found if event.data is not None] == expected
    assert b"".join(event.raw for event in found) == stream


@given(streams, st.lists(st.integers(0, 10_000), max_size=20))
def test_an_event_is_too_long_whatever_its_pieces(stream: bytes, places: list[int]) -> None:
    def kinds(pieces: Sequence[bytes]) -> tuple[list[tuple[bytes | None, bool]], bytes]:
        splitter = EventSplitter(max_event_bytes=40)
        found: list[Event] = []
        passed = b""
        for piece in pieces:
            for event in splitter.split(piece):
                found.append(event)
                passed += event.raw
            if splitter.oversized:
                passed += splitter.drop_start()
        if (last := splitter.finish()) is not None:
            found.append(last)
            passed += last.raw
        return [(event.data, event.oversized) for event in found], passed

    whole = kinds([stream])
    assert kinds(cut(stream, places)) == whole
    assert whole[1] == stream


@pytest.mark.parametrize("hide", [False, True])
def test_an_endless_event_is_passed_on_unread_and_makes_the_usage_unreadable(*, hide: bool) -> None:
    piece = b"x" * 1_000_000
    reader = StreamReader("chat", hide_usage_event=hide)
    passed = len(reader.feed(b"data: "))
    sent = 6
    held = 0
    for _ in range(30):
        passed += len(reader.feed(piece))
        sent += len(piece)
        held = max(held, sent - passed)
    assert held <= MAX_EVENT_BYTES + len(piece)
    rest = b"\n\n" + USAGE + DONE
    passed += len(reader.feed(rest)) + len(reader.finish())
    assert passed == sent + len(rest) - (len(USAGE) if hide else 0)
    assert (reader.usage, reader.ended) == (None, True)


def test_nothing_is_held_back_unless_an_event_must_be_hidden() -> None:
    assert StreamReader("chat", hide_usage_event=False).feed(b"data: {") == b"data: {"
    reader = StreamReader("chat", hide_usage_event=True)
    assert reader.feed(b"data: {") == b""
    assert reader.feed(b"}\n\ndata:") == b"data: {}\n\n"
    assert reader.finish() == b"data:"


def test_a_usage_beside_a_choice_is_never_hidden() -> None:
    stream = CHUNK.replace(b'"id"', b'"usage":{"prompt_tokens":7,"completion_tokens":3},"id"') + DONE
    assert run("chat", [stream], hide=True) == (stream, Usage(7, 3), True, False)


def test_a_running_count_is_no_usage_until_the_stream_has_ended() -> None:
    reader = StreamReader("chat", hide_usage_event=False)
    reader.feed(CHUNK.replace(b'"id"', b'"usage":{"prompt_tokens":7,"completion_tokens":1},"id"'))
    assert reader.usage is None
    reader.feed(CHUNK.replace(b'"id"', b'"usage":{"prompt_tokens":7,"completion_tokens":2},"id"'))
    reader.finish()
    assert reader.usage == Usage(7, 2)


def test_what_the_start_of_a_message_says_of_its_output_is_no_usage() -> None:
    reader = StreamReader("messages", hide_usage_event=False)
    reader.feed(MESSAGES[: MESSAGES.index(b"event: message_delta")])
    assert reader.usage is None


@pytest.mark.parametrize("usage", [{"prompt_tokens": -1, "completion_tokens": 3}, {"total_tokens": "10"}, {}])
def test_a_usage_event_that_cannot_be_read_tells_no_usage(usage: dict[str, object]) -> None:
    stream = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n" + DONE
    assert run("chat", [stream]) == (stream, None, True, False)


@pytest.mark.parametrize(
    "data",
    [b"data: {", b"data: \xff\xfe", b"data: []", b"data: " + b"[" * 100_000, b'data: {"usage":' + b"9" * 5000 + b"}"],
)
@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_an_event_that_is_no_json_is_passed_on(dialect: Dialect, data: bytes) -> None:
    stream = data + b' "usage" "error" "message_delta" response.completed\n\n'
    assert run(dialect, [stream], hide=dialect == "chat") == (stream, None, False, False)


def test_responses_tell_their_usage_however_they_end() -> None:
    usage = {"input_tokens": 9, "output_tokens": 4}
    for kind, failed in (("response.incomplete", False), ("response.failed", True)):
        stream = event(kind, response={"usage": usage})
        assert run("responses", [stream]) == (stream, Usage(9, 4), True, failed)
    stream = event("response.completed", response={"id": "r"})
    assert run("responses", [stream]) == (stream, None, True, False)


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_an_error_in_a_stream_is_noticed(dialect: Literal["chat", "messages", "responses"]) -> None:
    reader = StreamReader(dialect, hide_usage_event=False)
    reader.feed(error_event(dialect, "overloaded"))
    assert (reader.failed, reader.usage) == (True, None)


def test_a_last_event_without_its_blank_line_is_read() -> None:
    assert run("chat", [USAGE + b"data: [DONE]"]) == (USAGE + b"data: [DONE]", Usage(7, 3), True, False)
    assert run("messages", [MESSAGES.rstrip()]) == (MESSAGES.rstrip(), Usage(94, 33, 90), True, False)


def test_a_stream_of_messages_whose_last_count_is_missing_has_no_usage() -> None:
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 10, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    reader = StreamReader("messages", hide_usage_event=False)
    for event in events:
        reader.feed(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    assert (reader.usage, reader.ended) == (None, True)
