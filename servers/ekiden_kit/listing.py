"""Rendering what servers answer to the questions whose answers are fixed, for the front desk to give.

`python -m ekiden_kit.listing [NAME...]` renders the listings of some servers, or of all in the table, into
`ekiden_kit/listings`; a test asserts that what is packaged equals what is rendered.
"""

import json
import sys
from pathlib import Path

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from ekiden_config import default_settings
from ekiden_kit.build import EkidenServer, build_server
from ekiden_kit.desk import CAPABILITIES_KEY, CLIENT_KEY, REVISION_KEY, Json, Listing
from ekiden_kit.table import entries

LISTINGS = Path(__file__).parent / "listings"
_CLIENT = {"name": "ekiden", "version": "0"}


async def render_listing(server: EkidenServer) -> Listing:
    """Ask a server every question whose answer is fixed, in every protocol revision it speaks."""
    handshake: dict[str, dict[str, Json]] = {}
    for revision in HANDSHAKE_PROTOCOL_VERSIONS:
        opening: Json = {"protocolVersion": revision, "capabilities": {}, "clientInfo": _CLIENT}
        questions: dict[str, Json] = {"initialize": opening, "ping": {}, "tools/list": {}}
        handshake[revision] = await _answers(server, questions)
    enveloped: dict[str, dict[str, Json]] = {}
    for revision in MODERN_PROTOCOL_VERSIONS:
        envelope: Json = {"_meta": {REVISION_KEY: revision, CAPABILITIES_KEY: {}, CLIENT_KEY: _CLIENT}}
        enveloped[revision] = await _answers(server, {"server/discover": envelope, "tools/list": envelope})
    return Listing(handshake, enveloped)


async def _answers(server: EkidenServer, questions: dict[str, Json]) -> dict[str, Json]:
    """Hold one conversation of several requests, and return their results by method."""
    ask, asked = anyio.create_memory_object_stream[SessionMessage | Exception](len(questions) + 1)
    answer, answered = anyio.create_memory_object_stream[SessionMessage](len(questions))
    results: dict[str, Json] = {}
    async with anyio.create_task_group() as tasks, ask, answered:
        tasks.start_soon(server.lowlevel.run, asked, answer, server.lowlevel.create_initialization_options())
        for method, params in questions.items():
            await ask.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=method, method=method, params=params)))
            message = (await answered.receive()).message
            assert isinstance(message, JSONRPCResponse), message
            results[method] = message.result
            if method == "initialize":
                note = JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized")
                await ask.send(SessionMessage(note))
        ask.close()
    return results


def to_json(listing: Listing) -> str:
    """Return the text of a packaged listing."""
    return json.dumps(listing._asdict(), ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Render the listings of the servers named on the command line, or of all."""
    settings = default_settings()
    LISTINGS.mkdir(exist_ok=True)
    for entry in entries(sys.argv[1:]):
        listing = anyio.run(render_listing, build_server([entry.load()], settings))
        (LISTINGS / f"{entry.name}.json").write_text(to_json(listing), encoding="utf-8")


if __name__ == "__main__":
    main()
