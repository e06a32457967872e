"""Servers built from definitions, as a client in memory sees them."""

import json
import logging
from typing import Annotated

import pytest
from inline_snapshot import snapshot
from mcp import Client
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from ekiden_config import ServerSettings, Settings, default_settings
from ekiden_kit.build import build_server
from ekiden_kit.definition import ServerDefinition, ToolDefinition
from ekiden_kit.errors import KitError
from servers.kit.tally import SERVER, Sum

SETTINGS = default_settings()


def with_tally(**wishes: object) -> Settings:
    return SETTINGS.model_copy(update={"servers": {"tally": ServerSettings.model_validate(wishes)}})


def text_of(result: CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, TextContent)
    return part.text


async def refusal(tool: str, arguments: dict[str, object]) -> str:
    async with Client(build_server([SERVER], SETTINGS)) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


async def test_a_tool_is_listed_with_flat_schemas_and_all_hints() -> None:
    async with Client(build_server([SERVER], SETTINGS)) as client:
        tool = (await client.list_tools()).tools[0]
    assert tool.model_dump(by_alias=True, exclude_none=True) == snapshot(
        {
            "name": "tally_add",
            "title": "Add numbers",
            "description": "Add numbers.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "parts": {
                        "description": "What to add.",
                        "items": {
                            "description": "One addend.",
                            "properties": {"value": {"description": "The addend.", "type": "integer"}},
                            "required": ["value"],
                            "type": "object",
                        },
                        "type": "array",
                    },
                    "sign": {
                        "default": "plus",
                        "description": "Sign of the sum.",
                        "enum": ["plus", "minus"],
                        "type": "string",
                    },
                },
                "required": ["parts"],
                "additionalProperties": False,
            },
            "outputSchema": {
                "description": "A sum and what went into it.",
                "properties": {
                    "total": {"description": "The sum.", "type": "integer"},
                    "parts": {
                        "description": "What was added, in order.",
                        "items": {
                            "description": "One addend.",
                            "properties": {"value": {"description": "The addend.", "type": "integer"}},
                            "required": ["value"],
                            "type": "object",
                        },
                        "type": "array",
                    },
                },
                "required": ["total", "parts"],
                "type": "object",
            },
            "annotations": {
                "readOnlyHint": True,
                "destructiveHint": False,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
    )


async def test_text_and_structured_content_say_the_same() -> None:
    async with Client(build_server([SERVER], SETTINGS)) as client:
        result = await client.call_tool("tally_add", {"parts": [{"value": 2}, {"value": 3}], "sign": "minus"})
    assert result.structured_content == {"total": -5, "parts": [{"value": 2}, {"value": 3}]}
    assert json.loads(text_of(result)) == result.structured_content


async def test_an_anticipated_error_reaches_the_model_word_for_word() -> None:
    assert await refusal("tally_add", {"parts": [{"value": -2}]}) == snapshot(
        "Cannot add -2; give numbers that are not negative."
    )


async def test_a_crash_is_hidden_from_the_model_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert await refusal("tally_crash", {}) == snapshot(
            "Tool 'tally_crash' crashed. This is a defect of the server, not of the call; the same call will fail "
            "again. The server's log says more."
        )
    assert "hunter2" in caplog.text


async def test_an_unknown_argument_is_refused_and_the_nearest_named() -> None:
    assert await refusal("tally_add", {"parts": [], "sgn": "plus"}) == snapshot(
        "Tool 'tally_add' has no argument 'sgn'; did you mean 'sign'?"
    )


async def test_an_unknown_argument_with_none_near_is_refused_and_all_named() -> None:
    assert await refusal("tally_add", {"parts": [], "quux": 1}) == snapshot(
        "Tool 'tally_add' has no argument 'quux'; there is 'parts', 'sign'."
    )
    assert await refusal("tally_count", {"quux": 1}) == snapshot(
        "Tool 'tally_count' has no argument 'quux'; there is none."
    )


