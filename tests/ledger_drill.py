"""Real processes that share a ledger: many that call at once, and some that are killed wherever they are.

A program of its own (`python ledger_drill.py DRILL LEDGER FIGURE...`), since it forks. It prints what it found as JSON.
"""

import json
import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from ekiden_budget import BudgetId, CallId, CallLabel, Ledger, RefusedError
from ekiden_policies.budget import Amount, Caps, Outcome

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")
_SETTLED, _REFUSED = 10, 11
_SOURCES = str(Path(sys.modules["ekiden_budget"].__file__ or "").parent)


def run_callers(path: Path, *, callers: int, tokens: int, cap: int) -> dict[str, int]:
    """Let callers, one process each, ask for a call at the same moment, and count how they fared."""
    with Ledger(path) as ledger:
        run = ledger.open_budget("run", Caps(tokens=cap), budget_id="run").budget
        start, go = os.pipe()

        def call() -> int:
            os.close(go)
            with Ledger(path) as own:
                os.read(start, 1)  # ends when the last copy of the other end is closed
                try:
                    reserved = own.reserve(run, Amount(tokens), LABEL)
                except RefusedError:
                    return _REFUSED
                own.settle(reserved.call, "answered", Amount(tokens))
                return _SETTLED

        children = [_fork(call) for _ in range(callers)]
        os.close(go)
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        return {"settled": ends.count(_SETTLED), "refused": ends.count(_REFUSED)}


def run_creators(path: Path, *, creators: int) -> dict[str, int]:
    """Let processes open a ledger that is not there yet, at the same moment, and each open a budget in it."""
    start, go = os.pipe()

    def create() -> int:
        os.close(go)
        os.read(start, 1)
        with Ledger(path) as own:
            own.open_budget("run", Caps())
        return _SETTLED

    children = [_fork(create) for _ in range(creators)]
    os.close(go)
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    with Ledger(path, create=False) as ledger:
        return {"done": ends.count(_SETTLED), "budgets": len(ledger.tree()), "files": len(list(path.parent.iterdir()))}


def run_forks(path: Path, *, forks: int) -> dict[str, int]:
    """Fork again and again while another thread uses the ledger; each child makes a call with what it inherited."""
    with Ledger(path) as ledger:
        run = ledger.open_budget("run", Caps()).budget
        begun, done = threading.Event(), threading.Event()

        def call() -> int:
            ledger.settle(ledger.reserve(run, Amount(1), LABEL).call, "answered", Amount(1))
            return _SETTLED

        def keep_calling() -> None:
            while not done.is_set():
                call()
                begun.set()

        caller = threading.Thread(target=keep_calling)
        caller.start()
        try:
            begun.wait()
            ends = [os.waitstatus_to_exitcode(os.waitpid(_fork(call), 0)[1]) for _ in range(forks)]
        finally:
            done.set()
            caller.join()
        status = ledger.status(run)
        return {"done": ends.count(_SETTLED), "billed": status.settled.tokens, "answered": status.calls.answered}


