"""What a tool says to a client: its structured answer, or the text of its refusal."""

from typing import Any

from mcp import Client


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Return what a tool answers; it must not refuse."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: object) -> str:
    """Return what a tool says when it refuses; it must."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return " ".join(block.text for block in result.content if block.type == "text")