async def test_wrong_and_missing_arguments_are_told_with_their_values() -> None:
    assert await refusal("tally_add", {"parts": [{"value": "two"}], "sign": "times"}) == snapshot(
        "Argument 'parts.0.value' is 'two': Input should be a valid integer, unable to parse string as an integer. "
        "Argument 'sign' is 'times': Input should be 'plus' or 'minus'."
    )
    assert await refusal("tally_add", {}) == snapshot("Argument 'parts' is missing.")


async def test_an_unknown_tool_is_refused_and_the_nearest_named() -> None:
    assert await refusal("tally_ad", {}) == snapshot(
        "No tool 'tally_ad' here; did you mean 'tally_add' or 'tally_wait'?"
    )


async def test_lifespan_state_lives_as_long_as_the_server_and_no_longer() -> None:
    server = build_server([SERVER], SETTINGS)
    totals: list[object] = []
    for _ in range(2):
        async with Client(server) as client:
            for _ in range(2):
                totals.append((await client.call_tool("tally_count")).structured_content)
    assert totals == [{"total": n, "parts": []} for n in (1, 2, 1, 2)]


async def test_a_disabled_tool_is_neither_listed_nor_callable() -> None:
    settings = with_tally(disabled_tools=["tally_crash"])
    async with Client(build_server([SERVER], settings)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("tally_crash")
    assert names == ["tally_add", "tally_count", "tally_wait", "tally_block"]
    assert result.is_error
    assert text_of(result) == snapshot("No tool 'tally_crash' here; did you mean 'tally_add'?")


async def test_a_description_can_be_replaced() -> None:
    settings = with_tally(descriptions={"tally_add": "Adds."})
    async with Client(build_server([SERVER], settings)) as client:
        assert (await client.list_tools()).tools[0].description == "Adds."


@pytest.mark.parametrize("wish", [{"disabled_tools": ["tally_ad"]}, {"descriptions": {"tally_ad": "Adds."}}])
def test_settings_for_an_unknown_tool_are_refused(wish: dict[str, object]) -> None:
    with pytest.raises(KitError, match="name the tool 'tally_ad'; did you mean 'tally_add'"):
        build_server([SERVER], with_tally(**wish))


def test_settings_for_an_unknown_server_are_refused() -> None:
    settings = SETTINGS.model_copy(update={"servers": {"taly": ServerSettings()}})
    with pytest.raises(KitError, match="name a server 'taly'; did you mean 'tally'"):
        build_server([SERVER], settings)


def other_add(number: Annotated[int, Field(description="What to add.")]) -> Sum:
    """Add once more."""
    return Sum(total=number, parts=[])


OTHER = ServerDefinition("other", "Other", "Adds otherwise.", (ToolDefinition(other_add, "Add otherwise"),))


async def test_several_definitions_are_served_as_one() -> None:
    async with Client(build_server([SERVER, OTHER], SETTINGS)) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("other_add", {"number": 3})
        instructions = client.instructions
    assert names == ["tally_add", "tally_crash", "tally_count", "tally_wait", "tally_block", "other_add"]
    assert result.structured_content == {"total": 3, "parts": []}
    assert instructions == snapshot("""\
Several servers in one. tally: Tally; other: Other.

## tally

Counts and adds.

## other

Adds otherwise.\
""")


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(KitError, match="Servers 'tally' and 'twin' both offer 'tally_add'"):
        build_server([SERVER, ServerDefinition("twin", "Twin", "Adds.", SERVER.tools)], SETTINGS)


class Tree(BaseModel):
    """A tree."""

    children: list["Tree"] = Field(description="Its children.")


def grow() -> Tree:
    """Grow a tree."""
    return Tree(children=[])


def test_a_result_that_contains_itself_is_refused() -> None:
    with pytest.raises(KitError, match="'Tree' refers to itself"):
        build_server([ServerDefinition("wood", "Wood", "Grows.", (ToolDefinition(grow, "Grow"),))], SETTINGS)
