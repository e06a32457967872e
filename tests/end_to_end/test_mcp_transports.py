"""One call, four ways: in memory, from the shell, over the standard streams and over HTTP, with one answer."""

import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_kit.table import entries

EKIDEN = ["-c", "from ekiden_orchestrator.main import main; main()"]
TOKEN = "open sesame"
WALL_TIME = "seconds"
"""The one field that may differ between two equal calls."""


class Call(NamedTuple):
    server: str
    tool: str
    arguments: dict[str, Any]


CALLS = [
    Call("cayley", "cayley_refute", {"law1": "x = x ◇ y", "law2": "x = y ◇ x", "include_lean": True}),
    Call("cayley", "cayley_check_table", {"table": [[0, 1], [1, 0]], "laws": ["x * y = y * x", "x = x * x"]}),
    Call(
        "judge",
        "judge_answer",
        {"law1": "x = x * y", "law2": "x = y ◇ x", "verdict": "false", "code": "import JudgeProblem\nsorry"},
    ),
    Call("judge", "judge_answer", {"law1": "x = x ◇ y", "law2": "x = y", "answer_json": '{"verdict": 1, "code": "ä"}'}),
]
call_by_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.tool)


@pytest.fixture(scope="module")
def address() -> Generator[str, None, None]:
    command = [sys.executable, *EKIDEN, "serve", "cayley", "judge", "--http", "--port", "0"]
    environment = os.environ | {"EKIDEN_HTTP_TOKEN": TOKEN}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"http://[^/]+", said)
        assert found, said
        yield found.group()
        process.terminate()


@asynccontextmanager
async def over_http(address: str) -> AsyncGenerator[Client, None]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as web,
        Client(streamable_http_client(address, http_client=web)) as client,
    ):
        yield client


async def answer_of(client: Client, call: Call) -> dict[str, Any]:
    result = await client.call_tool(call.tool, call.arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return without_wall_time(result.structured_content)


def without_wall_time(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != WALL_TIME}


def ekiden_call(*arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *EKIDEN, "call", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"EKIDEN_HTTP_TOKEN": token},
    )


def shell(*arguments: str) -> dict[str, Any]:
    done = ekiden_call(*arguments)
    assert done.returncode == 0, done.stderr
    return without_wall_time(json.loads(done.stdout))


@call_by_call
async def test_every_transport_gives_the_same_structured_answer(address: str, call: Call) -> None:
    (entry,) = entries([call.server])
    stdio = StdioServerParameters(command=sys.executable, args=[*EKIDEN, "serve", call.server])
    union = StdioServerParameters(command=sys.executable, args=[*EKIDEN, "serve", "cayley", "judge"])
    with anyio.fail_after(50):
        async with Client(build_server([entry.load()], default_settings())) as client:
            in_memory = await answer_of(client, call)
        answers: list[dict[str, Any]] = []
        for command in (stdio, union):
            async with Client(command) as client:
                answers.append(await answer_of(client, call))
        for path in ("/mcp", f"/{call.server}/mcp"):
            async with over_http(address + path) as client:
                answers.append(await answer_of(client, call))
    arguments = json.dumps(call.arguments)
    answers.append(shell(call.server, call.tool, arguments))
    answers.append(shell(call.server, call.tool, arguments, "--url", address))
    assert answers == [in_memory] * 6


@pytest.mark.parametrize("token", ["", "open barley"])
def test_a_shell_call_without_the_token_says_what_it_needs(address: str, token: str) -> None:
    done = ekiden_call("judge", "judge_answer", "{}", "--url", address, token=token)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it wants another bearer token; put the one that it was started with into EKIDEN_HTTP_TOKEN." in done.stderr


def test_a_shell_call_where_nothing_is_served_says_so(address: str) -> None:
    done = ekiden_call("judge", "judge_answer", "{}", "--url", f"{address}/nowhere/mcp")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing is served there" in done.stderr
