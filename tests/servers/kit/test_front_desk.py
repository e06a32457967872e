"""A server process behind its front desk, talked to over its standard streams."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters

from ekiden_config import default_settings
from ekiden_kit.build import build_server
from ekiden_kit.desk import CAPABILITIES_KEY, REVISION_KEY
from ekiden_kit.listing import render_listing, to_json
from servers.kit.tally import SERVER

MAIN = Path(__file__).parent / "tally_main.py"
Message = dict[str, Any]


@pytest.fixture(scope="module")
def listing_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("listing") / "tally.json"
    listing = anyio.run(render_listing, build_server([SERVER], default_settings()))
    file.write_text(to_json(listing), encoding="utf-8")
    return file


class Talk:
    """A conversation with a server process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._in = process.stdin
        self._out = process.stdout

    def say(self, *messages: Message) -> None:
        self._in.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self._in.flush()

    def hear(self) -> Message:
        return json.loads(self._out.readline())

    def leave(self) -> int:
        self._in.close()
        return self.process.wait(timeout=20)


@pytest.fixture
def talk(listing_file: Path) -> Generator[Talk, None, None]:
    process = subprocess.Popen(
        [sys.executable, MAIN, listing_file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        yield Talk(process)
        process.kill()


def request(identity: int | str, method: str, **params: object) -> Message:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


INITIALIZE = request(
    0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"}
)
INITIALIZED: Message = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(identity: int | str, tool: str, **arguments: object) -> Message:
    return request(identity, "tools/call", name=tool, arguments=arguments, _meta={"progressToken": identity})


def test_what_arrives_before_the_server_is_answered_once_and_in_full(talk: Talk) -> None:
    talk.say(INITIALIZE, INITIALIZED, request(1, "tools/list"), call(2, "tally_add", parts=[{"value": 4}]))
    talk.say(request(3, "ping"))
    heard = [talk.hear() for _ in range(4)]
    assert [message["id"] for message in heard] == [0, 1, 3, 2]
    assert heard[0]["result"]["protocolVersion"] == "2025-06-18"
    assert heard[3]["result"]["structuredContent"] == {"total": 4, "parts": [{"value": 4}]}
    talk.say(call(4, "tally_count"), request(5, "tools/list"))
    later = [message for message in (talk.hear() for _ in range(3)) if "id" in message]
    assert {message["id"] for message in later} == {4, 5}
    assert next(message for message in later if message["id"] == 5)["result"] == heard[1]["result"]
    assert talk.leave() == 0


def test_a_line_that_is_cut_by_the_take_over_is_read_whole(talk: Talk) -> None:
    late = json.dumps(call("late", "tally_add", parts=[{"value": 1}])).encode() + b"\n"
    talk.say(INITIALIZE, INITIALIZED, call("first", "tally_add", parts=[]))
    assert talk.process.stdin is not None
    talk.process.stdin.write(late[:40])
    talk.process.stdin.flush()
    assert [talk.hear()["id"], talk.hear()["id"]] == [0, "first"]
    talk.process.stdin.write(late[40:])
    talk.process.stdin.flush()
    assert talk.hear()["result"]["structuredContent"] == {"total": 1, "parts": [{"value": 1}]}


def test_noise_is_survived(talk: Talk) -> None:
    assert talk.process.stdin is not None
    talk.process.stdin.write(b"\xff\xfe not JSON\n[1, 2]\n\n{}\n" + b"[" * 100_000 + b"\n")
    talk.say(INITIALIZE, INITIALIZED, call(1, "tally_add", parts=[]))
    assert [talk.hear()["id"], talk.hear()["id"]] == [0, 1]


def test_a_method_that_nobody_knows_is_refused_before_and_after_the_handshake(talk: Talk) -> None:
    talk.say(request("probe", "server/whatever"), INITIALIZE, INITIALIZED, request("again", "server/whatever"))
    heard = {message["id"]: message for message in (talk.hear() for _ in range(3))}
    assert heard["probe"]["error"]["code"] == -32601
    assert heard["again"]["error"]["code"] == -32601
    assert heard[0]["result"]["serverInfo"]["name"] == "tally"


def test_the_process_ends_when_its_input_closes_before_the_server_is_there(talk: Talk) -> None:
    talk.say(INITIALIZE)
    assert talk.hear()["id"] == 0
    assert talk.leave() == 0


@pytest.mark.parametrize("opening", [[], [INITIALIZED, call("block", "tally_block"), call(1, "tally_add", parts=[])]])
def test_a_client_on_a_socket_may_leave_answers_unread(listing_file: Path, opening: list[Message]) -> None:
    """Node gives its children a socket for a pipe; closed with something unread, it resets the connection."""
    ours, theirs = socket.socketpair()
    with (
        ours,
        subprocess.Popen(
            [sys.executable, MAIN, listing_file], stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE
        ) as process,
    ):
        theirs.close()
        with ours.makefile("rwb") as stream:
            for message in [INITIALIZE, *opening]:
                stream.write(json.dumps(message).encode() + b"\n")
            stream.flush()
            for _ in opening[1:]:
                stream.readline()
            stream.write(json.dumps(request("last", "ping")).encode() + b"\n")
            stream.flush()
            select.select([ours], [], [], 20)
        ours.close()
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


def child_of(talk: Talk) -> psutil.Process:
    """Let the server start a child that never ends, and return it."""
    talk.say(INITIALIZE, INITIALIZED, call("wait", "tally_wait"))
    assert talk.hear()["id"] == 0
    progress = talk.hear()
    assert progress["method"] == "notifications/progress"
    return psutil.Process(int(progress["params"]["progress"]))


def test_nothing_is_left_running_when_the_input_closes(talk: Talk) -> None:
    child = child_of(talk)
    assert talk.leave() == 0
    assert is_gone(child)


def test_a_call_that_cannot_be_interrupted_does_not_keep_the_process(talk: Talk) -> None:
    talk.say(INITIALIZE, INITIALIZED, call("block", "tally_block"), call(1, "tally_add", parts=[]))
    assert [talk.hear()["id"], talk.hear()["id"]] == [0, 1]
    assert talk.leave() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_call_that_cannot_be_interrupted_does_not_keep_a_server_that_crashed() -> None:
    envelope: Message = {REVISION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
    block = request("block", "tools/call", name="tally_block", arguments={}, _meta=envelope)
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen(
            [sys.executable, MAIN, "-"], stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stderr is not None
        for message in (block, request("list", "tools/list", _meta=envelope)):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        try:
            assert process.wait(timeout=20) == 1
        finally:
            process.kill()
        assert b"The standard streams failed." in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_running_after_a_signal(talk: Talk, number: signal.Signals) -> None:
    child = child_of(talk)
    talk.process.send_signal(number)
    assert talk.process.wait(timeout=20) == 128 + number
    assert is_gone(child)


def is_gone(child: psutil.Process) -> bool:
    """Tell whether a process has ended; as nobody's child, it may stay a zombie in a container without init."""
    with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
        child.wait(timeout=5)
    return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_cancelled_call_is_not_answered_and_the_session_goes_on(talk: Talk) -> None:
    child_of(talk)
    talk.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "wait"}})
    talk.say(call(1, "tally_add", parts=[]))
    assert talk.hear()["id"] == 1


def test_stray_output_does_not_reach_the_wire(tmp_path: Path, listing_file: Path) -> None:
    noisy = tmp_path / "noisy.py"
    noisy.write_text(
        "import os, runpy, sys\n"
        f"sys.argv = ['tally_main.py', {str(listing_file)!r}]\n"
        f"sys.path.insert(0, {str(MAIN.parents[2])!r})\n"
        "import servers.kit.tally as tally\n"
        "def tally_add(parts: list[int]) -> tally.Sum:\n"
        "    'Add.'\n"
        "    print('stray', flush=True); os.system('echo from a child; cat')\n"
        "    return tally.Sum(total=0, parts=[])\n"
        "from ekiden_kit.definition import ServerDefinition, ToolDefinition\n"
        "tally.SERVER = ServerDefinition('tally', 'T', 'T', (ToolDefinition(tally_add, 'Add'),))\n"
        f"runpy.run_path({str(MAIN)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    lines = [INITIALIZE, INITIALIZED, call(1, "tally_add", parts=[])]
    with subprocess.Popen(
        [sys.executable, noisy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        talk = Talk(process)
        talk.say(*lines)
        assert [talk.hear()["id"], talk.hear()["id"]] == [0, 1]
        assert talk.leave() == 0
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert "stray" in said
    assert "from a child" in said


@pytest.mark.parametrize("source", ["listing", "-"])
@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_a_real_client_gets_the_same_in_every_mode(listing_file: Path, source: str, mode: str) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=[str(MAIN), str(listing_file) if source == "listing" else source]
    )
    with anyio.fail_after(30):
        async with Client(command, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("tally_add", {"parts": [{"value": 2}]})
    assert names == [tool.name for tool in SERVER.tools]
    assert result.structured_content == {"total": 2, "parts": [{"value": 2}]}


def test_the_way_to_the_first_answer_imports_nothing_heavy(listing_file: Path) -> None:
    program = f"""
import sys
import ekiden_orchestrator.main
from ekiden_kit.desk import Desk, Listing
from ekiden_kit import front_desk, table
import json
listing = Listing(**json.loads(open({str(listing_file)!r}, encoding="utf-8").read()))
assert Desk(lambda: listing, lambda: True).answer({json.dumps(INITIALIZE).encode()!r})
print(*sorted({{name.partition('.')[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    ours = {"ekiden_config", "ekiden_kit", "ekiden_orchestrator"}
    heavy = {"asyncio", "dataclasses", "inspect", "importlib_metadata", "email", "tempfile", "zipfile", "socket"}
    loaded = set(done.stdout.split())
    assert ours <= loaded
    assert not loaded & heavy
    assert not loaded & {"anyio", "mcp", "numba", "numpy", "platformdirs", "pydantic", "rich", "tomllib", "typer"}


def test_a_person_who_starts_a_server_is_told_what_it_waits_for(listing_file: Path) -> None:
    terminal, keyboard = pty.openpty()
    with subprocess.Popen(
        [sys.executable, MAIN, listing_file], stdin=keyboard, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert b"Waiting for an MCP client" in process.stderr.readline()
        process.kill()
    os.close(terminal)
    os.close(keyboard)


def test_plain_files_serve_as_streams(tmp_path: Path, listing_file: Path) -> None:
    (tmp_path / "in").write_text(json.dumps(INITIALIZE) + "\n", encoding="utf-8")
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        done = subprocess.run([sys.executable, MAIN, listing_file], stdin=source, stdout=sink, check=False, timeout=30)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out").read_bytes())["id"] == 0
