"""What holds of every server in the table."""

import json
from typing import Any, cast

import pytest
from mcp import Client

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_kit.definition import ServerDefinition
from ekiden_kit.desk import Desk
from ekiden_kit.front_desk import packaged_listing
from ekiden_kit.listing import render_listing
from ekiden_kit.table import SERVERS, ServerEntry

SETTINGS = default_settings()
MAX_TOOLS = 8
MAX_LISTING = 6000
MAX_NAME = 40
STANDS_ALONE = 512

every_server = pytest.mark.parametrize("entry", SERVERS, ids=lambda entry: entry.name)


async def listing_of(definition: ServerDefinition) -> list[dict[str, Any]]:
    async with Client(build_server([definition], SETTINGS)) as client:
        tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def undescribed(schema: dict[str, Any], path: str) -> list[str]:
    """Return the paths of the properties, at any depth, that have no description."""
    missing: list[str] = []
    for name, child in schema.get("properties", {}).items():
        if not child.get("description"):
            missing.append(f"{path}.{name}")
        missing += undescribed(child, f"{path}.{name}")
    for part in (schema.get("items"), schema.get("additionalProperties"), *schema.get("anyOf", [])):
        if isinstance(part, dict):
            missing += undescribed(cast("dict[str, Any]", part), path)
    return missing


def test_names_of_servers_and_tools_are_unique_and_short() -> None:
    servers = [entry.name for entry in SERVERS]
    tools = [tool.name for entry in SERVERS for tool in entry.load().tools]
    names = servers + tools
    assert (len(set(servers)), len(set(tools))) == (len(servers), len(tools))
    assert [name for name in names if len(name) > MAX_NAME or not name.replace("_", "").isalnum()] == []


@every_server
def test_the_definition_has_the_name_of_its_entry(entry: ServerEntry) -> None:
    assert entry.load().name == entry.name


@every_server
async def test_every_tool_is_described_and_annotated(entry: ServerEntry) -> None:
    hints = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    for tool in await listing_of(entry.load()):
        assert tool["description"]
        assert tool["title"]
        assert tool["annotations"].keys() >= hints, tool["name"]


@every_server
async def test_every_field_is_described(entry: ServerEntry) -> None:
    for tool in await listing_of(entry.load()):
        assert undescribed(tool["inputSchema"], tool["name"]) == []
        assert undescribed(tool["outputSchema"], tool["name"]) == []


@every_server
async def test_schemas_are_flat_objects(entry: ServerEntry) -> None:
    for tool in await listing_of(entry.load()):
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            assert "$ref" not in json.dumps(schema)


@every_server
async def test_the_listing_is_small(entry: ServerEntry) -> None:
    listing = await listing_of(entry.load())
    assert len(listing) <= MAX_TOOLS
    assert len(json.dumps(listing, ensure_ascii=False, separators=(",", ":"))) <= MAX_LISTING


@every_server
def test_the_beginning_of_the_instructions_stands_alone(entry: ServerEntry) -> None:
    beginning = entry.load().instructions[:STANDS_ALONE]
    assert beginning.rstrip() == entry.load().instructions.rstrip() or "\n\n" in beginning
    assert any(tool.name in beginning for tool in entry.load().tools)


@every_server
async def test_the_packaged_listing_is_what_the_server_says(entry: ServerEntry) -> None:
    rendered = await render_listing(build_server([entry.load()], SETTINGS))
    assert packaged_listing([entry]) == rendered, "run: python -m ekiden_kit.listing"


@every_server
def test_the_front_desk_knows_the_server(entry: ServerEntry) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}).encode()
    answer = Desk(lambda: packaged_listing([entry]), lambda: True).answer(line)
    assert answer is not None
    assert json.loads(answer[1])["result"]["serverInfo"]["name"] == entry.name
