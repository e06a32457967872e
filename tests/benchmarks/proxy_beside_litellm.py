"""The budget proxy beside LiteLLM's: `python tests/benchmarks/proxy_beside_litellm.py [--calls N] [--callers 1 16 64]`.

Both stand in front of the same scripted upstream, each one process, under budgets in dollars at the same prices. First
they take turns at being called, as in `proxy_latency.py`. Then, what a budget is for: 64 callers at once, and one after
the other, against a budget of 40 calls; streams; callers who hang up; a proxy that is killed.

The first run installs LiteLLM into a virtual environment of its own in the cache folder, which takes minutes; a run
takes two to three. LiteLLM keeps budgets in memory here, or also in the Redis of `--redis HOST:PORT`. What it keeps in
PostgreSQL, such as keys with budgets, is left out: the client for it downloads programs when it is installed.
"""

import argparse
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import httpx2
import platformdirs
from proxy_timing import MAX_TOKENS, TESTS, Side, compare, program

from ekiden_budget.ledger import Ledger
from ekiden_policies.budget import Caps

if TYPE_CHECKING:
    from ekiden_budget.records import Opened
    from model_server import Answer, Heard, ModelServer

VERSION = "1.106.2"
MASTER_KEY = "sk-of-the-benchmark"
USD_PER_TOKEN = 2**-9  # sums of it are exact in floating point and in nano-dollars
CALLERS, FITTING, STREAMS = 64, 40, 10
TIMED, PROBE = "m", "probe"
BURST, QUEUE, CHEAP, EVENT, HANGS = "burst", "queue", "cheap", "event", "hangs"  # as long as the probe: bytes count
NO_END_USD = 10**8
PROXY = """
import sys
from pathlib import Path
from ekiden_budget.ledger import Ledger
from ekiden_budget.serving import Proxy
from ekiden_budget.upstreams import find_upstreams
from proxy_bed import KEY, budget_settings
kinds = ("input", "output", "cached_input", "cache_write")
prices = {"*": {f"{kind}_usd_per_million": sys.argv[3] for kind in kinds}}
settings = budget_settings(sys.argv[2], prices=prices)
upstreams = find_upstreams(settings, {"SCRIPTED_KEY": KEY})
with Ledger(Path(sys.argv[1])) as ledger, Proxy(ledger, upstreams, settings) as proxy:
    ledger.recover()
    print(proxy.url + "/v1", flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True)
class Rival:
    """A proxy, under one budget for every case."""

    name: str
    side: Callable[[str], Side]
    spent: Callable[[str], float]  # dollars that the proxy counts for a case


def install(folder: Path) -> Path:
    """Return LiteLLM's program; install it if it is not there."""
    command = folder / "bin" / "litellm"
    if not command.exists():
        print(f"Installing litellm[proxy]=={VERSION} into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", f"litellm[proxy]=={VERSION}"]
        subprocess.run(pip, check=True)
    return command


def litellm_settings(urls: Mapping[str, str], budgets: Mapping[str, float], redis: str) -> str:
    """Return LiteLLM's configuration, with a model and its budget for every case; JSON, which is YAML too."""
    run = secrets.token_hex(4)  # a Redis may remember other runs
    price = {"input_cost_per_token": USD_PER_TOKEN, "output_cost_per_token": USD_PER_TOKEN}
    models: list[dict[str, object]] = []
    for name, url in urls.items():
        parameters = {"model": f"openai/{name}", "api_base": url, "api_key": "sk-any", **price}
        budget = {"max_budget": budgets[name], "budget_duration": "30d"}
        models.append(
            {"model_name": name, "litellm_params": parameters | budget, "model_info": {"id": f"{name}-{run}"}}
        )
    host, _, port = redis.rpartition(":")
    provider = {"openai": {"budget_limit": NO_END_USD, "time_period": "30d"}}  # its spend can be asked for
    router = {"num_retries": 0, "provider_budget_config": provider}
    return json.dumps(
        {
            "model_list": models,
            "router_settings": router | ({"redis_host": host, "redis_port": int(port)} if redis else {}),
            "litellm_settings": {"num_retries": 0, "request_timeout": 600, "set_verbose": False, "cache": False},
            "general_settings": {"master_key": MASTER_KEY},
        }
    )


