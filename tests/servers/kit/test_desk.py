"""The front desk says exactly what the server would say, or leaves the question to it."""

import json
from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCResponse, jsonrpc_message_adapter

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_kit.desk import CAPABILITIES_KEY, CLIENT_KEY, REVISION_KEY, Desk, Listing
from ekiden_kit.listing import render_listing
from servers.kit.tally import SERVER

Message = dict[str, Any]
SETTINGS = default_settings()
CLIENT = {"name": "test", "version": "1"}


def request(identity: int | str, method: str, params: object = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": identity, "method": method}
    return message if params is None else message | {"params": params}


def initialize(revision: str, **changes: object) -> Message:
    return request(0, "initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT} | changes)


def enveloped(
    identity: int | str, method: str, revision: str = "2026-07-28", changes: Message | None = None
) -> Message:
    meta = {REVISION_KEY: revision, CAPABILITIES_KEY: {}, CLIENT_KEY: CLIENT} | (changes or {})
    return request(identity, method, {"_meta": meta})


INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture(scope="module")
def listing() -> Listing:
    return anyio.run(render_listing, build_server([SERVER], SETTINGS))


def desk_answers(desk: Desk, messages: Sequence[object]) -> dict[int | str, bytes]:
    answers = (desk.answer(json.dumps(message).encode()) for message in messages)
    return dict(answer for answer in answers if answer is not None)


async def server_answers(messages: Sequence[Message]) -> dict[int | str | None, bytes]:
    """Return the lines that the SDK's own standard-streams transport would write, by id."""
    lowlevel = build_server([SERVER], SETTINGS).lowlevel
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    answer, answered = anyio.create_memory_object_stream[SessionMessage](100)
    lines: dict[int | str | None, bytes] = {}
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks, ask, answered:
            tasks.start_soon(lowlevel.run, asked, answer, lowlevel.create_initialization_options())
            for message in messages:
                await ask.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))
                if "id" in message:
                    said = (await answered.receive()).message
                    assert isinstance(said, JSONRPCResponse | JSONRPCError)
                    lines[said.id] = said.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
            ask.close()
    return lines


CONVERSATIONS = {
    **{
        f"handshake {revision}": [
            initialize(revision),
            INITIALIZED,
            request("list", "tools/list"),
            request("again", "tools/list", {"_meta": {"progressToken": 3, "x-codex-turn-metadata": "t"}}),
            request(7, "ping"),
        ]
        for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01")
    },
    "discovery": [enveloped(0, "server/discover"), enveloped(1, "tools/list"), enveloped("x", "server/discover")],
    "no discovery": [enveloped(1, "tools/list")],
    "anonymous": [enveloped(1, "server/discover", changes={CLIENT_KEY: None})],
}


@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
async def test_every_answer_is_the_servers_byte_for_byte(listing: Listing, messages: list[Message]) -> None:
    answers = desk_answers(Desk(lambda: listing, lambda: True), messages)
    assert answers == await server_answers(messages)
    assert len(answers) == sum("id" in message for message in messages)


UNCLEAR_OPENINGS: dict[str, object] = {
    "a list before the handshake": request(1, "tools/list"),
    "a ping before the handshake": request(1, "ping"),
    "a probe without envelope": request(1, "server/discover"),
    "an unknown revision in the envelope": enveloped(1, "server/discover", "2031-01-01"),
    "a handshake revision in the envelope": enveloped(1, "server/discover", "2025-11-25"),
    "an envelope without capabilities": enveloped(1, "tools/list", changes={CAPABILITIES_KEY: None}),
    "a handshake without client": initialize("2025-11-25", clientInfo=None),
    "a handshake with odd capabilities": initialize("2025-11-25", capabilities={"roots": 3}),
    "a handshake with an odd revision": initialize("2025-11-25", protocolVersion=7),
    "no parameters": request(1, "initialize"),
    "meta that is a list": request(1, "tools/list", {"_meta": []}),
    "a call": enveloped(1, "tools/nonsense", "2031-01-01"),
}


@pytest.mark.parametrize("opening", UNCLEAR_OPENINGS.values(), ids=UNCLEAR_OPENINGS.keys())
def test_after_an_unclear_opening_everything_is_left_to_the_server(listing: Listing, opening: object) -> None:
    desk = Desk(lambda: listing, lambda: True)
    assert desk_answers(desk, [opening, initialize("2025-11-25"), enveloped(2, "tools/list")]) == {}


@pytest.mark.parametrize(
    "question",
    [
        request(9, "tools/list", {"cursor": "x"}),
        request(9, "tools/call", {"name": "tally_count"}),
        request(9, "resources/list"),
        enveloped(9, "tools/list"),
        initialize("2025-06-18"),
        request(9, "server/discover"),
    ],
)
def test_what_has_no_fixed_answer_is_left_to_the_server_and_the_rest_is_still_answered(
    listing: Listing, question: Message
) -> None:
    desk = Desk(lambda: listing, lambda: True)
    assert list(desk_answers(desk, [initialize("2025-11-25"), question, request(2, "tools/list")])) == [0, 2]


def test_tools_that_settings_change_are_left_to_the_server(listing: Listing) -> None:
    desk = Desk(lambda: listing, lambda: False)
    assert list(desk_answers(desk, [initialize("2025-11-25"), request(1, "tools/list"), request(2, "ping")])) == [0, 2]


def test_without_a_listing_everything_is_left_to_the_server() -> None:
    assert desk_answers(Desk(lambda: None, lambda: True), [initialize("2025-11-25"), request(1, "tools/list")]) == {}


@given(
    st.binary()
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id", "method", "params", "jsonrpc"]), inner),
    ).map(lambda value: json.dumps(value).encode())
)
def test_noise_is_left_to_the_server(line: bytes) -> None:
    assert Desk(lambda: Listing({}, {}), lambda: True).answer(line) is None


def test_notifications_need_no_answer(listing: Listing) -> None:
    note = JSONRPCNotification(jsonrpc="2.0", method="ping").model_dump_json().encode()
    assert Desk(lambda: listing, lambda: True).answer(note) is None
