"""What a model server writes: answers in the Chat, Responses, Messages and Embeddings formats, plain and as events."""

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

Dialect = Literal["chat", "responses", "messages", "embeddings"]
Json = dict[str, object]
DIALECTS: dict[str, Dialect] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    "/embeddings": "embeddings",
}
PIECE = 12  # characters of text in one event of a stream
DIMENSIONS = 8


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for."""

    name: str
    arguments: str = "{}"
    id: str = "call_1"


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer. Places in it are counted in pieces: the head, then each event, or each half of a plain body.

    `pause_after=0` waits before anything is sent, 1 after the head; likewise `reset_after` and `cut_after`.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = field(default=(), kw_only=True)
    reasoning: str = field(default="", kw_only=True)
    tokens: tuple[int, int] | None = field(default=None, kw_only=True)  # in and out; None: counted from the texts
    usage: Literal["right", "missing", "unreadable"] = field(default="right", kw_only=True)
    status: int = field(default=200, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], kw_only=True)
    body: bytes | None = field(default=None, kw_only=True)  # sent in place of what would be rendered
    pause_after: int | None = field(default=None, kw_only=True)  # until the server is told to `release`
    reset_after: int | None = field(default=None, kw_only=True)  # the connection is reset
    cut_after: int | None = field(default=None, kw_only=True)  # the connection is closed, half the answer unsent


def refusal(status: int, message: str = "scripted", *, retry_after: str = "", body: Json | None = None) -> Answer:
    """Return an answer that is an error, in a shape that all three client libraries read."""
    error: Json = body or {"type": "error", "error": {"type": "scripted_error", "message": message, "code": "scripted"}}
    headers = {"retry-after": retry_after} if retry_after else {}
    return Answer(status=status, headers=headers, body=json.dumps(error).encode())


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that the server got."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def dialect(self) -> Dialect | None:
        """The wire format of the call."""
        path = self.path.partition("?")[0]
        return next((name for end, name in DIALECTS.items() if path.endswith(end)), None)

    @property
    def json(self) -> Json:
        """The body; empty if it is no JSON object."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return cast("Json", value) if isinstance(value, dict) else {}

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.json.get("model", ""))

    @property
    def stream(self) -> bool:
        """Whether events were asked for."""
        return self.json.get("stream") is True

    @property
    def prompt(self) -> str:
        """All text of the messages, in order, a line each."""
        body = self.json
        return "\n".join(_texts([body.get(key) for key in ("system", "instructions", "messages", "input")]))

    @property
    def input_tokens(self) -> int:
        """The tokens of the prompt: a word of four characters each."""
        return max(1, len(self.prompt) // 4)

    @property
    def output_limit(self) -> int | None:
        """The most tokens the answer may have."""
        body = self.json
        given = [body.get(key) for key in ("max_completion_tokens", "max_tokens", "max_output_tokens")]
        return next((limit for limit in given if isinstance(limit, int)), None)


def echo(heard: Heard) -> Answer:
    """Answer with a sentence that depends on the model and the prompt alone."""
    mark = hashlib.sha256(f"{heard.model}\n{heard.prompt}".encode()).hexdigest()[:12]
    return Answer(f"Answer {mark} to {len(heard.prompt)} characters.")


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as it is sent, in pieces."""

    content_type: str
    pieces: tuple[bytes, ...]


def write(answer: Answer, heard: Heard) -> Written:
    """Render an answer in the format of the call it answers."""
    if answer.body is not None:
        kind = "text/event-stream" if heard.stream and answer.status < 400 else "application/json"
        return Written(kind, _halves(answer.body))
    if heard.path.partition("?")[0].endswith("/models"):
        return _plain({"object": "list", "data": [{"id": "scripted", "object": "model", "owned_by": "tests"}]})
    dialect = heard.dialect
    if dialect is None:
        counts = heard.path.partition("?")[0].endswith("/messages/count_tokens")
        missing: Json = {"error": {"message": f"no such path: {heard.path}"}}
        return _plain({"input_tokens": heard.input_tokens} if counts else missing)
    if dialect == "embeddings":
        return _plain(_embeddings(answer, heard))
    text, tokens, cut = _measured(answer, heard)
    turn = _Turn(answer, heard, text, tokens, cut)
    if heard.stream:
        events = {"chat": _chat_events, "responses": _responses_events, "messages": _messages_events}[dialect](turn)
        return Written("text/event-stream", tuple(events))
    return _plain({"chat": _chat, "responses": _response, "messages": _message}[dialect](turn))


@dataclass(frozen=True, slots=True)
class _Turn:
    answer: Answer
    heard: Heard
    text: str
    tokens: tuple[int, int]
    cut: bool

    @property
    def id(self) -> str:
        return hashlib.sha256(self.heard.body).hexdigest()[:16]

    @property
    def parts(self) -> Iterator[str]:
        return (self.text[at : at + PIECE] for at in range(0, len(self.text), PIECE))

    def usage(self, names: tuple[str, str], *, total: bool) -> Json:
        """Return the `usage` entry, or nothing, as the script says."""
        if self.answer.usage == "missing":
            return {}
        if self.answer.usage == "unreadable":
            return {"usage": {names[0]: "many", names[1]: None}}
        counts: Json = dict(zip(names, self.tokens, strict=True))
        return {"usage": counts | ({"total_tokens": sum(self.tokens)} if total else {})}


def _measured(answer: Answer, heard: Heard) -> tuple[str, tuple[int, int], bool]:
    text, limit = answer.text, heard.output_limit
    made = sum(len(call.arguments) for call in answer.tool_calls) + len(answer.reasoning)
    tokens = answer.tokens or (heard.input_tokens, max(1, (len(text) + made) // 4))
    if answer.tokens is not None or limit is None or tokens[1] <= limit:
        return text, tokens, False
    return text[: limit * 4], (tokens[0], limit), True


def _chat_usage(turn: _Turn) -> Json:
    return turn.usage(("prompt_tokens", "completion_tokens"), total=True)


def _finish(turn: _Turn, tools: str, cut: str, stop: str) -> str:
    return tools if turn.answer.tool_calls else cut if turn.cut else stop


def _chat(turn: _Turn) -> Json:
    calls = [_chat_call(call) for call in turn.answer.tool_calls]
    message: Json = {"role": "assistant", "content": turn.text or None}
    if calls:
        message["tool_calls"] = calls
    if turn.answer.reasoning:
        message["reasoning"] = turn.answer.reasoning
    choice = {"index": 0, "message": message, "finish_reason": _finish(turn, "tool_calls", "length", "stop")}
    head = {"id": f"chatcmpl-{turn.id}", "object": "chat.completion", "created": 1, "model": turn.heard.model}
    return {**head, "choices": [choice], **_chat_usage(turn)}


def _chat_call(call: ToolCall) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def _chat_events(turn: _Turn) -> Iterator[bytes]:
    head: Json = {"id": f"chatcmpl-{turn.id}", "object": "chat.completion.chunk", "created": 1}
    head["model"] = turn.heard.model

    def chunk(delta: Json, finish: str | None = None) -> bytes:
        return _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    yield chunk({"role": "assistant", "content": ""})
    for part in turn.parts:
        yield chunk({"content": part})
    for place, call in enumerate(turn.answer.tool_calls):
        yield chunk({"tool_calls": [{"index": place, **_chat_call(call)}]})
    yield chunk({}, _finish(turn, "tool_calls", "length", "stop"))
    asked = turn.heard.json.get("stream_options") == {"include_usage": True}
    if asked and (usage := _chat_usage(turn)):
        yield _event({**head, "choices": [], **usage})
    yield b"data: [DONE]\n\n"


def _response_head(turn: _Turn, status: str, output: list[Json]) -> Json:
    return {
        "id": f"resp_{turn.id}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": turn.heard.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def _items(turn: _Turn) -> list[Json]:
    items: list[Json] = []
    if turn.text or not turn.answer.tool_calls:
        part: Json = {"type": "output_text", "text": turn.text, "annotations": list[Json]()}
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]})
    for call in turn.answer.tool_calls:
        made = {"call_id": call.id, "name": call.name, "arguments": call.arguments, "status": "completed"}
        items.append({"id": f"fc_{call.id}", "type": "function_call", **made})
    return items


def _response(turn: _Turn) -> Json:
    status = "incomplete" if turn.cut else "completed"
    usage = turn.usage(("input_tokens", "output_tokens"), total=True)
    if turn.answer.usage == "right":
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {"usage": {**_mapping(usage["usage"]), **details}}
    cut = {"incomplete_details": {"reason": "max_output_tokens"}} if turn.cut else {}
    return {**_response_head(turn, status, _items(turn)), **cut, **usage}


def _responses_events(turn: _Turn) -> Iterator[bytes]:
    number = 0

    def event(kind: str, **fields: object) -> bytes:
        nonlocal number
        number += 1
        return _event({"type": kind, "sequence_number": number - 1, **fields}, kind)

    yield event("response.created", response=_response_head(turn, "in_progress", []))
    yield event("response.in_progress", response=_response_head(turn, "in_progress", []))
    for place, item in enumerate(_items(turn)):
        message = item["type"] == "message"
        at: Json = {"output_index": place, "item_id": item["id"]}
        opened: Json = {**item, "status": "in_progress"}
        opened["content" if message else "arguments"] = list[Json]() if message else ""
        yield event("response.output_item.added", output_index=place, item=opened)
        if message:
            part: Json = {"type": "output_text", "text": "", "annotations": list[Json]()}
            yield event("response.content_part.added", **at, content_index=0, part=part)
            for text in turn.parts:
                yield event("response.output_text.delta", **at, content_index=0, delta=text, logprobs=[])
            yield event("response.output_text.done", **at, content_index=0, text=turn.text, logprobs=[])
            yield event("response.content_part.done", **at, content_index=0, part={**part, "text": turn.text})
        else:
            yield event("response.function_call_arguments.delta", **at, delta=item["arguments"])
            yield event("response.function_call_arguments.done", **at, arguments=item["arguments"])
        yield event("response.output_item.done", output_index=place, item=item)
    yield event("response.incomplete" if turn.cut else "response.completed", response=_response(turn))


def _blocks(turn: _Turn) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    for call in turn.answer.tool_calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)})
    return blocks


def _message_usage(turn: _Turn) -> Json:
    return turn.usage(("input_tokens", "output_tokens"), total=False)


def _message(turn: _Turn) -> Json:
    head: Json = {"id": f"msg_{turn.id}", "type": "message", "role": "assistant", "model": turn.heard.model}
    stop = _finish(turn, "tool_use", "max_tokens", "end_turn")
    return {**head, "content": _blocks(turn), "stop_reason": stop, "stop_sequence": None, **_message_usage(turn)}


def _messages_events(turn: _Turn) -> Iterator[bytes]:
    def event(kind: str, **fields: object) -> bytes:
        return _event({"type": kind, **fields}, kind)

    begun: Json = {**_message(turn), "content": list[Json](), "stop_reason": None}
    if turn.answer.usage == "right":
        begun["usage"] = {"input_tokens": turn.tokens[0], "output_tokens": 1}
    yield event("message_start", message=begun)
    yield event("ping")
    for place, block in enumerate(_blocks(turn)):
        text = block["type"] == "text"
        opened: Json = {**block, "text": ""} if text else {**block, "input": Json()}
        yield event("content_block_start", index=place, content_block=opened)
        parts = turn.parts if text else (json.dumps(block["input"]),)
        for part in parts:
            delta = {"type": "text_delta", "text": part} if text else {"type": "input_json_delta", "partial_json": part}
            yield event("content_block_delta", index=place, delta=delta)
        yield event("content_block_stop", index=place)
    stop = {"stop_reason": _finish(turn, "tool_use", "max_tokens", "end_turn"), "stop_sequence": None}
    usage = _message_usage(turn)
    if turn.answer.usage == "right":
        usage = {"usage": {"output_tokens": turn.tokens[1]}}
    yield event("message_delta", delta=stop, **usage)
    yield event("message_stop")


def _embeddings(answer: Answer, heard: Heard) -> Json:
    body = heard.json
    given = body.get("input")
    texts = _texts([given])
    data: list[Json] = []
    for place, text in enumerate(texts):
        numbers = [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSIONS]]
        packed = base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *numbers)).decode()
        vector: object = packed if body.get("encoding_format") == "base64" else numbers
        data.append({"object": "embedding", "index": place, "embedding": vector})
    tokens = answer.tokens[0] if answer.tokens else max(1, sum(map(len, texts)) // 4)
    usage = {
        "right": {"usage": {"prompt_tokens": tokens, "total_tokens": tokens}},
        "missing": {},
        "unreadable": {"usage": {"prompt_tokens": "many"}},
    }[answer.usage]
    return {"object": "list", "data": data, "model": heard.model, **usage}


def _texts(value: object) -> list[str]:
    """Collect every text that a model reads in a list of messages."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in cast("list[object]", value) for text in _texts(item)]
    if isinstance(value, dict):
        found = cast("Json", value)
        return [text for key in ("text", "content", "output", "arguments") for text in _texts(found.get(key))]
    return []


def _mapping(value: object) -> Json:
    return cast("Json", value)


def _event(data: Json, kind: str = "") -> bytes:
    name = f"event: {kind}\n" if kind else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _plain(body: Json) -> Written:
    return Written("application/json", _halves(json.dumps(body, ensure_ascii=False).encode()))


def _halves(body: bytes) -> tuple[bytes, ...]:
    middle = len(body) // 2
    return body[:middle], body[middle:]
