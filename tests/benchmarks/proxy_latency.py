"""What the budget proxy adds to a call: `python tests/benchmarks/proxy_latency.py [--calls N] [--callers 1 16 64]`.

The same scripted upstream is called directly and through the proxy, by 1, 16 and 64 callers at once, whole and
streamed; upstream, proxy and callers are three processes. The two sides take turns, so that both meet the same machine.
Prints the milliseconds until the first byte of an answer and until its last, at the median and at the 99th percentile,
what the proxy adds to them, calls in a second, and the ratios of the proxy's figures to those of direct calls.
"""

import argparse
import tempfile

import anyio
from proxy_timing import Side, compare, program

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
