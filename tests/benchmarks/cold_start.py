"""How soon a freshly started server answers: `python tests/benchmarks/cold_start.py [--rounds N] [--server NAME]`.

Measures, from the start of the process, the answered `initialize`, the answered `tools/list` and the answer to a first
tool call, for `ekiden serve NAME`, for a server written with the bare SDK and for one written with the standard library
alone. The rounds alternate between the three, so that all meet the same machine; once with it idle and once with two
processes that compute all the time. Prints medians in milliseconds, and their ratios to the standard library's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

STANDARD_LIBRARY = """
import json, sys

TOOL = {"name": "echo", "description": "Echo.", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "bare", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [TOOL]}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "done"}]}
    else:
        continue
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\\n")
    sys.stdout.flush()
"""
BARE_SDK = """
from mcp.server import MCPServer

server = MCPServer("bare")

@server.tool()
def echo() -> str:
    return "done"

server.run("stdio")
"""
FIRST_CALLS: dict[str, dict[str, Any]] = {
    "apply_patch": {
        "name": "apply_patch_dry_run",
        "arguments": {"path": "pyproject.toml", "patch": "*** Begin Patch\n@@\n-[project]\n+[project]\n*** End Patch"},
    },
    "cayley": {"name": "cayley_refute", "arguments": {"law1": "x = x * y", "law2": "x = y"}},
    "dag_tracker": {"name": "dag_node", "arguments": {"lean_name": "double_zero"}},
    "judge": {
        "name": "judge_answer",
        "arguments": {"law1": "x = x * y", "law2": "x = y", "verdict": "false", "code": "sorry"},
    },
}
BLUEPRINT = """import Architect

@[blueprint "def:double" (statement := /-- Twice a number. -/) (title := /-- Double -/) (latexEnv := "definition")]
def double (n : Nat) : Nat := n + n

@[blueprint "lem:double-zero" (statement := /-- Twice nothing is nothing. -/) (proof := /-- By computation. -/)
  (title := /-- Double of zero -/) (latexEnv := "lemma")]
lemma double_zero : double 0 = 0 := by
  sorry
"""
MOMENTS = ("initialize", "tools/list", "first call")
BUSY = "while True: sum(range(10_000))"


class Contestant(NamedTuple):
    """A server to start, and what to call first."""

    name: str
    command: list[str]
    call: dict[str, Any]
    environment: dict[str, str] | None = None


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that servers need, and write the files that these name."""
    (folder / "Main.lean").write_text(BLUEPRINT, encoding="utf-8")
    variables = {
        "DAG_PROJECT_ROOT": str(folder),
        "DAG_TARGET_FILE": "Main.lean",
        "LEAN_BIN": "no-lean",  # one that starts in the background would be measured with every later round
    }
    return os.environ | variables


def measured(contestant: Contestant) -> tuple[float, ...]:
    """Start a server, hold the opening conversation, and return the seconds to each answer."""
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    started = time.perf_counter()
    with subprocess.Popen(
        contestant.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=contestant.environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        moments: list[float] = []
        for identity, (method, params) in enumerate(
            (("initialize", opening), ("tools/list", {}), ("tools/call", contestant.call))
        ):
            request = {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}
            note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
            lines = [request] if method != "tools/list" else [note, request]
            process.stdin.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            moments.append(time.perf_counter() - started)
            if "error" in answer or answer["result"].get("isError"):
                raise SystemExit(f"{contestant.name} refused {method}: {answer}")
        process.stdin.close()
        process.wait()
    return tuple(moments)


@contextmanager
def busy(processes: int) -> Generator[None, None, None]:
    """Keep some processes computing."""
    started = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def report(title: str, contestants: Sequence[Contestant], rounds: int) -> None:
    """Measure all contestants in turn, several times, and print a table."""
    for contestant in contestants:  # warm caches
        measured(contestant)
    seconds: dict[str, list[tuple[float, ...]]] = {contestant.name: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant in contestants:
            seconds[contestant.name].append(measured(contestant))
    medians = {
        name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in seconds.items()
    }
    base = medians[contestants[-1].name]
    print(f"\n{title}: medians of {rounds}, milliseconds from the start (ratio to the standard library alone)")
    print(f"{'':24}" + "".join(f"{moment:>20}" for moment in MOMENTS))
    for name, row in medians.items():
        cells = (f"{1000 * value:8.0f} ({value / unit:5.1f})" for value, unit in zip(row, base, strict=True))
        print(f"{name:24}" + "".join(f"{cell:>20}" for cell in cells))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--server", choices=sorted(FIRST_CALLS), default="cayley")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sdk, standard = Path(folder) / "sdk.py", Path(folder) / "standard.py"
        sdk.write_text(BARE_SDK, encoding="utf-8")
        standard.write_text(STANDARD_LIBRARY, encoding="utf-8")
        entry = "from ekiden_orchestrator.main import main; main()"
        echo: dict[str, Any] = {"name": "echo", "arguments": {}}
        contestants = [
            Contestant(
                f"ekiden serve {options.server}",
                [sys.executable, "-c", entry, "serve", options.server],
                FIRST_CALLS[options.server],
                environment(Path(folder)),
            ),
            Contestant("bare SDK", [sys.executable, str(sdk)], echo),
            Contestant("standard library", [sys.executable, str(standard)], echo),
        ]
        report("Idle", contestants, options.rounds)
        with busy(2):
            report("Under load of two processes", contestants, options.rounds)


if __name__ == "__main__":
    main()