@contextmanager
def litellm_proxy(command: Path, config: Path) -> Generator[str, None, None]:
    """Run LiteLLM until the block ends, which kills it; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    given = {"LITELLM_LOG": "ERROR", "LITELLM_MODE": "PRODUCTION", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with config.with_suffix(".log").open("ab") as log:
        process = subprocess.Popen(
            [command, "--config", config, "--host", "127.0.0.1", "--port", address.rpartition(":")[2]],
            cwd=config.parent,
            env={"PATH": os.environ["PATH"], "HOME": str(config.parent), "NUM_WORKERS": "1", **given},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        while not answers(f"{address}/health/readiness"):
            if process.poll() is not None:
                raise SystemExit(config.with_suffix(".log").read_text(encoding="utf-8"))
            time.sleep(0.2)
        yield f"{address}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(url: str) -> bool:
    """Tell whether somebody answers there."""
    try:
        return httpx2.get(url, trust_env=False).is_success
    except httpx2.TransportError:
        return False


def litellm_rival(url: str) -> Rival:
    """Return LiteLLM as it is asked; it tells what all its cases have spent together."""

    def spent(_: str) -> float:
        show = {"authorization": f"Bearer {MASTER_KEY}"}
        reply = httpx2.get(f"{url.removesuffix('/v1')}/provider/budgets", headers=show, trust_env=False)
        return float(reply.json()["providers"]["openai"]["spend"])

    return Rival("litellm", lambda case: Side(url, MASTER_KEY, case), spent)


def our_rival(url: str, ledger: Ledger, budgets: "Mapping[str, Opened]") -> Rival:
    """Return our proxy as it is asked."""

    def spent(case: str) -> float:
        return (ledger.status(budgets[case].budget).settled.nanodollars or 0) / 10**9

    return Rival("ours", lambda case: Side(url, budgets[case].token, case), spent)


def post(client: httpx2.AsyncClient, side: Side, *, stream: bool = False) -> httpx2.Request:
    """Return a call."""
    show = {"authorization": f"Bearer {side.token}"}
    return client.build_request("POST", f"{side.url}/chat/completions", headers=show, json=side.body(stream=stream))


async def call(client: httpx2.AsyncClient, side: Side, statuses: Counter[int]) -> None:
    """Make a call and count its status."""
    statuses[(await client.send(post(client, side))).status_code] += 1


async def call_at_once(client: httpx2.AsyncClient, side: Side, server: "ModelServer") -> Counter[int]:
    """Let all callers call; nobody is answered before everybody was sent on or refused."""
    statuses = Counter[int]()
    server.hold()
    async with anyio.create_task_group() as tasks:
        for _ in range(CALLERS):
            tasks.start_soon(call, client, side, statuses)
        while heard(server, side.model) + statuses.total() < CALLERS:
            await anyio.sleep(0.05)
        server.release()
    return statuses


def heard(server: "ModelServer", case: str) -> int:
    """Return how many calls of a case reached the upstream."""
    return sum(call.model == case for call in server.heard)


async def stream_calls(client: httpx2.AsyncClient, side: Side, *, to_the_end: bool) -> None:
    """Make streamed calls that ask for no usage, and read each, or hang up once it begins."""
    for _ in range(STREAMS):
        reply = await client.send(post(client, side, stream=True), stream=True)
        async for _ in reply.aiter_raw():
            if not to_the_end:
                break
        await reply.aclose()


async def show_budgets(rival: Rival, server: "ModelServer", costs: Mapping[str, float]) -> None:
    """Print how a proxy keeps its budgets."""
    async with httpx2.AsyncClient(
        timeout=120, trust_env=False, limits=httpx2.Limits(max_connections=CALLERS)
    ) as client:
        for case, what in ((BURST, "at once"), (CHEAP, "at once, each a quarter of its bound")):
            statuses = await call_at_once(client, rival.side(case), server)
            print(f"{rival.name:7} {CALLERS} callers {what}: {verdict(statuses, costs[case])}", flush=True)
        statuses = Counter[int]()
        for _ in range(CALLERS):
            await call(client, rival.side(QUEUE), statuses)
        print(f"{rival.name:7} {CALLERS} calls one by one: {verdict(statuses, costs[QUEUE])}", flush=True)
        for case, what in ((EVENT, "streams read to the end"), (HANGS, "streams hung up on")):
            before = rival.spent(case)
            server.hold()
            await stream_calls(client, rival.side(case), to_the_end=case == EVENT)
            await anyio.sleep(3)  # both may count after the answer
            server.release()
            counted = (rival.spent(case) - before) / costs[case]
            print(f"{rival.name:7} {STREAMS} {what}: the price of {counted:.2f} is counted", flush=True)


def verdict(statuses: Counter[int], cost: float) -> str:
    """Say what a budget of so many calls let through."""
    answered = statuses.pop(200, 0)
    refused = ", ".join(f"{count} got {status}" for status, count in statuses.items()) or "nobody was refused"
    past = max(0, answered - FITTING) * cost
    return f"{answered} answered, {refused}; ${answered * cost:.2f} of ${FITTING * cost:.2f}, past it ${past:.2f}"


async def show_memory(rival: Rival) -> None:
    """Print what becomes of one more call to a budget that was spent before the proxy was killed."""
    statuses = Counter[int]()
    async with httpx2.AsyncClient(timeout=120, trust_env=False) as client:
        await call(client, rival.side(BURST), statuses)
    print(
        f"{rival.name:7} killed and started anew, one more call to the spent budget: {next(iter(statuses))}", flush=True
    )


def bound_of_call(ledger: Ledger, url: str) -> int:
    """Return the tokens that our proxy reserves for a call."""
    probe = ledger.open_budget(PROBE, Caps())
    show = {"authorization": f"Bearer {probe.token}"}
    body = Side(url, probe.token, PROBE).body(stream=False)
    httpx2.post(f"{url}/chat/completions", headers=show, json=body, trust_env=False).raise_for_status()
    return ledger.calls(probe.budget)[0].reserved.tokens


def responder(tokens: Mapping[str, int]) -> "Callable[[Heard], Answer]":
    """Return what the upstream answers: as many tokens as the case says, in some of them when it is released."""
    from model_server import echo

    pauses = {BURST: 0, CHEAP: 0, HANGS: 3}

    def respond(call: "Heard") -> "Answer":
        total = tokens.get(call.model)
        if total is None:  # a question about the models
            return echo(call)
        written = min(MAX_TOKENS, total // 2)
        return replace(echo(call), tokens=(total - written, written), pause_after=pauses.get(call.model))

    return respond


async def main() -> None:
    """Measure all that was asked for."""
    parser = argparse.ArgumentParser(description="The budget proxy beside LiteLLM's.")
    parser.add_argument("--calls", type=int, default=240, help="calls a side and line")
    parser.add_argument("--callers", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument("--redis", default="", help="HOST:PORT of a Redis for LiteLLM")
    parser.add_argument("--folder", type=Path, default=platformdirs.user_cache_path("ekiden") / f"litellm-{VERSION}")
    given = parser.parse_args()
    sys.path.append(str(TESTS))
    from model_server import ModelServer

    command = install(given.folder)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ledger = stack.enter_context(Ledger(folder / "ledger.sqlite3"))
        server = stack.enter_context(ModelServer())
        [fast] = stack.enter_context(program("-m", "model_server", "--quiet"))

        def ours(upstream: str) -> AbstractContextManager[list[str]]:
            return program("-c", PROXY, str(ledger.path), upstream, str(USD_PER_TOKEN * 10**6))

        with ours(server.url) as [url]:
            bound = bound_of_call(ledger, url)
        tokens = dict.fromkeys((BURST, QUEUE, EVENT, HANGS), bound) | {CHEAP: bound // 4}
        server.respond_with(responder(tokens))
        costs = {case: count * USD_PER_TOKEN for case, count in tokens.items()}
        caps = dict.fromkeys((TIMED, EVENT, HANGS), float(NO_END_USD))
        caps |= {case: FITTING * costs[case] for case in (BURST, QUEUE, CHEAP)}
        budgets = {case: ledger.open_budget(case, Caps(nanodollars=int(usd * 10**9))) for case, usd in caps.items()}
        config = folder / "litellm.yaml"
        config.write_text(
            litellm_settings({case: fast if case == TIMED else server.url for case in caps}, caps, given.redis),
            encoding="utf-8",
        )
        print(f"LiteLLM {VERSION}{' with Redis' * bool(given.redis)} -> ours, and the ratio ours/LiteLLM's", flush=True)
        with litellm_proxy(command, config) as their_url, ours(fast) as [our_url]:
            theirs, mine = litellm_rival(their_url), our_rival(our_url, ledger, budgets)
            for stream in (False, True):
                for callers in given.callers:
                    sides = theirs.side(TIMED), mine.side(TIMED)
                    await compare(*sides, callers=callers, calls=given.calls, stream=stream)
            await show_budgets(theirs, server, costs)
        with ours(server.url) as [our_url]:
            await show_budgets(our_rival(our_url, ledger, budgets), server, costs)
        with litellm_proxy(command, config) as their_url, ours(server.url) as [our_url]:
            await show_memory(litellm_rival(their_url))
            await show_memory(our_rival(our_url, ledger, budgets))


if __name__ == "__main__":
    anyio.run(main)
