"""Callers that time the calls they make, for the benchmarks of the budget proxy."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

TESTS = Path(__file__).parents[1]
ROUNDS = 5
MAX_TOKENS = 200


@dataclass(frozen=True)
class Side:
    """Where calls go."""

    url: str
    token: str
    model: str = "m"

    def body(self, *, stream: bool) -> dict[str, object]:
        """Return what a call asks for."""
        messages = [{"role": "user", "content": "Does x = y * x imply x = x * y? " * 20}]
        return {"model": self.model, "messages": messages, "max_tokens": MAX_TOKENS, "stream": stream}

    def request(self, *, stream: bool) -> bytes:
        """Return the bytes of a call."""
        body = json.dumps(self.body(stream=stream)).encode()
        head = f"POST {urlsplit(self.url).path}/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        head += f"authorization: Bearer {self.token}\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


@dataclass
class Times:
    """What was measured on one side, in seconds."""

    first: list[float] = field(default_factory=list[float])
    last: list[float] = field(default_factory=list[float])
    wall: float = 0.0

    @property
    def rate(self) -> float:
        """Calls in a second."""
        return len(self.last) / self.wall


async def call_often(side: Side, request: bytes, calls: int, times: Times) -> None:
    """Make calls one after the other on one connection."""
    parts = urlsplit(side.url)
    async with await anyio.connect_tcp(str(parts.hostname), parts.port or 80) as connection:
        reader = BufferedByteReceiveStream(connection)
        for _ in range(calls):
            begun = time.perf_counter()
            await connection.send(request)
            head = (await reader.receive_until(b"\r\n\r\n", 65_536)).lower()
            assert head.startswith(b"http/1.1 200"), head
            first = 0.0
            if b"chunked" in head:
                while size := int(await reader.receive_until(b"\r\n", 100), 16):
                    first = first or time.perf_counter()
                    await reader.receive_exactly(size + 2)
                await reader.receive_until(b"\r\n", 100)
            else:
                length = int(head.partition(b"content-length:")[2].split()[0])
                first = time.perf_counter()
                await reader.receive_exactly(length)
            times.first.append(first - begun)
            times.last.append(time.perf_counter() - begun)


async def measure(side: Side, *, callers: int, calls: int, stream: bool, times: Times) -> None:
    """Let callers call at once."""
    request = side.request(stream=stream)
    begun = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(callers):
            tasks.start_soon(call_often, side, request, max(1, calls // callers), times)
    times.wall += time.perf_counter() - begun


async def compare(before: Side, after: Side, *, callers: int, calls: int, stream: bool) -> None:
    """Measure both sides in turns and print a line: the figures of the first, those of the second, their ratios."""
    without, through = Times(), Times()
    sides = (before, without), (after, through)
    for side, _ in sides:
        await measure(side, callers=callers, calls=callers, stream=stream, times=Times())
    for _ in range(ROUNDS):
        for side, times in sides:
            await measure(side, callers=callers, calls=calls // ROUNDS, stream=stream, times=times)
    kind = "streamed" if stream else "plain"
    columns = [f"{kind:8} {callers:3} callers"]
    for name, one, other in (("first", without.first, through.first), ("last", without.last, through.last)):
        for share in (0.5, 0.99):
            old, new = at(one, share), at(other, share)
            columns.append(
                f"{name} p{share * 100:.0f} {old:6.2f} -> {new:6.2f} ms ({new - old:+6.2f}, {new / old:.2f}x)"
            )
    columns.append(f"{without.rate:5.0f} -> {through.rate:5.0f} calls/s ({through.rate / without.rate:.2f}x)")
    print(" | ".join(columns), flush=True)


def at(seconds: list[float], share: float) -> float:
    """Return a percentile, in milliseconds."""
    if share == 0.5:
        return statistics.median(seconds) * 1000
    return sorted(seconds)[min(len(seconds) - 1, int(len(seconds) * share))] * 1000


@contextmanager
def program(*command: str) -> Generator[list[str], None, None]:
    """Run a Python program that prints one line and then waits; give the line's words."""
    process = subprocess.Popen(
        [sys.executable, *command], cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()
    finally:
        process.kill()
        process.communicate()
