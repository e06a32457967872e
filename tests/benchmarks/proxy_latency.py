"""What the budget proxy adds to a call: `python tests/benchmarks/proxy_latency.py [--calls N] [--callers 1 16 64]`.

The same scripted upstream is called directly and through the proxy, by 1, 16 and 64 callers at once, whole and
streamed; upstream, proxy and callers are three processes. The two sides take turns, so that both meet the same machine.
Prints the milliseconds until the first byte of an answer and until its last, at the median and at the 99th percentile,
what the proxy adds to them, calls in a second, and the ratios of the proxy's figures to those of direct calls.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
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
PROXY = """
import sys
from pathlib import Path
from ekiden_budget.ledger import Ledger
from ekiden_budget.serving import Proxy
from ekiden_budget.upstreams import find_upstreams
from ekiden_policies.budget import Caps
from proxy_bed import KEY, budget_settings
settings = budget_settings(sys.argv[2])
upstreams = find_upstreams(settings, {"SCRIPTED_KEY": KEY})
with Ledger(Path(sys.argv[1])) as ledger, Proxy(ledger, upstreams, settings) as proxy:
    run = ledger.open_budget("run", Caps(tokens=10**12))
    print(proxy.url + "/v1", ledger.open_budget("solver", Caps(tokens=10**12), parent=run.budget).token, flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True)
class Side:
    """Where calls go."""

    url: str
    token: str

    def request(self, *, stream: bool) -> bytes:
        """Return the bytes of a call."""
        messages = [{"role": "user", "content": "Does x = y * x imply x = x * y? " * 20}]
        body = json.dumps({"model": "m", "messages": messages, "max_tokens": 200, "stream": stream}).encode()
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


async def compare(direct: Side, proxy: Side, *, callers: int, calls: int, stream: bool) -> None:
    """Measure both sides in turns and print a line."""
    sides = {"direct": (direct, Times()), "proxy": (proxy, Times())}
    for side, _ in sides.values():
        await measure(side, callers=callers, calls=callers, stream=stream, times=Times())
    for _ in range(ROUNDS):
        for side, times in sides.values():
            await measure(side, callers=callers, calls=calls // ROUNDS, stream=stream, times=times)
    without, through = sides["direct"][1], sides["proxy"][1]
    kind = "streamed" if stream else "plain"
    columns = [f"{kind:8} {callers:3} callers"]
    for name, before, after in (("first", without.first, through.first), ("last", without.last, through.last)):
        for share in (0.5, 0.99):
            plain, more = at(before, share), at(after, share)
            columns.append(
                f"{name} p{share * 100:.0f} {plain:6.2f} -> {more:6.2f} ms ({more - plain:+6.2f}, {more / plain:4.1f}x)"
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


async def main() -> None:
    """Measure all that was asked for."""
    parser = argparse.ArgumentParser(description="What the budget proxy adds to a call.")
    parser.add_argument("--calls", type=int, default=1000, help="calls a side and line")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 16, 64])
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        program("-m", "model_server", "--quiet") as [upstream],
        program("-c", PROXY, f"{folder}/ledger.sqlite3", upstream) as [url, token],
    ):
        for stream in (False, True):
            for callers in given.callers:
                direct, proxy = Side(upstream, "any"), Side(url, token)
                await compare(direct, proxy, callers=callers, calls=given.calls, stream=stream)


if __name__ == "__main__":
    anyio.run(main)
