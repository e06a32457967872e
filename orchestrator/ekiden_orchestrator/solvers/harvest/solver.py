"""harvest: refute what can be refuted, with Ekiden's own search and no language model.

All problems get the cheap stages of the search first, then those that are left share the time in rising slices. Each
answer is on disk as soon as it is found. True implications are left alone.

Without a manifest the solver speaks the Solo protocol on its standard streams, and searches for half a minute at most.
"""

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, TextIO

from ekiden_magma import Law, MagmaError, parse_law
from ekiden_magma.lean import lean_answer
from ekiden_policies.schedule import search_limit_s, time_pool

if TYPE_CHECKING:
    from ekiden_cayley.outcome import Outcome

SOLO_SEARCH_S = 30.0


def read_problems(path: str) -> list[tuple[str, tuple[Law, Law]]]:
    """Read ids and laws; a record that cannot be read is left out, so that it costs only itself."""
    problems: list[tuple[str, tuple[Law, Law]]] = []
    with open(path, encoding="utf-8", newline="\n") as file:  # noqa: PTH123 - the contract gives a text
        for line in file:
            try:
                record = json.loads(line)
                pair = parse_law(record["equation1"]), parse_law(record["equation2"])
                problems.append((record["id"], pair))
            except (ValueError, KeyError, TypeError) as error:
                sys.stderr.write(f"skipped a record: {error!r}\n")
    return problems


def write_answer(output: TextIO, name: str, code: str) -> None:
    """Append one answer and see it onto the disk."""
    output.write(json.dumps({"id": name, "verdict": "false", "code": code}, ensure_ascii=False) + "\n")
    output.flush()
    os.fsync(output.fileno())


def write_effort(log: TextIO, name: str, outcome: "Outcome") -> None:
    """Append what the search did for one problem, as a row of the trajectory store."""
    is_refuted = outcome.refutation is not None
    told = {
        "method": outcome.method,
        "no_model_up_to": outcome.no_model_up_to,
        "implied_because": outcome.implied_because,
        "skipped_orders": outcome.skipped_orders,
    }
    row = {
        "kind": "tool_call",
        "theorem_name": name,
        "timestamp_ms": time.time_ns() // 1_000_000,
        "tool": "cayley_refute",
        "tool_output": json.dumps(told),
        "outcome": "ok" if is_refuted else "failed",
        "failure_kind": "" if is_refuted else outcome.reason,
        "duration_ms": int(outcome.seconds * 1000),
    }
    log.write(json.dumps(row) + "\n")
    log.flush()


def marathon() -> None:
    """Work through the manifest."""
    started = time.monotonic()
    # The search takes a second or more to load; the deadline counts it, the search's own time does not.
    from ekiden_cayley.refuter import Refuter
    from ekiden_cayley.stop import Stop

    stop = Stop()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.cancel())
    problems = read_problems(os.environ["JUDGE_MARATHON_MANIFEST"])
    budget_s = float(os.environ["JUDGE_MARATHON_BUDGET_SECONDS"])
    pool_s = float(os.environ.get("EKIDEN_HARVEST_SECONDS") or time_pool(len(problems), budget_s=budget_s))

    log_path = os.path.join(os.environ["JUDGE_MARATHON_SCRATCH_DIR"], "trajectory.jsonl")  # noqa: PTH118
    with (
        open(os.environ["JUDGE_MARATHON_OUTPUT"], "a", encoding="utf-8") as output,  # noqa: PTH123
        open(log_path, "a", encoding="utf-8") as log,  # noqa: PTH123
    ):

        def settle(place: int, outcome: "Outcome") -> None:
            name = problems[place][0]
            write_effort(log, name, outcome)
            if outcome.refutation is None:
                return
            try:
                write_answer(output, name, lean_answer(outcome.refutation))
            except MagmaError as error:
                sys.stderr.write(f"{name}: refuted, but there is no answer to write: {error}\n")

        refuter = Refuter()
        limit_s = search_limit_s(pool_s, budget_s=budget_s, elapsed_s=time.monotonic() - started)
        refuter.refute_batch([pair for _, pair in problems], time_limit_s=limit_s, stop=stop, on_outcome=settle)


def solo() -> None:
    """Refute the one problem that the Solo runner gives, and have the answer judged."""
    started = time.monotonic()
    from ekiden_cayley.refuter import Refuter
    from ekiden_cayley.stop import Stop

    stop = Stop()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.cancel())
    start = json.loads(sys.stdin.readline())
    pair = parse_law(start["problem"]["equation1"]), parse_law(start["problem"]["equation2"])
    budget_s = float(start["budget"]["timeout_seconds"])
    limit_s = search_limit_s(SOLO_SEARCH_S, budget_s=budget_s, elapsed_s=time.monotonic() - started)
    outcome = Refuter().refute(*pair, time_limit_s=limit_s, stop=stop)
    if outcome.refutation is None:
        return
    answer = {"call": "judge", "verdict": "false", "code": lean_answer(outcome.refutation)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    if "JUDGE_MARATHON_MANIFEST" in os.environ:
        marathon()
    else:
        solo()