def run_kills(path: Path, *, rounds: int, seed: int) -> dict[str, int]:
    """Let processes reserve and settle, kill them at random points, recover, and compare the books, many times.

    Each process tells what it was answered, over a pipe. What it was told must be in the books, killed or not.

    Raises:
        AssertionError: The books are wrong.
    """
    chance = random.Random(seed)
    found = {"rounds": 0, "killed": 0, "told": 0, "abandoned": 0, "refused": 0}
    with Ledger(path) as ledger:
        for number in range(rounds):
            cap = chance.randrange(100, 600)
            run = ledger.open_budget(f"run {number}", Caps(tokens=cap)).budget
            agents = [
                ledger.open_budget(f"agent {n}", Caps(tokens=chance.randrange(50, 300)), parent=run).budget
                for n in range(3)
            ]
            told: dict[CallId, tuple[str, int]] = {}
            children: list[tuple[int, int]] = []
            for agent in agents:
                reading, writing = os.pipe()
                child = _fork(_worker(path, agent, writing, chance.randrange(2**32)))
                os.close(writing)
                children.append((child, reading))
            for child, reading in children:
                # Half of them kill themselves between two lines of code; some are killed from here, once they have said
                # so much, wherever they are then.
                patience = chance.choice([None, None, 1, 2, 4, 8])
                with os.fdopen(reading, "rb") as answers:
                    for heard, line in enumerate(answers):
                        if line.endswith(b"\n"):
                            call, outcome, tokens = line.split()
                            told[CallId(int(call))] = (outcome.decode(), int(tokens))
                        if heard == patience:
                            os.kill(child, signal.SIGKILL)
                end = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                assert end in {0, -signal.SIGKILL}, f"a process ended with {end}"
                found["killed"] += end == -signal.SIGKILL
            found["abandoned"] += ledger.recover()
            found["refused"] += ledger.status(run).calls.refused
            found["told"] += len(told)
            found["rounds"] += 1
            _check_books(ledger, run, told)
    return found


def _worker(path: Path, budget: BudgetId, writing: int, seed: int) -> Callable[[], int]:
    def work() -> int:
        chance = random.Random(seed)
        if chance.random() < 0.5:
            _die_after(chance.randrange(1, 2500))
        outcomes: list[Outcome] = ["answered", "answered", "failed", "unsent", "unreadable"]
        with Ledger(path) as ledger:
            for _ in range(8):
                try:
                    call = ledger.reserve(budget, Amount(chance.randrange(60)), LABEL).call
                except RefusedError:
                    continue
                os.write(writing, f"{call} reserved 0\n".encode())
                if chance.random() < 0.8:
                    settled = ledger.settle(call, chance.choice(outcomes), Amount(chance.randrange(80))).settled
                    os.write(writing, f"{call} {settled.outcome} {settled.billed.tokens}\n".encode())
        return 0

    return work


def _die_after(lines: int) -> None:
    """Let this process be killed after so many lines of the ledger's code."""
    left = lines

    def count(frame: FrameType, event: str, _: object) -> object:
        nonlocal left
        if not frame.f_code.co_filename.startswith(_SOURCES):
            return None
        left -= event == "line"
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    sys.settrace(count)  # pyright: ignore[reportArgumentType] - the type of a trace function is recursive


def _check_books(ledger: Ledger, run: BudgetId, told: dict[CallId, tuple[str, int]]) -> None:
    tree = ledger.tree(run)
    records = {record.call: record for record in ledger.calls(run, limit=1000)}
    for call, (outcome, tokens) in told.items():
        billed = records[call].billed
        assert billed is not None, f"call {call} is in flight after the recovery"
        if outcome != "reserved":
            assert (records[call].outcome, billed.tokens) == (outcome, tokens), f"call {call} was settled otherwise"
    for status in tree:
        below = [one for one in records.values() if status.budget in {run, one.budget}]
        total = sum(one.billed.tokens for one in below if one.billed is not None)
        assert (status.settled.tokens, status.reserved.tokens, status.calls.open) == (total, 0, 0), status
        assert status.caps.tokens is not None
        assert total <= status.caps.tokens, status
    for one in records.values():
        if one.outcome in {"abandoned", "failed", "unreadable"}:
            assert one.billed == one.reserved, one


def _fork(work: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    status = None
    try:
        status = work()
    finally:  # whatever happens, this process must not go on with its parent's work
        if status is None:
            traceback.print_exc()
        os._exit(1 if status is None else status)


def main() -> None:
    """Run the drill that the command line names, and print what it found."""
    drill, path, *figures = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:])
    match drill:
        case "callers":
            found = run_callers(path, callers=figures[0], tokens=figures[1], cap=figures[2])
        case "creators":
            found = run_creators(path, creators=figures[0])
        case "forks":
            found = run_forks(path, forks=figures[0])
        case _:
            found = run_kills(path, rounds=figures[0], seed=figures[1])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
